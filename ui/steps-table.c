#include "ui/tables.h"

/* A story without a graph has titled positions instead of ops: operations of a cache, commands of queues. */
static const struct psc_story *story(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->story : NULL;
}

static uint32_t count(PscWorkspace *ws)
{
    const struct psc_story *s = story(ws);
    return s && s->titles && !psc_workspace_study(ws)->graph ? s->position_n : 0;
}

static void number_text(PscWorkspace *ws G_GNUC_UNUSED, uint32_t position, struct psc_text *out)
{
    psc_text_addf(out, "%u", position);
}

static void title_text(PscWorkspace *ws, uint32_t position, struct psc_text *out)
{
    psc_text_add(out, story(ws)->titles[position]);
}

/* What the position writes. */
static void bytes_text(PscWorkspace *ws, uint32_t position, struct psc_text *out)
{
    const struct psc_history *h = psc_workspace_study(ws)->analysis->history;
    uint64_t bytes = 0;
    char text[24];
    for (uint32_t i = h->position_at[position + 1]; i < h->position_at[position + 2]; i++)
        if (h->story->events[i].kind == PSC_EV_WRITE || h->story->events[i].kind == PSC_EV_ROWS_WRITE)
            bytes += h->story->events[i].hi - h->story->events[i].lo;
    if (bytes)
        psc_text_add(out, psc_bytes_text(bytes, text, sizeof text));
}

static gboolean is_part_of_a_finding(PscWorkspace *ws, uint32_t position)
{
    const struct psc_check *check = &psc_workspace_study(ws)->analysis->check;
    for (uint32_t i = 0; i < check->finding_n; i++)
        if (check->findings[i].position == (int32_t)position || check->findings[i].read_position == (int32_t)position)
            return TRUE;
    return FALSE;
}

static void flags_text(PscWorkspace *ws, uint32_t position, struct psc_text *out)
{
    if (is_part_of_a_finding(ws, position))
        psc_text_add(out, "\xe2\x9a\xa0");
}

static const char *flags_style(PscWorkspace *ws, uint32_t position)
{
    return is_part_of_a_finding(ws, position) ? "clobber" : NULL;
}

static gboolean match(PscWorkspace *ws, const PscFilter *filter, uint32_t position)
{
    return psc_filter_text(filter, story(ws)->titles[position]);
}

static void select_step(PscWorkspace *ws, uint32_t position)
{
    psc_workspace_set_cursor(ws, (int32_t)position);
}

static uint32_t selected(PscWorkspace *ws)
{
    int32_t cursor = psc_workspace_cursor(ws);
    return cursor >= 0 && (uint32_t)cursor < count(ws) ? (uint32_t)cursor : PSC_NONE;
}

static const PscColumn columns[] = {
    {.title = "#", .width = 38, .right = TRUE, .counts = TRUE, .text = number_text},
    {.title = "step", .expand = TRUE, .names_row = TRUE, .text = title_text},
    {.title = "writes", .width = 64, .text = bytes_text},
    {.title = "\xe2\x9a\xa0", .width = 42, .text = flags_text, .style = flags_style},
};
const PscTableKind psc_steps_table = {
    .label = "Steps", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count, .match = match,
    .select = select_step, .selected = selected,
};
