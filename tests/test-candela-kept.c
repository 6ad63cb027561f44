/* What is kept of a planned expression: the sort's moves, the alias map at each position, every refused predicate. */
#include "core/candela/kept.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

struct kept {
    struct psc_lazy l;
    struct psc_arena arena, own;
    struct psc_candela_plan *plan;
    struct psc_candela_kept *kept;
};

static void keep(struct kept *k, const char *text, const struct psc_candela_options *options)
{
    *k = (struct kept){0};
    k->plan = plan_text(&k->l, &k->arena, text, options);
    g_assert_cmpint(psc_candela_keep(&k->own, &k->l, (uint32_t)k->l.n - 1, k->plan, false, &k->kept, NULL), ==, PSC_OK);
}

static void release(struct kept *k)
{
    psc_arena_release(&k->own);
    psc_arena_release(&k->arena);
    psc_lazy_release(&k->l);
}

/* "n->t anything, ..." */
static char *map_at(struct kept *k, uint32_t position)
{
    GString *s = g_string_new(NULL);
    struct psc_candela_entry *entries;
    uint32_t n;
    g_assert_cmpint(psc_candela_map_at(&k->own, k->kept->plan, position, &entries, &n, NULL), ==, PSC_OK);
    for (uint32_t i = 0; i < n; i++)
        g_string_append_printf(s, "%s%s->%s %s", i ? ", " : "", k->kept->lazy.nodes[entries[i].node].name,
                               k->kept->lazy.nodes[entries[i].owner].name, psc_tag_name(entries[i].tag));
    return g_string_free(s, FALSE);
}

static void is_map(struct kept *k, uint32_t position, const char *want)
{
    char *got = map_at(k, position);
    g_assert_cmpstr(got, ==, want);
    g_free(got);
}

static void test_map(void)
{
    struct kept k;
    keep(&k, "e=[[1,2],[3,4]]; t=transpose(e); n=noop(t); k=as_contiguous(n); r=sum(k)", &(struct psc_candela_options){0});
    g_assert_cmpuint(k.kept->plan->n, ==, 4); /* e t k r */
    is_map(&k, 0, "");
    is_map(&k, 1, "");
    is_map(&k, 2, "n->t anything"); /* as k is decided: its own claim is not registered yet */
    is_map(&k, 3, "t->k packed, n->k packed");
    is_map(&k, 4, "t->k packed, n->k packed");
    release(&k);
    keep(&k, "e=[[1,2],[3,4]]; t=transpose(e); n=noop(t); k=as_contiguous(n); r=sum(k)", &(struct psc_candela_options){.faults = BIT(B14)});
    is_map(&k, 3, "t->k packed, n->t anything"); /* two hops */
    release(&k);
}

/* Pushes, enters and leaves, replayed: the stack is never short, ends empty, and what is left is the order. */
static void test_moves(void)
{
    struct kept k;
    GString *order = g_string_new(NULL);
    uint32_t stack[32], n = 0, again = 0;
    keep(&k, "x=a+b; y=b+c; z=x+y; r=sum(z)", &(struct psc_candela_options){0});
    for (uint32_t i = 0; i < k.kept->move_n; i++) {
        const struct psc_lazy_move *m = &k.kept->moves[i];
        if (m->kind == PSC_LAZY_PUSH) {
            stack[n++] = m->id;
            continue;
        }
        g_assert_cmpuint(n, >, 0);
        g_assert_cmpuint(stack[n - 1], ==, m->id);
        if (m->kind == PSC_LAZY_ENTER)
            continue; /* popped and pushed again, to be left */
        n--;
        again += m->kind == PSC_LAZY_AGAIN;
        if (m->kind == PSC_LAZY_LEAVE)
            g_string_append_printf(order, "%s ", k.kept->lazy.nodes[m->id].name);
    }
    g_assert_cmpuint(n, ==, 0);
    g_assert_cmpuint(again, ==, 1); /* b, by y */
    g_assert_cmpstr(order->str, ==, "a b x c y z ");
    g_string_free(order, TRUE);
    release(&k);
}

static bool denied(const struct psc_candela_plan *plan, const char *name, enum psc_how how, enum psc_denied why, uint32_t operand)
{
    for (uint32_t p = 0; p < plan->n; p++)
        for (uint32_t i = 0; !strcmp(plan->steps[p].name, name) && i < plan->steps[p].denied_n; i++) {
            const struct psc_denial *d = &plan->steps[p].denied[i];
            if (d->how == how && d->why == why && d->operand == operand)
                return true;
        }
    return false;
}

static void test_predicates(void)
{
    struct kept k;
    /* over w = the transposed half of t: strided, of another length than t's slot, and t is read again */
    keep(&k, "t=matmul(ones(4,2),ones(2,2)); w=transpose(slice(t,0,2)); u=w+1; r=sum(t)+sum(u)", &(struct psc_candela_options){0});
    g_assert_true(denied(k.kept->plan, "u", PSC_HOW_IN_PLACE, PSC_DENIED_STRIDED, 0));
    g_assert_true(denied(k.kept->plan, "u", PSC_HOW_IN_PLACE, PSC_DENIED_LENGTH, 0));
    g_assert_true(denied(k.kept->plan, "u", PSC_HOW_IN_PLACE, PSC_DENIED_READ_LATER, 0));
    g_assert_true(denied(k.kept->plan, "u", PSC_HOW_USE_SLOT, PSC_DENIED_NONE_IDLE, 0));
    g_assert_true(denied(k.kept->plan, "t", PSC_HOW_IN_PLACE, PSC_DENIED_OP, 0));
    release(&k);
    keep(&k, "t=a+b; r=t-view(t,4)", &(struct psc_candela_options){0});
    g_assert_true(denied(k.kept->plan, "t", PSC_HOW_IN_PLACE, PSC_DENIED_NO_SLOT, 0));
    g_assert_true(denied(k.kept->plan, "t", PSC_HOW_IN_PLACE, PSC_DENIED_NO_SLOT, 1));
    g_assert_true(denied(k.kept->plan, "r", PSC_HOW_IN_PLACE, PSC_DENIED_SAME_SLOT, 0));
    g_assert_true(denied(k.kept->plan, "r", PSC_HOW_IN_PLACE, PSC_DENIED_SAME_SLOT, 1));
    release(&k);
}

/* The copy stands when the expression and its plan are gone. */
static void test_stands_alone(void)
{
    struct kept k;
    GString *s = g_string_new(NULL);
    keep(&k, "t=a+b; u=t*2; r=u-t", &(struct psc_candela_options){0});
    psc_arena_release(&k.arena);
    psc_lazy_release(&k.l);
    for (uint32_t p = 0; p < k.kept->plan->n; p++) {
        const struct psc_candela_step *step = &k.kept->plan->steps[p];
        g_string_append_printf(s, "%s(%u,%u) ", step->name, step->input_n, step->dealloc_n);
        g_assert_null(step->data);
        g_assert_true(!step->scalar_n || step->scalars == k.kept->lazy.nodes[step->id].scalars);
    }
    g_assert_cmpstr(s->str, ==, "a(0,0) b(0,0) t(2,0) u(1,0) r(2,1) ");
    g_string_free(s, TRUE);
    psc_arena_release(&k.own);
}

static enum psc_status keep_it(void *data)
{
    struct kept *k = data;
    struct psc_arena arena = {0};
    struct psc_candela_kept *kept;
    struct psc_candela_entry *entries;
    uint32_t n;
    enum psc_status status = psc_candela_keep(&arena, &k->l, (uint32_t)k->l.n - 1, k->plan, true, &kept, NULL);
    if (!status)
        status = psc_candela_map_at(&arena, kept->plan, kept->plan->n, &entries, &n, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct kept k;
    keep(&k, "e=[[1,2],[3,4]]; t=transpose(e); n=noop(t); k=as_contiguous(n); r=sum(k)*2+e", &(struct psc_candela_options){0});
    g_assert_cmpuint(test_oom_loop(keep_it, &k), >, 3);
    release(&k);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-kept/the-map-at-each-position", test_map);
    g_test_add_func("/candela-kept/moves-replay-to-the-order", test_moves);
    g_test_add_func("/candela-kept/every-predicate-that-fails-is-told", test_predicates);
    g_test_add_func("/candela-kept/stands-alone", test_stands_alone);
    g_test_add_func("/candela-kept/oom", test_oom);
    return g_test_run();
}
