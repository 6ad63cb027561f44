/* ui/draw/ghosts.h: the plan laid over the record: where bars were to lie, and where the run did otherwise.
 *
 *     recorded   row b4   [== #12 mul ==]          b5   [    =    ]
 *     planned    row b4   [== #12 mul ==]          b5     [- - - - -]     a ghost: planned here, and it did not happen
 *
 * A scene whose source names the planned story and its comparison (core/debug/compare-stories.h) has ghosts: a planned
 * bar of which at least one fill, read or write was missing, out of order, in another buffer or at other bytes. Bars that
 * are as planned have none: outlines on top of every bar would say nothing. A *mark* stands where the record shows a
 * difference: in the row that was used (of what is missing: in the row that was to be used), at its position.
 *
 * Rows and columns are those of the recorded story: buffers of the plan are found by `buffer_of`, positions by the op
 * that runs there. `lost` counts the planned bars in buffers that the record does not name.
 * Cost: O(events log events) once, nothing when all is as planned. Ownership: all in the scene's arena.
 */
#ifndef PSC_UI_DRAW_GHOSTS_H
#define PSC_UI_DRAW_GHOSTS_H

#include "ui/draw/scene.h"

struct psc_ghost {
    uint32_t row, value;   /* value: of the planned story */
    int32_t first, end;    /* columns */
    uint64_t lo, hi;       /* bytes of the buffer */
};
struct psc_otherwise {
    uint32_t row;          /* PSC_NONE: nowhere in the picture (a wait, a buffer that the record does not name) */
    int32_t position;
    uint32_t diff;         /* index into comparison->diffs */
};
struct psc_ghosts {
    const struct psc_story *planned;
    const struct psc_story_comparison *comparison;
    const struct psc_ghost *list;       /* by (row, first, lo) */
    const uint32_t *at;                 /* ghosts of row r: [at[r], at[r + 1]) */
    const int32_t *reach;               /* largest end of the row's ghosts up to this one */
    const struct psc_otherwise *marks;  /* by (row, position, diff) */
    const uint32_t *mark_at;            /* marks of row r: [mark_at[r], mark_at[r + 1]) */
    const int32_t *positions;           /* of all marks, ascending, each once */
    uint32_t n, mark_n, position_n, lost;
};

/* Makes scene->ghosts, or leaves NULL where the source brings no comparison or all is as planned. The rows must be there. */
enum psc_status psc_ghosts_build(struct psc_arena *arena, struct psc_scene *scene, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
