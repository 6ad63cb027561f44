/* traces/source.h: the bytes of a file, mapped, or of a block of memory, borrowed.
 *
 * A mapped file costs address space, not memory: pages come and go with use, and psc_source_drop lets go of
 * those that a scan has passed. Touching a page that the file no longer has would end the program, and an
 * engine may write its next trace over the one that is open. So the map is used while scanning only, after
 * psc_source_check; later reads copy what they need from the file (psc_source_piece).
 */
#ifndef PSC_TRACES_SOURCE_H
#define PSC_TRACES_SOURCE_H

#include "traces/cursor.h"

struct psc_source {
    const char *s;
    size_t n;                      /* of the text: zero bytes at its end are left out (not by map_whole) */
    size_t file_n;                 /* of the whole file */
    bool mapped;                   /* by us: unmapped at the end */
    size_t kept;                   /* bytes before this offset were dropped */
    int fd;                        /* of a mapped file */
    int64_t changed_s, changed_ns; /* when the file was changed last, as of its opening */
};
/* A range of the source's bytes that stays as it is. */
struct psc_piece {
    struct psc_slice text;
    char *copy; /* owned, NULL when the text lies in the source itself */
};

/* PSC_ERR_IO with the system's reason; PSC_ERR_PARSE "file is empty". */
enum psc_status psc_source_map(struct psc_source *source, const char *path,
                               struct psc_error *reterr) PSC_MUST_CHECK;
/* The same for a file that is no text: n is all of it. */
enum psc_status psc_source_map_whole(struct psc_source *source, const char *path,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
void psc_source_release(struct psc_source *source); /* {0} is fine */
/* PSC_ERR_IO when the file is no longer what was opened. */
enum psc_status psc_source_check(const struct psc_source *source, struct psc_error *reterr) PSC_MUST_CHECK;
/* Bytes [at, at + n). Pieces of 16 MiB and more are not copied. PSC_ERR_IO when the file has changed. */
enum psc_status psc_source_piece(const struct psc_source *source, uint64_t at, uint64_t n,
                                 struct psc_piece *ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_piece_release(struct psc_piece *piece);
/* Pages before `done` may leave memory; they come back from the file when read. */
void psc_source_drop(struct psc_source *source, size_t done);
/* psc_slice_string for strings of any length: of a long one, pages leave memory as soon as they are decoded.
 */
const char *psc_source_string(const struct psc_source *source, struct psc_arena *arena, struct psc_slice v,
                              bool *ret_nomem);

#endif
