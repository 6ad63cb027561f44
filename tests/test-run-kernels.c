/* Random graphs with the real kernels of cpu, deferred and cuda-shim: planned buffers, a fresh buffer for every value, one backend
 * or several, snapshots or none, one thread or two: every value is the same, bit for bit. */
#include "tests/runs.h"

#include "backends/cuda/shim.h"
#include "backends/registry.h"
#include "core/base/hash.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CONTEXT 8u
#define SEEDS 24u

/* ---- graphs that real kernels can compute ------------------------------------------------------------------------------ */

struct weights { struct psc_arena arena; GHashTable *by_name; };

static const struct psc_weight *weight_cb(void *ctx, const char *name)
{
    struct weights *w = ctx;
    struct psc_weight *weight = g_hash_table_lookup(w->by_name, name);
    unsigned in, out;
    if (weight || sscanf(name, "w.%u.%u", &in, &out) != 2)
        return weight;
    float *data = psc_arena_alloc(&w->arena, (size_t)in * out, sizeof *data);
    uint64_t state = in * 77u + out;
    for (size_t k = 0; k < (size_t)in * out; k++)
        data[k] = ((float)(psc_random_next(&state) % 2001) - 1000) / 1000 / sqrtf((float)in);
    weight = psc_arena_alloc0(&w->arena, 1, sizeof *weight);
    *weight = (struct psc_weight){.name = psc_arena_strdup(&w->arena, name), .type = PSC_W_F32, .in = in, .out = out, .data = data,
                                  .bytes = (uint64_t)in * out * 4};
    g_hash_table_insert(w->by_name, (char *)weight->name, weight);
    return weight;
}

/* A matmul gets a weight of its shape, a rope heads of two, a scale its factor. What has no rotation becomes silu. */
static void complete(struct psc_arena *arena, const struct psc_graph *g, struct psc_node_info *node)
{
    struct psc_params *p = psc_arena_alloc(arena, 1, sizeof *p);
    *p = *node->params;
    const struct psc_node_info *src = node->src_n ? &g->nodes[g->srcs[node->src_at]] : NULL;
    char name[48];
    switch (node->op) {
    case PSC_OP_MATMUL:
        snprintf(name, sizeof name, "w.%u.%u", (unsigned)src->shape[0], (unsigned)node->shape[0]);
        p->weight = psc_arena_strdup(arena, name);
        p->in_dim = src->shape[0];
        p->out_dim = node->shape[0];
        break;
    case PSC_OP_SCALE:
        p->scale = 0.75f;
        p->has_scale = true;
        break;
    case PSC_OP_ROPE:
        p->hd = 2;
        p->n_head = node->shape[0] / 2;
        p->freq_base = 10000;
        if (node->shape[0] % 2 || node->shape[1] != 3) {
            node->op = PSC_OP_SILU;
            node->src_n = 1;
        }
        break;
    case PSC_OP_ATTN:
        p->scale = 0.5f;
        p->hd_kv = p->hd;
        break;
    default:
        break;
    }
    node->params = p;
}

static bool computable(const struct psc_graph *g)
{
    uint64_t work = 0;
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        const struct psc_node_info *src = node->src_n ? &g->nodes[psc_node_srcs(g, i)[0]] : NULL;
        if (node->op == PSC_OP_FUSED_QKV || (node->op == PSC_OP_ATTN && node->shape[1] != 3) ||
            (node->op == PSC_OP_KV_STORE && src->shape[1] != 3))
            return false;
        if (node->op == PSC_OP_MATMUL && (!src->shape[0] || !node->shape[0]))
            return false;
        if (node->op == PSC_OP_MATMUL)
            work += node->elements * src->shape[0];
    }
    return work < 60000000;
}

static struct psc_graph *make(struct psc_arena *arena, uint64_t seed, uint32_t backends)
{
    struct random_graph_options options = random_graph_all;
    options.nodes = 14 + (uint32_t)(seed % 30);
    options.backends = backends;
    options.empty = false;
    struct psc_graph *g = random_graph(arena, seed, &options);
    struct psc_node_info *nodes = psc_arena_alloc(arena, g->n, sizeof *nodes);
    memcpy(nodes, g->nodes, g->n * sizeof *nodes);
    for (psc_node i = 0; i < g->n; i++)
        complete(arena, g, &nodes[i]);
    g->nodes = nodes;
    g_assert_true(psc_graph_digest(arena, g));
    return g;
}

/* The same graph with its second backend called otherwise. */
static struct psc_graph *renamed(struct psc_arena *arena, const struct psc_graph *g, const char *second)
{
    struct psc_graph *copy = psc_arena_alloc(arena, 1, sizeof *copy);
    const char **names = psc_arena_alloc(arena, g->backend_n + 1, sizeof *names);
    *copy = *g;
    for (uint32_t k = 0; k < g->backend_n; k++)
        names[k] = strcmp(g->backends[k], "cpu") ? second : g->backends[k];
    copy->backends = names;
    return copy;
}

/* ---- runs ------------------------------------------------------------------------------------------------------------------ */

enum { ON_CPU = 1, WITH_DEFERRED, WITH_SHIM };
struct way { const char *planner; uint32_t backends; bool snapshot; unsigned threads; enum psc_recycled recycled; enum psc_slots slots; };
static const struct way ways[] = {
    {"pool", ON_CPU, true, 1, PSC_RECYCLED_KEPT, PSC_SLOTS_LOWEST},
    {"naive", ON_CPU, true, 1, PSC_RECYCLED_ZEROED, PSC_SLOTS_LOWEST},
    {"pool", ON_CPU, false, 2, PSC_RECYCLED_POISONED, PSC_SLOTS_LIFO},
    {"pool", WITH_DEFERRED, false, 2, PSC_RECYCLED_POISONED, PSC_SLOTS_FIFO},
    {"naive", WITH_DEFERRED, true, 1, PSC_RECYCLED_POISONED, PSC_SLOTS_LOWEST},
    {"pool", WITH_SHIM, false, 1, PSC_RECYCLED_POISONED, PSC_SLOTS_LIFO},
    {"naive", WITH_SHIM, false, 1, PSC_RECYCLED_KEPT, PSC_SLOTS_LOWEST},
};

static void run_way(const struct psc_graph *g, const struct way *way, struct weights *weights, uint64_t seed, struct run_heard *heard,
                    struct psc_session **ret)
{
    struct psc_session_options options = run_options();
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    options.planner = psc_planner_find(way->planner);
    options.snapshot = way->snapshot;
    options.config.threads = way->threads;
    options.recycled = way->recycled;
    options.plan.slots = way->slots;
    options.weight = weight_cb;
    options.weight_ctx = weights;
    *ret = run_session_on(&options, apis, n);
    run_listen(heard, true);
    run_use(*ret, g, 1);
    for (uint64_t step = 0; step < 2; step++) {
        run_fill_all(*ret, 8 * seed + 3 * step, CONTEXT); /* positions 0 1 2, then 3 4 5: no row is read before it is written */
        run_heard_clear(heard);
        run_execute(*ret, &heard->sink);
        char *difference = run_compare(heard);
        if (difference)
            g_error("seed %" G_GUINT64_FORMAT ": %s", seed, difference);
    }
}

static uint32_t compare(const struct psc_graph *g, const struct run_heard *a, const struct run_heard *b, uint64_t seed, size_t way)
{
    uint32_t n = 0;
    for (psc_node i = 0; i < g->n; i++) {
        if (!a->value[i] || !b->value[i])
            continue;
        if (memcmp(a->value[i], b->value[i], g->nodes[i].bytes))
            g_error("seed %" G_GUINT64_FORMAT ", way %zu: node %u (%s) differs", seed, way, i, g->nodes[i].op_name);
        n++;
    }
    return n;
}

static void test_every_way_gives_the_same(void)
{
    uint64_t first = test_seed();
    uint32_t compared = 0, graphs = 0;
    for (uint64_t seed = first; graphs < SEEDS; seed++) {
        struct weights weights = {.by_name = g_hash_table_new(g_str_hash, g_str_equal)};
        struct psc_graph *g[4] = {NULL, make(&weights.arena, seed, 1), make(&weights.arena, seed, 2)};
        g[WITH_SHIM] = renamed(&weights.arena, g[WITH_DEFERRED], "cuda-shim");
        struct run_heard heard[G_N_ELEMENTS(ways)];
        struct psc_session *s[G_N_ELEMENTS(ways)];
        if (computable(g[1]) && g[1]->n == g[2]->n && psc_graph_same_structure(g[1], g[2])) {
            for (size_t k = 0; k < G_N_ELEMENTS(ways); k++) {
                run_way(g[ways[k].backends], &ways[k], &weights, seed, &heard[k], &s[k]);
                compared += k ? compare(g[1], &heard[0], &heard[k], seed, k) : 0;
            }
            for (size_t k = 0; k < G_N_ELEMENTS(ways); k++) {
                run_heard_release(&heard[k]);
                psc_session_free(s[k]);
            }
            graphs++;
        }
        g_hash_table_destroy(weights.by_name);
        psc_arena_release(&weights.arena);
    }
    g_test_message("%u values of %u graphs from seed %" G_GUINT64_FORMAT, compared, graphs, first);
    g_assert_cmpuint(compared, >, 500);
}

/* ---- recordings ------------------------------------------------------------------------------------------------------------ */

enum { STEPS = 9, MOVED = 5 };
static const struct way replayed[] = {
    {"pool", ON_CPU, true, 1, PSC_RECYCLED_KEPT, PSC_SLOTS_LOWEST}, /* what the others are compared with: nothing is recorded */
    {"pool", WITH_SHIM, false, 1, PSC_RECYCLED_POISONED, PSC_SLOTS_LIFO},
    {"naive", WITH_SHIM, false, 1, PSC_RECYCLED_KEPT, PSC_SLOTS_LOWEST},
    {"best-fit", WITH_SHIM, false, 1, PSC_RECYCLED_POISONED, PSC_SLOTS_LOWEST},
};

/* Hash of all outputs of each step, over other inputs each time; before step MOVED every buffer is another one. */
static void run_replayed(const struct psc_graph *g, const struct way *way, struct weights *weights, uint64_t seed, uint64_t hashes[STEPS],
                         uint64_t *captures, uint64_t *replays)
{
    struct psc_session_options options = run_options();
    struct psc_session_counters c;
    struct psc_error error = {0};
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    options.planner = psc_planner_find(way->planner);
    options.snapshot = way->snapshot;
    options.config.threads = way->threads;
    options.recycled = way->recycled;
    options.plan.slots = way->slots;
    options.plan.align = 4;
    options.plan.mode = PSC_MODE_HARDENED;
    options.weight = weight_cb;
    options.weight_ctx = weights;
    options.replay = true;
    struct psc_session *s = run_session_on(&options, apis, n);
    run_use(s, g, 1);
    for (uint64_t step = 0; step < STEPS; step++) {
        if (step == MOVED && psc_session_move(s, &error))
            g_error("%s", error.text);
        run_fill_all(s, 8 * (seed + 100 * (step / 2)) + 3 * (step % 2), CONTEXT);
        run_execute(s, NULL);
        hashes[step] = 0;
        for (uint32_t k = 0; k < g->output_n; k++) {
            psc_node i = g->outputs[k];
            uint64_t bytes = g->nodes[i].bytes;
            void *words = g_malloc0(bytes + 4);
            if (bytes && psc_session_plan(s)->places[i].buffer != PSC_NONE && psc_session_read(s, i, words, bytes / 4, &error))
                g_error("%s", error.text);
            hashes[step] = psc_hash_mix(hashes[step] + psc_probe_hash(words, bytes));
            g_free(words);
        }
    }
    psc_session_counters(s, &c);
    *captures += c.captures;
    *replays += c.replays;
    for (uint32_t k = 0; k < n; k++) {
        const struct psc_backend_api *api;
        struct psc_cuda_figures f = {0};
        struct psc_backend *b = psc_session_backend(s, k, &api);
        if (b && api == &psc_backend_cuda_shim)
            psc_cuda_figures(b, &f);
        if (f.strays + f.windows_spoilt)
            g_error("seed %" G_GUINT64_FORMAT ": %u calls in windows that are no launches", seed, (unsigned)f.strays);
    }
    psc_session_free(s);
}

static void test_replays_give_the_same(void)
{
    uint64_t first = test_seed(), captures = 0, replays = 0;
    uint32_t graphs = 0;
    for (uint64_t seed = first; graphs < SEEDS / 2; seed++) {
        struct weights weights = {.by_name = g_hash_table_new(g_str_hash, g_str_equal)};
        struct psc_graph *one = make(&weights.arena, seed, 1), *two = make(&weights.arena, seed, 2);
        if (computable(one) && one->n == two->n && psc_graph_same_structure(one, two)) {
            uint64_t expected[STEPS], found[STEPS];
            two = renamed(&weights.arena, two, "cuda-shim");
            for (size_t k = 0; k < G_N_ELEMENTS(replayed); k++) {
                run_replayed(replayed[k].backends == ON_CPU ? one : two, &replayed[k], &weights, seed, k ? found : expected, &captures,
                             &replays);
                for (int step = 0; k && step < STEPS; step++)
                    if (found[step] != expected[step])
                        g_error("seed %" G_GUINT64_FORMAT ", way %zu: the outputs of step %d differ", seed, k, step);
            }
            graphs++;
        }
        g_hash_table_destroy(weights.by_name);
        psc_arena_release(&weights.arena);
    }
    g_test_message("%u graphs from seed %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT " recordings, %" G_GUINT64_FORMAT " replays", graphs, first,
                   captures, replays);
    g_assert_cmpuint(captures, >, 30);
    g_assert_cmpuint(replays, >, 50);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/kernels/every-way-to-run-a-graph-gives-the-same-bits", test_every_way_gives_the_same);
    g_test_add_func("/run/kernels/recordings-and-buffers-that-move-give-the-same-bits", test_replays_give_the_same);
    return g_test_run();
}
