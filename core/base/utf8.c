#include "core/base/utf8.h"

#include <string.h>

size_t psc_utf8_decode(const char *s, size_t n, uint32_t *ret_code)
{
    static const unsigned char lead_bits[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t length = psc_utf8_length(s, n);
    if (length == 0)
        return 0;
    uint32_t code = (unsigned char)s[0] & lead_bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)s[i] & 0x3fu);
    *ret_code = code;
    return length;
}

/* How many bytes at s begin a character and might go on to one: 1 to 3, or 0 when the first byte starts none. A whole
 * character is not asked about. */
static size_t beginning(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned char lo = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char hi = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    size_t i = 1;
    while (i < n && i < want && s[i] >= (i == 1 ? lo : 0x80) && s[i] <= (i == 1 ? hi : 0xbf))
        i++;
    return i;
}

/* Writes what is complete in bytes[0, n); returns how many bytes at the end may still become a character. */
static size_t pass(const char *bytes, size_t n, struct psc_text *out)
{
    size_t from = 0, i = 0;
    while (i < n) {
        size_t length = psc_utf8_length(bytes + i, n - i);
        if (length) {
            i += length;
            continue;
        }
        size_t begun = beginning(bytes + i, n - i);
        psc_text_add_n(out, bytes + from, i - from);
        if (begun && i + begun == n)
            return begun;
        psc_text_add(out, PSC_UTF8_REPLACEMENT);
        i += begun ? begun : 1;
        from = i;
    }
    psc_text_add_n(out, bytes + from, n - from);
    return 0;
}

void psc_utf8_stream_feed(struct psc_utf8_stream *stream, const char *bytes, size_t n, struct psc_text *out)
{
    /* what is held and just enough of the new bytes to know what becomes of it */
    while (stream->held_n && n) {
        stream->held[stream->held_n++] = *bytes++;
        n--;
        char held[4];
        size_t held_n = stream->held_n;
        memcpy(held, stream->held, held_n);
        size_t left = pass(held, held_n, out);
        memmove(stream->held, held + held_n - left, left);
        stream->held_n = (uint32_t)left;
    }
    if (n == 0)
        return;
    size_t left = pass(bytes, n, out);
    memcpy(stream->held, bytes + n - left, left);
    stream->held_n = (uint32_t)left;
}

void psc_utf8_stream_end(struct psc_utf8_stream *stream, struct psc_text *out)
{
    if (stream->held_n)
        psc_text_add(out, PSC_UTF8_REPLACEMENT);
    stream->held_n = 0;
}

void psc_utf8_lossy(const char *bytes, size_t n, struct psc_text *out)
{
    struct psc_utf8_stream stream = {0};
    psc_utf8_stream_feed(&stream, bytes, n, out);
    psc_utf8_stream_end(&stream, out);
}
