/* core/debug/finding-bytes.h: the words that the doomed read of a finding should have found, and those that it found.
 *
 *     u writes 16 B over s (b2), still needed by o      contents of s and u as both were when each was made:
 *         +0x0   expected 3f3b26a8 (0.731059)   found 40000000 (2)
 *         +0x4   expected 3fe17b9e (1.76159)    found 40800000 (4)          4 of 4 words differ
 *
 * Expected is what the victim's node left when it had run, found is what the writer's node left: so both must have been recorded right
 * after their nodes (run --contents, not at the end of splits). A word that a third wrote before the read is not looked at.
 * Offsets count in the victim's bytes. Cost: O(words), at most PSC_BYTES_LOOKED of them; where others wrote into the range, too,
 * O(words log events).
 */
#ifndef PSC_CORE_DEBUG_FINDING_BYTES_H
#define PSC_CORE_DEBUG_FINDING_BYTES_H

#include "core/debug/analysis.h"

#define PSC_BYTES_ROWS 4u
#define PSC_BYTES_LOOKED (UINT64_C(1) << 20) /* words */

struct psc_contents { /* what was recorded in one step of one phase */
    uint32_t phase, step;
    enum psc_capture capture; /* when; UNKNOWN: right after each node */
    /* Bytes recorded of a node; false: none. */
    bool (*size)(const void *ctx, uint32_t phase, uint32_t step, uint64_t id, uint64_t *ret);
    /* false: they cannot be read (any more). */
    bool (*read)(const void *ctx, uint32_t phase, uint32_t step, uint64_t id, uint64_t offset, uint64_t n, void *to);
    const void *ctx;
};

enum psc_bytes_known {
    PSC_BYTES_COMPARED,
    PSC_BYTES_NOT_TWO,     /* there are no two values: nobody wrote, or no node did; or not of a graph */
    PSC_BYTES_NO_VICTIM,   /* of the victim nothing was recorded */
    PSC_BYTES_NO_WRITER,
    PSC_BYTES_LATE,        /* recorded at the end of splits, when what was overwritten is gone */
    PSC_BYTES_UNREADABLE,
    PSC_BYTES_GONE,        /* others wrote over all of it before it was read */
};
struct psc_word_pair { uint64_t offset; uint32_t expected, found; };
struct psc_finding_bytes {
    enum psc_bytes_known known;
    uint32_t victim_value;
    psc_node victim, writer;   /* whose contents: of a staged copy those of the node that was copied */
    uint64_t word_n, looked_n, differ_n; /* in the range; compared; of these not the same */
    struct psc_word_pair rows[PSC_BYTES_ROWS]; /* the first that differ */
    uint32_t row_n;
};
struct psc_finding_bytes psc_finding_bytes(const struct psc_analysis *analysis, const struct psc_finding *finding, const struct psc_contents *contents);

/* "4 of 4 words of #2 s differ ...": a sentence, then a line for each row. Lines end without a newline. */
uint32_t psc_explain_bytes_line_n(const struct psc_finding_bytes *bytes);
void psc_explain_bytes_line(struct psc_text *out, const struct psc_analysis *analysis, const struct psc_finding_bytes *bytes, uint32_t line);
/* What to do where there are no contents; for graphs. */
extern const char psc_bytes_unknown[];

#endif
