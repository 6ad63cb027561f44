/* The CUDA backend's products of many tokens, as a device's library gets them: on the shim, with something in the library's place that
 * sums otherwise. The whole suite; models near the cpu's; the same bits wherever values lie, launched, recorded or replayed. */
#include "tests/backend-suite.h"
#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"

#include <math.h>
#include <string.h>

static struct psc_backend_api api;
static struct psc_error error;

static enum psc_status open_cb(const struct psc_backend_config *config, struct psc_backend **ret, struct psc_error *reterr)
{
    enum psc_status status = psc_backend_cuda_shim.open(config, ret, reterr);
    if (status == PSC_OK)
        psc_cuda_library(*ret, true);
    return status;
}

static const struct test_variant variants[] = {{"in order", {.timeout_ms = 200}}};

enum { TOKENS = 40 };
static int32_t prompt[TOKENS];

static struct psc_run_request request_of(const struct cuda_tiny *t, const char *backends)
{
    struct psc_run_request q = cuda_tiny_request(t, backends, false);
    for (int k = 0; k < TOKENS; k++)
        prompt[k] = 3 + k * 11 % 500;
    q.prompt = prompt;
    q.prompt_n = TOKENS;
    return q;
}

/* *ret_figures: of the instance that ran, all 0 when none did. */
static void run(const struct psc_run_request *q, struct psc_run_result *ret, struct psc_cuda_figures *ret_figures)
{
    const struct psc_backend_api *apis[2] = {&psc_backend_cpu, &api}, *unused;
    memset(ret_figures, 0, sizeof *ret_figures);
    if (psc_run(apis, 2, q, ret, &error))
        g_error("%s", error.text);
    struct psc_backend *b = psc_session_backend(ret->session, 1, &unused);
    if (b)
        psc_cuda_figures(b, ret_figures);
}

static void same(const struct psc_run_result *a, const struct psc_run_result *b)
{
    g_assert_cmpmem(a->tokens, a->token_n * 4, b->tokens, b->token_n * 4);
    g_assert_cmpmem(a->logits, a->logit_n * 4, b->logits, b->logit_n * 4);
}

static const struct { const char *preset, *weights; } kinds[] = {
    {"tiny-qwen2", "f32"}, {"tiny-qwen2", NULL}, {"tiny-qwen2", "q8_0"}, {"tiny-qwen3", "f16"}, {"tiny-qwen2-k", "q4_K"}};

static void test_models(void)
{
    for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++) {
        struct cuda_tiny t;
        struct psc_run_result cpu, a;
        struct psc_cuda_figures f;
        double worst = 0, scale = 0;
        cuda_tiny_open_of(&t, kinds[k].preset, kinds[k].weights);
        struct psc_run_request q = request_of(&t, "cpu");
        q.n_predict = 0; /* logits of the prompt: tokens may differ where two are close */
        run(&q, &cpu, &f);
        q = request_of(&t, api.name);
        q.n_predict = 0;
        run(&q, &a, &f);
        g_assert_cmpuint(f.strays, ==, 0);
        for (uint32_t i = 0; i < a.logit_n; i++) {
            worst = fmax(worst, fabs((double)a.logits[i] - (double)cpu.logits[i]));
            scale = fmax(scale, fabs((double)cpu.logits[i]));
        }
        g_test_message("%s %s: largest difference %g of %g", kinds[k].preset, kinds[k].weights ? kinds[k].weights : "", worst, scale);
        g_assert_cmpuint(f.library, >, 10);
        g_assert_cmpfloat(worst, <, 0.05 * scale); /* a rounding that falls otherwise is a step of 1/127 of a block */
        psc_run_result_release(&a);
        psc_run_result_release(&cpu);
        psc_arena_release(&t.arena);
    }
}

/* Whole buffers, or parts of one arena that nothing aligns: the library sees the same. Recorded and replayed: chunks of 40. */
static void test_places(void)
{
    for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k += 2) {
        struct cuda_tiny t;
        struct psc_run_result pool, other;
        struct psc_cuda_figures f;
        int32_t twice[4 * TOKENS];
        cuda_tiny_open_of(&t, kinds[k].preset, kinds[k].weights);
        struct psc_run_request q = request_of(&t, api.name);
        for (int i = 0; i < 4 * TOKENS; i++)
            twice[i] = prompt[i % TOKENS];
        q.prompt = twice;
        q.prompt_n = 4 * TOKENS;
        q.chunk = TOKENS;
        q.n_ctx = 256;
        run(&q, &pool, &f);
        g_assert_cmpuint(f.strays, ==, 0);
        for (unsigned how = 0; how < 3; how++) {
            struct psc_run_request p = q;
            p.session.planner = how == 1 ? psc_planner_find("best-fit") : how == 2 ? psc_planner_find("naive") : NULL;
            p.session.plan.align = 4;
            p.session.replay = how != 2;
            run(&p, &other, &f);
            g_assert_cmpuint(f.strays, ==, 0);
            g_assert_true((other.counters.captures > 1) == (how != 2));
            same(&pool, &other);
            psc_run_result_release(&other);
        }
        psc_run_result_release(&pool);
        psc_arena_release(&t.arena);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    api = psc_backend_cuda_shim;
    api.open = open_cb;
    test_backend_suite_beside(&psc_backend_cpu);
    test_backend_suite(&api, variants, G_N_ELEMENTS(variants), TEST_KEEPS_WEIGHTS);
    g_test_add_func("/cuda-shim/library/models-are-near-the-cpu", test_models);
    g_test_add_func("/cuda-shim/library/places-do-not-matter", test_places);
    int failed = g_test_run();
    test_backend_suite_end();
    return failed;
}
