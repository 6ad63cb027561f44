/* core/model/gguf-private.h: what the files of the GGUF parser share. */
#ifndef PSC_CORE_MODEL_GGUF_PRIVATE_H
#define PSC_CORE_MODEL_GGUF_PRIVATE_H

#include "core/model/gguf.h"

/* A name for a sentence: at most 80 bytes of it, controls and what is not UTF-8 as \xNN. */
struct psc_gguf_shown {
    char s[96];
};
const char *psc_gguf_show_name(struct psc_gguf_shown *buf, const char *s, uint64_t n);
/* One character of s, or one byte that starts none, as it may be printed; its length in s. n >= 1. */
size_t psc_gguf_show_char(const char *s, uint64_t n, char out[16]);

/* Names to indices, open addressing, at most half full. */
struct psc_gguf_table {
    uint32_t *slots; /* index + 1, 0 is free */
    uint32_t mask;
};
bool psc_gguf_table_new(struct psc_arena *arena, uint32_t n, struct psc_gguf_table *ret) PSC_MUST_CHECK;
/* The slot that holds the name, or the free one where it would go. Name i begins at first + i * stride. */
uint32_t *psc_gguf_table_slot(const uint32_t *slots, uint32_t mask, const char *name, const void *first,
                              size_t stride);

/* One number of the file. */
struct psc_gguf_number {
    bool is_int, negative;
    uint64_t bits; /* of an integer, two's complement */
    double value;
};
struct psc_gguf_number psc_gguf_number_at(enum psc_gguf_type type, const unsigned char *at);
uint64_t psc_gguf_uint_at(const unsigned char *at, uint32_t bytes); /* little-endian, bytes 1 to 8 */

/* Size of a tensor type of the format. */
struct psc_gguf_layout {
    const char *name;
    uint32_t id, block, bytes;
};
const struct psc_gguf_layout *psc_gguf_layout(uint32_t id); /* NULL when nobody has given the id out */

#endif
