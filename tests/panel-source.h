/* tests/panel-source.h: expressions and arena scripts, made ready to be looked into. Knows nothing of drawing: ui/draw and
 * core/candela each have a psc_layout. */
#ifndef PSC_TESTS_PANEL_SOURCE_H
#define PSC_TESTS_PANEL_SOURCE_H

#include "core/debug/arena-view.h"
#include "core/debug/candela-view.h"

struct psc_candela_tale *panel_tale(struct psc_arena *arena, const char *text);
/* A memplan-arena scenario: settings and events as JSON with single quotes. */
struct psc_arena_axis *panel_axis(struct psc_arena *arena, const char *settings, const char *events);

/* Four runs: intermediates in exec, outputs lent out of io and held over runs, a spike that is evicted, a trim. */
extern const char panel_runs[], panel_runs_settings[];

#endif
