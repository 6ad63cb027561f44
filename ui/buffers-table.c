#include "ui/tables.h"

#include "ui/draw/palette.h"

#include <math.h>

static uint32_t count(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study && study->analysis->story ? study->analysis->story->buffer_n : 0;
}

static const struct psc_buffer *at(PscWorkspace *ws, uint32_t buffer)
{
    return &psc_workspace_study(ws)->analysis->story->buffers[buffer];
}

static void name_text(PscWorkspace *ws, uint32_t buffer, struct psc_text *out)
{
    psc_add_buffer(out, psc_workspace_study(ws), buffer);
}

static void role_text(PscWorkspace *ws, uint32_t buffer, struct psc_text *out)
{
    psc_text_add(out, psc_role_name(at(ws, buffer)->role));
}

static int role_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return (int)at(ws, a)->role - (int)at(ws, b)->role;
}

static void bytes_text(PscWorkspace *ws, uint32_t buffer, struct psc_text *out)
{
    char text[24];
    psc_text_add(out, at(ws, buffer)->bytes == UINT64_MAX ? "not known"
                                                          : psc_bytes_text(at(ws, buffer)->bytes, text, sizeof text));
}

static int bytes_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint64_t x = at(ws, a)->bytes, y = at(ws, b)->bytes;
    return x < y ? -1 : x > y;
}

static double bytes_bar(PscWorkspace *ws, uint32_t buffer, guint *ret_colour)
{
    uint64_t largest = psc_workspace_study(ws)->largest_buffer, bytes = at(ws, buffer)->bytes;
    *ret_colour = at(ws, buffer)->role == PSC_ROLE_PERSISTENT ? PSC_COL_KV_EDGE : PSC_COL_ACT_FILL;
    return bytes == UINT64_MAX || !largest ? -1 : sqrt((double)bytes / (double)largest);
}

static void tenants_text(PscWorkspace *ws, uint32_t buffer, struct psc_text *out)
{
    psc_text_addf(out, "%u", psc_workspace_study(ws)->tenants[buffer]);
}

static int tenants_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    const uint32_t *n = psc_workspace_study(ws)->tenants;
    return n[a] < n[b] ? -1 : n[a] > n[b];
}

static void flags_text(PscWorkspace *ws, uint32_t buffer, struct psc_text *out)
{
    if (psc_workspace_study(ws)->buffer_marks[buffer])
        psc_text_add(out, "\xe2\x9a\xa0");
}

static int flags_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    const uint8_t *marks = psc_workspace_study(ws)->buffer_marks;
    return (marks[b] != 0) - (marks[a] != 0);
}

static const char *flags_style(PscWorkspace *ws, uint32_t buffer)
{
    return psc_workspace_study(ws)->buffer_marks[buffer] ? "clobber" : NULL;
}

static gboolean match(PscWorkspace *ws, const PscFilter *filter, uint32_t buffer)
{
    return psc_filter_buffer(filter, psc_workspace_study(ws), buffer);
}

static uint32_t selected(PscWorkspace *ws)
{
    return psc_workspace_selection(ws).buffer;
}

static const PscColumn columns[] = {
    {.title = "buffer", .expand = TRUE, .names_row = TRUE, .middle = TRUE, .text = name_text},
    {.title = "role", .width = 70, .spare = TRUE, .text = role_text, .compare = role_compare},
    {.title = "bytes", .width = 104, .text = bytes_text, .compare = bytes_compare, .bar = bytes_bar},
    {.title = "tenants", .width = 60, .right = TRUE, .spare = TRUE, .text = tenants_text, .compare = tenants_compare},
    {.title = "\xe2\x9a\xa0", .width = 30, .text = flags_text, .compare = flags_compare, .style = flags_style},
};
const PscTableKind psc_buffers_table = {
    .label = "Buffers", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count, .match = match,
    .select = psc_workspace_select_buffer, .selected = selected,
};
