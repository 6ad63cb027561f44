/* traces/cursor.h: reads a piece of JSON text that a scan has found well-formed, without building a tree.
 *
 *     struct psc_cursor c = psc_cursor_open(value);            value: {"id":7,"src":[1,2]}
 *     struct psc_slice key, v;
 *     while (psc_cursor_member(&c, &key, &v))                  key: id    v: 7
 *         if (psc_slice_is_key(key, "id")) ...                 key: src   v: [1,2]
 *
 * Slices point into the text and stay valid as long as it does. On text that is not well-formed (a file that
 * changed after the scan) the results are nonsense but every access stays inside the slice. Cost: a container
 * is passed over by counting brackets; nothing is quadratic as long as each value is entered once.
 */
#ifndef PSC_TRACES_CURSOR_H
#define PSC_TRACES_CURSOR_H

#include "core/base/arena.h"
#include "core/base/text.h"

#include <stdbool.h>

struct psc_slice {
    const char *s; /* borrowed; NULL = absent */
    size_t n;
};
struct psc_cursor {
    const char *at, *end;
};

/* A cursor at the first element of an object or array; of anything else, a cursor that is at its end. */
struct psc_cursor psc_cursor_open(struct psc_slice container);
/* The next member; key without quotes. False at the end. */
bool psc_cursor_member(struct psc_cursor *c, struct psc_slice *ret_key, struct psc_slice *ret_value);
bool psc_cursor_element(struct psc_cursor *c, struct psc_slice *ret_value);
/* Elements of an array (or members of an object) that lie ahead. */
size_t psc_cursor_count(struct psc_cursor c);
/* The value of a key (the last one when it is repeated), else {NULL, 0}. O(object). */
struct psc_slice psc_slice_find(struct psc_slice object, const char *key);

bool psc_slice_is_key(struct psc_slice key, const char *name); /* escapes in the key are understood */
static inline bool psc_slice_is_object(struct psc_slice v)
{
    return v.n && v.s[0] == '{';
}
static inline bool psc_slice_is_array(struct psc_slice v)
{
    return v.n && v.s[0] == '[';
}
static inline bool psc_slice_is_string(struct psc_slice v)
{
    return v.n && v.s[0] == '"';
}
/* null, or absent */
static inline bool psc_slice_is_null(struct psc_slice v)
{
    return !v.n || v.s[0] == 'n';
}
bool psc_slice_is_number(struct psc_slice v); /* NaN and Infinity are none */
bool psc_slice_is_true(struct psc_slice v);
/* "a number", "null" ...: for messages. */
const char *psc_slice_kind(struct psc_slice v);

/* Exact whole numbers; false when the value is something else. */
bool psc_slice_u64(struct psc_slice v, uint64_t *ret);
bool psc_slice_i64(struct psc_slice v, int64_t *ret);
/* A number, NaN, Infinity or -Infinity; NAN for null, absent and anything else. */
double psc_slice_f64(struct psc_slice v);
float psc_slice_f32(struct psc_slice v); /* the quick form, for samples */

/* The text of a string, decoded to UTF-8 in the arena; NULL when v is no string (ret_nomem tells an exhausted
 * heap apart; it is only ever set). Invalid UTF-8, lone surrogates: U+FFFD. Raw control characters and \u0000
 * become visible escapes ("\x1b"). */
const char *psc_slice_string(struct psc_arena *arena, struct psc_slice v, bool *ret_nomem);
/* The decoder behind it, in pieces: decodes about `piece` bytes of s[0..n) (a string without its quotes) from
 * *at on, moves *at, and returns the bytes put into out (NULL: only counted). */
size_t psc_string_decode(const char *s, size_t n, size_t *at, size_t piece, char *out);
/* Any value as compact JSON text (see psc_json_raw). */
const char *psc_slice_json(struct psc_arena *arena, struct psc_slice v, bool *ret_nomem);
/* Adds `"key":value` as compact JSON; the second form puts a comma before it unless the text is empty. */
void psc_member_add(struct psc_text *text, struct psc_slice key, struct psc_slice value);
void psc_extra_add(struct psc_text *extra, struct psc_slice key, struct psc_slice value);

#endif
