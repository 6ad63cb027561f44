#!/usr/bin/env python3
"""candela's planner against an independent model of it, decision by decision. Prints TAP.

    candela-compare.py PROGRAM [SEED]     golden traces, then random expressions when the model is there
    candela-compare.py --write-golden     makes golden/candela.txt from the model

The model (candela_model.py of the shared folder) plans generations 0.1, 0.2 and arena: strategy, slot, operand, parent,
inputs, what is given back, slots with their lives, packed offsets, and what the run gives or that it fails. Of the hardened
generation, which the model lacks, the values are compared with a direct evaluation here."""
import importlib.util
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get('PSC_SHARED', os.path.join(HERE, '..', '..', 'shared'))
GOLDEN = os.path.join(HERE, 'golden', 'candela.txt')
ROUNDS = 400
GENERATIONS = {'0.1': '01', '0.2': '02', 'arena': 'arena'}


def load_model():
    path = os.path.join(SHARED, 'tools', 'candela_model.py')
    if not os.path.exists(path):
        return None
    spec = importlib.util.spec_from_file_location('candela_model', path)
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    return model


class Expression:
    """The same nodes as text, as nodes of the model, and as values."""

    def __init__(self, model):
        self.model, self.lines, self.nodes, self.values = model, [], [], {}

    def add(self, node, line, values):
        node.name = line.split()[1]
        self.lines.append(line)
        self.nodes.append(node)
        self.values[node.id] = values
        return node

    def edge(self, name, shape, data):
        return self.add(self.model.edge(data, shape, name),
                        f'edge {name} {len(shape)} {" ".join(map(str, shape))} {" ".join(map(str, data))}', list(data))

    def scalar(self, name, x, sign, v):
        f = {'+': lambda a: a + v, '-': lambda a: a - v, '*': lambda a: a * v}[sign]
        return self.add(self.model.op('Scalar', x, arg=f, name=name), f'scalar {name} {x.name} {sign} {v}',
                        [f(a) for a in self.values[x.id]])

    def binary(self, name, op, x, y):
        f = {'Add': lambda a, b: a + b, 'Sub': lambda a, b: a - b, 'Mul': lambda a, b: a * b}[op]
        return self.add(self.model.op(op, x, y, name=name), f'{op.lower()} {name} {x.name} {y.name}',
                        [f(a, b) for a, b in zip(self.values[x.id], self.values[y.id])])

    def matmul(self, name, x, y):
        (m, k), n, a, b = x.shape, y.shape[1], self.values[x.id], self.values[y.id]
        return self.add(self.model.op('Matmul', x, y, name=name), f'matmul {name} {x.name} {y.name}',
                        [sum(a[i * k + t] * b[t * n + j] for t in range(k)) for i in range(m) for j in range(n)])

    def unary(self, name, op, x):
        word = {'Transpose': 'transpose', 'NoOp': 'noop', 'AsContiguous': 'as_contiguous', 'Sum': 'sum'}[op]
        v = self.values[x.id]
        if op == 'Transpose' and len(x.shape) == 2:
            v = [v[i * x.shape[1] + j] for j in range(x.shape[1]) for i in range(x.shape[0])]
        return self.add(self.model.op(op, x, name=name), f'{word} {name} {x.name}', [sum(v)] if op == 'Sum' else list(v))

    def view(self, name, x, shape):
        return self.add(self.model.op('View', x, shape=shape, name=name),
                        f'view {name} {x.name} {len(shape)} {" ".join(map(str, shape))}', list(self.values[x.id]))

    def cache(self, name, x):
        return self.add(self.model.cache(x, name), f'cache {name} {x.name}', list(self.values[x.id]))


def numbers(values):
    return 'values ' + ' '.join(f'{v:g}' for v in values)


def expected(model, root, generation, names):
    """The lines of candela-dump for one run."""
    steps, rid = model.plan(root, GENERATIONS[generation], verbose=False)
    out, slots = [], None
    kinds = {'Leaf': 'Leaf', 'CacheHit': 'CacheHit', 'InPlace': 'InPlace', 'RefSlot': 'RefSlot', 'RefEternal': 'RefEternal',
             'UseSlot': 'UseSlot', 'Allocate': 'Allocate'}
    for s in steps:
        k, line = s['k'], f"{s['n'].name} {kinds[s['k'][0]]}"
        if k[0] in ('InPlace', 'RefSlot', 'UseSlot'):
            line += f' {k[1]}'
        if k[0] == 'InPlace':
            line += f" operand {k[2]} parent {names.get(s.get('parent'), '-')}"
        if k[0] == 'UseSlot':
            line += f" take {names[s['take']]}"
        ins, free = [x.name for x in s['r']], [names[d] for d in s['d']]
        out.append(line + ' in' + ('=' + ','.join(ins) if ins else '') + ' free' + ('=' + ','.join(free) if free else ''))
    out.append(f'root {names[rid]}')
    slots = model.last_slots
    out += [f"slot {names[s['id']]} {s['len']} {s['start']} {-1 if s['end'] is None else s['end']}" for s in slots]
    if generation == 'arena':
        pack = model.packer(slots, 1)
        offsets = {p[0]: p[1] for p in pack['slots']}
        out.append(f"arena {pack['arena']}" + ''.join(f" {names[s['id']]}@{offsets[s['id']]}" for s in slots
                                                       if s['end'] is not None))
    got = model.run(root, steps, rid)[0]
    out.append('panic' if isinstance(got, str) else numbers(got))
    return out


def watch_slots(model):
    """plan() keeps its slots to itself: let it show them. And run() forgets what is given back after a cache hit, which
    the digest asks for."""
    source = open(model.__file__, encoding='utf-8').read()
    source = source.replace("    for i,e in refd:\n", "    global last_slots\n    last_slots=slots\n    for i,e in refd:\n", 1)
    source = source.replace("if k=='CacheHit': cc[n.id]=n.filled; continue",
                            "if k=='CacheHit':\n            cc[n.id]=n.filled\n"
                            "            for d in s['d']: cc.pop(d,None)\n            continue", 1)
    exec(compile(source.split("if __name__")[0], model.__file__, 'exec'), model.__dict__)


def golden_cases(model):
    def case(name, f):
        e = Expression(model)
        root = f(e)
        return name, e, root
    four = ([1, 2, 3, 4], [10, 20, 30, 40])

    def chain(e):
        a, b = e.edge('a', (4,), four[0]), e.edge('b', (4,), four[1])
        return e.scalar('x2', e.binary('sum', 'Add', a, b), '*', 2)

    def transposed(e):
        t = e.unary('transposed', 'Transpose', e.edge('e', (2, 2), [1, 2, 3, 4]))
        c = e.unary('contiguous', 'AsContiguous', t)
        return e.binary('root', 'Add', c, e.scalar('shifted', t, '+', 1))

    def right(e):
        a = e.edge('a', (4,), [10] * 4)
        return e.binary('root', 'Sub', a, e.scalar('b0', e.edge('b', (4,), [3] * 4), '+', 0))

    def aliased(e):
        t = e.binary('t', 'Add', e.edge('a', (4,), four[0]), e.edge('b', (4,), [1] * 4))
        return e.binary('root', 'Sub', t, e.view('v', t, (4,)))

    def viewed(e):
        t = e.binary('t', 'Add', e.edge('a', (4,), four[0]), e.edge('b', (4,), [1] * 4))
        return e.scalar('root', e.scalar('s', e.view('v', t, (2, 2)), '*', 2), '+', 1)

    def power(e):
        x = e.edge('e', (2, 2), [1, 1, 0, 1])
        p = e.matmul('p', x, x)
        return e.matmul('root', e.matmul('r', e.matmul('q', p, x), x), x)

    def pure(e):
        return e.unary('root', 'NoOp', e.scalar('t', e.edge('a', (2, 3), [1, 2, 3, 4, 5, 6]), '+', 10))

    def cached(e):
        return e.scalar('root', e.cache('cache', e.scalar('x', e.edge('a', (4,), [0, 1, 2, 3]), '+', 1)), '*', 2)

    def packers(e):
        t = e.unary('t', 'Transpose', e.edge('e', (2, 2), [1, 2, 3, 4]))
        k1, k2 = e.unary('k1', 'AsContiguous', t), e.unary('k2', 'AsContiguous', t)
        return e.binary('root', 'Mul', e.scalar('s1', k1, '+', 1), e.scalar('s2', k2, '+', 2))

    def strided(e):
        s = e.binary('s', 'Add', e.edge('a', (2, 3), [1, 2, 3, 4, 5, 6]), e.edge('b', (2, 3), [0] * 6))
        return e.unary('sum', 'Sum', e.scalar('plus', e.unary('t', 'Transpose', s), '+', 1))
    return [case(f.__name__, f) for f in (chain, transposed, right, aliased, viewed, power, pure, cached, packers, strided)]


def random_case(model, seed):
    r = random.Random(seed)
    e = Expression(model)
    shape = r.choice([(2, 2), (2, 3), (4,), (1, 3)])
    for i in range(r.randint(1, 3)):
        n = 1
        for d in shape:
            n *= d
        e.edge(f'e{i}', shape, [r.randint(-3, 3) for _ in range(n)])
    for i in range(r.randint(2, 22)):
        x = r.choice(e.nodes[-6:]) if r.random() < .7 else r.choice(e.nodes)
        name, what = f'n{i}', r.choice('s s b b b t t v n k k c m'.split())
        big = max([abs(v) for v in e.values[x.id]] + [0]) > 300
        mates = [y for y in e.nodes if y.shape == x.shape]
        if what == 's':
            sign = r.choice('+-' if big else '+-*')
            e.scalar(name, x, sign, r.randint(0, 3))
        elif what == 'b':
            y = r.choice(mates)
            e.binary(name, r.choice(['Add', 'Sub'] + ([] if big else ['Mul'])), x, y)
        elif what == 't':
            e.unary(name, 'Transpose', x)
        elif what == 'v' and x.cont and x.kind != 'cache':
            e.view(name, x, r.choice([(x.len,), (1, x.len), x.shape]))
        elif what == 'n':
            e.unary(name, 'NoOp', x)
        elif what == 'k':
            e.unary(name, 'AsContiguous', x)
        elif what == 'c':
            e.cache(name, x)
        elif what == 'm' and len(x.shape) == 2 and not big:
            ys = [y for y in e.nodes if len(y.shape) == 2 and y.shape[0] == x.shape[1]]
            if ys:
                e.matmul(name, x, r.choice(ys))
    root = e.scalar('z', e.nodes[-1], '+', 0)
    return f'seed {seed}', e, root


def scripts(model, cases, fresh):
    """For each case and generation: its text and what must come. `fresh` makes the case again, caches empty."""
    for name, e, root in cases:
        for generation in GENERATIONS:
            if generation != '0.1':
                _, e, root = fresh(name)
            names = {n.id: n.name for n in e.nodes}
            runs = 1 if root.kind == 'cache' else 2
            text = '\n'.join(e.lines) + ''.join(f'\nrun {generation} {root.name}' for _ in range(runs)) + '\n.\n'
            want = []
            for _ in range(runs):
                lines = expected(model, root, generation, names)
                want += lines
                if lines[-1] == 'panic':
                    break
            yield f'{name} {generation}', text, want, True
        _, e, root = fresh(name)
        yield f'{name} hardened', '\n'.join(e.lines) + f'\nrun hardened {root.name}' * 2 + '\n.\n', \
            [numbers(e.values[root.id])] * 2, False


def blind(lines, text):
    """0.1 and 0.2: a scalar over strided bytes in place gives values that the model does not have; a failed run ends."""
    out = []
    for line in lines:
        if ('run 0.' in text) and line.startswith('values'):
            line = 'values'
        out.append(line)
        if line == 'panic':
            break
    return out


def compare(program, cases):
    """First difference as a sentence, or None; and how many were compared."""
    cases = list(cases)
    answer = subprocess.run([program], input=''.join(c[1] for c in cases), capture_output=True, text=True, check=True)
    blocks = answer.stdout.split('.\n')[:-1]
    if len(blocks) != len(cases):
        return f'{len(blocks)} answers for {len(cases)} expressions', 0
    for (name, text, want, _), block in zip(cases, blocks):
        got, want = blind(block.splitlines(), text), blind(want, text)
        for a, b in zip(got + [''] * len(want), want):
            if a != b:
                return f'{name}: ours "{a}", the model "{b}"\n' + text, 0
        if len(got) != len(want):
            return f'{name}: {len(got)} lines, the model {len(want)}', 0
    return None, len(cases)


def read_golden():
    with open(GOLDEN, encoding='utf-8') as f:
        for block in f.read().split('# ')[1:]:
            name, rest = block.split('\n', 1)
            text, answer, _ = rest.split('\n.\n')
            yield name, text + '\n.\n', answer.split('\n'), True


def main():
    model = load_model()
    if model:
        watch_slots(model)
    if sys.argv[1] == '--write-golden':
        makers = {c[0]: c for c in golden_cases(model)}
        with open(GOLDEN, 'w', encoding='utf-8') as f:
            for name, text, want, _ in scripts(model, makers.values(), lambda n: {c[0]: c for c in golden_cases(model)}[n]):
                f.write(f'# {name}\n{text}' + '\n'.join(want) + '\n.\n')
        return 0
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get('PSC_SEED', '1'))
    print(f'1..2\n# seed {seed}')
    difference, n = compare(program, read_golden())
    print(f'not ok 1 /candela-compare/golden-traces\n# {difference}' if difference else
          f'ok 1 /candela-compare/golden-traces\n# {n} runs')
    failed = bool(difference)
    if not model:
        print('ok 2 /candela-compare/random-expressions # SKIP the model is not here')
        return failed
    seeds = [seed * 1000003 + i for i in range(ROUNDS)]
    cases = [random_case(model, s) for s in seeds]
    by_name = lambda name: random_case(model, int(name.split()[1]))
    difference, n = compare(program, scripts(model, cases, by_name))
    difference = '\n# '.join(difference.split('\n')) if difference else None
    print(f'not ok 2 /candela-compare/random-expressions\n# {difference}' if difference else
          f'ok 2 /candela-compare/random-expressions\n# {n} runs')
    return failed or bool(difference)


if __name__ == '__main__':
    sys.exit(main())
