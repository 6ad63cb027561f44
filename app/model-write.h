/* app/model-write.h: writes a preset as a real GGUF file: weights from a seed, a vocabulary that cuts text.
 *
 * The vocabulary is that of core/model/tiny-vocab.h; a preset with more tokens gets placeholders ("[PAD512]" and on,
 * marked unused) up to its size. Other engines open the file too. Tensors are made piece by piece: a 0.5B file needs
 * a few megabytes of memory.
 */
#ifndef PSC_APP_MODEL_WRITE_H
#define PSC_APP_MODEL_WRITE_H

#include "core/model/preset.h"
#include "traces/traces.h"

struct app_model_writing {
    const struct psc_preset *preset;
    const char *weights; /* a mix; NULL: the preset's own */
    uint64_t seed;
    /* Called now and then; NULL: never. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
};
/* To a file, through a temporary one. */
enum psc_status app_model_write(const struct app_model_writing *what, const char *path,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* To anywhere. */
enum psc_status app_model_write_to(const struct app_model_writing *what, psc_write_fn write, void *write_ctx,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

#endif
