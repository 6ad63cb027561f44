/* core/model/blocks.h: the types of weights. */
#ifndef PSC_CORE_MODEL_BLOCKS_H
#define PSC_CORE_MODEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum psc_wtype {
    PSC_W_F32, PSC_W_F16, PSC_W_BF16, PSC_W_Q8_0, PSC_W_Q4_0, PSC_W_Q4_1, PSC_W_Q5_0, PSC_W_Q5_1, PSC_W_Q4_K,
    PSC_W_Q5_K, PSC_W_Q6_K, PSC_W_OTHER, PSC_W_N
};

#endif
