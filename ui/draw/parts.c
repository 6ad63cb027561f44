#include "ui/draw/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void set_rgb(cairo_t *cr, uint32_t c)
{
    cairo_set_source_rgb(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0);
}

/* The longest label of a bar that fits, in the middle; false when none does. */
static bool show_label(cairo_t *cr, struct psc_type *type, const struct psc_scene *scene, uint32_t bar, double x0, double x1, double y)
{
    char text[PSC_LABELS][PSC_LABEL_SIZE];
    uint32_t n = type ? psc_scene_labels(scene, bar, text) : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (psc_type_width(type, PSC_FONT_AXIS, text[i]) > x1 - x0 - 6)
            continue;
        psc_type_show(type, cr, PSC_FONT_AXIS, PSC_CENTRE, text[i], (x0 + x1) / 2, y);
        return true;
    }
    return false;
}

static uint8_t style_of(const struct psc_scene *scene, uint32_t bar)
{
    uint32_t row = scene->row_of_buffer[scene->source.history->tenancies[bar].buffer];
    enum psc_lane_kind kind = row == PSC_NONE ? PSC_LANE_POOL : scene->lanes[scene->rows[row].lane].kind;
    if (scene->flags[bar] & PSC_BAR_PINNED)
        return PSC_STYLE_PINNED;
    return kind == PSC_LANE_KV ? PSC_STYLE_KV : kind == PSC_LANE_STAGING ? PSC_STYLE_STAGING : PSC_STYLE_ACTIVATION;
}

static void one_bar(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_scene *scene,
                    uint32_t bar, double x0, double x1, double y0, double y1)
{
    struct psc_bar b = {.x0 = (float)floor(x0 + 0.5), .x1 = (float)floor(fmax(x1, x0 + 3) + 0.5), .y0 = (float)y0, .y1 = (float)y1,
                        .foot = (float)y1, .count = 1, .style = style_of(scene, bar)};
    psc_paint_bar(cr, palette, &b);
    psc_paint_colour(cr, palette, b.style == PSC_STYLE_ACTIVATION ? PSC_COL_ACT_TEXT : b.style == PSC_STYLE_KV ? PSC_COL_KV_TEXT : PSC_COL_INK);
    show_label(cr, type, scene, bar, b.x0, b.x1, (y0 + y1) / 2);
}

void psc_part_life(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_scene *scene,
                   uint32_t bar, int32_t position, double width, double height)
{
    if (bar >= scene->bar_n || width < 20)
        return;
    const struct psc_tenancy *t = &scene->source.history->tenancies[bar];
    uint32_t shown[3] = {t->prev_tenant, bar, t->next_tenant};
    double lo = scene->first[bar], hi = scene->end[bar];
    if (shown[0] != PSC_NONE)
        lo = fmin(lo, scene->first[shown[0]]);
    if (shown[2] != PSC_NONE)
        hi = fmax(hi, scene->end[shown[2]]);
    if (position != PSC_NO_POSITION && position >= lo - 20 && position <= hi + 20)
        lo = fmin(lo, position), hi = fmax(hi, position + 1);
    double pad = fmax(1, (hi - lo) * 0.04);
    lo -= pad, hi += pad;
    double unit = width / (hi - lo), y0 = floor(height / 2 - 9), y1 = y0 + 18, middle = floor((y0 + y1) / 2);
    cairo_save(cr);
    psc_paint_pattern(cr, palette, &(struct psc_area){0, (float)middle, (float)width, (float)middle + 1}, PSC_DASHES_ACROSS, PSC_COL_DIM);
    for (int i = 0; i < 3; i++)
        if (shown[i] != PSC_NONE)
            one_bar(cr, palette, type, scene, shown[i], (scene->first[shown[i]] - lo) * unit, (scene->end[shown[i]] - lo) * unit, y0, y1);
    psc_paint_colour(cr, palette, PSC_COL_SELECT);
    psc_paint_frame(cr, floor((scene->first[bar] - lo) * unit) - 1, y0 - 1, fmax((scene->end[bar] - lo) * unit, (scene->first[bar] - lo) * unit + 3) + 1,
                    y1 + 1, 2);
    if (position != PSC_NO_POSITION && position + 1 >= lo && position + 1 <= hi) {
        double x = floor((position + 1 - lo) * unit);
        psc_paint_colour(cr, palette, PSC_COL_NOW);
        psc_paint_area(cr, x - 1, y0 - 5, x + 1, y1 + 5);
    }
    cairo_restore(cr);
}

void psc_part_owners(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_scene *scene,
                     uint32_t buffer, uint64_t byte, int32_t position, double width, double height)
{
    static const char *const names[2] = {"before", "after"};
    uint32_t row = buffer < scene->source.story->buffer_n ? scene->row_of_buffer[buffer] : PSC_NONE;
    double each = floor(height / 2), left = 52;
    if (row == PSC_NONE || width < left + 20)
        return;
    cairo_save(cr);
    for (int i = 0; i < 2; i++) {
        double y0 = each * i + 2, y1 = each * (i + 1) - 2, y = (y0 + y1) / 2;
        uint32_t bar = psc_scene_bar_at(scene, row, position - 1 + i, byte);
        psc_paint_colour(cr, palette, PSC_COL_DIM);
        if (type)
            psc_type_show(type, cr, PSC_FONT_AXIS, PSC_LEFT, names[i], 0, y);
        if (bar != PSC_NONE) {
            one_bar(cr, palette, type, scene, bar, left, width, y0, y1);
            continue;
        }
        psc_paint_colour(cr, palette, PSC_COL_IDLE);
        psc_paint_area(cr, left, y0, width, y1);
        psc_paint_colour(cr, palette, PSC_COL_DIM);
        if (type)
            psc_type_show(type, cr, PSC_FONT_AXIS, PSC_CENTRE, "nobody", (left + width) / 2, y);
    }
    cairo_restore(cr);
}

double psc_heat_limit(const float *values, uint32_t n)
{
    static const double steps[] = {1, 2, 4, 5, 8, 10};
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            most = fmax(most, fabs(values[i]));
    if (most <= 0)
        return 1;
    double power = pow(10, floor(log10(most)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= most)
            return steps[i] * power;
    return most;
}

uint32_t psc_heat_colour(const struct psc_palette *palette, double value, double limit)
{
    double part = pow(fmin(fabs(value) / limit, 1), 0.8);
    return psc_rgb_mix(palette->rgb[PSC_COL_HEAT_MID], palette->rgb[value < 0 ? PSC_COL_HEAT_LOW : PSC_COL_HEAT_HIGH], part);
}

static void heat_cell(cairo_t *cr, const struct psc_palette *palette, float value, double limit, double x0, double y0, double x1, double y1)
{
    bool number = !isnan(value);
    set_rgb(cr, number ? psc_heat_colour(palette, value, limit) : palette->rgb[PSC_COL_CANVAS]);
    psc_paint_area(cr, x0, y0, x1, y1);
    if (number && isfinite(value))
        return;
    cairo_set_line_width(cr, 1.2);
    psc_paint_colour(cr, palette, PSC_COL_INK);
    double pad = fmin(3, (x1 - x0) / 4), middle = (y0 + y1) / 2;
    if (!number) {
        cairo_move_to(cr, x0 + pad, y0 + pad), cairo_line_to(cr, x1 - pad, y1 - pad);
        cairo_move_to(cr, x1 - pad, y0 + pad), cairo_line_to(cr, x0 + pad, y1 - pad);
        cairo_stroke(cr);
        psc_paint_frame(cr, x0, y0, x1, y1, 1);
        return;
    }
    cairo_move_to(cr, x0 + pad, middle), cairo_line_to(cr, x1 - pad, middle);
    if (value > 0)
        cairo_move_to(cr, (x0 + x1) / 2, middle - (x1 - x0) / 2 + pad), cairo_line_to(cr, (x0 + x1) / 2, middle + (x1 - x0) / 2 - pad);
    cairo_stroke(cr);
    psc_paint_frame(cr, x0, y0, x1, y1, 1);
}

static void heat_scale(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, double limit, double y, double width)
{
    char text[32];
    double x = 0;
    snprintf(text, sizeof text, "\xe2\x88\x92%g", limit);
    psc_paint_colour(cr, palette, PSC_COL_DIM);
    if (type) {
        psc_type_show(type, cr, PSC_FONT_SMALL, PSC_LEFT, text, 0, y);
        x = psc_type_width(type, PSC_FONT_SMALL, text) + 6;
    }
    double end = fmin(x + 96, width - x);
    for (double at = floor(x); at < end; at++) {
        set_rgb(cr, psc_heat_colour(palette, ((at - x) / (end - x) * 2 - 1) * limit, limit));
        psc_paint_area(cr, at, y - 4, at + 1, y + 4);
    }
    snprintf(text, sizeof text, "+%g", limit);
    psc_paint_colour(cr, palette, PSC_COL_DIM);
    if (type)
        psc_type_show(type, cr, PSC_FONT_SMALL, PSC_LEFT, text, end + 6, y);
}

void psc_part_heatmap(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const float *values,
                      uint32_t n, uint32_t rows, double width, double height)
{
    if (!n || height < 20)
        return;
    rows = rows < 1 ? 1 : rows > n ? n : rows;
    uint32_t columns = (n + rows - 1) / rows;
    double limit = psc_heat_limit(values, n), cell_w = width / columns, cell_h = (height - 16) / rows;
    double gap = cell_w >= 5 ? 1 : 0;
    cairo_save(cr);
    for (uint32_t i = 0; i < n; i++) {
        double x = i % columns * cell_w, y = i / columns * cell_h;
        heat_cell(cr, palette, values[i], limit, floor(x), floor(y), fmax(floor(x + cell_w) - gap, floor(x) + 1), floor(y + cell_h) - 1);
    }
    heat_scale(cr, palette, type, limit, height - 6, width);
    cairo_restore(cr);
}
