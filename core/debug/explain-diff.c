/* Sentences about two plans beside each other. */
#include "core/debug/diff-plans.h"
#include "core/debug/explain-words.h"

#include <inttypes.h>
#include <string.h>

static void add_count(struct psc_text *out, uint64_t n, const char *one, const char *many)
{
    char buf[32];
    psc_text_addf(out, "%s %s", psc_thousands(n, buf, sizeof buf), n == 1 ? one : many);
}

static void say_tensor(struct psc_text *out, const struct psc_diff_side *side, uint32_t value)
{
    char label[128];
    psc_node node = psc_diff_node(side, value);
    if (node != PSC_NONE)
        psc_say_node_layer(out, side->graph, node);
    else
        psc_text_add(out, psc_value_label(side->story, side->graph, value, label, sizeof label));
}

static void say_place(struct psc_text *out, const struct psc_diff_side *side, uint32_t bar)
{
    if (bar == PSC_NONE) {
        psc_text_add(out, "no bytes");
        return;
    }
    const struct psc_tenancy *t = &side->history->tenancies[bar];
    psc_say_buffer(out, side->story, t->buffer);
    psc_text_addf(out, " [0x%" PRIx64 ", +", t->lo);
    psc_say_bytes(out, t->hi - t->lo);
    psc_text_add(out, ")");
}

/* "in place over #3 gate", "a view of #3 gate", "apart" */
static void say_family(struct psc_text *out, const struct psc_diff_side *side, uint32_t value, uint32_t bar)
{
    const struct psc_value *v = &side->story->values[value];
    uint32_t prev = bar != PSC_NONE ? side->history->tenancies[bar].prev_version : PSC_NONE;
    if (v->is_view && v->of != PSC_NONE) {
        psc_text_add(out, "a view of ");
        say_tensor(out, side, v->of);
        psc_text_addf(out, " at +%" PRIu64, v->offset);
    } else if (prev != PSC_NONE) {
        psc_text_add(out, "in place over ");
        say_tensor(out, side, side->history->tenancies[prev].value);
    } else {
        psc_text_add(out, "apart");
    }
}

static void say_last(struct psc_text *out, const struct psc_diff_side *side, uint32_t bar)
{
    int32_t last = side->history->tenancies[bar].last;
    psc_node node = psc_story_node_at(side->story, last);
    if (last >= 0 && (uint32_t)last >= side->story->position_n)
        psc_text_add(out, "the end");
    else if (side->graph && node < side->graph->n)
        psc_say_node(out, side->graph, node);
    else
        psc_text_addf(out, "%" PRId32, last);
}

#define HAS(change) (c->what & 1u << PSC_CHANGE_##change)

static void lead(struct psc_text *out, bool *first)
{
    psc_text_add(out, *first ? ": " : "; ");
    *first = false;
}

void psc_explain_change(struct psc_text *out, const struct psc_plan_diff *d, const struct psc_plan_change *c)
{
    bool first = true;
    say_tensor(out, c->a != PSC_NONE ? &d->a : &d->b, c->a != PSC_NONE ? c->a : c->b);
    if (HAS(GONE) || HAS(NEW)) {
        const struct psc_diff_side *side = HAS(GONE) ? &d->a : &d->b;
        psc_text_add(out, HAS(GONE) ? ": gone, it had " : ": new, it has ");
        say_place(out, side, HAS(GONE) ? c->a_bar : c->b_bar);
        psc_text_add(out, ".");
        return;
    }
    if (HAS(GREW) || HAS(SHRANK)) {
        lead(out, &first);
        psc_text_add(out, HAS(GREW) ? "grew from " : "shrank from ");
        psc_say_bytes(out, d->a.story->values[c->a].bytes);
        psc_text_add(out, " to ");
        psc_say_bytes(out, d->b.story->values[c->b].bytes);
    }
    if (HAS(MOVED)) {
        lead(out, &first);
        psc_text_add(out, "from ");
        say_place(out, &d->a, c->a_bar);
        psc_text_add(out, " to ");
        say_place(out, &d->b, c->b_bar);
    }
    if (HAS(ALIAS)) {
        lead(out, &first);
        say_family(out, &d->b, c->b, c->b_bar);
        psc_text_add(out, ", was ");
        say_family(out, &d->a, c->a, c->a_bar);
    }
    if (HAS(LIFE)) {
        lead(out, &first);
        psc_text_add(out, "last needed by ");
        say_last(out, &d->b, c->b_bar);
        psc_text_add(out, ", was ");
        say_last(out, &d->a, c->a_bar);
    }
    psc_text_add(out, ".");
}

void psc_explain_plan_diff(struct psc_text *out, const struct psc_plan_diff *d)
{
    static const char *const words[PSC_CHANGE_N] = {"gone", "new", "moved", "grew", "shrank", "in place otherwise", "with another life"};
    bool first = true;
    add_count(out, d->pair_n, "value on both sides", "values on both sides");
    if (!d->change_n)
        psc_text_add(out, ", each at the same bytes");
    for (int k = 0; k < PSC_CHANGE_N; k++) {
        char buf[32];
        if (!d->count[k])
            continue;
        psc_text_addf(out, "%s%s %s", first ? ": " : ", ", psc_thousands(d->count[k], buf, sizeof buf), words[k]);
        first = false;
    }
    psc_text_add(out, ".");
}

/* Titles of lists of boxes are times: "at 966656", "before 7" (core/plan/offsets/box-set.c). */
static const char *time_of(const char *title, const char *lead)
{
    size_t n = strlen(lead);
    if (strncmp(title, lead, n) || !title[n] || title[n + strspn(title + n, "-0123456789")])
        return NULL;
    return title + n;
}

static void say_title(struct psc_text *out, const char *title)
{
    const char *at = time_of(title, "at "), *before = time_of(title, "before ");
    if (at || before)
        psc_text_addf(out, "%s time %s", at ? "at" : "just before", at ? at : before);
    else
        psc_text_addf(out, "at \"%s\"", title);
}

/* "at #17 silu", "at the fill", "at the end", "at position 9", "at time 966656" */
static void say_at(struct psc_text *out, const struct psc_diff_side *side, int32_t position)
{
    const struct psc_story *story = side->story;
    psc_node node = psc_story_node_at(story, position);
    if (position < 0) {
        psc_text_add(out, "at the fill");
    } else if ((uint32_t)position >= story->position_n) {
        psc_text_add(out, "at the end");
    } else if (side->graph && node < side->graph->n) {
        psc_text_add(out, "at ");
        psc_say_node_layer(out, side->graph, node);
    } else if (story->titles) {
        say_title(out, story->titles[position]);
    } else {
        psc_text_addf(out, "at position %" PRId32, position);
    }
}

void psc_explain_peak_change(struct psc_text *out, const struct psc_plan_diff *d)
{
    const struct psc_diff_total *a = &d->a_total, *b = &d->b_total;
    if (a->peak == b->peak) {
        psc_text_add(out, "The peak stays at ");
        add_count(out, a->peak, "byte held", "bytes held");
    } else {
        psc_text_add(out, b->peak < a->peak ? "The peak falls by " : "The peak rises by ");
        add_count(out, b->peak < a->peak ? a->peak - b->peak : b->peak - a->peak, "byte", "bytes");
        psc_text_add(out, ", from ");
        add_count(out, a->peak, "byte held", "bytes held");
    }
    psc_text_add(out, " ");
    say_at(out, &d->a, a->peak_at);
    if (a->peak != b->peak) {
        psc_text_add(out, " to ");
        add_count(out, b->peak, "byte", "bytes");
    }
    bool moves = d->b_at[a->peak_at + 1] != b->peak_at;
    if (a->peak == b->peak && moves)
        psc_text_add(out, ", on the other side");
    if (a->peak != b->peak || moves) {
        psc_text_add(out, " ");
        say_at(out, &d->b, b->peak_at);
    }
    psc_text_add(out, ".");
    if (a->reserved != b->reserved) {
        bool less = b->reserved < a->reserved;
        psc_text_add(out, " Reserved are ");
        add_count(out, less ? a->reserved - b->reserved : b->reserved - a->reserved, less ? "byte less" : "byte more",
                  less ? "bytes less" : "bytes more");
        psc_text_add(out, ": ");
        add_count(out, a->reserved, "byte,", "bytes,");
        psc_text_add(out, " then ");
        add_count(out, b->reserved, "byte.", "bytes.");
    }
}

void psc_explain_part(struct psc_text *out, const struct psc_plan_diff *d, const struct psc_peak_part *part)
{
    char buf[32];
    psc_text_addf(out, "%s%s bytes  ", part->bytes < 0 ? "-" : "+",
                  psc_thousands((uint64_t)(part->bytes < 0 ? -part->bytes : part->bytes), buf, sizeof buf));
    say_tensor(out, part->a != PSC_NONE ? &d->a : &d->b, part->a != PSC_NONE ? part->a : part->b);
    psc_text_add(out, ": ");
    switch (part->why) {
    case PSC_PART_GONE: psc_text_add(out, "gone"); break;
    case PSC_PART_NEW: psc_text_add(out, "new"); break;
    case PSC_PART_SIZE: psc_text_add(out, part->bytes < 0 ? "smaller" : "larger"); break;
    case PSC_PART_TAKEN:
        psc_text_add(out, "taken over in place by ");
        say_tensor(out, &d->b, part->by);
        break;
    case PSC_PART_APART:
        psc_text_add(out, "no longer taken over in place by ");
        say_tensor(out, &d->a, part->by);
        break;
    case PSC_PART_SHORTER: psc_text_add(out, "given back before"); break;
    default: psc_text_add(out, "holds its bytes here now"); break;
    }
}

void psc_explain_elsewhere(struct psc_text *out, const struct psc_plan_diff *d)
{
    char buf[32];
    bool falls = d->b_total.peak < d->a_total.peak;
    const struct psc_diff_side *side = falls ? &d->b : &d->a;
    if (!d->elsewhere)
        return;
    psc_text_addf(out, "%s%s bytes  ", d->elsewhere < 0 ? "-" : "+",
                  psc_thousands((uint64_t)(d->elsewhere < 0 ? -d->elsewhere : d->elsewhere), buf, sizeof buf));
    psc_text_add(out, falls ? "the peak moves: it is now " : "the peak was elsewhere: ");
    say_at(out, side, falls ? d->b_total.peak_at : d->a_total.peak_at);
}
