/* ui/contest-table.h: the planners of a contest as a table: sorted by bytes, a bar each, Enter plans with the row's. */
#ifndef PSC_UI_CONTEST_TABLE_H
#define PSC_UI_CONTEST_TABLE_H

#include "ui/table.h"

extern const PscTableKind psc_contest_table;

#endif
