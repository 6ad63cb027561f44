#include "tests/planned.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

/* A row is a graph and the whole story of its plan. */
struct row {
    const char *path, *options, *graph, *story;
};
static const struct row rows[] = {
    {"reads-writes-and-releases", "exact",
     "a: input 4\nb: input 4\nsum: add 4 a b\nx2: scale 4 sum\no: scale 4 x2\nout o",
     "-1 fill a b0[0,16)\n-1 fill b b1[0,16)\n"
     "2 alloc sum b2[0,16)\n2 read a b0[0,16)\n2 read b b1[0,16)\n2 write sum b2[0,16)\n"
     "3 alloc x2 b3[0,16)\n3 read sum b2[0,16)\n3 write x2 b3[0,16)\n3 release sum b2[0,16)\n"
     "4 alloc o b2[0,16)\n4 read x2 b3[0,16)\n4 write o b2[0,16)\n4 release x2 b3[0,16)\n"
     "5 export o b2[0,16)"},
    {"in-place-takes-the-operand-over", "exact", "x: input 4\nt: scale 4 x\ns: silu 4 t\nout s",
     "-1 fill x b0[0,16)\n1 alloc t b1[0,16)\n1 read x b0[0,16)\n1 write t b1[0,16)\n"
     "2 read t b1[0,16)\n2 alias s b1[0,16) over t\n2 write s b1[0,16)\n3 export s b1[0,16)"},
    {"views-are-shown-and-read-by-their-own-name", "exact",
     "x: input 4\nt: scale 8 x\nv: view 4 t +2\no: scale 4 v\nout o",
     "-1 fill x b0[0,16)\n1 alloc t b1[0,32)\n1 read x b0[0,16)\n1 write t b1[0,32)\n"
     "2 view v b1[8,24) over t\n3 alloc o b2[0,16)\n3 read v b1[8,24)\n3 write o b2[0,16)\n"
     "3 release t b1[0,32)\n4 export o b2[0,16)"},
    {"a-repeated-source-is-read-twice", "exact", "x: input 4\no: add 4 x x\nout o",
     "-1 fill x b0[0,16)\n1 alloc o b1[0,16)\n1 read x b0[0,16)\n1 read x b0[0,16)\n1 write o b1[0,16)\n"
     "2 export o b1[0,16)"},
    {"stores-write-and-attention-reads-both-regions", "exact",
     "x: input 4\nk: scale 4 x\ns: kvcache_store 16 k x #0\nl: kvcache_load 16 #0\na: attn 4 x l x #0\nout a",
     "-1 fill x b0[0,16)\n1 alloc k b1[0,16)\n1 read x b0[0,16)\n1 write k b1[0,16)\n"
     "2 read k b1[0,16)\n2 read x b0[0,16)\n2 rows-write kv.0.k kv.0.k[0,64)\n2 rows-write kv.0.v kv.0.v[0,64)\n"
     "2 release k b1[0,16)\n"
     "4 alloc a b1[0,16)\n4 read x b0[0,16)\n4 rows-read kv.0.k kv.0.k[0,64)\n4 rows-read kv.0.v kv.0.v[0,64)\n"
     "4 read x b0[0,16)\n4 write a b1[0,16)\n5 export a b1[0,16)"},
    {"copies-are-queued-at-the-split-and-awaited-at-the-first-use", "exact",
     "x: input 4\ny: input 4 @metal\na: scale 4 x\nb: scale 4 y @metal\nc: add 4 a b @metal\nd: add 4 c a @metal\nout d",
     "-1 fill x b0[0,16)\n-1 fill y b0[0,16)\n2 alloc a b1[0,16)\n2 read x b0[0,16)\n2 write a b1[0,16)\n"
     "3 enqueue copy of a stage.2.metal[0,16) from a\n"
     "3 alloc b b1[0,16)\n3 read y b0[0,16)\n3 write b b1[0,16)\n"
     "4 wait copy of a\n4 alloc c b2[0,16)\n4 read copy of a stage.2.metal[0,16)\n4 read b b1[0,16)\n4 write c b2[0,16)\n"
     "4 release b b1[0,16)\n"
     "5 alloc d b1[0,16)\n5 read c b2[0,16)\n5 read copy of a stage.2.metal[0,16)\n5 write d b1[0,16)\n"
     "5 release a b1[0,16)\n5 release c b2[0,16)\n6 export d b1[0,16)"},
    {"copies-go-once-to-each-backend-that-reads", "exact",
     "x: input 4\na: scale 4 x\nb: scale 4 a @metal\nc: scale 4 a @cuda\nd: scale 4 a @metal\nout b c d",
     "-1 fill x b0[0,16)\n1 alloc a b1[0,16)\n1 read x b0[0,16)\n1 write a b1[0,16)\n"
     "2 enqueue copy of a stage.1.metal[0,16) from a\n2 wait copy of a\n"
     "2 alloc b b0[0,16)\n2 read copy of a stage.1.metal[0,16)\n2 write b b0[0,16)\n"
     "3 enqueue copy of a stage.1.cuda[0,16) from a\n3 wait copy of a\n"
     "3 alloc c b0[0,16)\n3 read copy of a stage.1.cuda[0,16)\n3 write c b0[0,16)\n"
     "4 alloc d b1[0,16)\n4 read copy of a stage.1.metal[0,16)\n4 write d b1[0,16)\n4 release a b1[0,16)\n"
     "5 export b b0[0,16)\n5 export c b0[0,16)\n5 export d b1[0,16)"},
    {"an-older-split-of-the-same-backend-is-read-where-it-lies", "exact",
     "x: input 4\na: scale 4 x\nb: scale 4 a @metal\nc: add 4 b a\nout c",
     "-1 fill x b0[0,16)\n1 alloc a b1[0,16)\n1 read x b0[0,16)\n1 write a b1[0,16)\n"
     "2 enqueue copy of a stage.1.metal[0,16) from a\n2 wait copy of a\n"
     "2 alloc b b0[0,16)\n2 read copy of a stage.1.metal[0,16)\n2 write b b0[0,16)\n"
     "3 enqueue copy of b stage.2.cpu[0,16) from b\n3 wait copy of b\n"
     "3 alloc c b2[0,16)\n3 read copy of b stage.2.cpu[0,16)\n3 read a b1[0,16)\n3 write c b2[0,16)\n"
     "3 release a b1[0,16)\n3 release b b0[0,16)\n4 export c b2[0,16)"},
    {"dead-and-empty-nodes-do-nothing", "exact",
     "x: input 4\ne: input 0\nd: silu 4 x\nr: get_rows 4x0 x e\no: scale 4 x\nout o r",
     "-1 fill x b0[0,16)\n4 alloc o b1[0,16)\n4 read x b0[0,16)\n4 write o b1[0,16)\n5 export o b1[0,16)"},
};

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct planned p = planned_new(row->graph, row->options);
    char *story = planned_story(&p);
    g_assert_cmpstr(story, ==, row->story);
    g_assert_cmpuint(p.check.finding_n, ==, 0);
    g_free(story);
    planned_release(&p);
}

static const struct psc_event *find_event(const struct psc_story *story, enum psc_event_kind kind)
{
    for (uint32_t i = 0; i < story->event_n; i++)
        if (story->events[i].kind == kind)
            return &story->events[i];
    g_assert_not_reached();
}

static void test_values(void)
{
    struct planned p = planned_new("x: input 4\nt: scale 8 x\nv: view 4 t +2\nw: view 2 v +1\n"
                                   "s: kvcache_store 16 x x #1\nb: scale 2 w @metal\nout w b", "exact");
    const struct psc_value *values = p.story->values;
    g_assert_cmpuint(p.story->value_n, ==, 6 + 2 * 2 + 1);
    g_assert_cmpint(values[0].kind, ==, PSC_VALUE_FILL);
    g_assert_true(values[3].is_view);
    g_assert_cmpuint(values[3].of, ==, 1);
    g_assert_cmpuint(values[3].offset, ==, 12);
    g_assert_true(values[3].is_output);
    g_assert_true(values[1].is_output);
    g_assert_false(values[2].is_output);
    g_assert_true(values[4].is_view);
    g_assert_cmpint(values[values[4].of].kind, ==, PSC_VALUE_REGION);
    g_assert_cmpint(values[values[4].of].layer, ==, 1);
    g_assert_cmpint(values[10].kind, ==, PSC_VALUE_STAGING);
    g_assert_cmpuint(values[10].of, ==, 3);
    g_assert_cmpuint(values[10].bytes, ==, 8);
    const struct psc_event *wait = find_event(p.story, PSC_EV_WAIT);
    g_assert_cmpint(p.story->events[wait->peer].kind, ==, PSC_EV_ENQUEUE);
    g_assert_cmpuint(p.story->events[wait->peer].peer, ==, 3);
    planned_release(&p);
}

/* Each backend is a lane of its own beside the host's. */
static void test_lanes(void)
{
    struct planned p = planned_new("x: input 4\na: scale 4 x\nb: scale 4 a @metal\nout b", "");
    g_assert_cmpuint(p.story->lane_n, ==, 3);
    g_assert_cmpstr(p.story->lanes[0].name, ==, "host");
    g_assert_cmpstr(p.story->lanes[1].name, ==, "cpu");
    g_assert_cmpstr(p.story->lanes[2].name, ==, "metal");
    for (uint32_t i = 0; i < p.story->event_n; i++)
        if (p.story->events[i].kind == PSC_EV_WRITE)
            g_assert_cmpuint(p.story->events[i].lane, ==, p.story->events[i].node == 1 ? 1 : 2);
    planned_release(&p);
}

static void test_believed_order(void)
{
    struct planned p = planned_new("x: input 4\na: scale 4 x\nb: scale 4 a\nout b", "topological");
    g_assert_null(p.story->believed_order); /* the two orders are the same */
    planned_release(&p);
    p = planned_new("x: input 4\na: scale 4 x\nb: scale 4 a\nc: scale 4 x\no: add 4 b c\nout o", "topological");
    g_assert_nonnull(p.story->believed_order);
    g_assert_null(p.story->order);
    g_assert_cmpuint(p.story->believed_order[2], ==, 3);
    planned_release(&p);
}

/* Between its release and its next taking nobody writes a buffer, and what is released is taken by then. */
static void test_releases(void)
{
    struct psc_arena arena = {0};
    struct planned p = planned_graph(qwen_graph(&arena, &qwen_prefill), "");
    bool *idle = psc_arena_alloc0(&arena, p.story->buffer_n, sizeof *idle);
    uint32_t released = 0;
    for (uint32_t i = 0; i < p.story->event_n; i++) {
        const struct psc_event *e = &p.story->events[i];
        if (e->kind == PSC_EV_RELEASE) {
            g_assert_false(idle[e->buffer]);
            idle[e->buffer] = true;
            released++;
        } else if (e->kind == PSC_EV_ALLOC) {
            idle[e->buffer] = false;
        } else if (e->buffer != PSC_NONE) {
            g_assert_false(idle[e->buffer]);
        }
    }
    g_assert_cmpuint(released, ==, p.plan->release_n);
    g_assert_cmpuint(released, >, 300);
    planned_release(&p);
    psc_arena_release(&arena);
}

/* Whatever the options and faults: the story keeps the rules (planned_graph asserts it). */
static void test_random_stories(void)
{
    static const char *const words[] = {"",     "topological fifo", "l1",        "l2",        "l3 lifo", "l4 exact",
                                        "l5",   "l7",               "hardened h1", "hardened h2", "h7",      "h8 random:5",
                                        "naive"};
    unsigned findings = 0;
    for (guint64 seed = test_seed(), end = seed + 60; seed < end; seed++) {
        struct psc_arena arena = {0};
        struct psc_graph *graph = random_graph(&arena, seed, &random_graph_all);
        for (size_t k = 0; k < G_N_ELEMENTS(words); k++) {
            struct planned p = planned_graph(graph, words[k]);
            findings += p.check.finding_n;
            planned_release(&p);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(findings, >, 100); /* the faults do harm */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strconcat("/lower/story/", rows[i].path, NULL);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    g_test_add_func("/lower/values/nodes-then-regions-then-copies", test_values);
    g_test_add_func("/lower/lanes/one-for-each-backend", test_lanes);
    g_test_add_func("/lower/order/the-believed-one-is-told-when-it-differs", test_believed_order);
    g_test_add_func("/lower/releases/nobody-touches-an-idle-buffer", test_releases);
    g_test_add_func("/lower/random/every-story-keeps-the-rules", test_random_stories);
    return g_test_run();
}
