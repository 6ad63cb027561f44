#include "core/plan/kv-cells.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum psc_status psc_kv_cells_init(struct psc_kv_cells *cells, uint32_t n, struct psc_error *reterr)
{
    *cells = (struct psc_kv_cells){0};
    if (n == 0 || n > PSC_KV_CELLS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "a KV cache of %u cells: 1 to %u are possible", n, PSC_KV_CELLS_MAX);
    cells->cell = psc_alloc0(n, sizeof *cells->cell);
    if (!cells->cell)
        return psc_fail_nomem(reterr);
    cells->n = n;
    return PSC_OK;
}

void psc_kv_cells_release(struct psc_kv_cells *cells)
{
    psc_free(cells->cell);
    *cells = (struct psc_kv_cells){0};
}

void psc_kv_cells_clear(struct psc_kv_cells *cells)
{
    if (cells->n)
        memset(cells->cell, 0, cells->n * sizeof *cells->cell);
    cells->used_n = 0;
    cells->changes++;
}

void psc_kv_cells_store(struct psc_kv_cells *cells, uint32_t cell, uint64_t seqs, int32_t position, uint32_t token)
{
    assert(cell < cells->n && seqs);
    cells->used_n += cells->cell[cell].seqs == 0;
    cells->cell[cell] = (struct psc_kv_cell){.seqs = seqs, .position = position, .token = token, .written = true};
    cells->changes++;
}

void psc_kv_cells_add_seq(struct psc_kv_cells *cells, uint32_t cell, uint32_t place)
{
    assert(cell < cells->n && place < PSC_KV_SEQS_MAX);
    cells->used_n += cells->cell[cell].seqs == 0;
    cells->cell[cell].seqs |= UINT64_C(1) << place;
    cells->changes++;
}

void psc_kv_cells_drop_seq(struct psc_kv_cells *cells, uint32_t cell, uint32_t place)
{
    struct psc_kv_cell *c = &cells->cell[cell];
    assert(cell < cells->n && place < PSC_KV_SEQS_MAX);
    if (!(c->seqs >> place & 1))
        return;
    if (c->seqs == UINT64_C(1) << place)
        psc_kv_cells_free(cells, cell);
    else
        c->seqs &= ~(UINT64_C(1) << place);
    cells->changes++;
}

void psc_kv_cells_free(struct psc_kv_cells *cells, uint32_t cell)
{
    struct psc_kv_cell *c = &cells->cell[cell];
    assert(cell < cells->n);
    cells->used_n -= c->seqs != 0;
    *c = (struct psc_kv_cell){.written = c->written};
    cells->changes++;
}

enum psc_status psc_kv_cells_shift(struct psc_kv_cells *cells, uint32_t cell, int32_t delta, struct psc_error *reterr)
{
    struct psc_kv_cell *c = &cells->cell[cell];
    int64_t position = (int64_t)c->position + delta, pending = (int64_t)c->pending + delta;
    assert(cell < cells->n);
    if (position > PSC_KV_POSITION_MAX || position < -PSC_KV_POSITION_MAX || pending > PSC_KV_POSITION_MAX ||
        pending < -PSC_KV_POSITION_MAX || pending + c->rotated > PSC_KV_POSITION_MAX ||
        pending + c->rotated < -PSC_KV_POSITION_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "cell %u at position %d cannot be shifted by %d: positions and rotations "
                        "stay below %d", cell, c->position, delta, PSC_KV_POSITION_MAX);
    c->position = (int32_t)position;
    c->pending = (int32_t)pending;
    cells->changes++;
    return PSC_OK;
}

void psc_kv_cells_move(struct psc_kv_cells *cells, uint32_t from, uint32_t to, uint32_t rows)
{
    if (from == to)
        return;
    memmove(cells->cell + to, cells->cell + from, rows * sizeof *cells->cell);
    for (uint32_t k = from; k < from + rows; k++)
        if (k < to || k >= to + rows)
            cells->cell[k] = (struct psc_kv_cell){.written = cells->cell[k].written};
    cells->changes++;
}

void psc_kv_cells_apply_pending(struct psc_kv_cells *cells)
{
    for (uint32_t i = 0; i < cells->n; i++) {
        cells->cell[i].rotated += cells->cell[i].pending;
        cells->cell[i].pending = 0;
    }
    cells->changes++;
}

void psc_kv_work_release(struct psc_kv_work *work)
{
    psc_free(work->moves);
    *work = (struct psc_kv_work){0};
}

void psc_kv_work_clear(struct psc_kv_work *work)
{
    *work = (struct psc_kv_work){.moves = work->moves, .move_cap = work->move_cap};
}

enum psc_status psc_kv_work_add(struct psc_kv_work *work, uint32_t from, uint32_t to, uint32_t rows,
                                struct psc_error *reterr)
{
    if (!rows || from == to)
        return PSC_OK;
    if (!psc_grow(&work->moves, work->move_n + 1, &work->move_cap, sizeof *work->moves))
        return psc_fail_nomem(reterr);
    work->moves[work->move_n++] = (struct psc_kv_move){from, to, rows};
    return PSC_OK;
}

const char *psc_kv_move_text(const struct psc_kv_move *move, char *buf, size_t size)
{
    if (move->rows == 1)
        snprintf(buf, size, "cell %u to %u", move->from, move->to);
    else
        snprintf(buf, size, "cells %u..%u to %u..%u", move->from, move->from + move->rows, move->to,
                 move->to + move->rows);
    return buf;
}
