/* core/run/rows.h: which rows of a layer's K and V a step touches, from what the host filled.
 *
 *     cells      4 5 6          a store writes rows [4, 7)
 *     cells      4 9 10         ... [4, 5) and [9, 11)
 *     positions  0 1 2          attention without span reads [0, 3)
 *     attn_span  2 2 | 5 6      ... reads [2, 6): lo of each token, then hi of each token
 *     kv_map     0 2 8 1 ...    ... reads [0, 2) and [8, 9): up to four (cell, length) a token
 *
 * Inputs that name rows are i32; they reach their op directly or through a view. Everything else (an index that is
 * computed) is not known here: such a set has known == false and stands for all rows.
 *
 * Bounds: positions and cells < n_ctx, lo <= hi <= n_ctx, cell + length <= n_ctx; a span or map of zeros has never been
 * filled. Token ids and row gathers are not bounded. Cost: O(index elements) a fill, O(n log n) for spans and maps.
 */
#ifndef PSC_CORE_RUN_ROWS_H
#define PSC_CORE_RUN_ROWS_H

#include "core/graph/graph.h"
#include "core/graph/kv-map.h"

enum psc_index_kind { PSC_INDEX_POSITION, PSC_INDEX_CELL, PSC_INDEX_SPAN, PSC_INDEX_MAP };

struct psc_row_run { uint32_t lo, hi; };

/* One demand on an input, and the rows it names. Ops that ask the same of the same input share it. */
struct psc_index {
    enum psc_index_kind kind;
    psc_node user;         /* the first that asked */
    uint32_t input;        /* index into the program's inputs */
    uint64_t at, n;        /* elements of the input */
    uint64_t rows;         /* n_ctx of the layer */
    struct psc_row_run *runs; /* arena; valid when `settled` */
    uint32_t run_n;
    bool settled;
};

struct psc_rows {
    struct psc_index *index; /* arena */
    uint32_t index_n;
    uint32_t *written, *read; /* [n]: index whose rows the node writes or reads; PSC_NONE: all rows, if it does at all */
    uint32_t *first, *next;   /* [input_n], [index_n]: the demands on an input */
};

/* rows_of[layer of the plan]: n_ctx, 0 when there are no regions; layer_of[n]: PSC_NONE when the node has none;
 * input_of[n]: index of a filled node, else PSC_NONE. PSC_ERR_PLAN when a node stores more tokens a step than there are
 * rows (unless `unbounded`), PSC_ERR_NOMEM. */
enum psc_status psc_rows_build(struct psc_arena *arena, const struct psc_graph *graph, const uint32_t *layer_of,
                               const uint64_t *rows_of, const uint32_t *input_of, uint32_t input_n, bool unbounded,
                               struct psc_rows *ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* May the input be filled with these words? PSC_ERR_USAGE with node, position and n_ctx when not. */
enum psc_status psc_rows_check(const struct psc_graph *graph, const struct psc_rows *rows, uint32_t input,
                               const uint32_t *words, struct psc_error *reterr) PSC_MUST_CHECK;
/* The input holds other words now. */
void psc_rows_changed(struct psc_rows *rows, uint32_t input);
/* Sorted runs of rows (cells: as listed). words: of the index's input. */
const struct psc_row_run *psc_rows_of(struct psc_rows *rows, uint32_t index, const uint32_t *words, uint32_t *ret_n);

#endif
