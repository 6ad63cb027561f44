#include "core/plan/offsets/shelf.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Lanes are compared as signed numbers. */
static inline int16_t narrow(uint32_t place)
{
    return (int16_t)((int32_t)place - 32768);
}

bool psc_shelf_init(struct psc_shelf *s, uint32_t box_n, struct psc_arena *arena)
{
    size_t room = ((size_t)box_n + 63) / 64 * 64;
    s->n = 0;
    s->spans = psc_arena_alloc(arena, box_n, sizeof *s->spans);
    s->place = psc_arena_alloc0(arena, room, sizeof *s->place);
    s->until = psc_arena_alloc0(arena, room, sizeof *s->until);
    return s->spans && s->place && s->until;
}

/* How many lie at lo or below. */
static uint32_t count_below(const struct psc_shelf *s, uint64_t lo)
{
    uint32_t at = 0;
    for (uint32_t n = s->n; n;) {
        uint32_t half = (n + 1) / 2;
        at = s->spans[at + half - 1].lo <= lo ? at + half : at;
        n = n / 2;
    }
    return at;
}

void psc_shelf_put(struct psc_shelf *s, uint32_t place, uint32_t until, struct psc_span span)
{
    uint32_t at = count_below(s, span.lo), above = s->n++ - at;
    memmove(s->spans + at + 1, s->spans + at, above * sizeof *s->spans);
    memmove(s->place + at + 1, s->place + at, above * sizeof *s->place);
    memmove(s->until + at + 1, s->until + at, above * sizeof *s->until);
    s->spans[at] = span;
    s->place[at] = narrow(place);
    s->until[at] = narrow(until);
}

#ifdef __SSE2__
/* Eight boxes: which are met, a lane each. */
static inline __m128i met8(const int16_t *places, const int16_t *untils, __m128i place, __m128i until)
{
    return _mm_and_si128(_mm_cmpgt_epi16(until, _mm_load_si128((const __m128i *)places)),
                         _mm_cmpgt_epi16(_mm_load_si128((const __m128i *)untils), place));
}

static uint64_t met64(const int16_t *places, const int16_t *untils, int16_t place, int16_t until)
{
    __m128i p = _mm_set1_epi16(place), u = _mm_set1_epi16(until);
    uint64_t bits = 0;
    for (unsigned k = 0; k < 64; k += 16) {
        __m128i low = met8(places + k, untils + k, p, u), high = met8(places + k + 8, untils + k + 8, p, u);
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << k;
    }
    return bits;
}
#else
static uint64_t met64(const int16_t *places, const int16_t *untils, int16_t place, int16_t until)
{
    uint64_t bits = 0;
    for (unsigned k = 0; k < 64; k++)
        bits |= (uint64_t)(places[k] < until && place < untils[k]) << k;
    return bits;
}
#endif

uint64_t psc_shelf_met(const struct psc_shelf *s, uint32_t first, uint32_t place, uint32_t until)
{
    uint32_t n = s->n - first;
    uint64_t bits = met64(s->place + first, s->until + first, narrow(place), narrow(until));
    return n < 64 ? bits & ((UINT64_C(1) << n) - 1) : bits;
}
