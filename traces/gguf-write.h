/* traces/gguf-write.h: writes a model file in the GGUF format, version 3.
 *
 *     const struct psc_gguf_pair pairs[] = {
 *         {.key = "general.architecture", .type = PSC_GGUF_STRING, .text = "qwen2"},
 *         {.key = "qwen2.block_count", .type = PSC_GGUF_U32, .u = 2},
 *         {.key = "tokenizer.ggml.tokens", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_STRING, .n = 2, .items = texts},
 *     };
 *     const struct psc_gguf_entry entries[] = {
 *         {.name = "token_embd.weight", .type = PSC_W_Q8_0, .n_dims = 2, .dims = {64, 512}},
 *     };
 *     const struct psc_gguf_outline outline = {pairs, 3, entries, 1, 0, fill, ctx};
 *     psc_gguf_write("tiny.gguf", &outline, &err);
 *
 * Tensor data is asked for a few rows at a time, in order, so a file of any size needs one small buffer. What is
 * written is checked as strictly as what is read: psc_gguf_parse takes every file that this makes.
 */
#ifndef PSC_TRACES_GGUF_WRITE_H
#define PSC_TRACES_GGUF_WRITE_H

#include "core/model/gguf.h"
#include "traces/traces.h"

struct psc_gguf_pair {
    const char *key;
    enum psc_gguf_type type;
    uint64_t u;          /* u8 u16 u32 u64 bool */
    int64_t i;           /* i8 i16 i32 i64 */
    double f;            /* f32 f64 */
    const char *text;    /* string */
    enum psc_gguf_type item; /* array: any type but array */
    uint64_t n;              /* items of the array */
    const void *items; /* struct psc_gguf_text[] for strings, else numbers as C has them (uint8_t for bool) */
};
struct psc_gguf_entry {
    const char *name;
    enum psc_wtype type; /* not OTHER */
    uint32_t n_dims;     /* 1 to 4 */
    uint64_t dims[PSC_GGUF_DIMS_MAX]; /* not 0; the first runs fastest, whole blocks of it */
};
/* Writes bytes [at, at + n) of a tensor into dst (aligned to 16): whole rows (runs of dims[0] values), in order, each
 * once. An error ends the writing. */
typedef enum psc_status (*psc_gguf_fill_fn)(void *ctx, uint32_t entry, uint64_t at, void *dst, uint64_t n,
                                            struct psc_error *reterr);
struct psc_gguf_outline {
    const struct psc_gguf_pair *pairs; /* without general.alignment, which is written when it is not 32 */
    uint32_t pair_n;
    const struct psc_gguf_entry *entries;
    uint32_t entry_n;
    uint64_t alignment; /* a power of two from 8; 0 stands for 32 */
    psc_gguf_fill_fn fill; /* may be NULL when there are no entries */
    void *ctx;
};

/* Through a temporary file and a rename: on failure the path is as it was. */
enum psc_status psc_gguf_write(const char *path, const struct psc_gguf_outline *outline,
                               struct psc_error *reterr) PSC_MUST_CHECK;
/* To anywhere. `write` returns false to stop (PSC_ERR_IO). */
enum psc_status psc_gguf_write_to(const struct psc_gguf_outline *outline, psc_write_fn write, void *ctx,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
