#include "traces/step-read.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "traces/run-json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double canonical(double v)
{
    return isnan(v) ? (double)NAN : v; /* one bit pattern for every NaN, so that hashes agree */
}

static void read_stats(struct psc_slice text, struct psc_record *rec)
{
    struct psc_slice key, v;
    double four[4] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    rec->has_stats = psc_slice_is_object(text);
    if (rec->has_stats) {
        struct psc_cursor c = psc_cursor_open(text);
        while (psc_cursor_member(&c, &key, &v)) {
            int which = psc_slice_is_key(key, "min")       ? 0
                        : psc_slice_is_key(key, "max")     ? 1
                        : psc_slice_is_key(key, "mean")    ? 2
                        : psc_slice_is_key(key, "absmean") ? 3
                                                           : -1;
            if (which >= 0)
                four[which] = canonical(psc_slice_f64(v));
        }
    }
    rec->min = four[0];
    rec->max = four[1];
    rec->mean = four[2];
    rec->absmean = four[3];
    rec->stats_hash = psc_hash_bytes(four, sizeof four, 0);
}

static bool read_values(struct psc_arena *arena, struct psc_slice text, struct psc_record *rec)
{
    struct psc_cursor c = psc_cursor_open(text);
    size_t n = psc_slice_is_array(text) ? psc_cursor_count(c) : 0;
    if (n > UINT32_MAX)
        n = UINT32_MAX;
    float *values = psc_arena_alloc(arena, n ? n : 1, sizeof *values);
    if (!values)
        return false;
    struct psc_slice v;
    for (rec->value_n = 0; rec->value_n < n && psc_cursor_element(&c, &v); rec->value_n++) {
        float x = psc_slice_f32(v);
        if (!isfinite(x))
            rec->nonfinite++;
        values[rec->value_n] = isnan(x) ? NAN : x;
    }
    rec->values = values;
    rec->values_hash = psc_hash_bytes(values, rec->value_n * sizeof *values, 0);
    return true;
}

static enum psc_dtype read_dtype(struct psc_slice text)
{
    char name[16];
    if (!psc_slice_is_string(text) || text.n < 2 || text.n - 2 >= sizeof name)
        return PSC_DTYPE_OTHER;
    memcpy(name, text.s + 1, text.n - 2);
    name[text.n - 2] = '\0';
    return psc_dtype_from_name(name);
}

/* False when the heap is exhausted. *ret_ok: the element is a record with an id. */
static bool read_record(struct psc_arena *arena, struct psc_slice text, const struct psc_graph *graph,
                        struct psc_record *rec, bool *ret_ok)
{
    struct psc_slice key, v, id = {0}, dtype = {0}, n = {0}, stride = {0}, stats = {0}, values = {0};
    memset(rec, 0, sizeof *rec);
    struct psc_cursor c = psc_cursor_open(text);
    while (psc_slice_is_object(text) && psc_cursor_member(&c, &key, &v)) {
        if (psc_slice_is_key(key, "id"))
            id = v;
        else if (psc_slice_is_key(key, "dtype"))
            dtype = v;
        else if (psc_slice_is_key(key, "n"))
            n = v;
        else if (psc_slice_is_key(key, "stride"))
            stride = v;
        else if (psc_slice_is_key(key, "stats"))
            stats = v;
        else if (psc_slice_is_key(key, "values"))
            values = v;
    }
    *ret_ok = psc_slice_u64(id, &rec->id);
    if (!*ret_ok)
        return true;
    rec->node = graph ? psc_graph_find(graph, rec->id) : PSC_NONE;
    rec->dtype = read_dtype(dtype);
    if (!dtype.n && rec->node != PSC_NONE)
        rec->dtype = graph->nodes[rec->node].dtype;
    psc_slice_u64(n, &rec->n);
    psc_slice_u64(stride, &rec->stride);
    read_stats(stats, rec);
    return read_values(arena, values, rec);
}

static int compare_nodes(const struct psc_record *x, const struct psc_record *y)
{
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1; /* PSC_NONE is the largest */
    return 0;
}

/* Execution order, stable. */
static bool sort_records(struct psc_arena *arena, struct psc_record *records, uint32_t n)
{
    bool sorted = true;
    for (uint32_t i = 1; i < n && sorted; i++)
        sorted = compare_nodes(&records[i - 1], &records[i]) <= 0;
    if (sorted)
        return true;
    struct psc_record *from = records, *to = psc_arena_alloc(arena, n, sizeof *to), *spare = to;
    if (!to)
        return false;
    for (uint32_t width = 1; width < n; width *= 2) { /* bottom-up merge */
        for (uint32_t at = 0; at < n;) {
            uint32_t middle = n - at < width ? n : at + width;
            uint32_t end = n - middle < width ? n : middle + width;
            uint32_t i = at, k = middle;
            while (at < end)
                to[at++] = i < middle && (k >= end || compare_nodes(&from[i], &from[k]) <= 0) ? from[i++]
                                                                                              : from[k++];
        }
        struct psc_record *swap = from;
        from = to;
        to = swap;
        if (width > n / 2)
            break;
    }
    if (from == spare)
        memcpy(records, spare, n * sizeof *records);
    return true;
}

static enum psc_status read_records(struct psc_arena *arena, struct psc_slice list,
                                    const struct psc_graph *graph, struct psc_step *step,
                                    struct psc_error *reterr)
{
    if (psc_slice_is_null(list))
        return PSC_OK;
    if (!psc_slice_is_array(list))
        return psc_fail(reterr, PSC_ERR_PARSE, "nodes must be an array of records, not %s",
                        psc_slice_kind(list));
    struct psc_cursor c = psc_cursor_open(list);
    size_t n = psc_cursor_count(c);
    if (n > PSC_NODES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "a step has %zu records, at most %u fit", n, PSC_NODES_MAX);
    struct psc_record *records = psc_arena_alloc(arena, n ? n : 1, sizeof *records);
    if (!records)
        return psc_fail_nomem(reterr);
    struct psc_slice v;
    uint32_t used = 0;
    while (used < n && psc_cursor_element(&c, &v)) {
        bool ok;
        if (!read_record(arena, v, graph, &records[used], &ok))
            return psc_fail_nomem(reterr);
        used += ok;
    }
    if (!sort_records(arena, records, used))
        return psc_fail_nomem(reterr);
    step->records = records;
    step->record_n = used;
    return PSC_OK;
}

static bool read_top(struct psc_arena *arena, struct psc_slice list, struct psc_step *step)
{
    struct psc_cursor c = psc_cursor_open(list);
    size_t n = psc_slice_is_array(list) ? psc_cursor_count(c) : 0;
    if (n > 1000000)
        n = 1000000;
    struct psc_logit *top = psc_arena_alloc(arena, n ? n : 1, sizeof *top);
    if (!top)
        return false;
    struct psc_slice v, id, p;
    for (size_t i = 0; i < n && psc_cursor_element(&c, &v); i++) {
        struct psc_cursor pair = psc_cursor_open(v);
        struct psc_logit *logit = &top[step->top_n];
        if (!psc_slice_is_array(v) || !psc_cursor_element(&pair, &id) || !psc_slice_i64(id, &logit->id) ||
            !psc_cursor_element(&pair, &p))
            continue;
        logit->p = psc_slice_f64(p);
        step->top_n++;
    }
    step->top = top;
    return true;
}

enum psc_status psc_step_read(struct psc_arena *arena, const struct psc_source *source, struct psc_slice text,
                              const struct psc_graph *graph, struct psc_step *ret, struct psc_error *reterr)
{
    struct psc_slice key, v, nodes = {0}, top = {0}, words = {0}, ours = {0};
    struct psc_step step = {.text = ""};
    bool nomem = false;
    if (!psc_slice_is_object(text))
        return psc_fail(reterr, PSC_ERR_PARSE, "a step must be an object, not %s", psc_slice_kind(text));
    struct psc_cursor c = psc_cursor_open(text);
    while (psc_cursor_member(&c, &key, &v)) {
        if (psc_slice_is_key(key, "nodes"))
            nodes = v;
        else if (psc_slice_is_key(key, "logits_top"))
            top = v;
        else if (psc_slice_is_key(key, "text"))
            words = v;
        else if (psc_slice_is_key(key, "planscope"))
            ours = v;
        else if (psc_slice_is_key(key, "token"))
            step.has_token = psc_slice_i64(v, &step.token);
    }
    if (words.n) {
        const char *s = psc_source_string(source, arena, words, &nomem);
        step.text = s ? s : "";
    }
    if (nomem || !read_top(arena, top, &step))
        return psc_fail_nomem(reterr);
    enum psc_status status = read_records(arena, nodes, graph, &step, reterr);
    if (status == PSC_OK && !psc_slice_is_null(ours))
        status = psc_step_ours_read(arena, ours, graph, &step, reterr);
    if (status == PSC_OK)
        *ret = step;
    return status;
}
