#include "app/cli/run-findings.h"

#include "app/cli/figures.h"
#include "app/cli/input.h"
#include "app/cli/words.h"
#include "core/debug/analysis.h"
#include "core/debug/explain-verify.h"
#include "core/debug/explain.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>

#define FINDINGS_SHOWN 20u
#define VERIFIED_SHOWN 5u

/* ---- of the run's own stories ----------------------------------------------------------------------------------- */

/* The analysis lives as long as `own`, which it borrows; NULL when memory is exhausted. */
static struct psc_analysis *analyse(const struct psc_phase *phase, const struct psc_story *story, struct psc_phase *own)
{
    struct psc_analysis_options plain = {.plan = psc_plan_defaults};
    struct psc_analysis *analysis = NULL;
    *own = *phase;
    own->story = (struct psc_story *)(uintptr_t)story;
    return psc_analysis_new(own, &plain, &analysis, NULL) ? NULL : analysis;
}

static bool holds(const struct psc_analysis *a, const struct psc_finding *f)
{
    for (uint32_t i = 0; a && i < a->check.finding_n; i++) {
        const struct psc_finding *g = &a->check.findings[i];
        if (g->victim == f->victim && g->writer == f->writer && g->reader == f->reader && g->reader_kind == f->reader_kind)
            return true;
    }
    return false;
}

/* The words that a finding changed, a line each. */
static void tell_words(const struct psc_analysis *a, const struct psc_finding *f, const struct psc_contents *contents)
{
    struct psc_finding_bytes bytes = psc_finding_bytes(a, f, contents);
    for (uint32_t k = 0, n = psc_explain_bytes_line_n(&bytes); k < n; k++) {
        struct psc_text text = {0}, line = {0};
        psc_explain_bytes_line(&text, a, &bytes, k);
        cli_add_safe(&line, psc_text_str(&text));
        fprintf(stderr, "planscope-cli:   %s%s\n", k ? "  " : "", psc_text_str(&line));
        psc_text_release(&line);
        psc_text_release(&text);
    }
}

/* Findings of one story of a phase, in sentences, on stderr; without those of `told`, which may be NULL. */
static uint32_t tell_story(const struct psc_phase *phase, const struct psc_story *story, const struct psc_analysis *told,
                           const char *when, uint32_t shown, const struct psc_contents *contents)
{
    struct psc_phase own;
    struct psc_analysis *analysis = analyse(phase, story, &own);
    for (uint32_t i = 0; analysis && i < analysis->check.finding_n && shown < FINDINGS_SHOWN; i++) {
        struct psc_text text = {0}, line = {0};
        if (holds(told, &analysis->check.findings[i]))
            continue;
        shown++;
        psc_explain_finding(&text, analysis, &analysis->check.findings[i]);
        cli_add_safe(&line, psc_text_str(&text));
        fprintf(stderr, "planscope-cli: %s%s: %s\n", phase->kind, when, psc_text_str(&line));
        if (contents)
            tell_words(analysis, &analysis->check.findings[i], contents);
        psc_text_release(&line);
        psc_text_release(&text);
    }
    psc_analysis_free(analysis);
    return shown;
}

static const struct psc_contents *at_step(const struct psc_contents_in *in, uint32_t phase, uint32_t step, struct psc_contents *ret)
{
    if (in)
        *ret = psc_contents_of(in, phase, step);
    return in ? ret : NULL;
}

/* Each phase's story, and the first one of its own that a step has. */
void cli_tell_findings(const struct psc_run_result *a, const char *path)
{
    struct psc_contents_in *in = NULL;
    struct psc_contents contents;
    uint32_t shown = 0;
    if (path && a->finding_n && psc_contents_read(path, &in, NULL))
        in = NULL; /* that it could not be written was told */
    for (uint32_t p = 0; a->finding_n && a->doc && p < a->doc->phase_n; p++) {
        const struct psc_phase *phase = &a->doc->phases[p];
        struct psc_arena arena = {0};
        struct psc_step step = {0};
        if (phase->story)
            shown = tell_story(phase, phase->story, NULL, "", shown, at_step(in, p, 0, &contents));
        uint32_t s = 0;
        for (; !step.story && s < psc_doc_step_n(a->doc, p); s++)
            if (psc_doc_load_step(a->doc, p, s, &arena, &step, NULL))
                break;
        if (step.story)
            shown = tell_story(phase, step.story, NULL, "", shown, at_step(in, p, s - 1, &contents));
        psc_arena_release(&arena);
    }
    for (uint32_t p = 0; shown < a->finding_n && a->planned_finding_n && a->doc && p < a->doc->phase_n; p++) {
        const struct psc_phase *phase = &a->doc->phases[p]; /* what a run that ended early did not come to */
        struct psc_phase own;
        struct psc_analysis *told = phase->story ? analyse(phase, phase->story, &own) : NULL;
        if (told)
            shown = tell_story(phase, NULL, told, ", in the plan", shown, NULL);
        psc_analysis_free(told);
    }
    if (a->finding_n > shown)
        fprintf(stderr, "planscope-cli: %" PRIu32 " %s\n", a->finding_n, a->finding_n == 1 ? "finding" : "findings in all");
    if (a->confirmed_n)
        fprintf(stderr, "planscope-cli: %" PRIu32 " %s other bytes than were written (by hashes)\n", a->confirmed_n,
                a->confirmed_n == 1 ? "read saw" : "reads saw");
    if (a->arena_broken.ever)
        fprintf(stderr, "planscope-cli: the arenas: %s\n", a->arena_broken.text);
    if (a->unwritten_n)
        fprintf(stderr, "planscope-cli: %" PRIu64 " %s of KV %s read that nobody had written\n", a->unwritten_n,
                a->unwritten_n == 1 ? "row" : "rows", a->unwritten_n == 1 ? "was" : "were");
    if (a->doc)
        cli_warn(a->doc);
    psc_contents_close(in);
}

/* ---- beside a clean run ------------------------------------------------------------------------------------------ */

static void tell_line(const char *prefix, struct psc_text *text)
{
    struct psc_text line = {0};
    cli_add_safe(&line, psc_text_str(text));
    fprintf(stderr, "planscope-cli: %s%s\n", prefix, psc_text_str(&line));
    psc_text_release(&line);
    psc_text_release(text);
}

void cli_tell_verified(const struct psc_verified *v)
{
    struct psc_text text = {0};
    for (uint32_t i = 0; i < v->first_n && i < VERIFIED_SHOWN; i++) {
        psc_explain_verify_difference(&text, &v->first[i]);
        tell_line(i ? "then " : "", &text);
    }
    psc_explain_verified(&text, v);
    tell_line("", &text);
}

void cli_verified_json(struct psc_json *j, const struct psc_verified *v)
{
    struct psc_text text = {0};
    psc_json_key(j, "verified");
    psc_json_object(j);
    psc_json_put_u64(j, "steps", v->steps);
    psc_json_put_u64(j, "values", v->values);
    psc_json_put_u64(j, "differ", v->differ);
    psc_json_put_u64(j, "computed", v->computed_n);
    psc_json_put_u64(j, "memory", v->memory_n);
    psc_json_put_u64(j, "played", v->played);
    psc_json_put_u64(j, "replay", v->replay_n);
    psc_json_key(j, "first");
    psc_json_array(j);
    for (uint32_t i = 0; i < v->first_n; i++) {
        const struct psc_verify_difference *d = &v->first[i];
        psc_text_clear(&text);
        psc_explain_verify_difference(&text, d);
        psc_json_object(j);
        psc_json_put_string(j, "cause", psc_verify_cause_name(d->cause));
        psc_json_put_string(j, "kind", d->kind);
        psc_json_put_u64(j, "phase", d->phase);
        psc_json_put_u64(j, "step", d->step);
        cli_id_json(j, "node", d->graph, d->node < d->graph->n ? d->node : PSC_NONE);
        if (d->cause != PSC_VERIFY_COMPUTED && d->cause != PSC_VERIFY_UNWRITTEN)
            psc_json_put_u64(j, "reads", d->graph->nodes[d->value].id);
        psc_json_put_string(j, "text", psc_text_str(&text));
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
    j->out.failed = j->out.failed || text.failed;
    psc_text_release(&text);
}
