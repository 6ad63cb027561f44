#include "ui/run-order.h"

PscRunOrder *psc_run_order_new(void)
{
    PscRunOrder *order = g_new0(PscRunOrder, 1);
    order->faults = g_new0(gboolean, psc_named_fault_n() + 1);
    order->plan = psc_plan_defaults;
    order->capture = PSC_CAPTURE_NODE;
    order->values = TRUE;
    order->times = 1;
    order->arenas.guards = PSC_ARENA_HARDENED;
    return order;
}

void psc_run_order_free(PscRunOrder *order)
{
    if (!order)
        return;
    psc_document_unref(order->document);
    g_free(order->path);
    g_free(order->preset);
    g_free(order->prompt);
    g_free(order->backend);
    g_free(order->faults);
    g_strfreev(order->fills);
    g_free(order);
}

const struct psc_graph *psc_run_order_graph(const PscRunOrder *order)
{
    return order->document && order->phase < order->document->doc->phase_n ? order->document->doc->phases[order->phase].graph : NULL;
}

const char *psc_run_fill_default(const struct psc_graph *graph, psc_node input)
{
    return graph->nodes[input].dtype == PSC_I32 ? "count" : "random:1";
}
