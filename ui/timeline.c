#include "ui/timeline-private.h"

#include "core/debug/explain.h"
#include "ui/access.h"
#include "ui/palette.h"
#include "ui/workspace-story.h"

#include <math.h>
#include <string.h>

#define SLOW_US 8000     /* a base that took longer is next made in a worker */
#define FOLD_MS 250      /* a zoom that rests this long has settled: idle rows fold */
#define CARD_GAP 6
#define Y_ZOOM_MIN 0.4
#define Y_ZOOM_MAX 12.0

G_DEFINE_FINAL_TYPE(PscTimeline, psc_timeline, GTK_TYPE_WIDGET)

/* ---- what is to be shown ------------------------------------------------------------------------ */

void psc_timeline_get_view(PscTimeline *self, struct psc_view *ret)
{
    struct psc_view view;
    PscPicture *picture = psc_workspace_picture(self->ws);
    PscSelection selection = psc_workspace_selection(self->ws);
    const struct psc_tenancy *t = psc_study_tenancy(picture->study, selection.node);
    psc_view_init(&view, picture->scene, gtk_widget_get_width(GTK_WIDGET(self)),
                  gtk_widget_get_height(GTK_WIDGET(self)));
    view.mode = psc_workspace_y_mode(self->ws);
    view.height = psc_workspace_height(self->ws);
    view.colour = psc_workspace_colour_by(self->ws);
    psc_workspace_range(self->ws, &view.lo, &view.hi);
    view.y = self->y;
    view.y_zoom = self->y_zoom;
    view.scale = gtk_widget_get_scale_factor(GTK_WIDGET(self));
    view.dark = psc_ui_is_dark();
    view.fold = true;
    view.ghosts = psc_workspace_story(self->ws) == PSC_STORY_BOTH;
    view.fold_lo = self->fold_lo;
    view.fold_hi = self->fold_hi;
    view.position = psc_workspace_cursor(self->ws);
    view.selected = t ? (uint32_t)(t - picture->study->analysis->history->tenancies) : PSC_NONE;
    view.hovered = self->hovered;
    psc_timeline_dress(self, &view);
    view.finding = selection.finding >= 0 ? (uint32_t)selection.finding : PSC_NONE;
    *ret = view;
}

double psc_timeline_max_scroll(PscTimeline *self)
{
    if (!self->base)
        return 0;
    const struct psc_frame *frame = &self->base->layout.frame;
    return fmax(0, (double)frame->content - (double)(frame->lanes.y1 - frame->lanes.y0));
}

void psc_timeline_set_scroll(PscTimeline *self, double y)
{
    y = floor(CLAMP(y, 0, psc_timeline_max_scroll(self)));
    if (y == self->y)
        return;
    self->y = y;
    gtk_widget_queue_draw(GTK_WIDGET(self));
    psc_timeline_lead_peer(self);
}

/* ---- the base picture ------------------------------------------------------------------------- */

static void adopt_base(PscTimeline *self, PscBase *base)
{
    psc_base_free(self->base);
    g_clear_pointer(&self->node, gsk_render_node_unref);
    self->base = base;
    self->mark_base = NULL;
    if (base->failed)
        return;
    self->node = gsk_cairo_node_new(
        &GRAPHENE_RECT_INIT(0, 0, (float)base->view.width, (float)base->view.height_px));
    cairo_t *cr = gsk_cairo_node_get_draw_context(self->node);
    cairo_set_source_surface(cr, base->surface, 0, 0);
    cairo_paint(cr);
    cairo_destroy(cr);
    if (self->y > psc_timeline_max_scroll(self))
        psc_timeline_set_scroll(self, self->y);
}

struct build {
    PscPicture *picture;
    struct psc_view view;
    struct psc_type *type; /* the timeline's worker_type: only one worker is at it at a time */
    PscBase *base;
};

static void free_build(gpointer data)
{
    struct build *build = data;
    psc_base_free(build->base);
    psc_picture_unref(build->picture);
    g_free(build);
}

static void run_build(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct build *build = data;
    build->base = psc_base_new(build->picture, &build->view, build->type);
    g_task_return_boolean(task, TRUE);
}

static void build_done(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscTimeline *self = PSC_TIMELINE(source);
    struct build *build = g_task_get_task_data(G_TASK(result));
    self->building = FALSE;
    if (self->ws && build->picture == psc_workspace_picture(self->ws))
        adopt_base(self, g_steal_pointer(&build->base));
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void build_in_worker(PscTimeline *self, PscPicture *picture, const struct psc_view *view)
{
    if (self->building)
        return; /* when it is done, the next snapshot asks for what is then wanted */
    self->building = TRUE;
    if (!self->worker_type)
        self->worker_type = psc_type_new();
    struct build *build = g_new0(struct build, 1);
    build->picture = psc_picture_ref(picture);
    build->view = *view;
    build->type = self->worker_type;
    GTask *task = g_task_new(self, NULL, build_done, NULL);
    g_task_set_task_data(task, build, free_build);
    g_task_run_in_thread(task, run_build);
    g_object_unref(task);
}

/* Makes self->base right, or as right as it can be at once. Returns whether it is. */
static gboolean update_base(PscTimeline *self, PscPicture *picture, const struct psc_view *view)
{
    if (self->base && self->base->picture == picture && psc_base_same_view(&self->base->view, view))
        return TRUE;
    gboolean usable = self->base && self->base->picture == picture && self->node;
    if (usable && self->base->took_us > SLOW_US) {
        build_in_worker(self, picture, view);
        return FALSE;
    }
    adopt_base(self, psc_base_new(picture, view, self->type));
    return TRUE;
}

/* An old picture where the new one will be: moved and stretched along x, moved along y. */
static void snapshot_stale(PscTimeline *self, GtkSnapshot *snapshot, const struct psc_view *view)
{
    const struct psc_layout *layout = &self->base->layout;
    double x = layout->frame.data_x, width = layout->frame.data_w;
    double old = self->base->view.hi - self->base->view.lo, now = view->hi - view->lo;
    double stretch = old / now, shift = (self->base->view.lo - view->lo) / now * width;
    gtk_snapshot_append_node(snapshot, self->node);
    gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT((float)x, 0, (float)width, (float)view->height_px));
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT((float)(x + shift - x * stretch), (float)(self->base->view.y - view->y)));
    gtk_snapshot_scale(snapshot, (float)stretch, 1);
    gtk_snapshot_append_node(snapshot, self->node);
    gtk_snapshot_restore(snapshot);
    gtk_snapshot_pop(snapshot);
}

/* ---- overlays ------------------------------------------------------------------------------- */

static gboolean same_record(const struct psc_over *a, const struct psc_over *b)
{
    return a->kind == b->kind && a->bar == b->bar && memcmp(&a->area, &b->area, sizeof a->area) == 0 &&
           memcmp(&a->clip, &b->clip, sizeof a->clip) == 0 && a->x == b->x && a->y0 == b->y0 && a->y1 == b->y1 &&
           strcmp(a->text, b->text) == 0;
}

static GskRenderNode *take_kept(PscTimeline *self, const struct psc_over *record)
{
    for (size_t i = 0; i < self->kept_n; i++)
        if (self->nodes[i] && same_record(&self->kept[i], record))
            return g_steal_pointer(&self->nodes[i]);
    return NULL;
}

static GskRenderNode *new_node(PscTimeline *self, const struct psc_over *record)
{
    const struct psc_area *a = &record->area;
    GskRenderNode *node = gsk_cairo_node_new(&GRAPHENE_RECT_INIT(a->x0, a->y0, a->x1 - a->x0, a->y1 - a->y0));
    cairo_t *cr = gsk_cairo_node_get_draw_context(node);
    psc_over_paint(record, psc_palette_get(psc_ui_is_dark()), cr, self->type);
    cairo_destroy(cr);
    return node;
}

static void drop_nodes(PscTimeline *self)
{
    for (size_t i = 0; i < self->kept_n; i++)
        g_clear_pointer(&self->nodes[i], gsk_render_node_unref);
    g_clear_pointer(&self->nodes, g_free);
    g_clear_pointer(&self->kept, g_free);
    self->kept_n = 0;
}

/* Nodes of records that did not change are the same objects as before: they damage nothing. */
static void snapshot_overlay(PscTimeline *self, GtkSnapshot *snapshot, const struct psc_view *view)
{
    if (psc_overlay_build(&self->overlay, &self->base->layout, view, NULL) != PSC_OK)
        return;
    size_t n = self->overlay.n;
    struct psc_over *kept = g_memdup2(self->overlay.items, n * sizeof *kept);
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

static void snapshot_focus(PscTimeline *self, GtkSnapshot *snapshot)
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

/* Why there is no picture, and what may be done. */
static void snapshot_nothing(PscTimeline *self, GtkSnapshot *snapshot)
{
    GtkWidget *widget = GTK_WIDGET(self);
    PangoLayout *layout = gtk_widget_create_pango_layout(
        widget, "This phase has neither a graph nor events, so there is no memory to show.\nAnother phase may have one.");
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

/* Scrolls no further than it must. */
static void reveal_selected_row(PscTimeline *self)
{
    uint32_t buffer = psc_workspace_selection(self->ws).buffer;
    if (buffer == PSC_NONE || self->base->failed)
        return;
    uint32_t row = self->base->picture->scene->row_of_buffer[buffer];
    if (row != PSC_NONE)
        psc_timeline_set_scroll(self, psc_layout_scroll_to(&self->base->layout, row));
}

static void psc_timeline_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscTimeline *self = PSC_TIMELINE(widget);
    PscPicture *picture = psc_workspace_picture(self->ws);
    if (!picture && psc_workspace_study(self->ws))
        snapshot_nothing(self, snapshot);
    if (!picture || gtk_widget_get_width(widget) < 40 || gtk_widget_get_height(widget) < 40)
        return;
    struct psc_view view;
    psc_timeline_get_view(self, &view);
    gboolean right = update_base(self, picture, &view);
    if (right && self->reveal) {
        self->reveal = FALSE;
        reveal_selected_row(self);
        psc_timeline_get_view(self, &view);
        right = update_base(self, picture, &view);
    }
    if (!self->node)
        return;
    gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)view.width, (float)view.height_px));
    if (right) {
        gtk_snapshot_append_node(snapshot, self->node);
        psc_timeline_snapshot_marks(self, snapshot);
        snapshot_overlay(self, snapshot, &view);
    } else {
        snapshot_stale(self, snapshot, &view);
    }
    snapshot_focus(self, snapshot);
    gtk_snapshot_pop(snapshot);
    if (gtk_widget_get_visible(self->card))
        gtk_widget_snapshot_child(widget, self->card, snapshot);
}

/* ---- zoom and scroll ------------------------------------------------------------------------ */

static gboolean fold_cb(gpointer data)
{
    PscTimeline *self = data;
    self->fold_timer = 0;
    psc_workspace_range(self->ws, &self->fold_lo, &self->fold_hi);
    gtk_widget_queue_draw(GTK_WIDGET(self));
    return G_SOURCE_REMOVE;
}

static void fold_when_settled(PscTimeline *self)
{
    g_clear_handle_id(&self->fold_timer, g_source_remove);
    self->fold_timer = g_timeout_add(FOLD_MS, fold_cb, self);
}

void psc_timeline_zoom_at(PscTimeline *self, double px, double factor)
{
    PscPicture *picture = psc_workspace_picture(self->ws);
    if (!picture)
        return;
    struct psc_view view;
    psc_timeline_get_view(self, &view);
    psc_view_zoom(&view, picture->scene, px, factor);
    psc_workspace_set_range(self->ws, view.lo, view.hi);
    fold_when_settled(self);
}

void psc_timeline_zoom(PscTimeline *self, double factor)
{
    if (!self->base)
        return;
    const struct psc_layout *layout = &self->base->layout;
    double at = psc_axis_middle(&layout->axis, psc_workspace_cursor(self->ws));
    double left = layout->frame.data_x, right = left + (double)layout->frame.data_w;
    psc_timeline_zoom_at(self, at >= left && at <= right ? at : (left + right) / 2, factor);
}

void psc_timeline_zoom_rows_at(PscTimeline *self, double py, double factor)
{
    if (!self->base)
        return;
    psc_timeline_hide_card(self);
    double before = self->y_zoom, inside = py - (double)self->base->layout.frame.lanes.y0;
    self->y_zoom = CLAMP(before * factor, Y_ZOOM_MIN, Y_ZOOM_MAX);
    double content = (self->y + inside) * self->y_zoom / before;
    self->y = fmax(0, floor(content - inside)); /* its upper end is seen to when the layout is known */
    gtk_widget_queue_draw(GTK_WIDGET(self));
    psc_timeline_lead_peer(self);
}

void psc_timeline_zoom_rows(PscTimeline *self, double factor)
{
    if (self->base)
        psc_timeline_zoom_rows_at(self, (double)self->base->layout.frame.lanes.y0, factor);
}

void psc_timeline_reset_rows(PscTimeline *self)
{
    self->y_zoom = 1;
    self->y = 0;
    fold_when_settled(self);
    gtk_widget_queue_draw(GTK_WIDGET(self));
    psc_timeline_lead_peer(self);
}

/* The positions of what is selected: a bar, a finding, all bars of a buffer; else the cursor. */
static void selected_span(PscTimeline *self, int32_t *ret_first, int32_t *ret_last)
{
    PscStudy *study = psc_workspace_study(self->ws);
    PscSelection selection = psc_workspace_selection(self->ws);
    const struct psc_history *h = study->analysis->history;
    const struct psc_tenancy *t = psc_study_tenancy(study, selection.node);
    *ret_first = *ret_last = psc_workspace_cursor(self->ws);
    if (selection.finding >= 0) {
        const struct psc_finding *f = &study->analysis->check.findings[selection.finding];
        *ret_first = MIN(f->position, f->victim_position);
        *ret_last = MAX(f->position, f->read_position);
    } else if (t) {
        *ret_first = t->first;
        *ret_last = t->last;
    } else if (h && selection.buffer != PSC_NONE && h->buffer_at[selection.buffer + 1] > h->buffer_at[selection.buffer]) {
        *ret_first = h->tenancies[h->buffer_at[selection.buffer]].first;
        *ret_last = h->tenancies[h->buffer_at[selection.buffer + 1] - 1].last;
    } else if (selection.node != PSC_NONE) {
        *ret_first = *ret_last = study->position_of[selection.node];
    }
}

void psc_timeline_fit_selection(PscTimeline *self)
{
    if (!psc_workspace_study(self->ws))
        return;
    int32_t first, last;
    double x0, x1;
    selected_span(self, &first, &last);
    psc_workspace_range(self->ws, &x0, &x1);
    double middle = (first + last + 1) / 2.0, width = x1 - x0;
    if (fabs((x0 + x1) / 2 - middle) > 0.02 * width)
        psc_workspace_set_range(self->ws, middle - width / 2, middle + width / 2);
    double y0, y1;
    psc_workspace_range(self->ws, &y0, &y1);
    if (y0 == x0 && y1 == x1) /* it stood in the middle, or could not be brought there: fit it */
        psc_workspace_show(self->ws, first, last, fmax(3, (last - first) * 0.4));
    fold_when_settled(self);
}

/* ---- changes ---------------------------------------------------------------------------------- */

static void describe(PscTimeline *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    struct psc_text text = {0};
    if (study && study->analysis->story)
        psc_explain_position(&text, study->analysis, psc_workspace_cursor(self->ws));
    gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, psc_text_str(&text), -1);
    psc_text_release(&text);
}

static void changed_cb(PscTimeline *self, guint what)
{
    /* the map moves under a pointer that rests: what the card speaks of is somewhere else now */
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_RANGE | PSC_CHANGED_VIEW)) {
        self->hovered = PSC_NONE;
        psc_timeline_hide_card(self);
    }
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY)) {
        self->y = 0;
        if (psc_workspace_study(self->ws))
            psc_workspace_range(self->ws, &self->fold_lo, &self->fold_hi);
        drop_nodes(self);
    }
    if (what & PSC_CHANGED_DOCUMENT)
        self->y_zoom = 1;
    if (what & PSC_CHANGED_RANGE)
        fold_when_settled(self);
    if (what & PSC_CHANGED_VIEW)
        self->y = 0;
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_CURSOR))
        describe(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_SELECTION | PSC_CHANGED_VIEW))
        self->reveal = TRUE;
    if (what & ~(guint)(PSC_CHANGED_BUSY | PSC_CHANGED_STEPS))
        gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void dark_cb(PscTimeline *self)
{
    drop_nodes(self);
    self->mark_base = NULL;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- widget --------------------------------------------------------------------------------- */

static void psc_timeline_measure(GtkWidget *widget G_GNUC_UNUSED, GtkOrientation orientation, int size G_GNUC_UNUSED,
                                 int *min, int *natural, int *min_base G_GNUC_UNUSED, int *natural_base G_GNUC_UNUSED)
{
    *min = orientation == GTK_ORIENTATION_HORIZONTAL ? 320 : 180;
    *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 900 : 600;
}

/* The card stands below the bar it speaks of, above it when there is no room: never over its own row. */
static void psc_timeline_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    PscTimeline *self = PSC_TIMELINE(widget);
    if (self->base && (self->base->view.height_px != height || self->base->view.width != width))
        self->reveal = TRUE; /* what was in sight may not be in the new size */
    if (!gtk_widget_get_visible(self->card))
        return;
    GtkRequisition want;
    gtk_widget_get_preferred_size(self->card, NULL, &want);
    double x = CLAMP(self->px + 12, 0, MAX(0, width - want.width - 4));
    double below = (double)self->hovered_area.y1 + CARD_GAP, above = (double)self->hovered_area.y0 - CARD_GAP - want.height;
    double y = below + want.height <= height ? below : MAX(0, above);
    gtk_widget_size_allocate(self->card, &(GtkAllocation){(int)x, (int)y, want.width, want.height}, baseline);
}

static void psc_timeline_dispose(GObject *object)
{
    PscTimeline *self = PSC_TIMELINE(object);
    g_clear_handle_id(&self->fold_timer, g_source_remove);
    g_clear_handle_id(&self->card_timer, g_source_remove);
    g_clear_pointer(&self->card, gtk_widget_unparent);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_timeline_parent_class)->dispose(object);
}

static void psc_timeline_finalize(GObject *object)
{
    PscTimeline *self = PSC_TIMELINE(object);
    drop_nodes(self);
    psc_timeline_drop_beside(self);
    psc_overlay_release(&self->overlay);
    g_clear_pointer(&self->node, gsk_render_node_unref);
    psc_base_free(self->base);
    psc_type_free(self->type);
    psc_type_free(self->worker_type);
    G_OBJECT_CLASS(psc_timeline_parent_class)->finalize(object);
}

static void psc_timeline_class_init(PscTimelineClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = psc_timeline_dispose;
    G_OBJECT_CLASS(class)->finalize = psc_timeline_finalize;
    widget_class->snapshot = psc_timeline_snapshot;
    widget_class->measure = psc_timeline_measure;
    widget_class->size_allocate = psc_timeline_size_allocate;
    gtk_widget_class_set_css_name(widget_class, "timeline");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void psc_timeline_init(PscTimeline *self)
{
    self->type = psc_type_new();
    self->y_zoom = 1;
    self->hovered = PSC_NONE;
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
    psc_ui_name(GTK_WIDGET(self), "Memory timeline");
    psc_timeline_add_controllers(self);
    g_signal_connect_object(gtk_settings_get_default(), "notify::gtk-application-prefer-dark-theme",
                            G_CALLBACK(dark_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *psc_timeline_new(PscWorkspace *ws)
{
    PscTimeline *self = g_object_new(PSC_TYPE_TIMELINE, NULL);
    self->ws = g_object_ref(ws);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
