/* core/candela/store.h: bytes that several lazy tensors may share, counted.
 *
 * A handle is a store and a layout. Part of an arena: a store of its own whose `home` is the arena's store, so that sharing
 * is counted for each region by itself.
 */
#ifndef PSC_CORE_CANDELA_STORE_H
#define PSC_CORE_CANDELA_STORE_H

#include "core/candela/layout.h"

struct psc_store_tally { /* of the stores made with it: elements alive, and at most */
    uint64_t live, peak;
};
struct psc_store {
    float *at;              /* a multiple of 128 bytes when it is our own */
    void *block;            /* owned; NULL for what was borrowed or is part of a home */
    uint64_t len;           /* elements */
    uint32_t refs;
    struct psc_store *home; /* counted */
    struct psc_store_tally *tally; /* of our own bytes; must outlive the store; or NULL */
};
struct psc_handle {
    struct psc_store *store; /* counted */
    struct psc_strides layout;
};

/* NULL when out of memory; refs 1, not zeroed. Nothing to hold asks the heap for no block. tally may be NULL. */
struct psc_store *psc_store_new(uint64_t len, struct psc_store_tally *tally);
struct psc_store *psc_store_borrow(float *at, uint64_t len);      /* the caller's bytes */
struct psc_store *psc_store_part(struct psc_store *home, uint64_t offset, uint64_t len);
void psc_store_unref(struct psc_store *store);                    /* NULL is fine */
/* The same bytes, counted once more; bytes of its own, packed, counted for the caller (store NULL: out of memory). */
struct psc_handle psc_handle_share(const struct psc_handle *h);
struct psc_handle psc_handle_copy(const struct psc_handle *h);
/* The elements of a handle in row-major order; to holds psc_layout_len of them. */
void psc_handle_read(const struct psc_handle *handle, float *to);

#endif
