#include "tests/planned.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 16 };

struct parsed {
    struct psc_foreign_place places[MAX];
    struct psc_foreign_buffer buffers[MAX];
    struct psc_foreign foreign;
    char **words;
};

/* "0=X 3=A+32 A:64 level rerun": node = buffer + offset, buffer : bytes, flags. */
static void parse(const char *text, struct parsed *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->words = g_strsplit(text, " ", -1);
    struct psc_foreign *f = &ret->foreign;
    f->places = ret->places;
    f->buffers = ret->buffers;
    for (char **word = ret->words; *word && **word; word++) {
        char *value, *offset;
        g_assert_cmpuint(f->place_n, <, MAX);
        if (!strcmp(*word, "level")) {
            f->executor = PSC_EXEC_LEVEL;
        } else if (!strcmp(*word, "rerun")) {
            f->rerun = true;
        } else if (!strcmp(*word, "topological")) {
            f->order = PSC_ORDER_TOPOLOGICAL;
        } else if ((value = strchr(*word, '='))) {
            *value++ = '\0';
            offset = strchr(value, '+');
            if (offset)
                *offset++ = '\0';
            ret->places[f->place_n++] =
                (struct psc_foreign_place){g_ascii_strtoull(*word, NULL, 10), value,
                                           offset ? g_ascii_strtoull(offset, NULL, 10) : 0};
        } else {
            value = strchr(*word, ':');
            g_assert_nonnull(value);
            *value++ = '\0';
            ret->buffers[f->buffer_n++] = (struct psc_foreign_buffer){*word, NULL, NULL, g_ascii_strtoull(value, NULL, 10)};
        }
    }
}

struct row {
    const char *path, *graph, *plan, *findings;
};
static const char siblings[] = "x: input 4\na: scale 4 x\nb: scale 4 a\nc: scale 4 x\nd: scale 4 c\no: add 4 b d\nout o";
static const char halves[] = "x: input 16\ns: scale 8 x\nu: scale 8 s\nt: scale 8 s\na: scale 8 u\nb: scale 8 t\n"
                             "c: concat 16 a b\nout c";
static const char late[] = "x: input 4\nw: input 4\nh: add 4 x w\nn: mul 4 h w\na: add 4 n w\nl: mul 4 h w\n"
                           "o: add 4 a l\nout o";
static const struct row rows[] = {
    {"a-plan-of-no-known-order-frees-early", late, "0=X 1=W 2=H 3=N 4=H 5=L 6=O", "K1 h a l"},
    {"a-plan-made-in-another-order-says-so", late, "0=X 1=W 2=H 3=N 4=H 5=L 6=O topological", "K2 h a l"},
    {"a-dead-node-runs-where-it-is-placed", "x: input 4\na: scale 4 x\nd: silu 4 x\nb: scale 4 x\no: add 4 a b\nout o",
     "0=X 1=A 2=A 3=B 4=C", "K1 a d o"},
    {"an-unplaced-dead-node-does-not-run", "x: input 4\na: scale 4 x\nd: silu 4 x\nb: scale 4 x\no: add 4 a b\nout o",
     "0=X 1=A 3=B 4=C", ""},
    {"one-buffer-may-serve-twice-in-series", siblings, "0=X 1=A 2=B 3=A 4=C 5=D", ""},
    {"levels-run-at-once", siblings, "0=X 1=A 2=B 3=A 4=C 5=D level", "K6 a c b"},
    {"in-place-before-a-sibling-reads", "x: input 4\ny: input 4\nb: add 4 x y\na: silu 4 b\nc: scale 4 b\nd: add 4 a c\nout d",
     "0=X 1=Y 2=A 3=A 4=B 5=C", "K5 b a c"},
    {"in-place-after-the-sibling-read", "x: input 4\ny: input 4\nb: add 4 x y\na: scale 4 b\nc: silu 4 b\nd: add 4 a c\nout d",
     "0=X 1=Y 2=A 3=B 4=A 5=B", ""},
    {"a-view-takes-its-roots-place", "x: input 4\nr: scale 4 x\nv: reshape 4 r\nt: scale 4 x\no: add 4 v t\nout o",
     "0=X 1=A 3=A 4=B", "K4 r t o"},
    {"a-view-elsewhere-is-a-copy", "x: input 4\nr: scale 4 x\nv: reshape 4 r\nt: scale 4 x\no: add 4 v t\nout o",
     "0=X 1=A 2=C 3=A 4=B", ""},
    {"a-view-of-a-copied-view-shows-the-copy",
     "x: input 8\nr: scale 8 x\nv: view 6 r +2\nw: view 2 v +1\nt: scale 8 x\no: add 2 w w\np: scale 8 t\nout o p",
     "0=X 1=A 2=C 4=A 5=B 6=D", ""},
    {"a-copied-view-reads-what-it-copies",
     "x: input 4\nr: scale 4 x\nt: scale 4 x\nv: reshape 4 r\no: add 4 v t\nout o", "0=X 1=A 2=A 3=C 4=D", "K1 r t v"},
    {"a-copied-view-reads-only-its-window",
     "x: input 8\nr: scale 8 x\nt: view 4 x\nu: scale 4 t\nv: view 4 r +4\no: add 4 v u\nout o",
     "0=X 1=A 3=A 4=C 5=D", ""},
    {"a-copied-view-reads-its-whole-window",
     "x: input 8\nr: scale 8 x\nt: view 4 x\nu: scale 4 t\nv: view 4 r +4\no: add 4 v u\nout o",
     "0=X 1=A 3=A+28 4=C 5=D", "K7 r u v"},
    {"the-reader-of-a-staged-copy-is-who-first-needs-it",
     "x: input 4\na: scale 4 x\nt: scale 4 x\np: scale 4 x @metal\nq: add 4 a p @metal\nr: add 4 q t @metal\nout r",
     "0=X 1=A 2=A 3=B 4=C 5=D", "K1 a t q"},
    {"an-output-view-keeps-its-root", "x: input 4\nr: scale 4 x\nv: reshape 4 r\nt: scale 4 x\nout v t", "0=X 1=A 3=A",
     "K4 r t export"},
    {"an-elided-concat-moves-nothing", halves, "0=X 1=B 2=D 3=A 4=C 5=C+32 6=C", ""},
    {"an-elided-concat-begins-with-its-first-operand", halves, "0=X 1=B 2=D 3=A 4=A 5=A+32 6=A", "K1 t a b"},
    {"a-strided-concat-is-no-two-halves", "x: input 2x2\na: scale 2x2 x\nb: scale 2x2 x\nc: concat 4x2 a b\nout c",
     "0=X 1=A 2=A+16 3=A", "K7 a c c\nK7 b c c"},
    {"an-output-may-not-be-taken-over", "x: input 4\nacc: input 4\np: mul 4 x x\nq: add 4 acc p\nout acc q",
     "0=X 1=Y 2=A 3=Y", "K5 acc q export"},
    {"a-second-run-needs-its-inputs", "x: input 4\ny: silu 4 x\nout y", "0=X 1=X rerun", "K5 x y rerun"},
    {"one-run-does-not", "x: input 4\ny: silu 4 x\nout y", "0=X 1=X", ""},
    {"a-late-input-is-filled-first", "x: input 4\na: scale 4 x\nb: scale 4 a\ny: input 4\no: add 4 b y\nout o",
     "0=X 1=P 2=Q 3=P 4=R", "K3 y a o"},
    {"a-buffer-may-be-too-small", "x: input 4\na: scale 8 x\no: scale 4 a\nout o", "0=X 1=A 2=B A:16", "K7 a a nobody"},
    {"a-matmul-may-not-overwrite-its-operand", "x: input 4\na: scale 4 x\no: matmul 4 a\nout o", "0=X 1=A 2=A",
     "K5 a o o"},
    {"equal-ids-on-two-backends-are-two-buffers", "x: input 4\na: scale 4 x\nb: scale 4 a @metal\nout b",
     "0=X 1=A 2=A", ""},
    {"kv-nodes-take-their-regions-whatever-is-said",
     "x: input 4\nk: scale 4 x\ns: kvcache_store 16 k k #0\nl: kvcache_load 16 #0\na: attn 4 x l x #0\nout a",
     "0=X 1=A 2=A 3=A 4=B", ""},
    {"nodes-without-bytes-need-no-place", "x: input 4\ne: input 0\nr: get_rows 4x0 x e\no: scale 4 x\nout o r", "0=X 3=B",
     ""},
    {"an-unread-input-need-not-be-placed", "x: input 4\ny: input 4\no: scale 4 x\nout o", "0=X 2=A", ""},
};

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct parsed plan;
    parse(row->plan, &plan);
    struct planned p = planned_foreign(row->graph, &plan.foreign);
    char *findings = planned_findings(&p);
    g_assert_cmpstr(findings, ==, row->findings);
    g_free(findings);
    planned_release(&p);
    g_strfreev(plan.words);
}

static const struct {
    const char *path, *graph, *plan, *sentence;
} refusals[] = {
    {"a-read-node-needs-a-place", "x: input 4\nh: scale 4 x\no: scale 4 h\nout o", "0=X 2=B",
     "node 1 (h) has no placement in the plan, but node 2 reads it"},
    {"a-root-read-through-a-view-needs-a-place", "x: input 4\nh: scale 4 x\nv: view 2 h\no: scale 2 v\nout o", "0=X 3=B",
     "node 1 (h) has no placement in the plan, but node 3 reads it"},
    {"an-output-needs-a-place", "x: input 4\no: scale 4 x\nout o", "0=X",
     "node 1 (o) has no placement in the plan, but the host reads it as an output"},
    {"what-an-output-view-shows-needs-a-place", "x: input 4\nh: scale 4 x\nv: view 2 h\nout v", "0=X",
     "node 1 (h) has no placement in the plan, but the host reads it as an output"},
    {"what-a-store-reads-needs-a-place", "x: input 4\nk: scale 4 x\ns: kvcache_store 16 k x #0\nout x", "0=X",
     "node 1 (k) has no placement in the plan, but node 2 reads it"},
    {"an-unknown-node", "x: input 4\nout x", "0=X 7=A", "the plan places node 7, which the graph does not have"},
    {"a-node-placed-twice", "x: input 4\nout x", "0=X 0=Y", "the plan places node 0 twice"},
    {"an-offset-out-of-this-world", "x: input 4\nout x", "0=X+18446744073709551615",
     "the plan places node 0 at byte 18446744073709551615, beyond 2^60"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        struct psc_arena arena = {0};
        struct psc_plan *plan = NULL;
        struct psc_error error = {0};
        struct parsed parsed;
        parse(refusals[i].plan, &parsed);
        g_assert_cmpint(psc_plan_from_foreign(&arena, text_graph(&arena, refusals[i].graph), &parsed.foreign, &plan,
                                              &error), !=, PSC_OK);
        g_assert_cmpstr(error.text, ==, refusals[i].sentence);
        g_assert_null(plan);
        g_strfreev(parsed.words);
        psc_arena_release(&arena);
    }
}

/* The elided concat takes both operands over where they lie. */
static void test_elided(void)
{
    struct parsed parsed;
    parse("0=X 1=B 2=D 3=A 4=C 5=C+32 6=C", &parsed);
    struct planned p = planned_foreign(halves, &parsed.foreign);
    unsigned taken = 0;
    for (uint32_t i = 0; i < p.story->event_n; i++)
        taken += p.story->events[i].kind == PSC_EV_ALIAS && p.story->events[i].node == 6;
    g_assert_cmpuint(taken, ==, 2);
    planned_release(&p);
    g_strfreev(parsed.words);
}

static void test_sizes(void)
{
    struct parsed parsed;
    parse("0=X 1=A+16 2=B X:16 A:4096", &parsed);
    struct planned p = planned_foreign("x: input 4\na: scale 8 x\no: scale 4 a\nout o", &parsed.foreign);
    g_assert_cmpstr(p.plan->buffers[1].name, ==, "A");
    g_assert_cmpuint(p.plan->buffers[1].bytes, ==, 4096);
    g_assert_cmpuint(p.plan->buffers[2].bytes, ==, 16);
    g_assert_cmpint(p.plan->buffers[0].role, ==, PSC_ROLE_INPUT);
    g_assert_cmpint(p.plan->buffers[2].role, ==, PSC_ROLE_OUTPUT);
    g_assert_cmpuint(p.plan->figures.pool_bytes, ==, 16 + 4096 + 16);
    g_assert_cmpuint(p.plan->figures.padding_bytes, ==, 4096 - 48);
    planned_release(&p);
    g_strfreev(parsed.words);
}

/* A tenant leaves after its last reader, inputs and outputs never: the window draws no bar beyond. */
static void test_releases(void)
{
    struct parsed parsed;
    parse("0=X 1=W 2=A 3=B 4=A+16 5=A+32 6=O", &parsed);
    struct planned p = planned_foreign(late, &parsed.foreign);
    GString *left = g_string_new(NULL);
    for (uint32_t i = 0; i < p.plan->release_n; i++) {
        const struct psc_release *r = &p.plan->releases[i];
        g_string_append_printf(left, "%u at %d from %" PRIu64 " to %" PRIu64 "; ", r->tenant, r->position, r->lo, r->hi);
    }
    g_assert_cmpstr(left->str, ==, "3 at 4 from 0 to 16; 2 at 5 from 0 to 16; 4 at 6 from 16 to 32; 5 at 6 from 32 to 48; ");
    g_string_free(left, TRUE);
    planned_release(&p);
    g_strfreev(parsed.words);
}

/* A plan of ours, told as placements only, comes back with the same places and the same verdict. */
static void test_round_trip(void)
{
    static const char *const words[] = {"", "hardened exact", "topological fifo", "l4 lifo", "naive"};
    for (guint64 seed = test_seed(), end = seed + 60; seed < end; seed++) {
        struct psc_arena arena = {0};
        struct psc_graph *graph = random_graph(&arena, seed, &random_graph_all);
        struct planned p = planned_graph(graph, words[seed % G_N_ELEMENTS(words)]);
        struct psc_foreign_place *places = psc_arena_alloc(&arena, graph->n, sizeof *places);
        struct psc_foreign foreign = {.places = places};
        for (psc_node i = 0; i < graph->n; i++)
            if (p.plan->places[i].buffer != PSC_NONE)
                places[foreign.place_n++] = (struct psc_foreign_place){
                    graph->nodes[i].id, p.plan->buffers[p.plan->places[i].buffer].name, p.plan->places[i].offset};
        struct psc_plan *again;
        struct psc_story *story;
        struct psc_check check;
        struct psc_error error = {0};
        if (psc_plan_from_foreign(&arena, graph, &foreign, &again, &error))
            g_error("seed %" G_GUINT64_FORMAT ": %s", seed, error.text);
        for (psc_node i = 0; i < graph->n; i++) {
            const struct psc_place *a = &p.plan->places[i], *b = &again->places[i];
            g_assert_cmpuint(a->offset, ==, b->offset);
            g_assert_cmpint(a->buffer == PSC_NONE, ==, b->buffer == PSC_NONE);
            if (a->buffer != PSC_NONE)
                g_assert_cmpstr(p.plan->buffers[a->buffer].name, ==, again->buffers[b->buffer].name);
            g_assert_cmpint(a->reason == PSC_WHY_VIEW, ==, b->reason == PSC_WHY_VIEW);
            if (a->reason == PSC_WHY_IN_PLACE)
                g_assert_cmpint(b->reason, ==, PSC_WHY_IN_PLACE);
        }
        g_assert_cmpint(psc_plan_lower(&arena, graph, again, &story, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_story_check(story, &error), ==, PSC_OK);
        g_assert_cmpint(psc_check_story(&arena, graph, story, &check, NULL), ==, PSC_OK);
        g_assert_cmpuint(check.wrong_n, ==, p.check.wrong_n);
        g_assert_cmpuint(check.finding_n, ==, p.check.finding_n);
        planned_release(&p);
        psc_arena_release(&arena);
    }
}

struct oom {
    struct psc_graph *graph;
    const struct psc_foreign *foreign;
};

static enum psc_status resolve_once(void *data)
{
    const struct oom *oom = data;
    struct psc_arena arena = {0};
    struct psc_plan *plan;
    struct psc_story *story;
    enum psc_status status = psc_plan_from_foreign(&arena, oom->graph, oom->foreign, &plan, NULL);
    if (!status)
        status = psc_plan_lower(&arena, oom->graph, plan, &story, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct parsed parsed;
    parse("0=X 1=B 2=D 3=A 4=C 5=C+32 6=C C:64", &parsed);
    struct oom oom = {text_graph(&arena, halves), &parsed.foreign};
    g_assert_cmpuint(test_oom_loop(resolve_once, &oom), >, 10);
    g_strfreev(parsed.words);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strconcat("/foreign/", rows[i].path, NULL);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    g_test_add_func("/foreign/what-is-missing-is-named", test_refusals);
    g_test_add_func("/foreign/an-elided-concat-takes-its-operands-over", test_elided);
    g_test_add_func("/foreign/buffers-state-their-bytes-or-fit-their-tenants", test_sizes);
    g_test_add_func("/foreign/tenants-leave-after-their-last-reader", test_releases);
    g_test_add_func("/foreign/our-own-placements-come-back", test_round_trip);
    g_test_add_func("/foreign/oom/every-allocation-may-fail", test_oom);
    return g_test_run();
}
