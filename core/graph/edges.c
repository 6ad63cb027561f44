#include "core/graph/edges.h"

#include <string.h>

#define CYCLES_OF_PART 8u /* cycles told of one strongly connected part: the search is linear in it */
#define CYCLE_SHOWN 64u /* nodes of one cycle that are spelled out */

bool psc_edges_reverse(struct psc_arena *arena, const struct psc_edges *src, struct psc_edges *ret)
{
    uint32_t total = src->at[src->n];
    uint32_t *at = psc_arena_alloc0(arena, (size_t)src->n + 2, sizeof *at);
    psc_node *to = psc_arena_alloc(arena, total, sizeof *to);
    if (!at || !to)
        return false;
    for (uint32_t e = 0; e < total; e++)
        at[src->to[e] + 2]++;
    for (uint32_t i = 0; i < src->n; i++)
        at[i + 2] += at[i + 1]; /* at[i + 1] is the next free place of node i; filled, it is the start of i + 1 */
    for (uint32_t i = 0; i < src->n; i++)
        for (uint32_t e = src->at[i]; e < src->at[i + 1]; e++)
            to[at[src->to[e] + 1]++] = i;
    *ret = (struct psc_edges){src->n, at, to};
    return true;
}

bool psc_edges_kahn(struct psc_arena *arena, const struct psc_edges *src, const struct psc_edges *readers,
                    psc_node *order_ret, uint32_t *ret_n)
{
    uint32_t *waits_for = psc_arena_alloc(arena, src->n, sizeof *waits_for);
    if (!waits_for)
        return false;
    uint32_t tail = 0;
    for (uint32_t i = 0; i < src->n; i++) {
        waits_for[i] = src->at[i + 1] - src->at[i];
        if (!waits_for[i])
            order_ret[tail++] = i;
    }
    /* order_ret is the queue: what was taken from its head stays as the answer. */
    for (uint32_t head = 0; head < tail; head++) {
        psc_node done = order_ret[head];
        for (uint32_t e = readers->at[done]; e < readers->at[done + 1]; e++)
            if (--waits_for[readers->to[e]] == 0)
                order_ret[tail++] = readers->to[e];
    }
    *ret_n = tail;
    return true;
}

/* Tarjan's strongly connected components with the call stack spelled out. part[i] gets the number of the
 * component of node i. */
struct tarjan {
    uint32_t *index, *low, *part, *edge;
    psc_node *stack, *calls;
    bool *on_stack;
};

static bool tarjan_init(struct tarjan *t, struct psc_arena *arena, uint32_t n)
{
    t->index = psc_arena_alloc0(arena, n, sizeof *t->index);
    t->low = psc_arena_alloc(arena, n, sizeof *t->low);
    t->part = psc_arena_alloc(arena, n, sizeof *t->part);
    t->edge = psc_arena_alloc(arena, n, sizeof *t->edge);
    t->stack = psc_arena_alloc(arena, n, sizeof *t->stack);
    t->calls = psc_arena_alloc(arena, n, sizeof *t->calls);
    t->on_stack = psc_arena_alloc0(arena, n, sizeof *t->on_stack);
    return t->index && t->low && t->part && t->edge && t->stack && t->calls && t->on_stack;
}

static void tarjan_run(struct tarjan *t, const struct psc_edges *src)
{
    uint32_t next = 1, stack_n = 0, part_n = 0;
    for (psc_node seed = 0; seed < src->n; seed++) {
        if (t->index[seed])
            continue;
        uint32_t call_n = 0;
        t->calls[call_n++] = seed;
        t->edge[seed] = src->at[seed];
        while (call_n) {
            psc_node i = t->calls[call_n - 1];
            if (!t->index[i]) {
                t->index[i] = t->low[i] = next++;
                t->stack[stack_n++] = i;
                t->on_stack[i] = true;
            }
            if (t->edge[i] < src->at[i + 1]) {
                psc_node s = src->to[t->edge[i]++];
                if (!t->index[s]) {
                    t->edge[s] = src->at[s];
                    t->calls[call_n++] = s;
                } else if (t->on_stack[s] && t->index[s] < t->low[i]) {
                    t->low[i] = t->index[s];
                }
                continue;
            }
            call_n--;
            if (call_n && t->low[i] < t->low[t->calls[call_n - 1]])
                t->low[t->calls[call_n - 1]] = t->low[i];
            if (t->low[i] != t->index[i])
                continue;
            psc_node member;
            do {
                member = t->stack[--stack_n];
                t->on_stack[member] = false;
                t->part[member] = part_n;
            } while (member != i);
            part_n++;
        }
    }
}

/* Breadth first from `start` along readers inside its part until an edge comes back to it: the last node of
 * a shortest cycle, or PSC_NONE. from[] is PSC_NONE everywhere on entry; the *ret_n nodes of queue[] say where
 * it no longer is. */
static psc_node close_cycle(const struct psc_edges *readers, const struct tarjan *t, psc_node start,
                            psc_node *from, psc_node *queue, uint32_t *ret_n)
{
    uint32_t tail = 0;
    psc_node last = PSC_NONE;
    queue[tail++] = start;
    for (uint32_t head = 0; head < tail && last == PSC_NONE; head++) {
        psc_node i = queue[head];
        for (uint32_t e = readers->at[i]; e < readers->at[i + 1] && last == PSC_NONE; e++) {
            psc_node r = readers->to[e];
            if (r == start) {
                last = i;
            } else if (t->part[r] == t->part[start] && from[r] == PSC_NONE) {
                from[r] = i;
                queue[tail++] = r;
            }
        }
    }
    *ret_n = tail;
    return last;
}

static void tell_cycle(const struct psc_draft *draft, psc_node start, psc_node last, const psc_node *from,
                       psc_node *path, struct psc_report *report)
{
    uint32_t n = 0;
    for (psc_node i = last; i != start; i = from[i])
        path[n++] = i;
    struct psc_text text = {0};
    psc_text_addf(&text, "cycle: %llu", (unsigned long long)draft->nodes[start].id);
    for (uint32_t k = 0; k < n && k < CYCLE_SHOWN; k++)
        psc_text_addf(&text, " -> %llu", (unsigned long long)draft->nodes[path[n - 1 - k]].id);
    if (n > CYCLE_SHOWN)
        psc_text_addf(&text, " -> ... (%u more)", n - CYCLE_SHOWN);
    psc_text_addf(&text, " -> %llu", (unsigned long long)draft->nodes[start].id);
    if (text.failed)
        report->failed = true;
    psc_report_add(report, PSC_FAULT, 0, 0, draft->nodes[start].byte, "%s", psc_text_str(&text));
    psc_text_release(&text);
}

enum psc_status psc_edges_report_cycles(struct psc_arena *arena, const struct psc_edges *src,
                                        const struct psc_edges *readers, const struct psc_draft *draft,
                                        struct psc_report *report)
{
    struct tarjan t;
    psc_node *from = psc_arena_alloc(arena, src->n, sizeof *from);
    if (!from || !tarjan_init(&t, arena, src->n))
        return PSC_ERR_NOMEM;
    tarjan_run(&t, src);
    memset(from, 0xff, src->n * sizeof *from);
    memset(t.low, 0, src->n * sizeof *t.low); /* from here on: cycles told of each part */
    bool *told = t.on_stack;                  /* all false again */
    for (psc_node i = 0; i < src->n; i++) {
        if (told[i] || t.low[t.part[i]] == CYCLES_OF_PART)
            continue;
        uint32_t seen;
        psc_node last = close_cycle(readers, &t, i, from, t.calls, &seen);
        if (last != PSC_NONE) {
            tell_cycle(draft, i, last, from, t.stack, report);
            t.low[t.part[i]]++;
        }
        for (psc_node k = last; last != PSC_NONE && k != i; k = from[k])
            told[k] = true;
        for (uint32_t k = 0; k < seen; k++)
            from[t.calls[k]] = PSC_NONE;
    }
    return PSC_OK;
}
