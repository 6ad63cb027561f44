#include "traces/plan-json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- codes and their operands ------------------------------------------------------------------- */

/* How an operand of a code is written: a number, or a node's file id. */
struct operand {
    const char *key; /* NULL: the code has no such operand */
    bool is_node;
};
struct code {
    const char *name;
    struct operand operand[3];
};

static const struct code reasons[PSC_WHY_N] = {
    [PSC_WHY_NONE] = {"none", {{NULL, false}}},
    [PSC_WHY_DEAD] = {"dead", {{NULL, false}}},
    [PSC_WHY_EMPTY] = {"empty", {{NULL, false}}},
    [PSC_WHY_INPUT] = {"input", {{"bytes", false}}},
    [PSC_WHY_NEW] = {"new", {{"bytes", false}, {"idle_others", false}}},
    [PSC_WHY_REUSED] = {"reused", {{"last_tenant", true}, {"released_at", false}, {"idle", false}}},
    [PSC_WHY_IN_PLACE] = {"in_place", {{"operand", false}, {"node", true}}},
    [PSC_WHY_VIEW] = {"view", {{"root", true}, {"offset", false}}},
    [PSC_WHY_REGION] = {"region", {{"layer", false}}},
    [PSC_WHY_FOREIGN] = {"foreign", {{NULL, false}}},
    [PSC_WHY_POOLED] = {"pooled", {{"bytes", false}, {"idle", false}}},
    [PSC_WHY_NAIVE] = {"naive", {{"bytes", false}}},
    [PSC_WHY_PACKED] = {"packed", {{"turn", false}, {"arena_bytes", false}}},
};
static const struct code refusals[PSC_NOT_N] = {
    [PSC_NOT_IN_PLACE_OP] = {"not_in_place_op", {{NULL, false}}},
    [PSC_NOT_OTHER_BACKEND] = {"other_backend", {{"operand_backend", false}, {"node_backend", false}}},
    [PSC_NOT_SOLE_READER] = {"not_sole_reader", {{"readers", false}, {"other_reader", true}}},
    [PSC_NOT_ROOT_READ_LATER] = {"root_read_later", {{"root", true}, {"reader", true}}},
    [PSC_NOT_OUTPUT] = {"operand_is_output", {{"node", true}}},
    [PSC_NOT_INPUT] = {"operand_is_input", {{"node", true}}},
    [PSC_NOT_A_VIEW] = {"operand_is_no_view", {{"node", true}}},
    [PSC_NOT_REGION] = {"operand_in_region", {{"layer", false}}},
    [PSC_NOT_SAME_BYTES] = {"other_bytes", {{"operand_bytes", false}, {"node_bytes", false}}},
    [PSC_NOT_WORTH] = {"window_keeps_more", {{"root", true}, {"bytes", false}}},
    [PSC_NOT_IDLE] = {"none_idle", {{"bytes", false}, {"in_use", false}}},
};

static void write_node_id(struct psc_json *j, const struct psc_graph *g, uint64_t node)
{
    if (node < g->n)
        psc_json_u64(j, g->nodes[node].id);
    else
        psc_json_null(j);
}

static void write_code(struct psc_json *j, const struct psc_graph *g, const struct code *code,
                       const uint64_t values[3])
{
    psc_json_put_string(j, "code", code->name);
    for (int k = 0; k < 3 && code->operand[k].key; k++) {
        psc_json_key(j, code->operand[k].key);
        if (code->operand[k].is_node)
            write_node_id(j, g, values[k]);
        else if (values[k] == UINT64_MAX)
            psc_json_null(j);
        else
            psc_json_u64(j, values[k]);
    }
}

/* ---- parts of the document ------------------------------------------------------------------------ */

static const char *backend_name(const struct psc_graph *g, uint8_t backend)
{
    return backend < g->backend_n ? g->backends[backend] : NULL;
}

void psc_plan_options_write_json(struct psc_json *j, const struct psc_plan_options *options)
{
    char slots[40];
    psc_json_key(j, "options");
    psc_json_object(j);
    psc_json_put_string(j, "size", psc_size_name(options->size));
    snprintf(slots, sizeof slots, options->slots == PSC_SLOTS_RANDOM ? "%s:%" PRIu64 : "%s",
             psc_slots_name(options->slots), options->seed);
    psc_json_put_string(j, "slots", slots);
    psc_json_put_string(j, "order", psc_order_name(options->order));
    psc_json_key(j, "faults");
    psc_json_array(j);
    for (int f = 0; f < PSC_FAULT_N; f++)
        if (options->faults & PSC_FAULT_BIT(f))
            psc_json_string(j, psc_fault_info((enum psc_fault)f)->name);
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        if (options->candela_faults & PSC_CANDELA_BIT(f))
            psc_json_string(j, psc_candela_fault_name((enum psc_candela_fault)f));
    psc_json_end_array(j);
    if (options->generation)
        psc_json_put_string(j, "generation", psc_generation_name(options->generation));
    if (options->align)
        psc_json_put_u64(j, "align", options->align);
    if (options->capacity)
        psc_json_put_u64(j, "capacity", options->capacity);
    if (options->capacity_n) {
        psc_json_key(j, "capacities");
        psc_json_object(j);
        for (uint32_t k = 0; k < options->capacity_n; k++)
            psc_json_put_u64(j, options->capacities[k].backend, options->capacities[k].bytes);
        psc_json_end_object(j);
    }
    if (options->apart)
        psc_json_put_bool(j, "in_place", false);
    psc_json_end_object(j);
}

/* The fields of an open object. */
void psc_offsets_space_write_json(struct psc_json *j, const struct psc_offsets_space *space)
{
    psc_json_put_u64(j, "bytes", space->height);
    psc_json_put_u64(j, "lower_bound_bytes", space->bound);
    psc_json_put_u64(j, "lower_bound_at", space->bound_at);
    psc_json_put_string(j, "proof", psc_proof_name(space->proof));
    psc_json_put_string(j, "by", space->by);
    psc_json_put_u64(j, "work", space->work);
}

void psc_figures_put_json(struct psc_json *j, const struct psc_figures *f)
{
    psc_json_put_u64(j, "nodes", f->nodes);
    psc_json_put_u64(j, "placed", f->placed);
    psc_json_put_u64(j, "dead", f->dead);
    psc_json_put_u64(j, "in_place", f->in_place);
    psc_json_put_u64(j, "reused", f->reused);
    psc_json_put_u64(j, "buffers", f->buffers);
    psc_json_put_u64(j, "pool_bytes", f->pool_bytes);
    psc_json_put_u64(j, "peak_live_bytes", f->peak_live_bytes);
    psc_json_put_u64(j, "peak_tensor_bytes", f->peak_tensor_bytes);
    psc_json_put_u64(j, "lower_bound_bytes", f->lower_bound_bytes);
    psc_json_put_u64(j, "naive_bytes", f->naive_bytes);
    psc_json_put_u64(j, "padding_bytes", f->padding_bytes);
    psc_json_put_u64(j, "kv_bytes", f->kv_bytes);
    psc_json_put_u64(j, "alias_saved_bytes", f->alias_saved_bytes);
    psc_json_put_u64(j, "staging_bytes", f->staging_bytes);
}

void psc_figures_write_json(struct psc_json *j, const struct psc_figures *f)
{
    psc_json_object(j);
    psc_figures_put_json(j, f);
    psc_json_end_object(j);
}

static void write_peak(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan)
{
    psc_json_key(j, "peak");
    psc_json_object(j);
    psc_json_put_i64(j, "at", plan->peak_at);
    psc_json_key(j, "contributors");
    psc_json_array(j);
    for (uint32_t i = 0; i < plan->peak_n; i++) {
        psc_json_object(j);
        psc_json_key(j, "node");
        write_node_id(j, g, plan->peak[i].node);
        psc_json_put_u64(j, "bytes", plan->peak[i].bytes);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
}

static void write_certificates(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan)
{
    psc_json_key(j, "arenas");
    psc_json_array(j);
    for (uint32_t k = 0; k < plan->certificate_n; k++) {
        const struct psc_certificate *c = &plan->certificates[k];
        psc_json_object(j);
        psc_json_put_string(j, "backend", backend_name(g, c->backend));
        psc_json_put_u64(j, "buffer", plan->buffers[c->buffer].id);
        psc_offsets_space_write_json(j, &c->space);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void write_buffers(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan)
{
    psc_json_key(j, "buffers");
    psc_json_array(j);
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        const struct psc_buffer *buffer = &plan->buffers[b];
        psc_json_object(j);
        psc_json_put_u64(j, "id", buffer->id);
        psc_json_put_string(j, "name", buffer->name);
        psc_json_put_string(j, "backend", backend_name(g, buffer->backend));
        psc_json_key(j, "bytes");
        if (buffer->bytes == UINT64_MAX)
            psc_json_null(j);
        else
            psc_json_u64(j, buffer->bytes);
        psc_json_put_string(j, "role", psc_role_name(buffer->role));
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void write_refused(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan,
                          const struct psc_place *place)
{
    psc_json_key(j, "refused");
    psc_json_array(j);
    for (uint32_t r = 0; r < place->refused_n; r++) {
        const struct psc_refused *refused = &plan->refused[place->refused_at + r];
        const uint64_t values[3] = {refused->a, refused->b, 0};
        psc_json_object(j);
        psc_json_put_u64(j, "operand", refused->operand);
        write_code(j, g, &refusals[refused->why], values);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void write_node(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan, psc_node i)
{
    const struct psc_place *place = &plan->places[i];
    bool placed = place->buffer != PSC_NONE;
    const uint64_t values[3] = {place->a, place->b, place->c};
    char label[128];
    psc_json_object(j);
    psc_json_put_u64(j, "id", g->nodes[i].id);
    psc_json_put_string(j, "name",
                        g->nodes[i].name ? g->nodes[i].name : psc_node_label(g, i, label, sizeof label));
    /* A buffer is known by its id and its backend: of a placed node it is the buffer's. */
    psc_json_put_string(j, "backend",
                        backend_name(g, placed ? plan->buffers[place->buffer].backend : g->nodes[i].backend));
    psc_json_key(j, "buffer");
    if (placed)
        psc_json_u64(j, plan->buffers[place->buffer].id);
    else
        psc_json_null(j);
    psc_json_put_u64(j, "offset", place->offset);
    psc_json_put_u64(j, "length", place->length);
    psc_json_put_i64(j, "first", place->first);
    psc_json_put_i64(j, "last", place->last);
    psc_json_key(j, "reason");
    psc_json_object(j);
    write_code(j, g, &reasons[place->reason], values);
    psc_json_end_object(j);
    write_refused(j, g, plan, place);
    psc_json_end_object(j);
}

static void write_copies(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan)
{
    psc_json_key(j, "copies");
    psc_json_array(j);
    for (uint32_t c = 0; c < plan->copy_n; c++) {
        const struct psc_copy *copy = &plan->copies[c];
        psc_json_object(j);
        psc_json_key(j, "node");
        write_node_id(j, g, copy->node);
        psc_json_put_string(j, "from", backend_name(g, copy->from));
        psc_json_put_string(j, "to", backend_name(g, copy->to));
        psc_json_put_u64(j, "bytes", copy->bytes);
        psc_json_key(j, "buffer");
        if (copy->buffer < plan->buffer_n)
            psc_json_u64(j, plan->buffers[copy->buffer].id);
        else
            psc_json_null(j);
        psc_json_put_u64(j, "offset", copy->offset);
        psc_json_put_i64(j, "enqueue", copy->enqueue);
        psc_json_put_i64(j, "wait", copy->wait);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void write_splits(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan)
{
    psc_json_key(j, "splits");
    psc_json_array(j);
    for (uint32_t s = 0; s < plan->split_n; s++) {
        psc_json_object(j);
        psc_json_put_string(j, "backend", backend_name(g, plan->splits[s].backend));
        psc_json_put_u64(j, "first", plan->splits[s].first);
        psc_json_put_u64(j, "last", plan->splits[s].last);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

/* What a reader needs to lay the nodes out again: those that own bytes, and views that were copied. */
static bool states_place(const struct psc_plan *plan, psc_node i)
{
    const struct psc_place *place = &plan->places[i];
    return place->buffer != PSC_NONE && place->reason != PSC_WHY_VIEW && place->reason != PSC_WHY_REGION;
}

static void write_placements(struct psc_json *j, const struct psc_graph *g, const struct psc_plan *plan)
{
    psc_json_key(j, "placements");
    psc_json_array(j);
    for (psc_node i = 0; i < plan->node_n; i++) {
        if (!states_place(plan, i))
            continue;
        psc_json_object(j);
        psc_json_put_u64(j, "node", g->nodes[i].id);
        psc_json_put_u64(j, "buffer", plan->buffers[plan->places[i].buffer].id);
        psc_json_put_u64(j, "offset", plan->places[i].offset);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

void psc_plan_write_json(struct psc_json *j, const struct psc_graph *graph, const struct psc_plan *plan)
{
    psc_json_object(j);
    psc_json_put_string(j, "format", "planscope-plan");
    psc_json_put_u64(j, "version", 1);
    psc_json_put_string(j, "executor", plan->executor == PSC_EXEC_LEVEL ? "level" : "serial");
    if (plan->rerun)
        psc_json_put_bool(j, "rerun", true);
    psc_json_put_string(j, "planner", plan->planner);
    psc_json_put_string(j, "mode", psc_mode_name(plan->options.mode));
    psc_plan_options_write_json(j, &plan->options);
    psc_json_key(j, "figures");
    psc_figures_write_json(j, &plan->figures);
    write_peak(j, graph, plan);
    if (plan->certificate_n)
        write_certificates(j, graph, plan);
    write_buffers(j, graph, plan);
    psc_json_key(j, "nodes");
    psc_json_array(j);
    for (psc_node i = 0; i < plan->node_n && !j->out.failed; i++)
        write_node(j, graph, plan, i);
    psc_json_end_array(j);
    write_copies(j, graph, plan);
    write_splits(j, graph, plan);
    write_placements(j, graph, plan);
    psc_json_end_object(j);
}

enum psc_status psc_plan_write(const struct psc_graph *graph, const struct psc_plan *plan, bool pretty,
                               struct psc_text *out, struct psc_error *reterr)
{
    struct psc_json j;
    psc_json_init(&j, pretty);
    psc_plan_write_json(&j, graph, plan);
    if (!j.out.failed)
        psc_text_add_n(out, psc_text_str(&j.out), j.out.n);
    bool failed = j.out.failed || out->failed;
    psc_json_release(&j);
    return failed ? psc_fail_nomem(reterr) : PSC_OK;
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

/* RFC 4180: quotes where a comma, a quote or a line end asks for them. Other controls become visible. */
static void csv_text(struct psc_text *out, const char *s)
{
    bool quoted = strpbrk(s, ",\"\r\n") != NULL;
    psc_text_add(out, quoted ? "\"" : "");
    for (const char *p = s; *p;) {
        uint32_t code;
        size_t n = *p == '\r' || *p == '\n' ? 0 : psc_text_control(p, &code);
        if (n)
            psc_text_addf(out, "\\u%04" PRIx32, code);
        else
            psc_text_add_n(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
        p += n ? n : 1;
    }
    psc_text_add(out, quoted ? "\"" : "");
}

static void csv_node(const struct psc_graph *g, const struct psc_plan *plan, psc_node i, struct psc_text *out)
{
    const struct psc_node_info *node = &g->nodes[i];
    const struct psc_place *place = &plan->places[i];
    psc_text_addf(out, "%" PRIu32 ",%" PRIu64 ",", i, node->id);
    csv_text(out, node->name ? node->name : "");
    psc_text_add(out, ",");
    csv_text(out, node->op_name ? node->op_name : psc_op_info(node->op)->name);
    psc_text_add(out, ",");
    csv_text(out, node->backend < g->backend_n ? g->backends[node->backend] : "");
    psc_text_addf(out, ",%" PRIu64 "x%" PRIu64 "x%" PRIu64 "x%" PRIu64 ",%" PRIu64 ",", node->shape[0],
                  node->shape[1], node->shape[2], node->shape[3], node->bytes);
    if (place->buffer != PSC_NONE) {
        csv_text(out, plan->buffers[place->buffer].name ? plan->buffers[place->buffer].name : "");
        psc_text_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRId32 ",%" PRId32 ",", place->offset, place->length,
                      place->first, place->last);
    } else {
        psc_text_add(out, ",,,,,");
    }
    psc_text_add(out, reasons[place->reason].name);
    psc_text_add(out, "\r\n");
}

enum psc_status psc_plan_write_csv(const struct psc_graph *graph, const struct psc_plan *plan,
                                   struct psc_text *out, struct psc_error *reterr)
{
    psc_text_add(out, "position,id,name,op,backend,shape,bytes,buffer,offset,length,first,last,reason\r\n");
    for (uint32_t p = 0; p < plan->node_n && !out->failed; p++)
        csv_node(graph, plan, p, out);
    return out->failed ? psc_fail_nomem(reterr) : PSC_OK;
}
