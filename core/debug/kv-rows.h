/* core/debug/kv-rows.h: the KV regions of a phase, and the rows of them that a step writes and reads.
 *
 * Our own runs record both (struct psc_kv_layout, struct psc_kv_rows). For a trace of another engine the regions follow
 * from the graph, and the rows from what the graph's inputs held, if the step recorded them: a store writes the rows that
 * `positions` (or `cells`) names, an attention reads up to the highest position (or its span, or its map).
 */
#ifndef PSC_CORE_DEBUG_KV_ROWS_H
#define PSC_CORE_DEBUG_KV_ROWS_H

#include "core/debug/kv-history.h"

struct psc_kv_regions {
    uint32_t layers;           /* 1 + the highest layer with regions */
    uint32_t rows;             /* of every region: n_ctx */
    uint64_t width, row_bytes; /* elements and bytes of a row of K (V is alike); 0: not known */
    uint32_t heads;            /* of K; 0: not known */
    const char *format;        /* "f32" ... */
    bool is_recorded;          /* the document says so; else it follows from the graph */
};
/* False when the phase has no KV regions at all. O(nodes). */
bool psc_kv_regions_of(const struct psc_phase *phase, struct psc_kv_regions *ret);

enum psc_kv_source {
    PSC_KV_NOT_KNOWN,   /* the step recorded neither its rows nor its positions */
    PSC_KV_RECORDED,    /* the run says it */
    PSC_KV_FROM_VALUES, /* from the graph and the recorded values of its inputs */
};
/* In the arena, or the step's own array; in order of execution (`order`, NULL: build order). unwritten of rows that come
 * from values is 0: only the whole run tells. */
enum psc_status psc_kv_rows_of(struct psc_arena *arena, const struct psc_phase *phase, const struct psc_step *step,
                               const psc_node *order, const struct psc_kv_rows **ret, uint32_t *ret_n,
                               enum psc_kv_source *ret_source, struct psc_error *reterr) PSC_MUST_CHECK;

/* Is the phase a prefill? Its kind says so. */
bool psc_kv_is_prefill(const struct psc_phase *phase);
/* Loads a step of the document and adds it to the builder as the next one; a step that cannot be read is one whose rows
 * are not known. */
void psc_kv_read_step(struct psc_kv_builder *builder, const struct psc_doc *doc, uint32_t phase_index,
                      const struct psc_phase *phase, uint32_t step);
/* The history of all steps that the document has now. */
enum psc_status psc_kv_history_of(struct psc_arena *arena, const struct psc_doc *doc, struct psc_kv_history **ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
