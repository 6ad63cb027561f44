/* Boxes and their packing, written: MiniMalloc's CSV, and the plan format. */
#include "traces/minimalloc.h"

#include "traces/plan-json.h"

#include <inttypes.h>
#include <string.h>

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void csv_id(struct psc_text *out, const char *id)
{
    bool quoted = strpbrk(id, ",\"\r\n") != NULL || *id == ' ' || (*id && id[strlen(id) - 1] == ' ');
    psc_text_add(out, quoted ? "\"" : "");
    for (const char *p = id; *p; p++)
        psc_text_add_n(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
    psc_text_add(out, quoted ? "\"" : "");
}

enum psc_status psc_minimalloc_write(const struct psc_box_set *set, const struct psc_offsets *packed, struct psc_text *out,
                                     struct psc_error *reterr)
{
    const struct psc_offsets_problem *p = &set->problem;
    bool aligns = p->aligns || p->align > 1;
    psc_text_addf(out, "id,lower,upper,size%s%s\n", aligns ? ",alignment" : "", packed || p->fixed ? ",offset" : "");
    for (uint32_t i = 0; i < p->box_n && !out->failed; i++) {
        csv_id(out, set->names[i]);
        psc_text_addf(out, ",%" PRId64 ",%" PRId64 ",%" PRIu64, set->times[p->boxes[i].begin], set->times[p->boxes[i].end],
                      p->boxes[i].bytes);
        if (aligns)
            psc_text_addf(out, ",%" PRIu64, p->aligns && p->aligns[i] > p->align ? p->aligns[i] : p->align ? p->align : 1);
        if (packed)
            psc_text_addf(out, ",%" PRIu64, packed->offset[i]);
        else if (p->fixed && p->fixed[i] != PSC_OFFSET_FREE)
            psc_text_addf(out, ",%" PRIu64, p->fixed[i]);
        else if (p->fixed)
            psc_text_add(out, ",");
        psc_text_add(out, "\n");
    }
    return out->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

/* ---- the plan format ------------------------------------------------------------------------------------------------ */

static void write_figures(struct psc_json *j, const struct psc_box_set *set, const struct psc_offsets *packed)
{
    struct psc_figures figures = {.nodes = set->problem.box_n, .placed = set->problem.box_n, .buffers = 1,
                                  .pool_bytes = packed->spaces[0].height, .peak_live_bytes = packed->spaces[0].bound,
                                  .peak_tensor_bytes = packed->spaces[0].bound,
                                  .lower_bound_bytes = packed->spaces[0].bound};
    for (uint32_t i = 0; i < set->problem.box_n; i++)
        figures.naive_bytes += set->problem.boxes[i].bytes;
    psc_json_key(j, "figures");
    psc_figures_write_json(j, &figures);
}

static bool is_alive(const struct psc_box *box, uint32_t step)
{
    return box->begin <= step && step < box->end;
}

static void write_peak(struct psc_json *j, const struct psc_box_set *set, const struct psc_offsets *packed)
{
    uint32_t at = packed->spaces[0].bound_at;
    psc_json_key(j, "peak");
    psc_json_object(j);
    psc_json_put_i64(j, "at", set->problem.box_n ? set->times[at] : 0);
    psc_json_key(j, "contributors");
    psc_json_array(j);
    for (uint32_t i = 0; i < set->problem.box_n && !j->out.failed; i++) {
        if (!is_alive(&set->problem.boxes[i], at))
            continue;
        psc_json_object(j);
        psc_json_put_u64(j, "node", i);
        psc_json_put_u64(j, "bytes", set->problem.boxes[i].bytes);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
}

static void write_arena(struct psc_json *j, const struct psc_box_set *set, const struct psc_offsets *packed)
{
    struct psc_offsets_space space = packed->spaces[0];
    psc_json_key(j, "arenas");
    psc_json_array(j);
    psc_json_object(j);
    psc_json_put_string(j, "backend", NULL);
    psc_json_put_u64(j, "buffer", 0);
    psc_offsets_space_write_json(j, &space);
    psc_json_put_i64(j, "lower_bound_time", set->problem.box_n ? set->times[space.bound_at] : 0);
    psc_json_end_object(j);
    psc_json_end_array(j);
    psc_json_key(j, "buffers");
    psc_json_array(j);
    psc_json_object(j);
    psc_json_put_u64(j, "id", 0);
    psc_json_put_string(j, "name", "arena");
    psc_json_put_string(j, "backend", NULL);
    psc_json_put_u64(j, "bytes", space.height);
    psc_json_put_string(j, "role", psc_role_name(PSC_ROLE_ARENA));
    psc_json_end_object(j);
    psc_json_end_array(j);
}

static void write_node(struct psc_json *j, const struct psc_box_set *set, const struct psc_offsets *packed, uint32_t i)
{
    const struct psc_box *box = &set->problem.boxes[i];
    psc_json_object(j);
    psc_json_put_u64(j, "id", i);
    psc_json_put_string(j, "name", set->names[i]);
    psc_json_put_string(j, "backend", NULL);
    psc_json_put_u64(j, "buffer", 0);
    psc_json_put_u64(j, "offset", packed->offset[i]);
    psc_json_put_u64(j, "length", box->bytes);
    psc_json_put_i64(j, "first", box->begin);
    psc_json_put_i64(j, "last", (int64_t)box->end - 1);
    psc_json_put_i64(j, "lower", set->times[box->begin]);
    psc_json_put_i64(j, "upper", set->times[box->end]);
    psc_json_key(j, "reason");
    psc_json_object(j);
    psc_json_put_string(j, "code", "packed");
    psc_json_put_u64(j, "turn", packed->turn[i] + UINT64_C(1));
    psc_json_put_u64(j, "arena_bytes", packed->spaces[0].height);
    psc_json_end_object(j);
    psc_json_key(j, "refused");
    psc_json_array(j);
    psc_json_end_array(j);
    psc_json_end_object(j);
}

static void write_nodes(struct psc_json *j, const struct psc_box_set *set, const struct psc_offsets *packed)
{
    psc_json_key(j, "nodes");
    psc_json_array(j);
    for (uint32_t i = 0; i < set->problem.box_n && !j->out.failed; i++)
        write_node(j, set, packed, i);
    psc_json_end_array(j);
    psc_json_key(j, "copies");
    psc_json_array(j);
    psc_json_end_array(j);
    psc_json_key(j, "splits");
    psc_json_array(j);
    psc_json_end_array(j);
    psc_json_key(j, "placements");
    psc_json_array(j);
    for (uint32_t i = 0; i < set->problem.box_n && !j->out.failed; i++) {
        psc_json_object(j);
        psc_json_put_u64(j, "node", i);
        psc_json_put_u64(j, "buffer", 0);
        psc_json_put_u64(j, "offset", packed->offset[i]);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

enum psc_status psc_box_set_write(const struct psc_box_set *set, const struct psc_offsets *packed, const char *planner,
                                  const struct psc_plan_options *options, bool pretty, struct psc_text *out,
                                  struct psc_error *reterr)
{
    struct psc_json j;
    psc_json_init(&j, pretty);
    psc_json_object(&j);
    psc_json_put_string(&j, "format", "planscope-plan");
    psc_json_put_u64(&j, "version", 1);
    psc_json_put_string(&j, "executor", psc_executor_name(PSC_EXEC_SERIAL));
    psc_json_put_string(&j, "planner", planner);
    psc_json_put_string(&j, "mode", psc_mode_name(PSC_MODE_HARDENED));
    psc_plan_options_write_json(&j, options);
    write_figures(&j, set, packed);
    write_peak(&j, set, packed);
    write_arena(&j, set, packed);
    write_nodes(&j, set, packed);
    psc_json_end_object(&j);
    if (!j.out.failed)
        psc_text_add_n(out, psc_text_str(&j.out), j.out.n);
    bool failed = j.out.failed || out->failed;
    psc_json_release(&j);
    return failed ? psc_fail_nomem(reterr) : PSC_OK;
}
