#include "core/graph/assign.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char cpu[] = "cpu";

uint32_t psc_target_find(const struct psc_target *targets, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(targets[i].name, name))
            return i;
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(psc_target_written(&targets[i]), name))
            return i;
    return PSC_NONE;
}

/* ---- the specification ---------------------------------------------------------------------------------- */

static enum psc_status fail_unknown(const struct psc_target *targets, uint32_t n, const char *name, size_t name_n,
                                    struct psc_error *reterr)
{
    struct psc_text known = {0};
    enum psc_status status;
    for (uint32_t i = 0; i < n; i++)
        if (!targets[i].unusable)
            psc_text_addf(&known, "%s%s", known.n ? ", " : "", targets[i].name);
    status = known.failed ? psc_fail_nomem(reterr)
                          : psc_fail(reterr, PSC_ERR_USAGE, "there is no backend '%.*s'; there are: %s, auto, "
                                     "layers:N and mixed:FIRST-LAST=BACKEND,...", (int)(name_n < 64 ? name_n : 64), name,
                                     psc_text_str(&known));
    psc_text_release(&known);
    return status;
}

static enum psc_status find_usable(const struct psc_target *targets, uint32_t n, const char *name, size_t name_n,
                                   uint32_t *ret, struct psc_error *reterr)
{
    char text[64];
    uint32_t at = PSC_NONE;
    if (name_n < sizeof text) {
        memcpy(text, name, name_n);
        text[name_n] = '\0';
        at = psc_target_find(targets, n, text);
    }
    if (at == PSC_NONE)
        return fail_unknown(targets, n, name, name_n, reterr);
    if (targets[at].unusable)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "backend '%s' cannot be used: %s", targets[at].name,
                        targets[at].unusable);
    *ret = at;
    return PSC_OK;
}

/* Decimal digits at *at; false when there is none or it is no layer number. */
static bool read_layer(const char **at, uint32_t *ret)
{
    uint32_t v = 0;
    const char *p = *at;
    while (*p >= '0' && *p <= '9' && v < PSC_LAYERS_MAX)
        v = v * 10 + (uint32_t)(*p++ - '0');
    if (p == *at || v >= PSC_LAYERS_MAX)
        return false;
    *at = p;
    *ret = v;
    return true;
}

/* "0-11=deferred" or "3=cpu"; *at is moved to the comma or the end. */
static enum psc_status read_range(const char **at, const struct psc_target *targets, uint32_t n,
                                  struct psc_offload_range *ret, struct psc_error *reterr)
{
    const char *start = *at, *p = start;
    size_t whole = strcspn(start, ",");
    int shown = (int)(whole < 64 ? whole : 64);
    enum psc_status status;
    if (!read_layer(&p, &ret->first))
        return psc_fail(reterr, PSC_ERR_USAGE, "'%.*s' is no range of layers: it would be FIRST-LAST=BACKEND, with "
                        "layers from 0 to %u", shown, start, PSC_LAYERS_MAX - 1);
    ret->last = ret->first;
    if (*p == '-' && (p++, !read_layer(&p, &ret->last)))
        return psc_fail(reterr, PSC_ERR_USAGE, "the range '%.*s' has no last layer: it would be FIRST-LAST=BACKEND, "
                        "with layers from 0 to %u", shown, start, PSC_LAYERS_MAX - 1);
    if (*p != '=')
        return psc_fail(reterr, PSC_ERR_USAGE, "the range '%.*s' names no backend: it would be FIRST-LAST=BACKEND",
                        shown, start);
    if (ret->last < ret->first)
        return psc_fail(reterr, PSC_ERR_USAGE, "the range '%.*s' ends before it begins", shown, start);
    p++;
    status = find_usable(targets, n, p, whole - (size_t)(p - start), &ret->target, reterr);
    *at = start + whole;
    return status;
}

/* Puts the range where it belongs; refuses one that meets another. */
static enum psc_status add_range(struct psc_offload *plan, const struct psc_offload_range *range,
                                 struct psc_error *reterr)
{
    uint32_t at = plan->range_n;
    if (plan->range_n == PSC_OFFLOAD_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "more than %u ranges of layers", PSC_OFFLOAD_MAX);
    for (uint32_t i = 0; i < plan->range_n; i++) {
        const struct psc_offload_range *other = &plan->ranges[i];
        if (range->first <= other->last && other->first <= range->last)
            return psc_fail(reterr, PSC_ERR_USAGE, "the ranges %" PRIu32 "-%" PRIu32 " and %" PRIu32 "-%" PRIu32
                            " overlap: layer %" PRIu32 " can run on one backend only", other->first, other->last,
                            range->first, range->last, range->first > other->first ? range->first : other->first);
        if (other->first > range->first && i < at)
            at = i;
    }
    memmove(&plan->ranges[at + 1], &plan->ranges[at], (plan->range_n - at) * sizeof *plan->ranges);
    plan->ranges[at] = *range;
    plan->range_n++;
    return PSC_OK;
}

static enum psc_status read_layers(const char *at, uint32_t *ret, struct psc_error *reterr)
{
    const char *p = at;
    if (read_layer(&p, ret) && !*p)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_USAGE, "'%.40s' is no number of layers: it would be 0 to %u", at, PSC_LAYERS_MAX - 1);
}

enum psc_status psc_offload_parse(const char *spec, const struct psc_target *targets, uint32_t target_n,
                                  struct psc_offload *ret, struct psc_error *reterr)
{
    static const char mixed[] = "mixed:", layers[] = "layers:";
    struct psc_offload plan = {.kind = PSC_OFFLOAD_NONE};
    enum psc_status status = PSC_OK;
    if (!strncmp(spec, layers, sizeof layers - 1)) {
        plan.kind = PSC_OFFLOAD_LAYERS;
        status = read_layers(spec + sizeof layers - 1, &plan.layers, reterr);
    } else if (strncmp(spec, mixed, sizeof mixed - 1)) {
        if (strcmp(spec, "auto")) {
            plan.kind = PSC_OFFLOAD_ONE;
            status = find_usable(targets, target_n, spec, strlen(spec), &plan.target, reterr);
        }
    } else {
        plan.kind = PSC_OFFLOAD_RANGES;
        for (const char *at = spec + sizeof mixed - 1;; at++) {
            struct psc_offload_range range;
            status = read_range(&at, targets, target_n, &range, reterr);
            if (!status)
                status = add_range(&plan, &range, reterr);
            if (status || !*at)
                break;
        }
    }
    if (!status)
        *ret = plan;
    return status;
}

/* ---- the assignment --------------------------------------------------------------------------------------- */

struct assigner {
    const struct psc_target *targets;
    uint32_t target_n, cpu, layer_n;
    uint32_t by_priority[PSC_TARGETS_MAX];
    const struct psc_offload *plan;
    const char **backends;
    uint32_t backend_n;
};
struct asked { /* what is asked of a target */
    enum psc_op op;
    enum psc_dtype dtype;
    const struct psc_params *params;
    int32_t layer;
};

static bool takes(const struct psc_target *target, const struct asked *q)
{
    return !target->unusable && (!target->takes || target->takes(q->op, q->dtype, q->params));
}

static struct assigner assigner_of(const struct psc_target *targets, uint32_t n, const struct psc_offload *plan,
                                   uint32_t layer_n)
{
    struct assigner a = {.targets = targets, .target_n = n, .layer_n = layer_n, .plan = plan};
    a.cpu = psc_target_find(targets, n, cpu);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; k && targets[a.by_priority[k - 1]].priority < targets[i].priority; k--)
            a.by_priority[k] = a.by_priority[k - 1];
        a.by_priority[k] = i;
    }
    return a;
}

/* The target that the plan names for the layer; PSC_NONE: the first by priority. */
static uint32_t planned(const struct assigner *a, int32_t layer)
{
    const struct psc_offload *plan = a->plan;
    if (!plan || plan->kind == PSC_OFFLOAD_NONE)
        return PSC_NONE;
    if (plan->kind == PSC_OFFLOAD_ONE)
        return plan->target;
    if (plan->kind == PSC_OFFLOAD_LAYERS)
        return (layer < 0 ? plan->layers >= a->layer_n : (uint32_t)layer < plan->layers) ? PSC_NONE : a->cpu;
    for (uint32_t i = 0; i < plan->range_n; i++) {
        const struct psc_offload_range *range = &plan->ranges[i];
        if (layer < 0 ? range->first == 0 && range->last + 1 >= a->layer_n
                      : range->first <= (uint32_t)layer && (uint32_t)layer <= range->last)
            return range->target;
    }
    return a->cpu;
}

static uint32_t target_of(const struct assigner *a, const struct asked *q)
{
    uint32_t target = planned(a, q->layer);
    if (target != PSC_NONE)
        return takes(&a->targets[target], q) ? target : a->cpu;
    for (uint32_t i = 0; i < a->target_n; i++)
        if (takes(&a->targets[a->by_priority[i]], q))
            return a->by_priority[i];
    return a->cpu;
}

uint32_t psc_offload_target(const struct psc_target *targets, uint32_t target_n, const struct psc_offload *offload,
                            uint32_t layer_n, int32_t layer, enum psc_op op, enum psc_dtype dtype,
                            const struct psc_params *params)
{
    static const struct psc_params none;
    struct assigner a;
    if (target_n > PSC_TARGETS_MAX)
        return PSC_NONE;
    a = assigner_of(targets, target_n, offload, layer_n);
    return a.cpu == PSC_NONE ? PSC_NONE : target_of(&a, &(struct asked){op, dtype, params ? params : &none, layer});
}

static uint32_t backend_of(struct assigner *a, const char *name)
{
    for (uint32_t k = 0; k < a->backend_n; k++)
        if (!strcmp(a->backends[k], name))
            return k;
    a->backends[a->backend_n] = name;
    return a->backend_n++;
}

static enum psc_status assign_nodes(struct assigner *a, const struct psc_graph *graph, struct psc_node_info *nodes,
                                    struct psc_error *reterr)
{
    for (uint32_t i = 0; i < graph->n; i++) {
        struct psc_node_info *node = &nodes[i];
        struct asked asked = {node->op, node->dtype, node->params, node->layer};
        uint32_t at;
        if (node->backend != PSC_BACKEND_NONE && !(a->plan && a->plan->override))
            at = backend_of(a, graph->backends[node->backend]);
        else
            at = backend_of(a, psc_target_written(&a->targets[target_of(a, &asked)]));
        if (at >= PSC_BACKEND_NONE)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "the graph names more than %u backends", PSC_BACKEND_NONE);
        node->backend = (uint8_t)at;
    }
    return PSC_OK;
}

enum psc_status psc_graph_assign(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_target *targets, uint32_t target_n,
                                 const struct psc_offload *offload, struct psc_graph **ret, struct psc_error *reterr)
{
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_node_info *nodes;
    struct psc_graph *made;
    struct assigner a;
    enum psc_status status;
    if (target_n > PSC_TARGETS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "%" PRIu32 " backends; at most %u fit", target_n, PSC_TARGETS_MAX);
    a = assigner_of(targets, target_n, offload, graph->layer_n);
    if (a.cpu == PSC_NONE)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no backend 'cpu': nodes that no other backend takes need it");
    made = psc_arena_alloc(arena, 1, sizeof *made);
    nodes = psc_arena_alloc(arena, graph->n, sizeof *nodes);
    a.backends = psc_arena_alloc(arena, (size_t)graph->backend_n + target_n, sizeof *a.backends);
    if (!made || !nodes || !a.backends) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    if (graph->n)
        memcpy(nodes, graph->nodes, graph->n * sizeof *nodes);
    status = assign_nodes(&a, graph, nodes, reterr);
    if (status) {
        psc_arena_rewind(arena, mark);
        return status;
    }
    *made = *graph;
    made->nodes = nodes;
    made->backends = a.backends;
    made->backend_n = a.backend_n;
    if (!psc_graph_digest(arena, made)) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    *ret = made;
    return PSC_OK;
}
