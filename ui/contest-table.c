#include "ui/contest-table.h"

#include "ui/contest.h"
#include "ui/draw/palette.h"

#define BREAK 1.25 /* bars over so many times the largest but one of the rest are broken off */

static const PscEntrant *at(PscWorkspace *ws, uint32_t row)
{
    return psc_contest_at(psc_contest_of(ws), row);
}

static uint32_t count(PscWorkspace *ws)
{
    return psc_contest_n(psc_contest_of(ws));
}

static void name_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_add(out, at(ws, row)->name);
    if (psc_contest_own(psc_contest_of(ws)) == row)
        psc_text_add(out, "  \xe2\x97\x8f in use");
}

static int order_compare(PscWorkspace *ws G_GNUC_UNUSED, uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* A number of the entrant, or why there is none. */
static void number_text(PscWorkspace *ws, uint32_t row, struct psc_text *out, uint64_t n)
{
    char buf[32];
    if (at(ws, row)->contender.able)
        psc_text_add(out, psc_thousands(n, buf, sizeof buf));
}

static int number_compare(PscWorkspace *ws, uint32_t a, uint32_t b, uint64_t x, uint64_t y)
{
    if (at(ws, a)->contender.able != at(ws, b)->contender.able)
        return at(ws, a)->contender.able ? -1 : 1;
    return x < y ? -1 : x > y;
}

#define NUMBER(field)                                                                                                   \
    static void field##_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)                                      \
    {                                                                                                                   \
        number_text(ws, row, out, at(ws, row)->contender.cost.field);                                                   \
    }                                                                                                                   \
    static int field##_compare(PscWorkspace *ws, uint32_t a, uint32_t b)                                                \
    {                                                                                                                   \
        return number_compare(ws, a, b, at(ws, a)->contender.cost.field, at(ws, b)->contender.cost.field);              \
    }
NUMBER(buffers)
NUMBER(reserved)
NUMBER(lower_bound)
NUMBER(peak_live)
NUMBER(padding)
NUMBER(holes)
NUMBER(in_place)

/* A bar of full width: the largest that is not far above the one before it, so that naive does not flatten all others. */
static double full_bar(PscWorkspace *ws)
{
    double most = 1;
    for (uint32_t i = 0; i < count(ws); i++) {
        double own = at(ws, i)->contender.able ? (double)at(ws, i)->contender.cost.reserved : 0;
        if (own > most && (most <= 1 || own < 3 * most))
            most = own;
    }
    return most;
}

static double reserved_bar(PscWorkspace *ws, uint32_t row, guint *ret_colour)
{
    double part = (double)at(ws, row)->contender.cost.reserved / full_bar(ws);
    *ret_colour = PSC_COL_ACT_FILL;
    return !at(ws, row)->contender.able ? -1 : part > 1 ? BREAK : part * 0.94;
}

static double bound_mark(PscWorkspace *ws, uint32_t row)
{
    return at(ws, row)->contender.able ? 0.94 * (double)at(ws, row)->contender.cost.lower_bound / full_bar(ws) : 0;
}

static void no_text(PscWorkspace *ws G_GNUC_UNUSED, uint32_t row G_GNUC_UNUSED, struct psc_text *out)
{
    psc_text_add(out, "");
}

static void ratio_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    if (at(ws, row)->contender.able)
        psc_text_addf(out, "%.3f", at(ws, row)->contender.cost.ratio);
}

static int ratio_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    double x = at(ws, a)->contender.cost.ratio, y = at(ws, b)->contender.cost.ratio;
    return x < y ? -1 : x > y;
}

static void time_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    double ms = at(ws, row)->contender.milliseconds;
    if (!at(ws, row)->contender.able || ms < 0)
        return;
    if (ms < 1)
        psc_text_addf(out, "%.0f \xc2\xb5s", ms * 1000);
    else
        psc_text_addf(out, "%.*f ms", ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
}

static int time_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    double x = at(ws, a)->contender.milliseconds, y = at(ws, b)->contender.milliseconds;
    return x < y ? -1 : x > y;
}

static void check_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const PscEntrant *e = at(ws, row);
    if (!e->done)
        psc_text_add(out, "\xe2\x80\xa6");
    else if (!e->contender.able)
        psc_text_addf(out, "cannot: %s", e->contender.why);
    else if (e->finding_n)
        psc_text_addf(out, "\xe2\x9a\xa0 %u clobber%s", e->finding_n, e->finding_n == 1 ? "" : "s");
    else
        psc_text_add(out, "\xe2\x9c\x93 clean");
}

static int check_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return number_compare(ws, a, b, at(ws, a)->finding_n, at(ws, b)->finding_n);
}

static const char *check_style(PscWorkspace *ws, uint32_t row)
{
    const PscEntrant *e = at(ws, row);
    return !e->done || !e->contender.able ? "dim" : e->finding_n ? "clobber" : "right";
}

static void pick(PscWorkspace *ws, uint32_t row)
{
    psc_contest_pick(psc_contest_of(ws), row);
}

static void use(PscWorkspace *ws, uint32_t row)
{
    psc_contest_use(psc_contest_of(ws), row);
}

static uint32_t picked(PscWorkspace *ws)
{
    return psc_contest_picked(psc_contest_of(ws));
}

static const PscColumn columns[] = {
    {.title = "planner", .width = 150, .names_row = TRUE, .text = name_text, .compare = order_compare},
    {.title = "buffers", .width = 62, .right = TRUE, .text = buffers_text, .compare = buffers_compare},
    {.title = "bytes reserved", .width = 104, .right = TRUE, .text = reserved_text, .compare = reserved_compare},
    {.title = "", .expand = TRUE, .text = no_text, .compare = reserved_compare, .bar = reserved_bar, .mark = bound_mark},
    {.title = "\xc3\x97 bound", .width = 66, .right = TRUE, .text = ratio_text, .compare = ratio_compare},
    {.title = "lower bound", .width = 96, .right = TRUE, .spare = TRUE, .text = lower_bound_text, .compare = lower_bound_compare},
    {.title = "peak live", .width = 96, .right = TRUE, .spare = TRUE, .text = peak_live_text, .compare = peak_live_compare},
    {.title = "padding", .width = 84, .right = TRUE, .spare = TRUE, .text = padding_text, .compare = padding_compare},
    {.title = "holes", .width = 96, .right = TRUE, .text = holes_text, .compare = holes_compare},
    {.title = "in place", .width = 64, .right = TRUE, .spare = TRUE, .text = in_place_text, .compare = in_place_compare},
    {.title = "plan time", .width = 78, .right = TRUE, .spare = TRUE, .text = time_text, .compare = time_compare},
    {.title = "check", .width = 100, .text = check_text, .compare = check_compare, .style = check_style},
};
const PscTableKind psc_contest_table = {
    .label = "Planners", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count, .select = pick, .activate = use,
    .selected = picked,
};
