#include "backends/cpu/scratch.h"

#include "core/base/mem.h"

#include <assert.h>

#define LINE 64u

void psc_cpu_scratch_release(struct psc_cpu_scratch *s)
{
    psc_free(s->temp_block);
    psc_free(s->kept_block);
    *s = (struct psc_cpu_scratch){0};
}

bool psc_cpu_piece(uint64_t n, uint64_t size, uint64_t *sum)
{
    uint64_t bytes;
    return psc_mul_u64(n, size, &bytes) && psc_add_u64(bytes, LINE - 1, &bytes) &&
           psc_add_u64(*sum, bytes / LINE * LINE, sum);
}

/* A new block of at least `bytes`, rounded up so that growth by a token at a time is rare. */
static void *new_block(uint64_t bytes, unsigned char **ret_at, uint64_t *ret_cap)
{
    uint64_t cap = bytes + bytes / 4 + 4096;
    if (cap < bytes || cap > SIZE_MAX - LINE)
        return NULL;
    void *block = psc_alloc((size_t)cap + LINE);
    if (!block)
        return NULL;
    *ret_at = (unsigned char *)(((uintptr_t)block + LINE - 1) / LINE * LINE);
    *ret_cap = cap;
    return block;
}

enum psc_status psc_cpu_scratch_reserve(struct psc_cpu_scratch *s, const struct psc_cpu_needs *needs,
                                        struct psc_error *reterr)
{
    bool more_temp = needs->temp > s->temp_cap, more_kept = needs->kept > s->kept_cap;
    if (!more_temp && !more_kept)
        return PSC_OK;
    unsigned char *temp = NULL, *kept = NULL;
    uint64_t temp_cap = 0, kept_cap = 0;
    void *temp_block = more_temp ? new_block(needs->temp, &temp, &temp_cap) : NULL;
    void *kept_block = more_kept ? new_block(needs->kept, &kept, &kept_cap) : NULL;
    if ((more_temp && !temp_block) || (more_kept && !kept_block)) {
        psc_free(temp_block);
        psc_free(kept_block);
        return psc_fail(reterr, PSC_ERR_NOMEM, "no memory for %llu bytes of kernel scratch",
                        (unsigned long long)(needs->temp + needs->kept));
    }
    if (more_temp) {
        psc_free(s->temp_block);
        s->temp_block = temp_block, s->temp = temp, s->temp_cap = temp_cap;
    }
    if (more_kept) {
        psc_free(s->kept_block);
        s->kept_block = kept_block, s->kept = kept, s->kept_cap = kept_cap;
        psc_cpu_scratch_forget(s);
    }
    return PSC_OK;
}

void *psc_cpu_scratch_take(struct psc_cpu_scratch *s, uint64_t bytes)
{
    uint64_t end = s->used;
    bool fits = psc_cpu_piece(bytes, 1, &end) && end <= s->temp_cap;
    assert(fits);
    (void)fits;
    void *at = s->temp + s->used;
    s->used = end;
    return at;
}

void psc_cpu_scratch_wrote(struct psc_cpu_scratch *s, const void *at, uint64_t bytes)
{
    if (!s->memo.x || !s->memo.tokens)
        return;
    uintptr_t lo = (uintptr_t)at, hi = lo + bytes, from = (uintptr_t)s->memo.x;
    uintptr_t to = from + ((s->memo.tokens - 1) * s->memo.x_stride + s->memo.in) * sizeof(float);
    if (lo < to && from < hi)
        psc_cpu_scratch_forget(s);
}
