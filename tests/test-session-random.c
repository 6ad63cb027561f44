/* Random graphs through the session: what is recorded is what was planned, and recycling changes no value. */
#include "tests/runs.h"

#include "core/base/hash.h"
#include "core/debug/check.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

#define SEEDS 150u
#define CONTEXT 8u

static struct random_graph_options options_of(uint64_t seed)
{
    struct random_graph_options options = random_graph_all;
    options.nodes = 12 + (uint32_t)(seed % 60);
    options.backends = 1 + (uint32_t)(seed % 3);
    return options;
}

struct made { struct psc_arena arena; struct psc_graph *g; };
static struct made make(uint64_t seed)
{
    struct made m = {0};
    struct random_graph_options options = options_of(seed);
    m.g = random_graph(&m.arena, seed, &options);
    double_reset();
    double_control.mix = true;
    return m;
}

static struct psc_session_options varied(uint64_t seed)
{
    struct psc_session_options options = run_options();
    options.plan.slots = (enum psc_slots)(seed / 3 % PSC_SLOTS_N);
    options.plan.size = (enum psc_size)(seed / 5 % PSC_SIZE_N);
    options.plan.seed = seed;
    options.recycled = (enum psc_recycled)(seed % PSC_RECYCLED_N);
    return options;
}

/* ---- the record --------------------------------------------------------------------------------------------------- */

static void expect_recorded_as_planned(uint64_t seed)
{
    struct made m = make(seed);
    struct psc_session_options options = varied(seed);
    struct psc_session *s = run_session(&options);
    struct run_heard heard;
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_check check = {0};
    run_listen(&heard, false);
    run_use(s, m.g, 1);
    run_fill_all(s, seed, CONTEXT);
    run_execute(s, &heard.sink);
    char *difference = run_compare(&heard);
    if (difference)
        g_error("seed %" G_GUINT64_FORMAT ": %s", seed, difference);
    struct psc_story *story = run_story(&heard, &arena);
    if (psc_story_check(story, &error) || psc_check_story(&arena, m.g, story, &check, &error))
        g_error("seed %" G_GUINT64_FORMAT ": %s", seed, error.text);
    g_assert_cmpuint(check.finding_n, ==, 0);
    g_assert_cmpuint(heard.begun, ==, 1);
    g_assert_cmpuint(heard.ended, ==, 1);
    psc_arena_release(&arena);
    run_heard_release(&heard);
    psc_session_free(s);
    psc_arena_release(&m.arena);
}

static void test_recorded_as_planned(void)
{
    uint64_t first = test_seed(), n = 0;
    g_test_message("seeds from %" G_GUINT64_FORMAT, first);
    for (; n < SEEDS; n++)
        expect_recorded_as_planned(first + n);
    g_assert_cmpuint(n, ==, SEEDS);
}

/* ---- values ------------------------------------------------------------------------------------------------------------ */

static uint32_t compare_values(const struct psc_graph *g, struct run_heard *a, struct run_heard *b, uint64_t seed)
{
    uint32_t compared = 0;
    for (psc_node i = 0; i < g->n; i++) {
        g_assert_cmpint(a->value[i] == NULL, ==, b->value[i] == NULL);
        if (!a->value[i])
            continue;
        if (memcmp(a->value[i], b->value[i], g->nodes[i].bytes))
            g_error("seed %" G_GUINT64_FORMAT ": node %u differs", seed, i);
        compared++;
    }
    return compared;
}

static void compare_rows(struct psc_session *a, struct psc_session *b)
{
    struct psc_kv_info info;
    psc_session_kv(a, &info);
    for (uint32_t layer = 0; layer < info.layers; layer++)
        for (unsigned slot = 0; slot < 2; slot++) {
            uint32_t n = (uint32_t)(info.rows * info.row_bytes);
            char *x = g_malloc0(n), *y = g_malloc0(n);
            struct psc_error error = {0};
            if (psc_session_read_rows(a, (int32_t)layer, slot, 0, info.rows, x, &error) ||
                psc_session_read_rows(b, (int32_t)layer, slot, 0, info.rows, y, &error))
                g_error("%s", error.text);
            g_assert_cmpmem(x, n, y, n);
            g_free(x);
            g_free(y);
        }
}

static uint32_t expect_same_values(uint64_t seed)
{
    struct made m = make(seed);
    struct psc_session_options planned = varied(seed), naive = varied(seed);
    naive.planner = psc_planner_find("naive");
    struct psc_session *a = run_session(&planned), *b = run_session(&naive);
    struct run_heard heard[2];
    uint32_t compared = 0;
    run_listen(&heard[0], true);
    run_listen(&heard[1], true);
    run_use(a, m.g, 1);
    run_use(b, m.g, 1);
    for (uint64_t step = 0; step < 3; step++) { /* the last one without refilling */
        if (step < 2) {
            run_fill_all(a, seed + step, CONTEXT);
            run_fill_all(b, seed + step, CONTEXT);
        }
        run_execute(a, &heard[0].sink);
        run_execute(b, &heard[1].sink);
        compared += compare_values(m.g, &heard[0], &heard[1], seed);
        compare_rows(a, b);
    }
    run_heard_release(&heard[0]);
    run_heard_release(&heard[1]);
    psc_session_free(a);
    psc_session_free(b);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&m.arena);
    return compared;
}

static void test_same_values(void)
{
    uint64_t first = test_seed();
    uint32_t compared = 0;
    g_test_message("seeds from %" G_GUINT64_FORMAT, first);
    for (uint64_t n = 0; n < SEEDS; n++)
        compared += expect_same_values(first + n);
    g_assert_cmpuint(compared, >, 10 * SEEDS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/session/random/the-record-of-a-run-is-the-story-of-its-plan", test_recorded_as_planned);
    g_test_add_func("/run/session/random/every-value-is-what-it-is-with-a-fresh-buffer-for-each", test_same_values);
    return g_test_run();
}
