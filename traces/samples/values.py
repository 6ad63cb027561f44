"""What the nodes of a graph produce, and how minfer records it.

Everything but the weights is computed: embedding rows, rms_norm, rope, attention over a real KV cache, add,
mul, silu, swiglu and get_rows follow from their operands, each result rounded once to a 32-bit float. A
matmul's result is seeded noise of a plausible size, a function of (weight, position) alone.
"""
import math
import random
import zlib
from array import array
from functools import reduce
from operator import add, mul

POOL = 1 << 17


def make_pool(seed):
    """Nearly normal numbers from sums of uniform ones: plain arithmetic, the same on every machine."""
    rng = random.Random(seed)
    uniform = [rng.random() for _ in range(POOL + 5)]
    pool = [(a + b + c + d + e + f - 3.0) * 1.4142135623730951
            for a, b, c, d, e, f in zip(uniform, uniform[1:], uniform[2:], uniform[3:], uniform[4:], uniform[5:])]
    rng.shuffle(pool)
    return pool + pool


NOISE = make_pool(20)


def seed(*key):
    return zlib.crc32('/'.join(map(str, key)).encode())


def noise(n, size, *key):
    out, at = [], seed(*key) % POOL
    while len(out) < n:  # longer than the pool: go on from another place
        part = NOISE[at:at + min(n - len(out), POOL)]
        out += [size * v for v in part]
        at = seed(at, *key) % POOL
    return out


def rounded(values):
    return array('f', values).tolist()


def silu(x):
    return x / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


# Size of a matmul's result by the part of the model its weight belongs to.
SIZES = {'attn_q': 1.1, 'attn_k': 0.9, 'attn_v': 0.35, 'attn_output': 0.12, 'ffn_gate': 0.75, 'ffn_up': 0.7,
         'ffn_down': 0.22, 'output': 2.4}
OUTLIERS = {'blk.2.ffn_down.weight': ((318, 9.5), (507, -6.0)), 'blk.3.ffn_down.weight': ((318, 41.0), (507, -3.5)),
            'blk.21.ffn_down.weight': ((318, 7.5),)}


class Run:
    """Runs graphs one after the other over one KV cache."""

    def __init__(self, model=None):
        self.model = model
        self.cache = {}   # (layer, 'k' or 'v') -> rows by position
        self.vectors = {}

    def vector(self, n, size, middle, name):
        """A weight or bias of n numbers."""
        if name not in self.vectors:
            self.vectors[name] = rounded([middle + v for v in noise(n, size, name)])
        return self.vectors[name]

    def execute(self, graph, fills):
        """-> {node: its result as a flat list}; nodes that minfer skips are absent."""
        nodes, out = graph.nodes, {}
        read = {s for node in nodes for s in node['src']} | set(graph.outputs)
        self.positions = fills.get('positions', [])
        for node in nodes:
            if node['op'] == 'input':
                out[node['id']] = fills[node['name']]
            elif node['id'] in read or node['op'] == 'kvcache_store':
                operands = [out.get(s) for s in node['src']]
                result = getattr(self, node['op'])(node, *operands)
                if result is not None:
                    out[node['id']] = result
        return out

    # ---- one method an op ----

    def get_rows(self, node, x, ids=None):
        n = node['shape'][0]
        if ids is None:
            return [v for token in x for v in self.embedding(n, token)]
        return [v for row in ids for v in x[row * n:(row + 1) * n]]

    def embedding(self, n, token):
        """A row as q5_0 holds it: blocks of 32 whole numbers from -16 to 15 times one scale."""
        row = []
        for block in range(n // 32):
            scale = 0.0009765625 * (1 + seed('scale', token, block) % 3)
            row += [scale * max(-16, min(15, round(v))) for v in noise(32, 6.0, 'embd', token, block)]
        return row

    def rms_norm(self, node, x):
        n, eps = node['shape'][0], node['detail']['eps']
        name = node['meta']['weight']
        weight = self.vector(n, 0.25, 2.2 if name.startswith('output') else 1.0, name)
        out = []
        for at in range(0, len(x), n):
            row = x[at:at + n]
            inverse = 1.0 / math.sqrt(reduce(add, map(mul, row, row), 0.0) / n + eps)
            out += [v * inverse * w for v, w in zip(row, weight)]
        return rounded(out)

    def matmul(self, node, x):
        out, rows = node['shape'][:2]
        weight, bias = node['meta']['weight'], node['meta']['bias']
        part = weight.split('.')[-2]
        size = SIZES.get(part, 1.0)
        result = []
        for position in self.positions[-rows:] or range(rows):
            row = noise(out, size, weight, position)
            for feature, value in OUTLIERS.get(weight, ()) if position == 0 else ():
                row[feature] += value
            if bias:
                row = list(map(add, row, self.vector(out, 0.4 * size, 0.0, bias)))
            if part == 'output':
                self.pick(row, position)
            result += row
        return rounded(result)

    def pick(self, row, position):
        """Raises the logits of the tokens that this position is to choose from."""
        wanted = self.model.picks.get(position, ())
        for token, _ in wanted:
            row[token] = -1e9
        rest = reduce(add, map(math.exp, row), 0.0) / (1.0 - reduce(add, (p for _, p in wanted), 0.0))
        for token, probability in wanted:
            row[token] = math.log(probability * rest)

    def rotate(self, x, heads, half, base):
        out = []
        width = heads * 2 * half
        for row, position in enumerate(self.positions):
            turns = [position * base ** (-i / half) for i in range(half)]
            cos, sin = [math.cos(t) for t in turns], [math.sin(t) for t in turns]
            for at in range(row * width, (row + 1) * width, 2 * half):
                a, b = x[at:at + half], x[at + half:at + 2 * half]
                out += [u * c - v * s for u, v, c, s in zip(a, b, cos, sin)]
                out += [u * s + v * c for u, v, c, s in zip(a, b, cos, sin)]
        return rounded(out)

    def rope(self, node, x, positions):
        meta = node['meta']
        return self.rotate(x, meta['n_head'], meta['hd'] // 2, meta['freq_base'])

    def store(self, layer, k, v):
        n = len(k) // len(self.positions)
        for name, rows in (('k', k), ('v', v)):
            cache = self.cache.setdefault((layer, name), {})
            for row, position in enumerate(self.positions):
                cache[position] = rows[row * n:(row + 1) * n]

    def kvcache_store(self, node, k, v, positions):
        self.store(node['detail']['layer'], k, v)

    def kvcache_load(self, node):
        return None

    def fused_qkv(self, node, x, positions):
        meta, block = node['meta'], 'blk.%d.' % node['detail']['layer']
        row = []
        for part, n in (('q', meta['nqt']), ('k', meta['nkt']), ('v', meta['nkt'])):
            name = 'attn_' + part
            values = noise(n, SIZES[name], block + name + '.weight', self.positions[0])
            values = rounded(map(add, values, self.vector(n, 0.4 * SIZES[name], 0.0, meta['bias_' + part])))
            row.append(values if part == 'v' else self.rotate(values, n // meta['hd'], meta['hd'] // 2, meta['freq_base']))
        self.store(node['detail']['layer'], row[1], row[2])
        return row[0] + row[1] + row[2]

    def attn(self, node, q, load, positions):
        meta, width = node['meta'], node['shape'][0]
        keys, values = (self.cache[meta['layer'], name] for name in 'kv')
        hd, group, out = meta['hd'], meta['n_head'] // meta['n_head_kv'], []
        for row, position in enumerate(self.positions):
            for head in range(meta['n_head']):
                query = q[row * width + head * hd:row * width + (head + 1) * hd]
                at = head // group * hd
                scores = [meta['scale'] * reduce(add, map(mul, query, keys[p][at:at + hd]), 0.0)
                          for p in range(position + 1)]
                top = max(scores)
                shares = [math.exp(s - top) for s in scores]
                total = reduce(add, shares, 0.0)
                mixed = [0.0] * hd
                for p, share in enumerate(shares):
                    part = share / total
                    mixed = [m + part * v for m, v in zip(mixed, values[p][at:at + hd])]
                out += mixed
        return rounded(out)

    def add(self, node, a, b):
        return rounded(map(add, a, b))

    def mul(self, node, a, b):
        return rounded(map(mul, a, b))

    def silu(self, node, x):
        return rounded(map(silu, x))

    def swiglu(self, node, gate, up):
        return rounded(map(mul, rounded(map(silu, gate)), up))

    def fused_ffn(self, node, x):
        nf, block = node['meta']['nf'], node['meta']['weight'].rsplit('.', 1)[0]
        gate, up = (noise(nf, SIZES[part], '%s.%s.weight' % (block, part), self.positions[0])
                    for part in ('ffn_gate', 'ffn_up'))
        up = rounded(up)
        return self.swiglu(node, rounded(gate), up) + up

    def view(self, node, x):
        n = reduce(mul, node['shape'])
        return x[node['detail']['offset']:node['detail']['offset'] + n]


# ---- recording ----

def sample(values):
    """Every stride-th element, rounded in 32 bits to six places, halves away from zero."""
    stride = 1 if len(values) <= 64 else -(-len(values) // 64)
    scaled = rounded([v * 1e6 for v in values[::stride]])
    whole = [v if abs(v) >= 8388608.0 else math.copysign(math.floor(abs(v) + 0.5), v) for v in scaled]
    return stride, rounded([v / 1e6 for v in whole])


def record(node, values):
    n = len(values)
    wide = list(map(float, values))
    stride, samples = sample(wide)
    return {'id': node['id'], 'dtype': node['dtype'], 'n': n, 'stride': stride, 'values': samples,
            'stats': {'min': min(wide), 'max': max(wide), 'mean': reduce(add, wide, 0.0) / n,
                      'absmean': reduce(add, map(abs, wide), 0.0) / n}}


def top_logits(logits, count=5):
    """The most probable tokens and their probabilities as 32-bit floats, lower id first in a tie."""
    top = max(logits)
    shares = [math.exp(v - top) for v in logits]
    total = reduce(add, shares, 0.0)
    best = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:count]
    return [[i, p] for i, p in zip(best, rounded([shares[i] / total for i in best]))]
