#!/usr/bin/env python3
"""Writes traces/powers-of-ten.c: 10^-292 ... 10^324, each as the 128 bits at its front, rounded up.

    make-powers-of-ten.py > traces/powers-of-ten.c
    make-powers-of-ten.py --check FILE     FILE is what this script writes, and 128 bits are enough; prints TAP

traces/shortest.c multiplies by such a power a whole number m (four times a double's mantissa c, or a bound of its
interval: 4c - 2, 4c + 2), and keeps the whole part and whether anything is behind it. A power that was rounded up
makes a product too large by less than 2^-64, so the answer is exact when no product lies within 2^-64 of a whole number,
above or below, without being one. Only those whole numbers count that the product is compared with: even ones for 4c,
multiples of four for the bounds. The multiples of a fraction that come closest to a whole number are found as Euclid
finds a divisor; so the last check is a proof over all doubles."""
import sys

LEAST, MOST = -292, 324
Q_LEAST, Q_MOST = -1074, 971  # exponents of a double with a whole mantissa
C_MOST = 2 ** 53


def power(e):
    """(g, s): g = 10^e / 2^s rounded up, 2^127 <= g < 2^128"""
    a, b = 10 ** max(e, 0), 10 ** max(-e, 0)
    s = a.bit_length() - b.bit_length() - 128
    g = -(-(a << max(-s, 0)) // (b << max(s, 0)))
    if g >= 2 ** 128:
        s += 1
        g = -(-(a << max(-s, 0)) // (b << max(s, 0)))
    return g, s


def table():
    lines = ['/* Made by traces/make-powers-of-ten.py; not edited by hand. */', '#include "traces/shortest.h"', '',
             f'const struct psc_power_of_ten psc_powers_of_ten[] = {{ /* 10^{LEAST} ... 10^{MOST} */']
    rows = [f'{{0x{g >> 64:016x}, 0x{g % 2 ** 64:016x}}},' for g, _ in map(power, range(LEAST, MOST + 1))]
    lines += ['    ' + ' '.join(rows[i:i + 2]) for i in range(0, len(rows), 2)]
    return '\n'.join(lines + ['};']) + '\n'


def extremes(a, b, most):
    """Of m * a mod b, 1 <= m <= most: the least but 0, or b, and the largest."""
    low, m_low, high, m_high = a % b, 1, b, 0  # m_low * a = low, m_high * a = high, modulo b
    while 0 < low and m_low + m_high <= most:
        if low < high:
            times = min((high - 1) // low, (most - m_high) // m_low)
            high, m_high = high - times * low, m_high + times * m_low
        elif low > high:
            times = min((low - 1) // high, (most - m_low) // m_high)
            low, m_low = low - times * high, m_low + times * m_high
        else:
            break  # the next is 0, and from there on they come again
    return low or b, (b - high) % b


def scale(q, regular):
    """2^q / 10^k as a fraction, with k and the shift of m as traces/shortest.c takes them"""
    k = (q * 1262611 - (0 if regular else 524031)) >> 22
    a, b = 2 ** max(q, 0) * 10 ** max(-k, 0), 2 ** max(-q, 0) * 10 ** max(k, 0)
    thrice = 4 if regular else 3
    assert 4 * b <= thrice * a < 40 * b  # 10^k is what fits the width of the interval
    shift = q + ((-k * 1741647) >> 19) + 1
    assert LEAST <= -k <= MOST and shift == q + power(-k)[1] + 128
    assert shift >= 0 and (4 * C_MOST + 2) << shift < 2 ** 64
    return a, b


def clear(low, high, b, unit):
    """Residues modulo b, a whole number being `unit` products: are they far enough from 0 and b?"""
    return low * unit << 64 >= b and (b - high) * unit << 64 >= b


def enough():
    for q in range(Q_LEAST, Q_MOST + 1):
        a, b = scale(q, True)
        if not clear(*extremes(2 * a, b, C_MOST), b, 2) or not clear(*extremes(a, 2 * b, 2 * C_MOST + 1), 2 * b, 4):
            return False
        a, b = scale(q, False)  # a power of two, whose interval is narrower below
        for m in (2 ** 54 - 1, 2 ** 54, 2 ** 54 + 2):
            rest = m * a % b
            if not clear(rest or b, rest, b, 1):
                return False
    return True


def main():
    if len(sys.argv) == 3 and sys.argv[1] == '--check':
        with open(sys.argv[2], encoding='utf-8') as f:
            same = f.read() == table()
        sample = all(extremes(a, b, n) == (min([m * a % b for m in range(1, n + 1) if m * a % b] or [b]),
                                           max(m * a % b for m in range(1, n + 1)))
                     for a in range(1, 25) for b in range(2, 25) for n in range(1, 30))
        print('1..3')
        for n, (ok, name) in enumerate([(same, 'the table is what the script writes'),
                                        (sample, 'the closest multiples are found'),
                                        (enough(), 'products with 128 bits decide every double')]):
            print(f'{"ok" if ok else "not ok"} {n + 1} - {name}')
        return
    sys.stdout.write(table())


if __name__ == '__main__':
    main()
