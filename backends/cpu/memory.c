#include "backends/cpu/memory.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE 64u

/* Stands in the line before the bytes that are handed out. */
struct psc_host_block {
    struct psc_host_block *prev, *next;
    void *owned;
};
_Static_assert(sizeof(struct psc_host_block) <= LINE, "the block's head fits before its bytes");

static struct psc_host_block *head_of(psc_address at)
{
    return (struct psc_host_block *)(uintptr_t)(at - LINE);
}

enum psc_status psc_host_memory_alloc(struct psc_host_memory *m, uint64_t bytes, psc_address *ret,
                                      struct psc_error *reterr)
{
    uint64_t all;
    void *owned = psc_add_u64(bytes, 2 * LINE, &all) && all <= SIZE_MAX ? psc_alloc((size_t)all) : NULL;
    if (!owned) {
        char text[16];
        return psc_fail(reterr, PSC_ERR_NOMEM, "no memory for a buffer of %s",
                        psc_bytes_text(bytes, text, sizeof text));
    }
    psc_address at = ((psc_address)(uintptr_t)owned + 2 * LINE - 1) / LINE * LINE;
    struct psc_host_block *block = head_of(at);
    *block = (struct psc_host_block){.next = m->blocks, .owned = owned};
    if (m->blocks)
        m->blocks->prev = block;
    m->blocks = block;
    *ret = at;
    return PSC_OK;
}

void psc_host_memory_free(struct psc_host_memory *m, psc_address at)
{
    if (!at)
        return;
    struct psc_host_block *block = head_of(at);
    if (block->prev)
        block->prev->next = block->next;
    else
        m->blocks = block->next;
    if (block->next)
        block->next->prev = block->prev;
    psc_free(block->owned);
}

void psc_host_memory_release(struct psc_host_memory *m)
{
    while (m->blocks)
        psc_host_memory_free(m, (psc_address)(uintptr_t)m->blocks + LINE);
}

/* What the kernel thinks can be had without swapping; SC_AVPHYS_PAGES leaves out what caches would give back. */
static bool available(uint64_t *ret)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib;
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
    if (f)
        fclose(f);
    if (found)
        *ret = (uint64_t)kib * 1024;
    return found;
}

enum psc_query psc_host_memory_query(uint64_t *ret_free, uint64_t *ret_total)
{
    long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
    uint64_t free_bytes;
    if (page <= 0 || pages <= 0 || !available(&free_bytes))
        return PSC_QUERY_FAILED;
    *ret_total = (uint64_t)page * (uint64_t)pages;
    *ret_free = free_bytes < *ret_total ? free_bytes : *ret_total;
    return PSC_QUERY_REPORTED;
}

void psc_host_fill(psc_address at, uint32_t pattern, uint64_t bytes)
{
    unsigned char *to = psc_host_pointer(at);
    for (; bytes >= sizeof pattern; to += sizeof pattern, bytes -= sizeof pattern)
        memcpy(to, &pattern, sizeof pattern);
    if (bytes)
        memcpy(to, &pattern, (size_t)bytes);
}
