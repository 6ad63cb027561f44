/* core/run/run-private.h: what the sources of core/run/run.h share.
 *
 *     run.c         set-up, the order of things, the end
 *     run-model.c   graphs, inputs, prefill and decode of a model
 *     run-graph.c   a graph with its fills
 *     run-check.c   findings before and after, figures, facts
 *     run-arena.c   runs on arenas: what is held, what is told
 */
#ifndef PSC_CORE_RUN_RUN_PRIVATE_H
#define PSC_CORE_RUN_RUN_PRIVATE_H

#include "core/base/hash.h"
#include "core/run/run.h"

struct psc_runner {
    const struct psc_backend_api *const *apis;
    uint32_t api_n;
    const struct psc_run_request *request;
    struct psc_run_result *result;
    struct psc_session *session;   /* the result's */
    struct psc_recorder *recorder; /* owned; NULL: nothing is recorded */
    struct psc_sink sink;          /* asks whether to go on, tells of progress, hands on to the recorder */
    bool listens;                  /* the session needs the sink */
    struct psc_target targets[PSC_TARGETS_MAX];
    uint32_t target_n;
    struct psc_offload offload;
    uint64_t assignment;           /* hash of what was asked for */
    bool fuse_qkv, fuse_ffn;
    uint32_t n_ctx;
    struct psc_arena_settings arenas; /* of the request, with the story */
    struct psc_arena_story *story; /* in the arena; NULL: nothing is told */
    struct psc_run_holding *oldest; /* outputs that are held; the newest is the result's */
    uint32_t holding_n;
    size_t arena_run_cap;
    const char *stage;             /* "prefill", for progress */
    uint64_t done, total;          /* nodes */
    struct psc_map seen;           /* findings counted */
    uint64_t checked_uid;          /* latest graph whose plan was checked */
    struct psc_arena arena;        /* scratch of the whole run */
};

/* ---- run-model.c */
enum psc_status psc_run_model(struct psc_runner *r, struct psc_error *reterr) PSC_MUST_CHECK;
/* ---- run-graph.c */
enum psc_status psc_run_graph(struct psc_runner *r, struct psc_error *reterr) PSC_MUST_CHECK;
/* ---- run-check.c */
/* The current graph's plan, unless it was looked at already. rerun: it runs again without being filled. */
enum psc_status psc_run_check_plan(struct psc_runner *r, bool rerun, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_run_check_doc(struct psc_runner *r, struct psc_doc *doc, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_run_figures(struct psc_runner *r);
enum psc_status psc_run_facts(const struct psc_runner *r, struct psc_doc *doc, struct psc_error *reterr) PSC_MUST_CHECK;
/* ---- run-arena.c: nothing happens when the run is not on arenas */
enum psc_status psc_run_arena_set_up(struct psc_runner *r, struct psc_session_options *options, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_run_arena_fill(struct psc_runner *r, psc_node node, const void *words, uint64_t n, struct psc_error *reterr) PSC_MUST_CHECK;
/* After an execution whose outputs have been read: they may be held. */
enum psc_status psc_run_arena_after(struct psc_runner *r, struct psc_error *reterr) PSC_MUST_CHECK;
/* Drops what is held, ends the story: a phase behind those of the document *ret, or a document of its own. *ret stays as it is
 * when nothing was told. */
enum psc_status psc_run_arena_end(struct psc_runner *r, const char *model, struct psc_doc **ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_run_arena_release(struct psc_runner *r);
/* Frees the session, too. */
void psc_run_arena_release_result(struct psc_run_result *result);
/* ---- run.c */
/* Gives the current graph other buffers when it is time. *ret_moved: it must be filled. */
enum psc_status psc_run_move(struct psc_runner *r, bool *ret_moved, struct psc_error *reterr) PSC_MUST_CHECK;
/* Fills an input and tells the recorder. */
enum psc_status psc_run_fill(struct psc_runner *r, psc_node node, const void *words, uint64_t n,
                             struct psc_error *reterr) PSC_MUST_CHECK;
/* Executes the current graph. *ret_cancelled: the person ended it. */
enum psc_status psc_run_execute(struct psc_runner *r, const char *stage, bool *ret_cancelled,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Seconds of a clock that only goes forward. */
double psc_run_clock(void);

#endif
