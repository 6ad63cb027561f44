#include "traces/minimalloc.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum column { ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET, HINT, GAPS, COLUMN_N, COLUMNS_MAX = 32 };
static const char *const names[COLUMN_N] = {"id", "lower", "upper", "size", "alignment", "offset", "hint", "gaps"};

/* What a first opening spends on search; a planner option spends more. */
#define WORK_AT_OPENING 300000u

struct field { const char *s; size_t n; uint64_t column; };
struct reading {
    const char *s, *line, *end; /* where reading is, where its line begins, the end of the text */
    uint64_t line_no;
    struct field fields[COLUMNS_MAX];
    uint32_t field_n, width;
    uint8_t column_of[COLUMNS_MAX]; /* enum column of each field, COLUMN_N: unknown */
    bool has[COLUMN_N], gaps_told;
    struct psc_arena *arena, scratch;
    struct psc_report *report;
    struct psc_error *reterr;
    struct psc_map seen;        /* hash of an id -> box */
    struct psc_box *boxes;
    int64_t *lower, *upper;     /* of each box */
    uint64_t *aligns, *fixed, *lines;
    char **ids;
    size_t n, cap[7];
};

/* ---- lines ---------------------------------------------------------------------------------------------------- */

static enum psc_status fail(struct reading *r, const struct field *f, const char *what)
{
    uint64_t column = f ? f->column : 1;
    return psc_fail_at(r->reterr, PSC_ERR_PARSE, r->line_no, column, (uint64_t)(r->line - r->s) + column - 1, "%s", what);
}

/* Splits the line at `at` into fields; returns where the next line begins. Quotes may hold commas and doubled quotes,
 * which are undone in place of a copy: a quoted field keeps its doubled quotes until it is read as a text. */
static const char *split(struct reading *r, const char *at)
{
    r->line = at;
    r->line_no++;
    r->field_n = 0;
    for (;;) {
        const char *from = at, *to;
        if (at < r->end && *at == '"') {
            for (at++; at < r->end && (*at != '"' || (at + 1 < r->end && at[1] == '"')) && *at != '\n'; at++)
                at += *at == '"';
            at += at < r->end && *at == '"';
        }
        while (at < r->end && *at != ',' && *at != '\n' && *at != '\r')
            at++;
        for (to = at; to > from && (to[-1] == ' ' || to[-1] == '\t'); to--) {}
        for (; from < to && (*from == ' ' || *from == '\t'); from++) {}
        if (r->field_n < COLUMNS_MAX)
            r->fields[r->field_n] = (struct field){from, (size_t)(to - from), (uint64_t)(from - r->line) + 1};
        r->field_n++;
        if (at < r->end && *at == ',') {
            at++;
            continue;
        }
        at += at < r->end && *at == '\r';
        return at < r->end ? at + 1 : at;
    }
}

static bool is_blank(const struct reading *r)
{
    return r->field_n == 1 && !r->fields[0].n;
}

static enum column column_named(const struct field *f)
{
    for (int c = 0; c < COLUMN_N; c++) {
        size_t k = 0;
        while (k < f->n && names[c][k] && tolower((unsigned char)f->s[k]) == names[c][k])
            k++;
        if (k == f->n && !names[c][k])
            return (enum column)c;
    }
    return COLUMN_N;
}

static const char *after_mark(const char *s, size_t n)
{
    return n >= 3 && !memcmp(s, "\xef\xbb\xbf", 3) ? s + 3 : s; /* a byte order mark */
}

bool psc_minimalloc_is(const char *bytes, size_t n)
{
    struct reading r = {.s = bytes, .end = bytes + n};
    bool has[COLUMN_N + 1] = {false};
    const char *at = after_mark(bytes, n);
    if (at == r.end || *at == '{' || !memchr(at, ',', n < 256 ? (size_t)(r.end - at) : 256))
        return false;
    (void)split(&r, at);
    for (uint32_t k = 0; k < r.field_n && k < COLUMNS_MAX; k++)
        has[column_named(&r.fields[k])] = true;
    return has[LOWER] && has[UPPER] && has[SIZE];
}

/* ---- the header ------------------------------------------------------------------------------------------------ */

static enum psc_status read_header(struct reading *r, const char **at)
{
    *at = split(r, after_mark(r->s, (size_t)(r->end - r->s)));
    if (r->field_n > COLUMNS_MAX)
        return fail(r, NULL, "a line of more than 32 columns");
    r->width = r->field_n;
    for (uint32_t k = 0; k < r->field_n; k++) {
        enum column c = column_named(&r->fields[k]);
        r->column_of[k] = (uint8_t)c;
        if (c < COLUMN_N && r->has[c])
            return fail(r, &r->fields[k], "the first line names a column twice");
        if (c < COLUMN_N)
            r->has[c] = true;
        else
            psc_report_add(r->report, PSC_WARNING, 1, r->fields[k].column, UINT64_MAX,
                           "column %u, \"%.*s\", is none of MiniMalloc's: it is passed over", k + 1,
                           (int)(r->fields[k].n < 40 ? r->fields[k].n : 40), r->fields[k].s);
    }
    for (int c = ID; c <= SIZE; c++)
        if (!r->has[c])
            return psc_fail_at(r->reterr, PSC_ERR_PARSE, 1, 1, 0, "the first line names no column \"%s\": it is "
                               "id,lower,upper,size[,alignment,offset,hint,gaps]", names[c]);
    return PSC_OK;
}

/* ---- fields ------------------------------------------------------------------------------------------------------- */

static enum psc_status read_i64(struct reading *r, const struct field *f, enum column c, int64_t *ret)
{
    uint64_t n = 0;
    bool minus = f->n && *f->s == '-';
    size_t k = minus;
    for (; k < f->n && isdigit((unsigned char)f->s[k]); k++)
        if (!psc_mul_u64(n, 10, &n) || !psc_add_u64(n, (uint64_t)(f->s[k] - '0'), &n) || n > INT64_MAX)
            break;
    if (k < f->n || k == minus)
        return psc_fail_at(r->reterr, PSC_ERR_PARSE, r->line_no, f->column, (uint64_t)(f->s - r->s),
                           "%s is \"%.*s\", which is no whole number below 2^63", names[c], (int)(f->n < 40 ? f->n : 40),
                           f->s);
    *ret = minus ? -(int64_t)n : (int64_t)n;
    return PSC_OK;
}

/* The text of an id: quotes undone, bytes that are no UTF-8 replaced. */
static char *text_of(struct reading *r, const struct field *f)
{
    struct psc_text raw = {0}, text = {0};
    bool quoted = f->n >= 2 && *f->s == '"' && f->s[f->n - 1] == '"';
    for (size_t k = quoted; k < f->n - quoted; k++) {
        psc_text_add_n(&raw, f->s + k, 1);
        k += quoted && f->s[k] == '"' && f->s[k + 1] == '"';
    }
    psc_utf8_lossy(psc_text_str(&raw), raw.n, &text);
    char *copy = raw.failed || text.failed ? NULL : psc_arena_strdup(r->arena, psc_text_str(&text));
    psc_text_release(&raw);
    psc_text_release(&text);
    return copy;
}

static enum psc_status take_id(struct reading *r, const struct field *f)
{
    uint64_t hash;
    uint32_t old;
    char *id = text_of(r, f);
    if (!id)
        return psc_fail_nomem(r->reterr);
    if (!*id)
        return fail(r, f, "an id is empty");
    r->ids[r->n] = id;
    hash = psc_hash_bytes(id, strlen(id), 0);
    for (;; hash++) { /* the next free key after those of other ids with this hash */
        if (!psc_map_put(&r->seen, hash, (uint32_t)r->n, &old))
            return psc_fail_nomem(r->reterr);
        if (old == UINT32_MAX)
            return PSC_OK;
        if (!strcmp(r->ids[old], id))
            return psc_fail_at(r->reterr, PSC_ERR_PARSE, r->line_no, f->column, (uint64_t)(f->s - r->s),
                               "id %.60s stands in line %" PRIu64 " already", id, r->lines[old]);
    }
}

static enum psc_status take_field(struct reading *r, const struct field *f, enum column c)
{
    int64_t n = 0;
    enum psc_status status = PSC_OK;
    bool optional = c >= ALIGNMENT;
    if (c == ID)
        return take_id(r, f);
    if (c == GAPS && f->n && !r->gaps_told) {
        psc_report_add(r->report, PSC_WARNING, r->line_no, f->column, UINT64_MAX,
                       "gaps are passed over: boxes are taken to be alive from lower to upper");
        r->gaps_told = true;
    }
    if (c == HINT || c == GAPS || (optional && !f->n))
        return PSC_OK;
    status = read_i64(r, f, c, &n);
    if (status)
        return status;
    if (n < 0 && (c == SIZE || c == ALIGNMENT || (c == OFFSET && n != -1)))
        return fail(r, f, c == SIZE ? "a size below 0" : c == ALIGNMENT ? "an alignment below 0" : "an offset below 0");
    switch (c) {
    case LOWER: r->lower[r->n] = n; break;
    case UPPER: r->upper[r->n] = n; break;
    case SIZE: r->boxes[r->n].bytes = (uint64_t)n; break;
    case ALIGNMENT:
        if (n & (n - 1))
            return fail(r, f, "an alignment is a power of two");
        r->aligns[r->n] = (uint64_t)n;
        break;
    case OFFSET: r->fixed[r->n] = n < 0 ? PSC_OFFSET_FREE : (uint64_t)n; break;
    default: break;
    }
    return PSC_OK;
}

static bool make_room(struct reading *r)
{
    size_t want = r->n + 1;
    return psc_grow(&r->boxes, want, &r->cap[0], sizeof *r->boxes) && psc_grow(&r->lower, want, &r->cap[1], sizeof *r->lower) &&
           psc_grow(&r->upper, want, &r->cap[2], sizeof *r->upper) &&
           psc_grow(&r->aligns, want, &r->cap[3], sizeof *r->aligns) &&
           psc_grow(&r->fixed, want, &r->cap[4], sizeof *r->fixed) && psc_grow(&r->ids, want, &r->cap[5], sizeof *r->ids) &&
           psc_grow(&r->lines, want, &r->cap[6], sizeof *r->lines);
}

static enum psc_status read_row(struct reading *r)
{
    enum psc_status status = PSC_OK;
    if (r->field_n != r->width)
        return psc_fail_at(r->reterr, PSC_ERR_PARSE, r->line_no, 1, (uint64_t)(r->line - r->s),
                           "the line has %u fields, the first line names %u columns", r->field_n, r->width);
    if (r->n >= PSC_BOXES_MAX)
        return psc_fail(r->reterr, PSC_ERR_TOO_BIG, "more than %u boxes", PSC_BOXES_MAX);
    if (!make_room(r))
        return psc_fail_nomem(r->reterr);
    r->boxes[r->n] = (struct psc_box){0};
    r->aligns[r->n] = 0;
    r->fixed[r->n] = PSC_OFFSET_FREE;
    r->lines[r->n] = r->line_no;
    for (uint32_t k = 0; !status && k < r->width; k++)
        if (r->column_of[k] < COLUMN_N)
            status = take_field(r, &r->fields[k], (enum column)r->column_of[k]);
    if (!status && r->lower[r->n] >= r->upper[r->n])
        status = psc_fail_at(r->reterr, PSC_ERR_PARSE, r->line_no, 1, (uint64_t)(r->line - r->s),
                             "%.60s lives from %" PRId64 " to %" PRId64 ": lower must be below upper", r->ids[r->n],
                             r->lower[r->n], r->upper[r->n]);
    r->n += !status;
    return status;
}

/* ---- times become steps --------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static uint32_t rank_of(const int64_t *times, size_t n, int64_t time)
{
    size_t lo = 0;
    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;
        if (times[mid] < time)
            lo = mid + 1;
        else
            n = mid;
    }
    return (uint32_t)lo;
}

static void *keep(struct psc_arena *arena, const void *items, size_t n, size_t size)
{
    void *copy = psc_arena_alloc(arena, n, size);
    if (copy && n)
        memcpy(copy, items, n * size);
    return copy;
}

static enum psc_status settle(struct reading *r, struct psc_box_set *ret)
{
    int64_t *times = psc_arena_alloc(r->arena, 2 * r->n + 1, sizeof *times);
    size_t time_n = 0;
    bool any_align = false, any_fixed = false;
    if (!times)
        return psc_fail_nomem(r->reterr);
    times[0] = 0;
    for (size_t i = 0; i < r->n; i++) {
        times[2 * i] = r->lower[i];
        times[2 * i + 1] = r->upper[i];
        any_align |= r->aligns[i] > 1;
        any_fixed |= r->fixed[i] != PSC_OFFSET_FREE;
    }
    qsort(times, 2 * r->n, sizeof *times, by_value);
    for (size_t i = 0; i < 2 * r->n; i++)
        if (!i || times[i] != times[time_n - 1])
            times[time_n++] = times[i];
    for (size_t i = 0; i < r->n; i++) {
        r->boxes[i].begin = rank_of(times, time_n, r->lower[i]);
        r->boxes[i].end = rank_of(times, time_n, r->upper[i]);
    }
    *ret = (struct psc_box_set){
        .problem = {.boxes = keep(r->arena, r->boxes, r->n, sizeof *r->boxes), .box_n = (uint32_t)r->n,
                    .step_n = time_n ? (uint32_t)time_n - 1 : 0,
                    .aligns = any_align ? keep(r->arena, r->aligns, r->n, sizeof *r->aligns) : NULL,
                    .fixed = any_fixed ? keep(r->arena, r->fixed, r->n, sizeof *r->fixed) : NULL},
        .names = keep(r->arena, r->ids, r->n, sizeof *r->ids),
        .times = times,
    };
    bool all = ret->problem.boxes && ret->names && (!any_align || ret->problem.aligns) && (!any_fixed || ret->problem.fixed);
    return all ? PSC_OK : psc_fail_nomem(r->reterr);
}

enum psc_status psc_minimalloc_read(struct psc_arena *arena, const char *bytes, size_t n, struct psc_report *report,
                                    struct psc_box_set *ret, struct psc_error *reterr)
{
    struct reading r = {.s = bytes, .end = bytes + n, .arena = arena, .report = report, .reterr = reterr};
    const char *at;
    enum psc_status status = read_header(&r, &at);
    while (!status && at < r.end) {
        at = split(&r, at);
        if (!is_blank(&r))
            status = read_row(&r);
    }
    if (!status)
        status = settle(&r, ret);
    psc_map_release(&r.seen);
    psc_free(r.boxes);
    psc_free(r.lower);
    psc_free(r.upper);
    psc_free(r.aligns);
    psc_free(r.fixed);
    psc_free(r.ids);
    psc_free(r.lines);
    return status;
}

static bool all_fixed(const struct psc_offsets_problem *p)
{
    for (uint32_t i = 0; i < p->box_n; i++)
        if (!p->fixed || p->fixed[i] == PSC_OFFSET_FREE)
            return false;
    return p->box_n > 0;
}

/* Every box has its offset: that is a packing, right or wrong, and the checker's question. */
static enum psc_status take_offsets(struct psc_arena *arena, struct psc_box_set *set, struct psc_error *reterr)
{
    const struct psc_offsets_problem *p = &set->problem;
    struct psc_offsets packed = {.space_n = 1};
    enum psc_status status;
    packed.offset = keep(arena, p->fixed, p->box_n, sizeof *p->fixed);
    packed.turn = psc_arena_alloc(arena, p->box_n, sizeof *packed.turn);
    packed.spaces = psc_arena_alloc0(arena, 1, sizeof *packed.spaces);
    if (!packed.offset || !packed.turn || !packed.spaces)
        return psc_fail_nomem(reterr);
    packed.spaces[0] = (struct psc_offsets_space){.box_n = p->box_n, .fits = true, .by = "the file"};
    status = psc_offsets_bound(p, &packed.spaces[0].bound, &packed.spaces[0].bound_at, reterr);
    for (uint32_t i = 0; i < p->box_n; i++) {
        uint64_t end = p->fixed[i] + p->boxes[i].bytes;
        packed.turn[i] = i;
        packed.spaces[0].height = end > packed.spaces[0].height ? end : packed.spaces[0].height;
    }
    if (packed.spaces[0].height == packed.spaces[0].bound)
        packed.spaces[0].proof = PSC_PROOF_BOUND;
    set->packed = packed;
    return status;
}

static enum psc_status pack_first(struct psc_arena *arena, struct psc_box_set *set, struct psc_error *reterr)
{
    struct psc_offsets_budget budget = {.work = WORK_AT_OPENING};
    if (all_fixed(&set->problem))
        return take_offsets(arena, set, reterr);
    return psc_offsets_pack(arena, &set->problem, psc_packer_find("optimal"), &budget, &set->packed, reterr);
}

/* "203 boxes; 1,039,360 bytes are alive at time 40, packed into 1,417,216 by greedy-size." */
static const char *note(struct psc_arena *arena, const struct psc_box_set *set)
{
    const struct psc_offsets_space *space = &set->packed.spaces[0];
    struct psc_text text = {0};
    char a[32], b[32], c[32];
    psc_text_addf(&text, "%s boxes", psc_thousands(set->problem.box_n, a, sizeof a));
    if (set->problem.box_n)
        psc_text_addf(&text, "; %s bytes are alive at time %" PRId64 ", packed into %s by %s",
                      psc_thousands(space->bound, b, sizeof b), set->times[space->bound_at],
                      psc_thousands(space->height, c, sizeof c), space->by);
    return psc_text_keep(&text, arena);
}

enum psc_status psc_minimalloc_load(struct psc_doc *doc, const char *bytes, size_t n, struct psc_error *reterr)
{
    struct psc_box_set *set = psc_arena_alloc0(&doc->arena, 1, sizeof *set);
    struct psc_phase *phase = psc_arena_alloc0(&doc->arena, 1, sizeof *phase);
    enum psc_status status = set && phase ? PSC_OK : psc_fail_nomem(reterr);
    if (!status)
        status = psc_minimalloc_read(&doc->arena, bytes, n, &doc->report, set, reterr);
    if (!status)
        status = pack_first(&doc->arena, set, reterr);
    if (!status)
        status = psc_box_set_story(&doc->arena, set, &set->packed, &phase->story, reterr);
    if (!status && !(phase->note = note(&doc->arena, set)))
        status = psc_fail_nomem(reterr);
    if (status)
        return status;
    phase->kind = "boxes";
    phase->boxes = set;
    doc->format = "minimalloc";
    doc->phases = phase;
    doc->phase_n = 1;
    return PSC_OK;
}
