#!/usr/bin/env python3
"""Runs on arenas and arena scenarios, from outside: the numbers of runs in pools, counters that go to nothing, outputs that
are held, and each fault breaking its invariant."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403

ARENA = ('--memory', 'arena')
CHAIN = '''
    0 x input 64
    1 a scale 64 < 0
    2 b silu 64 < 1
    3 c add 64 < 2 0
    4 d silu 64 < 3
'''
FILL = '--fill=x=' + ','.join(str(i / 8) for i in range(64))


def chain():
    return save(graph(CHAIN, [4]))


def logits(name, preset, *more):
    where = path(name)
    d = good('run', '--preset', preset, '--tokens', '5,77,130,9', '-n', '6', '--logits', where, '--json', *more).json
    with open(where, 'rb') as f:
        return d, f.read()


@test
def a_model_has_the_logits_of_a_run_in_pools_bit_by_bit():
    for preset in ('tiny-qwen2', 'tiny-qwen3'):
        pools, right = logits('pool.f32', preset)
        check(len(right) > 6 * 4 * 100, len(right))
        for more in ((), ('--hold', '2'), ('--inputs', 'borrow', '--mode', 'upstream'), ('--exec-cap', '0', '--io-cap', '0'),
                     ('--align', '256', '--hold', '3', '--chunk', '2'), ('--exec-slots', '12', '--io-slots', '8')):
            d, got = logits('arena.f32', preset, *ARENA, *more)
            if '--chunk' in more:  # other forwards: the same tokens
                equal(d['tokens'], pools['tokens'], more)
            else:
                equal(got, right, (preset, more))
            equal(d['findings'], 0)
            equal(d['arena']['broken'], [])
            check(all(r['copied'] == 0 for r in d['arena']['runs']), more)


@test
def after_the_first_runs_nothing_is_asked_of_the_heap():
    d = good('run', '--preset', 'tiny-qwen2', '--tokens', '5,77', '-n', '10', '--json', *ARENA, '--hold', '3').json
    allocs = [r['system_allocs'] for r in d['arena']['runs']]
    equal([r['copied'] for r in d['arena']['runs']], [0] * 10)
    equal(len(allocs), 10)
    equal(allocs[1:4], [1, 1, 1], 'an output held longer costs one block')
    equal(allocs[4:], [0] * 6)
    equal([r['held'] for r in d['arena']['runs']], [1, 2, 3] + [3] * 7)
    trimmed = good('run', '--preset', 'tiny-qwen2', '--tokens', '5,77', '-n', '4', '--json', *ARENA, '--trim').json['arena']
    check(all(r['system_allocs'] > 5 and r['retained_exec'] == 0 for r in trimmed['runs']), trimmed)
    borrowed = good('run', '--preset', 'tiny-qwen2', '--tokens', '5,77', '-n', '10', '--json', *ARENA, '--inputs', 'borrow').json
    equal([r['staged'] for r in borrowed['arena']['runs']], [0] * 10)
    equal([r['system_allocs'] for r in borrowed['arena']['runs']][1:], [0] * 9)
    copied = good('run', '--preset', 'tiny-qwen2', '--tokens', '5,77', '-n', '3', '--json', *ARENA).json
    check(all(r['staged'] > 0 for r in copied['arena']['runs']), copied)


@test
def a_graph_runs_several_times_and_its_outputs_are_read_while_held():
    where = chain()
    right = good('run', where, FILL, '--json').json['outputs']
    for more in ((), ('--hold', '1'), ('--hold', '9'), ('--refill',), ('--inputs', 'borrow', '--refill', '--hold', '2')):
        d = good('run', where, FILL, '--times', '5', '--json', *ARENA, *more).json
        equal(d['outputs'], right, more)
        equal(len(d['arena']['runs']), 5)
        held = int(more[more.index('--hold') + 1]) if '--hold' in more else 0
        equal([r['system_allocs'] for r in d['arena']['runs']][1:], [int(run <= held) for run in range(1, 5)], more)
    table = good('run', where, FILL, '--times', '12', *ARENA).out
    check('blocks from the heap' in table and '  12 ' in table and '  10 ' not in table, table)


@test
def what_the_arenas_did_is_a_story_that_the_checker_takes():
    where = chain()
    events, kept = path('run.ev'), path('run-trace.json')
    good('run', where, FILL, '--times', '3', '--hold', '1', '--json', *ARENA, '--events', events, '--trace', kept)
    for file in (events, kept):
        check('No findings' in good('check', file).out)
        d = good('info', file, '--json').json
        equal([(p['kind'], p['steps']) for p in d['phases']], [('prefill', 3), ('arena', 0)])
    story = json.load(open(kept))['phases'][1]['planscope']['events']
    owners = {row[16] for row in story['events'] if len(row) > 15}
    equal(owners, {'tensor', 'binding', 'lease'})
    kinds = {row[0] for row in story['events']}
    check({'alloc', 'release', 'export', 'drop', 'clear', 'write', 'read'} <= kinds, kinds)
    for row in story['events']:  # [kind, position, node, value, version, buffer, generation, lo, hi, peer, cause ...]
        if row[0] in ('evict', 'release') and row[1] > 2:
            check(row[10] is not None, 'without a cause', row)
    equal([row[3] for row in story['arenas']], ['hardened', 'hardened'])
    good('render', events, '-o', path('run.png'))
    alone = path('alone.ev')
    good('run', where, FILL, *ARENA, '--events', alone, '--capture', 'none')
    equal([p['kind'] for p in good('info', alone, '--json').json['phases']], ['arena'])


@test
def values_and_hashes_of_a_run_on_arenas_are_those_of_one_in_pools():
    traces, files = [], [path('pool.json'), path('arena.json'), path('arena.ev')]
    run_it = ('run', '--preset', 'tiny-qwen2', '--tokens', '5,77,130', '-n', '4', '--hashes', '--json')
    good(*run_it, '--trace', files[0])
    d = good(*run_it, *ARENA, '--trace', files[1], '--events', files[2], '--hold', '2', '--inputs', 'borrow', '--verify').json
    equal((d['confirmed'], d['findings'], d['verified']['differ']), (0, 0, 0))
    check(d['verified']['values'] > 200, d['verified'])
    for file in files[:2]:
        with open(file) as f:
            traces.append(json.load(f))
    equal([len(p['steps']) for p in traces[0]['phases']], [1, 3])
    equal([len(p['steps']) for p in traces[1]['phases']], [1, 3, 0])
    compared = 0
    for pool, arena in zip(traces[0]['phases'], traces[1]['phases']):
        for one, other in zip(pool['steps'], arena['steps']):
            equal(one['nodes'], other['nodes'])
            equal(one['logits_top'], other['logits_top'])
            equal(one['planscope']['hashes'], other['planscope']['hashes'])
            compared += len(one['nodes'])
    check(compared > 200, compared)
    values = traces[1]['phases'][0]['planscope']['events']['values']
    check(any(v[0] == 'workspace' for v in values), 'what kernels ask for beside their operands has its block')
    for file in files[1:]:
        text = good('check', file).out
        check('150 recorded values in 3 steps: 150 are the node\'s own' in text and 'No findings' in text, text)
        equal(good('check', file, '--json').json['records']['own'], compared)


@test
def on_a_queue_and_across_backends_the_bits_are_the_same():
    run_it = ('--tokens', '5,77,130,9', '-n', '5')
    for spec in ('deferred', 'mixed:0-1=deferred,2-9=cpu', 'mixed:0-0=cpu,1-1=deferred,2-9=cpu', 'cuda-shim'):
        answers = []
        for where, more in (('pool.f32', ('--backend', spec)), ('arena.f32', ARENA + ('--backend', spec, '--hold', '1', '--hashes',
                                                                                      '--events', path('mixed.ev')))):
            answers.append(good('run', '--preset', 'tiny-qwen2', *run_it, '--logits', path(where), '--json', *more).json)
        with open(path('pool.f32'), 'rb') as a, open(path('arena.f32'), 'rb') as b:
            check(a.read() == b.read(), spec)
        d = answers[1]
        equal((d['findings'], d['confirmed'], d['arena']['broken'], d['arena']['exec']['stale_writes']), (0, 0, [], 0), spec)
        copied = [r['copied'] for r in d['arena']['runs']]
        equal(len(set(copied[1:])), 1, spec)
        check((copied[1] > 0) == (spec != 'deferred'), spec, copied)
        equal([r['system_allocs'] for r in d['arena']['runs']][2:], [0, 0, 0], spec)
        check('No findings' in good('check', path('mixed.ev')).out, spec)


@test
def help_names_every_fault_of_arenas():
    for command in 'run', 'play':
        text = good(command, '--help').out
        for n in range(1, 21):
            check(re.search(r'(?m)^  a%d +\w' % n, text), command, n)


@test
def each_fault_breaks_its_invariant_first():
    where = chain()
    for n in (1, 4, 5, 6, 7):  # a2 and a3 need two holders: tests/test-session-arena.c
        answer = run('run', where, FILL, '--times', '3', '--refill', '--hold', '1', '--inputs', 'borrow', '--json', *ARENA,
                     '--fault', 'a%d' % n)
        words = {1: 'is also that of io slot', 4: 'clear changed the bytes', 5: 'has the same block', 6: 'memory that a caller owns',
                 7: 'lies elsewhere'}[n]
        check('the arenas: ' in answer.err and words in answer.err, n, answer.err)
        check(answer.status in (1, 2), n, answer.err)  # 2: the run came to its end early, as such runs may
        if answer.status == 1:
            check(n in answer.json['arena']['broken'], n, answer.json['arena'])


@test
def the_runs_and_scenarios_that_show_a_fault_show_it():
    where = os.path.join(os.environ['PSC_SOURCE_ROOT'], 'traces', 'samples')
    model = ('run', '--preset', 'tiny-qwen2', '--tokens', '5', '-n', '4', *ARENA, '--hold', '2', '--hashes', '--json')
    two = ('run', os.path.join(where, 'two-outputs.json'), '--fill', 'x=1,2,3,4,5,6,7,8', '--times', '3', '--refill', *ARENA,
           '--hold', '1', '--json')
    right = good(*model).json
    for run_it, faults in (
            (model, {'a1': 1, 'a4': 4, 'a5': 5, 'a7': 7, 'a11': 0, 'a12': 9, 'a13': 9, 'a16': 3, 'a18': 0, 'a20': 9}),
            (two, {'a2': 2, 'a3': 3}), (model + ('--inputs', 'borrow'), {'a6': 6}), (model + ('--exec-cap', '100'), {'a17': 3})):
        equal(good(*run_it).json['arena']['broken'], [])
        for fault, invariant in faults.items():
            answer = run(*run_it, '--fault', fault, '--events', path('shown.ev'))
            check(answer.status in (1, 2), fault, answer.err)
            found = [b['invariant'] for b in run('check', path('shown.ev'), '--json').json.get('invariants', [])]
            check(invariant in found, fault, found, answer.err)
    text = run(*model, '--fault', 'a1').err
    check('the workspace of #58 logits writes 2.00 KiB over #58 logits (exec slot 3), an output that the host reads' in text, text)
    for fault in 'a8', 'a9':
        check(good(*model, '--fault', fault).json['arena']['exec']['blocks'] > right['arena']['exec']['blocks'], fault)
    cap = ('--exec-cap', '5000')
    found = good(*model, *cap, '--fault', 'a10').json['arena']['exec']
    check(found['reused'] != good(*model, *cap).json['arena']['exec']['reused'], found)
    answer = run(*model, '--verify', '--fault', 'a19')
    equal(answer.status, 1)
    check(answer.json['verified']['computed'] >= 4 and not answer.json['verified']['memory'], answer.json['verified'])
    play = ('play', os.path.join(where, 'arenas-shutdown.json'), '--json')
    equal(good(*play).json['arena']['broken'], [])
    for fault in 'a14', 'a15':
        for mode in 'hardened', 'upstream':
            answer = run(*play, '--fault', fault, '--mode', mode)
            equal((answer.status, answer.json['arena']['broken']), (1, [8]), (fault, mode))
            check('io arena' in answer.err and 'gone' in answer.err, answer.err)


@test
def check_says_which_invariants_broke_and_where():
    where, events = chain(), path('broken.ev')
    run('run', where, FILL, '--times', '3', '--hold', '2', '--refill', '--json', *ARENA, '--fault', 'a4', '--events', events)
    text = good('check', events, status=1).out
    check('Invariant 4, clear leaves lent blocks alone, does not hold from position' in text, text)
    check('(run 1 is over)' in text, text)
    broken = good('check', events, '--json', status=1).json['invariants']
    equal([b['invariant'] for b in broken], [4])
    check(broken[0]['position'] > 3 and 'io slot' in broken[0]['text'], broken)
    right = path('right.ev')
    good('run', where, FILL, '--times', '3', '--hold', '2', '--json', *ARENA, '--events', right)
    check('invariants' not in good('check', right, '--json').json)


@test
def roles_that_stay_put_an_output_into_the_wrong_arena():
    two = save(graph('''
        0 x input 64
        1 y silu 64 < 0
        2 t silu 64 < 1
        3 z silu 64 < 2
    ''', [1, 3]))
    answer = run('run', two, FILL, '--json', *ARENA, '--fault', 'a12')
    equal(answer.status, 2)
    check('lies in the io arena, it belongs into the exec arena' in answer.err, answer.err)
    good('run', two, FILL, '--json', *ARENA)


@test
def what_does_not_go_together_is_refused():
    where = chain()
    for options, words in [
        (('--hold', '2'), 'give --memory arena'),
        (('--trim',), 'give --memory arena'),
        (('--fault', 'a4'), 'give --memory arena'),
        (('--io-cap', '5'), 'give --memory arena'),
        (ARENA + ('--planner', 'naive'), 'nothing is planned'),
        (ARENA + ('--recycled', 'poisoned'), 'nothing is planned'),
        (ARENA + ('--slots', 'fifo'), 'nothing is planned: --slots says nothing'),
        (ARENA + ('--in-place', 'no'), 'nothing is planned: --in-place says nothing'),
        (ARENA + ('--fault', 'a4', '--fault', 'l1'), "nothing is planned: --fault l1 is a planner's"),
        (ARENA + ('--fault', 'a21'), 'of arenas a1 to a20'),
        (ARENA + ('--capture', 'split', '--trace', path('split.json')), 'captured after its node'),
        (ARENA + ('--align', '8'), 'from 16'),
        (ARENA + ('--backend', 'deferred', '--fault', 'l9'), 'fault l9 is a defect of staged copies'),
        (ARENA + ('--replay', 'on'), 'nothing is recorded for replay'),
        (ARENA + ('--exec-slots', '1'), 'all 1 slots of the exec arena are in use'),
        (('--memory', 'heap'), 'pool or arena'),
    ]:
        answer = run('run', where, FILL, '--json', *options)
        equal(answer.status, 2, (options, answer.err))
        check(words in answer.err, options, answer.err)


def play(*more, status=0, events=None):
    where = save({'format': 'memplan-arena', 'version': 1, 'events': events or [
        {'op': 'alloc', 'arena': 'io', 'h': 'y', 'bytes': 64}, {'op': 'write', 'h': 'y', 'value': 'v'},
        {'op': 'export', 'h': 'y', 'as': 'p'}, {'op': 'export', 'h': 'y', 'as': 'q'}, {'op': 'clear'},
        {'op': 'alloc', 'arena': 'io', 'h': 'z', 'bytes': 64}, {'op': 'alloc', 'h': 't', 'bytes': 32}, {'op': 'free', 'h': 't'},
        {'op': 'read', 'as': 'p', 'expect': 'v'}, {'op': 'drop', 'as': 'p'}]}, 'play.json')
    return run('play', where, *more) if status is None else good('play', where, *more, status=status)


@test
def a_scenario_is_played_with_faults_and_in_another_mode():
    equal(play('--json').json['arena']['broken'], [])
    for n in (1, 2, 3, 4, 5, 7):
        d = play('--json', '--fault', 'a%d' % n, status=1).json
        check(n in d['arena']['broken'], n, d)
    stale = [{'op': 'alloc', 'h': 'a', 'bytes': 64}, {'op': 'free', 'h': 'a'}, {'op': 'alloc', 'h': 'b', 'bytes': 64},
             {'op': 'free', 'h': 'a'}, {'op': 'alloc', 'h': 'c', 'bytes': 64}]
    hardened = play('--json', events=stale, status=1).json['arena']
    upstream = play('--json', '--mode', 'upstream', events=stale, status=1).json['arena']
    equal((hardened['buffers'], hardened['broken']), (2, []))
    equal(upstream['buffers'], 1, 'the stale ticket freed the block of its new owner')
    check(3 in upstream['broken'], upstream)
    answer = play('--fault', 'a21', status=None)
    equal(answer.status, 2)
    check('a1 to a20' in answer.err, answer.err)
    other = save({'format': 'memplan-sched', 'version': 1, 'queues': [], 'buffers': [], 'commands': []}, 'sched.json')
    answer = run('play', other, '--mode', 'upstream')
    equal(answer.status, 2)
    check('scenarios of arenas' in answer.err, answer.err)


@test
def owners_are_shown():
    d = play('--json').json['arena']['blocks']
    equal([(b['arena'], b['state'], b['owner'], b['holders'], b['value'] if b['state'] != 'free' else '') for b in d],
          [('exec', 'free', 'nobody', 0, ''), ('io', 'leased', 'lease', 1, 'y'), ('io', 'live', 'tensor', 0, 'z')])
    text = play().out
    check('a lease' in text and 'tensor' in text, text)


if __name__ == '__main__':
    main()
