#include "core/model/spelling.h"

#include "core/base/utf8.h"

#include <assert.h>
#include <string.h>

static bool spells_itself(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

void psc_spelling_init(struct psc_spelling *spelling)
{
    uint32_t next = 0x100;
    for (uint32_t code = 0; code < PSC_SPELLING_N; code++)
        spelling->byte_of[code] = -1;
    for (uint32_t byte = 0; byte < 256; byte++)
        spelling->byte_of[spells_itself(byte) ? byte : next++] = (int16_t)byte;
    assert(next == PSC_SPELLING_N);
}

bool psc_unspell(const struct psc_spelling *spelling, struct psc_vocab_text text, char *ret, size_t *ret_n)
{
    size_t n = 0;
    for (uint64_t i = 0; i < text.n;) {
        uint32_t code;
        size_t length = psc_utf8_decode(text.s + i, (size_t)(text.n - i), &code);
        if (length == 0 || code >= PSC_SPELLING_N || spelling->byte_of[code] < 0)
            return false;
        ret[n++] = (char)spelling->byte_of[code];
        i += length;
    }
    *ret_n = n;
    return true;
}

const char *psc_vocab_show(struct psc_vocab_text text, struct psc_shown *buf)
{
    size_t out = 0;
    for (uint64_t i = 0; i < text.n;) {
        char part[8] = {0};
        uint32_t code;
        size_t length = psc_utf8_length(text.s + i, (size_t)(text.n - i));
        memcpy(part, text.s + i, length ? length : 1);
        if (length == 0 || part[0] == '\0' || psc_text_control(part, &code))
            memcpy(part, "?", 2);
        if (out + strlen(part) + sizeof "..." > sizeof buf->s) {
            memcpy(buf->s + out, "...", 3);
            out += 3;
            break;
        }
        memcpy(buf->s + out, part, strlen(part));
        out += strlen(part);
        i += length ? length : 1;
    }
    buf->s[out] = '\0';
    return buf->s;
}
