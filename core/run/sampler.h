/* core/run/sampler.h: from logits to the next token.
 *
 * Stages, in this order; each may be switched off:
 *     1. repeat penalty   every token among the last `repeat_window` accepted ones, once: a logit above 0 is divided
 *                         by the penalty, another is multiplied with it (f32)
 *     2. greedy           temperature 0: the highest logit, of equal ones the lowest id; the end
 *     3. top-k            the k highest, of equal ones the lower ids
 *     4. top-p            of these, highest first, the fewest whose probabilities sum to at least p; one at least
 *     5. min-p            of these, the ones at least min_p times as probable as the first
 *     6. temperature      of what is left, exp((logit - highest) / temperature), and one draw
 * Stages 4 and 5 look at the probabilities of the model (temperature 1), after the penalty, among what the stages
 * before them left. The draw takes exactly one number of the generator and walks what is left from the highest down;
 * when stages 3 to 5 are off, all tokens in order of their ids.
 *
 * Same logits, options, seed and accepted tokens: same token, on every machine. The generator is psc_random_next
 * (core/base/hash.h), the exponential function psc_exp (core/run/softmax.h, which also says what logits are refused);
 * sums are of doubles, one after the other: from the highest token down, or, over the whole vocabulary, in order of the
 * ids.
 *
 * Cost: O(n) for greedy, else O(n + m log n) for m tokens left by the stages; no allocation after psc_sampler_new.
 */
#ifndef PSC_CORE_RUN_SAMPLER_H
#define PSC_CORE_RUN_SAMPLER_H

#include "core/base/status.h"
#include "core/run/softmax.h"

#include <stdint.h>

struct psc_sampling {       /* {0}: greedy, everything off */
    float temperature;      /* 0: greedy */
    uint32_t top_k;         /* 0: off */
    float top_p;            /* 0 to 1; 0 and 1: off */
    float min_p;            /* 0 to 1; 0: off */
    float repeat_penalty;   /* 0 and 1: off */
    uint32_t repeat_window; /* tokens looked back; 0: off */
    uint64_t seed;
};
/* Greedy, everything off, window 64, seed 0. */
struct psc_sampling psc_sampling_default(void);
/* PSC_ERR_USAGE with a sentence when a field is outside its range. */
enum psc_status psc_sampling_check(const struct psc_sampling *sampling, struct psc_error *reterr) PSC_MUST_CHECK;

#define PSC_REPEAT_WINDOW     64u
#define PSC_REPEAT_WINDOW_MAX (1u << 20)

struct psc_sampler;
/* For logits of n tokens (at least 1). */
enum psc_status psc_sampler_new(const struct psc_sampling *sampling, uint32_t n, struct psc_sampler **ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
void psc_sampler_free(struct psc_sampler *sampler); /* NULL is fine */

/* Tells the sampler of a token that stands in the text, of the prompt or sampled: it enters the repeat window. */
void psc_sampler_accept(struct psc_sampler *sampler, uint32_t token);
/* Picks from n logits, which stay as they are; the token is not accepted yet. A failed call draws no number. */
enum psc_status psc_sampler_next(struct psc_sampler *sampler, const float *logits, uint32_t *ret_token,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* As new: the window is empty, the generator at its seed. */
void psc_sampler_restart(struct psc_sampler *sampler);

#endif
