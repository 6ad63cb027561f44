/* ui/draw/layout-parts.h: what the files of layout share; nobody else includes it. */
#ifndef PSC_UI_DRAW_LAYOUT_PARTS_H
#define PSC_UI_DRAW_LAYOUT_PARTS_H

#include "ui/draw/layout.h"

#define PSC_SMALL_WIDTH 860.0 /* under it the measures of the small window hold */
#define PSC_MARK_OP     11.0  /* px an op from which marks stand in the bars */
#define PSC_NAME_OP     20.0  /* short op names */
#define PSC_GRID_OP     12.0

/* Appends; an allocation that fails sets layout->failed. Areas are clipped to nothing here. */
void psc_put_fill(struct psc_layout *l, float x0, float y0, float x1, float y1, enum psc_colour colour);
void psc_put_pattern(struct psc_layout *l, float x0, float y0, float x1, float y1, enum psc_colour colour,
                     enum psc_pattern pattern, enum psc_colour pattern_colour);
void psc_put_line(struct psc_layout *l, float x0, float y0, float x1, float y1, float width,
                  enum psc_colour colour, enum psc_dash dash);
struct psc_mark *psc_put_mark(struct psc_layout *l, enum psc_mark_kind kind, double x, double y, double size);
struct psc_bar *psc_put_bar(struct psc_layout *l);
/* Returns NULL when text is switched off or memory is out. */
struct psc_label *psc_put_label(struct psc_layout *l, enum psc_font font, enum psc_align align,
                                enum psc_colour colour, const char *text, double x, double y);
double psc_text_width(struct psc_layout *l, enum psc_font font, const char *text);
void psc_put_point(struct psc_layout *l, double x, double y);
struct psc_curve *psc_put_curve(struct psc_layout *l, uint32_t at, float base, float width,
                                enum psc_colour colour, enum psc_dash dash);

/* y of bytes [lo, hi) of a row's buffer at a place. */
void psc_track_band(const struct psc_layout *l, const struct psc_track *track, uint64_t lo, uint64_t hi,
                    float *ret_y0, float *ret_y1, float *ret_foot);

/* First of the buffer's accesses (of history->accesses) at or after a position. */
uint32_t psc_layout_first_access(const struct psc_layout *l, uint32_t buffer, double position);
void psc_layout_rows(struct psc_layout *l);     /* bars, covers, marks, labels of all tracks */
void psc_layout_gutter(struct psc_layout *l);   /* lane strips, names, sizes, separators */
/* Grid lines of ops, lines of layers, gaps at splits, between two heights. */
void psc_layout_grid(struct psc_layout *l, float y0, float y1);
void psc_layout_ruler(struct psc_layout *l);
void psc_layout_overview(struct psc_layout *l);
void psc_layout_usage(struct psc_layout *l);
void psc_layout_clobber(struct psc_layout *l);
void psc_layout_copies(struct psc_layout *l);      /* staged copies; waits for queues */
/* The part of a bar that a kernel has only been enqueued for: a ghost until the host has waited for its queue. */
void psc_layout_pending(struct psc_layout *l, const struct psc_bar *bar);
/* The same of the rows of K and V that are written in a track: a band along the region. */
void psc_layout_pending_rows(struct psc_layout *l, const struct psc_track *track);
void psc_layout_ghosts(struct psc_layout *l);      /* the plan over the record */
void psc_layout_ghost_ticks(struct psc_layout *l); /* the same in the overview */
/* Labels of the bars first .. bar_n - 1 of one row, clear of the marks first_mark .. mark_n - 1. */
void psc_layout_bar_labels(struct psc_layout *l, size_t first_bar, size_t first_mark);

/* White or dark, whichever is read better on a lane's colour. */
static inline enum psc_colour psc_lane_ink(const struct psc_layout *l, enum psc_colour ground)
{
    const struct psc_palette *p = psc_palette_get(l->view.dark);
    return psc_rgb_contrast(p->rgb[PSC_COL_LANE_TEXT], p->rgb[ground]) >= 4.5 ? PSC_COL_LANE_TEXT : PSC_COL_MARK_EDGE;
}

static inline bool psc_is_map_row(const struct psc_layout *l, const struct psc_track *track)
{
    const struct psc_scene_row *row = &l->scene->rows[track->row];
    return l->view.mode == PSC_VIEW_MAP && l->scene->lanes[row->lane].kind == PSC_LANE_POOL;
}

#endif
