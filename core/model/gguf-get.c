/* Values out of a parsed file. */
#include "core/model/gguf-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

const struct psc_gguf_kv *psc_gguf_find(const struct psc_gguf *g, const char *key)
{
    if (!g->kv_n)
        return NULL;
    uint32_t *slot = psc_gguf_table_slot(g->kv_table, g->kv_mask, key, &g->kvs[0].key, sizeof *g->kvs);
    return *slot ? &g->kvs[*slot - 1] : NULL;
}

const struct psc_gguf_tensor *psc_gguf_find_tensor(const struct psc_gguf *g, const char *name)
{
    if (!g->tensor_n)
        return NULL;
    uint32_t *slot =
        psc_gguf_table_slot(g->tensor_table, g->tensor_mask, name, &g->tensors[0].name, sizeof *g->tensors);
    return *slot ? &g->tensors[*slot - 1] : NULL;
}

/* Values. */

static enum psc_status fail_missing(const char *key, struct psc_error *err)
{
    return psc_fail(err, PSC_ERR_PARSE, "the model file has no key '%s'", key);
}

static enum psc_status fail_kind(const struct psc_gguf_kv *kv, const char *right, struct psc_error *err)
{
    bool array = kv->type == PSC_GGUF_ARRAY;
    return psc_fail(err, PSC_ERR_PARSE, "the key '%s' is of type %s%s%s, where %s would be right", kv->key,
                    psc_gguf_type_name(kv->type), array ? " of " : "",
                    array ? psc_gguf_type_name(kv->item) : "", right);
}

static enum psc_status fail_range(const struct psc_gguf_kv *kv, const char *right, struct psc_error *err)
{
    struct psc_text text = {0};
    psc_gguf_kv_show(kv, 1, 40, &text);
    enum psc_status status = psc_fail(err, PSC_ERR_PARSE, "the key '%s' is %s, where %s would be right",
                                      kv->key, psc_text_str(&text), right);
    psc_text_release(&text);
    return status;
}

static bool is_number(enum psc_gguf_type type)
{
    return type != PSC_GGUF_STRING && type != PSC_GGUF_ARRAY && type != PSC_GGUF_BOOL;
}

static bool is_int(enum psc_gguf_type type)
{
    return is_number(type) && type != PSC_GGUF_F32 && type != PSC_GGUF_F64;
}

static enum psc_status get_uint(const struct psc_gguf *g, const char *key, const uint64_t *fallback,
                                uint64_t most, uint64_t *ret, struct psc_error *err)
{
    const struct psc_gguf_kv *kv = psc_gguf_find(g, key);
    if (!kv) {
        if (!fallback)
            return fail_missing(key, err);
        *ret = *fallback;
        return PSC_OK;
    }
    if (!is_int(kv->type))
        return fail_kind(kv, "an integer", err);
    struct psc_gguf_number x = psc_gguf_number_at(kv->type, kv->data);
    if (x.negative || x.bits > most)
        return fail_range(kv, most == UINT32_MAX ? "0 to 4294967295" : "a number that is not negative", err);
    *ret = x.bits;
    return PSC_OK;
}

enum psc_status psc_gguf_get_u64(const struct psc_gguf *g, const char *key, const uint64_t *fallback,
                                 uint64_t *ret, struct psc_error *reterr)
{
    return get_uint(g, key, fallback, UINT64_MAX, ret, reterr);
}

enum psc_status psc_gguf_get_u32(const struct psc_gguf *g, const char *key, const uint32_t *fallback,
                                 uint32_t *ret, struct psc_error *reterr)
{
    uint64_t otherwise = fallback ? *fallback : 0, value;
    enum psc_status status = get_uint(g, key, fallback ? &otherwise : NULL, UINT32_MAX, &value, reterr);
    if (status == PSC_OK)
        *ret = (uint32_t)value;
    return status;
}

enum psc_status psc_gguf_get_f64(const struct psc_gguf *g, const char *key, const double *fallback,
                                 double *ret, struct psc_error *reterr)
{
    const struct psc_gguf_kv *kv = psc_gguf_find(g, key);
    if (!kv && !fallback)
        return fail_missing(key, reterr);
    if (kv && !is_number(kv->type))
        return fail_kind(kv, "a number", reterr);
    *ret = kv ? psc_gguf_number_at(kv->type, kv->data).value : *fallback;
    return PSC_OK;
}

enum psc_status psc_gguf_get_bool(const struct psc_gguf *g, const char *key, const bool *fallback, bool *ret,
                                  struct psc_error *reterr)
{
    const struct psc_gguf_kv *kv = psc_gguf_find(g, key);
    if (!kv && !fallback)
        return fail_missing(key, reterr);
    if (kv && kv->type != PSC_GGUF_BOOL)
        return fail_kind(kv, "bool", reterr);
    *ret = kv ? kv->data[0] != 0 : *fallback;
    return PSC_OK;
}

enum psc_status psc_gguf_get_text(const struct psc_gguf *g, const char *key, const char *const *fallback,
                                  const char **ret, struct psc_error *reterr)
{
    const struct psc_gguf_kv *kv = psc_gguf_find(g, key);
    if (!kv && !fallback)
        return fail_missing(key, reterr);
    if (kv && kv->type != PSC_GGUF_STRING)
        return fail_kind(kv, "a string", reterr);
    *ret = kv ? kv->text : *fallback;
    return PSC_OK;
}

/* Arrays. */

/* The array of that key, or *ret_kv NULL when there is none. */
static enum psc_status find_array(const struct psc_gguf *g, const char *key, bool (*fits)(enum psc_gguf_type),
                                  const char *right, const struct psc_gguf_kv **ret_kv, struct psc_error *err)
{
    const struct psc_gguf_kv *kv = psc_gguf_find(g, key);
    if (kv && (kv->type != PSC_GGUF_ARRAY || !fits(kv->item)))
        return fail_kind(kv, right, err);
    *ret_kv = kv;
    return PSC_OK;
}

static bool is_string(enum psc_gguf_type type)
{
    return type == PSC_GGUF_STRING;
}

static bool is_float(enum psc_gguf_type type)
{
    return type == PSC_GGUF_F32 || type == PSC_GGUF_F64;
}

enum psc_status psc_gguf_get_texts(struct psc_arena *arena, const struct psc_gguf *g, const char *key,
                                   const struct psc_gguf_text **ret, uint64_t *ret_n,
                                   struct psc_error *reterr)
{
    const struct psc_gguf_kv *kv = NULL;
    struct psc_gguf_text *items = NULL;
    enum psc_status status = find_array(g, key, is_string, "an array of strings", &kv, reterr);
    if (status != PSC_OK)
        return status;
    if (kv && !(items = psc_arena_alloc(arena, kv->n, sizeof *items)))
        return psc_fail_nomem(reterr);
    const unsigned char *at = kv ? kv->data : NULL;
    for (uint64_t i = 0; kv && i < kv->n; i++) {
        items[i].n = psc_gguf_uint_at(at, 8);
        items[i].s = (const char *)at + 8;
        at += 8 + items[i].n;
    }
    *ret = items;
    *ret_n = kv ? kv->n : 0;
    return PSC_OK;
}

enum psc_status psc_gguf_get_i32s(struct psc_arena *arena, const struct psc_gguf *g, const char *key,
                                  const int32_t **ret, uint64_t *ret_n, struct psc_error *reterr)
{
    const struct psc_gguf_kv *kv = NULL;
    int32_t *items = NULL;
    enum psc_status status = find_array(g, key, is_int, "an array of integers", &kv, reterr);
    if (status != PSC_OK)
        return status;
    if (kv && !(items = psc_arena_alloc(arena, kv->n, sizeof *items)))
        return psc_fail_nomem(reterr);
    for (uint64_t i = 0; kv && i < kv->n; i++) {
        struct psc_gguf_number x = psc_gguf_number_at(kv->item, kv->data + i * psc_gguf_type_bytes(kv->item));
        if (x.negative ? (int64_t)x.bits < INT32_MIN : x.bits > INT32_MAX)
            return psc_fail(reterr, PSC_ERR_PARSE,
                            "item %llu of the key '%s' is %.0f, which has more than 32 bits", (ull)i, key,
                            x.value);
        items[i] = (int32_t)(int64_t)x.bits;
    }
    *ret = items;
    *ret_n = kv ? kv->n : 0;
    return PSC_OK;
}

enum psc_status psc_gguf_get_f32s(struct psc_arena *arena, const struct psc_gguf *g, const char *key,
                                  const float **ret, uint64_t *ret_n, struct psc_error *reterr)
{
    const struct psc_gguf_kv *kv = NULL;
    float *items = NULL;
    enum psc_status status = find_array(g, key, is_float, "an array of f32 or f64", &kv, reterr);
    if (status != PSC_OK)
        return status;
    if (kv && !(items = psc_arena_alloc(arena, kv->n, sizeof *items)))
        return psc_fail_nomem(reterr);
    for (uint64_t i = 0; kv && i < kv->n; i++)
        items[i] = (float)psc_gguf_number_at(kv->item, kv->data + i * psc_gguf_type_bytes(kv->item)).value;
    *ret = items;
    *ret_n = kv ? kv->n : 0;
    return PSC_OK;
}

/* Values for people. */

static void show_text(const char *s, uint64_t n, uint64_t most, struct psc_text *out)
{
    char one[16];
    uint64_t i = 0;
    psc_text_add(out, "\"");
    while (i < n && i < most) {
        if (s[i] == '"' || s[i] == '\\')
            psc_text_add(out, "\\");
        if (s[i] == '\n') {
            psc_text_add(out, "\\n");
            i++;
            continue;
        }
        i += psc_gguf_show_char(s + i, n - i, one);
        psc_text_add(out, one);
    }
    psc_text_add(out, i < n ? "...\"" : "\"");
}

/* The shortest digits that give the number back; a point, whatever the locale says. */
static void show_float(double value, bool is_f32, struct psc_text *out)
{
    char digits[40];
    for (int precision = is_f32 ? 6 : 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        double back = strtod(digits, NULL);
        if (is_f32 ? (float)back == (float)value : back == value)
            break;
    }
    for (char *c = digits; *c; c++)
        if (*c == ',')
            *c = '.';
    psc_text_add(out, digits);
}

static void show_number(enum psc_gguf_type type, const unsigned char *at, struct psc_text *out)
{
    struct psc_gguf_number x = psc_gguf_number_at(type, at);
    if (type == PSC_GGUF_BOOL)
        psc_text_add(out, x.bits ? "true" : "false");
    else if (!x.is_int)
        show_float(x.value, type == PSC_GGUF_F32, out);
    else if (x.negative)
        psc_text_addf(out, "%lld", (long long)x.bits);
    else
        psc_text_addf(out, "%llu", (ull)x.bits);
}

void psc_gguf_kv_show(const struct psc_gguf_kv *kv, uint64_t items, uint64_t bytes, struct psc_text *out)
{
    if (kv->type == PSC_GGUF_STRING) {
        show_text((const char *)kv->data, kv->n, bytes, out);
        return;
    }
    if (kv->type != PSC_GGUF_ARRAY) {
        show_number(kv->type, kv->data, out);
        return;
    }
    if (kv->item == PSC_GGUF_ARRAY) {
        psc_text_addf(out, "[%llu arrays]", (ull)kv->n);
        return;
    }
    const unsigned char *at = kv->data;
    psc_text_add(out, "[");
    for (uint64_t i = 0; i < kv->n && i < items; i++) {
        psc_text_add(out, i ? ", " : "");
        if (kv->item == PSC_GGUF_STRING) {
            uint64_t n = psc_gguf_uint_at(at, 8);
            show_text((const char *)at + 8, n, bytes, out);
            at += 8 + n;
        } else {
            show_number(kv->item, at, out);
            at += psc_gguf_type_bytes(kv->item);
        }
    }
    if (kv->n > items)
        psc_text_addf(out, "%s... %llu in all", items ? ", " : "", (ull)kv->n);
    psc_text_add(out, "]");
}

enum psc_status psc_gguf_weight(const struct psc_gguf_tensor *t, struct psc_weight *ret,
                                struct psc_error *reterr)
{
    struct psc_gguf_shown shown;
    const char *name = psc_gguf_show_name(&shown, t->name, strlen(t->name));
    const char *type = psc_gguf_tensor_type_name(t->type_id);
    if (t->type == PSC_W_OTHER)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE,
                        "the tensor '%s' is of type %s (%u), which is not computed with here; f32, "
                        "f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_K, q5_K and q6_K are",
                        name, type ? type : "unknown", t->type_id);
    if (t->dims[2] != 1 || t->dims[3] != 1)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE,
                        "the tensor '%s' has %u dimensions; a weight has one or two", name, t->n_dims);
    if (!t->elements)
        return psc_fail(reterr, PSC_ERR_PARSE, "the tensor '%s' has no values: its shape is %llu x %llu",
                        name, (ull)t->dims[0], (ull)t->dims[1]);
    if ((uintptr_t)t->data % (t->type == PSC_W_F32 ? 4 : 2))
        return psc_fail(reterr, PSC_ERR_PARSE,
                        "the tensor '%s' lies at an odd place (byte %llu of the data): %s needs a "
                        "multiple of %d",
                        name, (ull)t->offset, type, t->type == PSC_W_F32 ? 4 : 2);
    *ret = (struct psc_weight){.name = t->name,
                               .type = t->type,
                               .in = t->dims[0],
                               .out = t->dims[1],
                               .data = t->data,
                               .bytes = t->bytes};
    return PSC_OK;
}
