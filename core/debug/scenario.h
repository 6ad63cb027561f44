/* core/debug/scenario.h: small scripts about memory, played step by step.
 *
 *     kv        operations on one layer's cache: store, rm, shift, apply_shift, defrag, restore, attend
 *     sched     commands on queues that read and write bytes of buffers: which of them race?
 *     capture   a captured graph's arguments and those of later replays: can the recording be used again?
 *     arena     handles and leases on an execution and an I/O arena: who owns which block, and what is kept?
 *
 * Playing answers the script's question and makes a story (core/event): a position a step, so that the checker, the
 * history and every view work on scenarios as on plans and runs. A kv script runs on the cell table of core/plan, a
 * sched script's races are the checker's (core/debug/lanes.h), an arena script runs on the arenas of core/plan.
 *
 * A story has at most PSC_SCENARIO_EVENTS_MAX events: PSC_ERR_TOO_BIG.
 *
 * Ownership: scripts are borrowed; answers and stories live in the arena. Sentences about what went wrong go into the
 * report: faults for errors, warnings for what a person should know, notes for what the checker finds in the story, too.
 */
#ifndef PSC_CORE_DEBUG_SCENARIO_H
#define PSC_CORE_DEBUG_SCENARIO_H

#include "core/debug/lanes.h"
#include "core/plan/arena-depot.h"
#include "core/plan/kv-single.h"

#define PSC_SCENARIO_EVENTS_MAX (1u << 22)
#define PSC_SCENARIO_CELLS_MAX (1u << 20) /* of a kv script */

/* ---- kv ---------------------------------------------------------------------------------------------- */

enum psc_kv_op_kind {
    PSC_KV_OP_STORE, PSC_KV_OP_RM, PSC_KV_OP_SHIFT, PSC_KV_OP_APPLY_SHIFT, PSC_KV_OP_DEFRAG, PSC_KV_OP_RESTORE,
    PSC_KV_OP_ATTEND, PSC_KV_OP_N
};
const char *psc_kv_op_name(enum psc_kv_op_kind kind); /* "apply_shift": as it is written in files */

struct psc_kv_op {
    enum psc_kv_op_kind kind;
    const int32_t *position;     /* store, restore: [n] */
    const uint32_t *token;       /* store, restore: [n], indices into the script's tokens */
    uint32_t n;
    int32_t p0, p1, delta;       /* rm, shift */
    uint64_t kv_bytes, bytes_present; /* restore */
    int32_t query_pos;           /* attend */
    uint32_t n_kv;               /* attend: rows 0..n_kv - 1 are looked at */
};
struct psc_kv_script {
    int32_t layer;
    uint32_t n_ctx, window;      /* window 0: none */
    uint64_t row_bytes;          /* of K */
    const char *dtype;
    const char *const *tokens;   /* texts; [token_n] */
    uint32_t token_n;
    const struct psc_kv_op *ops;
    uint32_t op_n;
};
struct psc_kv_byte_move { uint64_t from, to, bytes; };
struct psc_kv_answer {
    const struct psc_kv_cell *cells; /* [cell_n], at the end */
    uint32_t cell_n;
    uint64_t region_bytes;           /* of K */
    const uint32_t *errors;          /* ops that failed and changed nothing */
    const uint32_t *overruns;        /* stores that wrote more rows than the window holds */
    const uint32_t *unwritten;       /* rows that an attend looked at and that hold nothing */
    const struct psc_kv_byte_move *moves;
    uint32_t error_n, overrun_n, unwritten_n, move_n;
};
enum psc_status psc_kv_play(struct psc_arena *arena, const struct psc_kv_script *script, struct psc_report *report,
                            struct psc_kv_answer *ret, struct psc_story **ret_story, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- sched ------------------------------------------------------------------------------------------- */

struct psc_sched_queue { const char *id; bool concurrent; };
struct psc_sched_buffer { const char *id, *backend; uint64_t bytes; /* backend may be NULL */ };
struct psc_sched_access { uint32_t buffer; uint64_t lo, hi; };
struct psc_sched_command {
    const char *id, *kind, *label; /* label may be "" */
    uint32_t queue;
    const struct psc_sched_access *reads, *writes;
    uint32_t read_n, write_n;
    const uint32_t *after;         /* commands that must be over; [after_n] */
    uint32_t after_n;
};
/* Order: inside a serial queue as listed; from earlier commands of the queue "host" to later ones of other queues;
 * `after`; a command of kind "barrier" with all of its concurrent queue. A command of kind "free" gives back what it
 * "writes". */
struct psc_sched_script {
    const struct psc_sched_queue *queues;
    const struct psc_sched_buffer *buffers;
    const struct psc_sched_command *commands;
    uint32_t queue_n, buffer_n, command_n;
};
/* Races by position = command index. PSC_ERR_ORDER when commands wait for each other in a circle. */
enum psc_status psc_sched_play(struct psc_arena *arena, const struct psc_sched_script *script, struct psc_report *report,
                               struct psc_races *ret, struct psc_story **ret_story, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- capture ----------------------------------------------------------------------------------------- */

struct psc_capture_operand {
    const char *buffer;
    uint64_t offset, generation;
    const uint64_t *shape;
    uint32_t shape_n;
};
struct psc_capture_node {
    uint64_t id;
    const char *op, *params;     /* params: canonical text, equal texts are equal parameters */
    const uint64_t *shape;
    uint32_t shape_n;
    const struct psc_capture_operand *src;
    uint32_t src_n;
    struct psc_capture_operand dst;
    bool indirect_dst;           /* the destination goes through a table: it may move */
};
struct psc_capture_list { const struct psc_capture_node *nodes; uint32_t n; };
struct psc_capture_script {
    struct psc_capture_list capture;
    const struct psc_capture_list *replays;
    uint32_t replay_n;
};
/* What a replay needs: nothing, or a new capture because of the first node, in list order, with another field. */
struct psc_capture_answer {
    bool reuse;
    uint64_t node;
    const char *field;           /* "op", "shape", "params", "src0.offset", "dst.gen" ... */
};
/* ret: [replay_n]. Stories: [1 + replay_n], the capture's first. */
enum psc_status psc_capture_play(struct psc_arena *arena, const struct psc_capture_script *script,
                                 struct psc_report *report, struct psc_capture_answer **ret,
                                 struct psc_story ***ret_stories, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- arena ------------------------------------------------------------------------------------------- */

enum psc_arena_op_kind {
    PSC_ARENA_OP_ALLOC, PSC_ARENA_OP_STATIC, PSC_ARENA_OP_FREE, PSC_ARENA_OP_VIEW, PSC_ARENA_OP_WRITE, PSC_ARENA_OP_READ,
    PSC_ARENA_OP_EXPORT, PSC_ARENA_OP_HANDLE, PSC_ARENA_OP_DROP, PSC_ARENA_OP_CLEAR, PSC_ARENA_OP_TRIM,
    PSC_ARENA_OP_BORROW, PSC_ARENA_OP_RELEASE, PSC_ARENA_OP_CALLER_WRITE, PSC_ARENA_OP_CLOSE, PSC_ARENA_OP_N
};
const char *psc_arena_op_name(enum psc_arena_op_kind kind); /* "caller_write": as it is written in files */

/* h: what the session calls it; as: what the outside calls it. Both, and `of`, are indices into the script's names.
 *
 *     alloc, static   h, arena, bytes       static is alloc: it says that the script means to keep it for long
 *     free            h                     refused when h owns no block; of a view it releases nothing
 *     view            h, of, offset, bytes  bytes 0: to the end
 *     write           h, value
 *     export          h, as                 a lease; a second one shares it. handle is the same, and remembers the version
 *     read            as (or h), value      refused when the bytes hold something else, or a handle's version is gone
 *     drop            as                    the last one gives the block back
 *     clear                                 a run is over: blocks that are not lent go back, in both arenas
 *     trim            arena, or both        free blocks go
 *     borrow, caller_write, release   h     memory of the caller, in no arena
 *     close                 arena           the session lets go; the arena lives on while leases hold it; refused while handles do
 */
struct psc_arena_op {
    enum psc_arena_op_kind kind;
    enum psc_depot_kind arena;  /* PSC_DEPOT_N: both */
    uint32_t h, as, of;         /* PSC_NONE: none */
    uint64_t bytes, offset;
    const char *value;          /* written, or expected */
    const char *note;           /* what a person should know, said after what happened; NULL */
};
struct psc_arena_home { uint64_t cap; uint32_t slot_max; };
struct psc_arena_script {
    struct psc_arena_home home[2]; /* by store kind */
    unsigned guards;               /* PSC_ARENA_UPSTREAM, PSC_ARENA_HARDENED */
    psc_arena_faults faults;
    const char *const *names;
    uint32_t name_n;
    const struct psc_arena_op *ops;
    uint32_t op_n;
};
struct psc_arena_answer {
    struct psc_depot_figures exec, io; /* at the end */
    uint64_t peak_footprint;           /* blocks in use and retained, both arenas, at most after any operation */
    const uint32_t *errors;            /* operations that were refused or found something wrong; [error_n] */
    uint32_t error_n;
    unsigned broken;                   /* invariants that were seen broken (core/plan/arena-check.h), bit mask */
};
/* The invariants are looked at after every operation (with more than 256 slots from time to time). Bytes are really there: each block is written when it is given out, looked at before it goes back, and compared at each
 * read. Of scripts that ask for more than PSC_ARENA_SCRIPT_BYTES in all only the first bytes of each block exist. */
#define PSC_ARENA_SCRIPT_BYTES (UINT64_C(256) << 20)
enum psc_status psc_arena_play(struct psc_arena *arena, const struct psc_arena_script *script, struct psc_report *report,
                               struct psc_arena_answer *ret, struct psc_story **ret_story,
                               struct psc_error *reterr) PSC_MUST_CHECK;

#endif
