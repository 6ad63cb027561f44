/* tests/pictures.h: golden pictures: what was drawn against a file that somebody has looked at. */
#ifndef PSC_TESTS_PICTURES_H
#define PSC_TESTS_PICTURES_H

#include <cairo.h>
#include <stdint.h>

uint32_t picture_pixel(cairo_surface_t *surface, int x, int y); /* 0xRRGGBB */
int picture_difference(uint32_t a, uint32_t b); /* largest of the three channels */
/* Compares with tests/golden/NAME.png; PSC_GOLDEN=write makes it anew (look at it before you commit it). Takes the
 * surface. */
void picture_check(const char *name, cairo_surface_t *surface);

#endif
