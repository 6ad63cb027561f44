/* traces/gguf-file.h: opens a model file, all parts of it, by mapping it into memory.
 *
 * Nothing is read but the pages that somebody touches, so a model larger than the memory opens at once. The file must
 * stay as it is while it is open: if another program cuts it shorter, touching what is gone ends this program (SIGBUS),
 * as it does for everyone who maps files. Replacing a file by rename, as psc_gguf_write does, is harmless.
 *
 * A model in parts is named by any one of them: NAME-00002-of-00003.gguf finds its siblings in the same folder.
 */
#ifndef PSC_TRACES_GGUF_FILE_H
#define PSC_TRACES_GGUF_FILE_H

#include "core/model/gguf.h"

struct psc_gguf_file; /* owns the mappings and everything in gguf */

/* Fails with PSC_ERR_IO, PSC_ERR_PARSE, PSC_ERR_TOO_BIG or PSC_ERR_NOMEM; the sentence names the part it is about when
 * that is not the path given. */
enum psc_status psc_gguf_open(const char *path, struct psc_gguf_file **ret,
                              struct psc_error *reterr) PSC_MUST_CHECK;
void psc_gguf_close(struct psc_gguf_file *file); /* NULL is fine; what points into the file is gone */

const struct psc_gguf *psc_gguf_file_model(const struct psc_gguf_file *file); /* all parts as one */
/* PSC_ERR_IO when a part is no longer what was opened (its size, or when it was changed). */
enum psc_status psc_gguf_file_check(const struct psc_gguf_file *file,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
uint32_t psc_gguf_file_part_n(const struct psc_gguf_file *file);
const char *psc_gguf_file_part(const struct psc_gguf_file *file, uint32_t part); /* its path, borrowed */

#endif
