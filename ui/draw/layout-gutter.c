#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void background(struct psc_layout *l)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    float x0 = f->data_x, x1 = f->data_x + f->data_w, y0 = f->lanes.y0, y1 = f->lanes.y1;
    if (y1 <= y0)
        return;
    psc_put_fill(l, 0, y0, x1, y1, PSC_COL_CANVAS);
    psc_put_fill(l, 0, y0, x0, y1, PSC_COL_GUTTER);
    /* the lanes of a backend are grey where another one runs */
    for (uint32_t i = 0; s->split_n > 1 && i < s->lane_n; i++) {
        const struct psc_scene_lane *lane = &s->lanes[i];
        const struct psc_track *top = NULL, *last = NULL;
        for (size_t k = 0; k < l->track_n; k++) {
            const struct psc_track *p = &l->tracks[k];
            if (p->kind != PSC_TRACK_ROW || s->rows[p->row].lane != i || lane->kind == PSC_LANE_KV)
                continue;
            top = top ? top : p;
            last = p;
        }
        if (!top)
            continue;
        int32_t from = (int32_t)floor(fmax(l->axis.lo, 0));
        uint32_t split = psc_scene_split_at(s, from);
        for (; split < s->split_n && s->splits[split].first < l->axis.hi; split++) {
            if (s->splits[split].backend == lane->backend)
                continue;
            float a = (float)fmax(psc_axis_left(&l->axis, s->splits[split].first), x0);
            float b = (float)fmin(psc_axis_right(&l->axis, s->splits[split].last), x1);
            psc_put_fill(l, a, top->y0, b, last->y1, PSC_COL_IDLE);
        }
    }
}

void psc_layout_grid(struct psc_layout *l, float y0, float y1)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    if (y1 <= y0)
        return; /* the lanes of a picture that is all curve: nothing is put there that could be told its part below */
    float right = f->data_x + f->data_w;
    int32_t from = (int32_t)floor(l->axis.lo), to = (int32_t)ceil(l->axis.hi);
    if (l->axis.op >= PSC_GRID_OP)
        for (int32_t p = from < 0 ? 0 : from; p <= to && p <= s->n; p++) {
            float x = floorf((float)psc_axis_left(&l->axis, p));
            if (x > f->data_x && x < right)
                psc_put_fill(l, x, y0, x + 1, y1, PSC_COL_GRID);
        }
    uint32_t layer = psc_scene_layer_at(s, from < 0 ? 0 : from);
    float before = -100;
    for (; layer < s->layer_n && s->layers[layer].first < l->axis.hi; layer++) {
        float x = floorf((float)psc_axis_left(&l->axis, s->layers[layer].first));
        if (x > f->data_x && x < right && x - before >= 6)
            psc_put_fill(l, x, y0, x + 1, y1, PSC_COL_LAYER), before = x;
    }
    for (uint32_t i = l->axis.gap_at; i < l->axis.gap_end; i++) {
        float b = (float)psc_axis_left(&l->axis, s->gaps[i]), a = b - (float)l->axis.gap;
        if (b - a < 3)
            continue;
        psc_put_fill(l, floorf(a), y0, floorf(b), y1, PSC_COL_STAGE_FILL);
        l->fills[l->fill_n - 1].part = l->view.dark ? 90 : 110;
        if (l->axis.gap < 14)
            continue;
        psc_put_line(l, floorf(a) + 0.5f, y0, floorf(a) + 0.5f, y1, 1, PSC_COL_COPY_LINE, PSC_DASH_IDLE);
        psc_put_line(l, floorf(b) + 0.5f, y0, floorf(b) + 0.5f, y1, 1, PSC_COL_COPY_LINE, PSC_DASH_IDLE);
    }
}

static void row_names(struct psc_layout *l, const struct psc_track *p)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_row *row = &s->rows[p->row];
    const struct psc_buffer *buffer = &s->source.story->buffers[row->buffer];
    enum psc_lane_kind kind = s->lanes[row->lane].kind;
    float height = p->y1 - p->y0, left = l->frame.gutter_x + 8, right = l->frame.data_x - 8;
    if (p->compact || height < (l->view.px_a_byte > 0 ? 12 : 9))
        return;
    bool two = height >= 30 && kind == PSC_LANE_POOL;
    float y = two ? p->y0 + 11 : (p->y0 + p->y1) / 2;
    char text[64], bytes[24];
    if (kind == PSC_LANE_KV && row->layer >= 0)
        snprintf(text, sizeof text, "layer %d", row->layer);
    else
        snprintf(text, sizeof text, "%s", kind == PSC_LANE_STAGING ? "copy" : buffer->name ? buffer->name : "?");
    enum psc_font font = kind != PSC_LANE_POOL ? PSC_FONT_AXIS : height < 13 ? PSC_FONT_SMALL_BOLD : PSC_FONT_BASE_BOLD;
    double used = psc_text_width(l, font, text);
    psc_put_label(l, font, PSC_LEFT, kind == PSC_LANE_POOL ? PSC_COL_INK : PSC_COL_DIM, text, left, y);
    psc_bytes_short(row->bytes, bytes, sizeof bytes);
    uint32_t count = row->bar_end - row->bar_at;
    double size = psc_text_width(l, PSC_FONT_SMALL, bytes);
    if (l->axis.op < PSC_MARK_OP && kind == PSC_LANE_POOL && count && !l->frame.small) {
        snprintf(text, sizeof text, "\xc3\x97%u", count);
        double width = fmax(psc_text_width(l, PSC_FONT_SMALL, text), 20);
        /* where one of both must go it is the number: sizes stand nowhere else. They have a line of their own where there are two */
        if (left + used + 3 + width + (two ? 0 : size + 3) <= right) {
            psc_put_label(l, PSC_FONT_SMALL, PSC_RIGHT, PSC_COL_DIM, text, right, y);
            right -= (float)width + 3;
        }
    }
    bool fits = left + used + 3 + size <= right;
    if (fits)
        psc_put_label(l, PSC_FONT_SMALL, PSC_RIGHT, PSC_COL_DIM, bytes, right, y);
    const struct psc_check *check = s->source.check;
    bool bracketed = check && l->view.finding < check->finding_n && check->findings[l->view.finding].buffer == row->buffer;
    if (two && !bracketed) {
        snprintf(text, sizeof text, "0x%05llx", (unsigned long long)buffer->base);
        psc_put_label(l, fits ? PSC_FONT_MONO : PSC_FONT_SMALL, PSC_RIGHT, PSC_COL_DIM, fits ? text : bytes, l->frame.data_x - 8, y + 13);
    }
}

static void fold_text(struct psc_layout *l, const struct psc_track *p)
{
    const struct psc_scene *s = l->scene;
    const struct psc_buffer *buffers = s->source.story->buffers;
    uint64_t bytes = 0;
    for (uint32_t r = p->row; r < p->row + p->row_n; r++)
        bytes += s->rows[r].bytes;
    const char *first = buffers[s->rows[p->row].buffer].name, *last = buffers[s->rows[p->row + p->row_n - 1].buffer].name;
    char text[160], size[24];
    psc_bytes_short(bytes, size, sizeof size);
    bool staging = s->lanes[s->rows[p->row].lane].kind == PSC_LANE_STAGING;
    if (staging || !first || !last)
        snprintf(text, sizeof text, "\xe2\x96\xb8 %u %s \xc2\xb7 %s \xc2\xb7 idle in this view", p->row_n,
                 staging ? (p->row_n == 1 ? "staging buffer" : "staging buffers") : "buffers", size);
    else if (p->row_n == 1)
        snprintf(text, sizeof text, "\xe2\x96\xb8 %s \xc2\xb7 %s \xc2\xb7 idle in this view", first, size);
    else
        snprintf(text, sizeof text, "\xe2\x96\xb8 %s\xe2\x80\x93%s \xc2\xb7 %s \xc2\xb7 idle in this view", first, last, size);
    struct psc_label *label = psc_put_label(l, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, l->frame.data_x + 8,
                                            (p->y0 + p->y1) / 2);
    if (label)
        label->ground = PSC_COL_GUTTER; /* copies may cross the line */
}

static void track_texts(struct psc_layout *l, const struct psc_track *p)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    float right = f->data_x + f->data_w, middle = (p->y0 + p->y1) / 2;
    char text[96];
    switch (p->kind) {
    case PSC_TRACK_ROW:
        row_names(l, p);
        break;
    case PSC_TRACK_FOLD:
        psc_put_fill(l, f->data_x, p->y0, right, p->y1 - 1, PSC_COL_GUTTER);
        fold_text(l, p);
        break;
    case PSC_TRACK_STRIP:
        psc_put_fill(l, f->gutter_x, p->y0, right, p->y1, PSC_COL_GUTTER);
        psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, "between lanes", f->data_x - 8, middle);
        break;
    case PSC_TRACK_WEIGHTS:
        psc_put_pattern(l, f->data_x, p->y0 + 2, right, p->y1 - 2, PSC_COL_WEIGHT_FILL, PSC_DOTS, PSC_COL_WEIGHT_DOT);
        psc_put_label(l, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, "weights", f->gutter_x + 8, middle);
        snprintf(text, sizeof text, "read by %u ops \xc2\xb7 read only, outside the plan", s->weight_n);
        {
            struct psc_label *label = psc_put_label(l, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, f->data_x + 8, middle);
            if (label)
                label->ground = PSC_COL_WEIGHT_FILL;
        }
        break;
    case PSC_TRACK_HEAD:
        break;
    }
}

/* Few words for a lane whose rows are too low for names. */
static void compact_texts(struct psc_layout *l, uint32_t lane_index, float y0, float y1)
{
    const struct psc_scene *s = l->scene;
    const struct psc_scene_lane *lane = &s->lanes[lane_index];
    char line[3][64], bytes[24];
    uint64_t sum = 0;
    for (uint32_t r = lane->row_at; r < lane->row_at + lane->row_n; r++)
        sum += s->rows[r].bytes;
    psc_bytes_text(sum, bytes, sizeof bytes);
    bool kv = lane->kind == PSC_LANE_KV;
    snprintf(line[0], sizeof line[0], kv ? "%u layers \xc3\x97 K, V" : "%u buffers", lane->row_n);
    snprintf(line[1], sizeof line[1], "%s%s", bytes, kv ? ", kept" : "");
    snprintf(line[2], sizeof line[2], "%s", kv ? "across steps" : "one a copy");
    uint32_t n = y1 - y0 >= 48 ? 3 : y1 - y0 >= 30 ? 2 : y1 - y0 >= 12 ? 1 : 0;
    for (uint32_t i = 0; i < n; i++)
        psc_put_label(l, i ? PSC_FONT_SMALL : PSC_FONT_AXIS, PSC_RIGHT, i ? PSC_COL_DIM : PSC_COL_INK, line[i],
                      l->frame.data_x - 8, y0 + (n == 1 ? (y1 - y0) / 2 : 10 + 13.0f * i));
}

static void lane_strips(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    const struct psc_frame *f = &l->frame;
    for (size_t i = 0; i < l->track_n;) {
        if (l->tracks[i].kind == PSC_TRACK_STRIP || l->tracks[i].kind == PSC_TRACK_WEIGHTS) {
            psc_put_fill(l, 0, l->tracks[i].y0, 14, l->tracks[i].y1,
                         l->tracks[i].kind == PSC_TRACK_STRIP ? PSC_COL_GUTTER : PSC_COL_LAYER);
            i++;
            continue;
        }
        uint32_t lane = s->rows[l->tracks[i].row].lane;
        size_t end = i;
        bool compact = l->tracks[i].compact;
        while (end < l->track_n && l->tracks[end].kind != PSC_TRACK_STRIP && l->tracks[end].kind != PSC_TRACK_WEIGHTS &&
               s->rows[l->tracks[end].row].lane == lane)
            compact = compact || l->tracks[end].compact, end++;
        float y0 = l->tracks[i].y0, y1 = l->tracks[end - 1].y1;
        psc_put_fill(l, 0, y0, 14, y1, s->lanes[lane].colour);
        psc_put_fill(l, 0, y1 - 1, f->data_x + f->data_w, y1, PSC_COL_RULE);
        if (compact)
            compact_texts(l, lane, y0, y1);
        float a = fmaxf(y0, f->lanes.y0), b = fminf(y1, f->lanes.y1);
        const char *name = s->lanes[lane].name;
        if (b - a < psc_text_width(l, PSC_FONT_AXIS_BOLD, name) + 6 && s->lanes[lane].kind == PSC_LANE_STAGING)
            name = "copies";
        if (b - a >= psc_text_width(l, PSC_FONT_AXIS_BOLD, name) + 4) {
            struct psc_label *label = psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_CENTRE, psc_lane_ink(l, s->lanes[lane].colour), name, 7, (a + b) / 2);
            if (label)
                label->turned = 1;
        }
        i = end;
    }
}

/* An empty map says why it is one. */
static void no_rows(struct psc_layout *l)
{
    const struct psc_frame *f = &l->frame;
    const char *words = l->scene->source.graph && !l->scene->source.graph->n ? "This graph has no ops: nothing needs memory."
                                                                            : "Nothing here has a buffer.";
    if (f->lanes.y1 - f->lanes.y0 >= 40)
        psc_put_label(l, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, words, f->data_x + 16, f->lanes.y0 + 20);
}

void psc_layout_gutter(struct psc_layout *l)
{
    const struct psc_frame *f = &l->frame;
    background(l);
    psc_layout_grid(l, f->lanes.y0, f->lanes.y1);
    lane_strips(l);
    for (size_t i = 0; i < l->track_n; i++) {
        const struct psc_track *p = &l->tracks[i];
        if (p->y1 <= p->y0 || p->y1 <= f->lanes.y0 || p->y0 >= f->lanes.y1)
            continue;
        if (!p->compact && p->kind != PSC_TRACK_HEAD)
            psc_put_fill(l, f->gutter_x, p->y1 - 1, f->data_x + f->data_w, p->y1, PSC_COL_GRID);
        track_texts(l, p);
    }
    if (!l->scene->row_n)
        no_rows(l);
    psc_put_fill(l, f->data_x - 1, f->lanes.y0, f->data_x, f->lanes.y1, PSC_COL_RULE);
    if (f->kept_y < f->lanes.y1) /* what is above belongs to this phase, what is below to all of them */
        psc_put_fill(l, 0, f->kept_y - 2, f->data_x + f->data_w, f->kept_y, PSC_COL_KV_EDGE);
}
