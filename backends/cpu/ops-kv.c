/* kvcache_store and kvcache_load, and how rows of a region are written. */
#include "backends/cpu/exec.h"

#include <inttypes.h>

enum psc_status psc_cpu_need_kv(const struct psc_call *call, uint64_t width, struct psc_error *reterr)
{
    const struct psc_kv_pair *kv = &call->kv;
    uint32_t words = 0;
    struct psc_error why = {0};
    if (!kv->k || !kv->v || !kv->rows)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it was given no K and V regions");
    if (width && kv->width != width)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "its rows have %" PRIu64 " values, those of the layer's regions %" PRIu64, width,
                              kv->width);
    if (kv->width > PSC_KV_WIDTH_MAX || psc_kv_row_words(kv->format, (uint32_t)kv->width, &words, &why))
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "%s",
                              why.text[0] ? why.text : "the rows of its regions are too wide");
    if (kv->row_bytes < (uint64_t)words * 4 || kv->row_bytes % 4)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "a row of %s needs %u bytes, whole words, and the region gives it %" PRIu64,
                              psc_kv_format_name(kv->format), words * 4, kv->row_bytes);
    return PSC_OK;
}

enum psc_status psc_cpu_check_cells(const struct psc_call *call, const int32_t *cells, uint64_t tokens,
                                    struct psc_error *reterr)
{
    for (uint64_t t = 0; t < tokens; t++)
        if (cells[t] < 0 || (uint64_t)cells[t] >= call->kv.rows)
            return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE,
                                  "position %d of token %" PRIu64 ", and n_ctx is %" PRIu64
                                  ": row %d would lie %s its region of %" PRIu64 " bytes",
                                  (int)cells[t], t, call->kv.rows, (int)cells[t], cells[t] < 0 ? "before" : "behind",
                                  call->kv.rows * call->kv.row_bytes);
    return PSC_OK;
}

/* What was computed before, and the row before, may lie over the cells that follow. */
void psc_cpu_store_rows(const struct psc_cpu_run *run, psc_address region, const float *x, uint64_t x_stride,
                        const int32_t *cells, uint64_t tokens)
{
    const struct psc_kv_pair *kv = &run->call->kv;
    for (uint64_t t = 0; t < tokens; t++) {
        int32_t cell = cells[t];
        if (psc_cpu_within(run, cell, 1, kv->rows, t))
            psc_kv_row_encode(kv->format, (uint32_t)kv->width, x + t * x_stride,
                              (char *)(uintptr_t)region + (uint64_t)cell * kv->row_bytes);
    }
}

static enum psc_status check_store(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = psc_cpu_need_operands(call, 3, reterr);
    for (uint32_t k = 0; k < 2 && status == PSC_OK; k++)
        status = psc_cpu_need_numbers(call, k, reterr);
    if (status)
        return status;
    uint64_t tokens = psc_cpu_rows(&call->in[0]);
    if (call->in[0].bytes != call->in[1].bytes)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "k has %" PRIu64 " elements, v %" PRIu64,
                              psc_cpu_elements(&call->in[0]), psc_cpu_elements(&call->in[1]));
    status = psc_cpu_need_words(call, 2, tokens, reterr);
    return status ? status : psc_cpu_need_kv(call, call->in[0].shape[0], reterr);
}

static enum psc_status check_store_cells(const struct psc_cpu_run *run, struct psc_error *reterr)
{
    return psc_cpu_check_cells(run->call, psc_cpu_words(&run->call->in[2]), psc_cpu_rows(&run->call->in[0]), reterr);
}

static void run_store(const struct psc_cpu_run *run)
{
    uint64_t width = run->in[0].shape[0], tokens = psc_cpu_rows(&run->in[0]);
    const int32_t *cells = psc_cpu_words(&run->in[2]);
    psc_cpu_store_rows(run, run->call->kv.k, psc_cpu_floats(&run->in[0]), width, cells, tokens);
    psc_cpu_store_rows(run, run->call->kv.v, psc_cpu_floats(&run->in[1]), width, cells, tokens);
}

static void run_nothing(const struct psc_cpu_run *run)
{
    (void)run;
}

const struct psc_cpu_op psc_cpu_store = {check_store, check_store_cells, run_store};
const struct psc_cpu_op psc_cpu_load = {NULL, NULL, run_nothing};
