/* Planned against recorded: records made by changing what a plan predicts, so that every difference is known. */
#include "core/base/hash.h"
#include "core/debug/compare-stories.h"
#include "tests/planned.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

/* A record: what the plan predicts, with buffers and backends numbered anew, the parts that no recorder sees left out. */
struct record {
    struct psc_story story;
    struct psc_event *events;
    struct psc_buffer *buffers;
    uint32_t *number; /* [buffer_n] of the plan's buffers */
};

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(psc_random_next(seed) % n);
}

static struct record record_of(struct psc_arena *arena, const struct psc_story *planned, uint64_t *seed)
{
    struct record r = {.story = *planned};
    uint32_t n = planned->buffer_n;
    r.events = psc_arena_alloc(arena, (size_t)planned->event_n * 2 + 8, sizeof *r.events);
    r.buffers = psc_arena_alloc(arena, n + 1, sizeof *r.buffers);
    r.number = psc_arena_alloc(arena, n + 1, sizeof *r.number);
    const char **backends = psc_arena_alloc(arena, planned->backend_n + 1, sizeof *backends);
    for (uint32_t i = 0; i < n; i++)
        r.number[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = draw(seed, i), swap = r.number[i - 1];
        r.number[i - 1] = r.number[k];
        r.number[k] = swap;
    }
    for (uint32_t i = 0; i < planned->backend_n; i++)
        backends[planned->backend_n - 1 - i] = planned->backends[i];
    for (uint32_t i = 0; i < n; i++) {
        r.buffers[r.number[i]] = planned->buffers[i];
        if (planned->buffers[i].backend < planned->backend_n)
            r.buffers[r.number[i]].backend = (uint8_t)(planned->backend_n - 1 - planned->buffers[i].backend);
    }
    struct psc_value *values = psc_arena_alloc(arena, planned->value_n + 1, sizeof *values);
    memcpy(values, planned->values, planned->value_n * sizeof *values);
    for (uint32_t i = 0; i < planned->value_n; i++)
        if (values[i].backend < planned->backend_n)
            values[i].backend = (uint8_t)(planned->backend_n - 1 - values[i].backend);
    r.story.event_n = 0;
    for (uint32_t i = 0; i < planned->event_n; i++) {
        struct psc_event e = planned->events[i];
        if (e.kind == PSC_EV_ALLOC || e.kind == PSC_EV_RELEASE || e.kind == PSC_EV_VIEW)
            continue;
        if (e.buffer < n)
            e.buffer = r.number[e.buffer];
        r.events[r.story.event_n++] = e;
    }
    r.story.buffers = r.buffers;
    r.story.events = r.events;
    r.story.values = values;
    r.story.backends = backends;
    r.story.predicted = false;
    return r;
}

static bool is_compared(const struct psc_event *e)
{
    return e->kind == PSC_EV_FILL || e->kind == PSC_EV_READ || e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_READ ||
           e->kind == PSC_EV_ROWS_WRITE || e->kind == PSC_EV_ENQUEUE || e->kind == PSC_EV_EXPORT || e->kind == PSC_EV_WAIT;
}

static struct psc_story_comparison *compare(struct psc_arena *arena, const struct psc_story *planned, const struct record *r)
{
    struct psc_story_comparison *c = NULL;
    g_assert_cmpint(psc_compare_stories(arena, planned, &r->story, &c, NULL), ==, PSC_OK);
    uint32_t sum = 0;
    for (int k = 0; k < PSC_DIFF_N; k++)
        sum += c->count[k];
    g_assert_cmpuint(sum, ==, c->diff_n);
    for (uint32_t i = 0; i + 1 < c->diff_n; i++)
        g_assert_cmpint(c->diffs[i].position, <=, c->diffs[i + 1].position);
    for (uint32_t i = 0; i < c->diff_n; i++)
        if (c->diffs[i].recorded != PSC_NONE)
            g_assert_cmpuint(c->diff_at[c->diffs[i].recorded], !=, PSC_NONE);
    return c;
}

struct round {
    struct psc_arena arena;
    struct planned planned;
    struct record record;
    uint64_t seed;
};

static void begin(struct round *r, uint64_t seed)
{
    struct random_graph_options options = random_graph_all;
    *r = (struct round){.seed = seed};
    options.nodes = 20 + draw(&r->seed, 120);
    r->planned = planned_graph(random_graph(&r->arena, seed, &options), NULL);
    r->record = record_of(&r->arena, r->planned.story, &r->seed);
}

static void end(struct round *r)
{
    planned_release(&r->planned);
    psc_arena_release(&r->arena);
}

static void test_as_planned(void)
{
    uint64_t seed = test_seed();
    uint32_t pairs = 0;
    for (int i = 0; i < 60; i++) {
        struct round r;
        struct psc_text text = {0};
        begin(&r, seed + (uint64_t)i);
        struct psc_story_comparison *c = compare(&r.arena, r.planned.story, &r.record);
        g_assert_cmpuint(c->diff_n, ==, 0);
        for (uint32_t b = 0; b < r.planned.story->buffer_n; b++)
            g_assert_cmpuint(c->buffer_of[b], ==, r.record.number[b]);
        psc_explain_comparison(&text, NULL, c);
        g_assert_cmpuint(c->behind_n, ==, 0);
        g_assert_true(g_str_has_prefix(psc_text_str(&text), "It happened as planned: "));
        psc_text_release(&text);
        pairs += c->pair_n;
        end(&r);
    }
    g_assert_cmpuint(pairs, >, 6000);
}

/* Two buffers exchanged from a place on: each access to them, and no other, lies in another buffer. */
static void test_swapped(void)
{
    uint64_t seed = test_seed() + 1000;
    uint32_t found = 0;
    for (int i = 0; i < 60; i++) {
        struct round r;
        begin(&r, seed + (uint64_t)i);
        uint32_t a = draw(&r.seed, r.record.story.buffer_n), b = draw(&r.seed, r.record.story.buffer_n), want = 0;
        int32_t from = (int32_t)draw(&r.seed, r.record.story.position_n);
        for (uint32_t e = 0; e < r.record.story.event_n; e++) {
            struct psc_event *event = &r.record.events[e];
            if (event->position < from || (event->buffer != a && event->buffer != b))
                continue;
            event->buffer = event->buffer == a ? b : a;
            want += a != b && is_compared(event) && event->kind != PSC_EV_WAIT;
        }
        struct psc_story_comparison *c = compare(&r.arena, r.planned.story, &r.record);
        g_assert_cmpuint(c->count[PSC_DIFF_BUFFER], ==, want);
        g_assert_cmpuint(c->diff_n, ==, want);
        found += want;
        for (uint32_t d = 0; d < c->diff_n; d++) {
            struct psc_text text = {0};
            psc_explain_story_diff(&text, r.planned.graph, r.planned.story, &r.record.story, &c->diffs[d]);
            g_assert_nonnull(strstr(psc_text_str(&text), ", planned was "));
            psc_text_release(&text);
        }
        end(&r);
    }
    g_assert_cmpuint(found, >, 200);
}

static void test_other_bytes(void)
{
    struct round r;
    begin(&r, test_seed() + 2000);
    uint32_t changed = 0;
    for (uint32_t e = 0; e < r.record.story.event_n; e += 7)
        if (is_compared(&r.record.events[e]) && r.record.events[e].kind != PSC_EV_WAIT) {
            r.record.events[e].hi += 4;
            changed++;
        }
    struct psc_story_comparison *c = compare(&r.arena, r.planned.story, &r.record);
    g_assert_cmpuint(changed, >, 5);
    g_assert_cmpuint(c->count[PSC_DIFF_BYTES], ==, changed);
    g_assert_cmpuint(c->diff_n, ==, changed);
    end(&r);
}

/* Events dropped and added. One that is dropped of several alike shifts none of the others. */
static void test_missing_and_extra(void)
{
    uint64_t seed = test_seed() + 3000;
    uint32_t missing = 0, extra = 0;
    for (int i = 0; i < 40; i++) {
        struct round r;
        begin(&r, seed + (uint64_t)i);
        uint32_t n = 0, dropped = 0;
        psc_node victim = r.record.events[draw(&r.seed, r.record.story.event_n)].node;
        for (uint32_t e = 0; e < r.record.story.event_n; e++) {
            struct psc_event event = r.record.events[e];
            bool drops = victim != PSC_NONE && event.node == victim && is_compared(&event);
            dropped += drops;
            if (!drops)
                r.record.events[n++] = event;
        }
        struct psc_event more = r.record.events[n / 2];
        bool adds = is_compared(&more) && more.kind == PSC_EV_READ;
        if (adds) {
            more.operand = 77;
            memmove(&r.record.events[n / 2 + 1], &r.record.events[n / 2], (n - n / 2) * sizeof more);
            r.record.events[n / 2] = more;
            n++;
        }
        uint32_t kinds_before = 0, kinds_after = 0;
        for (uint32_t e = 0; e < r.planned.story->event_n; e++)
            kinds_before |= is_compared(&r.planned.story->events[e]) ? 1u << r.planned.story->events[e].kind : 0;
        for (uint32_t e = 0; e < n; e++)
            kinds_after |= is_compared(&r.record.events[e]) ? 1u << r.record.events[e].kind : 0;
        r.record.story.event_n = n;
        struct psc_story_comparison *c = compare(&r.arena, r.planned.story, &r.record);
        if (kinds_before == kinds_after) { /* else the record has none of a kind: that kind is not compared */
            g_assert_cmpuint(c->count[PSC_DIFF_MISSING], ==, dropped);
            g_assert_cmpuint(c->count[PSC_DIFF_EXTRA], ==, adds);
            g_assert_cmpuint(c->diff_n, ==, dropped + adds);
            missing += dropped, extra += adds;
        }
        end(&r);
    }
    g_assert_cmpuint(missing, >, 40);
    g_assert_cmpuint(extra, >, 5);
}

/* One node carried past many others is the one that is out of order. */
static void test_order(void)
{
    uint64_t seed = test_seed() + 4000;
    uint32_t moved = 0;
    for (int i = 0; i < 40; i++) {
        struct round r;
        begin(&r, seed + (uint64_t)i);
        struct psc_event *events = r.record.events;
        uint32_t n = r.record.story.event_n, first = 0, last, k, others = 0;
        psc_node node = (psc_node)draw(&r.seed, r.planned.graph->n);
        while (first < n && (events[first].node != node || events[first].position < 0))
            first++;
        for (last = first; last < n && events[last].node == node && events[last].position < (int32_t)r.planned.graph->n; last++)
            ;
        bool writes = false;
        for (k = first; k < last; k++)
            writes |= events[k].kind == PSC_EV_WRITE;
        uint32_t to = last;
        for (psc_node seen = node; to < n && events[to].position < (int32_t)r.planned.graph->n && others < 4; to++)
            if (events[to].kind == PSC_EV_WRITE && events[to].node != seen)
                others++, seen = events[to].node;
        if (first == n || !writes || others < 3) {
            end(&r);
            continue;
        }
        struct psc_event *block = g_memdup2(events + first, (last - first) * sizeof *block);
        memmove(events + first, events + last, (to - last) * sizeof *events);
        memcpy(events + first + (to - last), block, (last - first) * sizeof *events);
        g_free(block);
        struct psc_story_comparison *c = compare(&r.arena, r.planned.story, &r.record);
        g_assert_cmpuint(c->count[PSC_DIFF_ORDER], ==, 1);
        g_assert_cmpuint(c->diff_n, ==, 1);
        g_assert_cmpuint(c->diffs[0].node, ==, node);
        moved++;
        end(&r);
    }
    g_assert_cmpuint(moved, >, 10);
}

/* A recorder that saw only writes says nothing of reads. */
static void test_kinds(void)
{
    struct round r;
    begin(&r, test_seed() + 5000);
    uint32_t n = 0;
    for (uint32_t e = 0; e < r.record.story.event_n; e++)
        if (r.record.events[e].kind == PSC_EV_WRITE)
            r.record.events[n++] = r.record.events[e];
    r.record.story.event_n = n;
    struct psc_story_comparison *c = compare(&r.arena, r.planned.story, &r.record);
    g_assert_cmpuint(c->kinds, ==, 1u << PSC_EV_WRITE);
    g_assert_cmpuint(c->diff_n, ==, 0);
    g_assert_cmpuint(c->pair_n, ==, n);
    end(&r);
}

static void test_sentences(void)
{
    struct planned p = planned_new("x: input 4\na: silu 4 x\nb: add 4 a x\nout b", NULL);
    struct psc_arena arena = {0};
    uint64_t seed = 1;
    struct record r = record_of(&arena, p.story, &seed);
    struct psc_story_comparison *c;
    struct psc_text text = {0};
    for (uint32_t e = 0; e < r.story.event_n; e++)
        if (r.events[e].kind == PSC_EV_WRITE && r.events[e].node == 1)
            r.events[e].hi += 4;
    c = compare(&arena, p.story, &r);
    g_assert_cmpuint(c->diff_n, ==, 1);
    psc_explain_story_diff(&text, p.graph, p.story, &r.story, &c->diffs[0]);
    g_assert_cmpstr(psc_text_str(&text), ==, "#1 a wrote in b1 [0x0, +20 B), planned was b1 [0x0, +16 B).");
    psc_text_clear(&text);
    psc_explain_comparison(&text, p.graph, c);
    g_assert_nonnull(strstr(psc_text_str(&text), "1 difference between plan and record"));
    g_assert_nonnull(strstr(psc_text_str(&text), "1 at other bytes."));
    psc_text_release(&text);
    psc_arena_release(&arena);
    planned_release(&p);
}

/* A run that stopped: what would have come behind is told as that, and is no difference of what did happen. */
static void test_stopped(void)
{
    struct planned p = planned_new("x: input 4\na: silu 4 x\nb: add 4 a x\nc: silu 4 b\nd: silu 4 c\nout d", NULL);
    static const char *const said[2] = {
        "The record ends at #2 b, with 4 events of the plan still to come. All up to there happened as planned: 6 fills, reads and writes, each at its bytes and in its order.",
        "The record ends at #2 b, with 4 events of the plan still to come. Up to there 1 difference between plan and record, 6 events compared: 1 at other bytes.",
    };
    for (int wrong = 0; wrong < 2; wrong++) {
        struct psc_arena arena = {0};
        struct psc_text text = {0};
        uint64_t seed = 1;
        struct record r = record_of(&arena, p.story, &seed);
        uint32_t n = 0;
        for (uint32_t e = 0; e < r.story.event_n; e++) {
            struct psc_event event = r.events[e];
            if (event.kind == PSC_EV_WRITE && event.node == 1)
                event.hi += wrong ? 4 : 0;
            if (event.node == PSC_NONE ? event.kind == PSC_EV_FILL : event.node < 3)
                r.events[n++] = event;
        }
        r.story.event_n = n;
        struct psc_story_comparison *c = compare(&arena, p.story, &r);
        g_assert_cmpuint(c->last, ==, 2);
        psc_explain_comparison(&text, p.graph, c);
        g_assert_cmpstr(psc_text_str(&text), ==, said[wrong]);
        psc_text_release(&text);
        psc_arena_release(&arena);
    }
    planned_release(&p);
}

static enum psc_status compare_once(void *data)
{
    struct round *r = data;
    struct psc_arena arena = {0};
    struct psc_story_comparison *c = NULL;
    enum psc_status status = psc_compare_stories(&arena, r->planned.story, &r->record.story, &c, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct round r;
    begin(&r, test_seed() + 6000);
    for (uint32_t e = 0; e < r.record.story.event_n; e += 5)
        r.record.events[e].lo += 4;
    g_assert_cmpuint(test_oom_loop(compare_once, &r), >, 8);
    end(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    g_test_add_func("/core/debug/compare-stories/a-faithful-record-has-no-difference", test_as_planned);
    g_test_add_func("/core/debug/compare-stories/swapped-buffers-are-found-in-each-access", test_swapped);
    g_test_add_func("/core/debug/compare-stories/other-bytes-are-found", test_other_bytes);
    g_test_add_func("/core/debug/compare-stories/a-record-that-ends-early", test_stopped);
    g_test_add_func("/core/debug/compare-stories/what-is-missing-and-what-was-not-planned", test_missing_and_extra);
    g_test_add_func("/core/debug/compare-stories/the-node-that-moved-is-named", test_order);
    g_test_add_func("/core/debug/compare-stories/kinds-that-were-not-recorded-are-left-out", test_kinds);
    g_test_add_func("/core/debug/compare-stories/differences-in-words", test_sentences);
    g_test_add_func("/core/debug/compare-stories/out-of-memory", test_oom);
    return g_test_run();
}
