/* ui/card.h: the bricks of the inspector: titles, sections, key and value lines, links, badges.
 *
 *     psc_card_begin(&card, ws, box);
 *     psc_card_title(&card, "#124 ffn_up", "matmul");
 *     psc_card_section(&card, "PLACEMENT");
 *     psc_card_line(&card, "Buffer", "b9");
 *     psc_card_end(&card);
 *
 * A box is filled again with each step. What stands at the same place already, and is of the same make, gets the new words
 * and stays, with its focus; only what differs is made anew, and psc_card_end removes what was not asked for again.
 *
 * A link is a button whose click selects a node or buffer of the workspace; Shift or a second click is not
 * needed: Enter and Space work as on any button.
 */
#ifndef PSC_UI_CARD_H
#define PSC_UI_CARD_H

#include "core/base/text.h"
#include "ui/workspace.h"

#include <gtk/gtk.h>

typedef struct {
    PscWorkspace *ws;
    GtkWidget *box;  /* vertical: everything stands in here */
    GtkWidget *last; /* of the box, of this filling; NULL: none so far */
    GtkWidget *badge; /* likewise in the row of badges */
    int badges_width; /* of that row so far */
    GtkWidget *grid; /* of the current section */
    int row;
    const char *keep; /* of the next widget, from psc_card_keeps */
} PscCard;

void psc_card_begin(PscCard *card, PscWorkspace *ws, GtkWidget *box);
void psc_card_end(PscCard *card);
void psc_card_title(PscCard *card, const char *title, const char *subtitle);
void psc_card_badge(PscCard *card, const char *text, const char *style); /* below the title; style may be NULL */
void psc_card_section(PscCard *card, const char *heading);
void psc_card_line(PscCard *card, const char *key, const char *value);
void psc_card_linef(PscCard *card, const char *key, const char *format, ...) PSC_PRINTF(3, 4);
/* key, a link to the node, and words after it (may be NULL). */
void psc_card_node(PscCard *card, const char *key, psc_node node, const char *after);
void psc_card_buffer(PscCard *card, const char *key, uint32_t buffer, const char *after);
void psc_card_text(PscCard *card, const char *text, const char *style); /* across both columns */
void psc_card_note(PscCard *card, const char *text, const char *style); /* framed: "note", "note warn" ... */
void psc_card_widget(PscCard *card, GtkWidget *widget);
/* Whether the widget that is next was made for the same `what`, and stays; else the caller makes it. */
gboolean psc_card_keeps(PscCard *card, const char *what);

#endif
