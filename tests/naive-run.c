#include "tests/naive-run.h"

#include "core/graph/rules.h"

#include "tests/naive-check.h"

struct byte { psc_node value; uint64_t index; }; /* PSC_NONE: nobody wrote it */
struct range { uint32_t buffer; uint64_t lo, hi; };
struct run {
    const struct psc_graph *g;
    const struct psc_plan *plan;
    struct byte **bytes; /* [buffer][byte] */
    struct naive_lines *lines;
};

static gboolean is_view(const struct run *r, psc_node i)
{
    return r->plan->places[i].reason == PSC_WHY_VIEW;
}

static psc_node owner_of(const struct run *r, psc_node i)
{
    return is_view(r, i) ? (psc_node)r->plan->places[i].a : i;
}

static gboolean is_filled(const struct run *r, psc_node i)
{
    return r->g->nodes[i].is_input || r->g->nodes[i].op == PSC_OP_INPUT;
}

/* The bytes [lo, hi) of a node's window, where the plan has it. */
static struct range range_of(const struct run *r, psc_node i, uint64_t lo, uint64_t hi)
{
    const struct psc_place *place = &r->plan->places[i];
    return (struct range){place->buffer, place->offset + lo, place->offset + hi};
}

static void look(struct run *r, psc_node i, uint64_t lo, uint64_t hi, const char *kind, psc_node reader)
{
    uint64_t at = is_view(r, i) ? r->plan->places[i].b : 0;
    struct range range = range_of(r, i, lo, hi);
    for (uint64_t b = range.lo; b < range.hi; b++) {
        const struct byte *byte = &r->bytes[range.buffer][b];
        if (byte->value != owner_of(r, i) || byte->index != at + lo + (b - range.lo))
            naive_lines_add(r->lines, owner_of(r, i), range.buffer, b, b + 1, byte->value, kind, reader);
    }
}

static void put(struct run *r, psc_node i)
{
    struct range range = range_of(r, i, 0, r->g->nodes[i].bytes);
    for (uint64_t b = range.lo; b < range.hi; b++) {
        r->bytes[range.buffer][b] = (struct byte){i, b - range.lo};
        if (b >= r->plan->buffers[range.buffer].bytes)
            naive_lines_add(r->lines, i, range.buffer, b, b + 1, i, "node", PSC_NONE);
    }
}

/* What the node takes of operand k; a view that runs copies its own window. */
static gboolean operand_range(const struct run *r, psc_node i, uint32_t k, uint64_t *lo, uint64_t *hi)
{
    const struct psc_node_info *node = &r->g->nodes[i];
    psc_node from = psc_node_srcs(r->g, i)[k];
    struct psc_reading reading = psc_op_reading(r->g, i, k);
    *lo = reading.lo;
    *hi = reading.hi;
    if (node->parent != PSC_NONE) {
        *lo = node->root_offset - r->g->nodes[from].root_offset;
        *hi = *lo + node->bytes;
    }
    return r->plan->places[from].buffer != PSC_NONE && (node->parent != PSC_NONE || reading.access != PSC_ACCESS_NONE);
}

static gboolean joins_in_place(const struct run *r, psc_node i)
{
    if (r->g->nodes[i].op != PSC_OP_CONCAT)
        return FALSE;
    for (uint32_t k = 0; k < r->g->nodes[i].src_n; k++) {
        const struct psc_place *from = &r->plan->places[psc_node_srcs(r->g, i)[k]], *to = &r->plan->places[i];
        if (from->length && (from->buffer != to->buffer || !naive_stays(r->g, i, k, from->offset, to->offset)))
            return FALSE;
    }
    return TRUE;
}

/* An op writes while it reads: over an operand only where that is allowed, and exactly. */
static void look_over(struct run *r, psc_node i, uint32_t k, struct range from)
{
    struct range to = range_of(r, i, 0, r->g->nodes[i].bytes);
    gboolean exact = from.lo == to.lo && from.hi == to.hi;
    if (from.buffer != to.buffer || (exact && naive_overwrites(r->g->nodes[i].op, k)))
        return;
    for (uint64_t b = MAX(from.lo, to.lo); b < MIN(from.hi, to.hi); b++)
        naive_lines_add(r->lines, owner_of(r, psc_node_srcs(r->g, i)[k]), to.buffer, b, b + 1, i, "node", i);
}

static void carry_out(struct run *r, psc_node i)
{
    gboolean joins = joins_in_place(r, i);
    for (uint32_t k = 0; k < r->g->nodes[i].src_n; k++) {
        psc_node from = psc_node_srcs(r->g, i)[k];
        uint64_t lo, hi;
        if (!operand_range(r, i, k, &lo, &hi))
            continue;
        look(r, from, lo, hi, "node", i);
        if (!joins)
            look_over(r, i, k, range_of(r, from, lo, hi));
    }
    put(r, i);
}

static void set_up(struct run *r)
{
    uint64_t *size = g_new0(uint64_t, r->plan->buffer_n + 1);
    r->bytes = g_new0(struct byte *, r->plan->buffer_n + 1);
    for (psc_node i = 0; i < r->g->n; i++) {
        const struct psc_place *place = &r->plan->places[i];
        g_assert_false(psc_op_info(r->g->nodes[i].op)->is_kv);
        if (place->buffer != PSC_NONE)
            size[place->buffer] = MAX(size[place->buffer], place->offset + place->length);
    }
    for (uint32_t b = 0; b < r->plan->buffer_n; b++) {
        r->bytes[b] = g_new(struct byte, size[b] + 1);
        for (uint64_t k = 0; k < size[b]; k++)
            r->bytes[b][k] = (struct byte){PSC_NONE, 0};
    }
    g_free(size);
}

char *naive_run(const struct psc_graph *g, const struct psc_plan *plan)
{
    struct run r = {.g = g, .plan = plan, .lines = naive_lines_new()};
    set_up(&r);
    for (uint32_t k = 0; k < g->input_n; k++)
        if (plan->places[g->inputs[k]].buffer != PSC_NONE)
            put(&r, g->inputs[k]);
    for (psc_node i = 0; i < g->n; i++)
        if (is_filled(&r, i) && !g->nodes[i].is_input && plan->places[i].buffer != PSC_NONE)
            put(&r, i);
    for (psc_node i = 0; i < g->n; i++)
        if (!is_filled(&r, i) && !is_view(&r, i) && plan->places[i].buffer != PSC_NONE)
            carry_out(&r, i);
    for (uint32_t k = 0; k < g->output_n; k++)
        if (plan->places[g->outputs[k]].buffer != PSC_NONE)
            look(&r, g->outputs[k], 0, g->nodes[g->outputs[k]].bytes, "export", PSC_NONE);
    for (uint32_t b = 0; b < plan->buffer_n; b++)
        g_free(r.bytes[b]);
    g_free(r.bytes);
    return naive_lines_end(r.lines);
}
