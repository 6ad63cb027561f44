/* That every run happens twice, and what becomes of one that differs. */
#include "tests/lazy-run.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/twice.h"
#include "tests/util.h"


#define F(...) (const float[]){__VA_ARGS__}

static const char chain[] = "x: input 4\nt: scale 4 x scale=2\nu: scale 4 x scale=5\no: add 4 t u\nout o\n";

struct lab {
    struct psc_arena arena;
    struct psc_graph *g;
    struct psc_session *s;
    struct twice_figures before;
};

static struct lab begin(const char *text, const struct psc_session_options *options)
{
    struct lab lab = {0};
    double_reset();
    lab.g = text_graph(&lab.arena, text);
    lab.s = run_session(options);
    run_use(lab.s, lab.g, 1);
    lab.before = twice_figures;
    return lab;
}

static void end(struct lab *lab)
{
    psc_session_free(lab->s);
    psc_arena_release(&lab->arena);
}

static void a_sound_run_is_compared(void)
{
    struct lab lab = begin(chain, NULL);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    for (unsigned k = 0; k < 3; k++) /* the inputs stay */
        run_execute(lab.s, NULL);
    g_assert_cmpuint(twice_figures.runs - lab.before.runs, ==, 3);
    g_assert_cmpuint(twice_figures.values - lab.before.values, ==, 3 * (3 + 1)); /* t, u, o, and o as the host reads it */
    g_assert_cmpuint(twice_figures.differ, ==, lab.before.differ);
    end(&lab);
}

/* t's bytes are u's, too: the checker says so, o differs. */
static struct lab a_wrong_plan(void)
{
    static const struct psc_foreign_place places[] = {{0, "x", 0}, {1, "t", 0}, {2, "t", 0}, {3, "o", 0}};
    static const struct psc_foreign foreign = {.places = places, .place_n = 4};
    struct psc_session_options options = run_options();
    options.planner = &psc_foreign_planner;
    options.plan.foreign = &foreign;
    struct lab lab = begin(chain, &options);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    return lab;
}

static void a_difference_that_the_checker_foretold_is_counted(void)
{
    struct lab lab = a_wrong_plan();
    run_execute(lab.s, NULL);
    g_assert_cmpuint(twice_figures.runs - lab.before.runs, ==, 1);
    g_assert_cmpuint(twice_figures.differ - lab.before.differ, ==, 2); /* o, made and read */
    end(&lab);
}

/* A kernel that makes other numbers the first time: nothing but the second run can know. */
static bool is_second;
static struct psc_backend_api forgetful;

static void meanwhile(bool begins)
{
    is_second = begins;
}

static enum psc_status forgetful_launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_call wrong = *call;
    struct psc_params params = *call->params;
    if (call->op == PSC_OP_SCALE && !is_second)
        params.scale *= 2;
    wrong.params = &params;
    return double_cpu.launch(b, &wrong, reterr);
}

static void wrong_kernel_subprocess(unsigned faults)
{
    struct psc_session_options options = run_options();
    const struct psc_backend_api *apis[1] = {&forgetful};
    struct psc_arena arena = {0};
    forgetful = double_cpu;
    forgetful.launch = forgetful_launch;
    twice_meanwhile = meanwhile;
    options.run_faults = faults;
    double_reset();
    struct psc_session *s = run_session_on(&options, apis, 1);
    run_use(s, text_graph(&arena, chain), 1);
    run_fill_f32(s, "x", F(1, 2, 3, 4), 4);
    run_execute(s, NULL);
    psc_session_free(s);
    psc_arena_release(&arena);
}

static void a_sound_run_that_differs_ends_the_program(void)
{
    if (g_test_subprocess()) {
        wrong_kernel_subprocess(0);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*node 1 of * differs from the run with a buffer for every value\n*");
}

/* With a fault on a difference is expected; but not there, where no finding is. */
static void a_difference_without_a_finding_ends_the_program(void)
{
    if (g_test_subprocess()) {
        wrong_kernel_subprocess(1u << PSC_RUN_L10);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*and no finding says so*");
}

static void rows_are_compared(void)
{
    struct lab lab = begin("x: input 2\npositions: input 1 i32\nk: scale 2 x scale=2\nv: scale 2 x scale=3\n"
                           "store: kvcache_store 2x16 k v positions #0\nload: kvcache_load 2x16 #0\no: attn 2 x load positions #0\nout o\n", NULL);
    for (int32_t p = 0; p < 3; p++) { /* the rows of the steps before are there the second time, too */
        run_fill_f32(lab.s, "x", F(1 + p, 2), 2);
        run_fill_i32(lab.s, "positions", &p, 1);
        run_execute(lab.s, NULL);
    }
    g_assert_cmpuint(twice_figures.runs - lab.before.runs, ==, 3);
    g_assert_cmpuint(twice_figures.values - lab.before.values, ==, 3 * (3 + 1 + 2)); /* k, v, o; o; K and V */
    end(&lab);
}

static void an_expression_is_carried_out_twice(void)
{
    struct twice_figures before = twice_figures;
    struct outcome out;
    run_text("x = [1, 2, 3, 4]; (x + 1) * (x - 1)", &(struct psc_candela_options){0}, false, &out);
    g_assert_cmpint(out.status, ==, PSC_OK);
    g_assert_cmpuint(twice_figures.runs, ==, before.runs + 1);
    run_text("x = [1, 2, 3, 4]; (x + 1) * (x - 1)", &(struct psc_candela_options){.generation = PSC_GEN_02}, false, &out);
    g_assert_cmpuint(twice_figures.runs, ==, before.runs + 1); /* need not be right */
}

/* Planned with a defect, and given out as sound. */
static void a_wrong_expression_ends_the_program(void)
{
    if (g_test_subprocess()) {
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_handle result;
        struct psc_candela_plan *plan = plan_text(&l, &arena, "e=[[1,1],[1,0]]; p=matmul(e,e); q=matmul(p,e); r=matmul(q,e); s=matmul(r,e)",
                                                  &(struct psc_candela_options){.faults = BIT(B12)});
        plan->options.faults = 0;
        g_assert_cmpint(psc_candela_execute(plan, &(struct psc_candela_run){0}, &result, NULL, NULL), ==, PSC_OK);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*of an expression differs from the run into fresh memory*");
}

static void what_is_excepted_runs_once(void)
{
    struct lab lab = begin(chain, NULL);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    twice_except("a test of the exception");
    run_execute(lab.s, NULL);
    twice_again();
    g_assert_cmpuint(twice_figures.runs, ==, lab.before.runs);
    run_execute(lab.s, NULL);
    g_assert_cmpuint(twice_figures.runs, ==, lab.before.runs + 1);
    end(&lab);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/twice/a-sound-run-is-compared", a_sound_run_is_compared);
    g_test_add_func("/run/twice/a-difference-that-the-checker-foretold-is-counted", a_difference_that_the_checker_foretold_is_counted);
    g_test_add_func("/run/twice/a-sound-run-that-differs-ends-the-program", a_sound_run_that_differs_ends_the_program);
    g_test_add_func("/run/twice/a-difference-without-a-finding-ends-the-program", a_difference_without_a_finding_ends_the_program);
    g_test_add_func("/run/twice/rows-are-compared", rows_are_compared);
    g_test_add_func("/run/twice/an-expression-is-carried-out-twice", an_expression_is_carried_out_twice);
    g_test_add_func("/run/twice/a-wrong-expression-ends-the-program", a_wrong_expression_ends_the_program);
    g_test_add_func("/run/twice/what-is-excepted-runs-once", what_is_excepted_runs_once);
    return g_test_run();
}
