/* ui/heatmap.h: the recorded samples of one tensor as a grid of colours, 16 a row, limits beside it. */
#ifndef PSC_UI_HEATMAP_H
#define PSC_UI_HEATMAP_H

#include "core/doc/doc.h"

#include <gtk/gtk.h>

#define PSC_TYPE_HEATMAP (psc_heatmap_get_type())
G_DECLARE_FINAL_TYPE(PscHeatmap, psc_heatmap, PSC, HEATMAP, GtkWidget)

GtkWidget *psc_heatmap_new(const struct psc_record *record); /* the samples are copied */

#endif
