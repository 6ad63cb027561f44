#include "core/debug/kv-step.h"

#include "core/base/mem.h"

#include <string.h>

struct making {
    struct psc_arena *arena;
    const struct psc_kv_step_source *source;
    struct psc_kv_step *step;
    struct psc_kv_touch *touches;
    struct psc_kv_alarm *alarms; /* owned until it is copied */
    size_t alarm_n, alarm_cap;
    struct psc_kv_span *holes;   /* owned scratch: pieces of a window that nobody has written */
    size_t hole_n, hole_cap;
    bool failed;
};

/* ---- touches ------------------------------------------------------------------------------------------------- */

static int32_t position_of(const struct psc_kv_step_source *source, psc_node node)
{
    bool known = source->graph && node < source->graph->n;
    return known && source->position_of ? source->position_of[node] : node < INT32_MAX ? (int32_t)node : INT32_MAX;
}

/* Recorded order is execution order; a file that says otherwise is sorted (stable: insertion, it is nearly sorted). */
static bool take_touches(struct making *m)
{
    const struct psc_kv_step_source *s = m->source;
    struct psc_kv_step *step = m->step;
    m->touches = psc_arena_alloc(m->arena, s->row_n, sizeof *m->touches);
    if (!m->touches)
        return false;
    for (uint32_t i = 0; i < s->row_n; i++) {
        const struct psc_kv_rows *r = &s->rows[i];
        if (r->layer < 0 || (uint32_t)r->layer >= step->regions.layers || r->hi <= r->lo)
            continue;
        int32_t at = position_of(s, r->node);
        const struct psc_queued *q = s->story && r->is_write ? psc_story_queued_at(s->story, at) : NULL;
        m->touches[step->touch_n++] = (struct psc_kv_touch){r->node, at, (uint32_t)r->layer, r->lo, r->hi,
                                                            r->is_write ? 0 : r->unwritten, r->is_write,
                                                            q && q->done > (uint32_t)at ? (int32_t)q->done : at};
    }
    step->touches = m->touches;
    return true;
}

/* Merge sort by position, bottom up: files are not trusted to be in order. */
static bool sort_touches(struct making *m)
{
    uint32_t n = m->step->touch_n;
    bool sorted = true;
    for (uint32_t i = 1; i < n; i++)
        sorted &= m->touches[i - 1].position <= m->touches[i].position;
    if (sorted)
        return true;
    struct psc_kv_touch *other = psc_alloc((size_t)n * sizeof *other), *from = m->touches, *to = other;
    if (!other)
        return false;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t at = 0; at < n; at += 2 * width) {
            uint64_t middle = at + width < n ? at + width : n, end = at + 2 * width < n ? at + 2 * width : n;
            uint64_t a = at, b = middle;
            for (uint64_t k = at; k < end; k++)
                to[k] = b >= end || (a < middle && from[a].position <= from[b].position) ? from[a++] : from[b++];
        }
        struct psc_kv_touch *swap = from;
        from = to, to = swap;
    }
    if (from != m->touches)
        memcpy(m->touches, from, (size_t)n * sizeof *from);
    psc_free(other);
    return true;
}

static bool index_layers(struct making *m)
{
    struct psc_kv_step *step = m->step;
    uint32_t layers = step->regions.layers;
    uint32_t *at = psc_arena_alloc0(m->arena, (size_t)layers + 1, sizeof *at);
    uint32_t *list = psc_arena_alloc(m->arena, step->touch_n, sizeof *list);
    if (!at || !list)
        return false;
    for (uint32_t i = 0; i < step->touch_n; i++)
        at[step->touches[i].layer + 1]++;
    for (uint32_t l = 0; l < layers; l++)
        at[l + 1] += at[l];
    for (uint32_t i = 0; i < step->touch_n; i++)
        list[at[step->touches[i].layer]++] = i;
    for (uint32_t l = layers; l > 0; l--)
        at[l] = at[l - 1];
    at[0] = 0;
    step->layer_at = at;
    step->by_layer = list;
    return true;
}

static bool name_writers(struct making *m)
{
    struct psc_kv_step *step = m->step;
    const struct psc_graph *g = step->graph;
    psc_node *writer = psc_arena_alloc(m->arena, step->regions.layers, sizeof *writer);
    if (!writer)
        return false;
    memset(writer, 0xff, step->regions.layers * sizeof *writer);
    for (uint32_t i = step->touch_n; i-- > 0;)
        if (step->touches[i].is_write)
            writer[step->touches[i].layer] = step->touches[i].node;
    for (psc_node i = 0; g && i < g->n; i++) {
        int32_t layer = g->nodes[i].layer;
        if (psc_op_info(g->nodes[i].op)->stores_kv && layer >= 0 && (uint32_t)layer < step->regions.layers &&
            writer[layer] == PSC_NONE)
            writer[layer] = i;
    }
    step->writer = writer;
    return true;
}

/* ---- alarms ---------------------------------------------------------------------------------------------------- */

static void add_hole(struct making *m, uint32_t lo, uint32_t hi)
{
    if (lo >= hi)
        return;
    if (psc_grow(&m->holes, m->hole_n + 1, &m->hole_cap, sizeof *m->holes))
        m->holes[m->hole_n++] = (struct psc_kv_span){.lo = lo, .hi = hi};
    else
        m->failed = true;
}

/* Takes [lo, hi) away from the holes. */
static void fill_holes(struct making *m, uint32_t lo, uint32_t hi)
{
    size_t n = m->hole_n;
    for (size_t i = 0; i < n; i++) {
        struct psc_kv_span hole = m->holes[i];
        if (hole.hi <= lo || hole.lo >= hi)
            continue;
        m->holes[i].hi = hole.lo < lo ? lo : hole.lo;
        add_hole(m, hole.hi > hi ? hi : hole.hi, hole.hi);
    }
}

/* The rows of a read that neither an earlier step nor an earlier touch of the layer wrote. */
static void find_holes(struct making *m, uint32_t touch)
{
    const struct psc_kv_step *step = m->step;
    const struct psc_kv_touch *t = &step->touches[touch];
    uint32_t at = t->lo;
    m->hole_n = 0;
    if (t->layer < step->before.layers) {
        for (uint32_t i = psc_kv_state_find(&step->before, t->layer, t->lo);
             i < step->before.layer_at[t->layer + 1] && step->before.spans[i].lo < t->hi; i++) {
            add_hole(m, at, step->before.spans[i].lo);
            at = step->before.spans[i].hi;
        }
    }
    add_hole(m, at, t->hi);
    for (uint32_t i = step->layer_at[t->layer]; m->hole_n && i < step->layer_at[t->layer + 1]; i++) {
        const struct psc_kv_touch *w = &step->touches[step->by_layer[i]];
        if (step->by_layer[i] >= touch)
            break;
        if (w->is_write)
            fill_holes(m, w->lo, w->hi);
    }
}

static void put_alarm(struct making *m, uint32_t touch, uint32_t lo, uint32_t hi)
{
    if (lo >= hi)
        return;
    if (!psc_grow(&m->alarms, m->alarm_n + 1, &m->alarm_cap, sizeof *m->alarms)) {
        m->failed = true;
        return;
    }
    m->alarms[m->alarm_n++] = (struct psc_kv_alarm){touch, m->step->touches[touch].layer, lo, hi};
    m->step->unwritten += hi - lo;
}

/* A recorded run counted the rows itself; which ones they are, we find. */
static void find_alarms(struct making *m)
{
    struct psc_kv_step *step = m->step;
    bool counted = step->source == PSC_KV_RECORDED;
    for (uint32_t i = 0; i < step->touch_n && !m->failed; i++) {
        const struct psc_kv_touch *t = &step->touches[i];
        size_t before = m->alarm_n;
        if (t->is_write || (counted && !t->unwritten) || (!counted && !step->history))
            continue;
        if (step->history)
            find_holes(m, i);
        for (size_t k = 0; step->history && k < m->hole_n; k++)
            put_alarm(m, i, m->holes[k].lo, m->holes[k].hi);
        if (counted && m->alarm_n == before) /* it is not known which: the last ones of the window, as a rule */
            put_alarm(m, i, t->hi - (t->unwritten < t->hi - t->lo ? t->unwritten : t->hi - t->lo), t->hi);
        if (!counted)
            for (size_t k = before; k < m->alarm_n; k++)
                m->touches[i].unwritten += m->alarms[k].hi - m->alarms[k].lo;
    }
}

enum psc_status psc_kv_step_build(struct psc_arena *arena, const struct psc_kv_step_source *source,
                                  struct psc_kv_step **ret, struct psc_error *reterr)
{
    struct psc_kv_step *step = psc_arena_alloc0(arena, 1, sizeof *step);
    struct making m = {.arena = arena, .source = source, .step = step};
    if (!step)
        return psc_fail_nomem(reterr);
    *step = (struct psc_kv_step){.regions = *source->regions, .graph = source->graph, .history = source->history,
                                 .ordinal = source->ordinal, .source = source->source, .is_prefill = source->is_prefill,
                                 .sequences = source->sequences, .sequence_n = source->sequence_n};
    if (step->history &&
        psc_kv_state_build(arena, step->history, source->ordinal, &step->before, reterr) != PSC_OK)
        return PSC_ERR_NOMEM;
    m.failed = !take_touches(&m) || !sort_touches(&m) || !index_layers(&m) || !name_writers(&m);
    if (!m.failed)
        find_alarms(&m);
    struct psc_kv_alarm *alarms = m.failed ? NULL : psc_arena_alloc(arena, m.alarm_n, sizeof *alarms);
    if (alarms && m.alarm_n)
        memcpy(alarms, m.alarms, m.alarm_n * sizeof *alarms);
    step->alarms = alarms;
    step->alarm_n = (uint32_t)m.alarm_n;
    psc_free(m.alarms);
    psc_free(m.holes);
    if (!alarms)
        return psc_fail_nomem(reterr);
    *ret = step;
    return PSC_OK;
}

/* ---- lookups --------------------------------------------------------------------------------------------------- */

/* Touches before `position`, or up to it. */
static uint32_t bound(const struct psc_kv_step *step, int32_t position, bool inclusive)
{
    uint32_t from = 0, to = step->touch_n;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int32_t at = step->touches[middle].position;
        if (at < position || (inclusive && at == position))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

uint32_t psc_kv_step_done(const struct psc_kv_step *step, int32_t position)
{
    return bound(step, position, true);
}

uint32_t psc_kv_step_at(const struct psc_kv_step *step, int32_t position, uint32_t *ret_n)
{
    uint32_t first = bound(step, position, false);
    *ret_n = bound(step, position, true) - first;
    return *ret_n ? first : PSC_NONE;
}

enum psc_kv_when psc_kv_span_when(const struct psc_kv_step *step, const struct psc_kv_span *span)
{
    const struct psc_kv_history *h = step->history;
    return h && span->from < h->step_n && h->figures[span->from].is_prefill ? PSC_KV_PREFILL : PSC_KV_EARLIER;
}

struct psc_kv_held psc_kv_step_cell(const struct psc_kv_step *step, uint32_t layer, uint32_t row, int32_t position)
{
    struct psc_kv_held cell = {PSC_KV_NEVER, PSC_NONE, NULL, PSC_NONE, PSC_NONE};
    uint32_t done = psc_kv_step_done(step, position), later = PSC_NONE;
    if (layer >= step->regions.layers)
        return cell;
    if (layer < step->before.layers)
        cell.before = psc_kv_state_at(&step->before, layer, row);
    for (uint32_t i = step->layer_at[layer]; i < step->layer_at[layer + 1]; i++) {
        uint32_t k = step->by_layer[i];
        const struct psc_kv_touch *t = &step->touches[k];
        if (row < t->lo || row >= t->hi)
            continue;
        if (k >= done) {
            if (t->is_write && later == PSC_NONE)
                later = k;
            if (!t->is_write && cell.next_reader == PSC_NONE)
                cell.next_reader = k;
        } else if (t->is_write) {
            cell.by = k;
        } else {
            cell.reader = k;
        }
    }
    cell.when = cell.by != PSC_NONE ? PSC_KV_NOW
                : later != PSC_NONE ? PSC_KV_LATER
                : cell.before       ? psc_kv_span_when(step, cell.before)
                                    : PSC_KV_NEVER;
    if (cell.by == PSC_NONE)
        cell.by = later;
    return cell;
}

/* Rows of the union of all layers, and of what this step has written so far. */
static uint32_t rows_so_far(const struct psc_kv_step *step, uint32_t done)
{
    uint32_t rows = 0, at = 0;
    if (step->history)
        rows = psc_kv_state_written(&step->before, step->before.layers, 0, UINT32_MAX);
    for (;;) { /* the writes of a step are few runs, alike in every layer: take the next run again and again */
        uint32_t lo = UINT32_MAX, hi = 0;
        for (uint32_t i = 0; i < done; i++) {
            const struct psc_kv_touch *t = &step->touches[i];
            uint32_t from = t->lo > at ? t->lo : at;
            if (t->is_write && t->hi > from && (from < lo || (from == lo && t->hi > hi)))
                lo = from, hi = t->hi;
        }
        if (lo == UINT32_MAX)
            return rows;
        rows += hi - lo - (step->history ? psc_kv_state_written(&step->before, step->before.layers, lo, hi) : 0);
        at = hi;
    }
}

void psc_kv_step_so_far(const struct psc_kv_step *step, int32_t position, struct psc_kv_so_far *ret)
{
    struct psc_kv_so_far s = {0};
    uint32_t done = psc_kv_step_done(step, position);
    for (uint32_t l = 0; l < step->regions.layers; l++) {
        bool all = false, now = false, queued = false;
        for (uint32_t i = step->layer_at[l]; i < step->layer_at[l + 1]; i++) {
            const struct psc_kv_touch *t = &step->touches[step->by_layer[i]];
            all |= t->is_write;
            now |= t->is_write && step->by_layer[i] < done;
            queued |= psc_kv_is_pending(t, position);
        }
        s.layers_queued += queued;
        s.layers_all += all;
        s.layers_done += now;
    }
    for (uint32_t i = 0; i < step->touch_n; i++) {
        const struct psc_kv_touch *t = &step->touches[i];
        if (t->is_write) {
            s.lo = s.hi <= s.lo || t->lo < s.lo ? t->lo : s.lo;
            s.hi = t->hi > s.hi ? t->hi : s.hi;
            s.write_n += i < done ? t->hi - t->lo : 0;
        } else if (i < done) {
            s.windows++;
            s.rows_read += t->hi - t->lo;
            s.unwritten += t->unwritten;
        }
    }
    s.rows = rows_so_far(step, done);
    *ret = s;
}

bool psc_kv_row_bytes(const struct psc_kv_step *step, uint32_t row, uint64_t *ret_lo, uint64_t *ret_n)
{
    uint64_t bytes = step->regions.row_bytes;
    if (!bytes || !psc_mul_u64(bytes, row, ret_lo))
        return false;
    *ret_n = bytes;
    return true;
}
