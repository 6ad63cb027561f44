/* Logits of whole models against an independent implementation (tests/golden/make-logits.py). */
#include "backends/registry.h"
#include "core/base/mem.h"
#include "core/model/build.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/plan/kv-cells.h"
#include "core/run/session.h"
#include "tests/steps.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

#define EXACT 1e-4         /* weights that are read as they are: absolute; logits go up to 10 */
static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3", "tiny-qwen2-k", "tiny-qwen3-k"};
#define SEED 0             /* of `export --format gguf` */
#define CONTEXT 64u

/* Quantised weights, beside the reference: it quantises activations as we do, so most rows agree as closely as with f32
 * weights. But where a last bit of f32 moves an activation over the edge between two of its 254 levels, that one value is
 * off by a level, it may stay in the cache, and others follow: at worst the row is off as if all activations had been rounded
 * otherwise, which is what the steps of the type's activations say (tests/steps.h). Few rows may be off at all, and on these
 * models none by as much as MOVED of its length, whatever the type allows. */
#define MOVED 0.02
#define MOVED_PART 3 /* of all rows of quantised types, at most one in so many */

/* Beside the f32 model: as far away as roundings of the type's size move it, times this. */
#define MORE 1.35
#define LESS 0.5     /* and no nearer than this: the tolerance is no looser than that */
#define DRAWS 8      /* models with other roundings that say how far that is */

/* ---- the golden file ---------------------------------------------------------------------------------------- */

struct golden {
    char type[9];
    uint32_t vocab, prompt_n, fed_n, row_n;
    const int32_t *prompt, *fed;
    const uint32_t *rows;
    const float *logits; /* [row_n][vocab] */
};

static const char *take(const char **at, const char *end, size_t bytes)
{
    const char *from = *at;
    g_assert_cmpuint(bytes, <=, (size_t)(end - from));
    *at += bytes;
    return from;
}

static bool golden_next(const char **at, const char *end, struct golden *ret)
{
    if (*at == end)
        return false;
    *ret = (struct golden){0};
    memcpy(ret->type, take(at, end, 8), 8);
    uint32_t head[3];
    memcpy(head, take(at, end, sizeof head), sizeof head);
    ret->vocab = head[0], ret->prompt_n = head[1], ret->fed_n = head[2];
    ret->prompt = (const void *)take(at, end, 4 * (size_t)ret->prompt_n);
    ret->fed = (const void *)take(at, end, 4 * (size_t)ret->fed_n);
    memcpy(&ret->row_n, take(at, end, 4), 4);
    ret->rows = (const void *)take(at, end, 4 * (size_t)ret->row_n);
    ret->logits = (const void *)take(at, end, 4 * (size_t)ret->row_n * ret->vocab);
    return true;
}

/* ---- a model, one token after the other ------------------------------------------------------------------------ */

struct way {               /* how it is run */
    const char *name, *backends;
    bool fused;
    uint32_t chunk;        /* prompt tokens a forward; 0: all */
    unsigned threads;
    enum psc_kv_inputs kv_inputs;
    bool portable;
};
static const struct way plain = {.name = "cpu"};

struct lab {
    struct psc_model *model;
    struct psc_session *session;
    const struct way *way;
    struct psc_target targets[PSC_TARGETS_MAX];
    uint32_t target_n, position;
    struct psc_offload offload;
};

static const struct psc_weight *weight_cb(void *ctx, const char *name)
{
    return psc_model_weight_of(ctx, name);
}

static enum psc_status build_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key, struct psc_graph **ret,
                                struct psc_error *reterr)
{
    const struct lab *lab = ctx;
    struct psc_model_graph_options options = {
        .n_tokens = key->n_tokens, .n_out = 1, .n_ctx = key->n_ctx, .kv_inputs = lab->way->kv_inputs,
        .fuse_qkv = key->fuse_qkv, .fuse_ffn = key->fuse_ffn, .bias_rope_store = key->fuse_qkv,
    };
    return psc_model_graph_on(arena, lab->model, &options, lab->targets, lab->target_n, &lab->offload, ret, reterr);
}

static struct psc_model *seeded(struct psc_arena *arena, const char *preset, const char *mix)
{
    struct psc_error error = {0};
    struct psc_model *shapes = NULL, *model = NULL;
    const struct psc_preset *p = psc_preset_find(preset);
    g_assert_nonnull(p);
    g_assert_cmpint(psc_model_preset(arena, p, mix, &shapes, &error), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(arena, shapes, SEED, &model, &error), ==, PSC_OK);
    return model;
}

static void lab_open(struct lab *lab, struct psc_model *model, const struct way *way)
{
    struct psc_error error = {0};
    *lab = (struct lab){.way = way, .model = model};
    uint32_t api_n = 0;
    const struct psc_backend_api *const *apis = psc_backend_apis(&api_n);
    for (uint32_t k = 0; k < api_n && lab->target_n < PSC_TARGETS_MAX; k++) {
        lab->targets[lab->target_n++] = (struct psc_target){
            .name = apis[k]->name, .written = apis[k]->file_name, .priority = (int32_t)apis[k]->priority,
            .takes = apis[k]->takes, .fuses_decode = way->fused,
        };
    }
    g_assert_cmpint(psc_offload_parse(way->backends ? way->backends : "cpu", lab->targets, lab->target_n, &lab->offload, &error),
                    ==, PSC_OK);
    struct psc_session_options options = {
        .plan = psc_plan_defaults, .n_ctx = CONTEXT, .recycled = PSC_RECYCLED_POISONED, .weight = weight_cb,
        .weight_ctx = lab->model, .config = {.threads = way->threads, .portable = way->portable},
    };
    options.plan.mode = PSC_MODE_HARDENED;
    g_assert_cmpint(psc_session_new(apis, api_n, &options, &lab->session, &error), ==, PSC_OK);
}

static void lab_close(struct lab *lab)
{
    psc_session_free(lab->session);
}

static void fill(struct lab *lab, const struct psc_graph *graph, const int32_t *tokens, uint32_t n)
{
    for (uint32_t k = 0; k < graph->input_n; k++) {
        const struct psc_node_info *node = &graph->nodes[graph->inputs[k]];
        int32_t *words = g_new0(int32_t, node->elements);
        for (uint32_t i = 0; i < n; i++) {
            int32_t position = (int32_t)(lab->position + i);
            if (!strcmp(node->name, "token_ids")) {
                words[i] = tokens[i];
            } else if (!strcmp(node->name, "positions") || !strcmp(node->name, "cells")) {
                words[i] = position;
            } else if (!strcmp(node->name, "attn_span")) {
                words[n + i] = position + 1;
            } else if (!strcmp(node->name, "kv_map")) {
                words[2 * PSC_KV_MAP_RUNS * i + 1] = position + 1;
            } else if (!strcmp(node->name, "tail_ids")) {
                words[0] = (int32_t)n - 1;
            } else {
                g_assert_cmpstr(node->name, ==, "seq_ids");
            }
        }
        struct psc_error error = {0};
        enum psc_status status = psc_session_fill(lab->session, node->name, words, node->elements, &error);
        g_assert_cmpstr(error.text, ==, "");
        g_assert_cmpint(status, ==, PSC_OK);
        g_free(words);
    }
}

/* Runs n tokens; the logits of the last one. Returns the nodes of the graph. */
static uint32_t forward(struct lab *lab, const int32_t *tokens, uint32_t n, float *logits)
{
    struct psc_graph_key key = {
        .n_tokens = n, .n_out = 1, .n_ctx = CONTEXT, .decode = n == 1, .fuse_qkv = lab->way->fused, .fuse_ffn = lab->way->fused,
        .explicit_span = lab->way->kv_inputs == PSC_KV_SPAN, .kv_map = lab->way->kv_inputs == PSC_KV_MAP, .weights_version = 1,
    };
    struct psc_error error = {0};
    enum psc_status status = psc_session_use(lab->session, &key, build_cb, lab, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    const struct psc_graph *graph = psc_session_graph(lab->session);
    fill(lab, graph, tokens, n);
    status = psc_session_execute(lab->session, NULL, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    status = psc_session_read(lab->session, graph->outputs[0], logits, lab->model->hyper.n_vocab, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    lab->position += n;
    return graph->n;
}

/* Prompt and fed tokens; rows [1 + fed_n][vocab]. Returns the nodes of the last graph. */
static uint32_t run_all(struct lab *lab, const struct golden *golden, float *rows)
{
    uint32_t chunk = lab->way->chunk ? lab->way->chunk : golden->prompt_n, nodes = 0;
    for (uint32_t at = 0; at < golden->prompt_n; at += chunk)
        forward(lab, golden->prompt + at, MIN(chunk, golden->prompt_n - at), rows);
    for (uint32_t k = 0; k < golden->fed_n; k++)
        nodes = forward(lab, golden->fed + k, 1, rows + (size_t)(k + 1) * golden->vocab);
    return nodes;
}

static float *rows_with(struct psc_model *model, const struct golden *golden, const struct way *way, uint32_t *ret_nodes)
{
    struct lab lab;
    float *rows = g_new0(float, (size_t)(1 + golden->fed_n) * golden->vocab);
    lab_open(&lab, model, way);
    g_assert_cmpuint(model->hyper.n_vocab, ==, golden->vocab);
    uint32_t nodes = run_all(&lab, golden, rows);
    if (ret_nodes)
        *ret_nodes = nodes;
    lab_close(&lab);
    return rows;
}

static void each_golden(const char *preset, void (*with)(const char *preset, const struct golden *golden))
{
    char *name = g_strdup_printf("tests/golden/logits-%s.bin", preset), *path = test_source_path(name), *bytes = NULL;
    gsize n = 0;
    unsigned types = 0;
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    struct golden golden;
    for (const char *at = bytes; golden_next(&at, bytes + n, &golden); types++)
        with(preset, &golden);
    g_assert_cmpuint(types, >, 0);
    g_free(bytes);
    g_free(path);
    g_free(name);
}

/* ---- how far roundings move the logits ------------------------------------------------------------------------------- */

struct pair { /* a model, and the same with the weights of a type */
    struct psc_arena arena;
    struct psc_model *f32, *stored;
    float *base;         /* rows of f32 */
    bool is_quantised;
};

static struct pair pair_open(const char *preset, const struct golden *golden)
{
    struct pair p = {0};
    p.f32 = seeded(&p.arena, preset, "f32");
    p.stored = seeded(&p.arena, preset, golden->type);
    p.base = rows_with(p.f32, golden, &plain, NULL);
    p.is_quantised = psc_wtype_info(psc_model_weight(p.stored, "blk.0.ffn_down.weight")->type)->quantised;
    return p;
}

static void pair_close(struct pair *p)
{
    g_free(p->base);
    psc_arena_release(&p->arena);
}

/* Length of the difference of n values over that of `base`. */
static double distance(const float *values, const float *base, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        off += ((double)values[i] - (double)base[i]) * ((double)values[i] - (double)base[i]);
        size += (double)base[i] * (double)base[i];
    }
    g_assert_cmpfloat(size, >, 0);
    return sqrt(off / size);
}

/* Values for a weight of the f32 model; false: its own. */
typedef bool (*values_fn)(const struct psc_weight *f32, const struct psc_weight *stored, uint64_t n, float *ret, void *data);

/* Of all rows, for the f32 model with such values. */
static double moved_by(const struct pair *p, const struct golden *golden, values_fn make, void *data)
{
    struct psc_arena arena = {0};
    struct psc_weight *weights = psc_arena_alloc(&arena, p->f32->file_n, sizeof *weights);
    struct psc_error error = {0};
    struct psc_model *model = NULL;
    g_assert_nonnull(weights);
    for (uint32_t k = 0; k < p->f32->file_n; k++) {
        weights[k] = p->f32->weights[k];
        const struct psc_weight *stored = psc_model_weight(p->stored, weights[k].name);
        float *values = psc_arena_alloc(&arena, weights[k].bytes, 1);
        g_assert_nonnull(values);
        if (stored->type != PSC_W_F32 && make(&p->f32->weights[k], stored, weights[k].in * weights[k].out, values, data))
            weights[k].data = values;
    }
    g_assert_cmpint(psc_model_new(&arena, p->f32->name, &p->f32->hyper, weights, p->f32->file_n, &model, &error), ==, PSC_OK);
    float *rows = rows_with(model, golden, &plain, NULL);
    double moved = distance(rows, p->base, (size_t)(1 + golden->fed_n) * golden->vocab);
    g_free(rows);
    psc_arena_release(&arena);
    return moved;
}

struct noise {
    uint64_t state;
    bool weights, tied;
};

static bool noisy_cb(const struct psc_weight *f32, const struct psc_weight *stored, uint64_t n, float *ret, void *data)
{
    struct noise *noise = data;
    bool multiplies = noise->tied || strcmp(f32->name, "token_embd.weight") != 0;
    step_noise(stored->type, noise->weights, multiplies, f32->data, n, &noise->state, ret);
    return true;
}

/* Root of the mean of squares over some models with other roundings: of weights and activations, or of these only. */
static double moved_by_rounding(const struct pair *p, const struct golden *golden, bool weights)
{
    double squares = 0;
    for (unsigned k = 0; k < DRAWS; k++) {
        struct noise noise = {.state = k, .weights = weights, .tied = p->f32->hyper.tied};
        double moved = moved_by(p, golden, noisy_cb, &noise);
        squares += moved * moved;
    }
    return sqrt(squares / DRAWS);
}

/* ---- against the reference ---------------------------------------------------------------------------------------- */

/* Returns how many rows are further away than f32 explains. */
static unsigned compare(const struct golden *golden, const float *rows, double moved)
{
    unsigned n = 0;
    for (uint32_t r = 0; r < golden->row_n; r++) {
        const float *want = golden->logits + (size_t)r * golden->vocab;
        const float *have = rows + (size_t)golden->rows[r] * golden->vocab;
        double largest = 0, relative = distance(have, want, golden->vocab);
        for (uint32_t i = 0; i < golden->vocab; i++)
            largest = fmax(largest, fabs((double)have[i] - (double)want[i]));
        g_test_message("%s row %u: largest difference %.2e, relative %.2e (%.2e)", golden->type, golden->rows[r], largest,
                       relative, moved);
        n += !(largest < EXACT);
        g_assert_true(largest < EXACT || relative < moved);
    }
    return n;
}

static void against_reference(const char *preset, const struct golden *golden)
{
    struct pair p = pair_open(preset, golden);
    float *rows = rows_with(p.stored, golden, &plain, NULL);
    compare(golden, rows, p.is_quantised ? fmin(moved_by_rounding(&p, golden, false), MOVED) : 0);
    g_free(rows);
    pair_close(&p);
}

static void test_reference(gconstpointer preset)
{
    each_golden(preset, against_reference);
}

static unsigned rows_seen, rows_moved;

static void count_moved(const char *preset, const struct golden *golden)
{
    struct pair p = pair_open(preset, golden);
    float *rows = rows_with(p.stored, golden, &plain, NULL);
    if (p.is_quantised) {
        rows_seen += golden->row_n;
        rows_moved += compare(golden, rows, INFINITY);
    }
    g_free(rows);
    pair_close(&p);
}

static void test_few_rows_moved(void)
{
    rows_seen = rows_moved = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(presets); k++)
        each_golden(presets[k], count_moved);
    g_test_message("%u of %u rows", rows_moved, rows_seen);
    g_assert_cmpuint(rows_seen, >, 30);
    g_assert_cmpuint(rows_moved * MOVED_PART, <=, rows_seen);
}

/* ---- beside the f32 model --------------------------------------------------------------------------------------------- */

static bool mutant_cb(const struct psc_weight *f32, const struct psc_weight *stored, uint64_t n, float *ret, void *data)
{
    (void)f32;
    return step_mutate(stored->type, *(const enum step_mutant *)data, stored->data, n, ret);
}

/* What whole models show of a wrong dequantisation. Scales that are off by less than a step's part of them, and half a step
 * of 254, hide behind roundings here; products show those (test-close). */
static bool shows(enum step_mutant mutant, const char *type)
{
    return mutant == STEP_MINIMUM || mutant == STEP_NIBBLES || (mutant == STEP_HALF && strcmp(type, "q8_0") != 0);
}

static void beside_f32(const char *preset, const struct golden *golden)
{
    struct pair p = pair_open(preset, golden);
    if (!strcmp(golden->type, "f32")) {
        pair_close(&p);
        return;
    }
    float *rows = rows_with(p.stored, golden, &plain, NULL);
    double allowed = MORE * moved_by_rounding(&p, golden, true);
    double moved = distance(rows, p.base, (size_t)(1 + golden->fed_n) * golden->vocab);
    g_test_message("%s %s: %.5f of the logits' length away where %.5f is allowed", preset, golden->type, moved, allowed);
    g_assert_cmpfloat(moved, <=, allowed);
    g_assert_cmpfloat(moved, >=, LESS * allowed);
    for (enum step_mutant m = 0; m < STEP_MUTANT_N; m++) {
        double wrong = moved_by(&p, golden, mutant_cb, &m);
        if (wrong == 0) /* nothing to be mistaken */
            continue;
        g_test_message("%s %s, %s: %.5f", preset, golden->type, step_mutants[m], wrong);
        if (shows(m, golden->type))
            g_assert_cmpfloat(wrong, >, allowed);
    }
    g_free(rows);
    pair_close(&p);
}

static void test_beside_f32(gconstpointer preset)
{
    each_golden(preset, beside_f32);
}

/* ---- ways that must not change a bit --------------------------------------------------------------------------------- */

static const struct way ways[] = {
    {.name = "fused", .fused = true},
    {.name = "chunks of 1", .chunk = 1},
    {.name = "chunks of 5", .chunk = 5},
    {.name = "three threads", .threads = 3},
    {.name = "portable", .portable = true},
    {.name = "explicit spans", .kv_inputs = PSC_KV_SPAN},
    {.name = "a map of cells", .kv_inputs = PSC_KV_MAP},
    {.name = "deferred", .backends = "deferred"},
    {.name = "deferred, fused", .backends = "deferred", .fused = true},
    {.name = "block 0 and 2 deferred", .backends = "mixed:0=deferred,1=cpu,2-99=deferred"},
};

static void all_ways(const char *preset, const struct golden *golden)
{
    uint32_t nodes = 0;
    struct psc_arena arena = {0};
    struct psc_model *model = seeded(&arena, preset, golden->type);
    float *want = rows_with(model, golden, &plain, &nodes);
    size_t bytes = (size_t)(1 + golden->fed_n) * golden->vocab * sizeof *want;
    for (size_t k = 0; k < G_N_ELEMENTS(ways); k++) {
        uint32_t n = 0;
        float *have = rows_with(model, golden, &ways[k], &n);
        if (memcmp(want, have, bytes))
            g_test_message("%s %s: %s differs", preset, golden->type, ways[k].name);
        g_assert_cmpmem(want, bytes, have, bytes);
        if (ways[k].fused)
            g_assert_cmpuint(n, <, nodes);
        g_free(have);
    }
    g_free(want);
    psc_arena_release(&arena);
}

static void test_ways(gconstpointer preset)
{
    each_golden(preset, all_ways);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t k = 0; k < G_N_ELEMENTS(presets); k++) {
        char *path = g_strdup_printf("/run/logits/%s/agree-with-the-reference", presets[k]);
        g_test_add_data_func(path, presets[k], test_reference);
        g_free(path);
        path = g_strdup_printf("/run/logits/%s/are-off-by-what-the-step-of-a-type-moves", presets[k]);
        g_test_add_data_func(path, presets[k], test_beside_f32);
        g_free(path);
        path = g_strdup_printf("/run/logits/%s/are-the-same-bits-in-every-way", presets[k]);
        g_test_add_data_func(path, presets[k], test_ways);
        g_free(path);
    }
    g_test_add_func("/run/logits/few-rows-have-an-activation-on-another-level", test_few_rows_moved);
    return g_test_run();
}
