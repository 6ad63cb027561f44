/* traces/settings.h: small JSON objects (a node's detail and meta, our own settings of a phase) by key.
 *
 * The only place that uses cJSON: one settings slice at a time becomes a tree, is asked, and is freed. cJSON
 * keeps numbers as doubles, so whole numbers are taken from the slice's own text when a double might have
 * lost digits.
 */
#ifndef PSC_TRACES_SETTINGS_H
#define PSC_TRACES_SETTINGS_H

#include "traces/cursor.h"

struct cJSON;
struct psc_settings {
    struct cJSON *tree; /* owned; NULL when the slice is no object */
    struct psc_slice text;
};

/* Never fails for bad text (then no key is found); false when the heap is exhausted. text must be well-formed
 * JSON and outlive the settings. */
bool psc_settings_init(struct psc_settings *s, struct psc_slice text) PSC_MUST_CHECK;
void psc_settings_release(struct psc_settings *s);

/* False, and *ret untouched, when the key is missing or of another type. */
bool psc_settings_f64(const struct psc_settings *s, const char *key, double *ret);
bool psc_settings_u64(const struct psc_settings *s, const char *key, uint64_t *ret);
bool psc_settings_i32(const struct psc_settings *s, const char *key, int32_t *ret);
bool psc_settings_bool(const struct psc_settings *s, const char *key, bool *ret);
/* Borrowed until the release; NULL when the key is missing or no string. */
const char *psc_settings_string(const struct psc_settings *s, const char *key);
/* Numbers of an array, at most max; returns how many were stored. */
uint32_t psc_settings_i32s(const struct psc_settings *s, const char *key, int32_t *ret, uint32_t max);
/* Strings of an array, borrowed; NULL for what is no string. */
uint32_t psc_settings_strings(const struct psc_settings *s, const char *key, const char **ret, uint32_t max);

#endif
