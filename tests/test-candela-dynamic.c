/* Skeletons: composed, for any layout, with plans kept by use. Handles and their bytes. */
#include "core/base/hash.h"
#include "core/candela/dynamic.h"
#include "core/candela/parse.h"
#include "core/candela/verify.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

static struct psc_handle given(float *data, uint32_t rank, const uint64_t *shape)
{
    struct psc_handle h = {.store = NULL};
    g_assert_cmpint(psc_layout_packed(rank, shape, &h.layout, NULL), ==, PSC_OK);
    h.store = psc_store_borrow(data, psc_layout_len(&h.layout));
    g_assert_nonnull(h.store);
    return h;
}

/* ---- bytes ---------------------------------------------------------------------------------------------- */

static void test_bytes(void)
{
    static const uint64_t lens[] = {1, 2, 31, 32, 33, 1000};
    for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
        struct psc_store_tally tally = {0};
        struct psc_store *s = psc_store_new(lens[i], &tally);
        g_assert_cmpuint((uintptr_t)s->at % 128, ==, 0);
        for (uint64_t k = 0; k < lens[i]; k++)
            s->at[k] = (float)k;
        for (uint64_t k = 0; k < lens[i]; k++)
            g_assert_cmpfloat(s->at[k], ==, (float)k);
        g_assert_cmpuint(tally.live, ==, lens[i]);
        psc_store_unref(s);
        g_assert_cmpuint(tally.live, ==, 0);
        g_assert_cmpuint(tally.peak, ==, lens[i]);
    }
    struct psc_store *none = psc_store_new(0, NULL);
    g_assert_nonnull(none);
    g_assert_null(none->block);
    g_assert_cmpuint((uintptr_t)none->at % 128, ==, 0);
    psc_store_unref(none);
    g_assert_null(psc_store_new(UINT64_MAX, NULL));
    g_assert_null(psc_store_new(UINT64_MAX / 4, NULL));
}

/* A clone shares the bytes: what is written through one is seen through the other. A copy does not. */
static void test_clones(void)
{
    float data[4] = {1, 2, 3, 4}, got[4];
    struct psc_handle h = given(data, 2, (uint64_t[]){2, 2});
    h.layout.strides[0] = 1; /* transposed */
    h.layout.strides[1] = 2;
    struct psc_handle clone = psc_handle_share(&h), copy = psc_handle_copy(&h);
    g_assert_true(clone.store == h.store);
    g_assert_cmpuint(h.store->refs, ==, 2);
    g_assert_true(copy.store != h.store);
    g_assert_true(psc_layout_contiguous(&copy.layout));
    h.store->at[2] = 30;
    psc_handle_read(&clone, got);
    g_assert_cmpfloat(got[1], ==, 30);
    psc_handle_read(&copy, got);
    g_assert_cmpfloat(got[1], ==, 3);
    psc_store_unref(h.store);
    psc_handle_read(&clone, got); /* the clone keeps them alive */
    g_assert_cmpfloat(got[0], ==, 1);
    psc_store_unref(clone.store);
    psc_store_unref(copy.store);
}

/* A transposed result of its own: shape and values are transposed, the bytes lie as they were computed. */
static void test_storage_order(void)
{
    struct psc_lazy l;
    struct psc_arena arena = {0};
    struct psc_handle result;
    float got[6];
    struct psc_candela_plan *plan = plan_text(&l, &arena, "transpose(view(arange(6),2,3)+10)", &(struct psc_candela_options){0});
    g_assert_cmpint(psc_candela_execute(plan, &(struct psc_candela_run){0}, &result, NULL, NULL), ==, PSC_OK);
    g_assert_cmpuint(result.layout.shape[0], ==, 3);
    g_assert_cmpuint(result.layout.shape[1], ==, 2);
    psc_handle_read(&result, got);
    static const float read[6] = {10, 13, 11, 14, 12, 15};
    for (int i = 0; i < 6; i++) {
        g_assert_cmpfloat(got[i], ==, read[i]);
        g_assert_cmpfloat(result.store->at[i], ==, (float)(10 + i));
    }
    psc_store_unref(result.store);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

static void test_no_dimension(void)
{
    struct psc_lazy l;
    struct psc_error error = {0};
    float one = 1;
    struct psc_lazy_arg none = {.rank = 0};
    psc_lazy_init(&l);
    g_assert_cmpuint(psc_lazy_edge(&l, "e", 0, NULL, &one), ==, PSC_NONE);
    g_assert_cmpint(psc_lazy_status(&l, &error), ==, PSC_ERR_GRAPH);
    g_assert_nonnull(strstr(error.text, "at least one dimension"));
    psc_lazy_release(&l);
    for (int i = 0; i < 2; i++) {
        psc_lazy_init(&l);
        uint32_t e = psc_lazy_edge(&l, "e", 1, (uint64_t[]){1}, &one);
        g_assert_cmpuint(psc_lazy_unary(&l, "v", i ? PSC_LAZY_VIEW : PSC_LAZY_BROADCAST, e, &none), ==, PSC_NONE);
        g_assert_cmpint(psc_lazy_status(&l, &error), ==, PSC_ERR_GRAPH);
        g_assert_nonnull(strstr(error.text, "at least one dimension"));
        psc_lazy_release(&l);
    }
}

/* ---- skeletons in expressions ------------------------------------------------------------------------------ */

/* x * 2 + y, baked into an expression over: two results, one result twice. */
static void test_compose(void)
{
    struct psc_candela_options options = {0};
    struct psc_lazy l, outer;
    struct psc_skeleton *s;
    struct psc_strides four;
    struct outcome out = {0};
    float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
    g_assert_cmpint(psc_layout_packed(1, (uint64_t[]){4}, &four, NULL), ==, PSC_OK);
    psc_lazy_init(&l);
    uint32_t x = psc_lazy_slot(&l, "x", &four), y = psc_lazy_slot(&l, "y", &four);
    uint32_t root = psc_lazy_binary(&l, "root", PSC_LAZY_ADD, psc_lazy_scalar(&l, NULL, x, '*', 2), y);
    g_assert_cmpint(psc_skeleton_new(&l, root, &options, &s, NULL), ==, PSC_OK);
    /* the root's inputs are visited last-first: y is the first slot */
    g_assert_cmpuint(psc_skeleton_plan(s)->externals[0], ==, y);
    for (int same = 0; same < 2; same++) {
        psc_lazy_init(&outer);
        uint32_t e = psc_lazy_edge(&outer, "e", 1, (uint64_t[]){4}, a), f = psc_lazy_edge(&outer, "f", 1, (uint64_t[]){4}, b);
        uint32_t p = psc_lazy_scalar(&outer, "p", e, '+', 1), q = same ? p : psc_lazy_scalar(&outer, "q", f, '-', 1);
        uint32_t baked = psc_lazy_baked(&outer, "baked", s, psc_skeleton_result(s), (uint32_t[]){q, p}, 2);
        uint32_t top = psc_lazy_binary(&outer, "top", PSC_LAZY_SUB, baked, p);
        g_assert_cmpint(run_on(&outer, top, &options, &out), ==, PSC_OK);
        for (int i = 0; i < 4; i++) /* 2 p + q - p */
            g_assert_cmpfloat(out.values[i], ==, same ? 2 * (a[i] + 1) : a[i] + 1 + b[i] - 1);
        psc_lazy_release(&outer);
    }
    psc_skeleton_free(s);
    psc_lazy_release(&l);
}

/* ---- skeletons that are typed ------------------------------------------------------------------------------ */

/* What is baked gives what is written out, whoever plans it, and is checked against it. */
static void test_typed(void)
{
    static const char *const pairs[][2] = {
        {"x = slot(4); y = slot(4); f = (x + 1) * y; r = baked(f, a, b) - a", "r = (a + 1) * b - a"},
        {"x = slot(4); y = slot(4); f = y - x; r = baked(f, a, b)", "a; r = b - a"}, /* slots as they are written, not as they are reached */
        {"x = slot(2, 2); f = transpose(x) + 1; e = [[1, 2], [3, 4]]; r = baked(f, e) * baked(f, baked(f, e))",
         "e = [[1, 2], [3, 4]]; r = (transpose(e) + 1) * (transpose(transpose(e) + 1) + 1)"},
        {"x = slot(4); g = x * 2; y = slot(4); f = baked(g, y) + 1; r = baked(f, a + b) - b", "r = (a + b) * 2 + 1 - b"}, /* one inside another */
        {"x = slot(4); f = x * c + c; r = baked(f, a)", "c; r = a * c + c"},          /* edges of its own */
        {"f = c + 1; r = baked(f) * a", "r = (c + 1) * a"},                       /* no slot at all */
        {"x = slot(2, 2); f = transpose(x); t = noop(transpose([[1, 2], [3, 4]])); r = baked(f, as_contiguous(t)) + t",
         "e = [[1, 2], [3, 4]]; r = e + transpose(e)"},
        {"x = slot(4); k = cache(x + 1); f = k * k; r = baked(f, a) + baked(f, b)", "r = (a + 1) * (a + 1) + (b + 1) * (b + 1)"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
        for (unsigned g = 0; g < PSC_GEN_N; g++) {
            struct psc_candela_options options = {.generation = (enum psc_generation)g};
            struct outcome baked, plain;
            struct psc_lazy l;
            struct psc_arena arena = {0};
            struct psc_candela_verdict verdict;
            struct psc_candela_plan *plan;
            struct psc_error error = {0};
            uint32_t root;
            run_text(pairs[i][0], &options, false, &baked);
            run_text(pairs[i][1], &(struct psc_candela_options){0}, false, &plain);
            char *x = spell(&baked), *y = spell(&plain);
            if (baked.status || plain.status)
                g_error("%s: %s%s", pairs[i][0], baked.error.text, plain.error.text);
            g_assert_cmpstr(x, ==, y);
            g_free(x);
            g_free(y);
            psc_lazy_init(&l);
            if (psc_lazy_parse_as(&l, &options, pairs[i][0], strlen(pairs[i][0]), &root, &error) ||
                psc_candela_plan(&arena, &l, root, &options, &plan, &error) ||
                psc_candela_verify(&arena, &l, root, plan, false, &verdict, &error))
                g_error("%s: %s", pairs[i][0], error.text);
            g_assert_true(verdict.executed);
            for (uint32_t k = 0; k < verdict.n; k++)
                g_assert_true(psc_wrong_is_waste(verdict.wrongs[k].what));
            psc_arena_release(&arena);
            psc_lazy_release(&l);
        }
}

/* A defect of the plan inside is seen at the step that runs it. */
static void test_typed_faults(void)
{
    static const struct { const char *text; uint64_t faults; enum psc_wrong what; enum psc_mishap mishap; } cases[] = {
        {"x = slot(4); f = a - (x + 0); r = baked(f, b) + 1", BIT(B1), PSC_WRONG_VALUE, PSC_MISHAP_NONE},
        {"x = slot(2, 2); t = transpose(x); s = t + 1; c = as_contiguous(t); f = c + s; r = baked(f, [[1, 2], [3, 4]]) + 1", BIT(B3),
         PSC_WRONG_REFUSED, PSC_MISHAP_INSIDE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct psc_candela_options broken = {.faults = cases[i].faults}, clean = {0};
        struct psc_lazy l;
        struct psc_arena arena = {0};
        struct psc_candela_verdict verdict;
        struct psc_candela_plan *plan;
        uint32_t root;
        psc_lazy_init(&l); /* only what is baked is planned with it */
        g_assert_cmpint(psc_lazy_parse_as(&l, &broken, cases[i].text, strlen(cases[i].text), &root, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_candela_plan(&arena, &l, root, &clean, &plan, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_candela_verify(&arena, &l, root, plan, false, &verdict, NULL), ==, PSC_OK);
        g_assert_cmpuint(verdict.n, ==, 1);
        g_assert_cmpint(verdict.wrongs[0].what, ==, cases[i].what);
        g_assert_cmpint(verdict.wrongs[0].mishap, ==, cases[i].mishap);
        g_assert_cmpint(plan->steps[verdict.wrongs[0].step].how, ==, PSC_HOW_BAKED);
        psc_arena_release(&arena);
        psc_lazy_release(&l);
    }
}

static void test_typed_wrong(void)
{
    static const char *const cases[][2] = {
        {"x = slot(2); f = x + 1; baked(f)", "the expression has 1 slot, 0 tensors are given"},
        {"x = slot(2); f = x + 1; baked(f, [1, 2], [3, 4])", "the expression has 1 slot, 2 tensors are given"},
        {"x = slot(2); f = x + 1; baked(f, [1, 2, 3])", "is for slot x, [2]: it is [3]"},
        {"x = slot(2, 2); t = transpose([[1, 2], [3, 4]]); baked(x + 1, t)", "lies otherwise; as_contiguous packs it"},
        {"x = slot(2); baked(x + 1, 7)", "baked takes an expression over slots, and a tensor for each slot"},
        {"baked()", "baked takes"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct psc_lazy l;
        struct psc_error error = {0};
        uint32_t root;
        psc_lazy_init(&l);
        g_assert_cmpint(psc_lazy_parse(&l, cases[i][0], strlen(cases[i][0]), &root, &error), ==, PSC_ERR_PARSE);
        if (!strstr(error.text, cases[i][1]) || !error.line)
            g_error("%s: %s", cases[i][0], error.text);
        psc_lazy_release(&l);
    }
    for (unsigned more = 0; more < 2; more++) { /* as many as a text may have, and one more */
        GString *text = g_string_new("x = slot(4); f = x + 1; v0 = a");
        struct psc_lazy l;
        uint32_t root;
        for (unsigned i = 1; i <= PSC_LAZY_BAKED_MAX + more; i++)
            g_string_append_printf(text, "; v%u = baked(f, v%u)", i, i - 1);
        psc_lazy_init(&l);
        g_assert_cmpint(psc_lazy_parse(&l, text->str, text->len, &root, NULL), ==, more ? PSC_ERR_PARSE : PSC_OK);
        psc_lazy_release(&l);
        g_string_free(text, TRUE);
    }
}

/* Plans inside plans: 32 deep, and what doubles at each level is refused before it runs for ever. */
static void test_typed_deep(void)
{
    for (unsigned twice = 0; twice < 2; twice++) {
        GString *text = g_string_new("x0 = slot(4); g0 = x0 + 1");
        struct psc_error error = {0};
        struct psc_lazy l;
        struct outcome out;
        uint32_t root;
        for (unsigned i = 1; i < (twice ? 24 : 32); i++)
            g_string_append_printf(text, twice ? "; x%u = slot(4); g%u = baked(g%u, x%u) + baked(g%u, x%u)"
                                               : "; x%u = slot(4); g%u = baked(g%u, x%u) + 1", i, i, i - 1, i, i - 1, i);
        char *last = g_strdup_printf("%s; r = baked(g%u, a)", text->str, twice ? 23 : 31);
        psc_lazy_init(&l);
        g_assert_cmpint(psc_lazy_parse(&l, last, strlen(last), &root, &error), ==, twice ? PSC_ERR_PARSE : PSC_OK);
        if (twice) {
            g_assert_nonnull(strstr(error.text, "more than 1048576 steps"));
        } else {
            run_text(last, &(struct psc_candela_options){0}, false, &out);
            g_assert_cmpint(out.status, ==, PSC_OK);
            g_assert_cmpfloat(out.values[0], ==, 33); /* 1 and 32 times one more */
            char *deeper = g_strdup_printf("%s; y = slot(4); h = baked(g31, y); r = baked(h, a)", text->str);
            psc_lazy_release(&l);
            psc_lazy_init(&l);
            g_assert_cmpint(psc_lazy_parse(&l, deeper, strlen(deeper), &root, &error), ==, PSC_ERR_PARSE);
            g_assert_nonnull(strstr(error.text, "more than 32 deep"));
            g_free(deeper);
        }
        psc_lazy_release(&l);
        g_free(last);
        g_string_free(text, TRUE);
    }
}

/* Each run of what is baked has a table of all that stands before it: a few thousand runs late in a long text are too many. */
static void test_typed_late(void)
{
    for (unsigned late = 0; late < 2; late++) {
        GString *text = g_string_new("x = slot(4); p = x");
        struct psc_error error = {0};
        struct psc_lazy l;
        uint32_t root;
        for (unsigned i = 0; late && i < 10000; i++)
            g_string_append(text, "; p = p + x");
        g_string_append(text, "; g0 = x + x");
        for (unsigned i = 1; i <= 12; i++)
            g_string_append_printf(text, "; g%u = baked(g%u, x) + baked(g%u, x)", i, i - 1, i - 1);
        g_string_append(text, "; r = baked(g12, a)");
        psc_lazy_init(&l);
        g_assert_cmpint(psc_lazy_parse(&l, text->str, text->len, &root, &error), ==, late ? PSC_ERR_PARSE : PSC_OK);
        if (late)
            g_assert_nonnull(strstr(error.text, "all that stands before them counted"));
        psc_lazy_release(&l);
        g_string_free(text, TRUE);
    }
}

static enum psc_status type_and_run(void *data G_GNUC_UNUSED)
{
    static const char text[] = "x = slot(4); g = x * 2; y = slot(4); f = baked(g, y) + y; r = baked(f, a + b)";
    struct psc_arena arena = {0};
    struct psc_lazy l;
    struct psc_candela_plan *plan;
    struct psc_candela_verdict verdict;
    uint32_t root;
    psc_lazy_init(&l);
    enum psc_status status = psc_lazy_parse(&l, text, sizeof text - 1, &root, NULL);
    if (!status)
        status = psc_candela_plan(&arena, &l, root, &(struct psc_candela_options){0}, &plan, NULL);
    if (!status)
        status = psc_candela_verify(&arena, &l, root, plan, false, &verdict, NULL);
    if (!status)
        g_assert_cmpuint(verdict.n, ==, 0);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
    return status;
}

static void test_typed_out_of_memory(void)
{
    g_assert_cmpuint(test_oom_loop(type_and_run, NULL), >, 40);
}

/* ---- plans by layout --------------------------------------------------------------------------------------- */

/* (x - y) * 10 of any shape; refuses tensors of three dimensions. */
static enum psc_status write_difference(void *ctx, struct psc_lazy *l, const struct psc_strides *layouts, uint32_t n,
                                        uint32_t *ret_root, struct psc_error *reterr)
{
    uint32_t slots[8] = {0};
    ++*(unsigned *)ctx;
    for (uint32_t k = 0; k < n && k < 8; k++)
        slots[k] = psc_lazy_slot(l, NULL, &layouts[k]);
    if (layouts[0].rank == 3)
        return psc_fail(reterr, PSC_ERR_GRAPH, "three dimensions");
    *ret_root = psc_lazy_scalar(l, NULL, psc_lazy_binary(l, NULL, PSC_LAZY_SUB, slots[0], slots[1]), '*', 10);
    return psc_lazy_status(l, reterr);
}

static void run_length(struct psc_dynamic *d, uint64_t n)
{
    float *x = g_new(float, n + 1), *y = g_new(float, n + 1), *got = g_new(float, n + 1);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = (float)(3 * i + n);
        y[i] = (float)i;
    }
    struct psc_handle in[2] = {given(x, 1, &n), given(y, 1, &n)}, out;
    g_assert_cmpint(psc_dynamic_run(d, in, 2, &out, NULL), ==, PSC_OK);
    psc_handle_read(&out, got);
    for (uint64_t i = 0; i < n; i++)
        g_assert_cmpfloat(got[i], ==, (float)(10 * (2 * i + n)));
    psc_store_unref(out.store);
    psc_store_unref(in[0].store);
    psc_store_unref(in[1].store);
    g_free(x);
    g_free(y);
    g_free(got);
}

static void test_by_layout(void)
{
    unsigned written = 0;
    struct psc_dynamic *d = psc_dynamic_new(write_difference, &written, &(struct psc_candela_options){0}, 0);
    struct psc_error error = {0};
    float x[4] = {1, 2, 3, 4}, y[4] = {0, 0, 0, 1}, got[4];
    run_length(d, 4);
    run_length(d, 4);
    g_assert_cmpuint(written, ==, 1);
    run_length(d, 8);
    run_length(d, 4);
    g_assert_cmpuint(written, ==, 2);
    /* the same shape with other strides is another plan */
    struct psc_handle in[2] = {given(x, 2, (uint64_t[]){2, 2}), given(y, 2, (uint64_t[]){2, 2})}, out;
    for (int turned = 0; turned < 2; turned++) {
        in[0].layout.strides[0] = turned ? 1 : 2;
        in[0].layout.strides[1] = turned ? 2 : 1;
        g_assert_cmpint(psc_dynamic_run(d, in, 2, &out, NULL), ==, PSC_OK);
        psc_handle_read(&out, got);
        g_assert_cmpfloat(got[1], ==, turned ? 30 : 20);
        psc_store_unref(out.store);
    }
    g_assert_cmpuint(written, ==, 4);
    g_assert_cmpuint(psc_dynamic_figures(d).kept, ==, 4);
    g_assert_cmpuint(psc_dynamic_figures(d).runs, ==, 6);
    /* what cannot be written down, and what does not fit, is told and not kept */
    struct psc_handle cube = given(x, 3, (uint64_t[]){1, 2, 2}), odd[2] = {in[0], cube};
    g_assert_cmpint(psc_dynamic_run(d, (struct psc_handle[]){cube, cube}, 2, &out, &error), ==, PSC_ERR_GRAPH);
    g_assert_cmpstr(error.text, ==, "three dimensions");
    g_assert_cmpint(psc_dynamic_run(d, odd, 2, &out, &error), ==, PSC_ERR_GRAPH);
    g_assert_nonnull(strstr(error.text, "needs two tensors of one shape"));
    g_assert_cmpuint(psc_dynamic_figures(d).kept, ==, 4);
    psc_store_unref(cube.store);
    psc_store_unref(in[0].store);
    psc_store_unref(in[1].store);
    psc_dynamic_free(d);
    psc_dynamic_free(NULL);
}

/* Against a list that is searched: the one used longest ago goes. */
static void test_by_use(void)
{
    uint64_t state = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint32_t capacity = 1; capacity <= 5; capacity++) {
        unsigned written = 0, want = 0, evicted = 0;
        uint64_t list[8];
        uint32_t n = 0;
        struct psc_dynamic *d = psc_dynamic_new(write_difference, &written, &(struct psc_candela_options){0}, capacity);
        for (int i = 0; i < 300; i++) {
            uint64_t len = 1 + psc_random_next(&state) % 8;
            uint32_t at = 0;
            while (at < n && list[at] != len)
                at++;
            if (at == n) {
                want++;
                evicted += n == capacity;
                n -= n == capacity;
                at = n++;
            }
            memmove(list + 1, list, at * sizeof *list);
            list[0] = len;
            run_length(d, len);
            g_assert_cmpuint(written, ==, want);
        }
        g_assert_cmpuint(psc_dynamic_figures(d).planned, ==, want);
        g_assert_cmpuint(psc_dynamic_figures(d).evicted, ==, evicted);
        g_assert_cmpuint(psc_dynamic_figures(d).kept, ==, capacity);
        g_assert_cmpuint(evicted, >, 50);
        psc_dynamic_free(d);
    }
    unsigned written = 0; /* many, none goes */
    struct psc_dynamic *d = psc_dynamic_new(write_difference, &written, &(struct psc_candela_options){0}, 0);
    for (int again = 0; again < 2; again++)
        for (uint64_t len = 1; len <= 60; len++)
            run_length(d, len);
    g_assert_cmpuint(written, ==, 60);
    psc_dynamic_free(d);
}

static enum psc_status run_both(void *data)
{
    unsigned written = 0;
    float x[4] = {1, 2, 3, 4};
    enum psc_status status = PSC_ERR_NOMEM;
    struct psc_handle in[2] = {{.store = NULL}}, out;
    struct psc_dynamic *d = psc_dynamic_new(write_difference, &written, &(struct psc_candela_options){0}, *(uint32_t *)data);
    for (int k = 0; d && k < 2; k++) {
        status = psc_layout_packed(1, (uint64_t[]){3 + (uint64_t)k}, &in[0].layout, NULL);
        in[0].store = psc_store_borrow(x, 4);
        in[1] = in[0];
        if (!in[0].store)
            status = PSC_ERR_NOMEM;
        if (!status)
            status = psc_dynamic_run(d, in, 2, &out, NULL);
        if (!status)
            psc_store_unref(out.store);
        psc_store_unref(in[0].store);
        if (status)
            break;
    }
    psc_dynamic_free(d);
    return status;
}

static void test_oom(void)
{
    for (uint32_t capacity = 0; capacity < 2; capacity++)
        g_assert_cmpuint(test_oom_loop(run_both, &capacity), >, 20);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-dynamic/bytes/aligned-and-counted", test_bytes);
    g_test_add_func("/candela-dynamic/bytes/a-clone-shares-a-copy-does-not", test_clones);
    g_test_add_func("/candela-dynamic/bytes/a-transposed-result-lies-as-it-was-computed", test_storage_order);
    g_test_add_func("/candela-dynamic/bytes/a-tensor-has-a-dimension", test_no_dimension);
    g_test_add_func("/candela-dynamic/skeleton/composed-over-results-and-one-twice", test_compose);
    g_test_add_func("/candela-dynamic/skeleton/typed", test_typed);
    g_test_add_func("/candela-dynamic/skeleton/typed-with-a-defect-inside", test_typed_faults);
    g_test_add_func("/candela-dynamic/skeleton/typed-wrong", test_typed_wrong);
    g_test_add_func("/candela-dynamic/skeleton/typed-deep", test_typed_deep);
    g_test_add_func("/candela-dynamic/skeleton/typed-late", test_typed_late);
    g_test_add_func("/candela-dynamic/skeleton/typed-out-of-memory", test_typed_out_of_memory);
    g_test_add_func("/candela-dynamic/plans/by-layout", test_by_layout);
    g_test_add_func("/candela-dynamic/plans/by-use", test_by_use);
    g_test_add_func("/candela-dynamic/oom", test_oom);
    return g_test_run();
}
