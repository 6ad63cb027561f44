/* traces/events-read.h: opens an events file (private to traces/; psc_trace_open finds out which kind of file it has).
 *
 * The list of chunks is walked once, by their heads; graphs and the phases' stories are read then, steps when they are
 * asked for. Every number of the file is checked before it is used.
 */
#ifndef PSC_TRACES_EVENTS_READ_H
#define PSC_TRACES_EVENTS_READ_H

#include "core/doc/doc.h"
#include "traces/source.h"

bool psc_events_is_file(const struct psc_source *source);
/* Takes the source over, on failure too. */
enum psc_status psc_events_read(struct psc_source source, struct psc_report *report, struct psc_doc **ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
