#include "backends/registry.h"

#include <string.h>

static const struct psc_backend_entry entries[] = {
    {0, "cpu", 100, "this version plans, checks and draws; it does not execute graphs yet"},
    {1, "metal", 300, "Metal exists on macOS only; its traces can be opened here"},
    {2, "cuda", 200, "compiled without CUDA: this version plans for it but does not execute on it"},
};

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
