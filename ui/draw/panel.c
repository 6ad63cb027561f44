#include "ui/draw/panel.h"

#include "core/base/mem.h"
#include "core/base/text.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define LINE_MAX 512u /* bytes of a line */

/* ---- the page ------------------------------------------------------------------------------------------------ */

void psc_panel_begin(struct psc_panel *p, double width, bool dark, bool no_text, struct psc_type *type)
{
    struct psc_layout *l = &p->base;
    l->view = (struct psc_view){.width = width, .scale = 1, .dark = dark, .no_text = no_text};
    l->scene = NULL;
    l->type = type;
    l->frame = (struct psc_frame){.data_w = (float)width};
    l->fill_n = l->line_n = l->bar_n = l->mark_n = l->label_n = l->curve_n = l->point_n = l->text_n = 0;
    l->cover_n = l->hold_n = l->copy_line_n = l->alarm_n = l->tick_n = 0;
    l->fill_lanes_end = l->line_lanes_end = l->mark_lanes_end = 0;
    l->failed = false;
    p->arrow_n = p->tip_n = p->tip_text_n = 0;
}

enum psc_status psc_panel_end(struct psc_panel *p, double height, struct psc_error *reterr)
{
    p->base.view.height_px = height;
    return p->base.failed ? psc_fail_nomem(reterr) : PSC_OK;
}

void psc_panel_release(struct psc_panel *p)
{
    psc_layout_release(&p->base);
    psc_free(p->arrows);
    psc_free(p->tips);
    psc_free(p->tip_text);
    *p = (struct psc_panel){0};
}

static void paint_arrow(const struct psc_panel_arrow *a, const struct psc_palette *palette, cairo_t *cr)
{
    double dx = (double)a->x1 - (double)a->x0, dy = (double)a->y1 - (double)a->y0, length = hypot(dx, dy);
    if (length < 1)
        return;
    double head = 5 + 1.5 * (double)a->width, half = head * 0.45, ux = dx / length, uy = dy / length;
    double bx = (double)a->x1 - ux * head, by = (double)a->y1 - uy * head;
    psc_paint_colour(cr, palette, (enum psc_colour)a->colour);
    cairo_set_line_width(cr, a->width);
    if (a->dash != PSC_UNBROKEN)
        cairo_set_dash(cr, (double[]){4, 3}, 2, 0);
    cairo_move_to(cr, a->x0, a->y0);
    cairo_line_to(cr, bx, by);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
    cairo_move_to(cr, a->x1, a->y1);
    cairo_line_to(cr, bx - uy * half, by + ux * half);
    cairo_line_to(cr, bx + uy * half, by - ux * half);
    cairo_close_path(cr);
    cairo_fill(cr);
}

void psc_panel_paint(const struct psc_panel *p, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    psc_paint(&p->base, palette, cr, type);
    cairo_save(cr);
    cairo_new_path(cr);
    for (size_t i = 0; i < p->arrow_n; i++)
        paint_arrow(&p->arrows[i], palette, cr);
    cairo_restore(cr);
}

const struct psc_panel_tip *psc_panel_at(const struct psc_panel *p, double x, double y)
{
    for (size_t i = p->tip_n; i-- > 0;) {
        const struct psc_area *a = &p->tips[i].area;
        if (x >= (double)a->x0 && x < (double)a->x1 && y >= (double)a->y0 && y < (double)a->y1)
            return &p->tips[i];
    }
    return NULL;
}

/* ---- records --------------------------------------------------------------------------------------------------- */

static void add_tip(struct psc_panel *p, struct psc_area a, int32_t position, const char *text)
{
    size_t n = strlen(text) + 1;
    if (!psc_grow(&p->tips, p->tip_n + 1, &p->tip_cap, sizeof *p->tips) ||
        !psc_grow(&p->tip_text, p->tip_text_n + n, &p->tip_text_cap, 1)) {
        p->base.failed = true;
        return;
    }
    p->tips[p->tip_n++] = (struct psc_panel_tip){a, (uint32_t)p->tip_text_n, position, -1};
    memcpy(p->tip_text + p->tip_text_n, text, n);
    p->tip_text_n += n;
}

void psc_panel_tip(struct psc_panel *p, struct psc_area a, int32_t position, const char *fmt, ...)
{
    char text[2 * LINE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    add_tip(p, a, position, text);
}

void psc_panel_chooses(struct psc_panel *p, int32_t choice)
{
    if (p->tip_n && !p->base.failed)
        p->tips[p->tip_n - 1].choice = choice;
}

void psc_panel_arrow(struct psc_panel *p, float x0, float y0, float x1, float y1, float width, enum psc_colour colour,
                     enum psc_dash dash)
{
    if (!psc_grow(&p->arrows, p->arrow_n + 1, &p->arrow_cap, sizeof *p->arrows)) {
        p->base.failed = true;
        return;
    }
    p->arrows[p->arrow_n++] = (struct psc_panel_arrow){x0, y0, x1, y1, width, (uint8_t)colour, (uint8_t)dash};
}

void psc_panel_frame(struct psc_panel *p, struct psc_area a, float width, enum psc_colour edge, enum psc_dash dash)
{
    float in = width / 2;
    psc_put_line(&p->base, a.x0, a.y0 + in, a.x1, a.y0 + in, width, edge, dash);
    psc_put_line(&p->base, a.x0, a.y1 - in, a.x1, a.y1 - in, width, edge, dash);
    psc_put_line(&p->base, a.x0 + in, a.y0, a.x0 + in, a.y1, width, edge, dash);
    psc_put_line(&p->base, a.x1 - in, a.y0, a.x1 - in, a.y1, width, edge, dash);
}

void psc_panel_box(struct psc_panel *p, struct psc_area a, enum psc_colour fill, enum psc_colour edge)
{
    if (fill != PSC_COL_NONE)
        psc_put_fill(&p->base, a.x0, a.y0, a.x1, a.y1, fill);
    if (edge != PSC_COL_NONE)
        psc_panel_frame(p, a, 1, edge, PSC_UNBROKEN);
}

float psc_panel_head(struct psc_panel *p, float x0, float x1, float y, const char *title, const char *words)
{
    psc_put_line(&p->base, x0, y + 0.5f, x1, y + 0.5f, 1, PSC_COL_RULE, PSC_UNBROKEN);
    float w = psc_panel_line(p, PSC_FONT_AXIS_BOLD, PSC_LEFT, PSC_COL_INK, title, x0, x1, y + 13);
    if (words && x0 + w + 40 < x1)
        psc_panel_line(p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, words, x0 + w + 10, x1, y + 13);
    return y + 26;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The bytes of text that fit into `room` px, whole characters, at most LINE_MAX. */
static size_t fitting(struct psc_panel *p, enum psc_font font, const char *text, size_t n, double room)
{
    uint16_t ends[LINE_MAX + 1]; /* of the first characters */
    char part[LINE_MAX + 8];
    size_t count = 0, lo = 0;
    for (size_t i = 1; i <= n && i <= LINE_MAX; i++)
        if (i == n || ((unsigned char)text[i] & 0xc0) != 0x80)
            ends[count++] = (uint16_t)i;
    for (size_t hi = count; lo < hi;) {
        size_t middle = (lo + hi + 1) / 2;
        memcpy(part, text, ends[middle - 1]);
        part[ends[middle - 1]] = '\0';
        if (psc_text_width(&p->base, font, part) <= room)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo ? ends[lo - 1] : 0;
}

float psc_panel_line(struct psc_panel *p, enum psc_font font, enum psc_align align, enum psc_colour colour, const char *text,
                     float x0, float x1, float y)
{
    char cut[LINE_MAX + 8];
    double room = (double)x1 - (double)x0, x = align == PSC_LEFT ? (double)x0 : align == PSC_RIGHT ? (double)x1
                                                                               : ((double)x0 + (double)x1) / 2;
    double w = psc_text_width(&p->base, font, text);
    if (room < 4)
        return 0;
    if (w > room) {
        size_t n = fitting(p, font, text, strlen(text), room - psc_text_width(&p->base, font, ELLIPSIS));
        memcpy(cut, text, n);
        memcpy(cut + n, ELLIPSIS, sizeof ELLIPSIS);
        add_tip(p, (struct psc_area){x0, y - 8, x1, y + 8}, PSC_NO_POSITION, text);
        text = cut;
        w = room;
    }
    psc_put_label(&p->base, font, align, colour, text, x, (double)y);
    return (float)w;
}

/* Where the next line of a text ends: at the last blank that fits, or in the middle of a word that is too long. */
static size_t break_at(struct psc_panel *p, enum psc_font font, const char *text, size_t n, double room)
{
    size_t fits = fitting(p, font, text, n, room), first = 1;
    if (fits >= n)
        return n;
    for (size_t i = fits; i > 0; i--)
        if (text[i] == ' ')
            return i;
    while (((unsigned char)text[first] & 0xc0) == 0x80)
        first++;
    return fits ? fits : first;
}

float psc_panel_words(struct psc_panel *p, enum psc_font font, enum psc_colour colour, const char *text, float x0, float x1,
                      float y, float pitch, uint32_t lines)
{
    char part[LINE_MAX + 1];
    const char *at = text;
    for (uint32_t i = 0; *at && (!lines || i < lines); i++) {
        size_t n = strlen(at), end = break_at(p, font, at, n, (double)x1 - (double)x0);
        bool last = lines && i + 1 == lines;
        if (end < n && last) { /* the rest is cut, the whole is a tip */
            psc_panel_line(p, font, PSC_LEFT, colour, at, x0, x1, y + pitch / 2);
            add_tip(p, (struct psc_area){x0, y - pitch * (float)i, x1, y + pitch}, PSC_NO_POSITION, text);
            return y + pitch;
        }
        memcpy(part, at, end < LINE_MAX ? end : LINE_MAX);
        part[end < LINE_MAX ? end : LINE_MAX] = '\0';
        psc_put_label(&p->base, font, PSC_LEFT, colour, part, (double)x0, (double)(y + pitch / 2));
        y += pitch;
        at += end;
        at += strspn(at, " ");
    }
    return y;
}
