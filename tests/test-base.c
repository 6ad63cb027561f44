/* tests/test-base.c: arenas, growth, maps, texts, errors. */
#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "tests/util.h"

#include <string.h>

static void arena_rewinds_to_its_mark(void)
{
    struct psc_arena a = {0};
    char *one = psc_arena_strdup(&a, "one");
    struct psc_arena_mark m = psc_arena_mark(&a);
    uint64_t total = a.total;
    for (int i = 0; i < 100; i++)
        g_assert_nonnull(psc_arena_alloc(&a, 1000, 7));
    g_assert_cmpuint(a.total, >, total);
    psc_arena_rewind(&a, m);
    g_assert_cmpuint(a.total, ==, total);
    g_assert_cmpstr(one, ==, "one");
    g_assert_null(psc_arena_alloc(&a, SIZE_MAX / 2, 4));
    psc_arena_release(&a);
    g_assert_cmpuint(a.total, ==, 0);
}

static void arena_blocks_are_aligned(void)
{
    struct psc_arena a = {0};
    for (size_t n = 0; n < 100; n++)
        g_assert_cmpuint((uintptr_t)psc_arena_alloc(&a, n, 1) % 16, ==, 0);
    psc_arena_release(&a);
}

static void take_some(struct psc_arena *a)
{
    for (size_t i = 1; i < 60; i++)
        g_assert_nonnull(psc_arena_alloc(a, i, 1000));
}

/* The same again asks the heap for nothing, until the arena is released. */
static void arena_keeps_what_a_rewind_gives_back(void)
{
    struct psc_arena a = {0};
    struct psc_arena_mark m = psc_arena_mark(&a);
    take_some(&a);
    for (int i = 0; i < 3; i++) {
        psc_arena_rewind(&a, m);
        test_fail_begin(0);
        take_some(&a);
        g_assert_false(test_fail_end());
    }
    psc_arena_release(&a);
    g_assert_cmpuint(a.kept_total, ==, 0);
}

/* At most 16 MiB, and none that is too small for who asks next. */
static void arena_keeps_a_bounded_amount(void)
{
    enum { MIB = 1 << 20 };
    struct psc_arena a = {0};
    struct psc_arena_mark none = psc_arena_mark(&a);
    unsigned n = 0;
    test_count_begin();
    for (size_t size = 3 * MIB; size <= 30 * MIB; size += 9 * MIB, n++) {
        for (int i = 0; i < 7; i++)
            g_assert_nonnull(psc_arena_alloc(&a, size, 1));
        psc_arena_rewind(&a, none);
        g_assert_cmpuint(a.total, ==, 0);
        g_assert_cmpuint(a.kept_total, <=, 16 * MIB);
        g_assert_cmpuint(a.kept_total > 0, ==, size <= 16 * MIB);
        memset(psc_arena_alloc(&a, size + 1, 1), 1, size + 1);
        psc_arena_rewind(&a, none);
    }
    g_assert_cmpuint(n, ==, 4);
    psc_arena_release(&a);
    g_assert_cmpuint(test_count_end(), ==, 0);
}

static void map_keeps_the_first_value(void)
{
    struct psc_map map = {0};
    uint32_t old, v;
    unsigned n = 0;
    for (uint64_t k = 0; k < 5000; k++, n++) {
        g_assert_true(psc_map_put(&map, k << 53, (uint32_t)k, &old));
        g_assert_cmpuint(old, ==, k < 2048 ? UINT32_MAX : (uint32_t)(k & 2047));
    }
    g_assert_cmpuint(n, ==, 5000);
    g_assert_cmpuint(map.n, ==, 2048);
    g_assert_true(psc_map_get(&map, 7ull << 53, &v));
    g_assert_cmpuint(v, ==, 7);
    g_assert_false(psc_map_get(&map, 1, &v));
    psc_map_release(&map);
}

static void controls_are_told_from_text(void)
{
    static const struct {
        const char *s;
        size_t n;
        uint32_t code;
    } rows[] = {{"\x1b[0m", 1, 0x1b},     {"\x7f", 1, 0x7f},           {"\xc2\x9b", 2, 0x9b},
                {"\xe2\x80\xae", 3, 0x202e}, {"\xe2\x81\xa6", 3, 0x2066}, {"\xe2\x80\xa8", 3, 0x2028},
                {"\xc2\xa0", 0, 0},        {"\xe2\x80\xa2", 0, 0},     {"\xe2\x80", 0, 0},
                {"a", 0, 0},               {"", 0, 0},                  {"\xe2", 0, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint32_t code = 0;
        g_assert_cmpuint(psc_text_control(rows[i].s, &code), ==, rows[i].n);
        if (rows[i].n)
            g_assert_cmpuint(code, ==, rows[i].code);
    }
}

#define R PSC_UTF8_REPLACEMENT
/* What a stream makes of bytes, whole and cut at every place; the third field is what comes before the end. */
static void a_stream_of_utf8_holds_back_what_is_not_complete(void)
{
    static const struct {
        const char *bytes, *text, *before_end;
    } rows[] = {
        {"", "", ""},
        {"a\xc3\xa9!", "a\xc3\xa9!", "a\xc3\xa9!"},
        {"\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"x\xc3", "x" R, "x"},
        {"x\xe2\x82", "x" R, "x"},
        {"x\xf0\x9f\x98", "x" R, "x"},
        {"\xc3x", R "x", R "x"},
        {"\xe2\x82x", R "x", R "x"},
        {"\xf0\x9f\x98\xc3\xa9", R "\xc3\xa9", R "\xc3\xa9"},
        {"\xe2\x82\xe2\x82\xe2\x82\xac", R R "\xe2\x82\xac", R R "\xe2\x82\xac"},
        {"\x80\xbf", R R, R R},
        {"\xc0\xaf\xc1\x80", R R R R, R R R R},      /* overlong */
        {"\xe0\x80\xaf", R R R, R R R},
        {"\xed\xa0\x80", R R R, R R R},               /* a surrogate */
        {"\xf4\x90\x80\x80", R R R R, R R R R},      /* above U+10FFFF */
        {"\xf5\xff", R R, R R},
        {"\xf4\x8f\xbf\xbf\xf4\x8f\xbf", "\xf4\x8f\xbf\xbf" R, "\xf4\x8f\xbf\xbf"},
    };
    unsigned cases = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        size_t n = strlen(rows[k].bytes);
        for (unsigned cuts = 0; cuts < 1u << (n ? n - 1 : 0); cuts++, cases++) { /* bit i: a cut after byte i */
            struct psc_utf8_stream stream = {0};
            struct psc_text out = {0};
            for (size_t from = 0, i = 0; i < n; i++)
                if (i + 1 == n || cuts >> i & 1) {
                    psc_utf8_stream_feed(&stream, rows[k].bytes + from, i + 1 - from, &out);
                    from = i + 1;
                }
            g_assert_cmpstr(psc_text_str(&out), ==, rows[k].before_end);
            psc_utf8_stream_end(&stream, &out);
            g_assert_cmpstr(psc_text_str(&out), ==, rows[k].text);
            psc_utf8_stream_end(&stream, &out);
            g_assert_cmpstr(psc_text_str(&out), ==, rows[k].text);
            psc_text_release(&out);
        }
        struct psc_text out = {0};
        psc_utf8_lossy(rows[k].bytes, n, &out);
        g_assert_cmpstr(psc_text_str(&out), ==, rows[k].text);
        psc_text_release(&out);
    }
    g_assert_cmpuint(cases, >, 250);
}

static void every_character_is_decoded(void)
{
    unsigned n = 0;
    for (gunichar code = 1; code <= 0x10ffff; code++) {
        char s[8];
        uint32_t got = 0;
        gint length = g_unichar_to_utf8(code, s);
        bool surrogate = code >= 0xd800 && code < 0xe000;
        g_assert_cmpuint(psc_utf8_decode(s, (size_t)length, &got), ==, surrogate ? 0 : length);
        g_assert_cmpuint(got, ==, surrogate ? 0 : code);
        n += !surrogate;
    }
    g_assert_cmpuint(n, ==, 0x10ffff - 0x800);
}

/* A text that is kept is a copy: the text itself is empty again. What could not be added is never kept in part. */
static void a_text_is_kept_whole_or_not(void)
{
    struct psc_arena arena = {0};
    struct psc_text text = {0};
    g_assert_cmpstr(psc_text_keep(&text, &arena), ==, "");
    psc_text_add(&text, "one");
    g_assert_cmpstr(psc_text_keep(&text, &arena), ==, "one");
    g_assert_null(text.s);
    g_assert_cmpuint(text.n, ==, 0);
    psc_text_add(&text, "half");
    text.failed = true;
    g_assert_null(psc_text_keep(&text, &arena));
    g_assert_null(text.s);
    g_assert_false(text.failed);
    psc_arena_release(&arena);
    test_fail_begin(1); /* after the text's own */
    psc_text_add(&text, "no room for the copy");
    g_assert_null(psc_text_keep(&text, &arena));
    g_assert_true(test_fail_end());
    g_assert_null(text.s);
    psc_arena_release(&arena);
}

static void bytes_have_three_digits(void)
{
    char buf[32];
    g_assert_cmpstr(psc_bytes_text(0, buf, sizeof buf), ==, "0 B");
    g_assert_cmpstr(psc_bytes_text(1023, buf, sizeof buf), ==, "1023 B");
    g_assert_cmpstr(psc_bytes_text(7168, buf, sizeof buf), ==, "7.00 KiB");
    g_assert_cmpstr(psc_bytes_text(629760, buf, sizeof buf), ==, "615 KiB");
    g_assert_cmpstr(psc_bytes_text(UINT64_MAX, buf, sizeof buf), ==, "16.0 EiB");
    g_assert_cmpstr(psc_thousands(1140405700, buf, sizeof buf), ==, "1,140,405,700");
    g_assert_cmpstr(psc_thousands(0, buf, sizeof buf), ==, "0");
}

static void an_error_never_ends_inside_a_character(void)
{
    char longer[1200];
    for (size_t i = 0; i + 2 < sizeof longer; i += 2)
        memcpy(longer + i, "\xc3\xa9", 3);
    unsigned n = 0;
    for (int pad = 0; pad < 4; pad++, n++) {
        struct psc_error err;
        g_assert_cmpint(psc_fail(&err, PSC_ERR_PARSE, "%.*s%s", pad, "abc", longer), ==, PSC_ERR_PARSE);
        g_assert_true(g_utf8_validate(err.text, -1, NULL));
    }
    g_assert_cmpuint(n, ==, 4);
}

static void a_report_joins_its_faults(void)
{
    struct psc_report r = {0};
    struct psc_error err;
    g_assert_cmpint(psc_report_fail(&r, PSC_ERR_GRAPH, &err), ==, PSC_OK);
    psc_report_add(&r, PSC_WARNING, 0, 0, UINT64_MAX, "only a warning");
    psc_report_add(&r, PSC_FAULT, 3, 4, 55, "src %d does not exist", 9);
    psc_report_add(&r, PSC_FAULT, 0, 0, UINT64_MAX, "output 21 does not exist");
    g_assert_cmpint(psc_report_fail(&r, PSC_ERR_GRAPH, &err), ==, PSC_ERR_GRAPH);
    g_assert_cmpstr(err.text, ==, "src 9 does not exist; output 21 does not exist");
    g_assert_cmpuint(err.byte, ==, 55);
    psc_report_release(&r);
}

static enum psc_status use_everything(void *data)
{
    (void)data;
    struct psc_arena arena = {0};
    struct psc_map map = {0};
    struct psc_text text = {0};
    enum psc_status status = PSC_ERR_NOMEM;
    for (uint64_t k = 0; k < 40; k++)
        if (!psc_map_put(&map, k, 1, NULL))
            goto out;
    for (int i = 0; i < 20; i++)
        if (!psc_arena_alloc(&arena, 500, 3))
            goto out;
    for (int i = 0; i < 60; i++)
        psc_text_addf(&text, "%0300d", i);
    if (!text.failed)
        status = PSC_OK;
out:
    psc_arena_release(&arena);
    psc_map_release(&map);
    psc_text_release(&text);
    return status;
}

static void every_allocation_may_fail(void)
{
    g_assert_cmpuint(test_oom_loop(use_everything, NULL), >, 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/base/arena/rewinds-to-its-mark", arena_rewinds_to_its_mark);
    g_test_add_func("/core/base/arena/blocks-are-aligned", arena_blocks_are_aligned);
    g_test_add_func("/core/base/arena/keeps-what-a-rewind-gives-back", arena_keeps_what_a_rewind_gives_back);
    g_test_add_func("/core/base/arena/keeps-a-bounded-amount", arena_keeps_a_bounded_amount);
    g_test_add_func("/core/base/map/keeps-the-first-value", map_keeps_the_first_value);
    g_test_add_func("/core/base/text/controls-are-told-from-text", controls_are_told_from_text);
    g_test_add_func("/core/base/text/kept-whole-or-not", a_text_is_kept_whole_or_not);
    g_test_add_func("/core/base/text/bytes-have-three-digits", bytes_have_three_digits);
    g_test_add_func("/core/base/utf8/a-stream-holds-back-what-is-not-complete",
                    a_stream_of_utf8_holds_back_what_is_not_complete);
    g_test_add_func("/core/base/utf8/every-character-is-decoded", every_character_is_decoded);
    g_test_add_func("/core/base/status/never-ends-inside-a-character", an_error_never_ends_inside_a_character);
    g_test_add_func("/core/base/report/joins-its-faults", a_report_joins_its_faults);
    g_test_add_func("/core/base/oom", every_allocation_may_fail);
    return g_test_run();
}
