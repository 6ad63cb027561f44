"""Graphs and documents as minfer writes them: builder, Qwen2 graphs, and its JSON spelling.

Keys stand in alphabetical order at every level, documents are compact and on one line, numbers are
spelled as serde_json spells them.
"""
import json
import struct


def f32(x):
    """The nearest 32-bit float, widened again."""
    return struct.unpack('<f', struct.pack('<f', x))[0]


def number(x):
    """Shortest round-trip text: plain digits from 1e-5 up to 1e16, an exponent without padding beyond."""
    text = repr(x)
    if 'e' not in text:
        return text
    mantissa, exponent = text.split('e')
    exponent = int(exponent)
    if exponent == -5:
        sign, digits = ('-', mantissa[1:]) if mantissa[0] == '-' else ('', mantissa)
        return sign + '0.0000' + digits.replace('.', '')
    if mantissa.endswith('.0'):
        mantissa = mantissa[:-2]
    return '%se%d' % (mantissa, exponent)


def dump(value):
    if isinstance(value, dict):
        return '{' + ','.join(json.dumps(k) + ':' + dump(value[k]) for k in sorted(value)) + '}'
    if isinstance(value, (list, tuple)):
        return '[' + ','.join(map(dump, value)) + ']'
    if isinstance(value, float):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


class Graph:
    def __init__(self, kind, model, backend):
        self.kind, self.model, self.backend = kind, model, backend
        self.nodes, self.inputs, self.outputs = [], [], []

    def node(self, name, op, src, shape, detail=None, meta=None, dtype='f32', backend=None):
        shape = list(shape) + [1] * (4 - len(shape))
        self.nodes.append({'id': len(self.nodes), 'name': name, 'op': op, 'src': list(src), 'shape': shape,
                           'dtype': dtype, 'detail': detail or {}, 'meta': meta or {},
                           'backend': backend or self.backend})
        return len(self.nodes) - 1

    def input(self, name, shape, dtype='f32', backend=None):
        self.inputs.append(self.node(name, 'input', [], shape, dtype=dtype, backend=backend))
        return self.inputs[-1]

    def shape(self, node):
        return self.nodes[node]['shape']

    def same(self, op, src, name=None):
        """An op whose result has the shape of its first operand."""
        return self.node(name or op, op, src, self.shape(src[0]))

    def view(self, name, parent, offset, shape):
        full = list(shape) + [1] * (4 - len(shape))
        return self.node(name, 'view', [parent], shape, detail={'offset': offset, 'shape': full})

    def matmul(self, x, weight, out, wtype, bias=None):
        features, rows = self.shape(x)[:2]
        if self.nodes[x]['op'] == 'fused_ffn':
            features //= 2  # only the first half, the product, is read
        return self.node('matmul_' + weight, 'matmul', [x], [out, rows], detail={'transpose_b': False},
                         meta={'weight': weight, 'bias': bias, 'wtype': wtype, 'in_dim': features, 'out_dim': out})

    def rms_norm(self, x, weight):
        return self.node('rms_norm', 'rms_norm', [x], self.shape(x), detail={'eps': f32(1e-6)},
                         meta={'weight': weight, 'bias': None})

    def document(self):
        return {'format': 'minfer-graph', 'version': 1, 'kind': self.kind, 'model': self.model,
                'inputs': self.inputs, 'outputs': self.outputs, 'nodes': self.nodes}


class Qwen2:
    """Qwen2.5-0.5B as published: 24 layers, mixed quantisation counted in the order of layer *names*."""
    file = 'qwen2.5-0.5b-instruct-q4_k_m.gguf'
    layers, width, heads, kv_heads, head, ffn, vocab, context = 24, 896, 14, 2, 64, 4864, 151936, 4096
    kv = kv_heads * head

    def __init__(self):
        n = self.layers
        by_name = sorted(range(n), key=str)
        self.wide = {layer for i, layer in enumerate(by_name)
                     if i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2}

    def graph(self, tokens, fused, backend, host=None):
        """host: the backend of inputs, rope, KV and attention, when they run elsewhere."""
        g = Graph('decode' if tokens == 1 else 'prefill', self.file, backend)
        ids = g.input('token_ids', [tokens], 'i32', host)
        positions = g.input('positions', [tokens], 'i32', host)
        x = g.node('embed', 'get_rows', [ids], [self.width, tokens],
                   meta={'vocab_size': self.vocab, 'weight': 'token_embd.weight', 'wtype': 'q5_0'})
        for layer in range(self.layers):
            x = self.layer(g, layer, x, positions, fused, host)
        x = g.rms_norm(x, 'output_norm.weight')
        g.outputs = [g.matmul(x, 'output.weight', self.vocab, 'q8_0')]
        return g

    def layer(self, g, layer, x, positions, fused, host):
        block = 'blk.%d.' % layer
        tokens = g.shape(x)[1]
        normed = g.rms_norm(x, block + 'attn_norm.weight')
        if fused and layer not in self.wide:
            q = self.fused_qkv(g, layer, normed, positions)
        else:
            q = self.qkv(g, layer, normed, positions, host)
        load = g.node('kv_load.%d' % layer, 'kvcache_load', [], [self.kv, self.context], detail={'layer': layer},
                      meta={'n_embd': self.kv, 'n_head_kv': self.kv_heads}, backend=host)
        a = g.node('attn', 'attn', [q, load, positions], [self.width, tokens], detail={'mode': 'Gqa'},
                   meta={'hd': self.head, 'hd_kv': self.head, 'layer': layer, 'n_head': self.heads,
                         'n_head_kv': self.kv_heads, 'nkt': self.kv, 'scale': f32(self.head ** -0.5)}, backend=host)
        o = g.matmul(a, block + 'attn_output.weight', self.width, 'q5_0')
        if layer == self.layers - 1 and tokens > 1:  # only the last row goes on
            tail = g.input('tail_ids', [1], 'i32', host)
            o = g.node('get_rows', 'get_rows', [o, tail], [self.width, 1])
            x = g.node('get_rows', 'get_rows', [x, tail], [self.width, 1])
        x = g.same('add', [x, o])
        normed = g.rms_norm(x, block + 'ffn_norm.weight')
        rows = g.shape(normed)[1]
        if fused:
            y = g.node('fused_ffn', 'fused_ffn', [normed], [2 * self.ffn, rows],
                       meta={'weight': block + 'ffn_gu', 'wtype': 'q5_0', 'in_dim': self.width, 'nf': self.ffn})
        else:
            gate = g.matmul(normed, block + 'ffn_gate.weight', self.ffn, 'q5_0')
            up = g.matmul(normed, block + 'ffn_up.weight', self.ffn, 'q5_0')
            g.same('silu', [gate])  # left behind by the fusion, read by nobody
            y = g.same('swiglu', [gate, up], name='mul')
        down = g.matmul(y, block + 'ffn_down.weight', self.width, 'q6_K' if layer in self.wide else 'q4_K')
        return g.same('add', [x, down])

    def qkv(self, g, layer, normed, positions, host):
        block = 'blk.%d.' % layer
        project = lambda part, out, wtype: g.matmul(normed, block + 'attn_%s.weight' % part, out, wtype,
                                                    block + 'attn_%s.bias' % part)
        q = project('q', self.width, 'q5_0')
        k = project('k', self.kv, 'q5_0')
        v = project('v', self.kv, 'q8_0' if layer in self.wide else 'q5_0')
        rope = lambda x, heads: g.node('rope', 'rope', [x, positions], g.shape(x), detail={'style': 'NonInterleaved'},
                                       meta={'freq_base': 1e6, 'freq_scale': 1.0, 'hd': self.head, 'n_head': heads},
                                       backend=host)
        q, k = rope(q, self.heads), rope(k, self.kv_heads)
        g.node('kv_store.%d' % layer, 'kvcache_store', [k, v, positions], [self.kv, self.context],
               detail={'layer': layer}, meta={'n_embd': self.kv, 'n_head_kv': 0}, backend=host)
        return q

    def fused_qkv(self, g, layer, normed, positions):
        block = 'blk.%d.' % layer
        return g.node('fused_qkv', 'fused_qkv', [normed, positions], [self.width + 2 * self.kv, 1],
                      detail={'layer': layer},
                      meta={'weight': block + 'attn_qkv', 'bias_q': block + 'attn_q.bias',
                            'bias_k': block + 'attn_k.bias', 'bias_v': block + 'attn_v.bias', 'wtype': 'q5_0',
                            'in_dim': self.width, 'nqt': self.width, 'nkt': self.kv, 'hd': self.head,
                            'nh': self.heads, 'nk': self.kv_heads, 'freq_base': 1e6, 'freq_scale': 1.0,
                            'kv_elems': self.kv * self.context})
