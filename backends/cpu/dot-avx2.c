/* Blocks of 32 values with a few tokens: a weight row is read once from memory and multiplied with every token. */
#include "backends/cpu/dot-avx2.h"

/* `type` is a constant wherever these are inlined. */

/* Four numbers whose sum is that of the products of one block. */
PSC_INLINE __m128i block32(enum psc_wtype type, const unsigned char *at, const int8_t *x)
{
    __m256i xv = psc_load256(x);
    if (type == PSC_W_Q8_0) {
        __m256i w = psc_load256(((const struct psc_q8_0 *)(const void *)at)->q);
        __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(xv, w));
        return psc_halves(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    const struct psc_q4_0 *q40 = (const void *)at;
    const struct psc_q4_1 *q41 = (const void *)at;
    const struct psc_q5_0 *q50 = (const void *)at;
    const struct psc_q5_1 *q51 = (const void *)at;
    __m256i w = type == PSC_W_Q4_0   ? psc_unpack4(q40->q)
                : type == PSC_W_Q4_1 ? psc_unpack4(q41->q)
                : type == PSC_W_Q5_0 ? psc_unpack5(q50->q, q50->qh)
                                     : psc_unpack5(q51->q, q51->qh);
    __m256i pairs = _mm256_maddubs_epi16(w, xv);
    __m128i fours = _mm_add_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    return _mm_madd_epi16(fours, _mm_set1_epi16(1));
}

/* Terms of n <= 4 blocks. */
PSC_INLINE __m128 terms32(enum psc_wtype type, const unsigned char *at, const int8_t *x, const float *d,
                          const int16_t *sums, unsigned n)
{
    uint32_t step = type == PSC_W_Q8_0   ? sizeof(struct psc_q8_0)
                    : type == PSC_W_Q4_0 ? sizeof(struct psc_q4_0)
                    : type == PSC_W_Q4_1 ? sizeof(struct psc_q4_1)
                    : type == PSC_W_Q5_0 ? sizeof(struct psc_q5_0)
                                         : sizeof(struct psc_q5_1);
    __m128i zero = _mm_setzero_si128();
    __m128i s = psc_sums_of_4(block32(type, at, x), n > 1 ? block32(type, at + step, x + 32) : zero,
                          n > 2 ? block32(type, at + 2 * step, x + 64) : zero,
                          n > 3 ? block32(type, at + 3 * step, x + 96) : zero);
    __m128 dx = _mm_load_ps(d), p = _mm_mul_ps(psc_four_f16(at, step, n), dx);
    __m128i xs = _mm_cvtepi16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)sums));
    if (type == PSC_W_Q4_0)
        s = _mm_sub_epi32(s, _mm_slli_epi32(xs, 3));
    if (type == PSC_W_Q5_0)
        s = _mm_sub_epi32(s, _mm_slli_epi32(xs, 4));
    __m128 ret = _mm_mul_ps(_mm_cvtepi32_ps(s), p);
    if (type == PSC_W_Q4_1 || type == PSC_W_Q5_1) {
        __m128 m = _mm_mul_ps(psc_four_f16(at + 2, step, n), dx);
        ret = _mm_add_ps(ret, _mm_mul_ps(_mm_cvtepi32_ps(xs), m));
    }
    return ret;
}

PSC_INLINE float row32(enum psc_wtype type, const unsigned char *w, const struct psc_mm_acts *a, uint64_t t)
{
    uint32_t step = psc_wtype_info(type)->bytes;
    const int8_t *x = psc_mm_q(a, t);
    const float *d = psc_mm_d(a, t);
    const int16_t *sums = psc_mm_sums(a, t);
    __m128 lanes = _mm_setzero_ps();
    uint64_t b = 0;
    for (; b + 4 <= a->blocks; b += 4, w += 4 * step) {
        _mm_prefetch((const char *)w + 2048, _MM_HINT_T0);
        _mm_prefetch((const char *)w + 2048 + 64, _MM_HINT_T0);
        lanes = _mm_add_ps(lanes, terms32(type, w, x + b * 32, d + b, sums + b, 4));
    }
    switch (a->blocks - b) {
    case 1:
        lanes = _mm_add_ps(lanes, terms32(type, w, x + b * 32, d + b, sums + b, 1));
        break;
    case 2:
        lanes = _mm_add_ps(lanes, terms32(type, w, x + b * 32, d + b, sums + b, 2));
        break;
    case 3:
        lanes = _mm_add_ps(lanes, terms32(type, w, x + b * 32, d + b, sums + b, 3));
        break;
    }
    return psc_fold_lanes(lanes);
}

PSC_INLINE void rows32(enum psc_wtype type, const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    uint64_t near = job->tokens > 1 ? psc_rows_near(job) : hi - lo;
    for (uint64_t first = lo; first < hi; first += near)
        for (uint64_t t = 0; t < job->tokens; t++)
            for (uint64_t o = first; o < first + near && o < hi; o++)
                psc_mm_store(job, o, t, row32(type, job->w + o * job->row_bytes, &job->acts, t));
}

void psc_dot_32_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    switch (job->type) {
    case PSC_W_Q8_0:
        rows32(PSC_W_Q8_0, job, lo, hi);
        break;
    case PSC_W_Q4_0:
        rows32(PSC_W_Q4_0, job, lo, hi);
        break;
    case PSC_W_Q4_1:
        rows32(PSC_W_Q4_1, job, lo, hi);
        break;
    case PSC_W_Q5_0:
        rows32(PSC_W_Q5_0, job, lo, hi);
        break;
    default:
        rows32(PSC_W_Q5_1, job, lo, hi);
    }
}
