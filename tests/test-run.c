/* psc_run: a tiny model from prompt to document, in every way that must not matter. */
#include "tests/util.h"

#include "backends/registry.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/run/run.h"

#include <string.h>

struct tiny {
    struct psc_arena arena;
    struct psc_model *model;
};

static void tiny_open(struct tiny *t, const char *preset)
{
    struct psc_model *shapes = NULL;
    struct psc_error err = {0};
    *t = (struct tiny){0};
    g_assert_cmpint(psc_model_preset(&t->arena, psc_preset_find(preset), NULL, &shapes, &err), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&t->arena, shapes, 7, &t->model, &err), ==, PSC_OK);
}

static void tiny_close(struct tiny *t)
{
    psc_arena_release(&t->arena);
}

static const int32_t prompt[] = {5, 77, 130, 9, 64, 200, 31, 8, 90, 17, 250};

static struct psc_run_request request_of(const struct tiny *t)
{
    return (struct psc_run_request){
        .model = t->model, .prompt = prompt, .prompt_n = G_N_ELEMENTS(prompt), .n_predict = 6, .n_ctx = 64,
        .session = {.plan = psc_plan_defaults, .snapshot = true},
    };
}

static void run(const struct psc_run_request *request, struct psc_run_result *ret)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    struct psc_error err = {0};
    enum psc_status status = psc_run(apis, n, request, ret, &err);
    g_assert_cmpstr(status == PSC_OK ? "" : err.text, ==, "");
}

static void first(void)
{
    struct tiny t;
    struct psc_run_result result;
    tiny_open(&t, "tiny-qwen2");
    struct psc_run_request q = request_of(&t);
    q.record = (struct psc_recorder_options){.events = true, .values = true, .hashes = true};
    run(&q, &result);
    for (uint32_t i = 0; i < result.token_n; i++)
        g_test_message("%d", result.tokens[i]);
    g_test_message("findings %u confirmed %u unwritten %u; phases %u", result.finding_n, result.confirmed_n, result.unwritten_n, result.doc->phase_n);
    for (size_t i = 0; i < result.doc->report.n; i++)
        g_test_message("%s", result.doc->report.items[i].text);
    psc_run_result_release(&result);
    tiny_close(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/run/first", first);
    return g_test_run();
}
