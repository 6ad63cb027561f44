#!/usr/bin/env python3
"""Compares the pool planner, node by node, with an independent model of minfer's allocator.

    sim-compare.py PLAN_DUMP [SEED]         compare; TAP
    sim-compare.py --write-golden           write tests/golden/plans.txt from the model

The model is $PSC_SHARED/tools/minfer_sim.py. 1,000 random graphs (views of views, repeated sources, dead nodes, output
views, late inputs, one to three backends, KV layers) and the model's own Qwen graphs are planned by both with several
options and faults: the same buffers must be made in the same order, each node must lie in the same buffer at the same
offset, and bytes and peak must agree. The model numbers KV regions inside the pool; ours stand apart, so pool buffers
are compared by their rank among the pool buffers of their backend. tests/golden/plans.txt holds what the model said of
a few graphs, so that the comparison exists also where the model does not."""
import importlib.util
import itertools
import os
import random
import subprocess
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'golden', 'plans.txt')
GRAPHS = 1000
CHUNK = 250
# our options, the model's switches, number of random graphs
RUNS = [
    ([], {}, GRAPHS),
    (['exact'], dict(exact=1), GRAPHS),
    (['fifo'], dict(policy='fifo'), CHUNK),
    (['lifo'], dict(policy='lifo'), CHUNK),
    (['topological'], dict(kahn_liveness=1), CHUNK),
    (['topological', 'fifo', 'exact'], dict(kahn_liveness=1, policy='fifo', exact=1), CHUNK),
    (['topological', 'lifo'], dict(kahn_liveness=1, policy='lifo'), CHUNK),
    (['l1'], dict(kahn_liveness=1), CHUNK),
    (['l2', 'fifo'], dict(no_input_pin=1, inputs_in_walk=1, policy='fifo'), CHUNK),
    (['l3'], dict(inputs_in_walk=1), CHUNK),
    (['l3', 'topological', 'lifo'], dict(inputs_in_walk=1, kahn_liveness=1, policy='lifo'), CHUNK),
    (['l4', 'lifo'], dict(no_deadline_sync=1, policy='lifo'), CHUNK),
    (['l5', 'exact'], dict(view_ext_from_self=1, exact=1), CHUNK),
    (['l7'], dict(staging_recycles=1), CHUNK),
    (['h7'], dict(no_output_pin=1), CHUNK),
]
FILES = {'kvstore': 'kvcache_store', 'kvload': 'kvcache_load', 'rows': 'get_rows', 'mm': 'matmul', 'rms': 'rms_norm'}


def load_model():
    path = os.path.join(os.environ.get('PSC_SHARED', ''), 'tools', 'minfer_sim.py')
    if not os.path.exists(path):
        return None
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location('minfer_sim', path)
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    return model


class Maker:
    """One random graph, in the model's own terms."""

    SIZES = [3, 4, 8, 256, 257, 900, 1024, 4097, 9000]

    def __init__(self, model, seed):
        self.r = random.Random(seed)
        self.g = model.G()
        self.backends = ['cpu', 'metal', 'cuda'][:self.r.choice([1, 1, 2, 3])]
        self.layers = 0
        for _ in range(self.r.randint(1, 4)):
            self.add('input', [], self.r.choice(self.SIZES))
        for _ in range(self.r.randint(5, 50)):
            self.r.choice([self.chain, self.chain, self.chain, self.join, self.join, self.view, self.view, self.swiglu,
                           self.change, self.late, self.kv])()
        last = len(self.g.n) - 1
        for i in {last, *(self.r.randrange(last + 1) for _ in range(self.r.choice([0, 1, 3])))}:
            if not self.g.n[i].op.startswith('kv'):
                self.g.out(i)

    def add(self, op, src, size, be=None, view=None, name=None):
        be = be or (self.r.choice(self.backends) if self.r.random() < 0.2 or not src else self.g.n[src[0]].be)
        i = len(self.g.n)
        return self.g.add(name or f'n{i}', op, src, size, be, view)

    def pick(self, size=None):
        nodes = [n for n in self.g.n if not n.op.startswith('kv') and (size is None or n.size == size)]
        recent = nodes[-6:]
        return self.r.choice(recent if self.r.random() < 0.7 else nodes)

    def chain(self):
        x = self.pick()
        self.add(self.r.choice(['silu', 'rope', 'silu', 'rms']), [x.id], x.size)

    def join(self):
        x = self.pick()
        y = self.pick(x.size)
        self.add(self.r.choice(['add', 'mul', 'swiglu']), [x.id, y.id], x.size)

    def change(self):
        self.add('mm', [self.pick().id], self.r.choice(self.SIZES))

    def late(self):
        self.add('input', [], self.r.choice(self.SIZES))

    def view(self, of=None, size=None):
        x = of or self.pick()
        size = size or self.r.randint(1, x.size)
        offset = self.r.randint(0, x.size - size)
        return self.add('view', [x.id], size, x.be, (x.id, offset))

    def swiglu(self):
        x = self.pick()
        if x.size < 2:
            return
        gate = self.add('view', [x.id], x.size // 2, x.be, (x.id, 0))
        up = self.add('view', [x.id], x.size // 2, x.be, (x.id, x.size // 2))
        self.add('swiglu', [gate, up], x.size // 2)

    def kv(self):
        k = self.pick()
        be = self.r.choice(self.backends)
        name, size = f'kv{self.layers}', 64 * self.r.choice([1, 10])
        self.layers += 1
        self.add('kvstore', [k.id, self.pick(k.size).id], size, be, name=name)
        kv = self.add('kvload', [], size, be, name=name)
        self.add('attn', [k.id, kv], k.size, be)


def as_text(g):
    lines = []
    for n in g.n:
        words = [f'{n.id}:', FILES.get(n.op, n.op), str(n.size), *map(str, n.src), '@' + n.be]
        if n.view:
            words.append(f'+{n.view[1]}')
        if n.op.startswith('kv'):
            words.append('#' + n.name[2:])
        lines.append(' '.join(words))
    return '\n'.join([*lines, 'out ' + ' '.join(map(str, g.outputs)), '.', ''])


def expected(model, g, switches):
    """What plan-dump must print."""
    a = model.Alloc(**switches)
    a.alloc(g)
    region = {}
    for n in g.n:
        if n.op.startswith('kv'):
            for half, i in zip('kv', a.kv[n.name]):
                region[(n.be, i)] = f'kv.{n.name[2:]}.{half}'
    rank, made, pool = {}, {}, 0
    for be, buffers in a.pool.items():
        for i, cells in enumerate(buffers):
            if (be, i) not in region:
                rank[(be, i)] = made.setdefault(be, 0)
                made[be] += 1
                pool += 4 * len(cells)
    name = lambda be, i: region.get((be, i)) or f'{be}:{rank[(be, i)]}'
    out = []
    for n in g.n:
        place = a.map.get(n.id)
        out.append(f'{n.id} {name(*place[:2])} {4 * place[2]}' if place else f'{n.id} -')
    peak = a.peak
    cross = set()
    for n in g.n:   # the model's run(), without values
        if n.op == 'input' or n.id not in a.map or n.view:
            continue
        for q in n.src:
            r = a.map[q]
            if r[0] == n.be or (r[0], r[1]) in region or (q, n.be) in cross:
                continue
            cross.add((q, n.be))
            where = 'fresh'
            if switches.get('staging_recycles'):
                before = a.created
                i = a.take(n.be, r[3])
                where = rank[(n.be, i)] if a.created == before else 'fresh'
            out.append(f'copy {q} {n.be} {where}')
    out.append(f'pool {sum(made.values())} {pool} {peak}')
    return out


def ask(program, options, texts):
    """The lines of plan-dump for each graph."""
    answer = subprocess.run([program, *options], input=''.join(texts), capture_output=True, text=True, check=True)
    plans = answer.stdout.split('\n.\n')[:-1]
    assert len(plans) == len(texts), f'{len(plans)} plans for {len(texts)} graphs'
    return [p.split('\n') for p in plans]


def compare(program, options, texts, wanted, names):
    """First difference as a sentence, or None."""
    for name, got, want in zip(names, ask(program, options, texts), wanted):
        for a, b in zip(got, want):
            if a != b:
                return f'{name}: ours "{a}", the model "{b}"'
        if len(got) != len(want):
            return f'{name}: {len(got)} lines, the model {len(want)}'
    return None


def with_model(model, seed):
    """(name, options, graph texts, what the model says, graph names) for each run."""
    graphs = [Maker(model, seed * 1000003 + i).g for i in range(GRAPHS)]
    qwen = [model.qwen(nt, nctx=64) for nt in (1, 2, 30, 440)] + [model.qwen(2, nctx=64, fuse=False)]
    sets = [(graphs, [f'graph {i}' for i in range(GRAPHS)]),
            (qwen, ['1 token', '2 tokens', '30 tokens', '440 tokens', 'unfused'])]
    for options, switches, count in RUNS:
        for which, (gs, names) in zip((f'{count}-random-graphs', 'qwen-graphs'), sets):
            gs = gs[:count]
            yield (f'{"-".join(options) or "defaults"}/{which}', options, list(map(as_text, gs)),
                   [expected(model, g, switches) for g in gs], names)


def golden():
    """The same from the file: blocks `# OPTIONS`, a graph up to `.`, the answer up to `.`."""
    with open(GOLDEN, encoding='utf-8') as f:
        for block in f.read().split('# ')[1:]:
            options, rest = block.split('\n', 1)
            graph, answer, _ = rest.split('\n.\n')
            yield options.split(), graph + '\n.\n', answer.split('\n')


def write_golden(model):
    with open(GOLDEN, 'w', encoding='utf-8') as f:
        for k, (options, switches, _) in enumerate(RUNS):
            for g in (Maker(model, 77 + 2 * k).g, Maker(model, 78 + 2 * k).g):
                f.write(f'# {" ".join(options)}\n{as_text(g)}' + '\n'.join(expected(model, g, switches)) + '\n.\n')


def main():
    model = load_model()
    if sys.argv[1] == '--write-golden':
        write_golden(model)
        return 0
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    kept = list(golden())
    runs = [(f'golden/{k}-{"-".join(options) or "defaults"}', options, [text], [want], [f'golden graph {k}'])
            for k, (options, text, want) in enumerate(kept)]
    print(f'1..{len(runs) + (2 * len(RUNS) if model else 1)}\n# seed {seed}')
    failed = 0
    k = 0
    for k, (name, *run) in enumerate(itertools.chain(runs, with_model(model, seed) if model else []), 1):
        difference = compare(program, *run)
        print(f'not ok {k} /sim/{name}\n# {difference}' if difference else f'ok {k} /sim/{name}', flush=True)
        failed += bool(difference)
    if not model:
        print(f'ok {k + 1} /sim/the-model # SKIP it is not here')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
