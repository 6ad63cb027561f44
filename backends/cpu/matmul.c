#include "backends/cpu/matmul.h"

#include "backends/cpu/matmul-kernels.h"
#include "core/base/mem.h"

#include <assert.h>

#define WORK_MIN 65536u /* multiplications worth waking a worker for */

static bool aligned_after(uint64_t n, uint64_t size, uint64_t *end)
{
    return psc_cpu_piece(n, size, end);
}

bool psc_mm_acts_layout(enum psc_mm_form form, bool k, uint64_t in, uint64_t tokens, struct psc_mm_acts *ret,
                        uint64_t *ret_bytes)
{
    bool panels = form == PSC_MM_PANEL8 || form == PSC_MM_PANEL16;
    struct psc_mm_acts a = {.form = form, .k = k, .in = in, .tokens = tokens, .blocks = in / (k ? 256 : 32)};
    uint64_t end = 0, side = panels ? PSC_MM_PANEL : 1;
    uint64_t lots = tokens / side + (tokens % side != 0);
    bool fits = aligned_after(in, form == PSC_MM_PANEL16 ? 2 * side : side, &end);
    a.d_at = end;
    fits = fits && aligned_after(a.blocks + PSC_MM_LANES - 1, 4 * side, &end);
    a.sums_at = end;
    /* rows: int16, one or eight a block; panels: int32, or eight int16 */
    fits = fits && aligned_after(a.blocks, (k ? 16 : panels ? 4 : 2) * side, &end);
    a.sums16_at = end;
    if (k && !panels)
        fits = fits && aligned_after(a.blocks, 32, &end);
    a.lot = end;
    if (!fits || !psc_mul_u64(lots, end, ret_bytes))
        return false;
    *ret = a;
    return true;
}

static const struct psc_mm_kernels *kernels_for(bool portable)
{
#if PSC_CPU_AVX2
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        return psc_mm_avx2();
#endif
    (void)portable;
    return psc_mm_portable();
}

static bool needs_of(const struct psc_mm_kernels *kernels, const struct psc_weight *weight, uint64_t tokens,
                     unsigned threads, struct psc_cpu_needs *needs)
{
    enum psc_mm_form form = kernels->form(weight->type, tokens);
    struct psc_mm_acts acts;
    uint64_t bytes = 0;
    if (form != PSC_MM_FLOATS &&
        !psc_mm_acts_layout(form, psc_wtype_info(weight->type)->act == PSC_ACT_Q8_K, weight->in, tokens, &acts, &bytes))
        return false;
    needs->kept = bytes > needs->kept ? bytes : needs->kept;
    uint64_t temp = 0;
    if (!psc_cpu_piece(threads, kernels->work_bytes, &temp))
        return false;
    needs->temp = temp > needs->temp ? temp : needs->temp;
    return true;
}

bool psc_cpu_matmul_needs(const struct psc_weight *weight, uint64_t tokens, unsigned threads,
                          struct psc_cpu_needs *ret)
{
    struct psc_cpu_needs needs = {0}; /* of whichever path will be asked for */
    if (!needs_of(kernels_for(true), weight, tokens, threads, &needs) ||
        !needs_of(kernels_for(false), weight, tokens, threads, &needs))
        return false;
    *ret = needs;
    return true;
}

struct task {
    const struct psc_mm_kernels *kernels;
    struct psc_mm_job job;
};

static void quantise_task(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    const struct task *task = ctx;
    (void)worker;
    task->kernels->quantise(&task->job, lo, hi);
}

static void product_task(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    const struct task *task = ctx;
    task->kernels->product(&task->job, lo, hi, worker);
}

/* `unit`: multiplications an item. */
static uint64_t grain_for(uint64_t unit)
{
    return unit >= WORK_MIN ? 1 : WORK_MIN / (unit ? unit : 1);
}

/* What the memo must say for its bytes to be this operand. */
static bool is_kept(const struct psc_cpu_memo *memo, const struct psc_mm_job *job, unsigned act)
{
    return memo->x == job->x && memo->act == act && memo->in == job->in && memo->tokens == job->tokens &&
           (memo->x_stride == job->x_stride || job->tokens == 1);
}

static void quantise(struct psc_cpu_pool *threads, struct task *task, struct psc_cpu_scratch *scratch)
{
    struct psc_mm_job *job = &task->job;
    bool k = job->acts.k, panels = job->acts.form != PSC_MM_ROWS;
    unsigned act = (k ? PSC_ACT_Q8_K : PSC_ACT_Q8_0) | (unsigned)job->acts.form << 8;
    job->acts.base = scratch->kept;
    if (is_kept(&scratch->memo, job, act))
        return;
    uint64_t side = panels ? PSC_MM_PANEL : 1;
    psc_cpu_pool_for(threads, (job->tokens + side - 1) / side, grain_for(job->in * side), quantise_task, task);
    scratch->memo = (struct psc_cpu_memo){
        .x = job->x, .x_stride = job->x_stride, .in = job->in, .tokens = job->tokens, .act = act};
}

void psc_cpu_matmul(struct psc_cpu_pool *threads, const struct psc_bound_weight *w, const float *x, uint64_t x_stride,
                    uint64_t tokens, const float *bias, float *out, uint64_t out_stride,
                    struct psc_cpu_scratch *scratch, bool portable, unsigned faults)
{
    const struct psc_weight *weight = w->weight;
    struct task task = {.kernels = kernels_for(portable)};
    struct psc_mm_job *job = &task.job;
    uint64_t bytes = 0;
    if (!tokens || !weight->out)
        return;
    bool fits = psc_wtype_bytes(weight->type, weight->in, &bytes);
    assert(fits && weight->part_n == 0);
    *job = (struct psc_mm_job){
        .type = weight->type, .w = (const unsigned char *)(uintptr_t)w->at[0], .row_bytes = bytes, .in = weight->in,
        .rows = weight->out, .tokens = tokens, .x = x, .x_stride = x_stride, .bias = bias, .out = out,
        .out_stride = out_stride, .out_step = 1};
    if ((faults & PSC_CALL_L20) && weight->type == PSC_W_F32 && tokens > 1)
        job->out_stride = 1, job->out_step = tokens;
    enum psc_mm_form form = task.kernels->form(weight->type, tokens);
    if (form != PSC_MM_FLOATS) {
        fits = psc_mm_acts_layout(form, psc_wtype_info(weight->type)->act == PSC_ACT_Q8_K, weight->in, tokens,
                                  &job->acts, &bytes);
        assert(fits && bytes <= scratch->kept_cap);
        quantise(threads, &task, scratch);
    }
    if (task.kernels->work_bytes)
        job->work = psc_cpu_scratch_take(scratch, psc_cpu_pool_size(threads) * task.kernels->work_bytes);
    (void)fits;
    uint64_t unit = job->in * tokens; /* in and tokens are sizes in memory: no overflow */
    psc_cpu_pool_for(threads, job->rows, grain_for(unit), product_task, &task);
}
