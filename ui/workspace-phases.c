#define _DEFAULT_SOURCE /* setpriority */
#include "ui/workspace-phases.h"

#include "ui/workspace-private.h"

#include "core/debug/arena-track.h"

#include <sys/resource.h>

#define BATCH 128      /* phases handed to the thread at once */
#define BATCH_US 50000 /* after so long it tells of those that it has */
#define NICENESS 10
#define TOLD_MAX 10    /* lines of a tooltip */
#define KIND_CHARS 14  /* of a phase's name in the badge */

static PscPhaseVerdict verdict_of(const struct psc_analysis *a)
{
    return (PscPhaseVerdict){.known = TRUE, .finding_n = a->check.finding_n, .wrong_n = a->check.wrong_n,
                             .broken_n = a->story ? (guint)__builtin_popcount(psc_arena_ever_broken(a->story)) : 0};
}

/* A step that cannot be read, or not be judged, says nothing here: it says so itself when it is shown. */
static void look_at_records(PscPhaseVerdict *v, const struct psc_doc *doc, guint index, const struct psc_phase *phase)
{
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_record_check check;
    if (!psc_doc_load_step(doc, index, 0, &arena, &step, NULL) && !step.unreadable &&
        !psc_records_check(&arena, phase, &step, &check, NULL)) {
        v->overwritten_n = check.overwritten;
        v->record_n = check.n;
    }
    psc_arena_release(&arena);
}

static gboolean is_wrong(const PscPhaseVerdict *v)
{
    return v->finding_n || v->broken_n;
}

static gboolean is_told(const PscPhaseVerdict *v)
{
    return is_wrong(v) || v->overwritten_n;
}

static void put(PscWorkspace *self, struct phase_state *state, PscPhaseVerdict verdict)
{
    self->verdicts.known_n += (guint)verdict.known - (guint)state->verdict.known;
    self->verdicts.wrong_n += (guint)is_wrong(&verdict) - (guint)is_wrong(&state->verdict);
    self->verdicts.failed_n += (guint)verdict.failed - (guint)state->verdict.failed;
    self->verdicts.told_n += (guint)is_told(&verdict) - (guint)is_told(&state->verdict);
    self->verdicts.finding_n += (guint64)verdict.finding_n - state->verdict.finding_n;
    state->verdict = verdict;
}

void psc_workspace_forget_verdict(PscWorkspace *self, struct phase_state *state)
{
    put(self, state, (PscPhaseVerdict){0});
    state->verdict_serial++;
}

/* ---- the look at the others -------------------------------------------------------------------------------- */

struct one {
    guint phase, serial;
    struct psc_phase data;
    struct psc_analysis_options options;
    gboolean has_step;
    PscPhaseVerdict verdict;
};

struct psc_phases_job {
    PscWorkspace *ws;
    PscDocument *document;
    gint stopped; /* atomic */
    guint n, done;
    struct one list[BATCH];
};

static void free_job(gpointer data)
{
    struct psc_phases_job *job = data;
    psc_document_unref(job->document);
    g_object_unref(job->ws);
    g_free(job);
}

static gboolean done_cb(gpointer data)
{
    struct psc_phases_job *job = data;
    PscWorkspace *self = job->ws;
    if (self->verdicts.job != job)
        return G_SOURCE_REMOVE; /* another document is shown */
    self->verdicts.job = NULL;
    for (guint i = 0; i < job->done; i++) {
        struct phase_state *state = psc_workspace_state(self, job->list[i].phase);
        if (state->verdict_serial == job->list[i].serial)
            put(self, state, job->list[i].verdict);
    }
    psc_workspace_emit(self, PSC_CHANGED_PHASES);
    return G_SOURCE_REMOVE;
}

static void look_at(const struct psc_doc *doc, struct one *one)
{
    struct psc_analysis *analysis = NULL;
    if (psc_analysis_new(&one->data, &one->options, &analysis, NULL) == PSC_OK)
        one->verdict = verdict_of(analysis);
    else
        one->verdict = (PscPhaseVerdict){.known = TRUE, .failed = TRUE};
    psc_analysis_free(analysis);
    if (one->has_step)
        look_at_records(&one->verdict, doc, one->phase, &one->data);
}

static gpointer run(gpointer data)
{
    struct psc_phases_job *job = data;
    gint64 end = g_get_monotonic_time() + BATCH_US;
    (void)setpriority(PRIO_PROCESS, 0, NICENESS); /* of this thread alone; if it is refused, it only takes its share */
    while (job->done < job->n && !g_atomic_int_get(&job->stopped) && (!job->done || g_get_monotonic_time() < end))
        look_at(job->document->doc, &job->list[job->done++]);
    g_idle_add_full(G_PRIORITY_DEFAULT, done_cb, job, free_job);
    return NULL;
}

/* The phase that is shown has an analysis already. */
void psc_workspace_take_verdict(PscWorkspace *self)
{
    const PscStudy *study = self->look.study;
    struct phase_state *state = psc_workspace_state(self, self->phase);
    if (!study || !state)
        return;
    PscPhaseVerdict verdict = verdict_of((study->of_phase ? study->of_phase : study)->analysis);
    if (self->look.records) {
        verdict.overwritten_n = self->look.records->check.overwritten;
        verdict.record_n = self->look.records->check.n;
    }
    put(self, state, verdict);
}

void psc_workspace_look_on(PscWorkspace *self)
{
    guint n = self->phases->len;
    if (!self->look.study || self->beside || self->busy || self->verdicts.job || self->verdicts.known_n >= n)
        return;
    struct psc_phases_job *job = g_new0(struct psc_phases_job, 1);
    job->ws = g_object_ref(self);
    job->document = psc_document_ref(self->document);
    for (guint k = 1; k < n && job->n < BATCH; k++) {
        guint phase = (self->phase + k) % n;
        struct phase_state *state = psc_workspace_state(self, phase);
        if (!state->verdict.known)
            job->list[job->n++] = (struct one){.phase = phase, .serial = state->verdict_serial, .data = state->phase,
                                               .options = psc_workspace_story_options(self, state),
                                               .has_step = state->step_n > 0};
    }
    if (!job->n) { /* only the shown one, which is being worked out anew */
        free_job(job);
        return;
    }
    self->verdicts.job = job;
    g_thread_unref(g_thread_new("phases", run, job));
}

void psc_workspace_verdicts_drop(PscWorkspace *self)
{
    if (self->verdicts.job)
        g_atomic_int_set(&self->verdicts.job->stopped, 1);
    self->verdicts.job = NULL;
    self->verdicts.known_n = self->verdicts.wrong_n = self->verdicts.told_n = self->verdicts.failed_n = 0;
    self->verdicts.finding_n = 0;
}

/* ---- questions --------------------------------------------------------------------------------------------- */

PscPhaseVerdict psc_workspace_verdict(PscWorkspace *self, guint phase)
{
    const struct phase_state *state = psc_workspace_state(self, phase);
    return state ? state->verdict : (PscPhaseVerdict){0};
}

gboolean psc_workspace_wrong(PscWorkspace *self, guint phase)
{
    const struct phase_state *state = psc_workspace_state(self, phase);
    return state && is_wrong(&state->verdict);
}

gboolean psc_workspace_looking(PscWorkspace *self, guint *ret_known)
{
    if (ret_known)
        *ret_known = self->verdicts.known_n;
    return self->document && !self->beside && (self->scanning || self->verdicts.known_n < self->phases->len);
}

gboolean psc_workspace_all_clean(PscWorkspace *self)
{
    return !psc_workspace_looking(self, NULL) && !self->verdicts.told_n && !self->verdicts.failed_n;
}

guint psc_workspace_wrong_phase(PscWorkspace *self, int direction)
{
    guint n = self->phases->len;
    if (self->verdicts.wrong_n <= (guint)psc_workspace_wrong(self, self->phase))
        return PSC_NONE;
    for (guint k = 1; k < n; k++) {
        guint phase = (self->phase + (direction > 0 ? k : n - k)) % n;
        if (psc_workspace_wrong(self, phase))
            return phase;
    }
    return PSC_NONE;
}

gboolean psc_workspace_go_to_wrong(PscWorkspace *self, int direction)
{
    guint phase = psc_workspace_wrong_phase(self, direction);
    if (phase == PSC_NONE)
        return FALSE;
    psc_workspace_request(self, phase, psc_workspace_state(self, phase)->step, NULL);
    self->asked_finding = direction;
    return TRUE;
}

/* ---- words ------------------------------------------------------------------------------------------------- */

static char *count_words(const struct phase_state *state)
{
    const PscPhaseVerdict *v = &state->verdict;
    if (!is_wrong(v))
        return g_strdup_printf("%u of %u records", v->overwritten_n, v->record_n);
    const char *noun = !v->finding_n ? "invariant" : state->phase.expression ? "problem" : "clobber";
    guint n = v->finding_n ? v->finding_n : v->broken_n;
    return g_strdup_printf("%u %s%s", n, noun, n == 1 ? "" : "s");
}

char *psc_workspace_phase_mark(PscWorkspace *self, guint phase, gboolean brief)
{
    const struct phase_state *state = psc_workspace_state(self, phase);
    /* what a file of arenas says itself is known without looking at the phase */
    gboolean told = state && !state->verdict.known && state->phase.story && psc_arena_ever_broken(state->phase.story);
    if (!state || (!told && !is_told(&state->verdict)))
        return g_strdup("");
    if (!told && !is_wrong(&state->verdict)) {
        char *count = count_words(state), *mark = brief ? g_strdup("\xe2\x8a\x98") : g_strconcat("\xe2\x8a\x98 ", count, NULL);
        g_free(count);
        return mark;
    }
    if (told || (brief && !state->verdict.finding_n))
        return g_strdup("\xe2\x9a\xa0");
    if (brief)
        return g_strdup_printf("\xe2\x9a\xa0 %u", state->verdict.finding_n);
    char *count = count_words(state), *mark = g_strconcat("\xe2\x9a\xa0 ", count, NULL);
    g_free(count);
    return mark;
}

/* "Decode", or "phase 7" where others are of that kind, too. */
static char *name_of(PscWorkspace *self, guint phase)
{
    const char *kind = psc_workspace_state(self, phase)->phase.kind;
    gboolean alone = kind && *kind;
    for (guint i = 0; alone && i < self->phases->len; i++)
        alone = i == phase || g_strcmp0(kind, psc_workspace_state(self, i)->phase.kind) != 0;
    if (!alone)
        return g_strdup_printf("phase %u", phase + 1);
    char *name = g_utf8_strlen(kind, -1) > KIND_CHARS ? g_utf8_substring(kind, 0, KIND_CHARS) : g_strdup(kind);
    name[0] = g_ascii_toupper(name[0]);
    return name;
}

char *psc_workspace_elsewhere(PscWorkspace *self)
{
    guint n = self->verdicts.wrong_n - (guint)psc_workspace_wrong(self, self->phase);
    guint64 findings = self->verdicts.finding_n - psc_workspace_verdict(self, self->phase).finding_n;
    if (!n)
        return NULL;
    GString *words = g_string_new("\xe2\x9a\xa0");
    if (findings)
        g_string_append_printf(words, " %" G_GUINT64_FORMAT, findings);
    if (n > 1) {
        g_string_append_printf(words, " in %u phases", n);
    } else {
        char *name = name_of(self, psc_workspace_wrong_phase(self, 1));
        g_string_append_printf(words, " in %s", name);
        g_free(name);
    }
    return g_string_free(words, FALSE);
}

char *psc_workspace_phases_told(PscWorkspace *self)
{
    GString *told = g_string_new(NULL);
    guint n = self->phases->len, told_n = self->verdicts.told_n, failed = self->verdicts.failed_n, lines = 0, known;
    gboolean looking = psc_workspace_looking(self, &known);
    for (guint i = 0; i < n && lines < MIN(told_n, TOLD_MAX); i++) {
        const struct phase_state *state = psc_workspace_state(self, i);
        if (!is_told(&state->verdict))
            continue;
        lines++;
        char *name = name_of(self, i), *count = count_words(state);
        name[0] = g_ascii_toupper(name[0]);
        g_string_append_printf(told, "\n%s: %s%s", name, count, is_wrong(&state->verdict) ? "" : " overwritten");
        g_free(name);
        g_free(count);
    }
    if (told_n > lines)
        g_string_append_printf(told, "\nand %u more phase%s", told_n - lines, told_n - lines == 1 ? "" : "s");
    if (failed)
        g_string_append_printf(told, "\n%u phase%s could not be checked", failed, failed == 1 ? "" : "s");
    if (looking)
        g_string_append_printf(told, "\n%u of %u phases%s looked at so far", known, n, self->scanning ? " that were read" : "");
    else if (n > 1 && !told_n && !failed)
        g_string_append_printf(told, "\nAll %u phases are clean", n);
    return g_string_free(told, FALSE);
}
