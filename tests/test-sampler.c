/* tests/test-sampler.c: from logits to tokens: stages, errors, probabilities, and what tests/golden/make-sampler.py
 * worked out the long way. */
#include "core/base/hash.h"
#include "core/run/sampler.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

/* ln of 0.5, 0.3, 0.15, 0.05 */
static const float four[4] = {-0.69314718f, -1.2039728f, -1.89711998f, -2.99573227f};

static struct psc_sampler *sampler_of(struct psc_sampling options, uint32_t n)
{
    struct psc_sampler *s = NULL;
    g_assert_cmpint(psc_sampler_new(&options, n, &s, NULL), ==, PSC_OK);
    return s;
}

static uint32_t next_of(struct psc_sampler *s, const float *logits)
{
    uint32_t token = UINT32_MAX;
    struct psc_error err = {0};
    g_assert_cmpint(psc_sampler_next(s, logits, &token, &err), ==, PSC_OK);
    return token;
}

/* counts[token] of `draws` draws from the same logits */
static void count_draws(struct psc_sampling options, const float *logits, uint32_t n, unsigned draws,
                        unsigned *counts)
{
    struct psc_sampler *s = sampler_of(options, n);
    memset(counts, 0, n * sizeof *counts);
    for (unsigned i = 0; i < draws; i++) {
        uint32_t token = next_of(s, logits);
        g_assert_cmpuint(token, <, n);
        counts[token]++;
    }
    psc_sampler_free(s);
}

/* Are the counts those of probabilities p? The sum of (count - expected)^2 / expected stays under `bound`. */
static void assert_fits(const unsigned *counts, const double *p, uint32_t n, unsigned draws, double bound)
{
    double chi = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        double expected = p[i] * draws;
        if (p[i] == 0.0)
            g_assert_cmpuint(counts[i], ==, 0);
        else
            chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    g_assert_cmpfloat(chi, <, bound);
    g_assert_cmpfloat(chi, >, 0.0);
}

static void zeroed_options_are_greedy(void)
{
    const float logits[] = {-3.0f, 2.0f, 2.0f, -INFINITY, 1.999f};
    struct psc_sampler *s = sampler_of((struct psc_sampling){0}, 5);
    for (int i = 0; i < 5; i++) {
        g_assert_cmpuint(next_of(s, logits), ==, 1); /* of equal ones the lower id */
        psc_sampler_accept(s, 1);
    }
    psc_sampler_free(s);
    s = sampler_of(psc_sampling_default(), 5);
    g_assert_cmpuint(next_of(s, logits), ==, 1);
    psc_sampler_free(s);
    struct psc_sampling d = psc_sampling_default();
    g_assert_cmpuint(d.repeat_window, ==, 64);
    g_assert_true(d.repeat_penalty == 1.0f && d.temperature == 0.0f && d.top_k == 0 && d.top_p == 1.0f &&
                  d.min_p == 0.0f);
}

static void the_penalty_falls_on_what_was_said(void)
{
    struct psc_sampler *s = sampler_of((struct psc_sampling){.repeat_penalty = 2.0f, .repeat_window = 2}, 3);
    const float above[] = {2.0f, 1.5f, -1.0f};
    g_assert_cmpuint(next_of(s, above), ==, 0);
    psc_sampler_accept(s, 0); /* 1.0 1.5 -1 */
    g_assert_cmpuint(next_of(s, above), ==, 1);
    psc_sampler_accept(s, 1); /* 1.0 0.75 -1 */
    g_assert_cmpuint(next_of(s, above), ==, 0);
    psc_sampler_accept(s, 1); /* 0 has left the window: 2.0 0.75 -1; 1 is punished once, not twice */
    g_assert_cmpuint(next_of(s, above), ==, 0);
    const float twice[] = {0.4f, 1.0f, 0.45f}; /* 1 once: 0.5, twice it would be 0.25 */
    g_assert_cmpuint(next_of(s, twice), ==, 1);
    const float below[] = {-2.5f, -1.5f, -2.6f}; /* 1: -3.0 */
    g_assert_cmpuint(next_of(s, below), ==, 0);
    const float nought[] = {-0.5f, 0.0f, -0.1f};
    g_assert_cmpuint(next_of(s, nought), ==, 1);
    psc_sampler_restart(s);
    g_assert_cmpuint(next_of(s, twice), ==, 1);
    psc_sampler_free(s);
    s = sampler_of((struct psc_sampling){.repeat_penalty = 2.0f, .repeat_window = 0}, 3);
    psc_sampler_accept(s, 0);
    g_assert_cmpuint(next_of(s, above), ==, 0);
    psc_sampler_free(s);
}

static void all_tokens_come_as_often_as_they_should(void)
{
    enum { DRAWS = 100000 };
    unsigned counts[4];
    const double p[] = {0.5, 0.3, 0.15, 0.05};
    count_draws((struct psc_sampling){.temperature = 1.0f, .seed = 11}, four, 4, DRAWS, counts);
    assert_fits(counts, p, 4, DRAWS, 16.27); /* three degrees of freedom, one in a thousand */

    /* temperature 2: the square roots, 0.7071 0.5477 0.3873 0.2236, over their sum 1.8657 */
    const double warm[] = {0.37900, 0.29357, 0.20759, 0.11984};
    count_draws((struct psc_sampling){.temperature = 2.0f, .seed = 12}, four, 4, DRAWS, counts);
    assert_fits(counts, warm, 4, DRAWS, 16.27);

    /* temperature 1/2: the squares, 0.25 0.09 0.0225 0.0025, over 0.365 */
    const double cold[] = {0.684932, 0.246575, 0.0616438, 0.00684932};
    count_draws((struct psc_sampling){.temperature = 0.5f, .seed = 13}, four, 4, DRAWS, counts);
    assert_fits(counts, cold, 4, DRAWS, 16.27);
}

static void stages_cut_what_they_say(void)
{
    enum { DRAWS = 40000 };
    static const struct {
        struct psc_sampling o;
        double p[4];
    } rows[] = {
        {{.top_k = 1}, {1, 0, 0, 0}},
        {{.top_k = 2}, {0.625, 0.375, 0, 0}},
        {{.top_k = 100}, {0.5, 0.3, 0.15, 0.05}},
        {{.top_p = 0.49f}, {1, 0, 0, 0}},
        {{.top_p = 0.51f}, {0.625, 0.375, 0, 0}},
        {{.top_p = 0.81f}, {0.526316, 0.315789, 0.157895, 0}},
        {{.top_p = 0.96f}, {0.5, 0.3, 0.15, 0.05}},
        {{.min_p = 0.61f}, {1, 0, 0, 0}},
        {{.min_p = 0.59f}, {0.625, 0.375, 0, 0}},
        {{.min_p = 0.09f}, {0.5, 0.3, 0.15, 0.05}},
        /* top-p counts what top-k left: 0.625 of it is the first alone */
        {{.top_k = 2, .top_p = 0.62f}, {1, 0, 0, 0}},
        {{.top_k = 2, .top_p = 0.63f}, {0.625, 0.375, 0, 0}},
        /* min-p compares with the first, whatever the temperature */
        {{.min_p = 0.59f, .temperature = 0.5f}, {0.735294, 0.264706, 0, 0}},
        {{.top_p = 0.51f, .temperature = 2.0f}, {0.563508, 0.436492, 0, 0}},
    };
    unsigned cases = 0;
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++, cases++) {
        struct psc_sampling o = rows[r].o;
        unsigned counts[4], left = 0;
        o.temperature = o.temperature > 0.0f ? o.temperature : 1.0f;
        o.seed = 100 + r;
        count_draws(o, four, 4, DRAWS, counts);
        for (int i = 0; i < 4; i++)
            left += rows[r].p[i] > 0.0;
        if (left > 1)
            assert_fits(counts, rows[r].p, 4, DRAWS, 16.27);
        else
            g_assert_cmpuint(counts[0], ==, DRAWS);
    }
    g_assert_cmpuint(cases, ==, 14);
}

static void equal_logits_go_by_id(void)
{
    float logits[40];
    unsigned counts[40];
    for (int i = 0; i < 40; i++)
        logits[i] = i % 2 ? 3.0f : 3.0f - 1e-3f * (float)i;
    count_draws((struct psc_sampling){.temperature = 1.0f, .top_k = 5, .seed = 3}, logits, 40, 2000, counts);
    for (int i = 0; i < 40; i++) /* 0 1 3 5 7 are equal and lowest */
        g_assert_true((counts[i] > 0) == (i == 0 || i == 1 || i == 3 || i == 5 || i == 7));
}

/* The fewest that sum to P: with two of one half each, P = 0.5 is the first alone. At least P times as probable as the first:
 * with P = 1 those that are as probable stay, the first among them. */
static void a_cut_that_is_met_exactly_is_met(void)
{
    static const struct {
        struct psc_sampling o;
        float logits[4];
        bool comes[4];
    } rows[] = {
        {{.top_p = 0.5f}, {1, 1, -INFINITY, -INFINITY}, {true, false, false, false}},
        {{.top_p = 0.5f}, {2, 2, 2, 2}, {true, true, false, false}},
        {{.min_p = 1.0f}, {1, 2, 0, 1}, {false, true, false, false}},
        {{.min_p = 1.0f}, {3, 2, 3, 1}, {true, false, true, false}},
    };
    unsigned checks = 0;
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
        struct psc_sampling o = rows[r].o;
        unsigned counts[4];
        o.temperature = 1.0f;
        count_draws(o, rows[r].logits, 4, 300, counts);
        for (int i = 0; i < 4; i++, checks++)
            g_assert_true((counts[i] > 0) == rows[r].comes[i]);
    }
    g_assert_cmpuint(checks, ==, 16);
}

static void a_token_at_minus_infinity_never_comes(void)
{
    const float logits[] = {-INFINITY, 0.0f, -INFINITY, -5.0f, -80.0f, -3e38f};
    unsigned counts[6];
    const struct psc_sampling rows[] = {{.temperature = 1.0f},
                                        {.temperature = 100.0f, .top_k = 6},
                                        {.temperature = 1.0f, .top_p = 0.9999f},
                                        {.temperature = 1e-30f}};
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
        count_draws(rows[r], logits, 6, 3000, counts);
        g_assert_cmpuint(counts[0] + counts[2], ==, 0);
        g_assert_cmpuint(counts[5], ==, 0);
        g_assert_cmpuint(counts[1], >, 0);
        g_assert_cmpuint(counts[4], <=, r == 1 ? 3000 : 0);
    }
}

static void the_first_bad_logit_is_named(void)
{
    static const struct {
        float logits[4];
        const char *text;
    } rows[] = {
        {{0, NAN, 1, NAN}, "logit 1 of 4 is NaN; no token is chosen from such logits"},
        {{NAN, INFINITY, 1, NAN}, "logit 0 of 4 is NaN; no token is chosen from such logits"},
        {{0, 5, INFINITY, NAN}, "logit 2 of 4 is +infinity; no token is chosen from such logits"},
        {{-INFINITY, -INFINITY, -INFINITY, NAN}, "logit 3 of 4 is NaN; no token is chosen from such logits"},
        {{-INFINITY, -INFINITY, -INFINITY, -INFINITY}, "all 4 logits are -infinity; no token can come"},
    };
    unsigned cases = 0;
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++)
        for (int warm = 0; warm < 2; warm++, cases++) {
            struct psc_sampler *s = sampler_of((struct psc_sampling){.temperature = warm ? 1.0f : 0.0f}, 4);
            struct psc_error err = {0};
            struct psc_logit top[PSC_LOGITS_TOP_N] = {0};
            uint32_t token = 77, n = 78;
            g_assert_cmpint(psc_sampler_next(s, rows[r].logits, &token, &err), ==, PSC_ERR_RUN);
            g_assert_cmpstr(err.text, ==, rows[r].text);
            g_assert_cmpuint(token, ==, 77);
            g_assert_cmpint(psc_logits_top(rows[r].logits, 4, top, &n, &err), ==, PSC_ERR_RUN);
            g_assert_cmpstr(err.text, ==, rows[r].text);
            g_assert_cmpuint(n, ==, 78);
            psc_sampler_free(s);
        }
    g_assert_cmpuint(cases, ==, 10);
}

static void a_failed_call_draws_no_number(void)
{
    float logits[16], broken[16];
    for (int i = 0; i < 16; i++)
        logits[i] = broken[i] = (float)i * 0.1f;
    broken[9] = NAN;
    struct psc_sampler *a = sampler_of((struct psc_sampling){.temperature = 1.0f, .seed = 5}, 16);
    struct psc_sampler *b = sampler_of((struct psc_sampling){.temperature = 1.0f, .seed = 5}, 16);
    uint32_t token, differ = 0;
    for (int i = 0; i < 50; i++) {
        g_assert_cmpint(psc_sampler_next(b, broken, &token, NULL), ==, PSC_ERR_RUN);
        uint32_t one = next_of(a, logits);
        g_assert_cmpuint(next_of(b, logits), ==, one);
        differ += one != 15;
    }
    g_assert_cmpuint(differ, >, 10);
    psc_sampler_restart(a);
    psc_sampler_restart(b);
    g_assert_cmpuint(next_of(a, logits), ==, next_of(b, logits));
    psc_sampler_free(a);
    psc_sampler_free(b);
}

static void options_outside_their_range_are_refused(void)
{
    static const struct {
        struct psc_sampling o;
        const char *text;
    } rows[] = {
        {{.temperature = -1.0f}, "the temperature is -1; it must be 0 (greedy) or above"},
        {{.temperature = NAN}, "the temperature is nan; it must be 0 (greedy) or above"},
        {{.temperature = INFINITY}, "the temperature is inf; it must be 0 (greedy) or above"},
        {{.top_p = 1.5f}, "top-p is 1.5; it must be from 0 to 1"},
        {{.top_p = NAN}, "top-p is nan; it must be from 0 to 1"},
        {{.min_p = -0.5f}, "min-p is -0.5; it must be from 0 to 1"},
        {{.repeat_penalty = -2.0f}, "the repeat penalty is -2; it must be above 0 (1 switches it off)"},
        {{.repeat_window = PSC_REPEAT_WINDOW_MAX + 1},
         "the repeat window is 1048577 tokens; at most 1048576 fit"},
    };
    unsigned cases = 0;
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++, cases++) {
        struct psc_error err = {0};
        struct psc_sampler *s = NULL;
        g_assert_cmpint(psc_sampler_new(&rows[r].o, 4, &s, &err), ==, PSC_ERR_USAGE);
        g_assert_cmpstr(err.text, ==, rows[r].text);
        g_assert_null(s);
    }
    g_assert_cmpuint(cases, ==, 8);
}

static void equal_probabilities_go_by_id(void)
{
    /* 0.0 and -1e-30 have the same exponential; -800 and -750 are both 0 */
    const float logits[] = {-800.0f, -1e-30f, -750.0f, 0.0f, -760.0f, -790.0f, -780.0f};
    const int64_t ids[] = {1, 3, 0, 2, 4};
    struct psc_logit top[PSC_LOGITS_TOP_N];
    uint32_t n = 0;
    g_assert_cmpint(psc_logits_top(logits, 7, top, &n, NULL), ==, PSC_OK);
    g_assert_cmpuint(n, ==, 5);
    for (uint32_t k = 0; k < 5; k++) {
        g_assert_cmpint(top[k].id, ==, ids[k]);
        g_assert_true(top[k].p == (k < 2 ? 0.5 : 0.0));
    }
    const float level[] = {7.0f, 7.0f, 7.0f};
    g_assert_cmpint(psc_logits_top(level, 3, top, &n, NULL), ==, PSC_OK);
    g_assert_cmpuint(n, ==, 3);
    for (uint32_t k = 0; k < 3; k++) {
        g_assert_cmpint(top[k].id, ==, k);
        g_assert_true(top[k].p == (double)(1.0f / 3.0f)); /* rounded to f32 */
    }
}

/* Below the smallest normal number, and the whole in order against one by one. */
static void exponentials_reach_down_to_nothing(void)
{
    g_assert_true(psc_exp(-INFINITY) == 0.0);
    g_assert_true(psc_exp(-746.1) == 0.0);
    g_assert_true(psc_exp(-0.0) == 1.0);
    double last = psc_exp(-705.0);
    unsigned steps = 0;
    for (double x = -705.01; x > -745.0; x -= 0.01, steps++) {
        double y = psc_exp(x);
        g_assert_true(y <= last && y > 0.0);
        g_assert_cmpfloat(fabs(y - exp(x)), <=, exp(x) * 0x1p-51 + 0x1p-1074);
        last = y;
    }
    g_assert_cmpuint(steps, >, 3900);
}

static void a_sum_is_the_sum_one_by_one(void)
{
    guint64 seed = test_seed();
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    uint64_t random = seed;
    float logits[1000];
    for (unsigned round = 0; round < 200; round++) {
        uint32_t n = 1 + (uint32_t)(psc_random_next(&random) % 1000);
        double spread = round % 4 == 0 ? 2000.0 : 20.0, temperature = round % 3 == 0 ? 1.0 : 0.7;
        float highest = -INFINITY;
        for (uint32_t i = 0; i < n; i++) {
            logits[i] = (float)((double)(psc_random_next(&random) >> 11) * 0x1p-53 * spread);
            highest = logits[i] > highest ? logits[i] : highest;
        }
        double sum = 0.0;
        for (uint32_t i = 0; i < n; i++)
            sum += psc_exp(((double)logits[i] - (double)highest) / temperature);
        g_assert_true(psc_logits_weight(logits, n, highest, temperature) == sum);
    }
}

/* The five, one by one, as softmax.h says; blocks of low and of high logits, ties, and one that is no number anywhere. */
static void the_top_five_are_those_one_by_one(void)
{
    guint64 seed = test_seed();
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    uint64_t random = seed;
    float *logits = g_new(float, 1700);
    for (unsigned round = 0; round < 600; round++) {
        uint32_t n = round % 7 == 0 ? 256 * (1 + round % 6) : 1 + (uint32_t)(psc_random_next(&random) % 1700), found = 0;
        double spread = round % 4 == 0 ? 3000.0 : round % 4 == 1 ? 4.0 : 30.0;
        float highest = -INFINITY;
        for (uint32_t i = 0; i < n; i++) {
            double x = (double)(psc_random_next(&random) >> 11) * 0x1p-53 * spread;
            logits[i] = (float)(round % 4 == 1 ? floor(x) : x); /* ties: the lower id is first */
            if (round % 5 == 0 && psc_random_next(&random) % 3)
                logits[i] = -INFINITY;
            highest = logits[i] > highest ? logits[i] : highest;
        }
        if (!isfinite(highest))
            logits[n - 1] = highest = 0;
        struct psc_logit top[PSC_LOGITS_TOP_N], best[PSC_LOGITS_TOP_N];
        double sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += psc_exp((double)(logits[i] - highest));
        uint32_t want = 0;
        for (; want < PSC_LOGITS_TOP_N && want < n; want++) {
            best[want] = (struct psc_logit){.id = -1, .p = -1};
            for (uint32_t i = 0; i < n; i++) {
                double p = psc_exp((double)(logits[i] - highest)) / sum;
                bool taken = false;
                for (uint32_t k = 0; k < want; k++)
                    taken = taken || best[k].id == (int64_t)i;
                if (!taken && p > best[want].p)
                    best[want] = (struct psc_logit){.id = i, .p = p};
            }
        }
        g_assert_cmpint(psc_logits_top(logits, n, top, &found, NULL), ==, PSC_OK);
        g_assert_cmpuint(found, ==, want);
        for (uint32_t k = 0; k < found; k++) {
            g_assert_cmpint(top[k].id, ==, best[k].id);
            g_assert_true(top[k].p == (double)(float)best[k].p);
        }
        struct psc_error err = {0};
        uint32_t bad = (uint32_t)(psc_random_next(&random) % n);
        char *words = g_strdup_printf("logit %u of %u is %s", bad, n, round % 2 ? "NaN" : "+infinity");
        logits[bad] = round % 2 ? NAN : INFINITY;
        g_assert_cmpint(psc_logits_top(logits, n, top, &found, &err), ==, PSC_ERR_RUN);
        g_assert_true(g_str_has_prefix(err.text, words));
        g_free(words);
    }
    g_free(logits);
}

static void golden_logits(uint32_t n, uint64_t seed, float *ret)
{
    for (uint32_t i = 0; i < n; i++)
        ret[i] = (float)((double)(psc_random_next(&seed) >> 40) * 0x1p-24 * 12.0 - 6.0);
}

static void golden_top(char **word, unsigned word_n)
{
    uint32_t n = (uint32_t)g_ascii_strtoull(word[1], NULL, 10), found = 0;
    float *logits = g_new(float, n);
    struct psc_logit top[PSC_LOGITS_TOP_N];
    golden_logits(n, g_ascii_strtoull(word[2], NULL, 10), logits);
    g_assert_cmpint(psc_logits_top(logits, n, top, &found, NULL), ==, PSC_OK);
    g_assert_cmpuint(found, ==, n < 5 ? n : 5);
    g_assert_cmpuint(word_n, ==, 3 + 2 * found);
    for (uint32_t k = 0; k < found; k++) {
        g_assert_cmpint(top[k].id, ==, g_ascii_strtoll(word[3 + 2 * k], NULL, 10));
        g_assert_true(top[k].p == g_ascii_strtod(word[4 + 2 * k], NULL));
    }
    g_free(logits);
}

static void golden_sample(char **word, unsigned word_n)
{
    uint32_t n = (uint32_t)g_ascii_strtoull(word[1], NULL, 10);
    struct psc_sampling o = {.seed = g_ascii_strtoull(word[2], NULL, 10),
                             .temperature = (float)g_ascii_strtod(word[3], NULL),
                             .top_k = (uint32_t)g_ascii_strtoull(word[4], NULL, 10),
                             .top_p = (float)g_ascii_strtod(word[5], NULL),
                             .min_p = (float)g_ascii_strtod(word[6], NULL),
                             .repeat_penalty = (float)g_ascii_strtod(word[7], NULL),
                             .repeat_window = (uint32_t)g_ascii_strtoull(word[8], NULL, 10)};
    g_assert_cmpuint(word_n, ==, 9 + 40);
    float *logits = g_new(float, n);
    struct psc_sampler *s = sampler_of(o, n);
    for (unsigned j = 0; j < 40; j++) {
        golden_logits(n, o.seed + j, logits);
        uint32_t token = next_of(s, logits);
        g_assert_cmpuint(token, ==, g_ascii_strtoull(word[9 + j], NULL, 10));
        psc_sampler_accept(s, token);
    }
    psc_sampler_free(s);
    g_free(logits);
}

static void the_long_way_gives_the_same(void)
{
    char *path = test_source_path("tests/golden/sampler.txt"), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_strdelimit(text, ":", ' ');
    char **lines = g_strsplit(text, "\n", -1);
    unsigned exps = 0, tops = 0, samples = 0;
    for (char **line = lines; *line; line++) {
        GStrvBuilder *builder = g_strv_builder_new();
        char **parts = g_strsplit(*line, " ", -1);
        for (char **part = parts; *part; part++)
            if (**part)
                g_strv_builder_add(builder, *part);
        char **word = g_strv_builder_end(builder);
        unsigned n = g_strv_length(word);
        if (n == 3 && strcmp(word[0], "exp") == 0) {
            g_assert_true(psc_exp(g_ascii_strtod(word[1], NULL)) == g_ascii_strtod(word[2], NULL));
            exps++;
        } else if (n > 3 && strcmp(word[0], "top") == 0) {
            golden_top(word, n);
            tops++;
        } else if (n > 9 && strcmp(word[0], "sample") == 0) {
            golden_sample(word, n);
            samples++;
        }
        g_strfreev(word);
        g_strfreev(parts);
        g_strv_builder_unref(builder);
    }
    g_assert_cmpuint(exps, ==, 15);
    g_assert_cmpuint(tops, ==, 9);
    g_assert_cmpuint(samples, ==, 11);
    g_strfreev(lines);
    g_free(text);
    g_free(path);
}

static enum psc_status use_a_sampler(void *data)
{
    (void)data;
    struct psc_sampling o = {.temperature = 1.0f, .top_k = 2, .repeat_penalty = 1.1f, .repeat_window = 4};
    struct psc_sampler *s = NULL;
    uint32_t token = 0;
    enum psc_status status = psc_sampler_new(&o, 4, &s, NULL);
    for (int i = 0; i < 3 && status == PSC_OK; i++) {
        status = psc_sampler_next(s, four, &token, NULL);
        psc_sampler_accept(s, token);
    }
    psc_sampler_free(s);
    return status;
}

static void every_allocation_may_fail(void)
{
    g_assert_cmpuint(test_oom_loop(use_a_sampler, NULL), ==, 5);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/run/sampler/zeroed-options-are-greedy", zeroed_options_are_greedy);
    g_test_add_func("/core/run/sampler/the-penalty-falls-on-what-was-said",
                    the_penalty_falls_on_what_was_said);
    g_test_add_func("/core/run/sampler/all-tokens-come-as-often-as-they-should",
                    all_tokens_come_as_often_as_they_should);
    g_test_add_func("/core/run/sampler/stages-cut-what-they-say", stages_cut_what_they_say);
    g_test_add_func("/core/run/sampler/equal-logits-go-by-id", equal_logits_go_by_id);
    g_test_add_func("/core/run/sampler/a-cut-that-is-met-exactly-is-met", a_cut_that_is_met_exactly_is_met);
    g_test_add_func("/core/run/sampler/a-token-at-minus-infinity-never-comes",
                    a_token_at_minus_infinity_never_comes);
    g_test_add_func("/core/run/sampler/the-first-bad-logit-is-named", the_first_bad_logit_is_named);
    g_test_add_func("/core/run/sampler/a-failed-call-draws-no-number", a_failed_call_draws_no_number);
    g_test_add_func("/core/run/sampler/options-outside-their-range-are-refused",
                    options_outside_their_range_are_refused);
    g_test_add_func("/core/run/softmax/equal-probabilities-go-by-id", equal_probabilities_go_by_id);
    g_test_add_func("/core/run/softmax/exponentials-reach-down-to-nothing",
                    exponentials_reach_down_to_nothing);
    g_test_add_func("/core/run/softmax/a-sum-is-the-sum-one-by-one", a_sum_is_the_sum_one_by_one);
    g_test_add_func("/core/run/softmax/the-top-five-are-those-one-by-one", the_top_five_are_those_one_by_one);
    g_test_add_func("/core/run/sampler/the-long-way-gives-the-same", the_long_way_gives_the_same);
    g_test_add_func("/core/run/sampler/oom", every_allocation_may_fail);
    return g_test_run();
}
