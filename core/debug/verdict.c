#include "core/debug/verdict.h"

#include "core/candela/kept.h"

#include <string.h>

/* The event that made each step's value, or showed it; PSC_NONE. */
static uint32_t *find_events(struct psc_arena *arena, const struct psc_story *story)
{
    uint32_t *at = psc_arena_alloc(arena, story->value_n + (size_t)1, sizeof *at);
    if (!at)
        return NULL;
    memset(at, 0xff, (story->value_n + (size_t)1) * sizeof *at);
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        bool makes = e->kind == PSC_EV_WRITE || e->kind == PSC_EV_VIEW || e->kind == PSC_EV_FILL;
        if (makes && e->value < story->value_n && at[e->value] == PSC_NONE)
            at[e->value] = i;
    }
    return at;
}

static struct psc_finding finding(const struct psc_story *story, const uint32_t *event_of, const struct psc_candela_plan *plan,
                                  const struct psc_candela_wrong *w, uint32_t index)
{
    uint32_t step = w->step < plan->n ? w->step : plan->n - 1, shown = step;
    struct psc_finding f = {
        .kind = psc_wrong_is_waste(w->what) ? PSC_K10 : PSC_K9, .reader_kind = PSC_READER_NODE, .victim_value = step,
        .writer_value = PSC_NONE, .overlap_only = true, .victim = PSC_NONE, .writer = PSC_NONE, .reader = PSC_NONE, .position = (int32_t)step,
        .read_position = (int32_t)step, .victim_position = (int32_t)step, .write_event = PSC_NONE, .read_event = PSC_NONE,
        .detail = index,
    };
    /* what is refused has no bytes of its own: those that it asks for, else those of the step */
    for (uint32_t p = 0; w->what == PSC_WRONG_LATE && p < plan->n; p++)
        if (plan->steps[p].id == w->id)
            shown = p;
    f.victim_value = shown;
    f.write_event = event_of[shown];
    f.buffer = f.write_event == PSC_NONE ? 0 : story->events[f.write_event].buffer;
    f.lo = f.write_event == PSC_NONE ? 0 : story->events[f.write_event].lo;
    f.hi = f.write_event == PSC_NONE ? 0 : story->events[f.write_event].hi;
    return f;
}

enum psc_status psc_verdict_findings(struct psc_arena *arena, const struct psc_phase *phase, const struct psc_story *story,
                                     struct psc_check *check, struct psc_error *reterr)
{
    const struct psc_candela_kept *kept = phase->expression;
    struct psc_arena scratch = {0};
    if (!kept || !kept->verdict.n || !kept->plan->n || !story->buffer_n || story != phase->story)
        return PSC_OK;
    uint32_t extra = kept->verdict.n, n = check->finding_n, *events = find_events(&scratch, story);
    struct psc_finding *all = psc_arena_alloc(arena, n + (size_t)extra, sizeof *all);
    if (!events || !all) {
        psc_arena_release(&scratch);
        return psc_fail_nomem(reterr);
    }
    if (n)
        memcpy(all, check->findings, n * sizeof *all);
    /* The checker's are in order. Ours go before those of their position: they name the cause. They come in few runs in order. */
    for (uint32_t k = extra; k-- > 0;) {
        struct psc_finding f = finding(story, events, kept->plan, &kept->verdict.wrongs[k], k);
        uint32_t at = n++;
        while (at && all[at - 1].position >= f.position) {
            all[at] = all[at - 1];
            at--;
        }
        all[at] = f;
    }
    check->findings = all;
    check->finding_n = n;
    psc_arena_release(&scratch);
    return PSC_OK;
}
