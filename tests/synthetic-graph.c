#include "tests/synthetic-graph.h"

#include "core/base/hash.h"

#include <glib.h>

enum { WINDOW = 64 };

struct maker {
    struct psc_builder *b;
    uint64_t state;
};

static uint64_t pick(struct maker *m, uint64_t n)
{
    return psc_random_next(&m->state) % n;
}

/* Of a size of its own. */
static psc_node fresh(struct maker *m, const psc_node *src, uint32_t src_n)
{
    uint64_t shape[4] = {64 * (1 + pick(m, 256)) << pick(m, 4), 1, 1, 1};
    return psc_builder_node(m->b, NULL, PSC_OP_OTHER, src, src_n, PSC_F32, shape, NULL);
}

static psc_node next(struct maker *m, psc_node src)
{
    return pick(m, 10) < 3 ? psc_builder_unary(m->b, NULL, PSC_OP_SILU, src) : fresh(m, &src, 1);
}

static psc_node add_up(struct maker *m, const psc_node *values, uint32_t n)
{
    psc_node sum = values[0];
    for (uint32_t k = 1; k < n; k++)
        sum = fresh(m, (psc_node[]){sum, values[k]}, 2);
    return sum;
}

static psc_node make_chains(struct maker *m, uint32_t chains, uint32_t n)
{
    psc_node *at = g_new(psc_node, chains), sum;
    for (uint32_t c = 0; c < chains; c++) {
        psc_node input = psc_builder_input(m->b, "x", PSC_F32, 64, 1);
        at[c] = fresh(m, &input, 1);
    }
    for (uint32_t i = 0; i < n; i++)
        at[i % chains] = next(m, at[i % chains]);
    sum = add_up(m, at, chains);
    g_free(at);
    return sum;
}

static psc_node make_dag(struct maker *m, uint32_t n, bool all_read)
{
    psc_node window[WINDOW], left[WINDOW], input = psc_builder_input(m->b, "x", PSC_F32, 64, 1), last = input;
    bool read[WINDOW];
    uint32_t left_n = 0;
    for (uint32_t k = 0; k < WINDOW; k++) {
        window[k] = input;
        read[k] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = i % WINDOW, a = (uint32_t)pick(m, WINDOW), c = (uint32_t)pick(m, WINDOW);
        if (all_read && !read[slot])
            a = slot; /* it leaves the window now */
        last = pick(m, 10) < 3 ? psc_builder_unary(m->b, NULL, PSC_OP_SILU, window[a])
                               : fresh(m, (psc_node[]){window[a], window[c]}, 2);
        read[a] = read[c] = true;
        window[slot] = last;
        read[slot] = false;
    }
    for (uint32_t k = 0; all_read && k < WINDOW; k++)
        if (!read[k])
            left[left_n++] = window[k];
    return left_n ? add_up(m, left, left_n) : last;
}

struct psc_graph *synthetic_graph(struct psc_arena *arena, enum synthetic shape, uint32_t chains, uint32_t n, uint64_t seed)
{
    struct maker m = {psc_builder_new(), seed};
    struct psc_graph *graph;
    struct psc_error error = {0};
    psc_node out = shape == SYNTHETIC_CHAINS ? make_chains(&m, chains, n) : make_dag(&m, n, shape == SYNTHETIC_DAG);
    psc_builder_output(m.b, out);
    if (psc_builder_finish(m.b, arena, &graph, &error))
        g_error("%s", error.text);
    psc_builder_free(m.b);
    return graph;
}
