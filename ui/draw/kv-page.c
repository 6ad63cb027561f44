#include "ui/draw/kv-page.h"

#include "core/base/mem.h"
#include "core/base/text.h"
#include "ui/draw/kv-parts.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OVERVIEW   52.0f
#define RULER      46.0f
#define SEQUENCE   27.0f
#define STRIP      14.0f
#define HALVES_MIN 9.0  /* px of a layer from which K and V are drawn apart */
#define BAND_MIN   2.0  /* px: lower layers share a band */
#define PITCH_MAX  48.0
#define GRID_MIN   3.0  /* px of a row from which rows are drawn apart */

/* ---- frame ------------------------------------------------------------------------------------------------- */

static void make_frame(struct psc_kv_page *page)
{
    const struct psc_kv_view *v = &page->view;
    struct psc_kv_frame *f = &page->frame;
    float w = (float)v->width, h = (float)v->height_px, y = 0;
    *f = (struct psc_kv_frame){.strip_x = 0, .gutter_x = STRIP, .data_x = (float)psc_kv_data_x(v->width)};
    f->data_w = fmaxf(w - f->data_x, 8);
    if (h >= 220) {
        f->overview = (struct psc_area){0, 0, w, OVERVIEW};
        f->strip_y0 = 10, f->strip_y1 = 26;
        y = OVERVIEW;
    }
    f->ruler = (struct psc_area){0, y, w, y + RULER};
    f->written_y = y + 9, f->rows_y = y + 24, f->steps_y = y + 38;
    float bottom = h - y - RULER >= 90 ? h - SEQUENCE : h;
    f->layers = (struct psc_area){0, y + RULER, w, fmaxf(bottom, y + RULER)};
    if (bottom < h)
        f->sequence = (struct psc_area){0, bottom, w, h};
    uint32_t layers = page->step->regions.layers;
    double room = f->layers.y1 - f->layers.y0;
    f->pitch = fmax(fmin(room / layers, PITCH_MAX), 0.01) * v->y_zoom;
    f->content = (float)(f->pitch * layers);
    f->cell = f->data_w / fmax(v->hi - v->lo, 1e-9);
}

double psc_kv_row_x(const struct psc_kv_page *page, double row)
{
    return page->frame.data_x + (row - page->view.lo) * page->frame.cell;
}

double psc_kv_overview_x(const struct psc_kv_page *page, double row)
{
    const struct psc_kv_frame *f = &page->frame;
    return f->data_x + row / page->step->regions.rows * (psc_kv_strip_right(f) - f->data_x);
}

void psc_kv_layer_y(const struct psc_kv_page *page, uint32_t layer, int half, float *ret_y0, float *ret_y1)
{
    const struct psc_kv_frame *f = &page->frame;
    double top = f->layers.y0 - page->view.y + layer * f->pitch, low = top + f->pitch;
    if (f->pitch >= BAND_MIN) {
        top = floor(top + 0.5);
        low = floor(low + 0.5) - (f->pitch >= HALVES_MIN ? 2 : f->pitch >= 4 ? 1 : 0);
        top += f->pitch >= HALVES_MIN ? 1 : 0;
    }
    double middle = floor((top + low) / 2);
    bool both = page->view.halves == PSC_KV_BOTH && f->pitch >= HALVES_MIN;
    *ret_y0 = (float)(both && half == 2 ? middle + 1 : top);
    *ret_y1 = (float)(both && half == 1 ? middle : low);
}

double psc_kv_max_scroll(const struct psc_kv_page *page)
{
    return fmax(0, (double)page->frame.content - (double)(page->frame.layers.y1 - page->frame.layers.y0));
}

double psc_kv_scroll_to(const struct psc_kv_page *page, uint32_t layer)
{
    const struct psc_kv_frame *f = &page->frame;
    double top = layer * f->pitch, room = f->layers.y1 - f->layers.y0, y = page->view.y;
    if (top < y)
        y = top;
    else if (top + f->pitch > y + room)
        y = top + f->pitch - room;
    return floor(fmin(fmax(y, 0), psc_kv_max_scroll(page)));
}

/* ---- fills of what is written ---------------------------------------------------------------------------------- */

void psc_kv_put_written(struct psc_layout *l, float x0, float y0, float x1, float y1, bool prefill, double part)
{
    if (x1 <= x0 || y1 <= y0)
        return;
    bool brick = prefill && y1 - y0 >= 5 && part > 0.99;
    if (!prefill || part < 1)
        psc_put_fill(l, x0, y0, x1, y1, PSC_COL_CANVAS); /* no dots of unwritten rows shine through */
    psc_put_pattern(l, x0, y0, x1, y1, PSC_COL_KV_FILL, brick ? PSC_BRICK : PSC_SOLID, PSC_COL_KV_BRICK);
    if (l->fill_n && !l->failed)
        l->fills[l->fill_n - 1].part = (uint8_t)(255 * part * (prefill ? 1 : l->view.dark ? 0.62 : 0.66) + 0.5);
}

static void put_run(struct psc_kv_page *page, double lo, double hi, float y0, float y1, bool prefill)
{
    const struct psc_kv_frame *f = &page->frame;
    double x0 = fmax(psc_kv_row_x(page, lo), f->data_x), x1 = fmin(psc_kv_row_x(page, hi), f->data_x + f->data_w);
    psc_kv_put_written(&page->base, (float)floor(x0 + 0.5), y0, (float)floor(x1 + 0.5), y1, prefill, 1);
}

/* Rows wider than a pixel: neighbours of one kind are one fill. */
static void put_runs(struct psc_kv_page *page, uint32_t layer, float y0, float y1)
{
    const struct psc_kv_state *state = &page->step->before;
    const struct psc_kv_view *v = &page->view;
    double lo = 0, hi = 0;
    bool prefill = false;
    for (uint32_t i = psc_kv_state_find(state, layer, (uint32_t)v->lo); i < state->layer_at[layer + 1]; i++) {
        const struct psc_kv_span *s = &state->spans[i];
        bool kind = psc_kv_span_when(page->step, s) == PSC_KV_PREFILL;
        if (s->lo >= v->hi)
            break;
        if (hi > lo && s->lo == hi && kind == prefill) {
            hi = s->hi;
            continue;
        }
        put_run(page, lo, hi, y0, y1, prefill);
        lo = s->lo, hi = s->hi, prefill = kind;
    }
    put_run(page, lo, hi, y0, y1, prefill);
}

/* Adds `weight` times the part of each column that the rows lo .. hi take. */
static void add_part(const struct psc_kv_page *page, float *part, uint32_t columns, double lo, double hi, double weight)
{
    double a = fmax((lo - page->view.lo) * page->frame.cell, 0), b = fmin((hi - page->view.lo) * page->frame.cell, columns);
    for (uint32_t x = (uint32_t)a; x < columns && x < b; x++)
        part[x] += (float)(weight * (fmin(b, x + 1.0) - fmax(a, x)));
}

static bool clear_parts(struct psc_kv_page *page, uint32_t columns)
{
    for (int k = 0; k < 2; k++) {
        if (!psc_grow(&page->part[k], columns, &page->part_cap[k], sizeof(float)))
            return false;
        memset(page->part[k], 0, columns * sizeof(float));
    }
    return true;
}

/* Rows narrower than a pixel, or several layers in one band. */
static void put_columns(struct psc_kv_page *page, uint32_t first, uint32_t end, float y0, float y1)
{
    const struct psc_kv_state *state = &page->step->before;
    uint32_t columns = (uint32_t)page->frame.data_w, from = 0;
    if (!clear_parts(page, columns)) {
        page->base.failed = true;
        return;
    }
    for (uint32_t layer = first; layer < end; layer++)
        for (uint32_t i = psc_kv_state_find(state, layer, (uint32_t)page->view.lo);
             i < state->layer_at[layer + 1] && state->spans[i].lo < page->view.hi; i++) {
            const struct psc_kv_span *s = &state->spans[i];
            int k = psc_kv_span_when(page->step, s) == PSC_KV_PREFILL ? 0 : 1;
            add_part(page, page->part[k], columns, s->lo, s->hi, 1.0 / (end - first));
        }
    int before = -1;
    for (uint32_t x = 0; x <= columns; x++) {
        int now = -1;
        if (x < columns) {
            float a = page->part[0][x], b = page->part[1][x];
            int eighths = a + b <= 0 ? 0 : (int)fmin(fmax(floor((a + b) * 8 + 0.5), 1), 8);
            now = eighths * 2 + (a > b);
        }
        if (now == before)
            continue;
        if (before > 1)
            psc_kv_put_written(&page->base, page->frame.data_x + (float)from, y0, page->frame.data_x + (float)x, y1, before % 2,
                        before / 2 / 8.0);
        from = x;
        before = now;
    }
}

/* Lines between rows, coloured by what the union of the layers holds there; gaps between layers are drawn over them. */
static void put_row_lines(struct psc_kv_page *page)
{
    const struct psc_kv_frame *f = &page->frame;
    const struct psc_kv_state *state = &page->step->before;
    float low = fminf(f->layers.y1, f->layers.y0 + f->content - (float)page->view.y - (f->pitch >= HALVES_MIN ? 2 : 0));
    if (f->cell < GRID_MIN || !state->layers)
        return;
    for (double row = ceil(page->view.lo); row < page->view.hi; row++) {
        const struct psc_kv_span *s = psc_kv_state_at(state, state->layers, (uint32_t)row);
        const struct psc_kv_span *left = row > 0 ? psc_kv_state_at(state, state->layers, (uint32_t)row - 1) : NULL;
        if (!s && !left)
            continue;
        float x = (float)floor(psc_kv_row_x(page, row) + 0.5);
        bool prefill = s && psc_kv_span_when(page->step, s) == PSC_KV_PREFILL;
        if (x > f->data_x)
            psc_put_fill(&page->base, x, f->layers.y0, x + 1, low, prefill ? PSC_COL_KV_BRICK : PSC_COL_CANVAS);
    }
}

static void put_layer_gaps(struct psc_kv_page *page, uint32_t first, uint32_t end)
{
    const struct psc_kv_frame *f = &page->frame;
    float x0 = f->data_x, x1 = f->data_x + f->data_w, y0, y1, k0, k1;
    if (f->pitch < HALVES_MIN)
        return;
    for (uint32_t layer = first; layer < end; layer++) {
        psc_kv_layer_y(page, layer, 0, &y0, &y1);
        psc_put_fill(&page->base, x0, y0 - 1, x1, y0, PSC_COL_CANVAS);
        psc_put_fill(&page->base, x0, y1, x1, y1 + 1, PSC_COL_CANVAS);
        psc_kv_layer_y(page, layer, 1, &k0, &k1);
        if (k1 < y1)
            psc_put_fill(&page->base, x0, k1, x1, k1 + 1, PSC_COL_CANVAS);
    }
}

static void put_layers(struct psc_kv_page *page)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    uint32_t layers = page->step->regions.layers, known = page->step->before.layers < layers ? page->step->before.layers : layers;
    uint32_t first = (uint32_t)fmax(floor(page->view.y / f->pitch), 0);
    uint32_t end = (uint32_t)fmin(ceil((page->view.y + f->layers.y1 - f->layers.y0) / f->pitch), layers);
    float y0, y1, x1 = f->data_x + f->data_w;
    if (f->layers.y1 <= f->layers.y0)
        return;
    float low = fminf(f->layers.y1, f->layers.y0 + f->content - (float)page->view.y);
    psc_put_fill(l, 0, f->layers.y0, x1, f->layers.y1, PSC_COL_CANVAS);
    psc_put_fill(l, 0, f->layers.y0, f->data_x, f->layers.y1, PSC_COL_GUTTER);
    psc_put_pattern(l, f->data_x, f->layers.y0, x1, low, PSC_COL_NONE, PSC_DOTS, PSC_COL_LAYER);
    uint32_t band = f->pitch >= BAND_MIN ? 1 : (uint32_t)ceil(BAND_MIN / f->pitch);
    for (uint32_t layer = first / band * band; layer < end && layer < known; layer += band) {
        uint32_t to = layer + band < known ? layer + band : known;
        float unused;
        psc_kv_layer_y(page, layer, 0, &y0, &unused);
        psc_kv_layer_y(page, to - 1, 0, &unused, &y1);
        if (band == 1 && f->cell >= 1)
            put_runs(page, layer, y0, y1);
        else
            put_columns(page, layer, to, floorf(y0 + 0.5f), fmaxf(floorf(y1 + 0.5f), floorf(y0 + 0.5f) + 1));
    }
    put_row_lines(page);
    put_layer_gaps(page, first, end);
}

/* ---- gutter ----------------------------------------------------------------------------------------------------- */

static const char *writer_text(const struct psc_kv_step *step, uint32_t layer, char *buf, size_t size)
{
    psc_node node = step->writer[layer];
    const struct psc_graph *g = step->graph;
    if (node == PSC_NONE || !g || node >= g->n)
        return "";
    const char *word = psc_op_info(g->nodes[node].op)->is_kv ? "store" : "fused";
    snprintf(buf, size, "#%llu %s", (unsigned long long)g->nodes[node].id, word);
    return buf;
}

static void put_gutter(struct psc_kv_page *page)
{
    struct psc_layout *l = &page->base;
    const struct psc_kv_frame *f = &page->frame;
    uint32_t layers = page->step->regions.layers, every = (uint32_t)psc_kv_tick(f->pitch, 12);
    char text[48];
    psc_put_fill(l, 0, f->layers.y0, STRIP, f->layers.y1, PSC_COL_LANE_KV);
    for (uint32_t layer = 0; layer < layers; layer += every) {
        float y0, y1, k0, k1;
        psc_kv_layer_y(page, layer, 0, &y0, &y1);
        if (y1 < f->layers.y0 || y0 > f->layers.y1)
            continue;
        float y = every > 1 ? y0 + 4 : (y0 + y1) / 2;
        snprintf(text, sizeof text, "%u", layer);
        struct psc_label *label = psc_put_label(l, PSC_FONT_BASE, PSC_RIGHT, PSC_COL_INK, text, f->gutter_x + 22, y);
        if (label)
            label->clip = 1;
        if (every > 1)
            continue;
        for (int half = 1; half <= 2 && f->pitch >= 19 && page->view.halves == PSC_KV_BOTH; half++) {
            psc_kv_layer_y(page, layer, half, &k0, &k1);
            label = psc_put_label(l, PSC_FONT_SMALL, PSC_CENTRE, PSC_COL_DIM, half == 1 ? "K" : "V", f->gutter_x + 34, (k0 + k1) / 2);
            if (label)
                label->clip = 1;
        }
        const char *writer = writer_text(page->step, layer, text, sizeof text);
        if (f->data_x - f->gutter_x - 44 < psc_text_width(l, PSC_FONT_AXIS, writer) + 8)
            continue;
        label = psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, writer, f->data_x - 8, y);
        if (label)
            label->clip = 1;
    }
    struct psc_label *lane = NULL;
    if (f->layers.y1 - f->layers.y0 >= 90)
        lane = psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_CENTRE, PSC_COL_LANE_TEXT,
                             page->view.halves == PSC_KV_ONLY_K   ? "K regions"
                             : page->view.halves == PSC_KV_ONLY_V ? "V regions"
                                                                  : "KV regions",
                             STRIP / 2, (f->layers.y0 + f->layers.y1) / 2);
    if (lane)
        lane->turned = lane->clip = 1;
}

/* ---- the page ------------------------------------------------------------------------------------------------------- */

static void clear(struct psc_layout *l)
{
    l->track_n = l->fill_n = l->line_n = l->cover_n = l->cover_byte_n = l->bar_n = l->hold_n = 0;
    l->copy_line_n = l->mark_n = l->alarm_n = l->tick_n = l->curve_n = l->point_n = l->label_n = l->text_n = 0;
    l->peak_label = PSC_NONE;
    l->failed = false;
}

enum psc_status psc_kv_page_build(struct psc_kv_page *page, const struct psc_kv_step *step, const struct psc_kv_view *view,
                                  struct psc_type *type, struct psc_error *reterr)
{
    struct psc_layout *l = &page->base;
    page->view = *view;
    page->step = step;
    clear(l);
    make_frame(page);
    l->type = type;
    l->view = (struct psc_view){.width = view->width, .height_px = view->height_px, .scale = view->scale, .dark = view->dark,
                                .no_text = view->no_text};
    l->frame = (struct psc_frame){.lanes = page->frame.layers, .data_x = page->frame.data_x, .data_w = page->frame.data_w};
    put_layers(page);
    put_gutter(page);
    l->fill_lanes_end = l->fill_n;
    l->line_lanes_end = l->line_n;
    psc_kv_put_ruler(page);
    psc_kv_put_overview(page);
    psc_kv_put_sequence(page);
    l->mark_lanes_end = l->mark_n;
    return l->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

void psc_kv_page_release(struct psc_kv_page *page)
{
    psc_layout_release(&page->base);
    psc_free(page->part[0]);
    psc_free(page->part[1]);
    *page = (struct psc_kv_page){0};
}

void psc_kv_page_paint(const struct psc_kv_page *page, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    psc_paint(&page->base, palette, cr, type);
}

/* ---- the inverse ------------------------------------------------------------------------------------------------------- */

static bool inside(const struct psc_area *a, double x, double y)
{
    return x >= a->x0 && x < a->x1 && y >= a->y0 && y < a->y1;
}

static struct psc_kv_hit hit_overview(const struct psc_kv_page *page, double x, struct psc_kv_hit hit)
{
    const struct psc_kv_frame *f = &page->frame;
    double a = psc_kv_overview_x(page, page->view.lo), b = psc_kv_overview_x(page, page->view.hi);
    hit.at = fmin(fmax((x - f->data_x) / (psc_kv_strip_right(f) - f->data_x), 0), 1) * page->step->regions.rows;
    hit.area = f->overview;
    hit.what = x < f->data_x          ? PSC_KV_HIT_NOTHING
               : fabs(x - a) < 4      ? PSC_KV_HIT_HANDLE_LEFT
               : fabs(x - b) < 4      ? PSC_KV_HIT_HANDLE_RIGHT
               : x > a && x < b       ? PSC_KV_HIT_WINDOW
                                      : PSC_KV_HIT_OVERVIEW;
    return hit;
}

static struct psc_kv_hit hit_layers(const struct psc_kv_page *page, double x, double y, struct psc_kv_hit hit)
{
    const struct psc_kv_frame *f = &page->frame;
    double at = (y - f->layers.y0 + page->view.y) / f->pitch;
    float y0, y1;
    if (at < 0 || at >= page->step->regions.layers)
        return hit;
    hit.layer = (uint32_t)at;
    hit.what = PSC_KV_HIT_GUTTER;
    psc_kv_layer_y(page, hit.layer, 0, &y0, &y1);
    hit.area = (struct psc_area){0, y0, (float)page->view.width, y1};
    hit.is_v = page->view.halves == PSC_KV_ONLY_V || (page->view.halves == PSC_KV_BOTH && at - hit.layer >= 0.5);
    if (hit.row == PSC_NONE)
        return hit;
    hit.what = PSC_KV_HIT_CELL;
    for (uint32_t i = 0; i < page->step->alarm_n; i++) {
        const struct psc_kv_alarm *a = &page->step->alarms[i];
        double x0 = psc_kv_row_x(page, a->lo), x1 = fmax(psc_kv_row_x(page, a->hi), x0 + 3);
        if (a->layer == hit.layer && x >= x0 && x < x1 && hit.alarm == PSC_NONE)
            hit.alarm = i;
    }
    return hit;
}

struct psc_kv_hit psc_kv_page_hit(const struct psc_kv_page *page, double x, double y)
{
    const struct psc_kv_frame *f = &page->frame;
    struct psc_kv_hit hit = {.row = PSC_NONE, .layer = PSC_NONE, .alarm = PSC_NONE};
    if (inside(&f->overview, x, y))
        return hit_overview(page, x, hit);
    hit.at = page->view.lo + (x - f->data_x) / f->cell;
    if (x >= f->data_x && hit.at >= 0 && hit.at < page->step->regions.rows)
        hit.row = (uint32_t)hit.at;
    if (inside(&f->layers, x, y))
        return hit_layers(page, x, y, hit);
    if (inside(&f->ruler, x, y) && x >= f->data_x)
        hit.what = PSC_KV_HIT_RULER, hit.area = f->ruler;
    else if (inside(&f->sequence, x, y) && x >= f->data_x)
        hit.what = PSC_KV_HIT_SEQUENCE, hit.area = f->sequence;
    return hit;
}
