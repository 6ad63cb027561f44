/* core/debug/history-index.h: what the lookups of a history need (private to core/debug). */
#ifndef PSC_CORE_DEBUG_HISTORY_INDEX_H
#define PSC_CORE_DEBUG_HISTORY_INDEX_H

#include "core/debug/history.h"
#include "core/debug/overlap.h"

struct psc_node_value {
    psc_node node;
    uint32_t value;
};
struct psc_history_index {
    struct psc_overlap writers, readers;
    const uint32_t *by_first;      /* tenancies by (first, index) */
    const int32_t *latest_end;     /* a heap over by_first: the largest end below each inner node */
    uint32_t leaves;               /* of that heap, a power of two */
    const struct psc_node_value *nodes; /* by node */
    uint32_t node_n;
};

/* Fills the index of a history whose tenancies and tables are ready. Working memory comes from scratch. */
enum psc_status psc_history_index_build(struct psc_arena *arena, struct psc_arena *scratch, struct psc_history *h,
                                        struct psc_error *reterr) PSC_MUST_CHECK;
/* The kinds of event that count as an access, a write, a read. */
bool psc_history_is_access(enum psc_event_kind kind);
bool psc_history_is_writer(enum psc_event_kind kind);
bool psc_history_is_reader(enum psc_event_kind kind);

#endif
