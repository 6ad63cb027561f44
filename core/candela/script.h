/* core/candela/script.h: an expression with how it is to be planned, as one text.
 *
 *     # lazy 0.2 b3 level        first line, optional: generation, faults, level
 *     t = transpose([[1, 2], [3, 4]])
 *     as_contiguous(t) + (t + 1)
 */
#ifndef PSC_CORE_CANDELA_SCRIPT_H
#define PSC_CORE_CANDELA_SCRIPT_H

#include "core/base/text.h"
#include "core/candela/parse.h"
#include "core/candela/plan.h"

struct psc_lazy_script {
    struct psc_lazy lazy;
    uint32_t root;
    struct psc_candela_options options;
    bool levels; /* steps run beside each other where their dependencies allow */
};
bool psc_lazy_script_is(const char *text, size_t n); /* does the text begin with "# lazy"? */
/* Further words, separated by blanks: they win over the first line's generation; after `only` nothing counts that was said before it.
 * NULL: none. Release the script in any case. */
enum psc_status psc_lazy_script_read(struct psc_lazy_script *script, const char *words, const char *text, size_t n,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
/* The words of a first line that plans so: "0.1 b3 level". */
void psc_lazy_script_words(struct psc_text *out, const struct psc_candela_options *options, bool levels);
void psc_lazy_script_release(struct psc_lazy_script *script);

#endif
