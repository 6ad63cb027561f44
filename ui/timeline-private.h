/* ui/timeline-private.h: the insides of the timeline, shared by timeline*.c only. */
#ifndef PSC_UI_TIMELINE_PRIVATE_H
#define PSC_UI_TIMELINE_PRIVATE_H

#include "ui/draw/overlay.h"
#include "ui/timeline.h"

/* One finished base picture: what it was made for, its records and its surface. */
typedef struct {
    PscPicture *picture;
    struct psc_view view;
    struct psc_layout layout;
    cairo_surface_t *surface;
    gint64 took_us;
    gboolean failed;
} PscBase;
void psc_base_free(PscBase *base); /* NULL is fine */
/* Lays out and paints; any thread, a type per thread at a time. */
PscBase *psc_base_new(PscPicture *picture, const struct psc_view *view, struct psc_type *type);
/* Whether a picture made for `a` is right for `b`: all but cursor, selection and hover. */
gboolean psc_base_same_view(const struct psc_view *a, const struct psc_view *b);

typedef enum { PSC_DRAG_NONE, PSC_DRAG_PAN, PSC_DRAG_SCRUB, PSC_DRAG_OVERVIEW, PSC_DRAG_LEFT, PSC_DRAG_RIGHT } PscDrag;

struct _PscTimeline {
    GtkWidget parent_instance;
    PscWorkspace *ws;
    struct psc_type *type, *worker_type;
    PscBase *base;          /* NULL until there is something to draw */
    GskRenderNode *node;    /* paints base->surface */
    gboolean building;      /* a worker is at it */
    struct psc_overlay overlay;
    struct psc_over *kept;  /* records of the nodes below */
    GskRenderNode **nodes;  /* one each, reused while their record stays the same */
    size_t kept_n;
    double y, y_zoom;
    double fold_lo, fold_hi;
    guint fold_timer;
    gboolean reveal;        /* the row of the selection is brought into sight when a base shows where it is */
    /* pointer */
    double px, py;
    uint32_t hovered;       /* tenancy, or PSC_NONE */
    struct psc_area hovered_area;
    GtkWidget *card;
    guint card_timer;
    PscDrag drag;
    double drag_x0, drag_x1, drag_y; /* range and scroll when the drag began */
    double pinch_x0, pinch_x1;
    /* beside another one: timeline-beside.c */
    PscTimeline *peer;      /* a weak pointer; scrolls and zooms along */
    uint64_t full;          /* bytes that fill the lanes, the same on both sides; 0: what there is */
    gboolean hide_strips, following; /* overview and curve of live bytes */
    uint8_t *marks;         /* PscTimelineMark by tenancy, owned; NULL: none */
    uint32_t mark_n;
    GskRenderNode *mark_node; /* of marks over mark_base */
    const PscBase *mark_base; /* compared only */
};

double psc_timeline_max_scroll(PscTimeline *self);
void psc_timeline_set_scroll(PscTimeline *self, double y);
void psc_timeline_zoom_at(PscTimeline *self, double px, double factor);
void psc_timeline_zoom_rows_at(PscTimeline *self, double py, double factor);

/* timeline-beside.c */
void psc_timeline_dress(PscTimeline *self, struct psc_view *view); /* what is hidden, how high */
void psc_timeline_lead_peer(PscTimeline *self);                    /* after scroll or zoom of the rows */
void psc_timeline_snapshot_marks(PscTimeline *self, GtkSnapshot *snapshot);
void psc_timeline_drop_beside(PscTimeline *self);

void psc_timeline_add_controllers(PscTimeline *self); /* timeline-input.c */
void psc_timeline_hide_card(PscTimeline *self);
/* Words about what is under the pointer; NULL when there is nothing to say. timeline-card.c */
char *psc_timeline_card_text(PscTimeline *self, const struct psc_hit *hit);

#endif
