#include "core/plan/sizes.h"

enum { FLOOR = 256, STEP = 4096, WORD = 4 };

uint64_t psc_size_class(uint64_t elements)
{
    uint64_t power = FLOOR;
    if (elements > STEP)
        return (elements + STEP - 1) / STEP * STEP;
    while (power < elements)
        power *= 2;
    return power;
}

uint64_t psc_size_bytes(enum psc_size size, uint64_t bytes)
{
    if (size == PSC_SIZE_EXACT)
        return bytes;
    return psc_size_class(bytes / WORD + (bytes % WORD != 0)) * WORD;
}
