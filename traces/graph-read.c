#include "traces/graph-read.h"

#include "core/base/mem.h"
#include "traces/scan.h"
#include "traces/settings.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Faults that get a line and a column: counting lines costs a walk over the file. */
#define PLACES_MAX 8

struct reader {
    struct psc_arena scratch; /* the draft and its texts */
    const char *file, *where;
    struct psc_report *report;
    bool nomem;
    uint64_t double_n; /* keys that stand twice in one object, and the first of them */
    const char *double_key;
    uint32_t double_node;
};

static const char *dot(const struct reader *r)
{
    return r->where[0] ? "." : "";
}

/* ---- detail and meta ------------------------------------------------------------------------ */

enum field_type { FIELD_U64, FIELD_F32, FIELD_TEXT };
static const struct {
    const char *key;
    enum field_type type;
    size_t at;
} fields[] = {
#define FIELD(key, type, member)                                                                             \
    {                                                                                                        \
        key, type, offsetof(struct psc_params, member)                                                       \
    }
    FIELD("eps", FIELD_F32, eps),
    FIELD("freq_base", FIELD_F32, freq_base),
    FIELD("freq_scale", FIELD_F32, freq_scale),
    FIELD("hd", FIELD_U64, hd),
    FIELD("nh", FIELD_U64, nh),
    FIELD("nk", FIELD_U64, nk),
    FIELD("n_head", FIELD_U64, n_head),
    FIELD("n_head_kv", FIELD_U64, n_head_kv),
    FIELD("hd_kv", FIELD_U64, hd_kv),
    FIELD("n_embd", FIELD_U64, n_embd),
    FIELD("nkt", FIELD_U64, nkt),
    FIELD("nqt", FIELD_U64, nqt),
    FIELD("kv_elems", FIELD_U64, kv_elems),
    FIELD("row_elems", FIELD_U64, row_elems),
    FIELD("in_dim", FIELD_U64, in_dim),
    FIELD("out_dim", FIELD_U64, out_dim),
    FIELD("nf", FIELD_U64, nf),
    FIELD("vocab_size", FIELD_U64, vocab_size),
    FIELD("offset", FIELD_U64, view_offset),
    FIELD("weight", FIELD_TEXT, weight),
    FIELD("wtype", FIELD_TEXT, wtype),
    FIELD("bias", FIELD_TEXT, bias[0]),
    FIELD("bias_q", FIELD_TEXT, bias[0]),
    FIELD("bias_k", FIELD_TEXT, bias[1]),
    FIELD("bias_v", FIELD_TEXT, bias[2]),
    FIELD("q_norm", FIELD_TEXT, q_norm),
    FIELD("k_norm", FIELD_TEXT, k_norm),
#undef FIELD
};

static const char *keep(struct reader *r, const char *text)
{
    const char *copy = psc_arena_strdup(&r->scratch, text);
    if (text && !copy)
        r->nomem = true;
    return copy;
}

static void read_common_fields(struct reader *r, const struct psc_settings *s, struct psc_params *p)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char *at = (char *)p + fields[i].at;
        const char *text;
        uint64_t whole;
        double number;
        switch (fields[i].type) {
        case FIELD_U64:
            if (psc_settings_u64(s, fields[i].key, &whole))
                memcpy(at, &whole, sizeof whole);
            break;
        case FIELD_F32:
            if (psc_settings_f64(s, fields[i].key, &number)) {
                float narrow = (float)number;
                memcpy(at, &narrow, sizeof narrow);
            }
            break;
        case FIELD_TEXT:
            text = psc_settings_string(s, fields[i].key);
            if (text) {
                text = keep(r, text);
                memcpy(at, &text, sizeof text);
            }
            break;
        }
    }
}

static void read_special_fields(const struct psc_settings *s, struct psc_params *p)
{
    double number;
    const char *text;
    if (psc_settings_f64(s, "scale", &number)) {
        p->scale = (float)number;
        p->has_scale = true;
    }
    psc_settings_bool(s, "transpose_b", &p->transpose_b);
    psc_settings_bool(s, "explicit_span", &p->explicit_span);
    if (!psc_settings_i32(s, "axis", &p->dim))
        psc_settings_i32(s, "dim", &p->dim);
    psc_settings_i32s(s, "dims", p->perm, 4);
    if ((text = psc_settings_string(s, "style")) != NULL)
        p->rope_style = strcmp(text, "Interleaved") == 0 ? PSC_ROPE_INTERLEAVED : PSC_ROPE_NON_INTERLEAVED;
    if ((text = psc_settings_string(s, "mode")) != NULL)
        p->attn_mode = strcmp(text, "Flash") == 0 ? PSC_ATTN_FLASH
                       : strcmp(text, "Mha") == 0 ? PSC_ATTN_MHA
                                                  : PSC_ATTN_GQA;
}

/* Keeps the object as compact text and takes from it what the program understands. */
static const char *read_settings(struct reader *r, struct psc_slice value, struct psc_draft_node *node)
{
    if (psc_slice_is_null(value))
        return NULL;
    const char *json = psc_slice_json(&r->scratch, value, &r->nomem);
    struct psc_settings s;
    if (!json || strcmp(json, "{}") == 0)
        return json;
    if (!psc_settings_init(&s, (struct psc_slice){json, strlen(json)})) {
        r->nomem = true;
        return json;
    }
    read_common_fields(r, &s, &node->params);
    read_special_fields(&s, &node->params);
    if (node->layer < 0)
        psc_settings_i32(&s, "layer", &node->layer);
    psc_settings_release(&s);
    return json;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

#define ID_RANGE "must be a whole number from 0 to 18446744073709551615"

/* "phases[0].graph.nodes[3].id must be a whole number, not -1": path is what stands before the blank. */
static void fault_at(struct reader *r, struct psc_slice at, const char *path, const char *must, struct psc_slice got)
{
    uint64_t line = 0, column = 0, byte = (uint64_t)(at.s - r->file);
    if (r->report->fault_n < PLACES_MAX)
        psc_text_place(r->file, (size_t)byte, &line, &column);
    bool shown = got.n && got.n <= 40;
    for (size_t i = 0; i < got.n && shown; i++)
        shown = got.s[i] >= ' ' && got.s[i] < 0x7f;
    const char *text = shown ? got.s : psc_slice_kind(got);
    psc_report_add(r->report, PSC_FAULT, line, column, byte, "%s%s%s %s, not %.*s", r->where, dot(r), path, must,
                   shown ? (int)got.n : (int)strlen(text), text);
}

static void fault_in_node(struct reader *r, uint32_t index, struct psc_slice at, const char *field, const char *must,
                          struct psc_slice got)
{
    char path[64];
    snprintf(path, sizeof path, "nodes[%" PRIu32 "]%s", index, field);
    fault_at(r, at, path, must, got);
}

/* A list of file ids. at: where a fault is said to stand; path: what the list is called. Every entry that is no
 * id is told. */
static const uint64_t *read_ids(struct reader *r, struct psc_slice list, struct psc_slice at, const char *path,
                                uint32_t *ret_n)
{
    struct psc_cursor c = psc_cursor_open(list);
    size_t n = psc_slice_is_array(list) ? psc_cursor_count(c) : 0;
    *ret_n = 0;
    if ((!psc_slice_is_array(list) && !psc_slice_is_null(list)) || n > PSC_EDGES_MAX) {
        fault_at(r, at, path, "must be a list of node ids", list);
        return NULL;
    }
    uint64_t *ids = psc_arena_alloc(&r->scratch, n ? n : 1, sizeof *ids);
    if (!ids) {
        r->nomem = true;
        return NULL;
    }
    struct psc_slice v;
    for (size_t i = 0; i < n && psc_cursor_element(&c, &v); i++) {
        char entry[96];
        if (psc_slice_u64(v, &ids[*ret_n])) {
            ++*ret_n;
            continue;
        }
        snprintf(entry, sizeof entry, "%s[%zu]", path, i);
        fault_at(r, v, entry, ID_RANGE, v);
    }
    return ids;
}

static bool read_shape(struct psc_slice value, uint64_t shape[4])
{
    for (int i = 0; i < 4; i++)
        shape[i] = 1;
    if (!psc_slice_is_array(value))
        return false;
    struct psc_cursor c = psc_cursor_open(value);
    struct psc_slice v;
    uint64_t extra;
    unsigned n = 0;
    while (psc_cursor_element(&c, &v)) {
        if (!psc_slice_u64(v, n < 4 ? &shape[n] : &extra) || (n >= 4 && extra != 1))
            return false;
        n++;
    }
    return n > 0;
}

/* NULL for null, absent and empty texts alike: the program then shows a label of its own. */
static const char *read_text(struct reader *r, struct psc_slice value)
{
    const char *text = psc_slice_string(&r->scratch, value, &r->nomem);
    return text && text[0] ? text : NULL;
}

enum node_key { NODE_ID, NODE_NAME, NODE_OP, NODE_DTYPE, NODE_BACKEND, NODE_SHAPE, NODE_SRC, NODE_DETAIL, NODE_META,
                NODE_UNKNOWN };
static const char *const node_keys[NODE_UNKNOWN] = {"id", "name", "op", "dtype", "backend", "shape", "src", "detail",
                                                    "meta"};

static void read_node(struct reader *r, uint32_t index, struct psc_slice text, struct psc_draft_node *node)
{
    struct psc_slice key, v, shape = {0}, src = {0}, id = {0}, detail = {0}, meta = {0};
    struct psc_text extra = {0};
    memset(node, 0, sizeof *node);
    node->layer = -1;
    for (int i = 0; i < 4; i++)
        node->params.perm[i] = i;
    node->byte = (uint64_t)(text.s - r->file);
    if (!psc_slice_is_object(text)) {
        fault_in_node(r, index, text, "", "must be an object", text);
        return;
    }
    struct psc_cursor c = psc_cursor_open(text);
    unsigned seen = 0;
    while (psc_cursor_member(&c, &key, &v)) {
        enum node_key k = NODE_ID;
        while (k < NODE_UNKNOWN && !psc_slice_is_key(key, node_keys[k]))
            k++;
        if (k < NODE_UNKNOWN && seen >> k & 1 && !r->double_n++) {
            r->double_key = node_keys[k];
            r->double_node = index;
        }
        seen |= 1u << k;
        switch (k) {
        case NODE_ID: id = v; break;
        case NODE_NAME: node->name = read_text(r, v); break;
        case NODE_OP: node->op_name = read_text(r, v); break;
        case NODE_DTYPE: node->dtype_name = read_text(r, v); break;
        case NODE_BACKEND: node->backend = read_text(r, v); break;
        case NODE_SHAPE: shape = v; break;
        case NODE_SRC: src = v; break;
        case NODE_DETAIL: detail = v; break;
        case NODE_META: meta = v; break;
        default: psc_extra_add(&extra, key, v); break;
        }
    }
    node->meta_json = read_settings(r, meta, node); /* detail has the last word */
    int32_t meta_layer = node->layer;
    node->layer = -1;
    node->detail_json = read_settings(r, detail, node);
    if (node->layer < 0)
        node->layer = meta_layer;
    if (!psc_slice_u64(id, &node->id))
        fault_in_node(r, index, text, ".id", ID_RANGE, id);
    if (!read_shape(shape, node->shape))
        fault_in_node(r, index, text, ".shape", "must be a list of one to four whole numbers", shape);
    char path[64];
    snprintf(path, sizeof path, "nodes[%" PRIu32 "].src", index);
    node->src = read_ids(r, src, text, path, &node->src_n);
    if (extra.n)
        node->extra_json = keep(r, extra.s);
    if (extra.failed)
        r->nomem = true;
    psc_text_release(&extra);
}

static void read_nodes(struct reader *r, struct psc_slice list, struct psc_draft *draft)
{
    if (!psc_slice_is_array(list)) {
        psc_report_add(r->report, PSC_FAULT, 0, 0, UINT64_MAX, "%s%snodes must be an array, not %s", r->where,
                       dot(r), psc_slice_kind(list));
        return;
    }
    struct psc_cursor c = psc_cursor_open(list);
    size_t n = psc_cursor_count(c);
    if (n > PSC_NODES_MAX) {
        psc_report_add(r->report, PSC_FAULT, 0, 0, UINT64_MAX, "%s%snodes has %zu entries, at most %u fit",
                       r->where, dot(r), n, PSC_NODES_MAX);
        return;
    }
    draft->nodes = psc_arena_alloc(&r->scratch, n ? n : 1, sizeof *draft->nodes);
    if (!draft->nodes) {
        r->nomem = true;
        return;
    }
    struct psc_slice v;
    while (draft->n < n && !r->nomem && psc_cursor_element(&c, &v)) {
        read_node(r, draft->n, v, &draft->nodes[draft->n]);
        draft->n++;
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static void infer_inputs(struct reader *r, struct psc_draft *draft)
{
    uint64_t *ids = psc_arena_alloc(&r->scratch, draft->n ? draft->n : 1, sizeof *ids);
    if (!ids) {
        r->nomem = true;
        return;
    }
    for (uint32_t i = 0; i < draft->n; i++)
        if (draft->nodes[i].op_name && strcmp(draft->nodes[i].op_name, "input") == 0)
            ids[draft->input_n++] = draft->nodes[i].id;
    draft->inputs = ids;
}

static void check_header(struct reader *r, struct psc_slice format, struct psc_slice version)
{
    uint64_t v;
    const char *text = psc_slice_string(&r->scratch, format, &r->nomem);
    if (text && strcmp(text, "minfer-graph") != 0)
        psc_report_add(r->report, PSC_WARNING, 0, 0, UINT64_MAX,
                       "%s%sformat is \"%s\", read as \"minfer-graph\"", r->where, dot(r), text);
    if (psc_slice_is_null(version))
        return;
    if (!psc_slice_u64(version, &v))
        psc_report_add(r->report, PSC_FAULT, 0, 0, UINT64_MAX, "%s%sversion must be the number 1, not %s",
                       r->where, dot(r), psc_slice_kind(version));
    else if (v != 1)
        psc_report_add(r->report, PSC_FAULT, 0, 0, UINT64_MAX,
                       "%s%sversion %" PRIu64 ", this program reads 1", r->where, dot(r), v);
}

static void read_document(struct reader *r, struct psc_slice text, struct psc_draft *draft)
{
    struct psc_slice key, v, nodes = {0}, inputs = {0}, outputs = {0}, format = {0}, version = {0};
    struct psc_text extra = {0};
    struct psc_cursor c = psc_cursor_open(text);
    while (psc_cursor_member(&c, &key, &v)) {
        if (psc_slice_is_key(key, "nodes"))
            nodes = v;
        else if (psc_slice_is_key(key, "inputs"))
            inputs = v;
        else if (psc_slice_is_key(key, "outputs"))
            outputs = v;
        else if (psc_slice_is_key(key, "format"))
            format = v;
        else if (psc_slice_is_key(key, "version"))
            version = v;
        else if (psc_slice_is_key(key, "kind"))
            draft->kind = psc_slice_string(&r->scratch, v, &r->nomem);
        else if (psc_slice_is_key(key, "model"))
            draft->model = psc_slice_string(&r->scratch, v, &r->nomem);
        else
            psc_extra_add(&extra, key, v);
    }
    check_header(r, format, version);
    read_nodes(r, nodes, draft);
    if (r->double_n)
        psc_report_add(r->report, PSC_WARNING, 0, 0, UINT64_MAX,
                       "%s%snodes[%" PRIu32 "] has the key \"%s\" twice: the last one counts (%" PRIu64
                       " duplicate key%s in all)",
                       r->where, dot(r), r->double_node, r->double_key, r->double_n, r->double_n == 1 ? "" : "s");
    draft->inputs = read_ids(r, inputs, inputs.s ? inputs : text, "inputs", &draft->input_n);
    draft->outputs = read_ids(r, outputs, outputs.s ? outputs : text, "outputs", &draft->output_n);
    if (psc_slice_is_null(inputs))
        infer_inputs(r, draft);
    if (extra.n)
        draft->extra_json = keep(r, extra.s);
    if (extra.failed)
        r->nomem = true;
    psc_text_release(&extra);
}

enum psc_status psc_graph_read(struct psc_arena *arena, const char *file, struct psc_slice text,
                               const char *where, struct psc_report *report, struct psc_graph **ret,
                               struct psc_error *reterr)
{
    struct reader r = {.file = file, .where = where, .report = report};
    struct psc_draft draft = {0};
    size_t faults = report->fault_n;
    enum psc_status status;
    read_document(&r, text, &draft);
    if (r.nomem || report->failed)
        status = psc_fail_nomem(reterr);
    else if (report->fault_n > faults)
        status = psc_report_fail(report, PSC_ERR_GRAPH, reterr);
    else
        status = psc_graph_from_draft(arena, &draft, report, ret, reterr);
    psc_arena_release(&r.scratch);
    return status;
}
