#include "core/debug/scenario.h"

#include "core/base/hash.h"

#include <stdio.h>
#include <string.h>

/* ---- the question ------------------------------------------------------------------------------------ */

static bool same_shape(const uint64_t *a, uint32_t a_n, const uint64_t *b, uint32_t b_n)
{
    return a_n == b_n && (!a_n || !memcmp(a, b, a_n * sizeof *a));
}

/* The first field of two operands that differs, or NULL. */
static const char *other_field(const struct psc_capture_operand *a, const struct psc_capture_operand *b)
{
    if (strcmp(a->buffer, b->buffer))
        return "buf";
    if (a->offset != b->offset)
        return "offset";
    if (!same_shape(a->shape, a->shape_n, b->shape, b->shape_n))
        return "shape";
    return a->generation != b->generation ? "gen" : NULL;
}

/* "src0.offset", or "" when the nodes have the same arguments. buf holds 32 bytes. */
static const char *difference(const struct psc_capture_node *a, const struct psc_capture_node *b, char *buf, size_t size)
{
    uint32_t src_n = a->src_n < b->src_n ? a->src_n : b->src_n;
    const char *field;
    if (strcmp(a->op, b->op))
        return "op";
    if (!same_shape(a->shape, a->shape_n, b->shape, b->shape_n))
        return "shape";
    if (strcmp(a->params, b->params))
        return "params";
    for (uint32_t k = 0; k < src_n; k++)
        if ((field = other_field(&a->src[k], &b->src[k]))) {
            snprintf(buf, size, "src%u.%s", k, field);
            return buf;
        }
    if (a->src_n != b->src_n) {
        snprintf(buf, size, "src%u.buf", src_n);
        return buf;
    }
    if (a->indirect_dst || !(field = other_field(&a->dst, &b->dst)))
        return "";
    snprintf(buf, size, "dst.%s", field);
    return buf;
}

/* Nodes of a list by their id. */
static enum psc_status index_nodes(struct psc_map *map, const struct psc_capture_list *list, struct psc_error *reterr)
{
    uint32_t old;
    for (uint32_t i = 0; i < list->n; i++)
        if (!psc_map_put(map, list->nodes[i].id, i, &old))
            return psc_fail_nomem(reterr);
    return PSC_OK;
}

static const struct psc_capture_node *find(const struct psc_capture_list *list, const struct psc_map *map, uint64_t id)
{
    uint32_t at;
    return psc_map_get(map, id, &at) ? &list->nodes[at] : NULL;
}

/* What an operand's field says, for the sentence. */
static void say_field(struct psc_text *out, const struct psc_capture_node *node, const char *field)
{
    unsigned k = 0;
    const char *dot = strchr(field, '.');
    const struct psc_capture_operand *o = &node->dst;
    if (!dot) {
        if (!strcmp(field, "op"))
            psc_text_add(out, node->op);
        else if (!strcmp(field, "params"))
            psc_text_add(out, node->params);
        for (uint32_t i = 0; !strcmp(field, "shape") && i < node->shape_n; i++)
            psc_text_addf(out, "%s%llu", i ? " x " : "", (unsigned long long)node->shape[i]);
        return;
    }
    if (sscanf(field, "src%u", &k) == 1) {
        if (k >= node->src_n) {
            psc_text_add(out, "nothing");
            return;
        }
        o = &node->src[k];
    }
    if (!strcmp(dot, ".buf"))
        psc_text_add(out, o->buffer);
    else if (!strcmp(dot, ".offset"))
        psc_text_addf(out, "%llu", (unsigned long long)o->offset);
    else if (!strcmp(dot, ".gen"))
        psc_text_addf(out, "%llu", (unsigned long long)o->generation);
    for (uint32_t i = 0; !strcmp(dot, ".shape") && i < o->shape_n; i++)
        psc_text_addf(out, "%s%llu", i ? " x " : "", (unsigned long long)o->shape[i]);
}

static void say_difference(struct psc_report *report, uint32_t replay, const struct psc_capture_node *was,
                           const struct psc_capture_node *is, const char *field)
{
    struct psc_text text = {0};
    if (was && is) {
        psc_text_addf(&text, "%s was ", field);
        say_field(&text, was, field);
        psc_text_add(&text, " when it was captured and is ");
        say_field(&text, is, field);
    } else {
        psc_text_add(&text, was ? "it was captured and does not run any more" : "it was not captured");
    }
    report->failed = report->failed || text.failed;
    psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "replay %u needs a new capture: node %llu, %s", replay,
                   (unsigned long long)(is ? is : was)->id, psc_text_str(&text));
    psc_text_release(&text);
}

static enum psc_status compare(struct psc_arena *arena, const struct psc_capture_script *script, uint32_t replay,
                               const struct psc_map *captured, const struct psc_map *replayed, struct psc_report *report,
                               struct psc_capture_answer *ret, struct psc_error *reterr)
{
    const struct psc_capture_list *was = &script->capture, *is = &script->replays[replay];
    char buf[32];
    *ret = (struct psc_capture_answer){.reuse = true};
    for (uint32_t i = 0; i < is->n && ret->reuse; i++) {
        const struct psc_capture_node *node = &is->nodes[i], *old = find(was, captured, node->id);
        const char *field = old ? difference(old, node, buf, sizeof buf) : "op";
        if (!*field)
            continue;
        *ret = (struct psc_capture_answer){false, node->id, psc_arena_strdup(arena, field)};
        say_difference(report, replay, old, node, field);
    }
    for (uint32_t i = 0; i < was->n && ret->reuse; i++)
        if (!find(is, replayed, was->nodes[i].id)) {
            *ret = (struct psc_capture_answer){false, was->nodes[i].id, "op"};
            say_difference(report, replay, &was->nodes[i], NULL, "op");
        }
    return ret->reuse || ret->field ? PSC_OK : psc_fail_nomem(reterr);
}

/* ---- the stories ------------------------------------------------------------------------------------- */

struct teller {
    struct psc_story_builder *story;
    const char **names; /* owned: buffers so far, borrowed names */
    uint64_t *bytes;    /* owned: how far they reach */
    uint32_t *value;    /* owned: what they hold, as far as is told; PSC_NONE */
    size_t n, name_cap, byte_cap, value_cap;
    struct psc_map index; /* hash of a name -> first buffer with it */
    bool nomem;
};

/* Elements are words, as in every pool. */
static uint64_t bytes_of(const struct psc_capture_operand *o)
{
    uint64_t n = 4;
    for (uint32_t i = 0; i < o->shape_n; i++)
        if (!psc_mul_u64(n, o->shape[i], &n) || n >= PSC_BYTES_MAX)
            return PSC_BYTES_MAX;
    return n;
}

static uint64_t end_of(const struct psc_capture_operand *o)
{
    uint64_t end;
    return psc_add_u64(o->offset, bytes_of(o), &end) && end < PSC_BYTES_MAX ? end : PSC_BYTES_MAX;
}

static size_t buffer_of(struct teller *t, const char *name)
{
    size_t i = t->n;
    uint64_t key = psc_hash_bytes(name, strlen(name), 0);
    uint32_t first, old;
    if (psc_map_get(&t->index, key, &first))
        for (i = first; i < t->n && strcmp(t->names[i], name);) /* more than one turn: two names with one hash */
            i++;
    if (i < t->n)
        return i;
    if (!psc_map_put(&t->index, key, (uint32_t)i, &old) ||
        !psc_grow(&t->names, i + 1, &t->name_cap, sizeof *t->names) ||
        !psc_grow(&t->bytes, i + 1, &t->byte_cap, sizeof *t->bytes) ||
        !psc_grow(&t->value, i + 1, &t->value_cap, sizeof *t->value)) {
        t->nomem = true;
        return SIZE_MAX;
    }
    t->names[i] = name;
    t->bytes[i] = 0;
    t->value[i] = PSC_NONE;
    return t->n++;
}

static void measure(struct teller *t, const struct psc_capture_operand *o)
{
    size_t b = buffer_of(t, o->buffer);
    if (!t->nomem && end_of(o) > t->bytes[b])
        t->bytes[b] = end_of(o);
}

/* A buffer is one region: which of its bytes a node expects from whom, the script does not say. */
static void access(struct teller *t, enum psc_event_kind kind, uint32_t at, uint32_t operand, uint32_t value, uint32_t version,
                   const struct psc_capture_operand *o)
{
    struct psc_event e = psc_event_blank(kind, (int32_t)at);
    e.value = value;
    e.version = version;
    e.buffer = (uint32_t)buffer_of(t, o->buffer);
    e.generation = o->generation > UINT32_MAX ? UINT32_MAX : (uint32_t)o->generation;
    e.lo = o->offset < PSC_BYTES_MAX ? o->offset : PSC_BYTES_MAX;
    e.hi = end_of(o);
    e.operand = (uint16_t)operand;
    if (e.lo < e.hi)
        psc_story_add_event(t->story, &e);
}

static void tell_nodes(struct teller *t, const struct psc_capture_list *list, const char **titles, struct psc_arena *scratch)
{
    uint64_t base = 0;
    for (size_t b = 0; b < t->n; b++) {
        struct psc_value v = {.kind = PSC_VALUE_REGION, .backend = PSC_BACKEND_NONE, .layer = -1, .node = PSC_NONE,
                              .of = PSC_NONE, .bytes = t->bytes[b], .name = t->names[b]};
        psc_story_add_buffer(t->story, &(struct psc_buffer){.id = b, .name = t->names[b], .backend = PSC_BACKEND_NONE,
                                                            .role = PSC_ROLE_PERSISTENT, .bytes = t->bytes[b], .base = base});
        if (!psc_add_u64(base, t->bytes[b], &base))
            base = UINT64_MAX;
        t->value[b] = psc_story_add_value(t->story, &v);
    }
    uint32_t *writes = psc_arena_alloc0(scratch, t->n, sizeof *writes);
    for (uint32_t i = 0; writes && i < list->n; i++) {
        const struct psc_capture_node *node = &list->nodes[i];
        char title[96];
        for (uint32_t k = 0; k < node->src_n; k++) {
            size_t b = buffer_of(t, node->src[k].buffer);
            access(t, PSC_EV_ROWS_READ, i, k, t->value[b], writes[b] ? writes[b] - 1 : 0, &node->src[k]);
        }
        size_t b = buffer_of(t, node->dst.buffer);
        if (bytes_of(&node->dst))
            access(t, PSC_EV_ROWS_WRITE, i, 0, t->value[b], writes[b]++, &node->dst);
        snprintf(title, sizeof title, "node %llu: %.60s", (unsigned long long)node->id, node->op);
        titles[i] = psc_arena_strdup(scratch, title);
        t->nomem = t->nomem || !titles[i];
    }
    t->nomem = t->nomem || !writes;
}

static enum psc_status tell(struct psc_arena *arena, const struct psc_capture_list *list, struct psc_story **ret,
                            struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct teller t = {.story = psc_story_builder_new()};
    const char **titles = psc_arena_alloc0(&scratch, list->n, sizeof *titles);
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; i < list->n && !t.nomem; i++) {
        for (uint32_t k = 0; k < list->nodes[i].src_n && !t.nomem; k++)
            measure(&t, &list->nodes[i].src[k]);
        if (!t.nomem)
            measure(&t, &list->nodes[i].dst);
    }
    if (!t.story || !titles || t.nomem)
        status = psc_fail_nomem(reterr);
    if (!status) {
        psc_story_add_lane(t.story, "host", PSC_BACKEND_NONE);
        tell_nodes(&t, list, titles, &scratch);
        psc_story_set_order(t.story, list->n, NULL, NULL, PSC_EXEC_SERIAL, NULL, false);
        psc_story_set_titles(t.story, titles);
        status = t.nomem ? psc_fail_nomem(reterr) : psc_story_builder_finish(t.story, arena, ret, reterr);
    }
    psc_story_builder_free(t.story);
    psc_map_release(&t.index);
    psc_free(t.names);
    psc_free(t.bytes);
    psc_free(t.value);
    psc_arena_release(&scratch);
    return status;
}

enum psc_status psc_capture_play(struct psc_arena *arena, const struct psc_capture_script *script,
                                 struct psc_report *report, struct psc_capture_answer **ret,
                                 struct psc_story ***ret_stories, struct psc_error *reterr)
{
    struct psc_capture_answer *answers = psc_arena_alloc0(arena, script->replay_n, sizeof *answers);
    struct psc_story **stories = psc_arena_alloc0(arena, (size_t)script->replay_n + 1, sizeof *stories);
    enum psc_status status = answers && stories ? tell(arena, &script->capture, &stories[0], reterr) : psc_fail_nomem(reterr);
    struct psc_map captured = {0}, replayed = {0};
    if (!status)
        status = index_nodes(&captured, &script->capture, reterr);
    for (uint32_t r = 0; r < script->replay_n && !status; r++) {
        status = index_nodes(&replayed, &script->replays[r], reterr);
        if (!status)
            status = compare(arena, script, r, &captured, &replayed, report, &answers[r], reterr);
        psc_map_release(&replayed);
        if (!status)
            status = tell(arena, &script->replays[r], &stories[r + 1], reterr);
    }
    psc_map_release(&captured);
    if (!status && report->failed)
        status = psc_fail_nomem(reterr);
    if (!status) {
        *ret = answers;
        *ret_stories = stories;
    }
    return status;
}
