/* Why each node of a graph that was planned here lies where it lies, and what lies in the buffers, at every position. */
#include "core/base/text.h"
#include "core/debug/analysis.h"
#include "core/debug/candela-view.h"
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
    g_assert_cmpint(psc_plan_view_at(arena, a, position, &v, NULL), ==, PSC_OK);
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

struct source { struct psc_phase phase; struct psc_analysis *a; };

static enum psc_status everything(void *data)
{
    struct source *s = data;
    struct psc_arena arena = {0};
    struct psc_candela_view *v;
    enum psc_status status = PSC_OK;
    for (int32_t p = -1; !status && p <= 12; p++)
        status = psc_plan_view_at(&arena, s->a, p, &v, NULL);
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
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-view/random", test_random);
    g_test_add_func("/plan-view/words", test_words);
    g_test_add_func("/plan-view/out-of-memory", test_out_of_memory);
    return g_test_run();
}
