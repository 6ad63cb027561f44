/* traces/shortest.h beside the slow way: print with more and more digits, exactly, until the text reads back. */
#include "tests/util.h"
#include "traces/shortest.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double of_float_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9e3779b97f4a7c15ull;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    return bits ^ (bits >> 31);
}

/* v at a precision, read back: the digits nearest to v, or, below a gap twice as wide, those above. */
static bool reads_back(double v, int precision, struct psc_decimal *ret)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", precision - 1, v);
    char *end = strchr(text, 'e');
    ret->exponent = atoi(end + 1) - (precision - 1);
    *end = '\0';
    ret->digits = 0;
    for (const char *s = text; *s; s++)
        if (*s >= '0' && *s <= '9')
            ret->digits = 10 * ret->digits + (uint64_t)(*s - '0');
    for (int above = 0; above < 2; above++, ret->digits++) {
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)ret->digits, ret->exponent);
        if (strtod(text, NULL) == v)
            return true;
    }
    return false;
}

/* Fifteen digits survive the way through a double, so padded ones hold the shortest; not so below the normal ones. */
static struct psc_decimal slowly(double v)
{
    struct psc_decimal d;
    int precision = v < DBL_MIN ? 1 : 15;
    while (!reads_back(v, precision, &d))
        g_assert_cmpint(++precision, <=, 17);
    for (; d.digits % 10 == 0; d.exponent++)
        d.digits /= 10;
    return d;
}

static unsigned looked_at;

static void compare(double v)
{
    if (!isfinite(v) || v <= 0)
        return;
    struct psc_decimal have = psc_shortest(v), want = slowly(v);
    if (have.digits != want.digits || have.exponent != want.exponent)
        g_error("%a: %llue%d, not %llue%d", v, (unsigned long long)have.digits, have.exponent,
                (unsigned long long)want.digits, want.exponent);
    looked_at++;
}

static void compare_around(double v)
{
    compare(v);
    compare(nextafter(v, 0));
    compare(nextafter(v, INFINITY));
}

static void powers_and_their_neighbours(void)
{
    looked_at = 0;
    for (int q = -1074; q <= 1023; q++)
        compare_around(ldexp(1.0, q));
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        compare_around(strtod(text, NULL));
    }
    compare_around(DBL_MAX);
    g_assert_cmpuint(looked_at, >, 8000);
}

/* Subnormal numbers have few bits: all of the smallest, and of f32 every 257th. */
static void the_smallest(void)
{
    looked_at = 0;
    for (uint64_t c = 1; c < 20000; c++)
        compare(of_bits(c));
    for (uint32_t c = 1; c < 0x820000; c += 0x101)
        compare(of_float_bits(c));
    g_assert_cmpuint(looked_at, >, 50000);
}

/* Products whose rest is next to nothing, halves between two decimals, and what few digits spell. */
static void hard_ones(void)
{
    looked_at = 0;
    compare_around(ldexp(8887055249355788.0, 664));
    compare_around(ldexp(8887055249355788.0, 665));
    compare_around(ldexp(5592117679628511.0, 163));
    compare_around(ldexp(5592117679628511.0, 164));
    for (int q = -8; q < 0; q++) /* 281474976710656.125 lies between .12 and .13 */
        for (int m = 1; m < 500; m++)
            compare(ldexp(4503599627370496.0 + m, q));
    for (int q = -60; q <= 60; q++)
        for (int m = 1; m < 200; m++)
            compare_around(ldexp(m, q));
    for (int e = -30; e <= 30; e++)
        for (int digits = 1; digits < 1000; digits += 7) {
            char text[16];
            snprintf(text, sizeof text, "%de%d", digits, e);
            compare_around(strtod(text, NULL));
            compare_around((double)strtof(text, NULL));
        }
    g_assert_cmpuint(looked_at, >, 100000);
}

static void every_exponent(void)
{
    uint64_t state = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, (guint64)state);
    looked_at = 0;
    for (uint64_t biased = 0; biased < 2047; biased++)
        for (unsigned i = 0; i < 150; i++)
            compare(of_bits(biased << 52 | next_random(&state) >> 12));
    for (uint32_t biased = 0; biased < 255; biased++)
        for (unsigned i = 0; i < 1500; i++)
            compare(of_float_bits(biased << 23 | (uint32_t)(next_random(&state) >> 41)));
    g_assert_cmpuint(looked_at, >, 650000);
}

/* As traces have them: samples and statistics between 1e-6 and 100, some cut to six places. */
static void values_of_traces(void)
{
    uint64_t state = test_seed() + 1;
    g_test_message("seed %" G_GUINT64_FORMAT, (guint64)state);
    looked_at = 0;
    for (unsigned i = 0; i < 200000; i++) {
        double v = ldexp((double)(next_random(&state) >> 11), -53 - (int)(next_random(&state) % 27) + 7);
        compare(v);
        compare((double)(float)v);
        compare((double)(float)(round(v * 1e6) / 1e6));
    }
    g_assert_cmpuint(looked_at, >, 500000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/shortest/powers-and-their-neighbours", powers_and_their_neighbours);
    g_test_add_func("/traces/shortest/the-smallest", the_smallest);
    g_test_add_func("/traces/shortest/hard-ones", hard_ones);
    g_test_add_func("/traces/shortest/every-exponent", every_exponent);
    g_test_add_func("/traces/shortest/values-of-traces", values_of_traces);
    return g_test_run();
}
