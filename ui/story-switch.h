/* ui/story-switch.h: the row above the timeline with the switch "Recorded | Planned | Both" and how the run compares.
 *
 * Hidden where no phase of the document has both stories; insensitive, with the reason in its words, where this phase
 * has no choice (ui/workspace-story.h). The button at its end opens the drawer's table of the differences.
 */
#ifndef PSC_UI_STORY_SWITCH_H
#define PSC_UI_STORY_SWITCH_H

#include "ui/workspace-story.h"

#include <gtk/gtk.h>

#define PSC_TYPE_STORY_SWITCH (psc_story_switch_get_type())
G_DECLARE_FINAL_TYPE(PscStorySwitch, psc_story_switch, PSC, STORY_SWITCH, GtkBox)

GtkWidget *psc_story_switch_new(PscWorkspace *ws);

#endif
