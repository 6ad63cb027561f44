/* traces/file-out.h: writes a file piece by piece, and puts it into its place when all of it is there.
 *
 *     begin -> add, add, ... -> commit        or, at any time: abort
 *
 * The bytes go to PATH.PID.tmp; commit flushes it to the disk and renames it over PATH, so that a reader sees the old
 * file or the new one, and abort leaves the old one as it was. Something that is not a regular file (/dev/stdout, a
 * pipe) is written in place. The sentence of an error says why; the caller, who knows the path, names it.
 */
#ifndef PSC_TRACES_FILE_OUT_H
#define PSC_TRACES_FILE_OUT_H

#include "core/base/text.h"

struct psc_file_out {                /* {0} is no file; abort takes it */
    struct psc_text path, temporary; /* owned; temporary is empty when written in place */
    int fd;
    bool open;
};
/* On failure there is nothing to abort. */
enum psc_status psc_file_out_begin(struct psc_file_out *out, const char *path,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_file_out_add(struct psc_file_out *out, const void *bytes, size_t n,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* Ends it in any case: when it fails, the old file is as it was and the temporary one is gone. */
enum psc_status psc_file_out_commit(struct psc_file_out *out, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_file_out_abort(struct psc_file_out *out);

#endif
