#include "ui/contest-map.h"

#include "ui/access.h"
#include "ui/draw/plan-map.h"
#include "ui/palette.h"
#include "ui/part-view.h"

#include <string.h>

#define FAR 2.5 /* plans over so many times the smallest do not set the scale */

struct _PscContestMap {
    GtkBox parent_instance;
    PscWorkspace *ws;
    PscContest *contest; /* of ws */
    GtkWidget *name, *bytes, *about, *ratio, *map;
    guint entrant;
    /* What a step leaves as it is, painted once: for this map (its selection and cursor aside), size and theme. */
    cairo_surface_t *still;
    struct psc_plan_map still_map;
    int still_width, still_height, still_scale;
    gboolean still_dark;
};

G_DEFINE_FINAL_TYPE(PscContestMap, psc_contest_map, GTK_TYPE_BOX)

uint64_t psc_contest_map_top(PscContest *contest)
{
    uint64_t least = UINT64_MAX, top = 1;
    for (guint i = 0; i < psc_contest_n(contest); i++)
        if (psc_contest_at(contest, i)->contender.able)
            least = MIN(least, psc_contest_at(contest, i)->contender.cost.reserved);
    for (guint i = 0; i < psc_contest_n(contest); i++) {
        const PscEntrant *e = psc_contest_at(contest, i);
        if (e->contender.able && (double)e->contender.cost.reserved <= FAR * (double)least)
            top = MAX(top, e->contender.cost.reserved);
    }
    return top;
}

/* The value of the node that is selected; a story without a graph has none. */
static uint32_t selected_value(PscContestMap *self, const struct psc_analysis *a)
{
    psc_node node = psc_workspace_selection(self->ws).node;
    return a->phase->graph && node != PSC_NONE ? psc_history_value_of_node(a->history, node) : PSC_NONE;
}

static gboolean is_still(PscContestMap *self, const struct psc_plan_map *map, int width, int height, int scale)
{
    const struct psc_plan_map *m = &self->still_map;
    return self->still && m->history == map->history && m->lo == map->lo && m->hi == map->hi && m->top == map->top &&
           m->bound == map->bound && m->reserved == map->reserved && self->still_width == width &&
           self->still_height == height && self->still_scale == scale && self->still_dark == psc_ui_is_dark();
}

static void make_still(PscContestMap *self, const struct psc_plan_map *map, int width, int height, int scale)
{
    g_clear_pointer(&self->still, cairo_surface_destroy);
    self->still = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width * scale, height * scale);
    cairo_surface_set_device_scale(self->still, scale, scale);
    cairo_t *cr = cairo_create(self->still);
    psc_plan_map_paint_still(cr, psc_palette_get(psc_ui_is_dark()), psc_ui_type(), map, width, height);
    cairo_destroy(cr);
    self->still_map = *map;
    self->still_width = width;
    self->still_height = height;
    self->still_scale = scale;
    self->still_dark = psc_ui_is_dark();
}

static void draw_cb(GtkDrawingArea *area G_GNUC_UNUSED, cairo_t *cr, int width, int height, gpointer data)
{
    PscContestMap *self = data;
    const PscEntrant *e = psc_contest_at(self->contest, self->entrant);
    if (!e || !e->contender.analysis || !e->contender.analysis->history || !psc_workspace_study(self->ws))
        return;
    const struct psc_analysis *a = e->contender.analysis;
    struct psc_plan_map map = {.history = a->history, .graph = a->phase->graph, .top = psc_contest_map_top(self->contest),
                               .bound = e->contender.cost.lower_bound, .reserved = e->contender.cost.reserved,
                               .selected = selected_value(self, a), .position = psc_workspace_cursor(self->ws)};
    psc_workspace_range(self->ws, &map.lo, &map.hi);
    int scale = gtk_widget_get_scale_factor(self->map);
    if (!is_still(self, &map, width, height, scale))
        make_still(self, &map, width, height, scale);
    cairo_set_source_surface(cr, self->still, 0, 0);
    cairo_paint(cr);
    psc_plan_map_paint_moving(cr, psc_palette_get(psc_ui_is_dark()), &map, width, height);
}

static void say_ratio(PscContestMap *self, const PscEntrant *e)
{
    gboolean met = e->contender.able && e->contender.cost.reserved == e->contender.cost.lower_bound && !e->finding_n;
    char *text = !e->done        ? g_strdup("\xe2\x80\xa6")
                 : !e->contender.able      ? g_strdup("")
                 : e->finding_n  ? g_strdup_printf("\xe2\x9a\xa0 %u clobber%s", e->finding_n, e->finding_n == 1 ? "" : "s")
                 : met           ? g_strdup(e->contender.cost.proof == PSC_PROOF_NONE ? "= bound" : "= bound, proved")
                 : e->contender.cost.proof == PSC_PROOF_SEARCH ? g_strdup_printf("%.3f \xc3\x97 bound, proved", e->contender.cost.ratio)
                                 : g_strdup_printf("%.3f \xc3\x97 bound", e->contender.cost.ratio);
    gtk_label_set_text(GTK_LABEL(self->ratio), text);
    g_free(text);
    gtk_widget_remove_css_class(self->ratio, "right");
    gtk_widget_remove_css_class(self->ratio, "clobber");
    gtk_widget_remove_css_class(self->ratio, "dim");
    gtk_widget_add_css_class(self->ratio, met ? "right" : e->finding_n ? "clobber" : "dim");
}

void psc_contest_map_set(PscContestMap *self, guint entrant)
{
    const PscEntrant *e = psc_contest_at(self->contest, entrant);
    char bytes[24];
    self->entrant = entrant;
    g_clear_pointer(&self->still, cairo_surface_destroy); /* another plan may come to lie at the same address */
    if (!e)
        return;
    gboolean own = psc_contest_own(self->contest) == entrant;
    char *name = g_strdup_printf("%s%s", e->name, own ? "  \xe2\x97\x8f" : "");
    gtk_label_set_text(GTK_LABEL(self->name), name);
    gtk_label_set_text(GTK_LABEL(self->bytes), e->contender.able ? psc_bytes_text(e->contender.cost.reserved, bytes, sizeof bytes) : "");
    gtk_label_set_text(GTK_LABEL(self->about), e->done && !e->contender.able ? e->contender.why : e->text);
    gtk_widget_set_tooltip_text(GTK_WIDGET(self), e->done && !e->contender.able ? e->contender.why : e->text);
    say_ratio(self, e);
    gtk_widget_queue_draw(self->map);
    g_free(name);
}

static void changed_cb(PscContestMap *self, guint what)
{
    if (what & (PSC_CHANGED_RANGE | PSC_CHANGED_SELECTION | PSC_CHANGED_CURSOR))
        gtk_widget_queue_draw(self->map);
}

static void psc_contest_map_dispose(GObject *object)
{
    g_clear_object(&PSC_CONTEST_MAP(object)->ws);
    g_clear_pointer(&PSC_CONTEST_MAP(object)->still, cairo_surface_destroy);
    G_OBJECT_CLASS(psc_contest_map_parent_class)->dispose(object);
}

static void psc_contest_map_class_init(PscContestMapClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_contest_map_dispose;
}

static GtkWidget *label_new(const char *style, float xalign)
{
    GtkWidget *label = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(label), xalign);
    gtk_label_set_ellipsize(GTK_LABEL(label), xalign > 0 ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_END);
    gtk_widget_set_hexpand(label, xalign == 0);
    if (xalign == 0)
        gtk_label_set_width_chars(GTK_LABEL(label), 8);
    if (xalign == 0)
        gtk_label_set_max_width_chars(GTK_LABEL(label), 14); /* else its natural width sets the number of columns */
    gtk_widget_add_css_class(label, style);
    return label;
}

static GtkWidget *line_new(GtkWidget *left, GtkWidget *right)
{
    GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    gtk_box_append(GTK_BOX(line), left);
    gtk_box_append(GTK_BOX(line), right);
    return line;
}

static void psc_contest_map_init(PscContestMap *self)
{
    GtkWidget *head = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
    gtk_widget_add_css_class(GTK_WIDGET(self), "contest-map");
    self->name = label_new("strong", 0);
    self->bytes = label_new("strong", 1);
    self->about = label_new("dim", 0);
    self->ratio = label_new("dim", 1);
    gtk_widget_add_css_class(self->about, "caption");
    gtk_widget_add_css_class(self->ratio, "caption");
    self->map = gtk_drawing_area_new();
    gtk_widget_set_vexpand(self->map, TRUE);
    gtk_widget_set_size_request(self->map, 150, 110);
    gtk_widget_add_css_class(head, "contest-head");
    gtk_box_append(GTK_BOX(head), line_new(self->name, self->bytes));
    gtk_box_append(GTK_BOX(head), line_new(self->about, self->ratio));
    gtk_box_append(GTK_BOX(self), head);
    gtk_box_append(GTK_BOX(self), self->map);
    gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
    psc_ui_watch_dark(self->map);
}

GtkWidget *psc_contest_map_new(PscWorkspace *ws)
{
    PscContestMap *self = g_object_new(PSC_TYPE_CONTEST_MAP, NULL);
    self->ws = g_object_ref(ws);
    self->contest = psc_contest_of(ws);
    gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(self->map), draw_cb, self, NULL);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
