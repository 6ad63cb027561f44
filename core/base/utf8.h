/* core/base/utf8.h: is this text UTF-8, and text out of bytes that arrive in pieces.
 *
 * Printer and readers ask psc_utf8_length, so that nobody downstream (a terminal, pango, another reader) ever meets a
 * byte sequence that is not. The tokens of a model end in the middle of a character as they please; a stream holds the
 * beginning of a character back until the rest has come:
 *
 *     feed "a\xc3"     -> "a"
 *     feed "\xa9!"     -> "é!"
 *     feed "\xe2\x82"  -> ""
 *     end              -> U+FFFD
 *
 * What can never become a character is replaced at once, one U+FFFD for each maximal beginning of a character and for
 * each other byte, as Unicode recommends. So what comes out is always well-formed, however the bytes were cut.
 */
#ifndef PSC_CORE_BASE_UTF8_H
#define PSC_CORE_BASE_UTF8_H

#include "core/base/text.h"

#include <stddef.h>
#include <stdint.h>

#define PSC_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

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

/* The code point at s and its length in bytes; 0 as psc_utf8_length, *ret_code is untouched then. n >= 1. */
size_t psc_utf8_decode(const char *s, size_t n, uint32_t *ret_code);

struct psc_utf8_stream { /* {0} is a stream that has seen nothing */
    char held[4];        /* the beginning of a character */
    uint32_t held_n;     /* 0 to 3 */
};
/* Appends to out what is complete. Out of memory shows in out->failed. */
void psc_utf8_stream_feed(struct psc_utf8_stream *stream, const char *bytes, size_t n, struct psc_text *out);
void psc_utf8_stream_end(struct psc_utf8_stream *stream, struct psc_text *out); /* the stream may be used again */
/* All of it at once: feed and end. */
void psc_utf8_lossy(const char *bytes, size_t n, struct psc_text *out);

#endif
