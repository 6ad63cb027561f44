/* app/window-private.h: the insides of the window, shared by window.c, window-actions.c and window-files.c. */
#ifndef PSC_APP_WINDOW_PRIVATE_H
#define PSC_APP_WINDOW_PRIVATE_H

#include "app/open.h"
#include "app/run-job.h"
#include "app/window.h"
#include "ui/banner.h"
#include "ui/contest-page.h"
#include "ui/context-bar.h"
#include "ui/drawer.h"
#include "ui/kv-pane.h"
#include "ui/panel-pane.h"
#include "ui/empty-page.h"
#include "ui/list-pane.h"
#include "ui/pair-page.h"
#include "ui/run-window.h"
#include "ui/stepper.h"
#include "ui/story-switch.h"
#include "ui/timeline.h"

/* What takes the room under the header: the timeline with its panes, all planners, or two plans. */
typedef enum { PSC_PAGE_TIMELINE, PSC_PAGE_CONTEST, PSC_PAGE_PAIR, PSC_PAGE_N } PscPage;

struct _PscWindow {
    GtkApplicationWindow parent_instance;
    PscWorkspace *ws;
    GtkWidget *title, *subtitle, *title_box, *stepper, *badge, *badge_text;
    GtkWidget *context, *banner, *stack, *empty;
    GtkWidget *lists, *inspector, *timeline, *drawer, *status, *hints, *outer, *inner;
    GtkWidget *progress, *progress_bar, *progress_text;
    GtkWidget *kv, *panel, *views; /* views: timeline, kv and panel as pages of one stack */
    GtkWidget *mode_buttons[5], *zoom_buttons[3], *colour, *height, *halves, *axis_words;
    GtkWidget *contest, *pair, *context_box, *banner_box; /* window-pages.c */
    PscPage page;
    PscOpening *opening_other; /* of the second document of a diff */
    char *other_path;          /* opened as that when the first one is there */
    PscOpening *opening; /* NULL when none is under way */
    PscRunWindow *run_window; /* NULL until it was asked for */
    PscRunJob *run_job;  /* NULL when none is under way */
    PscRunWatch run_watch;
    GMenu *recent_menu;
    guint play;          /* timer, 0 when paused */
    PscRoom room;        /* of the context bar */
    gboolean narrow, low, fitting, lists_hidden_by_width, syncing, kv_reading;
};

/* What is drawn in the centre now: the timeline, the KV view or the panel. */
GtkWidget *psc_window_centre(PscWindow *self);
void psc_window_set_status(PscWindow *self, const char *text); /* until the cursor moves */

void psc_window_show_status(PscWindow *self);

/* window-badge.c */
void psc_window_show_badge(PscWindow *self);

/* window-pages.c */
void psc_window_add_pages(PscWindow *self);
void psc_window_show_page(PscWindow *self, PscPage page);
void psc_window_pages_follow(PscWindow *self);
void psc_window_pages_rest(PscWindow *self);
void psc_window_pages_narrow(PscWindow *self);
/* The status line of a page, and its keys as markup; FALSE on the timeline, which says its own. */
gboolean psc_window_page_status(PscWindow *self, struct psc_text *out, const char **ret_hints);
char *psc_window_page_badge(PscWindow *self, gboolean *ret_wrong); /* NULL: the document's own verdict stands there */
/* Values recorded in full (run --contents), laid beside what is open; FALSE: the file is none, or nothing is open. */
gboolean psc_window_lay_contents(PscWindow *self, const char *path);
void psc_window_compare(PscWindow *self);
void psc_window_show_timeline(PscWindow *self);
void psc_window_diff_planner(PscWindow *self);
void psc_window_diff_file(PscWindow *self);
void psc_window_diff_path(PscWindow *self, const char *path);

/* window-actions.c */
void psc_window_install_actions(GtkWidgetClass *class);
void psc_window_update_actions(PscWindow *self); /* enables what makes sense now */
void psc_window_stop_play(PscWindow *self);

/* window-run.c */
void psc_window_ask_run(PscWindow *self);
void psc_window_stop_run(PscWindow *self); /* when the window goes */
void psc_window_save_trace(PscWindow *self);

/* window-expression.c */
void psc_window_type_expression(PscWindow *self);

/* window-files.c */
void psc_window_choose_file(PscWindow *self);
void psc_window_open_path(PscWindow *self, const char *path);
/* The open expression once more, as these words say (core/candela/script.h); cursor and view stay. */
void psc_window_plan_expression(PscWindow *self, const char *words);
void psc_window_cancel_open(PscWindow *self);
void psc_window_accept_drops(PscWindow *self);
void psc_window_fill_recent(PscWindow *self);
void psc_window_fill_examples(PscWindow *self, GMenu *examples, GMenu *lessons);

#endif
