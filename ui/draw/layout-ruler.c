#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct stretch { float x0, x1; }; /* px, cut at the data area */

static struct stretch stretch_of(const struct psc_layout *l, int32_t first, int32_t last)
{
    float low = l->frame.data_x, high = low + l->frame.data_w;
    struct stretch s = {(float)psc_axis_left(&l->axis, first), (float)psc_axis_right(&l->axis, last)};
    s.x0 = fminf(fmaxf(s.x0, low), high);
    s.x1 = fminf(fmaxf(s.x1, low), high);
    return s;
}

/* The longest of the texts that fits, at the left of the stretch or in its middle. */
static void put_longest(struct psc_layout *l, enum psc_font font, enum psc_colour colour, struct stretch s, float y,
                        char text[][64], uint32_t n, bool centre)
{
    for (uint32_t i = 0; i < n; i++) {
        double width = psc_text_width(l, font, text[i]);
        if (width + (centre ? 2 : 8) > s.x1 - s.x0)
            continue;
        psc_put_label(l, font, centre ? PSC_CENTRE : PSC_LEFT, colour, text[i], centre ? (s.x0 + s.x1) / 2 : s.x0 + 6, y);
        return;
    }
}

static void caption(struct psc_layout *l, const char *text, double y)
{
    psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, text, l->frame.data_x - 8, y);
}

static void splits(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    float y = l->frame.splits_y;
    int32_t from = (int32_t)floor(fmax(l->axis.lo, 0));
    caption(l, "splits", y + 6);
    for (uint32_t i = psc_scene_split_at(s, from); i < s->split_n && s->splits[i].first < l->axis.hi; i++) {
        const struct psc_scene_span *span = &s->splits[i];
        const char *backend = span->backend < s->source.graph->backend_n ? s->source.graph->backends[span->backend] : "unassigned";
        struct stretch x = stretch_of(l, span->first, span->last);
        psc_put_fill(l, x.x0, y, x.x1, y + 12, psc_lane_colour(backend));
        char text[3][64], title[24];
        psc_backend_title(backend, title, sizeof title);
        snprintf(text[0], sizeof text[0], "split %u \xc2\xb7 %s \xc2\xb7 ops %d\xe2\x80\x93%d", i, title, span->first, span->last);
        snprintf(text[1], sizeof text[1], "split %u \xc2\xb7 %s", i, title);
        snprintf(text[2], sizeof text[2], "%s", title);
        put_longest(l, PSC_FONT_AXIS_BOLD, psc_lane_ink(l, psc_lane_colour(backend)), x, y + 6, text, 3, false);
    }
    for (uint32_t i = l->axis.gap_at; i < l->axis.gap_end && l->axis.gap >= 30; i++) {
        double b = psc_axis_left(&l->axis, s->gaps[i]);
        if (b - l->axis.gap >= l->frame.data_x && b <= l->frame.data_x + l->frame.data_w)
            psc_put_label(l, PSC_FONT_AXIS, PSC_CENTRE, PSC_COL_DIM, "copy", b - l->axis.gap / 2, y + 6);
    }
}

static void layers(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    float y = l->frame.layers_y, right = l->frame.data_x + l->frame.data_w;
    int32_t from = (int32_t)floor(fmax(l->axis.lo, 0));
    caption(l, "layers", y + 8.5);
    psc_put_fill(l, l->frame.data_x, y, right, y + 17, PSC_COL_CANVAS);
    if (l->axis.lo < 0) {
        struct stretch x = stretch_of(l, -1, -1);
        psc_put_label(l, PSC_FONT_AXIS, PSC_CENTRE, PSC_COL_DIM, "fill", (x.x0 + x.x1) / 2, y + 8.5);
    }
    bool tight = l->axis.op < PSC_MARK_OP;
    for (uint32_t i = psc_scene_layer_at(s, from); i < s->layer_n && s->layers[i].first < l->axis.hi; i++) {
        const struct psc_scene_span *span = &s->layers[i];
        struct stretch x = stretch_of(l, span->first, span->last);
        if (x.x0 > l->frame.data_x && x.x1 - x.x0 >= 6)
            psc_put_fill(l, floorf(x.x0), y, floorf(x.x0) + 1, y + 17, PSC_COL_LAYER);
        char text[3][64];
        if (span->layer < 0) {
            snprintf(text[0], sizeof text[0], "%s", i + 1 == s->layer_n && i ? "head" : "");
            if (!text[0][0])
                continue;
            put_longest(l, PSC_FONT_BASE_BOLD, PSC_COL_INK, x, y + 8.5f, text, 1, tight);
            continue;
        }
        snprintf(text[0], sizeof text[0], "layer %d", span->layer);
        snprintf(text[1], sizeof text[1], "L%d", span->layer);
        snprintf(text[2], sizeof text[2], "%d", span->layer);
        put_longest(l, PSC_FONT_BASE_BOLD, PSC_COL_INK, x, y + 8.5f, tight ? text + 2 : text, tight ? 1 : 3, tight);
    }
}

/* 1, 2, 5, 10, 20, 50 ...: the first whose labels stand at least `px` apart. */
static int32_t step_for(double op, double px)
{
    int32_t step = 1;
    for (int i = 0; step * op < px && step < 500000000; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

static void numbers(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    float y = l->frame.numbers_y, right = l->frame.data_x + l->frame.data_w;
    caption(l, s->source.graph ? "op" : "position", y + 7);
    char text[24];
    snprintf(text, sizeof text, "%d", s->n);
    double wide = psc_text_width(l, PSC_FONT_SMALL, text) + 8;
    bool each = l->axis.op >= fmax(24, wide);
    int32_t step = each ? 1 : step_for(l->axis.op, wide + 6);
    int32_t from = (int32_t)floor(fmax(l->axis.lo, 0));
    float last = -1e9f;
    for (int32_t p = from - from % step; p < s->n && p < l->axis.hi; p += step) {
        struct stretch x = stretch_of(l, p, p);
        double left = psc_axis_left(&l->axis, p), width;
        snprintf(text, sizeof text, "%d", p);
        width = psc_text_width(l, PSC_FONT_SMALL, text);
        if (left >= l->frame.data_x && (p || l->axis.lo >= 0 || step == 1))
            psc_put_fill(l, floorf((float)left), y + 2, floorf((float)left) + 1, y + 13, PSC_COL_LAYER);
        double at = step == 1 ? (left + psc_axis_right(&l->axis, p)) / 2 - width / 2 : left + 3;
        if (at < l->frame.data_x + 1 || at + width > right - 1 || at < last + 4 || x.x1 <= x.x0)
            continue;
        psc_put_label(l, PSC_FONT_SMALL, PSC_LEFT, PSC_COL_DIM, text, at, y + 7.5);
        last = (float)(at + width);
    }
}

/* Three letters for a narrow column. */
static void abbreviate(const char *word, char *buf, size_t size)
{
    static const char *const known[][2] = {{"down", "dwn"}, {"norm", "nrm"}, {"store", "st"}, {"load", "ld"},
                                           {"rope q", "rq"}, {"rope k", "rk"}, {"output", "out"}, {"kv_store", "st"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(word, known[i][0]))
            word = known[i][1];
    size_t n = 0;
    while (n < 3 && n + 1 < size && word[n] && !((unsigned char)word[n] & 0x80))
        buf[n] = word[n], n++;
    buf[n] = 0;
}

static void names(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    float y = l->frame.names_y;
    int32_t from = (int32_t)floor(fmax(l->axis.lo, 0));
    for (int32_t p = from; p < s->n && p < l->axis.hi; p++) {
        psc_node node = psc_scene_node_at(s, p);
        struct stretch x = stretch_of(l, p, p);
        const char *title = s->source.graph || !s->source.story->titles ? NULL : s->source.story->titles[p];
        if ((node == PSC_NONE && !title) || x.x1 - x.x0 < l->axis.op - 1)
            continue;
        char text[3][64], label[64];
        if (title) { /* "c3: batch 1", "c3" */
            snprintf(text[0], sizeof text[0], "%s", title);
            snprintf(text[1], sizeof text[1], "%.*s", (int)strcspn(title, ":"), title);
            put_longest(l, PSC_FONT_SMALL, PSC_COL_INK, x, y + 6.5f, text, 2, true);
            continue;
        }
        psc_node_label(s->source.graph, node, label, sizeof label);
        const char *tail = strrchr(label, '_');
        snprintf(text[0], sizeof text[0], "%s", label);
        snprintf(text[1], sizeof text[1], "%s", tail && tail[1] ? tail + 1 : label);
        abbreviate(text[1], text[2], sizeof text[2]);
        uint32_t from_text = l->axis.op >= 60 ? 0 : l->axis.op >= 30 ? 1 : 2;
        put_longest(l, PSC_FONT_SMALL, PSC_COL_INK, x, y + 6.5f, text + from_text, 3 - from_text, true);
    }
}

static void records(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    float y = l->frame.records_y;
    int32_t from = (int32_t)floor(fmax(l->axis.lo, 0));
    bool icons = l->axis.op >= PSC_MARK_OP;
    caption(l, "recorded", y + (icons ? 6 : 8));
    float last[4] = {-1e9f, -1e9f, -1e9f, -1e9f};
    for (int32_t p = from; p < s->n && p < l->axis.hi; p++) {
        uint8_t v = s->verdict[p];
        double x = psc_axis_middle(&l->axis, p);
        if (!v || x < l->frame.data_x || x > l->frame.data_x + l->frame.data_w)
            continue;
        if (icons) {
            psc_put_mark(l, (enum psc_mark_kind)(PSC_MARK_OWN + v - 1), x, y + 6, 9);
        } else if (x - last[v] >= 1) { /* a tick each, at most one a pixel and kind; own ones are tall and dark */
            bool own = v == 1 + PSC_RECORD_OWN;
            float w = fmaxf(1, floorf((float)l->axis.op)), left = floorf((float)(x - w / 2));
            psc_put_fill(l, left, own ? y + 1 : y + 6, left + (own ? w : 1), y + 16, own ? PSC_COL_INK : PSC_COL_LAYER);
            last[v] = (float)x;
        }
    }
}

/* Writes and reads counted a layer (or a stretch of 40 px), where single marks would not fit. */
static void merged_marks(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    float y = l->frame.merged_y, right = l->frame.data_x + l->frame.data_w;
    psc_put_fill(l, l->frame.data_x, y - 1, right, y + 35, PSC_COL_CANVAS);
    caption(l, "writes, merged", y + 9);
    caption(l, "reads, merged", y + 26);
    int32_t from = (int32_t)floor(fmax(l->axis.lo, 0)), to = (int32_t)ceil(fmin(l->axis.hi, s->n));
    for (int32_t p = from; p < to;) {
        int32_t end = p;
        do {
            uint32_t span = psc_scene_layer_at(s, end);
            int32_t next = span == PSC_NONE ? to : s->layers[span].last + 1;
            if ((next - end) * l->axis.op > 240) { /* no layers, or long ones */
                double far = psc_axis_position(&l->axis, psc_axis_left(&l->axis, p) + 40, NULL);
                next = (int32_t)fmax(end + 1, ceil(far));
            }
            end = next < to ? next : to;
        } while (end < to && psc_axis_left(&l->axis, end) - psc_axis_left(&l->axis, p) < 24);
        struct stretch x = stretch_of(l, p, end - 1);
        uint32_t count[2] = {s->write_n[end + 1] - s->write_n[p + 1], s->read_n[end + 1] - s->read_n[p + 1]};
        for (int i = 0; i < 2; i++) {
            if (!count[i] || x.x1 - x.x0 < 6)
                continue;
            struct psc_mark *m = psc_put_mark(l, i ? PSC_MARK_READS : PSC_MARK_WRITES, (x.x0 + x.x1) / 2, y + 9 + 17 * i, 13);
            if (m)
                m->width = x.x1 - x.x0 - 4, m->count = count[i], m->position = p;
            char text[16];
            snprintf(text, sizeof text, "%u", count[i]);
            if (psc_text_width(l, PSC_FONT_SMALL_BOLD, text) + 10 <= x.x1 - x.x0 - 4)
                psc_put_label(l, PSC_FONT_SMALL_BOLD, PSC_CENTRE, PSC_COL_MARK_EDGE, text, (x.x0 + x.x1) / 2, y + 9 + 17 * i);
        }
        p = end;
    }
}

void psc_layout_ruler(struct psc_layout *l)
{
    const struct psc_frame *f = &l->frame;
    if (f->ruler.y1 <= f->ruler.y0)
        return;
    float right = f->data_x + f->data_w;
    psc_put_fill(l, 0, f->ruler.y0, right, f->ruler.y1, PSC_COL_GUTTER);
    psc_put_fill(l, f->data_x, f->numbers_y, right, f->ruler.y1, PSC_COL_CANVAS);
    psc_put_fill(l, 0, f->ruler.y0, right, f->ruler.y0 + 1, PSC_COL_RULE);
    if (f->splits_y >= 0)
        splits(l);
    if (f->layers_y >= 0)
        layers(l);
    numbers(l);
    if (f->names_y >= 0)
        names(l);
    if (f->records_y >= 0)
        records(l);
    if (f->merged_y >= 0)
        merged_marks(l);
    psc_put_fill(l, 0, f->ruler.y1 - 1, right, f->ruler.y1, PSC_COL_RULE);
}
