/* traces/scan.h: walks JSON text token by token, checks its grammar, keeps nothing but positions.
 *
 *     {"id":7,"v":[0.5,null]}      tokens: OBJECT  KEY "id"  NUMBER 7  KEY "v"  ARRAY  NUMBER  WORD ARRAY_END
 *      ^from ^to                           OBJECT_END  END
 *
 * No recursion: nesting is a stack of bits, at most PSC_JSON_NESTING_MAX deep. Stops between any two tokens,
 * so that a scan of any size can be paused and continued. Text stays where it is; tokens are [from, to) in
 * it. Beyond JSON it lets pass NaN, Infinity, -Infinity, raw control characters, invalid UTF-8 and half
 * surrogate pairs inside strings, and remembers where the first of each stood. Cost: one pass; strings go 16 bytes at a time.
 */
#ifndef PSC_TRACES_SCAN_H
#define PSC_TRACES_SCAN_H

#include "traces/traces.h"

enum psc_token {
    PSC_TOK_OBJECT,
    PSC_TOK_OBJECT_END,
    PSC_TOK_ARRAY,
    PSC_TOK_ARRAY_END,
    PSC_TOK_KEY,    /* the string with its quotes; the colon is taken too */
    PSC_TOK_STRING, /* with its quotes */
    PSC_TOK_NUMBER,
    PSC_TOK_WORD,  /* true, false, null, NaN, Infinity, -Infinity */
    PSC_TOK_END,   /* the document is complete; what follows it is not looked at */
    PSC_TOK_PAUSE, /* psc_scan_close reached its limit */
    PSC_TOK_CUT,   /* the text ends inside the document */
    PSC_TOK_BAD,   /* not JSON at byte `from`; `fault` says what */
    PSC_TOK_DEEP,  /* nesting too deep at byte `from` */
};

struct psc_scan {
    const char *s; /* borrowed */
    size_t n, at;  /* bytes in all; next byte to look at */
    size_t from, to;
    uint32_t depth; /* open containers */
    uint8_t expect; /* private */
    bool in_object; /* the innermost container is an object */
    uint64_t nest[(PSC_JSON_NESTING_MAX + 64) / 64];
    const char *fault; /* "a comma before ']'" */
    /* First place of what was let pass (SIZE_MAX: none) and how often. */
    size_t utf8_at, control_at, word_at, surrogate_at;
    uint64_t utf8_n, control_n, word_n, surrogate_n;
};

void psc_scan_init(struct psc_scan *scan, const char *s, size_t n);
enum psc_token psc_scan_next(struct psc_scan *scan);
/* Goes on until the container that is open at `depth` (as scan->depth was after its opening token) has closed
 * and returns its closing token, or PAUSE once `limit` bytes of the text are passed. */
enum psc_token psc_scan_close(struct psc_scan *scan, uint32_t depth, size_t limit);
/* Ends the container that is open at `depth`, whose text is not JSON, by counting brackets outside strings
 * from byte `from` just after its opening bracket: true when a closing bracket was found. */
bool psc_scan_recover(struct psc_scan *scan, uint32_t depth, size_t from);

/* 1-based line and column (in bytes) of a byte. O(byte). */
void psc_text_place(const char *s, size_t byte, uint64_t *ret_line, uint64_t *ret_column);

/* First byte at or after i that ends or interrupts a string: '"', '\\', a control character, a byte above
 * 0x7f; n when there is none. */
size_t psc_string_stop(const char *s, size_t i, size_t n);

#endif
