/* candela's planner: caches, identity, skeletons, random expressions against direct evaluation, out of memory. */
#include "core/base/hash.h"
#include "core/candela/levels.h"
#include "core/candela/parse.h"
#include "core/candela/skeleton.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

/* Slots as a plain list that is scanned: the first of the length whose end is past. Returns how often one was taken. */
static unsigned scan_slots(const struct psc_candela_plan *plan)
{
    int32_t *end = g_new(int32_t, plan->slot_n + 1);
    uint32_t n = 0;
    unsigned taken = 0;
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *step = &plan->steps[p];
        uint32_t first = 0;
        while (first < n && !(plan->slots[first].len == step->len && end[first] != PSC_CANDELA_EVER && end[first] < (int32_t)p))
            first++;
        if (step->how == PSC_HOW_USE_SLOT || step->how == PSC_HOW_ALLOCATE)
            g_assert_cmpuint(step->slot, ==, first);
        if (step->how == PSC_HOW_ALLOCATE)
            g_assert_cmpuint(step->slot, ==, n++);
        taken += step->how == PSC_HOW_USE_SLOT;
        if (step->how == PSC_HOW_REFERENCE_SLOT)
            end[step->slot] = step->cell || step->end < 0 || end[step->slot] < 0 ? PSC_CANDELA_EVER
                              : step->end > end[step->slot]                     ? step->end
                                                                                : end[step->slot];
        else if (step->slot != PSC_NONE)
            end[step->slot] = step->end;
    }
    g_assert_cmpuint(n, ==, plan->slot_n);
    g_free(end);
    return taken;
}

/* ---- caches and identity ------------------------------------------------------------------------------------ */

static void test_cache_is_kept(void)
{
    struct psc_lazy l;
    struct outcome first = {0}, second = {0}, other = {0};
    struct psc_candela_options options = {0};
    psc_lazy_init(&l);
    float data[4] = {0, 1, 2, 3};
    uint32_t x = psc_lazy_edge(&l, "x", 1, (uint64_t[]){4}, data), y = psc_lazy_scalar(&l, "y", x, '+', 1);
    uint32_t c = psc_lazy_cache(&l, "c", y), twice = psc_lazy_scalar(&l, "twice", c, '*', 20);
    uint32_t more = psc_lazy_scalar(&l, "more", c, '+', 10);
    g_assert_null(l.nodes[c].cell->store);
    g_assert_cmpint(run_on(&l, twice, &options, &first), ==, PSC_OK);
    struct psc_store *kept = l.nodes[c].cell->store;
    g_assert_nonnull(kept);
    g_assert_cmpfloat(first.values[0], ==, 20);
    g_assert_cmpint(run_on(&l, more, &options, &second), ==, PSC_OK);
    g_assert_cmpfloat(second.values[0], ==, 11);
    g_assert_true(l.nodes[c].cell->store == kept);
    l.nodes[x].data[0] = 100; /* what is behind a filled cache is not looked at */
    g_assert_cmpint(run_on(&l, more, &options, &other), ==, PSC_OK);
    g_assert_cmpfloat(other.values[0], ==, 11);
    psc_lazy_forget(&l, c);
    g_assert_cmpint(run_on(&l, more, &options, &other), ==, PSC_OK);
    g_assert_cmpfloat(other.values[0], ==, 111);
    psc_lazy_release(&l);
}

static uint32_t steps_called(const struct psc_candela_plan *plan, enum psc_lazy_op op, enum psc_how how)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < plan->n; p++)
        n += plan->steps[p].op == op && plan->steps[p].how == how && plan->steps[p].input_n;
    return n;
}

/* A packer whose result nobody keeps packs at each call; one that a cache keeps does so once, in either order. */
static void test_packers(void)
{
    static const char *const texts[] = {
        "t=transpose([[1,2],[3,4]]); k=cache(as_contiguous(t)); p=as_contiguous(t); (k*1)+(p*2)",
        "t=transpose([[1,2],[3,4]]); k=cache(as_contiguous(t)); p=as_contiguous(t); (p*2)+(k*1)",
    };
    for (size_t i = 0; i < 3; i++) {
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_candela_options options = {0};
        bool ephemeral = i == 2;
        const char *text = ephemeral ? "as_contiguous(transpose([[1,2],[3,4]]))*3" : texts[i];
        struct psc_candela_plan *plan = plan_text(&l, &arena, text, &options), *again;
        struct outcome out = {0};
        uint32_t root = (uint32_t)l.n - 1, cache = PSC_NONE;
        for (uint32_t id = 0; id < l.n; id++)
            if (l.nodes[id].kind == PSC_LAZY_CACHE)
                cache = id;
        g_assert_cmpuint(steps_called(plan, PSC_LAZY_AS_CONTIGUOUS, PSC_HOW_ALLOCATE), ==, 1);
        struct psc_store *kept = NULL;
        for (int call = 0; call < 2; call++) {
            g_assert_cmpint(run_on(&l, root, &options, &out), ==, PSC_OK);
            char *values = spell(&out);
            g_assert_cmpstr(values, ==, ephemeral ? "3 9 6 12" : "3 9 6 12");
            g_free(values);
            if (!ephemeral && call)
                g_assert_true(l.nodes[cache].cell->store == kept);
            kept = ephemeral ? NULL : l.nodes[cache].cell->store;
        }
        g_assert_cmpint(psc_candela_plan(&arena, &l, root, &options, &again, NULL), ==, PSC_OK);
        if (ephemeral)
            g_assert_cmpuint(steps_called(again, PSC_LAZY_AS_CONTIGUOUS, PSC_HOW_ALLOCATE), ==, 1);
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
}

static void test_identity(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan =
        plan_text(&l, &arena, "x=[1,2,3,4]; y=[1,2,3,4]; p=sum(x+1); q=sum(x+1); matmul(view(x+1,2,2),view(x+1,2,2))+view(y+0,2,2)",
                  &(struct psc_candela_options){0});
    uint32_t leaves = 0, sums = 0;
    for (uint32_t p = 0; p < plan->n; p++) {
        leaves += plan->steps[p].how == PSC_HOW_LEAF;
        sums += plan->steps[p].op == PSC_LAZY_SCALAR && plan->steps[p].slot != PSC_NONE;
    }
    g_assert_cmpuint(leaves, ==, 2);
    g_assert_cmpuint(sums, ==, 3);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

static void test_result_shares_the_edge(void)
{
    static const char *const texts[] = {"transpose(transpose([[1,2],[3,4]]))", "transpose(slice([[1,2],[3,4]],0,1))",
                                        "broadcast([[1,2]],3,2)"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_handle result;
        struct psc_candela_plan *plan = plan_text(&l, &arena, texts[i], &(struct psc_candela_options){0});
        g_assert_cmpint(psc_candela_execute(plan, &(struct psc_candela_run){0}, &result, NULL, NULL), ==, PSC_OK);
        g_assert_true(result.store->at == l.nodes[0].data);
        psc_store_unref(result.store);
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
}

static void test_report(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_memory right, wrong;
    /* z overwrites x and frees y, an 8x8 of its own, which nobody notices on a step in place: it stands beside u's 81 */
    const char *text = "e=ones(8,8); x=matmul(e,e); y=matmul(e,e); z=x+y; u=matmul(ones(9,9),ones(9,9)); r=sum(u)+sum(z)";
    struct psc_candela_options options = {0};
    struct psc_candela_plan *plan = plan_text(&l, &arena, text, &options);
    g_assert_cmpint(psc_candela_report(plan, &right, NULL), ==, PSC_OK);
    plan->options.faults = BIT(CL3);
    g_assert_cmpint(psc_candela_report(plan, &wrong, NULL), ==, PSC_OK);
    g_assert_cmpuint(right.peak, ==, 64 + 64);
    g_assert_cmpuint(wrong.peak, ==, 64 + 1 + 81 + 1);
    g_assert_cmpuint(right.total, ==, wrong.total);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* ---- skeletons ----------------------------------------------------------------------------------------------- */

static struct psc_handle given(float *data, uint32_t n)
{
    struct psc_handle h = {.store = psc_store_borrow(data, n)};
    g_assert_nonnull(h.store);
    g_assert_cmpint(psc_layout_packed(1, (uint64_t[]){n}, &h.layout, NULL), ==, PSC_OK);
    return h;
}

static void test_skeleton(void)
{
    static const enum psc_generation generations[] = {PSC_GEN_HARDENED, PSC_GEN_ARENA};
    for (size_t g = 0; g < 2; g++) {
        struct psc_candela_options options = {.generation = generations[g]};
        struct psc_lazy l, outer;
        struct psc_skeleton *s, *o;
        struct psc_strides four;
        struct psc_error error = {0};
        float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, got[4];
        g_assert_cmpint(psc_layout_packed(1, (uint64_t[]){4}, &four, NULL), ==, PSC_OK);
        psc_lazy_init(&l);
        uint32_t x = psc_lazy_slot(&l, "x", &four), y = psc_lazy_slot(&l, "y", &four);
        uint32_t sum = psc_lazy_binary(&l, "sum", PSC_LAZY_ADD, x, y);
        uint32_t root = psc_lazy_binary(&l, "root", PSC_LAZY_MUL, psc_lazy_scalar(&l, "d", sum, '*', 2), sum);
        g_assert_cmpint(psc_skeleton_new(&l, root, &options, &s, &error), ==, PSC_OK);
        g_assert_cmpuint(psc_skeleton_plan(s)->external_n, ==, 2);
        struct psc_handle in[2] = {given(a, 4), given(b, 4)}, out;
        for (int again = 0; again < 3; again++) {
            a[0] = (float)again;
            g_assert_cmpint(psc_skeleton_run(s, in, 2, 0, &out, &error), ==, PSC_OK);
            psc_handle_read(&out, got);
            g_assert_cmpfloat(got[0], ==, 2 * (again + 5) * (again + 5));
            psc_store_unref(out.store);
        }
        g_assert_cmpint(psc_skeleton_run(s, in, 1, 0, &out, &error), ==, PSC_ERR_USAGE);
        g_assert_nonnull(strstr(error.text, "2 slots, 1 inputs"));
        struct psc_handle short_one[2] = {in[0], in[1]};
        short_one[1].layout.shape[0] = 3;
        g_assert_cmpint(psc_skeleton_run(s, short_one, 2, 0, &out, &error), ==, PSC_ERR_USAGE);
        g_assert_nonnull(strstr(error.text, "slot y is 4, what was given is 3"));
        /* composed: the same numbers from inside another expression */
        psc_lazy_init(&outer);
        a[0] = 1;
        uint32_t e = psc_lazy_edge(&outer, "e", 1, (uint64_t[]){4}, a), f = psc_lazy_edge(&outer, "f", 1, (uint64_t[]){4}, b);
        uint32_t baked = psc_lazy_baked(&outer, "baked", s, psc_skeleton_result(s), (uint32_t[]){e, f}, 2);
        uint32_t top = psc_lazy_scalar(&outer, "top", baked, '+', 1);
        g_assert_cmpint(psc_skeleton_new(&outer, top, &options, &o, &error), ==, PSC_OK);
        g_assert_cmpint(psc_skeleton_run(o, NULL, 0, 0, &out, &error), ==, PSC_OK);
        psc_handle_read(&out, got);
        g_assert_cmpfloat(got[0], ==, 73);
        psc_store_unref(out.store);
        psc_store_unref(in[0].store);
        psc_store_unref(in[1].store);
        psc_skeleton_free(o);
        psc_skeleton_free(s);
        psc_lazy_release(&outer);
        psc_lazy_release(&l);
    }
}

/* ---- random expressions against direct evaluation ---------------------------------------------------------- */

static void test_random(void)
{
    static const enum psc_generation generations[] = {PSC_GEN_HARDENED, PSC_GEN_ARENA};
    unsigned run = 0, failed = 0, taken = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 1500; round++) {
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_error error = {0};
        uint64_t state = test_seed() * 1000003 + round;
        float **values;
        psc_lazy_init(&l);
        l.fuse = round % 2;
        uint32_t root = lazy_random(&l, &state);
        g_assert_cmpint(psc_lazy_direct(&arena, &l, root, &values, &error), ==, PSC_OK);
        for (int again = 0; again < 2; again++) {
            struct psc_candela_options options = {.generation = generations[0]};
            struct outcome out = {0};
            struct psc_candela_plan *plan;
            g_assert_cmpint(psc_candela_plan(&arena, &l, root, &options, &plan, &error), ==, PSC_OK);
            taken += scan_slots(plan);
            g_assert_cmpuint(plan->hop_n, ==, 0);
            if (run_on(&l, root, &options, &out))
                g_error("round %" G_GUINT64_FORMAT ": %s", round, out.error.text);
            g_assert_cmpmem(out.values, out.n * sizeof(float), values[root], psc_layout_len(&l.nodes[root].layout) * sizeof(float));
            run++;
        }
        struct outcome out = {0};
        failed += run_on(&l, root, &(struct psc_candela_options){.generation = generations[1]}, &out) != PSC_OK;
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
    g_assert_cmpuint(run, ==, 3000);
    g_assert_cmpuint(taken, >, 50);
    g_assert_cmpuint(failed, <, 1500); /* arena has the latent defects */
}

/* ---- in another order ----------------------------------------------------------------------------------------- */

static bool among(const uint32_t *list, uint32_t n, const bool *done)
{
    for (uint32_t k = 0; k < n; k++)
        if (!done[list[k]])
            return false;
    return true;
}

/* Any order in which each step stands behind what it needs and waits for. */
static uint32_t *any_order(const struct psc_candela_plan *plan, uint64_t *state)
{
    uint32_t *order = g_new(uint32_t, plan->n + 1), *ready = g_new(uint32_t, plan->n + 1);
    bool *done = g_new0(bool, plan->n + 1);
    for (uint32_t turn = 0; turn < plan->n; turn++) {
        uint32_t n = 0;
        for (uint32_t p = 0; p < plan->n; p++) {
            const struct psc_candela_step *s = &plan->steps[p];
            if (!done[p] && among(s->needs, s->needs_n, done) && among(s->after, s->after_n, done))
                ready[n++] = p;
        }
        g_assert_cmpuint(n, >, 0);
        order[turn] = ready[psc_random_next(state) % n];
        done[order[turn]] = true;
    }
    g_free(ready);
    g_free(done);
    return order;
}

static enum psc_status run_in(const struct psc_candela_plan *plan, const uint32_t *order, float *got, uint64_t *ret_n, struct psc_error *error)
{
    struct psc_handle result;
    enum psc_status status = psc_candela_execute(plan, &(struct psc_candela_run){.order = order, .dry = true}, &result, NULL, error);
    if (status)
        return status;
    *ret_n = psc_layout_len(&result.layout);
    g_assert_cmpuint(*ret_n, <=, 64);
    psc_handle_read(&result, got);
    psc_store_unref(result.store);
    return PSC_OK;
}

/* By level, and in any order that its dependencies allow, a plan that can be carried out gives the same bits. */
static void test_other_orders(void)
{
    unsigned moved = 0, run = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 2000; round++) {
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_error error = {0};
        uint64_t state = test_seed() * 1000003 + round, n = 0, again_n = 0;
        struct psc_candela_plan *plan;
        const uint32_t *by_level;
        float listed[64], again[64];
        psc_lazy_init(&l);
        l.fuse = round % 2;
        uint32_t root = lazy_random(&l, &state);
        struct psc_candela_options options = {.generation = (enum psc_generation)(round / 2 % PSC_GEN_N), .align = 1};
        g_assert_cmpint(psc_candela_plan(&arena, &l, root, &options, &plan, &error), ==, PSC_OK);
        g_assert_cmpint(psc_candela_by_level(&arena, plan, &by_level, NULL), ==, PSC_OK);
        bool fine = !run_in(plan, NULL, listed, &n, &error);
        g_assert_true(fine || options.generation != PSC_GEN_HARDENED); /* the others have latent defects */
        for (int k = 0; fine && k < 4; k++) {
            uint32_t *any = k ? any_order(plan, &state) : NULL;
            const uint32_t *order = k ? any : by_level;
            if (run_in(plan, order, again, &again_n, &error))
                g_error("round %" G_GUINT64_FORMAT ", order %d: %s", round, k, error.text);
            g_assert_cmpmem(again, again_n * sizeof *again, listed, n * sizeof *listed);
            for (uint32_t t = 0; t < plan->n; t++)
                moved += order[t] != t;
            g_free(any);
            run++;
        }
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
    g_assert_cmpuint(run, >, 4000);
    g_assert_cmpuint(moved, >, 3000);
}

/* What a list names goes when all that were listed before it and read it have run: `t` is read on levels 2 and 3, and the step
 * that lists it runs first. */
static void test_given_back_by_level(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    const uint32_t *order;
    float got[64];
    uint64_t n = 0;
    struct psc_candela_plan *plan = plan_text(&l, &arena, "t=matmul([[1,2],[3,4]],[[1,0],[0,1]]); u=matmul(t,t); v=matmul(u,t); w=sum(t); r=w+sum(v)",
                                              &(struct psc_candela_options){0});
    uint32_t lists = PSC_NONE, reads_later = 0;
    g_assert_cmpint(psc_candela_by_level(&arena, plan, &order, NULL), ==, PSC_OK);
    for (uint32_t p = 0; p < plan->n; p++)
        for (uint32_t k = 0; k < plan->steps[p].dealloc_n; k++)
            if (!strcmp(plan->names[plan->steps[p].dealloc[k]], "t"))
                lists = p;
    g_assert_cmpuint(lists, !=, PSC_NONE);
    for (uint32_t p = 0; p < lists; p++)
        for (uint32_t k = 0; k < plan->steps[p].input_n; k++)
            reads_later += !strcmp(plan->names[plan->steps[p].inputs[k]], "t") && plan->steps[p].level > plan->steps[lists].level;
    g_assert_cmpuint(reads_later, >, 0);
    g_assert_cmpuint(psc_candela_level_n(plan), ==, 6);
    g_assert_cmpint(run_in(plan, order, got, &n, NULL), ==, PSC_OK);
    g_assert_cmpfloat(got[0], ==, 37 + 54 + 81 + 118 + 10);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* ---- out of memory ------------------------------------------------------------------------------------------- */

static enum psc_status everything(void *data)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan;
    struct psc_handle result;
    uint32_t root = 0;
    const char *text = data;
    struct psc_candela_options options = {.generation = *text == '#' ? PSC_GEN_ARENA : PSC_GEN_HARDENED};
    psc_lazy_init(&l);
    const uint32_t *order = NULL;
    enum psc_status status = psc_lazy_parse(&l, text, strlen(text), &root, NULL);
    if (!status)
        status = psc_candela_plan(&arena, &l, root, &options, &plan, NULL);
    if (!status && *text == '#')
        status = psc_candela_by_level(&arena, plan, &order, NULL);
    if (!status)
        status = psc_candela_execute(plan, &(struct psc_candela_run){.order = order}, &result, NULL, NULL);
    if (!status)
        psc_store_unref(result.store);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
    return status;
}

static void test_oom(void)
{
    char plain[] = "t=transpose([[1,2],[3,4]]); c=cache(as_contiguous(t)); s=t+1; m=matmul(c,s); matmul(m*2-1,m)+c/4";
    char packed[] = "# arena\nt=transpose([[1,2],[3,4]]); c=as_contiguous(t); s=t+1; m=matmul(c,s); matmul(m*2-1,m)+c";
    g_assert_cmpuint(test_oom_loop(everything, plain), >, 10);
    g_assert_cmpuint(test_oom_loop(everything, packed), >, 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-runs/cache/what-is-behind-is-computed-once", test_cache_is_kept);
    g_test_add_func("/candela-runs/cache/packers-pack-again-unless-kept", test_packers);
    g_test_add_func("/candela-runs/identity/equal-data-is-not-the-same", test_identity);
    g_test_add_func("/candela-runs/root/a-view-of-an-edge-is-the-edge", test_result_shares_the_edge);
    g_test_add_func("/candela-runs/memory/frees-on-other-steps-count", test_report);
    g_test_add_func("/candela-runs/skeleton/runs-again-and-inside-another", test_skeleton);
    g_test_add_func("/candela-runs/random/as-computed-directly", test_random);
    g_test_add_func("/candela-runs/order/other-orders-give-the-same-bits", test_other_orders);
    g_test_add_func("/candela-runs/order/given-back-after-all-that-read-it", test_given_back_by_level);
    g_test_add_func("/candela-runs/oom/every-allocation-may-fail", test_oom);
    return g_test_run();
}
