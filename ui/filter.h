/* ui/filter.h: "ffn +layer:6 -rope": which ops and buffers a table shows.
 *
 * Words are separated by blanks; each must match unless it begins with '-' (or the minus sign), which must
 * not. A word is looked for, without regard to case, in number, label, name, op, weight and buffer. With a
 * key it asks one thing: layer:6, op:matmul, buffer:b9, backend:cpu, is:input, is:output, is:dead,
 * is:clobbered.
 */
#ifndef PSC_UI_FILTER_H
#define PSC_UI_FILTER_H

#include "ui/study.h"

#include <stdbool.h>

typedef struct _PscFilter PscFilter;
PscFilter *psc_filter_new(const char *text);
void psc_filter_free(PscFilter *filter);
bool psc_filter_is_empty(const PscFilter *filter);
bool psc_filter_node(const PscFilter *filter, const PscStudy *study, psc_node node);
bool psc_filter_buffer(const PscFilter *filter, const PscStudy *study, uint32_t buffer);
bool psc_filter_text(const PscFilter *filter, const char *text); /* words are looked for in it; keys match nothing */

#endif
