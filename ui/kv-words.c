#include "ui/kv-words.h"

#include "ui/workspace.h"

static void add_touch(struct psc_text *out, const struct psc_kv_step *step, const char *before, uint32_t touch)
{
    char label[96];
    psc_node node = step->touches[touch].node;
    if (step->graph && node < step->graph->n)
        psc_text_addf(out, "%s#%" G_GUINT64_FORMAT " %s", before, step->graph->nodes[node].id,
                      psc_node_label(step->graph, node, label, sizeof label));
    else
        psc_text_addf(out, "%s#%u", before, node);
}

/* When the host sees what is on its way. */
static void add_done(struct psc_text *out, const struct psc_kv_step *step, uint32_t touch)
{
    int32_t done = step->touches[touch].done;
    if (step->graph && done < (int32_t)step->graph->n)
        psc_text_addf(out, ", there before position %d begins", done);
    else
        psc_text_add(out, ", there at the end");
}

void psc_kv_step_words(struct psc_text *out, const struct psc_kv_history *history, uint32_t ordinal)
{
    if (!history || ordinal >= history->step_n) {
        psc_text_addf(out, "step %u", ordinal + 1);
        return;
    }
    const struct psc_kv_figure *f = &history->figures[ordinal];
    gboolean only = f->is_prefill && f->step == 0 && (ordinal + 1 >= history->step_n || !history->figures[ordinal + 1].is_prefill);
    if (only)
        psc_text_add(out, "prefill");
    else
        psc_text_addf(out, "%s step %u", f->is_prefill ? "prefill" : "decode", f->step + 1);
}

void psc_kv_cell_words(struct psc_text *out, const struct psc_kv_step *step, uint32_t layer, uint32_t row, int32_t position)
{
    struct psc_kv_held cell = psc_kv_step_cell(step, layer, row, position);
    char number[32];
    psc_text_addf(out, "Layer %u, row %s", layer, psc_thousands(row, number, sizeof number));
    switch (cell.when) {
    case PSC_KV_NOW:
        if (psc_kv_is_pending(&step->touches[cell.by], position))
            add_touch(out, step, "\n\xe2\x96\xbd only enqueued by ", cell.by), add_done(out, step, cell.by);
        else
            add_touch(out, step, "\n\xe2\x96\xbc written in this step by ", cell.by);
        break;
    case PSC_KV_LATER: add_touch(out, step, "\nwill be written in this step by ", cell.by); break;
    case PSC_KV_NEVER:
        psc_text_add(out, step->history ? "\nnot written in any step so far" : "\nwhat earlier steps wrote is not known yet");
        break;
    default: break;
    }
    if (cell.before) {
        psc_text_add(out, cell.when == PSC_KV_NOW ? "\nbefore that written in " : "\nwritten in ");
        psc_kv_step_words(out, step->history, cell.before->from);
    }
    if (cell.reader != PSC_NONE)
        add_touch(out, step, "\n\xe2\x96\xb2 read by ", cell.reader);
    else if (cell.next_reader != PSC_NONE)
        add_touch(out, step, "\nwill be read by ", cell.next_reader);
}
