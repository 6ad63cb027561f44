/* core/base/clock.h: time between two moments, for figures; never for decisions that must come out the same again. */
#ifndef PSC_CORE_BASE_CLOCK_H
#define PSC_CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since a moment that stays the same while the machine runs. */
static inline uint64_t psc_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
