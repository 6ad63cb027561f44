/* core/base/arena.h: memory of one computation, released as a whole.
 *
 * A result (a graph, a plan, a list of findings) lives in one arena and is freed by releasing
 * it. Blocks are aligned to 16 bytes. psc_arena_mark/rewind give scratch space back in stack
 * order, to the arena: it keeps up to 16 MiB for who asks next, so that what is computed again and
 * again does not fetch its memory from the heap each time. Not for use from two threads at once.
 */
#ifndef PSC_CORE_BASE_ARENA_H
#define PSC_CORE_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct psc_arena_block;
struct psc_arena {
    struct psc_arena_block *head; /* newest block, owned */
    size_t used;                  /* bytes taken from head */
    uint64_t total;               /* bytes of all blocks up to head */
    struct psc_arena_block *kept; /* given back by a rewind, owned */
    uint64_t kept_total;          /* bytes of these */
};
struct psc_arena_mark {
    struct psc_arena_block *head;
    size_t used;
};

/* {0} is an empty arena. */
void psc_arena_release(struct psc_arena *arena); /* frees all; the arena is empty and usable */

/* NULL when the heap is exhausted or n * size overflows. Size 0 gives a valid pointer. */
void *psc_arena_alloc(struct psc_arena *arena, size_t n, size_t size);  /* uninitialised */
void *psc_arena_alloc0(struct psc_arena *arena, size_t n, size_t size); /* zeroed */
char *psc_arena_strndup(struct psc_arena *arena, const char *text, size_t n);
char *psc_arena_strdup(struct psc_arena *arena, const char *text); /* NULL stays NULL */

struct psc_arena_mark psc_arena_mark(const struct psc_arena *arena);
void psc_arena_rewind(struct psc_arena *arena, struct psc_arena_mark mark);

#endif
