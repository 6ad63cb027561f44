/* core/graph/graph.h: the compute graph of one forward pass, immutable once built.
 *
 *     0 x      input [4]        reads -
 *     1 w      input [4]        reads -
 *     2 t      add   [4]        reads 0 1
 *     3 v      view  [2] +2     reads 2       root 2, offset 8 bytes
 *     4 o      silu  [2]        reads 3
 *
 * Nodes stand in build order, which is the order minfer executes; `src` names nodes by index and
 * always points backwards. Shapes are [features, tokens, 1, 1], dim 0 contiguous. A node's *id* is
 * the 64-bit number its file uses; everything inside the program uses the index.
 *
 * Views own no bytes: root/root_offset name the storage. kv_store -> kv_load/attn of a layer is
 * not an edge in files; `order_src` holds these hidden order edges (KV effect edges).
 *
 * Two ways to make a graph, both end in the same immutable struct:
 *   - psc_builder_*: append-only, for code that builds models and for tests;
 *   - psc_draft + psc_graph_from_draft: for readers, which collects every fault of a file at once.
 * Ownership: the graph and all it points to live in the arena passed in. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_GRAPH_GRAPH_H
#define PSC_CORE_GRAPH_GRAPH_H

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/graph/op.h"

#define PSC_NONE UINT32_MAX         /* no node, no buffer, no value, no event */
#define PSC_NODES_MAX 16777216u     /* limit on nodes of one graph */
#define PSC_EDGES_MAX 268435456u    /* limit on src entries of one graph */
#define PSC_BACKEND_NONE UINT8_MAX  /* not assigned */
#define PSC_LAYERS_MAX 65536u       /* limit on layer numbers */
#define PSC_BYTES_MAX (UINT64_C(1) << 60) /* limit on the bytes of all nodes of one graph together: sums of
                                             them (padding, KV pairs) never overflow 64 bits */

typedef uint32_t psc_node; /* index into graph->nodes == position in build order */

enum psc_rope_style { PSC_ROPE_NON_INTERLEAVED, PSC_ROPE_INTERLEAVED };
enum psc_attn_mode { PSC_ATTN_GQA, PSC_ATTN_FLASH, PSC_ATTN_MHA };

/* Payload of an op: detail and meta of the file, typed. Fields that an op does not use are 0/NULL.
 * has_* says whether the file gave the value that execution would need. */
struct psc_params {
    float eps, scale, freq_base, freq_scale;
    bool has_scale, transpose_b, explicit_span;
    enum psc_rope_style rope_style;
    enum psc_attn_mode attn_mode;
    int32_t dim;                   /* softmax dim, concat axis */
    uint64_t view_offset;          /* elements, view only */
    int32_t perm[4];               /* permute only */
    uint64_t hd, nh, nk, n_head, n_head_kv, hd_kv, n_embd; /* heads and widths, elements */
    uint64_t nkt, nqt, kv_elems, row_elems, in_dim, out_dim, nf, vocab_size;
    const char *weight, *wtype;    /* NULL when absent */
    const char *bias[3];           /* matmul: [0]; fused qkv: q, k, v */
    const char *q_norm, *k_norm;
};

struct psc_node_info {
    uint64_t id;           /* the file's id */
    const char *name;      /* NULL when the file has none; see psc_node_label */
    const char *op_name;   /* the file's text, also for known ops */
    const char *dtype_name;
    enum psc_op op;
    enum psc_dtype dtype;
    uint8_t backend;       /* index into graph->backends, or PSC_BACKEND_NONE */
    bool is_input, is_output; /* listed in graph->inputs / outputs */
    int32_t layer;         /* transformer block, -1 when none: from detail.layer, meta.layer, else
                              from a weight name "blk.N." of the node or of its neighbours */
    uint64_t shape[4];
    uint64_t elements;     /* product of shape */
    uint64_t bytes;        /* of the whole output */
    uint32_t src_at, src_n;       /* operands: graph->srcs[src_at ..] in order, repeats allowed */
    uint32_t order_at, order_n;   /* hidden order edges: graph->order_srcs[order_at ..]. A load or attn has
                                     one to the layer's latest store before it, a store one to the store
                                     before it (transitively: to all of them) */
    psc_node parent;       /* views: the node viewed; else PSC_NONE */
    psc_node root;         /* the node that owns the storage; itself unless a view */
    uint64_t root_offset;  /* bytes from the start of root's storage */
    uint32_t reader_n;     /* src entries that name this node (a repeated source counts twice) */
    const struct psc_params *params; /* never NULL (a shared zero for ops without payload) */
    /* Raw JSON text of the file, for writing it back; NULL when the node came from code. */
    const char *detail_json, *meta_json, *extra_json; /* extra: unknown keys, `"k":v,"k2":v2` */
};

enum {
    PSC_DIGEST_FILLED = 1,  /* the host writes its bytes before position 0 */
    PSC_DIGEST_OUTPUT = 2,
    PSC_DIGEST_KV = 4,      /* lies in the region of its layer */
    PSC_DIGEST_STORES = 8,  /* writes the regions of its layer */
    PSC_DIGEST_IN_PLACE = 16, /* minfer's allocator may put it over operand 0 */
};
/* The same node in 32 bytes: a psc_node_info is several cache lines, and planning passes over all nodes several times. */
struct psc_digest_node {
    uint64_t bytes;
    uint32_t src_at, src_n;
    psc_node parent, root; /* as in the graph */
    uint32_t reader_n;
    uint8_t op, backend, flags, pad;
};

struct psc_graph {
    const struct psc_node_info *nodes;
    const struct psc_digest_node *digests; /* [n], of the nodes; see psc_graph_digest */
    uint32_t n;
    const psc_node *srcs, *order_srcs;
    uint32_t src_total, order_total;
    const psc_node *inputs, *outputs; /* as listed, duplicates removed */
    uint32_t input_n, output_n;
    const char *const *backends;      /* names, first-seen order */
    uint32_t backend_n;
    uint32_t layer_n;                 /* 1 + the largest layer, 0 when none */
    const psc_node *kv;               /* nodes that lie in regions or write them, ascending */
    uint32_t kv_n, unlisted_n;        /* unlisted_n: inputs that the list does not name */
    bool has_views, has_unassigned, has_one_backend; /* has_unassigned: nodes without a backend */
    const char *kind, *model;         /* texts of the file, may be NULL */
    const char *extra_json;           /* unknown top-level keys */
    const uint32_t *reader_at;        /* readers of node i: readers[reader_at[i] .. reader_at[i+1]) */
    const psc_node *readers;          /* ascending, one entry for each src entry */
    const psc_node *by_id;            /* nodes by ascending id; NULL when every id is its index */
};

static inline const psc_node *psc_node_srcs(const struct psc_graph *g, psc_node i)
{
    return g->srcs + g->nodes[i].src_at;
}
/* "ffn_up" from matmul_blk.6.ffn_up.weight, "attn_norm", "rope q", "kv_store", else the name, else
 * "get_rows #1". Writes at most size bytes, returns buf. Cost O(name). */
const char *psc_node_label(const struct psc_graph *g, psc_node i, char *buf, size_t size);
/* Name of the node's backend or "unassigned". */
const char *psc_node_backend_name(const struct psc_graph *g, psc_node i);
/* Index of the node whose file id is `id`, or PSC_NONE. O(1) when ids are dense, else O(log n). */
psc_node psc_graph_find(const struct psc_graph *g, uint64_t id);

/* ---- reading a file: collect, then build ------------------------------------------------- */

struct psc_draft_node {
    uint64_t id;
    const char *name, *op_name, *dtype_name, *backend; /* any may be NULL */
    uint64_t shape[4];
    const uint64_t *src; /* file ids */
    uint32_t src_n;
    struct psc_params params;
    int32_t layer; /* -1 when the file names none */
    const char *detail_json, *meta_json, *extra_json;
    uint64_t byte; /* where the node starts in its file, UINT64_MAX when unknown */
};
struct psc_draft {
    struct psc_draft_node *nodes;
    uint32_t n;
    const uint64_t *inputs, *outputs; /* file ids as listed */
    uint32_t input_n, output_n;
    const char *kind, *model, *extra_json;
};
/* Checks everything and reports every fault in one pass: duplicate ids (both places), dangling src,
 * inputs, outputs, cycles (each as "1 -> 2 -> 3 -> 1"), shapes that overflow, views outside their
 * parent, too few operands, an input that has operands. Warnings: unused inputs, no outputs at all, inputs that the list
 * does not name, too many operands, list order that is not topological (the graph is then ordered by id
 * if that is, else by the operands). Notes: unknown ops and dtypes, shapes that break the rule of their op.
 * report may be NULL.
 * Copies all strings. Returns PSC_ERR_GRAPH (report holds the faults), PSC_ERR_NOMEM,
 * PSC_ERR_TOO_BIG. */
enum psc_status psc_graph_from_draft(struct psc_arena *arena, const struct psc_draft *draft,
                                     struct psc_report *report, struct psc_graph **ret,
                                     struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- building in code ---------------------------------------------------------------------- */

struct psc_builder; /* opaque; remembers the first error, so calls may be chained unchecked */
struct psc_builder *psc_builder_new(void); /* NULL when out of memory */
void psc_builder_free(struct psc_builder *b);
void psc_builder_set_backend(struct psc_builder *b, const char *name); /* for the nodes after it */
void psc_builder_set_layer(struct psc_builder *b, int32_t layer);      /* -1: none */
void psc_builder_set_texts(struct psc_builder *b, const char *kind, const char *model); /* may be NULL */
psc_node psc_builder_input(struct psc_builder *b, const char *name, enum psc_dtype dtype,
                           uint64_t d0, uint64_t d1);
/* The general form: src may only name ids already returned. params may be NULL. */
psc_node psc_builder_node(struct psc_builder *b, const char *name, enum psc_op op,
                          const psc_node *src, uint32_t src_n, enum psc_dtype dtype,
                          const uint64_t shape[4], const struct psc_params *params);
/* Shape-aware sugar: an f32 node whose out shape follows the rule of core/graph/rules.h. */
psc_node psc_builder_op(struct psc_builder *b, const char *name, enum psc_op op, const psc_node *src,
                        uint32_t src_n, const struct psc_params *params);
psc_node psc_builder_unary(struct psc_builder *b, const char *name, enum psc_op op, psc_node a);
psc_node psc_builder_binary(struct psc_builder *b, const char *name, enum psc_op op, psc_node a, psc_node c);
psc_node psc_builder_view(struct psc_builder *b, const char *name, psc_node parent, uint64_t offset,
                          uint64_t d0, uint64_t d1);
/* Views along axis 0 whose sizes must sum to the owner's dim 0; ret gets n ids. */
void psc_builder_split(struct psc_builder *b, const char *name, psc_node owner, const uint64_t *sizes,
                       uint32_t n, psc_node *ret);
void psc_builder_output(struct psc_builder *b, psc_node node); /* idempotent */
enum psc_status psc_builder_finish(struct psc_builder *b, struct psc_arena *arena,
                                   struct psc_graph **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- order and structure ------------------------------------------------------------------- */

/* Kahn over distinct sources, FIFO queue seeded by ascending index, successors ascending.
 * order_ret[n] is filled. O(nodes + edges). with_effects adds the hidden KV edges. */
enum psc_status psc_graph_topological(const struct psc_graph *g, bool with_effects, psc_node *order_ret,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
/* Dependency level of each node: inputs 0, else 1 + the largest of its operands and hidden order edges (1 when
 * it has none). level_ret[n]. */
enum psc_status psc_graph_levels(const struct psc_graph *g, uint32_t *level_ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

/* Maximal runs of one backend in build order (an unassigned node inherits; the start is "cpu" when
 * the graph has it, else the first backend). */
struct psc_split {
    uint8_t backend;
    psc_node first, last;            /* inclusive positions */
    const psc_node *inputs, *outputs; /* nodes that cross into / out of the split, first seen order */
    uint32_t input_n, output_n;
};
enum psc_status psc_graph_splits(struct psc_arena *arena, const struct psc_graph *g,
                                 const struct psc_split **ret, uint32_t *ret_n) PSC_MUST_CHECK;

/* Makes graph->digests and what is listed and counted of them: whoever made or changed nodes calls it last. false: out of memory. */
bool psc_graph_digest(struct psc_arena *arena, struct psc_graph *g) PSC_MUST_CHECK;

/* True when every field is the same, texts by content. */
bool psc_params_equal(const struct psc_params *a, const struct psc_params *b);
/* True when the two graphs have the same op, out shape and src in every node. */
bool psc_graph_same_structure(const struct psc_graph *a, const struct psc_graph *b);

#endif
