/* core/debug/explain-words.h: how sentences name nodes, values, buffers and sizes (private to core/debug). */
#ifndef PSC_CORE_DEBUG_EXPLAIN_WORDS_H
#define PSC_CORE_DEBUG_EXPLAIN_WORDS_H

#include "core/debug/explain.h"

/* "#124 ffn_up"; "the host" for PSC_NONE. */
void psc_say_node(struct psc_text *out, const struct psc_graph *g, psc_node node);
/* "#124 ffn_up, layer 6" */
void psc_say_node_layer(struct psc_text *out, const struct psc_graph *g, psc_node node);
/* A value by its node, "the copy of #3 t" for staging, its own name in stories without a graph. */
void psc_say_value(struct psc_text *out, const struct psc_analysis *a, uint32_t value);
/* "b9", "b9 · cpu" where there are several backends (psc_buffer_label): of a story, and of a plan for this graph. */
void psc_say_buffer(struct psc_text *out, const struct psc_story *story, uint32_t buffer);
void psc_say_planned_buffer(struct psc_text *out, const struct psc_graph *g, const struct psc_buffer *buffer);
/* "38.0 KiB" */
void psc_say_bytes(struct psc_text *out, uint64_t bytes);
/* "Metal" for "metal", "CUDA", "CPU". */
const char *psc_backend_word(const char *name);

#endif
