/* core/debug/compare-stories.h: did it happen as planned? Two stories of one graph laid over each other.
 *
 *     planned                         recorded                        difference
 *     12  write  mul   b4 [0,64)      12  write  mul   b5 [0,64)      another buffer
 *     13  read   mul   b4 [0,64)      13  read   mul   b5 [0,64)      another buffer
 *     14  write  add   b6 [0,64)      -                               missing
 *
 * Events are paired by what they are, not by where they stand: kind, node, operand, value, and which of several alike.
 * Pairs are then compared by buffer (backend and name) and bytes. Fills, reads, writes, rows, staged copies and exports are
 * compared; what gives bytes out or back, and views, follow from them. A kind of which the record has no event at all is
 * left out: its recorder did not see it (`kinds` says which were compared). Waits are compared where copies were recorded.
 *
 * Order: of the nodes that both stories run, those whose removal leaves the others in the planned order, as few as
 * possible.
 * Cost: O(n log n) in events. Ownership: the result lies in the arena; it borrows nothing.
 */
#ifndef PSC_CORE_DEBUG_COMPARE_STORIES_H
#define PSC_CORE_DEBUG_COMPARE_STORIES_H

#include "core/base/text.h"
#include "core/event/event.h"

enum psc_story_diff_kind {
    PSC_DIFF_BUFFER,  /* another buffer */
    PSC_DIFF_BYTES,   /* other bytes of the same buffer */
    PSC_DIFF_MISSING, /* planned, not recorded */
    PSC_DIFF_EXTRA,   /* recorded, not planned */
    PSC_DIFF_ORDER,   /* run earlier or later, between others, than planned */
    PSC_DIFF_N
};
const char *psc_story_diff_name(enum psc_story_diff_kind kind); /* "another buffer", "missing" ... */

struct psc_story_diff {
    enum psc_story_diff_kind kind;
    uint32_t planned, recorded; /* events; PSC_NONE where there is none */
    psc_node node;              /* who acts; PSC_NONE: the host */
    int32_t position;           /* as recorded, else as planned */
};
struct psc_story_comparison {
    const struct psc_story_diff *diffs; /* by position, then as recorded */
    uint32_t diff_n;
    uint32_t count[PSC_DIFF_N];
    uint32_t pair_n;            /* events that both have */
    psc_node last;              /* op of the last event that both have, in the order of the plan; PSC_NONE: no op has one */
    uint32_t behind_n;          /* of the missing: planned after that op. 0 when the record reaches the last planned op */
    uint32_t kinds;             /* bits 1 << enum psc_event_kind: compared */
    const uint32_t *buffer_of;  /* [planned->buffer_n] the recorded buffer of the same backend and name, or PSC_NONE */
    const uint32_t *diff_at;    /* [recorded->event_n] index of the difference that a recorded event shows, or PSC_NONE */
};
enum psc_status psc_compare_stories(struct psc_arena *arena, const struct psc_story *planned, const struct psc_story *recorded,
                                    struct psc_story_comparison **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* "#12 mul wrote b5 [0x0, +64 B) instead of b4 [0x0, +64 B)." graph may be NULL. */
void psc_explain_story_diff(struct psc_text *out, const struct psc_graph *graph, const struct psc_story *planned,
                            const struct psc_story *recorded, const struct psc_story_diff *diff);
/* "It happened as planned: 412 fills, reads and writes, each at its bytes and in its order." or "6 differences
 * between plan and record, 412 events compared: 4 in another buffer, 2 missing." A run that stopped is told as that: "The record
 * ends at #6 attn, with 86 events of the plan still to come. Up to there 12 differences, ..." graph may be NULL. */
void psc_explain_comparison(struct psc_text *out, const struct psc_graph *graph, const struct psc_story_comparison *comparison);

#endif
