/* core/candela/kernels.h: what an op computes, over handles; for core/candela's executor only. */
#ifndef PSC_CORE_CANDELA_KERNELS_H
#define PSC_CORE_CANDELA_KERNELS_H

#include "core/candela/plan.h"

/* Writes all step->len elements of `to`. False when the kernel would leave its stores (then nothing is written). */
bool psc_kernel_fresh(const struct psc_candela_step *step, const struct psc_handle *inputs, float *to, uint64_t room,
                      uint64_t faults);
/* Overwrites inputs[operand], element by element as its bytes lie. */
bool psc_kernel_in_place(const struct psc_candela_step *step, const struct psc_handle *inputs, uint32_t operand,
                         uint64_t faults);

#endif
