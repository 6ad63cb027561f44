#include "core/plan/capacity.h"

#include <string.h>

uint64_t psc_capacity_of(const struct psc_plan_options *options, const char *name)
{
    for (uint32_t k = 0; name && k < options->capacity_n; k++)
        if (!strcmp(options->capacities[k].backend, name))
            return options->capacities[k].bytes;
    return options->capacity ? options->capacity : PSC_CAPACITY_NONE;
}

static bool names(const struct psc_graph *graph, const char *backend)
{
    for (uint32_t b = 0; graph && b < graph->backend_n; b++)
        if (!strcmp(graph->backends[b], backend))
            return true;
    return false;
}

const struct psc_capacity *psc_capacity_unknown(const struct psc_plan_options *options, const struct psc_graph *const *graphs, uint32_t n)
{
    for (uint32_t k = 0; k < options->capacity_n; k++) {
        bool known = false;
        for (uint32_t g = 0; g < n && !known; g++)
            known = names(graphs[g], options->capacities[k].backend);
        if (!known)
            return &options->capacities[k];
    }
    return NULL;
}

enum psc_status psc_capacity_refuse(const struct psc_capacity *unknown, const struct psc_graph *const *graphs, uint32_t n,
                                    struct psc_error *reterr)
{
    struct psc_text known = {0};
    uint32_t first = 0;
    while (first < n && (!graphs[first] || !graphs[first]->backend_n))
        first++;
    for (uint32_t b = 0; first < n && b < graphs[first]->backend_n; b++)
        psc_text_addf(&known, "%s%s", b ? ", " : "", graphs[first]->backends[b]);
    enum psc_status status =
        known.n ? psc_fail(reterr, PSC_ERR_USAGE, "there is no arena of '%.60s': the graph runs on %s", unknown->backend, psc_text_str(&known))
                : psc_fail(reterr, PSC_ERR_USAGE, "there is no arena of '%.60s': there is one arena without a name, whose capacity is a "
                                                  "number alone", unknown->backend);
    psc_text_release(&known);
    return status;
}

bool psc_capacities_keep(struct psc_arena *arena, struct psc_plan_options *options)
{
    struct psc_capacity *own = options->capacity_n ? psc_arena_alloc(arena, options->capacity_n, sizeof *own) : NULL;
    if (options->capacity_n && !own)
        return false;
    for (uint32_t k = 0; k < options->capacity_n; k++) {
        own[k] = (struct psc_capacity){psc_arena_strdup(arena, options->capacities[k].backend), options->capacities[k].bytes};
        if (!own[k].backend)
            return false;
    }
    options->capacities = own;
    return true;
}
