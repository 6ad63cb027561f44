#include "core/graph/graph.h"
#include "tests/util.h"

#include <string.h>

/* ---- a draft written as rows ---------------------------------------------------------------------- */

#define ROWS_MAX 16

struct row {
    uint64_t id;
    const char *name, *op;
    uint64_t shape[4];
    uint64_t src[3];
    uint32_t src_n;
};
struct trial {
    struct psc_draft_node nodes[ROWS_MAX];
    struct psc_draft draft;
    struct psc_arena arena;
    struct psc_report report;
    struct psc_graph *g;
    struct psc_error error;
    enum psc_status status;
};

/* f32 nodes on backend cpu; outputs and inputs as given. */
static struct trial *write_draft(const struct row *rows, uint32_t n, const uint64_t *inputs, uint32_t input_n,
                                 const uint64_t *outputs, uint32_t output_n)
{
    struct trial *t = g_new0(struct trial, 1);
    g_assert_cmpuint(n, <=, ROWS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        t->nodes[i] = (struct psc_draft_node){
            .id = rows[i].id, .name = rows[i].name, .op_name = rows[i].op, .dtype_name = "f32", .backend = "cpu",
            .src = rows[i].src, .src_n = rows[i].src_n, .layer = -1, .byte = 100 * i,
        };
        memcpy(t->nodes[i].shape, rows[i].shape, sizeof rows[i].shape);
    }
    t->draft = (struct psc_draft){.nodes = t->nodes, .n = n, .inputs = inputs, .input_n = input_n,
                                  .outputs = outputs, .output_n = output_n};
    return t;
}

static void try_draft(struct trial *t, enum psc_status want)
{
    t->status = psc_graph_from_draft(&t->arena, &t->draft, &t->report, &t->g, &t->error);
    if (t->status != want)
        g_error("%s instead of %s: %s", psc_status_name(t->status), psc_status_name(want), t->error.text);
    if (want == PSC_OK) {
        g_assert_nonnull(t->g);
        g_assert_cmpuint(t->report.fault_n, ==, 0);
    } else {
        g_assert_null(t->g); /* nothing is half-loaded */
        g_assert_cmpuint(t->arena.total, ==, 0);
    }
}

static void free_trial(struct trial *t)
{
    psc_report_release(&t->report);
    psc_arena_release(&t->arena);
    g_free(t);
}

/* Exactly one message of that level says it. */
static void check_says(const struct trial *t, enum psc_level level, const char *text)
{
    unsigned n = 0;
    for (size_t i = 0; i < t->report.n; i++)
        n += t->report.items[i].level == level && strstr(t->report.items[i].text, text);
    if (n != 1) {
        for (size_t i = 0; i < t->report.n; i++)
            g_printerr("  %d %s\n", t->report.items[i].level, t->report.items[i].text);
        g_error("%u messages of level %d say \"%s\"", n, level, text);
    }
}

#define DRAFT(rows, in, out) \
    write_draft(rows, G_N_ELEMENTS(rows), in, G_N_ELEMENTS(in), out, G_N_ELEMENTS(out))
#define VEC(n) {n, 1, 1, 1}

static const uint64_t zero[] = {0}, one[] = {1}, two[] = {2}, three[] = {3};

/* ---- faults --------------------------------------------------------------------------------------------- */

static void test_cycles(void)
{
    static const struct row rows[] = {
        {0, "x", "input", VEC(4), {0}, 0}, {1, "a", "add", VEC(4), {0, 3}, 2}, {2, "b", "silu", VEC(4), {1}, 1},
        {3, "c", "scale", VEC(4), {2}, 1}, {4, "s", "add", VEC(4), {4, 0}, 2},
    };
    static const uint64_t outputs[] = {3, 4};
    struct trial *t = DRAFT(rows, zero, outputs);
    try_draft(t, PSC_ERR_GRAPH);
    g_assert_cmpuint(t->report.fault_n, ==, 2);
    check_says(t, PSC_FAULT, "cycle: 1 -> 2 -> 3 -> 1");
    check_says(t, PSC_FAULT, "cycle: 4 -> 4");
    g_assert_cmpuint(t->error.byte, ==, 100);
    free_trial(t);
}

/* Two rings that share node 1 are one strongly connected part: every node of it is in a cycle that is told. */
static void test_joined_cycles(void)
{
    static const struct row rows[] = {
        {1, "a", "add", VEC(4), {2, 5}, 2}, {2, "b", "silu", VEC(4), {1}, 1}, {3, "c", "silu", VEC(4), {1}, 1},
        {4, "d", "silu", VEC(4), {3}, 1},   {5, "e", "silu", VEC(4), {4}, 1}, {6, "f", "silu", VEC(4), {5}, 1},
    };
    static const uint64_t outputs[] = {6};
    struct trial *t = DRAFT(rows, (const uint64_t[]){6}, outputs);
    try_draft(t, PSC_ERR_GRAPH);
    g_assert_cmpuint(t->report.fault_n, ==, 2);
    check_says(t, PSC_FAULT, "cycle: 1 -> 2 -> 1");
    check_says(t, PSC_FAULT, "cycle: 3 -> 4 -> 5 -> 1 -> 3");
    free_trial(t);
}

/* A dense knot: the search stays linear, the list short. */
static void test_knot(void)
{
    enum { N = 3000, WIDE = 40 };
    struct psc_draft_node *nodes = g_new0(struct psc_draft_node, N);
    uint64_t *src = g_new(uint64_t, N * WIDE);
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    for (uint64_t i = 0; i < N; i++) {
        for (uint64_t k = 0; k < WIDE; k++)
            src[i * WIDE + k] = (i * 7919 + k * k + 1) % N;
        nodes[i] = (struct psc_draft_node){.id = i, .op_name = "concat", .dtype_name = "f32", .src = &src[i * WIDE],
                                           .src_n = WIDE, .shape = VEC(4), .layer = -1, .byte = UINT64_MAX};
    }
    struct psc_draft draft = {.nodes = nodes, .n = N};
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, &report, &g, NULL), ==, PSC_ERR_GRAPH);
    g_assert_cmpuint(report.fault_n, >=, 1);
    g_assert_cmpuint(report.fault_n, <=, 8);
    psc_report_release(&report);
    psc_arena_release(&arena);
    g_free(nodes);
    g_free(src);
}

static void test_long_cycle(void)
{
    enum { N = 200000 };
    struct psc_draft_node *nodes = g_new0(struct psc_draft_node, N);
    uint64_t *src = g_new(uint64_t, N);
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    for (uint64_t i = 0; i < N; i++) {
        src[i] = i ? i - 1 : N - 1;
        nodes[i] = (struct psc_draft_node){.id = i, .op_name = "silu", .dtype_name = "f32", .src = &src[i], .src_n = 1,
                                           .shape = VEC(4), .layer = -1, .byte = UINT64_MAX};
    }
    struct psc_draft draft = {.nodes = nodes, .n = N};
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, &report, &g, NULL), ==, PSC_ERR_GRAPH);
    g_assert_cmpuint(report.fault_n, ==, 1);
    g_assert_nonnull(strstr(report.items[0].text, "cycle: 0 -> 1 -> 2 -> "));
    g_assert_nonnull(strstr(report.items[0].text, " -> ... (199935 more) -> 0"));
    psc_report_release(&report);
    psc_arena_release(&arena);
    g_free(nodes);
    g_free(src);
}

static void test_dangling(void)
{
    static const struct row rows[] = {
        {0, "ids", "input", VEC(2), {0}, 0}, {1, "h", "silu", VEC(2), {0}, 1}, {4, "tail", "add", VEC(2), {1, 9}, 2},
    };
    static const uint64_t inputs[] = {0, 7}, outputs[] = {4, 21};
    struct trial *t = DRAFT(rows, inputs, outputs);
    try_draft(t, PSC_ERR_GRAPH);
    g_assert_cmpuint(t->report.fault_n, ==, 3);
    check_says(t, PSC_FAULT, "node 4 src 9 does not exist");
    check_says(t, PSC_FAULT, "output 21 does not exist");
    check_says(t, PSC_FAULT, "input 7 does not exist");
    g_assert_nonnull(strstr(t->error.text, "; "));
    free_trial(t);
}

static void test_duplicate_ids(void)
{
    static const struct row rows[] = {
        {0, "x", "input", VEC(4), {0}, 0}, {1, "a", "scale", VEC(4), {0}, 1}, {1, "b", "scale", VEC(4), {0}, 1},
        {3, "y", "silu", VEC(4), {1}, 1},  {3, NULL, "silu", VEC(4), {1}, 1},
    };
    struct trial *t = DRAFT(rows, zero, three);
    try_draft(t, PSC_ERR_GRAPH);
    g_assert_cmpuint(t->report.fault_n, ==, 2);
    check_says(t, PSC_FAULT, "duplicate id: id 1 is used by nodes[1] (a) and nodes[2] (b), so src 1 of node 3 is "
                             "ambiguous");
    check_says(t, PSC_FAULT, "duplicate id: id 3 is used by nodes[3] (y) and nodes[4] (unnamed)");
    free_trial(t);
}

static void test_every_fault(void)
{
    static const struct row rows[] = {
        {0, "x", "input", VEC(4), {0}, 0},
        {1, "wide", "silu", {UINT64_C(1) << 40, UINT64_C(1) << 40, 1, 1}, {0}, 1},
        {2, "heavy", "silu", VEC(UINT64_C(1) << 60), {0}, 1},
        {3, "alone", "add", VEC(4), {0}, 1},
        {4, "fed", "input", VEC(4), {0}, 1},
        {5, "v", "view", VEC(4), {0}, 1}, /* offset 1: one element too far */
        {6, "w", "view", VEC(4), {0, 3}, 2},
        {7, "big", "reshape", VEC(5), {0}, 1},
        {8, "far", "silu", VEC(4), {99}, 1},
        {9, "deep", "silu", VEC(4), {0}, 1},
        {10, "loop", "silu", VEC(4), {10}, 1},
    };
    static const uint64_t inputs[] = {0, 4};
    struct trial *t = DRAFT(rows, inputs, three);
    t->nodes[5].params.view_offset = 1;
    t->nodes[9].layer = PSC_LAYERS_MAX;
    try_draft(t, PSC_ERR_GRAPH);
    check_says(t, PSC_FAULT, "node 1 (wide): the shape [1099511627776, 1099511627776, 1, 1] is too large");
    check_says(t, PSC_FAULT, "node 2 (heavy): the shape [1152921504606846976, 1, 1, 1] is too large");
    check_says(t, PSC_FAULT, "node 3 (alone): add takes 2 operands, found 1");
    check_says(t, PSC_FAULT, "node 4 (fed): an input reads nothing, but it has 1 operand");
    check_says(t, PSC_FAULT, "node 5 (v): the view takes 16 bytes from byte 4 of node 0 (x), which has only 16");
    check_says(t, PSC_FAULT, "node 6 (w): view takes 1 operand, found 2");
    check_says(t, PSC_FAULT, "node 7 (big): the view takes 20 bytes");
    check_says(t, PSC_FAULT, "node 8 src 99 does not exist");
    check_says(t, PSC_FAULT, "node 9 (deep): layer 65536 is not below the limit of 65536");
    check_says(t, PSC_FAULT, "cycle: 10 -> 10");
    g_assert_cmpuint(t->report.fault_n, ==, 10);
    free_trial(t);
}

static void test_total(void)
{
    struct row rows[ROWS_MAX] = {{0}};
    for (uint64_t i = 0; i < ROWS_MAX; i++)
        rows[i] = (struct row){i, "x", "input", VEC(UINT64_C(1) << 55), {0}, 0};
    struct trial *t = DRAFT(rows, zero, zero);
    try_draft(t, PSC_ERR_GRAPH);
    check_says(t, PSC_FAULT, "node 8 (x): with this node the graph's tensors need more than 2^60 bytes");
    free_trial(t);
}

static void test_second_graph(void)
{
    static const struct row bad[] = {{0, "x", "silu", VEC(4), {5}, 1}}, good[] = {{0, "x", "input", VEC(4), {0}, 0}};
    struct trial *t = DRAFT(bad, (const uint64_t[]){0}, zero), *u = DRAFT(good, zero, zero);
    try_draft(t, PSC_ERR_GRAPH);
    /* The report of a file with several phases: what is wrong with one does not condemn the next. */
    g_assert_cmpint(psc_graph_from_draft(&u->arena, &u->draft, &t->report, &u->g, NULL), ==, PSC_OK);
    g_assert_cmpuint(t->report.fault_n, ==, 1);
    free_trial(t);
    free_trial(u);
}

static void test_too_many(void)
{
    struct psc_draft draft = {.n = PSC_NODES_MAX + 1};
    struct psc_draft_node *nodes = g_new0(struct psc_draft_node, 2);
    struct psc_arena arena = {0};
    struct psc_error error;
    struct psc_graph *g = NULL;
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, NULL, &g, &error), ==, PSC_ERR_TOO_BIG);
    nodes[0].src_n = PSC_EDGES_MAX; /* never read: counted first */
    nodes[1].src_n = 1;
    nodes[1].id = 1;
    draft = (struct psc_draft){.nodes = nodes, .n = 2};
    nodes[0].op_name = nodes[1].op_name = "concat";
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, NULL, &g, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_nonnull(strstr(error.text, "268435457 operands"));
    psc_arena_release(&arena);
    g_free(nodes);
}

/* ---- what is only strange --------------------------------------------------------------------------------- */

static void test_lenient(void)
{
    static const struct row rows[] = {
        {0, "x", "input", VEC(4), {0}, 0},      {1, "hidden", "input", VEC(4), {0}, 0},
        {2, "sum", "add", VEC(4), {0, 1, 0}, 3}, {3, "odd", "cpy", VEC(4), {2}, 1},
        {4, "param", "parameter", VEC(4), {0}, 0}, {5, "odd2", "cpy", VEC(5), {3}, 1},
        {6, "wrong", "silu", VEC(3), {5}, 1},
    };
    static const uint64_t inputs[] = {0, 0, 2, 4}, outputs[] = {6, 6};
    struct trial *t = DRAFT(rows, inputs, outputs);
    t->nodes[5].dtype_name = "q4_K";
    try_draft(t, PSC_OK);
    check_says(t, PSC_WARNING, "node 1 (hidden) is an input that the list of inputs does not name");
    check_says(t, PSC_WARNING, "input 2 (sum) is computed by the graph (add); it is not treated as an input");
    check_says(t, PSC_WARNING, "node 2 (sum): add takes at most 2 operands, found 3");
    check_says(t, PSC_WARNING, "input 4 (param) is unused");
    check_says(t, PSC_NOTE, "op \"cpy\" is not known; 2 nodes (first: 3) are planned by their shape");
    check_says(t, PSC_NOTE, "op \"parameter\" is not known; 1 node (first: 4) is planned by its shape");
    check_says(t, PSC_NOTE, "dtype \"q4_K\" of node 5 is not known; it counts as 4 bytes an element (1 node)");
    check_says(t, PSC_NOTE, "node 6 has the shape [3, 1, 1, 1] where silu makes [5, 1, 1, 1] of its operands (1 node");
    g_assert_cmpuint(t->g->input_n, ==, 3);
    g_assert_cmpuint(t->g->output_n, ==, 1);
    g_assert_true(t->g->nodes[4].is_input);
    g_assert_cmpint((int)t->g->nodes[4].op, ==, PSC_OP_OTHER);
    g_assert_false(t->g->nodes[2].is_input);
    g_assert_cmpstr(t->g->nodes[3].op_name, ==, "cpy");
    g_assert_cmpuint(t->g->nodes[5].bytes, ==, 20);
    free_trial(t);
}

static void test_many_unknown(void)
{
    enum { N = 40 };
    struct psc_draft_node nodes[N] = {{0}};
    char names[N][8];
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    for (unsigned i = 0; i < N; i++) {
        g_snprintf(names[i], sizeof names[i], "op%u", i);
        nodes[i] = (struct psc_draft_node){.id = i, .op_name = names[i], .dtype_name = "f32", .layer = -1};
    }
    struct psc_draft draft = {.nodes = nodes, .n = N};
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, &report, &g, NULL), ==, PSC_OK);
    g_assert_cmpuint(report.n, ==, 18);
    g_assert_nonnull(strstr(report.items[17].text, "the graph lists no outputs"));
    g_assert_nonnull(strstr(report.items[16].text, "24 more nodes have other unknown ops"));
    psc_report_release(&report);
    psc_arena_release(&arena);
}

/* A flood of warnings is counted, and never drowns the fault. */
static void test_flood(void)
{
    enum { N = 5000 };
    struct psc_draft_node *nodes = g_new0(struct psc_draft_node, N);
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    struct psc_error error;
    for (unsigned i = 0; i < N; i++)
        nodes[i] = (struct psc_draft_node){.id = i, .op_name = "input", .dtype_name = "f32", .layer = -1,
                                           .name = "tab\tline\n\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                                                   "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                                                   "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"};
    struct psc_draft draft = {.nodes = nodes, .n = N};
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, &report, &g, &error), ==, PSC_OK);
    g_assert_cmpuint(report.n, ==, 16 + 1 + 16 + 1 + 1);
    g_assert_nonnull(strstr(report.items[0].text, "node 0 (tab?line?"));
    g_assert_nonnull(strstr(report.items[16].text, "4984 more inputs are not named by the list of inputs"));
    g_assert_nonnull(strstr(report.items[33].text, "4984 more inputs are unused"));
    for (size_t k = 0; k < report.n; k++)
        g_assert_true(g_utf8_validate(report.items[k].text, -1, NULL));
    while (report.n < PSC_REPORT_MAX)
        psc_report_add(&report, PSC_WARNING, 0, 0, 0, "one more");
    nodes[7].op_name = "add";
    g = NULL;
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, &report, &g, &error), ==, PSC_ERR_GRAPH);
    g_assert_cmpint((int)error.status, ==, PSC_ERR_GRAPH);
    g_assert_nonnull(strstr(error.text, "add takes 2 operands, found 0"));
    psc_report_release(&report);
    psc_arena_release(&arena);
    g_free(nodes);
}

static void test_missing_fields(void)
{
    static const struct row rows[] = {
        {0, "token_ids", "input", VEC(2), {0}, 0}, {1, NULL, "get_rows", {4, 2, 1, 1}, {0}, 1},
        {2, NULL, "scale", {4, 2, 1, 1}, {1}, 1},  {3, "logits", "silu", {4, 2, 1, 1}, {2}, 1},
    };
    struct trial *t = DRAFT(rows, zero, three);
    char buf[32];
    t->nodes[3].backend = NULL;
    t->nodes[2].dtype_name = NULL;
    t->nodes[1].params.weight = "token_embd";
    try_draft(t, PSC_OK);
    g_assert_cmpstr(psc_node_label(t->g, 1, buf, sizeof buf), ==, "get_rows #1");
    g_assert_cmpstr(psc_node_label(t->g, 2, buf, sizeof buf), ==, "scale #2");
    g_assert_cmpstr(psc_node_backend_name(t->g, 3), ==, "unassigned");
    g_assert_cmpstr(t->g->nodes[2].dtype_name, ==, "");
    g_assert_cmpuint(t->g->nodes[2].bytes, ==, 32);
    free_trial(t);
}

static void test_big_ids(void)
{
    static const uint64_t base = UINT64_C(9007199254740992);
    static const struct row rows[] = {
        {9007199254740992, "x", "input", VEC(4), {0}, 0},
        {9007199254740993, "a", "scale", VEC(4), {9007199254740992}, 1},
        {9007199254740994, "b", "scale", VEC(4), {9007199254740992}, 1},
        {UINT64_MAX, "y", "add", VEC(4), {9007199254740993, 9007199254740994}, 2},
    };
    static const uint64_t inputs[] = {9007199254740992}, outputs[] = {UINT64_MAX};
    struct trial *t = DRAFT(rows, inputs, outputs);
    try_draft(t, PSC_OK);
    for (uint64_t k = 0; k < 3; k++)
        g_assert_cmpuint(psc_graph_find(t->g, base + k), ==, k);
    g_assert_cmpuint(psc_graph_find(t->g, UINT64_MAX), ==, 3);
    g_assert_cmpuint(psc_graph_find(t->g, base + 3), ==, PSC_NONE);
    g_assert_cmpuint(psc_node_srcs(t->g, 3)[1], ==, 2);
    free_trial(t);
}

/* ---- order ------------------------------------------------------------------------------------------------ */

static void test_order_by_id(void)
{
    static const struct row rows[] = {
        {2, "b", "silu", VEC(4), {1}, 1}, {0, "x", "input", VEC(4), {0}, 0}, {1, "a", "view", VEC(3), {0}, 1},
    };
    struct trial *t = DRAFT(rows, zero, two);
    t->nodes[2].params.view_offset = 1;
    try_draft(t, PSC_OK);
    check_says(t, PSC_WARNING, "node 2 reads node 1, which comes after it; they are ordered by ascending id");
    for (uint64_t i = 0; i < 3; i++) {
        g_assert_cmpuint(t->g->nodes[i].id, ==, i);
        g_assert_cmpuint(psc_graph_find(t->g, i), ==, i);
    }
    g_assert_cmpuint(t->g->nodes[1].root, ==, 0);
    g_assert_cmpuint(t->g->nodes[1].root_offset, ==, 4);
    g_assert_cmpuint(t->g->outputs[0], ==, 2);
    free_trial(t);
}

static void test_order_by_operands(void)
{
    static const struct row rows[] = {
        {0, "y", "silu", VEC(4), {2}, 1}, {1, "x", "input", VEC(4), {0}, 0}, {2, "a", "silu", VEC(4), {1}, 1},
    };
    struct trial *t = DRAFT(rows, one, zero);
    try_draft(t, PSC_OK);
    check_says(t, PSC_WARNING, "node 0 reads node 2, which comes after it; they are ordered by their operands");
    g_assert_cmpuint(t->g->nodes[0].id, ==, 1);
    g_assert_cmpuint(t->g->nodes[1].id, ==, 2);
    g_assert_cmpuint(t->g->nodes[2].id, ==, 0);
    for (uint64_t id = 0; id < 3; id++)
        g_assert_cmpuint(t->g->nodes[psc_graph_find(t->g, id)].id, ==, id);
    g_assert_cmpuint(t->g->inputs[0], ==, 0);
    g_assert_cmpuint(t->g->outputs[0], ==, 2);
    free_trial(t);
}

static void test_order_kept(void)
{
    static const struct row rows[] = {
        {5, "x", "input", VEC(4), {0}, 0}, {3, "a", "silu", VEC(4), {5}, 1}, {4, "b", "silu", VEC(4), {3}, 1},
    };
    static const uint64_t inputs[] = {5}, outputs[] = {4};
    struct trial *t = DRAFT(rows, inputs, outputs);
    try_draft(t, PSC_OK);
    g_assert_cmpuint(t->report.n, ==, 0);
    g_assert_cmpuint(t->g->nodes[0].id, ==, 5);
    g_assert_cmpuint(psc_graph_find(t->g, 4), ==, 2);
    free_trial(t);
}

/* ---- KV effects ------------------------------------------------------------------------------------------- */

static void test_effects_are_linear(void)
{
    static const struct row rows[] = {
        {0, "k", "input", VEC(4), {0}, 0},           {1, "early", "kvcache_load", VEC(4), {0}, 0},
        {2, "s0", "kvcache_store", VEC(4), {0, 0}, 2}, {3, "s1", "kvcache_store", VEC(4), {0, 0}, 2},
        {4, "load", "kvcache_load", VEC(4), {0}, 0},   {5, "attn", "attn", VEC(4), {0, 4}, 2},
        {6, "other", "kvcache_load", VEC(4), {0}, 0},
    };
    static const uint64_t outputs[] = {5};
    struct trial *t = DRAFT(rows, zero, outputs);
    for (int i = 1; i < 6; i++)
        t->nodes[i].layer = 3;
    try_draft(t, PSC_OK);
    const psc_node want[] = {PSC_NONE, PSC_NONE, PSC_NONE, 2, 3, 3, PSC_NONE};
    for (psc_node i = 0; i < 7; i++) {
        g_assert_cmpuint(t->g->nodes[i].order_n, ==, want[i] != PSC_NONE);
        if (want[i] != PSC_NONE)
            g_assert_cmpuint(t->g->order_srcs[t->g->nodes[i].order_at], ==, want[i]);
    }
    check_says(t, PSC_WARNING, "node 6 (kvcache_load) does not say to which layer it belongs; layer 0 is taken");
    g_assert_cmpint(t->g->nodes[6].layer, ==, 0);
    free_trial(t);
}

/* ---- out of memory ------------------------------------------------------------------------------------------ */

#define OOM_NODES 100000u /* so many that most arrays need a block of their own */

static enum psc_status resolve_once(void *data)
{
    static const struct row rows[] = {
        {7, "y", "cpy", VEC(4), {5}, 1}, {3, "x", "input", VEC(4), {0}, 0}, {5, "s", "kvcache_store", VEC(4), {3, 3}, 2},
        {6, "l", "kvcache_load", VEC(4), {0}, 0}, {8, "v", "view", VEC(2), {3}, 1},
    };
    const bool *cyclic = data;
    static const uint64_t inputs[] = {3}, outputs[] = {7};
    static const uint64_t self[] = {7};
    static struct psc_draft_node nodes[OOM_NODES];
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_graph *g = NULL;
    struct psc_error error;
    for (uint32_t i = 0; i < 5; i++) {
        nodes[i] = (struct psc_draft_node){.id = rows[i].id, .name = rows[i].name, .op_name = rows[i].op,
                                           .dtype_name = "f9", .backend = "b", .src = rows[i].src,
                                           .src_n = rows[i].src_n, .layer = -1, .shape = VEC(4),
                                           .params = {.weight = "w", .bias = {"a", "b", "c"}}};
    }
    for (uint32_t i = 5; i < OOM_NODES; i++)
        nodes[i] = (struct psc_draft_node){.id = 10 + i, .op_name = "silu", .dtype_name = "f32", .src = inputs,
                                           .src_n = 1, .layer = -1, .shape = VEC(4)};
    if (*cyclic)
        nodes[0].src = self;
    struct psc_draft draft = {.nodes = nodes, .n = OOM_NODES, .inputs = inputs, .input_n = 1, .outputs = outputs, .output_n = 1};
    enum psc_status status = psc_graph_from_draft(&arena, &draft, &report, &g, &error);
    psc_report_release(&report);
    psc_arena_release(&arena);
    if (*cyclic && status == PSC_ERR_GRAPH)
        return PSC_OK; /* the right answer; only running out on the way is a failure */
    return status;
}

static void test_oom(void)
{
    bool cyclic = false;
    g_assert_cmpuint(test_oom_loop(resolve_once, &cyclic), >, 10);
    cyclic = true;
    g_assert_cmpuint(test_oom_loop(resolve_once, &cyclic), >, 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/graph/draft/tells-every-cycle-once", test_cycles);
    g_test_add_func("/core/graph/draft/tells-a-cycle-through-every-node-of-joined-cycles", test_joined_cycles);
    g_test_add_func("/core/graph/draft/tells-at-most-eight-cycles-of-one-knot", test_knot);
    g_test_add_func("/core/graph/draft/walks-a-cycle-of-200000-nodes-without-recursion", test_long_cycle);
    g_test_add_func("/core/graph/draft/tells-every-dangling-reference-in-one-pass", test_dangling);
    g_test_add_func("/core/graph/draft/names-both-places-of-a-duplicate-id", test_duplicate_ids);
    g_test_add_func("/core/graph/draft/tells-faults-of-every-kind-in-one-pass", test_every_fault);
    g_test_add_func("/core/graph/draft/limits-the-sum-of-all-bytes", test_total);
    g_test_add_func("/core/graph/draft/judges-each-graph-of-a-report-by-itself", test_second_graph);
    g_test_add_func("/core/graph/draft/limits-nodes-and-operands", test_too_many);
    g_test_add_func("/core/graph/draft/warns-of-what-is-only-strange", test_lenient);
    g_test_add_func("/core/graph/draft/counts-unknown-ops-beyond-sixteen", test_many_unknown);
    g_test_add_func("/core/graph/draft/counts-a-flood-of-warnings-and-keeps-the-fault", test_flood);
    g_test_add_func("/core/graph/draft/labels-nodes-whose-fields-are-missing", test_missing_fields);
    g_test_add_func("/core/graph/draft/keeps-ids-of-64-bits", test_big_ids);
    g_test_add_func("/core/graph/draft/orders-by-id-when-the-list-is-not-in-order", test_order_by_id);
    g_test_add_func("/core/graph/draft/orders-by-operands-when-ids-are-not-in-order", test_order_by_operands);
    g_test_add_func("/core/graph/draft/keeps-the-order-of-the-list-whatever-the-ids", test_order_kept);
    g_test_add_func("/core/graph/draft/gives-each-kv-node-at-most-one-hidden-edge", test_effects_are_linear);
    g_test_add_func("/core/graph/draft/survives-every-failed-allocation", test_oom);
    return g_test_run();
}
