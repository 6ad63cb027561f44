#include "backends/registry.h"

#include "backends/cpu/cpu.h"
#include "backends/deferred/deferred.h"

#include <string.h>

static const struct psc_backend_entry entries[] = {
    {0, "cpu", "cpu", 100, NULL, &psc_backend_cpu},
    {1, "metal", "metal", 300, "Metal exists on macOS only; its traces can be opened here, and `deferred` stands for it in runs",
     NULL},
    {2, "cuda", "cuda", 200, "compiled without CUDA: this version plans for it but does not execute on it", NULL},
    {1, "deferred", "metal", 300, NULL, &psc_backend_deferred},
};
static const struct psc_backend_api *const apis[] = {&psc_backend_cpu, &psc_backend_deferred};

const struct psc_backend_entry *psc_backend_entries(size_t *ret_n)
{
    *ret_n = sizeof entries / sizeof *entries;
    return entries;
}

const struct psc_backend_entry *psc_backend_find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

const struct psc_backend_api *const *psc_backend_apis(uint32_t *ret_n)
{
    *ret_n = sizeof apis / sizeof *apis;
    return apis;
}
