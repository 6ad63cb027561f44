/* What the executor holds at each step, and the same expression under every generation and with the map the other way round. */
#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/candela/script.h"
#include "tests/lazy-told.h"
#include "tests/util.h"

#include <string.h>

#define B3_TEXT "t = transpose([[1, 2], [3, 4]]); s = t + 1; c = as_contiguous(t); r = c + s"

static enum psc_status make_tale(struct told *t, struct psc_error *reterr)
{
    enum psc_status status = psc_candela_keep(&t->arena, &t->l, t->root, t->plan, false, &t->kept, reterr);
    if (!status)
        status = psc_candela_verify(&t->arena, &t->l, t->root, t->plan, false, &t->kept->verdict, reterr);
    if (!status)
        status = psc_candela_keep_rivals(&t->arena, &t->l, t->kept, reterr);
    if (!status)
        status = psc_candela_tale_new(&t->arena, t->kept, &t->tale, reterr);
    return status;
}

static void tell(struct told *t, const char *text, enum psc_generation generation, uint64_t faults)
{
    struct psc_candela_options options = {.generation = generation, .faults = faults, .align = 1};
    struct psc_error error = {0};
    memset(t, 0, sizeof *t);
    t->plan = plan_text(&t->l, &t->arena, text, &options);
    t->root = (uint32_t)t->l.n - 1;
    if (make_tale(t, &error))
        g_error("%s", error.text);
}

/* ---- the executor --------------------------------------------------------------------------------------------------- */

static const struct psc_candela_live_view *handle(const struct psc_candela_view *v, const char *name)
{
    for (uint32_t i = 0; i < v->live_n; i++)
        if (!strcmp(v->live[i].name, name))
            return &v->live[i];
    return NULL;
}

static const char *spell_live(const struct psc_candela_view *v, GString *s)
{
    static const char *const fates[] = {"", " new", " overwritten", " taken", " back"};
    g_string_truncate(s, 0);
    for (uint32_t i = 0; i < v->live_n; i++)
        g_string_append_printf(s, "%s%s:%u%s", i ? ", " : "", v->live[i].name, v->live[i].holders, fates[v->live[i].fate]);
    return s->str;
}

static void test_live_by_hand(void)
{
    struct told t;
    GString *s = g_string_new(NULL);
    /* v shows t; s overwrites v, whose parent goes too; r - s with the operand on the right */
    tell(&t, "t = a + b; v = view(t, 4); s = v * 2; r = a - s", PSC_GEN_HARDENED, 0);
    g_assert_cmpstr(spell_live(told_at(&t, -1), s), ==, "");
    const struct psc_candela_view *v = told_at(&t, 3);
    while (strcmp(v->name, "v"))
        v = told_at(&t, v->position - 1);
    g_assert_cmpstr(spell_live(v, s), ==, "a:1, b:1, t:2, v:2 new");
    g_assert_cmpstr(handle(v, "t")->bytes, ==, "slot 0");
    g_assert_cmpstr(handle(v, "v")->bytes, ==, "slot 0");
    g_assert_cmpstr(handle(v, "a")->bytes, ==, "the caller's");
    g_assert_cmpstr(handle(v, "t")->values, ==, "11 22 33 44");
    g_assert_cmpstr(handle(v, "t")->shape, ==, "4");
    v = told_at(&t, v->position + 1);
    g_assert_cmpstr(spell_live(v, s), ==, "a:1, b:1, t:0 taken, v:0 overwritten, s:1 new");
    v = told_at(&t, v->position + 1);
    g_assert_cmpstr(spell_live(v, s), ==, "a:1, b:1, s:0 overwritten, r:1 new");
    g_assert_cmpuint(handle(v, "s")->operand, ==, 1);
    g_assert_cmpstr(spell_live(told_at(&t, 99), s), ==, "a:1, b:1, r:1");
    told_forget(&t);
    tell(&t, "t = a + b; k = cache(t); r = k * 2", PSC_GEN_HARDENED, 0); /* the cache holds them, too */
    g_assert_cmpuint(handle(told_at(&t, (int32_t)t.plan->n), "k")->holders, >=, 2);
    told_forget(&t);
    tell(&t, B3_TEXT, PSC_GEN_HARDENED, BIT(B3)); /* what cannot be carried out has no handles any more */
    g_assert_null(told_at(&t, 1)->stopped);
    g_assert_cmpuint(told_at(&t, 1)->live_n, ==, 2);
    g_assert_nonnull(strstr(told_at(&t, 2)->stopped, "it needs c, which is made later"));
    g_assert_cmpuint(told_at(&t, 2)->live_n, ==, 0);
    g_assert_nonnull(told_at(&t, 5)->stopped);
    told_forget(&t);
    tell(&t, "r = a - (b + 0)", PSC_GEN_HARDENED, BIT(B1)); /* a wrong value is told as wrong */
    v = told_at(&t, (int32_t)t.plan->n);
    g_assert_true(v->live[v->live_n - 1].wrong);
    g_assert_false(v->live[0].wrong);
    told_forget(&t);
    g_string_free(s, TRUE);
}

/* The real executor looks on: whoever holds bytes when a step has run is counted. */
struct looking {
    struct told *t;
    uint32_t step;
    uint64_t seen, several;
};

static void count_holders(struct looking *o, const struct psc_candela_view *v, uint32_t id, const struct psc_store *store)
{
    const struct psc_candela_live_view *l = handle(v, o->t->l.nodes[id].name);
    g_assert_nonnull(l);
    g_assert_cmpuint(l->holders, ==, store->refs);
    o->seen++;
    o->several += l->holders > 1;
}

static void after(void *ctx, const struct psc_candela_step *step, const struct psc_handle *inputs, const struct psc_handle *result)
{
    struct looking *o = ctx;
    const struct psc_candela_view *v = told_at(o->t, (int32_t)o->step++);
    count_holders(o, v, step->id, result->store);
    for (uint32_t k = 0; k < step->input_n; k++) {
        const struct psc_candela_live_view *l = handle(v, o->t->l.nodes[step->inputs[k]].name);
        g_assert_nonnull(l);
        if (l->holders) /* else it left its bytes to the result */
            count_holders(o, v, step->inputs[k], inputs[k].store);
        else
            g_assert_true(l->fate == PSC_LIVE_OVERWRITTEN || l->fate == PSC_LIVE_TAKEN);
    }
}

static void test_live_random(void)
{
    struct looking o = {0};
    uint64_t kept = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 300; round++) {
        struct told t = {0};
        uint64_t state = test_seed() * 977 + round;
        struct psc_candela_options options = {.generation = (enum psc_generation)(round % PSC_GEN_N)};
        struct psc_candela_watch watch = {.ctx = &o, .after = after};
        struct psc_handle result;
        struct psc_error error = {0};
        psc_lazy_init(&t.l);
        t.root = lazy_random(&t.l, &state);
        if (psc_candela_plan(&t.arena, &t.l, t.root, &options, &t.plan, &error) || make_tale(&t, &error))
            g_error("%s", error.text);
        o.t = &t;
        o.step = 0;
        for (uint32_t i = 0; i < t.l.n; i++) /* names are told apart by number */
            psc_lazy_rename(&t.l, i, t.kept->lazy.nodes[i].name);
        bool unique = true;
        for (uint32_t i = 0; i < t.l.n && unique; i++)
            for (uint32_t k = 0; k < i; k++)
                unique = unique && strcmp(t.l.nodes[i].name, t.l.nodes[k].name);
        if (unique && !psc_candela_execute(t.plan, &(struct psc_candela_run){.watch = &watch}, &result, NULL, &error)) {
            g_assert_cmpuint(o.step, ==, t.plan->n);
            psc_store_unref(result.store);
            kept++;
        }
        told_forget(&t);
    }
    g_assert_cmpuint(kept, >, 100);
    g_assert_cmpuint(o.seen, >, 2000);
    g_assert_cmpuint(o.several, >, 300);
}

/* Thousands of steps: blocks whose results are all gone are passed over, and nothing is lost by that. */
static void test_live_long(void)
{
    struct told t;
    GString *text = g_string_new("e = [[1, 0], [0, 1]]; keep = matmul(e, e); x0 = matmul(e, e)");
    for (int i = 1; i < 3000; i++)
        g_string_append_printf(text, "; x%d = matmul(x%d, e)", i, i - 1);
    g_string_append(text, "; r = x2999 + keep");
    tell(&t, text->str, PSC_GEN_HARDENED, 0);
    const struct psc_candela_view *v = told_at(&t, (int32_t)t.plan->n - 2);
    g_assert_nonnull(handle(v, "e"));
    g_assert_nonnull(handle(v, "keep"));
    g_assert_cmpuint(v->live_n, <=, 6);
    g_assert_cmpuint(v->live_n, >=, 4);
    g_assert_cmpuint(v->live_most, >=, v->live_n);
    told_forget(&t);
    g_string_free(text, TRUE);
}

/* ---- generations ------------------------------------------------------------------------------------------------------ */

static const struct psc_candela_rival_view *rival(const struct psc_candela_view *v, const char *name)
{
    for (uint32_t i = 0; i < v->rival_n; i++)
        if (!strcmp(v->rivals[i].name, name))
            return &v->rivals[i];
    g_error("no rival %s", name);
}

/* The map the other way round flips this one from right to a refusal, and back. */
static void test_frozen_and_global(void)
{
    struct told t;
    tell(&t, B3_TEXT, PSC_GEN_HARDENED, 0);
    const struct psc_candela_rival_view *r = rival(told_at(&t, 2), "global map");
    g_assert_true(r->wrong);
    g_assert_nonnull(strstr(r->result, "s cannot be carried out: it needs c, which is made later"));
    g_assert_cmpstr(r->words, ==, "hardened b3");
    g_assert_false(r->same);
    g_assert_cmpstr(r->why, ==, "It reads c, where the plan that is shown reads t.");
    r = rival(told_at(&t, 2), "hardened");
    g_assert_true(r->current && r->same && !r->wrong);
    g_assert_cmpstr(r->result, ==, "right");
    told_forget(&t);
    tell(&t, B3_TEXT, PSC_GEN_02, BIT(B3));
    r = rival(told_at(&t, 2), "frozen inputs");
    g_assert_false(r->wrong);
    g_assert_cmpstr(r->words, ==, "0.2");
    g_assert_true(rival(told_at(&t, 2), "0.2")->wrong);
    g_assert_true(rival(told_at(&t, 2), "arena")->wrong); /* with the fault, as it is shown */
    g_assert_cmpstr(rival(told_at(&t, 2), "arena")->words, ==, "arena b3");
    told_forget(&t);
}

static void test_generations(void)
{
    struct told t;
    tell(&t, "t = a + b; r = t * 2", PSC_GEN_HARDENED, 0);
    const struct psc_candela_view *v = told_at(&t, 3);
    g_assert_cmpuint(v->rival_n, ==, 5);
    const struct psc_candela_rival_view *r = rival(v, "0.1");
    g_assert_cmpstr(r->strategy, ==, "allocate");
    g_assert_nonnull(strstr(r->why, "this generation wants its slot to have ended before"));
    g_assert_true(!r->same && r->wastes && !r->wrong);
    g_assert_true(g_str_has_prefix(r->what, "2 allocations, 32 B"));
    g_assert_cmpuint(r->differ_n, ==, 1);
    g_assert_true(rival(v, "0.2")->same);
    g_assert_cmpuint(rival(v, "0.2")->differ_n, ==, 0);
    g_assert_cmpuint(v->differ_n, ==, 1);
    g_assert_cmpint(v->differs[0].position, ==, 3);
    g_assert_cmpstr(v->differs[0].name, ==, "r");
    g_assert_null(rival(told_at(&t, 4), "0.1")->strategy);
    g_assert_null(rival(told_at(&t, -1), "0.1")->strategy);
    told_forget(&t);
    tell(&t, "t = transpose([[1, 2], [3, 4]]); c = cache(t); k = as_contiguous(c); r = k + 1", PSC_GEN_HARDENED, 0);
    unsigned none = 0;
    for (int32_t p = 0; p < (int32_t)t.plan->n; p++) /* what others do not plan at all */
        for (uint32_t i = 0; i < 5; i++)
            none += !strcmp(told_at(&t, p)->rivals[i].strategy, "no step");
    g_assert_cmpuint(none, >, 0);
    told_forget(&t);
}

/* Each rival is what planning with its words gives, step by step. */
static void test_rivals_random(void)
{
    uint64_t same = 0, other = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 200; round++) {
        struct told t = {0};
        uint64_t state = test_seed() * 613 + round;
        struct psc_candela_options options = {.generation = (enum psc_generation)(round % PSC_GEN_N)};
        struct psc_error error = {0};
        psc_lazy_init(&t.l);
        t.root = lazy_random(&t.l, &state);
        if (psc_candela_plan(&t.arena, &t.l, t.root, &options, &t.plan, &error) || make_tale(&t, &error))
            g_error("%s", error.text);
        for (int32_t p = 0; p < (int32_t)t.plan->n; p++) {
            const struct psc_candela_view *v = told_at(&t, p);
            const struct psc_candela_step *shown = &t.plan->steps[p];
            bool listed = false, differs = false;
            for (uint32_t i = 0; i < v->rival_n; i++) {
                const struct psc_candela_rival_view *r = &v->rivals[i];
                struct psc_lazy_script script;
                struct psc_candela_plan *plan;
                bool found = false;
                char *words = g_strdup_printf("only %s", r->words);
                if (psc_lazy_script_read(&script, words, "# lazy level b7 0.1\na", 21, &error) ||
                    psc_candela_plan(&t.arena, &t.l, t.root, &script.options, &plan, &error))
                    g_error("%s: %s", words, error.text);
                g_assert_false(script.levels);
                for (uint32_t k = 0; k < plan->n && !found; k++) {
                    const struct psc_candela_step *step = &plan->steps[k];
                    found = step->id == shown->id;
                    bool alike = step->how == shown->how && step->operand == shown->operand && step->take == shown->take &&
                                 step->parent == shown->parent && step->input_n == shown->input_n &&
                                 !memcmp(step->inputs, shown->inputs, shown->input_n * sizeof *shown->inputs);
                    if (found)
                        g_assert_cmpint(r->same, ==, alike);
                }
                g_assert_cmpint(found, ==, strcmp(r->strategy, "no step") != 0);
                same += r->same;
                other += !r->same;
                differs = differs || !r->same;
                psc_lazy_script_release(&script);
                g_free(words);
            }
            for (uint32_t i = 0; i < v->differ_n; i++)
                listed = listed || v->differs[i].position == p;
            g_assert_cmpint(listed, ==, differs);
        }
        told_forget(&t);
    }
    g_assert_cmpuint(same, >, 500);
    g_assert_cmpuint(other, >, 50);
}

/* What is too large is shown without. */
static void test_large(void)
{
    struct told t;
    GString *text = g_string_new("x0 = a + 1");
    for (unsigned i = 1; i <= 40000; i++)
        g_string_append_printf(text, i % 4 ? "; x%u = noop(x%u)" : "; x%u = x%u * 2", i, i - 1);
    tell(&t, text->str, PSC_GEN_HARDENED, 0);
    const struct psc_candela_view *v = told_at(&t, 5000);
    g_assert_cmpuint(v->rival_n, ==, PSC_RIVAL_N);
    g_assert_cmpuint(v->live_n, >, 0);
    g_assert_nonnull(strstr(v->no_values, "more than 4,096 steps"));
    g_assert_null(v->live[0].values);
    g_assert_cmpuint(rival(v, "0.1")->differ_n, ==, 10000); /* none in place */
    g_assert_cmpstr(rival(v, "0.1")->strategy, !=, v->rivals[3].strategy);
    g_assert_cmpuint(rival(v, "0.2")->differ_n, ==, 0);
    told_forget(&t);
    g_string_free(text, TRUE);
}

struct source { const char *text; };

static enum psc_status everything(void *data)
{
    struct source *s = data;
    struct told t = {0};
    struct psc_candela_view *v;
    struct psc_error error = {0};
    struct psc_lazy_script script;
    struct psc_text words = {0};
    enum psc_status status = psc_lazy_script_read(&script, "only b3", s->text, strlen(s->text), &error);
    t.l = script.lazy;
    t.root = script.root;
    if (!status)
        status = psc_candela_plan(&t.arena, &t.l, t.root, &script.options, &t.plan, &error);
    if (!status)
        status = make_tale(&t, &error);
    for (int32_t p = -1; !status && p <= 5; p++) {
        status = psc_candela_view_at(&t.arena, t.tale, p, &v, &error);
        if (!status)
            psc_explain_candela_view(&words, v);
        status = !status && words.failed ? PSC_ERR_NOMEM : status;
    }
    psc_text_release(&words);
    psc_arena_release(&t.arena);
    psc_lazy_script_release(&script);
    return status;
}

static void test_out_of_memory(void)
{
    g_assert_cmpuint(test_oom_loop(everything, &(struct source){B3_TEXT}), >, 60);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-rivals/live-by-hand", test_live_by_hand);
    g_test_add_func("/candela-rivals/live-is-what-the-executor-holds", test_live_random);
    g_test_add_func("/candela-rivals/live-of-a-long-one", test_live_long);
    g_test_add_func("/candela-rivals/frozen-and-global", test_frozen_and_global);
    g_test_add_func("/candela-rivals/generations", test_generations);
    g_test_add_func("/candela-rivals/each-is-planned-with-its-words", test_rivals_random);
    g_test_add_func("/candela-rivals/large", test_large);
    g_test_add_func("/candela-rivals/out-of-memory", test_out_of_memory);
    return g_test_run();
}
