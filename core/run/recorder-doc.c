/* The steps of a recorded document: each in an arena of its own, as it was measured, kept until the document goes. */
#include "core/run/recorder-private.h"

#include "core/base/mem.h"

#include <math.h>
#include <string.h>

struct kept_step {
    struct psc_arena arena;
    struct psc_step step; /* without records */
    struct psc_rec_raw raw;
};
struct kept_phase {
    struct kept_step *steps; /* owned */
    size_t n, cap;
};
struct psc_rec_store {
    struct kept_phase *phases; /* owned */
    size_t n, cap;
};

/* ---- records ------------------------------------------------------------------------------------------------- */

static double canonical(double v)
{
    return isnan(v) ? (double)NAN : v; /* one bit pattern for every NaN, so that hashes agree */
}

static void make_record(const struct psc_rec_raw *raw, psc_node i, float *values, struct psc_record *record)
{
    const struct psc_node_info *node = &raw->graph->nodes[i];
    const struct psc_probe_stats *stats = &raw->stats[i];
    double four[4] = {canonical(stats->min), canonical(stats->max), canonical(stats->mean), canonical(stats->absmean)};
    *record = (struct psc_record){
        .id = node->id, .node = i, .dtype = node->dtype, .n = stats->n, .stride = stats->stride,
        .min = four[0], .max = four[1], .mean = four[2], .absmean = four[3], .has_stats = true,
        .values = values, .value_n = stats->sample_n, .stats_hash = psc_hash_bytes(four, sizeof four, 0),
        .has_hash = raw->hashed[i], .hash = raw->hash[i],
    };
    for (uint32_t k = 0; k < stats->sample_n; k++) { /* as files have them: rounded in f32 */
        float x = roundf(stats->samples[k] * 1e6f) / 1e6f;
        values[k] = isnan(x) ? NAN : x;
        record->nonfinite += !isfinite(x);
    }
    record->values_hash = psc_hash_bytes(values, record->value_n * sizeof *values, 0);
}

enum psc_status psc_rec_records(struct psc_arena *arena, const struct psc_rec_raw *raw, struct psc_step *step,
                                struct psc_error *reterr)
{
    uint32_t used = 0, at = 0;
    struct psc_record *records = psc_arena_alloc(arena, raw->record_n, sizeof *records);
    float *values = psc_arena_alloc(arena, (size_t)raw->record_n * PSC_PROBE_SAMPLES, sizeof *values);
    if (!records || !values)
        return psc_fail_nomem(reterr);
    for (psc_node i = 0; raw->graph && i < raw->graph->n; i++) {
        if (!raw->noted[i])
            continue;
        make_record(raw, i, values + at, &records[used]);
        at += records[used++].value_n;
    }
    step->records = records;
    step->record_n = used;
    return PSC_OK;
}

/* ---- the step source ------------------------------------------------------------------------------------------- */

static uint32_t count(void *ctx, uint32_t phase)
{
    const struct psc_rec_store *store = ctx;
    return phase < store->n ? (uint32_t)store->phases[phase].n : 0;
}

static enum psc_status load(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena, struct psc_step *ret,
                            struct psc_error *reterr)
{
    const struct psc_rec_store *store = ctx;
    const struct kept_step *kept = &store->phases[phase].steps[step];
    struct psc_step made = kept->step; /* all but the records lives as long as the document */
    enum psc_status status = psc_rec_records(arena, &kept->raw, &made, reterr);
    if (status == PSC_OK)
        *ret = made;
    return status;
}

static void close_store(void *ctx)
{
    struct psc_rec_store *store = ctx;
    for (size_t p = 0; p < store->n; p++) {
        for (size_t s = 0; s < store->phases[p].n; s++)
            psc_arena_release(&store->phases[p].steps[s].arena);
        psc_free(store->phases[p].steps);
    }
    psc_free(store->phases);
    psc_free(store);
}

enum psc_status psc_rec_store_new(struct psc_doc *doc, struct psc_rec_store **ret, struct psc_error *reterr)
{
    struct psc_rec_store *store = psc_alloc0(1, sizeof *store);
    if (!store)
        return psc_fail_nomem(reterr);
    doc->steps = (struct psc_step_source){.count = count, .load = load, .close = close_store, .ctx = store};
    *ret = store;
    return PSC_OK;
}

enum psc_status psc_rec_store_phase(struct psc_doc *doc, struct psc_rec_store *store, const struct psc_phase *phase,
                                    struct psc_error *reterr)
{
    struct psc_phase *phases = psc_arena_alloc(&doc->arena, (size_t)doc->phase_n + 1, sizeof *phases);
    if (!phases || !psc_grow(&store->phases, store->n + 1, &store->cap, sizeof *store->phases))
        return psc_fail_nomem(reterr);
    if (doc->phase_n)
        memcpy(phases, doc->phases, doc->phase_n * sizeof *phases);
    phases[doc->phase_n] = *phase;
    store->phases[store->n++] = (struct kept_phase){0};
    doc->phases = phases;
    doc->phase_n++;
    return PSC_OK;
}

enum psc_status psc_rec_store_step(struct psc_rec_store *store, const struct psc_step *step, const struct psc_rec_raw *raw,
                                   struct psc_arena *arena, struct psc_error *reterr)
{
    struct kept_phase *phase = &store->phases[store->n - 1];
    if (!psc_grow(&phase->steps, phase->n + 1, &phase->cap, sizeof *phase->steps))
        return psc_fail_nomem(reterr);
    phase->steps[phase->n++] = (struct kept_step){*arena, *step, *raw};
    memset(arena, 0, sizeof *arena);
    return PSC_OK;
}
