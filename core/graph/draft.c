#include "core/graph/draft.h"

#include "core/base/mem.h"
#include "core/graph/edges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_KINDS 16u /* different unknown op texts that get a note of their own */

const char *psc_draft_text(const char *text, char buf[PSC_DRAFT_NAME])
{
    if (!text || !text[0])
        text = "unnamed";
    size_t n = strlen(text);
    bool cut = n >= PSC_DRAFT_NAME;
    if (cut) {
        n = PSC_DRAFT_NAME - 4;
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    for (size_t k = 0; k < n; k++)
        buf[k] = (unsigned char)text[k] < 0x20 || text[k] == 0x7f ? '?' : text[k];
    memcpy(buf + n, cut ? "..." : "", cut ? 4 : 1);
    return buf;
}

/* "node 5 (ffn_up)" */
#define WHO "node %llu (%s)"
#define TELL(node, buf) (unsigned long long)(node)->id, psc_draft_text((node)->name, buf)

static void fault(struct psc_resolved *r, uint32_t at, const char *text)
{
    const struct psc_draft_node *node = &r->draft->nodes[at];
    char name[PSC_DRAFT_NAME];
    psc_report_add(r->report, PSC_FAULT, 0, 0, node->byte, WHO ": %s", TELL(node, name), text);
}

void psc_draft_more(const struct psc_resolved *r, uint32_t n, const char *what)
{
    if (n > PSC_DRAFT_ALIKE)
        psc_report_add(r->report, PSC_WARNING, 0, 0, UINT64_MAX, "%u more %s", n - PSC_DRAFT_ALIKE, what);
}

/* ---- ids ------------------------------------------------------------------------------------- */

struct id_at {
    uint64_t id;
    uint32_t at;
};

static int by_id_then_place(const void *a, const void *b)
{
    const struct id_at *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool sort_ids(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    bool dense = true, ascending = true;
    for (uint32_t i = 0; i < d->n; i++) {
        dense = dense && d->nodes[i].id == i;
        ascending = ascending && (!i || d->nodes[i - 1].id < d->nodes[i].id);
    }
    if (dense)
        return true;
    struct id_at *pairs = psc_arena_alloc(r->scratch, d->n, sizeof *pairs);
    r->by_id = psc_arena_alloc(r->scratch, d->n, sizeof *r->by_id);
    if (!pairs || !r->by_id)
        return false;
    for (uint32_t i = 0; i < d->n; i++)
        pairs[i] = (struct id_at){d->nodes[i].id, i};
    if (!ascending)
        qsort(pairs, d->n, sizeof *pairs, by_id_then_place);
    for (uint32_t i = 0; i < d->n; i++)
        r->by_id[i] = pairs[i].at;
    return true;
}

uint32_t psc_draft_find(const struct psc_resolved *r, uint64_t id)
{
    const struct psc_draft *d = r->draft;
    if (!r->by_id)
        return id < d->n ? (uint32_t)id : PSC_NONE;
    uint32_t lo = 0, hi = d->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (d->nodes[r->by_id[mid]].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n && d->nodes[r->by_id[lo]].id == id ? r->by_id[lo] : PSC_NONE;
}

/* ", so src 1 of node 3 is ambiguous" for the first operand that names `id`; "" when none does. */
static void tell_ambiguous(const struct psc_draft *d, uint64_t id, char *buf, size_t size)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < d->n; i++)
        for (uint32_t k = 0; k < d->nodes[i].src_n; k++)
            if (d->nodes[i].src[k] == id) {
                snprintf(buf, size, ", so src %llu of node %llu is ambiguous", (unsigned long long)id,
                         (unsigned long long)d->nodes[i].id);
                return;
            }
}

static void check_duplicates(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    bool told = false;
    for (uint32_t k = 1; r->by_id && k < d->n; k++) {
        const struct psc_draft_node *a = &d->nodes[r->by_id[k - 1]], *b = &d->nodes[r->by_id[k]];
        if (a->id != b->id)
            continue;
        char a_name[PSC_DRAFT_NAME], b_name[PSC_DRAFT_NAME], ambiguous[96] = "";
        if (!told)
            tell_ambiguous(d, a->id, ambiguous, sizeof ambiguous);
        told = true; /* the search for the operand is linear: once a file */
        psc_report_add(r->report, PSC_FAULT, 0, 0, b->byte,
                       "duplicate id: id %llu is used by nodes[%u] (%s) and nodes[%u] (%s)%s",
                       (unsigned long long)a->id, r->by_id[k - 1], psc_draft_text(a->name, a_name), r->by_id[k],
                       psc_draft_text(b->name, b_name), ambiguous);
    }
}

/* ---- operands, inputs, outputs ------------------------------------------------------------------ */

static enum psc_status resolve_src(struct psc_resolved *r, struct psc_error *reterr)
{
    const struct psc_draft *d = r->draft;
    uint64_t total = 0;
    for (uint32_t i = 0; i < d->n; i++)
        total += d->nodes[i].src_n;
    if (total > PSC_EDGES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the graph has %llu operands in all; at most %u fit",
                        (unsigned long long)total, PSC_EDGES_MAX);
    uint32_t *at = psc_arena_alloc(r->scratch, (size_t)d->n + 1, sizeof *at);
    psc_node *src = psc_arena_alloc(r->scratch, (size_t)total, sizeof *src);
    if (!at || !src)
        return psc_fail_nomem(reterr);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        at[i] = n;
        for (uint32_t k = 0; k < d->nodes[i].src_n; k++) {
            uint32_t s = psc_draft_find(r, d->nodes[i].src[k]);
            if (s == PSC_NONE)
                psc_report_add(r->report, PSC_FAULT, 0, 0, d->nodes[i].byte, "node %llu src %llu does not exist",
                               (unsigned long long)d->nodes[i].id, (unsigned long long)d->nodes[i].src[k]);
            else
                src[n++] = s;
        }
    }
    at[d->n] = n;
    r->src = (struct psc_edges){d->n, at, src};
    return PSC_OK;
}

static bool can_be_input(const struct psc_resolved *r, uint32_t i)
{
    enum psc_op op = r->facts[i].op;
    return op == PSC_OP_INPUT || (op == PSC_OP_OTHER && !r->draft->nodes[i].src_n);
}

static bool resolve_inputs(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    bool *listed = psc_arena_alloc0(r->scratch, d->n, sizeof *listed);
    r->inputs = psc_arena_alloc(r->scratch, (size_t)d->n, sizeof *r->inputs);
    if (!listed || !r->inputs)
        return false;
    uint32_t computed = 0, unlisted = 0;
    for (uint32_t k = 0; k < d->input_n; k++) {
        uint32_t i = psc_draft_find(r, d->inputs[k]);
        char name[PSC_DRAFT_NAME];
        if (i == PSC_NONE) {
            psc_report_add(r->report, PSC_FAULT, 0, 0, UINT64_MAX, "input %llu does not exist",
                           (unsigned long long)d->inputs[k]);
        } else if (!can_be_input(r, i)) {
            char op[PSC_DRAFT_NAME];
            if (computed++ < PSC_DRAFT_ALIKE)
                psc_report_add(r->report, PSC_WARNING, 0, 0, d->nodes[i].byte,
                               "input %llu (%s) is computed by the graph (%s); it is not treated as an input",
                               TELL(&d->nodes[i], name), psc_draft_text(d->nodes[i].op_name, op));
        } else if (!listed[i]) {
            listed[i] = true;
            r->inputs[r->input_n++] = i;
        }
    }
    for (uint32_t i = 0; i < d->n; i++) {
        char name[PSC_DRAFT_NAME];
        if (listed[i] || r->facts[i].op != PSC_OP_INPUT)
            continue;
        if (unlisted++ < PSC_DRAFT_ALIKE)
            psc_report_add(r->report, PSC_WARNING, 0, 0, d->nodes[i].byte,
                           WHO " is an input that the list of inputs does not name; it is treated as one",
                           TELL(&d->nodes[i], name));
        r->inputs[r->input_n++] = i;
    }
    psc_draft_more(r, computed, "listed inputs are computed by the graph");
    psc_draft_more(r, unlisted, "inputs are not named by the list of inputs");
    return true;
}

static bool resolve_outputs(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    bool *listed = psc_arena_alloc0(r->scratch, d->n, sizeof *listed);
    r->outputs = psc_arena_alloc(r->scratch, (size_t)d->n, sizeof *r->outputs);
    if (!listed || !r->outputs)
        return false;
    for (uint32_t k = 0; k < d->output_n; k++) {
        uint32_t i = psc_draft_find(r, d->outputs[k]);
        if (i == PSC_NONE) {
            psc_report_add(r->report, PSC_FAULT, 0, 0, UINT64_MAX, "output %llu does not exist",
                           (unsigned long long)d->outputs[k]);
        } else if (!listed[i]) {
            listed[i] = true;
            r->outputs[r->output_n++] = i;
        }
    }
    return true;
}

/* ---- one node by itself --------------------------------------------------------------------------- */

static bool count_elements(const uint64_t shape[4], uint64_t *ret)
{
    if (!shape[0] || !shape[1] || !shape[2] || !shape[3]) {
        *ret = 0;
        return true;
    }
    uint64_t n = 1;
    for (int k = 0; k < 4; k++)
        if (!psc_mul_u64(n, shape[k], &n))
            return false;
    *ret = n;
    return true;
}

static void check_shapes(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    uint64_t total = 0;
    bool told = false;
    for (uint32_t i = 0; i < d->n; i++) {
        const uint64_t *s = d->nodes[i].shape;
        struct psc_draft_fact *fact = &r->facts[i];
        if (!count_elements(s, &fact->elements) || !psc_dtype_bytes(fact->dtype, fact->elements, &fact->bytes) ||
            fact->bytes > PSC_BYTES_MAX) {
            char text[160];
            fact->elements = fact->bytes = 0;
            snprintf(text, sizeof text, "the shape [%llu, %llu, %llu, %llu] is too large: more than 2^60 bytes",
                     (unsigned long long)s[0], (unsigned long long)s[1], (unsigned long long)s[2],
                     (unsigned long long)s[3]);
            fault(r, i, text);
        }
        total += fact->bytes; /* both at most 2^60: no overflow */
        if (total > PSC_BYTES_MAX && !told) {
            fault(r, i, "with this node the graph's tensors need more than 2^60 bytes");
            told = true;
        }
        if (told)
            total = 0;
    }
}

static void check_operands(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    uint32_t many = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct psc_draft_node *node = &d->nodes[i];
        enum psc_op op = r->facts[i].op;
        const struct psc_op_info *info = psc_op_info(op);
        char text[160], name[PSC_DRAFT_NAME];
        uint32_t n = node->src_n;
        if (op == PSC_OP_INPUT && n)
            snprintf(text, sizeof text, "an input reads nothing, but it has %u operand%s", n, n == 1 ? "" : "s");
        else if (n < (uint32_t)info->src_min || (info->is_view && n != 1))
            snprintf(text, sizeof text, "%s takes %s%d operand%s, found %u", info->name,
                     info->src_max == info->src_min ? "" : "at least ", info->src_min,
                     info->src_min == 1 ? "" : "s", n);
        else if (info->src_max >= 0 && n > (uint32_t)info->src_max) {
            if (many++ < PSC_DRAFT_ALIKE)
                psc_report_add(r->report, PSC_WARNING, 0, 0, node->byte,
                               WHO ": %s takes at most %d operand%s, found %u; it is planned as if it read them all",
                               TELL(node, name), info->name, info->src_max, info->src_max == 1 ? "" : "s", n);
            continue;
        } else
            continue;
        fault(r, i, text);
    }
    psc_draft_more(r, many, "nodes have more operands than their op takes");
}

static void check_views(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct psc_draft_node *node = &d->nodes[i];
        enum psc_op op = r->facts[i].op;
        if (!psc_op_info(op)->is_view || node->src_n != 1 || r->src.at[i + 1] - r->src.at[i] != 1)
            continue;
        psc_node p = r->src.to[r->src.at[i]];
        const struct psc_draft_node *parent = &d->nodes[p];
        uint64_t offset = 0, end;
        uint64_t elements = op == PSC_OP_VIEW ? node->params.view_offset : 0;
        bool fits = psc_dtype_bytes(r->facts[p].dtype, elements, &offset) &&
                    psc_add_u64(offset, r->facts[i].bytes, &end) && end <= r->facts[p].bytes;
        r->facts[i].offset = offset;
        if (fits)
            continue;
        char text[256], name[PSC_DRAFT_NAME];
        snprintf(text, sizeof text, "the view takes %llu bytes from byte %llu of " WHO ", which has only %llu",
                 (unsigned long long)r->facts[i].bytes, (unsigned long long)offset, TELL(parent, name),
                 (unsigned long long)r->facts[p].bytes);
        fault(r, i, text);
    }
}

static void check_layers(struct psc_resolved *r)
{
    for (uint32_t i = 0; i < r->draft->n; i++)
        if (r->draft->nodes[i].layer >= (int32_t)PSC_LAYERS_MAX) {
            char text[96];
            snprintf(text, sizeof text, "layer %d is not below the limit of %u", r->draft->nodes[i].layer,
                     PSC_LAYERS_MAX);
            fault(r, i, text);
        }
}

/* One note for each unknown op text, with the number of nodes that have it. */
static void note_unknown(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    struct { const char *op; uint32_t first, n; } seen[UNKNOWN_KINDS];
    uint32_t seen_n = 0, more = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        if (r->facts[i].op != PSC_OP_OTHER)
            continue;
        const char *op = d->nodes[i].op_name ? d->nodes[i].op_name : "";
        uint32_t k = 0;
        while (k < seen_n && strcmp(seen[k].op, op))
            k++;
        if (k < seen_n)
            seen[k].n++;
        else if (seen_n == UNKNOWN_KINDS)
            more++;
        else {
            seen[seen_n].op = op;
            seen[seen_n].first = i;
            seen[seen_n++].n = 1;
        }
    }
    for (uint32_t k = 0; k < seen_n; k++) {
        bool one = seen[k].n == 1;
        char op[PSC_DRAFT_NAME];
        psc_report_add(r->report, PSC_NOTE, 0, 0, d->nodes[seen[k].first].byte,
                       "op \"%s\" is not known; %u node%s (first: %llu) %s planned by %s shape",
                       psc_draft_text(seen[k].op, op), seen[k].n, one ? "" : "s", (unsigned long long)d->nodes[seen[k].first].id,
                       one ? "is" : "are", one ? "its" : "their");
    }
    if (more)
        psc_report_add(r->report, PSC_NOTE, 0, 0, UINT64_MAX,
                       "%u more nodes have other unknown ops; they are planned by their shapes", more);
}

static void note_dtypes(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    uint32_t first = PSC_NONE, n = 0;
    for (uint32_t i = 0; i < d->n; i++)
        if (r->facts[i].dtype == PSC_DTYPE_OTHER && !n++)
            first = i;
    char dtype[PSC_DRAFT_NAME];
    if (n)
        psc_report_add(r->report, PSC_NOTE, 0, 0, d->nodes[first].byte,
                       "dtype \"%s\" of node %llu is not known; it counts as 4 bytes an element (%u node%s)",
                       psc_draft_text(d->nodes[first].dtype_name, dtype), (unsigned long long)d->nodes[first].id, n, n == 1 ? "" : "s");
}

/* ---- order ------------------------------------------------------------------------------------------ */

/* The first node that reads a node at or behind itself when place[] gives positions (NULL: identity). */
static uint32_t first_backwards(const struct psc_edges *src, const uint32_t *place)
{
    for (uint32_t i = 0; i < src->n; i++)
        for (uint32_t e = src->at[i]; e < src->at[i + 1]; e++) {
            psc_node s = src->to[e];
            if (place ? place[s] >= place[i] : s >= i)
                return e;
        }
    return PSC_NONE;
}

static bool choose_order(struct psc_resolved *r)
{
    const struct psc_draft *d = r->draft;
    uint32_t wrong = first_backwards(&r->src, NULL);
    if (wrong == PSC_NONE)
        return true;
    struct psc_edges readers;
    uint32_t *place = psc_arena_alloc(r->scratch, d->n, sizeof *place);
    r->order = psc_arena_alloc(r->scratch, d->n, sizeof *r->order);
    uint32_t ordered = 0;
    if (!place || !r->order || !psc_edges_reverse(r->scratch, &r->src, &readers) ||
        !psc_edges_kahn(r->scratch, &r->src, &readers, r->order, &ordered))
        return false;
    if (ordered < d->n)
        return psc_edges_report_cycles(r->scratch, &r->src, &readers, d, r->report) == PSC_OK;
    bool by_id = false;
    if (r->by_id) {
        for (uint32_t k = 0; k < d->n; k++)
            place[r->by_id[k]] = k;
        by_id = first_backwards(&r->src, place) == PSC_NONE;
        if (by_id)
            memcpy(r->order, r->by_id, d->n * sizeof *r->order);
    }
    uint32_t reader = 0;
    while (r->src.at[reader + 1] <= wrong)
        reader++;
    psc_report_add(r->report, PSC_WARNING, 0, 0, d->nodes[reader].byte,
                   "nodes are not listed in execution order: node %llu reads node %llu, which comes after it; "
                   "they are ordered by %s",
                   (unsigned long long)d->nodes[reader].id, (unsigned long long)d->nodes[r->src.to[wrong]].id,
                   by_id ? "ascending id" : "their operands");
    return true;
}

enum psc_status psc_draft_resolve(struct psc_resolved *r, struct psc_error *reterr)
{
    const struct psc_draft *d = r->draft;
    size_t faults = r->report->fault_n; /* of other graphs of the same file */
    r->facts = psc_arena_alloc0(r->scratch, d->n, sizeof *r->facts);
    if (!r->facts || !sort_ids(r))
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < d->n; i++) {
        r->facts[i].op = psc_op_from_name(d->nodes[i].op_name);
        r->facts[i].dtype = psc_dtype_from_name(d->nodes[i].dtype_name);
    }
    check_duplicates(r);
    enum psc_status status = resolve_src(r, reterr);
    if (status != PSC_OK)
        return status;
    if (!resolve_outputs(r) || !resolve_inputs(r))
        return psc_fail_nomem(reterr);
    check_shapes(r);
    check_operands(r);
    check_views(r);
    check_layers(r);
    note_unknown(r);
    note_dtypes(r);
    if (!choose_order(r) || r->report->failed)
        return psc_fail_nomem(reterr);
    return r->report->fault_n > faults ? psc_report_fail(r->report, PSC_ERR_GRAPH, reterr) : PSC_OK;
}
