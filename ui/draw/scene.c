#include "ui/draw/ghosts.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

/* What the steps of the build share: arrays of the result while they may still be written. */
struct build {
    struct psc_arena *arena;
    struct psc_scene *scene;
    const struct psc_story *story;
    const struct psc_history *history;
    struct psc_scene_lane *lanes;
    struct psc_scene_row *rows;
    uint32_t *row_of_buffer;
    int32_t *first, *end;
    uint16_t *flags;
};

static bool is_pinned(const struct build *b, const struct psc_tenancy *t)
{
    enum psc_role role = b->story->buffers[t->buffer].role;
    const struct psc_value *v = &b->story->values[t->value];
    return role == PSC_ROLE_INPUT || role == PSC_ROLE_OUTPUT || v->kind == PSC_VALUE_FILL || v->is_output;
}

/* ---- bars ----------------------------------------------------------------------------------- */

static bool build_bars(struct build *b)
{
    const struct psc_history *h = b->history;
    struct psc_scene *s = b->scene;
    uint32_t n = h->tenancy_n;
    b->first = psc_arena_alloc(b->arena, n + 1u, sizeof *b->first);
    b->end = psc_arena_alloc(b->arena, n + 1u, sizeof *b->end);
    b->flags = psc_arena_alloc0(b->arena, n + 1u, sizeof *b->flags);
    if (!b->first || !b->end || !b->flags)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        int32_t end = t->end;
        if (b->story->buffers[t->buffer].role == PSC_ROLE_STAGING)
            end = t->last + 1; /* a staging buffer is kept, but the copy in it has done its work */
        if (t->next_version == PSC_NONE || end <= t->first)
            end = t->last + 1 > end ? t->last + 1 : end;
        b->first[i] = t->first;
        b->end[i] = end > s->n + 1 ? s->n + 1 : end <= t->first ? t->first + 1 : end;
        if (is_pinned(b, t))
            b->flags[i] |= PSC_BAR_PINNED;
        if (t->next_version != PSC_NONE)
            b->flags[i] |= PSC_BAR_NEXT;
        if (t->prev_version != PSC_NONE)
            b->flags[i] |= PSC_BAR_PREV;
    }
    s->bar_n = n;
    s->first = b->first, s->end = b->end, s->flags = b->flags;
    return true;
}

static bool build_end_tree(struct build *b)
{
    struct psc_scene *s = b->scene;
    uint32_t size = 1;
    while (size < s->bar_n)
        size *= 2;
    int32_t *tree = psc_arena_alloc(b->arena, 2 * (size_t)size, sizeof *tree);
    if (!tree)
        return false;
    for (uint32_t i = 0; i < size; i++)
        tree[size + i] = i < s->bar_n ? s->end[i] : INT32_MIN;
    for (uint32_t i = size - 1; i > 0; i--)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    tree[0] = INT32_MIN;
    s->end_tree = tree, s->tree_n = size;
    return true;
}

static bool build_busy(struct build *b)
{
    struct psc_scene *s = b->scene;
    int32_t *run_end = psc_arena_alloc(b->arena, s->bar_n + 1u, sizeof *run_end);
    uint32_t *busy = psc_arena_alloc(b->arena, s->bar_n + 1u, sizeof *busy);
    if (!run_end || !busy)
        return false;
    for (uint32_t buffer = 0; buffer < b->story->buffer_n; buffer++) {
        int32_t reach = INT32_MIN;
        uint32_t sum = 0;
        for (uint32_t i = b->history->buffer_at[buffer]; i < b->history->buffer_at[buffer + 1]; i++) {
            busy[i] = sum;
            int32_t start = s->first[i] > reach ? s->first[i] : reach;
            reach = s->end[i] > reach ? s->end[i] : reach;
            sum += reach > start ? (uint32_t)(reach - start) : 0;
            run_end[i] = reach;
        }
    }
    s->run_end = run_end, s->busy = busy;
    return true;
}

/* ---- lanes and rows ------------------------------------------------------------------------- */

static const char *lane_name(struct build *b, uint8_t backend, const char *what)
{
    char shown[24], text[64];
    psc_backend_title(backend < b->story->backend_n ? b->story->backends[backend] : "", shown, sizeof shown);
    snprintf(text, sizeof text, "%s%s%s", shown, shown[0] ? " " : "", what);
    return psc_arena_strdup(b->arena, text);
}

/* Most bars of a packed row alive at once: its height in Rows mode. Ends are kept in a small heap-free
 * window: bars are sorted by first, so the count over the row's own bars is a merge of firsts and ends. */
static int by_number(const void *a, const void *c)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)c;
    return x < y ? -1 : x > y;
}

static bool measure_row(struct build *b, struct psc_scene_row *row)
{
    const struct psc_tenancy *t = b->history->tenancies;
    uint64_t largest = 0;
    for (uint32_t i = row->bar_at; i < row->bar_end; i++) {
        row->packed = row->packed || t[i].lo != 0;
        largest = t[i].hi > largest ? t[i].hi : largest;
        row->first = i == row->bar_at || b->first[i] < row->first ? b->first[i] : row->first;
        row->end = i == row->bar_at || b->end[i] > row->end ? b->end[i] : row->end;
    }
    if (row->bytes == UINT64_MAX || row->bytes < largest)
        row->bytes = largest;
    if (!row->packed)
        return true;
    uint32_t n = row->bar_end - row->bar_at, alive = 0, most = 1;
    int32_t *ends = psc_alloc(n * sizeof *ends);
    if (!ends)
        return false;
    memcpy(ends, b->end + row->bar_at, n * sizeof *ends);
    qsort(ends, n, sizeof *ends, by_number);
    for (uint32_t i = 0, out = 0; i < n; i++) {
        while (ends[out] <= b->first[row->bar_at + i])
            out++, alive--;
        most = ++alive > most ? alive : most;
    }
    psc_free(ends);
    row->depth = (uint16_t)(most < DEPTH_MAX ? most : DEPTH_MAX);
    return true;
}

static bool add_row(struct build *b, uint32_t buffer)
{
    struct psc_scene *s = b->scene;
    struct psc_scene_row *row = &b->rows[s->row_n];
    *row = (struct psc_scene_row){.buffer = buffer, .buffer2 = PSC_NONE, .lane = s->lane_n, .layer = -1, .depth = 1,
                                  .bytes = b->story->buffers[buffer].bytes,
                                  .bar_at = b->history->buffer_at[buffer],
                                  .bar_end = b->history->buffer_at[buffer + 1]};
    b->row_of_buffer[buffer] = s->row_n++;
    return measure_row(b, row);
}

static bool in_lane(const struct psc_buffer *buffer, enum psc_lane_kind kind, uint8_t backend)
{
    if (kind == PSC_LANE_KV)
        return buffer->role == PSC_ROLE_PERSISTENT;
    if (buffer->backend != backend)
        return false;
    return kind == PSC_LANE_STAGING ? buffer->role == PSC_ROLE_STAGING
                                    : buffer->role != PSC_ROLE_STAGING && buffer->role != PSC_ROLE_PERSISTENT;
}

static void close_lane(struct build *b, enum psc_lane_kind kind, uint8_t backend, uint32_t row_at)
{
    struct psc_scene *s = b->scene;
    if (s->row_n == row_at)
        return;
    const char *name = backend < b->story->backend_n ? b->story->backends[backend] : NULL;
    struct psc_scene_lane *lane = &b->lanes[s->lane_n++];
    *lane = (struct psc_scene_lane){.kind = kind, .backend = backend, .row_at = row_at, .row_n = s->row_n - row_at};
    lane->name = kind == PSC_LANE_KV ? "KV" : lane_name(b, backend, kind == PSC_LANE_STAGING ? "staging" : "pool");
    lane->colour = kind == PSC_LANE_KV ? PSC_COL_LANE_KV
                   : kind == PSC_LANE_STAGING ? PSC_COL_STAGE_EDGE : psc_lane_colour(name);
}

static bool add_lane(struct build *b, enum psc_lane_kind kind, uint8_t backend)
{
    uint32_t row_at = b->scene->row_n;
    for (uint32_t i = 0; i < b->story->buffer_n; i++)
        if (in_lane(&b->story->buffers[i], kind, backend) && !add_row(b, i))
            return false;
    close_lane(b, kind, backend, row_at);
    return true;
}

static int32_t layer_of_buffer(const struct build *b, uint32_t buffer)
{
    int layer = -1;
    const char *name = b->story->buffers[buffer].name;
    if (name && sscanf(name, "kv.%d.", &layer) == 1)
        return layer;
    uint32_t at = b->history->buffer_at[buffer];
    return at < b->history->buffer_at[buffer + 1] ? b->story->values[b->history->tenancies[at].value].layer : -1;
}

/* K and V of a layer share a row. */
static bool add_kv_lane(struct build *b)
{
    struct psc_scene *s = b->scene;
    uint32_t row_at = s->row_n;
    for (uint32_t i = 0; i < b->story->buffer_n; i++) {
        if (b->story->buffers[i].role != PSC_ROLE_PERSISTENT)
            continue;
        int32_t layer = layer_of_buffer(b, i);
        struct psc_scene_row *before = s->row_n > row_at ? &b->rows[s->row_n - 1] : NULL;
        if (before && layer >= 0 && before->layer == layer && before->buffer2 == PSC_NONE) {
            before->buffer2 = i;
            if (b->story->buffers[i].bytes != UINT64_MAX)
                before->bytes += b->story->buffers[i].bytes;
            b->row_of_buffer[i] = s->row_n - 1;
            continue;
        }
        if (!add_row(b, i))
            return false;
        b->rows[s->row_n - 1].layer = layer;
        b->rows[s->row_n - 1].packed = false;
    }
    close_lane(b, PSC_LANE_KV, PSC_BACKEND_NONE, row_at);
    return true;
}

/* The backend with the largest pool comes first. */
static void order_backends(const struct psc_story *story, uint8_t order[256])
{
    uint64_t bytes[256] = {0};
    uint32_t n = story->backend_n < 255 ? story->backend_n : 255;
    for (uint32_t i = 0; i < story->buffer_n; i++)
        if (story->buffers[i].role != PSC_ROLE_STAGING && story->buffers[i].role != PSC_ROLE_PERSISTENT &&
            story->buffers[i].bytes != UINT64_MAX)
            bytes[story->buffers[i].backend] += story->buffers[i].bytes;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && bytes[order[at - 1]] < bytes[i]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
}

static bool build_lanes(struct build *b)
{
    const struct psc_story *story = b->story;
    struct psc_scene *s = b->scene;
    b->lanes = psc_arena_alloc(b->arena, 2 * (size_t)story->backend_n + 3, sizeof *b->lanes);
    b->rows = psc_arena_alloc(b->arena, story->buffer_n + 1u, sizeof *b->rows);
    b->row_of_buffer = psc_arena_alloc(b->arena, story->buffer_n + 1u, sizeof *b->row_of_buffer);
    if (!b->lanes || !b->rows || !b->row_of_buffer)
        return false;
    memset(b->row_of_buffer, 0xff, (story->buffer_n + 1u) * sizeof *b->row_of_buffer);
    /* the first pool has its staging below it, the others above: copies cross one strip between them */
    uint8_t order[256];
    order_backends(story, order);
    for (uint32_t k = 0; k < story->backend_n && k < 255; k++) {
        uint8_t i = order[k];
        enum psc_lane_kind upper = k ? PSC_LANE_STAGING : PSC_LANE_POOL;
        enum psc_lane_kind lower = k ? PSC_LANE_POOL : PSC_LANE_STAGING;
        if (!add_lane(b, upper, i) || !add_lane(b, lower, i))
            return false;
    }
    if (!add_lane(b, PSC_LANE_POOL, PSC_BACKEND_NONE) || !add_kv_lane(b))
        return false;
    s->lanes = b->lanes, s->rows = b->rows, s->row_of_buffer = b->row_of_buffer;
    return true;
}

/* ---- the order: layers and splits ----------------------------------------------------------- */

/* Ops without a layer between two stretches of one layer belong to it. */
static uint32_t join_layers(struct psc_scene_span *spans, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (kept >= 2 && spans[kept - 1].layer < 0 && spans[kept - 2].layer == spans[i].layer) {
            kept--;
            spans[kept - 1].last = spans[i].last;
        } else {
            spans[kept++] = spans[i];
        }
    }
    return kept;
}

static bool build_spans(struct build *b)
{
    struct psc_scene *s = b->scene;
    const struct psc_graph *g = s->source.graph;
    if (!g || !s->n)
        return true;
    uint32_t layer_n = 0, split_n = 0;
    for (int pass = 0; pass < 2; pass++) {
        struct psc_scene_span *layers = NULL, *splits = NULL;
        int32_t *gaps = NULL;
        if (pass) {
            layers = psc_arena_alloc(b->arena, layer_n + 1u, sizeof *layers);
            splits = psc_arena_alloc(b->arena, split_n + 1u, sizeof *splits);
            gaps = psc_arena_alloc(b->arena, split_n + 1u, sizeof *gaps);
            if (!layers || !splits || !gaps)
                return false;
        }
        uint8_t backend = PSC_BACKEND_NONE;
        int32_t layer = -2;
        layer_n = split_n = 0;
        for (int32_t p = 0; p < s->n; p++) {
            psc_node node = psc_scene_node_at(s, p);
            const struct psc_node_info *info = node == PSC_NONE ? NULL : &g->nodes[node];
            int32_t new_layer = info ? info->layer : -1;
            uint8_t new_backend = info && info->backend != PSC_BACKEND_NONE ? info->backend : backend;
            if (new_layer != layer || !p) {
                if (pass)
                    layers[layer_n] = (struct psc_scene_span){.first = p, .layer = new_layer};
                layer_n++;
            }
            if (new_backend != backend || !p) {
                if (pass) {
                    splits[split_n] = (struct psc_scene_span){.first = p, .backend = new_backend, .layer = -1};
                    if (split_n)
                        gaps[split_n - 1] = p;
                }
                split_n++;
            }
            if (pass)
                layers[layer_n - 1].last = splits[split_n - 1].last = p;
            layer = new_layer, backend = new_backend;
        }
        if (pass)
            layer_n = join_layers(layers, layer_n);
        s->layers = layers, s->splits = splits, s->gaps = gaps;
    }
    if (layer_n == 1 && s->layers[0].layer < 0)
        layer_n = 0; /* a graph without layers */
    s->layer_n = layer_n, s->split_n = split_n, s->gap_n = split_n - 1;
    return true;
}

/* ---- copies --------------------------------------------------------------------------------- */

static uint32_t bar_of_value(const struct build *b, uint32_t value)
{
    return value < b->story->value_n ? psc_history_of_value(b->history, value) : PSC_NONE;
}

static bool build_copies(struct build *b)
{
    const struct psc_story *story = b->story;
    struct psc_scene *s = b->scene;
    uint32_t n = 0;
    for (uint32_t i = 0; i < story->event_n; i++)
        n += story->events[i].kind == PSC_EV_ENQUEUE;
    if (!n)
        return true;
    struct psc_scene_copy *copies = psc_arena_alloc(b->arena, n, sizeof *copies);
    uint32_t *copy_of_event = psc_alloc(((size_t)story->event_n + 1) * sizeof *copy_of_event);
    if (!copies || !copy_of_event) {
        psc_free(copy_of_event);
        return false;
    }
    n = 0;
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        copy_of_event[i] = PSC_NONE;
        if (e->kind == PSC_EV_ENQUEUE) {
            copy_of_event[i] = n;
            struct psc_scene_copy *c = &copies[n++];
            *c = (struct psc_scene_copy){.source_bar = bar_of_value(b, e->peer), .source_row = PSC_NONE,
                                         .staging_bar = bar_of_value(b, e->value), .staging_row = PSC_NONE,
                                         .bytes = e->hi - e->lo, .enqueue = e->position, .wait = e->position};
            if (c->source_bar != PSC_NONE)
                b->flags[c->source_bar] |= PSC_BAR_HELD;
            if (c->source_bar != PSC_NONE)
                c->source_row = b->row_of_buffer[b->history->tenancies[c->source_bar].buffer];
            if (c->staging_bar != PSC_NONE)
                c->staging_row = b->row_of_buffer[b->history->tenancies[c->staging_bar].buffer];
        } else if (e->kind == PSC_EV_WAIT && e->peer < i && copy_of_event[e->peer] != PSC_NONE) {
            copies[copy_of_event[e->peer]].wait = e->position;
        }
    }
    psc_free(copy_of_event);
    s->copies = copies, s->copy_n = n;
    return true;
}

/* ---- usage ---------------------------------------------------------------------------------- */

static bool series_finish(struct build *b, uint64_t *value, struct psc_series *ret)
{
    uint32_t n = (uint32_t)b->scene->n + 2;
    *ret = (struct psc_series){.level = {value}, .n = {n}, .level_n = 1};
    while (n > 16 && ret->level_n < PSC_SERIES_LEVELS) {
        const uint64_t *below = ret->level[ret->level_n - 1];
        uint32_t above_n = (n + 15) / 16;
        uint64_t *above = psc_arena_alloc0(b->arena, above_n, sizeof *above);
        if (!above)
            return false;
        for (uint32_t i = 0; i < n; i++)
            above[i / 16] = below[i] > above[i / 16] ? below[i] : above[i / 16];
        ret->level[ret->level_n] = above;
        ret->n[ret->level_n++] = n = above_n;
    }
    return true;
}

/* Adds [first, end) to a difference array; wraps round below zero until summed. */
static void span_add(uint64_t *delta, int32_t first, int32_t end, uint64_t bytes)
{
    delta[first + 1] += bytes;
    delta[end + 1] -= bytes;
}

static uint64_t *series_new(struct build *b)
{
    return psc_arena_alloc0(b->arena, (size_t)b->scene->n + 3, sizeof(uint64_t));
}

static void series_sum(const struct psc_scene *s, uint64_t *delta)
{
    for (int32_t i = 1; i < s->n + 2; i++)
        delta[i] += delta[i - 1];
}

static bool build_usage(struct build *b)
{
    struct psc_scene *s = b->scene;
    uint64_t *total = series_new(b), *exact = series_new(b);
    if (!total || !exact)
        return false;
    for (uint32_t l = 0; l < s->lane_n; l++) {
        const struct psc_scene_lane *lane = &s->lanes[l];
        if (lane->kind != PSC_LANE_POOL)
            continue;
        uint64_t *mine = series_new(b);
        if (!mine)
            return false;
        for (uint32_t r = lane->row_at; r < lane->row_at + lane->row_n; r++) {
            if (!psc_history_counts(b->story->buffers[s->rows[r].buffer].role))
                continue; /* its owner's: drawn, not counted */
            if (!psc_history_add_used(b->history, s->rows[r].buffer, mine))
                return false;
            for (uint32_t i = s->rows[r].bar_at; i < s->rows[r].bar_end; i++)
                span_add(exact, b->first[i], b->end[i], b->history->tenancies[i].hi - b->history->tenancies[i].lo);
        }
        series_sum(s, mine);
        for (int32_t i = 0; i < s->n + 2; i++)
            total[i] += mine[i];
        if (s->pool_n < 4 && !series_finish(b, mine, &s->pool[s->pool_n++]))
            return false;
    }
    series_sum(s, exact);
    for (int32_t i = 0; i < s->n + 2; i++) {
        if (total[i] > s->peak_bytes)
            s->peak_bytes = total[i], s->peak_at = i - 1;
    }
    return series_finish(b, total, &s->in_use) && series_finish(b, exact, &s->exact);
}

static bool build_counts(struct build *b)
{
    struct psc_scene *s = b->scene;
    uint32_t *writes = psc_arena_alloc0(b->arena, (size_t)s->n + 4, sizeof *writes);
    uint32_t *reads = psc_arena_alloc0(b->arena, (size_t)s->n + 4, sizeof *reads);
    if (!writes || !reads)
        return false;
    for (uint32_t i = 0; i < b->story->event_n; i++) {
        const struct psc_event *e = &b->story->events[i];
        if (e->position < -1 || e->position > s->n)
            continue;
        writes[e->position + 2] += e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE;
        reads[e->position + 2] += e->kind == PSC_EV_READ || e->kind == PSC_EV_ROWS_READ;
    }
    for (int32_t i = 1; i < s->n + 3; i++)
        writes[i] += writes[i - 1], reads[i] += reads[i - 1];
    s->write_n = writes, s->read_n = reads;
    return true;
}

/* ---- findings and records ------------------------------------------------------------------- */

static int by_row_then_position(const void *a, const void *c)
{
    const struct psc_scene_alarm *x = a, *y = c;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->finding < y->finding ? -1 : x->finding > y->finding;
}

/* The bar of a value that covers or comes before a position. */
static uint32_t bar_of_value_at(const struct build *b, uint32_t value, int32_t position)
{
    if (value >= b->story->value_n)
        return PSC_NONE;
    const struct psc_history *h = b->history;
    uint32_t found = PSC_NONE;
    for (uint32_t i = h->value_at[value]; i < h->value_at[value + 1]; i++)
        if (found == PSC_NONE || h->tenancies[h->value_tenancies[i]].first <= position)
            found = h->value_tenancies[i];
    return found;
}

static bool build_alarms(struct build *b)
{
    struct psc_scene *s = b->scene;
    const struct psc_check *check = s->source.check;
    uint32_t *at = psc_arena_alloc0(b->arena, s->row_n + 2u, sizeof *at);
    struct psc_scene_alarm *alarms = psc_arena_alloc(b->arena, check ? check->finding_n + 1u : 1u, sizeof *alarms);
    if (!at || !alarms)
        return false;
    for (uint32_t i = 0; check && i < check->finding_n; i++) {
        const struct psc_finding *f = &check->findings[i];
        uint32_t row = f->buffer < b->story->buffer_n ? b->row_of_buffer[f->buffer] : PSC_NONE;
        if (row == PSC_NONE)
            row = 0;
        if (!s->row_n)
            break;
        uint32_t victim = bar_of_value_at(b, f->victim_value, f->victim_position);
        uint32_t writer = bar_of_value_at(b, f->writer_value, f->position);
        if (victim != PSC_NONE)
            b->flags[victim] |= PSC_BAR_VICTIM;
        if (writer != PSC_NONE)
            b->flags[writer] |= PSC_BAR_WRITER;
        alarms[s->alarm_n++] = (struct psc_scene_alarm){row, i, victim, writer, f->position};
    }
    if (s->alarm_n)
        qsort(alarms, s->alarm_n, sizeof *alarms, by_row_then_position);
    for (uint32_t i = 0; i < s->alarm_n; i++)
        at[alarms[i].row + 1]++;
    for (uint32_t r = 0; r < s->row_n; r++)
        at[r + 1] += at[r];
    s->alarms = alarms, s->alarm_at = at;
    return true;
}

static bool build_records(struct build *b)
{
    struct psc_scene *s = b->scene;
    const struct psc_record_check *records = s->source.records;
    const struct psc_graph *g = s->source.graph;
    if (!records || !records->n || !g)
        return true;
    uint8_t *of_node = psc_alloc0(g->n + 1u, 1), *verdict = psc_arena_alloc0(b->arena, (size_t)s->n + 1, 1);
    if (!of_node || !verdict) {
        psc_free(of_node);
        return false;
    }
    for (uint32_t i = 0; i < records->n; i++)
        if (records->list[i].node < g->n)
            of_node[records->list[i].node] = (uint8_t)(1 + records->list[i].verdict);
    for (int32_t p = 0; p < s->n; p++) {
        psc_node node = psc_scene_node_at(s, p);
        verdict[p] = node == PSC_NONE ? 0 : of_node[node];
    }
    static const uint8_t flag[] = {0, PSC_BAR_OWN, PSC_BAR_OVERWRITTEN, PSC_BAR_UNKNOWN};
    for (uint32_t i = 0; i < s->bar_n; i++) {
        psc_node node = b->story->values[b->history->tenancies[i].value].node;
        if (node < g->n)
            b->flags[i] |= flag[of_node[node] & 3];
    }
    psc_free(of_node);
    s->verdict = verdict;
    return true;
}

static uint32_t weights_count(const struct psc_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; g && i < g->n; i++)
        n += g->nodes[i].params && g->nodes[i].params->weight;
    return n;
}

enum psc_status psc_scene_build(struct psc_arena *arena, const struct psc_scene_source *source,
                                struct psc_scene **ret, struct psc_error *reterr)
{
    struct psc_scene *s = psc_arena_alloc0(arena, 1, sizeof *s);
    if (!s)
        return psc_fail_nomem(reterr);
    s->source = *source;
    s->n = (int32_t)source->story->position_n;
    s->peak_at = -1;
    s->weight_n = weights_count(source->graph);
    struct build b = {.arena = arena, .scene = s, .story = source->story, .history = source->history};
    if (!build_bars(&b) || !build_end_tree(&b) || !build_busy(&b) || !build_lanes(&b) || !build_spans(&b) ||
        !build_copies(&b) || !build_usage(&b) || !build_counts(&b) || !build_alarms(&b) || !build_records(&b))
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_ghosts_build(arena, s, reterr);
    if (!status)
        *ret = s;
    return status;
}
