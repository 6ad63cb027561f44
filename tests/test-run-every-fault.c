/* Every defect by name over every way to run a tiny model: wrong numbers, findings and refusals may come out, never a crash,
 * and whatever is refused is refused with a sentence. Which numbers are wrong is the matter of other tests. */
#include "tests/util.h"

#include "backends/registry.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/run/faults.h"
#include "core/run/run.h"

#include <string.h>

static const int32_t prompt[] = {5, 77, 130, 9, 64};
static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3"};
struct way { const char *backends; unsigned threads; uint32_t prompt_n, chunk; bool snapshot; enum psc_kv_inputs kv_inputs;
             enum psc_recycled recycled; };

/* Each is one of the others' ways with something else turned round, so that all of it meets every fault. */
static const struct way ways[] = {
    {"cpu", 1, 1, 0, true, PSC_KV_POSITIONS, PSC_RECYCLED_KEPT},
    {"cpu", 2, 5, 2, false, PSC_KV_SPAN, PSC_RECYCLED_POISONED},
    {"deferred", 2, 1, 0, true, PSC_KV_MAP, PSC_RECYCLED_KEPT},
    {"deferred", 1, 5, 0, false, PSC_KV_POSITIONS, PSC_RECYCLED_ZEROED},
    {"mixed:0-0=deferred,1-9=cpu", 1, 1, 0, true, PSC_KV_POSITIONS, PSC_RECYCLED_KEPT},
    {"mixed:0-0=deferred,1-9=cpu", 2, 5, 3, false, PSC_KV_SPAN, PSC_RECYCLED_KEPT},
    {"mixed:0-0=cpu,1-9=deferred", 2, 1, 0, false, PSC_KV_POSITIONS, PSC_RECYCLED_POISONED},
    {"mixed:0-0=cpu,1-9=deferred", 1, 5, 0, true, PSC_KV_MAP, PSC_RECYCLED_KEPT},
    {"cuda-shim", 1, 1, 0, false, PSC_KV_POSITIONS, PSC_RECYCLED_POISONED},
    {"cuda-shim", 1, 5, 2, true, PSC_KV_MAP, PSC_RECYCLED_KEPT},
    {"mixed:0-0=cuda-shim,1-9=cpu", 1, 5, 3, false, PSC_KV_SPAN, PSC_RECYCLED_KEPT},
    {"mixed:0-0=cpu,1-9=cuda-shim", 1, 5, 0, false, PSC_KV_POSITIONS, PSC_RECYCLED_POISONED},
};

static bool utters_itself(const char *text)
{
    return strlen(text) > 20 && strchr(text, ' ');
}

static enum psc_status run_way(const struct psc_model *model, const struct way *way, const struct psc_named_fault *fault,
                               enum psc_mode mode, struct psc_run_result *ret, struct psc_error *error)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    struct psc_run_request q = {
        .model = model, .prompt = prompt, .prompt_n = way->prompt_n, .n_predict = 4, .n_ctx = 16, .ignore_stop = true,
        .chunk = way->chunk, .backends = way->backends, .kv_inputs = way->kv_inputs,
        .session = {.plan = psc_plan_defaults, .snapshot = way->snapshot, .recycled = way->recycled,
                    .config = {.threads = way->threads, .timeout_ms = fault->call & PSC_CALL_L25 ? 20 : 0}},
        .record = {.events = true, .values = true, .hashes = true},
    };
    if (fault->run >> PSC_RUN_L15 & 1) /* else it has nothing to break */
        q.n_ctx = way->prompt_n + 2;
    q.session.plan.mode = mode;
    q.session.plan.faults = fault->plan;
    q.session.run_faults = fault->run;
    q.session.call_faults = fault->call;
    return psc_run(apis, n, &q, ret, error);
}

static void every_fault(gconstpointer preset)
{
    struct psc_arena arena = {0};
    struct psc_model *shapes = NULL, *model = NULL;
    uint32_t ran = 0, refused = 0, told = 0;
    struct psc_error err = {0};
    g_assert_cmpint(psc_model_preset(&arena, psc_preset_find(preset), NULL, &shapes, &err), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 7, &model, &err), ==, PSC_OK);
    for (uint32_t f = 0; f < psc_named_fault_n(); f++)
        for (size_t w = 0; w < G_N_ELEMENTS(ways); w++) {
            struct psc_named_fault fault = psc_named_fault(f);
            struct psc_run_result a;
            struct psc_error error = {0};
            enum psc_status status = run_way(model, &ways[w], &fault, w % 2 ? PSC_MODE_UPSTREAM : PSC_MODE_HARDENED, &a, &error);
            if (status && !utters_itself(error.text))
                g_error("%s on %s, way %zu: refused with \"%s\"", fault.name, (const char *)preset, w, error.text);
            if (!status && a.token_n != 4)
                g_error("%s on %s, way %zu: %u tokens", fault.name, (const char *)preset, w, a.token_n);
            refused += status != PSC_OK;
            ran += status == PSC_OK;
            told += a.finding_n || a.confirmed_n || a.unwritten_n;
            g_test_message("%s, way %zu: %s%s, %u findings, %u hashes", fault.name, w, status ? "refused: " : "ran", error.text,
                           a.finding_n, a.confirmed_n);
            psc_run_result_release(&a);
        }
    g_assert_cmpuint(ran, >, refused);
    g_assert_cmpuint(refused, >, 0);
    g_assert_cmpuint(told, >, 0);
    psc_arena_release(&arena);
}

/* The run that once wrote K rows to row 1,065,353,216: the copy of the positions lies where the result goes. */
static void a_staged_copy_of_positions_under_the_result(void)
{
    struct psc_arena arena = {0};
    struct psc_model *shapes = NULL, *model = NULL;
    struct psc_named_fault l7;
    struct psc_run_result a;
    struct psc_error error = {0};
    g_assert_true(psc_named_fault_find("l7", &l7));
    g_assert_cmpint(psc_model_preset(&arena, psc_preset_find("tiny-qwen2"), NULL, &shapes, &error), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 1, &model, &error), ==, PSC_OK);
    g_assert_cmpint(run_way(model, &ways[4], &l7, PSC_MODE_UPSTREAM, &a, &error), ==, PSC_ERR_RUN);
    g_assert_nonnull(strstr(error.text, "submit on deferred: node 4 (fused_qkv"));
    g_assert_nonnull(strstr(error.text, "overwritten while it ran"));
    g_assert_cmpuint(a.finding_n, >, 0); /* the checker says so, too */
    psc_run_result_release(&a);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t p = 0; p < G_N_ELEMENTS(presets); p++) {
        char *path = g_strdup_printf("/run/every-fault/%s", presets[p]);
        g_test_add_data_func(path, presets[p], every_fault);
        g_free(path);
    }
    g_test_add_func("/run/every-fault/a-staged-copy-of-positions-under-the-result", a_staged_copy_of_positions_under_the_result);
    return g_test_run();
}
