#include "core/debug/shadow.h"

#include <string.h>

/* One end of one write, to be sorted by (buffer, byte). */
struct end {
    uint64_t byte;
    uint32_t buffer;
    uint32_t ref; /* 2 * write + (1 for the upper end); UINT32_MAX: the first cut of a buffer */
};

bool psc_shadow_writes(enum psc_event_kind kind)
{
    switch (kind) {
    case PSC_EV_FILL:
    case PSC_EV_WRITE:
    case PSC_EV_ROWS_WRITE:
    case PSC_EV_ENQUEUE:
    case PSC_EV_COPY:
    case PSC_EV_GROW:
    case PSC_EV_EVICT:
    case PSC_EV_TRIM:
        return true;
    default:
        return false;
    }
}

/* ---- sorting ------------------------------------------------------------------------------------ */

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static uint64_t digit_key(const struct end *e, bool by_buffer)
{
    return by_buffer ? e->buffer : e->byte;
}

/* One stable pass by one digit; skipped (false) when all entries agree in it. */
static bool sort_pass(const struct end *from, struct end *to, size_t n, unsigned shift, bool by_buffer)
{
    uint32_t count[DIGITS];
    size_t i;

    memset(count, 0, sizeof count);
    for (i = 0; i < n; i++)
        count[(digit_key(&from[i], by_buffer) >> shift) & (DIGITS - 1)]++;
    uint32_t at = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t c = count[d];
        if (c == n)
            return false;
        count[d] = at;
        at += c;
    }
    for (i = 0; i < n; i++)
        to[count[(digit_key(&from[i], by_buffer) >> shift) & (DIGITS - 1)]++] = from[i];
    return true;
}

/* Sorts by (buffer, byte), least digit first. Returns whichever of the two arrays holds the result. */
static struct end *sort_ends(struct end *a, struct end *b, size_t n, uint64_t max_byte, uint32_t max_buffer)
{
    for (unsigned shift = 0; shift < 64 && max_byte >> shift; shift += DIGIT_BITS) {
        if (sort_pass(a, b, n, shift, false)) {
            struct end *t = a;
            a = b;
            b = t;
        }
    }
    for (unsigned shift = 0; shift < 32 && max_buffer >> shift; shift += DIGIT_BITS) {
        if (sort_pass(a, b, n, shift, true)) {
            struct end *t = a;
            a = b;
            b = t;
        }
    }
    return a;
}

/* ---- the set of beginnings ------------------------------------------------------------------------ */

static void set_bit(struct psc_shadow *s, uint32_t i)
{
    for (uint32_t l = 0; l < s->levels; l++, i >>= 6)
        s->bits[l][i >> 6] |= 1ull << (i & 63);
}

static void clear_bit(struct psc_shadow *s, uint32_t i)
{
    for (uint32_t l = 0; l < s->levels; l++, i >>= 6) {
        s->bits[l][i >> 6] &= ~(1ull << (i & 63));
        if (s->bits[l][i >> 6])
            return;
    }
}

static bool has_bit(const struct psc_shadow *s, uint32_t i)
{
    return s->bits[0][i >> 6] >> (i & 63) & 1;
}

/* Largest member <= i. There is one: the first cut of each buffer is always a beginning. */
static uint32_t at_or_before(const struct psc_shadow *s, uint32_t i)
{
    uint32_t l = 0;
    uint64_t word = s->bits[0][i >> 6] & (~0ull >> (63 - (i & 63)));

    while (!word) {
        i >>= 6;
        l++;
        word = s->bits[l][i >> 6] & ((1ull << (i & 63)) - 1);
    }
    i = (i & ~63u) | (63u - (uint32_t)__builtin_clzll(word));
    while (l--)
        i = (i << 6) | (63u - (uint32_t)__builtin_clzll(s->bits[l][i]));
    return i;
}

/* Smallest member > i, or `end` when there is none below it. */
static uint32_t after(const struct psc_shadow *s, uint32_t i, uint32_t end)
{
    uint32_t l = 0;
    uint64_t word = (i & 63) == 63 ? 0 : s->bits[0][i >> 6] & (~0ull << ((i & 63) + 1));

    while (!word) {
        i >>= 6;
        if (++l == s->levels)
            return end;
        word = (i & 63) == 63 ? 0 : s->bits[l][i >> 6] & (~0ull << ((i & 63) + 1));
    }
    i = (i & ~63u) | (uint32_t)__builtin_ctzll(word);
    while (l--)
        i = (i << 6) | (uint32_t)__builtin_ctzll(s->bits[l][i]);
    return i < end ? i : end;
}

/* ---- building ------------------------------------------------------------------------------------ */

static void cut_buffers(struct psc_shadow *s, const struct end *ends, size_t n)
{
    uint32_t cuts = 0, buffer = 0;

    s->cut_at[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const struct end *e = &ends[i];
        while (buffer < e->buffer)
            s->cut_at[++buffer] = cuts;
        if (cuts == s->cut_at[buffer] || s->cut[cuts - 1] != e->byte)
            s->cut[cuts++] = e->byte;
        if (e->ref == UINT32_MAX)
            continue;
        if (e->ref & 1)
            s->writes[e->ref >> 1].hi = cuts - 1;
        else
            s->writes[e->ref >> 1].lo = cuts - 1;
    }
    while (buffer < s->story->buffer_n)
        s->cut_at[++buffer] = cuts;
}

static enum psc_status make_bits(struct psc_shadow *s, struct psc_arena *arena, struct psc_error *reterr)
{
    uint32_t cuts = s->cut_at[s->story->buffer_n];
    uint32_t words = cuts / 64 + 1;

    s->levels = 0;
    for (;;) {
        uint64_t *level = psc_arena_alloc0(arena, words, sizeof *level);
        if (!level)
            return psc_fail_nomem(reterr);
        s->bits[s->levels++] = level;
        if (words == 1)
            break;
        words = words / 64 + 1;
    }
    memset(s->tag, 0xff, (size_t)cuts * sizeof *s->tag);
    for (uint32_t b = 0; b < s->story->buffer_n; b++)
        set_bit(s, s->cut_at[b]);
    return PSC_OK;
}

enum psc_status psc_shadow_init(struct psc_shadow *s, struct psc_arena *arena, const struct psc_story *story,
                                struct psc_error *reterr)
{
    size_t write_n = 0, end_n = 0;
    uint64_t max_byte = 0;

    memset(s, 0, sizeof *s);
    s->story = story;
    for (uint32_t i = 0; i < story->event_n; i++)
        write_n += psc_shadow_writes(story->events[i].kind) && story->events[i].buffer != PSC_NONE;
    if (write_n > (UINT32_MAX >> 2) || story->buffer_n > (UINT32_MAX >> 2))
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "a story of %zu writes is too long to be checked", write_n);

    size_t room = 2 * write_n + story->buffer_n;
    struct end *a = psc_arena_alloc(arena, room, sizeof *a), *b = psc_arena_alloc(arena, room, sizeof *b);
    s->writes = psc_arena_alloc(arena, write_n, sizeof *s->writes);
    s->cut = psc_arena_alloc(arena, room, sizeof *s->cut);
    s->tag = psc_arena_alloc(arena, room, sizeof *s->tag);
    s->cut_at = psc_arena_alloc(arena, (size_t)story->buffer_n + 1, sizeof *s->cut_at);
    if (!a || !b || !s->writes || !s->cut || !s->tag || !s->cut_at)
        return psc_fail_nomem(reterr);

    for (uint32_t i = 0; i < story->buffer_n; i++)
        a[end_n++] = (struct end){0, i, UINT32_MAX};
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (!psc_shadow_writes(e->kind) || e->buffer == PSC_NONE)
            continue;
        s->writes[s->write_n] = (struct psc_shadow_write){i, 0, 0};
        if (e->lo < e->hi) {
            a[end_n++] = (struct end){e->lo, e->buffer, 2 * s->write_n};
            a[end_n++] = (struct end){e->hi, e->buffer, 2 * s->write_n + 1};
            if (e->hi > max_byte)
                max_byte = e->hi;
        }
        s->write_n++;
    }
    cut_buffers(s, sort_ends(a, b, end_n, max_byte, story->buffer_n), end_n);
    return make_bits(s, arena, reterr);
}

/* ---- replay -------------------------------------------------------------------------------------- */

void psc_shadow_apply(struct psc_shadow *s, uint32_t w)
{
    const struct psc_shadow_write *write = &s->writes[w];

    if (write->lo >= write->hi)
        return;
    if (!has_bit(s, write->hi)) {
        s->tag[write->hi] = s->tag[at_or_before(s, write->hi)];
        set_bit(s, write->hi);
    }
    if (!has_bit(s, write->lo))
        set_bit(s, write->lo);
    for (uint32_t i = after(s, write->lo, write->hi); i < write->hi; i = after(s, i, write->hi))
        clear_bit(s, i);
    s->tag[write->lo] = w;
}

bool psc_shadow_intact(const struct psc_shadow *s, uint32_t w)
{
    const struct psc_shadow_write *write = &s->writes[w];

    return write->lo < write->hi && has_bit(s, write->lo) && s->tag[write->lo] == w &&
           after(s, write->lo, write->hi) == write->hi;
}

/* Last cut of the buffer at or before the byte; the first cut of every buffer is at byte 0. */
static uint32_t find_cut(const struct psc_shadow *s, uint32_t buffer, uint64_t byte)
{
    uint32_t lo = s->cut_at[buffer], hi = s->cut_at[buffer + 1];

    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->cut[mid] <= byte)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void fill_run(const struct psc_shadow *s, uint32_t buffer, uint32_t begin, uint64_t lo, uint64_t hi,
                     struct psc_shadow_run *run)
{
    uint32_t end = s->cut_at[buffer + 1];

    run->next = after(s, begin, end);
    run->write = s->tag[begin];
    run->lo = lo;
    run->hi = run->next < end && s->cut[run->next] < hi ? s->cut[run->next] : hi;
}

struct psc_shadow_run psc_shadow_first(const struct psc_shadow *s, uint32_t buffer, uint64_t lo, uint64_t hi,
                                       uint32_t hint)
{
    struct psc_shadow_run run;
    const struct psc_event *e = hint == PSC_NONE ? NULL : &s->story->events[s->writes[hint].event];
    bool known = e && e->buffer == buffer && e->lo == lo && e->lo < e->hi;
    uint32_t cut = known ? s->writes[hint].lo : find_cut(s, buffer, lo);

    fill_run(s, buffer, at_or_before(s, cut), lo, hi, &run);
    return run;
}

bool psc_shadow_next(const struct psc_shadow *s, uint32_t buffer, uint64_t hi, struct psc_shadow_run *run)
{
    if (run->hi >= hi)
        return false;
    fill_run(s, buffer, run->next, run->hi, hi, run);
    return true;
}
