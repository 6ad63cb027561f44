#include "ui/stepper.h"

#include "ui/access.h"
#include "ui/navigate.h"

struct _PscStepper {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *word, *entry, *of, *play;
};

G_DEFINE_FINAL_TYPE(PscStepper, psc_stepper, GTK_TYPE_BOX)

static guint missed_signal;

static void show_cursor(PscStepper *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    gtk_widget_set_visible(GTK_WIDGET(self), study != NULL);
    if (!study)
        return;
    int32_t cursor = psc_workspace_cursor(self->ws), end = psc_study_end(study);
    psc_node node = psc_study_node_at(study, cursor);
    char *text = cursor < 0 ? g_strdup("fill") : cursor >= end ? g_strdup("end")
                 : node == PSC_NONE ? g_strdup_printf("%d", cursor) : g_strdup_printf("%u", node);
    if (!gtk_widget_has_focus(gtk_widget_get_first_child(self->entry)) ||
        g_strcmp0(gtk_editable_get_text(GTK_EDITABLE(self->entry)), text) != 0)
        gtk_editable_set_text(GTK_EDITABLE(self->entry), text);
    g_free(text);
    char *of = end > 0 ? g_strdup_printf("of %d", end - 1) : g_strdup("no ops");
    gtk_label_set_text(GTK_LABEL(self->of), of);
    g_free(of);
}

static void changed_cb(PscStepper *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_CURSOR))
        show_cursor(self);
}

static void go_cb(PscStepper *self)
{
    const char *text = gtk_editable_get_text(GTK_EDITABLE(self->entry));
    PscStudy *study = psc_workspace_study(self->ws);
    if (psc_navigate_go_to(self->ws, text)) {
        gtk_widget_activate_action(GTK_WIDGET(self), "win.focus-map", NULL);
        show_cursor(self);
        return;
    }
    /* what was typed stays, to be mended */
    gtk_widget_add_css_class(self->entry, "error");
    gtk_editable_select_region(GTK_EDITABLE(self->entry), 0, -1);
    char *words = study && *text ? g_strdup_printf("There is no op, name, buffer or address \"%s\" here. Ops go from 0 to %d; 50%%, 0x13400 "
                                                   "and b9 lead somewhere, too.", text, MAX(psc_study_end(study) - 1, 0)) : NULL;
    if (words)
        g_signal_emit(self, missed_signal, 0, words);
    g_free(words);
}

/* Nothing that was typed and not gone to stands where the op stands. */
static void leave_cb(PscStepper *self)
{
    gtk_widget_remove_css_class(self->entry, "error");
    show_cursor(self);
}

static void typed_cb(PscStepper *self)
{
    gtk_widget_remove_css_class(self->entry, "error");
}

static gboolean escape_cb(GtkEventControllerKey *controller G_GNUC_UNUSED, guint key, guint code G_GNUC_UNUSED,
                          GdkModifierType state G_GNUC_UNUSED, PscStepper *self)
{
    if (key != GDK_KEY_Escape)
        return FALSE;
    gtk_widget_activate_action(GTK_WIDGET(self), "win.focus-map", NULL);
    show_cursor(self);
    return TRUE;
}

static GtkWidget *add_button(GtkWidget *box, const char *icon, const char *name, const char *action)
{
    GtkWidget *button = gtk_button_new_from_icon_name(icon);
    gtk_widget_set_tooltip_text(button, name);
    psc_ui_name(button, name);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
    gtk_box_append(GTK_BOX(box), button);
    return button;
}

void psc_stepper_focus_entry(PscStepper *self)
{
    gtk_editable_set_text(GTK_EDITABLE(self->entry), "");
    gtk_widget_grab_focus(self->entry);
}

void psc_stepper_set_playing(PscStepper *self, gboolean playing)
{
    gtk_button_set_icon_name(GTK_BUTTON(self->play),
                             playing ? "media-playback-pause-symbolic" : "media-playback-start-symbolic");
    const char *name = playing ? "Pause (Space)" : "Play (Space)";
    gtk_widget_set_tooltip_text(self->play, name);
    psc_ui_name(self->play, name);
}

void psc_stepper_set_narrow(PscStepper *self, gboolean narrow)
{
    gtk_widget_set_visible(self->word, !narrow);
    gtk_widget_set_visible(self->play, !narrow);
}

static void psc_stepper_dispose(GObject *object)
{
    g_clear_object(&PSC_STEPPER(object)->ws);
    G_OBJECT_CLASS(psc_stepper_parent_class)->dispose(object);
}

static void psc_stepper_class_init(PscStepperClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_stepper_dispose;
    missed_signal = g_signal_new("missed", PSC_TYPE_STEPPER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void psc_stepper_init(PscStepper *self)
{
    gtk_box_set_spacing(GTK_BOX(self), 8);
    self->word = gtk_label_new("Op");
    gtk_widget_add_css_class(self->word, "dim");
    GtkWidget *group = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_add_css_class(group, "linked");
    gtk_widget_add_css_class(group, "stepper");
    add_button(group, "media-skip-backward-symbolic", "Before the first op (Home)", "win.first");
    add_button(group, "media-seek-backward-symbolic", "Previous layer (Page Up)", "win.previous-layer");
    add_button(group, "go-previous-symbolic", "Previous op (Ctrl+Left)", "win.back");
    self->entry = gtk_entry_new();
    gtk_editable_set_width_chars(GTK_EDITABLE(self->entry), 6);
    gtk_editable_set_max_width_chars(GTK_EDITABLE(self->entry), 6);
    gtk_editable_set_alignment(GTK_EDITABLE(self->entry), 0.5f);
    gtk_widget_set_tooltip_text(self->entry, "Go to: 124, 50%, 0x13400, b9 or a name (G)");
    psc_ui_name(self->entry, "Go to op");
    gtk_box_append(GTK_BOX(group), self->entry);
    add_button(group, "go-next-symbolic", "Next op (Ctrl+Right)", "win.forward");
    add_button(group, "media-seek-forward-symbolic", "Next layer (Page Down)", "win.next-layer");
    add_button(group, "media-skip-forward-symbolic", "Last op (End)", "win.last");
    self->of = gtk_label_new(NULL);
    gtk_widget_add_css_class(self->of, "dim");
    gtk_box_append(GTK_BOX(self), self->word);
    gtk_box_append(GTK_BOX(self), group);
    gtk_box_append(GTK_BOX(self), self->of);
    self->play = add_button(GTK_WIDGET(self), "media-playback-start-symbolic", "Play (Space)", "win.play");
    g_signal_connect_swapped(self->entry, "activate", G_CALLBACK(go_cb), self);
    g_signal_connect_swapped(self->entry, "changed", G_CALLBACK(typed_cb), self);
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(escape_cb), self);
    gtk_widget_add_controller(self->entry, keys);
    GtkEventController *focus = gtk_event_controller_focus_new();
    g_signal_connect_swapped(focus, "leave", G_CALLBACK(leave_cb), self);
    gtk_widget_add_controller(self->entry, focus);
}

GtkWidget *psc_stepper_new(PscWorkspace *ws)
{
    PscStepper *self = g_object_new(PSC_TYPE_STEPPER, NULL);
    self->ws = g_object_ref(ws);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    show_cursor(self);
    return GTK_WIDGET(self);
}
