#include "ui/inspector-cards.h"

#include "core/candela/kept.h"
#include "core/debug/explain.h"

#define SHOWN 12

/* Reads, then writes, then what is given back: a line each, with a link to the buffer. */
static void accesses(PscCard *card, const PscStudy *study, int32_t position)
{
    static const struct { const char *heading; enum psc_event_kind kinds[2]; } parts[] = {
        {"READS", {PSC_EV_READ, PSC_EV_ROWS_READ}},
        {"WRITES", {PSC_EV_WRITE, PSC_EV_ROWS_WRITE}},
        {"GIVES BACK", {PSC_EV_RELEASE, PSC_EV_RELEASE}},
    };
    const struct psc_history *h = study->analysis->history;
    const struct psc_story *story = study->analysis->story;
    for (size_t k = 0; k < G_N_ELEMENTS(parts); k++) {
        uint32_t n = 0;
        for (uint32_t i = h->position_at[position + 1]; i < h->position_at[position + 2]; i++) {
            const struct psc_event *e = &story->events[i];
            char label[96], bytes[24];
            if ((e->kind != parts[k].kinds[0] && e->kind != parts[k].kinds[1]) || e->buffer == PSC_NONE)
                continue;
            if (!n)
                psc_card_section(card, parts[k].heading);
            if (n++ >= SHOWN)
                continue;
            char *after = e->value == PSC_NONE
                              ? g_strdup(psc_bytes_text(e->hi - e->lo, bytes, sizeof bytes))
                              : g_strdup_printf("%s, %s", psc_bytes_text(e->hi - e->lo, bytes, sizeof bytes),
                                                psc_value_label(story, NULL, e->value, label, sizeof label));
            psc_card_buffer(card, n > 1 ? "" : k == 0 ? "From" : k == 1 ? "To" : "Of", e->buffer, after);
            g_free(after);
        }
        if (n > SHOWN)
            psc_card_linef(card, "", "and %u more", n - SHOWN);
    }
}

static char *spell(const float *values, uint32_t n, uint64_t len)
{
    GString *s = g_string_new(NULL);
    for (uint32_t i = 0; i < n; i++)
        g_string_append_printf(s, "%s%g", i ? "  " : "", (double)values[i]);
    if (len > n)
        g_string_append(s, "  \u2026");
    return g_string_free(s, FALSE);
}

/* What the step of an expression gave when its plan was carried out, and what it should have given. */
static void values(PscCard *card, const struct psc_candela_kept *kept, int32_t position)
{
    if (!kept || !kept->verdict.samples || (uint32_t)position >= kept->plan->n)
        return;
    const struct psc_candela_sample *s = &kept->verdict.samples[position];
    const struct psc_candela_step *step = &kept->plan->steps[position];
    char shape[96];
    psc_card_section(card, "VALUES");
    psc_card_line(card, "Shape", psc_layout_text(&step->layout, shape, sizeof shape));
    if (!s->ran) {
        psc_card_line(card, "Gives", "nothing: it was not carried out");
        return;
    }
    char *got = spell(s->got, s->n, psc_layout_len(&step->layout)), *right = spell(s->right, s->n, psc_layout_len(&step->layout));
    psc_card_line(card, "Gives", got);
    if (strcmp(got, right))
        psc_card_line(card, "Right is", right);
    g_free(got);
    g_free(right);
}

/* Of arenas, "alloc y: 64 B from io; ...": what is done, then all that is said of it. */
static void title(PscCard *card, const struct psc_story *story, const char *text, const char *about)
{
    gsize n = 0, end = strlen(text);
    while (story->arena_n && n + 1 < end && !((text[n] == ':' || text[n] == '.') && text[n + 1] == ' '))
        n++;
    if (!story->arena_n || n + 1 >= end) {
        psc_card_title(card, text, about);
        return;
    }
    char *head = g_strndup(text, n);
    psc_card_title(card, head, about);
    psc_card_section(card, NULL);
    psc_card_text(card, text + n + 2, NULL);
    g_free(head);
}

void psc_card_of_position(PscCard *card, int32_t position)
{
    PscStudy *study = psc_workspace_study(card->ws);
    const struct psc_story *story = study->analysis->story;
    const struct psc_check *check = &study->analysis->check;
    char *about = g_strdup_printf("position %d, of %u in all", position, story->position_n);
    title(card, story, story->titles[position], about);
    g_free(about);
    bool any = false;
    for (uint32_t i = 0; i < check->finding_n; i++) {
        struct psc_text text = {0};
        if (check->findings[i].position != position && check->findings[i].read_position != position)
            continue;
        if (!any)
            psc_card_section(card, NULL);
        any = true;
        psc_text_add(&text, "\xe2\x9a\xa0 ");
        psc_explain_finding(&text, study->analysis, &check->findings[i]);
        psc_card_text(card, psc_text_str(&text), "clobber");
        psc_text_release(&text);
    }
    values(card, study->phase.expression, position);
    accesses(card, study, position);
    psc_card_of_lesson(card, &study->phase);
}
