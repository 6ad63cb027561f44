/* psc_run: from a request to a document: what it answers, and all that must not matter. */
#include "tests/util.h"
#include "tests/text-graph.h"

#include "backends/registry.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/model/tiny-vocab.h"
#include "core/run/run.h"

#include <string.h>

struct tiny {
    struct psc_arena arena;
    struct psc_model *model;
};

static void tiny_open(struct tiny *t, const char *preset)
{
    struct psc_model *shapes = NULL;
    struct psc_error err = {0};
    *t = (struct tiny){0};
    g_assert_cmpint(psc_model_preset(&t->arena, psc_preset_find(preset), NULL, &shapes, &err), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&t->arena, shapes, 7, &t->model, &err), ==, PSC_OK);
}

static void tiny_close(struct tiny *t)
{
    psc_arena_release(&t->arena);
}

static const int32_t prompt[] = {5, 77, 130, 9, 64, 200, 31, 8, 90, 17, 250};
#define PROMPT_N 11u

static struct psc_run_request request_of(const struct tiny *t)
{
    return (struct psc_run_request){
        .model = t->model, .prompt = prompt, .prompt_n = PROMPT_N, .n_predict = 6, .n_ctx = 64, .ignore_stop = true,
        .session = {.plan = psc_plan_defaults, .snapshot = true, .config = {.threads = 1}},
        .record = {.events = true, .values = true, .hashes = true},
    };
}

static enum psc_status try(const struct psc_run_request *request, struct psc_run_result *ret, struct psc_error *err)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    return psc_run(apis, n, request, ret, err);
}

static void run(const struct psc_run_request *request, struct psc_run_result *ret)
{
    struct psc_error err = {0};
    enum psc_status status = try(request, ret, &err);
    g_assert_cmpstr(status == PSC_OK ? "" : err.text, ==, "");
}

static void assert_same_tokens(const struct psc_run_result *a, const struct psc_run_result *b)
{
    g_assert_cmpuint(a->token_n, ==, b->token_n);
    g_assert_cmpint(memcmp(a->tokens, b->tokens, a->token_n * sizeof *a->tokens), ==, 0);
    g_assert_cmpuint(a->logit_n, ==, b->logit_n);
    g_assert_cmpint(memcmp(a->logits, b->logits, a->logit_n * sizeof *a->logits), ==, 0);
}

/* ---- what comes back ------------------------------------------------------------------------------------------ */

static void a_run_answers(gconstpointer preset)
{
    struct tiny t;
    struct psc_run_result a;
    tiny_open(&t, preset);
    struct psc_run_request q = request_of(&t);
    q.prompt_text = "words";
    run(&q, &a);
    g_assert_cmpuint(a.token_n, ==, 6);
    g_assert_cmpuint(a.logit_n, ==, t.model->hyper.n_vocab);
    g_assert_false(a.cancelled || a.stopped);
    g_assert_cmpuint(a.prefill_tokens, ==, PROMPT_N);
    g_assert_true(a.prefill_seconds > 0 && a.decode_seconds > 0);
    g_assert_cmpuint(a.finding_n + a.confirmed_n + a.unwritten_n, ==, 0);
    g_assert_cmpuint(a.text.n, ==, 0); /* no tokenizer, no text */
    g_assert_cmpuint(a.planned_bytes, >, 0);
    g_assert_cmpuint(a.used_bytes, >=, a.planned_bytes);
    uint64_t kv = 0;
    g_assert_true(psc_hyper_kv_bytes(&t.model->hyper, 64, 0, &kv));
    g_assert_cmpuint(a.kv_bytes, ==, kv);
    g_assert_cmpuint(a.counters.builds, ==, 2); /* prefill, decode */
    g_assert_cmpstr(a.doc->model, ==, t.model->name);
    g_assert_cmpstr(a.doc->prompt, ==, "words");
    g_assert_cmpuint(a.doc->phase_n, ==, 2);
    g_assert_cmpuint(psc_doc_step_n(a.doc, 0), ==, 1);
    g_assert_cmpuint(psc_doc_step_n(a.doc, 1), ==, 5);
    g_assert_nonnull(a.doc->phases[0].story);
    g_assert_nonnull(a.session);
    psc_run_result_release(&a);
    tiny_close(&t);
}

static const char *fact(const struct psc_doc *doc, const char *key)
{
    for (uint32_t i = 0; i < doc->fact_n; i++)
        if (!strcmp(doc->facts[i].key, key))
            return doc->facts[i].value;
    return NULL;
}

static void the_document_says_what_was_asked_for(void)
{
    struct tiny t;
    struct psc_run_result a;
    tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = request_of(&t);
    q.backends = "mixed:0-1=deferred,2-99=cpu";
    q.chunk = 4;
    q.session.plan.slots = PSC_SLOTS_FIFO;
    q.session.recycled = PSC_RECYCLED_POISONED;
    q.session.run_faults = UINT64_C(1) << PSC_RUN_L11;
    q.session.plan.faults = PSC_FAULT_BIT(PSC_FAULT_H8);
    run(&q, &a);
    g_assert_cmpstr(fact(a.doc, "backend"), ==, "mixed:0-1=deferred,2-99=cpu");
    g_assert_cmpstr(fact(a.doc, "chunk"), ==, "4");
    g_assert_cmpstr(fact(a.doc, "faults"), ==, "l11,h8");
    g_assert_cmpstr(fact(a.doc, "n_ctx"), ==, "64");
    g_assert_cmpstr(fact(a.doc, "slots"), ==, "fifo");
    g_assert_cmpstr(fact(a.doc, "recycled"), ==, "poisoned");
    for (uint32_t i = 1; i < a.doc->fact_n; i++)
        g_assert_cmpstr(a.doc->facts[i - 1].key, <, a.doc->facts[i].key);
    g_assert_cmpstr(a.doc->phases[0].true_backend, ==, "deferred");
    psc_run_result_release(&a);
    tiny_close(&t);
}

static void text_comes_whole_whatever_the_tokens_cut(void)
{
    struct tiny t;
    struct psc_run_result a;
    struct psc_tokenizer *tokenizer = NULL;
    struct psc_error err = {0};
    tiny_open(&t, "tiny-qwen2");
    g_assert_cmpint(psc_tokenizer_new(psc_tiny_vocab(), &tokenizer, &err), ==, PSC_OK);
    struct psc_run_request q = request_of(&t);
    q.tokenizer = tokenizer;
    q.n_predict = 40;
    q.sampling = psc_sampling_default();
    q.sampling.temperature = 2;
    run(&q, &a);
    g_assert_true(g_utf8_validate(psc_text_str(&a.text), (gssize)a.text.n, NULL));
    g_assert_cmpuint(a.text.n, >, 20);
    for (uint32_t s = 0; s < psc_doc_step_n(a.doc, 1); s++) {
        struct psc_step step;
        g_assert_cmpint(psc_doc_load_step(a.doc, 1, s, &t.arena, &step, &err), ==, PSC_OK);
        g_assert_cmpint((gint)step.token, ==, a.tokens[s]);
        g_assert_true(g_utf8_validate(step.text, -1, NULL));
        g_assert_cmpuint(step.top_n, ==, 5);
    }
    psc_run_result_release(&a);
    psc_tokenizer_free(tokenizer);
    tiny_close(&t);
}

/* ---- what must not matter -------------------------------------------------------------------------------------------- */

static void w_chunk_1(struct psc_run_request *q) { q->chunk = 1; }
static void w_chunk_3(struct psc_run_request *q) { q->chunk = 3; }
static void w_chunk_10(struct psc_run_request *q) { q->chunk = 10; }
static void w_threads(struct psc_run_request *q) { q->session.config.threads = 3; }
static void w_two_threads(struct psc_run_request *q) { q->session.config.threads = 2; }
static void w_portable(struct psc_run_request *q) { q->session.config.portable = true; }
static void w_deferred(struct psc_run_request *q) { q->backends = "deferred"; }
static void w_unfused(struct psc_run_request *q) { q->backends = "deferred"; q->fuse_qkv = q->fuse_ffn = PSC_NO; }
static void w_fused(struct psc_run_request *q) { q->fuse_qkv = q->fuse_ffn = PSC_YES; }
static void w_mixed(struct psc_run_request *q) { q->backends = "mixed:0-1=deferred,2-99=cpu"; }
static void w_mixed_middle(struct psc_run_request *q) { q->backends = "mixed:1=deferred"; }
static void w_naive(struct psc_run_request *q) { q->session.planner = psc_planner_find("naive"); }
static void w_best_fit(struct psc_run_request *q) { q->session.planner = psc_planner_find("best-fit"); }
static void w_optimal(struct psc_run_request *q) { q->session.planner = psc_planner_find("optimal"); }
static void w_hardened(struct psc_run_request *q) { q->session.plan.mode = PSC_MODE_HARDENED; }
static void w_exact(struct psc_run_request *q) { q->session.plan.size = PSC_SIZE_EXACT; }
static void w_lifo(struct psc_run_request *q) { q->session.plan.slots = PSC_SLOTS_LIFO; }
static void w_in_place(struct psc_run_request *q) { q->session.snapshot = false; }
static void w_poisoned(struct psc_run_request *q) { q->session.recycled = PSC_RECYCLED_POISONED; }
static void w_sync(struct psc_run_request *q) { q->backends = "mixed:0-1=deferred"; q->session.sync_copies = true; }
static void w_span(struct psc_run_request *q) { q->kv_inputs = PSC_KV_SPAN; }
static void w_map(struct psc_run_request *q) { q->kv_inputs = PSC_KV_MAP; }
static void w_silent(struct psc_run_request *q) { q->record = (struct psc_recorder_options){0}; }
static void w_late(struct psc_run_request *q) { q->record.capture = PSC_CAPTURE_SPLIT; }
static const struct { const char *name; void (*change)(struct psc_run_request *q); } ways[] = {
    {"chunks-of-1", w_chunk_1}, {"chunks-of-3", w_chunk_3}, {"chunks-of-10", w_chunk_10}, {"three-threads", w_threads},
    {"two-threads", w_two_threads}, {"portable-kernels", w_portable}, {"deferred", w_deferred}, {"deferred-unfused", w_unfused}, {"fused", w_fused}, {"mixed", w_mixed},
    {"mixed-in-the-middle", w_mixed_middle}, {"fresh-buffers", w_naive}, {"an-arena-by-best-fit", w_best_fit}, {"an-optimal-arena", w_optimal}, {"hardened", w_hardened}, {"exact-sizes", w_exact},
    {"lifo", w_lifo}, {"in-place", w_in_place}, {"poisoned", w_poisoned}, {"blocking-copies", w_sync}, {"spans", w_span},
    {"maps", w_map}, {"not-recorded", w_silent}, {"captured-late", w_late},
};

static void does_not_matter(gconstpointer data)
{
    size_t way = GPOINTER_TO_SIZE(data);
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3"};
    for (size_t p = 0; p < G_N_ELEMENTS(presets); p++) {
        struct tiny t;
        struct psc_run_result a, b;
        tiny_open(&t, presets[p]);
        struct psc_run_request q = request_of(&t);
        run(&q, &a);
        ways[way].change(&q);
        run(&q, &b);
        assert_same_tokens(&a, &b);
        g_assert_cmpuint(b.finding_n + b.confirmed_n + b.unwritten_n, ==, 0);
        psc_run_result_release(&a);
        psc_run_result_release(&b);
        tiny_close(&t);
    }
}

/* Every value of every step, by its hash, on planned buffers and with a buffer for each. */
static void every_value_is_the_same_on_fresh_buffers(gconstpointer preset)
{
    struct tiny t;
    struct psc_run_result a, b;
    guint compared = 0;
    tiny_open(&t, preset);
    struct psc_run_request q = request_of(&t);
    q.session.plan.mode = PSC_MODE_HARDENED;
    run(&q, &a);
    q.session.planner = psc_planner_find("naive");
    run(&q, &b);
    g_assert_cmpuint(a.doc->phase_n, ==, b.doc->phase_n);
    for (uint32_t p = 0; p < a.doc->phase_n; p++)
        for (uint32_t s = 0; s < psc_doc_step_n(a.doc, p); s++) {
            struct psc_step x, y;
            g_assert_cmpint(psc_doc_load_step(a.doc, p, s, &t.arena, &x, NULL), ==, PSC_OK);
            g_assert_cmpint(psc_doc_load_step(b.doc, p, s, &t.arena, &y, NULL), ==, PSC_OK);
            for (uint32_t i = 0, k = 0; i < x.record_n; i++) {
                while (k < y.record_n && y.records[k].node < x.records[i].node)
                    k++;
                g_assert_true(k < y.record_n && y.records[k].node == x.records[i].node);
                g_assert_true(x.records[i].has_hash && y.records[k].has_hash);
                g_assert_cmphex(x.records[i].hash, ==, y.records[k].hash);
                compared++;
            }
        }
    g_assert_cmpuint(compared, >, 250);
    psc_run_result_release(&a);
    psc_run_result_release(&b);
    tiny_close(&t);
}

/* ---- on the way --------------------------------------------------------------------------------------------------------- */

struct watch {
    guint tokens, cancel_after, asked, ask_until, stages;
    uint64_t last;
    const char *stage;
};
static void token_cb(void *ctx, int32_t token, const char *text, size_t n)
{
    struct watch *w = ctx;
    (void)token;
    (void)text;
    (void)n;
    w->tokens++;
}
static bool cancelled_cb(void *ctx)
{
    struct watch *w = ctx;
    w->asked++;
    return w->tokens >= w->cancel_after || w->asked > w->ask_until;
}
static void progress_cb(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    struct watch *w = ctx;
    if (!w->stage || strcmp(stage, w->stage) != 0) {
        w->stages++;
        w->last = 0;
    }
    w->stage = stage;
    g_assert_cmpuint(done, <=, total);
    g_assert_cmpuint(done, >=, w->last);
    w->last = done;
}

static void progress_goes_forward(void)
{
    struct tiny t;
    struct psc_run_result a;
    struct watch w = {.cancel_after = G_MAXUINT, .ask_until = G_MAXUINT};
    tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = request_of(&t);
    q.chunk = 4;
    q.ctx = &w;
    q.progress = progress_cb;
    q.token = token_cb;
    run(&q, &a);
    g_assert_cmpuint(w.stages, ==, 2);
    g_assert_cmpuint(w.last, ==, 6);
    g_assert_cmpuint(w.tokens, ==, 6);
    psc_run_result_release(&a);
    tiny_close(&t);
}

static void a_cancelled_run_keeps_what_was_recorded(void)
{
    struct tiny t;
    guint whole = 0;
    tiny_open(&t, "tiny-qwen2");
    for (guint ask = 0; ask < 700; ask += 23) { /* in the prefill, between tokens, inside a step */
        struct psc_run_result a;
        struct watch w = {.cancel_after = G_MAXUINT, .ask_until = ask};
        struct psc_run_request q = request_of(&t);
        q.ctx = &w;
        q.token = token_cb;
        q.cancelled = cancelled_cb;
        run(&q, &a);
        whole += !a.cancelled;
        g_assert_nonnull(a.doc);
        uint32_t steps = 0;
        for (uint32_t p = 0; p < a.doc->phase_n; p++)
            steps += psc_doc_step_n(a.doc, p);
        g_assert_cmpuint(steps, >=, a.token_n);      /* each token came out of a step */
        g_assert_cmpuint(steps, <=, a.token_n + 1);
        g_assert_cmpuint(a.finding_n + a.confirmed_n, ==, 0);
        psc_run_result_release(&a);
    }
    g_assert_cmpuint(whole, >, 0);
    g_assert_cmpuint(whole, <, 25);
    struct psc_run_result a;
    struct watch w = {.cancel_after = 3, .ask_until = G_MAXUINT};
    struct psc_run_request q = request_of(&t);
    q.ctx = &w;
    q.token = token_cb;
    q.cancelled = cancelled_cb;
    run(&q, &a);
    g_assert_true(a.cancelled);
    g_assert_cmpuint(a.token_n, ==, 3);
    psc_run_result_release(&a);
    tiny_close(&t);
}

static bool logits_cb(void *ctx, uint32_t step, const float *logits, uint32_t n)
{
    guint *calls = ctx;
    g_assert_cmpuint(step, ==, *calls);
    g_assert_cmpuint(n, ==, 512);
    g_assert_true(logits[0] == logits[0]);
    return ++*calls < 4;
}

static void logits_are_handed_out_and_may_end_the_run(void)
{
    struct tiny t;
    struct psc_run_result a;
    struct psc_error err = {0};
    guint calls = 0;
    tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = request_of(&t);
    q.ctx = &calls;
    q.logits = logits_cb;
    g_assert_cmpint(try(&q, &a, &err), ==, PSC_ERR_IO);
    g_assert_cmpuint(calls, ==, 4);
    g_assert_cmpuint(psc_doc_step_n(a.doc, 1), ==, 3);
    psc_run_result_release(&a);
    tiny_close(&t);
}

static void stop_tokens_end_the_run(void)
{
    struct tiny t;
    struct psc_run_result a, b;
    tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = request_of(&t);
    run(&q, &a);
    const int32_t stop[] = {-5, a.tokens[3]};
    q.stop = stop;
    q.stop_n = 2;
    run(&q, &b);
    g_assert_true(b.stopped);
    uint32_t at = 0;
    while (a.tokens[at] != stop[1])
        at++;
    g_assert_cmpuint(b.token_n, ==, at); /* the stop token is not among them */
    psc_run_result_release(&a);
    psc_run_result_release(&b);
    tiny_close(&t);
}

/* ---- graphs --------------------------------------------------------------------------------------------------------------- */

static const char rerun[] = "x: input 4\ns: silu 4 x\nout s\n";

static struct psc_run_request graph_request(const struct psc_graph *g, const struct psc_run_fill *fills, uint32_t n)
{
    return (struct psc_run_request){
        .graph = g, .fills = fills, .fill_n = n, .session = {.plan = psc_plan_defaults, .config = {.threads = 1}},
        .record = {.events = true, .values = true, .hashes = true},
    };
}

static void a_graph_runs_as_often_as_it_should(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, rerun);
    const float x[4] = {1, 2, 3, 4};
    const struct psc_run_fill fill = {"x", x, 4};
    for (int refill = 0; refill < 2; refill++)
        for (enum psc_mode mode = PSC_MODE_UPSTREAM; mode < PSC_MODE_N; mode++) {
            struct psc_run_result a;
            struct psc_run_request q = graph_request(g, &fill, 1);
            q.times = 3;
            q.refill = refill;
            q.session.plan.mode = mode;
            run(&q, &a);
            g_assert_cmpuint(psc_doc_step_n(a.doc, 0), ==, 3);
            bool eats = mode == PSC_MODE_UPSTREAM && !refill;
            g_assert_cmpuint(a.planned_finding_n, ==, eats);
            g_assert_cmpuint(a.finding_n, ==, eats);
            g_assert_cmpuint(a.confirmed_n, ==, eats ? 2 : 0);
            psc_run_result_release(&a);
        }
    psc_arena_release(&arena);
}

static void inputs_go_by_name_label_or_id(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, "x: input 4\ny: input 4\no: add 4 x y\nout o\n");
    struct psc_error err = {0};
    psc_node node;
    g_assert_cmpint(psc_run_find_input(g, "y", &node, &err), ==, PSC_OK);
    g_assert_cmpuint(node, ==, 1);
    g_assert_cmpint(psc_run_find_input(g, "1", &node, &err), ==, PSC_OK);
    g_assert_cmpuint(node, ==, 1);
    g_assert_cmpint(psc_run_find_input(g, "o", &node, &err), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(err.text, "the graph has x, y"));
    psc_arena_release(&arena);
}

struct refusal {
    const char *name;
    void (*change)(struct psc_run_request *q);
    const char *mention;
};
static const int32_t big[] = {1, 512};
static void r_nothing(struct psc_run_request *q) { q->model = NULL; }
static void r_prompt(struct psc_run_request *q) { q->prompt_n = 0; }
static void r_token(struct psc_run_request *q) { q->prompt = big; q->prompt_n = 2; }
static void r_position(struct psc_run_request *q) { q->n_predict = 60; }
static void r_backend(struct psc_run_request *q) { q->backends = "metall"; }
static void r_budget(struct psc_run_request *q) { q->session.has_budget = true; q->session.budget = 1000; }
static void r_sampling(struct psc_run_request *q) { q->sampling.min_p = 7; }
static void r_format(struct psc_run_request *q) { q->kv_format = PSC_KV_Q8_0; q->backends = "deferred"; q->fuse_qkv = PSC_NO; q->n_ctx = 4; }
static const struct refusal refusals[] = {
    {"neither-model-nor-graph", r_nothing, "a model or a graph"}, {"no-prompt", r_prompt, "no token"},
    {"a-token-beyond-the-vocabulary", r_token, "token 1 of the prompt is 512"},
    {"a-position-beyond-n-ctx", r_position, "position 69 at node 1 (positions), n_ctx is 64"}, {"an-unknown-backend", r_backend, "metall"},
    {"a-budget-too-small", r_budget, "1000"}, {"sampling-that-makes-no-sense", r_sampling, "min-p"},
    {"a-prompt-that-leaves-no-room", r_format, "position 15 at node 1 (positions), n_ctx is 11"},
};

static void is_refused(gconstpointer data)
{
    const struct refusal *c = data;
    struct tiny t;
    struct psc_run_result a;
    struct psc_error err = {0};
    tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = request_of(&t);
    c->change(&q);
    g_assert_cmpint(try(&q, &a, &err), !=, PSC_OK);
    if (!strstr(err.text, c->mention))
        g_error("%s does not say %s", err.text, c->mention);
    psc_run_result_release(&a);
    tiny_close(&t);
}

static enum psc_status run_a_graph(void *data)
{
    const float x[4] = {1, 2, 3, 4};
    const struct psc_run_fill fill = {"x", x, 4};
    struct psc_run_request q = graph_request(data, &fill, 1);
    struct psc_run_result a;
    q.times = 2;
    enum psc_status status = try(&q, &a, NULL);
    psc_run_result_release(&a);
    return status;
}

static void out_of_memory_leaks_nothing(void)
{
    struct psc_arena arena = {0};
    g_assert_cmpuint(test_oom_loop(run_a_graph, text_graph(&arena, rerun)), >, 60);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/run/a-run-answers/tiny-qwen2", "tiny-qwen2", a_run_answers);
    g_test_add_data_func("/run/a-run-answers/tiny-qwen3", "tiny-qwen3", a_run_answers);
    g_test_add_func("/run/the-document-says-what-was-asked-for", the_document_says_what_was_asked_for);
    g_test_add_func("/run/text-comes-whole-whatever-the-tokens-cut", text_comes_whole_whatever_the_tokens_cut);
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        gchar *path = g_strconcat("/run/does-not-matter/", ways[i].name, NULL);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), does_not_matter);
        g_free(path);
    }
    g_test_add_data_func("/run/every-value-is-the-same-on-fresh-buffers/tiny-qwen2", "tiny-qwen2",
                         every_value_is_the_same_on_fresh_buffers);
    g_test_add_data_func("/run/every-value-is-the-same-on-fresh-buffers/tiny-qwen3", "tiny-qwen3",
                         every_value_is_the_same_on_fresh_buffers);
    g_test_add_func("/run/progress-goes-forward", progress_goes_forward);
    g_test_add_func("/run/a-cancelled-run-keeps-what-was-recorded", a_cancelled_run_keeps_what_was_recorded);
    g_test_add_func("/run/logits-are-handed-out-and-may-end-the-run", logits_are_handed_out_and_may_end_the_run);
    g_test_add_func("/run/stop-tokens-end-the-run", stop_tokens_end_the_run);
    g_test_add_func("/run/graph/runs-as-often-as-it-should", a_graph_runs_as_often_as_it_should);
    g_test_add_func("/run/graph/inputs-go-by-name-label-or-id", inputs_go_by_name_label_or_id);
    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        gchar *path = g_strconcat("/run/is-refused/", refusals[i].name, NULL);
        g_test_add_data_func(path, &refusals[i], is_refused);
        g_free(path);
    }
    g_test_add_func("/run/out-of-memory-leaks-nothing", out_of_memory_leaks_nothing);
    return g_test_run();
}
