/* tests/heard.h: a listener that keeps what it is told of a run, and the story of it. */
#ifndef PSC_TESTS_HEARD_H
#define PSC_TESTS_HEARD_H

#include "core/run/session.h"

struct run_heard {
    struct psc_session *session;
    struct psc_event *events;         /* GLib memory, in order */
    struct psc_located *places;
    uint32_t event_n, event_cap;
    struct psc_kv_access *rows;
    uint32_t row_n, row_cap;
    uint32_t begun, ended, split_ends;
    enum psc_status status;           /* of the last end */
    bool values;                      /* copies every node's window after it ran */
    uint32_t **value;                 /* [graph->n] */
    struct psc_sink sink;
};
void run_listen(struct run_heard *heard, bool values);
void run_heard_clear(struct run_heard *heard); /* forgets, ready for another execution */
void run_heard_release(struct run_heard *heard);
/* Both heard the same graph with `values`: every value of both is equal; fails with the seed and the node. How many there were. */
uint32_t run_same_values(const struct psc_graph *g, const struct run_heard *a, const struct run_heard *b, uint64_t seed);
/* The recorded events as a story over the plan's values and the pools' buffers, in the arena. */
struct psc_story *run_story(const struct run_heard *heard, struct psc_arena *arena);
/* Names the first difference between what was heard and what the plan lowers to, up to buffer ids and generations;
 * NULL when there is none. g_free. */
char *run_compare(const struct run_heard *heard);

#endif
