#include "ui/draw/paint.h"

#include <math.h>

#define TEETH_MAX 11
#define TOOTH     8.0 /* px deep */

static bool has_area(const struct psc_area *a)
{
    return a->x1 > a->x0 && a->y1 > a->y0;
}

static void dim(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr)
{
    uint32_t c = palette->rgb[PSC_COL_CANVAS];
    const struct psc_frame *f = &l->frame;
    cairo_set_source_rgba(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0, 0.70);
    psc_paint_area(cr, f->gutter_x, f->lanes.y0, f->data_x + f->data_w, f->usage.y1 > f->lanes.y1 ? f->usage.y1 : f->lanes.y1);
}

static void torn_path(cairo_t *cr, const struct psc_area *a, double grow)
{
    double h = a->y1 - a->y0 + 2 * grow, y = a->y0 - grow;
    int teeth = (int)fmin(fmax((a->y1 - a->y0) / 10, 2), TEETH_MAX);
    cairo_move_to(cr, a->x1 + grow, y);
    cairo_line_to(cr, a->x1 + grow, y + h);
    for (int i = 0; i <= 2 * teeth; i++)
        cairo_line_to(cr, a->x0 - grow - (i & 1 ? 0 : TOOTH), y + h - h * i / (2.0 * teeth));
    cairo_close_path(cr);
}

static void text_if_fits(cairo_t *cr, struct psc_type *type, enum psc_font font, const char *text, double x, double y, double right)
{
    if (type && psc_type_width(type, font, text) <= right - x)
        psc_type_show(type, cr, font, PSC_LEFT, text, x, y);
}

static void paint_writer(const struct psc_clobber *c, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *w = &c->writer;
    torn_path(cr, w, 4);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    cairo_fill(cr);
    torn_path(cr, w, 0);
    psc_paint_colour(cr, palette, PSC_COL_ACT_FILL);
    cairo_fill_preserve(cr);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    cairo_set_line_width(cr, 2.4);
    cairo_stroke(cr);
    psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
    double top = w->y0 + (w->y1 - w->y0 >= 44 ? 22 : (w->y1 - w->y0) / 2);
    text_if_fits(cr, type, PSC_FONT_BAR_BOLD, c->writer_number, w->x0 + 5, top, w->x1 - 2);
    if (w->y1 - w->y0 >= 44)
        text_if_fits(cr, type, PSC_FONT_BAR, c->writer_name, w->x0 + 5, top + 14, w->x1 - 2);
    psc_paint_mark(cr, palette, PSC_MARK_WRITE, fmin(c->write_x, w->x1 - 8), w->y0 + 1, 11, 0);
}

/* The two lives: the one that was counted, dashed, and the real one. */
static void paint_lives(const struct psc_clobber *c, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *v = &c->victim;
    static const double dash[2] = {4, 3};
    double left = v->x0 + 22, clean = c->hatch.x0 - 14, y = v->y0 + 52, below = v->y1 - 14;
    if (v->y1 - v->y0 < 90 || clean - left < 60 || !c->believed[0])
        return;
    double end = fmin(fmax(c->believed_x, left + 16), clean);
    double width = type ? psc_type_width(type, PSC_FONT_BAR, c->believed) : 0;
    if (end + 8 + width > clean)
        end = fmax(left + 16, fmin(end, clean - width - 8));
    if (end + 7 + width > c->hatch.x0 - 10)
        return; /* lines without their words say nothing */
    psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
    cairo_set_line_width(cr, 2);
    cairo_set_dash(cr, dash, 2, 0);
    cairo_move_to(cr, left, y), cairo_line_to(cr, end, y);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
    psc_paint_area(cr, left - 1, y - 4, left + 1, y + 4);
    psc_paint_area(cr, end - 1, y - 4, end + 1, y + 4);
    text_if_fits(cr, type, PSC_FONT_BAR, c->believed, end + 7, y, c->hatch.x0 - 10);
    double right = c->read_x - 9, words = type ? psc_type_width(type, PSC_FONT_BAR_BOLD, c->needed) : 0;
    if (!c->has_read || c->race || left + 40 + words + 10 > clean)
        return;
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_area(cr, c->hatch.x0, below - 3, right + 2, below + 3);
    psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
    psc_paint_area(cr, left, below - 1, right, below + 1);
    psc_paint_area(cr, left - 1, below - 5, left + 1, below + 5);
    psc_paint_area(cr, right - 1, below - 5, right + 1, below + 5);
    double x = left + 40;
    if (!type)
        return;
    psc_paint_colour(cr, palette, PSC_COL_ACT_FILL);
    psc_paint_area(cr, x - 6, below - 7, x + words + 6, below + 7);
    psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
    psc_type_show(type, cr, PSC_FONT_BAR_BOLD, PSC_LEFT, c->needed, x, below);
}

static void paint_victim(const struct psc_clobber *c, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *v = &c->victim, *h = &c->hatch;
    psc_paint_colour(cr, palette, PSC_COL_ACT_FILL);
    psc_paint_area(cr, v->x0, v->y0, v->x1, v->y1);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER_GROUND);
    psc_paint_area(cr, h->x0, h->y0, h->x1, h->y1);
    psc_paint_hatch(cr, palette, h);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    psc_paint_frame(cr, v->x0 - 1, v->y0 - 1, v->x1 + 1, v->y1 + 1, 3);
    psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
    double x = fmax(v->x0, 0) + 26, right = h->x0 - 10;
    if (v->y1 - v->y0 >= 44) {
        psc_paint_mark(cr, palette, PSC_MARK_WRITE, v->x0 + 13, v->y0 + 2, 12, 0);
        psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
        text_if_fits(cr, type, PSC_FONT_BASE_BOLD, c->title, x, v->y0 + 16, right);
        text_if_fits(cr, type, PSC_FONT_BAR, c->detail, x, v->y0 + 31, right);
    } else {
        text_if_fits(cr, type, PSC_FONT_BAR_BOLD, c->title, v->x0 + 8, (v->y0 + v->y1) / 2, right);
    }
    paint_lives(c, palette, cr, type);
}

/* A curved arrow from the bad write over the row to the doomed read, on a halo. */
static void paint_arrow(const struct psc_clobber *c, const struct psc_palette *palette, cairo_t *cr)
{
    double x0 = has_area(&c->writer) ? fmin(c->write_x, c->writer.x1 - 8) : c->write_x;
    double y0 = has_area(&c->writer) ? c->writer.y0 : c->victim.y0 + 6, x1 = c->read_x, y1 = c->victim.y1 - 18;
    double top = c->victim.y0 - 22;
    if (fabs(x1 - x0) < 14)
        return;
    for (int i = 0; i < 2; i++) {
        cairo_move_to(cr, x0, y0 - 2);
        cairo_curve_to(cr, x0 + (x1 > x0 ? 2 : -2), top, x1 + (x1 > x0 ? -4 : 4), top, x1, y1 - 10);
        psc_paint_colour(cr, palette, i ? PSC_COL_CLOBBER : PSC_COL_CANVAS);
        cairo_set_line_width(cr, i ? 2.6 : 6);
        cairo_stroke(cr);
        cairo_move_to(cr, x1, y1);
        cairo_line_to(cr, x1 - 6, y1 - 12);
        cairo_line_to(cr, x1 + 6, y1 - 12);
        cairo_close_path(cr);
        if (i) {
            cairo_fill(cr);
        } else {
            cairo_set_line_width(cr, 4);
            cairo_stroke(cr);
        }
    }
}

static void paint_box(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const char *text, double x, double y)
{
    double width = psc_type_width(type, PSC_FONT_BAR_BOLD, text);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_area(cr, x - 10, y - 12, x + width + 10, y + 12);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    psc_paint_frame(cr, x - 8, y - 10, x + width + 8, y + 10, 2);
    psc_paint_colour(cr, palette, PSC_COL_INK);
    psc_type_show(type, cr, PSC_FONT_BAR_BOLD, PSC_LEFT, text, x, y);
}

/* Box 1 left of the bad write, box 2 right of it, both inside the data area and not over each other. */
static void paint_boxes(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_clobber *c = &l->clobber;
    double low = l->frame.data_x + 12, high = l->frame.data_x + l->frame.data_w - 12;
    double w1 = psc_type_width(type, PSC_FONT_BAR_BOLD, c->first), w2 = psc_type_width(type, PSC_FONT_BAR_BOLD, c->second);
    double x1 = fmax(low, c->write_x - 28 - w1), x2 = fmin(high - w2, c->read_x + 24);
    if (!c->has_read) {
        paint_box(cr, palette, type, c->first, fmin(x1, high - w1), c->head_y);
        return;
    }
    if (c->race) { /* the other way round: the read stands left */
        x2 = fmax(low, c->read_x - 24 - w2);
        x1 = fmin(fmax(c->write_x + 28, x2 + w2 + 24), high - w1);
        if (x1 >= x2 + w2 + 24)
            paint_box(cr, palette, type, c->second, x2, c->head_y);
        paint_box(cr, palette, type, c->first, x1, c->head_y);
        return;
    }
    if (x2 < x1 + w1 + 24)
        x2 = x1 + w1 + 24;
    if (x2 + w2 > high) {
        x2 = high - w2;
        x1 = fmin(x1, x2 - w1 - 24);
    }
    if (x1 >= low)
        paint_box(cr, palette, type, c->first, x1, c->head_y);
    paint_box(cr, palette, type, c->second, fmax(x2, low), c->head_y);
}

/* A bracket beside the axis marks the bytes. */
static void paint_bracket(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_clobber *c = &l->clobber;
    double x = l->frame.data_x - 2, y0 = c->hatch.y0 - 1, y1 = c->hatch.y1 + 1, right = x - 14;
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    psc_paint_area(cr, x - 7, y0, x - 3, y1);
    psc_paint_area(cr, x - 7, y0, x + 2, y0 + 4);
    psc_paint_area(cr, x - 7, y1 - 4, x + 2, y1);
    if (!type || y1 - y0 < 90)
        return;
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER_TEXT);
    psc_type_show(type, cr, PSC_FONT_SMALL_BOLD, PSC_RIGHT, c->lo, right, y0 + 27);
    psc_type_show(type, cr, PSC_FONT_SMALL_BOLD, PSC_RIGHT, c->hi, right, y1 - 9);
    psc_paint_colour(cr, palette, PSC_COL_INK);
    psc_type_show(type, cr, PSC_FONT_SMALL_BOLD, PSC_RIGHT, c->bytes, right, (y0 + y1) / 2 + 2);
    psc_paint_colour(cr, palette, PSC_COL_DIM);
    psc_type_show(type, cr, PSC_FONT_SMALL, PSC_RIGHT, c->part, right, (y0 + y1) / 2 + 15);
}

static void paint_reader(const struct psc_clobber *c, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    psc_paint_mark(cr, palette, PSC_MARK_READ, c->read_x, c->victim.y1 - 2, 14, 0);
    if (!has_area(&c->reader) || (c->reader.y0 < c->victim.y1 && c->victim.y0 < c->reader.y1))
        return;
    bool below = c->reader.y0 >= c->victim.y1;
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    psc_paint_area(cr, c->read_x - 1, below ? c->victim.y1 : c->reader.y1, c->read_x + 1, below ? c->reader.y0 : c->victim.y0);
    psc_paint_frame(cr, c->reader.x0 - 1, c->reader.y0 - 1, c->reader.x1 + 1, c->reader.y1 + 1, 3);
    psc_paint_colour(cr, palette, PSC_COL_ACT_FILL);
    psc_paint_area(cr, c->reader.x0 + 2, c->reader.y0 + 2, c->reader.x1 - 2, c->reader.y1 - 2);
    psc_paint_colour(cr, palette, PSC_COL_ACT_TEXT);
    double width = type ? psc_type_width(type, PSC_FONT_SMALL_BOLD, c->reader_number) : 0;
    if (type && width + 8 <= c->reader.x1 - c->reader.x0)
        psc_type_show(type, cr, PSC_FONT_SMALL_BOLD, PSC_CENTRE, c->reader_number, (c->reader.x0 + c->reader.x1) / 2,
                      (c->reader.y0 + c->reader.y1) / 2);
}

void psc_paint_clobber(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_clobber *c = &l->clobber;
    const struct psc_frame *f = &l->frame;
    dim(l, palette, cr);
    cairo_save(cr);
    cairo_rectangle(cr, 0, f->lanes.y0, f->data_x + f->data_w, f->lanes.y1 - f->lanes.y0);
    cairo_clip(cr);
    paint_bracket(l, palette, cr, type);
    cairo_rectangle(cr, f->data_x, f->lanes.y0, f->data_w, f->lanes.y1 - f->lanes.y0);
    cairo_clip(cr);
    paint_victim(c, palette, cr, type);
    if (has_area(&c->writer))
        paint_writer(c, palette, cr, type);
    if (c->has_read) {
        paint_reader(c, palette, cr, type);
        paint_arrow(c, palette, cr);
    }
    if (type)
        paint_boxes(l, palette, cr, type);
    cairo_restore(cr);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    for (int i = 0; i < 3; i++)
        if (has_area(&c->cells[i]))
            psc_paint_frame(cr, c->cells[i].x0, c->cells[i].y0, c->cells[i].x1, c->cells[i].y1, 2);
}
