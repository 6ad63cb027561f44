/* tests/workspaces.h: workspaces in tests, which have workers behind them. */
#ifndef PSC_TESTS_WORKSPACES_H
#define PSC_TESTS_WORKSPACES_H

#include "ui/workspace.h"

/* Lets workers report until the workspace is idle and `running`, which may be NULL, says no; ten minutes is for ever. */
void workspace_settle(PscWorkspace *ws, gboolean (*running)(PscWorkspace *ws));
/* Closes it, drops the reference, and waits until the workers that are still at it have dropped theirs. */
void workspace_close(PscWorkspace *ws);

#endif
