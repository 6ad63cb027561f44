#include "core/base/arena.h"

#include "core/base/mem.h"

#include <string.h>

#define ALIGN 16u
#define BLOCK_MIN 4096u
#define BLOCK_MAX (1u << 20)
#define KEPT_MAX (16u << 20)

struct psc_arena_block {
    struct psc_arena_block *prev;
    size_t cap; /* usable bytes after the header */
    size_t pad[2]; /* keeps the payload aligned to 16 */
};

static struct psc_arena_block *pop_block(struct psc_arena *arena)
{
    struct psc_arena_block *block = arena->head;
    arena->head = block->prev;
    arena->total -= block->cap + sizeof *block;
    return block;
}

static struct psc_arena_block *pop_kept(struct psc_arena *arena)
{
    struct psc_arena_block *block = arena->kept;
    arena->kept = block->prev;
    arena->kept_total -= block->cap + sizeof *block;
    return block;
}

static void keep_block(struct psc_arena *arena, struct psc_arena_block *block)
{
    if (arena->kept_total + block->cap + sizeof *block > KEPT_MAX) {
        psc_free(block);
        return;
    }
    block->prev = arena->kept;
    arena->kept = block;
    arena->kept_total += block->cap + sizeof *block;
}

/* The kept block that was taken first comes first: who asks again for the same finds each in its turn. Others that are
 * in the way are too small, and go. */
static struct psc_arena_block *find_kept(struct psc_arena *arena, size_t need)
{
    while (arena->kept && arena->kept->cap < need)
        psc_free(pop_kept(arena));
    return arena->kept ? pop_kept(arena) : NULL;
}

void psc_arena_release(struct psc_arena *arena)
{
    while (arena->head)
        psc_free(pop_block(arena));
    while (arena->kept)
        psc_free(pop_kept(arena));
    arena->used = 0;
}

static int push_block(struct psc_arena *arena, size_t need)
{
    size_t cap = arena->head ? arena->head->cap * 2 : BLOCK_MIN;
    struct psc_arena_block *block = find_kept(arena, need);
    if (cap > BLOCK_MAX)
        cap = BLOCK_MAX;
    if (cap < need)
        cap = need;
    if (cap > SIZE_MAX - sizeof *block)
        return 0;
    if (!block) {
        block = psc_alloc(sizeof *block + cap);
        if (!block)
            return 0;
        block->cap = cap;
    }
    block->prev = arena->head;
    arena->head = block;
    arena->used = 0;
    arena->total += block->cap + sizeof *block;
    return 1;
}

void *psc_arena_alloc(struct psc_arena *arena, size_t n, size_t size)
{
    if (size && n > (SIZE_MAX - ALIGN) / size)
        return NULL;
    size_t need = (n * size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!arena->head || arena->head->cap - arena->used < need)
        if (!push_block(arena, need))
            return NULL;
    void *ptr = (char *)(arena->head + 1) + arena->used;
    arena->used += need;
    return ptr;
}

void *psc_arena_alloc0(struct psc_arena *arena, size_t n, size_t size)
{
    void *ptr = psc_arena_alloc(arena, n, size);
    if (ptr)
        memset(ptr, 0, n * size);
    return ptr;
}

char *psc_arena_strndup(struct psc_arena *arena, const char *text, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *copy = psc_arena_alloc(arena, n + 1, 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *psc_arena_strdup(struct psc_arena *arena, const char *text)
{
    return text ? psc_arena_strndup(arena, text, strlen(text)) : NULL;
}

struct psc_arena_mark psc_arena_mark(const struct psc_arena *arena)
{
    return (struct psc_arena_mark){arena->head, arena->used};
}

void psc_arena_rewind(struct psc_arena *arena, struct psc_arena_mark mark)
{
    while (arena->head != mark.head)
        keep_block(arena, pop_block(arena));
    arena->used = mark.used;
}
