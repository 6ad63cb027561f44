/* ui/draw/scene.h: what can be drawn of one phase, indexed for any zoom.
 *
 * Built once from a story and its history (and, where there are any, the graph, the findings and the
 * verdicts about recorded values). A *row* is a buffer, a *bar* is a tenancy of the history:
 *
 *     lane  Metal pool   row b3   [== #103 add ==][= #111 norm =]      [= #119 =]
 *                        row b4        [= #109 =]    [= q / rope q (same bytes) =]
 *     lane  KV           row layer 6   kv.6.k and kv.6.v together
 *
 * Bar i is history->tenancies[i]; it covers the columns first[i] .. end[i] - 1. All arrays are flat and in
 * the history's order (buffer, first, lo), so a row is one contiguous run of them.
 * Ownership: everything lives in the arena passed in; source data is borrowed and must outlive the scene.
 * Cost: O(tenancies + positions + events). A finished scene may be read from any thread.
 */
#ifndef PSC_UI_DRAW_SCENE_H
#define PSC_UI_DRAW_SCENE_H

#include "core/debug/check.h"
#include "core/debug/compare-stories.h"
#include "core/debug/history.h"
#include "core/debug/records.h"
#include "ui/draw/palette.h"
#include "ui/draw/view.h"

struct psc_scene_source {
    const struct psc_story *story;          /* needed, with its history */
    const struct psc_history *history;
    const struct psc_graph *graph;          /* NULL: arena stories; no layers, names from the values */
    const struct psc_check *check;          /* NULL: not checked */
    const struct psc_record_check *records; /* NULL: no step, or a step without records */
    /* Of a recorded story: what was planned, and the comparison of both. NULL: nothing is laid over it. */
    const struct psc_story *planned;
    const struct psc_story_comparison *comparison;
};

enum psc_lane_kind { PSC_LANE_POOL, PSC_LANE_STAGING, PSC_LANE_KV };
struct psc_scene_lane {
    enum psc_lane_kind kind;
    uint8_t backend;         /* index into story->backends; PSC_BACKEND_NONE for KV */
    const char *name;        /* "Metal pool", "CPU staging", "KV" */
    enum psc_colour colour;
    uint32_t row_at, row_n;
};
struct psc_scene_row {
    uint32_t buffer, buffer2; /* index into story->buffers; KV rows: K and V of a layer, V may be PSC_NONE */
    uint32_t lane;
    uint32_t bar_at, bar_end; /* bars of `buffer` */
    uint64_t bytes;           /* of the buffer (both, for KV); of its largest tenant when not known */
    uint16_t depth;           /* most bars alive at once, 1 .. 64; packed rows only, else 1 */
    bool packed;              /* bars lie at different offsets: y inside the row follows the bytes */
    int32_t layer;            /* KV rows, else -1 */
    int32_t first, end;       /* columns from the first bar to the last: outside them the row is idle */
};
struct psc_scene_span { /* positions first .. last, inclusive */
    int32_t first, last;
    int32_t layer;   /* layers: the layer, -1 none */
    uint8_t backend; /* splits */
};
struct psc_scene_copy { /* a copy across backends: queued at `enqueue`, waited for at `wait` */
    uint32_t source_bar, staging_bar; /* or PSC_NONE */
    uint32_t source_row, staging_row; /* or PSC_NONE */
    uint64_t bytes;
    int32_t enqueue, wait;
};
struct psc_scene_alarm { /* one for each finding, ordered by (row, position) */
    uint32_t row, finding, victim_bar, writer_bar; /* bars may be PSC_NONE */
    int32_t position;
};

/* A sequence by position with the largest value of any range in O(log n). Index 0 is position -1. */
#define PSC_SERIES_LEVELS 8
struct psc_series {
    const uint64_t *level[PSC_SERIES_LEVELS]; /* level k: largest of each 16^k values */
    uint32_t n[PSC_SERIES_LEVELS], level_n;
};
uint64_t psc_series_max(const struct psc_series *s, int32_t first, int32_t end); /* positions, half-open */
uint64_t psc_series_get(const struct psc_series *s, int32_t position);

enum psc_bar_flag {
    PSC_BAR_VICTIM = 1, PSC_BAR_WRITER = 2, /* of a finding: never merged or thinned */
    PSC_BAR_OWN = 4, PSC_BAR_OVERWRITTEN = 8, PSC_BAR_UNKNOWN = 16, /* the recorded value */
    PSC_BAR_PINNED = 32,                    /* input or output: drawn with a double edge */
    PSC_BAR_NEXT = 64,                      /* continues in place in the next version */
    PSC_BAR_PREV = 128,                     /* continues the bytes of a version before it */
    PSC_BAR_HELD = 256,                     /* a queued copy reads it */
};

struct psc_scene {
    struct psc_scene_source source;
    int32_t n; /* positions are -1 .. n */
    const struct psc_scene_lane *lanes;
    const struct psc_scene_row *rows;
    const uint32_t *row_of_buffer; /* [story->buffer_n], PSC_NONE */
    uint32_t lane_n, row_n, bar_n;
    const int32_t *first, *end;    /* columns of bar i: first[i] .. end[i] - 1 */
    const uint16_t *flags;         /* enum psc_bar_flag */
    const struct psc_scene_span *layers, *splits;
    uint32_t layer_n, split_n;
    const int32_t *gaps;           /* first position of each split but the first */
    uint32_t gap_n;
    const struct psc_scene_copy *copies; /* by enqueue */
    uint32_t copy_n;
    const struct psc_scene_alarm *alarms;
    const uint32_t *alarm_at;      /* alarms of row r: [alarm_at[r], alarm_at[r + 1]) */
    uint32_t alarm_n;
    const struct psc_ghosts *ghosts; /* ui/draw/ghosts.h: the plan where the run did otherwise, or NULL */
    struct psc_series in_use;      /* bytes of pool buffers with a living tenant */
    struct psc_series exact;       /* bytes of the living tenants themselves */
    struct psc_series pool[4];     /* in_use of each backend, where there are several */
    uint32_t pool_n;
    uint64_t peak_bytes;           /* of in_use */
    int32_t peak_at;
    const uint8_t *verdict;        /* of the node at each position: 0 none, else 1 + enum psc_verdict; or NULL */
    uint32_t weight_n;             /* ops that read a weight of the model */
    const uint32_t *write_n, *read_n; /* writes and reads before position p: [p + 1], p = -1 .. n + 1 */
    /* index for the level of detail */
    const int32_t *end_tree;       /* implicit tree of the largest end; leaves at tree_n + bar */
    uint32_t tree_n;
    const int32_t *run_end;        /* largest end of the row's bars up to this one */
    const uint32_t *busy;          /* columns of the row that are covered before this bar starts */
};

enum psc_status psc_scene_build(struct psc_arena *arena, const struct psc_scene_source *source,
                                struct psc_scene **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* First bar >= `bar` of the row that reaches past column `after` (end > after), or row->bar_end. O(log n). */
uint32_t psc_scene_next_alive(const struct psc_scene *scene, const struct psc_scene_row *row, uint32_t bar,
                              double after);
/* First bar >= `bar` of the row with first >= `column`, or row->bar_end. O(log n), fast when near. */
uint32_t psc_scene_next_start(const struct psc_scene *scene, const struct psc_scene_row *row, uint32_t bar,
                              double column);
/* Columns of the row before `position` that any bar covers; differences give coverage. *hint (start with
 * row->bar_at) makes ascending calls O(1). */
double psc_scene_busy(const struct psc_scene *scene, const struct psc_scene_row *row, double position,
                      uint32_t *hint);
/* True when any bar of the row touches [lo, hi). O(log n). */
bool psc_scene_row_busy(const struct psc_scene *scene, const struct psc_scene_row *row, double lo, double hi);
/* Bar of the row at a column (and byte, in packed rows), or PSC_NONE; the latest where several overlap. */
uint32_t psc_scene_bar_at(const struct psc_scene *scene, uint32_t row, int32_t column, uint64_t byte);

/* Node at a position, PSC_NONE at -1 and n or without a graph. */
psc_node psc_scene_node_at(const struct psc_scene *scene, int32_t position);
/* The bar that a node writes (a view: its root's), or PSC_NONE. */
uint32_t psc_scene_bar_of_node(const struct psc_scene *scene, psc_node node);
/* Index of the layer / split span that holds a position, or PSC_NONE. O(log n). */
uint32_t psc_scene_layer_at(const struct psc_scene *scene, int32_t position);
uint32_t psc_scene_split_at(const struct psc_scene *scene, int32_t position);

/* First copy that is queued at or after a position. O(log n). */
uint32_t psc_scene_first_copy(const struct psc_scene *scene, double position);

/* Labels of a bar from the longest to the shortest: "#124 ffn_up · 38 KiB", "#124 ffn_up", "ffn_up", "up",
 * "124". Fills text[k], returns their number (at most PSC_LABELS). */
#define PSC_LABELS 5
#define PSC_LABEL_SIZE 128
uint32_t psc_scene_labels(const struct psc_scene *scene, uint32_t bar, char text[PSC_LABELS][PSC_LABEL_SIZE]);
/* "cuda" -> "CUDA", "metal" -> "Metal". */
const char *psc_backend_title(const char *name, char *buf, size_t size);
/* "38 KiB", "1.50 MiB", "8 B": without a useless ".0". */
const char *psc_bytes_short(uint64_t bytes, char *buf, size_t size);

#endif
