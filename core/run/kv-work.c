#include "core/run/kv-work.h"

#include "core/base/mem.h"
#include "core/run/session-state.h"

static psc_address region_at(const struct psc_session *s, const struct psc_kv_region *region, unsigned slot)
{
    return s->pools[region->pool].slots[slot ? region->v : region->k].b.at;
}

static enum psc_status check_range(const struct psc_kv_region *region, const char *what, uint32_t cell, uint32_t rows,
                                   struct psc_error *reterr)
{
    if (cell > region->rows || rows > region->rows - cell)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s cells %u..%llu of layer %d, which has %llu rows", what, cell,
                        (unsigned long long)cell + rows, region->layer, (unsigned long long)region->rows);
    return PSC_OK;
}

static enum psc_status check(const struct psc_session *s, const struct psc_kv_work *work, const struct psc_kv_rope *rope,
                             struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < s->region_n && !status; i++) {
        const struct psc_kv_region *region = &s->regions[i];
        status = psc_pool_present(&s->pools[region->pool], region_at(s, region, 0), reterr);
        if (!status)
            status = psc_pool_present(&s->pools[region->pool], region_at(s, region, 1), reterr);
        for (size_t m = 0; m < work->move_n && !status; m++) {
            status = check_range(region, "moving from", work->moves[m].from, work->moves[m].rows, reterr);
            if (!status)
                status = check_range(region, "moving to", work->moves[m].to, work->moves[m].rows, reterr);
        }
        if (!status)
            status = check_range(region, "turning", work->rotate_cell, work->rotate_rows, reterr);
        if (!status)
            status = check_range(region, "zeroing", work->zero_cell, work->zero_rows, reterr);
        if (status || !work->rotate_rows)
            continue;
        if (region->format == PSC_KV_F16)
            return psc_fail(reterr, PSC_ERR_USAGE, "K rows of layer %d are f16: they do not turn", region->layer);
        if (!rope || !rope->hd || rope->hd % 2 || region->width % rope->hd)
            return psc_fail(reterr, PSC_ERR_USAGE, "K rows of layer %d have %llu values: it is not known how they turn",
                            region->layer, (unsigned long long)region->width);
    }
    return status;
}

static enum psc_status move_rows(struct psc_session *s, const struct psc_kv_region *region, const struct psc_kv_work *work,
                                 struct psc_error *reterr)
{
    struct psc_pool *pool = &s->pools[region->pool];
    enum psc_status status = PSC_OK;
    for (unsigned slot = 0; slot < 2 && !status; slot++)
        for (size_t m = 0; m < work->move_n && !status; m++) {
            const struct psc_kv_move *move = &work->moves[m];
            psc_address at = region_at(s, region, slot);
            status = pool->api->move(pool->backend, at + move->to * region->row_bytes, at + move->from * region->row_bytes,
                                     move->rows * region->row_bytes, reterr);
        }
    return status ? status : pool->api->synchronise(pool->backend, reterr);
}

static enum psc_status turn_rows(struct psc_session *s, const struct psc_kv_region *region, const struct psc_kv_work *work,
                                 const struct psc_kv_rope *rope, struct psc_error *reterr)
{
    struct psc_pool *pool = &s->pools[region->pool];
    psc_address at = region_at(s, region, 0) + work->rotate_cell * region->row_bytes;
    uint64_t bytes = work->rotate_rows * region->row_bytes;
    void *rows = psc_alloc((size_t)bytes);
    float *scratch = psc_alloc(((size_t)region->width + rope->hd) * sizeof *scratch);
    enum psc_status status = rows && scratch ? PSC_OK : psc_fail_nomem(reterr);
    if (!status)
        status = pool->api->read(pool->backend, at, rows, bytes, reterr);
    if (!status)
        status = psc_kv_rows_rotate(region->format, (uint32_t)region->width, rope, work->rotate_delta, rows, work->rotate_rows,
                                    scratch, reterr);
    if (!status)
        status = pool->api->write(pool->backend, at, rows, bytes, reterr);
    psc_free(rows);
    psc_free(scratch);
    return status;
}

static enum psc_status zero_rows(struct psc_session *s, const struct psc_kv_region *region, const struct psc_kv_work *work,
                                 struct psc_error *reterr)
{
    struct psc_pool *pool = &s->pools[region->pool];
    enum psc_status status = PSC_OK;
    for (unsigned slot = 0; slot < 2 && !status; slot++)
        status = pool->api->fill(pool->backend, region_at(s, region, slot) + work->zero_cell * region->row_bytes, 0,
                                 work->zero_rows * region->row_bytes, reterr);
    return status;
}

enum psc_status psc_session_do_kv_work(struct psc_session *s, const struct psc_kv_work *work, const struct psc_kv_rope *rope,
                                       struct psc_error *reterr)
{
    enum psc_status status = check(s, work, rope, reterr);
    for (size_t i = 0; i < s->region_n && !status; i++) {
        const struct psc_kv_region *region = &s->regions[i];
        if (work->move_n)
            status = move_rows(s, region, work, reterr);
        if (!status && work->rotate_rows && work->rotate_delta)
            status = turn_rows(s, region, work, rope, reterr);
        if (!status && work->zero_rows)
            status = zero_rows(s, region, work, reterr);
    }
    return status;
}
