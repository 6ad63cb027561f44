/* ui/contest-map.h: one planner of a contest as a card: name, bytes, distance to the bound, and the map of its plan. */
#ifndef PSC_UI_CONTEST_MAP_H
#define PSC_UI_CONTEST_MAP_H

#include "ui/contest.h"

#include <gtk/gtk.h>

#define PSC_TYPE_CONTEST_MAP (psc_contest_map_get_type())
G_DECLARE_FINAL_TYPE(PscContestMap, psc_contest_map, PSC, CONTEST_MAP, GtkBox)

GtkWidget *psc_contest_map_new(PscWorkspace *ws);
/* Which entrant it shows from now on. */
void psc_contest_map_set(PscContestMap *self, guint entrant);
/* Bytes at the foot of every map of this workspace: the largest plan that is not far above the smallest. */
uint64_t psc_contest_map_top(PscContest *contest);

#endif
