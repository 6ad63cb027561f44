#include "core/plan/kv-runs-private.h"

#include <string.h>

/* Cells that lie together and move together: a run with its unwritten rest, or what outlived a donor. */
struct extent {
    uint32_t start, len, rows;
    uint32_t place; /* of the run; PSC_KV_SEQS_MAX for cells without one */
};
#define EXTENTS_MAX (2 * PSC_KV_SEQS_MAX) /* a sharer keeps one range of cells alive */

enum psc_status psc_kv_runs_init(struct psc_kv_runs *runs, uint32_t cell_n, struct psc_error *reterr)
{
    enum psc_status status;
    memset(runs, 0, sizeof *runs);
    status = psc_kv_cells_init(&runs->cells, cell_n, reterr);
    if (status)
        return status;
    runs->stamp = psc_alloc0(cell_n, sizeof *runs->stamp);
    if (!runs->stamp) {
        psc_kv_cells_release(&runs->cells);
        return psc_fail_nomem(reterr);
    }
    return PSC_OK;
}

void psc_kv_runs_release(struct psc_kv_runs *runs)
{
    psc_kv_cells_release(&runs->cells);
    psc_free(runs->stamp);
    memset(runs, 0, sizeof *runs);
}

void psc_kv_runs_clear(struct psc_kv_runs *runs)
{
    psc_kv_cells_clear(&runs->cells);
    memset(runs->run, 0, sizeof runs->run);
}

uint32_t psc_kv_runs_place(const struct psc_kv_runs *runs, uint64_t seq)
{
    uint32_t place = 0;
    while (place < PSC_KV_SEQS_MAX && !(runs->run[place].live && runs->run[place].seq == seq))
        place++;
    return place;
}

enum psc_status psc_kv_runs_need(const struct psc_kv_runs *runs, uint64_t seq, uint32_t *ret, struct psc_error *reterr)
{
    uint32_t place = psc_kv_runs_place(runs, seq);
    if (place == PSC_KV_SEQS_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "sequence %llu has no cells in the KV cache: reserve a run for it first",
                        (unsigned long long)seq);
    *ret = place;
    return PSC_OK;
}

const struct psc_kv_run *psc_kv_runs_find(const struct psc_kv_runs *runs, uint64_t seq)
{
    uint32_t place = psc_kv_runs_place(runs, seq);
    return place < PSC_KV_SEQS_MAX ? &runs->run[place] : NULL;
}

uint32_t psc_kv_runs_live_n(const struct psc_kv_runs *runs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++)
        n += runs->run[i].live;
    return n;
}

uint32_t psc_kv_runs_length(const struct psc_kv_runs *runs, uint64_t seq)
{
    const struct psc_kv_run *run = psc_kv_runs_find(runs, seq);
    return run ? run->shared_rows + run->rows : 0;
}

bool psc_kv_runs_is_identity(const struct psc_kv_runs *runs)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++)
        if (runs->run[i].live && (live++ || runs->run[i].start || runs->run[i].shared_rows))
            return false;
    return true;
}

/* ---- layout */

static void add_extent(struct extent *list, uint32_t *n, struct extent e)
{
    uint32_t at = (*n)++;
    for (; at > 0 && list[at - 1].start > e.start; at--)
        list[at] = list[at - 1];
    list[at] = e;
}

/* All extents by their start; returns how many. */
static uint32_t extents(const struct psc_kv_runs *runs, struct extent *ret)
{
    uint32_t n = 0, run_n;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++)
        if (runs->run[i].live)
            add_extent(ret, &n, (struct extent){runs->run[i].start, runs->run[i].cap, runs->run[i].rows, i});
    run_n = n;
    struct extent own[PSC_KV_SEQS_MAX];
    memcpy(own, ret, run_n * sizeof *own);
    for (uint32_t cell = 0, next = 0; cell < runs->cells.n;) {
        uint32_t end;
        if (next < run_n && cell == own[next].start) {
            cell += own[next++].len;
            continue;
        }
        if (!runs->cells.cell[cell].seqs) {
            cell++;
            continue;
        }
        end = cell;
        while (end < runs->cells.n && runs->cells.cell[end].seqs && !(next < run_n && end == own[next].start))
            end++;
        add_extent(ret, &n, (struct extent){cell, end - cell, end - cell, PSC_KV_SEQS_MAX});
        cell = end;
    }
    return n;
}

/* The lowest gap of at least `need` cells, or PSC_KV_CELLS_MAX; the longest and the sum of all in *ret_*. */
static uint32_t gaps(const struct psc_kv_runs *runs, uint32_t need, uint32_t *ret_longest, uint32_t *ret_sum)
{
    struct extent list[EXTENTS_MAX];
    uint32_t n = extents(runs, list), cursor = 0, found = PSC_KV_CELLS_MAX;
    *ret_longest = *ret_sum = 0;
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t gap = (i < n ? list[i].start : runs->cells.n) - cursor;
        if (gap >= need && gap > 0 && found == PSC_KV_CELLS_MAX)
            found = cursor;
        *ret_longest = gap > *ret_longest ? gap : *ret_longest;
        *ret_sum += gap;
        if (i < n)
            cursor = list[i].start + list[i].len;
    }
    return found;
}

uint32_t psc_kv_runs_longest_free(const struct psc_kv_runs *runs)
{
    uint32_t longest, sum;
    gaps(runs, 1, &longest, &sum);
    return longest;
}

/* What can be said before looking for room. *ret_done: nothing is left to do. */
static enum psc_status may_reserve(const struct psc_kv_runs *runs, uint64_t seq, uint32_t cap, bool *ret_done,
                                   struct psc_error *reterr)
{
    const struct psc_kv_run *run = psc_kv_runs_find(runs, seq);
    *ret_done = false;
    if (!runs->cells.n)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no KV cache to reserve cells of");
    if (cap == 0)
        return psc_fail(reterr, PSC_ERR_USAGE, "a run of 0 cells for sequence %llu: at least one is needed",
                        (unsigned long long)seq);
    if (run && cap > run->cap)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "sequence %llu has a run of %u cells and asks for %u: a reservation does "
                        "not grow by itself", (unsigned long long)seq, run->cap, cap);
    if (cap > runs->cells.n)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "sequence %llu asks for %u cells, the KV cache has %u",
                        (unsigned long long)seq, cap, runs->cells.n);
    *ret_done = run != NULL;
    if (!run && psc_kv_runs_live_n(runs) == PSC_KV_SEQS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "sequence %llu would be one more than the %u that fit a KV cache",
                        (unsigned long long)seq, PSC_KV_SEQS_MAX);
    return PSC_OK;
}

static void put_run(struct psc_kv_runs *runs, uint64_t seq, uint32_t start, uint32_t cap)
{
    uint32_t place = 0;
    while (runs->run[place].live)
        place++;
    runs->run[place] = (struct psc_kv_run){.seq = seq, .live = true, .start = start, .cap = cap};
    runs->cells.changes++;
}

enum psc_status psc_kv_runs_reserve(struct psc_kv_runs *runs, uint64_t seq, uint32_t cap, struct psc_error *reterr)
{
    uint32_t start, longest, sum;
    bool done;
    enum psc_status status = may_reserve(runs, seq, cap, &done, reterr);
    if (status || done)
        return status;
    start = gaps(runs, cap, &longest, &sum);
    if (start == PSC_KV_CELLS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "no run of %u cells is free for sequence %llu: %u of %u cells are free, "
                        "the longest run has %u", cap, (unsigned long long)seq, sum, runs->cells.n, longest);
    put_run(runs, seq, start, cap);
    return PSC_OK;
}

enum psc_status psc_kv_runs_release_seq(struct psc_kv_runs *runs, uint64_t seq, struct psc_error *reterr)
{
    uint32_t place;
    enum psc_status status = psc_kv_runs_need(runs, seq, &place, reterr);
    if (status)
        return status;
    const struct psc_kv_run run = runs->run[place];
    for (uint32_t k = 0; k < run.rows; k++)
        psc_kv_cells_drop_seq(&runs->cells, run.start + k, place);
    for (uint32_t k = 0; k < run.shared_rows; k++)
        psc_kv_cells_drop_seq(&runs->cells, run.shared_cell + k, place);
    runs->run[place] = (struct psc_kv_run){0};
    runs->cells.changes++;
    return PSC_OK;
}

void psc_kv_relocations_release(struct psc_kv_relocations *plan)
{
    psc_free(plan->items);
    *plan = (struct psc_kv_relocations){0};
}

enum psc_status psc_kv_runs_plan_compaction(const struct psc_kv_runs *runs, uint32_t need,
                                            struct psc_kv_relocations *ret, struct psc_error *reterr)
{
    struct extent list[EXTENTS_MAX];
    struct psc_kv_relocations plan = {0};
    uint32_t n = extents(runs, list), cursor = 0;
    if (!need || psc_kv_runs_longest_free(runs) < need)
        for (uint32_t i = 0; i < n; i++) {
            if (list[i].start != cursor) {
                if (!psc_grow(&plan.items, plan.n + 1, &plan.cap, sizeof *plan.items)) {
                    psc_kv_relocations_release(&plan);
                    return psc_fail_nomem(reterr);
                }
                plan.items[plan.n++] = (struct psc_kv_relocation){list[i].start, cursor, list[i].rows};
            }
            cursor += list[i].len;
            if (need && (i + 1 < n ? list[i + 1].start : runs->cells.n) - cursor >= need)
                break;
        }
    *ret = plan;
    return PSC_OK;
}

enum psc_status psc_kv_work_reserve(struct psc_kv_work *work, size_t n, struct psc_error *reterr)
{
    if (!psc_grow(&work->moves, work->move_n + n, &work->move_cap, sizeof *work->moves))
        return psc_fail_nomem(reterr);
    return PSC_OK;
}

void psc_kv_work_push(struct psc_kv_work *work, uint32_t from, uint32_t to, uint32_t rows)
{
    if (rows && from != to)
        work->moves[work->move_n++] = (struct psc_kv_move){from, to, rows};
}

/* Extent i of the list goes to to[i]. The order of the extents stays, so that moving up from the top and then down
 * from the bottom never overwrites what is still to be moved. */
static enum psc_status relocate(struct psc_kv_runs *runs, const struct extent *list, const uint32_t *to, uint32_t n,
                                struct psc_kv_work *work, struct psc_error *reterr)
{
    enum psc_status status = psc_kv_work_reserve(work, n, reterr);
    if (status)
        return status;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++) { /* shares follow the cells they read */
        struct psc_kv_run *run = &runs->run[i];
        for (uint32_t e = n; run->shared_rows && e-- > 0;)
            if (run->shared_cell >= list[e].start) {
                run->shared_cell = run->shared_cell - list[e].start + to[e];
                break;
            }
    }
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < n; k++) {
            uint32_t e = pass ? k : n - 1 - k;
            if (pass ? to[e] >= list[e].start : to[e] <= list[e].start)
                continue;
            psc_kv_work_push(work, list[e].start, to[e], list[e].rows);
            psc_kv_cells_move(&runs->cells, list[e].start, to[e], list[e].rows);
            if (list[e].place < PSC_KV_SEQS_MAX)
                runs->run[list[e].place].start = to[e];
        }
    runs->cells.changes++;
    return PSC_OK;
}

enum psc_status psc_kv_runs_apply(struct psc_kv_runs *runs, const struct psc_kv_relocation *plan, size_t plan_n,
                                  struct psc_kv_work *work, struct psc_error *reterr)
{
    struct extent list[EXTENTS_MAX];
    uint32_t to[EXTENTS_MAX], n = extents(runs, list);
    bool named[EXTENTS_MAX] = {false};
    for (uint32_t e = 0; e < n; e++)
        to[e] = list[e].start;
    for (size_t p = 0; p < plan_n; p++) {
        uint32_t e = 0;
        while (e < n && list[e].start != plan[p].from)
            e++;
        if (e == n || named[e])
            return psc_fail(reterr, PSC_ERR_PLAN, "a plan moves what begins at cell %u, where %s: it was made for another "
                            "state of the cache", plan[p].from, e == n ? "nothing begins" : "it has moved already");
        if (plan[p].rows != list[e].rows)
            return psc_fail(reterr, PSC_ERR_PLAN, "a plan moves %u rows from cell %u, where %u of %u cells are in use: it "
                            "was made for another state of the cache", plan[p].rows, plan[p].from, list[e].rows,
                            list[e].len);
        to[e] = plan[p].to;
        named[e] = true;
    }
    for (uint32_t e = 0; e < n; e++) {
        uint32_t limit = e + 1 < n ? to[e + 1] : runs->cells.n;
        if (to[e] > limit || list[e].len > limit - to[e])
            return psc_fail(reterr, PSC_ERR_PLAN, "a plan moves the %u cells from %u to %u, over %s at cell %u",
                            list[e].len, list[e].start, to[e], e + 1 < n ? "the run" : "the end of the cache", limit);
    }
    return relocate(runs, list, to, n, work, reterr);
}

enum psc_status psc_kv_runs_reserve_defrag(struct psc_kv_runs *runs, uint64_t seq, uint32_t cap, bool may_defrag,
                                           struct psc_kv_work *work, struct psc_error *reterr)
{
    struct psc_kv_relocations plan = {0};
    uint32_t longest, sum;
    bool done;
    enum psc_status status = may_reserve(runs, seq, cap, &done, reterr);
    if (status || done)
        return status;
    if (!may_defrag || gaps(runs, cap, &longest, &sum) != PSC_KV_CELLS_MAX || sum < cap)
        return psc_kv_runs_reserve(runs, seq, cap, reterr);
    status = psc_kv_runs_plan_compaction(runs, cap, &plan, reterr);
    if (!status)
        status = psc_kv_runs_apply(runs, plan.items, plan.n, work, reterr);
    psc_kv_relocations_release(&plan);
    return status ? status : psc_kv_runs_reserve(runs, seq, cap, reterr);
}

/* Starts for the extents: as low as they are, pushed up where they would overlap, and back down from the top. */
static void settle(const struct extent *list, uint32_t n, uint32_t cell_n, uint32_t *to)
{
    uint32_t cursor = 0, limit = cell_n;
    for (uint32_t e = 0; e < n; e++) {
        to[e] = list[e].start > cursor ? list[e].start : cursor;
        cursor = to[e] + list[e].len;
    }
    for (uint32_t e = n; e-- > 0;) {
        if (to[e] + list[e].len > limit)
            to[e] = limit - list[e].len;
        limit = to[e];
    }
}

enum psc_status psc_kv_runs_set_cap(struct psc_kv_runs *runs, uint64_t seq, uint32_t cap, struct psc_kv_work *work,
                                    struct psc_error *reterr)
{
    struct extent list[EXTENTS_MAX];
    uint32_t to[EXTENTS_MAX], n, place;
    uint64_t sum = 0;
    enum psc_status status = psc_kv_runs_need(runs, seq, &place, reterr);
    if (status)
        return status;
    if (cap == 0 || cap < runs->run[place].rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "the run of sequence %llu cannot shrink to %u cells: %u rows of it are in "
                        "use", (unsigned long long)seq, cap, runs->run[place].rows);
    n = extents(runs, list);
    for (uint32_t e = 0; e < n; e++) {
        list[e].len = list[e].place == place ? cap : list[e].len;
        sum += list[e].len;
    }
    if (sum > runs->cells.n)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the run of sequence %llu cannot grow to %u cells: with the other runs "
                        "that makes %llu, the KV cache has %u", (unsigned long long)seq, cap, (unsigned long long)sum,
                        runs->cells.n);
    settle(list, n, runs->cells.n, to);
    status = relocate(runs, list, to, n, work, reterr);
    if (!status)
        runs->run[place].cap = cap;
    return status;
}

/* ---- invariants */

static bool run_holds(const struct psc_kv_runs *runs, uint32_t place)
{
    const struct psc_kv_run *run = &runs->run[place];
    const struct psc_kv_cells *cells = &runs->cells;
    if (!run->cap || run->start > cells->n || run->cap > cells->n - run->start || run->rows > run->cap ||
        run->shared_cell > cells->n || run->shared_rows > cells->n - run->shared_cell)
        return false;
    for (uint32_t k = 0; k < run->cap; k++) {
        const struct psc_kv_cell *c = &cells->cell[run->start + k];
        bool has = c->seqs & psc_kv_bit(place);
        if (has ? k >= run->rows || c->position != (int32_t)(run->shared_rows + k) || !c->written : c->seqs != 0)
            return false;
    }
    for (uint32_t k = 0; k < run->shared_rows; k++) {
        const struct psc_kv_cell *c = &cells->cell[run->shared_cell + k];
        if (!(c->seqs & psc_kv_bit(place)) || c->position != (int32_t)k || !c->written)
            return false;
    }
    return true;
}

bool psc_kv_runs_check(const struct psc_kv_runs *runs)
{
    const struct psc_kv_cells *cells = &runs->cells;
    uint64_t bits = 0, reads = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++) {
        const struct psc_kv_run *a = &runs->run[i];
        if (!a->live)
            continue;
        for (uint32_t k = 0; k < i; k++) {
            const struct psc_kv_run *b = &runs->run[k];
            if (b->live && (a->seq == b->seq || (a->start < b->start + b->cap && b->start < a->start + a->cap)))
                return false;
        }
        if (!run_holds(runs, i))
            return false;
        bits |= psc_kv_bit(i);
        reads += a->shared_rows;
        for (uint32_t k = 0; k < a->rows; k++)
            reads += cells->cell[a->start + k].seqs >> i & 1;
    }
    for (uint32_t c = 0; c < cells->n; c++) { /* nobody reads a cell but as its own row or as a shared one */
        used += cells->cell[c].seqs != 0;
        if (cells->cell[c].seqs & ~bits)
            return false;
        for (uint64_t rest = cells->cell[c].seqs; rest; rest &= rest - 1)
            reads--;
    }
    return used == cells->used_n && reads == 0;
}

enum psc_status psc_kv_runs_adopt(struct psc_kv_runs *runs, const struct psc_kv_run run[PSC_KV_SEQS_MAX],
                                  const struct psc_kv_cell *cells, struct psc_error *reterr)
{
    struct psc_kv_runs next = {.cells.n = runs->cells.n};
    size_t bytes = runs->cells.n * sizeof *cells;
    next.cells.cell = psc_alloc(bytes);
    if (!next.cells.cell)
        return psc_fail_nomem(reterr);
    memcpy(next.cells.cell, cells, bytes);
    memcpy(next.run, run, sizeof next.run);
    for (uint32_t c = 0; c < next.cells.n; c++)
        next.cells.used_n += cells[c].seqs != 0;
    if (!psc_kv_runs_check(&next)) {
        psc_kv_cells_release(&next.cells);
        return psc_fail(reterr, PSC_ERR_PARSE, "the table of sequences and cells contradicts itself");
    }
    next.cells.changes = runs->cells.changes + 1;
    psc_kv_cells_release(&runs->cells);
    runs->cells = next.cells;
    memcpy(runs->run, next.run, sizeof runs->run);
    return PSC_OK;
}
