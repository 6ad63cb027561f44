/* backends/cpu/matmul-tile-avx2.h: quantised weights with many tokens.
 *
 *     for a batch of tokens            lanes of 16 rows x 128 tokens: in this worker's memory
 *         for 16 rows
 *             for 512 values           opened once: bytes, or words with the scales multiplied in
 *                 for 16 tokens        their piece of the panel stays in the first cache
 *                     for 4 rows       tile: 4 rows x 16 tokens, 8 vectors of sums
 *
 * In a tile a lane of a vector is a token: a weight is spread over all lanes and multiplied with consecutive values of eight
 * tokens, so that a sum of a block never crosses lanes. Pairs of bytes are added in 16 bits as long as they fit
 * (matmul-kernels.h has the bounds): 4- and 5-bit types need one widening for 32 or 16 values.
 */
#ifndef PSC_BACKENDS_CPU_MATMUL_TILE_AVX2_H
#define PSC_BACKENDS_CPU_MATMUL_TILE_AVX2_H

#include "backends/cpu/matmul-kernels.h"

#define PSC_TILE_ROWS 16u
#define PSC_TILE_QUAD 4u
#define PSC_TILE_VALUES 512u
#define PSC_TILE_BATCH 128u /* tokens */

struct psc_tile_work { /* of one worker */
    union {
        uint8_t bytes[PSC_TILE_ROWS][PSC_TILE_VALUES];
        int16_t words[PSC_TILE_ROWS][PSC_TILE_VALUES];
    } w;
    float d[PSC_TILE_ROWS][PSC_TILE_VALUES / 32], m[PSC_TILE_ROWS][PSC_TILE_VALUES / 32]; /* of a block */
    int32_t scale[PSC_TILE_ROWS][PSC_TILE_VALUES / 32];    /* K: of 32 values, in both halves */
    int32_t minima[PSC_TILE_ROWS][PSC_TILE_VALUES / 64];   /* K: of 2 x 32 values, one in each half */
    float lanes[PSC_TILE_ROWS / PSC_TILE_QUAD][PSC_TILE_BATCH / PSC_MM_PANEL][PSC_MM_LANES][PSC_TILE_QUAD][PSC_MM_PANEL];
};

enum psc_mm_form psc_tile_form_avx2(enum psc_wtype type);
/* Rows [lo, hi) with all tokens; activations in that form. */
void psc_tiles_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi, struct psc_tile_work *work);

#endif
