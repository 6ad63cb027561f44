/* core/debug/shootout.h: one phase under one planner after another: what each costs, and whether it is right.
 *
 *     planner      reserved   = lower bound + padding   + holes
 *     pool       31,671,296     27,262,404     38,460    4,370,432
 *     best-fit   28,839,364     27,262,404          0    1,576,960
 *     optimal    27,262,404     27,262,404          0            0
 *
 * Every plan is checked as `check` does it (core/debug/analysis.h). Time is that of planning alone, without lowering and checking:
 * the median of several runs, each of a plan made from nothing. A planner that cannot do the document is a contender too, with its
 * reason.
 *
 * The parts of `reserved` are those of the moment of the peak: `lower_bound` are the exact bytes alive then with this plan's merges
 * in place, `padding` what buffers in use have beyond them, `holes` everything that lies idle. Of a story without a plan (events of a
 * file) nothing is known but tenancies: padding is 0 there.
 * Ownership: a contender owns its analysis; the phase is borrowed and outlives it.
 */
#ifndef PSC_CORE_DEBUG_SHOOTOUT_H
#define PSC_CORE_DEBUG_SHOOTOUT_H

#include "core/debug/analysis.h"

struct psc_cost {
    uint64_t buffers, reserved, peak_live, lower_bound, padding, holes, in_place; /* reserved and parts: bytes */
    double ratio;                /* reserved / lower_bound; 1 when both are 0 */
    enum psc_proof proof;        /* of planners of arenas: what they know of the height; else PSC_PROOF_NONE */
};

/* All 0 without a story. Of an expression: what its plan asks for, as `plan` says it; leaves are the caller's. */
struct psc_cost psc_cost_of(const struct psc_analysis *analysis);

#define PSC_SHOOTOUT_RUNS 9u     /* at most so many are timed */
#define PSC_SHOOTOUT_MS 200.0    /* no further run once so many milliseconds were spent on them */

struct psc_contender {
    const char *name;               /* of the planner, or PSC_CONTENDER_FILE; borrowed */
    struct psc_analysis *analysis;  /* owned; NULL when it cannot, or when it was released and the figures kept */
    bool able;                      /* else `why` says what stands against it, and there are no figures */
    char why[480];
    struct psc_cost cost;
    double milliseconds;            /* median; < 0: not planned here */
    uint32_t runs;                  /* timed ones */
};
#define PSC_CONTENDER_FILE "file"

/* options->planner plans (NULL: what the file brings, which needs a story or a plan in the phase). `name` is kept. Fails for
 * PSC_ERR_NOMEM only: all else is a reason. Release the contender in any case. */
enum psc_status psc_contender_run(const struct psc_phase *phase, const char *name, const struct psc_analysis_options *options,
                                  struct psc_contender *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* A contender of which the caller knows that it cannot, and why. */
void psc_contender_refuse(struct psc_contender *ret, const char *name, const char *why);
void psc_contender_release(struct psc_contender *contender); /* {0} is fine */

/* Fewest bytes first, then by name; those that cannot plan stand at the end. For qsort. */
int psc_contender_order(const void *a, const void *b);

/* "27,262,404 bytes reserved: 27,262,404 alive at the peak. Nothing is lower." and what is lost and where, in sentences. */
void psc_explain_cost(struct psc_text *out, const struct psc_contender *contender);
/* What `to` saves or costs against `from`: "optimal saves 4,408,892 bytes (14 %): 4,370,432 of holes, 38,460 of padding." */
void psc_explain_cost_change(struct psc_text *out, const struct psc_contender *from, const struct psc_contender *to);

#endif
