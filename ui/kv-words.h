/* ui/kv-words.h: the words of the KV view that its hover card, its inspector card and its tables share. */
#ifndef PSC_UI_KV_WORDS_H
#define PSC_UI_KV_WORDS_H

#include "core/base/text.h"
#include "core/debug/kv-step.h"

/* "Layer 9, row 476" and, a line each, who wrote it and when, and who reads it in this step. */
void psc_kv_cell_words(struct psc_text *out, const struct psc_kv_step *step, uint32_t layer, uint32_t row, int32_t position);
/* "prefill", "decode step 37": the step of the run with this ordinal; "step 41" when its phase is not known. */
void psc_kv_step_words(struct psc_text *out, const struct psc_kv_history *history, uint32_t ordinal);

#endif
