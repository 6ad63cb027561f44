#include "traces/scenario-parts.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

#define OPS_MAX (1u << 20)
#define ROWS_MAX (1u << 20) /* of one store */

/* The texts of tokens, in the order in which they are met. */
struct tokens {
    const char **list; /* owned until it is copied */
    size_t n, cap;
};

static uint32_t add_token(struct psc_part *p, struct tokens *tokens, const char *text)
{
    if (!psc_grow(&tokens->list, tokens->n + 1, &tokens->cap, sizeof *tokens->list)) {
        psc_part_nomem(p);
        return 0;
    }
    tokens->list[tokens->n] = text;
    return (uint32_t)tokens->n++;
}

/* Bytes of the UTF-8 character at s (valid text). */
static size_t character(const char *s)
{
    unsigned char c = (unsigned char)*s;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* "abc", or ["a","b","c"]: as many as there are positions; absent: texts are empty. */
static void read_tokens(struct psc_part *p, struct psc_slice op, const char *where, uint32_t n, uint32_t *ret,
                        struct tokens *tokens)
{
    struct psc_slice v = psc_slice_find(op, "tokens"), element;
    bool nomem = false;
    uint32_t found = 0;
    if (psc_slice_is_null(v)) {
        for (uint32_t i = 0; i < n; i++)
            ret[i] = add_token(p, tokens, "");
        return;
    }
    if (psc_slice_is_array(v)) {
        struct psc_cursor c = psc_cursor_open(v);
        for (; psc_cursor_element(&c, &element); found++) {
            const char *text = psc_slice_string(p->arena, element, &nomem);
            if (found < n)
                ret[found] = add_token(p, tokens, text ? text : "");
        }
    } else if (psc_slice_is_string(v)) {
        const char *text = psc_slice_string(p->arena, v, &nomem);
        for (; text && *text; found++) {
            size_t bytes = character(text);
            const char *one = psc_arena_strndup(p->arena, text, bytes);
            if (found < n)
                ret[found] = add_token(p, tokens, one ? one : "");
            nomem = nomem || !one;
            text += bytes;
        }
    } else {
        psc_part_wrong(p, v, "a string of one character a position, or a list of strings", "%s.tokens", where);
        return;
    }
    if (nomem)
        psc_part_nomem(p);
    else if (found != n)
        psc_part_fail(p, PSC_ERR_PARSE, "%s stores %u positions and names %u tokens: there must be as many", where, n, found);
}

static int32_t read_position(struct psc_part *p, struct psc_slice v, const char *where, uint32_t i)
{
    int64_t n = 0;
    if (!psc_slice_i64(v, &n) || n > PSC_KV_POSITION_MAX || n < -PSC_KV_POSITION_MAX)
        psc_part_wrong(p, v, "a position of at most 2^30", "%s[%u]", where, i);
    return (int32_t)n;
}

static void read_store(struct psc_part *p, struct psc_slice v, const char *where, struct psc_kv_op *op,
                       struct tokens *tokens)
{
    struct psc_slice element;
    char place[48];
    struct psc_cursor c = psc_part_list(p, v, where, "pos", false, ROWS_MAX, &op->n);
    int32_t *position = psc_part_alloc(p, op->n, sizeof *position);
    uint32_t *token = psc_part_alloc(p, op->n, sizeof *token);
    snprintf(place, sizeof place, "%s.pos", where);
    for (uint32_t i = 0; !psc_part_failed(p) && i < op->n && psc_cursor_element(&c, &element); i++)
        position[i] = read_position(p, element, place, i);
    if (!psc_part_failed(p))
        read_tokens(p, v, where, op->n, token, tokens);
    op->position = position;
    op->token = token;
}

static void read_restore(struct psc_part *p, struct psc_slice v, const char *where, struct psc_kv_op *op,
                         struct tokens *tokens)
{
    struct psc_slice element, text, at;
    bool nomem = false;
    char place[48];
    struct psc_cursor c = psc_part_list(p, v, where, "cells", false, ROWS_MAX, &op->n);
    int32_t *position = psc_part_alloc(p, op->n, sizeof *position);
    uint32_t *token = psc_part_alloc(p, op->n, sizeof *token);
    snprintf(place, sizeof place, "%s.cells", where);
    for (uint32_t i = 0; !psc_part_failed(p) && i < op->n && psc_cursor_element(&c, &element); i++) {
        struct psc_cursor pair = psc_cursor_open(element);
        if (!psc_slice_is_array(element) || !psc_cursor_element(&pair, &text) || !psc_cursor_element(&pair, &at)) {
            psc_part_wrong(p, element, "a token and its position", "%s[%u]", place, i);
            return;
        }
        const char *name = psc_slice_string(p->arena, text, &nomem);
        token[i] = add_token(p, tokens, name ? name : "");
        position[i] = read_position(p, at, place, i);
    }
    if (nomem)
        psc_part_nomem(p);
    op->position = position;
    op->token = token;
    op->kv_bytes = psc_part_bytes(p, v, where, "kv_bytes");
    op->bytes_present = psc_part_bytes(p, v, where, "bytes_present");
}

/* Ends of a range are cut to what positions can be: nothing lies beyond. */
static int32_t read_end(struct psc_part *p, struct psc_slice v, const char *where, const char *key)
{
    int64_t n = psc_part_number(p, v, where, key, INT64_MIN, INT64_MAX), max = (int64_t)PSC_KV_POSITION_MAX + 1;
    return (int32_t)(n > max ? max : n < -max ? -max : n);
}

static void read_op(struct psc_part *p, struct psc_slice v, uint32_t at, struct psc_kv_op *op, struct tokens *tokens)
{
    char where[32];
    unsigned kind = 0;
    snprintf(where, sizeof where, "ops[%u]", at);
    if (!psc_slice_is_object(v)) {
        psc_part_wrong(p, v, "an object", "%s", where);
        return;
    }
    const char *name = psc_part_string(p, v, where, "op");
    while (kind < PSC_KV_OP_N && strcmp(name, psc_kv_op_name((enum psc_kv_op_kind)kind)))
        kind++;
    if (kind == PSC_KV_OP_N)
        psc_part_fail(p, PSC_ERR_PARSE, "%s is \"%.60s\": store, rm, shift, apply_shift, defrag, restore and attend are known",
                      where, name);
    op->kind = (enum psc_kv_op_kind)kind;
    if (kind == PSC_KV_OP_STORE) {
        read_store(p, v, where, op, tokens);
    } else if (kind == PSC_KV_OP_RESTORE) {
        read_restore(p, v, where, op, tokens);
    } else if (kind == PSC_KV_OP_ATTEND) {
        op->n_kv = (uint32_t)psc_part_number(p, v, where, "n_kv", 0, PSC_SCENARIO_CELLS_MAX);
        op->query_pos = (int32_t)psc_part_number_or(p, v, where, "query_pos", -PSC_KV_POSITION_MAX, PSC_KV_POSITION_MAX, 0);
    } else if (kind == PSC_KV_OP_RM || kind == PSC_KV_OP_SHIFT) {
        op->p0 = read_end(p, v, where, "p0");
        op->p1 = read_end(p, v, where, "p1");
        if (kind == PSC_KV_OP_SHIFT)
            op->delta = (int32_t)psc_part_number(p, v, where, "delta", -PSC_KV_POSITION_MAX, PSC_KV_POSITION_MAX);
    }
}

static uint64_t row_bytes(struct psc_part *p, const char *dtype, uint64_t n_embd)
{
    if (!strcmp(dtype, "f32"))
        return n_embd * 4;
    if (!strcmp(dtype, "f16"))
        return n_embd * 2;
    if (strcmp(dtype, "q8_0")) {
        psc_part_fail(p, PSC_ERR_PARSE, "dtype is \"%.40s\": f32, f16 and q8_0 are known", dtype);
        return 0;
    }
    if (n_embd % 32)
        psc_part_fail(p, PSC_ERR_PARSE, "n_embd is %llu: rows of q8_0 are whole blocks of 32", (unsigned long long)n_embd);
    return n_embd / 32 * 34;
}

void psc_kv_script_read(struct psc_part *p, struct psc_slice text, struct psc_kv_script *ret)
{
    struct psc_kv_script s = {0};
    struct tokens tokens = {0};
    struct psc_slice v;
    s.layer = (int32_t)psc_part_number_or(p, text, "", "layer", 0, INT32_MAX, 0);
    s.n_ctx = (uint32_t)psc_part_number(p, text, "", "n_ctx", 1, PSC_SCENARIO_CELLS_MAX);
    s.window = (uint32_t)psc_part_number_or(p, text, "", "window", 0, PSC_SCENARIO_CELLS_MAX, 0);
    s.dtype = psc_part_string_or(p, text, "", "dtype", "f32");
    if (!psc_part_failed(p))
        s.row_bytes = row_bytes(p, s.dtype, (uint64_t)psc_part_number(p, text, "", "n_embd", 1, 1 << 24));
    struct psc_cursor c = psc_part_list(p, text, "", "ops", false, OPS_MAX, &s.op_n);
    struct psc_kv_op *ops = psc_part_alloc(p, s.op_n, sizeof *ops);
    for (uint32_t i = 0; !psc_part_failed(p) && i < s.op_n && psc_cursor_element(&c, &v); i++)
        read_op(p, v, i, &ops[i], &tokens);
    const char **texts = psc_part_alloc(p, tokens.n, sizeof *texts);
    if (texts && tokens.n)
        memcpy(texts, tokens.list, tokens.n * sizeof *texts);
    psc_free(tokens.list);
    s.tokens = texts;
    s.token_n = (uint32_t)tokens.n;
    s.ops = ops;
    *ret = s;
}
