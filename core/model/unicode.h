/* core/model/unicode.h: what a tokenizer's pattern asks of a character: \p{L}, \p{N}, \s, or none of them.
 *
 *     'A' é 中 ب   letter        general categories Lu Ll Lt Lm Lo
 *     '7' ½ Ⅷ ٣    number        Nd Nl No
 *     ' ' \n U+A0  space         property White_Space
 *     '-' U+301 😀 other         everything else: punctuation, marks, symbols, controls, what is not assigned
 *
 * The table (core/model/unicode-table.c) is of Unicode 16.0, as the reference tokenizers have it; made by
 * core/model/make-unicode.py. Cost: a comparison or two for ASCII, a binary search of 11 steps otherwise.
 */
#ifndef PSC_CORE_MODEL_UNICODE_H
#define PSC_CORE_MODEL_UNICODE_H

#include <stdint.h>

enum psc_char_class { PSC_CHAR_OTHER, PSC_CHAR_LETTER, PSC_CHAR_NUMBER, PSC_CHAR_SPACE };

enum psc_char_class psc_char_class_of(uint32_t code); /* code points above U+10FFFF are PSC_CHAR_OTHER */

/* Private: where a run of one class begins, first code point << 2 | class, ascending from 0. */
extern const uint32_t psc_char_bounds[];
extern const uint32_t psc_char_bound_n;

#endif
