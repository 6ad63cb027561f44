/* backends/cuda/kernels-attn.h: phases of attention, of the fused tails, of the cache's rows, and of guards and hashes. */
#ifndef PSC_BACKENDS_CUDA_KERNELS_ATTN_H
#define PSC_BACKENDS_CUDA_KERNELS_ATTN_H

#include "backends/cuda/kernels-rows.h"
#include "core/run/probe.h"

/* ---- attention --------------------------------------------------------------------------------- */

struct psc_s_attn {
    float most[PSC_CUDA_THREADS], best[PSC_CUDA_LANES], sums[PSC_CUDA_LANES], pad;
};
/* Rows of a token's window, in runs. */
struct k_window {
    uint64_t at[PSC_CUDA_RUNS], n[PSC_CUDA_RUNS], all;
    uint32_t runs;
};
/* A run that is not inside the region strikes, and is none. */
PSC_DEV void k_add_run(const struct psc_k_attn *a, const struct psc_at *at, int64_t first, int64_t n, struct k_window *w)
{
    if (first < 0 || n < 0 || (uint64_t)(first + n) > a->rows || w->all + (uint64_t)n > a->rows) {
        k_strike(at);
        return;
    }
    w->at[w->runs] = (uint64_t)first;
    w->n[w->runs++] = (uint64_t)n;
    w->all += (uint64_t)n;
}
PSC_DEV void k_window_of(const struct psc_k_attn *a, const struct psc_at *at, uint64_t t, struct k_window *w)
{
    w->all = 0;
    w->runs = 0;
    if (a->form == PSC_K_SPANS)
        k_add_run(a, at, a->words[t], (int64_t)a->words[a->tokens + t] - a->words[t], w);
    else if (a->form == PSC_K_POSITIONS)
        k_add_run(a, at, 0, a->fixed ? a->fixed : (int64_t)a->words[t] + 1, w);
    else
        for (uint32_t r = 0; r < PSC_CUDA_RUNS; r++) {
            const int32_t *run = a->words + (t * PSC_CUDA_RUNS + r) * 2;
            if (run[1])
                k_add_run(a, at, run[0], run[1], w);
        }
}
/* The row that place i of a window is. */
PSC_DEV uint64_t k_window_row(const struct k_window *w, uint64_t i)
{
    for (uint32_t r = 0; r + 1 < w->runs; r++) {
        if (i < w->n[r])
            return w->at[r] + i;
        i -= w->n[r];
    }
    return w->at[w->runs - 1] + i;
}
PSC_DEV float k_score(const struct psc_k_attn *a, const struct psc_at *at, uint64_t t, uint64_t row)
{
    const float *q = a->q + t * a->q_step + at->bx * a->hd;
    const unsigned char *k = a->k + row * a->row_bytes;
    uint64_t column = at->bx / a->sharers * a->hd_kv, whole = a->hd_kv - a->hd_kv % PSC_CUDA_LANES;
    float l[PSC_CUDA_LANES] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (uint64_t i = 0; i < whole; i += PSC_CUDA_LANES)
        for (uint32_t lane = 0; lane < PSC_CUDA_LANES; lane++)
            l[lane] += q[i + lane] * k_row_value(a->format, k, column + i + lane);
    for (uint32_t lane = 0; lane < PSC_CUDA_LANES; lane++)
        if (whole + lane < a->hd_kv)
            l[lane] += q[whole + lane] * k_row_value(a->format, k, column + whole + lane);
    return k_total(l) * a->scale;
}
PSC_DEV float *k_scores_of(const struct psc_k_attn *a, const struct psc_at *at)
{
    return a->scores + ((uint64_t)at->by * a->heads + at->bx) * a->rows;
}
PSC_PHASE(attn, 0)
{
    uint64_t t = a->first + at->by;
    float *scores = k_scores_of(a, at), best = -INFINITY;
    struct k_window w;
    k_window_of(a, at, t, &w);
    for (uint64_t i = at->thread; i < w.all; i += at->threads) {
        float score = k_score(a, at, t, k_window_row(&w, i));
        scores[i] = score;
        best = score > best ? score : best;
    }
    s->most[at->thread] = best;
}
PSC_PHASE(attn, 1)
{
    PSC_UNUSED(a);
    if (at->thread < PSC_CUDA_LANES)
        s->best[at->thread] = k_largest(s->most, at->threads, at->thread, PSC_CUDA_LANES);
}
/* Fault l22: what rows behind the window would weigh, up to the longest window of the batch. */
PSC_DEV float k_padding(const struct psc_k_attn *a, const struct psc_at *at, const struct k_window *w, float most)
{
    uint64_t longest = 0;
    float sum = 0;
    for (uint64_t t = 0; t < a->tokens; t++) {
        struct k_window other;
        k_window_of(a, at, t, &other);
        longest = other.all > longest ? other.all : longest;
    }
    if (!w->runs || longest <= w->all)
        return 0;
    uint64_t row = w->at[w->runs - 1] + w->n[w->runs - 1], n = longest - w->all;
    n = n > a->rows - row ? a->rows - row : n;
    for (uint64_t r = 0; r < n; r++)
        sum += k_exp(k_score(a, at, a->first + at->by, row + r) - most);
    return sum;
}
PSC_PHASE(attn, 2)
{
    float *scores = k_scores_of(a, at), most = k_largest(s->best, PSC_CUDA_LANES, 0, 1);
    struct k_window w;
    k_window_of(a, at, a->first + at->by, &w);
    for (uint64_t i = at->thread; i < w.all; i += at->threads)
        scores[i] = k_exp(scores[i] - most);
    if (at->thread == 0)
        s->pad = a->pads ? k_padding(a, at, &w, most) : 0;
}
PSC_PHASE(attn, 3)
{
    struct k_window w;
    k_window_of(a, at, a->first + at->by, &w);
    if (at->thread < PSC_CUDA_LANES)
        s->sums[at->thread] = k_exp_sum(k_scores_of(a, at), w.all, at->thread);
}
PSC_PHASE(attn, 4)
{
    uint64_t t = a->first + at->by, column = at->bx / a->sharers * a->hd_kv;
    const float *p = k_scores_of(a, at);
    float *out = a->out + (t * a->heads + at->bx) * a->hd, sum = k_total(s->sums);
    struct k_window w;
    k_window_of(a, at, t, &w);
    if (a->pads)
        sum += s->pad;
    for (uint64_t i = at->thread; i < a->hd; i += at->threads) {
        float acc = 0;
        const float *weight = p;
        for (uint32_t r = 0; r < w.runs && i < a->hd_kv; weight += w.n[r++])
            for (uint64_t k = 0; k < w.n[r]; k++)
                acc += k_row_value(a->format, a->v + (w.at[r] + k) * a->row_bytes, column + i) * weight[k];
        out[i] = w.all ? acc / sum : acc;
    }
}

/* ---- the tail of fused_qkv and qkv_bias_rope_store --------------------------------------------- */

struct psc_s_heads {
    float x[PSC_CUDA_HEAD_MAX];
    double lanes[PSC_CUDA_LANES];
};
struct k_head {
    uint32_t part, head;
};
PSC_DEV struct k_head k_head_of(const struct psc_k_heads *a, uint32_t i)
{
    struct k_head h = {0, i};
    while (h.part < 2 && h.head >= a->heads[h.part])
        h.head -= a->heads[h.part++];
    return h;
}
PSC_PHASE(heads, 0)
{
    struct k_head h = k_head_of(a, at->bx);
    const float *x = a->x[h.part] + at->by * a->step[h.part] + h.head * a->hd, *bias = a->bias[h.part];
    for (uint64_t i = at->thread; i < a->hd; i += at->threads)
        s->x[i] = bias ? x[i] + bias[h.head * a->hd + i] : x[i];
}
PSC_PHASE(heads, 1)
{
    if (a->norms && at->thread < PSC_CUDA_LANES)
        s->lanes[at->thread] = k_squares(s->x, a->hd, at->thread);
}
PSC_PHASE(heads, 2)
{
    struct k_head h = k_head_of(a, at->bx);
    if (!a->norms || h.part == 2)
        return;
    float by = k_norm_factor(s->lanes, a->hd, a->eps);
    for (uint64_t i = at->thread; i < a->hd; i += at->threads)
        s->x[i] = k_normed(s->x[i], by, a->norm[h.part], 0, i);
}
PSC_PHASE(heads, 3)
{
    struct k_head h = k_head_of(a, at->bx);
    float *out = a->out[h.part] + at->by * a->out_step[h.part] + h.head * a->hd;
    uint64_t half = a->hd / 2;
    for (uint64_t i = at->thread; h.part == 2 && i < a->hd; i += at->threads)
        out[i] = s->x[i];
    for (uint64_t i = at->thread; h.part < 2 && i < half; i += at->threads) {
        uint64_t first = a->interleaved ? 2 * i : i, second = a->interleaved ? 2 * i + 1 : i + half;
        float c, sine, u = s->x[first], v = s->x[second];
        k_turn(a->positions[at->by], i, a->hd, a->base, a->scale, &c, &sine);
        out[first] = u * c - v * sine;
        out[second] = u * sine + v * c;
    }
}

/* ---- rows of the cache ------------------------------------------------------------------------- */

/* A q8_0 block as core/plan/kv-format.c encodes it. */
PSC_DEV void k_store_block(const float *x, unsigned char *to)
{
    float amax = 0, inverse;
    int finite = 1;
    for (int i = 0; i < 32; i++) {
        finite = finite && (k_bits(x[i]) & 0x7fffffffu) < 0x7f800000u;
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    }
    uint16_t d = psc_half_from_float(finite ? amax / 127 : NAN);
    inverse = finite && amax > 0 ? 127 / amax : 0;
    if ((k_bits(inverse) & 0x7fffffffu) >= 0x7f800000u)
        inverse = 0;
    to[0] = (unsigned char)d;
    to[1] = (unsigned char)(d >> 8);
    for (int i = 0; i < 32; i++)
        to[2 + i] = (unsigned char)(inverse > 0 ? (int8_t)rintf(x[i] * inverse) : 0);
}
PSC_SHARED_NOTHING(store);
PSC_PHASE(store, 0)
{
    PSC_UNUSED(s);
    uint64_t pieces = (a->width + 31) / 32, i = k_index(at), row = i / pieces, first = i % pieces * 32;
    uint64_t t = row >> 1, n = a->width - first < 32 ? a->width - first : 32;
    if (t >= a->tokens)
        return;
    const float *x = (row & 1u ? a->v + t * a->v_step : a->k + t * a->k_step) + first;
    uint64_t cell = k_row(at, a->cells[t], a->rows);
    if (cell == a->rows)
        return;
    unsigned char *to = (row & 1u ? a->to_v : a->to_k) + cell * a->row_bytes;
    if (a->format == PSC_K_Q8_0) {
        k_store_block(x, to + first / 32 * 34);
        if (first + 32 >= a->width)
            for (uint64_t k = first / 32 * 34 + 34; k < a->row_bytes; k++)
                to[k] = 0;
        return;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (a->format == PSC_K_F32) {
            ((float *)(void *)to)[first + k] = x[k];
        } else {
            ((uint16_t *)(void *)to)[first + k] = psc_half_from_float(x[k]);
            ((uint16_t *)(void *)to)[a->width + first + k] = 0; /* the second half of a row of halves */
        }
    }
}

/* ---- guards: words that index ------------------------------------------------------------------ */

struct psc_s_guard {
    uint32_t wrong[PSC_CUDA_THREADS], filled[PSC_CUDA_THREADS];
};
PSC_DEV int k_word_is_wrong(const struct psc_k_guard *a, uint64_t t)
{
    if (a->form == PSC_K_POSITIONS)
        return a->words[t] < 0 || (uint64_t)a->words[t] >= a->rows;
    if (a->form == PSC_K_SPANS) {
        int32_t lo = a->words[t], hi = a->words[a->tokens + t];
        return lo < 0 || hi < lo || (uint64_t)hi > a->rows;
    }
    uint64_t sum = 0;
    for (uint32_t r = 0; r < PSC_CUDA_RUNS; r++) {
        int32_t cell = a->words[(t * PSC_CUDA_RUNS + r) * 2], n = a->words[(t * PSC_CUDA_RUNS + r) * 2 + 1];
        if (cell < 0 || n < 0 || (uint64_t)cell + (uint64_t)n > a->rows)
            return 1;
        sum += (uint64_t)n;
    }
    return sum > a->rows;
}
PSC_PHASE(guard, 0)
{
    uint64_t words = a->form == PSC_K_SPANS ? 2 * a->tokens : a->form == PSC_K_MAP ? 2 * PSC_CUDA_RUNS * a->tokens : 0;
    uint32_t wrong = 0, filled = a->form == PSC_K_POSITIONS;
    for (uint64_t t = at->thread; t < a->tokens; t += at->threads)
        wrong |= (uint32_t)k_word_is_wrong(a, t);
    for (uint64_t i = at->thread; i < words; i += at->threads)
        filled |= a->words[i] != 0;
    s->wrong[at->thread] = wrong;
    s->filled[at->thread] = filled;
}
PSC_PHASE(guard, 1)
{
    uint32_t wrong = 0, filled = 0;
    PSC_UNUSED(a);
    if (at->thread)
        return;
    for (uint32_t k = 0; k < at->threads; k++) {
        wrong |= s->wrong[k];
        filled |= s->filled[k];
    }
    if (wrong || !filled)
        k_strike(at);
}

/* ---- hashes: four threads a chunk -------------------------------------------------------------- */

#define K_CHUNKS 16u
struct psc_s_hash {
    uint64_t lanes[K_CHUNKS][4];
};
PSC_DEV uint64_t k_word_at(const unsigned char *bytes, uint64_t i, uint64_t n)
{
    uint64_t word = 0;
    for (uint32_t k = 0; k < 8; k++)
        word |= i + k < n ? (uint64_t)bytes[i + k] << (8 * k) : 0;
    return word;
}
PSC_DEV uint64_t k_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
PSC_PHASE(hash, 0)
{
    uint32_t mine = at->thread / 4, lane = at->thread % 4;
    uint64_t first = ((uint64_t)at->bx * K_CHUNKS + mine) * PSC_PROBE_CHUNK, value = PSC_PROBE_SEED * (lane + 1);
    uint64_t end = first + PSC_PROBE_CHUNK < a->n ? first + PSC_PROBE_CHUNK : a->n;
    for (uint64_t i = first; i < end; i += 32) {
        value = (value ^ k_word_at(a->bytes, i + 8 * lane, a->n)) * PSC_PROBE_MULTIPLIER;
        value ^= value >> 32;
    }
    s->lanes[mine][lane] = value;
}
PSC_PHASE(hash, 1)
{
    uint32_t mine = at->thread / 4;
    uint64_t chunk = (uint64_t)at->bx * K_CHUNKS + mine;
    const uint64_t *l = s->lanes[mine];
    if (at->thread % 4 || chunk * PSC_PROBE_CHUNK >= a->n)
        return;
    uint64_t h = ((l[0] * PSC_PROBE_MULTIPLIER + l[1]) * PSC_PROBE_MULTIPLIER + l[2]) * PSC_PROBE_MULTIPLIER + l[3];
    a->ret[chunk] = k_mix(h + (chunk + 1) * PSC_PROBE_STEP);
}

#endif
