/* core/run/probe.h: what every backend's probes must answer: the hash and the statistics of bytes.
 *
 * The two functions are declared in core/run/backend.h. This page says how they count, for backends that compute the
 * same on a device.
 *
 * Hash. The bytes are cut into chunks of 1,024; the last may be shorter and is read as if zero bytes followed up to a whole
 * 32-byte block. A chunk has four lanes of 64 bits; word k (little-endian) of each block goes into lane k:
 *
 *     lane = lane ^ word;  lane = lane * M;  lane = lane ^ (lane >> 32)          lanes start at PSC_PROBE_SEED * (k + 1)
 *
 * Chunk i gives c_i = mix(((l0 * M + l1) * M + l2) * M + l3 + (i + 1) * PSC_PROBE_STEP), mix being psc_hash_mix, and the
 * hash is mix(n * M + sum of all c_i), all modulo 2^64. A sum has no order: chunks can be hashed in parallel.
 *
 * Statistics, as minfer-formats.md 1.4: min and max by comparisons that NaN never wins (no value: +inf and -inf; of zeros of
 * both signs the first), mean and absmean from sums in f64 taken from the first element to the last; n == 0: all 0. Values
 * that are not finite are counted. Samples are elements 0, stride, 2 stride ...; stride 1 up to 64 elements, else
 * ceil(n / 64). i32 words are numbers; f16, bf16 and q8_0 are decoded first; any other type counts as f32.
 */
#ifndef PSC_CORE_RUN_PROBE_H
#define PSC_CORE_RUN_PROBE_H

#include "core/run/backend.h"

#define PSC_PROBE_CHUNK 1024u
#define PSC_PROBE_MULTIPLIER UINT64_C(0xd6e8feb86659fd93)
#define PSC_PROBE_SEED UINT64_C(0x2545f4914f6cdd1d)
#define PSC_PROBE_STEP UINT64_C(0x9e3779b97f4a7c15)

#endif
