#include "traces/probe.h"

#include "traces/scan.h"

#include <stdio.h>
#include <string.h>

#define WINDOW ((size_t)64 << 10) /* bytes looked at at either end */

static void take(struct psc_probe *probe, struct psc_slice key, struct psc_slice value)
{
    if (psc_slice_is_key(key, "format"))
        probe->format = value;
    else if (psc_slice_is_key(key, "version"))
        probe->version = value;
    else if (psc_slice_is_key(key, "phases"))
        probe->has_phases = true;
    else if (psc_slice_is_key(key, "nodes"))
        probe->has_nodes = true;
}

static struct psc_slice token_slice(const struct psc_scan *scan)
{
    return (struct psc_slice){scan->s + scan->from, scan->to - scan->from};
}

/* The first keys of the document, as far as the window reaches. */
static void look_at_head(const char *s, size_t n, struct psc_probe *probe)
{
    struct psc_scan scan;
    psc_scan_init(&scan, s, n);
    if (psc_scan_next(&scan) != PSC_TOK_OBJECT)
        return;
    while (scan.at < WINDOW && psc_scan_next(&scan) == PSC_TOK_KEY) {
        struct psc_slice key = {s + scan.from + 1, scan.to - scan.from - 2};
        enum psc_token token = psc_scan_next(&scan);
        struct psc_slice value = token_slice(&scan);
        if (token >= PSC_TOK_END)
            return;
        take(probe, key, value);
        if ((token == PSC_TOK_OBJECT || token == PSC_TOK_ARRAY) &&
            psc_scan_close(&scan, scan.depth, WINDOW) >= PSC_TOK_END)
            return;
    }
}

/* The text from `at` (a comma between two members of the document) to its end holds scalar members only;
 * hands them to the probe when `probe` is not NULL. */
static bool tail_members(const char *s, size_t at, size_t n, struct psc_probe *probe)
{
    /* Read it as a document of its own, with the comma standing for its opening bracket. */
    struct psc_scan scan;
    psc_scan_init(&scan, s, n);
    scan.at = at + 1;
    scan.depth = 1;
    scan.in_object = true;
    scan.nest[0] = 1;
    scan.expect = 1; /* as just after '{' */
    for (;;) {
        enum psc_token token = psc_scan_next(&scan);
        if (token == PSC_TOK_OBJECT_END)
            break;
        if (token != PSC_TOK_KEY)
            return false;
        struct psc_slice key = {s + scan.from + 1, scan.to - scan.from - 2};
        token = psc_scan_next(&scan);
        if (token != PSC_TOK_STRING && token != PSC_TOK_NUMBER && token != PSC_TOK_WORD)
            return false;
        if (probe)
            take(probe, key, token_slice(&scan));
    }
    while (scan.at < n && strchr(" \t\r\n", s[scan.at]) && s[scan.at])
        scan.at++;
    return scan.at == n;
}

/* The last keys: scalars behind the last container of the document. */
static void look_at_tail(const char *s, size_t n, struct psc_probe *probe)
{
    size_t stop = n > WINDOW ? n - WINDOW : 0;
    unsigned tries = 0;
    for (size_t i = n; i-- > stop && tries < 64;) {
        if (s[i] != ']' && s[i] != '}')
            continue;
        size_t at = i + 1;
        while (at < n && strchr(" \t\r\n", s[at]) && s[at])
            at++;
        if (at >= n || s[at] != ',')
            continue;
        tries++;
        if (tail_members(s, at, n, NULL)) {
            tail_members(s, at, n, probe);
            return;
        }
    }
}

void psc_probe(const char *s, size_t n, struct psc_probe *ret)
{
    memset(ret, 0, sizeof *ret);
    look_at_tail(s, n, ret);
    look_at_head(s, n, ret); /* a key at the head has the last word */
}

enum psc_status psc_probe_coding(const char *s, size_t n, struct psc_error *reterr)
{
    const unsigned char *u = (const unsigned char *)s;
    if (!n)
        return psc_fail(reterr, PSC_ERR_PARSE, "file is empty: it holds nothing but zero bytes");
    if (n >= 2 && ((u[0] == 0xff && u[1] == 0xfe) || (u[0] == 0xfe && u[1] == 0xff) || !u[0] ||
                   (u[0] == '{' && !u[1])))
        return psc_fail_at(reterr, PSC_ERR_PARSE, 1, 1, 0, "text in UTF-16 or UTF-32: this program reads UTF-8");
    if ((n >= 2 && u[0] == 0x1f && u[1] == 0x8b) || (n >= 4 && !memcmp(u, "\x28\xb5\x2f\xfd", 4)) ||
        (n >= 4 && !memcmp(u, "PK\3\4", 4)) || (n >= 6 && !memcmp(u, "\xfd" "7zXZ", 5)))
        return psc_fail_at(reterr, PSC_ERR_PARSE, 1, 1, 0,
                           "a compressed file (%s): unpack it first",
                           u[0] == 0x1f ? "gzip" : u[0] == 'P' ? "zip" : u[0] == 0xfd ? "xz" : "zstd");
    if (n >= 4 && !memcmp(u, "GGUF", 4))
        return psc_fail_at(reterr, PSC_ERR_PARSE, 1, 1, 0,
                           "a model in GGUF, not a trace: Run\xe2\x80\xa6 (Ctrl+R) executes it, planscope-cli plans and checks it");
    return PSC_OK;
}

enum psc_status psc_probe_refuse(const char *s, size_t n, struct psc_error *reterr)
{
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", s[at]) && s[at])
        at++;
    if (at == n)
        return psc_fail(reterr, PSC_ERR_PARSE, "file holds nothing but blanks: it is empty");
    size_t depth = 0;
    while (at + depth < n && s[at + depth] == '[')
        depth++;
    if (depth > PSC_JSON_NESTING_MAX)
        return psc_fail_at(reterr, PSC_ERR_PARSE, 1, at + 1, at, "nesting too deep: more than %u levels",
                           PSC_JSON_NESTING_MAX);
    char shown[64] = "";
    size_t used = 0;
    for (size_t i = at; i < n && i < at + 8; i++) {
        unsigned char c = (unsigned char)s[i];
        int wrote = c >= 0x20 && c < 0x7f ? snprintf(shown + used, sizeof shown - used, "%c", c)
                                          : snprintf(shown + used, sizeof shown - used, "\\x%02x", c);
        used += (size_t)wrote;
    }
    return psc_fail_at(
        reterr, PSC_ERR_PARSE, 1, at + 1, at,
        "not a trace: it begins with \"%s\", where a minfer-trace or minfer-graph begins with '{'", shown);
}
