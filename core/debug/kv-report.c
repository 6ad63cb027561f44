#include "core/debug/kv-report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (1u << 20) /* of rows that are read at a time */

const char *psc_kv_fault_name(enum psc_kv_fault fault)
{
    static const char *const names[PSC_KV_FAULT_N] = {"nan", "inf", "zero", "unwritten", "stray"};
    return (unsigned)fault < PSC_KV_FAULT_N ? names[fault] : "?";
}

struct work {
    const struct psc_kv_image *image;
    struct psc_arena *arena;
    uint8_t *state;
    uint8_t *written;
    struct psc_kv_finding *findings; /* owned */
    size_t finding_n, finding_cap;
    bool cut;
};

static bool bit(const uint8_t *bits, uint32_t row)
{
    return bits[row / 8] >> row % 8 & 1;
}

static enum psc_kv_row_state state_of(const float *values, uint32_t n)
{
    enum psc_kv_row_state state = PSC_KV_ROW_ZERO;
    for (uint32_t i = 0; i < n; i++) {
        enum psc_kv_row_state here = isnan(values[i]) ? PSC_KV_ROW_NAN : isinf(values[i]) ? PSC_KV_ROW_INF
                                     : values[i] != 0 ? PSC_KV_ROW_VALUES : PSC_KV_ROW_ZERO;
        state = here > state ? here : state;
    }
    return state;
}

/* A block of q8_0 whose scale rounds to zero decodes to zeros although it was written: its bytes tell. */
static bool has_bytes(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return true;
    return false;
}

static enum psc_status look_at_region(struct work *w, uint32_t at, unsigned slot, uint32_t count[PSC_KV_ROW_STATE_N],
                                      struct psc_error *reterr)
{
    const struct psc_kv_image *image = w->image;
    size_t bytes = (size_t)image->row_words * 4;
    uint32_t step = PIECE_BYTES / bytes ? (uint32_t)(PIECE_BYTES / bytes) : 1;
    uint8_t *piece = psc_alloc(step * bytes), *state = w->state + (size_t)(2 * at + slot) * image->rows;
    float *values = psc_alloc(image->width * sizeof *values);
    enum psc_status status = piece && values ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t lo = 0; lo < image->rows && !status; lo += step) {
        uint32_t hi = image->rows - lo < step ? image->rows : lo + step;
        status = image->read(image->ctx, at, slot, lo, hi, piece, reterr);
        for (uint32_t r = lo; r < hi && !status; r++) {
            const uint8_t *row = piece + (r - lo) * bytes;
            psc_kv_row_decode(image->format, image->width, row, values);
            state[r] = (uint8_t)state_of(values, image->width);
            if (state[r] == PSC_KV_ROW_ZERO && image->format == PSC_KV_Q8_0 && has_bytes(row, bytes))
                state[r] = PSC_KV_ROW_VALUES;
            count[state[r]]++;
        }
    }
    psc_free(piece);
    psc_free(values);
    return status;
}

static unsigned slots(const struct psc_kv_image *image)
{
    return image->has_v ? 2 : 1;
}

/* Told, or what holds anything anywhere. */
static void settle_written(struct work *w)
{
    const struct psc_kv_image *image = w->image;
    if (image->written) {
        memcpy(w->written, image->written, (image->rows + 7) / 8);
        return;
    }
    for (uint32_t at = 0; at < image->layer_n; at++)
        for (unsigned slot = 0; slot < slots(image); slot++) {
            const uint8_t *state = w->state + (size_t)(2 * at + slot) * image->rows;
            for (uint32_t r = 0; r < image->rows; r++)
                if (state[r])
                    w->written[r / 8] |= (uint8_t)(1u << r % 8);
        }
}

static enum psc_status add(struct work *w, enum psc_kv_fault fault, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi,
                           struct psc_error *reterr)
{
    if (w->finding_n >= PSC_KV_FINDINGS_MAX) {
        w->cut = true;
        return PSC_OK;
    }
    if (!psc_grow(&w->findings, w->finding_n + 1, &w->finding_cap, sizeof *w->findings))
        return psc_fail_nomem(reterr);
    w->findings[w->finding_n++] = (struct psc_kv_finding){fault, at, slot, lo, hi};
    return PSC_OK;
}

/* Rows that some query may look at: up to the last that is written, or inside the rows of a run. */
static void settle_used(const struct work *w, uint8_t *used, uint32_t *ret_n)
{
    const struct psc_kv_image *image = w->image;
    uint32_t n = 0;
    for (uint32_t r = 0; r < image->rows; r++)
        n = bit(w->written, r) ? r + 1 : n;
    for (uint32_t r = 0; r < n && !image->runs; r++)
        used[r] = 1;
    for (uint32_t k = 0; k < image->run_n && image->runs; k++) {
        const struct psc_kv_run *run = &image->runs[k];
        if (!run->live)
            continue;
        for (uint32_t r = 0; r < run->rows && run->start + r < image->rows; r++)
            used[run->start + r] = 1;
        for (uint32_t r = 0; r < run->shared_rows && run->shared_cell + r < image->rows; r++)
            used[run->shared_cell + r] = 1;
    }
    *ret_n = n;
}

static bool is_faulty(const struct work *w, enum psc_kv_fault fault, const uint8_t *state, const uint8_t *used, uint32_t r)
{
    bool written = bit(w->written, r);
    switch (fault) {
    case PSC_KV_NAN: return state[r] == PSC_KV_ROW_NAN && (written || used[r]);
    case PSC_KV_INF: return state[r] == PSC_KV_ROW_INF && (written || used[r]);
    case PSC_KV_ZERO: return state[r] == PSC_KV_ROW_ZERO && written;
    case PSC_KV_STRAY: return state[r] == PSC_KV_ROW_VALUES && !written;
    default: return !written && used[r];
    }
}

static enum psc_status find(struct work *w, enum psc_kv_fault fault, uint32_t at, unsigned slot, const uint8_t *used,
                            struct psc_error *reterr)
{
    const uint8_t *state = at == PSC_KV_ALL ? NULL : w->state + (size_t)(2 * at + slot) * w->image->rows;
    enum psc_status status = PSC_OK;
    for (uint32_t r = 0; r < w->image->rows && !status;) {
        uint32_t lo = r;
        while (r < w->image->rows && is_faulty(w, fault, state, used, r))
            r++;
        if (r > lo)
            status = add(w, fault, at, slot, lo, r, reterr);
        else
            r++;
    }
    return status;
}

static void compare_layers(const struct work *w, struct psc_kv_report *report)
{
    const struct psc_kv_image *image = w->image;
    report->differs_at = PSC_KV_ALL;
    for (uint32_t at = 1; at < image->layer_n; at++)
        for (unsigned slot = 0; slot < slots(image); slot++)
            for (uint32_t r = 0; r < image->rows; r++) {
                const uint8_t *first = w->state + (size_t)slot * image->rows;
                const uint8_t *here = w->state + (size_t)(2 * at + slot) * image->rows;
                if ((first[r] == PSC_KV_ROW_ZERO) == (here[r] == PSC_KV_ROW_ZERO))
                    continue;
                report->differs_at = at;
                report->differs_slot = slot;
                report->differs_row = r;
                return;
            }
}

static enum psc_status judge(struct work *w, struct psc_kv_report *report, struct psc_error *reterr)
{
    const struct psc_kv_image *image = w->image;
    enum psc_status status = PSC_OK;
    uint8_t *used = psc_alloc0(image->rows, 1);
    if (!used)
        return psc_fail_nomem(reterr);
    settle_written(w);
    settle_used(w, used, &report->used_n);
    for (uint32_t r = 0; r < image->rows; r++)
        report->written_n += bit(w->written, r);
    for (unsigned fault = 0; fault < PSC_KV_FAULT_N && !status; fault++)
        if (fault == PSC_KV_UNWRITTEN)
            status = find(w, (enum psc_kv_fault)fault, PSC_KV_ALL, 0, used, reterr);
        else
            for (uint32_t at = 0; at < image->layer_n && !status; at++)
                for (unsigned slot = 0; slot < slots(image) && !status; slot++)
                    status = find(w, (enum psc_kv_fault)fault, at, slot, used, reterr);
    compare_layers(w, report);
    psc_free(used);
    return status;
}

enum psc_status psc_kv_report_make(struct psc_arena *arena, const struct psc_kv_image *image, struct psc_kv_report *ret,
                                   struct psc_error *reterr)
{
    struct work w = {.image = image, .arena = arena};
    struct psc_kv_report report = {.told = image->written != NULL};
    struct psc_kv_region_report *regions = psc_arena_alloc0(arena, 2 * (size_t)image->layer_n, sizeof *regions);
    struct psc_kv_finding *findings = NULL;
    enum psc_status status = PSC_OK;
    w.state = psc_arena_alloc0(arena, 2 * (size_t)image->layer_n, image->rows);
    w.written = psc_arena_alloc0(arena, image->rows / 8 + 1, 1);
    if (!regions || !w.state || !w.written)
        return psc_fail_nomem(reterr);
    for (uint32_t at = 0; at < image->layer_n && !status; at++)
        for (unsigned slot = 0; slot < slots(image) && !status; slot++)
            status = look_at_region(&w, at, slot, regions[2 * at + slot].count, reterr);
    if (!status)
        status = judge(&w, &report, reterr);
    if (!status) {
        findings = psc_arena_alloc(arena, w.finding_n, sizeof *findings);
        status = findings ? PSC_OK : psc_fail_nomem(reterr);
    }
    if (!status) {
        if (w.finding_n)
            memcpy(findings, w.findings, w.finding_n * sizeof *findings);
        report.regions = regions;
        report.state = w.state;
        report.written = w.written;
        report.findings = findings;
        report.finding_n = (uint32_t)w.finding_n;
        report.cut = w.cut;
        *ret = report;
    }
    psc_free(w.findings);
    return status;
}
