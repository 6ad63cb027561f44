/* Runs on the CUDA backend: on its shim always, and on a device where one is there. Recordings, windows, staging, probes. */
#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"
#include "backends/registry.h"
#include "core/base/hash.h"
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

/* ---- one instance ------------------------------------------------------------------------------------------------- */

struct bench {
    const struct psc_backend_api *api;
    struct psc_backend *b;
};

static struct bench bench_open(gconstpointer api)
{
    struct bench t = {.api = api};
    must(t.api->open(&(struct psc_backend_config){.timeout_ms = 2000}, &t.b, &error));
    return t;
}

static struct psc_cuda_figures figures(const struct bench *t)
{
    struct psc_cuda_figures f;
    psc_cuda_figures(t->b, &f);
    return f;
}

static psc_address room(const struct bench *t, uint64_t bytes, uint32_t pattern)
{
    psc_address at = 0;
    must(t->api->alloc(t->b, bytes, &at, &error));
    must(t->api->fill(t->b, at, pattern, bytes, &error));
    return at;
}

static uint32_t word(const struct bench *t, psc_address at)
{
    uint32_t w = 0;
    must(t->api->read(t->b, at, &w, 4, &error));
    return w;
}

/* out = x scaled; lives until it is synchronised. */
struct scaling { struct psc_params params; struct psc_window in; struct psc_call call; };
static void scale(const struct bench *t, struct scaling *s, psc_address x, float by, psc_address out, uint64_t n)
{
    *s = (struct scaling){.params = {.scale = by, .has_scale = true},
                          .in = {.at = x, .bytes = 4 * n, .dtype = PSC_F32, .shape = {n, 1, 1, 1}}};
    s->call = (struct psc_call){.op = PSC_OP_SCALE, .params = &s->params, .in = &s->in, .in_n = 1, .out = s->in};
    s->call.out.at = out;
    must(t->api->launch(t->b, &s->call, &error));
}

static void test_pool(gconstpointer api)
{
    struct bench t = bench_open(api);
    psc_address a, b, c;
    must(t.api->alloc(t.b, 1000, &a, &error));
    must(t.api->alloc(t.b, 1000, &b, &error));
    g_assert_cmpuint(figures(&t).generation, ==, 2);
    uint64_t held = figures(&t).device_bytes;
    t.api->free(t.b, a);
    g_assert_cmpuint(figures(&t).device_bytes, ==, held); /* it goes back when the instance is closed */
    must(t.api->alloc(t.b, 1004, &c, &error));
    g_assert_cmpuint(c, !=, a); /* exactly its size */
    must(t.api->alloc(t.b, 1000, &c, &error));
    g_assert_cmpuint(c, ==, a);
    g_assert_cmpuint(figures(&t).generation, ==, 4); /* reuse counts */
    t.api->free(t.b, c);
    t.api->free(t.b, c); /* idempotent */
    must(t.api->alloc(t.b, 1000, &a, &error));
    must(t.api->alloc(t.b, 1000, &c, &error));
    g_assert_cmpuint(a, !=, c);
    g_assert_cmpint(t.api->alloc(t.b, UINT64_MAX - 64, &c, &error), ==, PSC_ERR_NOMEM);
    run_fails(PSC_ERR_NOMEM, &error, PSC_ERR_NOMEM, WORDS("no room for a buffer of", "holds", "free"));
    t.api->close(t.b);
}

/* Whatever is no command of the queue is refused inside a window, and the window makes no recording. */
static void test_windows_are_pure(gconstpointer api)
{
    enum { ALLOC, WRITE, READ, FILL, SYNC, SUBMIT, PROBE, COPY, WEIGHT, N };
    static const char *const said[N] = {"allocated", "writes", "reads", "fills", "waits", "handed over", "looked at", "copy", "weight"};
    struct bench t = bench_open(api), dst = bench_open(api);
    psc_address x = room(&t, 64, 0x3f800000), to = room(&dst, 64, 0);
    static const float values[32] = {1};
    struct psc_weight weight = {.type = PSC_W_F32, .in = 32, .out = 1, .data = values, .bytes = sizeof values};
    for (int k = 0; k < N; k++) {
        uint64_t recording = 0, hash = 0, ticket;
        uint32_t words[16] = {0};
        bool issued;
        psc_address at = 0;
        struct scaling s;
        enum psc_status status = PSC_OK;
        must(t.api->capture_begin(t.b, &error));
        scale(&t, &s, x, 2, x, 16);
        error.text[0] = '\0';
        if (k == ALLOC)
            status = t.api->alloc(t.b, 64, &at, &error);
        if (k == WRITE)
            status = t.api->write(t.b, x, words, 64, &error);
        if (k == READ)
            status = t.api->read(t.b, x, words, 64, &error);
        if (k == FILL)
            status = t.api->fill(t.b, x, 0, 64, &error);
        if (k == SYNC)
            status = t.api->synchronise(t.b, &error);
        if (k == SUBMIT)
            status = t.api->submit(t.b, &error);
        if (k == PROBE)
            status = t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_HASH, x, 64, PSC_F32, &hash}, &error);
        if (k == COPY)
            status = t.api->enqueue_copy(t.b, x, 64, t.api, dst.b, to, &ticket, &issued, &error);
        if (k == WEIGHT)
            status = t.api->load_weight(t.b, &weight, &at, &error);
        run_fails(status, &error, PSC_ERR_USAGE, WORDS(said[k], "inside a capture window"));
        run_fails(t.api->capture_end(t.b, &recording, &error), &error, PSC_ERR_USAGE, WORDS("spoilt"));
        g_assert_cmpuint(figures(&t).windows_spoilt, ==, k + 1);
        must(t.api->synchronise(t.b, &error));
        g_assert_cmphex(word(&t, x), ==, 0x3f800000); /* what was in the window never ran */
    }
    t.api->close(t.b);
    dst.api->close(dst.b);
}

/* Nothing of a window runs before it is played; then all of it, as often as it is played. */
static void test_recordings(gconstpointer api)
{
    struct bench t = bench_open(api);
    struct scaling s[3];
    uint64_t recording = 0, other = 0;
    psc_address x = room(&t, 4000, 0x3f800000);
    must(t.api->capture_begin(t.b, &error));
    scale(&t, &s[0], x, 3, x, 1000);
    scale(&t, &s[1], x, 2, x, 1000);
    must(t.api->capture_end(t.b, &recording, &error));
    must(t.api->synchronise(t.b, &error));
    g_assert_cmphex(word(&t, x), ==, 0x3f800000);
    for (int k = 0; k < 3; k++)
        must(t.api->replay(t.b, recording, &error));
    must(t.api->synchronise(t.b, &error));
    g_assert_cmphex(word(&t, x), ==, 0x43580000); /* 216 */
    must(t.api->capture_begin(t.b, &error));
    scale(&t, &s[2], x, 0, x, 1000);
    t.api->capture_abort(t.b);
    must(t.api->synchronise(t.b, &error));
    g_assert_cmphex(word(&t, x), ==, 0x43580000);
    t.api->drop_recording(t.b, recording);
    g_assert_cmpint(t.api->replay(t.b, recording, &error), ==, PSC_ERR_USAGE);
    must(t.api->capture_begin(t.b, &error));
    must(t.api->capture_end(t.b, &other, &error)); /* an empty one */
    must(t.api->replay(t.b, other, &error));
    must(t.api->synchronise(t.b, &error));
    t.api->close(t.b);
}

/* Values are fetched once a split; what does not fit below the ceiling is fetched at once, and is right all the same. */
static void test_probes(gconstpointer api)
{
    enum { VALUES = 40, BYTES = 65536 };
    struct bench t = bench_open(api);
    struct scaling s[VALUES];
    uint64_t hashes[VALUES];
    float *copies = g_new(float, VALUES * BYTES / 4), *big = g_new0(float, 1 << 20);
    psc_address x = room(&t, BYTES, 0x3f800000), wide = room(&t, 4 << 20, 0x40000000);
    for (int k = 0; k < 4; k++) {
        scale(&t, &s[k], x, 2, x, BYTES / 4);
        must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_COPY, x, BYTES, PSC_F32, copies + k * BYTES / 4}, &error));
        must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_HASH, x, BYTES, PSC_F32, &hashes[k]}, &error));
    }
    must(t.api->submit(t.b, &error));
    g_assert_cmpuint(figures(&t).drains, ==, 1);
    g_assert_cmpuint(figures(&t).fallbacks, ==, 0);
    for (int k = 0; k < 4; k++) {
        g_assert_cmpfloat((double)copies[k * BYTES / 4 + 77], ==, 2 << k);
        g_assert_cmphex(hashes[k], ==, psc_probe_hash(copies + k * BYTES / 4, BYTES));
    }
    for (int k = 0; k < VALUES; k++) {
        scale(&t, &s[k], x, k % 2 ? 2.0f : 0.5f, x, BYTES / 4);
        must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_COPY, x, BYTES, PSC_F32, copies + k * BYTES / 4}, &error));
    }
    must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_COPY, wide, 4 << 20, PSC_F32, big}, &error));
    must(t.api->synchronise(t.b, &error));
    for (int k = 0; k < VALUES; k++)
        g_assert_cmpfloat((double)copies[k * BYTES / 4 + 77], ==, k % 2 ? 16 : 8);
    g_assert_cmpfloat((double)big[(1 << 20) - 1], ==, 2);
    if (api == &psc_backend_cuda_shim) /* its ceiling is 1 MiB, so that tests come to it */
        g_assert_cmpuint(figures(&t).fallbacks, >=, 3);
    g_free(copies);
    g_free(big);
    t.api->close(t.b);
}

static void test_copies_in_flight(gconstpointer api)
{
    struct bench t = bench_open(api), dst = bench_open(&psc_backend_cpu);
    uint64_t tickets[3];
    psc_address x = room(&t, 256, 0x41100000), to[3];
    for (int k = 0; k < 3; k++) {
        bool issued = false;
        to[k] = room(&dst, 256, 0);
        must(t.api->enqueue_copy(t.b, x, 256, dst.api, dst.b, to[k], &tickets[k], &issued, &error));
        g_assert_true(issued);
        if (api == &psc_backend_cuda_shim)
            g_assert_cmphex(word(&dst, to[k]), ==, 0xffc5dead); /* a read without its wait is seen */
    }
    uint64_t waits = figures(&t).waits;
    for (int k = 0; k < 3; k++) {
        must(t.api->await_copy(t.b, tickets[k], &error));
        g_assert_cmphex(word(&dst, to[k]), ==, 0x41100000);
    }
    g_assert_cmpuint(figures(&t).waits, ==, waits + 3);
    g_assert_cmpuint(figures(&t).most_in_flight, ==, 3);
    g_assert_cmpuint(figures(&t).staged, ==, 3);
    t.api->close(t.b);
    dst.api->close(dst.b);
}

/* Many segments at once: the ring is gone round several times, and what was written is what is read. */
static void test_ring(gconstpointer api)
{
    enum { WORDS_N = 700001 };
    struct bench t = bench_open(api);
    uint32_t *in = g_new(uint32_t, WORDS_N), *out = g_new0(uint32_t, WORDS_N);
    uint64_t state = test_seed();
    psc_address at = room(&t, 4 * WORDS_N, 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < WORDS_N; i++)
            in[i] = (uint32_t)psc_random_next(&state);
        must(t.api->write(t.b, at, in, 4 * WORDS_N, &error));
        must(t.api->read(t.b, at, out, 4 * WORDS_N, &error));
        g_assert_cmpmem(in, 4 * WORDS_N, out, 4 * WORDS_N);
    }
    g_free(in);
    g_free(out);
    t.api->close(t.b);
}

static void test_waits_are_bounded(void)
{
    struct bench t = {.api = &psc_backend_cuda_shim};
    must(t.api->open(&(struct psc_backend_config){.timeout_ms = 20}, &t.b, &error));
    psc_address x = room(&t, 64, 1);
    uint64_t hash = 77, later = 77;
    uint32_t words[16] = {88};
    psc_cuda_hang(t.b, true);
    must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_HASH, x, 64, PSC_F32, &hash}, &error));
    must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_COPY, x, 64, PSC_F32, words}, &error));
    run_fails(t.api->synchronise(t.b, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("did not end within 20 ms"));
    psc_cuda_hang(t.b, false);
    must(t.api->probe(t.b, &(struct psc_probe){PSC_PROBE_HASH, x, 64, PSC_F32, &later}, &error));
    must(t.api->synchronise(t.b, &error));
    g_assert_cmpuint(hash, ==, 77); /* who asked before the wait failed has gone */
    g_assert_cmpuint(words[0], ==, 88);
    must(t.api->read(t.b, x, words, 64, &error));
    g_assert_cmphex(later, ==, psc_probe_hash(words, 64));
    g_assert_cmpuint(word(&t, x), ==, 1);
    t.api->close(t.b);
}

/* ---- sessions ------------------------------------------------------------------------------------------------------------ */

static const char chain[] = "x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: add 4 a x @dev\nout b\n";
static const char two_splits[] =
    "x: input 4\na: scale 4 x scale=2 @dev\nb: scale 4 a scale=2\nc: scale 4 b scale=2 @dev\no: add 4 c x\nout o\n";

static void test_the_third_run_records(gconstpointer api)
{
    struct cuda_lab lab;
    cuda_lab_begin(&lab, api, chain, 0, 0);
    for (uint32_t step = 1; step <= 5; step++) {
        cuda_lab_steps(&lab, 1, "b", 3);
        g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, step >= 3);
        g_assert_cmpuint(cuda_lab_counters(&lab).replays, ==, step > 3 ? step - 3 : 0);
    }
    cuda_lab_end(&lab);
    cuda_lab_begin(&lab, api, two_splits, 0, 0);
    cuda_lab_steps(&lab, 6, "o", 9);
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 2);
    g_assert_cmpuint(cuda_lab_counters(&lab).replays, ==, 6);
    g_assert_cmpuint(cuda_lab_counters(&lab).copies, ==, cuda_lab_counters(&lab).waits);
    g_assert_cmpuint(cuda_lab_counters(&lab).blocking_copies, ==, 0);
    cuda_lab_end(&lab);
}

static void test_changes_drop_recordings(gconstpointer api)
{
    struct cuda_lab lab;
    cuda_lab_begin(&lab, api, chain, 0, 0);
    cuda_lab_steps(&lab, 4, "b", 3);
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 1);
    run_use(lab.s, cuda_lab_graph(&lab, "x: input 4000 @dev\ny: silu 4000 x @dev\nout y\n"), 3); /* new buffers: generation */
    run_use(lab.s, lab.g, 1);
    cuda_lab_steps(&lab, 2, "b", 3); /* warm again */
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 1);
    cuda_lab_steps(&lab, 2, "b", 3);
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 2);
    psc_session_swap_addresses(lab.s, 1, 0, 1, 0); /* other addresses: layout */
    cuda_lab_steps(&lab, 2, "b", 3);
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 2);
    cuda_lab_steps(&lab, 2, "b", 3);
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 3);
    cuda_lab_end(&lab);
}

/* A guard that strikes: the sentence names node and word, nothing of the step counts, and the session goes on. */
static void test_an_index_out_of_bounds(gconstpointer api)
{
    static const int32_t good[2] = {1, 0}, bad[2] = {1, 2};
    static const char text[] = "x: input 4x2 @dev\ni: input 2 i32 @dev\nr: get_rows 4x2 x i @dev\no: scale 4x2 r scale=1 @dev\nout o\n";
    struct cuda_lab lab;
    cuda_lab_begin(&lab, api, text, 0, 0);
    for (int round = 0; round < 6; round++) {
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
        run_fill_i32(lab.s, "i", good, 2);
        run_execute(lab.s, NULL);
        run_expect(lab.s, "o", F(5, 6, 7, 8, 1, 2, 3, 4), 8, 0);
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
        run_fill_i32(lab.s, "i", bad, 2);
        run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("get_rows", "id 2 at place 1", "2 rows"));
    }
    cuda_lab_end(&lab);

    /* The same of a recording whose graph was mapped again since: its calls are others now. */
    cuda_lab_begin(&lab, api, text, 0, 0);
    for (int round = 0; round < 5; round++) {
        if (round == 4) {
            run_use(lab.s, cuda_lab_graph(&lab, text), 2);
            run_use(lab.s, lab.g, 1);
        }
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
        run_fill_i32(lab.s, "i", round < 4 ? good : bad, 2);
        if (round < 4)
            run_execute(lab.s, NULL);
        else
            run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("get_rows", "id 2 at place 1", "2 rows"));
    }
    g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, 1);
    g_assert_cmpuint(cuda_lab_counters(&lab).replays, ==, 2);
    cuda_lab_end(&lab);
}

/* ---- models ---------------------------------------------------------------------------------------------------------- */

static void same(const struct psc_run_result *a, const struct psc_run_result *b)
{
    g_assert_cmpmem(a->tokens, a->token_n * 4, b->tokens, b->token_n * 4);
    g_assert_cmpmem(a->logits, a->logit_n * 4, b->logits, b->logit_n * 4);
}

/* Every allocation fails once, in set-up, launches, windows, replays, copies and probes: an error, or numbers that are right
 * all the same (a window that could not be kept is launched); nothing is left alive. */
static enum psc_status six_steps(void *data)
{
    const struct cuda_lab *lab = data;
    struct psc_session_options options = run_options();
    struct psc_session *s = NULL;
    struct psc_graph_key key = run_key(1);
    uint64_t hash = 0;
    options.replay = true;
    options.config.threads = 1;
    enum psc_status status = psc_session_new(lab->apis, 2, &options, &s, NULL);
    if (!status)
        status = psc_session_use(s, &key, run_build_cb, lab->g, NULL);
    for (int step = 1; !status && step <= 6; step++) {
        const float x[4] = {(float)step, 2, 3, 4};
        float o[4] = {0};
        status = psc_session_fill(s, "x", x, 4, NULL);
        if (!status)
            status = psc_session_execute(s, NULL, NULL);
        if (!status)
            status = psc_session_read(s, lab->g->outputs[0], o, 4, NULL);
        if (!status)
            g_assert_cmpfloat((double)o[0] + (double)o[3], ==, 9 * (step + 4));
    }
    if (!status) {
        const struct psc_backend_api *api;
        struct psc_backend *b = psc_session_backend(s, 1, &api);
        struct psc_pool_buffer buffer;
        psc_session_buffer(s, 1, 0, &buffer);
        status = api->probe(b, &(struct psc_probe){PSC_PROBE_HASH, buffer.at, 16, PSC_F32, &hash}, NULL);
        if (!status)
            status = api->synchronise(b, NULL);
    }
    psc_session_free(s);
    return status;
}

static void test_out_of_memory(void)
{
    struct cuda_lab lab;
    cuda_lab_begin(&lab, &psc_backend_cuda_shim, two_splits, 0, 0);
    unsigned walked = test_oom_loop(six_steps, &lab);
    g_test_message("%u allocations", walked);
    g_assert_cmpuint(walked, >, 60);
    cuda_lab_end(&lab);
}

/* 5 decode steps, 1 capture; two splits, 2 captures; prefill in chunks of one shape. Bit for bit as direct launches. */
static void test_replay_parity(gconstpointer data)
{
    const struct psc_backend_api *api = data;
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3"};
    for (unsigned k = 0; k < G_N_ELEMENTS(presets); k++) {
        struct cuda_tiny t;
        struct psc_run_result direct, replayed;
        cuda_tiny_open(&t, presets[k]);
        struct psc_run_request q = cuda_tiny_request(&t, api->name, false);
        cuda_tiny_run(&q, &direct);
        g_assert_cmpuint(direct.counters.captures, ==, 0);
        q.session.replay = true;
        cuda_tiny_run(&q, &replayed);
        g_assert_cmpuint(replayed.counters.captures, ==, 1);
        g_assert_cmpuint(replayed.counters.replays, ==, 2);
        same(&direct, &replayed);
        psc_run_result_release(&replayed);

        q.chunk = 4; /* 6 forwards of one shape; the input tail_ids cuts their graph into two splits */
        cuda_tiny_run(&q, &replayed);
        g_assert_cmpuint(replayed.counters.captures, ==, 3);
        g_assert_cmpuint(replayed.counters.replays, ==, 8);
        same(&direct, &replayed);
        psc_run_result_release(&replayed);
        psc_run_result_release(&direct);

        char *mixed = g_strdup_printf("mixed:0-0=%s,1-1=cpu,2-2=%s", api->name, api->name);
        q = cuda_tiny_request(&t, mixed, false);
        cuda_tiny_run(&q, &direct);
        q.session.replay = true;
        cuda_tiny_run(&q, &replayed);
        g_test_message("%s, %s: %u captures, %u replays, %u copies", presets[k], mixed, (unsigned)replayed.counters.captures,
                       (unsigned)replayed.counters.replays, (unsigned)replayed.counters.copies);
        g_assert_cmpuint(replayed.counters.captures, ==, 2);
        g_assert_cmpuint(replayed.counters.copies, ==, replayed.counters.waits);
        g_assert_cmpuint(replayed.counters.blocking_copies, ==, 0);
        same(&direct, &replayed);
        psc_run_result_release(&direct);
        psc_run_result_release(&replayed);
        g_free(mixed);
        psc_arena_release(&t.arena);
    }
}

/* The shim's arithmetic is the cpu's, so its runs are too, mixed or not. */
static void test_as_on_the_cpu(void)
{
    static const char *const specs[] = {"cuda-shim", "mixed:0-0=cuda-shim", "mixed:1-1=cuda-shim", "mixed:0-0=deferred,1-1=cuda-shim",
                                        "layers:1"};
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3"};
    for (unsigned k = 0; k < G_N_ELEMENTS(presets); k++) {
        struct cuda_tiny t;
        struct psc_run_result cpu, other;
        cuda_tiny_open(&t, presets[k]);
        struct psc_run_request q = cuda_tiny_request(&t, "cpu", false);
        cuda_tiny_run(&q, &cpu);
        for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++) {
            q = cuda_tiny_request(&t, specs[i], i % 2);
            cuda_tiny_run(&q, &other);
            same(&cpu, &other);
            psc_run_result_release(&other);
        }
        psc_run_result_release(&cpu);
        psc_arena_release(&t.arena);
    }
}

/* Values are looked at: no recording, every record is the node's own, and the device's hashes agree with what was read. */
static void test_records(gconstpointer data)
{
    const struct psc_backend_api *api = data;
    struct cuda_tiny t;
    struct psc_run_result a;
    cuda_tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = cuda_tiny_request(&t, api->name, true);
    q.record = (struct psc_recorder_options){.events = true, .values = true, .hashes = true};
    cuda_tiny_run(&q, &a);
    g_assert_cmpuint(a.counters.captures, ==, 0);
    g_assert_cmpuint(a.finding_n + a.confirmed_n + a.unwritten_n, ==, 0);
    g_assert_cmpuint(psc_doc_step_n(a.doc, 1), ==, 5);
    psc_run_result_release(&a);
    psc_arena_release(&t.arena);
}

int main(int argc, char **argv)
{
    static const struct { const char *path; void (*fn)(gconstpointer api); } tests[] = {
        {"pool/blocks-stay-and-are-counted", test_pool},
        {"window/holds-commands-only", test_windows_are_pure},
        {"window/plays-what-was-recorded", test_recordings},
        {"probes/are-fetched-once-a-split-below-a-ceiling", test_probes},
        {"copies/are-on-their-way-until-awaited", test_copies_in_flight},
        {"ring/goes-round", test_ring},
        {"session/the-third-run-records", test_the_third_run_records},
        {"session/changes-drop-recordings", test_changes_drop_recordings},
        {"session/an-index-out-of-bounds-is-told", test_an_index_out_of_bounds},
        {"model/replays-are-direct-launches-bit-for-bit", test_replay_parity},
        {"model/records-are-the-nodes-own", test_records},
    };
    const struct psc_backend_api *device = psc_backend_find("cuda")->api;
    g_test_init(&argc, &argv, NULL);
    if (!device)
        g_test_message("no device: %s", psc_backend_find("cuda")->unavailable);
    for (unsigned k = 0; k < G_N_ELEMENTS(tests); k++) {
        char *path = g_strdup_printf("/cuda-shim/%s", tests[k].path), *on_device = g_strdup_printf("/cuda/%s", tests[k].path);
        g_test_add_data_func(path, &psc_backend_cuda_shim, tests[k].fn);
        if (device)
            g_test_add_data_func(on_device, device, tests[k].fn);
        g_free(path);
        g_free(on_device);
    }
    g_test_add_func("/cuda-shim/waits-are-bounded", test_waits_are_bounded);
    g_test_add_func("/cuda-shim/model/as-on-the-cpu", test_as_on_the_cpu);
    g_test_add_func("/cuda-shim/session/every-allocation-may-fail", test_out_of_memory);
    return g_test_run();
}
