#include "ui/share-bar.h"

#include "ui/access.h"
#include "ui/palette.h"

struct _PscShareBar {
    GtkWidget parent_instance;
    guint part[3];
};

G_DEFINE_FINAL_TYPE(PscShareBar, psc_share_bar, GTK_TYPE_WIDGET)

static void psc_share_bar_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    static const enum psc_colour fills[] = {PSC_COL_ACT_FILL, PSC_COL_WARN_GROUND, PSC_COL_PADDING};
    static const enum psc_colour edges[] = {PSC_COL_ACT_EDGE, PSC_COL_WARN_EDGE, PSC_COL_DIM};
    PscShareBar *self = PSC_SHARE_BAR(widget);
    float width = (float)gtk_widget_get_width(widget), height = (float)gtk_widget_get_height(widget), x = 0;
    float all = (float)MAX(self->part[0] + self->part[1] + self->part[2], 1);
    for (int i = 0; i < 3; i++) {
        float w = (float)self->part[i] / all * width;
        if (!self->part[i])
            continue;
        GdkRGBA fill = psc_ui_colour(fills[i]), edge = psc_ui_colour(edges[i]);
        GskRoundedRect outline;
        gsk_rounded_rect_init_from_rect(&outline, &GRAPHENE_RECT_INIT(x, 0, w, height), 0);
        gtk_snapshot_append_color(snapshot, &fill, &outline.bounds);
        gtk_snapshot_append_border(snapshot, &outline, (float[]){1, 1, 1, 1},
                                   (GdkRGBA[]){edge, edge, edge, edge});
        x += w;
    }
}

static void psc_share_bar_measure(GtkWidget *widget G_GNUC_UNUSED, GtkOrientation orientation,
                                  int size G_GNUC_UNUSED, int *min, int *natural, int *min_base G_GNUC_UNUSED,
                                  int *natural_base G_GNUC_UNUSED)
{
    *min = *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 60 : 15;
}

static void psc_share_bar_class_init(PscShareBarClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    widget_class->snapshot = psc_share_bar_snapshot;
    widget_class->measure = psc_share_bar_measure;
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void psc_share_bar_init(PscShareBar *self)
{
    psc_ui_watch_dark(GTK_WIDGET(self));
}

GtkWidget *psc_share_bar_new(guint own, guint overwritten, guint unknown)
{
    PscShareBar *self = g_object_new(PSC_TYPE_SHARE_BAR, NULL);
    self->part[0] = own;
    self->part[1] = overwritten;
    self->part[2] = unknown;
    char *text = g_strdup_printf("%u records own, %u overwritten, %u unknown", own, overwritten, unknown);
    psc_ui_name(GTK_WIDGET(self), text);
    g_free(text);
    return GTK_WIDGET(self);
}
