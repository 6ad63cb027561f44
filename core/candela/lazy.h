/* core/candela/lazy.h: a small lazy tensor front: expressions are written down, and computed when asked for.
 *
 *     (a + b) * 2          id 0 a     edge  [4]
 *                          id 1 b     edge  [4]
 *                          id 2 sum   add    reads 0 1
 *                          id 3 x2    scalar reads 2
 *
 * A node is known by its id, never by its data: the same sub-expression written twice is two nodes, and two edges over
 * equal data are two. Ids count up in the order of creation. Scalar steps fuse as they are written: + after + and * after *
 * become one scalar, others a list of at most PSC_LAZY_FUSED_MAX, then another node (psc_lazy.fuse; off: one node each).
 *
 * Calls remember the first error and then return PSC_NONE, so they may be chained; psc_lazy_status says it.
 * Ownership: texts, data and operands lie in the arena of the psc_lazy; what a cache keeps is counted there too.
 */
#ifndef PSC_CORE_CANDELA_LAZY_H
#define PSC_CORE_CANDELA_LAZY_H

#include "core/base/arena.h"
#include "core/candela/store.h"

#ifndef PSC_NONE
#define PSC_NONE UINT32_MAX
#endif
#define PSC_LAZY_NODES_MAX 4194304u
#define PSC_LAZY_FUSED_MAX 64u /* so that a chain of n scalars takes n steps to write down, not n * n */

enum psc_lazy_kind {
    PSC_LAZY_EDGE,  /* a tensor with data */
    PSC_LAZY_NODE,  /* an op */
    PSC_LAZY_CACHE, /* an op whose result is kept across calls */
    PSC_LAZY_SLOT,  /* a hole of a skeleton: a layout without data */
    PSC_LAZY_BAKED, /* a whole skeleton as one node */
};
struct psc_lazy_scalar {
    char op; /* + - * / */
    float value;
};
struct psc_skeleton;

struct psc_lazy_node {
    enum psc_lazy_kind kind;
    enum psc_lazy_op op;
    const char *name;               /* never NULL */
    uint32_t *inputs, input_n;
    struct psc_strides layout;       /* as written down */
    struct psc_lazy_arg arg;
    struct psc_lazy_scalar *scalars; /* scalar: one, fused: several */
    uint32_t scalar_n;
    float *data;                    /* edges; slots: what stands in for the input where none is given, or NULL */
    struct psc_handle *cell;        /* caches: store NULL while empty */
    const struct psc_skeleton *baked;
};
struct psc_lazy {
    struct psc_arena arena;
    struct psc_lazy_node *nodes;    /* heap */
    size_t n, cap;
    bool fuse;
    struct psc_error error;         /* status PSC_OK: none so far */
    struct psc_skeleton **owned;    /* heap: freed with it */
    size_t owned_n, owned_cap;
};

void psc_lazy_init(struct psc_lazy *l);
void psc_lazy_release(struct psc_lazy *l);
enum psc_status psc_lazy_status(const struct psc_lazy *l, struct psc_error *reterr) PSC_MUST_CHECK;

/* name may be NULL. data is copied, row-major. */
uint32_t psc_lazy_edge(struct psc_lazy *l, const char *name, uint32_t rank, const uint64_t *shape, const float *data);
uint32_t psc_lazy_slot(struct psc_lazy *l, const char *name, const struct psc_strides *layout);
/* data is copied, row-major, as long as the slot. */
void psc_lazy_stand_in(struct psc_lazy *l, uint32_t slot, const float *data);
uint32_t psc_lazy_scalar(struct psc_lazy *l, const char *name, uint32_t x, char op, float value);
/* Shapes must be the same: PSC_ERR_GRAPH names both. */
uint32_t psc_lazy_binary(struct psc_lazy *l, const char *name, enum psc_lazy_op op, uint32_t a, uint32_t b);
uint32_t psc_lazy_matmul(struct psc_lazy *l, const char *name, uint32_t a, uint32_t b);
/* Layout ops, as_contiguous and sum (to one element); arg may be NULL when the op needs none. */
uint32_t psc_lazy_unary(struct psc_lazy *l, const char *name, enum psc_lazy_op op, uint32_t x,
                        const struct psc_lazy_arg *arg);
uint32_t psc_lazy_cache(struct psc_lazy *l, const char *name, uint32_t x);
/* The skeleton must outlive l; or l takes it over. False: out of memory, and it is not taken. */
bool psc_lazy_own(struct psc_lazy *l, struct psc_skeleton *skeleton);
uint32_t psc_lazy_baked(struct psc_lazy *l, const char *name, const struct psc_skeleton *skeleton,
                        const struct psc_strides *result, const uint32_t *inputs, uint32_t n);
void psc_lazy_rename(struct psc_lazy *l, uint32_t id, const char *name);
/* Another operand. Only this can make a cycle, which planning then reports. */
void psc_lazy_rewire(struct psc_lazy *l, uint32_t id, uint32_t operand, uint32_t to);
/* Empties a cache. */
void psc_lazy_forget(struct psc_lazy *l, uint32_t id);

/* The value of every node that `root` needs, computed one by one into fresh memory, without plan and without caches:
 * values[id] is NULL for others. What is baked is computed so from its own expression. Not for slots without a stand-in (PSC_ERR_GRAPH).
 * In the arena. */
enum psc_status psc_lazy_direct(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root, float ***ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
