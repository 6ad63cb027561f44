/* backends/cpu/dot-avx2.h: rows of a product with a few tokens, and what the kernels of all block types share.
 *
 * Only for files that are compiled for AVX2.
 */
#ifndef PSC_BACKENDS_CPU_DOT_AVX2_H
#define PSC_BACKENDS_CPU_DOT_AVX2_H

#include "backends/cpu/dot-unpack-avx2.h"
#include "backends/cpu/matmul-kernels.h"

/* Rows [lo, hi) of the product with all tokens. Activations: rows, for the last one floats. */
void psc_dot_32_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi);
void psc_dot_k_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi);
void psc_dot_float_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi);

/* Sums of four vectors, in their order. */
PSC_INLINE __m128i psc_sums_of_4(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m128i ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    __m128i cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
    return _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}
/* Lanes are laid down as (lane0 + lane2) + (lane1 + lane3). */
PSC_INLINE float psc_fold_lanes(__m128 lanes)
{
    __m128 pair = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
/* f16 at the start of n <= 4 blocks, as floats; 0 beyond. */
PSC_INLINE __m128 psc_four_f16(const unsigned char *at, uint32_t step, unsigned n)
{
    uint16_t h[4] = {0};
    for (unsigned i = 0; i < n; i++)
        memcpy(&h[i], at + i * step, 2);
    uint64_t four = (uint64_t)h[0] | (uint64_t)h[1] << 16 | (uint64_t)h[2] << 32 | (uint64_t)h[3] << 48;
    return _mm_cvtph_ps(_mm_set_epi64x(0, (long long)four));
}
/* Four rows at a time, each the next of its quarter of [lo, hi): memory gives four streams much faster than one.
 * Rows from `rest` on are left over. */
#define PSC_DOT_ROWS 4u
struct psc_streams {
    uint64_t each, rest, row[PSC_DOT_ROWS];
};
static inline struct psc_streams psc_streams_of(uint64_t lo, uint64_t hi)
{
    struct psc_streams s = {.each = (hi - lo) / PSC_DOT_ROWS};
    for (unsigned r = 0; r < PSC_DOT_ROWS; r++)
        s.row[r] = lo + r * s.each;
    s.rest = lo + PSC_DOT_ROWS * s.each;
    return s;
}
static inline void psc_streams_next(struct psc_streams *s)
{
    for (unsigned r = 0; r < PSC_DOT_ROWS; r++)
        s->row[r]++;
}

#endif
