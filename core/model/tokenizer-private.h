/* core/model/tokenizer-private.h: what a tokenizer is made of, for tokenizer.c (making, looking up) and bpe.c.
 *
 * Two name spaces lie in one hash table: normal tokens by the bytes that they stand for, special ones (control, user-
 * defined, unknown) by their text. Unused and byte tokens are in neither. */
#ifndef PSC_CORE_MODEL_TOKENIZER_PRIVATE_H
#define PSC_CORE_MODEL_TOKENIZER_PRIVATE_H

#include "core/base/hash.h"
#include "core/model/tokenizer.h"

struct psc_tokenizer {
    uint32_t n, bos, eos;
    bool add_bos;
    char *bytes;           /* what the tokens stand for, one after the other */
    uint64_t *at;          /* n + 1 offsets into bytes */
    unsigned char *type;   /* n of enum psc_token_type */
    unsigned char *normal; /* n: joins in words (normal, and spelled with the code points of bytes only) */
    uint64_t *table;       /* upper half of the hash << 32 | id + 1; 0 is free */
    uint32_t mask;         /* slots of table - 1 */
    uint32_t *special;     /* control and user-defined tokens that are looked for in texts, by their bytes */
    uint32_t special_n;
    bool begins[256];      /* does a special token begin with this byte? */
    uint32_t byte[256];    /* the token of each byte, or PSC_TOKEN_NONE */
    struct psc_map pairs;  /* left << 32 | right -> merge */
    uint32_t *sum;         /* merge -> token */
    uint32_t stop[3];      /* or PSC_TOKEN_NONE */
};

static inline size_t psc_token_length(const struct psc_tokenizer *t, uint32_t id)
{
    return (size_t)(t->at[id + 1] - t->at[id]);
}

/* The token of one name space, or PSC_TOKEN_NONE. */
uint32_t psc_token_lookup(const struct psc_tokenizer *t, bool normal, const char *bytes, size_t n);

#endif
