#include "traces/scenario-parts.h"

#include "core/base/mem.h"
#include "traces/json-write.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (1u << 20)
#define DIMS_MAX 8u
#define REPLAYS_MAX 4096u

/* ---- parameters in one spelling ----------------------------------------------------------------------- */

/* Any JSON value as a sorted list of leaves with their places, so that texts are equal when values are: key order,
 * blanks, escapes and the spelling of numbers make no difference.
 *
 *     {"b": [1, 2.0], "a": {}}      a={}, b[0]=1, b[1]=2
 */
struct leaves {
    struct psc_text text;  /* all leaves, a zero byte behind each */
    size_t *at;            /* owned: where each begins */
    size_t n, cap;
    bool nomem;
};

/* The characters of a string between its quotes, escapes resolved; written bare when they are a plain word. */
static void add_string(struct psc_text *out, const char *s, size_t n, bool may_be_bare)
{
    struct psc_text text = {0};
    char piece[4 * 64 + 8]; /* a byte that is no text becomes at most four, the last escape may be longer */
    bool bare = may_be_bare;
    for (size_t at = 0; at < n;)
        psc_text_add_n(&text, piece, psc_string_decode(s, n, &at, 64, piece));
    for (size_t i = 0; i < text.n; i++)
        bare &= isalnum((unsigned char)text.s[i]) || text.s[i] == '_' || text.s[i] == '-';
    if (bare && text.n) {
        psc_text_add_n(out, text.s, text.n);
    } else {
        struct psc_json j = {.out = *out}; /* lends the text to the printer */
        psc_json_string(&j, psc_text_str(&text));
        *out = j.out;
    }
    out->failed = out->failed || text.failed;
    psc_text_release(&text);
}

static void add_key(struct psc_text *out, struct psc_slice key)
{
    if (out->n)
        psc_text_add(out, ".");
    add_string(out, key.s, key.n, true);
}

/* Numbers by their value: 2.0 is 2. */
static void add_scalar(struct psc_text *out, struct psc_slice v)
{
    int64_t whole;
    uint64_t large;
    if (psc_slice_i64(v, &whole)) {
        psc_text_addf(out, "%lld", (long long)whole);
    } else if (psc_slice_u64(v, &large)) {
        psc_text_addf(out, "%llu", (unsigned long long)large);
    } else if (psc_slice_is_number(v)) {
        psc_text_addf(out, "%.17g", psc_slice_f64(v));
    } else if (psc_slice_is_string(v)) {
        add_string(out, v.s + 1, v.n - 2, false);
    } else {
        psc_text_add_n(out, v.s, v.n);
    }
}

static void add_leaf(struct leaves *l, const struct psc_text *path, struct psc_slice v, const char *empty)
{
    if (!psc_grow(&l->at, l->n + 1, &l->cap, sizeof *l->at)) {
        l->nomem = true;
        return;
    }
    l->at[l->n++] = l->text.n;
    psc_text_add_n(&l->text, psc_text_str(path), path->n);
    if (path->n)
        psc_text_add(&l->text, "=");
    if (empty)
        psc_text_add(&l->text, empty);
    else
        add_scalar(&l->text, v);
    psc_text_add_n(&l->text, "", 1);
}

/* One container that is being walked. */
struct level {
    struct psc_cursor c;
    size_t path_n; /* of its own path */
    uint32_t index;
    bool is_object;
};

static bool next_member(struct level *level, struct psc_text *path, struct psc_slice *ret)
{
    struct psc_slice key;
    path->n = level->path_n;
    if (path->s)
        path->s[path->n] = '\0';
    if (level->is_object) {
        if (!psc_cursor_member(&level->c, &key, ret))
            return false;
        add_key(path, key);
        return true;
    }
    if (!psc_cursor_element(&level->c, ret))
        return false;
    psc_text_addf(path, "[%u]", level->index++);
    return true;
}

static void walk(struct leaves *l, struct psc_slice root)
{
    struct level *stack = NULL; /* owned */
    size_t depth = 0, cap = 0;
    struct psc_text path = {0};
    struct psc_slice v = root;
    bool there = true;
    while (!l->nomem && (there || depth)) {
        if (there && (psc_slice_is_object(v) || psc_slice_is_array(v)) && psc_cursor_count(psc_cursor_open(v))) {
            if (!psc_grow(&stack, depth + 1, &cap, sizeof *stack))
                l->nomem = true;
            else
                stack[depth++] = (struct level){psc_cursor_open(v), path.n, 0, psc_slice_is_object(v)};
        } else if (there) {
            add_leaf(l, &path, v, psc_slice_is_object(v) ? "{}" : psc_slice_is_array(v) ? "[]" : NULL);
        }
        if (!depth)
            break;
        there = !l->nomem && next_member(&stack[depth - 1], &path, &v);
        depth -= !there;
    }
    l->nomem = l->nomem || path.failed;
    psc_text_release(&path);
    psc_free(stack);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *one_spelling(struct psc_part *p, struct psc_slice v)
{
    struct leaves l = {0};
    struct psc_text out = {0};
    const char *ret = NULL;
    if (psc_slice_is_null(v))
        return "{}";
    walk(&l, v);
    const char **list = psc_alloc((l.n + 1) * sizeof *list);
    if (list && !l.nomem && !l.text.failed) {
        for (size_t i = 0; i < l.n; i++)
            list[i] = l.text.s + l.at[i];
        qsort(list, l.n, sizeof *list, by_text);
        for (size_t i = 0; i < l.n; i++) {
            psc_text_add(&out, i ? ", " : "");
            psc_text_add(&out, list[i]);
        }
        ret = out.failed ? NULL : psc_arena_strdup(p->arena, psc_text_str(&out));
    }
    psc_free(list);
    psc_free(l.at);
    psc_text_release(&l.text);
    psc_text_release(&out);
    if (!ret)
        psc_part_nomem(p);
    return ret ? ret : "";
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static const uint64_t *read_shape(struct psc_part *p, struct psc_slice object, const char *where, uint32_t *ret_n)
{
    struct psc_slice v;
    struct psc_cursor c = psc_part_list(p, object, where, "shape", true, DIMS_MAX, ret_n);
    uint64_t *shape = psc_part_alloc(p, *ret_n, sizeof *shape);
    for (uint32_t i = 0; !psc_part_failed(p) && i < *ret_n && psc_cursor_element(&c, &v); i++)
        if (!psc_slice_u64(v, &shape[i]))
            psc_part_wrong(p, v, "a whole number", "%s.shape[%u]", where, i);
    return shape;
}

static void read_operand(struct psc_part *p, struct psc_slice v, const char *where, struct psc_capture_operand *ret)
{
    if (!psc_slice_is_object(v)) {
        psc_part_wrong(p, v, "an object", "%s", where);
        return;
    }
    ret->buffer = psc_part_string(p, v, where, "buf");
    ret->offset = psc_part_bytes(p, v, where, "offset");
    ret->generation = (uint64_t)psc_part_number_or(p, v, where, "gen", 0, INT64_MAX, 0);
    ret->shape = read_shape(p, v, where, &ret->shape_n);
}

static void read_node(struct psc_part *p, struct psc_slice v, const char *where, struct psc_capture_node *ret)
{
    struct psc_slice element;
    char place[96];
    if (!psc_slice_is_object(v)) {
        psc_part_wrong(p, v, "an object", "%s", where);
        return;
    }
    ret->id = (uint64_t)psc_part_number(p, v, where, "node", 0, INT64_MAX);
    ret->op = psc_part_string(p, v, where, "op");
    ret->params = one_spelling(p, psc_slice_find(v, "params"));
    ret->shape = read_shape(p, v, where, &ret->shape_n);
    ret->indirect_dst = psc_slice_is_true(psc_slice_find(v, "indirect_dst"));
    struct psc_cursor c = psc_part_list(p, v, where, "src", true, UINT16_MAX, &ret->src_n);
    struct psc_capture_operand *src = psc_part_alloc(p, ret->src_n, sizeof *src);
    for (uint32_t k = 0; !psc_part_failed(p) && k < ret->src_n && psc_cursor_element(&c, &element); k++) {
        snprintf(place, sizeof place, "%s.src[%u]", where, k);
        read_operand(p, element, place, &src[k]);
    }
    ret->src = src;
    snprintf(place, sizeof place, "%s.dst", where);
    if (!psc_part_failed(p))
        read_operand(p, psc_slice_find(v, "dst"), place, &ret->dst);
}

static void read_list(struct psc_part *p, struct psc_slice list, const char *where, struct psc_capture_list *ret)
{
    struct psc_slice v;
    struct psc_cursor c = psc_cursor_open(list);
    struct psc_map seen = {0};
    size_t n = psc_cursor_count(c);
    char place[64];
    if (!psc_slice_is_array(list)) {
        psc_part_wrong(p, list, "a list of nodes", "%s", where);
        return;
    }
    if (n > NODES_MAX) {
        psc_part_fail(p, PSC_ERR_TOO_BIG, "%s has %zu nodes, at most %u are read", where, n, NODES_MAX);
        return;
    }
    struct psc_capture_node *nodes = psc_part_alloc(p, n, sizeof *nodes);
    for (uint32_t i = 0; !psc_part_failed(p) && i < n && psc_cursor_element(&c, &v); i++) {
        uint32_t old = 0;
        snprintf(place, sizeof place, "%s[%u]", where, i);
        read_node(p, v, place, &nodes[i]);
        if (psc_part_failed(p))
            break;
        if (!psc_map_put(&seen, nodes[i].id, i, &old))
            psc_part_nomem(p);
        else if (old != UINT32_MAX)
            psc_part_fail(p, PSC_ERR_PARSE, "%s and %s[%u] are both node %llu", place, where, old,
                          (unsigned long long)nodes[i].id);
    }
    psc_map_release(&seen);
    *ret = (struct psc_capture_list){nodes, (uint32_t)n};
}

void psc_capture_script_read(struct psc_part *p, struct psc_slice text, struct psc_capture_script *ret)
{
    struct psc_capture_script s = {0};
    struct psc_slice v;
    char place[32];
    read_list(p, psc_slice_find(text, "capture"), "capture", &s.capture);
    if (psc_part_failed(p))
        return;
    struct psc_cursor c = psc_part_list(p, text, "", "replays", false, REPLAYS_MAX, &s.replay_n);
    struct psc_capture_list *replays = psc_part_alloc(p, s.replay_n, sizeof *replays);
    for (uint32_t i = 0; !psc_part_failed(p) && i < s.replay_n && psc_cursor_element(&c, &v); i++) {
        snprintf(place, sizeof place, "replays[%u]", i);
        read_list(p, v, place, &replays[i]);
    }
    s.replays = replays;
    *ret = s;
}
