#include "core/debug/replay.h"

#include "core/base/mem.h"

#include <string.h>

/* ---- reads ----------------------------------------------------------------------------------------- */

/* Do the bytes that write w left hold what the read names, at its place? */
static bool holds(const struct psc_replay *r, uint32_t w, uint32_t value, uint64_t lo, uint32_t version)
{
    const struct psc_story *story = r->story;
    uint32_t root = psc_replay_root(story, value);
    const struct psc_value *want = &story->values[root];

    if (w == PSC_NONE)
        return want->kind == PSC_VALUE_REGION;
    const struct psc_event *e = &story->events[w];
    if (e->value == PSC_NONE || psc_shadow_vanishes(e->kind))
        return false;
    if (e->value == root) {
        uint64_t offset = story->values[value].is_view ? story->values[value].offset : 0;
        return want->kind == PSC_VALUE_REGION || (e->version == version && e->lo == lo - offset);
    }
    const struct psc_value *found = &story->values[e->value];
    return found->kind == PSC_VALUE_STAGING && found->of == value && e->lo == lo;
}

static bool by_levels(const struct psc_story *story)
{
    return story->executor == PSC_EXEC_LEVEL && story->level;
}

/* No order is known between two nodes of one dependency level. */
static bool one_level(const struct psc_story *story, const struct psc_event *a, const struct psc_event *b)
{
    if (!by_levels(story) || a->run != b->run || a->phase != b->phase)
        return false;
    if (a->position < 0 || b->position < 0 || a->position == b->position)
        return false;
    return a->position < (int32_t)story->position_n && b->position < (int32_t)story->position_n &&
           story->level[a->position] == story->level[b->position];
}

/* The usual case: a value read whole, from where its last write left it, in a buffer that was settled or that nobody has written
 * to since. */
static inline bool untouched(const struct psc_replay *r, uint32_t w, uint32_t value, uint32_t buffer, uint64_t lo, uint64_t hi,
                             uint32_t version)
{
    const struct psc_event *e = w == PSC_NONE ? NULL : &r->story->events[w];

    return e && e->value == value && e->buffer == buffer && e->lo == lo && e->hi == hi && e->version == version &&
           (psc_shadow_is_last(&r->shadow, buffer, w) ||
            (psc_shadow_is_settled(&r->shadow, buffer) && psc_shadow_intact(&r->shadow, w))) &&
           !(r->pending && (r->pending[w] || r->carries[w] != PSC_NONE));
}

/* Bytes [lo, hi) of what a copy takes are wrong; `into` is its write. */
static enum psc_status carry(struct psc_replay *r, uint32_t into, uint32_t victim, uint32_t write, uint64_t lo, uint64_t hi,
                             struct psc_suspect facts, struct psc_error *reterr)
{
    if (!psc_grow(&r->carried, r->carried_n + 1, &r->carried_cap, sizeof *r->carried))
        return psc_fail_nomem(reterr);
    r->carried[r->carried_n] = (struct psc_carried){facts, victim, write, lo, hi, r->carries[into]};
    r->carries[into] = (uint32_t)r->carried_n++;
    return PSC_OK;
}

/* Event `read` takes bytes [lo, hi) of a buffer that copy w left there: what was wrong in them when they were copied? */
static enum psc_status look_carried(struct psc_replay *r, uint32_t w, uint32_t read, uint64_t lo, uint64_t hi, bool *wrong,
                                    struct psc_error *reterr)
{
    uint64_t base = r->story->events[w].lo;
    enum psc_status status = PSC_OK;
    for (uint32_t k = r->carries ? r->carries[w] : PSC_NONE; !status && k != PSC_NONE; k = r->carried[k].next) {
        struct psc_carried c = r->carried[k];
        uint64_t from = base + c.lo > lo ? base + c.lo : lo, to = base + c.hi < hi ? base + c.hi : hi;
        if (from >= to)
            continue;
        *wrong = true;
        status = psc_replay_report(r, c.victim, c.write, read, from, to, c.facts, reterr);
    }
    return status;
}

/* Looks at the bytes [lo, hi) that event `read` takes for `value`. into: the write of the copy that it is, or PSC_NONE. */
static enum psc_status look(struct psc_replay *r, uint32_t read, uint32_t value, uint32_t buffer, uint64_t lo,
                            uint64_t hi, uint32_t version, uint32_t into, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    const struct psc_event *e = &story->events[read];
    bool wrong = false;

    r->read_n++;
    if (!psc_shadow_settle(&r->shadow, buffer))
        return psc_fail_nomem(reterr);
    if (lo >= hi || untouched(r, r->last_write[value], value, buffer, lo, hi, version))
        return PSC_OK;
    uint32_t root = psc_replay_root(story, value), last = r->last_write[root];
    struct psc_shadow_run run = psc_shadow_first(&r->shadow, buffer, lo, hi);
    do {
        struct psc_suspect facts = {0};
        uint32_t w = run.event, write = w;
        if (holds(r, w, value, lo, version)) {
            enum psc_status status = w == PSC_NONE ? PSC_OK : look_carried(r, w, read, run.lo, run.hi, &wrong, reterr);
            if (status)
                return status;
            if (w == PSC_NONE || !r->pending || !r->pending[w])
                continue;
            facts.async = true; /* the copy is still on its way */
            write = PSC_NONE;
        } else if (w != PSC_NONE) {
            const struct psc_event *we = &story->events[write];
            facts.async = one_level(story, we, e) ||
                          (last != PSC_NONE && one_level(story, we, &story->events[last]));
        } else {
            facts.written_later = last == PSC_NONE;
        }
        wrong = true;
        enum psc_status status = psc_replay_report(r, root, write, read, run.lo, run.hi, facts, reterr);
        if (!status && into != PSC_NONE)
            status = carry(r, into, root, write, run.lo - lo, run.hi - lo, facts, reterr);
        if (status)
            return status;
        if (r->suspect_n >= PSC_FINDINGS_MAX)
            break;
    } while (psc_shadow_next(&r->shadow, buffer, hi, &run));
    r->wrong_n += wrong;
    return PSC_OK;
}

/* The bytes where a value lies now, from its last write. False when it was never written. */
static bool where(const struct psc_replay *r, uint32_t value, uint32_t *ret_buffer, uint64_t *ret_lo, uint64_t *ret_hi,
                  uint32_t *ret_version)
{
    const struct psc_value *v = &r->story->values[value];
    uint32_t w = r->last_write[psc_replay_root(r->story, value)];

    if (w == PSC_NONE)
        return false;
    const struct psc_event *e = &r->story->events[w];
    *ret_buffer = e->buffer;
    *ret_lo = e->lo + (v->is_view ? v->offset : 0);
    *ret_hi = *ret_lo + v->bytes;
    *ret_version = e->version;
    return e->buffer != PSC_NONE;
}

/* The source of a copy must be right when the copy is queued. */
static enum psc_status look_source(struct psc_replay *r, uint32_t event, struct psc_error *reterr)
{
    const struct psc_event *e = &r->story->events[event];
    uint32_t buffer, version;
    uint64_t lo, hi;

    if (e->peer == PSC_NONE || e->peer >= r->story->value_n || !where(r, e->peer, &buffer, &lo, &hi, &version))
        return PSC_OK;
    return look(r, event, e->peer, buffer, lo, hi, version, e->buffer == PSC_NONE ? PSC_NONE : event, reterr);
}

/* ---- writes ---------------------------------------------------------------------------------------- */

/* A concat all of whose operands lie at their places inside the output moves nothing. They do when the joined
 * runs are whole (no dimension beyond the axis) and one begins where the other ends. */
static bool moves_nothing(const struct psc_replay *r, uint32_t turn, uint32_t event)
{
    const struct psc_graph *g = r->graph;
    const struct psc_event *events = r->story->events, *w = &events[event];
    uint32_t k = 0;
    uint64_t at = w->lo;

    if (!g || w->node >= g->n || g->nodes[w->node].op != PSC_OP_CONCAT)
        return false;
    const struct psc_node_info *node = &g->nodes[w->node];
    const psc_node *src = psc_node_srcs(g, w->node);
    int32_t axis = node->params->dim < 0 ? node->params->dim + 4 : node->params->dim;
    for (int d = 3; d > axis; d--) {
        if (node->shape[d] != 1)
            return false;
    }
    for (uint32_t i = turn; i < event; i++) {
        const struct psc_event *e = &events[i];
        if (e->kind != PSC_EV_READ || e->node != w->node)
            continue;
        for (; k < e->operand && k < node->src_n; k++) {
            if (g->nodes[src[k]].bytes)
                return false; /* an operand that is not read */
        }
        if (k >= node->src_n || e->operand != k || e->buffer != w->buffer || e->lo != at)
            return false;
        at += g->nodes[src[k++]].bytes;
    }
    return at == w->hi;
}

/* Without a graph nothing tells what an op may do, but one that works in place says so. */
static bool says_in_place(const struct psc_replay *r, const struct psc_event *read, const struct psc_event *write)
{
    for (const struct psc_event *e = read + 1; e < write; e++)
        if (e->kind == PSC_EV_ALIAS && e->node == write->node && e->peer != PSC_NONE &&
            psc_replay_root(r->story, e->peer) == psc_replay_root(r->story, read->value))
            return true;
    return false;
}

/* Does an op write over what it reads there? */
static inline bool over_operand(const struct psc_event *e, const struct psc_event *w)
{
    uint64_t lo = e->lo > w->lo ? e->lo : w->lo, hi = e->hi < w->hi ? e->hi : w->hi;

    return e->buffer == w->buffer && lo < hi && (e->kind == PSC_EV_READ || e->kind == PSC_EV_ROWS_READ) &&
           e->node == w->node && e->value != PSC_NONE;
}

static bool may_overwrite(const struct psc_replay *r, const struct psc_event *read, const struct psc_event *write)
{
    bool exact = read->lo == write->lo && read->hi == write->hi;

    if (!r->graph || write->node >= r->graph->n)
        return exact && says_in_place(r, read, write);
    const struct psc_op_info *op = psc_op_info((enum psc_op)r->graph->digests[write->node].op);
    return exact && read->operand < 32 && (op->may_overwrite >> read->operand & 1);
}

/* An op over its own operands: the reads of its position stand between `turn` and `event`. */
static enum psc_status look_operands(struct psc_replay *r, uint32_t turn, uint32_t event, struct psc_error *reterr)
{
    const struct psc_event *events = r->story->events, *w = &events[event];

    for (uint32_t i = turn; i < event; i++) {
        const struct psc_event *e = &events[i];
        if (!over_operand(e, w) || may_overwrite(r, e, w))
            continue;
        uint32_t root = psc_replay_root(r->story, e->value);
        if (root == w->value)
            continue;
        if (moves_nothing(r, turn, event))
            return PSC_OK;
        struct psc_suspect facts = {.finding = {.overlap_only = true}};
        facts.partial = e->lo != w->lo || e->hi != w->hi;
        uint64_t lo = e->lo > w->lo ? e->lo : w->lo, hi = e->hi < w->hi ? e->hi : w->hi;
        enum psc_status status = psc_replay_report(r, root, event, i, lo, hi, facts, reterr);
        if (status)
            return status;
    }
    return PSC_OK;
}

static enum psc_status write_bytes(struct psc_replay *r, uint32_t event, struct psc_error *reterr)
{
    const struct psc_event *e = &r->story->events[event];
    enum psc_status status = PSC_OK;

    if (!psc_shadow_apply(&r->shadow, e, event))
        return psc_fail_nomem(reterr);
    if (e->value == PSC_NONE || psc_shadow_vanishes(e->kind))
        return PSC_OK;
    r->last_write[e->value] = event;
    if (e->hi > r->story->buffers[e->buffer].bytes && e->lo < e->hi) {
        uint64_t end = r->story->buffers[e->buffer].bytes;
        struct psc_suspect facts = {.partial = true};
        status = psc_replay_report(r, e->value, event, PSC_NONE, end > e->lo ? end : e->lo, e->hi, facts, reterr);
    }
    return status;
}

/* ---- queued copies ------------------------------------------------------------------------------- */

/* Room for what is known of copies, at the first one. */
static bool meet_copies(struct psc_replay *r)
{
    uint32_t n = r->story->event_n;

    if (r->pending)
        return true;
    r->carries = psc_arena_alloc(&r->scratch, n, sizeof *r->carries);
    if (!r->carries)
        return false;
    memset(r->carries, 0xff, (size_t)n * sizeof *r->carries);
    r->pending = psc_arena_alloc0(&r->scratch, n, sizeof *r->pending);
    return r->pending != NULL;
}

/* Who wrote these bytes while the copy of event `queued` was on its way? Nothing is on its way where levels are replayed, so
 * events come in their order. */
static enum psc_status look_disturbed(struct psc_replay *r, uint32_t queued, uint32_t wait, uint32_t victim,
                                      uint32_t buffer, uint64_t lo, uint64_t hi, struct psc_error *reterr)
{
    if (lo >= hi)
        return PSC_OK;
    if (!psc_shadow_settle(&r->shadow, buffer))
        return psc_fail_nomem(reterr);
    struct psc_shadow_run run = psc_shadow_first(&r->shadow, buffer, lo, hi);
    do {
        if (run.event == PSC_NONE || run.event <= queued)
            continue;
        struct psc_suspect facts = {.async = true};
        enum psc_status status = psc_replay_report(r, victim, run.event, wait, run.lo, run.hi, facts, reterr);
        if (status || r->suspect_n >= PSC_FINDINGS_MAX)
            return status;
    } while (psc_shadow_next(&r->shadow, buffer, hi, &run));
    return PSC_OK;
}

static enum psc_status wait_for(struct psc_replay *r, uint32_t event, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    uint32_t peer = story->events[event].peer;
    enum psc_status status = PSC_OK;

    if (peer == PSC_NONE || !r->pending || !r->pending[peer])
        return PSC_OK;
    r->pending[peer] = 0;
    const struct psc_event *q = &story->events[peer];
    if (q->value != PSC_NONE)
        status = look_disturbed(r, peer, event, q->value, q->buffer, q->lo, q->hi, reterr);
    uint32_t buffer, version;
    uint64_t lo, hi;
    if (!status && q->peer != PSC_NONE && q->peer < story->value_n && where(r, q->peer, &buffer, &lo, &hi, &version))
        status = look_disturbed(r, peer, event, psc_replay_root(story, q->peer), buffer, lo, hi, reterr);
    return status;
}

/* ---- the walk -------------------------------------------------------------------------------------- */

enum { BATCH = 128 };

/* Events that read, write or wait. The others change nothing. */
static const uint32_t stops = 1u << PSC_EV_FILL | 1u << PSC_EV_WRITE | 1u << PSC_EV_READ | 1u << PSC_EV_ROWS_WRITE |
                              1u << PSC_EV_ROWS_READ | 1u << PSC_EV_ENQUEUE | 1u << PSC_EV_COMPLETE | 1u << PSC_EV_COPY |
                              1u << PSC_EV_WAIT | 1u << PSC_EV_EXPORT | 1u << PSC_EV_GROW | 1u << PSC_EV_EVICT |
                              1u << PSC_EV_TRIM | 1u << PSC_EV_HOST_READ;

/* Which of the events [e, end) those are. Half of a story are others, in an order that no processor foresees: so without
 * branches. The nodes of ops in place are asked for beforehand: may_overwrite looks at them. */
static uint32_t pick_stops(const struct psc_graph *g, const struct psc_event *e, const struct psc_event *end,
                           const struct psc_event **ret)
{
    const struct psc_event *aliases[BATCH];
    uint32_t n = 0, alias_n = 0;

    for (; e < end; e++) {
        ret[n] = e;
        aliases[alias_n] = e;
        n += stops >> e->kind & 1;
        alias_n += e->kind == PSC_EV_ALIAS;
    }
    for (uint32_t i = 0; g && i < alias_n; i++) {
        if (aliases[i]->node < g->n)
            __builtin_prefetch(&g->digests[aliases[i]->node]);
    }
    return n;
}

static bool same_position(const struct psc_event *a, const struct psc_event *b)
{
    return a->position == b->position && a->run == b->run && a->phase == b->phase;
}

/* The usual case of a write: inside its buffer, and over no operand of its op but one that it may write over. False also when
 * its position began before the list. */
static inline bool writes_plainly(const struct psc_replay *r, const struct psc_event **list, const struct psc_event **at)
{
    const struct psc_event *w = *at;

    if (w->value == PSC_NONE || w->buffer == PSC_NONE || w->hi > r->story->buffers[w->buffer].bytes)
        return false;
    while (at-- > list) {
        if (!same_position(*at, w))
            return true;
        if (over_operand(*at, w) && !may_overwrite(r, *at, w))
            return false;
    }
    return false;
}

/* Replays one of the events from `from` on. */
static enum psc_status stop_at(struct psc_replay *r, uint32_t from, uint32_t i, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    const struct psc_event *e = &story->events[i];
    enum psc_status status = PSC_OK;
    uint32_t turn = i;

    switch ((enum psc_event_kind)e->kind) {
    case PSC_EV_READ:
    case PSC_EV_ROWS_READ:
    case PSC_EV_EXPORT:
    case PSC_EV_HOST_READ:
        if (e->value == PSC_NONE || e->buffer == PSC_NONE)
            return PSC_OK;
        if (r->first_read && r->first_read[psc_replay_root(story, e->value)] == PSC_NONE)
            r->first_read[psc_replay_root(story, e->value)] = i;
        return look(r, i, e->value, e->buffer, e->lo, e->hi, e->version, PSC_NONE, reterr);
    case PSC_EV_WRITE:
    case PSC_EV_ROWS_WRITE:
        if (e->node == PSC_NONE)
            break;
        while (turn > from && same_position(&story->events[turn - 1], e))
            turn--;
        status = look_operands(r, turn, i, reterr);
        break;
    case PSC_EV_ENQUEUE:
    case PSC_EV_COPY:
        status = meet_copies(r) ? look_source(r, i, reterr) : psc_fail_nomem(reterr);
        if (!status && e->kind == PSC_EV_ENQUEUE && e->buffer != PSC_NONE && !by_levels(story))
            r->pending[i] = 1;
        break;
    case PSC_EV_WAIT:
    case PSC_EV_COMPLETE:
        status = wait_for(r, i, reterr);
        break;
    default:
        break;
    }
    if (!status && psc_shadow_writes(e->kind) && e->buffer != PSC_NONE)
        status = write_bytes(r, i, reterr);
    return status;
}

/* Replays the events [from, to). */
static enum psc_status walk(struct psc_replay *r, uint32_t from, uint32_t to, struct psc_error *reterr)
{
    const struct psc_event *events = r->story->events, *list[BATCH];

    for (uint32_t at = from, end; at < to; at = end) {
        end = to - at > BATCH ? at + BATCH : to;
        uint32_t n = pick_stops(r->graph, events + at, events + end, list), soon = end;
        for (uint32_t k = 0; k < n; k++) {
            const struct psc_event *e = list[k];
            uint32_t i = (uint32_t)(e - events);
            if (soon + 1 < to) { /* the next batch is fetched while this one is worked on */
                __builtin_prefetch(&events[soon]);
                __builtin_prefetch(&events[soon + 1]);
                soon += 2;
            }
            if (e->kind == PSC_EV_READ && e->value != PSC_NONE && !r->first_read &&
                untouched(r, r->last_write[e->value], e->value, e->buffer, e->lo, e->hi, e->version)) {
                r->read_n++;
            } else if (e->kind == PSC_EV_WRITE && writes_plainly(r, list, list + k)) {
                r->last_write[e->value] = i;
                if (!psc_shadow_apply(&r->shadow, e, i))
                    return psc_fail_nomem(reterr);
            } else {
                enum psc_status status = stop_at(r, from, i, reterr);
                if (status)
                    return status;
            }
        }
    }
    return PSC_OK;
}

/* Events that stay together when a story is replayed level by level: those of one position, or one copy. */
struct turn {
    uint32_t from, to, rank;
};

/* Fills, level 0, copies of what it made, level 1, ... and the host's reads: ranks 0, 2, 3, 4 ... */
static uint32_t rank_of_position(const struct psc_story *story, int32_t position, uint32_t level_n)
{
    if (position < 0)
        return 0;
    return position >= (int32_t)story->position_n ? 2 * level_n + 2 : 2 * story->level[position] + 2;
}

/* A copy is queued as soon as its source is made, and is over before the next level begins. */
static uint32_t rank_of_copy(const struct psc_replay *r, const struct psc_event *e)
{
    psc_node node = e->peer == PSC_NONE ? PSC_NONE : psc_replay_node_of(r->story, psc_replay_root(r->story, e->peer));
    uint32_t place = node >= r->place_n ? PSC_NONE : r->place ? r->place[node] : node;

    return place < r->story->position_n ? 2 * r->story->level[place] + 3 : 1;
}

static bool is_copy(const struct psc_event *e)
{
    return e->kind == PSC_EV_ENQUEUE || e->kind == PSC_EV_COPY;
}

static void sort_turns(struct turn *turns, struct turn *spare, uint32_t *count, uint32_t n, uint32_t rank_n)
{
    memset(count, 0, ((size_t)rank_n + 1) * sizeof *count);
    for (uint32_t i = 0; i < n; i++)
        count[turns[i].rank + 1]++;
    for (uint32_t l = 0; l < rank_n; l++)
        count[l + 1] += count[l];
    for (uint32_t i = 0; i < n; i++)
        spare[count[turns[i].rank]++] = turns[i];
    memcpy(turns, spare, (size_t)n * sizeof *turns);
}

/* Fills, then the nodes level by level (listed order inside a level), then the host's reads. */
static enum psc_status walk_levels(struct psc_replay *r, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    uint32_t i = 0, level_n = 1;
    enum psc_status status = PSC_OK;

    for (uint32_t p = 0; p < story->position_n; p++)
        level_n = story->level[p] + 1 > level_n ? story->level[p] + 1 : level_n;
    struct turn *turns = psc_arena_alloc(&r->scratch, (size_t)story->event_n + 1, sizeof *turns);
    struct turn *spare = psc_arena_alloc(&r->scratch, (size_t)story->event_n + 1, sizeof *spare);
    uint32_t rank_n = 2 * level_n + 3;
    uint32_t *count = psc_arena_alloc(&r->scratch, (size_t)rank_n + 1, sizeof *count);
    if (!turns || !spare || !count)
        return psc_fail_nomem(reterr);
    while (i < story->event_n && !status) {
        uint16_t run = story->events[i].run, phase = story->events[i].phase;
        uint32_t n = 0;
        while (i < story->event_n && story->events[i].run == run && story->events[i].phase == phase) {
            const struct psc_event *e = &story->events[i];
            struct turn t = {i, i + 1, rank_of_position(story, e->position, level_n)};
            bool copies = is_copy(e);
            if (copies)
                t.rank = rank_of_copy(r, e);
            while (!copies && t.to < story->event_n && same_position(e, &story->events[t.to]) &&
                   !is_copy(&story->events[t.to]))
                t.to++;
            i = t.to;
            turns[n++] = t;
        }
        sort_turns(turns, spare, count, n, rank_n);
        for (uint32_t t = 0; t < n && !status; t++)
            status = walk(r, turns[t].from, turns[t].to, reterr);
    }
    return status;
}

static uint32_t *invert(struct psc_arena *arena, const psc_node *order, uint32_t n, uint32_t node_n)
{
    uint32_t *place = psc_arena_alloc(arena, node_n, sizeof *place);

    if (!place)
        return NULL;
    memset(place, 0xff, (size_t)node_n * sizeof *place);
    for (uint32_t p = 0; p < n; p++) {
        if (order[p] < node_n)
            place[order[p]] = p;
    }
    return place;
}

static enum psc_status prepare(struct psc_replay *r, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    enum psc_status status = psc_shadow_init(&r->shadow, &r->scratch, story, reterr);

    if (status)
        return status;
    r->last_write = psc_arena_alloc(&r->scratch, story->value_n, sizeof *r->last_write);
    if (!r->last_write)
        return psc_fail_nomem(reterr);
    memset(r->last_write, 0xff, (size_t)story->value_n * sizeof *r->last_write);
    if (by_levels(story)) {
        r->first_read = psc_arena_alloc(&r->scratch, story->value_n, sizeof *r->first_read);
        if (!r->first_read)
            return psc_fail_nomem(reterr);
        memset(r->first_read, 0xff, (size_t)story->value_n * sizeof *r->first_read);
    }
    r->place_n = r->graph ? r->graph->n : story->position_n;
    if (story->order && !(r->place = invert(&r->scratch, story->order, story->position_n, r->place_n)))
        return psc_fail_nomem(reterr);
    if (story->believed_order &&
        !(r->believed = invert(&r->scratch, story->believed_order, story->position_n, r->place_n)))
        return psc_fail_nomem(reterr);
    return PSC_OK;
}

enum psc_status psc_replay_run(struct psc_replay *r, const struct psc_graph *graph, const struct psc_story *story,
                               struct psc_error *reterr)
{
    memset(r, 0, sizeof *r);
    r->graph = graph;
    r->story = story;
    enum psc_status status = prepare(r, reterr);
    if (status)
        return status;
    if (by_levels(story))
        return walk_levels(r, reterr);
    return walk(r, 0, story->event_n, reterr);
}

void psc_replay_release(struct psc_replay *r)
{
    psc_arena_release(&r->scratch);
    psc_free(r->suspects);
    psc_free(r->carried);
    psc_map_release(&r->seen);
    memset(r, 0, sizeof *r);
}
