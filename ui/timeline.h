/* ui/timeline.h: the memory timeline: a picture made by ui/draw, moved about, pointed at and clicked.
 *
 *     base      one surface of the view, painted by ui/draw, kept in one cairo node; made again when range,
 *               size, data, colours or scale change; in a worker when the last time took over 8 ms (the old
 *               picture is shown shifted meanwhile)
 *     overlay   now-line, hover, selection, connectors: small nodes above it, so that a step or a hover
 *               repaints a few small areas
 *
 * Wheel scrolls the rows, Shift+wheel pans, Ctrl+wheel zooms about the pointer, Ctrl+Shift+wheel makes rows
 * taller. A drag on the ruler or the curve moves the cursor, on the overview the range, elsewhere (or with
 * the middle button) pans. A click selects, a double click fits. Its accessible description is the status
 * line: what the position writes, frees and how many bytes live; the tables beside it are its accessible form.
 */
#ifndef PSC_UI_TIMELINE_H
#define PSC_UI_TIMELINE_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_TIMELINE (psc_timeline_get_type())
G_DECLARE_FINAL_TYPE(PscTimeline, psc_timeline, PSC, TIMELINE, GtkWidget)

GtkWidget *psc_timeline_new(PscWorkspace *ws);
void psc_timeline_zoom(PscTimeline *self, double factor);      /* x, about the cursor or the middle */
void psc_timeline_zoom_rows(PscTimeline *self, double factor); /* heights */
void psc_timeline_reset_rows(PscTimeline *self);               /* heights that fit, scrolled to the top */
void psc_timeline_fit_selection(PscTimeline *self);            /* first centres, then fits */
/* What is shown now, for a picture of it; only while there is something to draw. */
void psc_timeline_get_view(PscTimeline *self, struct psc_view *ret);

/* Two timelines one above the other: `b` scrolls and zooms with `a` and the other way round. The axes of their workspaces
 * are the caller's business. With the same number of bytes given to both, and both in map mode, a byte is as high here as there: so
 * many fill a timeline (0: each fills its own). */
void psc_timeline_lock(PscTimeline *a, PscTimeline *b);
void psc_timeline_set_full(PscTimeline *self, uint64_t bytes);
void psc_timeline_hide_strips(PscTimeline *self, gboolean hidden); /* overview and curve of live bytes */
/* Signs on bars: a hollow corner, a filled one, a frame; one byte a tenancy, copied. NULL: none. */
typedef enum { PSC_TIMELINE_PLAIN, PSC_TIMELINE_DIFFERS, PSC_TIMELINE_EXPLAINS, PSC_TIMELINE_ALONE } PscTimelineMark;
void psc_timeline_set_marks(PscTimeline *self, const uint8_t *marks, uint32_t n);

#endif
