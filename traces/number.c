#include "traces/number.h"

#include "traces/shortest.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t psc_u64_text(uint64_t v, char buf[PSC_U64_TEXT_MAX])
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char digits[PSC_U64_TEXT_MAX];
    size_t at = sizeof digits;
    for (; v >= 10; v /= 100)
        memcpy(digits + (at -= 2), pairs + 2 * (v % 100), 2);
    if (v || at == sizeof digits)
        digits[--at] = (char)('0' + v);
    memcpy(buf, digits + at, sizeof digits - at);
    buf[sizeof digits - at] = '\0';
    return sizeof digits - at;
}

static char *add(char *out, const char *s, int n)
{
    memcpy(out, s, (size_t)n);
    return out + n;
}

/* Digits with a point and without an exponent; `point` of them stand before it, -4 ... 16. */
static char *add_plain(char *out, const char *digits, int n, int point)
{
    static const char zeros[] = "0000000000000000";
    if (point >= n)
        return add(add(add(out, digits, n), zeros, point - n), ".0", 2);
    if (point > 0)
        return add(add(add(out, digits, point), ".", 1), digits + point, n - point);
    return add(add(add(out, "0.", 2), zeros, -point), digits, n);
}

static char *add_scientific(char *out, const char *digits, int n, int exponent)
{
    out = add(out, digits, 1);
    if (n > 1)
        out = add(add(out, ".", 1), digits + 1, n - 1);
    out = add(out, "e-", exponent < 0 ? 2 : 1);
    return out + psc_u64_text((uint64_t)abs(exponent), out);
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
    struct psc_decimal decimal = psc_shortest(v);
    char digits[PSC_U64_TEXT_MAX];
    int n = (int)psc_u64_text(decimal.digits, digits);
    int point = n + decimal.exponent; /* digits before the decimal point */
    if (point > -5 && point <= 16)
        out = add_plain(out, digits, n, point);
    else
        out = add_scientific(out, digits, n, point - 1);
    *out = '\0';
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
    bool negative, exact, full; /* full: a digit was dropped, and so are all later ones */
};

#define EXPONENT_MAX 100000 /* beyond all doubles: nobody tells larger ones apart */

/* The digits from `at` on, each worth a place less than the one before it; returns where they end. */
static size_t add_digits(struct parts *p, const char *s, size_t n, size_t at, bool after_point)
{
    size_t from = at;
    uint64_t m = p->mantissa;
    for (; at < n && (unsigned char)(s[at] - '0') < 10 && m < UINT64_MAX / 10; at++) /* ten times m fits, and nine */
        m = m * 10 + (unsigned char)(s[at] - '0');
    p->mantissa = m;
    if (after_point)
        p->exponent -= at - from < EXPONENT_MAX ? (int)(at - from) : EXPONENT_MAX;
    for (; at < n && (unsigned char)(s[at] - '0') < 10; at++) {
        unsigned digit = (unsigned char)(s[at] - '0');
        p->full = p->full || p->mantissa > (UINT64_MAX - digit) / 10;
        if (p->full) {
            p->exact = p->exact && digit == 0;
            p->exponent += !after_point && p->exponent < EXPONENT_MAX;
        } else {
            p->mantissa = p->mantissa * 10 + digit;
            p->exponent -= after_point;
        }
    }
    return at;
}

static struct parts split(const char *s, size_t n)
{
    struct parts p = {.exact = true, .negative = n && s[0] == '-'};
    size_t at = add_digits(&p, s, n, p.negative, false);
    if (at < n && s[at] == '.')
        at = add_digits(&p, s, n, at + 1, true);
    if (at < n) {
        bool minus = false;
        int e = 0;
        for (at++; at < n; at++) {
            if (s[at] == '-')
                minus = true;
            else if (s[at] != '+' && e < EXPONENT_MAX)
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
