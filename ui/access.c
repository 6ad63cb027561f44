#include "ui/access.h"

static void name_one(GtkWidget *widget, const char *name)
{
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

void psc_ui_name(GtkWidget *widget, const char *name)
{
    GtkWidget *inner = GTK_IS_DROP_DOWN(widget) || GTK_IS_MENU_BUTTON(widget) ? gtk_widget_get_first_child(widget) : NULL;
    name_one(widget, name);
    if (inner)
        name_one(inner, name);
}

GtkWidget *psc_icon_button(const char *icon, const char *name, const char *action)
{
    GtkWidget *button = gtk_button_new_from_icon_name(icon);
    gtk_widget_set_tooltip_text(button, name);
    psc_ui_name(button, name);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
    return button;
}
