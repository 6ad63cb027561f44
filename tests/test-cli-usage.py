#!/usr/bin/env python3
"""The command line as the manual states it: usage, exit statuses, budgets, formats in and out, pictures."""
import collections
import csv
import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import unicodedata
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403

METAL = sample('samples/qwen2.5-0.5b-metal.json')
COMMANDS = ('info', 'plan', 'check', 'export', 'render', 'model')

SMALL = '''
    0 x input 8
    1 a scale 8 < 0
    2 b matmul 8 < 1
    3 c matmul 8 < 1
    4 y add 8 < 3 2
'''


def wrong(*args):
    answer = run(*args)
    equal((answer.status, answer.out), (2, ''), f'{args}')
    check(answer.err.startswith('planscope-cli: ') and answer.err.count('\n') == 1, answer.err)
    return answer.err


@test
def help_and_version_succeed():
    version = good('--version').out
    check(version.startswith('planscope-cli 0.1.0\n'), version)
    equal([line.split()[0] for line in version.splitlines()[2:]], ['cpu', 'metal', 'cuda', 'deferred', 'cuda-shim'])
    check(re.search(r'cuda +(compiled without CUDA|this machine has no|the CUDA runtime finds no|executes here)', version), version)
    phase = {command: next((line for line in good(command, '--help').out.splitlines() if '--phase' in line), '')
             for command in COMMANDS}
    equal([c for c in COMMANDS if 'default 0' in phase[c]], ['plan', 'render'])
    equal([c for c in COMMANDS if 'default all' in phase[c]], ['check'])
    check(all(c in good('--help').out for c in COMMANDS))
    for command in COMMANDS:
        text = good(command, '--help').out
        check(text.startswith(f'usage: planscope-cli {command} FILE') and 'Exit status' in text, text)
        equal(good('help', command).out, text)


@test
def help_of_every_command_fits_a_line_and_lists_what_it_takes():
    listed = good('--help').out.split('Commands:\n')[1].split('\n\n')[0]
    commands = [line.split()[0] for line in listed.splitlines()]
    check(set(COMMANDS) < set(commands) and len(commands) >= 10, commands)
    presets = []
    for command in ('', *commands):
        text = good(*([command] if command else []), '--help').out
        wide = [line for line in text.splitlines() if len(line) > 110]
        equal(wide, [], command + ': too wide')
        check('Exit status' in text, command)
        equal('\nPresets (--preset):\n' in text, '\n  --preset ' in text, command)
        check('\nFaults (--fault):\n' not in text or '\n  --fault ' in text, command)
        presets += [command] * ('Presets' in text)
    check('run' in presets and 'plan' in presets and not {'play', 'kv', ''} & set(presets), presets)


@test
def mistakes_are_said_in_one_line_with_a_hint():
    where = save(graph(SMALL, [4]))
    check('--help' in wrong())
    check('did you mean check' in wrong('chek', where))
    check('did you mean --slots' in wrong('plan', where, '--slot', 'fifo'))
    check('no option of info' in wrong('info', where, '--slots', 'fifo'))
    check('needs a value' in wrong('plan', where, '--slots'))
    check('lifo' in wrong('plan', where, '--slots', 'best'))
    check('hardened' in wrong('plan', where, '--mode', 'soft'))
    check('pool' in wrong('plan', where, '--planner', 'magic'))
    check('l5' in wrong('plan', where, '--fault', 'l99'))
    check('needs a FILE' in wrong('plan'))
    check('one too many' in wrong('plan', where, where))
    check('takes no value' in wrong('plan', where, '--json=yes'))
    check('needs -o' in wrong('export', where, '--format', 'csv'))
    check('minfer-trace' in wrong('export', where, '-o', path('o')))
    check('40MiB' in wrong('check', where, '--max-peak', 'much'))
    check('no phase 3' in wrong('plan', where, '--phase', '3'))
    check('its name is empty' in wrong('plan', ''))
    check('its name is empty' in wrong('diff', where, ''))
    check('minimalloc' in wrong('export', where, '-o', path('o')))
    check('no graph: there is nothing to plan' in wrong('plan', sample('samples/arenas.json')))
    wrong('plan', where, '--phase', '-1')
    wrong('plan', where, '--phase', '99999999999999999999')
    wrong('check', where, '--plan', path('absent.json'))
    wrong('check', where, '--plan', plan_file({0: 'X'}), '--mode', 'hardened')


@test
def bytes_that_are_no_text_are_told_as_escapes():
    for args in ((b'plan', b'\xff\xfe.json'), (b'plan', b'x', b'--slots', b'fi\xc3fo'), (b'pl\x80an', b'x'),
                 (b'plan', b'x', b'--slots', ('\u00e9' * 90).encode())):
        done = subprocess.run([CLI.encode(), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal((done.returncode, done.stdout), (2, b''), args)
        err = done.stderr.decode()  # and it is UTF-8
        check(err.startswith('planscope-cli: ') and err.count('\n') == 1, err)
    check('\\xff\\xfe.json: cannot be opened' in subprocess.run([CLI.encode(), b'plan', b'\xff\xfe.json'], stderr=subprocess.PIPE).stderr.decode())


@test
def options_that_the_planner_does_not_look_at_are_refused():
    where = save(graph(SMALL, [4]))
    out = path('o.png')
    for planner, word, options in (
            ('pool', 'planners of one arena', ('--align', '64')), ('pool', 'planners of one arena', ('--capacity', '1')),
            ('naive', 'planners of one arena', ('--in-place', 'no')), ('candela', 'planners of one arena', ('--capacity', '1GiB')),
            ('pool', 'for --planner optimal', ('--work', '5')), ('best-fit', 'for --planner optimal', ('--time', '5')),
            ('optimal', 'for --planner pool', ('--slots', 'fifo')), ('best-fit', 'for --planner pool', ('--mode', 'hardened')),
            ('greedy-size', 'for --planner pool', ('--order', 'topological')), ('optimal', 'for --planner pool', ('--fault', 'l1')),
            ('candela', 'for --planner pool', ('--fault', 'l1'))):
        for command, *more in (('plan',), ('check',), ('render', '-o', out), ('export', '-o', out, '--format', 'csv'),
                               ('run', '--fill', 'x=1,2,3,4,5,6,7,8')):
            for named in ((), ) if planner == 'pool' else (('--planner', planner), ):
                err = wrong(command, where, *more, *named, *options)
                check(options[0] in err and word in err and planner in err, err)
    check(not os.path.exists(out), 'nothing was drawn')
    good('plan', where, '--planner', 'naive', '--size', 'exact')
    good('plan', where, '--planner', 'optimal', '--align', '64', '--capacity', '1GiB', '--work', '5')
    good('compare', where, '--align', '64', '--slots', 'fifo', '--work', '5')
    good('diff', where, '--to', 'optimal', '--capacity', '1GiB', '--slots', 'fifo', status=1)
    good('render', where, '-o', out, '--planner', 'optimal', '--size', '640x400')
    lazy = sample('samples/takeover.lazy')
    for command in (('plan', lazy), ('check', lazy), ('render', lazy, '-o', path('p.png')), ('plan', '--expr', 'a + b')):
        for options in (('--slots', 'fifo'), ('--planner', 'optimal'), ('--n-ctx', '5')):
            check('planned as candela plans' in wrong(*command, *options), command, options)
    check('no generation' in wrong('diff', lazy, '--to', 'optimal'))
    for command in ('plan', 'check'):
        good(command, lazy, '--max-peak', '48', '--max-buffers', '3')
        for budget in (('--max-peak', '47'), ('--max-buffers', '2')):
            check('budget' in good(command, lazy, *budget, status=3).err, command, budget)
    figures = good('check', '--expr', '(a + b) * 2', '--json').json['figures']
    equal(figures, {'buffers': 1, 'peak_live_bytes': 16}, 'leaves are the caller\'s')
    check('phase 0: 1 buffer, the budget is 0' in good('check', '--expr', '(a + b) * 2', '--max-buffers', '0', status=3).err)


@test
def of_an_option_given_twice_the_last_one_counts():
    trace = os.path.join(SOURCE, 'traces', 'samples', 'qwen2.5-0.5b-metal.json')
    equal(len(good('plan', trace, '--phase', 'decode', '--phase', '0', '--json').json['nodes']), 440)
    equal(len(good('plan', trace, '--phase', '0', '--phase', 'decode', '--json').json['nodes']), 305)
    for words, last in ((('hardened', '0.1'), '0.1'), (('0.1', 'hardened', '0.1'), '0.1'), (('0.1', '0.2', 'hardened', '0.1', '0.2'), '0.2')):
        given = [w for word in words for w in ('--generation', word)]
        equal(good('plan', '--expr', '(a+b)*2', *given, '--json').json['generation'], last)
    boxes = (trace, '--planner', 'optimal', '--json', '--capacity', '2GiB,metal=5', '--capacity', 'metal=1GiB', '--capacity', '1GiB')
    options = good('plan', *boxes).json['options']
    equal((options['capacity'], options['capacities']), (1 << 30, {'metal': 1 << 30}))
    equal(good('plan', *boxes, '--capacity', '1,073,741,825').json['options']['capacity'], (1 << 30) + 1)
    for odd in ('5,', '5,,6', ',5', '5,MiB', 'metal=5,'):
        check("'%s'" % odd in wrong('plan', trace, '--planner', 'optimal', '--capacity', odd), odd)
    faults = ['b%d' % k for k in range(1, 23)] + ['cl%d' % k for k in range(1, 5)]
    every = good('plan', '--expr', '(a+b)*2', *[w for f in faults for w in ('--fault', f)], '--json').json
    again = good('plan', '--expr', '(a+b)*2', *[w for f in 20 * faults for w in ('--fault', f)], '--json').json
    equal(every, again)
    # a hundred of one do not hide another
    many = 100 * ('--top-k', '5')
    good('run', '--preset', 'tiny-qwen2', '-p', 'x', '-n', '1', *many, '--temp', '0.5')
    where = save(graph(SMALL, [4]))
    check('-p' in wrong('run', where, *[w for k in range(100) for w in ('--fill', f'n{k}=1')], '-p', 'x'))


@test
def what_a_format_has_no_place_for_is_refused():
    where, out = save(graph(SMALL, [4])), path('nothing')
    preset = ('--preset', 'tiny-qwen2')
    for words, args in (('not --slots', (*preset, '--format', 'gguf', '--slots', 'fifo')),
                        ('not --tokens', (*preset, '--format', 'gguf', '--tokens', '5')),
                        ('not --pretty', (*preset, '--format', 'gguf', '--pretty')),
                        ('--seed is of', (*preset, '--format', 'plan', '--seed', '0')),
                        ('writes none', (where, '--format', 'minfer-graph', '--mode', 'hardened')),
                        ('for JSON', (where, '--format', 'csv', '--pretty')),
                        ('for JSON', (where, '--format', 'minimalloc', '--pretty'))):
        check(words in wrong('export', '-o', out, *args), words)
    model = path('model.gguf')
    good('export', *preset, '--format', 'gguf', '-o', model)
    check('over the model' in wrong('export', model, '-o', model, '--format', 'plan'))
    good('export', model, '-o', path('model.json'), '--format', 'plan')
    good('export', where, '-o', where, '--format', 'minfer-graph')
    check(not os.path.exists(out), 'nothing was written')


@test
def values_may_stand_behind_an_equals_sign_and_options_anywhere():
    where = save(graph(SMALL, [4]))
    right = good('plan', where, '--mode', 'hardened', '--json').out
    equal(good('plan', '--mode=hardened', '--json', where).out, right)
    equal(good('plan', '--json', '--mode=hardened', '--', where).out, right)


@test
def a_plan_has_the_documented_shape():
    d = good('plan', save(graph(SMALL, [4])), '--json').json
    check(list(d) == ['format', 'version', 'executor', 'planner', 'mode', 'options', 'figures', 'peak', 'buffers', 'nodes',
                      'copies', 'splits', 'placements'] or set(d) >= {'format', 'version', 'executor', 'planner', 'mode'}, list(d))
    equal((d['format'], d['version'], d['executor'], d['planner'], d['mode']), ('planscope-plan', 1, 'serial', 'pool', 'upstream'))
    for key in ('buffers', 'pool_bytes', 'peak_live_bytes', 'peak_tensor_bytes', 'lower_bound_bytes', 'naive_bytes',
                'padding_bytes', 'kv_bytes', 'alias_saved_bytes', 'reused', 'in_place', 'dead', 'placed', 'nodes'):
        check(isinstance(d['figures'][key], int), key)
    equal(set(d['peak']), {'at', 'contributors'})
    for key in ('id', 'name', 'backend', 'bytes', 'role'):
        check(all(key in b for b in d['buffers']), key)
    for key in ('id', 'name', 'backend', 'buffer', 'offset', 'length', 'first', 'last', 'reason', 'refused'):
        check(all(key in n for n in d['nodes']), key)
    equal(d['splits'], [{'backend': 'cpu', 'first': 0, 'last': 4}])
    equal({p['node'] for p in d['placements']}, {0, 1, 2, 3, 4})
    equal(d['figures']['nodes'], 5)


@test
def a_check_has_the_documented_shape():
    d = good('check', METAL, '--json').json
    equal(set(d), {'findings', 'planned', 'records', 'figures'})
    r = d['records']
    equal(r['total'], len(r['list']))
    equal(r['total'], r['own'] + r['overwritten'] + r['unknown'])
    for row in r['list']:
        equal(set(row), {'phase', 'step', 'node', 'verdict', 'holds', 'confidence'})
        check(row['verdict'] in ('own', 'overwritten', 'unknown') and row['confidence'] in ('proved', 'confirmed', 'possible'))
        check(row['holds'] is None or row['verdict'] == 'overwritten', row)
    g = graph(SMALL, [4])
    answer = run('check', save(g), '--plan', plan_file({0: 'X', 1: 'A', 2: 'B', 3: 'B', 4: 'C'}), '--json')
    equal(answer.status, 1)
    f = answer.json['findings'][0]
    equal(set(f), {'kind', 'confidence', 'victim', 'writer', 'reader', 'buffer', 'bytes', 'phase', 'position', 'nodes', 'text'})
    equal((f['victim'], f['writer'], f['reader'], f['bytes'], f['phase'], f['position']), (2, 3, 4, [0, 32], 0, 3))
    equal(f['nodes'], [2, 3, 4])
    equal(f['confidence'], 'proved')
    lines = run('check', save(g), '--plan', plan_file({0: 'X', 1: 'A', 2: 'B', 3: 'B', 4: 'C'})).out.splitlines()
    at = lines.index('     In small:')
    equal([line.split(':')[0].split()[0] for line in lines[at + 1:at + 4]], ['#2', '#3', '#4'])
    check(all(line.startswith('       #') for line in lines[at + 1:at + 4]) and lines[at + 1].endswith('; B [0, 32)'), lines[at:])
    check('Bytes [0, 32) of B.' in lines[at - 1], lines[at - 1])


@test
def a_written_plan_reads_back_and_is_clean():
    where = save(graph(SMALL, [4]))
    for options in ([], ['--mode', 'hardened'], ['--size', 'exact'], ['--planner', 'naive'], ['--slots', 'random:5']):
        with open(path('plan.json'), 'w', encoding='utf-8') as file:
            file.write(good('plan', where, *options, '--json').out)
        equal(good('check', where, '--plan', path('plan.json'), '--json').json['findings'], [], options)


@test
def exit_statuses_are_clean_findings_bad_and_budget():
    where = save(graph(SMALL, [4]))
    bad = plan_file({0: 'X', 1: 'A', 2: 'B', 3: 'B', 4: 'C'})
    good('check', where)
    good('check', where, '--plan', bad, status=1)
    peak = good('plan', where, '--json').json['figures']['peak_live_bytes']
    for command in ('plan', 'check'):
        good(command, where, '--max-peak', peak)
        good(command, where, '--max-peak', '1GiB')
        answer = good(command, where, '--max-peak', peak - 1, status=3)
        check('budget' in answer.err, answer.err)
        good(command, where, '--max-buffers', '100')
        good(command, where, '--max-buffers', '1', status=3)
    good('check', where, '--plan', bad, '--max-buffers', '1', status=1)


@test
def sizes_may_be_written_as_people_write_them():
    where = save(graph('0 x input 262144\n1 y matmul 262144 < 0', [1]))  # 2 MiB are live
    for right in ('2MiB', '2 MiB', '2.0MiB', '2097152', '2,097,152', '2048KiB', '2.1MB'):
        good('plan', where, '--max-peak', right)
    for low in ('1.99MiB', '2MB', '2097151', '1GB' if False else '2097KB'):
        good('plan', where, '--max-peak', low, status=3)
    for bad in ('', 'MiB', '2 XiB', '-1', '0x10', '99999999999999999999'):
        good('plan', where, '--max-peak', bad, status=2)


@test
def recorded_values_that_are_not_own_count_only_when_asked():
    good('check', METAL)
    good('check', METAL, '--require-own', status=1)
    good('check', sample('samples/qwen2.5-0.5b-per-node.json'), '--require-own')


@test
def people_are_told_what_machines_are():
    text = good('check', METAL).out
    check('No findings' in text and 'not the node\'s own' in text, text[-300:])
    check('peak_live_bytes' in good('plan', METAL).out)
    check(len(good('plan', METAL, '--nodes').out.splitlines()) > 440)
    log = good('plan', METAL, '--log').out
    check('The walk' in log and 'reuse' in log)


@test
def the_csv_has_a_line_a_node():
    where = save(graph(SMALL.replace(' a ', ' a,"b" '), [4]))
    good('export', where, '-o', path('plan.csv'), '--format', 'csv')
    with open(path('plan.csv'), newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    equal([r['id'] for r in rows], ['0', '1', '2', '3', '4'])
    equal(rows[1]['name'], 'a,"b"')


@test
def export_to_a_graph_and_back_changes_nothing():
    for phase in (0, 1):
        good('export', METAL, '--phase', phase, '-o', path('g.json'), '--format', 'minfer-graph')
        good('export', path('g.json'), '-o', path('h.json'), '--format', 'minfer-graph')
        with open(path('g.json'), 'rb') as a, open(path('h.json'), 'rb') as b:
            check(a.read() == b.read(), 'not the same bytes')
        good('export', path('g.json'), '-o', path('p.json'), '--format', 'minfer-graph', '--pretty')
        good('export', path('p.json'), '-o', path('h.json'), '--format', 'minfer-graph')
        with open(path('g.json'), 'rb') as a, open(path('h.json'), 'rb') as b:
            check(a.read() == b.read(), 'not the same bytes after pretty printing')


@test
def export_to_a_trace_keeps_steps_and_takes_a_plan_along():
    good('export', METAL, '-o', path('t.json'), '--format', 'minfer-trace')
    equal(good('info', path('t.json'), '--json').json['phases'], good('info', METAL, '--json').json['phases'])
    equal(good('check', path('t.json'), '--json').json['records'], good('check', METAL, '--json').json['records'])
    good('export', METAL, '-o', path('one.json'), '--format', 'minfer-trace', '--phase', '1')
    phases = good('info', path('one.json'), '--json').json['phases']
    equal([p['kind'] for p in phases], ['decode'])
    good('export', METAL, '-o', path('mine.json'), '--format', 'minfer-trace', '--mode', 'hardened', '--slots', 'lifo')
    right = good('plan', METAL, '--mode', 'hardened', '--slots', 'lifo', '--json').json
    mine = good('plan', path('mine.json'), '--json').json
    equal(mine['placements'], right['placements'])
    equal(mine['figures'], right['figures'])


@test
def a_plan_made_here_is_taken_along_as_a_prediction_and_proves_nothing():
    for options in (('--slots', 'fifo', '--order', 'topological'), ('--planner', 'naive'), ('--size', 'exact')):
        good('export', METAL, '-o', path('mine.json'), '--format', 'minfer-trace', *options)
        before, after = run('check', METAL, '--json', *options), run('check', path('mine.json'), '--json')
        equal(after.status, before.status, options)
        for part in ('findings', 'records', 'figures'):
            equal(after.json[part], before.json[part], f'{part} with {options}')
    equal(before.json['findings'], [])
    fifo = run('check', METAL, '--json', '--slots', 'fifo', '--order', 'topological').json
    equal([f['kind'] for f in fifo['findings']], ['K2'])


@test
def export_writes_to_stdout_and_leaves_no_half_file():
    where = save(graph(SMALL, [4]))
    equal(json.loads(good('export', where, '-o', '-', '--format', 'minfer-graph').out)['outputs'], [4])
    answer = run('export', where, '-o', path('no/such/folder.json'), '--format', 'plan')
    equal(answer.status, 2)
    answer = run('export', METAL, '-o', path('no/such/folder.json'), '--format', 'minfer-trace')
    equal(answer.status, 2)


@test
def what_cannot_be_written_is_told_with_its_reason():
    where = sample('samples/qwen2.5-0.5b-per-node.json')
    formats = [('export', where, '--format', f, '-o', '-') for f in ('minfer-graph', 'minfer-trace', 'plan', 'csv', 'minimalloc')]
    formats += [('export', '--preset', 'tiny-qwen2', '--format', 'gguf', '-o', '-')]
    answers = [('info', where), ('plan', where), ('check', where), ('diff', where, '--to', 'naive'), ('--version',), ('plan', '--help'),
               ('model', '--preset', 'tiny-qwen2'), ('play', sample('samples/arenas.json')), ('plan', '--expr', 'a + b')]
    for args in formats + answers:
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([CLI, *args], stdout=full, stderr=subprocess.PIPE)
        err = done.stderr.decode()
        equal((done.returncode, err.count('\n')), (2, 1), f'{args} {err}')
        check('stdout: ' in err and 'No space left on device' in err, args, err)


@test
def a_trace_is_exported_beside_nobody_s_file():
    """What is not there yet has a name that no other file has, and what is no file is written, not replaced."""
    save('precious', 'x.json.part')
    good('export', METAL, '-o', path('x.json'), '--format', 'minfer-trace')
    with open(path('x.json.part'), encoding='utf-8') as file:
        equal(file.read(), 'precious')
    os.mkfifo(path('pipe'))
    with open(path('copy'), 'wb') as copy:
        reader = subprocess.Popen(['cat', path('pipe')], stdout=copy)
    good('export', METAL, '-o', path('pipe'), '--format', 'minfer-trace')
    equal(reader.wait(timeout=60), 0)
    with open(path('x.json'), 'rb') as a, open(path('copy'), 'rb') as b:
        check(a.read() == b.read(), 'not the same bytes')


@test
def pictures_are_drawn_without_a_display():
    magic = {'png': b'\x89PNG', 'svg': b'<?xml', 'pdf': b'%PDF'}
    for view in ('rows', 'map', 'usage', 'kv', 'inside'):
        for kind, head in magic.items():
            out = path(f'{view}.{kind}')
            good('render', METAL, '-o', out, '--view', view, '--size', '640x400', '--at', '200')
            with open(out, 'rb') as file:
                equal(file.read(len(head)), head, out)
    good('render', METAL, '-o', path('dark.png'), '--dark', '--phase', '1', '--step', '2')
    wrong('render', METAL, '-o', path('x.gif'))
    wrong('render', METAL, '-o', path('x.png'), '--size', '10x10')
    wrong('render', METAL, '-o', path('x.png'), '--at', '99999')
    wrong('render', METAL, '-o', path('x.png'), '--step', '99')
    wrong('render', sample('samples/chain.json'), '-o', path('x.png'), '--view', 'kv')


def pixels(name):
    """(width, height, rows of 4-byte pixels) of a PNG as cairo writes them: eight bits of RGB or RGBA, not interlaced."""
    with open(name, 'rb') as file:
        data = file.read()
    at, packed = 8, b''
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            width, height, depth, colour = struct.unpack('>IIBB', data[at + 8:at + 18])
            equal(depth, 8)
        elif kind == b'IDAT':
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    step = {2: 3, 6: 4}[colour]
    raw, rows, before = zlib.decompress(packed), [], bytearray(width * step)
    for y in range(height):
        rule, row = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        if rule == 2: # ours are all written so: the difference from the row above, mostly none
            row = bytearray((a + b) & 255 for a, b in zip(row, before)) if any(row) else before
        for i in range(len(row) if rule != 2 else 0):
            left, up, corner = row[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
            guess = left + up - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[i] = row[i] + (0, left, up, (left + up) // 2, paeth)[rule] & 255
        rows.append(rows[-1] if rows and row is before else [bytes(row[i:i + 3]) for i in range(0, len(row), step)])
        before = row
    return width, height, rows


@test
def what_takes_long_is_told_on_a_terminal():
    """And nowhere else: every other test here sees what stderr says, and that it says nothing."""
    with OnTerminal('render', METAL, '-o', path('large.png'), '--size', '16384x16384') as at:
        seen = at.told(b' s')
    check(seen.startswith(b'\r\x1b[Kdrawing ') and b'large.png: ' in seen, seen)


@test
def what_is_told_stays_in_one_row_of_the_terminal():
    """Of a row that wraps only the last part can be taken back."""
    folder = path('where-\u00e9\u6f22' * 12)
    os.mkdir(folder)
    with OnTerminal('render', METAL, '-o', os.path.join(folder, 'large.png'), '--size', '16384x16384') as at:
        for columns in (60, 20):
            fcntl.ioctl(at.end, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
            told = at.told(b' s', 2).decode().split('\r\x1b[K')[-1]  # the first one may have been told before
            wide = sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in told)
            check(wide < columns, f'{told!r} in {columns} columns')
            check(columns < 60 or (told.startswith('drawing ') and told.split(': ')[0].endswith('large.png')), told)


@test
def the_inside_of_a_planner_is_a_picture_too():
    lazy, arenas = sample('samples/takeover.lazy'), sample('samples/arenas.json')
    for name, at, options in (('takeover', 4, (lazy,)), ('graph', 200, (METAL, '--planner', 'candela')), ('pool', 200, (METAL, '--planner', 'pool')),
                              ('arenas', 9, (arenas,))):
        for dark in ((), ('--dark',)):
            out = path(f'{name}.png')
            good('render', *options, '-o', out, '--view', 'inside', '--size', '640x400', '--at', str(at), *dark)
            width, height, rows = pixels(out)
            equal(width, 640)
            check(height > 200, f'{name}: {height} rows')
            count = collections.Counter(pixel for row in rows for pixel in row)
            check(len(count) > 20, f'{name}: {len(count)} colours')
            ground = count.most_common(1)[0][0]
            equal(sum(ground) < 384, bool(dark), f'{name}: the ground is {ground.hex()}')
        good('render', *options, '-o', path('second.png'), '--view', 'inside', '--size', '640x400', '--at', str(at - 1), '--dark')
        check(pixels(path('second.png'))[2] != rows, f'{name}: two positions look the same')
    check(pixels(path('graph.png'))[1] > pixels(path('pool.png'))[1] + 100, 'candela has no sort and no map')


@test
def a_run_is_drawn_over_its_plan():
    trace = path('run.json')
    run('run', '--preset', 'tiny-qwen2', '-p', 'Hello', '-n', '2', '--n-ctx', '64', '--backend', 'mixed:0-1=deferred,2-9=cpu', '--fault', 'l7',
        '--trace', trace) # it stops where overwritten rows would be written; what was recorded is there
    count = {}
    for story in ('recorded', 'planned', 'both'):
        for view in ('rows', 'map'):
            out = path(f'{story}-{view}.png')
            good('render', trace, '-o', out, '--story', story, '--view', view, '--size', '640x400')
            count[story, view] = pixels(out)[2]
    for view in ('rows', 'map'):
        check(count['recorded', view] != count['planned', view], f'{view}: recorded and planned are one picture')
        check(count['both', view] not in (count['recorded', view], count['planned', view]), f'{view}: both is only one of them')
    good('render', trace, '-o', path('none.png'), '--size', '640x400')
    equal(pixels(path('none.png'))[2], count['recorded', 'rows'])
    answer = wrong('render', METAL, '-o', path('x.png'), '--story', 'both')
    check('has one story only' in answer, answer)
    answer = wrong('render', trace, '-o', path('x.png'), '--view', 'inside')
    check('nothing to look into' in answer, answer)
    wrong('render', trace, '-o', path('x.png'), '--story', 'both', '--planner', 'naive')
    wrong('render', trace, '-o', path('x.png'), '--story', 'twice')


@test
def the_published_figures_come_out():
    generator = shared('tools', 'gen_minfer_graph.py')
    for words, right in ((['decode', 'cpu', '--unfused'], (11, 737280, 628736)),
                         (['prefill', '--tokens', '440'], (18, 31671296, 27300864))):
        made = subprocess.run([sys.executable, generator, *words], stdout=subprocess.PIPE, check=True).stdout
        f = good('plan', save(made), '--mode', 'upstream', '--size', 'class', '--slots', 'lowest', '--json').json['figures']
        equal((f['buffers'], f['pool_bytes'], f['peak_live_bytes'], f['dead']), (*right, 24), words)
    equal(f['naive_bytes'], 1140405700)


@test
def published_graphs_come_back_byte_for_byte():
    generator = shared('tools', 'gen_minfer_graph.py')
    for kind in ('prefill', 'decode'):
        for pretty in ([], ['--pretty']):
            made = subprocess.run([sys.executable, generator, kind, *pretty], stdout=subprocess.PIPE, check=True).stdout
            good('export', save(made), '-o', path('back.json'), '--format', 'minfer-graph', *pretty)
            with open(path('back.json'), 'rb') as file:
                back = file.read()
            check(back == made or back == made.rstrip(b'\n'), f'{kind} {pretty} differs')


@test
def the_topological_order_clobbers_one_read_of_the_published_graph():
    generator = shared('tools', 'gen_minfer_graph.py')
    where = save(subprocess.run([sys.executable, generator, 'prefill'], stdout=subprocess.PIPE, check=True).stdout)
    for slots, found in (('fifo', [(416, 425, 429)]), ('lifo', [(416, 426, 429)]), ('lowest', [])):
        d = run('check', where, '--order', 'topological', '--slots', slots, '--json').json
        equal([(f['victim'], f['writer'], f['reader']) for f in d['findings']], found, slots)
        equal(good('check', where, '--slots', slots, '--json').json['findings'], [])


@test
def the_examples_of_the_readme_print_what_it_says():
    with open(os.path.join(SOURCE, 'README.md'), encoding='utf-8') as file:
        blocks = re.findall(r'```console\n(.*?)```', file.read(), re.S)
    commands, written = 0, set()
    for block in blocks:
        for piece in block.split('$ ')[1:]:
            line, _, right = piece.partition('\n')
            words = line.split()
            equal(words[0], 'build/app/planscope-cli')
            written |= {w for i, w in enumerate(words[1:]) if words[i] in ('-o', '--trace', '--events', '--kv-dump')}
            words = [path(w) if w in written else w for w in words[1:]]
            done = subprocess.run([CLI, *words], cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            check(done.returncode in (0, 1), line, done.stderr)
            pattern = '.*'.join(map(re.escape, re.split(r'(?m)^\.\.\.\n', right)))
            check(re.fullmatch(pattern, done.stdout.decode(), re.S), line, done.stdout.decode()[:600])
            commands += 1
    check(commands >= 5, 'too few examples')


@test
def the_public_cases_pass():
    accept = shared('tools', 'accept.py')
    done = subprocess.run([sys.executable, accept, CLI, shared('cases'), '--kinds', 'PTKSU'], stdout=subprocess.PIPE)
    text = done.stdout.decode()
    equal(done.returncode, 0, text)


main()
