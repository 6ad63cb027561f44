#include "core/run/sampler.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* Tokens are put in order in batches, as far as they are asked for: those that lie at most this far below the highest
 * logit, then the next, then all others. Few logits are near the highest, as a rule. */
static const float batch_depth[] = {4.0f, 16.0f, INFINITY};
#define BATCHES 3u

struct psc_sampler {
    struct psc_sampling options;
    uint32_t n;
    uint64_t random;
    uint32_t *window; /* a ring of options.repeat_window tokens, NULL when there is no penalty */
    uint32_t window_n, window_at;
    float *changed; /* n: the logits after the penalty */
    /* of one call */
    const float *logits;
    float highest;
    uint32_t batch; /* the next one */
    uint32_t *heap; /* n: tokens of the last one that are not taken yet, the highest logit at the root */
    uint32_t heap_n;
    uint32_t *taken; /* n: tokens from the highest down */
    uint32_t taken_n;
};

struct psc_sampling psc_sampling_default(void)
{
    return (struct psc_sampling){.top_p = 1.0f, .repeat_penalty = 1.0f, .repeat_window = PSC_REPEAT_WINDOW};
}

enum psc_status psc_sampling_check(const struct psc_sampling *o, struct psc_error *reterr)
{
    if (!(o->temperature >= 0.0f && o->temperature <= FLT_MAX))
        return psc_fail(reterr, PSC_ERR_USAGE, "the temperature is %g; it must be 0 (greedy) or above",
                        (double)o->temperature);
    if (!(o->top_p >= 0.0f && o->top_p <= 1.0f))
        return psc_fail(reterr, PSC_ERR_USAGE, "top-p is %g; it must be from 0 to 1", (double)o->top_p);
    if (!(o->min_p >= 0.0f && o->min_p <= 1.0f))
        return psc_fail(reterr, PSC_ERR_USAGE, "min-p is %g; it must be from 0 to 1", (double)o->min_p);
    if (!(o->repeat_penalty >= 0.0f && o->repeat_penalty <= FLT_MAX))
        return psc_fail(reterr, PSC_ERR_USAGE,
                        "the repeat penalty is %g; it must be above 0 (1 switches it off)",
                        (double)o->repeat_penalty);
    if (o->repeat_window > PSC_REPEAT_WINDOW_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "the repeat window is %u tokens; at most %u fit",
                        o->repeat_window, PSC_REPEAT_WINDOW_MAX);
    return PSC_OK;
}

static bool has_penalty(const struct psc_sampling *o)
{
    return o->repeat_penalty != 0.0f && o->repeat_penalty != 1.0f && o->repeat_window > 0;
}

enum psc_status psc_sampler_new(const struct psc_sampling *sampling, uint32_t n, struct psc_sampler **ret,
                                struct psc_error *reterr)
{
    assert(n > 0);
    enum psc_status status = psc_sampling_check(sampling, reterr);
    if (status != PSC_OK)
        return status;
    struct psc_sampler *s = psc_alloc0(1, sizeof *s);
    if (!s)
        return psc_fail_nomem(reterr);
    s->options = *sampling;
    if (s->options.top_p == 0.0f)
        s->options.top_p = 1.0f;
    s->n = n;
    bool fine = true;
    if (has_penalty(sampling)) {
        s->window = psc_alloc0(sampling->repeat_window, sizeof *s->window);
        s->changed = psc_alloc0(n, sizeof *s->changed);
        fine = s->window && s->changed;
    }
    if (fine && sampling->temperature > 0.0f) {
        s->heap = psc_alloc0(n, sizeof *s->heap);
        s->taken = psc_alloc0(n, sizeof *s->taken);
        fine = s->heap && s->taken;
    }
    if (!fine) {
        psc_sampler_free(s);
        return psc_fail_nomem(reterr);
    }
    psc_sampler_restart(s);
    *ret = s;
    return PSC_OK;
}

void psc_sampler_free(struct psc_sampler *s)
{
    if (!s)
        return;
    psc_free(s->window);
    psc_free(s->changed);
    psc_free(s->heap);
    psc_free(s->taken);
    psc_free(s);
}

void psc_sampler_restart(struct psc_sampler *s)
{
    s->random = s->options.seed;
    s->window_n = s->window_at = 0;
}

void psc_sampler_accept(struct psc_sampler *s, uint32_t token)
{
    assert(token < s->n);
    if (!s->window)
        return;
    s->window[s->window_at] = token;
    s->window_at = (s->window_at + 1) % s->options.repeat_window;
    if (s->window_n < s->options.repeat_window)
        s->window_n++;
}

/* Each token of the window once: the new logit is made of the old one, however often the token stands there. */
static void penalise(struct psc_sampler *s, const float *logits)
{
    float penalty = s->options.repeat_penalty;
    memcpy(s->changed, logits, s->n * sizeof *logits);
    for (uint32_t k = 0; k < s->window_n; k++) {
        float old = logits[s->window[k]];
        s->changed[s->window[k]] = old > 0.0f ? old / penalty : old * penalty;
    }
}

/* Is token a before token b, from the highest logit down? */
static bool before(const struct psc_sampler *s, uint32_t a, uint32_t b)
{
    float x = s->logits[a], y = s->logits[b];
    return x > y || (x == y && a < b);
}

static void sift_down(struct psc_sampler *s, uint32_t i)
{
    uint32_t token = s->heap[i];
    for (uint32_t child; i < s->heap_n / 2; i = child) {
        child = 2 * i + 1;
        if (child + 1 < s->heap_n && before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s, s->heap[child], token))
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = token;
}

/* The heap of the next batch: the tokens above its depth that no batch before had. */
static void gather(struct psc_sampler *s)
{
    float above = s->batch ? s->highest - batch_depth[s->batch - 1] : INFINITY;
    float from = s->highest - batch_depth[s->batch];
    s->batch++;
    s->heap_n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->logits[i] >= from && s->logits[i] < above && s->logits[i] != -INFINITY)
            s->heap[s->heap_n++] = i;
    for (uint32_t i = s->heap_n / 2; i-- > 0;)
        sift_down(s, i);
}

/* Moves the next token from the highest down to the end of `taken`; false when there is none. */
static bool take(struct psc_sampler *s)
{
    while (s->heap_n == 0 && s->batch < BATCHES)
        gather(s);
    if (s->heap_n == 0)
        return false;
    s->taken[s->taken_n++] = s->heap[0];
    s->heap[0] = s->heap[--s->heap_n];
    if (s->heap_n)
        sift_down(s, 0);
    return true;
}

/* How probable a token is, in terms of the highest, at a temperature. */
static double weight(const struct psc_sampler *s, uint32_t token, double temperature)
{
    return psc_exp(((double)s->logits[token] - (double)s->highest) / temperature);
}

static bool cuts(const struct psc_sampling *o)
{
    return o->top_k > 0 || o->top_p < 1.0f || o->min_p > 0.0f;
}

/* Stages 3 to 5: `taken` becomes what is left. */
static void cut(struct psc_sampler *s)
{
    const struct psc_sampling *o = &s->options;
    uint32_t left = UINT32_MAX;
    if (o->top_k) {
        while (s->taken_n < o->top_k && take(s))
            ;
        left = s->taken_n;
    }
    if (o->top_p < 1.0f) {
        double all = 0.0, sum = 0.0;
        for (uint32_t k = 0; o->top_k && k < left; k++)
            all += weight(s, s->taken[k], 1.0);
        double enough =
            (double)o->top_p * (o->top_k ? all : psc_logits_weight(s->logits, s->n, s->highest, 1.0));
        uint32_t k = 0;
        while (k < left && sum < enough && (k < s->taken_n || take(s)))
            sum += weight(s, s->taken[k++], 1.0);
        left = k;
    }
    uint32_t k = 0;
    while (k < left && (k < s->taken_n || take(s)) && weight(s, s->taken[k], 1.0) >= (double)o->min_p)
        k++;
    s->taken_n = k;
}

/* Stage 6, among `taken` */
static uint32_t draw(const struct psc_sampler *s, double share)
{
    double temperature = (double)s->options.temperature, all = 0.0, sum = 0.0;
    for (uint32_t k = 0; k < s->taken_n; k++)
        all += weight(s, s->taken[k], temperature);
    uint32_t last = s->taken[0];
    for (uint32_t k = 0; k < s->taken_n; k++) {
        double w = weight(s, s->taken[k], temperature);
        sum += w;
        if (w > 0.0)
            last = s->taken[k];
        if (sum > share * all)
            break;
    }
    return last;
}

static uint32_t pick(struct psc_sampler *s)
{
    bool some = cuts(&s->options);
    s->heap_n = s->taken_n = s->batch = 0;
    if (some)
        cut(s);
    double share = (double)(psc_random_next(&s->random) >> 11) * 0x1p-53; /* 0 to below 1 */
    return some ? draw(s, share)
                : psc_logits_draw(s->logits, s->n, s->highest, (double)s->options.temperature, share);
}

enum psc_status psc_sampler_next(struct psc_sampler *s, const float *logits, uint32_t *ret_token,
                                 struct psc_error *reterr)
{
    enum psc_status status = psc_logits_highest(logits, s->n, &s->highest, reterr);
    s->logits = logits;
    if (status == PSC_OK && s->window_n) {
        penalise(s, logits);
        s->logits = s->changed;
        status = psc_logits_highest(s->changed, s->n, &s->highest, reterr);
    }
    if (status != PSC_OK)
        return status;
    if (s->options.temperature > 0.0f) {
        *ret_token = pick(s);
        return PSC_OK;
    }
    uint32_t i = 0;
    while (s->logits[i] != s->highest)
        i++;
    *ret_token = i;
    return PSC_OK;
}
