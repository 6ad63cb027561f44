/* Blocks of 256 values with a few tokens. */
#include "backends/cpu/dot-avx2.h"

/* 16-bit scale of group g of a q4_K or q5_K block in every place; `scales` has the eight bytes twice. */
PSC_INLINE __m256i spread_scale(__m256i scales, int g)
{
    return _mm256_shuffle_epi8(scales, _mm256_set1_epi16((short)(0x8000 | g)));
}

/* Numbers whose sum is S of one block; *mins: four whose sum is M. */
PSC_INLINE __m128i block_k45(enum psc_wtype type, const unsigned char *at, const int8_t *x, const int16_t *sums,
                             __m128i *mins)
{
    const struct psc_q4_k *q4 = (const void *)at;
    const struct psc_q5_k *q5 = (const void *)at;
    __m128i both = psc_k_scales_avx2(type == PSC_W_Q4_K ? q4->scales : q5->scales);
    __m256i scales = _mm256_broadcastsi128_si256(both), acc = _mm256_setzero_si256();
    for (int g = 0; g < 8; g++) {
        __m256i w = type == PSC_W_Q4_K ? psc_unpack4_k(q4->q, g) : psc_unpack5_k(q5->q, q5->qh, g);
        __m256i pairs = _mm256_maddubs_epi16(w, psc_load256(x + g * 32));
        acc = _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, spread_scale(scales, g)));
    }
    *mins = _mm_madd_epi16(_mm_cvtepu8_epi16(_mm_srli_si128(both, 8)), psc_load128(sums));
    return psc_halves(acc);
}

PSC_INLINE __m128i block_k6(const unsigned char *at, const int8_t *x, const int16_t *sums16)
{
    const struct psc_q6_k *q6 = (const void *)at;
    __m256i scales = _mm256_cvtepi8_epi16(psc_load128(q6->scales)), acc = _mm256_setzero_si256();
    __m256i halves[2] = {_mm256_permute2x128_si256(scales, scales, 0x00), _mm256_permute2x128_si256(scales, scales, 0x11)};
    for (int g = 0; g < 8; g++) {
        int a = g % 4 * 4; /* byte of the scale of the first 16 values; the next two bytes are that of the others */
        __m256i pick = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi16((short)((a + 1) << 8 | a))),
                                               _mm_set1_epi16((short)((a + 3) << 8 | (a + 2))), 1);
        __m256i pairs = _mm256_maddubs_epi16(psc_unpack6_k(q6, g), psc_load256(x + g * 32));
        acc = _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_shuffle_epi8(halves[g / 4], pick)));
    }
    __m256i offset = _mm256_madd_epi16(scales, psc_load256(sums16));
    return psc_halves(_mm256_sub_epi32(acc, _mm256_slli_epi32(offset, 5)));
}

/* Terms of n <= 4 blocks. */
PSC_INLINE __m128 terms_k45(enum psc_wtype type, const unsigned char *at, const int8_t *x, const float *d,
                            const int16_t *sums, unsigned n)
{
    uint32_t step = type == PSC_W_Q4_K ? sizeof(struct psc_q4_k) : sizeof(struct psc_q5_k);
    __m128i s[4], mins[4];
    for (unsigned i = 0; i < 4; i++) {
        s[i] = mins[i] = _mm_setzero_si128();
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
    for (unsigned i = 0; i < 4; i++)
        s[i] = i < n ? block_k6(at + i * step, x + i * 256, sums16 + i * 16) : _mm_setzero_si128();
    __m128 p = _mm_mul_ps(psc_four_f16(at + 208, step, n), _mm_load_ps(d));
    return _mm_mul_ps(_mm_cvtepi32_ps(psc_sums_of_4(s[0], s[1], s[2], s[3])), p);
}

PSC_INLINE float row_k(enum psc_wtype type, const unsigned char *w, const struct psc_mm_acts *a, uint64_t t)
{
    uint32_t step = type == PSC_W_Q4_K   ? sizeof(struct psc_q4_k)
                    : type == PSC_W_Q5_K ? sizeof(struct psc_q5_k)
                                         : sizeof(struct psc_q6_k);
    const int8_t *x = psc_mm_q(a, t);
    const float *d = psc_mm_d(a, t);
    const int16_t *sums = type == PSC_W_Q6_K ? psc_mm_sums16(a, t) : psc_mm_sums(a, t);
    uint64_t per = type == PSC_W_Q6_K ? 16 : 8;
    __m128 lanes = _mm_setzero_ps();
    for (uint64_t b = 0; b < a->blocks; b += 4) {
        unsigned n = a->blocks - b < 4 ? (unsigned)(a->blocks - b) : 4;
        const unsigned char *at = w + b * step;
        __m128 terms = type == PSC_W_Q6_K ? terms_k6(at, x + b * 256, d + b, sums + b * per, n)
                                          : terms_k45(type, at, x + b * 256, d + b, sums + b * per, n);
        lanes = _mm_add_ps(lanes, terms);
    }
    return psc_fold_lanes(lanes);
}

PSC_INLINE void rows_k(enum psc_wtype type, const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    uint64_t near = job->tokens > 1 ? psc_rows_near(job) : hi - lo;
    for (uint64_t first = lo; first < hi; first += near)
        for (uint64_t t = 0; t < job->tokens; t++)
            for (uint64_t o = first; o < first + near && o < hi; o++)
                psc_mm_store(job, o, t, row_k(type, job->w + o * job->row_bytes, &job->acts, t));
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
