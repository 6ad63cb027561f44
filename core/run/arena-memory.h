/* core/run/arena-memory.h: the inside of a session on arenas, for core/run only.
 *
 *     house     two arenas, the story, the checks, who holds what: shared by a session and its children
 *     memory    of one session: its context, its inputs, which value dies after which job
 *
 *     arena-memory.c  life, the current graph, inputs, values      arena-run.c   one execution
 *     arena-place.c   which bytes are where                        arena-held.c  outputs that somebody holds
 */
#ifndef PSC_CORE_RUN_ARENA_MEMORY_H
#define PSC_CORE_RUN_ARENA_MEMORY_H

#include "core/plan/arena-context.h"
#include "core/plan/arena-tree.h"
#include "core/run/session-arena.h"
#include "core/run/session-state.h"

struct psc_arena_house {
    uint32_t refs;
    struct psc_arena_settings settings;
    struct psc_depot *depot[2];      /* counted */
    struct psc_arena_memory *first;  /* sessions, through next */
    struct psc_held *held;           /* through next */
    struct psc_arena_claim *claims;  /* room */
    struct psc_arena_range *ranges;
    size_t claim_cap, range_cap;
    uint64_t event_n;                /* looked at, or passed over */
    uint32_t run, held_n;
    struct psc_arena_broken broken;
};

/* Where a window lies, for a story: its value (base: the whole block's), buffer and first byte. */
struct psc_arena_place { uint32_t value, base, buffer, generation; uint64_t offset; };

/* An input of the current graph. */
struct psc_arena_input {
    struct psc_block_handle handle;  /* staged */
    unsigned char *memory;           /* NULL: not given */
    uint64_t bytes;
    struct psc_arena_place place;    /* of the story */
    bool borrowed;
    bool lent;                       /* by the parent: a block of its, or what it borrowed itself */
};
/* A value that crosses to another backend: its copy there. */
struct psc_arena_copy {
    struct psc_block_handle handle;
    struct psc_arena_place place;
};
struct psc_arena_value {
    uint32_t value, buffer, live_at; /* of the story; place in memory->live, PSC_NONE */
    struct psc_held *held;           /* who has its block now, when that is somebody outside; else NULL */
};

struct psc_arena_memory {
    struct psc_arena_house *house;   /* counted */
    struct psc_arena_memory *next;
    struct psc_session *s;
    struct psc_context context;      /* of the graph `uid` */
    uint64_t uid;                    /* 0: of none yet */
    const struct psc_program *program; /* of the graph `uid`; NULL: of none, or it was mapped again since */
    uint32_t input_n, transfer_n;
    bool is_child;
    struct psc_arena arena;          /* the arrays below */
    struct psc_arena_value *values;  /* [graph->n]: by root */
    uint32_t *live, live_n;          /* roots whose memory is the context's */
    uint32_t *dies_at, *dying;       /* [job_n + 1]: dying[dies_at[k] ..] go after job k: roots, and graph->n + transfer */
    uint32_t *leaving, leaving_n;    /* of these: what a queue may still read or write */
    struct psc_transfer *transfers;  /* [transfer_n], the program's, with the addresses of this execution */
    struct psc_arena_copy *copies;   /* [transfer_n] */
    struct psc_arena_input *inputs;  /* [input_n], as the program's */
    struct psc_slot_tree callers;    /* owned; inputs that borrow, by address, then bytes */
    uint64_t longest;                /* bytes of the longest of them so far */
    struct psc_job *jobs;            /* [job_n], the program's, with the addresses of this execution */
    struct psc_window *windows;      /* of their operands */
    struct psc_session **children;   /* [graph->n] */
    const struct psc_arena_place *lent; /* the next input that is borrowed is the parent's, and lies there */
    bool ran;                        /* its outputs are there; the next run clears them */
    uint64_t allocs_before, copied, staged;
};

/* An output that somebody holds (core/run/arena-held.c). */
struct psc_held {
    struct psc_arena_house *house; /* counted; the story may be quiet */
    struct psc_held *prev, *next;
    struct psc_lease lease;
    const unsigned char *origin;   /* where the block lay before it was lent */
    uint64_t canary, seen, offset, bytes; /* canary: of what was lent; seen: of what looks expect, once a change is told */
    uint32_t value, buffer, run;   /* value: of the block */
    uint32_t window;               /* the value that is read */
    struct psc_arena_memory *m;    /* whose value `block` it is, NULL when that is over */
    psc_node block;
};

enum psc_status psc_arena_memory_new(struct psc_session *s, const struct psc_arena_settings *settings, struct psc_arena_memory **ret,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
void psc_arena_memory_free(struct psc_arena_memory *m); /* NULL is fine */
/* A graph has been mapped again: its old program goes, and is looked at no more. */
void psc_arena_memory_mapped(struct psc_arena_memory *m, const struct psc_program *old);
/* Before inputs are given and before a run: the current graph's arrays, the last run's end. */
enum psc_status psc_arena_memory_ready(struct psc_arena_memory *m, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_arena_memory_fill(struct psc_arena_memory *m, uint32_t input, const void *words, bool borrow,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
/* Memory of a node's window, NULL when there is none now; *ret: where that is. */
unsigned char *psc_arena_memory_of(const struct psc_arena_memory *m, psc_node node, struct psc_arena_place *ret);
/* The same as an address, 0 when there is none; of regions the one that was bound. */
psc_address psc_arena_memory_address(const struct psc_arena_memory *m, psc_node node, psc_address bound);
/* Whose memory it is: a block's, else a caller's (ret->on is left to the caller of this). value: of the story, whose access it
 * is. O(log slots + log inputs), and one step for each input that begins within `longest` bytes before. */
bool psc_arena_memory_locate(const struct psc_arena_memory *m, uint32_t value, psc_address at, uint64_t bytes,
                             struct psc_located *ret);
/* Places of a session behind its backends: both arenas, the caller. */
#define PSC_ARENA_PLACE_CALLER 2u
#define PSC_ARENA_PLACE_N 3u
const char *psc_arena_place_name(uint32_t place);
void psc_arena_memory_buffer(const struct psc_arena_memory *m, uint32_t place, uint32_t id, struct psc_pool_buffer *ret);
/* A view has come to be: tells of it. */
void psc_arena_memory_show(struct psc_arena_memory *m, psc_node view);
enum psc_status psc_arena_memory_run(struct psc_arena_memory *m, const struct psc_sink *sink, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- shared by the sources */
void psc_arena_house_unref(struct psc_arena_house *h);
void psc_arena_house_quiet(struct psc_arena_house *h); /* nothing is told any more */
/* The copy on its own backend that operand k of the job is, or PSC_NONE. */
uint32_t psc_arena_memory_copy(const struct psc_program *p, const struct psc_job *job, uint32_t k);
/* A copy's block goes back, if it has one. */
void psc_arena_memory_unstage(struct psc_arena_memory *m, uint32_t transfer);
const char *psc_arena_memory_label(const struct psc_arena_memory *m, psc_node node, char *text, size_t size);
/* Lies on an arena when it is computed: no input, no region, not empty. */
bool psc_arena_memory_owns(const struct psc_program *p, psc_node root);
/* The next position of the story, called like printf; nothing when there is no story. */
void psc_arena_house_step(struct psc_arena_house *h, const char *fmt, ...) PSC_PRINTF(2, 3);
/* At the invariants, while there is a session. */
void psc_arena_house_look(struct psc_arena_house *h, bool cleared);
void psc_arena_memory_enter(struct psc_arena_memory *m, psc_node root, uint32_t value); /* has memory of the context now */
void psc_arena_memory_leave(struct psc_arena_memory *m, psc_node root);
uint64_t psc_arena_memory_allocs(const struct psc_arena_house *h);

#endif
