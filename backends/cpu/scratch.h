/* backends/cpu/scratch.h: memory that kernels may use and never ask for.
 *
 *     launch    needs of the call -> psc_cpu_scratch_reserve     the only place that allocates
 *               psc_cpu_scratch_begin
 *     kernel    psc_cpu_scratch_take, take ...                    pieces of what was reserved, gone with the call
 *     launch    psc_cpu_scratch_wrote(output)                     the memo dies if these were its bytes
 *
 * The memo is a second block that survives the call: activations, quantised for a matmul, so that q, k and v, or
 * gate and up, quantise their common operand once. It is known by the address of the floats, and is good exactly as long as
 * nobody writes there: whoever writes memory of the backend (kernels, fills, copies, host writes, alloc and free)
 * says so with psc_cpu_scratch_wrote, and a synchronise forgets it. Fault l33 is a launch that does not say so.
 */
#ifndef PSC_BACKENDS_CPU_SCRATCH_H
#define PSC_BACKENDS_CPU_SCRATCH_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psc_cpu_memo {
    const float *x;              /* NULL: nothing is kept */
    uint64_t x_stride, in, tokens; /* floats */
    unsigned act;                /* enum psc_act of what lies in the memo block */
};
struct psc_cpu_scratch {
    unsigned char *temp, *kept;  /* 64-byte aligned, inside the owned blocks */
    uint64_t temp_cap, kept_cap, used; /* bytes */
    struct psc_cpu_memo memo;    /* what `kept` holds */
    void *temp_block, *kept_block; /* owned */
};
/* What a call needs. temp counts each piece rounded up to 64 bytes: psc_cpu_piece. */
struct psc_cpu_needs { uint64_t temp, kept; };

void psc_cpu_scratch_release(struct psc_cpu_scratch *s); /* {0} is an empty scratch */
/* Grows both blocks to what is needed. Growing `kept` forgets the memo. On failure all is as it was. */
enum psc_status psc_cpu_scratch_reserve(struct psc_cpu_scratch *s, const struct psc_cpu_needs *needs,
                                        struct psc_error *reterr) PSC_MUST_CHECK;
static inline void psc_cpu_scratch_begin(struct psc_cpu_scratch *s)
{
    s->used = 0;
}
/* 64-byte aligned, uninitialised; the call's needs must have counted it (asserted). Not from inside a task. */
void *psc_cpu_scratch_take(struct psc_cpu_scratch *s, uint64_t bytes);

/* Forgets the memo if its floats lie in these bytes. */
void psc_cpu_scratch_wrote(struct psc_cpu_scratch *s, const void *at, uint64_t bytes);
static inline void psc_cpu_scratch_forget(struct psc_cpu_scratch *s)
{
    s->memo.x = NULL;
}
/* Adds a piece; false on overflow. */
bool psc_cpu_piece(uint64_t n, uint64_t size, uint64_t *sum) PSC_MUST_CHECK;

#endif
