#include "ui/phase-choice.h"

#include "ui/access.h"

static void chosen_cb(GtkDropDown *choice, GParamSpec *property G_GNUC_UNUSED, PscWorkspace *ws)
{
    guint phase = gtk_drop_down_get_selected(choice);
    if (phase != GTK_INVALID_LIST_POSITION)
        psc_workspace_set_phase(ws, phase);
}

static void fill(GtkDropDown *choice, PscWorkspace *ws)
{
    GtkStringList *names = gtk_string_list_new(NULL);
    for (guint i = 0; i < psc_workspace_phase_n(ws); i++) {
        const struct psc_phase *phase = psc_workspace_phase(ws, i);
        const char *kind = phase->kind && *phase->kind ? phase->kind : "phase";
        gtk_string_list_take(names, phase->graph ? g_strdup_printf("%u  %s \xc2\xb7 %u op%s", i + 1, kind, phase->graph->n,
                                                                 phase->graph->n == 1 ? "" : "s")
                                                 : g_strdup_printf("%u  %s", i + 1, kind));
    }
    gulong chosen = GPOINTER_TO_SIZE(g_object_get_data(G_OBJECT(choice), "chosen"));
    g_signal_handler_block(choice, chosen);
    gtk_drop_down_set_model(choice, G_LIST_MODEL(names));
    gtk_drop_down_set_selected(choice, psc_workspace_phase_index(ws));
    g_signal_handler_unblock(choice, chosen);
    g_object_unref(names);
    if (g_object_get_data(G_OBJECT(choice), "hides"))
        gtk_widget_set_visible(GTK_WIDGET(choice), psc_workspace_phase_n(ws) > 1);
}

static void told_cb(PscWorkspace *ws, guint what, GtkDropDown *choice)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS))
        fill(choice, ws);
}

GtkWidget *psc_phase_choice_new(PscWorkspace *ws, gboolean hides)
{
    GtkWidget *choice = gtk_drop_down_new(NULL, NULL);
    psc_ui_name(choice, "Phase");
    if (hides)
        g_object_set_data(G_OBJECT(choice), "hides", choice);
    gulong chosen = g_signal_connect_object(choice, "notify::selected", G_CALLBACK(chosen_cb), ws, 0);
    g_object_set_data(G_OBJECT(choice), "chosen", GSIZE_TO_POINTER(chosen));
    g_signal_connect_object(ws, "changed", G_CALLBACK(told_cb), choice, 0);
    fill(GTK_DROP_DOWN(choice), ws);
    return choice;
}
