/* traces/kv-look.h: what an engine would do wrong with the KV regions that a trace asks for (private to traces/).
 *
 * Three things are warned of while a trace is read: a phase whose nodes ask for regions of another size than an earlier
 * phase made for the same layer, an attention that stands before the first store of its layer and so does not see what the
 * step stores (no edge keeps them in order), and a recorded position at or beyond n_ctx, for which a store would write past
 * its region. Recorded positions are looked at in the first and the last step of a phase.
 */
#ifndef PSC_TRACES_KV_LOOK_H
#define PSC_TRACES_KV_LOOK_H

#include "core/doc/doc.h"

struct psc_kv_seen {
    struct psc_kv_region {
        uint64_t bytes;           /* 0: not asked for yet */
        uint32_t phase;           /* that asked first */
        uint32_t attended, stored; /* the last phase, from 1, in which an attention stood before all stores, and with a store */
        psc_node attention;       /* of `attended` */
    } *layers;                    /* owned */
    size_t n, cap;
};
void psc_kv_seen_release(struct psc_kv_seen *seen);
/* where: of the graph in its file, "" when it is all of it. */
enum psc_status psc_kv_look_at_graph(struct psc_kv_seen *seen, struct psc_report *report, uint32_t phase, const char *where,
                                     const struct psc_graph *graph, struct psc_error *reterr) PSC_MUST_CHECK;
/* True when something was said. */
bool psc_kv_look_at_step(struct psc_report *report, uint32_t phase, size_t step_no, const struct psc_graph *graph,
                         const struct psc_step *step);

#endif
