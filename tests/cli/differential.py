#!/usr/bin/env python3
"""Random graphs and random bad plans: the command line against tests/cli/model.py.

    differential.py [SEED] [ROUNDS]      default: 1 and what fits into the time; prints the seed of each wrong answer
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import check, equal, good, main, plan_file, run, save, test  # noqa: E402
from model import ELEMENTWISE, Graph, Shadow, product, size_of           # noqa: E402

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10 ** 9
SECONDS = 5  # of each test, when ROUNDS does not end it


def rounds(what):
    """seeds, until the time is up"""
    begin = time.monotonic()
    for k in range(ROUNDS):
        if ROUNDS == 10 ** 9 and time.monotonic() - begin > SECONDS:
            return
        seed = SEED * 1000003 + k
        try:
            yield random.Random(f'{what} {seed}')
        except GeneratorExit:
            print(f'# {what}: SEED {SEED}, round {k}', flush=True)
            raise


# ---- graphs ----------------------------------------------------------------------------------

class Maker:
    """A random graph in which every op has the shape that its rule gives it."""

    def __init__(self, rng, kv=True):
        self.rng, self.kv, self.nodes, self.layers = rng, kv, [], 0
        self.two = rng.random() < 0.3
        self.backend = 'cpu'

    def add(self, op, shape, src=(), dtype='f32', detail=None, meta=None):
        if op.startswith('kvcache') or op == 'attn':
            self.backend = 'cpu'  # a layer's regions lie on one backend
        elif self.two and self.rng.random() < 0.25:
            self.backend = self.rng.choice(['cpu', 'cuda'])
        i = len(self.nodes)
        shape = list(shape) + [1] * (4 - len(shape))
        self.nodes.append({'id': i, 'name': f'{op}{i}', 'op': op, 'detail': detail or {}, 'shape': shape,
                           'dtype': dtype, 'backend': self.backend, 'src': list(src), 'meta': meta or {}})
        return i

    def input(self):
        if self.rng.random() < 0.25:
            return self.add('input', [self.rng.choice([0, 1, 2, 3])], dtype='i32')
        return self.add('input', [self.rng.choice([4, 8, 16]), self.rng.choice([1, 1, 2])],
                        dtype=self.rng.choice(['f32', 'f32', 'f32', 'f16']))

    def pick(self, test=lambda n: True):
        fit = [n for n in self.nodes if n['op'] not in ('kvcache_store', 'kvcache_load') and test(n)]
        return self.rng.choice(fit[-6:] if self.rng.random() < 0.6 else fit) if fit else None

    def dense(self):
        return self.pick(lambda n: n['dtype'] != 'i32')

    def like(self, a):
        return self.pick(lambda n: n['shape'] == a['shape'] and n['dtype'] == a['dtype'])

    def step(self):
        rng, a = self.rng, self.dense()
        if a is None:
            return self.add('input', [4])
        i, shape, dtype = a['id'], a['shape'], a['dtype']
        kind = rng.choice(['unary'] * 4 + ['binary'] * 4 + ['matmul', 'rows', 'view', 'view', 'reshape', 'permute',
                                                            'concat', 'rope', 'other', 'input', 'kv', 'cast'])
        if kind == 'unary':
            op = rng.choice(['scale', 'silu', 'rms_norm', 'softmax', 'qk_norm'])
            detail = {'scale': {'scale': 2.0}, 'softmax': {'dim': 0}}.get(op, {})
            return self.add(op, shape, [i], dtype, detail)
        if kind == 'binary':
            b = self.like(a)
            pair = [i, b['id']]
            rng.shuffle(pair)
            return self.add(rng.choice(ELEMENTWISE[:2] + ('swiglu',)), shape, pair, dtype)
        if kind == 'matmul':
            width = rng.choice([4, 8, 16])
            full = rng.random() < 0.8
            return self.add('matmul', [width] + shape[1:], [i], 'f32', {'transpose_b': False},
                            {'weight': f'blk.0.w{i}', 'in_dim': shape[0] if full else max(1, shape[0] // 2),
                             'out_dim': width})
        if kind == 'rows':
            ids = self.pick(lambda n: n['dtype'] == 'i32')
            if ids is None:
                return self.add('input', [rng.choice([1, 2])], dtype='i32')
            if rng.random() < 0.5:
                return self.add('get_rows', [8, product(ids['shape'])], [ids['id']], 'f32', {},
                                {'vocab_size': 10, 'weight': 'token_embd', 'wtype': 'f32'})
            return self.add('get_rows', [shape[0], product(ids['shape'])], [i, ids['id']], dtype)
        if kind == 'view':
            n = product(shape)
            if not n or dtype == 'q8_0':
                return self.add('reshape', shape, [i], dtype, {'shape': shape})
            size = rng.randint(1, n)
            offset = rng.choice([0, n - size, rng.randint(0, n - size)])
            return self.add('view', [size], [i], dtype, {'offset': offset, 'shape': [size, 1, 1, 1]})
        if kind == 'reshape':
            flat = [product(shape), 1, 1, 1]
            return self.add('reshape', flat, [i], dtype, {'shape': flat})
        if kind == 'permute':
            return self.add('permute', [shape[1], shape[0]] + shape[2:], [i], dtype, {'dims': [1, 0, 2, 3]})
        if kind == 'concat':
            axis = rng.choice([0, 1])
            parts = [a]
            for _ in range(rng.randint(0, 2)):
                parts.append(self.pick(lambda n: n['dtype'] == dtype and n['shape'][2:] == [1, 1] and
                                       n['shape'][1 - axis] == shape[1 - axis]))
            made = list(shape)
            made[axis] = sum(p['shape'][axis] for p in parts)
            return self.add('concat', made, [p['id'] for p in parts], dtype, {'dim': axis})
        if kind == 'rope':
            ids = self.pick(lambda n: n['dtype'] == 'i32')
            return self.add('rope', shape, [i] + ([ids['id']] if ids else []), dtype, {'style': 'NonInterleaved'})
        if kind == 'other':
            srcs = [i] + [self.dense()['id'] for _ in range(rng.randint(0, 2))]
            return self.add('mystery', [rng.choice([0, 3, 4, 8])], srcs, rng.choice(['f32', 'f16']))
        if kind == 'cast':
            wide = -(-shape[0] // 32) * 32
            return self.add('cast', [wide] + shape[1:], [i], 'q8_0')
        if kind == 'kv' and self.kv:
            k = self.pick(lambda n: n['dtype'] == 'f32' and n['shape'][0] == 4)
            if k is None:
                return self.add('matmul', [4] + shape[1:], [i], 'f32', {}, {'in_dim': shape[0], 'out_dim': 4})
            positions = self.pick(lambda n: n['dtype'] == 'i32')
            layer = rng.randrange(self.layers + 1)
            self.layers = max(self.layers, layer + 1)
            tail = [positions['id']] if positions else []
            self.add('kvcache_store', [4, 6], [k['id'], k['id']] + tail, 'f32', {'layer': layer},
                     {'n_embd': 4, 'n_head_kv': 0})
            load = self.add('kvcache_load', [4, 6], [], 'f32', {'layer': layer}, {'n_embd': 4, 'n_head_kv': 1})
            return self.add('attn', shape, [i, load] + tail, 'f32', {'mode': 'Gqa'},
                            {'layer': layer, 'n_head': 1, 'n_head_kv': 1, 'hd': shape[0], 'scale': 0.5})
        return self.input()

    def finish(self):
        rng = self.rng
        n = len(self.nodes)
        for node in self.nodes:
            if self.two and rng.random() < 0.05 and node['id']:
                node['backend'] = None if node['op'] not in ('kvcache_store', 'kvcache_load', 'attn') else 'cpu'
        outputs = [rng.choice([m for m in self.nodes if m['op'] not in ('kvcache_store', 'kvcache_load')])['id']
                   for _ in range(rng.randint(1, 3))]
        if self.nodes[-1]['op'] not in ('kvcache_store', 'kvcache_load'):
            outputs.append(n - 1)
        if rng.random() < 0.3:
            outputs.append(outputs[0])
        inputs = [m['id'] for m in self.nodes if m['op'] == 'input']
        rng.shuffle(inputs)
        new = list(range(n))
        numbering = rng.random()
        if numbering < 0.2:
            new = sorted(rng.sample(range(10 * n), n))
        elif numbering < 0.4:
            new = [2 ** 53 + i for i in range(n)]
        elif numbering < 0.5:
            new = rng.sample(range(2 ** 64 - 2 * n, 2 ** 64), n)  # neither ascending nor small
        for node in self.nodes:
            node['id'] = new[node['id']]
            node['src'] = [new[s] for s in node['src']]
        return {'format': 'minfer-graph', 'version': 1, 'model': 'random', 'kind': 'prefill',
                'inputs': [new[i] for i in inputs], 'outputs': [new[i] for i in outputs], 'nodes': self.nodes}


def make(rng, largest=24, kv=True):
    maker = Maker(rng, kv)
    for _ in range(rng.randint(1, 3)):
        maker.input()
    for _ in range(rng.randint(1, largest)):
        maker.step()
    return maker.finish()


# ---- plans -----------------------------------------------------------------------------------

def own_plan(answer):
    """a plan of `plan --json`, for the shadow"""
    backend = {b['id']: b['backend'] for b in answer['buffers']}
    return {'places': {p['node']: (p['buffer'], p['offset']) for p in answer['placements']},
            'caps': {(backend[b['id']], b['id']): b['bytes'] for b in answer['buffers']},
            'executor': answer['executor'], 'rerun': answer.get('rerun', False)}


def bad_plan(rng, g):
    """each storage its own buffer or exact reuse after the last reader; then something is spoiled"""
    lives, free, places = g.lives(), {}, {}
    mode = rng.random()
    ends = {}
    for i in g.ids:
        for r in ends.pop(g.at[i], []):
            free.setdefault((g.lane[r], g.bytes(r)), []).append(places[r][0])
        if g.is_view(i) or g.is_kv(i) or not g.bytes(i):
            continue
        pool = free.get((g.lane[i], g.bytes(i)), [])
        name = pool.pop() if pool and mode < 0.7 and i not in g.inputs else f'b{g.at[i]}'
        places[i] = (name, 0)
        ends.setdefault(lives[i][1] + 1, []).append(i)
    caps = {}
    if rng.random() < 0.3:
        for i, (name, _) in places.items():
            caps[g.lane[i], name] = max(caps.get((g.lane[i], name), 0), g.bytes(i))
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        spoil(rng, g, places, caps)
    return {'places': places, 'caps': caps, 'executor': rng.choice(['serial', 'serial', 'level']),
            'rerun': rng.random() < 0.4}


def spoil(rng, g, places, caps):
    if not places:
        return
    a, b = rng.choice(list(places)), rng.choice(list(places))
    kind = rng.choice(['swap', 'shift', 'shrink', 'share', 'share', 'in place', 'in place', 'drop', 'view', 'concat',
                       'views'])
    if kind == 'swap':
        places[a], places[b] = places[b], places[a]
    elif kind == 'shift':
        places[a] = (places[a][0], places[a][1] + rng.choice([4, 8, 2, 16]))
    elif kind == 'shrink' and caps:
        room = rng.choice(list(caps))
        caps[room] = max(0, caps[room] - rng.choice([1, 4, 8]))
    elif kind == 'share':
        places[a] = places[b]
    elif kind == 'in place':
        inner = [i for i in places if g.src(i) and g.root(g.src(i)[0]) in places]
        if inner:
            i = rng.choice(inner)
            s = rng.choice(g.src(i))
            if g.root(s) in places:
                inside, at = 0, s
                while g.is_view(at):
                    inside += g.offset(at)
                    at = g.src(at)[0]
                places[i] = (places[at][0], places[at][1] + inside)
    elif kind == 'drop':
        dead = [i for i in g.dead() if i in places]
        gone = rng.choice(dead) if dead and rng.random() < 0.8 else a
        del places[gone]
    elif kind == 'view':
        views = [i for i in g.ids if g.is_view(i) and g.bytes(i)]
        if views:
            i = rng.choice(views)
            places[i] = rng.choice([(f'v{g.at[i]}', 0), places[b]])
    elif kind == 'views':  # an engine that copies every view
        for i in g.ids:
            if g.is_view(i) and g.bytes(i):
                places[i] = (f'v{g.at[i]}', 0)
    elif kind == 'concat':
        joins = [i for i in places if g.op(i) == 'concat']
        if joins:
            i = rng.choice(joins)
            at = places[i][1]
            for s in g.src(i):
                if s in places and s not in g.inputs:
                    places[s] = (places[i][0], at)
                at += g.bytes(s)


def write_plan(plan):
    rows = {i: (str(name), offset) for i, (name, offset) in plan['places'].items()}
    buffers = [{'id': name, 'backend': backend, 'bytes': size} for (backend, name), size in plan['caps'].items()]
    more = {'executor': plan['executor'], 'rerun': plan['rerun']}
    return plan_file(rows, **more, **({'buffers': buffers} if buffers else {}))


def picture(g):
    return '; '.join(f"{i}={g.op(i)}{g.by[i]['shape'][:2]}{g.by[i]['dtype']}@{g.lane[i]}{g.src(i)}"
                     for i in g.ids) + f' out {g.outputs}'


def compare(g, plan, answer, what):
    """the findings of `check --json` against the shadow's"""
    what = f'{what} {picture(g)}'
    found = Shadow(g, plan).run()
    got = [(f['victim'], f['writer'], f['reader']) for f in answer['findings']]
    equal(bool(got), bool(found), f'{what}: findings {got}, the model {found}; verdict')
    reads = [f[1:] for f in found if f[0] == 'read']
    for f in found:
        if f[0] == 'read':
            check(f[1:] in got, what, 'not reported:', f, got)
        elif f[0] == 'overlap':
            check(any(x[0] == f[1] and x[1] == f[2] for x in got), what, 'not reported:', f, got)
        elif f[0] == 'small':
            check(any(f[1] in x[:2] for x in got), what, 'not reported:', f, got)
        elif f[0] == 'race':
            check(any({*f[1:]} <= {*x} for x in got), what, 'not reported:', f, got)
    for x in got:
        right = x in reads or any(
            f[0] == 'overlap' and x == (f[1], f[2], f[2]) or
            f[0] == 'small' and x == (f[1], f[1], None) or
            f[0] == 'race' and {*f[1:]} <= {*x} for f in found)
        check(right, what, 'nothing justifies', x, 'the model has', found)
    if got and found and found[0][0] == 'read' and plan.get('executor') == 'serial':
        check(found[0][1:] in got, what, 'the first violation is missing', found[0])


OPTIONS = [('--mode', mode, '--size', size, '--slots', slots, '--order', order)
           for mode in ('hardened', 'upstream') for size in ('exact', 'class')
           for slots in ('lowest', 'fifo', 'lifo', 'random:7') for order in ('build', 'topological')]


def measure(g, answer, order=None):
    total, at, live = g.peak(order)
    figures = answer['figures']
    equal(figures['peak_tensor_bytes'], total, 'peak_tensor_bytes')
    equal(answer['peak']['at'], at, 'peak at')
    equal([(c['node'], c['bytes']) for c in answer['peak']['contributors']], [(i, g.bytes(i)) for i in live],
          'contributors')
    equal(figures['naive_bytes'], g.naive(), 'naive_bytes')
    equal(figures['kv_bytes'], g.kv_bytes(), 'kv_bytes')
    equal(figures['nodes'], g.n, 'nodes')
    pool = [b for b in answer['buffers'] if b['role'] not in ('persistent', 'staging')]
    equal(figures['buffers'], len(pool), 'buffers')
    equal(figures['pool_bytes'], sum(b['bytes'] for b in pool), 'pool_bytes')
    check(figures['peak_live_bytes'] <= figures['pool_bytes'], 'more live than there is')


@test
def figures_and_peak_agree_with_the_model():
    for rng in rounds('figures'):
        doc = make(rng)
        g, path = Graph(doc), save(doc)
        options = rng.choice(OPTIONS)
        answer = good('plan', path, *options, '--json').json
        measure(g, answer, g.kahn() if 'topological' in options else None)
        if 'topological' in options:
            continue
        places = {n['id']: n for n in answer['nodes']}
        for i in g.ids:  # the host reads and fills these whatever happens
            if i in g.outputs + g.inputs and g.bytes(i):
                check(places[i]['buffer'] is not None, 'no buffer:', i)
                equal(places[g.root(i)]['last'], g.n, f'end of {i}')


@test
def own_plans_are_clean_in_the_shadow_and_say_so():
    for rng in rounds('own'):
        doc = make(rng)
        g, path = Graph(doc), save(doc)
        options = rng.choice([o for o in OPTIONS if 'topological' not in o])
        answer = good('plan', path, *options, '--json')
        plan = own_plan(answer.json)
        checked = run('check', path, *options, '--json')
        if 'hardened' in options:
            equal(checked.status, 0, f'hardened plans are clean: {checked.out[:300]}{checked.err[:200]}')
            equal(Shadow(g, plan).run(), [], 'the shadow of a hardened plan')
        compare(g, plan, checked.json, 'own plan')
        again = run('check', path, '--plan', save(answer.out, 'own.json'), '--json')
        equal(again.status, checked.status, f'the same plan from a file: {again.err}')
        triples = [[(f['kind'], f['victim'], f['writer'], f['reader'], f['bytes']) for f in a.json['findings']]
                   for a in (checked, again)]
        equal(triples[1], triples[0], 'findings of the same plan from a file')


@test
def orders_and_faults_are_judged_like_the_shadow_does():
    for rng in rounds('faults'):
        doc = make(rng)
        g, path = Graph(doc), save(doc)
        options = list(rng.choice(OPTIONS))
        for fault in rng.sample(['l1', 'l2', 'l3', 'l4', 'l5', 'h1', 'h2', 'h3', 'h7'], rng.randint(0, 2)):
            options += ['--fault', fault]
        answer = run('plan', path, *options, '--json')
        equal(answer.status, 0, f'{options}: {answer.err}')
        plan = own_plan(answer.json)
        checked = run('check', path, *options, '--json')
        check(checked.status in (0, 1), options, checked.err)
        if Shadow(g, plan).unplaced():
            continue
        compare(g, plan, checked.json, ' '.join(options))


@test
def bad_plans_are_judged_like_the_shadow_does():
    for rng in rounds('bad'):
        doc = make(rng, 16)
        g, path = Graph(doc), save(doc)
        for _ in range(4):
            plan = bad_plan(rng, g)
            file = write_plan(plan)
            answer = run('check', path, '--plan', file, '--json')
            missing = Shadow(g, plan).unplaced()
            if missing:
                equal(answer.status, 2, f'{missing} has no placement: {answer.out[:200]}')
                check(str(missing[0]) in answer.err, 'the node without a place is named:', missing, answer.err)
                continue
            check(answer.status in (0, 1), 'refused:', answer.err)
            equal(answer.status, 1 if answer.json['findings'] else 0, 'exit status')
            compare(g, plan, answer.json, f'plan {plan}')


@test
def exported_graphs_read_back_as_they_were():
    for rng in rounds('export'):
        doc = make(rng)
        path = save(doc)
        out = os.path.join(os.path.dirname(path), 'again.json')
        good('export', path, '--format', 'minfer-graph', '-o', out, *rng.choice([(), ('--pretty',)]))
        with open(out, encoding='utf-8') as file:
            again = json.load(file)
        doc['outputs'] = list(dict.fromkeys(doc['outputs']))
        equal(again, doc, 'the graph')
        equal(good('plan', out, '--json').json, good('plan', path, '--json').json, 'its plan')


@test
def a_trace_takes_its_plan_along():
    for rng in rounds('along'):
        doc = make(rng)
        path = save(doc)
        out = os.path.join(os.path.dirname(path), 'along.json')
        options = rng.choice(OPTIONS)
        good('export', path, '--format', 'minfer-trace', '-o', out, *options)
        plan, again = (good('plan', *a, '--json').json for a in ((path, *options), (out,)))
        for key in ('figures', 'peak', 'placements', 'splits'):
            equal(again[key], plan[key], f'{key} of {options}')
        first, second = (run('check', *a, '--json') for a in ((path, *options), (out,)))
        equal(second.status, first.status, f'{options}: {second.err}')
        equal([(f['kind'], f['victim'], f['writer'], f['reader'], f['bytes']) for f in second.json['findings']],
              [(f['kind'], f['victim'], f['writer'], f['reader'], f['bytes']) for f in first.json['findings']])
        good('export', path, '--format', 'plan', '-o', out, *options)
        with open(out, encoding='utf-8') as file:
            equal(json.load(file), plan, 'an exported plan')


if __name__ == '__main__':
    main()
