/* ui/rivals.h: the generations of a large graph, compared by a worker while somebody looks.
 *
 * Begun for a study whose inside waits for them (core/debug/inside.h); `told` is called in the main thread when a generation
 * is done, and at the end. Who stops looking stops it: the worker ends before its next generation, and nobody is told any more.
 */
#ifndef PSC_UI_RIVALS_H
#define PSC_UI_RIVALS_H

#include "ui/study.h"

typedef struct PscRivals PscRivals;

PscRivals *psc_rivals_start(PscStudy *study, void (*told)(gpointer ctx), gpointer ctx);
void psc_rivals_stop(PscRivals *rivals); /* and forgets them; NULL is fine */
struct psc_graph_rivals *psc_rivals_made(PscRivals *rivals); /* NULL: not yet, or they cannot be made */
/* How far it is, or why there are none. g_free */
char *psc_rivals_words(PscRivals *rivals);

#endif
