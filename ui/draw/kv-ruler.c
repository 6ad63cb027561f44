/* The ruler, the overview and the sequence strip of the KV page: what they show whatever the cursor does. */
#include "ui/draw/kv-parts.h"

#include "core/base/text.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>

double psc_kv_tick(double cell, double room)
{
    double step = 1;
    for (int i = 0; step * cell < room && i < 40; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

/* ---- ruler ------------------------------------------------------------------------------------------------------ */

/* The longest of the texts that fits between two edges; their middle is kept in sight. */
static void put_fitting(struct psc_layout *l, enum psc_colour ink, const char *const *texts, double x0, double x1, float y)
{
    for (; *texts; texts++)
        if (psc_text_width(l, PSC_FONT_AXIS_BOLD, *texts) + 10 <= x1 - x0) {
            psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_LEFT, ink, *texts, x0 + 5, y);
            return;
        }
}

static void put_written_band(struct psc_kv_page *page, double lo, double hi, bool prefill, uint32_t from, uint32_t to)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    const struct psc_kv_figure *figures = page->step->history->figures;
    double x0 = fmax(floor(psc_kv_row_x(page, lo) + 0.5), f->data_x);
    double x1 = fmin(floor(psc_kv_row_x(page, hi) + 0.5), (double)f->data_x + (double)f->data_w);
    char a[96], b[64];
    if (x1 <= x0)
        return;
    psc_put_fill(l, (float)x0, f->written_y - 7, (float)x1 - (x1 - x0 > 6 ? 1 : 0), f->written_y + 7, PSC_COL_LANE_KV);
    if (!prefill && l->fill_n && !l->failed)
        l->fills[l->fill_n - 1].part = l->view.dark ? 150 : 175;
    if (from == to)
        snprintf(a, sizeof a, "%s %u", prefill ? "prefill, step" : "decode, step", figures[from].step + 1);
    else
        snprintf(a, sizeof a, "%s, steps %u\xe2\x80\x93%u", prefill ? "prefill" : "decode", figures[from].step + 1, figures[to].step + 1);
    snprintf(b, sizeof b, "%s", prefill ? "prefill" : "decode");
    const char *texts[] = {prefill && from == to ? b : a, b, NULL};
    put_fitting(l, psc_lane_ink(l, PSC_COL_LANE_KV), texts, x0, x1, f->written_y);
}

/* Runs of the union of the layers: rows written in a prefill, in decode steps, one after the other. */
static void put_written_line(struct psc_kv_page *page)
{
    const struct psc_kv_state *state = &page->step->before;
    double lo = 0, hi = 0, last_end = 0;
    uint32_t from = 0, to = 0;
    bool prefill = false;
    if (!page->step->history)
        return;
    for (uint32_t i = psc_kv_state_find(state, state->layers, (uint32_t)page->view.lo); i < state->layer_at[state->layers + 1]; i++) {
        const struct psc_kv_span *s = &state->spans[i];
        bool kind = psc_kv_span_when(page->step, s) == PSC_KV_PREFILL;
        if (s->lo >= page->view.hi)
            break;
        last_end = s->hi;
        if (hi > lo && s->lo == hi && kind == prefill) {
            hi = s->hi;
            from = s->from < from ? s->from : from;
            to = s->from > to ? s->from : to;
            continue;
        }
        if (hi > lo)
            put_written_band(page, lo, hi, prefill, from, to);
        lo = s->lo, hi = s->hi, prefill = kind, from = to = s->from;
    }
    if (hi > lo)
        put_written_band(page, lo, hi, prefill, from, to);
    uint32_t own = 0;
    for (uint32_t i = 0; i < page->step->touch_n; i++)
        if (page->step->touches[i].is_write && page->step->touches[i].hi > own)
            own = page->step->touches[i].hi;
    const char *never[] = {"not written in any step so far", "never written", NULL};
    double x = psc_kv_row_x(page, fmax(last_end, own)) + 2;
    if (x < page->frame.data_x)
        x = page->frame.data_x;
    for (const char *const *text = never; *text; text++)
        if (x + psc_text_width(&page->base, PSC_FONT_AXIS, *text) + 12 <= page->frame.data_x + page->frame.data_w) {
            psc_put_label(&page->base, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, *text, x + 5, page->frame.written_y);
            break;
        }
}

/* Where the overlay writes the rows of this step. */
static void head_place(const struct psc_kv_page *page, double *ret_lo, double *ret_hi)
{
    struct psc_kv_so_far s;
    psc_kv_step_so_far(page->step, -1, &s);
    double middle = (psc_kv_row_x(page, s.lo) + psc_kv_row_x(page, s.hi)) / 2, half = s.hi - s.lo > 1 ? 36 : 18;
    *ret_lo = s.hi > s.lo ? middle - half : -1;
    *ret_hi = s.hi > s.lo ? middle + half : -1;
}

static void put_row_numbers(struct psc_kv_page *page)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    const struct psc_kv_state *state = &page->step->before;
    char text[32];
    double tick = psc_kv_tick(f->cell, 52), right = f->data_x + f->data_w, head_lo, head_hi;
    head_place(page, &head_lo, &head_hi);
    for (double row = ceil(page->view.lo / tick) * tick; row < page->view.hi; row += tick) {
        psc_thousands((uint64_t)row, text, sizeof text);
        double x = psc_kv_row_x(page, row) + (f->cell >= 24 ? f->cell / 2 : 0), w = psc_text_width(l, PSC_FONT_SMALL, text);
        enum psc_align align = f->cell >= 24 ? PSC_CENTRE : PSC_LEFT;
        double middle = align == PSC_LEFT ? x + w / 2 : x;
        if (x + (align == PSC_LEFT ? w : w / 2) + 2 > right)
            break;
        if (middle + w / 2 + 4 > head_lo && middle - w / 2 - 4 < head_hi)
            continue;
        psc_put_label(l, PSC_FONT_SMALL, align, PSC_COL_DIM, text, x, f->rows_y);
        const struct psc_kv_span *s = state->layers ? psc_kv_state_at(state, state->layers, (uint32_t)row) : NULL;
        if (!s || psc_kv_span_when(page->step, s) == PSC_KV_PREFILL)
            continue;
        snprintf(text, sizeof text, "s%u", page->step->history->figures[s->from].step + 1);
        psc_put_label(l, PSC_FONT_SMALL, align, PSC_COL_DIM, text, x, f->steps_y);
    }
}

void psc_kv_put_ruler(struct psc_kv_page *page)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    psc_put_fill(l, 0, f->ruler.y0, (float)page->view.width, f->ruler.y1, PSC_COL_CANVAS);
    psc_put_fill(l, 0, f->ruler.y0, f->data_x, f->ruler.y1, PSC_COL_GUTTER);
    psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, "written in", f->data_x - 8, f->written_y);
    psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, "row", f->data_x - 8, f->rows_y);
    psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, "step", f->data_x - 8, f->steps_y);
    put_written_line(page);
    put_row_numbers(page);
    psc_put_fill(l, 0, f->ruler.y1 - 1, (float)page->view.width, f->ruler.y1, PSC_COL_RULE);
}

/* ---- overview and sequence ------------------------------------------------------------------------------------------ */

static void put_overview_runs(struct psc_kv_page *page)
{
    const struct psc_kv_state *state = &page->step->before;
    const struct psc_kv_frame *f = &page->frame;
    double lo = 0, hi = 0, x_done = 0;
    bool prefill = false;
    for (uint32_t i = state->layers ? state->layer_at[state->layers] : 1, end = state->layers ? state->layer_at[state->layers + 1] : 0;
         i <= end; i++) {
        const struct psc_kv_span *s = i < end ? &state->spans[i] : NULL;
        bool kind = s && psc_kv_span_when(page->step, s) == PSC_KV_PREFILL;
        if (s && hi > lo && s->lo == hi && kind == prefill) {
            hi = s->hi;
            continue;
        }
        double x0 = fmax(floor(psc_kv_overview_x(page, lo)), x_done), x1 = fmax(ceil(psc_kv_overview_x(page, hi)), x0 + 1);
        if (hi > lo && x0 < psc_kv_strip_right(f)) {
            psc_kv_put_written(&page->base, (float)x0, f->strip_y0 + 1, (float)x1, f->strip_y1 - 1, prefill, 1);
            x_done = x1 - 1;
        }
        if (s)
            lo = s->lo, hi = s->hi, prefill = kind;
    }
}

/* The run of each sequence as a line at the foot of the strip: where they are, whatever part of the rows is shown below. */
static void put_overview_sequences(struct psc_kv_page *page)
{
    const struct psc_kv_frame *f = &page->frame;
    for (uint32_t i = 0; page->step->sequence_n > 1 && i < page->step->sequence_n; i++) {
        const struct psc_kv_sequence *s = &page->step->sequences[i];
        float x0 = floorf((float)psc_kv_overview_x(page, s->start)) + 1;
        float x1 = fmaxf(floorf((float)psc_kv_overview_x(page, (double)s->start + s->cap)) - 1, x0 + 1);
        float right = (float)psc_kv_strip_right(f);
        if (x0 < right)
            psc_put_fill(&page->base, x0, f->strip_y1 - 4, fminf(x1, right), f->strip_y1 - 1, PSC_COL_KV_EDGE);
    }
}

void psc_kv_put_overview(struct psc_kv_page *page)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    const struct psc_kv_regions *r = &page->step->regions;
    float right = (float)psc_kv_strip_right(f);
    char number[32], text[64];
    if (f->overview.y1 <= f->overview.y0)
        return;
    psc_put_fill(l, 0, 0, (float)page->view.width, f->overview.y1, PSC_COL_CANVAS);
    psc_put_fill(l, 0, 0, f->data_x, f->overview.y1, PSC_COL_GUTTER);
    psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_RIGHT, PSC_COL_INK, "All rows", f->data_x - 8, 13);
    snprintf(text, sizeof text, "%s a region", psc_thousands(r->rows, number, sizeof number));
    psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, text, f->data_x - 8, 28);
    psc_put_pattern(l, f->data_x, f->strip_y0, right, f->strip_y1, PSC_COL_NONE, PSC_DOTS, PSC_COL_LAYER);
    put_overview_runs(page);
    put_overview_sequences(page);
    psc_put_fill(l, f->data_x, f->strip_y0, right, f->strip_y0 + 1, PSC_COL_RULE);
    psc_put_fill(l, f->data_x, f->strip_y1 - 1, right, f->strip_y1, PSC_COL_RULE);
    psc_put_fill(l, right - 1, f->strip_y0, right, f->strip_y1, PSC_COL_RULE);
    double tick = psc_kv_tick((double)(right - f->data_x) / r->rows, 60);
    for (double row = 0; row <= r->rows; row += tick) {
        double x = psc_kv_overview_x(page, row);
        psc_put_fill(l, (float)floor(x), f->strip_y1, (float)floor(x) + 1, f->strip_y1 + 4, PSC_COL_LAYER);
        psc_thousands((uint64_t)row, number, sizeof number);
        double w = psc_text_width(l, PSC_FONT_SMALL, number);
        if (x + w / 2 < f->data_x + f->data_w)
            psc_put_label(l, PSC_FONT_SMALL, PSC_CENTRE, PSC_COL_DIM, number, fmax(x, f->data_x + w / 2), f->strip_y1 + 12);
    }
    psc_put_fill(l, 0, f->overview.y1 - 1, (float)page->view.width, f->overview.y1, PSC_COL_RULE);
}

void psc_kv_put_sequence(struct psc_kv_page *page)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    if (f->sequence.y1 <= f->sequence.y0)
        return;
    psc_put_fill(l, 0, f->sequence.y0, (float)page->view.width, f->sequence.y1, PSC_COL_CANVAS);
    psc_put_fill(l, 0, f->sequence.y0, f->data_x, f->sequence.y1, PSC_COL_GUTTER);
    psc_put_fill(l, 0, f->sequence.y0, (float)page->view.width, f->sequence.y0 + 1, PSC_COL_RULE);
    char text[40] = "sequence";
    if (page->step->sequence_n > 1)
        snprintf(text, sizeof text, "%u sequences", page->step->sequence_n);
    psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_RIGHT, PSC_COL_INK, text, f->data_x - 8, (f->sequence.y0 + f->sequence.y1) / 2 + 1);
}

