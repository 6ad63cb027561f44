#include "core/base/half.h"
#include "core/base/hash.h"
#include "core/plan/kv-format.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

static uint32_t words_of(enum psc_kv_format format, uint32_t nkt)
{
    struct psc_error e = {0};
    uint32_t words = 0;
    g_assert_cmpint(psc_kv_row_words(format, nkt, &words, &e), ==, PSC_OK);
    return words;
}

/* Values worked out by hand from the definition of the format: sign, 5 bits, 10 bits. */
static void test_halves(void)
{
    static const struct { float value; uint16_t half; } rows[] = {
        {0.0f, 0x0000}, {-0.0f, 0x8000}, {1.0f, 0x3c00}, {-2.0f, 0xc000}, {65504.0f, 0x7bff}, {0.333251953125f, 0x3555},
        {0x1p-14f, 0x0400}, {0x1p-24f, 0x0001}, {0x1.ff8p-15f, 0x03ff}, {INFINITY, 0x7c00}, {-INFINITY, 0xfc00},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmphex(psc_half_from_float(rows[i].value), ==, rows[i].half);
        g_assert_cmpfloat(psc_half_to_float(rows[i].half), ==, rows[i].value);
    }
    g_assert_true(isnan(psc_half_to_float(psc_half_from_float(NAN))));
    /* ties go to even, what is above 65504 by half a step or more is infinite, what is below half of 2^-24 is zero */
    g_assert_cmphex(psc_half_from_float(1.0f + 0x1p-11f), ==, 0x3c00);
    g_assert_cmphex(psc_half_from_float(1.0f + 0x3p-11f), ==, 0x3c02);
    g_assert_cmphex(psc_half_from_float(65519.996f), ==, 0x7bff);
    g_assert_cmphex(psc_half_from_float(65520.0f), ==, 0x7c00);
    g_assert_cmphex(psc_half_from_float(0x1p-25f), ==, 0x0000);
    g_assert_cmphex(psc_half_from_float(0x1.000002p-25f), ==, 0x0001);
    g_assert_cmphex(psc_half_from_float(1e-30f), ==, 0x0000);
}

/* Every half is itself again, and lies where its neighbours say. */
static void test_all_halves(void)
{
    unsigned seen = 0;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float value = psc_half_to_float((uint16_t)h);
        if (isnan(value))
            continue;
        g_assert_cmphex(psc_half_from_float(value), ==, h);
        if ((h & 0x7fff) < 0x7bff) {
            float next = psc_half_to_float((uint16_t)(h + 1)), mid = value + (next - value) / 2;
            g_assert_cmpfloat(fabsf(next), >, fabsf(value));
            g_assert_cmphex(psc_half_from_float(mid), ==, h & 1 ? h + 1 : h);
            g_assert_cmphex(psc_half_from_float(nextafterf(mid, next)), ==, h + 1);
            g_assert_cmphex(psc_half_from_float(nextafterf(mid, value)), ==, h);
        }
        seen++;
    }
    g_assert_cmpuint(seen, ==, 0x10000 - 2 * 1023);
}

static void test_words(void)
{
    static const struct { uint32_t nkt, words; } q8[] = {{32, 9}, {64, 17}, {96, 26}, {128, 34}, {1024, 272}};
    for (size_t i = 0; i < G_N_ELEMENTS(q8); i++)
        g_assert_cmpuint(words_of(PSC_KV_Q8_0, q8[i].nkt), ==, q8[i].words);
    g_assert_cmpuint(words_of(PSC_KV_F32, 100), ==, 100);
    g_assert_cmpuint(words_of(PSC_KV_F16, 100), ==, 100);
    g_assert_cmpuint(words_of(PSC_KV_F32, 1024) / words_of(PSC_KV_Q8_0, 1024), >=, 3);
}

static void test_widths(void)
{
    static const uint32_t wrong[] = {0, 1, 31, 33, 48, 100};
    struct psc_error e = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        uint32_t words = 77;
        g_assert_cmpint(psc_kv_row_words(PSC_KV_Q8_0, wrong[i], &words, &e), ==, PSC_ERR_USAGE);
        g_assert_cmpuint(words, ==, 77);
        char number[16];
        g_snprintf(number, sizeof number, " %u ", wrong[i]);
        g_assert_nonnull(strstr(e.text, number));
    }
}

static void test_names(void)
{
    enum psc_kv_format format = PSC_KV_FORMAT_N;
    for (unsigned i = 0; i < PSC_KV_FORMAT_N; i++) {
        g_assert_true(psc_kv_format_parse(psc_kv_format_name((enum psc_kv_format)i), &format));
        g_assert_cmpuint(format, ==, i);
    }
    g_assert_false(psc_kv_format_parse("bf16", &format));
    g_assert_false(psc_kv_format_parse("", &format));
    g_assert_false(psc_kv_format_parse("F32", &format));
}

static void random_row(guint64 *seed, float *x, uint32_t n, float scale)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = ((float)(psc_hash_mix(*seed += 0x9e3779b97f4a7c15ull) >> 40) / 8388608.0f - 1) * scale;
}

static void test_round_trip(void)
{
    guint64 seed = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 200; round++) {
        float x[96], back[96], row[96 + 2];
        random_row(&seed, x, 96, powf(10, (float)(round % 9) - 4));
        for (unsigned f = 0; f < PSC_KV_FORMAT_N; f++) {
            uint32_t words = words_of((enum psc_kv_format)f, 96);
            row[words] = row[words + 1] = 12345;
            psc_kv_row_encode((enum psc_kv_format)f, 96, x, row);
            psc_kv_row_decode((enum psc_kv_format)f, 96, row, back);
            g_assert_cmpfloat(row[words], ==, 12345);
            for (unsigned b = 0; b < 96; b += 32) {
                float amax = 0, step;
                for (unsigned i = b; i < b + 32; i++)
                    amax = fmaxf(amax, fabsf(x[i]));
                step = f == PSC_KV_Q8_0 ? amax / 127 * 0.55f + 127 * 0x1p-25f : f == PSC_KV_F16 ? amax * 0x1p-11f + 0x1p-25f : 0;
                for (unsigned i = b; i < b + 32; i++)
                    g_assert_cmpfloat(fabsf(back[i] - x[i]), <=, step);
            }
        }
    }
}

/* A block by hand: d = 2 / 127 as a half (0x2408 = 0.015747...), values q = x * 63.5, half to even. */
static void test_block(void)
{
    float x[32] = {2, -2, 1, 0.5f / 63.5f, 1.5f / 63.5f, -2.5f / 63.5f, 0};
    uint8_t row[37];
    memset(row, 0xee, sizeof row);
    psc_kv_row_encode(PSC_KV_Q8_0, 32, x, row);
    g_assert_cmphex(row[0] | row[1] << 8, ==, 0x2408);
    static const int8_t q[7] = {127, -127, 64, 0, 2, -2, 0};
    for (unsigned i = 0; i < 7; i++)
        g_assert_cmpint((int8_t)row[2 + i], ==, q[i]);
    g_assert_cmphex(row[34] | row[35], ==, 0); /* a row is written to its end, and no further */
    g_assert_cmphex(row[36], ==, 0xee);
    uint8_t halves[9];
    memset(halves, 0xee, sizeof halves);
    psc_kv_row_encode(PSC_KV_F16, 2, x, halves);
    static const uint8_t want[9] = {0x00, 0x40, 0x00, 0xc0, 0, 0, 0, 0, 0xee};
    g_assert_cmpmem(halves, sizeof halves, want, sizeof want);
}

static void test_odd_blocks(void)
{
    float x[64] = {0}, back[64];
    uint32_t row[17];
    memset(row, 0xff, sizeof row);
    psc_kv_row_encode(PSC_KV_Q8_0, 64, x, row);
    psc_kv_row_decode(PSC_KV_Q8_0, 64, row, back);
    for (unsigned i = 0; i < 64; i++)
        g_assert_cmpfloat(back[i], ==, 0);
    x[3] = 1e-42f; /* 127 / x is infinite */
    x[40] = NAN;   /* hides nowhere: its whole block is NaN, the other is not */
    psc_kv_row_encode(PSC_KV_Q8_0, 64, x, row);
    psc_kv_row_decode(PSC_KV_Q8_0, 64, row, back);
    for (unsigned i = 0; i < 64; i++)
        g_assert_true(i < 32 ? back[i] == 0 : isnan(back[i]) != 0);
}

/* An independent rope: a pair is a complex number, multiplied by e^(i * angle). */
static void rope_row(float *x, uint32_t nkt, const struct psc_kv_rope *rope, int position)
{
    for (uint32_t head = 0; head < nkt / rope->hd; head++)
        for (uint32_t i = 0; i < rope->hd / 2; i++) {
            uint32_t a = head * rope->hd + (rope->interleaved ? 2 * i : i);
            uint32_t b = rope->interleaved ? a + 1 : a + rope->hd / 2;
            double angle = position * (rope->freq_scale * exp(-(2.0 * i / rope->hd) * log(rope->freq_base)));
            double r = hypot(x[a], x[b]), phi = atan2(x[b], x[a]) + angle;
            x[a] = (float)(r * cos(phi));
            x[b] = (float)(r * sin(phi));
        }
}

static void test_rope(void)
{
    guint64 seed = test_seed();
    for (unsigned style = 0; style < 2; style++) {
        struct psc_kv_rope rope = {.hd = 32, .freq_base = 10000, .freq_scale = 1, .interleaved = style};
        float plain[3][64], at[3][64], want[3][64], scratch[64 + 32];
        struct psc_error e = {0};
        for (unsigned r = 0; r < 3; r++) {
            random_row(&seed, plain[r], 64, 1);
            memcpy(at[r], plain[r], sizeof at[r]);
            memcpy(want[r], plain[r], sizeof want[r]);
            rope_row(at[r], 64, &rope, 40 + (int)r);
            rope_row(want[r], 64, &rope, 33 + (int)r);
        }
        g_assert_cmpint(psc_kv_rows_rotate(PSC_KV_F32, 64, &rope, -7, at, 3, scratch, &e), ==, PSC_OK);
        for (unsigned i = 0; i < 3 * 64; i++)
            g_assert_cmpfloat(fabsf((&at[0][0])[i] - (&want[0][0])[i]), <, 1e-5f);
        /* and there and back again */
        g_assert_cmpint(psc_kv_rows_rotate(PSC_KV_F32, 64, &rope, -33, at[0], 1, scratch, &e), ==, PSC_OK);
        for (unsigned i = 0; i < 64; i++)
            g_assert_cmpfloat(fabsf(at[0][i] - plain[0][i]), <, 1e-5f);
    }
}

static void test_rope_q8(void)
{
    guint64 seed = test_seed();
    struct psc_kv_rope rope = {.hd = 64, .freq_base = 1e6f, .freq_scale = 1};
    float plain[2][64], want[64], back[64], scratch[64 + 64];
    uint32_t rows[2][17];
    struct psc_error e = {0};
    for (unsigned r = 0; r < 2; r++) {
        random_row(&seed, plain[r], 64, 1);
        psc_kv_row_encode(PSC_KV_Q8_0, 64, plain[r], rows[r]);
    }
    g_assert_cmpint(psc_kv_rows_rotate(PSC_KV_Q8_0, 64, &rope, -5, rows, 2, scratch, &e), ==, PSC_OK);
    for (unsigned r = 0; r < 2; r++) {
        memcpy(want, plain[r], sizeof want);
        rope_row(want, 64, &rope, -5);
        psc_kv_row_decode(PSC_KV_Q8_0, 64, rows[r], back);
        for (unsigned i = 0; i < 64; i++) /* two roundings of at most 0.55 steps of 1.42 / 127, turned */
            g_assert_cmpfloat(fabsf(back[i] - want[i]), <, 2.0f * 0.55f * 1.42f / 127 * 1.42f);
    }
}

static void test_rope_refused(void)
{
    struct psc_kv_rope rope = {.hd = 64, .freq_base = 1e6f, .freq_scale = 1};
    float row[64] = {1, 2, 3}, scratch[128];
    struct psc_error e = {0};
    g_assert_cmpint(psc_kv_rows_rotate(PSC_KV_F16, 64, &rope, -1, row, 1, scratch, &e), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(e.text, "f16"));
    g_assert_cmpfloat(row[1], ==, 2);
    rope.hd = 48;
    g_assert_cmpint(psc_kv_rows_rotate(PSC_KV_F32, 64, &rope, -1, row, 1, scratch, &e), ==, PSC_ERR_USAGE);
    g_assert_cmpfloat(row[1], ==, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/base/half/values-by-hand", test_halves);
    g_test_add_func("/core/base/half/every-half-is-the-nearest", test_all_halves);
    g_test_add_func("/core/plan/kv-format/a-cell-is-whole-words", test_words);
    g_test_add_func("/core/plan/kv-format/a-width-that-does-not-fit-is-refused", test_widths);
    g_test_add_func("/core/plan/kv-format/names-are-strict", test_names);
    g_test_add_func("/core/plan/kv-format/round-trips-within-0.55-steps", test_round_trip);
    g_test_add_func("/core/plan/kv-format/a-block-by-hand", test_block);
    g_test_add_func("/core/plan/kv-format/zero-tiny-and-nan-blocks", test_odd_blocks);
    g_test_add_func("/core/plan/kv-format/a-turned-row-is-the-row-at-the-other-position", test_rope);
    g_test_add_func("/core/plan/kv-format/packed-rows-turn-within-their-steps", test_rope_q8);
    g_test_add_func("/core/plan/kv-format/f16-rows-do-not-turn", test_rope_refused);
    return g_test_run();
}
