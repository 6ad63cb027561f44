#include "core/plan/plan.h"

#include "core/plan/sizes.h"
#include "core/plan/slots.h"
#include "tests/planned.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

/* ---- where nodes lie: a row is a graph, options and places --------------------------------------------- */

struct row {
    const char *path, *options, *graph, *places;
};
static const struct row rows[] = {
    {"a-chain-takes-turns-in-three-buffers", "",
     "x: input 4\na: silu 4 x\nb: add 4 a x\nc: silu 4 b\nd: add 4 c x\ne: silu 4 d\nf: add 4 e x\nout f",
     "x=b0 a=b1 b=b2 c=b2 d=b1 e=b1 f=b2"},
    {"parallel-chains-do-not-share", "",
     "a0: input 4\nb0: input 4\na1: silu 4 a0\nb1: silu 4 b0\na2: add 4 a1 a0\nb2: add 4 b1 b0\no: add 4 a2 b2\nout o",
     "a0=b0 b0=b1 a1=b2 b1=b3 a2=b4 b2=b2 o=b3"},
    {"kv-nodes-lie-in-the-regions-of-their-layer", "",
     "x: input 4\nk: scale 4 x\nv: scale 4 x\ns: kvcache_store 64 k v #0\nl: kvcache_load 64 #0\na: attn 4 x l x #0\nout a",
     "x=b0 k=b1 v=b2 s=kv.0.k l=kv.0.k a=b1"},
    {"a-view-names-a-window-of-its-parent", "", "x: input 4\nt: add 8 x x\nv: view 4 t +2\no: scale 4 v\nout o",
     "x=b0 t=b1 v=b1+8 o=b2"},
    {"a-view-of-a-view-adds-up", "",
     "x: input 8\nt: scale 8 x\nv: view 6 t +1\nw: view 2 v +3\no: scale 2 w\nout o",
     "x=b0 t=b1 v=b1+4 w=b1+16 o=b2"},
    {"swiglu-overwrites-the-gate-window", "",
     "x: input 6\nt: scale 6 x\ng: view 3 t\nu: view 3 t +3\ns: swiglu 3 g u\nout s", "x=b0 t=b1 g=b1 u=b1+12 s=b1"},
    {"swiglu-overwrites-the-gate-window-hardened-too", "hardened",
     "x: input 6\nt: scale 6 x\ng: view 3 t\nu: view 3 t +3\ns: swiglu 3 g u\nout s", "x=b0 t=b1 g=b1 u=b1+12 s=b1"},
    {"swiglu-never-overwrites-what-is-no-view", "",
     "x: input 3\ng: scale 3 x\nu: scale 3 x\ns: swiglu 3 g u\nout s", "x=b0 g=b1 u=b2 s=b3"},
    {"in-place-on-a-view-keeps-the-parent", "",
     "x: input 8\nt: scale 8 x\nv: view 8 t\ns: silu 8 v\nu: scale 8 x\no: add 8 s u\nout o",
     "x=b0 t=b1 v=b1 s=b1 u=b2 o=b3"},
    {"a-view-keeps-its-parent-through-later-readers", "",
     "x: input 8\nw: input 8\na: input 4\na4: input 4\nt: add 8 x w\np0: view 4 t\np1: view 4 t +4\ns: mul 4 a a4\n"
     "o: mul 4 p0 s\nout o",
     "x=b0 w=b1 a=b2 a4=b3 t=b4 p0=b4 p1=b4+16 s=b5 o=b6"},
    {"parts-of-one-tensor-feed-readers-of-their-own", "",
     "x: input 10\nt: scale 10 x\nv: view 4x2 t\ni: view 2 t +8\nr: get_rows 4x2 v i\nu: scale 10 x\no: add 4x2 r v\nout o u",
     "x=b0 t=b1 v=b1 i=b1+32 r=b2 u=b3 o=b4"},
    {"an-input-never-takes-a-released-buffer", "",
     "x: input 8\nw: input 8\nt: add 8 x w\nc: mul 8 t w\ny: input 8\no: mul 8 c y\nout o",
     "x=b0 w=b1 t=b3 c=b4 y=b2 o=b3"},
    {"a-repeated-source-is-two-readers", "", "x: input 4\nt: scale 4 x\ns: swiglu 4 t t\nr: rope 4 t t\nout s r",
     "x=b0 t=b1 s=b2 r=b3"},
    {"an-unread-node-gets-no-buffer", "", "x: input 4\nd: silu 4 x\no: scale 4 x\nout o", "x=b0 d=- o=b1"},
    {"an-unread-input-keeps-its-buffer", "", "x: input 4\ny: input 4\no: scale 4 x\nout o", "x=b0 y=b1 o=b2"},
    {"a-dead-view-lies-in-its-parent", "", "x: input 4\nt: scale 4 x\nv: view 2 t\no: scale 4 x\nout o",
     "x=b0 t=b1 v=b1 o=b1"},
    {"nodes-without-bytes-own-nothing", "",
     "x: input 4\ny: input 0\nr: get_rows 4x0 x y\ns: silu 4x0 r\no: scale 4 x\nout s o", "x=b0 y=- r=- s=- o=b1"},
    {"two-shapes-of-one-class-take-turns", "",
     "x: input 4\na: matmul 300 x\nb: matmul 4 a\nc: matmul 500 b\no: matmul 4 c\nout o", "x=b0 a=b1 b=b2 c=b1 o=b2"},
    {"exact-sizes-take-turns-only-when-equal", "exact",
     "x: input 4\na: matmul 300 x\nb: matmul 4 a\nc: matmul 500 b\no: matmul 4 c\nout o", "x=b0 a=b1 b=b2 c=b3 o=b2"},
    {"the-naive-planner-shares-nothing", "naive",
     "x: input 4\nd: silu 4 x\na: scale 4 x\nv: view 2 a +2\nb: silu 2 v\nc: silu 2 b\ny: input 4\nout c",
     "x=b0 d=- a=b1 v=b1+8 b=b2 c=b3 y=-"},
    {"each-backend-counts-its-own-buffers", "",
     "x: input 4\na: scale 4 x @metal\nb: scale 4 a @metal\nc: scale 4 b\nout c", "x=b0 a=b0 b=b1 c=b1"},
    {"hardened-reads-of-the-root-forbid-in-place", "hardened",
     "x: input 4\nt: scale 4 x\nv: view 4 t\ns: silu 4 v\no: add 4 s t\nout o", "x=b0 t=b1 v=b1 s=b2 o=b3"},
    {"hardened-other-windows-may-be-read-on", "hardened",
     "x: input 4\nt: scale 4 x\nv: view 2 t\nw: view 2 t +2\ns: silu 2 v\no: add 2 s w\nout o",
     "x=b0 t=b1 v=b1 w=b1+8 s=b1 o=b2"},
    {"hardened-an-op-that-reads-the-window-twice-is-not-in-place", "hardened",
     "x: input 4\nt: scale 4 x\nv: view 2 t\nw: view 2 t +1\ns: swiglu 2 v w\nout s",
     "x=b0 t=b1 v=b1 w=b1+4 s=b2"},
    {"hardened-outputs-are-never-overwritten", "hardened", "x: input 4\nh: scale 4 x\ns: silu 4 h\nout h s",
     "x=b0 h=b1 s=b2"},
    {"hardened-what-an-output-view-shows-is-never-overwritten", "hardened",
     "x: input 4\nh: scale 4 x\nv: view 2 h\ns: silu 2 v\nw: view 2 h +2\nout w s",
     "x=b0 h=b1 v=b1 s=b2 w=b1+8"},
    {"hardened-inputs-are-never-overwritten", "hardened", "x: input 4\ns: silu 4 x\nout s", "x=b0 s=b1"},
    {"hardened-regions-are-never-overwritten", "hardened",
     "x: input 4\ns: kvcache_store 4 x x #0\nl: kvcache_load 4 #0\nr: silu 4 l\nout r",
     "x=b0 s=kv.0.k l=kv.0.k r=b1"},
    {"upstream-overwrites-an-input", "", "x: input 4\ns: silu 4 x\nout s", "x=b0 s=b0"},
    {"sole-consumer-chains-stay-in-one-buffer", "hardened exact",
     "x: input 1024\na: scale 1024 x\nb: silu 1024 a\nc: silu 1024 b\nd: silu 1024 c\nout d",
     "x=b0 a=b1 b=b1 c=b1 d=b1"},
};

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct planned p = planned_new(row->graph, row->options);
    char *places = planned_places(&p);
    g_assert_cmpstr(places, ==, row->places);
    g_free(places);
    planned_release(&p);
}

/* ---- idle lists and sizes -------------------------------------------------------------------------------- */

static void test_classes(void)
{
    static const uint64_t pairs[][2] = {{0, 256},      {1, 256},       {256, 256},     {257, 512},
                                        {1000, 1024},  {4096, 4096},   {4097, 8192},   {14336, 16384},
                                        {17920, 20480}, {151936, 155648}};
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
        g_assert_cmpuint(psc_size_class(pairs[i][0]), ==, pairs[i][1]);
    for (uint64_t e = 0; e < 50000; e += 7) {
        g_assert_cmpuint(psc_size_class(e), >=, e);
        g_assert_cmpuint(psc_size_class(e) - e, <, e < 256 ? 257 : 4096);
        g_assert_cmpuint(psc_size_class(psc_size_class(e)), ==, psc_size_class(e));
    }
    g_assert_cmpuint(psc_size_bytes(PSC_SIZE_CLASS, 1025), ==, 2048);
    g_assert_cmpuint(psc_size_bytes(PSC_SIZE_EXACT, 1025), ==, 1025);
    /* 16 and 17 rows of 896 fall in one class, 20 do not */
    g_assert_cmpuint(psc_size_bytes(PSC_SIZE_CLASS, 896 * 16 * 4), ==, psc_size_bytes(PSC_SIZE_CLASS, 896 * 17 * 4));
    g_assert_cmpuint(psc_size_bytes(PSC_SIZE_CLASS, 896 * 17 * 4), <, psc_size_bytes(PSC_SIZE_CLASS, 896 * 20 * 4));
}

/* A list that is given and taken at random behaves like a plain array searched from end to end. */
static void test_idle_lists(void)
{
    for (int policy = PSC_SLOTS_LOWEST; policy <= PSC_SLOTS_LIFO; policy++) {
        struct psc_slots_table table;
        GArray *model = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        uint64_t random = test_seed();
        g_assert_true(psc_slots_init(&table, (enum psc_slots)policy, 0, 1));
        uint32_t list = psc_slots_list(&table, 0, 1024);
        g_assert_cmpuint(psc_slots_list(&table, 0, 1024), ==, list);
        g_assert_cmpuint(psc_slots_list(&table, 0, 2048), !=, list);
        for (uint32_t i = 0; i < 3000; i++) {
            uint64_t r = psc_random_next(&random);
            if (r % 5 < (i < 1500 ? 3 : 2)) {
                uint32_t id = i * 2654435761u % 100003;
                g_assert_true(psc_slots_give(&table, 0, list, id));
                g_array_append_val(model, id);
                continue;
            }
            uint32_t got = psc_slots_take(&table, 0, list), at = 0;
            if (!model->len) {
                g_assert_cmpuint(got, ==, PSC_NONE);
                continue;
            }
            for (uint32_t k = 0; policy == PSC_SLOTS_LOWEST && k < model->len; k++)
                if (g_array_index(model, uint32_t, k) < g_array_index(model, uint32_t, at))
                    at = k;
            if (policy == PSC_SLOTS_LIFO)
                at = model->len - 1;
            g_assert_cmpuint(got, ==, g_array_index(model, uint32_t, at));
            g_array_remove_index(model, at);
            g_assert_cmpuint(table.idle[0], ==, model->len);
        }
        g_array_free(model, TRUE);
        psc_slots_release(&table);
    }
}

/* ---- figures -------------------------------------------------------------------------------------------------- */

struct numbers {
    const char *path;
    const struct qwen_options *shape;
    uint64_t tokens, nodes, buffers, pool, live, lower, naive, dead, in_place;
};
static const struct numbers published[] = {
    {"decode", &qwen_unfused, 1, 437, 11, 737280, 628736, 611336, 3293704, 24, 48},
    {"prefill-of-2-tokens", &qwen_prefill, 2, 440, 18, 910336, 629760, 611348, 5891092, 24, 48},
    {"prefill-of-440-tokens", &qwen_prefill, 440, 440, 18, 31671296, 27300864, 27262404, 1140405700, 24, 48},
};

static void test_numbers(gconstpointer data)
{
    const struct numbers *want = data;
    struct qwen_options shape = *want->shape;
    struct psc_arena arena = {0};
    shape.tokens = want->tokens;
    struct planned p = planned_graph(qwen_graph(&arena, &shape), "upstream class lowest");
    const struct psc_figures *got = &p.plan->figures;
    g_assert_cmpuint(got->nodes, ==, want->nodes);
    g_assert_cmpuint(got->buffers, ==, want->buffers);
    g_assert_cmpuint(got->pool_bytes, ==, want->pool);
    g_assert_cmpuint(got->peak_live_bytes, ==, want->live);
    g_assert_cmpuint(got->lower_bound_bytes, ==, want->lower);
    g_assert_cmpuint(got->naive_bytes, ==, want->naive);
    g_assert_cmpuint(got->dead, ==, want->dead);
    g_assert_cmpuint(got->in_place, ==, want->in_place);
    g_assert_cmpuint(got->placed, ==, want->nodes - want->dead);
    g_assert_cmpuint(got->kv_bytes, ==, 100663296);
    g_assert_cmpuint(p.check.finding_n, ==, 0);
    planned_release(&p);
    psc_arena_release(&arena);
}

/* Bytes of both regions: layers * 2 * context * kv width * 4. */
static void test_kv_bytes(void)
{
    static const struct {
        uint64_t width, hd, kv_heads, context, bytes;
        int32_t layers;
    } presets[] = {
        {896, 64, 2, 4096, 100663296, 24},     /* 0.5B */
        {2560, 128, 8, 4096, 1207959552, 36},  /* Qwen3-4B */
        {2560, 128, 8, 40960, 12079595520, 36}, /* the same at its longest context: 12.1 GB */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++) {
        struct qwen_options shape = qwen_unfused;
        struct psc_arena arena = {0};
        shape.width = presets[i].width;
        shape.hd = presets[i].hd;
        shape.heads = presets[i].width / presets[i].hd;
        shape.kv_heads = presets[i].kv_heads;
        shape.context = presets[i].context;
        shape.layers = presets[i].layers;
        struct planned p = planned_graph(qwen_graph(&arena, &shape), "");
        g_assert_cmpuint(p.plan->figures.kv_bytes, ==, presets[i].bytes);
        planned_release(&p);
        psc_arena_release(&arena);
    }
}

static void test_fused_regions(void)
{
    struct psc_arena arena = {0};
    struct planned p = planned_graph(qwen_graph(&arena, &qwen_decode), "");
    g_assert_cmpuint(p.plan->figures.nodes, ==, 305);
    g_assert_cmpuint(p.plan->figures.kv_bytes, ==, 100663296);
    g_assert_cmpuint(p.check.finding_n, ==, 0);
    planned_release(&p);
    psc_arena_release(&arena);
}

static void test_peak(void)
{
    struct planned p = planned_new("x: input 4\na: matmul 100 x\nb: matmul 50 a\nd: silu 50 b\nc: matmul 8 b\nout c", "");
    g_assert_cmpuint(p.plan->figures.peak_tensor_bytes, ==, 4 * (4 + 100 + 50));
    g_assert_cmpint(p.plan->peak_at, ==, 2);
    g_assert_cmpuint(p.plan->peak_n, ==, 3);
    for (psc_node i = 0; i < 3; i++)
        g_assert_cmpuint(p.plan->peak[i].node, ==, i);
    g_assert_cmpuint(p.plan->peak[1].bytes, ==, 400);
    planned_release(&p);
}

/* Three tensors of 4096 elements, one after the other, take turns; of different sizes, all stay reserved. */
static void test_live_is_not_reserved(void)
{
    struct planned p = planned_new("x: input 4\na: matmul 4096 x\nb: matmul 8 a\nc: matmul 4096 b\nd: matmul 8 c\n"
                                   "e: matmul 4096 d\nf: matmul 8 e\nout f", "exact");
    g_assert_cmpuint(p.plan->figures.reused, ==, 4);
    g_assert_cmpuint(p.plan->figures.pool_bytes, ==, 16 + 16384 + 32);
    planned_release(&p);
    p = planned_new("x: input 4\na: matmul 4096 x\nb: matmul 8 a\nc: matmul 5000 b\nout c", "exact");
    g_assert_cmpuint(p.plan->figures.pool_bytes, ==, 16 + 16384 + 32 + 20000);
    g_assert_cmpuint(p.plan->figures.peak_live_bytes, ==, 16 + 32 + 20000);
    planned_release(&p);
}

static void test_empty_plan(void)
{
    struct psc_graph none = {.n = 0};
    struct planned p = planned_graph(&none, "");
    g_assert_cmpuint(p.plan->figures.pool_bytes, ==, 0);
    g_assert_cmpuint(p.plan->buffer_n, ==, 0);
    g_assert_cmpuint(p.story->event_n, ==, 0);
    planned_release(&p);
}

static void test_roles(void)
{
    struct planned p = planned_new("x: input 4\na: scale 4 x\ns: kvcache_store 4 a a #0\nb: scale 4 a @metal\nout b", "");
    static const struct {
        const char *name;
        enum psc_role role;
        uint64_t id, base;
    } want[] = {{"b0", PSC_ROLE_INPUT, 0, 0},
                {"b1", PSC_ROLE_POOL, 1, 1024},
                {"b0", PSC_ROLE_OUTPUT, 0, 0},
                {"kv.0.k", PSC_ROLE_PERSISTENT, 2, 2048},
                {"kv.0.v", PSC_ROLE_PERSISTENT, 3, 2064},
                {"stage.1.metal", PSC_ROLE_STAGING, 1, 1024}};
    g_assert_cmpuint(p.plan->buffer_n, ==, G_N_ELEMENTS(want));
    for (uint32_t i = 0; i < p.plan->buffer_n; i++) {
        g_assert_cmpstr(p.plan->buffers[i].name, ==, want[i].name);
        g_assert_cmpint(p.plan->buffers[i].role, ==, want[i].role);
        g_assert_cmpuint(p.plan->buffers[i].id, ==, want[i].id);
        g_assert_cmpuint(p.plan->buffers[i].base, ==, want[i].base);
    }
    g_assert_cmpuint(p.plan->figures.buffers, ==, 3);
    g_assert_cmpuint(p.plan->figures.pool_bytes, ==, 3 * 1024);
    g_assert_cmpuint(p.plan->figures.staging_bytes, ==, 16);
    g_assert_cmpuint(p.plan->figures.kv_bytes, ==, 32);
    g_assert_cmpuint(p.plan->figures.padding_bytes, ==, 3 * (1024 - 16));
    planned_release(&p);
}

/* ---- reasons and the log --------------------------------------------------------------------------------------- */

static void test_reasons(void)
{
    struct planned p = planned_new("x: input 4\nt: scale 4 x\nu: scale 4 x\ns: silu 4 t\nm: matmul 4 s\nr: silu 4 m\n"
                                   "w: add 4 u m\nout r w", "");
    const struct psc_place *r = planned_find(&p, "r"), *m = planned_find(&p, "m"), *w = planned_find(&p, "w");
    g_assert_cmpint(planned_find(&p, "x")->reason, ==, PSC_WHY_INPUT);
    g_assert_cmpint(planned_find(&p, "s")->reason, ==, PSC_WHY_IN_PLACE);
    g_assert_cmpuint(planned_find(&p, "s")->b, ==, 1);
    g_assert_cmpint(m->reason, ==, PSC_WHY_NEW);
    g_assert_cmpuint(m->a, ==, 1024);
    g_assert_cmpuint(m->refused_n, ==, 2);
    g_assert_cmpint(p.plan->refused[m->refused_at].why, ==, PSC_NOT_IN_PLACE_OP);
    g_assert_cmpint(p.plan->refused[m->refused_at + 1].why, ==, PSC_NOT_IDLE);
    g_assert_cmpuint(p.plan->refused[m->refused_at + 1].b, ==, 3);
    /* silu of m is refused: w reads m too. It takes the buffer that t and s left, idle from position 5 on. */
    g_assert_cmpint(r->reason, ==, PSC_WHY_REUSED);
    g_assert_cmpuint(r->a, ==, text_graph_node(p.graph, "s"));
    g_assert_cmpuint(r->b, ==, 5);
    g_assert_cmpuint(r->c, ==, 1);
    g_assert_cmpuint(r->refused_n, ==, 1);
    g_assert_cmpint(p.plan->refused[r->refused_at].why, ==, PSC_NOT_SOLE_READER);
    g_assert_cmpuint(p.plan->refused[r->refused_at].a, ==, 2);
    g_assert_cmpuint(p.plan->refused[r->refused_at].b, ==, text_graph_node(p.graph, "w"));
    g_assert_cmpint(w->reason, ==, PSC_WHY_NEW);
    planned_release(&p);
}

static void assert_refusal(const char *words, const char *graph, const char *node, enum psc_refusal why, uint64_t a)
{
    struct planned p = planned_new(graph, words);
    const struct psc_place *place = planned_find(&p, node);
    g_assert_cmpuint(place->refused_n, >=, 1);
    g_assert_cmpint(p.plan->refused[place->refused_at].why, ==, why);
    g_assert_cmpuint(p.plan->refused[place->refused_at].a, ==, a);
    planned_release(&p);
}

static void test_refusals(void)
{
    assert_refusal("", "x: input 4\nt: scale 4 x\ns: silu 4 t @metal\nout s", "s", PSC_NOT_OTHER_BACKEND, 0);
    assert_refusal("", "x: input 4\ng: scale 4 x\ns: swiglu 4 g x\nout s", "s", PSC_NOT_A_VIEW, 1);
    assert_refusal("hardened", "x: input 4\nt: scale 4 x\nv: view 4 t\ns: silu 4 v\no: add 4 s t\nout o", "s",
                   PSC_NOT_ROOT_READ_LATER, 1);
    assert_refusal("hardened", "x: input 4\nt: scale 4 x\ns: silu 4 t\nout t s", "s", PSC_NOT_OUTPUT, 1);
    assert_refusal("hardened", "x: input 4\ns: silu 4 x\nout s", "s", PSC_NOT_INPUT, 0);
    assert_refusal("hardened", "x: input 4\ns: kvcache_store 4 x x #3\nl: kvcache_load 4 #3\nr: silu 4 l\nout r", "r",
                   PSC_NOT_REGION, 3);
}

static void test_log(void)
{
    static const char *const kinds[] = {"sweep", "release", "reuse", "new", "alias", "refused",
                                        "view",  "region",  "input", "dead"};
    struct planned p = planned_new("x: input 4\nd: silu 4 x\na: scale 4 x\nb: scale 4 a\nc: scale 4 b\nv: view 4 c\n"
                                   "s: silu 4 v\nk: kvcache_store 4 s s #0\nout s", "log");
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < p.plan->walk_n; i++)
        g_string_append_printf(out, "%s%d %s", i ? ", " : "", p.plan->walk[i].position, kinds[p.plan->walk[i].kind]);
    g_assert_cmpstr(out->str, ==, "-1 new, -1 input, 1 dead, 2 refused, 2 new, 3 refused, 3 new, 4 sweep, 4 release, "
                                  "4 refused, 4 reuse, 5 sweep, 5 release, 5 view, 6 alias, 7 region");
    g_assert_cmpuint(p.plan->release_n, ==, 2);
    g_assert_cmpint(p.plan->releases[0].position, ==, 3);
    g_assert_cmpuint(p.plan->releases[0].tenant, ==, 2);
    g_string_free(out, TRUE);
    planned_release(&p);
    p = planned_new("x: input 4\no: scale 4 x\nout o", "");
    g_assert_cmpuint(p.plan->walk_n, ==, 0);
    planned_release(&p);
}

/* ---- properties of every plan ------------------------------------------------------------------------------------ */

static const char *const every_option[] = {
    "hardened exact lowest", "hardened class fifo", "hardened exact lifo", "hardened class random:7",
    "naive hardened exact",  "naive upstream class",
};

/* What a buffer for every value takes, and one for each input that nobody reads, which the naive planner leaves out. */
static uint64_t apart_bytes(struct psc_graph *g, enum psc_size size)
{
    struct planned p = planned_graph(g, size == PSC_SIZE_EXACT ? "naive hardened exact" : "naive hardened class");
    uint64_t bytes = p.plan->figures.pool_bytes;
    for (psc_node k = 0; k < g->n; k++)
        if ((g->nodes[k].is_input || g->nodes[k].op == PSC_OP_INPUT) && !g->nodes[k].reader_n && !g->nodes[k].is_output)
            bytes += psc_size_bytes(size, g->nodes[k].bytes);
    planned_release(&p);
    return bytes;
}

/* The checker shares no code with the planners: hardened plans must be clean whatever the graph, and none takes more than a
 * buffer for every value. */
static void test_random_plans_are_clean(void)
{
    unsigned planned_n = 0;
    for (guint64 seed = test_seed(), end = seed + 300; seed < end; seed++) {
        struct psc_arena arena = {0};
        struct random_graph_options options = random_graph_all;
        options.unassigned = seed % 3 == 0;
        struct psc_graph *graph = random_graph(&arena, seed, &options);
        uint64_t apart[] = {apart_bytes(graph, PSC_SIZE_CLASS), apart_bytes(graph, PSC_SIZE_EXACT)};
        for (size_t k = 0; k < G_N_ELEMENTS(every_option); k++, planned_n++) {
            struct planned p = planned_graph(graph, every_option[k]);
            g_assert_cmpuint(p.plan->figures.pool_bytes, <=, apart[strstr(every_option[k], "exact") != NULL]);
            char *findings = planned_findings(&p);
            if (*findings)
                g_error("seed %" G_GUINT64_FORMAT ", %s: %s", seed, every_option[k], findings);
            g_assert_cmpuint(p.plan->figures.lower_bound_bytes, <=, p.plan->figures.pool_bytes);
            g_assert_cmpuint(p.plan->figures.peak_live_bytes, <=, p.plan->figures.pool_bytes);
            g_assert_cmpuint(p.plan->figures.lower_bound_bytes, <=, p.plan->figures.peak_live_bytes);
            g_free(findings);
            planned_release(&p);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(planned_n, ==, 1800);
}

/* Field by field: the bytes between fields are anything. */
static bool same_event(const struct psc_event *a, const struct psc_event *b)
{
    return a->lo == b->lo && a->hi == b->hi && a->value == b->value && a->version == b->version && a->buffer == b->buffer &&
           a->generation == b->generation && a->node == b->node && a->peer == b->peer && a->cause == b->cause &&
           a->position == b->position && a->run == b->run && a->phase == b->phase && a->lane == b->lane &&
           a->operand == b->operand && a->kind == b->kind;
}

static void test_deterministic(void)
{
    static const char *const words[] = {"", "hardened exact fifo", "random:3", "topological lifo", "l3 l4"};
    struct psc_arena arena = {0};
    struct psc_graph *graph = random_graph(&arena, 5, &random_graph_all);
    for (size_t k = 0; k < G_N_ELEMENTS(words); k++) {
        struct planned a = planned_graph(graph, words[k]), b = planned_graph(graph, words[k]);
        g_assert_cmpmem(a.plan->places, graph->n * sizeof *a.plan->places, b.plan->places,
                        graph->n * sizeof *b.plan->places);
        g_assert_cmpmem(&a.plan->figures, sizeof a.plan->figures, &b.plan->figures, sizeof b.plan->figures);
        g_assert_cmpuint(a.story->event_n, ==, b.story->event_n);
        for (uint32_t i = 0; i < a.story->event_n; i++)
            g_assert_true(same_event(&a.story->events[i], &b.story->events[i]));
        planned_release(&a);
        planned_release(&b);
    }
    psc_arena_release(&arena);
}

/* ---- errors -------------------------------------------------------------------------------------------------------- */

static void assert_refused(const char *text, enum psc_status status, const char *sentence)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = text_graph(&arena, text);
    struct psc_plan *plan = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(psc_planners[0].plan(&arena, graph, &psc_plan_defaults, &plan, &error), ==, status);
    g_assert_null(plan);
    g_assert_cmpstr(error.text, ==, sentence);
    psc_arena_release(&arena);
}

static void test_regions_disagree(void)
{
    assert_refused("x: input 4\ns: kvcache_store 64 x x #2\nl: kvcache_load 128 #2\nout x", PSC_ERR_PLAN,
                   "layer 2: node 1 made a KV region of 256 bytes, node 2 asks for 512 bytes");
    assert_refused("x: input 4\ns: kvcache_store 64 x x #2\nl: kvcache_load 64 #2 @metal\nout x", PSC_ERR_PLAN,
                   "layer 2: node 1 keeps its KV region on cpu, node 2 asks for it on metal");
}

static void test_views_outside_their_parent(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(text_graph_build(&arena, "x: input 6\nv: view 4 x +4\nout v", &graph, &error), !=, PSC_OK);
    g_assert_null(graph);
    psc_arena_release(&arena);
}

static void test_words(void)
{
    enum psc_slots slots;
    enum psc_mode mode;
    uint64_t seed = 5;
    g_assert_true(psc_slots_parse("random:18446744073709551615", &slots, &seed));
    g_assert_cmpuint(seed, ==, UINT64_MAX);
    g_assert_false(psc_slots_parse("random:18446744073709551616", &slots, &seed));
    g_assert_false(psc_slots_parse("random:", &slots, &seed));
    g_assert_false(psc_slots_parse("random:-1", &slots, &seed));
    g_assert_false(psc_mode_parse("Hardened", &mode));
    for (int m = 0; m < PSC_MODE_N; m++) {
        g_assert_true(psc_mode_parse(psc_mode_name((enum psc_mode)m), &mode));
        g_assert_cmpint((int)mode, ==, m);
    }
    for (int f = 0; f < PSC_FAULT_N; f++)
        g_assert_cmpint(psc_fault_from_name(psc_fault_info((enum psc_fault)f)->name), ==, f);
    g_assert_cmpint(psc_fault_from_name("l6"), ==, PSC_FAULT_N);
    g_assert_nonnull(psc_planner_find("naive"));
    g_assert_null(psc_planner_find("best"));
}

struct oom {
    struct psc_graph *graph;
    const char *words;
};

static enum psc_status plan_once(void *data)
{
    const struct oom *oom = data;
    const struct psc_planner *planner;
    struct psc_plan_options options = planned_options(oom->words, &planner);
    struct psc_arena arena = {0};
    struct psc_plan *plan;
    struct psc_story *story;
    struct psc_error error = {0};
    enum psc_status status = planner->plan(&arena, oom->graph, &options, &plan, &error);
    if (!status)
        status = psc_plan_lower(&arena, oom->graph, plan, &story, &error);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    static const char *const words[] = {"hardened log", "topological fifo exact log", "naive", "l7 l4"};
    struct psc_arena arena = {0};
    struct oom oom = {.graph = random_graph(&arena, 11, &random_graph_all)};
    for (size_t k = 0; k < G_N_ELEMENTS(words); k++) {
        oom.words = words[k];
        g_assert_cmpuint(test_oom_loop(plan_once, &oom), >, 10);
    }
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strconcat("/plan/places/", rows[i].path, NULL);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(published); i++) {
        char *path = g_strconcat("/plan/figures/qwen-", published[i].path, NULL);
        g_test_add_data_func(path, &published[i], test_numbers);
        g_free(path);
    }
    g_test_add_func("/plan/sizes/the-ladder-wastes-less-than-a-step", test_classes);
    g_test_add_func("/plan/slots/each-policy-chooses-as-its-name-says", test_idle_lists);
    g_test_add_func("/plan/figures/kv-bytes-of-the-presets", test_kv_bytes);
    g_test_add_func("/plan/figures/fused-nodes-ask-for-the-same-regions", test_fused_regions);
    g_test_add_func("/plan/figures/the-peak-names-its-contributors", test_peak);
    g_test_add_func("/plan/figures/live-bytes-are-not-reserved-bytes", test_live_is_not_reserved);
    g_test_add_func("/plan/figures/an-empty-plan-is-free", test_empty_plan);
    g_test_add_func("/plan/buffers/roles-ids-and-addresses", test_roles);
    g_test_add_func("/plan/reasons/each-place-says-why", test_reasons);
    g_test_add_func("/plan/reasons/refused-alternatives-are-kept", test_refusals);
    g_test_add_func("/plan/log/the-walk-is-told-step-by-step", test_log);
    g_test_add_func("/plan/random/hardened-and-naive-plans-are-clean", test_random_plans_are_clean);
    g_test_add_func("/plan/random/the-same-input-gives-the-same-bytes", test_deterministic);
    g_test_add_func("/plan/errors/regions-of-a-layer-must-agree", test_regions_disagree);
    g_test_add_func("/plan/errors/a-view-outside-its-parent-is-refused", test_views_outside_their_parent);
    g_test_add_func("/plan/words/options-are-read-and-written", test_words);
    g_test_add_func("/plan/oom/every-allocation-may-fail", test_oom);
    return g_test_run();
}
