/* traces/probe.h: format and version of a document, looked for at both ends of the file.
 *
 * minfer writes keys in alphabetical order, so `version` is the last key of a trace of any size; others write
 * it first. Both ends are looked at before anything is shown. Cost: constant, whatever the size.
 */
#ifndef PSC_TRACES_PROBE_H
#define PSC_TRACES_PROBE_H

#include "core/base/status.h"
#include "traces/cursor.h"

struct psc_probe {
    struct psc_slice format,
        version;                /* values as they stand in the text; {NULL, 0} = not found at either end */
    bool has_phases, has_nodes; /* seen among the first keys */
};
void psc_probe(const char *s, size_t n, struct psc_probe *ret);

/* PSC_ERR_PARSE for what is no text in UTF-8 at first sight: UTF-16, compressed files, zero bytes. */
enum psc_status psc_probe_coding(const char *s, size_t n, struct psc_error *reterr) PSC_MUST_CHECK;
/* One sentence about a text that is no JSON object: "begins with "GGUF", not with '{'". */
enum psc_status psc_probe_refuse(const char *s, size_t n, struct psc_error *reterr);

#endif
