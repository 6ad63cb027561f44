/* Sentences about what planners cost, one by one and against each other. */
#include "core/debug/explain-words.h"
#include "core/debug/shootout.h"

#include <inttypes.h>

static void add_number(struct psc_text *out, uint64_t n)
{
    char buf[32];
    psc_text_add(out, psc_thousands(n, buf, sizeof buf));
}

static void add_count(struct psc_text *out, uint64_t n, const char *one, const char *many)
{
    add_number(out, n);
    psc_text_addf(out, " %s", n == 1 ? one : many);
}

void psc_explain_cost(struct psc_text *out, const struct psc_contender *c)
{
    const struct psc_cost *cost = &c->cost;
    if (!c->able) {
        psc_text_addf(out, "%s cannot do this document: %s.", c->name, c->why);
        return;
    }
    add_count(out, cost->reserved, "byte reserved in ", "bytes reserved in ");
    add_count(out, cost->buffers, "buffer", "buffers");
    psc_text_add(out, "; the lower bound with these choices in place is ");
    add_number(out, cost->lower_bound);
    psc_text_add(out, ". ");
    if (cost->reserved == cost->lower_bound)
        psc_text_add(out, "It meets the bound: no plan with these choices is smaller.");
    else if (cost->proof == PSC_PROOF_SEARCH)
        psc_text_add(out, "The search proved that nothing smaller exists.");
    if (cost->holes) {
        add_count(out, cost->holes, "byte lies", "bytes lie");
        psc_text_add(out, " idle at the peak.");
    }
    if (cost->padding) {
        psc_text_add(out, cost->holes ? " " : "");
        add_count(out, cost->padding, "byte", "bytes");
        psc_text_add(out, " of buffers in use belong to nobody.");
    }
}

/* ", 38,460 of padding": what of a change a part makes up. */
static void add_part(struct psc_text *out, bool *first, uint64_t from, uint64_t to, bool saves, const char *what)
{
    if (from == to)
        return;
    psc_text_add(out, *first ? ": " : ", ");
    *first = false;
    if ((to < from) != saves)
        psc_text_add(out, saves ? "but more " : "but less ");
    add_number(out, from > to ? from - to : to - from);
    psc_text_addf(out, " %s", what);
}

void psc_explain_cost_change(struct psc_text *out, const struct psc_contender *from, const struct psc_contender *to)
{
    const struct psc_cost *a = &from->cost, *b = &to->cost;
    bool first = true, saves = b->reserved < a->reserved;
    if (!from->able || !to->able) {
        psc_explain_cost(out, from->able ? to : from);
        return;
    }
    if (a->reserved == b->reserved) {
        psc_text_addf(out, "%s and %s reserve the same ", from->name, to->name);
        add_count(out, a->reserved, "byte.", "bytes.");
        return;
    }
    psc_text_addf(out, "%s %s ", to->name, saves ? "saves" : "costs");
    add_count(out, saves ? a->reserved - b->reserved : b->reserved - a->reserved, "byte", "bytes");
    psc_text_addf(out, " (%.0f %%)", 100.0 * (saves ? (double)(a->reserved - b->reserved) : (double)(b->reserved - a->reserved)) /
                                          (double)(a->reserved ? a->reserved : b->reserved));
    add_part(out, &first, a->lower_bound, b->lower_bound, saves, "of the lower bound");
    add_part(out, &first, a->holes, b->holes, saves, "of holes");
    add_part(out, &first, a->padding, b->padding, saves, "of padding");
    psc_text_add(out, ".");
}
