/* tests/gguf-bytes.h: model files byte by byte, right ones and wrong ones. */
#ifndef PSC_TESTS_GGUF_BYTES_H
#define PSC_TESTS_GGUF_BYTES_H

#include "core/model/gguf.h"

#include <glib.h>
#include <string.h>

static inline void add_uint(GByteArray *b, guint64 x, guint bytes)
{
    for (guint i = 0; i < bytes; i++) {
        guint8 byte = (guint8)(x >> 8 * i);
        g_byte_array_append(b, &byte, 1);
    }
}
static inline void add_u32(GByteArray *b, guint64 x)
{
    add_uint(b, x, 4);
}
static inline void add_u64(GByteArray *b, guint64 x)
{
    add_uint(b, x, 8);
}
static inline void add_bytes(GByteArray *b, const char *s, gsize n) /* a string of the format */
{
    add_u64(b, n);
    g_byte_array_append(b, (const guint8 *)s, (guint)n);
}
static inline void add_text(GByteArray *b, const char *s)
{
    add_bytes(b, s, strlen(s));
}
static inline void add_header(GByteArray *b, guint32 version, guint64 tensors, guint64 keys)
{
    g_byte_array_append(b, (const guint8 *)"GGUF", 4);
    add_u32(b, version);
    add_u64(b, tensors);
    add_u64(b, keys);
}
static inline void add_key(GByteArray *b, const char *key, enum psc_gguf_type type)
{
    add_text(b, key);
    add_u32(b, type);
}
static inline void add_key_u32(GByteArray *b, const char *key, guint32 x)
{
    add_key(b, key, PSC_GGUF_U32);
    add_u32(b, x);
}
static inline void add_array(GByteArray *b, guint32 item,
                             guint64 n) /* after add_key(..., PSC_GGUF_ARRAY) or as an item */
{
    add_u32(b, item);
    add_u64(b, n);
}
static inline void add_tensor(GByteArray *b, const char *name, guint64 in, guint64 out, guint32 type,
                              guint64 offset)
{
    add_text(b, name);
    add_u32(b, 2);
    add_u64(b, in);
    add_u64(b, out);
    add_u32(b, type);
    add_u64(b, offset);
}
static inline void add_zeros(GByteArray *b, guint n)
{
    for (guint i = 0; i < n; i++)
        add_uint(b, 0, 1);
}
static inline void pad_to(GByteArray *b, guint alignment)
{
    add_zeros(b, (alignment - b->len % alignment) % alignment);
}

#endif
