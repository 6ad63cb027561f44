#include "tests/workspaces.h"

static gint64 for_ever(void)
{
    return g_get_monotonic_time() + 600 * G_USEC_PER_SEC;
}

void workspace_settle(PscWorkspace *ws, gboolean (*running)(PscWorkspace *ws))
{
    gint64 end = for_ever();
    while (psc_workspace_busy(ws) || psc_workspace_scanning(ws, NULL) || (running && running(ws))) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
}

void workspace_close(PscWorkspace *ws)
{
    PscWorkspace *watched = ws;
    gint64 end = for_ever();
    g_object_add_weak_pointer(G_OBJECT(ws), (gpointer *)&watched);
    psc_workspace_close(ws);
    g_object_unref(ws);
    while (watched) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, FALSE);
        g_thread_yield();
    }
}
