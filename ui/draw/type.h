/* ui/draw/type.h: text for the drawing: a few fonts and a cache of shaped lines.
 *
 * One psc_type belongs to one thread. Widths are in device-independent px. Figures are tabular, so that
 * a number that counts up does not move.
 */
#ifndef PSC_UI_DRAW_TYPE_H
#define PSC_UI_DRAW_TYPE_H

#include <cairo.h>
#include <stdint.h>

enum psc_font {
    PSC_FONT_BAR,          /* labels in bars */
    PSC_FONT_BAR_BOLD,
    PSC_FONT_BASE,         /* 9 pt */
    PSC_FONT_BASE_BOLD,
    PSC_FONT_AXIS,         /* 8 pt: axis and captions */
    PSC_FONT_AXIS_BOLD,
    PSC_FONT_SMALL,        /* 7.5 pt: numbers of the ruler */
    PSC_FONT_SMALL_BOLD,
    PSC_FONT_TITLE,        /* 12 pt bold */
    PSC_FONT_MONO,         /* addresses */
    PSC_FONT_N
};
enum psc_align { PSC_LEFT, PSC_CENTRE, PSC_RIGHT };

struct psc_type;
struct psc_type *psc_type_new(void); /* NULL when out of memory */
void psc_type_free(struct psc_type *type);

double psc_type_width(struct psc_type *type, enum psc_font font, const char *text);
/* Draws one line; x is the left edge, middle or right edge of the text, y the middle of its x-height box. */
void psc_type_show(struct psc_type *type, cairo_t *cr, enum psc_font font, enum psc_align align,
                   const char *text, double x, double y);

/* A width without a font engine, for layouts without text (6 px a character): 0 for NULL text. */
double psc_type_guess(const char *text);

#endif
