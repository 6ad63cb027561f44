/* ui/workspace-story.h: which of two stories of one run the timeline shows: what happened, or what was planned.
 *
 * A document of a recorded run brings the plan that was executed and the events that were recorded. RECORDED shows what
 * happened, PLANNED what the plan says, on an axis of the plan's order, and BOTH what happened with the plan laid over
 * it: dashed outlines of the bars that were to lie elsewhere, and a sign where the run did otherwise (ui/draw/ghosts.h).
 *
 * The choice is the document's: it survives another phase, another step and a way of drawing. A document that is opened
 * next begins with RECORDED, or with BOTH where that was the choice: nobody is shown a plan in place of a run unasked.
 * A step that brings events of its own (it went otherwise than the first of its phase) shows and compares these.
 * PLANNED is another study, made in a worker; the other two share one, and the switch between them is at once.
 */
#ifndef PSC_UI_WORKSPACE_STORY_H
#define PSC_UI_WORKSPACE_STORY_H

#include "ui/workspace.h"

typedef enum { PSC_STORY_RECORDED, PSC_STORY_PLANNED, PSC_STORY_BOTH, PSC_STORY_N } PscStoryChoice;

/* What is shown now; RECORDED where there is no choice. */
PscStoryChoice psc_workspace_story(PscWorkspace *self);
void psc_workspace_set_story(PscWorkspace *self, PscStoryChoice choice); /* ignored where there is no choice */
/* NULL when there is a choice; else why not, and what to do about it: a sentence. */
const char *psc_workspace_no_story_choice(PscWorkspace *self);
/* Whether any phase of the document has both stories: the switch is worth its room. */
gboolean psc_workspace_has_stories(PscWorkspace *self);
/* How the run compares with its plan; NULL where there is no choice. */
const struct psc_story_comparison *psc_workspace_comparison(PscWorkspace *self);
/* Position, in the story that is shown, of a difference of the comparison. */
int32_t psc_workspace_difference_at(PscWorkspace *self, const struct psc_story_diff *diff);

#endif
