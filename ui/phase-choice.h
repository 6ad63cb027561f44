/* ui/phase-choice.h: a drop-down of the document's phases, "1  prefill · 440 ops  ⚠ 3 clobbers": shows the one that is shown, and chooses another.
 *
 * It follows its workspace by itself. With `hides` it is seen only where there is a choice.
 */
#ifndef PSC_UI_PHASE_CHOICE_H
#define PSC_UI_PHASE_CHOICE_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

GtkWidget *psc_phase_choice_new(PscWorkspace *ws, gboolean hides);

#endif
