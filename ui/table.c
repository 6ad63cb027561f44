#include "ui/table.h"

#include "ui/access.h"
#include "ui/table-cell.h"

#include <stdlib.h>

#define SCROLL_FRAMES 2
#define COLUMNS_MOST 16
#define AHEAD 0.65
#define CELL_PADDING 16
#define DIGIT 8 /* px of a figure at 9 pt */

/* ---- a row, and the lazy list of rows ------------------------------------------------------ */

#define PSC_TYPE_ROW (psc_row_get_type())
G_DECLARE_FINAL_TYPE(PscRow, psc_row, PSC, ROW, GObject)
struct _PscRow {
    GObject parent_instance;
    uint32_t index;
};
G_DEFINE_FINAL_TYPE(PscRow, psc_row, G_TYPE_OBJECT)

static void psc_row_class_init(PscRowClass *class G_GNUC_UNUSED)
{
}

static void psc_row_init(PscRow *self G_GNUC_UNUSED)
{
}

static PscRow *row_new(uint32_t index)
{
    PscRow *row = g_object_new(PSC_TYPE_ROW, NULL);
    row->index = index;
    return row;
}

#define PSC_TYPE_ROWS (psc_rows_get_type())
G_DECLARE_FINAL_TYPE(PscRows, psc_rows, PSC, ROWS, GObject)
struct _PscRows {
    GObject parent_instance;
    uint32_t *order; /* row number at each place */
    guint n;
};

static GType rows_item_type(GListModel *model G_GNUC_UNUSED)
{
    return PSC_TYPE_ROW;
}

static guint rows_n(GListModel *model)
{
    return PSC_ROWS(model)->n;
}

static gpointer rows_item(GListModel *model, guint at)
{
    PscRows *self = PSC_ROWS(model);
    return at < self->n ? row_new(self->order[at]) : NULL;
}

static void rows_interface(GListModelInterface *iface)
{
    iface->get_item_type = rows_item_type;
    iface->get_n_items = rows_n;
    iface->get_item = rows_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE(PscRows, psc_rows, G_TYPE_OBJECT,
                              G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, rows_interface))

static void psc_rows_finalize(GObject *object)
{
    g_free(PSC_ROWS(object)->order);
    G_OBJECT_CLASS(psc_rows_parent_class)->finalize(object);
}

static void psc_rows_class_init(PscRowsClass *class)
{
    G_OBJECT_CLASS(class)->finalize = psc_rows_finalize;
}

static void psc_rows_init(PscRows *self G_GNUC_UNUSED)
{
}

/* ---- the table -------------------------------------------------------------------------- */

struct _PscTable {
    GtkWidget parent_instance;
    PscWorkspace *ws;
    const PscTableKind *kind;
    PscRows *rows;
    GtkSingleSelection *selection;
    GtkWidget *scroller, *view;
    GtkColumnViewColumn *columns[COLUMNS_MOST]; /* of the kind; shown[i]: it stands in the view */
    gboolean shown[COLUMNS_MOST];
    GtkColumnViewColumn *sorted; /* last by key, compared only; downwards: largest first */
    gboolean downwards;
    PscFilter *filter;
    GPtrArray *cells; /* bound GtkListItem, borrowed */
    PscRow *probe[2]; /* lets the view's sorter compare two rows without making an object for each */
    gboolean syncing;   /* the selection follows the workspace */
    gboolean selecting; /* the workspace follows the selection, which then stays where the person put it */
    guint scroll_tick;
    int scroll_frames; /* to wait before scrolling to the selected row */
    int width;         /* that columns were last fitted to */
    guint fit;         /* idle: columns to be shown or hidden for another width */
};

G_DEFINE_FINAL_TYPE(PscTable, psc_table, GTK_TYPE_WIDGET)

struct cell_use {
    PscTable *table; /* borrowed: a factory dies with its table */
    const PscColumn *column;
};

static void update_cell(PscTable *self, const PscColumn *column, GtkListItem *item)
{
    PscRow *row = gtk_list_item_get_item(item);
    GtkWidget *cell = gtk_list_item_get_child(item);
    if (!row || !cell || row->index >= self->kind->count(self->ws))
        return;
    struct psc_text text = {0};
    column->text(self->ws, row->index, &text);
    guint colour = 0;
    double part = column->bar ? column->bar(self->ws, row->index, &colour) : -1;
    const char *style = column->style ? column->style(self->ws, row->index) : NULL;
    psc_table_cell_set(PSC_TABLE_CELL(cell), psc_text_str(&text), part, colour, style);
    if (column->mark)
        psc_table_cell_set_wide(PSC_TABLE_CELL(cell), column->mark(self->ws, row->index));
    GtkWidget *place = gtk_widget_get_parent(cell), *line = place ? gtk_widget_get_parent(place) : NULL;
    if (column->names_row && line)
        psc_ui_name(line, psc_text_str(&text));
    psc_text_release(&text);
}

static void setup_cb(GtkSignalListItemFactory *factory G_GNUC_UNUSED, GtkListItem *item, gpointer data)
{
    struct cell_use *use = data;
    gtk_list_item_set_child(item, psc_table_cell_new(use->column->bar != NULL, use->column->right, use->column->middle));
    g_object_set_data(G_OBJECT(item), "column", (gpointer)use->column);
    g_ptr_array_add(use->table->cells, item);
}

static void bind_cb(GtkSignalListItemFactory *factory G_GNUC_UNUSED, GtkListItem *item, gpointer data)
{
    struct cell_use *use = data;
    update_cell(use->table, use->column, item);
}

static void teardown_cb(GtkSignalListItemFactory *factory G_GNUC_UNUSED, GtkListItem *item, gpointer data)
{
    struct cell_use *use = data;
    if (use->table->cells)
        g_ptr_array_remove_fast(use->table->cells, item);
}

static int compare_cb(gconstpointer a, gconstpointer b, gpointer data)
{
    struct cell_use *use = data;
    uint32_t x = ((const PscRow *)a)->index, y = ((const PscRow *)b)->index;
    int order = use->column->compare ? use->column->compare(use->table->ws, x, y) : 0;
    return order ? order : x < y ? -1 : x > y;
}

static void add_column(PscTable *self, const PscColumn *column)
{
    struct cell_use *use = g_new0(struct cell_use, 1);
    *use = (struct cell_use){self, column};
    GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
    g_signal_connect(factory, "setup", G_CALLBACK(setup_cb), use);
    g_signal_connect(factory, "bind", G_CALLBACK(bind_cb), use);
    g_signal_connect(factory, "teardown", G_CALLBACK(teardown_cb), use);
    g_object_set_data_full(G_OBJECT(self), column->title, use, g_free);
    guint at = (guint)(column - self->kind->columns);
    GtkColumnViewColumn *view_column = self->columns[at] = gtk_column_view_column_new(column->title, factory);
    GtkSorter *sorter = GTK_SORTER(gtk_custom_sorter_new(compare_cb, use, NULL));
    gtk_column_view_column_set_sorter(view_column, sorter);
    gtk_column_view_column_set_resizable(view_column, TRUE);
    gtk_column_view_column_set_expand(view_column, column->expand);
    if (column->width)
        gtk_column_view_column_set_fixed_width(view_column, column->width);
    gtk_column_view_append_column(GTK_COLUMN_VIEW(self->view), view_column);
    self->shown[at] = TRUE;
    g_object_unref(sorter);
}

static int by_sorter(const void *a, const void *b, gpointer data)
{
    PscTable *self = data;
    self->probe[0]->index = *(const uint32_t *)a;
    self->probe[1]->index = *(const uint32_t *)b;
    GtkSorter *sorter = gtk_column_view_get_sorter(GTK_COLUMN_VIEW(self->view));
    GtkOrdering order = gtk_sorter_compare(sorter, self->probe[0], self->probe[1]);
    if (order != GTK_ORDERING_EQUAL)
        return order == GTK_ORDERING_SMALLER ? -1 : 1;
    return self->probe[0]->index < self->probe[1]->index ? -1 : 1;
}

static int digits_of(uint32_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static void fit_numbers(PscTable *self, uint32_t count)
{
    PscStudy *study = psc_workspace_study(self->ws);
    for (guint i = 0; i < self->kind->column_n; i++) {
        const PscColumn *c = &self->kind->columns[i];
        int digits = c->counts ? digits_of(count) : c->spans && study ? 2 * digits_of((uint32_t)psc_study_end(study)) + 1 : 0;
        if (digits)
            gtk_column_view_column_set_fixed_width(self->columns[i], MAX(c->width, CELL_PADDING + digits * DIGIT));
    }
}

void psc_table_reload(PscTable *self)
{
    uint32_t count = self->kind->count(self->ws);
    fit_numbers(self, count);
    uint32_t *order = g_new(uint32_t, (gsize)count + 1);
    guint n = 0;
    gboolean all = !self->filter || psc_filter_is_empty(self->filter) || !self->kind->match;
    for (uint32_t row = 0; row < count; row++)
        if (all || self->kind->match(self->ws, self->filter, row))
            order[n++] = row;
    GtkSorter *sorter = gtk_column_view_get_sorter(GTK_COLUMN_VIEW(self->view));
    if (sorter && gtk_sorter_get_order(sorter) != GTK_SORTER_ORDER_NONE)
        g_qsort_with_data(order, (gint)n, sizeof *order, by_sorter, self);
    guint old = self->rows->n, same = 0;
    while (same < n && same < old && order[same] == self->rows->order[same])
        same++; /* these keep their widgets, and get other words at most */
    g_free(self->rows->order);
    self->rows->order = order;
    self->rows->n = n;
    self->syncing = TRUE;
    if (same < old || same < n)
        g_list_model_items_changed(G_LIST_MODEL(self->rows), same, old - same, n - same);
    self->syncing = FALSE;
    psc_table_refresh(self);
    psc_table_show_selected(self);
}

void psc_table_refresh(PscTable *self)
{
    for (guint i = 0; i < self->cells->len; i++) {
        GtkListItem *item = g_ptr_array_index(self->cells, i);
        update_cell(self, g_object_get_data(G_OBJECT(item), "column"), item);
    }
}

static guint place_of(PscTable *self, uint32_t row)
{
    PscRows *rows = self->rows;
    if (row < rows->n && rows->order[row] == row)
        return row;
    for (guint i = 0; i < rows->n; i++)
        if (rows->order[i] == row)
            return i;
    return GTK_INVALID_LIST_POSITION;
}

/* Where the rows have the focus, it goes along with the selection: the next arrow key counts from there. */
static void focus_place(PscTable *self, guint place)
{
    GtkWidget *focus = gtk_root_get_focus(gtk_widget_get_root(GTK_WIDGET(self)));
    if (!focus || !gtk_widget_is_ancestor(focus, self->view))
        return;
    for (guint i = 0; i < self->cells->len; i++) {
        GtkListItem *item = g_ptr_array_index(self->cells, i);
        GtkWidget *cell = gtk_list_item_get_child(item), *at = cell ? gtk_widget_get_parent(cell) : NULL;
        GtkWidget *row = at ? gtk_widget_get_parent(at) : NULL;
        if (row && gtk_list_item_get_position(item) == place) {
            gtk_widget_grab_focus(row);
            return;
        }
    }
}

/* A row in sight moves nothing. One that is not comes with AHEAD of the page beyond it, in the direction in which it was left:
   who steps sees what comes next, and the list moves once in so many steps (each time all of its cells are drawn). */
static void scroll_to(PscTable *self, guint place)
{
    GtkAdjustment *at = gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(self->scroller));
    double row = gtk_adjustment_get_upper(at) / MAX(self->rows->n, 1u), top = row * place; /* rows are of one height */
    double from = gtk_adjustment_get_value(at), page = gtk_adjustment_get_page_size(at);
    guint ahead = row > 0 ? (guint)(page * AHEAD / row) : 0, last = self->rows->n - 1;
    guint to = top + row > from + page ? MIN(place + ahead, last) : top < from ? place - MIN(place, ahead) : place;
    for (GtkWidget *child = gtk_widget_get_first_child(self->view); child; child = gtk_widget_get_next_sibling(child))
        if (GTK_IS_LIST_VIEW(child))
            gtk_widget_activate_action(child, "list.scroll-to-item", "u", to);
}

/* A list can only scroll to a row when it has its size: not before the frame after the one that shows it. */
static gboolean scroll_cb(GtkWidget *view G_GNUC_UNUSED, GdkFrameClock *clock G_GNUC_UNUSED, gpointer data)
{
    PscTable *self = data;
    guint place = gtk_single_selection_get_selected(self->selection);
    if (--self->scroll_frames > 0)
        return G_SOURCE_CONTINUE;
    self->scroll_tick = 0;
    if (place == GTK_INVALID_LIST_POSITION)
        return G_SOURCE_REMOVE;
    scroll_to(self, place);
    focus_place(self, place);
    return G_SOURCE_REMOVE;
}

void psc_table_show_selected(PscTable *self)
{
    uint32_t row = self->kind->selected ? self->kind->selected(self->ws) : PSC_NONE;
    guint place = row == PSC_NONE ? GTK_INVALID_LIST_POSITION : place_of(self, row);
    if (self->selecting || gtk_single_selection_get_selected(self->selection) == place)
        return;
    self->syncing = TRUE;
    gtk_single_selection_set_selected(self->selection, place);
    self->syncing = FALSE;
    if (place == GTK_INVALID_LIST_POSITION || self->scroll_tick) /* one under way goes to the last that was selected */
        return;
    self->scroll_frames = SCROLL_FRAMES;
    self->scroll_tick = gtk_widget_add_tick_callback(self->view, scroll_cb, self, NULL);
}

void psc_table_set_filter(PscTable *self, const char *text)
{
    psc_filter_free(self->filter);
    self->filter = psc_filter_new(text);
    psc_table_reload(self);
}

void psc_table_focus(PscTable *self)
{
    for (GtkWidget *child = gtk_widget_get_first_child(self->view); child; child = gtk_widget_get_next_sibling(child))
        if (GTK_IS_LIST_VIEW(child))
            gtk_widget_grab_focus(child);
}

void psc_table_enter(PscTable *self)
{
    psc_table_focus(self);
    if (self->rows->n && gtk_single_selection_get_selected(self->selection) == GTK_INVALID_LIST_POSITION)
        gtk_single_selection_set_selected(self->selection, 0);
}

guint psc_table_n(PscTable *self)
{
    return self->rows->n;
}

static void selected_cb(PscTable *self)
{
    PscRow *row = gtk_single_selection_get_selected_item(self->selection);
    if (self->syncing || !row || !self->kind->select)
        return;
    self->selecting = TRUE;
    self->kind->select(self->ws, row->index);
    self->selecting = FALSE;
}

static void activate_cb(PscTable *self, guint place)
{
    if (place >= self->rows->n)
        return;
    if (self->kind->activate)
        self->kind->activate(self->ws, self->rows->order[place]);
    else if (self->kind->select)
        self->kind->select(self->ws, self->rows->order[place]);
}

/* ---- width -------------------------------------------------------------------------------- */

/* Spare columns go, the last one first, until every column that expands has its least width. */
static gboolean fit_columns_cb(gpointer data)
{
    PscTable *self = data;
    const PscColumn *columns = self->kind->columns;
    gboolean fits[COLUMNS_MOST];
    int room = self->width, widths[COLUMNS_MOST];
    self->fit = 0;
    for (guint i = 0; i < self->kind->column_n; i++) {
        widths[i] = columns[i].expand ? PSC_COLUMN_LEAST : gtk_column_view_column_get_fixed_width(self->columns[i]);
        room -= widths[i];
    }
    for (guint i = self->kind->column_n; i-- > 0;) {
        fits[i] = !columns[i].spare || room >= 0;
        room += fits[i] ? 0 : widths[i];
    }
    for (guint i = 0, at = 0; i < self->kind->column_n; i++) { /* one that is only invisible keeps its room */
        if (fits[i] && !self->shown[i])
            gtk_column_view_insert_column(GTK_COLUMN_VIEW(self->view), at, self->columns[i]);
        else if (!fits[i] && self->shown[i])
            gtk_column_view_remove_column(GTK_COLUMN_VIEW(self->view), self->columns[i]);
        self->shown[i] = fits[i];
        at += fits[i];
    }
    return G_SOURCE_REMOVE;
}

static void psc_table_measure(GtkWidget *widget, GtkOrientation orientation, int size, int *min, int *natural, int *min_base,
                              int *natural_base)
{
    gtk_widget_measure(PSC_TABLE(widget)->scroller, orientation, size, min, natural, min_base, natural_base);
}

static void psc_table_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    PscTable *self = PSC_TABLE(widget);
    if (width != self->width && !self->fit)
        self->fit = g_idle_add_full(G_PRIORITY_HIGH_IDLE, fit_columns_cb, self, NULL);
    self->width = width;
    gtk_widget_size_allocate(self->scroller, &(GtkAllocation){0, 0, width, height}, baseline);
}

/* ---- sorting by key ------------------------------------------------------------------------ */

/* Heads of columns take no focus: Alt with 1 .. 9 sorts by the first .. ninth of those that are shown. */
static gboolean key_cb(GtkEventControllerKey *keys G_GNUC_UNUSED, guint key, guint code G_GNUC_UNUSED, GdkModifierType state,
                       PscTable *self)
{
    guint at = key >= GDK_KEY_1 && key <= GDK_KEY_9 ? key - GDK_KEY_1 : G_MAXUINT;
    GtkColumnViewColumn *column = NULL;
    if ((state & (GDK_ALT_MASK | GDK_CONTROL_MASK | GDK_SHIFT_MASK)) == GDK_ALT_MASK && at != G_MAXUINT)
        column = g_list_model_get_item(gtk_column_view_get_columns(GTK_COLUMN_VIEW(self->view)), at);
    if (!column)
        return FALSE;
    self->downwards = column == self->sorted && !self->downwards;
    self->sorted = column;
    gtk_column_view_sort_by_column(GTK_COLUMN_VIEW(self->view), column, self->downwards ? GTK_SORT_DESCENDING : GTK_SORT_ASCENDING);
    g_object_unref(column);
    return TRUE;
}

static void psc_table_dispose(GObject *object)
{
    PscTable *self = PSC_TABLE(object);
    g_clear_handle_id(&self->fit, g_source_remove);
    if (self->scroll_tick)
        gtk_widget_remove_tick_callback(self->view, self->scroll_tick);
    self->scroll_tick = 0;
    g_clear_pointer(&self->scroller, gtk_widget_unparent);
    for (guint i = 0; i < COLUMNS_MOST; i++)
        g_clear_object(&self->columns[i]);
    g_clear_pointer(&self->cells, g_ptr_array_unref);
    g_clear_object(&self->rows);
    g_clear_object(&self->selection);
    g_clear_object(&self->probe[0]);
    g_clear_object(&self->probe[1]);
    g_clear_pointer(&self->filter, psc_filter_free);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_table_parent_class)->dispose(object);
}

static void psc_table_class_init(PscTableClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_table_dispose;
    GTK_WIDGET_CLASS(class)->measure = psc_table_measure;
    GTK_WIDGET_CLASS(class)->size_allocate = psc_table_size_allocate;
    gtk_widget_class_set_css_name(GTK_WIDGET_CLASS(class), "psctable");
    gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_GROUP);
}

static void psc_table_init(PscTable *self)
{
    self->cells = g_ptr_array_new();
    self->rows = g_object_new(PSC_TYPE_ROWS, NULL);
    self->probe[0] = row_new(0);
    self->probe[1] = row_new(0);
}

GtkWidget *psc_table_new(PscWorkspace *ws, const PscTableKind *kind)
{
    PscTable *self = g_object_new(PSC_TYPE_TABLE, NULL);
    self->ws = g_object_ref(ws);
    self->kind = kind;
    g_assert(kind->column_n <= COLUMNS_MOST);
    self->selection = gtk_single_selection_new(G_LIST_MODEL(g_object_ref(self->rows)));
    gtk_single_selection_set_autoselect(self->selection, FALSE);
    gtk_single_selection_set_can_unselect(self->selection, TRUE);
    self->view = gtk_column_view_new(GTK_SELECTION_MODEL(g_object_ref(self->selection)));
    gtk_widget_add_css_class(self->view, "psc-table");
    psc_ui_name(self->view, kind->label);
    for (guint i = 0; i < kind->column_n; i++)
        add_column(self, &kind->columns[i]);
    self->scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->scroller), self->view);
    gtk_widget_set_vexpand(self->scroller, TRUE);
    gtk_widget_set_parent(self->scroller, GTK_WIDGET(self));
    for (GtkWidget *child = gtk_widget_get_first_child(self->view); child; child = gtk_widget_get_next_sibling(child))
        if (GTK_IS_LIST_VIEW(child))
            psc_ui_name(child, kind->label);
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(key_cb), self);
    gtk_widget_add_controller(self->view, keys);
    g_signal_connect_swapped(self->selection, "notify::selected", G_CALLBACK(selected_cb), self);
    g_signal_connect_swapped(self->view, "activate", G_CALLBACK(activate_cb), self);
    g_signal_connect_swapped(gtk_column_view_get_sorter(GTK_COLUMN_VIEW(self->view)), "changed",
                             G_CALLBACK(psc_table_reload), self);
    return GTK_WIDGET(self);
}
