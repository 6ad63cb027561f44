#include "backends/registry.h"

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/shim.h"
#include "backends/deferred/deferred.h"

#include <pthread.h>
#include <string.h>

#define NO_METAL "Metal exists on macOS only; its traces can be opened here, and `deferred` stands for it in runs"

#ifdef PSC_WITH_CUDA
#define CUDA (&psc_backend_cuda)
#else
#define NO_CUDA "compiled without CUDA: planned for, but not executed here; `cuda-shim` stands for it"

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
#define CUDA (&absent_cuda)
#endif

static struct psc_backend_entry entries[] = {
    {0, "cpu", "cpu", 100, NULL, &psc_backend_cpu},
    {1, "metal", "metal", 300, NO_METAL, NULL},
    {2, "cuda", "cuda", 200, NULL, NULL},
    {1, "deferred", "metal", 300, NULL, &psc_backend_deferred},
    {2, "cuda-shim", "cuda-shim", 1, NULL, &psc_backend_cuda_shim},
};
static const struct psc_backend_api *known[4]; /* those that execute here, then the others */
static uint32_t api_n, known_n;
static pthread_once_t asked = PTHREAD_ONCE_INIT;

/* Whether a device is there is asked once. */
static void ask(void)
{
    const char *why = CUDA->unavailable();
    entries[2].unavailable = why;
    entries[2].api = why ? NULL : CUDA;
    known[known_n++] = &psc_backend_cpu;
    if (!why)
        known[known_n++] = CUDA;
    known[known_n++] = &psc_backend_deferred;
    known[known_n++] = &psc_backend_cuda_shim;
    api_n = known_n;
    if (why)
        known[known_n++] = CUDA;
}

const struct psc_backend_entry *psc_backend_entries(size_t *ret_n)
{
    pthread_once(&asked, ask);
    *ret_n = sizeof entries / sizeof *entries;
    return entries;
}

const struct psc_backend_entry *psc_backend_find(const char *name)
{
    pthread_once(&asked, ask);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

const struct psc_backend_api *const *psc_backend_apis(uint32_t *ret_n)
{
    pthread_once(&asked, ask);
    *ret_n = api_n;
    return known;
}

const struct psc_backend_api *const *psc_backend_known(uint32_t *ret_n)
{
    pthread_once(&asked, ask);
    *ret_n = known_n;
    return known;
}
