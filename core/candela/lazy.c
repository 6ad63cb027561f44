#include "core/candela/lazy.h"

#include "core/base/mem.h"
#include "core/candela/skeleton.h"

#include <stdio.h>
#include <string.h>

void psc_lazy_init(struct psc_lazy *l)
{
    *l = (struct psc_lazy){.fuse = true};
}

void psc_lazy_release(struct psc_lazy *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->nodes[i].cell)
            psc_store_unref(l->nodes[i].cell->store);
    for (size_t i = 0; i < l->owned_n; i++)
        psc_skeleton_free(l->owned[i]);
    psc_free(l->owned);
    psc_free(l->nodes);
    psc_arena_release(&l->arena);
    *l = (struct psc_lazy){0};
}

enum psc_status psc_lazy_status(const struct psc_lazy *l, struct psc_error *reterr)
{
    if (l->error.status && reterr)
        *reterr = l->error;
    return l->error.status;
}

static uint32_t nomem(struct psc_lazy *l)
{
    (void)psc_fail_nomem(&l->error);
    return PSC_NONE;
}

/* False after an error, or when an operand does not exist. */
static bool has(struct psc_lazy *l, const uint32_t *inputs, uint32_t n)
{
    for (uint32_t k = 0; !l->error.status && k < n; k++)
        if (inputs[k] >= l->n)
            (void)psc_fail(&l->error, PSC_ERR_GRAPH, "an operand names node %u: there are %zu", inputs[k], l->n);
    return !l->error.status;
}

/* Appends a node and copies its operands and its name. */
static uint32_t append(struct psc_lazy *l, const char *name, struct psc_lazy_node node, const uint32_t *inputs, uint32_t n)
{
    char made[48];
    if (!has(l, inputs, n))
        return PSC_NONE;
    if (l->n >= PSC_LAZY_NODES_MAX) {
        (void)psc_fail(&l->error, PSC_ERR_TOO_BIG, "an expression has more than %u nodes", PSC_LAZY_NODES_MAX);
        return PSC_NONE;
    }
    snprintf(made, sizeof made, "%s%zu", node.kind == PSC_LAZY_EDGE    ? "edge"
                                         : node.kind == PSC_LAZY_SLOT  ? "slot"
                                         : node.kind == PSC_LAZY_CACHE ? "cache"
                                         : node.kind == PSC_LAZY_BAKED ? "baked"
                                                                       : psc_lazy_op_name(node.op), l->n);
    node.name = psc_arena_strdup(&l->arena, name ? name : made);
    node.inputs = psc_arena_alloc(&l->arena, n, sizeof *inputs);
    node.input_n = n;
    if (!node.name || !node.inputs || !psc_grow(&l->nodes, l->n + 1, &l->cap, sizeof *l->nodes))
        return nomem(l);
    if (n)
        memcpy(node.inputs, inputs, n * sizeof *inputs);
    l->nodes[l->n] = node;
    return (uint32_t)l->n++;
}

uint32_t psc_lazy_edge(struct psc_lazy *l, const char *name, uint32_t rank, const uint64_t *shape, const float *data)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_EDGE};
    if (l->error.status || psc_layout_packed(rank, shape, &node.layout, &l->error))
        return PSC_NONE;
    uint64_t len = psc_layout_len(&node.layout);
    node.data = psc_arena_alloc(&l->arena, (size_t)len, sizeof *data);
    if (!node.data)
        return nomem(l);
    if (len)
        memcpy(node.data, data, (size_t)len * sizeof *data);
    return append(l, name, node, NULL, 0);
}

uint32_t psc_lazy_slot(struct psc_lazy *l, const char *name, const struct psc_strides *layout)
{
    return append(l, name, (struct psc_lazy_node){.kind = PSC_LAZY_SLOT, .layout = *layout}, NULL, 0);
}

void psc_lazy_stand_in(struct psc_lazy *l, uint32_t slot, const float *data)
{
    if (!has(l, &slot, 1))
        return;
    uint64_t len = psc_layout_len(&l->nodes[slot].layout);
    float *copy = psc_arena_alloc(&l->arena, (size_t)len, sizeof *copy);
    if (copy && len)
        memcpy(copy, data, (size_t)len * sizeof *copy);
    if (copy)
        l->nodes[slot].data = copy;
    else
        nomem(l);
}

/* Writes the steps of `from` and one more: + after + and * after * become one. */
static uint32_t fuse(struct psc_lazy_scalar *to, const struct psc_lazy_node *from, struct psc_lazy_scalar one)
{
    uint32_t n = from->scalar_n;
    memcpy(to, from->scalars, n * sizeof *to);
    if (one.op == to[n - 1].op && one.op == '+')
        to[n - 1].value += one.value;
    else if (one.op == to[n - 1].op && one.op == '*')
        to[n - 1].value *= one.value;
    else
        to[n++] = one;
    return n;
}

uint32_t psc_lazy_scalar(struct psc_lazy *l, const char *name, uint32_t x, char op, float value)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_NODE};
    struct psc_lazy_scalar one = {op, value};
    if (!has(l, &x, 1))
        return PSC_NONE;
    const struct psc_lazy_node *from = &l->nodes[x];
    bool fuses = l->fuse && from->kind == PSC_LAZY_NODE && psc_lazy_op_is_scalar(from->op) &&
                 from->scalar_n < PSC_LAZY_FUSED_MAX;
    node.scalars = psc_arena_alloc(&l->arena, (fuses ? from->scalar_n : 0) + (size_t)1, sizeof *node.scalars);
    if (!node.scalars)
        return nomem(l);
    node.scalars[0] = one;
    node.scalar_n = fuses ? fuse(node.scalars, from, one) : 1;
    node.op = node.scalar_n > 1 ? PSC_LAZY_FUSED : PSC_LAZY_SCALAR;
    if (psc_layout_packed(from->layout.rank, from->layout.shape, &node.layout, &l->error))
        return PSC_NONE;
    if (fuses)
        x = from->inputs[0];
    return append(l, name, node, &x, 1);
}

uint32_t psc_lazy_binary(struct psc_lazy *l, const char *name, enum psc_lazy_op op, uint32_t a, uint32_t b)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_NODE, .op = op};
    uint32_t both[2] = {a, b};
    char x[96], y[96];
    if (!has(l, both, 2))
        return PSC_NONE;
    if (!psc_layout_same_shape(&l->nodes[a].layout, &l->nodes[b].layout)) {
        (void)psc_fail(&l->error, PSC_ERR_GRAPH, "%s needs two tensors of one shape: %s is %s, %s is %s",
                       psc_lazy_op_name(op), l->nodes[a].name, psc_layout_text(&l->nodes[a].layout, x, sizeof x),
                       l->nodes[b].name, psc_layout_text(&l->nodes[b].layout, y, sizeof y));
        return PSC_NONE;
    }
    if (psc_layout_packed(l->nodes[a].layout.rank, l->nodes[a].layout.shape, &node.layout, &l->error))
        return PSC_NONE;
    return append(l, name, node, both, 2);
}

uint32_t psc_lazy_matmul(struct psc_lazy *l, const char *name, uint32_t a, uint32_t b)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_NODE, .op = PSC_LAZY_MATMUL};
    uint32_t both[2] = {a, b};
    char x[96], y[96];
    if (!has(l, both, 2))
        return PSC_NONE;
    const struct psc_strides *p = &l->nodes[a].layout, *q = &l->nodes[b].layout;
    if (p->rank != 2 || q->rank != 2 || p->shape[1] != q->shape[0]) {
        (void)psc_fail(&l->error, PSC_ERR_GRAPH, "matmul needs m x k and k x n: %s is %s, %s is %s", l->nodes[a].name,
                       psc_layout_text(p, x, sizeof x), l->nodes[b].name, psc_layout_text(q, y, sizeof y));
        return PSC_NONE;
    }
    if (psc_layout_packed(2, (uint64_t[]){p->shape[0], q->shape[1]}, &node.layout, &l->error))
        return PSC_NONE;
    return append(l, name, node, both, 2);
}

uint32_t psc_lazy_unary(struct psc_lazy *l, const char *name, enum psc_lazy_op op, uint32_t x,
                        const struct psc_lazy_arg *arg)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_NODE, .op = op};
    if (!has(l, &x, 1))
        return PSC_NONE;
    const struct psc_strides *in = &l->nodes[x].layout;
    enum psc_status status;
    if (arg)
        node.arg = *arg;
    if (op == PSC_LAZY_SUM)
        status = psc_layout_packed(1, (uint64_t[]){1}, &node.layout, &l->error);
    else if (op == PSC_LAZY_AS_CONTIGUOUS)
        status = psc_layout_packed(in->rank, in->shape, &node.layout, &l->error);
    else
        status = psc_layout_apply(op, &node.arg, in, &node.layout, &l->error);
    return status ? PSC_NONE : append(l, name, node, &x, 1);
}

uint32_t psc_lazy_cache(struct psc_lazy *l, const char *name, uint32_t x)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_CACHE, .op = PSC_LAZY_NOOP};
    if (!has(l, &x, 1))
        return PSC_NONE;
    node.layout = l->nodes[x].layout;
    node.cell = psc_arena_alloc0(&l->arena, 1, sizeof *node.cell);
    return node.cell ? append(l, name, node, &x, 1) : nomem(l);
}

bool psc_lazy_own(struct psc_lazy *l, struct psc_skeleton *skeleton)
{
    if (!psc_grow(&l->owned, l->owned_n + 1, &l->owned_cap, sizeof *l->owned))
        return false;
    l->owned[l->owned_n++] = skeleton;
    return true;
}

uint32_t psc_lazy_baked(struct psc_lazy *l, const char *name, const struct psc_skeleton *skeleton,
                        const struct psc_strides *result, const uint32_t *inputs, uint32_t n)
{
    struct psc_lazy_node node = {.kind = PSC_LAZY_BAKED, .baked = skeleton, .layout = *result};
    return append(l, name, node, inputs, n);
}

void psc_lazy_rename(struct psc_lazy *l, uint32_t id, const char *name)
{
    if (!has(l, &id, 1))
        return;
    const char *copy = psc_arena_strdup(&l->arena, name);
    if (copy)
        l->nodes[id].name = copy;
    else
        nomem(l);
}

void psc_lazy_rewire(struct psc_lazy *l, uint32_t id, uint32_t operand, uint32_t to)
{
    if (has(l, (uint32_t[]){id, to}, 2) && operand < l->nodes[id].input_n)
        l->nodes[id].inputs[operand] = to;
}

void psc_lazy_forget(struct psc_lazy *l, uint32_t id)
{
    if (!has(l, &id, 1) || !l->nodes[id].cell)
        return;
    psc_store_unref(l->nodes[id].cell->store);
    l->nodes[id].cell->store = NULL;
}

/* ---- computing directly -------------------------------------------------------------------------- */

static float apply(char op, float x, float y)
{
    return op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
}

/* Where element i of the result of a layout op comes from in its operand, both counted in row-major order. */
static uint64_t from_where(const struct psc_lazy_node *node, const struct psc_strides *in, uint64_t i)
{
    struct psc_strides packed, out;
    if (psc_layout_packed(in->rank, in->shape, &packed, NULL) ||
        psc_layout_apply(node->op, &node->arg, &packed, &out, NULL))
        return i;
    return psc_layout_at(&out, i);
}

static void compute(const struct psc_lazy *l, const struct psc_lazy_node *node, float *const *values, float *to)
{
    static const char signs[] = "+-*/";
    const float *a = values[node->inputs[0]], *b = node->input_n > 1 ? values[node->inputs[1]] : NULL;
    const struct psc_strides *in = &l->nodes[node->inputs[0]].layout;
    uint64_t len = psc_layout_len(&node->layout), from_n = psc_layout_len(in);
    if (node->op == PSC_LAZY_SUM)
        for (uint64_t i = to[0] = 0; i < from_n; i++)
            to[0] += a[i];
    for (uint64_t i = 0; i < len && node->op != PSC_LAZY_SUM; i++) {
        if (psc_lazy_op_is_binary(node->op)) {
            to[i] = apply(signs[node->op - PSC_LAZY_ADD], a[i], b[i]);
        } else if (psc_lazy_op_is_scalar(node->op)) {
            to[i] = a[i];
            for (uint32_t k = 0; k < node->scalar_n; k++)
                to[i] = apply(node->scalars[k].op, to[i], node->scalars[k].value);
        } else if (node->op == PSC_LAZY_MATMUL) {
            uint64_t n = node->layout.shape[1], inner = in->shape[1];
            to[i] = 0;
            for (uint64_t k = 0; k < inner; k++)
                to[i] += a[i / n * inner + k] * b[k * n + i % n];
        } else {
            to[i] = a[node->op == PSC_LAZY_AS_CONTIGUOUS ? i : from_where(node, in, i)];
        }
    }
}

static enum psc_status direct(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root, uint32_t depth, float ***ret,
                              struct psc_error *reterr);

/* A baked node: its expression once more, over what is bound to its slots. */
static enum psc_status compute_inside(const struct psc_lazy_node *node, float *const *values, uint32_t depth, float *to,
                                      struct psc_error *reterr)
{
    uint32_t root;
    struct psc_lazy own = *psc_skeleton_source(node->baked, &root);
    const struct psc_candela_plan *plan = psc_skeleton_plan(node->baked);
    struct psc_arena scratch = {0};
    struct psc_lazy_node *nodes = psc_arena_alloc(&scratch, root + (size_t)1, sizeof *nodes);
    float **inner = NULL;
    enum psc_status status = nodes ? PSC_OK : psc_fail_nomem(reterr);
    if (!status && depth >= PSC_BAKED_MAX)
        status = psc_fail(reterr, PSC_ERR_TOO_BIG, "plans stand inside plans more than %u deep", PSC_BAKED_MAX);
    if (!status) {
        memcpy(nodes, own.nodes, (root + (size_t)1) * sizeof *nodes);
        for (uint32_t k = 0; k < node->input_n && k < plan->external_n; k++)
            nodes[plan->externals[k]].data = values[node->inputs[k]];
        own.nodes = nodes;
        own.n = root + (size_t)1;
        status = direct(&scratch, &own, root, depth + 1, &inner, reterr);
    }
    if (!status)
        memcpy(to, inner[root], (size_t)psc_layout_len(&node->layout) * sizeof *to);
    psc_arena_release(&scratch);
    return status;
}

static enum psc_status direct(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root, uint32_t depth, float ***ret,
                              struct psc_error *reterr)
{
    float **values = psc_arena_alloc0(arena, l->n, sizeof *values);
    bool *needed = psc_arena_alloc0(arena, l->n, sizeof *needed);
    if (!values || !needed)
        return psc_fail_nomem(reterr);
    needed[root] = true;
    for (uint32_t i = root + 1; i-- > 0;)
        for (uint32_t k = 0; needed[i] && k < l->nodes[i].input_n; k++)
            if (l->nodes[i].inputs[k] < i)
                needed[l->nodes[i].inputs[k]] = true;
            else
                return psc_fail(reterr, PSC_ERR_GRAPH, "%s reads %s, which was written down later", l->nodes[i].name,
                                l->nodes[l->nodes[i].inputs[k]].name);
    for (uint32_t i = 0; i <= root; i++) {
        const struct psc_lazy_node *node = &l->nodes[i];
        if (!needed[i])
            continue;
        if (node->kind == PSC_LAZY_SLOT && !node->data)
            return psc_fail(reterr, PSC_ERR_GRAPH, "%s has no value of its own: only a plan can run it", node->name);
        values[i] = psc_arena_alloc(arena, (size_t)psc_layout_len(&node->layout), sizeof **values);
        if (!values[i])
            return psc_fail_nomem(reterr);
        if (node->kind == PSC_LAZY_EDGE || node->kind == PSC_LAZY_SLOT)
            memcpy(values[i], node->data, (size_t)psc_layout_len(&node->layout) * sizeof **values);
        else if (node->kind != PSC_LAZY_BAKED)
            compute(l, node, values, values[i]);
        enum psc_status status = node->kind == PSC_LAZY_BAKED ? compute_inside(node, values, depth, values[i], reterr) : PSC_OK;
        if (status)
            return status;
    }
    *ret = values;
    return PSC_OK;
}

enum psc_status psc_lazy_direct(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root, float ***ret,
                                struct psc_error *reterr)
{
    return direct(arena, l, root, 0, ret, reterr);
}
