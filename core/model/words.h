/* core/model/words.h: cuts a text into the words inside which a tokenizer joins tokens.
 *
 * The pattern of Qwen2 (core/model/tokenizer.h), written out by hand; at each place the first alternative that fits:
 *
 *     'll  'S                     an apostrophe and s t re ve m ll d, any case (also 'ſ, which folds to 's)
 *     Hello  " Hello"  "(x"       letters, with at most one character before them that is no letter, number, \r or \n
 *     7                           one number
 *     " ?!"  "...\n\n"            anything else but spaces, with at most one space before and newlines after it
 *     "  \n \n"                   spaces up to their last newline
 *     "  " of "  x"               spaces, but for the one that belongs to what follows them
 *     " " of " 7"                 a space alone
 *
 * Each byte that is not part of a well-formed character counts as "anything else". Cost: O(length) for each word, at
 * most three times over the same spaces. No state: words may be cut from any place on.
 */
#ifndef PSC_CORE_MODEL_WORDS_H
#define PSC_CORE_MODEL_WORDS_H

#include <stddef.h>

/* Bytes of the word at the start of s; 1 to n. n >= 1. */
size_t psc_word_qwen2(const char *s, size_t n);

#endif
