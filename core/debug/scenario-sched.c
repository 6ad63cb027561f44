#include "core/debug/scenario.h"

#include "core/debug/shadow.h"

#include <stdio.h>
#include <string.h>

#define EDGES_MAX (1u << 24)

struct player {
    const struct psc_sched_script *script;
    struct psc_arena scratch;
    struct psc_edge *edges; /* owned */
    size_t edge_n, edge_cap;
    uint32_t host;          /* queue, PSC_NONE when there is none */
    struct psc_story_builder *story;
    uint16_t *lane;         /* of each queue; the host's is 0 */
    bool *at_first;         /* of each buffer: bytes are looked at before a command has written them */
    bool rehearsal;         /* only find out at_first */
    uint32_t event_n;
    bool nomem, too_many;
};

static bool is(const struct psc_sched_command *c, const char *kind)
{
    return !strcmp(c->kind, kind);
}

/* ---- order ------------------------------------------------------------------------------------------- */

static void edge(struct player *p, uint32_t from, uint32_t to)
{
    if (p->edge_n >= EDGES_MAX)
        p->too_many = true;
    else if (!psc_grow(&p->edges, p->edge_n + 1, &p->edge_cap, sizeof *p->edges))
        p->nomem = true;
    else
        p->edges[p->edge_n++] = (struct psc_edge){from, to};
}

/* Of a queue: its latest command (serial) or barrier (concurrent), and the commands since that barrier: next[] chains
 * them, `open` is the latest. */
struct front { uint32_t last, open; };

/* What a later command of another queue must wait for, to be behind all of the host's commands so far. */
static void after_host(struct player *p, const struct front *host, const uint32_t *next, uint32_t to)
{
    if (!p->script->queues[p->host].concurrent || host->open == PSC_NONE) {
        if (host->last != PSC_NONE)
            edge(p, host->last, to);
        return;
    }
    for (uint32_t c = host->open; c != PSC_NONE && !p->too_many && !p->nomem; c = next[c])
        edge(p, c, to);
}

static void in_queue(struct player *p, struct front *f, uint32_t *next, uint32_t at)
{
    const struct psc_sched_command *c = &p->script->commands[at];
    bool serial = !p->script->queues[c->queue].concurrent;
    if (serial || is(c, "barrier")) {
        if (f->last != PSC_NONE && (serial || f->open == PSC_NONE))
            edge(p, f->last, at);
        for (uint32_t o = serial ? PSC_NONE : f->open; o != PSC_NONE; o = next[o])
            edge(p, o, at);
        f->last = at;
        f->open = PSC_NONE;
        return;
    }
    if (f->last != PSC_NONE)
        edge(p, f->last, at);
    next[at] = f->open;
    f->open = at;
}

static enum psc_status make_edges(struct player *p, struct psc_error *reterr)
{
    const struct psc_sched_script *s = p->script;
    struct front *front = psc_arena_alloc(&p->scratch, s->queue_n, sizeof *front);
    uint32_t *next = psc_arena_alloc(&p->scratch, s->command_n, sizeof *next);
    if (!front || !next)
        return psc_fail_nomem(reterr);
    memset(front, 0xff, s->queue_n * sizeof *front);
    p->host = PSC_NONE;
    for (uint32_t q = 0; q < s->queue_n; q++)
        if (!strcmp(s->queues[q].id, "host"))
            p->host = q;
    for (uint32_t at = 0; at < s->command_n && !p->nomem && !p->too_many; at++) {
        const struct psc_sched_command *c = &s->commands[at];
        if (p->host != PSC_NONE && c->queue != p->host)
            after_host(p, &front[p->host], next, at);
        in_queue(p, &front[c->queue], next, at);
        for (uint32_t k = 0; k < c->after_n; k++)
            edge(p, c->after[k], at);
    }
    if (p->too_many)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the commands are ordered by more than %u pairs", EDGES_MAX);
    return p->nomem ? psc_fail_nomem(reterr) : PSC_OK;
}

/* ---- the story --------------------------------------------------------------------------------------- */

/* What the bytes of a buffer hold in list order: pieces with one value each, ascending, from byte 0 to the end. */
struct piece {
    uint64_t lo, begin; /* first byte of the piece, and of the value of which it is left */
    uint32_t value;
};
struct holder {
    struct piece *list; /* owned */
    size_t n, cap;
};

static uint64_t end_of(const struct holder *h, size_t i)
{
    return i + 1 < h->n ? h->list[i + 1].lo : UINT64_MAX;
}

/* First piece that reaches beyond byte lo. */
static size_t find(const struct holder *h, uint64_t lo)
{
    size_t a = 0, b = h->n;
    while (b - a > 1) {
        size_t mid = a + (b - a) / 2;
        if (h->list[mid].lo <= lo)
            a = mid;
        else
            b = mid;
    }
    return a;
}

static void hold(struct player *p, struct holder *h, uint64_t lo, uint64_t hi, uint32_t value)
{
    size_t a = find(h, lo), b = find(h, hi - 1), tail_from = b + 1;
    struct piece tail = {hi, h->list[b].begin, h->list[b].value};
    bool has_tail = end_of(h, b) > hi, has_head = h->list[a].lo < lo;
    size_t keep = a + has_head, put = keep + 1 + has_tail, rest = h->n - tail_from;
    if (!psc_grow(&h->list, put + rest, &h->cap, sizeof *h->list)) {
        p->nomem = true;
        return;
    }
    memmove(h->list + put, h->list + tail_from, rest * sizeof *h->list);
    h->list[keep] = (struct piece){lo, lo, value};
    if (has_tail)
        h->list[keep + 1] = tail;
    h->n = put + rest;
}

static uint32_t add_value(struct player *p, const char *name, uint32_t buffer, uint64_t bytes)
{
    struct psc_value v = {.kind = PSC_VALUE_CALLER, .backend = PSC_BACKEND_NONE, .layer = -1, .node = PSC_NONE,
                          .of = PSC_NONE, .bytes = bytes, .name = name};
    const char *backend = p->script->buffers[buffer].backend;
    if (backend)
        v.backend = psc_story_add_backend(p->story, backend);
    return psc_story_add_value(p->story, &v);
}

/* Bytes from the middle of a value on are a view of it. */
static uint32_t part_of(struct player *p, const struct piece *piece, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    char name[96];
    struct psc_value v = {.kind = PSC_VALUE_CALLER, .backend = PSC_BACKEND_NONE, .layer = -1, .node = PSC_NONE,
                          .is_view = true, .of = piece->value, .offset = lo - piece->begin, .bytes = hi - lo,
                          .name = name};
    snprintf(name, sizeof name, "bytes %llu..%llu of %.40s", (unsigned long long)lo, (unsigned long long)hi,
             p->script->buffers[buffer].id);
    return lo == piece->begin ? piece->value : psc_story_add_value(p->story, &v);
}

/* An event for each piece of the bytes; kinds read and release. */
static void look(struct player *p, struct holder *h, enum psc_event_kind kind, uint32_t at,
                 const struct psc_sched_access *access)
{
    for (size_t i = find(h, access->lo); i < h->n && h->list[i].lo < access->hi && access->lo < access->hi; i++) {
        struct psc_event e = psc_event_blank(kind, (int32_t)at);
        if (++p->event_n > 2 * PSC_SCENARIO_EVENTS_MAX) { /* counted twice */
            p->too_many = true;
            return;
        }
        if (p->rehearsal) {
            p->at_first[access->buffer] |= h->list[i].value == PSC_NONE;
            continue;
        }
        e.buffer = access->buffer;
        e.lane = p->lane[p->script->commands[at].queue];
        e.lo = h->list[i].lo > access->lo ? h->list[i].lo : access->lo;
        e.hi = end_of(h, i) < access->hi ? end_of(h, i) : access->hi;
        e.value = kind == PSC_EV_READ ? part_of(p, &h->list[i], access->buffer, e.lo, e.hi) : h->list[i].value;
        psc_story_add_event(p->story, &e);
    }
}

static void write_bytes(struct player *p, struct holder *h, uint32_t at, uint32_t k)
{
    const struct psc_sched_command *c = &p->script->commands[at];
    const struct psc_sched_access *access = &c->writes[k];
    struct psc_event e = psc_event_blank(PSC_EV_WRITE, (int32_t)at);
    char name[96];
    if (access->lo >= access->hi)
        return;
    if (p->rehearsal) {
        hold(p, h, access->lo, access->hi, 0);
        return;
    }
    snprintf(name, sizeof name, c->write_n > 1 ? "%.60s in %.20s" : "%.60s", c->id, p->script->buffers[access->buffer].id);
    e.value = add_value(p, name, access->buffer, access->hi - access->lo);
    e.buffer = access->buffer;
    e.lane = p->lane[c->queue];
    e.lo = access->lo;
    e.hi = access->hi;
    psc_story_add_event(p->story, &e);
    hold(p, h, access->lo, access->hi, e.value);
}

static void empty_buffers(struct player *p, struct holder *holders)
{
    for (uint32_t b = 0; b < p->script->buffer_n; b++) {
        holders[b].n = 0;
        if (!psc_grow(&holders[b].list, 1, &holders[b].cap, sizeof *holders[b].list))
            p->nomem = true;
        else
            holders[b].list[holders[b].n++] = (struct piece){0, 0, PSC_NONE};
    }
}

/* Buffers that are looked at before they are written hold something at first. */
static void add_buffers(struct player *p, struct holder *holders)
{
    uint64_t base = 0;
    empty_buffers(p, holders);
    for (uint32_t b = 0; b < p->script->buffer_n && !p->nomem; b++) {
        const struct psc_sched_buffer *buffer = &p->script->buffers[b];
        struct psc_event e = psc_event_blank(PSC_EV_FILL, -1);
        char name[64];
        e.buffer = psc_story_add_buffer(p->story, &(struct psc_buffer){
            .id = b, .name = buffer->id, .role = PSC_ROLE_POOL, .bytes = buffer->bytes, .base = base,
            .backend = buffer->backend ? psc_story_add_backend(p->story, buffer->backend) : PSC_BACKEND_NONE});
        if (!psc_add_u64(base, buffer->bytes, &base))
            base = UINT64_MAX;
        if (!p->at_first[b])
            continue;
        snprintf(name, sizeof name, "%.40s at first", buffer->id);
        e.value = add_value(p, name, b, buffer->bytes);
        e.hi = buffer->bytes;
        psc_story_add_event(p->story, &e);
        holders[b].list[0].value = e.value;
    }
}

static void add_lanes(struct player *p)
{
    psc_story_add_lane(p->story, "host", PSC_BACKEND_NONE);
    for (uint32_t q = 0; q < p->script->queue_n; q++)
        p->lane[q] = q == p->host ? 0 : psc_story_add_lane(p->story, p->script->queues[q].id, PSC_BACKEND_NONE);
}

static void tell_command(struct player *p, struct holder *holders, uint32_t at)
{
    const struct psc_sched_command *c = &p->script->commands[at];
    for (uint32_t k = 0; k < c->read_n; k++)
        look(p, &holders[c->reads[k].buffer], PSC_EV_READ, at, &c->reads[k]);
    for (uint32_t k = 0; k < c->write_n && !p->nomem; k++)
        if (is(c, "free"))
            look(p, &holders[c->writes[k].buffer], PSC_EV_RELEASE, at, &c->writes[k]);
        else
            write_bytes(p, &holders[c->writes[k].buffer], at, k);
}

static const char **make_titles(struct player *p)
{
    const struct psc_sched_script *s = p->script;
    const char **titles = psc_arena_alloc(&p->scratch, s->command_n, sizeof *titles);
    for (uint32_t at = 0; titles && at < s->command_n; at++) {
        const struct psc_sched_command *c = &s->commands[at];
        char text[160];
        snprintf(text, sizeof text, *c->label ? "%.60s: %.80s" : "%.60s %.80s", c->id, *c->label ? c->label : c->kind);
        titles[at] = psc_arena_strdup(&p->scratch, text);
        if (!titles[at])
            return NULL;
    }
    return titles;
}

static enum psc_status tell(struct player *p, struct psc_arena *arena, struct psc_story **ret, struct psc_error *reterr)
{
    const struct psc_sched_script *s = p->script;
    struct holder *holders = psc_arena_alloc0(&p->scratch, s->buffer_n, sizeof *holders);
    const char **titles = make_titles(p);
    enum psc_status status = PSC_OK;
    p->story = psc_story_builder_new();
    p->lane = psc_arena_alloc(&p->scratch, s->queue_n, sizeof *p->lane);
    p->at_first = psc_arena_alloc0(&p->scratch, s->buffer_n, sizeof *p->at_first);
    if (!holders || !titles || !p->story || !p->lane || !p->at_first)
        return psc_fail_nomem(reterr);
    add_lanes(p);
    empty_buffers(p, holders);
    p->rehearsal = true;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t at = 0; at < s->command_n && !p->nomem && !p->too_many; at++)
            tell_command(p, holders, at);
        if (!pass)
            add_buffers(p, holders);
        p->rehearsal = false;
    }
    for (uint32_t b = 0; b < s->buffer_n; b++)
        psc_free(holders[b].list);
    if (p->nomem)
        return psc_fail_nomem(reterr);
    if (p->too_many)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the commands make more than %u events", PSC_SCENARIO_EVENTS_MAX);
    psc_story_set_order(p->story, s->command_n, NULL, NULL, PSC_EXEC_QUEUES, NULL, false);
    psc_story_set_edges(p->story, p->edges, (uint32_t)p->edge_n);
    psc_story_set_titles(p->story, titles);
    status = psc_story_builder_finish(p->story, arena, ret, reterr);
    return status;
}

/* ---- sentences --------------------------------------------------------------------------------------- */

static const char *verb(const struct psc_event *e)
{
    return psc_lanes_reads(e) ? "reads" : e->kind == PSC_EV_RELEASE ? "frees" : "writes";
}

static void say_races(const struct psc_story *story, const struct psc_races *races, const struct psc_sched_script *script,
                      struct psc_report *report)
{
    for (uint32_t i = 0; i < races->n; i++) {
        const struct psc_race *r = &races->list[i];
        const struct psc_sched_command *a = &script->commands[r->a], *b = &script->commands[r->b];
        psc_report_add(report, PSC_NOTE, 0, 0, UINT64_MAX, "race on %s, bytes %llu..%llu: %s (%s) %s them, %s (%s) %s them, and "
                       "neither waits for the other", script->buffers[r->buffer].id, (unsigned long long)r->lo,
                       (unsigned long long)r->hi, a->id, script->queues[a->queue].id, verb(&story->events[r->event_a]), b->id,
                       script->queues[b->queue].id, verb(&story->events[r->event_b]));
    }
    if (races->cut)
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "there are more races than the %u that are told", PSC_RACES_MAX);
}

enum psc_status psc_sched_play(struct psc_arena *arena, const struct psc_sched_script *script, struct psc_report *report,
                               struct psc_races *ret, struct psc_story **ret_story, struct psc_error *reterr)
{
    struct player p = {.script = script};
    struct psc_story *story = NULL;
    enum psc_status status = make_edges(&p, reterr);
    if (!status)
        status = tell(&p, arena, &story, reterr);
    if (!status)
        status = psc_lanes_races(arena, story, ret, reterr);
    if (!status) {
        say_races(story, ret, script, report);
        *ret_story = story;
        status = report->failed ? psc_fail_nomem(reterr) : PSC_OK;
    }
    psc_free(p.edges);
    psc_story_builder_free(p.story);
    psc_arena_release(&p.scratch);
    return status;
}
