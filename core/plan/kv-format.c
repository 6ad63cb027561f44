#include "core/plan/kv-format.h"

#include "core/base/half.h"

#include <math.h>
#include <string.h>

static const char *const names[PSC_KV_FORMAT_N] = {"f32", "f16", "q8_0"};

const char *psc_kv_format_name(enum psc_kv_format format)
{
    return format < PSC_KV_FORMAT_N ? names[format] : "?";
}

bool psc_kv_format_parse(const char *text, enum psc_kv_format *ret)
{
    for (unsigned i = 0; i < PSC_KV_FORMAT_N; i++)
        if (!strcmp(text, names[i])) {
            *ret = (enum psc_kv_format)i;
            return true;
        }
    return false;
}

enum psc_status psc_kv_row_words(enum psc_kv_format format, uint32_t nkt, uint32_t *ret, struct psc_error *reterr)
{
    if (nkt == 0 || nkt > PSC_KV_WIDTH_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "a KV row of %u values: 1 to %u are possible", nkt, PSC_KV_WIDTH_MAX);
    if (format == PSC_KV_Q8_0 && nkt % PSC_KV_BLOCK)
        return psc_fail(reterr, PSC_ERR_USAGE, "a KV row of %u values cannot be stored as q8_0: the width must be a "
                        "multiple of %u", nkt, PSC_KV_BLOCK);
    *ret = format == PSC_KV_Q8_0 ? (nkt / PSC_KV_BLOCK * PSC_KV_BLOCK_BYTES + 3) / 4 : nkt;
    return PSC_OK;
}

/* A block with a value that is not finite gets a scale that is not finite: all of it decodes to NaN, hidden nowhere. */
static void encode_block(const float *x, uint8_t *block)
{
    float amax = 0, inverse;
    bool finite = true;
    uint16_t scale;
    for (unsigned i = 0; i < PSC_KV_BLOCK; i++) {
        finite &= isfinite(x[i]) != 0;
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    }
    scale = psc_half_from_float(finite ? amax / 127 : NAN);
    memcpy(block, &scale, sizeof scale);
    inverse = finite && amax > 0 ? 127 / amax : 0;
    if (!isfinite(inverse)) /* then d is zero as a half, too */
        inverse = 0;
    for (unsigned i = 0; i < PSC_KV_BLOCK; i++) {
        int8_t q = inverse > 0 ? (int8_t)rintf(x[i] * inverse) : 0;
        memcpy(block + 2 + i, &q, 1);
    }
}

static void decode_block(const uint8_t *block, float *ret)
{
    uint16_t scale;
    memcpy(&scale, block, sizeof scale);
    float d = psc_half_to_float(scale);
    for (unsigned i = 0; i < PSC_KV_BLOCK; i++)
        ret[i] = (float)(int8_t)block[2 + i] * d;
}

void psc_kv_row_encode(enum psc_kv_format format, uint32_t nkt, const float *values, void *row)
{
    uint8_t *bytes = row;
    if (format == PSC_KV_F32) {
        memcpy(row, values, nkt * sizeof *values);
    } else if (format == PSC_KV_F16) {
        for (uint32_t i = 0; i < nkt; i++) {
            uint16_t half = psc_half_from_float(values[i]);
            memcpy(bytes + 2 * i, &half, sizeof half);
        }
        memset(bytes + 2 * (size_t)nkt, 0, 2 * (size_t)nkt);
    } else {
        uint32_t blocks = nkt / PSC_KV_BLOCK;
        for (uint32_t b = 0; b < blocks; b++)
            encode_block(values + b * PSC_KV_BLOCK, bytes + b * PSC_KV_BLOCK_BYTES);
        memset(bytes + blocks * PSC_KV_BLOCK_BYTES, 0, blocks % 2 * 2); /* 34 a block: an odd number ends amid a word */
    }
}

void psc_kv_row_decode(enum psc_kv_format format, uint32_t nkt, const void *row, float *ret)
{
    const uint8_t *bytes = row;
    if (format == PSC_KV_F32) {
        memcpy(ret, row, nkt * sizeof *ret);
    } else if (format == PSC_KV_F16) {
        for (uint32_t i = 0; i < nkt; i++) {
            uint16_t half;
            memcpy(&half, bytes + 2 * i, sizeof half);
            ret[i] = psc_half_to_float(half);
        }
    } else {
        for (uint32_t b = 0; b < nkt / PSC_KV_BLOCK; b++)
            decode_block(bytes + b * PSC_KV_BLOCK_BYTES, ret + b * PSC_KV_BLOCK);
    }
}

/* Sines and cosines of the angles that every head turns by, pair by pair. */
static void angles(const struct psc_kv_rope *rope, int32_t delta, float *turn)
{
    for (uint32_t i = 0; i < rope->hd / 2; i++) {
        double angle = delta * ((double)rope->freq_scale / pow(rope->freq_base, 2.0 * i / rope->hd));
        turn[2 * i] = (float)cos(angle);
        turn[2 * i + 1] = (float)sin(angle);
    }
}

static void rotate(const struct psc_kv_rope *rope, uint32_t nkt, const float *turn, float *x)
{
    uint32_t half = rope->hd / 2, step = rope->interleaved ? 2 : 1, other = rope->interleaved ? 1 : half;
    for (uint32_t head = 0; head < nkt; head += rope->hd)
        for (uint32_t i = 0; i < half; i++) {
            float *a = x + head + i * step, *b = a + other, a0 = *a, b0 = *b;
            *a = a0 * turn[2 * i] - b0 * turn[2 * i + 1];
            *b = a0 * turn[2 * i + 1] + b0 * turn[2 * i];
        }
}

enum psc_status psc_kv_rows_rotate(enum psc_kv_format format, uint32_t nkt, const struct psc_kv_rope *rope,
                                   int32_t delta, void *rows, uint32_t row_n, float *scratch, struct psc_error *reterr)
{
    uint32_t words = 0;
    enum psc_status status;
    if (format == PSC_KV_F16)
        return psc_fail(reterr, PSC_ERR_USAGE, "K rows of an f16 cache cannot be turned by a physical shift: use f32 or "
                        "q8_0");
    if (rope->hd == 0 || rope->hd % 2 || nkt % rope->hd)
        return psc_fail(reterr, PSC_ERR_USAGE, "a K row of %u values cannot be turned by heads of %u", nkt, rope->hd);
    status = psc_kv_row_words(format, nkt, &words, reterr);
    if (status)
        return status;
    angles(rope, delta, scratch + nkt);
    for (uint32_t r = 0; r < row_n; r++) {
        uint8_t *row = (uint8_t *)rows + (size_t)r * words * 4;
        psc_kv_row_decode(format, nkt, row, scratch);
        rotate(rope, nkt, scratch + nkt, scratch);
        psc_kv_row_encode(format, nkt, scratch, row);
    }
    return PSC_OK;
}
