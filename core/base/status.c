#include "core/base/status.h"

#include <stdio.h>
#include <string.h>

/* Cuts a UTF-8 string that vsnprintf may have cut in the middle of a character. */
static void trim_partial_character(char *text)
{
    size_t n = strlen(text);
    size_t back = 0;
    while (back < 4 && back < n && ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back >= n)
        return;
    unsigned char lead = (unsigned char)text[n - 1 - back];
    size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (want != back && lead >= 0xc0)
        text[n - 1 - back] = '\0';
}

static void fill(struct psc_error *err, enum psc_status status, const char *fmt, va_list ap)
{
    err->status = status;
    err->line = err->column = 0;
    err->byte = UINT64_MAX;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    if (strlen(err->text) + 1 == sizeof err->text)
        trim_partial_character(err->text);
}

enum psc_status psc_fail(struct psc_error *reterr, enum psc_status status, const char *fmt, ...)
{
    if (reterr) {
        va_list ap;
        va_start(ap, fmt);
        fill(reterr, status, fmt, ap);
        va_end(ap);
    }
    return status;
}

enum psc_status psc_fail_at(struct psc_error *reterr, enum psc_status status, uint64_t line,
                            uint64_t column, uint64_t byte, const char *fmt, ...)
{
    if (reterr) {
        va_list ap;
        va_start(ap, fmt);
        fill(reterr, status, fmt, ap);
        va_end(ap);
        reterr->line = line;
        reterr->column = column;
        reterr->byte = byte;
    }
    return status;
}

enum psc_status psc_fail_nomem(struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_NOMEM, "out of memory");
}

const char *psc_status_name(enum psc_status status)
{
    switch (status) {
    case PSC_OK: return "ok";
    case PSC_ERR_NOMEM: return "out of memory";
    case PSC_ERR_PARSE: return "parse";
    case PSC_ERR_GRAPH: return "graph";
    case PSC_ERR_ORDER: return "order";
    case PSC_ERR_TOO_BIG: return "too big";
    case PSC_ERR_UNAVAILABLE: return "unavailable";
    case PSC_ERR_IO: return "input/output";
    case PSC_ERR_USAGE: return "usage";
    case PSC_ERR_CANCELLED: return "cancelled";
    case PSC_ERR_PLAN: return "plan";
    case PSC_ERR_RUN: return "run";
    }
    return "unknown";
}
