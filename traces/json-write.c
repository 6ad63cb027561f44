#include "traces/json-write.h"

#include "traces/number.h"
#include "core/base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void psc_json_init(struct psc_json *j, bool pretty)
{
    memset(j, 0, sizeof *j);
    j->pretty = pretty;
}

void psc_json_release(struct psc_json *j)
{
    psc_text_release(&j->out);
}

static void new_line(struct psc_json *j, unsigned depth)
{
    static const char blanks[] = "\n                                ";
    size_t want = 2u * depth, piece = sizeof blanks - 2;
    psc_text_add_n(&j->out, blanks, 1 + (want < piece ? want : piece));
    for (want -= want < piece ? want : piece; want; want -= want < piece ? want : piece)
        psc_text_add_n(&j->out, blanks + 1, want < piece ? want : piece);
}

/* Comma, line and indentation before an element or a key. */
static void begin_element(struct psc_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0)
        return;
    if (j->filled[j->depth])
        psc_text_add_n(&j->out, ",", 1);
    j->filled[j->depth] = true;
    if (j->pretty)
        new_line(j, j->depth);
}

static void open_container(struct psc_json *j, const char *bracket)
{
    begin_element(j);
    psc_text_add_n(&j->out, bracket, 1);
    assert(j->depth + 1 < PSC_JSON_DEPTH_MAX);
    j->filled[++j->depth] = false;
}

static void close_container(struct psc_json *j, const char *bracket)
{
    assert(j->depth > 0 && !j->after_key);
    bool filled = j->filled[j->depth--];
    if (filled && j->pretty)
        new_line(j, j->depth);
    psc_text_add_n(&j->out, bracket, 1);
}

void psc_json_object(struct psc_json *j)
{
    open_container(j, "{");
}

void psc_json_end_object(struct psc_json *j)
{
    close_container(j, "}");
}

void psc_json_array(struct psc_json *j)
{
    open_container(j, "[");
}

void psc_json_end_array(struct psc_json *j)
{
    close_container(j, "]");
}

/* One character that may not stand in a string as it is; returns its bytes in s. */
static size_t add_escaped(struct psc_text *out, const char *s, size_t n)
{
    char text[8];
    uint32_t code;
    switch (s[0]) {
    case '"': psc_text_add_n(out, "\\\"", 2); return 1;
    case '\\': psc_text_add_n(out, "\\\\", 2); return 1;
    case '\b': psc_text_add_n(out, "\\b", 2); return 1;
    case '\f': psc_text_add_n(out, "\\f", 2); return 1;
    case '\n': psc_text_add_n(out, "\\n", 2); return 1;
    case '\r': psc_text_add_n(out, "\\r", 2); return 1;
    case '\t': psc_text_add_n(out, "\\t", 2); return 1;
    default: break;
    }
    if ((unsigned char)s[0] < 0x20) {
        snprintf(text, sizeof text, "\\u%04x", (unsigned)s[0]);
        psc_text_add_n(out, text, 6);
        return 1;
    }
    size_t length = psc_utf8_length(s, n);
    if (!length) {
        psc_text_add_n(out, PSC_UTF8_REPLACEMENT, 3);
        return 1;
    }
    if (psc_text_control(s, &code)) {
        snprintf(text, sizeof text, "\\u%04x", (unsigned)code & 0xffff);
        psc_text_add_n(out, text, 6);
        return length;
    }
    psc_text_add_n(out, s, length);
    return length;
}

static bool is_plain(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 0x20 && u < 0x7f && u != '"' && u != '\\';
}

static void add_quoted(struct psc_text *out, const char *s, size_t n)
{
    psc_text_add_n(out, "\"", 1);
    for (size_t i = 0; i < n;) {
        size_t run = i;
        while (run < n && is_plain(s[run]))
            run++;
        psc_text_add_n(out, s + i, run - i);
        i = run;
        if (i < n)
            i += add_escaped(out, s + i, n - i);
    }
    psc_text_add_n(out, "\"", 1);
}

static void after_key(struct psc_json *j)
{
    psc_text_add_n(&j->out, ": ", j->pretty ? 2 : 1);
    j->after_key = true;
}

void psc_json_key(struct psc_json *j, const char *key)
{
    assert(!j->after_key);
    begin_element(j);
    add_quoted(&j->out, key, strlen(key));
    after_key(j);
}

void psc_json_string(struct psc_json *j, const char *s)
{
    begin_element(j);
    if (s)
        add_quoted(&j->out, s, strlen(s));
    else
        psc_text_add_n(&j->out, "null", 4);
}

void psc_json_u64(struct psc_json *j, uint64_t v)
{
    char text[PSC_U64_TEXT_MAX];
    size_t n = psc_u64_text(v, text);
    begin_element(j);
    psc_text_add_n(&j->out, text, n);
}

void psc_json_i64(struct psc_json *j, int64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, v);
    begin_element(j);
    psc_text_add_n(&j->out, text, (size_t)n);
}

void psc_json_f64(struct psc_json *j, double v)
{
    begin_element(j);
    if (!isfinite(v)) {
        psc_text_add_n(&j->out, "null", 4);
        return;
    }
    char text[PSC_F64_TEXT_MAX];
    size_t n = psc_f64_text(v, text);
    psc_text_add_n(&j->out, text, n);
}

void psc_json_bool(struct psc_json *j, bool v)
{
    begin_element(j);
    psc_text_add(&j->out, v ? "true" : "false");
}

void psc_json_null(struct psc_json *j)
{
    begin_element(j);
    psc_text_add_n(&j->out, "null", 4);
}

void psc_json_put_string(struct psc_json *j, const char *key, const char *s)
{
    psc_json_key(j, key);
    psc_json_string(j, s);
}

void psc_json_put_text(struct psc_json *j, const char *key, const char *s)
{
    psc_json_put_string(j, key, s ? s : "");
}

void psc_json_put_u64(struct psc_json *j, const char *key, uint64_t v)
{
    psc_json_key(j, key);
    psc_json_u64(j, v);
}

void psc_json_put_i64(struct psc_json *j, const char *key, int64_t v)
{
    psc_json_key(j, key);
    psc_json_i64(j, v);
}

void psc_json_put_f64(struct psc_json *j, const char *key, double v)
{
    psc_json_key(j, key);
    psc_json_f64(j, v);
}

void psc_json_put_bool(struct psc_json *j, const char *key, bool v)
{
    psc_json_key(j, key);
    psc_json_bool(j, v);
}

/* Length of the string at s, quotes included; a string without end runs to n. */
static size_t string_span(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && s[i] != '"')
        i += s[i] == '\\' && i + 1 < n ? 2 : 1;
    return i < n ? i + 1 : n;
}

/* Copies a string literal, mending what JSON does not allow: raw control characters, invalid UTF-8. */
static void add_literal(struct psc_text *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t run = i;
        while (run < n && (unsigned char)s[run] >= 0x20 && (unsigned char)s[run] < 0x80)
            run++;
        psc_text_add_n(out, s + i, run - i);
        i = run;
        if (i < n) /* a control character or a byte above 0x7f: no quote, no backslash */
            i += add_escaped(out, s + i, n - i);
    }
}

void psc_json_key_raw(struct psc_json *j, const char *key, size_t n)
{
    assert(!j->after_key);
    begin_element(j);
    psc_text_add_n(&j->out, "\"", 1);
    add_literal(&j->out, key, n);
    psc_text_add_n(&j->out, "\"", 1);
    after_key(j);
}

void psc_json_raw(struct psc_json *j, const char *json)
{
    psc_json_raw_n(j, json, strlen(json));
}

void psc_json_raw_n(struct psc_json *j, const char *json, size_t n)
{
    struct psc_text *out = &j->out;
    unsigned depth = 0;
    bool fresh = false; /* the last thing written opened a container */
    begin_element(j);
    for (size_t i = 0; i < n;) {
        char c = json[i];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            i++;
            continue;
        }
        if (c == '}' || c == ']') {
            depth -= depth > 0;
            if (!fresh && j->pretty)
                new_line(j, j->depth + depth);
            psc_text_add_n(out, &c, 1);
            fresh = false;
            i++;
            continue;
        }
        if (c == ',' || c == ':') {
            psc_text_add_n(out, &c, 1);
            if (j->pretty && c == ',')
                new_line(j, j->depth + depth);
            if (j->pretty && c == ':')
                psc_text_add_n(out, " ", 1);
            i++;
            continue;
        }
        if (fresh && j->pretty)
            new_line(j, j->depth + depth);
        fresh = c == '{' || c == '[';
        size_t length = 1;
        if (fresh) {
            depth++;
            psc_text_add_n(out, &c, 1);
        } else if (c == '"') {
            length = string_span(json + i, n - i);
            add_literal(out, json + i, length);
        } else {
            while (i + length < n && !strchr(" \t\r\n,:{}[]\"", json[i + length]))
                length++;
            bool not_json = c == 'N' || c == 'I' || (c == '-' && length > 1 && json[i + 1] == 'I');
            psc_text_add_n(out, not_json ? "null" : json + i, not_json ? 4 : length);
        }
        i += length;
    }
}
