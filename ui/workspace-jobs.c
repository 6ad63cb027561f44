#include "ui/workspace-private.h"

#include <string.h>

#define SCAN_SLICE (16u << 20) /* bytes read between two looks at what was found */
#define TOKENS_AHEAD 48        /* steps of a phase whose token is read without being asked for */
#define AHEAD_US 60000         /* how long tokens are read before they are shown */

struct job {
    PscDocument *document;
    struct psc_phase phase;
    struct psc_analysis_options options;
    guint phase_index, step, request;
    gboolean has_step, replanned, other_story; /* of the same plan: what is looked at stays */
    PscStudy *study; /* given when still good */
    PscLook look;    /* made */
    struct psc_error error;
};

static void free_job(gpointer data)
{
    struct job *job = data;
    psc_study_unref(job->study);
    psc_look_clear(&job->look);
    psc_document_unref(job->document);
    g_free(job);
}

static void run_job(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct job *job = data;
    bool made = psc_look_make(&job->look, job->document, job->study, job->phase_index, &job->phase, &job->options,
                              job->has_step, job->step, &job->error);
    g_task_return_boolean(task, made);
}

void psc_workspace_keep_token(PscWorkspace *self, guint phase, guint step, const struct psc_step *from)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    if (state->tokens->len <= step)
        g_ptr_array_set_size(state->tokens, (gint)step + 1);
    const char *words = from->text ? from->text : "";
    g_ptr_array_index(state->tokens, step) =
        from->has_token ? g_string_chunk_insert_const(self->words, words) : (gpointer)psc_token_is_prompt;
}

static void job_done(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscWorkspace *self = PSC_WORKSPACE(source);
    struct job *job = g_task_get_task_data(G_TASK(result));
    if (job->request != self->request || job->document != self->document)
        return;
    self->busy = FALSE;
    if (!job->look.study) {
        struct phase_state *kept = psc_workspace_state(self, job->phase_index);
        if (kept->study)
            kept->options = kept->study->options;
        psc_workspace_forget_verdict(self, kept);
        psc_workspace_take_verdict(self);
        psc_workspace_set_failure(self, job->error.text);
        psc_workspace_emit(self, PSC_CHANGED_BUSY);
        return;
    }
    psc_workspace_set_failure(self, NULL);
    guint what = PSC_CHANGED_BUSY | PSC_CHANGED_STEP;
    gboolean other_phase = job->phase_index != self->phase;
    if (other_phase)
        psc_workspace_store_view(self);
    struct phase_state *state = psc_workspace_state(self, job->phase_index);
    self->phase = job->phase_index;
    state->step = job->step;
    if (state->study != job->look.study) {
        psc_study_unref(state->study);
        state->study = psc_study_ref(job->look.study);
    }
    if (self->look.study != job->look.study)
        what |= PSC_CHANGED_STUDY | PSC_CHANGED_CURSOR | PSC_CHANGED_SELECTION | PSC_CHANGED_RANGE;
    psc_node at = self->look.study ? psc_study_node_at(self->look.study, self->cursor) : PSC_NONE;
    psc_look_clear(&self->look);
    self->free_study = NULL; /* another study may come to lie at the same address */
    self->look = job->look;
    job->look = (PscLook){0};
    self->look_serial++;
    psc_workspace_kv_follow_step(self);
    if (self->look.records)
        psc_workspace_keep_token(self, self->phase, job->step, &self->look.records->step);
    if (other_phase)
        psc_workspace_restore_view(self);
    else if (job->other_story)
        psc_workspace_after_story(self, at);
    else if (job->replanned)
        psc_workspace_after_replan(self);
    else if (what & PSC_CHANGED_STUDY) /* a step with events of its own, or back from one */
        psc_workspace_after_story(self, at);
    if (self->asked_finding)
        psc_workspace_aim(self, self->asked_finding);
    psc_workspace_emit(self, what);
}

void psc_workspace_request(PscWorkspace *self, guint phase, guint step, const struct psc_analysis_options *options)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    gboolean was_planned = state->options.as_planned;
    if (options) {
        state->options = *options;
        psc_workspace_forget_verdict(self, state);
    }
    psc_workspace_story_prepare(self, state);
    struct job *job = g_new0(struct job, 1);
    job->document = psc_document_ref(self->document);
    job->phase = state->phase;
    job->phase_index = phase;
    job->has_step = step < state->step_n;
    job->step = step;
    job->replanned = options != NULL;
    job->other_story = was_planned != state->options.as_planned && phase == self->phase;
    if (!options && state->study)
        job->study = psc_study_ref(state->study);
    job->options = state->options;
    job->request = ++self->request;
    self->asked_phase = phase;
    self->asked_step = step;
    self->asked_finding = 0;
    GTask *task = g_task_new(self, NULL, job_done, NULL);
    g_task_set_task_data(task, job, free_job);
    self->busy = TRUE;
    psc_workspace_emit(self, PSC_CHANGED_BUSY);
    g_task_run_in_thread(task, run_job);
    g_object_unref(task);
}

/* The tokens of the first steps, for the strip: read some at a time, so that the strip is filled a few times and not once
 * for each; dropped when the file closes. */
struct ahead {
    PscDocument *document;
    guint phase, step, n, done; /* of the steps [step, step + n) so many were read */
    struct psc_step read[TOKENS_AHEAD]; /* only has_token and text, which is g_strdup'ed */
};

static void free_ahead(gpointer data)
{
    struct ahead *ahead = data;
    for (guint i = 0; i < ahead->done; i++)
        g_free((char *)ahead->read[i].text);
    psc_document_unref(ahead->document);
    g_free(ahead);
}

static void run_ahead(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct ahead *ahead = data;
    gint64 end = g_get_monotonic_time() + AHEAD_US;
    while (ahead->done < ahead->n && (!ahead->done || g_get_monotonic_time() < end)) {
        struct psc_arena arena = {0};
        struct psc_step read = {0}, *to = &ahead->read[ahead->done];
        bool good = psc_doc_load_step(ahead->document->doc, ahead->phase, ahead->step + ahead->done, &arena, &read, NULL) == PSC_OK;
        *to = (struct psc_step){.has_token = good ? read.has_token : true, .text = g_strdup(good && read.text ? read.text : "")};
        psc_arena_release(&arena);
        ahead->done++;
    }
    g_task_return_boolean(task, TRUE);
}

static void ahead_done(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscWorkspace *self = PSC_WORKSPACE(source);
    struct ahead *ahead = g_task_get_task_data(G_TASK(result));
    if (ahead->document != self->document)
        return;
    for (guint i = 0; i < ahead->done; i++)
        psc_workspace_keep_token(self, ahead->phase, ahead->step + i, &ahead->read[i]);
    psc_workspace_emit(self, PSC_CHANGED_STEPS);
    psc_workspace_read_ahead(self);
}

void psc_workspace_read_ahead(PscWorkspace *self)
{
    for (guint phase = 0; phase < self->phases->len; phase++) {
        struct phase_state *state = psc_workspace_state(self, phase);
        guint end = MIN(state->step_n, TOKENS_AHEAD);
        for (guint step = 0; step < end; step++) {
            if (psc_workspace_token(self, phase, step))
                continue;
            struct ahead *ahead = g_new0(struct ahead, 1);
            ahead->document = psc_document_ref(self->document);
            ahead->phase = phase;
            ahead->step = step;
            ahead->n = end - step; /* those that are known already are read once more: few, if any */
            GTask *task = g_task_new(self, NULL, ahead_done, NULL);
            g_task_set_task_data(task, ahead, free_ahead);
            g_task_run_in_thread(task, run_ahead);
            g_object_unref(task);
            return;
        }
    }
}

/* The rest of the file, slice by slice; between two slices the window takes over what was found. */
struct slice {
    PscDocument *document;
    bool done;
    uint64_t at, total;
    enum psc_status status;
    struct psc_error error;
};

static void free_slice(gpointer data)
{
    struct slice *slice = data;
    psc_document_unref(slice->document);
    g_free(slice);
}

static void run_slice(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct slice *slice = data;
    struct psc_step_source *steps = &slice->document->doc->steps;
    slice->status = steps->scan(steps->ctx, SCAN_SLICE, &slice->done, &slice->error);
    if (steps->progress)
        slice->at = steps->progress(steps->ctx, &slice->total);
    g_task_return_boolean(task, TRUE);
}

/* Keys come in any order: what a file brings of a plan or events may stand behind the steps, which were shown before it
   was read. */
static void take_late_plan(PscWorkspace *self)
{
    struct phase_state *state = psc_workspace_state(self, self->phase);
    bool brings = state->phase.plan || state->phase.story;
    if (self->look.study && brings && !psc_study_brings_plan(self->look.study))
        psc_workspace_request(self, self->phase, state->step, &state->options);
}

static void slice_done(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscWorkspace *self = PSC_WORKSPACE(source);
    struct slice *slice = g_task_get_task_data(G_TASK(result));
    if (slice->document != self->document)
        return;
    self->scan_fraction = slice->total ? (double)slice->at / (double)slice->total : 0;
    self->scanning = slice->status == PSC_OK && !slice->done;
    if (slice->status != PSC_OK)
        psc_workspace_set_failure(self, slice->error.text);
    psc_workspace_sync_phases(self);
    psc_workspace_emit(self, PSC_CHANGED_STEPS | PSC_CHANGED_BUSY | PSC_CHANGED_PHASES);
    if (self->scanning) {
        psc_workspace_scan_on(self);
    } else {
        take_late_plan(self);
        psc_workspace_read_ahead(self);
        psc_workspace_kv_walk_when_ready(self);
    }
}

void psc_workspace_scan_on(PscWorkspace *self)
{
    struct slice *slice = g_new0(struct slice, 1);
    slice->document = psc_document_ref(self->document);
    GTask *task = g_task_new(self, NULL, slice_done, NULL);
    g_task_set_task_data(task, slice, free_slice);
    g_task_run_in_thread(task, run_slice);
    g_object_unref(task);
}

