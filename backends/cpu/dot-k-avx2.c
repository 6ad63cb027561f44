/* Blocks of 256 values with a few tokens. */
#include "backends/cpu/dot-avx2.h"

#define AHEAD 1024 /* bytes that are asked of memory before they are multiplied */

/* The 16-bit scale number i of 8 in every place. */
PSC_INLINE __m128i spread_scale(__m128i scales, int i)
{
    return _mm_shuffle_epi8(scales, _mm_set1_epi16((short)((2 * i + 1) << 8 | 2 * i)));
}

/* 16 values of group g of a q4_K or q5_K block: half 0 or 1 of its 32. */
PSC_INLINE __m128i half_k45(enum psc_wtype type, const uint8_t *q, const uint8_t *qh, int g, int half)
{
    __m128i w = psc_load128(q + g / 2 * 32 + half * 16);
    w = _mm_and_si128(g & 1 ? _mm_srli_epi16(w, 4) : w, _mm_set1_epi8(15));
    if (type == PSC_W_Q4_K)
        return w;
    __m128i high = psc_load128(qh + half * 16);
    high = g < 4 ? _mm_slli_epi16(high, 4 - g) : _mm_srli_epi16(high, g - 4);
    return _mm_or_si128(w, _mm_and_si128(high, _mm_set1_epi8(16)));
}

/* Numbers whose sum is S of one block; *mins: four whose sum is M. */
PSC_INLINE __m128i block_k45(enum psc_wtype type, const unsigned char *at, const int8_t *x, const int16_t *sums,
                             __m128i *mins)
{
    const struct psc_q4_k *q4 = (const void *)at;
    const struct psc_q5_k *q5 = (const void *)at;
    const uint8_t *q = type == PSC_W_Q4_K ? q4->q : q5->q;
    __m128i both = psc_k_scales_avx2(type == PSC_W_Q4_K ? q4->scales : q5->scales);
    __m128i scales = _mm_cvtepu8_epi16(both), acc = _mm_setzero_si128();
#pragma GCC unroll 8
    for (int g = 0; g < 8; g++) {
        __m128i a = _mm_maddubs_epi16(half_k45(type, q, q5->qh, g, 0), psc_load128(x + g * 32));
        __m128i b = _mm_maddubs_epi16(half_k45(type, q, q5->qh, g, 1), psc_load128(x + g * 32 + 16));
        acc = _mm_add_epi32(acc, _mm_madd_epi16(_mm_add_epi16(a, b), spread_scale(scales, g)));
    }
    *mins = _mm_madd_epi16(_mm_cvtepu8_epi16(_mm_srli_si128(both, 8)), psc_load128(sums));
    return acc;
}

/* Values 16 i to 16 i + 15 of a q6_K block. */
PSC_INLINE __m128i sixteen_k6(const struct psc_q6_k *b, int i)
{
    int half = i / 8, part = i % 8 / 2, side = i % 2 * 16;
    __m128i low = psc_load128(b->ql + half * 64 + part % 2 * 32 + side), high = psc_load128(b->qh + half * 32 + side);
    low = _mm_and_si128(part >= 2 ? _mm_srli_epi16(low, 4) : low, _mm_set1_epi8(15));
    high = part == 0   ? _mm_slli_epi16(high, 4)
           : part == 1 ? _mm_slli_epi16(high, 2)
           : part == 2 ? high
                       : _mm_srli_epi16(high, 2);
    return _mm_or_si128(low, _mm_and_si128(high, _mm_set1_epi8(48)));
}

PSC_INLINE __m128i block_k6(const unsigned char *at, const int8_t *x, const int16_t *sums16)
{
    const struct psc_q6_k *q6 = (const void *)at;
    __m128i bytes = psc_load128(q6->scales), acc = _mm_setzero_si128();
    __m128i scales[2] = {_mm_cvtepi8_epi16(bytes), _mm_cvtepi8_epi16(_mm_srli_si128(bytes, 8))};
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        __m128i pairs = _mm_maddubs_epi16(sixteen_k6(q6, i), psc_load128(x + i * 16));
        acc = _mm_add_epi32(acc, _mm_madd_epi16(pairs, spread_scale(scales[i / 8], i % 8)));
    }
    __m128i offset = _mm_add_epi32(_mm_madd_epi16(scales[0], psc_load128(sums16)),
                                   _mm_madd_epi16(scales[1], psc_load128(sums16 + 8)));
    return _mm_sub_epi32(acc, _mm_slli_epi32(offset, 5));
}

PSC_INLINE void ask_ahead(const unsigned char *block, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i += 64)
        _mm_prefetch((const char *)block + AHEAD + i, _MM_HINT_T0);
}

/* Terms of n <= 4 blocks. */
PSC_INLINE __m128 terms_k45(enum psc_wtype type, const unsigned char *at, const int8_t *x, const float *d,
                            const int16_t *sums, unsigned n)
{
    uint32_t step = type == PSC_W_Q4_K ? sizeof(struct psc_q4_k) : sizeof(struct psc_q5_k);
    __m128i s[4], mins[4];
    for (unsigned i = 0; i < 4; i++) {
        s[i] = mins[i] = _mm_setzero_si128();
        ask_ahead(at + i * step, step);
        if (i < n)
            s[i] = block_k45(type, at + i * step, x + i * 256, sums + i * 8, &mins[i]);
    }
    __m128 dx = _mm_load_ps(d), p = _mm_mul_ps(psc_four_f16(at, step, n), dx);
    __m128 m = _mm_mul_ps(psc_four_f16(at + 2, step, n), dx);
    __m128 products = _mm_mul_ps(_mm_cvtepi32_ps(psc_sums_of_4(s[0], s[1], s[2], s[3])), p);
    __m128i below = psc_sums_of_4(mins[0], mins[1], mins[2], mins[3]);
    return _mm_sub_ps(products, _mm_mul_ps(_mm_cvtepi32_ps(below), m));
}

PSC_INLINE __m128 terms_k6(const unsigned char *at, const int8_t *x, const float *d, const int16_t *sums16, unsigned n)
{
    uint32_t step = sizeof(struct psc_q6_k);
    __m128i s[4];
    for (unsigned i = 0; i < 4; i++) {
        ask_ahead(at + i * step, step);
        s[i] = i < n ? block_k6(at + i * step, x + i * 256, sums16 + i * 16) : _mm_setzero_si128();
    }
    __m128 p = _mm_mul_ps(psc_four_f16(at + 208, step, n), _mm_load_ps(d));
    return _mm_mul_ps(_mm_cvtepi32_ps(psc_sums_of_4(s[0], s[1], s[2], s[3])), p);
}

PSC_INLINE uint32_t step_of(enum psc_wtype type)
{
    return type == PSC_W_Q4_K   ? sizeof(struct psc_q4_k)
           : type == PSC_W_Q5_K ? sizeof(struct psc_q5_k)
                                : sizeof(struct psc_q6_k);
}

/* n <= 4 rows with one token, four blocks of each in turn. */
PSC_INLINE void few_rows(enum psc_wtype type, const struct psc_mm_job *job, const uint64_t *o, unsigned rows, uint64_t t)
{
    const struct psc_mm_acts *a = &job->acts;
    const int8_t *x = psc_mm_q(a, t);
    const float *d = psc_mm_d(a, t);
    const int16_t *sums = type == PSC_W_Q6_K ? psc_mm_sums16(a, t) : psc_mm_sums(a, t);
    uint64_t per = type == PSC_W_Q6_K ? 16 : 8, step = step_of(type);
    __m128 lanes[PSC_DOT_ROWS];
    for (unsigned r = 0; r < rows; r++)
        lanes[r] = _mm_setzero_ps();
    for (uint64_t b = 0; b < a->blocks; b += 4)
        for (unsigned r = 0; r < rows; r++) {
            unsigned n = a->blocks - b < 4 ? (unsigned)(a->blocks - b) : 4;
            const unsigned char *at = job->w + o[r] * job->row_bytes + b * step;
            __m128 terms = type == PSC_W_Q6_K ? terms_k6(at, x + b * 256, d + b, sums + b * per, n)
                                              : terms_k45(type, at, x + b * 256, d + b, sums + b * per, n);
            lanes[r] = _mm_add_ps(lanes[r], terms);
        }
    for (unsigned r = 0; r < rows; r++)
        psc_mm_store(job, o[r], t, psc_fold_lanes(lanes[r]));
}

PSC_INLINE void rows_k(enum psc_wtype type, const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    struct psc_streams s = psc_streams_of(lo, hi);
    for (uint64_t i = 0; i < s.each; i++, psc_streams_next(&s))
        for (uint64_t t = 0; t < job->tokens; t++)
            few_rows(type, job, s.row, PSC_DOT_ROWS, t);
    for (uint64_t o = s.rest; o < hi; o++)
        for (uint64_t t = 0; t < job->tokens; t++)
            few_rows(type, job, &o, 1, t);
}

void psc_dot_k_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    switch (job->type) {
    case PSC_W_Q4_K:
        rows_k(PSC_W_Q4_K, job, lo, hi);
        break;
    case PSC_W_Q5_K:
        rows_k(PSC_W_Q5_K, job, lo, hi);
        break;
    default:
        rows_k(PSC_W_Q6_K, job, lo, hi);
    }
}
