/* traces/number.h: numbers of JSON text, in and out, exact and free of the locale.
 *
 *     text in the file       as u64                as f64
 *     9007199254740993       9007199254740993      9007199254740992.0
 *     9.999999974752427e-7   (not whole)           9.999999974752427e-7
 *     3.0                    3                     3.0
 *
 * cJSON keeps numbers as doubles and so loses 64-bit ids; these functions work on the file's own text.
 */
#ifndef PSC_TRACES_NUMBER_H
#define PSC_TRACES_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSC_U64_TEXT_MAX 24
#define PSC_F64_TEXT_MAX 32

/* Decimal digits. Returns the length. */
size_t psc_u64_text(uint64_t v, char buf[PSC_U64_TEXT_MAX]);

/* Shortest digits that read back as v, spelled as serde_json spells them: 1.0, 0.125, 1000000.0, 1e16,
 * 9.999999974752427e-7. v must be finite. Returns the length. */
size_t psc_f64_text(double v, char buf[PSC_F64_TEXT_MAX]);

/* Length of the JSON number at s (0 when there is none), by the strict grammar. */
size_t psc_number_length(const char *s, size_t n);

/* s[0..n) is a JSON number. False when it is not whole or does not fit; 3.0 and 3e0 count as whole. */
bool psc_number_u64(const char *s, size_t n, uint64_t *ret);
bool psc_number_i64(const char *s, size_t n, int64_t *ret);
/* Correctly rounded. Out of range gives infinity or 0. */
double psc_number_f64(const char *s, size_t n);
/* For samples: right for every f32 that was printed as a widened f64, some ten times faster. */
float psc_number_f32(const char *s, size_t n);

#endif
