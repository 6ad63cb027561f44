#include "ui/draw/kv-page.h"

#include "core/base/mem.h"
#include "core/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARK_MIN  9.0  /* px of a cell and of half a layer from which it has its mark */
#define ALARM_MIN 3.0f

struct making {
    struct psc_kv_overlay *out;
    const struct psc_kv_page *page;
    const struct psc_kv_step *step;
    const struct psc_kv_view *view;
    struct psc_type *type;
    uint32_t done;  /* touches up to the cursor */
    uint32_t layer; /* in which the cursor's op works, or PSC_NONE */
};

static double width_of(const struct making *m, enum psc_font font, const char *text)
{
    return m->type ? psc_type_width(m->type, font, text) : psc_type_guess(text);
}

/* ---- putting ------------------------------------------------------------------------------------------------- */

static struct psc_kv_over *put(struct making *m, enum psc_kv_over_kind kind, struct psc_area area, struct psc_area clip)
{
    struct psc_kv_overlay *o = m->out;
    struct psc_area a = {fmaxf(area.x0, clip.x0), fmaxf(area.y0, clip.y0), fminf(area.x1, clip.x1), fminf(area.y1, clip.y1)};
    if (a.x1 <= a.x0 || a.y1 <= a.y0)
        return NULL;
    if (!psc_grow(&o->items, o->n + 1, &o->cap, sizeof *o->items)) {
        o->failed = true;
        return NULL;
    }
    struct psc_kv_over *over = &o->items[o->n++];
    memset(over, 0, sizeof *over);
    over->kind = kind;
    over->area = area;
    over->clip = a;
    return over;
}

/* The layers without the gutter. */
static struct psc_area data_clip(const struct making *m)
{
    const struct psc_kv_frame *f = &m->page->frame;
    return (struct psc_area){f->data_x, f->layers.y0, f->data_x + f->data_w, f->layers.y1};
}

/* Rows of a layer (half as in psc_kv_layer_y), snapped, at least 1 px wide. */
static struct psc_area area_of(const struct making *m, uint32_t layer, int half, double lo, double hi)
{
    const struct psc_kv_frame *f = &m->page->frame;
    struct psc_area a;
    psc_kv_layer_y(m->page, layer, half, &a.y0, &a.y1);
    double x0 = fmax(psc_kv_row_x(m->page, lo), f->data_x - 4.0), x1 = fmin(psc_kv_row_x(m->page, hi), f->data_x + f->data_w + 4.0);
    a.x0 = (float)floor(x0 + 0.5);
    a.x1 = (float)fmax(floor(x1 + 0.5), (double)a.x0 + 1);
    if (f->pitch < 2)
        a.y1 = fmaxf(a.y1, a.y0 + 1);
    return a;
}

/* Words in a box below a place, above it when there is no room, inside the layers. */
static void put_chip(struct making *m, const char *text, enum psc_colour colour, double x, const struct psc_area *at)
{
    const struct psc_kv_frame *f = &m->page->frame;
    double w = width_of(m, PSC_FONT_AXIS_BOLD, text) + 16, right = f->data_x + f->data_w - 6.0;
    x = fmin(fmax(x - w / 2, f->data_x + 6.0), right - w);
    double y = at->y1 + 4.0;
    if (y + 20 > f->layers.y1)
        y = at->y0 - 24.0;
    if (m->view->no_text || x < f->data_x || at->y1 < f->layers.y0 || at->y0 > f->layers.y1)
        return;
    struct psc_area area = {(float)floor(x), (float)floor(y), (float)floor(x + w), (float)floor(y) + 20};
    struct psc_kv_over *over = put(m, PSC_KV_OVER_CHIP, area, data_clip(m));
    if (!over)
        return;
    over->colour = (uint8_t)colour;
    snprintf(over->text, sizeof over->text, "%s", text);
}

/* ---- what this step writes --------------------------------------------------------------------------------------- */

/* Where the write of touch i stands when the cursor is where it is. */
static enum psc_kv_over_kind stand_of(const struct making *m, uint32_t i)
{
    if (i >= m->done)
        return PSC_KV_OVER_LATER;
    return psc_kv_is_pending(&m->step->touches[i], m->view->position) ? PSC_KV_OVER_QUEUED : PSC_KV_OVER_NOW;
}

static void put_own(struct making *m, const struct psc_kv_touch *t, uint32_t last_layer, enum psc_kv_over_kind kind)
{
    bool now = kind == PSC_KV_OVER_NOW;
    const struct psc_kv_frame *f = &m->page->frame;
    struct psc_area a = area_of(m, t->layer, 0, t->lo, t->hi);
    if (last_layer != t->layer)
        a.y1 = area_of(m, last_layer, 0, t->lo, t->hi).y1;
    struct psc_kv_over *over = put(m, kind, a, data_clip(m));
    if (!over)
        return;
    over->halves = m->view->halves == PSC_KV_BOTH && f->pitch >= (kind == PSC_KV_OVER_LATER ? 15 : 9) && last_layer == t->layer ? 2 : 1;
    over->mark = now && a.x1 - a.x0 >= MARK_MIN && (a.y1 - a.y0) / over->halves >= 6;
}

/* One record a write; where layers are low, neighbours that are alike share one. */
static void put_writes(struct making *m)
{
    bool low = m->page->frame.pitch < 9;
    for (uint32_t i = 0; i < m->step->touch_n; i++) {
        const struct psc_kv_touch *t = &m->step->touches[i];
        uint32_t last = t->layer;
        if (!t->is_write || t->hi <= m->view->lo || t->lo >= m->view->hi)
            continue;
        for (uint32_t k = i + 1; low && k < m->step->touch_n; k++) {
            const struct psc_kv_touch *u = &m->step->touches[k];
            if (!u->is_write)
                continue;
            if (u->layer != last + 1 || u->lo != t->lo || u->hi != t->hi || stand_of(m, k) != stand_of(m, i))
                break;
            last = u->layer;
            i = k;
        }
        put_own(m, t, last, stand_of(m, i));
    }
}

static const char *rows_text(uint32_t lo, uint32_t hi, char *buf, size_t size)
{
    char a[32], b[32];
    psc_thousands(lo, a, sizeof a);
    if (hi - lo <= 1)
        snprintf(buf, size, "row %s", a);
    else
        snprintf(buf, size, "rows %s\xe2\x80\x93%s", a, psc_thousands(hi - 1, b, sizeof b));
    return buf;
}

/* "layers 10-23: row 476 comes later in this step", on the layers that have not written yet. */
static void put_later_chip(struct making *m)
{
    uint32_t first = PSC_NONE, last = 0, lo = UINT32_MAX, hi = 0;
    char rows[80], text[160];
    for (uint32_t i = m->done; i < m->step->touch_n; i++) {
        const struct psc_kv_touch *t = &m->step->touches[i];
        if (!t->is_write)
            continue;
        first = t->layer < first ? t->layer : first;
        last = t->layer > last ? t->layer : last;
        lo = t->lo < lo ? t->lo : lo;
        hi = t->hi > hi ? t->hi : hi;
    }
    if (first == PSC_NONE || (first == 0 && m->done == 0) || last - first < 4 || m->page->frame.pitch < 9)
        return;
    rows_text(lo, hi, rows, sizeof rows);
    snprintf(text, sizeof text, "layers %u\xe2\x80\x93%u: %s come%s later in this step", first, last, rows, hi - lo == 1 ? "s" : "");
    uint32_t middle = first + (last - first) / 2;
    struct psc_area a = area_of(m, middle, 0, lo, hi);
    put_chip(m, text, PSC_COL_DIM, a.x0 - width_of(m, PSC_FONT_AXIS_BOLD, text) / 2 - 24.0, &a);
}

/* ---- what the cursor's op reads ------------------------------------------------------------------------------------- */

static const char *op_text(const struct psc_kv_step *step, psc_node node, char *buf, size_t size)
{
    char label[64];
    if (!step->graph || node >= step->graph->n)
        snprintf(buf, size, "#%u", node);
    else
        snprintf(buf, size, "#%llu %s", (unsigned long long)step->graph->nodes[node].id,
                 psc_node_label(step->graph, node, label, sizeof label));
    return buf;
}

static void put_window_chip(struct making *m, const struct psc_kv_touch *t, uint32_t runs, uint64_t all)
{
    char op[96], rows[80], text[220], bytes[24] = "";
    struct psc_area a = area_of(m, t->layer, 0, t->lo, t->hi);
    op_text(m->step, t->node, op, sizeof op);
    rows_text(t->lo, t->hi, rows, sizeof rows);
    if (runs > 1)
        snprintf(rows, sizeof rows, "%llu rows in %u runs", (unsigned long long)all, runs);
    if (m->step->regions.row_bytes)
        psc_bytes_text(all * m->step->regions.row_bytes * 2, bytes, sizeof bytes);
    snprintf(text, sizeof text, "\xe2\x96\xb2 read by %s: %s of K and V%s%s", op, rows, *bytes ? ", " : "", bytes);
    double x0 = fmax(a.x0, m->page->frame.data_x), x1 = fmin(a.x1, m->page->frame.data_x + m->page->frame.data_w);
    put_chip(m, text, PSC_COL_READ, (x0 + x1) / 2, &a);
}

static void put_windows(struct making *m)
{
    const struct psc_kv_frame *f = &m->page->frame;
    uint32_t n, first = psc_kv_step_at(m->step, m->view->position, &n), runs = 0;
    const struct psc_kv_touch *shown = NULL;
    uint64_t rows = 0;
    for (uint32_t i = first; first != PSC_NONE && i < first + n; i++) {
        const struct psc_kv_touch *t = &m->step->touches[i];
        if (t->is_write)
            continue;
        struct psc_area a = area_of(m, t->layer, 0, t->lo, t->hi);
        a.y0 -= 2, a.y1 += 2, a.x0 -= 1, a.x1 += 1;
        struct psc_kv_over *over = put(m, PSC_KV_OVER_WINDOW, a, data_clip(m));
        if (over && t->lo < m->view->lo)
            snprintf(over->text, sizeof over->text, "\xe2\x97\x80 from row %u", t->lo);
        over = t->hi > m->view->hi + 0.5 && over ? over : NULL;
        if (over && over->text[0] == 0)
            over->mark = 1; /* goes on to the right */
        shown = shown ? shown : t;
        runs++;
        rows += t->hi - t->lo;
    }
    if (shown && f->pitch >= 4)
        put_window_chip(m, shown, runs, rows);
}

/* ---- alarms ------------------------------------------------------------------------------------------------------------ */

/* Never thinned: each at least 3 x 3 px and with a tick in the overview; what one op reads is told once. */
static void put_alarms(struct making *m)
{
    const struct psc_kv_frame *f = &m->page->frame;
    char text[200], op[96], rows[80];
    const struct psc_kv_alarm *told = NULL;
    for (uint32_t i = 0; i < m->step->alarm_n; i++) {
        const struct psc_kv_alarm *a = &m->step->alarms[i];
        struct psc_area area = area_of(m, a->layer, 0, a->lo, a->hi);
        area.x1 = fmaxf(area.x1, area.x0 + ALARM_MIN);
        area.y1 = fmaxf(area.y1, area.y0 + ALARM_MIN);
        bool in_sight = put(m, PSC_KV_OVER_ALARM, area, data_clip(m)) != NULL;
        if (in_sight && (!told || m->step->touches[a->touch].position <= m->view->position))
            told = a;
        if (f->overview.y1 <= f->overview.y0)
            continue;
        float x = (float)((psc_kv_overview_x(m->page, a->lo) + psc_kv_overview_x(m->page, a->hi)) / 2);
        struct psc_kv_over *last = m->out->n > 1 ? &m->out->items[m->out->n - 2] : NULL;
        if (last && last->kind == PSC_KV_OVER_TICK && fabsf((last->area.x0 + last->area.x1) / 2 - x) < 1)
            continue; /* the same place in the layer before: its tick stands there already */
        struct psc_area tick = {x - 6, f->strip_y0 - 10, x + 6, f->strip_y0 + 2};
        put(m, PSC_KV_OVER_TICK, tick, (struct psc_area){f->data_x - 7, 0, f->data_x + f->data_w, f->overview.y1});
    }
    if (!told)
        return;
    const struct psc_kv_touch *t = &m->step->touches[told->touch];
    snprintf(text, sizeof text, "\xe2\x9a\xa0 %s reads %s of layer %u: nobody wrote %s", op_text(m->step, t->node, op, sizeof op),
             rows_text(told->lo, told->hi, rows, sizeof rows), told->layer, told->hi - told->lo == 1 ? "it" : "them");
    struct psc_area area = area_of(m, told->layer, 0, told->lo, told->hi);
    area.y1 += 24; /* below the chip of the window */
    put_chip(m, text, PSC_COL_CLOBBER_TEXT, (area.x0 + area.x1) / 2, &area);
}

/* ---- ruler, overview, sequence -------------------------------------------------------------------------------------------- */

static void put_head(struct making *m, const struct psc_kv_so_far *s)
{
    const struct psc_kv_frame *f = &m->page->frame;
    char text[64];
    if (s->hi <= s->lo || s->hi <= m->view->lo || s->lo >= m->view->hi)
        return;
    if (s->hi - s->lo == 1)
        psc_thousands(s->lo, text, sizeof text);
    else
        snprintf(text, sizeof text, "%u\xe2\x80\x93%u", s->lo, s->hi - 1);
    double x0 = fmax(psc_kv_row_x(m->page, s->lo), f->data_x), x1 = fmin(psc_kv_row_x(m->page, s->hi), f->data_x + f->data_w);
    struct psc_area clip = {f->data_x, f->ruler.y0, f->data_x + f->data_w, f->ruler.y1 - 1};
    struct psc_area band = {(float)x0, f->written_y - 7, (float)fmax(x1, x0 + 2), f->written_y + 7};
    struct psc_kv_over *over = put(m, PSC_KV_OVER_HEAD, band, clip);
    if (over && x1 - x0 > width_of(m, PSC_FONT_AXIS_BOLD, "this step") + 12)
        snprintf(over->text, sizeof over->text, "this step");
    double half = fmax(width_of(m, PSC_FONT_AXIS_BOLD, text) / 2 + 5, 10), middle = (x0 + x1) / 2;
    middle = fmin(fmax(middle, f->data_x + half), f->data_x + f->data_w - half);
    struct psc_area box = {(float)(middle - half), f->rows_y - 8, (float)(middle + half), f->rows_y + 7};
    over = put(m, PSC_KV_OVER_HEAD, box, clip);
    if (over)
        snprintf(over->text, sizeof over->text, "%s", text);
    if (!m->step->history || m->step->ordinal >= m->step->history->step_n || m->step->is_prefill)
        return;
    snprintf(text, sizeof text, "s%u", m->step->history->figures[m->step->ordinal].step + 1);
    box = (struct psc_area){(float)(middle - 24), f->steps_y - 7, (float)(middle + 24), f->steps_y + 7};
    over = put(m, PSC_KV_OVER_TEXT, box, clip);
    if (over) {
        over->colour = PSC_COL_INK;
        over->mark = 1; /* in the middle */
        snprintf(over->text, sizeof over->text, "%s", text);
    }
}

/* "477 of 4,096 rows written (11.6 %)" beside what is written, where there is room. */
static void put_occupancy(struct making *m, const struct psc_kv_so_far *s)
{
    const struct psc_kv_frame *f = &m->page->frame;
    char a[32], b[32], text[200];
    uint32_t rows = m->step->regions.rows, end = s->hi;
    if (f->overview.y1 <= f->overview.y0)
        return;
    const struct psc_kv_state *state = &m->step->before;
    if (state->layers && state->layer_at[state->layers + 1] > state->layer_at[state->layers] &&
        state->spans[state->layer_at[state->layers + 1] - 1].hi > end)
        end = state->spans[state->layer_at[state->layers + 1] - 1].hi;
    bool whole = m->step->history != NULL || m->step->source != PSC_KV_NOT_KNOWN;
    snprintf(text, sizeof text, "%s of %s rows written (%.1f %%)%s", psc_thousands(s->rows, a, sizeof a),
             psc_thousands(rows, b, sizeof b), rows ? 100.0 * s->rows / rows : 0, m->step->history ? "" : " in this step");
    if (m->step->unwritten)
        snprintf(text + strlen(text), sizeof text - strlen(text), "   \xe2\x9a\xa0 %s row%s read that nobody wrote",
                 psc_thousands(m->step->unwritten, a, sizeof a), m->step->unwritten == 1 ? " is" : "s are");
    if (!whole)
        snprintf(text, sizeof text, "which rows are written is not recorded");
    double w = width_of(m, PSC_FONT_AXIS_BOLD, text) + 14, right = f->data_x + f->data_w - 12;
    double x = fmax(psc_kv_overview_x(m->page, end) + 6, psc_kv_overview_x(m->page, m->view->hi) + 8);
    if (x + w > right) /* no room right of the visible range: left of it, else in it */
        x = psc_kv_overview_x(m->page, m->view->lo) - w - 8;
    if (x < psc_kv_overview_x(m->page, end) + 6)
        x = fmin(psc_kv_overview_x(m->page, end) + 6, fmax(right - w, f->data_x + 8.0));
    struct psc_area area = {(float)floor(x), f->strip_y0 + 1, (float)floor(x + w), f->strip_y1 - 1};
    struct psc_kv_over *over = put(m, PSC_KV_OVER_TEXT, area, f->overview);
    if (!over)
        return;
    over->colour = m->step->unwritten ? PSC_COL_CLOBBER_TEXT : whole ? PSC_COL_INK : PSC_COL_DIM;
    snprintf(over->text, sizeof over->text, "%s", text);
}

/* ---- sequences -------------------------------------------------------------------------------------------------------- */

/* A stretch of the strip; NULL when it is out of sight. */
static struct psc_kv_over *put_stretch(struct making *m, enum psc_kv_over_kind kind, double lo, double hi)
{
    const struct psc_kv_frame *f = &m->page->frame;
    struct psc_area clip = {f->data_x, f->sequence.y0 + 1, f->data_x + f->data_w, f->sequence.y1};
    struct psc_area area = {0, f->sequence.y0 + 6, 0, f->sequence.y1 - 5};
    area.x0 = (float)fmax(floor(psc_kv_row_x(m->page, lo) + 0.5), f->data_x - 2.0);
    area.x1 = (float)fmin(fmax(floor(psc_kv_row_x(m->page, hi) + 0.5), area.x0 + 1.0), f->data_x + f->data_w + 2.0);
    return put(m, kind, area, clip);
}

/* The first of the texts that fits into what is seen of a stretch. */
static bool say_in(struct making *m, struct psc_kv_over *over, const char *const *texts, int n)
{
    for (int i = 0; over && i < n; i++) {
        double room = (double)(fminf(over->area.x1, over->clip.x1) - fmaxf(over->area.x0, over->clip.x0));
        if (room <= width_of(m, PSC_FONT_AXIS, texts[i]) + 16)
            continue;
        snprintf(over->text, sizeof over->text, "%.150s", texts[i]);
        return true;
    }
    return false;
}

/* Words at a place of the strip, where there is room for them. */
static void put_words(struct making *m, double x, const char *text)
{
    const struct psc_kv_frame *f = &m->page->frame;
    double w = width_of(m, PSC_FONT_AXIS, text) + 12;
    struct psc_area clip = {f->data_x, f->sequence.y0 + 1, f->data_x + f->data_w, f->sequence.y1};
    struct psc_area area = {(float)x, f->sequence.y0 + 6, (float)(x + w), f->sequence.y1 - 5};
    if (x + w > f->data_x + f->data_w)
        return;
    struct psc_kv_over *over = put(m, PSC_KV_OVER_TEXT, area, clip);
    if (!over)
        return;
    over->colour = PSC_COL_DIM;
    over->halves = 1; /* not bold */
    snprintf(over->text, sizeof over->text, "%.150s", text);
}

/* A document that names its sequences: a stretch each for the rows in use, for what is reserved beside them, and a line
 * under the rows of another that a sequence reads as its prefix. */
static void put_sequences(struct making *m)
{
    uint64_t free_cells = m->step->regions.rows;
    char number[32], text[240];
    double end = 0;
    for (uint32_t i = 0; i < m->step->sequence_n; i++) {
        const struct psc_kv_sequence *s = &m->step->sequences[i];
        char rows[80], shared[96] = "", whole[240], middle[160], name[48];
        double used = (double)s->start + s->rows, hi = (double)s->start + s->cap;
        free_cells -= s->cap < free_cells ? s->cap : free_cells;
        end = hi > end ? hi : end;
        rows_text(s->start, s->start + s->rows, rows, sizeof rows);
        if (s->shared_rows)
            snprintf(shared, sizeof shared, ", %u more shared from row %u on", s->shared_rows, s->shared_cell);
        snprintf(name, sizeof name, "sequence %llu", (unsigned long long)s->seq);
        snprintf(middle, sizeof middle, "%s: %s", name, s->rows ? rows : "no row yet");
        snprintf(whole, sizeof whole, "%s%s, %s cells reserved%s", middle, shared, psc_thousands(s->cap, number, sizeof number),
                 !s->start && !s->shared_rows ? ", cell = position" : "");
        const char *texts[] = {whole, middle, name, name + 9};
        struct psc_kv_over *over = s->rows ? put_stretch(m, PSC_KV_OVER_SEQUENCE, s->start, used) : NULL;
        bool said = say_in(m, over, texts, 4);
        if (s->cap > s->rows) {
            over = put_stretch(m, PSC_KV_OVER_RESERVED, used, hi);
            snprintf(text, sizeof text, "reserved, %s cell%s free", psc_thousands(s->cap - s->rows, number, sizeof number),
                     s->cap - s->rows == 1 ? "" : "s");
            const char *rest[] = {text, "reserved"};
            if (said)
                say_in(m, over, rest, 2);
            else
                say_in(m, over, texts, 4);
        }
    }
    for (uint32_t i = 0; i < m->step->sequence_n; i++) {
        const struct psc_kv_sequence *s = &m->step->sequences[i];
        if (s->shared_rows)
            put_stretch(m, PSC_KV_OVER_SHARED, s->shared_cell, (double)s->shared_cell + s->shared_rows);
    }
    if (!free_cells)
        return;
    snprintf(text, sizeof text, "%s cell%s of no sequence", psc_thousands(free_cells, number, sizeof number), free_cells == 1 ? "" : "s");
    put_words(m, fmax(psc_kv_row_x(m->page, end) + 6.0, (double)m->page->frame.data_x), text);
}

/* A document that names none: the rows that were written, as those of one sequence. */
static void put_one_sequence(struct making *m, const struct psc_kv_so_far *s)
{
    const struct psc_kv_state *state = &m->step->before;
    uint32_t lo = s->hi > s->lo ? s->lo : 0, hi = m->done ? s->hi : 0;
    char rows[80], text[160], free_text[240], number[32];
    if (state->layers && state->layer_at[state->layers + 1] > state->layer_at[state->layers]) {
        const struct psc_kv_span *first = &state->spans[state->layer_at[state->layers]];
        const struct psc_kv_span *last = &state->spans[state->layer_at[state->layers + 1] - 1];
        lo = first->lo < lo || !hi ? first->lo : lo;
        hi = last->hi > hi ? last->hi : hi;
    }
    if (!s->rows) {
        put_words(m, (double)m->page->frame.data_x, "no row is written yet");
        return;
    }
    struct psc_kv_over *over = put_stretch(m, PSC_KV_OVER_SEQUENCE, lo, hi);
    rows_text(lo, hi, rows, sizeof rows);
    if (s->rows == hi - lo)
        snprintf(text, sizeof text, "one sequence: %s, cell = position", rows);
    else
        snprintf(text, sizeof text, "one sequence: %u rows written among %s", s->rows, rows);
    const char *texts[] = {text};
    bool inside = say_in(m, over, texts, 1);
    uint32_t rest = m->step->regions.rows - s->rows;
    snprintf(free_text, sizeof free_text, "%s%s%s row%s free", inside ? "" : text, inside ? "" : "; ",
             psc_thousands(rest, number, sizeof number), rest == 1 ? "" : "s");
    put_words(m, fmax(psc_kv_row_x(m->page, hi) + 6.0, (double)m->page->frame.data_x), free_text);
}

static void put_sequence(struct making *m, const struct psc_kv_so_far *s)
{
    if (m->page->frame.sequence.y1 <= m->page->frame.sequence.y0)
        return;
    if (m->step->sequence_n)
        put_sequences(m);
    else
        put_one_sequence(m, s);
}

static void put_frames(struct making *m)
{
    const struct psc_kv_view *v = m->view;
    int half = v->halves == PSC_KV_BOTH ? 1 + v->is_v : 0;
    if (v->hover_layer < m->step->regions.layers && v->hover_row != PSC_NONE)
        put(m, PSC_KV_OVER_HOVER, area_of(m, v->hover_layer, 0, v->hover_row, v->hover_row + 1.0), data_clip(m));
    if (v->layer >= m->step->regions.layers || v->row == PSC_NONE)
        return;
    struct psc_area a = area_of(m, v->layer, half, v->row, v->row + 1.0);
    a.x0 -= 2, a.x1 += 2, a.y0 -= 2, a.y1 += 2;
    put(m, PSC_KV_OVER_SELECTION, a, data_clip(m));
}

enum psc_status psc_kv_overlay_build(struct psc_kv_overlay *overlay, const struct psc_kv_page *page,
                                     const struct psc_kv_view *view, struct psc_type *type, struct psc_error *reterr)
{
    struct making m = {overlay, page, page->step, view, view->no_text ? NULL : type, 0, PSC_NONE};
    const struct psc_kv_frame *f = &page->frame;
    struct psc_kv_so_far s;
    overlay->n = 0;
    overlay->failed = false;
    m.done = psc_kv_step_done(m.step, view->position);
    if (m.done && m.step->touches[m.done - 1].position == view->position)
        m.layer = m.step->touches[m.done - 1].layer;
    psc_kv_step_so_far(m.step, view->position, &s);
    if (m.layer != PSC_NONE && f->pitch >= 4) {
        struct psc_area a = area_of(&m, m.layer, 0, 0, 0), clip = {14, f->layers.y0, f->data_x, f->layers.y1};
        a.x0 = 14, a.x1 = f->data_x;
        put(&m, PSC_KV_OVER_LAYER, a, clip);
    }
    put_writes(&m);
    put_head(&m, &s);
    put_occupancy(&m, &s);
    if (f->overview.y1 > f->overview.y0) {
        struct psc_area a = {(float)psc_kv_overview_x(page, view->lo), f->overview.y0, (float)psc_kv_overview_x(page, view->hi),
                             f->overview.y1 - 12};
        a.x1 = fmaxf(a.x1, a.x0 + 4);
        struct psc_area clip = {a.x0 - 4, a.y0, a.x1 + 6, a.y1};
        struct psc_kv_over *over = put(&m, PSC_KV_OVER_HANDLE, a, clip);
        if (over)
            over->clip = clip;
    }
    put_sequence(&m, &s);
    put_later_chip(&m);
    put_windows(&m);
    put_alarms(&m);
    put_frames(&m);
    return overlay->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

void psc_kv_overlay_release(struct psc_kv_overlay *overlay)
{
    psc_free(overlay->items);
    *overlay = (struct psc_kv_overlay){0};
}
