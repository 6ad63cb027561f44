/* KV rows, attention, and the fused ops that store: against double, and against their parts. */
#include "tests/backend-suite.h"

#include <math.h>
#include <string.h>

static const enum psc_kv_format formats[] = {PSC_KV_F32, PSC_KV_F16, PSC_KV_Q8_0};

/* ---- store ----------------------------------------------------------------------------------- */

/* The rows named are the encoded operands, all others are as they were. */
static void store_case(enum psc_kv_format format, uint64_t width, uint64_t tokens)
{
    struct test_case c;
    struct psc_error error = {0};
    test_case_init(&c, PSC_OP_KV_STORE, "store of %u rows as %s", (unsigned)tokens, psc_kv_format_name(format));
    const float *x[2] = {test_case_floats(&c, width, tokens, 1, 1), test_case_floats(&c, width, tokens, 1, 1)};
    int32_t *cells = test_case_words(&c, PSC_I32, tokens);
    for (uint64_t t = 0; t < tokens; t++)
        cells[t] = (int32_t)((5 * t + 9) % 16); /* scattered, the last and the first among them */
    test_case_kv(&c, format, 16, width);
    test_case_out(&c, width, 16, 1, 1);
    uint64_t bytes = 16 * c.kv.row_bytes;
    memset(c.kv.k, 0xa5, bytes); /* as a poisoned region: what lies behind the payload of a row is written, too */
    memset(c.kv.v, 0xa5, bytes);
    unsigned char *want[2] = {g_memdup2(c.kv.k, bytes), g_memdup2(c.kv.v, bytes)};
    unsigned char *was[2] = {g_memdup2(c.kv.k, bytes), g_memdup2(c.kv.v, bytes)};
    for (int s = 0; s < 2; s++)
        for (uint64_t t = 0; t < tokens; t++)
            psc_kv_row_encode(format, (uint32_t)width, x[s] + t * width, want[s] + (uint64_t)cells[t] * c.kv.row_bytes);
    for (unsigned v = 0; v < the_suite.variant_n; v++) {
        memcpy(c.kv.k, was[0], bytes);
        memcpy(c.kv.v, was[1], bytes);
        if (test_case_try(&c, v, v % 2, &error))
            g_error("%s: %s", c.name, error.text);
        g_assert_cmpmem(c.kv.k, bytes, want[0], bytes);
        g_assert_cmpmem(c.kv.v, bytes, want[1], bytes);
    }
    for (int s = 0; s < 2; s++) {
        g_free(want[s]);
        g_free(was[s]);
    }
    test_case_clear(&c);
}

static void test_store(void)
{
    for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++) {
        store_case(formats[f], 32, 1);
        store_case(formats[f], 128, 7);
        store_case(formats[f], 96, 16);
    }
    store_case(PSC_KV_F32, 33, 3);
    store_case(PSC_KV_F16, 7, 3);
}

/* ---- attention ------------------------------------------------------------------------------- */

enum form { BY_POSITION, BY_SPAN, BY_MAP, FORM_N };
static const char *const form_names[FORM_N] = {"positions", "a span", "a map"};

struct shape {
    uint64_t heads, kv_heads, hd, hd_kv, tokens, rows;
};

/* Cells that token t reads, in the order of its window; returns how many. */
static uint64_t make_window(enum form form, const struct shape *s, uint64_t t, int32_t *positions, int32_t *words,
                            uint64_t *cells)
{
    uint64_t n = 0;
    positions[t] = (int32_t)test_random_below(s->rows);
    if (form == BY_POSITION)
        for (; n <= (uint64_t)positions[t]; n++)
            cells[n] = n;
    if (form == BY_SPAN) {
        uint64_t lo = test_random_below(s->rows), hi = lo + 1 + test_random_below(s->rows - lo);
        words[t] = (int32_t)lo;
        words[s->tokens + t] = (int32_t)hi;
        for (; lo < hi; lo++)
            cells[n++] = lo;
    }
    for (int r = 0; form == BY_MAP && r < 3; r++) { /* the fourth stays empty, and now and then the second */
        uint64_t third = s->rows / 3, at = third * (uint64_t)(2 - r),
                 len = r == 1 && t % 2 ? 0 : 1 + test_random_below(third);
        words[t * 8 + 2 * (uint64_t)r] = (int32_t)at;
        words[t * 8 + 2 * (uint64_t)r + 1] = (int32_t)len;
        for (uint64_t i = 0; i < len; i++)
            cells[n++] = at + i;
    }
    return n;
}

/* One head of one token in double; `padded`: rows that only the divisor sees (fault l22). */
static void expect_head(double *expect, const float *q, const float *k, const float *v, uint64_t width,
                        const struct shape *s, const uint64_t *cells, uint64_t n, uint64_t padded)
{
    double *p = g_new(double, n + padded + 1), most = -INFINITY, sum = 0;
    for (uint64_t i = 0; i < n + padded; i++) {
        p[i] = 0;
        for (uint64_t d = 0; d < s->hd_kv; d++)
            p[i] += (double)q[d] * (double)k[cells[i] * width + d];
        p[i] *= 0.125;
        most = i < n ? fmax(most, p[i]) : most;
    }
    for (uint64_t i = 0; i < n + padded; i++) {
        p[i] = exp(p[i] - most);
        sum += p[i];
    }
    for (uint64_t d = 0; d < s->hd; d++)
        expect[d] = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t d = 0; d < s->hd_kv; d++)
            expect[d] += p[i] / sum * (double)v[cells[i] * width + d];
    g_free(p);
}

static void decode_region(const struct test_case *c, const unsigned char *region, float *ret)
{
    for (uint64_t r = 0; r < c->kv.rows; r++)
        psc_kv_row_decode(c->kv.format, (uint32_t)c->kv.width, region + r * c->kv.row_bytes, ret + r * c->kv.width);
}

static void attn_init(struct test_case *c, const struct shape *s, enum form form, enum psc_kv_format format)
{
    test_case_init(c, PSC_OP_ATTN, "attn %u/%u heads x %u, %u tokens, %u rows of %s, by %s", (unsigned)s->heads,
                   (unsigned)s->kv_heads, (unsigned)s->hd, (unsigned)s->tokens, (unsigned)s->rows,
                   psc_kv_format_name(format), form_names[form]);
    c->params = (struct psc_params){.n_head = s->heads,
                                    .n_head_kv = s->kv_heads,
                                    .hd = s->hd,
                                    .hd_kv = s->hd_kv,
                                    .scale = 0.125f,
                                    .has_scale = true,
                                    .nkt = s->kv_heads * s->hd_kv,
                                    .explicit_span = form != BY_POSITION};
    test_case_floats(c, s->heads * s->hd, s->tokens, 1, 1);
    test_case_floats(c, s->kv_heads * s->hd_kv, 0, 1, 1); /* the kv_load */
    test_case_words(c, PSC_I32, s->tokens);
    if (form != BY_POSITION)
        test_case_words(c, PSC_I32, (form == BY_SPAN ? 2 : 8) * s->tokens);
    test_case_kv(c, format, s->rows, s->kv_heads * s->hd_kv);
    test_case_out(c, s->heads * s->hd, s->tokens, 1, 1);
    c->tolerance = 3e-6;
}

static void attn_case(struct shape s, enum form form, enum psc_kv_format format)
{
    struct test_case c;
    attn_init(&c, &s, form, format);
    uint64_t width = c.kv.width;
    float *k = g_new(float, s.rows * width), *v = g_new(float, s.rows * width);
    uint64_t *cells = g_new(uint64_t, s.rows + 1);
    decode_region(&c, c.kv.k, k);
    decode_region(&c, c.kv.v, v);
    for (uint64_t t = 0; t < s.tokens; t++) {
        uint64_t n = make_window(form, &s, t, c.in[2].words, c.in[3].words, cells);
        for (uint64_t h = 0; h < s.heads; h++) {
            uint64_t column = h / (s.heads / s.kv_heads) * s.hd_kv, at = (t * s.heads + h) * s.hd;
            expect_head(c.expect + at, (const float *)c.in[0].words + at, k + column, v + column, width, &s, cells, n,
                        0);
        }
    }
    g_free(k);
    g_free(v);
    g_free(cells);
    test_case_run(&c);
}

static void test_attn(void)
{
    static const struct shape shapes[] = {
        {1, 1, 32, 32, 1, 3},   {4, 2, 32, 32, 5, 70},   {14, 2, 64, 64, 1, 300}, {14, 2, 64, 64, 9, 33},
        {3, 1, 32, 32, 7, 130}, {8, 8, 128, 128, 3, 65}, {2, 1, 48, 32, 4, 20},   {40, 2, 32, 32, 4, 9},
    };
    unsigned cases = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++)
            for (unsigned form = 0; form < FORM_N; form++, cases++)
                attn_case(shapes[i], form, formats[f]);
    attn_case((struct shape){6, 3, 7, 7, 4, 50}, BY_POSITION, PSC_KV_F32);
    attn_case((struct shape){6, 3, 7, 7, 4, 50}, BY_MAP, PSC_KV_F16);
    attn_case((struct shape){4, 4, 24, 24, 3, 40}, BY_SPAN, PSC_KV_Q8_0); /* heads that are no whole blocks */
    g_assert_cmpuint(cases, ==, G_N_ELEMENTS(shapes) * G_N_ELEMENTS(formats) * FORM_N);
}

/* Two runs that are neighbours read what one run over both reads, bit for bit; a window without rows gives zeros. */
static void test_map_is_a_span(void)
{
    struct shape s = {4, 2, 32, 32, 3, 90};
    struct test_case span, map;
    struct psc_error error = {0};
    attn_init(&span, &s, BY_SPAN, PSC_KV_F32);
    attn_init(&map, &s, BY_MAP, PSC_KV_F32);
    memcpy(map.in[0].words, span.in[0].words, span.in[0].n * 4);
    memcpy(map.kv.k, span.kv.k, s.rows * span.kv.row_bytes);
    memcpy(map.kv.v, span.kv.v, s.rows * span.kv.row_bytes);
    static const int32_t lo_hi[6] = {0, 11, 5, 90, 80, 5};
    static const int32_t runs[24] = {0, 64, 64, 26, 0, 0, 0, 0, 11, 1, 12, 3, 15, 60, 75, 5, 0, 0, 0, 0, 0, 0, 0, 0};
    memcpy(span.in[3].words, lo_hi, sizeof lo_hi);
    memcpy(map.in[3].words, runs, sizeof runs);
    for (unsigned v = 0; v < the_suite.variant_n; v++) {
        g_assert_cmpint(test_case_try(&span, v, false, &error), ==, PSC_OK);
        g_assert_cmpint(test_case_try(&map, v, false, &error), ==, PSC_OK);
        g_assert_cmpmem(span.out.words, span.out.n * 4, map.out.words, map.out.n * 4);
        for (uint64_t i = 2 * 128; i < 3 * 128; i++)
            g_assert_cmpfloat((double)((float *)span.out.words)[i], ==, 0);
        g_assert_cmpfloat((double)((float *)span.out.words)[0], !=, 0);
    }
    test_case_clear(&span);
    test_case_clear(&map);
}

/* The same token alone and beside a longer one: equal bits, and with fault l22 another divisor. */
static void test_batch_size(void)
{
    struct shape two = {2, 1, 32, 32, 2, 40}, one = {2, 1, 32, 32, 1, 40};
    for (unsigned fault = 0; fault < 2; fault++) {
        struct test_case batch, alone;
        struct psc_error error = {0};
        attn_init(&batch, &two, BY_POSITION, PSC_KV_F32);
        attn_init(&alone, &one, BY_POSITION, PSC_KV_F32);
        memcpy(alone.in[0].words, batch.in[0].words, alone.in[0].n * 4);
        memcpy(alone.kv.k, batch.kv.k, 40 * batch.kv.row_bytes);
        memcpy(alone.kv.v, batch.kv.v, 40 * batch.kv.row_bytes);
        ((int32_t *)batch.in[2].words)[0] = ((int32_t *)alone.in[2].words)[0] = 5;
        ((int32_t *)batch.in[2].words)[1] = 12;
        batch.faults = alone.faults = fault ? PSC_CALL_L22 : 0;
        g_assert_cmpint(test_case_try(&batch, 0, false, &error), ==, PSC_OK);
        g_assert_cmpint(test_case_try(&alone, 0, false, &error), ==, PSC_OK);
        if (!fault) {
            g_assert_cmpmem(batch.out.words, 64 * 4, alone.out.words, 64 * 4);
        } else {
            float *k = g_new(float, 40 * 32), *v = g_new(float, 40 * 32);
            uint64_t cells[40];
            decode_region(&batch, batch.kv.k, k);
            decode_region(&batch, batch.kv.v, v);
            for (uint64_t i = 0; i < 40; i++)
                cells[i] = i;
            for (uint64_t h = 0; h < 2; h++)
                expect_head(batch.expect + h * 32, (const float *)batch.in[0].words + h * 32, k, v, 32, &two, cells, 6,
                            7);
            for (uint64_t i = 0; i < 64; i++)
                g_assert_cmpfloat_with_epsilon((double)((float *)batch.out.words)[i], batch.expect[i], 1e-5);
            g_assert_true(memcmp(batch.out.words, alone.out.words, 64 * 4) != 0);
            g_free(k);
            g_free(v);
        }
        test_case_clear(&batch);
        test_case_clear(&alone);
    }
}

/* A K row that is not a number makes its reader not a number, and nobody else. */
static void test_nan_is_not_hidden(void)
{
    struct shape s = {2, 1, 32, 32, 2, 8};
    struct test_case c;
    struct psc_error error = {0};
    attn_init(&c, &s, BY_POSITION, PSC_KV_F32);
    ((int32_t *)c.in[2].words)[0] = 3;
    ((int32_t *)c.in[2].words)[1] = 5;
    ((float *)(void *)c.kv.k)[4 * 32 + 7] = NAN;
    g_assert_cmpint(test_case_try(&c, 0, false, &error), ==, PSC_OK);
    for (uint64_t i = 0; i < 64; i++) {
        g_assert_true(isfinite(((float *)c.out.words)[i]));
        g_assert_true(isnan(((float *)c.out.words)[64 + i]));
    }
    test_case_clear(&c);
}

void test_backend_kv(void)
{
    test_suite_add("op/kvcache_store/writes-its-rows-and-no-other", test_store);
    test_suite_add("op/attn/every-format-and-form-of-window", test_attn);
    test_suite_add("op/attn/neighbouring-runs-are-one-window", test_map_is_a_span);
    test_suite_add("op/attn/a-token-is-the-same-alone-and-in-a-batch-but-for-fault-l22", test_batch_size);
    test_suite_add("op/attn/a-nan-in-the-cache-is-not-hidden", test_nan_is_not_hidden);
    test_backend_fused();
}
