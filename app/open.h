/* app/open.h: a file becomes a document: in a worker, with progress and Cancel.
 *
 * Reading, planning, checking and the first step are done before the window sees anything; until then, and
 * when it fails or is cancelled, the document that was open stays. One opening at a time: a newer one
 * cancels the older.
 */
#ifndef PSC_APP_OPEN_H
#define PSC_APP_OPEN_H

#include "ui/study.h"

#include <gio/gio.h>

typedef struct {
    char *path, *title;
    PscDocument *document; /* NULL when it failed */
    PscLook look;
    char *error;           /* one sentence or several; NULL when all is well */
    char *warning;         /* what the reader noticed; may be NULL */
    gboolean again;        /* with words: what was open is planned otherwise */
} PscOpened;
void psc_opened_free(PscOpened *opened);

typedef struct _PscOpening PscOpening;
/* done is called once, in the main thread, with a result that it may take parts from; progress now and then
 * with a part of 1 (or < 0 when not known) and the name of the stage. */
typedef void (*PscOpenDone)(PscOpened *opened, gpointer data);
typedef void (*PscOpenProgress)(double part, const char *stage, gpointer data);
/* lazy_words: of an expression, how it is to be planned (core/candela/script.h); NULL: as it says itself. */
PscOpening *psc_open_start(const char *path, const char *lazy_words, PscOpenProgress progress, PscOpenDone done, gpointer data);
/* Cancels: the worker stops when it next looks, and neither callback is called any more. */
void psc_open_abandon(PscOpening *opening);
const char *psc_open_path(PscOpening *opening);

#endif
