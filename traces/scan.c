#include "traces/scan.h"

#include "traces/number.h"
#include "core/base/utf8.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum expect {
    EXPECT_VALUE,
    EXPECT_FIRST, /* just after an opening bracket */
    EXPECT_AFTER, /* after an element: comma or closing bracket */
    EXPECT_KEY,
    EXPECT_NOTHING, /* the document is complete */
};

void psc_scan_init(struct psc_scan *scan, const char *s, size_t n)
{
    memset(scan, 0, sizeof *scan);
    scan->s = s;
    scan->n = n;
    scan->expect = EXPECT_VALUE;
    scan->utf8_at = scan->control_at = scan->word_at = scan->surrogate_at = SIZE_MAX;
    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        scan->at = 3;
}

size_t psc_string_stop(const char *s, size_t i, size_t n)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x20);
    for (; i + 16 <= n; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
        /* signed compare: bytes above 0x7f are negative, so "below 0x20" covers them too */
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)),
                                   _mm_cmplt_epi8(x, control));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return i + (size_t)__builtin_ctz(mask);
    }
#endif
    while (i < n && s[i] != '"' && s[i] != '\\' && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x80)
        i++;
    return i;
}

static enum psc_token bad(struct psc_scan *scan, size_t at, const char *fault)
{
    scan->from = scan->at = scan->to = at;
    scan->fault = fault;
    return PSC_TOK_BAD;
}

static enum psc_token cut(struct psc_scan *scan)
{
    scan->from = scan->to = scan->at = scan->n;
    return PSC_TOK_CUT;
}

static bool escapes_surrogate(const struct psc_scan *scan, size_t i, bool low)
{
    const char *s = scan->s;
    if (i + 6 > scan->n || s[i] != '\\' || s[i + 1] != 'u' || (s[i + 2] | 0x20) != 'd')
        return false;
    return low ? strchr("cdefCDEF", s[i + 3]) != NULL : strchr("89abAB", s[i + 3]) != NULL;
}

/* Behind an escape of four digits; behind two that make a surrogate pair. Half a pair is remembered. */
static size_t unicode_escape(struct psc_scan *scan, size_t i)
{
    if (escapes_surrogate(scan, i, false) && escapes_surrogate(scan, i + 6, true))
        return i + 6; /* the second half stands behind its first: see below */
    bool second = i >= 6 && escapes_surrogate(scan, i, true) && escapes_surrogate(scan, i - 6, false);
    if (!second && (escapes_surrogate(scan, i, false) || escapes_surrogate(scan, i, true)) && !scan->surrogate_n++)
        scan->surrogate_at = i;
    return i + 6;
}

/* The uncommon bytes of a string: returns the next byte to look at, or 0 when the token ends the scan (then
 * *ret says how). */
static size_t string_special(struct psc_scan *scan, size_t i, enum psc_token *ret)
{
    const char *s = scan->s;
    if (s[i] == '\\') {
        if (i + 1 >= scan->n) {
            *ret = cut(scan);
            return 0;
        }
        if (s[i + 1] != 'u') {
            if (!s[i + 1] || !strchr("\"\\/bfnrt", s[i + 1])) {
                *ret = bad(scan, i, "an unknown escape in a string");
                return 0;
            }
            return i + 2;
        }
        for (size_t k = 2; k < 6; k++) {
            if (i + k >= scan->n) {
                *ret = cut(scan);
                return 0;
            }
            char c = s[i + k];
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
                *ret = bad(scan, i, "a \\u escape without four hexadecimal digits");
                return 0;
            }
        }
        return unicode_escape(scan, i);
    }
    if ((unsigned char)s[i] < 0x20) {
        if (!scan->control_n++)
            scan->control_at = i;
        return i + 1;
    }
    size_t length = psc_utf8_length(s + i, scan->n - i);
    if (!length) {
        if (!scan->utf8_n++)
            scan->utf8_at = i;
        return i + 1;
    }
    return i + length;
}

/* A string that opens at `from`; sets at and to behind its closing quote. */
static inline enum psc_token string_token(struct psc_scan *scan, size_t from, enum psc_token token)
{
    size_t i = from + 1;
    for (;;) {
        i = psc_string_stop(scan->s, i, scan->n);
        if (i >= scan->n)
            return cut(scan);
        if (scan->s[i] == '"')
            break;
        enum psc_token end = PSC_TOK_BAD;
        i = string_special(scan, i, &end);
        if (!i)
            return end;
    }
    scan->from = from;
    scan->at = scan->to = i + 1;
    return token;
}

static enum psc_token word_token(struct psc_scan *scan, size_t from)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    size_t left = scan->n - from;
    for (unsigned w = 0; w < 6; w++) {
        size_t length = strlen(words[w]);
        size_t have = left < length ? left : length;
        if (memcmp(scan->s + from, words[w], have) != 0)
            continue;
        if (have < length)
            return cut(scan);
        if (w >= 3 && !scan->word_n++)
            scan->word_at = from;
        scan->from = from;
        scan->at = scan->to = from + length;
        scan->expect = EXPECT_AFTER;
        return PSC_TOK_WORD;
    }
    return bad(scan, from, "something that is no JSON value");
}

static enum psc_token number_token(struct psc_scan *scan, size_t from)
{
    size_t length = psc_number_length(scan->s + from, scan->n - from);
    if (length && from + length < scan->n) {
        scan->from = from;
        scan->at = scan->to = from + length;
        scan->expect = EXPECT_AFTER;
        return PSC_TOK_NUMBER;
    }
    size_t end = from; /* a number at the very end of the text may be half a number */
    while (end < scan->n && strchr("+-.0123456789eE", scan->s[end]) && scan->s[end])
        end++;
    if (end < scan->n)
        return scan->s[from] == '-' ? word_token(scan, from) : bad(scan, from, "a malformed number");
    if (length == scan->n - from && scan->depth == 0) {
        scan->from = from;
        scan->at = scan->to = scan->n;
        scan->expect = EXPECT_NOTHING;
        return PSC_TOK_NUMBER;
    }
    return cut(scan);
}

static enum psc_token open_token(struct psc_scan *scan, size_t from, bool object)
{
    scan->from = from;
    scan->at = scan->to = from + 1;
    if (scan->depth >= PSC_JSON_NESTING_MAX)
        return PSC_TOK_DEEP;
    uint64_t bit = 1ull << (scan->depth % 64);
    if (object)
        scan->nest[scan->depth / 64] |= bit;
    else
        scan->nest[scan->depth / 64] &= ~bit;
    scan->depth++;
    scan->in_object = object;
    scan->expect = EXPECT_FIRST;
    return object ? PSC_TOK_OBJECT : PSC_TOK_ARRAY;
}

static void pop(struct psc_scan *scan)
{
    scan->depth--;
    scan->expect = scan->depth ? EXPECT_AFTER : EXPECT_NOTHING;
    if (scan->depth) {
        uint32_t top = scan->depth - 1;
        scan->in_object = scan->nest[top / 64] >> (top % 64) & 1;
    }
}

static inline enum psc_token close_token(struct psc_scan *scan, size_t from)
{
    bool object = scan->in_object;
    scan->from = from;
    scan->at = scan->to = from + 1;
    pop(scan);
    return object ? PSC_TOK_OBJECT_END : PSC_TOK_ARRAY_END;
}

static inline size_t skip_blanks(const char *s, size_t i, size_t n)
{
    while (i < n && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
        i++;
    return i;
}

static enum psc_token key_token(struct psc_scan *scan, size_t i)
{
    enum psc_token token = string_token(scan, i, PSC_TOK_KEY);
    if (token != PSC_TOK_KEY)
        return token;
    size_t at = skip_blanks(scan->s, scan->at, scan->n);
    if (at >= scan->n)
        return cut(scan);
    if (scan->s[at] != ':')
        return bad(scan, at, "a key without ':' after it");
    scan->at = at + 1;
    scan->expect = EXPECT_VALUE;
    return token;
}

static enum psc_token no_element(struct psc_scan *scan, size_t i)
{
    char c = scan->s[i];
    if (c == '}' || c == ']')
        return bad(scan, i,
                   c == '}' ? "'}' where a value or ']' should be" : "']' where a value or '}' should be");
    return bad(scan, i,
               scan->in_object ? "neither ',' nor '}' after a value" : "neither ',' nor ']' after a value");
}

static inline enum psc_token next(struct psc_scan *scan)
{
    const char *s = scan->s;
    size_t i = scan->at, n = scan->n;
    if (i < n && (unsigned char)s[i] <= ' ')
        i = skip_blanks(s, i, n);
    if (scan->expect == EXPECT_NOTHING) {
        scan->from = scan->to = scan->at;
        return PSC_TOK_END;
    }
    if (i >= n)
        return cut(scan);
    if (scan->expect == EXPECT_AFTER || scan->expect == EXPECT_FIRST) {
        if (s[i] == (scan->in_object ? '}' : ']'))
            return close_token(scan, i);
        if (scan->expect == EXPECT_AFTER) {
            if (s[i] != ',')
                return no_element(scan, i);
            i++;
            if (i < n && (unsigned char)s[i] <= ' ')
                i = skip_blanks(s, i, n);
            if (i >= n)
                return cut(scan);
            if (s[i] == '}' || s[i] == ']')
                return bad(scan, i, s[i] == '}' ? "a comma before '}'" : "a comma before ']'");
        }
        scan->expect = scan->in_object ? EXPECT_KEY : EXPECT_VALUE;
    }
    if (scan->expect == EXPECT_KEY)
        return s[i] == '"' ? key_token(scan, i)
                           : bad(scan, i, "something else where a key in quotes should be");
    enum psc_token token;
    switch (s[i]) {
    case '"':
        token = string_token(scan, i, PSC_TOK_STRING);
        if (token == PSC_TOK_STRING)
            scan->expect = scan->depth ? EXPECT_AFTER : EXPECT_NOTHING;
        return token;
    case '{': return open_token(scan, i, true);
    case '[': return open_token(scan, i, false);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return number_token(scan, i);
    case ',':
    case ':':
    case '}':
    case ']': return bad(scan, i, "a missing value");
    default:
        token = word_token(scan, i);
        if (token == PSC_TOK_WORD && !scan->depth)
            scan->expect = EXPECT_NOTHING;
        return token;
    }
}

enum psc_token psc_scan_next(struct psc_scan *scan)
{
    return next(scan);
}

/* ---- the fast road: plain tokens of well-formed text -----------------------------------------------
 *
 * Handles what nearly all of a trace is made of and nothing else; at anything uncommon (escapes, words,
 * faults, the last bytes of the text) it stops before that token and `next` decides. So the grammar lives in
 * one place. */

/* Bytes that stay readable behind the fast road's position, so that its inner steps need no checks. */
#define FAST_MARGIN 64u

/* End of a plain string whose text begins at i (just behind its closing quote), or 0. */
static inline size_t plain_string(const char *s, size_t i, size_t fast_end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x20);
    for (; i < fast_end; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
        __m128i end = _mm_cmpeq_epi8(x, quote);
        __m128i hit = _mm_or_si128(_mm_or_si128(end, _mm_cmpeq_epi8(x, slash)), _mm_cmplt_epi8(x, control));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask) {
            i += (size_t)__builtin_ctz(mask);
            return s[i] == '"' ? i + 1 : 0;
        }
    }
    return 0;
#else
    while (i < fast_end && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x80 && s[i] != '"' &&
           s[i] != '\\')
        i++;
    return i < fast_end && s[i] == '"' ? i + 1 : 0;
#endif
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline size_t plain_digits(const char *s, size_t i, size_t fast_end)
{
#ifdef __SSE2__
    for (; i < fast_end; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
        __m128i other =
            _mm_or_si128(_mm_cmplt_epi8(x, _mm_set1_epi8('0')), _mm_cmpgt_epi8(x, _mm_set1_epi8('9')));
        unsigned mask = (unsigned)_mm_movemask_epi8(other);
        if (mask)
            return i + (size_t)__builtin_ctz(mask);
    }
#endif
    while (i < fast_end && is_digit(s[i]))
        i++;
    return i;
}

/* End of a plain number at i, or 0. */
static inline size_t plain_number(const char *s, size_t i, size_t fast_end)
{
    i += s[i] == '-';
    if (!is_digit(s[i]) || (s[i] == '0' && is_digit(s[i + 1])))
        return 0;
    i++;
    while (is_digit(s[i]) && i < fast_end)
        i++;
    if (s[i] == '.') {
        size_t end = is_digit(s[i + 1]) && !is_digit(s[i + 2]) ? i + 2 : plain_digits(s, i + 1, fast_end);
        if (end == i + 1)
            return 0;
        i = end;
    }
    if (s[i] == 'e' || s[i] == 'E') {
        i++;
        i += s[i] == '-' || s[i] == '+';
        if (!is_digit(s[i]))
            return 0;
        while (is_digit(s[i]) && i < fast_end)
            i++;
    }
    return i < fast_end ? i : 0;
}

/* Walks on while tokens are plain, depth stays at or above `depth`, and the position below `stop`; leaves the
 * scan between two tokens. True when the container at `depth` was closed. */
static bool fast_road(struct psc_scan *scan, uint32_t depth, size_t stop)
{
    const char *s = scan->s;
    size_t i = scan->at, safe; /* safe: the last place between two tokens, with its state */
    uint8_t expect = scan->expect;
    size_t fast_end = scan->n > FAST_MARGIN ? scan->n - FAST_MARGIN : 0;
    if (stop > fast_end)
        stop = fast_end;
    safe = i;
    if (i >= stop)
        return false;
    if (expect == EXPECT_FIRST)
        goto first;
    if (expect != EXPECT_AFTER)
        goto value; /* an object's value, after its key; a key cannot be awaited between two calls */
after:
    safe = i;
    expect = EXPECT_AFTER;
    if (i >= stop)
        goto out;
    if ((unsigned char)s[i] <= ' ')
        i = skip_blanks(s, i, stop);
    if (s[i] == ',') {
        i++;
        if ((unsigned char)s[i] <= ' ')
            i = skip_blanks(s, i, stop);
        if (!scan->in_object)
            goto element;
    key:
        if (s[i] != '"' || !(i = plain_string(s, i + 1, fast_end)))
            goto out;
        if (s[i] != ':')
            goto out;
        safe = ++i;
        expect = EXPECT_VALUE;
        goto value;
    }
    if (s[i] == (scan->in_object ? '}' : ']')) {
    close:
        scan->from = i;
        safe = scan->to = ++i;
        pop(scan);
        expect = scan->expect;
        if (scan->depth < depth || expect == EXPECT_NOTHING)
            goto out;
        goto after;
    }
    goto out;
first:
    safe = i;
    expect = EXPECT_FIRST;
    if (i >= stop)
        goto out;
    if ((unsigned char)s[i] <= ' ')
        i = skip_blanks(s, i, stop);
    if (s[i] == (scan->in_object ? '}' : ']'))
        goto close;
    if (scan->in_object)
        goto key;
    goto element;
value:
    if ((unsigned char)s[i] <= ' ')
        i = skip_blanks(s, i, stop);
element:
    if (s[i] == '"') {
        if (!(i = plain_string(s, i + 1, fast_end)))
            goto out;
        goto after;
    }
    if (is_digit(s[i]) || s[i] == '-') {
        if (!(i = plain_number(s, i, fast_end)))
            goto out;
        goto after;
    }
    if ((s[i] == '{' || s[i] == '[') && scan->depth < PSC_JSON_NESTING_MAX) {
        open_token(scan, i, s[i] == '{');
        i++;
        goto first;
    }
out:
    scan->at = safe;
    scan->expect = expect;
    return scan->depth < depth;
}

enum psc_token psc_scan_close(struct psc_scan *scan, uint32_t depth, size_t limit)
{
    while (scan->at < limit) {
        if (fast_road(scan, depth, limit))
            return scan->s[scan->from] == '}' ? PSC_TOK_OBJECT_END : PSC_TOK_ARRAY_END;
        if (scan->at >= limit)
            break;
        enum psc_token token = next(scan);
        if (scan->depth < depth || token >= PSC_TOK_END)
            return token;
    }
    return PSC_TOK_PAUSE;
}

bool psc_scan_recover(struct psc_scan *scan, uint32_t depth, size_t from)
{
    const char *s = scan->s;
    uint64_t open = 1;
    for (size_t i = from; i < scan->n; i++) {
        if (s[i] == '"') {
            for (i++; i < scan->n && s[i] != '"'; i++)
                i += s[i] == '\\';
        } else if (s[i] == '{' || s[i] == '[') {
            open++;
        } else if ((s[i] == '}' || s[i] == ']') && --open == 0) {
            scan->depth = depth;
            scan->from = i;
            scan->at = scan->to = i + 1;
            pop(scan);
            return true;
        }
    }
    return false;
}

void psc_text_place(const char *s, size_t byte, uint64_t *ret_line, uint64_t *ret_column)
{
    uint64_t line = 1;
    const char *start = s, *stop = s + byte;
    for (const char *p = s; (p = memchr(p, '\n', (size_t)(stop - p))) != NULL; p++) {
        line++;
        start = p + 1;
    }
    *ret_line = line;
    *ret_column = (uint64_t)(stop - start) + 1;
}
