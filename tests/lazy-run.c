#include "tests/lazy-run.h"

#include "core/candela/parse.h"

#include <glib.h>
#include <string.h>

enum psc_status run_on(struct psc_lazy *l, uint32_t root, const struct psc_candela_options *options, struct outcome *out)
{
    struct psc_arena arena = {0};
    struct psc_candela_plan *plan;
    struct psc_handle result;
    struct psc_candela_memory memory;
    out->status = psc_candela_plan(&arena, l, root, options, &plan, &out->error);
    if (!out->status)
        out->status = psc_candela_report(plan, &memory, &out->error);
    if (!out->status)
        out->status = psc_candela_execute(plan, &(struct psc_candela_run){0}, &result, &out->failure, &out->error);
    if (!out->status) {
        out->allocations = memory.allocations;
        out->n = psc_layout_len(&result.layout);
        g_assert_cmpuint(out->n, <=, 64);
        psc_handle_read(&result, out->values);
        psc_store_unref(result.store);
    }
    psc_arena_release(&arena);
    return out->status;
}

void run_text(const char *text, const struct psc_candela_options *options, bool unfused, struct outcome *out)
{
    struct psc_lazy l;
    uint32_t root;
    memset(out, 0, sizeof *out);
    psc_lazy_init(&l);
    l.fuse = !unfused;
    out->status = psc_lazy_parse(&l, text, strlen(text), &root, &out->error);
    if (!out->status)
        run_on(&l, root, options, out);
    psc_lazy_release(&l);
}

char *spell(const struct outcome *out)
{
    GString *s = g_string_new(NULL);
    for (uint64_t i = 0; i < out->n; i++)
        g_string_append_printf(s, "%s%g", i ? " " : "", (double)out->values[i]);
    return g_string_free(s, FALSE);
}

struct psc_candela_plan *plan_text(struct psc_lazy *l, struct psc_arena *arena, const char *text,
                                          const struct psc_candela_options *options)
{
    struct psc_candela_plan *plan;
    struct psc_error error = {0};
    uint32_t root;
    psc_lazy_init(l);
    if (psc_lazy_parse(l, text, strlen(text), &root, &error) || psc_candela_plan(arena, l, root, options, &plan, &error))
        g_error("%s", error.text);
    return plan;
}
