/* core/model/model.h: one model: its hyper-parameters and its weights by name.
 *
 *     psc_model_from_gguf     a mapped file: data points into it
 *     psc_model_preset        shapes and types only, from the table in core/model/preset.h: data is NULL
 *     psc_model_seeded        a preset with weights from a seed (core/model/seed.h)
 *
 * Weights stand as the file lists them; after them the concatenated ones, which have parts and no bytes of their own:
 *
 *     blk.3.attn_qkv = attn_q | attn_k | attn_v      when the parts have one type, and one input width of whole blocks
 *     blk.3.ffn_gu   = ffn_gate | ffn_up
 *
 * Widths, for Qwen3-0.6B: n_embd 1024, hd 128, q n_head * hd = 2048 (not n_embd), k and v n_kv = 1024: n_kv is what the
 * K weight really makes, not n_head_kv * hd.
 * Ownership: the model lies in the arena; a file's texts and bytes are the file's and must live as long.
 * Lookups are O(log n). Threads: a finished model never changes.
 */
#ifndef PSC_CORE_MODEL_MODEL_H
#define PSC_CORE_MODEL_MODEL_H

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/model/weight.h"

#include <stdbool.h>
#include <stdint.h>

struct psc_gguf;

enum psc_arch { PSC_ARCH_QWEN2, PSC_ARCH_QWEN3, PSC_ARCH_N };
const char *psc_arch_name(enum psc_arch arch); /* "qwen2": general.architecture and the prefix of its keys */

struct psc_hyper {
    enum psc_arch arch;
    uint32_t n_layer, n_embd, n_head, n_head_kv, hd, n_ff, n_vocab;
    uint32_t n_kv;      /* elements of a K row, and of a V row */
    uint32_t n_ctx_max; /* positions that the model was made for */
    float eps, freq_base, freq_scale;
    bool tied;          /* no output.weight: the logits use token_embd.weight */
};

struct psc_model {
    const char *name;   /* as traces spell it: the file's name without folders, of a split model the first part's */
    struct psc_hyper hyper;
    const struct psc_weight *weights; /* [weight_n], the first file_n as the file lists them */
    uint32_t weight_n, file_n;
    const uint32_t *by_name; /* [weight_n], sorted by name */
    uint64_t weight_bytes;   /* of the first file_n */
    const struct psc_gguf *gguf; /* NULL when no file gave the weights */
};

/* NULL when the model has no such weight. */
const struct psc_weight *psc_model_weight(const struct psc_model *model, const char *name);
/* The same for psc_session_options: ctx is the model. */
const struct psc_weight *psc_model_weight_of(void *ctx, const char *name);

/* What a tensor is for, which decides its type in a mix and its scale in seeded weights. */
enum psc_tensor_role {
    PSC_TENSOR_EMBED, PSC_TENSOR_OUTPUT, PSC_TENSOR_NORM, PSC_TENSOR_BIAS, PSC_TENSOR_Q, PSC_TENSOR_K, PSC_TENSOR_V,
    PSC_TENSOR_O, PSC_TENSOR_GATE, PSC_TENSOR_UP, PSC_TENSOR_DOWN, PSC_TENSOR_ROLE_N
};
struct psc_tensor_spec {
    char name[48];      /* "blk.3.ffn_up.weight" */
    enum psc_tensor_role role;
    int32_t layer;      /* -1: none */
    uint64_t in, out;   /* out 1: norms and biases */
};
/* Every tensor that a graph of the architecture reads, in a fixed order. i < psc_hyper_tensor_n. Biases may be missing in
 * a model; nothing else. */
uint32_t psc_hyper_tensor_n(const struct psc_hyper *hyper);
void psc_hyper_tensor(const struct psc_hyper *hyper, uint32_t i, struct psc_tensor_spec *ret);
/* PSC_ERR_PARSE with a sentence when no graph can be built of these numbers: zero, heads that do not divide, an odd
 * head, sizes beyond their limits. */
enum psc_status psc_hyper_check(const struct psc_hyper *hyper, struct psc_error *reterr) PSC_MUST_CHECK;

/* name: copied. Everything the graph needs is there with the right shape and a supported type, else the sentence
 * names the tensor, what was found and what was expected. Other tensors are kept, not looked at. */
enum psc_status psc_model_from_gguf(struct psc_arena *arena, const struct psc_gguf *gguf, const char *name,
                                    struct psc_model **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* From weights made elsewhere: copies the array, makes the concatenated ones and the index, checks as above. */
enum psc_status psc_model_new(struct psc_arena *arena, const char *name, const struct psc_hyper *hyper,
                              const struct psc_weight *weights, uint32_t n, struct psc_model **ret,
                              struct psc_error *reterr) PSC_MUST_CHECK;

#define PSC_N_CTX_DEFAULT 4096u
/* min(max(asked, prompt tokens), model maximum); asked 0: PSC_N_CTX_DEFAULT. */
uint32_t psc_model_n_ctx(const struct psc_hyper *hyper, uint64_t asked, uint64_t prompt);
/* Bytes of the K and V regions of all layers, rows of row_elems 4-byte words (0: n_kv). false on overflow. */
bool psc_hyper_kv_bytes(const struct psc_hyper *hyper, uint64_t n_ctx, uint64_t row_elems, uint64_t *ret);

#endif
