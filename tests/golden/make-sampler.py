#!/usr/bin/env python3
"""Writes tests/golden/sampler.txt: what core/run/sampler.h promises, worked out the long way: whole sorts, whole sums,
decimal exponentials. Standard library only.

    make-sampler.py > tests/golden/sampler.txt

Lines: `exp X RESULT` (hexadecimal doubles), `top N SEED: ID P ...`, and
`sample N SEED TEMPERATURE TOP_K TOP_P MIN_P PENALTY WINDOW: TOKEN ...`, where the logits of draw j of a line come from
the generator begun with SEED + j, spread over -SPREAD to SPREAD in steps that f32 holds exactly; the sampler's seed is
SEED."""
import math
import struct
from decimal import Decimal, getcontext

getcontext().prec = 60
MASK = 2**64 - 1
SPREAD = 6.0


def f32(x):
    return struct.unpack('f', struct.pack('f', x))[0]


class Random:
    """splitmix64"""
    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        x = self.state
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & MASK
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb & MASK
        return x ^ (x >> 31)


def logits_of(n, seed):
    random = Random(seed)
    return [f32((random.next() >> 40) * 2.0**-24 * (2 * SPREAD) - SPREAD) for _ in range(n)]


def exp(x):
    return Decimal(x).exp()


def series(x):
    """the steps of psc_exp one by one, in Python's doubles: the bits must be the same"""
    shifted = x * float.fromhex('0x1.71547652b82fep+0') + 1.5 * 2.0**52
    k = shifted - 1.5 * 2.0**52
    r = (x - k * float.fromhex('0x1.62e42feep-1')) - k * float.fromhex('0x1.a39ef35793c76p-33')
    r2 = r * r
    even = odd = 0.0
    for i in range(12, 1, -2):
        even = even * r2 + 1.0 / math.factorial(i)
        odd = odd * r2 + 1.0 / math.factorial(i + 1)
    return math.ldexp(1.0 + (r + r2 * (even + r * odd)), int(k))


def sample_line(n, seed, temperature, top_k, top_p, min_p, penalty, window, draws):
    random, past, out = Random(seed), [], []
    temperature, top_p, min_p, penalty = map(f32, (temperature, top_p, min_p, penalty))
    for j in range(draws):
        logits = logits_of(n, seed + j)
        for token in set(past[-window:] if window else []):
            old = logits[token]
            logits[token] = f32(old / penalty) if old > 0 else f32(old * penalty)
        order = sorted(range(n), key=lambda i: (-logits[i], i))
        high = logits[order[0]]
        p = {i: exp(Decimal(logits[i]) - Decimal(high)) for i in order}
        left = order[:top_k] if top_k else order
        if top_p < 1:
            enough, total, kept = Decimal(top_p) * sum(p[i] for i in left), Decimal(0), []
            for i in left:
                if total >= enough:
                    break
                kept.append(i)
                total += p[i]
            left = kept
        left = [i for i in left if p[i] >= Decimal(min_p)]
        if not (top_k or top_p < 1 or min_p > 0):
            left = list(range(n))
        w = {i: exp((Decimal(logits[i]) - Decimal(high)) / Decimal(temperature)) for i in left}
        target = Decimal(random.next() >> 11) / 2**53 * sum(w.values())
        total, token = Decimal(0), None
        for i in left:
            total += w[i]
            assert abs(total - target) > Decimal('1e-9'), 'too near to call: take another seed'
            if total > target:
                token = i
                break
        past.append(token)
        out.append(token)
    head = f'sample {n} {seed} {temperature!r} {top_k} {top_p!r} {min_p!r} {penalty!r} {window}:'
    print(head, *out)


def top_line(n, seed):
    logits = logits_of(n, seed)
    e = [exp(f32(x - max(logits))) for x in logits]
    order = sorted(range(n), key=lambda i: (-e[i], i))[:5]
    print(f'top {n} {seed}:', *(f'{i} {f32(float(e[i] / sum(e))).hex()}' for i in order))


print('# made by tests/golden/make-sampler.py')
for x in [
        0.0, -2.0**-60, -1e-9, -0.1, -0.34, -0.35, -0.5, -1.0, -math.pi, -10.0, -40.25, -99.875, -345.6, -700.0,
        -707.9]:
    got = series(x)
    assert abs(Decimal(got) - exp(x)) <= exp(x) * Decimal(2)**-52, x
    print('exp', x.hex(), got.hex())
for n, seed in [(1, 1), (3, 2), (5, 3), (6, 4), (255, 5), (256, 6), (257, 7), (1000, 8), (5000, 9)]:
    top_line(n, seed)
for case in [
        (50, 100, 1.0, 0, 1.0, 0.0, 1.0, 0), (50, 200, 0.7, 0, 1.0, 0.0, 1.0, 0),
        (300, 300, 0.8, 40, 0.95, 0.05, 1.0, 0), (300, 400, 1.5, 5, 1.0, 0.0, 1.0, 0),
        (300, 500, 1.0, 0, 0.5, 0.0, 1.0, 0), (300, 600, 1.0, 0, 1.0, 0.1, 1.0, 0),
        (300, 700, 0.9, 0, 0.9, 0.02, 1.3, 8), (20, 800, 2.0, 10, 0.99, 0.0, 1.8, 64),
        (1, 900, 1.0, 0, 1.0, 0.0, 1.0, 0), (300, 1000, 1.0, 0, 0.999, 0.0, 1.0, 0),
        (300, 1100, 1.0, 200, 1.0, 0.0, 0.5, 3)]:
    sample_line(*case, draws=40)
