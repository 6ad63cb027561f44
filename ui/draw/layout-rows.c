#include "ui/draw/layout-parts.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MERGE_BAR   8.0f /* px: bars narrower than this ... */
#define MERGE_GAP   2.5f /* ... and closer than this merge ... */
#define MERGE_MAX  24.0f /* ... up to a mark of this width, so that density stays visible */
#define BARS_MAX   5000u /* bars in view from which rows turn into coverage earlier */
#define SIGN_WIDTH 13.0f
#define ENDS_MOST  64u   /* fills and reads of the host that an arena shows, where marks are merged */

static enum psc_bar_style style_of(const struct psc_layout *l, const struct psc_scene_row *row, uint32_t bar)
{
    uint16_t flags = l->scene->flags[bar];
    enum psc_lane_kind lane = l->scene->lanes[row->lane].kind;
    if (lane == PSC_LANE_KV)
        return PSC_STYLE_KV;
    if (l->view.colour == PSC_BY_RECORD && lane == PSC_LANE_POOL) {
        if (flags & PSC_BAR_OWN)
            return flags & PSC_BAR_PINNED ? PSC_STYLE_PINNED : PSC_STYLE_OWN;
        return flags & (PSC_BAR_OVERWRITTEN | PSC_BAR_UNKNOWN) ? PSC_STYLE_OVERWRITTEN : PSC_STYLE_UNRECORDED;
    }
    if (flags & PSC_BAR_PINNED)
        return PSC_STYLE_PINNED;
    return lane == PSC_LANE_STAGING ? PSC_STYLE_STAGING : PSC_STYLE_ACTIVATION;
}

static uint8_t sign_of(const struct psc_layout *l, uint32_t bar)
{
    uint16_t flags = l->scene->flags[bar];
    if (l->view.colour != PSC_BY_RECORD)
        return 0;
    return flags & PSC_BAR_OWN ? 1 + PSC_RECORD_OWN : flags & PSC_BAR_OVERWRITTEN ? 1 + PSC_RECORD_OVERWRITTEN
           : flags & PSC_BAR_UNKNOWN ? 1 + PSC_RECORD_UNKNOWN : 0;
}

/* Columns first .. end - 1 in px, cut a little outside the data area. */
static void bar_span(const struct psc_layout *l, uint32_t bar, float *x0, float *x1, uint8_t *edge)
{
    int32_t first = l->scene->first[bar];
    double left = floor(first < 0 ? psc_axis_right(&l->axis, first) - 3 : psc_axis_left(&l->axis, first) + 0.5);
    double right = floor(psc_axis_right(&l->axis, l->scene->end[bar] - 1) + 0.5);
    double low = l->frame.data_x, high = low + l->frame.data_w;
    if (left < low - 2)
        left = low - 2, *edge |= PSC_EDGE_CUT_LEFT;
    if (right > high + 2)
        right = high + 2, *edge |= PSC_EDGE_CUT_RIGHT;
    *x0 = (float)left;
    *x1 = (float)fmax(right, left + 3);
}

/* ---- bars ----------------------------------------------------------------------------------- */

static void put_row_bar(struct psc_layout *l, const struct psc_track *track, uint32_t bar, float x0, float x1,
                        uint8_t edge, uint32_t count)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_row *row = &s->rows[track->row];
    const struct psc_tenancy *t = &s->source.history->tenancies[bar];
    struct psc_bar *b = psc_put_bar(l);
    if (!b)
        return;
    psc_track_band(l, track, t->lo, t->hi, &b->y0, &b->y1, &b->foot);
    b->x0 = x0, b->x1 = x1;
    b->row = track->row, b->bar = bar, b->count = count;
    b->style = (uint8_t)style_of(l, row, bar);
    b->sign = sign_of(l, bar);
    b->edge = edge;
    uint16_t flags = s->flags[bar];
    if (count > 1 || flags & PSC_BAR_PINNED)
        b->foot = b->y1;
    /* a sign keeps clear of the write mark in the middle of the first column */
    if (count > 1 || (l->axis.op >= PSC_MARK_OP && l->axis.op < 40 && b->foot - b->y0 < 44))
        b->sign = 0;
    if (count > 1)
        return;
    if (flags & (PSC_BAR_VICTIM | PSC_BAR_WRITER))
        b->edge |= PSC_EDGE_ALARM;
    if (l->axis.op < PSC_MARK_OP)
        return; /* seams and stitches need room */
    if ((flags & PSC_BAR_NEXT) && s->end[bar] == s->first[t->next_version])
        b->edge |= PSC_EDGE_SEAM_RIGHT;
    if ((flags & PSC_BAR_PREV) && s->end[t->prev_version] == s->first[bar])
        b->edge |= PSC_EDGE_SEAM_LEFT;
    if (bar > row->bar_at && !row->packed && !(flags & PSC_BAR_PREV) && s->end[bar - 1] == s->first[bar])
        b->edge |= PSC_EDGE_STITCH;
}

struct group { /* bars waiting to be merged */
    uint32_t bar, count;
    float x0, x1;
    uint8_t edge, style;
};

/* A bar, and what of it was only enqueued. */
static void put_whole_bar(struct psc_layout *l, const struct psc_track *track, uint32_t bar, float x0, float x1, uint8_t edge,
                          uint32_t count)
{
    size_t n = l->bar_n;
    put_row_bar(l, track, bar, x0, x1, edge, count);
    if (l->bar_n > n && l->scene->source.story->queued_n)
        psc_layout_pending(l, &l->bars[n]);
}

static void flush(struct psc_layout *l, const struct psc_track *track, struct group *g)
{
    if (g->count)
        put_whole_bar(l, track, g->bar, g->x0, g->x1, g->edge, g->count);
    g->count = 0;
}

static void row_bars(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_row *row = &s->rows[track->row];
    struct group g = {0};
    for (uint32_t bar = psc_scene_next_alive(s, row, row->bar_at, l->axis.lo);
         bar < row->bar_end && s->first[bar] < l->axis.hi; bar = psc_scene_next_alive(s, row, bar + 1, l->axis.lo)) {
        float x0, x1;
        uint8_t edge = 0;
        bar_span(l, bar, &x0, &x1, &edge);
        bool small = x1 - x0 < MERGE_BAR && !row->packed && !(s->flags[bar] & (PSC_BAR_VICTIM | PSC_BAR_WRITER));
        uint8_t style = (uint8_t)style_of(l, row, bar);
        if (small && g.count && g.style == style && x0 - g.x1 < MERGE_GAP && x1 - g.x0 < MERGE_MAX) {
            g.x1 = fmaxf(g.x1, x1);
            g.count++;
            continue;
        }
        flush(l, track, &g);
        if (small)
            g = (struct group){bar, 1, x0, x1, edge, style};
        else
            put_whole_bar(l, track, bar, x0, x1, edge, 1);
    }
    flush(l, track, &g);
}

/* ---- coverage ------------------------------------------------------------------------------- */

/* Position at the left side of each pixel column of the data area, one more at the end. */
static bool measure_columns(struct psc_layout *l)
{
    size_t n = (size_t)ceil(l->frame.data_w);
    if (!psc_grow(&l->column, n + 1, &l->column_cap, sizeof *l->column)) {
        l->failed = true;
        return false;
    }
    for (size_t i = 0; i <= n; i++)
        l->column[i] = (float)(psc_axis_position(&l->axis, l->frame.data_x + (double)i, NULL) - l->axis.lo);
    return true;
}

static struct psc_cover *put_cover(struct psc_layout *l, const struct psc_track *track, bool packed)
{
    const struct psc_scene_row *row = &l->scene->rows[track->row];
    float y0, y1, foot;
    psc_track_band(l, track, 0, row->bytes, &y0, &y1, &foot);
    size_t n = (size_t)ceil(l->frame.data_w), lines = packed ? (size_t)ceil(y1 - y0) : 1;
    if ((l->cover_n + 1 > l->cover_cap && !psc_grow(&l->covers, l->cover_n + 1, &l->cover_cap, sizeof *l->covers)) ||
        !psc_grow(&l->cover_bytes, l->cover_byte_n + n * lines, &l->cover_byte_cap, 1)) {
        l->failed = true;
        return NULL;
    }
    struct psc_cover *c = &l->covers[l->cover_n++];
    *c = (struct psc_cover){track->row, l->frame.data_x, y0, y1, (uint32_t)l->cover_byte_n, (uint32_t)n, (uint32_t)lines};
    memset(l->cover_bytes + c->at, 0, n * lines);
    l->cover_byte_n += n * lines;
    return c;
}

static void row_cover(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_row *row = &s->rows[track->row];
    struct psc_cover *c = put_cover(l, track, false);
    if (!c)
        return;
    uint8_t *out = l->cover_bytes + c->at;
    uint32_t hint = row->bar_at;
    double before = psc_scene_busy(s, row, l->axis.lo + l->column[0], &hint);
    for (size_t i = 0; i < c->n; i++) {
        double from = l->column[i], to = l->column[i + 1];
        double after = psc_scene_busy(s, row, l->axis.lo + to, &hint);
        double part = to > from ? (after - before) / (to - from) : 0;
        out[i] = (uint8_t)(part >= 1 ? 255 : part <= 0 ? 0 : 1 + part * 254);
        before = after;
    }
}

static void cover_add(uint8_t *cell, double part)
{
    int sum = *cell + (int)ceil(part * 255);
    *cell = (uint8_t)(sum > 255 ? 255 : sum);
}

/* An arena with many parts: each bar adds the part of each pixel that it takes. Bars do not overlap, so the
 * work is the number of bars and the area of the picture. */
static void packed_cover(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_row *row = &s->rows[track->row];
    struct psc_cover *c = put_cover(l, track, true);
    if (!c)
        return;
    bool straight = l->axis.gap_at == l->axis.gap_end;
    double x_zero = psc_axis_left(&l->axis, 0) - c->x0, unit = (c->y1 - c->y0) / (row->bytes ? (double)row->bytes : 1);
    for (uint32_t bar = psc_scene_next_alive(s, row, row->bar_at, l->axis.lo);
         bar < row->bar_end && s->first[bar] < l->axis.hi; bar = psc_scene_next_alive(s, row, bar + 1, l->axis.lo)) {
        const struct psc_tenancy *t = &s->source.history->tenancies[bar];
        bool plain = straight && s->first[bar] >= 0 && s->end[bar] <= s->n;
        double x0 = plain ? x_zero + s->first[bar] * l->axis.op : psc_axis_left(&l->axis, s->first[bar]) - c->x0;
        double x1 = plain ? x_zero + s->end[bar] * l->axis.op : psc_axis_right(&l->axis, s->end[bar] - 1) - c->x0;
        x0 = fmax(x0, 0), x1 = fmin(x1, c->n);
        uint32_t a = (uint32_t)x0, y = (uint32_t)((double)t->lo * unit + 0.5), low = (uint32_t)((double)t->hi * unit + 0.5);
        low = low <= y ? y + 1 : low;
        for (; y < low && y < c->lines && x0 < x1; y++) {
            uint8_t *line = l->cover_bytes + c->at + (size_t)y * c->n;
            for (uint32_t x = a; x < x1; x++)
                cover_add(&line[x], fmin(x1, x + 1) - fmax(x0, x));
        }
    }
}

/* ---- marks ---------------------------------------------------------------------------------- */

uint32_t psc_layout_first_access(const struct psc_layout *l, uint32_t buffer, double position)
{
    const struct psc_history *h = l->scene->source.history;
    const struct psc_event *events = l->scene->source.story->events;
    uint32_t lo = h->access_at[buffer], hi = h->access_at[buffer + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (events[h->accesses[mid]].position < position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int mark_kind(uint8_t event_kind)
{
    switch (event_kind) {
    case PSC_EV_FILL: return PSC_MARK_FILL;
    case PSC_EV_WRITE: case PSC_EV_ROWS_WRITE: return PSC_MARK_WRITE;
    case PSC_EV_READ: case PSC_EV_ROWS_READ: case PSC_EV_EXPORT: case PSC_EV_HOST_READ: return PSC_MARK_READ;
    default: return -1; /* copies have lines of their own */
    }
}

static void row_marks_of(struct psc_layout *l, const struct psc_track *track, uint32_t buffer)
{
    const struct psc_history *h = l->scene->source.history;
    const struct psc_event *events = l->scene->source.story->events;
    bool kv = l->scene->lanes[l->scene->rows[track->row].lane].kind == PSC_LANE_KV;
    float height = track->y1 - track->y0, size = height >= 21 ? 11 : height >= 16 ? 9 : 7;
    for (uint32_t i = psc_layout_first_access(l, buffer, floor(l->axis.lo)); i < h->access_at[buffer + 1]; i++) {
        const struct psc_event *e = &events[h->accesses[i]];
        if (e->position >= l->axis.hi)
            break;
        int kind = mark_kind(e->kind);
        if (kind < 0)
            continue;
        struct psc_mark *last = l->mark_n ? &l->marks[l->mark_n - 1] : NULL;
        if (last && last->row == track->row && last->position == e->position) {
            const struct psc_event *before = &events[last->event];
            if (kv && kind == (int)last->kind)
                continue; /* K and V of a layer are accessed together */
            if (last->kind == PSC_MARK_READ && kind == PSC_MARK_WRITE && !kv && before->lo < e->hi && e->lo < before->hi) {
                last->kind = PSC_MARK_READWRITE;
                last->y = (track->y0 + track->y1) / 2;
                if (l->scene->rows[track->row].packed) { /* of the bar: the row has many above one another */
                    float top, low, foot;
                    psc_track_band(l, track, e->lo, e->hi, &top, &low, &foot);
                    last->y = (top + low) / 2;
                }
                last->event = h->accesses[i];
                continue;
            }
            if (last->kind == kind && before->lo == e->lo)
                continue; /* the same operand twice */
        }
        float y0, y1, foot;
        psc_track_band(l, track, e->lo, e->hi, &y0, &y1, &foot);
        double x = psc_axis_middle(&l->axis, e->position);
        double y = kind == PSC_MARK_WRITE ? (kv ? y0 + 2 : y0) : kind == PSC_MARK_READ ? (kv ? y1 - 2 : foot) : (y0 + y1) / 2;
        struct psc_mark *m = psc_put_mark(l, (enum psc_mark_kind)kind, x, y, kind == PSC_MARK_FILL ? 6 : size);
        if (m)
            m->event = h->accesses[i], m->row = track->row, m->position = e->position;
    }
}

/* Small squares for the accesses of a row that is a few px high; one a pixel and kind. */
static void compact_marks(struct psc_layout *l, const struct psc_track *track, uint32_t buffer)
{
    const struct psc_history *h = l->scene->source.history;
    const struct psc_event *events = l->scene->source.story->events;
    float last[2] = {-100, -100};
    for (uint32_t i = psc_layout_first_access(l, buffer, floor(l->axis.lo)); i < h->access_at[buffer + 1]; i++) {
        const struct psc_event *e = &events[h->accesses[i]];
        if (e->position >= l->axis.hi)
            break;
        int kind = mark_kind(e->kind);
        if (kind != PSC_MARK_WRITE && kind != PSC_MARK_READ)
            continue;
        bool read = kind == PSC_MARK_READ;
        double x = psc_axis_middle(&l->axis, e->position);
        if (x - last[read] < 4)
            continue;
        last[read] = (float)x;
        struct psc_mark *m = psc_put_mark(l, read ? PSC_MARK_DOT_READ : PSC_MARK_DOT_WRITE, x,
                                          (track->y0 + track->y1) / 2, track->y1 - track->y0);
        if (m)
            m->event = h->accesses[i], m->row = track->row, m->position = e->position;
    }
}

/* In the middle of the row; of a row with many bars above one another, in the middle of the bytes. */
static void end_mark(struct psc_layout *l, const struct psc_track *track, uint32_t access, enum psc_mark_kind kind)
{
    uint32_t event = l->scene->source.history->accesses[access];
    const struct psc_event *e = &l->scene->source.story->events[event];
    bool fill = kind == PSC_MARK_FILL;
    float top = track->y0, low = track->y1, foot;
    if (l->scene->rows[track->row].packed)
        psc_track_band(l, track, e->lo, e->hi, &top, &low, &foot);
    struct psc_mark *m = psc_put_mark(l, kind, psc_axis_middle(&l->axis, e->position), (top + low) / 2 + (fill ? 0 : 4), fill ? 6 : 9);
    if (m)
        m->event = event, m->row = track->row, m->position = e->position;
}

/* Where the other marks are merged, the fill and the host's read at the end still have columns of their own. */
static void end_marks(struct psc_layout *l, const struct psc_track *track, const struct psc_scene_row *row)
{
    const struct psc_history *h = l->scene->source.history;
    const struct psc_event *events = l->scene->source.story->events;
    uint32_t at = h->access_at[row->buffer], end = h->access_at[row->buffer + 1], most = row->packed ? ENDS_MOST : 1;
    for (uint32_t i = at; l->axis.lo < 0 && i < end && i - at < most && events[h->accesses[i]].kind == PSC_EV_FILL; i++)
        end_mark(l, track, i, PSC_MARK_FILL);
    for (uint32_t i = end; l->axis.hi > l->scene->n && i > at && end - i < most && events[h->accesses[i - 1]].kind == PSC_EV_EXPORT; i--)
        end_mark(l, track, i - 1, PSC_MARK_READ);
}

static void row_marks(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene_row *row = &l->scene->rows[track->row];
    if (track->compact) {
        compact_marks(l, track, row->buffer);
        if (row->buffer2 != PSC_NONE)
            compact_marks(l, track, row->buffer2);
    } else if (l->axis.op >= PSC_MARK_OP && track->y1 - track->y0 >= 9) {
        row_marks_of(l, track, row->buffer); /* V's accesses are K's */
    } else if (track->y1 - track->y0 >= 9) {
        end_marks(l, track, row);
    }
}

/* ---- alarms and the row as a whole ---------------------------------------------------------- */

static void row_alarms(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene *s = l->scene;
    const struct psc_check *check = s->source.check;
    for (uint32_t i = s->alarm_at[track->row]; i < s->alarm_at[track->row + 1]; i++) {
        const struct psc_scene_alarm *a = &s->alarms[i];
        int32_t end = check->findings[a->finding].read_position + 1;
        if (a->position >= l->axis.hi || (end > a->position ? end : a->position + 1) <= l->axis.lo)
            continue;
        if (!psc_grow(&l->alarms, l->alarm_n + 1, &l->alarm_cap, sizeof *l->alarms)) {
            l->failed = true;
            return;
        }
        const struct psc_finding *f = &check->findings[a->finding];
        float y0, y1, foot, x = (float)psc_axis_middle(&l->axis, a->position);
        x = fminf(fmaxf(x, l->frame.data_x + 2), l->frame.data_x + l->frame.data_w - 2);
        psc_track_band(l, track, f->lo, f->hi, &y0, &y1, &foot);
        y1 = fmaxf(y1, y0 + 3);
        float half = fmaxf(1.5f, fminf(5, (float)l->axis.op / 2 - 1));
        l->alarms[l->alarm_n++] = (struct psc_alarm_mark){{floorf(x - half), y0, ceilf(x + half), y1}, i};
    }
}

static uint32_t visible_bars(const struct psc_layout *l, const struct psc_scene_row *row)
{
    uint32_t first = psc_scene_next_alive(l->scene, row, row->bar_at, l->axis.lo);
    uint32_t end = psc_scene_next_start(l->scene, row, first, l->axis.hi);
    return end - first;
}

static bool in_sight(const struct psc_layout *l, const struct psc_track *p)
{
    return p->kind == PSC_TRACK_ROW && p->y1 > p->y0 && p->y1 > l->frame.lanes.y0 && p->y0 < l->frame.lanes.y1;
}

static void row_idle(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene_row *row = &l->scene->rows[track->row];
    enum psc_lane_kind kind = l->scene->lanes[row->lane].kind;
    if (track->compact || row->packed || kind != PSC_LANE_POOL || track->y1 - track->y0 < 9 || row->bar_at == row->bar_end)
        return;
    double start = row->first < 0 ? psc_axis_right(&l->axis, -1) : psc_axis_left(&l->axis, row->first);
    float x0 = (float)fmax(start, l->frame.data_x);
    float x1 = (float)fmin(psc_axis_right(&l->axis, l->scene->n), l->frame.data_x + l->frame.data_w);
    if (x1 <= x0)
        return;
    if (psc_is_map_row(l, track))
        psc_put_fill(l, x0, track->y0, x1, track->y1 - 1, PSC_COL_IDLE);
    else if (psc_scene_row_busy(l->scene, row, row->first, row->end))
        psc_put_line(l, x0, floorf((track->y0 + track->y1) / 2) + 0.5f, x1, floorf((track->y0 + track->y1) / 2) + 0.5f, 1,
                     PSC_COL_DIM, PSC_DASH_IDLE);
}

void psc_layout_rows(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    uint64_t total = 0;
    for (size_t i = 0; i < l->track_n; i++)
        if (in_sight(l, &l->tracks[i]))
            total += visible_bars(l, &s->rows[l->tracks[i].row]);
    double most = l->frame.data_w / (total > BARS_MAX ? 12 : 3);
    bool measured = false;
    for (size_t i = 0; i < l->track_n; i++) {
        const struct psc_track *p = &l->tracks[i];
        if (p->kind == PSC_TRACK_ROW && !in_sight(l, p))
            row_alarms(l, p); /* out of sight, but counted */
        if (!in_sight(l, p))
            continue;
        size_t first_bar = l->bar_n, first_mark = l->mark_n;
        const struct psc_scene_row *row = &s->rows[p->row];
        bool dense = visible_bars(l, row) > (row->packed ? BARS_MAX : most);
        if (!dense)
            row_idle(l, p);
        if (dense) {
            if (!measured && !(measured = measure_columns(l)))
                return;
            if (row->packed)
                packed_cover(l, p);
            else
                row_cover(l, p);
            for (uint32_t k = s->alarm_at[p->row]; k < s->alarm_at[p->row + 1]; k++) {
                uint32_t bars[2] = {s->alarms[k].victim_bar, s->alarms[k].writer_bar};
                for (int j = 0; j < 2; j++) {
                    float x0, x1;
                    uint8_t edge = 0;
                    if (bars[j] == PSC_NONE || s->end[bars[j]] <= l->axis.lo || s->first[bars[j]] >= l->axis.hi ||
                        bars[j] < row->bar_at || bars[j] >= row->bar_end)
                        continue;
                    bar_span(l, bars[j], &x0, &x1, &edge);
                    put_row_bar(l, p, bars[j], x0, x1, edge, 1);
                }
            }
        } else {
            row_bars(l, p);
            if (s->source.story->queued_n && s->lanes[row->lane].kind == PSC_LANE_KV)
                psc_layout_pending_rows(l, p);
            row_marks(l, p);
            if (!p->compact && p->y1 - p->y0 >= 12 && p->low <= p->y1 && !l->view.no_text)
                psc_layout_bar_labels(l, first_bar, first_mark);
        }
        row_alarms(l, p);
    }
}
