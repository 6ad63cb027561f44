#include "tests/played.h"

#include "core/debug/history.h"

#include <string.h>

void played_done(struct played *p)
{
    psc_report_release(&p->report);
    psc_arena_release(&p->arena);
}

struct psc_check played_check(struct played *p)
{
    struct psc_check check;
    struct psc_error error = {0};
    struct psc_history *history;
    g_assert_cmpint(psc_story_check(p->story, &error), ==, PSC_OK);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(psc_check_story(&p->arena, NULL, p->story, &check, &error), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&p->arena, p->story, &history, &error), ==, PSC_OK);
    return check;
}

gboolean played_said(const struct played *p, const char *words)
{
    for (size_t i = 0; i < p->report.n; i++)
        if (strstr(p->report.items[i].text, words))
            return TRUE;
    for (size_t i = 0; i < p->report.n; i++)
        g_test_message("said: %s", p->report.items[i].text);
    return FALSE;
}
