#include "ui/banner.h"

#include "core/debug/explain.h"
#include "core/debug/explain-rows.h"
#include "ui/tables.h"
#include "ui/workspace-kv.h"

enum { ERROR, WARNING, CLOBBER, INVARIANT, UNWRITTEN, RECORDS, LINE_N };

struct _PscBanner {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *line[LINE_N], *text[LINE_N], *badge;
    gboolean low;
};

G_DEFINE_FINAL_TYPE(PscBanner, psc_banner, GTK_TYPE_BOX)

static void say(PscBanner *self, int line, const char *markup)
{
    gtk_widget_set_visible(self->line[line], markup != NULL);
    if (!markup)
        return;
    gtk_label_set_markup(GTK_LABEL(self->text[line]), markup);
    gtk_widget_set_tooltip_text(self->text[line], gtk_label_get_text(GTK_LABEL(self->text[line])));
}

void psc_banner_show_error(PscBanner *self, const char *title, const char *text)
{
    char *markup = g_markup_printf_escaped("<b>%s</b>  %s", title, text);
    say(self, ERROR, markup);
    g_free(markup);
}

void psc_banner_clear_error(PscBanner *self)
{
    say(self, ERROR, NULL);
}

void psc_banner_show_warning(PscBanner *self, const char *text)
{
    char *markup = text ? g_markup_escape_text(text, -1) : NULL;
    say(self, WARNING, markup);
    g_free(markup);
}

static void update_clobber(PscBanner *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_check *check = study ? &study->analysis->check : NULL;
    if (!check || !check->finding_n) {
        say(self, CLOBBER, NULL);
        return;
    }
    int index = MAX(psc_workspace_selection(self->ws).finding, 0);
    const struct psc_finding *f = &check->findings[index];
    struct psc_text text = {0};
    psc_explain_finding(&text, study->analysis, f);
    char *markup = check->finding_n == 1
                       ? g_markup_printf_escaped("<b>%s</b>", psc_text_str(&text))
                       : g_markup_printf_escaped("<b>%d of %u.</b>  %s", index + 1, check->finding_n, psc_text_str(&text));
    char *kind = g_strdup_printf("%s %s", psc_kind_name(f->kind), psc_kind_text(f->kind));
    gtk_label_set_text(GTK_LABEL(self->badge), kind);
    say(self, CLOBBER, markup);
    g_free(kind);
    g_free(markup);
    psc_text_release(&text);
}

/* The first event that breaks an invariant of the arenas, as long as there is nothing worse. */
static void update_invariant(PscBanner *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_story *story = study ? study->analysis->story : NULL;
    const struct psc_story_alarm *first = NULL;
    uint32_t times = 0;
    for (uint32_t i = 0; story && !study->analysis->check.finding_n && i < story->alarm_n; i++) {
        if (!story->alarms[i].broken)
            continue;
        first = first ? first : &story->alarms[i];
        times++;
    }
    if (!first) {
        say(self, INVARIANT, NULL);
        return;
    }
    char *where = first->after ? g_strdup_printf("at position %d", story->events[first->after - 1].position)
                               : g_strdup("before the first step");
    char *markup = times == 1 ? g_markup_printf_escaped("<b>The arenas\xe2\x80\x99 rules are broken: %s</b>, %s.", first->text, where)
                              : g_markup_printf_escaped("<b>The arenas\xe2\x80\x99 rules are broken %u times: %s</b>, %s.", times,
                                                        first->text, where);
    say(self, INVARIANT, markup);
    g_free(markup);
    g_free(where);
}

/* Rows of the KV regions that are read and that nobody wrote: an op gets bytes that no op has made. */
static void update_unwritten(PscBanner *self)
{
    const struct psc_kv_step *step = psc_workspace_study(self->ws) ? psc_workspace_kv(self->ws) : NULL;
    if (!step || !step->alarm_n) {
        say(self, UNWRITTEN, NULL);
        return;
    }
    struct psc_text text = {0};
    psc_explain_kv_alarms(&text, step);
    char *markup = g_markup_printf_escaped("<b>%s</b>", psc_text_str(&text));
    say(self, UNWRITTEN, markup);
    g_free(markup);
    psc_text_release(&text);
}

static void update_records(PscBanner *self)
{
    PscRecords *records = psc_workspace_records(self->ws);
    PscStudy *study = psc_workspace_study(self->ws);
    gboolean waits = self->low && gtk_widget_get_visible(self->line[CLOBBER]);
    if (waits || !records || (!records->check.overwritten && !records->error)) {
        say(self, RECORDS, NULL);
        return;
    }
    if (records->error) {
        char *markup = g_markup_printf_escaped("<b>This step could not be read.</b>  %s", records->error);
        say(self, RECORDS, markup);
        g_free(markup);
        return;
    }
    GString *by = g_string_new(NULL);
    for (uint32_t i = 0; i < MIN(records->holder_n, 3u); i++) {
        struct psc_text name = {0};
        if (records->holders[i].node == PSC_NONE)
            continue;
        psc_add_node(&name, study, records->holders[i].node);
        g_string_append_printf(by, "%s%s (%u)", by->len ? ", " : "", psc_text_str(&name), records->holders[i].count);
        psc_text_release(&name);
    }
    const char *cause = study->analysis->check.finding_n
                            ? "Their buffers were reused before they were copied at the end of the split."
                            : "Their buffers were reused before they were copied at the end of the split; the plan "
                              "itself is clean.";
    char *markup = g_markup_printf_escaped("<b>%u of %u recorded values are not the nodes\xe2\x80\x99 own.</b>  %s%s%s",
                                           records->check.overwritten, records->check.n,
                                           by->len ? "They hold " : "", by->len ? by->str : "", by->len ? " \xe2\x80\xa6  " : "");
    char *whole = g_strconcat(markup, cause, NULL);
    say(self, RECORDS, whole);
    g_free(whole);
    g_free(markup);
    g_string_free(by, TRUE);
}

static void changed_cb(PscBanner *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_SELECTION))
        update_clobber(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY))
        update_invariant(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP))
        update_records(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_KV))
        update_unwritten(self);
    if (what & PSC_CHANGED_BUSY && psc_workspace_failure(self->ws))
        psc_banner_show_error(self, "That did not work.", psc_workspace_failure(self->ws));
}

void psc_banner_set_low(PscBanner *self, gboolean low)
{
    self->low = low;
    update_records(self);
}

static void psc_banner_dispose(GObject *object)
{
    g_clear_object(&PSC_BANNER(object)->ws);
    G_OBJECT_CLASS(psc_banner_parent_class)->dispose(object);
}

static void psc_banner_class_init(PscBannerClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_banner_dispose;
}

static void add_button(GtkWidget *line, const char *text, const char *action, const char *target)
{
    GtkWidget *button = gtk_button_new_with_label(text);
    if (target)
        gtk_actionable_set_action_target(GTK_ACTIONABLE(button), "s", target);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
    gtk_box_append(GTK_BOX(line), button);
}

static void add_line(PscBanner *self, int line, const char *icon, const char *style)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
    gtk_widget_add_css_class(box, "banner");
    gtk_widget_add_css_class(box, style);
    GtkWidget *mark = gtk_label_new(icon);
    gtk_widget_add_css_class(mark, "banner-icon");
    self->text[line] = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(self->text[line]), 0);
    gtk_label_set_ellipsize(GTK_LABEL(self->text[line]), PANGO_ELLIPSIZE_END);
    gtk_label_set_selectable(GTK_LABEL(self->text[line]), FALSE);
    gtk_widget_set_hexpand(self->text[line], line != CLOBBER);
    gtk_box_append(GTK_BOX(box), mark);
    gtk_box_append(GTK_BOX(box), self->text[line]);
    gtk_box_append(GTK_BOX(self), box);
    gtk_widget_set_visible(box, FALSE);
    self->line[line] = box;
}

static void psc_banner_init(PscBanner *self)
{
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
    add_line(self, ERROR, "\xe2\x9c\x95", "error");
    add_line(self, WARNING, "!", "warning");
    add_line(self, CLOBBER, "\xe2\x9a\xa0", "clobber");
    add_line(self, INVARIANT, "\xe2\x9a\xa0", "clobber");
    add_line(self, UNWRITTEN, "\xe2\x9a\xa0", "clobber");
    add_line(self, RECORDS, "\xe2\x8a\x98", "records");
    for (int line = ERROR; line <= WARNING; line++) { /* these may have several lines */
        gtk_label_set_ellipsize(GTK_LABEL(self->text[line]), PANGO_ELLIPSIZE_NONE);
        gtk_label_set_wrap(GTK_LABEL(self->text[line]), TRUE);
        gtk_label_set_wrap_mode(GTK_LABEL(self->text[line]), PANGO_WRAP_WORD_CHAR);
    }
    GtkWidget *close = gtk_button_new_with_label("Close");
    g_signal_connect_swapped(close, "clicked", G_CALLBACK(psc_banner_clear_error), self);
    gtk_box_append(GTK_BOX(self->line[ERROR]), close);
    self->badge = gtk_label_new(NULL);
    gtk_widget_add_css_class(self->badge, "badge");
    gtk_widget_add_css_class(self->badge, "clobber-solid");
    gtk_widget_set_valign(self->badge, GTK_ALIGN_CENTER);
    gtk_box_append(GTK_BOX(self->line[CLOBBER]), self->badge);
    GtkWidget *space = gtk_label_new(NULL);
    gtk_widget_set_hexpand(space, TRUE);
    gtk_box_append(GTK_BOX(self->line[CLOBBER]), space);
    add_button(self->line[CLOBBER], "Show", "win.show-problem", NULL);
    add_button(self->line[CLOBBER], "List", "win.drawer-tab", "problems");
    add_button(self->line[CLOBBER], "Next  X", "win.next-problem", NULL);
    add_button(self->line[INVARIANT], "Show", "win.show-invariant", NULL);
    add_button(self->line[INVARIANT], "Next  X", "win.next-problem", NULL);
    add_button(self->line[UNWRITTEN], "Show", "win.show-unwritten", NULL);
    add_button(self->line[UNWRITTEN], "List", "win.drawer-tab", "kv");
    add_button(self->line[RECORDS], "Next  X", "win.next-problem", NULL);
    add_button(self->line[RECORDS], "List", "win.drawer-tab", "records");
}

GtkWidget *psc_banner_new(PscWorkspace *ws)
{
    PscBanner *self = g_object_new(PSC_TYPE_BANNER, NULL);
    self->ws = g_object_ref(ws);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
