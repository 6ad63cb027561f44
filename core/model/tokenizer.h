/* core/model/tokenizer.h: text to tokens and back: byte-level BPE as Qwen2 and Qwen3 use it.
 *
 *     "<|im_start|>I'm  here"
 *      1. special tokens are cut out:   <|im_start|> | I'm  here
 *      2. the rest falls into words:    I | 'm | " " | " here"          (the pattern of Qwen2, below)
 *      3. each word into tokens:        I | 'm | Ġ | Ġh ere             (a whole word that is a token is that token)
 *
 * Words are what this pattern cuts, from left to right, the first alternative that fits:
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * over the character classes of core/model/unicode.h. Bytes that are not UTF-8 count as characters that are no letter,
 * number or space, one each, and come back as they were. Text is not normalised (Qwen2's tokenizer.json asks for
 * NFC; neither the engine we study nor llama.cpp does it): a decomposed "é" stays two code points.
 *
 * A word starts as one token a byte; the neighbours whose merge stands earliest in the list are joined, the leftmost
 * first, until none is left to join. O(n log n) in the bytes of the text, whatever the text.
 *
 * The vocabulary spells a byte as a code point: 0x21-0x7e, 0xa1-0xac and 0xae-0xff as themselves, the others, in
 * order, as U+0100 and on (a space is "Ġ"). Control, user-defined, unknown and unused tokens are spelled as they are.
 *
 * Ownership: a tokenizer owns all that it needs; the arrays of the vocabulary may go once it is made.
 * Cost: O(bytes of the vocabulary) to make; token <-> id in O(1). Threads: a tokenizer never changes; any number of
 * threads may use it.
 */
#ifndef PSC_CORE_MODEL_TOKENIZER_H
#define PSC_CORE_MODEL_TOKENIZER_H

#include "core/base/arena.h"
#include "core/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psc_gguf;
struct psc_tokenizer;

#define PSC_TOKEN_NONE        UINT32_MAX
#define PSC_VOCAB_MAX         (1u << 24) /* tokens, and merges */
#define PSC_TOKEN_BYTES_MAX   65535u     /* of one token as the vocabulary spells it */
#define PSC_SPECIAL_BYTES_MAX 256u       /* a longer control or user-defined token is never found in a text */
#define PSC_TEXT_BYTES_MAX    (1u << 30) /* of one call to encode */

enum psc_token_type { /* numbers of tokenizer.ggml.token_type */
    PSC_TOKEN_NORMAL = 1,
    PSC_TOKEN_UNKNOWN = 2,
    PSC_TOKEN_CONTROL = 3,      /* <|im_end|>: found in a text only with PSC_ENCODE_CONTROL */
    PSC_TOKEN_USER_DEFINED = 4, /* <tool_call>: found in every text */
    PSC_TOKEN_UNUSED = 5,       /* padding of the vocabulary */
    PSC_TOKEN_BYTE = 6,         /* <0x0A>: stands for a byte that has no normal token */
};

struct psc_vocab_text { /* not NUL-terminated */
    const char *s;
    uint64_t n;
};
struct psc_vocab { /* plain arrays, all borrowed */
    const struct psc_vocab_text *tokens;
    uint32_t n;
    const int32_t *types; /* n of enum psc_token_type; NULL: all normal but <|endoftext|>, <|im_start|>, <|im_end|>,
                           * bos and eos, which are control tokens then */
    const struct psc_vocab_text *merges; /* "a b": first is joined first */
    uint32_t merge_n;
    uint32_t bos, eos; /* PSC_TOKEN_NONE when there is none */
    bool add_bos;      /* PSC_ENCODE_BOS has an effect */
    const char *pre;   /* name of the pattern above: "qwen2", "deepseek-r1-qwen"; NULL is "qwen2" */
};

/* The vocabulary of a model file: tokenizer.ggml.model ("gpt2"), tokens, token_type, merges, bos_token_id,
 * eos_token_id, add_bos_token, pre. Arrays in the arena, texts in the file's bytes. A name of the pattern that is not
 * known is refused by psc_tokenizer_new, not here. */
enum psc_status psc_vocab_from_gguf(struct psc_arena *arena, const struct psc_gguf *gguf, struct psc_vocab *ret,
                                    struct psc_error *reterr) PSC_MUST_CHECK;

/* Fails, with a sentence that names the first fault: no tokens, no merges, a token twice, an empty token, a merge
 * that is not two tokens or whose sum is none, bos or eos outside the vocabulary, a pattern that is not known
 * (PSC_ERR_UNAVAILABLE). A merge that stands in the list twice keeps its first place. */
enum psc_status psc_tokenizer_new(const struct psc_vocab *vocab, struct psc_tokenizer **ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
void psc_tokenizer_free(struct psc_tokenizer *tokenizer); /* NULL is fine */

uint32_t psc_tokenizer_n(const struct psc_tokenizer *tokenizer);
uint32_t psc_tokenizer_bos(const struct psc_tokenizer *tokenizer); /* or PSC_TOKEN_NONE */
uint32_t psc_tokenizer_eos(const struct psc_tokenizer *tokenizer);
/* Is generation over after this token? eos, <|im_end|> and <|endoftext|>, those that the vocabulary has. */
bool psc_tokenizer_is_stop(const struct psc_tokenizer *tokenizer, uint32_t id);
enum psc_token_type psc_tokenizer_type(const struct psc_tokenizer *tokenizer, uint32_t id); /* id < n */

/* The bytes that a token stands for, borrowed, not NUL-terminated, any bytes; NULL and 0 when there is no such token.
 * Tokens end in the middle of characters: print them through a psc_utf8_stream (core/base/utf8.h). */
const char *psc_tokenizer_bytes(const struct psc_tokenizer *tokenizer, uint32_t id, size_t *ret_n);
/* The token that stands for exactly these bytes (normal tokens before special ones), or PSC_TOKEN_NONE. */
uint32_t psc_tokenizer_find(const struct psc_tokenizer *tokenizer, const char *bytes, size_t n);
/* Appends the bytes of all; ids outside the vocabulary are an error that names the first and its place. */
enum psc_status psc_tokenizer_decode(const struct psc_tokenizer *tokenizer, const uint32_t *ids, size_t n,
                                     struct psc_text *out, struct psc_error *reterr) PSC_MUST_CHECK;

struct psc_tokens { /* {0} is an empty list */
    uint32_t *id;   /* owned */
    size_t n, cap;
};
void psc_tokens_release(struct psc_tokens *tokens);

enum psc_encode {
    PSC_ENCODE_TEXT = 0,    /* control tokens are letters like others; right for what a stranger wrote */
    PSC_ENCODE_CONTROL = 1, /* control tokens become themselves: the earliest, the longest of those at one place */
    PSC_ENCODE_BOS = 2,     /* bos first, when the vocabulary asks for it */
};
/* Appends the tokens of the text. On failure the list is as it was: out of memory, more than PSC_TEXT_BYTES_MAX bytes,
 * a byte for which the vocabulary has no token. */
enum psc_status psc_tokenizer_encode(const struct psc_tokenizer *tokenizer, const char *text, size_t n, unsigned flags,
                                     struct psc_tokens *tokens, struct psc_error *reterr) PSC_MUST_CHECK;

/* A conversation as Qwen's models were taught it (ChatML):
 *
 *     <|im_start|>user\n            role, newline, what was said
 *     Hello<|im_end|>\n
 *     <|im_start|>assistant\n       begins the answer; the model goes on from here and ends it with <|im_end|>
 *
 * No system message is put in where the caller gives none. */
struct psc_chatml_message {
    const char *role; /* "system", "user", "assistant" */
    const char *text;
};
void psc_chatml_text(const struct psc_chatml_message *messages, size_t n, bool begin_answer, struct psc_text *out);
/* The same as tokens. The markers are control tokens, roles and texts never are, so that no message can end itself: for
 * messages without markers in them this equals encoding psc_chatml_text with PSC_ENCODE_CONTROL. Fails when the
 * vocabulary lacks a marker. */
enum psc_status psc_chatml_encode(const struct psc_tokenizer *tokenizer, const struct psc_chatml_message *messages,
                                  size_t n, bool begin_answer, struct psc_tokens *tokens,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
