/* core/debug/kv-history.h: which step wrote which row of the KV regions, over a whole run.
 *
 *     step      0 prefill      1        2        3
 *     writes    [0, 4)         [4, 5)   [1, 2)   [5, 6)
 *
 *     spans     [0, 1) from 0 to the end      [1, 2) from 0 to 2      [1, 2) from 2 to the end
 *               [2, 4) from 0 to the end      [4, 5) from 1 ...       [5, 6) from 3 ...
 *
 * A span says which step wrote its rows last, from that step until another one writes them. Spans of a layer at one
 * step never overlap, and there are at most four for each write. Steps are counted over all phases of a document, in
 * their order. One layer more than there are (index `layers`) is the union of all: a row counts as written there as soon
 * as any layer has it.
 *
 * Cost: O(w log w) for w writes; a state is O(spans), a row of a state O(log spans).
 * Ownership: all in the arena given; nothing is borrowed. A finished history may be read from any thread.
 */
#ifndef PSC_CORE_DEBUG_KV_HISTORY_H
#define PSC_CORE_DEBUG_KV_HISTORY_H

#include "core/doc/doc.h"

#define PSC_KV_FOR_EVER UINT32_MAX

struct psc_kv_span {
    uint32_t lo, hi;   /* rows, half-open */
    uint32_t from, to; /* written in step `from`, overwritten in step `to` (PSC_KV_FOR_EVER: never) */
    psc_node node;     /* who wrote, in the graph of that step's phase */
};
/* One step in figures. */
struct psc_kv_figure {
    uint32_t phase, step;            /* of the document */
    bool is_prefill, is_known;       /* !is_known: the document does not say which rows this step touched */
    uint32_t rows, fresh, written;   /* ever written in any layer, after the step; new among them; written by the step */
    uint32_t write_lo, write_hi;     /* hull of the rows written; empty when none were */
    uint32_t window_lo, window_hi;   /* hull of the rows read */
    uint64_t unwritten;              /* rows read, in all layers, that nobody had written before */
};
struct psc_kv_history {
    uint32_t layers, step_n;
    const struct psc_kv_span *spans; /* of a layer: by (lo, from) */
    const uint32_t *layer_at;        /* [layers + 2] */
    const struct psc_kv_figure *figures; /* [step_n] */
};

struct psc_kv_builder;
struct psc_kv_builder *psc_kv_builder_new(void); /* NULL when out of memory */
void psc_kv_builder_free(struct psc_kv_builder *b);
/* The next step. rows: its accesses in the order in which they happened; NULL (and is_known false): not known. Rows of
 * negative layers, and of layers from PSC_LAYERS_MAX on, are left out. A failed allocation is told by finish. */
void psc_kv_builder_step(struct psc_kv_builder *b, uint32_t phase, uint32_t step, bool is_prefill, bool is_known,
                         const struct psc_kv_rows *rows, uint32_t n);
/* May be called now and then while steps are added. layers: at least so many, more when rows name more. */
enum psc_status psc_kv_builder_finish(const struct psc_kv_builder *b, struct psc_arena *arena, uint32_t layers,
                                      struct psc_kv_history **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* What the regions hold before a step: spans of a layer ascending by row. */
struct psc_kv_state {
    uint32_t layers;
    const struct psc_kv_span *spans;
    const uint32_t *layer_at; /* [layers + 2] */
};
enum psc_status psc_kv_state_build(struct psc_arena *arena, const struct psc_kv_history *history, uint32_t step,
                                   struct psc_kv_state *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Index (into state->spans) of the first span of the layer that ends after `row`: it holds the row when it begins at or
 * before it. state->layer_at[layer + 1] when there is none. */
uint32_t psc_kv_state_find(const struct psc_kv_state *state, uint32_t layer, uint32_t row);
/* Who wrote a row last, or NULL. */
const struct psc_kv_span *psc_kv_state_at(const struct psc_kv_state *state, uint32_t layer, uint32_t row);
/* Rows of [lo, hi) that are written. */
uint32_t psc_kv_state_written(const struct psc_kv_state *state, uint32_t layer, uint32_t lo, uint32_t hi);

#endif
