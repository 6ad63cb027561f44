/* Blocks of 32 values with a few tokens: a weight row is read once from memory and multiplied with every token. */
#include "backends/cpu/dot-avx2.h"

#define AHEAD 1024 /* bytes that are asked of memory before they are multiplied */

/* `type` is a constant wherever these are inlined. All in vectors of 128 bits: half of a block is one, so that nothing has to
 * be taken apart, and processors that split 256 bits (where one of these products is bound by its instructions, and
 * not by memory) have nothing to split. */

/* Bits 0 to 15, or 16 to 31, of four bytes -> 16 in each byte. */
PSC_INLINE __m128i fifth_bits(__m128i qh, bool second)
{
    __m128i spread = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    __m128i bit = _mm_set1_epi64x((long long)0x8040201008040201ull);
    if (second)
        spread = _mm_add_epi8(spread, _mm_set1_epi8(2));
    __m128i set = _mm_cmpeq_epi8(_mm_and_si128(_mm_shuffle_epi8(qh, spread), bit), bit);
    return _mm_and_si128(set, _mm_set1_epi8(16));
}

PSC_INLINE __m128i half_q8(const int8_t *w, const int8_t *x)
{
    __m128i wv = psc_load128(w);
    __m128i pairs = _mm_maddubs_epi16(_mm_abs_epi8(wv), _mm_sign_epi8(psc_load128(x), wv));
    return _mm_madd_epi16(pairs, _mm_set1_epi16(1));
}

/* Q8_0: four, else eight numbers of 16 bits, whose sum is that of the products of one block. */
PSC_INLINE __m128i block32(enum psc_wtype type, const unsigned char *at, const int8_t *x)
{
    if (type == PSC_W_Q8_0) {
        const int8_t *w = ((const struct psc_q8_0 *)(const void *)at)->q;
        return _mm_add_epi32(half_q8(w, x), half_q8(w + 16, x + 16));
    }
    const struct psc_q5_0 *q50 = (const void *)at;
    const struct psc_q5_1 *q51 = (const void *)at;
    const uint8_t *q = type == PSC_W_Q4_0   ? ((const struct psc_q4_0 *)(const void *)at)->q
                       : type == PSC_W_Q4_1 ? ((const struct psc_q4_1 *)(const void *)at)->q
                       : type == PSC_W_Q5_0 ? q50->q
                                            : q51->q;
    __m128i both = psc_load128(q), low = _mm_and_si128(both, _mm_set1_epi8(15));
    __m128i high = _mm_and_si128(_mm_srli_epi16(both, 4), _mm_set1_epi8(15));
    if (type == PSC_W_Q5_0 || type == PSC_W_Q5_1) {
        __m128i qh = _mm_cvtsi32_si128((int)psc_load_u32(type == PSC_W_Q5_0 ? q50->qh : q51->qh));
        low = _mm_or_si128(low, fifth_bits(qh, false));
        high = _mm_or_si128(high, fifth_bits(qh, true));
    }
    return _mm_add_epi16(_mm_maddubs_epi16(low, psc_load128(x)), _mm_maddubs_epi16(high, psc_load128(x + 16)));
}

/* Two sums of what block32 gave for two blocks, in the places 0, 2 and 1, 3. */
PSC_INLINE __m128i fold_two(__m128i a, __m128i b)
{
    __m128i v = _mm_add_epi16(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    return _mm_madd_epi16(v, _mm_set1_epi16(1));
}
PSC_INLINE __m128i fold_four(enum psc_wtype type, const __m128i b[4])
{
    if (type == PSC_W_Q8_0)
        return psc_sums_of_4(b[0], b[1], b[2], b[3]);
    __m128i ab = fold_two(b[0], b[1]), cd = fold_two(b[2], b[3]);
    return _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}

PSC_INLINE uint32_t step_of(enum psc_wtype type)
{
    return type == PSC_W_Q8_0   ? sizeof(struct psc_q8_0)
           : type == PSC_W_Q4_0 ? sizeof(struct psc_q4_0)
           : type == PSC_W_Q4_1 ? sizeof(struct psc_q4_1)
           : type == PSC_W_Q5_0 ? sizeof(struct psc_q5_0)
                                : sizeof(struct psc_q5_1);
}

/* One token. */
struct token {
    const int8_t *x;
    const float *d;
    const int16_t *sums;
};

/* n <= 4 blocks of a row at `at`, the first one number b: what block32 gives. */
PSC_INLINE void blocks32(enum psc_wtype type, const unsigned char *at, const struct token *t, uint64_t b, unsigned n,
                         __m128i ret[4])
{
    for (unsigned i = 0; i < 4; i++)
        ret[i] = i < n ? block32(type, at + i * step_of(type), t->x + (b + i) * 32) : _mm_setzero_si128();
}

/* Their terms. */
PSC_INLINE __m128 terms32(enum psc_wtype type, const unsigned char *at, const struct token *t, uint64_t b, unsigned n,
                          const __m128i blocks[4])
{
    __m128i s = fold_four(type, blocks);
    __m128 dx = _mm_load_ps(t->d + b), p = _mm_mul_ps(psc_four_f16(at, step_of(type), n), dx);
    __m128i xs = _mm_cvtepi16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(t->sums + b)));
    if (type == PSC_W_Q4_0)
        s = _mm_sub_epi32(s, _mm_slli_epi32(xs, 3));
    if (type == PSC_W_Q5_0)
        s = _mm_sub_epi32(s, _mm_slli_epi32(xs, 4));
    __m128 ret = _mm_mul_ps(_mm_cvtepi32_ps(s), p);
    if (type == PSC_W_Q4_1 || type == PSC_W_Q5_1) {
        __m128 m = _mm_mul_ps(psc_four_f16(at + 2, step_of(type), n), dx);
        ret = _mm_add_ps(ret, _mm_mul_ps(_mm_cvtepi32_ps(xs), m));
    }
    return ret;
}

/* The last n < 4 blocks of a row. */
PSC_INLINE __m128 last32(enum psc_wtype type, const unsigned char *at, const struct token *t, uint64_t b, unsigned n)
{
    __m128i blocks[4];
    blocks32(type, at, t, b, n, blocks);
    return terms32(type, at, t, b, n, blocks);
}
PSC_INLINE __m128 rest32(enum psc_wtype type, const unsigned char *at, const struct token *t, uint64_t b, uint64_t n)
{
    switch (n) { /* as constants */
    case 1: return last32(type, at, t, b, 1);
    case 2: return last32(type, at, t, b, 2);
    default: return last32(type, at, t, b, 3);
    }
}

/* `rows` rows with one token, four blocks of each in turn. The terms of one row are folded while the blocks of the next
 * are multiplied: by then its sums are there. */
PSC_INLINE void few_rows(enum psc_wtype type, const struct psc_mm_job *job, const uint64_t *o, unsigned rows, uint64_t t)
{
    const struct psc_mm_acts *a = &job->acts;
    struct token token = {psc_mm_q(a, t), psc_mm_d(a, t), psc_mm_sums(a, t)};
    const unsigned char *at[PSC_DOT_ROWS];
    __m128 lanes[PSC_DOT_ROWS];
    __m128i ready[4]; /* of the row whose turn it is, at block b */
    uint64_t b = 0, whole = a->blocks / 4 * 4;
    uint32_t step = 4 * step_of(type);
    for (unsigned r = 0; r < rows; r++) {
        at[r] = job->w + o[r] * job->row_bytes;
        lanes[r] = _mm_setzero_ps();
    }
    if (whole)
        blocks32(type, at[0], &token, 0, 4, ready);
    for (; b < whole; b += 4)
        for (unsigned r = 0; r < rows; r++) {
            lanes[r] = _mm_add_ps(lanes[r], terms32(type, at[r], &token, b, 4, ready));
            at[r] += step;
            _mm_prefetch((const char *)at[r] + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)at[r] + AHEAD + 64, _MM_HINT_T0);
            if (r + 1 < rows)
                blocks32(type, at[r + 1], &token, b, 4, ready);
            else if (b + 4 < whole)
                blocks32(type, at[0], &token, b + 4, 4, ready);
        }
    for (unsigned r = 0; r < rows; r++) {
        if (b < a->blocks)
            lanes[r] = _mm_add_ps(lanes[r], rest32(type, at[r], &token, b, a->blocks - b));
        psc_mm_store(job, o[r], t, psc_fold_lanes(lanes[r]));
    }
}

PSC_INLINE void rows32(enum psc_wtype type, const struct psc_mm_job *job, uint64_t lo, uint64_t hi)
{
    struct psc_streams s = psc_streams_of(lo, hi);
    for (uint64_t i = 0; i < s.each; i++, psc_streams_next(&s))
        for (uint64_t t = 0; t < job->tokens; t++)
            few_rows(type, job, s.row, PSC_DOT_ROWS, t);
    for (uint64_t o = s.rest; o < hi; o++)
        for (uint64_t t = 0; t < job->tokens; t++)
            few_rows(type, job, &o, 1, t);
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
