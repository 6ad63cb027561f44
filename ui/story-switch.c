#include "ui/story-switch.h"

#include "core/base/text.h"
#include "ui/access.h"
#include "ui/draw/ghosts.h"

struct _PscStorySwitch {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *group, *buttons[PSC_STORY_N], *words, *list;
    gboolean syncing;
};

G_DEFINE_FINAL_TYPE(PscStorySwitch, psc_story_switch, GTK_TYPE_BOX)

static const struct {
    const char *title, *hint;
} choices[PSC_STORY_N] = {
    [PSC_STORY_RECORDED] = {"Recorded", "what happened (O)"},
    [PSC_STORY_PLANNED] = {"Planned", "what the plan of the run says (O)"},
    [PSC_STORY_BOTH] = {"Both", "what happened, and dashed where a bar was planned and the run did otherwise (O)"},
};

/* What the picture does not say by itself. */
static void say_limits(PscStorySwitch *self, struct psc_text *out)
{
    PscPicture *picture = psc_workspace_picture(self->ws);
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_ghosts *g = picture ? picture->scene->ghosts : NULL;
    if (g && g->lost && psc_workspace_story(self->ws) == PSC_STORY_BOTH)
        psc_text_addf(out, " %u planned bar%s in buffers that the record does not name.", g->lost, g->lost == 1 ? " lies" : "s lie");
    if (study && study->of_phase)
        psc_text_add(out, " This step went otherwise than the first one of its phase.");
}

/* What the signs of the picture mean, and how many differences there are; where there are none, that. */
static void say_words(PscStorySwitch *self)
{
    const struct psc_story_comparison *c = psc_workspace_comparison(self->ws);
    const char *reason = psc_workspace_no_story_choice(self->ws);
    struct psc_text text = {0};
    if (reason)
        psc_text_add(&text, reason);
    else if (c && !c->diff_n)
        psc_text_add(&text, "= ");
    else if (c && psc_workspace_story(self->ws) == PSC_STORY_BOTH)
        psc_text_add(&text, "dashed: planned here   \xe2\x89\xa0: the run did otherwise   ");
    if (!reason && c)
        psc_explain_comparison(&text, psc_workspace_study(self->ws)->graph, c);
    if (!reason)
        say_limits(self, &text);
    gtk_label_set_text(GTK_LABEL(self->words), psc_text_str(&text));
    gtk_widget_set_tooltip_text(self->words, psc_text_str(&text));
    gtk_widget_set_visible(self->list, c && c->diff_n);
    psc_text_release(&text);
}

static void changed_cb(PscStorySwitch *self, guint what)
{
    if (!(what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_VIEW | PSC_CHANGED_STEPS)))
        return;
    enum psc_view_mode mode = psc_workspace_y_mode(self->ws);
    gboolean page = mode == PSC_VIEW_KV || mode == PSC_VIEW_PANEL; /* these are no timelines */
    gtk_widget_set_visible(GTK_WIDGET(self), psc_workspace_study(self->ws) && psc_workspace_has_stories(self->ws) && !page);
    self->syncing = TRUE;
    gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(self->buttons[psc_workspace_story(self->ws)]), TRUE);
    self->syncing = FALSE;
    gtk_widget_set_sensitive(self->group, psc_workspace_no_story_choice(self->ws) == NULL);
    say_words(self);
}

static void toggled_cb(GtkToggleButton *button, PscStorySwitch *self)
{
    for (int i = 0; !self->syncing && i < PSC_STORY_N; i++)
        if (GTK_WIDGET(button) == self->buttons[i] && gtk_toggle_button_get_active(button))
            psc_workspace_set_story(self->ws, (PscStoryChoice)i);
}

static void psc_story_switch_dispose(GObject *object)
{
    g_clear_object(&PSC_STORY_SWITCH(object)->ws);
    G_OBJECT_CLASS(psc_story_switch_parent_class)->dispose(object);
}

static void psc_story_switch_class_init(PscStorySwitchClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_story_switch_dispose;
}

static void psc_story_switch_init(PscStorySwitch *self)
{
    gtk_box_set_spacing(GTK_BOX(self), 8);
    gtk_widget_add_css_class(GTK_WIDGET(self), "story-row");
    self->group = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_add_css_class(self->group, "linked");
    psc_ui_name(self->group, "Recorded or planned");
    for (int i = 0; i < PSC_STORY_N; i++) {
        self->buttons[i] = gtk_toggle_button_new_with_label(choices[i].title);
        if (i)
            gtk_toggle_button_set_group(GTK_TOGGLE_BUTTON(self->buttons[i]), GTK_TOGGLE_BUTTON(self->buttons[0]));
        gtk_widget_set_tooltip_text(self->buttons[i], choices[i].hint);
        gtk_box_append(GTK_BOX(self->group), self->buttons[i]);
        g_signal_connect(self->buttons[i], "toggled", G_CALLBACK(toggled_cb), self);
    }
    self->words = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(self->words), 0);
    gtk_label_set_ellipsize(GTK_LABEL(self->words), PANGO_ELLIPSIZE_END);
    gtk_widget_set_hexpand(self->words, TRUE);
    gtk_widget_add_css_class(self->words, "caption");
    self->list = gtk_button_new_with_label("List");
    gtk_widget_set_tooltip_text(self->list, "The differences as a table (Shift+O)");
    psc_ui_name(self->list, "List of the differences between plan and record");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(self->list), "win.drawer-tab");
    gtk_actionable_set_action_target(GTK_ACTIONABLE(self->list), "s", "differences");
    gtk_box_append(GTK_BOX(self), self->group);
    gtk_box_append(GTK_BOX(self), self->words);
    gtk_box_append(GTK_BOX(self), self->list);
}

GtkWidget *psc_story_switch_new(PscWorkspace *ws)
{
    PscStorySwitch *self = g_object_new(PSC_TYPE_STORY_SWITCH, NULL);
    self->ws = g_object_ref(ws);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    changed_cb(self, PSC_CHANGED_ALL);
    return GTK_WIDGET(self);
}
