/* The same for expressions (tests/twice.h): a plan is carried out, and the same steps one by one into fresh memory. */
#include "tests/twice.h"

#include "core/base/mem.h"
#include "core/candela/planner.h"
#include "core/candela/verify.h"

#include <glib.h>

enum psc_status __real_psc_candela_plan(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                        const struct psc_candela_options *options, struct psc_candela_plan **ret,
                                        struct psc_error *reterr);
enum psc_status __real_psc_candela_execute(const struct psc_candela_plan *plan, const struct psc_candela_run *how,
                                           struct psc_handle *ret, struct psc_candela_failure *failure, struct psc_error *reterr);
enum psc_status __real_psc_candela_verify(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                          const struct psc_candela_plan *plan, bool levels, struct psc_candela_verdict *ret,
                                          struct psc_error *reterr);
void __real_psc_lazy_release(struct psc_lazy *l);
enum psc_status __wrap_psc_candela_plan(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                        const struct psc_candela_options *options, struct psc_candela_plan **ret,
                                        struct psc_error *reterr);
enum psc_status __wrap_psc_candela_execute(const struct psc_candela_plan *plan, const struct psc_candela_run *how,
                                           struct psc_handle *ret, struct psc_candela_failure *failure, struct psc_error *reterr);
enum psc_status __wrap_psc_candela_verify(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                          const struct psc_candela_plan *plan, bool levels, struct psc_candela_verdict *ret,
                                          struct psc_error *reterr);
void __wrap_psc_lazy_release(struct psc_lazy *l);

/* What a plan that was not carried out yet is of. */
struct planned {
    const struct psc_lazy *l;
    uint32_t root;
};
static GHashTable *plans; /* plan -> struct planned */
static GMutex plans_lock;
static _Thread_local bool verifying;

static void keep(const struct psc_candela_plan *plan, const struct psc_lazy *l, uint32_t root)
{
    struct planned *p = g_new(struct planned, 1);
    *p = (struct planned){l, root};
    g_mutex_lock(&plans_lock);
    if (!plans)
        plans = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_hash_table_insert(plans, (void *)(uintptr_t)plan, p);
    g_mutex_unlock(&plans_lock);
}

/* Once: afterwards caches are filled, and the expression is another one. */
static bool take(const struct psc_candela_plan *plan, struct planned *ret)
{
    g_mutex_lock(&plans_lock);
    const struct planned *p = plans ? g_hash_table_lookup(plans, plan) : NULL;
    if (p) {
        *ret = *p;
        g_hash_table_remove(plans, plan);
    }
    g_mutex_unlock(&plans_lock);
    return p != NULL;
}

static gboolean is_of(gpointer plan, gpointer planned, gpointer l)
{
    (void)plan;
    return ((const struct planned *)planned)->l == l;
}

static void verify(const struct psc_candela_plan *plan, const struct planned *p)
{
    struct psc_arena arena = {0};
    struct psc_candela_verdict verdict;
    struct psc_error error;
    if (__real_psc_candela_verify(&arena, p->l, p->root, plan, false, &verdict, &error))
        g_error("the expression step by step: %s", error.text);
    for (uint32_t k = 0; k < verdict.n; k++)
        if (!psc_wrong_is_waste(verdict.wrongs[k].what))
            g_error("step %u of an expression differs from the run into fresh memory, or is refused (%d)", verdict.wrongs[k].step,
                    verdict.wrongs[k].what);
    twice_figures.runs += verdict.executed;
    twice_figures.left_out += !verdict.executed;
    psc_arena_release(&arena);
}

enum psc_status __wrap_psc_candela_plan(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                        const struct psc_candela_options *options, struct psc_candela_plan **ret,
                                        struct psc_error *reterr)
{
    enum psc_status status = __real_psc_candela_plan(arena, l, root, options, ret, reterr);
    if (!status && !verifying)
        keep(*ret, l, root);
    return status;
}

enum psc_status __wrap_psc_candela_execute(const struct psc_candela_plan *plan, const struct psc_candela_run *how,
                                           struct psc_handle *ret, struct psc_candela_failure *failure, struct psc_error *reterr)
{
    struct planned p;
    bool sound = plan->options.generation == PSC_GEN_HARDENED && !plan->options.faults;
    if (!verifying && !how->depth && take(plan, &p) && sound) {
        struct twice_quiet q = twice_quiet_begin();
        verifying = true;
        verify(plan, &p);
        verifying = false;
        twice_quiet_end(&q);
    }
    return __real_psc_candela_execute(plan, how, ret, failure, reterr);
}

/* It carries the plan out itself, and beside it what is right. */
enum psc_status __wrap_psc_candela_verify(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                          const struct psc_candela_plan *plan, bool levels, struct psc_candela_verdict *ret,
                                          struct psc_error *reterr)
{
    bool before = verifying;
    verifying = true;
    enum psc_status status = __real_psc_candela_verify(arena, l, root, plan, levels, ret, reterr);
    verifying = before;
    return status;
}

void __wrap_psc_lazy_release(struct psc_lazy *l)
{
    g_mutex_lock(&plans_lock);
    if (plans)
        g_hash_table_foreach_remove(plans, is_of, l);
    g_mutex_unlock(&plans_lock);
    __real_psc_lazy_release(l);
}
