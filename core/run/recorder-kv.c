/* Hashes of KV rows: taken when rows are written, compared whenever attention reads them.
 *
 *     prefill writes rows 0..8       runs  [0,9)
 *     step 1 writes row 9            runs  [0,9) [9,10)            reads [0,10): both runs are hashed and compared
 *     step 2 writes row 10           runs  [0,9) [9,10) [10,11)    then [9,10) and [10,11) become [9,11)
 *
 * Two runs of about one size that lie side by side are joined at a read, so that a region is a few runs and each read costs
 * one hash of its window, and now and then one more of a part of it. Rows written anew fall out of their run.
 */
#include "core/run/recorder-private.h"

#include "core/base/mem.h"

#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------------------------ */

static struct psc_kv_half *half_of(struct psc_recorder *r, int32_t layer, unsigned half)
{
    size_t index = 2 * (size_t)(layer < 0 ? 0 : layer) + half;
    size_t before = r->half_n;
    if (index >= r->half_n) {
        if (!psc_grow(&r->halves, index + 1, &r->half_cap, sizeof *r->halves))
            return NULL;
        memset(r->halves + before, 0, (index + 1 - before) * sizeof *r->halves);
        r->half_n = index + 1;
    }
    return &r->halves[index];
}

static void remove_run(struct psc_kv_half *half, size_t at)
{
    memmove(&half->runs[at], &half->runs[at + 1], (half->n - at - 1) * sizeof *half->runs);
    half->n--;
}

/* Rows [lo, hi) are no longer what a run says of them. */
static void forget_rows(struct psc_kv_half *half, uint32_t lo, uint32_t hi)
{
    for (size_t i = half->n; i-- > 0;)
        if (half->runs[i].lo < hi && half->runs[i].hi > lo)
            remove_run(half, i);
}

static bool insert_run(struct psc_kv_half *half, struct psc_kv_hashed run)
{
    if (!psc_grow(&half->runs, half->n + 1, &half->cap, sizeof *half->runs))
        return false;
    size_t at = half->n++;
    for (; at && half->runs[at - 1].lo > run.lo; at--)
        half->runs[at] = half->runs[at - 1];
    half->runs[at] = run;
    return true;
}

static enum psc_status hash_rows(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                 const struct psc_kv_pair *kv, unsigned half, uint32_t lo, uint32_t hi, uint64_t **ret,
                                 struct psc_error *reterr)
{
    struct psc_probe probe = {PSC_PROBE_HASH, (half ? kv->v : kv->k) + lo * kv->row_bytes, (hi - lo) * kv->row_bytes, PSC_F32,
                              NULL};
    probe.ret = *ret = psc_arena_alloc(&r->content_arena, 1, sizeof **ret);
    return *ret ? api->probe(b, &probe, reterr) : psc_fail_nomem(reterr);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static enum psc_status note_write(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                  const struct psc_call *call, const struct psc_kv_rows *rows, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (unsigned h = 0; status == PSC_OK && h < 2; h++) {
        struct psc_kv_half *half = half_of(r, rows->layer, h);
        struct psc_kv_hashed run = {.lo = rows->lo, .hi = rows->hi};
        if (!half)
            return psc_fail_nomem(reterr);
        forget_rows(half, run.lo, run.hi);
        status = hash_rows(r, api, b, &call->kv, h, run.lo, run.hi, &run.pending, reterr);
        if (status == PSC_OK && !insert_run(half, run))
            status = psc_fail_nomem(reterr);
        if (status == PSC_OK && r->options.hashed) {
            if (!psc_grow(&r->stored, r->stored_n + 1, &r->stored_cap, sizeof *r->stored))
                return psc_fail_nomem(reterr);
            r->stored[r->stored_n++] = (struct psc_kv_noted){call->node, run.pending};
        }
        half->writer = call->node;
    }
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static uint32_t kv_operand(const struct psc_graph *graph, psc_node i)
{
    for (uint32_t k = 0; k < graph->nodes[i].src_n; k++)
        if (psc_op_info(graph->nodes[psc_node_srcs(graph, i)[k]].op)->is_kv)
            return k;
    return graph->nodes[i].src_n;
}

static enum psc_status compare_run(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                   const struct psc_call *call, unsigned h, const struct psc_kv_half *half,
                                   const struct psc_kv_hashed *run, struct psc_error *reterr)
{
    struct psc_kv_compared c = {.reader = call->node, .operand = kv_operand(r->phase.graph, call->node),
                                .writer = half->writer, .expected = run->hash, .pending = run->pending};
    enum psc_status status = hash_rows(r, api, b, &call->kv, h, run->lo, run->hi, &c.found, reterr);
    if (status != PSC_OK)
        return status;
    if (!psc_grow(&r->compared, r->compared_n + 1, &r->compared_cap, sizeof *r->compared))
        return psc_fail_nomem(reterr);
    r->compared[r->compared_n++] = c;
    return PSC_OK;
}

/* Runs side by side inside [lo, hi), the later one at least as long as the one before it, become one. */
static enum psc_status join_runs(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                 const struct psc_call *call, unsigned h, struct psc_kv_half *half, uint32_t lo, uint32_t hi,
                                 struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (size_t i = half->n; status == PSC_OK && i-- > 1;) {
        struct psc_kv_hashed *x = &half->runs[i - 1], *y = &half->runs[i];
        if (x->hi != y->lo || x->lo < lo || y->hi > hi || y->hi - y->lo < x->hi - x->lo)
            continue;
        x->hi = y->hi;
        remove_run(half, i);
        status = hash_rows(r, api, b, &call->kv, h, x->lo, x->hi, &x->pending, reterr);
    }
    return status;
}

static enum psc_status note_read(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                 const struct psc_call *call, const struct psc_kv_rows *rows, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (unsigned h = 0; status == PSC_OK && h < 2; h++) {
        struct psc_kv_half *half = half_of(r, rows->layer, h);
        if (!half)
            return psc_fail_nomem(reterr);
        for (size_t i = 0; status == PSC_OK && i < half->n; i++)
            if (half->runs[i].lo >= rows->lo && half->runs[i].hi <= rows->hi)
                status = compare_run(r, api, b, call, h, half, &half->runs[i], reterr);
        if (status == PSC_OK)
            status = join_runs(r, api, b, call, h, half, rows->lo, rows->hi, reterr);
    }
    return status;
}

/* What the launch wrapper said of this node's rows stands at the end of the list. */
enum psc_status psc_rec_kv(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                           const struct psc_call *call, bool after, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    size_t i = r->row_n;
    if (!r->options.hashes || !call->kv.k)
        return PSC_OK;
    while (i && r->rows[i - 1].node == call->node)
        i--;
    for (; status == PSC_OK && i < r->row_n; i++) {
        const struct psc_kv_rows *rows = &r->rows[i];
        if (rows->is_write != after || rows->hi > call->kv.rows || rows->lo >= rows->hi)
            continue;
        status = (after ? note_write : note_read)(r, api, b, call, rows, reterr);
    }
    return status;
}

/* ---- the end of a step -------------------------------------------------------------------------------------------- */

/* Hashes that were on their way are there. Appends what differs to breaks (NULL: counts). */
uint32_t psc_rec_kv_breaks(const struct psc_recorder *r, struct psc_hash_break *to)
{
    uint32_t n = 0;
    for (size_t i = 0; i < r->compared_n; i++) {
        const struct psc_kv_compared *c = &r->compared[i];
        uint64_t expected = c->pending ? *c->pending : c->expected;
        if (*c->found == expected)
            continue;
        if (to)
            to[n] = (struct psc_hash_break){c->reader, c->writer < r->phase.graph->n ? c->writer : c->reader, c->operand,
                                            expected, *c->found};
        n++;
    }
    return n;
}

/* failed: nobody knows which hashes have taken effect. */
void psc_rec_kv_settle(struct psc_recorder *r, bool failed)
{
    r->compared_n = r->stored_n = 0;
    for (size_t i = 0; i < r->half_n; i++) {
        struct psc_kv_half *half = &r->halves[i];
        for (size_t k = half->n; k-- > 0;) {
            struct psc_kv_hashed *run = &half->runs[k];
            if (!run->pending)
                continue;
            if (failed)
                remove_run(half, k);
            else
                run->hash = *run->pending;
            if (!failed)
                run->pending = NULL;
        }
    }
}

void psc_rec_kv_release(struct psc_recorder *r)
{
    for (size_t i = 0; i < r->half_n; i++)
        psc_free(r->halves[i].runs);
    psc_free(r->halves);
    psc_free(r->compared);
    psc_free(r->stored);
}
