/* Arenas at a position: what was asked and found, what left the free list, the words for it; against looks and scripts. */
#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/debug/arena-story.h"
#include "core/plan/arena-handle.h"
#include "tests/panel-source.h"
#include "tests/util.h"

#include <string.h>

#define ALLOC(a, h, n) "{'op':'alloc','arena':'" a "','h':'" h "','bytes':" #n "},"
#define FREE(h) "{'op':'free','h':'" h "'},"
#define END "{'op':'trim'}"

static struct psc_arena_view *at(struct psc_arena *arena, const struct psc_arena_axis *axis, int32_t position)
{
    struct psc_arena_view *v;
    g_assert_cmpint(psc_arena_view_at(arena, axis, position, &v, NULL), ==, PSC_OK);
    return v;
}

/* The example of core/plan/arena-depot.h: what each request finds. */
static void test_search(void)
{
    static const struct { enum psc_arena_found found; uint32_t slot; const char *words; } rows[] = {
        {PSC_FOUND_NEW, 0, "No free block of exec is large enough: slot 0 gets a new block of exactly 64 B. "},
        {PSC_FOUND_NEW, 1, "No free block of exec is large enough: slot 1 gets a new block of exactly 128 B. "},
        {PSC_FOUND_NOTHING, PSC_NONE, "Its last owner lets go: slot 0 of exec is free, its block is kept for the next one that fits. "},
        {PSC_FOUND_AGAIN, 0, "The smallest free block of exec that is large enough is used again: slot 0 of 64 B; 16 B of it are not "
         "needed (slack). "},
        {PSC_FOUND_NOTHING, PSC_NONE, "Its last owner lets go: slot 1"}, {PSC_FOUND_NOTHING, PSC_NONE, "Its last owner lets go: slot 0"},
        {PSC_FOUND_NEW, 2, "No free block of exec is large enough: slot 2 gets a new block of exactly 200 B. "},
        {PSC_FOUND_GROWN, 1, "No free block of exec is large enough and no slot is unused: the largest free block, slot 1, is grown to 300 B. "},
        {PSC_FOUND_AGAIN, 0, "The smallest free block of exec"},
        {PSC_FOUND_NOTHING, PSC_NONE, "It is refused, and nothing changes. "},
    };
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, ",'arenas':{'exec':{'slots':3}}", ALLOC("exec", "A", 64) ALLOC("exec", "B", 128) FREE("A")
        ALLOC("exec", "C", 48) FREE("B") FREE("C") ALLOC("exec", "D", 200) ALLOC("exec", "E", 300) ALLOC("exec", "F", 10) ALLOC("exec", "G", 1) END);
    for (int32_t p = 0; p < (int32_t)G_N_ELEMENTS(rows); p++) {
        const struct psc_arena_view *v = at(&arena, axis, p);
        g_assert_cmpint(v->homes[0].found, ==, rows[p].found);
        g_assert_cmpuint(v->homes[0].found_slot, ==, rows[p].slot);
        if (!g_str_has_prefix(v->words, rows[p].words))
            g_error("%d: %s", p, v->words);
    }
    const struct psc_arena_home_view *c = &at(&arena, axis, 3)->homes[0];
    g_assert_cmpuint(c->bucket_n, ==, 1);
    g_assert_true(c->buckets[0].taken);
    g_assert_cmpuint(c->buckets[0].capacity, ==, 64);
    g_assert_cmpuint(at(&arena, axis, 99)->position, ==, 11);
    g_assert_cmpuint(at(&arena, axis, -5)->to, ==, 0);
    psc_arena_release(&arena);
}

/* Over the cap the one that was freed first goes; it stands before the queue, and is told. */
static void test_eviction(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, ",'arenas':{'exec':{'cap':200}}", ALLOC("exec", "a", 64) ALLOC("exec", "b", 128)
        ALLOC("exec", "c", 100) ALLOC("exec", "d", 300) FREE("a") FREE("b") FREE("c") FREE("d") END);
    const struct psc_arena_home_view *h = &at(&arena, axis, 6)->homes[0];
    g_assert_cmpuint(h->queue_n, ==, 3);
    g_assert_true(h->queue[0].evicted && h->queue[0].slot == 0);
    g_assert_true(h->queue[1].evicted && h->queue[1].slot == 1);
    g_assert_true(!h->queue[2].evicted && h->queue[2].fresh && h->queue[2].slot == 2);
    g_assert_nonnull(strstr(at(&arena, axis, 6)->words, "More is kept free in exec than its cap allows: slot 0, free for longest, gives its block of 64 B back"));
    h = &at(&arena, axis, 7)->homes[0]; /* larger than the cap: all go, itself too */
    g_assert_cmpuint(h->look->figures.free_n, ==, 0);
    g_assert_cmpuint(h->queue_n, ==, 2);
    g_assert_true(h->queue[0].evicted && h->queue[1].evicted);
    psc_arena_release(&arena);
}

static void test_leases_and_runs(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, panel_runs_settings, panel_runs);
    g_assert_cmpuint(axis->run_n, ==, 4);
    g_assert_cmpint(axis->run_at[0], ==, 0);
    g_assert_cmpint(axis->run_at[1], ==, 12);
    const struct psc_arena_view *v = at(&arena, axis, 7);
    g_assert_cmpstr(v->title, ==, "export logits1 as array1");
    g_assert_true(g_str_has_prefix(v->words, "Slot 1 of io is lent: "));
    g_assert_cmpstr(psc_arena_view_name(v, &v->look.homes[1].slots[1]), ==, "logits1");
    g_assert_true(v->homes[1].touched[1] && !v->homes[1].touched[0]);
    char words[96];
    g_assert_cmpstr(psc_arena_slot_words(&v->look.homes[1].slots[1], words, sizeof words), ==, "lent: 1 lease outside holds it");
    v = at(&arena, axis, 24); /* the first array is dropped */
    g_assert_true(g_str_has_prefix(v->words, "The last lease is given back: slot 1 of io is free. "));
    g_assert_cmpuint(at(&arena, axis, 11)->look.run, ==, 0);
    g_assert_cmpuint(at(&arena, axis, 12)->look.run, ==, 1);
    struct psc_text text = {0};
    psc_explain_arena_view(&text, at(&arena, axis, 99));
    g_assert_nonnull(strstr(psc_text_str(&text), "After run 4."));
    g_assert_nonnull(strstr(psc_text_str(&text), "All invariants hold."));
    psc_text_release(&text);
    psc_arena_release(&arena);
}

static void test_broken(void)
{
    struct psc_arena arena = {0};
    struct psc_text text = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, ",'faults':['a4']", ALLOC("io", "y", 64) "{'op':'export','h':'y','as':'n'},{'op':'clear'}");
    psc_explain_arena_lamp(&text, at(&arena, axis, 1), 4);
    g_assert_cmpstr(psc_text_str(&text), ==, "Invariant 4, clear leaves lent blocks alone: holds, and did at every position so far.");
    psc_text_clear(&text);
    psc_explain_arena_lamp(&text, at(&arena, axis, 2), 4);
    g_assert_true(g_str_has_prefix(psc_text_str(&text), "Invariant 4, clear leaves lent blocks alone: broken since position 2: "));
    g_assert_nonnull(strstr(at(&arena, axis, 2)->words, "\xe2\x9a\xa0 "));
    psc_text_release(&text);
    psc_arena_release(&arena);
}

/* ---- random scripts against the looks before and after ---------------------------------------------------------------- */

static char *random_script(uint64_t *state)
{
    GString *s = g_string_new(NULL);
    uint32_t steps = 20 + (uint32_t)(psc_random_next(state) % 60);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t h = (uint32_t)(psc_random_next(state) % 9), n = 1 + (uint32_t)(psc_random_next(state) % 6);
        const char *home = psc_random_next(state) % 2 ? "exec" : "io";
        switch (psc_random_next(state) % 9) {
        case 0: case 1: case 2: g_string_append_printf(s, "{'op':'alloc','arena':'%s','h':'h%u','bytes':%u},", home, h, 32 * n); break;
        case 3: case 4: case 5: g_string_append_printf(s, "{'op':'free','h':'h%u'},", h); break;
        case 6: g_string_append_printf(s, "{'op':'export','h':'h%u','as':'o%u'},", h, n); break;
        case 7: g_string_append_printf(s, "{'op':'drop','as':'o%u'},", n); break;
        default: g_string_append(s, psc_random_next(state) % 4 ? "{'op':'clear'}," : "{'op':'trim'},"); break;
        }
    }
    g_string_append(s, END);
    return g_string_free(s, FALSE);
}

static void check_home(const struct psc_arena_view *v, uint32_t k)
{
    const struct psc_arena_home_view *h = &v->homes[k];
    uint32_t still = 0, waits = 0;
    for (uint32_t i = 0; i < h->bucket_n; i++) {
        const struct psc_arena_free_view *f = &h->buckets[i];
        bool gone = f->taken || f->evicted;
        g_assert_cmpint(gone, ==, h->look->slots[f->slot].state != PSC_SLOT_FREE);
        if (i)
            g_assert_cmpuint(h->buckets[i - 1].capacity, <=, f->capacity);
        if (!gone)
            g_assert_cmpuint(f->slot, ==, h->look->by_capacity[still++]);
        if (f->fresh)
            g_assert_true(h->touched[f->slot]);
    }
    g_assert_cmpuint(still, ==, h->look->figures.free_n);
    for (uint32_t i = 0; i < h->queue_n; i++) {
        if (h->queue[i].evicted)
            g_assert_cmpint(h->look->slots[h->queue[i].slot].state, ==, PSC_SLOT_UNUSED);
        else
            g_assert_cmpuint(h->queue[i].slot, ==, h->look->evictions[waits++]);
    }
    g_assert_cmpuint(waits, ==, h->look->figures.free_n);
    if (h->found != PSC_FOUND_NOTHING)
        g_assert_cmpuint(h->look->slots[h->found_slot].capacity, >=, h->asked);
}

static void test_random(void)
{
    uint64_t positions = 0, found[4] = {0};
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 150; round++) {
        struct psc_arena arena = {0};
        uint64_t state = test_seed() * 104729 + round;
        char *script = random_script(&state);
        struct psc_arena_axis *axis = panel_axis(&arena, round % 2 ? ",'arenas':{'exec':{'cap':400,'slots':3},'io':{'cap':96}}" : "", script);
        for (int32_t p = (int32_t)axis->position_n; p >= -1; p--, positions++) {
            const struct psc_arena_view *v = at(&arena, axis, p);
            for (uint32_t k = 0; k < v->look.home_n; k++) {
                check_home(v, k);
                found[v->homes[k].found]++;
            }
            g_assert_cmpuint(v->look.broken, ==, 0);
            g_assert_cmpuint(strlen(v->words), >, 0);
        }
        g_free(script);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(positions, >, 3000);
    for (int i = 0; i < 4; i++)
        g_assert_cmpuint(found[i], >, 10);
}

/* New pages are touched in the first run and where an output is held, and then no more. */
static void test_touches(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, ",'arenas':{'exec':{'slots':2}}",
        ALLOC("exec", "a", 5000) FREE("a") ALLOC("io", "y", 64) "{'op':'clear'}," ALLOC("exec", "a", 100) FREE("a") ALLOC("io", "y", 64)
        "{'op':'clear'}," ALLOC("exec", "a", 9000) ALLOC("exec", "b", 1) FREE("b") ALLOC("exec", "c", 9001) END);
    static const struct { int32_t position; uint32_t home; uint64_t bytes; } rows[] = {{0, 0, 5000}, {2, 1, 64}, {8, 0, 9000}, {11, 0, 9001}};
    g_assert_cmpuint(axis->run_n, ==, 3);
    g_assert_cmpuint(axis->touch_n, ==, G_N_ELEMENTS(rows));
    for (uint32_t i = 0; i < axis->touch_n; i++) {
        g_assert_cmpint(axis->touches[i].position, ==, rows[i].position);
        g_assert_cmpuint(axis->touches[i].home, ==, rows[i].home);
        g_assert_cmpuint(axis->touches[i].bytes, ==, rows[i].bytes);
    }
    g_assert_cmpuint(axis->run_pages[0], ==, 3);
    g_assert_cmpuint(axis->run_pages[1], ==, 0);
    g_assert_cmpuint(axis->run_pages[2], ==, 6); /* a in a new block; c grows the one that b left */
    psc_arena_release(&arena);
}

static uint32_t give(struct psc_arena_story *t, struct psc_depot *from, enum psc_value_kind kind, const char *name, uint32_t home, uint64_t bytes,
                     struct psc_block_handle *ret)
{
    uint32_t value = t->value = psc_arena_story_value(t, kind, name, home, bytes, PSC_NONE, 0);
    g_assert_cmpint(psc_block_handle_alloc(from, bytes, PSC_OWNER_TENSOR, ret, NULL), ==, PSC_OK);
    return value;
}

/* A node with an output and a workspace that came from the wrong arena; then a value that is copied, in two runs. */
static void test_routes(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_story t;
    struct psc_depot *depot[2];
    struct psc_block_handle h[6] = {{0}};
    struct psc_story *story;
    struct psc_arena_track *track;
    struct psc_arena_axis *axis;
    uint32_t y, copy;
    g_assert_cmpint(psc_arena_story_init(&t, NULL), ==, PSC_OK);
    for (unsigned a = 0; a < 2; a++) {
        g_assert_cmpint(psc_depot_new(&(struct psc_depot_options){.kind = (enum psc_depot_kind)a, .cap = PSC_ARENA_NO_CAP, .numbers = &t.numbers,
                                                                  .sink = psc_arena_story_sink, .ctx = &t}, &depot[a], NULL), ==, PSC_OK);
        psc_arena_story_arena(&t, psc_depot_options(depot[a]));
    }
    psc_arena_story_begin(&t);
    y = give(&t, depot[1], PSC_VALUE_NODE, "y", PSC_DEPOT_IO, 64, &h[0]);
    give(&t, depot[1], PSC_VALUE_WORKSPACE, "workspace of y", PSC_DEPOT_EXEC, 16, &h[1]);
    give(&t, depot[0], PSC_VALUE_NODE, "t", PSC_DEPOT_EXEC, 8, &h[2]);
    psc_arena_story_add(&t, PSC_EV_WRITE, y, 0, 0, 1, 0, 64, PSC_NONE);
    for (unsigned run = 0; run < 2; run++, t.run++)
        for (unsigned k = 0; k < 2 - run; k++) {
            psc_arena_story_begin(&t);
            copy = give(&t, depot[1], PSC_VALUE_STAGING, "y on deferred", PSC_DEPOT_IO, 64, &h[3 + run + k + run]);
            uint32_t read = psc_arena_story_add(&t, PSC_EV_READ, y, 0, 0, 1, 0, 64, PSC_NONE);
            psc_arena_story_add(&t, PSC_EV_WRITE, copy, 0, t.numbers - 1, 1, 0, 64, read);
        }
    g_assert_cmpint(psc_arena_story_finish(&t, &arena, &story, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_story_check(story, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_track_new(&arena, story, &track, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_axis_new(&arena, track, &axis, NULL), ==, PSC_OK);
    const struct psc_arena_view *v = at(&arena, axis, 0);
    static const enum psc_arena_role roles[] = {PSC_ROUTE_OUTPUT, PSC_ROUTE_WORKSPACE, PSC_ROUTE_INNER};
    static const uint32_t homes[] = {1, 1, 0}, belongs[] = {1, 0, 0};
    g_assert_cmpuint(v->route_n, ==, 3);
    g_assert_cmpuint(v->wrong_n, ==, 1);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(v->routes[i].role, ==, roles[i]);
        g_assert_cmpuint(v->routes[i].home, ==, homes[i]);
        g_assert_cmpuint(v->routes[i].belongs, ==, belongs[i]);
    }
    g_assert_nonnull(strstr(v->words, "The workspace lies in io, it belongs into exec. "));
    g_assert_cmpuint(v->copied, ==, 0);
    v = at(&arena, axis, 1);
    g_assert_cmpint(v->routes[0].role, ==, PSC_ROUTE_TRANSFERRED);
    g_assert_cmpuint(v->routes[0].copied, ==, 64);
    g_assert_cmpuint(v->copied, ==, 64);
    g_assert_cmpuint(at(&arena, axis, 2)->copied, ==, 128);
    g_assert_cmpuint(at(&arena, axis, 3)->copied, ==, 64); /* of this run */
    for (unsigned i = 0; i < G_N_ELEMENTS(h); i++)
        psc_block_handle_reset(&h[i], NULL);
    psc_depot_unref(depot[0]);
    psc_depot_unref(depot[1]);
    psc_arena_story_release(&t);
    psc_arena_release(&arena);
}

/* What a caller lends comes from no arena. */
static void test_borrowed_route(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, "", "{'op':'borrow','h':'x','bytes':64,'value':'v'},"
        "{'op':'caller_write','h':'x','value':'w'}," ALLOC("exec", "t", 8) END);
    const struct psc_arena_view *v = at(&arena, axis, 0);
    g_assert_cmpuint(v->route_n, ==, 1);
    g_assert_cmpint(v->routes[0].role, ==, PSC_ROUTE_BORROWED);
    g_assert_true(v->routes[0].home == PSC_NONE && v->routes[0].belongs == PSC_NONE && !v->wrong_n);
    g_assert_cmpuint(at(&arena, axis, 1)->route_n, ==, 0); /* written again, where it is */
    g_assert_cmpint(at(&arena, axis, 2)->routes[0].role, ==, PSC_ROUTE_INNER);
    psc_arena_release(&arena);
}

static enum psc_status everything(void *data)
{
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis;
    struct psc_arena_view *v;
    const struct psc_arena_axis *from = data;
    enum psc_status status = psc_arena_axis_new(&arena, from->track, &axis, NULL);
    for (int32_t p = -1; !status && p <= 20; p++)
        status = psc_arena_view_at(&arena, axis, p, &v, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_out_of_memory(void)
{
    struct psc_arena arena = {0};
    struct psc_arena_axis *axis = panel_axis(&arena, panel_runs_settings, panel_runs);
    g_assert_cmpuint(test_oom_loop(everything, axis), >, 5);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/arena-view/what-is-asked-and-found", test_search);
    g_test_add_func("/arena-view/eviction", test_eviction);
    g_test_add_func("/arena-view/leases-and-runs", test_leases_and_runs);
    g_test_add_func("/arena-view/a-broken-invariant", test_broken);
    g_test_add_func("/arena-view/pages-touched-first", test_touches);
    g_test_add_func("/arena-view/routes-and-what-is-copied", test_routes);
    g_test_add_func("/arena-view/a-borrowed-input-has-no-arena", test_borrowed_route);
    g_test_add_func("/arena-view/random", test_random);
    g_test_add_func("/arena-view/out-of-memory", test_out_of_memory);
    return g_test_run();
}
