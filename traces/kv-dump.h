/* traces/kv-dump.h: the contents of a KV cache as files. traces/README.md has the layouts, byte by byte.
 *
 *     kv.pskv                  self-describing: shape, format, cells, sequences, rows, checksum; loads back (a session file)
 *     kv<L>k_<tag>.f32 ...     as minfer dumps them: floats without a header, one file a region
 *
 * Reading opens either, a single .f32 file, or a folder. A file without a header does not say how wide its rows are: the
 * width or n_ctx must be given, the other follows from its size. A .pskv file is verified whole, checksum included,
 * before anything of it is used.
 */
#ifndef PSC_TRACES_KV_DUMP_H
#define PSC_TRACES_KV_DUMP_H

#include "core/plan/kv-image.h"

enum psc_status psc_kv_dump_write(const char *path, const struct psc_kv_image *image, struct psc_error *reterr) PSC_MUST_CHECK;
/* Into a folder that exists; tag: "prefill" or "decode". f16 and q8_0 rows are written as the floats that they mean. A
 * kv0_<tag>.f32 with the K rows of the first layer is written, too, for readers of minfer's older files. */
enum psc_status psc_kv_dump_write_minfer(const char *folder, const char *tag, const struct psc_kv_image *image,
                                         struct psc_error *reterr) PSC_MUST_CHECK;

struct psc_kv_dump; /* an open dump */
struct psc_kv_dump_options {
    uint32_t width, n_ctx; /* of files without a header, one with a header must agree; 0: not given */
    const char *tag;       /* of a folder with several; NULL: there must be one */
};
enum psc_status psc_kv_dump_open(const char *path, const struct psc_kv_dump_options *options, struct psc_kv_dump **ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_dump_free(struct psc_kv_dump *dump); /* NULL is fine */
const struct psc_kv_image *psc_kv_dump_image(const struct psc_kv_dump *dump); /* valid as long as the dump */
const char *psc_kv_dump_format(const struct psc_kv_dump *dump); /* "planscope-kv" or "minfer-kv" */

/* Loading a session: the cache must have the dump's layers, rows, width, format and backend, and the dump its cells and
 * sequences; each difference has a sentence. Everything is compared before the first row is written; `runs` is
 * replaced (and empty when a row could not be written). */
struct psc_kv_target {
    const struct psc_kv_image *shape; /* layers, rows, width, format, backend; its rows are not read */
    struct psc_kv_runs *runs;
    enum psc_status (*write)(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, const void *from,
                             struct psc_error *reterr);
    void *ctx;
};
enum psc_status psc_kv_dump_load(const struct psc_kv_dump *dump, const struct psc_kv_target *target,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

#endif
