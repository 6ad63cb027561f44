/* ui/draw/kv-parts.h: what the files of the KV page share; nobody else includes it. */
#ifndef PSC_UI_DRAW_KV_PARTS_H
#define PSC_UI_DRAW_KV_PARTS_H

#include "ui/draw/kv-page.h"

/* Right end of the overview's strip of all rows. */
static inline double psc_kv_strip_right(const struct psc_kv_frame *f)
{
    return f->data_x + f->data_w - 10.0;
}
/* Colour, strength and pattern of rows written in a prefill or in a decode step; part: how much of the area it is. */
void psc_kv_put_written(struct psc_layout *l, float x0, float y0, float x1, float y1, bool prefill, double part);
/* 1, 2, 5, 10, 20 ...: so many units that labels have at least `room` px. */
double psc_kv_tick(double unit, double room);

void psc_kv_put_ruler(struct psc_kv_page *page);
void psc_kv_put_overview(struct psc_kv_page *page);
void psc_kv_put_sequence(struct psc_kv_page *page);

#endif
