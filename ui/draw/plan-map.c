#include "ui/draw/plan-map.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEFT   50.0 /* numbers of the y axis */
#define BOTTOM 15.0 /* layers */
#define NARROW 2.0  /* px under which bars are gathered */
#define LABEL  26.0 /* px a bar needs for its number */

struct drawing {
    cairo_t *cr;
    const struct psc_palette *palette;
    struct psc_type *type;
    const struct psc_plan_map *map;
    double x0, x1, y1, per_x, per_y; /* the data area; px a position, px a byte */
    uint64_t *base;                  /* [buffer_n] owned: bytes below each buffer */
    cairo_surface_t *mask;
};

static double x_at(const struct drawing *d, double position)
{
    double x = d->x0 + (position - d->map->lo) * d->per_x;
    return fmin(fmax(x, d->x0 - 2), d->x1 + 2);
}

static bool stack(struct drawing *d)
{
    const struct psc_story *story = d->map->history->story;
    uint64_t at = 0;
    d->base = psc_alloc0((size_t)story->buffer_n + 1, sizeof *d->base);
    for (uint32_t b = 0; d->base && b < story->buffer_n; b++) {
        d->base[b] = at;
        if (psc_history_counts(story->buffers[b].role) && story->buffers[b].bytes != UINT64_MAX)
            at += story->buffers[b].bytes;
    }
    return d->base != NULL;
}

/* A round number of B, KiB, MiB ...: about four of them. */
static uint64_t tick_of(uint64_t top)
{
    static const uint64_t steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 512};
    uint64_t want = top / 4 + 1;
    for (uint64_t unit = 1; unit < UINT64_MAX >> 20; unit *= 1024)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (steps[i] * unit >= want)
                return steps[i] * unit;
    return want;
}

static void axis(const struct drawing *d)
{
    uint64_t tick = tick_of(d->map->top);
    for (uint64_t v = 0; d->type && v <= d->map->top; v += tick) {
        char text[24];
        double y = (double)v * d->per_y;
        if (y > d->y1 - 6 && v)
            break;
        psc_paint_colour(d->cr, d->palette, PSC_COL_DIM);
        psc_paint_area(d->cr, d->x0 - 3, y, d->x0, y + 1);
        if (v)
            psc_type_show(d->type, d->cr, PSC_FONT_SMALL, PSC_RIGHT, psc_bytes_text(v, text, sizeof text), d->x0 - 4, y);
        else
            psc_type_show(d->type, d->cr, PSC_FONT_SMALL, PSC_RIGHT, "0", d->x0 - 4, 5);
    }
}

/* A line where a layer begins, its name below as far as there is room. */
static void layers(const struct drawing *d)
{
    const struct psc_graph *g = d->map->graph;
    const struct psc_story *story = d->map->history->story;
    int32_t first = (int32_t)fmax(0, floor(d->map->lo)), last = (int32_t)fmin(story->position_n, ceil(d->map->hi));
    int32_t layer = -2;
    double free_x = d->x0;
    for (int32_t p = first; g && p < last; p++) {
        psc_node node = psc_story_node_at(story, p);
        if (node >= g->n || g->nodes[node].layer < 0 || g->nodes[node].layer == layer)
            continue;
        layer = g->nodes[node].layer;
        double x = fmax(x_at(d, p), d->x0);
        char text[32];
        snprintf(text, sizeof text, "layer %" PRId32, layer);
        double w = d->type ? psc_type_width(d->type, PSC_FONT_SMALL, text) : 0;
        bool fits = d->type && x + 3 >= free_x && x + 3 + w <= d->x1;
        psc_paint_colour(d->cr, d->palette, PSC_COL_LAYER);
        if (p > first) /* lines without a name do not run through the names of others */
            psc_paint_area(d->cr, floor(x), 0, floor(x) + 1, fits ? d->y1 + BOTTOM : d->y1);
        if (!fits)
            continue;
        psc_paint_colour(d->cr, d->palette, PSC_COL_DIM);
        psc_type_show(d->type, d->cr, PSC_FONT_SMALL, PSC_LEFT, text, x + 3, d->y1 + 8);
        free_x = x + w + 10;
    }
}

static void gather(struct drawing *d, double x0, double x1, double y0, double y1)
{
    int width = cairo_image_surface_get_width(d->mask), height = cairo_image_surface_get_height(d->mask);
    int stride = cairo_image_surface_get_stride(d->mask);
    unsigned char *bytes = cairo_image_surface_get_data(d->mask);
    int left = (int)fmax(0, floor(x0 - d->x0)), right = (int)fmin(width, fmax(ceil(x1 - d->x0), left + 1.0));
    int top = (int)fmax(0, floor(y0)), low = (int)fmin(height, fmax(ceil(y1), top + 1.0));
    for (int y = top; y < low && left < right; y++)
        memset(bytes + (size_t)y * (size_t)stride + left, 255, (size_t)(right - left));
}

static void number(const struct drawing *d, const struct psc_tenancy *t, double x0, double x1, double y0, double y1)
{
    const struct psc_value *v = &d->map->history->story->values[t->value];
    char text[32];
    if (!d->type || x1 - x0 < LABEL || y1 - y0 < 11 || !d->map->graph || v->node >= d->map->graph->n)
        return;
    snprintf(text, sizeof text, "%" PRIu64, d->map->graph->nodes[v->node].id);
    if (psc_type_width(d->type, PSC_FONT_SMALL, text) > x1 - x0 - 4)
        return;
    psc_paint_colour(d->cr, d->palette, PSC_COL_ACT_TEXT);
    psc_type_show(d->type, d->cr, PSC_FONT_SMALL, PSC_CENTRE, text, (x0 + x1) / 2, (y0 + y1) / 2);
}

static bool area_of(const struct drawing *d, const struct psc_tenancy *t, double *x0, double *x1, double *y0, double *y1)
{
    const struct psc_story *story = d->map->history->story;
    if (!psc_history_counts(story->buffers[t->buffer].role) || t->end <= d->map->lo || t->first >= d->map->hi)
        return false;
    *x0 = x_at(d, t->first);
    *x1 = x_at(d, fmin(t->end, (double)story->position_n + 1));
    *y0 = (double)(d->base[t->buffer] + t->lo) * d->per_y;
    *y1 = (double)(d->base[t->buffer] + t->hi) * d->per_y;
    return *y0 < d->y1;
}

static void bars(struct drawing *d)
{
    const struct psc_history *h = d->map->history;
    double x0, x1, y0, y1;
    bool gathered = false;
    for (uint32_t i = 0; i < h->tenancy_n; i++) {
        if (!area_of(d, &h->tenancies[i], &x0, &x1, &y0, &y1) || (x1 - x0 >= NARROW && y1 - y0 >= NARROW))
            continue;
        gather(d, x0, x1, y0, y1);
        gathered = true;
    }
    if (gathered) {
        cairo_surface_mark_dirty(d->mask);
        psc_paint_colour(d->cr, d->palette, PSC_COL_ACT_EDGE);
        cairo_mask_surface(d->cr, d->mask, d->x0, 0);
    }
    for (uint32_t i = 0; i < h->tenancy_n; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        if (!area_of(d, t, &x0, &x1, &y0, &y1) || x1 - x0 < NARROW || y1 - y0 < NARROW)
            continue;
        bool pinned = h->story->buffers[t->buffer].role == PSC_ROLE_INPUT;
        psc_paint_colour(d->cr, d->palette, pinned ? PSC_COL_IO_FILL : PSC_COL_ACT_FILL);
        psc_paint_area(d->cr, x0, y0, x1, y1);
        psc_paint_colour(d->cr, d->palette, pinned ? PSC_COL_IO_EDGE : PSC_COL_ACT_EDGE);
        psc_paint_frame(d->cr, x0, y0, x1, y1, 1);
        number(d, t, x0, x1, y0, y1);
    }
}

static void chosen(const struct drawing *d)
{
    const struct psc_history *h = d->map->history;
    uint32_t value = d->map->selected;
    double x0, x1, y0, y1;
    if (value >= h->story->value_n)
        return;
    if (h->story->values[value].is_view && h->story->values[value].of < h->story->value_n)
        value = h->story->values[value].of;
    for (uint32_t k = h->value_at[value]; k < h->value_at[value + 1]; k++)
        if (area_of(d, &h->tenancies[h->value_tenancies[k]], &x0, &x1, &y0, &y1)) {
            psc_paint_colour(d->cr, d->palette, PSC_COL_SELECT);
            psc_paint_frame(d->cr, x0 - 1, y0 - 1, fmax(x1, x0 + 3) + 1, fmax(y1, y0 + 3) + 1, 2);
        }
}

static void heights(const struct drawing *d)
{
    static const double dash[] = {3, 3};
    double bound = floor((double)d->map->bound * d->per_y) + 0.5, top = (double)d->map->reserved * d->per_y;
    if (top <= d->y1) {
        psc_paint_colour(d->cr, d->palette, PSC_COL_INK);
        psc_paint_area(d->cr, d->x0, top, d->x1, top + 2);
    }
    psc_paint_colour(d->cr, d->palette, PSC_COL_INK);
    cairo_set_line_width(d->cr, 1);
    cairo_set_dash(d->cr, dash, 2, 0);
    cairo_move_to(d->cr, d->x0, bound);
    cairo_line_to(d->cr, d->x1, bound);
    cairo_stroke(d->cr);
    cairo_set_dash(d->cr, NULL, 0, 0);
}

static void cursor(const struct drawing *d)
{
    double x = x_at(d, d->map->position + 0.5);
    if (d->map->position == PSC_NO_POSITION || d->map->position + 0.5 < d->map->lo || d->map->position + 0.5 > d->map->hi)
        return;
    psc_paint_colour(d->cr, d->palette, PSC_COL_NOW);
    psc_paint_area(d->cr, floor(x), 0, floor(x) + 1, d->y1);
}

/* What is higher than the map is broken off, and says how high it is. */
static void broken_off(const struct drawing *d)
{
    char text[48], bytes[24];
    if ((double)d->map->reserved * d->per_y <= d->y1 + 3 || !d->type)
        return;
    snprintf(text, sizeof text, "goes on to %s", psc_bytes_text(d->map->reserved, bytes, sizeof bytes));
    double w = psc_type_width(d->type, PSC_FONT_SMALL, text);
    psc_paint_colour(d->cr, d->palette, PSC_COL_CANVAS);
    psc_paint_area(d->cr, d->x1 - w - 10, d->y1 - 15, d->x1, d->y1);
    psc_paint_colour(d->cr, d->palette, PSC_COL_INK);
    psc_type_show(d->type, d->cr, PSC_FONT_SMALL, PSC_RIGHT, text, d->x1 - 4, d->y1 - 8);
}

/* False when there is nothing to draw on or no memory; free d->base after it was true. */
static bool begin(struct drawing *d, double width, double height)
{
    const struct psc_plan_map *map = d->map;
    d->x0 = LEFT, d->x1 = width, d->y1 = height - BOTTOM;
    if (width < LEFT + 20 || height < BOTTOM + 20 || map->hi <= map->lo || !stack(d))
        return false;
    d->per_x = (d->x1 - d->x0) / (map->hi - map->lo);
    d->per_y = (d->y1 - 4) / (double)(map->top ? map->top : 1);
    return true;
}

static void clip_to_data(const struct drawing *d)
{
    cairo_rectangle(d->cr, d->x0, 0, d->x1 - d->x0, d->y1);
    cairo_clip(d->cr);
}

void psc_plan_map_paint_still(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type,
                              const struct psc_plan_map *map, double width, double height)
{
    struct drawing d = {.cr = cr, .palette = palette, .type = type, .map = map};
    if (!begin(&d, width, height))
        return;
    d.mask = cairo_image_surface_create(CAIRO_FORMAT_A8, (int)(d.x1 - d.x0), (int)d.y1);
    cairo_save(cr);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_area(cr, 0, 0, width, height);
    psc_paint_colour(cr, palette, PSC_COL_IDLE);
    psc_paint_area(cr, d.x0, 0, d.x1, fmin((double)map->reserved * d.per_y, d.y1));
    axis(&d);
    layers(&d);
    clip_to_data(&d);
    if (cairo_surface_status(d.mask) == CAIRO_STATUS_SUCCESS)
        bars(&d);
    heights(&d);
    broken_off(&d);
    cairo_restore(cr);
    cairo_surface_destroy(d.mask);
    psc_free(d.base);
}

void psc_plan_map_paint_moving(cairo_t *cr, const struct psc_palette *palette, const struct psc_plan_map *map, double width,
                               double height)
{
    struct drawing d = {.cr = cr, .palette = palette, .map = map};
    if (!begin(&d, width, height))
        return;
    cairo_save(cr);
    clip_to_data(&d);
    chosen(&d);
    cursor(&d);
    cairo_restore(cr);
    psc_free(d.base);
}

void psc_plan_map_paint(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_plan_map *map,
                        double width, double height)
{
    psc_plan_map_paint_still(cr, palette, type, map, width, height);
    psc_plan_map_paint_moving(cr, palette, map, width, height);
}

void psc_plan_bar_paint(cairo_t *cr, const struct psc_palette *palette, double part, double bound_part, double width, double height)
{
    static const double dash[] = {2, 2};
    double x = fmin(part, 1) * width, y0 = floor(height / 2) - 5, y1 = y0 + 10, bound = floor(bound_part * width) - 0.5;
    cairo_save(cr);
    psc_paint_colour(cr, palette, PSC_COL_ACT_FILL);
    psc_paint_area(cr, 0, y0, fmax(x, 2), y1);
    psc_paint_colour(cr, palette, PSC_COL_ACT_EDGE);
    psc_paint_frame(cr, 0, y0, fmax(x, 2), y1, 1);
    if (part > 1) {
        psc_paint_colour(cr, palette, PSC_COL_CANVAS);
        cairo_set_line_width(cr, 2.5);
        for (int k = 0; k < 2; k++) {
            cairo_move_to(cr, x - 22 + 7 * k, y1 + 1);
            cairo_line_to(cr, x - 16 + 7 * k, y0 - 1);
        }
        cairo_stroke(cr);
    }
    if (bound_part > 0 && bound_part <= 1) {
        psc_paint_colour(cr, palette, PSC_COL_INK);
        cairo_set_line_width(cr, 1);
        cairo_set_dash(cr, dash, 2, 0);
        cairo_move_to(cr, bound, 0);
        cairo_line_to(cr, bound, height);
        cairo_stroke(cr);
    }
    cairo_restore(cr);
}
