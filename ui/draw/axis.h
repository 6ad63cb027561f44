/* ui/draw/axis.h: from positions of the execution order to pixels, and back.
 *
 * Each position is a column `op` pixels wide. The fill (position -1) and the host's reads at the end
 * (position n) are columns too, never narrower than 22 and 14 px. A gap, 44 px at any zoom, stands before
 * the first column of every split but the first: copies run in it. Gaps shrink only where they would take
 * more than 35 % of the width.
 *
 *     | fill | 0 | 1 | 2 |  gap  | 3 | 4 | out |
 *     lo=-1                                    hi = n + 1
 *
 * Cost: O(log splits) a lookup. An axis borrows its array of gaps.
 */
#ifndef PSC_UI_DRAW_AXIS_H
#define PSC_UI_DRAW_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#define PSC_AXIS_GAP  44.0 /* px */
#define PSC_AXIS_FILL 22.0
#define PSC_AXIS_OUT  14.0

struct psc_axis {
    double lo, hi;       /* visible positions; lo < hi */
    double x, width;     /* px of the data area */
    double op;           /* px of one position */
    double gap;          /* px of one gap */
    double fill, out;    /* px added to columns -1 and n */
    int32_t n;           /* number of positions */
    const int32_t *gaps; /* ascending positions that a gap stands before; borrowed */
    uint32_t gap_n, gap_at, gap_end; /* those in view: gaps[gap_at .. gap_end) */
};

/* lo and hi are clamped to -1 .. n + 1 and kept at least half a position apart. */
void psc_axis_init(struct psc_axis *axis, double lo, double hi, int32_t n, double x, double width,
                   const int32_t *gaps, uint32_t gap_n);
double psc_axis_at(const struct psc_axis *axis, double position); /* px; at a gap: its right side */
double psc_axis_left(const struct psc_axis *axis, int32_t position);  /* left edge of the column */
double psc_axis_right(const struct psc_axis *axis, int32_t position); /* right edge, before any gap */
static inline double psc_axis_middle(const struct psc_axis *axis, int32_t position)
{
    return (psc_axis_left(axis, position) + psc_axis_right(axis, position)) / 2;
}
/* The inverse. Inside a gap: the position the gap stands before, and *ret_gap (may be NULL) is true. */
double psc_axis_position(const struct psc_axis *axis, double px, bool *ret_gap);
/* The column under a pixel, -1 .. n. */
int32_t psc_axis_column(const struct psc_axis *axis, double px);

#endif
