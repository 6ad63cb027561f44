/* core/debug/kv-step.h: the KV regions in one step, with a cursor in it: what every row holds before and after it.
 *
 *     rows       0 ......... 439 | 440 ..... 475 | 476            | 477 ...
 *     layer 9    prefill         | steps 1 to 36 | this step      | never written
 *     layer 10   prefill         | steps 1 to 36 | to be written  | never written     (the cursor stands in layer 9)
 *
 * Built from the accesses of the step and, when the whole run is known, from its history. An alarm is a row that is read
 * although nobody has written it: neither an earlier step nor an op before the reader.
 *
 * Cost: O(spans + accesses) to build, O(log) a lookup. Ownership: in the arena given; the history and the graph are
 * borrowed. A finished step may be read from any thread.
 */
#ifndef PSC_CORE_DEBUG_KV_STEP_H
#define PSC_CORE_DEBUG_KV_STEP_H

#include "core/debug/kv-history.h"
#include "core/debug/kv-rows.h"

struct psc_kv_touch { /* one access */
    psc_node node;
    int32_t position;        /* in the order of execution */
    uint32_t layer, lo, hi;  /* rows, half-open */
    uint32_t unwritten;      /* reads: rows of these that nobody had written */
    bool is_write;
    int32_t done;            /* writes that were only enqueued: the host saw them take effect before this position began; else
                                `position` */
};
/* A write that has been enqueued when the cursor stands at a position, and that the host has not seen take effect. */
static inline bool psc_kv_is_pending(const struct psc_kv_touch *touch, int32_t position)
{
    return touch->is_write && position >= touch->position && position < touch->done;
}
struct psc_kv_alarm { uint32_t touch, layer, lo, hi; }; /* rows read that nobody had written */

struct psc_kv_step_source {
    const struct psc_kv_regions *regions;
    const struct psc_graph *graph;         /* may be NULL */
    const struct psc_kv_history *history;  /* NULL: what other steps wrote is not known */
    uint32_t ordinal;                      /* of this step, over all phases */
    const struct psc_kv_rows *rows;
    uint32_t row_n;
    const struct psc_kv_sequence *sequences; /* after the step; NULL: not known */
    uint32_t sequence_n;
    enum psc_kv_source source;
    const struct psc_story *story;         /* of the step: says what was only enqueued; NULL: nothing was */
    const int32_t *position_of;            /* [graph->n] place of each node in the order; NULL: build order */
    bool is_prefill;
};
struct psc_kv_step {
    struct psc_kv_regions regions;
    const struct psc_graph *graph;
    const struct psc_kv_history *history; /* NULL: not known */
    struct psc_kv_state before;           /* empty without history */
    uint32_t ordinal;
    enum psc_kv_source source;
    bool is_prefill;
    const struct psc_kv_touch *touches;   /* in order of execution; of layers of the regions only */
    uint32_t touch_n;
    const uint32_t *layer_at;             /* touches of a layer: by_layer[layer_at[l] .. layer_at[l + 1]) */
    const uint32_t *by_layer;
    const struct psc_kv_sequence *sequences; /* borrowed: who has which cells after the step; NULL: not known */
    uint32_t sequence_n;
    const psc_node *writer;               /* [layers] who writes the layer in this step, by the touches, else the graph */
    const struct psc_kv_alarm *alarms;
    uint32_t alarm_n;
    uint64_t unwritten;                   /* rows of all alarms */
};
enum psc_status psc_kv_step_build(struct psc_arena *arena, const struct psc_kv_step_source *source,
                                  struct psc_kv_step **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* Touches that have happened when the cursor stands at a position (they include its own). */
uint32_t psc_kv_step_done(const struct psc_kv_step *step, int32_t position);
/* The first touch at exactly this position, PSC_NONE when it has none; *ret_n: how many. */
uint32_t psc_kv_step_at(const struct psc_kv_step *step, int32_t position, uint32_t *ret_n);

enum psc_kv_when {
    PSC_KV_NEVER,   /* not written in any step so far */
    PSC_KV_PREFILL, /* in a step of a prefill before this one */
    PSC_KV_EARLIER, /* in a decode step before this one */
    PSC_KV_NOW,     /* in this step, before the cursor or at it */
    PSC_KV_LATER,   /* in this step, after the cursor; what the row holds until then is in `before` */
    PSC_KV_WHEN_N
};
struct psc_kv_held {
    enum psc_kv_when when;
    uint32_t by;        /* NOW, LATER: the touch that writes it; else PSC_NONE */
    const struct psc_kv_span *before; /* who wrote it before this step, or NULL */
    uint32_t reader;    /* the last touch up to the cursor that read it, or PSC_NONE */
    uint32_t next_reader; /* the first one after the cursor, or PSC_NONE */
};
/* The row of a layer when the cursor stands at a position. O(touches of the layer). */
struct psc_kv_held psc_kv_step_cell(const struct psc_kv_step *step, uint32_t layer, uint32_t row, int32_t position);
/* What a span of `before` is: PSC_KV_PREFILL or PSC_KV_EARLIER. */
enum psc_kv_when psc_kv_span_when(const struct psc_kv_step *step, const struct psc_kv_span *span);

/* Rows written when the cursor stands at a position: in any layer; layers that have written in this step; layers that
 * will, in all. */
struct psc_kv_so_far {
    uint32_t rows;                     /* that are written in any layer */
    uint32_t layers_done, layers_all;  /* that write in this step: so far, in all */
    uint32_t layers_queued;            /* of those done: with rows whose write is only enqueued */
    uint32_t lo, hi;                   /* hull of the rows that this step writes, in all layers */
    uint32_t write_n;                  /* rows written so far, in all layers */
    uint32_t windows;                  /* reads so far */
    uint64_t rows_read;                /* by them, in all layers */
    uint64_t unwritten;                /* of these */
};
void psc_kv_step_so_far(const struct psc_kv_step *step, int32_t position, struct psc_kv_so_far *ret);

/* Bytes of a row of K in its region; false when the width is not known. */
bool psc_kv_row_bytes(const struct psc_kv_step *step, uint32_t row, uint64_t *ret_lo, uint64_t *ret_n);

#endif
