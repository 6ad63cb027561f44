/* ui/draw/kv-page.h: the KV regions as a page: x = row of the region, y = layer with its K half and its V half.
 *
 *     +-----------+--------------------------------------+
 *     | All rows  |  overview: every row, window handle  |
 *     +-----------+--------------------------------------+
 *     |           |  written in, row numbers, steps      |   ruler
 *     +-+---------+--------------------------------------+
 *     |K| 0 K  #9 |##########=========================   |   layers, scrolled
 *     |V|   V     |##########=========================   |
 *     |…| 1 ...   |                                      |
 *     +-+---------+--------------------------------------+
 *     | sequence  |  =================================   |
 *     +-----------+--------------------------------------+
 *
 * The base depends on the step and the view alone: what every row held before the step began. What the step does up to
 * the cursor (cells written, cells to come, the window that is read, alarms) is an overlay of small records, so that
 * moving the cursor repaints little.
 *
 * Level of detail: rows narrower than a pixel become columns as full as the part of them that is written, layers lower
 * than two pixels share a band; alarms are never thinned (at least 3 x 3 px, and a tick in the overview).
 * Cost: O(spans in view + layers x columns). Ownership: the page owns its arrays and keeps them between builds; the step
 * is borrowed until the next build.
 */
#ifndef PSC_UI_DRAW_KV_PAGE_H
#define PSC_UI_DRAW_KV_PAGE_H

#include "ui/draw/kv-view.h"
#include "ui/draw/layout.h"
#include "ui/draw/paint.h"

struct psc_kv_frame {
    struct psc_area overview, ruler, layers, sequence;
    float strip_x, gutter_x, data_x, data_w;
    float written_y, rows_y, steps_y; /* middles of the ruler's lines */
    float strip_y0, strip_y1;         /* the strip of all rows in the overview */
    double pitch;                     /* px of a layer */
    double cell;                      /* px of a row */
    float content;                    /* height of all layers */
};
struct psc_kv_page {
    struct psc_kv_view view;
    const struct psc_kv_step *step;
    struct psc_kv_frame frame;
    struct psc_layout base;           /* fills, lines, labels: painted by psc_paint */
    float *part[2];                   /* scratch: of each column, the part written in a prefill, in a decode step */
    size_t part_cap[2];
};

/* type may be NULL: then widths are guessed. */
enum psc_status psc_kv_page_build(struct psc_kv_page *page, const struct psc_kv_step *step, const struct psc_kv_view *view,
                                  struct psc_type *type, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_page_release(struct psc_kv_page *page); /* {0} is an empty page */
void psc_kv_page_paint(const struct psc_kv_page *page, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);

/* ---- places and the inverse ---------------------------------------------------------------------------------- */

double psc_kv_row_x(const struct psc_kv_page *page, double row);
double psc_kv_overview_x(const struct psc_kv_page *page, double row);
/* Top and bottom of a layer (half 0: all of it, 1: K, 2: V); may lie outside the page. */
void psc_kv_layer_y(const struct psc_kv_page *page, uint32_t layer, int half, float *ret_y0, float *ret_y1);
/* view->y that brings a layer into sight, moving as little as needed. */
double psc_kv_scroll_to(const struct psc_kv_page *page, uint32_t layer);
double psc_kv_max_scroll(const struct psc_kv_page *page);

enum psc_kv_hit_what {
    PSC_KV_HIT_NOTHING, PSC_KV_HIT_OVERVIEW, PSC_KV_HIT_HANDLE_LEFT, PSC_KV_HIT_HANDLE_RIGHT, PSC_KV_HIT_WINDOW,
    PSC_KV_HIT_RULER, PSC_KV_HIT_GUTTER, PSC_KV_HIT_CELL, PSC_KV_HIT_SEQUENCE,
};
struct psc_kv_hit {
    enum psc_kv_hit_what what;
    double at;           /* row, with the part of it; in the overview too */
    uint32_t row, layer; /* PSC_NONE where there is none */
    bool is_v;
    uint32_t alarm;      /* index into step->alarms, or PSC_NONE */
    struct psc_area area; /* of the layer, or of the part of the page */
};
struct psc_kv_hit psc_kv_page_hit(const struct psc_kv_page *page, double x, double y);

/* ---- what the cursor changes --------------------------------------------------------------------------------- */

enum psc_kv_over_kind {
    PSC_KV_OVER_LAYER,     /* tint of the layer in which the cursor's op works */
    PSC_KV_OVER_NOW,       /* rows written in this step */
    PSC_KV_OVER_QUEUED,    /* rows whose write is only enqueued: the host has not seen it take effect */
    PSC_KV_OVER_LATER,     /* rows that this step will write */
    PSC_KV_OVER_ALARM,     /* rows that are read and that nobody wrote */
    PSC_KV_OVER_WINDOW,    /* the window that the cursor's op reads */
    PSC_KV_OVER_HOVER, PSC_KV_OVER_SELECTION,
    PSC_KV_OVER_HEAD,      /* the rows of this step, in the ruler */
    PSC_KV_OVER_TICK,      /* an alarm in the overview */
    PSC_KV_OVER_HANDLE,    /* the visible range in the overview */
    PSC_KV_OVER_TEXT,      /* words beside the overview's strip */
    PSC_KV_OVER_CHIP,      /* words in a box */
    PSC_KV_OVER_SEQUENCE,  /* the rows of a sequence */
    PSC_KV_OVER_RESERVED,  /* cells that a sequence has reserved and not used */
    PSC_KV_OVER_SHARED,    /* cells whose rows another sequence reads, too: a line at the foot */
    PSC_KV_OVER_KIND_N
};
struct psc_kv_over {
    struct psc_area area, clip;
    enum psc_kv_over_kind kind;
    uint8_t colour;        /* TEXT, CHIP: enum psc_colour of the ink; CHIP: of the frame too */
    uint8_t mark;          /* NOW: wide enough for its mark */
    uint8_t halves;        /* NOW, QUEUED, LATER: 2: drawn as K and V, with 1 px between them */
    char text[160];
};
struct psc_kv_overlay {
    struct psc_kv_over *items; /* owned, in painting order */
    size_t n, cap;
    bool failed;
};
/* The page must be of the same range and size; cursor, selection and hover come from `view`. */
enum psc_status psc_kv_overlay_build(struct psc_kv_overlay *overlay, const struct psc_kv_page *page,
                                     const struct psc_kv_view *view, struct psc_type *type,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
void psc_kv_overlay_release(struct psc_kv_overlay *overlay);
void psc_kv_over_paint(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);
void psc_kv_overlay_paint(const struct psc_kv_overlay *overlay, const struct psc_palette *palette, cairo_t *cr,
                          struct psc_type *type);

#endif
