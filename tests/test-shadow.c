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
    uint64_t base;                  /* where all buffers begin */
    uint32_t bytes[BUFFERS][BYTES]; /* who wrote each, PSC_NONE */
    uint32_t last[BUFFERS];
    bool overwritten[WRITES];
};

static uint64_t pick(uint64_t *seed, uint64_t n)
{
    return psc_random_next(seed) % n;
}

/* Short writes and longer ones, whole buffers now and then, some without bytes, so that pieces come and go. Half of them begin
 * or end where an earlier one does, or are the same. Buffers that are no trees get the same bytes again and again. */
static void make_write(struct psc_event *events, uint32_t i, uint64_t life, uint64_t base, uint64_t *seed)
{
    struct psc_event *e = &events[i];
    const struct psc_event *old = i ? &events[i - 1 - pick(seed, MIN(i, 500))] : NULL;
    uint64_t most = pick(seed, 1500) == 0 ? BYTES : pick(seed, 30) == 0 ? 1 + 150 * life : 1 + life;
    *e = psc_event_blank(PSC_EV_WRITE, 0);
    e->buffer = (uint32_t)pick(seed, 8) ? 0 : (uint32_t)pick(seed, BUFFERS);
    uint64_t lo = e->buffer < TREES ? pick(seed, BYTES) : 16, bytes = e->buffer < TREES ? pick(seed, most) : 32, hi = lo + bytes;
    if (old && old->buffer == e->buffer && pick(seed, 2)) {
        uint64_t from = old->lo - base, to = old->hi - base;
        switch (pick(seed, 4)) {
        case 0: lo = from, hi = to; break;
        case 1: lo = from, hi = lo + bytes; break;
        case 2: lo = to, hi = lo + bytes; break;
        default: lo = from - MIN(from, bytes), hi = from;
        }
    }
    e->lo = base + lo;
    e->hi = base + MIN(hi, BYTES);
}

static void apply(struct bench *b, uint32_t event)
{
    const struct psc_event *e = &b->events[event];
    for (uint64_t k = e->lo - b->base; k < e->hi - b->base; k++) {
        if (b->bytes[e->buffer][k] != PSC_NONE)
            b->overwritten[b->bytes[e->buffer][k]] = true;
        b->bytes[e->buffer][k] = b->last[e->buffer] = event;
    }
    g_assert_true(psc_shadow_apply(&b->shadow, e, event));
    g_assert_true(b->last[e->buffer] == PSC_NONE || psc_shadow_is_last(&b->shadow, e->buffer, b->last[e->buffer]));
}

/* Every byte of the window, and maximal runs. */
static unsigned assert_window(struct bench *b, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    g_assert_true(psc_shadow_settle(&b->shadow, buffer));
    struct psc_shadow_run run = psc_shadow_first(&b->shadow, buffer, b->base + lo, b->base + hi);
    uint64_t at = lo;
    unsigned n = 0;
    do {
        g_assert_cmpuint(run.lo - b->base, ==, at);
        g_assert_cmpuint(run.hi, >, run.lo);
        g_assert_cmpuint(run.hi - b->base, <=, hi);
        for (; at < run.hi - b->base; at++)
            g_assert_cmpuint(b->bytes[buffer][at], ==, run.event);
        g_assert_true(at == hi || b->bytes[buffer][at] != run.event);
        n++;
    } while (psc_shadow_next(&b->shadow, buffer, b->base + hi, &run));
    g_assert_cmpuint(at, ==, hi);
    return n;
}

static void assert_intact(struct bench *b, uint32_t event)
{
    g_assert_true(psc_shadow_settle(&b->shadow, b->events[event].buffer));
    g_assert_cmpint(psc_shadow_intact(&b->shadow, event), ==, !b->overwritten[event]);
}

/* Every second round close below the largest address, every third with writes that wait long. */
static void test_random(void)
{
    uint64_t seed = test_seed();
    unsigned most = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 12; round++) {
        struct bench *b = g_new0(struct bench, 1);
        uint64_t state = seed + round, life = (uint64_t[]){3, 12, 60, 400}[round / 2 % 4], patience = round % 3 ? 1 : 40;
        b->base = round % 2 ? UINT64_MAX - BYTES : 0;
        for (uint32_t i = 0; i < WRITES; i++)
            make_write(b->events, i, life, b->base, &state);
        b->story = (struct psc_story){.events = b->events, .event_n = WRITES, .buffer_n = BUFFERS};
        memset(b->bytes, 0xff, sizeof b->bytes);
        memset(b->last, 0xff, sizeof b->last);
        g_assert_cmpint(psc_shadow_init(&b->shadow, &b->arena, &b->story, NULL), ==, PSC_OK);
        for (uint32_t i = 0; i < WRITES; i++) {
            uint64_t lo = pick(&state, BYTES - 1);
            apply(b, i);
            if (pick(&state, patience))
                continue;
            assert_window(b, (uint32_t)pick(&state, BUFFERS), lo, lo + 1 + pick(&state, MIN(BYTES - lo, 300)));
            assert_intact(b, i);
            assert_intact(b, (uint32_t)pick(&state, i + 1));
        }
        for (uint32_t buffer = 0; buffer < BUFFERS; buffer++)
            most = MAX(most, assert_window(b, buffer, 0, BYTES));
        psc_arena_release(&b->arena);
        g_free(b);
    }
    g_assert_cmpuint(most, >, 1100); /* two levels of anchors, more pieces than there are hints for at first */
}

/* One byte in two is written, with the last address first: each piece is searched for, none is hinted at. */
static void test_backwards(void)
{
    struct psc_arena arena = {0};
    struct psc_shadow shadow;
    struct psc_event *events = g_new0(struct psc_event, WRITES);
    struct psc_story story = {.events = events, .event_n = WRITES, .buffer_n = 1};
    for (uint32_t i = 0; i < WRITES; i++) {
        events[i] = psc_event_blank(PSC_EV_WRITE, 0);
        events[i].buffer = 0;
        events[i].lo = 2 * (WRITES - i);
        events[i].hi = events[i].lo + 1;
    }
    g_assert_cmpint(psc_shadow_init(&shadow, &arena, &story, NULL), ==, PSC_OK);
    for (uint32_t i = 0; i < WRITES; i++)
        g_assert_true(psc_shadow_apply(&shadow, &events[i], i) && psc_shadow_settle(&shadow, 0));
    struct psc_shadow_run run = psc_shadow_first(&shadow, 0, 0, 2 * WRITES + 1);
    g_assert_cmpuint(run.event, ==, PSC_NONE);
    for (uint32_t i = WRITES; i-- > 0;) {
        g_assert_true(psc_shadow_next(&shadow, 0, 2 * WRITES + 1, &run));
        g_assert_cmpuint(run.event, ==, i);
        g_assert_cmpint(psc_shadow_next(&shadow, 0, 2 * WRITES + 1, &run), ==, i > 0);
        g_assert_true(psc_shadow_intact(&shadow, i));
    }
    psc_arena_release(&arena);
    g_free(events);
}

static enum psc_status replay(void *data)
{
    struct psc_arena arena = {0};
    struct psc_shadow shadow;
    struct psc_story *story = data;
    enum psc_status status = psc_shadow_init(&shadow, &arena, story, NULL);
    for (uint32_t i = 0; !status && i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (!psc_shadow_apply(&shadow, e, i) || (i % 3 == 0 && !psc_shadow_settle(&shadow, e->buffer)))
            status = PSC_ERR_NOMEM;
    }
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_event *events = g_new0(struct psc_event, WRITES);
    uint64_t state = test_seed();
    struct psc_story story = {.events = events, .event_n = 4000, .buffer_n = BUFFERS};
    for (uint32_t i = 0; i < WRITES; i++)
        make_write(events, i, 3, 0, &state);
    g_assert_cmpuint(test_oom_loop(replay, &story), >, 3);
    g_free(events);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/debug/shadow/behaves-as-an-array-of-bytes", test_random);
    g_test_add_func("/core/debug/shadow/many-pieces-from-the-end", test_backwards);
    g_test_add_func("/core/debug/shadow/oom", test_oom);
    return g_test_run();
}
