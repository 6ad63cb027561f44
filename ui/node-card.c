#include "ui/inspector-cards.h"

#include "core/debug/explain.h"
#include "ui/heatmap.h"
#include "ui/part-view.h"
#include "ui/tables.h"

#define READERS_SHOWN 12

static void add_text(PscCard *card, const char *key, struct psc_text *text)
{
    psc_card_line(card, key, psc_text_str(text));
    psc_text_clear(text);
}

static void tensor(PscCard *card, const PscStudy *study, psc_node node)
{
    const struct psc_node_info *info = &study->graph->nodes[node];
    char bytes[24], exact[27];
    psc_card_section(card, "TENSOR");
    psc_card_linef(card, "Shape", "[%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
                   ", %" G_GUINT64_FORMAT "]  %s", info->shape[0], info->shape[1], info->shape[2], info->shape[3],
                   info->dtype_name ? info->dtype_name : psc_dtype_name(info->dtype));
    psc_card_linef(card, "Bytes", "%s  (%s)", psc_thousands(info->bytes, exact, sizeof exact),
                   psc_bytes_text(info->bytes, bytes, sizeof bytes));
    if (info->layer >= 0)
        psc_card_linef(card, "Layer", "%d of %u, %s", info->layer, study->graph->layer_n,
                       psc_node_backend_name(study->graph, node));
    else
        psc_card_line(card, "Backend", psc_node_backend_name(study->graph, node));
    if (info->params->weight)
        psc_card_linef(card, "Weight", "%s%s%s", info->params->weight, info->params->wtype ? ", " : "",
                       info->params->wtype ? info->params->wtype : "");
    for (uint32_t k = 0; k < info->src_n; k++)
        psc_card_node(card, k ? "" : "Operands", psc_node_srcs(study->graph, node)[k], NULL);
    if (info->name)
        psc_card_line(card, "Name", info->name);
}

static void placement(PscCard *card, const PscStudy *study, psc_node node)
{
    const struct psc_analysis *a = study->analysis;
    uint32_t buffer = psc_study_buffer(study, node);
    char exact[27], whole[27];
    struct psc_text text = {0};
    psc_card_section(card, "PLACEMENT");
    if (buffer != PSC_NONE) {
        const struct psc_buffer *b = &a->story->buffers[buffer];
        const struct psc_tenancy *t = psc_study_tenancy(study, node);
        uint64_t lo = t ? t->lo : 0, bytes = t ? t->hi - t->lo : study->graph->nodes[node].bytes;
        psc_text_addf(&text, "0x%05" G_GINT64_MODIFIER "x + %s of %s", b->base + lo,
                      psc_thousands(bytes, exact, sizeof exact),
                      b->bytes == UINT64_MAX ? "?" : psc_thousands(b->bytes, whole, sizeof whole));
        psc_card_buffer(card, "Buffer", buffer, psc_text_str(&text));
        psc_text_clear(&text);
    }
    psc_explain_place(&text, a, node);
    if (text.n)
        add_text(card, "Why", &text);
    const struct psc_plan *plan = a->plan;
    if (plan && node < plan->node_n) {
        const struct psc_place *place = &plan->places[node];
        for (uint32_t i = 0; i < place->refused_n; i++) {
            psc_explain_refused(&text, a, node, &plan->refused[place->refused_at + i]);
            add_text(card, i ? "" : "Refused", &text);
        }
    }
    psc_text_release(&text);
}

/* "#126 swiglu", each a link; a reader that reads it twice is listed once. */
static void readers(PscCard *card, const PscStudy *study, psc_node node)
{
    const struct psc_graph *g = study->graph;
    uint32_t from = g->reader_at[node], to = g->reader_at[node + 1], shown = 0;
    for (uint32_t i = from; i < to; i++) {
        if (i > from && g->readers[i] == g->readers[i - 1])
            continue;
        if (shown == READERS_SHOWN) {
            psc_card_linef(card, "", "and %u more", to - i);
            return;
        }
        psc_card_node(card, shown ? "" : "Read by", g->readers[i], i + 1 == to ? "last" : NULL);
        shown++;
    }
    if (g->nodes[node].is_output)
        psc_card_line(card, shown ? "" : "Read by", "the host, at the end");
    else if (!shown)
        psc_card_line(card, "Read by", "nobody");
}

static void neighbour(PscCard *card, const struct psc_history *h, const char *key, uint32_t tenancy)
{
    if (tenancy == PSC_NONE)
        return;
    const struct psc_tenancy *t = &h->tenancies[tenancy];
    struct psc_text at = {0};
    psc_text_add(&at, "ops ");
    psc_add_span(&at, h, t);
    psc_card_node(card, key, h->story->values[t->value].node, psc_text_str(&at));
    psc_text_release(&at);
}

static void life(PscCard *card, const PscStudy *study, psc_node node)
{
    const struct psc_history *h = study->analysis->history;
    const struct psc_tenancy *t = psc_study_tenancy(study, node);
    struct psc_text title = {0};
    psc_text_add(&title, "LIFE");
    if (t) {
        psc_text_add(&title, " IN ");
        psc_add_buffer(&title, study, t->buffer);
    }
    psc_card_section(card, psc_text_str(&title));
    psc_text_release(&title);
    if (t) {
        int32_t cursor = psc_workspace_cursor(card->ws);
        PscPicture *picture = psc_workspace_picture(card->ws);
        if (picture)
            psc_card_widget(card, psc_part_view_life(picture, (uint32_t)(t - h->tenancies), cursor));
        struct psc_text live = {0};
        psc_add_span(&live, h, t);
        psc_text_add(&live, cursor < t->first  ? ", not written yet at the cursor"
                            : cursor < t->end ? ", alive at the cursor"
                                              : ", gone at the cursor");
        psc_card_line(card, "Live", psc_text_str(&live));
        psc_text_release(&live);
        psc_node root = h->story->values[t->value].node;
        if (study->graph->nodes[node].is_input)
            psc_card_line(card, "Written by", "the host, before op 0");
        else if (root != node && root != PSC_NONE)
            psc_card_node(card, "Bytes of", root, "this is a view");
        else
            psc_card_linef(card, "Written by", "this op, at %d", study->position_of[node]);
    }
    readers(card, study, node);
    if (!t)
        return;
    neighbour(card, h, "Version of", t->prev_version);
    neighbour(card, h, "In place", t->next_version);
    neighbour(card, h, "Before it", t->prev_tenant);
    neighbour(card, h, "Next owner", t->next_tenant);
}

/* What the buffer holds just before the op under the cursor, and after it. */
static void before_after(PscCard *card, const PscStudy *study, psc_node node)
{
    const struct psc_history *h = study->analysis->history;
    const struct psc_tenancy *t = psc_study_tenancy(study, node);
    int32_t cursor = psc_workspace_cursor(card->ws);
    if (!t || cursor < 0)
        return;
    struct psc_text heading = {0};
    psc_add_buffer(&heading, study, t->buffer);
    psc_text_addf(&heading, " AT OP %d", cursor);
    psc_card_section(card, psc_text_str(&heading));
    psc_text_release(&heading);
    PscPicture *picture = psc_workspace_picture(card->ws);
    if (picture)
        psc_card_widget(card, psc_part_view_owners(picture, t->buffer, t->lo, cursor));
    for (int i = 0; i < 2; i++) {
        uint32_t tenant = psc_history_tenant(h, t->buffer, t->lo, cursor - 1 + i);
        const char *key = i ? "After" : "Before";
        if (tenant == PSC_NONE)
            psc_card_line(card, key, "nothing alive");
        else
            psc_card_node(card, key, h->story->values[h->tenancies[tenant].value].node, NULL);
    }
}

static void statistics(PscCard *card, const struct psc_record *record)
{
    if (record->has_stats) {
        psc_card_linef(card, "min, max", "%.6g, %.6g", record->min, record->max);
        psc_card_linef(card, "mean, |mean|", "%.6g, %.6g", record->mean, record->absmean);
    }
    if (record->nonfinite)
        psc_card_linef(card, "not finite", "%u of the samples", record->nonfinite);
    if (!record->value_n)
        return;
    char n[27];
    psc_card_linef(card, "samples", "%u of %s, stride %" G_GUINT64_FORMAT, record->value_n,
                   psc_thousands(record->n, n, sizeof n), record->stride);
    psc_card_widget(card, psc_heatmap_new(record));
}

static void recorded(PscCard *card, const PscStudy *study, psc_node node)
{
    PscRecords *records = psc_workspace_records(card->ws);
    const struct psc_record *record = psc_records_of(records, node);
    const struct psc_record_verdict *verdict = psc_records_verdict(records, node);
    if (!records)
        return;
    psc_card_section(card, "RECORDED VALUE");
    if (!record) {
        psc_card_text(card, "This step has no record of the node.", "dim");
        return;
    }
    if (verdict) {
        struct psc_text text = {0};
        psc_explain_record(&text, study->analysis, verdict);
        psc_card_note(card, psc_text_str(&text), verdict->verdict == PSC_RECORD_OWN ? "note right" : "note warn");
        psc_text_release(&text);
        if (verdict->verdict == PSC_RECORD_OVERWRITTEN && verdict->holds != PSC_NONE)
            psc_card_node(card, "Holds", verdict->holds, NULL);
    }
    statistics(card, record);
}

void psc_card_of_node(PscCard *card, psc_node node)
{
    PscStudy *study = psc_workspace_study(card->ws);
    const struct psc_node_info *info = &study->graph->nodes[node];
    struct psc_text title = {0};
    psc_add_node(&title, study, node);
    psc_card_title(card, psc_text_str(&title), psc_op_info(info->op)->word ? psc_op_info(info->op)->word : info->op_name);
    psc_text_release(&title);
    psc_card_badge(card, info->op_name ? info->op_name : "op", NULL);
    if (info->is_input && info->op != PSC_OP_INPUT)
        psc_card_badge(card, "input", NULL);
    if (info->is_output)
        psc_card_badge(card, "output", NULL);
    const struct psc_tenancy *t = psc_study_tenancy(study, node);
    if (t && t->prev_version != PSC_NONE)
        psc_card_badge(card, "in place", NULL);
    if (study->node_marks[node])
        psc_card_badge(card, "\xe2\x9a\xa0 clobber", "clobber-solid");
    if (study->analysis->story && study->analysis->story->predicted)
        psc_card_badge(card, "place predicted", NULL);
    psc_card_of_lesson(card, &study->phase);
    placement(card, study, node);
    recorded(card, study, node);
    life(card, study, node);
    before_after(card, study, node);
    tensor(card, study, node);
}
