#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

static void *plain_hook(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

static psc_mem_hook the_hook = plain_hook;
static void *the_ctx;

void psc_mem_set_hook(psc_mem_hook hook, void *ctx)
{
    the_hook = hook ? hook : plain_hook;
    the_ctx = hook ? ctx : NULL;
}

void *psc_alloc(size_t size)
{
    return the_hook(the_ctx, NULL, size ? size : 1);
}

void *psc_alloc0(size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        return NULL;
    void *ptr = psc_alloc(n * size);
    if (ptr)
        memset(ptr, 0, n * size);
    return ptr;
}

void *psc_realloc(void *ptr, size_t size)
{
    return the_hook(the_ctx, ptr, size ? size : 1);
}

void psc_free(void *ptr)
{
    if (ptr)
        the_hook(the_ctx, ptr, 0);
}

char *psc_strdup(const char *text)
{
    if (!text)
        return NULL;
    size_t n = strlen(text) + 1;
    char *copy = psc_alloc(n);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

bool psc_grow(void *ptr, size_t want, size_t *cap, size_t size)
{
    if (want <= *cap)
        return true;
    size_t next = *cap ? *cap : 8;
    while (next < want) {
        if (next > SIZE_MAX / 2)
            return false;
        next *= 2;
    }
    if (size && next > SIZE_MAX / size)
        return false;
    void *old;
    memcpy(&old, ptr, sizeof old);
    void *block = psc_realloc(old, next * size);
    if (!block)
        return false;
    memcpy(ptr, &block, sizeof block);
    *cap = next;
    return true;
}
