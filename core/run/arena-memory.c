#include "core/run/arena-memory.h"

#include "core/base/mem.h"
#include "core/debug/arena-story.h"
#include "core/run/schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVERY_EVENT 256u /* with more slots the invariants are looked at from time to time only */

/* ---- telling --------------------------------------------------------------------------------------------------- */

void psc_arena_house_step(struct psc_arena_house *h, const char *fmt, ...)
{
    struct psc_arena_story *story = h->settings.story;
    char text[200];
    va_list args;
    if (!story)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    psc_arena_story_begin(story);
    psc_arena_story_title(story, text);
}

const char *psc_arena_memory_label(const struct psc_arena_memory *m, psc_node node, char *text, size_t size)
{
    const struct psc_node_info *info = &m->program->graph->nodes[node];
    char label[96];
    if (info->name && info->name[0])
        snprintf(text, size, "%.90s", info->name);
    else
        snprintf(text, size, "#%llu %s", (unsigned long long)info->id, psc_node_label(m->program->graph, node, label, sizeof label));
    return text;
}

uint64_t psc_arena_memory_allocs(const struct psc_arena_house *h)
{
    return psc_depot_figures(h->depot[0]).system_allocs + psc_depot_figures(h->depot[1]).system_allocs;
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static bool claim(struct psc_arena_house *h, size_t *n, struct psc_arena_claim claim)
{
    if (!psc_grow(&h->claims, *n + 1, &h->claim_cap, sizeof *h->claims))
        return false;
    h->claims[(*n)++] = claim;
    return true;
}

static bool claim_handle(struct psc_arena_house *h, size_t *n, const struct psc_block_handle *handle, const unsigned char *origin,
                         const char *role, enum psc_depot_kind home)
{
    return handle->state != PSC_HANDLE_PLAIN ||
           claim(h, n, (struct psc_arena_claim){.store = handle->store, .ticket = handle->ticket, .origin = origin, .role = role,
                                                .home = h->depot[home]});
}

/* What a child graph has handed over stays where its own output was. */
static bool claim_tensor(const struct psc_arena_memory *m, size_t *n, uint32_t value)
{
    const struct psc_context *c = &m->context;
    const char *role = m->children[value] ? NULL : c->declared[value] ? "a declared output" : "an inner value";
    return claim_handle(m->house, n, &c->tensors[value].handle, c->tensors[value].memory, role,
                        c->declared[value] ? PSC_DEPOT_IO : PSC_DEPOT_EXEC);
}

static bool claim_all(struct psc_arena_house *h, struct psc_arena_state *state)
{
    size_t *n = &state->claim_n;
    bool fine = true;
    for (const struct psc_arena_memory *m = h->first; m && fine; m = m->next) {
        for (uint32_t i = 0; i < m->live_n && fine; i++)
            fine = claim_tensor(m, n, m->live[i]);
        for (size_t i = 0; i < m->context.temporary_n && fine; i++)
            fine = claim_handle(h, n, &m->context.temporary[i], m->context.temporary[i].ticket.memory, "a workspace", PSC_DEPOT_EXEC);
        for (uint32_t i = 0; i < m->input_n && fine; i++) {
            const struct psc_arena_input *in = &m->inputs[i];
            fine = claim_handle(h, n, &in->handle, in->memory, "an input", PSC_DEPOT_IO);
            if (!in->borrowed || in->lent)
                continue;
            fine = fine && psc_grow(&h->ranges, state->borrowed_n + 1, &h->range_cap, sizeof *h->ranges);
            if (fine)
                h->ranges[state->borrowed_n++] = (struct psc_arena_range){in->memory, in->bytes};
        }
        for (uint32_t k = 0; k < m->transfer_n && fine; k++)
            fine = claim_handle(h, n, &m->copies[k].handle, m->copies[k].handle.ticket.memory, "a transferred input", PSC_DEPOT_IO);
    }
    for (const struct psc_held *held = h->held; held && fine; held = held->next)
        if (held->lease.store)
            fine = claim(h, n, (struct psc_arena_claim){.store = held->lease.store, .ticket = held->lease.ticket, .leased = true,
                                                        .origin = held->origin, .canary = held->seen});
    return fine;
}

/* Whatever cannot be looked at for want of memory is looked at after the next event. */
void psc_arena_house_look(struct psc_arena_house *h, bool cleared)
{
    struct psc_arena_state state = {.stores = {h->depot[0], h->depot[1]}, .cleared = cleared};
    struct psc_arena_verdict v;
    if (!h->settings.check || !h->first)
        return;
    uint64_t slots = (uint64_t)psc_depot_figures(h->depot[0]).slot_n + psc_depot_figures(h->depot[1]).slot_n;
    if ((slots > EVERY_EVENT && h->event_n++ % slots && !cleared) || !claim_all(h, &state))
        return;
    state.claims = h->claims;
    state.borrowed = h->ranges;
    if (psc_arena_check(&state, &v, NULL))
        return;
    if (v.broken && !h->broken.first) {
        h->broken.first = v.broken;
        memcpy(h->broken.text, v.text, sizeof v.text);
    }
    h->broken.ever |= v.broken;
    for (struct psc_held *held = h->held; v.broken && held; held = held->next) /* what was told is told once */
        if (held->lease.store)
            held->seen = psc_arena_canary(held->lease.ticket.memory, held->lease.ticket.bytes);
    if (h->settings.story)
        psc_arena_story_lamps(h->settings.story, v.broken, v.text);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void psc_arena_house_unref(struct psc_arena_house *h)
{
    if (!h || --h->refs)
        return;
    psc_depot_unref(h->depot[0]);
    psc_depot_unref(h->depot[1]);
    psc_free(h->claims);
    psc_free(h->ranges);
    psc_free(h);
}

void psc_arena_house_quiet(struct psc_arena_house *h)
{
    psc_depot_set_sink(h->depot[0], NULL, NULL);
    psc_depot_set_sink(h->depot[1], NULL, NULL);
    h->settings.story = NULL;
}

static enum psc_status house_new(const struct psc_arena_settings *settings, struct psc_arena_house **ret, struct psc_error *reterr)
{
    struct psc_arena_house *h = psc_alloc0(1, sizeof *h);
    enum psc_status status = h ? PSC_OK : psc_fail_nomem(reterr);
    if (status)
        return status;
    h->refs = 1;
    h->settings = *settings;
    for (unsigned a = 0; a < 2 && !status; a++)
        status = psc_depot_new(&(struct psc_depot_options){
            .kind = (enum psc_depot_kind)a, .slot_max = settings->slot_max[a],
            .cap = settings->has_cap[a] ? settings->cap[a] : PSC_ARENA_NO_CAP, .guards = settings->guards,
            .alignment = settings->alignment, .faults = settings->faults, .keeps_dropped = settings->faults != 0,
            .numbers = settings->story ? &settings->story->numbers : NULL,
            .sink = settings->story ? psc_arena_story_sink : NULL, .ctx = settings->story}, &h->depot[a], reterr);
    if (status) {
        psc_arena_house_unref(h);
        return status;
    }
    psc_depot_set_other(h->depot[0], h->depot[1]);
    psc_depot_set_other(h->depot[1], h->depot[0]);
    for (unsigned a = 0; settings->story && a < 2; a++)
        psc_arena_story_arena(settings->story, psc_depot_options(h->depot[a]));
    *ret = h;
    return PSC_OK;
}

enum psc_status psc_arena_memory_new(struct psc_session *s, const struct psc_arena_settings *settings,
                                     struct psc_arena_memory **ret, struct psc_error *reterr)
{
    struct psc_arena_memory *m;
    enum psc_status status = PSC_OK;
    if (settings->parent && !settings->parent->arena)
        return psc_fail(reterr, PSC_ERR_USAGE, "the parent's values lie in pools: a child shares arenas only");
    m = psc_alloc0(1, sizeof *m);
    if (!m)
        return psc_fail_nomem(reterr);
    m->s = s;
    psc_slot_tree_init(&m->callers);
    if (settings->parent) {
        m->house = settings->parent->arena->house;
        m->is_child = true;
        m->house->refs++;
    } else {
        status = house_new(settings, &m->house, reterr);
    }
    if (status) {
        psc_free(m);
        return status;
    }
    m->next = m->house->first;
    m->house->first = m;
    m->allocs_before = psc_arena_memory_allocs(m->house);
    *ret = m;
    return PSC_OK;
}

/* The values of this session mean other blocks from now on. Fault a16: what they meant is given back, though it is lent. */
static void forget_held(struct psc_arena_memory *m)
{
    for (struct psc_held *held = m->house->held; held; held = held->next)
        if (held->m == m) {
            m->values[held->block].held = NULL;
            held->m = NULL;
            if (m->house->settings.faults & PSC_ARENA_BIT(PSC_ARENA_A16) && held->lease.store)
                (void)!psc_depot_free(held->lease.store, held->lease.ticket, NULL);
        }
}

/* Nothing of the old graph is left. */
static void forget_graph(struct psc_arena_memory *m)
{
    struct psc_arena_story *story = m->house->settings.story;
    forget_held(m);
    for (uint32_t i = 0; i < m->input_n; i++) {
        struct psc_arena_input *in = &m->inputs[i];
        if (story)
            story->value = in->place.value;
        if (story && in->borrowed && !in->lent)
            psc_arena_story_add(story, PSC_EV_RELEASE, in->place.value, 0, in->place.buffer, 0, 0, in->bytes, PSC_NONE);
        if (in->borrowed && !in->lent)
            psc_depot_end_borrow(m->house->depot[PSC_DEPOT_IO], in->memory, in->bytes);
        psc_block_handle_reset(&in->handle, NULL);
    }
    if (story)
        story->value = PSC_NONE; /* each block goes by the value that it was given out for */
    for (uint32_t k = 0; k < m->transfer_n; k++)
        psc_block_handle_reset(&m->copies[k].handle, NULL);
    m->live_n = m->leaving_n = 0;
    psc_context_release(&m->context);
    psc_slot_tree_release(&m->callers);
    psc_arena_release(&m->arena);
    m->program = NULL;
    m->input_n = m->transfer_n = 0;
    m->uid = 0;
}

void psc_arena_memory_free(struct psc_arena_memory *m)
{
    struct psc_arena_memory **at;
    if (!m)
        return;
    for (at = &m->house->first; *at != m; at = &(*at)->next)
        ;
    *at = m->next;
    forget_graph(m);
    if (!m->house->first) { /* from now on only leases keep them */
        psc_arena_house_quiet(m->house);
        for (unsigned a = 0; a < 2; a++) {
            psc_depot_unref(m->house->depot[a]);
            m->house->depot[a] = NULL;
        }
    }
    psc_arena_house_unref(m->house);
    psc_free(m);
}

/* ---- the current graph --------------------------------------------------------------------------------------------- */

static psc_node root_of(const struct psc_graph *g, psc_node i)
{
    return g->nodes[i].root;
}

/* Lies on an arena when it is computed: no input, no region, not empty. */
bool psc_arena_memory_owns(const struct psc_program *p, psc_node root)
{
    return p->input_of[root] == PSC_NONE && !psc_op_info(p->graph->nodes[root].op)->is_kv && p->graph->nodes[root].bytes;
}

/* Its output gets a block. */
static bool makes_block(const struct psc_program *p, const struct psc_job *job)
{
    return job->kind == PSC_JOB_CALL && job->writes && psc_arena_memory_owns(p, job->node);
}

uint32_t psc_arena_memory_copy(const struct psc_program *p, const struct psc_job *job, uint32_t k)
{
    bool is = k < job->call.in_n && job->operands[k].kind == PSC_OPERAND_BYTES && job->operands[k].value >= p->staging_at &&
              job->operands[k].value - p->staging_at < p->transfer_n;
    return is ? job->operands[k].value - p->staging_at : PSC_NONE;
}

/* A job's own output counts as a reading: what nobody reads goes at once. Who reads a copy does not read what was copied, but
 * that must stay until the copy is there. last: by root, then by transfer. */
static void note_uses(const struct psc_program *p, uint32_t *last)
{
    for (uint32_t k = 0; k < p->job_n; k++) {
        const struct psc_job *job = &p->jobs[k];
        psc_node i = job->node;
        const struct psc_node_info *node = &p->graph->nodes[i];
        if (job->kind == PSC_JOB_NOTHING)
            continue;
        last[root_of(p->graph, i)] = k;
        for (uint32_t e = 0; e < node->src_n; e++) {
            uint32_t copy = psc_arena_memory_copy(p, job, e);
            last[copy == PSC_NONE ? root_of(p->graph, psc_node_srcs(p->graph, i)[e]) : p->graph->n + copy] = k;
        }
        for (uint32_t w = job->wait_at; w < job->wait_at + job->wait_n; w++)
            last[root_of(p->graph, p->transfers[p->waits[w]].node)] = k;
    }
    for (uint32_t k = 0; k < p->graph->output_n; k++)
        last[root_of(p->graph, p->graph->outputs[k])] = PSC_NONE; /* until the run is cleared */
}

static bool sort_deaths(struct psc_arena_memory *m, const struct psc_program *p)
{
    struct psc_arena scratch = {0};
    uint32_t n = p->graph->n, all = n + p->transfer_n, *last = psc_arena_alloc(&scratch, all, sizeof *last);
    m->dies_at = psc_arena_alloc0(&m->arena, (size_t)p->job_n + 2, sizeof *m->dies_at);
    m->dying = psc_arena_alloc(&m->arena, all, sizeof *m->dying);
    m->leaving = psc_arena_alloc(&m->arena, all, sizeof *m->leaving);
    bool fine = last && m->dies_at && m->dying && m->leaving;
    if (fine) {
        memset(last, 0xff, all * sizeof *last);
        note_uses(p, last);
        for (uint32_t i = 0; i < all; i++)
            if (last[i] != PSC_NONE && (i >= n || psc_arena_memory_owns(p, i)))
                m->dies_at[last[i] + 2]++;
        for (uint32_t k = 2; k < p->job_n + 2; k++)
            m->dies_at[k] += m->dies_at[k - 1];
        for (uint32_t i = 0; i < all; i++)
            if (last[i] != PSC_NONE && (i >= n || psc_arena_memory_owns(p, i)))
                m->dying[m->dies_at[last[i] + 1]++] = i;
    }
    psc_arena_release(&scratch);
    return fine;
}

static enum psc_status init_context(struct psc_arena_memory *m, const struct psc_program *p, struct psc_error *reterr)
{
    const struct psc_graph *g = p->graph;
    uint32_t *declared = psc_arena_alloc(&m->arena, g->output_n, sizeof *declared);
    if (!declared)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < g->output_n; k++) /* one without a block of its own gets one when it is held */
        declared[k] = psc_arena_memory_owns(p, root_of(g, g->outputs[k])) ? root_of(g, g->outputs[k]) : g->outputs[k];
    return psc_context_init(&m->context, m->house->depot[0], m->house->depot[1], g->n, declared, g->output_n, reterr);
}

/* Jobs whose calls can be given other addresses in each execution. */
static bool copy_jobs(struct psc_arena_memory *m, const struct psc_program *p)
{
    struct psc_window *in;
    m->jobs = psc_arena_alloc(&m->arena, p->job_n, sizeof *m->jobs);
    m->windows = in = psc_arena_alloc(&m->arena, p->graph->src_total, sizeof *in);
    m->transfers = psc_arena_alloc(&m->arena, p->transfer_n, sizeof *m->transfers);
    m->copies = psc_arena_alloc0(&m->arena, p->transfer_n, sizeof *m->copies);
    if (!m->jobs || !in || !m->transfers || !m->copies)
        return false;
    for (uint32_t k = 0; k < p->transfer_n; k++)
        m->transfers[k] = p->transfers[k];
    for (uint32_t k = 0; k < p->job_n; k++) {
        struct psc_job *job = &m->jobs[k];
        *job = p->jobs[k];
        job->call.in = in;
        job->fresh = makes_block(p, job);
        job->release_n = 0;
        in += job->call.in_n;
    }
    return true;
}

static enum psc_status take_graph(struct psc_arena_memory *m, struct psc_error *reterr)
{
    const struct psc_program *p = m->s->current->program;
    uint32_t n = p->graph->n;
    enum psc_status status;
    if (m->input_n)
        psc_arena_house_step(m->house, "another graph: what the inputs of the last one had goes back");
    forget_graph(m);
    m->values = psc_arena_alloc(&m->arena, n, sizeof *m->values);
    m->live = psc_arena_alloc(&m->arena, n, sizeof *m->live);
    m->inputs = psc_arena_alloc0(&m->arena, p->input_n, sizeof *m->inputs);
    m->children = psc_arena_alloc0(&m->arena, n, sizeof *m->children);
    if (!m->values || !m->live || !m->inputs || !m->children || !psc_slot_tree_reserve(&m->callers, p->input_n) ||
        !copy_jobs(m, p) || !sort_deaths(m, p))
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < n; i++)
        m->values[i] = (struct psc_arena_value){PSC_NONE, PSC_NONE, PSC_NONE, NULL};
    status = init_context(m, p, reterr);
    if (!status) {
        m->program = p;
        m->input_n = p->input_n;
        m->transfer_n = p->transfer_n;
        m->uid = m->s->current->uid;
    }
    return status;
}

static void leave_all(struct psc_arena_memory *m)
{
    m->leaving_n = 0;
    for (uint32_t k = 0; k < m->transfer_n; k++)
        if (m->copies[k].handle.state)
            psc_arena_memory_unstage(m, k);
    while (m->live_n) {
        psc_arena_memory_leave(m, m->live[m->live_n - 1]);
        psc_arena_house_look(m->house, false);
    }
    forget_held(m);
}

/* What nobody holds goes back; the next run begins. */
static void end_run(struct psc_arena_memory *m)
{
    struct psc_arena_house *h = m->house;
    struct psc_arena_story *story = h->settings.story;
    if (!m->ran)
        return;
    if (m->is_child) { /* its parent's run goes on */
        leave_all(m);
        m->ran = false;
        psc_arena_house_look(h, false);
        return;
    }
    psc_arena_house_step(m->house, "run %u is over: what nobody holds goes back", h->run + 1);
    if (story)
        story->why = psc_arena_story_add(story, PSC_EV_CLEAR, PSC_NONE, 0, UINT64_MAX, 0, 0, 0, PSC_NONE);
    leave_all(m);
    psc_context_clear(&m->context);
    m->ran = false;
    psc_arena_house_look(h, true);
    h->run++;
    if (story && story->run < UINT16_MAX)
        story->run++;
}

void psc_arena_memory_mapped(struct psc_arena_memory *m, const struct psc_program *old)
{
    if (m->program == old)
        m->program = NULL;
}

/* A new run: counters from here on. Those of a child are its parent's, too. */
static void begin_counting(struct psc_arena_memory *m)
{
    m->allocs_before = psc_arena_memory_allocs(m->house);
    m->copied = m->staged = 0;
    if (m->is_child)
        return;
    psc_depot_reset_peak(m->house->depot[0]);
    psc_depot_reset_peak(m->house->depot[1]);
}

enum psc_status psc_arena_memory_ready(struct psc_arena_memory *m, struct psc_error *reterr)
{
    bool other = m->uid != m->s->current->uid || m->program != m->s->current->program;
    bool begins = m->ran;
    enum psc_status status = psc_schedule_settle(m->s, reterr);
    if (status)
        return status;
    end_run(m);
    if (begins)
        begin_counting(m);
    if (other)
        status = take_graph(m, reterr);
    for (uint32_t k = 0; !status && other && k < m->program->stretch_n; k++) {
        const struct psc_backend_api *api = m->s->pools[m->program->stretches[k].pool].api;
        if (!api->takes_blocks)
            status = psc_fail(reterr, PSC_ERR_USAGE, "blocks of arenas are the host's memory, which %s does not reach: node %llu cannot "
                              "run there", api->name,
                              (unsigned long long)m->program->graph->nodes[m->program->stretches[k].split->first].id);
    }
    if (status)
        forget_graph(m);
    return status;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

static void end_input(struct psc_arena_memory *m, struct psc_arena_input *in)
{
    struct psc_arena_house *h = m->house;
    struct psc_arena_story *story = h->settings.story;
    if (in->borrowed && !in->lent) {
        if (story)
            psc_arena_story_add(story, PSC_EV_RELEASE, in->place.value, 0, in->place.buffer, 0, 0, in->bytes, PSC_NONE);
        psc_depot_end_borrow(h->depot[PSC_DEPOT_IO], in->memory, in->bytes);
        psc_arena_house_look(h, false);
    }
    if (in->borrowed)
        (void)psc_slot_tree_take(&m->callers, (uint32_t)(in - m->inputs), (uintptr_t)in->memory, in->bytes);
    if (story)
        story->value = in->place.value;
    psc_block_handle_reset(&in->handle, NULL);
    *in = (struct psc_arena_input){0};
    psc_arena_house_look(h, false);
}

static enum psc_status stage(struct psc_arena_memory *m, struct psc_arena_input *in, const char *name, psc_node node,
                             const void *words, struct psc_error *reterr)
{
    struct psc_arena_house *h = m->house;
    struct psc_arena_story *story = h->settings.story;
    const struct psc_home *home = &m->program->homes[node];
    const struct psc_pool *pool = &m->s->pools[home->pool];
    uint64_t bytes = m->program->graph->nodes[node].bytes;
    if (story)
        story->value = in->place.value = in->place.base = psc_arena_story_value(story, PSC_VALUE_FILL, name, PSC_DEPOT_IO, bytes, PSC_NONE, 0);
    enum psc_status status = psc_block_handle_alloc(h->depot[PSC_DEPOT_IO], bytes, PSC_OWNER_BINDING, &in->handle, reterr);
    if (status)
        return status;
    in->memory = in->handle.ticket.memory;
    in->bytes = bytes;
    in->place.generation = in->handle.ticket.generation;
    in->place.buffer = (uint32_t)psc_depot_slots(h->depot[PSC_DEPOT_IO])[in->handle.ticket.slot].buffer;
    psc_arena_house_look(h, false);
    status = pool->api->write(pool->backend, (psc_address)(uintptr_t)in->memory, words, bytes, reterr);
    m->staged += bytes;
    if (story)
        psc_arena_story_add(story, PSC_EV_WRITE, in->place.value, 0, in->place.buffer, in->place.generation, 0, bytes, PSC_NONE);
    return status;
}

static void borrow(struct psc_arena_memory *m, struct psc_arena_input *in, const char *name, psc_node node, const void *words)
{
    struct psc_arena_story *story = m->house->settings.story;
    in->memory = (unsigned char *)(uintptr_t)words;
    in->bytes = m->program->graph->nodes[node].bytes;
    in->borrowed = true;
    m->longest = in->bytes > m->longest ? in->bytes : m->longest;
    psc_slot_tree_put(&m->callers, (uint32_t)(in - m->inputs), (uintptr_t)in->memory, in->bytes);
    in->lent = m->lent;
    if (m->lent)
        in->place = *m->lent;
    m->lent = NULL;
    if (!story || in->lent)
        return;
    in->place.buffer = (uint32_t)psc_arena_story_caller(story, in->bytes);
    in->place.value = in->place.base =
        psc_arena_story_value(story, PSC_VALUE_CALLER, name, PSC_ARENA_CALLER, in->bytes, PSC_NONE, 0);
    psc_arena_story_add(story, PSC_EV_WRITE, in->place.value, 0, in->place.buffer, 0, 0, in->bytes, PSC_NONE);
}

enum psc_status psc_arena_memory_fill(struct psc_arena_memory *m, uint32_t input, const void *words, bool borrowed,
                                      struct psc_error *reterr)
{
    struct psc_arena_input *in = &m->inputs[input];
    psc_node node = m->program->inputs[input].node;
    enum psc_status status = PSC_OK;
    char name[128] = "";
    if (m->house->settings.story)
        psc_arena_memory_label(m, node, name, sizeof name);
    if (in->memory) {
        psc_arena_house_step(m->house, "input %.100s is given anew: what it had goes back", name);
        end_input(m, in);
    }
    psc_arena_house_step(m->house, "input %.100s: %s", name, borrowed ? "the caller's memory, in no arena" : "copied into the I/O arena");
    if (!m->program->graph->nodes[node].bytes)
        return PSC_OK;
    if (borrowed)
        borrow(m, in, name, node, words);
    else
        status = stage(m, in, name, node, words, reterr);
    psc_arena_house_look(m->house, false);
    return status;
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

void psc_arena_memory_enter(struct psc_arena_memory *m, psc_node root, uint32_t value)
{
    const struct psc_block_handle *h = &m->context.tensors[root].handle;
    struct psc_arena_value *v = &m->values[root];
    *v = (struct psc_arena_value){value, (uint32_t)psc_depot_slots(h->store)[h->ticket.slot].buffer, m->live_n, NULL};
    m->live[m->live_n++] = root;
}

void psc_arena_memory_unstage(struct psc_arena_memory *m, uint32_t transfer)
{
    struct psc_arena_copy *staged = &m->copies[transfer];
    if (m->house->settings.story)
        m->house->settings.story->value = staged->place.value;
    psc_block_handle_reset(&staged->handle, NULL);
    psc_arena_house_look(m->house, false);
}

/* Gives its block back, if it has one still. */
void psc_arena_memory_leave(struct psc_arena_memory *m, psc_node root)
{
    struct psc_arena_story *story = m->house->settings.story;
    struct psc_arena_value *v = &m->values[root];
    uint32_t last;
    if (v->live_at == PSC_NONE)
        return;
    last = m->live[--m->live_n];
    m->live[v->live_at] = last;
    m->values[last].live_at = v->live_at;
    v->live_at = PSC_NONE;
    if (story)
        story->value = v->value;
    if (m->context.tensors[root].memory)
        (void)!psc_context_drop(&m->context, root, NULL);
}

void psc_arena_memory_show(struct psc_arena_memory *m, psc_node view)
{
    struct psc_arena_story *story = m->house->settings.story;
    const struct psc_node_info *node = &m->program->graph->nodes[view];
    struct psc_arena_place root, own;
    char name[128];
    if (!story || !psc_arena_memory_of(m, node->root, &root) || !psc_arena_memory_of(m, view, &own))
        return;
    m->values[view].value = psc_arena_story_value(story, PSC_VALUE_NODE, psc_arena_memory_label(m, view, name, sizeof name),
                                                  m->context.declared[node->root] ? PSC_DEPOT_IO : PSC_DEPOT_EXEC, node->bytes,
                                                  root.base, own.offset);
    psc_arena_story_add(story, PSC_EV_VIEW, m->values[view].value, 0, root.buffer, root.generation, own.offset,
                        own.offset + node->bytes, PSC_NONE);
}
