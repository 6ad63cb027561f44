/* ui/kv-pane-private.h: the insides of the KV view, shared by kv-pane*.c only. */
#ifndef PSC_UI_KV_PANE_PRIVATE_H
#define PSC_UI_KV_PANE_PRIVATE_H

#include "ui/draw/kv-page.h"
#include "ui/kv-pane.h"

struct _PscKvPane {
    GtkWidget parent_instance;
    PscWorkspace *ws;
    struct psc_type *type;
    struct psc_kv_page page;
    const struct psc_kv_step *made_for; /* compared only; NULL: the page is out of date */
    GskRenderNode *node;                /* paints the page */
    struct psc_kv_overlay overlay;
    struct psc_kv_over *kept;           /* records of the nodes below */
    GskRenderNode **nodes;              /* one each, reused while their record stays the same */
    size_t kept_n;
    double y, y_zoom;
    /* pointer */
    double px, py;
    uint32_t hover_layer, hover_row;
    struct psc_area hovered;
    GtkWidget *card;
    guint card_timer;
    enum { PSC_KV_DRAG_NONE, PSC_KV_DRAG_PAN, PSC_KV_DRAG_OVERVIEW, PSC_KV_DRAG_LEFT, PSC_KV_DRAG_RIGHT } drag;
    double drag_lo, drag_hi, drag_y;
};

gboolean psc_kv_pane_ready(PscKvPane *self);
void psc_kv_pane_set_scroll(PscKvPane *self, double y);
void psc_kv_pane_zoom_rows_at(PscKvPane *self, double px, double factor);
void psc_kv_pane_zoom_layers_at(PscKvPane *self, double py, double factor);
void psc_kv_pane_hide_card(PscKvPane *self);
void psc_kv_pane_add_controllers(PscKvPane *self); /* kv-pane-input.c */

#endif
