/* Rows that leave, are copied or are shared: what changes the length of a sequence besides a forward. */
#include "core/plan/kv-runs-private.h"

enum psc_status psc_kv_runs_remove(struct psc_kv_runs *runs, uint64_t seq, uint32_t first, uint32_t n,
                                   enum psc_kv_format format, struct psc_kv_work *work, struct psc_error *reterr)
{
    uint32_t place, rest;
    enum psc_status status = psc_kv_runs_need(runs, seq, &place, reterr);
    if (status)
        return status;
    struct psc_kv_run *run = &runs->run[place];
    if (psc_kv_runs_live_n(runs) > 1 || run->shared_rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "positions of sequence %llu cannot be removed: %s",
                        (unsigned long long)seq, run->shared_rows ? "it reads a shared prefix"
                        : "other sequences lie in the KV cache, too");
    n = first >= run->rows ? 0 : n > run->rows - first ? run->rows - first : n;
    if (!n)
        return PSC_OK;
    rest = run->rows - first - n;
    if (rest && format == PSC_KV_F16)
        return psc_fail(reterr, PSC_ERR_USAGE, "positions %u..%u of sequence %llu cannot be removed from an f16 cache: "
                        "the K rows behind them would have to turn, which f16 rows do not do", first, first + n,
                        (unsigned long long)seq);
    status = psc_kv_work_reserve(work, 1, reterr);
    if (status)
        return status;
    for (uint32_t k = first + n; k < run->rows && !status; k++) /* cannot fail: a row moves down by its position at most */
        if (runs->cells.cell[run->start + k].seqs)
            status = psc_kv_cells_shift(&runs->cells, run->start + k, -(int32_t)n, reterr);
    if (status)
        return status;
    for (uint32_t k = 0; k < n; k++)
        psc_kv_cells_free(&runs->cells, run->start + first + k);
    psc_kv_cells_move(&runs->cells, run->start + first + n, run->start + first, rest);
    for (uint32_t k = run->rows - n; k < run->rows; k++)
        runs->cells.cell[run->start + k] = (struct psc_kv_cell){0};
    psc_kv_work_push(work, run->start + first + n, run->start + first, rest);
    work->rotate_cell = run->start + first;
    work->rotate_rows = rest;
    work->rotate_delta = -(int32_t)n;
    work->zero_cell = run->start + run->rows - n;
    work->zero_rows = n;
    run->rows -= n;
    return PSC_OK;
}

enum psc_status psc_kv_runs_shift(struct psc_kv_runs *runs, uint64_t seq, uint32_t n, enum psc_kv_format format,
                                  struct psc_kv_work *work, struct psc_error *reterr)
{
    return psc_kv_runs_remove(runs, seq, 0, n, format, work, reterr);
}

void psc_kv_runs_rotated(struct psc_kv_runs *runs)
{
    psc_kv_cells_apply_pending(&runs->cells);
}

/* The first n positions of the sequence as one run of written cells. */
static enum psc_status prefix_of(const struct psc_kv_runs *runs, uint32_t place, uint32_t n, uint32_t *ret_cell,
                                 struct psc_error *reterr)
{
    const struct psc_kv_run *run = &runs->run[place];
    unsigned long long seq = run->seq;
    uint32_t cell = run->shared_rows ? run->shared_cell : run->start;
    if (n == 0 || n > run->shared_rows + run->rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "a prefix of %u rows of sequence %llu: it holds %u", n, seq,
                        run->shared_rows + run->rows);
    if (run->shared_rows && n > run->shared_rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "the first %u rows of sequence %llu do not lie in one run: %u are shared, "
                        "the others are its own", n, seq, run->shared_rows);
    for (uint32_t k = 0; k < n; k++)
        if (!(runs->cells.cell[cell + k].seqs & psc_kv_bit(place)))
            return psc_fail(reterr, PSC_ERR_USAGE, "position %u of sequence %llu was never written", k, seq);
    *ret_cell = cell;
    return PSC_OK;
}

static enum psc_status both(const struct psc_kv_runs *runs, uint64_t dst, uint64_t src, uint32_t *ret_dst,
                            uint32_t *ret_src, struct psc_error *reterr)
{
    enum psc_status status = psc_kv_runs_need(runs, dst, ret_dst, reterr);
    if (!status)
        status = psc_kv_runs_need(runs, src, ret_src, reterr);
    if (!status && dst == src)
        return psc_fail(reterr, PSC_ERR_USAGE, "sequence %llu cannot take a prefix from itself", (unsigned long long)dst);
    return status;
}

enum psc_status psc_kv_runs_copy_prefix(struct psc_kv_runs *runs, uint64_t dst, uint64_t src, uint32_t n,
                                        struct psc_kv_work *work, struct psc_error *reterr)
{
    uint32_t to, from, cell;
    enum psc_status status = both(runs, dst, src, &to, &from, reterr);
    if (status)
        return status;
    struct psc_kv_run *run = &runs->run[to];
    if (runs->run[from].shared_rows || run->shared_rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "sequence %llu reads a shared prefix: its rows cannot be %s",
                        (unsigned long long)(run->shared_rows ? dst : src), run->shared_rows ? "copied over" : "copied");
    status = prefix_of(runs, from, n, &cell, reterr);
    if (status)
        return status;
    if (n > run->cap)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "a prefix of %u rows does not fit the run of %u cells of sequence %llu",
                        n, run->cap, (unsigned long long)dst);
    for (uint32_t k = 0; k < n; k++)
        if (runs->cells.cell[run->start + k].seqs & ~psc_kv_bit(to))
            return psc_fail(reterr, PSC_ERR_USAGE, "position %u of sequence %llu lies in cell %u, which another sequence "
                            "reads: it cannot be copied over", k, (unsigned long long)dst, run->start + k);
    status = psc_kv_work_reserve(work, 1, reterr);
    if (status)
        return status;
    for (uint32_t k = 0; k < n; k++) {
        struct psc_kv_cell *c = &runs->cells.cell[run->start + k];
        runs->cells.used_n += c->seqs == 0;
        *c = runs->cells.cell[cell + k];
        c->seqs = psc_kv_bit(to);
    }
    runs->cells.changes++;
    psc_kv_work_push(work, cell, run->start, n);
    run->rows = n > run->rows ? n : run->rows;
    return PSC_OK;
}

enum psc_status psc_kv_runs_share_prefix(struct psc_kv_runs *runs, uint64_t dst, uint64_t src, uint32_t n,
                                         struct psc_error *reterr)
{
    uint32_t to, from, cell;
    enum psc_status status = both(runs, dst, src, &to, &from, reterr);
    if (status)
        return status;
    struct psc_kv_run *run = &runs->run[to];
    if (run->shared_rows || run->rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "sequence %llu cannot share a prefix: it %s", (unsigned long long)dst,
                        run->shared_rows ? "shares one already" : "has rows of its own");
    status = prefix_of(runs, from, n, &cell, reterr);
    if (status)
        return status;
    for (uint32_t k = 0; k < n; k++)
        psc_kv_cells_add_seq(&runs->cells, cell + k, to);
    run->shared_cell = cell;
    run->shared_rows = n;
    return PSC_OK;
}

static enum psc_status has_room(const struct psc_kv_run *run, uint32_t position, struct psc_error *reterr)
{
    uint32_t more = run->shared_rows - position;
    if (more > run->cap - run->rows)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "position %u of sequence %llu lies in its shared prefix of %u rows; %u "
                        "private rows do not fit its run of %u cells, of which %u are in use", position,
                        (unsigned long long)run->seq, run->shared_rows, more, run->cap, run->rows);
    return PSC_OK;
}

/* Own rows up, then copies of the donor's rows below them: the first move never writes over what the second reads,
 * because shared cells lie outside the run. */
static void make_private(struct psc_kv_runs *runs, uint32_t place, uint32_t position, struct psc_kv_work *work)
{
    struct psc_kv_run *run = &runs->run[place];
    uint32_t more = run->shared_rows - position, from = run->shared_cell + position;
    psc_kv_work_push(work, run->start, run->start + more, run->rows);
    psc_kv_work_push(work, from, run->start, more);
    psc_kv_cells_move(&runs->cells, run->start, run->start + more, run->rows);
    for (uint32_t k = 0; k < more; k++) {
        struct psc_kv_cell *c = &runs->cells.cell[run->start + k];
        *c = runs->cells.cell[from + k];
        c->seqs = psc_kv_bit(place);
        runs->cells.used_n++;
        psc_kv_cells_drop_seq(&runs->cells, from + k, place);
    }
    run->rows += more;
    run->shared_rows = position;
    run->shared_cell = position ? run->shared_cell : 0;
}

enum psc_status psc_kv_runs_private_row(struct psc_kv_runs *runs, uint64_t seq, uint32_t position,
                                        struct psc_kv_work *work, struct psc_error *reterr)
{
    uint32_t place;
    enum psc_status status = psc_kv_runs_need(runs, seq, &place, reterr);
    if (status || position >= runs->run[place].shared_rows)
        return status;
    status = has_room(&runs->run[place], position, reterr);
    if (!status)
        status = psc_kv_work_reserve(work, 2, reterr);
    if (!status)
        make_private(runs, place, position, work);
    return status;
}

enum psc_status psc_kv_runs_unshare(struct psc_kv_runs *runs, const struct psc_kv_batch *batch,
                                    struct psc_kv_work *work, struct psc_error *reterr)
{
    uint32_t lowest[PSC_KV_SEQS_MAX];
    size_t n = 0;
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++)
        lowest[i] = runs->run[i].shared_rows;
    for (uint32_t t = 0; t < batch->token_n; t++) {
        uint32_t place = psc_kv_runs_place(runs, batch->seq ? batch->seq[t] : 0);
        if (place < PSC_KV_SEQS_MAX && batch->position[t] >= 0 && (uint32_t)batch->position[t] < lowest[place])
            lowest[place] = (uint32_t)batch->position[t];
    }
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX && !status; i++)
        if (lowest[i] < runs->run[i].shared_rows) {
            status = has_room(&runs->run[i], lowest[i], reterr);
            n += 2;
        }
    if (!status && n)
        status = psc_kv_work_reserve(work, n, reterr);
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX && !status; i++)
        if (lowest[i] < runs->run[i].shared_rows)
            make_private(runs, i, lowest[i], work);
    return status;
}
