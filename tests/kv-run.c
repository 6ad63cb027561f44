#include "tests/kv-run.h"

#include "tests/qwen.h"

#include <glib.h>

const struct psc_kv_rows *kv_run_rows(struct kv_run *run, uint32_t ordinal, uint32_t gap, uint32_t *ret_n)
{
    const struct psc_graph *g = ordinal ? run->decode : run->prefill;
    struct psc_kv_rows *rows = psc_arena_alloc(&run->arena, g->n, sizeof *rows);
    uint32_t lo = ordinal ? run->rows + ordinal - 1 : 0, hi = ordinal ? lo + 1 : run->rows, n = 0;
    g_assert_nonnull(rows);
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_op_info *op = psc_op_info(g->nodes[i].op);
        if (op->stores_kv)
            rows[n++] = (struct psc_kv_rows){i, g->nodes[i].layer, true, lo, hi, 0};
        else if (g->nodes[i].op == PSC_OP_ATTN)
            rows[n++] = (struct psc_kv_rows){i, g->nodes[i].layer, false, 0, hi + gap, gap};
    }
    *ret_n = n;
    return rows;
}

struct kv_run *kv_run_new(uint32_t rows, uint32_t steps)
{
    struct kv_run *run = g_new0(struct kv_run, 1);
    struct qwen_options prefill = qwen_prefill;
    struct psc_kv_builder *b = psc_kv_builder_new();
    run->rows = rows;
    prefill.tokens = rows;
    run->prefill = qwen_graph(&run->arena, &prefill);
    run->decode = qwen_graph(&run->arena, &qwen_decode);
    struct psc_phase phase = {.graph = run->decode};
    g_assert_true(psc_kv_regions_of(&phase, &run->regions));
    for (uint32_t s = 0; s <= steps; s++) {
        uint32_t n;
        struct psc_arena_mark mark = psc_arena_mark(&run->arena);
        const struct psc_kv_rows *list = kv_run_rows(run, s, 0, &n);
        psc_kv_builder_step(b, s > 0, s ? s - 1 : 0, s == 0, true, list, n);
        psc_arena_rewind(&run->arena, mark);
    }
    g_assert_cmpint(psc_kv_builder_finish(b, &run->arena, run->regions.layers, &run->history, NULL), ==, PSC_OK);
    psc_kv_builder_free(b);
    return run;
}

struct psc_kv_step *kv_run_step(struct kv_run *run, uint32_t ordinal, uint32_t gap)
{
    return kv_run_step_of(run, ordinal, gap, NULL);
}

struct psc_kv_step *kv_run_step_of(struct kv_run *run, uint32_t ordinal, uint32_t gap, const struct psc_story *story)
{
    struct psc_kv_step *step = NULL;
    struct psc_kv_step_source source = {.regions = &run->regions, .graph = ordinal ? run->decode : run->prefill,
                                        .history = run->history, .ordinal = ordinal, .source = PSC_KV_RECORDED,
                                        .is_prefill = ordinal == 0, .story = story};
    source.rows = kv_run_rows(run, ordinal, gap, &source.row_n);
    g_assert_cmpint(psc_kv_step_build(&run->arena, &source, &step, NULL), ==, PSC_OK);
    return step;
}

void kv_run_free(struct kv_run *run)
{
    psc_arena_release(&run->arena);
    g_free(run);
}
