#!/usr/bin/env python3
"""Makes blocks.bin: blocks of every weight type and the numbers they stand for, by another hand than ours.

    tests/golden/make-blocks.py      (needs the packages gguf and numpy; made with 0.19.0 and 2.4.6)

Records follow each other, little-endian:  name (8 bytes, zero-padded), values u32, bytes u32, f32[values], u8[bytes]

    q4_0 ... q6_K, f16, bf16   bytes are blocks, values what gguf.quants.dequantize makes of them
    to-f16, to-bf16            values in, bytes are what numpy and gguf.quants round them to
    act-32, act-256            values in, bytes are activation blocks (q8_0, q8_K), from the definition, in numpy
"""
import os
import struct

import gguf
import numpy as np
from gguf import quants

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {'f16': 'F16', 'bf16': 'BF16', 'q8_0': 'Q8_0', 'q4_0': 'Q4_0', 'q4_1': 'Q4_1', 'q5_0': 'Q5_0', 'q5_1': 'Q5_1',
         'q4_K': 'Q4_K', 'q5_K': 'Q5_K', 'q6_K': 'Q6_K'}
SCALES = {'q8_0': [0], 'q4_0': [0], 'q4_1': [0, 2], 'q5_0': [0], 'q5_1': [0, 2], 'q4_K': [0, 2], 'q5_K': [0, 2],
          'q6_K': [208]}
# one, a third, smallest subnormal, a subnormal, smallest normal, largest, zeros, negative ones
HALVES = [0x3c00, 0x3555, 0x0001, 0x0203, 0x0400, 0x7bff, 0x0000, 0x8000, 0xbc00, 0x8001, 0x2e66, 0xb19a]

rng = np.random.default_rng(20260301)
out = open(os.path.join(HERE, 'blocks.bin'), 'wb')


def record(name, values, data):
    values = np.ascontiguousarray(values, dtype='<f4').reshape(-1)
    out.write(struct.pack('<8sII', name.encode(), values.size, len(data)) + values.tobytes() + data)


def awkward():
    """rows of 32 f32 values on which quantisers like to go wrong"""
    rows = [np.zeros(32), np.full(32, -0.0), np.full(32, 1.0), np.full(32, -3.7), np.arange(32) - 16.0,
            np.arange(32) / 31, np.where(np.arange(32) == 5, 1e4, 0), np.where(np.arange(32) == 9, -1e4, 1e-3),
            np.full(32, 1e-7),
            np.arange(32) * 1e-6, np.tile([0.5, -0.5], 16), np.tile([1.5, 2.5, -1.5, -2.5], 8),
            100 + np.arange(32) / 100,
            np.arange(32) + 0.5, -np.arange(32) / 7]
    rows += [rng.standard_normal(32) * 10.0**k for k in range(-6, 6)]
    rows += [rng.uniform(0, 1, 32), rng.uniform(-1, 0, 32), rng.standard_t(2, 32)]
    return np.array(rows, dtype=np.float32)


def dequantized(name, data):
    qtype = gguf.GGMLQuantizationType[TYPES[name]]
    return quants.dequantize(np.frombuffer(data, dtype=np.uint8).reshape(1, -1), qtype)


def random_blocks(name, n):
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[TYPES[name]]][1]
    blocks = rng.integers(0, 256, (n, size), dtype=np.uint8)
    for i in range(n):
        for k, at in enumerate(SCALES[name]):
            blocks[i, at:at + 2] = np.frombuffer(struct.pack('<H', HALVES[(i + 5 * k) % len(HALVES)]), dtype=np.uint8)
    return blocks.tobytes()


def weights():
    for name in SCALES:
        data = b''
        if not name.endswith('K'):
            data += quants.quantize(awkward(), gguf.GGMLQuantizationType[TYPES[name]]).tobytes()
        data += random_blocks(name, 6 if name.endswith('K') else 12)
        record(name, dequantized(name, data), data)
    halves = np.concatenate([np.arange(0, 0x7c00, 97), np.arange(0x8000, 0xfc00, 131),
                             [0x7bff, 0x7c00, 0xfc00, 1, 0x3ff, 0x400]]).astype('<u2')
    record('f16', halves.view('<f2').astype('<f4'), halves.tobytes())
    tops = np.concatenate([np.arange(0, 0x7f80, 257), np.arange(0x8000, 0xff80, 509), [0x7f80, 0xff80, 1]])
    tops = tops.astype('<u2')
    record('bf16', dequantized('bf16', tops.tobytes()), tops.tobytes())


def rounding():
    """values at, just below and just above the middle between two neighbours"""
    bits = []
    for middle in [0x3f801000, 0x3f803000, 0x33000000, 0x33c00000, 0x38000000, 0x387fe000, 0x387ff000, 0x477fe000,
                   0x477ff000, 0x3f808000, 0x3f818000, 0x7f7f8000, 0x00008000, 0x00018000, 0x7f7fffff, 0x42f6e979]:
        bits += [middle - 1, middle, middle + 1]
    bits += [0, 1, 0x7f800000] + [int(b) for b in rng.integers(0x30000000, 0x48000000, 60)]
    bits = np.array(bits + [b | 0x80000000 for b in bits], dtype='<u4')
    values = bits.view('<f4')
    with np.errstate(over='ignore'):
        record('to-f16', values, values.astype('<f2').tobytes())
    record('to-bf16', values, quants.quantize(values.reshape(1, -1), gguf.GGMLQuantizationType.BF16).tobytes())


def activation(x):
    """d and q of one block, each step rounded to f32"""
    amax = np.max(np.abs(x))
    with np.errstate(over='ignore', divide='ignore'):
        up = np.float32(127) / amax
    if not np.isfinite(amax):
        return np.float16(np.nan), np.zeros(x.size, np.int8)
    if amax == 0 or np.isinf(up):
        return np.float16(0), np.zeros(x.size, np.int8)
    with np.errstate(over='ignore'):
        d = np.float16(amax / np.float32(127))
    return d, np.clip(np.rint(x * up), -128, 127).astype(np.int8)


def activations():
    rows = list(awkward())
    rows += [np.where(np.arange(32) == 3, v, 1).astype(np.float32) for v in [np.nan, np.inf, -np.inf]]
    rows += [np.full(32, v, np.float32) for v in [1e-45, 1e-37, 3.8e-37, 3.4e38]]
    rows += [np.linspace(-127, 127, 32), np.arange(32) * 8 - 126.5]
    rows += [np.where(np.arange(32) == 8, 127, np.arange(32) - 15.5),
             np.where(np.arange(32) == 30, -254, np.arange(32) * 6 + 1)]
    rows = np.array(rows, dtype=np.float32)  # the last two: 127 / amax is 1 and 1/2, so there are ties
    data = b''
    for x in rows:
        d, q = activation(x)
        data += struct.pack('<H', int(d.view(np.uint16))) + q.tobytes()
    record('act-32', rows, data)
    n = len(rows) // 8 * 8
    wide = np.concatenate([rows[:n].reshape(-1, 256), np.tile(rows[-2], (1, 8)), np.full((1, 256), -2),
                           rng.standard_normal((4, 256)) * 3]).astype(np.float32)
    data = b''
    for x in wide:
        d, q = activation(x)
        sums = q.reshape(16, 16).astype('<i2').sum(axis=1, dtype='<i2')
        data += struct.pack('<H', int(d.view(np.uint16))) + q.tobytes() + bytes(16) + sums.tobytes()
    record('act-256', wide, data)


weights()
rounding()
activations()
