/* traces/kv-look.h: what an engine would do wrong with the KV regions that a trace asks for (private to traces/).
 *
 * Two things are warned of while a trace is read: a phase whose nodes ask for regions of another size than an earlier
 * phase made for the same layer, and a recorded position at or beyond n_ctx, for which a store would write past its
 * region. Recorded positions are looked at in the first and the last step of a phase.
 */
#ifndef PSC_TRACES_KV_LOOK_H
#define PSC_TRACES_KV_LOOK_H

#include "core/doc/doc.h"

struct psc_kv_seen {
    struct psc_kv_region { uint64_t bytes; uint32_t phase; } *layers; /* owned; bytes 0: not asked for yet */
    size_t n, cap;
};
void psc_kv_seen_release(struct psc_kv_seen *seen);
enum psc_status psc_kv_look_at_graph(struct psc_kv_seen *seen, struct psc_report *report, uint32_t phase,
                                     const struct psc_graph *graph, struct psc_error *reterr) PSC_MUST_CHECK;
/* True when something was said. */
bool psc_kv_look_at_step(struct psc_report *report, uint32_t phase, size_t step_no, const struct psc_graph *graph,
                         const struct psc_step *step);

#endif
