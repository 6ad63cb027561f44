/* Pages of boxes, words and arrows, without a display: candela's planner from the inside. */
#include "tests/draw-panel.h"
#include "tests/panel-source.h"
#include "tests/util.h"
#include "ui/draw/render.h"

#include <glib/gstdio.h>
#include <string.h>

#define TAKEOVER "a = [[1, 2], [3, 4]]; t = transpose(a); n = noop(t); u = n + 1; k = as_contiguous(n); v = k * n; s = u + v; " \
                 "m = matmul(s, a); c = cache(m); r = c * 2"

struct shown {
    struct psc_arena arena;
    struct psc_candela_tale *tale;
    struct psc_arena_axis *axis;
    struct psc_panel panel;
    struct psc_type *type;
};

static void set_up(struct shown *s, const char *text)
{
    memset(s, 0, sizeof *s);
    s->tale = panel_tale(&s->arena, text);
    s->type = psc_type_new();
}

static void tear_down(struct shown *s)
{
    psc_panel_release(&s->panel);
    psc_type_free(s->type);
    psc_arena_release(&s->arena);
}

static const struct psc_candela_view *show(struct shown *s, int32_t position, double width, double height, double swing, bool dark)
{
    struct psc_candela_view *v;
    struct psc_candela_look look = {.width = width, .height = height, .swing = swing, .dark = dark};
    g_assert_cmpint(psc_candela_view_at(&s->arena, s->tale, position, &v, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_candela_page_build(&s->panel, v, &look, s->type, NULL), ==, PSC_OK);
    return v;
}

static unsigned labels_with(const struct psc_panel *p, const char *text)
{
    unsigned n = 0;
    for (size_t i = 0; i < p->base.label_n; i++)
        n += strstr(p->base.text + p->base.labels[i].text, text) != NULL;
    return n;
}

/* ---- the expression ------------------------------------------------------------------------------------------------ */

/* No word leaves the page or is lost: what is cut has a tip with all of it. */
static void test_fits(void)
{
    static const double widths[] = {320, 560, 740, 920, 1290};
    struct shown s;
    unsigned pages = 0;
    set_up(&s, TAKEOVER);
    for (size_t w = 0; w < G_N_ELEMENTS(widths); w++)
        for (int32_t p = -1; p <= 9; p++, pages++) {
            show(&s, p, widths[w], p % 2 ? 450 : 700, 1, p % 3 == 0);
            panel_fits(&s.panel, widths[w]);
        }
    g_assert_cmpuint(pages, ==, 55);
    tear_down(&s);
}

/* Stepping keeps the parts in their places. */
static void test_places_stay(void)
{
    struct shown s;
    float head = 0;
    set_up(&s, TAKEOVER);
    for (int32_t p = -1; p <= 9; p++) {
        show(&s, p, 740, 450, 1, false);
        for (size_t i = 0; i < s.panel.base.label_n; i++)
            if (!strcmp(s.panel.base.text + s.panel.base.labels[i].text, "DECISION")) {
                g_assert_true(head == 0 || head == s.panel.base.labels[i].y);
                head = s.panel.base.labels[i].y;
            }
    }
    g_assert_cmpfloat(head, >, 100);
    tear_down(&s);
}

/* At k the arrow of n turns from t to k; the dashed one stays where it pointed. */
static void test_arrow_swings(void)
{
    struct shown s;
    set_up(&s, TAKEOVER);
    show(&s, 2, 740, 450, 1, false);
    g_assert_cmpuint(s.panel.arrow_n, ==, 1);
    float ends[3];
    for (int i = 0; i < 3; i++) {
        const struct psc_candela_view *v = show(&s, 3, 740, 450, i / 2.0, false);
        g_assert_cmpstr(v->arrows[0].before, ==, "t");
        g_assert_cmpuint(s.panel.arrow_n, ==, 3);
        g_assert_cmpint(s.panel.arrows[0].dash, ==, PSC_DASH_GHOST);
        ends[i] = s.panel.arrows[1].y1;
    }
    g_assert_true(ends[0] == s.panel.arrows[0].y1);
    g_assert_true(ends[0] > ends[1] && ends[1] > ends[2]);
    g_assert_true(ends[2] == s.panel.arrows[2].y1); /* both end at k */
    show(&s, 4, 740, 450, 1, false);
    g_assert_cmpuint(s.panel.arrow_n, ==, 2);
    tear_down(&s);
}

static void test_words(void)
{
    struct shown s;
    set_up(&s, TAKEOVER);
    show(&s, 4, 740, 450, 1, false);
    g_assert_cmpuint(labels_with(&s.panel, "\xe2\x9c\x97 no"), ==, 3);
    g_assert_cmpuint(labels_with(&s.panel, "\xe2\x9c\x93 yes"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "in place over k, on the right"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "is listed now"), ==, 1);
    show(&s, 0, 740, 450, 1, false);
    g_assert_cmpuint(labels_with(&s.panel, "Empty: up to here"), ==, 1);
    g_assert_cmpuint(s.panel.arrow_n, ==, 0);
    show(&s, 9, 740, 450, 1, false);
    g_assert_cmpuint(labels_with(&s.panel, "The plan is made"), ==, 1);
    tear_down(&s);
}

/* Every step's chip leads to its position. */
static void test_tips_lead(void)
{
    struct shown s;
    unsigned led = 0;
    set_up(&s, TAKEOVER);
    show(&s, 4, 740, 450, 1, false);
    for (size_t i = 0; i < s.panel.tip_n; i++) {
        const struct psc_panel_tip *tip = &s.panel.tips[i];
        const struct psc_panel_tip *hit = psc_panel_at(&s.panel, (double)(tip->area.x0 + tip->area.x1) / 2, (double)(tip->area.y0 + tip->area.y1) / 2);
        g_assert_nonnull(hit);
        if (strstr(psc_panel_tip_text(&s.panel, tip), "click to go")) {
            g_assert_cmpint(hit->position, ==, tip->position);
            g_assert_cmpint(tip->position, ==, (int)led);
            led++;
        }
    }
    g_assert_cmpuint(led, ==, 9);
    g_assert_null(psc_panel_at(&s.panel, 739, 0));
    tear_down(&s);
}

/* Rows of generations are chosen, all but the one that is shown; a step that is not decided alike leads there. */
static void test_generations(void)
{
    struct shown s;
    unsigned chosen = 0, leads = 0, levels = 0, beside = 0;
    set_up(&s, TAKEOVER);
    const struct psc_candela_view *v = show(&s, 5, 740, 450, 1, false);
    g_assert_cmpuint(v->rival_n, ==, 5);
    for (size_t i = 0; i < s.panel.tip_n; i++) {
        const struct psc_panel_tip *tip = &s.panel.tips[i];
        if (tip->choice == PSC_CANDELA_LEVELS) {
            g_assert_true(strstr(psc_panel_tip_text(&s.panel, tip), "one by one") != NULL);
            levels++;
        } else if (tip->choice >= 0) {
            g_assert_false(v->rivals[tip->choice].current);
            g_assert_nonnull(strstr(psc_panel_tip_text(&s.panel, tip), v->rivals[tip->choice].name));
            g_assert_true(psc_panel_at(&s.panel, 100, (double)tip->area.y0 + 8) == tip);
            chosen++;
        }
        leads += strstr(psc_panel_tip_text(&s.panel, tip), "is not decided alike") != NULL && tip->position >= 0;
        beside += strstr(psc_panel_tip_text(&s.panel, tip), "may run beside this one") != NULL && tip->position >= 0;
    }
    g_assert_cmpuint(levels, ==, 1);
    g_assert_cmpuint(beside, ==, v->beside_all);
    g_assert_cmpuint(labels_with(&s.panel, "LEVEL"), ==, 1);
    g_assert_cmpuint(chosen, ==, 4);
    g_assert_cmpuint(leads, ==, v->differ_n);
    g_assert_cmpuint(labels_with(&s.panel, "GENERATIONS"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "shown here"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "this generation wants"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "EXECUTOR"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "overwritten here: operand 0"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "given back after it"), ==, 1);
    tear_down(&s);
}

/* A long one: the order turns its pages so that the present node is in sight, and says what is not. */
static void test_long(void)
{
    struct shown s;
    GString *text = g_string_new("x0 = [[1, 2], [3, 4]]");
    for (int i = 1; i < 400; i++)
        g_string_append_printf(text, i % 3 ? "; x%d = noop(x%d)" : "; x%d = matmul(x%d, x0)", i, i - 1);
    set_up(&s, text->str);
    for (int32_t p = 0; p < 130; p += 13) {
        const struct psc_candela_view *v = show(&s, p, 740, 450, 1, false);
        unsigned now = 0;
        for (size_t i = 0; i < s.panel.tip_n; i++)
            now += s.panel.tips[i].position == p && strstr(psc_panel_tip_text(&s.panel, &s.panel.tips[i]), "click to go");
        g_assert_cmpuint(now, ==, 1);
        g_assert_cmpuint(v->order_at, >, 0);
        panel_fits(&s.panel, 740);
    }
    g_assert_cmpuint(labels_with(&s.panel, " more"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "older entries"), ==, 1);
    g_string_free(text, TRUE);
    tear_down(&s);
}

static void test_painted(void)
{
    struct shown s;
    set_up(&s, TAKEOVER);
    for (int dark = 0; dark < 2; dark++) {
        show(&s, 3, 740, 450, 0.5, dark);
        panel_is_painted(&s.panel, s.type, dark);
    }
    tear_down(&s);
}

/* ---- arenas ---------------------------------------------------------------------------------------------------------- */

static void set_up_arenas(struct shown *s, const char *settings, const char *events)
{
    memset(s, 0, sizeof *s);
    s->axis = panel_axis(&s->arena, settings, events);
    s->type = psc_type_new();
}

static const struct psc_arena_view *show_arenas(struct shown *s, int32_t position, double width, double height, bool dark)
{
    struct psc_arena_view *v;
    struct psc_arena_page_look look = {.width = width, .height = height, .dark = dark};
    g_assert_cmpint(psc_arena_view_at(&s->arena, s->axis, position, &v, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_page_build(&s->panel, v, &look, s->type, NULL), ==, PSC_OK);
    return v;
}

static void test_arenas_fit(void)
{
    static const double widths[] = {400, 600, 740, 930, 1290};
    struct shown s;
    set_up_arenas(&s, panel_runs_settings, panel_runs);
    for (int32_t p = -1; p <= (int32_t)s.axis->position_n; p++) {
        double width = widths[(p + 1) % 5];
        show_arenas(&s, p, width, p % 2 ? 450 : 700, p % 3 == 0);
        panel_fits(&s.panel, width);
    }
    tear_down(&s);
}

/* Nine lamps, each with its sign and its words; a broken one says so without colour. */
static void test_lamps(void)
{
    struct shown s;
    set_up_arenas(&s, ",'faults':['a4']", "{'op':'alloc','arena':'io','h':'y','bytes':64},{'op':'export','h':'y','as':'n'},{'op':'clear'},"
                  "{'op':'alloc','arena':'exec','h':'t','bytes':64}");
    show_arenas(&s, 1, 740, 450, false);
    g_assert_cmpuint(labels_with(&s.panel, "\xe2\x9c\x93"), ==, 9);
    show_arenas(&s, 2, 740, 450, false);
    g_assert_cmpuint(labels_with(&s.panel, "4 BROKEN: "), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "\xe2\x9c\x97"), ==, 1);
    unsigned told = 0;
    for (size_t i = 0; i < s.panel.tip_n; i++)
        told += strstr(psc_panel_tip_text(&s.panel, &s.panel.tips[i]), "Invariant 4, clear leaves lent blocks alone: broken since position 2") != NULL;
    g_assert_cmpuint(told, ==, 1);
    tear_down(&s);
}

/* The search step by step, a fallback to growing, and a place that does not change from step to step. */
static void test_tree(void)
{
    struct shown s;
    float head = 0;
    set_up_arenas(&s, ",'arenas':{'exec':{'slots':5}}",
                  "{'op':'alloc','h':'a','bytes':64},{'op':'alloc','h':'b','bytes':128},{'op':'alloc','h':'c','bytes':256},{'op':'alloc','h':'d','bytes':512},"
                  "{'op':'alloc','h':'e','bytes':90},{'op':'free','h':'a'},{'op':'free','h':'b'},{'op':'free','h':'c'},{'op':'free','h':'d'},"
                  "{'op':'free','h':'e'},{'op':'alloc','h':'g','bytes':100},{'op':'alloc','h':'h','bytes':1000},{'op':'trim'}");
    show_arenas(&s, 10, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "1. 128 B"), ==, 1); /* large enough; and a smaller one? */
    g_assert_cmpuint(labels_with(&s.panel, "3. 90 B") + labels_with(&s.panel, "2. 90 B"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "slot 1 of 128 B is the smallest that is enough"), ==, 1);
    show_arenas(&s, 11, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "1000 B asked: none is enough, no slot is unused; the largest, slot 3, is grown"), ==, 1);
    show_arenas(&s, 0, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "64 B asked: 0 sizes looked at, no block is free; slot 0 was unused and gets a new block"), ==, 1);
    for (int32_t p = -1; p <= 13; p++) {
        show_arenas(&s, p, 1000, 450, false);
        for (size_t i = 0; i < s.panel.base.label_n; i++)
            if (!strcmp(s.panel.base.text + s.panel.base.labels[i].text, "ALL RUNS")) {
                g_assert_true(head == 0 || head == s.panel.base.labels[i].y);
                head = s.panel.base.labels[i].y;
            }
    }
    g_assert_cmpfloat(head, >, 100);
    tear_down(&s);
}

/* The line of the search when there are more sizes than a tree is drawn of, and when a broken rule takes another block. */
static void test_search_in_words(void)
{
    struct shown s;
    GString *events = g_string_new(NULL);
    for (int i = 0; i < 20; i++)
        g_string_append_printf(events, "{'op':'alloc','h':'h%d','bytes':%d},", i, 100 * (i + 1));
    for (int i = 19; i >= 0; i--)
        g_string_append_printf(events, "{'op':'free','h':'h%d'},", i);
    g_string_append(events, "{'op':'alloc','h':'x','bytes':250},{'op':'alloc','h':'y','bytes':5000}");
    set_up_arenas(&s, "", events->str);
    show_arenas(&s, 40, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "250 B asked: slot 2 of 300 B is the smallest that is enough"), ==, 1);
    show_arenas(&s, 41, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "asked: none is enough; slot 20 was unused and gets a new block"), ==, 1);
    tear_down(&s);
    set_up_arenas(&s, ",'faults':['a8']", events->str);
    show_arenas(&s, 40, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "is the smallest that is enough"), ==, 0);
    g_assert_cmpuint(labels_with(&s.panel, "is taken, not the smallest that is enough"), ==, 1);
    tear_down(&s);
    g_string_free(events, TRUE);
}

/* Where what is given out comes from, what keeps an arena alive, and which runs touch pages for the first time. */
static void test_routes_and_ends(void)
{
    struct shown s;
    set_up_arenas(&s, "", "{'op':'alloc','arena':'io','h':'y','bytes':5000},{'op':'export','h':'y','as':'p'},{'op':'clear'},"
                  "{'op':'alloc','arena':'exec','h':'t','bytes':8},{'op':'free','h':'t'},{'op':'close'},{'op':'drop','as':'p'}");
    show_arenas(&s, 0, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "declared output y, 4.88 KiB"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "role: io"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "run 1: 2 new pages"), ==, 1);
    show_arenas(&s, 3, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "role: exec"), ==, 1);
    show_arenas(&s, 5, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "Nothing is given out here."), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "kept alive by 1 lease alone"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "gone: nobody holds it"), ==, 1);
    show_arenas(&s, 6, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "gone: nobody holds it"), ==, 2);
    tear_down(&s);
    set_up_arenas(&s, ",'faults':['a14']", "{'op':'alloc','arena':'io','h':'y','bytes':64},{'op':'export','h':'y','as':'p'},{'op':'close'}");
    show_arenas(&s, 2, 1000, 700, false);
    g_assert_cmpuint(labels_with(&s.panel, "gone, and 1 lease is still out"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "8 BROKEN: "), ==, 1);
    tear_down(&s);
}

/* States as words, slack as its own part, leases as strong arrows to the arena that they keep alive. */
static void test_arena_words(void)
{
    struct shown s;
    set_up_arenas(&s, panel_runs_settings, panel_runs);
    const struct psc_arena_view *v = show_arenas(&s, 6, 740, 450, false); /* logits1 */
    g_assert_cmpuint(labels_with(&s.panel, "12.0 KiB of 16.0 KiB"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "plain handle"), ==, 4);
    g_assert_cmpuint(labels_with(&s.panel, "caller: x1"), ==, 1);
    g_assert_cmpuint(v->look.homes[1].refs, ==, 1);
    show_arenas(&s, 7, 740, 450, false);
    g_assert_cmpuint(labels_with(&s.panel, "outside: logits1"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "held by the session and 1 lease"), ==, 1);
    unsigned strong = 0;
    for (size_t i = 0; i < s.panel.arrow_n; i++)
        strong += s.panel.arrows[i].width > 2;
    g_assert_cmpuint(strong, ==, 1);
    tear_down(&s);
}

/* A click on the axis leads to the position under it, and the frame of the cursor stands there. */
static void test_axis_leads(void)
{
    struct shown s;
    unsigned led = 0;
    set_up_arenas(&s, panel_runs_settings, panel_runs);
    show_arenas(&s, 20, 740, 450, false);
    for (size_t i = 0; i < s.panel.tip_n; i++) {
        const struct psc_panel_tip *tip = &s.panel.tips[i];
        if (tip->position == PSC_NO_POSITION)
            continue;
        g_assert_cmpint(psc_panel_at(&s.panel, (double)(tip->area.x0 + tip->area.x1) / 2, (double)tip->area.y0 + 20)->position, ==, (int)led);
        led++;
    }
    g_assert_cmpuint(led, ==, s.axis->position_n + 1);
    for (uint32_t r = 1; r < s.axis->run_n; r++)
        g_assert_cmpint(s.axis->run_at[r], >, s.axis->run_at[r - 1]);
    g_assert_cmpuint(labels_with(&s.panel, "run 2"), ==, 2); /* on the axis, and in the corner */
    tear_down(&s);
}

/* Thousands of slots and positions: the part about this position, and how many there are. */
static void test_many(void)
{
    struct shown s;
    GString *events = g_string_new(NULL);
    for (int i = 0; i < 3000; i++)
        g_string_append_printf(events, "%s{'op':'alloc','arena':'exec','h':'h%d','bytes':%d}", i ? "," : "", i, 64 + i % 7);
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(events, ",{'op':'free','h':'h%d'}", i * 3);
    set_up_arenas(&s, "", events->str);
    show_arenas(&s, 2500, 740, 450, false);
    g_assert_cmpuint(labels_with(&s.panel, "h2500"), >=, 2); /* its cell and its owner */
    g_assert_cmpuint(labels_with(&s.panel, "of 3000"), ==, 1);
    g_assert_cmpuint(labels_with(&s.panel, "more blocks in use"), ==, 1);
    g_assert_cmpuint(s.panel.tip_n, <, 600);
    show_arenas(&s, 3999, 740, 450, false);
    panel_fits(&s.panel, 740);
    g_assert_cmpuint(labels_with(&s.panel, "+9"), >=, 1);
    g_string_free(events, TRUE);
    tear_down(&s);
}

static void test_arenas_painted(void)
{
    struct shown s;
    set_up_arenas(&s, panel_runs_settings, panel_runs);
    for (int dark = 0; dark < 2; dark++) {
        show_arenas(&s, 20, 740, 450, dark);
        panel_is_painted(&s.panel, s.type, dark);
    }
    tear_down(&s);
}

/* The page as a picture: whole, with its words around it. */
static void test_rendered(void)
{
    static const struct { const char *name, *begin; } kinds[] = {{"a.png", "\x89PNG"}, {"a.svg", "<?xml"}, {"a.pdf", "%PDF"}};
    struct shown s;
    char *folder = g_dir_make_tmp("psc-panel-XXXXXX", NULL);
    set_up_arenas(&s, panel_runs_settings, panel_runs);
    show_arenas(&s, 20, 900, 0, false);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        char *path = g_build_filename(folder, kinds[i].name, NULL), *bytes;
        gsize n;
        enum psc_render_format format;
        struct psc_error error = {0};
        struct psc_render_words words = {.title = "runs.json", .verdict = "no problems", .status = "Position 20"};
        g_assert_true(psc_render_format_of(path, &format));
        if (psc_render_panel(&s.panel, s.type, &words, format, path, &error))
            g_error("%s", error.text);
        g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
        g_assert_cmpuint(n, >, 4000);
        g_assert_true(g_str_has_prefix(bytes, kinds[i].begin));
        g_free(bytes);
        g_unlink(path);
        g_free(path);
    }
    g_assert_cmpint(g_rmdir(folder), ==, 0);
    g_free(folder);
    tear_down(&s);
}

static enum psc_status everything_of_arenas(void *data)
{
    struct shown *s = data;
    struct psc_panel panel = {0};
    struct psc_arena arena = {0};
    struct psc_arena_view *v;
    struct psc_arena_page_look look = {.width = 740, .height = 450};
    enum psc_status status = psc_arena_view_at(&arena, s->axis, 20, &v, NULL);
    if (!status)
        status = psc_arena_page_build(&panel, v, &look, NULL, NULL);
    psc_panel_release(&panel);
    psc_arena_release(&arena);
    return status;
}

static void test_arenas_out_of_memory(void)
{
    struct shown s;
    set_up_arenas(&s, panel_runs_settings, panel_runs);
    g_assert_cmpuint(test_oom_loop(everything_of_arenas, &s), >, 5);
    tear_down(&s);
}

static enum psc_status everything(void *data)
{
    struct shown *s = data;
    struct psc_panel panel = {0};
    struct psc_arena arena = {0};
    struct psc_candela_view *v;
    struct psc_candela_look look = {.width = 740, .height = 450, .swing = 0.5};
    enum psc_status status = psc_candela_view_at(&arena, s->tale, 3, &v, NULL);
    if (!status)
        status = psc_candela_page_build(&panel, v, &look, NULL, NULL);
    psc_panel_release(&panel);
    psc_arena_release(&arena);
    return status;
}

static void test_out_of_memory(void)
{
    struct shown s;
    set_up(&s, TAKEOVER);
    g_assert_cmpuint(test_oom_loop(everything, &s), >, 5);
    tear_down(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/draw-panel/candela/fits", test_fits);
    g_test_add_func("/draw-panel/candela/places-stay", test_places_stay);
    g_test_add_func("/draw-panel/candela/an-arrow-swings", test_arrow_swings);
    g_test_add_func("/draw-panel/candela/words", test_words);
    g_test_add_func("/draw-panel/candela/tips-lead", test_tips_lead);
    g_test_add_func("/draw-panel/candela/generations", test_generations);
    g_test_add_func("/draw-panel/candela/long", test_long);
    g_test_add_func("/draw-panel/candela/painted", test_painted);
    g_test_add_func("/draw-panel/candela/out-of-memory", test_out_of_memory);
    g_test_add_func("/draw-panel/arenas/fit", test_arenas_fit);
    g_test_add_func("/draw-panel/arenas/lamps", test_lamps);
    g_test_add_func("/draw-panel/arenas/the-search-in-the-tree", test_tree);
    g_test_add_func("/draw-panel/arenas/the-search-in-words", test_search_in_words);
    g_test_add_func("/draw-panel/arenas/routes-and-ends", test_routes_and_ends);
    g_test_add_func("/draw-panel/arenas/words", test_arena_words);
    g_test_add_func("/draw-panel/arenas/the-axis-leads", test_axis_leads);
    g_test_add_func("/draw-panel/arenas/many", test_many);
    g_test_add_func("/draw-panel/arenas/painted", test_arenas_painted);
    g_test_add_func("/draw-panel/arenas/rendered", test_rendered);
    g_test_add_func("/draw-panel/arenas/out-of-memory", test_arenas_out_of_memory);
    return g_test_run();
}
