/* Looks at arenas out of their story: the same as the arenas themselves said, event by event. */
#include "core/debug/arena-story.h"
#include "core/debug/arena-track.h"
#include "core/plan/arena-handle.h"
#include "tests/util.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 300

/* What an arena said of itself after a step. */
struct seen {
    struct psc_depot_figures figures;
    struct psc_depot_slot *slots;
    uint32_t *evictions;
};

struct world {
    struct psc_arena_story story;
    struct psc_depot *store[2];
    struct seen seen[STEPS][2];
    uint32_t events[STEPS]; /* told so far */
    struct psc_block_handle plain[64];
    struct psc_lease leases[64];
    uint32_t plain_n, lease_n;
};

static void see(struct world *w, uint32_t step)
{
    for (unsigned a = 0; a < 2; a++) {
        struct seen *s = &w->seen[step][a];
        const struct psc_depot_slot *slots = psc_depot_slots(w->store[a]);
        s->figures = psc_depot_figures(w->store[a]);
        s->slots = g_memdup2(slots, s->figures.slot_n * sizeof *slots);
        s->evictions = g_new0(uint32_t, s->figures.slot_n + 1);
        uint32_t n = 0;
        for (uint32_t i = psc_depot_oldest(w->store[a]); i != PSC_NONE; i = slots[i].next)
            s->evictions[n++] = i;
    }
    w->events[step] = w->story.event_n;
}

static void act(struct world *w, GRand *rand)
{
    unsigned a = g_rand_int_range(rand, 0, 2);
    static const uint64_t sizes[] = {0, 1, 64, 100, 128, 1000, 4096};
    uint32_t pick;
    switch (g_rand_int_range(rand, 0, 8)) {
    case 0: case 1: case 2:
        if (w->plain_n == 64)
            break;
        w->story.value = psc_arena_story_value(&w->story, PSC_VALUE_NODE, "v", a, 8, PSC_NONE, 0);
        if (!psc_block_handle_alloc(w->store[a], sizes[g_rand_int_range(rand, 0, G_N_ELEMENTS(sizes))],
                                    g_rand_boolean(rand) ? PSC_OWNER_TENSOR : PSC_OWNER_BINDING, &w->plain[w->plain_n], NULL))
            w->plain_n++;
        break;
    case 3: case 4:
        if (!w->plain_n)
            break;
        pick = g_rand_int_range(rand, 0, w->plain_n);
        g_assert_cmpint(psc_block_handle_reset(&w->plain[pick], NULL), ==, PSC_OK);
        psc_block_handle_move(&w->plain[pick], &w->plain[--w->plain_n]);
        break;
    case 5:
        pick = w->plain_n ? g_rand_int_range(rand, 0, w->plain_n) : 0;
        if (w->lease_n == 64 || !w->plain_n || w->plain[pick].store != w->store[1])
            break;
        w->story.value = psc_arena_story_value(&w->story, PSC_VALUE_NODE, "lent", 1, 8, PSC_NONE, 0);
        g_assert_cmpint(psc_block_handle_retain(&w->plain[pick], &w->leases[w->lease_n++], NULL), ==, PSC_OK);
        break;
    case 6:
        if (!w->lease_n)
            break;
        pick = g_rand_int_range(rand, 0, w->lease_n);
        psc_lease_reset(&w->leases[pick]);
        psc_lease_move(&w->leases[pick], &w->leases[--w->lease_n]);
        break;
    default:
        if (g_rand_int_range(rand, 0, 6) == 0)
            psc_depot_trim(w->store[a]);
        else
            psc_arena_story_lamps(&w->story, (unsigned)g_rand_int_range(rand, 0, 3) << 2, "made up");
    }
}

static const struct psc_depot_slot *to_sort;
static int by_size(const void *a, const void *b)
{
    const struct psc_depot_slot *x = &to_sort[*(const uint32_t *)a], *y = &to_sort[*(const uint32_t *)b];
    if (x->capacity != y->capacity)
        return x->capacity < y->capacity ? -1 : 1;
    return x->freed > y->freed ? -1 : 1;
}

static void compare(const struct psc_arena_home_look *home, const struct seen *s)
{
    uint32_t *sizes = g_memdup2(s->evictions, (s->figures.free_n + 1) * sizeof *sizes);
    g_assert_cmpuint(home->figures.live, ==, s->figures.live);
    g_assert_cmpuint(home->figures.live_capacity, ==, s->figures.live_capacity);
    g_assert_cmpuint(home->figures.retained, ==, s->figures.retained);
    g_assert_cmpuint(home->figures.peak, ==, s->figures.peak);
    g_assert_cmpuint(home->figures.live_n, ==, s->figures.live_n);
    g_assert_cmpuint(home->figures.leased_n, ==, s->figures.leased_n);
    g_assert_cmpuint(home->figures.free_n, ==, s->figures.free_n);
    for (uint32_t i = 0; i < home->slot_n; i++) {
        const struct psc_depot_slot *want = i < s->figures.slot_n ? &s->slots[i] : NULL;
        g_assert_cmpstr(psc_slot_state_name(home->slots[i].state), ==, psc_slot_state_name(want ? want->state : PSC_SLOT_UNUSED));
        if (!want || want->state == PSC_SLOT_UNUSED)
            continue;
        g_assert_cmpstr(psc_owner_name(home->slots[i].owner), ==, psc_owner_name(want->owner));
        g_assert_cmpuint(home->slots[i].bytes, ==, want->bytes);
        g_assert_cmpuint(home->slots[i].capacity, ==, want->capacity);
        g_assert_cmpuint(home->slots[i].buffer, ==, want->buffer);
        g_assert_cmpuint(home->slots[i].generation, ==, want->generation);
        g_assert_cmpuint(home->slots[i].holders, ==, want->holders);
    }
    to_sort = s->slots;
    qsort(sizes, s->figures.free_n, sizeof *sizes, by_size);
    for (uint32_t i = 0; i < s->figures.free_n; i++) {
        g_assert_cmpuint(home->evictions[i], ==, s->evictions[i]);
        g_assert_cmpuint(home->by_capacity[i], ==, sizes[i]);
    }
    g_free(sizes);
}

static void start(struct world *w, GRand *rand)
{
    *w = (struct world){0};
    g_assert_cmpint(psc_arena_story_init(&w->story, NULL), ==, PSC_OK);
    for (unsigned a = 0; a < 2; a++) {
        struct psc_depot_options o = {.kind = a, .slot_max = g_rand_boolean(rand) ? (uint32_t)g_rand_int_range(rand, 1, 20) : 0,
                                      .cap = g_rand_boolean(rand) ? PSC_ARENA_NO_CAP : (uint64_t)g_rand_int_range(rand, 0, 4000),
                                      .guards = g_rand_boolean(rand) ? PSC_ARENA_HARDENED : PSC_ARENA_UPSTREAM,
                                      .numbers = &w->story.numbers, .sink = psc_arena_story_sink, .ctx = &w->story};
        g_assert_cmpint(psc_depot_new(&o, &w->store[a], NULL), ==, PSC_OK);
        psc_arena_story_arena(&w->story, &o);
    }
}

static void stop(struct world *w, uint32_t steps)
{
    w->story.title_n = 0; /* nothing more is told */
    for (uint32_t i = 0; i < w->plain_n; i++)
        psc_block_handle_reset(&w->plain[i], NULL);
    for (uint32_t i = 0; i < w->lease_n; i++)
        psc_lease_reset(&w->leases[i]);
    for (uint32_t step = 0; step < steps; step++)
        for (unsigned a = 0; a < 2; a++) {
            g_free(w->seen[step][a].slots);
            g_free(w->seen[step][a].evictions);
        }
    psc_depot_unref(w->store[0]);
    psc_depot_unref(w->store[1]);
    psc_arena_story_release(&w->story);
}

static void test_random(void)
{
    uint32_t seed = (uint32_t)test_seed();
    g_test_message("seed %u", seed);
    for (uint32_t round = 0; round < 20; round++) {
        GRand *rand = g_rand_new_with_seed(seed + round);
        struct world *w = g_new(struct world, 1);
        struct psc_arena arena = {0}, scratch = {0};
        struct psc_story *story;
        struct psc_arena_track *track;
        start(w, rand);
        for (uint32_t step = 0; step < STEPS; step++) {
            psc_arena_story_begin(&w->story);
            act(w, rand);
            see(w, step);
        }
        g_assert_cmpint(psc_arena_story_finish(&w->story, &arena, &story, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_story_check(story, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_arena_track_new(&arena, story, &track, NULL), ==, PSC_OK);
        for (uint32_t step = 0; step < STEPS; step++) {
            struct psc_arena_look look;
            g_assert_cmpuint(psc_arena_track_upto(track, (int32_t)step), ==, w->events[step]);
            g_assert_cmpint(psc_arena_track_look(track, &scratch, w->events[step], &look, NULL), ==, PSC_OK);
            g_assert_cmpuint(look.home_n, ==, 2);
            compare(&look.homes[0], &w->seen[step][0]);
            compare(&look.homes[1], &w->seen[step][1]);
            psc_arena_release(&scratch);
        }
        stop(w, STEPS);
        psc_arena_release(&arena);
        psc_arena_release(&scratch);
        g_free(w);
        g_rand_free(rand);
    }
}

static void lamps(struct psc_arena *arena, struct psc_arena_track **ret)
{
    struct psc_arena_story t;
    struct psc_depot *io;
    struct psc_block_handle h[2];
    struct psc_story *story;
    struct psc_depot_options o;
    g_assert_cmpint(psc_arena_story_init(&t, NULL), ==, PSC_OK);
    o = (struct psc_depot_options){.kind = PSC_DEPOT_IO, .cap = 100, .numbers = &t.numbers, .sink = psc_arena_story_sink, .ctx = &t};
    g_assert_cmpint(psc_depot_new(&o, &io, NULL), ==, PSC_OK);
    psc_arena_story_arena(&t, &o);
    psc_arena_story_begin(&t);
    g_assert_cmpint(psc_block_handle_alloc(io, 10, PSC_OWNER_TENSOR, &h[0], NULL), ==, PSC_OK);
    psc_arena_story_lamps(&t, 0, "");
    psc_arena_story_begin(&t);
    g_assert_cmpint(psc_block_handle_alloc(io, 20, PSC_OWNER_BINDING, &h[1], NULL), ==, PSC_OK);
    psc_arena_story_lamps(&t, 1u << 5, "five");
    psc_arena_story_lamps(&t, 1u << 5, "told once");
    psc_arena_story_begin(&t);
    g_assert_cmpint(psc_block_handle_reset(&h[0], NULL), ==, PSC_OK);
    psc_arena_story_lamps(&t, 1u << 2, "two");
    psc_arena_story_begin(&t);
    g_assert_cmpint(psc_block_handle_reset(&h[1], NULL), ==, PSC_OK);
    psc_arena_story_lamps(&t, 0, "");
    g_assert_cmpint(psc_arena_story_finish(&t, arena, &story, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_track_new(arena, story, ret, NULL), ==, PSC_OK);
    psc_depot_unref(io);
    psc_arena_story_release(&t);
}

static void test_lamps(void)
{
    static const unsigned broken[] = {0, 1u << 5, 1u << 2, 0}, ever[] = {0, 1u << 5, 1u << 5 | 1u << 2, 1u << 5 | 1u << 2};
    struct psc_arena arena = {0};
    struct psc_arena_track *track;
    uint32_t after = 0;
    lamps(&arena, &track);
    for (int32_t p = 0; p < 4; p++) {
        struct psc_arena_look look;
        g_assert_cmpint(psc_arena_track_look(track, &arena, psc_arena_track_upto(track, p), &look, NULL), ==, PSC_OK);
        g_assert_cmpuint(look.broken, ==, broken[p]);
        g_assert_cmpuint(look.ever, ==, ever[p]);
    }
    g_assert_cmpstr(psc_arena_track_why(track, 5, &after), ==, "five");
    g_assert_cmpuint(after, ==, 2);
    g_assert_cmpstr(psc_arena_track_why(track, 1, &after), ==, "");
    psc_arena_release(&arena);
}

/* A story of a plan has no arenas at run time. */
static void test_none(void)
{
    struct psc_arena arena = {0};
    struct psc_story story = {0};
    struct psc_arena_track *track = (struct psc_arena_track *)&story;
    g_assert_cmpint(psc_arena_track_new(&arena, &story, &track, NULL), ==, PSC_OK);
    g_assert_null(track);
    psc_arena_release(&arena);
}

/* Nothing happened yet: arenas are there, and empty. */
static void test_before_anything(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_track *track;
    struct psc_arena_look look;
    lamps(&arena, &track);
    g_assert_cmpint(psc_arena_track_look(track, &arena, 0, &look, NULL), ==, PSC_OK);
    g_assert_cmpuint(look.homes[0].figures.live, ==, 0);
    g_assert_cmpuint(look.homes[0].slot_n, ==, 2);
    g_assert_cmpint(look.homes[0].slots[0].state, ==, PSC_SLOT_UNUSED);
    g_assert_cmpuint(look.homes[0].slots[0].event, ==, PSC_NONE);
    g_assert_cmpuint(look.homes[0].refs, ==, 1);
    psc_arena_release(&arena);
}

static enum psc_status make_and_look(void *data)
{
    struct psc_arena own = {0};
    struct psc_arena_track *again;
    struct psc_arena_look look;
    struct psc_error error = {0};
    enum psc_status status = psc_arena_track_new(&own, ((const struct psc_arena_track *)data)->story, &again, &error);
    if (!status)
        status = psc_arena_track_look(again, &own, 3, &look, &error);
    psc_arena_release(&own);
    return status;
}

static void test_out_of_memory(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_track *track;
    lamps(&arena, &track);
    g_assert_cmpuint(test_oom_loop(make_and_look, track), >, 0);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/debug/arena-track/says-what-the-arenas-said-after-each-step", test_random);
    g_test_add_func("/core/debug/arena-track/lamps-go-out-and-on-again", test_lamps);
    g_test_add_func("/core/debug/arena-track/other-stories-have-none", test_none);
    g_test_add_func("/core/debug/arena-track/before-anything-happened", test_before_anything);
    g_test_add_func("/core/debug/arena-track/out-of-memory", test_out_of_memory);
    return g_test_run();
}
