/* ui/candela-choice.h: how candela plans: a generation, faults of its rules and, of expressions, whether steps of one level run beside each
 * other. It owns none of it: who shows it sets it, and asks for it when "chosen" says that a person changed something. */
#ifndef PSC_UI_CANDELA_CHOICE_H
#define PSC_UI_CANDELA_CHOICE_H

#include "core/candela/plan.h"

#include <gtk/gtk.h>

#define PSC_TYPE_CANDELA_CHOICE (psc_candela_choice_get_type())
G_DECLARE_FINAL_TYPE(PscCandelaChoice, psc_candela_choice, PSC, CANDELA_CHOICE, GtkBox)

GtkWidget *psc_candela_choice_new(void);
/* of_graph: only the faults that graphs have, and no levels. */
void psc_candela_choice_set(PscCandelaChoice *self, const struct psc_candela_options *options, gboolean levels, gboolean of_graph);
struct psc_candela_options psc_candela_choice_options(PscCandelaChoice *self);
char *psc_candela_choice_words(PscCandelaChoice *self); /* of a script: "0.2 b3 level"; g_free */

#endif
