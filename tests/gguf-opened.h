/* tests/gguf-opened.h: a parsed model file and the bytes that it stands on. */
#ifndef PSC_TESTS_GGUF_OPENED_H
#define PSC_TESTS_GGUF_OPENED_H

#include "tests/gguf-bytes.h"
#include "tests/util.h"

/* A golden file in memory of its exact size, so that a sanitizer sees every byte read too much. */
static inline void *load(const char *name, gsize *ret_n)
{
    char *relative = g_strdup_printf("tests/golden/%s", name), *path = test_source_path(relative), *bytes;
    g_assert_true(g_file_get_contents(path, &bytes, ret_n, NULL));
    void *exact = g_memdup2(bytes, *ret_n);
    g_free(bytes);
    g_free(path);
    g_free(relative);
    return exact;
}

struct opened {
    struct psc_arena arena;
    struct psc_gguf g;
    void *bytes;
};

static inline struct opened open_bytes(void *bytes, gsize n)
{
    struct opened o = {.bytes = bytes};
    struct psc_error err = {0};
    if (psc_gguf_parse(&o.arena, bytes, n, &o.g, &err) != PSC_OK)
        g_error("does not open: %s", err.text);
    return o;
}

static inline struct opened open_golden(const char *name)
{
    gsize n;
    void *bytes = load(name, &n);
    return open_bytes(bytes, n);
}

static inline struct opened open_built(GByteArray *b)
{
    gsize n = b->len;
    void *exact = g_memdup2(b->data, n);
    g_byte_array_unref(b);
    return open_bytes(exact, n);
}

static inline void close_opened(struct opened *o)
{
    psc_arena_release(&o->arena);
    g_free(o->bytes);
}

#endif
