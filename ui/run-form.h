/* ui/run-form.h: the form of the run window: fields, what they say together, and where an error belongs.
 *
 * Part of ui/run-window.c; a plain struct of widgets that live as long as its box.
 */
#ifndef PSC_UI_RUN_FORM_H
#define PSC_UI_RUN_FORM_H

#include "ui/run-order.h"
#include "ui/workspace.h"

#define PSC_RUN_ERROR_N 5 /* one line each of PscRunField */

typedef struct {
    PscWorkspace *ws;
    PscRunDoor door;
    GtkWidget *box;                    /* all of it; vertical */
    GtkWidget *what[PSC_RUN_WHAT_N], *graph_words, *path, *browse, *preset;
    GtkWidget *model_box, *graph_box;  /* prompt and lengths | fills */
    GtkWidget *prompt, *prompt_is, *tokens, *n_ctx, *seed, *temperature;
    GtkWidget *fills, *times;          /* fills: a grid, made anew for each graph */
    GPtrArray *fill_entries;           /* GtkWidget *, borrowed: one for each of graph->inputs */
    GPtrArray *fill_errors;            /* GtkLabel *, borrowed */
    PscDocument *document;             /* whose graph the fills are of: a reference */
    guint phase;
    GPtrArray *backends;               /* check buttons; the last two: auto, mixed */
    GtkWidget *mixed;
    GtkWidget *planner, *mode, *size, *slots, *order, *faults, **fault;
    GtkWidget *memory, *arena_box, *arena_mode, *hold, *inputs, *arena_fault;
    GtkWidget *recycled, *capture, *hashes, *threads;
    GtkWidget *error[PSC_RUN_ERROR_N];
} PscRunForm;

void psc_run_form_init(PscRunForm *form, PscWorkspace *ws, const PscRunDoor *door);
void psc_run_form_clear(PscRunForm *form); /* lets go of what it refers to */
/* Takes over the graph that is open now; what was typed stays. */
void psc_run_form_refresh(PscRunForm *form);
/* The order, or NULL: then the field that is wrong has the focus and says why. */
PscRunOrder *psc_run_form_order(PscRunForm *form);
/* Shows a sentence beside a field (and focuses it), or none at all with text NULL. */
void psc_run_form_tell(PscRunForm *form, PscRunField field, guint fill, const char *text);

#endif
