/* bench: how fast a model reads a prompt (pp) and generates (tg), beside what the memory can do. */
#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "app/subject.h"
#include "backends/registry.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "traces/json-write.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)256 << 20) /* of all threads together; larger than any cache */
#define COPY_ROUNDS 5
#define STREAMS 16u /* that a thread reads side by side: one alone leaves the prefetchers idle at each page's end */
#define LINE 64u
#define PIECE 256u /* read of a stream in turn */
#define AHEAD 1024u /* bytes asked of memory before they are read */
#define REPEATS_MAX 1000u

struct bench {
    const struct cli_options *options;
    struct app_subject subject;
    unsigned threads;
    double copy; /* bytes read and written a second: two for each byte copied */
    double read; /* bytes read a second; 0: not measured (devices) */
    const struct psc_backend_api *device; /* its memory was measured; NULL: the host's */
};
struct series {
    char name[24];
    double tps[REPEATS_MAX]; /* ascending once it is complete */
    uint32_t n;
    double weight_bytes;     /* read a second, at the median; tg only */
    double token_bytes;      /* of weights, read for one token; tg only */
    double staged_bytes;     /* copied between backends in one forward */
    struct psc_op_time ops[PSC_OP_N]; /* of a run more, with a wait around each op (--ops) */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const struct series *s)
{
    return s->n % 2 ? s->tps[s->n / 2] : (s->tps[s->n / 2 - 1] + s->tps[s->n / 2]) / 2;
}

/* ---- the memory -------------------------------------------------------------------------------- */

struct span {
    char *from, *to;
    size_t n; /* a multiple of STREAMS * PIECE */
    uint64_t sum; /* of what was read: so that it is */
};

static void *copy_span(void *ctx)
{
    const struct span *s = ctx;
    memcpy(s->to, s->from, s->n);
    return NULL;
}

static uint64_t sum_of_piece(const char *at)
{
    uint64_t words[PIECE / 8], sum = 0;
    for (size_t i = 0; i < PIECE; i += LINE)
        __builtin_prefetch(at + AHEAD + i);
    memcpy(words, at, PIECE);
    for (size_t w = 0; w < PIECE / 8; w++)
        sum += words[w];
    return sum;
}

static void *read_span(void *ctx)
{
    struct span *s = ctx;
    size_t each = s->n / STREAMS;
    uint64_t sum = 0;
    for (size_t i = 0; i < each; i += PIECE)
        for (size_t k = 0; k < STREAMS; k++)
            sum += sum_of_piece(s->from + k * each + i);
    s->sum = sum;
    return NULL;
}

/* Seconds that n threads take for a span each. */
static double seconds_of(void *(*task)(void *), struct span *spans, unsigned n)
{
    pthread_t thread[64];
    unsigned started = 1;
    double begin = now();
    for (; started < n; started++)
        if (pthread_create(&thread[started], NULL, task, &spans[started]))
            break;
    task(&spans[0]);
    for (unsigned i = started; i < n; i++)
        task(&spans[i]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(thread[i], NULL);
    return now() - begin;
}

/* Sets b->copy and b->read, the best of some rounds with b->threads threads; leaves them 0 when memory is short. */
static void host_rates(struct bench *b)
{
    struct span spans[64];
    unsigned n = b->threads < 64 ? b->threads : 64;
    size_t each = COPY_BYTES / n / (STREAMS * PIECE) * (STREAMS * PIECE);
    char *from = psc_alloc(COPY_BYTES), *to = psc_alloc(COPY_BYTES);
    if (from && to) {
        memset(from, 1, COPY_BYTES);
        memset(to, 2, COPY_BYTES);
        for (unsigned i = 0; i < n; i++)
            spans[i] = (struct span){.from = from + each * i, .to = to + each * i, .n = each};
        for (int round = 0; round < COPY_ROUNDS; round++) {
            double bytes = (double)(each * n), copy = 2 * bytes / seconds_of(copy_span, spans, n);
            double read = bytes / seconds_of(read_span, spans, n);
            b->copy = copy > b->copy ? copy : b->copy;
            b->read = read > b->read ? read : b->read;
        }
    }
    psc_free(from);
    psc_free(to);
}

/* The backend that all layers run on, when it has memory of its own. */
static const struct psc_backend_api *device_of(const char *spec)
{
    const struct psc_backend_entry *entry = spec ? psc_backend_find(spec) : NULL;
    return entry && entry->api && !entry->api->is_host ? entry->api : NULL;
}

/* The same of a device: its own copies, on its queue. */
static enum psc_status device_copy_rate(const struct psc_backend_api *api, double *ret, struct psc_error *reterr)
{
    const struct psc_backend_config config = {0};
    struct psc_backend *b = NULL;
    psc_address from = 0, to = 0;
    enum psc_status status = api->open(&config, &b, reterr);
    *ret = 0;
    if (status)
        return status;
    status = api->alloc(b, COPY_BYTES, &from, reterr);
    if (!status)
        status = api->alloc(b, COPY_BYTES, &to, reterr);
    if (!status)
        status = api->fill(b, from, 0x3f800000, COPY_BYTES, reterr);
    if (!status)
        status = api->fill(b, to, 0, COPY_BYTES, reterr);
    if (!status)
        status = api->synchronise(b, reterr);
    for (int round = 0; !status && round < COPY_ROUNDS; round++) {
        double begin = now();
        status = api->move(b, to, from, COPY_BYTES, reterr);
        if (!status)
            status = api->synchronise(b, reterr);
        double rate = 2.0 * (double)COPY_BYTES / (now() - begin);
        *ret = rate > *ret ? rate : *ret;
    }
    api->close(b);
    return status;
}

/* Bytes of weights that one token needs: all but the embedding, of which a row is read, unless it makes the logits too. */
static double token_bytes(const struct psc_model *model)
{
    const struct psc_weight *embed = psc_model_weight(model, "token_embd.weight");
    uint64_t bytes = model->weight_bytes;
    if (embed && !model->hyper.tied)
        bytes -= embed->bytes;
    return (double)bytes;
}

/* ---- runs ------------------------------------------------------------------------------------------ */

/* Sets s->staged_bytes; times_ops: s->ops, too. */
static enum psc_status run_once(const struct bench *b, uint32_t prompt_n, uint32_t n, bool times_ops, struct series *s, double *ret_tps,
                                struct psc_error *reterr)
{
    const struct cli_options *o = b->options;
    struct psc_run_result result = {0};
    uint32_t api_n;
    const struct psc_backend_api *const *apis = psc_backend_known(&api_n);
    uint64_t state = 1, need = (uint64_t)prompt_n + n;
    int32_t *prompt = psc_alloc0(prompt_n, sizeof *prompt);
    struct psc_run_request q = {
        .model = b->subject.model.model, .prompt = prompt, .prompt_n = prompt_n, .n_predict = n,
        .n_ctx = (uint32_t)(o->n_ctx > need ? o->n_ctx : need), .ignore_stop = true, .backends = o->backend,
        .fuse_qkv = o->no_fuse_qkv ? PSC_NO : o->run.fuse_qkv, .fuse_ffn = o->no_fuse_ffn ? PSC_NO : o->run.fuse_ffn,
        .kv_format = o->run.kv_format, .session = o->run.session,
    };
    if (!prompt)
        return psc_fail_nomem(reterr);
    q.session.plan = psc_plan_defaults;
    q.session.replay = !o->run.has_replay || o->run.session.replay;
    q.session.time_ops = times_ops;
    for (uint32_t i = 0; i < prompt_n; i++)
        prompt[i] = (int32_t)(psc_random_next(&state) % q.model->hyper.n_vocab);
    enum psc_status status = psc_run(apis, api_n, &q, &result, reterr);
    if (!status) {
        *ret_tps = n > 1 ? (n - 1) / result.decode_seconds : prompt_n / result.prefill_seconds;
        s->staged_bytes = (double)result.counters.copied_bytes / n;
        for (unsigned op = 0; times_ops && op < PSC_OP_N; op++)
            s->ops[op] = psc_session_op_time(result.session, (enum psc_op)op);
    }
    psc_run_result_release(&result);
    psc_free(prompt);
    return status;
}

/* tokens of a prompt, or tokens generated; the first run only warms up. */
static enum psc_status measure(const struct bench *b, bool generates, uint32_t tokens, struct series *s,
                               struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    uint32_t repeats = b->options->run.repeats < REPEATS_MAX ? b->options->run.repeats : REPEATS_MAX;
    uint32_t prompt_n = generates ? 1 : tokens, n = generates ? tokens + 1 : 1;
    double tps = 0;
    snprintf(s->name, sizeof s->name, "%s%" PRIu32, generates ? "tg" : "pp", tokens);
    for (uint32_t i = 0; !status && i <= repeats; i++) {
        cli_progress("%s", s->name);
        cli_progress_count(i, repeats, "times");
        status = run_once(b, prompt_n, n, false, s, &tps, reterr);
        if (!status && i)
            s->tps[s->n++] = tps;
    }
    if (!status && b->options->run.ops)
        status = run_once(b, prompt_n, n, true, s, &tps, reterr);
    if (status)
        return status;
    qsort(s->tps, s->n, sizeof *s->tps, ascending);
    if (generates) {
        s->token_bytes = token_bytes(b->subject.model.model);
        s->weight_bytes = median(s) * s->token_bytes;
    }
    return PSC_OK;
}

/* ---- the answer -------------------------------------------------------------------------------------- */

static void series_json(struct psc_json *j, const struct bench *b, const struct series *s)
{
    psc_json_object(j);
    psc_json_put_string(j, "test", s->name);
    psc_json_put_f64(j, "tps", median(s));
    psc_json_put_f64(j, "least", s->tps[0]);
    psc_json_put_f64(j, "most", s->tps[s->n - 1]);
    psc_json_put_u64(j, "runs", s->n);
    psc_json_put_f64(j, "staged_bytes", s->staged_bytes);
    if (s->weight_bytes > 0) {
        psc_json_put_f64(j, "token_bytes", s->token_bytes);
        psc_json_put_f64(j, "weights_gbs", s->weight_bytes / 1e9);
        if (b->copy > 0)
            psc_json_put_f64(j, "share", s->weight_bytes / b->copy);
        if (b->read > 0)
            psc_json_put_f64(j, "read_share", s->weight_bytes / b->read);
    }
    if (b->options->run.ops) {
        psc_json_key(j, "ops");
        psc_json_object(j);
        for (unsigned op = 0; op < PSC_OP_N; op++)
            if (s->ops[op].launches) {
                psc_json_key(j, psc_op_info((enum psc_op)op)->name);
                psc_json_object(j);
                psc_json_put_u64(j, "launches", s->ops[op].launches);
                psc_json_put_f64(j, "seconds", (double)s->ops[op].ns / 1e9);
                psc_json_end_object(j);
            }
        psc_json_end_object(j);
    }
    psc_json_end_object(j);
}

static void add_json(struct psc_text *out, const struct bench *b, const struct series *s, unsigned n)
{
    const struct psc_model *model = b->subject.model.model;
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_object(&j);
    psc_json_put_string(&j, "model", model->name);
    psc_json_put_u64(&j, "weight_bytes", model->weight_bytes);
    psc_json_put_u64(&j, "threads", b->threads);
    psc_json_put_f64(&j, "copy_gbs", b->copy / 1e9);
    if (b->read > 0)
        psc_json_put_f64(&j, "read_gbs", b->read / 1e9);
    if (b->device)
        psc_json_put_string(&j, "device", b->device->name);
    psc_json_key(&j, "tests");
    psc_json_array(&j);
    for (unsigned i = 0; i < n; i++)
        series_json(&j, b, &s[i]);
    psc_json_end_array(&j);
    psc_json_end_object(&j);
    psc_text_add(out, psc_text_str(&j.out));
    psc_text_add(out, "\n");
    out->failed = out->failed || j.out.failed;
    psc_json_release(&j);
}

static void add_cell(struct cli_table *table, const char *fmt, double v)
{
    char text[48];
    snprintf(text, sizeof text, fmt, v);
    cli_table_cell(table, text);
}

/* v / unit; an empty cell where either was not measured. */
static void add_rate(struct cli_table *table, const char *fmt, double v, double unit)
{
    if (v > 0 && unit > 0)
        add_cell(table, fmt, v / unit);
    else
        cli_table_cell(table, NULL);
}

static int costliest(const void *a, const void *b)
{
    const struct psc_op_time *x = *(const struct psc_op_time *const *)a, *y = *(const struct psc_op_time *const *)b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : x < y ? -1 : x > y;
}

static void add_ops(struct psc_text *out, const struct series *s)
{
    const struct psc_op_time *order[PSC_OP_N];
    struct cli_table table;
    unsigned n = 0;
    double sum = 0;
    for (unsigned op = 0; op < PSC_OP_N; op++)
        if (s->ops[op].launches) {
            order[n++] = &s->ops[op];
            sum += (double)s->ops[op].ns;
        }
    qsort(order, n, sizeof *order, costliest);
    psc_text_addf(out, "%s, once more with a wait around each op:\n", s->name);
    cli_table_init(&table, "op|launches|ms|us each|share", "lrrrr");
    for (unsigned i = 0; i < n; i++) {
        double ns = (double)order[i]->ns;
        cli_table_cell(&table, psc_op_info((enum psc_op)(order[i] - s->ops))->name);
        cli_table_number(&table, order[i]->launches);
        add_cell(&table, "%.2f", ns / 1e6);
        add_cell(&table, "%.1f", ns / 1e3 / (double)order[i]->launches);
        add_rate(&table, "%.1f %%", 100 * ns, sum);
    }
    cli_table_end(&table, out);
}

static void add_people(struct psc_text *out, const struct bench *b, const struct series *s, unsigned n)
{
    const struct psc_model *model = b->subject.model.model;
    struct cli_table table;
    char bytes[32];
    cli_add_safe(out, model->name);
    psc_text_addf(out, ", %s of weights, ", psc_bytes_text(model->weight_bytes, bytes, sizeof bytes));
    if (b->device)
        psc_text_addf(out, "on %s; its memory", b->device->name);
    else
        psc_text_addf(out, "%u %s; the memory", b->threads, b->threads == 1 ? "thread" : "threads");
    psc_text_addf(out, " copies %.1f GB/s (%.1f read and written)", b->copy / 2e9, b->copy / 1e9);
    if (b->read > 0)
        psc_text_addf(out, " and reads %.1f GB/s", b->read / 1e9);
    psc_text_add(out, "\n");
    cli_table_init(&table,
                   "test|tokens/s|least|most|staged|weights a token|GB/s of weights|of copied|of read and written|of reading",
                   "lrrrrrrrrr");
    for (unsigned i = 0; i < n; i++) {
        cli_table_cell(&table, s[i].name);
        add_cell(&table, "%.2f", median(&s[i]));
        add_cell(&table, "%.2f", s[i].tps[0]);
        add_cell(&table, "%.2f", s[i].tps[s[i].n - 1]);
        cli_table_cell(&table, s[i].staged_bytes > 0 ? psc_bytes_text((uint64_t)s[i].staged_bytes, bytes, sizeof bytes) : NULL);
        cli_table_cell(&table, s[i].token_bytes > 0 ? psc_bytes_text((uint64_t)s[i].token_bytes, bytes, sizeof bytes) : NULL);
        add_rate(&table, "%.2f", s[i].weight_bytes, 1e9);
        add_rate(&table, "%.0f %%", 100 * s[i].weight_bytes, b->copy / 2);
        add_rate(&table, "%.0f %%", 100 * s[i].weight_bytes, b->copy);
        add_rate(&table, "%.0f %%", 100 * s[i].weight_bytes, b->read);
    }
    cli_table_end(&table, out);
    if (b->copy > 0 && n && s[n - 1].weight_bytes > 0)
        psc_text_add(out, "Shares of GB/s of weights: of the bytes a copy copies, of those it reads and writes, of those a loop reads.\n");
    if (n && s[0].staged_bytes > 0)
        psc_text_add(out, "Staged: bytes copied from backend to backend in one forward.\n");
    for (unsigned i = 0; b->options->run.ops && i < n; i++)
        add_ops(out, &s[i]);
}

enum cli_exit cli_bench(struct cli_options *options)
{
    static struct series series[2];
    struct bench b = {.options = options};
    struct app_model_request request = {.path = options->file, .preset = options->preset, .weights = options->weights,
                                        .watch = &(struct psc_seed_watch){cli_progress_cb, NULL}};
    struct psc_error error = {.byte = UINT64_MAX};
    struct psc_text out = {0};
    unsigned n = 0;
    uint32_t generate = options->run.has_n ? options->run.n : 128;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!options->run.prompt_n && !generate) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "-p 0 -n 0: there is nothing to measure");
        return cli_complain(NULL, &error);
    }
    cli_progress("making weights");
    enum psc_status status = app_subject_open(&b.subject, &request, 0, NULL, &error);
    if (!status && !b.subject.model.model)
        status = psc_fail(&error, PSC_ERR_USAGE, "bench measures models: a GGUF file or --preset NAME");
    if (!status) {
        b.threads = options->run.session.config.threads ? options->run.session.config.threads : cores > 0 ? (unsigned)cores : 1;
        b.device = device_of(options->backend);
        if (b.device)
            status = device_copy_rate(b.device, &b.copy, &error);
        else
            host_rates(&b);
    }
    if (!status && options->run.prompt_n)
        status = measure(&b, false, options->run.prompt_n, &series[n++], &error);
    if (!status && generate)
        status = measure(&b, true, generate, &series[n++], &error);
    if (!status)
        (options->json ? add_json : add_people)(&out, &b, series, n);
    app_subject_close(&b.subject);
    return status ? cli_complain(options->file, &error) : cli_print(&out, CLI_CLEAN);
}
