/* core/debug/diff-align.h: two lists of things paired by what they are (private to diff-plans.c; a test of its own).
 *
 *     A  x  silu  silu  add          keys of A and B: strong says everything that is known of a thing, weak less
 *     B  x  silu  silu  silu  add    x and add are alone of their kind: paired. The silu before add is paired with the one before
 *                                    add, the one after x with the one after x; the third is left over
 *
 * First those of one strong key that are as many on both sides, in their order; then neighbours of pairs, by strong, then by weak
 * keys; then what is left, in order, by strong keys, then by weak ones. O(n log n).
 */
#ifndef PSC_CORE_DEBUG_DIFF_ALIGN_H
#define PSC_CORE_DEBUG_DIFF_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

struct psc_align_key { uint64_t strong, weak; };
/* b_of [a_n] and a_of [b_n] are filled, UINT32_MAX where there is no partner. false when memory ran out. */
bool psc_align(const struct psc_align_key *a, uint32_t a_n, const struct psc_align_key *b, uint32_t b_n, uint32_t *b_of,
               uint32_t *a_of);

#endif
