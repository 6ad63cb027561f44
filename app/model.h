/* app/model.h: a model by name: a GGUF file, or a preset; and the document of the two graphs that it makes.
 *
 *     app_model_open({.path = "m.gguf"}, &m)              mapped; weights have their bytes
 *     app_model_open({.preset = "qwen3-4b"}, &m)          shapes only, at once
 *     app_model_open({.preset = "tiny-qwen2", .data = true}, &m)   seeded weights
 *     app_model_doc(&m, {.tokens = 440}, &doc)            phases prefill (440 tokens) and decode (one)
 */
#ifndef PSC_APP_MODEL_H
#define PSC_APP_MODEL_H

#include "core/doc/doc.h"
#include "core/model/build.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "traces/gguf-file.h"

struct app_model_request {
    const char *path;    /* of a GGUF file, any part of a split one; or NULL */
    const char *preset;  /* or NULL: one of the two is there */
    const char *weights; /* preset: a mix (core/model/preset.h) instead of its own; NULL */
    bool data;           /* preset: make the weights, not only their shapes */
    uint64_t seed;       /* of the weights */
    bool takes_text;     /* a prompt will come as text: a preset without vocabulary is refused before its weights are made */
    const struct psc_seed_watch *watch; /* of the making, which takes seconds for large presets; NULL */
};
struct app_model { /* {0} is closed */
    struct psc_arena arena;
    struct psc_gguf_file *file;
    struct psc_model *model;
    const struct psc_preset *preset; /* NULL for a file */
};
enum psc_status app_model_open(struct app_model *ret, const struct app_model_request *request,
                               struct psc_error *reterr) PSC_MUST_CHECK;
void app_model_close(struct app_model *m);
bool app_is_model_file(const char *path); /* begins with "GGUF" */
/* "this model has no vocabulary: ..." */
enum psc_status app_no_vocabulary(struct psc_error *reterr);
/* "there is no preset 'qwen4'; there are: ..." */
enum psc_status app_find_preset(const char *name, const struct psc_preset **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#define APP_TOKENS_DEFAULT 16u
#define APP_BACKEND_DEFAULT "deferred" /* what the published graphs were made for; written "metal" */
struct app_model_view {
    uint64_t tokens;     /* of the prompt; 0: APP_TOKENS_DEFAULT */
    uint64_t n_ctx;      /* as asked for, see psc_model_n_ctx; 0: the default */
    uint64_t row_elems;  /* words of a KV row; 0: f32 rows */
    const char *backend; /* psc_offload_parse; NULL: APP_BACKEND_DEFAULT */
    bool no_fuse_qkv, no_fuse_ffn;
};
/* The document needs nothing of the model once it is made. path: what it is called; copied. */
enum psc_status app_model_doc(const struct app_model *m, const struct app_model_view *view, const char *path,
                              struct psc_doc **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
