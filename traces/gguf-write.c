#include "traces/gguf-write.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "traces/file-out.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");

#define PIECE_BYTES ((uint64_t)1 << 20)

typedef unsigned long long ull;

static void put(struct psc_text *out, const void *bytes, size_t n)
{
    psc_text_add_n(out, bytes, n);
}

static void put_u32(struct psc_text *out, uint32_t x)
{
    put(out, &x, sizeof x);
}

static void put_u64(struct psc_text *out, uint64_t x)
{
    put(out, &x, sizeof x);
}

static void put_text(struct psc_text *out, const char *s, uint64_t n)
{
    put_u64(out, n);
    put(out, s, n);
}

static uint64_t padding(uint64_t at, uint64_t alignment)
{
    return (alignment - at % alignment) % alignment;
}

/* Checks. */

static enum psc_status check_name(const char *what, uint32_t i, const char *name, struct psc_map *names,
                                  struct psc_error *err)
{
    uint32_t old;
    if (!name || !*name || strlen(name) > PSC_GGUF_NAME_MAX)
        return psc_fail(err, PSC_ERR_USAGE, "%s %u has no name, or one of more than %u bytes", what, i,
                        PSC_GGUF_NAME_MAX);
    if (!psc_map_put(names, psc_hash_bytes(name, strlen(name), 0), i, &old))
        return psc_fail_nomem(err);
    if (old != UINT32_MAX)
        return psc_fail(err, PSC_ERR_USAGE, "%s %u and %s %u are both called '%s'", what, old, what, i, name);
    return PSC_OK;
}

static enum psc_status check_pair(const struct psc_gguf_pair *pair, struct psc_error *err)
{
    bool array = pair->type == PSC_GGUF_ARRAY;
    if ((unsigned)pair->type >= PSC_GGUF_TYPE_N || (array && (unsigned)pair->item >= PSC_GGUF_TYPE_N))
        return psc_fail(err, PSC_ERR_USAGE, "the key '%s' has a type that the format does not have",
                        pair->key);
    if (array && pair->item == PSC_GGUF_ARRAY)
        return psc_fail(err, PSC_ERR_USAGE, "the key '%s' is an array of arrays, which is not written",
                        pair->key);
    if (array && pair->n && !pair->items)
        return psc_fail(err, PSC_ERR_USAGE, "the key '%s' has no items", pair->key);
    if (array && pair->item != PSC_GGUF_STRING && pair->n > SIZE_MAX / 8)
        return psc_fail(err, PSC_ERR_TOO_BIG, "the key '%s' has too many items", pair->key);
    for (uint64_t i = 0; array && pair->item == PSC_GGUF_BOOL && i < pair->n; i++)
        if (((const uint8_t *)pair->items)[i] > 1)
            return psc_fail(err, PSC_ERR_USAGE, "item %llu of the key '%s' is neither 0 nor 1", (ull)i,
                            pair->key);
    if (pair->type == PSC_GGUF_STRING && !pair->text)
        return psc_fail(err, PSC_ERR_USAGE, "the key '%s' has no text", pair->key);
    if (!strcmp(pair->key, "general.alignment"))
        return psc_fail(err, PSC_ERR_USAGE,
                        "general.alignment is not given as a key but as the alignment of the outline");
    return PSC_OK;
}

/* Bytes of a row and of all of an entry. */
static enum psc_status measure(const struct psc_gguf_entry *e, uint64_t *ret_row, uint64_t *ret_bytes,
                               struct psc_error *err)
{
    uint64_t elements = 1;
    if (!e->n_dims || e->n_dims > PSC_GGUF_DIMS_MAX)
        return psc_fail(err, PSC_ERR_USAGE, "the tensor '%s' has %u dimensions; 1 to %u are possible",
                        e->name, e->n_dims, PSC_GGUF_DIMS_MAX);
    for (uint32_t d = 0; d < e->n_dims; d++)
        if (!e->dims[d] || !psc_mul_u64(elements, e->dims[d], &elements))
            return psc_fail(err, PSC_ERR_USAGE, "the tensor '%s' has no values, or more than 2^64", e->name);
    if (!psc_wtype_bytes(e->type, e->dims[0], ret_row) || !psc_wtype_bytes(e->type, elements, ret_bytes))
        return psc_fail(err, PSC_ERR_USAGE,
                        "the tensor '%s' cannot be written as %s: its rows of %llu values are not whole "
                        "blocks of %u",
                        e->name, psc_wtype_info(e->type)->name, (ull)e->dims[0],
                        psc_wtype_info(e->type)->block);
    return PSC_OK;
}

static enum psc_status check_names(const struct psc_gguf_outline *o, struct psc_error *err)
{
    struct psc_map keys = {0}, names = {0};
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; i < o->pair_n && status == PSC_OK; i++)
        status = check_name("key", i, o->pairs[i].key, &keys, err);
    for (uint32_t i = 0; i < o->entry_n && status == PSC_OK; i++)
        status = check_name("tensor", i, o->entries[i].name, &names, err);
    psc_map_release(&keys);
    psc_map_release(&names);
    return status;
}

static enum psc_status check(const struct psc_gguf_outline *o, uint64_t alignment, struct psc_error *err)
{
    uint64_t row, bytes;
    if (alignment < 8 || alignment & (alignment - 1) || alignment > PSC_GGUF_ALIGNMENT_MAX)
        return psc_fail(err, PSC_ERR_USAGE,
                        "an alignment of %llu; a power of two from 8 to %u would be right", (ull)alignment,
                        PSC_GGUF_ALIGNMENT_MAX);
    if (o->entry_n && !o->fill)
        return psc_fail(err, PSC_ERR_USAGE, "there are tensors, but nobody to fill them");
    enum psc_status status = check_names(o, err);
    for (uint32_t i = 0; i < o->pair_n && status == PSC_OK; i++)
        status = check_pair(&o->pairs[i], err);
    for (uint32_t i = 0; i < o->entry_n && status == PSC_OK; i++)
        status = measure(&o->entries[i], &row, &bytes, err);
    return status;
}

/* The metadata. */

static void put_scalar(struct psc_text *out, const struct psc_gguf_pair *pair)
{
    float single = (float)pair->f;
    uint8_t truth = pair->u != 0;
    uint32_t n = psc_gguf_type_bytes(pair->type);
    switch (pair->type) {
    case PSC_GGUF_F32: put(out, &single, n); break;
    case PSC_GGUF_F64: put(out, &pair->f, n); break;
    case PSC_GGUF_BOOL: put(out, &truth, n); break;
    case PSC_GGUF_I8:
    case PSC_GGUF_I16:
    case PSC_GGUF_I32:
    case PSC_GGUF_I64: put(out, &pair->i, n); break; /* the low bytes stand first */
    default: put(out, &pair->u, n);
    }
}

static void put_pair(struct psc_text *out, const struct psc_gguf_pair *pair)
{
    const struct psc_gguf_text *texts = pair->items;
    put_text(out, pair->key, strlen(pair->key));
    put_u32(out, pair->type);
    if (pair->type == PSC_GGUF_STRING) {
        put_text(out, pair->text, strlen(pair->text));
    } else if (pair->type != PSC_GGUF_ARRAY) {
        put_scalar(out, pair);
    } else {
        put_u32(out, pair->item);
        put_u64(out, pair->n);
        for (uint64_t i = 0; pair->item == PSC_GGUF_STRING && i < pair->n; i++)
            put_text(out, texts[i].s, texts[i].n);
        if (pair->item != PSC_GGUF_STRING)
            put(out, pair->items, pair->n * psc_gguf_type_bytes(pair->item));
    }
}

/* Everything before the data, padded. */
static enum psc_status put_header(struct psc_text *out, const struct psc_gguf_outline *o, uint64_t alignment,
                                  struct psc_error *err)
{
    static const char zeros[64];
    const struct psc_gguf_pair aligned = {.key = "general.alignment", .type = PSC_GGUF_U32, .u = alignment};
    uint64_t offset = 0, row, bytes;
    bool says = alignment != PSC_GGUF_ALIGNMENT;
    put(out, "GGUF", 4);
    put_u32(out, 3);
    put_u64(out, o->entry_n);
    put_u64(out, (uint64_t)o->pair_n + says);
    for (uint32_t i = 0; i < o->pair_n; i++)
        put_pair(out, &o->pairs[i]);
    if (says)
        put_pair(out, &aligned);
    for (uint32_t i = 0; i < o->entry_n; i++) {
        const struct psc_gguf_entry *e = &o->entries[i];
        put_text(out, e->name, strlen(e->name));
        put_u32(out, e->n_dims);
        for (uint32_t d = 0; d < e->n_dims; d++)
            put_u64(out, e->dims[d]);
        put_u32(out, psc_wtype_info(e->type)->gguf_id);
        put_u64(out, offset);
        enum psc_status status = measure(e, &row, &bytes, err);
        if (status != PSC_OK)
            return status;
        if (!psc_add_u64(offset, bytes, &offset) || !psc_add_u64(offset, padding(offset, alignment), &offset))
            return psc_fail(err, PSC_ERR_TOO_BIG, "the tensors have more than 2^64 bytes together");
    }
    for (uint64_t n = padding(out->n, alignment); n && !out->failed;) {
        uint64_t step = n < sizeof zeros ? n : sizeof zeros;
        put(out, zeros, step);
        n -= step;
    }
    return out->failed ? psc_fail_nomem(err) : PSC_OK;
}

/* The data. */

static enum psc_status stopped(struct psc_error *err)
{
    return psc_fail(err, PSC_ERR_IO, "cannot be written: writing was stopped");
}

static enum psc_status put_tensor(const struct psc_gguf_outline *o, uint32_t i, uint64_t alignment,
                                  psc_write_fn write, void *ctx, struct psc_error *err)
{
    uint64_t row = 0, bytes = 0;
    enum psc_status status = measure(&o->entries[i], &row, &bytes, err);
    if (status != PSC_OK)
        return status;
    uint64_t piece = row > PIECE_BYTES ? row : PIECE_BYTES / row * row, pad = padding(bytes, alignment);
    piece = piece < bytes ? piece : bytes;
    uint64_t room = piece > pad ? piece : pad;
    char *buffer = room <= SIZE_MAX ? psc_alloc((size_t)room) : NULL;
    if (!buffer)
        return psc_fail_nomem(err);
    for (uint64_t at = 0; at < bytes && status == PSC_OK; at += piece) {
        uint64_t n = piece < bytes - at ? piece : bytes - at;
        status = o->fill(o->ctx, i, at, buffer, n, err);
        if (status == PSC_OK && !write(ctx, buffer, (size_t)n))
            status = stopped(err);
    }
    memset(buffer, 0, (size_t)pad);
    if (status == PSC_OK && pad && !write(ctx, buffer, (size_t)pad))
        status = stopped(err);
    psc_free(buffer);
    return status;
}

enum psc_status psc_gguf_write_to(const struct psc_gguf_outline *o, psc_write_fn write, void *ctx,
                                  struct psc_error *reterr)
{
    struct psc_text header = {0};
    uint64_t alignment = o->alignment ? o->alignment : PSC_GGUF_ALIGNMENT;
    enum psc_status status = check(o, alignment, reterr);
    if (status == PSC_OK)
        status = put_header(&header, o, alignment, reterr);
    if (status == PSC_OK && !write(ctx, header.s, header.n))
        status = stopped(reterr);
    psc_text_release(&header);
    for (uint32_t i = 0; i < o->entry_n && status == PSC_OK; i++)
        status = put_tensor(o, i, alignment, write, ctx, reterr);
    return status;
}

/* The file remembers its own reason, which says more than that it stopped. */
struct target {
    struct psc_file_out out;
    struct psc_error why;
    enum psc_status status;
};

static bool add(void *ctx, const char *bytes, size_t n)
{
    struct target *t = ctx;
    t->status = psc_file_out_add(&t->out, bytes, n, &t->why);
    return t->status == PSC_OK;
}

enum psc_status psc_gguf_write(const char *path, const struct psc_gguf_outline *outline,
                               struct psc_error *reterr)
{
    struct target t = {.status = PSC_OK};
    enum psc_status status = psc_file_out_begin(&t.out, path, reterr);
    if (status != PSC_OK)
        return status;
    status = psc_gguf_write_to(outline, add, &t, reterr);
    if (status == PSC_OK)
        return psc_file_out_commit(&t.out, reterr);
    psc_file_out_abort(&t.out);
    if (t.status != PSC_OK)
        return psc_fail(reterr, t.status, "%s", t.why.text);
    return status;
}
