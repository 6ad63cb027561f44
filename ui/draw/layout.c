#include "ui/draw/layout-parts.h"

#include "core/base/mem.h"

#include <math.h>
#include <string.h>

#define LEAST_BELOW 40.0f /* px of a row that are to be seen under its head */

/* ---- appending ------------------------------------------------------------------------------ */

#define GROW(l, array, n, cap, more)                                                                         \
    ((l)->n + (more) <= (l)->cap || psc_grow(&(l)->array, (l)->n + (more), &(l)->cap, sizeof *(l)->array) || \
     ((l)->failed = true, false))

void psc_put_pattern(struct psc_layout *l, float x0, float y0, float x1, float y1, enum psc_colour colour,
                     enum psc_pattern pattern, enum psc_colour pattern_colour)
{
    if (x1 <= x0 || y1 <= y0 || !GROW(l, fills, fill_n, fill_cap, 1))
        return;
    l->fills[l->fill_n++] = (struct psc_fill){{x0, y0, x1, y1}, (uint8_t)colour, (uint8_t)pattern,
                                              (uint8_t)pattern_colour, 255};
}

void psc_put_fill(struct psc_layout *l, float x0, float y0, float x1, float y1, enum psc_colour colour)
{
    psc_put_pattern(l, x0, y0, x1, y1, colour, PSC_SOLID, PSC_COL_NONE);
}

void psc_put_line(struct psc_layout *l, float x0, float y0, float x1, float y1, float width,
                  enum psc_colour colour, enum psc_dash dash)
{
    if (GROW(l, lines, line_n, line_cap, 1))
        l->lines[l->line_n++] = (struct psc_line){x0, y0, x1, y1, width, (uint8_t)colour, (uint8_t)dash};
}

struct psc_mark *psc_put_mark(struct psc_layout *l, enum psc_mark_kind kind, double x, double y, double size)
{
    if (!GROW(l, marks, mark_n, mark_cap, 1))
        return NULL;
    struct psc_mark *m = &l->marks[l->mark_n++];
    *m = (struct psc_mark){.x = (float)x, .y = (float)y, .size = (float)size, .event = PSC_NONE, .row = PSC_NONE,
                           .count = 1, .position = PSC_NO_POSITION, .kind = (uint8_t)kind};
    return m;
}

struct psc_bar *psc_put_bar(struct psc_layout *l)
{
    if (!GROW(l, bars, bar_n, bar_cap, 1))
        return NULL;
    struct psc_bar *b = &l->bars[l->bar_n++];
    *b = (struct psc_bar){.count = 1};
    return b;
}

double psc_text_width(struct psc_layout *l, enum psc_font font, const char *text)
{
    return l->type ? psc_type_width(l->type, font, text) : psc_type_guess(text);
}

struct psc_label *psc_put_label(struct psc_layout *l, enum psc_font font, enum psc_align align,
                                enum psc_colour colour, const char *text, double x, double y)
{
    size_t n = strlen(text) + 1;
    if (l->view.no_text || n == 1 || !GROW(l, labels, label_n, label_cap, 1) || !GROW(l, text, text_n, text_cap, n))
        return NULL;
    struct psc_label *label = &l->labels[l->label_n++];
    *label = (struct psc_label){.x = (float)x, .y = (float)y, .font = (uint8_t)font, .align = (uint8_t)align,
                                .colour = (uint8_t)colour, .text = (uint32_t)l->text_n};
    label->width = (float)psc_text_width(l, font, text);
    memcpy(l->text + l->text_n, text, n);
    l->text_n += n;
    return label;
}

void psc_put_point(struct psc_layout *l, double x, double y)
{
    if (!GROW(l, points, point_n, point_cap, 2))
        return;
    l->points[l->point_n++] = (float)x;
    l->points[l->point_n++] = (float)y;
}

struct psc_curve *psc_put_curve(struct psc_layout *l, uint32_t at, float base, float width,
                                enum psc_colour colour, enum psc_dash dash)
{
    if (!GROW(l, curves, curve_n, curve_cap, 1))
        return NULL;
    struct psc_curve *c = &l->curves[l->curve_n++];
    *c = (struct psc_curve){.at = at, .n = ((uint32_t)l->point_n - at) / 2, .base = base, .width = width,
                            .colour = (uint8_t)colour, .dash = (uint8_t)dash};
    return c;
}

void psc_layout_release(struct psc_layout *l)
{
    void *blocks[] = {l->tracks, l->fills, l->lines, l->covers, l->cover_bytes, l->bars, l->holds, l->copy_lines,
                      l->marks, l->alarms, l->ticks, l->curves, l->points, l->labels, l->text, l->column, l->ghosts};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        psc_free(blocks[i]);
    *l = (struct psc_layout){0};
}

static void clear(struct psc_layout *l)
{
    l->track_n = l->fill_n = l->line_n = l->cover_n = l->cover_byte_n = l->bar_n = l->hold_n = 0;
    l->copy_line_n = l->ghost_n = l->mark_n = l->alarm_n = l->tick_n = l->curve_n = l->point_n = l->label_n = l->text_n = 0;
    l->peak_label = PSC_NONE;
    l->failed = false;
}

/* ---- frame ---------------------------------------------------------------------------------- */

void psc_view_data_area(const struct psc_view *view, const struct psc_scene *scene, double *ret_x, double *ret_width)
{
    double gutter = view->width < PSC_SMALL_WIDTH ? 92 : scene->pool_n > 1 ? 118 : 112;
    *ret_x = gutter;
    *ret_width = fmax(view->width - gutter, 8);
}

static void make_frame(struct psc_layout *l)
{
    const struct psc_view *v = &l->view;
    const struct psc_scene *s = l->scene;
    struct psc_frame *f = &l->frame;
    double x, width;
    psc_view_data_area(v, s, &x, &width);
    *f = (struct psc_frame){.small = v->width < PSC_SMALL_WIDTH, .strip_x = 0, .gutter_x = 14};
    f->data_x = (float)x, f->data_w = (float)width;
    psc_axis_init(&l->axis, v->lo, v->hi, s->n, x, width, s->gaps, s->gap_n);
    float y = 0, right = (float)v->width, bottom = (float)v->height_px;
    if (!v->hide_overview) {
        float height = s->split_n > 1 ? 56 : f->small ? 46 : 52;
        f->overview = (struct psc_area){0, y, right, y + height};
        y += height;
    }
    f->splits_y = f->layers_y = f->numbers_y = f->names_y = f->records_y = f->merged_y = -1;
    if (!v->hide_ruler) {
        float top = y;
        y += 1;
        if (s->split_n)
            f->splits_y = y, y += 13;
        if (s->layer_n)
            f->layers_y = y, y += 17;
        f->numbers_y = y, y += 14;
        if (l->axis.op >= PSC_NAME_OP && (s->source.graph || s->source.story->titles))
            f->names_y = y, y += 14;
        if (s->verdict)
            f->records_y = y, y += l->axis.op < PSC_MARK_OP ? 17 : 13;
        if (l->axis.op < PSC_MARK_OP && v->mode != PSC_VIEW_USAGE)
            f->merged_y = y + 1, y += 36;
        y += 1;
        f->ruler = (struct psc_area){0, top, right, y};
    }
    float usage = v->hide_usage ? 0 : v->mode == PSC_VIEW_USAGE ? bottom - y : f->small || bottom < 420 ? 56 : 88;
    if (v->mode != PSC_VIEW_USAGE && bottom - y - usage < PSC_LEAST_LANES)
        usage = 0; /* the rows come first; the curve has a view of its own */
    f->usage = (struct psc_area){0, fmaxf(y, bottom - usage), right, bottom};
    f->lanes = (struct psc_area){0, y, right, f->usage.y0};
}

/* ---- tracks --------------------------------------------------------------------------------- */

static struct psc_track *put_track(struct psc_layout *l, enum psc_track_kind kind, uint32_t row, float height)
{
    if (!GROW(l, tracks, track_n, track_cap, 1))
        return NULL;
    struct psc_track *p = &l->tracks[l->track_n++];
    *p = (struct psc_track){.kind = kind, .row = row, .row_n = 1, .y1 = height}; /* y0, y1: stacked later */
    return p;
}

static const struct psc_finding *chosen_finding(const struct psc_layout *l)
{
    const struct psc_check *check = l->scene->source.check;
    return check && l->view.finding < check->finding_n ? &check->findings[l->view.finding] : NULL;
}

static uint32_t finding_row(const struct psc_layout *l)
{
    const struct psc_finding *f = chosen_finding(l);
    return f && f->buffer < l->scene->source.story->buffer_n ? l->scene->row_of_buffer[f->buffer] : PSC_NONE;
}

/* Rows of the KV lane: the layers in view where they are few, else all of them, a few px each. */
static void kv_tracks(struct psc_layout *l, const struct psc_scene_lane *lane)
{
    const struct psc_scene *s = l->scene;
    int32_t from = (int32_t)floor(l->axis.lo), to = (int32_t)ceil(l->axis.hi) - 1, low = INT32_MAX, high = -1;
    uint32_t span = psc_scene_layer_at(s, from < 0 ? 0 : from), shown = 0;
    for (uint32_t i = span == PSC_NONE ? s->layer_n : span; i < s->layer_n && s->layers[i].first <= to; i++) {
        if (s->layers[i].layer < 0)
            continue;
        low = s->layers[i].layer < low ? s->layers[i].layer : low;
        high = s->layers[i].layer > high ? s->layers[i].layer : high;
    }
    for (uint32_t r = lane->row_at; r < lane->row_at + lane->row_n; r++)
        shown += s->rows[r].layer < 0 || (s->rows[r].layer >= low && s->rows[r].layer <= high);
    bool compact = shown > 6;
    float pitch = 4, most = (float)l->view.height_px * 0.14f; /* not of the lanes: their ruler differs from phase to phase */
    if (compact && lane->row_n * pitch > most)
        pitch = fmaxf(2, most / lane->row_n);
    for (uint32_t r = lane->row_at; r < lane->row_at + lane->row_n; r++) {
        if (!compact && s->rows[r].layer >= 0 && (s->rows[r].layer < low || s->rows[r].layer > high))
            continue;
        struct psc_track *p = put_track(l, PSC_TRACK_ROW, r, compact ? pitch : 17);
        if (p)
            p->compact = compact;
    }
}

static bool row_folds(const struct psc_layout *l, uint32_t r, double lo, double hi)
{
    return l->view.fold && !psc_scene_row_busy(l->scene, &l->scene->rows[r], lo, hi) && r != finding_row(l);
}

static void lane_tracks(struct psc_layout *l, const struct psc_scene_lane *lane)
{
    double lo = l->view.fold_lo, hi = l->view.fold_hi;
    if (!(lo < hi))
        lo = l->axis.lo, hi = l->axis.hi;
    bool staging = lane->kind == PSC_LANE_STAGING;
    uint32_t open_n = 0;
    for (uint32_t r = lane->row_at; r < lane->row_at + lane->row_n; r++)
        open_n += !row_folds(l, r, lo, hi);
    bool compact = staging && open_n > 10;
    float least_zoom = (float)fmin(fmax(l->view.y_zoom, 0.6), 1); /* staging rows shrink, but need not grow */
    struct psc_track *fold = NULL;
    for (uint32_t r = lane->row_at; r < lane->row_at + lane->row_n; r++) {
        if (row_folds(l, r, lo, hi)) {
            if (fold && fold->row + fold->row_n == r)
                fold->row_n++;
            else
                fold = put_track(l, PSC_TRACK_FOLD, r, 18);
            continue;
        }
        fold = NULL;
        if (r == finding_row(l))
            put_track(l, PSC_TRACK_HEAD, r, 46);
        struct psc_track *p = put_track(l, PSC_TRACK_ROW, r, staging ? (compact ? fmaxf(2, 72.0f / (float)open_n) : 19 * least_zoom) : 0);
        if (p)
            p->compact = compact;
    }
}

static double map_weight(const struct psc_layout *l, const struct psc_scene_row *row, enum psc_view_height height)
{
    if (l->view.mode != PSC_VIEW_MAP || height == PSC_HEIGHT_EQUAL)
        return row->depth;
    double bytes = row->bytes < 1 ? 1 : (double)row->bytes;
    return height == PSC_HEIGHT_SQRT ? sqrt(bytes) : bytes;
}

static bool is_open_pool(const struct psc_layout *l, const struct psc_track *p)
{
    return p->kind == PSC_TRACK_ROW && l->scene->lanes[l->scene->rows[p->row].lane].kind == PSC_LANE_POOL;
}

/* As high as their bytes, whatever room there is; rows of a few px have no marks and no labels. */
static void exact_heights(struct psc_layout *l)
{
    for (size_t i = 0; i < l->track_n; i++) {
        struct psc_track *p = &l->tracks[i];
        if (!is_open_pool(l, p))
            continue;
        double h = (double)l->scene->rows[p->row].bytes * l->view.px_a_byte * l->view.y_zoom;
        p->y1 = (float)fmax(2, floor(h + 0.5));
    }
}

/* Shares `room` px among the pool rows: proportional to their weight, none under `least` or over `most`. */
static void pool_heights(struct psc_layout *l, double room)
{
    bool map = l->view.mode == PSC_VIEW_MAP;
    enum psc_view_height height = l->view.height;
    double least = map ? (l->frame.small ? 12 : 13) : 17, sum = 0, large = 0, small = INFINITY;
    for (size_t i = 0; i < l->track_n; i++) {
        if (!is_open_pool(l, &l->tracks[i]))
            continue;
        double bytes = (double)l->scene->rows[l->tracks[i].row].bytes;
        large = fmax(large, bytes), small = fmin(small, fmax(bytes, 1));
    }
    if (height == PSC_HEIGHT_AUTO)
        height = large > 50 * small ? PSC_HEIGHT_SQRT : PSC_HEIGHT_LINEAR;
    double most = map && height != PSC_HEIGHT_EQUAL ? INFINITY : 34;
    for (size_t i = 0; i < l->track_n; i++)
        if (is_open_pool(l, &l->tracks[i]))
            sum += map_weight(l, &l->scene->rows[l->tracks[i].row], height);
    /* rows that would be too low are set to the least height; the others share what is left */
    double factor = sum > 0 ? room / sum : 0, locked_below = 0;
    for (int round = 0; round < 16 && map; round++) {
        double left = room, rest = 0, below = factor > 0 ? least / factor : INFINITY;
        if (below <= locked_below)
            break;
        locked_below = below;
        for (size_t i = 0; i < l->track_n; i++) {
            if (!is_open_pool(l, &l->tracks[i]))
                continue;
            double weight = map_weight(l, &l->scene->rows[l->tracks[i].row], height);
            if (weight < below)
                left -= least;
            else
                rest += weight;
        }
        factor = rest > 0 ? fmax(left, 0) / rest : 0;
    }
    uint32_t chosen = finding_row(l);
    for (size_t i = 0; i < l->track_n; i++) {
        struct psc_track *p = &l->tracks[i];
        if (!is_open_pool(l, p))
            continue;
        double depth = l->scene->rows[p->row].depth;
        double h = fmin(fmax(map_weight(l, &l->scene->rows[p->row], height) * factor, least), most * depth);
        if (!map)
            h = fmax(h, fmin(17 * depth, 17 + 8 * (depth - 1)));
        h = fmax(3, h * l->view.y_zoom);
        p->y1 = (float)floor(p->row == chosen ? fmax(h, 104) : h);
    }
}

/* The first track of those that stay: regions outlive a phase, so their place on the picture does too. */
static size_t first_kept(const struct psc_layout *l)
{
    double height = 0, room = l->frame.lanes.y1 - l->frame.lanes.y0;
    size_t i = l->track_n;
    while (i > 0) {
        const struct psc_track *p = &l->tracks[i - 1];
        bool keeps = p->kind == PSC_TRACK_WEIGHTS ||
                     (p->kind == PSC_TRACK_ROW && l->scene->lanes[l->scene->rows[p->row].lane].kind == PSC_LANE_KV);
        if (!keeps)
            break;
        height += p->y1;
        i--;
    }
    bool any = i < l->track_n && l->tracks[i].kind == PSC_TRACK_ROW;
    return any && i > 0 && height <= room * 0.6 ? i : l->track_n;
}

/* Heights become places: from the top, scrolled; those that stay at the bottom, and rows that would lie under them end
 * where they begin. */
static void stack_tracks(struct psc_layout *l)
{
    struct psc_frame *f = &l->frame;
    size_t kept = first_kept(l);
    double y = f->lanes.y0 - floor(l->view.y), low = f->lanes.y1;
    for (size_t i = kept; i < l->track_n; i++)
        low -= l->tracks[i].y1;
    f->kept_y = (float)low;
    for (size_t i = 0; i < l->track_n; i++) {
        struct psc_track *p = &l->tracks[i];
        if (i == kept)
            y = low;
        p->top = p->y0 = (float)y;
        p->low = p->y1 = (float)(y += p->y1);
        if (i >= kept || p->y1 <= low)
            continue;
        bool sliver = low - p->y0 < 6; /* too low to show anything */
        p->y0 = sliver ? (float)low : p->y0;
        p->y1 = (float)low;
    }
}

static void make_tracks(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    if (l->view.mode == PSC_VIEW_USAGE)
        return;
    for (uint32_t i = 0; i < s->lane_n; i++) {
        const struct psc_scene_lane *lane = &s->lanes[i];
        bool crosses = i && lane->kind != PSC_LANE_KV && lane->backend != s->lanes[i - 1].backend;
        if (crosses && s->copy_n && !l->view.hide_copies)
            put_track(l, PSC_TRACK_STRIP, lane->row_at, l->axis.gap < 14 ? 20 : 40);
        if (lane->kind == PSC_LANE_KV)
            kv_tracks(l, lane);
        else
            lane_tracks(l, lane);
    }
    if (s->weight_n)
        put_track(l, PSC_TRACK_WEIGHTS, PSC_NONE, 17);
    double room = l->frame.lanes.y1 - l->frame.lanes.y0, y = 0;
    for (size_t i = 0; i < l->track_n; i++)
        room -= l->tracks[i].y1;
    if (l->view.px_a_byte > 0 && l->view.mode == PSC_VIEW_MAP)
        exact_heights(l);
    else
        pool_heights(l, room);
    for (size_t i = 0; i < l->track_n; i++)
        y += l->tracks[i].y1;
    l->frame.content = (float)y;
    double most = fmax(0, y - (l->frame.lanes.y1 - l->frame.lanes.y0));
    l->view.y = fmin(fmax(l->view.y, 0), most);
    stack_tracks(l);
}

void psc_track_band(const struct psc_layout *l, const struct psc_track *track, uint64_t lo, uint64_t hi,
                    float *ret_y0, float *ret_y1, float *ret_foot)
{
    const struct psc_scene_row *row = &l->scene->rows[track->row];
    float height = track->y1 - track->y0;
    bool map = psc_is_map_row(l, track);
    float inset = track->compact ? 0 : map ? 0 : height >= 17 ? (height >= 21 ? 3 : 2) : height >= 8 ? 1 : 0;
    float y0 = track->y0 + inset, y1 = track->y1 - (map || track->compact ? (height > 2 ? 1 : 0) : inset);
    *ret_y0 = y0, *ret_y1 = *ret_foot = y1;
    double bytes = row->bytes ? (double)row->bytes : 1;
    if (row->packed) {
        double a = y0 + (y1 - y0) * ((double)lo / bytes), b = y0 + (y1 - y0) * ((double)hi / bytes);
        *ret_y0 = (float)floor(a + 0.5);
        *ret_y1 = *ret_foot = (float)fmax(floor(b + 0.5), *ret_y0 + 3);
    } else if (map) {
        float foot = (float)floor(y0 + (y1 - y0) * ((double)hi / bytes) + 0.5);
        *ret_foot = y1 - foot >= 5 && foot - y0 >= 9 ? foot : y1;
    }
}

enum psc_status psc_layout_build(struct psc_layout *l, const struct psc_scene *scene, const struct psc_view *view,
                                 struct psc_type *type, struct psc_error *reterr)
{
    clear(l);
    l->scene = scene;
    l->view = *view;
    l->type = view->no_text ? NULL : type;
    make_frame(l);
    make_tracks(l);
    psc_layout_gutter(l);
    psc_layout_rows(l);
    psc_layout_copies(l);
    psc_layout_ghosts(l);
    l->fill_lanes_end = l->fill_n;
    l->line_lanes_end = l->line_n;
    l->mark_lanes_end = l->mark_n;
    for (size_t i = 0; i < l->label_n; i++)
        l->labels[i].clip = 1;
    psc_layout_ruler(l);
    psc_layout_overview(l);
    psc_layout_ghost_ticks(l);
    psc_layout_usage(l);
    psc_layout_clobber(l);
    return l->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

static const struct psc_track *find_track(const struct psc_layout *l, uint32_t row)
{
    size_t lo = 0, hi = l->track_n; /* rows ascend, but strips, heads and weights stand between */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct psc_track *p = &l->tracks[mid];
        uint32_t last = p->kind == PSC_TRACK_FOLD ? p->row + p->row_n - 1 : p->row;
        bool before = p->kind == PSC_TRACK_STRIP || p->kind == PSC_TRACK_HEAD ? p->row <= row : last < row;
        if (before)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->track_n && l->tracks[lo].kind == PSC_TRACK_ROW && l->tracks[lo].row == row ? &l->tracks[lo] : NULL;
}

const struct psc_track *psc_layout_track(const struct psc_layout *l, uint32_t row)
{
    const struct psc_track *p = find_track(l, row);
    return p && p->y1 > p->y0 ? p : NULL;
}

double psc_layout_scroll_to(const struct psc_layout *l, uint32_t row)
{
    const struct psc_track *p = find_track(l, row);
    double y = l->view.y;
    if (!p)
        return y;
    bool stays = p->y0 >= l->frame.kept_y && p->low <= p->y1;
    if (stays)
        return y;
    float room = l->frame.kept_y - l->frame.lanes.y0, top = p->top;
    if (p > l->tracks && p[-1].kind == PSC_TRACK_HEAD && p->top - p[-1].top + LEAST_BELOW <= room)
        top = p[-1].top; /* what is said of it stands above it */
    bool too_high = p->low - top > room; /* then its head is what counts */
    if (top < l->frame.lanes.y0 || too_high)
        return y - (l->frame.lanes.y0 - top);
    return p->low > l->frame.kept_y ? y + (p->low - l->frame.kept_y) : y;
}

bool psc_layout_bar_area(const struct psc_layout *l, uint32_t bar, struct psc_area *ret)
{
    if (bar >= l->scene->bar_n)
        return false;
    const struct psc_tenancy *t = &l->scene->source.history->tenancies[bar];
    uint32_t row = l->scene->row_of_buffer[t->buffer];
    const struct psc_track *track = row == PSC_NONE ? NULL : psc_layout_track(l, row);
    if (!track)
        return false;
    float foot;
    psc_track_band(l, track, t->lo, t->hi, &ret->y0, &ret->y1, &foot);
    int32_t first = l->scene->first[bar];
    ret->x0 = (float)floor(first < 0 ? psc_axis_right(&l->axis, first) - 3 : psc_axis_left(&l->axis, first) + 0.5);
    ret->x1 = (float)fmax(floor(psc_axis_right(&l->axis, l->scene->end[bar] - 1) + 0.5), ret->x0 + 3);
    return true;
}
