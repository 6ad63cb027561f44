#include "app/open.h"

#include "traces/traces.h"

#include <string.h>

#define PROGRESS_MS 60
#define MESSAGES_SHOWN 5

struct _PscOpening {
    gint refs;
    char *path, *lazy_words;
    gint cancelled; /* atomic */
    gint permille;  /* atomic; -1 not known */
    gint stage;     /* atomic: index into stages */
    guint timer;
    PscOpenProgress progress;
    PscOpenDone done;
    gpointer data;
    PscOpened *result;
};

static const char *const stages[] = {"Reading", "Planning and checking"};

static void unref(gpointer pointer)
{
    PscOpening *opening = pointer;
    if (!g_atomic_int_dec_and_test(&opening->refs))
        return;
    g_free(opening->path);
    g_free(opening->lazy_words);
    g_free(opening);
}

void psc_opened_free(PscOpened *opened)
{
    psc_look_clear(&opened->look);
    psc_document_unref(opened->document);
    g_free(opened->path);
    g_free(opened->title);
    g_free(opened->error);
    g_free(opened->warning);
    g_free(opened);
}

static bool progress_cb(void *ctx, uint64_t done, uint64_t total)
{
    PscOpening *opening = ctx;
    g_atomic_int_set(&opening->permille, total ? (gint)(done * 1000 / total) : -1);
    return !g_atomic_int_get(&opening->cancelled);
}

/* The first messages of a level, a line each; how many more there are is told. */
static char *messages(const struct psc_report *report, enum psc_level level)
{
    GString *text = g_string_new(NULL);
    size_t found = 0;
    for (size_t i = 0; i < report->n; i++) {
        if (report->items[i].level != level || ++found > MESSAGES_SHOWN)
            continue;
        g_string_append_printf(text, "%s%s", text->len ? "\n" : "", report->items[i].text);
    }
    if (found > MESSAGES_SHOWN)
        g_string_append_printf(text, "\nand %" G_GSIZE_FORMAT " more; planscope-cli info lists them all",
                               found - MESSAGES_SHOWN + report->dropped);
    if (!text->len) {
        g_string_free(text, TRUE);
        return NULL;
    }
    return g_string_free(text, FALSE);
}

/* Who shows the sentence names the file before it. */
static const char *without_name(const PscOpened *opened, const char *text)
{
    gsize n = strlen(opened->title);
    return strncmp(text, opened->title, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

static void fail(PscOpened *opened, const struct psc_report *report, const struct psc_error *error)
{
    char *faults = messages(report, PSC_FAULT);
    opened->error = faults && report->fault_n > 1 ? g_steal_pointer(&faults) : g_strdup(without_name(opened, error->text));
    g_free(faults);
}

static void run(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    PscOpening *opening = data;
    PscOpened *opened = opening->result;
    struct psc_open_options options = {.progress = progress_cb, .ctx = opening, .lazy_words = opening->lazy_words};
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    if (psc_trace_open(opening->path, &options, &report, &doc, &error) != PSC_OK) {
        fail(opened, &report, &error);
    } else {
        opened->document = psc_document_new(doc);
        g_atomic_int_set(&opening->stage, 1);
        g_atomic_int_set(&opening->permille, -1);
        struct psc_analysis_options plan = {.plan = psc_plan_defaults};
        plan.plan.log = true;
        if (doc->phase_n == 0)
            opened->error = g_strdup_printf("%s has no phase: there is nothing to show", opened->title);
        else if (!psc_look_make(&opened->look, opened->document, NULL, 0, &doc->phases[0], &plan,
                                psc_doc_step_n(doc, 0) > 0, 0, &error))
            fail(opened, &report, &error);
        opened->warning = messages(&doc->report, PSC_WARNING);
    }
    psc_report_release(&report);
    g_task_return_boolean(task, TRUE);
}

static void finished_cb(GObject *source G_GNUC_UNUSED, GAsyncResult *result G_GNUC_UNUSED, gpointer data)
{
    PscOpening *opening = data;
    g_clear_handle_id(&opening->timer, g_source_remove);
    if (opening->done)
        opening->done(opening->result, opening->data);
    psc_opened_free(opening->result);
    unref(opening);
}

static gboolean timer_cb(gpointer data)
{
    PscOpening *opening = data;
    if (opening->progress)
        opening->progress(g_atomic_int_get(&opening->permille) / 1000.0,
                          stages[g_atomic_int_get(&opening->stage)], opening->data);
    return G_SOURCE_CONTINUE;
}

PscOpening *psc_open_start(const char *path, const char *lazy_words, PscOpenProgress progress, PscOpenDone done, gpointer data)
{
    PscOpening *opening = g_new0(PscOpening, 1);
    opening->refs = 2; /* the task's and that of finished_cb */
    opening->path = g_strdup(path);
    opening->lazy_words = g_strdup(lazy_words);
    opening->permille = -1;
    opening->progress = progress;
    opening->done = done;
    opening->data = data;
    opening->result = g_new0(PscOpened, 1);
    opening->result->path = g_strdup(path);
    opening->result->again = lazy_words != NULL;
    opening->result->title = g_path_get_basename(path);
    opening->timer = g_timeout_add(PROGRESS_MS, timer_cb, opening);
    GTask *task = g_task_new(NULL, NULL, finished_cb, opening);
    g_task_set_task_data(task, opening, unref);
    g_task_run_in_thread(task, run);
    g_object_unref(task);
    return opening;
}

void psc_open_abandon(PscOpening *opening)
{
    opening->done = NULL;
    opening->progress = NULL;
    g_atomic_int_set(&opening->cancelled, 1);
}

const char *psc_open_path(PscOpening *opening)
{
    return opening->path;
}
