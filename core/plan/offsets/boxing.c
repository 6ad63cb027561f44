#include "core/plan/offsets/boxing.h"

#include <string.h>

enum { AHEAD = 64, OPERANDS = 2 }; /* steps that are looked at for a window; may_overwrite names operands 0 and 1 only */
#define ENDED (UINT32_MAX - 1)

struct boxing {
    struct psc_boxing out;
    const struct psc_graph *graph;
    const struct psc_digest_node *nodes;
    uint32_t n, end_n;
    uint32_t *last;      /* [n]: of storages: the last node that names any of it; n: shown at the end; ENDED: box closed or
                            handed over */
    uint64_t *live;      /* [n + 1]: bytes alive when nothing is in place; NULL without views */
    uint8_t permits[PSC_OP_N];
    unsigned flags;
};

/* ---- lives --------------------------------------------------------------------------------------------------- */

static void find_last(struct boxing *b)
{
    const struct psc_graph *graph = b->graph;
    for (uint32_t i = 0; i < b->n; i++) {
        const psc_node *src = graph->srcs + b->nodes[i].src_at;
        b->last[i] = i;
        for (uint32_t k = 0; k < b->nodes[i].src_n; k++)
            b->last[b->nodes[src[k]].root] = i;
    }
    for (uint32_t k = 0; k < graph->output_n; k++)
        b->last[b->nodes[graph->outputs[k]].root] = b->n;
}

static bool owns_box(const struct boxing *b, uint32_t i)
{
    const struct psc_digest_node *node = &b->nodes[i];
    return node->parent == PSC_NONE && !(node->flags & (PSC_DIGEST_FILLED | PSC_DIGEST_KV)) && node->bytes &&
           b->last[i] > i;
}

static void sum_live(struct boxing *b)
{
    uint64_t sum = 0;
    memset(b->live, 0, ((size_t)b->n + 2) * sizeof *b->live);
    for (uint32_t i = 0; i < b->n; i++)
        if (owns_box(b, i)) {
            b->live[i] += b->nodes[i].bytes;
            b->live[b->last[i] + 1] -= b->nodes[i].bytes;
        }
    for (uint32_t i = 0; i <= b->n; i++)
        b->live[i] = sum += b->live[i];
}

/* ---- in place ------------------------------------------------------------------------------------------------- */

static bool meets(const struct psc_node_info *a, const struct psc_node_info *b)
{
    return a->root_offset < b->root_offset + b->bytes && b->root_offset < a->root_offset + a->bytes;
}

/* Another operand of the node names bytes of this one's window. */
static bool names_twice(const struct boxing *b, psc_node node, uint32_t operand)
{
    const struct psc_digest_node *info = &b->nodes[node];
    const psc_node *src = b->graph->srcs + info->src_at;
    for (uint32_t k = 0; k < info->src_n; k++)
        if (k != operand && b->nodes[src[k]].root == b->nodes[src[operand]].root &&
            meets(&b->graph->nodes[src[k]], &b->graph->nodes[src[operand]]))
            return true;
    return false;
}

/* The rest of the storage would live on with the node: is there room for it in all steps that the node lives? */
static bool has_room(const struct boxing *b, psc_node node, uint64_t rest)
{
    uint64_t now = b->live ? b->live[node] : 0;
    if (!b->live || b->last[node] - node > AHEAD)
        return false;
    for (uint32_t at = node + 1; at <= b->last[node]; at++)
        if (b->live[at] + rest > now)
            return false;
    return true;
}

/* Why the node may not overwrite the operand: the first rule that fails, or PSC_NOT_N. */
static enum psc_refusal forbids(const struct boxing *b, psc_node node, uint32_t operand, uint64_t *ret_a, uint64_t *ret_b)
{
    const struct psc_digest_node *info = &b->nodes[node], *from, *root;
    psc_node source = b->graph->srcs[info->src_at + operand];
    uint32_t box;
    from = &b->nodes[source];
    root = &b->nodes[from->root];
    *ret_a = source;
    *ret_b = 0;
    if (!(b->permits[info->op] >> operand & 1))
        return PSC_NOT_IN_PLACE_OP;
    if (root->flags & PSC_DIGEST_KV)
        return *ret_a = (uint64_t)b->graph->nodes[from->root].layer, PSC_NOT_REGION;
    if (root->flags & PSC_DIGEST_FILLED)
        return *ret_a = from->root, PSC_NOT_INPUT;
    box = b->out.box_of[from->root];
    if (box == PSC_NONE)
        return PSC_NOT_IN_PLACE_OP; /* it has no bytes */
    if (b->out.backend[box] != info->backend)
        return *ret_a = b->out.backend[box], *ret_b = info->backend, PSC_NOT_OTHER_BACKEND;
    if (from->bytes != info->bytes)
        return *ret_a = from->bytes, *ret_b = info->bytes, PSC_NOT_SAME_BYTES;
    if (b->last[from->root] >= b->n)
        return *ret_a = from->root, PSC_NOT_OUTPUT;
    if (b->last[from->root] != node && from->root == source)
        return *ret_a = from->reader_n, *ret_b = b->last[source], PSC_NOT_SOLE_READER;
    if (b->last[from->root] != node || (info->src_n > 1 && names_twice(b, node, operand)))
        return *ret_a = from->root, *ret_b = b->last[from->root], PSC_NOT_ROOT_READ_LATER;
    if (b->out.boxes[box].bytes != info->bytes && !has_room(b, node, b->out.boxes[box].bytes - info->bytes))
        return *ret_a = from->root, *ret_b = b->out.boxes[box].bytes - info->bytes, PSC_NOT_WORTH;
    return PSC_NOT_N;
}

static void hand_over(struct boxing *b, psc_node node, uint32_t operand)
{
    psc_node source = b->graph->srcs[b->nodes[node].src_at + operand], root = b->nodes[source].root;
    uint64_t rest = b->out.boxes[b->out.box_of[root]].bytes - b->nodes[node].bytes;
    for (uint32_t at = node + 1; rest && at <= b->last[node]; at++)
        b->live[at] += rest;
    b->out.box_of[node] = b->out.box_of[root];
    if (b->out.within)
        b->out.within[node] = b->out.within[root] + b->graph->nodes[source].root_offset;
    b->out.over[node] = (uint8_t)operand;
    b->out.in_place_n++;
    b->last[root] = ENDED;
}

/* All of a box rather than a window of one; among equals the first operand. */
static bool overwrite(struct boxing *b, psc_node node)
{
    uint32_t n = b->nodes[node].src_n < OPERANDS ? b->nodes[node].src_n : OPERANDS, best = OPERANDS;
    uint64_t best_box = UINT64_MAX;
    if (!b->permits[b->nodes[node].op] && !(b->flags & PSC_BOXING_EXPLAIN))
        return false;
    if (!b->permits[b->nodes[node].op])
        n = n < 1 ? n : 1;
    for (uint32_t k = 0; k < n; k++) {
        psc_node source = b->graph->srcs[b->nodes[node].src_at + k];
        uint64_t a_value, b_value;
        enum psc_refusal why = forbids(b, node, k, &a_value, &b_value);
        if (why != PSC_NOT_N && b->flags & PSC_BOXING_EXPLAIN)
            b->out.refusals[b->out.refusal_n++] =
                (struct psc_box_refusal){node, {why, (uint8_t)k, a_value, b_value}};
        if (why != PSC_NOT_N)
            continue;
        if (b->out.boxes[b->out.box_of[b->nodes[source].root]].bytes < best_box) {
            best_box = b->out.boxes[b->out.box_of[b->nodes[source].root]].bytes;
            best = k;
        }
    }
    if (best < OPERANDS)
        hand_over(b, node, best);
    return best < OPERANDS;
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

static void open_box(struct boxing *b, psc_node node)
{
    uint32_t box = b->out.box_n++;
    b->out.boxes[box] = (struct psc_box){.bytes = b->nodes[node].bytes, .begin = node, .end = 0};
    b->out.backend[box] = b->nodes[node].backend;
    b->out.owner[box] = node;
    b->out.box_of[node] = box;
}

static void close_box(struct boxing *b, uint32_t box, uint32_t end)
{
    b->out.boxes[box].end = end;
    b->out.by_end[b->end_n++] = box;
}

static void walk(struct boxing *b)
{
    const psc_node *srcs = b->graph->srcs;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct psc_digest_node *node = &b->nodes[i];
        if (owns_box(b, i) && (b->flags & PSC_BOXING_APART || !overwrite(b, i)))
            open_box(b, i);
        for (uint32_t k = node->src_at; k < node->src_at + node->src_n; k++) {
            psc_node root = b->nodes[srcs[k]].root;
            if (b->last[root] != i)
                continue;
            b->last[root] = ENDED;
            if (b->out.box_of[root] != PSC_NONE)
                close_box(b, b->out.box_of[root], i + 1);
        }
    }
    for (uint32_t box = 0; box < b->out.box_n; box++)
        if (!b->out.boxes[box].end)
            close_box(b, box, b->n + 1);
}

static bool set_up(struct boxing *b, struct psc_arena *arena, bool has_views)
{
    size_t n = b->n;
    struct psc_boxing *out = &b->out;
    out->boxes = psc_arena_alloc(arena, n, sizeof *out->boxes);
    out->backend = psc_arena_alloc(arena, n, sizeof *out->backend);
    out->owner = psc_arena_alloc(arena, n, sizeof *out->owner);
    out->by_end = psc_arena_alloc(arena, n, sizeof *out->by_end);
    out->box_of = psc_arena_alloc(arena, n, sizeof *out->box_of);
    out->over = psc_arena_alloc(arena, n, sizeof *out->over);
    b->last = psc_arena_alloc(arena, n, sizeof *b->last);
    if (!out->boxes || !out->backend || !out->owner || !out->by_end || !out->box_of || !out->over || !b->last)
        return false;
    memset(out->box_of, 0xff, n * sizeof *out->box_of);
    memset(out->over, 0xff, n * sizeof *out->over);
    if (b->flags & PSC_BOXING_EXPLAIN && !(out->refusals = psc_arena_alloc(arena, OPERANDS * n, sizeof *out->refusals)))
        return false;
    if (!has_views)
        return true;
    out->within = psc_arena_alloc0(arena, n, sizeof *out->within);
    b->live = psc_arena_alloc(arena, n + 2, sizeof *b->live);
    return out->within && b->live;
}

enum psc_status psc_boxing_build(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_digest *digest,
                                 unsigned flags, struct psc_boxing *ret, struct psc_error *reterr)
{
    struct boxing b = {.graph = graph, .nodes = digest->nodes, .n = graph->n, .flags = flags};
    for (int op = 0; op < PSC_OP_N; op++)
        b.permits[op] = psc_op_info((enum psc_op)op)->may_overwrite & ((1u << OPERANDS) - 1);
    if (!set_up(&b, arena, digest->has_views))
        return psc_fail_nomem(reterr);
    find_last(&b);
    if (b.live)
        sum_live(&b);
    walk(&b);
    *ret = b.out;
    return PSC_OK;
}
