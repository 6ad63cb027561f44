/* ui/pair-table.h: the differences of a pair as a table: those that explain the peak first; a row selects on both sides. */
#ifndef PSC_UI_PAIR_TABLE_H
#define PSC_UI_PAIR_TABLE_H

#include "ui/table.h"

extern const PscTableKind psc_pair_table;

#endif
