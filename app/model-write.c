#include "app/model-write.h"

#include "core/base/mem.h"
#include "core/model/seed.h"
#include "core/model/tiny-vocab.h"
#include "traces/gguf-write.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAIRS_MAX = 40, PROGRESS_STEP = 1 << 22 };

struct writing {
    const struct app_model_writing *what;
    struct psc_arena arena;
    const struct psc_model *model;
    struct psc_gguf_pair pairs[PAIRS_MAX];
    uint32_t pair_n;
    struct psc_tensor_spec *specs; /* [entry_n] */
    struct psc_gguf_entry *entries;
    uint32_t entry_n;
    uint64_t done, told, total;
};

/* ---- metadata ------------------------------------------------------------------------------------------------- */

static struct psc_gguf_pair *add(struct writing *w, const char *key, enum psc_gguf_type type)
{
    struct psc_gguf_pair *pair = &w->pairs[w->pair_n++];
    *pair = (struct psc_gguf_pair){.key = key, .type = type};
    return pair;
}

/* "qwen2.block_count"; NULL when out of memory. */
static const char *of_arch(struct writing *w, const char *what)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", psc_arch_name(w->model->hyper.arch), what);
    return psc_arena_strdup(&w->arena, key);
}

static void add_hyper(struct writing *w)
{
    const struct psc_hyper *h = &w->model->hyper;
    const struct {
        const char *key;
        uint32_t n;
    } numbers[] = {
        {"block_count", h->n_layer},           {"context_length", h->n_ctx_max},
        {"embedding_length", h->n_embd},       {"feed_forward_length", h->n_ff},
        {"attention.head_count", h->n_head},   {"attention.head_count_kv", h->n_head_kv},
        {"attention.key_length", h->hd},       {"attention.value_length", h->hd},
        {"vocab_size", h->n_vocab},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add(w, of_arch(w, numbers[i].key), PSC_GGUF_U32)->u = numbers[i].n;
    add(w, of_arch(w, "attention.layer_norm_rms_epsilon"), PSC_GGUF_F32)->f = (double)h->eps;
    add(w, of_arch(w, "rope.freq_base"), PSC_GGUF_F32)->f = (double)h->freq_base;
}

/* The number by which other programs call a mix. */
static uint32_t file_type(const char *mix)
{
    static const struct {
        const char *mix;
        uint32_t number;
    } types[] = {{"f32", 0},  {"f16", 1},  {"q4_0", 2},    {"q4_1", 3},  {"q8_0", 7}, {"q5_0", 8},
                 {"q5_1", 9}, {"q4_k", 14}, {"q4_k_m", 15}, {"q5_k", 16}, {"q6_k", 18}, {"bf16", 32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *a = types[i].mix, *b = mix;
        while (*a && *a == tolower((unsigned char)*b))
            a++, b++;
        if (!*a && !*b)
            return types[i].number;
    }
    return 0;
}

static bool add_tokens(struct writing *w)
{
    const struct psc_vocab *vocab = psc_tiny_vocab();
    uint32_t n = w->model->hyper.n_vocab;
    struct psc_gguf_text *tokens = psc_arena_alloc(&w->arena, n, sizeof *tokens);
    struct psc_gguf_text *merges = psc_arena_alloc(&w->arena, vocab->merge_n, sizeof *merges);
    int32_t *types = psc_arena_alloc(&w->arena, n, sizeof *types);
    struct psc_gguf_pair *pair;
    if (!tokens || !merges || !types)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        char pad[24];
        if (i < vocab->n) {
            tokens[i] = (struct psc_gguf_text){vocab->tokens[i].s, vocab->tokens[i].n};
            types[i] = vocab->types ? vocab->types[i] : PSC_TOKEN_NORMAL;
            continue;
        }
        tokens[i].n = (uint64_t)snprintf(pad, sizeof pad, "[PAD%" PRIu32 "]", i);
        tokens[i].s = psc_arena_strdup(&w->arena, pad);
        types[i] = PSC_TOKEN_UNUSED;
        if (!tokens[i].s)
            return false;
    }
    for (uint32_t i = 0; i < vocab->merge_n; i++)
        merges[i] = (struct psc_gguf_text){vocab->merges[i].s, vocab->merges[i].n};
    add(w, "tokenizer.ggml.model", PSC_GGUF_STRING)->text = "gpt2";
    add(w, "tokenizer.ggml.pre", PSC_GGUF_STRING)->text = vocab->pre ? vocab->pre : "qwen2";
    pair = add(w, "tokenizer.ggml.tokens", PSC_GGUF_ARRAY);
    pair->item = PSC_GGUF_STRING, pair->n = n, pair->items = tokens;
    pair = add(w, "tokenizer.ggml.token_type", PSC_GGUF_ARRAY);
    pair->item = PSC_GGUF_I32, pair->n = n, pair->items = types;
    pair = add(w, "tokenizer.ggml.merges", PSC_GGUF_ARRAY);
    pair->item = PSC_GGUF_STRING, pair->n = vocab->merge_n, pair->items = merges;
    add(w, "tokenizer.ggml.eos_token_id", PSC_GGUF_U32)->u = vocab->eos;
    add(w, "tokenizer.ggml.bos_token_id", PSC_GGUF_U32)->u = vocab->bos;
    add(w, "tokenizer.ggml.padding_token_id", PSC_GGUF_U32)->u = vocab->bos;
    add(w, "tokenizer.ggml.add_bos_token", PSC_GGUF_BOOL)->u = vocab->add_bos;
    return true;
}

static bool add_pairs(struct writing *w)
{
    const struct psc_preset *preset = w->what->preset;
    struct psc_text text = {0};
    char *description;
    psc_text_addf(&text, "made by planscope from seed %" PRIu64 ", not trained", w->what->seed);
    description = psc_text_keep(&text, &w->arena);
    add(w, "general.architecture", PSC_GGUF_STRING)->text = psc_arch_name(w->model->hyper.arch);
    add(w, "general.name", PSC_GGUF_STRING)->text = preset->name;
    add(w, "general.description", PSC_GGUF_STRING)->text = description;
    add(w, "general.file_type", PSC_GGUF_U32)->u = file_type(w->what->weights ? w->what->weights : preset->mix);
    add(w, "general.quantization_version", PSC_GGUF_U32)->u = 2;
    add_hyper(w);
    if (!description || !add_tokens(w))
        return false;
    for (uint32_t i = 0; i < w->pair_n; i++)
        if (!w->pairs[i].key)
            return false;
    return true;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

static bool list_entries(struct writing *w)
{
    const struct psc_hyper *h = &w->model->hyper;
    w->entry_n = psc_hyper_tensor_n(h);
    w->specs = psc_arena_alloc(&w->arena, w->entry_n, sizeof *w->specs);
    w->entries = psc_arena_alloc0(&w->arena, w->entry_n, sizeof *w->entries);
    if (!w->specs || !w->entries)
        return false;
    for (uint32_t i = 0; i < w->entry_n; i++) {
        const struct psc_weight *weight;
        psc_hyper_tensor(h, i, &w->specs[i]);
        weight = psc_model_weight(w->model, w->specs[i].name);
        w->entries[i] = (struct psc_gguf_entry){
            .name = w->specs[i].name, .type = weight->type, .n_dims = weight->out > 1 ? 2 : 1,
            .dims = {weight->in, weight->out, 1, 1},
        };
    }
    w->total = w->model->weight_bytes;
    return true;
}

static enum psc_status fill(void *ctx, uint32_t entry, uint64_t at, void *dst, uint64_t n, struct psc_error *reterr)
{
    struct writing *w = ctx;
    const struct psc_wtype_info *info = psc_wtype_info(w->entries[entry].type);
    (void)reterr;
    psc_seed_blocks(&w->model->hyper, &w->specs[entry], w->entries[entry].type, w->what->seed,
                    at / info->bytes * info->block, n / info->bytes * info->block, dst);
    w->done += n;
    if (w->what->progress && w->done - w->told >= PROGRESS_STEP) {
        w->told = w->done;
        w->what->progress(w->what->ctx, w->done, w->total);
    }
    return PSC_OK;
}

/* path NULL: to `write`. */
static enum psc_status write_model(const struct app_model_writing *what, const char *path, psc_write_fn write,
                                   void *write_ctx, struct psc_error *reterr)
{
    struct writing w = {.what = what};
    struct psc_model *model;
    enum psc_status status = psc_model_preset(&w.arena, what->preset, what->weights, &model, reterr);
    if (!status) {
        w.model = model;
        if (!list_entries(&w) || !add_pairs(&w))
            status = psc_fail_nomem(reterr);
    }
    if (!status) {
        struct psc_gguf_outline outline = {
            .pairs = w.pairs, .pair_n = w.pair_n, .entries = w.entries, .entry_n = w.entry_n, .fill = fill, .ctx = &w,
        };
        status = path ? psc_gguf_write(path, &outline, reterr) : psc_gguf_write_to(&outline, write, write_ctx, reterr);
    }
    psc_arena_release(&w.arena);
    return status;
}

enum psc_status app_model_write(const struct app_model_writing *what, const char *path, struct psc_error *reterr)
{
    return write_model(what, path, NULL, NULL, reterr);
}

enum psc_status app_model_write_to(const struct app_model_writing *what, psc_write_fn write, void *write_ctx,
                                   struct psc_error *reterr)
{
    return write_model(what, NULL, write, write_ctx, reterr);
}
