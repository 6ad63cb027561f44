#include "ui/table-cell.h"

#include "ui/access.h"
#include "ui/draw/plan-map.h"
#include "ui/palette.h"

#define BAR 30
#define GAP 5

struct _PscTableCell {
    GtkWidget parent_instance;
    GtkWidget *text;
    gboolean has_bar, wide;
    double part, mark;
    guint colour;
    const char *style;
};

G_DEFINE_FINAL_TYPE(PscTableCell, psc_table_cell, GTK_TYPE_WIDGET)

static void psc_table_cell_measure(GtkWidget *widget, GtkOrientation orientation, int size, int *min, int *natural,
                                   int *min_base, int *natural_base)
{
    PscTableCell *self = PSC_TABLE_CELL(widget);
    int bar = orientation == GTK_ORIENTATION_HORIZONTAL && self->has_bar ? BAR + GAP : 0;
    gtk_widget_measure(self->text, orientation, size < 0 ? size : MAX(size - bar, 0), min, natural, min_base,
                       natural_base);
    *min += bar;
    *natural += bar;
}

static void psc_table_cell_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    PscTableCell *self = PSC_TABLE_CELL(widget);
    int bar = self->has_bar ? BAR + GAP : 0;
    GtkAllocation text = {bar, 0, MAX(width - bar, 0), height};
    gtk_widget_size_allocate(self->text, &text, baseline);
}

static void psc_table_cell_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    PscTableCell *self = PSC_TABLE_CELL(widget);
    if (self->wide && self->part >= 0) {
        int width = gtk_widget_get_width(widget), tall = gtk_widget_get_height(widget);
        cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)tall));
        psc_plan_bar_paint(cr, psc_palette_get(psc_ui_is_dark()), self->part, self->mark, width, tall);
        cairo_destroy(cr);
    } else if (self->has_bar && self->part >= 0) {
        float height = (float)gtk_widget_get_height(widget);
        float w = (float)MAX(2, BAR * MIN(self->part, 1.0)), h = 9;
        GdkRGBA colour = psc_ui_colour(self->colour);
        gtk_snapshot_append_color(snapshot, &colour, &GRAPHENE_RECT_INIT(0, (height - h) / 2, w, h));
    }
    gtk_widget_snapshot_child(widget, self->text, snapshot);
}

/* The whole text, where the column shows only part of it. */
static gboolean psc_table_cell_query_tooltip(GtkWidget *widget, int x G_GNUC_UNUSED, int y G_GNUC_UNUSED,
                                             gboolean keyboard G_GNUC_UNUSED, GtkTooltip *tooltip)
{
    PscTableCell *self = PSC_TABLE_CELL(widget);
    const char *text = gtk_inscription_get_text(GTK_INSCRIPTION(self->text));
    int needs;
    PangoLayout *layout = gtk_widget_create_pango_layout(self->text, text);
    pango_layout_get_pixel_size(layout, &needs, NULL);
    g_object_unref(layout);
    if (needs <= gtk_widget_get_width(self->text))
        return FALSE;
    gtk_tooltip_set_text(tooltip, text);
    return TRUE;
}

static void psc_table_cell_dispose(GObject *object)
{
    g_clear_pointer(&PSC_TABLE_CELL(object)->text, gtk_widget_unparent);
    G_OBJECT_CLASS(psc_table_cell_parent_class)->dispose(object);
}

static void psc_table_cell_class_init(PscTableCellClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = psc_table_cell_dispose;
    widget_class->measure = psc_table_cell_measure;
    widget_class->size_allocate = psc_table_cell_size_allocate;
    widget_class->snapshot = psc_table_cell_snapshot;
    widget_class->query_tooltip = psc_table_cell_query_tooltip;
    gtk_widget_class_set_css_name(widget_class, "tablecell");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_LABEL);
}

static void psc_table_cell_init(PscTableCell *self)
{
    self->part = -1;
    /* The cell itself is the label: one accessible a cell, not two. */
    self->text = g_object_new(GTK_TYPE_INSCRIPTION, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, NULL);
    gtk_inscription_set_min_chars(GTK_INSCRIPTION(self->text), 1); /* the column says how wide it is */
    gtk_inscription_set_nat_chars(GTK_INSCRIPTION(self->text), 3);
    gtk_inscription_set_min_lines(GTK_INSCRIPTION(self->text), 1);
    gtk_widget_set_parent(self->text, GTK_WIDGET(self));
    gtk_widget_set_has_tooltip(GTK_WIDGET(self), TRUE);
}

GtkWidget *psc_table_cell_new(gboolean has_bar, gboolean right, gboolean middle)
{
    PscTableCell *self = g_object_new(PSC_TYPE_TABLE_CELL, NULL);
    self->has_bar = has_bar;
    gtk_inscription_set_xalign(GTK_INSCRIPTION(self->text), right ? 1 : 0);
    gtk_inscription_set_text_overflow(GTK_INSCRIPTION(self->text), middle ? GTK_INSCRIPTION_OVERFLOW_ELLIPSIZE_MIDDLE
                                                                          : GTK_INSCRIPTION_OVERFLOW_ELLIPSIZE_END);
    return GTK_WIDGET(self);
}

void psc_table_cell_set(PscTableCell *self, const char *text, double part, guint colour, const char *style)
{
    const char *old = gtk_inscription_get_text(GTK_INSCRIPTION(self->text));
    if (g_strcmp0(old, text) != 0) {
        gtk_inscription_set_text(GTK_INSCRIPTION(self->text), text);
        psc_ui_name(GTK_WIDGET(self), text);
    }
    if (self->style != style) {
        if (self->style)
            gtk_widget_remove_css_class(GTK_WIDGET(self), self->style);
        if (style)
            gtk_widget_add_css_class(GTK_WIDGET(self), style);
        self->style = style;
    }
    if (self->part != part || self->colour != colour) {
        self->part = part;
        self->colour = colour;
        gtk_widget_queue_draw(GTK_WIDGET(self));
    }
}

void psc_table_cell_set_wide(PscTableCell *self, double mark)
{
    self->wide = TRUE;
    self->mark = mark;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}
