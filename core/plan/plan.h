/* core/plan/plan.h: a plan: where every tensor of one graph lives, and why.
 *
 * Pure data, the same bytes for the same input. Positions are places in plan->order; `first` and `last`
 * are inclusive; inputs have first -1, pinned values last n. Offsets and lengths are bytes.
 * A plan is made by a planner (the table psc_planners), or resolved from a file (psc_plan_from_foreign), and
 * lowered to a story (psc_plan_lower) to be checked and drawn.
 */
#ifndef PSC_CORE_PLAN_PLAN_H
#define PSC_CORE_PLAN_PLAN_H

#include "core/candela/fault.h"
#include "core/doc/doc.h"
#include "core/plan/fault.h"
#include "core/plan/offsets/offsets.h"

struct psc_pool_state;
struct psc_foreign;

enum psc_mode { PSC_MODE_UPSTREAM, PSC_MODE_HARDENED, PSC_MODE_N };
enum psc_size { PSC_SIZE_CLASS, PSC_SIZE_EXACT, PSC_SIZE_N };
enum psc_order { PSC_ORDER_BUILD, PSC_ORDER_TOPOLOGICAL, PSC_ORDER_N };

struct psc_capacity { const char *backend; uint64_t bytes; }; /* as the graph spells it */
struct psc_plan_options {
    enum psc_mode mode;    /* upstream: as the engine plans, its open holes included; hardened: without them */
    enum psc_size size;
    enum psc_slots slots;
    uint64_t seed;         /* of PSC_SLOTS_RANDOM */
    enum psc_order order;  /* lives, walk and sweeps follow it; execution stays in build order */
    psc_fault_set faults;
    bool log;              /* keep the walk's log */
    /* The planners of arenas (best-fit, linear-scan, greedy-size, greedy-breadth, optimal) look at these and not at mode,
     * size, slots, order and faults: they count lives in the order that is executed and have no historic defects. */
    uint64_t align;        /* of every offset, bytes, a power of two; 0: 4, a word */
    uint64_t capacity;     /* of each backend's arena, bytes; 0: as large as it needs */
    const struct psc_capacity *capacities; /* of single backends' arenas instead (core/plan/capacity.h); borrowed, a plan has its own */
    uint32_t capacity_n;
    bool apart;            /* nothing in place */
    /* The candela planner looks at these and at none of the others but log and pool. */
    enum psc_generation generation;
    uint64_t candela_faults; /* PSC_CANDELA_BIT, of PSC_CANDELA_GRAPH_FAULTS */
    struct psc_offsets_budget budget; /* of `optimal` */
    const struct psc_pool_state *pool; /* what is there already, and budgets (core/plan/pool-state.h); NULL: nothing. Not
                              kept: the plan's own options have NULL */
    const struct psc_foreign *foreign; /* what psc_foreign_planner makes a plan of; not kept either */
};
/* The defaults of every command: pool planner, upstream, class, lowest, build. */
extern const struct psc_plan_options psc_plan_defaults;

/* Why a node lies where it lies: a code with operands, put into words by core/debug/explain. */
enum psc_reason {
    PSC_WHY_NONE,        /* not placed: see dead / empty */
    PSC_WHY_DEAD,        /* no reader and not an output: no buffer, skipped */
    PSC_WHY_EMPTY,       /* zero bytes: owns nothing */
    PSC_WHY_INPUT,       /* placed before the walk, pinned. a = bytes of the buffer */
    PSC_WHY_NEW,         /* no idle buffer of that class: a new one. a = class bytes, b = idle buffers of other classes
                            on the same backend */
    PSC_WHY_REUSED,      /* a = last tenant (node), b = position of the sweep that released it (the first at which it
                            was idle), c = idle buffers of the class, this one included */
    PSC_WHY_IN_PLACE,    /* a = operand index, b = operand node */
    PSC_WHY_VIEW,        /* a = the node whose bytes it shows (never a view itself), b = byte offset in them */
    PSC_WHY_REGION,      /* a = layer (UINT64_MAX: none): the persistent K region */
    PSC_WHY_FOREIGN,     /* placed by a plan from elsewhere */
    PSC_WHY_POOLED,      /* taken idle from the pool as earlier graphs left it. a = bytes of the buffer, b = idle buffers of
                            that size, this one included */
    PSC_WHY_NAIVE,       /* the naive planner gives each its own. a = bytes of the buffer */
    PSC_WHY_PACKED,      /* bytes of an arena, free through its life. a = it was placed as the a-th, b = bytes of the arena */
    PSC_WHY_N
};
/* An alternative that was refused, with the predicate and the values compared. */
enum psc_refusal {
    PSC_NOT_IN_PLACE_OP,       /* the op reads its operand to the end */
    PSC_NOT_OTHER_BACKEND,     /* a = operand's backend, b = node's */
    PSC_NOT_SOLE_READER,       /* a = readers counted, b = the other reader (node) */
    PSC_NOT_ROOT_READ_LATER,   /* hardened: the storage root has another reader. a = root, b = reader */
    PSC_NOT_OUTPUT,            /* hardened: the operand's storage is a graph output. a = node */
    PSC_NOT_INPUT,             /* hardened: never in place over a graph input. a = node */
    PSC_NOT_A_VIEW,            /* swiglu aliases only a view operand. a = operand node */
    PSC_NOT_SAME_BYTES,        /* a = operand bytes, b = node bytes */
    PSC_NOT_REGION,            /* hardened: the operand lies in a persistent region. a = layer */
    PSC_NOT_WORTH,             /* the operand is a window of a, of which b bytes more would live on */
    PSC_NOT_IDLE,              /* no idle buffer of the class. a = class bytes, b = buffers of the class in use */
    PSC_NOT_N
};
struct psc_refused { enum psc_refusal why; uint8_t operand; uint64_t a, b; };

struct psc_place {
    uint32_t buffer;         /* index into plan->buffers, PSC_NONE when not placed */
    int32_t first, last;     /* positions in plan->order, inclusive: the life of this value as the planner believed
                                it, views of it included. -1 / n when filled before the walk / pinned */
    uint32_t refused_at;     /* plan->refused[refused_at .. + refused_n) */
    uint64_t offset, length; /* bytes; length = the node's own bytes, not the class */
    uint64_t a, b;           /* operands of the reason */
    uint32_t c;
    uint16_t refused_n;
    uint8_t reason;          /* enum psc_reason */
};

enum psc_walk_kind { PSC_WALK_SWEEP, PSC_WALK_RELEASE, PSC_WALK_REUSE, PSC_WALK_NEW, PSC_WALK_ALIAS,
                     PSC_WALK_REFUSED, PSC_WALK_VIEW, PSC_WALK_REGION, PSC_WALK_INPUT, PSC_WALK_DEAD, PSC_WALK_PACK, PSC_WALK_N };
struct psc_walk { /* one line of the log */
    int32_t position;
    uint8_t kind;
    psc_node node;
    uint32_t buffer;
    uint64_t a, b; /* sweep: a = buffers released. release: node = last tenant, a = deadline. reuse: a = last tenant
                      (PSC_NONE: none in this graph), b = position of its release. new: a = bytes. alias: a = operand node. view: a = root,
                      b = byte offset. refused: a = index into plan->refused. region: a = layer. pack: a = offset, b = bytes */
};

/* The walk gave the buffer back: its bytes may be taken by the node at position + 1. Pinned buffers are never
 * released. In order of position, then of taking. */
struct psc_release {
    uint32_t buffer;
    psc_node tenant;  /* the last node that was placed in it */
    int32_t position; /* the deadline: last position that was believed to need the bytes, in plan->order */
    uint64_t lo, hi;  /* the bytes given back: the whole buffer, or a foreign plan's tenant */
};

struct psc_copy { /* one staged copy across backends */
    psc_node node;
    uint8_t from, to;      /* graph->backends */
    uint64_t bytes;
    uint32_t buffer;       /* staging buffer */
    uint64_t offset;
    int32_t enqueue, wait; /* enqueue: first position of the split that needs it; wait: first use */
};

struct psc_figures {
    uint64_t nodes;
    uint64_t placed;            /* nodes that have a place: in a pool, in a region, as a view or in place */
    uint64_t dead;              /* nodes without reader that are no output: no buffer */
    uint64_t in_place;          /* nodes that overwrite an operand */
    uint64_t reused;            /* nodes that took a buffer which another had left; in arenas and plans from elsewhere:
                                   bytes of a buffer up to which another had reached */
    uint64_t buffers;           /* inputs counted, KV regions and staging not */
    uint64_t pool_bytes;        /* of these buffers */
    uint64_t peak_live_bytes;   /* bytes of these buffers in use at the peak */
    uint64_t peak_tensor_bytes; /* of graph and order alone, see core/plan/figures.h */
    uint64_t lower_bound_bytes; /* exact bytes with this plan's in-place merges, inputs from the fill */
    uint64_t naive_bytes;       /* every non-KV node in exact bytes, dead ones and views too */
    uint64_t padding_bytes;     /* of these buffers: what no tenant ever uses */
    uint64_t kv_bytes;          /* both regions of every layer */
    uint64_t alias_saved_bytes; /* output bytes of the nodes placed in place */
    uint64_t staging_bytes;
};
struct psc_contributor { psc_node node; uint64_t bytes; };

/* What a planner of arenas knows of one: its size against what is alive at a step (a position, n: the end). */
struct psc_certificate {
    uint32_t buffer; /* the arena */
    uint8_t backend;
    struct psc_offsets_space space;
};

struct psc_plan {
    const char *planner;             /* "pool", "naive", "foreign", ... */
    struct psc_plan_options options;
    enum psc_executor executor;
    const psc_node *order;           /* order used for lives and walk; [graph->n]; NULL = build */
    const struct psc_place *places;  /* [graph->n] */
    uint32_t node_n;
    const struct psc_buffer *buffers;
    uint32_t buffer_n;
    const struct psc_copy *copies;
    uint32_t copy_n;
    const struct psc_split *splits;
    uint32_t split_n;
    const struct psc_refused *refused;
    uint32_t refused_n;
    const struct psc_walk *walk;     /* log, when options.log */
    uint32_t walk_n;
    const struct psc_release *releases;
    uint32_t release_n;
    const uint32_t *pool_at;         /* [buffer_n]: which item of options.pool the buffer is, PSC_NONE: a new one. NULL: the
                                        plan was made without a pool, all are new */
    const uint32_t *region_k, *region_v; /* buffer of each layer's K and V, PSC_NONE; [layer_n] */
    uint32_t layer_n;
    struct psc_figures figures;
    int32_t peak_at;                 /* first position that reaches peak_tensor_bytes */
    const struct psc_contributor *peak; /* in node order */
    uint32_t peak_n;
    const struct psc_certificate *certificates; /* of arenas; NULL for other planners */
    uint32_t certificate_n;
    bool rerun;                      /* a second run without refilling is expected to work */
};

struct psc_planner {
    const char *name; /* "pool" */
    const char *text; /* one line */
    enum psc_status (*plan)(struct psc_arena *arena, const struct psc_graph *graph,
                            const struct psc_plan_options *options, struct psc_plan **ret,
                            struct psc_error *reterr);
};
/* The table of all strategies; the command line and the window list it. Ends with a NULL name. */
extern const struct psc_planner psc_planners[];
const struct psc_planner *psc_planner_find(const char *name); /* NULL when unknown */
/* Stands in no table: gives the plan of options->foreign, so that a plan from elsewhere can be run. */
extern const struct psc_planner psc_foreign_planner;

/* True when the node executes: it has a place and is neither filled by the host nor a view of bytes that are
 * there already nor a kv_load. Reads of its operands happen then, dead or not. */
bool psc_plan_runs(const struct psc_graph *graph, const struct psc_plan *plan, psc_node node);

/* Lowers a plan to events: what would happen if it were executed in build order. The first graph->n values of the
 * story are the nodes' (value index == node index), then the regions, then the staging copies. */
enum psc_status psc_plan_lower(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                               struct psc_story **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* A plan from elsewhere: only node -> buffer, offset is needed.
 *   - views take their root's place; a view placed elsewhere than in its root's window is a copy, which runs;
 *   - KV nodes take their regions, whatever the file says of them;
 *   - nodes without bytes take nothing;
 *   - another node that is read by a placed node or by the host (also through a view) and has no placement is
 *     PSC_ERR_PLAN, named; the same for an id that the graph lacks and a node placed twice;
 *   - a node that has a placement runs, read or not; one that has none does not.
 * Buffers are known by (id, backend that the node runs on); one may state its bytes, else it is as large as its
 * largest tenant. A node on exactly the bytes of an operand has reason IN_PLACE, else FOREIGN: whether it may lie
 * there is the checker's question. What such a plan believes is not in the file: the tenants of a buffer are
 * taken to leave after their last reader in `order`, the one in which its planner counted lives. */
struct psc_foreign_place { uint64_t node_id; const char *buffer; uint64_t offset; };
struct psc_foreign_buffer { const char *id, *backend, *name; /* the last two may be NULL */ uint64_t bytes; };
struct psc_foreign {
    const struct psc_foreign_place *places; uint32_t place_n;
    const struct psc_foreign_buffer *buffers; uint32_t buffer_n;
    enum psc_executor executor;
    enum psc_order order; /* in which its planner counted lives; for words and bars, never for the verdict */
    bool rerun;
};
enum psc_status psc_plan_from_foreign(struct psc_arena *arena, const struct psc_graph *graph,
                                      const struct psc_foreign *foreign, struct psc_plan **ret,
                                      struct psc_error *reterr) PSC_MUST_CHECK;

const char *psc_mode_name(enum psc_mode mode);    /* "upstream", "hardened" */
const char *psc_size_name(enum psc_size size);    /* "class", "exact" */
const char *psc_slots_name(enum psc_slots slots); /* "lowest", "fifo", "lifo", "random" */
const char *psc_order_name(enum psc_order order); /* "build", "topological" */
/* Parse the same words ("random:SEED" sets seed). false when unknown. */
bool psc_mode_parse(const char *text, enum psc_mode *ret);
bool psc_size_parse(const char *text, enum psc_size *ret);
bool psc_slots_parse(const char *text, enum psc_slots *ret, uint64_t *ret_seed);
bool psc_order_parse(const char *text, enum psc_order *ret);

#endif
