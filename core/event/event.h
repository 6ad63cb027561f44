/* core/event/event.h: values, events and stories: the common language of Planscope.
 *
 * A *story* says what happens (or happened) to the bytes of one phase: which values exist, which
 * buffers, and the events in the order in which they took effect. Planned, recorded and arena runs
 * all speak it; the checker, the history index and every view know nothing else.
 *
 *     (a + b) * 2 with the product in place over the sum (candela's golden trace):
 *
 *     seq  pos  kind      node  value  buffer  bytes   peer
 *      0   -1   fill      -     a      E0      [0,16)
 *      1   -1   fill      -     b      E1      [0,16)
 *      2    2   alloc     sum   sum    s0      [0,16)
 *      3    2   read      sum   a      E0      [0,16)          operand 0
 *      4    2   read      sum   b      E1      [0,16)          operand 1
 *      5    2   write     sum   sum    s0      [0,16)
 *      6    3   read      x2    sum    s0      [0,16)          operand 0
 *      7    3   alias     x2    x2     s0      [0,16)  sum     x2 is the next version of sum's bytes
 *      8    3   write     x2    x2     s0      [0,16)
 *      9    4   export    -     x2     s0      [0,16)          n = 4: one past the last position
 *
 * Rules of a well-formed story (psc_story_check verifies them)
 *   - events of one position are contiguous and stand in the order: wait, alloc, read / rows-read,
 *     alias / takeover / view, write / rows-write, capture, release, enqueue, copy, complete. Copies that
 *     run at a split boundary carry the position of the first node of the split that needs them and
 *     stand before its other events;
 *   - positions never decrease inside one (run, phase); inputs are filled at -1, exports and reads of a
 *     second run (`rerun`) happen at n. An arena's export, of a value without node, begins a lease and may
 *     happen anywhere;
 *   - bytes are half-open and relative to the buffer: 0 <= lo <= hi. hi may exceed the buffer's size:
 *     that is a finding (K7), not a malformed story;
 *   - a read names the value its graph edge names, and the bytes the kernel looks at. Whether those
 *     bytes hold that value is the checker's question;
 *   - a view value has `of` = its root and `offset`; it is never written by itself. A view that is
 *     placed elsewhere than in its root's window is an ordinary value that is written (a copy);
 *   - `version` counts the writes of one value (several runs write it again); 0 is the first;
 *   - rows-write and rows-read name a region value and the bytes of the whole region;
 *   - an op over its own operand: the read stands before the write of the same position;
 *   - enqueue starts a staged copy: value = the staging value, buffer and bytes = where the copy lands, peer =
 *     its source, node = who first needs it. The bytes are on their way until the wait whose peer is the index
 *     of the enqueue event;
 *   - an operand that lies already where the op would put it (in place, or a concat that is elided) is read, then
 *     taken over by an alias event with the operand as peer, then the op writes its whole window;
 *   - a position writes at most PSC_WRITES_MAX times, fills apart: each write is compared with the reads of its
 *     position.
 *
 * Ownership: a story and its arrays live in one arena; const = borrowed.
 */
#ifndef PSC_CORE_EVENT_EVENT_H
#define PSC_CORE_EVENT_EVENT_H

#include "core/graph/graph.h"

#define PSC_WRITES_MAX 1024u /* at one position */

enum psc_value_kind {
    PSC_VALUE_NODE,      /* output `slot` of node `node` */
    PSC_VALUE_WORKSPACE, /* scratch of node `node` */
    PSC_VALUE_FILL,      /* graph input `node`, written by the host before position 0 */
    PSC_VALUE_STAGING,   /* copy of value `of` on backend `backend` */
    PSC_VALUE_REGION,    /* persistent region: K or V rows of `layer` (slot 0 = K, 1 = V) */
    PSC_VALUE_CALLER,    /* memory that the caller owns */
    PSC_VALUE_CELL,      /* a cache cell */
    PSC_VALUE_KIND_N
};
struct psc_value {
    enum psc_value_kind kind;
    uint8_t backend;   /* index into story->backends, PSC_BACKEND_NONE when unknown */
    bool is_view;      /* bytes are those of `of`, from `offset` */
    bool is_output;    /* the host reads it at the end (itself or through a view of it) */
    uint16_t slot;
    int32_t layer;     /* -1 none */
    psc_node node;     /* producer; PSC_NONE for arena stories without a graph */
    uint32_t of;       /* root value of a view, source value of a staging copy, else PSC_NONE */
    uint64_t offset;   /* bytes into `of` (views) */
    uint64_t bytes;    /* of the window */
    const char *name;  /* may be NULL: then made from the node */
};

enum psc_role {
    PSC_ROLE_POOL, PSC_ROLE_PERSISTENT, PSC_ROLE_INPUT, PSC_ROLE_OUTPUT, PSC_ROLE_STAGING,
    PSC_ROLE_EXTERNAL, PSC_ROLE_ARENA, PSC_ROLE_N
};
const char *psc_role_name(enum psc_role role); /* "pool", "persistent", ... */

struct psc_buffer {
    uint64_t id;       /* as people see it: b9 is id 9 of its backend */
    const char *name;  /* "b9", "kv.3.k", "stage.24.cpu" */
    uint8_t backend;   /* index into story->backends */
    enum psc_role role;
    uint64_t bytes;    /* UINT64_MAX when not known */
    uint64_t base;     /* address inside the backend's pool, bytes; buffers stacked in id order */
};

enum psc_event_kind {
    PSC_EV_FILL, PSC_EV_ALLOC, PSC_EV_WRITE, PSC_EV_READ, PSC_EV_ROWS_WRITE, PSC_EV_ROWS_READ,
    PSC_EV_VIEW, PSC_EV_ALIAS, PSC_EV_TAKEOVER, PSC_EV_ENQUEUE, PSC_EV_COMPLETE, PSC_EV_COPY,
    PSC_EV_SUBMIT, PSC_EV_WAIT, PSC_EV_RELEASE, PSC_EV_EXPORT, PSC_EV_DROP, PSC_EV_TRANSFER,
    PSC_EV_CLEAR, PSC_EV_GROW, PSC_EV_EVICT, PSC_EV_TRIM, PSC_EV_REFUSE, PSC_EV_CAPTURE,
    PSC_EV_HOST_READ, PSC_EV_CLOSE, PSC_EV_N
};
const char *psc_event_name(enum psc_event_kind kind); /* "rows-write", ... */

struct psc_event {
    uint64_t lo, hi;        /* bytes of the buffer, half-open */
    uint32_t value;         /* index into story->values, PSC_NONE when the event has none */
    uint32_t version;       /* writes: the version made; reads: the version expected */
    uint32_t buffer;        /* index into story->buffers, or PSC_NONE */
    uint32_t generation;    /* of the buffer */
    psc_node node;          /* who acts; PSC_NONE = the host */
    uint32_t peer;          /* alias, takeover, copy, enqueue: the value taken over or copied.
                               wait, complete: index of the enqueue event waited for.
                               close: index into story->arenas */
    uint32_t cause;         /* index of the event that made this one happen, or PSC_NONE */
    int32_t position;       /* place in the execution order; -1 fill, n end */
    uint16_t run, phase;
    uint16_t lane;          /* index into story->lanes */
    uint16_t operand;       /* reads: which operand */
    uint8_t kind;           /* enum psc_event_kind */
    uint8_t owner;          /* of an arena's block: enum psc_owner */
    uint16_t holders;       /* of a block that is lent: how many hold it after the event */
    uint32_t slot;          /* of the arena whose block it is; PSC_NONE: not of an arena at run time */
};

/* Who owns a block of an arena that is in use: a tensor of the session, a binding (an input staged for a run), a lease. */
enum psc_owner { PSC_OWNER_NONE, PSC_OWNER_TENSOR, PSC_OWNER_BINDING, PSC_OWNER_LEASE, PSC_OWNER_N };
const char *psc_owner_name(enum psc_owner owner); /* "nobody", "tensor", ... */

/* An arena at run time (core/plan/arena-depot.h). Its blocks are the buffers of one backend; events of kind alloc, grow,
 * release, export, transfer, drop, evict and trim with a slot say what became of its slots (core/debug/arena-track.h); close:
 * its session lets go of it, `holders` references are left; with none it is gone. */
struct psc_story_arena {
    uint8_t backend;
    uint32_t slot_max;      /* 0: as many as are asked for */
    uint64_t cap;           /* bytes of free blocks kept at most; UINT64_MAX: all */
    const char *mode;       /* "upstream", "hardened" */
};
/* Which invariants of the arenas do not hold when `after` events have happened, until the next alarm. */
struct psc_story_alarm {
    uint32_t after, broken; /* broken: bit i, core/plan/arena-check.h */
    const char *text;       /* "" when all hold again */
};

/* Who runs beside whom. Lane 0 is the host. Events of one lane are ordered as listed. The serial
 * executor has the host wait for each node, so lanes of backends are ordered with each other as listed;
 * only queued copies (between enqueue and its wait) are pending. The level executor runs the nodes of one
 * dependency level at once, in any order. Under queues, positions are commands of lanes that run beside each other:
 * a position is over before another begins only when a chain of `edges` leads from it there. */
enum psc_executor { PSC_EXEC_SERIAL, PSC_EXEC_LEVEL, PSC_EXEC_QUEUES, PSC_EXEC_N };
const char *psc_executor_name(enum psc_executor executor); /* "serial", "level", "queues" */
struct psc_lane {
    const char *name;
    uint8_t backend; /* PSC_BACKEND_NONE for the host */
};

/* Position `from` is over before position `to` begins. */
struct psc_edge { uint32_t from, to; };

/* What was only enqueued (recorded runs on backends that queue): the kernels of `lane` at positions first .. last were given
 * to its queue there, and the host saw them completed before position `done` began; n: at the end. Until then their values
 * are pending. Kernels that took effect at once stand in no stretch. For the picture and for words: a queue keeps the order
 * of its commands, so the checker's verdict does not depend on it.
 *
 *     #12 and #13 on cuda, copied to the cpu, #14 on the cpu waits for the copy:   {lane cuda, 12, 13, done 14} */
struct psc_queued { uint32_t first, last, done; uint16_t lane; };

struct psc_story {
    const struct psc_value *values;
    const struct psc_buffer *buffers;
    const struct psc_event *events; /* seq = index */
    const struct psc_lane *lanes;
    const char *const *backends;
    uint32_t value_n, buffer_n, event_n, lane_n, backend_n;
    uint32_t position_n;            /* n: positions are -1 .. n */
    enum psc_executor executor;
    const psc_node *order;          /* node at each position [position_n]; NULL = identity */
    const uint32_t *level;          /* level of each position, level executor only, else NULL */
    const struct psc_edge *edges;   /* what orders the positions, queues only, else NULL */
    uint32_t edge_n;
    const struct psc_queued *queued; /* by `first`, none over another; NULL: nothing was queued, or nobody knows */
    uint32_t queued_n;
    const char *const *titles;      /* what each position does [position_n], for stories without a graph; or NULL */
    const struct psc_story_arena *arenas; /* of a run on arenas, else NULL */
    const struct psc_story_alarm *alarms; /* by `after` */
    uint32_t arena_n, alarm_n;
    /* For words only, never for the verdict: the order in which the planner counted lives, when it
     * differs from `order` (then kind K2 is possible); NULL when the same or unknown. */
    const psc_node *believed_order;
    bool predicted;                 /* made by lowering a plan, not recorded */
};

/* The node that is executed there; of a story without a graph the position itself. PSC_NONE at the fill and at the end. */
psc_node psc_story_node_at(const struct psc_story *story, int32_t position);

/* Names the first broken rule of the list above; PSC_ERR_ORDER. */
enum psc_status psc_story_check(const struct psc_story *story, struct psc_error *reterr) PSC_MUST_CHECK;

/* Builds a story by appending; remembers out-of-memory and says so at the end. Indices are returned. */
struct psc_story_builder;
struct psc_story_builder *psc_story_builder_new(void);
void psc_story_builder_free(struct psc_story_builder *b);
uint8_t psc_story_add_backend(struct psc_story_builder *b, const char *name); /* same name, same index */
uint16_t psc_story_add_lane(struct psc_story_builder *b, const char *name, uint8_t backend);
uint32_t psc_story_add_buffer(struct psc_story_builder *b, const struct psc_buffer *buffer);
uint32_t psc_story_add_value(struct psc_story_builder *b, const struct psc_value *value);
uint32_t psc_story_add_event(struct psc_story_builder *b, const struct psc_event *event);
void psc_story_set_order(struct psc_story_builder *b, uint32_t position_n, const psc_node *order,
                         const psc_node *believed_order, enum psc_executor executor, const uint32_t *level,
                         bool predicted); /* copies the arrays */
/* Copied, too; after psc_story_set_order. titles: one for each position. */
void psc_story_set_edges(struct psc_story_builder *b, const struct psc_edge *edges, uint32_t edge_n);
void psc_story_set_titles(struct psc_story_builder *b, const char *const *titles);
void psc_story_add_queued(struct psc_story_builder *b, const struct psc_queued *queued);
void psc_story_add_arena(struct psc_story_builder *b, const struct psc_story_arena *arena);
void psc_story_add_alarm(struct psc_story_builder *b, const struct psc_story_alarm *alarm);
enum psc_status psc_story_builder_finish(struct psc_story_builder *b, struct psc_arena *arena,
                                         struct psc_story **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* An event with every index PSC_NONE and all else 0: fill in what the kind needs. */
struct psc_event psc_event_blank(enum psc_event_kind kind, int32_t position);

/* The stretch in which what runs at a position was queued; NULL: none. O(log stretches). */
const struct psc_queued *psc_story_queued_at(const struct psc_story *story, int32_t position);

/* A buffer's name for people: "b4 · cpu" where several backends have buffers of their own, else its name, else "b" and its id. */
const char *psc_buffer_label(const char *const *backends, uint32_t backend_n, const struct psc_buffer *buffer, char *buf, size_t size);
/* A value's name for people: its name, else "#124 ffn_up" from the graph (which may be NULL). */
const char *psc_value_label(const struct psc_story *story, const struct psc_graph *g, uint32_t value,
                            char *buf, size_t size);

#endif
