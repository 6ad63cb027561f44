/* Compiled twice: as it is, and with PSC_VEC_AVX2 and the flags of AVX2 and F16C. See vec.h for the promise. */
#include "backends/cpu/vec.h"

#include "core/model/blocks.h"

#include <math.h>
#include <string.h>

#ifdef PSC_VEC_AVX2
#include <immintrin.h>
#define TABLE psc_cpu_vec_avx2
#define TABLE_NAME "avx2"
extern const struct psc_cpu_vec psc_cpu_vec_avx2;
#else
#define TABLE psc_cpu_vec_portable
#define TABLE_NAME "portable"
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef double d4 __attribute__((vector_size(32)));
typedef uint32_t u4 __attribute__((vector_size(16)));
typedef uint16_t h4_at __attribute__((vector_size(8), aligned(2), may_alias));
typedef float v8_at __attribute__((vector_size(32), aligned(4), may_alias)); /* a vector anywhere in memory */
typedef float v4_at __attribute__((vector_size(16), aligned(4), may_alias));

INLINE v8 load(const float *p)
{
    return *(const v8_at *)p;
}
INLINE void store(float *p, v8 x)
{
    *(v8_at *)p = x;
}
/* The first n < 8 lanes; the others are 0. */
INLINE v8 load_part(const float *p, uint64_t n)
{
    float lanes[8] = {0};
    for (uint64_t i = 0; i < n; i++)
        lanes[i] = p[i];
    return load(lanes);
}
INLINE void store_part(float *p, v8 x, uint64_t n)
{
    float lanes[8];
    store(lanes, x);
    for (uint64_t i = 0; i < n; i++)
        p[i] = lanes[i];
}
INLINE v8 all(float x)
{
    return (v8){x, x, x, x, x, x, x, x};
}
INLINE v8 pick(i8 mask, v8 yes, v8 no) /* lanes of mask are 0 or -1 */
{
    return (v8)(((i8)yes & mask) | ((i8)no & ~mask));
}
/* l + (l + 4): the first step of every total. */
INLINE v4 fold(v8 x)
{
#ifdef PSC_VEC_AVX2 /* the compiler would permute lanes, which some processors do slowly */
    return _mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1);
#else
    return __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
#endif
}
INLINE float total(v8 x)
{
    v4 f = fold(x);
    return (f[0] + f[2]) + (f[1] + f[3]);
}

/* Into -104 .. 89; NaN stays. */
INLINE v8 clamp8(v8 x)
{
#ifdef PSC_VEC_AVX2
    return _mm256_max_ps(all(-104.0f), _mm256_min_ps(all(89.0f), x));
#else
    x = pick(x > 89.0f, all(89.0f), x);
    return pick(x < -104.0f, all(-104.0f), x);
#endif
}

/* exp. x = n ln 2 + r with |r| <= ln 2 / 2; n ln 2 is taken off in two parts of which the first product is exact, and
 * exp(r) = 1 + r + r^2 p(r), p of degree 4 fitted for least relative error (3.2e-9). 2^n is applied in two factors, so
 * that results below the normal range and above the largest are rounded as they should. */
INLINE v8 exp8(v8 x)
{
    const v8 magic = all(12582912.0f); /* 1.5 * 2^23: adding it rounds to a whole number */
    x = clamp8(x);
    v8 t = x * 1.44269504f + magic;
    i8 n = (i8)t - (i8)magic;
    v8 whole = t - magic;
    v8 r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    v8 p = r * 0x1.6a4746p-10f + 0x1.1239a2p-7f;
    p = p * r + 0x1.5558b6p-5f;
    p = p * r + 0x1.555492p-3f;
    p = p * r + 0x1.fffffcp-2f;
    v8 y = (r * r * p + r) + 1.0f;
    i8 half = n >> 1;
    v8 a = (v8)((half + 127) << 23), b = (v8)((n - half + 127) << 23);
    return y * a * b;
}
INLINE v8 silu8(v8 x)
{
    return x / (exp8(-x) + 1.0f);
}

/* ---- element by element ---------------------------------------------------------------------- */

static void add(const float *a, const float *b, float *out, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

static void mul(const float *a, const float *b, float *out, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

static void scale(const float *a, float by, float *out, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        out[i] = a[i] * by;
}

static void divide(const float *x, float by, float *out, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        out[i] = x[i] / by;
}

static void silu(const float *x, float *out, uint64_t n)
{
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8)
        store(out + i, silu8(load(x + i)));
    if (i < n)
        store_part(out + i, silu8(load_part(x + i, n - i)), n - i);
}

static void swiglu(const float *gate, const float *up, float *out, uint64_t n)
{
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8)
        store(out + i, silu8(load(gate + i)) * load(up + i));
    if (i < n)
        store_part(out + i, silu8(load_part(gate + i, n - i)) * load_part(up + i, n - i), n - i);
}

/* ---- rows ------------------------------------------------------------------------------------ */

INLINE void add_squares(v8 x, d4 *lo, d4 *hi)
{
    d4 a = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), d4);
    d4 b = __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), d4);
    *lo += a * a;
    *hi += b * b;
}

static double sum_squares(const float *x, uint64_t n)
{
    d4 lo = {0}, hi = {0};
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8)
        add_squares(load(x + i), &lo, &hi);
    if (i < n)
        add_squares(load_part(x + i, n - i), &lo, &hi);
    d4 f = lo + hi;
    return (f[0] + f[2]) + (f[1] + f[3]);
}

static void norm(const float *x, float by, const float *weight, const float *bias, float *out, uint64_t n)
{
    if (weight && bias)
        for (uint64_t i = 0; i < n; i++)
            out[i] = x[i] * by * weight[i] + bias[i];
    else if (weight)
        for (uint64_t i = 0; i < n; i++)
            out[i] = x[i] * by * weight[i];
    else if (bias)
        for (uint64_t i = 0; i < n; i++)
            out[i] = x[i] * by + bias[i];
    else
        scale(x, by, out, n);
}

static float largest(const float *x, uint64_t n)
{
    v8 m = all(-INFINITY);
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        v8 a = load(x + i);
        m = pick(a > m, a, m);
    }
    float best = -INFINITY;
    for (int k = 0; k < 8; k++)
        best = m[k] > best ? m[k] : best;
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

static float exp_minus(const float *x, float minus, float *out, uint64_t n)
{
    v8 sum = {0};
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        v8 e = exp8(load(x + i) - minus);
        store(out + i, e);
        sum += e;
    }
    if (i < n) {
        store_part(out + i, exp8(load_part(x + i, n - i) - minus), n - i);
        sum += load_part(out + i, n - i);
    }
    return total(sum);
}

INLINE void softmax_8(const float *x, float *out, uint64_t rows, uint64_t stride, uint64_t n, bool normalise)
{
    v8 m = all(-INFINITY), sum = {0};
    for (uint64_t r = 0; r < rows; r++) {
        v8 a = n == 8 ? load(x + r * stride) : load_part(x + r * stride, n);
        m = pick(a > m, a, m);
    }
    for (uint64_t r = 0; r < rows; r++) {
        v8 a = n == 8 ? load(x + r * stride) : load_part(x + r * stride, n), e = exp8(a - m);
        sum += e;
        store_part(out + r * stride, e, n);
    }
    for (uint64_t r = 0; r < rows && normalise; r++) {
        v8 e = n == 8 ? load(out + r * stride) : load_part(out + r * stride, n);
        store_part(out + r * stride, e / sum, n);
    }
}

static void softmax_columns(const float *x, float *out, uint64_t rows, uint64_t stride, uint64_t n, bool normalise)
{
    for (uint64_t i = 0; i < n; i += 8)
        softmax_8(x + i, out + i, rows, stride, n - i < 8 ? n - i : 8, normalise);
}

static void rotate(const float *x, const float *turn, float *out, uint64_t hd, bool interleaved)
{
    uint64_t half = hd / 2, i = 0;
    const float *cosine = turn, *sine = turn + half;
    if (interleaved) {
        for (; i < half; i++) {
            float a = x[2 * i], b = x[2 * i + 1];
            out[2 * i] = a * cosine[i] - b * sine[i];
            out[2 * i + 1] = a * sine[i] + b * cosine[i];
        }
        return;
    }
    for (; i + 8 <= half; i += 8) {
        v8 a = load(x + i), b = load(x + half + i), c = load(cosine + i), s = load(sine + i);
        store(out + i, a * c - b * s);
        store(out + half + i, a * s + b * c);
    }
    for (; i < half; i++) {
        float a = x[i], b = x[half + i];
        out[i] = a * cosine[i] - b * sine[i];
        out[half + i] = a * sine[i] + b * cosine[i];
    }
}

/* ---- attention and products of activations --------------------------------------------------- */

INLINE v8 dot_lanes(const float *q, const float *k, uint64_t n)
{
    v8 sum = {0};
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8)
        sum += load(q + i) * load(k + i);
    if (i < n)
        sum += load_part(q + i, n - i) * load_part(k + i, n - i);
    return sum;
}

/* The totals of four sums of lanes, of which the first step is done. */
INLINE v4 total_4(v4 f0, v4 f1, v4 f2, v4 f3)
{
    v4 g01 = __builtin_shufflevector(f0, f1, 0, 4, 1, 5) + __builtin_shufflevector(f0, f1, 2, 6, 3, 7);
    v4 g23 = __builtin_shufflevector(f2, f3, 0, 4, 1, 5) + __builtin_shufflevector(f2, f3, 2, 6, 3, 7);
    return __builtin_shufflevector(g01, g23, 0, 1, 4, 5) + __builtin_shufflevector(g01, g23, 2, 3, 6, 7);
}

/* Four rows at once, so that many sums are under way: each lane adds in the order of dot_lanes. A row is loaded once for
 * two heads where there are registers enough. */
#ifdef PSC_VEC_AVX2
INLINE void dot_4(const float *q0, const float *q1, bool two, const float *k, uint64_t stride, uint64_t n, float by,
                  float *out0, float *out1)
{
    v8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
    for (uint64_t i = 0; i < n; i += 8) {
        bool whole = i + 8 <= n;
        v8 a = whole ? load(q0 + i) : load_part(q0 + i, n - i), b = a;
        if (two)
            b = whole ? load(q1 + i) : load_part(q1 + i, n - i);
        v8 k0 = whole ? load(k + i) : load_part(k + i, n - i);
        v8 k1 = whole ? load(k + stride + i) : load_part(k + stride + i, n - i);
        v8 k2 = whole ? load(k + 2 * stride + i) : load_part(k + 2 * stride + i, n - i);
        v8 k3 = whole ? load(k + 3 * stride + i) : load_part(k + 3 * stride + i, n - i);
        s0 += a * k0, s1 += a * k1, s2 += a * k2, s3 += a * k3;
        if (two)
            t0 += b * k0, t1 += b * k1, t2 += b * k2, t3 += b * k3;
    }
    *(v4_at *)out0 = total_4(fold(s0), fold(s1), fold(s2), fold(s3)) * by;
    if (two)
        *(v4_at *)out1 = total_4(fold(t0), fold(t1), fold(t2), fold(t3)) * by;
}
#else
/* Lanes 0 to 3 of row r in s[r], 4 to 7 in t[r]. */
INLINE void add_products(v4 s[4], v4 t[4], const float *q, const float *k, uint64_t stride)
{
    v4 a = *(const v4_at *)q, b = *(const v4_at *)(q + 4);
    for (int r = 0; r < 4; r++) {
        s[r] += a * *(const v4_at *)(k + (uint64_t)r * stride);
        t[r] += b * *(const v4_at *)(k + (uint64_t)r * stride + 4);
    }
}

INLINE void dot_one(const float *q, const float *k, uint64_t stride, uint64_t n, float by, float *out)
{
    v4 s[4] = {{0}}, t[4] = {{0}};
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8)
        add_products(s, t, q + i, k + i, stride);
    if (i < n) {
        float last[5][8] = {{0}}; /* q and four rows, zeros behind their ends */
        for (uint64_t l = i; l < n; l++) {
            last[0][l - i] = q[l];
            for (uint64_t r = 0; r < 4; r++)
                last[1 + r][l - i] = k[r * stride + l];
        }
        add_products(s, t, last[0], last[1], 8);
    }
    *(v4_at *)out = total_4(s[0] + t[0], s[1] + t[1], s[2] + t[2], s[3] + t[3]) * by;
}

INLINE void dot_4(const float *q0, const float *q1, bool two, const float *k, uint64_t stride, uint64_t n, float by,
                  float *out0, float *out1)
{
    dot_one(q0, k, stride, n, by, out0);
    if (two)
        dot_one(q1, k, stride, n, by, out1);
}
#endif

static void scores(const float *q, uint64_t q_stride, uint64_t heads, const float *k, uint64_t stride, uint64_t rows,
                   uint64_t n, float by, float *out, uint64_t out_stride)
{
    for (uint64_t h = 0; h < heads; h += 2, q += 2 * q_stride, out += 2 * out_stride) {
        uint64_t r = 0;
        bool two = h + 1 < heads;
        for (; r + 4 <= rows; r += 4)
            if (two)
                dot_4(q, q + q_stride, true, k + r * stride, stride, n, by, out + r, out + out_stride + r);
            else
                dot_4(q, q, false, k + r * stride, stride, n, by, out + r, out + r);
        for (; r < rows; r++) {
            out[r] = total(dot_lanes(q, k + r * stride, n)) * by;
            if (two)
                out[out_stride + r] = total(dot_lanes(q + q_stride, k + r * stride, n)) * by;
        }
    }
}

/* Every element is a sum of its own, so any width of vector gives the same bits: the widest that fits a register. */
#ifdef PSC_VEC_AVX2
typedef v8_at vn_at;
typedef v8 vn;
#define VN 8u
#else
typedef v4_at vn_at;
typedef v4 vn;
#define VN 4u
#endif

static void weigh(const float *p, const float *v, uint64_t stride, uint64_t rows, uint64_t n, float *acc)
{
    uint64_t i = 0;
    for (; i + 4 * VN <= n; i += 4 * VN) {
        vn_at *to = (vn_at *)(acc + i);
        vn a = to[0], b = to[1], c = to[2], d = to[3];
        for (uint64_t r = 0; r < rows; r++) {
            const vn_at *row = (const vn_at *)(v + r * stride + i);
            a += row[0] * p[r];
            b += row[1] * p[r];
            c += row[2] * p[r];
            d += row[3] * p[r];
        }
        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
    }
    for (; i + VN <= n; i += VN) {
        vn a = *(vn_at *)(acc + i);
        for (uint64_t r = 0; r < rows; r++)
            a += *(const vn_at *)(v + r * stride + i) * p[r];
        *(vn_at *)(acc + i) = a;
    }
    for (; i < n; i++)
        for (uint64_t r = 0; r < rows; r++)
            acc[i] += v[r * stride + i] * p[r];
}

/* ---- stored formats -------------------------------------------------------------------------- */

static void from_f16(const uint16_t *x, float *out, uint64_t n)
{
    uint64_t i = 0;
#ifdef PSC_VEC_AVX2
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
#endif
#ifndef PSC_VEC_AVX2
    for (; i + 4 <= n; i += 4) { /* psc_f16_to_f32 without branches: the exponent is moved up by a product, which is exact */
        u4 h = __builtin_convertvector(*(const h4_at *)(x + i), u4), a = (h & 0x7fff) << 13;
        u4 finite = (u4)((v4)a * 0x1p112f), other = a | 0x7f800000 | ((u4)(a > 0x0f800000) & 0x00400000);
        u4 is_finite = (u4)(a < 0x0f800000);
        *(v4_at *)(out + i) = (v4)((h & 0x8000) << 16 | (finite & is_finite) | (other & ~is_finite));
    }
#endif
    for (; i < n; i++)
        out[i] = psc_f16_to_f32(x[i]);
}

static void from_q8_0(const void *blocks, float *out, uint64_t n)
{
    const unsigned char *at = blocks;
    for (uint64_t i = 0; i < n; i += 32, at += sizeof(struct psc_q8_0)) {
        struct psc_q8_0 b;
        memcpy(&b, at, sizeof b);
        float d = psc_f16_to_f32(b.d);
        for (int j = 0; j < 32; j++)
            out[i + (uint64_t)j] = (float)b.q[j] * d;
    }
}

const struct psc_cpu_vec TABLE = {
    .name = TABLE_NAME,
    .add = add,
    .mul = mul,
    .scale = scale,
    .silu = silu,
    .swiglu = swiglu,
    .sum_squares = sum_squares,
    .norm = norm,
    .largest = largest,
    .exp_minus = exp_minus,
    .divide = divide,
    .softmax_columns = softmax_columns,
    .rotate = rotate,
    .scores = scores,
    .weigh = weigh,
    .from_f16 = from_f16,
    .from_q8_0 = from_q8_0,
};
