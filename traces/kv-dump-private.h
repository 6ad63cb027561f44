/* traces/kv-dump-private.h: the layout of a .pskv file, and an open dump (private to traces/).
 *
 * All numbers are little-endian. The file: a head of 96 bytes, the tables in the order of the flags, zeros up to the next
 * multiple of 64, the regions one behind the other (K of the first layer, V of it, K of the second ...), zeros up to a
 * multiple of 8, and the checksum of all that stands before it.
 */
#ifndef PSC_TRACES_KV_DUMP_PRIVATE_H
#define PSC_TRACES_KV_DUMP_PRIVATE_H

#include "core/base/arena.h"
#include "traces/kv-dump.h"

#define PSC_PSKV_MAGIC "PSCKV\r\n\x1a"
#define PSC_PSKV_VERSION 1u
#define PSC_PSKV_HEAD 96u
#define PSC_PSKV_CELL 24u /* seqs u64, position, pending, rotated i32, token u32 */
#define PSC_PSKV_RUN 32u  /* seq u64, place, start, cap, rows, shared cell, shared rows u32 */
enum { PSC_PSKV_CELLS = 1, PSC_PSKV_F16 = 2, PSC_PSKV_Q8_0 = 4, PSC_PSKV_WRITTEN = 8, PSC_PSKV_V = 16, PSC_PSKV_RUNS = 32,
       PSC_PSKV_ONLY_V = 64 };

/* Where everything lies. */
struct psc_pskv {
    uint32_t flags, layer_n, rows, width, row_words, run_n, model_n, backend_n;
    uint64_t host_n;
    uint64_t layers_at, model_at, backend_at, written_at, cells_at, runs_at, host_at, tables_end, payload_at, region_bytes,
        payload_end, file_n;
};
/* Fills the places from the counts; PSC_ERR_TOO_BIG when they pass 2^60. */
enum psc_status psc_pskv_lay_out(struct psc_pskv *p, struct psc_error *reterr);

/* The checksum: words of 8 bytes, one after another. */
static inline uint64_t psc_pskv_sum(uint64_t sum, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; i++)
            word |= (uint64_t)at[i] << 8 * i;
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

static inline void psc_put_u32(uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}
static inline void psc_put_u64(uint8_t *at, uint64_t v)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}
static inline uint32_t psc_get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static inline uint64_t psc_get_u64(const uint8_t *at)
{
    return psc_get_u32(at) | (uint64_t)psc_get_u32(at + 4) << 32;
}

/* A region of an open dump: rows of `row_words` words at `at` of a file. */
struct psc_kv_part {
    int fd; /* -1: there is none */
    uint64_t at;
};
struct psc_kv_dump {
    struct psc_arena arena; /* names, tables */
    struct psc_kv_image image;
    struct psc_kv_part *parts; /* [2 * layer_n], in the arena */
    int *fds;                  /* owned */
    size_t fd_n, fd_cap;
    const char *format;
};
/* Rows of a part; PSC_ERR_IO. */
enum psc_status psc_kv_part_read(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                                 struct psc_error *reterr);
/* Reads exactly n bytes at an offset. */
enum psc_status psc_read_at(int fd, uint64_t at, void *to, uint64_t n, struct psc_error *reterr);
/* Opens for reading; the dump closes it. Size in *ret_n. */
enum psc_status psc_kv_dump_add_file(struct psc_kv_dump *dump, const char *path, int *ret_fd, uint64_t *ret_n,
                                     struct psc_error *reterr);
enum psc_status psc_pskv_open(struct psc_kv_dump *dump, int fd, uint64_t n, struct psc_error *reterr);

#endif
