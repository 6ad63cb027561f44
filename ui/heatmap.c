#include "ui/heatmap.h"

#include "ui/access.h"
#include "ui/draw/parts.h"
#include "ui/palette.h"
#include "ui/part-view.h"

#define COLUMNS   16
#define CELL      15
#define SCALE     16  /* px below the cells: the scale with its limits */
#define SHOWN_MAX 256 /* samples drawn; the engine records at most 64 */

struct _PscHeatmap {
    GtkWidget parent_instance;
    float *values;
    guint n;
};

G_DEFINE_FINAL_TYPE(PscHeatmap, psc_heatmap, GTK_TYPE_WIDGET)

static guint rows(const PscHeatmap *self)
{
    return (self->n + COLUMNS - 1) / COLUMNS;
}

static guint columns(const PscHeatmap *self)
{
    return rows(self) ? (self->n + rows(self) - 1) / rows(self) : COLUMNS;
}

static void psc_heatmap_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscHeatmap *self = PSC_HEATMAP(widget);
    int width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);
    cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    psc_part_heatmap(cr, psc_palette_get(psc_ui_is_dark()), psc_ui_type(), self->values, self->n, rows(self), width, height);
    cairo_destroy(cr);
}

static void psc_heatmap_measure(GtkWidget *widget, GtkOrientation orientation, int size G_GNUC_UNUSED, int *min,
                                int *natural, int *min_base G_GNUC_UNUSED, int *natural_base G_GNUC_UNUSED)
{
    PscHeatmap *self = PSC_HEATMAP(widget);
    if (orientation == GTK_ORIENTATION_HORIZONTAL) {
        *min = 6 * COLUMNS;
        *natural = CELL * COLUMNS;
    } else {
        *min = *natural = (int)rows(self) * CELL + SCALE;
    }
}

static gboolean psc_heatmap_query_tooltip(GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
    PscHeatmap *self = PSC_HEATMAP(widget);
    guint across = columns(self), column = (guint)(x * (int)across / MAX(1, gtk_widget_get_width(widget)));
    guint at = (guint)(y / CELL) * across + column;
    if (keyboard || column >= across || at >= self->n || y >= (int)rows(self) * CELL)
        return FALSE;
    char *text = g_strdup_printf("sample %u: %.6g", at, (double)self->values[at]);
    gtk_tooltip_set_text(tooltip, text);
    g_free(text);
    return TRUE;
}

static void psc_heatmap_finalize(GObject *object)
{
    g_free(PSC_HEATMAP(object)->values);
    G_OBJECT_CLASS(psc_heatmap_parent_class)->finalize(object);
}

static void psc_heatmap_class_init(PscHeatmapClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->finalize = psc_heatmap_finalize;
    widget_class->snapshot = psc_heatmap_snapshot;
    widget_class->measure = psc_heatmap_measure;
    widget_class->query_tooltip = psc_heatmap_query_tooltip;
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void psc_heatmap_init(PscHeatmap *self)
{
    gtk_widget_set_has_tooltip(GTK_WIDGET(self), TRUE);
    psc_ui_watch_dark(GTK_WIDGET(self));
}

GtkWidget *psc_heatmap_new(const struct psc_record *record)
{
    PscHeatmap *self = g_object_new(PSC_TYPE_HEATMAP, NULL);
    self->n = MIN(record->value_n, SHOWN_MAX);
    self->values = g_memdup2(record->values, self->n * sizeof *self->values);
    double limit = psc_heat_limit(self->values, self->n);
    char *text = g_strdup_printf("%u samples between %.4g and %.4g", self->n, -limit, limit);
    psc_ui_name(GTK_WIDGET(self), text);
    g_free(text);
    return GTK_WIDGET(self);
}
