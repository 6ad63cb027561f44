#include "tests/runs.h"

#include "core/base/hash.h"
#include "tests/text-graph.h"

#include <glib.h>
#include <math.h>
#include <string.h>

struct psc_session_options run_options(void)
{
    struct psc_session_options options = {.plan = psc_plan_defaults};
    options.plan.mode = PSC_MODE_HARDENED;
    return options;
}

struct psc_session *run_session_on(const struct psc_session_options *options, const struct psc_backend_api *const *apis, uint32_t n)
{
    struct psc_session_options plain = run_options();
    struct psc_session *s = NULL;
    struct psc_error error = {0};
    if (psc_session_new(apis, n, options ? options : &plain, &s, &error))
        g_error("%s", error.text);
    return s;
}

struct psc_session *run_session(const struct psc_session_options *options)
{
    return run_session_on(options, double_apis, 3);
}

struct psc_graph_key run_key(uint32_t number)
{
    return (struct psc_graph_key){.n_tokens = number, .weights_version = 1};
}

enum psc_status run_build_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key, struct psc_graph **ret,
                             struct psc_error *reterr)
{
    (void)key;
    (void)reterr;
    *ret = psc_arena_alloc(arena, 1, sizeof **ret); /* as a real builder would: the graph is the cache's */
    if (!*ret)
        return psc_fail_nomem(reterr);
    memcpy(*ret, ctx, sizeof **ret);
    return PSC_OK;
}

void run_use(struct psc_session *s, const struct psc_graph *graph, uint32_t number)
{
    struct psc_graph_key key = run_key(number);
    struct psc_error error = {0};
    if (psc_session_use(s, &key, run_build_cb, (void *)graph, &error))
        g_error("%s", error.text);
}

void run_fill_f32(struct psc_session *s, const char *name, const float *values, uint64_t n)
{
    struct psc_error error = {0};
    if (psc_session_fill(s, name, values, n, &error))
        g_error("%s", error.text);
}

void run_fill_i32(struct psc_session *s, const char *name, const int32_t *values, uint64_t n)
{
    struct psc_error error = {0};
    if (psc_session_fill(s, name, values, n, &error))
        g_error("%s", error.text);
}

uint32_t *run_words(const struct psc_graph *g, psc_node i, uint64_t seed, uint32_t below)
{
    const struct psc_node_info *node = &g->nodes[i];
    uint32_t *words = g_new0(uint32_t, node->elements + 1);
    uint64_t state = seed + i;
    for (uint64_t k = 0; k < node->elements; k++)
        words[k] = node->dtype == PSC_I32 ? (uint32_t)((k + seed) % below) : 0x3f800000u | (uint32_t)(psc_random_next(&state) & 0x7fffff);
    return words;
}

void run_fill_all(struct psc_session *s, uint64_t seed, uint32_t below)
{
    const struct psc_graph *g = psc_session_graph(s);
    for (psc_node i = 0; i < g->n; i++) {
        struct psc_error error = {0};
        if (g->nodes[i].op != PSC_OP_INPUT)
            continue;
        uint32_t *words = run_words(g, i, seed, below);
        if (psc_session_fill_node(s, i, words, g->nodes[i].elements, &error))
            g_error("%s", error.text);
        g_free(words);
    }
}

void run_execute(struct psc_session *s, const struct psc_sink *sink)
{
    struct psc_error error = {0};
    if (psc_session_execute(s, sink, &error))
        g_error("%s", error.text);
}

float *run_read(struct psc_session *s, const char *name)
{
    const struct psc_graph *g = psc_session_graph(s);
    psc_node node = text_graph_node(g, name);
    uint64_t n = g->nodes[node].bytes / 4;
    float *out = g_new0(float, n + 1);
    struct psc_error error = {0};
    if (psc_session_read(s, node, out, n, &error))
        g_error("%s", error.text);
    return out;
}

bool run_differs(struct psc_session *s, const char *name, const float *values, uint64_t n)
{
    float *got = run_read(s, name);
    bool differs = memcmp(got, values, n * sizeof *got) != 0;
    g_free(got);
    return differs;
}

void run_expect(struct psc_session *s, const char *name, const float *values, uint64_t n, double within)
{
    float *got = run_read(s, name);
    for (uint64_t k = 0; k < n; k++)
        if (!(fabs((double)got[k] - (double)values[k]) <= within))
            g_error("%s[%" G_GUINT64_FORMAT "] is %g, expected %g", name, k, (double)got[k], (double)values[k]);
    g_free(got);
}

void run_fails(enum psc_status status, const struct psc_error *error, enum psc_status expected, const char *const *words)
{
    g_assert_cmpint(status, ==, expected);
    for (; *words; words++)
        if (!strstr(error->text, *words))
            g_error("'%s' does not say '%s'", error->text, *words);
}
