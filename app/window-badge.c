/* The badge counts what is wrong in what is shown: clobbers first, then invariants of arenas, then rows that nobody wrote, then
 * records that are not the nodes' own. Behind that it says what is wrong in phases that are not shown; "clean" alone is said
 * of the whole file only. */
#include "app/window-private.h"

#include "core/debug/arena-track.h"
#include "ui/access.h"
#include "ui/navigate.h"
#include "ui/workspace-phases.h"

#define NARROW_CHARS 17 /* of the badge that are never cut off */
#define WIDE_CHARS 30

enum fault { CLEAN, CLOBBERS, INVARIANTS, UNWRITTEN, OVERWRITTEN };

struct verdict {
    enum fault fault;
    uint32_t n;  /* of it */
    uint32_t of; /* records */
};

/* How many invariants of the arenas did not hold at some time of the run. */
static guint broken_invariants(PscStudy *study)
{
    return study && study->analysis->story ? (guint)__builtin_popcount(psc_arena_ever_broken(study->analysis->story)) : 0;
}

static struct verdict verdict_here(PscWorkspace *ws)
{
    uint32_t clobbers, overwritten;
    psc_navigate_problem_n(ws, &clobbers, &overwritten);
    if (clobbers)
        return (struct verdict){.fault = CLOBBERS, .n = clobbers};
    PscStudy *study = psc_workspace_study(ws);
    guint broken = broken_invariants(study);
    if (broken)
        return (struct verdict){.fault = INVARIANTS, .n = broken};
    const struct psc_kv_step *kv = study ? psc_workspace_kv(ws) : NULL;
    if (kv && kv->alarm_n)
        return (struct verdict){.fault = UNWRITTEN, .n = kv->alarm_n};
    if (overwritten)
        return (struct verdict){.fault = OVERWRITTEN, .n = overwritten, .of = psc_workspace_records(ws)->check.n};
    return (struct verdict){.fault = CLEAN};
}

/* While phases wait to be looked at, or something is wrong in one, no more is said than what is known. */
static char *clean_words(PscWindow *self, gboolean elsewhere)
{
    const char *here = self->narrow && elsewhere ? "\xe2\x9c\x93 here" : "\xe2\x9c\x93 clean here";
    if (psc_workspace_all_clean(self->ws))
        return g_strdup("\xe2\x9c\x93 clean");
    return psc_workspace_looking(self->ws, NULL) ? g_strconcat(here, " \xe2\x80\xa6", NULL) : g_strdup(here);
}

static char *words_here(PscWindow *self, const struct verdict *v, gboolean elsewhere)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const char *s = v->n == 1 ? "" : "s";
    switch (v->fault) {
    case CLOBBERS:
        if (self->narrow && elsewhere)
            return g_strdup_printf("\xe2\x9a\xa0 %u", v->n);
        return g_strdup_printf("\xe2\x9a\xa0 %u %s%s", v->n, study->phase.expression ? "problem" : "clobber", s);
    case INVARIANTS: return g_strdup_printf("\xe2\x9a\xa0 %u invariant%s", v->n, s);
    case UNWRITTEN: return g_strdup("\xe2\x9a\xa0 unwritten rows");
    case OVERWRITTEN:
        if (self->narrow && elsewhere)
            return g_strdup_printf("\xe2\x8a\x98 %u", v->n);
        return g_strdup_printf(self->narrow ? "\xe2\x8a\x98 %u of %u" : "\xe2\x8a\x98 %u of %u records", v->n, v->of);
    default: return clean_words(self, elsewhere);
    }
}

static char *told_here(const struct verdict *v, gboolean elsewhere)
{
    switch (v->fault) {
    case CLOBBERS: return g_strdup_printf("%u clobber%s. Show the list of problems", v->n, v->n == 1 ? "" : "s");
    case INVARIANTS: return g_strdup_printf("%u of the arenas\xe2\x80\x99 invariants broke. Inside (I) shows which and where", v->n);
    case UNWRITTEN: return g_strdup("Rows are read that nobody wrote. Show what the step writes and reads");
    case OVERWRITTEN: return g_strdup_printf("%u records are overwritten. Show the recorded values", v->n);
    default:
        return g_strdup(elsewhere ? "No problem found in this phase. Show the next phase that has some (X)"
                                  : "No problem found. Show the list of problems");
    }
}

/* What it leads to: its own fault; of a clean phase, and one whose records alone are wrong, the next clobber of another. */
static void lead(PscWindow *self, enum fault fault, gboolean elsewhere)
{
    static const char *const tabs[] = {
        [CLEAN] = "problems", [CLOBBERS] = "problems", [INVARIANTS] = "inside", [UNWRITTEN] = "kv", [OVERWRITTEN] = "records"};
    GtkActionable *badge = GTK_ACTIONABLE(self->badge);
    gboolean on = elsewhere && (fault == CLEAN || fault == OVERWRITTEN);
    const char *name = on ? "win.next-wrong-phase" : fault == INVARIANTS ? "win.mode" : "win.drawer-tab";
    if (g_strcmp0(gtk_actionable_get_action_name(badge), name) != 0) /* a name and a target that do not fit are complained of */
        gtk_actionable_set_action_name(badge, NULL);
    gtk_actionable_set_action_target_value(badge, on ? NULL : g_variant_new_string(tabs[fault]));
    gtk_actionable_set_action_name(badge, name);
}

void psc_window_show_badge(PscWindow *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    struct verdict here = verdict_here(self->ws);
    char *elsewhere = psc_workspace_elsewhere(self->ws), *own = words_here(self, &here, elsewhere != NULL);
    char *text = elsewhere ? g_strdup_printf("%s \xc2\xb7 %s", own, elsewhere) : g_strdup(own);
    gboolean wrong = FALSE;
    char *page = psc_window_page_badge(self, &wrong);
    gboolean alarm = page ? wrong : elsewhere || (here.fault != CLEAN && here.fault != OVERWRITTEN);
    gtk_label_set_text(GTK_LABEL(self->badge_text), page ? page : text);
    gtk_label_set_width_chars(GTK_LABEL(self->badge_text), /* more than these make room for the rest of the header */
                              MIN((int)g_utf8_strlen(page ? page : text, -1), self->narrow ? NARROW_CHARS : WIDE_CHARS));
    gtk_widget_remove_css_class(self->badge, "clobber-solid");
    gtk_widget_remove_css_class(self->badge, "warn-solid");
    if (alarm || (!page && here.fault == OVERWRITTEN))
        gtk_widget_add_css_class(self->badge, alarm ? "clobber-solid" : "warn-solid");
    lead(self, here.fault, elsewhere != NULL);
    char *told = told_here(&here, elsewhere != NULL), *phases = psc_workspace_phases_told(self->ws);
    char *name = g_strconcat(told, phases, NULL);
    psc_ui_name(self->badge, name);
    gtk_widget_set_tooltip_text(self->badge, name);
    gtk_widget_set_visible(self->badge, study && study->analysis->story); /* nothing was checked: no verdict */
    g_free(name);
    g_free(phases);
    g_free(told);
    g_free(page);
    g_free(text);
    g_free(own);
    g_free(elsewhere);
}
