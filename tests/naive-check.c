#include "tests/naive-check.h"

#include <glib.h>
#include <string.h>

/* ---- the lines ------------------------------------------------------------------------------------------- */

struct line {
    uint32_t victim, buffer, writer;
    uint64_t lo, hi;
    psc_node reader;
    char kind[8];
};
struct naive_lines {
    GArray *list;
};

struct naive_lines *naive_lines_new(void)
{
    struct naive_lines *lines = g_new0(struct naive_lines, 1);

    lines->list = g_array_new(FALSE, FALSE, sizeof(struct line));
    return lines;
}

void naive_lines_add(struct naive_lines *lines, uint32_t victim, uint32_t buffer, uint64_t lo, uint64_t hi,
                     uint32_t writer, const char *reader_kind, psc_node reader)
{
    struct line line = {.victim = victim, .buffer = buffer, .writer = writer, .lo = lo, .hi = hi, .reader = reader};

    g_strlcpy(line.kind, reader_kind, sizeof line.kind);
    for (guint i = 0; i < lines->list->len; i++) {
        struct line *old = &g_array_index(lines->list, struct line, i);
        if (old->victim != victim || old->writer != writer || old->reader != reader || strcmp(old->kind, line.kind))
            continue;
        if (old->buffer == buffer) {
            old->lo = MIN(old->lo, lo);
            old->hi = MAX(old->hi, hi);
        }
        return;
    }
    g_array_append_val(lines->list, line);
}

static gint compare(gconstpointer a, gconstpointer b)
{
    const struct line *x = a, *y = b;

    if (x->victim != y->victim)
        return x->victim < y->victim ? -1 : 1;
    if (x->writer != y->writer)
        return x->writer < y->writer ? -1 : 1;
    if (x->reader != y->reader)
        return x->reader < y->reader ? -1 : 1;
    return strcmp(x->kind, y->kind);
}

char *naive_lines_end(struct naive_lines *lines)
{
    GString *out = g_string_new(NULL);

    g_array_sort(lines->list, compare);
    for (guint i = 0; i < lines->list->len; i++) {
        const struct line *l = &g_array_index(lines->list, struct line, i);
        g_string_append_printf(out, "%u b%u[%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ") by ", l->victim, l->buffer,
                               l->lo, l->hi);
        if (l->writer == PSC_NONE)
            g_string_append(out, "nobody");
        else
            g_string_append_printf(out, "%u", l->writer);
        if (l->reader == PSC_NONE)
            g_string_append_printf(out, " read by %s\n", l->kind);
        else
            g_string_append_printf(out, " read by %u\n", l->reader);
    }
    g_array_free(lines->list, TRUE);
    g_free(lines);
    return g_string_free(out, FALSE);
}

/* ---- bytes -------------------------------------------------------------------------------------------------- */

struct byte {
    uint32_t writer; /* event, PSC_NONE when nobody wrote */
    uint32_t time;
    gboolean carried;    /* a copy of a wrong byte: */
    uint32_t victim, culprit;
};
struct naive {
    const struct psc_graph *g;
    const struct psc_story *s;
    struct byte **bytes; /* [buffer][byte] */
    uint32_t *last;      /* of each value: its last write event */
    uint32_t *first_read; /* of each value: first event that reads it, in the order of the replay */
    uint32_t *queued;    /* of each event: time of its enqueueing */
    gboolean *waited;
    uint32_t time;
    struct naive_lines *lines;
};

static uint32_t owner(const struct psc_story *s, uint32_t value)
{
    return s->values[value].is_view ? s->values[value].of : value;
}

static psc_node node_at(const struct psc_story *s, int32_t position)
{
    if (position < 0 || position >= (int32_t)s->position_n)
        return PSC_NONE;
    return s->order ? s->order[position] : (psc_node)position;
}

static void wrong(struct naive *n, uint32_t victim, uint32_t buffer, uint64_t byte, uint32_t writer, uint32_t read)
{
    const struct psc_event *e = &n->s->events[read];
    const char *kind = "node";
    psc_node reader = e->node;

    if (e->kind == PSC_EV_EXPORT)
        kind = "export";
    else if (e->kind == PSC_EV_ENQUEUE || e->kind == PSC_EV_WAIT)
        reader = reader == PSC_NONE ? node_at(n->s, e->position) : reader;
    else if (reader == PSC_NONE)
        kind = e->position == (int32_t)n->s->position_n ? "rerun" : "host";
    naive_lines_add(n->lines, victim, buffer, byte, byte + 1,
                    writer == PSC_NONE ? PSC_NONE : n->s->events[writer].value, kind, reader);
}

/* One byte that `read` takes for byte `index` of value `root`. TRUE when it is another one; *ret_culprit: who wrote it. */
static gboolean look_at(struct naive *n, uint32_t root, uint32_t version, uint64_t index, uint32_t buffer, uint64_t byte,
                    uint32_t read, uint32_t *ret_culprit)
{
    uint32_t w = n->bytes[buffer][byte].writer;
    gboolean region = n->s->values[root].kind == PSC_VALUE_REGION;

    if (w == PSC_NONE) {
        if (!region)
            wrong(n, root, buffer, byte, w, read);
        *ret_culprit = PSC_NONE;
        return !region;
    }
    const struct psc_event *e = &n->s->events[w];
    gboolean right = e->value == root && (region || (e->version == version && byte - e->lo == index));
    const struct byte *b = &n->bytes[buffer][byte];
    *ret_culprit = w;
    if (right && b->carried)
        wrong(n, b->victim, buffer, byte, b->culprit, read);
    if (!right)
        wrong(n, root, buffer, byte, w, read);
    else if (e->kind == PSC_EV_ENQUEUE && !n->waited[w] && n->s->executor == PSC_EXEC_SERIAL)
        wrong(n, root, buffer, byte, PSC_NONE, read);
    return !right;
}

static void read_event(struct naive *n, uint32_t i)
{
    const struct psc_event *e = &n->s->events[i];
    const struct psc_value *v = &n->s->values[e->value];
    uint32_t root = owner(n->s, e->value);

    if (n->first_read[root] == PSC_NONE)
        n->first_read[root] = i;
    uint32_t culprit;
    for (uint64_t byte = e->lo; byte < e->hi; byte++)
        look_at(n, root, e->version, byte - e->lo + (v->is_view ? v->offset : 0), e->buffer, byte, i, &culprit);
}

/* ---- an op over its own operands ----------------------------------------------------------------------------- */

gboolean naive_overwrites(enum psc_op op, unsigned operand)
{
    switch (op) {
    case PSC_OP_ADD:
    case PSC_OP_MUL:
    case PSC_OP_SWIGLU:
        return operand < 2;
    case PSC_OP_SCALE:
    case PSC_OP_SILU:
    case PSC_OP_ROPE:
    case PSC_OP_SOFTMAX:
    case PSC_OP_RMS_NORM:
    case PSC_OP_QK_NORM:
    case PSC_OP_QKV_BIAS_ROPE_STORE:
    case PSC_OP_FUSED_BIAS_ROPE:
        return operand == 0;
    default:
        return FALSE;
    }
}

gboolean naive_stays(const struct psc_graph *g, psc_node concat, unsigned operand, uint64_t from, uint64_t to)
{
    const struct psc_node_info *node = &g->nodes[concat];
    const psc_node *src = psc_node_srcs(g, concat);
    int axis = node->params->dim;
    uint64_t item = node->elements ? node->bytes / node->elements : 0, inner = item, before = 0;

    for (int d = 0; d < axis; d++)
        inner *= node->shape[d];
    for (unsigned k = 0; k < operand; k++)
        before += g->nodes[src[k]].shape[axis];
    uint64_t run = inner * g->nodes[src[operand]].shape[axis], row = inner * node->shape[axis];
    for (uint64_t byte = 0; byte < g->nodes[src[operand]].bytes && run; byte++) {
        if (from + byte != to + byte / run * row + before * inner + byte % run)
            return FALSE;
    }
    return TRUE;
}

/* All operands of a concat stay. Those without bytes may go unread. */
static gboolean all_stay(const struct naive *n, uint32_t i)
{
    const struct psc_event *w = &n->s->events[i];

    for (unsigned operand = 0; operand < n->g->nodes[w->node].src_n; operand++) {
        gboolean there = n->g->nodes[psc_node_srcs(n->g, w->node)[operand]].bytes == 0;
        for (uint32_t k = 0; k < i; k++) {
            const struct psc_event *e = &n->s->events[k];
            if (e->node == w->node && e->position == w->position && e->run == w->run && e->kind == PSC_EV_READ &&
                e->operand == operand)
                there = e->buffer == w->buffer && naive_stays(n->g, w->node, operand, e->lo, w->lo);
        }
        if (!there)
            return FALSE;
    }
    return TRUE;
}

static void own_operands(struct naive *n, uint32_t i)
{
    const struct psc_event *w = &n->s->events[i];
    gboolean joins = n->g->nodes[w->node].op == PSC_OP_CONCAT && all_stay(n, i);

    for (uint32_t k = 0; k < n->s->event_n; k++) {
        const struct psc_event *e = &n->s->events[k];
        if (k >= i || e->node != w->node || e->position != w->position || e->run != w->run ||
            (e->kind != PSC_EV_READ && e->kind != PSC_EV_ROWS_READ) || e->buffer != w->buffer)
            continue;
        uint32_t root = owner(n->s, e->value);
        enum psc_op op = n->g->nodes[w->node].op;
        gboolean exact = e->lo == w->lo && e->hi == w->hi;
        if (root == w->value || (exact && naive_overwrites(op, e->operand)))
            continue;
        if (joins)
            continue;
        for (uint64_t byte = e->lo; byte < e->hi; byte++) {
            if (byte >= w->lo && byte < w->hi)
                wrong(n, root, w->buffer, byte, i, k);
        }
    }
}

static void write_event(struct naive *n, uint32_t i)
{
    const struct psc_event *e = &n->s->events[i];

    if (e->node != PSC_NONE && (e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE))
        own_operands(n, i);
    n->time++;
    n->queued[i] = n->time;
    n->last[e->value] = i;
    for (uint64_t byte = e->lo; byte < e->hi; byte++) {
        n->bytes[e->buffer][byte] = (struct byte){i, n->time, FALSE, 0, 0};
        if (byte >= n->s->buffers[e->buffer].bytes)
            naive_lines_add(n->lines, e->value, e->buffer, byte, byte + 1, e->value, "node", PSC_NONE);
    }
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* Its bytes are written, and those that were wrong stay so. */
static void enqueue_event(struct naive *n, uint32_t i)
{
    const struct psc_event *q = &n->s->events[i];
    uint32_t *culprits = g_new(uint32_t, n->s->values[q->peer].bytes + 1);
    gboolean *bad = g_new0(gboolean, n->s->values[q->peer].bytes + 1);

    const struct psc_event *e = &n->s->events[i];
    const struct psc_value *v = &n->s->values[e->peer];
    uint32_t root = owner(n->s, e->peer), w = n->last[root];

    for (uint64_t k = 0; w != PSC_NONE && k < v->bytes; k++) {
        uint64_t index = k + (v->is_view ? v->offset : 0);
        bad[k] = look_at(n, root, n->s->events[w].version, index, n->s->events[w].buffer, n->s->events[w].lo + index, i, &culprits[k]);
    }
    write_event(n, i);
    for (uint64_t k = 0; k < v->bytes && k < e->hi - e->lo; k++)
        if (bad[k])
            n->bytes[e->buffer][e->lo + k] = (struct byte){i, n->time, TRUE, root, culprits[k]};
    g_free(culprits);
    g_free(bad);
}

static void wait_event(struct naive *n, uint32_t i)
{
    const struct psc_event *e = &n->s->events[i], *q = &n->s->events[e->peer];
    const struct psc_value *v = &n->s->values[q->peer];
    uint32_t root = owner(n->s, q->peer), w = n->last[root];

    if (n->waited[e->peer] || n->s->executor == PSC_EXEC_LEVEL)
        return;
    n->waited[e->peer] = TRUE;
    for (uint64_t byte = q->lo; byte < q->hi; byte++) {
        if (n->bytes[q->buffer][byte].time > n->queued[e->peer])
            wrong(n, q->value, q->buffer, byte, n->bytes[q->buffer][byte].writer, i);
    }
    for (uint64_t k = 0; w != PSC_NONE && k < v->bytes; k++) {
        uint64_t byte = n->s->events[w].lo + k + (v->is_view ? v->offset : 0);
        const struct byte *b = &n->bytes[n->s->events[w].buffer][byte];
        if (b->time > n->queued[e->peer])
            wrong(n, root, n->s->events[w].buffer, byte, b->writer, i);
    }
}

static void event(struct naive *n, uint32_t i)
{
    switch ((enum psc_event_kind)n->s->events[i].kind) {
    case PSC_EV_READ:
    case PSC_EV_ROWS_READ:
    case PSC_EV_EXPORT:
        read_event(n, i);
        break;
    case PSC_EV_ENQUEUE:
        enqueue_event(n, i);
        break;
    case PSC_EV_WAIT:
        wait_event(n, i);
        break;
    case PSC_EV_FILL:
    case PSC_EV_WRITE:
    case PSC_EV_ROWS_WRITE:
        write_event(n, i);
        break;
    default:
        break;
    }
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* 0 the fills, 2 level 0, 3 copies of what it made, 4 level 1, ... and last the host. */
static uint32_t level_of(const struct psc_story *s, const struct psc_event *e)
{
    if (e->kind == PSC_EV_ENQUEUE) {
        psc_node node = s->values[owner(s, e->peer)].node;
        for (uint32_t p = 0; p < s->position_n; p++) {
            if (node_at(s, (int32_t)p) == node)
                return 2 * s->level[p] + 3;
        }
        return 1;
    }
    if (e->position < 0)
        return 0;
    return e->position >= (int32_t)s->position_n ? UINT32_MAX : 2 * s->level[e->position] + 2;
}

static gboolean is_write(const struct psc_event *e)
{
    return e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE;
}

static gboolean is_rows(const struct psc_event *e)
{
    return e->kind == PSC_EV_ROWS_READ || e->kind == PSC_EV_ROWS_WRITE;
}

static gboolean touches(const struct psc_event *e)
{
    return e->node != PSC_NONE && (is_write(e) || e->kind == PSC_EV_READ || e->kind == PSC_EV_ROWS_READ);
}

static void race(struct naive *n, uint32_t i, uint32_t k)
{
    const struct psc_event *a = &n->s->events[i], *b = &n->s->events[k];
    uint32_t victim, writer, read;

    if (is_write(a) && is_write(b)) {
        uint32_t keep = n->first_read[a->value] == PSC_NONE && n->first_read[b->value] != PSC_NONE ? k : i;
        victim = n->s->events[keep].value;
        writer = keep == i ? k : i;
        read = n->first_read[victim];
    } else {
        writer = is_write(a) ? i : k;
        read = writer == i ? k : i;
        victim = owner(n->s, n->s->events[read].value);
    }
    if (victim == n->s->events[writer].value)
        return;
    for (uint64_t byte = MAX(a->lo, b->lo); byte < MIN(a->hi, b->hi); byte++) {
        if (read == PSC_NONE)
            naive_lines_add(n->lines, victim, a->buffer, byte, byte + 1, n->s->events[writer].value, "node", PSC_NONE);
        else
            wrong(n, victim, n->s->events[read].buffer, byte, writer, read);
    }
}

static void races(struct naive *n)
{
    const struct psc_story *s = n->s;

    for (uint32_t i = 0; i < s->event_n; i++) {
        for (uint32_t k = i + 1; k < s->event_n; k++) {
            const struct psc_event *a = &s->events[i], *b = &s->events[k];
            if (!touches(a) || !touches(b) || a->node == b->node || level_of(s, a) != level_of(s, b) ||
                a->buffer != b->buffer || (!is_write(a) && !is_write(b)) || (is_rows(a) && is_rows(b)))
                continue;
            race(n, i, k);
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

static void replay(struct naive *n)
{
    const struct psc_story *s = n->s;
    uint32_t most = 0;

    if (s->executor != PSC_EXEC_LEVEL) {
        for (uint32_t i = 0; i < s->event_n; i++)
            event(n, i);
        return;
    }
    for (uint32_t p = 0; p < s->position_n; p++)
        most = MAX(most, s->level[p]);
    for (uint32_t level = 0; level <= 2 * most + 4; level++) {
        for (uint32_t i = 0; i < s->event_n; i++) {
            if (level_of(s, &s->events[i]) == (level == 2 * most + 4 ? UINT32_MAX : level))
                event(n, i);
        }
    }
    races(n);
}

char *naive_check(const struct psc_graph *graph, const struct psc_story *s)
{
    struct naive n = {.g = graph, .s = s, .lines = naive_lines_new()};

    n.bytes = g_new0(struct byte *, s->buffer_n + 1);
    n.last = g_new(uint32_t, s->value_n + 1);
    n.first_read = g_new(uint32_t, s->value_n + 1);
    n.queued = g_new0(uint32_t, s->event_n + 1);
    n.waited = g_new0(gboolean, s->event_n + 1);
    memset(n.last, 0xff, (s->value_n + 1) * sizeof *n.last);
    memset(n.first_read, 0xff, (s->value_n + 1) * sizeof *n.first_read);
    for (uint32_t b = 0; b < s->buffer_n; b++) {
        uint64_t size = 0;
        for (uint32_t i = 0; i < s->event_n; i++) {
            if (s->events[i].buffer == b)
                size = MAX(size, s->events[i].hi);
        }
        n.bytes[b] = g_new(struct byte, size + 1);
        for (uint64_t byte = 0; byte < size; byte++)
            n.bytes[b][byte] = (struct byte){PSC_NONE, 0, FALSE, 0, 0};
    }
    replay(&n);
    for (uint32_t b = 0; b < s->buffer_n; b++)
        g_free(n.bytes[b]);
    g_free(n.bytes);
    g_free(n.last);
    g_free(n.first_read);
    g_free(n.queued);
    g_free(n.waited);
    return naive_lines_end(n.lines);
}
