#include "core/graph/graph.h"

#include "core/base/mem.h"
#include "core/graph/draft.h"
#include "core/graph/layer.h"
#include "core/graph/rules.h"

#include <stdio.h>
#include <string.h>

#define RULE_SRC 8u /* nodes with more operands are not held to a shape rule */

static const struct psc_params no_params;

struct assembly {
    struct psc_arena *arena;
    const struct psc_resolved *r;
    struct psc_graph *g;
    struct psc_node_info *nodes;
    uint32_t *place; /* new index of each draft place; NULL: the same */
    const char **backends;
    bool failed;     /* an allocation failed */
};

static const char *copy(struct assembly *a, const char *text)
{
    if (!text)
        return NULL;
    char *out = psc_arena_strdup(a->arena, text);
    a->failed = a->failed || !out;
    return out;
}

static psc_node moved(const struct assembly *a, uint32_t at)
{
    return a->place ? a->place[at] : at;
}

static bool find_places(struct assembly *a, struct psc_arena *scratch)
{
    if (!a->r->order)
        return true;
    a->place = psc_arena_alloc(scratch, a->g->n, sizeof *a->place);
    if (!a->place)
        return false;
    for (uint32_t i = 0; i < a->g->n; i++)
        a->place[a->r->order[i]] = i;
    return true;
}

static const struct psc_params *copy_params(struct assembly *a, const struct psc_params *params)
{
    if (psc_params_equal(params, &no_params))
        return &no_params;
    struct psc_params *p = psc_arena_alloc(a->arena, 1, sizeof *p);
    if (!p) {
        a->failed = true;
        return &no_params;
    }
    *p = *params;
    p->weight = copy(a, params->weight);
    p->wtype = copy(a, params->wtype);
    for (int k = 0; k < 3; k++)
        p->bias[k] = copy(a, params->bias[k]);
    p->q_norm = copy(a, params->q_norm);
    p->k_norm = copy(a, params->k_norm);
    return p;
}

/* Index of the backend's name; a new one is entered. The table has room for PSC_BACKEND_NONE names. */
static uint8_t backend_of(struct assembly *a, const char *name, uint8_t last, struct psc_error *reterr,
                          enum psc_status *status)
{
    if (!name)
        return PSC_BACKEND_NONE;
    if (last != PSC_BACKEND_NONE && !strcmp(a->backends[last], name))
        return last;
    for (uint32_t k = 0; k < a->g->backend_n; k++)
        if (!strcmp(a->backends[k], name))
            return (uint8_t)k;
    if (a->g->backend_n == PSC_BACKEND_NONE) {
        *status = psc_fail(reterr, PSC_ERR_TOO_BIG, "the graph names more than %u backends", PSC_BACKEND_NONE);
        return PSC_BACKEND_NONE;
    }
    a->backends[a->g->backend_n] = copy(a, name);
    return (uint8_t)a->g->backend_n++;
}

/* Everything of a node that does not depend on others. */
static void fill_node(struct assembly *a, uint32_t i, uint32_t at)
{
    const struct psc_draft_node *d = &a->r->draft->nodes[at];
    struct psc_node_info *node = &a->nodes[i];
    node->id = d->id;
    node->op = a->r->facts[at].op;
    node->dtype = a->r->facts[at].dtype;
    node->name = copy(a, d->name);
    node->op_name = node->op != PSC_OP_OTHER ? psc_op_info(node->op)->name : copy(a, d->op_name ? d->op_name : "");
    node->dtype_name = node->dtype != PSC_DTYPE_OTHER ? psc_dtype_name(node->dtype) : copy(a, d->dtype_name ? d->dtype_name : "");
    node->layer = d->layer < 0 ? -1 : d->layer;
    memcpy(node->shape, d->shape, sizeof node->shape);
    node->elements = a->r->facts[at].elements;
    node->bytes = a->r->facts[at].bytes;
    node->params = copy_params(a, &d->params);
    node->detail_json = copy(a, d->detail_json);
    node->meta_json = copy(a, d->meta_json);
    node->extra_json = copy(a, d->extra_json);
    node->parent = PSC_NONE;
    node->root = i;
}

static enum psc_status fill_nodes(struct assembly *a, struct psc_error *reterr)
{
    const struct psc_resolved *r = a->r;
    enum psc_status status = PSC_OK;
    psc_node *srcs = psc_arena_alloc(a->arena, r->src.at[r->src.n], sizeof *srcs);
    uint8_t backend = PSC_BACKEND_NONE;
    uint32_t n = 0;
    if (!srcs)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < a->g->n && status == PSC_OK && !a->failed; i++) {
        uint32_t at = r->order ? r->order[i] : i;
        struct psc_node_info *node = &a->nodes[i];
        fill_node(a, i, at);
        node->backend = backend_of(a, r->draft->nodes[at].backend, backend, reterr, &status);
        if (node->backend != PSC_BACKEND_NONE)
            backend = node->backend;
        node->src_at = n;
        node->src_n = r->src.at[at + 1] - r->src.at[at];
        for (uint32_t k = 0; k < node->src_n; k++) {
            srcs[n] = moved(a, r->src.to[r->src.at[at] + k]);
            a->nodes[srcs[n++]].reader_n++;
        }
        if (psc_op_info(node->op)->is_view) {
            node->parent = srcs[node->src_at];
            node->root = a->nodes[node->parent].root;
            node->root_offset = a->nodes[node->parent].root_offset + r->facts[at].offset;
        }
    }
    a->g->srcs = srcs;
    a->g->src_total = n;
    return a->failed ? psc_fail_nomem(reterr) : status;
}

static const psc_node *move_list(struct assembly *a, const psc_node *list, uint32_t n)
{
    psc_node *out = psc_arena_alloc(a->arena, n, sizeof *out);
    if (!out) {
        a->failed = true;
        return NULL;
    }
    for (uint32_t k = 0; k < n; k++)
        out[k] = moved(a, list[k]);
    return out;
}

static void fill_lists(struct assembly *a)
{
    const struct psc_resolved *r = a->r;
    struct psc_graph *g = a->g;
    g->inputs = move_list(a, r->inputs, r->input_n);
    g->outputs = move_list(a, r->outputs, r->output_n);
    if (a->failed)
        return;
    g->input_n = r->input_n;
    g->output_n = r->output_n;
    for (uint32_t k = 0; k < g->input_n; k++)
        a->nodes[g->inputs[k]].is_input = true;
    for (uint32_t k = 0; k < g->output_n; k++)
        a->nodes[g->outputs[k]].is_output = true;
    if (r->by_id) {
        g->by_id = move_list(a, r->by_id, g->n);
    } else if (a->place) {
        /* Ids are places in the file: the node with id i stands at place[i]. */
        psc_node *by_id = psc_arena_alloc(a->arena, g->n, sizeof *by_id);
        a->failed = !by_id;
        if (by_id)
            memcpy(by_id, a->place, g->n * sizeof *by_id);
        g->by_id = by_id;
    }
}

static void warn_unused(const struct assembly *a, struct psc_report *report)
{
    uint32_t unused = 0;
    for (uint32_t k = 0; k < a->g->input_n; k++) {
        const struct psc_node_info *node = &a->nodes[a->g->inputs[k]];
        char name[PSC_DRAFT_NAME];
        if (!node->reader_n && !node->is_output && unused++ < PSC_DRAFT_ALIKE)
            psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "input %llu (%s) is unused",
                           (unsigned long long)node->id,
                           psc_draft_text(node->name, name));
    }
    psc_draft_more(a->r, unused, "inputs are unused");
}

static void warn_no_outputs(const struct assembly *a, struct psc_report *report)
{
    if (a->g->n && !a->g->output_n)
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX,
                       "the graph lists no outputs: the host reads nothing, and a node without reader is dead");
}

static void fill_layers(struct assembly *a, struct psc_report *report)
{
    struct psc_graph *g = a->g;
    psc_node homeless = psc_layers_assign(a->nodes, g->n, g->srcs);
    for (uint32_t i = 0; i < g->n; i++)
        if (a->nodes[i].layer >= (int32_t)g->layer_n)
            g->layer_n = (uint32_t)a->nodes[i].layer + 1;
    if (homeless != PSC_NONE)
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX,
                       "node %llu (%s) does not say to which layer it belongs; layer 0 is taken",
                       (unsigned long long)a->nodes[homeless].id, a->nodes[homeless].op_name);
}

/* One edge at most for each node: to the latest store of its layer. */
static bool fill_effects(struct assembly *a, struct psc_arena *scratch)
{
    struct psc_graph *g = a->g;
    psc_node *store = psc_arena_alloc(scratch, g->layer_n, sizeof *store);
    if (!store)
        return false;
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        psc_node *out = pass ? psc_arena_alloc(a->arena, n, sizeof *out) : NULL;
        if (pass && !out)
            return false;
        memset(store, 0xff, g->layer_n * sizeof *store);
        n = 0;
        for (uint32_t i = 0; i < g->n; i++) {
            struct psc_node_info *node = &a->nodes[i];
            const struct psc_op_info *info = psc_op_info(node->op);
            node->order_at = n;
            if ((!info->stores_kv && !info->loads_kv) || node->layer < 0)
                continue;
            if (store[node->layer] != PSC_NONE) {
                node->order_n = 1;
                if (out)
                    out[n] = store[node->layer];
                n++;
            }
            if (info->stores_kv)
                store[node->layer] = i;
        }
        g->order_srcs = out;
    }
    g->order_total = n;
    return true;
}

static bool fill_readers(struct assembly *a, struct psc_arena *scratch)
{
    struct psc_graph *g = a->g;
    uint32_t *at = psc_arena_alloc(scratch, (size_t)g->n + 1, sizeof *at);
    struct psc_edges readers;
    if (!at)
        return false;
    for (uint32_t i = 0; i < g->n; i++)
        at[i] = a->nodes[i].src_at;
    at[g->n] = g->src_total;
    if (!psc_edges_reverse(a->arena, &(struct psc_edges){g->n, at, g->srcs}, &readers))
        return false;
    g->reader_at = readers.at;
    g->readers = readers.to;
    return true;
}

static const char *shape_text(const uint64_t shape[4], char *buf, size_t size)
{
    snprintf(buf, size, "[%llu, %llu, %llu, %llu]", (unsigned long long)shape[0], (unsigned long long)shape[1],
             (unsigned long long)shape[2], (unsigned long long)shape[3]);
    return buf;
}

static bool breaks_rule(const struct psc_graph *g, psc_node i, uint64_t rule[4])
{
    const struct psc_node_info *node = &g->nodes[i];
    uint64_t src[RULE_SRC][4];
    if (node->op == PSC_OP_RESHAPE || node->op == PSC_OP_PERMUTE) {
        memcpy(rule, g->nodes[node->parent].shape, sizeof node->shape);
        return node->elements != g->nodes[node->parent].elements;
    }
    if (node->src_n > RULE_SRC)
        return false;
    for (uint32_t k = 0; k < node->src_n; k++)
        memcpy(src[k], g->nodes[psc_node_srcs(g, i)[k]].shape, sizeof src[k]);
    return psc_op_shape(node->op, node->params, (const uint64_t(*)[4])src, node->src_n, rule) &&
           memcmp(rule, node->shape, sizeof node->shape);
}

/* One note for all nodes whose shape is not what their op makes: the first is spelled out. */
static void note_rules(const struct assembly *a, struct psc_report *report)
{
    uint64_t rule[4] = {0}, first[4] = {0};
    psc_node at = PSC_NONE;
    uint32_t n = 0;
    for (psc_node i = 0; i < a->g->n; i++)
        if (breaks_rule(a->g, i, rule) && !n++) {
            at = i;
            memcpy(first, rule, sizeof first);
        }
    if (!n)
        return;
    const struct psc_node_info *node = &a->nodes[at];
    char one[96], other[96];
    psc_report_add(report, PSC_NOTE, 0, 0, UINT64_MAX,
                   "node %llu has the shape %s where %s makes %s of its operands (%u node%s like it); it is planned "
                   "by the file's shape",
                   (unsigned long long)node->id, shape_text(node->shape, one, sizeof one), node->op_name,
                   shape_text(first, other, sizeof other), n, n == 1 ? "" : "s");
}

static enum psc_status assemble(struct assembly *a, struct psc_arena *scratch, struct psc_report *report,
                                struct psc_error *reterr)
{
    const struct psc_draft *d = a->r->draft;
    a->g = psc_arena_alloc0(a->arena, 1, sizeof *a->g);
    a->nodes = psc_arena_alloc0(a->arena, d->n, sizeof *a->nodes);
    a->backends = psc_arena_alloc(a->arena, PSC_BACKEND_NONE, sizeof *a->backends);
    if (!a->g || !a->nodes || !a->backends)
        return psc_fail_nomem(reterr);
    a->g->n = d->n;
    a->g->nodes = a->nodes;
    a->g->backends = a->backends;
    if (!find_places(a, scratch))
        return psc_fail_nomem(reterr);
    enum psc_status status = fill_nodes(a, reterr);
    if (status != PSC_OK)
        return status;
    fill_lists(a);
    a->g->kind = copy(a, d->kind);
    a->g->model = copy(a, d->model);
    a->g->extra_json = copy(a, d->extra_json);
    if (a->failed)
        return psc_fail_nomem(reterr);
    warn_unused(a, report);
    warn_no_outputs(a, report);
    note_rules(a, report);
    fill_layers(a, report);
    if (!fill_effects(a, scratch) || !fill_readers(a, scratch) || !psc_graph_digest(a->arena, a->g) || report->failed)
        return psc_fail_nomem(reterr);
    return PSC_OK;
}

enum psc_status psc_graph_from_draft(struct psc_arena *arena, const struct psc_draft *draft,
                                     struct psc_report *report, struct psc_graph **ret,
                                     struct psc_error *reterr)
{
    if (draft->n > PSC_NODES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the graph has %u nodes; at most %u fit", draft->n, PSC_NODES_MAX);
    struct psc_arena scratch = {0};
    struct psc_report own = {0};
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_resolved r = {.draft = draft, .report = report ? report : &own, .scratch = &scratch};
    struct assembly a = {.arena = arena, .r = &r};
    enum psc_status status = psc_draft_resolve(&r, reterr);
    if (status == PSC_OK)
        status = assemble(&a, &scratch, r.report, reterr);
    if (status == PSC_OK)
        *ret = a.g;
    else
        psc_arena_rewind(arena, mark);
    psc_report_release(&own);
    psc_arena_release(&scratch);
    return status;
}
