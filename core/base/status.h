/* core/base/status.h: how a function says that it failed, and why.
 *
 * Every function that can fail for a reason the caller may show or act on returns
 * enum psc_status. Results come back through `ret*` parameters, which stay untouched on
 * failure; the sentence for people comes back through `reterr`, always last, always optional:
 *
 *     if (n > PSC_NODES_MAX)
 *         return psc_fail(reterr, PSC_ERR_TOO_BIG, "the graph has %u nodes, at most %u fit", n, max);
 *
 * The text says what is wrong, where, and what would be right. Core prints nothing.
 */
#ifndef PSC_CORE_BASE_STATUS_H
#define PSC_CORE_BASE_STATUS_H

#include <stdarg.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PSC_MUST_CHECK __attribute__((warn_unused_result))
#define PSC_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define PSC_MUST_CHECK
#define PSC_PRINTF(fmt, first)
#endif

enum psc_status {
    PSC_OK = 0,
    PSC_ERR_NOMEM = -1,       /* an allocation failed; nothing was changed */
    PSC_ERR_PARSE = -2,       /* a file is not what its format asks for */
    PSC_ERR_GRAPH = -3,       /* a graph breaks a rule: cycle, dangling or duplicate id, shape */
    PSC_ERR_ORDER = -4,       /* an order reads a tensor before it is written */
    PSC_ERR_TOO_BIG = -5,     /* a size passes a named limit or overflows 64 bits */
    PSC_ERR_UNAVAILABLE = -6, /* compiled without, no device, driver too old */
    PSC_ERR_IO = -7,          /* the operating system refused a file operation */
    PSC_ERR_USAGE = -8,       /* an option or argument makes no sense */
    PSC_ERR_CANCELLED = -9,   /* the person pressed Cancel */
    PSC_ERR_PLAN = -10,       /* a plan cannot be applied to this graph */
    PSC_ERR_RUN = -11,        /* a run went wrong: numbers that no right run makes, an op that cannot be executed */
};

struct psc_error {
    enum psc_status status;
    uint64_t line, column; /* 1-based place in a text file, 0 when not known */
    uint64_t byte;         /* offset from the start of the file, UINT64_MAX when not known */
    char text[480];        /* one sentence, always NUL-terminated, valid UTF-8 */
};

/* Sets *reterr (which may be NULL) and returns `status`, so that one line does both. */
enum psc_status psc_fail(struct psc_error *reterr, enum psc_status status, const char *fmt, ...)
    PSC_PRINTF(3, 4);
/* The same with a place in a file. */
enum psc_status psc_fail_at(struct psc_error *reterr, enum psc_status status, uint64_t line,
                            uint64_t column, uint64_t byte, const char *fmt, ...) PSC_PRINTF(6, 7);
/* Shorthand for PSC_ERR_NOMEM with its sentence. */
enum psc_status psc_fail_nomem(struct psc_error *reterr);

/* "PSC_ERR_PARSE" -> "parse"; never NULL. */
const char *psc_status_name(enum psc_status status);

#endif
