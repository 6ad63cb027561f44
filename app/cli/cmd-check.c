/* check: every phase is analysed by itself, from empty pools; then every step's records are judged. The
 * answer of a phase is appended to `out` and flushed, so that memory follows one step, not the file. */
#include "app/cli/commands.h"
#include "app/cli/figures.h"
#include "app/cli/input.h"
#include "app/cli/progress.h"
#include "app/cli/run-arena.h"
#include "app/cli/words.h"
#include "core/debug/explain.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>

#define FINDINGS_SHOWN 50u /* for people; --json lists all */
#define RECORDS_SHOWN 8u
#define DIFFS_SHOWN 8u

struct totals {
    uint64_t findings, records, own, overwritten, unknown;
    uint64_t broken; /* invariants of arenas */
};

static void count_records(struct totals *t, const struct psc_record_check *check)
{
    t->records += check->n;
    t->own += check->own;
    t->overwritten += check->overwritten;
    t->unknown += check->unknown;
}

/* ---- one step's records --------------------------------------------------------------------- */

typedef void (*step_fn)(void *ctx, const struct psc_phase *phase, uint32_t p, uint32_t s,
                        const struct psc_record_check *check);

/* Loads and judges each step of a phase in turn; steps that cannot be read are named on stderr. */
static enum cli_exit each_step(const struct cli_input *in, const struct cli_options *options, uint32_t p, step_fn fn,
                               void *ctx)
{
    const struct psc_phase *phase = &in->doc->phases[p];
    struct psc_arena prepared = {0};
    struct psc_records *records = NULL;
    struct psc_error error = {0};
    enum cli_exit status = CLI_CLEAN;
    uint32_t n = psc_doc_step_n(in->doc, p);
    if (n && psc_records_prepare(&prepared, phase, &records, &error))
        status = cli_complain(options->file, &error);
    for (uint32_t s = 0; s < n && !status; s++) {
        struct psc_arena arena = {0};
        struct psc_step step = {0};
        struct psc_record_check check = {0};
        struct psc_error named = {.byte = UINT64_MAX};
        cli_progress("checking %s", phase->kind && *phase->kind ? phase->kind : options->file);
        cli_progress_count(s, n, "steps");
        enum psc_status got = psc_doc_load_step(in->doc, p, s, &arena, &step, &error);
        if (!got && !step.unreadable)
            got = psc_records_check_with(&arena, records, &step, &check, &error);
        if (got == PSC_ERR_NOMEM) {
            status = cli_complain_nomem();
        } else if (got || step.unreadable) {
            (void)psc_fail(&named, PSC_ERR_PARSE, "phase %" PRIu32 ", step %" PRIu32 " cannot be read: %s", p, s,
                           step.unreadable ? step.unreadable : error.text);
            cli_complain(options->file, &named);
        } else {
            fn(ctx, phase, p, s, &check);
        }
        psc_arena_release(&arena);
    }
    psc_arena_release(&prepared);
    return status;
}

/* ---- for machines --------------------------------------------------------------------------- */

static void flush(struct psc_text *out)
{
    if (out->failed || out->n < 1 << 16)
        return;
    cli_progress_streams();
    fwrite(out->s, 1, out->n, stdout);
    psc_text_clear(out);
}

/* What was planned against what was recorded, for the phases that have both. */
static void comparison_json(struct psc_json *j, const struct psc_analysis *a, uint32_t phase)
{
    const struct psc_story_comparison *c = a->comparison;
    struct psc_text text = {0};
    psc_json_object(j);
    psc_json_put_u64(j, "phase", phase);
    psc_json_put_u64(j, "pairs", c->pair_n);
    psc_json_put_bool(j, "as_planned", c->diff_n == 0);
    psc_json_key(j, "differences");
    psc_json_array(j);
    for (uint32_t i = 0; i < c->diff_n; i++) {
        psc_text_clear(&text);
        psc_explain_story_diff(&text, a->phase->graph, a->predicted, a->recorded, &c->diffs[i]);
        psc_json_object(j);
        psc_json_put_string(j, "kind", psc_story_diff_name(c->diffs[i].kind));
        cli_id_json(j, "node", a->phase->graph, c->diffs[i].node);
        psc_json_put_i64(j, "position", c->diffs[i].position);
        psc_json_put_string(j, "text", psc_text_str(&text));
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
    psc_text_release(&text);
}

struct record_json {
    struct psc_json *j;
    struct totals *totals;
};

static void step_json(void *ctx, const struct psc_phase *phase, uint32_t p, uint32_t s,
                      const struct psc_record_check *check)
{
    struct record_json *to = ctx;
    struct psc_json *j = to->j;
    count_records(to->totals, check);
    for (uint32_t i = 0; i < check->n; i++) {
        const struct psc_record_verdict *v = &check->list[i];
        psc_json_object(j);
        psc_json_put_u64(j, "phase", p);
        psc_json_put_u64(j, "step", s);
        cli_id_json(j, "node", phase->graph, v->node);
        psc_json_put_string(j, "verdict", psc_verdict_name(v->verdict));
        cli_id_json(j, "holds", phase->graph, v->holds);
        psc_json_put_string(j, "confidence", psc_verdict_confidence(v));
        psc_json_end_object(j);
        flush(&j->out);
    }
}

/* What was recorded in the step that is asked for; NULL without --contents. */
static const struct psc_contents *contents_of(const struct psc_contents_in *from, const struct cli_options *options, uint32_t phase,
                                              struct psc_contents *ret)
{
    if (!from)
        return NULL;
    *ret = psc_contents_of(from, phase, options->has_step ? options->step : 0);
    return ret;
}

static enum cli_exit check_json(const struct cli_input *in, const struct cli_options *options, const struct psc_contents_in *from, uint32_t begin,
                                uint32_t end, struct totals *totals, enum cli_exit *budget)
{
    enum cli_exit status = CLI_CLEAN;
    struct psc_analysis *first = NULL;
    struct psc_json j, planned, broken; /* lists of their own, put behind the findings */
    psc_json_init(&j, false);
    psc_json_init(&planned, false);
    psc_json_array(&planned);
    psc_json_init(&broken, false);
    psc_json_array(&broken);
    psc_json_object(&j);
    psc_json_key(&j, "findings");
    psc_json_array(&j);
    for (uint32_t p = begin; p < end && !status; p++) {
        struct psc_analysis *a = NULL;
        struct psc_contents contents;
        status = cli_analyse(in, options, p, &a);
        for (uint32_t i = 0; !status && i < a->check.finding_n; i++) {
            cli_finding_json(&j, a, &a->check.findings[i], p, contents_of(from, options, p, &contents));
            flush(&j.out);
        }
        if (!status) {
            totals->findings += a->check.finding_n;
            totals->broken += cli_broken_json(&broken, a->story, p);
            if (a->comparison)
                comparison_json(&planned, a, p);
            enum cli_exit over = cli_budget(options, a, p);
            if (over)
                *budget = over;
        }
        if (p == begin)
            first = a;
        else
            psc_analysis_free(a);
    }
    psc_json_end_array(&j);
    psc_json_end_array(&planned);
    psc_json_end_array(&broken);
    if (totals->broken) {
        psc_json_key(&j, "invariants");
        psc_json_raw(&j, psc_text_str(&broken.out));
    }
    psc_json_key(&j, "planned");
    psc_json_raw(&j, psc_text_str(&planned.out));
    j.out.failed = j.out.failed || planned.out.failed || broken.out.failed;
    psc_json_release(&planned);
    psc_json_release(&broken);
    psc_json_key(&j, "records");
    psc_json_object(&j);
    psc_json_key(&j, "list");
    psc_json_array(&j);
    for (uint32_t p = begin; p < end && !status; p++) {
        struct record_json to = {&j, totals};
        status = each_step(in, options, p, step_json, &to);
    }
    psc_json_end_array(&j);
    psc_json_put_u64(&j, "total", totals->records);
    psc_json_put_u64(&j, "own", totals->own);
    psc_json_put_u64(&j, "overwritten", totals->overwritten);
    psc_json_put_u64(&j, "unknown", totals->unknown);
    psc_json_end_object(&j);
    psc_json_key(&j, "figures");
    if (first) {
        cli_figures_json(&j, first);
    } else {
        psc_json_object(&j);
        psc_json_end_object(&j);
    }
    psc_json_end_object(&j);
    psc_text_add(&j.out, "\n");
    psc_analysis_free(first);
    if (status)
        psc_json_release(&j);
    else
        status = cli_print(&j.out, CLI_CLEAN);
    return status;
}

/* ---- for people ----------------------------------------------------------------------------- */

/* The nodes that the finding needs, as a graph of their own. */
static void add_small_graph(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f)
{
    psc_node nodes[PSC_FINDING_NODES];
    uint32_t n = psc_finding_nodes(a, f, nodes, PSC_FINDING_NODES);
    struct psc_text text = {0};
    if (n)
        psc_text_add(out, "     In small:\n");
    for (uint32_t k = 0; k < n; k++) {
        psc_text_clear(&text);
        psc_explain_finding_node(&text, a, nodes[k]);
        psc_text_add(out, "       ");
        cli_add_safe(out, psc_text_str(&text));
        psc_text_add(out, "\n");
    }
    psc_text_release(&text);
}

/* The words that the finding changes. */
static void add_words(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f, const struct psc_contents *contents)
{
    struct psc_finding_bytes bytes = psc_finding_bytes(a, f, contents);
    struct psc_text text = {0};
    for (uint32_t k = 0, n = psc_explain_bytes_line_n(&bytes); k < n; k++) {
        psc_text_clear(&text);
        psc_explain_bytes_line(&text, a, &bytes, k);
        psc_text_add(out, k ? "       " : "     ");
        cli_add_safe(out, psc_text_str(&text));
        psc_text_add(out, "\n");
    }
    out->failed = out->failed || text.failed;
    psc_text_release(&text);
}

static void add_findings(struct psc_text *out, const struct psc_analysis *a, const struct psc_contents *contents)
{
    struct psc_text text = {0};
    for (uint32_t i = 0; i < a->check.finding_n && i < FINDINGS_SHOWN; i++) {
        const struct psc_finding *f = &a->check.findings[i];
        psc_text_clear(&text);
        psc_explain_finding(&text, a, f);
        psc_text_add(out, "  ");
        cli_add_safe(out, psc_text_str(&text));
        psc_text_addf(out, " (%s)\n", psc_confidence_name(f->confidence));
        psc_text_clear(&text);
        psc_explain_finding_more(&text, a, f);
        if (text.n) {
            psc_text_add(out, "     ");
            cli_add_safe(out, psc_text_str(&text));
            psc_text_add(out, "\n");
        }
        add_small_graph(out, a, f);
        if (contents)
            add_words(out, a, f, contents);
    }
    psc_text_release(&text);
    if (a->check.finding_n > FINDINGS_SHOWN)
        psc_text_addf(out, "  and %" PRIu32 " more; --json lists all\n", a->check.finding_n - FINDINGS_SHOWN);
}

static void add_reads(struct psc_text *out, const struct psc_analysis *a)
{
    if (!a->story) {
        psc_text_add(out, "  No graph: nothing to check.\n");
        return;
    }
    psc_text_add(out, "  ");
    cli_add_number(out, a->check.read_n);
    psc_text_add(out, a->check.read_n == 1 ? " read, " : " reads, ");
    if (!a->check.wrong_n) {
        psc_text_add(out, "each finds the value that it names.\n");
        return;
    }
    cli_add_number(out, a->check.wrong_n);
    psc_text_add(out, a->check.wrong_n == 1 ? " finds other bytes.\n" : " find other bytes.\n");
}

static void add_comparison(struct psc_text *out, const struct psc_analysis *a)
{
    const struct psc_story_comparison *c = a->comparison;
    struct psc_text text = {0};
    if (!c)
        return;
    psc_explain_comparison(&text, a->phase->graph, c);
    psc_text_add(out, "  ");
    cli_add_safe(out, psc_text_str(&text));
    psc_text_add(out, "\n");
    for (uint32_t i = 0; i < c->diff_n && i < DIFFS_SHOWN; i++) {
        psc_text_clear(&text);
        psc_explain_story_diff(&text, a->phase->graph, a->predicted, a->recorded, &c->diffs[i]);
        psc_text_add(out, "    ");
        cli_add_safe(out, psc_text_str(&text));
        psc_text_add(out, "\n");
    }
    if (c->diff_n > DIFFS_SHOWN)
        psc_text_addf(out, "    and %" PRIu32 " more; --json lists all\n", c->diff_n - DIFFS_SHOWN);
    psc_text_release(&text);
}

struct record_people {
    struct psc_text *lines; /* the first sentences of the phase */
    const struct psc_analysis *analysis;
    struct totals totals;
    uint32_t shown;
    uint64_t told;          /* verdicts other than own */
};

static void step_people(void *ctx, const struct psc_phase *phase, uint32_t p, uint32_t s,
                        const struct psc_record_check *check)
{
    struct record_people *to = ctx;
    (void)p;
    count_records(&to->totals, check);
    for (uint32_t i = 0; i < check->n; i++) {
        const struct psc_record_verdict *v = &check->list[i];
        struct psc_text text = {0};
        char label[96];
        if (v->verdict == PSC_RECORD_OWN || to->told++ >= RECORDS_SHOWN)
            continue;
        if (v->verdict == PSC_RECORD_OVERWRITTEN)
            psc_text_addf(&text, "#%" PRIu64 " %s: ", phase->graph->nodes[v->node].id,
                          psc_node_label(phase->graph, v->node, label, sizeof label));
        psc_explain_record(&text, to->analysis, v);
        psc_text_addf(to->lines, "    step %" PRIu32 "  ", s);
        cli_add_safe(to->lines, psc_text_str(&text));
        psc_text_add(to->lines, "\n");
        psc_text_release(&text);
    }
}

static void add_records(struct psc_text *out, const struct record_people *r, uint32_t steps)
{
    if (!r->totals.records)
        return;
    psc_text_add(out, "  ");
    cli_add_number(out, r->totals.records);
    psc_text_add(out, " recorded values in ");
    cli_add_number(out, steps);
    psc_text_add(out, steps == 1 ? " step: " : " steps: ");
    cli_add_number(out, r->totals.own);
    psc_text_add(out, " are the node's own, ");
    cli_add_number(out, r->totals.overwritten);
    psc_text_add(out, " overwritten, ");
    cli_add_number(out, r->totals.unknown);
    psc_text_add(out, " unknown.\n");
    psc_text_add(out, psc_text_str(r->lines));
    if (r->told > RECORDS_SHOWN) {
        psc_text_add(out, "    and ");
        cli_add_number(out, r->told - RECORDS_SHOWN);
        psc_text_add(out, " more; --json lists all\n");
    }
}

static enum cli_exit check_people(const struct cli_input *in, const struct cli_options *options, const struct psc_contents_in *from, uint32_t begin,
                                  uint32_t end, struct totals *totals, enum cli_exit *budget)
{
    enum cli_exit status = CLI_CLEAN;
    struct psc_text out = {0};
    bool unknown = false;
    for (uint32_t p = begin; p < end && !status; p++) {
        struct psc_analysis *a = NULL;
        struct psc_text lines = {0};
        struct psc_contents contents;
        status = cli_analyse(in, options, p, &a);
        if (status)
            break;
        struct record_people records = {.lines = &lines, .analysis = a};
        cli_add_heading(&out, options->file, p, a);
        add_reads(&out, a);
        add_findings(&out, a, contents_of(from, options, p, &contents));
        unknown = unknown || (!from && a->check.finding_n && a->phase->graph);
        totals->broken += cli_broken_add(&out, a->story);
        add_comparison(&out, a);
        status = each_step(in, options, p, step_people, &records);
        add_records(&out, &records, psc_doc_step_n(in->doc, p));
        psc_text_add(&out, "\n");
        totals->findings += a->check.finding_n;
        totals->records += records.totals.records;
        totals->own += records.totals.own;
        totals->overwritten += records.totals.overwritten;
        totals->unknown += records.totals.unknown;
        enum cli_exit over = cli_budget(options, a, p);
        if (over)
            *budget = over;
        psc_text_release(&lines);
        psc_analysis_free(a);
    }
    if (begin == end)
        psc_text_add(&out, "No phases: nothing to check.\n");
    else if (totals->findings)
        psc_text_addf(&out, "%" PRIu64 " %s.\n", totals->findings, totals->findings == 1 ? "finding" : "findings");
    else
        psc_text_add(&out, "No findings: no read goes wrong.\n");
    if (unknown)
        psc_text_addf(&out, "%s\n", psc_bytes_unknown);
    if (totals->broken)
        psc_text_addf(&out, "%" PRIu64 " %s not hold.\n", totals->broken,
                      totals->broken == 1 ? "invariant of the arenas does" : "invariants of the arenas do");
    if (totals->overwritten) {
        cli_add_number(&out, totals->overwritten);
        psc_text_add(&out, " of ");
        cli_add_number(&out, totals->records);
        psc_text_addf(&out, " recorded values are not the node's own%s.\n",
                      options->require_own ? "" : " (--require-own makes that a finding)");
    }
    if (!status)
        return cli_print(&out, CLI_CLEAN);
    psc_text_release(&out);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

enum cli_exit cli_check(struct cli_options *options)
{
    struct cli_input in = {0};
    struct totals totals = {0};
    struct psc_contents_in *from = NULL;
    struct psc_error error = {.byte = UINT64_MAX};
    enum cli_exit budget = CLI_CLEAN, status = cli_input_open(&in, options, true);
    if (status)
        goto out;
    cli_warn(in.doc);
    /* a plan file speaks of one phase */
    bool one = options->has_phase || options->plan_file;
    if (one && !cli_input_phase(&in, options)) {
        status = CLI_BAD;
        goto out;
    }
    uint32_t begin = one ? options->phase : 0, end = one ? options->phase + 1 : in.doc->phase_n;
    if (options->contents && (psc_contents_read(options->contents, &from, &error) || psc_contents_fit(from, in.doc->model, &error))) {
        status = cli_complain(options->contents, &error);
        goto out;
    }
    status = (options->json ? check_json : check_people)(&in, options, from, begin, end, &totals, &budget);
    if (!status && (totals.findings || totals.broken || (options->require_own && totals.overwritten)))
        status = CLI_FINDINGS;
    if (!status)
        status = budget;
out:
    psc_contents_close(from);
    cli_input_close(&in);
    return status;
}
