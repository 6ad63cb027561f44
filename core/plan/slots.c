#include "core/plan/slots.h"

#include "core/base/mem.h"

#include <string.h>

bool psc_slots_init(struct psc_slots_table *table, enum psc_slots policy, uint64_t seed, uint32_t backend_n)
{
    *table = (struct psc_slots_table){.policy = policy, .random = seed, .backend_n = backend_n};
    memset(table->recent, 0xff, sizeof table->recent); /* no buffer is that large */
    table->by_size = psc_alloc0(backend_n, sizeof *table->by_size);
    table->idle = psc_alloc0(backend_n, sizeof *table->idle);
    return table->by_size && table->idle;
}

void psc_slots_release(struct psc_slots_table *table)
{
    for (uint32_t i = 0; table->by_size && i < table->backend_n; i++)
        psc_map_release(&table->by_size[i]);
    for (size_t i = 0; i < table->list_n; i++)
        psc_free(table->lists[i].items);
    psc_free(table->by_size);
    psc_free(table->idle);
    psc_free(table->lists);
    *table = (struct psc_slots_table){0};
}

static uint32_t find_list(struct psc_slots_table *table, uint32_t backend, uint64_t bytes)
{
    uint32_t list;
    if (psc_map_get(&table->by_size[backend], bytes, &list))
        return list;
    if (!psc_grow(&table->lists, table->list_n + 1, &table->list_cap, sizeof *table->lists))
        return PSC_NONE;
    list = (uint32_t)table->list_n;
    if (!psc_map_put(&table->by_size[backend], bytes, list, &(uint32_t){0}))
        return PSC_NONE;
    table->lists[table->list_n++] = (struct psc_slot_list){0};
    return list;
}

uint32_t psc_slots_list(struct psc_slots_table *table, uint32_t backend, uint64_t bytes)
{
    uint32_t at = (uint32_t)((bytes ^ bytes >> 10 ^ backend) % 64);
    if (table->recent[at].bytes == bytes && table->recent[at].backend == backend)
        return table->recent[at].list;
    uint32_t list = find_list(table, backend, bytes);
    if (list != PSC_NONE) {
        table->recent[at].bytes = bytes;
        table->recent[at].backend = backend;
        table->recent[at].list = list;
    }
    return list;
}

/* ---- lowest: a binary heap of ids ---------------------------------------------------------------- */

static void heap_push(uint32_t *heap, uint32_t n, uint32_t id)
{
    uint32_t i = n;
    while (i && heap[(i - 1) / 2] > id) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = id;
}

/* Removes the smallest of n ids. */
static uint32_t heap_pop(uint32_t *heap, uint32_t n)
{
    uint32_t least = heap[0], id = heap[n - 1], i = 0;
    n--;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (child >= n || heap[child] >= id)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = id;
    return least;
}

uint32_t psc_slots_take(struct psc_slots_table *table, uint32_t backend, uint32_t list_index)
{
    struct psc_slot_list *list = &table->lists[list_index];
    uint32_t buffer = PSC_NONE, at;
    if (!list->n)
        return PSC_NONE;
    switch (table->policy) {
    case PSC_SLOTS_FIFO:
        buffer = list->items[list->head];
        list->head = list->head + 1 == list->cap ? 0 : list->head + 1;
        break;
    case PSC_SLOTS_LIFO: buffer = list->items[list->n - 1]; break;
    case PSC_SLOTS_RANDOM:
        at = (uint32_t)(psc_random_next(&table->random) % list->n);
        buffer = list->items[at];
        list->items[at] = list->items[list->n - 1];
        break;
    case PSC_SLOTS_LOWEST:
    case PSC_SLOTS_N: buffer = heap_pop(list->items, list->n); break;
    }
    list->n--;
    table->idle[backend]--;
    return buffer;
}

/* Makes room for one more; a ring that wraps is unrolled into the new space. */
static bool grow(struct psc_slot_list *list)
{
    size_t old = list->cap;
    if (list->n < list->cap)
        return true;
    if (!psc_grow(&list->items, list->n + 1, &list->cap, sizeof *list->items))
        return false;
    if (list->head) {
        size_t tail = old - list->head;
        memmove(list->items + list->cap - tail, list->items + list->head, tail * sizeof *list->items);
        list->head = (uint32_t)(list->cap - tail);
    }
    return true;
}

bool psc_slots_give(struct psc_slots_table *table, uint32_t backend, uint32_t list_index, uint32_t buffer)
{
    struct psc_slot_list *list = &table->lists[list_index];
    if (!grow(list))
        return false;
    if (table->policy == PSC_SLOTS_FIFO)
        list->items[(list->head + list->n) % list->cap] = buffer;
    else if (table->policy == PSC_SLOTS_LOWEST)
        heap_push(list->items, list->n, buffer);
    else
        list->items[list->n] = buffer;
    list->n++;
    table->idle[backend]++;
    return true;
}
