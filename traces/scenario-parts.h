/* traces/scenario-parts.h: how the readers of scenario files take fields (private to traces/).
 *
 * A reader remembers the first thing that is wrong, so that fields may be taken one after the other and asked about
 * once: "ops[3].pos must be a list of positions, not null".
 */
#ifndef PSC_TRACES_SCENARIO_PARTS_H
#define PSC_TRACES_SCENARIO_PARTS_H

#include "core/base/hash.h"
#include "traces/scenario-read.h"

struct psc_part {
    struct psc_arena *arena;
    struct psc_error *error; /* never NULL */
    enum psc_status status;
};

bool psc_part_failed(const struct psc_part *p);
/* "WHERE must be WANT, not a number". where is a format with its arguments. */
void psc_part_wrong(struct psc_part *p, struct psc_slice got, const char *want, const char *where, ...) PSC_PRINTF(4, 5);
void psc_part_fail(struct psc_part *p, enum psc_status status, const char *fmt, ...) PSC_PRINTF(3, 4);
void psc_part_nomem(struct psc_part *p);

/* Fields of an object, by key. where: "ops[3]" or "" for the document. Numbers outside [lo, hi] are wrong. */
int64_t psc_part_number(struct psc_part *p, struct psc_slice object, const char *where, const char *key, int64_t lo,
                        int64_t hi);
int64_t psc_part_number_or(struct psc_part *p, struct psc_slice object, const char *where, const char *key, int64_t lo,
                           int64_t hi, int64_t none); /* null and absent: none */
uint64_t psc_part_bytes(struct psc_part *p, struct psc_slice object, const char *where, const char *key);
const char *psc_part_string(struct psc_part *p, struct psc_slice object, const char *where, const char *key);
const char *psc_part_string_or(struct psc_part *p, struct psc_slice object, const char *where, const char *key,
                               const char *none);
/* A list and how many elements it has; an absent list is empty when `may_lack`. */
struct psc_cursor psc_part_list(struct psc_part *p, struct psc_slice object, const char *where, const char *key,
                                bool may_lack, uint32_t max, uint32_t *ret_n);
void *psc_part_alloc(struct psc_part *p, size_t n, size_t size); /* zeroed, in the arena */

/* Names and their numbers. */
struct psc_names {
    const char **list; /* in the arena */
    uint32_t n;
    struct psc_map map; /* hash -> first number with it */
};
bool psc_names_init(struct psc_part *p, struct psc_names *names, uint32_t max);
void psc_names_release(struct psc_names *names);
/* False when the name is there already. */
bool psc_names_add(struct psc_part *p, struct psc_names *names, const char *name);
uint32_t psc_names_find(const struct psc_names *names, const char *name); /* PSC_NONE when unknown */

void psc_kv_script_read(struct psc_part *p, struct psc_slice text, struct psc_kv_script *ret);
void psc_sched_script_read(struct psc_part *p, struct psc_slice text, struct psc_sched_script *ret);
void psc_arena_script_read(struct psc_part *p, struct psc_slice text, struct psc_arena_script *ret);
void psc_capture_script_read(struct psc_part *p, struct psc_slice text, struct psc_capture_script *ret);

#endif
