#include "ui/kv-pane-private.h"

#include "core/debug/explain-rows.h"
#include "ui/access.h"
#include "ui/palette.h"

#include <math.h>
#include <string.h>

#define CARD_GAP 6
#define Y_ZOOM_MIN 1.0
#define Y_ZOOM_MAX 12.0

G_DEFINE_FINAL_TYPE(PscKvPane, psc_kv_pane, GTK_TYPE_WIDGET)

void psc_kv_pane_get_view(PscKvPane *self, struct psc_kv_view *ret)
{
    PscKvCell cell = psc_workspace_kv_cell(self->ws);
    struct psc_kv_view view = {.y = self->y, .y_zoom = self->y_zoom,
                               .width = gtk_widget_get_width(GTK_WIDGET(self)),
                               .height_px = gtk_widget_get_height(GTK_WIDGET(self)),
                               .scale = gtk_widget_get_scale_factor(GTK_WIDGET(self)), .dark = psc_ui_is_dark(),
                               .halves = psc_workspace_kv_halves(self->ws), .position = psc_workspace_cursor(self->ws),
                               .layer = cell.layer, .row = cell.row, .is_v = cell.is_v,
                               .hover_layer = self->hover_layer, .hover_row = self->hover_row};
    psc_workspace_kv_range(self->ws, &view.lo, &view.hi);
    *ret = view;
}

gboolean psc_kv_pane_ready(PscKvPane *self)
{
    return self->made_for && self->made_for == psc_workspace_kv(self->ws);
}

void psc_kv_pane_set_scroll(PscKvPane *self, double y)
{
    y = floor(CLAMP(y, 0, psc_kv_max_scroll(&self->page)));
    if (y == self->y)
        return;
    self->y = y;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- the page ------------------------------------------------------------------------------------------------ */

static gboolean same_view(const struct psc_kv_view *a, const struct psc_kv_view *b)
{
    return a->lo == b->lo && a->hi == b->hi && a->y == b->y && a->y_zoom == b->y_zoom && a->width == b->width &&
           a->height_px == b->height_px && a->scale == b->scale && a->dark == b->dark && a->halves == b->halves;
}

static void drop_nodes(PscKvPane *self)
{
    for (size_t i = 0; i < self->kept_n; i++)
        g_clear_pointer(&self->nodes[i], gsk_render_node_unref);
    g_clear_pointer(&self->nodes, g_free);
    g_clear_pointer(&self->kept, g_free);
    self->kept_n = 0;
}

static void drop_page(PscKvPane *self)
{
    self->made_for = NULL;
    g_clear_pointer(&self->node, gsk_render_node_unref);
    drop_nodes(self);
}

static gboolean update_page(PscKvPane *self, const struct psc_kv_step *step, const struct psc_kv_view *view)
{
    if (self->node && self->made_for == step && same_view(&self->page.view, view))
        return TRUE;
    drop_page(self);
    if (psc_kv_page_build(&self->page, step, view, self->type, NULL) != PSC_OK)
        return FALSE;
    self->made_for = step;
    if (self->y > psc_kv_max_scroll(&self->page)) { /* fewer layers, or lower ones */
        self->y = floor(psc_kv_max_scroll(&self->page));
        gtk_widget_queue_draw(GTK_WIDGET(self));
    }
    self->node = gsk_cairo_node_new(&GRAPHENE_RECT_INIT(0, 0, (float)view->width, (float)view->height_px));
    cairo_t *cr = gsk_cairo_node_get_draw_context(self->node);
    psc_kv_page_paint(&self->page, psc_palette_get(view->dark), cr, self->type);
    cairo_destroy(cr);
    return TRUE;
}

/* ---- overlays -------------------------------------------------------------------------------------------------- */

static gboolean same_record(const struct psc_kv_over *a, const struct psc_kv_over *b)
{
    return a->kind == b->kind && a->colour == b->colour && a->mark == b->mark && a->halves == b->halves &&
           memcmp(&a->area, &b->area, sizeof a->area) == 0 && memcmp(&a->clip, &b->clip, sizeof a->clip) == 0 &&
           strcmp(a->text, b->text) == 0;
}

static GskRenderNode *take_kept(PscKvPane *self, const struct psc_kv_over *record)
{
    for (size_t i = 0; i < self->kept_n; i++)
        if (self->nodes[i] && same_record(&self->kept[i], record))
            return g_steal_pointer(&self->nodes[i]);
    return NULL;
}

static GskRenderNode *new_node(PscKvPane *self, const struct psc_kv_over *record)
{
    const struct psc_area *c = &record->clip;
    GskRenderNode *node = gsk_cairo_node_new(&GRAPHENE_RECT_INIT(floorf(c->x0), floorf(c->y0), ceilf(c->x1) - floorf(c->x0),
                                                                 ceilf(c->y1) - floorf(c->y0)));
    cairo_t *cr = gsk_cairo_node_get_draw_context(node);
    psc_kv_over_paint(record, psc_palette_get(psc_ui_is_dark()), cr, self->type);
    cairo_destroy(cr);
    return node;
}

/* Nodes of records that did not change are the same objects as before: they damage nothing. */
static void snapshot_overlay(PscKvPane *self, GtkSnapshot *snapshot, const struct psc_kv_view *view)
{
    if (psc_kv_overlay_build(&self->overlay, &self->page, view, self->type, NULL) != PSC_OK)
        return;
    size_t n = self->overlay.n;
    struct psc_kv_over *kept = g_memdup2(self->overlay.items, n * sizeof *kept);
    GskRenderNode **nodes = g_new0(GskRenderNode *, n + 1);
    for (size_t i = 0; i < n; i++) {
        nodes[i] = take_kept(self, &kept[i]);
        if (!nodes[i])
            nodes[i] = new_node(self, &kept[i]);
        gtk_snapshot_append_node(snapshot, nodes[i]);
    }
    drop_nodes(self);
    self->kept = kept;
    self->nodes = nodes;
    self->kept_n = n;
}

static void snapshot_focus(PscKvPane *self, GtkSnapshot *snapshot)
{
    if (!gtk_widget_has_visible_focus(GTK_WIDGET(self)))
        return;
    GdkRGBA colour = psc_ui_colour(PSC_COL_SELECT);
    GskRoundedRect outline;
    gsk_rounded_rect_init_from_rect(&outline,
                                    &GRAPHENE_RECT_INIT(0, 0, (float)gtk_widget_get_width(GTK_WIDGET(self)),
                                                        (float)gtk_widget_get_height(GTK_WIDGET(self))), 0);
    gtk_snapshot_append_border(snapshot, &outline, (float[]){1, 1, 1, 1}, (GdkRGBA[]){colour, colour, colour, colour});
}

static void snapshot_nothing(PscKvPane *self, GtkSnapshot *snapshot)
{
    GtkWidget *widget = GTK_WIDGET(self);
    PscStudy *study = psc_workspace_study(self->ws);
    PangoLayout *layout = gtk_widget_create_pango_layout(
        widget, study && !study->graph
                    ? "There is no graph here, and so there are no layers with K and V regions.\nMap and Rows show what is there: "
                      "a cache of a scenario has a row for each cell (Y)."
                    : "This phase keeps no keys and values: no op of it stores into a layer\xe2\x80\x99s K and V regions, or loads from "
                "them.\nMap and Rows show its buffers (Y).");
    GdkRGBA colour = psc_ui_colour(PSC_COL_DIM);
    int width = gtk_widget_get_width(widget);
    pango_layout_set_width(layout, MAX(width - 40, 1) * PANGO_SCALE);
    pango_layout_set_alignment(layout, PANGO_ALIGN_CENTER);
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT(20, (float)gtk_widget_get_height(widget) / 2 - 20));
    gtk_snapshot_append_layout(snapshot, layout, &colour);
    gtk_snapshot_restore(snapshot);
    g_object_unref(layout);
}

static void psc_kv_pane_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscKvPane *self = PSC_KV_PANE(widget);
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    if (!step && psc_workspace_study(self->ws))
        snapshot_nothing(self, snapshot);
    if (!step || gtk_widget_get_width(widget) < 40 || gtk_widget_get_height(widget) < 40)
        return;
    struct psc_kv_view view;
    psc_kv_pane_get_view(self, &view);
    if (!update_page(self, step, &view))
        return;
    gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)view.width, (float)view.height_px));
    gtk_snapshot_append_node(snapshot, self->node);
    snapshot_overlay(self, snapshot, &view);
    snapshot_focus(self, snapshot);
    gtk_snapshot_pop(snapshot);
    if (gtk_widget_get_visible(self->card))
        gtk_widget_snapshot_child(widget, self->card, snapshot);
}

/* ---- zoom and scroll ----------------------------------------------------------------------------------------------- */

void psc_kv_pane_zoom_rows_at(PscKvPane *self, double px, double factor)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    struct psc_kv_view view;
    if (!step)
        return;
    psc_kv_pane_get_view(self, &view);
    psc_kv_view_zoom(&view, step, px, factor);
    psc_workspace_set_kv_range(self->ws, view.lo, view.hi);
}

void psc_kv_pane_zoom_rows(PscKvPane *self, double factor)
{
    PscKvCell cell;
    double lo, hi, left = psc_kv_data_x(gtk_widget_get_width(GTK_WIDGET(self)));
    double width = gtk_widget_get_width(GTK_WIDGET(self)) - left, part = 0.5;
    psc_workspace_kv_range(self->ws, &lo, &hi);
    if (psc_workspace_kv_focus(self->ws, &cell) && cell.row >= lo && cell.row < hi)
        part = (cell.row + 0.5 - lo) / (hi - lo);
    psc_kv_pane_zoom_rows_at(self, left + part * width, factor);
}

void psc_kv_pane_zoom_layers_at(PscKvPane *self, double py, double factor)
{
    double before = self->y_zoom, inside = py - (double)self->page.frame.layers.y0;
    self->y_zoom = CLAMP(before * factor, Y_ZOOM_MIN, Y_ZOOM_MAX);
    self->y = fmax(0, floor((self->y + inside) * self->y_zoom / before - inside));
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

void psc_kv_pane_zoom_layers(PscKvPane *self, double factor)
{
    psc_kv_pane_zoom_layers_at(self, (double)self->page.frame.layers.y0, factor);
}

void psc_kv_pane_show_all(PscKvPane *self)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    if (!step)
        return;
    self->y_zoom = 1;
    self->y = 0;
    psc_workspace_set_kv_range(self->ws, 0, step->regions.rows);
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

void psc_kv_pane_show_step(PscKvPane *self)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    double lo, hi;
    if (!step)
        return;
    psc_kv_first_range(step, &lo, &hi);
    psc_workspace_set_kv_range(self->ws, lo, hi);
}

/* ---- changes ----------------------------------------------------------------------------------------------------------- */

static void show_layer(PscKvPane *self)
{
    PscKvCell cell = psc_workspace_kv_cell(self->ws);
    if (psc_kv_pane_ready(self) && cell.layer != PSC_NONE)
        psc_kv_pane_set_scroll(self, psc_kv_scroll_to(&self->page, cell.layer));
}

static void describe(PscKvPane *self)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    struct psc_text text = {0};
    if (step) {
        psc_explain_kv_position(&text, step, psc_workspace_cursor(self->ws));
        psc_text_add(&text, ". ");
        psc_explain_kv_alarms(&text, step);
    }
    gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, psc_text_str(&text), -1);
    psc_text_release(&text);
}

static void changed_cb(PscKvPane *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_KV)) {
        self->hover_layer = self->hover_row = PSC_NONE;
        psc_kv_pane_hide_card(self);
    }
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP)) /* another step may lie at the same address */
        drop_page(self);
    if (what & PSC_CHANGED_DOCUMENT)
        self->y = 0, self->y_zoom = 1;
    if (!gtk_widget_get_mapped(GTK_WIDGET(self))) {
        drop_page(self);
        return;
    }
    if (what & PSC_CHANGED_KV) {
        if (psc_workspace_kv(self->ws) != self->made_for)
            drop_page(self);
        show_layer(self);
    }
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_CURSOR | PSC_CHANGED_KV)) {
        describe(self);
        gtk_widget_queue_draw(GTK_WIDGET(self));
    }
}

static void dark_cb(PscKvPane *self)
{
    drop_page(self);
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- widget ---------------------------------------------------------------------------------------------------------------- */

static void psc_kv_pane_map(GtkWidget *widget)
{
    PscKvPane *self = PSC_KV_PANE(widget);
    GTK_WIDGET_CLASS(psc_kv_pane_parent_class)->map(widget);
    drop_page(self);
    psc_workspace_need_kv(self->ws);
    describe(self);
}

static void psc_kv_pane_measure(GtkWidget *widget G_GNUC_UNUSED, GtkOrientation orientation, int size G_GNUC_UNUSED,
                                int *min, int *natural, int *min_base G_GNUC_UNUSED, int *natural_base G_GNUC_UNUSED)
{
    *min = orientation == GTK_ORIENTATION_HORIZONTAL ? 320 : 180;
    *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 900 : 600;
}

/* The card stands below the layer it speaks of, above it when there is no room. */
static void psc_kv_pane_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    PscKvPane *self = PSC_KV_PANE(widget);
    if (!gtk_widget_get_visible(self->card))
        return;
    GtkRequisition want;
    gtk_widget_get_preferred_size(self->card, NULL, &want);
    double x = CLAMP(self->px + 12, 0, MAX(0, width - want.width - 4));
    double below = (double)self->hovered.y1 + CARD_GAP, above = (double)self->hovered.y0 - CARD_GAP - want.height;
    double y = below + want.height <= height ? below : MAX(0, above);
    gtk_widget_size_allocate(self->card, &(GtkAllocation){(int)x, (int)y, want.width, want.height}, baseline);
}

static void psc_kv_pane_dispose(GObject *object)
{
    PscKvPane *self = PSC_KV_PANE(object);
    g_clear_handle_id(&self->card_timer, g_source_remove);
    g_clear_pointer(&self->card, gtk_widget_unparent);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_kv_pane_parent_class)->dispose(object);
}

static void psc_kv_pane_finalize(GObject *object)
{
    PscKvPane *self = PSC_KV_PANE(object);
    drop_page(self);
    psc_kv_page_release(&self->page);
    psc_kv_overlay_release(&self->overlay);
    psc_type_free(self->type);
    G_OBJECT_CLASS(psc_kv_pane_parent_class)->finalize(object);
}

static void psc_kv_pane_class_init(PscKvPaneClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = psc_kv_pane_dispose;
    G_OBJECT_CLASS(class)->finalize = psc_kv_pane_finalize;
    widget_class->snapshot = psc_kv_pane_snapshot;
    widget_class->measure = psc_kv_pane_measure;
    widget_class->size_allocate = psc_kv_pane_size_allocate;
    widget_class->map = psc_kv_pane_map;
    gtk_widget_class_set_css_name(widget_class, "timeline");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void psc_kv_pane_init(PscKvPane *self)
{
    self->type = psc_type_new();
    self->y_zoom = 1;
    self->hover_layer = self->hover_row = PSC_NONE;
    self->card = gtk_label_new(NULL);
    gtk_label_set_wrap(GTK_LABEL(self->card), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(self->card), 58);
    gtk_label_set_xalign(GTK_LABEL(self->card), 0);
    gtk_widget_add_css_class(self->card, "hover-card");
    gtk_widget_set_visible(self->card, FALSE);
    gtk_widget_set_can_target(self->card, FALSE);
    gtk_widget_set_parent(self->card, GTK_WIDGET(self));
    gtk_widget_set_focusable(GTK_WIDGET(self), TRUE);
    gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
    psc_ui_name(GTK_WIDGET(self), "KV regions");
    psc_kv_pane_add_controllers(self);
    g_signal_connect_object(gtk_settings_get_default(), "notify::gtk-application-prefer-dark-theme",
                            G_CALLBACK(dark_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *psc_kv_pane_new(PscWorkspace *ws)
{
    PscKvPane *self = g_object_new(PSC_TYPE_KV_PANE, NULL);
    self->ws = g_object_ref(ws);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
