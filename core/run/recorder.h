/* core/run/recorder.h: what happened in a run, kept while it happens, and made a document at its end.
 *
 * The recorder is a sink. While the run goes on it stores fixed-size binary records (events, rows, probe results) and
 * decides nothing: tokens and numbers are the same with and without it. Afterwards psc_recorder_doc makes a document:
 *
 *     phase       graph and plan as executed (on arenas: no plan; slots are buffers), story = the recorded events of its first step
 *     step        token, text, top five; records (statistics and samples); rows written and read of every layer;
 *                 its own story only when its events differ from the phase's first step (other buffers, other order)
 *     hashes      of every value when written and when read, KV rows of earlier steps included; a read that sees other
 *                 bytes than were written is a mismatch: that is how a finding is confirmed
 *
 * Cost aimed at: statistics and samples at most 5 % of decode speed, hashes at most 10 %.
 */
#ifndef PSC_CORE_RUN_RECORDER_H
#define PSC_CORE_RUN_RECORDER_H

#include "core/doc/doc.h"
#include "core/plan/kv-cells.h"
#include "core/run/session.h"

/* What a node of a step read and wrote, by hashes. They depend on bytes alone, not on where these lie, so that runs with
 * other plans can be compared. */
enum psc_hashed_wrong { PSC_HASHED_SOUND, PSC_HASHED_MEMORY, PSC_HASHED_UNFILLED, PSC_HASHED_UNWRITTEN, PSC_HASHED_OVERLAP };
struct psc_hashed {
    uint64_t read, wrote;        /* of all that it read; of its value and of the rows of K and V that it wrote */
    bool reads, writes;          /* there is such a hash */
    enum psc_hashed_wrong wrong; /* of its reads, the first: other bytes than were written; an input that nobody filled; rows of
                                    K and V that nobody wrote; none, but it writes over an operand that it may not
                                    overwrite (no harm when operands are copied before) */
    psc_node value;              /* whose */
    uint32_t operand;
};
struct psc_recorder_options {
    bool events;              /* events and rows: needed for stories, cheap */
    bool values;              /* statistics and samples of every node that minfer records (no KV nodes, no dead nodes); psc_run
                                 takes the top five of the logits with them */
    bool hashes;              /* of every value when written and of every operand when read */
    /* With hashes: told when a step has ended well, what each node read and wrote; nodes[graph->n] is the host, which reads the
     * outputs: they are what it "wrote". Borrowed for the time of the call; the graph lives as long as the document. false: out of memory. */
    bool (*hashed)(void *ctx, uint32_t phase, const struct psc_graph *graph, const struct psc_hashed *nodes);
    void *hashed_ctx;
    bool contents;            /* the full bytes of every recorded node, streamed to `content` */
    bool reruns;              /* inputs are filled for the first execution of a phase only: its story ends with reads of
                                 them by a second run. A step's story shows them filled where they lie */
    enum psc_capture capture; /* values are read after each node, or at the end of its split; UNKNOWN: per node */
    /* Streams contents: called in order from the running thread. step: of the phase. false ends the run. */
    bool (*content)(void *ctx, uint32_t phase, uint32_t step, const struct psc_node_info *node, const void *bytes, uint64_t n);
    void *content_ctx;
    /* Streams the document while it grows, from the running thread: a phase once, before its first step (also when that failed), and each step
     * as the document would load it. All is borrowed for the time of the call. false ends the run with PSC_ERR_IO. */
    bool (*phase)(void *ctx, uint32_t phase, const struct psc_phase *what);
    bool (*step)(void *ctx, uint32_t phase, uint32_t step, const struct psc_step *what);
    void *stream_ctx;
    bool forget;              /* steps are streamed only: the document has none of them */
};

struct psc_recorder; /* opaque */
enum psc_status psc_recorder_new(const struct psc_recorder_options *options, struct psc_recorder **ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
void psc_recorder_free(struct psc_recorder *r); /* NULL is fine */
/* Valid until the recorder is freed. */
const struct psc_sink *psc_recorder_sink(struct psc_recorder *r);

/* The host has put these bytes into an input of the current graph, for the next executions: what the hash of its
 * reads is compared with. Without it, the bytes as they are when the execution begins. */
enum psc_status psc_recorder_filled(struct psc_recorder *r, psc_node input, const void *bytes, uint64_t n,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
/* The executions that follow belong to a phase of this kind ("prefill", "decode"); the same kind again goes on with it.
 * A phase has one graph: another graph begins another phase of the same kind (chunks of a prefill). */
enum psc_status psc_recorder_phase(struct psc_recorder *r, const char *kind, struct psc_error *reterr) PSC_MUST_CHECK;
/* About the execution that just ended. text: valid UTF-8, copied. */
enum psc_status psc_recorder_step(struct psc_recorder *r, bool has_token, int64_t token, const char *text,
                                  const struct psc_logit *top, uint32_t top_n, struct psc_error *reterr) PSC_MUST_CHECK;

/* Who has which cells after the execution that just ended; before psc_recorder_step. By cell, copied. */
enum psc_status psc_recorder_sequences(struct psc_recorder *r, const struct psc_kv_sequence *sequences, uint32_t n,
                                       struct psc_error *reterr) PSC_MUST_CHECK;

/* Reads whose bytes hashed differently from what their value was when it was written. */
struct psc_mismatch {
    uint32_t step;
    psc_node reader, value;   /* value's producer; PSC_NONE reader: the host's export */
    uint32_t operand;
    uint64_t expected, found;
};
uint32_t psc_recorder_mismatch_n(const struct psc_recorder *r);
const struct psc_mismatch *psc_recorder_mismatches(const struct psc_recorder *r);

/* Cells that are written before the first execution: a saved state. False: out of memory. */
bool psc_recorder_loaded(struct psc_recorder *r, const struct psc_kv_cell *cells, uint32_t n);

/* Rows of K and V that were read and that nobody had written. */
uint64_t psc_recorder_unwritten_n(const struct psc_recorder *r);
/* The stories of steps that had one of their own, one after the other, steps that were forgotten too: i < n. They live in the
 * document, as long as it does. */
uint32_t psc_recorder_story_n(const struct psc_recorder *r);
const struct psc_story *psc_recorder_story(const struct psc_recorder *r, uint32_t i, uint32_t *ret_phase);

/* Makes the document; the recorder is empty afterwards. model, prompt: copied, may be NULL. */
enum psc_status psc_recorder_doc(struct psc_recorder *r, const char *model, const char *prompt, struct psc_doc **ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

#endif
