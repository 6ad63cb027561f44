#include "backends/registry.h"

#include "backends/cpu/cpu.h"
#include "backends/deferred/deferred.h"

#include <string.h>

#define NO_CUDA "compiled without CUDA: this version plans for it but does not execute on it"

static const char *why_no_cuda(void)
{
    return NO_CUDA;
}

static bool takes_nothing(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)op, (void)dtype, (void)params;
    return false;
}

/* Its name and why not; psc_pool_open and psc_offload_parse refuse it before anything else of it is called. */
static const struct psc_backend_api absent_cuda = {
    .name = "cuda", .file_name = "cuda", .text = NO_CUDA, .id = 2, .priority = 200, .unavailable = why_no_cuda,
    .takes = takes_nothing,
};

static const struct psc_backend_entry entries[] = {
    {0, "cpu", "cpu", 100, NULL, &psc_backend_cpu},
    {1, "metal", "metal", 300, "Metal exists on macOS only; its traces can be opened here, and `deferred` stands for it in runs",
     NULL},
    {2, "cuda", "cuda", 200, NO_CUDA, NULL},
    {1, "deferred", "metal", 300, NULL, &psc_backend_deferred},
};
static const struct psc_backend_api *const apis[] = {&psc_backend_cpu, &psc_backend_deferred};
static const struct psc_backend_api *const known[] = {&psc_backend_cpu, &psc_backend_deferred, &absent_cuda};

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

const struct psc_backend_api *const *psc_backend_known(uint32_t *ret_n)
{
    *ret_n = sizeof known / sizeof *known;
    return known;
}
