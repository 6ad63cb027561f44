#include "core/run/rows.h"

#include "core/base/hash.h"

#include <string.h>

/* ---- who asks what ------------------------------------------------------------------------------------------ */

struct asking {
    struct psc_arena *arena;
    const struct psc_graph *graph;
    const uint32_t *input_of;
    uint32_t input_n;
    struct psc_rows rows;
    struct psc_map known; /* hash of a demand -> index; a collision only costs a second copy */
};

/* Operands that name rows, in the order in which every op lists them: positions, cells, span or map, sequences. */
struct naming { uint32_t positions, cells, span; };

static bool is_index(const struct asking *a, psc_node node)
{
    const struct psc_node_info *info = &a->graph->nodes[node];
    const struct psc_node_info *root = &a->graph->nodes[info->root];
    return info->dtype == PSC_I32 && root->dtype == PSC_I32 && a->input_of[info->root] != PSC_NONE && info->elements;
}

/* The operand of place k, if there is one and it is an index. */
static uint32_t index_operand(const struct asking *a, psc_node node, uint32_t k)
{
    return k < a->graph->nodes[node].src_n && is_index(a, psc_node_srcs(a->graph, node)[k]) ? k : PSC_NONE;
}

static struct naming attention_names(const struct asking *a, psc_node node)
{
    struct naming names = {PSC_NONE, PSC_NONE, PSC_NONE};
    for (uint32_t k = 1; k < a->graph->nodes[node].src_n; k++) {
        if (index_operand(a, node, k) == PSC_NONE)
            continue;
        if (names.positions == PSC_NONE)
            names.positions = k;
        else if (names.span == PSC_NONE)
            names.span = k;
    }
    return names;
}

static struct naming names_of(const struct asking *a, psc_node node)
{
    struct naming names = {PSC_NONE, PSC_NONE, PSC_NONE};
    switch (a->graph->nodes[node].op) {
    case PSC_OP_KV_STORE:
        names.cells = index_operand(a, node, 2);
        break;
    case PSC_OP_FUSED_QKV:
    case PSC_OP_FUSED_QKV_NORM:
        names.positions = index_operand(a, node, 1);
        names.cells = index_operand(a, node, 2);
        break;
    case PSC_OP_QKV_BIAS_ROPE_STORE:
        names.positions = index_operand(a, node, 3);
        names.cells = index_operand(a, node, 4);
        break;
    case PSC_OP_ATTN:
        return attention_names(a, node);
    default:
        return names;
    }
    if (names.cells == PSC_NONE)
        names.cells = names.positions; /* older graphs: the row is the position */
    return names;
}

static bool same(const struct psc_index *a, const struct psc_index *b)
{
    return a->kind == b->kind && a->input == b->input && a->at == b->at && a->n == b->n && a->rows == b->rows;
}

static uint64_t runs_of(const struct psc_index *index)
{
    switch (index->kind) {
    case PSC_INDEX_POSITION: return 1;
    case PSC_INDEX_SPAN: return index->n / 2;
    case PSC_INDEX_MAP: return index->n / 2;
    default: return index->n;
    }
}

/* The demand of an operand; PSC_NONE when out of memory. */
static uint32_t ask(struct asking *a, psc_node node, uint32_t operand, enum psc_index_kind kind, uint64_t rows)
{
    const struct psc_node_info *info = &a->graph->nodes[psc_node_srcs(a->graph, node)[operand]];
    struct psc_rows *all = &a->rows;
    struct psc_index index = {.kind = kind, .user = node, .input = a->input_of[info->root], .at = info->root_offset / 4,
                              .n = info->elements, .rows = rows};
    uint64_t key = psc_hash_mix(index.input * 8u + (uint64_t)kind) ^ psc_hash_mix(index.at) ^ psc_hash_mix(index.n + 1) ^
                   psc_hash_mix(rows + 2);
    uint32_t old;
    if (!psc_map_put(&a->known, key, all->index_n, &old))
        return PSC_NONE;
    if (old != PSC_NONE && same(&all->index[old], &index))
        return old;
    index.runs = psc_arena_alloc(a->arena, runs_of(&index), sizeof *index.runs);
    if (!index.runs)
        return PSC_NONE;
    all->index[all->index_n] = index;
    return all->index_n++;
}

static bool names_rows(const struct psc_op_info *op)
{
    return op->stores_kv || op->loads_kv;
}

/* What a second index operand of attention is follows from its length. */
static enum psc_index_kind span_kind(const struct psc_graph *graph, psc_node node, const struct naming *names)
{
    const psc_node *src = psc_node_srcs(graph, node);
    uint64_t tokens = graph->nodes[src[names->positions]].elements, n = graph->nodes[src[names->span]].elements;
    if (n == 2 * tokens)
        return PSC_INDEX_SPAN;
    return n == 2 * PSC_KV_MAP_RUNS * tokens ? PSC_INDEX_MAP : PSC_INDEX_POSITION;
}

static bool ask_node(struct asking *a, psc_node node, uint64_t rows)
{
    const struct psc_op_info *op = psc_op_info(a->graph->nodes[node].op);
    struct naming names = names_of(a, node);
    uint32_t positions = PSC_NONE, cells = PSC_NONE, span = PSC_NONE;
    enum psc_index_kind kind = PSC_INDEX_POSITION;
    if (names.positions != PSC_NONE && (positions = ask(a, node, names.positions, PSC_INDEX_POSITION, rows)) == PSC_NONE)
        return false;
    if (names.cells != PSC_NONE && (cells = ask(a, node, names.cells, PSC_INDEX_CELL, rows)) == PSC_NONE)
        return false;
    if (names.span != PSC_NONE) {
        kind = span_kind(a->graph, node, &names);
        if ((span = ask(a, node, names.span, kind, rows)) == PSC_NONE)
            return false;
    }
    if (op->stores_kv)
        a->rows.written[node] = cells;
    if (op->loads_kv)
        a->rows.read[node] = span != PSC_NONE && kind != PSC_INDEX_POSITION ? span : positions;
    return true;
}

static enum psc_status check_static(const struct psc_graph *graph, const struct psc_rows *rows, psc_node node,
                                    struct psc_error *reterr)
{
    const struct psc_index *index;
    if (rows->written[node] == PSC_NONE)
        return PSC_OK;
    index = &rows->index[rows->written[node]];
    if (index->n <= index->rows)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_PLAN,
                    "node %llu (%s) stores %llu rows a step: position %llu does not fit into n_ctx %llu of layer %d",
                    (unsigned long long)graph->nodes[node].id, graph->nodes[node].op_name, (unsigned long long)index->n,
                    (unsigned long long)(index->n - 1), (unsigned long long)index->rows, graph->nodes[node].layer);
}

static bool make_room(struct asking *a)
{
    uint32_t n = a->graph->n, users = 0;
    for (psc_node i = 0; i < n; i++)
        users += names_rows(psc_op_info(a->graph->nodes[i].op));
    a->rows.index = psc_arena_alloc(a->arena, 3 * (size_t)users, sizeof *a->rows.index);
    a->rows.next = psc_arena_alloc(a->arena, 3 * (size_t)users, sizeof *a->rows.next);
    a->rows.first = psc_arena_alloc(a->arena, a->input_n, sizeof *a->rows.first);
    a->rows.written = psc_arena_alloc(a->arena, n, sizeof *a->rows.written);
    a->rows.read = psc_arena_alloc(a->arena, n, sizeof *a->rows.read);
    if (!a->rows.index || !a->rows.next || !a->rows.first || !a->rows.written || !a->rows.read)
        return false;
    memset(a->rows.first, 0xff, a->input_n * sizeof *a->rows.first);
    memset(a->rows.written, 0xff, n * sizeof *a->rows.written);
    memset(a->rows.read, 0xff, n * sizeof *a->rows.read);
    return true;
}

enum psc_status psc_rows_build(struct psc_arena *arena, const struct psc_graph *graph, const uint32_t *layer_of,
                               const uint64_t *rows_of, const uint32_t *input_of, uint32_t input_n, bool unbounded,
                               struct psc_rows *ret, struct psc_error *reterr)
{
    struct asking a = {.arena = arena, .graph = graph, .input_of = input_of, .input_n = input_n};
    enum psc_status status = make_room(&a) ? PSC_OK : psc_fail_nomem(reterr);
    for (psc_node i = 0; !status && i < graph->n; i++) {
        if (!names_rows(psc_op_info(graph->nodes[i].op)) || layer_of[i] == PSC_NONE || !rows_of[layer_of[i]])
            continue;
        if (!ask_node(&a, i, rows_of[layer_of[i]]))
            status = psc_fail_nomem(reterr);
        else if (!unbounded)
            status = check_static(graph, &a.rows, i, reterr);
    }
    psc_map_release(&a.known);
    for (uint32_t k = a.rows.index_n; !status && k-- > 0;) { /* an input's demands in the order of the nodes */
        a.rows.next[k] = a.rows.first[a.rows.index[k].input];
        a.rows.first[a.rows.index[k].input] = k;
    }
    if (!status)
        *ret = a.rows;
    return status;
}

/* ---- bounds ---------------------------------------------------------------------------------------------------- */

static const char *input_name(const struct psc_graph *graph, const struct psc_index *index)
{
    const struct psc_node_info *user = &graph->nodes[index->user];
    for (uint32_t k = 0; k < user->src_n; k++) {
        const struct psc_node_info *src = &graph->nodes[psc_node_srcs(graph, index->user)[k]];
        if (src->dtype == PSC_I32 && src->root_offset / 4 == index->at && src->elements == index->n && graph->nodes[src->root].name)
            return graph->nodes[src->root].name;
    }
    return "an input";
}

static enum psc_status beyond(const struct psc_graph *graph, const struct psc_index *index, uint64_t t, const char *what,
                              int64_t position, struct psc_error *reterr)
{
    const struct psc_node_info *user = &graph->nodes[index->user];
    return psc_fail(reterr, PSC_ERR_USAGE, "%s[%llu]: %s %lld is beyond n_ctx %llu of layer %d, which node %llu (%s) needs",
                    input_name(graph, index), (unsigned long long)t, what, (long long)position,
                    (unsigned long long)index->rows, user->layer, (unsigned long long)user->id, user->op_name);
}

static enum psc_status never_filled(const struct psc_graph *graph, const struct psc_index *index, struct psc_error *reterr)
{
    const struct psc_node_info *user = &graph->nodes[index->user];
    return psc_fail(reterr, PSC_ERR_USAGE, "%s holds zeros only, as if never filled: node %llu (%s) would read no row",
                    input_name(graph, index), (unsigned long long)user->id, user->op_name);
}

static enum psc_status check_plain(const struct psc_graph *graph, const struct psc_index *index, const uint32_t *words,
                                   struct psc_error *reterr)
{
    for (uint64_t t = 0; t < index->n; t++)
        if (words[t] >= index->rows)
            return beyond(graph, index, t, "position", (int32_t)words[t], reterr);
    return PSC_OK;
}

static enum psc_status check_span(const struct psc_graph *graph, const struct psc_index *index, const uint32_t *words,
                                  struct psc_error *reterr)
{
    uint64_t tokens = index->n / 2;
    uint32_t any = 0;
    for (uint64_t t = 0; t < tokens; t++) {
        uint32_t lo = words[t], hi = words[tokens + t];
        any |= lo | hi;
        if (hi > index->rows)
            return beyond(graph, index, tokens + t, "the end", (int32_t)hi, reterr);
        if (lo > hi)
            return psc_fail(reterr, PSC_ERR_USAGE, "%s: token %llu reads rows from %u to %u, which is backwards",
                            input_name(graph, index), (unsigned long long)t, lo, hi);
    }
    return any ? PSC_OK : never_filled(graph, index, reterr);
}

static enum psc_status check_map(const struct psc_graph *graph, const struct psc_index *index, const uint32_t *words,
                                 struct psc_error *reterr)
{
    uint32_t any = 0;
    for (uint64_t k = 0; k + 1 < index->n; k += 2) {
        any |= words[k] | words[k + 1];
        if ((uint64_t)words[k] + words[k + 1] > index->rows)
            return beyond(graph, index, k, "a run that ends at", (int64_t)words[k] + words[k + 1], reterr);
    }
    return any ? PSC_OK : never_filled(graph, index, reterr);
}

enum psc_status psc_rows_check(const struct psc_graph *graph, const struct psc_rows *rows, uint32_t input,
                               const uint32_t *words, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = rows->first[input]; !status && k != PSC_NONE; k = rows->next[k]) {
        const struct psc_index *index = &rows->index[k];
        if (index->kind == PSC_INDEX_SPAN)
            status = check_span(graph, index, words + index->at, reterr);
        else if (index->kind == PSC_INDEX_MAP)
            status = check_map(graph, index, words + index->at, reterr);
        else
            status = check_plain(graph, index, words + index->at, reterr);
    }
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

void psc_rows_changed(struct psc_rows *rows, uint32_t input)
{
    for (uint32_t k = rows->first[input]; k != PSC_NONE; k = rows->next[k])
        rows->index[k].settled = false;
}

static void add_run(struct psc_index *index, uint32_t lo, uint32_t hi)
{
    struct psc_row_run *last = index->run_n ? &index->runs[index->run_n - 1] : NULL;
    if (lo >= hi)
        return;
    if (last && last->hi == lo)
        last->hi = hi;
    else
        index->runs[index->run_n++] = (struct psc_row_run){lo, hi};
}

/* Sorts by lo (Shell) and joins what meets. */
static void join_runs(struct psc_index *index)
{
    struct psc_row_run *runs = index->runs;
    uint32_t n = index->run_n, kept = 0;
    for (uint32_t gap = n / 3 + 1; n > 1; gap = gap / 3 + 1) {
        for (uint32_t i = gap; i < n; i++) {
            struct psc_row_run run = runs[i];
            uint32_t k = i;
            for (; k >= gap && runs[k - gap].lo > run.lo; k -= gap)
                runs[k] = runs[k - gap];
            runs[k] = run;
        }
        if (gap == 1)
            break;
    }
    for (uint32_t i = 0; i < n; i++)
        if (kept && runs[i].lo <= runs[kept - 1].hi)
            runs[kept - 1].hi = runs[i].hi > runs[kept - 1].hi ? runs[i].hi : runs[kept - 1].hi;
        else
            runs[kept++] = runs[i];
    index->run_n = kept;
}

static void settle(struct psc_index *index, const uint32_t *words)
{
    uint32_t most = 0;
    index->run_n = 0;
    switch (index->kind) {
    case PSC_INDEX_POSITION:
        for (uint64_t t = 0; t < index->n; t++)
            most = words[t] >= most ? words[t] + 1 : most;
        add_run(index, 0, most);
        break;
    case PSC_INDEX_CELL:
        for (uint64_t t = 0; t < index->n; t++)
            add_run(index, words[t], words[t] + 1);
        break;
    case PSC_INDEX_SPAN:
        for (uint64_t t = 0; t < index->n / 2; t++)
            add_run(index, words[t], words[index->n / 2 + t]);
        join_runs(index);
        break;
    case PSC_INDEX_MAP:
        for (uint64_t k = 0; k + 1 < index->n; k += 2)
            add_run(index, words[k], words[k] + words[k + 1]);
        join_runs(index);
        break;
    }
}

const struct psc_row_run *psc_rows_of(struct psc_rows *rows, uint32_t index, const uint32_t *words, uint32_t *ret_n)
{
    struct psc_index *i = &rows->index[index];
    if (!i->settled) {
        settle(i, words + i->at);
        i->settled = true;
    }
    *ret_n = i->run_n;
    return i->runs;
}

