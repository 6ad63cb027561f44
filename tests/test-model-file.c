/* Models from GGUF bytes, and their graphs through JSON and back. */
#include "core/model/gguf.h"

#include "core/base/hash.h"
#include "core/model/build.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "tests/util.h"
#include "traces/gguf-write.h"
#include "traces/traces.h"

#include <string.h>

enum { PAIRS = 16 };

/* A model file under construction: the metadata that a graph needs, and the weights of a seeded preset. */
struct file {
    struct psc_arena arena;
    struct psc_model *model;
    struct psc_gguf_pair pairs[PAIRS];
    uint32_t pair_n;
    struct psc_gguf_entry *entries;
    GByteArray *bytes;
};

static struct psc_gguf_pair *pair_of(struct file *f, const char *what)
{
    char *key = g_strdup_printf("%s.%s", psc_arch_name(f->model->hyper.arch), what);
    for (uint32_t i = 0; i < f->pair_n; i++)
        if (!strcmp(f->pairs[i].key, key) || !strcmp(f->pairs[i].key, what)) {
            g_free(key);
            return &f->pairs[i];
        }
    f->pairs[f->pair_n].key = psc_arena_strdup(&f->arena, key);
    f->pairs[f->pair_n].type = PSC_GGUF_U32;
    g_free(key);
    return &f->pairs[f->pair_n++];
}

static void set_u32(struct file *f, const char *what, uint32_t n) { pair_of(f, what)->u = n; }
static void set_f32(struct file *f, const char *what, double x)
{
    struct psc_gguf_pair *pair = pair_of(f, what);
    pair->type = PSC_GGUF_F32;
    pair->f = x;
}

static struct file file_new(const char *preset, const char *mix)
{
    struct file f = {0};
    struct psc_model *shapes;
    g_assert_cmpint(psc_model_preset(&f.arena, psc_preset_find(preset), mix, &shapes, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&f.arena, shapes, 3, &f.model, NULL), ==, PSC_OK);
    const struct psc_hyper *h = &f.model->hyper;
    f.pairs[f.pair_n++] = (struct psc_gguf_pair){.key = "general.architecture", .type = PSC_GGUF_STRING,
                                                 .text = psc_arch_name(h->arch)};
    set_u32(&f, "block_count", h->n_layer);
    set_u32(&f, "embedding_length", h->n_embd);
    set_u32(&f, "feed_forward_length", h->n_ff);
    set_u32(&f, "attention.head_count", h->n_head);
    set_u32(&f, "attention.head_count_kv", h->n_head_kv);
    set_u32(&f, "attention.key_length", h->hd);
    set_u32(&f, "context_length", h->n_ctx_max);
    f.entries = psc_arena_alloc0(&f.arena, f.model->file_n, sizeof *f.entries);
    for (uint32_t i = 0; i < f.model->file_n; i++) {
        const struct psc_weight *w = &f.model->weights[i];
        f.entries[i] = (struct psc_gguf_entry){.name = w->name, .type = w->type, .n_dims = w->out > 1 ? 2 : 1,
                                               .dims = {w->in, w->out, 1, 1}};
    }
    return f;
}

static enum psc_status fill(void *ctx, uint32_t entry, uint64_t at, void *dst, uint64_t n, struct psc_error *reterr)
{
    const struct file *f = ctx;
    (void)reterr;
    memcpy(dst, (const char *)f->model->weights[entry].data + at, n);
    return PSC_OK;
}

static bool append(void *ctx, const char *bytes, size_t n)
{
    g_byte_array_append(ctx, (const guint8 *)bytes, (guint)n);
    return true;
}

static enum psc_status read_back(struct file *f, struct psc_arena *arena, struct psc_model **ret, struct psc_error *reterr)
{
    struct psc_gguf_outline outline = {.pairs = f->pairs, .pair_n = f->pair_n, .entries = f->entries,
                                       .entry_n = f->model->file_n, .fill = fill, .ctx = f};
    struct psc_gguf *gguf = psc_arena_alloc(&f->arena, 1, sizeof *gguf);
    if (f->bytes)
        g_byte_array_unref(f->bytes);
    f->bytes = g_byte_array_new();
    if (psc_gguf_write_to(&outline, append, f->bytes, reterr) ||
        psc_gguf_parse(&f->arena, f->bytes->data, f->bytes->len, gguf, reterr))
        g_error("%s", reterr->text);
    return psc_model_from_gguf(arena, gguf, "m.gguf", ret, reterr);
}

static void file_release(struct file *f)
{
    psc_arena_release(&f->arena);
    if (f->bytes)
        g_byte_array_unref(f->bytes);
}

static void test_reads(void)
{
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3", "tiny-qwen2-k", "tiny-qwen3-k"};
    for (unsigned k = 0; k < G_N_ELEMENTS(presets); k++) {
        struct file f = file_new(presets[k], NULL);
        struct psc_arena arena = {0};
        struct psc_model *model = NULL;
        struct psc_error error = {0};
        g_assert_cmpint(read_back(&f, &arena, &model, &error), ==, PSC_OK);
        g_assert_cmpstr(model->name, ==, "m.gguf");
        g_assert_nonnull(model->gguf);
        g_assert_cmpuint(model->file_n, ==, f.model->file_n);
        g_assert_cmpuint(model->weight_n, ==, f.model->weight_n);
        g_assert_cmpuint(model->weight_bytes, ==, f.model->weight_bytes);
        for (uint32_t i = 0; i < model->file_n; i++) {
            const struct psc_weight *w = psc_model_weight(model, f.model->weights[i].name);
            g_assert_nonnull(w);
            g_assert_cmpint(w->type, ==, f.model->weights[i].type);
            g_assert_cmpmem(w->data, w->bytes, f.model->weights[i].data, f.model->weights[i].bytes);
        }
        const struct psc_hyper *a = &model->hyper, *b = &f.model->hyper;
        g_assert_cmpuint(a->n_kv, ==, b->n_kv);
        g_assert_cmpuint(a->n_vocab, ==, 512);
        g_assert_cmpuint(a->hd, ==, b->hd);
        g_assert_cmpint(a->tied, ==, b->tied);
        /* what the file does not say */
        g_assert_cmpfloat(a->eps, ==, 1e-6f);
        g_assert_cmpfloat(a->freq_base, ==, 10000);
        g_assert_cmpfloat(a->freq_scale, ==, 1);
        psc_arena_release(&arena);
        file_release(&f);
    }
}

static void drop(struct file *f, const char *what)
{
    struct psc_gguf_pair *pair = pair_of(f, what);
    *pair = f->pairs[--f->pair_n];
}

static void test_defaults(void)
{
    struct file f = file_new("tiny-qwen2", NULL);
    struct psc_arena arena = {0};
    struct psc_model *model = NULL;
    struct psc_error error = {0};
    drop(&f, "context_length");
    drop(&f, "attention.key_length"); /* then the width over the heads */
    set_f32(&f, "attention.layer_norm_rms_epsilon", 1e-5);
    set_f32(&f, "rope.freq_base", 1e6);
    set_f32(&f, "rope.frequency_scale", 0.5);
    g_assert_cmpint(read_back(&f, &arena, &model, &error), ==, PSC_OK);
    g_assert_cmpuint(model->hyper.n_ctx_max, ==, 32768);
    g_assert_cmpuint(model->hyper.hd, ==, 16);
    g_assert_cmpfloat(model->hyper.eps, ==, 1e-5f);
    g_assert_cmpfloat(model->hyper.freq_base, ==, 1e6f);
    g_assert_cmpfloat(model->hyper.freq_scale, ==, 0.5f);
    psc_arena_release(&arena);
    file_release(&f);
}

static void test_scaling(void)
{
    static const struct {
        const char *type;
        double factor;
        float scale;
        const char *sentence;
    } rows[] = {
        {"none", 4, 1, NULL},
        {"linear", 4, 0.25f, NULL},
        {"linear", 0, 0, "qwen2.rope.scaling.factor is 0; it would be above 0"},
        {"yarn", 4, 0, "the model asks for rotation scaling 'yarn'; none and linear are computed here"},
    };
    for (unsigned k = 0; k < G_N_ELEMENTS(rows); k++) {
        struct file f = file_new("tiny-qwen2", NULL);
        struct psc_arena arena = {0};
        struct psc_model *model = NULL;
        struct psc_error error = {0};
        struct psc_gguf_pair *pair = pair_of(&f, "rope.scaling.type");
        pair->type = PSC_GGUF_STRING;
        pair->text = rows[k].type;
        set_f32(&f, "rope.scaling.factor", rows[k].factor);
        enum psc_status status = read_back(&f, &arena, &model, &error);
        if (rows[k].sentence)
            g_assert_cmpstr(error.text, ==, rows[k].sentence);
        else
            g_assert_cmpfloat(model->hyper.freq_scale, ==, rows[k].scale);
        g_assert_cmpint(status == PSC_OK, ==, !rows[k].sentence);
        psc_arena_release(&arena);
        file_release(&f);
    }
}

static void expect_failure(struct file *f, const char *part)
{
    struct psc_arena arena = {0};
    struct psc_model *model = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(read_back(f, &arena, &model, &error), !=, PSC_OK);
    if (!strstr(error.text, part))
        g_error("'%s' is not in '%s'", part, error.text);
    g_assert_null(model);
    psc_arena_release(&arena);
    file_release(f);
}

static void test_refusals(void)
{
    struct file f = file_new("tiny-qwen2", NULL);
    f.pairs[0].text = "llama";
    expect_failure(&f, "the model's architecture is 'llama'; graphs are built for qwen2 and qwen3");
    f = file_new("tiny-qwen2", NULL);
    drop(&f, "block_count");
    expect_failure(&f, "qwen2.block_count");
    f = file_new("tiny-qwen2", NULL);
    set_u32(&f, "block_count", 4);
    expect_failure(&f, "the model has no tensor 'blk.3.attn_norm.weight' [64, 1], which every qwen2 graph reads");
    f = file_new("tiny-qwen2", NULL);
    set_u32(&f, "attention.head_count", 0);
    expect_failure(&f, "qwen2.attention.head_count is 0");
    f = file_new("tiny-qwen2", NULL);
    set_u32(&f, "attention.value_length", 32);
    expect_failure(&f, "heads have keys of 16 and values of 32 elements");
    f = file_new("tiny-qwen2", NULL);
    set_u32(&f, "feed_forward_length", 100);
    expect_failure(&f, "tensor 'blk.0.ffn_gate.weight' is [64, 128]; by the other numbers of the model it would be [64, 100]");
    f = file_new("tiny-qwen2", NULL);
    set_u32(&f, "embedding_length", 32);
    expect_failure(&f, "tensor 'token_embd.weight' is [64, 512]; by the other numbers of the model it would be [32, 512]");
    f = file_new("tiny-qwen3", NULL);
    f.pairs[0].text = "qwen2"; /* its numbers then have other names */
    expect_failure(&f, "qwen2.block_count");
    f = file_new("tiny-qwen2", NULL);
    set_u32(&f, "block_count", 4000000000u);
    expect_failure(&f, "the model's number of layers is 4000000000; it would be 1 to 4096");
    f = file_new("tiny-qwen2", NULL);
    f.entries[0].n_dims = 3;
    f.entries[0].dims[1] = 256;
    f.entries[0].dims[2] = 2;
    expect_failure(&f, "the model has no matrix 'token_embd.weight'");
}

/* Bytes of the metadata at random: a sentence or a model whose graph can be built, never anything else. */
static void test_mutations(void)
{
    struct file f = file_new("tiny-qwen3", NULL);
    struct psc_arena arena = {0};
    struct psc_model *model = NULL;
    struct psc_error error = {0};
    guint64 seed = test_seed(), state = seed;
    unsigned refused = 0, built = 0;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    g_assert_cmpint(read_back(&f, &arena, &model, &error), ==, PSC_OK);
    uint64_t head = model->gguf->data_at;
    for (unsigned round = 0; round < 4000; round++) {
        struct psc_arena scratch = {0};
        struct psc_gguf gguf;
        struct psc_graph *g;
        struct psc_model_graph_options o = {.n_tokens = 1 + round % 3, .n_ctx = 16, .fuse_qkv = true, .fuse_ffn = true};
        uint64_t at[3];
        guint8 old[3];
        for (unsigned k = 0; k < 3; k++) {
            at[k] = psc_random_next(&state) % head;
            old[k] = f.bytes->data[at[k]];
            f.bytes->data[at[k]] = (guint8)(k < round % 4 ? psc_random_next(&state) : old[k]);
        }
        *error.text = '\0';
        enum psc_status status = psc_gguf_parse(&scratch, f.bytes->data, f.bytes->len, &gguf, &error);
        if (!status)
            status = psc_model_from_gguf(&scratch, &gguf, "m", &model, &error);
        if (!status)
            status = psc_model_graph(&scratch, model, &o, &g, &error);
        g_assert_true(!status || *error.text);
        refused += status != PSC_OK;
        built += status == PSC_OK;
        for (unsigned k = 3; k-- > 0;)
            f.bytes->data[at[k]] = old[k];
        psc_arena_release(&scratch);
    }
    g_assert_cmpuint(refused, >, 1000);
    g_assert_cmpuint(built, >, 500);
    psc_arena_release(&arena);
    file_release(&f);
}

/* ---- through JSON ---------------------------------------------------------------------------------------------------- */

static void assert_round_trip(struct psc_graph *g)
{
    struct psc_phase phase = {.graph = g, .kind = ""};
    struct psc_text out = {0}, again = {0};
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_graph_write(&phase, false, &out, &error), ==, PSC_OK);
    if (psc_trace_open_memory("g", out.s, out.n, NULL, &report, &doc, &error))
        g_error("%s", error.text);
    for (size_t i = 0; i < doc->report.n; i++) /* seq_ids is read by nobody */
        g_assert_true(strstr(doc->report.items[i].text, "unused") != NULL);
    const struct psc_graph *back = doc->phases[0].graph;
    g_assert_true(psc_graph_same_structure(g, back));
    for (psc_node i = 0; i < g->n; i++) {
        struct psc_params p = *back->nodes[i].params;
        if (g->nodes[i].op != PSC_OP_PERMUTE) /* a file that says nothing means the order as it is */
            memset(p.perm, 0, sizeof p.perm);
        if (!psc_params_equal(g->nodes[i].params, &p))
            g_error("node %u (%s): parameters differ", i, g->nodes[i].name);
        g_assert_cmpstr(psc_node_backend_name(g, i), ==, psc_node_backend_name(back, i));
        g_assert_cmpint(g->nodes[i].layer, ==, back->nodes[i].layer);
    }
    g_assert_cmpint(psc_graph_write(&doc->phases[0], false, &again, &error), ==, PSC_OK);
    g_assert_cmpstr(again.s, ==, out.s);
    psc_doc_free(doc);
    psc_report_release(&report);
    psc_text_release(&out);
    psc_text_release(&again);
}

static void test_round_trip(void)
{
    static const struct psc_target targets[] = {{"cpu", NULL, 100, NULL, NULL, false},
                                                {"deferred", "metal", 300, NULL, NULL, true}};
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3", "tiny-qwen2-k"};
    struct psc_offload offload;
    unsigned made = 0;
    g_assert_cmpint(psc_offload_parse("mixed:0-1=deferred", targets, 2, &offload, NULL), ==, PSC_OK);
    for (unsigned bits = 0; bits < 3 * 3 * 16; bits++) {
        struct psc_arena arena = {0};
        struct psc_model *model;
        struct psc_graph *g;
        unsigned b = bits / 9;
        struct psc_model_graph_options o = {.n_ctx = 32, .kv_inputs = (enum psc_kv_inputs)(bits / 3 % 3)};
        o.n_tokens = b & 1 ? 1 : 4;
        o.fuse_qkv = o.bias_rope_store = b & 2;
        o.fuse_ffn = b & 4;
        o.row_elems = b & 8 ? 9 : 0;
        g_assert_cmpint(psc_model_preset(&arena, psc_preset_find(presets[bits % 3]), NULL, &model, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_model_graph_on(&arena, model, &o, targets, 2, &offload, &g, NULL), ==, PSC_OK);
        assert_round_trip(g);
        psc_arena_release(&arena);
        made++;
    }
    g_assert_cmpuint(made, ==, 144);
}

/* Every op that has parameters, made in code, says them in a file. */
static void test_settings(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g = NULL;
    struct psc_params p = {0};
    psc_node x = psc_builder_input(b, "x", PSC_F32, 8, 2), y;
    p.scale = 2.5f, p.has_scale = true;
    y = psc_builder_op(b, "s", PSC_OP_SCALE, &x, 1, &p);
    p = (struct psc_params){.dim = 1};
    y = psc_builder_op(b, "m", PSC_OP_SOFTMAX, &y, 1, &p);
    y = psc_builder_op(b, "c", PSC_OP_CONCAT, (psc_node[]){y, x}, 2, &p);
    y = psc_builder_node(b, "r", PSC_OP_RESHAPE, &y, 1, PSC_F32, (uint64_t[4]){4, 8, 1, 1}, NULL);
    p = (struct psc_params){.perm = {1, 0, 2, 3}};
    y = psc_builder_node(b, "t", PSC_OP_PERMUTE, &y, 1, PSC_F32, (uint64_t[4]){8, 4, 1, 1}, &p);
    y = psc_builder_view(b, "v", y, 8, 8, 2);
    p = (struct psc_params){.rope_style = PSC_ROPE_INTERLEAVED, .freq_base = 500, .freq_scale = 0.5f, .hd = 4, .n_head = 2};
    y = psc_builder_op(b, "o", PSC_OP_ROPE, (psc_node[]){y, x}, 2, &p);
    p = (struct psc_params){.attn_mode = PSC_ATTN_FLASH, .hd = 4, .hd_kv = 4, .n_head = 2, .n_head_kv = 1, .nkt = 4,
                            .scale = 0.5f, .has_scale = true, .explicit_span = true};
    psc_builder_set_layer(b, 3);
    psc_builder_output(b, psc_builder_op(b, "a", PSC_OP_ATTN, (psc_node[]){y, x, x, x}, 4, &p));
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(b);
    assert_round_trip(g);
    psc_arena_release(&arena);
}

static enum psc_status oom_read(void *data)
{
    struct psc_arena arena = {0};
    struct psc_model *model = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_model_from_gguf(&arena, data, "m", &model, &error);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct file f = file_new("tiny-qwen2", NULL);
    struct psc_arena arena = {0};
    struct psc_model *model = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(read_back(&f, &arena, &model, &error), ==, PSC_OK);
    g_assert_cmpuint(test_oom_loop(oom_read, (void *)model->gguf), >, 1);
    psc_arena_release(&arena);
    file_release(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/model-file/a-written-model-reads-back", test_reads);
    g_test_add_func("/traces/model-file/what-the-file-does-not-say-has-defaults", test_defaults);
    g_test_add_func("/traces/model-file/rotation-scaling-none-and-linear", test_scaling);
    g_test_add_func("/traces/model-file/refuses-by-name-and-number", test_refusals);
    g_test_add_func("/traces/model-file/random-metadata-is-a-sentence-or-a-model", test_mutations);
    g_test_add_func("/traces/model-file/graphs-go-through-json-and-back", test_round_trip);
    g_test_add_func("/traces/model-file/parameters-of-every-op-are-said", test_settings);
    g_test_add_func("/traces/model-file/oom", test_oom);
    return g_test_run();
}
