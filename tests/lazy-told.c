#include "tests/lazy-told.h"

#include <glib.h>

const struct psc_candela_view *told_at(struct told *t, int32_t position)
{
    struct psc_candela_view *v;
    g_assert_cmpint(psc_candela_view_at(&t->arena, t->tale, position, &v, NULL), ==, PSC_OK);
    return v;
}

void told_forget(struct told *t)
{
    psc_arena_release(&t->arena);
    psc_lazy_release(&t->l);
}
