#!/usr/bin/env python3
"""Makes small model files with the gguf package, so that our reader and writer meet files of another hand.

    tests/golden/make-gguf.py      (needs the packages gguf and numpy; made with 0.19.0 and 2.4.6)

    small.gguf                         every type of value, tensors of seven types
    aligned.gguf                       general.alignment 64
    foreign.gguf                       tensors that nobody here computes with, and one of three dimensions
    part-00001-of-00003.gguf and on    a model in three parts
"""
import os

import gguf
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
T = gguf.GGMLQuantizationType
V = gguf.GGUFValueType


def close(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def ramp(*shape):
    """-1, -0.875, ... : exact in every type of plain number"""
    return ((np.arange(np.prod(shape)) % 17) / 8 - 1).astype(np.float32).reshape(shape)


def add_quantized(w, name, values, qtype):
    w.add_tensor(name, gguf.quants.quantize(values, qtype), raw_dtype=qtype)


def small():
    w = gguf.GGUFWriter(os.path.join(HERE, 'small.gguf'), 'qwen2')
    w.add_key_value('n.u8', 200, V.UINT8)
    w.add_key_value('n.i8', -100, V.INT8)
    w.add_key_value('n.u16', 60000, V.UINT16)
    w.add_key_value('n.i16', -30000, V.INT16)
    w.add_key_value('n.u32', 4000000000, V.UINT32)
    w.add_key_value('n.i32', -2000000000, V.INT32)
    w.add_key_value('n.u64', 18000000000000000000, V.UINT64)
    w.add_key_value('n.i64', -9000000000000000000, V.INT64)
    w.add_key_value('n.f32', 1e-6, V.FLOAT32)
    w.add_key_value('n.f64', 0.1, V.FLOAT64)
    w.add_key_value('n.true', True, V.BOOL)
    w.add_key_value('n.false', False, V.BOOL)
    w.add_string('general.name', 'Sm\u00e4ll "test"\n')
    w.add_array('a.texts', ['!', '\u0120the', '', '\u4e2d', 'a b'])
    w.add_array('a.i32s', [1, -2, 3, 2147483647, -2147483648])
    w.add_array('a.f32s', [0.0, -1.5, 3.25])
    w.add_array('a.bools', [True, False, True])
    w.add_tensor('token_embd.weight', ramp(3, 64))
    w.add_tensor('blk.0.attn_norm.weight', ramp(5))
    w.add_tensor('half', ramp(2, 3).astype(np.float16))
    add_quantized(w, 'top', ramp(2, 4), T.BF16)
    add_quantized(w, 'blk.0.q', ramp(2, 64), T.Q8_0)
    add_quantized(w, 'blk.0.k', ramp(1, 64), T.Q4_0)
    add_quantized(w, 'blk.0.v', ramp(1, 32), T.Q5_1)
    close(w)


def aligned():
    w = gguf.GGUFWriter(os.path.join(HERE, 'aligned.gguf'), 'qwen3')
    w.add_custom_alignment(64)
    w.add_tensor('x', ramp(3))
    w.add_tensor('y', ramp(20))
    close(w)


def foreign():
    w = gguf.GGUFWriter(os.path.join(HERE, 'foreign.gguf'), 'qwen2')
    w.add_tensor('ids', np.arange(3, dtype=np.int32))
    w.add_tensor('old', np.arange(2 * 84, dtype=np.uint8).reshape(2, 84), raw_dtype=T.Q2_K)
    w.add_tensor('cube', ramp(2, 3, 4))
    close(w)


def parts():
    w = gguf.GGUFWriter(os.path.join(HERE, 'part.gguf'), 'qwen2', split_max_tensors=2)
    w.add_string('general.name', 'in parts')
    for i in range(5):
        w.add_tensor(f'blk.{i}.weight', ramp(4) + i)
    close(w)


small()
aligned()
foreign()
parts()
