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
        compared += run_same_values(m.g, &heard[0], &heard[1], seed);
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

/* ---- plans of other shapes --------------------------------------------------------------------------------------------- */

/* Every value of a backend in one large buffer, at an offset of its own: fewer and larger buffers than a pool has. */
static enum psc_status plan_arena(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan_options *options,
                                  struct psc_plan **ret, struct psc_error *reterr)
{
    struct psc_plan_options plain = *options;
    struct psc_plan *plan;
    plain.pool = NULL; /* it knows nothing of pools: the session finds buffers for it */
    enum psc_status status = psc_planner_find("naive")->plan(arena, graph, &plain, &plan, reterr);
    if (status)
        return status;
    struct psc_place *places = psc_arena_alloc(arena, graph->n, sizeof *places);
    struct psc_buffer *buffers = psc_arena_alloc0(arena, plan->buffer_n + graph->backend_n, sizeof *buffers);
    uint64_t *at = psc_arena_alloc0(arena, plan->buffer_n, sizeof *at);
    memcpy(places, plan->places, graph->n * sizeof *places);
    memcpy(buffers + graph->backend_n, plan->buffers, plan->buffer_n * sizeof *buffers);
    uint32_t kept = graph->backend_n, *moved = psc_arena_alloc(arena, plan->buffer_n, sizeof *moved);
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        const struct psc_buffer *old = &plan->buffers[b];
        bool own = old->role == PSC_ROLE_PERSISTENT || old->role == PSC_ROLE_STAGING;
        moved[b] = own ? kept : old->backend;
        at[b] = own ? 0 : buffers[old->backend].bytes;
        if (own)
            buffers[kept++] = *old;
        else
            buffers[old->backend].bytes += old->bytes;
    }
    for (uint8_t k = 0; k < graph->backend_n; k++) {
        buffers[k].backend = k;
        buffers[k].name = "arena";
        buffers[k].role = PSC_ROLE_POOL;
        buffers[k].bytes += 64; /* a backend of which the graph has nothing but views */
    }
    for (psc_node i = 0; i < graph->n; i++)
        if (places[i].buffer != PSC_NONE) {
            places[i].offset += at[places[i].buffer];
            places[i].buffer = moved[places[i].buffer];
        }
    struct psc_copy *copies = psc_arena_alloc(arena, plan->copy_n, sizeof *copies);
    uint32_t *k = psc_arena_alloc(arena, plan->layer_n, sizeof *k), *v = psc_arena_alloc(arena, plan->layer_n, sizeof *v);
    for (uint32_t c = 0; c < plan->copy_n; c++) {
        copies[c] = plan->copies[c];
        copies[c].buffer = moved[copies[c].buffer];
    }
    for (uint32_t layer = 0; layer < plan->layer_n; layer++) {
        k[layer] = plan->region_k[layer] == PSC_NONE ? PSC_NONE : moved[plan->region_k[layer]];
        v[layer] = plan->region_v[layer] == PSC_NONE ? PSC_NONE : moved[plan->region_v[layer]];
    }
    plan->planner = "arena";
    plan->places = places;
    plan->buffers = buffers;
    plan->buffer_n = kept;
    plan->copies = copies;
    plan->region_k = k;
    plan->region_v = v;
    *ret = plan;
    return PSC_OK;
}
static const struct psc_planner arena_planner = {"arena", "one buffer a backend", plan_arena};

static void test_one_large_buffer(void)
{
    uint64_t first = test_seed();
    uint32_t compared = 0;
    for (uint64_t seed = first; seed < first + SEEDS / 2; seed++) {
        struct made m = make(seed);
        struct psc_session_options arena = varied(seed), naive = varied(seed);
        arena.planner = &arena_planner;
        naive.planner = psc_planner_find("naive");
        struct psc_session *s[2] = {run_session(&arena), run_session(&naive)};
        struct run_heard heard[2];
        for (int k = 0; k < 2; k++) {
            run_listen(&heard[k], true);
            run_use(s[k], m.g, 1);
            run_fill_all(s[k], seed, CONTEXT);
            run_execute(s[k], &heard[k].sink);
        }
        char *difference = run_compare(&heard[0]);
        if (difference)
            g_error("seed %" G_GUINT64_FORMAT ": %s", seed, difference);
        compared += run_same_values(m.g, &heard[0], &heard[1], seed);
        for (int k = 0; k < 2; k++) {
            run_heard_release(&heard[k]);
            psc_session_free(s[k]);
        }
        psc_arena_release(&m.arena);
    }
    g_assert_cmpuint(compared, >, SEEDS);
}

/* ---- the life of a session ------------------------------------------------------------------------------------------------- */

struct known { psc_address at; uint64_t bytes; uint32_t generation; enum psc_role role; };

/* Ids, addresses and sizes stay; generations only grow; no two buffers share a byte. */
static void check_pools(struct psc_session *s, GArray **known)
{
    for (uint32_t b = 0; b < psc_session_backend_n(s); b++) {
        uint32_t n = psc_session_buffer_n(s, b);
        g_assert_cmpuint(n, >=, known[b]->len);
        for (uint32_t id = 0; id < n; id++) {
            struct psc_pool_buffer now;
            psc_session_buffer(s, b, id, &now);
            g_assert_cmpuint(now.id, ==, id);
            if (id < known[b]->len) {
                struct known *old = &g_array_index(known[b], struct known, id);
                g_assert_cmpuint(now.at, ==, old->at);
                g_assert_cmpuint(now.bytes, ==, old->bytes);
                g_assert_cmpint(now.role, ==, old->role);
                g_assert_cmpuint(now.generation, >=, old->generation);
                old->generation = now.generation;
                continue;
            }
            struct known fresh = {now.at, now.bytes, now.generation, now.role};
            for (uint32_t k = 0; k < known[b]->len; k++) {
                const struct known *other = &g_array_index(known[b], struct known, k);
                g_assert_true(now.at >= other->at + other->bytes || other->at >= now.at + now.bytes);
            }
            g_array_append_val(known[b], fresh);
        }
    }
}

/* No buffer serves as two of the plan's. */
static void check_mapping(const struct psc_session *s)
{
    const struct psc_plan *plan = psc_session_plan(s);
    for (uint32_t b = 0; b < plan->buffer_n; b++)
        for (uint32_t c = b + 1; c < plan->buffer_n; c++)
            g_assert_true(plan->buffers[b].backend != plan->buffers[c].backend || plan->buffers[b].id != plan->buffers[c].id);
}

enum { GRAPHS = 12, TURNS = 60 };

static void live(uint64_t seed)
{
    struct made m[GRAPHS];
    struct random_graph_options options = random_graph_all;
    struct psc_session_options pool = varied(seed), naive = varied(seed);
    struct psc_error error = {0};
    uint64_t random = seed;
    GArray *known[3];
    naive.planner = psc_planner_find("naive");
    options.backends = 1; /* a layer stays on its backend */
    for (uint32_t k = 0; k < GRAPHS; k++) {
        options.nodes = 8 + k * 3;
        m[k] = (struct made){0};
        m[k].g = random_graph(&m[k].arena, seed * GRAPHS + k, &options);
    }
    for (uint32_t b = 0; b < 3; b++)
        known[b] = g_array_new(FALSE, FALSE, sizeof(struct known));
    double_reset();
    double_control.mix = true;
    struct psc_session *s = run_session(&pool), *fresh = run_session(&naive);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t k = (uint32_t)(psc_random_next(&random) % GRAPHS), times = 1 + (uint32_t)(psc_random_next(&random) % 3);
        struct psc_graph_key key = run_key(k);
        if (psc_random_next(&random) % 4 == 0) { /* the device has no room: as if nothing had been asked */
            const struct psc_graph *before = psc_session_graph(s);
            double_control.fail_alloc = (long)(psc_random_next(&random) % 3);
            if (psc_session_use(s, &key, run_build_cb, m[k].g, &error))
                g_assert_true(psc_session_graph(s) == before);
            double_control.fail_alloc = -1;
            check_pools(s, known);
        }
        run_use(s, m[k].g, k);
        run_use(fresh, m[k].g, k);
        check_pools(s, known);
        check_mapping(s);
        for (uint32_t t = 0; t < times; t++) {
            struct run_heard heard[2];
            run_listen(&heard[0], true);
            run_listen(&heard[1], true);
            run_fill_all(s, seed + turn + t, CONTEXT);
            run_fill_all(fresh, seed + turn + t, CONTEXT);
            run_execute(s, &heard[0].sink);
            run_execute(fresh, &heard[1].sink);
            run_same_values(m[k].g, &heard[0], &heard[1], seed);
            run_heard_release(&heard[0]);
            run_heard_release(&heard[1]);
        }
        compare_rows(s, fresh);
    }
    struct psc_session_counters c;
    psc_session_counters(s, &c);
    g_assert_cmpuint(c.builds, >=, GRAPHS / 2);
    g_assert_cmpuint(c.reuses, >, 0);
    psc_session_free(s);
    psc_session_free(fresh);
    for (uint32_t b = 0; b < 3; b++)
        g_array_free(known[b], TRUE);
    for (uint32_t k = 0; k < GRAPHS; k++)
        psc_arena_release(&m[k].arena);
}

static void test_long_lives(void)
{
    uint64_t first = test_seed();
    g_test_message("seeds from %" G_GUINT64_FORMAT, first);
    for (uint64_t seed = first; seed < first + 6; seed++)
        live(seed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/session/random/the-record-of-a-run-is-the-story-of-its-plan", test_recorded_as_planned);
    g_test_add_func("/run/session/random/every-value-is-what-it-is-with-a-fresh-buffer-for-each", test_same_values);
    g_test_add_func("/run/session/random/plans-with-fewer-and-larger-buffers-bind-as-well", test_one_large_buffer);
    g_test_add_func("/run/session/random/ids-addresses-and-sizes-never-change-in-a-long-life", test_long_lives);
    return g_test_run();
}
