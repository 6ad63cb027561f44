/* Runs on arenas: the numbers of runs in pools, over several runs with outputs held, shared and dropped in any order. */
#include "core/debug/arena-story.h"
#include "core/debug/arena-track.h"
#include "core/debug/check.h"
#include "core/run/arena-memory.h"
#include "tests/random-graph.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define CONTEXT 8u
#define SEEDS 60u
#define RUNS 6u

struct on_arenas {
    struct psc_arena_settings settings;
    struct psc_arena_story story;
    struct psc_session *s;
};

static void begin(struct on_arenas *a, const struct psc_arena_settings *settings, bool tells)
{
    struct psc_session_options options = run_options();
    *a = (struct on_arenas){.settings = *settings};
    if (tells) {
        g_assert_cmpint(psc_arena_story_init(&a->story, NULL), ==, PSC_OK);
        a->settings.story = &a->story;
    }
    options.arenas = &a->settings;
    a->s = run_session(&options);
}

static void end(struct on_arenas *a)
{
    psc_session_free(a->s);
    if (a->settings.story)
        psc_arena_story_release(&a->story);
}

/* The story that was told is well formed, and the checker finds nothing in it. */
static void check_story(struct on_arenas *a, uint64_t seed, uint32_t expected)
{
    struct psc_arena arena = {0};
    struct psc_story *story;
    struct psc_check check;
    struct psc_error error = {0};
    psc_session_arena_quiet(a->s);
    g_assert_cmpint(psc_arena_story_finish(&a->story, &arena, &story, &error), ==, PSC_OK);
    if (psc_story_check(story, &error) || psc_check_story(&arena, NULL, story, &check, &error))
        g_error("seed %" G_GUINT64_FORMAT ": %s", seed, error.text);
    if (check.finding_n != expected)
        g_error("seed %" G_GUINT64_FORMAT ": %u findings, expected %u; the first at %d: %s", seed, check.finding_n, expected,
                check.finding_n ? check.findings[0].read_position : -1,
                check.finding_n ? story->titles[check.findings[0].read_position] : "");
    psc_arena_release(&arena);
}

static const struct psc_arena_settings hardened = {.guards = PSC_ARENA_HARDENED, .check = true};
static const struct psc_arena_settings upstream = {.guards = PSC_ARENA_UPSTREAM, .check = true};

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

static struct psc_graph *make(struct psc_arena *arena, uint64_t seed)
{
    struct random_graph_options options = random_graph_all;
    options.nodes = 12 + (uint32_t)(seed % 50);
    options.backends = 1 + (uint32_t)(seed / 2 % 2); /* cpu, and a queue */
    double_reset();
    double_control.mix = true;
    return random_graph(arena, seed, &options);
}

struct kept { struct psc_held *held; void *copy; uint64_t bytes; };

static void drop(struct kept *kept, uint64_t seed)
{
    struct psc_error error = {0};
    uint64_t bytes;
    const void *now = psc_held_read(kept->held, &bytes);
    g_assert_cmpmem(now, bytes, kept->copy, kept->bytes);
    if (psc_held_drop(kept->held, &error))
        g_error("seed %" G_GUINT64_FORMAT ": %s", seed, error.text);
    g_free(kept->copy);
}

/* Holds some outputs, shares some of those, drops some in any order. */
static void shuffle(struct psc_session *s, GRand *rand, GArray *kept, uint64_t seed)
{
    const struct psc_graph *g = psc_session_graph(s);
    struct psc_error error = {0};
    for (uint32_t k = 0; k < g->output_n; k++) {
        struct kept one = {.bytes = g->nodes[g->outputs[k]].bytes};
        if (g_rand_int_range(rand, 0, 3) || !one.bytes || psc_op_info(g->nodes[g->nodes[g->outputs[k]].root].op)->is_kv)
            continue;
        one.copy = g_malloc(one.bytes);
        if (psc_session_read(s, g->outputs[k], one.copy, one.bytes / 4, &error)) { /* another output shows the same block */
            g_assert_nonnull(strstr(error.text, "somebody holds it"));
            g_free(one.copy);
            memset(&error, 0, sizeof error);
            continue;
        }
        if (psc_session_hold(s, g->outputs[k], &one.held, &error))
            g_error("seed %" G_GUINT64_FORMAT ": %s", seed, error.text);
        g_array_append_val(kept, one);
        if (g_rand_boolean(rand)) {
            struct kept other = {NULL, g_memdup2(one.copy, one.bytes), one.bytes};
            g_assert_cmpint(psc_held_share(one.held, &other.held, &error), ==, PSC_OK);
            g_array_append_val(kept, other);
        }
    }
    while (kept->len && g_rand_int_range(rand, 0, 3)) {
        guint at = (guint)g_rand_int_range(rand, 0, (gint32)kept->len);
        drop(&g_array_index(kept, struct kept, at), seed);
        g_array_remove_index_fast(kept, at);
    }
}

static void fill(struct psc_session *s, GRand *rand, uint64_t seed, uint32_t **mine)
{
    const struct psc_graph *g = psc_session_graph(s);
    for (psc_node i = 0; i < g->n; i++) {
        struct psc_error error = {0};
        uint32_t *words;
        if (g->nodes[i].op != PSC_OP_INPUT)
            continue;
        words = run_words(g, i, seed, CONTEXT);
        if (g_rand_boolean(rand) ? psc_session_borrow_node(s, i, words, g->nodes[i].elements, &error)
                                 : psc_session_fill_node(s, i, words, g->nodes[i].elements, &error))
            g_error("%s", error.text);
        g_free(mine[i]); /* borrowed until now, at most */
        mine[i] = words;
    }
}

static uint32_t expect_numbers_of_pools(uint64_t seed)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = make(&arena, seed);
    GRand *rand = g_rand_new_with_seed((guint32)seed);
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(struct kept));
    struct psc_arena_settings settings = seed % 2 ? hardened : upstream;
    struct psc_session *pool = run_session(NULL);
    struct on_arenas a;
    struct run_heard heard[2];
    struct psc_arena_broken broken;
    uint32_t **mine = g_new0(uint32_t *, g->n), compared = 0;
    for (unsigned k = 0; k < 2; k++) {
        settings.has_cap[k] = g_rand_int_range(rand, 0, 3) == 0;
        settings.cap[k] = (uint64_t)g_rand_int_range(rand, 0, 600);
    }
    settings.alignment = seed % 3 ? 0 : 128;
    begin(&a, &settings, true);
    run_listen(&heard[0], true);
    run_listen(&heard[1], true);
    run_use(pool, g, 1);
    run_use(a.s, g, 1);
    for (uint32_t run = 0; run < RUNS; run++) {
        if (!run || g_rand_int_range(rand, 0, 3)) { /* else as they are */
            run_fill_all(pool, seed + run, CONTEXT);
            fill(a.s, rand, seed + run, mine);
        } else {
            run_fill_all(pool, seed + run, CONTEXT);
            for (psc_node i = 0; i < g->n; i++) /* the same in both */
                if (g->nodes[i].op == PSC_OP_INPUT)
                    g_assert_cmpint(psc_session_fill_node(pool, i, mine[i], g->nodes[i].elements, NULL), ==, PSC_OK);
        }
        run_execute(pool, &heard[0].sink);
        run_execute(a.s, &heard[1].sink);
        compared += run_same_values(g, &heard[0], &heard[1], seed);
        shuffle(a.s, rand, kept, seed);
    }
    psc_session_arena_broken(a.s, &broken);
    if (broken.ever)
        g_error("seed %" G_GUINT64_FORMAT ": %s", seed, broken.text);
    check_story(&a, seed, 0);
    run_heard_release(&heard[1]);
    run_heard_release(&heard[0]);
    if (seed % 5 == 0) { /* held outputs outlive the session */
        psc_session_free(a.s);
        a.s = NULL;
    }
    while (kept->len) {
        drop(&g_array_index(kept, struct kept, kept->len / 2), seed);
        g_array_remove_index_fast(kept, kept->len / 2);
    }
    end(&a);
    psc_session_free(pool);
    for (psc_node i = 0; i < g->n; i++)
        g_free(mine[i]);
    g_free(mine);
    g_array_free(kept, TRUE);
    g_rand_free(rand);
    psc_arena_release(&arena);
    return compared;
}

static void test_random(void)
{
    uint64_t first = test_seed();
    uint32_t compared = 0;
    g_test_message("seeds from %" G_GUINT64_FORMAT, first);
    for (uint64_t seed = first; seed < first + SEEDS; seed++)
        compared += expect_numbers_of_pools(seed);
    g_assert_cmpuint(compared, >, SEEDS * RUNS * 5);
}

/* Twice: blocks used again, and blocks that are always fresh (nothing is kept). Not a bit differs. */
static void test_fresh(void)
{
    uint64_t first = test_seed();
    uint32_t compared = 0, reused = 0;
    for (uint64_t seed = first; seed < first + 20; seed++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = make(&arena, seed);
        struct psc_arena_settings fresh = {.guards = PSC_ARENA_HARDENED, .has_cap = {true, true}};
        struct on_arenas a[2];
        struct run_heard heard[2];
        begin(&a[0], &hardened, false);
        begin(&a[1], &fresh, false);
        for (unsigned k = 0; k < 2; k++) {
            run_listen(&heard[k], true);
            run_use(a[k].s, g, 1);
            for (unsigned run = 0; run < 3; run++) {
                run_fill_all(a[k].s, seed, CONTEXT);
                run_execute(a[k].s, &heard[k].sink);
            }
        }
        compared += run_same_values(g, &heard[0], &heard[1], seed);
        reused += psc_session_depot(a[0].s, PSC_DEPOT_EXEC).reused > 0;
        g_assert_cmpuint(psc_session_depot(a[1].s, PSC_DEPOT_EXEC).reused, ==, 0);
        for (unsigned k = 0; k < 2; k++) {
            run_heard_release(&heard[k]);
            end(&a[k]);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(compared, >, 100);
    g_assert_cmpuint(reused, >, 10);
}

/* ---- counters ------------------------------------------------------------------------------------------------------ */

static const char *const chain = "x: input 64\na: scale 64 x scale=2\nb: silu 64 a\nc: add 64 b x\nd: scale 64 c scale=3\nout d\n";

static void run_once(struct psc_session *s, float x)
{
    float values[64];
    for (unsigned i = 0; i < 64; i++)
        values[i] = x + (float)i;
    run_fill_f32(s, "x", values, 64);
    run_execute(s, NULL);
}

static void test_steady(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    struct psc_arena_run_figures f;
    struct psc_held *held, *second;
    struct on_arenas a;
    double_reset();
    begin(&a, &hardened, true);
    run_use(a.s, g, 1);
    run_once(a.s, 1);
    psc_session_arena_run(a.s, &f);
    g_assert_cmpuint(f.system_allocs, ==, 4); /* a and b beside each other, c where a was; d and x in the I/O arena */
    g_assert_cmpuint(f.copied, ==, 0);
    g_assert_cmpuint(f.staged, ==, 256);
    g_assert_cmpuint(f.peak[PSC_DEPOT_EXEC], ==, 512);
    g_assert_cmpuint(f.peak[PSC_DEPOT_IO], ==, 512);
    for (unsigned run = 1; run < 5; run++) { /* warmed up: nothing any more */
        run_once(a.s, (float)run);
        psc_session_arena_run(a.s, &f);
        g_assert_cmpuint(f.run, ==, run);
        g_assert_cmpuint(f.system_allocs, ==, 0);
        g_assert_cmpuint(f.copied, ==, 0);
    }
    g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "d"), &held, NULL), ==, PSC_OK);
    uint64_t blocks = psc_session_depot(a.s, PSC_DEPOT_IO).blocks, exec_blocks = psc_session_depot(a.s, PSC_DEPOT_EXEC).blocks;
    run_once(a.s, 7);
    psc_session_arena_run(a.s, &f);
    g_assert_cmpuint(f.system_allocs, ==, 1); /* an output that is held longer costs one more block, once */
    g_assert_cmpuint(f.copied, ==, 0);
    g_assert_cmpuint(f.held, ==, 1);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).blocks, ==, blocks + 1);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).blocks, ==, exec_blocks);
    for (unsigned run = 0; run < 3; run++) {
        g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "d"), &second, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_held_drop(held, NULL), ==, PSC_OK);
        held = second;
        run_once(a.s, 8);
        psc_session_arena_run(a.s, &f);
        g_assert_cmpuint(f.system_allocs, ==, 0);
    }
    g_assert_cmpint(psc_held_drop(held, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_session_arena_trim(a.s), >, 0);
    g_assert_cmpuint(psc_session_arena_trim(a.s), ==, 0);
    run_once(a.s, 9);
    psc_session_arena_run(a.s, &f);
    g_assert_cmpuint(f.system_allocs, ==, 2); /* d and x were in use when all else went */
    check_story(&a, 0, 0);
    end(&a);
    psc_arena_release(&arena);
}

/* A burst of outputs that are kept evicts nothing of the execution arena. */
static void test_caps(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    struct psc_arena_settings settings = hardened;
    struct psc_held *held[8];
    struct on_arenas a;
    settings.has_cap[PSC_DEPOT_IO] = true;
    settings.cap[PSC_DEPOT_IO] = 300;
    double_reset();
    begin(&a, &settings, false);
    run_use(a.s, g, 1);
    for (unsigned i = 0; i < 8; i++) {
        run_once(a.s, (float)i);
        g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "d"), &held[i], NULL), ==, PSC_OK);
    }
    for (unsigned i = 0; i < 8; i++)
        g_assert_cmpint(psc_held_drop(held[i], NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).retained, <=, 300);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).evicted, ==, 7);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).evicted, ==, 0);
    end(&a);
    psc_arena_release(&arena);
}

/* As many outputs held as there are slots: the next run is refused, and a drop makes it possible. */
static void test_slots(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    struct psc_arena_settings settings = hardened;
    struct psc_held *held;
    struct psc_error error = {0};
    struct on_arenas a;
    settings.slot_max[PSC_DEPOT_IO] = 2;
    double_reset();
    begin(&a, &settings, true);
    run_use(a.s, g, 1);
    run_once(a.s, 1);
    g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "d"), &held, NULL), ==, PSC_OK);
    run_fails(psc_session_execute(a.s, NULL, &error), &error, PSC_ERR_NOMEM,
              (const char *const[]){"node 4", "all 2 slots of the io arena are in use", NULL});
    g_assert_cmpint(psc_held_drop(held, NULL), ==, PSC_OK);
    run_execute(a.s, NULL);
    check_story(&a, 0, 0);
    end(&a);
    psc_arena_release(&arena);
}

/* ---- where values lie ------------------------------------------------------------------------------------------------ */

static void test_routes(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, "x: input 8\nt: scale 8 x scale=2\ny: add 8 t x\nv: view 4 y +2\nw: view 4 x +4\n"
                                             "i: scale 8 y scale=2\nout v w i\n");
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[4];
    struct psc_held *held[2];
    struct psc_error error = {0};
    struct psc_arena_run_figures f;
    uint64_t bytes;
    struct on_arenas a;
    double_reset();
    begin(&a, &hardened, true);
    run_use(a.s, g, 1);
    g_assert_cmpint(psc_session_borrow_node(a.s, 0, values, 8, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).blocks, ==, 0); /* borrowed: of no arena */
    run_execute(a.s, NULL);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).live, ==, 64); /* y, of which a view is an output, and i */
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).blocks, ==, 1);
    run_fails(psc_session_hold(a.s, text_graph_node(g, "t"), &held[0], &error), &error, PSC_ERR_USAGE,
              (const char *const[]){"no output", NULL});
    g_assert_cmpint(psc_session_read(a.s, text_graph_node(g, "v"), out, 4, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "v"), &held[0], NULL), ==, PSC_OK);
    g_assert_cmpmem(psc_held_read(held[0], &bytes), 16, out, 16);
    g_assert_cmpuint(bytes, ==, 16);
    psc_session_arena_run(a.s, &f);
    g_assert_cmpuint(f.copied, ==, 0);
    g_assert_cmpuint(f.staged, ==, 0);
    g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "w"), &held[1], NULL), ==, PSC_OK);
    psc_session_arena_run(a.s, &f);
    g_assert_cmpuint(f.copied, ==, 16); /* it looks at the caller's memory */
    values[4] = 99;
    g_assert_cmpfloat(((const float *)psc_held_read(held[1], &bytes))[0], ==, 5);
    g_assert_cmpint(psc_held_drop(held[1], NULL), ==, PSC_OK);
    g_assert_cmpint(psc_held_drop(held[0], NULL), ==, PSC_OK);
    check_story(&a, 0, 0);
    end(&a);
    psc_arena_release(&arena);
}

static void test_refused(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, "x: input 4 @cuda\ny: silu 4 x @cuda\nout y\n");
    struct psc_session *pool = run_session(NULL);
    struct psc_arena_settings child = {.parent = pool}, odd = {.alignment = 48};
    struct psc_session_options options = run_options();
    struct psc_session *s;
    struct psc_held *held;
    struct psc_error error = {0};
    float x[4] = {0};
    struct on_arenas a;
    double_reset();
    begin(&a, &hardened, false);
    run_use(a.s, g, 1);
    run_fails(psc_session_fill(a.s, "x", x, 4, &error), &error, PSC_ERR_USAGE, (const char *const[]){"cuda does not reach", "node 0 cannot run there", NULL});
    end(&a);
    options.arenas = &child;
    run_fails(psc_session_new(double_apis, 3, &options, &s, &error), &error, PSC_ERR_USAGE, (const char *const[]){"parent", NULL});
    options.arenas = &odd;
    run_fails(psc_session_new(double_apis, 3, &options, &s, &error), &error, PSC_ERR_USAGE, (const char *const[]){"48", "power of two", NULL});
    run_fails(psc_session_hold(pool, 0, &held, &error), &error, PSC_ERR_USAGE, (const char *const[]){"without arenas", NULL});
    run_use(pool, text_graph(&arena, chain), 2);
    run_fails(psc_session_borrow_node(pool, 0, x, 64, &error), &error, PSC_ERR_USAGE, (const char *const[]){"without arenas", NULL});
    begin(&a, &hardened, false);
    run_use(a.s, text_graph(&arena, chain), 1);
    run_fails(psc_session_execute(a.s, NULL, &error), &error, PSC_ERR_USAGE, (const char *const[]){"'x'", "not been filled", NULL});
    run_fails(psc_session_hold(a.s, 4, &held, &error), &error, PSC_ERR_USAGE, (const char *const[]){"no run", NULL});
    end(&a);
    psc_session_free(pool);
    psc_arena_release(&arena);
}

/* Graphs take turns, as prefill and decode do: what is held of one outlives the other. */
static void test_turns(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain), *other = text_graph(&arena, "x: input 64\ny: add 64 x x\nz: silu 64 y\nout z\n");
    struct psc_held *held[6];
    struct psc_arena_run_figures f;
    float expected[64];
    uint64_t bytes;
    struct on_arenas a;
    double_reset();
    begin(&a, &hardened, true);
    for (unsigned i = 0; i < 6; i++) {
        run_use(a.s, i % 2 ? other : g, i % 2);
        run_once(a.s, 3);
        if (i == 1)
            g_assert_cmpint(psc_session_read(a.s, 2, expected, 64, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_session_hold(a.s, psc_session_graph(a.s)->outputs[0], &held[i], NULL), ==, PSC_OK);
    }
    for (unsigned i = 6; i-- > 0;) {
        if (i % 2)
            g_assert_cmpmem(psc_held_read(held[i], &bytes), 256, expected, 256);
        g_assert_cmpint(psc_held_drop(held[i], NULL), ==, PSC_OK);
    }
    run_use(a.s, g, 0);
    run_once(a.s, 3);
    psc_session_arena_run(a.s, &f);
    g_assert_cmpuint(f.system_allocs, ==, 0);
    check_story(&a, 0, 0);
    end(&a);
    psc_arena_release(&arena);
}

/* Mapped again and again between two runs, a program comes to lie where the one that ran did: it is another one all the same.
 * Large enough that its parts lie in several blocks of memory, which change places. */
static void test_mapped_again(void)
{
    struct psc_arena arena = {0};
    GString *text = g_string_new("x: input 64\nn0: silu 64 x\n");
    struct psc_graph *g, *other = text_graph(&arena, "x: input 64\ny: add 64 x x\nz: silu 64 y\nout z\n");
    struct on_arenas a;
    for (unsigned i = 1; i < 400; i++)
        g_string_append_printf(text, "n%u: silu 64 n%u\n", i, i - 1);
    g_string_append(text, "out n399\n");
    g = text_graph(&arena, text->str);
    double_reset();
    begin(&a, &hardened, true);
    for (unsigned times = 0; times < 20; times++) {
        run_use(a.s, g, 0);
        for (unsigned i = 0; i < 2 * times; i++)
            run_use(a.s, i % 2 ? g : other, !(i % 2));
        for (unsigned i = 0; i < times % 3; i++)
            g_assert_cmpint(psc_session_move(a.s, NULL), ==, PSC_OK);
        run_once(a.s, 3);
        for (uint32_t k = 0; k < a.s->arena->program->job_n; k++)
            g_assert_true(a.s->arena->jobs[k].operands == a.s->current->program->jobs[k].operands);
    }
    check_story(&a, 0, 0);
    end(&a);
    g_string_free(text, TRUE);
    psc_arena_release(&arena);
}

/* ---- a graph in a node ------------------------------------------------------------------------------------------------- */

static void test_child(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *outer = text_graph(&arena, "x: input 64\na: scale 64 x scale=2\nb: add 64 a x\nc: silu 64 b\nout c\n"),
                     *inner = text_graph(&arena, "p: input 64\nq: input 64\nr: add 64 p q\nt: scale 64 r scale=4\nout t\n"),
                     *flat = text_graph(&arena, "x: input 64\na: scale 64 x scale=2\nr: add 64 a x\nb: scale 64 r scale=4\nc: silu 64 b\nout c\n");
    struct psc_session_options options = run_options();
    struct psc_session *child, *whole = run_session(NULL);
    struct psc_arena_run_figures f;
    struct psc_arena_broken broken;
    float expected[64], got[64];
    struct on_arenas a;
    double_reset();
    begin(&a, &hardened, true);
    struct psc_arena_settings settings = {.parent = a.s};
    options.arenas = &settings;
    child = run_session(&options);
    run_use(a.s, outer, 1);
    run_use(child, inner, 1);
    run_use(whole, flat, 1);
    g_assert_cmpint(psc_session_set_child(a.s, text_graph_node(outer, "b"), child, NULL), ==, PSC_OK);
    for (unsigned run = 0; run < 4; run++) {
        run_once(a.s, (float)run);
        run_once(whole, (float)run);
        g_assert_cmpint(psc_session_read(a.s, text_graph_node(outer, "c"), got, 64, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_session_read(whole, text_graph_node(flat, "c"), expected, 64, NULL), ==, PSC_OK);
        g_assert_cmpmem(got, sizeof got, expected, sizeof expected);
        psc_session_arena_run(a.s, &f);
        g_assert_cmpuint(f.run, ==, run);
        g_assert_cmpuint(f.copied, ==, 0); /* the result was handed over */
        g_assert_true(run == 0 || f.system_allocs == 0);
    }
    psc_session_arena_broken(a.s, &broken);
    g_assert_cmpstr(broken.text, ==, "");
    struct psc_error error = {0};
    run_fails(psc_session_set_child(a.s, 0, child, &error), &error, PSC_ERR_USAGE, (const char *const[]){"node 0", NULL});
    run_use(child, text_graph(&arena, "p: input 8\nr: silu 8 p\nout r\n"), 2);
    run_fails(psc_session_execute(a.s, NULL, &error), &error, PSC_ERR_USAGE, (const char *const[]){"node 2", "1 inputs", "2 operands", NULL});
    check_story(&a, 0, 0);
    psc_session_free(child);
    end(&a);
    psc_session_free(whole);
    psc_arena_release(&arena);
}

/* ---- faults --------------------------------------------------------------------------------------------------------------- */

static float caller[64]; /* outlives every session: fault a6 may put it into a list */

static void misbehave(struct on_arenas *a, const struct psc_graph *g)
{
    struct psc_held *held[2] = {NULL};
    run_use(a->s, g, 1);
    for (unsigned run = 0; run < 3; run++) {
        for (unsigned i = 0; i < 64; i++)
            caller[i] = (float)(run + i);
        if (psc_session_borrow_node(a->s, 0, caller, 64, NULL) || psc_session_execute(a->s, NULL, NULL))
            break;
        if (!run && !psc_session_hold(a->s, text_graph_node(g, "d"), &held[0], NULL))
            (void)!psc_held_share(held[0], &held[1], NULL);
        if (run == 1) {
            psc_held_drop(held[0], NULL);
            held[0] = NULL;
        }
    }
    psc_held_drop(held[0], NULL);
    psc_held_drop(held[1], NULL);
}

/* Each breaks its invariant, and at first that one alone; without it all hold. */
static void test_faults(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    for (unsigned fault = 0; fault <= 7; fault++) {
        struct psc_arena_settings settings = hardened;
        struct psc_arena_broken broken;
        struct on_arenas a;
        settings.faults = fault ? PSC_ARENA_BIT(PSC_ARENA_A1 + fault - 1) : 0;
        double_reset();
        begin(&a, &settings, true);
        misbehave(&a, g);
        psc_session_arena_broken(a.s, &broken);
        g_test_message("a%u: %s", fault, broken.text);
        g_assert_cmpuint(broken.first, ==, fault ? 1u << fault : 0);
        end(&a);
    }
    psc_arena_release(&arena);
}

/* A lease that holds no reference (a14): when the session goes, so does what it holds, and that is told. */
static void test_weak(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    for (unsigned way = 0; way < 4; way++) {
        struct psc_arena_settings settings = way & 1 ? upstream : hardened;
        struct psc_held *held;
        struct psc_error error = {0};
        struct on_arenas a;
        uint64_t bytes;
        settings.faults = way & 2 ? PSC_ARENA_BIT(PSC_ARENA_A14) : 0;
        double_reset();
        begin(&a, &settings, true);
        run_use(a.s, g, 1);
        run_once(a.s, 1);
        g_assert_cmpint(psc_session_hold(a.s, text_graph_node(g, "d"), &held, NULL), ==, PSC_OK);
        end(&a);
        const unsigned char *read = psc_held_read(held, &bytes);
        g_assert_true((read[0] == PSC_ARENA_POISON && read[255] == PSC_ARENA_POISON) == (way >= 2));
        g_assert_cmpint(psc_held_drop(held, &error), ==, way >= 2 ? PSC_ERR_RUN : PSC_OK);
        g_assert_true((strstr(error.text, "has lost its arena, which is gone") != NULL) == (way >= 2));
    }
    psc_arena_release(&arena);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

static enum psc_status everything(void *data)
{
    struct psc_arena_settings settings = hardened;
    struct psc_session_options options = run_options();
    struct psc_session *s = NULL;
    struct psc_arena_story story;
    struct psc_graph_key key = run_key(1);
    struct psc_held *held = NULL, *other = NULL;
    struct psc_error error = {0};
    float x[64] = {0};
    enum psc_status status = psc_arena_story_init(&story, &error);
    if (status)
        return status;
    settings.story = &story;
    options.arenas = &settings;
    status = psc_session_new(double_apis, 3, &options, &s, &error);
    if (!status)
        status = psc_session_use(s, &key, run_build_cb, data, &error);
    for (unsigned run = 0; !status && run < 2; run++) {
        status = psc_session_fill(s, "x", x, 64, &error);
        if (!status)
            status = psc_session_execute(s, NULL, &error);
        if (!status && !run)
            status = psc_session_hold(s, 4, &held, &error);
        if (!status && !run)
            status = psc_held_share(held, &other, &error);
    }
    psc_held_drop(held, NULL);
    psc_session_free(s);
    psc_held_drop(other, NULL);
    if (!status && story.failed)
        status = PSC_ERR_NOMEM;
    if (!status) {
        struct psc_arena arena = {0};
        struct psc_story *told;
        status = psc_arena_story_finish(&story, &arena, &told, &error);
        psc_arena_release(&arena);
    }
    psc_arena_story_release(&story);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    double_reset();
    g_assert_cmpuint(test_oom_loop(everything, g), >, 40);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/session-arena/random/numbers-are-those-of-pools-whatever-is-held", test_random);
    g_test_add_func("/run/session-arena/random/blocks-used-again-change-no-bit", test_fresh);
    g_test_add_func("/run/session-arena/counters/nothing-after-the-first-run-one-block-for-what-is-held", test_steady);
    g_test_add_func("/run/session-arena/counters/a-burst-of-outputs-evicts-no-scratch", test_caps);
    g_test_add_func("/run/session-arena/graphs/mapped-again", test_mapped_again);
    g_test_add_func("/run/session-arena/counters/slots-that-are-all-held-refuse-a-run", test_slots);
    g_test_add_func("/run/session-arena/routes/outputs-views-and-borrowed-inputs", test_routes);
    g_test_add_func("/run/session-arena/routes/what-is-refused", test_refused);
    g_test_add_func("/run/session-arena/routes/graphs-take-turns", test_turns);
    g_test_add_func("/run/session-arena/child/a-graph-in-a-node-copies-nothing", test_child);
    g_test_add_func("/run/session-arena/faults/each-breaks-one-invariant-first", test_faults);
    g_test_add_func("/run/session-arena/faults/a-lease-without-a-reference-loses-its-arena", test_weak);
    g_test_add_func("/run/session-arena/oom", test_oom);
    return g_test_run();
}
