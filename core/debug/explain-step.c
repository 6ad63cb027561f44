/* Sentences about one position and one recorded value. */
#include "core/debug/explain-words.h"

#include <string.h>

#define LIST_SHOWN 3

static void say_live(struct psc_text *out, const struct psc_analysis *a, int32_t position)
{
    const struct psc_history *h = a->history;
    uint64_t now = h->used_bytes[position + 1], before = position >= 0 ? h->used_bytes[position] : 0;

    bool begins = out->n >= 2 && out->s[out->n - 1] == ' ' && out->s[out->n - 2] == '.'; /* behind a sentence */
    psc_text_add(out, begins ? "Live " : "live ");
    psc_say_bytes(out, now);
    if (now != before) {
        psc_text_add(out, now > before ? " (+" : " (-");
        psc_say_bytes(out, now > before ? now - before : before - now);
        psc_text_add(out, ")");
    }
    if (h->used_peak_bytes)
        psc_text_addf(out, ", %u %% of peak", (unsigned)((double)now * 100.0 / (double)h->used_peak_bytes + 0.5));
}

/* What the events of one kind do at a position: "writes b9 [0x13400, +38.0 KiB]". */
static void say_events(struct psc_text *out, const struct psc_analysis *a, uint32_t from, uint32_t to, bool frees)
{
    const struct psc_story *story = a->story;
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        const struct psc_event *e = &story->events[i];
        bool writes = e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE;
        if (e->buffer == PSC_NONE || (frees ? e->kind != PSC_EV_RELEASE : !writes))
            continue;
        if (n++ >= LIST_SHOWN)
            continue;
        psc_text_add(out, n > 1 ? ", " : frees ? "frees " : "writes ");
        if (!frees) {
            const struct psc_buffer *buffer = &story->buffers[e->buffer];
            psc_say_buffer(out, story, e->buffer);
            if (e->kind == PSC_EV_ROWS_WRITE) {
                psc_text_add(out, " rows");
                continue;
            }
            psc_text_addf(out, " [0x%05llx, +", (unsigned long long)(buffer->base + e->lo));
            psc_say_bytes(out, e->hi - e->lo);
            psc_text_add(out, "]");
        } else if (e->value != PSC_NONE) {
            psc_say_value(out, a, e->value);
            psc_text_add(out, " (");
            psc_say_buffer(out, story, e->buffer);
            psc_text_add(out, ")");
        } else {
            psc_say_buffer(out, story, e->buffer);
        }
    }
    if (n > LIST_SHOWN)
        psc_text_addf(out, " and %u more", n - LIST_SHOWN);
    if (n)
        psc_text_add(out, "; ");
}

/* What a wait completes here; of what is only queued, when it is completed. */
static void say_queue(struct psc_text *out, const struct psc_analysis *a, int32_t position)
{
    const struct psc_story *s = a->story;
    const struct psc_graph *g = a->phase->graph;
    const struct psc_queued *q = psc_story_queued_at(s, position);
    for (uint32_t i = 0; i < s->queued_n; i++) {
        const struct psc_queued *w = &s->queued[i];
        if ((int64_t)w->done != position)
            continue;
        psc_text_addf(out, "the host has waited for %s, whose ops %u\xe2\x80\x93%u are completed; ", s->lanes[w->lane].name, w->first,
                      w->last);
    }
    if (!q)
        return;
    psc_text_addf(out, "only enqueued on %s, ", s->lanes[q->lane].name);
    psc_node node = psc_story_node_at(s, (int32_t)q->done);
    if (node == PSC_NONE)
        psc_text_add(out, "completed at the end");
    else if (g && node < g->n)
        psc_text_addf(out, "completed before #%llu %s", (unsigned long long)g->nodes[node].id, g->nodes[node].op_name);
    else
        psc_text_addf(out, "completed before step %u", q->done);
    psc_text_add(out, "; ");
}

/* "#425 attn writes 7.00 KiB over #416 add (b3), still needed by #429 get_rows, and 2 more; ": the damage that is done here. */
static void say_damage(struct psc_text *out, const struct psc_analysis *a, int32_t position)
{
    const struct psc_check *c = &a->check;
    uint32_t lo = 0, hi = c->finding_n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->findings[mid].position < position)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo >= c->finding_n || c->findings[lo].position != position)
        return;
    struct psc_text damage = {0};
    psc_explain_finding(&damage, a, &c->findings[lo]);
    size_t n = damage.n;
    psc_text_add(out, "\xe2\x9a\xa0 ");
    psc_text_add_n(out, psc_text_str(&damage), n && damage.s[n - 1] == '.' ? n - 1 : n); /* the sentence goes on here */
    uint32_t more = 0;
    while (lo + more + 1 < c->finding_n && c->findings[lo + more + 1].position == position)
        more++;
    if (more)
        psc_text_addf(out, ", and %u more", more);
    psc_text_add(out, "; ");
    out->failed |= damage.failed;
    psc_text_release(&damage);
}

static void say_subject(struct psc_text *out, const struct psc_analysis *a, int32_t position)
{
    const struct psc_graph *g = a->phase->graph;
    char label[128];

    if (position < 0) {
        psc_text_add(out, a->story->titles ? "Before the first step: "
                                           : "Before the first op: the host fills the inputs; ");
        return;
    }
    if ((uint32_t)position >= a->story->position_n) {
        psc_text_add(out, a->story->titles ? "After the last step: " : "After the last op: the host reads the outputs; ");
        return;
    }
    if (!g && a->story->titles) {
        const char *title = a->story->titles[position]; /* a sentence goes on here, its full stop does not */
        size_t n = strlen(title);
        psc_text_add_n(out, title, n && title[n - 1] == '.' ? n - 1 : n);
        psc_text_add(out, "; ");
        return;
    }
    psc_node node = psc_story_node_at(a->story, position);
    if (!g || node >= g->n) {
        psc_text_addf(out, "Step %d: ", position);
        return;
    }
    const struct psc_node_info *n = &g->nodes[node];
    psc_text_addf(out, "#%llu %s \xe2\x86\x92 %s", (unsigned long long)n->id, n->op_name,
                  psc_node_label(g, node, label, sizeof label));
    if (n->layer >= 0)
        psc_text_addf(out, ", layer %d", n->layer);
    psc_text_add(out, ": ");
    if (n->op == PSC_OP_INPUT)
        psc_text_add(out, "an input, filled before the first op; ");
    else if (n->root != node && a->plan && a->plan->places[node].reason == PSC_WHY_VIEW)
        psc_text_add(out, "a view, moves nothing; ");
    else if (a->plan && (a->plan->places[node].reason == PSC_WHY_DEAD || a->plan->places[node].reason == PSC_WHY_EMPTY))
        psc_text_add(out, "no buffer, skipped; ");
}

void psc_explain_position(struct psc_text *out, const struct psc_analysis *a, int32_t position)
{
    const struct psc_history *h = a->history;

    if (!h || position < -1 || position > (int64_t)a->story->position_n)
        return;
    uint32_t from = h->position_at[position + 1], to = h->position_at[position + 2];
    say_subject(out, a, position);
    say_queue(out, a, position);
    say_events(out, a, from, to, false);
    say_damage(out, a, position);
    say_events(out, a, from, to, true);
    say_live(out, a, position);
}

/* ---- recorded values ------------------------------------------------------------------------------------------ */

/* Tenancies of the buffer that begin in (after, last]. */
static uint32_t later_tenants(const struct psc_history *h, uint32_t buffer, int32_t after, int32_t last)
{
    uint32_t bounds[2];

    for (int i = 0; i < 2; i++) {
        uint32_t lo = h->buffer_at[buffer], hi = h->buffer_at[buffer + 1];
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (h->tenancies[mid].first <= (i ? last : after))
                lo = mid + 1;
            else
                hi = mid;
        }
        bounds[i] = lo;
    }
    return bounds[1] - bounds[0];
}

/* The last position of the node's split. */
static int32_t split_end(const struct psc_analysis *a, psc_node node)
{
    const struct psc_plan *plan = a->plan;
    uint32_t lo = 0, hi = plan ? plan->split_n : 0;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (plan->splits[mid].last < node)
            lo = mid + 1;
        else
            hi = mid;
    }
    return plan && lo < plan->split_n ? (int32_t)plan->splits[lo].last : (int32_t)a->story->position_n;
}

static uint32_t tenancy_of_node(const struct psc_history *h, psc_node node)
{
    uint32_t value = h && node != PSC_NONE ? psc_history_value_of_node(h, node) : PSC_NONE;
    return value == PSC_NONE ? PSC_NONE : psc_history_of_value(h, value);
}

/* The plan at hand may have another slot policy than the run: it is quoted where it agrees on who shares a buffer. */
static void say_when_copied(struct psc_text *out, const struct psc_analysis *a, const struct psc_record_verdict *v)
{
    const struct psc_history *h = a->history;
    uint32_t tenancy = tenancy_of_node(h, v->node), holder = tenancy_of_node(h, v->holds);

    if (a->phase->capture == PSC_CAPTURE_NODE)
        return;
    psc_text_addf(out, ": %s copies records at the end of the split",
                  psc_backend_word(psc_node_backend_name(a->phase->graph, v->node)));
    if (tenancy == PSC_NONE || (holder != PSC_NONE && h->tenancies[holder].buffer != h->tenancies[tenancy].buffer))
        return;
    const struct psc_tenancy *t = &h->tenancies[tenancy];
    uint32_t n = later_tenants(h, t->buffer, t->first, split_end(a, v->node));
    if (!n)
        return;
    psc_text_addf(out, ", after %u more %s to ", n, n == 1 ? "write" : "writes");
    psc_say_buffer(out, a->story, t->buffer);
}

void psc_explain_record(struct psc_text *out, const struct psc_analysis *a, const struct psc_record_verdict *v)
{
    const struct psc_graph *g = a->phase->graph;

    if (!g || v->node >= g->n)
        return;
    switch (v->verdict) {
    case PSC_RECORD_OWN:
        psc_say_node(out, g, v->node);
        psc_text_add(out, ": its own value");
        if (v->evidence & PSC_BY_CAPTURE)
            psc_text_add(out, ", copied right after the op");
        else if (v->evidence & PSC_BY_INPUT)
            psc_text_add(out, ", filled by the host and kept for the whole run");
        else if (v->evidence & (PSC_BY_REPLAY | PSC_BY_POLICIES))
            psc_text_add(out, ", nothing wrote over it before the copy");
        break;
    case PSC_RECORD_OVERWRITTEN:
        psc_text_add(out, "Not its own value. Holds ");
        if (v->holds == PSC_NONE)
            psc_text_add(out, "another op's, not known which");
        else
            psc_say_node_layer(out, g, v->holds);
        say_when_copied(out, a, v);
        break;
    case PSC_RECORD_UNKNOWN:
        psc_say_node(out, g, v->node);
        psc_text_add(out, ": not known whether this is its own value; slot policies disagree and no other record decides");
        break;
    }
    psc_text_add(out, ".");
    if (v->certain && !(v->evidence & (PSC_BY_CAPTURE | PSC_BY_INPUT | PSC_BY_REPLAY)))
        psc_text_add(out, " Confirmed by values.");
    if (v->verdict == PSC_RECORD_OVERWRITTEN && (v->evidence & PSC_BY_ARITHMETIC))
        psc_text_add(out, " Its samples fit those of the ops beside it: they belong together.");
}
