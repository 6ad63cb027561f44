#include "ui/tables.h"

#include "core/debug/explain.h"
#include "ui/navigate.h"

#include <math.h>
#include <string.h>

static void add_place(struct psc_text *out, const PscStudy *study, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    char text[27];
    psc_add_buffer(out, study, buffer);
    psc_text_addf(out, " [0x%" G_GINT64_MODIFIER "x, +%s)", lo, psc_thousands(hi - lo, text, sizeof text));
}

/* ---- problems ------------------------------------------------------------------------------ */

static const struct psc_finding *finding(PscWorkspace *ws, uint32_t row)
{
    return &psc_workspace_study(ws)->analysis->check.findings[row];
}

static uint32_t problems_n(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->check.finding_n : 0;
}

static void kind_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    enum psc_kind kind = finding(ws, row)->kind;
    psc_text_addf(out, "\xe2\x9a\xa0 %s %s", psc_kind_name(kind), psc_kind_text(kind));
}

static int kind_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return (int)finding(ws, a)->kind - (int)finding(ws, b)->kind;
}

static const char *kind_style(PscWorkspace *ws G_GNUC_UNUSED, uint32_t row G_GNUC_UNUSED)
{
    return "clobber";
}

static void victim_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const PscStudy *study = psc_workspace_study(ws);
    const struct psc_finding *f = finding(ws, row);
    char label[96];
    if ((f->victim == PSC_NONE || !study->graph) && study->analysis->story->titles)
        psc_text_add(out, psc_value_label(study->analysis->story, study->graph, f->victim_value, label, sizeof label));
    else
        psc_add_node(out, study, f->victim);
}

static void writer_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_finding *f = finding(ws, row);
    bool executed = f->kind == PSC_K9 || f->kind == PSC_K10;
    if (f->writer == PSC_NONE && f->writer_value == PSC_NONE && !executed)
        psc_text_add(out, "nobody");
    else
        psc_add_actor(out, psc_workspace_study(ws), f->writer, f->position);
}

static void reader_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_finding *f = finding(ws, row);
    if (f->reader_kind == PSC_READER_NODE || psc_workspace_study(ws)->analysis->story->titles)
        psc_add_actor(out, psc_workspace_study(ws), f->reader, f->read_position);
    else
        psc_text_add(out, psc_reader_name(f->reader_kind));
}

static void problem_bytes_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_finding *f = finding(ws, row);
    add_place(out, psc_workspace_study(ws), f->buffer, f->lo, f->hi);
}

static void confidence_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_add(out, psc_confidence_name(finding(ws, row)->confidence));
}

static void problem_select(PscWorkspace *ws, uint32_t row)
{
    psc_workspace_select_finding(ws, (int)row);
}

static uint32_t problem_selected(PscWorkspace *ws)
{
    int index = psc_workspace_selection(ws).finding;
    return index < 0 ? PSC_NONE : (uint32_t)index;
}

static const PscColumn problem_columns[] = {
    {.title = "kind", .width = 160, .names_row = TRUE, .text = kind_text, .compare = kind_compare, .style = kind_style},
    {.title = "victim", .width = 118, .text = victim_text},
    {.title = "writer", .width = 118, .text = writer_text},
    {.title = "doomed read", .width = 118, .text = reader_text},
    {.title = "bytes", .expand = TRUE, .text = problem_bytes_text},
    {.title = "confidence", .width = 82, .text = confidence_text},
};
const PscTableKind psc_problems_table = {
    .label = "Problems", .columns = problem_columns, .column_n = G_N_ELEMENTS(problem_columns), .count = problems_n,
    .select = problem_select, .selected = problem_selected,
};

/* ---- recorded values ----------------------------------------------------------------------- */

static const struct psc_record_verdict *verdict(PscWorkspace *ws, uint32_t row)
{
    return &psc_workspace_records(ws)->check.list[row];
}

static uint32_t records_n(PscWorkspace *ws)
{
    PscRecords *records = psc_workspace_records(ws);
    return records ? records->check.n : 0;
}

static void record_node_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_add_node(out, psc_workspace_study(ws), verdict(ws, row)->node);
}

static void verdict_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    enum psc_verdict v = verdict(ws, row)->verdict;
    psc_text_addf(out, "%s %s",
                  v == PSC_RECORD_OWN           ? "\xe2\x97\x8f"
                  : v == PSC_RECORD_OVERWRITTEN ? "\xe2\x8a\x98"
                                                : "?",
                  psc_verdict_name(v));
}

static int verdict_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return (int)verdict(ws, a)->verdict - (int)verdict(ws, b)->verdict;
}

static const char *verdict_style(PscWorkspace *ws, uint32_t row)
{
    return verdict(ws, row)->verdict == PSC_RECORD_OVERWRITTEN ? "warn" : NULL;
}

static void holds_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_record_verdict *v = verdict(ws, row);
    if (v->verdict != PSC_RECORD_OVERWRITTEN)
        return;
    if (v->holds == PSC_NONE)
        psc_text_add(out, "another node's, not known whose");
    else
        psc_add_node(out, psc_workspace_study(ws), v->holds);
}

static int holds_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint32_t x = verdict(ws, a)->holds, y = verdict(ws, b)->holds;
    return x < y ? -1 : x > y;
}

static void certain_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_record_verdict *v = verdict(ws, row);
    const char *word = psc_verdict_confidence(v);
    if (v->verdict != PSC_RECORD_UNKNOWN)
        psc_text_add(out, !strcmp(word, "confirmed") ? "confirmed by values" : word);
}

/* A statistic of the record: which of the four is told by the column. */
static double statistic(PscWorkspace *ws, uint32_t row, int which)
{
    const struct psc_record *r = psc_records_of(psc_workspace_records(ws), verdict(ws, row)->node);
    if (!r || !r->has_stats)
        return NAN;
    return which == 0 ? r->min : which == 1 ? r->max : which == 2 ? r->mean : r->absmean;
}

static void add_statistic(struct psc_text *out, double value)
{
    if (isnan(value))
        psc_text_add(out, "\xe2\x80\x93");
    else
        psc_text_addf(out, "%.4g", value);
}

static int compare_statistic(PscWorkspace *ws, uint32_t a, uint32_t b, int which)
{
    double x = statistic(ws, a, which), y = statistic(ws, b, which);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return x < y ? -1 : x > y;
}

#define STATISTIC(name, which)                                                                                         \
    static void name##_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)                                      \
    {                                                                                                                  \
        add_statistic(out, statistic(ws, row, which));                                                                 \
    }                                                                                                                  \
    static int name##_compare(PscWorkspace *ws, uint32_t a, uint32_t b)                                                \
    {                                                                                                                  \
        return compare_statistic(ws, a, b, which);                                                                     \
    }
STATISTIC(min, 0)
STATISTIC(max, 1)
STATISTIC(mean, 2)
STATISTIC(absmean, 3)

static gboolean record_match(PscWorkspace *ws, const PscFilter *filter, uint32_t row)
{
    return psc_filter_node(filter, psc_workspace_study(ws), verdict(ws, row)->node);
}

static void record_select(PscWorkspace *ws, uint32_t row)
{
    psc_workspace_select_node(ws, verdict(ws, row)->node);
}

static uint32_t record_selected(PscWorkspace *ws)
{
    PscRecords *records = psc_workspace_records(ws);
    psc_node node = psc_workspace_selection(ws).node;
    return records && node < records->node_n ? records->verdict_of[node] : PSC_NONE;
}

static const PscColumn record_columns[] = {
    {.title = "recorded for", .width = 150, .names_row = TRUE, .text = record_node_text},
    {.title = "verdict", .width = 110, .text = verdict_text, .compare = verdict_compare, .style = verdict_style},
    {.title = "really holds", .expand = TRUE, .text = holds_text, .compare = holds_compare},
    {.title = "because", .width = 130, .text = certain_text},
    {.title = "min", .width = 72, .right = TRUE, .text = min_text, .compare = min_compare},
    {.title = "max", .width = 72, .right = TRUE, .text = max_text, .compare = max_compare},
    {.title = "mean", .width = 80, .right = TRUE, .spare = TRUE, .text = mean_text, .compare = mean_compare},
    {.title = "|mean|", .width = 72, .right = TRUE, .spare = TRUE, .text = absmean_text, .compare = absmean_compare},
};
const PscTableKind psc_records_table = {
    .label = "Recorded values", .columns = record_columns, .column_n = G_N_ELEMENTS(record_columns),
    .count = records_n, .match = record_match, .select = record_select, .selected = record_selected,
};

/* ---- accesses of the selected buffer --------------------------------------------------------- */

static const struct psc_history *history(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->history : NULL;
}

static uint32_t accesses_n(PscWorkspace *ws)
{
    const struct psc_history *h = history(ws);
    uint32_t buffer = psc_workspace_selection(ws).buffer;
    return h && buffer < h->story->buffer_n ? h->access_at[buffer + 1] - h->access_at[buffer] : 0;
}

static const struct psc_event *access_event(PscWorkspace *ws, uint32_t row)
{
    const struct psc_history *h = history(ws);
    return &h->story->events[h->accesses[h->access_at[psc_workspace_selection(ws).buffer] + row]];
}

static void access_at_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_add_position(out, psc_workspace_study(ws), access_event(ws, row)->position);
}

static void access_kind_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_add(out, psc_event_name(access_event(ws, row)->kind));
}

static int access_kind_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return (int)access_event(ws, a)->kind - (int)access_event(ws, b)->kind;
}

static void access_node_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_add_node(out, psc_workspace_study(ws), access_event(ws, row)->node);
}

static void access_value_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    PscStudy *study = psc_workspace_study(ws);
    uint32_t value = access_event(ws, row)->value;
    char label[96];
    if (value != PSC_NONE)
        psc_text_add(out, psc_value_label(study->analysis->story, study->graph, value, label, sizeof label));
}

static void access_bytes_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_event *e = access_event(ws, row);
    add_place(out, psc_workspace_study(ws), e->buffer, e->lo, e->hi);
}

static void access_select(PscWorkspace *ws, uint32_t row)
{
    psc_workspace_set_cursor(ws, access_event(ws, row)->position);
}

/* The last access at or before the cursor. */
static uint32_t access_selected(PscWorkspace *ws)
{
    uint32_t from = 0, to = accesses_n(ws);
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (access_event(ws, middle)->position <= psc_workspace_cursor(ws))
            from = middle + 1;
        else
            to = middle;
    }
    return from ? from - 1 : PSC_NONE;
}

static const PscColumn access_columns[] = {
    {.title = "at", .width = 54, .right = TRUE, .text = access_at_text},
    {.title = "access", .width = 90, .names_row = TRUE, .text = access_kind_text, .compare = access_kind_compare},
    {.title = "by", .width = 150, .text = access_node_text},
    {.title = "value", .width = 150, .text = access_value_text},
    {.title = "bytes", .expand = TRUE, .text = access_bytes_text},
};
const PscTableKind psc_accesses_table = {
    .label = "Accesses of the selected buffer", .columns = access_columns,
    .column_n = G_N_ELEMENTS(access_columns), .count = accesses_n, .select = access_select,
    .selected = access_selected,
};
