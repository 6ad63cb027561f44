#include "core/debug/fit.h"

#include <math.h>

uint32_t psc_fit_operands(enum psc_op op)
{
    switch (op) {
    case PSC_OP_ADD:
    case PSC_OP_MUL:
    case PSC_OP_SWIGLU: return 2;
    case PSC_OP_SILU: return 1;
    default: return 0;
    }
}

static double silu(double x)
{
    return x / (1.0 + exp(-x));
}

static double expected(enum psc_op op, double a, double b)
{
    switch (op) {
    case PSC_OP_ADD: return a + b;
    case PSC_OP_MUL: return a * b;
    case PSC_OP_SWIGLU: return silu(a) * b;
    default: return silu(a);
    }
}

static bool comparable(const struct psc_record *a, const struct psc_record *b)
{
    return a->n == b->n && a->stride == b->stride && a->value_n == b->value_n && a->dtype == b->dtype;
}

enum psc_fit psc_fit(enum psc_op op, const struct psc_record *result, const struct psc_record *a,
                     const struct psc_record *b)
{
    uint32_t seen = 0, off = 0, far = 0;
    bool all_zero = true;
    if (psc_fit_operands(op) != (b ? 2u : 1u) || !comparable(result, a) || (b && !comparable(result, b)))
        return PSC_FIT_UNKNOWN;
    for (uint32_t i = 0; i < result->value_n; i++) {
        double y = result->values[i], u = a->values[i], v = b ? b->values[i] : 0.0;
        double want = expected(op, u, v), error = fabs(y - want);
        if (!isfinite(error))
            continue;
        double tolerance = 2e-6 + 1e-5 * (fabs(y) + fabs(u) + fabs(v));
        seen++;
        off += error > tolerance;
        far += error > 100.0 * tolerance;
        all_zero = all_zero && y == 0.0;
    }
    if (far > seen / 2)
        return PSC_MISFITS;
    return seen && !off && !all_zero ? PSC_FITS : PSC_FIT_UNKNOWN;
}
