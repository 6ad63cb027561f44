/* core/debug/lanes.h: what happens before what when lanes run beside each other, and which accesses nothing orders.
 *
 *     host   c0 writes H ---------------------- c3 writes H
 *               \ (enqueued)
 *     gpu        c1 reads H -- c2                          race: c1 and c3 on H
 *
 * Positions are commands; the story's edges are the only order between them (executor PSC_EXEC_QUEUES). Two positions
 * race when neither leads to the other, both touch a byte, and one of them writes it.
 *
 * Method: positions are taken in topological order and dealt out to chains, each position of a chain after the one
 * before it; a clock a position says how far down each chain it has waited. The accesses of a buffer stand by chain in
 * order, so those that a new access is not ordered with are the tail of each list: they are looked at and no others.
 * Cost: O((positions + edges) x chains + pairs looked at); clocks live only while somebody may still ask for them.
 */
#ifndef PSC_CORE_DEBUG_LANES_H
#define PSC_CORE_DEBUG_LANES_H

#include "core/event/event.h"

#define PSC_RACES_MAX 100000u

struct psc_race {
    uint32_t a, b;             /* positions, a < b as they are listed */
    uint32_t buffer;
    uint32_t event_a, event_b; /* their accesses; of several the first ones */
    uint64_t lo, hi;           /* bytes that both touch */
};
struct psc_races {
    const struct psc_race *list; /* by a, then b, then buffer as a touches it; one for each pair and buffer */
    uint32_t n;
    bool cut;                    /* there are more than PSC_RACES_MAX */
};
/* PSC_ERR_TOO_BIG when that is more than anybody would wait for. PSC_ERR_ORDER when positions wait for each other in a circle: the sentence names one of them. */
enum psc_status psc_lanes_races(struct psc_arena *arena, const struct psc_story *story, struct psc_races *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Reads, and what changes bytes or gives them back: the events that count as accesses. */
bool psc_lanes_reads(const struct psc_event *e);
bool psc_lanes_writes(const struct psc_event *e);

#endif
