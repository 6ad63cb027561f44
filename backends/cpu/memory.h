/* backends/cpu/memory.h: blocks of host memory that a backend hands out. For host backends and the deferred one. */
#ifndef PSC_BACKENDS_CPU_MEMORY_H
#define PSC_BACKENDS_CPU_MEMORY_H

#include "core/run/backend.h"

struct psc_host_block;
struct psc_host_memory {
    struct psc_host_block *blocks; /* owned; those that are out */
};
void psc_host_memory_release(struct psc_host_memory *m); /* frees all; {0} is empty */
/* Aligned to 64 bytes, contents undefined. */
enum psc_status psc_host_memory_alloc(struct psc_host_memory *m, uint64_t bytes, psc_address *ret,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
void psc_host_memory_free(struct psc_host_memory *m, psc_address at); /* 0 is fine */
/* Bytes that the system can still give, and that it has. */
enum psc_query psc_host_memory_query(uint64_t *ret_free, uint64_t *ret_total);

static inline void *psc_host_pointer(psc_address at)
{
    return (void *)(uintptr_t)at;
}
void psc_host_fill(psc_address at, uint32_t pattern, uint64_t bytes); /* a last part of a word, too */

#endif
