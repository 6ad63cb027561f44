/* Sentences about a run beside a clean one. */
#include "core/debug/explain-verify.h"

#include "core/debug/explain-words.h"

#include <inttypes.h>

const char *psc_verify_cause_name(enum psc_verify_cause cause)
{
    static const char *const names[] = {[PSC_VERIFY_COMPUTED] = "computed", [PSC_VERIFY_MEMORY] = "memory",
                                        [PSC_VERIFY_UNFILLED] = "unfilled", [PSC_VERIFY_UNWRITTEN] = "unwritten", [PSC_VERIFY_OVERLAP] = "overlap",
                                        [PSC_VERIFY_REPLAY] = "replay"};
    return names[cause];
}

void psc_explain_verify_difference(struct psc_text *out, const struct psc_verify_difference *d)
{
    psc_text_addf(out, "%s, step %" PRIu32 ": ", d->kind, d->step);
    if (d->node < d->graph->n)
        psc_say_node_layer(out, d->graph, d->node);
    else
        psc_text_add(out, "the host");
    switch (d->cause) {
    case PSC_VERIFY_COMPUTED:
        psc_text_add(out, ": every byte it read is what was written and what a clean run reads, its result is not: the kernel "
                          "(or the host) computed it wrong, not memory.");
        return;
    case PSC_VERIFY_MEMORY:
        psc_text_add(out, " reads other bytes of ");
        psc_say_node(out, d->graph, d->value);
        psc_text_add(out, " than were written: memory, not the kernel.");
        return;
    case PSC_VERIFY_UNFILLED:
        psc_text_add(out, " reads ");
        psc_say_node(out, d->graph, d->value);
        psc_text_add(out, ", which nobody filled or wrote: memory, not the kernel.");
        return;
    case PSC_VERIFY_OVERLAP:
        psc_text_add(out, " writes over its own operand ");
        psc_say_node(out, d->graph, d->value);
        psc_text_add(out, " while it still reads it: memory, not the kernel.");
        return;
    case PSC_VERIFY_REPLAY:
        psc_text_add(out, " reads other bytes of ");
        psc_say_node(out, d->graph, d->value);
        psc_text_add(out, " than the same step gives when it is launched node by node: the recording that was played, not a kernel "
                          "and not the plan.");
        return;
    case PSC_VERIFY_UNWRITTEN:
        psc_text_add(out, " reads rows of K and V that nobody wrote: memory, not the kernel.");
        return;
    }
}

void psc_explain_verified(struct psc_text *out, const struct psc_verified *v)
{
    if (v->cancelled) {
        psc_text_add(out, "The clean run was cancelled: nothing was compared.");
        return;
    }
    if (!v->steps) {
        psc_text_add(out, "No step ended well: there is nothing to compare with a clean run.");
        return;
    }
    psc_text_addf(out, "%" PRIu64 " of %" PRIu64 " values in %" PRIu32 " %s differ from those of a clean run", v->differ, v->values,
                  v->steps, v->steps == 1 ? "step" : "steps");
    if (v->memory_n || v->computed_n)
        psc_text_addf(out, ": %" PRIu32 " %s computed wrong, %" PRIu32 " read wrong bytes, the rest follows from these",
                      v->computed_n, v->computed_n == 1 ? "was" : "were", v->memory_n);
    psc_text_add(out, ".");
    if (v->played || v->replay_n)
        psc_text_addf(out, " Recordings were played in %" PRIu32 " %s; %" PRIu32 " %s other outputs than launched node by node.",
                      v->played, v->played == 1 ? "step" : "steps", v->replay_n, v->replay_n == 1 ? "step has" : "steps have");
}
