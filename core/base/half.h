/* core/base/half.h: IEEE 754 half precision numbers, as bits.
 *
 * To a half: round to nearest, ties to even; too large becomes infinity, NaN stays NaN (quiet, sign kept), subnormals
 * are exact. From a half: always exact (a NaN is made quiet, as x86's F16C does).
 *
 * PSC_BOTH_WORLDS: functions that a CUDA compiler makes for the device, too.
 */
#ifndef PSC_CORE_BASE_HALF_H
#define PSC_CORE_BASE_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PSC_BOTH_WORLDS static __host__ __device__ inline
#else
#define PSC_BOTH_WORLDS static inline
#endif

PSC_BOTH_WORLDS float psc_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 0x3ffu, bits;
    float value;
    if (exponent == 31) {
        bits = sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0);
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else { /* fraction * 2^-24 */
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

PSC_BOTH_WORLDS uint16_t psc_half_from_float(float value)
{
    uint32_t bits, sign, magnitude;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000u;
    magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) /* NaN */
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below 2^-14: subnormal, counted in 2^-24 */
        uint32_t exponent = magnitude >> 23, fraction, shift, half, rest, tie;
        if (exponent < 102) /* below 2^-25: zero */
            return (uint16_t)sign;
        fraction = (magnitude & 0x7fffffu) | 0x800000u;
        shift = 126 - exponent;
        half = fraction >> shift;
        rest = fraction & ((1u << shift) - 1);
        tie = 1u << (shift - 1);
        half += rest > tie || (rest == tie && (half & 1));
        return (uint16_t)(sign | half);
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1u); /* a carry moves into the exponent, as it should */
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

#endif
