/* What is looked at while a graph runs, and what was seen. */
#include "core/run/recorder-private.h"

#include "core/base/mem.h"
#include "core/graph/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which bytes ------------------------------------------------------------------------------------- */

/* Whose storage the node's bytes are; PSC_NONE for what is not looked at: regions, nodes without bytes or place. */
static psc_node owner_of(const struct psc_graph *graph, const struct psc_plan *plan, psc_node i, uint64_t *ret_offset)
{
    const struct psc_place *place = &plan->places[i];
    *ret_offset = 0;
    if (!graph->nodes[i].bytes || psc_op_info(graph->nodes[i].op)->is_kv || place->buffer == PSC_NONE ||
        place->reason == PSC_WHY_REGION)
        return PSC_NONE;
    if (place->reason != PSC_WHY_VIEW)
        return i;
    *ret_offset = place->b;
    psc_node root = (psc_node)place->a;
    return psc_op_info(graph->nodes[root].op)->is_kv ? PSC_NONE : root;
}

static int compare_windows(const void *a, const void *b)
{
    const struct psc_look_window *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static uint32_t find_window(const struct psc_look *look, struct psc_look_window key)
{
    const struct psc_look_window *at =
        bsearch(&key, look->windows, look->window_n, sizeof key, compare_windows);
    return at ? (uint32_t)(at - look->windows) : PSC_NONE;
}

/* What each source entry reads, as a range of its operand. */
static void find_reads(struct psc_look *look, const struct psc_graph *graph)
{
    for (psc_node i = 0; i < graph->n; i++)
        for (uint32_t k = 0; k < graph->nodes[i].src_n; k++) {
            struct psc_look_read *read = &look->reads[graph->nodes[i].src_at + k];
            struct psc_reading reading = psc_op_reading(graph, i, k);
            bool some = reading.access != PSC_ACCESS_NONE && reading.hi > reading.lo;
            *read = (struct psc_look_read){some ? reading.lo : 0, some ? reading.hi : 0, PSC_NONE};
        }
}

static uint32_t collect_windows(const struct psc_look *look, const struct psc_graph *graph, const uint64_t *offset,
                                struct psc_look_window *to)
{
    uint32_t n = 0;
    for (psc_node i = 0; i < graph->n; i++)
        if (look->hash_owner[i] != PSC_NONE)
            to[n++] = (struct psc_look_window){look->hash_owner[i], offset[i], graph->nodes[i].bytes};
    for (uint32_t e = 0; e < graph->src_total; e++) {
        psc_node s = graph->srcs[e];
        if (look->hash_owner[s] != PSC_NONE && look->reads[e].hi > look->reads[e].lo)
            to[n++] = (struct psc_look_window){look->hash_owner[s], offset[s] + look->reads[e].lo,
                                               look->reads[e].hi - look->reads[e].lo};
    }
    return n;
}

static bool find_windows(struct psc_look *look, const struct psc_graph *graph, const uint64_t *offset)
{
    look->windows = psc_arena_alloc(&look->arena, (size_t)graph->n + graph->src_total, sizeof *look->windows);
    look->window_at = psc_arena_alloc0(&look->arena, (size_t)graph->n + 1, sizeof *look->window_at);
    look->window_of = psc_arena_alloc(&look->arena, graph->n, sizeof *look->window_of);
    if (!look->windows || !look->window_at || !look->window_of)
        return false;
    uint32_t n = collect_windows(look, graph, offset, look->windows);
    qsort(look->windows, n, sizeof *look->windows, compare_windows);
    for (uint32_t i = 0; i < n; i++)
        if (!i || compare_windows(&look->windows[i], &look->windows[i - 1]))
            look->windows[look->window_n++] = look->windows[i];
    for (uint32_t i = 0; i < look->window_n; i++)
        look->window_at[look->windows[i].owner + 1]++;
    for (psc_node i = 0; i < graph->n; i++) {
        look->window_at[i + 1] += look->window_at[i];
        look->window_of[i] = PSC_NONE;
        if (look->hash_owner[i] != PSC_NONE)
            look->window_of[i] =
                find_window(look, (struct psc_look_window){look->hash_owner[i], offset[i], graph->nodes[i].bytes});
    }
    for (uint32_t e = 0; e < graph->src_total; e++) {
        psc_node s = graph->srcs[e];
        if (look->hash_owner[s] != PSC_NONE && look->reads[e].hi > look->reads[e].lo)
            look->reads[e].window =
                find_window(look, (struct psc_look_window){look->hash_owner[s], offset[s] + look->reads[e].lo,
                                                           look->reads[e].hi - look->reads[e].lo});
    }
    return true;
}

static bool find_views(struct psc_look *look, const struct psc_graph *graph)
{
    look->view_at = psc_arena_alloc0(&look->arena, (size_t)graph->n + 1, sizeof *look->view_at);
    look->views = psc_arena_alloc(&look->arena, graph->n, sizeof *look->views);
    if (!look->view_at || !look->views)
        return false;
    for (psc_node i = 0; i < graph->n; i++)
        if (look->hash_owner[i] != PSC_NONE && look->hash_owner[i] != i)
            look->view_at[look->hash_owner[i] + 1]++;
    for (psc_node i = 0; i < graph->n; i++)
        look->view_at[i + 1] += look->view_at[i];
    for (psc_node i = graph->n; i-- > 0;) /* from behind: view_at[owner + 1] goes down to the first view and up again */
        if (look->hash_owner[i] != PSC_NONE && look->hash_owner[i] != i)
            look->views[--look->view_at[look->hash_owner[i] + 1]] = i;
    for (psc_node i = 0; i < graph->n; i++)
        if (look->hash_owner[i] != PSC_NONE && look->hash_owner[i] != i)
            look->view_at[look->hash_owner[i] + 1]++;
    return true;
}

enum psc_status psc_look_init(struct psc_look *look, const struct psc_graph *graph, const struct psc_plan *plan,
                              struct psc_error *reterr)
{
    struct psc_arena *a = &look->arena;
    size_t reads = (size_t)graph->src_total + graph->output_n;
    memset(look, 0, sizeof *look);
    uint64_t *offset = psc_arena_alloc(a, graph->n, sizeof *offset);
    look->hash_owner = psc_arena_alloc(a, graph->n, sizeof *look->hash_owner);
    look->reads = psc_arena_alloc(a, graph->src_total, sizeof *look->reads);
    if (!offset || !look->hash_owner || !look->reads)
        return psc_fail_nomem(reterr);
    for (psc_node i = 0; i < graph->n; i++)
        look->hash_owner[i] = owner_of(graph, plan, i, &offset[i]);
    find_reads(look, graph);
    if (!find_windows(look, graph, offset) || !find_views(look, graph))
        return psc_fail_nomem(reterr);
    look->expected = psc_arena_alloc0(a, look->window_n, sizeof *look->expected);
    look->known = psc_arena_alloc0(a, look->window_n, 1);
    look->found = psc_arena_alloc0(a, reads, sizeof *look->found);
    look->asked = psc_arena_alloc0(a, reads, 1);
    look->under = psc_arena_alloc0(a, graph->src_total, 1);
    look->noted = psc_arena_alloc0(a, graph->n, 1);
    look->contents = psc_arena_alloc0(a, graph->n, sizeof *look->contents);
    look->inputs = psc_arena_alloc0(a, graph->n, sizeof *look->inputs);
    look->late = psc_arena_alloc(a, graph->n, sizeof *look->late);
    if (!look->expected || !look->known || !look->found || !look->asked || !look->under || !look->noted ||
        !look->contents || !look->inputs || !look->late)
        return psc_fail_nomem(reterr);
    return PSC_OK;
}

void psc_look_release(struct psc_look *look)
{
    psc_arena_release(&look->arena);
    memset(look, 0, sizeof *look);
}

/* ---- probes ------------------------------------------------------------------------------------------ */

static enum psc_status probe_hash(const struct psc_backend_api *api, struct psc_backend *b, psc_address at, uint64_t bytes,
                                  uint64_t *ret, struct psc_error *reterr)
{
    struct psc_probe probe = {PSC_PROBE_HASH, at, bytes, PSC_F32, ret};
    return api->probe(b, &probe, reterr);
}

/* The hash of what is there at this moment, not of what will be there when the queue comes to it. */
static enum psc_status hash_early(const struct psc_backend_api *api, struct psc_backend *b, psc_address at, uint64_t bytes,
                                  uint64_t *ret, struct psc_error *reterr)
{
    void *seen = bytes ? psc_alloc((size_t)bytes) : NULL;
    if (bytes && !seen)
        return psc_fail_nomem(reterr);
    enum psc_status status = (api->peek ? api->peek : api->read)(b, at, seen, bytes, reterr);
    if (status == PSC_OK)
        *ret = psc_probe_hash(seen, bytes);
    psc_free(seen);
    return status;
}

/* Statistics, samples and contents of one node's value, as its bytes are now. */
static enum psc_status note_value(struct psc_recorder *r, const struct psc_look_late *what, struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    const struct psc_node_info *node = &r->phase.graph->nodes[what->node];
    enum psc_status status = PSC_OK;
    if (!node->bytes)
        return PSC_OK;
    if (r->options.values) {
        struct psc_probe probe = {PSC_PROBE_STATS, what->at, node->bytes, node->dtype, &look->stats[what->node]};
        status = what->api->probe(what->b, &probe, reterr);
    }
    if (status == PSC_OK && r->options.contents && r->options.content) {
        look->contents[what->node] = psc_arena_alloc(&r->content_arena, node->bytes, 1);
        if (!look->contents[what->node])
            return psc_fail_nomem(reterr);
        struct psc_probe probe = {PSC_PROBE_COPY, what->at, node->bytes, node->dtype, look->contents[what->node]};
        status = what->api->probe(what->b, &probe, reterr);
    }
    look->noted[what->node] = true;
    return status;
}

/* A value has been written at `at`: its own and those of its views. */
static enum psc_status note_written(struct psc_recorder *r, const struct psc_look_late *what, bool late,
                                    struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    uint32_t view = look->view_at[what->node], end = look->view_at[what->node + 1];
    enum psc_status status = PSC_OK;
    if (!r->options.values && !r->options.contents)
        return PSC_OK;
    for (struct psc_look_late next = *what;; view++) {
        if (!late)
            status = note_value(r, &next, reterr);
        else if (look->late_n < r->phase.graph->n)
            look->late[look->late_n++] = next;
        if (status != PSC_OK || view >= end)
            return status;
        next.node = look->views[view];
        next.at = what->at + look->windows[look->window_of[next.node]].offset;
    }
}

static enum psc_status hash_written(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                    psc_address at, psc_node owner, struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    enum psc_status status = PSC_OK;
    for (uint32_t w = look->window_at[owner]; status == PSC_OK && w < look->window_at[owner + 1]; w++) {
        status = probe_hash(api, b, at + look->windows[w].offset, look->windows[w].bytes, &look->expected[w], reterr);
        look->known[w] = true;
    }
    return status;
}

enum psc_status psc_look_begin(struct psc_recorder *r, struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    const struct psc_graph *graph = r->phase.graph;
    memset(look->asked, 0, (size_t)graph->src_total + graph->output_n);
    memset(look->under, 0, graph->src_total);
    memset(look->noted, 0, graph->n);
    memset(look->contents, 0, graph->n * sizeof *look->contents);
    look->late_n = 0;
    for (uint32_t w = 0; w < look->window_n; w++) /* inputs keep what they were filled with */
        if (!look->inputs[look->windows[w].owner].b)
            look->known[w] = false;
    look->stats = NULL;
    if (r->options.values && !(look->stats = psc_arena_alloc(&r->step_arena, graph->n, sizeof *look->stats)))
        return psc_fail_nomem(reterr);
    return PSC_OK;
}

/* What the host said that it put there, or else the bytes that are there. */
static enum psc_status expect_input(struct psc_recorder *r, psc_node node, const struct psc_look_place *at,
                                    struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    for (size_t i = r->told_n; i-- > 0;) {
        const struct psc_told *told = &r->tolds[i];
        if (told->node != node || told->n != r->phase.graph->nodes[node].bytes)
            continue;
        for (uint32_t w = look->window_at[node]; w < look->window_at[node + 1]; w++) {
            look->expected[w] =
                psc_probe_hash((const char *)told->bytes + look->windows[w].offset, look->windows[w].bytes);
            look->known[w] = true;
        }
        return PSC_OK;
    }
    return hash_written(r, at->api, at->b, at->at, node, reterr);
}

enum psc_status psc_look_filled(struct psc_recorder *r, psc_node node, const struct psc_look_place *at,
                                struct psc_error *reterr)
{
    r->phase.look.inputs[node] = *at;
    return r->options.hashes ? expect_input(r, node, at, reterr) : PSC_OK;
}

/* Inputs are noted before the first kernel, filled again or not. */
static enum psc_status look_at_inputs(struct psc_recorder *r, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    if (r->looked_at_inputs)
        return PSC_OK;
    r->looked_at_inputs = true;
    for (psc_node i = 0; status == PSC_OK && i < r->phase.graph->n; i++) {
        const struct psc_look_place *at = &r->phase.look.inputs[i];
        struct psc_look_late what = {at->api, at->b, at->at, i};
        if (at->b)
            status = note_written(r, &what, false, reterr);
    }
    return status;
}

static bool meet(psc_address a, uint64_t a_bytes, psc_address b, uint64_t b_bytes)
{
    return a && b && a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

/* Does what the node writes lie over operand k, otherwise than its op allows? */
static bool overwrites(const struct psc_call *call, uint32_t k)
{
    const struct psc_op_info *info = psc_op_info(call->op);
    const struct psc_window *in = &call->in[k];
    uint64_t region = info->stores_kv ? call->kv.rows * call->kv.row_bytes : 0;
    if (meet(in->at, in->bytes, call->kv.k, region) || meet(in->at, in->bytes, call->kv.v, region))
        return true;
    if (info->is_kv || !meet(in->at, in->bytes, call->out.at, call->out.bytes))
        return false;
    bool exactly = in->at == call->out.at && in->bytes == call->out.bytes;
    return !(exactly && k < 32 && info->may_overwrite >> k & 1);
}

enum psc_status psc_look_before(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                                const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    const struct psc_node_info *node = &r->phase.graph->nodes[call->node];
    enum psc_status status = look_at_inputs(r, reterr);
    if (!r->options.hashes)
        return status;
    for (uint32_t k = 0; status == PSC_OK && k < call->in_n && k < node->src_n; k++) {
        uint32_t e = node->src_at + k;
        const struct psc_look_read *read = &look->reads[e];
        look->under[e] = r->options.hashed && overwrites(call, k);
        if (!call->in[k].at || read->window == PSC_NONE)
            continue;
        status = (psc_call_takes_early(call, k) ? hash_early : probe_hash)(
            api, b, call->in[k].at + read->lo, read->hi - read->lo, &look->found[e], reterr);
        look->asked[e] = true;
    }
    return status;
}

enum psc_status psc_look_after(struct psc_recorder *r, const struct psc_backend_api *api, struct psc_backend *b,
                               const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    struct psc_look_late what = {api, b, call->out.at, call->node};
    if (!call->out.at || look->hash_owner[call->node] != call->node)
        return PSC_OK;
    enum psc_status status = note_written(r, &what, r->options.capture == PSC_CAPTURE_SPLIT, reterr);
    if (status == PSC_OK && r->options.hashes)
        status = hash_written(r, api, b, call->out.at, call->node, reterr);
    return status;
}

enum psc_status psc_look_split_end(struct psc_recorder *r, struct psc_error *reterr)
{
    struct psc_look *look = &r->phase.look;
    enum psc_status status = look_at_inputs(r, reterr);
    for (uint32_t i = 0; status == PSC_OK && i < look->late_n; i++)
        status = note_value(r, &look->late[i], reterr);
    look->late_n = 0;
    return status;
}

enum psc_status psc_look_export(struct psc_recorder *r, psc_node node, const struct psc_look_place *at,
                                struct psc_error *reterr)
{
    const struct psc_graph *graph = r->phase.graph;
    struct psc_look *look = &r->phase.look;
    if (!r->options.hashes || look->window_of[node] == PSC_NONE)
        return PSC_OK;
    for (uint32_t k = 0; k < graph->output_n; k++)
        if (graph->outputs[k] == node) {
            look->asked[graph->src_total + k] = true;
            return probe_hash(at->api, at->b, at->at, graph->nodes[node].bytes, &look->found[graph->src_total + k],
                              reterr);
        }
    return PSC_OK;
}

void psc_look_nowhere(struct psc_recorder *r, psc_node node)
{
    const struct psc_graph *graph = r->phase.graph;
    for (uint32_t k = 0; r->options.hashes && k < graph->output_n; k++)
        if (graph->outputs[k] == node)
            r->phase.look.asked[graph->src_total + k] = true;
}

/* ---- what was seen --------------------------------------------------------------------------------------- */

static bool add_mismatch(struct psc_recorder *r, const struct psc_hash_break *b)
{
    if (!psc_grow(&r->mismatches, r->mismatch_n + 1, &r->mismatch_cap, sizeof *r->mismatches))
        return false;
    r->mismatches[r->mismatch_n++] =
        (struct psc_mismatch){r->step, b->reader, b->value, b->operand, b->expected, b->found};
    return true;
}

/* Breaks are few: two passes, one to count. */
static uint32_t list_breaks(const struct psc_recorder *r, struct psc_hash_break *to)
{
    const struct psc_look *look = &r->phase.look;
    const struct psc_graph *graph = r->phase.graph;
    uint32_t n = 0;
    for (psc_node i = 0; i <= graph->n; i++) {
        bool host = i == graph->n;
        uint32_t at = host ? graph->src_total : graph->nodes[i].src_at, count = host ? graph->output_n : graph->nodes[i].src_n;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t w = host ? look->window_of[graph->outputs[k]] : look->reads[at + k].window;
            if (!look->asked[at + k] || w == PSC_NONE || !look->known[w] || look->found[at + k] == look->expected[w])
                continue;
            if (to)
                to[n] = (struct psc_hash_break){host ? PSC_NONE : i, look->windows[w].owner, host ? 0 : k,
                                                look->expected[w], look->found[at + k]};
            n++;
        }
    }
    return n;
}

static bool collect_breaks(struct psc_recorder *r)
{
    uint32_t rows = psc_rec_kv_breaks(r, NULL), n = list_breaks(r, NULL) + rows;
    if (!n)
        return true;
    struct psc_hash_break *breaks = psc_arena_alloc(&r->step_arena, n, sizeof *breaks);
    if (!breaks)
        return false;
    list_breaks(r, breaks);
    psc_rec_kv_breaks(r, breaks + n - rows);
    for (uint32_t i = 0; i < n; i++)
        if (!add_mismatch(r, &breaks[i]))
            return false;
    r->pending.breaks = breaks;
    r->pending.break_n = n;
    return true;
}

static bool collect_values(struct psc_recorder *r)
{
    const struct psc_look *look = &r->phase.look;
    uint32_t n = r->phase.graph->n;
    uint8_t *noted = psc_arena_alloc(&r->step_arena, n, 1), *hashed = psc_arena_alloc0(&r->step_arena, n, 1);
    uint64_t *hash = psc_arena_alloc(&r->step_arena, n, sizeof *hash);
    if (!noted || !hashed || !hash)
        return false;
    memcpy(noted, look->noted, n);
    r->raw = (struct psc_rec_raw){r->phase.graph, look->stats, noted, hash, hashed, 0};
    for (psc_node i = 0; i < n; i++) {
        uint32_t w = look->window_of[i];
        r->raw.record_n += noted[i];
        hashed[i] = r->options.hashes && w != PSC_NONE && look->known[w];
        hash[i] = hashed[i] ? look->expected[w] : 0;
    }
    return true;
}

enum psc_status psc_look_end(struct psc_recorder *r, struct psc_error *reterr)
{
    const struct psc_look *look = &r->phase.look;
    if ((r->options.values && !collect_values(r)) || (r->options.hashes && !collect_breaks(r)))
        return psc_fail_nomem(reterr);
    r->pending.hashed = r->options.hashes;
    for (psc_node i = 0; r->options.contents && r->options.content && i < r->phase.graph->n; i++)
        if (look->contents[i] &&
            !r->options.content(r->options.content_ctx, r->phase.index, r->phase.steps, &r->phase.graph->nodes[i],
                                look->contents[i], r->phase.graph->nodes[i].bytes))
            return psc_fail(reterr, PSC_ERR_IO, "the contents of step %u could not be written", r->step);
    return PSC_OK;
}
