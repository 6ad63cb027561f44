/* Checks and indexes stories of 1,000,000 live ranges: `meson test --benchmark check -v`.
 *
 *   pool    64 buffers of one size each, every range a whole buffer
 *   arena   one address space, ranges of 1 to 4096 bytes at any offset, about 1,000 alive at once
 *   crowd   the same with about 300,000 alive at once
 */
#include "core/base/hash.h"
#include "core/debug/check.h"
#include "core/debug/history.h"

#include <glib.h>
#include <stdio.h>
#include <time.h>

#define RANGES 1000000u
#define LOOKUPS 200000u

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(psc_random_next(seed) % n);
}

static void put(struct psc_story_builder *b, enum psc_event_kind kind, uint32_t position, uint32_t value,
                const struct psc_event *place, uint16_t operand)
{
    struct psc_event e = psc_event_blank(kind, (int32_t)position);
    e.value = value;
    e.buffer = place->buffer;
    e.lo = place->lo;
    e.hi = place->hi;
    e.node = position;
    e.operand = operand;
    psc_story_add_event(b, &e);
}

/* Range i lives for `life` positions; its bytes are taken from a ring that is long enough. */
static struct psc_story *make(struct psc_arena *arena, uint32_t life, bool pool)
{
    struct psc_story_builder *b = psc_story_builder_new();
    struct psc_event *places = g_new0(struct psc_event, RANGES);
    uint64_t seed = 7, at = 0, ring = pool ? 0 : (uint64_t)life * 4096 + 8192;
    struct psc_story *story = NULL;
    struct psc_error err = {0};

    psc_story_add_backend(b, "cpu");
    psc_story_add_lane(b, "cpu", 0);
    for (uint32_t i = 0; i < (pool ? life + 2 : 1); i++) {
        struct psc_buffer buffer = {.id = i, .bytes = pool ? 4096 : ring, .base = 4096ull * i};
        psc_story_add_buffer(b, &buffer);
    }
    for (uint32_t i = 0; i < RANGES; i++) {
        struct psc_value v = {.kind = PSC_VALUE_NODE, .layer = -1, .node = i, .of = PSC_NONE};
        uint64_t size = pool ? 4096 : 1 + pick(&seed, 4096);
        if (!pool && at + size > ring)
            at = 0;
        places[i].buffer = pool ? i % (life + 2) : 0;
        places[i].lo = pool ? 0 : at;
        places[i].hi = places[i].lo + size;
        at += size;
        v.bytes = size;
        psc_story_add_value(b, &v);
        put(b, PSC_EV_ALLOC, i, i, &places[i], 0);
        for (uint16_t k = 0; k < 2 && i; k++) {
            uint32_t back = 1 + pick(&seed, i < life ? i : life);
            put(b, PSC_EV_READ, i, i - back, &places[i - back], k);
        }
        put(b, PSC_EV_WRITE, i, i, &places[i], 0);
        if (i >= life)
            put(b, PSC_EV_RELEASE, i, i - life, &places[i - life], 0);
    }
    psc_story_set_order(b, RANGES, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
    if (psc_story_builder_finish(b, arena, &story, &err))
        g_error("%s", err.text);
    psc_story_builder_free(b);
    g_free(places);
    return story;
}

/* Processor time of this program: other programs on the machine do not count. */
static double since(clock_t *start)
{
    clock_t now = clock(), was = *start;

    *start = clock();
    return (double)(now - was) / CLOCKS_PER_SEC;
}

typedef uint32_t (*lookup_fn)(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position);

/* Random windows; prints the mean and the slowest hundred in a row. */
static void time_lookups(const struct psc_history *h, const char *name, lookup_fn ask, uint64_t window)
{
    uint64_t seed = 11, found = 0;
    double total = 0, worst = 0;

    for (uint32_t i = 0; i < LOOKUPS / 100; i++) {
        clock_t start = clock();
        for (unsigned k = 0; k < 100; k++) {
            uint32_t buffer = pick(&seed, h->story->buffer_n);
            uint64_t lo = psc_random_next(&seed) % h->story->buffers[buffer].bytes;
            found += ask(h, buffer, lo, lo + window, (int32_t)pick(&seed, RANGES)) != PSC_NONE;
        }
        double seconds = since(&start);
        total += seconds;
        worst = MAX(worst, seconds);
    }
    printf("  %-24s %7.2f us mean, %7.2f us in the slowest hundred, %u %% found\n", name, total * 1e6 / LOOKUPS,
           worst * 1e4, (unsigned)(found * 100 / LOOKUPS));
}

static uint32_t tenant(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position)
{
    (void)hi;
    return psc_history_tenant(h, buffer, lo, position);
}

static uint32_t alive(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position)
{
    uint32_t few[64];

    (void)buffer, (void)lo, (void)hi;
    return psc_history_live_at(h, position, few, 64) ? 0 : PSC_NONE;
}

static void bench(const char *name, uint32_t life, bool pool)
{
    struct psc_arena arena = {0}, room = {0};
    struct psc_story *story = make(&arena, life, pool);
    struct psc_check check;
    struct psc_history *h = NULL;
    struct psc_error err = {0};
    clock_t start = clock();

    printf("%s: %u ranges, %u events\n", name, RANGES, story->event_n);
    if (psc_check_story(&room, NULL, story, &check, &err))
        g_error("%s", err.text);
    double seconds = since(&start);
    printf("  %-24s %7.3f s, %.0f ns a range, %u findings, %" G_GUINT64_FORMAT " reads\n", "full clobber sweep", seconds,
           seconds * 1e9 / RANGES, check.finding_n, check.read_n);
    g_assert_cmpuint(check.finding_n, ==, 0);
    uint64_t before = room.total;
    start = clock();
    if (psc_history_build(&room, story, &h, &err))
        g_error("%s", err.text);
    printf("  %-24s %7.3f s, %.0f bytes a range\n", "history", since(&start), (double)(room.total - before) / RANGES);
    time_lookups(h, "last writer", psc_history_last_writer, pool ? 4096 : 64);
    time_lookups(h, "next writer", psc_history_next_writer, pool ? 4096 : 64);
    time_lookups(h, "next reader", psc_history_next_reader, pool ? 4096 : 64);
    time_lookups(h, "tenant", tenant, 1);
    if (life < 2000)
        time_lookups(h, "alive at a position", alive, 1);
    psc_arena_release(&arena);
    psc_arena_release(&room);
}

int main(void)
{
    bench("pool", 62, true);
    bench("arena", 1000, false);
    bench("crowd", 300000, false);
    return 0;
}
