/* A device that is full, as the CUDA backend's shim plays it: buffers without memory, and who is told of it. */
#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"
#include "tests/twice.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

static struct psc_error error;

static const char wide[] = "x: input 4000 @dev\na: scale 4000 x scale=2 @dev\nb: add 4000 a x @dev\nout b\n";
static const char narrow[] = "x: input 4 @dev\ny: scale 4 x scale=3 @dev\nout y\n";

/* A session on a shim that has so many bytes, and no budget that would refuse before the device does. */
static void full_begin(struct cuda_lab *lab, uint64_t device_bytes, uint64_t budget)
{
    struct psc_session_options options = run_options();
    *lab = (struct cuda_lab){.apis = {&psc_backend_cpu, &psc_backend_cuda_shim}};
    options.config.threads = 1;
    options.config.device_bytes = device_bytes;
    options.replay = options.has_budget = true;
    options.budget = budget;
    lab->s = run_session_on(&options, lab->apis, 2);
}

static struct psc_pool_figures full_figures(const struct cuda_lab *lab)
{
    struct psc_pool_figures f;
    psc_session_figures(lab->s, 1, &f);
    return f;
}

static void fill_wide(struct psc_session *s, float x)
{
    float *values = g_new(float, 4000);
    for (int k = 0; k < 4000; k++)
        values[k] = x;
    run_fill_f32(s, "x", values, 4000);
    g_free(values);
}

static void expect_wide(struct psc_session *s, float b)
{
    float *values = run_read(s, "b");
    g_assert_cmpfloat((double)values[0], ==, (double)b);
    g_assert_cmpfloat((double)values[3999], ==, (double)b);
    g_free(values);
}

/* The graph is mapped; only its input has memory; the first node that uses it says so. Another graph runs; and this one, too,
 * as soon as there is room. */
static void test_the_first_use_fails(void)
{
    struct cuda_lab lab;
    const struct psc_backend_api *api;
    full_begin(&lab, 30000, UINT64_MAX - 1);
    lab.g = cuda_lab_graph(&lab, wide);
    run_use(lab.s, lab.g, 1);
    g_assert_cmpuint(full_figures(&lab).missing, ==, 2);
    g_assert_cmpuint(full_figures(&lab).buffers, ==, 3);
    fill_wide(lab.s, 1);
    for (int k = 0; k < 3; k++) /* again and again, the same */
        run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_NOMEM,
                  WORDS("node 1 (scale) on cuda-shim", "buffer b1 of cuda-shim has no memory", "16384 bytes were not to be had",
                        "of the device's 30000 bytes"));
    g_assert_cmpuint(cuda_lab_counters(&lab).launches, ==, 0);
    run_use(lab.s, cuda_lab_graph(&lab, narrow), 2);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    run_execute(lab.s, NULL);
    run_expect(lab.s, "y", F(3, 6, 9, 12), 4, 0);
    run_use(lab.s, lab.g, 1); /* still full */
    fill_wide(lab.s, 1);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_NOMEM, WORDS("buffer b1 of cuda-shim has no memory"));
    psc_cuda_limit(psc_session_backend(lab.s, 1, &api), 200000);
    run_use(lab.s, lab.g, 1);
    g_assert_cmpuint(full_figures(&lab).missing, ==, 0);
    for (int k = 1; k <= 4; k++) {
        fill_wide(lab.s, (float)k);
        run_execute(lab.s, NULL);
        expect_wide(lab.s, (float)(3 * k));
    }
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 1);
    g_assert_cmpuint(cuda_lab_counters(&lab).replays, ==, 1);
    cuda_lab_end(&lab);
}

/* Inputs, outputs that are read, staged copies and rows of K and V: each names what has no memory. */
static void test_fills_reads_and_copies_fail(void)
{
    struct cuda_lab lab;
    full_begin(&lab, 1000, UINT64_MAX - 1);
    lab.g = cuda_lab_graph(&lab, wide);
    run_use(lab.s, lab.g, 1);
    float *values = g_new0(float, 4000);
    run_fails(psc_session_fill(lab.s, "x", values, 4000, &error), &error, PSC_ERR_NOMEM,
              WORDS("node 0 (input)", "buffer b0 of cuda-shim has no memory", "16384 bytes", "of the device's 1000 bytes"));
    run_fails(psc_session_read(lab.s, lab.g->outputs[0], values, 4000, &error), &error, PSC_ERR_NOMEM,
              WORDS("node 2 (add)", "has no memory"));
    g_free(values);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("has not been filled"));
    cuda_lab_end(&lab);

    full_begin(&lab, 300, UINT64_MAX - 1);
    lab.g = cuda_lab_graph(&lab, "x: input 100\ns: silu 100 x\na: softmax 100 s @dev\no: add 100 a a @dev\nout o\n");
    run_use(lab.s, lab.g, 1);
    float x[100] = {0};
    run_fill_f32(lab.s, "x", x, 100);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_NOMEM,
              WORDS("copy of node 1 (silu) from cpu to cuda-shim for node 2 (softmax)", "buffer stage.1.cuda-shim", "has no memory",
                    "400 bytes"));
    g_assert_cmpuint(cuda_lab_counters(&lab).copies, ==, cuda_lab_counters(&lab).waits);
    cuda_lab_end(&lab);
}

/* A mapping that fails when it has got memory for a buffer of the current graph: that one says that it has to be mapped again. */
static void test_a_failed_mapping_leaves_the_current_graph(void)
{
    struct cuda_lab lab;
    const struct psc_backend_api *api;
    struct psc_graph_key key = run_key(2);
    full_begin(&lab, 30000, 60000);
    lab.g = cuda_lab_graph(&lab, wide);
    run_use(lab.s, lab.g, 1);
    fill_wide(lab.s, 1);
    g_assert_cmpuint(full_figures(&lab).missing, ==, 2);
    psc_cuda_limit(psc_session_backend(lab.s, 1, &api), 200000);
    struct psc_graph *more = cuda_lab_graph(&lab, "x: input 4000 @dev\na: softmax 4000 x @dev\nb: softmax 4000 a @dev\n"
                                                  "c: softmax 4000 b @dev\nd: add 4000 a c @dev\nout d\nout b\n");
    run_fails(psc_session_use(lab.s, &key, run_build_cb, more, &error), &error, PSC_ERR_TOO_BIG, WORDS("the budget of 60000 bytes"));
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_NOMEM, WORDS("has no memory"));
    run_use(lab.s, lab.g, 1);
    fill_wide(lab.s, 5);
    run_execute(lab.s, NULL);
    expect_wide(lab.s, 15);
    cuda_lab_end(&lab);
}

/* What is given out again is overwritten with a pattern, which needs memory too: its first use fails, and is right later. */
static void test_no_room_for_the_pattern(void)
{
    struct psc_session_options options = run_options();
    struct cuda_lab lab = {.apis = {&psc_backend_cpu, &psc_backend_cuda_shim}};
    const struct psc_backend_api *api;
    options.config.threads = 1;
    options.config.device_bytes = 60000; /* three buffers of 16384, not a fourth */
    options.has_budget = true;
    options.budget = UINT64_MAX - 1;
    options.recycled = PSC_RECYCLED_POISONED;
    lab.s = run_session_on(&options, lab.apis, 2);
    lab.g = cuda_lab_graph(&lab, wide);
    run_use(lab.s, lab.g, 1);
    g_assert_cmpuint(full_figures(&lab).missing, ==, 0);
    fill_wide(lab.s, 1);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_NOMEM,
              WORDS("node 1 (scale) on cuda-shim", "16384 bytes that are given out again", "had no memory for one as long"));
    psc_cuda_limit(psc_session_backend(lab.s, 1, &api), 200000);
    run_use(lab.s, cuda_lab_graph(&lab, narrow), 2); /* mapped again, so that it is asked for */
    run_use(lab.s, lab.g, 1);
    fill_wide(lab.s, 2);
    run_execute(lab.s, NULL);
    expect_wide(lab.s, 6);
    cuda_lab_end(&lab);
}

struct two_graphs { struct cuda_lab lab; struct psc_graph *other; };

/* The first graph lacks memory; then there is some, and the other one is mapped, over the same buffers. When that fails half-way, the
 * first is still current: it runs, or is refused, and never touches what is not there. */
static enum psc_status map_another(void *data)
{
    const struct two_graphs *t = data;
    struct psc_session_options options = run_options();
    struct psc_session *s = NULL;
    struct psc_graph_key first = run_key(1), second = run_key(2);
    const struct psc_backend_api *api;
    static float x[4000];
    options.config.threads = 1;
    options.config.device_bytes = 30000;
    options.has_budget = true;
    options.budget = UINT64_MAX - 1;
    enum psc_status status = psc_session_new(t->lab.apis, 2, &options, &s, NULL), ended;
    if (!status)
        status = psc_session_use(s, &first, run_build_cb, t->lab.g, NULL);
    if (!status)
        status = psc_session_fill(s, "x", x, 4000, NULL);
    if (!status) {
        psc_cuda_limit(psc_session_backend(s, 1, &api), 0);
        status = psc_session_use(s, &second, run_build_cb, t->other, NULL);
        if (status) {
            ended = psc_session_execute(s, NULL, &error);
            g_assert_true(!ended || ended == PSC_ERR_NOMEM);
        }
    }
    psc_session_free(s);
    return status;
}

static void test_memory_that_comes_half_way(void)
{
    struct two_graphs t;
    cuda_lab_begin(&t.lab, &psc_backend_cuda_shim, wide, 0, 0);
    t.other = cuda_lab_graph(&t.lab, "x: input 4000 @dev\na: softmax 4000 x @dev\nb: softmax 4000 a @dev\nc: add 4000 a b @dev\nout c\n");
    g_assert_cmpuint(test_oom_loop(map_another, &t), >, 60);
    cuda_lab_end(&t.lab);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    twice_except("a device that is full has no room for a buffer for every value");
    g_test_add_func("/cuda-shim/full/the-first-use-fails", test_the_first_use_fails);
    g_test_add_func("/cuda-shim/full/fills-reads-and-copies-fail", test_fills_reads_and_copies_fail);
    g_test_add_func("/cuda-shim/full/a-failed-mapping-leaves-the-current-graph", test_a_failed_mapping_leaves_the_current_graph);
    g_test_add_func("/cuda-shim/full/no-room-for-the-pattern", test_no_room_for_the_pattern);
    g_test_add_func("/cuda-shim/full/memory-that-comes-half-way", test_memory_that_comes_half_way);
    return g_test_run();
}
