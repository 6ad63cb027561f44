#include "traces/lazy-file.h"

#include "core/candela/kept.h"
#include "core/candela/planner.h"
#include "core/candela/script.h"
#include "core/candela/story.h"

#include <string.h>

bool psc_lazy_file_is(const char *name, const char *bytes, size_t n)
{
    size_t m = strlen(name);
    return psc_lazy_script_is(bytes, n) || (m > 5 && !strcmp(name + m - 5, ".lazy"));
}

/* "generation 0.2, faults b1 b3: 7 steps in 2 slots" */
static const char *note(struct psc_arena *arena, const struct psc_candela_kept *kept)
{
    const struct psc_candela_plan *plan = kept->plan;
    struct psc_text text = {0};
    const char *lead = ", faults ";
    psc_text_addf(&text, "Planned as candela plans, generation %s", psc_generation_name(plan->options.generation));
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        if (plan->options.faults & PSC_CANDELA_BIT(f)) {
            psc_text_addf(&text, "%s%s", lead, psc_candela_fault_name((enum psc_candela_fault)f));
            lead = " ";
        }
    psc_text_addf(&text, ": %u step%s, leaves counted, in %u slot%s%s", plan->n, plan->n == 1 ? "" : "s", plan->slot_n, plan->slot_n == 1 ? "" : "s",
                  kept->levels ? ", those of one level beside each other" : "");
    if (kept->verdict.by_level)
        psc_text_add(&text, "; carried out so as well: every step gives what it gives one by one");
    if (!kept->verdict.executed)
        psc_text_add(&text, "; not carried out to compare values: it would take too long");
    return psc_text_keep(&text, arena);
}

enum psc_status psc_lazy_file_load(struct psc_doc *doc, const char *words, const char *bytes, size_t n,
                                   struct psc_error *reterr)
{
    struct psc_lazy_script script;
    struct psc_candela_plan *plan;
    struct psc_candela_kept *kept = NULL;
    struct psc_arena scratch = {0};
    struct psc_phase *phase = psc_arena_alloc0(&doc->arena, 1, sizeof *phase);
    enum psc_status status = psc_lazy_script_read(&script, words, bytes, n, reterr);
    if (!status && !phase)
        status = psc_fail_nomem(reterr);
    if (!status)
        status = psc_candela_plan(&scratch, &script.lazy, script.root, &script.options, &plan, reterr);
    if (!status)
        status = psc_candela_lower(&doc->arena, plan, script.levels, &phase->story, reterr);
    if (!status)
        status = psc_candela_keep(&doc->arena, &script.lazy, script.root, plan, script.levels, &kept, reterr);
    if (!status)
        status = psc_candela_verify(&doc->arena, &script.lazy, script.root, plan, script.levels, &kept->verdict, reterr);
    if (!status)
        status = psc_candela_keep_rivals(&doc->arena, &script.lazy, kept, reterr);
    if (!status && !(phase->note = note(&doc->arena, kept)))
        status = psc_fail_nomem(reterr);
    if (!status) {
        phase->expression = kept;
        phase->kind = "expression";
        doc->format = "lazy";
        doc->phases = phase;
        doc->phase_n = 1;
    }
    psc_arena_release(&scratch);
    psc_lazy_script_release(&script);
    return status;
}
