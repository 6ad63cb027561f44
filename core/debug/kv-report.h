/* core/debug/kv-report.h: what is in a KV cache, and what should not be.
 *
 *     row        0   1   2   3   4   5
 *     written    x   x   x   .   x   .        used: [0, 5), one past the last that is written
 *     layer 0 K  v   v   v   0   v   0
 *     layer 0 V  v   v   v   0   v   0        row 3 was never written and lies in the used range
 *     layer 1 K  v   0   v   0   n   0        row 1 is zero although it was written, row 4 has a NaN
 *
 * When nobody says which rows were written (minfer's files), a row counts as written when any region holds something else
 * than zero in it. Rows of a sequence's run are in use, too, when the runs are known.
 *
 * Findings are runs of rows of one region with one fault, in the order of the enum, then layer, slot, row. Cost: every
 * row is read and decoded once. Ownership: the arena.
 */
#ifndef PSC_CORE_DEBUG_KV_REPORT_H
#define PSC_CORE_DEBUG_KV_REPORT_H

#include "core/base/arena.h"
#include "core/base/text.h"
#include "core/plan/kv-image.h"

enum psc_kv_row_state { PSC_KV_ROW_ZERO, PSC_KV_ROW_VALUES, PSC_KV_ROW_INF, PSC_KV_ROW_NAN, PSC_KV_ROW_STATE_N };
enum psc_kv_fault {
    PSC_KV_NAN,       /* a row in use holds NaN */
    PSC_KV_INF,       /* ... or an infinity */
    PSC_KV_ZERO,      /* a row that was written is zero */
    PSC_KV_UNWRITTEN, /* a row in the used range was never written (in no region) */
    PSC_KV_STRAY,     /* a row that was never written holds values all the same */
    PSC_KV_FAULT_N
};
const char *psc_kv_fault_name(enum psc_kv_fault fault); /* "nan", "inf", "zero", "unwritten", "stray" */

struct psc_kv_finding {
    enum psc_kv_fault fault;
    uint32_t at;       /* index of the layer; PSC_KV_ALL for all of them */
    unsigned slot;     /* 0 K, 1 V */
    uint32_t lo, hi;   /* rows */
};
#define PSC_KV_ALL UINT32_MAX
#define PSC_KV_FINDINGS_MAX 100000u

struct psc_kv_region_report {
    uint32_t count[PSC_KV_ROW_STATE_N]; /* rows of each state */
};
struct psc_kv_report {
    const struct psc_kv_region_report *regions; /* [2 * layer_n]; of a cache without V the odd ones are empty */
    const uint8_t *state;    /* enum psc_kv_row_state: [(2 * at + slot) * rows + row] */
    const uint8_t *written;  /* bit a row, told or inferred */
    bool told;               /* the image says which rows were written */
    uint32_t written_n, used_n;
    const struct psc_kv_finding *findings;
    uint32_t finding_n;
    bool cut;                /* there are more than PSC_KV_FINDINGS_MAX */
    uint32_t differs_at;     /* first layer whose rows that hold something are not those of the first layer, or PSC_KV_ALL */
    uint32_t differs_row;    /* ... and the first such row */
    unsigned differs_slot;
};
enum psc_status psc_kv_report_make(struct psc_arena *arena, const struct psc_kv_image *image, struct psc_kv_report *ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

/* core/debug/explain-kv.c: "layer 3 K: rows 4..7 hold NaN" */
void psc_explain_kv_finding(struct psc_text *out, const struct psc_kv_image *image, const struct psc_kv_finding *finding);

#endif
