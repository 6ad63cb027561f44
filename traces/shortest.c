#include "traces/shortest.h"

#include <stdbool.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define HIDDEN ((uint64_t)1 << 52) /* the bit of a mantissa that a double does not store */

/* Floors of logarithms, for every exponent of a double: 2^q, 3/4 of 2^q, 10^e. Negative numbers shift as gcc and clang
 * shift them, towards minus infinity. */
static int log10_of_2(int q)
{
    return (q * 1262611) >> 22;
}

static int log10_of_2_three_quarters(int q)
{
    return (q * 1262611 - 524031) >> 22;
}

static int log2_of_10(int e)
{
    return (e * 1741647) >> 19;
}

/* m * power, its top 64 of 192 bits; the lowest bit is set also when something is behind them. Compared with an even
 * number it is then less, equal or more exactly as the product is. */
static uint64_t scaled(uint64_t m, struct psc_power_of_ten power)
{
    wide product = (wide)m * power.high + (uint64_t)((wide)m * power.low >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product != 0);
}

/* Four times v / 10^k and four times the bounds; what is compared with them is whole, times four. */
struct interval {
    uint64_t low, middle, high;
    bool open; /* the bounds are another double's */
};

static bool inside(const struct interval *at, uint64_t whole)
{
    return at->low + at->open <= 4 * whole && 4 * whole + at->open <= at->high;
}

static struct interval interval_of(uint64_t c, int q, bool narrow, int k)
{
    struct psc_power_of_ten power = psc_powers_of_ten[-k - PSC_POWER_OF_TEN_MIN];
    int shift = q + log2_of_10(-k) + 1; /* 0 ... 8 */
    return (struct interval){
        .low = scaled((4 * c - (narrow ? 1 : 2)) << shift, power),
        .middle = scaled((4 * c) << shift, power),
        .high = scaled((4 * c + 2) << shift, power),
        .open = c & 1,
    };
}

static struct psc_decimal without_zeros(struct psc_decimal d)
{
    for (; d.digits % 10 == 0; d.exponent++)
        d.digits /= 10;
    return d;
}

struct psc_decimal psc_shortest(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t fraction = bits & (HIDDEN - 1);
    int biased = (int)(bits >> 52);
    uint64_t c = biased ? HIDDEN | fraction : fraction; /* v = c * 2^q */
    int q = (biased ? biased : 1) - 1075;
    bool narrow = fraction == 0 && biased > 1; /* a power of two: the doubles below are twice as dense */
    int k = narrow ? log10_of_2_three_quarters(q) : log10_of_2(q);
    struct interval at = interval_of(c, q, narrow, k);
    uint64_t below = at.middle / 4, above = below + 1; /* in units of 10^k */
    uint64_t tens = below - below % 10;
    if (inside(&at, tens))
        return without_zeros((struct psc_decimal){tens, k});
    if (inside(&at, tens + 10))
        return without_zeros((struct psc_decimal){tens + 10, k});
    bool down = inside(&at, below);
    if (down && inside(&at, above)) {
        uint64_t half = 2 * (below + above);
        down = at.middle < half || (at.middle == half && below % 2 == 0);
    }
    return (struct psc_decimal){down ? below : above, k};
}
