#!/usr/bin/env python3
"""Presets and model files through the command line: the published graphs, figures, and files that other programs open."""
import json
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403


def generator(*words):
    """What the references' generator writes."""
    made = subprocess.run([sys.executable, shared('tools', 'gen_minfer_graph.py'), *words], stdout=subprocess.PIPE, check=True)
    return made.stdout


def exported(*args):
    good('export', *args, '-o', path('out'))
    with open(path('out'), 'rb') as f:
        return f.read()


def same(got, right, what):
    if got != right:
        at = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b), min(len(got), len(right)))
        raise AssertionError(f'{what}: byte {at} of {len(right)}: got {got[at - 40:at + 40]!r}, right {right[at - 40:at + 40]!r}')


QWEN = ('--preset', 'qwen2.5-0.5b', '--format', 'minfer-graph')


@test
def the_published_prefill_comes_out_byte_for_byte():
    same(exported(*QWEN, '--tokens', 2), generator('prefill'), 'metal')
    same(exported(*QWEN, '--tokens', 2, '--backend', 'cpu'), generator('prefill', 'cpu'), 'cpu')
    same(exported(*QWEN, '--tokens', 440, '--backend', 'deferred'), generator('prefill', '--tokens', '440'), '440 tokens')
    same(exported(*QWEN, '--tokens', 2, '--pretty'), generator('prefill', '--pretty'), 'pretty')


@test
def the_published_decode_comes_out_byte_for_byte():
    same(exported(*QWEN, '--phase', 'decode'), generator('decode'), 'fused')
    same(exported(*QWEN, '--phase', 1, '--backend', 'cpu'), generator('decode', 'cpu', '--unfused'), 'cpu')
    same(exported(*QWEN, '--phase', 'decode', '--no-fuse-qkv', '--no-fuse-ffn'), generator('decode', '--unfused'), 'metal unfused')


@test
def the_bundled_samples_have_the_same_graphs():
    for name in ('qwen2.5-0.5b-metal.json', 'qwen2.5-0.5b-per-node.json'):
        for phase in ('prefill', 'decode'):
            args = ('--phase', phase, '--format', 'minfer-graph')
            same(exported('--preset', 'qwen2.5-0.5b', '--tokens', 2, *args), exported(sample('samples/' + name), *args), name)


@test
def a_trace_of_a_preset_opens_again():
    good('export', '--preset', 'tiny-qwen3', '--format', 'minfer-trace', '-o', path('t.json'))
    a, b = good('info', path('t.json'), '--json').json, good('info', '--preset', 'tiny-qwen3', '--json').json
    equal([(p['kind'], p['nodes'], p['edges'], p['steps']) for p in a['phases']],
          [(p['kind'], p['nodes'], p['edges'], 0) for p in b['phases']])
    equal(a['model'], b['model'])


@test
def pretty_graphs_have_the_published_lengths():
    lengths = {('qwen2.5-0.5b', 'cpu', 'prefill'): 175414, ('qwen2.5-0.5b', 'deferred', 'prefill'): 176294,
               ('qwen2.5-0.5b', 'deferred', 'decode'): 125392, ('qwen3-0.6b', 'deferred', 'prefill'): 229057,
               ('qwen2.5-7b', 'deferred', 'prefill'): 206496}
    for (preset, backend, phase), length in lengths.items():
        got = exported('--preset', preset, '--format', 'minfer-graph', '--pretty', '--tokens', 2, '--backend', backend,
                       '--phase', phase)
        equal(len(got), length, f'{preset} {backend} {phase}')


@test
def node_counts_are_those_of_the_engine():
    def counts(*args):
        return [p['nodes'] for p in good('info', '--json', *args).json['phases']]
    equal(counts('--preset', 'qwen2.5-0.5b'), [440, 305])
    equal(counts('--preset', 'qwen2.5-0.5b', '--backend', 'cpu'), [440, 437])
    equal(counts('--preset', 'qwen2.5-0.5b', '--no-fuse-qkv'), [440, 437 - 24 * 3])
    equal(counts('--preset', 'qwen2.5-0.5b', '--no-fuse-ffn'), [440, 305 + 24 * 3])
    equal(counts('--preset', 'qwen2.5-0.5b', '--weights', 'q8_0'), [440, 245])
    equal(counts('--preset', 'qwen2.5-0.5b', '--backend', 'cuda'), [440, 5 + 12 * 10 + 12 * 13])
    equal(counts('--preset', 'qwen3-0.6b'), [568, 285])
    equal(counts('--preset', 'qwen3-0.6b', '--backend', 'cuda'), [568, 481])
    equal(counts('--preset', 'qwen3-0.6b', '--backend', 'cpu'), [568, 565])
    equal(counts('--preset', 'qwen2.5-7b')[0], 512)
    # n_ff 18944 is too wide for the fused feed-forward
    equal(counts('--preset', 'qwen2.5-7b')[1] > 5 + 28 * 13, True)


@test
def a_mixed_plan_fuses_only_on_the_device():
    g = json.loads(exported(*QWEN, '--phase', 'decode', '--backend', 'mixed:0-11=deferred,12-99=cpu', '--weights', 'q8_0'))
    where = {}
    for n in g['nodes']:
        where.setdefault((n['op'], n['backend']), []).append(n['id'])
    equal(len(where['fused_qkv', 'metal']), 12)
    equal(len(where['fused_ffn', 'metal']), 12)
    equal(len(where['kvcache_store', 'cpu']), 12)
    equal(len(where['swiglu', 'cpu']), 12)
    check(('fused_qkv', 'cpu') not in where and ('kvcache_store', 'metal') not in where)
    equal({n['backend'] for n in g['nodes'] if n['op'] == 'input' or n['name'] == 'embed'}, {'cpu'})
    d = good('plan', *QWEN[:2], '--phase', 'decode', '--backend', 'mixed:0-11=deferred,12-99=cpu', '--json').json
    equal(len(d['splits']), 3)
    check(d['figures']['staging_bytes'] > 0)


@test
def the_kv_regions_of_qwen3_4b():
    def kv(*args):
        return good('plan', '--preset', 'qwen3-4b', '--json', *args).json['figures']['kv_bytes']
    equal(kv('--n-ctx', 40960), 12079595520)
    equal(kv(), 1207959552)
    equal(kv('--n-ctx', 4096, '--tokens', 100), 1207959552)
    equal(kv('--n-ctx', 1 << 20), 12079595520)   # the model's maximum
    equal(kv('--n-ctx', 10, '--tokens', 5000), 36 * 2 * 5000 * 1024 * 4)  # the prompt fits at least


@test
def presets_plan_to_the_published_figures():
    d = good('plan', '--preset', 'qwen2.5-0.5b', '--tokens', 440, '--json').json['figures']
    g = path('gen.json')
    with open(g, 'wb') as f:
        f.write(generator('prefill', '--tokens', '440'))
    equal(d, good('plan', g, '--json').json['figures'])
    equal((d['buffers'], round(d['pool_bytes'] / 1e6, 1)), (18, 31.7))


@test
def presets_are_clean_when_planned_hardened():
    for preset in ('tiny-qwen2', 'tiny-qwen3', 'tiny-qwen2-k', 'tiny-qwen3-k', 'qwen3-0.6b'):
        for backend in ('cpu', 'deferred', 'cuda', 'mixed:0-0=deferred'):
            equal(good('check', '--preset', preset, '--backend', backend, '--mode', 'hardened', '--json').json['findings'], [])


@test
def mistakes_are_said_in_one_line():
    cases = [
        (('plan', '--preset', 'qwen4'), "there is no preset 'qwen4'; there are: qwen2.5-0.5b, "),
        (('plan', '--preset', 'tiny-qwen2', '--backend', 'tpu'), "there is no backend 'tpu'; there are: cpu, deferred, cuda,"),
        (('plan', '--preset', 'tiny-qwen2', '--backend', 'mixed:0-3=cpu,3-9=deferred'), 'overlap: layer 3'),
        (('plan', '--preset', 'tiny-qwen2', '--tokens', 2049), 'a prompt of 2049 tokens does not fit: position 2048 at node 1 (positions), n_ctx is 2048'),
        (('plan', '--preset', 'tiny-qwen2', '--tokens', 0), "--tokens: '0' is not a number of tokens"),
        (('plan', '--preset', 'tiny-qwen2', '--weights', 'q3_K'), "--weights: 'q3_K' is not f32"),
        (('plan', '--preset', 'tiny-qwen2', 'x.json'), 'takes a FILE or --preset, not both'),
        (('plan', '--preset', 'tiny-qwen2', '--phase', 7), 'there is no phase 7: the file has 2 phases'),
        (('plan', save(graph('0 x input 4', [0])), '--tokens', 3), '--tokens is for models: a GGUF file or --preset NAME'),
        (('plan', save(graph('0 x input 4', [0])), '--phase', 'decode'), 'there is no decode phase: the file has 1 phase'),
        (('plan', save(graph('0 x input 4', [0])), '--weights', 'f16'), '--weights is for presets'),
        (('export', save(graph('0 x input 4', [0])), '--format', 'gguf', '-o', 'x'), 'it needs --preset'),
        (('model',), 'model needs a FILE'),
        (('plan', '--preset', 'tiny-qwen2', '--budget', '1kB'), 'more than the budget of 1000 bytes'),
    ]
    for words, sentence in cases:
        answer = run(*words)
        equal(answer.status, 2, words)
        check(sentence in answer.err, words, answer.err)
        equal(len(answer.err.splitlines()), 1, words)


@test
def each_arena_has_a_capacity_of_its_own():
    words = ('--preset', 'tiny-qwen2', '--backend', 'mixed:0-1=deferred,2-9=cpu', '--planner', 'optimal')
    need = {a['backend']: a['bytes'] for a in good('plan', *words, '--json').json['arenas']}
    equal(sorted(need), ['cpu', 'metal'])
    for name, other in (('cpu', 'metal'), ('metal', 'cpu')):
        for text in (f'{name}={need[name]}', f'{need[other]:,},{name}={need[name]:,}', f'{other}={need[other]},{name}={need[name]}'):
            good('plan', *words, '--capacity', text)
        answer = run('plan', *words, '--capacity', f'1GiB,{name}={need[name] - 1}')
        equal(answer.status, 2)
        check(f'the arena of {name} needs at least {need[name]} bytes' in answer.err, answer.err)
    options = good('plan', *words, '--capacity', '1GiB,cpu=1MiB', '--capacity', 'metal=2MiB', '--json').json['options']
    equal((options['capacity'], options['capacities']), (1 << 30, {'cpu': 1 << 20, 'metal': 2 << 20}))
    for text in ('cpu', 'cpu=', '=5', 'cpu=0', '0', 'cpu=1,cpu=2', '5MiB,6MiB', ',', 'cpu=1,2GiB,', 'cpu=1MiB,5MiB', 'x' * 64 + '=1'):
        answer = run('plan', *words, '--capacity', text)
        equal(answer.status, 2, text)
        check('is not a size such as' in answer.err, answer.err)
    unknown = "there is no arena of 'gpu': the graph runs on cpu, metal"
    for command in ('plan', 'check', 'export', 'render'):
        more = {'export': ('-o', '-', '--format', 'plan'), 'render': ('-o', 'x.svg')}.get(command, ())
        answer = run(command, *words, '--capacity', 'gpu=1GiB', *more)
        equal(answer.status, 2)
        check(unknown in answer.err, answer.err)
    for command in (('compare', *words[:4]), ('diff', *words[:4], '--from', 'optimal', '--to', 'best-fit')):
        answer = run(*command, '--capacity', 'gpu=1GiB')
        equal(answer.status, 2)
        check(unknown in answer.err, answer.err)
    run_words = ('run', *words, '-p', 'hi', '-n', '2')
    good(*run_words, '--capacity', 'metal=1MiB')
    answer = run(*run_words, '--capacity', 'gpu=1GiB')
    equal(answer.status, 2)
    check(unknown in answer.err, answer.err)
    answer = run(*run_words, '--capacity', '1GiB,metal=5')
    equal(answer.status, 2)
    check('the arena of metal needs at least' in answer.err, answer.err)


@test
def a_budget_counts_the_weights_of_a_model():
    figures = good('plan', '--preset', 'tiny-qwen2', '--json').json['figures']
    weights = good('model', '--preset', 'tiny-qwen2', '--json').json['tensor_bytes']
    need = figures['pool_bytes'] + weights
    good('plan', '--preset', 'tiny-qwen2', '--mode', 'hardened', '--budget', need)
    answer = run('plan', '--preset', 'tiny-qwen2', '--mode', 'hardened', '--budget', need - 1)
    equal(answer.status, 2)
    check(f'and the weights {weights}: more than the budget of {need - 1} bytes' in answer.err, answer.err)


# ---- model files ---------------------------------------------------------------------------------

def model_file(preset, *args, name='m.gguf'):
    good('export', '--preset', preset, '--format', 'gguf', '-o', path(name), *args)
    return path(name)


def read(name):
    with open(name, 'rb') as f:
        return f.read()


@test
def a_written_preset_is_the_preset_again():
    for preset in ('tiny-qwen2', 'tiny-qwen3', 'tiny-qwen2-k', 'tiny-qwen3-k'):
        file = model_file(preset, name=preset + '.gguf')
        for phase in ('prefill', 'decode'):
            args = ('--format', 'minfer-graph', '--phase', phase)
            same(exported(file, *args), exported('--preset', preset, *args), preset)
        a, b = good('model', file, '--json').json, good('model', '--preset', preset, '--json').json
        equal(a['model'], b['model'])
        equal(a['tensors'], b['tensors'])
        equal((a['version'], a['parts'], a['no_graph']), (3, 1, None))
        equal(a['metadata']['tokenizer.ggml.tokens'], {'item': 'string', 'n': 512})
        equal(a['file_bytes'], os.path.getsize(file))
        equal(a['tensor_bytes'], sum(t['bytes'] for t in a['types']))


@test
def every_type_of_weights_can_be_written():
    for mix in ('f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'q4_K', 'q5_K', 'q6_K', 'q4_k_m'):
        d = good('model', model_file('tiny-qwen2-k', '--weights', mix), '--json').json
        types = {t['name']: t['type'] for t in d['tensors']}
        if mix != 'q4_k_m':
            equal({t for n, t in types.items() if n.endswith('.weight') and 'norm' not in n}, {mix})
        equal({t for n, t in types.items() if n.endswith('bias') or 'norm' in n}, {'f32'})
    equal((types['output.weight'], types['token_embd.weight'], types['blk.0.attn_q.weight']), ('q6_K', 'q4_K', 'q4_K'))
    narrow = {t['name']: t['type'] for t in good('model', '--preset', 'tiny-qwen2', '--weights', 'q4_k_m', '--json').json['tensors']}
    equal((narrow['output.weight'], narrow['token_embd.weight']), ('q8_0', 'q5_0'))


@test
def a_seed_decides_every_byte_and_nothing_else_does():
    one, again = read(model_file('tiny-qwen3')), read(model_file('tiny-qwen3', '--seed', 0))
    other = read(model_file('tiny-qwen3', '--seed', 1))
    equal(one, again)
    equal(len(one), len(other))
    check(one != other)
    good('export', '--preset', 'tiny-qwen3', '--format', 'gguf', '-o', path('x.gguf'))
    equal(run('export', '--preset', 'tiny-qwen3', '--format', 'gguf', '-o', '/nowhere/x.gguf').status, 2)


GOLDEN = 0x9e3779b97f4a7c15
MASK = 2**64 - 1


def mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def fnv1a(text, seed):
    h = 0xcbf29ce484222325 ^ seed
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & MASK
    return h


def f32(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


@test
def weights_are_the_documented_numbers():
    """Value i of a tensor: splitmix64 from the hash of its name, 24 bits of it spread over -1 .. 1, times its reach."""
    seed, count = 5, 64 * 512
    data = read(model_file('tiny-qwen2', '--seed', seed))
    d = good('model', path('m.gguf'), '--json').json
    start = len(data) - sum(-(-t['bytes'] // 32) * 32 for t in d['tensors'])
    values = struct.unpack(f'<{count}f', data[start:start + 4 * count])
    key, reach = mix(fnv1a('token_embd.weight', seed)), f32(3 ** .5)
    for i in (0, 1, 2, 1000, 1023, 1024, 5000, count - 1):
        unit = (mix(key + (i + 1) * GOLDEN & MASK) >> 40) / 2**23 - 1
        equal(values[i], f32(reach * unit), f'value {i}')
    mean = sum(values) / count
    check(abs(mean) < .02 and abs(sum(v * v for v in values) / count - 1) < .02, 'spread')


@test
def a_model_of_another_family_is_shown_without_a_graph():
    data = read(model_file('tiny-qwen2')).replace(b'qwen2', b'llama')
    file = save(data, 'llama.gguf')
    text = good('model', file).out
    check("the model's architecture is 'llama'; graphs are built for qwen2 and qwen3" in text, text[:300])
    d = good('model', file, '--json').json
    equal(d['model'], None)
    equal(len(d['tensors']), 39)
    answer = run('plan', file)
    equal(answer.status, 2)
    check("architecture is 'llama'" in answer.err, answer.err)


@test
def a_model_that_lacks_or_bends_a_tensor_is_refused_by_name():
    data = read(model_file('tiny-qwen2'))
    cases = [
        (b'blk.1.ffn_up.weight', b'blk.1.ffn_op.weight', "no tensor 'blk.1.ffn_up.weight' [64, 128], which every qwen2 graph reads"),
        (b'output_norm.weight', b'output_narm.weight', "no tensor 'output_norm.weight' [64, 1]"),
        (b'token_embd.weight', b'taken_embd.weight', "no matrix 'token_embd.weight'"),
        (b'qwen2.block_count', b'qwen2.block_caunt', 'qwen2.block_count'),
    ]
    for old, new, sentence in cases:
        answer = run('plan', save(data.replace(old, new), 'bent.gguf'))
        equal(answer.status, 2, new)
        check(sentence in answer.err, answer.err)
    # a bias may be missing: the graph is built without it
    file = save(data.replace(b'blk.1.attn_q.bias', b'blk.1.attn_x.bias'), 'bent.gguf')
    g = json.loads(exported(file, '--format', 'minfer-graph'))
    equal([n['meta']['bias'] for n in g['nodes'] if n['name'] == 'matmul_blk.1.attn_q.weight'], [None])
    # the number of heads in the metadata against the tensors
    at = data.index(b'qwen2.attention.head_count_kv') + len(b'qwen2.attention.head_count_kv') + 4
    bent = data[:at] + struct.pack('<I', 4) + data[at + 4:]
    answer = run('plan', save(bent, 'bent.gguf'))
    equal(answer.status, 2)
    check('the K rows are 32 wide; 4 KV heads of 16 make 64' in answer.err, answer.err)


@test
def a_damaged_model_file_is_a_sentence():
    data = read(model_file('tiny-qwen3'))
    for n in (4, 8, 23, 24, 100, 3000, len(data) // 2, len(data) - 1):
        for command in ('model', 'plan', 'info'):
            answer = run(command, save(data[:n], 'cut.gguf'))
            equal(answer.status, 2, n)
            equal(len(answer.err.splitlines()), 1, answer.err)
            check(re.match(r'planscope-cli: .*cut\.gguf', answer.err), answer.err)


@test
def people_see_what_a_model_holds():
    text = good('model', model_file('tiny-qwen3')).out
    for line in ('Format      GGUF version 3', 'Model       qwen3, 3 layers, width 64, feed-forward 96',
                 'Attention   4 heads of 32 over 2 KV heads, K rows of 64', 'tied', 'KV regions  3.00 MiB at 2048 rows',
                 'general.architecture', 'tokenizer.ggml.merges', 'blk.2.attn_k_norm.weight', 'Types'):
        check(line in text, line, text[:800])


main()
