#include "core/plan/offsets/spans.h"

#include "core/base/hash.h"

bool psc_spans_init(struct psc_spans *spans, uint32_t n, struct psc_arena *arena)
{
    spans->nodes = psc_arena_alloc0(arena, n, sizeof *spans->nodes);
    spans->root = PSC_NONE;
    return spans->nodes != NULL;
}

static uint64_t priority(uint32_t item)
{
    return psc_hash_mix(item + UINT64_C(1));
}

static void measure(struct psc_spans *s, uint32_t i)
{
    struct psc_span_node *node = &s->nodes[i];
    uint64_t most = node->hi - node->lo;
    if (node->left != PSC_NONE && s->nodes[node->left].most > most)
        most = s->nodes[node->left].most;
    if (node->right != PSC_NONE && s->nodes[node->right].most > most)
        most = s->nodes[node->right].most;
    node->most = most;
}

static void measure_up(struct psc_spans *s, uint32_t i)
{
    for (; i != PSC_NONE; i = s->nodes[i].up)
        measure(s, i);
}

static void replace(struct psc_spans *s, uint32_t old, uint32_t by)
{
    uint32_t up = s->nodes[old].up;
    if (up == PSC_NONE)
        s->root = by;
    else if (s->nodes[up].left == old)
        s->nodes[up].left = by;
    else
        s->nodes[up].right = by;
    if (by != PSC_NONE)
        s->nodes[by].up = up;
}

/* Lifts i over the node above it. */
static void rotate(struct psc_spans *s, uint32_t i)
{
    struct psc_span_node *node = &s->nodes[i];
    uint32_t up = node->up;
    struct psc_span_node *above = &s->nodes[up];
    replace(s, up, i);
    if (above->left == i) {
        above->left = node->right;
        if (node->right != PSC_NONE)
            s->nodes[node->right].up = up;
        node->right = up;
    } else {
        above->right = node->left;
        if (node->left != PSC_NONE)
            s->nodes[node->left].up = up;
        node->left = up;
    }
    above->up = i;
    measure(s, up);
    measure(s, i);
}

uint32_t psc_spans_insert(struct psc_spans *s, uint32_t item, uint64_t lo, uint64_t hi)
{
    uint32_t up = PSC_NONE, at = s->root;
    bool left = false;
    while (at != PSC_NONE) {
        up = at;
        if (lo < s->nodes[at].hi && s->nodes[at].lo < hi)
            return at;
        left = hi <= s->nodes[at].lo;
        at = left ? s->nodes[at].left : s->nodes[at].right;
    }
    s->nodes[item] = (struct psc_span_node){lo, hi, hi - lo, PSC_NONE, PSC_NONE, up, true};
    if (up == PSC_NONE)
        s->root = item;
    else if (left)
        s->nodes[up].left = item;
    else
        s->nodes[up].right = item;
    measure_up(s, up);
    while (s->nodes[item].up != PSC_NONE && priority(s->nodes[item].up) < priority(item))
        rotate(s, item);
    return PSC_NONE;
}

void psc_spans_remove(struct psc_spans *s, uint32_t item)
{
    struct psc_span_node *node = &s->nodes[item];
    if (!node->in)
        return;
    while (node->left != PSC_NONE && node->right != PSC_NONE)
        rotate(s, priority(node->left) > priority(node->right) ? node->left : node->right);
    replace(s, item, node->left != PSC_NONE ? node->left : node->right);
    measure_up(s, node->up);
    node->in = false;
}

void psc_spans_resize(struct psc_spans *s, uint32_t item, uint64_t lo, uint64_t hi)
{
    s->nodes[item].lo = lo;
    s->nodes[item].hi = hi;
    measure_up(s, item);
}

uint32_t psc_spans_first(const struct psc_spans *s, uint64_t bytes)
{
    uint32_t at = s->root;
    if (at == PSC_NONE || s->nodes[at].most < bytes)
        return PSC_NONE;
    for (;;) {
        const struct psc_span_node *node = &s->nodes[at];
        if (node->left != PSC_NONE && s->nodes[node->left].most >= bytes)
            at = node->left;
        else if (node->hi - node->lo >= bytes)
            return at;
        else
            at = node->right;
    }
}
