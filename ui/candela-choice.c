#include "ui/candela-choice.h"

#include "core/candela/script.h"
#include "ui/access.h"

#define FAULTS_HEIGHT 150 /* px of the faults that are seen at once */

struct _PscCandelaChoice {
    GtkBox parent_instance;
    GtkWidget *generation, *levels, *faults[PSC_CANDELA_FAULT_N];
    gboolean syncing;
};

G_DEFINE_FINAL_TYPE(PscCandelaChoice, psc_candela_choice, GTK_TYPE_BOX)

static guint chosen_signal;

/* As they came. */
static const enum psc_generation order[PSC_GEN_N] = {PSC_GEN_01, PSC_GEN_02, PSC_GEN_ARENA, PSC_GEN_HARDENED};

static void changed_cb(PscCandelaChoice *self)
{
    if (!self->syncing)
        g_signal_emit(self, chosen_signal, 0);
}

void psc_candela_choice_set(PscCandelaChoice *self, const struct psc_candela_options *options, gboolean levels, gboolean of_graph)
{
    self->syncing = TRUE;
    for (guint i = 0; i < PSC_GEN_N; i++)
        if (order[i] == options->generation)
            gtk_drop_down_set_selected(GTK_DROP_DOWN(self->generation), i);
    gtk_check_button_set_active(GTK_CHECK_BUTTON(self->levels), levels);
    gtk_widget_set_visible(self->levels, !of_graph);
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++) {
        gtk_check_button_set_active(GTK_CHECK_BUTTON(self->faults[f]), options->faults & PSC_CANDELA_BIT(f));
        gtk_widget_set_visible(self->faults[f], !of_graph || PSC_CANDELA_GRAPH_FAULTS & PSC_CANDELA_BIT(f));
    }
    self->syncing = FALSE;
}

struct psc_candela_options psc_candela_choice_options(PscCandelaChoice *self)
{
    guint i = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->generation));
    struct psc_candela_options options = {.generation = i < PSC_GEN_N ? order[i] : PSC_GEN_HARDENED};
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        if (gtk_check_button_get_active(GTK_CHECK_BUTTON(self->faults[f])))
            options.faults |= PSC_CANDELA_BIT(f);
    return options;
}

char *psc_candela_choice_words(PscCandelaChoice *self)
{
    struct psc_candela_options options = psc_candela_choice_options(self);
    struct psc_text text = {0};
    psc_lazy_script_words(&text, &options, gtk_check_button_get_active(GTK_CHECK_BUTTON(self->levels)));
    char *words = g_strdup(psc_text_str(&text));
    psc_text_release(&text);
    return words;
}

/* ---- building ----------------------------------------------------------------------------------------------------- */

static GtkWidget *fault_new(PscCandelaChoice *self, enum psc_candela_fault fault)
{
    char *text = g_strdup_printf("%s  %s", psc_candela_fault_name(fault), psc_candela_fault_text(fault));
    GtkWidget *check = gtk_check_button_new_with_label(text), *label = gtk_widget_get_last_child(check);
    if (GTK_IS_LABEL(label)) {
        gtk_label_set_wrap(GTK_LABEL(label), TRUE);
        gtk_label_set_max_width_chars(GTK_LABEL(label), 60);
    }
    g_free(text);
    g_signal_connect_swapped(check, "toggled", G_CALLBACK(changed_cb), self);
    return check;
}

static GtkWidget *generation_new(PscCandelaChoice *self)
{
    const char *names[PSC_GEN_N + 1] = {0};
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10), *label = gtk_label_new("Generation");
    for (guint i = 0; i < PSC_GEN_N; i++)
        names[i] = psc_generation_name(order[i]);
    self->generation = gtk_drop_down_new_from_strings(names);
    gtk_widget_set_hexpand(self->generation, TRUE);
    psc_ui_name(self->generation, "Generation");
    gtk_widget_set_tooltip_text(self->generation, "0.1: nothing in place; 0.2: with it, other operands told by node; arena: packed offsets; "
                                                  "hardened: all guards");
    g_signal_connect_swapped(self->generation, "notify::selected", G_CALLBACK(changed_cb), self);
    gtk_box_append(GTK_BOX(row), label);
    gtk_box_append(GTK_BOX(row), self->generation);
    return row;
}

static void psc_candela_choice_class_init(PscCandelaChoiceClass *class G_GNUC_UNUSED)
{
    chosen_signal = g_signal_new("chosen", PSC_TYPE_CANDELA_CHOICE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void psc_candela_choice_init(PscCandelaChoice *self)
{
    GtkWidget *list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new(), *heading = gtk_label_new(NULL);
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
    gtk_box_set_spacing(GTK_BOX(self), 6);
    gtk_label_set_text(GTK_LABEL(heading), "FAULTS OF CANDELA\xe2\x80\x99S RULES, OFF BY DEFAULT");
    gtk_label_set_xalign(GTK_LABEL(heading), 0);
    gtk_widget_add_css_class(heading, "section");
    gtk_box_append(GTK_BOX(self), generation_new(self));
    self->levels = gtk_check_button_new_with_label("Steps of one level run beside each other");
    g_signal_connect_swapped(self->levels, "toggled", G_CALLBACK(changed_cb), self);
    gtk_box_append(GTK_BOX(self), self->levels);
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        gtk_box_append(GTK_BOX(list), self->faults[f] = fault_new(self, (enum psc_candela_fault)f));
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_min_content_height(GTK_SCROLLED_WINDOW(scroller), FAULTS_HEIGHT);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), list);
    gtk_box_append(GTK_BOX(self), heading);
    gtk_box_append(GTK_BOX(self), scroller);
}

GtkWidget *psc_candela_choice_new(void)
{
    return g_object_new(PSC_TYPE_CANDELA_CHOICE, NULL);
}
