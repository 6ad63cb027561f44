#include "traces/scenario-parts.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX (1u << 20)

struct reader {
    struct psc_part *p;
    struct psc_sched_script s;
    struct psc_names queues, buffers, commands;
};

static void read_queues(struct reader *r, struct psc_slice text)
{
    struct psc_part *p = r->p;
    struct psc_slice v;
    char where[32];
    struct psc_cursor c = psc_part_list(p, text, "", "queues", false, UINT16_MAX - 1, &r->s.queue_n);
    struct psc_sched_queue *queues = psc_part_alloc(p, r->s.queue_n, sizeof *queues);
    if (!psc_names_init(p, &r->queues, r->s.queue_n))
        return;
    for (uint32_t i = 0; !psc_part_failed(p) && i < r->s.queue_n && psc_cursor_element(&c, &v); i++) {
        snprintf(where, sizeof where, "queues[%u]", i);
        queues[i].id = psc_part_string(p, v, where, "id");
        const char *order = psc_part_string_or(p, v, where, "order", "serial");
        queues[i].concurrent = !strcmp(order, "concurrent");
        if (!queues[i].concurrent && strcmp(order, "serial"))
            psc_part_fail(p, PSC_ERR_PARSE, "%s.order is \"%.40s\", it must be serial or concurrent", where, order);
        if (!psc_part_failed(p) && !psc_names_add(p, &r->queues, queues[i].id))
            psc_part_fail(p, PSC_ERR_PARSE, "%s: there is a queue \"%.60s\" already", where, queues[i].id);
    }
    r->s.queues = queues;
}

static void read_buffers(struct reader *r, struct psc_slice text)
{
    struct psc_part *p = r->p;
    struct psc_slice v;
    char where[32];
    struct psc_cursor c = psc_part_list(p, text, "", "buffers", false, LIST_MAX, &r->s.buffer_n);
    struct psc_sched_buffer *buffers = psc_part_alloc(p, r->s.buffer_n, sizeof *buffers);
    if (!psc_names_init(p, &r->buffers, r->s.buffer_n))
        return;
    for (uint32_t i = 0; !psc_part_failed(p) && i < r->s.buffer_n && psc_cursor_element(&c, &v); i++) {
        snprintf(where, sizeof where, "buffers[%u]", i);
        buffers[i].id = psc_part_string(p, v, where, "id");
        buffers[i].backend = psc_part_string_or(p, v, where, "backend", NULL);
        buffers[i].bytes = psc_part_bytes(p, v, where, "bytes");
        if (!psc_part_failed(p) && !psc_names_add(p, &r->buffers, buffers[i].id))
            psc_part_fail(p, PSC_ERR_PARSE, "%s: there is a buffer \"%.60s\" already", where, buffers[i].id);
    }
    r->s.buffers = buffers;
}

/* [buffer, first byte, bytes] */
static void read_access(struct reader *r, struct psc_slice v, const char *where, struct psc_sched_access *ret)
{
    struct psc_part *p = r->p;
    struct psc_cursor c = psc_cursor_open(v);
    struct psc_slice name = {0}, lo = {0}, n = {0};
    bool nomem = false;
    uint64_t bytes = 0;
    if (!psc_slice_is_array(v) || !psc_cursor_element(&c, &name) || !psc_slice_is_string(name) ||
        !psc_cursor_element(&c, &lo) || !psc_slice_u64(lo, &ret->lo) || !psc_cursor_element(&c, &n) ||
        !psc_slice_u64(n, &bytes) || ret->lo >= PSC_BYTES_MAX || bytes >= PSC_BYTES_MAX) {
        psc_part_wrong(p, v, "[buffer, first byte, bytes]", "%s", where);
        return;
    }
    const char *id = psc_slice_string(p->arena, name, &nomem);
    if (!id) {
        psc_part_nomem(p);
        return;
    }
    ret->buffer = psc_names_find(&r->buffers, id);
    ret->hi = ret->lo + bytes;
    if (ret->buffer == PSC_NONE)
        psc_part_fail(p, PSC_ERR_PARSE, "%s names the buffer \"%.60s\", which is none of the file's", where, id);
}

static const struct psc_sched_access *read_accesses(struct reader *r, struct psc_slice command, const char *where,
                                                    const char *key, uint32_t max, uint32_t *ret_n)
{
    struct psc_slice v;
    char place[64];
    struct psc_cursor c = psc_part_list(r->p, command, where, key, true, max, ret_n);
    struct psc_sched_access *list = psc_part_alloc(r->p, *ret_n, sizeof *list);
    for (uint32_t i = 0; !psc_part_failed(r->p) && i < *ret_n && psc_cursor_element(&c, &v); i++) {
        snprintf(place, sizeof place, "%s.%s[%u]", where, key, i);
        read_access(r, v, place, &list[i]);
    }
    return list;
}

static void read_command(struct reader *r, struct psc_slice v, uint32_t at, struct psc_sched_command *ret)
{
    struct psc_part *p = r->p;
    char where[32];
    snprintf(where, sizeof where, "commands[%u]", at);
    ret->id = psc_part_string(p, v, where, "id");
    ret->kind = psc_part_string_or(p, v, where, "kind", "kernel");
    ret->label = psc_part_string_or(p, v, where, "label", "");
    const char *queue = psc_part_string(p, v, where, "queue");
    if (psc_part_failed(p))
        return;
    ret->queue = psc_names_find(&r->queues, queue);
    if (ret->queue == PSC_NONE)
        psc_part_fail(p, PSC_ERR_PARSE, "%s.queue is \"%.60s\", which is none of the file's", where, queue);
    ret->reads = read_accesses(r, v, where, "reads", LIST_MAX, &ret->read_n);
    ret->writes = read_accesses(r, v, where, "writes", PSC_WRITES_MAX, &ret->write_n);
    if (!psc_part_failed(p) && !psc_names_add(p, &r->commands, ret->id))
        psc_part_fail(p, PSC_ERR_PARSE, "%s: there is a command \"%.60s\" already", where, ret->id);
}

/* Commands may wait for any other, also one that is listed later. */
static void read_after(struct reader *r, struct psc_slice v, uint32_t at, struct psc_sched_command *ret)
{
    struct psc_part *p = r->p;
    struct psc_slice element;
    bool nomem = false;
    char where[32];
    snprintf(where, sizeof where, "commands[%u]", at);
    struct psc_cursor c = psc_part_list(p, v, where, "after", true, LIST_MAX, &ret->after_n);
    uint32_t *after = psc_part_alloc(p, ret->after_n, sizeof *after);
    for (uint32_t i = 0; !psc_part_failed(p) && i < ret->after_n && psc_cursor_element(&c, &element); i++) {
        const char *id = psc_slice_string(p->arena, element, &nomem);
        after[i] = id ? psc_names_find(&r->commands, id) : PSC_NONE;
        if (nomem)
            psc_part_nomem(p);
        else if (after[i] == PSC_NONE)
            psc_part_fail(p, PSC_ERR_PARSE, "%s.after names %s%.60s%s, which is no command", where, id ? "\"" : "",
                          id ? id : psc_slice_kind(element), id ? "\"" : "");
    }
    ret->after = after;
}

void psc_sched_script_read(struct psc_part *p, struct psc_slice text, struct psc_sched_script *ret)
{
    struct reader r = {.p = p};
    struct psc_slice v;
    read_queues(&r, text);
    if (!psc_part_failed(p))
        read_buffers(&r, text);
    struct psc_cursor c = psc_part_list(p, text, "", "commands", false, LIST_MAX, &r.s.command_n), again = c;
    struct psc_sched_command *commands = psc_part_alloc(p, r.s.command_n, sizeof *commands);
    if (!psc_part_failed(p))
        psc_names_init(p, &r.commands, r.s.command_n);
    for (uint32_t i = 0; !psc_part_failed(p) && i < r.s.command_n && psc_cursor_element(&c, &v); i++)
        read_command(&r, v, i, &commands[i]);
    for (uint32_t i = 0; !psc_part_failed(p) && i < r.s.command_n && psc_cursor_element(&again, &v); i++)
        read_after(&r, v, i, &commands[i]);
    r.s.commands = commands;
    *ret = r.s;
    psc_names_release(&r.queues);
    psc_names_release(&r.buffers);
    psc_names_release(&r.commands);
}
