/* core/plan/kv-cells.h: who lies in which cell of a KV cache.
 *
 * A KV cache of n cells has, in every layer, a K region and a V region of n rows; cell c is row c of all of them.
 * This table says which sequences read a cell, which position its row holds, and which rotation its K rows still
 * owe. It holds no row: whoever owns the regions is told what to do with the bytes (struct psc_kv_work).
 *
 *     cell        0     1     2     3     4     5     6     7
 *     sequences   A     AB    AB    -     -     B     B     -
 *     position    0     1     2                 3     4
 *     written     yes   yes   yes   yes   -     yes   yes   -       cell 3 was removed: its row is still there
 *
 * Two policies lie over it: core/plan/kv-runs.h (contiguous runs, as the engine we study places them) and
 * core/plan/kv-single.h (each position its own cell, with or without a window, as the scenarios do).
 *
 * Words: a *cell* is a place, a *row* is the bytes in it. A *sequence place* is a bit number below
 * PSC_KV_SEQS_MAX; the policy knows which sequence has which place.
 * Ownership: the table owns its array; works own their lists. Nothing here is shared between threads.
 */
#ifndef PSC_CORE_PLAN_KV_CELLS_H
#define PSC_CORE_PLAN_KV_CELLS_H

#include "core/base/mem.h"

#define PSC_KV_SEQS_MAX 64u           /* sequences at a time */
#define PSC_KV_CELLS_MAX (1u << 24)   /* cells of one cache */
#define PSC_KV_POSITION_MAX (1 << 30) /* positions, deltas and rotations lie below it, either sign */

struct psc_kv_cell {
    uint64_t seqs;    /* bit s: the sequence of place s reads this row; 0: the cell is free */
    int32_t position; /* of a taken cell, relative to its sequence */
    int32_t pending;  /* rotation that its K rows still owe, in positions */
    int32_t rotated;  /* rotation that was applied since the row was stored, in positions */
    uint32_t token;   /* what was stored, in the caller's numbering; for people */
    bool written;     /* bytes were put into this row since the table was made or the row was zeroed */
};
struct psc_kv_cells {
    struct psc_kv_cell *cell; /* owned, [n] */
    uint32_t n;
    uint32_t used_n;    /* cells with a sequence */
    uint64_t changes;   /* counts the changes: equal numbers, equal table */
};

enum psc_status psc_kv_cells_init(struct psc_kv_cells *cells, uint32_t n, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_cells_release(struct psc_kv_cells *cells); /* {0} is an empty table */
void psc_kv_cells_clear(struct psc_kv_cells *cells);   /* all free, nothing written */

/* A row was stored: the cell is read by `seqs` (never 0) at `position`, owes no rotation, and is written. */
void psc_kv_cells_store(struct psc_kv_cells *cells, uint32_t cell, uint64_t seqs, int32_t position, uint32_t token);
/* One more, or one fewer, sequence reads the cell. Without any it is free; its row stays written. */
void psc_kv_cells_add_seq(struct psc_kv_cells *cells, uint32_t cell, uint32_t place);
void psc_kv_cells_drop_seq(struct psc_kv_cells *cells, uint32_t cell, uint32_t place);
void psc_kv_cells_free(struct psc_kv_cells *cells, uint32_t cell); /* of all sequences */
/* Position and owed rotation grow by delta. PSC_ERR_TOO_BIG beyond PSC_KV_POSITION_MAX; nothing is changed then. */
enum psc_status psc_kv_cells_shift(struct psc_kv_cells *cells, uint32_t cell, int32_t delta,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
/* Rows of the table move as memmove moves their bytes: what is left behind is free, but still written. */
void psc_kv_cells_move(struct psc_kv_cells *cells, uint32_t from, uint32_t to, uint32_t rows);
/* The K rows were rotated by what they owed. */
void psc_kv_cells_apply_pending(struct psc_kv_cells *cells);

/* What has to be done with the bytes, in this order: the moves one after another, each as memmove does it, in K
 * and V of every layer; the rotation of K rows; the zeroing of K and V rows. Moves of one list never read a row
 * that an earlier move of the list has overwritten. */
struct psc_kv_move { uint32_t from, to, rows; }; /* cells [from, from + rows) to [to, to + rows) */
struct psc_kv_work {
    struct psc_kv_move *moves; /* owned */
    size_t move_n, move_cap;
    uint32_t rotate_cell, rotate_rows; /* K rows of these cells turn by rotate_delta positions */
    int32_t rotate_delta;
    uint32_t zero_cell, zero_rows;     /* these rows become zero */
};
void psc_kv_work_release(struct psc_kv_work *work); /* {0} is no work */
void psc_kv_work_clear(struct psc_kv_work *work);   /* keeps the memory */
enum psc_status psc_kv_work_add(struct psc_kv_work *work, uint32_t from, uint32_t to, uint32_t rows,
                                struct psc_error *reterr) PSC_MUST_CHECK; /* 0 rows or from == to adds nothing */
/* The moves as a person reads them: "cells 8..12 to 4..8"; buf holds at least 64 bytes. */
const char *psc_kv_move_text(const struct psc_kv_move *move, char *buf, size_t size);

#endif
