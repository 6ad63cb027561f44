/* traces/lazy-file.h: a lazy expression (core/candela/script.h) as a document of one phase without graph: its plan's story. */
#ifndef PSC_TRACES_LAZY_FILE_H
#define PSC_TRACES_LAZY_FILE_H

#include "core/doc/doc.h"

/* Named *.lazy, or begins with "# lazy". */
bool psc_lazy_file_is(const char *name, const char *bytes, size_t n);
/* words: see psc_lazy_script_read; NULL: none. PSC_ERR_PARSE with line and column, PSC_ERR_GRAPH. */
enum psc_status psc_lazy_file_load(struct psc_doc *doc, const char *words, const char *bytes, size_t n,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

#endif
