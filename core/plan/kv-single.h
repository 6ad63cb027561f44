/* core/plan/kv-single.h: a KV cache that keeps each position in a cell of its own, for one sequence.
 *
 * Position p lies in cell p, or in cell p mod w when there is a window of w cells (a ring that forgets the oldest):
 *
 *     n_ctx 8                              window 4
 *     store 0..5    0 1 2 3 4 5 - -        store 0..5    4 5 2 3
 *     rm 1..3       0 - - 3 4 5 - -        rm 4..5       - 5 2 3
 *     defrag        0 3 4 5 - - - -
 *
 * Nothing moves by itself: rm frees cells, shift changes positions and what the K rows still owe, apply_shift turns
 * them, defrag moves rows down to a prefix. It is a policy over core/plan/kv-cells.h, as core/plan/kv-runs.h is.
 */
#ifndef PSC_CORE_PLAN_KV_SINGLE_H
#define PSC_CORE_PLAN_KV_SINGLE_H

#include "core/plan/kv-cells.h"

struct psc_kv_single {
    struct psc_kv_cells cells; /* owned; sequence place 0 */
    uint32_t n_ctx, window;    /* window 0: none */
};
/* Capacity is the window, else n_ctx. */
enum psc_status psc_kv_single_init(struct psc_kv_single *kv, uint32_t n_ctx, uint32_t window,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_single_release(struct psc_kv_single *kv);

/* The cell of a position; PSC_KV_CELLS_MAX when it lies outside the capacity (never with a window). */
uint32_t psc_kv_single_cell(const struct psc_kv_single *kv, int32_t position);
/* Stores n rows in order. Without a window a position outside the capacity fails the whole call, named with n_ctx.
 * *ret_overrun: more rows than the window holds were written, the first of them are lost. */
enum psc_status psc_kv_single_store(struct psc_kv_single *kv, const int32_t *position, const uint32_t *token, uint32_t n,
                                    bool *ret_overrun, struct psc_error *reterr) PSC_MUST_CHECK;
/* Positions p0 <= p < p1 leave; returns how many. */
uint32_t psc_kv_single_remove(struct psc_kv_single *kv, int32_t p0, int32_t p1);
/* Positions p0 <= p < p1 grow by delta, and so does what their rows owe. All of them or none. */
enum psc_status psc_kv_single_shift(struct psc_kv_single *kv, int32_t p0, int32_t p1, int32_t delta,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_single_apply_shift(struct psc_kv_single *kv);
/* Used cells down to a prefix, ascending: a move a row, in *work. */
enum psc_status psc_kv_single_defrag(struct psc_kv_single *kv, struct psc_kv_work *work,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
/* Replaces the table: row i gets position[i]. Fails when fewer bytes are present than the state counts, or there are
 * more rows than cells; nothing is changed then. */
enum psc_status psc_kv_single_restore(struct psc_kv_single *kv, const int32_t *position, const uint32_t *token, uint32_t n,
                                      uint64_t kv_bytes, uint64_t bytes_present, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
