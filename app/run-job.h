/* app/run-job.h: one run in a worker: what was ordered becomes a document that the window opens.
 *
 * The worker opens the model (or takes the open graph), encodes the prompt, runs, and makes the first look at what was
 * recorded. News come in the main thread, at most every 60 ms; text as it is generated. Cancelling ends the run cleanly:
 * what was recorded until then is the result.
 */
#ifndef PSC_APP_RUN_JOB_H
#define PSC_APP_RUN_JOB_H

#include "app/open.h"
#include "ui/run-order.h"

typedef struct {
    PscOpened *opened; /* document, look and title, or an error, or both: what was recorded before it; owned by the job */
    PscRunField field; /* what the error is about */
    guint fill;
    char *summary;     /* one line: tokens, speeds, findings; NULL with an error */
} PscRunResult;
/* Called once, in the main thread; may take parts of the result. */
typedef void (*PscRunDone)(PscRunResult *result, gpointer data);
typedef void (*PscRunTell)(const PscRunNews *news, gpointer data);

typedef struct _PscRunJob PscRunJob;
PscRunJob *psc_run_job_start(PscRunOrder *order, PscRunTell tell, PscRunDone done, gpointer data); /* takes the order */
/* Whether the model is still being opened, which nothing can stop: abandon it then. */
gboolean psc_run_job_is_opening(PscRunJob *job);
void psc_run_job_cancel(PscRunJob *job);  /* done is still called, with what was recorded */
void psc_run_job_abandon(PscRunJob *job); /* done is never called; the worker stops when it next looks */

#endif
