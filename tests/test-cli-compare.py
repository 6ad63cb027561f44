#!/usr/bin/env python3
"""compare and diff through the command line: every planner beside the others, and two plans beside each other."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403

METAL = sample('samples/qwen2.5-0.5b-metal.json')
PLANNERS = re.findall(r'^\s+\{"([\w-]+)", "', open(os.path.join(SOURCE, 'core', 'plan', 'planners.c')).read(), re.M)
ARENAS = ['best-fit', 'linear-scan', 'greedy-size', 'greedy-breadth', 'optimal']
SMALL = '''
    0 x input 8
    1 gate matmul 64 < 0
    2 up matmul 64 < 0
    3 mul swiglu 64 < 1 2
    4 down matmul 8 < 3
'''
BOXES = 'id,lower,upper,size\na,0,9,4\nb,0,3,4\nc,3,9,4\n'


def contenders(*args, status=0):
    return {p['planner']: p for p in good('compare', *args, '--json', status=status).json['planners']}


@test
def all_planners_are_clean_on_the_sample_of_440_nodes():
    answer = contenders(METAL)
    equal(list(answer), PLANNERS, 'planners of the table')
    check(len(PLANNERS) >= 8, PLANNERS)
    for name, p in answer.items():
        equal(p['findings'], [], name)
        equal(p['reason'], None, name)
        check(p['ms'] > 0 and p['runs'] > 0, name, p['ms'])
        f = p['figures']
        equal(f['nodes'], 440)
        equal(f['reserved_bytes'], f['lower_bound_bytes'] + f['padding_at_peak_bytes'] + f['holes_bytes'], name)
        equal(f['reserved_bytes'], f['pool_bytes'], name)
        check(abs(f['ratio'] - f['reserved_bytes'] / f['lower_bound_bytes']) < 1e-6, name, f['ratio'])
        own = good('plan', METAL, '--planner', name, '--json').json
        equal({k: f[k] for k in own['figures']}, own['figures'], f'{name}: the figures of plan')


@test
def people_get_one_table_sorted_by_bytes():
    out = good('compare', METAL).out
    for heading in ('buffers', 'bytes reserved', 'peak live', 'lower bound', 'padding', 'holes', 'in place', 'time'):
        check(heading in out, heading, out)
    rows = [line.split() for line in out.splitlines() if line.split() and line.split()[0] in PLANNERS]
    equal(sorted(r[0] for r in rows), sorted(PLANNERS))
    sizes = [int(r[2].replace(',', '')) for r in rows]
    equal(sizes, sorted(sizes))
    check(all(r[-1] == 'clean' for r in rows), rows)
    check(max(map(len, out.splitlines())) <= 130, 'lines are too long')


@test
def the_list_says_who_and_with_which_options():
    equal(list(contenders(METAL, '--planners', 'optimal,pool')), ['optimal', 'pool'])
    answer = contenders(METAL, '--planners', 'pool,pool+exact,optimal+apart')
    check(answer['pool+exact']['figures']['pool_bytes'] < answer['pool']['figures']['pool_bytes'])
    equal(answer['optimal+apart']['figures']['in_place'], 0)
    equal(contenders(METAL, '--planners', 'pool', '--size', 'exact')['pool']['figures'], answer['pool+exact']['figures'])
    for bad in ('poool', 'pool,pool', 'pool,', ',', 'pool+', 'x' * 200):
        answer = run('compare', METAL, '--planners', bad)
        equal(answer.status, 2, bad)
        check('planner' in answer.err, answer.err)
    equal(list(contenders(METAL, '--planners', 'all')), PLANNERS)


@test
def a_plan_that_goes_wrong_is_named_and_counts():
    answer = run('compare', METAL, '--planners', 'pool,optimal', '--order', 'topological', '--slots', 'fifo')
    equal(answer.status, 1)
    check('1 finding' in answer.out and 'pool: #425 attn writes' in answer.out, answer.out)
    answer = contenders(METAL, '--planners', 'pool,pool+fifo+topological', status=1)
    equal([len(p['findings']) for p in answer.values()], [0, 1])
    equal(answer['pool+fifo+topological']['findings'][0]['victim'], 416)


@test
def who_cannot_is_told_why():
    where = save(BOXES, 'boxes.csv')
    answer = contenders(where)
    equal(list(answer), PLANNERS)
    for name, p in answer.items():
        equal(p['figures'] is None, name not in ARENAS, name)
        check(name in ARENAS or 'list of boxes' in p['reason'], p['reason'])
        check(name not in ARENAS or p['figures']['pool_bytes'] >= 8, p)
    equal(answer['optimal']['figures']['lower_bound_bytes'], 8)
    out = good('compare', where).out
    check('cannot, see below' in out and 'pool cannot:' in out, out)
    nobody = run('compare', where, '--planners', 'pool,naive')
    equal(nobody.status, 2)
    check('boxes.csv: nobody asked can plan phase 0: ' in nobody.err and ' plans graphs, ' in nobody.err, nobody.err)
    answer = contenders(where, '--planners', 'best-fit,optimal', '--capacity', '8')
    check(answer['optimal']['figures'] is not None)
    answer = run('compare', where, '--planners', 'optimal', '--capacity', '7')
    equal(answer.status, 2)
    check('at least 8 bytes' in answer.out, answer.out)


@test
def expressions_are_compared_by_generation():
    answer = contenders('--expr', '(a + b) * 2')
    equal({n: [f['kind'] for f in p['findings']] for n, p in answer.items() if p['findings']}, {'candela+0.1': ['K10']},
          'only 0.1 wastes a buffer, which is listed and counts not')
    check('1 finding' in good('compare', '--expr', '(a + b) * 2').out)
    clean = {n: p for n, p in answer.items() if p['figures']}
    equal(sorted(clean), ['candela+0.1', 'candela+0.2', 'candela+arena', 'candela+hardened'])
    equal({n: p['figures']['pool_bytes'] for n, p in clean.items()},
          {'candela+0.1': 32, 'candela+0.2': 16, 'candela+arena': 16, 'candela+hardened': 16})
    check(all('is no graph' in p['reason'] for n, p in answer.items() if n not in clean), answer)
    wrong = contenders('--expr', 'a = [10, 10, 10, 10]; b = [3, 3, 3, 3]; a - (b + 0)', '--fault', 'b1', status=1)
    check('K9' in [f['kind'] for f in wrong['candela+hardened']['findings']], wrong)


@test
def every_command_counts_the_memory_of_an_expression_alike():
    # what its plan asks for: leaves and caches are their owners'
    for text in ('(a + b) * 2', 'a', '(a + b) * (a - b) + a * b', 'cache(a + b) * 2 + cache(a + b)', 'baked(a + b) * 2',
                 'sum(transpose(a) * b)'):
        by_name = {p['planner']: p['figures'] for p in run('compare', '--expr', text, '--json').json['planners']}
        for generation in ('hardened', '0.1', '0.2', 'arena'):
            plan = run('plan', '--expr', text, '--generation', generation, '--json').json
            slots = len({s['slot'] for s in plan['steps'] if 'slot' in s})
            figures = by_name['candela+' + generation]
            equal(run('check', '--expr', text, '--generation', generation, '--json').json['figures'],
                  {'buffers': slots, 'peak_live_bytes': plan['peak']}, (text, generation, 'check'))
            equal((figures['buffers'], figures['peak_live_bytes'], figures['reserved_bytes']), (slots, plan['peak'], plan['bytes']),
                  (text, generation, 'compare'))
            to = run('diff', '--expr', text, '--from', 'hardened', '--to', generation, '--json').json['b']
            equal((to['peak_bytes'], to['reserved_bytes']), (figures['lower_bound_bytes'], plan['bytes']), (text, generation, 'diff'))


@test
def presets_models_and_what_a_file_brings():
    equal(list(contenders('--preset', 'tiny-qwen2', '--tokens', '3')), PLANNERS)
    good('export', METAL, '-o', path('mine.json'), '--format', 'minfer-trace', '--mode', 'hardened')
    answer = contenders(path('mine.json'))
    equal(list(answer), ['file'] + PLANNERS)
    equal(answer['file']['ms'], None)
    equal(answer['file']['figures']['pool_bytes'], contenders(METAL, '--planners', 'pool+hardened')['pool+hardened']['figures']['pool_bytes'])
    good('plan', METAL, '--planner', 'naive', '--json')
    save(good('plan', METAL, '--planner', 'naive', '--json').out, 'naive.json')
    equal(contenders(METAL, '--plan', path('naive.json'))['file']['figures']['buffers'], 368)
    equal(contenders(METAL, '--phase', 'decode', '--planners', 'pool')['pool']['figures']['nodes'], 305)
    for bad in ((), ('no-such-file',), (METAL, '--phase', '9'), (METAL, '--planner', 'pool')):
        equal(run('compare', *bad).status, 2, bad)


# ---- diff -----------------------------------------------------------------------------------------------

def diff(*args, status=1):
    d = good('diff', *args, '--json', status=status).json
    equal(sum(p['bytes'] for p in d['peak']['parts']) + d['peak']['elsewhere'], d['peak']['bytes'], 'the parts')
    equal(d['peak']['bytes'], d['b']['peak_bytes'] - d['a']['peak_bytes'])
    equal(d['same'], status == 0)
    return d


@test
def the_same_is_status_0_other_is_1_trouble_is_2():
    where = save(graph(SMALL, [4]))
    equal(diff(where, where, status=0)['differences'], [])
    check('each at the same bytes' in good('diff', METAL, sample('samples/qwen2.5-0.5b-per-node.json')).out)
    diff(where, '--from', 'naive', '--to', 'optimal')
    for bad in ((where,), (where, 'no-such-file'), (where, where, where), (where, '--to', 'poool'), (where, where, '--phase', '3'),
                (where, '--from', 'file', '--to', 'pool'), (where, where, '--graph', where)):
        answer = run('diff', *bad)
        equal(answer.status, 2, bad)
        check(answer.err.startswith('planscope-cli: '), answer.err)
    check('0 the same, 1 they differ, 2 trouble' in good('diff', '--help').out)


@test
def a_merge_in_place_explains_the_peak():
    where = save(graph(SMALL, [4]))
    d = diff(where, '--from', 'optimal+apart', '--to', 'optimal')
    equal(d['peak']['bytes'], -256)
    equal([(p['a'], p['b'], p['bytes'], p['why']) for p in d['peak']['parts']], [(1, 1, -256, 'taken over')])
    by = {n['a']: n for n in d['differences']}
    check('alias changed' in by[3]['changes'], by[3])
    check('in place over #1 gate' in by[3]['text'], by[3]['text'])
    equal(by[3]['from']['length'], 256)
    out = good('diff', where, '--from', 'optimal+apart', '--to', 'optimal', status=1).out
    check('The peak falls by 256 bytes' in out and '#1 gate: taken over in place by #3 swiglu' in out, out)


@test
def ids_do_not_matter_names_and_shapes_do():
    where = save(graph(SMALL, [4]))
    g = graph(SMALL, [4])
    for node in g['nodes']:
        node['id'] += 1000
        node['src'] = [s + 1000 for s in node['src']]
    g['inputs'], g['outputs'] = [1000], [1004]
    other = save(g, 'other.json')
    equal(diff(where, other, status=0)['pairs'], 5)
    g['nodes'][2]['shape'] = g['nodes'][1]['shape'] = g['nodes'][3]['shape'] = [128, 1, 1, 1]
    d = diff(where, save(g, 'other.json'))
    equal({n['name']: n['changes'] for n in d['differences'] if 'grew' in n['changes']}.keys(), {'gate', 'up', 'swiglu'})
    equal([(n['a'], n['b']) for n in d['differences'] if n['name'] == 'up'], [(2, 1002)])
    longer = graph(SMALL.replace('4 down matmul 8 < 3', '4 extra silu 64 < 3\n5 down matmul 8 < 4'), [5])
    d = diff(where, save(longer, 'longer.json'))
    equal([(n['a'], n['b'], n['name']) for n in d['differences'] if 'new' in n['changes']], [(None, 4, 'extra')])
    equal(d['counts']['gone'], 0)


@test
def plan_files_stand_for_their_graph():
    a, b = save(good('plan', METAL, '--json').out, 'a.json'), save(good('plan', METAL, '--planner', 'best-fit', '--json').out, 'b.json')
    equal(diff(METAL, a, status=0)['counts']['moved'], 0)
    equal(diff(a, METAL, status=0)['counts']['moved'], 0)
    check(diff(a, b, '--graph', METAL)['counts']['moved'] > 100)
    check('--graph FILE' in run('diff', a, b).err)
    equal(run('diff', METAL, a, '--to', 'pool').status, 2)
    bare = save({'placements': json.loads(open(a).read())['placements']}, 'bare.json')
    equal(diff(METAL, bare, status=0)['counts']['moved'], 0)
    packed = diff(METAL, '--from', 'pool', '--to', 'best-fit')
    equal(diff(METAL, b)['counts'], packed['counts'], 'buffers keep their names in a file')
    equal({n['to']['buffer'] for n in diff(METAL, b)['differences']}, {'arena.metal'})


@test
def offsets_of_a_file_take_part():
    solved = save('id,lower,upper,size,offset\na,0,3,4,0\nb,0,3,4,2\n', 'solved.csv')
    answer = contenders(solved, status=1)
    equal((len(answer['file']['findings']), answer['optimal']['figures']), (1, None))
    equal(answer['file']['figures']['reserved_bytes'], 6)
    check('file' not in contenders(save(BOXES, 'boxes.csv')))


@test
def boxes_expressions_and_presets_have_differences_too():
    where = save(BOXES, 'boxes.csv')
    diff(where, where, status=0)
    d = diff(where, save(BOXES.replace('c,3,9,4', 'c,2,9,4'), 'other.csv'))
    check(d['peak']['bytes'] == 4, d['peak'])
    people = run('diff', where, save(BOXES.replace('c,3,9,4', 'c,2,9,4'), 'other.csv')).out
    check(re.search(r'from \d+ bytes held (at|just before) time \d+ to \d+ bytes (at|just before) time \d+[.]', people), people)
    d = diff('--expr', '(a + b) * 2', '--from', '0.1', '--to', 'hardened')
    equal(d['b']['reserved_bytes'] - d['a']['reserved_bytes'], -16)
    equal((d['a']['compared_at'], d['b']['compared_at']), (3, 3), 'the step that was decided otherwise is the same step')
    equal(run('diff', '--expr', '(a + b) * 2', '--from', '0.9', '--to', 'hardened').status, 2)
    diff('--preset', 'tiny-qwen2', '--from', 'pool', '--to', 'pool', status=0)
    good('diff', '--preset', 'tiny-qwen2', '--from', 'pool', '--to', 'optimal', '--phase', 'decode', status=1)


if __name__ == '__main__':
    main()
