#include "core/debug/history.h"
#include "core/base/hash.h"
#include "tests/stories.h"
#include "tests/util.h"

static struct psc_history *build(struct psc_arena *arena, const struct psc_story *story)
{
    struct psc_history *h = NULL;
    struct psc_error err = {0};

    if (psc_history_build(arena, story, &h, &err))
        g_error("%s", err.text);
    return h;
}

/* "sum s0 2..3 end 3 after - next x2" for each tenancy. */
static char *told(const struct psc_history *h)
{
    const struct psc_story *s = h->story;
    GString *out = g_string_new(NULL);

    for (uint32_t i = 0; i < h->tenancy_n; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        const char *prev = t->prev_version == PSC_NONE ? "-" : s->values[h->tenancies[t->prev_version].value].name;
        const char *next = t->next_version == PSC_NONE ? "-" : s->values[h->tenancies[t->next_version].value].name;
        g_string_append_printf(out, "%s %s %d..%d end %d after %s before %s\n", s->values[t->value].name,
                               s->buffers[t->buffer].name, t->first, t->last, t->end, prev, next);
    }
    return g_string_free(out, FALSE);
}

static void assert_told(const struct psc_history *h, const char *expected)
{
    char *text = told(h);

    g_assert_cmpstr(text, ==, expected);
    g_free(text);
}

static void assert_live(const struct psc_history *h, const uint64_t *expected, uint32_t n)
{
    g_assert_cmpuint(n, ==, h->story->position_n + 2);
    for (uint32_t i = 0; i < n; i++)
        g_assert_cmpuint(h->live_bytes[i], ==, expected[i]);
}

static void test_candela(void)
{
    struct psc_arena arena = {0};
    struct psc_history *h = build(&arena, test_story_candela(&arena, false).story);
    static const uint64_t live[] = {32, 32, 32, 48, 48, 48};

    assert_told(h, "a E0 -1..2 end 5 after - before -\n"
                   "b E1 -1..2 end 5 after - before -\n"
                   "sum s0 2..3 end 3 after - before x2\n"
                   "x2 s0 3..4 end 5 after sum before -\n");
    assert_live(h, live, G_N_ELEMENTS(live));
    g_assert_cmpuint(h->peak_bytes, ==, 48);
    g_assert_cmpint(h->peak_at, ==, 2);
    g_assert_cmpuint(psc_history_last_writer(h, 2, 0, 4, 4), ==, 8);
    g_assert_cmpuint(psc_history_last_writer(h, 2, 0, 4, 3), ==, 5);
    g_assert_cmpuint(psc_history_next_reader(h, 2, 0, 16, 2), ==, 6);
    g_assert_cmpuint(psc_history_next_reader(h, 2, 0, 16, 3), ==, 9);
    g_assert_cmpuint(psc_history_tenant(h, 2, 15, 2), ==, 2);
    g_assert_cmpuint(psc_history_tenant(h, 2, 15, 3), ==, 3);
    g_assert_cmpuint(psc_history_tenant(h, 2, 15, 1), ==, PSC_NONE);
    g_assert_cmpuint(psc_history_tenant(h, 2, 16, 3), ==, PSC_NONE);
    g_assert_cmpuint(psc_history_value_of_node(h, 3), ==, 3);
    g_assert_cmpuint(psc_history_value_of_node(h, 4), ==, PSC_NONE);
    psc_arena_release(&arena);
}

/* The live column of the published trace: 64, 192, (free A) 128, 176, 48, 0, 200, 500, 510. What a position
 * frees is still live at that position. */
static void test_arena(void)
{
    struct psc_arena arena = {0};
    struct psc_history *h = build(&arena, test_story_arena(&arena, false).story);
    static const uint64_t live[] = {0, 64, 192, 192, 176, 176, 48, 200, 500, 510, 510, 510};

    assert_live(h, live, G_N_ELEMENTS(live));
    g_assert_cmpuint(h->peak_bytes, ==, 510);
    g_assert_cmpint(h->peak_at, ==, 8);
    assert_told(h, "A slot 0 0..2 end 3 after - before -\n"
                   "C slot 0 3..5 end 6 after - before -\n"
                   "F slot 0 8..10 end 11 after - before -\n"
                   "B slot 1 1..4 end 5 after - before -\n"
                   "E slot 1 7..10 end 11 after - before -\n"
                   "D slot 2 6..10 end 11 after - before -\n");
    uint32_t first = h->buffer_at[0];
    g_assert_cmpuint(h->tenancies[first].next_tenant, ==, first + 1);
    g_assert_cmpuint(h->tenancies[first + 1].prev_tenant, ==, first);
    g_assert_cmpuint(h->tenancies[first + 2].prev_tenant, ==, first + 1);
    psc_arena_release(&arena);
}

static void test_leases(void)
{
    struct psc_arena arena = {0};
    struct psc_history *h = build(&arena, test_story_leases(&arena, false).story);

    assert_told(h, "y1 io 0 0..4 end 6 after - before -\n"
                   "y3 io 0 6..6 end 8 after - before -\n"
                   "y2 io 1 3..7 end 8 after - before -\n");
    g_assert_cmpuint(h->peak_bytes, ==, 128);
    psc_arena_release(&arena);
}

/* The victim of a clobber stays in sight until its doomed read. */
static void test_clobber(void)
{
    struct psc_arena arena = {0};
    struct psc_history *h = build(&arena, test_story_arena(&arena, true).story);
    uint32_t d = psc_history_of_value(h, 3), f = psc_history_of_value(h, 5);

    g_assert_cmpint(h->tenancies[d].last, ==, 10);
    g_assert_cmpint(h->tenancies[d].end, ==, 11);
    g_assert_cmpuint(h->tenancies[d].next_tenant, ==, f);
    g_assert_cmpuint(psc_history_tenant(h, 2, 5, 9), ==, f);
    g_assert_cmpuint(psc_history_tenant(h, 2, 50, 9), ==, d);
    psc_arena_release(&arena);
}

/* ---- random stories against scans ---------------------------------------------------------------------- */

struct shape {
    uint32_t value_n, buffer_n, size;
    unsigned windows; /* reads look at a part of their value */
};

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(psc_random_next(seed) % n);
}

static void put(struct psc_story_builder *b, enum psc_event_kind kind, int32_t position, uint32_t value,
                uint32_t buffer, uint64_t lo, uint64_t hi)
{
    struct psc_event e = psc_event_blank(kind, position);
    e.value = value;
    e.buffer = buffer;
    e.lo = lo;
    e.hi = hi;
    e.node = value;
    psc_story_add_event(b, &e);
}

/* Each value is written at its own position; some values that live are read there, and some released. */
static struct psc_story *random_story(struct psc_arena *arena, uint64_t *seed, const struct shape *shape)
{
    struct psc_story_builder *b = psc_story_builder_new();
    struct place { uint32_t buffer; uint64_t lo, hi; bool live; } *places = g_new0(struct place, shape->value_n);
    struct psc_error err = {0};
    struct psc_story *story = NULL;

    psc_story_add_backend(b, "cpu");
    psc_story_add_lane(b, "host", PSC_BACKEND_NONE);
    for (uint32_t i = 0; i < shape->buffer_n; i++) {
        struct psc_buffer buffer = {.id = i, .bytes = shape->size, .base = (uint64_t)i * shape->size};
        buffer.role = i % 7 == 6 ? PSC_ROLE_STAGING : PSC_ROLE_POOL;
        psc_story_add_buffer(b, &buffer);
    }
    for (uint32_t i = 0; i < shape->value_n; i++) {
        struct psc_value v = {.kind = PSC_VALUE_NODE, .layer = -1, .node = i, .of = PSC_NONE};
        places[i].buffer = pick(seed, shape->buffer_n);
        places[i].lo = pick(seed, shape->size);
        places[i].hi = places[i].lo + pick(seed, shape->size - (uint32_t)places[i].lo) / (1 + pick(seed, 4));
        v.bytes = places[i].hi - places[i].lo;
        psc_story_add_value(b, &v);
    }
    for (uint32_t i = 0; i < shape->value_n; i++) {
        uint32_t reads = pick(seed, 3), back = i < 20 ? i : 20;
        for (uint32_t k = 0; k < reads && back; k++) {
            uint32_t v = i - 1 - pick(seed, back);
            uint64_t lo = places[v].lo, hi = places[v].hi;
            if (shape->windows && hi > lo) {
                lo += pick(seed, (uint32_t)(hi - lo));
                hi = lo + pick(seed, (uint32_t)(hi - lo) + 1);
            }
            if (places[v].live)
                put(b, PSC_EV_READ, (int32_t)i, v, places[v].buffer, lo, hi);
        }
        put(b, PSC_EV_WRITE, (int32_t)i, i, places[i].buffer, places[i].lo, places[i].hi);
        places[i].live = true;
        for (uint32_t k = 0; k < 2 && back; k++) {
            uint32_t v = i - 1 - pick(seed, back);
            if (places[v].live && pick(seed, 2)) {
                put(b, PSC_EV_RELEASE, (int32_t)i, v, places[v].buffer, places[v].lo, places[v].hi);
                places[v].live = false;
            }
        }
    }
    psc_story_set_order(b, shape->value_n, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
    if (psc_story_builder_finish(b, arena, &story, &err))
        g_error("%s", err.text);
    psc_story_builder_free(b);
    g_free(places);
    return story;
}

/* The scan every lookup is compared with. */
static uint32_t scan(const struct psc_story *s, uint32_t buffer, uint64_t lo, uint64_t hi, bool reads, bool forward,
                     int32_t from)
{
    uint32_t found = PSC_NONE;

    for (uint32_t i = 0; i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        bool right = e->kind == (reads ? PSC_EV_READ : PSC_EV_WRITE);
        bool meets = e->buffer == buffer && e->lo < hi && lo < e->hi && e->lo < e->hi && lo < hi;
        if (!right || !meets)
            continue;
        if (forward && e->position > from)
            return i;
        if (!forward && e->position < from)
            found = i;
    }
    return found;
}

static uint32_t scan_access(const struct psc_story *s, uint32_t buffer, bool forward, int32_t from)
{
    uint32_t found = PSC_NONE;

    for (uint32_t i = 0; i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        if (e->buffer != buffer || e->kind == PSC_EV_RELEASE)
            continue;
        if (forward && e->position > from)
            return i;
        if (!forward && e->position < from)
            found = i;
    }
    return found;
}

static uint32_t scan_tenant(const struct psc_history *h, uint32_t buffer, uint64_t byte, int32_t position)
{
    uint32_t best = PSC_NONE;

    for (uint32_t i = 0; i < h->tenancy_n; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        if (t->buffer == buffer && t->first <= position && t->lo <= byte && byte < t->hi &&
            (best == PSC_NONE || t->write_event > h->tenancies[best].write_event))
            best = i;
    }
    return best != PSC_NONE && position < h->tenancies[best].end ? best : PSC_NONE;
}

static void assert_lookups(const struct psc_history *h, uint64_t *seed, uint32_t size)
{
    const struct psc_story *s = h->story;

    for (unsigned i = 0; i < 200; i++) {
        uint32_t buffer = pick(seed, s->buffer_n);
        uint64_t lo = pick(seed, size), hi = lo + pick(seed, i % 3 ? 8 : size);
        int32_t p = (int32_t)pick(seed, s->position_n + 2) - 1;
        g_assert_cmpuint(psc_history_last_writer(h, buffer, lo, hi, p), ==, scan(s, buffer, lo, hi, false, false, p));
        g_assert_cmpuint(psc_history_next_writer(h, buffer, lo, hi, p), ==, scan(s, buffer, lo, hi, false, true, p));
        g_assert_cmpuint(psc_history_last_reader(h, buffer, lo, hi, p), ==, scan(s, buffer, lo, hi, true, false, p));
        g_assert_cmpuint(psc_history_next_reader(h, buffer, lo, hi, p), ==, scan(s, buffer, lo, hi, true, true, p));
        g_assert_cmpuint(psc_history_next_access(h, buffer, p), ==, scan_access(s, buffer, true, p));
        g_assert_cmpuint(psc_history_prev_access(h, buffer, p), ==, scan_access(s, buffer, false, p));
        g_assert_cmpuint(psc_history_tenant(h, buffer, lo, p), ==, scan_tenant(h, buffer, lo, p));
    }
}

/* Bytes of a buffer that its tenants at p cover, one by one; of a buffer that nobody shares, all that it or a tenant has. */
static uint64_t used_of(const struct psc_history *h, uint32_t buffer, int32_t p)
{
    bool shared = false, busy = false;
    uint8_t held[4096] = {0};
    uint64_t used = 0, bytes = h->story->buffers[buffer].bytes;
    for (uint32_t i = h->buffer_at[buffer]; i < h->buffer_at[buffer + 1]; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        shared = shared || t->lo;
        bytes = MAX(bytes, t->hi);
        if (p < t->first || p >= t->end)
            continue;
        busy = true;
        g_assert_cmpuint(t->hi, <=, sizeof held);
        for (uint64_t byte = t->lo; byte < t->hi; byte++)
            used += !held[byte], held[byte] = 1;
    }
    return shared ? used : busy ? bytes : 0;
}

static void assert_live_sets(const struct psc_history *h)
{
    uint32_t *found = g_new(uint32_t, h->tenancy_n + 1), few[3];

    for (int32_t p = -1; p <= (int32_t)h->story->position_n; p++) {
        uint32_t n = psc_history_live_at(h, p, found, h->tenancy_n), k = 0;
        uint64_t bytes = 0, used = 0;
        for (uint32_t i = 0; i < h->tenancy_n; i++) {
            const struct psc_tenancy *t = &h->tenancies[i];
            const struct psc_buffer *buffer = &h->story->buffers[t->buffer];
            if (p < t->first || p >= t->end)
                continue;
            g_assert_cmpuint(k, <, n);
            g_assert_cmpuint(found[k++], ==, i);
            if (buffer->role == PSC_ROLE_STAGING)
                continue;
            bytes += t->hi - t->lo;
        }
        g_assert_cmpuint(k, ==, n);
        for (uint32_t b = 0; b < h->story->buffer_n; b++)
            used += h->story->buffers[b].role == PSC_ROLE_STAGING ? 0 : used_of(h, b, p);
        g_assert_cmpuint(bytes, ==, h->live_bytes[p + 1]);
        g_assert_cmpuint(used, ==, h->used_bytes[p + 1]);
        g_assert_cmpuint(psc_history_live_at(h, p, few, 3), ==, n);
        for (uint32_t i = 0; i < 3 && i < n; i++)
            g_assert_cmpuint(few[i], ==, found[i]);
    }
    g_free(found);
}

/* Neighbours in time are the nearest tenancies of the same buffer that share a byte. */
static void assert_neighbours(const struct psc_history *h)
{
    for (uint32_t i = 0; i < h->tenancy_n; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        uint32_t prev = PSC_NONE, next = PSC_NONE;
        for (uint32_t k = h->buffer_at[t->buffer]; k < h->buffer_at[t->buffer + 1]; k++) {
            const struct psc_tenancy *o = &h->tenancies[k];
            if (k == i || o->lo >= t->hi || t->lo >= o->hi || o->lo == o->hi || t->lo == t->hi)
                continue;
            if (o->write_event < t->write_event)
                prev = k;
            else if (next == PSC_NONE)
                next = k;
        }
        g_assert_cmpuint(t->prev_tenant, ==, prev);
        g_assert_cmpuint(t->next_tenant, ==, next);
    }
}

static void test_random(void)
{
    static const struct shape shapes[] = {{1, 1, 8, 0}, {40, 1, 16, 1}, {300, 1, 200, 1}, {300, 9, 64, 0}, {700, 2, 1000, 1}};
    uint64_t seed = test_seed();
    unsigned stories = 0;

    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned i = 0; i < 40; i++) {
        const struct shape *shape = &shapes[i % G_N_ELEMENTS(shapes)];
        struct psc_arena arena = {0};
        struct psc_history *h = build(&arena, random_story(&arena, &seed, shape));
        g_assert_cmpuint(h->tenancy_n, ==, shape->value_n);
        assert_lookups(h, &seed, shape->size);
        assert_live_sets(h);
        assert_neighbours(h);
        psc_arena_release(&arena);
        stories++;
    }
    g_assert_cmpuint(stories, ==, 40);
}

static void test_falling_positions(void)
{
    struct psc_arena arena = {0};
    struct psc_story_builder *b = psc_story_builder_new();
    struct psc_history *h = NULL;
    struct psc_story *story;
    struct psc_error err = {0};
    struct psc_event e = psc_event_blank(PSC_EV_CLEAR, 3);

    psc_story_add_lane(b, "host", PSC_BACKEND_NONE);
    psc_story_add_event(b, &e);
    e.position = 1;
    e.run = 1;
    psc_story_add_event(b, &e);
    psc_story_set_order(b, 4, NULL, NULL, PSC_EXEC_SERIAL, NULL, false);
    g_assert_cmpint(psc_story_builder_finish(b, &arena, &story, &err), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&arena, story, &h, &err), ==, PSC_ERR_ORDER);
    g_assert_null(h);
    psc_story_builder_free(b);
    psc_arena_release(&arena);
}

static enum psc_status build_once(void *data)
{
    struct psc_arena arena = {0};
    struct psc_history *h;
    enum psc_status status = psc_history_build(&arena, data, &h, NULL);

    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};

    g_assert_cmpuint(test_oom_loop(build_once, test_story_arena(&arena, false).story), >, 0);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/history/candela/in-place-chain-and-lookups", test_candela);
    g_test_add_func("/core/history/arena/live-bytes-follow-the-published-trace", test_arena);
    g_test_add_func("/core/history/leases/a-lent-output-lives-until-it-is-dropped", test_leases);
    g_test_add_func("/core/history/a-clobbered-tenant-lasts-until-its-doomed-read", test_clobber);
    g_test_add_func("/core/history/random-stories-agree-with-scans", test_random);
    g_test_add_func("/core/history/falling-positions-are-refused", test_falling_positions);
    g_test_add_func("/core/history/oom", test_oom);
    return g_test_run();
}
