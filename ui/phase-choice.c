#include "ui/phase-choice.h"

#include "ui/access.h"
#include "ui/workspace-phases.h"

#include <string.h>

static void chosen_cb(GtkDropDown *choice, GParamSpec *property G_GNUC_UNUSED, PscWorkspace *ws)
{
    guint phase = gtk_drop_down_get_selected(choice);
    if (phase != GTK_INVALID_LIST_POSITION)
        psc_workspace_set_phase(ws, phase);
}

static char *words_of(PscWorkspace *ws, guint i)
{
    const struct psc_phase *phase = psc_workspace_phase(ws, i);
    const char *kind = phase->kind && *phase->kind ? phase->kind : "phase";
    char *mark = psc_workspace_phase_mark(ws, i, FALSE);
    const char *gap = *mark ? "  " : "";
    char *words = phase->graph ? g_strdup_printf("%u  %s \xc2\xb7 %u op%s%s%s", i + 1, kind, phase->graph->n, phase->graph->n == 1 ? "" : "s", gap, mark)
                               : g_strdup_printf("%u  %s%s%s", i + 1, kind, gap, mark);
    g_free(mark);
    return words;
}

/* Only what is otherwise changes: while more phases are found the list may be open, scrolled, and somebody's finger on a row. */
static void fill(GtkDropDown *choice, PscWorkspace *ws)
{
    GtkStringList *names = GTK_STRING_LIST(gtk_drop_down_get_model(choice));
    guint n = psc_workspace_phase_n(ws), had = g_list_model_get_n_items(G_LIST_MODEL(names)), phase, step;
    gulong chosen = GPOINTER_TO_SIZE(g_object_get_data(G_OBJECT(choice), "chosen"));
    g_signal_handler_block(choice, chosen);
    if (n < had)
        gtk_string_list_splice(names, n, had - n, NULL);
    for (guint i = 0; i < n; i++) {
        char *words = words_of(ws, i);
        if (i >= had)
            gtk_string_list_append(names, words);
        else if (strcmp(words, gtk_string_list_get_string(names, i)))
            gtk_string_list_splice(names, i, 1, (const char *const[]){words, NULL});
        g_free(words);
    }
    psc_workspace_wanted(ws, &phase, &step);
    gtk_drop_down_set_selected(choice, phase);
    g_signal_handler_unblock(choice, chosen);
    if (g_object_get_data(G_OBJECT(choice), "hides"))
        gtk_widget_set_visible(GTK_WIDGET(choice), n > 1);
}

static void told_cb(PscWorkspace *ws, guint what, GtkDropDown *choice)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS | PSC_CHANGED_BUSY | PSC_CHANGED_PHASES))
        fill(choice, ws);
}

GtkWidget *psc_phase_choice_new(PscWorkspace *ws, gboolean hides)
{
    GtkWidget *choice = gtk_drop_down_new(G_LIST_MODEL(gtk_string_list_new(NULL)), NULL);
    psc_ui_name(choice, "Phase");
    if (hides)
        g_object_set_data(G_OBJECT(choice), "hides", choice);
    gulong chosen = g_signal_connect_object(choice, "notify::selected", G_CALLBACK(chosen_cb), ws, 0);
    g_object_set_data(G_OBJECT(choice), "chosen", GSIZE_TO_POINTER(chosen));
    g_signal_connect_object(ws, "changed", G_CALLBACK(told_cb), choice, 0);
    fill(GTK_DROP_DOWN(choice), ws);
    return choice;
}
