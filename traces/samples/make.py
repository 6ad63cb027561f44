#!/usr/bin/env python3
"""Writes the bundled samples and lessons: python3 traces/samples/make.py [FOLDER]

Without FOLDER into traces/ beside this script. The same bytes on every run (a test compares them).
"""
import os
import sys

sys.dont_write_bytecode = True
import arenas  # noqa: E402
from lessons import LESSONS, chain, parallel, two_outputs  # noqa: E402
from minfer import Graph, Qwen2, dump  # noqa: E402
from pool import KV, end_of_split, places  # noqa: E402
from values import Run, record, top_logits  # noqa: E402

PROMPT, PROMPT_IDS = 'Hello!', [9707, 0]
REPLY = [(358, ' I'), (2776, "'m"), (264, ' a')]
# What each position of the run would choose from: the first is what it chose.
PICKS = {1: [(358, 0.3644), (2585, 0.1517), (1096, 0.0713), (576, 0.0502), (3017, 0.0298)],
         2: [(2776, 0.5121), (614, 0.1624), (1079, 0.0771), (572, 0.0347), (1366, 0.0268)],
         3: [(264, 0.2746), (501, 0.1208), (4460, 0.1134), (3330, 0.0827), (537, 0.0391)],
         4: [(48948, 0.1312), (5458, 0.1105), (501, 0.0642), (220, 0.0307), (3162, 0.0262)]}


def recorded(graph, values):
    """Records as read right after each node: those of nodes that have a place."""
    place = places(graph)
    return [record(node, values[node['id']]) for node in graph.nodes
            if node['id'] in place and node['op'] not in KV]


def recorded_late(graph, values, memory):
    """Records as read at the end of each split; what the host filled in was read at once and stands first."""
    shown = end_of_split(graph, values, memory)
    inputs = [record(graph.nodes[i], values[i]) for i in graph.inputs]
    return inputs + [record(node, shown[node['id']]) for node in graph.nodes
                     if node['id'] in shown and node['op'] != 'input']


def step(graph, values, records, token=None, text=''):
    logits = graph.outputs and graph.nodes[graph.outputs[0]]['name'] == 'matmul_output.weight'
    return {'token': token, 'text': text, 'nodes': records,
            'logits_top': top_logits(values[graph.outputs[0]]) if logits else []}


def phase(graph, steps, extra=None):
    made = {'kind': graph.kind, 'graph': graph.document(), 'steps': steps}
    if extra:
        made['planscope'] = extra
    return made


def trace(model, prompt, phases):
    return {'format': 'minfer-trace', 'version': 1, 'model': model, 'prompt': prompt, 'phases': phases}


def hello():
    """The prompt and three generated tokens; the same run recorded at the end of its split and per node."""
    model = Qwen2()
    model.picks = PICKS
    run, memory = Run(model), {}
    prefill, decode = model.graph(2, False, 'metal'), model.graph(1, True, 'metal')
    forwards = [(prefill, None, '', {'token_ids': PROMPT_IDS, 'positions': [0, 1], 'tail_ids': [1]})]
    forwards += [(decode, token, text, {'token_ids': [token], 'positions': [2 + i]})
                 for i, (token, text) in enumerate(REPLY)]
    late, own = [], []
    for graph, token, text, fills in forwards:
        values = run.execute(graph, fills)
        late.append(step(graph, values, recorded_late(graph, values, memory), token, text))
        own.append(step(graph, values, recorded(graph, values), token, text))
    note = {'capture': 'node', 'note': 'The run of the Metal sample with every value read right after its node: all '
            'records are the nodes\' own.'}
    return (trace(model.file, PROMPT, [phase(prefill, late[:1]), phase(decode, late[1:])]),
            trace(model.file, PROMPT, [phase(prefill, own[:1], note), phase(decode, own[1:], note)]))


def two_backends():
    model = Qwen2()
    graph = model.graph(440, False, 'cuda', host='cpu')
    return trace(model.file, '', [phase(graph, [], {
        'note': 'Rope, the KV cache and attention run on the CPU, all else on CUDA: 52 splits, 98 staged copies. '
                'Look at the gaps between the lanes, and at #427 tail_ids, which cuts the last split for 4 bytes.'})])


def small(built, extra):
    graph, fills = built
    values = Run().execute(graph, fills)
    late = extra['capture'] == 'split'
    records = recorded_late(graph, values, {}) if late else recorded(graph, values)
    return trace(graph.model, '', [phase(graph, [step(graph, values, records)], extra)])


def lesson(name, backend, build, lines):
    graph = Graph('lesson', name[2:], backend)
    fills = build(graph)
    extra = {'capture': 'split' if backend == 'metal' else 'node', 'lesson': list(lines)}
    if backend == 'metal':
        extra['slots'] = 'lowest'
    return small((graph, fills), extra)


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    late, own = hello()
    files = {'samples/qwen2.5-0.5b-metal.json': late, 'samples/qwen2.5-0.5b-per-node.json': own,
             'samples/qwen2.5-0.5b-440-cuda-cpu.json': two_backends(),
             'samples/chain.json': small(chain(), {
                 'capture': 'node', 'note': 'Silu and add in turn on one chain: three buffers are enough. #3 and #5 write in '
                 'place, #1 may not: its operand is read again by #2, #4 and #6.'}),
             'samples/parallel.json': small(parallel(), {
                 'capture': 'node', 'note': 'Two branches that meet in #6. Neither reads the other, yet run one node at a time '
                 'they share: #5 takes the buffer that #2 left.'}),
             'samples/two-outputs.json': small(two_outputs(), {
                 'capture': 'node', 'note': 'Two outputs that show one buffer: y, and the second half of it. Run on arenas with '
                 '--hold 1, both are held, and the block goes back when the second one is dropped.'})}
    files['samples/arenas.json'] = arenas.story()
    files['samples/arenas-shutdown.json'] = arenas.shutdown()
    files['lessons/7-lent-outputs.json'] = arenas.lent()
    for each in LESSONS:
        files['lessons/%s.json' % each[0]] = lesson(*each)
    for name, document in files.items():
        os.makedirs(os.path.join(top, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(top, name), 'wb') as out:
            out.write(dump(document).encode())


if __name__ == '__main__':
    main()
