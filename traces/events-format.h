/* traces/events-format.h: the records of an events file (private to traces/). The container is traces/chunk-file.h, the
 * manual traces/README.md.
 *
 *     HEAD  JSON: format, version, model, prompt, layout (the columns below, so that a file explains itself)
 *     PHAS  u32 phase, u32 0, JSON: an element of a minfer-trace's phases without its steps and events
 *     STRY  u32 phase, u32 step (of its own; all ones: the phase's), u64 n events, u64 bytes of JSON, the events, JSON: an
 *           object as under "events" of a minfer-trace without the list of events
 *     STEP  struct psc_ev_step, then text (padded to 8), top, records, rows, breaks, samples
 *     CONT  u32 phase, u32 step of the phase, u64 id of the node, u64 bytes; the bytes            (contents files only)
 *     FACT  JSON: what the run was asked for
 *     DONE
 *
 * A phase stands before its steps, a story of its own before its step; a step without one had the phase's events, or
 * those of the step before (PSC_EV_STEP_SAME). Nodes are indices into the phase's graph, PSC_NONE: none.
 */
#ifndef PSC_TRACES_EVENTS_FORMAT_H
#define PSC_TRACES_EVENTS_FORMAT_H

#include "core/doc/doc.h"
#include "traces/cursor.h"

enum { PSC_EV_STEP_TOKEN = 1, PSC_EV_STEP_HASHED = 2, PSC_EV_STEP_OWN = 4, PSC_EV_STEP_SAME = 8,
       PSC_EV_STEP_SEQUENCES = 16 /* a u64 and as many sequences stand behind the samples */ };
struct psc_ev_step {
    uint32_t phase, step, flags, text_n;
    int64_t token;
    uint32_t top_n, record_n, row_n, break_n;
    uint64_t sample_n;
};
#define PSC_EV_STEP_COLUMNS \
    "phase:u32 step:u32 flags:u32 text_n:u32 token:i64 top_n:u32 record_n:u32 row_n:u32 break_n:u32 sample_n:u64"
struct psc_ev_top {
    int64_t id;
    double p;
};
#define PSC_EV_TOP_COLUMNS "id:i64 p:f64"
enum { PSC_EV_RECORD_STATS = 1, PSC_EV_RECORD_HASH = 2 };
struct psc_ev_record {
    uint64_t id, n, stride;
    double min, max, mean, absmean;
    uint64_t hash;
    uint64_t sample_at;
    uint32_t sample_n, node, dtype, flags;
};
#define PSC_EV_RECORD_COLUMNS \
    "id:u64 n:u64 stride:u64 min:f64 max:f64 mean:f64 absmean:f64 hash:u64 sample_at:u64 sample_n:u32 node:u32 dtype:u32 flags:u32"
struct psc_ev_rows {
    uint32_t node;
    int32_t layer;
    uint32_t is_write, lo, hi, unwritten;
};
#define PSC_EV_ROWS_COLUMNS "node:u32 layer:i32 is_write:u32 lo:u32 hi:u32 unwritten:u32"
struct psc_ev_sequence {
    uint64_t seq;
    uint32_t start, cap, rows, shared_cell, shared_rows, zero;
};
#define PSC_EV_SEQUENCE_COLUMNS "seq:u64 start:u32 cap:u32 rows:u32 shared_cell:u32 shared_rows:u32 zero:u32"
struct psc_ev_break {
    uint64_t expected, found;
    uint32_t reader, value, operand, zero;
};
#define PSC_EV_BREAK_COLUMNS "expected:u64 found:u64 reader:u32 value:u32 operand:u32 zero:u32"
struct psc_ev_event {
    uint64_t lo, hi;
    uint32_t value, version, buffer, generation, node, peer, cause;
    int32_t position;
    uint16_t run, phase, lane, operand;
    uint8_t kind, owner;
    uint16_t holders;
    uint32_t slot; /* one more than the arena's; 0: of none */
};
#define PSC_EV_EVENT_COLUMNS \
    "lo:u64 hi:u64 value:u32 version:u32 buffer:u32 generation:u32 node:u32 peer:u32 cause:u32 position:i32 run:u16 " \
    "phase:u16 lane:u16 operand:u16 kind:u8 owner:u8 holders:u16 slot:u32"
struct psc_ev_story {
    uint32_t phase, step;
    uint64_t event_n, json_n;
};
#define PSC_EV_STORY_COLUMNS "phase:u32 step:u32 event_n:u64 json_n:u64"
struct psc_ev_content {
    uint32_t phase, step;
    uint64_t id, bytes;
};
#define PSC_EV_CONTENT_COLUMNS "phase:u32 step:u32 id:u64 bytes:u64"

/* One whole JSON value, well-formed; what: for the sentence. */
enum psc_status psc_events_check_json(struct psc_slice text, const char *what, struct psc_error *reterr) PSC_MUST_CHECK;

_Static_assert(sizeof(struct psc_ev_step) == 48 && sizeof(struct psc_ev_top) == 16, "no padding");
_Static_assert(sizeof(struct psc_ev_record) == 88 && sizeof(struct psc_ev_rows) == 24, "no padding");
_Static_assert(sizeof(struct psc_ev_break) == 32 && sizeof(struct psc_ev_event) == 64, "no padding");
_Static_assert(sizeof(struct psc_ev_sequence) == 32, "no padding");
_Static_assert(sizeof(struct psc_ev_story) == 24 && sizeof(struct psc_ev_content) == 24, "no padding");

#endif
