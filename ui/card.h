/* ui/card.h: the bricks of the inspector: titles, sections, key and value lines, links, badges.
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
    GtkWidget *box;  /* vertical: everything is appended here */
    GtkWidget *grid; /* of the current section */
    int row;
} PscCard;

void psc_card_begin(PscCard *card, PscWorkspace *ws, GtkWidget *box); /* empties the box */
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

#endif
