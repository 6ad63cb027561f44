/* ui/draw/render.h: a whole picture in a file, with the window's own drawing code and no display.
 *
 *     header    title (file, plan) on the left, the verdict on the right
 *     timeline  overview, ruler, lanes, usage: psc_layout + psc_paint + overlays
 *     status    the one line of the current position
 */
#ifndef PSC_UI_DRAW_RENDER_H
#define PSC_UI_DRAW_RENDER_H

#include "ui/draw/kv-page.h"
#include "ui/draw/layout.h"
#include "ui/draw/panel.h"

#include <cairo.h>

enum psc_render_format { PSC_RENDER_PNG, PSC_RENDER_SVG, PSC_RENDER_PDF, PSC_RENDER_N };

struct psc_render_words { /* any may be NULL; nothing is cut: what does not fit is left out or shortened at a word */
    const char *title;    /* "qwen2.5-0.5b.json" */
    const char *subtitle; /* "prefill, 440 ops \xc2\xb7 Planned here: pool, upstream, class, lowest slot" */
    const char *verdict;  /* "1 clobber", "350 of 368 records overwritten", "no problems" */
    bool verdict_alarm;   /* drawn in the clobber colour */
    bool verdict_warns;   /* drawn in the warning colour */
    const char *status;   /* psc_explain_position */
};

/* ".png", ".svg", ".pdf" in either case; false for another ending. */
bool psc_render_format_of(const char *path, enum psc_render_format *ret);
/* view->width and height_px are those of the whole picture. The file appears whole or not at all. */
enum psc_status psc_render(const struct psc_scene *scene, const struct psc_view *view, const struct psc_render_words *words,
                           enum psc_render_format format, const char *path, struct psc_error *reterr) PSC_MUST_CHECK;
/* The same into a context, for tests and print previews. */
enum psc_status psc_render_to(const struct psc_scene *scene, const struct psc_view *view, const struct psc_render_words *words,
                              cairo_t *cr, struct psc_error *reterr) PSC_MUST_CHECK;

/* The KV page in a picture; words as above. */
enum psc_status psc_render_kv(const struct psc_kv_step *step, const struct psc_kv_view *view, const struct psc_render_words *words,
                              enum psc_render_format format, const char *path, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_render_kv_to(const struct psc_kv_step *step, const struct psc_kv_view *view, const struct psc_render_words *words,
                                 cairo_t *cr, struct psc_error *reterr) PSC_MUST_CHECK;

/* A panel as it was built (ui/draw/panel.h), with the type it was built with; its height is that of the page and the words. */
enum psc_status psc_render_panel(const struct psc_panel *panel, struct psc_type *type, const struct psc_render_words *words,
                                 enum psc_render_format format, const char *path, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
