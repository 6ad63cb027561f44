/* What candela's planner had in hand at a position: the sort's stack, the alias map, the decision, the slots. */
#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/candela/alias.h"
#include "core/candela/parse.h"
#include "tests/lazy-told.h"
#include "tests/util.h"

#include <string.h>

static void keep(struct told *t, uint32_t root)
{
    struct psc_error error = {0};
    if (psc_candela_keep(&t->arena, &t->l, root, t->plan, false, &t->kept, &error) ||
        psc_candela_tale_new(&t->arena, t->kept, &t->tale, &error))
        g_error("%s", error.text);
}

static void tell(struct told *t, const char *text, enum psc_generation generation, uint64_t faults)
{
    struct psc_candela_options options = {.generation = generation, .faults = faults, .align = 1};
    memset(t, 0, sizeof *t);
    t->plan = plan_text(&t->l, &t->arena, text, &options);
    keep(t, (uint32_t)t->l.n - 1);
}

/* "x y [z] | stack | k->t.. | no in place over a; allocate | 0:sum held" */
static char *spell_view(const struct psc_candela_view *v)
{
    static const char *const uses[] = {"later", "held", "idle", "gone"};
    GString *s = g_string_new(NULL);
    for (uint32_t i = 0; i < v->order_at; i++)
        g_string_append_printf(s, i ? " %s" : "%s", v->order[i].name);
    g_string_append(s, " |");
    for (uint32_t i = 0; i < v->stack_n; i++)
        g_string_append_printf(s, " %s%s", v->stack[i].name, v->stack[i].leaving ? "!" : v->stack[i].entered ? "" : "?");
    g_string_append(s, " |");
    for (uint32_t i = 0; i < v->arrow_n; i++)
        g_string_append_printf(s, " %s->%s%s%s%s", v->arrows[i].node, v->arrows[i].owner, v->arrows[i].before ? " from " : "",
                               v->arrows[i].before ? v->arrows[i].before : "", v->arrows[i].was_itself ? " itself" : "");
    g_string_append(s, " |");
    for (uint32_t i = 0; i < v->try_n; i++)
        g_string_append_printf(s, " %s%s;", v->tries[i].taken ? "" : "not ", v->tries[i].strategy);
    g_string_append(s, " |");
    for (uint32_t i = 0; i < v->slot_n; i++)
        g_string_append_printf(s, " %u:%s %s", v->slots[i].slot, v->slots[i].owner, uses[v->slots[i].use]);
    return g_string_free(s, FALSE);
}

static void expect(struct told *t, int32_t position, const char *text)
{
    char *got = spell_view(told_at(t, position));
    g_assert_cmpstr(got, ==, text);
    g_free(got);
}

/* ---- worked examples ---------------------------------------------------------------------------------------------- */

static void test_chain(void)
{
    struct told t;
    tell(&t, "sum = a + b; x2 = sum * 2", PSC_GEN_HARDENED, 0);
    expect(&t, -1, " | sum? x2 | | |");
    expect(&t, 0, "a | a! b? sum x2 | | take it as it is; |");
    expect(&t, 1, "a b | b! sum x2 | | take it as it is; |");
    expect(&t, 2, "a b sum | sum! x2 | | not in place over a; not in place over b; not take an idle slot; allocate; | 0:sum held");
    expect(&t, 3, "a b sum x2 | x2! | | in place over sum; | 0:x2 held");
    expect(&t, 4, "a b sum x2 | | | | 0:x2 held");
    g_assert_cmpstr(told_at(&t, 2)->title, ==, "sum = a + b");
    g_assert_cmpstr(told_at(&t, 2)->tries[0].why, ==, "a lies in no slot: the caller or a cache owns its bytes.");
    g_assert_cmpstr(told_at(&t, 2)->tries[3].why, ==, "Nothing better was left: new slot 0 of 4 elements. It is needed until position 3 (x2).");
    g_assert_cmpstr(told_at(&t, 3)->words, ==, "x2 = sum * 2: computed in place, over an operand that nobody needs any more.");
    g_assert_cmpuint(told_at(&t, 0)->stack_most, ==, 4);
    g_assert_cmpint(told_at(&t, 99)->position, ==, 4);
    g_assert_cmpint(told_at(&t, -99)->position, ==, -1);
    told_forget(&t);
}

/* At k the arrow of n swings from t to k, and t gets one. */
static void test_takeover(void)
{
    struct told t;
    tell(&t, "t = transpose([[1, 2], [3, 4]]); n = noop(t); k = as_contiguous(n); r = k + n", PSC_GEN_HARDENED, 0);
    /* the root's inputs are visited last-first: n before k */
    expect(&t, 1, "edge0 t | t! n k? r | | show the bytes of edge0; |");
    expect(&t, 2, "edge0 t n k | k! r | n->k from t t->k itself | not show the bytes of t; not take an idle slot; allocate; | 0:k held");
    expect(&t, 3, "edge0 t n k r | r! | n->k t->k | not in place over k, on the left; not in place over k, on the right; not take an idle slot; allocate; | 0:k held 1:r held");
    told_forget(&t);
}

/* u was planned with t; what comes after k reads k. One entry swings, the other one is new. */
static void test_swing(void)
{
    struct told t;
    tell(&t, "t = transpose([[1, 2], [3, 4]]); n = noop(t); k = as_contiguous(n); u = n + 1; r = u + k", PSC_GEN_HARDENED, 0);
    expect(&t, 1, "edge0 t | t! n k u? r | | show the bytes of edge0; |");
    expect(&t, 2, "edge0 t n k | k! u? r | n->k from t t->k itself | not show the bytes of t; not take an idle slot; allocate; | 0:k held");
    g_assert_cmpstr(told_at(&t, 2)->arrows[0].promise, ==, "packed");
    g_assert_true(g_str_has_suffix(told_at(&t, 2)->words, "n gets no step of its own: t stands for it (same values). From here on k "
                                   "stands for t (packed): who asks for t gets k."));
    g_assert_true(told_at(&t, 2)->arrows[0].fresh);
    g_assert_false(told_at(&t, 3)->arrows[0].fresh);
    g_assert_nonnull(strstr(told_at(&t, 3)->words, "It reads k where n is written"));
    told_forget(&t);
}

/* The unused slot waits between its owners and is gone after the last one. */
static void test_slots(void)
{
    struct told t;
    tell(&t, "e = [[1, 1], [0, 1]]; p = matmul(e, e); q = matmul(p, e); r = matmul(q, e); s = matmul(r, e)", PSC_GEN_HARDENED, 0);
    expect(&t, 2, "e p q | q! e? r s | | not in place; not take an idle slot; allocate; | 0:p held 1:q held");
    expect(&t, 3, "e p q r | r! s | | not in place; take an idle slot; | 0:r held 1:q held");
    expect(&t, 4, "e p q r s | s! | | not in place; take an idle slot; | 0:r held 1:s held");
    expect(&t, 5, "e p q r s | | | | 0:r gone 1:s held");
    g_assert_cmpstr(told_at(&t, 3)->tries[1].why, ==, "Slot 0 of 4 elements is idle, p was read for the last time: the first such "
                    "slot is taken. It is needed until position 4 (s).");
    told_forget(&t);
}

/* Every refusal of an operand is told, in one line. */
static void test_refusals(void)
{
    static const struct { const char *text; enum psc_generation generation; const char *step, *strategy, *why; } rows[] = {
        {"t = a + b; r = t + t", PSC_GEN_HARDENED, "r", "in place over t", "The other operand lies in the same slot 0 as t"},
        {"t = a + b; r = t + t", PSC_GEN_02, "r", "in place over t", "Both operands are t"},
        {"t = a + b; r = t * 2", PSC_GEN_01, "r", "in place over t", "this generation wants its slot to have ended before"},
        {"t = a + b; u = t * 2; r = u - t", PSC_GEN_HARDENED, "u", "in place over t", "but it is needed until position 4 (r)"},
        {"s = ones(2, 3) + ones(2, 3); r = transpose(s) + 1", PSC_GEN_HARDENED, "r", "in place over transpose", "is not packed"},
        {"t = a + b; k = cache(t); r = k + 1", PSC_GEN_HARDENED, "r", "in place over k", "lies in no slot"},
        {"t = a + b; r = t * broadcast(sum(t), 4)", PSC_GEN_HARDENED, "sum", "in place", "sum reads its operands to the end"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct told t;
        unsigned found = 0;
        tell(&t, rows[i].text, rows[i].generation, 0);
        for (int32_t p = 0; p < (int32_t)t.plan->n; p++) {
            const struct psc_candela_view *v = told_at(&t, p);
            for (uint32_t k = 0; k < v->try_n; k++)
                found += g_str_has_prefix(v->name, rows[i].step) && !v->tries[k].taken &&
                         g_str_has_prefix(v->tries[k].strategy, rows[i].strategy) && strstr(v->tries[k].why, rows[i].why);
            g_assert_true(v->tries[v->try_n - 1].taken);
        }
        if (!found)
            g_error("%s: no refusal with '%s'", rows[i].text, rows[i].why);
        told_forget(&t);
    }
}

/* Two hops are told where a rule is broken, and nowhere else. */
static void test_two_hops(void)
{
    struct told t;
    tell(&t, "x = [1, 2]; c = cache(x); d = cache(x); k = as_contiguous(d); r = (k + 1) + (c * 1)", PSC_GEN_HARDENED, BIT(CL1));
    const struct psc_candela_view *v = told_at(&t, 99);
    unsigned broken = 0;
    for (uint32_t i = 0; i < v->arrow_n; i++)
        broken += v->arrows[i].two_hops;
    g_assert_cmpuint(broken, >, 0);
    told_forget(&t);
}

/* ---- random expressions against the planner's own parts ------------------------------------------------------------ */

static uint32_t random_lazy(struct psc_lazy *l, uint64_t *state)
{
    float data[4] = {1, 2, 3, 4};
    psc_lazy_edge(l, NULL, 2, (uint64_t[]){2, 2}, data);
    psc_lazy_edge(l, NULL, 2, (uint64_t[]){2, 2}, data);
    uint32_t steps = 2 + (uint32_t)(psc_random_next(state) % 40);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t x = (uint32_t)(psc_random_next(state) % l->n), y = (uint32_t)(psc_random_next(state) % l->n);
        switch (psc_random_next(state) % 7) {
        case 0: psc_lazy_scalar(l, NULL, x, '+', 1); break;
        case 1: psc_lazy_binary(l, NULL, PSC_LAZY_SUB, x, y); break;
        case 2: psc_lazy_unary(l, NULL, PSC_LAZY_TRANSPOSE, x, NULL); break;
        case 3: psc_lazy_unary(l, NULL, PSC_LAZY_NOOP, x, NULL); break;
        case 4: psc_lazy_unary(l, NULL, PSC_LAZY_AS_CONTIGUOUS, x, NULL); break;
        case 5: psc_lazy_cache(l, NULL, x); break;
        default: psc_lazy_matmul(l, NULL, x, y); break;
        }
    }
    return (uint32_t)l->n - 1;
}

/* The map by the planner's own functions, a claim of the position's own included. */
static void check_map(struct told *t, const struct psc_candela_view *v, const uint32_t *yield, uint32_t yielded)
{
    struct psc_alias map;
    struct psc_arena scratch = {0};
    uint32_t n = 0;
    g_assert_true(psc_alias_init(&map, &scratch, t->plan->id_n));
    for (uint32_t k = 0; k < t->plan->alias_n; k++) {
        const struct psc_alias_event *e = &t->plan->aliases[k];
        if (yield[e->node] >= yielded)
            continue;
        if (e->takeover)
            psc_alias_take_over(&map, e->target, e->node, e->tag, true);
        else
            psc_alias_insert(&map, e->node, e->target, e->tag);
    }
    for (uint32_t id = 0; id < t->plan->id_n; id++) {
        enum psc_tag tag;
        uint32_t owner = psc_alias_get(&map, id, &tag), seen = 0;
        if (owner == PSC_NONE)
            continue;
        for (uint32_t i = 0; i < v->arrow_n; i++)
            if (!strcmp(v->arrows[i].node, t->l.nodes[id].name)) {
                g_assert_cmpstr(v->arrows[i].owner, ==, t->l.nodes[owner].name);
                g_assert_cmpuint(v->arrows[i].tag, ==, tag);
                seen++;
            }
        g_assert_cmpuint(seen, ==, 1);
        n++;
    }
    g_assert_cmpuint(v->arrow_all, ==, n);
    psc_arena_release(&scratch);
}

/* From the top: what is entered is an operand of the next that is entered, the root last. */
static void check_stack(struct told *t, const struct psc_candela_view *v, uint32_t root)
{
    uint32_t inner = PSC_NONE;
    g_assert_cmpuint(v->stack_n, ==, v->stack_all);
    g_assert_cmpuint(v->stack_n, <=, v->stack_most);
    for (uint32_t i = 0; i < v->stack_n; i++) {
        uint32_t id = 0, is_operand = inner == PSC_NONE;
        if (!v->stack[i].entered)
            continue;
        while (strcmp(t->l.nodes[id].name, v->stack[i].name))
            id++;
        for (uint32_t k = 0; inner != PSC_NONE && k < t->l.nodes[id].input_n; k++)
            is_operand |= t->l.nodes[id].inputs[k] == inner;
        g_assert_true(is_operand);
        inner = id;
    }
    g_assert_cmpuint(inner, ==, root);
}

/* The steps of the level, by a plain walk; next and before go round them. */
static void check_level(struct told *t, const struct psc_candela_view *v)
{
    const struct psc_candela_step *steps = t->plan->steps;
    uint32_t n = 0;
    int32_t next = v->position, before = v->position;
    for (uint32_t p = 0; p < t->plan->n; p++) {
        if (steps[p].level != steps[v->position].level)
            continue;
        g_assert_cmpint(v->beside[n].position, ==, (int32_t)p);
        g_assert_cmpstr(v->beside[n].name, ==, t->l.nodes[steps[p].id].name);
        n++;
    }
    g_assert_cmpuint(v->level, ==, steps[v->position].level);
    g_assert_cmpuint(v->beside_n, ==, n);
    g_assert_cmpuint(v->beside_all, ==, n);
    g_assert_cmpint(v->beside[v->beside_at].position, ==, v->position);
    for (uint32_t i = 0; i < n; i++) {
        next = told_at(t, next)->beside_next;
        before = told_at(t, before)->beside_before;
        g_assert_true(i + 1 == n || (next != v->position && before != v->position));
    }
    g_assert_cmpint(next, ==, v->position);
    g_assert_cmpint(before, ==, v->position);
}

static void check_position(struct told *t, int32_t position, uint32_t root, const uint32_t *order, uint32_t n)
{
    const struct psc_candela_view *v = told_at(t, position), *again = told_at(t, position);
    uint32_t yield[64];
    char *a = spell_view(v), *b = spell_view(again);
    g_assert_cmpstr(a, ==, b);
    for (uint32_t i = 0; i < t->l.n; i++)
        yield[i] = PSC_NONE;
    for (uint32_t i = 0; i < n; i++)
        yield[order[i]] = i;
    yield[root] = n;
    g_assert_cmpuint(v->order_n, ==, n + 1);
    for (uint32_t i = 0; i <= n; i++)
        g_assert_cmpstr(v->order[i].name, ==, t->l.nodes[i < n ? order[i] : root].name);
    if (position >= 0 && position < (int32_t)t->plan->n) {
        g_assert_cmpuint(v->order_at, ==, yield[t->plan->steps[position].id] + 1);
        check_stack(t, v, root);
        g_assert_true(v->stack[0].leaving);
        check_level(t, v);
    } else {
        g_assert_cmpuint(v->beside_n, ==, 0);
        g_assert_nonnull(strstr(v->waits, "may run beside each other"));
    }
    check_map(t, v, yield, v->order_at);
    for (uint32_t i = 0; i < v->slot_n; i++) { /* by a plain walk */
        const char *owner = NULL;
        for (int32_t p = 0; p <= position && p < (int32_t)t->plan->n; p++) {
            const struct psc_candela_step *s = &t->plan->steps[p];
            if (s->slot == v->slots[i].slot && s->how != PSC_HOW_REFERENCE_SLOT)
                owner = t->l.nodes[s->id].name;
        }
        g_assert_cmpstr(v->slots[i].owner, ==, owner);
        g_assert_cmpint(v->slots[i].touched, ==, position >= 0 && position < (int32_t)t->plan->n &&
                        t->plan->steps[position].slot == v->slots[i].slot);
    }
    g_free(a);
    g_free(b);
}

static void test_random(void)
{
    uint64_t positions = 0, aliases = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 400; round++) {
        struct told t = {0};
        struct psc_error error = {0};
        uint64_t state = test_seed() * 7919 + round;
        uint32_t *order, n;
        psc_lazy_init(&t.l);
        uint32_t root = random_lazy(&t.l, &state);
        struct psc_candela_options options = {.generation = round % 2 ? PSC_GEN_HARDENED : PSC_GEN_ARENA};
        if (psc_candela_plan(&t.arena, &t.l, root, &options, &t.plan, &error) ||
            psc_lazy_sort(&t.arena, &t.l, root, &order, &n, &error))
            g_error("round %" G_GUINT64_FORMAT ": %s", round, error.text);
        keep(&t, root);
        for (int32_t p = (int32_t)t.plan->n; p >= -1; p--, positions++)
            check_position(&t, p, root, order, n);
        aliases += t.plan->alias_n;
        told_forget(&t);
    }
    g_assert_cmpuint(positions, >, 2000);
    g_assert_cmpuint(aliases, >, 300);
}

/* Long ones: the lists are cut, and say so. */
static void test_long(void)
{
    struct told t = {0};
    struct psc_error error = {0};
    float data[4] = {1, 2, 3, 4};
    psc_lazy_init(&t.l);
    t.l.fuse = false;
    uint32_t x = psc_lazy_edge(&t.l, "e", 2, (uint64_t[]){2, 2}, data);
    for (int i = 0; i < 3000; i++)
        x = i % 3 ? psc_lazy_unary(&t.l, NULL, PSC_LAZY_NOOP, x, NULL) : psc_lazy_matmul(&t.l, NULL, x, x);
    if (psc_candela_plan(&t.arena, &t.l, x, &(struct psc_candela_options){0}, &t.plan, &error))
        g_error("%s", error.text);
    keep(&t, x);
    const struct psc_candela_view *v = told_at(&t, 500);
    g_assert_cmpuint(v->order_n, ==, PSC_CANDELA_VIEW_MAX);
    g_assert_cmpuint(v->order_before + v->order_n + v->order_after, ==, 3001);
    g_assert_cmpstr(v->order[v->order_at - 1].name, ==, v->name);
    g_assert_cmpuint(v->stack_n, ==, PSC_CANDELA_VIEW_MAX);
    g_assert_cmpuint(v->stack_all, >, 1000);
    g_assert_cmpuint(v->arrow_n, ==, PSC_CANDELA_VIEW_MAX);
    g_assert_cmpuint(v->arrow_all, >, 900);
    told_forget(&t);
}

static enum psc_status everything(void *data G_GNUC_UNUSED)
{
    static const char text[] = "t = transpose([[1, 2], [3, 4]]); n = noop(t); k = as_contiguous(n); u = n + 1; r = u + k";
    struct told t = {0};
    struct psc_error error = {0};
    uint32_t root;
    struct psc_candela_view *v;
    psc_lazy_init(&t.l);
    enum psc_status status = psc_lazy_parse(&t.l, text, sizeof text - 1, &root, &error);
    if (!status)
        status = psc_candela_plan(&t.arena, &t.l, root, &(struct psc_candela_options){0}, &t.plan, &error);
    if (!status)
        status = psc_candela_keep(&t.arena, &t.l, root, t.plan, false, &t.kept, &error);
    if (!status)
        status = psc_candela_tale_new(&t.arena, t.kept, &t.tale, &error);
    for (int32_t p = -1; !status && p <= (int32_t)t.plan->n; p++)
        status = psc_candela_view_at(&t.arena, t.tale, p, &v, &error);
    told_forget(&t);
    return status;
}

static void test_out_of_memory(void)
{
    g_assert_cmpuint(test_oom_loop(everything, NULL), >, 5);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-view/examples/chain", test_chain);
    g_test_add_func("/candela-view/examples/takeover", test_takeover);
    g_test_add_func("/candela-view/examples/swing", test_swing);
    g_test_add_func("/candela-view/examples/slots", test_slots);
    g_test_add_func("/candela-view/examples/refusals", test_refusals);
    g_test_add_func("/candela-view/examples/two-hops", test_two_hops);
    g_test_add_func("/candela-view/random", test_random);
    g_test_add_func("/candela-view/long", test_long);
    g_test_add_func("/candela-view/out-of-memory", test_out_of_memory);
    return g_test_run();
}
