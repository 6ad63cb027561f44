#!/usr/bin/env python3
"""Scenarios through the command line: the answers, the sentences, the exit status."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403

KV = {'format': 'memplan-kv', 'version': 1, 'layer': 0, 'n_ctx': 4, 'n_embd': 2, 'dtype': 'f32'}
SCHED = {'format': 'memplan-sched', 'version': 1, 'queues': [{'id': 'host', 'order': 'serial'}, {'id': 'gpu', 'order': 'serial'}],
         'buffers': [{'id': 'H', 'bytes': 64, 'backend': 'cpu'}]}


def command(name, queue, reads=(), writes=(), after=(), kind='kernel'):
    return {'id': name, 'queue': queue, 'kind': kind, 'reads': list(reads), 'writes': list(writes), 'after': list(after)}


def played(content, status=0):
    answer = run('play', save(content), '--json')
    equal(answer.status, status, answer.err)
    return answer.json, answer.err


@test
def a_cache_answers_with_all_six_keys():
    answer, err = played(dict(KV, ops=[]))
    equal(answer, {'kv': {'cells': {}, 'errors': [], 'moves': [], 'region_bytes': 32, 'ring_overrun': [], 'unwritten_reads': []}})
    equal(err, '')


@test
def cells_are_named_by_number_and_hold_token_position_and_rotation():
    answer, _ = played(dict(KV, ops=[{'op': 'store', 'pos': [0, 1, 2], 'tokens': 'a\u00e9\u4e16'}, {'op': 'rm', 'p0': 0, 'p1': 1},
                                     {'op': 'shift', 'p0': 1, 'p1': 3, 'delta': -1}, {'op': 'apply_shift'}, {'op': 'defrag'}]))
    equal(answer['kv']['cells'], {'0': ['\u00e9', 0, -1], '1': ['\u4e16', 1, -1]})
    equal(answer['kv']['moves'], [[8, 0, 8], [16, 8, 8]])


@test
def each_error_has_a_sentence_and_findings_exit_1():
    answer, err = played(dict(KV, ops=[{'op': 'store', 'pos': [4], 'tokens': 'x'}, {'op': 'attend', 'query_pos': 0, 'n_kv': 2},
                                       {'op': 'store', 'pos': [9], 'tokens': 'y'}]), status=1)
    equal(answer['kv']['errors'], [0, 2])
    equal(answer['kv']['unwritten_reads'], [0, 1])
    lines = err.strip().split('\n')
    equal(len(lines), 3, err)
    check('op 0 (store): position 4 has no cell: n_ctx is 4, positions 0..3 have one' in lines[0], err)
    check('2 of rows 0..1 hold nothing' in lines[1], err)


@test
def rows_of_every_type_have_their_bytes():
    for dtype, n_embd, right in ('f32', 32, 512), ('f16', 32, 256), ('q8_0', 64, 272):
        answer, _ = played(dict(KV, dtype=dtype, n_embd=n_embd, ops=[]))
        equal(answer['kv']['region_bytes'], right, dtype)
    answer, _ = played(dict(KV, window=2, ops=[{'op': 'store', 'pos': [5, 6, 7], 'tokens': 'abc'}]), status=1)
    equal(answer['kv']['region_bytes'], 16)
    equal(answer['kv']['ring_overrun'], [0])
    equal(answer['kv']['cells'], {'0': ['b', 6, 0], '1': ['c', 7, 0]})


@test
def races_are_pairs_in_list_order_and_a_wait_removes_them():
    up = command('up', 'gpu', reads=[['H', 0, 64]])
    scenario = dict(SCHED, commands=[command('w0', 'host', writes=[['H', 0, 64]]), up, command('w1', 'host', writes=[['H', 32, 8]])])
    answer, err = played(scenario, status=1)
    equal(answer, {'races': [['up', 'w1', 'H']]})
    check('race on H, bytes 32..40: up (gpu) reads them, w1 (host) writes them, and neither waits for the other' in err, err)
    scenario['commands'][2]['after'] = ['up']
    equal(played(scenario), ({'races': []}, ''))


@test
def a_capture_that_cannot_be_used_again_is_no_finding():
    node = {'node': 3, 'op': 'cpy', 'src': [{'buf': 'a', 'offset': 0, 'shape': [2], 'gen': 1}],
            'dst': {'buf': 'b', 'offset': 0, 'shape': [2], 'gen': 1}, 'shape': [2], 'indirect_dst': False, 'params': {}}
    moved = dict(node, src=[dict(node['src'][0], offset=256)])
    answer, err = played({'format': 'memplan-replay', 'version': 1, 'capture': [node], 'replays': [[node], [moved], [moved]]})
    equal(answer, {'replay': ['reuse', ['recapture', 3, 'src0.offset'], ['recapture', 3, 'src0.offset']]})
    equal(len(err.strip().split('\n')), 2, err)
    check('src0.offset was 0 when it was captured and is 256' in err, err)


@test
def people_get_a_table():
    answer = good('play', save(dict(KV, ops=[{'op': 'store', 'pos': [1], 'tokens': 'b'}])))
    check('1 of 4 cells in use' in answer.out, answer.out)
    check('cell  token  position' in answer.out, answer.out)
    answer = good('play', save(dict(SCHED, commands=[])))
    equal(answer.out, '0 commands on 2 queues: 0 races\n')


@test
def what_is_no_scenario_is_refused():
    for content, words in ((graph('0 x input 4', [0]), 'no scenario'), ({'format': 'memplan-arena'}, 'events must be a list'),
                           ({'format': 'memplan-kv', 'version': 7}, 'version 7'), ('', 'empty'), ('{', 'truncated')):
        answer = run('play', save(content), '--json')
        equal(answer.status, 2, answer.err)
        check(words in answer.err, words, answer.err)
        equal(answer.out, '')


@test
def a_scenario_is_a_document_for_the_other_commands():
    place = save(dict(KV, ops=[{'op': 'store', 'pos': [0, 1], 'tokens': 'ab'}, {'op': 'attend', 'query_pos': 1, 'n_kv': 3}]))
    info = good('info', place, '--json').json
    equal((info['format'], [p['kind'] for p in info['phases']]), ('memplan-kv', ['cache']))
    found = good('check', place, '--json', status=1).json['findings']
    equal([(f['kind'], f['confidence']) for f in found], [('K8', 'proved')])
    out = path('picture.png')
    good('render', place, '-o', out)
    check(os.path.getsize(out) > 1000, 'no picture')
    trace_out = path('trace.json')
    good('export', place, '-o', trace_out, '--format', 'minfer-trace')
    equal(len(good('check', trace_out, '--json', status=1).json['findings']), 1)


@test
def the_cache_of_a_run_is_dumped_and_looked_at():
    folder = path('cache')
    good('run', '--preset', 'tiny-qwen2', '--tokens', '5,6,7', '-n', '6', '--n-ctx', '32', '--kv-dump', folder, '--json')
    names = sorted(os.listdir(folder))
    equal(names, sorted(['kv.pskv', 'kv0_decode.f32'] + [f'kv{layer}{slot}_decode.f32' for layer in range(3) for slot in 'kv']))
    equal({os.path.getsize(os.path.join(folder, n)) for n in names if n.endswith('.f32')}, {32 * 32 * 4})
    told = good('kv', folder, '--json').json
    equal([told[k] for k in ('format', 'n_ctx', 'width', 'written', 'used', 'findings', 'differs')],
          ['planscope-kv', 32, 32, 8, 8, [], None])
    equal(told['sequences'], [{'cap': 32, 'rows': 8, 'seq': 0, 'shared_cell': 0, 'shared_rows': 0, 'start': 0}])
    equal(good('kv', folder, '--n-ctx', '32', '--width', '32', '--json').json, told)
    one = run('kv', os.path.join(folder, 'kv.pskv'), '--tag', 'decode')
    equal((one.status, one.out), (2, ''))
    check('a tag chooses among those of a folder' in one.err, one.err)
    for options, words in ((('--width', '16'), 'its rows have 32 values, not 16'), (('--n-ctx', '64'), 'it has 32 rows (n_ctx), not 64')):
        answer = run('kv', folder, *options)
        equal((answer.status, answer.out), (2, ''), options)
        check(words in answer.err, answer.err)
    plain = good('kv', folder, '--tag', 'decode', '--n-ctx', '32', '--json').json
    equal([plain[k] for k in ('format', 'width', 'written', 'written_is_told')], ['minfer-kv', 32, 8, False])
    equal([r['k']['values'] for r in plain['layers']], [8, 8, 8])
    text = good('kv', folder).out
    check('8 rows written, 25.0 % of n_ctx; the last is row 7' in text and 'No findings.' in text, text)
    one = path('one-row')
    good('run', '--preset', 'tiny-qwen2', '--tokens', '5', '-n', '0', '--n-ctx', '32', '--kv-dump', one)
    check('\n1 row written, 3.1 % of n_ctx; the last is row 0\n' in good('kv', one).out)
    check('\n1 row that holds anything, ' in good('kv', one, '--tag', 'prefill', '--n-ctx', '32').out)
    with open(os.path.join(folder, 'kv1v_decode.f32'), 'r+b') as f:
        f.seek(3 * 32 * 4 + 8)
        f.write(b'\0\0\xc0\x7f')
        f.seek(5 * 32 * 4)
        f.write(bytes(32 * 4))
    answer = run('kv', folder, '--tag', 'decode', '--width', '32')
    equal(answer.status, 1)
    check('layer 1 V: row 3 holds NaN.' in answer.out, answer.out)
    check('layer 1 V: row 5 is zero, other regions hold something there.' in answer.out, answer.out)


@test
def a_dump_that_is_none_is_refused():
    for content, words in (('', 'say how wide|no rows of floats'), ('abc', 'no rows of floats')):
        place = save(content, 'kv0k_decode.f32')
        answer = run('kv', place, '--width', '4')
        equal(answer.status, 2)
        check(any(w in answer.err for w in words.split('|')), answer.err)
    answer = run('kv', save('hello', 'x.bin'))
    equal(answer.status, 2)
    check('no dump of a KV cache' in answer.err, answer.err)
    answer = run('kv', os.path.join(path('no'), 'such'))
    equal(answer.status, 2)


@test
def every_shared_scenario_is_answered_as_its_expectation_says():
    folder = shared('cases', 'expect')
    seen = 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as f:
            right = json.load(f)
        if not {'kv', 'races', 'replay'} & set(right) or 'bad_plan' in right:
            continue
        answer = run('play', os.path.join(folder, '..', right['input']), '--json')
        got = answer.json
        for key, value in right.get('kv', {}).items():
            if key == 'must_mention':
                check(all(w in answer.err for w in value), value, answer.err)
            else:
                equal(got['kv'][key], value, f'{name} {key}')
        for key in 'races', 'replay':
            if key in right:
                equal(got[key], right[key], name)
        seen += 1
    check(seen >= 9, seen)


main()
