#include "core/debug/kv-rows.h"

#include "core/base/mem.h"
#include "core/run/rows.h"

#include <math.h>
#include <string.h>

static bool touches_kv(const struct psc_graph *g, psc_node i)
{
    const struct psc_op_info *op = psc_op_info(g->nodes[i].op);
    return g->nodes[i].layer >= 0 && (op->stores_kv || op->loads_kv || op->is_kv);
}

/* ---- regions ------------------------------------------------------------------------------------------------- */

static void look_at(const struct psc_node_info *node, struct psc_kv_regions *r)
{
    const struct psc_params *p = node->params;
    const struct psc_op_info *op = psc_op_info(node->op);
    uint64_t rows = 0, width = 0;
    if (op->is_kv) {
        width = node->shape[0];
        rows = node->shape[1];
    } else if (op->stores_kv && p->nkt) {
        width = p->nkt;
        rows = p->kv_elems / (p->row_elems ? p->row_elems : p->nkt);
    }
    if (!r->width && width) {
        r->width = width;
        r->row_bytes = (p->row_elems ? p->row_elems : width) * 4;
        r->format = p->row_elems && p->row_elems != width ? "packed" : "f32";
    }
    if (!r->rows && rows)
        r->rows = rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
    if (!r->heads && p->n_head_kv && p->n_head_kv < UINT32_MAX)
        r->heads = (uint32_t)p->n_head_kv;
}

bool psc_kv_regions_of(const struct psc_phase *phase, struct psc_kv_regions *ret)
{
    struct psc_kv_regions r = {.format = "f32"};
    const struct psc_graph *g = phase->graph;
    for (psc_node i = 0; g && i < g->n; i++) {
        if (!touches_kv(g, i))
            continue;
        if ((uint32_t)g->nodes[i].layer + 1 > r.layers)
            r.layers = (uint32_t)g->nodes[i].layer + 1;
        look_at(&g->nodes[i], &r);
    }
    if (phase->kv) {
        r.is_recorded = true;
        r.layers = phase->kv->layers > r.layers ? phase->kv->layers : r.layers;
        r.rows = phase->kv->rows;
        r.width = phase->kv->width;
        r.row_bytes = phase->kv->row_bytes;
        r.format = phase->kv->format ? phase->kv->format : "f32";
    }
    if (!r.layers || !r.rows)
        return false;
    *ret = r;
    return true;
}

/* ---- rows from values ------------------------------------------------------------------------------------------ */

struct deriving {
    struct psc_arena scratch;
    struct psc_arena *arena;
    const struct psc_graph *graph;
    const struct psc_step *step;
    struct psc_rows rows;
    uint32_t *input_of;      /* [n] index among the graph's inputs, or PSC_NONE */
    const uint32_t **words;  /* [inputs] what the input held; NULL: not recorded */
    struct psc_kv_rows *out; /* owned until it is copied */
    size_t out_n, out_cap;
    bool missing;            /* an input that names rows was not recorded */
};

static const struct psc_record *record_of(const struct psc_step *step, psc_node node)
{
    for (uint32_t i = 0; i < step->record_n; i++)
        if (step->records[i].node == node)
            return &step->records[i];
    return NULL;
}

/* Numbers 0 .. 2^24 are exact as floats. */
static bool is_index(double x)
{
    return x >= 0 && x <= 16777216 && x == floor(x);
}

/* What an i32 input held: all its elements, or, when the samples leave some out, the run from the least to the largest
 * if that has as many numbers as there are elements. */
static const uint32_t *words_of(struct deriving *d, psc_node input, bool *ret_failed)
{
    const struct psc_record *r = record_of(d->step, input);
    uint64_t n = d->graph->nodes[input].elements;
    bool all = r && r->value_n == n && r->stride <= 1;
    bool is_run = r && !all && r->has_stats && is_index(r->min) && is_index(r->max) && r->max - r->min + 1 == (double)n;
    if (!r || r->n != n || (!all && !is_run))
        return NULL;
    uint32_t *words = psc_arena_alloc(&d->scratch, (size_t)n, sizeof *words);
    *ret_failed |= !words;
    for (uint64_t i = 0; words && i < n; i++) {
        double x = all ? (double)r->values[i] : r->min + (double)i;
        if (!is_index(x))
            return NULL;
        words[i] = (uint32_t)x;
    }
    return words;
}

static enum psc_status ask_graph(struct deriving *d, uint32_t rows, struct psc_error *reterr)
{
    const struct psc_graph *g = d->graph;
    uint32_t *layer_of = psc_arena_alloc(&d->scratch, g->n, sizeof *layer_of);
    uint64_t *rows_of = psc_arena_alloc(&d->scratch, (size_t)g->layer_n + 1, sizeof *rows_of);
    bool failed = false;
    d->input_of = psc_arena_alloc(&d->scratch, g->n, sizeof *d->input_of);
    d->words = psc_arena_alloc0(&d->scratch, (size_t)g->input_n + 1, sizeof *d->words);
    if (!layer_of || !rows_of || !d->input_of || !d->words)
        return psc_fail_nomem(reterr);
    for (uint32_t l = 0; l <= g->layer_n; l++)
        rows_of[l] = rows;
    memset(d->input_of, 0xff, g->n * sizeof *d->input_of);
    for (psc_node i = 0; i < g->n; i++)
        layer_of[i] = touches_kv(g, i) ? (uint32_t)g->nodes[i].layer : PSC_NONE;
    for (uint32_t k = 0; k < g->input_n; k++) {
        d->input_of[g->inputs[k]] = k;
        if (g->nodes[g->inputs[k]].dtype == PSC_I32)
            d->words[k] = words_of(d, g->inputs[k], &failed);
    }
    if (failed)
        return psc_fail_nomem(reterr);
    return psc_rows_build(&d->scratch, g, layer_of, rows_of, d->input_of, g->input_n, true, &d->rows, reterr);
}

/* All runs of an index become accesses of the node. */
static bool put_runs(struct deriving *d, psc_node node, uint32_t index, bool is_write, uint32_t rows)
{
    uint32_t n;
    const uint32_t *words = index == PSC_NONE ? NULL : d->words[d->rows.index[index].input];
    if (!words) {
        d->missing = true;
        return true;
    }
    const struct psc_row_run *runs = psc_rows_of(&d->rows, index, words, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lo = runs[i].lo < rows ? runs[i].lo : rows, hi = runs[i].hi < rows ? runs[i].hi : rows;
        if (lo >= hi)
            continue;
        if (!psc_grow(&d->out, d->out_n + 1, &d->out_cap, sizeof *d->out))
            return false;
        d->out[d->out_n++] = (struct psc_kv_rows){node, d->graph->nodes[node].layer, is_write, lo, hi, 0};
    }
    return true;
}

static bool put_node(struct deriving *d, psc_node node, uint32_t rows)
{
    const struct psc_op_info *op = psc_op_info(d->graph->nodes[node].op);
    if (!touches_kv(d->graph, node))
        return true;
    if (op->stores_kv && !put_runs(d, node, d->rows.written[node], true, rows))
        return false;
    /* A load alone moves nothing: the attention that uses it says which rows are read. */
    return d->graph->nodes[node].op != PSC_OP_ATTN || put_runs(d, node, d->rows.read[node], false, rows);
}

static enum psc_status derive(struct deriving *d, uint32_t rows, const psc_node *order, struct psc_error *reterr)
{
    enum psc_status status = ask_graph(d, rows, reterr);
    for (uint32_t p = 0; status == PSC_OK && p < d->graph->n; p++)
        if (!put_node(d, order ? order[p] : p, rows))
            status = psc_fail_nomem(reterr);
    return status;
}

enum psc_status psc_kv_rows_of(struct psc_arena *arena, const struct psc_phase *phase, const struct psc_step *step,
                               const psc_node *order, const struct psc_kv_rows **ret, uint32_t *ret_n,
                               enum psc_kv_source *ret_source, struct psc_error *reterr)
{
    struct psc_kv_regions regions;
    *ret = NULL;
    *ret_n = 0;
    *ret_source = PSC_KV_NOT_KNOWN;
    if (step->kv) {
        *ret = step->kv;
        *ret_n = step->kv_n;
        *ret_source = PSC_KV_RECORDED;
        return PSC_OK;
    }
    if (!phase->graph || !psc_kv_regions_of(phase, &regions))
        return PSC_OK;
    struct deriving d = {.arena = arena, .graph = phase->graph, .step = step};
    enum psc_status status = derive(&d, regions.rows, order, reterr);
    if (status == PSC_OK && !d.missing && d.out_n) {
        struct psc_kv_rows *rows = psc_arena_alloc(arena, d.out_n, sizeof *rows);
        if (rows) {
            memcpy(rows, d.out, d.out_n * sizeof *rows);
            *ret = rows;
            *ret_n = (uint32_t)d.out_n;
            *ret_source = PSC_KV_FROM_VALUES;
        } else {
            status = psc_fail_nomem(reterr);
        }
    }
    psc_free(d.out);
    psc_arena_release(&d.scratch);
    return status;
}

/* ---- a whole document ------------------------------------------------------------------------------------------- */

bool psc_kv_is_prefill(const struct psc_phase *phase)
{
    return phase->kind && !strcmp(phase->kind, "prefill");
}

void psc_kv_read_step(struct psc_kv_builder *builder, const struct psc_doc *doc, uint32_t phase_index,
                      const struct psc_phase *phase, uint32_t step)
{
    struct psc_arena arena = {0};
    struct psc_step loaded = {0};
    const struct psc_kv_rows *rows = NULL;
    uint32_t n = 0;
    enum psc_kv_source source = PSC_KV_NOT_KNOWN;
    bool good = psc_doc_load_step(doc, phase_index, step, &arena, &loaded, NULL) == PSC_OK && !loaded.unreadable;
    if (!good || psc_kv_rows_of(&arena, phase, &loaded, NULL, &rows, &n, &source, NULL) != PSC_OK)
        source = PSC_KV_NOT_KNOWN, n = 0;
    psc_kv_builder_step(builder, phase_index, step, psc_kv_is_prefill(phase), source != PSC_KV_NOT_KNOWN, rows, n);
    psc_arena_release(&arena);
}

enum psc_status psc_kv_history_of(struct psc_arena *arena, const struct psc_doc *doc, struct psc_kv_history **ret,
                                  struct psc_error *reterr)
{
    struct psc_kv_builder *builder = psc_kv_builder_new();
    uint32_t layers = 0;
    if (!builder)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        struct psc_kv_regions regions;
        if (psc_kv_regions_of(&doc->phases[p], &regions) && regions.layers > layers)
            layers = regions.layers;
        for (uint32_t s = 0, n = psc_doc_step_n(doc, p); s < n; s++)
            psc_kv_read_step(builder, doc, p, &doc->phases[p], s);
    }
    enum psc_status status = psc_kv_builder_finish(builder, arena, layers, ret, reterr);
    psc_kv_builder_free(builder);
    return status;
}
