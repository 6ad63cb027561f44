#include "tests/lazy-run.h"

#include "core/base/hash.h"
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

uint32_t lazy_random(struct psc_lazy *l, uint64_t *state)
{
    float data[16];
    uint64_t shape[2] = {1 + psc_random_next(state) % 3, 1 + psc_random_next(state) % 3};
    for (int e = 0; e < 2; e++) {
        for (int i = 0; i < 16; i++)
            data[i] = (float)(psc_random_next(state) % 7) - 3;
        psc_lazy_edge(l, NULL, 2, shape, data);
    }
    uint32_t steps = 2 + (uint32_t)(psc_random_next(state) % 24);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t n = (uint32_t)l->n, recent = n > 6 && psc_random_next(state) % 3 ? n - 6 : 0;
        uint32_t x = recent + (uint32_t)(psc_random_next(state) % (n - recent)), y = (uint32_t)(psc_random_next(state) % n);
        struct psc_strides at = l->nodes[x].layout;
        struct psc_lazy_arg arg = {.rank = 2, .hi = at.rank ? at.shape[0] : 0};
        switch (psc_random_next(state) % 11) {
        case 0: psc_lazy_scalar(l, NULL, x, "+-"[psc_random_next(state) % 2], (float)(psc_random_next(state) % 4)); break;
        case 1: psc_lazy_scalar(l, NULL, x, '*', -1); break;
        case 2:
        case 3:
            if (psc_layout_same_shape(&at, &l->nodes[y].layout))
                psc_lazy_binary(l, NULL, psc_random_next(state) % 2 ? PSC_LAZY_ADD : PSC_LAZY_SUB, x, y);
            break;
        case 4: psc_lazy_unary(l, NULL, PSC_LAZY_TRANSPOSE, x, NULL); break;
        case 5: psc_lazy_unary(l, NULL, PSC_LAZY_NOOP, x, NULL); break;
        case 6: psc_lazy_unary(l, NULL, PSC_LAZY_AS_CONTIGUOUS, x, NULL); break;
        case 7: psc_lazy_cache(l, NULL, x); break;
        case 8:
            arg.shape[0] = 1;
            arg.shape[1] = psc_layout_len(&at);
            if (psc_layout_contiguous(&at))
                psc_lazy_unary(l, NULL, PSC_LAZY_VIEW, x, &arg);
            break;
        case 9:
            arg.lo = arg.hi > 1 ? psc_random_next(state) % 2 : 0;
            if (at.rank)
                psc_lazy_unary(l, NULL, PSC_LAZY_SLICE, x, &arg);
            break;
        default:
            if (at.rank == 2 && l->nodes[y].layout.rank == 2 && at.shape[1] == l->nodes[y].layout.shape[0])
                psc_lazy_matmul(l, NULL, x, y);
        }
    }
    return (uint32_t)l->n - 1;
}
