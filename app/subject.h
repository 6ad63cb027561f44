/* app/subject.h: what a run is of: a model with its tokenizer, or a graph out of a file.
 *
 *     app_subject_open({.path = "m.gguf"})        a model: mapped, tokenizer from its metadata
 *     app_subject_open({.preset = "tiny-qwen2"})  a model: seeded weights, the tiny vocabulary
 *     app_subject_open({.path = "graph.json"})    the graph of a minfer-graph, or of one phase of a trace
 */
#ifndef PSC_APP_SUBJECT_H
#define PSC_APP_SUBJECT_H

#include "app/model.h"
#include "core/model/tokenizer.h"

struct app_subject { /* {0} is closed */
    struct app_model model;         /* model.model NULL: a graph */
    struct psc_tokenizer *tokenizer; /* owned; NULL: a graph, or a preset without vocabulary */
    struct psc_doc *doc;            /* owned; of a graph file */
    const struct psc_graph *graph;  /* in doc; NULL: a model */
};
/* request->data counts as true. phase: of a trace. report: faults of a graph file, may be NULL. */
enum psc_status app_subject_open(struct app_subject *ret, const struct app_model_request *request, uint32_t phase,
                                 struct psc_report *report, struct psc_error *reterr) PSC_MUST_CHECK;
void app_subject_close(struct app_subject *s);

/* A prompt as tokens: text with control tokens in it, or one message of a conversation that the model is to answer. */
enum psc_status app_subject_encode(const struct app_subject *s, const char *text, bool chat, struct psc_tokens *tokens,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

#endif
