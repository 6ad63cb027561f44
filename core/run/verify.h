/* core/run/verify.h: where a run differs from a clean one, and whose fault it is.
 *
 *     psc_verify_new(&v)
 *     psc_verify_watch(v, &request)                         hashes on; v listens
 *     psc_run(apis, n, &request, &result)                   the run, faults and all
 *     psc_verify_run(v, apis, n, &request, &result, &answer)   the same once more, clean, and the comparison
 *
 * Clean means: no fault, every value in a buffer of its own (naive, hardened), recycled bytes zeroed, operands copied before
 * they are overwritten, the same backends, kernels and threads, and the same tokens, whatever its own logits say. Products,
 * orders of sums and fusions are the same, so a sound run agrees bit for bit. What differs falls into three:
 *
 *     memory      a read saw other bytes than were written for it (or that nobody wrote), or the node wrote over its own
 *                 operand while it read it: the plan, the staging, the host
 *     computed    every read saw what was written, and the same bytes as in the clean run, but the value is another one:
 *                 the kernel computed it wrong, or the host handed it something that no operand is
 *     replay      the host reads other outputs than the same step gives when it is launched node by node
 *
 * Nobody can look into a recording while it is played. So a run that plays some (session.replay, where neither values nor
 * hashes nor contents are asked for) goes on playing them, and what the host reads after each execution is hashed. Then it runs
 * twice more: launched node by node, faults and all, which is compared with it output by output, then clean:
 *
 *     the run           run run capture replay replay        outputs ----+
 *     node by node      run run run     run    run           outputs ----+ replay       hashes ----+
 *     clean             run run run     run    run                                      hashes ----+ memory, computed
 *
 * A node whose operands were already wrong has inherited that and is not blamed; of replays only the first that differs is
 * listed. Cost: the run once or twice more; 32 bytes a node and step; O(n) a step. Nodes are compared in build order, step by
 * step, as far as the runs went.
 */
#ifndef PSC_CORE_RUN_VERIFY_H
#define PSC_CORE_RUN_VERIFY_H

#include "core/run/run.h"

enum psc_verify_cause {
    PSC_VERIFY_COMPUTED, PSC_VERIFY_MEMORY, PSC_VERIFY_UNFILLED, PSC_VERIFY_UNWRITTEN, PSC_VERIFY_OVERLAP, PSC_VERIFY_REPLAY
};
struct psc_verify_difference {
    enum psc_verify_cause cause;   /* all but COMPUTED and REPLAY are memory's */
    const struct psc_graph *graph; /* of the result's document */
    const char *kind;              /* of the phase */
    uint32_t phase, step;          /* step of the phase */
    psc_node node, value;          /* node == graph->n: the host, which reads an output. value: whose bytes are wrong */
    uint32_t operand;
};
#define PSC_VERIFY_LISTED 20u
struct psc_verified {
    uint32_t steps;                /* compared: those that ended well in both runs */
    uint64_t values, differ;       /* hashes of values and stored rows that were compared; that are not the same */
    uint32_t computed_n, memory_n; /* nodes, counted in each step */
    uint32_t played, replay_n;     /* steps in which a recording was launched; steps with other outputs than node by node */
    struct psc_verify_difference first[PSC_VERIFY_LISTED]; /* in the order of the run, that of a replay before the others */
    uint32_t first_n;
    bool cancelled;                /* a run that it is compared with was: nothing is said */
};

struct psc_verify; /* opaque */
enum psc_status psc_verify_new(struct psc_verify **ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_verify_free(struct psc_verify *v); /* NULL is fine */
void psc_verify_watch(struct psc_verify *v, struct psc_run_request *request);
/* result: of that request; may be of a run that failed half-way. Progress is told as stage "verify". */
enum psc_status psc_verify_run(struct psc_verify *v, const struct psc_backend_api *const *apis, uint32_t api_n,
                               const struct psc_run_request *request, const struct psc_run_result *result,
                               struct psc_verified *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
