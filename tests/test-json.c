/* The printer and the numbers of traces/: what is written reads back bit by bit, and looks as minfer's own
 * files look. */
#include "tests/util.h"
#include "traces/json-write.h"
#include "traces/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void f64_is_spelled_as_serde_spells_it(void)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.0, "-1.0"},
        {0.125, "0.125"},
        {(double)1e-6f, "9.999999974752427e-7"},
        {1e6, "1000000.0"},
        {1e15, "1000000000000000.0"},
        {123456789012345680.0, "1.2345678901234568e17"},
        {1e16, "1e16"},
        {1e-5, "0.00001"},
        {1e-6, "1e-6"},
        {1.5e-7, "1.5e-7"},
        {0.0883883461356163, "0.0883883461356163"},
        {0.09173399955034256, "0.09173399955034256"},
        {9707.0, "9707.0"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {9007199254740993.0, "9007199254740992.0"},
        {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: the nearest 16 digits do not read back */
        {12.34, "12.34"},
        {0.3, "0.3"},
        {-2.5e-20, "-2.5e-20"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char text[PSC_F64_TEXT_MAX];
        size_t n = psc_f64_text(rows[i].v, text);
        g_assert_cmpstr(text, ==, rows[i].text);
        g_assert_cmpuint(n, ==, strlen(text));
    }
}

static void random_doubles_read_back_bit_by_bit(void)
{
    uint64_t state = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, (guint64)state);
    unsigned finite = 0;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t bits = state += 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits ^= bits >> 27;
        double v;
        if (i % 2) {
            float f;
            uint32_t low = (uint32_t)bits;
            memcpy(&f, &low, sizeof f);
            v = (double)f;
        } else {
            memcpy(&v, &bits, sizeof v);
        }
        if (!isfinite(v))
            continue;
        finite++;
        char text[PSC_F64_TEXT_MAX];
        size_t n = psc_f64_text(v, text);
        g_assert_cmpuint(psc_number_length(text, n), ==, n);
        double back = psc_number_f64(text, n);
        g_assert_cmpint(memcmp(&back, &v, sizeof v), ==, 0);
        if (i % 2) {
            float as_float = psc_number_f32(text, n), want = (float)v;
            g_assert_cmpint(memcmp(&as_float, &want, sizeof want), ==, 0);
        }
    }
    g_assert_cmpuint(finite, >, 10000);
}

static void whole_numbers_are_printed_digit_by_digit(void)
{
    uint64_t power = 1;
    for (unsigned digits = 1; digits <= 20; digits++, power *= 10)
        for (uint64_t v = power - 1; v <= power + 1; v++) {
            char text[PSC_U64_TEXT_MAX];
            char *want = g_strdup_printf("%" G_GUINT64_FORMAT, (guint64)v);
            g_assert_cmpuint(psc_u64_text(v, text), ==, strlen(want));
            g_assert_cmpstr(text, ==, want);
            g_free(want);
        }
    char text[PSC_U64_TEXT_MAX];
    g_assert_cmpuint(psc_u64_text(UINT64_MAX, text), ==, 20);
    g_assert_cmpstr(text, ==, "18446744073709551615");
}

static void whole_numbers_are_exact_to_64_bits(void)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t v;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"9007199254740993", true, 9007199254740993u},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"3.0", true, 3},
        {"3e2", true, 300},
        {"1500e-2", true, 15},
        {"3.5", false, 0},
        {"1e-1", false, 0},
        {"-1", false, 0},
        {"1e400000000000", false, 0},
        {"0e400000000000", true, 0},
        {"0.000000000000000000000000000000001e33", true, 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint64_t v = 77;
        g_assert_true(psc_number_u64(rows[i].text, strlen(rows[i].text), &v) == rows[i].ok);
        g_assert_cmpuint(v, ==, rows[i].ok ? rows[i].v : 77);
    }
    int64_t s = 0;
    g_assert_true(psc_number_i64("-9223372036854775808", 20, &s));
    g_assert_true(s == INT64_MIN);
    g_assert_false(psc_number_i64("9223372036854775808", 19, &s));
    g_assert_false(psc_number_i64("-9223372036854775809", 20, &s));
}

static void the_grammar_of_numbers_is_strict(void)
{
    static const struct {
        const char *text;
        size_t n;
    } rows[] = {{"1", 1},    {"-1", 2},   {"01", 0},     {"-", 0},   {".5", 0},    {"1.", 0}, {"1.5,", 3},
                {"1e5]", 3}, {"1e+5", 4}, {"1e", 0},     {"NaN", 0}, {"0.25 ", 4}, {"", 0},   {"+1", 0},
                {"1E-3", 4}, {"0", 1},    {"0.0e0x", 5}, {"--1", 0}, {"1e-", 0},   {"10", 2}, {"-0", 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpuint(psc_number_length(rows[i].text, strlen(rows[i].text)), ==, rows[i].n);
}

static void huge_and_tiny_numbers_saturate(void)
{
    g_assert_true(isinf(psc_number_f64("1e999", 5)));
    g_assert_true(psc_number_f64("1e-999", 6) == 0.0);
    g_assert_true(psc_number_f64("-1e400", 6) < 0.0);
    /* 2000 digits: still the right order of magnitude */
    char *text = g_malloc(2001);
    memset(text, '7', 2000);
    text[2000] = '\0';
    g_assert_true(isinf(psc_number_f64(text, 2000)));
    text[1] = '.';
    g_assert_cmpfloat_with_epsilon(psc_number_f64(text, 2000), 7.7777777777777777, 1e-15);
    g_free(text);
}

static void write_sample(struct psc_json *j)
{
    psc_json_object(j);
    psc_json_key(j, "a");
    psc_json_array(j);
    psc_json_u64(j, UINT64_MAX);
    psc_json_i64(j, INT64_MIN);
    psc_json_f64(j, 0.5);
    psc_json_f64(j, (double)NAN);
    psc_json_null(j);
    psc_json_bool(j, true);
    psc_json_end_array(j);
    psc_json_key(j, "empty");
    psc_json_array(j);
    psc_json_end_array(j);
    psc_json_key(j, "none");
    psc_json_object(j);
    psc_json_end_object(j);
    psc_json_key(j, "raw");
    psc_json_raw(j, " {\"eps\" : 1.0E-6 , \"l\":[ ] , \"o\" : {} ,\"x\":[1, [2]] } ");
    psc_json_key(j, "s");
    psc_json_string(j, "q\" b\\ n\n e\x1b \xc3\xa9 bad\xff.");
    psc_json_end_object(j);
}

static void compact_and_pretty_differ_by_blanks_only(void)
{
    struct psc_json j;
    psc_json_init(&j, false);
    write_sample(&j);
    g_assert_cmpstr(
        psc_text_str(&j.out), ==,
        "{\"a\":[18446744073709551615,-9223372036854775808,0.5,null,null,true],\"empty\":[],\"none\":{},"
        "\"raw\":{\"eps\":1.0E-6,\"l\":[],\"o\":{},\"x\":[1,[2]]},"
        "\"s\":\"q\\\" b\\\\ n\\n e\\u001b \xc3\xa9 bad\xef\xbf\xbd.\"}");
    psc_json_release(&j);
    psc_json_init(&j, true);
    write_sample(&j);
    g_assert_cmpstr(psc_text_str(&j.out), ==,
                    "{\n  \"a\": [\n    18446744073709551615,\n    -9223372036854775808,\n    0.5,\n    "
                    "null,\n    null,\n"
                    "    true\n  ],\n  \"empty\": [],\n  \"none\": {},\n  \"raw\": {\n    \"eps\": 1.0E-6,\n "
                    "   \"l\": [],\n"
                    "    \"o\": {},\n    \"x\": [\n      1,\n      [\n        2\n      ]\n    ]\n  },\n"
                    "  \"s\": \"q\\\" b\\\\ n\\n e\\u001b \xc3\xa9 bad\xef\xbf\xbd.\"\n}");
    psc_json_release(&j);
}

static void raw_text_is_mended(void)
{
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_raw(&j, "[NaN, -Infinity,Infinity , -1.50,\"tab\there \xc3\x28 \\u0041 \\\" \"]");
    g_assert_cmpstr(psc_text_str(&j.out), ==,
                    "[null,null,null,-1.50,\"tab\\there \xef\xbf\xbd( \\u0041 \\\" \"]");
    psc_json_release(&j);
}

static void raw_text_may_be_nested_deeper_than_the_printer(void)
{
    enum { DEEP = 900 };
    char text[2 * DEEP + 1];
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    text[2 * DEEP] = '\0';
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_array(&j);
    psc_json_raw(&j, text);
    psc_json_end_array(&j);
    g_assert_cmpuint(j.out.n, ==, 2 * DEEP + 2);
    psc_json_release(&j);
    psc_json_init(&j, true);
    psc_json_raw(&j, text);
    g_assert_cmpuint(j.out.n, >, (size_t)DEEP * DEEP);
    psc_json_release(&j);
}

static enum psc_status write_once(void *data)
{
    bool pretty = *(bool *)data;
    struct psc_json j;
    psc_json_init(&j, pretty);
    write_sample(&j);
    enum psc_status status = j.out.failed ? PSC_ERR_NOMEM : PSC_OK;
    psc_json_release(&j);
    return status;
}

static void a_failed_allocation_is_remembered(void)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        bool p = pretty;
        g_assert_cmpuint(test_oom_loop(write_once, &p), >, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/number/f64-is-spelled-as-serde-spells-it", f64_is_spelled_as_serde_spells_it);
    g_test_add_func("/traces/number/random-doubles-read-back-bit-by-bit",
                    random_doubles_read_back_bit_by_bit);
    g_test_add_func("/traces/number/whole-numbers-are-printed-digit-by-digit",
                    whole_numbers_are_printed_digit_by_digit);
    g_test_add_func("/traces/number/whole-numbers-are-exact-to-64-bits", whole_numbers_are_exact_to_64_bits);
    g_test_add_func("/traces/number/the-grammar-is-strict", the_grammar_of_numbers_is_strict);
    g_test_add_func("/traces/number/huge-and-tiny-numbers-saturate", huge_and_tiny_numbers_saturate);
    g_test_add_func("/traces/json/compact-and-pretty-differ-by-blanks-only",
                    compact_and_pretty_differ_by_blanks_only);
    g_test_add_func("/traces/json/raw-text-is-mended", raw_text_is_mended);
    g_test_add_func("/traces/json/raw-text-may-be-nested-deeper-than-the-printer",
                    raw_text_may_be_nested_deeper_than_the_printer);
    g_test_add_func("/traces/json/oom/a-failed-allocation-is-remembered", a_failed_allocation_is_remembered);
    return g_test_run();
}
