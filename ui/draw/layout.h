/* ui/draw/layout.h: from a view of a scene to draw records: flat arrays that paint only has to walk.
 *
 *     +----------+--------------------------------------+
 *     | Whole run|  overview                            |   frame.overview
 *     +----------+--------------------------------------+
 *     |    splits|  bands, layers, op numbers, names    |   frame.ruler
 *     +-+--------+--------------------------------------+
 *     | | b3     |  [====]   [==]                       |   frame.lanes: tracks stacked from the top
 *     |M| b4     |      [===//====]                     |
 *     +-+--------+--------------------------------------+
 *     |live bytes|  __/--\___                           |   frame.usage
 *     +----------+--------------------------------------+
 *      strip, gutter    frame.data_x .. data_x + data_w
 *
 * A layout is a function of (scene, view) only. It is rebuilt when range, size, data or colours change,
 * never for a step or a hover: those are overlays (ui/draw/overlay.h). Level of detail:
 *   - bars under 8 px with less than 2.5 px between them merge, and say how many they are;
 *   - a row with more bars than a third of its pixels becomes a coverage strip: per pixel column the part
 *     of it that is occupied, exactly;
 *   - bars of a finding never merge and are never smaller than 3 x 3 px; each finding in range gives one
 *     record in `alarms`, whatever the zoom.
 * Cost: O(rows + visible bars up to a few a pixel), independent of the length of the run.
 * Ownership: the layout owns its arrays and keeps them between builds; scene and view are borrowed by
 * build only, except that hits ask the scene again.
 */
#ifndef PSC_UI_DRAW_LAYOUT_H
#define PSC_UI_DRAW_LAYOUT_H

#include "ui/draw/axis.h"
#include "ui/draw/scene.h"
#include "ui/draw/type.h"

struct psc_area { float x0, y0, x1, y1; }; /* px, half-open */

enum psc_pattern {
    PSC_SOLID, PSC_DOTS, PSC_BRICK,
    PSC_STRIPES,                        /* vertical: held by a queued copy */
    PSC_DASHES_ACROSS, PSC_DASHES_DOWN, /* two of five px */
};
struct psc_fill { /* a rectangle of one colour, snapped to whole pixels */
    struct psc_area area;
    uint8_t colour, pattern, pattern_colour;
    uint8_t part; /* of 255: how much of the colour over what is below */
};
enum psc_dash { PSC_UNBROKEN, PSC_DASH_IDLE, PSC_DASH_BOUND, PSC_DASH_GHOST };
struct psc_line { float x0, y0, x1, y1, width; uint8_t colour, dash; };
/* A polyline: points[at .. at + n), filled down to `base` when fill is set. A dense one has a point for each
 * pixel column instead, which is drawn without strokes: thousands of dashed ups and downs cost too much. */
struct psc_curve { uint32_t at, n; float base, width; uint8_t colour, fill, dash, dense; };

enum psc_bar_style {
    PSC_STYLE_ACTIVATION, PSC_STYLE_PINNED, PSC_STYLE_STAGING, PSC_STYLE_KV,
    PSC_STYLE_OWN,         /* colour by record: solid */
    PSC_STYLE_OVERWRITTEN, /* hollow with a ring */
    PSC_STYLE_UNRECORDED,  /* hollow, no sign */
    PSC_STYLE_N
};
enum psc_bar_edge {
    PSC_EDGE_CUT_LEFT = 1, PSC_EDGE_CUT_RIGHT = 2, /* goes on beyond the picture: no border there */
    PSC_EDGE_SEAM_LEFT = 4, PSC_EDGE_SEAM_RIGHT = 8, /* same bytes, other version: slanted seam */
    PSC_EDGE_STITCH = 16,  /* the row was taken over at once from the bar to the left */
    PSC_EDGE_ALARM = 32,   /* outlined in the clobber colour */
    PSC_EDGE_GHOST = 64,   /* queued, not yet waited for: dashed */
};
#define PSC_SIGN_BESIDE 48.0f /* bars from this width have their sign at the left, beside the label */
#define PSC_SIGN_ROOM   16.0f
struct psc_bar {
    float x0, x1, y0, y1; /* px */
    float foot;           /* y where the padding of the size class starts; y1 when there is none */
    uint32_t row, bar;    /* bar: tenancy, the first one when merged */
    uint32_t count;       /* 1, or how many are merged */
    uint8_t style, edge, sign; /* sign: 0, or 1 + enum psc_verdict to be drawn in the bar */
};
struct psc_cover { /* occupied part of each pixel column of a dense row */
    uint32_t row;
    float x0, y0, y1;
    uint32_t at, n; /* cover_bytes[at + k]: 0 .. 255 of pixel column x0 + k */
    uint32_t lines; /* 1; packed rows: a line of n columns for each px of height, from y0 down */
};
enum psc_mark_kind {
    PSC_MARK_WRITE, PSC_MARK_READ, PSC_MARK_READWRITE, PSC_MARK_FILL, PSC_MARK_COPY,
    PSC_MARK_OWN, PSC_MARK_OVERWRITTEN, PSC_MARK_UNKNOWN, /* record verdicts of the ruler */
    PSC_MARK_WRITES, PSC_MARK_READS, /* merged: trapezoids, `count` in them */
    PSC_MARK_DOT_WRITE, PSC_MARK_DOT_READ, /* small squares of compact rows */
    PSC_MARK_PEAK,
    PSC_MARK_OTHERWISE, /* the run did otherwise than planned: `event` is the difference, `count` how many are close */
    PSC_MARK_KIND_N
};
struct psc_mark {
    float x, y, size;  /* the anchor: write: middle of the top side; read: of the bottom side; else the middle */
    float width;       /* trapezoids */
    uint32_t event;    /* of the story, or PSC_NONE */
    uint32_t row, count;
    int32_t position;
    uint8_t kind;
};
struct psc_label {
    float x, y, width;
    uint32_t text;     /* offset into layout->text */
    uint8_t font, align, colour, ground; /* ground: a box of that colour under the text, or PSC_COL_NONE */
    uint8_t frame;     /* a border of that colour round the ground, or PSC_COL_NONE */
    uint8_t turned;    /* reads upwards (lane names) */
    uint8_t clip;      /* 1: belongs to the lanes area, cut there when scrolled */
};
/* Where a bar was planned and did not come to lie: a dashed outline; `count` merged ones, the first is `ghost`. */
struct psc_ghost_box { struct psc_area area; uint32_t ghost, row, count; };
struct psc_alarm_mark { struct psc_area area; uint32_t alarm; }; /* at least 3 x 3 px */

/* A line from a source row to a staging row, in the gap before `enqueue`. */
struct psc_copy_line { float x, y0, x1, y1, width; uint32_t copy; };

/* A finding drawn in full (ui.md 3.7): the victim keeps its colour up to the bad write, then hatch up to the
 * doomed read; the writer lies on it with a torn edge; all else is dimmed. */
struct psc_clobber {
    bool shown;               /* view.finding is set and its row is in the layout */
    struct psc_area victim;   /* the victim's real life: written .. doomed read */
    struct psc_area hatch;    /* from the bad write on, the wrong bytes only */
    struct psc_area writer;   /* the writer's bar, laid over it; empty when nobody wrote */
    struct psc_area reader;   /* bar that the doomed op writes; empty when there is none */
    struct psc_area cells[3]; /* ruler cells of victim, writer, reader; empty when out of sight */
    float write_x, read_x;    /* middles of the two columns */
    float believed_x;         /* right end of the life that the planner counted */
    float head_y;             /* middle of the free band above the row */
    bool has_read;            /* false: the overlap itself is the fault */
    bool race;                /* the read stands left of the write, but nothing orders them */
    char title[96], detail[96], writer_name[64], writer_number[24], reader_number[24];
    char first[96], second[160]; /* "1  #425 writes over b3", "2  #429 wants #416, finds #425" */
    char believed[64], needed[64], lo[24], hi[24], bytes[32], part[40];
};

enum psc_track_kind { PSC_TRACK_ROW, PSC_TRACK_FOLD, PSC_TRACK_STRIP, PSC_TRACK_WEIGHTS, PSC_TRACK_HEAD };
struct psc_track {
    enum psc_track_kind kind;
    uint32_t row, row_n; /* FOLD: rows row .. row + row_n - 1 */
    float y0, y1;        /* px on the picture, already scrolled; y0 == y1: scrolled under the rows that stay */
    float top, low;      /* where it would be if no row stayed: what scrolling asks */
    bool compact;        /* a few px high: no marks, no labels */
};

#define PSC_LEAST_LANES 96.0f /* px; where the rows would have less, the curve of live bytes gives way */
struct psc_frame {
    struct psc_area overview, ruler, lanes, usage; /* empty when hidden */
    float strip_x, gutter_x, data_x, data_w;       /* lane strip | gutter | data */
    float splits_y, layers_y, numbers_y, names_y, records_y, merged_y; /* tops inside the ruler, < 0: not shown */
    float content;  /* height of all tracks: more than lanes means that the view can scroll */
    float kept_y;   /* KV rows (and the weights) stand from here to the end of the lanes, whatever the pools above them
                       need and however they are scrolled; lanes.y1 when there are none or they are too high */
    bool small;
};

struct psc_layout {
    struct psc_view view;        /* what it was built for */
    const struct psc_scene *scene; /* borrowed */
    struct psc_frame frame;
    struct psc_axis axis, overview_axis;
    struct psc_track *tracks; size_t track_n, track_cap;
    struct psc_fill *fills; size_t fill_n, fill_cap;     /* below the bars */
    size_t fill_lanes_end;       /* fills[0 .. this) belong to the lanes and are cut at their area */
    struct psc_line *lines; size_t line_n, line_cap;     /* below the bars; those of the lanes first */
    size_t line_lanes_end;
    struct psc_cover *covers; size_t cover_n, cover_cap;
    uint8_t *cover_bytes; size_t cover_byte_n, cover_byte_cap;
    struct psc_bar *bars; size_t bar_n, bar_cap;
    struct psc_fill *holds; size_t hold_n, hold_cap;     /* stripes over source bars, edges of waits; pale: enqueued */
    struct psc_ghost_box *ghosts; size_t ghost_n, ghost_cap; /* only with view.ghosts; by row */
    struct psc_copy_line *copy_lines; size_t copy_line_n, copy_line_cap;
    struct psc_mark *marks; size_t mark_n, mark_cap;     /* those of the lanes first */
    size_t mark_lanes_end;
    struct psc_alarm_mark *alarms; size_t alarm_n, alarm_cap;
    struct psc_alarm_mark *ticks; size_t tick_n, tick_cap; /* the same findings in the overview */
    struct psc_curve *curves; size_t curve_n, curve_cap;
    float *points; size_t point_n, point_cap;            /* x, y pairs */
    struct psc_label *labels; size_t label_n, label_cap;
    char *text; size_t text_n, text_cap;
    struct psc_clobber clobber;
    uint32_t peak_label;         /* index of "peak 615 KiB ..." of the overview, or PSC_NONE */
    double use_top;              /* bytes at the top of the usage curve */
    float *column; size_t column_cap; /* scratch: position at the left of each pixel column */
    struct psc_type *type;       /* owned by the caller; NULL: widths are guessed */
    bool failed;                 /* an allocation failed: something is missing */
};

/* type may be NULL: then the layout has guessed label widths (tests, pictures without text). */
enum psc_status psc_layout_build(struct psc_layout *layout, const struct psc_scene *scene,
                                 const struct psc_view *view, struct psc_type *type,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
void psc_layout_release(struct psc_layout *layout); /* {0} is an empty layout */

/* ---- the inverse ---------------------------------------------------------------------------- */

enum psc_hit_what {
    PSC_HIT_NOTHING, PSC_HIT_OVERVIEW, PSC_HIT_HANDLE_LEFT, PSC_HIT_HANDLE_RIGHT, PSC_HIT_WINDOW,
    PSC_HIT_RULER, PSC_HIT_GUTTER, PSC_HIT_ROW, PSC_HIT_BAR, PSC_HIT_MERGED, PSC_HIT_FOLD, PSC_HIT_USAGE,
};
struct psc_hit {
    enum psc_hit_what what;
    double at;          /* position, with the part of the column */
    int32_t position;   /* column, -1 .. n; PSC_NO_POSITION left of the data */
    bool in_gap;
    uint32_t row, buffer, bar; /* PSC_NONE where there is none; bar: tenancy (of a merged bar: the nearest) */
    uint32_t count;     /* merged bars under the pointer, else 1 */
    uint32_t event;     /* access mark under the pointer, or PSC_NONE */
    uint32_t ghost;     /* planned bar under the pointer (index into scene->ghosts->list), or PSC_NONE */
    uint32_t diff;      /* difference under the pointer (index into the comparison's), or PSC_NONE */
    uint32_t alarm;     /* finding under the pointer (index into check->findings), or PSC_NONE */
    uint64_t byte;      /* of the buffer */
    struct psc_area area; /* of the bar, or of the row */
};
/* Cost: O(log rows + log bars + records of one row). */
struct psc_hit psc_layout_hit(const struct psc_layout *layout, double x, double y);
/* Place of a row, or NULL when it is folded, not shown, or scrolled under the rows that stay. O(log rows). */
const struct psc_track *psc_layout_track(const struct psc_layout *layout, uint32_t row);
/* Area of a bar in this layout whether or not it is visible; false when its row is folded. */
bool psc_layout_bar_area(const struct psc_layout *layout, uint32_t bar, struct psc_area *ret);
/* view->y that brings a row into sight, moving as little as needed; of one that is too high, its head. */
double psc_layout_scroll_to(const struct psc_layout *layout, uint32_t row);

#endif
