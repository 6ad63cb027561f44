#include "app/run-job.h"

#include "app/cli/run-values.h"
#include "app/subject.h"
#include "backends/registry.h"
#include "core/base/hash.h"

#include <inttypes.h>
#include <string.h>

#define NEWS_MS 60

struct _PscRunJob {
    gint refs;
    PscRunOrder *order;
    gint cancelled;  /* atomic */
    GMutex mutex;    /* of what follows, up to the blank line */
    GString *text;
    const char *stage;
    guint64 done, total;
    guint tokens;
    gint64 first_token, last_token; /* monotonic us */

    guint timer;
    PscRunTell tell;
    PscRunDone finished;
    gpointer data;
    PscRunResult result;
    /* the worker's own */
    struct app_subject subject;
    struct psc_arena arena;
    struct psc_tokens prompt;
    struct psc_run_fill *fills;
    struct psc_run_result run;
};

static void unref(gpointer data)
{
    PscRunJob *job = data;
    if (!g_atomic_int_dec_and_test(&job->refs))
        return;
    psc_run_order_free(job->order);
    g_mutex_clear(&job->mutex);
    g_string_free(job->text, TRUE);
    g_free(job);
}

/* ---- in the worker -------------------------------------------------------------------------------------------- */

static void token_cb(void *ctx, int32_t token, const char *text, size_t n)
{
    PscRunJob *job = ctx;
    (void)token;
    g_mutex_lock(&job->mutex);
    g_string_append_len(job->text, text, (gssize)n);
    job->last_token = g_get_monotonic_time();
    if (!job->tokens++)
        job->first_token = job->last_token;
    g_mutex_unlock(&job->mutex);
}

static void progress_cb(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    PscRunJob *job = ctx;
    g_mutex_lock(&job->mutex);
    job->stage = stage;
    job->done = done;
    job->total = total;
    g_mutex_unlock(&job->mutex);
}

static bool cancelled_cb(void *ctx)
{
    return g_atomic_int_get(&((PscRunJob *)ctx)->cancelled) != 0;
}

static void set_stage(PscRunJob *job, const char *stage)
{
    progress_cb(job, stage, 0, 0);
}

static gboolean wrong(PscRunJob *job, PscRunField field, const struct psc_error *error)
{
    job->result.field = field;
    job->result.opened->error = g_strdup(error->text);
    return FALSE;
}

static gboolean open_subject(PscRunJob *job, struct psc_run_request *q, struct psc_error *error)
{
    PscRunOrder *order = job->order;
    if (order->what == PSC_RUN_GRAPH) {
        q->graph = psc_run_order_graph(order);
        if (q->graph)
            return TRUE;
        (void)psc_fail(error, PSC_ERR_USAGE, "no graph is open");
        return wrong(job, PSC_RUN_FIELD_WHAT, error);
    }
    gboolean file = order->what == PSC_RUN_FILE;
    struct app_model_request request = {.path = file ? order->path : NULL, .preset = file ? NULL : order->preset};
    if (file && !app_is_model_file(order->path)) {
        (void)psc_fail(error, PSC_ERR_USAGE, g_file_test(order->path, G_FILE_TEST_EXISTS)
                                                 ? "%s is no model file: it does not begin with GGUF. A graph is run by opening it first."
                                                 : "%s: there is no such file.", order->path);
        return wrong(job, PSC_RUN_FIELD_WHAT, error);
    }
    if (app_subject_open(&job->subject, &request, 0, NULL, error) != PSC_OK)
        return wrong(job, PSC_RUN_FIELD_WHAT, error);
    q->model = job->subject.model.model;
    q->tokenizer = job->subject.tokenizer;
    return TRUE;
}

static gboolean take_prompt(PscRunJob *job, struct psc_run_request *q, struct psc_error *error)
{
    PscRunOrder *order = job->order;
    enum psc_status status;
    if (order->prompt_is == PSC_RUN_PROMPT_IDS) {
        int32_t *ids = NULL;
        status = cli_parse_ids(&job->arena, order->prompt, &ids, &q->prompt_n, error);
        q->prompt = ids;
    } else {
        status = app_subject_encode(&job->subject, order->prompt, order->prompt_is == PSC_RUN_PROMPT_MESSAGE, &job->prompt, error);
        q->prompt = (const int32_t *)job->prompt.id;
        q->prompt_n = (uint32_t)job->prompt.n;
        q->prompt_text = order->prompt;
    }
    return status == PSC_OK || wrong(job, PSC_RUN_FIELD_PROMPT, error);
}

/* "random:7", "count", "zeros"; false when it is none of them. */
static gboolean made_words(const char *text, enum psc_dtype dtype, uint32_t *words, uint64_t n)
{
    gboolean random = g_str_has_prefix(text, "random"), count = g_str_equal(text, "count");
    uint64_t state = random && text[6] == ':' ? g_ascii_strtoull(text + 7, NULL, 10) : 1;
    if (!random && !count && !g_str_equal(text, "zeros"))
        return FALSE;
    for (uint64_t i = 0; i < n; i++) {
        float real = random ? (float)((double)(psc_random_next(&state) >> 40) / (1 << 23) - 1) : count ? (float)i : 0;
        uint32_t whole = random ? (uint32_t)(psc_random_next(&state) % 16) : count ? (uint32_t)i : 0;
        if (dtype == PSC_F32)
            memcpy(&words[i], &real, sizeof real);
        else
            words[i] = whole;
    }
    return TRUE;
}

/* The name that means this input and no other: its own when no other has it, else its id. */
static const char *fill_name(PscRunJob *job, const struct psc_graph *graph, psc_node input)
{
    const char *name = graph->nodes[input].name;
    psc_node found;
    if (name && *name && psc_run_find_input(graph, name, &found, NULL) == PSC_OK && found == input)
        return name;
    char id[32];
    g_snprintf(id, sizeof id, "%" PRIu64, graph->nodes[input].id);
    return psc_arena_strdup(&job->arena, id);
}

static gboolean take_fill(PscRunJob *job, const struct psc_graph *graph, guint i, struct psc_run_fill *ret, struct psc_error *error)
{
    psc_node input = graph->inputs[i];
    const struct psc_node_info *node = &graph->nodes[input];
    const char *name = fill_name(job, graph, input);
    char *text = g_strstrip(g_strdup(job->order->fills[i]));
    uint32_t *words = node->elements <= (UINT64_C(1) << 28) ? psc_arena_alloc(&job->arena, (size_t)node->elements, sizeof *words) : NULL;
    enum psc_status status = words && name ? PSC_OK : psc_fail_nomem(error);
    if (status == PSC_OK && made_words(text, node->dtype, words, node->elements)) {
        *ret = (struct psc_run_fill){name, words, node->elements};
    } else if (status == PSC_OK) {
        char *both = g_strconcat(name, "=", text, NULL);
        status = cli_parse_fill(&job->arena, graph, both, ret, error);
        g_free(both);
    }
    g_free(text);
    if (status == PSC_OK)
        return TRUE;
    job->result.fill = i;
    return wrong(job, PSC_RUN_FIELD_FILL, error);
}

static gboolean take_fills(PscRunJob *job, struct psc_run_request *q, struct psc_error *error)
{
    job->fills = g_new0(struct psc_run_fill, q->graph->input_n + 1);
    for (guint i = 0; i < q->graph->input_n; i++)
        if (!take_fill(job, q->graph, i, &job->fills[i], error))
            return FALSE;
    q->fills = job->fills;
    q->fill_n = q->graph->input_n;
    q->times = job->order->times;
    return TRUE;
}

static void take_options(PscRunJob *job, struct psc_run_request *q)
{
    PscRunOrder *order = job->order;
    q->n_predict = order->tokens;
    q->n_ctx = order->n_ctx;
    q->backends = order->backend;
    q->sampling = psc_sampling_default();
    q->sampling.temperature = (float)order->temperature;
    q->sampling.seed = order->seed;
    q->session.planner = order->planner;
    q->session.plan = order->plan;
    q->session.config.threads = order->threads;
    q->session.recycled = order->recycled;
    q->session.snapshot = true;
    for (uint32_t i = 0; i < psc_named_fault_n(); i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        if (!order->faults[i])
            continue;
        q->session.plan.faults |= fault.plan;
        q->session.run_faults |= fault.run;
        q->session.call_faults |= fault.call;
    }
    q->record = (struct psc_recorder_options){.events = true, .values = order->values, .hashes = order->hashes, .capture = order->capture};
    if (order->on_arenas) {
        q->session.arenas = &order->arenas;
        q->hold = order->hold;
        q->borrow_inputs = order->borrow;
        q->refill = true; /* as whoever calls a graph again */
    }
    q->ctx = job;
    q->token = token_cb;
    q->progress = progress_cb;
    q->cancelled = cancelled_cb;
}

/* A sentence about backends belongs beside them. */
static PscRunField field_of(const struct psc_error *error)
{
    return strstr(error->text, "backend") && error->status == PSC_ERR_USAGE ? PSC_RUN_FIELD_BACKEND : PSC_RUN_FIELD_NONE;
}

static char *summary_of(const PscRunJob *job)
{
    const struct psc_run_result *r = &job->run;
    GString *s = g_string_new(r->cancelled ? "Cancelled; what was recorded is open." : "Recorded.");
    if (job->subject.model.model)
        g_string_append_printf(s, "  %u token%s of prompt, %u generated", r->prefill_tokens,
                               r->prefill_tokens == 1 ? "" : "s", r->token_n);
    if (r->decode_seconds > 0 && r->token_n > 1)
        g_string_append_printf(s, ", %.0f tokens a second", (r->token_n - 1) / r->decode_seconds);
    g_string_append_printf(s, ".  %u finding%s", r->finding_n, r->finding_n == 1 ? "" : "s");
    if (r->on_arenas && r->arena_run_n)
        g_string_append_printf(s, ", %u run%s on arenas, %" G_GUINT64_FORMAT " blocks asked of the heap by the last", r->arena_run_n,
                               r->arena_run_n == 1 ? "" : "s", (guint64)r->arena_runs[r->arena_run_n - 1].system_allocs);
    if (r->arena_broken.ever)
        g_string_append_printf(s, "; the arenas: %s", r->arena_broken.text);
    if (job->order->hashes)
        g_string_append_printf(s, ", %u reads with other bytes than were written", r->confirmed_n);
    if (r->unwritten_n)
        g_string_append_printf(s, ", %" G_GUINT64_FORMAT " KV rows read that nobody wrote", (guint64)r->unwritten_n);
    g_string_append_c(s, '.');
    return g_string_free(s, FALSE);
}

/* What was recorded becomes the document of the result, with the first look at it. */
static void make_document(PscRunJob *job, struct psc_error *error)
{
    PscOpened *opened = job->result.opened;
    struct psc_doc *doc = job->run.doc;
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    options.plan.log = true;
    if (!doc || !doc->phase_n) {
        if (!opened->error)
            opened->error = g_strdup(job->run.cancelled ? "Cancelled before anything was recorded." : "The run recorded nothing.");
        return;
    }
    guint shown = job->run.on_arenas ? doc->phase_n - 1 : 0; /* all runs on the arenas: behind those with values */
    job->run.doc = NULL;
    opened->document = psc_document_new(doc);
    set_stage(job, "checking what happened");
    if (!psc_look_make(&opened->look, opened->document, NULL, shown, &doc->phases[shown], &options, psc_doc_step_n(doc, shown) > 0, 0,
                       error)) {
        (void)wrong(job, PSC_RUN_FIELD_NONE, error);
        return;
    }
    opened->title = g_strdup_printf("run of %s", doc->model ? doc->model : "a graph");
    job->result.summary = summary_of(job);
}

static void run(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    PscRunJob *job = data;
    struct psc_run_request request = {0};
    struct psc_error error = {0};
    gboolean good = open_subject(job, &request, &error);
    take_options(job, &request);
    if (good)
        good = request.graph ? take_fills(job, &request, &error) : take_prompt(job, &request, &error);
    if (good && !cancelled_cb(job)) {
        uint32_t api_n;
        const struct psc_backend_api *const *apis = psc_backend_apis(&api_n);
        set_stage(job, "planning");
        enum psc_status status = psc_run(apis, api_n, &request, &job->run, &error);
        if (status != PSC_OK)
            (void)wrong(job, field_of(&error), &error);
        make_document(job, &error); /* of a run that failed: what was recorded before */
    }
    psc_run_result_release(&job->run);
    psc_tokens_release(&job->prompt);
    psc_arena_release(&job->arena);
    g_clear_pointer(&job->fills, g_free);
    app_subject_close(&job->subject);
    g_task_return_boolean(task, TRUE);
}

/* ---- in the main thread ------------------------------------------------------------------------------------------ */

static gboolean timer_cb(gpointer data)
{
    PscRunJob *job = data;
    if (!job->tell)
        return G_SOURCE_CONTINUE;
    g_mutex_lock(&job->mutex);
    char *text = g_strdup(job->text->str);
    PscRunNews news = {.stage = job->stage, .text = text, .tokens = job->tokens,
                       .part = job->total ? (double)job->done / (double)job->total : -1,
                       .wanted = job->order->what == PSC_RUN_GRAPH ? 0 : job->order->tokens};
    if (job->tokens > 1 && job->last_token > job->first_token)
        news.per_second = (job->tokens - 1) * 1e6 / (double)(job->last_token - job->first_token);
    g_mutex_unlock(&job->mutex);
    job->tell(&news, job->data);
    g_free(text);
    return G_SOURCE_CONTINUE;
}

static void finished_cb(GObject *source G_GNUC_UNUSED, GAsyncResult *result G_GNUC_UNUSED, gpointer data)
{
    PscRunJob *job = data;
    g_clear_handle_id(&job->timer, g_source_remove);
    if (job->finished)
        job->finished(&job->result, job->data);
    psc_opened_free(job->result.opened);
    g_free(job->result.summary);
    unref(job);
}

PscRunJob *psc_run_job_start(PscRunOrder *order, PscRunTell tell, PscRunDone done, gpointer data)
{
    PscRunJob *job = g_new0(PscRunJob, 1);
    job->refs = 2; /* the task's and that of finished_cb */
    job->order = order;
    g_mutex_init(&job->mutex);
    job->text = g_string_new(NULL);
    job->stage = "opening";
    job->tell = tell;
    job->finished = done;
    job->data = data;
    job->result.opened = g_new0(PscOpened, 1);
    job->timer = g_timeout_add(NEWS_MS, timer_cb, job);
    GTask *task = g_task_new(NULL, NULL, finished_cb, job);
    g_task_set_task_data(task, job, unref);
    g_task_run_in_thread(task, run);
    g_object_unref(task);
    return job;
}

gboolean psc_run_job_is_opening(PscRunJob *job)
{
    g_mutex_lock(&job->mutex);
    gboolean opening = g_str_equal(job->stage, "opening");
    g_mutex_unlock(&job->mutex);
    return opening;
}

void psc_run_job_cancel(PscRunJob *job)
{
    g_atomic_int_set(&job->cancelled, 1);
}

void psc_run_job_abandon(PscRunJob *job)
{
    job->tell = NULL;
    job->finished = NULL;
    psc_run_job_cancel(job);
}
