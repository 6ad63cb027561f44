#include "traces/index.h"

#include "traces/probe.h"

#include <string.h>

enum level { AT_START, IN_DOC, IN_PHASES, IN_PHASE, IN_STEPS, AT_END };

void psc_index_init(struct psc_index *ix, const char *s, size_t n)
{
    memset(ix, 0, sizeof *ix);
    psc_scan_init(&ix->scan, s, n);
}

/* Fills ix->error from a token that ended the scan. */
static void describe(struct psc_index *ix, enum psc_token token)
{
    struct psc_scan *scan = &ix->scan;
    uint64_t line, column;
    psc_text_place(scan->s, scan->from, &line, &column);
    if (token == PSC_TOK_DEEP)
        psc_fail_at(&ix->error, PSC_ERR_PARSE, line, column, scan->from,
                    "nesting too deep: more than %u levels at line %llu, column %llu (byte %zu)",
                    PSC_JSON_NESTING_MAX, (unsigned long long)line, (unsigned long long)column, scan->from);
    else
        psc_fail_at(&ix->error, PSC_ERR_PARSE, line, column, scan->from,
                    "not well-formed JSON at line %llu, column %llu (byte %zu): %s", (unsigned long long)line,
                    (unsigned long long)column, scan->from, scan->fault);
}

static enum psc_found stopped(struct psc_index *ix, enum psc_token token)
{
    if (token == PSC_TOK_CUT)
        return PSC_FOUND_CUT;
    describe(ix, token);
    return PSC_FOUND_ERROR;
}

/* What a complete value is at the current level. */
static enum psc_found found_value(const struct psc_index *ix)
{
    switch (ix->level) {
    case IN_DOC: return PSC_FOUND_MEMBER;
    case IN_PHASE: return PSC_FOUND_PHASE_MEMBER;
    case IN_STEPS: return PSC_FOUND_STEP;
    default: return PSC_FOUND_ODD_PHASE;
    }
}

/* Passes over the container whose opening bracket was read before. */
static enum psc_found pass_over(struct psc_index *ix, size_t limit)
{
    struct psc_scan *scan = &ix->scan;
    enum psc_token token = psc_scan_close(scan, ix->pending_depth, limit);
    size_t start = (size_t)(ix->value.s - scan->s);
    enum psc_found found = found_value(ix);
    if (token == PSC_TOK_PAUSE)
        return PSC_FOUND_PAUSE;
    if (token == PSC_TOK_BAD && ix->level == IN_STEPS) {
        describe(ix, token);
        if (!psc_scan_recover(scan, ix->pending_depth, start + 1))
            return PSC_FOUND_ERROR;
        found = PSC_FOUND_BAD_STEP;
    } else if (token >= PSC_TOK_END) {
        return stopped(ix, token);
    }
    ix->pending = false;
    ix->value.n = scan->to - start;
    return found;
}

/* The value whose first token was just read: complete when it is a scalar. */
static enum psc_found take_value(struct psc_index *ix, enum psc_token token)
{
    ix->value = (struct psc_slice){ix->scan.s + ix->scan.from, ix->scan.to - ix->scan.from};
    ix->pending = token == PSC_TOK_OBJECT || token == PSC_TOK_ARRAY;
    ix->pending_depth = ix->scan.depth;
    return ix->pending ? PSC_FOUND_NOTHING : found_value(ix);
}

static enum psc_found take_member(struct psc_index *ix)
{
    struct psc_scan *scan = &ix->scan;
    ix->key = (struct psc_slice){scan->s + scan->from + 1, scan->to - scan->from - 2};
    enum psc_token token = psc_scan_next(scan);
    if (token >= PSC_TOK_END)
        return stopped(ix, token);
    if (token == PSC_TOK_ARRAY && ix->level == IN_DOC && psc_slice_is_key(ix->key, "phases")) {
        ix->level = IN_PHASES;
        return PSC_FOUND_NOTHING;
    }
    if (token == PSC_TOK_ARRAY && ix->level == IN_PHASE && psc_slice_is_key(ix->key, "steps")) {
        ix->level = IN_STEPS;
        return PSC_FOUND_NOTHING;
    }
    return take_value(ix, token);
}

static enum psc_found leave(struct psc_index *ix)
{
    switch (ix->level) {
    case IN_STEPS: ix->level = IN_PHASE; return PSC_FOUND_NOTHING;
    case IN_PHASE: ix->level = IN_PHASES; return PSC_FOUND_PHASE_END;
    case IN_PHASES: ix->level = IN_DOC; return PSC_FOUND_NOTHING;
    default: ix->level = AT_END; return PSC_FOUND_NOTHING;
    }
}

static enum psc_found start(struct psc_index *ix, enum psc_token token)
{
    if (token == PSC_TOK_OBJECT) {
        ix->level = IN_DOC;
        return PSC_FOUND_NOTHING;
    }
    psc_probe_refuse(ix->scan.s, ix->scan.n, &ix->error);
    return PSC_FOUND_ERROR;
}

static enum psc_found take_token(struct psc_index *ix)
{
    enum psc_token token = psc_scan_next(&ix->scan);
    if (ix->level == AT_START)
        return start(ix, token);
    if (token == PSC_TOK_END)
        return PSC_FOUND_END;
    if (token >= PSC_TOK_END)
        return stopped(ix, token);
    if (token == PSC_TOK_OBJECT_END || token == PSC_TOK_ARRAY_END)
        return leave(ix);
    if (token == PSC_TOK_KEY)
        return take_member(ix);
    if (ix->level == IN_PHASES && token == PSC_TOK_OBJECT) {
        ix->level = IN_PHASE;
        return PSC_FOUND_PHASE;
    }
    return take_value(ix, token);
}

enum psc_found psc_index_next(struct psc_index *ix, size_t limit)
{
    while (ix->scan.at < limit || ix->level == AT_END) {
        enum psc_found found = ix->pending ? pass_over(ix, limit) : take_token(ix);
        if (found != PSC_FOUND_NOTHING)
            return found;
    }
    return PSC_FOUND_PAUSE;
}
