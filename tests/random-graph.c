#include "tests/random-graph.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define TOKENS 3u
#define CONTEXT 8u
#define ELEMENTS_MAX 65536u /* of one node, about: nodes made from others must not grow without end */
#define NEAR 12u /* operands are mostly taken from this many newest values */

const struct random_graph_options random_graph_all = {
    .nodes = 40, .backends = 3, .views = true, .repeats = true, .output_views = true, .dead = true, .empty = true,
    .late_inputs = true, .in_place = true, .concat = true, .kv = true, .middle_outputs = true,
    .input_outputs = true,
};
const struct random_graph_options random_graph_plain = {.nodes = 40, .backends = 1, .dead = true};

/* Widths on both sides of the steps of the size classes, so that classes are shared and missed. */
static const uint64_t the_widths[] = {4, 64, 80, 86, 300, 340, 1000, 1365, 1400};
#define NARROW 6u /* so many of them */
static const char *const the_backends[] = {"cpu", "metal", "cuda"};

/* What the walk knows of a node that may be an operand. */
struct item {
    psc_node node;
    uint64_t d0, d1;
    int backend; /* index into the_backends, -1 unassigned */
    bool is_view, is_input;
};
struct maker {
    const struct random_graph_options *options;
    uint64_t state; /* of the generator */
    struct psc_builder *b;
    GArray *items;  /* struct item: every node but those of KV */
    GArray *unread; /* gboolean for each item */
    psc_node positions;
    uint32_t made;
    int backend;
    int32_t layer;
};

static uint64_t pick(struct maker *m, uint64_t n)
{
    return psc_random_next(&m->state) % n;
}

static bool chance(struct maker *m, unsigned percent)
{
    return pick(m, 100) < percent;
}

static uint64_t a_width(struct maker *m)
{
    return the_widths[pick(m, m->options->narrow ? NARROW : G_N_ELEMENTS(the_widths))];
}

static struct item *item(const struct maker *m, guint i)
{
    return &g_array_index(m->items, struct item, i);
}

static void use_backend(struct maker *m, int backend)
{
    psc_builder_set_backend(m->b, backend < 0 ? NULL : the_backends[backend]);
}

static guint remember(struct maker *m, psc_node node, uint64_t d0, uint64_t d1, int backend, bool is_view, bool is_input)
{
    struct item it = {node, d0, d1, backend, is_view, is_input};
    gboolean unread = TRUE;
    g_assert_cmpuint(node, !=, PSC_NONE);
    g_array_append_val(m->items, it);
    g_array_append_val(m->unread, unread);
    return m->items->len - 1;
}

/* A node over items src[0..n) on `backend`; returns its item. */
static guint make(struct maker *m, enum psc_op op, const guint *src, guint n, uint64_t d0, uint64_t d1, int backend,
                  const struct psc_params *params)
{
    psc_node ids[4];
    char name[24];
    for (guint k = 0; k < n; k++) {
        ids[k] = item(m, src[k])->node;
        g_array_index(m->unread, gboolean, src[k]) = FALSE;
    }
    if (op == PSC_OP_ROPE)
        ids[n++] = m->positions;
    snprintf(name, sizeof name, "%s%u", psc_op_info(op)->short_name, m->made++);
    use_backend(m, backend);
    psc_node node = psc_builder_node(m->b, name, op, ids, n, PSC_F32, (uint64_t[4]){d0, d1, 1, 1}, params);
    return remember(m, node, d0, d1, backend, psc_op_info(op)->is_view, false);
}

static guint make_input(struct maker *m)
{
    uint64_t d0 = m->options->empty && chance(m, 5) ? 0 : a_width(m);
    char name[24];
    snprintf(name, sizeof name, "input%u", m->made++);
    int backend = (int)pick(m, m->options->backends);
    use_backend(m, backend);
    return remember(m, psc_builder_input(m->b, name, PSC_F32, d0, TOKENS), d0, TOKENS, backend, false, true);
}

static guint any(struct maker *m)
{
    guint n = m->items->len;
    return n > NEAR && !chance(m, 20) ? n - 1 - (guint)pick(m, NEAR) : (guint)pick(m, n);
}

/* Another item of the same shape, or `a` itself when none was met and repeats are allowed; -1: none. */
static int like(struct maker *m, guint a)
{
    for (int tries = 0; tries < 12; tries++) {
        guint c = any(m);
        if ((c != a || m->options->repeats) && item(m, c)->d0 == item(m, a)->d0 && item(m, c)->d1 == item(m, a)->d1)
            return (int)c;
    }
    return m->options->repeats ? (int)a : -1;
}

static int next_backend(struct maker *m)
{
    if (m->options->unassigned && chance(m, 15))
        return -1;
    if (chance(m, 18))
        m->backend = (int)pick(m, m->options->backends);
    return m->backend;
}

static guint make_matmul(struct maker *m, guint a, uint64_t d0)
{
    uint64_t d1 = item(m, a)->d1;
    if (m->options->empty && chance(m, 4))
        d0 = 0;
    if (d1 && d0 > ELEMENTS_MAX / d1)
        d0 = d1 < ELEMENTS_MAX ? ELEMENTS_MAX / d1 : 1;
    return make(m, PSC_OP_MATMUL, &a, 1, d0, d1, next_backend(m), NULL);
}

static void make_unary(struct maker *m, guint a)
{
    static const enum psc_op plain[] = {PSC_OP_RMS_NORM, PSC_OP_SCALE, PSC_OP_SOFTMAX};
    static const enum psc_op in_place[] = {PSC_OP_SILU, PSC_OP_SILU, PSC_OP_ROPE, PSC_OP_SCALE};
    enum psc_op op = m->options->in_place ? in_place[pick(m, G_N_ELEMENTS(in_place))] : plain[pick(m, 3)];
    int backend = m->options->in_place && chance(m, 80) ? item(m, a)->backend : next_backend(m);
    guint n = 1 + (guint)(m->options->in_place ? pick(m, 3) : 0);
    while (n--) {
        a = make(m, op, &a, 1, item(m, a)->d0, item(m, a)->d1, backend, NULL);
        op = in_place[pick(m, G_N_ELEMENTS(in_place))];
    }
}

static void make_binary(struct maker *m, guint a)
{
    int c = like(m, a);
    static const enum psc_op ops[] = {PSC_OP_ADD, PSC_OP_ADD, PSC_OP_MUL, PSC_OP_SWIGLU};
    if (c >= 0)
        make(m, ops[pick(m, m->options->in_place ? 4 : 3)], (guint[]){a, (guint)c}, 2, item(m, a)->d0, item(m, a)->d1,
             next_backend(m), NULL);
    else
        make_matmul(m, a, a_width(m));
}

static guint make_view(struct maker *m, guint a)
{
    struct item parent = *item(m, a);
    uint64_t elements = parent.d0 * parent.d1;
    struct psc_params params = {0};
    switch (elements ? pick(m, 4) : 0) {
    case 0:
        return make(m, PSC_OP_RESHAPE, &a, 1, elements, 1, parent.backend, NULL);
    case 1:
        params.perm[0] = 1;
        params.perm[2] = 2;
        params.perm[3] = 3;
        return make(m, PSC_OP_PERMUTE, &a, 1, parent.d1, parent.d0, parent.backend, &params);
    default:
        params.view_offset = pick(m, elements);
        elements = 1 + pick(m, elements - params.view_offset);
        if (m->options->empty && chance(m, 4))
            elements = 0;
        return make(m, PSC_OP_VIEW, &a, 1, elements, 1, parent.backend, &params);
    }
}

/* One tensor, two windows, swiglu over them (in place over the first, where that is lawful). */
static void make_windows(struct maker *m, guint a)
{
    guint both = make_matmul(m, a, 2 * a_width(m));
    struct item owner = *item(m, both);
    uint64_t half = owner.d0 * owner.d1 / 2;
    struct psc_params params = {0};
    guint gate = make(m, PSC_OP_VIEW, &both, 1, half, 1, owner.backend, &params);
    params.view_offset = half;
    guint up = make(m, PSC_OP_VIEW, &both, 1, half, 1, owner.backend, &params);
    make(m, PSC_OP_SWIGLU, (guint[]){gate, up}, 2, half, 1, owner.backend, NULL);
}

static void make_concat(struct maker *m, guint a)
{
    struct psc_params params = {.dim = chance(m, 50)};
    for (int tries = 0; tries < 8; tries++) {
        guint c = any(m);
        struct item x = *item(m, a), y = *item(m, c);
        if (x.d0 * x.d1 + y.d0 * y.d1 > ELEMENTS_MAX)
            continue;
        if (params.dim == 0 && x.d1 == y.d1)
            make(m, PSC_OP_CONCAT, (guint[]){a, c}, 2, x.d0 + y.d0, x.d1, next_backend(m), &params);
        else if (params.dim == 1 && x.d0 == y.d0)
            make(m, PSC_OP_CONCAT, (guint[]){a, c}, 2, x.d0, x.d1 + y.d1, next_backend(m), &params);
        else
            continue;
        return;
    }
}

static void make_layer(struct maker *m, guint a)
{
    uint64_t width = 16, d1 = item(m, a)->d1;
    int backend = (int)pick(m, m->options->backends);
    struct psc_params params = {.n_embd = width, .nkt = width, .hd = 4, .n_head = 4, .n_head_kv = 4};
    psc_node load, q;
    psc_builder_set_layer(m->b, m->layer++);
    guint qi = make(m, PSC_OP_MATMUL, &a, 1, width, d1, backend, NULL);
    if (chance(m, 30)) {
        qi = make(m, PSC_OP_FUSED_QKV, &a, 1, 3 * width, d1, backend, &params);
        q = item(m, qi)->node;
    } else {
        guint ki = make(m, PSC_OP_MATMUL, &a, 1, width, d1, backend, NULL);
        guint vi = make(m, PSC_OP_MATMUL, &a, 1, width, d1, backend, NULL);
        qi = make(m, PSC_OP_ROPE, &qi, 1, width, d1, backend, NULL);
        ki = make(m, PSC_OP_ROPE, &ki, 1, width, d1, backend, NULL);
        q = item(m, qi)->node;
        psc_node src[3] = {item(m, ki)->node, item(m, vi)->node, m->positions};
        psc_builder_node(m->b, "store", PSC_OP_KV_STORE, src, 3, PSC_F32, (uint64_t[4]){width, CONTEXT, 1, 1}, &params);
        g_array_index(m->unread, gboolean, ki) = g_array_index(m->unread, gboolean, vi) = FALSE;
        m->made++;
    }
    load = psc_builder_node(m->b, "load", PSC_OP_KV_LOAD, NULL, 0, PSC_F32, (uint64_t[4]){width, CONTEXT, 1, 1}, &params);
    psc_node attn = psc_builder_node(m->b, "attn", PSC_OP_ATTN, (psc_node[]){q, load, m->positions}, 3, PSC_F32,
                                     (uint64_t[4]){width, d1, 1, 1}, &params);
    g_array_index(m->unread, gboolean, qi) = FALSE;
    remember(m, attn, width, d1, backend, false, false);
    m->made += 2;
    psc_builder_set_layer(m->b, -1);
}

static void make_one(struct maker *m)
{
    const struct random_graph_options *o = m->options;
    guint a = any(m);
    uint64_t what = pick(m, 100);
    if (what < 8 && o->late_inputs)
        make_input(m);
    else if (what < 26 && o->views)
        make_view(m, a);
    else if (what < 32 && o->concat)
        make_concat(m, a);
    else if (what < 37 && o->kv)
        make_layer(m, a);
    else if (what < 43 && o->in_place && o->views)
        make_windows(m, a);
    else if (what < 66)
        make_binary(m, a);
    else if (what < 84)
        make_unary(m, a);
    else
        make_matmul(m, a, a_width(m));
}

static void choose_outputs(struct maker *m)
{
    const struct random_graph_options *o = m->options;
    guint n = m->items->len;
    for (guint i = 0; i < n; i++) {
        const struct item *it = item(m, i);
        bool unread = g_array_index(m->unread, gboolean, i);
        bool is_output = i == n - 1 || (unread && !o->dead) || (unread && chance(m, 25));
        if (!unread && !it->is_input && !it->is_view && o->middle_outputs)
            is_output = is_output || chance(m, 6);
        if (it->is_view && o->output_views)
            is_output = is_output || chance(m, 8);
        if (it->is_input)
            is_output = o->input_outputs && chance(m, 6);
        if (is_output)
            psc_builder_output(m->b, it->node);
    }
}

struct psc_graph *random_graph(struct psc_arena *arena, uint64_t seed, const struct random_graph_options *options)
{
    struct maker m = {.options = options, .state = psc_hash_mix(seed), .b = psc_builder_new()};
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    m.items = g_array_new(FALSE, FALSE, sizeof(struct item));
    m.unread = g_array_new(FALSE, FALSE, sizeof(gboolean));
    use_backend(&m, 0);
    m.positions = psc_builder_input(m.b, "positions", PSC_I32, TOKENS, 1);
    m.made = 1;
    for (uint64_t k = 1 + pick(&m, 3); k; k--)
        make_input(&m);
    while (m.made < options->nodes)
        make_one(&m);
    choose_outputs(&m);
    if (psc_builder_finish(m.b, arena, &g, &error) != PSC_OK)
        g_error("random graph %" G_GUINT64_FORMAT ": %s", seed, error.text);
    psc_builder_free(m.b);
    g_array_free(m.items, TRUE);
    g_array_free(m.unread, TRUE);
    return g;
}
