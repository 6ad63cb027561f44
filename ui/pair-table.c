#include "ui/pair-table.h"

#include "ui/pair.h"

#include <string.h>

static const struct psc_plan_change *at(PscWorkspace *ws, uint32_t row)
{
    return psc_pair_at(psc_pair_of(ws), row);
}

static uint32_t count(PscWorkspace *ws)
{
    return psc_pair_n(psc_pair_of(ws));
}

static void tensor_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_plan_diff *d = psc_pair_diff(psc_pair_of(ws));
    const struct psc_plan_change *c = at(ws, row);
    const struct psc_diff_side *side = c->a != PSC_NONE ? &d->a : &d->b;
    uint32_t value = c->a != PSC_NONE ? c->a : c->b;
    psc_node node = psc_diff_node(side, value);
    char label[128];
    if (node != PSC_NONE)
        psc_text_addf(out, "#%llu %s", (unsigned long long)side->graph->nodes[node].id,
                      psc_node_label(side->graph, node, label, sizeof label));
    else
        psc_text_add(out, psc_value_label(side->story, side->graph, value, label, sizeof label));
}

static void what_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    bool first = true;
    for (int k = 0; k < PSC_CHANGE_N; k++) {
        if (!(at(ws, row)->what & 1u << k))
            continue;
        psc_text_addf(out, "%s%s", first ? "" : ", ", psc_change_name((enum psc_change)k));
        first = false;
    }
}

static int what_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return at(ws, a)->what < at(ws, b)->what ? -1 : at(ws, a)->what > at(ws, b)->what;
}

static void bytes_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    int64_t bytes = at(ws, row)->peak_bytes;
    char buf[32];
    if (bytes)
        psc_text_addf(out, "%s%s", bytes < 0 ? "\xe2\x88\x92" : "+",
                      psc_thousands((uint64_t)(bytes < 0 ? -bytes : bytes), buf, sizeof buf));
}

static int bytes_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    int64_t x = at(ws, a)->peak_bytes, y = at(ws, b)->peak_bytes;
    return x < y ? -1 : x > y;
}

static const char *bytes_style(PscWorkspace *ws, uint32_t row)
{
    return at(ws, row)->peak_bytes < 0 ? "right" : NULL;
}

static void pick(PscWorkspace *ws, uint32_t row)
{
    psc_pair_pick(psc_pair_of(ws), row);
}

static uint32_t picked(PscWorkspace *ws)
{
    return psc_pair_picked(psc_pair_of(ws));
}

static const PscColumn columns[] = {
    {.title = "tensor", .width = 100, .names_row = TRUE, .middle = TRUE, .text = tensor_text},
    {.title = "what differs", .expand = TRUE, .text = what_text, .compare = what_compare},
    {.title = "peak bytes", .width = 76, .right = TRUE, .text = bytes_text, .compare = bytes_compare, .style = bytes_style},
};
const PscTableKind psc_pair_table = {
    .label = "Differences", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count, .select = pick, .selected = picked,
};
