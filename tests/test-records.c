/* Is a recorded value the node's own? Against the published numbers and against a naive replay. */
#include "core/debug/records.h"
#include "core/base/hash.h"
#include "core/plan/plan.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/recorder.h"
#include "tests/util.h"

#include <stdlib.h>
#include <string.h>

static struct psc_plan *plan_of(struct psc_arena *arena, const struct psc_graph *graph, enum psc_slots slots,
                                uint64_t seed, enum psc_size size)
{
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_plan *plan = NULL;
    options.slots = slots;
    options.seed = seed;
    options.size = size;
    g_assert_cmpint(psc_planner_find("pool")->plan(arena, graph, &options, &plan, NULL), ==, PSC_OK);
    return plan;
}

static struct psc_record_check check(struct psc_arena *arena, const struct psc_phase *phase,
                                     const struct psc_step *step)
{
    struct psc_record_check ret = {0};
    g_assert_cmpint(psc_records_check(arena, phase, step, &ret, NULL), ==, PSC_OK);
    g_assert_cmpuint(ret.own + ret.overwritten + ret.unknown, ==, ret.n);
    return ret;
}

static const struct psc_record_verdict *verdict_of(const struct psc_record_check *c, psc_node node)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].node == node)
            return &c->list[i];
    g_assert_not_reached();
}

static void strip_values(struct recording *rec)
{
    for (uint32_t i = 0; i < rec->step.record_n; i++) {
        rec->records[i].has_stats = false;
        rec->records[i].value_n = 0;
        rec->records[i].stats_hash = rec->records[i].values_hash = 0;
    }
}

/* Every verdict is true; *ret_unknown counts the open ones. */
static void assert_true_verdicts(const struct recording *rec, const struct psc_record_check *c,
                                 uint32_t *ret_unknown)
{
    g_assert_cmpuint(c->n, ==, rec->step.record_n);
    *ret_unknown = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct psc_record_verdict *v = &c->list[i];
        *ret_unknown += v->verdict == PSC_RECORD_UNKNOWN;
        if (v->verdict != PSC_RECORD_UNKNOWN && (v->verdict == PSC_RECORD_OWN) != recording_own(rec, i) &&
            !recording_either(rec, i))
            g_error("node %u is %s, says evidence %x", v->node, psc_verdict_name(v->verdict), v->evidence);
        if (v->holds != PSC_NONE) {
            g_assert_cmpint(v->verdict, ==, PSC_RECORD_OVERWRITTEN);
            if (!recording_holds(rec, i, v->holds))
                g_error("node %u does not hold %u", v->node, v->holds);
        }
    }
}

/* ---- the published graphs ---------------------------------------------------------------- */

struct published {
    const struct qwen_options *graph;
    uint32_t records, own, agreed; /* own by agreement of all policies alone */
    psc_node open[2];
};
static const struct published published[] = {
    {&qwen_prefill, 368, 18, 17, {430, 436}},
    {&qwen_decode, 269, 10, 9, {298, 301}},
};

static void assert_published(const struct published *p, const struct psc_record_check *c,
                             const struct recording *rec)
{
    uint32_t unknown;
    g_assert_cmpuint(c->n, ==, p->records);
    g_assert_cmpuint(c->own, ==, p->own);
    g_assert_cmpuint(c->overwritten, ==, p->records - p->own);
    assert_true_verdicts(rec, c, &unknown);
    for (uint32_t i = 0; i < c->n; i++)
        g_assert_true(c->list[i].certain);
}

static void the_published_graphs_have_18_and_10_own(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(published); k++)
        for (int slots = 0; slots < PSC_SLOTS_RANDOM; slots++) {
            struct psc_arena arena = {0};
            struct recording rec;
            struct psc_graph *graph = qwen_graph(&arena, published[k].graph);
            const struct psc_plan *plan = plan_of(&arena, graph, (enum psc_slots)slots, 0, PSC_SIZE_CLASS);
            record_run(&arena, graph, plan, 7, PSC_CAPTURE_UNKNOWN, &rec);

            struct psc_phase phase = {.kind = "", .graph = graph};
            struct psc_record_check c = check(&arena, &phase, &rec.step); /* the values decide */
            assert_published(&published[k], &c, &rec);
            g_assert_cmpuint(c.group_n, >, 0);
            g_assert_cmpstr(c.policy, ==, psc_slots_name((enum psc_slots)slots));
            for (uint32_t i = 0; i < c.n; i++)
                g_assert_true((c.list[i].verdict == PSC_RECORD_OVERWRITTEN) == (c.list[i].holds != PSC_NONE));

            strip_values(&rec);
            phase.has_slots = true;
            phase.slots = (enum psc_slots)slots;
            c = check(&arena, &phase, &rec.step); /* the file names its policy */
            assert_published(&published[k], &c, &rec);
            g_assert_cmpuint(c.group_n, ==, 0);
            psc_arena_release(&arena);
        }
}

static void agreement_of_policies_leaves_two_open(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(published); k++) {
        struct psc_arena arena = {0};
        struct recording rec;
        struct psc_graph *graph = qwen_graph(&arena, published[k].graph);
        record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_LOWEST, 0, PSC_SIZE_CLASS), 7,
                   PSC_CAPTURE_UNKNOWN, &rec);
        strip_values(&rec);
        struct psc_phase phase = {.kind = "", .graph = graph};
        struct psc_record_check c = check(&arena, &phase, &rec.step);
        g_assert_cmpuint(c.own, ==, published[k].agreed);
        g_assert_cmpuint(c.unknown, ==, 2);
        g_assert_null(c.policy);
        for (int o = 0; o < 2; o++) {
            const struct psc_record_verdict *v = verdict_of(&c, published[k].open[o]);
            g_assert_cmpint(v->verdict, ==, PSC_RECORD_UNKNOWN);
            g_assert_cmpuint(v->holds, ==, PSC_NONE);
        }
        psc_arena_release(&arena);
    }
}

/* Buffers handed out in an order that no policy knows: the values still tell, and nothing is named wrongly.
 */
static void values_decide_where_no_policy_fits(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(published); k++) {
        struct psc_arena arena = {0};
        struct recording rec;
        struct psc_graph *graph = qwen_graph(&arena, published[k].graph);
        record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_RANDOM, 3, PSC_SIZE_CLASS), 7,
                   PSC_CAPTURE_UNKNOWN, &rec);
        struct psc_phase phase = {.kind = "", .graph = graph};
        struct psc_record_check c = check(&arena, &phase, &rec.step);
        assert_published(&published[k], &c, &rec);
        g_assert_null(c.policy);
        psc_arena_release(&arena);
    }
}

/* Numbers that no op of the graph would give: equal where the bytes are equal, and nothing more. */
static void scramble(struct psc_arena *arena, struct recording *rec)
{
    for (uint32_t i = 0; i < rec->step.record_n; i++) {
        const struct recorded_words *w = &rec->words[i];
        float *numbers = psc_arena_alloc(arena, w->n, sizeof *numbers);
        g_assert_nonnull(numbers);
        for (uint32_t k = 0; k < w->n; k++)
            numbers[k] = (float)(psc_hash_mix(w->shown[k]) >> 40) / 65536.0f;
        record_values(arena, numbers, w->n, &rec->records[i]);
    }
}

static void broken_arithmetic_decides_nothing(void)
{
    for (size_t k = 0; k < G_N_ELEMENTS(published); k++) {
        struct psc_arena arena = {0};
        struct recording rec;
        struct psc_graph *graph = qwen_graph(&arena, published[k].graph);
        record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_LIFO, 0, PSC_SIZE_CLASS), 7,
                   PSC_CAPTURE_UNKNOWN, &rec);
        scramble(&arena, &rec);
        struct psc_phase phase = {.kind = "", .graph = graph};
        struct psc_record_check c = check(&arena, &phase, &rec.step);
        assert_published(&published[k], &c, &rec);
        g_assert_cmpstr(c.policy, ==, "lifo");
        psc_arena_release(&arena);
    }
}

static void every_number_of_layers_is_judged(void)
{
    static const int32_t layers[] = {1, 2, 3, 5, 12, 28, 36};
    for (size_t k = 0; k < G_N_ELEMENTS(layers); k++)
        for (int fused = 0; fused < 2; fused++) {
            struct psc_arena arena = {0};
            struct recording rec;
            struct qwen_options options = fused ? qwen_decode : qwen_prefill;
            options.layers = layers[k];
            options.vocab = 5000; /* a class of its own */
            struct psc_graph *graph = qwen_graph(&arena, &options);
            record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_FIFO, 0, PSC_SIZE_EXACT), 5,
                       PSC_CAPTURE_UNKNOWN, &rec);
            struct psc_phase phase = {.kind = "", .graph = graph};
            struct psc_record_check c = check(&arena, &phase, &rec.step);
            uint32_t unknown;
            assert_true_verdicts(&rec, &c, &unknown);
            g_assert_cmpuint(unknown, ==, 0);
            psc_arena_release(&arena);
        }
}

static void metal_captured_per_node_is_own(void)
{
    struct psc_arena arena = {0};
    struct recording rec;
    struct psc_graph *graph = qwen_graph(&arena, &qwen_prefill);
    record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_LOWEST, 0, PSC_SIZE_CLASS), 7,
               PSC_CAPTURE_NODE, &rec);
    struct psc_phase phase = {.kind = "", .graph = graph, .capture = PSC_CAPTURE_NODE};
    struct psc_record_check c = check(&arena, &phase, &rec.step);
    g_assert_cmpuint(c.own, ==, 368);
    g_assert_cmpuint(verdict_of(&c, 20)->evidence & PSC_BY_CAPTURE, !=, 0);
    g_assert_cmpuint(verdict_of(&c, 20)->evidence & PSC_BY_ARITHMETIC, !=, 0);
    g_assert_cmpuint(verdict_of(&c, 427)->evidence & PSC_BY_INPUT, !=, 0);

    phase.capture = PSC_CAPTURE_UNKNOWN; /* the file does not say so: its values do */
    c = check(&arena, &phase, &rec.step);
    uint32_t unknown;
    assert_true_verdicts(&rec, &c, &unknown);
    g_assert_cmpuint(c.own, ==, 368);
    psc_arena_release(&arena);
}

static void cpu_and_cuda_are_read_at_once(void)
{
    static const char *const backends[] = {"cpu", "cuda"};
    for (size_t k = 0; k < G_N_ELEMENTS(backends); k++) {
        struct psc_arena arena = {0};
        struct recording rec;
        struct qwen_options options = qwen_decode;
        options.backend = backends[k];
        options.layers = 3;
        struct psc_graph *graph = qwen_graph(&arena, &options);
        record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_LOWEST, 0, PSC_SIZE_CLASS), 7,
                   PSC_CAPTURE_UNKNOWN, &rec);
        struct psc_phase phase = {.kind = "", .graph = graph};
        struct psc_record_check c = check(&arena, &phase, &rec.step);
        g_assert_cmpuint(c.own, ==, c.n);
        phase.capture = PSC_CAPTURE_SPLIT; /* the file's own word goes before the backend */
        c = check(&arena, &phase, &rec.step);
        g_assert_cmpuint(c.n, >, 20);
        psc_arena_release(&arena);
    }
}

/* ---- splits -------------------------------------------------------------------------------------- */

/*     metal   x  h  n  a          cpu  c       metal  d  e  o
 * a takes h's buffer in the first split; what d, e and o write comes after the first split was read. */
static void each_split_is_read_at_its_own_end(void)
{
    struct psc_arena arena = {0};
    struct recording rec;
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *graph = NULL;
    psc_builder_set_backend(b, "metal");
    psc_node x = psc_builder_input(b, "x", PSC_F32, 8, 1);
    psc_node h = psc_builder_binary(b, "h", PSC_OP_ADD, x, x);
    psc_node n = psc_builder_binary(b, "n", PSC_OP_MUL, h, x);
    psc_node a = psc_builder_binary(b, "a", PSC_OP_ADD, n, x);
    psc_builder_set_backend(b, "cpu");
    psc_node c = psc_builder_binary(b, "c", PSC_OP_MUL, a, a);
    psc_builder_set_backend(b, "metal");
    psc_node d = psc_builder_binary(b, "d", PSC_OP_ADD, c, x);
    psc_node e = psc_builder_binary(b, "e", PSC_OP_MUL, d, x);
    psc_node o = psc_builder_binary(b, "o", PSC_OP_ADD, e, x);
    psc_builder_output(b, o);
    g_assert_cmpint(psc_builder_finish(b, &arena, &graph, NULL), ==, PSC_OK);
    psc_builder_free(b);
    record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_LOWEST, 0, PSC_SIZE_CLASS), 7,
               PSC_CAPTURE_UNKNOWN, &rec);
    strip_values(&rec);
    struct psc_phase phase = {.kind = "", .graph = graph, .has_slots = true};
    struct psc_record_check r = check(&arena, &phase, &rec.step);
    uint32_t unknown;
    assert_true_verdicts(&rec, &r, &unknown);
    g_assert_cmpuint(unknown, ==, 0);
    g_assert_cmpuint(verdict_of(&r, h)->holds, ==, a);
    g_assert_cmpint(verdict_of(&r, n)->verdict, ==, PSC_RECORD_OWN);
    g_assert_cmpint(verdict_of(&r, a)->verdict, ==, PSC_RECORD_OWN);
    g_assert_cmpint(verdict_of(&r, c)->verdict, ==, PSC_RECORD_OWN);
    g_assert_cmpuint(verdict_of(&r, c)->evidence & PSC_BY_CAPTURE, !=, 0);
    g_assert_cmpuint(verdict_of(&r, d)->holds, ==, o);
    g_assert_cmpint(verdict_of(&r, e)->verdict, ==, PSC_RECORD_OWN);
    psc_arena_release(&arena);
}

/* ---- values ---------------------------------------------------------------------------------------- */

/* A result that is its own makes owners of the operands that fit it, and exposes the one that does not. */
static void arithmetic_settles_what_replay_leaves_open(void)
{
    for (int spoiled = 0; spoiled < 2; spoiled++) {
        struct psc_arena arena = {0};
        struct recording rec;
        struct psc_graph *graph = qwen_graph(&arena, &qwen_prefill);
        record_run(&arena, graph,
                   plan_of(&arena, graph, spoiled ? PSC_SLOTS_FIFO : PSC_SLOTS_LOWEST, 0, PSC_SIZE_CLASS), 7,
                   PSC_CAPTURE_UNKNOWN, &rec);
        /* Only 430, 436 and 437 are left: nothing to compare them with but 437 = 430 + 436. */
        struct psc_record kept[3];
        uint32_t n = 0;
        for (uint32_t i = 0; i < rec.step.record_n; i++) {
            psc_node node = rec.records[i].node;
            if (node == 430 || node == 436 || node == 437)
                kept[n++] = rec.records[i];
        }
        g_assert_cmpuint(n, ==, 3);
        struct psc_step step = {.text = "", .records = kept, .record_n = n};
        struct psc_phase phase = {.kind = "", .graph = graph};
        struct psc_record_check c = check(&arena, &phase, &step);
        g_assert_cmpint(verdict_of(&c, 437)->verdict, ==, PSC_RECORD_OWN);
        g_assert_cmpint(verdict_of(&c, 430)->verdict, ==, PSC_RECORD_UNKNOWN);
        g_assert_cmpuint(verdict_of(&c, 430)->evidence & PSC_BY_MISFIT, !=, 0);

        float wanted[64]; /* put the true sum's other part into the record that was lost */
        for (uint32_t k = 0; k < kept[2].value_n; k++)
            wanted[k] = kept[2].values[k] - kept[spoiled].values[k];
        kept[!spoiled].values = wanted;
        c = check(&arena, &phase, &step);
        g_assert_cmpuint(c.own, ==, 3);
        psc_arena_release(&arena);
    }
}

/* ---- random graphs against the naive replay ------------------------------------------------------- */

static void keep_some(struct recording *rec, uint64_t *state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rec->step.record_n; i++)
        if (psc_random_next(state) % 3) {
            rec->records[n] = rec->records[i];
            rec->words[n++] = rec->words[i];
        }
    rec->step.record_n = n;
}

static void random_graphs_agree_with_the_naive_replay(void)
{
    uint64_t seed = test_seed();
    uint32_t judged = 0, overwritten = 0, open_values = 0, open_policies = 0, open_some = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (uint32_t k = 0; k < 200; k++) {
        struct psc_arena arena = {0};
        struct recording rec;
        uint64_t state = seed + k;
        struct random_graph_options options = random_graph_all;
        options.nodes = 20 + k % 60;
        options.backends = 1 + k % 3;
        struct psc_graph *graph = random_graph(&arena, seed + k, &options);
        enum psc_slots slots = (enum psc_slots)(k % 3);
        enum psc_capture capture = k % 4 ? PSC_CAPTURE_SPLIT : PSC_CAPTURE_UNKNOWN;
        struct psc_plan *plan = plan_of(&arena, graph, slots, 0, (enum psc_size)(k / 3 % 2));
        struct psc_phase phase = {.kind = "", .graph = graph, .capture = capture};
        uint32_t unknown;
        record_run(&arena, graph, plan, seed + k, capture, &rec);

        struct psc_record_check c = check(&arena, &phase, &rec.step);
        assert_true_verdicts(&rec, &c, &unknown);
        open_values += unknown;
        judged += c.n;

        struct psc_phase planned = phase;
        planned.plan = plan;
        c = check(&arena, &planned, &rec.step);
        assert_true_verdicts(&rec, &c, &unknown);
        g_assert_cmpuint(unknown, ==, 0);
        overwritten += c.overwritten;

        keep_some(&rec, &state);
        c = check(&arena, &phase, &rec.step);
        assert_true_verdicts(&rec, &c, &unknown);
        open_some += unknown;

        strip_values(&rec);
        c = check(&arena, &phase, &rec.step);
        assert_true_verdicts(&rec, &c, &unknown);
        open_policies += unknown;
        psc_arena_release(&arena);
    }
    g_test_message(
        "%u records, %u overwritten; open with values %u, with two thirds of them %u, by policies alone %u",
        judged, overwritten, open_values, open_some, open_policies);
    g_assert_cmpuint(overwritten, >, 200);
    g_assert_cmpuint(open_values, <, judged / 20);
}

/* ---- memory and time ------------------------------------------------------------------------------- */

struct oom {
    const struct psc_phase *phase;
    const struct psc_step *step;
};

static enum psc_status check_in_own_arena(void *data)
{
    const struct oom *oom = data;
    struct psc_arena arena = {0};
    struct psc_record_check ret;
    enum psc_status status = psc_records_check(&arena, oom->phase, oom->step, &ret, NULL);
    psc_arena_release(&arena);
    return status;
}

static void running_out_of_memory_is_reported(void)
{
    struct psc_arena arena = {0};
    struct recording rec;
    struct random_graph_options options = random_graph_all;
    options.nodes = 80; /* views and windows that do not all overlap */
    struct psc_graph *graph = random_graph(&arena, 11, &options);
    record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_FIFO, 0, PSC_SIZE_CLASS), 7, PSC_CAPTURE_SPLIT,
               &rec);
    struct psc_phase phase = {.kind = "", .graph = graph, .capture = PSC_CAPTURE_SPLIT};
    struct oom oom = {&phase, &rec.step};
    g_assert_cmpuint(test_oom_loop(check_in_own_arena, &oom), >, 20);
    psc_arena_release(&arena);
}

static void a_phase_without_graph_has_no_verdicts(void)
{
    struct psc_arena arena = {0};
    struct psc_record record = {.id = 3, .node = PSC_NONE, .n = 4};
    struct psc_step step = {.text = "", .records = &record, .record_n = 1};
    struct psc_phase phase = {.kind = "prefill"};
    g_assert_cmpuint(check(&arena, &phase, &step).n, ==, 0);
    psc_arena_release(&arena);
}

static void one_preparation_serves_many_checks(void)
{
    struct psc_arena arena = {0};
    struct recording rec;
    struct psc_records *records = NULL;
    struct psc_record_check c;
    struct psc_graph *graph = qwen_graph(&arena, &qwen_prefill);
    record_run(&arena, graph, plan_of(&arena, graph, PSC_SLOTS_LOWEST, 0, PSC_SIZE_CLASS), 7,
               PSC_CAPTURE_UNKNOWN, &rec);
    struct psc_phase phase = {.kind = "", .graph = graph};
    gint64 start = g_get_monotonic_time();
    g_assert_cmpint(psc_records_prepare(&arena, &phase, &records, NULL), ==, PSC_OK);
    gint64 prepared = g_get_monotonic_time();
    for (int k = 0; k < 100; k++)
        g_assert_cmpint(psc_records_check_with(&arena, records, &rec.step, &c, NULL), ==, PSC_OK);
    gint64 checked = g_get_monotonic_time();
    g_test_message("prepare %.2f ms, check %.3f ms for 368 records", (prepared - start) / 1e3,
                   (checked - prepared) / 1e5);
    g_assert_cmpuint(c.own, ==, 18);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/records/published/18-of-368-and-10-of-269-are-own",
                    the_published_graphs_have_18_and_10_own);
    g_test_add_func("/records/published/agreement-of-policies-leaves-two-open",
                    agreement_of_policies_leaves_two_open);
    g_test_add_func("/records/published/values-decide-where-no-policy-fits",
                    values_decide_where_no_policy_fits);
    g_test_add_func("/records/every-number-of-layers-is-judged", every_number_of_layers_is_judged);
    g_test_add_func("/records/capture/metal-captured-per-node-is-own", metal_captured_per_node_is_own);
    g_test_add_func("/records/capture/cpu-and-cuda-are-read-at-once", cpu_and_cuda_are_read_at_once);
    g_test_add_func("/records/capture/each-split-is-read-at-its-own-end", each_split_is_read_at_its_own_end);
    g_test_add_func("/records/values/arithmetic-settles-what-replay-leaves-open",
                    arithmetic_settles_what_replay_leaves_open);
    g_test_add_func("/records/values/broken-arithmetic-decides-nothing", broken_arithmetic_decides_nothing);
    g_test_add_func("/records/random/200-graphs-agree-with-the-naive-replay",
                    random_graphs_agree_with_the_naive_replay);
    g_test_add_func("/records/oom/is-reported-and-leaks-nothing", running_out_of_memory_is_reported);
    g_test_add_func("/records/a-phase-without-graph-has-no-verdicts", a_phase_without_graph_has_no_verdicts);
    g_test_add_func("/records/one-preparation-serves-many-checks", one_preparation_serves_many_checks);
    return g_test_run();
}
