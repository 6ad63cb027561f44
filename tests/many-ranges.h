/* tests/many-ranges.h: a history of any size, filled by hand: no graph, no events, only bars.
 *
 * Range i lies in buffer i % buffers. In each buffer ranges follow each other: 3 positions long, then one idle,
 *
 *     buffer 0   [0 .. 2]   [4 .. 6]   [8 .. 10]   ...
 *
 * so that a row is three quarters full and the run has 4 * ranges / buffers positions.
 */
#ifndef PSC_TESTS_MANY_RANGES_H
#define PSC_TESTS_MANY_RANGES_H

#include "core/debug/check.h"
#include "core/debug/history.h"

struct many_ranges {
    struct psc_story story;
    struct psc_history history;
    struct psc_check check;
};
/* alarms: that many findings, evenly spread over the run: the victim's range is written over in its second
 * position. Everything lives in the arena; aborts when out of memory. */
struct many_ranges *many_ranges(struct psc_arena *arena, uint32_t ranges, uint32_t buffers, uint32_t alarms);

#endif
