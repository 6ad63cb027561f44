#include "ui/draw/layout-parts.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>

#define PENDING_PART 150     /* of 255: how much of a bar that is only enqueued is taken away */
#define THICK_BYTES (1u << 20) /* copies from 1 MiB on are drawn thick */

static void put_hold(struct psc_layout *l, float x0, float y0, float x1, float y1, enum psc_colour colour,
                     enum psc_pattern pattern, enum psc_colour pattern_colour)
{
    x0 = fmaxf(x0, l->frame.data_x), x1 = fminf(x1, l->frame.data_x + l->frame.data_w);
    if (x1 <= x0 || y1 <= y0)
        return;
    if (!psc_grow(&l->holds, l->hold_n + 1, &l->hold_cap, sizeof *l->holds)) {
        l->failed = true;
        return;
    }
    l->holds[l->hold_n++] = (struct psc_fill){{x0, y0, x1, y1}, (uint8_t)colour, (uint8_t)pattern, (uint8_t)pattern_colour, 255};
}

static bool band_of(const struct psc_layout *l, uint32_t row, uint32_t bar, float *y0, float *y1)
{
    const struct psc_track *p = row == PSC_NONE ? NULL : psc_layout_track(l, row);
    if (!p || bar == PSC_NONE)
        return false;
    const struct psc_tenancy *t = &l->scene->source.history->tenancies[bar];
    float foot;
    psc_track_band(l, p, t->lo, t->hi, y0, y1, &foot);
    return true;
}

/* A queued copy: line in the gap, ghost until the wait, thick edge at the wait, stripes on its source. */
static void one_copy(struct psc_layout *l, uint32_t index, uint32_t slot)
{
    const struct psc_scene_copy *c = &l->scene->copies[index];
    float sy0, sy1, ty0, ty1;
    bool source = band_of(l, c->source_row, c->source_bar, &sy0, &sy1);
    bool target = band_of(l, c->staging_row, c->staging_bar, &ty0, &ty1);
    float enqueue = (float)psc_axis_left(&l->axis, c->enqueue), gap = enqueue - (float)l->axis.gap;
    float wait = (float)psc_axis_left(&l->axis, c->wait), room = (float)l->axis.gap;
    float x = gap + room * 0.18f + fminf(8, room / 8) * (float)(slot % 4);
    if (source)
        put_hold(l, gap, sy0 + 1, wait, sy1 - 1, PSC_COL_STAGE_FILL, PSC_STRIPES, PSC_COL_COPY_LINE);
    if (!target)
        return;
    float box = enqueue - room * 0.55f + fminf(8, room / 8) * (float)(slot % 4) * 0.4f;
    if (ty1 - ty0 >= 7 && box >= l->frame.data_x - 200) {
        put_hold(l, box, ty0, wait, ty1, PSC_COL_CANVAS, PSC_STRIPES, PSC_COL_STAGE_EDGE);
        put_hold(l, wait - 1, ty0 - 1, wait + 2, ty1 + 1, PSC_COL_STAGE_EDGE, PSC_SOLID, PSC_COL_NONE);
        if (box >= l->frame.data_x && l->axis.gap >= 20) {
            struct psc_mark *m = psc_put_mark(l, PSC_MARK_COPY, box, (ty0 + ty1) / 2, 10);
            if (m)
                m->row = c->staging_row, m->position = c->enqueue;
        }
    }
    if (source && !l->view.hide_copies && l->axis.gap >= 14 && x >= l->frame.data_x && x <= l->frame.data_x + l->frame.data_w) {
        if (!psc_grow(&l->copy_lines, l->copy_line_n + 1, &l->copy_line_cap, sizeof *l->copy_lines)) {
            l->failed = true;
            return;
        }
        l->copy_lines[l->copy_line_n++] = (struct psc_copy_line){x, (sy0 + sy1) / 2, box, (ty0 + ty1) / 2,
                                                                 c->bytes >= THICK_BYTES ? 4 : 2, index};
    }
}

/* "3 copies, 1.93 MiB" in the strip between the lanes, one for each boundary. */
static void boundary_text(struct psc_layout *l, uint32_t first, uint32_t n)
{
    const struct psc_scene *s = l->scene;
    uint64_t bytes = 0;
    for (uint32_t i = first; i < first + n; i++)
        bytes += s->copies[i].bytes;
    char text[64], size[24];
    psc_bytes_text(bytes, size, sizeof size);
    if (n == 1)
        snprintf(text, sizeof text, "%s", size);
    else
        snprintf(text, sizeof text, "%u copies \xc2\xb7 %s", n, size);
    double x = psc_axis_left(&l->axis, s->copies[first].enqueue) + 6, width = psc_text_width(l, PSC_FONT_AXIS_BOLD, text);
    double next = x + width + 12;
    for (uint32_t i = l->axis.gap_at; i < l->axis.gap_end; i++)
        if (s->gaps[i] > s->copies[first].enqueue) {
            next = psc_axis_left(&l->axis, s->gaps[i]) - l->axis.gap;
            break;
        }
    if (x < l->frame.data_x || x + width + 10 > fmin(next + l->axis.gap, l->frame.data_x + l->frame.data_w))
        return;
    for (size_t i = 0; i < l->track_n; i++) {
        if (l->tracks[i].kind != PSC_TRACK_STRIP)
            continue;
        struct psc_label *label = psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_LEFT, PSC_COL_INK, text, x + 6,
                                                (l->tracks[i].y0 + l->tracks[i].y1) / 2);
        if (label)
            label->ground = PSC_COL_CANVAS, label->frame = PSC_COL_COPY_LINE;
        break;
    }
}

/* ---- kernels in a queue ------------------------------------------------------------------------------ */

void psc_layout_pending(struct psc_layout *l, const struct psc_bar *bar)
{
    const struct psc_scene *s = l->scene;
    int32_t first = s->first[bar->bar];
    const struct psc_queued *q = psc_story_queued_at(s->source.story, first);
    uint8_t backend = s->source.story->buffers[s->source.history->tenancies[bar->bar].buffer].backend;
    bool pool = s->lanes[s->rows[bar->row].lane].kind == PSC_LANE_POOL;
    if (!q || !pool || bar->count > 1 || bar->edge & PSC_EDGE_ALARM || s->source.story->lanes[q->lane].backend != backend)
        return;
    float done = (float)psc_axis_left(&l->axis, (int32_t)q->done);
    size_t n = l->hold_n;
    put_hold(l, bar->x0, bar->y0, fminf(bar->x1, done), bar->y1, PSC_COL_CANVAS, PSC_SOLID, PSC_COL_ACT_EDGE);
    if (l->hold_n > n)
        l->holds[n].part = PENDING_PART;
}

/* First position in view, or the one from which something that is still on its way there was enqueued. */
static int32_t first_pending(const struct psc_layout *l)
{
    const struct psc_story *story = l->scene->source.story;
    int32_t from = (int32_t)floor(l->axis.lo);
    for (uint32_t i = 0; i < story->queued_n && (int32_t)story->queued[i].first < from; i++)
        if ((double)story->queued[i].done > l->axis.lo)
            from = (int32_t)story->queued[i].first;
    return from;
}

void psc_layout_pending_rows(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene *s = l->scene;
    const struct psc_history *h = s->source.history;
    const struct psc_story *story = s->source.story;
    uint32_t buffer = s->rows[track->row].buffer; /* V is written with K */
    float height = track->y1 - track->y0, inset = track->compact ? 0 : floorf(height / 4);
    int32_t from = first_pending(l);
    for (uint32_t i = psc_layout_first_access(l, buffer, from); i < h->access_at[buffer + 1]; i++) {
        const struct psc_event *e = &story->events[h->accesses[i]];
        const struct psc_queued *q = e->kind == PSC_EV_ROWS_WRITE ? psc_story_queued_at(story, e->position) : NULL;
        if (e->position >= l->axis.hi)
            break;
        if (!q || (int32_t)q->done <= e->position || story->lanes[q->lane].backend != story->buffers[buffer].backend)
            continue;
        float done = (float)psc_axis_left(&l->axis, (int32_t)q->done), y0 = track->y0 + inset, y1 = track->y1 - inset;
        size_t n = l->hold_n;
        put_hold(l, (float)psc_axis_left(&l->axis, e->position), y0, done, y1, PSC_COL_CANVAS, PSC_SOLID, PSC_COL_KV_EDGE);
        if (l->hold_n > n)
            l->holds[n].part = PENDING_PART;
        if (!track->compact)
            put_hold(l, done - 1, y0, done + 2, y1, PSC_COL_STAGE_EDGE, PSC_SOLID, PSC_COL_NONE);
    }
}

/* Where the host has waited for a queue: an edge over all rows of its backend. */
static void one_wait(struct psc_layout *l, const struct psc_queued *q)
{
    const struct psc_scene *s = l->scene;
    uint8_t backend = s->source.story->lanes[q->lane].backend;
    float x = (float)psc_axis_left(&l->axis, (int32_t)q->done), y0 = 0, y1 = 0;
    for (size_t i = 0; i < l->track_n; i++) {
        const struct psc_track *t = &l->tracks[i];
        bool rows = t->kind == PSC_TRACK_ROW || t->kind == PSC_TRACK_FOLD;
        const struct psc_scene_lane *lane = rows ? &s->lanes[s->rows[t->row].lane] : NULL;
        if (!lane || lane->kind != PSC_LANE_POOL || lane->backend != backend || t->y1 <= t->y0)
            continue;
        y0 = y1 > y0 ? y0 : t->y0;
        y1 = t->y1;
    }
    put_hold(l, x - 1, y0, x + 2, y1, PSC_COL_STAGE_EDGE, PSC_SOLID, PSC_COL_NONE);
}

static void waits(struct psc_layout *l)
{
    const struct psc_story *story = l->scene->source.story;
    float last = -10;
    for (uint32_t i = 0; i < story->queued_n; i++) {
        float x = (float)psc_axis_left(&l->axis, (int32_t)story->queued[i].done);
        if (story->queued[i].done < l->axis.lo || story->queued[i].done > l->axis.hi || fabsf(x - last) < 1)
            continue; /* out of sight, or at the same place */
        one_wait(l, &story->queued[i]);
        last = x;
    }
}

void psc_layout_copies(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    waits(l);
    uint32_t i = psc_scene_first_copy(s, l->axis.lo - 64); /* an earlier one may still be pending */
    while (i < s->copy_n && s->copies[i].enqueue < l->axis.hi + 1) {
        uint32_t first = i;
        for (; i < s->copy_n && s->copies[i].enqueue == s->copies[first].enqueue; i++)
            if (l->axis.gap >= 10)
                one_copy(l, i, i - first);
        boundary_text(l, first, i - first);
    }
}
