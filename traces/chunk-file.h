/* traces/chunk-file.h: a file that grows chunk by chunk while a run goes on, written by a thread of its own.
 *
 *     "PSCOPE-F" u32 1 u32 0x01020304       magic, version, byte order (little-endian)
 *     "HEAD" u32 0 u64 n | n bytes | 0..7 zero bytes
 *     "STEP" u32 0 u64 n | ...
 *     "DONE" u32 0 u64 0
 *
 * Chunks begin at multiples of 8 bytes, in the order in which they were put. A file without DONE is one whose run did not
 * end; what is complete in it can be read. Nothing is renamed into place: a crash must leave what there was.
 *
 * psc_chunks_put copies and returns at once, unless more than PSC_CHUNKS_BACKLOG bytes wait: then it waits. The first
 * failure to write is remembered; every later call fails with its sentence.
 */
#ifndef PSC_TRACES_CHUNK_FILE_H
#define PSC_TRACES_CHUNK_FILE_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSC_CHUNK_MAGIC "PSCOPE-F"
#define PSC_CHUNK_VERSION 1u
#define PSC_CHUNK_ORDER 0x01020304u
#define PSC_CHUNK_HEAD 16u  /* bytes before the first chunk, and of a chunk before its payload */
#define PSC_CHUNKS_BACKLOG ((size_t)64 << 20)

struct psc_chunks;
/* The sentence of an error says why; the caller names the file. */
enum psc_status psc_chunks_open(const char *path, struct psc_chunks **ret, struct psc_error *reterr) PSC_MUST_CHECK;

struct psc_chunk_part { const void *bytes; size_t n; };
/* The payload is the parts one behind the other. tag: four letters. *ret_at (may be NULL): where in the file it begins. */
enum psc_status psc_chunks_put(struct psc_chunks *c, const char *tag, const struct psc_chunk_part *parts, unsigned n,
                               uint64_t *ret_at, struct psc_error *reterr) PSC_MUST_CHECK;
/* Writes DONE and all that waits, closes and frees, whatever happened. */
enum psc_status psc_chunks_close(struct psc_chunks *c, struct psc_error *reterr) PSC_MUST_CHECK;

/* A chunk of a file in memory. */
struct psc_chunk {
    char tag[5];
    const char *bytes;
    uint64_t n;
    uint64_t at;   /* of its payload in the file */
};
bool psc_chunks_is_file(const char *s, size_t n);
/* PSC_ERR_PARSE for another version or byte order. */
enum psc_status psc_chunks_check_head(const char *s, size_t n, struct psc_error *reterr) PSC_MUST_CHECK;
/* The chunk that begins at *at (first PSC_CHUNK_HEAD), and moves *at behind it. False when there is no complete one. */
bool psc_chunks_next(const char *s, uint64_t n, uint64_t *at, struct psc_chunk *ret);

#endif
