#include "tests/planned.h"
#include "tests/qwen.h"
#include "tests/util.h"

/* Each fault on the small graph that shows it, and the wrong reads it must give: kind, victim, writer, reader.
 * Without the fault the same plan is clean. */
struct row {
    const char *fault, *others, *graph, *findings;
};

static const char seven[] = "x: input 4\nw: input 4\nh: add 4 x w\nn: mul 4 h w\na: add 4 n w\nlate: mul 4 h w\n"
                            "o: add 4 a late\nout o";
static const char root_read[] = "x: input 4\nw: input 4\nt: add 4 x w\nv: view 4 t\ns: silu 4 v\no: add 4 s t\nout o";
static const char output_read[] = "x: input 4\nw: input 4\nh: add 4 x w\ns: silu 4 h\nout h s";
static const char four[] = "x: input 4\nw: input 4\nt: add 4 x w\ns: silu 4 t\nu: mul 4 x w\no: add 4 s u\nout o";
static const char windows[] = "x: input 8\nw: input 8\na: input 4\na4: input 4\nt: add 8 x w\np0: view 4 t\n"
                              "p1: view 4 t +4\ns: mul 4 a a4\no: mul 4 p0 s\nout o";
static const char staged[] = "x: input 4\ny: input 4\ngx: input 4 @gpu\nc: add 4 x y\ng1: mul 4 c gx @gpu\n"
                             "g2: add 4 gx gx @gpu\ng3: add 4 g1 g2 @gpu\ng4: add 4 g3 c @gpu\nout g4";

static const struct row rows[] = {
    {"l1", "hardened", seven, "K2 h a late"},
    {"l2", "hardened",
     "ids: input 2\nembed: get_rows 4 ids\npositions: input 2\nr: rope 4 embed positions\nout r",
     "K3 ids positions embed"},
    {"l3", "hardened", "x: input 8\nw: input 8\nt: add 8 x w\nc: mul 8 t w\ny: input 8\no: mul 8 c y\nout o",
     "K3 y t o"},
    {"l4", "hardened", four, "K1 s u o"},
    {"l5", "hardened", windows, "K4 t s o"},
    {"l7", "hardened", staged, "K8 c g2 g4"},
    {"h1", "hardened", root_read, "K5 t s o"},
    {"h2", "hardened", output_read, "K5 h s export"},
    {"h3", "hardened", "x: input 4\ny: silu 4 x\nout y", ""},
};

static void assert_findings(const char *graph, const char *words, const char *expected)
{
    struct planned p = planned_new(graph, words);
    char *findings = planned_findings(&p);
    g_assert_cmpstr(findings, ==, expected);
    g_free(findings);
    planned_release(&p);
}

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    char *words = g_strjoin(" ", row->others, row->fault, NULL);
    assert_findings(row->graph, row->others, "");
    assert_findings(row->graph, words, row->findings);
    g_free(words);
}

/* Upstream mode is hardened mode with the holes open. */
static void test_upstream_has_the_holes(void)
{
    assert_findings(root_read, "upstream", "K5 t s o");
    assert_findings(output_read, "upstream", "K5 h s export");
}

/* An input overwritten in place hurts only who runs again without filling it. */
static void test_rerun(void)
{
    struct planned p = planned_new("x: input 4\ny: silu 4 x\nout y", "hardened h3");
    g_assert_cmpuint(p.check.finding_n, ==, 0);
    p.plan->rerun = true;
    g_assert_cmpint(psc_plan_lower(&p.arena, p.graph, p.plan, &p.story, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_story_check(p.story, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_check_story(&p.arena, p.graph, p.story, &p.check, NULL), ==, PSC_OK);
    char *findings = planned_findings(&p);
    g_assert_cmpstr(findings, ==, "K5 x y rerun");
    g_free(findings);
    planned_release(&p);
}

/* Outputs that nobody pins: recycled when read, without a buffer when not. */
static void test_unpinned_outputs(void)
{
    assert_findings("x: input 4\nw: input 4\nh: add 4 x w\nl: mul 4 h w\na: add 4 l w\nb: mul 4 a w\nc: add 4 b w\n"
                    "d: add 4 c w\nout l",
                    "hardened h7", "K1 l b export");
    struct planned p = planned_new("x: input 4\no: scale 4 x\nout o", "hardened h7");
    char *places = planned_places(&p);
    g_assert_cmpstr(places, ==, "x=b0 o=-");
    g_assert_cmpuint(p.check.finding_n, ==, 1);
    g_assert_cmpuint(p.check.findings[0].victim, ==, 1);
    g_assert_cmpuint(p.check.findings[0].writer, ==, PSC_NONE);
    g_assert_cmpint(p.check.findings[0].reader_kind, ==, PSC_READER_EXPORT);
    g_free(places);
    planned_release(&p);
}

/* Only the figure lies: the peak is looked at when its own bytes are gone. */
static void test_late_peak(void)
{
    static const char graph[] = "x: input 4\na: matmul 100 x\nb: matmul 50 a\nc: matmul 8 b\nout c";
    struct planned right = planned_new(graph, "exact"), late = planned_new(graph, "exact h8");
    g_assert_cmpuint(right.plan->figures.peak_live_bytes, ==, 16 + 400 + 200);
    g_assert_cmpuint(late.plan->figures.peak_live_bytes, ==, 16 + 400);
    planned_release(&right);
    planned_release(&late);
}

/* ---- the published graph ------------------------------------------------------------------------------------ */

static struct psc_check check_qwen(struct psc_arena *arena, const char *words, uint64_t tokens)
{
    struct qwen_options shape = qwen_prefill;
    shape.tokens = tokens;
    struct planned p = planned_graph(qwen_graph(arena, &shape), words);
    struct psc_check check = p.check;
    struct psc_finding *kept = psc_arena_alloc(arena, check.finding_n, sizeof *kept);
    for (uint32_t i = 0; i < check.finding_n; i++)
        kept[i] = check.findings[i];
    check.findings = kept;
    planned_release(&p);
    return check;
}

static void assert_one(const char *words, psc_node victim, psc_node writer, psc_node reader)
{
    struct psc_arena arena = {0};
    struct psc_check check = check_qwen(&arena, words, 2);
    g_assert_cmpuint(check.finding_n, ==, 1);
    g_assert_cmpuint(check.wrong_n, ==, 1);
    g_assert_cmpint(check.findings[0].kind, ==, PSC_K2);
    g_assert_cmpuint(check.findings[0].victim, ==, victim);
    g_assert_cmpuint(check.findings[0].writer, ==, writer);
    g_assert_cmpuint(check.findings[0].reader, ==, reader);
    psc_arena_release(&arena);
}

static void test_qwen_order(void)
{
    assert_one("topological fifo", 416, 425, 429);
    assert_one("topological lifo", 416, 426, 429);
    assert_one("l1 fifo", 416, 425, 429);
}

static void test_qwen_clean(void)
{
    static const char *const words[] = {"topological lowest", "lowest",   "fifo",     "lifo",
                                        "random:1",           "random:2", "hardened", "hardened lifo exact"};
    for (size_t k = 0; k < G_N_ELEMENTS(words); k++) {
        struct psc_arena arena = {0};
        g_assert_cmpuint(check_qwen(&arena, words[k], 2).finding_n, ==, 0);
        psc_arena_release(&arena);
    }
}

/* Only the reduced tail rows read the residual after attention: one token has none. */
static void test_qwen_one_token(void)
{
    struct psc_arena arena = {0};
    struct planned p = planned_graph(qwen_graph(&arena, &qwen_unfused), "topological fifo");
    g_assert_cmpuint(p.check.finding_n, ==, 0);
    planned_release(&p);
    psc_arena_release(&arena);
}

/* With the old alias rule and the latest buffer first, attention writes over the q it is reading, in every layer. */
static void test_qwen_l4(void)
{
    struct psc_arena arena = {0};
    struct psc_check check = check_qwen(&arena, "l4 lifo", 2);
    g_assert_cmpuint(check.finding_n, ==, 24);
    for (uint32_t i = 0; i < check.finding_n; i++) {
        g_assert_cmpint(check.findings[i].kind, ==, PSC_K5);
        g_assert_cmpuint(check.findings[i].writer, ==, check.findings[i].reader);
    }
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strdup_printf("/plan-faults/%s-gives-exactly-its-wrong-reads", rows[i].fault);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    g_test_add_func("/plan-faults/upstream-leaves-h1-and-h2-open", test_upstream_has_the_holes);
    g_test_add_func("/plan-faults/h3-hurts-a-second-run", test_rerun);
    g_test_add_func("/plan-faults/h7-recycles-or-loses-outputs", test_unpinned_outputs);
    g_test_add_func("/plan-faults/h8-samples-the-peak-too-late", test_late_peak);
    g_test_add_func("/plan-faults/qwen/the-wrong-order-gives-one-wrong-read", test_qwen_order);
    g_test_add_func("/plan-faults/qwen/lowest-hides-it-and-build-order-has-none", test_qwen_clean);
    g_test_add_func("/plan-faults/qwen/one-token-has-no-tail-rows", test_qwen_one_token);
    g_test_add_func("/plan-faults/qwen/l4-puts-attention-over-its-own-q", test_qwen_l4);
    return g_test_run();
}
