/* The kernels on the host: block by block, phase by phase, thread by thread; or all of it from the last to the first, which
 * must give the same bits: where two threads of a phase, or two blocks, touch the same bytes, it does not. */
#include "backends/cuda/kernels-attn.h"
#include "backends/cuda/kernels-product.h"
#include "backends/cuda/rt.h"

/* A launch with its arguments; `phase` says which one to do. */
struct block {
    const void *args;
    void *shared;
    bool backwards;
    struct psc_at at;
};
static inline uint32_t place(uint32_t i, uint32_t n, bool backwards)
{
    return backwards ? n - 1 - i : i;
}
typedef void (*phase_fn)(const struct block *b);

/* A phase for all threads of a block. */
#define PHASE(name, n)                                                        \
    static void name##_all_##n(const struct block *b)                         \
    {                                                                         \
        struct psc_at at = b->at;                                             \
        for (uint32_t i = 0; i < at.threads; i++) {                           \
            at.thread = place(i, at.threads, b->backwards);                   \
            name##_##n(b->args, &at, b->shared);                              \
        }                                                                     \
    }
/* Phases 0 and 1 of each thread without a barrier between them: fault l24. */
#define RACE(name)                                                            \
    static void name##_race(const struct block *b)                            \
    {                                                                         \
        struct psc_at at = b->at;                                             \
        for (uint32_t i = 0; i < at.threads; i++) {                           \
            at.thread = place(i, at.threads, b->backwards);                   \
            name##_0(b->args, &at, b->shared);                                \
            name##_1(b->args, &at, b->shared);                                \
        }                                                                     \
    }
#define SIZE(name) _Static_assert(sizeof(struct psc_s_##name) <= PSC_CUDA_SHARED_MAX, "shared memory of a block");
#define DEFINE1(name) SIZE(name) PHASE(name, 0)
#define DEFINE2(name) DEFINE1(name) PHASE(name, 1) RACE(name)
#define DEFINE3(name) DEFINE2(name) PHASE(name, 2)
#define DEFINE4(name) DEFINE3(name) PHASE(name, 3)
#define DEFINE5(name) DEFINE4(name) PHASE(name, 4)
PSC_CUDA_KERNELS(DEFINE1, DEFINE2, DEFINE3, DEFINE4, DEFINE5)

struct kernel {
    phase_fn phases[5], race;
    uint32_t n;
};
#define ROW1(name) {{name##_all_0}, 0, 1},
#define ROW2(name) {{name##_all_0, name##_all_1}, name##_race, 2},
#define ROW3(name) {{name##_all_0, name##_all_1, name##_all_2}, name##_race, 3},
#define ROW4(name) {{name##_all_0, name##_all_1, name##_all_2, name##_all_3}, name##_race, 4},
#define ROW5(name) {{name##_all_0, name##_all_1, name##_all_2, name##_all_3, name##_all_4}, name##_race, 5},
static const struct kernel kernels[PSC_CUDA_KERNEL_N] = {PSC_CUDA_KERNELS(ROW1, ROW2, ROW3, ROW4, ROW5)};

static void run_block(const struct kernel *k, struct block *b, uint32_t skips)
{
    for (b->at.pass = 0; b->at.pass < b->at.passes; b->at.pass++) {
        uint32_t p = 0;
        if (skips & PSC_CUDA_RACES && k->race) {
            k->race(b);
            p = 2;
        }
        for (; p < k->n; p++)
            k->phases[p](b);
    }
}

bool psc_cuda_run_on_host(enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, struct psc_lead lead, const void *args,
                          void *shared, bool backwards)
{
    const struct kernel *k = &kernels[kernel];
    struct block b = {.args = args, .shared = shared, .backwards = backwards, .at = {.threads = shape.threads, .passes = lead.passes, .stop = lead.stop, .mark = lead.mark}};
    if (lead.stop && *lead.stop)
        return true;
    if (lead.skips_barrier & PSC_CUDA_LEAVES && k->n > 1 && shape.threads > PSC_CUDA_LEAVES_FROM)
        return false;
    memset(shared, 0xc5, PSC_CUDA_SHARED_MAX); /* what a block finds in shared memory is nothing to count on */
    for (uint32_t y = 0; y < shape.by; y++)
        for (uint32_t x = 0; x < shape.bx; x++) {
            b.at.by = place(y, shape.by, backwards);
            b.at.bx = place(x, shape.bx, backwards);
            run_block(k, &b, lead.skips_barrier);
        }
    return true;
}
