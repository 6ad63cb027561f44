/* traces/utf8.h: is this text UTF-8?  Used by the printer and the readers, so that nobody downstream (a
 * terminal, pango, another reader) ever meets a byte sequence that is not. */
#ifndef PSC_TRACES_UTF8_H
#define PSC_TRACES_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed sequence at s (1 to 4), or 0 when s does not start one: stray continuation bytes,
 * overlong forms, surrogates, code points above U+10FFFF, sequences cut off by the end. n >= 1. */
static inline size_t psc_utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n < want)
        return 0;
    unsigned char lo = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char hi = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < lo || s[1] > hi)
        return 0;
    for (size_t i = 2; i < want; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return want;
}

#define PSC_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

#endif
