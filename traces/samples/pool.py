"""What a record shows that was read at the end of its split: the pool allocation, replayed.

The rules are those of the engine the samples imitate: inputs placed before the walk, inputs and outputs
pinned, a buffer idle from the position after its last reader on, the idle buffer of the lowest number of the
class taken first, silu and rope in place over an operand that nobody else reads.
"""
IN_PLACE = ('silu', 'rope')
KV = ('kvcache_store', 'kvcache_load')


def size_class(elements):
    if elements <= 256:
        return 256
    if elements <= 4096:
        return 1 << (elements - 1).bit_length()
    return -(-elements // 4096) * 4096


def elements(node):
    a, b, c, d = node['shape']
    return a * b * c * d


def places(graph):
    """-> {node: (buffer, offset in elements)}; KV nodes and nodes without a reader have no place. A buffer is
    (backend, class, number)."""
    nodes, n = graph.nodes, len(graph.nodes)
    last, readers = list(range(n)), [0] * n
    for node in nodes:
        for s in node['src']:
            last[s] = node['id']
            readers[s] += 1
    for node in graph.inputs + graph.outputs:
        last[node] = n
    idle, made, deadline, place = {}, {}, {}, {}

    def take(node):
        key = (node['backend'], size_class(elements(node)))
        free = idle.setdefault(key, [])
        if free:
            number = free.pop(free.index(min(free)))
        else:
            number = made[key] = made.get(key, -1) + 1
        deadline[key + (number,)] = last[node['id']]
        place[node['id']] = (key + (number,), 0)

    def share(node, parent, offset):
        buffer, start = place[parent]
        place[node['id']] = (buffer, start + offset)
        deadline[buffer] = max(deadline[buffer], last[node['id']])

    for i in graph.inputs:
        take(nodes[i])
    for i, node in enumerate(nodes):
        for buffer in [b for b in deadline if deadline[b] < i]:
            del deadline[buffer]
            idle[buffer[:2]].append(buffer[2])
        if node['op'] == 'input' or node['op'] in KV:
            continue
        if node['op'] == 'view':
            share(node, node['src'][0], node['detail']['offset'])
        elif last[i] > i:
            source = node['src'][0] if node['src'] else None
            if node['op'] in IN_PLACE and readers[source] == 1 and nodes[source]['backend'] == node['backend']:
                share(node, source, 0)
            else:
                take(node)
    return place


def end_of_split(graph, values, memory):
    """-> {node: what its bytes hold when its split has ended}. memory keeps the buffers between runs."""
    place, shown = places(graph), {}
    split = []
    for node in graph.nodes + [{'backend': None}]:
        if split and node['backend'] != split[-1]['backend']:
            for done in split:
                buffer, offset = place[done['id']]
                shown[done['id']] = memory[buffer][offset:offset + elements(done)]
            split = []
        if node.get('id') in place:
            buffer, offset = place[node['id']]
            bytes_ = memory.setdefault(buffer, [0.0] * buffer[1])
            if node['op'] != 'view':
                bytes_[offset:offset + elements(node)] = values[node['id']]
            split.append(node)
    return shown
