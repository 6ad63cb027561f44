/* Products beside those of the numbers that were encoded: off by what the step of the type explains, and no more; and that
 * this finds a dequantisation with a mistake in it. */
#include "backends/cpu/matmul.h"
#include "core/base/hash.h"
#include "tests/steps.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

enum { IN = 1024, OUT = 64, TOKENS = 24 };
#define AT_LEAST 0.5 /* part of the allowed root of the mean that errors really have: it allows little more than there is */

struct lab {
    enum psc_wtype type;
    float w[OUT * IN], x[TOKENS * IN];
    double s[OUT * IN], t[TOKENS * IN];
    void *blocks;
    uint64_t bytes;
};

enum { NORMAL, EVEN, ONE_SIDED, FAR_OFF, SHAPES, LIFTED = SHAPES };
static const char *const shapes[SHAPES] = {"like normal ones", "even", "of one sign a block", "with some far off"};

static float drawn(uint64_t *state, unsigned shape, unsigned i)
{
    double u[4];
    for (unsigned k = 0; k < 4; k++)
        u[k] = (double)(psc_random_next(state) >> 11) * 0x1p-53;
    double normal = u[0] + u[1] + u[2] + u[3] - 2;
    switch (shape) {
    case NORMAL: return (float)normal;
    case LIFTED: return (float)(normal + 0.25);
    case EVEN: return (float)(2 * u[0] - 1);
    case ONE_SIDED: return (float)(psc_hash_mix(i / 256) & 1 ? 0.5 + u[0] : -0.5 - u[0]);
    default: return (float)(i % 40 == 3 ? 8 * normal : normal);
    }
}

static struct lab *lab_new(enum psc_wtype type, unsigned w_shape, unsigned x_shape, uint64_t *state)
{
    struct lab *lab = g_new0(struct lab, 1);
    lab->type = type;
    for (unsigned i = 0; i < OUT * IN; i++)
        lab->w[i] = drawn(state, w_shape, i);
    for (unsigned i = 0; i < TOKENS * IN; i++)
        lab->x[i] = drawn(state, x_shape, i);
    g_assert_true(psc_wtype_bytes(type, OUT * IN, &lab->bytes));
    lab->blocks = g_malloc(lab->bytes);
    psc_blocks_encode(type, lab->w, lab->blocks, OUT * IN);
    step_variances(type, lab->w, OUT * IN, lab->s);
    step_act_variances(type, lab->x, TOKENS * IN, lab->t);
    return lab;
}

static void lab_free(struct lab *lab)
{
    g_free(lab->blocks);
    g_free(lab);
}

/* The kernel's products with such a weight, judged as products of lab's numbers. */
static struct step_sums judged(const struct lab *lab, enum psc_wtype type, const void *data, uint64_t bytes, bool portable)
{
    struct psc_weight weight = {.name = "w", .type = type, .in = IN, .out = OUT, .data = data, .bytes = bytes};
    struct psc_bound_weight bound = {.weight = &weight, .at = {(psc_address)(uintptr_t)data}};
    struct psc_cpu_pool *pool = NULL;
    struct psc_cpu_scratch scratch = {0};
    struct psc_cpu_needs needs = {0};
    struct step_sums sums = {0};
    float out[TOKENS * OUT];
    g_assert_cmpint(psc_cpu_pool_new(1, &pool, NULL), ==, PSC_OK);
    g_assert_true(psc_cpu_matmul_needs(&weight, TOKENS, 1, &needs));
    g_assert_cmpint(psc_cpu_scratch_reserve(&scratch, &needs, NULL), ==, PSC_OK);
    psc_cpu_scratch_begin(&scratch);
    psc_cpu_matmul(pool, &bound, lab->x, IN, TOKENS, NULL, out, OUT, &scratch, portable, 0);
    for (unsigned t = 0; t < TOKENS; t++)
        for (unsigned o = 0; o < OUT; o++)
            step_product(&sums, lab->w + o * IN, lab->s + o * IN, lab->x + t * IN, lab->t + t * IN, IN,
                         (double)out[t * OUT + o]);
    psc_cpu_scratch_release(&scratch);
    psc_cpu_pool_free(pool);
    return sums;
}

static void test_close(gconstpointer data)
{
    enum psc_wtype type = (enum psc_wtype)GPOINTER_TO_UINT(data);
    uint64_t seed = test_seed(), state = seed;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    double least = INFINITY, largest = 0, most = 0;
    for (unsigned k = 0; k < 4 * SHAPES; k++) {
        struct lab *lab = lab_new(type, k / 4, k & 2 ? FAR_OFF : NORMAL, &state);
        struct step_sums sums = judged(lab, type, lab->blocks, lab->bytes, k % 2);
        g_assert_cmpuint(sums.n, ==, TOKENS * OUT);
        if (!step_within(&sums) || step_rms(&sums) < AT_LEAST * STEP_RMS)
            g_error("%s %s (%u): %.3f deviations, at most %.2f", psc_wtype_info(type)->name, shapes[k / 4], k % 4, step_rms(&sums),
                    sums.most);
        least = fmin(least, step_rms(&sums));
        largest = fmax(largest, step_rms(&sums));
        most = fmax(most, sums.most);
        lab_free(lab);
    }
    g_test_message("%s: %.3f to %.3f deviations where %.2f are allowed, at most %.2f of %.1f", psc_wtype_info(type)->name, least,
                   largest, STEP_RMS, most, STEP_MOST);
}

/* The same judge before weights that were read with a mistake, and otherwise rightly multiplied. Activations have a mean, as
 * behind silu: without one a shift of all weights adds up to little. Rightly read weights pass there, too. */
static void test_mutants(gconstpointer data)
{
    enum psc_wtype type = (enum psc_wtype)GPOINTER_TO_UINT(data);
    uint64_t seed = test_seed(), state = seed;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    unsigned caught = 0;
    float *values = g_new(float, OUT * IN);
    for (unsigned m = 0; m < STEP_MUTANT_N; m++) {
        struct lab *lab = lab_new(type, NORMAL, LIFTED, &state);
        struct step_sums right = judged(lab, type, lab->blocks, lab->bytes, m % 2);
        g_assert_true(step_within(&right));
        if (step_mutate(type, m, lab->blocks, OUT * IN, values)) {
            struct step_sums sums = judged(lab, PSC_W_F32, values, OUT * IN * sizeof *values, m % 2);
            g_test_message("%s, %s: %.2f deviations, at most %.2f", psc_wtype_info(type)->name, step_mutants[m],
                           step_rms(&sums), sums.most);
            g_assert_false(step_within(&sums));
            caught++;
        }
        lab_free(lab);
    }
    g_assert_cmpuint(caught, >=, 2);
    g_free(values);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned type = PSC_W_F16; type < PSC_W_OTHER; type++) {
        char *path = g_strdup_printf("/backends/cpu/close/%s/is-off-by-its-step-and-no-more", psc_wtype_info(type)->name);
        g_test_add_data_func(path, GUINT_TO_POINTER(type), test_close);
        g_free(path);
        path = g_strdup_printf("/backends/cpu/close/%s/finds-a-weight-that-is-read-wrongly", psc_wtype_info(type)->name);
        g_test_add_data_func(path, GUINT_TO_POINTER(type), test_mutants);
        g_free(path);
    }
    return g_test_run();
}
