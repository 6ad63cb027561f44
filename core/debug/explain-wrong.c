/* Sentences about what was wrong with a lazy plan when it was carried out: K9 and K10. */
#include "core/debug/verdict.h"

#include "core/candela/kept.h"

struct telling {
    struct psc_text *out;
    const struct psc_candela_kept *kept;
    const struct psc_candela_wrong *w;
};

static const char *name_of(const struct telling *t, uint32_t id)
{
    return id < t->kept->lazy.n ? t->kept->lazy.nodes[id].name : "a tensor";
}

static const char *step_name(const struct telling *t, uint32_t step)
{
    return step < t->kept->plan->n ? t->kept->plan->steps[step].name : "the end";
}

static void say_step(const struct telling *t, uint32_t step)
{
    if (step < t->kept->plan->n)
        psc_text_addf(t->out, "step %u, %s", step, step_name(t, step));
    else
        psc_text_add(t->out, "the end");
}

static void say_value_why(const struct telling *t)
{
    const struct psc_candela_wrong *w = t->w;
    switch (w->why) {
    case PSC_WHY_EXCHANGED:
        psc_text_add(t->out, ": its operands changed places");
        break;
    case PSC_WHY_OTHER_OP:
        psc_text_addf(t->out, ": it computes %c where %c is written", (char)w->a, (char)w->b);
        break;
    case PSC_WHY_OVER_STRIDED:
        psc_text_addf(t->out, ": it overwrites %s byte after byte, and %s is not packed", name_of(t, w->id), name_of(t, w->id));
        break;
    case PSC_WHY_FROM_START:
        psc_text_addf(t->out, ": it reads %s from the start of its bytes, and %s begins at element %lld of them",
                      name_of(t, w->id), name_of(t, w->id), (long long)w->a);
        break;
    case PSC_WHY_OLD_STRIDES:
        psc_text_addf(t->out, ": it shows the bytes of %s, which are packed, with the strides they had before", name_of(t, w->id));
        break;
    default:
        psc_text_add(t->out, ", from inputs that are right");
        break;
    }
}

static void say_missing_why(const struct telling *t)
{
    const struct psc_candela_wrong *w = t->w;
    switch (w->why) {
    case PSC_WHY_MADE_LATER:
        psc_text_add(t->out, ", which is made later: by ");
        say_step(t, w->other);
        break;
    case PSC_WHY_STANDS_FOR:
        psc_text_addf(t->out, ", which no step makes: it stands for %s", name_of(t, w->with));
        break;
    case PSC_WHY_MADE_NEVER:
        psc_text_add(t->out, ", which no step makes");
        break;
    case PSC_WHY_GIVEN_BACK:
        psc_text_add(t->out, ", which was given back after ");
        say_step(t, w->other);
        break;
    case PSC_WHY_TAKEN:
        psc_text_add(t->out, ", whose bytes were taken by ");
        say_step(t, w->other);
        break;
    default:
        psc_text_add(t->out, ", which has no bytes");
        break;
    }
}

static void say_shared_why(const struct telling *t)
{
    const struct psc_candela_wrong *w = t->w;
    switch (w->why) {
    case PSC_WHY_OPERANDS_SHARE:
        psc_text_addf(t->out, ": its other operand, %s, lies in the same bytes", name_of(t, w->with));
        break;
    case PSC_WHY_CACHE_HOLDS:
        psc_text_addf(t->out, ": the cache %s keeps them for later calls", name_of(t, w->with));
        break;
    case PSC_WHY_VIEW_HOLDS:
        psc_text_addf(t->out, ": %s still holds them", name_of(t, w->with));
        if (w->a >= 0 && (uint64_t)w->a < w->step && w->other != PSC_NONE)
            psc_text_addf(t->out, "; step %lld read it last, but it is given back only after step %u", (long long)w->a, w->other);
        else if (w->other == PSC_NONE)
            psc_text_add(t->out, ", and nothing gives it back");
        break;
    default:
        psc_text_add(t->out, ", which somebody else holds");
        break;
    }
}

static void say_refusal(const struct telling *t)
{
    const struct psc_candela_wrong *w = t->w;
    say_step(t, w->step);
    psc_text_add(t->out, " cannot be carried out: ");
    switch (w->mishap) {
    case PSC_MISHAP_MISSING:
        psc_text_addf(t->out, "it needs %s", name_of(t, w->id));
        say_missing_why(t);
        break;
    case PSC_MISHAP_SHARED:
        psc_text_addf(t->out, "it would write over the bytes of %s", name_of(t, w->id));
        say_shared_why(t);
        break;
    case PSC_MISHAP_BOUNDS:
        psc_text_add(t->out, w->why == PSC_WHY_TURNED ? "it takes its right operand, which has one column, for a transposed one, and "
                                                        "would write past the end of its bytes"
                                                      : "it would read or write past the end of its bytes");
        break;
    case PSC_MISHAP_INSIDE:
        psc_text_add(t->out, "a step of the plan that is baked into it reads what is not there, or would write what others hold");
        break;
    default:
        psc_text_addf(t->out, "the result, %s, is not there", name_of(t, w->id));
        say_missing_why(t);
        break;
    }
}

void psc_explain_wrong(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f)
{
    psc_explain_candela_wrong(out, a->phase->expression, &a->phase->expression->verdict.wrongs[f->detail]);
}

void psc_explain_candela_wrong(struct psc_text *out, const struct psc_candela_kept *kept, const struct psc_candela_wrong *w)
{
    struct telling t = {out, kept, w};
    const struct psc_candela_step *steps = t.kept->plan->steps;
    psc_text_add(out, w->by_level ? "level by level, the last of a level first, " : "");
    switch (w->what) {
    case PSC_WRONG_VALUE:
        say_step(&t, w->step);
        psc_text_addf(out, " gives %g where %g is right (element %llu)", (double)w->found, (double)w->expected,
                      (unsigned long long)w->element);
        say_value_why(&t);
        break;
    case PSC_WRONG_DAMAGED:
        say_step(&t, w->step);
        psc_text_addf(out, " reads %s and finds %g where %g is right (element %llu)", name_of(&t, w->id), (double)w->found,
                      (double)w->expected, (unsigned long long)w->element);
        if (w->other != PSC_NONE) {
            psc_text_add(out, ": its bytes were changed by ");
            say_step(&t, w->other);
        }
        break;
    case PSC_WRONG_REFUSED:
        say_refusal(&t);
        break;
    case PSC_WRONG_TWO_HOPS:
        psc_text_addf(out, "%s stands for %s, which itself stands for another: one look does not find the owner", name_of(&t, w->id),
                      name_of(&t, w->with));
        break;
    case PSC_WRONG_NOT_OVER:
        say_step(&t, w->step);
        psc_text_addf(out, " takes %llu bytes of its own, though it is the last to read %s and could write over it",
                      (unsigned long long)(4 * steps[w->step].len), name_of(&t, w->id));
        break;
    case PSC_WRONG_LATE:
        psc_text_addf(out, "%s is given back after ", name_of(&t, w->id));
        say_step(&t, w->step);
        psc_text_add(out, ", though its bytes are read last by ");
        say_step(&t, w->other);
        break;
    case PSC_WRONG_CROOKED:
        psc_text_addf(out, "the bytes of %s begin at %lld in the arena, which is no multiple of %lld", step_name(&t, w->step),
                      4 * (long long)w->a, 4 * (long long)w->b);
        break;
    default:
        psc_text_addf(out, "the report says that %lld bytes are alive at the peak, the heap saw %lld", 4 * (long long)w->a,
                      4 * (long long)w->b);
        break;
    }
    psc_text_add(out, ".");
}

void psc_explain_wrong_more(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f)
{
    static const char *const rules[PSC_WRONG_N] = {
        [PSC_WRONG_VALUE] = "The expression was computed a second time, step by step into fresh memory. All that this step reads is "
                            "right, so it is the first to go wrong.",
        [PSC_WRONG_DAMAGED] = "The expression was computed a second time, step by step into fresh memory. The value was right when it "
                              "was made.",
        [PSC_WRONG_REFUSED] = "The executor writes only where nobody else holds the bytes, and reads only what is there.",
        [PSC_WRONG_TWO_HOPS] = "An owner in the alias map is never itself an entry: inputs are resolved with a single look.",
        [PSC_WRONG_NOT_OVER] = "Its bytes lie in a slot of the same length, packed, and no other operand lies in them.",
        [PSC_WRONG_LATE] = "What is given back late stands beside what is made meanwhile: the peak is higher than it need be.",
        [PSC_WRONG_CROOKED] = "Packed offsets are multiples of the alignment, counted in elements.",
        [PSC_WRONG_REPORT] = "What dies on steps that allocate nothing counts, too.",
    };
    psc_text_addf(out, "%s %s. %s", psc_kind_name(f->kind), psc_kind_text(f->kind),
                  rules[a->phase->expression->verdict.wrongs[f->detail].what]);
}
