/* traces/shortest.h: the shortest decimal digits that read back as a double.
 *
 *     v                      digits               exponent      v is the double nearest to
 *     1.0                    1                    0             1
 *     1000000.0              1                    6             1e6
 *     0.1f, widened          10000000149011612    -17           0.10000000149011612
 *     5e-324                 5                    -324          5e-324
 *
 * The doubles around v leave it an interval: what lies in there reads back as v (its bounds only when v's mantissa is
 * even, by the rule for ties). Let 10^k be the largest power of ten not wider than it. Then at least one multiple of
 * 10^k lies inside, and at most one of 10^(k+1). That one, if there is one, has the fewest digits. Otherwise it is
 * the multiple of 10^k next to v, below or above, that lies inside, and the nearer one when both do.
 *
 * v / 10^k and the bounds are products of 64 and 128 bits. traces/make-powers-of-ten.py makes the table of powers and
 * proves that 128 bits decide every double. Integers only: the same digits on every machine.
 */
#ifndef PSC_TRACES_SHORTEST_H
#define PSC_TRACES_SHORTEST_H

#include <stdint.h>

/* v = digits * 10^exponent, the last digit not 0. */
struct psc_decimal {
    uint64_t digits; /* below 10^17 */
    int exponent;
};

/* v is finite and above 0. */
struct psc_decimal psc_shortest(double v);

#define PSC_POWER_OF_TEN_MIN (-292) /* the exponent of the first */
struct psc_power_of_ten {
    uint64_t high, low; /* the first 128 bits, rounded up: the highest bit is set */
};
extern const struct psc_power_of_ten psc_powers_of_ten[];

#endif
