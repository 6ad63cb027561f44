/* core/plan/kv-image.h: the K and V rows of a cache as they are now, wherever they lie: in a session, in a file.
 *
 *     layer     0      0      1      1
 *     slot      K      V      K      V         regions: 2 * at + slot
 *     row 0     ----   ----   ----   ----      row_words words each
 *     row 1     ----   ----   ----   ----
 *
 * What is known of the cells beside the bytes is optional. Ownership: everything is borrowed from whoever made it.
 */
#ifndef PSC_CORE_PLAN_KV_IMAGE_H
#define PSC_CORE_PLAN_KV_IMAGE_H

#include "core/plan/kv-runs.h"

struct psc_kv_image {
    const char *model, *backend; /* for people and for loading; may be NULL */
    uint32_t layer_n;
    const int32_t *layer;        /* [layer_n] numbers, ascending */
    bool has_v;                  /* K and V are there; false: only one of them, as slot 0 */
    unsigned only;               /* then which: 0 K, 1 V */
    uint32_t rows;               /* n_ctx */
    uint32_t width, row_words;   /* values and words of a row */
    enum psc_kv_format format;
    const uint8_t *written;      /* bit r: row r was written; NULL: not known */
    const struct psc_kv_cell *cells; /* [rows], or NULL */
    const struct psc_kv_run *runs;   /* [run_n], the index is the sequence's place in the cells; or NULL */
    uint32_t run_n;
    const void *host;            /* bytes that the engine keeps beside its cache: token ids, its own state */
    uint64_t host_n;
    /* Rows [lo, hi) of slot 0 (K) or 1 (V) of the layer at `at` (an index, not a number) into `to`. */
    enum psc_status (*read)(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                            struct psc_error *reterr);
    void *ctx;
};
static inline bool psc_kv_image_is_written(const struct psc_kv_image *image, uint32_t row)
{
    return image->written && (image->written[row / 8] >> row % 8 & 1);
}

/* What a slot of it is called. */
static inline const char *psc_kv_image_slot(const struct psc_kv_image *image, unsigned slot)
{
    return (image->has_v ? slot : image->only) ? "V" : "K";
}

#endif
