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

static bool has_bytes(const struct psc_digest_node *node)
{
    return !(node->flags & (PSC_DIGEST_FILLED | PSC_DIGEST_KV)) & (node->bytes != 0);
}

static bool owns_box(const struct boxing *b, uint32_t i)
{
    const struct psc_digest_node *node = &b->nodes[i];
    return node->parent == PSC_NONE && has_bytes(node) && b->last[i] > i;
}

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
    b->out.box_of[node] = box;
}

static void place_node(struct boxing *b, psc_node i)
{
    b->out.box_of[i] = PSC_NONE;
    b->out.over[i] = UINT8_MAX;
    if (owns_box(b, i) && (b->flags & PSC_BOXING_APART || !overwrite(b, i)))
        open_box(b, i);
}

/* Closes the box of an operand when nobody names it after node i. */
static void leave(struct boxing *b, psc_node i, psc_node operand)
{
    psc_node root = b->nodes[operand].root;
    uint32_t box = b->out.box_of[root];
    if (b->last[root] != i)
        return;
    b->last[root] = ENDED;
    if (box == PSC_NONE)
        return;
    b->out.boxes[box].end = i + 1;
    b->out.by_end[b->end_n++] = box;
}

static void step(struct boxing *b, psc_node i)
{
    const struct psc_digest_node *node = &b->nodes[i];
    place_node(b, i);
    for (uint32_t k = node->src_at; k < node->src_at + node->src_n; k++)
        leave(b, i, b->graph->srcs[k]);
}

/* find_last() of one node of a graph without views; who has no box ends with itself. */
static inline uint32_t last_reader(const struct psc_graph *graph, const struct psc_digest_node *node, psc_node i)
{
    uint32_t last = node->reader_n ? graph->readers[graph->reader_at[i + 1] - 1] : i;
    last = node->flags & PSC_DIGEST_OUTPUT ? graph->n : last;
    return has_bytes(node) ? last : i;
}

static inline bool is_like(const struct psc_digest_node *a, const struct psc_digest_node *b)
{
    return (a->bytes == b->bytes) & (a->backend == b->backend);
}

static inline void note_node(const struct psc_boxing *out, const struct psc_digest_node *node, psc_node i, uint32_t next,
                             bool owns, bool over, uint32_t box)
{
    out->boxes[next] = (struct psc_box){.bytes = node->bytes, .begin = i, .end = 0};
    out->backend[next] = node->backend;
    out->box_of[i] = owns ? (over ? box : next) : PSC_NONE;
}

static inline void note_end(const struct psc_boxing *out, psc_node i, uint32_t n, uint32_t end_n, uint32_t box, bool ends)
{
    out->boxes[ends ? box : n].end = i + 1;
    out->by_end[end_n] = box;
}

/* step() for graphs without views, where forbids() comes down to this: the operand ends with the node, is like it, and the
 * other is another. Which operand ends and which is written over nobody can predict, so that is computed without branches;
 * what is written behind the last box does not count. */
static void walk_simply(struct boxing *b)
{
    const struct psc_graph graph = *b->graph;
    const struct psc_digest_node *nodes = b->nodes;
    const struct psc_boxing out = b->out;
    uint32_t *const last = b->last, n = b->n;
    uint32_t box_n = 0, end_n = 0, in_place_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct psc_digest_node *node = &nodes[i];
        const psc_node *src = graph.srcs + node->src_at;
        uint8_t permits = b->permits[node->op];
        last[i] = last_reader(&graph, node, i);
        if (node->src_n == 1) {
            uint32_t box = out.box_of[src[0]];
            bool owns = last[i] > i, ends = last[src[0]] == i;
            bool over = owns & ends & permits & is_like(&nodes[src[0]], node);
            note_node(&out, node, i, box_n, owns, over, box);
            note_end(&out, i, n, end_n, box, ends & !over);
            out.over[i] = over ? 0 : UINT8_MAX;
            box_n += owns & !over;
            end_n += ends & !over;
            in_place_n += over;
        } else if (node->src_n == 2) {
            uint32_t one = out.box_of[src[0]], two = out.box_of[src[1]];
            bool owns = last[i] > i, ends = last[src[0]] == i, also = (last[src[1]] == i) & (src[0] != src[1]);
            bool over = false, over_two = false;
            if (permits) {
                over = owns & ends & (src[0] != src[1]) & permits & is_like(&nodes[src[0]], node);
                over_two = owns & also & (permits >> 1) & is_like(&nodes[src[1]], node) & !over;
            }
            note_node(&out, node, i, box_n, owns, over | over_two, over ? one : two);
            note_end(&out, i, n, end_n, one, ends & !over);
            end_n += ends & !over;
            note_end(&out, i, n, end_n, two, also & !over_two);
            end_n += also & !over_two;
            out.over[i] = (uint8_t)(over + 2 * over_two - 1); /* 0, 1 or UINT8_MAX */
            box_n += owns & !over & !over_two;
            in_place_n += over | over_two;
        } else {
            b->out.box_n = box_n, b->end_n = end_n;
            step(b, i);
            box_n = b->out.box_n, end_n = b->end_n;
        }
    }
    b->out.box_n = box_n;
    b->end_n = end_n;
    b->out.in_place_n += in_place_n;
}

static void walk(struct boxing *b)
{
    if (!b->out.within && !b->flags)
        walk_simply(b);
    else
        for (uint32_t i = 0; i < b->n; i++)
            step(b, i);
    for (uint32_t box = 0; b->end_n < b->out.box_n; box++)
        if (!b->out.boxes[box].end) {
            b->out.boxes[box].end = b->n + 1;
            b->out.by_end[b->end_n++] = box;
        }
}

static bool set_up(struct boxing *b, struct psc_arena *arena, bool has_views)
{
    size_t n = b->n;
    struct psc_boxing *out = &b->out;
    out->boxes = psc_arena_alloc(arena, n + 1, sizeof *out->boxes); /* one more of these: see walk_simply() */
    out->backend = psc_arena_alloc(arena, n, sizeof *out->backend);
    out->by_end = psc_arena_alloc(arena, n + 1, sizeof *out->by_end);
    out->box_of = psc_arena_alloc(arena, n, sizeof *out->box_of);
    out->over = psc_arena_alloc(arena, n, sizeof *out->over);
    b->last = psc_arena_alloc(arena, n, sizeof *b->last);
    if (!out->boxes || !out->backend || !out->by_end || !out->box_of || !out->over || !b->last)
        return false;
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
    if (digest->has_views || flags) /* else walk_simply() finds them as it goes */
        find_last(&b);
    if (b.live)
        sum_live(&b);
    walk(&b);
    *ret = b.out;
    return PSC_OK;
}
