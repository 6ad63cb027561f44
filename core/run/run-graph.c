#include "core/run/run-private.h"

#include "core/graph/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- inputs by name --------------------------------------------------------------------------------------- */

static bool is_filled(const struct psc_node_info *node)
{
    return node->is_input || node->op == PSC_OP_INPUT;
}

static void list_inputs(const struct psc_graph *graph, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (psc_node i = 0; i < graph->n && used + 80 < size; i++) {
        char label[64];
        if (!is_filled(&graph->nodes[i]))
            continue;
        const char *name = graph->nodes[i].name && graph->nodes[i].name[0] ? graph->nodes[i].name
                                                                            : psc_node_label(graph, i, label, sizeof label);
        int n = snprintf(to + used, size - used, "%s%.60s", used ? ", " : "", name);
        used += n > 0 ? (size_t)n : 0;
    }
}

static bool is_called(const struct psc_graph *graph, psc_node i, const char *name, int how)
{
    char text[96];
    if (how == 0)
        return graph->nodes[i].name && !strcmp(graph->nodes[i].name, name);
    if (how == 1)
        return !strcmp(psc_node_label(graph, i, text, sizeof text), name);
    snprintf(text, sizeof text, "%" PRIu64, graph->nodes[i].id);
    return !strcmp(text, name);
}

enum psc_status psc_run_find_input(const struct psc_graph *graph, const char *name, psc_node *ret,
                                   struct psc_error *reterr)
{
    for (int how = 0; how < 3; how++) {
        psc_node found = PSC_NONE;
        for (psc_node i = 0; i < graph->n; i++) {
            if (!is_filled(&graph->nodes[i]) || !is_called(graph, i, name, how))
                continue;
            if (found != PSC_NONE)
                return psc_fail(reterr, PSC_ERR_USAGE,
                                "two inputs are called %.60s: name them by their ids, %" PRIu64 " and %" PRIu64, name,
                                graph->nodes[found].id, graph->nodes[i].id);
            found = i;
        }
        if (found != PSC_NONE) {
            *ret = found;
            return PSC_OK;
        }
    }
    char known[360];
    list_inputs(graph, known, sizeof known);
    if (!known[0])
        return psc_fail(reterr, PSC_ERR_USAGE, "no input is called %.60s: the graph has none", name);
    return psc_fail(reterr, PSC_ERR_USAGE, "no input is called %.60s; the graph has %s", name, known);
}

/* ---- running ------------------------------------------------------------------------------------------------ */

static enum psc_status build_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key,
                                struct psc_graph **ret, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    struct psc_offload offload = r->offload;
    struct psc_graph *copy = NULL;
    (void)key;
    offload.override = r->request->backends != NULL;
    enum psc_status status = psc_graph_copy(arena, r->request->graph, &copy, reterr);
    return status == PSC_OK ? psc_graph_assign(arena, copy, r->targets, r->target_n, &offload, ret, reterr) : status;
}

static enum psc_status fill_all(struct psc_runner *r, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(r->session);
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; status == PSC_OK && i < r->request->fill_n; i++) {
        const struct psc_run_fill *fill = &r->request->fills[i];
        psc_node node;
        status = psc_run_find_input(graph, fill->name, &node, reterr);
        if (status == PSC_OK)
            status = psc_run_fill(r, node, fill->words, fill->n, reterr);
    }
    return status;
}

enum psc_status psc_run_graph(struct psc_runner *r, struct psc_error *reterr)
{
    const struct psc_run_request *q = r->request;
    uint32_t times = q->times ? q->times : 1;
    struct psc_graph_key key = {.n_tokens = 1, .n_out = 1, .n_ctx = q->n_ctx, .kv_format = q->kv_format,
                                .assignment = r->assignment, .weights_version = 1};
    const char *kind = q->graph->kind && q->graph->kind[0] ? q->graph->kind : "prefill";
    r->total = (uint64_t)q->graph->n * times;
    enum psc_status status = psc_session_use(r->session, &key, build_cb, r, reterr);
    if (status == PSC_OK)
        status = psc_run_check_plan(r, times > 1 && !q->refill, reterr);
    if (status == PSC_OK && r->recorder)
        status = psc_recorder_phase(r->recorder, kind, reterr);
    double begin = psc_run_clock();
    for (uint32_t t = 0; status == PSC_OK && !r->result->cancelled && t < times; t++) {
        bool moved = false;
        if (t)
            status = psc_run_move(r, &moved, reterr);
        if (status == PSC_OK && moved)
            status = psc_run_check_plan(r, times > 1 && !q->refill, reterr);
        if (status == PSC_OK && (!t || moved || q->refill))
            status = fill_all(r, reterr);
        if (status == PSC_OK)
            status = psc_run_execute(r, kind, &r->result->cancelled, reterr);
        if (status == PSC_OK && !r->result->cancelled)
            status = psc_run_arena_after(r, reterr);
        if (status == PSC_OK && !r->result->cancelled && r->recorder)
            status = psc_recorder_step(r->recorder, false, 0, "", NULL, 0, reterr);
    }
    r->result->prefill_seconds = psc_run_clock() - begin;
    return status;
}
