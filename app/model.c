#include "app/model.h"

#include "app/targets.h"
#include "core/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool app_is_model_file(const char *path)
{
    char magic[4];
    struct stat info; /* a pipe is no model, and to open one may take for ever */
    FILE *f = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    bool is = f && fread(magic, 1, sizeof magic, f) == sizeof magic && !memcmp(magic, "GGUF", sizeof magic);
    if (f)
        fclose(f);
    return is;
}

enum psc_status app_find_preset(const char *name, const struct psc_preset **ret, struct psc_error *reterr)
{
    struct psc_text known = {0};
    enum psc_status status = PSC_OK;
    const struct psc_preset *preset = psc_preset_find(name);
    if (!preset) {
        for (const struct psc_preset *p = psc_presets; p->name; p++)
            psc_text_addf(&known, "%s%s", p == psc_presets ? "" : ", ", p->name);
        status = known.failed ? psc_fail_nomem(reterr)
                              : psc_fail(reterr, PSC_ERR_USAGE, "there is no preset '%.60s'; there are: %s", name,
                                         psc_text_str(&known));
    } else {
        *ret = preset;
    }
    psc_text_release(&known);
    return status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

enum psc_status app_no_vocabulary(struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_USAGE, "this model has no vocabulary: give the prompt as numbers of tokens");
}

static enum psc_status open_preset(struct app_model *m, const struct app_model_request *request, struct psc_error *reterr)
{
    struct psc_model *shapes;
    enum psc_status status = app_find_preset(request->preset, &m->preset, reterr);
    if (!status)
        status = psc_model_preset(&m->arena, m->preset, request->weights, &shapes, reterr);
    if (!status && request->takes_text && !m->preset->is_tiny)
        status = app_no_vocabulary(reterr);
    if (status)
        return status;
    if (request->data)
        return psc_model_seeded_watched(&m->arena, shapes, request->seed, request->watch, &m->model, reterr);
    m->model = shapes;
    return PSC_OK;
}

enum psc_status app_model_open(struct app_model *ret, const struct app_model_request *request, struct psc_error *reterr)
{
    struct app_model m = {0};
    enum psc_status status;
    if (request->preset) {
        status = open_preset(&m, request, reterr);
    } else {
        status = psc_gguf_open(request->path, &m.file, reterr);
        if (!status)
            status = psc_model_from_gguf(&m.arena, psc_gguf_file_model(m.file), base_name(psc_gguf_file_part(m.file, 0)),
                                         &m.model, reterr);
    }
    if (status)
        app_model_close(&m);
    else
        *ret = m;
    return status;
}

void app_model_close(struct app_model *m)
{
    psc_arena_release(&m->arena);
    psc_gguf_close(m->file);
    *m = (struct app_model){0};
}

/* ---- its graphs as a document -------------------------------------------------------------------------------- */

static enum psc_status add_phases(const struct app_model *m, const struct app_model_view *view, struct psc_doc *doc,
                                  struct psc_error *reterr)
{
    uint32_t target_n;
    const struct psc_target *targets = app_targets(&target_n);
    const struct psc_hyper *hyper = &m->model->hyper;
    uint64_t tokens = view->tokens ? view->tokens : APP_TOKENS_DEFAULT;
    struct psc_model_graph_options options = {
        .n_ctx = psc_model_n_ctx(hyper, view->n_ctx, tokens), .row_elems = view->row_elems,
        .fuse_qkv = !view->no_fuse_qkv, .fuse_ffn = !view->no_fuse_ffn, .bias_rope_store = true,
    };
    struct psc_phase *phases = psc_arena_alloc0(&doc->arena, 2, sizeof *phases);
    struct psc_offload offload;
    enum psc_status status = phases ? PSC_OK : psc_fail_nomem(reterr);
    if (!status && tokens > options.n_ctx)
        status = psc_fail(reterr, PSC_ERR_USAGE, "a prompt of %" PRIu64 " tokens does not fit: position %" PRIu64
                          " at node %u (positions), n_ctx is %" PRIu32 ", and the model was made for no more", tokens, tokens - 1,
                          PSC_MODEL_POSITIONS, (uint32_t)options.n_ctx);
    if (!status)
        status = psc_offload_parse(view->backend ? view->backend : APP_BACKEND_DEFAULT, targets, target_n, &offload, reterr);
    for (int p = 0; p < 2 && !status; p++) {
        options.n_tokens = p ? 1 : tokens;
        phases[p].kind = p ? "decode" : "prefill";
        status = psc_model_graph_on(&doc->arena, m->model, &options, targets, target_n, &offload, &phases[p].graph, reterr);
    }
    doc->phases = phases;
    doc->phase_n = 2;
    return status;
}

enum psc_status app_model_doc(const struct app_model *m, const struct app_model_view *view, const char *path,
                              struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_doc *doc = psc_doc_new();
    enum psc_status status;
    if (!doc)
        return psc_fail_nomem(reterr);
    doc->path = psc_arena_strdup(&doc->arena, path);
    doc->model = psc_arena_strdup(&doc->arena, m->model->name);
    doc->format = m->file ? "gguf" : "preset";
    doc->version = m->file ? psc_gguf_file_model(m->file)->version : 1;
    status = doc->path && doc->model ? add_phases(m, view, doc, reterr) : psc_fail_nomem(reterr);
    if (status)
        psc_doc_free(doc);
    else
        *ret = doc;
    return status;
}
