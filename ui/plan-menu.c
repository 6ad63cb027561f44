#include "ui/plan-menu.h"

#include "core/candela/kept.h"
#include "ui/access.h"
#include "ui/candela-choice.h"
#include "ui/contest.h"

#include <string.h>

#define FAULTS_HEIGHT 150 /* px of the faults that are seen at once: all of them would not fit a small screen */

enum { MODE, SIZE, SLOTS, ORDER, CHOICE_N };

struct _PscPlanMenu {
    GtkWidget parent_instance;
    PscWorkspace *ws;
    PscContest *contest; /* of ws */
    GtkWidget *button, *label, *origin, *own, *of_pools, *of_candela, *of_planners, *planners, *buttons;
    GtkWidget *choices[CHOICE_N];
    GtkWidget *faults[PSC_FAULT_N];
    gboolean syncing, narrow, wanted;
};

G_DEFINE_FINAL_TYPE(PscPlanMenu, psc_plan_menu, GTK_TYPE_WIDGET)

static GtkWidget *choice_new(int which)
{
    GPtrArray *words = g_ptr_array_new();
    switch (which) {
    case MODE:
        for (int i = 0; i < PSC_MODE_N; i++)
            g_ptr_array_add(words, (gpointer)psc_mode_name(i));
        break;
    case SIZE:
        for (int i = 0; i < PSC_SIZE_N; i++)
            g_ptr_array_add(words, (gpointer)psc_size_name(i));
        break;
    case SLOTS:
        for (int i = 0; i < PSC_SLOTS_N; i++)
            g_ptr_array_add(words, (gpointer)psc_slots_name(i));
        break;
    default:
        for (int i = 0; i < PSC_ORDER_N; i++)
            g_ptr_array_add(words, (gpointer)psc_order_name(i));
    }
    g_ptr_array_add(words, NULL);
    GtkWidget *choice = gtk_drop_down_new_from_strings((const char *const *)words->pdata);
    g_ptr_array_unref(words);
    return choice;
}

static const struct {
    const char *title, *hint;
} choice_words[CHOICE_N] = {
    {"Mode", "upstream repeats the engine with its open holes; hardened closes them"},
    {"Size", "Buffers in size classes, or of exactly the bytes that are needed"},
    {"Slots", "Which of several free buffers is taken"},
    {"Order", "The order in which lives are counted; execution stays in build order"},
};

/* ---- the planners, with what each would need ---------------------------------------------------------------- */

static gboolean can(const PscStudy *study, const struct psc_planner *planner)
{
    return study->graph || (study->phase.boxes && psc_packer_find(planner->name));
}

static const PscEntrant *entrant_of(PscPlanMenu *self, const struct psc_planner *planner)
{
    for (guint i = 0; i < psc_contest_n(self->contest); i++) {
        const PscEntrant *e = psc_contest_at(self->contest, i);
        if (e->choice.planner == planner && g_str_equal(e->name, planner->name))
            return e;
    }
    return NULL;
}

/* "30.2 MiB   1.162 x bound", "1 clobber", nothing while it is not known. */
static void say_cost(GtkWidget *label, const PscEntrant *e)
{
    char bytes[24];
    gboolean known = e && e->done && e->contender.able;
    char *text = !known           ? g_strdup("")
                 : e->finding_n   ? g_strdup_printf("%s   %u clobber%s", psc_bytes_text(e->contender.cost.reserved, bytes, sizeof bytes),
                                                    e->finding_n, e->finding_n == 1 ? "" : "s")
                                  : g_strdup_printf("%s   %.3f \xc3\x97 bound", psc_bytes_text(e->contender.cost.reserved, bytes, sizeof bytes),
                                                    e->contender.cost.ratio);
    gtk_label_set_text(GTK_LABEL(label), text);
    if (known && e->finding_n)
        gtk_widget_add_css_class(label, "clobber");
    else
        gtk_widget_remove_css_class(label, "clobber");
    g_free(text);
}

static const struct psc_planner *planner_of(GtkListBoxRow *row)
{
    return row ? g_object_get_data(G_OBJECT(row), "planner") : NULL;
}

static void update_planners(PscPlanMenu *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_planner *now = psc_study_planner(psc_workspace_study(self->ws));
    for (int i = 0; study; i++) {
        GtkListBoxRow *row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(self->planners), i);
        if (!row)
            break;
        const struct psc_planner *planner = planner_of(row);
        gtk_widget_set_visible(GTK_WIDGET(row), can(study, planner));
        gtk_widget_set_opacity(g_object_get_data(G_OBJECT(row), "tick"), planner == now ? 1 : 0);
        say_cost(g_object_get_data(G_OBJECT(row), "cost"), entrant_of(self, planner));
        char *name = g_strdup_printf("%s%s. %s. %s", planner->name, planner == now ? ", in use" : "", planner->text,
                                     gtk_label_get_text(GTK_LABEL(g_object_get_data(G_OBJECT(row), "cost"))));
        psc_ui_name(GTK_WIDGET(row), name);
        g_free(name);
    }
}

static void set_choice(PscPlanMenu *self, int which, guint value)
{
    gtk_drop_down_set_selected(GTK_DROP_DOWN(self->choices[which]), value);
}

static void update(PscPlanMenu *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_analysis_options *options = psc_workspace_options(self->ws);
    gboolean graph = study && study->graph;
    const struct psc_candela_kept *expression = study ? study->phase.expression : NULL;
    gtk_widget_set_sensitive(self->button, graph || expression || (study && study->phase.boxes));
    const struct psc_planner *now = study ? psc_study_planner(psc_workspace_study(self->ws)) : NULL;
    gboolean candela = expression || (now && g_str_equal(now->name, "candela"));
    gtk_widget_set_visible(self->of_candela, candela); /* each planner looks at options of its own */
    gtk_widget_set_visible(self->of_pools, graph && !candela); /* boxes have neither pools nor an order */
    gtk_widget_set_visible(self->of_planners, !expression);
    gtk_widget_set_visible(self->buttons, !expression);
    gtk_widget_set_sensitive(self->of_pools, !now || !psc_packer_find(now->name)); /* and planners of arenas look at none of it */
    if (!study || !options)
        return;
    self->syncing = TRUE;
    set_choice(self, MODE, options->plan.mode);
    set_choice(self, SIZE, options->plan.size);
    set_choice(self, SLOTS, options->plan.slots);
    set_choice(self, ORDER, options->plan.order);
    for (int f = 0; f < PSC_FAULT_N; f++)
        gtk_check_button_set_active(GTK_CHECK_BUTTON(self->faults[f]), options->plan.faults & PSC_FAULT_BIT(f));
    for (int f = 0; f < PSC_FAULT_N; f++) /* nothing here sets a budget; a document may come to */
        gtk_widget_set_sensitive(self->faults[f], !psc_fault_info(f)->needs_budget || options->plan.pool);
    if (expression)
        psc_candela_choice_set(PSC_CANDELA_CHOICE(self->of_candela), &expression->plan->options, expression->levels, FALSE);
    else
        psc_candela_choice_set(PSC_CANDELA_CHOICE(self->of_candela), &(struct psc_candela_options){options->plan.generation,
                               options->plan.candela_faults, 0}, FALSE, TRUE);
    gtk_widget_set_visible(self->own, !expression && (study->phase.plan || study->phase.story));
    gtk_check_button_set_active(GTK_CHECK_BUTTON(self->own), !options->replan);
    self->syncing = FALSE;
    update_planners(self);
    gtk_label_set_text(GTK_LABEL(self->label), self->narrow ? (study->phase.plan || study->phase.story ? "Plan" : "Planned here") : study->plan_words);
    gtk_label_set_text(GTK_LABEL(self->origin), study->analysis->origin ? study->analysis->origin : "");
    char *name = g_strdup_printf("Plan: %s", study->plan_words);
    psc_ui_name(self->button, name);
    gtk_widget_set_tooltip_text(self->button, name);
    g_free(name);
}

static void choose_cb(PscPlanMenu *self)
{
    const struct psc_analysis_options *now = psc_workspace_options(self->ws);
    if (self->syncing || !now)
        return;
    struct psc_analysis_options next = *now;
    next.plan.mode = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->choices[MODE]));
    next.plan.size = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->choices[SIZE]));
    next.plan.slots = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->choices[SLOTS]));
    next.plan.order = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->choices[ORDER]));
    next.plan.log = true;
    next.plan.faults = 0;
    for (int f = 0; f < PSC_FAULT_N; f++)
        if (gtk_check_button_get_active(GTK_CHECK_BUTTON(self->faults[f])))
            next.plan.faults |= PSC_FAULT_BIT(f);
    next.replan = true;
    psc_workspace_set_options(self->ws, &next);
}

/* A graph is planned again, an expression is opened again: its text says how, unless we do. */
static void candela_cb(PscPlanMenu *self)
{
    const struct psc_analysis_options *now = psc_workspace_options(self->ws);
    PscStudy *study = psc_workspace_study(self->ws);
    PscCandelaChoice *choice = PSC_CANDELA_CHOICE(self->of_candela);
    if (self->syncing || !now || !study)
        return;
    if (study->phase.expression) {
        char *words = psc_candela_choice_words(choice);
        gtk_widget_activate_action(GTK_WIDGET(self), "win.plan-expression", "s", words);
        g_free(words);
        return;
    }
    struct psc_candela_options options = psc_candela_choice_options(choice);
    struct psc_analysis_options next = *now;
    next.plan.generation = options.generation;
    next.plan.candela_faults = options.faults;
    next.plan.log = true;
    next.replan = true;
    psc_workspace_set_options(self->ws, &next);
}

/* Plans again at once; the menu stays, so that one after the other can be tried. */
static void planner_cb(PscPlanMenu *self, GtkListBoxRow *row)
{
    const struct psc_analysis_options *now = psc_workspace_options(self->ws);
    if (self->syncing || !now || !row || planner_of(row) == psc_study_planner(psc_workspace_study(self->ws)))
        return;
    struct psc_analysis_options next = *now;
    next.planner = planner_of(row);
    next.plan.log = true;
    next.replan = true;
    psc_workspace_set_options(self->ws, &next);
}

/* What each planner needs is worked out only while somebody looks. */
static void shown_cb(PscPlanMenu *self, GParamSpec *property G_GNUC_UNUSED, GtkWidget *popover)
{
    gboolean shown = gtk_widget_get_visible(popover);
    if (shown == self->wanted)
        return;
    self->wanted = shown;
    psc_contest_want(self->contest, shown);
    GtkListBoxRow *first = NULL;
    for (int i = 0; shown; i++) { /* the keys begin at the planner in use, else at the first that can */
        GtkListBoxRow *row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(self->planners), i);
        if (!row)
            break;
        if (planner_of(row) == psc_study_planner(psc_workspace_study(self->ws)) || (!first && gtk_widget_get_visible(GTK_WIDGET(row))))
            first = row;
        if (planner_of(row) == psc_study_planner(psc_workspace_study(self->ws)))
            break;
    }
    if (first) {
        gtk_list_box_select_row(GTK_LIST_BOX(self->planners), first);
        gtk_widget_grab_focus(GTK_WIDGET(first));
    }
}

static void own_cb(PscPlanMenu *self)
{
    const struct psc_analysis_options *now = psc_workspace_options(self->ws);
    if (self->syncing || !now)
        return;
    struct psc_analysis_options next = *now;
    next.replan = !gtk_check_button_get_active(GTK_CHECK_BUTTON(self->own));
    psc_workspace_set_options(self->ws, &next);
}

static void defaults_cb(PscPlanMenu *self)
{
    struct psc_analysis_options next = {.plan = psc_plan_defaults};
    next.plan.log = true;
    psc_workspace_set_options(self->ws, &next);
}

static void changed_cb(PscPlanMenu *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_BUSY))
        update(self);
}

void psc_plan_menu_open(PscPlanMenu *self)
{
    gtk_menu_button_popup(GTK_MENU_BUTTON(self->button));
}

void psc_plan_menu_set_narrow(PscPlanMenu *self, gboolean narrow)
{
    self->narrow = narrow;
    update(self);
}

static GtkWidget *heading(const char *text)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_widget_add_css_class(label, "section");
    return label;
}

static GtkWidget *planner_row_new(const struct psc_planner *planner)
{
    GtkWidget *row = gtk_list_box_row_new(), *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    GtkWidget *tick = gtk_image_new_from_icon_name("object-select-symbolic"), *name = gtk_label_new(planner->name), *cost = gtk_label_new(NULL);
    gtk_widget_set_hexpand(name, TRUE);
    gtk_label_set_xalign(GTK_LABEL(name), 0);
    gtk_widget_add_css_class(cost, "dim");
    gtk_widget_add_css_class(cost, "figure");
    gtk_box_append(GTK_BOX(line), tick);
    gtk_box_append(GTK_BOX(line), name);
    gtk_box_append(GTK_BOX(line), cost);
    gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), line);
    gtk_widget_set_tooltip_text(row, planner->text);
    g_object_set_data(G_OBJECT(row), "planner", (gpointer)planner);
    g_object_set_data(G_OBJECT(row), "tick", tick);
    g_object_set_data(G_OBJECT(row), "cost", cost);
    return row;
}

static GtkWidget *planners_new(PscPlanMenu *self)
{
    self->planners = gtk_list_box_new();
    gtk_list_box_set_selection_mode(GTK_LIST_BOX(self->planners), GTK_SELECTION_BROWSE);
    gtk_widget_add_css_class(self->planners, "planners");
    psc_ui_name(self->planners, "Planner");
    for (const struct psc_planner *p = psc_planners; p->name; p++)
        gtk_list_box_append(GTK_LIST_BOX(self->planners), planner_row_new(p));
    g_signal_connect_swapped(self->planners, "row-activated", G_CALLBACK(planner_cb), self);
    return self->planners;
}

static GtkWidget *choices_new(PscPlanMenu *self)
{
    GtkWidget *grid = gtk_grid_new();
    gtk_grid_set_column_spacing(GTK_GRID(grid), 10);
    gtk_grid_set_row_spacing(GTK_GRID(grid), 4);
    for (int i = 0; i < CHOICE_N; i++) {
        GtkWidget *label = gtk_label_new(choice_words[i].title);
        gtk_label_set_xalign(GTK_LABEL(label), 0);
        self->choices[i] = choice_new(i);
        gtk_widget_set_hexpand(self->choices[i], TRUE);
        gtk_widget_set_tooltip_text(self->choices[i], choice_words[i].hint);
        psc_ui_name(self->choices[i], choice_words[i].title);
        gtk_accessible_update_property(GTK_ACCESSIBLE(self->choices[i]), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       choice_words[i].hint, -1);
        gtk_grid_attach(GTK_GRID(grid), label, 0, i, 1, 1);
        gtk_grid_attach(GTK_GRID(grid), self->choices[i], 1, i, 1, 1);
        g_signal_connect_swapped(self->choices[i], "notify::selected", G_CALLBACK(choose_cb), self);
    }
    return grid;
}

static GtkWidget *faults_new(PscPlanMenu *self)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    for (int f = 0; f < PSC_FAULT_N; f++) {
        const struct psc_fault_info *info = psc_fault_info(f);
        char *text = g_strdup_printf("%s  %s%s", info->name, info->text, info->needs_budget ? " (" PSC_NEEDS_BUDGET ")" : "");
        self->faults[f] = gtk_check_button_new_with_label(text);
        GtkWidget *label = gtk_widget_get_last_child(self->faults[f]);
        if (GTK_IS_LABEL(label)) {
            gtk_label_set_wrap(GTK_LABEL(label), TRUE);
            gtk_label_set_max_width_chars(GTK_LABEL(label), 60);
        }
        g_free(text);
        gtk_box_append(GTK_BOX(box), self->faults[f]);
        g_signal_connect_swapped(self->faults[f], "toggled", G_CALLBACK(choose_cb), self);
    }
    return box;
}

static GtkWidget *popover_new(PscPlanMenu *self)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    self->origin = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(self->origin), 0);
    gtk_label_set_wrap(GTK_LABEL(self->origin), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(self->origin), 50);
    gtk_widget_add_css_class(self->origin, "dim");
    self->own = gtk_check_button_new_with_label("Use what the file brings");
    g_signal_connect_swapped(self->own, "toggled", G_CALLBACK(own_cb), self);
    GtkWidget *defaults = gtk_button_new_with_label("Back to the defaults");
    g_signal_connect_swapped(defaults, "clicked", G_CALLBACK(defaults_cb), self);
    GtkWidget *compare = gtk_button_new_with_label("Compare all\xe2\x80\xa6"), *buttons = self->buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(compare), "win.compare");
    gtk_box_set_homogeneous(GTK_BOX(buttons), TRUE);
    gtk_box_append(GTK_BOX(buttons), compare);
    gtk_box_append(GTK_BOX(buttons), defaults);
    GtkWidget *scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_min_content_height(GTK_SCROLLED_WINDOW(scroller), FAULTS_HEIGHT);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), faults_new(self));
    self->of_pools = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_box_append(GTK_BOX(self->of_pools), choices_new(self));
    gtk_box_append(GTK_BOX(self->of_pools), heading("FAULTS OF REAL ENGINES, OFF BY DEFAULT"));
    gtk_box_append(GTK_BOX(self->of_pools), scroller);
    gtk_box_append(GTK_BOX(box), self->origin);
    gtk_box_append(GTK_BOX(box), self->own);
    self->of_planners = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_box_append(GTK_BOX(self->of_planners), heading("PLANNER, AND WHAT IT RESERVES"));
    gtk_box_append(GTK_BOX(self->of_planners), planners_new(self));
    gtk_box_append(GTK_BOX(box), self->of_planners);
    self->of_candela = psc_candela_choice_new();
    g_signal_connect_swapped(self->of_candela, "chosen", G_CALLBACK(candela_cb), self);
    gtk_box_append(GTK_BOX(box), self->of_pools);
    gtk_box_append(GTK_BOX(box), self->of_candela);
    gtk_box_append(GTK_BOX(box), buttons);
    GtkWidget *popover = gtk_popover_new();
    gtk_popover_set_child(GTK_POPOVER(popover), box);
    g_signal_connect_swapped(popover, "notify::visible", G_CALLBACK(shown_cb), self);
    gtk_widget_add_css_class(popover, "plan-menu");
    return popover;
}

static void psc_plan_menu_dispose(GObject *object)
{
    PscPlanMenu *self = PSC_PLAN_MENU(object);
    g_clear_pointer(&self->button, gtk_widget_unparent);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_plan_menu_parent_class)->dispose(object);
}

static void psc_plan_menu_class_init(PscPlanMenuClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_plan_menu_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
}

static void psc_plan_menu_init(PscPlanMenu *self)
{
    self->button = gtk_menu_button_new();
    gtk_widget_set_parent(self->button, GTK_WIDGET(self));
}

GtkWidget *psc_plan_menu_new(PscWorkspace *ws)
{
    PscPlanMenu *self = g_object_new(PSC_TYPE_PLAN_MENU, NULL);
    self->ws = g_object_ref(ws);
    self->contest = psc_contest_of(ws);
    self->label = gtk_label_new("Plan");
    gtk_label_set_ellipsize(GTK_LABEL(self->label), PANGO_ELLIPSIZE_END);
    GtkWidget *content = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    gtk_box_append(GTK_BOX(content), self->label);
    gtk_box_append(GTK_BOX(content), gtk_image_new_from_icon_name("pan-down-symbolic"));
    gtk_menu_button_set_child(GTK_MENU_BUTTON(self->button), content);
    gtk_menu_button_set_popover(GTK_MENU_BUTTON(self->button), popover_new(self));
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(self->contest, "changed", G_CALLBACK(update_planners), self, G_CONNECT_SWAPPED);
    update(self);
    return GTK_WIDGET(self);
}
