/* Plans looked at from outside: each defect is named with its step and its cause, plans without one are clean. */
#include "core/base/hash.h"
#include "core/candela/skeleton.h"
#include "core/candela/verify.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

#define RIGHT "a=[10,10,10,10]; b=[3,3,3,3]; r=a-(b+0)"
#define PACKER "t=transpose([[1,2],[3,4]]); c=as_contiguous(t); s=t+1; r=c+s"
#define TWICE "t=transpose(view(arange(6),3,2)); k=as_contiguous(t); v=transpose(t); w=transpose(k); r=v+w"
#define VIEWS "t=a+b; v=view(t,2,2); w=view(t,2,2); m=matmul(w,w); u=v+m; r=sum(u)"
#define SQUARES "e=ones(8,8); p=matmul(e,e); x=sum(p); q=matmul(slice(e,0,4),e); y=sum(q); r=x+y"
#define PEAKS "e=ones(8,8); x=matmul(e,e); y=matmul(e,e); z=x+y; u=matmul(ones(9,9),ones(9,9)); r=sum(u)+sum(z)"
#define POWER "e=[[1,1],[1,0]]; p=matmul(e,e); q=matmul(p,e); r=matmul(q,e); s=matmul(r,e)"

struct row {
    const char *path, *text;
    enum psc_generation generation;
    uint64_t faults;
    enum psc_wrong what;
    enum psc_wrong_why why;
    const char *step, *who; /* names: of the step, of id or with; NULL: not asked */
};
static const struct row rows[] = {
    {"b1", RIGHT, 0, BIT(B1), PSC_WRONG_VALUE, PSC_WHY_EXCHANGED, "r", NULL},
    {"b1-in-a-skeleton", "x=slot(4); y=slot(4); r=x-(y+0)", 0, BIT(B1), PSC_WRONG_VALUE, PSC_WHY_EXCHANGED, "r", NULL},
    {"b2", "r=ones(4)-3", 0, BIT(B2), PSC_WRONG_VALUE, PSC_WHY_OTHER_OP, "r", NULL},
    {"b2-in-a-list", "r=(ones(4)*2-3)*5", 0, BIT(B2), PSC_WRONG_VALUE, PSC_WHY_OTHER_OP, "r", NULL},
    {"b3", PACKER, 0, BIT(B3), PSC_WRONG_REFUSED, PSC_WHY_MADE_LATER, "s", "c"},
    {"b4", "e=[1,2,3,4]; n=noop(e); v=view(n,2,2); r=v*3", 0, BIT(B4), PSC_WRONG_REFUSED, PSC_WHY_STANDS_FOR, "v", "n"},
    {"b5", "x=arange(4)+1; c=cache(x); r=c+0", 0, BIT(B5), PSC_WRONG_REFUSED, PSC_WHY_CACHE_HOLDS, "r", "x"},
    {"b6", "t=a+b; r=t*2", 0, BIT(B6), PSC_WRONG_NOT_OVER, 0, "r", "t"},
    {"b6-generation-0.1", "t=a+b; r=t*2", PSC_GEN_01, 0, PSC_WRONG_NOT_OVER, 0, "r", "t"},
    {"b7", "t=a+b; v=view(t,4); r=t-v", 0, BIT(B7), PSC_WRONG_REFUSED, PSC_WHY_OPERANDS_SHARE, "r", "t"},
    {"b7-generation-0.2", "t=a+b; v=view(t,4); r=t-v", PSC_GEN_02, 0, PSC_WRONG_REFUSED, PSC_WHY_OPERANDS_SHARE, "r", "t"},
    {"b8", "s=[[1,2,3],[4,5,6]]+zeros(2,3); t=transpose(s); r=t+1", 0, BIT(B8), PSC_WRONG_VALUE, PSC_WHY_OVER_STRIDED, "r", "t"},
    {"b9", "x=slice(arange(5),2,4); r=x+1", 0, BIT(B9), PSC_WRONG_VALUE, PSC_WHY_FROM_START, "r", "x"},
    {"b9-of-two", "x=slice(arange(5),2,4); r=[1,1]-x", 0, BIT(B9), PSC_WRONG_VALUE, PSC_WHY_FROM_START, "r", "x"},
    {"b10", "r=matmul([[1,2]],[[3],[4]])", 0, BIT(B10), PSC_WRONG_REFUSED, PSC_WHY_TURNED, "r", NULL},
    {"b11", "t=a+b; u=t*2; r=u-t", 0, BIT(B11), PSC_WRONG_REFUSED, PSC_WHY_TAKEN, "r", "t"},
    {"b12", POWER, 0, BIT(B12), PSC_WRONG_VALUE, PSC_WHY_UNTOLD, "q", NULL},
    {"b13", "k=as_contiguous(transpose([[1,2],[3,4]])); r=k+0", 0, BIT(B13), PSC_WRONG_REFUSED, PSC_WHY_MADE_LATER, "k", "k"},
    {"b14", "t=transpose([[1,2],[3,4]]); n=noop(t); k=as_contiguous(n); r=k+n", 0, BIT(B14), PSC_WRONG_TWO_HOPS, 0, NULL, "n"},
    {"b15", "t=a+b; v=view(t,2,2); u=v+1; w=u*3; r=matmul(w,v)", 0, BIT(B15), PSC_WRONG_REFUSED, PSC_WHY_VIEW_HOLDS, "w", "t"},
    {"b17", "t=a+b; v=view(t,2,2); r=v*2", 0, BIT(B17), PSC_WRONG_REFUSED, PSC_WHY_VIEW_HOLDS, "r", "v"},
    {"b18", "t=a+b; u=t*2; r=u-t", 0, BIT(B18), PSC_WRONG_REFUSED, PSC_WHY_GIVEN_BACK, "r", "t"},
    {"b19", SQUARES, 0, BIT(B19), PSC_WRONG_LATE, 0, "p", "q"},
    {"b20", POWER, PSC_GEN_ARENA, BIT(B20), PSC_WRONG_VALUE, PSC_WHY_UNTOLD, "q", NULL},
    {"b21", "p=matmul(ones(1,1),[[1,2,3]]); q=matmul(ones(1,1),[[4,5,6]]); r=sum(p)+sum(q)", PSC_GEN_ARENA, BIT(B21),
     PSC_WRONG_CROOKED, 0, NULL, NULL},
    {"cl1", "x=transpose([[1,2],[3,4]]); d=cache(x); e=cache(x); k=as_contiguous(e); s=k+1; r=s+(d*1)", 0, BIT(CL1),
     PSC_WRONG_REFUSED, PSC_WHY_STANDS_FOR, "s", "e"},
    {"cl2", TWICE, 0, BIT(CL2), PSC_WRONG_VALUE, PSC_WHY_OLD_STRIDES, "v", "k"},
    {"cl2-generation-arena", TWICE, PSC_GEN_ARENA, 0, PSC_WRONG_VALUE, PSC_WHY_OLD_STRIDES, "v", "k"},
    {"cl3", PEAKS, 0, BIT(CL3), PSC_WRONG_REPORT, 0, NULL, NULL},
    {"cl4", VIEWS, 0, BIT(CL4), PSC_WRONG_REFUSED, PSC_WHY_VIEW_HOLDS, "u", "v"},
    {"cl4-generation-arena", VIEWS, PSC_GEN_ARENA, 0, PSC_WRONG_REFUSED, PSC_WHY_VIEW_HOLDS, "u", "v"},
};

static struct psc_candela_verdict verdict_of(struct psc_lazy *l, struct psc_arena *arena, struct psc_candela_plan *plan)
{
    struct psc_candela_verdict verdict;
    struct psc_error error = {0};
    if (psc_candela_verify(arena, l, (uint32_t)l->n - 1, plan, false, &verdict, &error))
        g_error("%s", error.text);
    return verdict;
}

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    for (int wrong = 1; wrong >= 0; wrong--) {
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_candela_options options = {wrong ? row->generation : PSC_GEN_HARDENED, wrong ? row->faults : 0, 0};
        struct psc_candela_plan *plan = plan_text(&l, &arena, row->text, &options);
        struct psc_candela_verdict verdict = verdict_of(&l, &arena, plan);
        g_assert_true(verdict.executed);
        if (wrong) {
            g_assert_cmpuint(verdict.n, >, 0);
            const struct psc_candela_wrong *w = &verdict.wrongs[0];
            g_assert_cmpint(w->what, ==, row->what);
            g_assert_cmpint(w->why, ==, row->why);
            if (row->step)
                g_assert_cmpstr(plan->steps[w->step].name, ==, row->step);
            if (row->who)
                g_assert_cmpstr(plan->names[w->id], ==, row->who);
        } else {
            g_assert_cmpuint(verdict.n, ==, 0);
        }
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
}

/* The numbers of a finding. */
static void test_numbers(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan = plan_text(&l, &arena, RIGHT, &(struct psc_candela_options){.faults = BIT(B1)});
    struct psc_candela_verdict v = verdict_of(&l, &arena, plan);
    g_assert_cmpuint(v.n, ==, 1);
    g_assert_cmpfloat(v.wrongs[0].found, ==, -7);
    g_assert_cmpfloat(v.wrongs[0].expected, ==, 7);
    psc_lazy_release(&l);
    plan = plan_text(&l, &arena, "r=ones(4)-3", &(struct psc_candela_options){.faults = BIT(B2)});
    v = verdict_of(&l, &arena, plan);
    g_assert_cmpint((char)v.wrongs[0].a, ==, '+');
    g_assert_cmpint((char)v.wrongs[0].b, ==, '-');
    psc_lazy_release(&l);
    plan = plan_text(&l, &arena, VIEWS, &(struct psc_candela_options){.faults = BIT(CL4)});
    v = verdict_of(&l, &arena, plan);
    g_assert_cmpstr(plan->names[v.wrongs[0].with], ==, "w");
    g_assert_cmpstr(plan->steps[v.wrongs[0].a].name, ==, "m");     /* reads w last */
    g_assert_cmpstr(plan->steps[v.wrongs[0].other].name, ==, "u"); /* gives it back */
    psc_lazy_release(&l);
    plan = plan_text(&l, &arena, PEAKS, &(struct psc_candela_options){.faults = BIT(CL3)});
    v = verdict_of(&l, &arena, plan);
    g_assert_cmpint(v.wrongs[0].a, ==, 64 + 1 + 81 + 1);
    g_assert_cmpint(v.wrongs[0].b, ==, 64 + 64);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* Bytes that are written over by a later step, before they are read: the plan is damaged by hand, as no fault does it
 * without the executor seeing it. */
static void test_damage(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan = plan_text(&l, &arena, "e=[[1,1],[0,1]]; p=matmul(e,e); q=matmul(e,p); s=sum(q); u=sum(p); r=u+s",
                                              &(struct psc_candela_options){.generation = PSC_GEN_ARENA, .align = 1});
    struct psc_candela_step *steps = psc_arena_alloc(&arena, plan->n, sizeof *steps);
    uint32_t p = PSC_NONE, u = PSC_NONE, s = PSC_NONE;
    memcpy(steps, plan->steps, plan->n * sizeof *steps);
    for (uint32_t i = 0; i < plan->n; i++) {
        p = strcmp(steps[i].name, "p") ? p : i;
        u = strcmp(steps[i].name, "u") ? u : i;
        s = strcmp(steps[i].name, "s") ? s : i;
    }
    g_assert_cmpuint(p, <, s);
    g_assert_cmpuint(s, <, u);
    steps[s].offset = steps[p].offset;
    steps[s].how = PSC_HOW_REGION;
    plan->steps = steps;
    struct psc_candela_verdict v = verdict_of(&l, &arena, plan);
    g_assert_cmpuint(v.n, >, 0);
    g_assert_cmpint(v.wrongs[0].what, ==, PSC_WRONG_DAMAGED);
    g_assert_cmpuint(v.wrongs[0].step, ==, u);
    g_assert_cmpuint(v.wrongs[0].other, ==, s);
    g_assert_cmpstr(plan->names[v.wrongs[0].id], ==, "p");
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* What is too much is not carried out, and says so; its structure is looked at all the same. */
static void test_too_much(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan = plan_text(&l, &arena, "t=matmul(ones(512,512),ones(512,512)); r=t*2",
                                              &(struct psc_candela_options){.faults = BIT(B6)});
    struct psc_candela_verdict v = verdict_of(&l, &arena, plan);
    g_assert_false(v.executed);
    g_assert_cmpuint(v.elements, >, PSC_VERIFY_MAX);
    g_assert_cmpuint(v.n, ==, 1);
    g_assert_cmpint(v.wrongs[0].what, ==, PSC_WRONG_NOT_OVER);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* Is the result that a run gives another one than it should be, or is there none? */
static bool goes_wrong(struct psc_lazy *l, struct psc_arena *arena, const struct psc_candela_plan *plan, uint32_t root)
{
    struct psc_handle result;
    float **values, got[64];
    if (psc_candela_execute(plan, &(struct psc_candela_run){.dry = true}, &result, NULL, NULL))
        return true;
    g_assert_cmpint(psc_lazy_direct(arena, l, root, &values, NULL), ==, PSC_OK);
    uint64_t n = psc_layout_len(&result.layout);
    psc_handle_read(&result, got);
    psc_store_unref(result.store);
    bool wrong = false;
    for (uint64_t i = 0; i < n; i++)
        wrong = wrong || !(got[i] == values[root][i] || (got[i] != got[i] && values[root][i] != values[root][i]));
    return wrong;
}

/* Random expressions under every generation and every fault: the hardened plan is clean in every respect; whenever a run gives
 * something wrong or nothing, something is named that is no mere waste. */
static void test_random(void)
{
    unsigned wrong = 0, clean = 0, wasted = 0, named[PSC_WRONG_N] = {0};
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 300; round++) {
        struct psc_lazy l;
        uint64_t state = test_seed() * 1000003 + round;
        psc_lazy_init(&l);
        l.fuse = round % 2;
        uint32_t root = lazy_random(&l, &state);
        for (int k = 0; k < PSC_GEN_N + 2 * PSC_CANDELA_FAULT_N; k++) {
            struct psc_arena arena = {0};
            struct psc_candela_options options = {.generation = (enum psc_generation)k};
            if (k >= PSC_GEN_N) {
                options.generation = k % 2 ? PSC_GEN_ARENA : PSC_GEN_HARDENED;
                options.faults = UINT64_C(1) << (k - PSC_GEN_N) / 2;
            }
            struct psc_candela_plan *plan;
            struct psc_candela_verdict v;
            struct psc_error error = {0};
            if (psc_candela_plan(&arena, &l, root, &options, &plan, &error)) { /* cl1: a view of what is not packed after all */
                g_assert_cmpuint(options.faults, ==, BIT(CL1));
                psc_arena_release(&arena);
                continue;
            }
            if (psc_candela_verify(&arena, &l, root, plan, !k, &v, &error))
                g_error("round %" G_GUINT64_FORMAT ", %d: %s", round, k, error.text);
            bool serious = false, bad = goes_wrong(&l, &arena, plan, root);
            for (uint32_t i = 0; i < v.n; i++) {
                serious = serious || !psc_wrong_is_waste(v.wrongs[i].what);
                named[v.wrongs[i].what]++;
            }
            if (!k && v.n)
                g_error("round %" G_GUINT64_FORMAT ": the hardened plan has %u wrongs, the first is %d", round, v.n, v.wrongs[0].what);
            if (bad && !serious)
                g_error("round %" G_GUINT64_FORMAT ", %d: it goes wrong and nothing is named", round, k);
            wrong += bad;
            clean += !v.n;
            wasted += v.n && !serious;
            psc_arena_release(&arena);
        }
        psc_lazy_release(&l);
    }
    g_assert_cmpuint(clean, >, 300);
    g_assert_cmpuint(wrong, >, 200);
    g_assert_cmpuint(wasted, >, 100);
    for (int what = 0; what < PSC_WRONG_N; what++)
        if (what != PSC_WRONG_DAMAGED)
            g_assert_cmpuint(named[what], >, 0);
}

/* A plan whose levels leave the anti-dependencies out is right as listed; level by level a step writes what another still reads. */
static void test_by_level(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    const char *text = "e=ones(2,2); f=[[1,2],[3,4]]; p=matmul(e,e); x=matmul(p,e); q=matmul(f,f); y=sum(q); r=sum(x)*y";
    struct psc_candela_plan *plan = plan_text(&l, &arena, text, &(struct psc_candela_options){.generation = PSC_GEN_ARENA, .align = 1});
    struct psc_candela_step *steps = psc_arena_alloc(&arena, plan->n, sizeof *steps);
    struct psc_candela_verdict v;
    g_assert_cmpint(psc_candela_verify(&arena, &l, (uint32_t)l.n - 1, plan, true, &v, NULL), ==, PSC_OK);
    g_assert_cmpuint(v.n, ==, 0);
    g_assert_true(v.by_level);
    for (uint32_t p = 0; p < plan->n; p++) {
        steps[p] = plan->steps[p];
        steps[p].level = steps[p].how != PSC_HOW_LEAF;
        for (uint32_t k = 0; k < steps[p].needs_n; k++)
            if (steps[steps[p].needs[k]].level + 1 > steps[p].level)
                steps[p].level = steps[steps[p].needs[k]].level + 1;
    }
    plan->steps = steps;
    g_assert_cmpuint(verdict_of(&l, &arena, plan).n, ==, 0);
    g_assert_cmpint(psc_candela_verify(&arena, &l, (uint32_t)l.n - 1, plan, true, &v, NULL), ==, PSC_OK);
    g_assert_cmpuint(v.n, ==, 1);
    g_assert_true(v.wrongs[0].by_level && !v.by_level);
    g_assert_cmpint(v.wrongs[0].what, ==, PSC_WRONG_DAMAGED);
    g_assert_cmpuint(v.wrongs[0].other, !=, PSC_NONE);
    g_assert_nonnull(v.samples);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* Slots for which nothing stands in cannot be carried out. */
static void test_slots(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_handle *inputs;
    struct psc_error error = {0};
    struct psc_candela_plan *plan = plan_text(&l, &arena, "x=slot(4); r=x*2", &(struct psc_candela_options){0});
    g_assert_cmpint(psc_candela_stand_ins(&l, plan, &inputs, NULL), ==, PSC_OK);
    g_assert_cmpfloat(inputs[0].store->at[3], ==, 4);
    psc_candela_stand_ins_free(inputs, plan->external_n);
    l.nodes[plan->externals[0]].data = NULL;
    g_assert_cmpint(psc_candela_stand_ins(&l, plan, &inputs, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpstr(error.text, ==, "nothing stands in for slot x");
    struct psc_candela_verdict v = verdict_of(&l, &arena, plan);
    g_assert_false(v.executed);
    g_assert_cmpuint(v.n, ==, 0);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

static enum psc_status verify_it(void *data)
{
    struct psc_lazy *l = data;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan;
    struct psc_candela_verdict v;
    struct psc_candela_options options = {.faults = BIT(B7)};
    enum psc_status status = psc_candela_plan(&arena, l, (uint32_t)l->n - 1, &options, &plan, NULL);
    if (!status)
        status = psc_candela_verify(&arena, l, (uint32_t)l->n - 1, plan, true, &v, NULL);
    g_assert_true(status || v.n == 1);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    plan_text(&l, &arena, "n=noop(slot(4)); t=n+b; v=view(t,4); r=t-v", &(struct psc_candela_options){0});
    g_assert_cmpuint(test_oom_loop(verify_it, &l), >, 20);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strdup_printf("/candela-verify/named/%s", rows[i].path);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    g_test_add_func("/candela-verify/the-numbers-of-a-finding", test_numbers);
    g_test_add_func("/candela-verify/bytes-that-change-before-they-are-read", test_damage);
    g_test_add_func("/candela-verify/what-is-too-much-is-not-carried-out", test_too_much);
    g_test_add_func("/candela-verify/random-expressions-under-every-fault", test_random);
    g_test_add_func("/candela-verify/level-by-level-a-missing-dependency-is-named", test_by_level);
    g_test_add_func("/candela-verify/slots-need-a-stand-in", test_slots);
    g_test_add_func("/candela-verify/oom", test_oom);
    return g_test_run();
}
