/* ui/draw/panel.h: pages of boxes, words and arrows: what the panels of candela's planner and of the arenas are made of.
 *
 *     psc_panel_begin(&p, width, dark, false, type);
 *     y = psc_panel_head(&p, 8, width - 8, 8, "Alias map", "who stands for whom");
 *     psc_panel_box(&p, (struct psc_area){8, y, 120, y + 22}, PSC_COL_ACT_FILL, PSC_COL_ACT_EDGE);
 *     psc_panel_tip(&p, (struct psc_area){8, y, 120, y + 22}, 4, "k took t over at position 4");
 *     psc_panel_end(&p, height, &error);
 *
 * Everything is records, as in a layout (ui/draw/layout.h); painting walks them. A tip is an area with a text, and a
 * position to which a click leads. Texts that do not fit are cut with an ellipsis and get a tip with the whole text.
 * Ownership: the panel owns its arrays and keeps them between pages. type may be NULL: widths are guessed.
 */
#ifndef PSC_UI_DRAW_PANEL_H
#define PSC_UI_DRAW_PANEL_H

#include "ui/draw/layout.h"
#include "ui/draw/paint.h"

struct psc_panel_arrow { float x0, y0, x1, y1, width; uint8_t colour, dash; }; /* its head is at x1, y1 */
struct psc_panel_tip { struct psc_area area; uint32_t text; int32_t position, choice; }; /* text: offset into tip_text; choice: -1, or what a click chooses */
struct psc_panel {
    struct psc_layout base;
    struct psc_panel_arrow *arrows; size_t arrow_n, arrow_cap;
    struct psc_panel_tip *tips; size_t tip_n, tip_cap;
    char *tip_text; size_t tip_text_n, tip_text_cap;
};

void psc_panel_begin(struct psc_panel *p, double width, bool dark, bool no_text, struct psc_type *type);
enum psc_status psc_panel_end(struct psc_panel *p, double height, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_panel_release(struct psc_panel *p); /* {0} is an empty panel */
void psc_panel_paint(const struct psc_panel *p, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);
/* The last tip over this place, or NULL. */
const struct psc_panel_tip *psc_panel_at(const struct psc_panel *p, double x, double y);
static inline const char *psc_panel_tip_text(const struct psc_panel *p, const struct psc_panel_tip *tip)
{
    return p->tip_text + tip->text;
}

/* ---- parts; those that return a height return the y below them ---------------------------------------------- */

/* "ALIAS MAP  who stands for whom", a rule above. */
float psc_panel_head(struct psc_panel *p, float x0, float x1, float y, const char *title, const char *words);
void psc_panel_box(struct psc_panel *p, struct psc_area a, enum psc_colour fill, enum psc_colour edge);
void psc_panel_frame(struct psc_panel *p, struct psc_area a, float width, enum psc_colour edge, enum psc_dash dash);
void psc_panel_arrow(struct psc_panel *p, float x0, float y0, float x1, float y1, float width, enum psc_colour colour,
                     enum psc_dash dash);
/* One line, cut at x1 with an ellipsis (then the whole text is a tip). Returns its width. */
float psc_panel_line(struct psc_panel *p, enum psc_font font, enum psc_align align, enum psc_colour colour, const char *text,
                     float x0, float x1, float y);
/* Several lines, broken at blanks, of `pitch` px, at most `lines` (0: as many as it takes); y: top. Returns the y below. */
float psc_panel_words(struct psc_panel *p, enum psc_font font, enum psc_colour colour, const char *text, float x0, float x1,
                      float y, float pitch, uint32_t lines);
void psc_panel_tip(struct psc_panel *p, struct psc_area a, int32_t position, const char *fmt, ...) PSC_PRINTF(4, 5);
/* The last tip becomes one that chooses. */
void psc_panel_chooses(struct psc_panel *p, int32_t choice);

#endif
