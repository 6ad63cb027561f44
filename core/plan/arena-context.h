/* core/plan/arena-context.h: the tensors of a session that runs on two arenas, and which arena each comes from.
 *
 *     declared graph output               I/O arena         a block that can be exported without a copy
 *     other output of a node              execution arena
 *     workspace of a node                 execution arena, also of a node with declared outputs
 *     input copied, converted, transferred  I/O arena       owned by a binding
 *     input that is borrowed              none              the caller's address, in no free list
 *
 * The session compares a node's output slots with the declared outputs and sets one role for each before the kernel runs;
 * the kernel asks for its outputs by slot and for temporaries; the roles are cleared at once when it is over, so that
 * nested kernels never see them. An output slot beyond the node's is nobody's output: it is refused, a kernel that
 * needs such memory asks for a temporary. So a node with one declared and one inner output copies nothing.
 *
 *     psc_context_begin_node(c, outputs, 2)      roles: y declared -> io, t inner -> exec
 *     psc_context_output(c, 0, 64, &y)           from io
 *     psc_context_output(c, 1, 32, &t)           from exec
 *     psc_context_temporary(c, 16, &w)           from exec
 *     psc_context_end_node(c)                    roles gone; temporaries given back
 *
 * A child graph runs in a context of its own that shares its parent's arenas: the values that cross are declared outputs of
 * the child's graph, and psc_context_hand_over moves their handles into the parent, no byte is copied.
 *
 * psc_context_clear ends a run: everything that was not exported goes back.
 *
 * Ownership: the context holds a reference to both arenas (io may be NULL: then every output is the execution arena's).
 */
#ifndef PSC_CORE_PLAN_ARENA_CONTEXT_H
#define PSC_CORE_PLAN_ARENA_CONTEXT_H

#include "core/plan/arena-handle.h"

struct psc_tensor {
    struct psc_block_handle handle;     /* EMPTY: borrowed, or not there */
    unsigned char *memory;        /* NULL: not there */
    uint64_t bytes;
    bool borrowed;
};
/* Since the last psc_context_clear. */
struct psc_context_counters { uint64_t system_allocs, copied, peak_exec, peak_io; };
struct psc_context {
    struct psc_depot *exec, *io;  /* counted */
    struct psc_tensor *tensors;   /* owned; by value number */
    bool *declared;               /* owned: is this value an output of the graph? */
    size_t n;
    uint32_t *outputs;            /* owned: of the node that runs: value numbers, PSC_NONE for one nobody asked for */
    bool *roles;                  /* owned: from the I/O arena? */
    size_t output_n, output_cap, role_cap;
    uint32_t role_n;              /* 0 outside of a node */
    struct psc_block_handle *temporary; /* owned: of the node that runs */
    size_t temporary_n, temporary_cap;
    uint64_t copied, allocs_before; /* bytes that the context itself copied in this run; arenas' count at its start */
    psc_arena_faults faults;
};

/* n values, of which those in `declared` are outputs of the graph. */
enum psc_status psc_context_init(struct psc_context *c, struct psc_depot *exec, struct psc_depot *io, uint32_t n,
                                 const uint32_t *declared, uint32_t declared_n, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_context_release(struct psc_context *c);

/* Inputs. Borrowed: no byte moves, the memory must outlive the run. Copied: into the I/O arena. */
enum psc_status psc_context_borrow(struct psc_context *c, uint32_t value, void *memory, uint64_t bytes,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_context_stage(struct psc_context *c, uint32_t value, const void *memory, uint64_t bytes,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

enum psc_status psc_context_begin_node(struct psc_context *c, const uint32_t *outputs, uint32_t n,
                                       struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_context_output(struct psc_context *c, uint32_t slot, uint64_t bytes, unsigned char **ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_context_temporary(struct psc_context *c, uint64_t bytes, unsigned char **ret,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
/* PSC_ERR_RUN when an output lies in the wrong arena: which, and where it should be. */
enum psc_status psc_context_end_node(struct psc_context *c, struct psc_error *reterr) PSC_MUST_CHECK;

/* A kernel hands out memory that is not an arena's (it borrowed it somewhere): the value gets a block of its own, where its role
 * says, and the bytes are copied, which counts. What the value had before goes back. */
enum psc_status psc_context_put(struct psc_context *c, uint32_t value, const void *memory, uint64_t bytes,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* After the last use of an inner value: its block goes back at once. */
enum psc_status psc_context_drop(struct psc_context *c, uint32_t value, struct psc_error *reterr) PSC_MUST_CHECK;
/* A declared output becomes the caller's: O(1). */
enum psc_status psc_context_export(struct psc_context *c, uint32_t value, struct psc_block_handle *ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
/* The child's value becomes the parent's. */
enum psc_status psc_context_hand_over(struct psc_context *child, uint32_t from, struct psc_context *parent, uint32_t to,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
void psc_context_clear(struct psc_context *c);
struct psc_context_counters psc_context_counters(const struct psc_context *c);

#endif
