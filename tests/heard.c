#include "tests/heard.h"

#include <glib.h>
#include <string.h>

/* ---- listening ---------------------------------------------------------------------------------------------------------- */

static enum psc_status begin_cb(void *ctx, struct psc_session *session, uint32_t step, struct psc_error *reterr)
{
    struct run_heard *h = ctx;
    (void)step;
    (void)reterr;
    h->session = session;
    h->begun++;
    if (h->values && !h->value)
        h->value = g_new0(uint32_t *, psc_session_graph(session)->n + 1);
    return PSC_OK;
}

static void event_cb(void *ctx, const struct psc_event *event, const struct psc_located *at)
{
    struct run_heard *h = ctx;
    if (h->event_n == h->event_cap) {
        h->event_cap = h->event_cap ? 2 * h->event_cap : 64;
        h->events = g_renew(struct psc_event, h->events, h->event_cap);
        h->places = g_renew(struct psc_located, h->places, h->event_cap);
    }
    h->events[h->event_n] = *event;
    h->places[h->event_n++] = *at;
}

static void rows_cb(void *ctx, const struct psc_kv_access *access)
{
    struct run_heard *h = ctx;
    if (h->row_n == h->row_cap) {
        h->row_cap = h->row_cap ? 2 * h->row_cap : 16;
        h->rows = g_renew(struct psc_kv_access, h->rows, h->row_cap);
    }
    h->rows[h->row_n++] = *access;
}

static enum psc_status after_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *b,
                                const struct psc_call *call, struct psc_error *reterr)
{
    struct run_heard *h = ctx;
    struct psc_probe probe = {PSC_PROBE_COPY, call->out.at, call->out.bytes, call->out.dtype, NULL};
    if (psc_op_info(call->op)->is_kv || !call->out.bytes)
        return PSC_OK;
    if (!h->value[call->node])
        h->value[call->node] = g_malloc0(call->out.bytes);
    probe.ret = h->value[call->node];
    return api->probe(b, &probe, reterr);
}

static enum psc_status split_end_cb(void *ctx, const struct psc_split *split, struct psc_error *reterr)
{
    (void)split;
    (void)reterr;
    ((struct run_heard *)ctx)->split_ends++;
    return PSC_OK;
}

static enum psc_status end_cb(void *ctx, enum psc_status status, struct psc_error *reterr)
{
    struct run_heard *h = ctx;
    (void)reterr;
    h->ended++;
    h->status = status;
    return PSC_OK;
}

void run_listen(struct run_heard *heard, bool values)
{
    *heard = (struct run_heard){.values = values};
    heard->sink = (struct psc_sink){.ctx = heard, .begin = begin_cb, .event = event_cb, .rows = rows_cb, .end = end_cb};
    if (values) {
        heard->sink.after = after_cb;
        heard->sink.split_end = split_end_cb;
    }
}

void run_heard_clear(struct run_heard *heard)
{
    heard->event_n = heard->row_n = heard->split_ends = 0;
}

void run_heard_release(struct run_heard *heard)
{
    uint32_t n = heard->value ? psc_session_graph(heard->session)->n : 0;
    for (uint32_t i = 0; i < n; i++)
        g_free(heard->value[i]);
    g_free(heard->value);
    g_free(heard->events);
    g_free(heard->places);
    g_free(heard->rows);
    *heard = (struct run_heard){0};
}

uint32_t run_same_values(const struct psc_graph *g, const struct run_heard *a, const struct run_heard *b, uint64_t seed)
{
    uint32_t n = 0;
    for (psc_node i = 0; i < g->n; i++) {
        g_assert_cmpint(a->value[i] == NULL, ==, b->value[i] == NULL);
        if (!a->value[i])
            continue;
        if (memcmp(a->value[i], b->value[i], g->nodes[i].bytes))
            g_error("seed %" G_GUINT64_FORMAT ": node %u differs", seed, i);
        n++;
    }
    return n;
}

/* ---- stories ------------------------------------------------------------------------------------------------------------ */

/* Buffer of the recorded story for each pool buffer: pools stacked one behind the other. */
static uint32_t story_buffer(const struct run_heard *heard, const struct psc_located *at, uint32_t nowhere)
{
    uint32_t before = 0;
    if (at->buffer == PSC_NONE)
        return nowhere;
    for (uint32_t b = 0; b < at->backend; b++)
        before += psc_session_buffer_n(heard->session, b);
    return before + at->buffer;
}

static struct psc_story *lowered(const struct run_heard *heard, struct psc_arena *arena)
{
    struct psc_story *story = NULL;
    struct psc_error error = {0};
    if (psc_plan_lower(arena, psc_session_graph(heard->session), psc_session_plan(heard->session), &story, &error))
        g_error("%s", error.text);
    return story;
}

struct psc_story *run_story(const struct run_heard *heard, struct psc_arena *arena)
{
    struct psc_story *plan = lowered(heard, arena), *story = psc_arena_alloc0(arena, 1, sizeof *story);
    uint32_t n = 1;
    for (uint32_t b = 0; b < psc_session_backend_n(heard->session); b++)
        n += psc_session_buffer_n(heard->session, b);
    struct psc_buffer *buffers = psc_arena_alloc0(arena, n, sizeof *buffers);
    struct psc_event *events = psc_arena_alloc0(arena, heard->event_n, sizeof *events);
    uint32_t at = 0;
    for (uint32_t b = 0; b < psc_session_backend_n(heard->session); b++)
        for (uint32_t id = 0; id < psc_session_buffer_n(heard->session, b); id++) {
            struct psc_pool_buffer real;
            const struct psc_backend_api *api;
            psc_session_backend(heard->session, b, &api);
            psc_session_buffer(heard->session, b, id, &real);
            buffers[at] = (struct psc_buffer){.id = id, .name = psc_arena_strdup(arena, real.name), .role = real.role, .bytes = real.bytes,
                                              .backend = PSC_BACKEND_NONE};
            for (uint8_t k = 0; k < plan->backend_n; k++)
                if (!strcmp(plan->backends[k], api->file_name))
                    buffers[at].backend = k;
            at++;
        }
    buffers[at] = (struct psc_buffer){.id = UINT64_MAX, .name = "nowhere", .backend = PSC_BACKEND_NONE, .role = PSC_ROLE_EXTERNAL};
    for (uint32_t e = 0; e < heard->event_n; e++) {
        events[e] = heard->events[e];
        events[e].buffer = events[e].kind == PSC_EV_WAIT ? PSC_NONE : story_buffer(heard, &heard->places[e], n - 1);
    }
    *story = *plan;
    story->buffers = buffers;
    story->buffer_n = n;
    story->events = events;
    story->event_n = heard->event_n;
    story->predicted = false;
    return story;
}

static const char *differs(const struct psc_event *a, const struct psc_event *b)
{
    if (a->kind != b->kind) return "kind";
    if (a->position != b->position) return "position";
    if (a->value != b->value) return "value";
    if (a->node != b->node) return "node";
    if (a->lo != b->lo || a->hi != b->hi) return "bytes";
    if (a->version != b->version) return "version";
    if (a->peer != b->peer) return "peer";
    if (a->lane != b->lane) return "lane";
    if (a->operand != b->operand) return "operand";
    if (a->run != b->run || a->phase != b->phase) return "run";
    return NULL;
}

char *run_compare(const struct run_heard *heard)
{
    struct psc_arena arena = {0};
    struct psc_story *plan = lowered(heard, &arena), *real = run_story(heard, &arena);
    char *out = NULL;
    for (uint32_t e = 0; !out && e < plan->event_n && e < real->event_n; e++) {
        const struct psc_event *a = &plan->events[e], *b = &real->events[e];
        const char *what = differs(a, b);
        if (!what && a->buffer != PSC_NONE && (b->buffer == PSC_NONE || strcmp(plan->buffers[a->buffer].name, real->buffers[b->buffer].name) ||
                                               plan->buffers[a->buffer].backend != real->buffers[b->buffer].backend))
            what = "buffer";
        if (what)
            out = g_strdup_printf("event %u: planned %s of value %u at %d, bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                                  ", recorded %s of value %u at %d, bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ": %s",
                                  e, psc_event_name((enum psc_event_kind)a->kind), a->value, a->position, a->lo, a->hi,
                                  psc_event_name((enum psc_event_kind)b->kind), b->value, b->position, b->lo, b->hi, what);
    }
    if (!out && plan->event_n != real->event_n)
        out = g_strdup_printf("%u events planned, %u recorded", plan->event_n, real->event_n);
    psc_arena_release(&arena);
    return out;
}
