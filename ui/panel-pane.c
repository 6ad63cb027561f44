#include "ui/panel-pane.h"

#include "core/base/text.h"
#include "core/candela/kept.h"
#include "core/candela/script.h"
#include "core/debug/explain.h"
#include "ui/access.h"
#include "ui/draw/inside-page.h"
#include "ui/palette.h"
#include "ui/rivals.h"

#include <math.h>

#define SWING_US 260000 /* of an arrow that turns to its new owner */
#define WHEEL_PX 48
#define LINE_PX  40

struct _PscPanelPane {
    GtkWidget parent_instance;
    PscWorkspace *ws;
    struct psc_type *type;
    struct psc_panel page;
    struct psc_arena arena;             /* of the view */
    struct psc_inside_view view;        /* of the cursor; or nothing */
    PscStudy *of_study;                 /* compared only */
    PscRivals *rivals;                  /* of that study, where they wait for somebody who looks; else NULL */
    int32_t of_position;
    double of_width, of_swing;          /* the page was built for; width 0: it is out of date */
    GskRenderNode *node;
    double y;                           /* scrolled down */
    gboolean chosen;                    /* the next document is this one, planned otherwise */
    double tallest;                     /* page of this study and width: so much can be scrolled at any position */
    gint64 swing_from;                  /* frame time at which arrows began to move, 0: they rest */
    guint tick;
};

G_DEFINE_FINAL_TYPE(PscPanelPane, psc_panel_pane, GTK_TYPE_WIDGET)

gboolean psc_panel_pane_has(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study && study->inside;
}

/* ---- what is shown ------------------------------------------------------------------------------------------- */

static void drop_page(PscPanelPane *self)
{
    self->of_width = 0;
    g_clear_pointer(&self->node, gsk_render_node_unref);
}

static void drop_view(PscPanelPane *self)
{
    drop_page(self);
    self->view = (struct psc_inside_view){0};
    self->of_study = NULL;
    psc_arena_release(&self->arena);
}

static void drop_rivals(PscPanelPane *self)
{
    g_clear_pointer(&self->rivals, psc_rivals_stop);
}

static void describe(PscPanelPane *self);

static void rivals_told(gpointer data)
{
    PscPanelPane *self = data;
    drop_view(self);
    describe(self);
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* What is shown, with what was compared meanwhile. */
static struct psc_inside inside_of(PscPanelPane *self, PscStudy *study)
{
    struct psc_inside inside = *study->inside;
    if (inside.rivals_wait && !self->rivals && gtk_widget_get_mapped(GTK_WIDGET(self)))
        self->rivals = psc_rivals_start(study, rivals_told, self);
    if (self->rivals)
        inside.rivals = psc_rivals_made(self->rivals);
    return inside;
}

/* The view of the cursor; FALSE when there is nothing to look into. */
static gboolean look(PscPanelPane *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    int32_t position = psc_workspace_cursor(self->ws);
    if (self->of_study == study && self->of_position == position && (self->view.candela || self->view.arenas))
        return TRUE;
    drop_view(self);
    if (!psc_panel_pane_has(self->ws))
        return FALSE;
    struct psc_inside inside = inside_of(self, study);
    if (psc_inside_at(&self->arena, &inside, position, &self->view, NULL) != PSC_OK)
        return FALSE;
    self->of_study = study;
    self->of_position = position;
    return TRUE;
}

static double swing(PscPanelPane *self)
{
    GdkFrameClock *clock = gtk_widget_get_frame_clock(GTK_WIDGET(self));
    if (!self->swing_from || !clock)
        return 1;
    double t = CLAMP((double)(gdk_frame_clock_get_frame_time(clock) - self->swing_from) / SWING_US, 0, 1);
    return t * t * (3 - 2 * t);
}

static enum psc_status build(PscPanelPane *self, struct psc_panel *panel, double width, double height, double swung, struct psc_type *type)
{
    char *waiting = self->rivals ? psc_rivals_words(self->rivals) : NULL;
    struct psc_candela_look page = {.width = width, .height = height, .swing = swung, .dark = psc_ui_is_dark(), .waiting = waiting};
    enum psc_status status = psc_inside_page_build(panel, &self->view, &page, type, NULL);
    g_free(waiting);
    return status;
}

gboolean psc_panel_pane_build(PscPanelPane *self, struct psc_panel *panel, double width, struct psc_type *type)
{
    return look(self) && build(self, panel, width, 0, 1, type) == PSC_OK;
}

static double page_height(PscPanelPane *self)
{
    return MAX(self->page.base.view.height_px, self->tallest);
}

static double max_scroll(PscPanelPane *self)
{
    return MAX(0, page_height(self) - gtk_widget_get_height(GTK_WIDGET(self)));
}

static gboolean update_page(PscPanelPane *self)
{
    double width = gtk_widget_get_width(GTK_WIDGET(self)), swung = swing(self);
    if (!look(self))
        return FALSE;
    if (self->node && self->of_width == width && self->of_swing == swung)
        return TRUE;
    if (self->of_width != width && self->of_width > 0)
        self->tallest = 0;
    drop_page(self);
    if (build(self, &self->page, width, gtk_widget_get_height(GTK_WIDGET(self)), swung, self->type) != PSC_OK)
        return FALSE;
    self->of_width = width;
    self->of_swing = swung;
    self->tallest = page_height(self);
    double height = MAX(self->page.base.view.height_px, gtk_widget_get_height(GTK_WIDGET(self)));
    self->page.base.view.height_px = height; /* the ground is painted to the foot of the widget */
    self->node = gsk_cairo_node_new(&GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    cairo_t *cr = gsk_cairo_node_get_draw_context(self->node);
    psc_panel_paint(&self->page, psc_palette_get(psc_ui_is_dark()), cr, self->type);
    cairo_destroy(cr);
    self->y = CLAMP(self->y, 0, max_scroll(self));
    return TRUE;
}

/* ---- drawing --------------------------------------------------------------------------------------------------- */

/* Of a run on arenas: what they did is a phase of its own. */
static gboolean has_arenas(PscPanelPane *self)
{
    for (guint i = 0; i < psc_workspace_phase_n(self->ws); i++) {
        const struct psc_phase *phase = psc_workspace_phase(self->ws, i);
        if (phase->story && phase->story->arena_n)
            return TRUE;
    }
    return FALSE;
}

static void snapshot_nothing(PscPanelPane *self, GtkSnapshot *snapshot)
{
    GtkWidget *widget = GTK_WIDGET(self);
    PangoLayout *layout = gtk_widget_create_pango_layout(
        widget, has_arenas(self) ? "This phase shows values and the slots that they lay in (Map and Rows, Y).\nWhat the arenas did, in all runs, "
                                   "is the phase Arena, above."
                                 : "There is nothing to look into here: this phase is neither planned here, nor an expression that candela plans, "
                                   "nor a story of arenas.\nMap and Rows show its buffers (Y). Open > Examples has one of each.");
    GdkRGBA colour = psc_ui_colour(PSC_COL_DIM);
    pango_layout_set_width(layout, MAX(gtk_widget_get_width(widget) - 40, 1) * PANGO_SCALE);
    pango_layout_set_alignment(layout, PANGO_ALIGN_CENTER);
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT(20, (float)gtk_widget_get_height(widget) / 2 - 20));
    gtk_snapshot_append_layout(snapshot, layout, &colour);
    gtk_snapshot_restore(snapshot);
    g_object_unref(layout);
}

/* Where in the page one is, at the right edge. */
static void snapshot_scroll(PscPanelPane *self, GtkSnapshot *snapshot, double width, double height)
{
    double all = page_height(self), most = max_scroll(self);
    if (most <= 0)
        return;
    double length = MAX(24, height * height / all), at = (height - length) * self->y / most;
    GdkRGBA colour = psc_ui_colour(PSC_COL_DIM);
    gtk_snapshot_append_color(snapshot, &colour, &GRAPHENE_RECT_INIT((float)width - 5, (float)at + 2, 3, (float)length - 4));
}

static void snapshot_focus(PscPanelPane *self, GtkSnapshot *snapshot, double width, double height)
{
    if (!gtk_widget_has_visible_focus(GTK_WIDGET(self)))
        return;
    GdkRGBA colour = psc_ui_colour(PSC_COL_SELECT);
    GskRoundedRect outline;
    gsk_rounded_rect_init_from_rect(&outline, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height), 0);
    gtk_snapshot_append_border(snapshot, &outline, (float[]){1, 1, 1, 1}, (GdkRGBA[]){colour, colour, colour, colour});
}

static void psc_panel_pane_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscPanelPane *self = PSC_PANEL_PANE(widget);
    double width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);
    if (width < 40 || height < 40)
        return;
    GdkRGBA ground = psc_ui_colour(PSC_COL_CANVAS);
    gtk_snapshot_append_color(snapshot, &ground, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    if (!update_page(self)) {
        if (psc_workspace_study(self->ws))
            snapshot_nothing(self, snapshot);
        return;
    }
    gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT(0, -(float)floor(self->y)));
    gtk_snapshot_append_node(snapshot, self->node);
    gtk_snapshot_restore(snapshot);
    snapshot_scroll(self, snapshot, width, height);
    snapshot_focus(self, snapshot, width, height);
    gtk_snapshot_pop(snapshot);
}

/* ---- pointer and keys -------------------------------------------------------------------------------------------- */

static void scroll_by(PscPanelPane *self, double by)
{
    double y = floor(CLAMP(self->y + by, 0, max_scroll(self)));
    if (y == self->y)
        return;
    self->y = y;
    gtk_widget_queue_draw(GTK_WIDGET(self));
    gtk_widget_trigger_tooltip_query(GTK_WIDGET(self));
}

static gboolean scroll_cb(GtkEventControllerScroll *scroll, double dx G_GNUC_UNUSED, double dy, PscPanelPane *self)
{
    gboolean wheel = gtk_event_controller_scroll_get_unit(scroll) == GDK_SCROLL_UNIT_WHEEL;
    scroll_by(self, dy * (wheel ? WHEEL_PX : 1));
    return TRUE;
}

static const struct psc_panel_tip *tip_at(PscPanelPane *self, double x, double y)
{
    return self->node ? psc_panel_at(&self->page, x, y + floor(self->y)) : NULL;
}

/* Plans as that generation does, or with the map the other way round; or lets steps of one level run beside each other. */
static void choose(PscPanelPane *self, int32_t index)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_analysis_options *now = psc_workspace_options(self->ws);
    const struct psc_candela_view *v = self->view.candela;
    if (v && study && study->inside->tale && index == PSC_CANDELA_LEVELS) {
        struct psc_text words = {0};
        psc_lazy_script_words(&words, &study->phase.expression->plan->options, !v->by_level);
        self->chosen = TRUE;
        gtk_widget_activate_action(GTK_WIDGET(self), "win.plan-expression", "s", psc_text_str(&words));
        psc_text_release(&words);
        return;
    }
    if (!v || !study || !now || index < 0 || (uint32_t)index >= v->rival_n || v->rivals[index].current)
        return;
    if (study->inside->tale) {
        char *words = g_strdup(v->rivals[index].words); /* the view goes with the document */
        self->chosen = TRUE;
        gtk_widget_activate_action(GTK_WIDGET(self), "win.plan-expression", "s", words);
        g_free(words);
        return;
    }
    struct psc_analysis_options next = *now;
    next.planner = psc_study_planner(study);
    next.plan.log = true;
    next.replan = true;
    if (psc_generation_parse(v->rivals[index].name, &next.plan.generation))
        psc_workspace_set_options(self->ws, &next);
}

static void click_cb(GtkGestureClick *gesture G_GNUC_UNUSED, int presses G_GNUC_UNUSED, double x, double y, PscPanelPane *self)
{
    const struct psc_panel_tip *tip = tip_at(self, x, y);
    gtk_widget_grab_focus(GTK_WIDGET(self));
    if (tip && tip->choice >= 0)
        choose(self, tip->choice);
    else if (tip && tip->position != PSC_NO_POSITION)
        psc_workspace_step_to(self->ws, tip->position);
}

static gboolean tooltip_cb(GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip, gpointer data G_GNUC_UNUSED)
{
    PscPanelPane *self = PSC_PANEL_PANE(widget);
    const struct psc_panel_tip *tip = keyboard ? NULL : tip_at(self, x, y);
    if (!tip)
        return FALSE;
    gtk_tooltip_set_text(tooltip, psc_panel_tip_text(&self->page, tip));
    gtk_tooltip_set_tip_area(tooltip, &(GdkRectangle){(int)tip->area.x0, (int)((double)tip->area.y0 - self->y),
                                                     (int)(tip->area.x1 - tip->area.x0), (int)(tip->area.y1 - tip->area.y0)});
    return TRUE;
}

static gboolean key_cb(GtkEventControllerKey *keys G_GNUC_UNUSED, guint key, guint code G_GNUC_UNUSED, GdkModifierType state,
                       PscPanelPane *self)
{
    double page = gtk_widget_get_height(GTK_WIDGET(self)) - LINE_PX;
    const struct psc_candela_view *v = self->view.candela;
    if (self->node && v && v->beside_n && (key == GDK_KEY_b || key == GDK_KEY_B) && !(state & (GDK_CONTROL_MASK | GDK_ALT_MASK))) {
        psc_workspace_step_to(self->ws, key == GDK_KEY_B ? v->beside_before : v->beside_next);
        return TRUE;
    }
    if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK | GDK_SHIFT_MASK) || !self->node)
        return FALSE;
    if (key >= GDK_KEY_1 && key <= GDK_KEY_9 && self->view.candela && key - GDK_KEY_1 < self->view.candela->rival_n) {
        choose(self, (int32_t)(key - GDK_KEY_1));
        return TRUE;
    }
    switch (key) {
    case GDK_KEY_m: choose(self, PSC_CANDELA_LEVELS); return TRUE;
    case GDK_KEY_Up: case GDK_KEY_KP_Up: scroll_by(self, -LINE_PX); return TRUE;
    case GDK_KEY_Down: case GDK_KEY_KP_Down: scroll_by(self, LINE_PX); return TRUE;
    case GDK_KEY_Page_Up: case GDK_KEY_KP_Page_Up: scroll_by(self, -page); return TRUE;
    case GDK_KEY_Page_Down: case GDK_KEY_KP_Page_Down: scroll_by(self, page); return TRUE;
    default: return FALSE;
    }
}

/* ---- changes -------------------------------------------------------------------------------------------------------- */

void psc_panel_pane_explain(PscPanelPane *self, struct psc_text *out)
{
    if (look(self))
        psc_explain_inside(out, &self->view);
}

static void describe(PscPanelPane *self)
{
    struct psc_text text = {0};
    psc_panel_pane_explain(self, &text);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, psc_text_str(&text), -1);
    psc_text_release(&text);
}

static gboolean tick_cb(GtkWidget *widget, GdkFrameClock *clock, gpointer data G_GNUC_UNUSED)
{
    PscPanelPane *self = PSC_PANEL_PANE(widget);
    gtk_widget_queue_draw(widget);
    if (gdk_frame_clock_get_frame_time(clock) - self->swing_from < SWING_US)
        return G_SOURCE_CONTINUE;
    self->swing_from = 0;
    self->tick = 0;
    return G_SOURCE_REMOVE;
}

static void rest(PscPanelPane *self)
{
    if (self->tick)
        gtk_widget_remove_tick_callback(GTK_WIDGET(self), self->tick);
    self->tick = 0;
    self->swing_from = 0;
}

/* Arrows move only where one looks on: a step forward. */
static void swing_arrows(PscPanelPane *self, int32_t before)
{
    gboolean animates = TRUE, swings = FALSE;
    GdkFrameClock *clock = gtk_widget_get_frame_clock(GTK_WIDGET(self));
    rest(self);
    g_object_get(gtk_widget_get_settings(GTK_WIDGET(self)), "gtk-enable-animations", &animates, NULL);
    for (uint32_t i = 0; self->view.candela && i < self->view.candela->arrow_n; i++)
        swings = swings || self->view.candela->arrows[i].before;
    if (!animates || !swings || !clock || self->of_position != before + 1)
        return;
    self->swing_from = gdk_frame_clock_get_frame_time(clock);
    self->tick = gtk_widget_add_tick_callback(GTK_WIDGET(self), tick_cb, NULL, NULL);
}

static void changed_cb(PscPanelPane *self, guint what)
{
    int32_t before = self->of_study == psc_workspace_study(self->ws) ? self->of_position : INT32_MAX - 1;
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY)) {
        drop_view(self);
        drop_rivals(self);
        self->tallest = 0;
    }
    if (what & PSC_CHANGED_DOCUMENT) {
        if (!self->chosen)
            self->y = 0;
        self->chosen = FALSE;
    }
    if (!gtk_widget_get_mapped(GTK_WIDGET(self))) {
        drop_view(self);
        return;
    }
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_CURSOR)) {
        if (look(self) && what & PSC_CHANGED_CURSOR)
            swing_arrows(self, before);
        describe(self);
        gtk_widget_queue_draw(GTK_WIDGET(self));
    }
}

static void dark_cb(PscPanelPane *self)
{
    drop_page(self);
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- widget ------------------------------------------------------------------------------------------------------------ */

static void psc_panel_pane_map(GtkWidget *widget)
{
    GTK_WIDGET_CLASS(psc_panel_pane_parent_class)->map(widget);
    drop_view(PSC_PANEL_PANE(widget));
    describe(PSC_PANEL_PANE(widget));
}

static void psc_panel_pane_unmap(GtkWidget *widget)
{
    drop_rivals(PSC_PANEL_PANE(widget));
    drop_view(PSC_PANEL_PANE(widget));
    GTK_WIDGET_CLASS(psc_panel_pane_parent_class)->unmap(widget);
}

static void psc_panel_pane_measure(GtkWidget *widget G_GNUC_UNUSED, GtkOrientation orientation, int size G_GNUC_UNUSED,
                                   int *min, int *natural, int *min_base G_GNUC_UNUSED, int *natural_base G_GNUC_UNUSED)
{
    *min = orientation == GTK_ORIENTATION_HORIZONTAL ? 320 : 180;
    *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 900 : 600;
}

static void psc_panel_pane_size_allocate(GtkWidget *widget, int width G_GNUC_UNUSED, int height G_GNUC_UNUSED,
                                         int baseline G_GNUC_UNUSED)
{
    drop_page(PSC_PANEL_PANE(widget));
}

static void psc_panel_pane_dispose(GObject *object)
{
    PscPanelPane *self = PSC_PANEL_PANE(object);
    rest(self);
    drop_rivals(self);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_panel_pane_parent_class)->dispose(object);
}

static void psc_panel_pane_finalize(GObject *object)
{
    PscPanelPane *self = PSC_PANEL_PANE(object);
    drop_view(self);
    psc_panel_release(&self->page);
    psc_type_free(self->type);
    G_OBJECT_CLASS(psc_panel_pane_parent_class)->finalize(object);
}

static void psc_panel_pane_class_init(PscPanelPaneClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = psc_panel_pane_dispose;
    G_OBJECT_CLASS(class)->finalize = psc_panel_pane_finalize;
    widget_class->snapshot = psc_panel_pane_snapshot;
    widget_class->measure = psc_panel_pane_measure;
    widget_class->size_allocate = psc_panel_pane_size_allocate;
    widget_class->map = psc_panel_pane_map;
    widget_class->unmap = psc_panel_pane_unmap;
    gtk_widget_class_set_css_name(widget_class, "timeline");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void psc_panel_pane_init(PscPanelPane *self)
{
    GtkWidget *widget = GTK_WIDGET(self);
    self->type = psc_type_new();
    gtk_widget_set_focusable(widget, TRUE);
    gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN);
    gtk_widget_set_has_tooltip(widget, TRUE);
    psc_ui_name(widget, "Inside the planner or the arenas");
    g_signal_connect(self, "query-tooltip", G_CALLBACK(tooltip_cb), NULL);
    GtkEventController *scroll = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
    g_signal_connect(scroll, "scroll", G_CALLBACK(scroll_cb), self);
    gtk_widget_add_controller(widget, scroll);
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(key_cb), self);
    gtk_widget_add_controller(widget, keys);
    GtkGesture *click = gtk_gesture_click_new();
    g_signal_connect(click, "released", G_CALLBACK(click_cb), self);
    gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
    g_signal_connect_object(gtk_settings_get_default(), "notify::gtk-application-prefer-dark-theme",
                            G_CALLBACK(dark_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *psc_panel_pane_new(PscWorkspace *ws)
{
    PscPanelPane *self = g_object_new(PSC_TYPE_PANEL_PANE, NULL);
    self->ws = g_object_ref(ws);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
