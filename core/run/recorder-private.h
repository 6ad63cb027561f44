/* core/run/recorder-private.h: what the sources of core/run/recorder.h share.
 *
 *     recorder.c        life, phases, the sink, the end of a step
 *     recorder-look.c   which bytes are looked at (windows), probes before and after kernels, what they found
 *     recorder-story.c  events, turned into stories; rows of KV
 *     recorder-kv.c     hashes of KV rows
 *     recorder-doc.c    the document's steps
 *
 * A *window* is a range of bytes of one node's storage that somebody reads: the whole of it, a view of it, or the part that
 * an op looks at. It is hashed when its owner is written, and again before each read.
 */
#ifndef PSC_CORE_RUN_RECORDER_PRIVATE_H
#define PSC_CORE_RUN_RECORDER_PRIVATE_H

#include "core/base/hash.h"
#include "core/plan/plan.h"
#include "core/run/recorder.h"

struct psc_look_window {
    psc_node owner;
    uint64_t offset, bytes; /* of the owner's storage */
};
struct psc_look_read { /* what a source entry reads of its operand's own window */
    uint64_t lo, hi;
    uint32_t window;        /* PSC_NONE: nothing that is compared */
};
struct psc_look_place { /* where an input was filled, until the next fill */
    const struct psc_backend_api *api;
    struct psc_backend *b;  /* NULL: not known */
    psc_address at;
};
struct psc_look_late { /* a value that is looked at when its split ends */
    const struct psc_backend_api *api;
    struct psc_backend *b;
    psc_address at;
    psc_node node;
};

/* One graph under observation. Lists live in the arena; indices of nodes are the graph's. */
struct psc_look {
    struct psc_arena arena;
    struct psc_look_window *windows; /* by owner, then offset */
    uint32_t window_n;
    uint32_t *window_at;             /* [n + 1]: windows of an owner */
    uint32_t *window_of;             /* [n]: the node's own bytes, PSC_NONE when it has none to look at */
    struct psc_look_read *reads;     /* [src_total] */
    psc_node *views;                 /* nodes whose bytes are an owner's */
    uint32_t *view_at;               /* [n + 1] */
    uint32_t *hash_owner;            /* scratch: owner of each node, PSC_NONE: none */

    uint64_t *expected;              /* [window_n] */
    uint8_t *known;                  /* [window_n]: `expected` holds, or will after the next synchronise */
    uint64_t *found;                 /* [src_total + output_n] */
    uint8_t *asked;                  /* [src_total + output_n]: in this step */
    uint8_t *under;                  /* [src_total]: its node wrote over it in this step, unlawfully */
    struct psc_probe_stats *stats;   /* [n], in the step's arena; NULL: none are taken */
    uint8_t *noted;                  /* [n]: stats of this step are there, or will be */
    void **contents;                 /* [n], in the recorder's content_arena */
    struct psc_look_place *inputs;   /* [n]; b == NULL for what is no input */
    struct psc_look_late *late;      /* [n] */
    uint32_t late_n;
};

struct psc_kv_hashed { /* rows [lo, hi) and their hash when they were written */
    uint32_t lo, hi;
    uint64_t hash;
    uint64_t *pending;      /* it stands there after the next synchronise; NULL: it is in `hash` */
};
struct psc_kv_half { /* K or V of a layer */
    struct psc_kv_hashed *runs; /* owned, by lo, none over another */
    size_t n, cap;
    psc_node writer;        /* latest node that wrote rows */
};
struct psc_kv_noted { /* rows that a node wrote in this step, by their hash */
    psc_node node;
    uint64_t *hash;
};
struct psc_kv_compared {
    psc_node reader, writer;
    uint32_t operand;
    uint64_t expected, *pending, *found;
};

/* What is known of the values of one step, as it was measured: records are made of it when somebody asks. */
struct psc_rec_raw {
    const struct psc_graph *graph;        /* NULL: no values were taken */
    const struct psc_probe_stats *stats;  /* [n] */
    const uint8_t *noted;                 /* [n]: there are stats */
    const uint64_t *hash;                 /* [n] */
    const uint8_t *hashed;                /* [n]: there is a hash */
    uint32_t record_n;
};

/* Indices of a place's buffers in the phase's table. */
struct psc_rec_ids {
    uint32_t *index;                 /* owned, [n]: by id; PSC_NONE: not there yet */
    size_t n, cap;
};

struct psc_told { /* bytes that the host put into an input */
    psc_node node;
    void *bytes; /* owned */
    uint64_t n;
};

struct psc_rec_completed { uint32_t backend, before, at; }; /* as the sink was told */

#define PSC_REC_PLACES_MAX 19u /* 16 backends, and three places of a session on arenas */
/* The phase that is going on. */
struct psc_rec_phase {
    const struct psc_graph *graph;     /* in the document */
    const struct psc_plan *plan;       /* of the session; the document has it unless values lie on arenas */
    const struct psc_graph *of;        /* the session's */
    uint64_t uid, moves;
    uint32_t index, steps;
    struct psc_look look;
    struct psc_rec_ids ids[PSC_REC_PLACES_MAX]; /* of each of the session's places */
    uint32_t nowhere;                  /* index of the buffer that stands for addresses of no pool, PSC_NONE */
    struct psc_buffer *buffers;        /* owned; names in the document's arena */
    size_t buffer_n, buffer_cap;
    uint8_t *backend_of;               /* [session's backends]: index into the graph's, in look.arena */
    struct psc_event *first, *last;    /* owned: events of the first step; of the latest that had a story of its own */
    size_t first_n, last_n;
    uint64_t first_completed, last_completed; /* hashes of what the sink was told of queues in those steps */
    const struct psc_story *last_story;
    bool told;                         /* the stream knows it */
};

struct psc_rec_store; /* recorder-doc.c */

struct psc_recorder {
    struct psc_recorder_options options;
    struct psc_sink sink;
    struct psc_doc *doc;               /* grows; handed over by psc_recorder_doc */
    struct psc_rec_store *store;       /* the document's */
    struct psc_session *session;       /* of the execution that goes on */
    char kind[32], phase_kind[32];     /* of the next execution; of `phase` */
    bool has_phase;
    struct psc_rec_phase phase;
    uint32_t step;                     /* of the session */

    struct psc_event *events;          /* owned: of this step */
    size_t event_n, event_cap;
    struct psc_rec_completed *completed; /* owned: of this step, in time */
    size_t completed_n, completed_cap;
    struct psc_kv_rows *rows;          /* owned: of this step */
    size_t row_n, row_cap;
    struct psc_told *tolds;            /* owned */
    size_t told_n, told_cap;
    uint8_t **written;                 /* owned: of each layer, a byte a row */
    uint32_t *written_n;
    size_t layer_n, layer_cap;
    uint8_t *loaded;                   /* owned, [loaded_n]: of a row, whether it was written before the run */
    uint32_t loaded_n;
    struct psc_kv_half *halves;        /* owned: K and V of layer 0, of layer 1 ... */
    size_t half_n, half_cap;
    struct psc_kv_compared *compared;  /* owned: of this step */
    size_t compared_n, compared_cap;
    struct psc_kv_noted *stored;       /* owned: of this step, when somebody wants hashes */
    size_t stored_n, stored_cap;
    bool failed;                       /* out of memory in a callback that cannot say so */
    bool looked_at_inputs;             /* in this step */

    bool is_pending;                   /* a step is complete but for its token */
    struct psc_arena step_arena;       /* of the pending step */
    struct psc_arena content_arena;    /* contents and hashes on their way, of the step that goes on */
    struct psc_step pending;           /* without records */
    struct psc_rec_raw raw;            /* what they are made of */
    struct psc_rec_own { const struct psc_story *story; uint32_t phase; } *owns; /* owned: stories of steps */
    size_t own_n, own_cap;
    uint64_t unwritten_n;
    struct psc_mismatch *mismatches;   /* owned */
    size_t mismatch_n, mismatch_cap;
};

/* ---- recorder.c */
bool psc_rec_on_arenas(const struct psc_recorder *r); /* what the session planned is not where values lie */

/* ---- recorder-look.c */
enum psc_status psc_look_init(struct psc_look *look, const struct psc_graph *graph, const struct psc_plan *plan,
                              struct psc_error *reterr) PSC_MUST_CHECK;
void psc_look_release(struct psc_look *look);
/* Forgets the step before. */
enum psc_status psc_look_begin(struct psc_recorder *r, struct psc_error *reterr) PSC_MUST_CHECK;
/* The input lies there now. */
enum psc_status psc_look_filled(struct psc_recorder *r, psc_node node, const struct psc_look_place *at,
                                struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_look_before(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                const struct psc_call *call, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_look_after(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                               const struct psc_call *call, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_look_split_end(struct psc_recorder *r, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_look_export(struct psc_recorder *r, psc_node node, const struct psc_look_place *at,
                                struct psc_error *reterr) PSC_MUST_CHECK;
void psc_look_nowhere(struct psc_recorder *r, psc_node node); /* an output that has no bytes: asked for, and nothing found */
/* All probes have taken effect: what records are made of, breaks and contents go into r->raw and r->pending. */
enum psc_status psc_look_end(struct psc_recorder *r, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- recorder-story.c */
void psc_rec_event(struct psc_recorder *r, const struct psc_event *event, const struct psc_located *at);
void psc_rec_rows(struct psc_recorder *r, const struct psc_kv_access *access);
enum psc_status psc_rec_buffers(struct psc_recorder *r, struct psc_error *reterr) PSC_MUST_CHECK; /* those of the plan */
/* The story of the step that just ended: the phase's when it is the first, the step's own when its events differ. */
enum psc_status psc_rec_story(struct psc_recorder *r, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- recorder-kv.c */
enum psc_status psc_rec_kv(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                           const struct psc_call *call, bool after, struct psc_error *reterr) PSC_MUST_CHECK;
uint32_t psc_rec_kv_breaks(const struct psc_recorder *r, struct psc_hash_break *to);
void psc_rec_kv_settle(struct psc_recorder *r, bool failed);
void psc_rec_kv_release(struct psc_recorder *r);

/* ---- recorder-hashes.c */
/* Tells options.hashed of the step that ended, before its hashes are settled. */
enum psc_status psc_rec_hashed(struct psc_recorder *r, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- recorder-doc.c */
enum psc_status psc_rec_store_new(struct psc_doc *doc, struct psc_rec_store **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* A phase like the one given; what it points to lies in the document's arena. */
enum psc_status psc_rec_store_phase(struct psc_doc *doc, struct psc_rec_store *store, const struct psc_phase *phase,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
/* Takes the arena, in which step and raw lie, over. */
enum psc_status psc_rec_store_step(struct psc_rec_store *store, const struct psc_step *step, const struct psc_rec_raw *raw,
                                   struct psc_arena *arena, struct psc_error *reterr) PSC_MUST_CHECK;
/* Makes the records of a step. */
enum psc_status psc_rec_records(struct psc_arena *arena, const struct psc_rec_raw *raw, struct psc_step *step,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
