/* ui/navigate.h: from one position to another: by op, layer, split, access, problem, or by name.
 *
 * Each function moves the workspace's cursor (and selection where that is the point) and returns false when
 * there is nowhere to go in that direction. Keys, buttons, menus and tests all end here.
 */
#ifndef PSC_UI_NAVIGATE_H
#define PSC_UI_NAVIGATE_H

#include "ui/workspace.h"

bool psc_navigate_by(PscWorkspace *ws, int ops);          /* -1, +1, ... */
bool psc_navigate_layer(PscWorkspace *ws, int direction); /* to the first op of the next / this or previous layer */
bool psc_navigate_split(PscWorkspace *ws, int direction);
bool psc_navigate_end(PscWorkspace *ws, int direction);   /* first: before op 0; last: the last op */
bool psc_navigate_peak(PscWorkspace *ws);                 /* of live bytes */

/* Previous / next access of the selected bytes; the selection stays. Only writes when writes_only. */
bool psc_navigate_access(PscWorkspace *ws, int direction, bool writes_only);
bool psc_navigate_last_writer(PscWorkspace *ws);
bool psc_navigate_next_reader(PscWorkspace *ws);

/* Clobbers first, then records that hold another node's value; where there are none of either, events that break an invariant of the
 * arenas; behind the last one the next phase in which something is wrong; wraps around. */
bool psc_navigate_problem(PscWorkspace *ws, int direction);
bool psc_navigate_invariant(PscWorkspace *ws, int direction);
uint32_t psc_navigate_problem_n(PscWorkspace *ws, uint32_t *ret_clobbers, uint32_t *ret_records);

/* "124" or "#124": op; "50%": place in the run; "0x13400" or "b9": buffer; else the next op whose name
 * contains the text. */
bool psc_navigate_go_to(PscWorkspace *ws, const char *text);

/* Selects the row above or below: the previous or next buffer. */
bool psc_navigate_row(PscWorkspace *ws, int direction);

/* The bytes that "the selection" means for accesses: false when nothing that has bytes is selected. */
bool psc_navigate_bytes(PscWorkspace *ws, uint32_t *ret_buffer, uint64_t *ret_lo, uint64_t *ret_hi);

#endif
