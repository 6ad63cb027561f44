/* core/doc/doc.h: the document: what was opened (or run), whatever file it came from.
 *
 * A document has phases; a phase has a graph (or none), steps, and what the file says of its memory.
 * Steps are loaded one at a time through the step source, so that a trace of any size opens at once:
 * `count` may grow while a scan goes on in another thread; `load` may be called from any thread.
 */
#ifndef PSC_CORE_DOC_DOC_H
#define PSC_CORE_DOC_DOC_H

#include "core/event/event.h"

/* One node's recorded output. Non-finite numbers are what the file says: null and NaN load as NAN,
 * Infinity as INFINITY. `nonfinite` counts the samples that are not finite. */
struct psc_record {
    uint64_t id;                 /* file id */
    psc_node node;               /* index in the phase's graph; PSC_NONE when the graph lacks the id */
    enum psc_dtype dtype;
    uint64_t n, stride;          /* elements analysed; sampling stride in elements (0 = not given) */
    double min, max, mean, absmean; /* NAN when null or absent */
    bool has_stats;
    const float *values;         /* samples: elements 0, stride, 2*stride ... */
    uint32_t value_n, nonfinite;
    /* The exact text of the four statistics as bits, for grouping: equal groups are equal records. */
    uint64_t stats_hash, values_hash;
    bool has_hash;               /* our own runs: hash of the whole value when it was written */
    uint64_t hash;
};
/* Rows of a layer's regions that a node wrote or read in a step; several entries when they are no single run. */
struct psc_kv_rows {
    psc_node node;
    int32_t layer;
    bool is_write;
    uint32_t lo, hi;             /* rows (cells) of K and V, half-open */
    uint32_t unwritten;          /* reads: how many of these rows nobody had written before */
};
/* One sequence of the cache after a step: its own run of cells, and the prefix that it reads in another's cells. */
struct psc_kv_sequence {
    uint64_t seq;
    uint32_t start, cap;         /* own cells [start, start + cap) */
    uint32_t rows;               /* of these [0, rows) are in use */
    uint32_t shared_cell, shared_rows; /* shared_rows 0: shares nothing */
};
/* A read that saw other bytes than its value had when it was written. */
struct psc_hash_break {
    psc_node reader, value;      /* reader PSC_NONE: the host; value: the producer */
    uint32_t operand;
    uint64_t expected, found;
};
struct psc_logit { int64_t id; double p; };
struct psc_step {
    bool has_token;
    int64_t token;               /* input token of this forward */
    const char *text;            /* valid UTF-8, "" when absent */
    const struct psc_logit *top;
    uint32_t top_n;
    const struct psc_record *records; /* in execution order (stable); sparse */
    uint32_t record_n;
    const struct psc_kv_rows *kv; /* in execution order; NULL when the file does not say */
    uint32_t kv_n;
    const struct psc_kv_sequence *sequences; /* by cell; NULL when the file does not say */
    uint32_t sequence_n;
    const struct psc_hash_break *breaks;
    uint32_t break_n;
    bool hashed;                 /* hashes were taken: no break means that every read saw what was written */
    const struct psc_story *story; /* recorded events of this step when they are not the phase's; else NULL */
    const char *unreadable;      /* NULL, or the sentence why this step could not be read */
};

/* capture: when recorded values were read. */
enum psc_capture { PSC_CAPTURE_UNKNOWN, PSC_CAPTURE_NODE, PSC_CAPTURE_SPLIT };
enum psc_slots { PSC_SLOTS_LOWEST, PSC_SLOTS_FIFO, PSC_SLOTS_LIFO, PSC_SLOTS_RANDOM, PSC_SLOTS_N };

struct psc_plan;    /* core/plan/plan.h: core/doc only carries the pointers */
struct psc_box_set; /* core/plan/offsets/box-set.h */
struct psc_candela_kept; /* core/candela/kept.h */

struct psc_kv_layout {
    uint32_t layers, rows;       /* rows of every region: n_ctx */
    uint64_t width, row_bytes;   /* elements and bytes of a row of K (V is alike) */
    const char *format;          /* "f32", "f16", "q8_0" */
};

struct psc_phase {
    const char *kind;            /* "prefill", "decode" or whatever the file says; "" when absent */
    struct psc_graph *graph;     /* NULL when the file has none */
    struct psc_story *story;     /* events of the file, or NULL */
    struct psc_plan *plan;       /* plan of the file, resolved (core/plan/plan.h), or NULL; in the doc's arena */
    const struct psc_box_set *boxes; /* of a file that has boxes and no graph: the story is a packing of them; or NULL */
    const struct psc_candela_kept *expression; /* of a lazy expression: its nodes, its plan, how both came; or NULL */
    enum psc_capture capture;    /* from the file's own key, else UNKNOWN */
    bool has_slots;              /* the file says which slot policy the engine used */
    enum psc_slots slots;
    uint64_t slots_seed;
    const struct psc_kv_layout *kv; /* regions of our own runs, or NULL */
    const char *true_backend;    /* name behind "metal" in our own runs, or NULL */
    const char *lesson[3];       /* teaching graphs: question, where to look, answer; or NULL */
    const char *note;            /* one line on what to look at, or NULL */
    const char *extra_json;      /* unknown keys of the phase, kept for writing back */
};

/* One thing that a run of ours was asked for, as people type it: "backend" is "mixed:0-1=deferred", "fault" "h1,l10". */
struct psc_fact {
    const char *key, *value;
};

struct psc_doc;
struct psc_step_source {
    /* Number of complete steps of a phase known so far. */
    uint32_t (*count)(void *ctx, uint32_t phase);
    /* Loads one step into the arena. PSC_ERR_PARSE marks the step as unreadable (with its sentence). */
    enum psc_status (*load)(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena,
                            struct psc_step *ret, struct psc_error *reterr);
    /* Goes on scanning for at most max_bytes; *ret_done when the end was reached. May append phases'
     * steps and warnings; may fail with PSC_ERR_PARSE (what was found stays), PSC_ERR_CANCELLED. NULL:
     * everything is known already. */
    enum psc_status (*scan)(void *ctx, uint64_t max_bytes, bool *ret_done, struct psc_error *reterr);
    uint64_t (*progress)(void *ctx, uint64_t *ret_total); /* bytes scanned, bytes in all */
    void (*close)(void *ctx);
    void *ctx;
};

struct psc_doc {
    const char *path, *format, *model, *prompt; /* any may be NULL; format "minfer-trace" ... */
    int64_t version;
    struct psc_phase *phases;    /* in the arena; a scan may add some, and then another array stands here: the old
                                    one stays valid, with what was known when it was replaced */
    uint32_t phase_n;
    struct psc_step_source steps;
    struct psc_report report;    /* warnings of the reader; grows while scanning */
    bool truncated;              /* the file ends early; the report says at which byte */
    const struct psc_fact *facts; /* of our own runs, by key; in the arena */
    uint32_t fact_n;
    struct psc_arena arena;      /* graphs, texts */
    const char *extra_json;
};
struct psc_doc *psc_doc_new(void);      /* NULL when out of memory */
void psc_doc_free(struct psc_doc *doc); /* closes the source; NULL is fine */
/* Steps of a phase known so far; 0 when the phase has no steps or the document no source. */
uint32_t psc_doc_step_n(const struct psc_doc *doc, uint32_t phase);
enum psc_status psc_doc_load_step(const struct psc_doc *doc, uint32_t phase, uint32_t step,
                                  struct psc_arena *arena, struct psc_step *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* Scans to the end; PSC_OK also when the file is truncated (the report and `truncated` say so). */
enum psc_status psc_doc_scan_all(struct psc_doc *doc, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
