/* ui/tenants-table.h: who lived in the selected buffer, in order, with the recorded statistics of each. */
#ifndef PSC_UI_TENANTS_TABLE_H
#define PSC_UI_TENANTS_TABLE_H

#include "ui/table.h"

extern const PscTableKind psc_tenants_table;

#endif
