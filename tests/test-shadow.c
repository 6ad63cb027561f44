/* The ranges that writes leave behind, against an array of bytes. */
#include "core/debug/shadow.h"

#include "core/base/hash.h"
#include "tests/util.h"

#include <string.h>

enum { WRITES = 30000, BUFFERS = 6, TREES = 3, BYTES = 60000 };

struct bench {
    struct psc_arena arena;
    struct psc_event events[WRITES];
    struct psc_story story;
    struct psc_shadow shadow;
    uint32_t bytes[BUFFERS][BYTES]; /* who wrote each, PSC_NONE */
    bool overwritten[WRITES];
};

static uint64_t pick(uint64_t *seed, uint64_t n)
{
    return psc_random_next(seed) % n;
}

/* Short writes and longer ones, whole buffers now and then, some without bytes, so that nodes fill and empty. Buffers
 * that are no trees get the same bytes again and again. */
static void make_write(struct psc_event *e, uint64_t life, uint64_t *seed)
{
    uint64_t most = pick(seed, 1500) == 0 ? BYTES : pick(seed, 30) == 0 ? 1 + 150 * life : 1 + life;
    *e = psc_event_blank(PSC_EV_WRITE, 0);
    e->buffer = (uint32_t)pick(seed, 8) ? 0 : (uint32_t)pick(seed, BUFFERS);
    e->lo = e->buffer < TREES ? pick(seed, BYTES) : 16;
    e->hi = e->buffer < TREES ? e->lo + pick(seed, most) : 48;
    e->hi = MIN(e->hi, BYTES);
}

static void apply(struct bench *b, uint32_t event)
{
    const struct psc_event *e = &b->events[event];
    for (uint64_t k = e->lo; k < e->hi; k++) {
        if (b->bytes[e->buffer][k] != PSC_NONE)
            b->overwritten[b->bytes[e->buffer][k]] = true;
        b->bytes[e->buffer][k] = event;
    }
    g_assert_true(psc_shadow_apply(&b->shadow, event));
}

/* Every byte of the window, and maximal runs. */
static unsigned assert_window(const struct bench *b, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    struct psc_shadow_run run = psc_shadow_first(&b->shadow, buffer, lo, hi);
    uint64_t at = lo;
    unsigned n = 0;
    do {
        g_assert_cmpuint(run.lo, ==, at);
        g_assert_cmpuint(run.hi, >, run.lo);
        g_assert_cmpuint(run.hi, <=, hi);
        for (; at < run.hi; at++)
            g_assert_cmpuint(b->bytes[buffer][at], ==, run.event);
        g_assert_true(at == hi || b->bytes[buffer][at] != run.event || run.event != PSC_NONE);
        n++;
    } while (psc_shadow_next(&b->shadow, buffer, hi, &run));
    g_assert_cmpuint(at, ==, hi);
    return n;
}

static void test_random(void)
{
    uint64_t seed = test_seed();
    unsigned most = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 12; round++) {
        struct bench *b = g_new0(struct bench, 1);
        uint64_t state = seed + round, life = (uint64_t[]){3, 12, 60, 400}[round % 4];
        for (uint32_t i = 0; i < WRITES; i++)
            make_write(&b->events[i], life, &state);
        b->story = (struct psc_story){.events = b->events, .event_n = WRITES, .buffer_n = BUFFERS};
        memset(b->bytes, 0xff, sizeof b->bytes);
        g_assert_cmpint(psc_shadow_init(&b->shadow, &b->arena, &b->story, NULL), ==, PSC_OK);
        for (uint32_t i = 0; i < WRITES; i++) {
            uint64_t lo = pick(&state, BYTES - 1);
            apply(b, i);
            assert_window(b, (uint32_t)pick(&state, BUFFERS), lo, lo + 1 + pick(&state, MIN(BYTES - lo, 300)));
            g_assert_cmpint(psc_shadow_intact(&b->shadow, i), ==, !b->overwritten[i]);
            uint32_t old = (uint32_t)pick(&state, i + 1);
            g_assert_cmpint(psc_shadow_intact(&b->shadow, old), ==, !b->overwritten[old]);
        }
        for (uint32_t buffer = 0; buffer < BUFFERS; buffer++)
            most = MAX(most, assert_window(b, buffer, 0, BYTES));
        psc_arena_release(&b->arena);
        g_free(b);
    }
    g_assert_cmpuint(most, >, 1100); /* three levels of nodes */
}

static enum psc_status replay(void *data)
{
    struct psc_arena arena = {0};
    struct psc_shadow shadow;
    struct psc_story *story = data;
    enum psc_status status = psc_shadow_init(&shadow, &arena, story, NULL);
    for (uint32_t i = 0; !status && i < story->event_n; i++)
        status = psc_shadow_apply(&shadow, i) ? PSC_OK : PSC_ERR_NOMEM;
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_event *events = g_new0(struct psc_event, WRITES);
    uint64_t state = test_seed();
    struct psc_story story = {.events = events, .event_n = 4000, .buffer_n = BUFFERS};
    for (uint32_t i = 0; i < WRITES; i++)
        make_write(&events[i], 3, &state);
    g_assert_cmpuint(test_oom_loop(replay, &story), >, 3);
    g_free(events);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/debug/shadow/behaves-as-an-array-of-bytes", test_random);
    g_test_add_func("/core/debug/shadow/oom", test_oom);
    return g_test_run();
}
