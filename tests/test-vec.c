/* The inner loops: how good exp is, that sums are taken in the stated order, and that both tables give the same bits. */
#include "backends/cpu/vec.h"

#include "core/base/hash.h"
#include "core/model/blocks.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

static uint64_t seed;

static float number(double lo, double hi)
{
    return (float)(lo + (hi - lo) * ((double)(psc_random_next(&seed) >> 11) * 0x1p-53));
}

static void test_exp(void)
{
    const struct psc_cpu_vec *vec = psc_cpu_vec_best(false);
    double worst = 0, worst_tiny = 0;
    float x[1000], y[1000];
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 1000; i++)
            x[i] = number(-104, 89);
        vec->exp_minus(x, 0, y, 1000);
        for (int i = 0; i < 1000; i++) {
            double e = exp((double)x[i]);
            if (x[i] > 88.72f)
                g_assert_true(isinf(y[i]) || fabs((double)y[i] / e - 1) < 2e-7);
            else if (e >= 0x1p-126)
                worst = fmax(worst, fabs((double)y[i] / e - 1));
            else
                worst_tiny = fmax(worst_tiny, fabs((double)y[i] - e) / 0x1p-149);
        }
    }
    g_test_message("largest relative error %.3g; of subnormals %.3g steps", worst, worst_tiny);
    g_assert_cmpfloat(worst, <, 2e-7);
    g_assert_cmpfloat(worst_tiny, <, 1);
    const float ends[] = {0, -0.0f, -INFINITY, INFINITY, NAN, -1000, 1000};
    vec->exp_minus(ends, 0, y, 7);
    g_assert_true(y[0] == 1 && y[1] == 1 && y[2] == 0 && isinf(y[3]) && isnan(y[4]) && y[5] == 0 && isinf(y[6]));
}

/* lane k adds every eighth value from k on; total = ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7)) */
static float in_order(const float *q, const float *k, uint64_t n)
{
    float l[8] = {0};
    for (uint64_t i = 0; i < n; i++)
        l[i % 8] += q[i] * k[i];
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

static void test_order_of_sums(void)
{
    const struct psc_cpu_vec *vec = psc_cpu_vec_best(false);
    static float q[206], k[9 * 210], out[27];
    for (uint64_t i = 0; i < G_N_ELEMENTS(q); i++)
        q[i] = number(-1, 1);
    for (uint64_t i = 0; i < G_N_ELEMENTS(k); i++)
        k[i] = number(-1, 1);
    for (uint64_t n = 0; n < 200; n += 13)
        for (uint64_t rows = 0; rows <= 9; rows++) {
            uint64_t heads = 1 + rows % 3;
            vec->scores(q, 3, heads, k, 210, rows, n, 0.125f, out, 9);
            for (uint64_t i = 0; i < heads * rows; i++) {
                uint64_t h = i / rows, r = i % rows;
                g_assert_cmpfloat((double)out[h * 9 + r], ==, (double)(in_order(q + h * 3, k + r * 210, n) * 0.125f));
            }
        }
}

static float x[8 * 8 * 33], y[8 * 8 * 33], a[8 * 8 * 33], b[8 * 8 * 33];

static void same(uint64_t n, const char *what)
{
    for (uint64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], 4) != 0 && !(isnan(a[i]) && isnan(b[i])))
            g_error("%s: value %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " is %a on one table, %a on the other",
                    what, i, n, (double)a[i], (double)b[i]);
}

static void compare_tables(const struct psc_cpu_vec *p, const struct psc_cpu_vec *v, uint64_t n)
{
    p->add(x, y, a, n), v->add(x, y, b, n), same(n, "add");
    p->mul(x, y, a, n), v->mul(x, y, b, n), same(n, "mul");
    p->scale(x, 0.3f, a, n), v->scale(x, 0.3f, b, n), same(n, "scale");
    p->silu(x, a, n), v->silu(x, b, n), same(n, "silu");
    p->swiglu(x, y, a, n), v->swiglu(x, y, b, n), same(n, "swiglu");
    p->norm(x, 1.7f, y, NULL, a, n), v->norm(x, 1.7f, y, NULL, b, n), same(n, "norm");
    p->norm(x, 1.7f, y, x, a, n), v->norm(x, 1.7f, y, x, b, n), same(n, "norm with bias");
    double s = p->sum_squares(x, n), t = v->sum_squares(x, n);
    g_assert_true(memcmp(&s, &t, sizeof s) == 0 || (isnan(s) && isnan(t)));
    a[0] = p->largest(x, n), b[0] = v->largest(x, n), same(1, "largest");
    a[n] = p->exp_minus(x, 1, a, n), b[n] = v->exp_minus(x, 1, b, n), same(n + 1, "exp_minus");
    p->divide(x, 3, a, n), v->divide(x, 3, b, n), same(n, "divide");
    p->softmax_columns(x, a, 7, n + 1, n, true), v->softmax_columns(x, b, 7, n + 1, n, true);
    for (uint64_t r = 0; r < 7; r++)
        for (uint64_t i = 0; i < n; i++)
            g_assert_true(memcmp(&a[r * (n + 1) + i], &b[r * (n + 1) + i], 4) == 0 || isnan(a[r * (n + 1) + i]));
    for (int inter = 0; inter < 2; inter++)
        p->rotate(x, y, a, n / 2 * 2, inter), v->rotate(x, y, b, n / 2 * 2, inter), same(n / 2 * 2, "rotate");
    for (uint64_t rows = 0; rows < 8; rows++) {
        for (uint64_t heads = 1; heads < 4; heads++) {
            p->scores(x, 8, heads, y, n, rows, n, 0.5f, a, rows), v->scores(x, 8, heads, y, n, rows, n, 0.5f, b, rows);
            same(rows * heads, "scores");
        }
        memcpy(a, x, n * 4), memcpy(b, x, n * 4);
        p->weigh(x, y, n, rows, n, a), v->weigh(x, y, n, rows, n, b), same(n, "weigh");
    }
}

static void test_tables(void)
{
    const struct psc_cpu_vec *portable = psc_cpu_vec_best(true), *best = psc_cpu_vec_best(false);
    static const float odd[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, -1e38f, 88.5f, -103.5f};
    g_assert_cmpstr(portable->name, ==, "portable");
    g_assert_true((best != portable) == psc_cpu_has_avx2());
    for (int special = 0; special < 2; special++)
        for (uint64_t n = 1; n < 260; n = n < 70 ? n + 1 : n + 37) {
            for (uint64_t i = 0; i < G_N_ELEMENTS(x); i++) {
                x[i] = special && i % 11 == 3 ? odd[psc_random_next(&seed) % G_N_ELEMENTS(odd)] : number(-90, 90);
                y[i] = number(-2, 2);
            }
            compare_tables(portable, best, n);
        }
}

/* Every half there is, and q8_0 blocks, as core/model decodes them. */
static void test_formats(void)
{
    static uint16_t halves[65536];
    static float got[2][65536];
    for (unsigned i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    psc_cpu_vec_best(true)->from_f16(halves, got[0], 65536);
    psc_cpu_vec_best(false)->from_f16(halves, got[1], 65536);
    for (unsigned i = 0; i < 65536; i++) {
        float want = psc_f16_to_f32((uint16_t)i);
        g_assert_cmpmem(&got[0][i], 4, &want, 4);
        g_assert_cmpmem(&got[1][i], 4, &want, 4);
    }
    static unsigned char blocks[34 * 10];
    static float values[320];
    for (unsigned i = 0; i < sizeof blocks; i++)
        blocks[i] = (unsigned char)(i % 34 == 1 ? 0x30 : psc_random_next(&seed));
    psc_blocks_decode(PSC_W_Q8_0, blocks, values, 320);
    for (int t = 0; t < 2; t++) {
        psc_cpu_vec_best(t)->from_q8_0(blocks, got[t], 320);
        g_assert_cmpmem(got[t], sizeof values, values, sizeof values);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    seed = test_seed();
    g_test_add_func("/vec/exp-is-near-libm-and-ends-as-it-does", test_exp);
    g_test_add_func("/vec/sums-are-taken-in-the-stated-order", test_order_of_sums);
    g_test_add_func("/vec/both-tables-give-the-same-bits", test_tables);
    g_test_add_func("/vec/stored-formats-decode-as-in-core", test_formats);
    return g_test_run();
}
