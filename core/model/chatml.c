/* core/model/chatml.c: a conversation as text and as tokens (core/model/tokenizer.h). */
#include "core/model/tokenizer.h"

#include <string.h>

static const char begin_mark[] = "<|im_start|>", end_mark[] = "<|im_end|>";

void psc_chatml_text(const struct psc_chatml_message *messages, size_t n, bool begin_answer,
                     struct psc_text *out)
{
    for (size_t i = 0; i < n; i++)
        psc_text_addf(out, "%s%s\n%s%s\n", begin_mark, messages[i].role, messages[i].text, end_mark);
    if (begin_answer)
        psc_text_addf(out, "%sassistant\n", begin_mark);
}

struct writer {
    const struct psc_tokenizer *t;
    uint32_t begin, end; /* the markers */
    struct psc_tokens *tokens;
    struct psc_text scratch;
};

static enum psc_status add_mark(struct writer *w, uint32_t mark, struct psc_error *reterr)
{
    size_t n;
    const char *bytes = psc_tokenizer_bytes(w->t, mark, &n);
    return psc_tokenizer_encode(w->t, bytes, n, PSC_ENCODE_CONTROL, w->tokens, reterr);
}

/* Marker, role, newline and text: one stretch, as it would be in the text of the whole conversation. */
static enum psc_status add_opening(struct writer *w, const char *role, const char *text,
                                   struct psc_error *reterr)
{
    psc_text_clear(&w->scratch);
    psc_text_add(&w->scratch, role);
    psc_text_add(&w->scratch, "\n");
    psc_text_add(&w->scratch, text);
    if (w->scratch.failed)
        return psc_fail_nomem(reterr);
    enum psc_status status = add_mark(w, w->begin, reterr);
    if (status != PSC_OK)
        return status;
    return psc_tokenizer_encode(w->t, w->scratch.s, w->scratch.n, PSC_ENCODE_TEXT, w->tokens, reterr);
}

static enum psc_status add_message(struct writer *w, const struct psc_chatml_message *message,
                                   struct psc_error *reterr)
{
    enum psc_status status = add_opening(w, message->role, message->text, reterr);
    if (status == PSC_OK)
        status = add_mark(w, w->end, reterr);
    return status == PSC_OK ? psc_tokenizer_encode(w->t, "\n", 1, PSC_ENCODE_TEXT, w->tokens, reterr)
                            : status;
}

static bool find_mark(const struct psc_tokenizer *t, const char *name, uint32_t *ret)
{
    *ret = psc_tokenizer_find(t, name, strlen(name));
    if (*ret == PSC_TOKEN_NONE)
        return false;
    enum psc_token_type type = psc_tokenizer_type(t, *ret);
    return type == PSC_TOKEN_CONTROL || type == PSC_TOKEN_USER_DEFINED;
}

enum psc_status psc_chatml_encode(const struct psc_tokenizer *t, const struct psc_chatml_message *messages,
                                  size_t n, bool begin_answer, struct psc_tokens *tokens,
                                  struct psc_error *reterr)
{
    struct writer w = {.t = t, .tokens = tokens};
    if (!find_mark(t, begin_mark, &w.begin) || !find_mark(t, end_mark, &w.end))
        return psc_fail(
            reterr, PSC_ERR_UNAVAILABLE,
            "the vocabulary has no special tokens <|im_start|> and <|im_end|>, which a conversation needs");
    size_t before = tokens->n;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < n && status == PSC_OK; i++)
        status = add_message(&w, &messages[i], reterr);
    if (begin_answer && status == PSC_OK)
        status = add_opening(&w, "assistant", "", reterr);
    psc_text_release(&w.scratch);
    if (status != PSC_OK)
        tokens->n = before;
    return status;
}
