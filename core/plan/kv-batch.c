/* What one forward needs to know of the cells: which to write, which to attend to. */
#include "core/plan/kv-runs-private.h"

static uint64_t seq_of(const struct psc_kv_batch *batch, uint32_t t)
{
    return batch->seq ? batch->seq[t] : 0;
}

/* The place of token t's sequence; `last` is a guess, tokens of one sequence usually stand together. */
static uint32_t place_of(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, uint32_t t, uint32_t last)
{
    uint64_t seq = seq_of(batch, t);
    if (last < PSC_KV_SEQS_MAX && runs->run[last].live && runs->run[last].seq == seq)
        return last;
    return psc_kv_runs_place(runs, seq);
}

static enum psc_status no_run(const struct psc_kv_batch *batch, uint32_t t, struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_USAGE, "token %u belongs to sequence %llu, which has no cells in the KV cache", t,
                    (unsigned long long)seq_of(batch, t));
}

enum psc_status psc_kv_runs_reserve_implicit(struct psc_kv_runs *runs, const struct psc_kv_batch *batch,
                                             struct psc_error *reterr)
{
    if (!batch->token_n || psc_kv_runs_find(runs, seq_of(batch, 0)))
        return PSC_OK;
    for (uint32_t t = 1; t < batch->token_n; t++)
        if (seq_of(batch, t) != seq_of(batch, 0))
            return psc_fail(reterr, PSC_ERR_USAGE, "a batch of several sequences needs a run for each: sequence %llu has "
                            "none", (unsigned long long)seq_of(batch, 0));
    return psc_kv_runs_reserve(runs, seq_of(batch, 0), runs->cells.n, reterr);
}

/* Where token t writes. */
static enum psc_status cell_of(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, uint32_t t,
                               uint32_t place, uint32_t *ret, struct psc_error *reterr)
{
    const struct psc_kv_run *run = &runs->run[place];
    int64_t row = (int64_t)batch->position[t] - run->shared_rows;
    unsigned long long seq = run->seq;
    uint64_t others;
    if (batch->position[t] < 0)
        return psc_fail(reterr, PSC_ERR_USAGE, "token %u of sequence %llu stands at position %d: positions begin at 0", t,
                        seq, batch->position[t]);
    if (row < 0)
        return psc_fail(reterr, PSC_ERR_USAGE, "token %u stands at position %d of sequence %llu, inside its shared prefix "
                        "of %u rows: they must become private before they are written", t, batch->position[t], seq,
                        run->shared_rows);
    if (row >= run->cap)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "token %u stands at position %d of sequence %llu, whose run has cells for "
                        "positions below %u (n_ctx %u)", t, batch->position[t], seq, run->shared_rows + run->cap,
                        runs->cells.n);
    *ret = run->start + (uint32_t)row;
    others = runs->cells.cell[*ret].seqs & ~psc_kv_bit(place);
    for (uint32_t other = 0; others; other++, others >>= 1)
        if (others & 1)
            return psc_fail(reterr, PSC_ERR_USAGE, "token %u would write position %d of sequence %llu into cell %u, which "
                            "sequence %llu reads as its shared prefix", t, batch->position[t], seq, *ret,
                            (unsigned long long)runs->run[other].seq);
    return PSC_OK;
}

enum psc_status psc_kv_runs_cells(struct psc_kv_runs *runs, const struct psc_kv_batch *batch, int32_t *ret,
                                  struct psc_error *reterr)
{
    uint32_t place = PSC_KV_SEQS_MAX, cell = 0;
    uint64_t stamp = ++runs->forwards;
    for (uint32_t t = 0; t < batch->token_n; t++) {
        enum psc_status status;
        place = place_of(runs, batch, t, place);
        if (place == PSC_KV_SEQS_MAX)
            return no_run(batch, t, reterr);
        status = cell_of(runs, batch, t, place, &cell, reterr);
        if (status)
            return status;
        if (runs->stamp[cell] == stamp)
            return psc_fail(reterr, PSC_ERR_USAGE, "two tokens of one batch stand at position %d of sequence %llu; the "
                            "second is token %u", batch->position[t], (unsigned long long)seq_of(batch, t), t);
        runs->stamp[cell] = stamp;
        ret[t] = (int32_t)cell;
    }
    return PSC_OK;
}

void psc_kv_runs_own(struct psc_kv_runs *runs, const struct psc_kv_batch *batch, const int32_t *cells)
{
    uint32_t place = PSC_KV_SEQS_MAX;
    for (uint32_t t = 0; t < batch->token_n; t++) {
        place = place_of(runs, batch, t, place);
        struct psc_kv_run *run = &runs->run[place];
        uint32_t row = (uint32_t)cells[t] - run->start;
        psc_kv_cells_store(&runs->cells, (uint32_t)cells[t], psc_kv_bit(place), batch->position[t],
                           batch->token ? (uint32_t)batch->token[t] : 0);
        run->rows = row + 1 > run->rows ? row + 1 : run->rows;
    }
}

/* The place of token t's sequence, and the rows of its own run up to and with its own position (0: all it attends to
 * is shared). Its own row must be written. */
static enum psc_status window_of(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, uint32_t t,
                                 uint32_t *place, uint32_t *ret_own, struct psc_error *reterr)
{
    *place = place_of(runs, batch, t, *place);
    if (*place == PSC_KV_SEQS_MAX)
        return no_run(batch, t, reterr);
    const struct psc_kv_run *run = &runs->run[*place];
    int64_t position = batch->position[t], own = position + 1 - run->shared_rows;
    if (position < 0 || own > run->rows ||
        (own > 0 && !(runs->cells.cell[run->start + (uint32_t)own - 1].seqs & psc_kv_bit(*place))))
        return psc_fail(reterr, PSC_ERR_USAGE, "token %u attends from position %d of sequence %llu, whose row was never "
                        "written", t, batch->position[t], (unsigned long long)run->seq);
    *ret_own = own > 0 ? (uint32_t)own : 0;
    return PSC_OK;
}

enum psc_status psc_kv_runs_spans(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, int32_t *ret,
                                  struct psc_error *reterr)
{
    uint32_t place = PSC_KV_SEQS_MAX, own = 0;
    for (uint32_t t = 0; t < batch->token_n; t++) {
        enum psc_status status = window_of(runs, batch, t, &place, &own, reterr);
        if (status)
            return status;
        const struct psc_kv_run *run = &runs->run[place];
        if (run->shared_rows)
            return psc_fail(reterr, PSC_ERR_USAGE, "sequence %llu lies in two runs of cells (%u rows are shared): one span "
                            "cannot say what it attends to", (unsigned long long)run->seq, run->shared_rows);
        ret[t] = (int32_t)run->start;
        ret[batch->token_n + t] = (int32_t)(run->start + own);
    }
    return PSC_OK;
}

enum psc_status psc_kv_runs_map(const struct psc_kv_runs *runs, const struct psc_kv_batch *batch, uint32_t run_max,
                                int32_t *ret, struct psc_error *reterr)
{
    uint32_t place = PSC_KV_SEQS_MAX, own = 0;
    for (uint32_t t = 0; t < batch->token_n; t++) {
        enum psc_status status = window_of(runs, batch, t, &place, &own, reterr);
        int32_t *row = ret + (size_t)t * run_max * 2;
        if (status)
            return status;
        const struct psc_kv_run *run = &runs->run[place];
        uint32_t shared = own ? run->shared_rows : (uint32_t)batch->position[t] + 1, n = 0;
        struct { uint32_t cell, len; } part[2];
        if (shared) {
            part[n].cell = run->shared_cell;
            part[n++].len = shared;
        }
        if (own && shared && run->shared_cell + shared == run->start) {
            part[0].len += own; /* the run happens to begin where the prefix ends */
        } else if (own) {
            part[n].cell = run->start;
            part[n++].len = own;
        }
        if (n > run_max)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "token %u of sequence %llu attends to %u runs of cells, the map has "
                            "room for %u", t, (unsigned long long)run->seq, n, run_max);
        for (uint32_t r = 0; r < run_max; r++) {
            row[2 * r] = r < n ? (int32_t)part[r].cell : 0;
            row[2 * r + 1] = r < n ? (int32_t)part[r].len : 0;
        }
    }
    return PSC_OK;
}

enum psc_status psc_kv_check_cells(const int32_t *cells, uint32_t token_n, uint32_t n_ctx, struct psc_error *reterr)
{
    for (uint32_t t = 0; t < token_n; t++)
        if (cells[t] < 0 || (uint32_t)cells[t] >= n_ctx)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "token %u would write cell %d, the KV cache has %u (n_ctx)", t,
                            cells[t], n_ctx);
    return PSC_OK;
}

enum psc_status psc_kv_check_spans(const int32_t *spans, uint32_t token_n, uint32_t n_ctx, struct psc_error *reterr)
{
    bool filled = token_n == 0;
    for (uint32_t t = 0; t < token_n; t++) {
        int32_t lo = spans[t], hi = spans[token_n + t];
        if (lo < 0 || hi < lo || (uint32_t)hi > n_ctx)
            return psc_fail(reterr, PSC_ERR_USAGE, "token %u attends to cells %d..%d: spans rise and end inside the KV "
                            "cache of %u cells (n_ctx)", t, lo, hi, n_ctx);
        filled |= lo || hi;
    }
    return filled ? PSC_OK : psc_fail(reterr, PSC_ERR_USAGE, "attn_span was never filled: all of it is zero");
}

enum psc_status psc_kv_check_map(const int32_t *map, uint32_t token_n, uint32_t run_max, uint32_t n_ctx,
                                 struct psc_error *reterr)
{
    bool filled = token_n == 0;
    for (size_t i = 0; i < (size_t)token_n * run_max; i++) {
        int32_t cell = map[2 * i], len = map[2 * i + 1];
        if (cell < 0 || len < 0 || (uint32_t)cell > n_ctx || (uint32_t)len > n_ctx - (uint32_t)cell)
            return psc_fail(reterr, PSC_ERR_USAGE, "token %u attends to %d cells from cell %d, the KV cache has %u (n_ctx)",
                            (unsigned)(i / run_max), len, cell, n_ctx);
        filled |= len != 0;
    }
    return filled ? PSC_OK : psc_fail(reterr, PSC_ERR_USAGE, "kv_map was never filled: all of it is zero");
}
