/* core/plan/kv-runs.h: contiguous runs of cells, as the engine we study hands them out.
 *
 * A sequence reserves a run of `cap` cells. Row k of the run holds position shared_rows + k, so without sharing
 * cell = start + position. A sequence that shares a prefix reads positions [0, shared_rows) in cells of its donor
 * and writes from there on into its own run:
 *
 *     cell      0 1 2 3 4 5 6 7 8 9
 *     A         [0 1 2 3 . .]              run at 0, cap 6, 4 rows
 *     B          0 1 2       [3 4 . .]     shares 3 rows of A from cell 0, run at 6, cap 4, 2 rows of its own
 *
 * Invariants (psc_kv_runs_check): runs do not overlap and lie inside the cache; rows <= cap; cell of row k is read by
 * its sequence at position shared_rows + k when it is written; shared cells are read by their sharers; a cell that
 * is shared outlives its donor. Positions are data: nothing here depends on token values, and a move needs no
 * rotation, because positions are relative to the sequence (removal is the exception, see psc_kv_runs_remove).
 *
 * A function that answers with work has changed the table already: the caller must do the work with the bytes.
 * Failing functions change nothing. Sequences are any 64-bit numbers; PSC_KV_SEQS_MAX of them live at a time.
 * Cost: O(cells) for changes of layout, O(tokens) for a forward.
 */
#ifndef PSC_CORE_PLAN_KV_RUNS_H
#define PSC_CORE_PLAN_KV_RUNS_H

#include "core/graph/kv-map.h"
#include "core/plan/kv-cells.h"
#include "core/plan/kv-format.h"

struct psc_kv_run {
    uint64_t seq;
    bool live;
    uint32_t start, cap;  /* own cells [start, start + cap) */
    uint32_t rows;        /* own rows [0, rows) are in use: one past the last that was written */
    uint32_t shared_cell; /* positions [0, shared_rows) are read from cells [shared_cell, shared_cell + shared_rows) */
    uint32_t shared_rows; /* 0: shares nothing */
};
struct psc_kv_runs {
    struct psc_kv_cells cells;              /* owned; read it freely, change it through this header */
    struct psc_kv_run run[PSC_KV_SEQS_MAX]; /* the index is the sequence's place in psc_kv_cell.seqs */
    uint64_t *stamp;                        /* owned, [cells.n]: the last forward that wrote the cell */
    uint64_t forwards;
};
enum psc_status psc_kv_runs_init(struct psc_kv_runs *runs, uint32_t cell_n, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_runs_release(struct psc_kv_runs *runs); /* {0} is an empty cache */
void psc_kv_runs_clear(struct psc_kv_runs *runs);   /* forgets all sequences; rows count as never written */
bool psc_kv_runs_check(const struct psc_kv_runs *runs);

const struct psc_kv_run *psc_kv_runs_find(const struct psc_kv_runs *runs, uint64_t seq); /* NULL when unknown */
uint32_t psc_kv_runs_live_n(const struct psc_kv_runs *runs);
/* Positions that the sequence holds: shared rows and own ones; 0 when unknown. */
uint32_t psc_kv_runs_length(const struct psc_kv_runs *runs, uint64_t seq);
/* True when cell == position for whatever is there: one sequence at most, its run at cell 0, nothing shared. */
bool psc_kv_runs_is_identity(const struct psc_kv_runs *runs);
/* Longest run of cells that no run and no shared prefix covers. */
uint32_t psc_kv_runs_longest_free(const struct psc_kv_runs *runs);

/* Layout. reserve: first fit; a sequence that has a run keeps it when that is large enough, else it is an error (a
 * reservation does not grow by itself: psc_kv_runs_set_cap). release: cells that a sharer reads stay taken. */
enum psc_status psc_kv_runs_reserve(struct psc_kv_runs *runs, uint64_t seq, uint32_t cap,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_kv_runs_release_seq(struct psc_kv_runs *runs, uint64_t seq, struct psc_error *reterr) PSC_MUST_CHECK;
/* As reserve, but compacts once when no run is long enough and `may_defrag`. *work gets the moves. */
enum psc_status psc_kv_runs_reserve_defrag(struct psc_kv_runs *runs, uint64_t seq, uint32_t cap, bool may_defrag,
                                           struct psc_kv_work *work, struct psc_error *reterr) PSC_MUST_CHECK;
/* Another size for the run: refused below the rows in use or beyond the cache. Runs above move up when it grows; when
 * the top is reached, runs move down to make room. */
enum psc_status psc_kv_runs_set_cap(struct psc_kv_runs *runs, uint64_t seq, uint32_t cap, struct psc_kv_work *work,
                                    struct psc_error *reterr) PSC_MUST_CHECK;

/* A plan of where runs go. It names whole extents: a run with its unwritten rest, or cells that outlived their donor. */
struct psc_kv_relocation {
    uint32_t from, to; /* first cells */
    uint32_t rows;     /* rows in use: these bytes move; an unwritten run moves its reservation with 0 */
};
struct psc_kv_relocations {
    struct psc_kv_relocation *items; /* owned */
    size_t n, cap;
};
void psc_kv_relocations_release(struct psc_kv_relocations *plan);
/* Slides extents down, lowest first, and stops as soon as a free run of `need` cells exists (0: packs fully). */
enum psc_status psc_kv_runs_plan_compaction(const struct psc_kv_runs *runs, uint32_t need,
                                            struct psc_kv_relocations *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Renumbers. Refused when an extent is no longer where the plan says, holds other rows, or would lie on another.
 * *work gets the moves in a safe order: upward ones from the top, then downward ones from the bottom. */
enum psc_status psc_kv_runs_apply(struct psc_kv_runs *runs, const struct psc_kv_relocation *plan, size_t plan_n,
                                  struct psc_kv_work *work, struct psc_error *reterr) PSC_MUST_CHECK;

/* Removes positions [first, first + n) and closes the gap: later rows move down, their K rows turn by -n, the rows at
 * the end become zero. Only for a cache with this sequence alone (the caller holds every layer's bytes), and refused
 * for F16, whose rows the physical shift cannot turn. Positions beyond the end are not removed. *work says it all;
 * when the bytes are done: psc_kv_runs_rotated. */
enum psc_status psc_kv_runs_remove(struct psc_kv_runs *runs, uint64_t seq, uint32_t first, uint32_t n,
                                   enum psc_kv_format format, struct psc_kv_work *work,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
/* Forgets the first n positions: the oldest rows make room (context shift). */
enum psc_status psc_kv_runs_shift(struct psc_kv_runs *runs, uint64_t seq, uint32_t n, enum psc_kv_format format,
                                  struct psc_kv_work *work, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_runs_rotated(struct psc_kv_runs *runs); /* the K rows were turned by what they owed */

/* Prefixes. copy: the first n rows of src become rows of dst's own run (refused when src shares, has fewer rows, dst
 * has no room, or a cell of dst is read by another). share: dst reads src's cells in place (refused for 0 rows, more
 * than src holds, src itself, a dst that shares already or has rows, and rows of src that do not lie in one run). */
enum psc_status psc_kv_runs_copy_prefix(struct psc_kv_runs *runs, uint64_t dst, uint64_t src, uint32_t n,
                                        struct psc_kv_work *work, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_kv_runs_share_prefix(struct psc_kv_runs *runs, uint64_t dst, uint64_t src, uint32_t n,
                                         struct psc_error *reterr) PSC_MUST_CHECK;
/* Copy on write: before seq writes at a position of its shared prefix, the share shrinks to the positions below and
 * the rest becomes own rows: they move up inside the run and copies of the donor's rows stand before them. The donor
 * is never written. No work when the position is not shared. PSC_ERR_TOO_BIG when the run has no room. */
enum psc_status psc_kv_runs_private_row(struct psc_kv_runs *runs, uint64_t seq, uint32_t position,
                                        struct psc_kv_work *work, struct psc_error *reterr) PSC_MUST_CHECK;

/* One forward. token t is the row of sequence seq[t] at position[t]; seq NULL: all of sequence 0. */
struct psc_kv_batch {
    const uint64_t *seq;
    const int32_t *position;
    const int32_t *token; /* token ids, for people only; may be NULL */
    uint32_t token_n;
};
/* A batch of one sequence that has no run gets the whole cache, if nothing else is reserved. */
enum psc_status psc_kv_runs_reserve_implicit(struct psc_kv_runs *runs, const struct psc_kv_batch *batch,
                                             struct psc_error *reterr) PSC_MUST_CHECK;
/* Copy on write for every position of the batch that lies in a shared prefix. Call it before psc_kv_runs_cells. */
enum psc_status psc_kv_runs_unshare(struct psc_kv_runs *runs, const struct psc_kv_batch *batch,
                                    struct psc_kv_work *work, struct psc_error *reterr) PSC_MUST_CHECK;
/* ret[t] = the cell to write. An error: a sequence without run, a position below 0, beyond its run, inside its shared
 * prefix or in a cell that a sharer reads, two tokens with one cell. Each names token, sequence, position and n_ctx. */
enum psc_status psc_kv_runs_cells(struct psc_kv_runs *runs, const struct psc_kv_batch *batch, int32_t *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* Marks the rows of the batch as written (this forward writes them before any attention reads). */
void psc_kv_runs_own(struct psc_kv_runs *runs, const struct psc_kv_batch *batch, const int32_t *cells);
/* ret[t] = lo, ret[token_n + t] = hi: the cells that token t attends to. Call it after psc_kv_runs_own. An error: the
 * token's own row is not written, or its sequence lies in two runs (it shares): then only the map can say it. */
enum psc_status psc_kv_runs_spans(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, int32_t *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* ret[(t * run_max + r) * 2] = first cell, [.. + 1] = length: the runs that token t attends to, in order of position,
 * padded with zeros. run_max of kv_map inputs is PSC_KV_MAP_RUNS. A query with more runs than run_max is an error, the map is
 * never truncated. */
enum psc_status psc_kv_runs_map(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, uint32_t run_max,
                                int32_t *ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* What was filled, before a kernel trusts it. cells: below n_ctx. spans: lo <= hi <= n_ctx. map: runs inside n_ctx.
 * Spans or a map of zeros only were never filled: an error. */
enum psc_status psc_kv_check_cells(const int32_t *cells, uint32_t token_n, uint32_t n_ctx,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_kv_check_spans(const int32_t *spans, uint32_t token_n, uint32_t n_ctx,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_kv_check_map(const int32_t *map, uint32_t token_n, uint32_t run_max, uint32_t n_ctx,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

/* Loading: the whole state of a cache of the same size, as `run` and `cells.cell` held it. PSC_ERR_PARSE when it breaks
 * an invariant; nothing is changed then. */
enum psc_status psc_kv_runs_adopt(struct psc_kv_runs *runs, const struct psc_kv_run run[PSC_KV_SEQS_MAX],
                                  const struct psc_kv_cell *cells, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
