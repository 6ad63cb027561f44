#include "ui/heatmap.h"

#include "ui/access.h"
#include "ui/palette.h"

#include <math.h>

#define COLUMNS 16
#define CELL 15
#define SHOWN_MAX 256 /* samples drawn; the engine records at most 64 */
#define POWER 0.8     /* lifts small values */

struct _PscHeatmap {
    GtkWidget parent_instance;
    float *values;
    guint n;
    float limit; /* largest finite magnitude */
};

G_DEFINE_FINAL_TYPE(PscHeatmap, psc_heatmap, GTK_TYPE_WIDGET)

static GdkRGBA cell_colour(const PscHeatmap *self, float value)
{
    const struct psc_palette *palette = psc_palette_get(psc_ui_is_dark());
    if (!isfinite(value))
        return psc_ui_colour(PSC_COL_WARN_EDGE);
    double part = self->limit > 0 ? pow(fabs((double)value) / self->limit, POWER) : 0;
    uint32_t end = palette->rgb[value < 0 ? PSC_COL_HEAT_LOW : PSC_COL_HEAT_HIGH];
    uint32_t rgb = psc_rgb_mix(palette->rgb[PSC_COL_HEAT_MID], end, part);
    return (GdkRGBA){(float)(rgb >> 16 & 255) / 255, (float)(rgb >> 8 & 255) / 255, (float)(rgb & 255) / 255, 1};
}

static void psc_heatmap_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscHeatmap *self = PSC_HEATMAP(widget);
    float cell = MIN((float)gtk_widget_get_width(widget) / COLUMNS, (float)CELL * 1.6f);
    for (guint i = 0; i < self->n; i++) {
        GdkRGBA colour = cell_colour(self, self->values[i]);
        float x = floorf((float)(i % COLUMNS) * cell), right = floorf((float)(i % COLUMNS + 1) * cell);
        gtk_snapshot_append_color(snapshot, &colour,
                                  &GRAPHENE_RECT_INIT(x, (float)(i / COLUMNS) * CELL, right - x - 1, CELL - 1));
    }
}

static void psc_heatmap_measure(GtkWidget *widget, GtkOrientation orientation, int size G_GNUC_UNUSED, int *min,
                                int *natural, int *min_base G_GNUC_UNUSED, int *natural_base G_GNUC_UNUSED)
{
    PscHeatmap *self = PSC_HEATMAP(widget);
    if (orientation == GTK_ORIENTATION_HORIZONTAL) {
        *min = 6 * COLUMNS;
        *natural = CELL * COLUMNS;
    } else {
        *min = *natural = (int)((self->n + COLUMNS - 1) / COLUMNS) * CELL;
    }
}

static gboolean psc_heatmap_query_tooltip(GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
    PscHeatmap *self = PSC_HEATMAP(widget);
    float cell = MIN((float)gtk_widget_get_width(widget) / COLUMNS, (float)CELL * 1.6f);
    guint column = (guint)((float)x / cell), at = (guint)(y / CELL) * COLUMNS + column;
    if (keyboard || column >= COLUMNS || at >= self->n)
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
    for (guint i = 0; i < self->n; i++)
        if (isfinite(self->values[i]))
            self->limit = fmaxf(self->limit, fabsf(self->values[i]));
    char *text = g_strdup_printf("%u samples between %.4g and %.4g", self->n, -(double)self->limit,
                                 (double)self->limit);
    psc_ui_name(GTK_WIDGET(self), text);
    g_free(text);
    return GTK_WIDGET(self);
}
