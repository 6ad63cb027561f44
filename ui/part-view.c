#include "ui/part-view.h"

#include "ui/access.h"
#include "ui/draw/parts.h"
#include "ui/palette.h"

#define LIFE_HEIGHT   36
#define OWNERS_HEIGHT 46

struct _PscPartView {
    GtkWidget parent_instance;
    PscPicture *picture; /* a reference */
    gboolean owners;     /* else a life */
    uint32_t tenancy, buffer;
    uint64_t byte;
    int32_t cursor;
};

G_DEFINE_FINAL_TYPE(PscPartView, psc_part_view, GTK_TYPE_WIDGET)

struct psc_type *psc_ui_type(void)
{
    static struct psc_type *type;
    if (!type)
        type = psc_type_new();
    return type;
}

static void psc_part_view_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscPartView *self = PSC_PART_VIEW(widget);
    int width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);
    const struct psc_palette *palette = psc_palette_get(psc_ui_is_dark());
    cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
    if (self->owners)
        psc_part_owners(cr, palette, psc_ui_type(), self->picture->scene, self->buffer, self->byte, self->cursor, width, height);
    else
        psc_part_life(cr, palette, psc_ui_type(), self->picture->scene, self->tenancy, self->cursor, width, height);
    cairo_destroy(cr);
}

static void psc_part_view_measure(GtkWidget *widget, GtkOrientation orientation, int size G_GNUC_UNUSED, int *min,
                                  int *natural, int *min_base G_GNUC_UNUSED, int *natural_base G_GNUC_UNUSED)
{
    if (orientation == GTK_ORIENTATION_HORIZONTAL) {
        *min = 120;
        *natural = 280;
    } else {
        *min = *natural = PSC_PART_VIEW(widget)->owners ? OWNERS_HEIGHT : LIFE_HEIGHT;
    }
}

static void psc_part_view_finalize(GObject *object)
{
    psc_picture_unref(PSC_PART_VIEW(object)->picture);
    G_OBJECT_CLASS(psc_part_view_parent_class)->finalize(object);
}

static void psc_part_view_class_init(PscPartViewClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->finalize = psc_part_view_finalize;
    widget_class->snapshot = psc_part_view_snapshot;
    widget_class->measure = psc_part_view_measure;
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void psc_part_view_init(PscPartView *self)
{
    psc_ui_watch_dark(GTK_WIDGET(self));
}

static PscPartView *part_new(PscPicture *picture, int32_t cursor)
{
    PscPartView *self = g_object_new(PSC_TYPE_PART_VIEW, NULL);
    self->picture = psc_picture_ref(picture);
    self->cursor = cursor;
    return self;
}

GtkWidget *psc_part_view_life(PscPicture *picture, uint32_t tenancy, int32_t cursor)
{
    PscPartView *self = part_new(picture, cursor);
    self->tenancy = tenancy;
    psc_ui_name(GTK_WIDGET(self), "Life in the buffer, between the tenant before and the one after");
    return GTK_WIDGET(self);
}

GtkWidget *psc_part_view_owners(PscPicture *picture, uint32_t buffer, uint64_t byte, int32_t cursor)
{
    PscPartView *self = part_new(picture, cursor);
    self->owners = TRUE;
    self->buffer = buffer;
    self->byte = byte;
    psc_ui_name(GTK_WIDGET(self), "Owner of the bytes before and after the op");
    return GTK_WIDGET(self);
}
