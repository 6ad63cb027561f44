#include "ui/draw/layout-parts.h"

#include <math.h>

static bool inside(const struct psc_area *a, double x, double y)
{
    return x >= a->x0 && x < a->x1 && y >= a->y0 && y < a->y1;
}

static const struct psc_track *track_at(const struct psc_layout *l, double y)
{
    size_t lo = 0, hi = l->track_n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->tracks[mid].y1 <= y)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->track_n && l->tracks[lo].y0 <= y ? &l->tracks[lo] : NULL;
}

/* First record of a row: records stand in the order of the tracks, which is the order of rows. */
static size_t first_of_row(const struct psc_layout *l, uint32_t row)
{
    size_t lo = 0, hi = l->bar_n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->bars[mid].row < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t nearest_in(const struct psc_scene *s, const struct psc_bar *b, int32_t column)
{
    uint32_t best = b->bar;
    for (uint32_t i = b->bar; i < b->bar + b->count && i < s->bar_n; i++) {
        if (s->first[i] > column)
            break;
        best = i;
    }
    return best;
}

static void hit_row(const struct psc_layout *l, const struct psc_track *p, double x, double y, struct psc_hit *hit)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_row *row = &s->rows[p->row];
    hit->what = PSC_HIT_ROW;
    hit->row = p->row;
    hit->buffer = row->buffer;
    hit->area = (struct psc_area){l->frame.data_x, p->y0, l->frame.data_x + l->frame.data_w, p->y1};
    float y0, y1, foot;
    psc_track_band(l, p, 0, row->bytes, &y0, &y1, &foot);
    double part = y1 > y0 ? (y - y0) / (y1 - y0) : 0;
    hit->byte = row->bytes ? (uint64_t)(fmin(fmax(part, 0), 1) * (double)(row->bytes - 1)) : 0;
    if (x < l->frame.data_x)
        return;
    for (size_t i = 0; i < l->alarm_n; i++) /* few, and first: an alarm wins over what lies under it */
        if (s->alarms[l->alarms[i].alarm].row == p->row && inside(&l->alarms[i].area, x, y))
            hit->alarm = s->alarms[l->alarms[i].alarm].finding;
    const struct psc_bar *found = NULL;
    for (size_t i = first_of_row(l, p->row); i < l->bar_n && l->bars[i].row == p->row; i++) {
        const struct psc_bar *b = &l->bars[i];
        if (x >= b->x0 && x < b->x1 && y >= b->y0 - 1 && y < b->y1 + 1)
            found = b; /* later ones lie on top */
    }
    if (found) {
        hit->what = found->count > 1 ? PSC_HIT_MERGED : PSC_HIT_BAR;
        hit->count = found->count;
        hit->bar = found->count > 1 ? nearest_in(s, found, hit->position) : found->bar;
        hit->area = (struct psc_area){found->x0, found->y0, found->x1, found->y1};
    } else {
        hit->bar = psc_scene_bar_at(s, p->row, hit->position, hit->byte);
        bool dense = false;
        for (size_t i = 0; i < l->cover_n && !dense; i++)
            dense = l->covers[i].row == p->row;
        if (hit->bar != PSC_NONE && dense)
            hit->what = PSC_HIT_BAR;
        else
            hit->bar = PSC_NONE;
    }
    for (size_t i = 0; i < l->ghost_n; i++)
        if (l->ghosts[i].row == p->row && inside(&l->ghosts[i].area, x, y))
            hit->ghost = l->ghosts[i].ghost;
    for (size_t i = 0; i < l->mark_lanes_end; i++) {
        const struct psc_mark *m = &l->marks[i];
        float middle = m->kind == PSC_MARK_WRITE ? m->y + m->size / 2 : m->kind == PSC_MARK_READ ? m->y - m->size / 2 : m->y;
        if (m->row == p->row && fabs(m->x - x) <= m->size / 2 + 1 && fabs(middle - y) <= m->size / 2 + 1)
            *(m->kind == PSC_MARK_OTHERWISE ? &hit->diff : &hit->event) = m->event;
    }
}

struct psc_hit psc_layout_hit(const struct psc_layout *l, double x, double y)
{
    struct psc_hit hit = {.position = PSC_NO_POSITION, .row = PSC_NONE, .buffer = PSC_NONE, .bar = PSC_NONE, .count = 1,
                          .event = PSC_NONE, .alarm = PSC_NONE, .ghost = PSC_NONE, .diff = PSC_NONE};
    const struct psc_frame *f = &l->frame;
    bool data = x >= f->data_x && x < f->data_x + f->data_w;
    if (inside(&f->overview, x, y)) {
        if (!data)
            return hit;
        hit.what = PSC_HIT_OVERVIEW;
        hit.at = psc_axis_position(&l->overview_axis, x, NULL);
        hit.position = psc_axis_column(&l->overview_axis, x);
        double left = psc_axis_at(&l->overview_axis, l->axis.lo), right = psc_axis_at(&l->overview_axis, l->axis.hi);
        if (fabs(x - left) <= 5)
            hit.what = PSC_HIT_HANDLE_LEFT;
        else if (fabs(x - right) <= 5)
            hit.what = PSC_HIT_HANDLE_RIGHT;
        else if (x > left && x < right)
            hit.what = PSC_HIT_WINDOW;
        for (size_t i = 0; i < l->tick_n; i++)
            if (inside(&l->ticks[i].area, x, y))
                hit.alarm = l->scene->alarms[l->ticks[i].alarm].finding;
        return hit;
    }
    if (data) {
        hit.at = psc_axis_position(&l->axis, x, &hit.in_gap);
        hit.position = psc_axis_column(&l->axis, x);
    }
    if (inside(&f->ruler, x, y)) {
        hit.what = data ? PSC_HIT_RULER : PSC_HIT_GUTTER;
    } else if (inside(&f->usage, x, y)) {
        hit.what = data ? PSC_HIT_USAGE : PSC_HIT_GUTTER;
    } else if (inside(&f->lanes, x, y)) {
        const struct psc_track *p = track_at(l, y);
        if (p && p->kind == PSC_TRACK_ROW) {
            hit_row(l, p, x, y, &hit);
            if (!data)
                hit.what = PSC_HIT_GUTTER;
        } else if (p && p->kind == PSC_TRACK_FOLD) {
            hit.what = PSC_HIT_FOLD;
            hit.row = p->row;
            hit.area = (struct psc_area){0, p->y0, f->data_x + f->data_w, p->y1};
        }
    }
    return hit;
}
