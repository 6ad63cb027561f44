/* core/model/spelling.h: bytes spelled as code points, as the vocabularies of byte-level BPE have them.
 *
 *     0x21-0x7e, 0xa1-0xac, 0xae-0xff    themselves
 *     the 68 others, in order            U+0100 to U+0143: byte 0x00 is U+0100, a space is U+0120 "Ġ"
 *
 * So every byte string has exactly one spelling, without spaces and controls.
 */
#ifndef PSC_CORE_MODEL_SPELLING_H
#define PSC_CORE_MODEL_SPELLING_H

#include "core/model/tokenizer.h"

#define PSC_SPELLING_N 0x144u /* code points from 0 */

struct psc_spelling {
    int16_t byte_of[PSC_SPELLING_N]; /* code point -> byte, or -1 */
};
void psc_spelling_init(struct psc_spelling *spelling);

/* Writes the bytes that a spelled text stands for, at most text.n of them; false, *ret_n untouched, when a character of
 * it stands for no byte. */
bool psc_unspell(const struct psc_spelling *spelling, struct psc_vocab_text text, char *ret, size_t *ret_n);

/* A text of a vocabulary for a sentence: well-formed, without controls, cut after some 50 bytes. Returns buf->s. */
struct psc_shown {
    char s[64];
};
const char *psc_vocab_show(struct psc_vocab_text text, struct psc_shown *buf);

#endif
