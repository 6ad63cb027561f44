/* ui/run-order.h: what a person asks to be run, and the door through which the window has it done.
 *
 * The ui knows neither files nor backends: app gives it a PscRunDoor. An order is plain data; texts are as they were typed,
 * and whoever runs it says which field was wrong.
 */
#ifndef PSC_UI_RUN_ORDER_H
#define PSC_UI_RUN_ORDER_H

#include "core/plan/plan.h"
#include "core/run/faults.h"
#include "core/run/pool.h"
#include "core/run/session-arena.h"
#include "ui/study.h"

#include <gtk/gtk.h>

typedef enum { PSC_RUN_GRAPH, PSC_RUN_FILE, PSC_RUN_PRESET, PSC_RUN_WHAT_N } PscRunWhat;
/* Text to go on with, a message that the model is to answer, or "5,77,130". */
typedef enum { PSC_RUN_PROMPT_TEXT, PSC_RUN_PROMPT_MESSAGE, PSC_RUN_PROMPT_IDS } PscRunPrompt;
/* What an error is about. */
typedef enum { PSC_RUN_FIELD_NONE, PSC_RUN_FIELD_WHAT, PSC_RUN_FIELD_PROMPT, PSC_RUN_FIELD_BACKEND, PSC_RUN_FIELD_FILL } PscRunField;

typedef struct {
    PscRunWhat what;
    PscDocument *document; /* of a graph: a reference; else NULL */
    guint phase;           /* of it */
    char *path, *preset;
    char *prompt;
    PscRunPrompt prompt_is;
    guint tokens, n_ctx;   /* to generate; rows of the KV regions */
    char *backend;         /* "cpu", "mixed:0-1=deferred,2-99=cpu" */
    const struct psc_planner *planner;
    struct psc_plan_options plan;
    gboolean *faults;      /* [psc_named_fault_n()] */
    enum psc_recycled recycled;
    enum psc_capture capture;
    gboolean values, hashes;
    gboolean on_arenas, borrow; /* values live on arenas, without a plan; inputs are not copied */
    guint hold;            /* runs whose outputs are held */
    struct psc_arena_settings arenas;
    guint threads, times;  /* 0: all cores; executions of a graph */
    guint64 seed;
    double temperature;
    char **fills;          /* of a graph: a text for each of graph->inputs, NULL ends */
} PscRunOrder;
PscRunOrder *psc_run_order_new(void);
void psc_run_order_free(PscRunOrder *order); /* NULL is fine */
/* The graph of the order, or NULL. */
const struct psc_graph *psc_run_order_graph(const PscRunOrder *order);
/* What an input is filled with when nobody says otherwise: "random:1", "0,1,2 ..." as "count". */
const char *psc_run_fill_default(const struct psc_graph *graph, psc_node input);

/* How far a run is. Texts are borrowed during the call. */
typedef struct {
    const char *stage;     /* "opening", "prefill", "decode", "checking" */
    double part;           /* of the stage, < 0 when not known */
    const char *text;      /* all that was generated so far, valid UTF-8 */
    guint tokens, wanted;  /* generated, asked for */
    double per_second;     /* 0 until it is known */
} PscRunNews;
typedef struct {
    void (*news)(const PscRunNews *news, gpointer data);
    /* Called once. error: NULL when the run ended or was cancelled; what was recorded is open in the window then. fill: which
     * input the error is about, with PSC_RUN_FIELD_FILL. */
    void (*done)(const char *error, PscRunField field, guint fill, gpointer data);
    gpointer data;
} PscRunWatch;

typedef struct {
    gpointer ctx;
    guint (*backend_n)(gpointer ctx);
    /* Name of the i-th backend; *ret_unavailable: why it cannot be used here, or NULL. */
    const char *(*backend)(gpointer ctx, guint i, const char **ret_unavailable);
    /* Asks for a model file; `chosen` is called with its name when one was chosen. */
    void (*choose_file)(gpointer ctx, GtkWindow *parent, void (*chosen)(const char *path, gpointer data), gpointer data);
    void (*start)(gpointer ctx, PscRunOrder *order, const PscRunWatch *watch); /* takes the order; one run at a time */
    void (*cancel)(gpointer ctx);                                              /* what was recorded is kept */
} PscRunDoor;

#endif
