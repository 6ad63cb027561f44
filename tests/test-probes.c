/* Five graphs that a widely used allocator of graphs gets wrong, through everything here that makes, keeps or uses a plan.
 *
 *     kept plan, another operand      t4 = t3 + t2 was planned, t4 = t3 + t1 is run: 16 where 10 is right
 *     kept plan, another output       t1 is read at the end, too: its bytes were given away
 *     results that nobody reads       a hundred of them, never given back
 *     a gathered operand              rows of b in another order are added into b's own bytes: 320 where 202 is right
 *     an operand read twice by rows   the gradient of a softmax in the bytes of y, which every row sums up first
 *
 * Each is planned right by every planner, found by the checker when it is planned as there, refused by all that says
 * whether a plan still holds, and computes the right numbers in a session that has run the other graph before.
 */
#include "core/graph/fingerprint.h"
#include "core/plan/offsets/boxing.h"
#include "core/plan/offsets/repack.h"
#include "core/run/run.h"
#include "tests/planned.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

struct probe {
    const char *path;
    const char *before, *graph;    /* what was planned; what is run */
    const char *places, *findings; /* as that allocator places the graph (A: one buffer of 48 bytes); what the checker says */
    const char *apart[2][2];       /* pairs of nodes that no planner may put over each other */
    const char *node;              /* gives `right`, and `wrong` when it is run as placed; NULL: it cannot be run */
    float right[2], wrong[2];
    uint32_t confirmed;            /* reads that find other bytes than were written; none when the op itself does the harm */
};

#define START "x: input 1\nt1: scale 1 x scale=2\nt2: scale 1 x scale=6\nt3: add 1 t1 t2\n"
#define ROWS "x: input 1x2\ny: input 1x2\nids: input 2 i32\nb: scale 1x2 x scale=2\na: scale 1x2 y scale=10\n"
#define GRADIENT "x: input 2x2\ny: matmul 2x2 x\ndy: matmul 2x2 x\n"

static const struct probe probes[] = {
    {"kept-plan-another-operand", START "t4: add 1 t3 t2\nout t4", START "t4: add 1 t3 t1\nout t4",
     "x=X t1=A t2=A+4 t3=A t4=A", "K5 t1 t3 t4", {{"t3", "t1"}}, "t4", {10}, {16}, 1},
    {"kept-plan-another-output", START "t4: add 1 t3 t2\nout t4", START "t4: add 1 t3 t2\nout t4 t1",
     "x=X t1=A t2=A+4 t3=A t4=A", "K1 t1 t4 export", {{"t3", "t1"}, {"t4", "t1"}}, "t1", {2}, {14}, 1},
    {"a-gathered-operand", ROWS "c: add 1x2 a b\nout a c", ROWS "g: get_rows 1x2 b ids\no: add 1x2 a g\nout a o",
     "x=X y=Y ids=I b=A a=A+8 g=A o=A", "K5 b g g", {{"g", "b"}, {"o", "a"}}, "o", {120, 202}, {120, 220}, 0},
    {"a-gathered-operand-of-one-op", ROWS "c: add 1x2 a b\nout a c", ROWS "o: add_id 1x2 a b ids\nout a o",
     "x=X y=Y ids=I b=A a=A+8 o=A", "K5 b o o", {{"o", "b"}, {"o", "a"}}, NULL, {0}, {0}, 0},
    {"an-operand-read-twice-by-rows", GRADIENT "o: mul 2x2 dy y\nout dy o", GRADIENT "o: soft_max_back 2x2 dy y\nout dy o",
     "x=X y=A dy=A+16 o=A", "K5 y o o", {{"o", "y"}, {"o", "dy"}}, NULL, {0}, {0}, 0},
};

/* ---- planned --------------------------------------------------------------------------------------------------------- */

static bool meet(const struct psc_place *a, const struct psc_place *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static void test_planned(gconstpointer data)
{
    const struct probe *probe = data;
    unsigned n = 0;
    for (const struct psc_planner *planner = psc_planners; planner->name; planner++)
        for (int topological = 0; topological < 2; topological++, n++) {
            char *words = g_strjoin(" ", planner->name, "hardened", topological ? "topological" : "build", NULL);
            struct planned p = planned_new(probe->graph, words);
            char *findings = planned_findings(&p);
            g_test_message("%s", words);
            g_assert_cmpstr(findings, ==, "");
            for (size_t k = 0; k < G_N_ELEMENTS(probe->apart) && probe->apart[k][0]; k++)
                g_assert_false(meet(planned_find(&p, probe->apart[k][0]), planned_find(&p, probe->apart[k][1])));
            g_free(findings);
            g_free(words);
            planned_release(&p);
        }
    g_assert_cmpuint(n, >=, 16);
}

/* "x=X t1=A+4": by name. */
static struct psc_foreign foreign_of(struct psc_arena *arena, const struct psc_graph *g, const char *text)
{
    char **words = g_strsplit(text, " ", -1);
    struct psc_foreign_place *places = psc_arena_alloc(arena, g_strv_length(words), sizeof *places);
    struct psc_foreign foreign = {.places = places};
    for (char **word = words; *word; word++) {
        char *buffer = strchr(*word, '='), *offset;
        *buffer++ = '\0';
        if ((offset = strchr(buffer, '+')))
            *offset++ = '\0';
        places[foreign.place_n++] = (struct psc_foreign_place){text_graph_node(g, *word), psc_arena_strdup(arena, buffer),
                                                               offset ? g_ascii_strtoull(offset, NULL, 10) : 0};
    }
    g_strfreev(words);
    return foreign;
}

static void test_found(gconstpointer data)
{
    const struct probe *probe = data;
    struct psc_arena arena = {0};
    struct psc_foreign foreign = foreign_of(&arena, text_graph(&arena, probe->graph), probe->places);
    struct planned p = planned_foreign(probe->graph, &foreign);
    char *findings = planned_findings(&p);
    g_assert_cmpstr(findings, ==, probe->findings);
    g_free(findings);
    planned_release(&p);
    psc_arena_release(&arena);
}

/* ---- kept ---------------------------------------------------------------------------------------------------------------- */

static struct psc_boxing boxes_of(struct psc_arena *arena, const struct psc_graph *g)
{
    struct psc_digest digest;
    struct psc_boxing boxing;
    g_assert_cmpint(psc_digest_build(arena, arena, g, &digest), ==, PSC_OK);
    g_assert_cmpint(psc_boxing_build(arena, g, &digest, 0, &boxing, NULL), ==, PSC_OK);
    return boxing;
}

/* What asks whether a plan that was kept still holds says no. */
static void test_kept(gconstpointer data)
{
    const struct probe *probe = data;
    struct psc_arena arena = {0};
    struct psc_graph *before = text_graph(&arena, probe->before), *now = text_graph(&arena, probe->graph);
    struct psc_fingerprint a = psc_graph_fingerprint(before), b = psc_graph_fingerprint(now);
    g_assert_false(psc_fingerprint_same_shape(&a, &b));
    struct psc_boxing planned = boxes_of(&arena, before), asked = boxes_of(&arena, now);
    struct psc_offsets_problem p = {.boxes = planned.boxes, .box_n = planned.box_n, .step_n = before->n + 1, .align = 4};
    for (const struct psc_packer *packer = psc_packers; packer->name; packer++) {
        struct psc_offsets packed;
        struct psc_repack layout;
        g_assert_cmpint(psc_offsets_pack(&arena, &p, packer, NULL, &packed, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_repack_build(&arena, &p, &packed, &layout, NULL), ==, PSC_OK);
        g_assert_true(psc_repack_covers(&layout, planned.boxes, planned.box_n));
        g_assert_false(psc_repack_covers(&layout, asked.boxes, asked.box_n));
    }
    psc_arena_release(&arena);
}

/* ---- run -------------------------------------------------------------------------------------------------------------------- */

static const float x_words[] = {1, 10}, y_words[] = {10, 20};
static const int32_t id_words[] = {1, 0};

static void fill(struct psc_session *s, const struct psc_graph *g)
{
    bool rows = g->input_n == 3;
    run_fill_f32(s, "x", x_words, rows ? 2 : 1);
    if (!rows)
        return;
    run_fill_f32(s, "y", y_words, 2);
    run_fill_i32(s, "ids", id_words, 2);
}

/* Each planner in one session: the graph that was planned first, the one that is run, the first again. */
static void run_both(const struct probe *probe, const struct psc_session_options *options)
{
    struct psc_arena arena = {0};
    struct psc_graph *before = text_graph(&arena, probe->before), *now = text_graph(&arena, probe->graph);
    uint64_t n = now->nodes[text_graph_node(now, probe->node)].elements;
    double_reset();
    struct psc_session *s = run_session(options);
    for (uint32_t turn = 0; turn < 4; turn++) {
        run_use(s, turn % 2 ? now : before, 1 + turn % 2);
        fill(s, psc_session_graph(s));
        run_execute(s, NULL);
        if (turn % 2)
            run_expect(s, probe->node, probe->right, n, 0);
    }
    psc_session_free(s);
    psc_arena_release(&arena);
}

static void test_run(gconstpointer data)
{
    const struct probe *probe = data;
    struct psc_arena_settings arenas = {.guards = PSC_ARENA_HARDENED, .check = true};
    unsigned n = 0;
    for (const struct psc_planner *planner = psc_planners; planner->name; planner++)
        for (int on_arenas = 0; on_arenas < 2; on_arenas++, n++) {
            struct psc_session_options options = run_options();
            options.planner = planner;
            options.recycled = PSC_RECYCLED_POISONED;
            options.arenas = on_arenas ? &arenas : NULL;
            g_test_message("%s%s", planner->name, on_arenas ? " on arenas" : "");
            run_both(probe, &options);
        }
    g_assert_cmpuint(n, >=, 16);
}

/* As that allocator places it, it computes what that allocator's users got; the run says so from its events, and where a read
 * finds other bytes than were written, from hashes alone. */
static void test_run_as_placed(gconstpointer data)
{
    const struct probe *probe = data;
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, probe->graph);
    struct psc_foreign foreign = foreign_of(&arena, g, probe->places);
    struct psc_run_fill fills[] = {{"x", x_words, g->input_n == 3 ? 2 : 1}, {"y", y_words, 2}, {"ids", id_words, 2}};
    struct psc_run_request request = {.graph = g, .fills = fills, .fill_n = g->input_n, .session = run_options(),
                                      .record = {.events = true, .hashes = true}};
    struct psc_run_result result;
    struct psc_error error = {0};
    request.session.planner = &psc_foreign_planner;
    request.session.plan.foreign = &foreign;
    double_reset();
    if (psc_run(double_apis, 3, &request, &result, &error))
        g_error("%s", error.text);
    run_expect(result.session, probe->node, probe->wrong, g->nodes[text_graph_node(g, probe->node)].elements, 0);
    g_assert_cmpuint(result.planned_finding_n, ==, 1);
    g_assert_cmpuint(result.finding_n, ==, 1);
    g_assert_cmpuint(result.confirmed_n, ==, probe->confirmed);
    psc_run_result_release(&result);
    psc_arena_release(&arena);
}

/* ---- results that nobody reads ------------------------------------------------------------------------------------------------- */

static char *long_chain(unsigned unread)
{
    GString *text = g_string_new("x: input 512\nc0: matmul 512 x\n");
    for (unsigned k = 1; k <= 100; k++) {
        g_string_append_printf(text, "c%u: matmul 512 c%u\n", k, k - 1);
        if (k <= unread)
            g_string_append_printf(text, "d%u: scale 512 c%u\n", k, k);
    }
    g_string_append(text, "out c100");
    return g_string_free(text, FALSE);
}

static void test_unread(void)
{
    char *plain = long_chain(0), *with = long_chain(100);
    for (const struct psc_planner *planner = psc_planners; planner->name; planner++) {
        char *words = g_strjoin(" ", planner->name, "hardened exact", NULL);
        struct planned a = planned_new(plain, words), b = planned_new(with, words);
        g_test_message("%s: %" G_GUINT64_FORMAT " bytes", planner->name, b.plan->figures.pool_bytes);
        g_assert_cmpuint(b.check.finding_n, ==, 0);
        g_assert_cmpuint(b.plan->figures.pool_bytes, ==, a.plan->figures.pool_bytes);
        if (strcmp(planner->name, "naive"))
            g_assert_cmpuint(b.plan->figures.pool_bytes, <=, 4 * 2048); /* the input, two of the chain, candela's result apart */
        g_free(words);
        planned_release(&a);
        planned_release(&b);
    }
    g_free(plain);
    g_free(with);
}

/* A plan that runs them all the same: each leaves after its own op, and the next may lie there. */
static void test_unread_that_run(void)
{
    char *text = long_chain(100);
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, text);
    GString *places = g_string_new("x=X c0=A");
    for (unsigned k = 1; k <= 100; k++)
        g_string_append_printf(places, " c%u=A+%u d%u=A+4096", k, k % 2 * 2048, k);
    struct psc_foreign foreign = foreign_of(&arena, g, places->str);
    struct planned p = planned_foreign(text, &foreign);
    char *findings = planned_findings(&p);
    unsigned released = 0;
    g_assert_cmpstr(findings, ==, "");
    for (uint32_t k = 0; k < p.plan->release_n; k++)
        released += p.plan->releases[k].lo == 4096 && p.plan->releases[k].position == (int32_t)p.plan->releases[k].tenant;
    g_assert_cmpuint(released, ==, 100);
    g_free(findings);
    g_string_free(places, TRUE);
    g_free(text);
    planned_release(&p);
    psc_arena_release(&arena);
}

static void add(const char *what, const struct probe *probe, GTestDataFunc test)
{
    char *path = g_strdup_printf("/core/probes/%s/%s", probe->path, what);
    g_test_add_data_func(path, probe, test);
    g_free(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t k = 0; k < G_N_ELEMENTS(probes); k++) {
        add("is-planned-right", &probes[k], test_planned);
        add("is-found-when-planned-wrong", &probes[k], test_found);
        add("a-kept-plan-is-refused", &probes[k], test_kept);
        if (probes[k].node) {
            add("computes-the-right-numbers", &probes[k], test_run);
            add("computes-the-wrong-numbers-as-placed-there", &probes[k], test_run_as_placed);
        }
    }
    g_test_add_func("/core/probes/results-that-nobody-reads/take-no-bytes", test_unread);
    g_test_add_func("/core/probes/results-that-nobody-reads/leave-at-once-when-they-run", test_unread_that_run);
    return g_test_run();
}
