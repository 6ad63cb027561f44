#include "ui/context-bar.h"

#include "ui/access.h"
#include "ui/palette.h"
#include "ui/phase-choice.h"
#include "ui/plan-menu.h"
#include "ui/workspace-phases.h"

#define TOGGLES_MAX 4 /* phases side by side; more of them stand in a drop-down */
#define STRIP_MAX 48 /* token buttons; further steps are reached by the drop-down */

struct _PscContextBar {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *phases, *steps, *of_steps, *strip, *strip_scroller, *tokens_word, *next, *no_steps, *progress, *plan, *plan_word;
    GtkStringList *step_names;
    PscRoom room;
    gboolean syncing;
};

G_DEFINE_FINAL_TYPE(PscContextBar, psc_context_bar, GTK_TYPE_BOX)

static void clear_box(GtkWidget *box)
{
    for (GtkWidget *child = gtk_widget_get_first_child(box); child; child = gtk_widget_get_first_child(box))
        gtk_box_remove(GTK_BOX(box), child);
}

static void phase_cb(GtkToggleButton *button, PscContextBar *self)
{
    if (!self->syncing && gtk_toggle_button_get_active(button))
        psc_workspace_set_phase(self->ws, GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "phase")));
}

static char *phase_words(PscContextBar *self, guint index, char **ret_name)
{
    const struct psc_phase *phase = psc_workspace_phase(self->ws, index);
    const char *kind = phase->kind && *phase->kind ? phase->kind : "phase";
    char *words = phase->graph ? g_strdup_printf("%s \xc2\xb7 %u op%s", kind, phase->graph->n, phase->graph->n == 1 ? "" : "s") : g_strdup(kind);
    words[0] = g_ascii_toupper(words[0]);
    char *mark = psc_workspace_phase_mark(self->ws, index, TRUE);
    char *marked = *mark ? g_strconcat(words, "  ", mark, NULL) : g_strdup(words);
    char *told = psc_workspace_phase_mark(self->ws, index, FALSE);
    *ret_name = *told ? g_strconcat(words, "  ", told, NULL) : g_strdup(words);
    g_free(told);
    g_free(mark);
    g_free(words);
    return marked;
}

static GtkWidget *add_toggle(PscContextBar *self, guint phase)
{
    GtkWidget *first = gtk_widget_get_first_child(self->phases), *button = gtk_toggle_button_new_with_label(NULL);
    g_object_set_data(G_OBJECT(button), "phase", GUINT_TO_POINTER(phase));
    if (first)
        gtk_toggle_button_set_group(GTK_TOGGLE_BUTTON(button), GTK_TOGGLE_BUTTON(first));
    gtk_box_append(GTK_BOX(self->phases), button);
    g_signal_connect(button, "toggled", G_CALLBACK(phase_cb), self);
    return button;
}

static void show_choice(PscContextBar *self)
{
    gboolean focus = gtk_widget_get_focus_child(self->phases) != NULL;
    clear_box(self->phases);
    GtkWidget *choice = psc_phase_choice_new(self->ws, FALSE); /* it follows by itself */
    gtk_box_append(GTK_BOX(self->phases), choice);
    if (focus)
        gtk_widget_grab_focus(choice);
}

/* What stands stays: more phases may be found while somebody is at these. */
static void fill_phases(PscContextBar *self)
{
    GtkWidget *at = gtk_widget_get_first_child(self->phases);
    guint n = psc_workspace_phase_n(self->ws), wanted, step;
    gboolean drops = at && GTK_IS_DROP_DOWN(at);
    if (n > TOGGLES_MAX) {
        if (!drops)
            show_choice(self);
        return;
    }
    if (drops) {
        clear_box(self->phases);
        at = NULL;
    }
    psc_workspace_wanted(self->ws, &wanted, &step);
    for (guint i = 0; i < n; i++) {
        GtkWidget *button = at ? at : add_toggle(self, i);
        char *name, *words = phase_words(self, i, &name);
        if (g_strcmp0(gtk_button_get_label(GTK_BUTTON(button)), words) != 0) {
            gtk_button_set_label(GTK_BUTTON(button), words);
            psc_ui_name(button, name);
        }
        g_free(name);
        g_free(words);
        if (i == wanted)
            gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(button), TRUE);
        at = at ? gtk_widget_get_next_sibling(at) : NULL;
    }
    while (at) {
        GtkWidget *next = gtk_widget_get_next_sibling(at);
        gtk_box_remove(GTK_BOX(self->phases), at);
        at = next;
    }
}

/* Blanks are shown as the open box, so that a token that begins with one is seen to. */
static char *token_words(const char *token)
{
    char *copy = g_strndup(token, 24);
    const char *end;
    if (!g_utf8_validate(copy, -1, &end))
        *(char *)end = '\0';
    GString *words = g_string_new(NULL);
    for (const char *c = copy; *c; c = g_utf8_next_char(c)) {
        gunichar ch = g_utf8_get_char(c);
        g_string_append(words, ch == ' ' ? "\xe2\x90\xa3" : ch == '\n' ? "\xe2\x86\xb5" : g_unichar_isprint(ch) ? "" : "\xc2\xb7");
        if (ch != ' ' && g_unichar_isprint(ch))
            g_string_append_unichar(words, ch);
    }
    g_free(copy);
    return g_string_free(words, FALSE);
}

static void token_cb(GtkButton *button, PscContextBar *self)
{
    guint phase = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "phase"));
    guint step = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "step"));
    psc_workspace_set_phase_step(self->ws, phase, step);
}

static gboolean is_current(PscContextBar *self, guint phase, guint step)
{
    return phase == psc_workspace_phase_index(self->ws) && step == psc_workspace_step_index(self->ws);
}

static GtkWidget *add_token(PscContextBar *self)
{
    GtkWidget *button = gtk_button_new();
    gtk_widget_add_css_class(button, "token");
    g_signal_connect(button, "clicked", G_CALLBACK(token_cb), self);
    gtk_box_append(GTK_BOX(self->strip), button);
    return button;
}

/* Nothing is touched of a button that says so already. */
static void set_token(PscContextBar *self, GtkWidget *button, guint phase, guint step)
{
    const char *token = psc_workspace_token(self->ws, phase, step);
    char *words = token && *token ? token_words(token) : g_strdup_printf("%u", step + 1);
    char *hint = g_strdup_printf("%s, step %u of %u", psc_workspace_phase(self->ws, phase)->kind, step + 1,
                                 psc_workspace_step_n(self->ws, phase));
    if (g_strcmp0(gtk_button_get_label(GTK_BUTTON(button)), words) != 0 || g_strcmp0(gtk_widget_get_tooltip_text(button), hint) != 0) {
        char *name = g_strdup_printf("Token %s: %s", words, hint);
        gtk_button_set_label(GTK_BUTTON(button), words);
        gtk_widget_set_tooltip_text(button, hint);
        psc_ui_name(button, name);
        g_free(name);
    }
    g_object_set_data(G_OBJECT(button), "phase", GUINT_TO_POINTER(phase));
    g_object_set_data(G_OBJECT(button), "step", GUINT_TO_POINTER(step));
    g_free(hint);
    g_free(words);
}

static void mark_current(PscContextBar *self)
{
    for (GtkWidget *button = gtk_widget_get_first_child(self->strip); button; button = gtk_widget_get_next_sibling(button)) {
        guint phase = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "phase"));
        guint step = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "step"));
        if (is_current(self, phase, step))
            gtk_widget_add_css_class(button, "current");
        else
            gtk_widget_remove_css_class(button, "current");
    }
}

static void fill_strip(PscContextBar *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    GtkWidget *at = gtk_widget_get_first_child(self->strip);
    guint shown = 0;
    gboolean said = FALSE;
    for (guint phase = 0; phase < psc_workspace_phase_n(self->ws); phase++)
        for (guint step = 0; step < psc_workspace_step_n(self->ws, phase) && shown < STRIP_MAX; step++, shown++) {
            const char *token = psc_workspace_token(self->ws, phase, step);
            said = said || (token && *token);
            set_token(self, at ? at : add_token(self), phase, step);
            at = at ? gtk_widget_get_next_sibling(at) : NULL;
        }
    while (at) {
        GtkWidget *next = gtk_widget_get_next_sibling(at);
        gtk_box_remove(GTK_BOX(self->strip), at);
        at = next;
    }
    mark_current(self);
    gboolean useful = said || shown > 1; /* a strip whose only step has no text shows nothing that the drop-down does not */
    gtk_widget_set_visible(self->strip_scroller, useful);
    gtk_widget_set_visible(self->tokens_word, useful && self->room == PSC_ROOM_ALL);
    gtk_widget_set_visible(self->no_steps, study && study->graph && shown == 0); /* scenarios have none ever */
}

static void fill_steps(PscContextBar *self)
{
    guint n = psc_workspace_step_n(self->ws, psc_workspace_phase_index(self->ws));
    guint old = g_list_model_get_n_items(G_LIST_MODEL(self->step_names)), phase, step;
    if (n < old)
        gtk_string_list_splice(self->step_names, n, old - n, NULL);
    for (guint i = old; i < n; i++)
        gtk_string_list_take(self->step_names, g_strdup_printf("Step %u", i + 1));
    psc_workspace_wanted(self->ws, &phase, &step);
    if (n)
        gtk_drop_down_set_selected(GTK_DROP_DOWN(self->steps), phase == psc_workspace_phase_index(self->ws) ? step : psc_workspace_step_index(self->ws));
    gtk_widget_set_visible(self->steps, n > 0);
    char *of = g_strdup_printf("of %u", n); /* apart from the names: it grows while the file is read */
    gtk_label_set_text(GTK_LABEL(self->of_steps), of);
    gtk_widget_set_visible(self->of_steps, n > 0);
    g_free(of);
}

static void step_cb(PscContextBar *self)
{
    guint step = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->steps));
    if (!self->syncing && step != GTK_INVALID_LIST_POSITION)
        psc_workspace_set_step(self->ws, step);
}

/* The five likeliest next tokens: a bar and per cent each. The file has only their ids. */
static void fill_next(PscContextBar *self)
{
    static const guint logits[] = {[PSC_ROOM_SMALL] = 1, [PSC_ROOM_SOME] = 3, [PSC_ROOM_ALL] = 5};
    clear_box(self->next);
    PscRecords *records = psc_workspace_records(self->ws);
    guint n = records ? MIN(records->step.top_n, 5u) : 0;
    gtk_widget_set_visible(self->next, n > 0);
    if (!n)
        return;
    GString *words = g_string_new("Most likely next tokens:");
    gtk_box_append(GTK_BOX(self->next), gtk_label_new("next"));
    for (guint i = 0; i < n; i++) {
        const struct psc_logit *top = &records->step.top[i];
        char *text = g_strdup_printf("%" G_GINT64_FORMAT, top->id), *part = g_strdup_printf("%.1f %%", top->p * 100);
        g_string_append_printf(words, " %s %s", text, part);
        if (i >= logits[self->room]) { /* only in the tooltip and for assistive tools */
            g_free(text);
            g_free(part);
            continue;
        }
        GtkWidget *bar = gtk_drawing_area_new();
        gtk_widget_set_size_request(bar, MAX(2, (int)(48 * CLAMP(top->p, 0, 1))), 8);
        gtk_widget_set_valign(bar, GTK_ALIGN_CENTER);
        gtk_widget_add_css_class(bar, "logit");
        gtk_box_append(GTK_BOX(self->next), gtk_label_new(text));
        gtk_box_append(GTK_BOX(self->next), bar);
        gtk_box_append(GTK_BOX(self->next), gtk_label_new(part));
        g_free(text);
        g_free(part);
    }
    gtk_widget_set_tooltip_text(self->next, words->str);
    psc_ui_name(self->next, words->str);
    g_string_free(words, TRUE);
}

/* A file without a plan is no error: it is planned here, and the menu beside these words says how. */
static void say_whose_plan(PscContextBar *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    gboolean none = study && study->analysis->plan && !study->phase.plan && !study->phase.story;
    gtk_label_set_text(GTK_LABEL(self->plan_word), none ? "No plan in this file. Planned here:" : "Plan");
    gtk_widget_set_tooltip_text(self->plan_word, none ? "Places and lives are predicted" : NULL);
}

static void changed_cb(PscContextBar *self, guint what)
{
    self->syncing = TRUE;
    gtk_widget_set_visible(GTK_WIDGET(self), psc_workspace_study(self->ws) != NULL);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS | PSC_CHANGED_PHASES))
        fill_phases(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS | PSC_CHANGED_STEP)) {
        fill_steps(self);
        fill_strip(self);
    }
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STEP))
        fill_next(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY))
        say_whose_plan(self);
    double fraction;
    gtk_widget_set_visible(self->progress, psc_workspace_scanning(self->ws, &fraction));
    gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(self->progress), fraction);
    self->syncing = FALSE;
}

void psc_context_bar_open_plan(PscContextBar *self)
{
    psc_plan_menu_open(PSC_PLAN_MENU(self->plan));
}

void psc_context_bar_set_room(PscContextBar *self, PscRoom room)
{
    if (self->room == room)
        return;
    self->room = room;
    psc_plan_menu_set_narrow(PSC_PLAN_MENU(self->plan), room == PSC_ROOM_SMALL);
    gtk_widget_set_visible(self->plan_word, room != PSC_ROOM_SMALL);
    fill_next(self);
    fill_strip(self);
}

static void psc_context_bar_dispose(GObject *object)
{
    g_clear_object(&PSC_CONTEXT_BAR(object)->ws);
    G_OBJECT_CLASS(psc_context_bar_parent_class)->dispose(object);
}

static void psc_context_bar_class_init(PscContextBarClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_context_bar_dispose;
}

static GtkWidget *dim_label(const char *text)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_widget_add_css_class(label, "dim");
    return label;
}

static void psc_context_bar_init(PscContextBar *self)
{
    GtkBox *box = GTK_BOX(self);
    self->room = PSC_ROOM_ALL;
    gtk_box_set_spacing(box, 8);
    gtk_widget_add_css_class(GTK_WIDGET(self), "context-bar");
    self->phases = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_add_css_class(self->phases, "linked");
    psc_ui_name(self->phases, "Phase");
    self->step_names = gtk_string_list_new(NULL);
    self->steps = gtk_drop_down_new(G_LIST_MODEL(self->step_names), NULL);
    psc_ui_name(self->steps, "Step");
    self->of_steps = dim_label(NULL);
    self->tokens_word = dim_label("Tokens");
    self->strip = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
    self->strip_scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->strip_scroller), GTK_POLICY_EXTERNAL, GTK_POLICY_NEVER);
    gtk_scrolled_window_set_propagate_natural_width(GTK_SCROLLED_WINDOW(self->strip_scroller), TRUE);
    gtk_scrolled_window_set_max_content_width(GTK_SCROLLED_WINDOW(self->strip_scroller), 420);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->strip_scroller), self->strip);
    self->no_steps = dim_label("no recorded steps");
    self->next = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 5);
    gtk_widget_add_css_class(self->next, "next");
    self->progress = gtk_progress_bar_new();
    gtk_widget_set_valign(self->progress, GTK_ALIGN_CENTER);
    gtk_widget_set_tooltip_text(self->progress, "Reading the rest of the file");
    psc_ui_name(self->progress, "Reading the rest of the file");
    gtk_box_append(box, self->phases);
    gtk_box_append(box, self->steps);
    gtk_box_append(box, self->of_steps);
    gtk_box_append(box, self->tokens_word);
    gtk_box_append(box, self->strip_scroller);
    gtk_box_append(box, self->no_steps);
    gtk_box_append(box, self->next);
    gtk_box_append(box, self->progress);
    GtkWidget *space = gtk_label_new(NULL);
    gtk_widget_set_hexpand(space, TRUE);
    gtk_box_append(box, space);
    self->plan_word = dim_label("Plan");
    gtk_label_set_ellipsize(GTK_LABEL(self->plan_word), PANGO_ELLIPSIZE_START);
    gtk_box_append(box, self->plan_word);
    g_signal_connect_swapped(self->steps, "notify::selected", G_CALLBACK(step_cb), self);
}

GtkWidget *psc_context_bar_new(PscWorkspace *ws)
{
    PscContextBar *self = g_object_new(PSC_TYPE_CONTEXT_BAR, NULL);
    self->ws = g_object_ref(ws);
    self->plan = psc_plan_menu_new(ws);
    gtk_box_append(GTK_BOX(self), self->plan);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    changed_cb(self, PSC_CHANGED_ALL);
    return GTK_WIDGET(self);
}
