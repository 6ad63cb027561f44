#include "core/run/arena-memory.h"

#include <stdio.h>

unsigned char *psc_arena_memory_of(const struct psc_arena_memory *m, psc_node node, struct psc_arena_place *ret)
{
    const struct psc_graph *g = m->program->graph;
    psc_node root = g->nodes[node].root;
    const struct psc_arena_input *in = m->program->input_of[root] == PSC_NONE ? NULL : &m->inputs[m->program->input_of[root]];
    const struct psc_tensor *t = &m->context.tensors[root];
    const struct psc_held *held = in ? NULL : m->values[root].held;
    unsigned char *memory = in ? in->memory : t->memory ? t->memory : held ? held->lease.ticket.memory : NULL;
    uint64_t offset = g->nodes[node].root_offset;
    *ret = in ? in->place
              : (struct psc_arena_place){m->values[root].value, m->values[root].value, m->values[root].buffer,
                                         t->handle.ticket.generation, 0};
    ret->offset += offset;
    if (offset) /* a window of its own */
        ret->value = m->values[node].value;
    return memory ? memory + offset : NULL;
}

psc_address psc_arena_memory_address(const struct psc_arena_memory *m, psc_node node, psc_address bound)
{
    struct psc_arena_place place;
    unsigned char *memory;
    if (psc_op_info(m->program->graph->nodes[m->program->graph->nodes[node].root].op)->is_kv)
        return bound;
    memory = psc_arena_memory_of(m, node, &place);
    return (psc_address)(uintptr_t)memory;
}

/* ---- by address ---------------------------------------------------------------------------------------------------- */

static bool find_block(const struct psc_arena_memory *m, enum psc_depot_kind kind, psc_address at, uint64_t bytes,
                       struct psc_located *ret)
{
    const struct psc_depot *depot = m->house->depot[kind];
    uint32_t slot = psc_depot_slot_with(depot, (const void *)(uintptr_t)at);
    if (slot == PSC_NONE)
        return false;
    const struct psc_depot_slot *s = &psc_depot_slots(depot)[slot];
    uint64_t lo = at - (uintptr_t)s->memory;
    *ret = (struct psc_located){(uint8_t)(m->s->api_n + kind), slot, s->generation, lo, lo + bytes, at, 0};
    return true;
}

static bool is_inside(const struct psc_arena_input *in, psc_address at, uint64_t bytes)
{
    uint64_t lo = at - (uintptr_t)in->memory;
    return at >= (uintptr_t)in->memory && lo < in->bytes && bytes <= in->bytes - lo;
}

/* Callers may lend the same bytes twice. Where an address is that of several inputs it is the value's own, if it can be. */
static bool find_borrowed(const struct psc_arena_memory *m, uint32_t value, psc_address at, uint64_t bytes, struct psc_located *ret)
{
    const struct psc_graph *g = m->program->graph;
    uint32_t own = value < g->n ? m->program->input_of[g->nodes[value].root] : PSC_NONE;
    uint32_t k = psc_slot_tree_at_most(&m->callers, at, UINT64_MAX);
    if (own != PSC_NONE && m->inputs[own].borrowed && is_inside(&m->inputs[own], at, bytes))
        k = own;
    while (k != PSC_TREE_NONE && !is_inside(&m->inputs[k], at, 1)) /* a short one may begin within a longer one */
        k = at - (uintptr_t)m->inputs[k].memory < m->longest
                ? psc_slot_tree_at_most(&m->callers, (uintptr_t)m->inputs[k].memory - 1, UINT64_MAX)
                : PSC_TREE_NONE;
    if (k == PSC_TREE_NONE)
        return false;
    uint64_t lo = at - (uintptr_t)m->inputs[k].memory;
    *ret = (struct psc_located){(uint8_t)(m->s->api_n + PSC_ARENA_PLACE_CALLER), k, 0, lo, lo + bytes, at, 0};
    return true;
}

bool psc_arena_memory_locate(const struct psc_arena_memory *m, uint32_t value, psc_address at, uint64_t bytes,
                             struct psc_located *ret)
{
    return at && (find_block(m, PSC_DEPOT_EXEC, at, bytes, ret) || find_block(m, PSC_DEPOT_IO, at, bytes, ret) ||
                  find_borrowed(m, value, at, bytes, ret));
}

const char *psc_arena_place_name(uint32_t place)
{
    return place == PSC_ARENA_PLACE_CALLER ? "caller" : psc_depot_kind_name((enum psc_depot_kind)place);
}

void psc_arena_memory_buffer(const struct psc_arena_memory *m, uint32_t place, uint32_t id, struct psc_pool_buffer *ret)
{
    bool is_caller = place == PSC_ARENA_PLACE_CALLER;
    const struct psc_depot_slot *slot = is_caller ? NULL : &psc_depot_slots(m->house->depot[place])[id];
    const unsigned char *memory = slot ? slot->memory : m->inputs[id].memory;
    *ret = (struct psc_pool_buffer){.id = id, .generation = slot ? slot->generation : 0, .at = (psc_address)(uintptr_t)memory,
                                    .bytes = slot ? slot->capacity : m->inputs[id].bytes,
                                    .role = slot ? PSC_ROLE_ARENA : PSC_ROLE_EXTERNAL};
    snprintf(ret->name, sizeof ret->name, "%s %s%u", psc_arena_place_name(place), slot ? "slot " : "", id);
}
