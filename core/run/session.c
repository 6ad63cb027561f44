#include "core/run/session.h"

#include "core/base/mem.h"
#include "core/run/arena-memory.h"
#include "core/run/replay.h"
#include "core/run/schedule.h"
#include "core/run/session-map.h"

#include <assert.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------------------------------ */

enum psc_status psc_session_new(const struct psc_backend_api *const *apis, uint32_t api_n,
                                const struct psc_session_options *options, struct psc_session **ret,
                                struct psc_error *reterr)
{
    struct psc_session *s = psc_alloc0(1, sizeof *s);
    assert(api_n > 0 && api_n < PSC_BACKEND_NONE);
    if (!s)
        return psc_fail_nomem(reterr);
    s->apis = apis;
    s->api_n = api_n;
    s->options = *options;
    s->pools = psc_alloc0(api_n, sizeof *s->pools);
    if (!s->pools) {
        psc_free(s);
        return psc_fail_nomem(reterr);
    }
    for (uint32_t k = 0; k < api_n; k++)
        s->pools[k].api = apis[k];
    if (options->arenas) { /* nothing is shared in what is planned: who shares a block is seen when it happens */
        s->options.planner = psc_planner_find("naive");
        s->options.recycled = PSC_RECYCLED_KEPT;
        s->options.has_budget = false;
        if (options->arenas->faults & PSC_ARENA_BIT(PSC_ARENA_A19))
            s->options.call_faults |= PSC_CALL_A19;
        enum psc_status status = psc_arena_memory_new(s, options->arenas, &s->arena, reterr);
        if (status) {
            psc_session_free(s);
            return status;
        }
    }
    *ret = s;
    return PSC_OK;
}

static void free_mapped(struct psc_session *s, struct psc_mapped *mapped)
{
    if (mapped) {
        psc_replay_drop(s, mapped);
        psc_staging_leave(&s->staging, mapped->uid);
    }
    psc_mapped_free(mapped);
}

void psc_session_free(struct psc_session *s)
{
    if (!s)
        return;
    psc_arena_memory_free(s->arena);
    for (uint32_t k = 0; k < s->cache.n; k++)
        psc_replay_drop(s, s->cache.graphs[k]);
    for (uint32_t k = 0; k < s->api_n; k++) /* before the calls that a queue may hold */
        psc_pool_close(&s->pools[k]);
    psc_cache_release(&s->cache);
    psc_staging_release(&s->staging);
    psc_map_release(&s->region_of);
    psc_free(s->regions);
    psc_free(s->bounce);
    psc_free(s->pools);
    psc_free(s);
}

static enum psc_status no_graph(struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_USAGE, "this session has no graph yet");
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

/* A cached graph becomes current again. */
static enum psc_status map_again(struct psc_session *s, uint32_t at, struct psc_error *reterr)
{
    struct psc_mapped *mapped = s->cache.graphs[at];
    bool drops = psc_session_fault(s, PSC_RUN_H6) || s->options.plan.mode == PSC_MODE_UPSTREAM;
    enum psc_status status = psc_session_map(s, mapped, reterr);
    if (status && drops)
        free_mapped(s, psc_cache_remove(&s->cache, at));
    if (status)
        return status;
    psc_cache_to_front(&s->cache, at);
    s->current = mapped;
    s->counters.reuses++;
    return PSC_OK;
}

static enum psc_status build_new(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                 struct psc_error *reterr)
{
    struct psc_mapped *mapped = NULL;
    enum psc_status status = psc_session_build(s, key, build, ctx, &mapped, reterr);
    if (!status)
        status = psc_session_map(s, mapped, reterr);
    if (status) {
        free_mapped(s, mapped);
        return status;
    }
    s->uid++;
    s->counters.builds++;
    s->current = mapped;
    free_mapped(s, psc_cache_insert(&s->cache, mapped));
    return PSC_OK;
}

/* Some buffer does: the current graph is mapped anew, too, so that it is asked for again. */
static bool lacks_memory(const struct psc_session *s)
{
    for (uint32_t k = 0; k < s->api_n; k++)
        if (s->pools[k].figures.missing)
            return true;
    return false;
}

enum psc_status psc_session_use(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                struct psc_error *reterr)
{
    uint32_t at = psc_cache_find(&s->cache, key);
    enum psc_status status = psc_schedule_settle(s, reterr);
    if (status)
        return status;
    if (at != PSC_NONE && s->cache.graphs[at] == s->current && !lacks_memory(s)) {
        s->counters.reuses++;
        return PSC_OK;
    }
    if (at != PSC_NONE)
        return map_again(s, at, reterr);
    if (!build)
        return psc_fail(reterr, PSC_ERR_USAGE, "no graph of these parameters has been built");
    return build_new(s, key, build, ctx, reterr);
}

enum psc_status psc_session_move(struct psc_session *s, struct psc_error *reterr)
{
    enum psc_status status = s->current ? psc_schedule_settle(s, reterr) : no_graph(reterr);
    if (status)
        return status;
    s->moving = true;
    status = psc_session_map(s, s->current, reterr);
    s->moving = false;
    s->counters.moves += !status;
    return status;
}

/* ---- inputs ----------------------------------------------------------------------------------------------------------- */

static void list_inputs(const struct psc_program *p, struct psc_text *text)
{
    for (uint32_t k = 0; k < p->input_n && text->n < 300; k++) {
        const struct psc_node_info *node = &p->graph->nodes[p->inputs[k].node];
        psc_text_addf(text, "%s%s (%llu)", k ? ", " : "", node->name ? node->name : "unnamed",
                      (unsigned long long)node->elements);
    }
    if (!p->input_n)
        psc_text_add(text, "no input at all");
}

static enum psc_status no_such_input(const struct psc_program *p, const char *name, uint32_t found, struct psc_error *reterr)
{
    struct psc_text text = {0};
    list_inputs(p, &text);
    if (found)
        psc_fail(reterr, PSC_ERR_USAGE, "%u inputs are called '%.64s'; there is: %s", found, name, psc_text_str(&text));
    else
        psc_fail(reterr, PSC_ERR_USAGE, "no input is called '%.64s'; there is: %s", name, psc_text_str(&text));
    psc_text_release(&text);
    return PSC_ERR_USAGE;
}

enum psc_status psc_session_fill(struct psc_session *s, const char *name, const void *words, uint64_t n,
                                 struct psc_error *reterr)
{
    const struct psc_program *p;
    uint32_t found = 0, at = 0;
    if (!s->current)
        return no_graph(reterr);
    p = s->current->program;
    for (uint32_t k = 0; k < p->input_n; k++) {
        const char *its = p->graph->nodes[p->inputs[k].node].name;
        if (its && !strcmp(its, name) && !found++)
            at = k;
    }
    if (found != 1)
        return no_such_input(p, name, found, reterr);
    return psc_session_fill_node(s, p->inputs[at].node, words, n, reterr);
}

static enum psc_status wrong_length(const struct psc_node_info *node, uint64_t n, const struct psc_program *p,
                                    struct psc_error *reterr)
{
    struct psc_text text = {0};
    list_inputs(p, &text);
    psc_fail(reterr, PSC_ERR_USAGE, "input '%.64s' (node %llu) has %llu elements, %llu were given; there is: %s",
             node->name ? node->name : "", (unsigned long long)node->id, (unsigned long long)node->elements,
             (unsigned long long)n, psc_text_str(&text));
    psc_text_release(&text);
    return PSC_ERR_USAGE;
}

static enum psc_status has_memory(const struct psc_session *s, psc_node i, struct psc_error *reterr)
{
    const struct psc_node_info *node = &s->current->graph->nodes[i];
    const struct psc_home *home = &s->current->program->homes[i];
    struct psc_error why;
    enum psc_status status = psc_pool_present(&s->pools[home->pool], home->at, &why);
    return status ? psc_fail(reterr, status, "node %llu (%s): %s", (unsigned long long)node->id, node->op_name, why.text) : PSC_OK;
}

static enum psc_status write_input(struct psc_session *s, struct psc_filled_input *input, const void *words,
                                   struct psc_error *reterr)
{
    const struct psc_home *home = &s->current->program->homes[input->node];
    struct psc_pool *pool = &s->pools[home->pool];
    enum psc_status status = has_memory(s, input->node, reterr);
    if (!status && input->recycle)
        status = psc_pool_recycle_now(pool, input->recycle, input->recycle_bytes, reterr);
    if (status)
        return status;
    input->recycle = 0;
    return pool->api->write(pool->backend, home->at, words, home->bytes, reterr);
}

static enum psc_status fill_node(struct psc_session *s, psc_node node, const void *words, uint64_t n, bool borrow,
                                 struct psc_error *reterr)
{
    struct psc_program *p;
    struct psc_filled_input *input;
    enum psc_status status = PSC_OK;
    if (!s->current)
        return no_graph(reterr);
    p = s->current->program;
    if (node >= p->graph->n || p->input_of[node] == PSC_NONE)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %u is no input", node);
    input = &p->inputs[p->input_of[node]];
    if (n != p->graph->nodes[node].elements)
        return wrong_length(&p->graph->nodes[node], n, p, reterr);
    if (input->words && !psc_session_fault(s, PSC_RUN_L15))
        status = psc_rows_check(p->graph, &p->rows, p->input_of[node], words, reterr);
    if (!status && s->arena)
        status = psc_arena_memory_ready(s->arena, reterr);
    if (!status && s->arena && p->homes[node].at)
        status = psc_arena_memory_fill(s->arena, p->input_of[node], words, borrow, reterr);
    else if (!status && p->homes[node].at)
        status = write_input(s, input, words, reterr);
    if (status)
        return status;
    if (input->words) {
        memcpy(input->words, words, n * sizeof *input->words);
        psc_rows_changed(&p->rows, p->input_of[node]);
    }
    input->filled = true;
    input->told = false;
    return PSC_OK;
}

enum psc_status psc_session_fill_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                      struct psc_error *reterr)
{
    return fill_node(s, node, words, n, false, reterr);
}

enum psc_status psc_session_borrow_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                        struct psc_error *reterr)
{
    if (!s->arena)
        return psc_fail(reterr, PSC_ERR_USAGE, "without arenas an input is copied: it cannot be borrowed");
    return fill_node(s, node, words, n, true, reterr);
}

enum psc_status psc_session_execute(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr)
{
    enum psc_status status = s->current ? psc_schedule_settle(s, reterr) : no_graph(reterr);
    if (!status && s->arena)
        return psc_arena_memory_run(s->arena, sink, reterr);
    return status ? status : psc_schedule_run(s, sink, reterr);
}

static enum psc_status read_on_arena(struct psc_session *s, psc_node node, void *words, struct psc_error *reterr)
{
    const struct psc_node_info *info = &s->current->graph->nodes[node];
    struct psc_arena_place place;
    const unsigned char *memory =
        s->arena->program == s->current->program ? psc_arena_memory_of(s->arena, node, &place) : NULL;
    if (!memory)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s) has no block now: it went back after its last reader, the run is "
                        "over, or somebody holds it", (unsigned long long)info->id, info->op_name);
    memcpy(words, memory, info->bytes);
    return PSC_OK;
}

enum psc_status psc_session_read(struct psc_session *s, psc_node node, void *words, uint64_t n, struct psc_error *reterr)
{
    const struct psc_node_info *info;
    const struct psc_home *home;
    if (!s->current)
        return no_graph(reterr);
    if (node >= s->current->graph->n)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no node %u", node);
    info = &s->current->graph->nodes[node];
    home = &s->current->program->homes[node];
    if (n > UINT64_MAX / 4 || 4 * n != info->bytes)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s) has %llu bytes, not %llu words", (unsigned long long)info->id,
                        info->op_name, (unsigned long long)info->bytes, (unsigned long long)n);
    if (!n)
        return PSC_OK;
    if (!home->at)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s) has no buffer: nobody reads it", (unsigned long long)info->id,
                        info->op_name);
    if (s->arena && !psc_op_info(s->current->graph->nodes[info->root].op)->is_kv)
        return read_on_arena(s, node, words, reterr);
    enum psc_status status = has_memory(s, node, reterr);
    return status ? status : s->pools[home->pool].api->read(s->pools[home->pool].backend, home->at, words, info->bytes, reterr);
}

/* ---- what is there ------------------------------------------------------------------------------------------------------ */

const struct psc_graph *psc_session_graph(const struct psc_session *s)
{
    return s->current ? s->current->graph : NULL;
}

const struct psc_plan *psc_session_plan(const struct psc_session *s)
{
    return s->current ? s->current->plan : NULL;
}

uint32_t psc_session_backend_n(const struct psc_session *s)
{
    return s->api_n;
}

struct psc_backend *psc_session_backend(const struct psc_session *s, uint32_t backend, const struct psc_backend_api **ret_api)
{
    *ret_api = s->apis[backend];
    return s->pools[backend].backend;
}

void psc_session_figures(const struct psc_session *s, uint32_t backend, struct psc_pool_figures *ret)
{
    *ret = s->pools[backend].figures;
    if (!s->pools[backend].backend)
        ret->budget = s->options.has_budget ? s->options.budget : UINT64_MAX;
}

struct psc_op_time psc_session_op_time(const struct psc_session *s, enum psc_op op)
{
    return s->op_times[op];
}

void psc_session_counters(const struct psc_session *s, struct psc_session_counters *ret)
{
    *ret = s->counters;
    ret->uid = s->current ? s->current->uid : 0;
    ret->copies = s->copies.copies;
    ret->waits = s->copies.waits;
    ret->deferred_waits = s->copies.deferred_waits;
    ret->blocking_copies = s->copies.blocking_copies;
    ret->most_in_flight = s->copies.most_in_flight;
    ret->copied_bytes = s->copies.bytes;
}

uint32_t psc_session_buffer_n(const struct psc_session *s, uint32_t backend)
{
    return s->pools[backend].n;
}

uint32_t psc_session_place_n(const struct psc_session *s)
{
    return s->api_n + (s->arena ? PSC_ARENA_PLACE_N : 0);
}

const char *psc_session_place_name(const struct psc_session *s, uint32_t place)
{
    return place < s->api_n ? s->apis[place]->name : psc_arena_place_name(place - s->api_n);
}

void psc_session_buffer(const struct psc_session *s, uint32_t place, uint32_t id, struct psc_pool_buffer *ret)
{
    if (place < s->api_n)
        *ret = s->pools[place].slots[id].b;
    else
        psc_arena_memory_buffer(s->arena, place - s->api_n, id, ret);
}

/* ---- for tests ---------------------------------------------------------------------------------------------------------- */

struct exchange { psc_address a, b; uint64_t bytes; };

static void exchange(const struct exchange *x, psc_address *at)
{
    if (*at >= x->a && *at - x->a < x->bytes)
        *at = *at - x->a + x->b;
    else if (*at >= x->b && *at - x->b < x->bytes)
        *at = *at - x->b + x->a;
}

static void exchange_job(const struct exchange *x, struct psc_job *job)
{
    struct psc_window *in = (struct psc_window *)job->call.in; /* the program's own room */
    for (uint32_t k = 0; k < job->call.in_n; k++)
        exchange(x, &in[k].at);
    exchange(x, &job->call.out.at);
    exchange(x, &job->recycle);
    exchange(x, &job->move_from);
}

void psc_session_swap_addresses(struct psc_session *s, uint32_t backend, uint32_t a, uint32_t b, psc_node from)
{
    const struct psc_pool *pool = &s->pools[backend];
    struct psc_program *p = s->current->program;
    struct exchange x = {pool->slots[a].b.at, pool->slots[b].b.at, pool->slots[a].b.bytes};
    assert(pool->slots[a].b.bytes == pool->slots[b].b.bytes && pool->slots[a].b.role == PSC_ROLE_POOL &&
           pool->slots[b].b.role == PSC_ROLE_POOL);
    for (uint32_t k = 0; k < p->job_n; k++)
        if (p->jobs[k].node >= from)
            exchange_job(&x, &p->jobs[k]);
    for (psc_node i = from; i < p->graph->n; i++)
        exchange(&x, &p->homes[i].at);
    for (uint32_t k = 0; k < p->transfer_n; k++)
        if (p->transfers[k].enqueue >= (int32_t)from)
            exchange(&x, &p->transfers[k].from);
    p->layout = ~p->layout;
}
