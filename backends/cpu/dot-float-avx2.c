/* Weights that are plain numbers: tiles of four rows and up to three tokens, eight lanes each. */
#include "backends/cpu/dot-avx2.h"

#define ROWS PSC_DOT_ROWS
#define CHUNK 1024u  /* values: four rows of a chunk stay in the first cache while a batch of tokens passes */
#define BATCH 48u    /* tokens */
#define AHEAD 1024   /* bytes that are asked of memory before they are multiplied */

PSC_INLINE __m256 eight(enum psc_wtype type, const unsigned char *w, uint64_t i)
{
    if (type == PSC_W_F32)
        return _mm256_loadu_ps((const float *)(const void *)(w + i * 4));
    __m128i h = psc_load128(w + i * 2);
    if (type == PSC_W_F16)
        return _mm256_cvtph_ps(h);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* n values, a multiple of 8, of four rows and `tokens` tokens into lanes[token][row]. Only a single token is so fast that
 * memory has to be asked ahead. */
PSC_INLINE void tile(enum psc_wtype type, const unsigned char *const *w, const float *x, uint64_t x_stride,
                     unsigned tokens, uint64_t n, __m256 (*lanes)[ROWS])
{
    uint64_t size = type == PSC_W_F32 ? 4 : 2;
    __m256 acc[3][ROWS];
    for (unsigned t = 0; t < tokens; t++)
        for (unsigned r = 0; r < ROWS; r++)
            acc[t][r] = lanes[t][r];
    for (uint64_t i = 0; i < n; i += PSC_MM_WIDE)
        for (unsigned r = 0; r < ROWS; r++) {
            __m256 v = eight(type, w[r], i);
            if (tokens == 1)
                _mm_prefetch((const char *)w[r] + i * size + AHEAD, _MM_HINT_T0);
            for (unsigned t = 0; t < tokens; t++)
                acc[t][r] = _mm256_add_ps(acc[t][r], _mm256_mul_ps(v, _mm256_loadu_ps(x + t * x_stride + i)));
        }
    for (unsigned t = 0; t < tokens; t++)
        for (unsigned r = 0; r < ROWS; r++)
            lanes[t][r] = acc[t][r];
}

/* The last n < 8 values: as eight that end in zeros. */
static void rest(enum psc_wtype type, const unsigned char *const *w, const float *x, uint64_t x_stride,
                 uint64_t tokens, uint64_t n, __m256 (*lanes)[ROWS])
{
    float part[PSC_MM_WIDE] = {0}, xs[PSC_MM_WIDE] = {0};
    for (unsigned r = 0; r < ROWS; r++) {
        psc_blocks_decode(type, w[r], part, n);
        for (uint64_t t = 0; t < tokens; t++) {
            memcpy(xs, x + t * x_stride, n * sizeof *x);
            lanes[t][r] = _mm256_add_ps(lanes[t][r], _mm256_mul_ps(_mm256_loadu_ps(part), _mm256_loadu_ps(xs)));
        }
    }
}

static float fold_wide(__m256 lanes)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    return psc_fold_lanes(four);
}

PSC_INLINE void tiles(enum psc_wtype type, const unsigned char *const *w, const float *x, uint64_t x_stride,
                      uint64_t tokens, uint64_t n, __m256 (*lanes)[ROWS])
{
    uint64_t t = 0;
    for (; t + 3 <= tokens; t += 3)
        tile(type, w, x + t * x_stride, x_stride, 3, n, lanes + t);
    if (tokens - t == 2)
        tile(type, w, x + t * x_stride, x_stride, 2, n, lanes + t);
    else if (tokens - t == 1)
        tile(type, w, x + t * x_stride, x_stride, 1, n, lanes + t);
}

/* Decodes n values of four rows, and lets w point there. */
PSC_INLINE void widen(enum psc_wtype type, const unsigned char **w, uint64_t n, float (*wide)[CHUNK])
{
    for (unsigned r = 0; r < ROWS; r++) {
        for (uint64_t i = 0; i < n; i += PSC_MM_WIDE)
            _mm256_storeu_ps(wide[r] + i, eight(type, w[r], i));
        w[r] = (const unsigned char *)wide[r];
    }
}

/* Rows o[0], o[1] ... (`rows` of them are stored, all four are computed), tokens [from, from + n), n <= BATCH. */
PSC_INLINE void four_rows(enum psc_wtype type, const struct psc_mm_job *job, const uint64_t *o, unsigned rows,
                          uint64_t from, uint64_t n)
{
    __m256 lanes[BATCH][ROWS];
    float wide[ROWS][CHUNK];
    uint64_t size = type == PSC_W_F32 ? 4 : 2;
    for (uint64_t t = 0; t < n; t++)
        for (unsigned r = 0; r < ROWS; r++)
            lanes[t][r] = _mm256_setzero_ps();
    for (uint64_t i = 0; i < job->in; i += CHUNK) {
        uint64_t m = job->in - i < CHUNK ? job->in - i : CHUNK, whole = m - m % PSC_MM_WIDE;
        const float *x = job->x + from * job->x_stride + i;
        const unsigned char *w[ROWS], *end[ROWS];
        for (unsigned r = 0; r < ROWS; r++) {
            w[r] = job->w + o[r < rows ? r : 0] * job->row_bytes + i * size;
            end[r] = w[r] + whole * size;
        }
        if (type != PSC_W_F32 && n > 3) {
            widen(type, w, whole, wide);
            tiles(PSC_W_F32, w, x, job->x_stride, n, whole, lanes);
        } else {
            tiles(type, w, x, job->x_stride, n, whole, lanes);
        }
        if (whole < m)
            rest(type, end, x + whole, job->x_stride, n, m - whole, lanes);
    }
    for (uint64_t t = 0; t < n; t++)
        for (unsigned r = 0; r < rows; r++)
            psc_mm_store(job, o[r], from + t, fold_wide(lanes[t][r]));
}

PSC_INLINE void rows_float(enum psc_wtype type, const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    for (uint64_t t = 0; t < job->tokens; t += BATCH) {
        uint64_t n = job->tokens - t < BATCH ? job->tokens - t : BATCH;
        struct psc_streams s = psc_streams_of(lo, hi);
        for (uint64_t i = 0; i < s.each; i++, psc_streams_next(&s))
            four_rows(type, job, s.row, ROWS, t, n);
        for (unsigned r = 0; r < hi - s.rest; r++)
            s.row[r] = s.rest + r;
        if (s.rest < hi)
            four_rows(type, job, s.row, (unsigned)(hi - s.rest), t, n);
    }
}

void psc_dot_float_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    switch (job->type) {
    case PSC_W_F32:
        rows_float(PSC_W_F32, job, lo, hi);
        break;
    case PSC_W_F16:
        rows_float(PSC_W_F16, job, lo, hi);
        break;
    default:
        rows_float(PSC_W_BF16, job, lo, hi);
    }
}
