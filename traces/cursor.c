#include "traces/cursor.h"

#include "traces/json-write.h"
#include "traces/number.h"
#include "traces/scan.h"
#include "core/base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Behind the closing quote of the string that opens at p. */
static const char *pass_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p < end ? p + 1 : end;
}

/* First quote or bracket at or after p. */
static const char *find_structure(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i fold = _mm_set1_epi8(0x20); /* '[' and ']' become '{' and '}' */
    for (; end - p >= 16; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i y = _mm_or_si128(x, fold);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote),
                                   _mm_or_si128(_mm_cmpeq_epi8(y, open), _mm_cmpeq_epi8(y, close)));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#endif
    while (p < end && *p != '"' && *p != '{' && *p != '}' && *p != '[' && *p != ']')
        p++;
    return p;
}

/* Behind the container that opens at p. */
static const char *pass_container(const char *p, const char *end)
{
    size_t open = 0;
    while (p < end) {
        p = find_structure(p, end);
        if (p >= end)
            break;
        if (*p == '"') {
            p = pass_string(p, end);
            continue;
        }
        if (*p == '{' || *p == '[')
            open++;
        else if (open <= 1)
            return p + 1;
        else
            open--;
        p++;
    }
    return end;
}

/* Behind the number or word at p. */
static const char *pass_scalar(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i comma = _mm_set1_epi8(','), colon = _mm_set1_epi8(':'), close = _mm_set1_epi8('}');
    const __m128i blank = _mm_set1_epi8(' '), fold = _mm_set1_epi8(0x20); /* ']' becomes '}' */
    for (; end - p >= 16; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i y = _mm_or_si128(x, fold);
        __m128i mark = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(y, comma), _mm_cmpeq_epi8(y, colon)),
                                    _mm_cmpeq_epi8(y, close));
        unsigned mask = (unsigned)_mm_movemask_epi8(
            _mm_or_si128(mark, _mm_cmpeq_epi8(_mm_min_epu8(x, blank), x)));
        if (mask)
            return p + __builtin_ctz(mask);
    }
#endif
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ':' && (unsigned char)*p > ' ')
        p++;
    return p;
}

static struct psc_slice take_value(struct psc_cursor *c)
{
    const char *p = c->at, *end = c->end;
    if (p < end && *p == '"')
        p = pass_string(p, end);
    else if (p < end && (*p == '{' || *p == '['))
        p = pass_container(p, end);
    else
        p = pass_scalar(p, end);
    struct psc_slice v = {c->at, (size_t)(p - c->at)};
    p = skip_blanks(p, end);
    if (p < end && *p == ',')
        p = skip_blanks(p + 1, end);
    else
        p = end; /* a closing bracket: nothing follows */
    c->at = p;
    return v;
}

struct psc_cursor psc_cursor_open(struct psc_slice v)
{
    struct psc_cursor c = {v.s + v.n, v.s + v.n};
    if (!v.n || (v.s[0] != '{' && v.s[0] != '['))
        return c;
    c.at = skip_blanks(v.s + 1, c.end);
    if (c.at < c.end && (*c.at == '}' || *c.at == ']'))
        c.at = c.end;
    return c;
}

bool psc_cursor_element(struct psc_cursor *c, struct psc_slice *ret_value)
{
    if (c->at >= c->end)
        return false;
    *ret_value = take_value(c);
    return true;
}

bool psc_cursor_member(struct psc_cursor *c, struct psc_slice *ret_key, struct psc_slice *ret_value)
{
    if (c->at >= c->end || *c->at != '"')
        return false;
    const char *after = pass_string(c->at, c->end);
    struct psc_slice key = {c->at + 1, 0};
    if (after - c->at >= 2)
        key.n = (size_t)(after - c->at) - 2;
    const char *p = skip_blanks(after, c->end);
    if (p >= c->end || *p != ':')
        return false;
    c->at = skip_blanks(p + 1, c->end);
    *ret_key = key;
    *ret_value = take_value(c);
    return true;
}

size_t psc_cursor_count(struct psc_cursor c)
{
    size_t n = 0;
    struct psc_slice key, v;
    bool object = c.at < c.end && *(c.end - 1) == '}';
    while (object ? psc_cursor_member(&c, &key, &v) : psc_cursor_element(&c, &v))
        n++;
    return n;
}

struct psc_slice psc_slice_find(struct psc_slice object, const char *name)
{
    struct psc_slice found = {0}, key, v;
    if (!psc_slice_is_object(object))
        return found;
    struct psc_cursor c = psc_cursor_open(object);
    while (psc_cursor_member(&c, &key, &v))
        if (psc_slice_is_key(key, name))
            found = v;
    return found;
}

bool psc_slice_is_number(struct psc_slice v)
{
    return v.n && ((v.s[0] >= '0' && v.s[0] <= '9') || (v.s[0] == '-' && v.n > 1 && v.s[1] != 'I'));
}

bool psc_slice_is_true(struct psc_slice v)
{
    return v.n && v.s[0] == 't';
}

const char *psc_slice_kind(struct psc_slice v)
{
    if (!v.n)
        return "nothing";
    switch (v.s[0]) {
    case '{': return "an object";
    case '[': return "an array";
    case '"': return "a string";
    case 'n': return "null";
    case 't':
    case 'f': return "a boolean";
    default: return "a number";
    }
}

bool psc_slice_u64(struct psc_slice v, uint64_t *ret)
{
    return psc_slice_is_number(v) && psc_number_u64(v.s, v.n, ret);
}

bool psc_slice_i64(struct psc_slice v, int64_t *ret)
{
    return psc_slice_is_number(v) && psc_number_i64(v.s, v.n, ret);
}

static double word_f64(struct psc_slice v)
{
    if (v.n && v.s[0] == 'I')
        return (double)INFINITY;
    return v.n > 1 && v.s[0] == '-' && v.s[1] == 'I' ? -(double)INFINITY : (double)NAN;
}

double psc_slice_f64(struct psc_slice v)
{
    return psc_slice_is_number(v) ? psc_number_f64(v.s, v.n) : word_f64(v);
}

float psc_slice_f32(struct psc_slice v)
{
    return psc_slice_is_number(v) ? psc_number_f32(v.s, v.n) : (float)word_f64(v);
}

static unsigned hex4(const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        v = v * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

static size_t put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Decodes one escape at p (a backslash); out has room for 6 bytes. Returns the bytes read. */
static size_t unescape(const char *p, size_t n, char *out, size_t *ret_n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (n < 2) {
        *ret_n = 0;
        return n;
    }
    if (p[1] != 'u' || n < 6) {
        const char *which = p[1] ? strchr(from, p[1]) : NULL;
        out[0] = which ? to[which - from] : '?';
        *ret_n = 1;
        return 2;
    }
    unsigned code = hex4(p + 2);
    size_t used = 6;
    if (code >= 0xd800 && code < 0xdc00 && n >= 12 && p[6] == '\\' && p[7] == 'u') {
        unsigned low = hex4(p + 8);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            used = 12;
        }
    }
    if (code == 0) {
        memcpy(out, "\\u0000", 6);
        *ret_n = 6;
        return used;
    }
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
        code = 0xfffd;
    *ret_n = put_utf8(out, code);
    return used;
}

/* The uncommon byte at s: decoded into piece. Returns the bytes read. */
static size_t decode_special(const char *s, size_t n, char piece[8], size_t *ret_n)
{
    unsigned char c = (unsigned char)s[0];
    if (c == '\\')
        return unescape(s, n, piece, ret_n);
    if (c < 0x20) {
        *ret_n = c == '\n' || c == '\r' || c == '\t' ? 2 : 4;
        if (*ret_n == 2)
            memcpy(piece, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", 2);
        else
            snprintf(piece, 8, "\\x%02x", (unsigned)c);
        return 1;
    }
    size_t length = psc_utf8_length(s, n);
    *ret_n = length ? length : 3;
    memcpy(piece, length ? s : PSC_UTF8_REPLACEMENT, *ret_n);
    return length ? length : 1;
}

size_t psc_string_decode(const char *s, size_t n, size_t *at, size_t piece, char *out)
{
    size_t length = 0, i = *at, stop = piece < n - i ? i + piece : n;
    while (i < stop) {
        size_t run = psc_string_stop(s, i, stop);
        if (out)
            memcpy(out + length, s + i, run - i);
        length += run - i;
        i = run;
        if (i >= stop)
            break;
        char decoded[8] = {s[i]};
        size_t decoded_n = 1;
        /* a quote stands here only in broken text */
        i += s[i] == '"' ? 1 : decode_special(s + i, n - i, decoded, &decoded_n);
        if (out)
            memcpy(out + length, decoded, decoded_n);
        length += decoded_n;
    }
    *at = i;
    return length;
}

bool psc_slice_is_key(struct psc_slice key, const char *name)
{
    size_t n = strlen(name);
    if (key.n == n)
        return memcmp(key.s, name, n) == 0;
    if (key.n < n || key.n > 6 * n || !memchr(key.s, '\\', key.n))
        return false;
    char text[256];
    if (key.n * 6 > sizeof text)
        return false;
    size_t at = 0, length = psc_string_decode(key.s, key.n, &at, key.n, text);
    return length == n && memcmp(text, name, n) == 0;
}

const char *psc_slice_string(struct psc_arena *arena, struct psc_slice v, bool *ret_nomem)
{
    if (!psc_slice_is_string(v) || v.n < 2)
        return NULL;
    size_t at = 0, n = v.n - 2;
    size_t length = psc_string_decode(v.s + 1, n, &at, n, NULL);
    char *text = psc_arena_alloc(arena, length + 1, 1);
    if (!text) {
        *ret_nomem = true;
        return NULL;
    }
    at = 0;
    psc_string_decode(v.s + 1, n, &at, n, text);
    text[length] = '\0';
    return text;
}

const char *psc_slice_json(struct psc_arena *arena, struct psc_slice v, bool *ret_nomem)
{
    if (!v.n)
        return NULL;
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_raw_n(&j, v.s, v.n);
    const char *text = j.out.failed ? NULL : psc_arena_strndup(arena, psc_text_str(&j.out), j.out.n);
    psc_json_release(&j);
    if (!text)
        *ret_nomem = true;
    return text;
}

void psc_member_add(struct psc_text *text, struct psc_slice key, struct psc_slice value)
{
    struct psc_json j = {.out = *text}; /* lends the text to the printer */
    psc_json_raw_n(&j, key.s - 1, key.n + 2);
    psc_text_add_n(&j.out, ":", 1);
    psc_json_raw_n(&j, value.s, value.n);
    *text = j.out;
}

void psc_extra_add(struct psc_text *extra, struct psc_slice key, struct psc_slice value)
{
    if (extra->n)
        psc_text_add_n(extra, ",", 1);
    psc_member_add(extra, key, value);
}
