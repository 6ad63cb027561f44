#include "core/graph/graph.h"
#include "tests/util.h"

#include <string.h>

/* ---- a draft written as rows ---------------------------------------------------------------------- */

struct row {
    uint64_t id;
    const char *name, *op;
    uint64_t d0;
    uint64_t src[3];
    uint32_t src_n;
};

/* Builds a draft of f32 rows [d0, 1, 1, 1] on backend cpu and makes a graph of it. */
static enum psc_status from_rows(const struct row *rows, uint32_t n, const uint64_t *inputs, uint32_t input_n,
                                 const uint64_t *outputs, uint32_t output_n, struct psc_arena *arena,
                                 struct psc_report *report, struct psc_graph **ret)
{
    struct psc_draft_node nodes[16] = {0};
    g_assert_cmpuint(n, <=, G_N_ELEMENTS(nodes));
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = (struct psc_draft_node){
            .id = rows[i].id, .name = rows[i].name, .op_name = rows[i].op, .dtype_name = "f32", .backend = "cpu",
            .shape = {rows[i].d0, 1, 1, 1}, .src = rows[i].src, .src_n = rows[i].src_n, .layer = -1,
            .byte = UINT64_MAX,
        };
    struct psc_draft draft = {.nodes = nodes, .n = n, .inputs = inputs, .input_n = input_n,
                              .outputs = outputs, .output_n = output_n};
    return psc_graph_from_draft(arena, &draft, report, ret, NULL);
}

static gboolean says(const struct psc_report *report, enum psc_level level, const char *text)
{
    for (size_t i = 0; i < report->n; i++)
        if (report->items[i].level == level && strstr(report->items[i].text, text))
            return TRUE;
    return FALSE;
}

static void test_cycles(void)
{
    static const struct row rows[] = {
        {0, "x", "input", 4, {0}, 0}, {1, "a", "add", 4, {0, 3}, 2}, {2, "b", "silu", 4, {1}, 1},
        {3, "c", "scale", 4, {2}, 1}, {4, "s", "add", 4, {4, 0}, 2},
    };
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    g_assert_cmpint(from_rows(rows, 5, (uint64_t[]){0}, 1, (uint64_t[]){3, 4}, 2, &arena, &report, &g), ==,
                    PSC_ERR_GRAPH);
    g_assert_null(g);
    g_assert_cmpuint(report.fault_n, ==, 2);
    g_assert_true(says(&report, PSC_FAULT, "cycle: 1 -> 2 -> 3 -> 1"));
    g_assert_true(says(&report, PSC_FAULT, "cycle: 4 -> 4"));
    g_assert_cmpuint(arena.total, ==, 0);
    psc_report_release(&report);
    psc_arena_release(&arena);
}

static void test_dangling(void)
{
    static const struct row rows[] = {
        {0, "ids", "input", 2, {0}, 0}, {1, "h", "silu", 4, {0}, 1}, {4, "tail", "add", 4, {1, 9}, 2},
    };
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    g_assert_cmpint(from_rows(rows, 3, (uint64_t[]){0, 7}, 2, (uint64_t[]){4, 21}, 2, &arena, &report, &g), ==,
                    PSC_ERR_GRAPH);
    g_assert_cmpuint(report.fault_n, ==, 3);
    g_assert_true(says(&report, PSC_FAULT, "node 4 src 9 does not exist"));
    g_assert_true(says(&report, PSC_FAULT, "output 21 does not exist"));
    g_assert_true(says(&report, PSC_FAULT, "input 7 does not exist"));
    psc_report_release(&report);
    psc_arena_release(&arena);
}

static void test_duplicate_ids(void)
{
    static const struct row rows[] = {
        {0, "x", "input", 4, {0}, 0}, {1, "a", "scale", 4, {0}, 1}, {1, "b", "scale", 4, {0}, 1},
        {3, "y", "silu", 4, {1}, 1},
    };
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    g_assert_cmpint(from_rows(rows, 4, (uint64_t[]){0}, 1, (uint64_t[]){3}, 1, &arena, &report, &g), ==,
                    PSC_ERR_GRAPH);
    g_assert_cmpuint(report.fault_n, ==, 1);
    g_assert_true(says(&report, PSC_FAULT, "duplicate id: id 1 is used by nodes[1] (a) and nodes[2] (b), "
                                           "so src 1 of node 3 is ambiguous"));
    psc_report_release(&report);
    psc_arena_release(&arena);
}

static void test_chain(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    struct psc_error error;
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), w = psc_builder_input(b, "w", PSC_F32, 4, 1);
    psc_node t = psc_builder_binary(b, "t", PSC_OP_ADD, x, w), v = psc_builder_view(b, "v", t, 2, 2, 1);
    psc_node o = psc_builder_unary(b, "o", PSC_OP_SILU, v);
    psc_builder_output(b, o);
    psc_builder_output(b, o);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, &error), ==, PSC_OK);
    psc_builder_free(b);
    g_assert_cmpuint(g->n, ==, 5);
    g_assert_cmpuint(g->output_n, ==, 1);
    g_assert_cmpuint(g->nodes[v].root, ==, t);
    g_assert_cmpuint(g->nodes[v].root_offset, ==, 8);
    g_assert_cmpuint(g->nodes[t].reader_n, ==, 1);
    g_assert_cmpuint(g->readers[g->reader_at[t]], ==, v);
    psc_node order[5];
    g_assert_cmpint(psc_graph_topological(g, true, order, NULL), ==, PSC_OK);
    for (psc_node i = 0; i < 5; i++)
        g_assert_cmpuint(order[i], ==, i);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/graph/draft/tells-every-cycle-once", test_cycles);
    g_test_add_func("/core/graph/draft/tells-every-dangling-reference-in-one-pass", test_dangling);
    g_test_add_func("/core/graph/draft/names-both-places-of-a-duplicate-id", test_duplicate_ids);
    g_test_add_func("/core/graph/builder/makes-the-graph-of-the-header", test_chain);
    return g_test_run();
}
