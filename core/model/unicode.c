#include "core/model/unicode.h"

static enum psc_char_class ascii_class(uint32_t code)
{
    if ((code | 0x20) - 'a' < 26)
        return PSC_CHAR_LETTER;
    if (code - '0' < 10)
        return PSC_CHAR_NUMBER;
    return code == ' ' || code - '\t' < 5 ? PSC_CHAR_SPACE : PSC_CHAR_OTHER;
}

enum psc_char_class psc_char_class_of(uint32_t code)
{
    if (code < 0x80)
        return ascii_class(code);
    if (code > 0x10ffff)
        return PSC_CHAR_OTHER;
    uint32_t lo = 0, hi = psc_char_bound_n; /* the last bound at or below code lies in [lo, hi) */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (psc_char_bounds[mid] >> 2 <= code)
            lo = mid;
        else
            hi = mid;
    }
    return (enum psc_char_class)(psc_char_bounds[lo] & 3);
}
