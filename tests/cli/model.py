"""A small model of what the command line answers, written apart from it: lives, the peak, and a shadow of every
byte. Slow and plain on purpose; graphs are a few dozen nodes of a few hundred bytes.

    g = Graph(document)             a minfer-graph as a dictionary
    g.peak()                        (bytes, position, nodes) of peak_tensor_bytes, build order
    found = Shadow(g, plan).run()   every wrong thing of a plan, in the order of execution

A plan here is {'places': {id: (buffer, offset)}, 'caps': {(backend, buffer): bytes}, 'executor', 'rerun'}.
What is found: ('read', victim, writer, reader), ('overlap', victim, node), ('small', node), ('race', a, b).
"""
VIEWS = ('view', 'reshape', 'permute')
ELEMENTWISE = ('add', 'mul', 'scale', 'silu', 'swiglu')
ROWWISE = ('softmax', 'rms_norm', 'qk_norm')
KV = ('kvcache_store', 'kvcache_load')
NOBODY = None


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def size_of(dtype, elements):
    if dtype == 'q8_0':
        return -(-elements // 32) * 34
    return elements * (2 if dtype in ('f16', 'bf16') else 4)


class Graph:
    def __init__(self, doc):
        self.nodes = doc['nodes']
        self.n = len(self.nodes)
        self.by = {node['id']: node for node in self.nodes}
        self.at = {node['id']: i for i, node in enumerate(self.nodes)}
        self.outputs = list(dict.fromkeys(doc['outputs']))
        listed = list(dict.fromkeys(doc['inputs']))
        self.inputs = listed + [n['id'] for n in self.nodes if n['op'] == 'input' and n['id'] not in listed]
        self.ids = [node['id'] for node in self.nodes]
        self.readers = {i: [] for i in self.ids}
        for node in self.nodes:
            for s in node['src']:
                self.readers[s].append(node['id'])
        self._split()

    def op(self, i):
        return self.by[i]['op']

    def src(self, i):
        return self.by[i]['src']

    def bytes(self, i):
        return size_of(self.by[i]['dtype'], product(self.by[i]['shape']))

    def is_view(self, i):
        return self.op(i) in VIEWS

    def is_kv(self, i):
        return self.op(i) in KV

    def root(self, i):
        while self.is_view(i):
            i = self.src(i)[0]
        return i

    def offset(self, i):
        """where a view begins in its parent, bytes"""
        return size_of(self.by[i]['dtype'], self.by[i]['detail'].get('offset', 0)) if self.op(i) == 'view' else 0

    def _split(self):
        """runs of one backend: each node's backend, and the first position of its run"""
        self.lane, self.split_first = {}, {}
        known = [n['backend'] for n in self.nodes if n['backend'] is not None]
        now = None if not known else 'cpu' if 'cpu' in known else known[0]
        first = 0
        for p, node in enumerate(self.nodes):
            backend = node['backend'] if node['backend'] is not None else now
            if backend != now or p == 0:
                now, first = backend, p
            self.lane[node['id']] = now
            self.split_first[node['id']] = first

    def kahn(self):
        """first in, first out, over distinct operands, ascending"""
        wants = {i: len(set(self.src(i))) for i in self.ids}
        queue = [i for i in self.ids if not wants[i]]
        for i in queue:
            for r in dict.fromkeys(self.readers[i]):
                wants[r] -= 1
                if not wants[r]:
                    queue.append(r)
        return queue

    def lives(self, order=None):
        """storage -> (first, last), both included"""
        place = {i: p for p, i in enumerate(order or self.ids)}
        lives = {i: [place[i], place[i]] for i in self.ids if not self.is_view(i) and not self.is_kv(i)}

        def reach(i, position):
            r = self.root(i)
            if r in lives:
                lives[r][1] = max(lives[r][1], position)
        for i in self.ids:
            for s in self.src(i):
                reach(s, place[i])
        for i in self.inputs + self.outputs:
            reach(i, self.n)
        return lives

    def peak(self, order=None):
        lives = self.lives(order)
        best = (0, 0, [])
        for t in range(self.n + 1):
            live = [i for i in self.ids if i in lives and lives[i][0] <= t <= lives[i][1]]
            total = sum(map(self.bytes, live))
            if total > best[0]:
                best = (total, t, live)
        return best

    def naive(self):
        return sum(self.bytes(i) for i in self.ids if not self.is_kv(i))

    def layer(self, i):
        return self.by[i]['detail'].get('layer')

    def kv_bytes(self):
        largest = {}
        for i in self.ids:
            if self.is_kv(i):
                largest[self.layer(i)] = max(largest.get(self.layer(i), 0), self.bytes(i))
        return 2 * sum(largest.values())

    def dead(self):
        return [i for i in self.ids if not self.readers[i] and i not in self.outputs and i not in self.inputs
                and not self.is_kv(i)]

    def levels(self):
        level, store, loads = {}, {}, {}
        for i in self.ids:
            after = [level[s] for s in self.src(i)]
            if self.op(i) in KV + ('attn',) and self.layer_of_rows(i) in store:
                after.append(level[store[self.layer_of_rows(i)]])
            level[i] = 0 if self.op(i) == 'input' else 1 + max(after, default=0)
            if self.op(i) == 'kvcache_store':
                store[self.layer_of_rows(i)] = i
        return level

    def layer_of_rows(self, i):
        return self.by[i]['detail'].get('layer', self.by[i]['meta'].get('layer'))


class Shadow:
    def __init__(self, graph, plan):
        self.g, self.plan = graph, plan
        self.found = []
        self.home, self.copy = {}, set()
        for i in graph.ids:
            self._place(i)
        self.cells = {}      # (backend, buffer) -> {byte: the value that lies there}
        self.staged = {}     # (value, backend) -> {byte of the value's place: who wrote the wrong one that was copied}

    # ---- where everything lies

    def _place(self, i):
        """home[i] = (owner, (backend, buffer), lo, hi), None for what has no bytes or no place"""
        g, given = self.g, self.plan['places'].get(i)
        self.home[i] = None
        if g.is_kv(i) or not g.bytes(i):
            return
        if g.is_view(i):
            parent = self.home[g.src(i)[0]]
            shown = None
            if parent:
                lo = parent[2] + g.offset(i)
                shown = (parent[0], parent[1], lo, lo + g.bytes(i))
            self.home[i] = shown
            if given is None or g.is_kv(g.root(i)):
                return
            room = (g.lane[i], given[0])
            if shown and (room, given[1]) == (shown[1], shown[2]):
                return
            root = self.home[g.root(i)]
            inside, at = 0, i
            while g.is_view(at):
                inside += g.offset(at)
                at = g.src(at)[0]
            if root and (room, given[1]) == (root[1], root[2] + inside):
                self.home[i] = (root[0], room, given[1], given[1] + g.bytes(i))
                return
            self.copy.add(i)
            self.home[i] = (i, room, given[1], given[1] + g.bytes(i))
        elif given is not None:
            self.home[i] = (i, (g.lane[i], given[0]), given[1], given[1] + g.bytes(i))

    def runs(self, i):
        g = self.g
        return self.home[i] is not None and i not in g.inputs and (not g.is_view(i) or i in self.copy)

    def unplaced(self):
        """something that is read has no place: (node, reader); the plan must be refused"""
        g = self.g
        lacks = lambda i: self.home[i] is None and g.bytes(i) and not g.is_kv(g.root(i))
        for i in g.ids:
            if self.runs(i) or g.op(i) == 'kvcache_store':
                for s in g.src(i):
                    if lacks(s):
                        return g.root(s), i
        for i in g.outputs:
            if lacks(i):
                return g.root(i), 'export'
        return None

    # ---- bytes

    def _read(self, i, reader, lo=None, hi=None):
        owner, room, a, z = self.home[i]
        cells, wrong = self.cells.setdefault(room, {}), {}
        for k in range(a if lo is None else lo, z if hi is None else hi):
            if cells.get(k, NOBODY) != owner:
                wrong[k] = cells.get(k, NOBODY)
                self._note('read', owner, wrong[k], reader)
        return wrong

    def _read_copy(self, i, reader, lo, hi):
        """a copy of wrong bytes is wrong for each of its readers"""
        for k, writer in self.staged.get((i, self.g.lane[reader]), {}).items():
            if lo <= k < hi:
                self._note('read', self.home[i][0], writer, reader)

    def _note(self, *what):
        if what not in self.found:
            self.found.append(what)

    def _write(self, i):
        owner, room, a, z = self.home[i]
        cells = self.cells.setdefault(room, {})
        if room in self.plan['caps'] and z > self.plan['caps'][room]:
            self._note('small', i)
        for k in range(a, z):
            cells[k] = i

    def _span(self, i, k):
        """the bytes of operand k that node i looks at"""
        g = self.g
        s = g.src(i)[k]
        owner, room, lo, hi = self.home[s]
        width = 0
        if g.op(i) == 'matmul' and k == 0:
            width = g.by[i]['meta'].get('in_dim', 0)
        elif g.is_view(i):  # a copy of the window
            return room, lo + g.offset(i), lo + g.offset(i) + g.bytes(i)
        elif g.op(i) == 'attn' and k == 0:
            width = g.by[i]['meta'].get('n_head', 0) * g.by[i]['meta'].get('hd', 0)
        shape = g.by[s]['shape']
        if width and width < shape[0] and product(shape) == shape[0]:
            hi = lo + size_of(g.by[s]['dtype'], width)
        return room, lo, hi

    def _crosses(self, s, i):
        return self.home[s] is not None and self.home[s][1][0] != self.g.lane[i]

    def _stage(self, position):
        """a split asks for its copies when it begins"""
        g = self.g
        for i in g.ids[position:]:
            if g.split_first[i] != position:
                break
            if not self.runs(i) and g.op(i) != 'kvcache_store':
                continue
            for s in g.src(i):
                if self._crosses(s, i) and (s, g.lane[i]) not in self.staged:
                    self.staged[(s, g.lane[i])] = self._read(s, i)

    def _stage_made(self, level, now):
        """levels: a copy is queued when the storage is made, and over before the next level"""
        g = self.g
        for i in g.ids:
            for s in g.src(i) if self.runs(i) or g.op(i) == 'kvcache_store' else ():
                if self._crosses(s, i) and (s, g.lane[i]) not in self.staged and level[self.home[s][0]] == now:
                    self.staged[(s, g.lane[i])] = self._read(s, i)

    def _own_operands(self, i):
        """an op over its own operands"""
        g = self.g
        owner, room, lo, hi = self.home[i]
        if self._moves_nothing(i):
            return
        for k, s in enumerate(g.src(i)):
            if self.home[s] is None or self._crosses(s, i):
                continue
            there, a, z = self._span(i, k)
            if there != room or a >= hi or z <= lo:
                continue
            lawful = g.op(i) in ELEMENTWISE or (g.op(i) in ROWWISE + ('rope', ) and k == 0)
            if not ((a, z) == (lo, hi) and lawful):
                self._note('overlap', self.home[s][0], i)

    def _moves_nothing(self, i):
        """a concat all of whose operands lie at their places"""
        g = self.g
        if g.op(i) != 'concat' or not self._outermost(i):
            return False
        at = self.home[i][2]
        for k, s in enumerate(g.src(i)):
            if g.bytes(s):
                if self.home[s] is None or self._crosses(s, i) or self._span(i, k)[:2] != (self.home[i][1], at):
                    return False
            at += g.bytes(s)
        return True

    def _outermost(self, i):
        axis = self.g.by[i]['detail'].get('dim', 0)
        return all(d == 1 for d in self.g.by[i]['shape'][axis + 1:])

    def _execute(self, i):
        g = self.g
        if g.op(i) == 'kvcache_store' or (self.runs(i) and not g.is_kv(i)):
            for k, s in enumerate(g.src(i)):
                if self.home[s] is None:
                    continue
                room, lo, hi = self._span(i, k)
                if self._crosses(s, i):
                    self._read_copy(s, i, lo, hi)
                else:
                    self._read(s, i, lo, hi)
        if self.runs(i):
            self._own_operands(i)
            self._write(i)

    # ---- the run

    def run(self):
        g = self.g
        for i in g.inputs:
            if self.home[i]:
                self._write(i)
        if self.plan.get('executor') == 'level':
            level = g.levels()
            for now in range(max(level.values(), default=0) + 1):
                for i in g.ids:
                    if level[i] == now:
                        self._execute(i)
                self._stage_made(level, now)
            self._races(level)
        else:
            for p, i in enumerate(g.ids):
                if g.split_first[i] == p:
                    self._stage(p)
                self._execute(i)
        for i in g.outputs:
            if self.home[i]:
                self._read(i, 'export')
        if self.plan.get('rerun'):
            for i in g.inputs:
                if self.home[i]:
                    self._read(i, 'rerun')
        return self.found

    def _races(self, level):
        g = self.g
        busy = [i for i in g.ids if self.runs(i) or g.op(i) == 'kvcache_store']

        def meet(a, b):
            return a and b and a[1] == b[1] and a[2] < b[3] and b[2] < a[3]

        def touched(i):
            return [(None, *self._span(i, k)) for k, s in enumerate(g.src(i))
                    if self.home[s] and not self._crosses(s, i)]
        for x, i in enumerate(busy):
            for j in busy[x + 1:]:
                if level[i] != level[j]:
                    continue
                if meet(self.home[i], self.home[j]) or any(meet(self.home[i], t) for t in touched(j)) or \
                   any(meet(self.home[j], t) for t in touched(i)):
                    self._note('race', i, j)
