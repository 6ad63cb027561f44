#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARK_CLEAR 9.0f /* px kept free on each side of a mark */
#define MARK_REACH 16.0f /* px above and below a line of text in which a mark touches it */
#define GAPS_MAX   64

struct gap { float x0, x1; };

static enum psc_colour text_colour(const struct psc_bar *bar)
{
    switch (bar->style) {
    case PSC_STYLE_ACTIVATION: case PSC_STYLE_OWN: return PSC_COL_ACT_TEXT;
    case PSC_STYLE_KV: return PSC_COL_KV_TEXT;
    case PSC_STYLE_OVERWRITTEN: case PSC_STYLE_UNRECORDED: return PSC_COL_DIM;
    default: return PSC_COL_INK;
    }
}

/* px at which a queued copy of the bar starts to hold it; far away when none in view does. */
static float held_from(const struct psc_layout *l, uint32_t bar)
{
    const struct psc_scene *s = l->scene;
    for (uint32_t i = psc_scene_first_copy(s, l->axis.lo - 64); i < s->copy_n && s->copies[i].enqueue < l->axis.hi + 1; i++)
        if (s->copies[i].source_bar == bar)
            return (float)(psc_axis_left(&l->axis, s->copies[i].enqueue) - l->axis.gap);
    return 1e9f;
}

/* Free stretches of a bar between its marks (sorted by x within a row) that reach into [top, low]. */
static uint32_t free_gaps(const struct psc_layout *l, const struct psc_bar *bar, size_t mark, float pad, float top, float low,
                          struct gap gaps[GAPS_MAX])
{
    float left = fmaxf(bar->x0, l->frame.data_x) + pad;
    float right = fminf(bar->x1, l->frame.data_x + l->frame.data_w) - pad;
    if (l->scene->flags[bar->bar] & PSC_BAR_HELD)
        right = fminf(right, held_from(l, bar->bar) - pad);
    float now = l->view.step_aside && l->view.position != PSC_NO_POSITION
                    ? (float)psc_axis_right(&l->axis, l->view.position) : -1e9f;
    bool now_used = false;
    uint32_t n = 0;
    for (; mark <= l->mark_n && n < GAPS_MAX - 1; mark++) {
        const struct psc_mark *m = mark < l->mark_n ? &l->marks[mark] : NULL;
        if (m && (m->x < bar->x0 || m->y < top || m->y > low))
            continue;
        bool last = !m || m->x > bar->x1;
        float until = last ? right : m->x - MARK_CLEAR;
        if (!now_used && now > left && now < until + MARK_CLEAR) {
            now_used = true;
            if (now - 5 - left > 6)
                gaps[n++] = (struct gap){left, fminf(now - 5, until)};
            left = now + 6;
        }
        if (until - left > 6)
            gaps[n++] = (struct gap){left, until};
        if (last)
            break;
        left = fmaxf(left, m->x + MARK_CLEAR);
    }
    return n;
}

static uint32_t version_of(const struct psc_scene *s, uint32_t bar)
{
    const struct psc_tenancy *t = s->source.history->tenancies;
    uint32_t version = 0;
    while (version < 99 && t[bar].prev_version != PSC_NONE)
        bar = t[bar].prev_version, version++;
    return version;
}

static void label_one_line(struct psc_layout *l, const struct psc_bar *bar, size_t first_mark,
                           char text[PSC_LABELS][PSC_LABEL_SIZE], uint32_t text_n)
{
    struct gap gaps[GAPS_MAX];
    float height = bar->foot - bar->y0, middle = (bar->y0 + bar->foot) / 2;
    bool over_marks = height >= 44; /* most marks keep to the edges, and leave the middle free */
    uint32_t gap_n = free_gaps(l, bar, first_mark, bar->edge & PSC_EDGE_SEAM_LEFT ? 9 : 5,
                               over_marks ? middle - MARK_REACH : bar->y0 - 1, over_marks ? middle + MARK_REACH : bar->y1 + 1, gaps);
    enum psc_font font = height < 13 ? PSC_FONT_SMALL : PSC_FONT_BAR;
    for (uint32_t k = 0; k < text_n; k++) {
        float width = (float)psc_text_width(l, font, text[k]);
        uint32_t best = GAPS_MAX;
        for (uint32_t i = 0; i < gap_n; i++)
            if (gaps[i].x1 - gaps[i].x0 >= width && (best == GAPS_MAX || gaps[i].x1 - gaps[i].x0 > gaps[best].x1 - gaps[best].x0))
                best = i;
        if (best == GAPS_MAX)
            continue;
        struct gap g = gaps[best];
        /* in a wide bar the label stands at its start, where the eye looks for it */
        bool centre = g.x1 - g.x0 < width + 120 && bar->style != PSC_STYLE_PINNED;
        double x = centre ? (g.x0 + g.x1 - width) / 2 : g.x0 + 1;
        psc_put_label(l, font, PSC_LEFT, text_colour(bar), text[k], x, middle);
        return;
    }
}

/* Number, name and bytes below each other, from 62 px height. */
static bool label_three_lines(struct psc_layout *l, const struct psc_bar *bar, char text[PSC_LABELS][PSC_LABEL_SIZE],
                              uint32_t text_n)
{
    const char *bytes = strstr(text[0], " \xc2\xb7 ");
    if (bar->foot - bar->y0 < 62 || text_n < 4 || !bytes)
        return false;
    const char *name = text[2];
    char number[32];
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text[0], " "), text[0]);
    struct gap gaps[GAPS_MAX];
    uint32_t gap_n = free_gaps(l, bar, l->mark_n, bar->edge & PSC_EDGE_SEAM_LEFT ? 10 : 6, bar->y0, bar->y1, gaps);
    double width = fmax(psc_text_width(l, PSC_FONT_BAR_BOLD, name),
                        fmax(psc_text_width(l, PSC_FONT_BAR, number), psc_text_width(l, PSC_FONT_BAR, bytes + 4)));
    for (uint32_t i = gap_n; i-- > 0;) {
        if (gaps[i].x1 - gaps[i].x0 < width)
            continue;
        double y = bar->y0 + fmin((bar->foot - bar->y0) / 2, 40), x = gaps[i].x0;
        psc_put_label(l, PSC_FONT_BAR, PSC_LEFT, text_colour(bar), number, x, y - 15);
        psc_put_label(l, PSC_FONT_BAR_BOLD, PSC_LEFT, text_colour(bar), name, x, y);
        psc_put_label(l, PSC_FONT_BAR, PSC_LEFT, text_colour(bar), bytes + 4, x, y + 15);
        return true;
    }
    return false;
}

static void label_merged(struct psc_layout *l, const struct psc_bar *bar)
{
    char count[16];
    snprintf(count, sizeof count, "%u", bar->count);
    if (bar->x1 - bar->x0 >= 10 && psc_text_width(l, PSC_FONT_SMALL, count) <= bar->x1 - bar->x0 - 2)
        psc_put_label(l, PSC_FONT_SMALL, PSC_CENTRE, text_colour(bar), count, (bar->x0 + bar->x1) / 2,
                      (bar->y0 + bar->y1) / 2 - 1);
}

static void label_kv(struct psc_layout *l, const struct psc_bar *bar, size_t first_mark)
{
    const struct psc_scene_row *row = &l->scene->rows[bar->row];
    const struct psc_story *story = l->scene->source.story;
    char text[PSC_LABELS][PSC_LABEL_SIZE], bytes[24];
    if (row->buffer2 == PSC_NONE || (bar->row && l->scene->rows[bar->row - 1].lane == row->lane &&
                                     psc_layout_track(l, bar->row - 1)))
        return; /* said once */
    psc_bytes_text(story->buffers[row->buffer].bytes, bytes, sizeof bytes);
    snprintf(text[0], PSC_LABEL_SIZE, "K and V, 2 \xc3\x97 %s a layer, kept across phases", bytes);
    snprintf(text[1], PSC_LABEL_SIZE, "K and V, 2 \xc3\x97 %s", bytes);
    label_one_line(l, bar, first_mark, text, 2);
}

void psc_layout_bar_labels(struct psc_layout *l, size_t first_bar, size_t first_mark)
{
    size_t end = l->bar_n;
    for (size_t i = first_bar; i < end; i++) {
        const struct psc_bar bar = l->bars[i];
        const struct psc_scene_row *row = &l->scene->rows[bar.row];
        float sign = bar.sign ? PSC_SIGN_ROOM : 0;
        if (bar.count > 1) {
            label_merged(l, &bar);
            continue;
        }
        while (first_mark < l->mark_n && l->marks[first_mark].x < bar.x0 && !row->packed)
            first_mark++;
        if (bar.style == PSC_STYLE_KV) {
            label_kv(l, &bar, first_mark);
            continue;
        }
        if (bar.x1 - bar.x0 < (l->axis.op < PSC_MARK_OP ? 26 : 16) || bar.foot - bar.y0 < 9 || row->lane >= l->scene->lane_n ||
            l->scene->lanes[row->lane].kind == PSC_LANE_STAGING)
            continue;
        if (sign > 0 && bar.x1 - bar.x0 < PSC_SIGN_BESIDE)
            continue; /* the sign stands in the middle */
        char text[PSC_LABELS][PSC_LABEL_SIZE], prefix[16] = "";
        uint32_t n = psc_scene_labels(l->scene, bar.bar, text);
        if (l->axis.op < PSC_MARK_OP && n > 3)
            n--; /* a bare number says little in a bar of many ops */
        if (bar.edge & (PSC_EDGE_SEAM_LEFT | PSC_EDGE_SEAM_RIGHT)) {
            snprintf(prefix, sizeof prefix, "v%u ", version_of(l->scene, bar.bar));
            size_t shift = strlen(prefix);
            if (n > 3)
                text[n - 1][0] = 0; /* the version alone, not the version and a bare number */
            for (uint32_t k = 0; k < n; k++) {
                if (strlen(text[k]) + shift >= PSC_LABEL_SIZE)
                    continue;
                memmove(text[k] + shift, text[k], strlen(text[k]) + 1);
                memcpy(text[k], prefix, shift);
            }
        }
        struct psc_bar shifted = bar;
        shifted.x0 += sign;
        const struct psc_bar *next = i + 1 < end && !row->packed ? &l->bars[i + 1] : NULL;
        if (next && next->row == bar.row && next->x0 < bar.x1)
            shifted.x1 = next->x0; /* a clobber: the writer lies over its victim, and is named there */
        if (prefix[0] || !label_three_lines(l, &shifted, text, n))
            label_one_line(l, &shifted, first_mark, text, n);
    }
}
