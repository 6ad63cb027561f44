#!/usr/bin/env python3
"""Expressions through the command line: planned, checked, drawn and run, typed or from a file."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403

PACKER = 't = transpose([[1, 2], [3, 4]])\nc = as_contiguous(t)\ns = t + 1\nr = c + s\n'


def lazy_file(text, name='x.lazy'):
    path = os.path.join(os.path.dirname(save({})), name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


@test
def positions_count_leaves_and_a_chain_needs_one_buffer():
    plan = run('plan', '--expr', '(a + b) * 2', '--json').json
    equal([s['position'] for s in plan['steps']], [0, 1, 2, 3])
    equal([s['decision'] for s in plan['steps']], ['leaf', 'leaf', 'allocate', 'in place'])
    equal((plan['allocations'], plan['bytes'], plan['peak']), (1, 16, 16))
    equal(run('run', '--expr', '(a + b) * 2', '--json').json['values'], [22.0, 44.0, 66.0, 88.0])


@test
def a_generation_before_in_place_needs_two():
    equal(run('plan', '--expr', '(a + b) * 2', '--json', '--generation', '0.1').json['allocations'], 2)


@test
def faults_are_found_and_go_wrong_as_documented():
    right = 'a = [10, 10, 10, 10]; b = [3, 3, 3, 3]; a - (b + 0)'
    equal(run('run', '--expr', right, '--json').json['values'], [7.0] * 4)
    equal(run('run', '--expr', right, '--json', '--fault', 'b1').json['values'], [-7.0] * 4)
    equal(run('check', '--expr', right).status, 0)
    equal(run('check', '--expr', right, '--fault', 'b1').status, 1)
    answer = run('run', '--expr', PACKER, '--fault', 'b3')
    equal(answer.status, 2)
    check('reads a tensor that has no buffer: c' in answer.err, answer.err)


@test
def check_names_the_cause_of_what_the_checker_cannot_see():
    cases = [
        ('b2', 'r = ones(4) - 3', 'K9', 'step 1, r gives 4 where -2 is right (element 0): it computes + where - is written.'),
        ('b6', 't = a + b; r = t * 2', 'K10', 'it is the last to read t and could write over it'),
        ('b7', 't = a + b; v = view(t, 4); r = t - v', 'K9', 'its other operand, v, lies in the same bytes'),
        ('b8', 's = [[1,2,3],[4,5,6]] + zeros(2,3); t = transpose(s); r = t + 1', 'K9', 't is not packed'),
        ('b10', 'r = matmul([[1, 2]], [[3], [4]])', 'K9', 'for a transposed one'),
        ('b14', 't = transpose([[1,2],[3,4]]); n = noop(t); k = as_contiguous(n); r = k + n', 'K9', 'n stands for t, which itself'),
        ('b17', 't = a + b; v = view(t, 2, 2); r = v * 2', 'K9', 't still holds them'),
        ('cl2', 't = transpose(view(arange(6), 3, 2)); k = as_contiguous(t); v = transpose(t); r = v + transpose(k)', 'K9',
         'it shows the bytes of k, which are packed, with the strides they had before'),
        ('cl4', 't = a + b; v = view(t, 2, 2); w = view(t, 2, 2); m = matmul(w, w); u = v + m; r = sum(u)', 'K9',
         'step 5 read it last, but it is given back only after step 6'),
    ]
    for fault, text, kind, words in cases:
        answer = run('check', '--expr', text, '--fault', fault, '--json')
        equal(answer.status, 1)
        found = answer.json['findings']
        equal([f['kind'] for f in found], [kind])
        check(words in found[0]['text'], f'{fault}: {found[0]["text"]}')
        equal(found[0]['confidence'], 'proved')
        people = run('check', '--expr', text, '--fault', fault)
        check(words in people.out and kind in people.out, people.out)
        equal(run('check', '--expr', text).status, 0)


@test
def a_file_opens_as_a_document():
    path = lazy_file('# lazy 0.2 b3\n' + PACKER)
    equal(run('check', path).status, 1)
    equal(run('check', lazy_file(PACKER)).status, 0)
    equal(run('run', lazy_file(PACKER), '--json').json, {'name': 'r', 'shape': [2, 2], 'values': [3.0, 7.0, 5.0, 9.0]})
    picture = os.path.join(os.path.dirname(path), 'x.svg')
    equal(run('render', path, '-o', picture).status, 0)
    check(os.path.getsize(picture) > 1000, 'an empty picture')
    check('expression' in run('info', path).out, 'the phase has no kind')


@test
def steps_of_a_level_run_beside_each_other_wherever_a_plan_is_listed_or_run():
    text = 't = a + b; v = matmul(view(t, 2, 2), view(t * 2, 2, 2)); w = t - 3; r = sum(v) + sum(w)'
    listed, by_level = (run('run', '--expr', text, '--json', *words) for words in ([], ['--level']))
    equal((by_level.status, by_level.json), (0, listed.json))
    plan = good('plan', '--expr', text, '--level', '--json').json
    equal(plan['executor'], 'level')
    equal(good('plan', '--expr', text, '--json').json['executor'], 'serial')
    lines = good('plan', '--expr', text, '--level').out.split('beside each other:\n')[1].split('\n\n')[0].split('\n')
    told = {name: level for level, line in enumerate(lines) for name in line.split(': ')[1].split(', ')}
    equal(told, {s['name']: s['level'] for s in plan['steps']})
    check(len(lines) < len(plan['steps']), lines)
    words = 'carried out so as well: every step gives what it gives one by one'
    for command in ('info', 'check'):
        check(words in good(command, '--expr', text, '--level').out, command)
        check(words not in good(command, '--expr', text).out, command)
    for command in ('compare', 'diff', 'export', 'render'):
        more = {'compare': ['--planners', 'candela+arena'], 'diff': ['--from', 'hardened', '--to', 'hardened'],
                'export': ['-o', '-', '--format', 'plan'], 'render': ['-o', os.path.join(os.path.dirname(save({})), 'x.svg')]}[command]
        equal(good(command, '--expr', text, '--level', *more).status, 0)
    equal(run('run', lazy_file('# lazy level\n' + PACKER), '--json').json['values'], [3.0, 7.0, 5.0, 9.0])
    answer = run('run', '--expr', PACKER, '--level', '--fault', 'b3')
    equal(answer.status, 2)
    for planner in ([], ['--planner', 'candela']):
        answer = run('plan', sample('qwen2.5-0.5b-metal.json'), *planner, '--level')
        equal(answer.status, 2)
        check("'level' is for expressions: --expr TEXT or a .lazy file\n" in answer.err, answer.err)


@test
def an_expression_is_told_about_and_exported():
    told = good('info', '--expr', PACKER, '--generation', '0.2').out
    check(told.startswith('expression\nFormat    lazy\n') and 'generation 0.2' in told, told)
    equal(good('info', '--expr', PACKER, '--json').json['phases'][0]['kind'], 'expression')
    trace = os.path.join(os.path.dirname(lazy_file(PACKER)), 'events.json')
    good('export', '--expr', PACKER, '-o', trace, '--format', 'minfer-trace', '--generation', 'arena')
    equal(run('check', trace).status, 0)
    plan = good('export', '--expr', PACKER, '-o', '-', '--format', 'plan', '--generation', 'arena', '--pretty').json
    equal(plan, good('plan', '--expr', PACKER, '--generation', 'arena', '--json').json)
    for kind in ('csv', 'minimalloc', 'minfer-graph'):
        answer = run('export', '--expr', PACKER, '-o', '-', '--format', kind)
        equal((answer.status, answer.out), (2, ''))
        check('it is an expression: --format plan, or minfer-trace' in answer.err, answer.err)
    equal(run('info', '--expr', 'a +').status, 2)


@test
def what_is_baked_is_one_step_with_a_plan_of_its_own():
    text = 'x = slot(4); y = slot(4); f = (x + 1) * y; g = baked(f, a, b); r = g - a'
    equal(run('run', '--expr', text, '--json').json['values'], [19.0, 58.0, 117.0, 196.0])
    steps = run('plan', '--expr', text, '--json').json['steps']
    equal([(s['name'], s['decision']) for s in steps], [('a', 'leaf'), ('b', 'leaf'), ('g', 'baked'), ('r', 'allocate')])
    equal(steps[2]['inputs'], [steps[0]['id'], steps[1]['id']], 'as they are written')
    equal(run('check', '--expr', text).status, 0)
    answer = run('check', '--expr', 'x = slot(4); f = a - (x + 0); baked(f, b) + 1', '--fault', 'b1', '--json')
    equal([f['kind'] for f in answer.json['findings']], ['K9'])
    # a slice that is packed already is only referenced: it begins later in its buffer
    for given in ('as_contiguous(slice(a, 1, 3))', 'view(as_contiguous(slice([[1, 2], [3, 4]], 1, 2)), 2)'):
        for body, right in (('x + 1', [1, 1]), ('view(x, 2, 1)', [0, 0]), ('noop(x) * x', None)):
            text = f'g = {given}; x = slot(2); f = {body}; baked(f, g)'
            first = run('run', '--expr', f'g = {given}; g + 0', '--json').json['values']
            want = [v * v for v in first] if right is None else [v + r for v, r in zip(first, right)]
            equal(good('run', '--expr', text, '--json').json['values'], want, text)
            equal(good('check', '--expr', text, '--json').json['findings'], [], text)
    answer = run('plan', '--expr', 'x = slot(2); f = x + 1\nbaked(f, slice(a, 1, 3))')
    check('lies otherwise; as_contiguous packs it' in answer.err, answer.err)
    answer = run('plan', '--expr', 'x = slot(2); f = x + 1\nbaked(f, [1, 2, 3])')
    equal(answer.status, 2)
    check('expression:2:1: baked: ' in answer.err and 'is for slot x, [2]: it is [3]' in answer.err, answer.err)


@test
def slots_make_a_skeleton():
    text = 'x = slot(2, 2); y = slot(2, 2); r = (transpose(x) + 1) * y'
    check('A skeleton over y [2x2], x [2x2]' in run('plan', '--expr', text).out, 'the slots are not named')
    equal(run('run', '--expr', text, '--json').json['values'], [20.0, 80.0, 90.0, 200.0])
    equal(run('check', '--expr', text).status, 0)
    equal(run('run', '--expr', 'slot(4)', '--json').json['values'], [1.0, 2.0, 3.0, 4.0])


@test
def mistakes_name_line_and_column():
    answer = run('plan', lazy_file('a + b\na + $\n'))
    equal(answer.status, 2)
    check('x.lazy:2:5: ' in answer.err, answer.err)
    equal(run('plan', '--expr', 'ones(3) + ones(4)').status, 2)
    answer = run('plan', lazy_file('# lazy 0.2 b3 levl\na + b\n'))
    check("x.lazy:1:15: 'levl' is no generation" in answer.err, answer.err)
    check('whole numbers' in run('plan', '--expr', 'ones(1.5)').err, 'ones(1.5)')
    check('along axis 4' in run('plan', '--expr', 'slice(a, 0, 1, 4294967296)').err, 'an axis that wraps')
    equal(run('plan', '--expr', 'a + b', '--mode', 'hardened').status, 2)
    equal(run('plan', '--expr', 'a + b', 'file.json').status, 2)


main()
