/* core/plan/kv-format.h: how a row of the KV cache is stored.
 *
 * Pools are made of 4-byte words. A row holds nkt floats (the K or V of all KV heads of one token):
 *
 *     f32    nkt words
 *     f16    nkt words, too: the halves lie in the first half of the row (a gain of bandwidth, not of memory)
 *     q8_0   blocks of 32: a half scale d and 32 signed bytes, 34 bytes; ceil(nkt / 32 * 34 / 4) words
 *
 *     nkt            64    96   128  1024
 *     q8_0 words     17    26    34   272
 *
 * q8_0 needs a width that is a non-zero multiple of 32. Rows start at whole words.
 */
#ifndef PSC_CORE_PLAN_KV_FORMAT_H
#define PSC_CORE_PLAN_KV_FORMAT_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum psc_kv_format { PSC_KV_F32, PSC_KV_F16, PSC_KV_Q8_0, PSC_KV_FORMAT_N };
#define PSC_KV_BLOCK 32u        /* values of a q8_0 block */
#define PSC_KV_BLOCK_BYTES 34u
#define PSC_KV_WIDTH_MAX (1u << 24) /* floats of a row */

const char *psc_kv_format_name(enum psc_kv_format format); /* "f32", "f16", "q8_0" */
bool psc_kv_format_parse(const char *text, enum psc_kv_format *ret); /* the same words; false when unknown */

/* Words of a row. PSC_ERR_USAGE when the format cannot hold rows of that width. */
enum psc_status psc_kv_row_words(enum psc_kv_format format, uint32_t nkt, uint32_t *ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

/* A row to and from floats. `row` has the words of psc_kv_row_words (a kernel may know only a backend's word type, so
 * it is void); what lies in it behind the payload is zeroed, so that it is the same bytes wherever it is stored. q8_0:
 * per block d = amax / 127 as half, values round half to even of x * 127 / amax, 0 for a block of zeros; within 0.55
 * steps of d. */
void psc_kv_row_encode(enum psc_kv_format format, uint32_t nkt, const float *values, void *row);
void psc_kv_row_decode(enum psc_kv_format format, uint32_t nkt, const void *row, float *ret);

/* Turns K rows by `delta` positions: for each head of hd values, frequency i = freq_scale / freq_base^(2i / hd), the
 * pair (i, i + hd / 2), or (2i, 2i + 1) when interleaved. q8_0 is decoded, turned and encoded again; f16 is refused
 * with PSC_ERR_USAGE, before anything is read. rows: row_n of them, one behind the other. scratch: nkt + hd floats. Not
 * bit for bit what fresh rows at the new positions would be (about 1e-5 for f32). */
struct psc_kv_rope {
    uint32_t hd;
    float freq_base, freq_scale;
    bool interleaved;
};
enum psc_status psc_kv_rows_rotate(enum psc_kv_format format, uint32_t nkt, const struct psc_kv_rope *rope,
                                   int32_t delta, void *rows, uint32_t row_n, float *scratch,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

#endif
