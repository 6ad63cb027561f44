/* core/plan/kv-format.h: how the rows of a KV region are stored.
 *
 *     f32   width words a row
 *     f16   width words a row too: the halves lie in the first half (a saving of bandwidth, not of memory)
 *     q8_0  ceil(width / 32 * 34 / 4) words a row; the width is a non-zero multiple of 32
 */
#ifndef PSC_CORE_PLAN_KV_FORMAT_H
#define PSC_CORE_PLAN_KV_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

enum psc_kv_format { PSC_KV_F32, PSC_KV_F16, PSC_KV_Q8_0, PSC_KV_FORMAT_N };

#endif
