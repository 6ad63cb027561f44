/* core/run/cache.h: the graphs that a session keeps, most recent first.
 *
 *     find(decode)   [decode] prefill-30 prefill-7        found: moved to the front once it is mapped
 *     find(other)    build, then [other] decode prefill-30 ...   the ninth falls out
 *
 * A graph is found by its parameters, field by field. Its uid counts up with every build and never comes back.
 * Ownership: graphs are on the heap, freed when they fall out and by psc_cache_release.
 */
#ifndef PSC_CORE_RUN_CACHE_H
#define PSC_CORE_RUN_CACHE_H

#include "core/run/bind.h"
#include "core/run/graph-key.h"

#define PSC_CACHE_GRAPHS 8u

/* Capture and replay of one split. */
struct psc_recorded {
    uint64_t recording;   /* of the backend, valid when `has` */
    uint64_t generation, layout; /* of pool and KV when it was made, or when the warm-up began */
    uint32_t runs;        /* direct ones since then */
    bool has;
};

struct psc_mapped {       /* a graph that is, or was, mapped */
    struct psc_graph_key key;
    uint64_t uid;
    struct psc_arena arena;       /* graph, weights, recordings */
    struct psc_graph *graph;
    const struct psc_node_weights **weights; /* [graph->n] */
    uint8_t *pool_of;             /* [graph->backend_n + 1] */
    struct psc_recorded *recorded; /* [split_n], NULL before the first mapping */
    uint32_t recorded_n;
    struct psc_arena plan_arena;  /* plan and program of the last mapping */
    struct psc_plan *plan;
    struct psc_program *program;
};
void psc_mapped_free(struct psc_mapped *mapped); /* NULL is fine; recordings are the backend's */

struct psc_cache {
    struct psc_mapped *graphs[PSC_CACHE_GRAPHS + 1]; /* room for the one that falls out */
    uint32_t n;
};
uint32_t psc_cache_find(const struct psc_cache *cache, const struct psc_graph_key *key); /* PSC_NONE when it is not there */
void psc_cache_to_front(struct psc_cache *cache, uint32_t at);
/* At the front. Returns the graph that fell out for its place, or NULL; the caller frees it. */
struct psc_mapped *psc_cache_insert(struct psc_cache *cache, struct psc_mapped *mapped);
struct psc_mapped *psc_cache_remove(struct psc_cache *cache, uint32_t at);
void psc_cache_release(struct psc_cache *cache);

#endif
