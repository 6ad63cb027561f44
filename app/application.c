#include "app/application.h"

#include "app/window.h"
#include "ui/keys.h"
#include "ui/palette.h"

struct _PscApplication {
    GtkApplication parent_instance;
};

G_DEFINE_FINAL_TYPE(PscApplication, psc_application, GTK_TYPE_APPLICATION)

static void quit_cb(GSimpleAction *action G_GNUC_UNUSED, GVariant *value G_GNUC_UNUSED, gpointer application)
{
    for (GList *window = gtk_application_get_windows(application); window;
         window = gtk_application_get_windows(application))
        gtk_window_destroy(window->data);
}

static void psc_application_startup(GApplication *application)
{
    static const GActionEntry actions[] = {{.name = "quit", .activate = quit_cb}};
    G_APPLICATION_CLASS(psc_application_parent_class)->startup(application);
    psc_ui_install_css();
    g_action_map_add_action_entries(G_ACTION_MAP(application), actions, G_N_ELEMENTS(actions), application);
    psc_keys_install(GTK_APPLICATION(application));
    gtk_window_set_default_icon_name("org.planscope.Planscope");
}

static void psc_application_activate(GApplication *application)
{
    GtkWindow *window = gtk_application_get_active_window(GTK_APPLICATION(application));
    if (!window)
        window = GTK_WINDOW(psc_window_new(PSC_APPLICATION(application)));
    gtk_window_present(window);
}

static void psc_application_open(GApplication *application, GFile **files, int n, const char *hint G_GNUC_UNUSED)
{
    if (n == 2) { /* two files are compared; more of them get a window each */
        PscWindow *window = psc_window_new(PSC_APPLICATION(application));
        gtk_window_present(GTK_WINDOW(window));
        psc_window_open_pair(window, files[0], files[1]);
        return;
    }
    for (int i = 0; i < n; i++) {
        PscWindow *window = psc_window_new(PSC_APPLICATION(application));
        gtk_window_present(GTK_WINDOW(window));
        psc_window_open(window, files[i]);
    }
}

static void psc_application_class_init(PscApplicationClass *class)
{
    G_APPLICATION_CLASS(class)->startup = psc_application_startup;
    G_APPLICATION_CLASS(class)->activate = psc_application_activate;
    G_APPLICATION_CLASS(class)->open = psc_application_open;
}

static void psc_application_init(PscApplication *self)
{
    g_application_set_option_context_parameter_string(G_APPLICATION(self), "[FILE\xe2\x80\xa6]");
    g_application_set_option_context_summary(
        G_APPLICATION(self), "Opens a minfer trace or graph and shows where every tensor lives; two of them stand side by side.\n"
                             "The same without a window: planscope-cli --help");
}

PscApplication *psc_application_new(void)
{
    return g_object_new(PSC_TYPE_APPLICATION, "application-id", "org.planscope.Planscope", "resource-base-path",
                        "/org/planscope/Planscope", "flags",
                        G_APPLICATION_HANDLES_OPEN | G_APPLICATION_NON_UNIQUE, NULL);
}
