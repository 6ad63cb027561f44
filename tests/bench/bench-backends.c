/* What the cpu backend spends beside its matrix products, and what probes cost.
 *
 *     bench-backends [WINDOW]         WINDOW: rows that attention reads; default 512
 *
 * Shapes of a 0.5B model (24 layers, width 896, 14 heads of 64 over 2, feed-forward 4,864). Times are the calling thread's
 * processor time, best of several rounds, one thread; the loop's turn-around is wall time at 2 threads.
 */
#include "backends/cpu/cpu.h"

#include "backends/cpu/threads.h"
#include "backends/cpu/vec.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 15

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const struct psc_backend_api *const api = &psc_backend_cpu;
static struct psc_backend *b;
static struct psc_error error;

static void must(enum psc_status status)
{
    if (status) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
}

static psc_address floats(uint64_t n)
{
    psc_address at = 0;
    must(api->alloc(b, n * 4, &at, &error));
    float *x = psc_alloc(n * 4);
    if (!x)
        exit(1);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)((i * 2654435761u) % 2000) / 1000 - 1;
    must(api->write(b, at, x, n * 4, &error));
    psc_free(x);
    return at;
}

static struct psc_window window(uint64_t d0, uint64_t d1)
{
    return (struct psc_window){.at = floats(d0 * d1), .bytes = d0 * d1 * 4, .dtype = PSC_F32, .shape = {d0, d1, 1, 1}};
}

static struct psc_window words(uint64_t n, int32_t first)
{
    struct psc_window w = window(n, 1);
    int32_t *at = (int32_t *)(uintptr_t)w.at;
    for (uint64_t i = 0; i < n; i++)
        at[i] = first + (int32_t)i;
    w.dtype = PSC_I32;
    return w;
}

/* Microseconds of one launch. */
static double cost(const struct psc_call *call)
{
    double best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        must(api->launch(b, call, &error));
        double took = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
        best = took < best ? took : best;
    }
    return best * 1e6;
}

struct line {
    const char *what;
    enum psc_op op;
    uint64_t width;
    unsigned times; /* in one pass */
};

static double elements(const struct line *l, uint64_t tokens)
{
    struct psc_params params = {.hd = 64, .freq_base = 1e6f, .eps = 1e-6f};
    struct psc_window in[2] = {window(l->width, tokens),
                               l->op == PSC_OP_ROPE ? words(tokens, 100) : window(l->width, tokens)};
    struct psc_call call = {.op = l->op, .params = &params, .in = in, .in_n = l->op == PSC_OP_RMS_NORM ? 1 : 2,
                            .out = window(l->width, tokens)};
    double us = cost(&call) * l->times;
    printf("  %-22s %9.0f us\n", l->what, us);
    return us;
}

static double attention(uint64_t tokens, uint64_t rows, enum psc_kv_format format)
{
    uint32_t row = 0;
    must(psc_kv_row_words(format, 128, &row, &error));
    struct psc_params params = {
        .hd = 64, .n_head = 14, .n_head_kv = 2, .hd_kv = 64, .scale = 0.125f, .has_scale = true};
    struct psc_window in[3] = {window(896, tokens), {.shape = {128, 0, 1, 1}}, words(tokens, (int32_t)(rows - tokens))};
    struct psc_call call = {.op = PSC_OP_ATTN, .params = &params, .in = in, .in_n = 3, .out = window(896, tokens)};
    call.kv = (struct psc_kv_pair){.k = floats(rows * row), .v = floats(rows * row), .rows = rows, .width = 128,
                                   .row_bytes = row * 4, .format = format};
    if (format != PSC_KV_F32)
        for (int s = 0; s < 2; s++)
            must(api->fill(b, s ? call.kv.v : call.kv.k, 0x2c012c01, rows * row * 4, &error));
    double us = cost(&call) * 24;
    printf("  %-13s %8s %9.0f us\n", "attention", psc_kv_format_name(format), us);
    return us;
}

static void passes(uint64_t window_rows)
{
    static const struct line lines[] = {
        {"rms_norm", PSC_OP_RMS_NORM, 896, 49}, {"rope q", PSC_OP_ROPE, 896, 24},    {"rope k", PSC_OP_ROPE, 128, 24},
        {"add", PSC_OP_ADD, 896, 48},           {"swiglu", PSC_OP_SWIGLU, 4864, 24},
    };
    for (int prefill = 0; prefill < 2; prefill++) {
        uint64_t tokens = prefill ? window_rows : 1;
        double sum = 0;
        printf("%s, %u tokens, %u rows:\n", prefill ? "prefill" : "decode", (unsigned)tokens, (unsigned)window_rows);
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            sum += elements(&lines[i], tokens);
        sum += attention(tokens, window_rows, PSC_KV_F32);
        attention(tokens, window_rows, PSC_KV_F16);
        attention(tokens, window_rows, PSC_KV_Q8_0);
        printf("  %-22s %9.0f us  (with f32 attention)\n", "all but products", sum);
    }
}

static void probes(void)
{
    enum { N = 151936 };
    psc_address x = floats(N);
    double best[2] = {1e9, 1e9};
    for (int r = 0; r < 40; r++)
        for (int k = 0; k < 2; k++) {
            uint64_t hash;
            struct psc_probe_stats stats;
            double start = seconds(CLOCK_THREAD_CPUTIME_ID);
            must(api->probe(b,
                            &(struct psc_probe){k ? PSC_PROBE_STATS : PSC_PROBE_HASH, x, N * 4, PSC_F32,
                                                k ? (void *)&stats : &hash},
                            &error));
            double took = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
            best[k] = took < best[k] ? took : best[k];
        }
    for (int k = 0; k < 2; k++)
        printf("%s: %.2f GB/s, %.2f ns an element\n", k ? "statistics" : "hash", N * 4 / best[k] * 1e-9,
               best[k] / N * 1e9);
}

static void nothing(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)ctx, (void)lo, (void)hi, (void)worker;
}

static void turn_around(void)
{
    struct psc_cpu_pool *pool = NULL;
    must(psc_cpu_pool_new(2, &pool, &error));
    double best = 1e9;
    for (int r = 0; r < 50; r++) {
        double start = seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < 200; i++)
            psc_cpu_pool_for(pool, 2, 1, nothing, NULL);
        double took = (seconds(CLOCK_MONOTONIC) - start) / 200;
        best = took < best ? took : best;
    }
    printf("a loop over 2 workers: %.2f us\n", best * 1e6);
    psc_cpu_pool_free(pool);
}

int main(int argc, char **argv)
{
    uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 512;
    struct psc_backend_config config = {.threads = 1, .portable = getenv("PORTABLE") != NULL};
    must(api->open(&config, &b, &error));
    printf("inner loops: %s\n", psc_cpu_vec_best(config.portable)->name);
    probes();
    turn_around();
    passes(rows ? rows : 512);
    api->close(b);
    return 0;
}
