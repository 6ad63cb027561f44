#include "ui/workspace-private.h"

static gboolean can_choose(const struct phase_state *state)
{
    return psc_analysis_has_both(&state->phase) && !state->options.replan && !state->options.foreign;
}

static struct phase_state *shown_phase(PscWorkspace *self)
{
    return self->look.study ? psc_workspace_state(self, self->phase) : NULL;
}

PscStoryChoice psc_workspace_story(PscWorkspace *self)
{
    const struct phase_state *state = shown_phase(self);
    if (!state || !can_choose(state))
        return PSC_STORY_RECORDED;
    if (self->look.study->options.as_planned)
        return PSC_STORY_PLANNED; /* also while a worker makes the other one */
    return self->story == PSC_STORY_BOTH ? PSC_STORY_BOTH : PSC_STORY_RECORDED;
}

void psc_workspace_set_story(PscWorkspace *self, PscStoryChoice choice)
{
    struct phase_state *state = shown_phase(self);
    if (!state || !can_choose(state) || (choice == self->story && choice == psc_workspace_story(self)))
        return;
    gboolean other = (choice == PSC_STORY_PLANNED) != (self->story == PSC_STORY_PLANNED);
    self->story = choice;
    for (guint i = 0; other && i < self->phases->len; i++)
        if (can_choose(psc_workspace_state(self, i)))
            psc_workspace_forget_verdict(self, psc_workspace_state(self, i));
    struct psc_analysis_options options = state->options;
    options.as_planned = choice == PSC_STORY_PLANNED;
    if (options.as_planned != state->options.as_planned || self->busy)
        psc_workspace_request(self, self->phase, state->step, &options);
    psc_workspace_emit(self, PSC_CHANGED_VIEW);
}

const char *psc_workspace_no_story_choice(PscWorkspace *self)
{
    const struct phase_state *state = shown_phase(self);
    if (!state)
        return "No document is open.";
    if (can_choose(state))
        return NULL;
    const struct psc_phase *phase = &state->phase;
    if (psc_analysis_has_both(phase))
        return "What is shown was planned here: tick \"Use what the file brings\" in the plan menu (Ctrl+P) to compare the run "
               "with its own plan.";
    if (phase->story && !phase->story->predicted)
        return "This phase has recorded events and no plan that they could be compared with.";
    return "No events of a run are recorded here: Run\xe2\x80\xa6 (Ctrl+R) runs the graph and records them.";
}

gboolean psc_workspace_has_stories(PscWorkspace *self)
{
    for (guint i = 0; i < self->phases->len; i++)
        if (psc_analysis_has_both(&psc_workspace_state(self, i)->phase))
            return TRUE;
    return FALSE;
}

const struct psc_story_comparison *psc_workspace_comparison(PscWorkspace *self)
{
    return self->look.study ? self->look.study->analysis->comparison : NULL;
}

int32_t psc_workspace_difference_at(PscWorkspace *self, const struct psc_story_diff *diff)
{
    const PscStudy *study = self->look.study;
    const struct psc_analysis *a = study->analysis;
    uint32_t event = a->story == a->recorded ? diff->recorded : diff->planned;
    if (event != PSC_NONE)
        return a->story->events[event].position;
    if (diff->node < study->node_n)
        return study->position_of[diff->node];
    return MIN(diff->position, psc_study_end(study));
}

void psc_workspace_story_adopt(PscWorkspace *self)
{
    if (self->story == PSC_STORY_PLANNED)
        self->story = PSC_STORY_RECORDED;
}

struct psc_analysis_options psc_workspace_story_options(PscWorkspace *self, const struct phase_state *state)
{
    struct psc_analysis_options options = state->options;
    options.as_planned = self->story == PSC_STORY_PLANNED && can_choose(state);
    return options;
}

void psc_workspace_story_prepare(PscWorkspace *self, struct phase_state *state)
{
    bool as_planned = psc_workspace_story_options(self, state).as_planned;
    state->options.as_planned = as_planned;
    if (state->study && state->study->options.as_planned != as_planned)
        g_clear_pointer(&state->study, psc_study_unref);
}
