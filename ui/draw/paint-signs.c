#include "ui/draw/paint.h"

#include <math.h>

#define TURN 6.283185307179586

void psc_paint_colour(cairo_t *cr, const struct psc_palette *palette, enum psc_colour colour)
{
    uint32_t c = palette->rgb[colour];
    cairo_set_source_rgb(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0);
}

static void mixed(cairo_t *cr, uint32_t a, uint32_t b, double part)
{
    uint32_t c = psc_rgb_mix(a, b, part);
    cairo_set_source_rgb(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0);
}

void psc_paint_area(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    x0 = floor(x0 + 0.5), y0 = floor(y0 + 0.5), x1 = floor(x1 + 0.5), y1 = floor(y1 + 0.5);
    cairo_rectangle(cr, x0, y0, x1 - x0, y1 - y0);
    cairo_fill(cr);
}

void psc_paint_frame(cairo_t *cr, double x0, double y0, double x1, double y1, double width)
{
    x0 = floor(x0 + 0.5), y0 = floor(y0 + 0.5), x1 = floor(x1 + 0.5), y1 = floor(y1 + 0.5);
    cairo_rectangle(cr, x0, y0, x1 - x0, width);
    cairo_rectangle(cr, x0, y1 - width, x1 - x0, width);
    cairo_rectangle(cr, x0, y0 + width, width, y1 - y0 - 2 * width);
    cairo_rectangle(cr, x1 - width, y0 + width, width, y1 - y0 - 2 * width);
    cairo_fill(cr);
}

/* ---- patterns: one small tile, repeated ------------------------------------------------------ */

static const struct { int w, h; } tile_size[] = {[PSC_DOTS] = {4, 4}, [PSC_BRICK] = {14, 12}, [PSC_STRIPES] = {5, 5},
                                                   [PSC_DASHES_ACROSS] = {5, 1}, [PSC_DASHES_DOWN] = {1, 5}};

static bool tile_dot(enum psc_pattern pattern, int x, int y)
{
    switch (pattern) {
    case PSC_DOTS: return (x == 0 && y == 0) || (x == 2 && y == 2);
    case PSC_BRICK: return y % 6 == 0 || (y < 6 ? x == 0 : x == 7);
    case PSC_STRIPES: return x == 0;
    case PSC_DASHES_ACROSS: return x < 2;
    case PSC_DASHES_DOWN: return y < 2;
    default: return false;
    }
}

void psc_paint_pattern(cairo_t *cr, const struct psc_palette *palette, const struct psc_area *area,
                       enum psc_pattern pattern, enum psc_colour colour)
{
    if (pattern == PSC_SOLID)
        return;
    int w = tile_size[pattern].w, h = tile_size[pattern].h;
    cairo_surface_t *tile = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, w, h);
    uint8_t *data = cairo_image_surface_get_data(tile);
    int stride = cairo_image_surface_get_stride(tile);
    if (data) {
        cairo_surface_flush(tile);
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                ((uint32_t *)(void *)(data + y * stride))[x] = tile_dot(pattern, x, y) ? 0xff000000u | palette->rgb[colour] : 0;
        cairo_surface_mark_dirty(tile);
    }
    cairo_save(cr);
    cairo_set_source_surface(cr, tile, pattern == PSC_BRICK ? 0 : floor(area->x0), floor(area->y0));
    cairo_pattern_set_extend(cairo_get_source(cr), CAIRO_EXTEND_REPEAT);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    psc_paint_area(cr, area->x0, area->y0, area->x1, area->y1);
    cairo_restore(cr);
    cairo_surface_destroy(tile);
}

void psc_paint_hatch(cairo_t *cr, const struct psc_palette *palette, const struct psc_area *area)
{
    cairo_save(cr);
    cairo_rectangle(cr, area->x0, area->y0, area->x1 - area->x0, area->y1 - area->y0);
    cairo_clip(cr);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    cairo_set_line_width(cr, 2.6);
    double h = area->y1 - area->y0, step = 9 * sqrt(2);
    for (double x = area->x0 - h; x < area->x1 + step; x += step) {
        cairo_move_to(cr, x, area->y1 + 1);
        cairo_line_to(cr, x + h + 2, area->y0 - 1);
    }
    cairo_stroke(cr);
    cairo_restore(cr);
}

void psc_paint_alarm(cairo_t *cr, const struct psc_palette *palette, double x, double y, double size)
{
    double h = size * 0.9;
    cairo_move_to(cr, x, y - h / 2);
    cairo_line_to(cr, x + size / 2, y + h / 2);
    cairo_line_to(cr, x - size / 2, y + h / 2);
    cairo_close_path(cr);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    cairo_fill_preserve(cr);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
    if (size >= 10) {
        psc_paint_area(cr, x - 0.5, y - h * 0.18, x + 0.5, y + h * 0.14);
        psc_paint_area(cr, x - 0.5, y + h * 0.22, x + 0.5, y + h * 0.34);
    }
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void outline(cairo_t *cr, const struct psc_palette *palette, enum psc_colour fill)
{
    psc_paint_colour(cr, palette, fill);
    cairo_fill_preserve(cr);
    psc_paint_colour(cr, palette, PSC_COL_MARK_EDGE);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
}

static void triangle(cairo_t *cr, double x0, double y0, double x1, double y1, double x2, double y2)
{
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
    cairo_line_to(cr, x2, y2);
    cairo_close_path(cr);
}

static void trapezoid(cairo_t *cr, double x, double y, double width, double h, bool narrow_below)
{
    double cut = fmin(6, width * 0.2), top = narrow_below ? 0 : cut, low = narrow_below ? cut : 0;
    cairo_move_to(cr, x - width / 2 + top, y - h / 2);
    cairo_line_to(cr, x + width / 2 - top, y - h / 2);
    cairo_line_to(cr, x + width / 2 - low, y + h / 2);
    cairo_line_to(cr, x - width / 2 + low, y + h / 2);
    cairo_close_path(cr);
}

static void ring(cairo_t *cr, const struct psc_palette *palette, double x, double y, double size, bool slash)
{
    double r = size / 2 - 0.6;
    cairo_new_sub_path(cr);
    cairo_arc(cr, x, y, r, 0, TURN);
    if (slash) {
        cairo_move_to(cr, x - r * 0.7, y + r * 0.7);
        cairo_line_to(cr, x + r * 0.7, y - r * 0.7);
    }
    psc_paint_colour(cr, palette, PSC_COL_DIM);
    cairo_set_line_width(cr, 1.2);
    cairo_stroke(cr);
}

/* "Not equal" on a disc. */
static void unequal(cairo_t *cr, const struct psc_palette *palette, double x, double y, double size)
{
    double r = size / 2, arm = r * 0.55;
    cairo_new_sub_path(cr);
    cairo_arc(cr, x, y, r, 0, TURN);
    psc_paint_colour(cr, palette, PSC_COL_INK);
    cairo_fill_preserve(cr);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
    if (size < 8)
        return;
    cairo_move_to(cr, x - arm, y - r * 0.26);
    cairo_line_to(cr, x + arm, y - r * 0.26);
    cairo_move_to(cr, x - arm, y + r * 0.26);
    cairo_line_to(cr, x + arm, y + r * 0.26);
    cairo_move_to(cr, x - arm * 0.6, y + r * 0.7);
    cairo_line_to(cr, x + arm * 0.6, y - r * 0.7);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    cairo_set_line_width(cr, 1.2);
    cairo_stroke(cr);
}

void psc_paint_mark(cairo_t *cr, const struct psc_palette *palette, enum psc_mark_kind kind, double x, double y,
                    double size, double width)
{
    double half = size / 2, h = size * 0.78;
    switch (kind) {
    case PSC_MARK_WRITE:
        triangle(cr, x - half, y + 0.5, x + half, y + 0.5, x, y + 0.5 + h);
        outline(cr, palette, PSC_COL_WRITE);
        break;
    case PSC_MARK_READ:
        triangle(cr, x - half, y - 0.5, x + half, y - 0.5, x, y - 0.5 - h);
        outline(cr, palette, PSC_COL_READ);
        break;
    case PSC_MARK_READWRITE:
        cairo_move_to(cr, x - half, y);
        cairo_line_to(cr, x, y - half);
        cairo_line_to(cr, x + half, y);
        cairo_line_to(cr, x, y + half);
        cairo_close_path(cr);
        outline(cr, palette, PSC_COL_READWRITE);
        break;
    case PSC_MARK_FILL:
        psc_paint_colour(cr, palette, PSC_COL_HOST);
        psc_paint_area(cr, x - half, y - half, x + half, y + half);
        break;
    case PSC_MARK_COPY:
        triangle(cr, x - half * 0.8, y - half, x - half * 0.8, y + half, x + half, y);
        outline(cr, palette, PSC_COL_COPY);
        break;
    case PSC_MARK_OWN:
        cairo_new_sub_path(cr);
        cairo_arc(cr, x, y, half - 1, 0, TURN);
        psc_paint_colour(cr, palette, PSC_COL_INK);
        cairo_fill(cr);
        break;
    case PSC_MARK_OVERWRITTEN:
        ring(cr, palette, x, y, size, true);
        break;
    case PSC_MARK_UNKNOWN:
        ring(cr, palette, x, y, size, false);
        break;
    case PSC_MARK_WRITES:
        trapezoid(cr, x, y, width, size, true);
        outline(cr, palette, PSC_COL_WRITE);
        break;
    case PSC_MARK_READS:
        trapezoid(cr, x, y, width, size, false);
        outline(cr, palette, PSC_COL_READ);
        break;
    case PSC_MARK_DOT_WRITE:
        psc_paint_colour(cr, palette, PSC_COL_WRITE);
        psc_paint_area(cr, x - 3, y - half, x + 1, y + half);
        break;
    case PSC_MARK_DOT_READ:
        psc_paint_colour(cr, palette, PSC_COL_READ);
        psc_paint_area(cr, x - 1, y - half, x + 3, y + half);
        break;
    case PSC_MARK_PEAK:
        triangle(cr, x - half, y - half, x + half, y - half, x, y + half * 0.6);
        psc_paint_colour(cr, palette, PSC_COL_INK);
        cairo_fill(cr);
        break;
    case PSC_MARK_OTHERWISE:
        unequal(cr, palette, x, y, size);
        break;
    case PSC_MARK_KIND_N:
        break;
    }
}

/* ---- bars ----------------------------------------------------------------------------------- */

struct look { uint32_t fill, edge; };

static struct look look_of(const struct psc_palette *p, const struct psc_bar *bar)
{
    const uint32_t *rgb = p->rgb;
    switch (bar->style) {
    case PSC_STYLE_PINNED: return (struct look){rgb[PSC_COL_IO_FILL], rgb[PSC_COL_IO_EDGE]};
    case PSC_STYLE_STAGING: return (struct look){rgb[PSC_COL_STAGE_FILL], rgb[PSC_COL_STAGE_EDGE]};
    case PSC_STYLE_KV: return (struct look){rgb[PSC_COL_KV_FILL], rgb[PSC_COL_KV_EDGE]};
    case PSC_STYLE_OWN: return (struct look){rgb[PSC_COL_ACT_FILL], rgb[PSC_COL_INK]};
    case PSC_STYLE_OVERWRITTEN:
        return (struct look){psc_rgb_mix(rgb[PSC_COL_ACT_FILL], rgb[PSC_COL_CANVAS], 0.78),
                             psc_rgb_mix(rgb[PSC_COL_ACT_EDGE], rgb[PSC_COL_CANVAS], 0.35)};
    case PSC_STYLE_UNRECORDED:
        return (struct look){rgb[PSC_COL_CANVAS], psc_rgb_mix(rgb[PSC_COL_ACT_EDGE], rgb[PSC_COL_CANVAS], 0.55)};
    default: return (struct look){rgb[PSC_COL_ACT_FILL], rgb[PSC_COL_ACT_EDGE]};
    }
}

static void zigzag_foot(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *b, uint32_t edge)
{
    cairo_move_to(cr, b->x0, b->y1);
    double x = b->x0;
    for (int i = 0; x < b->x1; i++, x += 3)
        cairo_line_to(cr, x, b->y1 - (i & 1 ? 4 : 0.5));
    cairo_line_to(cr, b->x1, b->y1);
    cairo_line_to(cr, b->x1, b->y1 + 1);
    cairo_line_to(cr, b->x0, b->y1 + 1);
    cairo_close_path(cr);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    cairo_fill(cr);
    x = b->x0;
    for (int i = 0; x < b->x1 + 1; i++, x += 3)
        cairo_line_to(cr, fmin(x, b->x1), b->y1 - (i & 1 ? 4 : 0.5));
    mixed(cr, edge, edge, 0);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
}

/* The comb of a later version: slanted ticks along the foot. */
static void comb(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *b)
{
    if (b->foot - b->y0 < 16)
        return;
    cairo_save(cr);
    cairo_rectangle(cr, b->x0 + 4, b->foot - 6, b->x1 - b->x0 - 5, 5);
    cairo_clip(cr);
    for (double x = b->x0; x < b->x1 + 6; x += 6) {
        cairo_move_to(cr, x, b->foot - 1);
        cairo_line_to(cr, x + 5, b->foot - 6);
    }
    psc_paint_colour(cr, palette, PSC_COL_ACT_EDGE);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
    cairo_restore(cr);
}

/* Same bytes, next version: a slanted cut at the left end of the later bar. */
static void seam(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *b)
{
    double slant = fmin(5, (b->y1 - b->y0) / 3);
    cairo_move_to(cr, b->x0 + slant, b->y0);
    cairo_line_to(cr, b->x0 - slant, b->y1);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    cairo_set_line_width(cr, 4);
    cairo_stroke(cr);
    cairo_move_to(cr, b->x0 + slant - 2, b->y0 + 0.5);
    cairo_line_to(cr, b->x0 - slant - 2, b->y1 - 0.5);
    cairo_move_to(cr, b->x0 + slant + 2, b->y0 + 0.5);
    cairo_line_to(cr, b->x0 - slant + 2, b->y1 - 0.5);
    psc_paint_colour(cr, palette, PSC_COL_ACT_EDGE);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
}

/* Taken over at once: two stitches across the boundary. */
static void stitch(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *b)
{
    double third = fmax(2.5, fmin((b->y1 - b->y0) / 6, 8)), middle = floor((b->y0 + b->y1) / 2);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_area(cr, b->x0 - 1, b->y0 + 1, b->x0 + 1, b->y1 - 1);
    for (int i = -1; i <= 1; i += 2) {
        psc_paint_colour(cr, palette, PSC_COL_CANVAS);
        psc_paint_area(cr, b->x0 - 5, middle + i * third - 1.5, b->x0 + 5, middle + i * third + 1.5);
        psc_paint_colour(cr, palette, PSC_COL_INK);
        psc_paint_area(cr, b->x0 - 4, middle + i * third - 0.5, b->x0 + 4, middle + i * third + 0.5);
    }
}

void psc_paint_bar(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *b)
{
    struct look look = look_of(palette, b);
    cairo_antialias_t before = cairo_get_antialias(cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    mixed(cr, look.fill, look.fill, 0);
    psc_paint_area(cr, b->x0, b->y0, b->x1, b->y1);
    if (b->y1 - b->y0 < 5) {
        cairo_set_antialias(cr, before);
        return; /* a row of a few px is its fill */
    }
    if (b->style == PSC_STYLE_KV)
        psc_paint_pattern(cr, palette, &(struct psc_area){b->x0, b->y0, b->x1, b->y1}, PSC_BRICK, PSC_COL_KV_BRICK);
    if (b->foot < b->y1) {
        psc_paint_colour(cr, palette, PSC_COL_PADDING);
        psc_paint_area(cr, b->x0, b->foot, b->x1, b->y1);
        psc_paint_pattern(cr, palette, &(struct psc_area){b->x0 + 2, b->foot + 2, b->x1, b->y1}, PSC_DOTS, PSC_COL_ACT_EDGE);
    }
    mixed(cr, look.edge, look.edge, 0);
    psc_paint_area(cr, b->x0, b->y0, b->x1, b->y0 + 1);
    psc_paint_area(cr, b->x0, b->y1 - 1, b->x1, b->y1);
    if (!(b->edge & (PSC_EDGE_CUT_LEFT | PSC_EDGE_SEAM_LEFT)))
        psc_paint_area(cr, b->x0, b->y0, b->x0 + 1, b->y1);
    if (!(b->edge & (PSC_EDGE_CUT_RIGHT | PSC_EDGE_SEAM_RIGHT)))
        psc_paint_area(cr, b->x1 - 1, b->y0, b->x1, b->y1);
    if (b->style == PSC_STYLE_PINNED && b->y1 - b->y0 < 17 && b->x1 - b->x0 >= 8) { /* low: only its ends are double */
        psc_paint_area(cr, b->x0 + 2, b->y0, b->x0 + 3, b->y1);
        psc_paint_area(cr, b->x1 - 3, b->y0, b->x1 - 2, b->y1);
    } else if (b->style == PSC_STYLE_PINNED && b->x1 - b->x0 >= 8)
        psc_paint_frame(cr, b->edge & PSC_EDGE_CUT_LEFT ? b->x0 - 4 : b->x0 + 2, b->y0 + 2,
                        b->edge & PSC_EDGE_CUT_RIGHT ? b->x1 + 4 : b->x1 - 2, b->y1 - 2, 1);
    cairo_set_antialias(cr, before);
    if (b->count > 1 && b->y1 - b->y0 >= 9)
        zigzag_foot(cr, palette, b, look.edge);
    if (b->edge & PSC_EDGE_SEAM_LEFT) {
        comb(cr, palette, b);
        seam(cr, palette, b);
    }
    if (b->edge & PSC_EDGE_STITCH)
        stitch(cr, palette, b);
    if (b->edge & PSC_EDGE_ALARM) {
        psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
        psc_paint_frame(cr, b->x0, b->y0, b->x1, b->y1, b->x1 - b->x0 >= 8 ? 2 : 1);
    }
    if (b->sign && b->x1 - b->x0 >= 7 && b->y1 - b->y0 >= 8) {
        bool wide = b->x1 - b->x0 >= PSC_SIGN_BESIDE;
        double x = wide ? b->x0 + 10 : (b->x0 + b->x1) / 2, size = fmin(10, b->y1 - b->y0 - 1);
        if (b->x1 - b->x0 >= 13 || b->sign == 1 + 0)
            psc_paint_mark(cr, palette, (enum psc_mark_kind)(PSC_MARK_OWN + b->sign - 1), x, (b->y0 + b->y1) / 2,
                           b->x1 - b->x0 >= 13 ? size : 6, 0);
    }
}
