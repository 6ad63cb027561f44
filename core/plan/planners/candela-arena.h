/* core/plan/planners/candela-arena.h: candela's generation `arena` for graphs of minfer's ops: slots become bytes of an arena.
 *
 *     slot 0, 64 bytes, 0 .. 3      arena of the backend, offset 0
 *     slot 1, 64 bytes, 5 .. 8                            offset 0
 *     slot 2, no end                stays a buffer of its own
 *
 * Each backend gets one arena; offsets are multiples of 128 bytes (core/candela/pack.h). For core/plan/planners/candela.c.
 */
#ifndef PSC_CORE_PLAN_PLANNERS_CANDELA_ARENA_H
#define PSC_CORE_PLAN_PLANNERS_CANDELA_ARENA_H

#include "core/plan/planners/budget.h"
#include "core/plan/sketch.h"

/* start and end: [sketch->buffer_n], positions that hold the buffer, both inclusive; end -1: for ever. Places, releases and the
 * log name the arenas afterwards. faults: PSC_CANDELA_BIT, of which b20 and b21 count. */
enum psc_status psc_candela_pack_arenas(struct psc_sketch *sketch, const int32_t *start, const int32_t *end, uint64_t faults,
                                        struct psc_error *reterr) PSC_MUST_CHECK;

#endif
