/* Products in plain C: the reference of the fast ones, and what runs where they cannot. */
#include "backends/cpu/matmul-kernels.h"

#include <string.h>

#define BATCH 16u /* tokens that share one decoding of a weight */
#define CHUNK 512u

/* A weight block as 16-bit factors; K types have their 6-bit scales multiplied in. */
struct factors {
    int16_t q[256];
    float d, m;     /* m: q4_1, q5_1, and dmin of K types */
    int16_t mn[8];
};

static void nibbles(const uint8_t *q, const uint8_t *qh, int offset, int16_t *ret)
{
    uint32_t high = 0;
    if (qh)
        memcpy(&high, qh, 4);
    for (uint32_t j = 0; j < 16; j++) {
        ret[j] = (int16_t)((q[j] & 15) + (int)((high >> j & 1) << 4) - offset);
        ret[j + 16] = (int16_t)((q[j] >> 4) + (int)((high >> (j + 16) & 1) << 4) - offset);
    }
}

static void open_k45(const uint8_t *scales, const uint8_t *qh, const uint8_t *q, struct factors *f)
{
    uint8_t sc[8], mn[8];
    psc_k_scales(scales, sc, mn);
    for (int g = 0; g < 8; g++) {
        f->mn[g] = mn[g];
        for (int l = 0; l < 32; l++) {
            int v = g & 1 ? q[g / 2 * 32 + l] >> 4 : q[g / 2 * 32 + l] & 15;
            if (qh)
                v += (qh[l] >> g & 1) << 4;
            f->q[g * 32 + l] = (int16_t)(v * sc[g]);
        }
    }
}

static void open_q6(const struct psc_q6_k *b, struct factors *f)
{
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 32; l++) {
            const uint8_t *ql = b->ql + half * 64 + l;
            const int8_t *sc = b->scales + half * 8 + l / 16;
            int16_t *q = f->q + half * 128 + l;
            int h = b->qh[half * 32 + l];
            q[0] = (int16_t)(((ql[0] & 15) + ((h & 3) << 4) - 32) * sc[0]);
            q[32] = (int16_t)(((ql[32] & 15) + ((h >> 2 & 3) << 4) - 32) * sc[2]);
            q[64] = (int16_t)(((ql[0] >> 4) + ((h >> 4 & 3) << 4) - 32) * sc[4]);
            q[96] = (int16_t)(((ql[32] >> 4) + ((h >> 6 & 3) << 4) - 32) * sc[6]);
        }
}

static void open_block(enum psc_wtype type, const void *at, struct factors *f)
{
    const struct psc_q4_1 *q41 = at;
    const struct psc_q5_1 *q51 = at;
    const struct psc_q4_k *q4k = at;
    const struct psc_q5_k *q5k = at;
    f->d = psc_f16_to_f32(q41->d); /* the first two bytes of all but q6_K */
    f->m = 0;
    switch (type) {
    case PSC_W_Q8_0:
        for (int i = 0; i < 32; i++)
            f->q[i] = ((const struct psc_q8_0 *)at)->q[i];
        break;
    case PSC_W_Q4_0:
        nibbles(((const struct psc_q4_0 *)at)->q, NULL, 8, f->q);
        break;
    case PSC_W_Q4_1:
        nibbles(q41->q, NULL, 0, f->q);
        f->m = psc_f16_to_f32(q41->m);
        break;
    case PSC_W_Q5_0:
        nibbles(((const struct psc_q5_0 *)at)->q, ((const struct psc_q5_0 *)at)->qh, 16, f->q);
        break;
    case PSC_W_Q5_1:
        nibbles(q51->q, q51->qh, 0, f->q);
        f->m = psc_f16_to_f32(q51->m);
        break;
    case PSC_W_Q4_K:
        open_k45(q4k->scales, NULL, q4k->q, f);
        f->m = psc_f16_to_f32(q4k->dmin);
        break;
    case PSC_W_Q5_K:
        open_k45(q5k->scales, q5k->qh, q5k->q, f);
        f->m = psc_f16_to_f32(q5k->dmin);
        break;
    default:
        open_q6(at, f);
        f->d = psc_f16_to_f32(((const struct psc_q6_k *)at)->d);
    }
}

static int32_t sum_of_products(const int16_t *w, const int8_t *x, unsigned n)
{
    int32_t sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += w[i] * x[i];
    return sum;
}

static float term(const struct psc_mm_job *job, const struct factors *f, uint64_t t, uint64_t b)
{
    const struct psc_mm_acts *a = &job->acts;
    unsigned n = a->k ? 256 : 32;
    float dx = psc_mm_d(a, t)[b];
    float ret = (float)sum_of_products(f->q, psc_mm_q(a, t) + b * n, n) * (f->d * dx);
    if (job->type == PSC_W_Q4_1 || job->type == PSC_W_Q5_1)
        return ret + (float)psc_mm_sums(a, t)[b] * (f->m * dx);
    if (job->type == PSC_W_Q4_K || job->type == PSC_W_Q5_K) {
        int32_t mins = 0;
        for (int g = 0; g < 8; g++)
            mins += f->mn[g] * psc_mm_sums(a, t)[b * 8 + (unsigned)g];
        return ret - (float)mins * (f->m * dx);
    }
    return ret;
}

static void quantised_row(const struct psc_mm_job *job, uint64_t o, uint64_t from, uint64_t n)
{
    float lanes[BATCH][PSC_MM_LANES] = {{0}};
    const unsigned char *w = job->w + o * job->row_bytes;
    uint32_t block_bytes = psc_wtype_info(job->type)->bytes;
    struct factors f;
    for (uint64_t b = 0; b < job->acts.blocks; b++) {
        open_block(job->type, w + b * block_bytes, &f);
        for (uint64_t t = 0; t < n; t++)
            lanes[t][b % PSC_MM_LANES] += term(job, &f, from + t, b);
    }
    for (uint64_t t = 0; t < n; t++)
        psc_mm_store(job, o, from + t, (lanes[t][0] + lanes[t][2]) + (lanes[t][1] + lanes[t][3]));
}

static void float_row(const struct psc_mm_job *job, uint64_t o, uint64_t from, uint64_t n)
{
    float lanes[BATCH][PSC_MM_WIDE] = {{0}}, decoded[CHUNK];
    const unsigned char *w = job->w + o * job->row_bytes;
    uint64_t size = psc_wtype_info(job->type)->bytes;
    for (uint64_t i = 0; i < job->in; i += CHUNK) {
        uint64_t m = job->in - i < CHUNK ? job->in - i : CHUNK, whole = m - m % PSC_MM_WIDE;
        psc_blocks_decode(job->type, w + i * size, decoded, m);
        for (uint64_t t = 0; t < n; t++) {
            const float *x = job->x + (from + t) * job->x_stride + i;
            float *l = lanes[t];
            for (uint64_t j = 0; j < whole; j += PSC_MM_WIDE)
                for (unsigned k = 0; k < PSC_MM_WIDE; k++)
                    l[k] += decoded[j + k] * x[j + k];
            for (uint64_t j = whole; j < m; j++)
                l[j - whole] += decoded[j] * x[j];
        }
    }
    for (uint64_t t = 0; t < n; t++) {
        const float *l = lanes[t];
        psc_mm_store(job, o, from + t, ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7])));
    }
}

static void product(const struct psc_mm_job *job, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    for (uint64_t o = lo; o < hi; o++)
        for (uint64_t t = 0; t < job->tokens; t += BATCH) {
            uint64_t n = job->tokens - t < BATCH ? job->tokens - t : BATCH;
            if (job->acts.form == PSC_MM_FLOATS)
                float_row(job, o, t, n);
            else
                quantised_row(job, o, t, n);
        }
}

static void take_block(const struct psc_mm_acts *a, uint64_t t, uint64_t b, const struct psc_q8_0 *from)
{
    memcpy(psc_mm_q(a, t) + b * 32, from->q, 32);
    psc_mm_d(a, t)[b] = psc_f16_to_f32(from->d);
    int sum = 0;
    for (int i = 0; i < 32; i++)
        sum += from->q[i];
    psc_mm_sums(a, t)[b] = (int16_t)sum;
}

static void take_k_block(const struct psc_mm_acts *a, uint64_t t, uint64_t b, const struct psc_q8_k *from)
{
    memcpy(psc_mm_q(a, t) + b * 256, from->q, 256);
    psc_mm_d(a, t)[b] = psc_f16_to_f32(from->d);
    memcpy(psc_mm_sums16(a, t) + b * 16, from->sums, sizeof from->sums);
    for (unsigned g = 0; g < 8; g++)
        psc_mm_sums(a, t)[b * 8 + g] = (int16_t)(from->sums[2 * g] + from->sums[2 * g + 1]);
}

static void quantise(const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    const struct psc_mm_acts *a = &job->acts;
    for (uint64_t t = lo; t < hi; t++) {
        const float *x = job->x + t * job->x_stride;
        for (uint64_t b = 0; b < a->blocks; b++) {
            struct psc_q8_0 q;
            struct psc_q8_k qk;
            if (a->k) {
                psc_quantise_q8_k(x + b * 256, &qk, 256);
                take_k_block(a, t, b, &qk);
            } else {
                psc_quantise_q8_0(x + b * 32, &q, 32);
                take_block(a, t, b, &q);
            }
        }
        for (uint64_t b = a->blocks; b % PSC_MM_LANES; b++)
            psc_mm_d(a, t)[b] = 0;
    }
}

static enum psc_mm_form form(enum psc_wtype type, uint64_t tokens)
{
    (void)tokens;
    return psc_wtype_info(type)->quantised ? PSC_MM_ROWS : PSC_MM_FLOATS;
}

const struct psc_mm_kernels *psc_mm_portable(void)
{
    static const struct psc_mm_kernels kernels = {.quantise = quantise, .product = product, .form = form};
    return &kernels;
}
