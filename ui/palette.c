#include "ui/palette.h"

/* Made by glib-compile-resources from ui.gresource.xml. */
GResource *psc_ui_get_resource(void);

static GtkCssProvider *colours; /* @define-color of the current palette */

gboolean psc_ui_is_dark(void)
{
    gboolean dark = FALSE;
    g_object_get(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", &dark, NULL);
    return dark;
}

void psc_ui_set_dark(gboolean dark)
{
    g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", dark, NULL);
}

GdkRGBA psc_ui_colour(guint colour)
{
    uint32_t rgb = psc_palette_get(psc_ui_is_dark())->rgb[colour];
    return (GdkRGBA){(float)(rgb >> 16 & 255) / 255, (float)(rgb >> 8 & 255) / 255, (float)(rgb & 255) / 255, 1};
}

void psc_ui_watch_dark(GtkWidget *widget)
{
    g_signal_connect_object(gtk_settings_get_default(), "notify::gtk-application-prefer-dark-theme",
                            G_CALLBACK(gtk_widget_queue_draw), widget, G_CONNECT_SWAPPED);
}

/* planscope.css names colours only by these words, so that one table serves drawing and widgets. */
static void load_colours(void)
{
    static const struct {
        const char *name;
        enum psc_colour colour;
    } names[] = {
        {"psc_canvas", PSC_COL_CANVAS},          {"psc_gutter", PSC_COL_GUTTER},
        {"psc_window", PSC_COL_WINDOW},          {"psc_header", PSC_COL_HEADER},
        {"psc_ink", PSC_COL_INK},                {"psc_dim", PSC_COL_DIM},
        {"psc_rule", PSC_COL_RULE},              {"psc_clobber", PSC_COL_CLOBBER},
        {"psc_clobber_text", PSC_COL_CLOBBER_TEXT}, {"psc_clobber_ground", PSC_COL_CLOBBER_GROUND},
        {"psc_warn_text", PSC_COL_WARN_TEXT},    {"psc_warn_ground", PSC_COL_WARN_GROUND},
        {"psc_warn_edge", PSC_COL_WARN_EDGE},    {"psc_right", PSC_COL_RIGHT},
        {"psc_select", PSC_COL_SELECT},          {"psc_select_row", PSC_COL_SELECT_ROW},
        {"psc_link", PSC_COL_LINK},              {"psc_kv", PSC_COL_KV_EDGE},
    };
    GString *css = g_string_new(NULL);
    const struct psc_palette *palette = psc_palette_get(psc_ui_is_dark());
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        g_string_append_printf(css, "@define-color %s #%06x;\n", names[i].name, palette->rgb[names[i].colour]);
    g_string_append_printf(css, "@define-color psc_on_clobber %s;\n", palette->dark ? "#1E1E1E" : "#FFFFFF");
    gtk_css_provider_load_from_data(colours, css->str, (gssize)css->len);
    g_string_free(css, TRUE);
}

void psc_ui_install_css(void)
{
    if (colours)
        return;
    g_resources_register(psc_ui_get_resource());
    GdkDisplay *display = gdk_display_get_default();
    GtkCssProvider *rules = gtk_css_provider_new();
    gtk_css_provider_load_from_resource(rules, "/org/planscope/ui/planscope.css");
    colours = gtk_css_provider_new();
    load_colours();
    gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(colours),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(rules),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION + 1);
    g_object_unref(rules);
    g_signal_connect(gtk_settings_get_default(), "notify::gtk-application-prefer-dark-theme",
                     G_CALLBACK(load_colours), NULL);
}
