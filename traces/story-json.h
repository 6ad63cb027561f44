/* traces/story-json.h: a story (core/event) as JSON, the value of "events" under our key (private to
 * traces/).
 *
 * Rows of numbers and codes, one array a value, a buffer, an event: traces/README.md names the columns. Nodes
 * go by the ids of the phase's graph, so that a story fits any copy of its trace.
 */
#ifndef PSC_TRACES_STORY_JSON_H
#define PSC_TRACES_STORY_JSON_H

#include "core/event/event.h"
#include "traces/cursor.h"
#include "traces/graph-write.h"

void psc_story_write_json(struct psc_json *j, const struct psc_graph *graph, const struct psc_story *story,
                          psc_flush_fn flush, void *ctx);
/* text is well-formed JSON. PSC_ERR_PARSE with the row that is wrong, PSC_ERR_ORDER when the events break a
 * rule of stories, PSC_ERR_TOO_BIG, PSC_ERR_NOMEM. */
enum psc_status psc_story_read(struct psc_arena *arena, struct psc_slice text, const struct psc_graph *graph,
                               struct psc_story **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* The same without the list of events, which stand elsewhere (traces/events-format.h). events: not NULL, their nodes
 * are indices of the graph. */
void psc_story_write_frame(struct psc_json *j, const struct psc_graph *graph, const struct psc_story *story);
enum psc_status psc_story_read_frame(struct psc_arena *arena, struct psc_slice text, const struct psc_graph *graph,
                                     const struct psc_event *events, size_t event_n, struct psc_story **ret,
                                     struct psc_error *reterr) PSC_MUST_CHECK;

/* story-queued.c: the key `queued`; nothing is written when nothing was queued, and the key may be missing. */
void psc_story_write_queued(struct psc_json *j, const struct psc_story *story);
enum psc_status psc_story_read_queued(struct psc_story_builder *builder, struct psc_slice text,
                                      struct psc_error *reterr) PSC_MUST_CHECK;

#endif
