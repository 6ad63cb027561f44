#include "traces/run-json.h"

#include "traces/story-json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------------- */

static void put_node(struct psc_json *j, const struct psc_graph *g, psc_node node)
{
    if (node == PSC_NONE)
        psc_json_null(j);
    else
        psc_json_u64(j, g && node < g->n ? g->nodes[node].id : node);
}

static void put_hash(struct psc_json *j, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    psc_json_string(j, text);
}

static void write_breaks(struct psc_json *j, const struct psc_graph *g, const struct psc_step *step)
{
    psc_json_key(j, "breaks");
    psc_json_array(j);
    for (uint32_t i = 0; i < step->break_n; i++) {
        const struct psc_hash_break *b = &step->breaks[i];
        psc_json_array(j);
        put_node(j, g, b->reader);
        psc_json_u64(j, b->operand);
        put_node(j, g, b->value);
        put_hash(j, b->expected);
        put_hash(j, b->found);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static void write_hashes(struct psc_json *j, const struct psc_step *step)
{
    psc_json_key(j, "hashes");
    psc_json_array(j);
    for (uint32_t i = 0; i < step->record_n; i++) {
        if (!step->records[i].has_hash)
            continue;
        psc_json_array(j);
        psc_json_u64(j, step->records[i].id);
        put_hash(j, step->records[i].hash);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static void write_rows(struct psc_json *j, const struct psc_graph *g, const struct psc_step *step)
{
    psc_json_key(j, "kv");
    psc_json_array(j);
    for (uint32_t i = 0; i < step->kv_n; i++) {
        const struct psc_kv_rows *rows = &step->kv[i];
        psc_json_array(j);
        put_node(j, g, rows->node);
        psc_json_i64(j, rows->layer);
        psc_json_string(j, rows->is_write ? "write" : "read");
        psc_json_u64(j, rows->lo);
        psc_json_u64(j, rows->hi);
        if (rows->unwritten)
            psc_json_u64(j, rows->unwritten);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static void write_sequences(struct psc_json *j, const struct psc_step *step)
{
    psc_json_key(j, "sequences");
    psc_json_array(j);
    for (uint32_t i = 0; i < step->sequence_n; i++) {
        const struct psc_kv_sequence *s = &step->sequences[i];
        psc_json_array(j);
        psc_json_u64(j, s->seq);
        psc_json_u64(j, s->start);
        psc_json_u64(j, s->cap);
        psc_json_u64(j, s->rows);
        if (s->shared_rows) {
            psc_json_u64(j, s->shared_cell);
            psc_json_u64(j, s->shared_rows);
        }
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static bool has_hashes(const struct psc_step *step)
{
    for (uint32_t i = 0; i < step->record_n; i++)
        if (step->records[i].has_hash)
            return true;
    return false;
}

void psc_step_ours_write(struct psc_json *j, const struct psc_graph *graph, const struct psc_step *step,
                         psc_flush_fn flush, void *ctx)
{
    bool hashes = has_hashes(step);
    if (!step->break_n && !step->story && !step->hashed && !hashes && !step->kv_n && !step->sequence_n)
        return;
    psc_json_key(j, "planscope");
    psc_json_object(j);
    if (step->break_n)
        write_breaks(j, graph, step);
    if (step->story) {
        psc_json_key(j, "events");
        psc_story_write_json(j, graph, step->story, flush, ctx);
    }
    if (step->hashed)
        psc_json_put_bool(j, "hashed", true);
    if (hashes)
        write_hashes(j, step);
    if (step->kv_n)
        write_rows(j, graph, step);
    if (step->sequence_n)
        write_sequences(j, step);
    psc_json_end_object(j);
}

void psc_kv_layout_write(struct psc_json *j, const struct psc_kv_layout *kv)
{
    psc_json_key(j, "kv");
    psc_json_object(j);
    psc_json_put_text(j, "format", kv->format);
    psc_json_put_u64(j, "layers", kv->layers);
    psc_json_put_u64(j, "row_bytes", kv->row_bytes);
    psc_json_put_u64(j, "rows", kv->rows);
    psc_json_put_u64(j, "width", kv->width);
    psc_json_end_object(j);
}

void psc_facts_write(struct psc_json *j, const struct psc_fact *facts, uint32_t n)
{
    psc_json_key(j, "planscope");
    psc_json_object(j);
    psc_json_key(j, "run");
    psc_json_object(j);
    for (uint32_t i = 0; i < n; i++)
        psc_json_put_text(j, facts[i].key, facts[i].value);
    psc_json_end_object(j);
    psc_json_end_object(j);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

struct part {
    struct psc_arena *arena;
    const struct psc_graph *graph;
    struct psc_step *step;
    const char *list; /* for messages */
    uint32_t row;
    struct psc_error *reterr;
};

static enum psc_status bad(const struct part *p, const char *column, const char *right)
{
    return psc_fail(p->reterr, PSC_ERR_PARSE, "planscope.%s[%u]: %s must be %s", p->list, p->row, column, right);
}

static bool column_u32(struct psc_cursor *c, uint32_t max, uint32_t *ret)
{
    struct psc_slice v;
    uint64_t n;
    if (!psc_cursor_element(c, &v) || !psc_slice_u64(v, &n) || n > max)
        return false;
    *ret = (uint32_t)n;
    return true;
}

static bool column_hash(struct psc_cursor *c, uint64_t *ret)
{
    struct psc_slice v;
    if (!psc_cursor_element(c, &v) || v.n != 18 || v.s[0] != '"')
        return false;
    uint64_t hash = 0;
    for (int i = 1; i <= 16; i++) {
        char d = v.s[i];
        unsigned digit = d >= '0' && d <= '9' ? (unsigned)(d - '0') : d >= 'a' && d <= 'f' ? (unsigned)(d - 'a') + 10 : 16;
        if (digit > 15)
            return false;
        hash = hash << 4 | digit;
    }
    *ret = hash;
    return true;
}

/* null_ok: null stands for the host. */
static bool column_node(const struct part *p, struct psc_cursor *c, bool null_ok, psc_node *ret)
{
    struct psc_slice v;
    uint64_t id;
    if (!psc_cursor_element(c, &v))
        return false;
    *ret = PSC_NONE;
    if (null_ok && psc_slice_is_null(v))
        return true;
    if (!psc_slice_u64(v, &id))
        return false;
    *ret = p->graph ? psc_graph_find(p->graph, id) : id < PSC_NODES_MAX ? (psc_node)id : PSC_NONE;
    return *ret != PSC_NONE;
}

static enum psc_status read_break(struct part *p, struct psc_cursor c, void *to)
{
    struct psc_hash_break *b = to;
    if (!column_node(p, &c, true, &b->reader))
        return bad(p, "the reader", "a node of the graph, or null for the host");
    if (!column_u32(&c, UINT32_MAX - 1, &b->operand))
        return bad(p, "the operand", "a number from 0");
    if (!column_node(p, &c, false, &b->value))
        return bad(p, "the value", "a node of the graph");
    if (!column_hash(&c, &b->expected) || !column_hash(&c, &b->found))
        return bad(p, "a hash", "a string of 16 hexadecimal digits");
    return PSC_OK;
}

static enum psc_status read_kv_rows(struct part *p, struct psc_cursor c, void *to)
{
    struct psc_kv_rows *rows = to;
    struct psc_slice v;
    int64_t layer;
    if (!column_node(p, &c, false, &rows->node))
        return bad(p, "the node", "a node of the graph");
    if (!psc_cursor_element(&c, &v) || !psc_slice_i64(v, &layer) || layer < -1 || layer > (int64_t)PSC_LAYERS_MAX)
        return bad(p, "the layer", "a number from -1");
    rows->layer = (int32_t)layer;
    if (!psc_cursor_element(&c, &v) || !psc_slice_is_string(v))
        return bad(p, "the access", "read or write");
    rows->is_write = v.n == 7 && !memcmp(v.s, "\"write\"", 7);
    if (!rows->is_write && (v.n != 6 || memcmp(v.s, "\"read\"", 6)))
        return bad(p, "the access", "read or write");
    if (!column_u32(&c, UINT32_MAX, &rows->lo) || !column_u32(&c, UINT32_MAX, &rows->hi) || rows->lo > rows->hi)
        return bad(p, "the rows", "two numbers, the first not above the second");
    if (c.at < c.end && psc_cursor_count(c) && !column_u32(&c, rows->hi - rows->lo, &rows->unwritten))
        return bad(p, "the number of unwritten rows", "at most that of the rows");
    return PSC_OK;
}

static enum psc_status read_sequence(struct part *p, struct psc_cursor c, void *to)
{
    struct psc_kv_sequence *s = to;
    struct psc_slice v;
    if (!psc_cursor_element(&c, &v) || !psc_slice_u64(v, &s->seq))
        return bad(p, "the sequence", "a whole number");
    if (!column_u32(&c, UINT32_MAX, &s->start) || !column_u32(&c, UINT32_MAX - s->start, &s->cap))
        return bad(p, "the run", "its first cell and the number of its cells");
    if (!column_u32(&c, s->cap, &s->rows))
        return bad(p, "the number of rows in use", "at most that of the cells");
    if (c.at >= c.end || !psc_cursor_count(c))
        return PSC_OK;
    if (!column_u32(&c, UINT32_MAX, &s->shared_cell) || !column_u32(&c, UINT32_MAX - s->shared_cell, &s->shared_rows))
        return bad(p, "the shared prefix", "its first cell and the number of its rows");
    return PSC_OK;
}

/* Records stand in execution order; without a graph, in the order of the hashes. */
static struct psc_record *find_record(const struct part *p, psc_node node, uint64_t id, uint32_t *at)
{
    struct psc_record *records = (struct psc_record *)(uintptr_t)p->step->records;
    uint32_t lo = 0, hi = p->step->record_n;
    if (!p->graph) {
        while (*at < hi && records[*at].id != id)
            ++*at;
        return *at < hi ? &records[*at] : NULL;
    }
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (records[middle].node < node)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < p->step->record_n && records[lo].node == node ? &records[lo] : NULL;
}

static enum psc_status read_hashes(struct part *p, struct psc_slice list)
{
    struct psc_cursor c = psc_cursor_open(list);
    struct psc_slice v, id_text;
    uint32_t at = 0;
    for (p->row = 0; psc_cursor_element(&c, &v); p->row++) {
        struct psc_cursor row = psc_cursor_open(v), again = row;
        uint64_t id, hash;
        psc_node node;
        if (!psc_slice_is_array(v) || !column_node(p, &row, false, &node))
            return bad(p, "the node", "a node of the graph");
        if (!psc_cursor_element(&again, &id_text) || !psc_slice_u64(id_text, &id) || !column_hash(&row, &hash))
            return bad(p, "the hash", "a string of 16 hexadecimal digits");
        struct psc_record *record = find_record(p, node, id, &at);
        if (record) {
            record->has_hash = true;
            record->hash = hash;
        }
    }
    return PSC_OK;
}

/* Reads the rows of a list into an array in the arena. */
static enum psc_status read_rows(struct part *p, struct psc_slice list, size_t size,
                                 enum psc_status (*read)(struct part *, struct psc_cursor, void *), void **ret,
                                 uint32_t *ret_n)
{
    struct psc_cursor c = psc_cursor_open(list);
    struct psc_slice v;
    size_t n = psc_cursor_count(c);
    if (n > UINT32_MAX)
        return psc_fail(p->reterr, PSC_ERR_TOO_BIG, "planscope.%s has %zu rows, at most %u fit", p->list, n, UINT32_MAX);
    char *rows = psc_arena_alloc0(p->arena, n, size);
    if (!rows)
        return psc_fail_nomem(p->reterr);
    for (p->row = 0; p->row < n && psc_cursor_element(&c, &v); p->row++) {
        if (!psc_slice_is_array(v))
            return bad(p, "the row", "an array");
        enum psc_status status = read(p, psc_cursor_open(v), rows + p->row * size);
        if (status != PSC_OK)
            return status;
    }
    *ret = rows;
    *ret_n = (uint32_t)n;
    return PSC_OK;
}

static bool open_list(struct part *p, struct psc_slice ours, const char *name, struct psc_slice *ret)
{
    p->list = name;
    *ret = psc_slice_find(ours, name);
    return psc_slice_is_array(*ret);
}

enum psc_status psc_step_ours_read(struct psc_arena *arena, struct psc_slice ours, const struct psc_graph *graph,
                                   struct psc_step *step, struct psc_error *reterr)
{
    struct part p = {arena, graph, step, "", 0, reterr};
    struct psc_slice list, events = psc_slice_find(ours, "events");
    enum psc_status status = PSC_OK;
    void *rows = NULL;
    if (!psc_slice_is_object(ours))
        return PSC_OK;
    step->hashed = psc_slice_is_true(psc_slice_find(ours, "hashed"));
    if (open_list(&p, ours, "breaks", &list)) {
        status = read_rows(&p, list, sizeof *step->breaks, read_break, &rows, &step->break_n);
        step->breaks = rows;
    }
    rows = NULL;
    if (status == PSC_OK && open_list(&p, ours, "kv", &list)) {
        status = read_rows(&p, list, sizeof *step->kv, read_kv_rows, &rows, &step->kv_n);
        step->kv = rows;
    }
    rows = NULL;
    if (status == PSC_OK && open_list(&p, ours, "sequences", &list)) {
        status = read_rows(&p, list, sizeof *step->sequences, read_sequence, &rows, &step->sequence_n);
        step->sequences = rows;
    }
    if (status == PSC_OK && open_list(&p, ours, "hashes", &list))
        status = read_hashes(&p, list);
    if (status == PSC_OK && !psc_slice_is_null(events)) {
        struct psc_story *story = NULL;
        status = psc_story_read(arena, events, graph, &story, reterr);
        step->story = story;
    }
    return status;
}

enum psc_status psc_kv_layout_read(struct psc_arena *arena, struct psc_slice text, const struct psc_kv_layout **ret,
                                   struct psc_error *reterr)
{
    struct psc_kv_layout kv = {0};
    uint64_t layers, rows;
    bool nomem = false;
    if (!psc_slice_is_object(text))
        return psc_fail(reterr, PSC_ERR_PARSE, "it is %s, not an object", psc_slice_kind(text));
    if (!psc_slice_u64(psc_slice_find(text, "layers"), &layers) || layers > PSC_LAYERS_MAX ||
        !psc_slice_u64(psc_slice_find(text, "rows"), &rows) || rows > UINT32_MAX ||
        !psc_slice_u64(psc_slice_find(text, "width"), &kv.width) ||
        !psc_slice_u64(psc_slice_find(text, "row_bytes"), &kv.row_bytes))
        return psc_fail(reterr, PSC_ERR_PARSE, "layers, rows, width and row_bytes must be whole numbers");
    kv.format = psc_slice_string(arena, psc_slice_find(text, "format"), &nomem);
    struct psc_kv_layout *made = psc_arena_alloc(arena, 1, sizeof *made);
    if (nomem || !made)
        return psc_fail_nomem(reterr);
    kv.layers = (uint32_t)layers;
    kv.rows = (uint32_t)rows;
    if (!kv.format)
        kv.format = "";
    *made = kv;
    *ret = made;
    return PSC_OK;
}

enum psc_status psc_facts_read(struct psc_arena *arena, struct psc_slice run, const struct psc_fact **ret,
                               uint32_t *ret_n, struct psc_error *reterr)
{
    struct psc_cursor c = psc_cursor_open(run);
    struct psc_slice key, v;
    size_t n = psc_cursor_count(c);
    bool nomem = false;
    struct psc_fact *facts = psc_arena_alloc(arena, n, sizeof *facts);
    uint32_t used = 0;
    if (!facts)
        return psc_fail_nomem(reterr);
    while (used < n && used < UINT32_MAX && psc_cursor_member(&c, &key, &v)) {
        struct psc_slice quoted = {key.s - 1, key.n + 2};
        if (!psc_slice_is_string(v))
            continue;
        facts[used].key = psc_slice_string(arena, quoted, &nomem);
        facts[used].value = psc_slice_string(arena, v, &nomem);
        if (nomem)
            return psc_fail_nomem(reterr);
        used++;
    }
    *ret = facts;
    *ret_n = used;
    return PSC_OK;
}
