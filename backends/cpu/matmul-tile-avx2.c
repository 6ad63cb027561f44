#include "backends/cpu/matmul-tile-avx2.h"

#include "backends/cpu/matmul-open-avx2.h"

#define VECTORS 2u /* of eight tokens, in a panel */

/* One tile over the values of a chunk: row r of four is at + r * PSC_TILE_VALUES in each array of the work. */
struct piece {
    const struct psc_tile_work *work;
    unsigned row;               /* first of four */
    uint64_t first;             /* block where the chunk starts, from the start of the row */
    unsigned blocks;
    const unsigned char *x;     /* of the panel, from the chunk on */
    const float *d;
    const int32_t *sums;        /* 32-value types: [block][16]; K: pairs of sums, [block][4][16] */
    float (*lanes)[PSC_TILE_QUAD][PSC_MM_PANEL];
};

/* The value is in a register here: without this the compiler puts off additions until products have to be spilled. */
#define SETTLED(v) __asm__("" : "+x"(v))

PSC_INLINE __m256i spread(const void *at)
{
    return _mm256_set1_epi32((int)psc_load_u32(at));
}

/* acc += the products of n values as words. */
PSC_INLINE void add_words(const int16_t *w, const unsigned char *x, unsigned n, unsigned vectors,
                          __m256i (*acc)[VECTORS])
{
#pragma GCC unroll 16
    for (unsigned i = 0; i < n; i += 2, x += 4 * PSC_MM_PANEL) {
        __m256i xv[VECTORS];
        for (unsigned v = 0; v < vectors; v++)
            xv[v] = psc_load256(x + 32 * v);
        for (unsigned r = 0; r < PSC_TILE_QUAD; r++) {
            __m256i wv = spread(w + r * PSC_TILE_VALUES + i);
            for (unsigned v = 0; v < vectors; v++) {
                acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(wv, xv[v]));
                SETTLED(acc[r][v]);
            }
        }
    }
}

/* acc = sums in 16 bits of the products of n values as bytes. */
PSC_INLINE void sum_bytes(const uint8_t *w, const unsigned char *x, unsigned n, unsigned vectors,
                          __m256i (*acc)[VECTORS])
{
#pragma GCC unroll 16
    for (unsigned i = 0; i < n; i += 4, x += 4 * PSC_MM_PANEL) {
        __m256i xv[VECTORS];
        for (unsigned v = 0; v < vectors; v++)
            xv[v] = psc_load256(x + 32 * v);
        for (unsigned r = 0; r < PSC_TILE_QUAD; r++) {
            __m256i wv = spread(w + r * PSC_TILE_VALUES + i);
            for (unsigned v = 0; v < vectors; v++) {
                __m256i pairs = _mm256_maddubs_epi16(wv, xv[v]);
                acc[r][v] = i ? _mm256_add_epi16(acc[r][v], pairs) : pairs;
                SETTLED(acc[r][v]);
            }
        }
    }
}

PSC_INLINE void add_to_lane(float *lane, __m256 terms)
{
    _mm256_storeu_ps(lane, _mm256_add_ps(_mm256_loadu_ps(lane), terms));
}

/* ---- one tile of each kind. `type` and `vectors` are constants wherever these are inlined. */

PSC_INLINE void tile_words(enum psc_wtype type, const struct piece *p, unsigned vectors)
{
    unsigned n = type == PSC_W_Q6_K ? 256 : 32;
    for (unsigned b = 0; b < p->blocks; b++) {
        __m256i acc[PSC_TILE_QUAD][VECTORS];
        for (unsigned r = 0; r < PSC_TILE_QUAD; r++)
            for (unsigned v = 0; v < vectors; v++)
                acc[r][v] = _mm256_setzero_si256();
        add_words(&p->work->w.words[p->row][b * n], p->x + b * n * 2 * PSC_MM_PANEL, n, vectors, acc);
        float (*lane)[PSC_MM_PANEL] = p->lanes[(p->first + b) % PSC_MM_LANES];
        for (unsigned r = 0; r < PSC_TILE_QUAD; r++)
            for (unsigned v = 0; v < vectors; v++) {
                __m256 dx = _mm256_loadu_ps(p->d + b * PSC_MM_PANEL + 8 * v);
                __m256 scale = _mm256_mul_ps(_mm256_set1_ps(p->work->d[p->row + r][b]), dx);
                add_to_lane(&lane[r][8 * v], _mm256_mul_ps(_mm256_cvtepi32_ps(acc[r][v]), scale));
            }
    }
}

/* S of a block of 32 values. */
PSC_INLINE void products32(enum psc_wtype type, const struct piece *p, unsigned b, unsigned vectors,
                           __m256i (*ret)[VECTORS])
{
    bool four_bits = type == PSC_W_Q4_0 || type == PSC_W_Q4_1;
    unsigned n = four_bits ? 32 : 16; /* values that may be summed in 16 bits */
    __m256i acc[PSC_TILE_QUAD][VECTORS], ones = _mm256_set1_epi16(1);
    for (unsigned i = 0; i < 32; i += n) {
        sum_bytes(&p->work->w.bytes[p->row][b * 32 + i], p->x + (b * 32 + i) * PSC_MM_PANEL, n, vectors, acc);
        for (unsigned r = 0; r < PSC_TILE_QUAD; r++)
            for (unsigned v = 0; v < vectors; v++) {
                __m256i s = _mm256_madd_epi16(acc[r][v], ones);
                ret[r][v] = i ? _mm256_add_epi32(ret[r][v], s) : s;
            }
    }
}

PSC_INLINE void tile_bytes(enum psc_wtype type, const struct piece *p, unsigned vectors)
{
    bool has_min = type == PSC_W_Q4_1 || type == PSC_W_Q5_1;
    for (unsigned b = 0; b < p->blocks; b++) {
        __m256i s[PSC_TILE_QUAD][VECTORS];
        products32(type, p, b, vectors, s);
        float (*lane)[PSC_MM_PANEL] = p->lanes[(p->first + b) % PSC_MM_LANES];
        for (unsigned v = 0; v < vectors; v++) {
            __m256i xs = psc_load256(p->sums + b * PSC_MM_PANEL + 8 * v);
            __m256 dx = _mm256_loadu_ps(p->d + b * PSC_MM_PANEL + 8 * v), fxs = _mm256_cvtepi32_ps(xs);
            __m256i offset = _mm256_slli_epi32(xs, type == PSC_W_Q4_0 ? 3 : 4);
            for (unsigned r = 0; r < PSC_TILE_QUAD; r++) {
                __m256 scale = _mm256_mul_ps(_mm256_set1_ps(p->work->d[p->row + r][b]), dx);
                __m256i sum = has_min ? s[r][v] : _mm256_sub_epi32(s[r][v], offset);
                __m256 terms = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
                if (has_min) {
                    __m256 m = _mm256_mul_ps(_mm256_set1_ps(p->work->m[p->row + r][b]), dx);
                    terms = _mm256_add_ps(terms, _mm256_mul_ps(fxs, m));
                }
                add_to_lane(&lane[r][8 * v], terms);
            }
        }
    }
}

/* S of a q4_K or q5_K block. */
PSC_INLINE void products_k45(enum psc_wtype type, const struct piece *p, unsigned b, unsigned vectors,
                             __m256i (*ret)[VECTORS])
{
    unsigned n = type == PSC_W_Q4_K ? 32 : 16;
    __m256i acc[PSC_TILE_QUAD][VECTORS];
    for (unsigned i = b * 256; i < b * 256 + 256; i += n) {
        sum_bytes(&p->work->w.bytes[p->row][i], p->x + i * PSC_MM_PANEL, n, vectors, acc);
        for (unsigned r = 0; r < PSC_TILE_QUAD; r++) {
            __m256i scale = spread(&p->work->scale[p->row + r][i / 32]);
            for (unsigned v = 0; v < vectors; v++) {
                __m256i s = _mm256_madd_epi16(acc[r][v], scale);
                ret[r][v] = i > b * 256 ? _mm256_add_epi32(ret[r][v], s) : s;
            }
        }
    }
}

PSC_INLINE void tile_k45(enum psc_wtype type, const struct piece *p, unsigned vectors)
{
    for (unsigned b = 0; b < p->blocks; b++) {
        __m256i s[PSC_TILE_QUAD][VECTORS];
        products_k45(type, p, b, vectors, s);
        float (*lane)[PSC_MM_PANEL] = p->lanes[(p->first + b) % PSC_MM_LANES];
        for (unsigned v = 0; v < vectors; v++) {
            __m256 dx = _mm256_loadu_ps(p->d + b * PSC_MM_PANEL + 8 * v);
            for (unsigned r = 0; r < PSC_TILE_QUAD; r++) {
                __m256i below = _mm256_setzero_si256();
                for (unsigned g = 0; g < 4; g++)
                    below = _mm256_add_epi32(below, _mm256_madd_epi16(spread(&p->work->minima[p->row + r][b * 4 + g]),
                                                                      psc_load256(p->sums + (b * 4 + g) * PSC_MM_PANEL + 8 * v)));
                __m256 scale = _mm256_mul_ps(_mm256_set1_ps(p->work->d[p->row + r][b]), dx);
                __m256 m = _mm256_mul_ps(_mm256_set1_ps(p->work->m[p->row + r][b]), dx);
                __m256 products = _mm256_mul_ps(_mm256_cvtepi32_ps(s[r][v]), scale);
                add_to_lane(&lane[r][8 * v], _mm256_sub_ps(products, _mm256_mul_ps(_mm256_cvtepi32_ps(below), m)));
            }
        }
    }
}

PSC_INLINE void tile(enum psc_wtype type, const struct piece *p, unsigned vectors)
{
    if (type == PSC_W_Q8_0 || type == PSC_W_Q6_K)
        tile_words(type, p, vectors);
    else if (type == PSC_W_Q4_K || type == PSC_W_Q5_K)
        tile_k45(type, p, vectors);
    else
        tile_bytes(type, p, vectors);
}

/* ---- the loops around */

/* Tokens [from, from + n) of the batch are in lanes; rows o to o + rows - 1 are stored. */
static void store(const struct psc_mm_job *job, const struct psc_tile_work *work, uint64_t o, unsigned rows,
                  uint64_t from, unsigned n)
{
    for (unsigned t = 0; t < n; t++)
        for (unsigned r = 0; r < rows; r++) {
            const float (*lanes)[PSC_TILE_QUAD][PSC_MM_PANEL] = work->lanes[r / PSC_TILE_QUAD][t / PSC_MM_PANEL];
            const float *l = &lanes[0][r % PSC_TILE_QUAD][t % PSC_MM_PANEL];
            unsigned step = PSC_TILE_QUAD * PSC_MM_PANEL;
            psc_mm_store(job, o + r, from + t, (l[0] + l[2 * step]) + (l[step] + l[3 * step]));
        }
}

/* `rows` opened rows, values [i, i + n), with the tokens of the batch. */
PSC_INLINE void chunk(enum psc_wtype type, const struct psc_mm_job *job, struct psc_tile_work *work, unsigned rows,
                      uint64_t i, unsigned n, uint64_t from, unsigned tokens)
{
    const struct psc_mm_acts *a = &job->acts;
    unsigned block = a->k ? 256 : 32, size = a->form == PSC_MM_PANEL8 ? 1 : 2;
    struct piece p = {.work = work, .first = i / block, .blocks = n / block};
    for (unsigned t = 0; t < tokens; t += PSC_MM_PANEL) {
        uint64_t panel = (from + t) / PSC_MM_PANEL;
        p.x = (const unsigned char *)psc_mm_q(a, panel) + i * size * PSC_MM_PANEL;
        p.d = psc_mm_d(a, panel) + p.first * PSC_MM_PANEL;
        p.sums = (const int32_t *)(const void *)psc_mm_sums(a, panel) + p.first * (a->k ? 4 : 1) * PSC_MM_PANEL;
        for (p.row = 0; p.row < rows; p.row += PSC_TILE_QUAD) {
            p.lanes = work->lanes[p.row / PSC_TILE_QUAD][t / PSC_MM_PANEL];
            if (tokens - t > 8)
                tile(type, &p, 2);
            else
                tile(type, &p, 1);
        }
    }
}

PSC_INLINE void tiles(enum psc_wtype type, const struct psc_mm_job *job, uint64_t lo, uint64_t hi,
                      struct psc_tile_work *work)
{
    for (uint64_t from = 0; from < job->tokens; from += PSC_TILE_BATCH) {
        uint64_t left = job->tokens - from;
        unsigned tokens = left < PSC_TILE_BATCH ? (unsigned)left : PSC_TILE_BATCH;
        for (uint64_t o = lo; o < hi; o += PSC_TILE_ROWS) {
            unsigned rows = hi - o < PSC_TILE_ROWS ? (unsigned)(hi - o) : PSC_TILE_ROWS;
            memset(work->lanes, 0, sizeof work->lanes);
            for (uint64_t i = 0; i < job->in; i += PSC_TILE_VALUES) {
                unsigned n = job->in - i < PSC_TILE_VALUES ? (unsigned)(job->in - i) : PSC_TILE_VALUES;
                for (unsigned r = 0; r < rows; r++)
                    psc_open_row(type, job->w + (o + r) * job->row_bytes, i, n, work, r);
                chunk(type, job, work, rows, i, n, from, tokens);
            }
            store(job, work, o, rows, from, tokens);
        }
    }
}

enum psc_mm_form psc_tile_form_avx2(enum psc_wtype type)
{
    return type == PSC_W_Q8_0 || type == PSC_W_Q6_K ? PSC_MM_PANEL16 : PSC_MM_PANEL8;
}

void psc_tiles_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi, struct psc_tile_work *work)
{
    switch (job->type) {
    case PSC_W_Q8_0:
        tiles(PSC_W_Q8_0, job, lo, hi, work);
        break;
    case PSC_W_Q4_0:
        tiles(PSC_W_Q4_0, job, lo, hi, work);
        break;
    case PSC_W_Q4_1:
        tiles(PSC_W_Q4_1, job, lo, hi, work);
        break;
    case PSC_W_Q5_0:
        tiles(PSC_W_Q5_0, job, lo, hi, work);
        break;
    case PSC_W_Q5_1:
        tiles(PSC_W_Q5_1, job, lo, hi, work);
        break;
    case PSC_W_Q4_K:
        tiles(PSC_W_Q4_K, job, lo, hi, work);
        break;
    case PSC_W_Q5_K:
        tiles(PSC_W_Q5_K, job, lo, hi, work);
        break;
    default:
        tiles(PSC_W_Q6_K, job, lo, hi, work);
    }
}
