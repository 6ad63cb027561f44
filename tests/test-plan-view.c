/* Why each node of a graph that was planned here lies where it lies, and what lies in the buffers, at every position. */
#include "core/base/text.h"
#include "core/debug/analysis.h"
#include "core/debug/inside.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

static struct psc_analysis *analyse(const struct psc_phase *phase, const struct psc_planner *planner)
{
    struct psc_analysis_options options = {.planner = planner, .plan = psc_plan_defaults};
    struct psc_analysis *a;
    struct psc_error error = {0};
    options.plan.log = true;
    if (psc_analysis_new(phase, &options, &a, &error))
        g_error("%s", error.text);
    return a;
}

static struct psc_candela_view *at(struct psc_arena *arena, const struct psc_analysis *a, int32_t position)
{
    struct psc_candela_view *v;
    g_assert_cmpint(psc_plan_view_at(arena, a, NULL, NULL, position, &v, NULL), ==, PSC_OK);
    return v;
}

/* Who moved in last, by looking at all tenancies. */
static void check_slots(const struct psc_analysis *a, const struct psc_candela_view *v)
{
    for (uint32_t i = 0; i < v->slot_n; i++) {
        const struct psc_candela_slot_view *s = &v->slots[i];
        const struct psc_tenancy *last = NULL;
        char label[96];
        for (uint32_t k = 0; k < a->history->tenancy_n; k++) {
            const struct psc_tenancy *t = &a->history->tenancies[k];
            if (t->buffer == s->slot && t->first <= v->position && (!last || t->first >= last->first))
                last = t;
        }
        g_assert_nonnull(last);
        g_assert_cmpint(s->start, ==, last->first);
        g_assert_cmpint(s->use, ==, v->position >= last->end ? PSC_SLOT_IDLE : PSC_SLOT_HELD);
        if (last->lo == 0) /* of several that moved in at once any may be named */
            g_assert_nonnull(psc_value_label(a->story, a->phase->graph, last->value, label, sizeof label));
        g_assert_cmpuint(s->len, ==, a->story->buffers[s->slot].bytes);
        if (i)
            g_assert_cmpuint(v->slots[i - 1].slot, <, s->slot);
    }
}

static void test_random(void)
{
    uint64_t tried = 0, refused = 0, taken = 0, slots = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 40; round++) {
        struct psc_arena arena = {0};
        struct psc_phase phase = {.kind = "", .graph = random_graph(&arena, test_seed() * 31 + round,
                                                                    round % 2 ? &random_graph_all : &random_graph_plain)};
        for (const struct psc_planner *p = psc_planners; p->name; p++) {
            struct psc_analysis *a = analyse(&phase, p);
            g_assert_true(psc_plan_view_has(a));
            for (int32_t k = (int32_t)a->story->position_n; k >= -1; k--) {
                const struct psc_candela_view *v = at(&arena, a, k);
                bool inside = k >= 0 && k < (int32_t)a->story->position_n;
                g_assert_cmpuint(v->try_n > 0, ==, inside);
                g_assert_cmpuint(strlen(v->words), >, 0);
                g_assert_false(v->has_sort);
                for (uint32_t i = 0; i < v->try_n; i++) {
                    g_assert_cmpint(v->tries[i].taken, ==, i + 1 == v->try_n);
                    g_assert_cmpuint(strlen(v->tries[i].why), >, 0);
                    g_assert_cmpuint(strlen(v->tries[i].strategy), >, 0);
                }
                tried += v->try_n;
                refused += v->try_n > 1;
                taken += inside;
                slots += v->slot_n;
                check_slots(a, v);
            }
            psc_analysis_free(a);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(taken, >, 3000);
    g_assert_cmpuint(refused, >, 500);
    g_assert_cmpuint(tried, >, taken + refused - 1);
    g_assert_cmpuint(slots, >, 1000);
}

/* a * (a + b) under candela: the sum finds nothing better, the product overwrites it. */
static void test_words(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g;
    const struct psc_planner *candela = psc_planners;
    psc_node x = psc_builder_input(b, "a", PSC_F32, 4, 1), y = psc_builder_input(b, "b", PSC_F32, 4, 1);
    psc_node s = psc_builder_binary(b, "s", PSC_OP_ADD, x, y), m = psc_builder_binary(b, "m", PSC_OP_MUL, x, s);
    psc_builder_output(b, m);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    while (candela->name && strcmp(candela->name, "candela"))
        candela++;
    g_assert_nonnull(candela->name);
    struct psc_phase phase = {.kind = "", .graph = g};
    struct psc_analysis *a = analyse(&phase, candela);
    const struct psc_candela_view *v = at(&arena, a, (int32_t)m);
    g_assert_cmpuint(v->try_n, ==, 1);
    g_assert_cmpstr(v->tries[0].strategy, ==, "in place over #2 s");
    v = at(&arena, a, (int32_t)s);
    g_assert_cmpuint(v->try_n, ==, 3);
    g_assert_cmpstr(v->tries[0].strategy, ==, "in place over #0 a");
    g_assert_cmpstr(v->tries[1].strategy, ==, "an idle buffer");
    g_assert_cmpstr(v->tries[2].strategy, ==, "a new buffer");
    struct psc_text text = {0};
    psc_explain_candela_view(&text, v);
    g_assert_nonnull(strstr(psc_text_str(&text), "Refused: in place over #0 a: "));
    g_assert_nonnull(strstr(psc_text_str(&text), "Taken: a new buffer: "));
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_builder_free(b);
    psc_arena_release(&arena);
}

/* ---- candela: its sort and its map ---------------------------------------------------------------------------------- */

static const struct psc_planner *planner_of(const char *name)
{
    const struct psc_planner *p = psc_planners;
    while (p->name && strcmp(p->name, name))
        p++;
    g_assert_nonnull(p->name);
    return p;
}

static psc_node node_of(const char *name) /* "#12 add" */
{
    g_assert_cmpint(name[0], ==, '#');
    return (psc_node)strtoul(name + 1, NULL, 10);
}

/* Every node once, after what it reads and after the stores that it must see; the chip's number is its position. */
static void check_order(const struct psc_graph *g, const struct psc_candela_view *v)
{
    bool *listed = g_new0(bool, g->n);
    g_assert_cmpuint(v->order_n, ==, g->n);
    for (uint32_t i = 0; i < v->order_n; i++) {
        psc_node node = node_of(v->order[i].name);
        const struct psc_node_info *info = &g->nodes[node];
        g_assert_cmpuint(v->order[i].position, ==, node);
        g_assert_false(listed[node]);
        for (uint32_t k = 0; k < info->src_n; k++)
            g_assert_true(listed[g->srcs[info->src_at + k]]);
        for (uint32_t k = 0; k < info->order_n; k++)
            g_assert_true(listed[g->order_srcs[info->order_at + k]]);
        listed[node] = true;
    }
    g_free(listed);
}

/* The top is listed; what waits below reads, through others that wait, the one above it. */
static void check_stack(const struct psc_graph *g, const struct psc_candela_view *v, psc_node now)
{
    psc_node above = now;
    g_assert_cmpuint(v->stack_n, >, 0);
    g_assert_true(v->stack[0].leaving && v->stack[0].entered);
    g_assert_cmpuint(node_of(v->stack[0].name), ==, now);
    for (uint32_t i = 1; i < v->stack_n; i++) {
        if (!v->stack[i].entered || !strcmp(v->stack[i].name, "the outputs"))
            continue;
        psc_node node = node_of(v->stack[i].name);
        bool reads = false;
        for (uint32_t k = 0; k < g->nodes[node].src_n; k++)
            reads = reads || g->srcs[g->nodes[node].src_at + k] == above;
        for (uint32_t k = 0; k < g->nodes[node].order_n; k++)
            reads = reads || g->order_srcs[g->nodes[node].order_at + k] == above;
        g_assert_true(reads);
        above = node;
    }
}

/* Whose bytes are whose, the long way. */
static void own(const struct psc_plan *plan, psc_node node, psc_node *owner, uint32_t n)
{
    const struct psc_place *place = &plan->places[node];
    if (place->buffer == PSC_NONE)
        return;
    if (place->reason == PSC_WHY_VIEW)
        owner[node] = owner[place->a] == PSC_NONE ? (psc_node)place->a : owner[place->a];
    if (place->reason != PSC_WHY_IN_PLACE)
        return;
    psc_node old = owner[place->b] == PSC_NONE ? (psc_node)place->b : owner[place->b];
    for (psc_node i = 0; i < n; i++)
        if (owner[i] == old)
            owner[i] = node;
    owner[old] = node;
}

static unsigned check_map(const struct psc_graph *g, const struct psc_candela_view *v, const psc_node *owner, const psc_node *before)
{
    unsigned n = 0, swung = 0;
    for (psc_node i = 0; i < g->n; i++)
        n += owner[i] != PSC_NONE;
    g_assert_cmpuint(v->arrow_n, ==, n);
    g_assert_cmpuint(v->arrow_all, ==, n);
    for (uint32_t k = 0; k < v->arrow_n; k++) {
        const struct psc_candela_arrow *a = &v->arrows[k];
        psc_node node = node_of(a->node);
        g_assert_cmpuint(node_of(a->owner), ==, owner[node]);
        g_assert_cmpint(a->fresh, ==, owner[node] != before[node]);
        g_assert_cmpint(a->before != NULL, ==, a->fresh && before[node] != PSC_NONE);
        if (a->before)
            g_assert_cmpuint(node_of(a->before), ==, before[node]);
        g_assert_cmpint(a->was_itself, ==, a->fresh && before[node] == PSC_NONE && (int32_t)node < v->position);
        g_assert_false(a->two_hops);
        swung += a->before != NULL;
    }
    return swung;
}

static void test_candela(void)
{
    unsigned swung = 0, arrows = 0, otherwise = 0, several = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 60; round++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, test_seed() * 53 + round, round % 2 ? &random_graph_all : &random_graph_plain);
        struct psc_phase phase = {.kind = "", .graph = g};
        struct psc_analysis *a = analyse(&phase, planner_of("candela"));
        psc_node *owner = g_new(psc_node, g->n), *before = g_new(psc_node, g->n);
        struct psc_inside *inside = NULL;
        struct psc_inside_view view;
        g_assert_cmpint(psc_inside_new(&arena, a, &inside, NULL), ==, PSC_OK);
        g_assert_nonnull(inside->graph_tale);
        g_assert_cmpuint(g->n, <=, PSC_CANDELA_VIEW_MAX);
        memset(owner, 0xff, g->n * sizeof *owner);
        for (int32_t p = -1; p <= (int32_t)g->n; p++) {
            memcpy(before, owner, g->n * sizeof *owner);
            g_assert_cmpint(psc_inside_at(&arena, inside, p, &view, NULL), ==, PSC_OK);
            const struct psc_candela_view *v = view.candela;
            bool runs = p >= 0 && p < (int32_t)g->n;
            if (runs)
                own(a->plan, (psc_node)p, owner, g->n);
            g_assert_true(v->has_sort && v->apart);
            check_order(g, v);
            swung += check_map(g, v, owner, before);
            arrows += v->arrow_n;
            if (runs) {
                check_stack(g, v, (psc_node)p);
                g_assert_cmpuint(node_of(v->order[v->order_at - 1].name), ==, p);
                otherwise += v->order_at != (uint32_t)p + 1;
                several += !strcmp(v->stack[v->stack_n - 1].name, "the outputs");
            } else {
                g_assert_cmpuint(v->order_at, ==, p < 0 ? 0 : g->n);
            }
        }
        g_free(owner);
        g_free(before);
        psc_analysis_free(a);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(swung, >, 20);
    g_assert_cmpuint(arrows, >, 1000);
    g_assert_cmpuint(otherwise, >, 100);
    g_assert_cmpuint(several, >, 100);
}

/* Each generation's plan beside the one that is shown: places by planning so, decisions by that plan's own page. */
static void test_generations(void)
{
    unsigned same = 0, other = 0, told = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 24; round++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, test_seed() * 71 + round, round % 2 ? &random_graph_all : &random_graph_plain);
        struct psc_phase phase = {.kind = "", .graph = g};
        struct psc_analysis *by[PSC_GEN_N];
        struct psc_inside *inside = NULL;
        for (unsigned k = 0; k < PSC_GEN_N; k++) {
            struct psc_analysis_options options = {.planner = planner_of("candela"), .plan = psc_plan_defaults};
            options.plan.generation = (enum psc_generation)k;
            g_assert_cmpint(psc_analysis_new(&phase, &options, &by[k], NULL), ==, PSC_OK);
        }
        const struct psc_analysis *a = by[round % PSC_GEN_N];
        g_assert_cmpint(psc_inside_new(&arena, a, &inside, NULL), ==, PSC_OK);
        for (int32_t p = -1; p <= (int32_t)g->n; p++) {
            struct psc_inside_view view;
            bool any = false, listed = false, runs = p >= 0 && p < (int32_t)g->n;
            g_assert_cmpint(psc_inside_at(&arena, inside, p, &view, NULL), ==, PSC_OK);
            const struct psc_candela_view *v = view.candela;
            g_assert_cmpuint(v->rival_n, ==, PSC_GEN_N);
            for (uint32_t i = 0; i < v->rival_n; i++) {
                const struct psc_candela_rival_view *r = &v->rivals[i];
                enum psc_generation generation;
                g_assert_true(psc_generation_parse(r->words, &generation));
                g_assert_cmpint(r->current, ==, by[generation] == a);
                g_assert_cmpint(r->wrong, ==, by[generation]->check.finding_n > 0);
                g_assert_cmpint(r->strategy != NULL, ==, runs);
                if (!runs)
                    continue;
                const struct psc_place *x = &a->plan->places[p], *y = &by[generation]->plan->places[p];
                bool by_node = x->reason == PSC_WHY_IN_PLACE || x->reason == PSC_WHY_REUSED;
                g_assert_cmpint(r->same, ==, x->reason == y->reason && (!by_node || x->a == y->a));
                g_assert_true(r->same || !r->current);
                const struct psc_candela_view *own = at(&arena, by[generation], p);
                g_assert_cmpstr(r->strategy, ==, own->tries[own->try_n - 1].strategy);
                told += !r->same && strcmp(r->why, own->tries[own->try_n - 1].why); /* what stood against the way shown here */
                any = any || !r->same;
                same += r->same;
                other += !r->same;
            }
            for (uint32_t i = 0; i < v->differ_n; i++)
                listed = listed || v->differs[i].position == p;
            g_assert_cmpint(listed, ==, any);
        }
        for (unsigned k = 0; k < PSC_GEN_N; k++)
            psc_analysis_free(by[k]);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(same, >, 1000);
    g_assert_cmpuint(other, >, 200);
    g_assert_cmpuint(told, >, 50);
}

struct stopping { unsigned at, asked; };

static bool stop_cb(void *ctx, unsigned done, unsigned all)
{
    struct stopping *s = ctx;
    g_assert_cmpuint(all, ==, PSC_GEN_N);
    g_assert_cmpuint(done, ==, s->asked++);
    return done != s->at;
}

/* Of a large graph the generations wait for somebody who asks, and say so; who asks can end it before each of them. */
static void test_large(void)
{
    struct psc_arena arena = {0};
    struct qwen_options shape = qwen_prefill;
    struct psc_inside *inside = NULL;
    struct psc_inside_view view;
    struct psc_graph_rivals *rivals = NULL;
    shape.layers = 1000;
    shape.context = 16;
    struct psc_phase phase = {.kind = "", .graph = qwen_graph(&arena, &shape)};
    g_assert_cmpuint(phase.graph->n, >, PSC_RIVALS_AT_ONCE);
    struct psc_analysis *a = analyse(&phase, planner_of("candela"));
    g_assert_cmpint(psc_inside_new(&arena, a, &inside, NULL), ==, PSC_OK);
    g_assert_true(inside->rivals_wait && !inside->rivals);
    g_assert_cmpint(psc_inside_at(&arena, inside, 9000, &view, NULL), ==, PSC_OK);
    g_assert_true(view.candela->rivals_wait);
    g_assert_cmpuint(view.candela->rival_n, ==, 0);
    struct psc_text words = {0};
    psc_explain_candela_view(&words, view.candela);
    g_assert_nonnull(strstr(psc_text_str(&words), "not compared yet"));
    psc_text_release(&words);
    for (unsigned at = 0; at <= PSC_GEN_N; at++) {
        struct stopping stopping = {at, 0};
        struct psc_error error = {0};
        enum psc_status status = psc_inside_compare(&arena, inside, stop_cb, &stopping, &rivals, &error);
        g_assert_cmpint(status, ==, at < PSC_GEN_N ? PSC_ERR_CANCELLED : PSC_OK);
        g_assert_cmpint(rivals == NULL, ==, at < PSC_GEN_N);
        g_assert_cmpuint(stopping.asked, ==, at < PSC_GEN_N ? at + 1 : PSC_GEN_N);
    }
    inside->rivals = rivals;
    g_assert_cmpint(psc_inside_at(&arena, inside, 9000, &view, NULL), ==, PSC_OK);
    g_assert_false(view.candela->rivals_wait);
    g_assert_cmpuint(view.candela->rival_n, ==, PSC_GEN_N);
    g_assert_cmpuint(rivals->differ_of[PSC_GEN_01], >, 1000);
    g_assert_cmpuint(rivals->differ_of[a->plan->options.generation], ==, 0);
    for (uint32_t g = 0; g < PSC_GEN_N; g++) { /* as a plan of its own */
        struct psc_plan_options options = psc_plan_defaults;
        struct psc_plan *plan;
        uint32_t otherwise = 0;
        options.generation = (enum psc_generation)g;
        g_assert_cmpint(planner_of("candela")->plan(&arena, phase.graph, &options, &plan, NULL), ==, PSC_OK);
        for (psc_node i = 0; i < phase.graph->n; i++)
            otherwise += plan->places[i].reason != rivals->by[g].plan->places[i].reason || plan->places[i].offset != rivals->by[g].plan->places[i].offset;
        g_assert_cmpuint(otherwise, ==, 0);
    }
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

/* x, t = x + x, s = silu(t), v = t viewed: one root, whose inputs are visited last-first, and a view that goes along. */
static void test_candela_by_hand(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g;
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), y = psc_builder_input(b, "y", PSC_F32, 4, 1);
    psc_node t = psc_builder_binary(b, "t", PSC_OP_ADD, x, y), v = psc_builder_view(b, "v", t, 0, 4, 1);
    psc_node r = psc_builder_binary(b, "r", PSC_OP_MUL, t, v);
    psc_node o = psc_builder_binary(b, "o", PSC_OP_ADD, r, y);
    psc_builder_output(b, o);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    struct psc_phase phase = {.kind = "", .graph = g};
    struct psc_analysis *a = analyse(&phase, planner_of("candela"));
    struct psc_candela_tale *tale = NULL;
    struct psc_candela_view *view;
    g_assert_true(psc_plan_tale_has(a));
    g_assert_cmpint(psc_plan_tale_new(&arena, a, &tale, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_plan_view_at(&arena, a, tale, NULL, (int32_t)v, &view, NULL), ==, PSC_OK);
    g_assert_cmpstr(view->order[0].name, ==, "#1 y"); /* o's right operand first */
    g_assert_cmpstr(view->order[1].name, ==, "#0 x");
    g_assert_cmpuint(view->arrow_n, ==, 1);
    g_assert_cmpstr(view->arrows[0].promise, ==, "shows its bytes");
    g_assert_false(view->arrows[0].was_itself);
    g_assert_cmpint(psc_plan_view_at(&arena, a, tale, NULL, (int32_t)o, &view, NULL), ==, PSC_OK);
    g_assert_cmpuint(view->arrow_n, ==, 2); /* v shows t; r goes on as o */
    g_assert_cmpstr(view->arrows[1].node, ==, "#4 r");
    g_assert_cmpstr(view->arrows[1].owner, ==, "#5 o");
    g_assert_cmpstr(view->arrows[1].promise, ==, "overwritten");
    g_assert_true(view->arrows[1].was_itself);
    psc_analysis_free(a);
    a = analyse(&phase, planner_of("pool")); /* who has no sort shows none */
    g_assert_false(psc_plan_tale_has(a));
    psc_analysis_free(a);
    psc_builder_free(b);
    psc_arena_release(&arena);
}

struct source { struct psc_phase phase; struct psc_analysis *a; };

static enum psc_status everything(void *data)
{
    struct source *s = data;
    struct psc_arena arena = {0};
    struct psc_inside *inside = NULL;
    struct psc_inside_view view;
    enum psc_status status = psc_inside_new(&arena, s->a, &inside, NULL);
    for (int32_t p = -1; !status && p <= 12; p++)
        status = psc_inside_at(&arena, inside, p, &view, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_out_of_memory(void)
{
    struct psc_arena arena = {0};
    struct source s = {.phase = {.kind = "", .graph = random_graph(&arena, 7, &random_graph_plain)}};
    s.a = analyse(&s.phase, NULL);
    g_assert_cmpuint(test_oom_loop(everything, &s), >, 5);
    psc_analysis_free(s.a);
    s.a = analyse(&s.phase, planner_of("candela"));
    g_assert_cmpuint(test_oom_loop(everything, &s), >, 20);
    psc_analysis_free(s.a);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-view/random", test_random);
    g_test_add_func("/plan-view/candela-s-sort-and-map", test_candela);
    g_test_add_func("/plan-view/candela-by-hand", test_candela_by_hand);
    g_test_add_func("/plan-view/generations", test_generations);
    g_test_add_func("/plan-view/generations-of-a-large-graph-wait-until-somebody-asks", test_large);
    g_test_add_func("/plan-view/words", test_words);
    g_test_add_func("/plan-view/out-of-memory", test_out_of_memory);
    return g_test_run();
}
