#include "core/debug/shadow.h"

enum { LEVELS = 8, HINTS_MIN = 1024 }; /* of anchors: one in 2^32 pieces has as many */

/* Bytes with one last writer, up to where the next piece begins. */
struct psc_shadow_piece {
    uint64_t lo;
    struct psc_shadow_piece *next;
    uint32_t event;  /* PSC_NONE: nobody wrote there */
    uint32_t buffer; /* PSC_NONE: of none, the piece is spare */
    uint32_t height; /* anchors above it */
};

/* The anchors of a level are a list, too. Each level begins with one at byte 0, above the first piece. */
struct psc_shadow_anchor {
    uint64_t lo;
    struct psc_shadow_anchor *next, *below; /* below: NULL on the lowest level */
    struct psc_shadow_piece *piece;
};

enum psc_status psc_shadow_init(struct psc_shadow *s, struct psc_arena *arena, const struct psc_story *story,
                                struct psc_error *reterr)
{
    *s = (struct psc_shadow){.story = story, .arena = arena, .coin = 1};
    s->buffers = psc_arena_alloc0(arena, story->buffer_n, sizeof *s->buffers);
    s->last = psc_arena_alloc(arena, story->buffer_n, sizeof *s->last);
    s->next = psc_arena_alloc(arena, story->event_n, sizeof *s->next);
    s->overwritten = psc_arena_alloc0(arena, (size_t)story->event_n + 1, 1);
    s->end = psc_arena_alloc(arena, 1, sizeof *s->end);
    if (!s->buffers || !s->last || !s->next || !s->overwritten || !s->end)
        return psc_fail_nomem(reterr);
    *s->end = (struct psc_shadow_piece){.lo = UINT64_MAX, .buffer = PSC_NONE};
    for (uint32_t b = 0; b < story->buffer_n; b++)
        s->buffers[b].waits = s->last[b] = PSC_NONE;
    return PSC_OK;
}

/* ---- hints ------------------------------------------------------------------------------------------ */

/* Where a piece that begins at this byte is noted, unless a newer one took its place or it went. */
static inline struct psc_shadow_piece **hint_of(const struct psc_shadow *s, uint32_t buffer, uint64_t lo)
{
    return &s->hints[(lo ^ (uint64_t)buffer << 40) * 0x9e3779b97f4a7c15u >> s->hint_shift];
}

/* Twice as many hints as pieces. When more are needed, those of before are forgotten. */
static bool have_hints(struct psc_shadow *s)
{
    size_t n = s->piece_max ? 8 * s->piece_max : HINTS_MIN;
    uint32_t shift = 64;

    if (s->piece_n <= s->piece_max)
        return true;
    struct psc_shadow_piece **hints = psc_arena_alloc(s->arena, n, sizeof *hints);
    if (!hints)
        return false;
    for (size_t i = 0; i < n; i++)
        hints[i] = s->end;
    for (size_t i = n; i > 1; i /= 2)
        shift--;
    s->hints = hints;
    s->hint_shift = shift;
    s->piece_max = n / 2;
    return true;
}

/* ---- anchors ---------------------------------------------------------------------------------------- */

/* The last anchor of a level that begins before the byte, from one that does. */
static inline struct psc_shadow_anchor *last_before(struct psc_shadow_anchor *a, uint64_t byte)
{
    while (a->next && a->next->lo < byte)
        a = a->next;
    return a;
}

static struct psc_shadow_anchor *put_anchor(struct psc_shadow *s, struct psc_shadow_anchor anchor)
{
    struct psc_shadow_anchor *ret = s->spare_anchor;

    if (ret)
        s->spare_anchor = ret->next;
    else
        ret = psc_arena_alloc(s->arena, 1, sizeof *ret);
    if (ret)
        *ret = anchor;
    return ret;
}

/* Puts anchors above a piece. */
static bool raise(struct psc_shadow *s, struct psc_shadow_buffer *b, struct psc_shadow_piece *piece)
{
    struct psc_shadow_anchor *before[LEVELS], *below = NULL;
    uint32_t height = 1, n = 0;

    for (uint64_t coin = s->coin << 4; height < LEVELS && coin >> 60 == 0; coin <<= 4)
        height++;
    for (; b->levels < height; b->levels++) {
        struct psc_shadow_anchor *top = put_anchor(s, (struct psc_shadow_anchor){0, NULL, b->top, b->pieces});
        if (!top)
            return false;
        b->top = top;
    }
    for (struct psc_shadow_anchor *a = b->top; a; a = a->below)
        before[n++] = a = last_before(a, piece->lo);
    for (; piece->height < height; piece->height++) {
        struct psc_shadow_anchor *left = before[--n];
        below = put_anchor(s, (struct psc_shadow_anchor){piece->lo, left->next, below, piece});
        if (!below)
            return false;
        left->next = below;
    }
    return true;
}

/* Takes the anchors above a piece away. */
static void lower(struct psc_shadow *s, const struct psc_shadow_buffer *b, const struct psc_shadow_piece *piece)
{
    for (struct psc_shadow_anchor *a = b->top; a; a = a->below) {
        a = last_before(a, piece->lo);
        struct psc_shadow_anchor *gone = a->next;
        if (!gone || gone->piece != piece)
            continue;
        a->next = gone->next;
        gone->next = s->spare_anchor;
        s->spare_anchor = gone;
    }
}

/* ---- pieces ----------------------------------------------------------------------------------------- */

static struct psc_shadow_piece *new_piece(struct psc_shadow *s)
{
    s->piece_n++;
    return have_hints(s) ? psc_arena_alloc(s->arena, 1, sizeof(struct psc_shadow_piece)) : NULL;
}

/* A piece behind another one. NULL: out of memory. */
static inline struct psc_shadow_piece *put_piece(struct psc_shadow *s, struct psc_shadow_piece *before, uint64_t lo, uint32_t event)
{
    struct psc_shadow_piece *piece = s->spare;

    if (piece)
        s->spare = piece->next;
    else if (!(piece = new_piece(s)))
        return NULL;
    *piece = (struct psc_shadow_piece){lo, before->next, event, before->buffer, 0};
    before->next = piece;
    *hint_of(s, piece->buffer, lo) = piece;
    s->coin = s->coin * 0xd1342543de82ef95u + 1;
    return s->coin >> 60 || raise(s, &s->buffers[piece->buffer], piece) ? piece : NULL;
}

/* Returns the one behind it. */
static inline struct psc_shadow_piece *drop_piece(struct psc_shadow *s, struct psc_shadow_piece *piece)
{
    struct psc_shadow_piece *next = piece->next;

    if (piece->height)
        lower(s, &s->buffers[piece->buffer], piece);
    piece->buffer = PSC_NONE;
    piece->next = s->spare;
    s->spare = piece;
    return next;
}

/* The piece begins later now, but before the next one. */
static inline void move_piece(struct psc_shadow *s, struct psc_shadow_piece *piece, uint64_t lo)
{
    for (struct psc_shadow_anchor *a = piece->height ? s->buffers[piece->buffer].top : NULL; a; a = a->below) {
        a = last_before(a, piece->lo);
        if (a->next && a->next->piece == piece)
            a->next->lo = lo;
    }
    piece->lo = lo;
    *hint_of(s, piece->buffer, lo) = piece;
}

/* The last piece that begins at or before the byte. */
static struct psc_shadow_piece *search(const struct psc_shadow_buffer *b, uint64_t byte)
{
    struct psc_shadow_piece *piece = b->pieces;

    for (struct psc_shadow_anchor *a = b->top; a; a = a->below) {
        a = last_before(a, byte + 1);
        piece = a->piece;
    }
    while (piece->next->lo <= byte)
        piece = piece->next;
    return piece;
}

static inline struct psc_shadow_piece *find(const struct psc_shadow *s, uint32_t buffer, uint64_t byte)
{
    struct psc_shadow_piece *piece = *hint_of(s, buffer, byte);

    return piece->lo == byte && piece->buffer == buffer ? piece : search(&s->buffers[buffer], byte);
}

/* ---- writes ------------------------------------------------------------------------------------------- */

bool psc_shadow_cut(struct psc_shadow *s, uint32_t buffer, uint64_t lo, uint64_t hi, uint32_t event)
{
    struct psc_shadow_piece *piece = find(s, buffer, lo);

    if (piece->lo != lo && !(piece = put_piece(s, piece, lo, piece->event)))
        return false;
    struct psc_shadow_piece *next = piece->next;
    uint32_t old = piece->event;
    s->overwritten[old + 1u] = 1;
    piece->event = event;
    if (hi < next->lo)
        return put_piece(s, piece, hi, old);
    while (next->lo < hi) {
        s->overwritten[next->event + 1u] = 1;
        if (hi < next->next->lo) {
            move_piece(s, next, hi);
            break;
        }
        next = drop_piece(s, next);
    }
    piece->next = next;
    return true;
}

/* Two ranges in a buffer that had one. */
static bool begin_pieces(struct psc_shadow *s, uint32_t buffer)
{
    struct psc_shadow_buffer *b = &s->buffers[buffer];
    struct psc_shadow_piece *piece = new_piece(s);

    if (!piece)
        return false;
    *piece = (struct psc_shadow_piece){0, s->end, PSC_NONE, buffer, 0};
    b->pieces = piece;
    return psc_shadow_cut(s, buffer, b->lo, b->hi, b->event);
}

bool psc_shadow_catch_up(struct psc_shadow *s, uint32_t buffer)
{
    struct psc_shadow_buffer *b = &s->buffers[buffer];

    while (b->waits != PSC_NONE) {
        uint32_t event = b->waits;
        const struct psc_event *e = &s->story->events[event];
        if (!b->pieces && b->lo < b->hi && (e->lo > b->lo || e->hi < b->hi) && !begin_pieces(s, buffer))
            return false;
        if (b->pieces) {
            if (!psc_shadow_cut(s, buffer, e->lo, e->hi, event))
                return false;
        } else {
            if (b->lo < b->hi)
                s->overwritten[b->event + 1u] = 1;
            b->lo = e->lo;
            b->hi = e->hi;
            b->event = event;
        }
        b->waits = event == s->last[buffer] ? PSC_NONE : s->next[event];
    }
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

struct psc_shadow_run psc_shadow_first(const struct psc_shadow *s, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    const struct psc_shadow_buffer *b = &s->buffers[buffer];

    if (b->pieces) {
        const struct psc_shadow_piece *piece = find(s, buffer, lo);
        return (struct psc_shadow_run){lo, piece->next->lo < hi ? piece->next->lo : hi, piece->event};
    }
    bool inside = b->lo <= lo && lo < b->hi;
    uint64_t end = inside ? b->hi : b->lo < b->hi && b->lo > lo ? b->lo : UINT64_MAX;
    return (struct psc_shadow_run){lo, end < hi ? end : hi, inside ? b->event : PSC_NONE};
}

bool psc_shadow_next(const struct psc_shadow *s, uint32_t buffer, uint64_t hi, struct psc_shadow_run *run)
{
    if (run->hi >= hi)
        return false;
    *run = psc_shadow_first(s, buffer, run->hi, hi);
    return true;
}
