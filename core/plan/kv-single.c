#include "core/plan/kv-single.h"

enum psc_status psc_kv_single_init(struct psc_kv_single *kv, uint32_t n_ctx, uint32_t window, struct psc_error *reterr)
{
    *kv = (struct psc_kv_single){.n_ctx = n_ctx, .window = window};
    return psc_kv_cells_init(&kv->cells, window ? window : n_ctx, reterr);
}

void psc_kv_single_release(struct psc_kv_single *kv)
{
    psc_kv_cells_release(&kv->cells);
    *kv = (struct psc_kv_single){0};
}

uint32_t psc_kv_single_cell(const struct psc_kv_single *kv, int32_t position)
{
    int64_t n = kv->cells.n, cell = position;
    if (kv->window)
        return (uint32_t)((cell % n + n) % n);
    return cell >= 0 && cell < n ? (uint32_t)cell : PSC_KV_CELLS_MAX;
}

enum psc_status psc_kv_single_store(struct psc_kv_single *kv, const int32_t *position, const uint32_t *token, uint32_t n,
                                    bool *ret_overrun, struct psc_error *reterr)
{
    for (uint32_t i = 0; i < n; i++)
        if (psc_kv_single_cell(kv, position[i]) == PSC_KV_CELLS_MAX)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "position %d has no cell: n_ctx is %u, positions 0..%u have one",
                            position[i], kv->n_ctx, kv->cells.n - 1);
    for (uint32_t i = 0; i < n; i++)
        psc_kv_cells_store(&kv->cells, psc_kv_single_cell(kv, position[i]), 1, position[i], token[i]);
    *ret_overrun = kv->window && n > kv->window;
    return PSC_OK;
}

static bool inside(const struct psc_kv_cell *c, int32_t p0, int32_t p1)
{
    return c->seqs && c->position >= p0 && c->position < p1;
}

uint32_t psc_kv_single_remove(struct psc_kv_single *kv, int32_t p0, int32_t p1)
{
    uint32_t n = kv->cells.used_n;
    for (uint32_t c = 0; c < kv->cells.n; c++)
        if (inside(&kv->cells.cell[c], p0, p1))
            psc_kv_cells_free(&kv->cells, c);
    return n - kv->cells.used_n;
}

enum psc_status psc_kv_single_shift(struct psc_kv_single *kv, int32_t p0, int32_t p1, int32_t delta,
                                    struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    uint32_t c = 0;
    for (; c < kv->cells.n && !status; c++)
        if (inside(&kv->cells.cell[c], p0, p1)) {
            status = psc_kv_cells_shift(&kv->cells, c, delta, reterr);
            kv->cells.cell[c].seqs |= status ? 0 : 2; /* marks what to undo */
        }
    for (uint32_t k = 0; k < kv->cells.n; k++) {
        struct psc_kv_cell *cell = &kv->cells.cell[k];
        if (status && (cell->seqs & 2)) {
            cell->position -= delta;
            cell->pending -= delta;
        }
        cell->seqs &= 1;
    }
    return status;
}

void psc_kv_single_apply_shift(struct psc_kv_single *kv)
{
    psc_kv_cells_apply_pending(&kv->cells);
}

enum psc_status psc_kv_single_defrag(struct psc_kv_single *kv, struct psc_kv_work *work, struct psc_error *reterr)
{
    uint32_t to = 0;
    if (!psc_grow(&work->moves, work->move_n + kv->cells.used_n, &work->move_cap, sizeof *work->moves))
        return psc_fail_nomem(reterr);
    for (uint32_t c = 0; c < kv->cells.n; c++) {
        if (!kv->cells.cell[c].seqs)
            continue;
        if (c != to) {
            work->moves[work->move_n++] = (struct psc_kv_move){c, to, 1};
            psc_kv_cells_move(&kv->cells, c, to, 1);
        }
        to++;
    }
    return PSC_OK;
}

enum psc_status psc_kv_single_restore(struct psc_kv_single *kv, const int32_t *position, const uint32_t *token, uint32_t n,
                                      uint64_t kv_bytes, uint64_t bytes_present, struct psc_error *reterr)
{
    if (bytes_present < kv_bytes)
        return psc_fail(reterr, PSC_ERR_PARSE, "the state counts %llu bytes of rows and holds %llu: nothing of it is "
                        "restored", (unsigned long long)kv_bytes, (unsigned long long)bytes_present);
    if (n > kv->cells.n)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the state has %u cells, the cache has %u (n_ctx %u)", n, kv->cells.n,
                        kv->n_ctx);
    for (uint32_t c = 0; c < kv->cells.n; c++)
        psc_kv_cells_free(&kv->cells, c);
    for (uint32_t i = 0; i < n; i++)
        psc_kv_cells_store(&kv->cells, i, 1, position[i], token[i]);
    return PSC_OK;
}
