"""Small graphs: the two of the planner's seed, and six that teach one rule each.

A lesson is a graph, what the host fills in, and three lines: a question, where to look, the answer.
"""
from minfer import Graph


def chain():
    g = Graph('chain', 'chain', 'cpu')
    x = h = g.input('x', [4])
    for i in range(6):
        h = g.same('add', [h, x]) if i % 2 else g.same('silu', [h])
    g.outputs = [h]
    return g, {'x': [1.0, -2.0, 0.5, 3.0]}


def parallel():
    g = Graph('parallel', 'parallel', 'cpu')
    a0, b0 = g.input('a0', [4]), g.input('b0', [4])
    a1, b1 = g.same('silu', [a0], 'a1'), g.same('silu', [b0], 'b1')
    a2, b2 = g.same('add', [a1, a0], 'a2'), g.same('add', [b1, b0], 'b2')
    g.outputs = [g.same('add', [a2, b2], 'o')]
    return g, {'a0': [1.0, 2.0, 3.0, 4.0], 'b0': [-1.0, -2.0, -3.0, -4.0]}


def two_outputs():
    g = Graph('two-outputs', 'two-outputs', 'cpu')
    x = g.input('x', [8])
    y = g.same('add', [g.same('silu', [x], 'h'), x], 'y')
    g.outputs = [y, g.view('tail', y, 4, [4])]
    return g, {'x': [1.0, -2.0, 0.5, 3.0, 4.0, -1.0, 2.0, 0.25]}


def live_range(g):
    x, w = g.input('x', [4]), g.input('w', [4])
    a = g.same('add', [x, w], 'a')
    b = g.same('mul', [a, w], 'b')
    c = g.same('add', [b, x], 'c')
    g.same('mul', [b, w], 'unread')
    g.outputs = [g.same('mul', [c, a], 'd')]
    return {'x': [1.0, 2.0, 3.0, 4.0], 'w': [2.0, 2.0, 2.0, 2.0]}


def size_classes(g):
    x = g.input('x', [1000])
    for name, size in (('a', 900), ('b', 1024), ('c', 300), ('d', 1000), ('e', 260), ('f', 500)):
        x = g.matmul(x, name + '.weight', size, 'f32')
    g.outputs = [x]
    return {'x': [i / 1000 for i in range(1000)]}


def in_place(g):
    x, w = g.input('x', [4]), g.input('w', [4])
    s = g.same('silu', [g.same('add', [x, w], 't')], 's')
    u = g.same('mul', [x, w], 'u')
    v = g.same('silu', [u], 'v')
    g.outputs = [g.same('add', [g.same('add', [s, v], 'r'), u], 'o')]
    return {'x': [1.0, 2.0, 3.0, 4.0], 'w': [0.5, -0.5, 0.25, -1.0]}


def views(g):
    x, w, a, b = g.input('x', [8]), g.input('w', [8]), g.input('a', [4]), g.input('b', [4])
    t = g.same('add', [x, w], 't')
    low, high = g.view('low', t, 0, [4]), g.view('high', t, 4, [4])
    s = g.same('mul', [a, b], 's')
    g.outputs = [g.same('mul', [low, g.same('add', [s, high], 'k')], 'o')]
    return {'x': [float(i) for i in range(1, 9)], 'w': [1.0] * 8, 'a': [1.0, 2.0, 3.0, 4.0], 'b': [3.0] * 4}


def two_orders(g):
    x, w = g.input('x', [4]), g.input('w', [4])
    h = g.same('add', [x, w], 'h')
    n = g.same('mul', [h, w], 'n')
    a = g.same('add', [n, w], 'a')
    late = g.same('mul', [h, w], 'late')
    g.outputs = [g.same('add', [a, late], 'o')]
    return {'x': [1.0, 2.0, 3.0, 4.0], 'w': [2.0] * 4}


def recorded_late(g):
    x, w = g.input('x', [8]), g.input('w', [8])
    h = g.same('add', [x, w], 'h')
    n = g.same('mul', [h, w], 'n')
    a = g.same('add', [n, w], 'a')
    b = g.same('mul', [a, x], 'b')
    g.outputs = [g.same('add', [b, w], 'o')]
    return {'x': [i / 8 for i in range(1, 9)], 'w': [2.0, -2.0] * 4}


LESSONS = [
    ('1-live-range', 'cpu', live_range, (
        'How long does a tensor need its bytes?',
        'Follow #2 a: it is written at position 2 and #3 reads it at once, yet its bar goes on. Then look for #5.',
        'A tensor lives from its write to its last reader: #6 still reads #2, so its buffer is taken by nobody before. '
        '#5 has no reader and is no output: it gets no buffer and never runs.')),
    ('2-size-classes', 'cpu', size_classes, (
        'Why do seven tensors of six sizes need only five buffers?',
        'Find the two bars in the buffer of #1 and the two in that of #3. In the map, look at the dotted foot of a bar.',
        'Buffers come in classes (256, powers of two up to 4,096 elements, then steps of 4,096): 900 and 1,000 elements '
        'both ask for 1,024, so #4 takes what #1 left, and #5 what #3 left. The foot is what rounding up costs.')),
    ('3-in-place', 'cpu', in_place, (
        'When may an op write over its own operand?',
        'Compare #3 s with #5 v: both are silu.',
        '#3 is the only reader of #2, so it writes into the same bytes. #4 is read again by #7: #5 must take another '
        'buffer, or #7 would read silu(u) for u.')),
    ('4-views', 'cpu', views, (
        'Who keeps the bytes of a view alive?',
        'The last direct reader of #4 t is #6, but its bar goes on to #9. Then check with the fault l5.',
        'A view owns no bytes: #5 and #6 are windows of #4, so reading a view reads #4. A planner that forgets it '
        '(fault l5) gives the buffer of #4 to #7, and #9 reads through #5 what #7 wrote.')),
    ('5-two-orders', 'cpu', two_orders, (
        'Both orders are legal. Why does the plan break when lives are counted in one and the ops run in the other?',
        'Choose the order "topological" in the plan menu and look at #4 a, then at what #5 late reads.',
        'Counted topologically #5 comes before #4, so #2 h seems free when #4 needs a buffer. But #4 runs first, '
        'writes over h, and #5 reads the wrong bytes.')),
    ('6-recorded-late', 'metal', recorded_late, (
        'Three of seven recorded values are not the nodes\' own. Which?',
        'Compare the values of #2, #4 and #6, then those of #3 and #5.',
        'Metal copies every record when its split has ended. Buffers were reused by then: #2 and #4 show what #6 '
        'wrote last, #3 shows #5.')),
]
