#include "backends/cpu/quantise-avx2.h"

#include "backends/cpu/dot-unpack-avx2.h"

#define PART 256u /* values of a token that are quantised before they are laid out */

/* Largest magnitude of n values, a multiple of 32, as bits: these order as the numbers do, NaN above all. */
PSC_INLINE uint32_t largest_bits(const float *x, unsigned n)
{
    __m256i top = _mm256_setzero_si256(), no_sign = _mm256_set1_epi32(0x7fffffff);
    for (unsigned i = 0; i < n; i += 8)
        top = _mm256_max_epi32(top, _mm256_and_si256(psc_load256(x + i), no_sign));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

PSC_INLINE __m256i rounded(const float *x, __m256 up)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), up));
}
/* 32 values; all results lie in -127..127, so that the packing does not saturate. */
PSC_INLINE __m256i rounded32(const float *x, __m256 up)
{
    __m256i ab = _mm256_packs_epi32(rounded(x, up), rounded(x + 8, up));
    __m256i cd = _mm256_packs_epi32(rounded(x + 16, up), rounded(x + 24, up));
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(ab, cd), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* One block of n values (32 or 256); returns its scale. */
PSC_INLINE float block(const float *x, int8_t *q, unsigned n)
{
    uint32_t top = largest_bits(x, n);
    float amax = psc_f32_of_bits(top), up = top ? 127.0f / amax : 0.0f;
    bool finite = top < 0x7f800000;
    if (!finite || !top || psc_f32_bits(up) >= 0x7f800000) {
        memset(q, 0, n);
        return finite ? 0.0f : psc_f16_to_f32(0x7e00);
    }
    for (unsigned i = 0; i < n; i += 32)
        _mm256_storeu_si256((__m256i *)(void *)(q + i), rounded32(x + i, _mm256_set1_ps(up)));
    return _cvtsh_ss(_cvtss_sh(amax / 127.0f, _MM_FROUND_TO_NEAREST_INT));
}

/* Sums of 16 values, low and high half of 32. */
PSC_INLINE void sums_of_32(const int8_t *q, int16_t ret[2])
{
    __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), psc_load256(q));
    __m256i v = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    v = _mm256_add_epi32(v, _mm256_shuffle_epi32(v, 0x4e));
    v = _mm256_add_epi32(v, _mm256_shuffle_epi32(v, 0xb1));
    ret[0] = (int16_t)_mm256_cvtsi256_si32(v);
    ret[1] = (int16_t)_mm256_extract_epi32(v, 4);
}

/* n <= PART values of one token: bytes, a scale for each block, sums of 16 values. */
static void part(const float *x, unsigned n, bool k, int8_t *q, float *d, int16_t *sums16)
{
    if (k)
        d[0] = block(x, q, 256);
    else
        for (unsigned i = 0; i < n; i += 32)
            d[i / 32] = block(x + i, q + i, 32);
    for (unsigned i = 0; i < n; i += 32)
        sums_of_32(q + i, sums16 + i / 16);
}

static void row(const struct psc_mm_job *job, uint64_t t)
{
    const struct psc_mm_acts *a = &job->acts;
    const float *x = job->x + t * job->x_stride;
    int16_t *sums = psc_mm_sums(a, t), sums16[PART / 16];
    float *d = psc_mm_d(a, t);
    for (uint64_t i = 0; i < a->in; i += PART) {
        unsigned n = a->in - i < PART ? (unsigned)(a->in - i) : PART;
        part(x + i, n, a->k, psc_mm_q(a, t) + i, d + i / (a->k ? 256 : 32), sums16);
        for (unsigned g = 0; g < n / 32; g++)
            sums[i / 32 + g] = (int16_t)(sums16[2 * g] + sums16[2 * g + 1]);
        if (a->k)
            memcpy(psc_mm_sums16(a, t) + i / 16, sums16, sizeof sums16);
    }
    for (uint64_t b = a->blocks; b % PSC_MM_LANES; b++) {
        d[b] = 0;
        if (!a->k)
            sums[b] = 0;
    }
}

/* What `part` gives for each token of a panel. */
struct side {
    int8_t q[PSC_MM_PANEL][PART];
    int16_t sums16[PSC_MM_PANEL][PART / 16];
    float d[PSC_MM_PANEL][PART / 32];
};

static void lay_bytes(const struct side *s, unsigned n, unsigned char *at)
{
    for (unsigned i = 0; i < n; i += 4)
        for (unsigned t = 0; t < PSC_MM_PANEL; t++, at += 4)
            memcpy(at, &s->q[t][i], 4);
}

static void lay_words(const struct side *s, unsigned n, unsigned char *at)
{
    int16_t wide[PSC_MM_PANEL][PART];
    for (unsigned t = 0; t < PSC_MM_PANEL; t++)
        for (unsigned i = 0; i < n; i += 16)
            _mm256_storeu_si256((__m256i *)(void *)&wide[t][i], _mm256_cvtepi8_epi16(psc_load128(&s->q[t][i])));
    for (unsigned i = 0; i < n; i += 2)
        for (unsigned t = 0; t < PSC_MM_PANEL; t++, at += 4)
            memcpy(at, &wide[t][i], 4);
}

/* Scales and sums of a part that starts at value i. */
static void lay_scales(const struct psc_mm_acts *a, uint64_t panel, const struct side *s, uint64_t i, unsigned n)
{
    uint64_t b = i / (a->k ? 256 : 32);
    float *d = psc_mm_d(a, panel) + b * PSC_MM_PANEL;
    for (unsigned g = 0; g < (a->k ? 1 : n / 32); g++)
        for (unsigned t = 0; t < PSC_MM_PANEL; t++)
            *d++ = s->d[t][g];
    int16_t *pairs = psc_mm_sums(a, panel) + b * 8 * PSC_MM_PANEL;
    int32_t *sums = (int32_t *)(void *)psc_mm_sums(a, panel) + b * PSC_MM_PANEL;
    for (unsigned g = 0; g < n / 32; g++)
        for (unsigned t = 0; t < PSC_MM_PANEL; t++) {
            int sum = s->sums16[t][2 * g] + s->sums16[t][2 * g + 1];
            if (a->k)
                pairs[(g / 2 * PSC_MM_PANEL + t) * 2 + g % 2] = (int16_t)sum;
            else
                *sums++ = sum;
        }
}

static void panel_of(const struct psc_mm_job *job, uint64_t panel)
{
    const struct psc_mm_acts *a = &job->acts;
    uint64_t first = panel * PSC_MM_PANEL, left = a->tokens - first;
    unsigned n_tokens = left < PSC_MM_PANEL ? (unsigned)left : PSC_MM_PANEL, size = a->form == PSC_MM_PANEL8 ? 1 : 2;
    struct side s;
    memset(&s, 0, sizeof s);
    for (uint64_t i = 0; i < a->in; i += PART) {
        unsigned n = a->in - i < PART ? (unsigned)(a->in - i) : PART;
        for (unsigned t = 0; t < n_tokens; t++)
            part(job->x + (first + t) * job->x_stride + i, n, a->k, s.q[t], s.d[t], s.sums16[t]);
        unsigned char *at = a->base + panel * a->lot + i * size * PSC_MM_PANEL;
        if (size == 1)
            lay_bytes(&s, n, at);
        else
            lay_words(&s, n, at);
        lay_scales(a, panel, &s, i, n);
    }
}

void psc_quantise_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    for (uint64_t i = lo; i < hi; i++)
        if (job->acts.form == PSC_MM_ROWS)
            row(job, i);
        else
            panel_of(job, i);
}
