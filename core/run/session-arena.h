/* core/run/session-arena.h: a session whose values live on two arenas at run time instead of in pools.
 *
 *     struct psc_arena_settings arenas = {.guards = PSC_ARENA_HARDENED, .check = true};
 *     options.arenas = &arenas;                       psc_session_new
 *     psc_session_use, psc_session_fill_node          a copy of the words, in a block of the I/O arena (a binding)
 *     psc_session_borrow_node                         the caller's own memory, in no arena
 *     psc_session_execute
 *     psc_session_hold(s, output, &held)              O(1): the block is lent, later runs leave it alone
 *     psc_session_execute ...                         held outputs keep their bytes
 *     psc_held_drop(held)                             in any order, also when the session is gone
 *
 * What lies where (core/plan/arena-context.h): the session compares each node's output with the declared outputs of the
 * graph before its kernel runs, so a declared output comes from the I/O arena, any other from the execution arena, and
 * so does every workspace. A value goes back after its last reader (a view reads its root); declared outputs stay until
 * the next run begins, which is when its first input is given or it is executed. Regions of a KV cache and weights are
 * no arena's: they stay where a session without arenas has them.
 *
 * A declared output that is an input, or looks at one, has no block of its own: holding it copies its bytes into the I/O
 * arena once, and that is counted.
 *
 * A child graph is a session of its own that shares its parent's arenas (settings.parent), and stands for one node of the
 * parent's graph: it borrows the node's operands as its inputs in order, and hands its first output's block over.
 *
 * Kernels run on any backend that reaches the host's memory (psc_backend_api.takes_blocks: cpu, deferred, cuda-shim); others are
 * refused with a sentence. On the cpu blocks go back as soon as a kernel returns. What a queue may still use goes back when it
 * has been waited for: at the end of the split, or earlier when an arena would have to ask the heap otherwise.
 *
 * A value that crosses to another backend is a transferred input there: its copy is a block of the I/O arena, owned by a
 * binding, which goes back after its last reader; its bytes count as copied, in every run. One copy serves all readers of a
 * backend. What was copied goes back when the copy has come, unless somebody on its own side still reads it.
 *
 * Counters are those of one run, from its first input on: blocks asked of the heap, bytes of values that were moved, bytes
 * that were staged because the caller's memory was not borrowed, peaks of both arenas. After a first run of the same
 * shapes the first is 0, and so is the second when nothing crosses.
 *
 * The invariants (core/plan/arena-check.h) are looked at after every event; with more than 256 slots once in as many
 * events as there are slots, so that a run's looks cost O(nodes) in all. Stories: core/debug/arena-story.h, one position an input, a node, an
 * export, a drop, an end of a run; words count runs from 1.
 *
 * Listeners are told as of a session in pools: events name the slot that an address lies in (or the input that the caller
 * lends), workspaces are values of their own, and a value is released when it goes back. Of a child graph they are told what
 * its node reads and makes.
 *
 * Ownership: settings are copied; the story is borrowed and must live until psc_session_arena_quiet or the session's end.
 */
#ifndef PSC_CORE_RUN_SESSION_ARENA_H
#define PSC_CORE_RUN_SESSION_ARENA_H

#include "core/plan/arena-check.h"
#include "core/run/session.h"

struct psc_arena_story;

struct psc_arena_settings {
    uint32_t slot_max[2];          /* exec, io; 0: no limit */
    bool has_cap[2];
    uint64_t cap[2];
    unsigned guards;               /* PSC_ARENA_UPSTREAM, PSC_ARENA_HARDENED */
    uint32_t alignment;            /* of blocks, a power of two; 0: 64 when guarded, else 16 */
    psc_arena_faults faults;
    bool check;                    /* look at the invariants */
    struct psc_arena_story *story; /* told of everything; NULL: nobody */
    struct psc_session *parent;    /* its arenas, story and checks; all else here is ignored. NULL: arenas of its own */
};

struct psc_arena_run_figures {
    uint32_t run;                  /* from 0 */
    uint64_t system_allocs, copied, staged;
    uint64_t peak[2];              /* bytes asked for, exec and io */
    uint64_t retained[2], footprint; /* of free blocks now; blocks of both arenas, used and free */
    uint32_t held;                 /* outputs held now */
};

/* The input reads the caller's memory, which must stay as it is until it is given again or the session ends. n counts
 * elements; PSC_ERR_USAGE without arenas. */
enum psc_status psc_session_borrow_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                        struct psc_error *reterr) PSC_MUST_CHECK;
/* The node runs the child's current graph from now on, until another graph is used. */
enum psc_status psc_session_set_child(struct psc_session *s, psc_node node, struct psc_session *child,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
/* The latest run, so far. */
void psc_session_arena_run(const struct psc_session *s, struct psc_arena_run_figures *ret);
struct psc_depot_figures psc_session_depot(const struct psc_session *s, enum psc_depot_kind kind);
/* first: the invariants that broke first, at once; ever: all so far. text: of the first. */
struct psc_arena_broken { unsigned first, ever; char text[240]; };
void psc_session_arena_broken(const struct psc_session *s, struct psc_arena_broken *ret);
/* Free blocks go. Returns their bytes. */
uint64_t psc_session_arena_trim(struct psc_session *s);
/* Nothing is told any more. */
void psc_session_arena_quiet(struct psc_session *s);

/* An output that somebody holds. */
struct psc_held;
enum psc_status psc_session_hold(struct psc_session *s, psc_node output, struct psc_held **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* One more holder of the same block. */
enum psc_status psc_held_share(struct psc_held *held, struct psc_held **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Its bytes; tells a read of the host. */
const void *psc_held_read(struct psc_held *held, uint64_t *ret_bytes);
/* NULL is fine. PSC_ERR_RUN when its bytes are not those that were held: it is dropped all the same. */
enum psc_status psc_held_drop(struct psc_held *held, struct psc_error *reterr);

#endif
