/* Matrix products of the cpu backend.
 *
 *     bench-matmul [TYPE]...       all types without an argument
 *
 * One token: GB of weights a second, of a matrix far larger than the caches, beside what copying (bytes copied; memory
 * moves twice as many) and reading in four streams reach. 512 tokens: products a second (one multiplication and one addition count as one).
 * Everything is repeated in turns, medians are printed, at 1 thread (its processor time) and 2 (by the clock).
 */
#include "backends/cpu/matmul.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BIG (96u << 20) /* bytes of weights, and of what is copied */
#define ROUNDS 5
#define TOKENS 512u
#define THREADS 2u

/* With one thread the caller does all the work, and its own processor time is not disturbed by other programs. */
static double now(unsigned threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_size);
    return v[ROUNDS / 2];
}

/* ---- memory */

struct memory {
    unsigned char *from, *to;
    uint64_t sums[THREADS];
};

static void copy_task(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    struct memory *m = ctx;
    (void)worker;
    memcpy(m->to + lo, m->from + lo, hi - lo);
}

/* Four streams: one alone does not get all that memory gives. */
static void read_task(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    struct memory *m = ctx;
    uint64_t sum[8] = {0}, quarter = (hi - lo) / 256 * 64; /* sums wide enough for the compiler to use vectors */
    for (uint64_t i = lo; i + 64 <= lo + quarter; i += 64)
        for (unsigned s = 0; s < 4; s++) {
            uint64_t v[8];
            memcpy(v, m->from + s * quarter + i, 64);
            for (int k = 0; k < 8; k++)
                sum[k] ^= v[k];
        }
    for (int k = 0; k < 8; k++)
        m->sums[worker] += sum[k];
}

/* ---- products */

struct bench {
    struct psc_weight weight;
    float *x, *out;
    uint64_t tokens;
    double seconds[THREADS][ROUNDS];
};

static void run(const struct bench *b, struct psc_cpu_pool *pool, struct psc_cpu_scratch *scratch)
{
    struct psc_bound_weight w = {.weight = &b->weight, .at = {(psc_address)(uintptr_t)b->weight.data}};
    struct psc_cpu_needs needs = {0};
    if (!psc_cpu_matmul_needs(&b->weight, b->tokens, psc_cpu_pool_size(pool), &needs) ||
        psc_cpu_scratch_reserve(scratch, &needs, NULL))
        exit(1);
    psc_cpu_scratch_begin(scratch);
    psc_cpu_scratch_forget(scratch);
    psc_cpu_matmul(pool, &w, b->x, b->weight.in, b->tokens, NULL, b->out, b->weight.out, scratch, false, 0);
}

/* A row of seeded numbers, again and again in `data`. */
static void fill(const struct psc_weight *w, unsigned char *data)
{
    float *row = psc_alloc(w->in * sizeof *row);
    uint64_t row_bytes = w->bytes / w->out;
    uint32_t state = 1;
    for (uint64_t i = 0; i < w->in; i++) {
        state = state * 1664525u + 1013904223u;
        row[i] = (float)(int32_t)state * 0x1p-31f;
    }
    psc_blocks_encode(w->type, row, data, w->in);
    for (uint64_t o = 1; o < w->out; o++)
        memcpy(data + o * row_bytes, data, row_bytes);
    psc_free(row);
}

int main(int argc, char **argv)
{
    struct bench few[PSC_W_N] = {0}, many[PSC_W_N] = {0};
    double copied[THREADS][ROUNDS], was_read[THREADS][ROUNDS];
    struct psc_cpu_pool *pools[THREADS];
    struct psc_cpu_scratch scratch = {0};
    struct memory memory = {.from = psc_alloc(BIG), .to = psc_alloc(BIG)};
    float *x = psc_alloc(TOKENS * 4864 * sizeof *x), *out = psc_alloc((BIG / 200 + TOKENS * 1216) * sizeof *out);
    if (!memory.from || !memory.to || !x || !out)
        return 1;
    memset(memory.to, 1, BIG);
    memset(out, 0, (BIG / 200 + TOKENS * 1216) * sizeof *out);
    for (uint64_t i = 0; i < TOKENS * 4864; i++)
        x[i] = (float)(i * 2654435761u % 2001) / 1000.0f - 1.0f;
    for (unsigned k = 0; k < THREADS; k++)
        if (psc_cpu_pool_new(k + 1, &pools[k], NULL))
            return 1;
    for (int type = 0; type < PSC_W_OTHER; type++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted = wanted || psc_wtype_from_name(argv[a]) == (enum psc_wtype)type;
        const struct psc_wtype_info *info = psc_wtype_info((enum psc_wtype)type);
        uint64_t in = info->block == 256 ? 4864 : 896, row = 0;
        if (!wanted || !psc_wtype_bytes((enum psc_wtype)type, in, &row))
            continue;
        few[type] = (struct bench){.x = x, .out = out, .tokens = 1};
        few[type].weight = (struct psc_weight){.name = info->name, .type = (enum psc_wtype)type, .in = in,
                                               .out = BIG / row, .data = memory.from, .bytes = BIG / row * row};
        many[type] = few[type];
        many[type].tokens = TOKENS;
        many[type].weight.out = in == 896 ? 1216 : 224;
        many[type].weight.bytes = many[type].weight.out * row;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned k = 0; k < THREADS; k++) {
            double start = now(k + 1);
            psc_cpu_pool_for(pools[k], BIG, BIG / THREADS, copy_task, &memory);
            copied[k][round] = now(k + 1) - start;
            start = now(k + 1);
            psc_cpu_pool_for(pools[k], BIG, BIG / THREADS, read_task, &memory);
            was_read[k][round] = now(k + 1) - start;
        }
        for (int type = 0; type < PSC_W_OTHER; type++) {
            if (!few[type].tokens)
                continue;
            fill(&few[type].weight, memory.from);
            for (unsigned k = 0; k < 2 * THREADS; k++) {
                struct bench *b = k < THREADS ? &few[type] : &many[type];
                double start = now(k % THREADS + 1);
                run(b, pools[k % THREADS], &scratch);
                b->seconds[k % THREADS][round] = now(k % THREADS + 1) - start;
            }
        }
    }
    double copy[THREADS], reading[THREADS];
    for (unsigned k = 0; k < THREADS; k++) {
        copy[k] = BIG / median(copied[k]) / 1e9;
        reading[k] = BIG / median(was_read[k]) / 1e9;
        printf("%u thread%s copies %.2f GB/s, reads %.2f GB/s\n", k + 1, k ? "s:" : ": ", copy[k], reading[k]);
    }
    printf("%-6s %28s %28s   %s\n", "", "1 token, 1 thread", "2 threads", "512 tokens: 1 thread, 2 threads");
    for (int type = 0; type < PSC_W_OTHER; type++) {
        if (!few[type].tokens)
            continue;
        printf("%-6s", few[type].weight.name);
        for (unsigned k = 0; k < THREADS; k++) {
            double rate = (double)few[type].weight.bytes / median(few[type].seconds[k]) / 1e9;
            printf("   %6.2f GB/s %3.0f %% %3.0f %% ", rate, 100 * rate / copy[k], 100 * rate / reading[k]);
        }
        for (unsigned k = 0; k < THREADS; k++)
            printf("  %6.2f G/s", (double)(many[type].weight.in * many[type].weight.out) * TOKENS /
                                      median(many[type].seconds[k]) / 1e9);
        printf("\n");
    }
    printf("shares are of the copy and of the reading rate of the same number of threads\n");
    return 0;
}
