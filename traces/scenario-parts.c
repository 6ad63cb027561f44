#include "traces/scenario-parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool psc_part_failed(const struct psc_part *p)
{
    return p->status != PSC_OK;
}

void psc_part_nomem(struct psc_part *p)
{
    if (!p->status)
        p->status = psc_fail_nomem(p->error);
}

void psc_part_fail(struct psc_part *p, enum psc_status status, const char *fmt, ...)
{
    char text[400];
    va_list args;
    if (p->status)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    p->status = psc_fail(p->error, status, "%s", text);
}

void psc_part_wrong(struct psc_part *p, struct psc_slice got, const char *want, const char *where, ...)
{
    char place[160];
    va_list args;
    bool shown = psc_slice_is_number(got) && got.n < 40;
    const char *text = shown ? got.s : got.n ? psc_slice_kind(got) : "missing";
    va_start(args, where);
    vsnprintf(place, sizeof place, where, args);
    va_end(args);
    psc_part_fail(p, PSC_ERR_PARSE, "%s must be %s, not %.*s", place, want, shown ? (int)got.n : (int)strlen(text), text);
}

static const char *dot(const char *where)
{
    return *where ? "." : "";
}

int64_t psc_part_number_or(struct psc_part *p, struct psc_slice object, const char *where, const char *key, int64_t lo,
                           int64_t hi, int64_t none)
{
    struct psc_slice v = psc_slice_find(object, key);
    int64_t n = none;
    char want[96];
    if (psc_slice_is_null(v))
        return none;
    if (psc_slice_i64(v, &n) && n >= lo && n <= hi)
        return n;
    snprintf(want, sizeof want, "a whole number from %" PRId64 " to %" PRId64, lo, hi);
    psc_part_wrong(p, v, want, "%s%s%s", where, dot(where), key);
    return none;
}

int64_t psc_part_number(struct psc_part *p, struct psc_slice object, const char *where, const char *key, int64_t lo,
                        int64_t hi)
{
    if (psc_slice_is_null(psc_slice_find(object, key)))
        psc_part_wrong(p, psc_slice_find(object, key), "a whole number", "%s%s%s", where, dot(where), key);
    return psc_part_number_or(p, object, where, key, lo, hi, lo);
}

uint64_t psc_part_bytes(struct psc_part *p, struct psc_slice object, const char *where, const char *key)
{
    struct psc_slice v = psc_slice_find(object, key);
    uint64_t n = 0;
    if (!psc_slice_u64(v, &n) || n >= PSC_BYTES_MAX)
        psc_part_wrong(p, v, "a number of bytes below 2^60", "%s%s%s", where, dot(where), key);
    return n;
}

const char *psc_part_string_or(struct psc_part *p, struct psc_slice object, const char *where, const char *key,
                               const char *none)
{
    struct psc_slice v = psc_slice_find(object, key);
    bool nomem = false;
    if (psc_slice_is_null(v))
        return none;
    if (!psc_slice_is_string(v)) {
        psc_part_wrong(p, v, "a string", "%s%s%s", where, dot(where), key);
        return none;
    }
    const char *text = psc_slice_string(p->arena, v, &nomem);
    if (!text)
        psc_part_nomem(p);
    return text ? text : none;
}

const char *psc_part_string(struct psc_part *p, struct psc_slice object, const char *where, const char *key)
{
    if (psc_slice_is_null(psc_slice_find(object, key)))
        psc_part_wrong(p, psc_slice_find(object, key), "a string", "%s%s%s", where, dot(where), key);
    return psc_part_string_or(p, object, where, key, "");
}

struct psc_cursor psc_part_list(struct psc_part *p, struct psc_slice object, const char *where, const char *key,
                                bool may_lack, uint32_t max, uint32_t *ret_n)
{
    struct psc_slice v = psc_slice_find(object, key);
    struct psc_cursor c = psc_cursor_open(v);
    *ret_n = 0;
    if (!psc_slice_is_array(v)) {
        if (!may_lack || !psc_slice_is_null(v))
            psc_part_wrong(p, v, "a list", "%s%s%s", where, dot(where), key);
        return psc_cursor_open((struct psc_slice){0});
    }
    size_t n = psc_cursor_count(c);
    if (n > max) {
        psc_part_fail(p, PSC_ERR_TOO_BIG, "%s%s%s has %zu elements, at most %" PRIu32 " are read", where, dot(where), key, n,
                      max);
        return psc_cursor_open((struct psc_slice){0});
    }
    *ret_n = (uint32_t)n;
    return c;
}

void *psc_part_alloc(struct psc_part *p, size_t n, size_t size)
{
    void *out = psc_arena_alloc0(p->arena, n, size);
    if (!out)
        psc_part_nomem(p);
    return out;
}

bool psc_names_init(struct psc_part *p, struct psc_names *names, uint32_t max)
{
    *names = (struct psc_names){.list = psc_part_alloc(p, max, sizeof *names->list)};
    return names->list != NULL;
}

void psc_names_release(struct psc_names *names)
{
    psc_map_release(&names->map);
}

uint32_t psc_names_find(const struct psc_names *names, const char *name)
{
    uint32_t at;
    if (!psc_map_get(&names->map, psc_hash_bytes(name, strlen(name), 0), &at))
        return PSC_NONE;
    while (at < names->n && strcmp(names->list[at], name)) /* more than one turn: two names with one hash */
        at++;
    return at < names->n ? at : PSC_NONE;
}

bool psc_names_add(struct psc_part *p, struct psc_names *names, const char *name)
{
    uint32_t old;
    if (psc_names_find(names, name) != PSC_NONE)
        return false;
    if (!psc_map_put(&names->map, psc_hash_bytes(name, strlen(name), 0), names->n, &old))
        psc_part_nomem(p);
    names->list[names->n++] = name;
    return true;
}
