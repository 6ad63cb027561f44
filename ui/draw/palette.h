/* ui/draw/palette.h: the colours of the drawing, light and dark.
 *
 * A palette is a table of opaque 0xRRGGBB values; the drawing code names colours by role and never by
 * value. Two rules hold for every palette (tests/test-draw-paint.c measures them):
 *   - vermillion (PSC_COL_CLOBBER*) is used for clobbers and for nothing else;
 *   - classes that a person has to tell apart differ in shape or pattern too, because write, read and
 *     activation are almost equal in grey: marks always carry the dark outline.
 */
#ifndef PSC_UI_DRAW_PALETTE_H
#define PSC_UI_DRAW_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

enum psc_colour {
    PSC_COL_NONE, /* transparent: drawn as nothing */
    PSC_COL_CANVAS, PSC_COL_GUTTER, PSC_COL_WINDOW, PSC_COL_HEADER,
    PSC_COL_INK, PSC_COL_DIM, PSC_COL_GRID, PSC_COL_LAYER, PSC_COL_RULE,
    PSC_COL_ACT_FILL, PSC_COL_ACT_EDGE, PSC_COL_ACT_TEXT, PSC_COL_PADDING, PSC_COL_IDLE,
    PSC_COL_KV_FILL, PSC_COL_KV_EDGE, PSC_COL_KV_BRICK, PSC_COL_KV_TEXT,
    PSC_COL_IO_FILL, PSC_COL_IO_EDGE, PSC_COL_WEIGHT_FILL, PSC_COL_WEIGHT_DOT,
    PSC_COL_STAGE_FILL, PSC_COL_STAGE_EDGE, PSC_COL_USE_FILL, PSC_COL_USE_LINE,
    PSC_COL_LANE_METAL, PSC_COL_LANE_CUDA, PSC_COL_LANE_CPU, PSC_COL_LANE_OTHER, PSC_COL_LANE_KV,
    PSC_COL_LANE_TEXT,
    PSC_COL_WRITE, PSC_COL_READ, PSC_COL_READWRITE, PSC_COL_HOST, PSC_COL_COPY, PSC_COL_COPY_LINE,
    PSC_COL_MARK_EDGE,
    PSC_COL_CLOBBER, PSC_COL_CLOBBER_TEXT, PSC_COL_CLOBBER_GROUND,
    PSC_COL_WARN_TEXT, PSC_COL_WARN_GROUND, PSC_COL_WARN_EDGE, PSC_COL_RIGHT,
    PSC_COL_SELECT, PSC_COL_LINK, PSC_COL_NOW, PSC_COL_NOW_TEXT, PSC_COL_NOW_COLUMN, PSC_COL_SELECT_ROW,
    PSC_COL_HEAT_LOW, PSC_COL_HEAT_MID, PSC_COL_HEAT_HIGH,
    PSC_COL_N
};

struct psc_palette {
    uint32_t rgb[PSC_COL_N]; /* 0xRRGGBB */
    bool dark;
};
/* Static tables: valid for ever, usable from any thread. */
const struct psc_palette *psc_palette_get(bool dark);

/* a mixed with b: 0 gives a, 1 gives b; each channel rounded to nearest. */
uint32_t psc_rgb_mix(uint32_t a, uint32_t b, double part_of_b);
/* Relative luminance contrast of two colours, 1 to 21 (WCAG). */
double psc_rgb_contrast(uint32_t a, uint32_t b);

/* The lane colour of a backend by its name: "metal", "cuda", "cpu", any other. */
enum psc_colour psc_lane_colour(const char *backend);

#endif
