/* traces/source.h: the bytes of a file, mapped, or of a block of memory, borrowed.
 *
 * A mapped file costs address space, not memory: pages come and go with use, and psc_source_drop lets go of
 * those that a scan has passed. The file must not be cut short while it is mapped (a trace is written once
 * and whole).
 */
#ifndef PSC_TRACES_SOURCE_H
#define PSC_TRACES_SOURCE_H

#include "traces/cursor.h"

struct psc_source {
    const char *s;
    size_t n;
    bool mapped; /* by us: unmapped at the end */
    size_t kept; /* bytes before this offset were dropped */
};

/* PSC_ERR_IO with the system's reason; PSC_ERR_PARSE "file is empty". */
enum psc_status psc_source_map(struct psc_source *source, const char *path,
                               struct psc_error *reterr) PSC_MUST_CHECK;
void psc_source_release(struct psc_source *source); /* {0} is fine */
/* Pages before `done` may leave memory; they come back from the file when read. */
void psc_source_drop(struct psc_source *source, size_t done);
/* psc_slice_string for strings of any length: of a long one, pages leave memory as soon as they are decoded.
 */
const char *psc_source_string(const struct psc_source *source, struct psc_arena *arena, struct psc_slice v,
                              bool *ret_nomem);

#endif
