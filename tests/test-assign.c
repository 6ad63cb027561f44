/* Backends of nodes, and the fusion pass after it. */
#include "core/graph/assign.h"

#include "core/graph/fuse.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

static bool takes_f32(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)op, (void)params;
    return dtype == PSC_F32;
}
/* As Metal: inputs of any type; everything but scale. */
static bool takes_most(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return op == PSC_OP_INPUT || (dtype == PSC_F32 && op != PSC_OP_SCALE);
}
/* No swiglu, no rope but the usual one. */
static bool takes_some(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    return dtype == PSC_F32 && op != PSC_OP_SWIGLU && (op != PSC_OP_ROPE || !params->rope_style);
}

static const struct psc_target targets[] = {
    {"cpu", NULL, 100, NULL, takes_f32, false},
    {"deferred", "metal", 300, NULL, takes_most, true},
    {"cuda", NULL, 200, NULL, takes_some, true},
};
enum { CPU, DEFERRED, CUDA, TARGETS };

/* layer 0: embed scale rope; layer 1: silu mul; no layer: logits. Inputs are i32. */
static struct psc_graph *graph_new(struct psc_arena *arena, const char *backend)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g = NULL;
    psc_builder_set_backend(b, backend);
    psc_node ids = psc_builder_input(b, "ids", PSC_I32, 4, 1);
    psc_builder_set_layer(b, 0);
    psc_node x = psc_builder_node(b, "embed", PSC_OP_GET_ROWS, &ids, 1, PSC_F32, (uint64_t[4]){8, 4, 1, 1}, NULL);
    psc_node s = psc_builder_unary(b, "scale", PSC_OP_SCALE, x);
    psc_node r = psc_builder_binary(b, "rope", PSC_OP_ROPE, s, ids);
    psc_builder_set_layer(b, 1);
    psc_node g1 = psc_builder_unary(b, "silu", PSC_OP_SILU, r);
    psc_node m = psc_builder_binary(b, "mul", PSC_OP_MUL, g1, s);
    psc_builder_set_layer(b, -1);
    struct psc_params p = {.weight = "output.weight", .out_dim = 3};
    psc_builder_output(b, psc_builder_op(b, "logits", PSC_OP_MATMUL, &m, 1, &p));
    g_assert_cmpint(psc_builder_finish(b, arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(b);
    return g;
}

static char *backends_of(const struct psc_graph *g)
{
    GString *out = g_string_new(NULL);
    for (psc_node i = 0; i < g->n; i++)
        g_string_append_printf(out, "%s%s", i ? " " : "", psc_node_backend_name(g, i));
    return g_string_free(out, FALSE);
}

static void assert_assigned(const char *graph_backend, const struct psc_target *list, uint32_t n,
                            const struct psc_offload *plan, const char *expected)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_graph *g = graph_new(&arena, graph_backend), *made = NULL;
    g_assert_cmpint(psc_graph_assign(&arena, g, list, n, plan, &made, &error), ==, PSC_OK);
    char *got = backends_of(made);
    g_assert_cmpstr(got, ==, expected);
    g_assert_true(psc_graph_same_structure(g, made));
    g_free(got);
    psc_arena_release(&arena);
}

static struct psc_offload parsed(const char *spec)
{
    struct psc_offload plan = {0};
    struct psc_error error = {0};
    if (psc_offload_parse(spec, targets, TARGETS, &plan, &error))
        g_error("%s", error.text);
    return plan;
}

struct row {
    const char *path, *spec, *backends;
};
static const struct row rows[] = { /* ids embed scale rope silu mul logits */
    {"by-priority-what-each-takes", "auto", "metal metal cuda metal metal metal metal"},
    {"one-backend-and-the-cpu-for-the-rest", "deferred", "metal metal cpu metal metal metal metal"},
    {"i32-inputs-go-to-the-cpu-all-the-same", "cpu", "cpu cpu cpu cpu cpu cpu cpu"},
    {"a-device-that-takes-no-i32-leaves-the-inputs-to-the-cpu", "cuda", "cpu cuda cuda cuda cuda cuda cuda"},
    {"ranges-of-layers", "mixed:0-0=deferred,1-99=cpu", "cpu metal cpu metal cpu cpu cpu"},
    {"ranges-in-any-order", "mixed:1=cuda,0=deferred", "cpu metal cpu metal cuda cuda cpu"},
    {"a-gap-is-the-cpus", "mixed:1-1=deferred", "cpu cpu cpu cpu metal metal cpu"},
    {"a-range-over-all-layers-takes-what-has-none", "mixed:0-99=deferred", "metal metal cpu metal metal metal metal"},
    {"a-range-of-exactly-all-layers-too", "mixed:0-1=deferred", "metal metal cpu metal metal metal metal"},
    {"two-ranges-that-cover-all-do-not", "mixed:0-0=deferred,1-1=deferred", "cpu metal cpu metal metal metal cpu"},
    {"the-first-layers-by-priority", "layers:1", "cpu metal cuda metal cpu cpu cpu"},
    {"all-layers-and-what-has-none", "layers:99", "metal metal cuda metal metal metal metal"},
    {"no-layers", "layers:0", "cpu cpu cpu cpu cpu cpu cpu"},
    {"files-names-are-known-too", "metal", "metal metal cpu metal metal metal metal"},
};

static void test_row(const void *data)
{
    const struct row *row = data;
    struct psc_offload plan = parsed(row->spec);
    assert_assigned(NULL, targets, TARGETS, &plan, row->backends);
}

static void test_no_plan(void)
{
    assert_assigned(NULL, targets, TARGETS, NULL, "metal metal cuda metal metal metal metal");
    assert_assigned(NULL, targets, 1, NULL, "cpu cpu cpu cpu cpu cpu cpu");
}

static void test_layers(void)
{
    struct psc_offload plan = {.kind = PSC_OFFLOAD_LAYERS, .layers = 1};
    assert_assigned(NULL, targets, TARGETS, &plan, "cpu metal cuda metal cpu cpu cpu");
    plan.layers = 0;
    assert_assigned(NULL, targets, TARGETS, &plan, "cpu cpu cpu cpu cpu cpu cpu");
    plan.layers = 2;
    assert_assigned(NULL, targets, TARGETS, &plan, "metal metal cuda metal metal metal metal");
}

static void test_fence(void)
{
    struct psc_target fenced[TARGETS];
    memcpy(fenced, targets, sizeof fenced);
    fenced[DEFERRED].unusable = "fenced off";
    assert_assigned(NULL, fenced, TARGETS, NULL, "cpu cuda cuda cuda cuda cuda cuda");
    fenced[CUDA].unusable = "no device";
    assert_assigned(NULL, fenced, TARGETS, NULL, "cpu cpu cpu cpu cpu cpu cpu");
    struct psc_offload plan;
    struct psc_error error = {0};
    g_assert_cmpint(psc_offload_parse("mixed:0-3=cuda", fenced, TARGETS, &plan, &error), ==, PSC_ERR_UNAVAILABLE);
    g_assert_cmpstr(error.text, ==, "backend 'cuda' cannot be used: no device");
}

static void test_explicit(void)
{
    struct psc_offload plan = parsed("deferred");
    assert_assigned("cpu", targets, TARGETS, &plan, "cpu cpu cpu cpu cpu cpu cpu");
    assert_assigned("npu", targets, TARGETS, &plan, "npu npu npu npu npu npu npu");
    plan.override = true;
    assert_assigned("npu", targets, TARGETS, &plan, "metal metal cpu metal metal metal metal");
}

struct bad {
    const char *path, *spec, *sentence;
};
static const struct bad bads[] = {
    {"unknown", "vulkan", "there is no backend 'vulkan'; there are: cpu, deferred, cuda, auto, layers:N and mixed:FIRST-LAST=BACKEND,..."},
    {"unknown-in-a-range", "mixed:0-3=tpu", "there is no backend 'tpu'; there are: cpu, deferred, cuda, auto, layers:N and mixed:FIRST-LAST=BACKEND,..."},
    {"empty", "", "there is no backend ''; there are: cpu, deferred, cuda, auto, layers:N and mixed:FIRST-LAST=BACKEND,..."},
    {"overlap", "mixed:0-11=deferred,11-99=cpu", "the ranges 0-11 and 11-99 overlap: layer 11 can run on one backend only"},
    {"overlap-later", "mixed:5-9=deferred,20=cpu,0-6=cpu", "the ranges 5-9 and 0-6 overlap: layer 5 can run on one backend only"},
    {"backwards", "mixed:11-3=cpu", "the range '11-3=cpu' ends before it begins"},
    {"no-ranges", "mixed:", "'' is no range of layers: it would be FIRST-LAST=BACKEND, with layers from 0 to 65535"},
    {"trailing-comma", "mixed:0-1=cpu,", "'' is no range of layers: it would be FIRST-LAST=BACKEND, with layers from 0 to 65535"},
    {"no-number", "mixed:a-1=cpu", "'a-1=cpu' is no range of layers: it would be FIRST-LAST=BACKEND, with layers from 0 to 65535"},
    {"no-last", "mixed:3-=cpu", "the range '3-=cpu' has no last layer: it would be FIRST-LAST=BACKEND, with layers from 0 to 65535"},
    {"too-large", "mixed:0-65536=cpu", "the range '0-65536=cpu' has no last layer: it would be FIRST-LAST=BACKEND, with layers from 0 to 65535"},
    {"no-layers", "layers:", "'' is no number of layers: it would be 0 to 65535"},
    {"odd-layers", "layers:3x", "'3x' is no number of layers: it would be 0 to 65535"},
    {"no-name", "mixed:0-3,4=cpu", "the range '0-3' names no backend: it would be FIRST-LAST=BACKEND"},
    {"empty-name", "mixed:0-3=", "there is no backend ''; there are: cpu, deferred, cuda, auto, layers:N and mixed:FIRST-LAST=BACKEND,..."},
};

static void test_bad(const void *data)
{
    const struct bad *bad = data;
    struct psc_offload plan = {.layers = 77};
    struct psc_error error = {0};
    g_assert_cmpint(psc_offload_parse(bad->spec, targets, TARGETS, &plan, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpstr(error.text, ==, bad->sentence);
    g_assert_cmpuint(plan.layers, ==, 77);
}

static void test_many_ranges(void)
{
    GString *spec = g_string_new("mixed:");
    struct psc_offload plan = {0};
    struct psc_error error = {0};
    for (unsigned i = 0; i < PSC_OFFLOAD_MAX; i++)
        g_string_append_printf(spec, "%s%u=cpu", i ? "," : "", 2 * (PSC_OFFLOAD_MAX - i));
    g_assert_cmpint(psc_offload_parse(spec->str, targets, TARGETS, &plan, &error), ==, PSC_OK);
    g_assert_cmpuint(plan.range_n, ==, PSC_OFFLOAD_MAX);
    for (unsigned i = 0; i < PSC_OFFLOAD_MAX; i++)
        g_assert_cmpuint(plan.ranges[i].first, ==, 2 * (i + 1));
    g_string_append(spec, ",1=cpu");
    g_assert_cmpint(psc_offload_parse(spec->str, targets, TARGETS, &plan, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpstr(error.text, ==, "more than 64 ranges of layers");
    g_string_free(spec, TRUE);
}

static void test_no_cpu(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_graph *g = graph_new(&arena, NULL), *made = NULL;
    g_assert_cmpint(psc_graph_assign(&arena, g, &targets[CUDA], 1, NULL, &made, &error), ==, PSC_ERR_USAGE);
    g_assert_null(made);
    psc_arena_release(&arena);
}

/* Every answer is the node's own: with the nodes of one half explicit, the others get what they had. */
static void test_independent(void)
{
    guint64 seed = test_seed();
    unsigned compared = 0;
    struct random_graph_options options = random_graph_all;
    options.unassigned = true;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    for (unsigned k = 0; k < 50; k++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, seed + k, &options), *once = NULL, *twice = NULL;
        g_assert_cmpint(psc_graph_assign(&arena, g, targets, TARGETS, NULL, &once, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_graph_assign(&arena, once, targets, TARGETS, NULL, &twice, NULL), ==, PSC_OK);
        for (psc_node i = 0; i < g->n; i++) {
            g_assert_cmpuint(once->nodes[i].backend, !=, PSC_BACKEND_NONE);
            g_assert_cmpstr(psc_node_backend_name(once, i), ==, psc_node_backend_name(twice, i));
            if (g->nodes[i].backend != PSC_BACKEND_NONE)
                g_assert_cmpstr(psc_node_backend_name(once, i), ==, psc_node_backend_name(g, i));
            compared++;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(compared, >, 1000);
}

/* ---- fusion -------------------------------------------------------------------------------------------------- */

/* x -> gate, up -> silu -> mul, and a second silu that only an output reads. */
static struct psc_graph *ffn(struct psc_arena *arena, const char *backend, bool swapped)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g = NULL;
    psc_builder_set_backend(b, backend);
    psc_node x = psc_builder_input(b, "x", PSC_F32, 8, 1);
    psc_node gate = psc_builder_unary(b, "gate", PSC_OP_SOFTMAX, x), up = psc_builder_unary(b, "up", PSC_OP_SOFTMAX, x);
    psc_node silu = psc_builder_unary(b, "silu", PSC_OP_SILU, gate);
    psc_node decoy = psc_builder_unary(b, "decoy", PSC_OP_SILU, up);
    psc_node mul = psc_builder_binary(b, "mul", PSC_OP_MUL, swapped ? up : silu, swapped ? silu : up);
    psc_builder_output(b, mul);
    psc_builder_output(b, decoy);
    g_assert_cmpint(psc_builder_finish(b, arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(b);
    return g;
}

/* The readers of every node are those that its srcs say. */
static void assert_readers(const struct psc_graph *g)
{
    uint32_t total = 0;
    for (psc_node i = 0; i < g->n; i++) {
        uint32_t n = 0;
        for (psc_node r = 0; r < g->n; r++)
            for (uint32_t k = 0; k < g->nodes[r].src_n; k++)
                if (psc_node_srcs(g, r)[k] == i)
                    g_assert_cmpuint(g->readers[g->reader_at[i] + n++], ==, r);
        g_assert_cmpuint(n, ==, g->reader_at[i + 1] - g->reader_at[i]);
        g_assert_cmpuint(n, ==, g->nodes[i].reader_n);
        total += n;
    }
    g_assert_cmpuint(total, ==, g->src_total);
}

static void test_fuses(void)
{
    for (int swapped = 0; swapped < 2; swapped++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = ffn(&arena, "metal", swapped), *fused = NULL, *again = NULL;
        uint32_t n = 77;
        g_assert_cmpint(psc_graph_fuse(&arena, g, targets, TARGETS, &fused, &n, NULL), ==, PSC_OK);
        g_assert_cmpuint(n, ==, 1);
        const struct psc_node_info *mul = &fused->nodes[5];
        g_assert_cmpint(mul->op, ==, PSC_OP_SWIGLU);
        g_assert_cmpstr(mul->op_name, ==, "swiglu");
        g_assert_cmpstr(mul->name, ==, "mul");
        g_assert_cmpuint(mul->src_n, ==, 2);
        g_assert_cmpuint(psc_node_srcs(fused, 5)[0], ==, 1); /* gate, up */
        g_assert_cmpuint(psc_node_srcs(fused, 5)[1], ==, 2);
        g_assert_cmpint(fused->nodes[3].op, ==, PSC_OP_SILU); /* the orphan, still a reader of the gate */
        g_assert_cmpuint(fused->nodes[3].reader_n, ==, 0);
        g_assert_cmpuint(fused->nodes[1].reader_n, ==, 2);
        g_assert_cmpint(fused->nodes[4].op, ==, PSC_OP_SILU); /* the decoy */
        g_assert_cmpuint(psc_node_srcs(fused, 4)[0], ==, 2);
        assert_readers(fused);
        assert_readers(g);
        g_assert_cmpint(g->nodes[5].op, ==, PSC_OP_MUL); /* the old graph is as it was */
        g_assert_cmpint(psc_graph_fuse(&arena, fused, targets, TARGETS, &again, &n, NULL), ==, PSC_OK);
        g_assert_cmpuint(n, ==, 0);
        g_assert_true(psc_graph_same_structure(fused, again));
        psc_arena_release(&arena);
    }
}

static void test_does_not_fuse(void)
{
    static const char *const backends[] = {NULL, "cuda", "npu"};
    for (unsigned k = 0; k < G_N_ELEMENTS(backends); k++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = ffn(&arena, backends[k], false), *same = NULL;
        uint32_t n = 77;
        g_assert_cmpint(psc_graph_fuse(&arena, g, targets, TARGETS, &same, &n, NULL), ==, PSC_OK);
        g_assert_cmpuint(n, ==, 0);
        g_assert_true(psc_graph_same_structure(g, same));
        psc_arena_release(&arena);
    }
}

static psc_node chain(struct psc_builder *b, const char *ops, psc_node x)
{
    psc_node at[16] = {x};
    uint32_t n = 1;
    for (; *ops; ops++) { /* s: silu of the last; t: silu of x; m: mul of the last two; 3: mul of one; q: mul of the last twice */
        psc_node last = at[n - 1], before = at[n > 1 ? n - 2 : 0];
        if (*ops == 's' || *ops == 't')
            at[n++] = psc_builder_unary(b, "silu", PSC_OP_SILU, *ops == 's' ? last : x);
        else
            at[n++] = psc_builder_binary(b, "mul", PSC_OP_MUL, *ops == 'q' ? last : before, last);
    }
    return at[n - 1];
}

/* What the mul of a small graph becomes: its two operands by index. */
static void assert_fused(const char *ops, bool silu_is_output, uint32_t expected_n, psc_node mul, psc_node a, psc_node c)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g = NULL, *fused = NULL;
    uint32_t n = 77;
    psc_builder_set_backend(b, "cpu");
    psc_builder_output(b, chain(b, ops, psc_builder_input(b, "x", PSC_F32, 8, 1)));
    if (silu_is_output)
        psc_builder_output(b, 1);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(b);
    g_assert_cmpint(psc_graph_fuse(&arena, g, targets, TARGETS, &fused, &n, NULL), ==, PSC_OK);
    g_assert_cmpuint(n, ==, expected_n);
    g_assert_cmpuint(psc_node_srcs(fused, mul)[0], ==, a);
    g_assert_cmpuint(psc_node_srcs(fused, mul)[1], ==, c);
    assert_readers(fused);
    psc_arena_release(&arena);
}

static void test_odd_patterns(void)
{
    assert_fused("sm", false, 1, 2, 0, 0);  /* mul(x, silu(x)): gate x, up x */
    assert_fused("stm", false, 1, 3, 0, 2); /* both are silus: the first wins, the second becomes up */
    assert_fused("sq", false, 1, 2, 0, 1);  /* mul(silu, silu) of one silu: it stays as up */
    assert_fused("sm", true, 1, 2, 0, 0);   /* the silu is an output: it stays one */
    assert_fused("smm", false, 2, 3, 0, 2); /* a silu that two muls read makes both fuse */
}

static void test_qwen(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = qwen_graph(&arena, &qwen_unfused), *fused = NULL;
    uint32_t n = 77, orphans = 0;
    g_assert_cmpint(psc_graph_fuse(&arena, g, targets, TARGETS, &fused, &n, NULL), ==, PSC_OK);
    g_assert_cmpuint(n, ==, 0); /* they have swiglu already */
    for (psc_node i = 0; i < g->n; i++)
        orphans += fused->nodes[i].op == PSC_OP_SILU && !fused->nodes[i].reader_n;
    g_assert_cmpuint(orphans, ==, 24);
    psc_arena_release(&arena);
}

static enum psc_status oom(void *data)
{
    struct psc_arena arena = {0};
    struct psc_graph *made = NULL, *fused = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_graph_assign(&arena, data, targets, TARGETS, NULL, &made, &error);
    if (!status)
        status = psc_graph_fuse(&arena, made, targets, TARGETS, &fused, NULL, &error);
    psc_arena_release(&arena);
    return status;
}
static enum psc_status oom_parse(void *data)
{
    struct psc_offload plan;
    struct psc_error error = {0};
    enum psc_status status = psc_offload_parse(data, targets, TARGETS, &plan, &error);
    return status == PSC_ERR_USAGE ? PSC_OK : status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    g_assert_cmpuint(test_oom_loop(oom, ffn(&arena, NULL, false)), >, 1);
    g_assert_cmpuint(test_oom_loop(oom_parse, (void *)"nobody"), >, 0);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strconcat("/core/graph/assign/", rows[i].path, NULL);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(bads); i++) {
        char *path = g_strconcat("/core/graph/assign/refuses/", bads[i].path, NULL);
        g_test_add_data_func(path, &bads[i], test_bad);
        g_free(path);
    }
    g_test_add_func("/core/graph/assign/without-a-plan-by-priority", test_no_plan);
    g_test_add_func("/core/graph/assign/the-first-layers-go-to-the-device", test_layers);
    g_test_add_func("/core/graph/assign/a-fence-moves-nodes-off-a-usable-device", test_fence);
    g_test_add_func("/core/graph/assign/explicit-backends-are-kept", test_explicit);
    g_test_add_func("/core/graph/assign/ranges-are-sorted-and-counted", test_many_ranges);
    g_test_add_func("/core/graph/assign/there-must-be-a-cpu", test_no_cpu);
    g_test_add_func("/core/graph/assign/every-answer-is-the-nodes-own", test_independent);
    g_test_add_func("/core/graph/fuse/silu-and-mul-become-swiglu-and-a-decoy-stays", test_fuses);
    g_test_add_func("/core/graph/fuse/only-where-the-backend-of-the-mul-takes-it", test_does_not_fuse);
    g_test_add_func("/core/graph/fuse/odd-patterns", test_odd_patterns);
    g_test_add_func("/core/graph/fuse/what-is-fused-stays-as-it-is", test_qwen);
    g_test_add_func("/core/graph/assign/oom", test_oom);
    return g_test_run();
}
