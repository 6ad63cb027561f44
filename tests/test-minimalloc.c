#include "traces/minimalloc.h"

#include "core/base/hash.h"
#include "core/debug/analysis.h"
#include "tests/boxes.h"
#include "tests/util.h"
#include "traces/traces.h"

#include <string.h>

static struct psc_doc *open_text(const char *text)
{
    struct psc_doc *doc = NULL;
    struct psc_error error = {0};
    if (psc_trace_open_memory("boxes.csv", text, strlen(text), NULL, NULL, &doc, &error))
        g_error("%s", error.text);
    return doc;
}

/* "a [0,3) 4 @0, b [3,9) 4": names, times, sizes, fixed places, alignments */
static char *text_of(const struct psc_box_set *set)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < set->problem.box_n; i++) {
        const struct psc_box *box = &set->problem.boxes[i];
        g_string_append_printf(out, "%s%s [%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ") %" G_GUINT64_FORMAT, i ? ", " : "",
                               set->names[i], set->times[box->begin], set->times[box->end], box->bytes);
        if (set->problem.fixed && set->problem.fixed[i] != PSC_OFFSET_FREE)
            g_string_append_printf(out, " @%" G_GUINT64_FORMAT, set->problem.fixed[i]);
        if (set->problem.aligns && set->problem.aligns[i])
            g_string_append_printf(out, " ^%" G_GUINT64_FORMAT, set->problem.aligns[i]);
    }
    return g_string_free(out, FALSE);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct row {
    const char *path, *file, *boxes;
};
static const struct row good[] = {
    {"the-example", "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n", "b1 [0,3) 4, b2 [3,9) 4"},
    {"columns-in-any-order", "size,Upper,LOWER,id\n4,3,0,b1\n", "b1 [0,3) 4"},
    {"a-mark-returns-and-blank-lines", "\xef\xbb\xbfid,lower,upper,size\r\n\r\nb1,0,3,4\r\n \r\n", "b1 [0,3) 4"},
    {"no-line-end-at-the-end", "id,lower,upper,size\nb1,0,3,4", "b1 [0,3) 4"},
    {"quoted-ids", "id,lower,upper,size\n\"a,\"\"b\"\"\",0,3,4\n", "a,\"b\" [0,3) 4"},
    {"times-below-zero", "id,lower,upper,size\na,-5,-1,4\n", "a [-5,-1) 4"},
    {"times-beyond-32-bits", "id,lower,upper,size\na,0,9000000000000000000,4\n", "a [0,9000000000000000000) 4"},
    {"offsets-where-they-are-given", "id,lower,upper,size,offset\na,0,3,4,8\nb,0,3,4,\nc,0,3,4,-1\n",
     "a [0,3) 4 @8, b [0,3) 4, c [0,3) 4"},
    {"alignments", "id,lower,upper,size,alignment\na,0,3,4,64\nb,0,3,4,\n", "a [0,3) 4 ^64, b [0,3) 4"},
    {"hints-and-gaps-are-passed-over", "id,lower,upper,size,hint,gaps\na,0,9,4,7,3-5\n", "a [0,9) 4"},
    {"columns-of-others-are-passed-over", "id,lower,upper,size,colour\na,0,9,4,red\n", "a [0,9) 4"},
    {"blanks-around-fields", "id, lower ,upper,size\n a , 0,3 ,4\n", "a [0,3) 4"},
    {"no-boxes", "id,lower,upper,size\n", ""},
};

static void test_good(gconstpointer data)
{
    const struct row *row = data;
    struct psc_doc *doc = open_text(row->file);
    char *boxes = text_of(doc->phases[0].boxes);
    g_assert_cmpstr(doc->format, ==, "minimalloc");
    g_assert_cmpstr(boxes, ==, row->boxes);
    g_assert_null(doc->phases[0].graph);
    g_assert_nonnull(doc->phases[0].story);
    g_free(boxes);
    psc_doc_free(doc);
}

static const struct row bad[] = {
    {"a-missing-column", "lower,upper,size\n0,3,4\n", "the first line names no column \"id\""},
    {"a-column-twice", "id,lower,upper,size,size\na,0,3,4,4\n", "names a column twice"},
    {"too-few-fields", "id,lower,upper,size\na,0,3\n", "boxes.csv: the line has 3 fields, the first line names 4 columns"},
    {"too-many-fields", "id,lower,upper,size\na,0,3,4,5\n", "the line has 5 fields"},
    {"an-id-twice", "id,lower,upper,size\na,0,3,4\nb,0,3,4\na,0,3,4\n", "id a stands in line 2 already"},
    {"an-empty-id", "id,lower,upper,size\n,0,3,4\n", "an id is empty"},
    {"a-life-that-ends-before-it-begins", "id,lower,upper,size\na,3,2,4\n", "a lives from 3 to 2"},
    {"a-word-for-a-number", "id,lower,upper,size\na,0,x,4\n", "upper is \"x\", which is no whole number"},
    {"a-fraction", "id,lower,upper,size\na,0,3,4.5\n", "size is \"4.5\""},
    {"a-number-beyond-63-bits", "id,lower,upper,size\na,0,3,9223372036854775808\n", "no whole number below 2^63"},
    {"a-size-below-zero", "id,lower,upper,size\na,0,3,-4\n", "a size below 0"},
    {"a-size-beyond-all-limits", "id,lower,upper,size\na,0,3,2000000000000000000\n", "more than 2^60 bytes"},
    {"an-odd-alignment", "id,lower,upper,size,alignment\na,0,3,4,12\n", "an alignment is a power of two"},
    {"an-offset-below-zero", "id,lower,upper,size,offset\na,0,3,4,-2\n", "an offset below 0"},
    {"an-offset-that-is-not-aligned", "id,lower,upper,size,alignment,offset\na,0,3,4,8,4\nb,0,3,4,8,\n",
     "no multiple of its alignment"},
    {"fixed-boxes-on-each-other", "id,lower,upper,size,offset\na,0,3,4,0\nb,0,3,4,2\nc,0,3,4,\n",
     "boxes 0 and 1 are fixed on the same bytes"},
};

static void test_bad(gconstpointer data)
{
    const struct row *row = data;
    struct psc_doc *doc = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(psc_trace_open_memory("boxes.csv", row->file, strlen(row->file), NULL, NULL, &doc, &error), !=, PSC_OK);
    g_test_message("%s", error.text);
    g_assert_nonnull(strstr(error.text, row->boxes));
    g_assert_null(doc);
}

static void test_places(void)
{
    static const char file[] = "id,lower,upper,size\na,0,3,4\nbb,0,x,4\n";
    struct psc_doc *doc = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(psc_trace_open_memory("boxes.csv", file, sizeof file - 1, NULL, NULL, &doc, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpuint(error.line, ==, 3);
    g_assert_cmpuint(error.column, ==, 6);
    g_assert_cmpuint(error.byte, ==, strstr(file, "x,4") - file);
}

static void test_is(void)
{
    static const char *const no[] = {"", "{", "{\"id\":1,\"lower\":2,\"upper\":3,\"size\":4}", "a,b,c\n1,2,3\n", "lower,upper\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(no); i++)
        g_assert_false(psc_minimalloc_is(no[i], strlen(no[i])));
    g_assert_true(psc_minimalloc_is("size,upper,lower", 16));
}

static void test_warnings(void)
{
    static const char file[] = "id,lower,upper,size,gaps,colour\na,0,9,4,3-5,red\nb,0,9,4,3-5,red\n";
    struct psc_doc *doc = open_text(file);
    g_assert_cmpuint(doc->report.n, ==, 2);
    g_assert_nonnull(strstr(doc->report.items[0].text, "column 6, \"colour\", is none of MiniMalloc's"));
    g_assert_nonnull(strstr(doc->report.items[1].text, "gaps are passed over"));
    psc_doc_free(doc);
}

/* ---- the story ------------------------------------------------------------------------------------------------------ */

static void assert_findings(const struct psc_phase *phase, uint32_t n)
{
    struct psc_analysis *a;
    struct psc_error error = {0};
    if (psc_analysis_new(phase, NULL, &a, &error))
        g_error("%s", error.text);
    g_assert_cmpuint(a->check.finding_n, ==, n);
    psc_analysis_free(a);
}

static void test_overlap(void)
{
    /* b lies on a in the last step of a only; c begins where a ends */
    struct psc_doc *doc = open_text("id,lower,upper,size,offset\na,0,3,4,0\nb,2,5,4,2\nc,3,4,2,0\n");
    assert_findings(&doc->phases[0], 1);
    psc_doc_free(doc);
    doc = open_text("id,lower,upper,size,offset\na,0,3,4,0\nb,3,5,4,2\nc,3,4,2,0\n");
    assert_findings(&doc->phases[0], 0);
    psc_doc_free(doc);
    doc = open_text("id,lower,upper,size,offset\na,1,2,4,0\nb,1,2,4,2\n");
    assert_findings(&doc->phases[0], 1);
    psc_doc_free(doc);
}

/* More boxes begin at one time than a position of a story may write. */
static void test_many_at_once(void)
{
    GString *file = g_string_new("id,lower,upper,size\n");
    for (int i = 0; i < 3000; i++)
        g_string_append_printf(file, "%d,%d,%d,%d\n", i, i % 2, 2 + i % 3, 1 + i % 7);
    struct psc_doc *doc = open_text(file->str);
    g_assert_cmpint(psc_story_check(doc->phases[0].story, NULL), ==, PSC_OK);
    assert_findings(&doc->phases[0], 0);
    psc_doc_free(doc);
    g_string_free(file, TRUE);
}

static void test_replan(void)
{
    struct psc_doc *doc = open_text("id,lower,upper,size\na,0,3,8\nb,1,4,8\nc,0,2,16\nd,3,5,8\n");
    struct psc_error error = {0};
    unsigned n = 0;
    for (const struct psc_planner *planner = psc_planners; planner->name; planner++, n++) {
        struct psc_analysis *a;
        struct psc_analysis_options options = {.planner = planner, .plan = psc_plan_defaults, .replan = true};
        enum psc_status status = psc_analysis_new(&doc->phases[0], &options, &a, &error);
        if (!psc_packer_find(planner->name)) {
            g_assert_cmpint(status, ==, PSC_ERR_USAGE);
            g_assert_nonnull(strstr(error.text, "plans graphs, this phase is a list of boxes"));
            continue;
        }
        g_assert_cmpint(status, ==, PSC_OK);
        g_assert_cmpstr(a->packer, ==, planner->name);
        g_assert_cmpuint(a->check.finding_n, ==, 0);
        psc_analysis_free(a);
        options.plan.capacity = 31;
        g_assert_cmpint(psc_analysis_new(&doc->phases[0], &options, &a, &error), ==, PSC_ERR_TOO_BIG);
        g_assert_nonnull(strstr(error.text, "more than the capacity of 31 bytes, whatever the planner"));
    }
    g_assert_cmpuint(n, >=, 7);
    psc_doc_free(doc);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static void test_round_trip(void)
{
    uint64_t seed = test_seed();
    for (unsigned n = 0; n < 200; n++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = n % 40, .steps = 30, .life_max = 9, .bytes_max = 4096, .unit = 64, .zeros = n % 3 == 0,
                                    .aligns = n % 2, .fixed = n % 5 == 0};
        struct psc_box_set set = {.problem = boxes_random(&arena, seed + n, &shape)}, again;
        const char **names = psc_arena_alloc(&arena, shape.n, sizeof *names);
        int64_t *times = psc_arena_alloc(&arena, 31, sizeof *times);
        struct psc_text text = {0};
        struct psc_report report = {0};
        for (uint32_t i = 0; i < shape.n; i++) {
            char *name = g_strdup_printf(i % 4 ? "box %u" : "\"%u\", quoted", i);
            names[i] = psc_arena_strdup(&arena, name);
            g_free(name);
        }
        for (int k = 0; k <= 30; k++)
            times[k] = k * 7 - 50;
        set.names = names;
        set.times = times;
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, n);
        g_assert_cmpint(psc_minimalloc_write(&set, NULL, &text, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_minimalloc_read(&arena, text.s, text.n, &report, &again, NULL), ==, PSC_OK);
        /* alignments of 1 are none */
        for (uint32_t i = 0; set.problem.aligns && i < shape.n; i++)
            if (!again.problem.aligns)
                g_assert_cmpuint(set.problem.aligns[i], ==, 1);
        set.problem.aligns = again.problem.aligns ? set.problem.aligns : NULL;
        bool any = false;
        for (uint32_t i = 0; set.problem.fixed && i < shape.n; i++)
            any |= set.problem.fixed[i] != PSC_OFFSET_FREE;
        set.problem.fixed = any ? set.problem.fixed : NULL;
        char *before = text_of(&set), *after = text_of(&again);
        g_assert_cmpstr(before, ==, after);
        g_free(before);
        g_free(after);
        psc_text_release(&text);
        psc_report_release(&report);
        psc_arena_release(&arena);
    }
}

static void test_packing_written(void)
{
    struct psc_doc *doc = open_text("id,lower,upper,size\na,0,3,8\nb,1,4,8\n");
    struct psc_text text = {0};
    g_assert_cmpint(psc_minimalloc_write(doc->phases[0].boxes, &doc->phases[0].boxes->packed, &text, NULL), ==, PSC_OK);
    g_assert_cmpstr(text.s, ==, "id,lower,upper,size,offset\na,0,3,8,0\nb,1,4,8,8\n");
    psc_text_release(&text);
    psc_doc_free(doc);
}

/* ---- hostile files and memory ------------------------------------------------------------------------------------------- */

static void test_fuzz(void)
{
    static const char file[] = "id,lower,upper,size,alignment,offset\r\n\"a,\"\"\",0,3,4,8,0\nb,-3,9,4,,\nc,2,5,77,64,-1\n";
    uint64_t state = test_seed();
    unsigned opened = 0, refused = 0;
    for (unsigned n = 0; n < 20000; n++) {
        char *text = g_memdup2(file, sizeof file);
        size_t length = sizeof file - 1;
        struct psc_doc *doc = NULL;
        for (unsigned k = psc_random_next(&state) % 4; k < 4; k++) {
            static const char bytes[] = ",\"\n\r-0123456789abx\xff ";
            text[psc_random_next(&state) % length] = bytes[psc_random_next(&state) % (sizeof bytes - 1)];
        }
        length -= psc_random_next(&state) % 3 ? 0 : psc_random_next(&state) % (length - 1);
        char *exact = g_memdup2(text, length); /* so that reading past the end is seen */
        if (psc_trace_open_memory("boxes.csv", exact, length, NULL, NULL, &doc, NULL))
            refused++;
        else
            opened++;
        psc_doc_free(doc);
        g_free(exact);
        g_free(text);
    }
    g_assert_cmpuint(opened, >, 100);
    g_assert_cmpuint(refused, >, 100);
}

static enum psc_status open_once(void *data)
{
    struct psc_doc *doc = NULL;
    enum psc_status status = psc_trace_open_memory("boxes.csv", data, strlen(data), NULL, NULL, &doc, NULL);
    psc_doc_free(doc);
    return status;
}

static enum psc_status write_once(void *data)
{
    const struct psc_doc *doc = data;
    struct psc_text text = {0};
    const struct psc_box_set *set = doc->phases[0].boxes;
    enum psc_status status = psc_box_set_write(set, &set->packed, "optimal", &psc_plan_defaults, false, &text, NULL);
    psc_text_release(&text);
    return status;
}

static void test_oom(void)
{
    static char file[] = "id,lower,upper,size,alignment,offset,gaps\n\"a,\"\"\",0,3,4,8,0,x\nb,-3,9,4,,,\nc,2,5,77,64,-1,\n";
    g_assert_cmpuint(test_oom_loop(open_once, file), >, 20);
    struct psc_doc *doc = open_text(file);
    g_assert_cmpuint(test_oom_loop(write_once, doc), >, 2);
    psc_doc_free(doc);
}

/* ---- the published instances ------------------------------------------------------------------------------------------------ */

/* Inside the published capacity, and where its bound is known to be reached, at the bound; a fraction of a second each. */
static void assert_fits(const struct psc_offsets_problem *p, uint64_t bound)
{
    struct psc_offsets_problem tight = *p;
    struct psc_arena arena = {0};
    struct psc_offsets packed;
    struct psc_error error = {0};
    tight.capacity = (const uint64_t[]){bound < 1000000 ? 1048576 : bound};
    if (psc_offsets_pack(&arena, &tight, psc_packer_find("optimal"), NULL, &packed, &error) ||
        psc_offsets_check(&tight, &packed, &error))
        g_error("%s", error.text);
    g_test_message("%" G_GUINT64_FORMAT " looks", packed.spaces[0].work);
    g_assert_true(packed.spaces[0].fits);
    g_assert_cmpint(packed.spaces[0].work > 0, ==, !strcmp(packed.spaces[0].by, "search"));
    psc_arena_release(&arena);
}

/* NULL, and the test is skipped, where the shared folder is not there. */
static struct psc_doc *open_shared(const char *folder, const char *file, const char *end)
{
    char *name = g_strconcat(folder, file, end, NULL), *path = test_shared_path(name);
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    g_free(name);
    if (!path)
        g_test_skip("the shared folder is not there");
    else if (psc_trace_open(path, NULL, NULL, &doc, &error))
        g_error("%s", error.text);
    g_free(path);
    return doc;
}

/* Without searching `optimal` is no higher than so many thousandths of the bound, rounded. */
static void assert_ladder(const struct psc_offsets_problem *p, uint64_t thousandths)
{
    struct psc_offsets_budget none = {.work = 1};
    struct psc_arena arena = {0};
    struct psc_offsets packed;
    struct psc_error error = {0};
    if (psc_offsets_pack(&arena, p, psc_packer_find("optimal"), &none, &packed, &error) || psc_offsets_check(p, &packed, &error))
        g_error("%s", error.text);
    g_assert_cmpuint(packed.spaces[0].height * 2000, <=, packed.spaces[0].bound * (2 * thousandths + 1));
    psc_arena_release(&arena);
}

static void test_published(void)
{
    /* heuristic: the lowest before any search; the best single one of planners.md, 2.3, is at 1207 to 1410 */
    static const struct { const char *file; uint32_t boxes; uint64_t bound, heuristic; } rows[] = {
        {"A", 154, 1048576, 1000}, {"B", 170, 1048576, 1073}, {"C", 203, 1039360, 1000}, {"D", 213, 986112, 1168},
        {"E", 215, 1048576, 1131}, {"F", 296, 1048576, 1069}, {"G", 308, 1048576, 1127}, {"H", 316, 1048576, 1056},
        {"I", 374, 1048576, 1153}, {"J", 409, 989184, 1084},  {"K", 454, 1048576, 1170},
    };
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        struct psc_doc *doc = open_shared("data/minimalloc/", rows[k].file, ".1048576.csv");
        struct psc_error error = {0};
        if (!doc)
            return;
        g_assert_cmpuint(doc->phases[0].boxes->problem.box_n, ==, rows[k].boxes);
        g_assert_cmpuint(doc->phases[0].boxes->packed.spaces[0].bound, ==, rows[k].bound);
        g_assert_cmpint(psc_offsets_check(&doc->phases[0].boxes->problem, &doc->phases[0].boxes->packed, &error), ==, PSC_OK);
        assert_ladder(&doc->phases[0].boxes->problem, rows[k].heuristic);
        assert_fits(&doc->phases[0].boxes->problem, rows[k].bound);
        psc_doc_free(doc);
    }
}

static void add_rows(const char *folder, const struct row *rows, size_t n, GTestDataFunc test)
{
    for (size_t k = 0; k < n; k++) {
        char *path = g_strdup_printf("/traces/minimalloc/%s/%s", folder, rows[k].path);
        g_test_add_data_func(path, &rows[k], test);
        g_free(path);
    }
}

/* What ggml's gallocr needs for the same boxes (planners.md, 2.1 and 2.4), which `best-fit` needs, too, to the byte; what
 * `optimal` needs; and the bound. 440-token prefills and a decode step of a Qwen2 shape, chains and random graphs. */
static const struct { const char *file; uint64_t gallocr, optimal, bound; } planning[] = {
    {"prefill440_cache_last.inplace", 29744032, 28165312, 28165312},
    {"prefill440_cache_last.maxinplace", 21183392, 21181632, 21181632},
    {"prefill440_cache_last.raw", 31320992, 28165312, 28165312},
    {"prefill440_flash_last.inplace", 30870432, 27714752, 27714752},
    {"decode_cache.inplace", 611328, 611328, 611328},
    {"chain_1000.inplace", 1235200, 999424, 999424},
    {"chain_10000.inplace", 1362688, 1024000, 1024000},
    {"par8_1000.inplace", 2797312, 2320896, 2320896},
    {"par64_1000.inplace", 11439616, 0, 9278208},
    {"par256_1000.inplace", 34734848, 0, 34274048},
    {"dagc64_1000.inplace", 7590400, 6341888, 6341888},
    {"dagc64_10000.inplace", 9970176, 8169728, 8169728},
};

/* Before it searches `optimal` is below the heights that planners.md, 4 (Q4) asks for, 1.11 and 1.06: thousandths of the
 * bound. */
static void assert_quick(const struct psc_offsets_problem *p, const char *file)
{
    static const struct { const char *file; uint64_t thousandths; } quick[] = {
        {"par64_1000.inplace", 1053}, {"dagc64_1000.inplace", 1003}};
    for (size_t k = 0; k < G_N_ELEMENTS(quick); k++)
        if (!strcmp(file, quick[k].file))
            assert_ladder(p, quick[k].thousandths);
}

static void assert_heights(const struct psc_offsets_problem *p, size_t k)
{
    struct psc_arena arena = {0};
    struct psc_offsets packed;
    struct psc_error error = {0};
    if (psc_offsets_pack(&arena, p, psc_packer_find("best-fit"), NULL, &packed, &error))
        g_error("%s", error.text);
    g_assert_cmpuint(packed.spaces[0].height, ==, planning[k].gallocr);
    g_assert_cmpuint(packed.spaces[0].bound, ==, planning[k].bound);
    if (psc_offsets_pack(&arena, p, psc_packer_find("optimal"), NULL, &packed, &error))
        g_error("%s", error.text);
    if (planning[k].optimal)
        g_assert_cmpuint(packed.spaces[0].height, ==, planning[k].optimal);
    else
        g_assert_cmpuint(packed.spaces[0].height, <=, planning[k].bound / 100 * 106);
    psc_arena_release(&arena);
}

static void test_planning(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(planning); k++) {
        struct psc_doc *doc = open_shared("data/planning/", planning[k].file, ".csv");
        if (!doc)
            return;
        g_test_message("%s", planning[k].file);
        assert_heights(&doc->phases[0].boxes->problem, k);
        assert_quick(&doc->phases[0].boxes->problem, planning[k].file);
        psc_doc_free(doc);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_rows("reads", good, G_N_ELEMENTS(good), test_good);
    add_rows("refuses", bad, G_N_ELEMENTS(bad), test_bad);
    g_test_add_func("/traces/minimalloc/a-fault-has-line-column-and-byte", test_places);
    g_test_add_func("/traces/minimalloc/is-known-by-its-first-line", test_is);
    g_test_add_func("/traces/minimalloc/warns-of-what-it-passes-over", test_warnings);
    g_test_add_func("/traces/minimalloc/offsets-that-overlap-are-findings", test_overlap);
    g_test_add_func("/traces/minimalloc/thousands-begin-at-once", test_many_at_once);
    g_test_add_func("/traces/minimalloc/planners-of-arenas-pack-again", test_replan);
    g_test_add_func("/traces/minimalloc/what-is-written-is-read-back", test_round_trip);
    g_test_add_func("/traces/minimalloc/a-packing-is-written-as-offsets", test_packing_written);
    g_test_add_func("/traces/minimalloc/broken-files-never-crash", test_fuzz);
    g_test_add_func("/traces/minimalloc/oom", test_oom);
    g_test_add_func("/traces/minimalloc/the-published-instances-open", test_published);
    g_test_add_func("/traces/minimalloc/best-fit-needs-what-gallocr-needs", test_planning);
    return g_test_run();
}
