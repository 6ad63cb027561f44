/* Defects of kernels, windows and recordings, as runs on the CUDA backend's shim: right numbers without the defect, the documented wrong ones or the refusal with it. */
#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"
#include "core/run/faults.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

static struct psc_error error;
static const char chain[] = "x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: add 4 a x @dev\nout b\n";

static struct psc_named_fault fault_of(const char *name)
{
    struct psc_named_fault f = {0};
    if (!psc_named_fault_find(name, &f))
        g_error("no fault is called %s", name);
    return f;
}

/* Tokens differ from those of the same run without the defect; *ret_counters of the run with it. */
static bool tells(const char *name, const char *weights, bool replay, struct psc_session_counters *ret_counters)
{
    struct cuda_tiny t;
    struct psc_run_result right, wrong;
    cuda_tiny_open_of(&t, "tiny-qwen2", weights);
    struct psc_run_request q = cuda_tiny_request(&t, "cuda-shim", replay);
    cuda_tiny_run(&q, &right);
    q.session.call_faults = fault_of(name).call;
    q.session.run_faults = fault_of(name).run;
    cuda_tiny_run(&q, &wrong);
    bool differs = memcmp(right.logits, wrong.logits, right.logit_n * 4) != 0;
    if (ret_counters)
        *ret_counters = wrong.counters;
    psc_run_result_release(&right);
    psc_run_result_release(&wrong);
    psc_arena_release(&t.arena);
    return differs;
}

/* l24: each thread takes the lanes of the others as they lie, before they have come. */
static void test_l24(void)
{
    static const char text[] = "x: input 64 @dev\ny: rms_norm 64 x @dev\no: scale 64 y scale=1 @dev\nout o\n";
    float x[64], *right, *wrong;
    for (int k = 0; k < 64; k++)
        x[k] = (float)(k % 7) - 2.5f;
    for (unsigned bad = 0; bad < 2; bad++) {
        struct cuda_lab lab;
        cuda_lab_begin(&lab, &psc_backend_cuda_shim, text, 0, bad ? fault_of("l24").call : 0);
        run_fill_f32(lab.s, "x", x, 64);
        run_execute(lab.s, NULL);
        *(bad ? &wrong : &right) = run_read(lab.s, "o");
        cuda_lab_end(&lab);
    }
    for (int k = 0; k < 64; k++)
        g_assert_cmpfloat_with_epsilon((double)right[k], (double)x[k] / 2.0691, 0.001);
    g_assert_cmpint(memcmp(right, wrong, sizeof x), !=, 0);
    g_free(right);
    g_free(wrong);
}

/* l25: a block that can never end; the wait is bounded, and says so each time. */
static void test_l25(void)
{
    struct psc_session_options options = run_options();
    const struct psc_backend_api *apis[2] = {&psc_backend_cpu, &psc_backend_cuda_shim};
    struct cuda_lab lab = {.apis = {apis[0], apis[1]}};
    options.config.timeout_ms = 20;
    options.call_faults = fault_of("l25").call;
    lab.s = run_session_on(&options, apis, 2);
    lab.g = cuda_lab_graph(&lab, "x: input 4 @dev\ny: rms_norm 4 x @dev\nout y\n");
    run_use(lab.s, lab.g, 1);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    for (int k = 0; k < 2; k++)
        run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_UNAVAILABLE,
                  WORDS("waiting for cuda-shim", "did not end within 20 ms"));
    cuda_lab_end(&lab);
}

/* l31: right as long as everything is launched anew; a recording has the decision of its own step in it. */
static void test_l31(void)
{
    struct psc_session_counters c;
    g_assert_false(tells("l31", NULL, false, NULL));
    g_assert_true(tells("l31", NULL, true, &c));
    g_assert_cmpuint(c.captures, ==, 1);
    g_assert_cmpuint(c.replays, ==, 2);
}

/* It asks past the queue, inside the window: the shim counts that. */
static void test_l31_is_a_stray(void)
{
    for (unsigned bad = 0; bad < 2; bad++) {
        struct cuda_tiny t;
        struct psc_run_result a;
        struct psc_cuda_figures f;
        const struct psc_backend_api *api;
        uint32_t n;
        cuda_tiny_open(&t, "tiny-qwen2");
        struct psc_run_request q = cuda_tiny_request(&t, "cuda-shim", true);
        q.session.call_faults = bad ? fault_of("l31").call : 0;
        cuda_tiny_run(&q, &a);
        n = psc_session_backend_n(a.session);
        for (uint32_t i = 0; i < n; i++) {
            struct psc_backend *b = psc_session_backend(a.session, i, &api);
            if (!b || api != &psc_backend_cuda_shim)
                continue;
            psc_cuda_figures(b, &f);
            g_assert_cmpuint(f.strays, ==, bad ? 3 : 0); /* a look for each layer's attention */
        }
        psc_run_result_release(&a);
        psc_arena_release(&t.arena);
    }
}

/* l32: the recording writes where the buffers were. Without the defect: dropped, two warm runs, recorded again. */
static void test_l32(void)
{
    for (unsigned bad = 0; bad < 2; bad++) {
        struct cuda_lab lab;
        cuda_lab_begin(&lab, &psc_backend_cuda_shim, chain, bad ? fault_of("l32").run : 0, 0);
        cuda_lab_steps(&lab, 4, "b", 3);
        psc_session_swap_addresses(lab.s, 1, 0, 1, 0);
        run_fill_f32(lab.s, "x", F(5, 6, 7, 8), 4);
        run_execute(lab.s, NULL);
        if (bad)
            g_assert_true(run_differs(lab.s, "b", F(15, 18, 21, 24), 4));
        else
            run_expect(lab.s, "b", F(15, 18, 21, 24), 4, 0);
        g_assert_cmpuint(cuda_lab_counters(&lab).replays, ==, bad ? 2 : 1);
        cuda_lab_end(&lab);
    }
}

static void test_l33(void)
{
    g_assert_true(tells("l33", "q8_0", false, NULL));
    g_assert_true(tells("l33", "q8_0", true, NULL));
    g_assert_false(tells("l33", "f32", false, NULL)); /* nothing is quantised, nothing remembered */
}

/* l34: the window is spoilt, nothing of it is kept, and the session captures no more; its numbers are right. */
static void test_l34(void)
{
    struct cuda_lab lab;
    struct psc_cuda_figures f;
    const struct psc_backend_api *api;
    struct psc_session_counters c;
    g_assert_false(tells("l34", NULL, true, &c));
    g_assert_cmpuint(c.captures + c.replays, ==, 0);
    cuda_lab_begin(&lab, &psc_backend_cuda_shim, chain, fault_of("l34").run, 0);
    cuda_lab_steps(&lab, 8, "b", 3);
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 0);
    psc_cuda_figures(psc_session_backend(lab.s, 1, &api), &f);
    g_assert_cmpuint(f.windows_spoilt, ==, 1);
    g_assert_cmpuint(f.recordings, ==, 0);
    cuda_lab_end(&lab);
}

/* l35: right while every reader takes quantised activations; one that takes floats finds what lay there. */
static void test_l35(void)
{
    g_assert_false(tells("l35", "q8_0", false, NULL));
    g_assert_true(tells("l35", "f16", false, NULL));
    for (unsigned bad = 0; bad < 2; bad++) {
        struct cuda_lab lab;
        cuda_lab_begin(&lab, &psc_backend_cuda_shim, "x: input 32 @dev\nn: rms_norm 32 x @dev\no: add 32 n x @dev\nout o\n", 0,
                  bad ? fault_of("l35").call : 0);
        float x[32];
        for (int k = 0; k < 32; k++)
            x[k] = 2;
        run_fill_f32(lab.s, "x", x, 32);
        run_execute(lab.s, NULL);
        float *o = run_read(lab.s, "o");
        g_assert_true(bad ? o[7] != 3.0f : o[7] == 3.0f); /* poisoned bytes: NaN */
        g_free(o);
        cuda_lab_end(&lab);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cuda-shim/fault/l24-a-block-does-not-wait", test_l24);
    g_test_add_func("/cuda-shim/fault/l25-a-block-never-ends", test_l25);
    g_test_add_func("/cuda-shim/fault/l31-a-decision-is-recorded", test_l31);
    g_test_add_func("/cuda-shim/fault/l31-asks-inside-a-window", test_l31_is_a_stray);
    g_test_add_func("/cuda-shim/fault/l32-a-recording-outlives-its-buffers", test_l32);
    g_test_add_func("/cuda-shim/fault/l33-a-memo-outlives-its-bytes", test_l33);
    g_test_add_func("/cuda-shim/fault/l34-a-window-is-spoilt", test_l34);
    g_test_add_func("/cuda-shim/fault/l35-an-output-is-never-written", test_l35);
    return g_test_run();
}
