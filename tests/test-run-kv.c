/* The cell table and a real model: sequences beside each other, shared prefixes, moved, removed and reloaded rows, all
 * against the same tokens run alone in a fresh cache. */
#include "backends/registry.h"
#include "core/base/mem.h"
#include "core/model/build.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/run/kv-work.h"
#include "tests/util.h"
#include "traces/kv-dump.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

enum { CONTEXT = 24, TOKENS = 16 };

struct engine {
    struct psc_arena arena;
    struct psc_model *model;
    struct psc_session *session;
    struct psc_target targets[PSC_TARGETS_MAX];
    uint32_t target_n;
    struct psc_offload offload;
    struct psc_kv_runs runs;
    enum psc_kv_format format;
    uint32_t row_words;
};

#define OK(call) \
    do { \
        struct psc_error error_ = {0}, *err = &error_; \
        enum psc_status status_ = (call); \
        g_assert_cmpstr(error_.text, ==, ""); \
        g_assert_cmpint(status_, ==, PSC_OK); \
    } while (0)

static const struct psc_weight *weight_cb(void *ctx, const char *name)
{
    return psc_model_weight_of(ctx, name);
}

static enum psc_status build_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key, struct psc_graph **ret,
                                struct psc_error *reterr)
{
    const struct engine *e = ctx;
    struct psc_model_graph_options options = {
        .n_tokens = key->n_tokens, .n_out = 1, .n_ctx = key->n_ctx, .kv_inputs = PSC_KV_MAP,
        .row_elems = e->format == PSC_KV_F32 ? 0 : e->row_words,
    };
    return psc_model_graph_on(arena, e->model, &options, e->targets, e->target_n, &e->offload, ret, reterr);
}

static void start(struct engine *e, const char *preset, const char *backends, enum psc_kv_format format)
{
    struct psc_model *shapes = NULL;
    uint32_t api_n = 0;
    const struct psc_backend_api *const *apis = psc_backend_apis(&api_n);
    *e = (struct engine){.format = format};
    OK(psc_model_preset(&e->arena, psc_preset_find(preset), NULL, &shapes, err));
    OK(psc_model_seeded(&e->arena, shapes, 0, &e->model, err));
    OK(psc_kv_row_words(format, e->model->hyper.n_kv, &e->row_words, err));
    for (uint32_t k = 0; k < api_n && e->target_n < PSC_TARGETS_MAX; k++)
        e->targets[e->target_n++] = (struct psc_target){.name = apis[k]->name, .written = apis[k]->file_name,
                                                        .priority = (int32_t)apis[k]->priority, .takes = apis[k]->takes};
    OK(psc_offload_parse(backends, e->targets, e->target_n, &e->offload, err));
    struct psc_session_options options = {.plan = psc_plan_defaults, .n_ctx = CONTEXT, .recycled = PSC_RECYCLED_POISONED,
                                          .weight = weight_cb, .weight_ctx = e->model, .config = {.threads = 1}};
    options.plan.mode = PSC_MODE_HARDENED;
    OK(psc_session_new(apis, api_n, &options, &e->session, err));
    OK(psc_kv_runs_init(&e->runs, CONTEXT, err));
}

static void stop(struct engine *e)
{
    psc_session_free(e->session);
    psc_kv_runs_release(&e->runs);
    psc_arena_release(&e->arena);
}

static void do_work(struct engine *e, struct psc_kv_work *work)
{
    const struct psc_hyper *h = &e->model->hyper;
    struct psc_kv_rope rope = {.hd = h->hd, .freq_base = h->freq_base, .freq_scale = h->freq_scale};
    OK(psc_session_do_kv_work(e->session, work, &rope, err));
    psc_kv_work_clear(work);
    psc_kv_runs_rotated(&e->runs);
}

static void use(struct engine *e, uint32_t n)
{
    struct psc_graph_key key = {.n_tokens = n, .n_out = 1, .n_ctx = CONTEXT, .decode = n == 1, .kv_map = true,
                                .kv_format = e->format, .weights_version = 1};
    OK(psc_session_use(e->session, &key, build_cb, e, err));
}

/* Runs the batch; the logits of its last token (g_free). */
static float *forward(struct engine *e, const uint64_t *seqs, const int32_t *positions, const int32_t *tokens, uint32_t n)
{
    struct psc_kv_batch batch = {seqs, positions, tokens, n};
    struct psc_kv_work work = {0};
    int32_t cells[TOKENS], map[TOKENS * 8], tail = (int32_t)n - 1, zeros[TOKENS] = {0};
    use(e, n);
    OK(psc_kv_runs_unshare(&e->runs, &batch, &work, err));
    do_work(e, &work);
    OK(psc_kv_runs_cells(&e->runs, &batch, cells, err));
    psc_kv_runs_own(&e->runs, &batch, cells);
    OK(psc_kv_runs_map(&e->runs, &batch, PSC_KV_MAP_RUNS, map, err));
    OK(psc_kv_check_map(map, n, PSC_KV_MAP_RUNS, CONTEXT, err));
    const struct psc_graph *graph = psc_session_graph(e->session);
    for (uint32_t k = 0; k < graph->input_n; k++) {
        const struct psc_node_info *node = &graph->nodes[graph->inputs[k]];
        const int32_t *words = !strcmp(node->name, "token_ids") ? tokens : !strcmp(node->name, "positions") ? positions
                               : !strcmp(node->name, "cells") ? cells : !strcmp(node->name, "kv_map") ? map
                               : !strcmp(node->name, "tail_ids") ? &tail : zeros;
        OK(psc_session_fill_node(e->session, graph->inputs[k], words, node->elements, err));
    }
    OK(psc_session_execute(e->session, NULL, err));
    float *logits = g_new(float, e->model->hyper.n_vocab);
    OK(psc_session_read(e->session, graph->outputs[0], logits, e->model->hyper.n_vocab, err));
    psc_kv_work_release(&work);
    return logits;
}

/* Tokens [first, first + n) of a text in order, one sequence. */
static float *feed(struct engine *e, uint64_t seq, const int32_t *text, uint32_t first, uint32_t n)
{
    uint64_t seqs[TOKENS];
    int32_t positions[TOKENS];
    for (uint32_t i = 0; i < n; i++) {
        seqs[i] = seq;
        positions[i] = (int32_t)(first + i);
    }
    return forward(e, seqs, positions, text + first, n);
}

/* The logits behind the last of n tokens, in a fresh cache. */
static float *alone(const char *preset, const char *backends, enum psc_kv_format format, const int32_t *text, uint32_t n)
{
    struct engine e;
    start(&e, preset, backends, format);
    OK(psc_kv_runs_reserve(&e.runs, 1, CONTEXT, err));
    float *logits = feed(&e, 1, text, 0, n);
    stop(&e);
    return logits;
}

static void assert_same(const struct engine *e, float *got, float *want)
{
    g_assert_cmpmem(got, e->model->hyper.n_vocab * sizeof *got, want, e->model->hyper.n_vocab * sizeof *want);
    g_free(got);
    g_free(want);
}

static const int32_t text_a[] = {5, 71, 290, 287, 477, 57, 462, 409}, text_b[] = {5, 71, 290, 17, 33, 400, 8, 9},
                     text_c[] = {5, 301, 302, 303, 33, 400, 8, 9};

static const struct { const char *name, *preset, *backends; enum psc_kv_format format; } ways[] = {
    {"qwen2-f32", "tiny-qwen2", "cpu", PSC_KV_F32},
    {"qwen3-f32", "tiny-qwen3", "cpu", PSC_KV_F32},
    {"qwen2-f16", "tiny-qwen2", "cpu", PSC_KV_F16},
    {"qwen2-q8_0", "tiny-qwen2", "cpu", PSC_KV_Q8_0},
    {"qwen2-deferred", "tiny-qwen2", "deferred", PSC_KV_F32},
    {"qwen2-mixed", "tiny-qwen2", "mixed:0-0=deferred,1-9=cpu", PSC_KV_F32},
};
#define WAY(data) const char *preset = ways[GPOINTER_TO_UINT(data)].preset, *on = ways[GPOINTER_TO_UINT(data)].backends; \
    enum psc_kv_format format = ways[GPOINTER_TO_UINT(data)].format

static void test_beside(gconstpointer data)
{
    WAY(data);
    struct engine e;
    static const uint64_t seqs[] = {9, 1, 9, 1, 9, 1};
    static const int32_t positions[] = {0, 0, 1, 1, 2, 2};
    int32_t tokens[6];
    for (unsigned i = 0; i < 6; i++)
        tokens[i] = (i % 2 ? text_a : text_c)[i / 2];
    start(&e, preset, on, format);
    OK(psc_kv_runs_reserve(&e.runs, 9, 8, err));
    OK(psc_kv_runs_reserve(&e.runs, 1, 8, err));
    assert_same(&e, forward(&e, seqs, positions, tokens, 6), alone(preset, on, format, text_a, 3));
    assert_same(&e, feed(&e, 1, text_a, 3, 1), alone(preset, on, format, text_a, 4));
    assert_same(&e, feed(&e, 9, text_c, 3, 2), alone(preset, on, format, text_c, 5));
    assert_same(&e, feed(&e, 1, text_a, 4, 2), alone(preset, on, format, text_a, 6));
    stop(&e);
}

static void test_shared(gconstpointer data)
{
    WAY(data);
    struct engine e;
    start(&e, preset, on, format);
    OK(psc_kv_runs_reserve(&e.runs, 1, 8, err));
    OK(psc_kv_runs_reserve(&e.runs, 2, 10, err));
    assert_same(&e, feed(&e, 1, text_a, 0, 5), alone(preset, on, format, text_a, 5));
    OK(psc_kv_runs_share_prefix(&e.runs, 2, 1, 3, err)); /* b begins as a does */
    assert_same(&e, feed(&e, 2, text_b, 3, 3), alone(preset, on, format, text_b, 6));
    assert_same(&e, feed(&e, 1, text_a, 5, 1), alone(preset, on, format, text_a, 6));
    /* b becomes c from position 1 on: private rows, and a is as it was */
    assert_same(&e, feed(&e, 2, text_c, 1, 4), alone(preset, on, format, text_c, 5));
    g_assert_cmpuint(psc_kv_runs_find(&e.runs, 2)->shared_rows, ==, 1);
    assert_same(&e, feed(&e, 1, text_a, 6, 1), alone(preset, on, format, text_a, 7));
    OK(psc_kv_runs_release_seq(&e.runs, 1, err)); /* the donor goes, its first row stays */
    assert_same(&e, feed(&e, 2, text_c, 5, 2), alone(preset, on, format, text_c, 7));
    stop(&e);
}

static void test_moved(gconstpointer data)
{
    WAY(data);
    struct engine e;
    struct psc_kv_work work = {0};
    start(&e, preset, on, format);
    for (uint64_t s = 1; s <= 3; s++)
        OK(psc_kv_runs_reserve(&e.runs, s, 6, err));
    g_free(feed(&e, 1, text_a, 0, 4));
    g_free(feed(&e, 2, text_c, 0, 6));
    g_free(feed(&e, 3, text_b, 0, 4));
    OK(psc_kv_runs_release_seq(&e.runs, 1, err));
    OK(psc_kv_runs_release_seq(&e.runs, 2, err));
    OK(psc_kv_runs_reserve_defrag(&e.runs, 4, 18, true, &work, err));
    g_assert_cmpuint(work.move_n, ==, 1);
    do_work(&e, &work);
    g_assert_cmpuint(psc_kv_runs_find(&e.runs, 3)->start, ==, 0);
    assert_same(&e, feed(&e, 3, text_b, 4, 1), alone(preset, on, format, text_b, 5)); /* positions are its own: nothing turns */
    OK(psc_kv_runs_set_cap(&e.runs, 4, 8, &work, err));
    OK(psc_kv_runs_set_cap(&e.runs, 3, 10, &work, err)); /* pushes 4 up */
    do_work(&e, &work);
    OK(psc_kv_runs_copy_prefix(&e.runs, 4, 3, 3, &work, err));
    do_work(&e, &work);
    assert_same(&e, feed(&e, 4, text_a, 3, 3), alone(preset, on, format, text_a, 6)); /* a begins as b does */
    assert_same(&e, feed(&e, 3, text_b, 5, 3), alone(preset, on, format, text_b, 8));
    psc_kv_work_release(&work);
    stop(&e);
}

static void rows_of(struct engine *e, int32_t layer, unsigned slot, uint32_t lo, uint32_t hi, float *ret)
{
    uint8_t *raw = g_malloc((hi - lo) * e->row_words * 4);
    OK(psc_session_read_rows(e->session, layer, slot, lo, hi, raw, err));
    for (uint32_t r = 0; r < hi - lo; r++)
        psc_kv_row_decode(e->format, e->model->hyper.n_kv, raw + r * e->row_words * 4, ret + r * e->model->hyper.n_kv);
    g_free(raw);
}

/* Positions 2 and 3 leave. K and V of the first layer follow from token and position alone: there the rows must be what a
 * fresh run of the shorter text makes, V exactly and K as nearly as turning allows. */
static void test_removed(gconstpointer data)
{
    WAY(data);
    struct engine e, fresh;
    struct psc_kv_work work = {0};
    struct psc_error error = {0};
    int32_t shorter[6] = {text_a[0], text_a[1], text_a[4], text_a[5], text_a[6], text_a[7]};
    start(&e, preset, on, format);
    OK(psc_kv_runs_reserve(&e.runs, 1, CONTEXT, err));
    g_free(feed(&e, 1, text_a, 0, 8));
    uint32_t width = e.model->hyper.n_kv;
    float *before = g_new(float, 8 * width), *got = g_new(float, 8 * width), *want = g_new(float, 8 * width), amax = 0;
    rows_of(&e, 0, 0, 0, 8, before);
    if (format == PSC_KV_F16) {
        uint64_t changes = e.runs.cells.changes;
        g_assert_cmpint(psc_kv_runs_remove(&e.runs, 1, 2, 2, format, &work, &error), ==, PSC_ERR_USAGE);
        g_assert_cmpuint(changes, ==, e.runs.cells.changes);
        work.rotate_rows = 1; /* and the session would not turn them either */
        g_assert_cmpint(psc_session_do_kv_work(e.session, &work, NULL, &error), ==, PSC_ERR_USAGE);
        rows_of(&e, 0, 0, 0, 8, got);
        g_assert_cmpmem(got, 8 * width * sizeof *got, before, 8 * width * sizeof *got);
    } else {
        OK(psc_kv_runs_remove(&e.runs, 1, 2, 2, format, &work, err));
        do_work(&e, &work);
        start(&fresh, preset, on, format);
        OK(psc_kv_runs_reserve(&fresh.runs, 1, CONTEXT, err));
        g_free(feed(&fresh, 1, shorter, 0, 6));
        rows_of(&e, 0, 0, 0, 8, got);
        rows_of(&fresh, 0, 0, 0, 6, want);
        for (uint32_t i = 0; i < 6 * width; i++)
            amax = fmaxf(amax, fabsf(want[i]));
        for (uint32_t i = 0; i < 6 * width; i++)
            g_assert_cmpfloat(fabsf(got[i] - want[i]), <, format == PSC_KV_Q8_0 ? amax / 127 * 3 : 1e-5f * fmaxf(1, amax));
        for (uint32_t i = 6 * width; i < 8 * width; i++)
            g_assert_cmpfloat(got[i], ==, 0); /* the tail is zero */
        rows_of(&e, 0, 1, 0, 6, got);
        rows_of(&fresh, 0, 1, 0, 6, want);
        g_assert_cmpmem(got, 6 * width * sizeof *got, want, 6 * width * sizeof *want);
        stop(&fresh);
    }
    g_free(before);
    g_free(got);
    g_free(want);
    psc_kv_work_release(&work);
    stop(&e);
}

/* ---- sessions ------------------------------------------------------------------------------------------------------- */

static const int32_t layers[] = {0, 1, 2};

static enum psc_status read_cb(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                               struct psc_error *reterr)
{
    return psc_session_read_rows(((struct engine *)ctx)->session, layers[at], slot, lo, hi, to, reterr);
}

static enum psc_status write_cb(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, const void *from,
                                struct psc_error *reterr)
{
    return psc_session_write_rows(((struct engine *)ctx)->session, layers[at], slot, lo, hi, from, reterr);
}

static struct psc_kv_image image_of(struct engine *e, const char *on)
{
    struct psc_kv_info info;
    psc_session_kv(e->session, &info);
    return (struct psc_kv_image){.backend = on, .layer_n = info.layers, .layer = layers, .has_v = true, .rows = info.rows,
                                 .width = (uint32_t)info.width, .row_words = (uint32_t)(info.row_bytes / 4), .format = info.format,
                                 .cells = e->runs.cells.cell, .runs = e->runs.run, .run_n = PSC_KV_SEQS_MAX, .read = read_cb,
                                 .ctx = e};
}

static void test_session(gconstpointer data)
{
    WAY(data);
    struct engine e, later;
    struct psc_kv_dump *dump = NULL;
    uint8_t written[CONTEXT / 8 + 1] = {0};
    char *folder = g_dir_make_tmp("psc-run-kv-XXXXXX", NULL), *path = g_build_filename(folder, "kv.pskv", NULL);
    start(&e, preset, on, format);
    OK(psc_kv_runs_reserve(&e.runs, 1, 8, err));
    OK(psc_kv_runs_reserve(&e.runs, 2, 8, err));
    g_free(feed(&e, 1, text_a, 0, 5));
    OK(psc_kv_runs_share_prefix(&e.runs, 2, 1, 3, err));
    g_free(feed(&e, 2, text_b, 3, 2));
    struct psc_kv_image image = image_of(&e, on);
    for (uint32_t r = 0; r < CONTEXT; r++)
        written[r / 8] |= (uint8_t)(e.runs.cells.cell[r].written << r % 8);
    image.written = written;
    OK(psc_kv_dump_write(path, &image, err));
    OK(psc_kv_dump_open(path, NULL, &dump, err));
    start(&later, preset, on, format);
    use(&later, 1); /* a graph that makes the regions */
    image = image_of(&later, on);
    struct psc_kv_target target = {&image, &later.runs, write_cb, &later};
    OK(psc_kv_dump_load(dump, &target, err));
    psc_kv_dump_free(dump);
    assert_same(&later, feed(&later, 2, text_b, 5, 2), alone(preset, on, format, text_b, 7));
    assert_same(&later, feed(&later, 1, text_a, 5, 1), alone(preset, on, format, text_a, 6));
    stop(&later);
    stop(&e);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; GTestDataFunc function; } tests[] = {
        {"sequences-beside-each-other-are-as-alone", test_beside},
        {"a-shared-prefix-is-as-a-prefix-of-its-own", test_shared},
        {"moved-rows-are-as-rows-that-stayed", test_moved},
        {"removed-positions-leave-what-the-shorter-text-makes", test_removed},
        {"a-session-goes-on-where-it-was-saved", test_session},
    };
    g_test_init(&argc, &argv, NULL);
    for (guint t = 0; t < G_N_ELEMENTS(tests); t++)
        for (guint w = 0; w < G_N_ELEMENTS(ways); w++) {
            char *path = g_strdup_printf("/core/run/kv/%s/%s", tests[t].name, ways[w].name);
            g_test_add_data_func(path, GUINT_TO_POINTER(w), tests[t].function);
            g_free(path);
        }
    return g_test_run();
}
