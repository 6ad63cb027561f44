/* traces/trace.h: an open trace: its bytes, its index of steps, and its document (private to traces/).
 *
 * One thread scans; any thread may ask for the number of steps and load one. `lock` guards what both sides
 * touch: the list of phases and their lists of steps. Texts and graphs never move once they are there.
 */
#ifndef PSC_TRACES_TRACE_H
#define PSC_TRACES_TRACE_H

#include "traces/index.h"
#include "traces/kv-look.h"
#include "traces/source.h"

#include <pthread.h>
#include <stdatomic.h>

struct psc_step_extent {
    uint64_t at, n; /* bytes of the file */
    bool bad;       /* its text is not JSON */
};
struct psc_trace_phase {
    struct psc_step_extent *steps; /* owned */
    size_t step_n, step_cap;
    const struct psc_graph *graph; /* in the document's arena */
    struct psc_slice ours;         /* our own key, until it is read */
    struct psc_text extra;         /* unknown keys, until the phase ends */
};
enum psc_format { PSC_FORMAT_UNKNOWN, PSC_FORMAT_TRACE, PSC_FORMAT_LIVE, PSC_FORMAT_GRAPH };

struct psc_trace {
    struct psc_source source;
    struct psc_index index;
    struct psc_doc *doc; /* borrowed: the document owns the trace */
    char *name;          /* for messages, owned */
    enum psc_format format;
    bool has_nodes;           /* the document itself has the key: it is a graph */
    bool done;                /* nothing more will be found */
    _Atomic uint64_t reached; /* bytes scanned, for progress bars in other threads */
    bool told_utf8, told_control, told_word, told_surrogate;
    struct psc_text extra;    /* unknown keys of the document */
    struct psc_kv_seen kv;    /* regions that the phases so far ask for */
    struct psc_error failure; /* of an earlier scan; its status says whether there was one */
    pthread_mutex_t lock;
    struct psc_trace_phase *phases; /* owned, doc->phase_n of them */
    size_t phase_cap;
};

/* Format and version from both ends of the file (traces/probe.h), before anything else is looked at. */
enum psc_status psc_trace_check_ends(struct psc_trace *t, struct psc_error *reterr) PSC_MUST_CHECK;
/* Goes on until the index finds the next thing or `limit` bytes are passed, and puts it into the document:
 * the one place where a document grows. *ret_found says what it was. */
enum psc_status psc_trace_take_next(struct psc_trace *t, size_t limit, enum psc_found *ret_found,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
/* Reads our own key of a phase (traces/ours-read.c): settings, lesson, plan, events. Called when the graph is
 * known. */
enum psc_status psc_ours_read(struct psc_arena *arena, struct psc_slice ours, struct psc_phase *phase,
                              struct psc_report *report, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
