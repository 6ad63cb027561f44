#include "ui/inspector-cards.h"

#include "core/debug/explain.h"
#include "core/debug/finding-bytes.h"
#include "ui/tables.h"

/* Steps that are no nodes: commands of queues, operations of a cache. */
static void who_of_steps(PscCard *card, const PscStudy *study, const struct psc_finding *f)
{
    const struct psc_story *story = study->analysis->story;
    char label[96];
    struct psc_text text = {0};
    psc_card_line(card, "Victim", psc_value_label(story, NULL, f->victim_value, label, sizeof label));
    if (f->write_event != PSC_NONE)
        psc_add_actor(&text, study, PSC_NONE, f->position);
    else
        psc_text_add(&text, "nobody wrote the bytes");
    psc_card_line(card, "Writer", psc_text_str(&text));
    psc_text_clear(&text);
    psc_add_actor(&text, study, PSC_NONE, f->read_position);
    psc_card_line(card, f->kind == PSC_K6 ? "Beside it" : "Doomed read", psc_text_str(&text));
    psc_text_release(&text);
}

static void who_of_nodes(PscCard *card, const struct psc_finding *f)
{
    char *born = f->victim_position < 0 ? g_strdup("filled by the host") : g_strdup_printf("written at %d", f->victim_position);
    psc_card_node(card, "Victim", f->victim, born);
    g_free(born);
    if (f->writer == PSC_NONE && f->writer_value == PSC_NONE) {
        psc_card_line(card, "Writer", "nobody wrote the bytes");
    } else {
        char *at = f->position < 0 ? g_strdup("before op 0") : g_strdup_printf("at %d", f->position);
        psc_card_node(card, "Writer", f->writer, at);
        g_free(at);
    }
    if (f->reader_kind == PSC_READER_NODE) {
        char *at = g_strdup_printf("at %d", f->read_position);
        psc_card_node(card, "Doomed read", f->reader, at);
        g_free(at);
    } else {
        psc_card_line(card, "Doomed read", f->reader_kind == PSC_READER_EXPORT ? "the host, when the outputs are read"
                                           : f->reader_kind == PSC_READER_RERUN ? "a second run without refilled inputs"
                                                                                : "the host");
    }
}

static void who(PscCard *card, const PscStudy *study, const struct psc_finding *f)
{
    char exact[27];
    psc_card_section(card, "WHO");
    if (f->kind == PSC_K9 || f->kind == PSC_K10) {
        struct psc_text text = {0};
        psc_add_actor(&text, study, PSC_NONE, f->position);
        psc_card_line(card, "Step", psc_text_str(&text));
        psc_text_release(&text);
    } else if (study->analysis->story->titles)
        who_of_steps(card, study, f);
    else
        who_of_nodes(card, f);
    if (f->buffer < study->analysis->story->buffer_n) {
        const struct psc_buffer *b = &study->analysis->story->buffers[f->buffer];
        char *bytes = g_strdup_printf("[0x%" G_GINT64_MODIFIER "x, +%s), 0x%05" G_GINT64_MODIFIER "x in its pool", f->lo,
                                      psc_thousands(f->hi - f->lo, exact, sizeof exact), b->base + f->lo);
        psc_card_buffer(card, "Bytes", f->buffer, bytes);
        g_free(bytes);
    }
}

/* The words that it changes, where contents were recorded. */
static void which_words(PscCard *card, const PscStudy *study, const struct psc_finding *f)
{
    struct psc_contents contents;
    struct psc_text text = {0};
    if (!study->graph || study->analysis->story->titles)
        return;
    if (!psc_workspace_contents(card->ws, &contents)) {
        psc_card_section(card, "BYTES");
        psc_card_text(card, psc_bytes_unknown, "dim-label");
        return;
    }
    struct psc_finding_bytes bytes = psc_finding_bytes(study->analysis, f, &contents);
    uint32_t n = psc_explain_bytes_line_n(&bytes);
    if (n)
        psc_card_section(card, "BYTES");
    for (uint32_t k = 0; k < n; k++) {
        psc_text_clear(&text);
        psc_explain_bytes_line(&text, study->analysis, &bytes, k);
        psc_card_text(card, psc_text_str(&text), k ? "monospace" : NULL);
    }
    psc_text_release(&text);
}

void psc_card_of_finding(PscCard *card, int index)
{
    PscStudy *study = psc_workspace_study(card->ws);
    const struct psc_check *check = &study->analysis->check;
    if ((uint32_t)index >= check->finding_n)
        return;
    const struct psc_finding *f = &check->findings[index];
    bool executed = f->kind == PSC_K9 || f->kind == PSC_K10; /* a step, not two that meet */
    char *title = g_strdup_printf("\xe2\x9a\xa0 %s %d of %u", executed ? "Problem" : "Clobber", index + 1, check->finding_n);
    psc_card_title(card, title, NULL);
    g_free(title);
    char *kind = g_strdup_printf("%s %s", psc_kind_name(f->kind), psc_kind_text(f->kind));
    psc_card_badge(card, kind, "clobber-solid");
    psc_card_badge(card, psc_confidence_name(f->confidence), NULL);
    g_free(kind);
    struct psc_text text = {0};
    psc_card_section(card, NULL);
    psc_explain_finding(&text, study->analysis, f);
    psc_card_text(card, psc_text_str(&text), "strong");
    psc_text_clear(&text);
    who(card, study, f);
    psc_explain_finding_more(&text, study->analysis, f);
    if (text.n) {
        psc_card_section(card, executed ? "HOW IT IS KNOWN" : "WHAT WAS BELIEVED");
        psc_card_text(card, psc_text_str(&text), NULL);
    }
    psc_text_release(&text);
    which_words(card, study, f);
    psc_card_of_lesson(card, &study->phase);
}

/* Who lives in the buffer: its tensor, or how many share it. */
static void holds(PscCard *card, const PscStudy *study, uint32_t buffer, int32_t cursor)
{
    const struct psc_history *h = study->analysis->history;
    uint32_t alive = 0, of = PSC_NONE;
    uint64_t bytes = 0;
    char text[96];
    for (uint32_t t = h->buffer_at[buffer]; t < h->buffer_at[buffer + 1]; t++) {
        if (h->tenancies[t].first > cursor || h->tenancies[t].end <= cursor)
            continue;
        bytes += h->tenancies[t].hi - h->tenancies[t].lo;
        alive++, of = t;
    }
    if (alive > 1) {
        psc_card_linef(card, "Holds", "%u tensors, %s", alive, psc_bytes_text(bytes, text, sizeof text));
        return;
    }
    uint32_t value = alive ? h->tenancies[of].value : PSC_NONE;
    psc_node node = alive ? h->story->values[value].node : PSC_NONE;
    if (study->graph && node != PSC_NONE)
        psc_card_node(card, "Holds", node, NULL);
    else
        psc_card_line(card, "Holds", alive ? psc_value_label(h->story, study->graph, value, text, sizeof text) : "nothing alive");
}

void psc_card_of_buffer(PscCard *card, uint32_t buffer)
{
    PscStudy *study = psc_workspace_study(card->ws);
    const struct psc_story *story = study->analysis->story;
    const struct psc_buffer *b = &story->buffers[buffer];
    char exact[27], bytes[24];
    char *about = g_strdup_printf("%s buffer%s%s", psc_role_name(b->role), b->backend < story->backend_n ? " on " : "",
                                  b->backend < story->backend_n ? story->backends[b->backend] : "");
    psc_card_title(card, b->name, about);
    g_free(about);
    psc_card_section(card, "BUFFER");
    if (b->bytes == UINT64_MAX)
        psc_card_line(card, "Bytes", "not known");
    else
        psc_card_linef(card, "Bytes", "%s  (%s)", psc_thousands(b->bytes, exact, sizeof exact),
                       psc_bytes_text(b->bytes, bytes, sizeof bytes));
    psc_card_linef(card, "Address", "0x%05" G_GINT64_MODIFIER "x in its pool", b->base);
    psc_card_linef(card, "Tenants", "%u", study->tenants[buffer]);
    int32_t cursor = psc_workspace_cursor(card->ws);
    char *heading = cursor < 0 ? g_strdup(study->graph ? "BEFORE OP 0" : "BEFORE POSITION 0")
                               : g_strdup_printf(study->graph ? "AT OP %d" : "AT POSITION %d", cursor);
    psc_card_section(card, heading);
    g_free(heading);
    holds(card, study, buffer, cursor);
    if (study->buffer_marks[buffer])
        psc_card_text(card, "\xe2\x9a\xa0 A tensor was written over in this buffer: press X.", "clobber");
}
