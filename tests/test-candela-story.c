/* Lazy plans as stories: the checker finds what a fault breaks, and nothing when none does. */
#include "core/base/hash.h"
#include "core/candela/story.h"
#include "core/debug/check.h"
#include "core/debug/history.h"
#include "tests/lazy-run.h"
#include "tests/util.h"

#include <string.h>

#define POWER "e=[[1,1],[0,1]]; p=matmul(e,e); q=matmul(p,e); r=matmul(q,e); s=matmul(r,e)"
#define PACKER "t=transpose([[1,2],[3,4]]); c=as_contiguous(t); s=t+1; r=c+s"

struct row {
    const char *path, *text;
    uint64_t faults;
    enum psc_generation generation;
    bool levels;
    enum psc_kind kind;             /* of the first finding; 0: none */
    const char *victim, *reader;    /* reader: a step, "export" or "host" */
};
static const struct row rows[] = {
    {"a-chain", "(a + b) * 2", 0, PSC_GEN_HARDENED, false, 0, NULL, NULL},
    {"a-power", POWER, 0, PSC_GEN_HARDENED, false, 0, NULL, NULL},
    {"a-power-in-an-arena", POWER, 0, PSC_GEN_ARENA, false, 0, NULL, NULL},
    {"a-power-by-levels", POWER, 0, PSC_GEN_HARDENED, true, 0, NULL, NULL},
    {"a-power-in-an-arena-by-levels", POWER, 0, PSC_GEN_ARENA, true, 0, NULL, NULL},
    {"a-packer", PACKER, 0, PSC_GEN_HARDENED, false, 0, NULL, NULL},
    {"a-cache", "cache(arange(4)+1)+0", 0, PSC_GEN_HARDENED, false, 0, NULL, NULL},
    {"b1", "a-(b+0)", BIT(B1), PSC_GEN_HARDENED, false, PSC_K1, "scalar2", "sub3"},
    {"b3", PACKER, BIT(B3), PSC_GEN_HARDENED, false, PSC_K2, "c", "s"},
    {"b4", "n=noop(e); v=view(n,2,2); v*3", BIT(B4), PSC_GEN_HARDENED, false, PSC_K2, "n, which no step makes", "v"},
    {"b5", "x=arange(4)+1; c=cache(x); r=c+0", BIT(B5), PSC_GEN_HARDENED, false, PSC_K5, "x", "r"},
    {"b9", "slice(arange(5),2,4)+1", BIT(B9), PSC_GEN_HARDENED, false, PSC_K3, "edge0", "scalar2"},
    {"b11", "t=a+b; u=t*2; r=u-t", BIT(B11), PSC_GEN_HARDENED, false, PSC_K5, "t", "r"},
    {"b12", POWER, BIT(B12), PSC_GEN_HARDENED, false, PSC_K5, "p", "q"},
    {"b13", "k=as_contiguous(transpose([[1,2],[3,4]])); r=k+0", BIT(B13), PSC_GEN_HARDENED, false, PSC_K2, NULL, "k"},
    {"b15", "t=a+b; v=view(t,2,2); u=v+1; w=u*3; r=matmul(w,v)", BIT(B15), PSC_GEN_HARDENED, false, PSC_K5, "t", "w"},
    {"b16", "t=a+b; r=slice(t,0,2)", BIT(B16), PSC_GEN_HARDENED, false, PSC_K4, "t", "export"},
    {"b18", "t=a+b; u=t*2; r=u-t", BIT(B18), PSC_GEN_HARDENED, false, PSC_K1, "t", "r"},
    {"b20", POWER, BIT(B20), PSC_GEN_ARENA, false, PSC_K5, "p", "q"},
    {"cl1", "x=transpose([[1,2],[3,4]]); d=cache(x); e=cache(x); k=as_contiguous(e); s=k+1; r=s+(d*1)", BIT(CL1), PSC_GEN_HARDENED,
     false, PSC_K2, "e, which no step makes", "s"},
};

struct checked {
    struct psc_lazy l;
    struct psc_arena arena;
    struct psc_candela_plan *plan;
    struct psc_story *story;
    struct psc_check check;
};

static void check_plan(struct checked *c, bool levels)
{
    struct psc_error error = {0};
    struct psc_history *history;
    if (psc_candela_lower(&c->arena, c->plan, levels, &c->story, &error) || psc_story_check(c->story, &error) ||
        psc_check_story(&c->arena, NULL, c->story, &c->check, &error) ||
        psc_history_build(&c->arena, c->story, &history, &error))
        g_error("%s", error.text);
}

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct checked c = {0};
    struct psc_candela_options options = {.generation = row->generation, .faults = row->faults, .align = 1};
    c.plan = plan_text(&c.l, &c.arena, row->text, &options);
    check_plan(&c, row->levels);
    if (!row->kind) {
        g_assert_cmpuint(c.check.finding_n, ==, 0);
        g_assert_cmpuint(c.check.read_n, >, 0);
    } else {
        g_assert_cmpuint(c.check.finding_n, >, 0);
        const struct psc_finding *f = &c.check.findings[0];
        const char *reader = f->reader_kind == PSC_READER_NODE ? c.plan->steps[f->reader].name : psc_reader_name(f->reader_kind);
        g_assert_cmpstr(psc_kind_name(f->kind), ==, psc_kind_name(row->kind));
        if (row->victim)
            g_assert_cmpstr(c.story->values[f->victim_value].name, ==, row->victim);
        g_assert_cmpstr(reader, ==, row->reader);
    }
    psc_arena_release(&c.arena);
    psc_lazy_release(&c.l);
}

/* Without the anti-dependencies of a plan its levels would let a step write what another still reads. */
static void test_anti_dependencies(void)
{
    struct checked c = {0};
    const char *text = "e=ones(2,2); p=matmul(e,e); x=matmul(p,e); q=matmul(e,e); y=sum(q); r=sum(x)*y";
    c.plan = plan_text(&c.l, &c.arena, text, &(struct psc_candela_options){0});
    check_plan(&c, true);
    g_assert_cmpuint(c.check.finding_n, ==, 0);
    struct psc_candela_step *steps = psc_arena_alloc(&c.arena, c.plan->n, sizeof *steps);
    unsigned anti = 0;
    for (uint32_t p = 0; p < c.plan->n; p++) {
        steps[p] = c.plan->steps[p];
        anti += steps[p].after_n;
        steps[p].level = steps[p].how != PSC_HOW_LEAF;
        for (uint32_t k = 0; k < steps[p].needs_n; k++)
            if (steps[steps[p].needs[k]].level + 1 > steps[p].level)
                steps[p].level = steps[steps[p].needs[k]].level + 1;
    }
    g_assert_cmpuint(anti, >, 0);
    c.plan->steps = steps;
    check_plan(&c, true);
    g_assert_cmpuint(c.check.finding_n, >, 0);
    psc_arena_release(&c.arena);
    psc_lazy_release(&c.l);
}

static void grow(struct psc_lazy *l, uint64_t *state)
{
    float data[4] = {1, 2, 3, 4};
    psc_lazy_edge(l, NULL, 2, (uint64_t[]){2, 2}, data);
    for (uint32_t i = 0, n = 2 + (uint32_t)(psc_random_next(state) % 30); i < n; i++) {
        uint32_t m = (uint32_t)l->n, from = m > 5 ? m - 5 : 0, x = from + (uint32_t)(psc_random_next(state) % (m - from));
        uint32_t y = (uint32_t)(psc_random_next(state) % m);
        switch (psc_random_next(state) % 7) {
        case 0: psc_lazy_scalar(l, NULL, x, '+', 1); break;
        case 1: psc_lazy_binary(l, NULL, PSC_LAZY_SUB, x, y); break;
        case 2: psc_lazy_unary(l, NULL, PSC_LAZY_TRANSPOSE, x, NULL); break;
        case 3: psc_lazy_unary(l, NULL, PSC_LAZY_AS_CONTIGUOUS, x, NULL); break;
        case 4: psc_lazy_cache(l, NULL, x); break;
        case 5: psc_lazy_unary(l, NULL, PSC_LAZY_NOOP, x, NULL); break;
        default: psc_lazy_matmul(l, NULL, x, y);
        }
    }
}

/* Plans without a fault are clean, in order and by levels. */
static void check_random(uint64_t state, unsigned *checked, unsigned *in_place)
{
    static const enum psc_generation generations[] = {PSC_GEN_HARDENED, PSC_GEN_ARENA};
    struct checked c = {0};
    uint64_t began = state;
    psc_lazy_init(&c.l);
    c.l.fuse = false;
    grow(&c.l, &state);
    for (int k = 0; k < 4; k++) {
        struct psc_candela_options options = {.generation = generations[k / 2], .align = 1};
        /* cl1 and cl4 are alive in the arena generation: a plan that cannot be carried out is not looked at */
        struct psc_handle result;
        g_assert_cmpint(psc_candela_plan(&c.arena, &c.l, (uint32_t)c.l.n - 1, &options, &c.plan, NULL), ==, PSC_OK);
        if (psc_candela_execute(c.plan, &(struct psc_candela_run){.dry = true}, &result, NULL, NULL)) {
            g_assert_cmpint(k, >=, 2);
            continue;
        }
        psc_store_unref(result.store);
        check_plan(&c, k % 2);
        if (c.check.finding_n)
            g_error("state %" G_GUINT64_FORMAT ", %s, %s: %u findings", began, psc_generation_name(options.generation),
                    k % 2 ? "by levels" : "in order", c.check.finding_n);
        ++*checked;
        for (uint32_t p = 0; p < c.plan->n; p++)
            *in_place += c.plan->steps[p].how == PSC_HOW_IN_PLACE;
    }
    psc_arena_release(&c.arena);
    psc_lazy_release(&c.l);
}

static void test_random(void)
{
    unsigned in_place = 0, checked = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 400; round++)
        check_random(test_seed() * 7919 + round, &checked, &in_place);
    g_assert_cmpuint(checked, >, 1000);
    g_assert_cmpuint(in_place, >, 300);
}

/* Seeds whose plans give something back on one level and read it on a later one, among others. */
static void test_many_seeds(void)
{
    unsigned in_place = 0, checked = 0;
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (uint64_t round = 0; round < 120; round++)
            check_random(seed * 7919 + round, &checked, &in_place);
    g_assert_cmpuint(checked, >, 10000);
}

/* What is given to a skeleton is as long as its slot, and has its name; a root that is a slot makes a story without steps. */
static void test_slots(void)
{
    struct checked c = {0};
    c.plan = plan_text(&c.l, &c.arena, "x=slot(2,3); y=slot(3); r=transpose(x)*2+sum(y)", &(struct psc_candela_options){0});
    check_plan(&c, false);
    g_assert_cmpuint(c.plan->external_n, ==, 2);
    g_assert_cmpuint(c.check.finding_n, ==, 0);
    unsigned inputs = 0;
    for (uint32_t v = 0; v < c.story->value_n; v++)
        if (c.story->values[v].kind == PSC_VALUE_FILL) {
            bool first = !strcmp(c.story->values[v].name, "x");
            g_assert_cmpstr(c.story->values[v].name, ==, first ? "x" : "y");
            g_assert_cmpuint(c.story->values[v].bytes, ==, first ? 24 : 12);
            inputs++;
        }
    g_assert_cmpuint(inputs, ==, 2);
    for (uint32_t b = 0; b < c.story->buffer_n; b++)
        if (!strcmp(c.story->buffers[b].name, "input x"))
            inputs += c.story->buffers[b].bytes == 24;
    g_assert_cmpuint(inputs, ==, 3);
    psc_lazy_release(&c.l);
    c.plan = plan_text(&c.l, &c.arena, "slot(4)", &(struct psc_candela_options){0});
    check_plan(&c, false);
    g_assert_cmpuint(c.plan->n, ==, 0);
    g_assert_cmpuint(c.check.read_n, ==, 1);
    g_assert_cmpuint(c.check.finding_n, ==, 0);
    psc_arena_release(&c.arena);
    psc_lazy_release(&c.l);
}

static enum psc_status lower_it(void *data)
{
    struct checked *c = data;
    struct psc_arena arena = {0};
    struct psc_story *story;
    enum psc_status status = psc_candela_lower(&arena, c->plan, true, &story, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct checked c = {0};
    c.plan = plan_text(&c.l, &c.arena, POWER, &(struct psc_candela_options){0});
    g_assert_cmpuint(test_oom_loop(lower_it, &c), >, 10);
    psc_arena_release(&c.arena);
    psc_lazy_release(&c.l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strdup_printf("/candela-story/%s", rows[i].path);
        g_test_add_data_func(path, &rows[i], test_row);
        g_free(path);
    }
    g_test_add_func("/candela-story/levels-need-the-anti-dependencies", test_anti_dependencies);
    g_test_add_func("/candela-story/random-plans-are-clean", test_random);
    g_test_add_func("/candela-story/plans-of-many-seeds-are-clean-by-levels", test_many_seeds);
    g_test_add_func("/candela-story/slots-are-as-long-as-what-is-given", test_slots);
    g_test_add_func("/candela-story/oom", test_oom);
    return g_test_run();
}
