#include "app/subject.h"

#include "core/model/tiny-vocab.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <string.h>

static enum psc_status open_tokenizer(struct app_subject *s, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_vocab vocab;
    enum psc_status status = PSC_OK;
    if (s->model.file) {
        status = psc_vocab_from_gguf(&scratch, psc_gguf_file_model(s->model.file), &vocab, reterr);
        if (status == PSC_OK)
            status = psc_tokenizer_new(&vocab, &s->tokenizer, reterr);
    } else if (s->model.preset->is_tiny) {
        status = psc_tokenizer_new(psc_tiny_vocab(), &s->tokenizer, reterr);
    }
    psc_arena_release(&scratch);
    return status;
}

static enum psc_status open_graph(struct app_subject *s, const char *path, uint32_t phase, struct psc_report *report,
                                  struct psc_error *reterr)
{
    enum psc_status status = psc_trace_open(path, NULL, report, &s->doc, reterr);
    if (status == PSC_OK && phase >= s->doc->phase_n)
        status = psc_doc_scan_all(s->doc, reterr);
    if (status != PSC_OK)
        return status;
    if (phase >= s->doc->phase_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no phase %" PRIu32 ": the file has %" PRIu32 " %s, counted from 0", phase,
                        s->doc->phase_n, s->doc->phase_n == 1 ? "phase" : "phases");
    s->graph = s->doc->phases[phase].graph;
    return s->graph ? PSC_OK : psc_fail(reterr, PSC_ERR_USAGE, "phase %" PRIu32 " has no graph to run", phase);
}

enum psc_status app_subject_open(struct app_subject *ret, const struct app_model_request *request, uint32_t phase,
                                 struct psc_report *report, struct psc_error *reterr)
{
    struct app_subject s = {0};
    struct app_model_request own = *request;
    enum psc_status status;
    own.data = true;
    if (request->preset || app_is_model_file(request->path)) {
        status = app_model_open(&s.model, &own, reterr);
        if (status == PSC_OK)
            status = open_tokenizer(&s, reterr);
    } else {
        status = open_graph(&s, request->path, phase, report, reterr);
    }
    if (status == PSC_OK)
        *ret = s;
    else
        app_subject_close(&s);
    return status;
}

void app_subject_close(struct app_subject *s)
{
    psc_tokenizer_free(s->tokenizer);
    app_model_close(&s->model);
    psc_doc_free(s->doc);
    *s = (struct app_subject){0};
}

enum psc_status app_subject_encode(const struct app_subject *s, const char *text, bool chat, struct psc_tokens *tokens,
                                   struct psc_error *reterr)
{
    const struct psc_chatml_message message = {"user", text};
    if (!s->tokenizer)
        return app_no_vocabulary(reterr);
    if (chat)
        return psc_chatml_encode(s->tokenizer, &message, 1, true, tokens, reterr);
    return psc_tokenizer_encode(s->tokenizer, text, strlen(text), PSC_ENCODE_CONTROL | PSC_ENCODE_BOS, tokens, reterr);
}
