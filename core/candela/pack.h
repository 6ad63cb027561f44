/* core/candela/pack.h: slots with an end, put into one arena: longest first, into the tightest gap.
 *
 * Lives are closed intervals of positions: two that touch in one position conflict. Slots without end are left out.
 *
 * Each slot is fitted among those alive with it: O(pairs log pairs) for all. When more than 2^25 pairs are alive together
 * the rest goes on top of the arena, so that no plan takes quadratic time.
 *
 *     8 long over 0..5, 8 long over 5..9   ->  offsets 0 and 8, arena 16
 */
#ifndef PSC_CORE_CANDELA_PACK_H
#define PSC_CORE_CANDELA_PACK_H

#include "core/base/arena.h"
#include "core/candela/plan.h"

/* Elements of `size` bytes that 128 bytes are a multiple of: 128 / gcd(128, size); 1 for size 0. */
uint64_t psc_pack_align(uint64_t size);
/* Sets offset and packed of every slot with an end; *ret_len: elements of the arena. touch: lives that touch may
 * share (fault b20). */
enum psc_status psc_pack(struct psc_candela_slot *slots, uint32_t n, uint64_t align, bool touch, uint64_t *ret_len,
                         struct psc_error *reterr) PSC_MUST_CHECK;
/* Where a slot goes among those that are placed already, sorted by offset: into the tightest gap between those that live
 * at the same time, the lower of two that are equally tight; behind all of them when it fits nowhere. */
uint64_t psc_pack_fit(const struct psc_candela_slot *slot, struct psc_candela_slot *const *placed, uint32_t n, uint64_t align,
                      bool touch);

#endif
