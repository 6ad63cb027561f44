/* backends/registry.h: every backend by name, and why one cannot be used here.
 *
 * Ids are a file-format contract and only ever grow: cpu 0, metal 1, cuda 2. Priority decides which
 * backend a node goes to; it is never the order of a hash.
 */
#ifndef PSC_BACKENDS_REGISTRY_H
#define PSC_BACKENDS_REGISTRY_H

#include <stddef.h>

struct psc_backend_entry {
    unsigned id;
    const char *name;        /* as in files: "cpu" */
    unsigned priority;       /* larger goes first */
    const char *unavailable; /* NULL when it can execute here, else one sentence why not */
};
/* In id order; *ret_n entries. */
const struct psc_backend_entry *psc_backend_entries(size_t *ret_n);
const struct psc_backend_entry *psc_backend_find(const char *name); /* NULL when unknown */

#endif
