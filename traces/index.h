/* traces/index.h: finds the members, phases and steps of a document while scanning it, piece by piece.
 *
 *     {"format":..,"phases":[{"graph":{..},"kind":..,"steps":[{..},{..}]}],"version":1}
 *      MEMBER                PHASE
 *                            PHASE_MEMBER   PHASE_MEMBER      STEP STEP PHASE_END  MEMBER   END
 *
 * A pull parser above psc_scan: psc_index_next goes on until the next thing was found or `limit` bytes of the
 * text are passed. It enters only the arrays "phases" and "steps"; every other value comes as one slice of
 * text, which is well-formed. Keeps nothing: what was found is the caller's business. Cost: that of the scan.
 */
#ifndef PSC_TRACES_INDEX_H
#define PSC_TRACES_INDEX_H

#include "traces/cursor.h"
#include "traces/scan.h"

enum psc_found {
    PSC_FOUND_PAUSE,        /* `limit` reached, nothing complete yet */
    PSC_FOUND_MEMBER,       /* key, value: of the document */
    PSC_FOUND_PHASE,        /* a phase begins */
    PSC_FOUND_PHASE_MEMBER, /* key, value: of the phase */
    PSC_FOUND_STEP,         /* value: a step */
    PSC_FOUND_BAD_STEP,     /* value: a step whose text is not JSON; `error` says where and why */
    PSC_FOUND_PHASE_END,
    PSC_FOUND_ODD_PHASE, /* value: an element of phases that is no object */
    PSC_FOUND_END,     /* the document is complete at scan.at */
    PSC_FOUND_CUT,     /* the text ends inside the document */
    PSC_FOUND_ERROR,   /* not JSON, not an object, nested too deep: `error` */
    PSC_FOUND_NOTHING, /* private: go on */
};
struct psc_index {
    struct psc_scan scan;
    uint8_t level; /* private */
    bool pending;  /* private: a container value is being passed over */
    uint32_t pending_depth;
    struct psc_slice key, value;
    struct psc_error error;
};
void psc_index_init(struct psc_index *ix, const char *s, size_t n);
enum psc_found psc_index_next(struct psc_index *ix, size_t limit);

#endif
