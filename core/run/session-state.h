/* core/run/session-state.h: the inside of a session, for core/run only. */
#ifndef PSC_CORE_RUN_SESSION_STATE_H
#define PSC_CORE_RUN_SESSION_STATE_H

#include "core/run/cache.h"
#include "core/run/session.h"
#include "core/run/staging.h"

/* The regions of one layer, kept until the end. */
struct psc_kv_region {
    int32_t layer;          /* -1: of the nodes without layer */
    uint8_t pool;
    uint32_t k, v;          /* ids in the pool */
    uint64_t bytes;         /* of K alone */
    uint64_t rows, width, row_bytes;
    enum psc_kv_format format;
};

struct psc_arena_memory; /* core/run/arena-memory.h */
struct psc_session {
    const struct psc_backend_api *const *apis;
    struct psc_pool *pools; /* [api_n]; backend NULL until it is needed */
    uint32_t api_n;
    struct psc_session_options options;
    struct psc_kv_region *regions; /* heap, in the order in which layers were first mentioned */
    size_t region_n, region_cap;
    struct psc_map region_of;      /* layer + 1 -> index, PSC_NONE: none */
    struct psc_staging staging;
    struct psc_cache cache;
    struct psc_mapped *current;    /* in the cache, at its front */
    struct psc_session_counters counters;
    struct psc_copy_counters copies; /* shown as part of the counters */
    struct psc_op_time op_times[PSC_OP_N];
    uint64_t uid;                  /* of the newest graph */
    uint32_t step;                 /* executions so far */
    void *bounce;                  /* room for the largest transfer of any mapped graph */
    uint64_t bounce_bytes;
    struct psc_arena_memory *arena; /* owned; NULL: values lie in the pools */
    bool capture_off;              /* an error inside a window: no more captures in this session */
    bool moving;                   /* the graph that is being mapped gets no buffer that is there */
    bool unsettled;                /* a backend could not be waited for: what was handed to it may still be running */
};

static inline bool psc_session_fault(const struct psc_session *s, enum psc_run_fault fault)
{
    return s->options.run_faults >> fault & 1;
}
/* Index of the layer's regions, or PSC_NONE. */
uint32_t psc_session_region(const struct psc_session *s, int32_t layer);
/* The pool of a backend as a graph spells it, opened; PSC_ERR_UNAVAILABLE when no backend is called so. */
enum psc_status psc_session_pool_named(struct psc_session *s, const char *name, uint8_t *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
