/* The parser. The metadata is walked twice: once to see that all of it is there, once to keep it, so that arrays are
 * made for what was found and not for what a count promised. */
#include "core/model/gguf-private.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define KV_BYTES_MIN     13u /* of a key: length, type, one byte of value */
#define TENSOR_BYTES_MIN 24u /* length, dimensions, type, offset */
#define ENTRIES_MAX      (UINT32_MAX / 4)

typedef unsigned long long ull;

/* Reads until something is not there; what was asked for then is kept, and every later read gives 0. */
struct reader {
    const unsigned char *s;
    uint64_t n, at;
    bool cut;
    uint64_t want; /* bytes asked for at `at` when it was cut */
    struct psc_error *err;
};

static const unsigned char *take(struct reader *r, uint64_t n)
{
    if (!r->cut && n > r->n - r->at) {
        r->cut = true;
        r->want = n;
    }
    if (r->cut)
        return NULL;
    r->at += n;
    return r->s + (r->at - n);
}

/* `n` things of at least `each` bytes are to come. */
static bool are_there(struct reader *r, uint64_t n, uint64_t each)
{
    if (!r->cut && n > (r->n - r->at) / each) {
        r->cut = true;
        r->want = n > UINT64_MAX / each ? UINT64_MAX : n * each;
    }
    return !r->cut;
}

static uint64_t take_uint(struct reader *r, uint32_t bytes)
{
    const unsigned char *p = take(r, bytes);
    return p ? psc_gguf_uint_at(p, bytes) : 0;
}

static struct psc_gguf_text take_text(struct reader *r)
{
    uint64_t n = take_uint(r, 8);
    const char *s = (const char *)take(r, n);
    return (struct psc_gguf_text){s ? s : "", s ? n : 0};
}

/* "key 3 ('general.name')" goes past the end. */
static enum psc_status fail_cut(const struct reader *r, const char *what, uint64_t i,
                                struct psc_gguf_text name)
{
    struct psc_gguf_shown shown;
    return psc_fail_at(
        r->err, PSC_ERR_PARSE, 0, 0, r->at,
        "%s %llu ('%s') goes past the end of the file: %llu bytes are needed at byte %llu of %llu; "
        "the file is cut off or damaged",
        what, (ull)i, psc_gguf_show_name(&shown, name.s, name.n), (ull)r->want, (ull)r->at, (ull)r->n);
}

static enum psc_status check_name(const struct reader *r, const char *what, uint64_t i,
                                  struct psc_gguf_text name)
{
    struct psc_gguf_shown shown;
    if (name.n > PSC_GGUF_NAME_MAX)
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->at,
                           "%s %llu has a name of %llu bytes, at most %u are possible", what, (ull)i,
                           (ull)name.n, PSC_GGUF_NAME_MAX);
    if (name.n && memchr(name.s, 0, name.n))
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->at, "%s %llu ('%s') has a zero byte in its name",
                           what, (ull)i, psc_gguf_show_name(&shown, name.s, name.n));
    return PSC_OK;
}

/* Why a value is not right, when the file has all its bytes. */
enum value_fault { VALUE_FINE, VALUE_TYPE, VALUE_BOOL, VALUE_NESTING };

static enum value_fault take_fixed(struct reader *r, enum psc_gguf_type type, uint64_t n)
{
    uint32_t size = psc_gguf_type_bytes(type);
    if (!are_there(r, n, size))
        return VALUE_FINE;
    const unsigned char *p = take(r, n * size);
    for (uint64_t i = 0; type == PSC_GGUF_BOOL && i < n; i++)
        if (p[i] > 1)
            return VALUE_BOOL;
    return VALUE_FINE;
}

/* The items of an array whose header was read, those of arrays in it too. */
static enum value_fault take_items(struct reader *r, uint64_t item, uint64_t n)
{
    uint64_t left[PSC_GGUF_NESTING_MAX]; /* arrays still to come at each depth */
    unsigned depth = 0;
    for (;;) {
        enum value_fault fault = VALUE_FINE;
        if (item >= PSC_GGUF_TYPE_N)
            return r->cut ? VALUE_FINE : VALUE_TYPE;
        if (item == PSC_GGUF_ARRAY) {
            if (!are_there(r, n, 12))
                return VALUE_FINE;
            if (depth == PSC_GGUF_NESTING_MAX)
                return VALUE_NESTING;
            left[depth++] = n;
        } else if (item == PSC_GGUF_STRING) {
            for (uint64_t i = 0; are_there(r, n - i, 8) && i < n; i++)
                (void)take_text(r);
        } else {
            fault = take_fixed(r, (enum psc_gguf_type)item, n);
        }
        while (depth && !left[depth - 1])
            depth--;
        if (fault || r->cut || !depth)
            return fault;
        left[depth - 1]--;
        item = take_uint(r, 4);
        n = take_uint(r, 8);
    }
}

static enum value_fault take_value(struct reader *r, struct psc_gguf_kv *kv)
{
    uint64_t type = take_uint(r, 4), item = 0;
    enum value_fault fault = VALUE_FINE;
    kv->n = 1;
    if (type >= PSC_GGUF_TYPE_N)
        return VALUE_TYPE;
    if (type == PSC_GGUF_STRING) {
        kv->n = take_uint(r, 8);
    } else if (type == PSC_GGUF_ARRAY) {
        item = take_uint(r, 4);
        kv->n = take_uint(r, 8);
        if (item >= PSC_GGUF_TYPE_N)
            return VALUE_TYPE;
    }
    uint64_t from = r->at;
    if (type == PSC_GGUF_STRING)
        (void)take(r, kv->n);
    else if (type == PSC_GGUF_ARRAY)
        fault = take_items(r, item, kv->n);
    else
        fault = take_fixed(r, (enum psc_gguf_type)type, 1);
    kv->type = (enum psc_gguf_type)type;
    kv->item = (enum psc_gguf_type)item;
    kv->data = r->s + from;
    kv->bytes = r->at - from;
    return fault;
}

static enum psc_status take_kv(struct reader *r, uint64_t i, struct psc_gguf_kv *kv,
                               struct psc_gguf_text *key)
{
    static const char *const faults[] = {
        [VALUE_TYPE] = "a type of value that the format does not have (0 to 12 would be right)",
        [VALUE_BOOL] = "a truth value that is neither 0 nor 1",
        [VALUE_NESTING] = "arrays in arrays in arrays, more than 16 deep",
    };
    struct psc_gguf_shown shown;
    *key = take_text(r);
    enum psc_status status = check_name(r, "key", i, *key);
    if (status != PSC_OK)
        return status;
    enum value_fault fault = take_value(r, kv);
    if (r->cut)
        return fail_cut(r, "key", i, *key);
    if (fault)
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->at, "key %llu ('%s') has %s", (ull)i,
                           psc_gguf_show_name(&shown, key->s, key->n), faults[fault]);
    return PSC_OK;
}

static enum psc_status take_tensor(struct reader *r, uint64_t i, struct psc_gguf_tensor *t,
                                   struct psc_gguf_text *name)
{
    struct psc_gguf_shown shown;
    *name = take_text(r);
    enum psc_status status = check_name(r, "tensor", i, *name);
    if (status != PSC_OK)
        return status;
    t->n_dims = (uint32_t)take_uint(r, 4);
    if (t->n_dims > PSC_GGUF_DIMS_MAX)
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->at,
                           "tensor %llu ('%s') has %u dimensions, at most %u are possible", (ull)i,
                           psc_gguf_show_name(&shown, name->s, name->n), t->n_dims, PSC_GGUF_DIMS_MAX);
    t->elements = 1;
    for (uint32_t d = 0; d < PSC_GGUF_DIMS_MAX; d++) {
        t->dims[d] = d < t->n_dims ? take_uint(r, 8) : 1;
        if (!psc_mul_u64(t->elements, t->dims[d], &t->elements))
            return psc_fail_at(r->err, PSC_ERR_TOO_BIG, 0, 0, r->at,
                               "tensor %llu ('%s') has more than 2^64 values", (ull)i,
                               psc_gguf_show_name(&shown, name->s, name->n));
    }
    t->type_id = (uint32_t)take_uint(r, 4);
    t->type = psc_wtype_from_gguf(t->type_id);
    t->offset = take_uint(r, 8);
    return r->cut ? fail_cut(r, "tensor", i, *name) : PSC_OK;
}

static enum psc_status take_header(struct reader *r, uint64_t *ret_tensors, uint64_t *ret_kvs,
                                   uint32_t *ret_version)
{
    const unsigned char *s = r->s;
    if (r->n < 4)
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, 0, "is not a GGUF file: it has %llu byte%s, a header has 24",
                           (ull)r->n, r->n == 1 ? "" : "s");
    if (memcmp(s, "GGUF", 4))
        return psc_fail_at(
            r->err, PSC_ERR_PARSE, 0, 0, 0,
            "is not a GGUF file: it begins with the bytes %02x %02x %02x %02x, where 47 47 55 46 (\"GGUF\") "
            "would be right",
            s[0], s[1], s[2], s[3]);
    r->at = 4;
    uint32_t version = (uint32_t)take_uint(r, 4);
    if (!r->cut && version && !(version & 0xffff))
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, 4,
                           "is a GGUF file for big-endian machines; only little-endian ones can be read");
    if (!r->cut && version == 1)
        return psc_fail_at(
            r->err, PSC_ERR_PARSE, 0, 0, 4,
            "is a GGUF file of version 1, which nobody writes any more; versions 2 and 3 can be read");
    if (!r->cut && version != 2 && version != 3)
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, 4,
                           "is a GGUF file of version %u; versions 2 and 3 can be read", version);
    *ret_version = version;
    *ret_tensors = take_uint(r, 8);
    *ret_kvs = take_uint(r, 8);
    if (r->cut)
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->n,
                           "the file ends inside its header, after %llu of 24 bytes", (ull)r->n);
    if (*ret_kvs > ENTRIES_MAX || !are_there(r, *ret_kvs, KV_BYTES_MIN))
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, 16,
                           "the file says that it has %llu keys, more than its %llu bytes "
                           "can hold; it is cut off or damaged",
                           (ull)*ret_kvs, (ull)r->n);
    if (*ret_tensors > ENTRIES_MAX || !are_there(r, *ret_tensors, TENSOR_BYTES_MIN))
        return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, 8,
                           "the file says that it has %llu tensors, more than its %llu bytes "
                           "can hold; it is cut off or damaged",
                           (ull)*ret_tensors, (ull)r->n);
    return PSC_OK;
}

/* First walk: is all of it there? */
static enum psc_status walk(struct reader r, uint64_t kv_n, uint64_t tensor_n)
{
    struct psc_gguf_text name;
    struct psc_gguf_kv kv = {0};
    struct psc_gguf_tensor tensor = {0};
    enum psc_status status = PSC_OK;
    for (uint64_t i = 0; i < kv_n && status == PSC_OK; i++)
        status = take_kv(&r, i, &kv, &name);
    for (uint64_t i = 0; i < tensor_n && status == PSC_OK; i++)
        status = take_tensor(&r, i, &tensor, &name);
    return status;
}

static enum psc_status keep_kvs(struct psc_arena *arena, struct reader *r, struct psc_gguf *g)
{
    struct psc_gguf_table table;
    struct psc_gguf_text key;
    struct psc_gguf_shown shown;
    struct psc_gguf_kv *kvs = psc_arena_alloc0(arena, g->kv_n, sizeof *kvs);
    if (!kvs || !psc_gguf_table_new(arena, g->kv_n, &table))
        return psc_fail_nomem(r->err);
    for (uint32_t i = 0; i < g->kv_n; i++) {
        enum psc_status status = take_kv(r, i, &kvs[i], &key);
        if (status != PSC_OK)
            return status;
        kvs[i].key = psc_arena_strndup(arena, key.s, key.n);
        if (kvs[i].type == PSC_GGUF_STRING)
            kvs[i].text = psc_arena_strndup(arena, (const char *)kvs[i].data, kvs[i].n);
        if (!kvs[i].key || (kvs[i].type == PSC_GGUF_STRING && !kvs[i].text))
            return psc_fail_nomem(r->err);
        uint32_t *slot = psc_gguf_table_slot(table.slots, table.mask, kvs[i].key, &kvs[0].key, sizeof *kvs);
        if (*slot)
            return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->at,
                               "the key '%s' stands twice in the file, as key %u and key %u",
                               psc_gguf_show_name(&shown, key.s, key.n), *slot - 1, i);
        *slot = i + 1;
    }
    g->kvs = kvs;
    g->kv_table = table.slots;
    g->kv_mask = table.mask;
    return PSC_OK;
}

/* Bytes and place of a tensor; data_n bytes follow g->data_at. */
static enum psc_status place(const struct psc_gguf *g, struct psc_gguf_tensor *t, const unsigned char *s,
                             uint64_t data_n, struct psc_error *err)
{
    struct psc_gguf_shown shown;
    const char *name = psc_gguf_show_name(&shown, t->name, strlen(t->name));
    const struct psc_gguf_layout *layout = psc_gguf_layout(t->type_id);
    if (!layout) /* of unknown size: it may stay, nobody looks at it */
        return PSC_OK;
    if (t->dims[0] % layout->block)
        return psc_fail(err, PSC_ERR_PARSE,
                        "tensor '%s' is %s, but its rows of %llu values are not whole blocks of %u", name,
                        layout->name, (ull)t->dims[0], layout->block);
    if (!psc_mul_u64(t->elements / layout->block, layout->bytes, &t->bytes))
        return psc_fail(err, PSC_ERR_TOO_BIG, "tensor '%s' has more than 2^64 bytes", name);
    if (t->offset % g->alignment)
        return psc_fail(err, PSC_ERR_PARSE,
                        "tensor '%s' lies at byte %llu of the data, which is no multiple of %llu", name,
                        (ull)t->offset, (ull)g->alignment);
    if (t->offset > data_n || t->bytes > data_n - t->offset)
        return psc_fail(err, PSC_ERR_PARSE,
                        "tensor '%s' (%llu bytes at byte %llu of the data) goes past the end of the file, "
                        "which has %llu bytes of data; it is cut off or damaged",
                        name, (ull)t->bytes, (ull)t->offset, (ull)data_n);
    t->data = s + g->data_at + t->offset;
    return PSC_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct psc_gguf_tensor *x = *(const struct psc_gguf_tensor *const *)a, *y = *(const struct psc_gguf_tensor *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x > y) - (x < y);
}

/* No byte of a file belongs to two tensors: an offset that was damaged gives weights that look like some. */
static enum psc_status check_apart(struct psc_arena *arena, const struct psc_gguf *g, struct psc_error *err)
{
    struct psc_gguf_shown shown[2];
    enum psc_status status = PSC_OK;
    struct psc_arena_mark mark = psc_arena_mark(arena);
    const struct psc_gguf_tensor **order = psc_arena_alloc(arena, g->tensor_n, sizeof *order);
    uint32_t n = 0;
    if (!order)
        return psc_fail_nomem(err);
    for (uint32_t i = 0; i < g->tensor_n; i++)
        if (g->tensors[i].bytes)
            order[n++] = &g->tensors[i];
    if (n)
        qsort(order, n, sizeof *order, by_place);
    for (uint32_t i = 1; i < n && status == PSC_OK; i++) {
        const struct psc_gguf_tensor *x = order[i - 1], *y = order[i];
        if (x->offset + x->bytes > y->offset)
            status = psc_fail(err, PSC_ERR_PARSE,
                              "tensor '%s' lies at byte %llu of the data, inside tensor '%s', which has the bytes %llu to %llu; "
                              "the file is damaged",
                              psc_gguf_show_name(&shown[0], y->name, strlen(y->name)), (ull)y->offset,
                              psc_gguf_show_name(&shown[1], x->name, strlen(x->name)), (ull)x->offset,
                              (ull)(x->offset + x->bytes - 1));
    }
    psc_arena_rewind(arena, mark);
    return status;
}

static enum psc_status keep_tensors(struct psc_arena *arena, struct reader *r, struct psc_gguf *g)
{
    struct psc_gguf_table table;
    struct psc_gguf_text name;
    struct psc_gguf_shown shown;
    enum psc_status status = PSC_OK;
    struct psc_gguf_tensor *tensors = psc_arena_alloc0(arena, g->tensor_n, sizeof *tensors);
    if (!tensors || !psc_gguf_table_new(arena, g->tensor_n, &table))
        return psc_fail_nomem(r->err);
    for (uint32_t i = 0; i < g->tensor_n; i++) {
        status = take_tensor(r, i, &tensors[i], &name);
        if (status != PSC_OK)
            return status;
        tensors[i].name = psc_arena_strndup(arena, name.s, name.n);
        if (!tensors[i].name)
            return psc_fail_nomem(r->err);
        uint32_t *slot =
            psc_gguf_table_slot(table.slots, table.mask, tensors[i].name, &tensors[0].name, sizeof *tensors);
        if (*slot)
            return psc_fail_at(r->err, PSC_ERR_PARSE, 0, 0, r->at,
                               "the tensor '%s' stands twice in the file, as tensor %u and tensor %u",
                               psc_gguf_show_name(&shown, name.s, name.n), *slot - 1, i);
        *slot = i + 1;
    }
    g->data_at = r->at + (g->alignment - r->at % g->alignment) % g->alignment;
    uint64_t data_n = g->data_at < r->n ? r->n - g->data_at : 0;
    for (uint32_t i = 0; i < g->tensor_n && status == PSC_OK; i++)
        status = place(g, &tensors[i], r->s, data_n, r->err);
    g->tensors = tensors;
    g->tensor_table = table.slots;
    g->tensor_mask = table.mask;
    if (status == PSC_OK)
        status = check_apart(arena, g, r->err);
    return status;
}

static enum psc_status find_alignment(struct psc_gguf *g, struct psc_error *err)
{
    static const uint64_t usual = PSC_GGUF_ALIGNMENT;
    enum psc_status status = psc_gguf_get_u64(g, "general.alignment", &usual, &g->alignment, err);
    if (status != PSC_OK)
        return status;
    if (!g->alignment || g->alignment & (g->alignment - 1) || g->alignment > PSC_GGUF_ALIGNMENT_MAX)
        return psc_fail(err, PSC_ERR_PARSE,
                        "general.alignment is %llu; a power of two up to %u would be right",
                        (ull)g->alignment, PSC_GGUF_ALIGNMENT_MAX);
    return PSC_OK;
}

enum psc_status psc_gguf_parse(struct psc_arena *arena, const void *bytes, uint64_t n, struct psc_gguf *ret,
                               struct psc_error *reterr)
{
    struct reader r = {.s = bytes, .n = n, .err = reterr};
    struct psc_gguf g = {.part_n = 1, .file_bytes = n};
    uint64_t kv_n = 0, tensor_n = 0;
    enum psc_status status = take_header(&r, &tensor_n, &kv_n, &g.version);
    if (status == PSC_OK)
        status = walk(r, kv_n, tensor_n);
    if (status != PSC_OK)
        return status;
    struct psc_arena_mark mark = psc_arena_mark(arena);
    g.kv_n = (uint32_t)kv_n;
    g.tensor_n = (uint32_t)tensor_n;
    status = keep_kvs(arena, &r, &g);
    if (status == PSC_OK)
        status = find_alignment(&g, reterr);
    if (status == PSC_OK)
        status = keep_tensors(arena, &r, &g);
    if (status == PSC_OK)
        *ret = g;
    else
        psc_arena_rewind(arena, mark);
    return status;
}
