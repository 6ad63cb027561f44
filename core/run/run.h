/* core/run/run.h: one run from a request to a document: what the command line, the window and the tests call.
 *
 *     request   a model and a prompt, or a graph and fills; backends; planner; faults; what to record
 *       |  psc_run: prefill (in chunks), decode until a stop token or n_predict; the same for each further prompt
 *     result    tokens, text, speeds, figures, findings, and the document that the window opens
 *
 * The plan of every phase is checked before its first launch; what really happened is checked afterwards. Findings do not
 * stop the run, they are what a person wants to see happen; only a plan that writes past the end of a buffer is refused.
 * A position that does not fit n_ctx is refused before anything runs.
 *
 * Ownership: all that the request points to is borrowed for the time of the call; model and backends must live as long as
 * the result, whose session uses them.
 */
#ifndef PSC_CORE_RUN_RUN_H
#define PSC_CORE_RUN_RUN_H

#include "core/debug/check.h"
#include "core/model/build.h"
#include "core/model/model.h"
#include "core/model/tokenizer.h"
#include "core/run/recorder.h"
#include "core/run/sampler.h"
#include "core/plan/kv-runs.h"
#include "core/run/session-arena.h"

/* What an input is filled with. name: the node's, else its label (psc_node_label, "input #0"), else its id as a number.
 * words: bit patterns, n of them, as many as the node has elements. */
struct psc_run_fill { const char *name; const void *words; uint64_t n; };
/* The input that the name means; PSC_ERR_USAGE when there is none (with a list of those there are) or more than one. */
enum psc_status psc_run_find_input(const struct psc_graph *graph, const char *name, psc_node *ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

/* A further prompt on the same session and cache: it comes when the answer before it has ended, behind the token that was
 * generated last and not computed yet (or behind the stop token). */
struct psc_run_turn { const int32_t *tokens; uint32_t n; };
struct psc_run_turn_end { uint32_t token_n; bool stopped; int32_t stop; }; /* tokens generated until then; by which stop token */

enum psc_choice { PSC_BY_DEFAULT, PSC_NO, PSC_YES };

struct psc_run_request {
    /* What to run: a model, or a graph with its fills. */
    const struct psc_model *model;
    const struct psc_tokenizer *tokenizer;   /* NULL: tokens only, texts are empty */
    const struct psc_graph *graph;           /* assigned or not; executed `times` times */
    const struct psc_run_fill *fills;
    uint32_t fill_n, times;                  /* times 0 counts as 1 */
    bool refill;                             /* fill again before each execution (default of the command line: once) */

    const int32_t *prompt;                   /* tokens; at least one for a model, each in the model's vocabulary */
    uint32_t prompt_n;
    const char *prompt_text;                 /* for the document; may be NULL */
    uint32_t n_predict, n_ctx, chunk;        /* n_ctx 0: 4096. chunk: prompt tokens a forward, 0: all */
    struct psc_sampling sampling;            /* {0}: greedy */
    const int32_t *stop;                     /* tokens that end the run, beside the tokenizer's */
    uint32_t stop_n;
    bool ignore_stop;
    const struct psc_run_turn *turns;        /* each is answered with at most n_predict tokens; of a model */
    uint32_t turn_n;
    const int32_t *forced;                   /* tokens that are taken one after the other, whatever the logits say; then as usual */
    uint32_t forced_n;
    const struct psc_run_turn_end *forced_ends; /* where the first answers end, instead of n_predict and stop tokens */
    uint32_t forced_end_n;

    uint32_t move_at;                        /* before this execution (from 1; 0: none) the graph gets other buffers, made anew */
    const char *backends;                    /* "cpu", "deferred", "mixed:0-11=deferred,12-99=cpu"; NULL: cpu */
    enum psc_choice fuse_qkv, fuse_ffn;      /* by default: where the backend fuses_decode */
    enum psc_kv_inputs kv_inputs;            /* by default positions: the published topology */
    enum psc_kv_format kv_format;            /* of the rows of K and V */
    /* Of a model, NULL: the cache is empty. Called once, when the regions are there and nothing has been computed: puts a saved
     * state into them and into kv. The run goes on behind sequence 0; the prompt is what comes next. */
    enum psc_status (*load)(void *ctx, struct psc_session *session, struct psc_kv_runs *kv, struct psc_error *reterr);
    void *load_ctx;
    struct psc_session_options session;      /* weight, n_ctx and kv rows are set by psc_run. arenas: what they do over all
                                                runs is the document's last phase; checks are on, no plan is looked at */
    uint32_t hold;                           /* on arenas: the outputs of so many runs are held, the oldest are dropped */
    bool borrow_inputs;                      /* on arenas: inputs are not copied */
    bool trim;                               /* on arenas: after each run free blocks go back to the heap */
    struct psc_recorder_options record;

    /* Called from the running thread; any may be NULL. token: after each generated token. cancelled: asked at every
     * node split and token, with session.replay at every forward only; true ends the run cleanly, what was recorded stays. */
    void *ctx;
    void (*token)(void *ctx, int32_t token, const char *text, size_t text_n);
    /* After each execution that went well, when outputs can be read; PSC_ERR_CANCELLED ends the run as `cancelled` does. */
    enum psc_status (*executed)(void *ctx, struct psc_session *session, struct psc_error *reterr);
    void *executed_ctx;
    /* The last row of logits of a forward; false ends the run with PSC_ERR_IO. */
    bool (*logits)(void *ctx, uint32_t step, const float *logits, uint32_t n);
    void (*progress)(void *ctx, const char *stage, uint64_t done, uint64_t total);
    bool (*cancelled)(void *ctx);
};

struct psc_run_result {
    int32_t *tokens;                 /* generated, the stop token not included; owned */
    uint32_t token_n;
    struct psc_text text;            /* valid UTF-8; owned */
    bool cancelled, stopped;         /* by the person; the last answer by a stop token */
    uint32_t executions;             /* that were begun: forwards, or runs of a graph */
    struct psc_run_turn_end *ends;   /* of the prompt's answer, then of each turn's; owned */
    uint32_t end_n;                  /* answers that ended */
    uint32_t loaded_rows;            /* positions that were there before the prompt */
    uint32_t prefill_tokens;         /* of prompts; stop tokens that the next one stands behind count, generated ones do not */
    double prefill_seconds, decode_seconds;
    uint64_t planned_bytes, used_bytes; /* pools: of the plan that needs most; as they are at the end. Arenas: 0; blocks */
    uint64_t kv_bytes;               /* K and V regions */
    uint64_t unwritten_n;            /* rows of K and V that were read and that nobody had written */
    struct psc_pool_figures pools[8];
    struct psc_session_counters counters;
    struct psc_doc *doc;             /* recorded phases, plans, steps; owned; NULL when nothing was recorded */
    /* Of all phases: those of the plan as it would run and of the events as they happened, the same one counted once. */
    uint32_t planned_finding_n, finding_n;
    uint32_t confirmed_n;            /* reads whose hash differs from what was written */
    float *logits;                   /* of the last forward, [logit_n]; owned */
    uint32_t logit_n;
    struct psc_session *session;     /* still alive: for dumps; owned */
    bool on_arenas;
    struct psc_arena_run_figures *arena_runs; /* one an execution, in order; owned */
    uint32_t arena_run_n, arena_untold; /* the story ends with so many runs; 0: it has all */
    struct psc_depot_figures depots[2]; /* at the end: exec, io */
    struct psc_arena_broken arena_broken;
    struct psc_run_borrowed *borrowed; /* inputs; owned, gone after the session */
    struct psc_run_holding *holding; /* outputs of the last run, held until the result goes; owned */
    struct psc_kv_runs kv;           /* of a model: which rows of its cache hold what; owned. cells.n 0: there is none */
};
void psc_run_result_release(struct psc_run_result *result); /* {0} is fine */

/* On failure the result still holds what was recorded before (doc may be set), and must be released. */
enum psc_status psc_run(const struct psc_backend_api *const *apis, uint32_t api_n, const struct psc_run_request *request,
                        struct psc_run_result *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
