#include "ui/draw/axis.h"

#include <math.h>
#include <stddef.h>

/* Number of gaps that stand before a column <= position. */
static uint32_t gaps_until(const struct psc_axis *axis, double position)
{
    uint32_t lo = 0, hi = axis->gap_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (axis->gaps[mid] <= position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void psc_axis_init(struct psc_axis *axis, double lo, double hi, int32_t n, double x, double width,
                   const int32_t *gaps, uint32_t gap_n)
{
    lo = fmin(fmax(lo, -1), n + 0.5);
    hi = fmin(fmax(hi, lo + 0.5), n + 1);
    *axis = (struct psc_axis){.lo = lo, .hi = hi, .x = x, .width = width, .n = n, .gaps = gaps, .gap_n = gap_n};
    axis->gap_at = gaps_until(axis, lo);
    axis->gap_end = gaps_until(axis, nextafter(hi, lo));
    uint32_t shown = axis->gap_end > axis->gap_at ? axis->gap_end - axis->gap_at : 0;
    axis->gap = shown ? fmin(PSC_AXIS_GAP, width * 0.35 / shown) : PSC_AXIS_GAP;
    double room = width - shown * axis->gap, span = hi - lo;
    double fill_part = lo < 0 ? -lo : 0, out_part = hi > n ? hi - n : 0;
    axis->op = room / span;
    if (axis->op < PSC_AXIS_FILL && fill_part > 0) {
        double rest = span - fill_part;
        if (rest > 0)
            axis->op = (room - PSC_AXIS_FILL * fill_part) / rest;
        if (axis->op < PSC_AXIS_OUT && out_part > 0 && rest > out_part)
            axis->op = (room - PSC_AXIS_FILL * fill_part - PSC_AXIS_OUT * out_part) / (rest - out_part);
    } else if (axis->op < PSC_AXIS_OUT && out_part > 0 && span > out_part) {
        axis->op = (room - PSC_AXIS_OUT * out_part) / (span - out_part);
    }
    axis->op = fmax(axis->op, 1e-6);
    axis->fill = fmax(0, PSC_AXIS_FILL - axis->op);
    axis->out = fmax(0, PSC_AXIS_OUT - axis->op);
}

/* Pixels of [from, to) without gaps; from <= to or the other way round. */
static double stretch(const struct psc_axis *axis, double from, double to)
{
    double px = (to - from) * axis->op;
    px += (fmin(to, 0) - fmin(from, 0)) * axis->fill;
    px += (fmax(to, axis->n) - fmax(from, axis->n)) * axis->out;
    return px;
}

double psc_axis_at(const struct psc_axis *axis, double position)
{
    double gaps = (double)gaps_until(axis, position) - axis->gap_at;
    return axis->x + stretch(axis, axis->lo, position) + gaps * axis->gap;
}

double psc_axis_left(const struct psc_axis *axis, int32_t position)
{
    return psc_axis_at(axis, position);
}

double psc_axis_right(const struct psc_axis *axis, int32_t position)
{
    double gaps = (double)gaps_until(axis, position) - axis->gap_at;
    return axis->x + stretch(axis, axis->lo, position + 1.0) + gaps * axis->gap;
}

double psc_axis_position(const struct psc_axis *axis, double px, bool *ret_gap)
{
    if (ret_gap)
        *ret_gap = false;
    /* the last gap whose right side is at or left of px */
    uint32_t lo = axis->gap_at, hi = axis->gap_end;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (psc_axis_left(axis, axis->gaps[mid]) <= px)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < axis->gap_end && px >= psc_axis_left(axis, axis->gaps[lo]) - axis->gap) {
        if (ret_gap)
            *ret_gap = true;
        return axis->gaps[lo];
    }
    double rest = px - axis->x - (lo - axis->gap_at) * axis->gap, at = axis->lo;
    if (at < 0) {
        double wide = axis->op + axis->fill;
        if (rest <= -at * wide)
            return at + rest / wide;
        rest -= -at * wide;
        at = 0;
    }
    double to_n = (axis->n - at) * axis->op;
    if (at >= axis->n || rest > to_n) {
        double from = fmax(at, axis->n);
        return from + (rest - fmax(0, to_n)) / (axis->op + axis->out);
    }
    return at + rest / axis->op;
}

int32_t psc_axis_column(const struct psc_axis *axis, double px)
{
    double at = floor(psc_axis_position(axis, px, NULL));
    return (int32_t)fmin(fmax(at, -1), axis->n);
}
