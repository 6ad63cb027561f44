/* Further prompts in one session, and graphs that get other buffers between two executions: numbers are those of one prompt on
 * buffers that stay. */
#include "tests/util.h"
#include "tests/text-graph.h"

#include "backends/registry.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/run/faults.h"
#include "core/run/verify.h"

#include <string.h>

static const int32_t first[] = {5, 77, 130, 9, 64}, second[] = {200, 31, 8}, third[] = {90, 17, 250, 4, 33, 71, 12};
#define TURNS {second, G_N_ELEMENTS(second)}, {third, G_N_ELEMENTS(third)}
enum { PROMPTS = G_N_ELEMENTS(first) + G_N_ELEMENTS(second) + G_N_ELEMENTS(third), EACH = 4 };
static const struct psc_run_turn turns[] = {TURNS};

struct tiny {
    struct psc_arena arena;
    struct psc_model *model;
};

static void tiny_open(struct tiny *t)
{
    struct psc_model *shapes = NULL;
    struct psc_error err = {0};
    *t = (struct tiny){0};
    g_assert_cmpint(psc_model_preset(&t->arena, psc_preset_find("tiny-qwen2"), NULL, &shapes, &err), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&t->arena, shapes, 7, &t->model, &err), ==, PSC_OK);
}

static struct psc_run_request request_of(const struct tiny *t, const char *backends)
{
    return (struct psc_run_request){
        .model = t->model, .prompt = first, .prompt_n = G_N_ELEMENTS(first), .turns = turns, .turn_n = 2, .n_predict = EACH, .n_ctx = 64,
        .ignore_stop = true, .backends = backends,
        .session = {.plan = psc_plan_defaults, .snapshot = true, .config = {.threads = 1}},
    };
}

static enum psc_status try(const struct psc_run_request *q, struct psc_run_result *ret, struct psc_error *err)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    return psc_run(apis, n, q, ret, err);
}

static void run(const struct psc_run_request *q, struct psc_run_result *ret)
{
    struct psc_error err = {0};
    if (try(q, ret, &err))
        g_error("%s", err.text);
}

static void refused(const struct psc_run_request *q, enum psc_status expected, const char *words)
{
    struct psc_run_result a;
    struct psc_error err = {0};
    g_assert_cmpint(try(q, &a, &err), ==, expected);
    if (!strstr(err.text, words))
        g_error("\"%s\" does not say \"%s\"", err.text, words);
    psc_run_result_release(&a);
}

/* ---- further prompts ------------------------------------------------------------------------------- */

/* What was said so far, as one prompt, is answered as the last turn was. */
static void turns_are_one_text(void)
{
    static const char *const backends[] = {"cpu", "deferred", "cuda-shim", "mixed:0-0=deferred,1-9=cpu"};
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++)
        for (uint32_t chunk = 0; chunk < 4; chunk += 3) {
            struct tiny t;
            struct psc_run_result a, whole;
            int32_t all[PROMPTS + 2 * EACH];
            tiny_open(&t);
            struct psc_run_request q = request_of(&t, backends[b]);
            q.chunk = chunk;
            q.record = (struct psc_recorder_options){.events = true, .hashes = true};
            run(&q, &a);
            g_assert_cmpuint(a.token_n, ==, 3 * EACH);
            g_assert_cmpuint(a.prefill_tokens, ==, PROMPTS);
            g_assert_cmpuint(a.end_n, ==, 3);
            for (uint32_t k = 0; k < 3; k++)
                g_assert_true(a.ends[k].token_n == (k + 1) * EACH && !a.ends[k].stopped);
            g_assert_cmpuint(psc_kv_runs_length(&a.kv, 0), ==, PROMPTS + 3 * EACH - 1);
            g_assert_cmpuint(a.finding_n + a.confirmed_n + a.unwritten_n, ==, 0);
            memcpy(all, first, sizeof first);
            memcpy(all + 5, a.tokens, EACH * sizeof *all);
            memcpy(all + 5 + EACH, second, sizeof second);
            memcpy(all + 8 + EACH, a.tokens + EACH, EACH * sizeof *all);
            memcpy(all + 8 + 2 * EACH, third, sizeof third);
            q.prompt = all;
            q.prompt_n = G_N_ELEMENTS(all);
            q.turn_n = 0;
            run(&q, &whole);
            g_assert_cmpmem(whole.tokens, whole.token_n * 4, a.tokens + 2 * EACH, EACH * 4);
            g_assert_cmpmem(whole.logits, whole.logit_n * 4, a.logits, a.logit_n * 4);
            psc_run_result_release(&whole);
            psc_run_result_release(&a);
            psc_arena_release(&t.arena);
        }
}

/* A stop token ends one answer only; the next prompt stands behind it. */
static void a_stop_token_ends_one_answer(void)
{
    struct tiny t;
    struct psc_run_result a, stopped, whole;
    tiny_open(&t);
    struct psc_run_request q = request_of(&t, "cpu");
    run(&q, &a);
    g_assert_cmpint(a.tokens[0], !=, a.tokens[2]); /* else the stop came sooner */
    g_assert_cmpint(a.tokens[1], !=, a.tokens[2]);
    q.stop = &a.tokens[2];
    q.stop_n = 1;
    q.turn_n = 1;
    run(&q, &stopped);
    g_assert_cmpuint(stopped.end_n, ==, 2);
    g_assert_true(stopped.ends[0].stopped && stopped.ends[0].stop == a.tokens[2] && stopped.ends[0].token_n == 2);
    g_assert_cmpuint(stopped.prefill_tokens, ==, G_N_ELEMENTS(first) + 1 + G_N_ELEMENTS(second));
    int32_t all[] = {5, 77, 130, 9, 64, a.tokens[0], a.tokens[1], a.tokens[2], 200, 31, 8};
    q.prompt = all;
    q.prompt_n = G_N_ELEMENTS(all);
    q.turn_n = 0;
    run(&q, &whole);
    g_assert_cmpmem(whole.tokens, whole.token_n * 4, stopped.tokens + 2, (stopped.token_n - 2) * 4);
    g_assert_cmpmem(whole.logits, whole.logit_n * 4, stopped.logits, stopped.logit_n * 4);
    psc_run_result_release(&whole);
    psc_run_result_release(&stopped);
    psc_run_result_release(&a);
    psc_arena_release(&t.arena);
}

/* Without answers the prompts lie one behind the other. */
static void prompts_without_answers(void)
{
    struct tiny t;
    struct psc_run_result a, b;
    tiny_open(&t);
    struct psc_run_request q = request_of(&t, "cpu");
    q.n_predict = 0;
    run(&q, &a);
    int32_t all[PROMPTS];
    memcpy(all, first, sizeof first);
    memcpy(all + 5, second, sizeof second);
    memcpy(all + 8, third, sizeof third);
    q.prompt = all;
    q.prompt_n = PROMPTS;
    q.turn_n = 0;
    run(&q, &b);
    g_assert_cmpuint(a.token_n + b.token_n, ==, 0);
    g_assert_cmpmem(a.logits, a.logit_n * 4, b.logits, b.logit_n * 4);
    psc_run_result_release(&b);
    psc_run_result_release(&a);
    psc_arena_release(&t.arena);
}

static void what_cannot_be_is_refused(void)
{
    static const int32_t odd[] = {3, 512};
    static const struct psc_run_turn empty = {odd, 0}, unknown = {odd, 2};
    struct tiny t;
    struct psc_run_result a;
    tiny_open(&t);
    struct psc_run_request q = request_of(&t, "cpu");
    q.n_ctx = PROMPTS + 3 * EACH - 1;
    run(&q, &a); /* it just fits */
    psc_run_result_release(&a);
    q.n_ctx--;
    refused(&q, PSC_ERR_USAGE, "15 tokens of the prompt and 12 more reach position 25 at node 1 (positions), n_ctx is 25");
    q.n_ctx = 64;
    q.turns = &empty;
    q.turn_n = 1;
    refused(&q, PSC_ERR_USAGE, "prompt 2 has no token");
    q.turns = &unknown;
    refused(&q, PSC_ERR_USAGE, "token 1 of prompt 2 is 512; the model knows 0 to 511");
    psc_arena_release(&t.arena);
}

/* ---- a clean run beside it ---------------------------------------------------------------------------- */

static void verified(const struct psc_run_request *of, struct psc_run_result *a, struct psc_verified *ret)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    struct psc_run_request q = *of;
    struct psc_verify *v;
    struct psc_error err = {0};
    g_assert_cmpint(psc_verify_new(&v, &err), ==, PSC_OK);
    psc_verify_watch(v, &q);
    if (psc_run(apis, n, &q, a, &err) || psc_verify_run(v, apis, n, &q, a, ret, &err))
        g_error("%s", err.text);
    psc_verify_free(v);
}

static void turns_are_verified_turn_by_turn(void)
{
    struct tiny t;
    struct psc_run_result a;
    struct psc_verified v;
    tiny_open(&t);
    struct psc_run_request q = request_of(&t, "cuda-shim");
    int32_t stop;
    run(&q, &a);
    stop = a.tokens[EACH + 1]; /* the second answer is cut short */
    psc_run_result_release(&a);
    for (unsigned replay = 0; replay < 2; replay++) {
        q.session.replay = replay;
        q.stop = &stop;
        q.stop_n = 1;
        verified(&q, &a, &v);
        g_assert_true(a.ends[1].stopped);
        uint32_t forwards = 3;
        for (uint32_t k = 0; k < 3; k++)
            forwards += a.ends[k].token_n - (k ? a.ends[k - 1].token_n : 0) - (a.ends[k].stopped ? 0 : 1);
        g_assert_cmpuint(v.steps, ==, forwards);
        g_assert_cmpuint(v.differ + v.computed_n + v.memory_n + v.replay_n, ==, 0);
        g_assert_true(replay ? v.played > 1 : v.played == 0);
        psc_run_result_release(&a);
    }
    psc_arena_release(&t.arena);
}

/* ---- other buffers ------------------------------------------------------------------------------------ */

/* Recordings are dropped, two executions are direct, the next one records. */
static void moved_buffers_are_recorded_anew(void)
{
    static const char *const planners[] = {"pool", "naive", "best-fit"};
    for (size_t p = 0; p < G_N_ELEMENTS(planners); p++) {
        struct tiny t;
        struct psc_run_result still, moved;
        struct psc_verified v;
        tiny_open(&t);
        struct psc_run_request q = request_of(&t, "cuda-shim");
        q.turn_n = 0;
        q.n_predict = 11;
        q.session.replay = true;
        q.session.planner = psc_planner_find(planners[p]);
        run(&q, &still);
        g_assert_cmpuint(still.counters.captures, ==, 1);
        g_assert_cmpuint(still.counters.replays, ==, 7);
        q.move_at = 6; /* the fifth decode: recorded in the third, replayed in the fourth */
        verified(&q, &moved, &v);
        g_assert_cmpuint(moved.counters.moves, ==, 1);
        g_assert_cmpuint(moved.counters.captures, ==, 2);
        g_assert_cmpuint(moved.counters.replays, ==, 4);
        g_assert_cmpuint(moved.pools[2].pool_bytes, >, still.pools[2].pool_bytes);
        g_assert_cmpmem(moved.tokens, moved.token_n * 4, still.tokens, still.token_n * 4);
        g_assert_cmpmem(moved.logits, moved.logit_n * 4, still.logits, still.logit_n * 4);
        g_assert_cmpuint(v.played, ==, 6);
        g_assert_cmpuint(v.replay_n + v.differ, ==, 0);
        g_assert_cmpuint(moved.doc->phase_n, ==, 3); /* buffers are others from there on */
        g_assert_cmpuint(moved.finding_n, ==, 0);
        psc_run_result_release(&still);
        psc_run_result_release(&moved);
        psc_arena_release(&t.arena);
    }
}

/* Fault l32: the recording goes on with the buffers it was made with, and nobody refills those. */
static void a_recording_that_outlives_its_buffers_is_told(void)
{
    struct psc_named_fault l32;
    struct tiny t;
    struct psc_run_result still, moved;
    struct psc_verified v;
    tiny_open(&t);
    g_assert_true(psc_named_fault_find("l32", &l32));
    struct psc_run_request q = request_of(&t, "cuda-shim");
    q.turn_n = 0;
    q.n_predict = 11;
    q.session.replay = true;
    run(&q, &still);
    q.session.run_faults = l32.run;
    verified(&q, &moved, &v); /* nothing moves: no harm */
    g_assert_cmpuint(v.replay_n, ==, 0);
    psc_run_result_release(&moved);
    q.move_at = 6;
    verified(&q, &moved, &v);
    g_assert_cmpuint(moved.counters.captures, ==, 1);
    g_assert_cmpuint(moved.counters.replays, ==, 7);
    g_assert_cmpint(memcmp(moved.tokens, still.tokens, still.token_n * 4), !=, 0);
    g_assert_cmpint(memcmp(moved.tokens, still.tokens, 5 * 4), ==, 0); /* until then */
    g_assert_cmpuint(v.replay_n, ==, 6);
    g_assert_cmpuint(v.computed_n + v.memory_n + v.differ, ==, 0);
    g_assert_cmpint(v.first[0].cause, ==, PSC_VERIFY_REPLAY);
    g_assert_cmpuint(v.first[0].phase, ==, 2);
    g_assert_cmpuint(v.first[0].step, ==, 0);
    psc_run_result_release(&moved);
    psc_run_result_release(&still);
    psc_arena_release(&t.arena);
}

static const float x4[] = {1, 2, 3, 4};
static const struct psc_run_fill fill = {"x", x4, 4};

static struct psc_run_request graph_request(struct psc_arena *arena)
{
    struct psc_run_request q = {.fills = &fill, .fill_n = 1, .times = 6, .move_at = 5, .backends = "cuda-shim",
                                .session = {.plan = psc_plan_defaults, .replay = true, .config = {.threads = 1}}};
    q.graph = text_graph(arena, "x: input 4\ns: scale 4 x scale=2\no: add 4 s x\nout o");
    return q;
}

/* A graph's inputs are filled again when it has moved, although it is filled only once else. */
static void a_graph_moves_too(void)
{
    for (unsigned bad = 0; bad < 2; bad++) {
        struct psc_arena arena = {0};
        struct psc_named_fault l32;
        struct psc_run_result a;
        struct psc_verified v;
        struct psc_run_request q = graph_request(&arena);
        g_assert_true(psc_named_fault_find("l32", &l32));
        q.session.run_faults = bad ? l32.run : 0;
        q.session.recycled = PSC_RECYCLED_POISONED;
        q.session.plan.mode = PSC_MODE_HARDENED;
        verified(&q, &a, &v);
        float o[4];
        g_assert_cmpint(psc_session_read(a.session, q.graph->outputs[0], o, 4, NULL), ==, PSC_OK);
        g_assert_true(bad ? o[3] != 12.0f : o[3] == 12.0f);
        g_assert_cmpuint(v.replay_n, ==, bad ? 2 : 0);
        g_assert_cmpuint(v.steps, ==, 6);
        psc_run_result_release(&a);
        psc_arena_release(&arena);
    }
}

static enum psc_status move_briefly(void *ctx)
{
    struct psc_run_result a;
    enum psc_status status = try(ctx, &a, NULL);
    psc_run_result_release(&a);
    return status;
}

static void memory_may_run_out_anywhere(void)
{
    struct psc_arena arena = {0};
    struct psc_run_request q = graph_request(&arena);
    g_assert_cmpuint(test_oom_loop(move_briefly, &q), >, 60);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/turns/are-one-text", turns_are_one_text);
    g_test_add_func("/run/turns/a-stop-token-ends-one-answer", a_stop_token_ends_one_answer);
    g_test_add_func("/run/turns/prompts-without-answers", prompts_without_answers);
    g_test_add_func("/run/turns/what-cannot-be-is-refused", what_cannot_be_is_refused);
    g_test_add_func("/run/turns/are-verified-turn-by-turn", turns_are_verified_turn_by_turn);
    g_test_add_func("/run/moves/buffers-are-recorded-anew", moved_buffers_are_recorded_anew);
    g_test_add_func("/run/moves/a-recording-that-outlives-its-buffers-is-told", a_recording_that_outlives_its_buffers_is_told);
    g_test_add_func("/run/moves/a-graph-moves-too", a_graph_moves_too);
    g_test_add_func("/run/moves/memory-may-run-out-anywhere", memory_may_run_out_anywhere);
    return g_test_run();
}
