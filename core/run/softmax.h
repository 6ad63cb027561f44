/* core/run/softmax.h: probabilities out of logits, the same bits on every machine.
 *
 * psc_exp is our own exponential function: additions and multiplications of IEEE doubles in a fixed order, so that no
 * two C libraries can disagree in the last bit; it is within one unit in the last place of the exact value.
 *
 * A NaN or +infinity among logits is an error (PSC_ERR_RUN) that names the first one: the run went wrong, and a token
 * picked all the same would hide that. -infinity is a token that cannot come; if all are, that is an error too.
 */
#ifndef PSC_CORE_RUN_SOFTMAX_H
#define PSC_CORE_RUN_SOFTMAX_H

#include "core/base/status.h"
#include "core/doc/doc.h"

#include <stdint.h>

double psc_exp(double x); /* x <= 0, -infinity included */

/* The highest logit; the errors above. n >= 1. */
enum psc_status psc_logits_highest(const float *logits, uint32_t n, float *ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

/* The sum over all n, in order of the ids, of e^((logit - highest) / temperature). */
double psc_logits_weight(const float *logits, uint32_t n, float highest, double temperature);
/* The first id at which that sum, taken up to it, is above `share` (0 to 1) of the whole. */
uint32_t psc_logits_draw(const float *logits, uint32_t n, float highest, double temperature, double share);

/* The five most probable tokens, as a trace has them in `logits_top`: the softmax of all n logits (no penalty, no
 * temperature) with the difference to the highest taken in f32, exponentials and their sum in f64 in order of the ids,
 * highest first, of equal ones the lower id; p rounded to f32 and widened again. Fewer when n < 5. n >= 1. */
#define PSC_LOGITS_TOP_N 5u
enum psc_status psc_logits_top(const float *logits, uint32_t n, struct psc_logit ret[PSC_LOGITS_TOP_N],
                               uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
