#include "core/base/mem.h"
#include "core/graph/rules.h"

#include <stdio.h>
#include <string.h>

#define SUGAR_SRC 8u /* operands that psc_builder_op takes at most */

struct psc_builder {
    struct psc_arena arena; /* texts and operand lists of the draft */
    struct psc_draft_node *nodes;
    size_t n, node_cap;
    uint64_t *inputs, *outputs;
    size_t input_n, input_cap, output_n, output_cap;
    bool *is_output; /* [node_cap of it] */
    size_t is_output_cap;
    const char *backend, *kind, *model;
    int32_t layer;
    bool has_error; /* a call made no sense; `error` says which */
    bool failed;    /* an allocation failed */
    struct psc_error error;
};

struct psc_builder *psc_builder_new(void)
{
    struct psc_builder *b = psc_alloc0(1, sizeof *b);
    if (b)
        b->layer = -1;
    return b;
}

void psc_builder_free(struct psc_builder *b)
{
    if (!b)
        return;
    psc_arena_release(&b->arena);
    psc_free(b->nodes);
    psc_free(b->inputs);
    psc_free(b->outputs);
    psc_free(b->is_output);
    psc_free(b);
}

static const char *keep(struct psc_builder *b, const char *text)
{
    if (!text)
        return NULL;
    const char *out = psc_arena_strdup(&b->arena, text);
    b->failed = b->failed || !out;
    return out;
}

static psc_node wrong(struct psc_builder *b, const char *name, const char *text)
{
    if (!b->has_error)
        psc_fail(&b->error, PSC_ERR_GRAPH, "node %zu (%s): %s", b->n, name ? name : "unnamed", text);
    b->has_error = true;
    return PSC_NONE;
}

void psc_builder_set_backend(struct psc_builder *b, const char *name)
{
    b->backend = keep(b, name);
}

void psc_builder_set_layer(struct psc_builder *b, int32_t layer)
{
    b->layer = layer;
}

void psc_builder_set_texts(struct psc_builder *b, const char *kind, const char *model)
{
    b->kind = keep(b, kind);
    b->model = keep(b, model);
}

static const struct psc_draft_node *at(const struct psc_builder *b, psc_node node)
{
    return node < b->n ? &b->nodes[node] : NULL;
}

psc_node psc_builder_node(struct psc_builder *b, const char *name, enum psc_op op,
                          const psc_node *src, uint32_t src_n, enum psc_dtype dtype,
                          const uint64_t shape[4], const struct psc_params *params)
{
    if (b->has_error || b->failed)
        return PSC_NONE;
    if (b->n >= PSC_NODES_MAX)
        return wrong(b, name, "too many nodes");
    uint64_t *ids = psc_arena_alloc(&b->arena, src_n, sizeof *ids);
    if (!ids || !psc_grow(&b->nodes, b->n + 1, &b->node_cap, sizeof *b->nodes)) {
        b->failed = true;
        return PSC_NONE;
    }
    for (uint32_t k = 0; k < src_n; k++) {
        if (src[k] >= b->n)
            return wrong(b, name, "it reads a node that does not exist yet");
        ids[k] = src[k];
    }
    struct psc_draft_node *node = &b->nodes[b->n];
    memset(node, 0, sizeof *node);
    node->id = b->n;
    node->name = keep(b, name);
    node->op_name = psc_op_info(op)->name;
    node->dtype_name = psc_dtype_name(dtype);
    node->backend = b->backend;
    memcpy(node->shape, shape, sizeof node->shape);
    node->src = ids;
    node->src_n = src_n;
    node->layer = op == PSC_OP_INPUT ? -1 : b->layer;
    node->byte = UINT64_MAX;
    if (params) {
        node->params = *params;
        node->params.weight = keep(b, params->weight);
        node->params.wtype = keep(b, params->wtype);
        for (int k = 0; k < 3; k++)
            node->params.bias[k] = keep(b, params->bias[k]);
        node->params.q_norm = keep(b, params->q_norm);
        node->params.k_norm = keep(b, params->k_norm);
    }
    return b->failed ? PSC_NONE : (psc_node)b->n++;
}

psc_node psc_builder_input(struct psc_builder *b, const char *name, enum psc_dtype dtype,
                           uint64_t d0, uint64_t d1)
{
    psc_node i = psc_builder_node(b, name, PSC_OP_INPUT, NULL, 0, dtype, (uint64_t[4]){d0, d1, 1, 1}, NULL);
    if (i == PSC_NONE)
        return i;
    if (!psc_grow(&b->inputs, b->input_n + 1, &b->input_cap, sizeof *b->inputs)) {
        b->failed = true;
        return PSC_NONE;
    }
    b->inputs[b->input_n++] = i;
    return i;
}

psc_node psc_builder_op(struct psc_builder *b, const char *name, enum psc_op op, const psc_node *src, uint32_t src_n,
                        const struct psc_params *params)
{
    uint64_t shapes[SUGAR_SRC][4], shape[4];
    if (src_n > SUGAR_SRC)
        return wrong(b, name, "too many operands: use psc_builder_node");
    for (uint32_t k = 0; k < src_n; k++) {
        if (!at(b, src[k]))
            return wrong(b, name, "an operand does not exist");
        memcpy(shapes[k], b->nodes[src[k]].shape, sizeof shapes[k]);
    }
    if (!psc_op_shape(op, params, (const uint64_t(*)[4])shapes, src_n, shape))
        return wrong(b, name, "its shape does not follow from its operands and parameters");
    return psc_builder_node(b, name, op, src, src_n, PSC_F32, shape, params);
}

psc_node psc_builder_unary(struct psc_builder *b, const char *name, enum psc_op op, psc_node a)
{
    return psc_builder_op(b, name, op, &a, 1, NULL);
}

psc_node psc_builder_binary(struct psc_builder *b, const char *name, enum psc_op op, psc_node a, psc_node c)
{
    return psc_builder_op(b, name, op, (psc_node[2]){a, c}, 2, NULL);
}

psc_node psc_builder_view(struct psc_builder *b, const char *name, psc_node parent, uint64_t offset,
                          uint64_t d0, uint64_t d1)
{
    const struct psc_draft_node *src = at(b, parent);
    if (!src)
        return wrong(b, name, "the node it views does not exist");
    struct psc_params params = {0};
    params.view_offset = offset;
    return psc_builder_node(b, name, PSC_OP_VIEW, &parent, 1, psc_dtype_from_name(src->dtype_name),
                            (uint64_t[4]){d0, d1, 1, 1}, &params);
}

void psc_builder_split(struct psc_builder *b, const char *name, psc_node owner, const uint64_t *sizes,
                       uint32_t n, psc_node *ret)
{
    const struct psc_draft_node *src = at(b, owner);
    uint64_t total = 0;
    bool adds_up = true;
    for (uint32_t k = 0; k < n; k++) {
        ret[k] = PSC_NONE;
        adds_up = adds_up && psc_add_u64(total, sizes[k], &total);
    }
    if (!src || !adds_up || total != src->shape[0]) {
        wrong(b, name, src ? "the parts do not add up to the owner's first dimension" : "the owner does not exist");
        return;
    }
    enum psc_dtype dtype = psc_dtype_from_name(src->dtype_name);
    uint64_t shape[4];
    memcpy(shape, src->shape, sizeof shape);
    struct psc_params params = {0};
    for (uint32_t k = 0; k < n; k++) {
        char part[160];
        snprintf(part, sizeof part, "%.120s_part%u", name ? name : "split", k);
        shape[0] = sizes[k];
        ret[k] = psc_builder_node(b, part, PSC_OP_VIEW, &owner, 1, dtype, shape, &params);
        params.view_offset += sizes[k];
    }
}

void psc_builder_output(struct psc_builder *b, psc_node node)
{
    if (b->has_error || b->failed)
        return;
    if (!at(b, node)) {
        wrong(b, "output", "the output does not exist");
        return;
    }
    size_t had = b->is_output_cap;
    if (!psc_grow(&b->is_output, (size_t)node + 1, &b->is_output_cap, sizeof *b->is_output) ||
        !psc_grow(&b->outputs, b->output_n + 1, &b->output_cap, sizeof *b->outputs)) {
        b->failed = true;
        return;
    }
    memset(b->is_output + had, 0, b->is_output_cap - had);
    if (b->is_output[node])
        return;
    b->is_output[node] = true;
    b->outputs[b->output_n++] = node;
}

enum psc_status psc_builder_finish(struct psc_builder *b, struct psc_arena *arena, struct psc_graph **ret,
                                   struct psc_error *reterr)
{
    if (b->failed)
        return psc_fail_nomem(reterr);
    if (b->has_error) {
        if (reterr)
            *reterr = b->error;
        return b->error.status;
    }
    struct psc_draft draft = {
        .nodes = b->nodes, .n = (uint32_t)b->n,
        .inputs = b->inputs, .input_n = (uint32_t)b->input_n,
        .outputs = b->outputs, .output_n = (uint32_t)b->output_n,
        .kind = b->kind, .model = b->model,
    };
    return psc_graph_from_draft(arena, &draft, NULL, ret, reterr);
}
