/* core/model/preset.h: models that are known without a file: shapes, and which weight has which type.
 *
 *     qwen2.5-0.5b   q4_k_m   24 layers, width 896: no multiple of 256, so its q4_K is q5_0 and its q6_K is q8_0
 *     qwen2.5-7b     q4_k_m   28 layers, width 3584
 *     qwen3-0.6b     q8_0     28 layers, tied
 *     qwen3-4b       q4_k_m   36 layers, tied
 *     tiny-qwen2     f32      3 layers, width 64: 0.7 MB of seeded weights, vocabulary of core/model/tiny-vocab.h
 *     tiny-qwen3     f32      3 layers, width 64, heads of 32
 *     tiny-qwen2-k, tiny-qwen3-k   q4_k_m   width 256, so that K-quants fit
 *
 * A mix says which type each tensor gets. `q4_k_m` follows the rule by which the published files were made: attn_v and
 * ffn_down get the better type in the first and last eighth of the layers and in every third between, where layers are
 * counted in the order of their names (blk.0, blk.1, blk.10, blk.11, ..., blk.2, blk.20, ...). Norms and biases are
 * always f32.
 */
#ifndef PSC_CORE_MODEL_PRESET_H
#define PSC_CORE_MODEL_PRESET_H

#include "core/model/model.h"

struct psc_preset {
    const char *name;  /* "qwen2.5-0.5b" */
    const char *text;  /* one line */
    const char *file;  /* name of the published file, or of the one that export writes */
    const char *mix;   /* types of its weights */
    struct psc_hyper hyper;
    bool is_tiny;      /* vocabulary of core/model/tiny-vocab.h */
};
/* Ends with a NULL name. */
extern const struct psc_preset psc_presets[];
const struct psc_preset *psc_preset_find(const char *name); /* NULL when unknown */

/* "f32" "f16" "bf16" "q8_0" "q4_0" "q4_1" "q5_0" "q5_1" "q4_K" "q5_K" "q6_K" (letters of either case), "q4_k_m". */
bool psc_mix_known(const char *mix);
/* Type of one tensor. A type whose blocks do not fit `in` falls back: q4_K to q5_0, q5_K to q5_1, q6_K to q8_0, and
 * what does not fit 32 values either to f16. */
enum psc_wtype psc_mix_type(const char *mix, const struct psc_hyper *hyper, const struct psc_tensor_spec *tensor);
/* True for the layers whose attn_v and ffn_down get the better type in q4_k_m. */
bool psc_mix_more_bits(uint32_t layer, uint32_t n_layer);

/* Shapes only: every data is NULL. mix NULL: the preset's own. */
enum psc_status psc_model_preset(struct psc_arena *arena, const struct psc_preset *preset, const char *mix,
                                 struct psc_model **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
