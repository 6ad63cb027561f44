/* core/model/seed.h: weights out of a seed, for models that are made, not trained.
 *
 * Same preset, mix and seed: same bytes, on every machine. Each tensor has its own stream of numbers (from its name and
 * the seed) in which any place can be reached at once, so tensors may be made in any order and piece by piece: a 0.5B model
 * is written without being held in memory.
 *
 * Scales keep activations near one: norms near 1, matrices uniform with variance 1/in, those that write into the residual
 * with 4/in, so that blocks matter beside the embedding, biases small. Logits have a deviation of about 2 and none is
 * favoured: greedy decoding wanders through the vocabulary. Tokens that are no text (control bytes,
 * halves of characters, <|im_end|>) have a quarter of that.
 */
#ifndef PSC_CORE_MODEL_SEED_H
#define PSC_CORE_MODEL_SEED_H

#include "core/model/model.h"

/* Values [at, at + n) of one tensor, as f32. */
void psc_seed_values(const struct psc_hyper *hyper, const struct psc_tensor_spec *tensor, uint64_t seed, uint64_t at,
                     uint64_t n, float *values);
/* The same values as the blocks of a type: at and n are multiples of its block. */
void psc_seed_blocks(const struct psc_hyper *hyper, const struct psc_tensor_spec *tensor, enum psc_wtype type,
                     uint64_t seed, uint64_t at, uint64_t n, void *blocks);
/* Told every million values, `bytes` of the `total` being made; false ends it. */
struct psc_seed_watch {
    bool (*progress)(void *ctx, uint64_t bytes, uint64_t total);
    void *ctx;
};
/* `shapes` with data: a model whose weights lie in the arena. About 10 s for 0.5B. watch: NULL for none;
 * PSC_ERR_CANCELLED when it ended the making. */
enum psc_status psc_model_seeded_watched(struct psc_arena *arena, const struct psc_model *shapes, uint64_t seed,
                                         const struct psc_seed_watch *watch, struct psc_model **ret,
                                         struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_model_seeded(struct psc_arena *arena, const struct psc_model *shapes, uint64_t seed,
                                 struct psc_model **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
