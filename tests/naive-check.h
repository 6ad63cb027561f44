/* tests/naive-check.h: a second checker, slow and simple: every byte of every buffer on its own.
 *
 * It shares no code with core/debug and is there to disagree with it. Quadratic in the events of a level, and
 * linear in bytes for each event: for small stories only. What it takes for right is written out in
 * core/debug/check.h.
 */
#ifndef PSC_TESTS_NAIVE_CHECK_H
#define PSC_TESTS_NAIVE_CHECK_H

#include "core/event/event.h"

#include <glib.h>

/* The wrong (victim, writer, reader) triples with the hull of their bytes, one a line, sorted:
 * "12 b3[0,16) by 15 read by 17". Writer and reader may be "nobody"; readers may be "export", "rerun". Numbers
 * are value indices for victim and writer, nodes for readers. Free with g_free. */
char *naive_check(const struct psc_graph *graph, const struct psc_story *story);

/* Whether the op may lie on exactly the bytes of that operand; and whether a concat leaves every byte of an operand that
 * begins at `from` where it is, when its own bytes begin at `to`: each row goes to a place of its own. */
gboolean naive_overwrites(enum psc_op op, unsigned operand);
gboolean naive_stays(const struct psc_graph *g, psc_node concat, unsigned operand, uint64_t from, uint64_t to);

/* Collects the same lines from any source; the lines come out sorted and merged. */
struct naive_lines;
struct naive_lines *naive_lines_new(void);
void naive_lines_add(struct naive_lines *lines, uint32_t victim, uint32_t buffer, uint64_t lo, uint64_t hi,
                     uint32_t writer, const char *reader_kind, psc_node reader);
char *naive_lines_end(struct naive_lines *lines); /* frees lines */

#endif
