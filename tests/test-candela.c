/* candela's planner: golden traces, historic and latent defects with the rule on and off, packing, skeletons. Decisions are
 * compared with an independent model by candela-compare.py. */
#include "core/base/hash.h"
#include "core/candela/alias.h"
#include "core/candela/pack.h"
#include "core/candela/parse.h"
#include "core/candela/sort.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

/* ---- rows: an expression, how it is planned, what comes ------------------------------------------------ */

struct row {
    const char *path, *text;
    enum psc_generation generation;
    uint64_t faults;
    const char *values;    /* "3 7 5 9", or "!words of the sentence" */
    int allocations;       /* -1: not asked */
    bool unfused;
};
static const struct row rows[] = {
    /* golden traces */
    {"golden/a-chain-needs-one-buffer", "(a + b) * 2", PSC_GEN_HARDENED, 0, "22 44 66 88", 1, false},
    {"golden/a-consumer-before-the-packer", "t=transpose([[1,2],[3,4]]); c=as_contiguous(t); s=t+1; c+s", PSC_GEN_HARDENED, 0,
     "3 7 5 9", 2, false},
    {"golden/the-right-operand-is-overwritten", "a=[10,10,10,10]; b=[3,3,3,3]; a-(b+0)", PSC_GEN_HARDENED, 0, "7 7 7 7", 1, false},
    {"golden/an-operand-and-its-view", "t=a+b; t-view(t,4)", PSC_GEN_HARDENED, 0, "0 0 0 0", 2, false},
    {"golden/over-a-view-with-its-parent", "t=a+b; v=view(t,2,2); s=v*2; s+1", PSC_GEN_HARDENED, 0, "23 45 67 89", 1, true},
    {"golden/a-power-in-two-buffers", "e=[[1,1],[0,1]]; matmul(matmul(matmul(matmul(e,e),e),e),e)", PSC_GEN_HARDENED, 0,
     "1 5 0 1", 2, false},
    {"golden/a-power-in-an-arena", "e=[[1,1],[0,1]]; matmul(matmul(matmul(matmul(e,e),e),e),e)", PSC_GEN_ARENA, 0, "1 5 0 1", 2,
     false},
    {"golden/a-root-that-is-an-alias", "noop([[1,2,3],[4,5,6]]+10)", PSC_GEN_HARDENED, 0, "11 12 13 14 15 16", 1, false},
    {"golden/a-cache-pins-its-slot", "cache(arange(4)+1)*2", PSC_GEN_HARDENED, 0, "2 4 6 8", 2, false},
    {"golden/two-packers-of-one-tensor", "t=transpose([[1,2],[3,4]]); x=as_contiguous(t); y=as_contiguous(t); (x+1)*(y+2)",
     PSC_GEN_HARDENED, 0, "6 20 12 30", 2, false},
    /* regressions: ours words of the published list */
    {"regression/a-scalar-is-subtracted", "10 + zeros(1) - 3", PSC_GEN_HARDENED, 0, "7", 1, false},
    {"regression/ones-minus-three", "ones(4)-3", PSC_GEN_HARDENED, 0, "-2 -2 -2 -2", 1, false},
    {"regression/two-shapes-are-named", "ones(3)+ones(4)", PSC_GEN_HARDENED, 0, "!is 3, edge1 is 4", -1, false},
    {"regression/identity-times-b", "matmul([[1,0],[0,1]],[[5,6],[7,8]])", PSC_GEN_HARDENED, 0, "5 6 7 8", 1, false},
    {"regression/a-chain-of-scalars", "arange(6)*2-1", PSC_GEN_HARDENED, 0, "-1 1 3 5 7 9", 1, false},
    {"regression/one-column", "matmul([[1,2]],[[3],[4]])", PSC_GEN_HARDENED, 0, "11", 1, false},
    {"regression/matmul-of-a-vector-is-refused", "matmul([1,2],[[3],[4]])", PSC_GEN_HARDENED, 0, "!matmul needs m x k and k x n",
     -1, false},
    {"regression/a-cache-and-an-op-in-place", "cache(arange(4)+1)+0", PSC_GEN_HARDENED, 0, "1 2 3 4", 2, false},
    {"regression/a-scalar-over-a-slice", "slice(arange(5),2,4)+1", PSC_GEN_HARDENED, 0, "3 4", 1, false},
    {"regression/a-block-of-rows", "slice(view(arange(6)*10,3,2),1,3)+10", PSC_GEN_HARDENED, 0, "30 40 50 60", -1, false},
    {"regression/a-fused-scalar-over-a-slice", "slice(arange(5),2,4)*2+1", PSC_GEN_HARDENED, 0, "5 7", 1, false},
    {"regression/a-slice-feeds-a-consumer", "x=slice(arange(5),2,4)+1; x+x", PSC_GEN_HARDENED, 0, "6 8", 2, false},
    {"regression/one-row-of-a-block", "slice(view(arange(6)*10,2,3),1,2)+0", PSC_GEN_HARDENED, 0, "30 40 50", -1, false},
    {"graph/a-shared-node-is-computed-once", "x=arange(4); y=x*2; y-x", PSC_GEN_HARDENED, 0, "0 1 2 3", 1, false},
    {"graph/a-diamond", "x=arange(4); s=x+1; (s*2)-(s+2)", PSC_GEN_HARDENED, 0, "-1 0 1 2", -1, false},
    {"root/a-slice-of-a-result", "slice(arange(6)+10,3,6)", PSC_GEN_HARDENED, 0, "13 14 15", 1, false},
    {"root/a-slice-goes-on", "slice(arange(4)+1,1,4)*2-1", PSC_GEN_HARDENED, 0, "3 5 7", -1, false},
    {"memory/a-sum-less-b", "(a+b)-b", PSC_GEN_HARDENED, 0, "1 2 3 4", 1, false},
    {"memory/twice-the-same", "t=a+b; t+t", PSC_GEN_HARDENED, 0, "22 44 66 88", 2, false},
    {"memory/scalars-after-a-sum", "s=a; (s+s)*0.5+1", PSC_GEN_HARDENED, 0, "2 3 4 5", 1, false},
    /* defects: with the fault, as it was documented */
    {"bugs/b1", "a=[10,10,10,10]; b=[3,3,3,3]; a-(b+0)", PSC_GEN_HARDENED, BIT(B1), "-7 -7 -7 -7", 1, false},
    {"bugs/b2", "ones(4)-3", PSC_GEN_HARDENED, BIT(B2), "4 4 4 4", 1, false},
    {"bugs/b3", "t=transpose([[1,2],[3,4]]); c=as_contiguous(t); s=t+1; c+s", PSC_GEN_HARDENED, BIT(B3),
     "!step 2, s: it reads a tensor that has no buffer: c", -1, false},
    {"bugs/b4-right", "e=[1,2,3,4]; n=noop(e); view(n,2,2)*3", PSC_GEN_HARDENED, 0, "3 6 9 12", 1, false},
    {"bugs/b4", "e=[1,2,3,4]; n=noop(e); view(n,2,2)*3", PSC_GEN_HARDENED, BIT(B4), "!it reads a tensor that has no buffer", -1,
     false},
    {"bugs/b5", "cache(arange(4)+1)+0", PSC_GEN_HARDENED, BIT(B5), "!it takes a buffer that somebody still holds", -1, false},
    {"bugs/b6", "(a + b) * 2", PSC_GEN_HARDENED, BIT(B6), "22 44 66 88", 2, false},
    {"bugs/b6-generation-0.1", "(a + b) * 2", PSC_GEN_01, 0, "22 44 66 88", 2, false},
    {"bugs/b7", "t=a+b; t-view(t,4)", PSC_GEN_HARDENED, BIT(B7), "!it writes over bytes that somebody still holds", -1, false},
    {"bugs/b7-generation-0.2", "t=a+b; t-view(t,4)", PSC_GEN_02, 0, "!it writes over bytes that somebody still holds", -1, false},
    {"bugs/b7-guards-a-node-twice", "t=a+b; t+t", PSC_GEN_02, 0, "22 44 66 88", 2, false},
    {"bugs/b8-right", "s=[[1,2,3],[4,5,6]]+zeros(2,3); transpose(s)+1", PSC_GEN_HARDENED, 0, "2 5 3 6 4 7", 2, false},
    {"bugs/b8", "s=[[1,2,3],[4,5,6]]+zeros(2,3); transpose(s)+1", PSC_GEN_HARDENED, BIT(B8), "2 3 4 5 6 7", 1, false},
    {"bugs/b8-generation-0.2", "s=[[1,2,3],[4,5,6]]+zeros(2,3); transpose(s)+1", PSC_GEN_02, 0, "2 3 4 5 6 7", 1, false},
    {"bugs/b9", "slice(arange(5),2,4)+1", PSC_GEN_HARDENED, BIT(B9), "1 2", 1, false},
    {"bugs/b10", "matmul([[1,2]],[[3],[4]])", PSC_GEN_HARDENED, BIT(B10), "!leaves the bytes it was given", -1, false},
    {"bugs/b11", "t=[1,2]+[0,0]; u=t*2; u-t", PSC_GEN_HARDENED, BIT(B11), "!it reads a tensor that has no buffer: t", -1, false},
    {"bugs/b11-right", "t=[1,2]+[0,0]; u=t*2; u-t", PSC_GEN_HARDENED, 0, "1 2", 2, false},
    {"bugs/b13", "as_contiguous(transpose([[1,2],[3,4]]))+0", PSC_GEN_HARDENED, BIT(B13), "!it reads a tensor that has no buffer",
     -1, false},
    {"bugs/b14", "t=transpose([[1,2],[3,4]]); n=noop(t); k=as_contiguous(n); k+n", PSC_GEN_HARDENED, BIT(B14), "2 6 4 8", -1, false},
    {"bugs/b15", "t=a+b; v=view(t,2,2); u=v+1; w=u*3; matmul(w,v)", PSC_GEN_HARDENED, BIT(B15), "!", -1, false},
    {"bugs/b17", "t=a+b; v=view(t,2,2); v*2", PSC_GEN_HARDENED, BIT(B17), "!it writes over bytes that somebody still holds", -1,
     false},
    {"bugs/b18", "t=a+b; u=t*2; u-t", PSC_GEN_HARDENED, BIT(B18), "!it reads a tensor that has no buffer", -1, false},
    {"latent/cl1-right", "x=transpose([[1,2],[3,4]]); d=cache(x); e=cache(x); k=as_contiguous(e); (k+1)+(d*1)", PSC_GEN_HARDENED, 0,
     "3 7 5 9", -1, false},
    {"latent/cl1", "x=transpose([[1,2],[3,4]]); d=cache(x); e=cache(x); k=as_contiguous(e); s=k+1; s+(d*1)", PSC_GEN_HARDENED,
     BIT(CL1), "!it reads a tensor that has no buffer", -1, false},
    {"latent/cl2-right", "t=transpose(view(arange(6),3,2)); k=as_contiguous(t); v=transpose(t); w=transpose(k); w+v",
     PSC_GEN_HARDENED, 0, "0 2 4 6 8 10", -1, false},
    {"latent/cl2", "t=transpose(view(arange(6),3,2)); k=as_contiguous(t); v=transpose(t); w=transpose(k); v+w", PSC_GEN_HARDENED,
     BIT(CL2), "0 3 6 4 7 10", -1, false},
    {"latent/cl2-generation-arena", "t=transpose(view(arange(6),3,2)); k=as_contiguous(t); v=transpose(t); w=transpose(k); v+w",
     PSC_GEN_ARENA, 0, "0 3 6 4 7 10", -1, false},
    {"latent/cl2-generation-0.2", "t=transpose(view(arange(6),3,2)); k=as_contiguous(t); v=transpose(t); w=transpose(k); v+w",
     PSC_GEN_02, 0, "!it writes over bytes that somebody still holds", -1, false},
    {"latent/cl4-right", "t=a+b; v=view(t,2,2); w=view(t,2,2); m=matmul(w,w); u=v+m; sum(u)", PSC_GEN_HARDENED, 0, "6644", 3, false},
    {"latent/cl4", "t=a+b; v=view(t,2,2); w=view(t,2,2); m=matmul(w,w); u=v+m; sum(u)", PSC_GEN_HARDENED, BIT(CL4),
     "!it writes over bytes that somebody still holds: v", -1, false},
    {"latent/cl4-generation-arena", "t=a+b; v=view(t,2,2); w=view(t,2,2); m=matmul(w,w); u=v+m; sum(u)", PSC_GEN_ARENA, 0,
     "!it writes over bytes that somebody still holds: v", -1, false},
    {"latent/a-promise-to-be-packed-is-kept", "c=cache(transpose([[1,2],[3,4]])); view(as_contiguous(c),4)+0", PSC_GEN_HARDENED, 0,
     "1 3 2 4", -1, false},
};

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct psc_candela_options options = {.generation = row->generation, .faults = row->faults};
    struct outcome out;
    run_text(row->text, &options, row->unfused, &out);
    if (*row->values == '!') {
        g_assert_cmpint(out.status, !=, PSC_OK);
        if (!strstr(out.error.text, row->values + 1))
            g_error("%s: '%s' instead of '%s'", row->path, out.error.text, row->values + 1);
        return;
    }
    if (out.status)
        g_error("%s", out.error.text);
    char *values = spell(&out);
    g_assert_cmpstr(values, ==, row->values);
    g_free(values);
    if (row->allocations >= 0)
        g_assert_cmpuint(out.allocations, ==, (unsigned)row->allocations);
}

/* ---- sort ------------------------------------------------------------------------------------------------ */

static char *sorted(const char *text)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    uint32_t root, *order, n;
    GString *s = g_string_new(NULL);
    psc_lazy_init(&l);
    g_assert_cmpint(psc_lazy_parse(&l, text, strlen(text), &root, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_lazy_sort(&arena, &l, root, &order, &n, NULL), ==, PSC_OK);
    for (uint32_t i = 0; i < n; i++)
        g_string_append_printf(s, "%s%s", i ? " " : "", l.nodes[order[i]].name);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
    return g_string_free(s, FALSE);
}

static void test_sort_order(void)
{
    char *as_root = sorted("x=a+b; y=b+c; z=x+y"), *inside = sorted("x=a+b; y=b+c; z=x+y; r=sum(z)");
    g_assert_cmpstr(as_root, ==, "b c y a x");
    g_assert_cmpstr(inside, ==, "a b x c y z");
    g_free(as_root);
    g_free(inside);
}

static void test_sort_cycle(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    const char *text = "x=sum(a); y=sum(x); z=sum(y); r=sum(z)";
    uint32_t root, *order, n;
    psc_lazy_init(&l);
    g_assert_cmpint(psc_lazy_parse(&l, text, strlen(text), &root, NULL), ==, PSC_OK);
    psc_lazy_rewire(&l, 1, 0, 3); /* x reads z */
    g_assert_cmpint(psc_lazy_sort(&arena, &l, root, &order, &n, &error), ==, PSC_ERR_GRAPH);
    g_assert_nonnull(strstr(error.text, "z -> y -> x -> z"));
    psc_lazy_rewire(&l, 1, 0, root);
    g_assert_cmpint(psc_lazy_sort(&arena, &l, root, &order, &n, &error), ==, PSC_ERR_GRAPH);
    g_assert_nonnull(strstr(error.text, "r -> z -> y -> x -> r"));
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

static void test_sort_deep(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan;
    struct psc_error error = {0};
    float one = 1;
    psc_lazy_init(&l);
    l.fuse = false;
    uint32_t x = psc_lazy_edge(&l, "a", 1, (uint64_t[]){1}, &one);
    for (int i = 0; i < 200000; i++)
        x = psc_lazy_scalar(&l, "s", x, '+', 1);
    g_assert_cmpint(psc_candela_plan(&arena, &l, x, &(struct psc_candela_options){0}, &plan, &error), ==, PSC_OK);
    g_assert_cmpuint(plan->n, ==, 200001);
    g_assert_cmpuint(plan->slot_n, ==, 1);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* A long chain of different scalars is cut into lists: each is copied as it grows, which must not take quadratic time. */
static void test_long_fusion(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan;
    struct psc_handle result;
    float one = 1, got;
    psc_lazy_init(&l);
    uint32_t x = psc_lazy_edge(&l, "a", 1, (uint64_t[]){1}, &one);
    for (int i = 0; i < 200000; i++)
        x = psc_lazy_scalar(&l, "s", x, "+*"[i % 2], i % 2 ? -1 : 3); /* x -> -(x + 3) */
    g_assert_cmpuint(l.nodes[x].scalar_n, <=, PSC_LAZY_FUSED_MAX);
    g_assert_cmpint(psc_candela_plan(&arena, &l, x, &(struct psc_candela_options){0}, &plan, NULL), ==, PSC_OK);
    g_assert_cmpuint(plan->n, ==, 1 + 200000 / PSC_LAZY_FUSED_MAX);
    g_assert_cmpint(psc_candela_execute(plan, &(struct psc_candela_run){0}, &result, NULL, NULL), ==, PSC_OK);
    psc_handle_read(&result, &got);
    g_assert_cmpfloat(got, ==, 1); /* it comes back every second time */
    psc_store_unref(result.store);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

/* ---- the map --------------------------------------------------------------------------------------------- */

static void test_map(void)
{
    struct psc_arena arena = {0};
    struct psc_alias map;
    enum psc_tag tag;
    g_assert_true(psc_alias_init(&map, &arena, 6));
    psc_alias_insert(&map, 2, 1, PSC_TAG_ANYTHING);           /* n -> t */
    psc_alias_take_over(&map, 1, 3, PSC_TAG_PACKED, true);     /* k claims t */
    g_assert_cmpuint(psc_alias_get(&map, 2, &tag), ==, 3);
    g_assert_cmpint(tag, ==, PSC_TAG_PACKED);
    g_assert_cmpuint(psc_alias_get(&map, 1, &tag), ==, 3);
    psc_alias_insert(&map, 4, 3, PSC_TAG_ANYTHING);
    g_assert_cmpuint(psc_alias_get(&map, 4, &tag), ==, 3);
    g_assert_cmpint(tag, ==, PSC_TAG_ANYTHING);
    psc_alias_take_over(&map, 3, 5, PSC_TAG_PACKED_CACHE, true);
    for (uint32_t i = 1; i < 5; i++) {
        g_assert_cmpuint(psc_alias_get(&map, i, &tag), ==, 5);
        g_assert_cmpint(tag, ==, PSC_TAG_PACKED_CACHE);
    }
    g_assert_cmpuint(psc_alias_check(&map), ==, PSC_NONE);
    g_assert_cmpuint(map.hop_n, ==, 0);
    psc_arena_release(&arena);
}

static void test_map_hops(void)
{
    struct psc_arena arena = {0};
    struct psc_alias map;
    g_assert_true(psc_alias_init(&map, &arena, 4));
    psc_alias_insert(&map, 2, 1, PSC_TAG_ANYTHING);
    psc_alias_take_over(&map, 1, 3, PSC_TAG_PACKED, false); /* b14 */
    g_assert_cmpuint(psc_alias_check(&map), ==, 2);
    g_assert_cmpuint(map.hop_n, >, 0);
    psc_arena_release(&arena);
}

/* ---- positions, decisions, dependencies ------------------------------------------------------------------ */

static void test_positions(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan = plan_text(&l, &arena, "s=a+b; s*2", &(struct psc_candela_options){0});
    g_assert_cmpuint(plan->n, ==, 4);
    g_assert_cmpstr(plan->steps[0].name, ==, "a");
    g_assert_cmpstr(plan->steps[2].name, ==, "s");
    g_assert_cmpint(plan->steps[0].end, ==, 2);
    g_assert_cmpint(plan->steps[2].end, ==, 3);
    g_assert_cmpint(plan->steps[3].how, ==, PSC_HOW_IN_PLACE);
    g_assert_cmpint(plan->slots[0].end, ==, PSC_CANDELA_EVER);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

static const struct psc_candela_step *step_of(const struct psc_candela_plan *plan, const char *name, uint32_t *at)
{
    for (uint32_t p = 0; p < plan->n; p++)
        if (!strcmp(plan->steps[p].name, name)) {
            *at = p;
            return &plan->steps[p];
        }
    g_error("no step %s", name);
}

static bool lists(const uint32_t *ids, uint32_t n, uint32_t id)
{
    for (uint32_t k = 0; k < n; k++)
        if (ids[k] == id)
            return true;
    return false;
}

static void test_dependencies(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    const char *text = "e=[[1,1],[0,1]]; p=matmul(e,e); q=matmul(p,e); r=matmul(q,e); s=matmul(r,e)";
    static const enum psc_generation generations[] = {PSC_GEN_HARDENED, PSC_GEN_ARENA};
    for (size_t g = 0; g < 2; g++) {
        struct psc_candela_options options = {.generation = generations[g], .align = 1};
        struct psc_candela_plan *plan = plan_text(&l, &arena, text, &options);
        uint32_t q, r, at;
        step_of(plan, "q", &q);
        const struct psc_candela_step *step = step_of(plan, "r", &r);
        /* r takes the bytes of p, which q has read */
        g_assert_true(lists(step->needs, step->needs_n, q) || lists(step->after, step->after_n, q));
        g_assert_cmpuint(step->level, >, plan->steps[q].level);
        step_of(plan, "p", &at);
        g_assert_true(lists(step->after, step->after_n, at));
        g_assert_cmpuint(plan->arena_len, ==, generations[g] == PSC_GEN_ARENA ? 8 : 0);
        psc_lazy_release(&l);
    }
    psc_arena_release(&arena);
}

/* ---- packing ----------------------------------------------------------------------------------------------- */

struct packing {
    const char *path;
    uint64_t align, len[4];
    int32_t start[4], end[4];
    uint32_t n;
    uint64_t offset[4], arena;
};
static const struct packing packings[] = {
    {"nothing-needs-no-arena", 1, {0}, {0}, {0}, 0, {0}, 0},
    {"one-slot-sits-at-the-base", 1, {8}, {0}, {3}, 1, {0}, 8},
    {"slots-without-end-are-left-out", 1, {8, 4}, {0, 0}, {-1, -1}, 2, {0}, 0},
    {"slots-without-end-take-no-space", 1, {8, 8}, {0, 0}, {-1, 4}, 2, {0, 0}, 8},
    {"slots-of-length-zero-take-no-space", 1, {8, 0}, {0, 0}, {4, 4}, 2, {0, 8}, 8},
    {"lives-apart-share-the-base", 1, {8, 8, 8}, {0, 2, 4}, {1, 3, 5}, 3, {0, 0, 0}, 8},
    {"lives-together-stack", 1, {8, 4, 2}, {0, 0, 0}, {9, 9, 9}, 3, {0, 8, 12}, 14},
    {"lives-that-touch-do-not-share", 1, {8, 8}, {0, 5}, {5, 9}, 2, {0, 8}, 16},
    {"what-died-is-taken-again", 1, {1024, 1, 1024, 1}, {0, 1, 3, 4}, {1, 2, 4, 5}, 4, {0, 1024, 0, 1024}, 1025},
    {"stacked-slots-are-aligned", 32, {8, 8}, {0, 0}, {9, 9}, 2, {0, 32}, 40},
    {"aligned-reuse-begins-at-the-base", 32, {8, 8}, {0, 5}, {4, 9}, 2, {0, 0}, 8},
};

static void test_packing(gconstpointer data)
{
    const struct packing *row = data;
    struct psc_candela_slot slots[4] = {{0}};
    uint64_t arena = 0;
    for (uint32_t i = 0; i < row->n; i++)
        slots[i] = (struct psc_candela_slot){.id = i, .len = row->len[i], .start = row->start[i], .end = row->end[i]};
    g_assert_cmpint(psc_pack(slots, row->n, row->align, false, &arena, NULL), ==, PSC_OK);
    g_assert_cmpuint(arena, ==, row->arena);
    for (uint32_t i = 0; i < row->n; i++)
        if (row->end[i] >= 0)
            g_assert_cmpuint(slots[i].offset, ==, row->offset[i]);
}

/* [0, 10), [14, 20) and [30, 40) are taken; who lives at the same time as they do. */
struct fit {
    const char *path;
    uint64_t len, align;
    int32_t start, end;
    uint64_t offset;
};
static const struct fit fits[] = {
    {"the-tighter-gap-is-taken", 3, 1, 2, 3, 10},
    {"a-gap-may-be-filled-exactly", 4, 1, 2, 3, 10},
    {"a-gap-one-element-too-small-is-skipped", 5, 1, 2, 3, 20},
    {"what-fits-nowhere-is-appended", 11, 1, 2, 3, 40},
    {"slots-that-are-not-alive-then-do-not-count", 3, 1, 10, 12, 0},
    {"the-gap-that-is-taken-is-aligned", 4, 8, 2, 3, 24},
    {"the-aligned-end-is-appended-to", 7, 16, 2, 3, 48},
    {"nothing-fits-exactly-before-the-first", 0, 1, 2, 3, 10},
};

static void test_fit(gconstpointer data)
{
    const struct fit *row = data;
    struct psc_candela_slot taken[3] = {{.len = 10, .offset = 0, .start = 0, .end = 5},
                                        {.len = 6, .offset = 14, .start = 1, .end = 5},
                                        {.len = 10, .offset = 30, .start = 0, .end = 9}};
    struct psc_candela_slot *placed[3] = {&taken[0], &taken[1], &taken[2]};
    struct psc_candela_slot slot = {.len = row->len, .start = row->start, .end = row->end};
    g_assert_cmpuint(psc_pack_fit(&slot, placed, 3, row->align, false), ==, row->offset);
}

/* Lives one after the other, none touching: the arena is as long as the longest, whatever the order of lengths. */
static void test_packing_sequential(void)
{
    uint64_t state = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (int round = 0; round < 100; round++) {
        struct psc_candela_slot slots[32];
        uint32_t n = 1 + (uint32_t)(psc_random_next(&state) % 32);
        uint64_t align = (uint64_t)1 << psc_random_next(&state) % 6, longest = 0, arena;
        int32_t at = 0;
        for (uint32_t i = 0; i < n; i++) {
            slots[i] = (struct psc_candela_slot){.id = i, .len = 1 + psc_random_next(&state) % 90, .start = at};
            slots[i].end = at + (int32_t)(psc_random_next(&state) % 4);
            at = slots[i].end + 1;
            longest = slots[i].len > longest ? slots[i].len : longest;
        }
        g_assert_cmpint(psc_pack(slots, n, align, false, &arena, NULL), ==, PSC_OK);
        g_assert_cmpuint(arena, ==, longest);
        for (uint32_t i = 0; i < n; i++)
            g_assert_cmpuint(slots[i].offset, ==, 0);
    }
}

static int by_offset(gconstpointer x, gconstpointer y)
{
    const struct psc_candela_slot *a = x, *b = y;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Many short lives take no time; many lives at once end on top of each other instead of taking quadratic time. */
static void test_packing_many(void)
{
    const uint32_t few = 9000, many = 200000;
    struct psc_candela_slot *slots = g_new0(struct psc_candela_slot, many);
    uint64_t arena, total = 0;
    for (uint32_t i = 0; i < many; i++)
        slots[i] = (struct psc_candela_slot){.id = i, .len = 1 + i % 7, .start = (int32_t)i, .end = (int32_t)i + 3};
    g_assert_cmpint(psc_pack(slots, many, 1, false, &arena, NULL), ==, PSC_OK);
    g_assert_cmpuint(arena, <=, 4 * 7);
    g_assert_cmpuint(arena, >=, 7 + 6 + 5 + 4);
    for (uint32_t i = 0; i < few; i++) {
        slots[i] = (struct psc_candela_slot){.id = i, .len = 1 + i % 7, .start = 0, .end = 9};
        total += slots[i].len;
    }
    g_assert_cmpint(psc_pack(slots, few, 1, false, &arena, NULL), ==, PSC_OK);
    g_assert_cmpuint(arena, ==, total);
    qsort(slots, few, sizeof *slots, by_offset);
    for (uint32_t i = 1; i < few; i++)
        g_assert_cmpuint(slots[i].offset, ==, slots[i - 1].offset + slots[i - 1].len);
    g_free(slots);
}

static void test_alignment(void)
{
    static const uint64_t sizes[][2] = {{1, 128}, {2, 64}, {4, 32}, {8, 16}, {0, 1}, {12, 32}};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_assert_cmpuint(psc_pack_align(sizes[i][0]), ==, sizes[i][1]);
        g_assert_cmpuint(psc_pack_align(sizes[i][0]) & (psc_pack_align(sizes[i][0]) - 1), ==, 0);
    }
}

static void test_packing_random(void)
{
    uint64_t state = test_seed();
    unsigned pairs = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (int round = 0; round < 300; round++) {
        struct psc_candela_slot slots[24];
        uint32_t n = 1 + (uint32_t)(psc_random_next(&state) % 24);
        uint64_t align = (uint64_t)1 << psc_random_next(&state) % 6, arena, total = 0;
        for (uint32_t i = 0; i < n; i++) {
            int32_t start = (int32_t)(psc_random_next(&state) % 30);
            slots[i] = (struct psc_candela_slot){.id = i, .len = psc_random_next(&state) % 50, .start = start,
                                                 .end = start + (int32_t)(psc_random_next(&state) % 10)};
            total += (slots[i].len + align - 1) / align * align;
        }
        g_assert_cmpint(psc_pack(slots, n, align, false, &arena, NULL), ==, PSC_OK);
        g_assert_cmpuint(arena, <=, total);
        for (uint32_t i = 0; i < n; i++) {
            g_assert_cmpuint(slots[i].offset % align, ==, 0);
            for (uint32_t k = 0; k < i; k++) {
                bool together = slots[i].start <= slots[k].end && slots[k].start <= slots[i].end;
                bool meet = slots[i].offset < slots[k].offset + slots[k].len && slots[k].offset < slots[i].offset + slots[i].len;
                g_assert_false(together && meet && slots[i].len && slots[k].len);
                pairs += together;
            }
        }
    }
    g_assert_cmpuint(pairs, >, 1000);
}

/* ---- what is typed -------------------------------------------------------------------------------------------- */

static void test_parse_errors(void)
{
    static const char *const cases[][2] = {
        {"", "there is no expression"},
        {"(a + b", "a '(' is never closed"},
        {"a + b)", "a ')' without '('"},
        {"a +", "ends too early"},
        {"a b", "an operator"},
        {"frobnicate(a)", "an unknown function"},
        {"1 / a", "cannot be divided by a tensor"},
        {"[[1,2],[3]]+1", "one length"},
        {"[1,[2]]", "one depth"},
        {"view(a)", "view takes a tensor and 1 to 4 dimensions"},
        {"view(a, 3)", "another number of elements"},
        {"view(transpose([[1,2],[3,4]]), 4)", "as_contiguous first"},
        {"slice(a, 3, 9)", "has no elements 3 to 9"},
        {"3", "a number, where a tensor should stand"},
        {"a, b", "a ',' outside"},
        {"()", "should stand here"},
        {"$", "should stand here"},
        {"zeros(99999999)", "at most 16,777,216"},
        {"ones()", "ones takes 1 to 4 dimensions"},
        {"zeros()", "zeros takes 1 to 4 dimensions"},
        {"[]", "ends too early"},
        {"a + 1e39", "too large"},
        {"a + 1e30 * 1e30", "too large"},
        {"a / (1 / 0)", "none at all"},
        {"[1e99]", "too large"},
        {"broadcast(a)", "broadcast takes"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct psc_lazy l;
        struct psc_error error = {0};
        uint32_t root = 7;
        psc_lazy_init(&l);
        enum psc_status status = psc_lazy_parse(&l, cases[i][0], strlen(cases[i][0]), &root, &error);
        if (status == PSC_OK || !strstr(error.text, cases[i][1]))
            g_error("'%s': '%s' instead of '%s'", cases[i][0], error.text, cases[i][1]);
        g_assert_cmpuint(root, ==, 7);
        psc_lazy_release(&l);
    }
    struct psc_lazy l;
    struct psc_error error = {0};
    uint32_t root;
    psc_lazy_init(&l);
    g_assert_cmpint(psc_lazy_parse(&l, "a + b\n  a + $", 13, &root, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpuint(error.line, ==, 2);
    g_assert_cmpuint(error.column, ==, 7);
    g_assert_cmpuint(error.byte, ==, 12);
    psc_lazy_release(&l);
    /* lines inside a tensor count; a remark goes to the end of its line, whatever stands in it */
    const char *text = "# a remark; which goes on, (\nm = [[1, 2],\n     [3, 4]]\nm + $";
    psc_lazy_init(&l);
    g_assert_cmpint(psc_lazy_parse(&l, text, strlen(text), &root, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpuint(error.line, ==, 4);
    g_assert_cmpuint(error.column, ==, 5);
    psc_lazy_release(&l);
}

static void test_fault_names(void)
{
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++) {
        g_assert_nonnull(psc_candela_fault_text((enum psc_candela_fault)f));
        g_assert_cmpint(psc_candela_fault_from_name(psc_candela_fault_name((enum psc_candela_fault)f)), ==, f);
    }
    g_assert_cmpint(psc_candela_fault_from_name("b0"), ==, PSC_CANDELA_FAULT_N);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strdup_printf("/candela/%s", rows[i].path);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        char *path = g_strdup_printf("/candela/packing/%s", packings[i].path);
        g_test_add_data_func(path, &packings[i], test_packing);
        g_free(path);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(fits); i++) {
        char *path = g_strdup_printf("/candela/packing/fit/%s", fits[i].path);
        g_test_add_data_func(path, &fits[i], test_fit);
        g_free(path);
    }
    g_test_add_func("/candela/packing/many-slots", test_packing_many);
    g_test_add_func("/candela/packing/lives-in-a-row-need-only-the-longest", test_packing_sequential);
    g_test_add_func("/candela/sort/root-last-first-inner-first-first", test_sort_order);
    g_test_add_func("/candela/sort/a-cycle-is-spelled", test_sort_cycle);
    g_test_add_func("/candela/sort/two-hundred-thousand-deep", test_sort_deep);
    g_test_add_func("/candela/fusion/long-chains-are-cut", test_long_fusion);
    g_test_add_func("/candela/map/a-takeover-moves-every-entry", test_map);
    g_test_add_func("/candela/map/two-hops-are-noticed", test_map_hops);
    g_test_add_func("/candela/plan/positions-count-leaves", test_positions);
    g_test_add_func("/candela/plan/steps-wait-for-readers-of-their-bytes", test_dependencies);
    g_test_add_func("/candela/packing/alignment-of-element-sizes", test_alignment);
    g_test_add_func("/candela/packing/random-slots-never-overlap", test_packing_random);
    g_test_add_func("/candela/parse/mistakes-are-told", test_parse_errors);
    g_test_add_func("/candela/faults/names", test_fault_names);
    return g_test_run();
}
