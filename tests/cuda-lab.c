#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"
#include "backends/registry.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define F(...) (const float[]){__VA_ARGS__}

static struct psc_error error;

static void must(enum psc_status status)
{
    if (status)
        g_error("%s", error.text);
}

/* In the texts, @dev stands for the backend under test. */
struct psc_graph *cuda_lab_graph(struct cuda_lab *lab, const char *text)
{
    char *at = g_strdup_printf("@%s", lab->apis[1]->file_name);
    GString *spelt = g_string_new(text);
    g_string_replace(spelt, "@dev", at, 0);
    struct psc_graph *g = text_graph(&lab->arena, spelt->str);
    g_string_free(spelt, TRUE);
    g_free(at);
    return g;
}

void cuda_lab_begin(struct cuda_lab *lab, gconstpointer api, const char *text, uint64_t run_faults, unsigned call_faults)
{
    struct psc_session_options options = run_options();
    *lab = (struct cuda_lab){.apis = {&psc_backend_cpu, api}};
    options.replay = true;
    options.recycled = PSC_RECYCLED_POISONED;
    options.run_faults = run_faults;
    options.call_faults = call_faults;
    options.config.threads = 1;
    lab->s = run_session_on(&options, lab->apis, 2);
    lab->g = cuda_lab_graph(lab, text);
    run_use(lab->s, lab->g, 1);
}

void cuda_lab_end(struct cuda_lab *lab)
{
    psc_session_free(lab->s);
    psc_arena_release(&lab->arena);
}

struct psc_session_counters cuda_lab_counters(const struct cuda_lab *lab)
{
    struct psc_session_counters c;
    psc_session_counters(lab->s, &c);
    return c;
}

void cuda_lab_steps(struct cuda_lab *lab, uint32_t n, const char *output, float factor)
{
    for (uint32_t k = 1; k <= n; k++) {
        float x = (float)(100 * n + k);
        run_fill_f32(lab->s, "x", F(x, 2 * x, 3 * x, 4 * x), 4);
        run_execute(lab->s, NULL);
        run_expect(lab->s, output, F(factor * x, factor * 2 * x, factor * 3 * x, factor * 4 * x), 4, 0);
    }
}

static const int32_t prompt[] = {5, 77, 130, 9, 64, 200, 31, 8, 90, 17, 250, 4, 33, 71, 12, 99, 101, 54, 3, 68, 47, 222, 19, 80};

void cuda_tiny_open_of(struct cuda_tiny *t, const char *preset, const char *weights)
{
    struct psc_model *shapes = NULL;
    *t = (struct cuda_tiny){0};
    must(psc_model_preset(&t->arena, psc_preset_find(preset), weights, &shapes, &error));
    must(psc_model_seeded(&t->arena, shapes, 7, &t->model, &error));
}

void cuda_tiny_open(struct cuda_tiny *t, const char *preset)
{
    cuda_tiny_open_of(t, preset, NULL);
}

struct psc_run_request cuda_tiny_request(const struct cuda_tiny *t, const char *backends, bool replay)
{
    return (struct psc_run_request){
        .model = t->model, .prompt = prompt, .prompt_n = G_N_ELEMENTS(prompt), .n_predict = 6, .n_ctx = 64, .ignore_stop = true,
        .backends = backends, .session = {.plan = psc_plan_defaults, .config = {.threads = 1}, .replay = replay},
    };
}

void cuda_tiny_run(const struct psc_run_request *q, struct psc_run_result *ret)
{
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    enum psc_status status = psc_run(apis, n, q, ret, &error);
    if (status)
        g_error("%s", error.text);
}
