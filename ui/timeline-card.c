#include "ui/timeline-private.h"

#include "core/debug/explain.h"
#include "ui/draw/ghosts.h"
#include "ui/tables.h"

#define SHOWN 3 /* of the tensors in a merged place */

static void add_escaped(GString *out, const char *text)
{
    char *escaped = g_markup_escape_text(text, -1);
    g_string_append(out, escaped);
    g_free(escaped);
}

static void add_value(GString *out, const PscStudy *study, uint32_t tenancy)
{
    const struct psc_history *h = study->analysis->history;
    char label[96];
    add_escaped(out, psc_value_label(h->story, study->graph, h->tenancies[tenancy].value, label, sizeof label));
}

static void add_buffer(GString *out, const PscStudy *study, uint32_t buffer)
{
    struct psc_text text = {0};
    psc_add_buffer(&text, study, buffer);
    add_escaped(out, psc_text_str(&text));
    psc_text_release(&text);
}

static void add_neighbours(GString *out, const PscStudy *study, const struct psc_tenancy *t)
{
    if (t->prev_version != PSC_NONE) {
        g_string_append(out, "\n\xe2\x97\x86 the same bytes as ");
        add_value(out, study, t->prev_version);
        g_string_append(out, ", in place");
    } else if (t->prev_tenant != PSC_NONE) {
        g_string_append(out, "\nreused from ");
        add_value(out, study, t->prev_tenant);
    }
    if (t->next_version == PSC_NONE && t->next_tenant != PSC_NONE) {
        g_string_append(out, "\nnext: ");
        add_value(out, study, t->next_tenant);
    }
}

static void add_record(GString *out, PscTimeline *self, const PscStudy *study, psc_node node)
{
    const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(self->ws), node);
    if (!v)
        return;
    struct psc_text text = {0};
    psc_explain_record(&text, study->analysis, v);
    g_string_append(out, v->verdict == PSC_RECORD_OVERWRITTEN ? "\n\xe2\x8a\x98 " : "\n\xe2\x97\x8f ");
    add_escaped(out, psc_text_str(&text));
    psc_text_release(&text);
}

/* What becomes of the bytes after the last read. */
static const char *fate(const struct psc_history *h, const struct psc_tenancy *t)
{
    if (t->next_version != PSC_NONE)
        return "";
    if (t->next_tenant != PSC_NONE && h->tenancies[t->next_tenant].first <= t->last)
        return ", after the next one took its bytes";
    if (t->end > (int32_t)h->story->position_n)
        return ", kept to the end of the run";
    return t->end > t->last + 1 ? ", kept beyond it" : ", free after it";
}

static char *bar_text(PscTimeline *self, const PscStudy *study, uint32_t bar)
{
    const struct psc_history *h = study->analysis->history;
    const struct psc_tenancy *t = &h->tenancies[bar];
    const struct psc_value *value = &h->story->values[t->value];
    char bytes[24];
    GString *out = g_string_new("<b>");
    add_value(out, study, bar);
    g_string_append(out, "</b>  ");
    add_buffer(out, study, t->buffer);
    g_string_append_printf(out, ", %s", psc_bytes_text(t->hi - t->lo, bytes, sizeof bytes));
    if (t->first < 0)
        g_string_append(out, "\n\xe2\x96\xa0 filled by the host");
    else
        g_string_append_printf(out, "\n\xe2\x96\xbc written at %d", t->first);
    if (t->last > t->first) {
        if (t->last >= (int32_t)h->story->position_n)
            g_string_append(out, "\n\xe2\x96\xb2 read by the host at the end");
        else
            g_string_append_printf(out, "\n\xe2\x96\xb2 last read at %d%s", t->last, fate(h, t));
    }
    add_neighbours(out, study, t);
    add_record(out, self, study, value->node);
    return g_string_free(out, FALSE);
}

/* A merged place says how many it stands for, and names the first of them. */
static char *merged_text(const PscStudy *study, const struct psc_hit *hit)
{
    const struct psc_history *h = study->analysis->history;
    uint32_t buffer = h->tenancies[hit->bar].buffer;
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "<b>\xc3\x97%u tenants of ", hit->count);
    add_buffer(out, study, buffer);
    g_string_append(out, "</b>");
    for (uint32_t i = 0; i < MIN(hit->count, SHOWN) && hit->bar + i < h->buffer_at[buffer + 1]; i++) {
        g_string_append(out, "\n");
        add_value(out, study, hit->bar + i);
        g_string_append_printf(out, ", %d\xe2\x80\x93%d", h->tenancies[hit->bar + i].first, h->tenancies[hit->bar + i].last);
    }
    if (hit->count > SHOWN)
        g_string_append(out, "\n\xe2\x80\xa6 zoom in (Ctrl+wheel) to tell them apart");
    return g_string_free(out, FALSE);
}

/* What the plan wanted where the pointer is, or what the run did otherwise. */
static char *otherwise_text(PscTimeline *self, const PscStudy *study, const struct psc_hit *hit)
{
    const struct psc_ghosts *g = psc_workspace_picture(self->ws)->scene->ghosts;
    GString *out = g_string_new(NULL);
    if (hit->diff != PSC_NONE) {
        struct psc_text text = {0};
        psc_explain_story_diff(&text, study->graph, study->analysis->predicted, study->analysis->recorded,
                               &g->comparison->diffs[hit->diff]);
        g_string_append(out, "\xe2\x89\xa0 ");
        add_escaped(out, psc_text_str(&text));
        psc_text_release(&text);
    }
    if (hit->ghost != PSC_NONE) {
        const struct psc_ghost *ghost = &g->list[hit->ghost];
        char label[96], bytes[24];
        g_string_append(out, out->len ? "\nplanned here: <b>" : "planned here: <b>");
        add_escaped(out, psc_value_label(g->planned, study->graph, ghost->value, label, sizeof label));
        g_string_append_printf(out, "</b>, %s, ops %d\xe2\x80\x93%d; the run did otherwise",
                               psc_bytes_text(ghost->hi - ghost->lo, bytes, sizeof bytes), ghost->first, ghost->end - 1);
    }
    return g_string_free(out, FALSE);
}

char *psc_timeline_card_text(PscTimeline *self, const struct psc_hit *hit)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_check *check = &study->analysis->check;
    if (hit->alarm != PSC_NONE && hit->alarm < check->finding_n) {
        struct psc_text text = {0};
        psc_explain_finding(&text, study->analysis, &check->findings[hit->alarm]);
        GString *out = g_string_new("\xe2\x9a\xa0 ");
        add_escaped(out, psc_text_str(&text));
        psc_text_release(&text);
        return g_string_free(out, FALSE);
    }
    if (hit->diff != PSC_NONE || (hit->ghost != PSC_NONE && hit->bar == PSC_NONE))
        return otherwise_text(self, study, hit);
    if (hit->bar == PSC_NONE || hit->bar >= study->analysis->history->tenancy_n)
        return NULL;
    char *text = hit->what == PSC_HIT_MERGED && hit->count > 1 ? merged_text(study, hit) : bar_text(self, study, hit->bar);
    if (hit->ghost == PSC_NONE)
        return text;
    char *planned = otherwise_text(self, study, hit), *both = g_strconcat(text, "\n", planned, NULL);
    g_free(planned);
    g_free(text);
    return both;
}
