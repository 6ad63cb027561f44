#include "core/base/text.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

void psc_text_release(struct psc_text *text)
{
    psc_free(text->s);
    memset(text, 0, sizeof *text);
}

void psc_text_clear(struct psc_text *text)
{
    text->n = 0;
    text->failed = false;
    if (text->s)
        text->s[0] = '\0';
}

void psc_text_add_n(struct psc_text *text, const char *s, size_t n)
{
    if (text->failed)
        return;
    if (n >= SIZE_MAX - text->n - 1 || !psc_grow(&text->s, text->n + n + 1, &text->cap, 1)) {
        text->failed = true;
        return;
    }
    memcpy(text->s + text->n, s, n);
    text->n += n;
    text->s[text->n] = '\0';
}

void psc_text_add(struct psc_text *text, const char *s)
{
    psc_text_add_n(text, s, strlen(s));
}

static void add_va(struct psc_text *text, const char *fmt, va_list ap)
{
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n >= 0 && (size_t)n < sizeof small) {
        psc_text_add_n(text, small, (size_t)n);
    } else if (n >= 0 && !text->failed) {
        if (psc_grow(&text->s, text->n + (size_t)n + 1, &text->cap, 1)) {
            vsnprintf(text->s + text->n, (size_t)n + 1, fmt, again);
            text->n += (size_t)n;
        } else {
            text->failed = true;
        }
    }
    va_end(again);
}

void psc_text_addf(struct psc_text *text, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_va(text, fmt, ap);
    va_end(ap);
}

const char *psc_text_str(const struct psc_text *text)
{
    return text->s ? text->s : "";
}

char *psc_text_keep(struct psc_text *text, struct psc_arena *arena)
{
    char *copy = text->failed ? NULL : psc_arena_strdup(arena, psc_text_str(text));
    psc_text_release(text);
    return copy;
}

size_t psc_text_control(const char *s, uint32_t *ret_code)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] && (u[0] < 0x20 || u[0] == 0x7f)) {
        *ret_code = u[0];
        return 1;
    }
    if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0) {
        *ret_code = u[1];
        return 2;
    }
    if (u[0] != 0xe2 || (u[1] != 0x80 && u[1] != 0x81) || u[2] < 0x80 || u[2] > 0xbf)
        return 0;
    uint32_t code = 0x2000u | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    *ret_code = code;
    bool turns = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                 (code >= 0x2066 && code <= 0x2069);
    return turns || code == 0x2028 || code == 0x2029 ? 3 : 0;
}

const char *psc_bytes_text(uint64_t bytes, char *buf, size_t size)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    unsigned u = 0;
    while (v >= 1024.0 && u < 6) {
        v /= 1024.0;
        u++;
    }
    if (u == 0)
        snprintf(buf, size, "%u B", (unsigned)bytes);
    else
        snprintf(buf, size, v < 9.995 ? "%.2f %s" : v < 99.95 ? "%.1f %s" : "%.0f %s", v, unit[u]);
    return buf;
}

const char *psc_thousands(uint64_t n, char *buf, size_t size)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t at = 0;
    for (int i = 0; i < len && at + 2 < size; i++) {
        if (i && (len - i) % 3 == 0)
            buf[at++] = ',';
        buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

void psc_report_release(struct psc_report *report)
{
    for (size_t i = 0; i < report->n; i++)
        psc_free(report->items[i].text);
    psc_free(report->items);
    memset(report, 0, sizeof *report);
}

void psc_report_add(struct psc_report *report, enum psc_level level, uint64_t line, uint64_t column,
                    uint64_t byte, const char *fmt, ...)
{
    if (level == PSC_FAULT)
        report->fault_n++;
    if (report->n >= PSC_REPORT_MAX) {
        struct psc_message *last = &report->items[report->n - 1];
        report->dropped++;
        if (level != PSC_FAULT || last->level == PSC_FAULT)
            return;
        psc_free(last->text); /* the fault that condemns a file is told, whatever stood there */
        report->n--;
    }
    struct psc_text text = {0};
    va_list ap;
    va_start(ap, fmt);
    add_va(&text, fmt, ap);
    va_end(ap);
    if (text.failed || !text.s || !psc_grow(&report->items, report->n + 1, &report->cap, sizeof *report->items)) {
        psc_text_release(&text);
        report->failed = true;
        return;
    }
    report->items[report->n++] = (struct psc_message){level, line, column, byte, text.s};
}

enum psc_status psc_report_fail(const struct psc_report *report, enum psc_status status,
                                struct psc_error *reterr)
{
    if (!report->fault_n)
        return PSC_OK;
    struct psc_text all = {0};
    const struct psc_message *first = NULL;
    for (size_t i = 0; i < report->n; i++) {
        if (report->items[i].level != PSC_FAULT)
            continue;
        if (!first)
            first = &report->items[i];
        psc_text_addf(&all, "%s%s", all.n ? "; " : "", report->items[i].text);
    }
    if (first)
        psc_fail_at(reterr, status, first->line, first->column, first->byte, "%s", psc_text_str(&all));
    else
        psc_fail_nomem(reterr);
    psc_text_release(&all);
    return status;
}
