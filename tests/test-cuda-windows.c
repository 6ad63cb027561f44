/* What sessions and the CUDA backend do while a capture window is open, watched from between them: on the shim, and on a device. */
#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"
#include "backends/registry.h"
#include "tests/twice.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

static struct psc_error error;

static void must(enum psc_status status)
{
    if (status)
        g_error("%s", error.text);
}

static const char chain[] = "x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: add 4 a x @dev\nout b\n";

/* The backend under test with a kernel that is refused at its n-th launch, and a watch on windows. */
static struct watched {
    const struct psc_backend_api *of;
    struct psc_backend_api api;
    uint32_t launches, fails_at; /* 0: never */
    uint32_t windows, aborted, launched_inside, strays;
    bool open;
} watched;

/* The second run is not watched. */
static void meanwhile(bool begins)
{
    static struct watched kept;
    if (begins) {
        kept = watched;
        watched.fails_at = 0;
    } else {
        watched = kept;
    }
}

static enum psc_status watched_launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    watched.launched_inside += watched.open;
    if (++watched.launches == watched.fails_at)
        return psc_fail(reterr, PSC_ERR_RUN, "node %u: refused for a test", call->node);
    return watched.of->launch(b, call, reterr);
}
static enum psc_status watched_begin(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = watched.of->capture_begin(b, reterr);
    watched.open = status == PSC_OK;
    watched.windows += watched.open;
    return status;
}
static enum psc_status watched_end(struct psc_backend *b, uint64_t *ret, struct psc_error *reterr)
{
    watched.open = false;
    return watched.of->capture_end(b, ret, reterr);
}
static void watched_abort(struct psc_backend *b)
{
    watched.open = false;
    watched.aborted++;
    watched.of->capture_abort(b);
}
/* Everything else that the session may ask: nothing of it belongs into a window. */
static enum psc_query watched_memory(struct psc_backend *b, uint64_t *left, uint64_t *all)
{
    watched.strays += watched.open;
    return watched.of->memory(b, left, all);
}
static enum psc_status watched_alloc(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->alloc(b, bytes, ret, reterr);
}
static enum psc_status watched_write(struct psc_backend *b, psc_address at, const void *from, uint64_t bytes, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->write(b, at, from, bytes, reterr);
}
static enum psc_status watched_read(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->read(b, at, to, bytes, reterr);
}
static enum psc_status watched_fill(struct psc_backend *b, psc_address at, uint32_t pattern, uint64_t bytes, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->fill(b, at, pattern, bytes, reterr);
}
static enum psc_status watched_submit(struct psc_backend *b, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->submit(b, reterr);
}
static enum psc_status watched_sync(struct psc_backend *b, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->synchronise(b, reterr);
}
static enum psc_status watched_weight(struct psc_backend *b, const struct psc_weight *w, psc_address *ret, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->load_weight(b, w, ret, reterr);
}
static enum psc_status watched_await(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr)
{
    watched.strays += watched.open;
    return watched.of->await_copy(b, ticket, reterr);
}

static const struct psc_backend_api *watch(const struct psc_backend_api *api)
{
    memset(&watched, 0, sizeof watched);
    watched.of = api;
    watched.api = *api;
    watched.api.launch = watched_launch;
    watched.api.capture_begin = watched_begin;
    watched.api.capture_end = watched_end;
    watched.api.capture_abort = watched_abort;
    watched.api.memory = watched_memory;
    watched.api.alloc = watched_alloc;
    watched.api.write = watched_write;
    watched.api.read = watched_read;
    watched.api.fill = watched_fill;
    watched.api.submit = watched_submit;
    watched.api.synchronise = watched_sync;
    watched.api.load_weight = watched_weight;
    watched.api.await_copy = watched_await;
    return &watched.api;
}

/* An error inside a window: it is aborted, nothing of it counts, the session captures no more, and its numbers are right. */
static void test_an_error_inside_a_window(gconstpointer api)
{
    struct cuda_lab lab;
    const struct psc_backend_api *unused;
    struct psc_cuda_figures f;
    cuda_lab_begin(&lab, watch(api), chain, 0, 0);
    cuda_lab_steps(&lab, 2, "b", 3);
    watched.fails_at = 6; /* the second kernel of the third run */
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_RUN, WORDS("node 2", "add", "refused for a test"));
    g_assert_cmpuint(watched.launched_inside, ==, 2);
    g_assert_cmpuint(watched.windows, ==, 1);
    g_assert_cmpuint(watched.aborted, ==, 1);
    cuda_lab_steps(&lab, 6, "b", 3);
    g_assert_cmpuint(watched.windows, ==, 1); /* no more of them */
    g_assert_cmpuint(cuda_lab_counters(&lab).captures + cuda_lab_counters(&lab).replays, ==, 0);
    psc_cuda_figures(psc_session_backend(lab.s, 1, &unused), &f);
    g_assert_cmpuint(f.recordings + f.replays + f.windows_spoilt + f.strays, ==, 0);
    cuda_lab_end(&lab);
}

/* Between begin and end of a window nothing is asked but launches: of the backend by the session, of the runtime by the backend.
 * Every type of weights, fused and not, prompts in chunks that are recorded, and two splits. */
static void test_windows_hold_launches_only(gconstpointer api)
{
    static const struct { const char *preset, *weights; } kinds[] = {
        {"tiny-qwen2", NULL}, {"tiny-qwen2", "f32"}, {"tiny-qwen2", "q4_0"}, {"tiny-qwen2", "q5_1"}, {"tiny-qwen2", "q8_0"},
        {"tiny-qwen2-k", "q4_K"}, {"tiny-qwen3-k", "q6_K"}, {"tiny-qwen3", NULL}};
    for (unsigned k = 0; k < 2 * G_N_ELEMENTS(kinds); k++) {
        struct cuda_tiny t;
        struct psc_run_result a;
        struct psc_cuda_figures f;
        const struct psc_backend_api *apis[2] = {&psc_backend_cpu, watch(api)}, *unused;
        cuda_tiny_open_of(&t, kinds[k / 2].preset, kinds[k / 2].weights);
        struct psc_run_request q = cuda_tiny_request(&t, watched.api.name, true);
        q.chunk = 4;
        q.fuse_qkv = q.fuse_ffn = k % 2 ? PSC_NO : PSC_YES;
        must(psc_run(apis, 2, &q, &a, &error));
        g_assert_cmpuint(watched.windows, ==, 3); /* two splits of the chunks, and decode */
        g_assert_cmpuint(watched.launched_inside, >, 30);
        g_assert_cmpuint(watched.aborted + watched.strays, ==, 0);
        psc_cuda_figures(psc_session_backend(a.session, 1, &unused), &f);
        g_assert_cmpuint(f.recordings, ==, 3);
        g_assert_cmpuint(f.windows_spoilt + f.strays, ==, 0);
        psc_run_result_release(&a);
        psc_arena_release(&t.arena);
    }
}

int main(int argc, char **argv)
{
    const struct psc_backend_api *device = psc_backend_find("cuda")->api;
    g_test_init(&argc, &argv, NULL);
    twice_meanwhile = meanwhile;
    g_test_add_data_func("/cuda-shim/window/an-error-ends-captures", &psc_backend_cuda_shim, test_an_error_inside_a_window);
    g_test_add_data_func("/cuda-shim/window/holds-launches-only", &psc_backend_cuda_shim, test_windows_hold_launches_only);
    if (device) {
        g_test_add_data_func("/cuda/window/an-error-ends-captures", device, test_an_error_inside_a_window);
        g_test_add_data_func("/cuda/window/holds-launches-only", device, test_windows_hold_launches_only);
    }
    return g_test_run();
}
