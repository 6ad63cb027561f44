/* core/base/text.h: a string that grows, and a list of messages of one pass over a file.
 *
 * psc_text remembers a failed allocation (`failed`), so that a caller may append freely and ask
 * once at the end.
 */
#ifndef PSC_CORE_BASE_TEXT_H
#define PSC_CORE_BASE_TEXT_H

#include "core/base/arena.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psc_text {
    char *s;  /* owned, NUL-terminated; NULL while empty */
    size_t n, cap;
    bool failed; /* an allocation failed: the text is incomplete */
};
void psc_text_release(struct psc_text *text); /* {0} is an empty text */
void psc_text_clear(struct psc_text *text);   /* keeps the memory */
void psc_text_add(struct psc_text *text, const char *s);
void psc_text_add_n(struct psc_text *text, const char *s, size_t n);
void psc_text_addf(struct psc_text *text, const char *fmt, ...) PSC_PRINTF(2, 3);
const char *psc_text_str(const struct psc_text *text); /* never NULL */
/* A copy in the arena, NULL when memory failed, now or before. The text is released. */
char *psc_text_keep(struct psc_text *text, struct psc_arena *arena);
/* Does a character stand at s that a terminal or a line of text must not get as it is: a control (U+0080 to
 * U+009F too), a line or paragraph separator, a mark that turns the direction of writing? Its length in bytes and
 * its code point, 0 when it is harmless. s ends in a NUL byte. */
size_t psc_text_control(const char *s, uint32_t *ret_code);

/* "1.50 MiB", "7.0 KiB", "8 B": three significant digits, for people. buf holds at least 16 bytes. */
const char *psc_bytes_text(uint64_t bytes, char *buf, size_t size);
/* "1,234,567". buf holds at least 27 bytes. */
const char *psc_thousands(uint64_t n, char *buf, size_t size);

enum psc_level { PSC_NOTE, PSC_WARNING, PSC_FAULT };
struct psc_message {
    enum psc_level level;
    uint64_t line, column, byte; /* 0, 0, UINT64_MAX when there is no place */
    char *text;                  /* owned by the report, one sentence, valid UTF-8 */
};
struct psc_report {
    struct psc_message *items; /* owned */
    size_t n, cap;
    size_t fault_n, dropped; /* faults among the items; messages beyond PSC_REPORT_MAX */
    bool failed;             /* an allocation failed: a message may be missing */
};
#define PSC_REPORT_MAX 1000u /* a first fault still takes the place of the last warning */
void psc_report_release(struct psc_report *report); /* {0} is an empty report */
void psc_report_add(struct psc_report *report, enum psc_level level, uint64_t line, uint64_t column,
                    uint64_t byte, const char *fmt, ...) PSC_PRINTF(6, 7);
/* Every fault joined with "; " into reterr->text (cut at its size); PSC_OK when there is none. */
enum psc_status psc_report_fail(const struct psc_report *report, enum psc_status status,
                                struct psc_error *reterr);

#endif
