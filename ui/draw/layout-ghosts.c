/* The plan over the record: dashed outlines of bars that were to lie elsewhere, and a sign where the run did otherwise. */
#include "ui/draw/ghosts.h"
#include "ui/draw/layout-parts.h"

#include "core/base/mem.h"

#include <math.h>

#define SMALL  8.0f /* px: narrower outlines that follow each other closely become one */
#define CLOSE  2.5f
#define APART 11.0f /* px between two signs of a row */

static float left_of(const struct psc_layout *l, int32_t column)
{
    double x = column < 0 ? psc_axis_right(&l->axis, column) - 3 : psc_axis_left(&l->axis, column);
    return (float)fmax(floor(x + 0.5), l->frame.data_x - 3);
}

static float right_of(const struct psc_layout *l, int32_t column)
{
    double most = l->frame.data_x + l->frame.data_w + 3;
    return (float)fmin(floor(psc_axis_right(&l->axis, column) + 0.5), most);
}

/* First ghost from `from` on that begins at this column or after it. */
static uint32_t first_from(const struct psc_ghosts *g, uint32_t from, uint32_t end, double column)
{
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (g->list[middle].first < column)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

static uint32_t first_alive(const struct psc_ghosts *g, uint32_t from, uint32_t end, double after)
{
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (g->reach[middle] <= after)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

static void put(struct psc_layout *l, const struct psc_ghost_box *box)
{
    if (!box->count)
        return;
    if (!psc_grow(&l->ghosts, l->ghost_n + 1, &l->ghost_cap, sizeof *l->ghosts))
        l->failed = true;
    else
        l->ghosts[l->ghost_n++] = *box;
}

static void row_ghosts(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_ghosts *g = l->scene->ghosts;
    const struct psc_scene_row *row = &l->scene->rows[track->row];
    uint32_t end = g->at[track->row + 1];
    struct psc_ghost_box box = {.count = 0};
    for (uint32_t i = first_alive(g, g->at[track->row], end, l->axis.lo); i < end && g->list[i].first < l->axis.hi; i++) {
        const struct psc_ghost *ghost = &g->list[i];
        if (ghost->end <= l->axis.lo)
            continue;
        struct psc_ghost_box next = {.ghost = i, .row = track->row, .count = 1};
        float foot;
        next.area.x0 = left_of(l, ghost->first);
        next.area.x1 = fmaxf(right_of(l, ghost->end - 1), next.area.x0 + 3);
        psc_track_band(l, track, ghost->lo, ghost->hi, &next.area.y0, &next.area.y1, &foot);
        bool small = !row->packed && next.area.x1 - next.area.x0 < SMALL;
        if (small && box.count && next.area.x0 - box.area.x1 < CLOSE) {
            box.area.x1 = fmaxf(box.area.x1, next.area.x1);
            box.area.y1 = fmaxf(box.area.y1, next.area.y1);
            box.count++;
        } else {
            put(l, &box);
            box = next;
        }
        if (!small)
            put(l, &box), box.count = 0;
        /* Of many that begin in one pixel the last is as good as all: tenants of a buffer follow each other. */
        uint32_t far = row->packed ? i : first_from(g, i + 1, end, psc_axis_position(&l->axis, next.area.x0 + 1, NULL));
        if (far > i + 2) {
            box.count += box.count ? far - i - 2 : 0;
            i = far - 2;
        }
    }
    put(l, &box);
}

static uint32_t first_mark(const struct psc_ghosts *g, uint32_t from, uint32_t end, double position)
{
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (g->marks[middle].position < position)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* Beside the access mark, which stands in the middle of its column. */
static double sign_at(const struct psc_layout *l, int32_t position)
{
    double left = l->frame.data_x, right = left + l->frame.data_w;
    double x = l->axis.op >= PSC_MARK_OP ? psc_axis_left(&l->axis, position) + 5 : psc_axis_middle(&l->axis, position);
    return fmin(fmax(x, left + 5), right - 5);
}

static void row_signs(struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_ghosts *g = l->scene->ghosts;
    uint32_t end = first_mark(g, g->mark_at[track->row], g->mark_at[track->row + 1], l->axis.hi);
    float height = track->y1 - track->y0;
    for (uint32_t i = first_mark(g, g->mark_at[track->row], end, floor(l->axis.lo)); i < end;) {
        double x = sign_at(l, g->marks[i].position);
        struct psc_mark *m = psc_put_mark(l, PSC_MARK_OTHERWISE, x, floorf((track->y0 + track->y1) / 2), fminf(11, fmaxf(height, 4)));
        uint32_t next = first_mark(g, i + 1, end, psc_axis_position(&l->axis, x + APART, NULL));
        if (m)
            m->event = g->marks[i].diff, m->row = track->row, m->position = g->marks[i].position, m->count = next - i;
        i = next;
    }
}

void psc_layout_ghosts(struct psc_layout *l)
{
    if (!l->scene->ghosts || !l->view.ghosts)
        return;
    for (size_t i = 0; i < l->track_n; i++) {
        const struct psc_track *t = &l->tracks[i];
        bool seen = t->kind == PSC_TRACK_ROW && t->y1 > t->y0 && t->y1 > l->frame.lanes.y0 && t->y0 < l->frame.lanes.y1;
        if (!seen)
            continue;
        row_ghosts(l, t);
        row_signs(l, t);
    }
}

/* In the overview a tick a pixel column where the run did otherwise: none is thinned away. */
void psc_layout_ghost_ticks(struct psc_layout *l)
{
    const struct psc_ghosts *g = l->scene->ghosts;
    const struct psc_area *a = &l->frame.overview;
    float last = -1e9f;
    if (!g || !l->view.ghosts || a->y1 <= a->y0)
        return;
    for (uint32_t i = 0; i < g->position_n; i++) {
        float x = floorf((float)psc_axis_middle(&l->overview_axis, g->positions[i]));
        if (x < last + 1)
            continue;
        psc_put_fill(l, x - 1, a->y1 - 5, x + 1, a->y1, PSC_COL_INK);
        last = x;
    }
}
