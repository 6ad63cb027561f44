/* core/base/mem.h: the one door to the heap, growable arrays, and checked sizes.
 *
 * Nothing in the project calls malloc directly: tests install a hook that fails the Nth call
 * and counts what is alive, and so walk every out-of-memory path. The hook is set before any
 * thread starts and never in the product.
 */
#ifndef PSC_CORE_BASE_MEM_H
#define PSC_CORE_BASE_MEM_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ptr == NULL allocates, size == 0 frees (and returns NULL), else resizes; NULL means failure
 * and leaves the old block valid. */
typedef void *(*psc_mem_hook)(void *ctx, void *ptr, size_t size);
void psc_mem_set_hook(psc_mem_hook hook, void *ctx); /* NULL restores the C library */

void *psc_alloc(size_t size);              /* uninitialised; size 0 gives a unique block */
void *psc_alloc0(size_t n, size_t size);   /* zeroed, n * size checked */
void *psc_realloc(void *ptr, size_t size); /* keeps the old block on failure */
void psc_free(void *ptr);                  /* NULL is fine */
char *psc_strdup(const char *text);        /* NULL on failure, or when text is NULL */

/* Makes room for `want` elements of `size` bytes in *(void **)ptr, doubling; keeps the old block
 * and *cap on failure. Use as: if (!psc_grow(&a->items, a->n + 1, &a->cap, sizeof *a->items)) */
bool psc_grow(void *ptr, size_t want, size_t *cap, size_t size) PSC_MUST_CHECK;

/* false on overflow, *ret untouched then */
static inline bool psc_add_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    if (a > UINT64_MAX - b)
        return false;
    *ret = a + b;
    return true;
}
static inline bool psc_mul_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    if (b && a > UINT64_MAX / b)
        return false;
    *ret = a * b;
    return true;
}

#endif
