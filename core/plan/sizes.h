/* core/plan/sizes.h: how large a buffer is made for a tensor.
 *
 *     elements asked     class (elements of 4 bytes)
 *     0 .. 256           256
 *     257 .. 4096        the next power of two
 *     above              the next multiple of 4096
 *
 * Two tensors of one class may take turns in one buffer; at most 4095 elements are padding. With
 * PSC_SIZE_EXACT a buffer has exactly the tensor's bytes. Pools hold 4-byte words, so other element
 * types are counted in words, rounded up.
 */
#ifndef PSC_CORE_PLAN_SIZES_H
#define PSC_CORE_PLAN_SIZES_H

#include "core/plan/plan.h"

uint64_t psc_size_class(uint64_t elements); /* elements <= PSC_BYTES_MAX */
/* Bytes of the buffer for a tensor of `bytes` bytes. */
uint64_t psc_size_bytes(enum psc_size size, uint64_t bytes);

#endif
