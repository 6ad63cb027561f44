/* A run beside a clean one: sound runs agree in every value; defects of kernels are told as computed wrong, at the op that
 * has them; defects of memory as memory's, at readers that the checker names as well. */
#include "tests/text-graph.h"
#include "tests/util.h"

#include "backends/registry.h"
#include "core/debug/explain-verify.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/run/faults.h"

#include <string.h>

static const int32_t prompt[] = {5, 77, 130, 9, 64};

struct bed {
    struct psc_arena arena;
    struct psc_model *model;
    struct psc_run_request request;
    struct psc_run_result result;
    struct psc_verified verified;
};

static void bed_open(struct bed *bed, const char *preset, const char *weights, const char *backends, const char *fault)
{
    struct psc_model *shapes = NULL;
    struct psc_error err = {0};
    struct psc_named_fault named = {0};
    *bed = (struct bed){0};
    if (fault && !psc_named_fault_find(fault, &named))
        g_error("no fault is called %s", fault);
    if (preset) {
        g_assert_cmpint(psc_model_preset(&bed->arena, psc_preset_find(preset), weights, &shapes, &err), ==, PSC_OK);
        g_assert_cmpint(psc_model_seeded(&bed->arena, shapes, 7, &bed->model, &err), ==, PSC_OK);
    }
    bed->request = (struct psc_run_request){
        .model = bed->model, .prompt = prompt, .prompt_n = G_N_ELEMENTS(prompt), .n_predict = 4, .n_ctx = 16, .ignore_stop = true,
        .backends = backends, .session = {.plan = psc_plan_defaults, .snapshot = true, .config = {.threads = 2},
                                          .run_faults = named.run, .call_faults = named.call},
    };
    bed->request.session.plan.faults = named.plan;
}

/* expected: how the run ends. */
static void bed_run(struct bed *bed, const char *what, enum psc_status expected)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    struct psc_verify *v;
    struct psc_error err = {0};
    g_assert_cmpint(psc_verify_new(&v, &err), ==, PSC_OK);
    psc_verify_watch(v, &bed->request);
    enum psc_status status = psc_run(apis, n, &bed->request, &bed->result, &err);
    if (status != expected)
        g_error("%s: the run ended with %d: %s", what, status, err.text);
    if (psc_verify_run(v, apis, n, &bed->request, &bed->result, &bed->verified, &err))
        g_error("%s", err.text);
    psc_verify_free(v);
}

static void bed_close(struct bed *bed)
{
    psc_run_result_release(&bed->result);
    psc_arena_release(&bed->arena);
}

static char *sentence(const struct psc_verify_difference *d)
{
    struct psc_text text = {0};
    psc_explain_verify_difference(&text, d);
    char *copy = g_strdup(psc_text_str(&text));
    psc_text_release(&text);
    return copy;
}

static void says(const struct bed *bed, const char *words)
{
    struct psc_text text = {0};
    psc_explain_verified(&text, &bed->verified);
    if (!strstr(psc_text_str(&text), words))
        g_error("\"%s\" does not say \"%s\"", psc_text_str(&text), words);
    psc_text_release(&text);
}

/* ---- sound runs ----------------------------------------------------------------------------------- */

static void sound_runs_agree(void)
{
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3"};
    static const char *const backends[] = {"cpu", "deferred", "mixed:0-0=deferred,1-9=cpu", "mixed:0-0=cpu,1-9=deferred"};
    for (size_t p = 0; p < G_N_ELEMENTS(presets); p++)
        for (size_t b = 0; b < G_N_ELEMENTS(backends); b++)
            for (unsigned how = 0; how < 4; how++) {
                struct bed bed;
                bed_open(&bed, presets[p], how == 3 ? "q8_0" : NULL, backends[b], NULL);
                bed.request.chunk = how == 1 ? 2 : 0;
                bed.request.kv_inputs = how == 1 ? PSC_KV_SPAN : how == 2 ? PSC_KV_MAP : PSC_KV_POSITIONS;
                bed.request.kv_format = how == 2 ? PSC_KV_F16 : how == 3 ? PSC_KV_Q8_0 : PSC_KV_F32;
                bed.request.session.snapshot = how != 2;
                bed.request.session.recycled = how > 1 ? PSC_RECYCLED_POISONED : PSC_RECYCLED_KEPT;
                bed_run(&bed, "", PSC_OK);
                g_assert_cmpuint(bed.verified.steps, ==, how == 1 ? 6 : 4);
                g_assert_cmpuint(bed.verified.values, >, 30 * bed.verified.steps);
                g_assert_cmpuint(bed.verified.differ + bed.verified.computed_n + bed.verified.memory_n + bed.verified.first_n, ==, 0);
                says(&bed, "0 of ");
                bed_close(&bed);
            }
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static const struct { const char *fault, *weights, *backends; enum psc_op op; } kernels[] = {
    {"l20", "f32", "cpu", PSC_OP_MATMUL},
    {"l20", "f32", "deferred", PSC_OP_MATMUL},
    {"l22", NULL, "cpu", PSC_OP_ATTN},
    {"l22", NULL, "mixed:0-0=deferred,1-9=cpu", PSC_OP_ATTN},
    {"l33", "q8_0", "cpu", PSC_OP_MATMUL},
    {"l20", "f32", "cuda-shim", PSC_OP_MATMUL},
    {"l22", NULL, "cuda-shim", PSC_OP_ATTN},
    {"l33", "q8_0", "mixed:0-0=cuda-shim,1-9=cpu", PSC_OP_MATMUL},
};

static void kernels_are_told_as_kernels(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kernels); i++) {
        struct bed bed;
        bed_open(&bed, "tiny-qwen2", kernels[i].weights, kernels[i].backends, kernels[i].fault);
        bed_run(&bed, "", PSC_OK);
        const struct psc_verified *v = &bed.verified;
        if (!v->computed_n || v->memory_n || !v->differ)
            g_error("%s on %s: %u computed, %u memory, %" G_GUINT64_FORMAT " differ", kernels[i].fault, kernels[i].backends,
                    v->computed_n, v->memory_n, v->differ);
        g_assert_cmpuint(bed.result.finding_n + bed.result.confirmed_n, ==, 0); /* the checker and the hashes see nothing */
        for (uint32_t k = 0; k < v->first_n; k++) {
            g_assert_cmpint(v->first[k].cause, ==, PSC_VERIFY_COMPUTED);
            g_assert_cmpint(v->first[k].graph->nodes[v->first[k].node].op, ==, kernels[i].op);
        }
        char *text = sentence(&v->first[0]);
        g_assert_true(g_str_has_prefix(text, "prefill, step 0: #"));
        g_assert_nonnull(strstr(text, "the kernel (or the host) computed it wrong, not memory"));
        g_free(text);
        says(&bed, "computed wrong");
        bed_close(&bed);
    }
}

/* l21 needs a softmax of its own, which no model has. */
static void a_softmax_that_does_not_divide(void)
{
    static const float x[] = {0, 1, 2, 3};
    const struct psc_run_fill fill = {"x", x, 4};
    struct bed bed;
    bed_open(&bed, NULL, NULL, NULL, "l21");
    bed.request.graph = text_graph(&bed.arena, "x: input 4\ns: softmax 4 x\no: add 4 s x\nout o");
    bed.request.fills = &fill;
    bed.request.fill_n = 1;
    bed_run(&bed, "", PSC_OK);
    g_assert_cmpuint(bed.verified.computed_n, ==, 1);
    g_assert_cmpuint(bed.verified.memory_n, ==, 0);
    g_assert_cmpuint(bed.verified.differ, ==, 3); /* softmax, the add that inherits, and what the host reads */
    g_assert_cmpstr(bed.verified.first[0].graph->nodes[bed.verified.first[0].node].name, ==, "s");
    bed_close(&bed);
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static bool checker_names(const struct bed *bed, const struct psc_verify_difference *d)
{
    struct psc_arena arena = {0};
    struct psc_check check;
    struct psc_error err = {0};
    bool named = false;
    const struct psc_phase *phase = &bed->result.doc->phases[d->phase];
    g_assert_cmpint(psc_check_story(&arena, d->graph, phase->story, &check, &err), ==, PSC_OK);
    for (uint32_t i = 0; i < check.finding_n; i++)
        named = named || check.findings[i].reader == d->node || (check.findings[i].reader == PSC_NONE && d->node == d->graph->n);
    psc_arena_release(&arena);
    return named;
}

static const struct { const char *preset, *fault, *backends; enum psc_status status; uint32_t chunk; enum psc_kv_inputs kv_inputs; }
    memories[] = {
    {"tiny-qwen2", "l1", "cpu", PSC_OK, 2, PSC_KV_SPAN},
    {"tiny-qwen3", "l1", "deferred", PSC_OK, 0, PSC_KV_POSITIONS},
    {"tiny-qwen2", "l7", "mixed:0-0=deferred,1-9=cpu", PSC_OK, 3, PSC_KV_SPAN},
    {"tiny-qwen3", "l9", "mixed:0-0=cpu,1-9=deferred", PSC_OK, 0, PSC_KV_MAP},
    {"tiny-qwen2", "l10", "mixed:0-0=deferred,1-9=cpu", PSC_ERR_RUN, 0, PSC_KV_POSITIONS}, /* logits that are no numbers */
    {"tiny-qwen2", "l15", "cpu", PSC_OK, 0, PSC_KV_POSITIONS},
    {"tiny-qwen2", "l15", "deferred", PSC_OK, 0, PSC_KV_POSITIONS},
    {"tiny-qwen2", "l17", "cpu", PSC_OK, 0, PSC_KV_POSITIONS},
};

static void memory_is_told_as_memory(void)
{
    uint32_t told = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(memories); i++) {
        struct bed bed;
        bed_open(&bed, memories[i].preset, NULL, memories[i].backends, memories[i].fault);
        bed.request.chunk = memories[i].chunk;
        bed.request.kv_inputs = memories[i].kv_inputs;
        bed.request.session.snapshot = false;
        if (!strcmp(memories[i].fault, "l15"))
            bed.request.n_ctx = 6;
        bed_run(&bed, memories[i].fault, memories[i].status);
        const struct psc_verified *v = &bed.verified;
        if (v->computed_n || !v->memory_n)
            g_error("%s on %s: %u computed, %u memory, %u steps", memories[i].fault, memories[i].backends, v->computed_n, v->memory_n,
                    v->steps);
        for (uint32_t k = 0; k < v->first_n; k++) {
            char *text = sentence(&v->first[k]);
            g_assert_cmpint(v->first[k].cause, !=, PSC_VERIFY_COMPUTED);
            g_assert_nonnull(strstr(text, "memory, not the kernel"));
            if (v->first[k].step == 0 && !checker_names(&bed, &v->first[k]))
                g_error("%s: the checker does not say so: %s", memories[i].fault, text);
            g_free(text);
            told++;
        }
        bed_close(&bed);
    }
    g_assert_cmpuint(told, >=, G_N_ELEMENTS(memories));
}

/* Fault h7: an output that nobody else reads has no buffer. There are no bytes to compare, and nothing was computed wrong. */
static void an_output_that_lies_nowhere_is_told(void)
{
    static const char *const graphs[] = {"x: input 4\nt: add 4 x x\no: silu 4 t\nout o", "x: input 4\nt: add 4 x x\no: silu 4 t\nout o t"};
    static const float x[] = {0, 1, 2, 3};
    const struct psc_run_fill fill = {"x", x, 4};
    for (unsigned i = 0; i < G_N_ELEMENTS(graphs); i++) {
        struct bed bed;
        bed_open(&bed, NULL, NULL, NULL, "h7");
        bed.request.graph = text_graph(&bed.arena, graphs[i]);
        bed.request.fills = &fill;
        bed.request.fill_n = 1;
        bed_run(&bed, "h7", PSC_OK);
        const struct psc_verified *v = &bed.verified;
        g_assert_cmpuint(v->computed_n, ==, 0);
        g_assert_cmpuint(v->memory_n, ==, 1);
        g_assert_cmpuint(v->differ, ==, 1); /* what the host gets */
        g_assert_true(checker_names(&bed, &v->first[0]));
        char *text = sentence(&v->first[0]);
        g_assert_cmpstr(text, ==, "prefill, step 0: the host reads #2 o, which nobody filled or wrote: memory, not the kernel.");
        g_free(text);
        bed_close(&bed);
    }
}

/* Fault l6: rope's operand is taken while it is only queued. The events are in order, so that the checker is content; the
 * hash of what was taken is another one than that of what was written. */
static void a_look_too_early_is_told_as_memory(void)
{
    static const char *const backends[] = {"deferred", "mixed:0-0=cpu,1-9=deferred", "cuda-shim"};
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        struct bed bed;
        bed_open(&bed, "tiny-qwen2", NULL, backends[i], "l6");
        bed_run(&bed, "", PSC_OK);
        const struct psc_verified *v = &bed.verified;
        g_assert_cmpuint(v->computed_n, ==, 0);
        g_assert_cmpuint(v->memory_n, >, 0);
        g_assert_cmpuint(v->differ, >, 0);
        g_assert_cmpuint(bed.result.finding_n, ==, 0);
        g_assert_cmpuint(bed.result.confirmed_n, ==, v->memory_n);
        for (uint32_t k = 0; k < v->first_n; k++) {
            const struct psc_graph *graph = v->first[k].graph;
            char *text = sentence(&v->first[k]);
            g_assert_cmpint(graph->nodes[v->first[k].node].op, ==, PSC_OP_ROPE);
            g_assert_cmpuint(v->first[k].operand, ==, 0);
            g_assert_nonnull(strstr(text, "reads other bytes of"));
            g_free(text);
        }
        bed_close(&bed);
    }
}

/* ---- recordings ----------------------------------------------------------------------------------------- */

/* Recordings are played while they are verified, and give what launches give. */
static void sound_replays_agree(void)
{
    static const char *const backends[] = {"cuda-shim", "mixed:0-0=cuda-shim,1-9=cpu"};
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++)
        for (unsigned how = 0; how < 3; how++) {
            struct bed bed;
            bed_open(&bed, "tiny-qwen2", how == 2 ? "q8_0" : NULL, backends[b], NULL);
            bed.request.session.replay = true;
            bed.request.n_predict = 6;
            bed.request.chunk = how == 1; /* prefill token by token: six graphs of one shape in all */
            bed_run(&bed, "", PSC_OK);
            g_assert_cmpuint(bed.result.counters.captures, >, 0);
            g_assert_cmpuint(bed.verified.steps, ==, how == 1 ? 10 : 6);
            g_assert_cmpuint(bed.verified.played, ==, how == 1 ? 8 : 3); /* all but two of each shape */
            g_assert_cmpuint(bed.verified.values, >, 30 * bed.verified.steps);
            g_assert_cmpuint(bed.verified.differ + bed.verified.computed_n + bed.verified.memory_n + bed.verified.replay_n, ==, 0);
            says(&bed, "; 0 steps have other outputs");
            bed_close(&bed);
        }
}

/* Fault l31: launched node by node all is right; the recording holds what the host decided while it was made. */
static void a_recorded_decision_is_told_as_the_replays(void)
{
    static const char *const backends[] = {"cuda-shim", "mixed:0-0=cuda-shim,1-9=cpu"};
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        struct bed bed;
        bed_open(&bed, "tiny-qwen2", NULL, backends[b], "l31");
        bed.request.session.replay = true;
        bed.request.n_predict = 7;
        bed_run(&bed, "", PSC_OK);
        const struct psc_verified *v = &bed.verified;
        g_assert_cmpuint(v->computed_n + v->memory_n, ==, 0);
        g_assert_cmpuint(v->differ, ==, 0);
        g_assert_cmpuint(v->played, ==, 4);
        g_assert_cmpuint(v->replay_n, >, 0);
        g_assert_cmpuint(v->first_n, ==, 1);
        g_assert_cmpint(v->first[0].cause, ==, PSC_VERIFY_REPLAY);
        g_assert_cmpuint(v->first[0].node, ==, v->first[0].graph->n);
        g_assert_cmpuint(v->first[0].value, ==, v->first[0].graph->outputs[0]);
        g_assert_cmpuint(bed.result.finding_n + bed.result.confirmed_n, ==, 0); /* no check of memory sees it */
        char *text = sentence(&v->first[0]);
        g_assert_true(g_str_has_prefix(text, "decode, step 2: the host reads other bytes of #"));
        g_assert_nonnull(strstr(text, "the recording that was played"));
        g_free(text);
        says(&bed, "Recordings were played in 4 steps;");
        bed_close(&bed);
    }
}

/* Defects of kernels and memory stay what they are when they are in a recording. */
static void replays_do_not_take_the_blame_of_others(void)
{
    struct bed bed;
    bed_open(&bed, "tiny-qwen2", "q8_0", "cuda-shim", "l33");
    bed.request.session.replay = true;
    bed.request.n_predict = 6;
    bed_run(&bed, "", PSC_OK);
    g_assert_cmpuint(bed.verified.played, ==, 3);
    g_assert_cmpuint(bed.verified.computed_n, >, 0);
    g_assert_cmpuint(bed.verified.replay_n + bed.verified.memory_n, ==, 0);
    g_assert_cmpint(bed.verified.first[0].cause, ==, PSC_VERIFY_COMPUTED);
    bed_close(&bed);
    bed_open(&bed, "tiny-qwen2", NULL, "cuda-shim", NULL); /* who asks for hashes gets launches */
    bed.request.session.replay = bed.request.record.hashes = true;
    bed.request.n_predict = 6;
    bed_run(&bed, "", PSC_OK);
    g_assert_cmpuint(bed.result.counters.captures + bed.verified.played, ==, 0);
    g_assert_cmpuint(bed.verified.steps, ==, 6);
    bed_close(&bed);
}

/* ---- ends ------------------------------------------------------------------------------------------------ */

static void a_run_that_went_nowhere_is_compared_with_nothing(void)
{
    struct bed bed;
    bed_open(&bed, "tiny-qwen2", NULL, "deferred", "l3");
    bed_run(&bed, "", PSC_ERR_USAGE);
    g_assert_cmpuint(bed.verified.steps + bed.verified.first_n, ==, 0);
    says(&bed, "nothing to compare");
    bed_close(&bed);
}

static bool cancel_cb(void *ctx)
{
    return ++*(uint32_t *)ctx > 1000000 || *(const uint32_t *)ctx == 0;
}

static bool stop_cb(void *ctx)
{
    (void)ctx;
    return true;
}

static void a_clean_run_may_be_cancelled(void)
{
    struct bed bed;
    uint32_t n, asked = 0;
    struct psc_verify *v;
    struct psc_error err = {0};
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    bed_open(&bed, "tiny-qwen2", NULL, "cpu", NULL);
    g_assert_cmpint(psc_verify_new(&v, &err), ==, PSC_OK);
    psc_verify_watch(v, &bed.request);
    bed.request.ctx = &asked;
    bed.request.cancelled = cancel_cb;
    g_assert_cmpint(psc_run(apis, n, &bed.request, &bed.result, &err), ==, PSC_OK);
    g_assert_false(bed.result.cancelled);
    bed.request.cancelled = stop_cb;
    g_assert_cmpint(psc_verify_run(v, apis, n, &bed.request, &bed.result, &bed.verified, &err), ==, PSC_OK);
    g_assert_true(bed.verified.cancelled);
    says(&bed, "cancelled");
    psc_verify_free(v);
    bed_close(&bed);
}

static enum psc_status verify_briefly(void *ctx)
{
    struct bed *bed = ctx;
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    struct psc_verify *v;
    struct psc_run_request q = bed->request;
    struct psc_run_result a = {0};
    enum psc_status status = psc_verify_new(&v, NULL);
    if (status)
        return status;
    psc_verify_watch(v, &q);
    status = psc_run(apis, n, &q, &a, NULL);
    if (!status)
        status = psc_verify_run(v, apis, n, &q, &a, &bed->verified, NULL);
    psc_run_result_release(&a);
    psc_verify_free(v);
    return status;
}

static void memory_may_run_out_anywhere(void)
{
    static const float x[] = {1, 2, 3, 4};
    const struct psc_run_fill fill = {"x", x, 4};
    struct bed bed;
    bed_open(&bed, NULL, NULL, NULL, NULL);
    bed.request.graph = text_graph(&bed.arena, "x: input 4\ns: silu 4 x\no: add 4 s x\nout o");
    bed.request.fills = &fill;
    bed.request.fill_n = 1;
    bed.request.session.config.threads = 1;
    g_assert_cmpuint(test_oom_loop(verify_briefly, &bed), >, 20);
    bed.request.session.replay = true;
    bed.request.backends = "cuda-shim";
    bed.request.times = 5;
    g_assert_cmpuint(test_oom_loop(verify_briefly, &bed), >, 100);
    bed_close(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verify/sound-runs-agree", sound_runs_agree);
    g_test_add_func("/verify/kernels-are-told-as-kernels", kernels_are_told_as_kernels);
    g_test_add_func("/verify/a-softmax-that-does-not-divide", a_softmax_that_does_not_divide);
    g_test_add_func("/verify/memory-is-told-as-memory", memory_is_told_as_memory);
    g_test_add_func("/verify/an-output-that-lies-nowhere-is-told", an_output_that_lies_nowhere_is_told);
    g_test_add_func("/verify/a-look-too-early-is-told-as-memory", a_look_too_early_is_told_as_memory);
    g_test_add_func("/verify/sound-replays-agree", sound_replays_agree);
    g_test_add_func("/verify/a-recorded-decision-is-told-as-the-replays", a_recorded_decision_is_told_as_the_replays);
    g_test_add_func("/verify/replays-do-not-take-the-blame-of-others", replays_do_not_take_the_blame_of_others);
    g_test_add_func("/verify/a-run-that-went-nowhere-is-compared-with-nothing", a_run_that_went_nowhere_is_compared_with_nothing);
    g_test_add_func("/verify/a-clean-run-may-be-cancelled", a_clean_run_may_be_cancelled);
    g_test_add_func("/verify/memory-may-run-out-anywhere", memory_may_run_out_anywhere);
    return g_test_run();
}
