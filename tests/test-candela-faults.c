/* candela's defects that leave values right, or that need more than an expression to show. */
#include "core/candela/skeleton.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

#define CHAIN "e=ones(8,8); p=matmul(e,e); x=sum(p); q=matmul(slice(e,0,4),e); y=sum(q); r=x+y"

static struct psc_candela_memory memory_of(const char *text, const struct psc_candela_options *options)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_memory memory;
    struct psc_candela_plan *plan = plan_text(&l, &arena, text, options);
    g_assert_cmpint(psc_candela_report(plan, &memory, NULL), ==, PSC_OK);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
    return memory;
}

/* Which step lists `name` to be given back after it; PSC_NONE: none does. */
static uint32_t lists(const struct psc_candela_plan *plan, const char *name)
{
    for (uint32_t p = 0; p < plan->n; p++)
        for (uint32_t k = 0; k < plan->steps[p].dealloc_n; k++)
            for (uint32_t q = 0; q < plan->n; q++)
                if (plan->steps[q].id == plan->steps[p].dealloc[k] && !strcmp(plan->steps[q].name, name))
                    return p;
    return PSC_NONE;
}

/* b19: the 4x8 product is still there while the 8x8 one is made, though nothing reads it any more. */
static void test_late(void)
{
    struct psc_candela_options right = {0}, late = {.faults = BIT(B19)};
    struct psc_candela_memory a = memory_of(CHAIN, &right), b = memory_of(CHAIN, &late);
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct outcome out;
    struct psc_candela_plan *plan = plan_text(&l, &arena, CHAIN, &right);
    uint32_t in_time = lists(plan, "q");
    psc_lazy_release(&l);
    plan = plan_text(&l, &arena, CHAIN, &late);
    g_assert_cmpuint(lists(plan, "q"), ==, in_time + 1);
    g_assert_cmpuint(a.total, ==, b.total);
    g_assert_cmpuint(a.peak, ==, 64 + 2);
    g_assert_cmpuint(b.peak, ==, 32 + 1 + 64);
    run_text(CHAIN, &late, false, &out);
    g_assert_cmpint(out.status, ==, PSC_OK);
    g_assert_cmpfloat(out.values[0], ==, 8 * 64 + 8 * 32);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* b21: the second slot of three elements begins at 3, not at the next multiple of 32. */
static void test_unaligned(void)
{
    const char *text = "p=matmul(ones(1,1),[[1,2,3]]); q=matmul(ones(1,1),[[4,5,6]]); r=sum(p)+sum(q)";
    for (int wrong = 0; wrong < 2; wrong++) {
        struct psc_candela_options options = {.generation = PSC_GEN_ARENA, .faults = wrong ? BIT(B21) : 0};
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct outcome out;
        struct psc_candela_plan *plan = plan_text(&l, &arena, text, &options);
        uint32_t packed = 0, crooked = 0;
        for (uint32_t s = 0; s < plan->slot_n; s++) {
            packed += plan->slots[s].packed;
            crooked += plan->slots[s].packed && plan->slots[s].offset % plan->align;
        }
        g_assert_cmpuint(plan->align, ==, 32);
        g_assert_cmpuint(packed, >=, 2);
        g_assert_cmpuint(crooked > 0, ==, wrong);
        run_text(text, &options, false, &out);
        g_assert_cmpint(out.status, ==, PSC_OK);
        g_assert_cmpfloat(out.values[0], ==, 21);
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
}

/* b22: slot x is 2x2 and packed. Its columns are given as rows, and then a tensor of two elements. */
static void test_any_layout(void)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        struct psc_candela_options options = {.faults = wrong ? BIT(B22) : 0};
        struct psc_lazy l;
        struct psc_skeleton *s;
        struct psc_strides square;
        struct psc_error error = {0};
        struct psc_handle in = {.store = NULL}, out;
        float data[4] = {1, 2, 3, 4}, got[4];
        psc_lazy_init(&l);
        g_assert_cmpint(psc_layout_packed(2, (uint64_t[]){2, 2}, &square, NULL), ==, PSC_OK);
        struct psc_lazy_arg flat = {.rank = 1, .shape = {4}};
        uint32_t x = psc_lazy_slot(&l, "x", &square), v = psc_lazy_unary(&l, "v", PSC_LAZY_VIEW, x, &flat);
        uint32_t root = psc_lazy_scalar(&l, "root", v, '*', 10);
        g_assert_cmpint(psc_skeleton_new(&l, root, &options, &s, &error), ==, PSC_OK);
        in.store = psc_store_borrow(data, 4);
        in.layout = square;
        in.layout.strides[0] = 1; /* transposed: element 1 lies at 2 */
        in.layout.strides[1] = 2;
        enum psc_status status = psc_skeleton_run(s, &in, 1, 0, &out, &error);
        if (wrong) {
            g_assert_cmpint(status, ==, PSC_OK);
            psc_handle_read(&out, got);
            g_assert_cmpfloat(got[1], ==, 20); /* 30 is right */
            psc_store_unref(out.store);
        } else {
            g_assert_cmpint(status, ==, PSC_ERR_USAGE);
            g_assert_nonnull(strstr(error.text, "input 0: slot x is 2x2, what was given is 2x2 or lies otherwise"));
        }
        psc_store_unref(in.store);
        in.store = psc_store_borrow(data, 2);
        g_assert_cmpint(psc_layout_packed(1, (uint64_t[]){2}, &in.layout, NULL), ==, PSC_OK);
        status = psc_skeleton_run(s, &in, 1, 0, &out, &error);
        g_assert_cmpint(status, ==, wrong ? PSC_ERR_RUN : PSC_ERR_USAGE);
        g_assert_nonnull(strstr(error.text, wrong ? "leaves the bytes it was given" : "slot x is 2x2, what was given is 2"));
        psc_store_unref(in.store);
        psc_skeleton_free(s);
        psc_lazy_release(&l);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-faults/b19-what-is-given-back-late-raises-the-peak", test_late);
    g_test_add_func("/candela-faults/b21-offsets-are-no-multiples", test_unaligned);
    g_test_add_func("/candela-faults/b22-inputs-of-another-layout-are-read-as-if-they-fitted", test_any_layout);
    return g_test_run();
}
