#include "core/run/arena-memory.h"

#include "core/base/mem.h"
#include "core/debug/arena-story.h"

#include <string.h>

/* ---- the session's side --------------------------------------------------------------------------------------------- */

void psc_session_arena_run(const struct psc_session *s, struct psc_arena_run_figures *ret)
{
    const struct psc_arena_memory *m = s->arena;
    *ret = (struct psc_arena_run_figures){.run = m->house->run, .copied = m->copied, .staged = m->staged,
                                          .system_allocs = psc_arena_memory_allocs(m->house) - m->allocs_before,
                                          .held = m->house->held_n};
    for (unsigned a = 0; a < 2; a++) {
        struct psc_depot_figures f = psc_depot_figures(m->house->depot[a]);
        ret->peak[a] = f.peak;
        ret->retained[a] = f.retained;
        ret->footprint += f.live_capacity + f.retained;
        ret->copied += f.copied;
    }
}

struct psc_depot_figures psc_session_depot(const struct psc_session *s, enum psc_depot_kind kind)
{
    return psc_depot_figures(s->arena->house->depot[kind == PSC_DEPOT_IO]);
}

void psc_session_arena_broken(const struct psc_session *s, struct psc_arena_broken *ret)
{
    *ret = s->arena->house->broken;
}

uint64_t psc_session_arena_trim(struct psc_session *s)
{
    struct psc_arena_memory *m = s->arena;
    uint64_t bytes = 0;
    psc_arena_house_step(m->house, "trim: free blocks of both arenas go");
    for (unsigned a = 0; a < 2; a++)
        bytes += psc_depot_trim(m->house->depot[a]);
    psc_arena_house_look(m->house, false);
    return bytes;
}

void psc_session_arena_quiet(struct psc_session *s)
{
    psc_arena_house_quiet(s->arena->house);
}

/* ---- holding ------------------------------------------------------------------------------------------------------- */

static void join(struct psc_held *held)
{
    held->prev = NULL;
    held->next = held->house->held;
    if (held->next)
        held->next->prev = held;
    held->house->held = held;
    held->house->refs++;
    held->house->held_n++;
}

/* An output that is an input, or looks at one: a block of its own, once. */
static enum psc_status detach(struct psc_arena_memory *m, psc_node output, struct psc_error *reterr)
{
    struct psc_arena_story *story = m->house->settings.story;
    const struct psc_node_info *node = &m->program->graph->nodes[output];
    struct psc_arena_place from;
    const unsigned char *source = psc_arena_memory_of(m, output, &from);
    uint32_t value = PSC_NONE;
    char name[128];
    if (!source)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s) has no bytes to hold", (unsigned long long)node->id, node->op_name);
    if (story)
        story->value = value = psc_arena_story_value(story, PSC_VALUE_NODE, psc_arena_memory_label(m, output, name, sizeof name), PSC_DEPOT_IO,
                                                     node->bytes, PSC_NONE, 0);
    enum psc_status status = psc_context_put(&m->context, output, source, node->bytes, reterr);
    if (status)
        return status;
    psc_arena_memory_enter(m, output, value);
    m->copied += node->bytes;
    if (story) {
        uint32_t read = psc_arena_story_add(story, PSC_EV_READ, from.value, 0, from.buffer, from.generation, from.offset,
                                            from.offset + node->bytes, PSC_NONE);
        psc_arena_story_add(story, PSC_EV_WRITE, value, 0, m->values[output].buffer, m->context.tensors[output].handle.ticket.generation, 0,
                            node->bytes, read);
    }
    return PSC_OK;
}

static enum psc_status lend(struct psc_arena_memory *m, psc_node block, struct psc_held *held, struct psc_error *reterr)
{
    struct psc_arena_story *story = m->house->settings.story;
    struct psc_block_handle handle = {0};
    const struct psc_tensor *t = &m->context.tensors[block];
    held->origin = t->memory;
    held->value = held->window = m->values[block].value;
    held->buffer = m->values[block].buffer;
    held->canary = held->seen = t->memory ? psc_arena_canary(t->memory, t->bytes) : 0;
    if (story) {
        story->value = held->value;
        story->version = 0;
    }
    enum psc_status status = psc_context_export(&m->context, block, &handle, reterr);
    if (status)
        return status;
    psc_arena_memory_leave(m, block);
    psc_lease_move(&held->lease, &handle.lease);
    held->m = m;
    held->block = block;
    m->values[block].held = held;
    return PSC_OK;
}

enum psc_status psc_session_hold(struct psc_session *s, psc_node output, struct psc_held **ret, struct psc_error *reterr)
{
    struct psc_arena_memory *m = s->arena;
    struct psc_held *held;
    char name[128];
    enum psc_status status = PSC_OK;
    if (!m || !m->program || !m->ran || m->program != s->current->program)
        return psc_fail(reterr, PSC_ERR_USAGE, m ? "there is no run whose outputs could be held" : "without arenas nothing is held");
    if (output >= m->program->graph->n || !m->program->graph->nodes[output].is_output)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %u is no output of the graph: only those outlive a run", output);
    psc_node root = m->program->graph->nodes[output].root, block = psc_arena_memory_owns(m->program, root) ? root : output;
    held = psc_alloc0(1, sizeof *held);
    if (!held)
        return psc_fail_nomem(reterr);
    *held = (struct psc_held){.house = m->house, .run = m->house->run, .bytes = m->program->graph->nodes[output].bytes,
                              .offset = block == root && root != output ? m->program->graph->nodes[output].root_offset : 0};
    if (m->house->settings.story)
        psc_arena_house_step(m->house, "hold %s of run %u", psc_arena_memory_label(m, output, name, sizeof name), held->run + 1);
    struct psc_held *other = m->values[block].held;
    if (other) { /* once more, or another output that shows the same block */
        if (m->house->settings.story)
            m->house->settings.story->value = other->value;
        status = psc_lease_share(&other->lease, &held->lease, reterr);
        held->origin = other->origin;
        held->canary = other->canary;
        held->seen = other->seen;
        held->value = held->window = other->value;
        held->buffer = other->buffer;
    }
    else if (block == output && !psc_arena_memory_owns(m->program, root))
        status = detach(m, output, reterr);
    if (!status && !other)
        status = lend(m, block, held, reterr);
    if (status) {
        psc_free(held);
        return status;
    }
    if (held->offset)
        held->window = m->values[output].value;
    join(held);
    psc_arena_house_look(m->house, false);
    *ret = held;
    return PSC_OK;
}

enum psc_status psc_held_share(struct psc_held *held, struct psc_held **ret, struct psc_error *reterr)
{
    struct psc_held *one = psc_alloc0(1, sizeof *one);
    enum psc_status status = one ? PSC_OK : psc_fail_nomem(reterr);
    if (!status)
        psc_arena_house_step(held->house, "one more holder of an output of run %u", held->run + 1);
    if (!status) {
        *one = *held;
        one->lease = (struct psc_lease){0};
        one->m = NULL;
        if (held->house->settings.story)
            held->house->settings.story->value = held->value;
        status = psc_lease_share(&held->lease, &one->lease, reterr);
    }
    if (status) {
        psc_free(one);
        return status;
    }
    join(one);
    psc_arena_house_look(held->house, false);
    *ret = one;
    return PSC_OK;
}

const void *psc_held_read(struct psc_held *held, uint64_t *ret_bytes)
{
    struct psc_arena_story *story = held->house->settings.story;
    if (story) {
        psc_arena_house_step(held->house, "read what is held of run %u", held->run + 1);
        psc_arena_story_add(story, PSC_EV_HOST_READ, held->window, 0, held->buffer, held->lease.ticket.generation, held->offset,
                            held->offset + held->bytes, PSC_NONE);
    }
    *ret_bytes = held->bytes;
    return held->lease.ticket.memory + held->offset;
}

/* Whoever else holds the same block stands for the value, which can be read as long as anybody does. */
static void pass_on(struct psc_held *held)
{
    struct psc_held *other = held->house->held;
    while (other && (other->buffer != held->buffer || other->run != held->run || other->value != held->value))
        other = other->next;
    held->m->values[held->block].held = other;
    if (other) {
        other->m = held->m;
        other->block = held->block;
    }
}

enum psc_status psc_held_drop(struct psc_held *held, struct psc_error *reterr)
{
    struct psc_arena_house *h;
    enum psc_status status = PSC_OK;
    if (!held)
        return PSC_OK;
    h = held->house;
    psc_arena_house_step(h, "drop what was held of run %u", held->run + 1);
    if (psc_depot_gone(held->lease.store))
        status = psc_fail(reterr, PSC_ERR_RUN, "an output of run %u, held since, has lost its arena, which is gone", held->run + 1);
    else if (psc_arena_canary(held->lease.ticket.memory, held->lease.ticket.bytes) != held->canary)
        status = psc_fail(reterr, PSC_ERR_RUN, "an output of run %u, held since, does not have the bytes any more that it had", held->run + 1);
    *(held->prev ? &held->prev->next : &h->held) = held->next;
    if (held->next)
        held->next->prev = held->prev;
    h->held_n--;
    if (held->m)
        pass_on(held);
    if (h->settings.story)
        h->settings.story->value = held->value;
    psc_lease_reset(&held->lease);
    psc_arena_house_look(h, false);
    psc_arena_house_unref(h);
    psc_free(held);
    return status;
}
