/* ui/draw/view.h: what part of a scene is looked at, and how. Plain data, copied freely.
 *
 * The window changes a view and asks for a new layout; `planscope-cli render` fills one in from its
 * options. psc_view_init gives the whole run.
 */
#ifndef PSC_UI_DRAW_VIEW_H
#define PSC_UI_DRAW_VIEW_H

#include "core/graph/graph.h"

#include <stdbool.h>
#include <stdint.h>

enum psc_view_mode {
    PSC_VIEW_ROWS,  /* a row a buffer, equal height */
    PSC_VIEW_MAP,   /* y = address: height follows the buffer's bytes */
    PSC_VIEW_USAGE, /* no rows: the curve of live bytes takes their place */
    PSC_VIEW_KV,    /* the KV regions, a page of their own: ui/draw/kv-page.h; layouts of a scene take it as ROWS */
    PSC_VIEW_PANEL, /* how the planner decided, or what the arenas hold: ui/draw/candela-page.h; as KV */
    PSC_VIEW_MODE_N
};
enum psc_view_height { PSC_HEIGHT_AUTO, PSC_HEIGHT_LINEAR, PSC_HEIGHT_SQRT, PSC_HEIGHT_EQUAL, PSC_HEIGHT_N };
enum psc_view_colour { PSC_BY_ROLE, PSC_BY_RECORD, PSC_COLOUR_BY_N };

#define PSC_NO_POSITION INT32_MIN

struct psc_view {
    enum psc_view_mode mode;
    enum psc_view_height height; /* map mode; AUTO is SQRT where the largest row is over 50 times the smallest */
    enum psc_view_colour colour;
    double lo, hi;          /* positions shown, -1 .. n + 1 */
    double y, y_zoom;       /* px scrolled down inside the lanes; factor on all row heights, 1 = fits */
    double px_a_byte;       /* map mode: exactly so high is a byte, before y_zoom, so that two pictures can be compared; 0: the rows
                               share the height */
    double width, height_px;/* of the whole picture, device-independent px */
    double scale;           /* device px a unit: 1, 2 ... */
    bool dark;
    bool fold;              /* runs of rows without a bar in [fold_lo, fold_hi) become one line */
    double fold_lo, fold_hi;/* equal: the range shown. Set by the window when a zoom settles */
    bool hide_overview, hide_ruler, hide_usage;
    bool hide_copies;       /* lines from source rows to staging rows */
    bool ghosts;            /* the plan over the record, where the scene has both (ui/draw/ghosts.h) */
    bool no_text;           /* golden pictures */
    bool step_aside;        /* labels avoid the now-line (still pictures; costs a layout for each position) */
    int32_t position;       /* the cursor, -1 .. n, or PSC_NO_POSITION */
    uint32_t selected, hovered; /* tenancies, or PSC_NONE */
    uint32_t finding;       /* index into check->findings: drawn in full, all else dimmed; or PSC_NONE */
};

struct psc_scene;
void psc_view_init(struct psc_view *view, const struct psc_scene *scene, double width, double height);
/* Positions lo .. hi moved inside the run, at least two positions wide. */
void psc_view_set_range(struct psc_view *view, const struct psc_scene *scene, double lo, double hi);
/* Zooms x by `factor` (> 1 shows less) so that the position under pixel `px` stays there. */
void psc_view_zoom(struct psc_view *view, const struct psc_scene *scene, double px, double factor);
/* A finding with 20 positions of context. */
void psc_view_show_finding(struct psc_view *view, const struct psc_scene *scene, uint32_t finding);
/* Left edge and width of the data area for this size, px (the axis gutter stands left of it). */
void psc_view_data_area(const struct psc_view *view, const struct psc_scene *scene, double *ret_x, double *ret_width);

#endif
