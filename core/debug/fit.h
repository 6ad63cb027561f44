/* core/debug/fit.h: do recorded samples obey the op that connects them?
 *
 *     gate   -0.105313  0.249946 ...      silu(gate) * up = -0.020427 -0.046945 ...
 *     up      0.409467 -0.334100 ...
 *     mul    -0.020427 -0.046945 ...      they fit
 *
 * A fit proves that the records belong together, never whose they are: a whole family of another layer fits
 * just as well. A misfit proves that not all of them are what the graph says. Samples are compared where all
 * records have the same count and stride; 1e-5 relative and 2e-6 absolute allow for the rounding of the
 * format.
 */
#ifndef PSC_CORE_DEBUG_FIT_H
#define PSC_CORE_DEBUG_FIT_H

#include "core/doc/doc.h"

enum psc_fit {
    PSC_FIT_UNKNOWN, /* not comparable, all zero, or neither clearly right nor clearly wrong */
    PSC_FITS,        /* every finite sample */
    PSC_MISFITS,     /* more than half of the finite samples are off by 100 times the tolerance */
};

/* Operands whose relation is known: add, mul, swiglu 2; silu 1; all other ops 0. */
uint32_t psc_fit_operands(enum psc_op op);
/* b is NULL for ops of one operand. */
enum psc_fit psc_fit(enum psc_op op, const struct psc_record *result, const struct psc_record *a,
                     const struct psc_record *b);

#endif
