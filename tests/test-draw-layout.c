#include "tests/draw-scene.h"
#include "tests/many-ranges.h"
#include "tests/stories.h"
#include "tests/util.h"
#include "ui/draw/layout.h"

#include <math.h>
#include <string.h>

static void lay_out(struct psc_layout *l, const struct psc_scene *s, const struct psc_view *v, struct psc_type *type)
{
    struct psc_error error = {0};
    g_assert_cmpint(psc_layout_build(l, s, v, type, &error), ==, PSC_OK);
}

static struct psc_scene *scene_of_ranges(struct psc_arena *arena, const struct many_ranges *m)
{
    struct psc_scene_source source = {.story = &m->story, .history = &m->history, .check = &m->check};
    struct psc_scene *scene = NULL;
    g_assert_cmpint(psc_scene_build(arena, &source, &scene, NULL), ==, PSC_OK);
    return scene;
}

/* ---- level of detail ---------------------------------------------------------------------------- */

static void test_million_three_alarms(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 1000000, 32, 3);
    struct psc_scene *s = scene_of_ranges(&arena, m);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, s, 800, 900);
    v.no_text = true;
    for (int mode = PSC_VIEW_ROWS; mode <= PSC_VIEW_MAP; mode++) {
        v.mode = (enum psc_view_mode)mode;
        lay_out(&l, s, &v, NULL);
        g_assert_cmpuint(l.alarm_n, ==, 3);
        g_assert_cmpuint(l.tick_n, ==, 3);
        for (size_t i = 0; i < l.alarm_n; i++) {
            g_assert_cmpfloat(l.alarms[i].area.x1 - l.alarms[i].area.x0, >=, 3);
            g_assert_cmpfloat(l.alarms[i].area.y1 - l.alarms[i].area.y0, >=, 3);
        }
        size_t flagged = 0;
        for (size_t i = 0; i < l.bar_n; i++)
            flagged += l.bars[i].count == 1 && l.bars[i].edge & PSC_EDGE_ALARM;
        g_assert_cmpuint(flagged, ==, 3);
        g_assert_cmpuint(l.cover_n, >, 10); /* the rest is density */
    }
    psc_layout_release(&l);
    psc_arena_release(&arena);
}

static void test_many_alarms_all_there(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 100000, 18, 700);
    struct psc_scene *s = scene_of_ranges(&arena, m);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, s, 800, 900);
    v.no_text = true;
    lay_out(&l, s, &v, NULL);
    g_assert_cmpuint(l.alarm_n, ==, 700); /* more than one a pixel: still one each */
    g_assert_cmpuint(l.tick_n, ==, 700);
    psc_layout_release(&l);
    psc_arena_release(&arena);
}

static void test_coverage(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 100000, 10, 0);
    struct psc_scene *s = scene_of_ranges(&arena, m);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, s, 1200, 700);
    v.no_text = true;
    psc_view_set_range(&v, s, 4000, 36000);
    lay_out(&l, s, &v, NULL);
    g_assert_cmpuint(l.cover_n, ==, 10);
    for (size_t i = 0; i < l.cover_n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < l.covers[i].n; k++)
            sum += l.cover_bytes[l.covers[i].at + k];
        g_assert_cmpfloat_with_epsilon(sum / l.covers[i].n / 255, 0.75, 0.01); /* three of four positions */
    }
    psc_layout_release(&l);
    psc_arena_release(&arena);
}

static void test_merge_counts(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 600, 3, 0);
    struct psc_scene *s = scene_of_ranges(&arena, m);
    struct psc_layout l = {0};
    struct psc_view v;
    unsigned merged = 0, single = 0;
    psc_view_init(&v, s, 1000, 640);
    v.no_text = true;
    for (double hi = s->n + 1; hi > 10; hi /= 1.5) {
        psc_view_set_range(&v, s, -1, hi);
        lay_out(&l, s, &v, NULL);
        uint32_t shown[3] = {0}, want = 0;
        for (size_t i = 0; i < l.bar_n; i++) {
            const struct psc_bar *b = &l.bars[i];
            shown[b->row] += b->count;
            g_assert_cmpfloat(b->x1 - b->x0, >=, 3);
            if (b->count > 1)
                g_assert_cmpfloat(b->x1 - b->x0, <=, 24);
            if (b->count > 1)
                merged++;
            else
                single++;
            if (i && b->row == l.bars[i - 1].row && b->count == 1 && l.bars[i - 1].count == 1 && b->x1 - b->x0 < 8 &&
                l.bars[i - 1].x1 - l.bars[i - 1].x0 < 8)
                g_assert_cmpfloat(b->x0 - l.bars[i - 1].x1, >=, 2.5); /* else they had merged */
        }
        for (int32_t k = 0; k < 200; k++)
            want += 4 * k < l.axis.hi;
        for (int r = 0; r < 3; r++)
            g_assert_cmpuint(shown[r], ==, want);
    }
    g_assert_cmpuint(merged, >, 20);
    g_assert_cmpuint(single, >, 20);
    psc_layout_release(&l);
    psc_arena_release(&arena);
}

static int by_first(const void *a, const void *b)
{
    const struct psc_tenancy *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* A dense arena is a picture of its bytes: the part of it that is filled is the part that is in use. */
static void test_packed_cover(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 40000, 8, 0); /* 8 rows ... */
    struct psc_tenancy *t = psc_arena_alloc0(&arena, 40000, sizeof *t);
    uint32_t *at = psc_arena_alloc0(&arena, 9, sizeof *at);
    for (uint32_t i = 0; i < 40000; i++) { /* ... become the eighths of one buffer */
        t[i] = m->history.tenancies[i];
        t[i].lo = 512ull * t[i].buffer, t[i].hi = t[i].lo + 512, t[i].buffer = 0;
    }
    qsort(t, 40000, sizeof *t, by_first);
    for (int i = 1; i < 9; i++)
        at[i] = 40000;
    m->history.tenancies = t, m->history.buffer_at = at;
    struct psc_scene *s = scene_of_ranges(&arena, m);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, s, 900, 500);
    v.no_text = true, v.mode = PSC_VIEW_MAP;
    psc_view_set_range(&v, s, 1000, 15000);
    lay_out(&l, s, &v, NULL);
    g_assert_cmpuint(l.cover_n, ==, 1);
    const struct psc_cover *c = &l.covers[0];
    g_assert_cmpuint(c->lines, >, 30);
    double sum = 0;
    for (uint32_t i = 0; i < c->n * c->lines; i++)
        sum += l.cover_bytes[c->at + i];
    g_assert_cmpfloat_with_epsilon(sum / 255 / c->n / c->lines, 0.75, 0.03);
    psc_layout_release(&l);
    psc_arena_release(&arena);
}

/* ---- hits, labels, rows -------------------------------------------------------------------------- */

struct look { double lo, hi, width, height; enum psc_view_mode mode; bool fold; };
static const struct look looks[] = {
    {-1, 441, 1600, 900, PSC_VIEW_ROWS, false}, {-1, 441, 1000, 640, PSC_VIEW_MAP, false},
    {107, 134, 1050, 760, PSC_VIEW_MAP, true},  {109, 148, 1600, 900, PSC_VIEW_ROWS, true},
    {300, 330, 748, 500, PSC_VIEW_MAP, true},   {411, 441, 1000, 640, PSC_VIEW_ROWS, false},
    {10, 16, 1600, 900, PSC_VIEW_ROWS, true},   {-1, 60, 1600, 900, PSC_VIEW_MAP, true},
};

static void test_hit_inverse(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_layout l = {0};
    unsigned looked = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(looks); k++) {
        struct psc_view v;
        psc_view_init(&v, d->scene, looks[k].width, looks[k].height);
        psc_view_set_range(&v, d->scene, looks[k].lo, looks[k].hi);
        v.mode = looks[k].mode, v.fold = looks[k].fold, v.no_text = true;
        lay_out(&l, d->scene, &v, NULL);
        for (size_t i = 0; i < l.bar_n; i++) {
            const struct psc_bar *b = &l.bars[i];
            double x = fmin(fmax((b->x0 + b->x1) / 2, l.frame.data_x + 1), l.frame.data_x + l.frame.data_w - 1);
            double y = (b->y0 + b->y1) / 2;
            if (y < l.frame.lanes.y0 || y >= l.frame.lanes.y1 || x < b->x0 || x >= b->x1)
                continue;
            struct psc_hit hit = psc_layout_hit(&l, x, y);
            g_assert_cmpuint(hit.row, ==, b->row);
            if (b->count == 1 && b->x1 - b->x0 > 3) {
                g_assert_cmpint(hit.what, ==, PSC_HIT_BAR);
                g_assert_cmpuint(hit.bar, ==, b->bar);
                g_assert_true(d->scene->first[hit.bar] <= hit.position + 1 && hit.position <= d->scene->end[hit.bar]);
            } else if (b->count > 1) {
                g_assert_cmpint(hit.what, ==, PSC_HIT_MERGED);
                g_assert_cmpuint(hit.count, ==, b->count);
                g_assert_true(hit.bar >= b->bar && hit.bar < b->bar + b->count);
            }
            looked++;
        }
        for (size_t i = 0; i < l.mark_lanes_end; i++) {
            const struct psc_mark *m = &l.marks[i];
            if (m->event == PSC_NONE || m->y < l.frame.lanes.y0 + 8 || m->y > l.frame.lanes.y1 - 8 ||
                m->x < l.frame.data_x || m->x > l.frame.data_x + l.frame.data_w)
                continue;
            double y = m->kind == PSC_MARK_WRITE ? m->y + 3 : m->kind == PSC_MARK_READ ? m->y - 3 : m->y;
            g_assert_cmpint(psc_layout_hit(&l, m->x, y).position, ==, m->position);
        }
    }
    g_assert_cmpuint(looked, >, 400);
    psc_layout_release(&l);
    draw_scene_free(d);
}

static void test_hit_areas(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, d->scene, 1050, 760);
    psc_view_set_range(&v, d->scene, 107, 134);
    v.fold = true, v.no_text = true;
    lay_out(&l, d->scene, &v, NULL);
    g_assert_cmpint(psc_layout_hit(&l, 500, 20).what, ==, PSC_HIT_OVERVIEW);
    g_assert_cmpint(psc_layout_hit(&l, psc_axis_at(&l.overview_axis, 107) + 1, 20).what, ==, PSC_HIT_HANDLE_LEFT);
    g_assert_cmpint(psc_layout_hit(&l, psc_axis_at(&l.overview_axis, 120), 20).what, ==, PSC_HIT_WINDOW);
    g_assert_cmpint(psc_layout_hit(&l, 500, l.frame.ruler.y0 + 5).what, ==, PSC_HIT_RULER);
    g_assert_cmpint(psc_layout_hit(&l, psc_axis_middle(&l.axis, 124), l.frame.ruler.y0 + 5).position, ==, 124);
    g_assert_cmpint(psc_layout_hit(&l, 500, l.frame.usage.y0 + 5).what, ==, PSC_HIT_USAGE);
    g_assert_cmpint(psc_layout_hit(&l, 40, l.tracks[3].y0 + 2).what, ==, PSC_HIT_GUTTER);
    g_assert_cmpuint(psc_layout_hit(&l, 40, l.tracks[3].y0 + 2).row, ==, 3);
    unsigned folds = 0;
    for (size_t i = 0; i < l.track_n; i++)
        if (l.tracks[i].kind == PSC_TRACK_FOLD) {
            folds++;
            struct psc_hit hit = psc_layout_hit(&l, 500, l.tracks[i].y0 + 4);
            g_assert_cmpint(hit.what, ==, PSC_HIT_FOLD);
            g_assert_cmpuint(hit.row, ==, l.tracks[i].row);
        } else if (l.tracks[i].kind == PSC_TRACK_ROW) {
            g_assert_true(psc_layout_track(&l, l.tracks[i].row) == &l.tracks[i]);
        }
    g_assert_cmpuint(folds, ==, 1); /* b11 to b17 */
    g_assert_null(psc_layout_track(&l, 11));
    psc_layout_release(&l);
    draw_scene_free(d);
}

struct box { float x0, y0, x1, y1; };

static struct box box_of(const struct psc_label *label)
{
    float x = label->align == PSC_LEFT ? label->x : label->align == PSC_RIGHT ? label->x - label->width : label->x - label->width / 2;
    if (label->turned)
        return (struct box){label->x - 5, label->y - label->width / 2, label->x + 5, label->y + label->width / 2};
    return (struct box){x, label->y - 4, x + label->width, label->y + 4};
}

/* The graph in one arena a backend, whose row has a long name and hundreds of tenants. */
static struct draw_scene *scene_of_arena(struct psc_arena *arena)
{
    struct psc_graph *graph = qwen_graph(arena, &qwen_prefill);
    struct psc_error error = {0};
    struct psc_plan *plan;
    struct psc_story *story;
    g_assert_cmpint(psc_planner_find("best-fit")->plan(arena, graph, &psc_plan_defaults, &plan, &error), ==, PSC_OK);
    g_assert_cmpint(psc_plan_lower(arena, graph, plan, &story, &error), ==, PSC_OK);
    return draw_scene_story(graph, story);
}

/* No label reaches over another, over the picture's edge, or out of the bar it names. */
static void test_labels_fit(void)
{
    struct psc_arena arena = {0};
    struct draw_scene *scenes[] = {draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD),
                                   draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL), scene_of_arena(&arena)};
    struct psc_type *type = psc_type_new();
    struct psc_layout l = {0};
    unsigned looked = 0;
    draw_scene_add_records(scenes[0]);
    for (size_t k = 0; k < G_N_ELEMENTS(scenes) * G_N_ELEMENTS(looks); k++) {
        const struct look *look = &looks[k / 3];
        const struct psc_scene *s = scenes[k % 3]->scene;
        struct psc_view v;
        psc_view_init(&v, s, look->width, look->height);
        psc_view_set_range(&v, s, look->lo, look->hi);
        v.mode = look->mode, v.fold = look->fold;
        v.colour = k % 3 ? PSC_BY_ROLE : PSC_BY_RECORD;
        lay_out(&l, s, &v, type);
        g_assert_cmpuint(l.label_n, >, 20);
        for (size_t i = 0; i < l.label_n; i++) {
            struct box a = box_of(&l.labels[i]);
            const char *text = l.text + l.labels[i].text;
            if (l.labels[i].clip && (a.y0 < l.frame.lanes.y0 || a.y1 > l.frame.lanes.y1))
                continue; /* scrolled out */
            if (a.x0 < 0 || a.x1 > v.width + 0.5)
                g_error("'%s' reaches over the edge: %g .. %g of %g", text, a.x0, a.x1, v.width);
            for (size_t j = 0; j < i; j++) {
                struct box b = box_of(&l.labels[j]);
                if (l.labels[i].clip == l.labels[j].clip && a.x0 < b.x1 - 0.5 && b.x0 < a.x1 - 0.5 && a.y0 < b.y1 && b.y0 < a.y1)
                    g_error("look %zu: '%s' and '%s' lie over each other", k, text, l.text + l.labels[j].text);
            }
            if (l.labels[i].font != PSC_FONT_BAR && l.labels[i].font != PSC_FONT_BAR_BOLD)
                continue;
            bool held = false;
            for (size_t b = 0; b < l.bar_n && !held; b++)
                held = a.x0 >= l.bars[b].x0 && a.x1 <= l.bars[b].x1 && a.y0 >= l.bars[b].y0 - 1 && a.y1 <= l.bars[b].y1 + 1;
            if (!held)
                g_error("look %zu: '%s' reaches out of its bar", k, text);
            looked++;
        }
    }
    g_assert_cmpuint(looked, >, 150);
    psc_layout_release(&l);
    psc_type_free(type);
    for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++)
        draw_scene_free(scenes[i]);
    psc_arena_release(&arena);
}

/* Regions outlive a phase: their rows stand at the same place in both graphs, at any size and however the pools above
 * are scrolled; nothing of the pools lies on them. */
static void test_kv_stays(void)
{
    struct draw_scene *d[2] = {draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD),
                               draw_scene_of(&qwen_decode, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD)};
    static const double heights[] = {320, 380, 460, 560, 710, 900};
    unsigned looked = 0, scrolled = 0;
    for (size_t h = 0; h < G_N_ELEMENTS(heights); h++)
        for (int mode = PSC_VIEW_ROWS; mode <= PSC_VIEW_MAP; mode++) {
            float places[2][64];
            uint32_t n[2] = {0, 0};
            for (int k = 0; k < 2; k++) {
                struct psc_layout l = {0};
                struct psc_view v;
                psc_view_init(&v, d[k]->scene, 720, heights[h]);
                v.mode = (enum psc_view_mode)mode;
                lay_out(&l, d[k]->scene, &v, NULL);
                double most = fmax(0, (double)(l.frame.content - (l.frame.lanes.y1 - l.frame.lanes.y0)));
                for (v.y = 0; v.y <= most; v.y += fmax(1, most / 3)) {
                    lay_out(&l, d[k]->scene, &v, NULL);
                    n[k] = 0;
                    for (size_t i = 0; i < l.track_n; i++) {
                        const struct psc_track *p = &l.tracks[i];
                        bool kv = p->kind == PSC_TRACK_ROW && d[k]->scene->lanes[d[k]->scene->rows[p->row].lane].kind == PSC_LANE_KV;
                        if (kv && n[k] < 64)
                            places[k][n[k]++] = p->y0;
                        else if (p->kind != PSC_TRACK_WEIGHTS)
                            g_assert_cmpfloat(p->y1, <=, l.frame.kept_y);
                    }
                    scrolled += v.y > 0;
                }
                for (uint32_t r = 0; r < d[k]->scene->row_n; r++) { /* a row that is scrolled away can be brought back */
                    v.y = psc_layout_scroll_to(&l, r);
                    lay_out(&l, d[k]->scene, &v, NULL);
                    const struct psc_track *p = psc_layout_track(&l, r);
                    if (!p || p->low > p->y1 + 1 || p->y0 < l.frame.lanes.y0 - 1)
                        g_error("%.0f px, mode %d, row %u: %.1f %.1f low %.1f lanes %.1f %.1f kept %.1f", heights[h], mode, r, p ? p->y0 : -1, p ? p->y1 : -1, p ? p->low : -1, l.frame.lanes.y0, l.frame.lanes.y1, l.frame.kept_y);
                }
                psc_layout_release(&l);
            }
            g_assert_cmpuint(n[0], ==, 24);
            g_assert_cmpuint(n[1], ==, 24);
            for (uint32_t i = 0; i < 24; i++, looked++)
                g_assert_cmpfloat(places[0][i], ==, places[1][i]);
        }
    g_assert_cmpuint(looked, ==, 24 * 2 * G_N_ELEMENTS(heights));
    g_assert_cmpuint(scrolled, >, 4);
    draw_scene_free(d[0]);
    draw_scene_free(d[1]);
}

/* In rows of any height: where one is high the marks keep to its edges, but for those of an op that writes over what it reads. */
static void test_labels_clear_of_marks(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_type *type = psc_type_new();
    static const double heights[] = {900, 3200}, ends[] = {148, 121};
    struct psc_layout l = {0};
    unsigned looked = 0, in_the_middle = 0;
    for (size_t h = 0; h < G_N_ELEMENTS(heights); h++) {
        struct psc_view v;
        psc_view_init(&v, d->scene, 1600, heights[h]);
        psc_view_set_range(&v, d->scene, 109, ends[h]);
        v.position = 119, v.step_aside = true, v.mode = h ? PSC_VIEW_MAP : PSC_VIEW_ROWS;
        lay_out(&l, d->scene, &v, type);
        double now = psc_axis_right(&l.axis, 119);
        for (size_t i = 0; i < l.label_n; i++) {
            struct box a = box_of(&l.labels[i]);
            if (l.labels[i].font != PSC_FONT_BAR || !l.labels[i].clip)
                continue;
            g_assert_false(a.x0 < now + 1 && a.x1 > now - 1);
            for (size_t m = 0; m < l.mark_lanes_end; m++)
                if (fabs(l.marks[m].y - l.labels[i].y) < 16)
                    g_assert_false(l.marks[m].x + 5 > a.x0 && l.marks[m].x - 5 < a.x1);
            looked++;
        }
        for (size_t m = 0; h && m < l.mark_lanes_end; m++)
            in_the_middle += l.marks[m].kind == PSC_MARK_READWRITE;
    }
    g_assert_cmpuint(looked, >, 30);
    g_assert_cmpuint(in_the_middle, >, 1);
    psc_layout_release(&l);
    psc_type_free(type);
    draw_scene_free(d);
}

static void test_in_place_chain(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, d->scene, 1600, 900);
    psc_view_set_range(&v, d->scene, 109, 148);
    v.no_text = true;
    lay_out(&l, d->scene, &v, NULL);
    uint32_t rope = psc_scene_bar_of_node(d->scene, 115), q = psc_scene_bar_of_node(d->scene, 112);
    uint8_t edge[2] = {0};
    unsigned diamonds = 0, stitches = 0;
    for (size_t i = 0; i < l.bar_n; i++) {
        if (l.bars[i].bar == q)
            edge[0] = l.bars[i].edge;
        if (l.bars[i].bar == rope)
            edge[1] = l.bars[i].edge;
        stitches += (l.bars[i].edge & PSC_EDGE_STITCH) != 0;
    }
    g_assert_true(edge[0] & PSC_EDGE_SEAM_RIGHT);
    g_assert_true(edge[1] & PSC_EDGE_SEAM_LEFT);
    for (size_t i = 0; i < l.mark_lanes_end; i++)
        diamonds += l.marks[i].kind == PSC_MARK_READWRITE;
    g_assert_cmpuint(diamonds, ==, 4); /* rope q and rope k of two layers */
    g_assert_cmpuint(stitches, >=, 4);
    psc_layout_release(&l);
    draw_scene_free(d);
}

static void test_heights(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, d->scene, 1050, 800);
    psc_view_set_range(&v, d->scene, 107, 134);
    v.no_text = true, v.fold = true, v.mode = PSC_VIEW_MAP, v.height = PSC_HEIGHT_LINEAR;
    lay_out(&l, d->scene, &v, NULL);
    const struct psc_track *b8 = psc_layout_track(&l, 8), *b9 = psc_layout_track(&l, 9), *b0 = psc_layout_track(&l, 0);
    g_assert_cmpfloat(b8->y1 - b8->y0, ==, b9->y1 - b9->y0);
    g_assert_cmpfloat(b0->y1 - b0->y0, ==, 13);
    g_assert_cmpfloat(b8->y1 - b8->y0, >, 60);
    g_assert_cmpfloat(l.frame.content, <=, l.frame.lanes.y1 - l.frame.lanes.y0 + 1);
    v.mode = PSC_VIEW_ROWS;
    lay_out(&l, d->scene, &v, NULL);
    for (size_t i = 0; i < l.track_n; i++)
        if (l.tracks[i].kind == PSC_TRACK_ROW && l.tracks[i].row < 11) {
            g_assert_cmpfloat(l.tracks[i].y1 - l.tracks[i].y0, >=, 17);
            g_assert_cmpfloat(l.tracks[i].y1 - l.tracks[i].y0, <=, 34);
        }
    v.y_zoom = 3;
    lay_out(&l, d->scene, &v, NULL);
    g_assert_cmpfloat(l.frame.content, >, l.frame.lanes.y1 - l.frame.lanes.y0);
    v.y = psc_layout_scroll_to(&l, 10);
    lay_out(&l, d->scene, &v, NULL);
    g_assert_cmpfloat(psc_layout_track(&l, 10)->y1, <=, l.frame.lanes.y1 + 1);
    psc_layout_release(&l);
    draw_scene_free(d);
}

static void test_usage_reaches_the_peak(void)
{
    struct psc_arena arena = {0};
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_layout l = {0};
    struct psc_view v;
    for (double width = 300; width <= 1600; width += 325) { /* a peak of one position is not thinned away */
        psc_view_init(&v, d->scene, width, 900);
        v.no_text = true;
        lay_out(&l, d->scene, &v, NULL);
        float top = l.frame.usage.y1;
        const struct psc_curve *c = &l.curves[l.curve_n - 2];
        for (uint32_t i = 0; i < c->n; i++) {
            top = fminf(top, l.points[c->at + 2 * i + 1]);
            if (i)
                g_assert_cmpfloat(l.points[c->at + 2 * i], >=, l.points[c->at + 2 * i - 2]);
        }
        g_assert_cmpfloat_with_epsilon(top, l.frame.usage.y0 + (l.frame.small ? 20 : 24), 0.5);
    }
    psc_layout_release(&l);
    draw_scene_free(d);
    psc_arena_release(&arena);
}

/* A picture that is all curve has lanes of no height: where two splits meet nothing is tinted there, only below. */
static void test_usage_of_splits(void)
{
    static const int32_t gaps[] = {100, 200};
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    d->scene->gaps = gaps, d->scene->gap_n = G_N_ELEMENTS(gaps);
    for (int mode = PSC_VIEW_ROWS; mode <= PSC_VIEW_USAGE; mode++)
        for (int close = 0; close < 2; close++) {
            struct psc_layout l = {0}; /* new each time: there is no fill yet when the grid is drawn */
            struct psc_view v;
            unsigned tinted = 0;
            psc_view_init(&v, d->scene, 1000, 640);
            psc_view_set_range(&v, d->scene, close ? 190 : -1, close ? 210 : 441);
            v.mode = (enum psc_view_mode)mode, v.no_text = true;
            lay_out(&l, d->scene, &v, NULL);
            for (size_t i = 0; i < l.fill_n; i++) {
                bool grid = l.fills[i].part == 110 && l.fills[i].colour == PSC_COL_STAGE_FILL;
                g_assert_true(!grid || l.fills[i].area.y1 > l.fills[i].area.y0);
                tinted += grid;
            }
            g_assert_cmpuint(tinted, >=, close ? 1 : 0);
            psc_layout_release(&l);
        }
    draw_scene_free(d);
}

/* ---- stories, memory ------------------------------------------------------------------- */

static void test_stories(void)
{
    struct test_story (*const tell[])(struct psc_arena *, bool) = {test_story_candela, test_story_arena, test_story_leases};
    unsigned alarms = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(tell); i++)
        for (int wrong = 0; wrong < 2; wrong++) {
            struct psc_arena arena = {0};
            struct test_story t = tell[i](&arena, wrong);
            struct draw_scene *d = draw_scene_story(t.graph, t.story);
            struct psc_layout l = {0};
            struct psc_view v;
            psc_view_init(&v, d->scene, 800, 400);
            v.no_text = true;
            lay_out(&l, d->scene, &v, NULL);
            uint32_t bars = 0;
            for (size_t k = 0; k < l.bar_n; k++)
                bars += l.bars[k].count;
            g_assert_cmpuint(bars, ==, d->history->tenancy_n);
            g_assert_cmpuint(l.alarm_n, ==, d->check.finding_n);
            if (wrong)
                alarms += l.alarm_n > 0;
            else
                g_assert_cmpuint(l.alarm_n, ==, 0);
            psc_layout_release(&l);
            draw_scene_free(d);
            psc_arena_release(&arena);
        }
    g_assert_cmpuint(alarms, ==, 3);
}

static enum psc_status build_all(void *data)
{
    struct draw_scene *d = data;
    struct psc_arena arena = {0};
    struct psc_scene_source source = {.story = d->story, .history = d->history, .graph = d->graph, .check = &d->check,
                                      .records = &d->records, .planned = d->planned, .comparison = d->comparison};
    struct psc_scene *scene = NULL;
    struct psc_layout l = {0};
    enum psc_status status = psc_scene_build(&arena, &source, &scene, NULL);
    if (status == PSC_OK) {
        struct psc_view v;
        psc_view_init(&v, scene, 900, 500);
        v.no_text = true;
        psc_view_set_range(&v, scene, 400, 440);
        status = psc_layout_build(&l, scene, &v, NULL, NULL);
    }
    psc_layout_release(&l);
    psc_arena_release(&arena);
    return status;
}

/* Of the values that positions 4 .. 11 write, nothing is there before position 12; what the rest writes is there at once. */
static const struct psc_queued queued[] = {{.first = 4, .last = 11, .done = 12, .lane = 1}};

static void test_pending(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, d->scene, 1600, 900);
    v.no_text = true;
    psc_view_set_range(&v, d->scene, 0, 30);
    lay_out(&l, d->scene, &v, NULL);
    size_t before = l.hold_n, bars = 0, ghosts = 0, waits = 0, rows = 0, stores = 0, row_waits = 0;
    d->story->queued = queued;
    d->story->queued_n = 1;
    lay_out(&l, d->scene, &v, NULL);
    uint8_t backend = d->story->lanes[1].backend;
    for (size_t i = 0; i < l.bar_n; i++) {
        const struct psc_bar *b = &l.bars[i];
        int32_t first = d->scene->first[b->bar];
        bars += b->count == 1 && first >= 4 && first <= 11 && d->scene->lanes[d->scene->rows[b->row].lane].kind == PSC_LANE_POOL &&
                d->story->buffers[d->history->tenancies[b->bar].buffer].backend == backend;
    }
    float done = (float)psc_axis_left(&l.axis, 12);
    for (uint32_t i = 0; i < d->story->event_n; i++) {
        const struct psc_event *e = &d->story->events[i];
        stores += e->kind == PSC_EV_ROWS_WRITE && e->position >= 4 && e->position <= 11;
    }
    for (size_t i = 0; i < l.hold_n; i++) {
        const struct psc_fill *h = &l.holds[i];
        if (h->part < 255 && h->pattern_colour == PSC_COL_KV_EDGE) {
            rows++;
            g_assert_cmpfloat(h->area.x1, ==, done);
            g_assert_cmpfloat(h->area.x0, >=, (float)psc_axis_left(&l.axis, 4) - 1);
            for (size_t k = 0; k < l.track_n; k++) { /* a band inside the layer's track */
                const struct psc_track *t = &l.tracks[k];
                if (t->kind == PSC_TRACK_ROW && d->scene->lanes[d->scene->rows[t->row].lane].kind == PSC_LANE_KV && t->y0 <= h->area.y0 &&
                    t->y1 >= h->area.y1)
                    row_waits++;
            }
        } else if (h->part < 255) {
            ghosts++;
            g_assert_cmpfloat(h->area.x1, <=, done);
            g_assert_cmpfloat(h->area.x0, >=, (float)psc_axis_left(&l.axis, 4) - 1);
            g_assert_cmpuint(h->colour, ==, PSC_COL_CANVAS);
        }
        waits += h->area.x0 < done && h->area.x1 > done && h->area.x1 - h->area.x0 == 3;
    }
    g_assert_cmpuint(bars, >, 3);
    g_assert_cmpuint(ghosts, ==, bars);
    g_assert_cmpuint(stores, >, 0);
    g_assert_cmpuint(2 * rows, ==, stores); /* K and V of a layer are one band */
    g_assert_cmpuint(row_waits, ==, rows);
    g_assert_cmpuint(waits, ==, 1 + rows);
    g_assert_cmpuint(l.hold_n, ==, before + ghosts + rows + waits);
    psc_view_set_range(&v, d->scene, 11, 30); /* it was enqueued before what is in view, and is still on its way there */
    lay_out(&l, d->scene, &v, NULL);
    rows = 0;
    for (size_t i = 0; i < l.hold_n; i++)
        rows += l.holds[i].part < 255 && l.holds[i].pattern_colour == PSC_COL_KV_EDGE;
    g_assert_cmpuint(2 * rows, ==, stores);
    psc_layout_release(&l);
    draw_scene_free(d);
}

static void test_oom(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL);
    draw_scene_add_records(d);
    d->story->queued = queued;
    d->story->queued_n = 1;
    g_assert_cmpuint(test_oom_loop(build_all, d), >, 10);
    draw_scene_free(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ui/draw/layout/kv-rows-keep-their-place-from-phase-to-phase", test_kv_stays);
    g_test_add_func("/ui/draw/layout/a-dense-arena-is-a-picture-of-its-bytes", test_packed_cover);
    g_test_add_func("/ui/draw/layout/a-million-ranges-and-three-alarms-give-three-marks", test_million_three_alarms);
    g_test_add_func("/ui/draw/layout/alarms-are-never-thinned", test_many_alarms_all_there);
    g_test_add_func("/ui/draw/layout/coverage-is-exact", test_coverage);
    g_test_add_func("/ui/draw/layout/merged-bars-count-every-range", test_merge_counts);
    g_test_add_func("/ui/draw/layout/hit-is-the-inverse", test_hit_inverse);
    g_test_add_func("/ui/draw/layout/hit-knows-every-area", test_hit_areas);
    g_test_add_func("/ui/draw/layout/labels-fit-and-never-overlap", test_labels_fit);
    g_test_add_func("/ui/draw/layout/labels-step-aside-for-marks-and-now-line", test_labels_clear_of_marks);
    g_test_add_func("/ui/draw/layout/in-place-chain-has-seam-and-diamond", test_in_place_chain);
    g_test_add_func("/ui/draw/layout/heights-follow-bytes", test_heights);
    g_test_add_func("/ui/draw/layout/usage-reaches-its-peak-at-any-width", test_usage_reaches_the_peak);
    g_test_add_func("/ui/draw/layout/usage-of-a-run-in-splits", test_usage_of_splits);
    g_test_add_func("/ui/draw/layout/three-stories-are-drawn", test_stories);
    g_test_add_func("/ui/draw/layout/what-is-only-enqueued-is-a-ghost-until-the-wait", test_pending);
    g_test_add_func("/ui/draw/layout/oom", test_oom);
    return g_test_run();
}
