/* core/model/tiny-vocab.h: the vocabulary of the tiny presets: small, fixed, enough for English to be cut sensibly.
 *
 *       0 .. 255   the bytes, each at its own value: 'A' is 65
 *     256 .. 508   253 merges, in the order in which they are joined: token 256 + k is the sum of merge k
 *     509          <|endoftext|>    bos, control, a stop token
 *     510          <|im_start|>     control
 *     511          <|im_end|>       eos, control, a stop token
 *
 * 512 tokens, pattern "qwen2", bos is not added. Made by core/model/make-tiny-vocab.py from a text of our own. Tests
 * and golden files depend on every token: never change it.
 */
#ifndef PSC_CORE_MODEL_TINY_VOCAB_H
#define PSC_CORE_MODEL_TINY_VOCAB_H

#include "core/model/tokenizer.h"

#define PSC_TINY_VOCAB_N      512u
#define PSC_TINY_VOCAB_MERGES 253u

/* Static data, spelled as a model file spells it: ready for psc_tokenizer_new and for writing. */
const struct psc_vocab *psc_tiny_vocab(void);

#endif
