#include "traces/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits (no point) and decimal exponent of v at a precision; v reads back from the text: true. The text is
 * printed and read back in the current locale, whatever its decimal point is. */
static bool digits_at(double v, int precision, char digits[24], int *exponent)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", precision - 1, v);
    bool same = strtod(text, NULL) == v;
    size_t n = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && n < 23)
            digits[n++] = *p;
    digits[n] = '\0';
    *exponent = *p ? atoi(p + 1) : 0;
    return same;
}

/* At a power of two the gap below is half the gap above: the digit above may read back where the nearest one
 * does not. Raises the last digit; false when that needs a carry or does not read back. */
static bool raise_last(double v, char digits[24], int exponent)
{
    size_t n = strlen(digits);
    if (digits[n - 1] == '9')
        return false;
    digits[n - 1]++;
    char text[48];
    snprintf(text, sizeof text, "%se%d", digits, exponent - (int)n + 1);
    if (strtod(text, NULL) == v)
        return true;
    digits[n - 1]--;
    return false;
}

static void shortest(double v, char digits[24], int *exponent)
{
    int fraction_exponent;
    bool power_of_two = frexp(v, &fraction_exponent) == 0.5;
    /* Up to 15 digits survive decimal -> double -> decimal, so padded 15 digits that read back hold the
     * shortest form; not so for subnormals, which have fewer bits. */
    int precision = v < 2.3e-308 ? 1 : 15;
    for (; precision < 17; precision++)
        if (digits_at(v, precision, digits, exponent) || (power_of_two && raise_last(v, digits, *exponent)))
            break;
    if (precision == 17)
        digits_at(v, 17, digits, exponent);
    size_t n = strlen(digits);
    while (n > 1 && digits[n - 1] == '0')
        digits[--n] = '\0';
}

size_t psc_f64_text(double v, char buf[PSC_F64_TEXT_MAX])
{
    char *out = buf;
    if (signbit(v)) {
        *out++ = '-';
        v = -v;
    }
    if (v == 0.0) {
        memcpy(out, "0.0", 4);
        return (size_t)(out - buf) + 3;
    }
    char digits[24];
    int exponent; /* of the first digit */
    shortest(v, digits, &exponent);
    int n = (int)strlen(digits);
    int point = exponent + 1; /* digits before the decimal point */
    if (point >= n && point <= 16)
        out += snprintf(out, 24, "%s%.*s.0", digits, point - n, "0000000000000000");
    else if (point > 0 && point <= 16)
        out += snprintf(out, 24, "%.*s.%s", point, digits, digits + point);
    else if (point > -5 && point <= 0)
        out += snprintf(out, 28, "0.%.*s%s", -point, "00000", digits);
    else if (n == 1)
        out += snprintf(out, 24, "%se%d", digits, exponent);
    else
        out += snprintf(out, 28, "%.1s.%se%d", digits, digits + 1, exponent);
    return (size_t)(out - buf);
}

static size_t digit_run(const char *s, size_t n, size_t at)
{
    while (at < n && s[at] >= '0' && s[at] <= '9')
        at++;
    return at;
}

size_t psc_number_length(const char *s, size_t n)
{
    size_t at = n && s[0] == '-' ? 1 : 0;
    size_t end = digit_run(s, n, at);
    if (end == at || (s[at] == '0' && end > at + 1))
        return 0;
    at = end;
    if (at < n && s[at] == '.') {
        end = digit_run(s, n, at + 1);
        if (end == at + 1)
            return 0;
        at = end;
    }
    if (at < n && (s[at] == 'e' || s[at] == 'E')) {
        at++;
        if (at < n && (s[at] == '+' || s[at] == '-'))
            at++;
        end = digit_run(s, n, at);
        if (end == at)
            return 0;
        at = end;
    }
    return at;
}

/* A number split up: (-1)^negative * mantissa * 10^exponent. `exact` is false when digits did not fit the
 * mantissa (the exponent accounts for those that were dropped). */
struct parts {
    uint64_t mantissa;
    int exponent;
    bool negative, exact;
};

static struct parts split(const char *s, size_t n)
{
    struct parts p = {.exact = true};
    size_t at = 0;
    bool after_point = false;
    if (n && s[0] == '-') {
        p.negative = true;
        at = 1;
    }
    for (; at < n && s[at] != 'e' && s[at] != 'E'; at++) {
        if (s[at] == '.') {
            after_point = true;
            continue;
        }
        unsigned digit = (unsigned)(s[at] - '0');
        if (p.mantissa > (UINT64_MAX - digit) / 10) {
            p.exact = p.exact && digit == 0;
            if (!after_point && p.exponent < 100000)
                p.exponent++;
            /* Once a digit is dropped the later ones are too: keep their weight right by never adding again.
             */
            for (at++; at < n && s[at] != 'e' && s[at] != 'E'; at++) {
                if (s[at] == '.') {
                    after_point = true;
                    continue;
                }
                p.exact = p.exact && s[at] == '0';
                if (!after_point && p.exponent < 100000)
                    p.exponent++;
            }
            break;
        }
        p.mantissa = p.mantissa * 10 + digit;
        if (after_point && p.exponent > -100000)
            p.exponent--;
    }
    if (at < n) {
        bool minus = false;
        int e = 0;
        for (at++; at < n; at++) {
            if (s[at] == '-')
                minus = true;
            else if (s[at] != '+' && e < 100000)
                e = e * 10 + (s[at] - '0');
        }
        p.exponent += minus ? -e : e;
    }
    return p;
}

/* The magnitude as an integer; false when it is not whole or does not fit. */
static bool whole(struct parts p, uint64_t *ret)
{
    if (!p.exact)
        return false;
    uint64_t m = p.mantissa;
    if (m == 0)
        p.exponent = 0;
    for (; p.exponent > 0; p.exponent--) {
        if (m > UINT64_MAX / 10)
            return false;
        m *= 10;
    }
    for (; p.exponent < 0; p.exponent++) {
        if (m % 10)
            return false;
        m /= 10;
    }
    *ret = m;
    return true;
}

bool psc_number_u64(const char *s, size_t n, uint64_t *ret)
{
    struct parts p = split(s, n);
    uint64_t m;
    if (!whole(p, &m) || (p.negative && m))
        return false;
    *ret = m;
    return true;
}

bool psc_number_i64(const char *s, size_t n, int64_t *ret)
{
    struct parts p = split(s, n);
    uint64_t m;
    if (!whole(p, &m) || m > (uint64_t)INT64_MAX + p.negative)
        return false;
    *ret = p.negative ? (int64_t)(0 - m) : (int64_t)m;
    return true;
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double psc_number_f64(const char *s, size_t n)
{
    struct parts p = split(s, n);
    /* Both operands exact: one operation, one rounding. */
    if (p.exact && p.mantissa <= (1ull << 53) && p.exponent >= -22 && p.exponent <= 22) {
        double v = (double)p.mantissa;
        v = p.exponent < 0 ? v / powers[-p.exponent] : v * powers[p.exponent];
        return p.negative ? -v : v;
    }
    /* strtod wants the locale's decimal point and a terminator. Text beyond 768 significant digits cannot
     * change the result but for ties that no printer makes. */
    char copy[1100];
    const char *point = localeconv()->decimal_point;
    size_t at = 0;
    for (size_t i = 0; i < n && at < sizeof copy - 40; i++) {
        if (s[i] == '.')
            for (const char *d = point; *d && at < sizeof copy - 40; d++)
                copy[at++] = *d;
        else
            copy[at++] = s[i];
    }
    if (at >= sizeof copy - 40) /* too long to copy: mantissa and exponent say the same to 19 digits */
        at = (size_t)snprintf(copy, sizeof copy, "%s%llue%d", p.negative ? "-" : "",
                              (unsigned long long)p.mantissa, p.exponent);
    copy[at] = '\0';
    return strtod(copy, NULL);
}

float psc_number_f32(const char *s, size_t n)
{
    struct parts p = split(s, n);
    if (p.exponent >= -22 && p.exponent <= 22) {
        double v = (double)p.mantissa;
        v = p.exponent < 0 ? v / powers[-p.exponent] : v * powers[p.exponent];
        return (float)(p.negative ? -v : v);
    }
    double v = psc_number_f64(s, n);
    return (float)v;
}
