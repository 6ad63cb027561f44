/* The pages of the window beside the timeline: all planners side by side, and two plans locked together. */
#include "app/window-private.h"

#include "traces/traces.h"
#include "ui/contest.h"
#include "ui/pair.h"

static GtkWidget *page_widget(PscWindow *self, PscPage page)
{
    GtkWidget *widgets[] = {self->outer, self->contest, self->pair};
    return widgets[page];
}

/* A page that is not seen must not be read out either. */
void psc_window_show_page(PscWindow *self, PscPage page)
{
    static const char *const names[] = {"document", "contest", "pair"};
    if (!psc_workspace_study(self->ws))
        page = PSC_PAGE_TIMELINE;
    gboolean other = page != self->page;
    self->page = page;
    for (int i = 0; i < PSC_PAGE_N; i++)
        gtk_widget_set_visible(page_widget(self, (PscPage)i), i == (int)page && psc_workspace_study(self->ws));
    if (psc_workspace_study(self->ws))
        gtk_stack_set_visible_child_name(GTK_STACK(self->stack), names[page]);
    gtk_widget_set_visible(self->context_box, page == PSC_PAGE_TIMELINE);
    gtk_widget_set_visible(self->banner_box, page == PSC_PAGE_TIMELINE);
    psc_window_show_status(self);
    psc_window_show_badge(self);
    if (!other)
        return;
    if (page == PSC_PAGE_TIMELINE)
        gtk_widget_grab_focus(psc_window_centre(self));
    else
        gtk_widget_child_focus(page_widget(self, page), GTK_DIR_TAB_FORWARD);
}

gboolean psc_window_page_status(PscWindow *self, struct psc_text *out, const char **ret_hints)
{
    if (self->page == PSC_PAGE_CONTEST) {
        psc_contest_page_status(PSC_CONTEST_PAGE(self->contest), out);
        *ret_hints = self->narrow ? "<b>Esc</b> timeline"
                                  : "<b>\xe2\x86\x91 \xe2\x86\x93</b> planner   <b>Enter</b> use it   <b>Ctrl+D</b> diff   <b>Esc</b> timeline";
    } else if (self->page == PSC_PAGE_PAIR) {
        psc_pair_page_status(PSC_PAIR_PAGE(self->pair), out);
        *ret_hints = self->narrow ? "<b>Esc</b> timeline" : "<b>\xe2\x86\x91 \xe2\x86\x93</b> difference   <b>W S A D</b> map   <b>Esc</b> timeline";
    }
    return self->page != PSC_PAGE_TIMELINE;
}

/* "\u2713 9 plans clean": NULL on other pages. */
char *psc_window_page_badge(PscWindow *self, gboolean *ret_wrong)
{
    PscContest *contest = psc_contest_of(self->ws);
    guint able = 0, wrong = 0;
    for (guint i = 0; i < psc_contest_n(contest); i++) {
        able += psc_contest_at(contest, i)->contender.able;
        wrong += psc_contest_at(contest, i)->finding_n > 0;
    }
    *ret_wrong = wrong > 0;
    if (self->page != PSC_PAGE_CONTEST)
        return NULL;
    const char *plans = self->narrow ? "" : able == 1 ? " plan" : " plans";
    return wrong ? g_strdup_printf("\xe2\x9a\xa0 %u of %u%s", wrong, able, plans)
                 : g_strdup_printf("\xe2\x9c\x93 %u%s clean", able, plans);
}

void psc_window_compare(PscWindow *self)
{
    psc_window_show_page(self, self->page == PSC_PAGE_CONTEST ? PSC_PAGE_TIMELINE : PSC_PAGE_CONTEST);
}

void psc_window_show_timeline(PscWindow *self)
{
    psc_window_show_page(self, PSC_PAGE_TIMELINE);
}

/* The document's plan and the one that is picked among the planners. */
void psc_window_diff_planner(PscWindow *self)
{
    PscContest *contest = psc_contest_of(self->ws);
    guint picked = psc_contest_picked(contest);
    const PscEntrant *e = psc_contest_at(contest, picked);
    if (self->page != PSC_PAGE_CONTEST || !e || !e->done || !e->contender.able) {
        psc_window_diff_file(self);
        return;
    }
    struct psc_analysis_options options = psc_contest_options(contest, picked);
    if (psc_pair_show_options(psc_pair_of(self->ws), &options, e->name))
        psc_window_show_page(self, PSC_PAGE_PAIR);
    else
        psc_window_set_status(self, "The rest of the file is still being read: in a moment");
}

/* ---- another file ---------------------------------------------------------------------------------------------- */

static void opened_cb(PscOpened *opened, gpointer data)
{
    PscWindow *self = data;
    self->opening_other = NULL;
    if (opened->error) {
        char *title = g_strdup_printf("%s could not be opened.", opened->title);
        psc_window_show_page(self, PSC_PAGE_TIMELINE);
        psc_banner_show_error(PSC_BANNER(self->banner), title, opened->error);
        g_free(title);
        return;
    }
    if (!psc_workspace_study(self->ws))
        return;
    psc_pair_show_document(psc_pair_of(self->ws), g_steal_pointer(&opened->document), &opened->look, opened->title);
    psc_window_show_page(self, PSC_PAGE_PAIR);
}

static gboolean is_scanning(PscWindow *self)
{
    double fraction;
    return psc_workspace_scanning(self->ws, &fraction);
}

/* A plan alone has no graph: that of this document is meant. */
static void diff_plan(PscWindow *self, const char *path)
{
    struct psc_arena arena = {0};
    struct psc_foreign plan;
    struct psc_error error = {0};
    char *name = g_path_get_basename(path);
    if (psc_plan_read(&arena, path, &plan, &error) != PSC_OK) {
        char *title = g_strdup_printf("%s could not be opened.", name);
        psc_window_show_page(self, PSC_PAGE_TIMELINE);
        psc_banner_show_error(PSC_BANNER(self->banner), title, error.text);
        g_free(title);
        psc_arena_release(&arena);
    } else if (psc_pair_show_plan(psc_pair_of(self->ws), &arena, &plan, name)) {
        psc_window_show_page(self, PSC_PAGE_PAIR);
    }
    g_free(name);
}

void psc_window_diff_path(PscWindow *self, const char *path)
{
    if (psc_plan_file_is(path)) {
        if (!is_scanning(self)) {
            diff_plan(self, path);
            return;
        }
        char *later = g_strdup(path); /* psc_window_pages_rest comes back to it */
        g_free(self->other_path);
        self->other_path = later;
        psc_window_set_status(self, "The rest of the file is still being read: in a moment");
        return;
    }
    if (self->opening_other)
        psc_open_abandon(self->opening_other);
    self->opening_other = psc_open_start(path, NULL, NULL, opened_cb, self);
}

static void chosen_cb(GtkNativeDialog *dialog, int response, PscWindow *self)
{
    GFile *file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog)) : NULL;
    char *path = file ? g_file_get_path(file) : NULL;
    if (path)
        psc_window_diff_path(self, path);
    g_free(path);
    g_clear_object(&file);
    g_object_unref(dialog);
}

void psc_window_diff_file(PscWindow *self)
{
    GtkFileChooserNative *dialog = gtk_file_chooser_native_new("Compare with another trace or graph", GTK_WINDOW(self),
                                                               GTK_FILE_CHOOSER_ACTION_OPEN, "_Compare", "_Cancel");
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
    g_signal_connect_object(dialog, "response", G_CALLBACK(chosen_cb), self, 0);
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

/* `planscope A B`: B is opened when A is there. */
void psc_window_open_pair(PscWindow *self, GFile *a, GFile *b)
{
    g_free(self->other_path);
    self->other_path = g_file_get_path(b);
    psc_window_open(self, a);
}

/* ---- building --------------------------------------------------------------------------------------------------- */

static void told_cb(PscWindow *self)
{
    if (self->page == PSC_PAGE_TIMELINE)
        return;
    psc_window_show_status(self);
    psc_window_show_badge(self);
}

/* After another document is there, or none. */
void psc_window_pages_follow(PscWindow *self)
{
    char *other = g_steal_pointer(&self->other_path);
    psc_window_show_page(self, PSC_PAGE_TIMELINE);
    if (other && psc_workspace_study(self->ws) && !psc_window_lay_contents(self, other))
        psc_window_diff_path(self, other);
    g_free(other);
}

/* After the rest of the document was read. */
void psc_window_pages_rest(PscWindow *self)
{
    if (!self->other_path || !psc_workspace_study(self->ws) || is_scanning(self) || self->opening)
        return;
    char *other = g_steal_pointer(&self->other_path);
    if (!psc_window_lay_contents(self, other))
        psc_window_diff_path(self, other);
    g_free(other);
}

void psc_window_pages_narrow(PscWindow *self)
{
    psc_contest_page_set_narrow(PSC_CONTEST_PAGE(self->contest), self->narrow);
    psc_pair_page_set_narrow(PSC_PAIR_PAGE(self->pair), self->narrow);
}

void psc_window_add_pages(PscWindow *self)
{
    self->contest = psc_contest_page_new(self->ws);
    self->pair = psc_pair_page_new(self->ws);
    gtk_widget_set_visible(self->contest, FALSE);
    gtk_widget_set_visible(self->pair, FALSE);
    gtk_stack_add_named(GTK_STACK(self->stack), self->contest, "contest");
    gtk_stack_add_named(GTK_STACK(self->stack), self->pair, "pair");
    g_signal_connect_object(psc_contest_of(self->ws), "changed", G_CALLBACK(told_cb), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(psc_pair_of(self->ws), "changed", G_CALLBACK(told_cb), self, G_CONNECT_SWAPPED);
}
