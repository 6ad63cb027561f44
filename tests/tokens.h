/* tests/tokens.h: what the tests of the tokenizer share, and the vocabulary and cases of tests/golden/tokens.txt. */
#ifndef PSC_TESTS_TOKENS_H
#define PSC_TESTS_TOKENS_H

#include "core/model/tokenizer.h"

#include <glib.h>

/* These must succeed. */
struct psc_tokenizer *test_tokenizer(const struct psc_vocab *vocab);
struct psc_tokens test_tokens(const struct psc_tokenizer *t, const char *text, size_t n, unsigned flags);
void test_assert_tokens(const struct psc_tokenizer *t, const char *text, unsigned flags, const uint32_t *ids, size_t n);

struct golden_case {
    char *name;
    GByteArray *text;
    GArray *ids[2]; /* uint32_t; with PSC_ENCODE_CONTROL, without */
    GArray *words;  /* uint32_t: bytes of each, special tokens are text here */
};
struct golden_vocab {
    char **lines; /* what the texts point into */
    GArray *tokens, *types, *merges;
    GPtrArray *cases; /* struct golden_case */
    struct psc_vocab vocab;
};
/* Aborts when the file is missing or not as its script writes it. */
struct golden_vocab *golden_vocab_new(void);
void golden_vocab_free(struct golden_vocab *g);

#endif
