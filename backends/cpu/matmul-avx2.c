/* Which AVX2 kernel a product gets. */
#include "backends/cpu/dot-avx2.h"
#include "backends/cpu/matmul-tile-avx2.h"
#include "backends/cpu/quantise-avx2.h"

/* Tokens from which tiles are faster than a row at a time: below, they mostly multiply empty places. Measured. */
static uint64_t tiles_from(enum psc_wtype type)
{
    return type == PSC_W_Q8_0 ? 16 : type == PSC_W_Q6_K ? 12 : type == PSC_W_Q4_0 || type == PSC_W_Q4_1 ? 8 : 6;
}

static enum psc_mm_form form(enum psc_wtype type, uint64_t tokens)
{
    if (!psc_wtype_info(type)->quantised)
        return PSC_MM_FLOATS;
    return tokens < tiles_from(type) ? PSC_MM_ROWS : psc_tile_form_avx2(type);
}

static void product(const struct psc_mm_job *job, uint64_t lo, uint64_t hi, unsigned worker)
{
    if (job->acts.form == PSC_MM_FLOATS)
        psc_dot_float_avx2(job, lo, hi);
    else if (job->acts.form != PSC_MM_ROWS)
        psc_tiles_avx2(job, lo, hi, (struct psc_tile_work *)(void *)(job->work + worker * sizeof(struct psc_tile_work)));
    else if (job->acts.k)
        psc_dot_k_avx2(job, lo, hi);
    else
        psc_dot_32_avx2(job, lo, hi);
}

const struct psc_mm_kernels *psc_mm_avx2(void)
{
    static const struct psc_mm_kernels kernels = {
        .quantise = psc_quantise_avx2, .product = product, .form = form, .work_bytes = sizeof(struct psc_tile_work)};
    return &kernels;
}
