/* attn: every head of every token weighs the V rows of its own window by how well their K rows match.
 *
 *     positions [nt]          window of token t: rows 0 .. positions[t]
 *     attn_span [2 nt]        rows lo .. hi - 1, lo at word t and hi at word nt + t
 *     kv_map [8 nt]           4 runs a token, words (cell, length) each; runs of length 0 are padding
 *
 * The windows are operand 3 when it is there (told apart by its length), else operand 2. An all-zero span or map was never
 * filled: an error. A window without rows gives zeros.
 *
 * A head's sums run over its own window only, in the order of the window, whatever else is in the batch. Fault l22 adds to
 * the divisor what the rows behind the window would weigh, up to the longest window of the batch.
 */
#include "backends/cpu/exec.h"

#include "core/base/mem.h"
#include "core/graph/kv-map.h"

#include <inttypes.h>
#include <string.h>

#define RUNS PSC_KV_MAP_RUNS
#define TILE 64u  /* rows that are decoded at once */
#define GROUP_MAX 16u /* heads of one item */

struct rows { /* a run of rows */
    uint64_t at, n;
};
struct window {
    struct rows run[RUNS];
    uint32_t run_n;
    uint64_t n; /* rows of all runs */
};

enum form { BY_POSITION, BY_SPAN, BY_MAP };

static enum form form_of(const struct psc_call *call)
{
    uint64_t tokens = psc_cpu_rows(&call->out);
    if (call->in_n < 4)
        return BY_POSITION;
    return psc_cpu_elements(&call->in[3]) == 2 * tokens ? BY_SPAN : BY_MAP;
}

static void add_rows(const struct psc_cpu_run *run, struct window *w, int64_t at, int64_t n, uint64_t t)
{
    uint64_t rows = run->call->kv.rows;
    if (!psc_cpu_within(run, at, n, rows, t) || !psc_cpu_within(run, n, (int64_t)w->n, rows, t))
        return;
    w->run[w->run_n++] = (struct rows){(uint64_t)at, (uint64_t)n};
    w->n += (uint64_t)n;
}

/* Words were checked, but results that were written since may lie over them: bounded again. */
static struct window window_of(const struct psc_cpu_run *run, const int32_t *words, enum form form, uint64_t tokens, uint64_t t)
{
    struct window w = {0};
    if (form == BY_POSITION)
        add_rows(run, &w, 0, (int64_t)words[t] + 1, t);
    else if (form == BY_SPAN)
        add_rows(run, &w, words[t], (int64_t)words[tokens + t] - words[t], t);
    for (uint32_t r = 0; form == BY_MAP && r < RUNS; r++)
        if (words[t * 2 * RUNS + 2 * r + 1])
            add_rows(run, &w, words[t * 2 * RUNS + 2 * r], words[t * 2 * RUNS + 2 * r + 1], t);
    return w;
}

static const int32_t *window_words(const struct psc_call *call, const struct psc_window *in)
{
    return psc_cpu_words(&in[form_of(call) == BY_POSITION ? 2 : 3]);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Heads and widths of a call. */
struct heads {
    uint64_t n, kv_n, hd, hd_kv, tokens;
};

static struct heads heads_of(const struct psc_call *call)
{
    const struct psc_params *p = call->params;
    struct heads h = {.n = p->n_head, .kv_n = p->n_head_kv, .hd = p->hd, .hd_kv = p->hd_kv ? p->hd_kv : p->hd,
                      .tokens = psc_cpu_rows(&call->out)};
    if (!h.kv_n && h.hd_kv)
        h.kv_n = call->kv.width / h.hd_kv;
    return h;
}

static enum psc_status check_heads(const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    const char *missing = !p->hd ? "head width (meta.hd)" : !p->n_head ? "number of heads (meta.n_head)" : NULL;
    if (!missing && !p->has_scale && p->scale == 0)
        missing = "scale (meta.scale)";
    if (missing)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has no %s", missing);
    struct heads h = heads_of(call);
    uint64_t width, kv_width;
    if (!h.kv_n || h.n % h.kv_n)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "%" PRIu64 " heads cannot share %" PRIu64 " heads of K and V", h.n, h.kv_n);
    if (h.hd_kv > h.hd)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "heads of K and V are %" PRIu64 " wide, those of q %" PRIu64,
                              h.hd_kv, h.hd);
    if (!psc_mul_u64(h.n, h.hd, &width) || !psc_mul_u64(h.kv_n, h.hd_kv, &kv_width) || kv_width > call->kv.width)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "%" PRIu64 " heads of %" PRIu64 " values do not fit rows of %" PRIu64, h.kv_n, h.hd_kv,
                              call->kv.width);
    if (call->out.shape[0] != width || call->in[0].shape[0] < width || psc_cpu_rows(&call->in[0]) != h.tokens)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "%" PRIu64 " heads of %" PRIu64 " values do not fit q of %" PRIu64 " x %" PRIu64
                              " and a result of %" PRIu64 " x %" PRIu64,
                              h.n, h.hd, call->in[0].shape[0], psc_cpu_rows(&call->in[0]), call->out.shape[0],
                              h.tokens);
    return PSC_OK;
}

/* Heads of one kv head that one item computes: all of them, so that a decoded tile serves them all, or one by one when
 * there are too few items to go round, or very many heads. */
static uint64_t heads_an_item(const struct heads *h, unsigned workers)
{
    uint64_t sharers = h->n / h->kv_n;
    return sharers <= GROUP_MAX && h->kv_n * h->tokens >= 2 * (uint64_t)workers ? sharers : 1;
}

/* Scratch of one worker: scores of an item's heads, then a decoded tile. */
static bool worker_bytes(const struct psc_call *call, const struct heads *h, unsigned workers, uint64_t *ret_scores,
                         uint64_t *ret)
{
    uint64_t scores, bytes = 0;
    if (!psc_mul_u64(call->kv.rows, heads_an_item(h, workers), &scores) ||
        !psc_cpu_piece(scores, sizeof(float), &bytes))
        return false;
    *ret_scores = bytes;
    if (call->kv.format != PSC_KV_F32 && !psc_cpu_piece(h->hd_kv, TILE * sizeof(float), &bytes))
        return false;
    *ret = bytes;
    return true;
}

static enum psc_status check_operands(const struct psc_call *call, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    uint64_t tokens = psc_cpu_rows(&call->out);
    if (call->in_n < 3)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it needs q, the layer's K and V, and positions");
    if (call->params->explicit_span && call->in_n < 4)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "it should have its windows as operand 3 (detail.explicit_span)");
    for (uint32_t k = 0; k < call->in_n; k++)
        if (k != 1 && !call->in[k].at && call->in[k].bytes)
            return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u has no bytes", k);
    status = psc_cpu_need_numbers(call, 0, reterr);
    if (status == PSC_OK && form_of(call) == BY_POSITION)
        status = psc_cpu_need_words(call, 2, tokens, reterr);
    uint64_t words = call->in_n > 3 ? psc_cpu_elements(&call->in[3]) : 0;
    if (status == PSC_OK && call->in_n > 3 && words != 2 * tokens && words != 2 * RUNS * tokens)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "operand 3 has %" PRIu64 " words; a span has %" PRIu64 ", a map %" PRIu64, words,
                              2 * tokens, 2 * RUNS * tokens);
    return status;
}

static enum psc_status check(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = check_operands(call, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_kv(call, 0, reterr);
    if (status == PSC_OK)
        status = check_heads(call, reterr);
    if (status)
        return status;
    struct heads h = heads_of(call);
    unsigned workers = psc_cpu_pool_size(plan->exec->threads);
    uint64_t scores, bytes;
    if (!worker_bytes(call, &h, workers, &scores, &bytes) || !psc_cpu_piece(workers, bytes, &plan->needs.temp))
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "a window of %" PRIu64 " rows is too big", call->kv.rows);
    return PSC_OK;
}

static enum psc_status check_position(const struct psc_call *call, const int32_t *words, uint64_t t,
                                      struct psc_error *reterr)
{
    if (words[t] < 0 || (uint64_t)words[t] >= call->kv.rows)
        return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE, "position %d of token %" PRIu64 ", and n_ctx is %" PRIu64,
                              (int)words[t], t, call->kv.rows);
    return PSC_OK;
}

static enum psc_status check_span(const struct psc_call *call, const int32_t *words, uint64_t t,
                                  struct psc_error *reterr)
{
    int32_t lo = words[t], hi = words[psc_cpu_rows(&call->out) + t];
    if (lo < 0 || hi < lo || (uint64_t)hi > call->kv.rows)
        return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE,
                              "the window of token %" PRIu64 " is rows %d to %d, and n_ctx is %" PRIu64, t, (int)lo,
                              (int)hi, call->kv.rows);
    return PSC_OK;
}

static enum psc_status check_map(const struct psc_call *call, const int32_t *words, uint64_t t,
                                 struct psc_error *reterr)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < RUNS; r++) {
        int32_t cell = words[t * 2 * RUNS + 2 * r], n = words[t * 2 * RUNS + 2 * r + 1];
        if (cell < 0 || n < 0 || (uint64_t)cell + (uint64_t)n > call->kv.rows)
            return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE,
                                  "run %u of token %" PRIu64 " is %d rows from %d, and n_ctx is %" PRIu64, r, t, (int)n,
                                  (int)cell, call->kv.rows);
        sum += (uint64_t)n;
    }
    if (sum > call->kv.rows)
        return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE,
                              "token %" PRIu64 " reads %" PRIu64 " rows, and n_ctx is %" PRIu64, t, sum, call->kv.rows);
    return PSC_OK;
}

static enum psc_status check_windows(const struct psc_cpu_run *run, struct psc_error *reterr)
{
    const struct psc_call *call = run->call;
    enum form form = form_of(call);
    const int32_t *words = window_words(call, call->in);
    uint64_t tokens = psc_cpu_rows(&call->out), word_n = form == BY_SPAN ? 2 * tokens : 2 * RUNS * tokens;
    bool filled = form == BY_POSITION;
    for (uint64_t i = 0; i < word_n && !filled; i++)
        filled = words[i] != 0;
    if (!filled)
        return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE, "its windows (operand 3) are all zero: nobody filled them");
    for (uint64_t t = 0; t < tokens; t++) {
        enum psc_status status = form == BY_POSITION ? check_position(call, words, t, reterr)
                                 : form == BY_SPAN   ? check_span(call, words, t, reterr)
                                                     : check_map(call, words, t, reterr);
        if (status)
            return status;
    }
    return PSC_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

struct attn {
    const struct psc_cpu_run *run;
    struct heads h;
    enum form form;
    const int32_t *words;
    uint64_t group;        /* heads an item */
    uint64_t longest;      /* window of the batch */
    unsigned char *scratch;
    uint64_t worker_bytes, score_bytes;
};
/* What one item works on. */
struct item {
    struct window w;
    const float *q;    /* first head */
    float *out;
    float *scores;     /* [group][kv.rows] */
    float *tile;
    uint64_t kv_head;
};

/* n values of a stored row from value `at` on. */
static void decode(const struct attn *a, const unsigned char *row, uint64_t at, uint64_t n, float *out)
{
    const struct psc_cpu_vec *vec = a->run->vec;
    if (a->run->call->kv.format == PSC_KV_F16) {
        vec->from_f16((const uint16_t *)(const void *)row + at, out, n);
        return;
    }
    if (at % PSC_KV_BLOCK == 0 && n % PSC_KV_BLOCK == 0) {
        vec->from_q8_0(row + at / PSC_KV_BLOCK * PSC_KV_BLOCK_BYTES, out, n);
        return;
    }
    for (uint64_t i = at; i < at + n; i++) { /* heads that are no whole blocks */
        const unsigned char *block = row + i / PSC_KV_BLOCK * PSC_KV_BLOCK_BYTES;
        uint16_t d;
        memcpy(&d, block, sizeof d);
        out[i - at] = (float)(int8_t)block[2 + i % PSC_KV_BLOCK] * psc_f16_to_f32(d);
    }
}

/* Rows [at, at + n) of one head of a region as floats: in place, or decoded into the tile. n <= TILE unless f32. */
static const float *head_rows(const struct attn *a, const struct item *it, psc_address region, uint64_t at, uint64_t n,
                              uint64_t *ret_stride)
{
    const struct psc_kv_pair *kv = &a->run->call->kv;
    const unsigned char *base = (const unsigned char *)(uintptr_t)region + at * kv->row_bytes;
    uint64_t hd = a->h.hd_kv, column = it->kv_head * hd;
    if (kv->format == PSC_KV_F32) {
        *ret_stride = kv->row_bytes / sizeof(float);
        return (const float *)(const void *)base + column;
    }
    for (uint64_t r = 0; r < n; r++)
        decode(a, base + r * kv->row_bytes, column, hd, it->tile + r * hd);
    *ret_stride = hd;
    return it->tile;
}

/* Scores of one run of rows, for all heads of the item; done: rows before it. */
static void score_run(const struct attn *a, const struct item *it, struct rows run, uint64_t done)
{
    const struct psc_call *call = a->run->call;
    for (uint64_t r = 0; r < run.n; r += TILE) {
        uint64_t n = run.n - r < TILE ? run.n - r : TILE, stride;
        const float *k = head_rows(a, it, call->kv.k, run.at + r, n, &stride);
        a->run->vec->scores(it->q, a->h.hd, a->group, k, stride, n, a->h.hd_kv, call->params->scale,
                            it->scores + done + r, call->kv.rows);
    }
}

static void weigh_run(const struct attn *a, const struct item *it, struct rows run, uint64_t done)
{
    const struct psc_call *call = a->run->call;
    for (uint64_t r = 0; r < run.n; r += TILE) {
        uint64_t n = run.n - r < TILE ? run.n - r : TILE, stride;
        const float *v = head_rows(a, it, call->kv.v, run.at + r, n, &stride);
        for (uint64_t g = 0; g < a->group; g++)
            a->run->vec->weigh(it->scores + g * call->kv.rows + done + r, v, stride, n, a->h.hd_kv,
                               it->out + g * a->h.hd);
    }
}

/* Fault l22: what rows behind the window would add to head g's divisor, up to the longest window of the batch. They are
 * scored behind the window's own scores, which stay. */
static float padding_sum(const struct attn *a, const struct item *it, uint64_t g, float most)
{
    const struct psc_call *call = a->run->call;
    struct rows last = it->w.run[it->w.run_n - 1], pad = {last.at + last.n, a->longest - it->w.n};
    if (pad.n > call->kv.rows - pad.at)
        pad.n = call->kv.rows - pad.at;
    float sum = 0;
    for (uint64_t r = 0; r < pad.n; r++) {
        uint64_t stride;
        float score, weight;
        const float *k = head_rows(a, it, call->kv.k, pad.at + r, 1, &stride);
        a->run->vec->scores(it->q + g * a->h.hd, 0, 1, k, stride, 1, a->h.hd_kv, call->params->scale, &score, 0);
        sum += a->run->vec->exp_minus(&score, most, &weight, 1);
    }
    return sum;
}

static void attend(const struct attn *a, const struct item *it)
{
    const struct psc_call *call = a->run->call;
    const struct psc_cpu_vec *vec = a->run->vec;
    float sum[GROUP_MAX];
    for (uint32_t r = 0, done = 0; r < it->w.run_n; done += (uint32_t)it->w.run[r++].n)
        score_run(a, it, it->w.run[r], done);
    for (uint64_t g = 0; g < a->group; g++) {
        float *s = it->scores + g * call->kv.rows, most = vec->largest(s, it->w.n);
        sum[g] = vec->exp_minus(s, most, s, it->w.n);
        if (call->faults & PSC_CALL_L22 && it->w.run_n && a->longest > it->w.n)
            sum[g] += padding_sum(a, it, g, most);
        memset(it->out + g * a->h.hd, 0, a->h.hd * sizeof *it->out);
    }
    for (uint32_t r = 0, done = 0; r < it->w.run_n; done += (uint32_t)it->w.run[r++].n)
        weigh_run(a, it, it->w.run[r], done);
    for (uint64_t g = 0; g < a->group && it->w.n; g++)
        vec->divide(it->out + g * a->h.hd, sum[g], it->out + g * a->h.hd, a->h.hd);
}

/* Items go through the tokens of a group of heads from both ends inwards, so that long and short windows mix. */
static void attend_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    const struct attn *a = ctx;
    const struct psc_call *call = a->run->call;
    for (uint64_t i = lo; i < hi; i++) {
        uint64_t lot = i / a->h.tokens, k = i % a->h.tokens, t = k % 2 ? a->h.tokens - 1 - k / 2 : k / 2;
        uint64_t head = lot * a->group;
        unsigned char *mine = a->scratch + worker * a->worker_bytes;
        struct item it = {.w = window_of(a->run, a->words, a->form, a->h.tokens, t),
                          .q = psc_cpu_floats(&a->run->in[0]) + t * a->run->in[0].shape[0] + head * a->h.hd,
                          .out = psc_cpu_floats(&call->out) + (t * a->h.n + head) * a->h.hd,
                          .scores = (float *)(void *)mine,
                          .tile = (float *)(void *)(mine + a->score_bytes),
                          .kv_head = head / (a->h.n / a->h.kv_n)};
        attend(a, &it);
    }
}

static void run_attn(const struct psc_cpu_run *run)
{
    const struct psc_call *call = run->call;
    struct attn a = {.run = run, .h = heads_of(call), .form = form_of(call), .words = window_words(call, run->in)};
    unsigned workers = psc_cpu_pool_size(run->exec->threads);
    a.group = heads_an_item(&a.h, workers);
    bool fits = worker_bytes(call, &a.h, workers, &a.score_bytes, &a.worker_bytes);
    a.scratch = fits ? psc_cpu_scratch_take(&run->exec->scratch, workers * a.worker_bytes) : NULL;
    for (uint64_t t = 0; t < a.h.tokens; t++) {
        struct window w = window_of(run, a.words, a.form, a.h.tokens, t);
        a.longest = w.n > a.longest ? w.n : a.longest;
    }
    if (fits)
        psc_cpu_pool_for(run->threads, a.h.n / a.group * a.h.tokens, psc_cpu_grain(a.longest * a.h.hd * a.group / 4),
                         attend_span, &a);
}

const struct psc_cpu_op psc_cpu_attn = {check, check_windows, run_attn};
