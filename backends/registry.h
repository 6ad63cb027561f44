/* backends/registry.h: every backend by name, and why one cannot be used here.
 *
 * Ids are a file-format contract and only ever grow: cpu 0, metal 1, cuda 2. `deferred` stands for metal: files give its
 * nodes metal's name and id. `cuda-shim` is the CUDA backend on the processor: files call it by its own name, with cuda's id,
 * and its priority is the least, so that only who asks for it gets it. Priority decides which backend a node goes to; it is
 * never the order of a hash. Whether a device is there is asked once, by the first call.
 */
#ifndef PSC_BACKENDS_REGISTRY_H
#define PSC_BACKENDS_REGISTRY_H

#include "core/run/backend.h"

#include <stddef.h>

struct psc_backend_entry {
    unsigned id;
    const char *name;        /* as people type it: "cpu" */
    const char *file_name;   /* as files spell it; that of deferred is "metal" */
    unsigned priority;       /* larger goes first */
    const char *unavailable; /* NULL when it can execute here, else one sentence why not */
    const struct psc_backend_api *api; /* NULL when it cannot execute here */
};
/* In id order, then `deferred` and `cuda-shim`; *ret_n entries. */
const struct psc_backend_entry *psc_backend_entries(size_t *ret_n);
const struct psc_backend_entry *psc_backend_find(const char *name); /* NULL when unknown */
/* The backends that can execute here, in registry order: what psc_session_new takes. */
const struct psc_backend_api *const *psc_backend_apis(uint32_t *ret_n);
/* The same, then those that cannot execute here and have names of their own: only name, priority and unavailable() of
 * them may be used. What psc_run takes, so that who asks for one is told why not. */
const struct psc_backend_api *const *psc_backend_known(uint32_t *ret_n);

#endif
