#include "ui/inspector-cards.h"

#include "core/debug/explain.h"
#include "ui/palette.h"
#include "ui/share-bar.h"
#include "ui/tables.h"
#include "ui/workspace-story.h"

#define HOLDERS_SHOWN 12

/* "910,336 B  (889 KiB)" */
static void bytes_line(PscCard *card, const char *key, uint64_t bytes, const char *after)
{
    char exact[27], text[24];
    psc_thousands(bytes, exact, sizeof exact);
    if (bytes < 1024) /* the same twice says nothing */
        psc_card_linef(card, key, "%s B%s", exact, after);
    else
        psc_card_linef(card, key, "%s B  (%s)%s", exact, psc_bytes_text(bytes, text, sizeof text), after);
}

void psc_card_of_lesson(PscCard *card, const struct psc_phase *phase)
{
    static const char *const headings[] = {"QUESTION", "WHERE TO LOOK", "ANSWER"};
    for (int i = 0; i < 3; i++) {
        if (!phase->lesson[i])
            continue;
        psc_card_section(card, headings[i]);
        if (i < 2) {
            psc_card_text(card, phase->lesson[i], NULL);
            continue;
        }
        /* The answer is given when asked for, and then stays. */
        if (psc_card_keeps(card, phase->lesson[i]))
            continue;
        GtkWidget *expander = gtk_expander_new("Show the answer");
        GtkWidget *label = gtk_label_new(phase->lesson[i]);
        gtk_label_set_wrap(GTK_LABEL(label), TRUE);
        gtk_label_set_xalign(GTK_LABEL(label), 0);
        gtk_expander_set_child(GTK_EXPANDER(expander), label);
        psc_card_widget(card, expander);
    }
}

static void note(PscCard *card, const struct psc_phase *phase)
{
    if (!phase->note)
        return;
    psc_card_section(card, "WHAT TO LOOK AT");
    psc_card_text(card, phase->note, NULL);
}

static void recorded(PscCard *card, PscRecords *records)
{
    const struct psc_record_check *check = &records->check;
    if (records->error) {
        psc_card_section(card, "RECORDED VALUES");
        psc_card_note(card, records->error, "note warn");
        return;
    }
    if (!check->n)
        return;
    char *heading = g_strdup_printf("RECORDED VALUES, %u", check->n);
    psc_card_section(card, heading);
    g_free(heading);
    psc_card_widget(card, psc_share_bar_new(check->own, check->overwritten, check->unknown));
    GString *counts = g_string_new(NULL);
    g_string_append_printf(counts, "\xe2\x97\x8f %u own", check->own);
    if (check->overwritten)
        g_string_append_printf(counts, "    \xe2\x8a\x98 %u overwritten before the copy", check->overwritten);
    if (check->unknown)
        g_string_append_printf(counts, "    ? %u not known", check->unknown);
    g_string_append(counts, check->own == check->n ? ": all of them." : ".");
    psc_card_text(card, counts->str, NULL);
    g_string_free(counts, TRUE);
    if (!records->holder_n)
        return;
    psc_card_section(card, "WHAT THE OVERWRITTEN RECORDS REALLY HOLD");
    for (uint32_t i = 0; i < MIN(records->holder_n, HOLDERS_SHOWN); i++) {
        char *key = g_strdup_printf("%u record%s", records->holders[i].count,
                                    records->holders[i].count == 1 ? "" : "s");
        psc_node node = records->holders[i].node;
        if (node == PSC_NONE) {
            psc_card_line(card, key, "not known whose");
        } else {
            int32_t layer = psc_workspace_study(card->ws)->graph->nodes[node].layer;
            char *after = layer >= 0 ? g_strdup_printf("layer %d", layer) : NULL;
            psc_card_node(card, key, node, after);
            g_free(after);
        }
        g_free(key);
    }
    if (records->holder_n > HOLDERS_SHOWN)
        psc_card_linef(card, "", "and %u more nodes, see Recorded values", records->holder_n - HOLDERS_SHOWN);
}

static void plan(PscCard *card, const PscStudy *study)
{
    const struct psc_analysis *a = study->analysis;
    psc_card_section(card, "PLAN");
    if (a->origin)
        psc_card_text(card, a->origin, "dim");
    if (!a->plan) {
        if (a->history) { /* named as the figures of a plan are: of buffers in use, and of what lies in them */
            bytes_line(card, "Peak live", a->history->used_peak_bytes, "");
            bytes_line(card, "Peak tensors", a->history->peak_bytes, "");
        }
        return;
    }
    const struct psc_figures *f = &a->plan->figures;
    psc_card_linef(card, "Buffers", "%" G_GUINT64_FORMAT " for %" G_GUINT64_FORMAT " placed tensors", f->buffers, f->placed);
    bytes_line(card, "Pool", f->pool_bytes, "");
    bytes_line(card, "Peak live", f->peak_live_bytes, "");
    bytes_line(card, "Peak tensors", f->peak_tensor_bytes, "");
    bytes_line(card, "Lower bound", f->lower_bound_bytes, "");
    bytes_line(card, "Naive", f->naive_bytes, ", a buffer a node");
    bytes_line(card, "Padding", f->padding_bytes, "");
    bytes_line(card, "KV", f->kv_bytes, "");
    psc_card_linef(card, "In place", "%" G_GUINT64_FORMAT, f->in_place);
    psc_card_linef(card, "Reused", "%" G_GUINT64_FORMAT, f->reused);
    psc_card_linef(card, "Dead", "%" G_GUINT64_FORMAT ", no buffer", f->dead);
    struct psc_text text = {0};
    psc_explain_peak(&text, a);
    if (text.n)
        psc_card_text(card, psc_text_str(&text), NULL);
    psc_text_release(&text);
}

static void legend(PscCard *card)
{
    static const char *const by_record[] = {
        "\xe2\x97\x8f solid bar: the record is the node's own value",
        "\xe2\x8a\x98 hollow bar: the record holds another node's value", NULL};
    static const char *const by_role[] = {
        "grey-blue: activation; green: KV; double edge: input or output",
        "slanted seam: in place, the next version of the same bytes", NULL};
    gboolean record = psc_workspace_colour_by(card->ws) == PSC_BY_RECORD;
    psc_card_section(card, record ? "COLOUR BY RECORDED VALUE" : "COLOUR BY ROLE");
    for (const char *const *line = record ? by_record : by_role; *line; line++)
        psc_card_text(card, *line, NULL);
    psc_card_text(card, "\xe2\x96\xbc write   \xe2\x96\xb2 read   \xe2\x97\x86 read and write in place   "
                        "\xe2\x96\xa0 filled by the host   \xe2\x96\xb6 copy", NULL);
    if (psc_workspace_story(card->ws) == PSC_STORY_BOTH)
        psc_card_text(card, "dashed outline: planned here; \xe2\x89\xa0 the run did otherwise than planned", NULL);
    if (psc_workspace_study(card->ws)->analysis->story->queued_n)
        psc_card_text(card, "pale and dashed: a kernel is only enqueued, also one that writes rows of K and V, until the thick line where the host has "
                            "waited for its queue", NULL);
    psc_card_text(card, "\xe2\x9a\xa0 orange hatch: clobber, and nothing else", "clobber");
}

void psc_card_of_run(PscCard *card)
{
    PscStudy *study = psc_workspace_study(card->ws);
    PscRecords *records = psc_workspace_records(card->ws);
    const struct psc_doc *doc = study->document->doc;
    GString *about = g_string_new(study->phase.kind && *study->phase.kind ? study->phase.kind : "phase");
    int32_t n = psc_study_end(study);
    g_string_append_printf(about, ", %d %s%s", n, study->graph ? "op" : "position", n == 1 ? "" : "s");
    for (uint32_t b = 0; study->graph && b < study->graph->backend_n; b++)
        g_string_append_printf(about, ", %s", study->graph->backends[b]);
    if (doc->model)
        g_string_append_printf(about, ", %s", doc->model);
    psc_card_title(card, "Whole run", about->str);
    g_string_free(about, TRUE);
    psc_card_of_lesson(card, &study->phase);
    note(card, &study->phase);
    if (records)
        recorded(card, records);
    if (study->analysis->story) {
        plan(card, study);
        legend(card);
    } else {
        psc_card_section(card, NULL);
        psc_card_text(card, "This phase has neither a graph nor events: there is no memory to show.", "dim");
    }
}
