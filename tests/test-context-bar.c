/* The bar over the window while a file is still being read: what is chosen, opened and scrolled to stays where it is. Needs a
 * display (tests/ui/on-display). */
#include "tests/trace-texts.h"
#include "tests/util.h"
#include "tests/workspaces.h"
#include "traces/traces.h"
#include "ui/context-bar.h"

#include <string.h>

#define PHASES 60

/* A file whose reading waits: each `passes` lets one slice of it through. */
struct fixture {
    PscWorkspace *ws;
    GtkWidget *window, *bar;
    char *text;
    struct psc_step_source file;
    GMutex lock;
    GCond moved;
    guint passes, read, told; /* slices that may be read, that were, and of which the workspace told */
    GString *chosen;    /* every phase that the drop-down said, in turn */
};

static enum psc_status slow_scan(void *ctx, uint64_t max_bytes G_GNUC_UNUSED, bool *ret_done, struct psc_error *reterr)
{
    struct fixture *f = ctx;
    g_mutex_lock(&f->lock);
    while (f->passes == f->read)
        g_cond_wait(&f->moved, &f->lock);
    g_mutex_unlock(&f->lock);
    enum psc_status status = f->file.scan(f->file.ctx, strlen(PHASE(STEP(REC("2")))), ret_done, reterr);
    g_mutex_lock(&f->lock);
    f->read++;
    g_cond_broadcast(&f->moved);
    g_mutex_unlock(&f->lock);
    return status;
}

static uint32_t count(void *ctx, uint32_t phase)
{
    struct fixture *f = ctx;
    return f->file.count(f->file.ctx, phase);
}

static enum psc_status load(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena, struct psc_step *ret,
                            struct psc_error *reterr)
{
    struct fixture *f = ctx;
    return f->file.load(f->file.ctx, phase, step, arena, ret, reterr);
}

static void close_file(void *ctx)
{
    struct fixture *f = ctx;
    f->file.close(f->file.ctx);
}

static void open_slowly(struct fixture *f)
{
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    PscLook look = {0};
    GString *phases = g_string_new(NULL);
    for (guint i = 0; i < PHASES; i++)
        g_string_append_printf(phases, "%s%s", i ? "," : "", PHASE(STEP(REC("2"))));
    f->text = g_strdup_printf(TRACE("%s"), phases->str);
    g_string_free(phases, TRUE);
    g_assert_cmpint(psc_trace_open_memory("slow", f->text, strlen(f->text), NULL, &report, &doc, &error), ==, PSC_OK);
    psc_report_release(&report);
    f->file = doc->steps;
    doc->steps = (struct psc_step_source){.count = count, .load = load, .scan = slow_scan, .close = close_file, .ctx = f};
    PscDocument *document = psc_document_new(doc);
    g_assert_true(psc_look_make(&look, document, NULL, 0, &doc->phases[0], &options, true, 0, &error));
    psc_workspace_adopt(f->ws, document, &look, "slow");
}

static void read_slices(struct fixture *f, guint n)
{
    g_mutex_lock(&f->lock);
    f->passes += n;
    g_cond_broadcast(&f->moved);
    g_mutex_unlock(&f->lock);
}

static void until_phases(struct fixture *f, guint n)
{
    while (psc_workspace_phase_n(f->ws) < n) {
        if (f->passes == f->told)
            read_slices(f, 1);
        g_main_context_iteration(NULL, TRUE);
    }
    for (int i = 0; i < 200; i++) { /* frames: a list that was told of more rows lays them out */
        g_main_context_iteration(NULL, FALSE);
        g_usleep(1000);
    }
}

static void settle(struct fixture *f)
{
    while (psc_workspace_busy(f->ws))
        g_main_context_iteration(NULL, TRUE);
}

static GtkWidget *below(GtkWidget *widget, GType type)
{
    if (G_TYPE_CHECK_INSTANCE_TYPE(widget, type))
        return widget;
    GtkWidget *found = NULL;
    for (GtkWidget *child = gtk_widget_get_first_child(widget); child && !found; child = gtk_widget_get_next_sibling(child))
        found = below(child, type);
    return found;
}

/* The phases stand in the first box of the bar. */
static GtkWidget *phases_of(struct fixture *f)
{
    return gtk_widget_get_first_child(f->bar);
}

static GtkDropDown *choice_of(struct fixture *f)
{
    return GTK_DROP_DOWN(below(phases_of(f), GTK_TYPE_DROP_DOWN));
}

static void chosen_cb(GtkDropDown *choice, GParamSpec *property G_GNUC_UNUSED, struct fixture *f)
{
    g_string_append_printf(f->chosen, "%u ", gtk_drop_down_get_selected(choice));
}

static void told_cb(PscWorkspace *ws G_GNUC_UNUSED, guint what, struct fixture *f)
{
    f->told += (what & PSC_CHANGED_STEPS) != 0;
}

static void set_up(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_mutex_init(&f->lock);
    g_cond_init(&f->moved);
    f->chosen = g_string_new(NULL);
    f->ws = psc_workspace_new();
    open_slowly(f);
    g_signal_connect(f->ws, "changed", G_CALLBACK(told_cb), f);
    f->bar = g_object_ref_sink(psc_context_bar_new(f->ws));
    f->window = gtk_window_new();
    gtk_window_set_default_size(GTK_WINDOW(f->window), 1200, 700);
    gtk_widget_set_valign(f->bar, GTK_ALIGN_START);
    gtk_window_set_child(GTK_WINDOW(f->window), f->bar);
    gtk_window_present(GTK_WINDOW(f->window));
}

static void tear_down(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    read_slices(f, 10 * PHASES);
    workspace_settle(f->ws, NULL);
    gtk_window_destroy(GTK_WINDOW(f->window));
    g_object_unref(f->bar);
    workspace_close(f->ws);
    g_string_free(f->chosen, TRUE);
    g_free(f->text);
    g_mutex_clear(&f->lock);
    g_cond_clear(&f->moved);
}

static void an_open_list_of_phases_stays_open_and_where_it_was(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    until_phases(f, 30);
    GtkDropDown *choice = choice_of(f);
    gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(below(GTK_WIDGET(choice), GTK_TYPE_TOGGLE_BUTTON)), TRUE);
    GtkWidget *list = below(GTK_WIDGET(choice), GTK_TYPE_POPOVER);
    until_phases(f, 32);
    g_assert_true(gtk_widget_get_mapped(list));
    GtkWidget *scroller = below(list, GTK_TYPE_SCROLLED_WINDOW);
    GtkAdjustment *height = gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(scroller));
    gtk_adjustment_set_value(height, 100);
    until_phases(f, 33);
    double at = gtk_adjustment_get_value(height), upper = gtk_adjustment_get_upper(height);
    g_assert_cmpfloat(at, >, 50);
    g_object_add_weak_pointer(G_OBJECT(list), (gpointer *)&list);
    until_phases(f, PHASES);
    g_assert_nonnull(list);
    g_assert_true(gtk_widget_get_mapped(list));
    g_assert_cmpfloat(gtk_adjustment_get_value(height), ==, at);
    g_assert_cmpfloat(gtk_adjustment_get_upper(height), >, upper);
    g_object_remove_weak_pointer(G_OBJECT(list), (gpointer *)&list);
    g_assert_cmpuint(g_list_model_get_n_items(gtk_drop_down_get_model(choice)), ==, PHASES);
}

/* The slice is read before the phase is chosen, and told of after it, while the phase is being worked out. */
static void the_chosen_phase_does_not_jump_back_while_it_is_worked_out(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    until_phases(f, 20);
    GtkDropDown *choice = choice_of(f);
    g_signal_connect(choice, "notify::selected", G_CALLBACK(chosen_cb), f);
    for (guint phase = 3; phase < 9; phase++) {
        guint had = f->read;
        read_slices(f, 1);
        g_mutex_lock(&f->lock);
        while (f->read == had)
            g_cond_wait(&f->moved, &f->lock);
        g_mutex_unlock(&f->lock);
        gtk_drop_down_set_selected(choice, phase);
        settle(f);
        g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, phase);
    }
    g_assert_cmpstr(f->chosen->str, ==, "3 4 5 6 7 8 ");
    g_assert_true(choice == choice_of(f));
}

static void going_back_at_once_goes_back(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    until_phases(f, 8);
    GtkDropDown *choice = choice_of(f);
    gtk_drop_down_set_selected(choice, 4);
    gtk_drop_down_set_selected(choice, 0);
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 0);
    g_assert_cmpuint(gtk_drop_down_get_selected(choice), ==, 0);
}

/* Up to four phases stand side by side; the focus stays on one while more come. */
static void phases_side_by_side_keep_the_focus(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    until_phases(f, 2);
    GtkWidget *second = gtk_widget_get_next_sibling(gtk_widget_get_first_child(phases_of(f)));
    gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(second), TRUE);
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 1);
    g_assert_true(gtk_widget_grab_focus(second));
    until_phases(f, 4);
    g_assert_true(gtk_window_get_focus(GTK_WINDOW(f->window)) == second);
    g_assert_true(gtk_toggle_button_get_active(GTK_TOGGLE_BUTTON(second)));
    until_phases(f, 7);
    g_assert_cmpuint(gtk_drop_down_get_selected(choice_of(f)), ==, 1);
    GtkWidget *focus = gtk_window_get_focus(GTK_WINDOW(f->window));
    g_assert_true(focus && gtk_widget_is_ancestor(focus, phases_of(f)));
}

/* The strip has a button for each step; those that stand stay while others come. */
static void a_token_keeps_the_focus(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    until_phases(f, 6);
    GtkWidget *token = NULL;
    for (GtkWidget *child = gtk_widget_get_first_child(f->bar); child && !token; child = gtk_widget_get_next_sibling(child))
        if (GTK_IS_SCROLLED_WINDOW(child))
            token = gtk_widget_get_next_sibling(below(child, GTK_TYPE_BUTTON));
    g_assert_nonnull(token);
    g_assert_true(gtk_widget_grab_focus(token));
    until_phases(f, 12);
    g_assert_true(gtk_window_get_focus(GTK_WINDOW(f->window)) == token);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!gtk_init_check()) {
        g_print("1..0 # SKIP no display\n");
        return 0;
    }
#define ADD(name, function) g_test_add("/ui/context-bar/" name, struct fixture, NULL, set_up, function, tear_down)
    ADD("an-open-list-of-phases-stays-open-and-where-it-was", an_open_list_of_phases_stays_open_and_where_it_was);
    ADD("the-chosen-phase-does-not-jump-back-while-it-is-worked-out", the_chosen_phase_does_not_jump_back_while_it_is_worked_out);
    ADD("going-back-at-once-goes-back", going_back_at_once_goes_back);
    ADD("phases-side-by-side-keep-the-focus", phases_side_by_side_keep_the_focus);
    ADD("a-token-keeps-the-focus", a_token_keeps_the_focus);
    return g_test_run();
}
