#include "core/model/words.h"

#include "core/base/utf8.h"
#include "core/model/unicode.h"

#include <assert.h>
#include <stdbool.h>

struct place {
    size_t n;                 /* bytes of the character, 0 at the end of the text */
    enum psc_char_class kind; /* PSC_CHAR_OTHER at the end of the text */
    bool newline;             /* \r or \n */
};

static struct place at(const char *s, size_t n, size_t i)
{
    if (i >= n)
        return (struct place){0};
    unsigned char byte = (unsigned char)s[i];
    uint32_t code = byte;
    if (byte < 0x80)
        return (struct place){1, psc_char_class_of(code), byte == '\r' || byte == '\n'};
    size_t length = psc_utf8_decode(s + i, n - i, &code);
    if (length == 0)
        return (struct place){.n = 1, .kind = PSC_CHAR_OTHER};
    return (struct place){.n = length, .kind = psc_char_class_of(code)};
}

static size_t skip_class(const char *s, size_t n, size_t i, enum psc_char_class kind)
{
    struct place p;
    while ((p = at(s, n, i)).n && p.kind == kind)
        i += p.n;
    return i;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Bytes of 's 't 're 've 'm 'll 'd at s, or 0. */
static size_t contraction(const char *s, size_t n)
{
    if (n < 2 || s[0] != '\'')
        return 0;
    char a = lower(s[1]), b = n > 2 ? lower(s[2]) : '\0';
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l'))
        return 3;
    return n > 2 && s[1] == '\xc5' && s[2] == '\xbf' ? 3 : 0; /* U+017F, the long s */
}

/* At a space that begins neither letters nor anything else. */
static size_t spaces(const char *s, size_t n)
{
    size_t i = 0, last = 0, after_newline = 0;
    struct place p;
    while ((p = at(s, n, i)).n && p.kind == PSC_CHAR_SPACE) {
        last = i;
        i += p.n;
        if (p.newline)
            after_newline = i;
    }
    if (after_newline)
        return after_newline;
    return i == n || last == 0 ? i
                               : last; /* the last space belongs to what follows, unless it is the only one */
}

size_t psc_word_qwen2(const char *s, size_t n)
{
    assert(n > 0);
    size_t length = contraction(s, n);
    if (length)
        return length;
    struct place first = at(s, n, 0), second = at(s, n, first.n);
    if (first.kind == PSC_CHAR_LETTER)
        return skip_class(s, n, first.n, PSC_CHAR_LETTER);
    if (first.kind == PSC_CHAR_NUMBER)
        return first.n;
    if (!first.newline && second.kind == PSC_CHAR_LETTER)
        return skip_class(s, n, first.n, PSC_CHAR_LETTER);

    bool other_follows = s[0] == ' ' && second.n && second.kind == PSC_CHAR_OTHER;
    if (first.kind == PSC_CHAR_SPACE && !other_follows)
        return spaces(s, n);
    size_t i = skip_class(s, n, first.n, PSC_CHAR_OTHER);
    while (i < n && (s[i] == '\r' || s[i] == '\n'))
        i++;
    return i;
}
