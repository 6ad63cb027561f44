/* traces/json-write.h: our own JSON printer: exact integers, shortest round-trip floats, compact or pretty.
 *
 * Pretty is two spaces and no final newline, as minfer's structure dumps are; compact has no blanks.
 * Strings must be UTF-8 (invalid bytes are written as U+FFFD); control characters are escaped; other
 * characters are written as they are. Non-finite floats are written as null. Memory failure is
 * remembered in out.failed.
 *
 *     psc_json_object(&j);                       {
 *     psc_json_put_u64(&j, "id", 9007199254740993);  "id": 9007199254740993,
 *     psc_json_key(&j, "eps");
 *     psc_json_f64(&j, 1e-6f);                     "eps": 9.999999974752427e-7
 *     psc_json_end_object(&j);                   }
 */
#ifndef PSC_TRACES_JSON_WRITE_H
#define PSC_TRACES_JSON_WRITE_H

#include "core/base/text.h"

#define PSC_JSON_DEPTH_MAX 64
struct psc_json {
    struct psc_text out;
    bool pretty;
    unsigned depth;
    bool after_key;
    bool filled[PSC_JSON_DEPTH_MAX]; /* the container at this depth has an element already */
};
void psc_json_init(struct psc_json *j, bool pretty);
void psc_json_release(struct psc_json *j);

void psc_json_object(struct psc_json *j);     /* { */
void psc_json_end_object(struct psc_json *j); /* } */
void psc_json_array(struct psc_json *j);      /* [ */
void psc_json_end_array(struct psc_json *j);  /* ] */
void psc_json_key(struct psc_json *j, const char *key);
/* As it stands in JSON text, without its quotes. */
void psc_json_key_raw(struct psc_json *j, const char *key, size_t n);
void psc_json_string(struct psc_json *j, const char *s); /* NULL writes null */
void psc_json_u64(struct psc_json *j, uint64_t v);
void psc_json_i64(struct psc_json *j, int64_t v);
/* As serde_json prints: 1.0, 0.125, 9.999999974752427e-7, 1e16. */
void psc_json_f64(struct psc_json *j, double v);
void psc_json_bool(struct psc_json *j, bool v);
void psc_json_null(struct psc_json *j);
/* A key and its value. */
void psc_json_put_string(struct psc_json *j, const char *key, const char *s); /* NULL writes null */
void psc_json_put_text(struct psc_json *j, const char *key, const char *s);   /* NULL writes "" */
void psc_json_put_u64(struct psc_json *j, const char *key, uint64_t v);
void psc_json_put_i64(struct psc_json *j, const char *key, int64_t v);
void psc_json_put_f64(struct psc_json *j, const char *key, double v);
void psc_json_put_bool(struct psc_json *j, const char *key, bool v);
/* A complete JSON value as text (from a file): re-spaced to this printer's style, numbers kept as spelled,
 * however deep it is nested. What JSON does not allow is mended: NaN and Infinity become null, raw control
 * characters are escaped, invalid UTF-8 becomes U+FFFD. */
void psc_json_raw(struct psc_json *j, const char *json);
void psc_json_raw_n(struct psc_json *j, const char *json, size_t n);

#endif
