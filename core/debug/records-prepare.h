/* core/debug/records-prepare.h: what psc_records_prepare keeps for psc_records_check_with. Private to
 * records. */
#ifndef PSC_CORE_DEBUG_RECORDS_PREPARE_H
#define PSC_CORE_DEBUG_RECORDS_PREPARE_H

#include "core/debug/records.h"
#include "core/debug/holders.h"

/* When a node's value was read. */
enum psc_moment {
    PSC_MOMENT_NODE,  /* right after the node, or it cannot have changed since: inputs, KV regions */
    PSC_MOMENT_SPLIT, /* at the end of its split */
    PSC_MOMENT_EITHER,
};

/* Candidates are believed in this order: a later one only when the values refute all earlier ones. */
enum psc_tier {
    PSC_TIER_RECORDED, /* the file's events or plan, else its slot policy with size classes */
    PSC_TIER_EXACT,    /* its slot policy with exact sizes */
    PSC_TIER_POLICIES, /* every slot policy in both size modes */
};
#define PSC_REPLAYS_MAX 8u /* two of the file's policy, and three policies in two size modes */
struct psc_candidate {
    const struct psc_holder *holders; /* [graph->n] */
    const char *slots;                /* lowest, fifo or lifo; NULL for anything else that the file says */
    enum psc_tier tier;
};

struct psc_records {
    const struct psc_graph *graph; /* NULL: the phase has none */
    const uint32_t *split_of;      /* [graph->n] */
    const uint8_t *moment;         /* [graph->n] enum psc_moment */
    const bool *viewed;            /* [graph->n] other nodes are windows of its bytes */
    const uint32_t *class_of; /* [graph->n] number of its (split, size class), PSC_NONE: takes no buffer */
    uint32_t class_n;
    const uint32_t *rivals;   /* [graph->n] later nodes of the same class that take a buffer */
    const bool *rivals_alike; /* [graph->n] all of them are as large as the node */
    const bool *lodges;       /* [graph->n] it may run in place over a tensor that has windows */
    const uint64_t *meaning;  /* [graph->n] equal for nodes that compute the same from the same operands */
    const psc_node *fitted;   /* nodes whose relation to their operands is known */
    uint32_t fitted_n;
    bool misreads; /* upstream may let a node read bytes that another has overwritten: equal values prove
                      nothing */
    struct psc_candidate replays[PSC_REPLAYS_MAX]; /* by tier */
    uint32_t replay_n;
    const char *policy; /* the recorded slot policy, or NULL */
};

#endif
