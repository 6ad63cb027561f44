/* The scanner, the pull parser above it and the cursor: grammar, places, pauses, depth. */
#include "tests/util.h"
#include "traces/cursor.h"
#include "traces/index.h"
#include "traces/probe.h"

#include <math.h>
#include <string.h>

static enum psc_token scan_all(struct psc_scan *scan, const char *text, size_t n)
{
    psc_scan_init(scan, text, n);
    for (;;) {
        enum psc_token token = psc_scan_next(scan);
        if (token >= PSC_TOK_END)
            return token;
    }
}

/* The same text by the fast road, in pieces: the answer must not depend on where it paused. */
static enum psc_token scan_in_pieces(struct psc_scan *scan, const char *text, size_t n, size_t piece)
{
    psc_scan_init(scan, text, n);
    enum psc_token token = psc_scan_next(scan);
    if (token != PSC_TOK_OBJECT && token != PSC_TOK_ARRAY)
        return token < PSC_TOK_END ? psc_scan_next(scan) : token;
    do
        token = psc_scan_close(scan, 1, scan->at + piece);
    while (token == PSC_TOK_PAUSE);
    return token < PSC_TOK_END ? psc_scan_next(scan) : token;
}

static const struct {
    const char *text;
    enum psc_token end;
    size_t at; /* of the fault */
} grammar[] = {
    {"{}", PSC_TOK_END, 0},
    {" [ ] ", PSC_TOK_END, 0},
    {"[1,-2.5e+3,\"x\",true,false,null,{\"a\":[]}]", PSC_TOK_END, 0},
    {"[NaN,Infinity,-Infinity]", PSC_TOK_END, 0},
    {"[\"tab\tbell\a\"]", PSC_TOK_END, 0},
    {"\"alone\"", PSC_TOK_END, 0},
    {"17", PSC_TOK_END, 0},
    {"true", PSC_TOK_END, 0},
    {"\xef\xbb\xbf{}", PSC_TOK_END, 0},
    {"", PSC_TOK_CUT, 0},
    {"{", PSC_TOK_CUT, 1},
    {"[1", PSC_TOK_CUT, 2},
    {"[1,", PSC_TOK_CUT, 3},
    {"[tru", PSC_TOK_CUT, 4},
    {"[-", PSC_TOK_CUT, 2},
    {"[-Inf", PSC_TOK_CUT, 5},
    {"[1.", PSC_TOK_CUT, 3},
    {"{\"a", PSC_TOK_CUT, 3},
    {"{\"a\"", PSC_TOK_CUT, 4},
    {"{\"a\":", PSC_TOK_CUT, 5},
    {"[\"\\", PSC_TOK_CUT, 3},
    {"[\"\\u12", PSC_TOK_CUT, 6},
    {"[1,]", PSC_TOK_BAD, 3},
    {"{\"a\":1,}", PSC_TOK_BAD, 7},
    {"[1 2]", PSC_TOK_BAD, 3},
    {"{\"a\" 1}", PSC_TOK_BAD, 5},
    {"{a:1}", PSC_TOK_BAD, 1},
    {"{1:1}", PSC_TOK_BAD, 1},
    {"[,1]", PSC_TOK_BAD, 1},
    {"{\"a\":}", PSC_TOK_BAD, 5},
    {"[01]", PSC_TOK_BAD, 1},
    {"[.5]", PSC_TOK_BAD, 1},
    {"[+1]", PSC_TOK_BAD, 1},
    {"[1.e5]", PSC_TOK_BAD, 1},
    {"[nul]", PSC_TOK_BAD, 1},
    {"[\"\\x\"]", PSC_TOK_BAD, 2},
    {"[\"\\u12g4\"]", PSC_TOK_BAD, 2},
    {"[}", PSC_TOK_BAD, 1},
    {"{\"a\":[1}", PSC_TOK_BAD, 7},
    {"{]", PSC_TOK_BAD, 1},
};

static void grammar_is_strict_and_faults_have_a_place(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(grammar); i++) {
        /* Padded in front, so that the fast road meets the text; the answers move by the padding. */
        for (unsigned pad = 0; pad < 2; pad++) {
            char *text = g_strdup_printf("%*s%s", pad ? 200 : 0, "", grammar[i].text);
            size_t shift = pad ? 200 : 0, n = strlen(text);
            if (pad && (unsigned char)grammar[i].text[0] == 0xef) { /* a mark stands at the very start only */
                g_free(text);
                continue;
            }
            struct psc_scan scan;
            if (scan_all(&scan, text, n) != grammar[i].end)
                g_error("row %zu: %s", i, grammar[i].text);
            if (grammar[i].end != PSC_TOK_END)
                g_assert_cmpuint(scan.from, ==, grammar[i].at + shift);
            for (size_t piece = 1; piece < 9; piece += 3)
                g_assert_cmpint(scan_in_pieces(&scan, text, n, piece), ==, grammar[i].end);
            g_free(text);
        }
    }
}

/* Every short text of a small alphabet inside a longer one: the fast road and the token road agree. */
static void both_roads_agree_on_every_short_text(void)
{
    static const char alphabet[] = "{}[],:\"a1-.e \\\x1f\xc3";
    enum { LENGTH = 4 };
    unsigned n = sizeof alphabet - 1, total = n * n * n * n, accepted = 0;
    char text[160];
    for (unsigned k = 0; k < total; k++) {
        int head = g_snprintf(text, sizeof text, "[[\"key\",1.5,{\"a\":");
        for (unsigned d = 0, rest = k; d < LENGTH; d++, rest /= n)
            text[head++] = alphabet[rest % n];
        memcpy(text + head, "},2]                                                                 ]", 71);
        size_t length = strlen(text);
        struct psc_scan a, b;
        enum psc_token x = scan_all(&a, text, length), y = scan_in_pieces(&b, text, length, SIZE_MAX / 2);
        if (x != y || (x != PSC_TOK_END && a.from != b.from))
            g_error("%s: %d at %zu against %d at %zu", text, x, a.from, y, b.from);
        accepted += x == PSC_TOK_END;
    }
    g_assert_cmpuint(accepted, >, 50);
}

static void depth_is_limited(void)
{
    size_t n = 200000;
    char *text = g_malloc(n + 1);
    memset(text, '[', n);
    struct psc_scan scan;
    g_assert_cmpint(scan_all(&scan, text, n), ==, PSC_TOK_DEEP);
    g_assert_cmpuint(scan.from, ==, PSC_JSON_NESTING_MAX);
    g_assert_cmpint(scan_in_pieces(&scan, text, n, 1000000), ==, PSC_TOK_DEEP);
    memset(text + PSC_JSON_NESTING_MAX, ']', PSC_JSON_NESTING_MAX);
    g_assert_cmpint(scan_all(&scan, text, 2 * PSC_JSON_NESTING_MAX), ==, PSC_TOK_END);
    g_assert_cmpint(scan_in_pieces(&scan, text, 2 * PSC_JSON_NESTING_MAX, 100), ==, PSC_TOK_END);
    g_free(text);
}

static void oddities_are_counted_with_their_first_place(void)
{
    static const char text[] =
        "{\"a\":\"x\x01y\",\"b\":NaN,\"c\":\"\xff\xfe\",\"d\":[Infinity,\"\t\"],\"e\":"
        "\"\xc3\xa9\xf0\x9f\x98\x80\"}"
        "                                                                                  ";
    struct psc_scan scan;
    g_assert_cmpint(scan_in_pieces(&scan, text, sizeof text - 1, 7), ==, PSC_TOK_END);
    g_assert_cmpuint(scan.control_n, ==, 2);
    g_assert_cmpuint(scan.control_at, ==, 7);
    g_assert_cmpuint(scan.word_n, ==, 2);
    g_assert_cmpuint(scan.word_at, ==, 15);
    g_assert_cmpuint(scan.utf8_n, ==, 2);
    g_assert_cmpuint(scan.utf8_at, ==, 24);
}

static void utf8_is_judged_by_the_book(void)
{
    static const struct {
        const char *text;
        unsigned bad;
    } rows[] = {{"\xc3\xa9", 0},         {"\xe2\x82\xac", 0}, {"\xf0\x9f\x98\x80", 0}, {"\x80", 1},
                {"\xc0\xaf", 2},         {"\xc3", 1},         {"\xe0\x80\x80", 3},     {"\xed\xa0\x80", 3},
                {"\xf4\x90\x80\x80", 4}, {"\xf5", 1},         {"\xe2\x82", 2},         {"\xef\xbf\xbf", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = g_strdup_printf("[\"%s\"]", rows[i].text);
        struct psc_scan scan;
        g_assert_cmpint(scan_all(&scan, text, strlen(text)), ==, PSC_TOK_END);
        g_assert_cmpuint(scan.utf8_n, ==, rows[i].bad);
        struct psc_arena arena = {0};
        bool nomem = false;
        const char *shown = psc_slice_string(&arena, (struct psc_slice){text + 1, strlen(text) - 2}, &nomem);
        g_assert_true(g_utf8_validate(shown, -1, NULL));
        psc_arena_release(&arena);
        g_free(text);
    }
}

static void places_count_lines_and_columns_from_one(void)
{
    uint64_t line, column;
    psc_text_place("ab\ncd\n\nx", 7, &line, &column);
    g_assert_cmpuint(line, ==, 4);
    g_assert_cmpuint(column, ==, 1);
    psc_text_place("ab\ncd", 4, &line, &column);
    g_assert_cmpuint(line, ==, 2);
    g_assert_cmpuint(column, ==, 2);
    psc_text_place("ab", 0, &line, &column);
    g_assert_cmpuint(line, ==, 1);
    g_assert_cmpuint(column, ==, 1);
}

/* ---- the pull parser ------------------------------------------------------------------------------ */

static void parts_are_found_in_any_order_and_in_any_pieces(void)
{
    static const char text[] = "{\"b\":[1,[2]],\"phases\":[{\"steps\":[{\"t\":1},7,{\"t\":2}],\"kind\":\"k\","
                               "\"graph\":{\"nodes\":[]}},null,[3],"
                               "{\"steps\":null}],\"version\":1}  ";
    static const char want[] =
        "M b=[1,[2]];P;S {\"t\":1};S 7;S {\"t\":2};m kind=\"k\";m graph={\"nodes\":[]};E;O null;O [3];P;m steps=null;E;"
        "M version=1;";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct psc_index ix;
        GString *got = g_string_new(NULL);
        psc_index_init(&ix, text, sizeof text - 1);
        for (;;) {
            enum psc_found found = psc_index_next(&ix, ix.scan.at + piece);
            if (found == PSC_FOUND_END)
                break;
            if (found == PSC_FOUND_MEMBER || found == PSC_FOUND_PHASE_MEMBER)
                g_string_append_printf(got, "%c %.*s=%.*s;", found == PSC_FOUND_MEMBER ? 'M' : 'm',
                                       (int)ix.key.n, ix.key.s, (int)ix.value.n, ix.value.s);
            else if (found == PSC_FOUND_STEP)
                g_string_append_printf(got, "S %.*s;", (int)ix.value.n, ix.value.s);
            else if (found == PSC_FOUND_ODD_PHASE)
                g_string_append_printf(got, "O %.*s;", (int)ix.value.n, ix.value.s);
            else if (found == PSC_FOUND_PHASE || found == PSC_FOUND_PHASE_END)
                g_string_append(got, found == PSC_FOUND_PHASE ? "P;" : "E;");
            else
                g_assert_cmpint(found, ==, PSC_FOUND_PAUSE);
        }
        g_assert_cmpstr(got->str, ==, want);
        g_string_free(got, TRUE);
    }
}

static void a_step_that_is_not_json_is_passed_over(void)
{
    static const char text[] = "{\"phases\":[{\"steps\":[{\"a\":1},{\"a\" 2,\"s\":\"]}\"},{\"a\":3}]}]}";
    struct psc_index ix;
    unsigned good = 0, bad = 0;
    psc_index_init(&ix, text, sizeof text - 1);
    for (;;) {
        enum psc_found found = psc_index_next(&ix, SIZE_MAX);
        good += found == PSC_FOUND_STEP;
        if (found == PSC_FOUND_BAD_STEP) {
            bad++;
            g_assert_cmpuint(ix.error.byte, ==, 34);
            g_assert_cmpstr(
                ix.error.text, ==,
                "not well-formed JSON at line 1, column 35 (byte 34): a key without ':' after it");
        }
        if (found == PSC_FOUND_END)
            break;
        g_assert_true(found != PSC_FOUND_ERROR && found != PSC_FOUND_CUT);
    }
    g_assert_cmpuint(good, ==, 2);
    g_assert_cmpuint(bad, ==, 1);
}

/* ---- both ends -------------------------------------------------------------------------------------- */

static void version_is_found_at_either_end(void)
{
    char *middle = g_strnfill(300000, ' ');
    static const struct {
        const char *head, *tail, *version;
    } rows[] = {
        {"{\"format\":\"f\",\"version\":7,\"phases\":[", "]}", "7"},
        {"{\"format\":\"f\",\"phases\":[", "],\"prompt\":\"a],\\\"version\\\":3,\",\"version\":8}\n", "8"},
        {"{\"phases\":[", "],\"version\":8,\"prompt\":\"]\",\"format\":\"f\"}", "8"},
        {"{\"format\":\"f\",\"phases\":[{\"graph\":{", "},\"version\":9}]}", NULL},
        {"{\"format\":\"f\",\"phases\":[{", "\"graph\":{\"nodes\":[],\"version\":9}}]}", NULL},
        {"{\"format\":\"f\",\"phases\":[", "],\"version\":8", NULL}, /* cut off: unknown */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = g_strconcat(rows[i].head, middle, rows[i].tail, NULL);
        struct psc_probe probe;
        psc_probe(text, strlen(text), &probe);
        char *got = probe.version.n ? g_strndup(probe.version.s, probe.version.n) : NULL;
        g_assert_cmpstr(got, ==, rows[i].version);
        g_assert_cmpuint(probe.format.n, ==, 3);
        g_free(got);
        g_free(text);
    }
    g_free(middle);
}

/* ---- the cursor ---------------------------------------------------------------------------------- */

static struct psc_slice slice(const char *s)
{
    return (struct psc_slice){s, strlen(s)};
}

static void the_cursor_walks_members_and_elements(void)
{
    struct psc_slice object = slice("{ \"a\" : [1, {\"x\":\"]\"} , 3] , \"b\\u0063\":\"}\" , \"a\": null }"),
                     key, v;
    struct psc_cursor c = psc_cursor_open(object);
    g_assert_cmpuint(psc_cursor_count(c), ==, 3);
    g_assert_true(psc_cursor_member(&c, &key, &v));
    g_assert_true(psc_slice_is_key(key, "a"));
    g_assert_true(psc_slice_is_array(v));
    struct psc_cursor inner = psc_cursor_open(v);
    g_assert_cmpuint(psc_cursor_count(inner), ==, 3);
    g_assert_true(psc_cursor_member(&c, &key, &v));
    g_assert_true(psc_slice_is_key(key, "bc"));
    g_assert_false(psc_slice_is_key(key, "b"));
    g_assert_cmpuint(v.n, ==, 3);
    g_assert_true(psc_cursor_member(&c, &key, &v));
    g_assert_true(psc_slice_is_null(v));
    g_assert_false(psc_cursor_member(&c, &key, &v));
    g_assert_true(psc_slice_is_null(psc_slice_find(object, "a")));
    g_assert_null(psc_slice_find(object, "z").s);
    struct psc_slice number = slice("3");
    struct psc_cursor none = psc_cursor_open(number);
    g_assert_false(psc_cursor_element(&none, &v));
}

static void strings_are_decoded_and_mended(void)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        {"\"plain\"", "plain"},
        {"\"\"", ""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d!\"", "\xef\xbf\xbd!"},
        {"\"\\ude00\"", "\xef\xbf\xbd"},
        {"\"a\\u0000b\"", "a\\u0000b"},
        {"\"a\x1b[31m\tb\"", "a\\x1b[31m\\tb"},
        {"\"bad\xff\xc3.\"", "bad\xef\xbf\xbd\xef\xbf\xbd."},
        {"\"a string that is longer than one block of sixteen bytes\\n\"",
         "a string that is longer than one block of sixteen bytes\n"},
    };
    struct psc_arena arena = {0};
    bool nomem = false;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpstr(psc_slice_string(&arena, slice(rows[i].json), &nomem), ==, rows[i].text);
    g_assert_null(psc_slice_string(&arena, slice("12"), &nomem));
    g_assert_null(psc_slice_string(&arena, slice("null"), &nomem));
    g_assert_false(nomem);
    psc_arena_release(&arena);
}

static void numbers_keep_what_the_text_says(void)
{
    uint64_t u = 0;
    g_assert_true(psc_slice_u64(slice("9007199254740993"), &u));
    g_assert_cmpuint(u, ==, 9007199254740993u);
    g_assert_false(psc_slice_u64(slice("\"5\""), &u));
    g_assert_false(psc_slice_u64(slice("NaN"), &u));
    g_assert_true(isnan(psc_slice_f64(slice("null"))));
    g_assert_true(isnan(psc_slice_f64(slice("NaN"))));
    g_assert_true(psc_slice_f64(slice("Infinity")) > 1e308);
    g_assert_true(psc_slice_f64(slice("-Infinity")) < -1e308);
    g_assert_true(psc_slice_f64(slice("-0.25")) == -0.25);
    g_assert_true(psc_slice_f32(slice("0.09173399955034256")) == 0.091734f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/scan/grammar-is-strict-and-faults-have-a-place",
                    grammar_is_strict_and_faults_have_a_place);
    g_test_add_func("/traces/scan/both-roads-agree-on-every-short-text",
                    both_roads_agree_on_every_short_text);
    g_test_add_func("/traces/scan/depth-is-limited", depth_is_limited);
    g_test_add_func("/traces/scan/oddities-are-counted-with-their-first-place",
                    oddities_are_counted_with_their_first_place);
    g_test_add_func("/traces/scan/utf8-is-judged-by-the-book", utf8_is_judged_by_the_book);
    g_test_add_func("/traces/scan/places-count-lines-and-columns-from-one",
                    places_count_lines_and_columns_from_one);
    g_test_add_func("/traces/index/parts-are-found-in-any-order-and-in-any-pieces",
                    parts_are_found_in_any_order_and_in_any_pieces);
    g_test_add_func("/traces/index/a-step-that-is-not-json-is-passed-over",
                    a_step_that_is_not_json_is_passed_over);
    g_test_add_func("/traces/probe/version-is-found-at-either-end", version_is_found_at_either_end);
    g_test_add_func("/traces/cursor/walks-members-and-elements", the_cursor_walks_members_and_elements);
    g_test_add_func("/traces/cursor/strings-are-decoded-and-mended", strings_are_decoded_and_mended);
    g_test_add_func("/traces/cursor/numbers-keep-what-the-text-says", numbers_keep_what_the_text_says);
    return g_test_run();
}
