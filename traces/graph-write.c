#include "traces/graph-write.h"

#include "traces/cursor.h"
#include "traces/graph-settings.h"
#include "traces/traces.h"

#include <string.h>

static int compare_key(struct psc_slice key, const char *name)
{
    size_t n = strlen(name);
    int order = memcmp(key.s, name, key.n < n ? key.n : n);
    return order ? order : key.n < n ? -1 : key.n > n;
}

void psc_extra_write(struct psc_json *j, const char *extra, const char *after, const char *before)
{
    if (!extra)
        return;
    struct psc_cursor c = {extra, extra + strlen(extra)};
    struct psc_slice key, v;
    while (psc_cursor_member(&c, &key, &v)) {
        if ((after && compare_key(key, after) < 0) || (before && compare_key(key, before) >= 0))
            continue;
        psc_json_key_raw(j, key.s, key.n);
        psc_json_raw_n(j, v.s, v.n);
    }
}

static void write_ids(struct psc_json *j, const char *key, const struct psc_graph *g, const psc_node *list,
                      uint32_t n)
{
    psc_json_key(j, key);
    psc_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        psc_json_u64(j, g->nodes[list[i]].id);
    psc_json_end_array(j);
}

static void write_settings(struct psc_json *j, const char *json)
{
    if (json) {
        psc_json_raw(j, json);
        return;
    }
    psc_json_object(j);
    psc_json_end_object(j);
}

static void write_node(struct psc_json *j, const struct psc_graph *g, psc_node i)
{
    static const char *const keys[] = {"backend", "detail", "dtype", "id", "meta",
                                       "name",    "op",     "shape", "src"};
    const struct psc_node_info *node = &g->nodes[i];
    bool from_file = node->detail_json || node->meta_json;
    psc_json_object(j);
    for (unsigned k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        psc_extra_write(j, node->extra_json, k ? keys[k - 1] : NULL, keys[k]);
        switch (k) {
        case 0:
            psc_json_put_string(j, "backend",
                                node->backend == PSC_BACKEND_NONE ? NULL : g->backends[node->backend]);
            break;
        case 1:
            psc_json_key(j, "detail");
            if (from_file)
                write_settings(j, node->detail_json);
            else
                psc_settings_write_detail(j, node);
            break;
        case 2:
            psc_json_put_text(j, "dtype", node->dtype_name ? node->dtype_name : psc_dtype_name(node->dtype));
            break;
        case 3:
            psc_json_put_u64(j, "id", node->id);
            break;
        case 4:
            psc_json_key(j, "meta");
            if (from_file)
                write_settings(j, node->meta_json);
            else
                psc_settings_write_meta(j, node);
            break;
        case 5: psc_json_put_text(j, "name", node->name); break;
        case 6: psc_json_put_text(j, "op", node->op_name ? node->op_name : psc_op_info(node->op)->name); break;
        case 7:
            psc_json_key(j, "shape");
            psc_json_array(j);
            for (int d = 0; d < 4; d++)
                psc_json_u64(j, node->shape[d]);
            psc_json_end_array(j);
            break;
        default: write_ids(j, "src", g, psc_node_srcs(g, i), node->src_n); break;
        }
    }
    psc_extra_write(j, node->extra_json, "src", NULL);
    psc_json_end_object(j);
}

void psc_graph_write_json(struct psc_json *j, const struct psc_graph *g, const char *kind, const char *model,
                          psc_flush_fn flush, void *ctx)
{
    psc_json_object(j);
    psc_extra_write(j, g->extra_json, NULL, "format");
    psc_json_put_text(j, "format", "minfer-graph");
    psc_extra_write(j, g->extra_json, "format", "inputs");
    write_ids(j, "inputs", g, g->inputs, g->input_n);
    psc_extra_write(j, g->extra_json, "inputs", "kind");
    psc_json_put_text(j, "kind", g->kind ? g->kind : kind);
    psc_extra_write(j, g->extra_json, "kind", "model");
    psc_json_put_text(j, "model", g->model ? g->model : model);
    psc_extra_write(j, g->extra_json, "model", "nodes");
    psc_json_key(j, "nodes");
    psc_json_array(j);
    for (psc_node i = 0; i < g->n && !j->out.failed; i++) {
        write_node(j, g, i);
        if (flush)
            flush(ctx, j);
    }
    psc_json_end_array(j);
    psc_extra_write(j, g->extra_json, "nodes", "outputs");
    write_ids(j, "outputs", g, g->outputs, g->output_n);
    psc_extra_write(j, g->extra_json, "outputs", "version");
    psc_json_put_u64(j, "version", 1);
    psc_extra_write(j, g->extra_json, "version", NULL);
    psc_json_end_object(j);
}

enum psc_status psc_graph_write(const struct psc_phase *phase, bool pretty, struct psc_text *out,
                                struct psc_error *reterr)
{
    if (!phase->graph)
        return psc_fail(reterr, PSC_ERR_USAGE, "the phase has no graph to write");
    struct psc_json j;
    psc_json_init(&j, pretty);
    psc_graph_write_json(&j, phase->graph, phase->kind, NULL, NULL, NULL);
    if (!j.out.failed)
        psc_text_add_n(out, psc_text_str(&j.out), j.out.n);
    bool failed = j.out.failed || out->failed;
    psc_json_release(&j);
    return failed ? psc_fail_nomem(reterr) : PSC_OK;
}
