/* Where the run did otherwise than planned: a row a difference. */
#include "ui/tables.h"

#include "ui/workspace-story.h"

static const struct psc_story_diff *difference(PscWorkspace *ws, uint32_t row)
{
    return &psc_workspace_comparison(ws)->diffs[row];
}

static uint32_t count(PscWorkspace *ws)
{
    const struct psc_story_comparison *c = psc_workspace_comparison(ws);
    return c ? c->diff_n : 0;
}

static void at_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_add_position(out, psc_workspace_study(ws), psc_workspace_difference_at(ws, difference(ws, row)));
}

static int at_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    int32_t x = psc_workspace_difference_at(ws, difference(ws, a)), y = psc_workspace_difference_at(ws, difference(ws, b));
    return x < y ? -1 : x > y;
}

static void op_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_node node = difference(ws, row)->node;
    if (node == PSC_NONE)
        psc_text_add(out, "the host");
    else
        psc_add_node(out, psc_workspace_study(ws), node);
}

static void kind_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_addf(out, "\xe2\x89\xa0 %s", psc_story_diff_name(difference(ws, row)->kind));
}

static int kind_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return (int)difference(ws, a)->kind - (int)difference(ws, b)->kind;
}

static void words_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const PscStudy *study = psc_workspace_study(ws);
    psc_explain_story_diff(out, study->graph, study->analysis->predicted, study->analysis->recorded, difference(ws, row));
}

static void jump(PscWorkspace *ws, uint32_t row)
{
    const struct psc_story_diff *d = difference(ws, row);
    psc_workspace_set_cursor(ws, psc_workspace_difference_at(ws, d));
    if (d->node != PSC_NONE)
        psc_workspace_select_node(ws, d->node);
}

/* The first difference at the cursor. */
static uint32_t selected(PscWorkspace *ws)
{
    int32_t cursor = psc_workspace_cursor(ws);
    uint32_t n = count(ws);
    for (uint32_t i = 0; i < n; i++)
        if (psc_workspace_difference_at(ws, difference(ws, i)) == cursor)
            return i;
    return PSC_NONE;
}

static const PscColumn columns[] = {
    {.title = "at", .width = 54, .right = TRUE, .text = at_text, .compare = at_compare},
    {.title = "op", .width = 150, .text = op_text},
    {.title = "difference", .width = 130, .text = kind_text, .compare = kind_compare},
    {.title = "what the run did", .expand = TRUE, .names_row = TRUE, .text = words_text},
};
const PscTableKind psc_differences_table = {
    .label = "Differences between plan and record", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count,
    .select = jump, .selected = selected,
};
