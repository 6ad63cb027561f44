#!/usr/bin/env python3
"""Files of every sort through the command line: what loads, what warns, what is refused, and in which words."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import *  # noqa: E402,F403


def chain(n=3, kind='prefill'):
    lines = ['0 x input 4'] + [f'{i} n{i} scale 4 < {i - 1}' for i in range(1, n)]
    return graph('\n'.join(lines), [n - 1], kind)


def small_trace(steps=3):
    return trace([('decode', chain(kind='decode'), [
        step([record(i, [s + i, 1.5, -2.25, 3.0]) for i in range(3)], token=s, text=f't{s}') for s in range(steps)])])


def info(content):
    return good('info', save(content), '--json').json


def refused(content, *words):
    """Exit 2, one or more sentences on stderr that hold the words, nothing on stdout."""
    answer = run('info', save(content))
    equal(answer.status, 2, f'exit status: {answer.out[:200]}')
    equal(answer.out, '')
    check(answer.err.startswith('planscope-cli: '), answer.err)
    for word in words:
        check(str(word).lower() in answer.err.lower(), f'no {word!r} in', answer.err)
    check(not [c for c in answer.err if ord(c) < 32 and c != '\n'], 'raw control character', answer.err)
    return answer.err


def warned(content, *words):
    d = info(content)
    text = ' '.join(d['warnings']).lower()
    check(d['warnings'], 'no warning')
    for word in words:
        check(str(word).lower() in text, f'no {word!r} in', text)
    return d


# ---- good files in unusual clothes -----------------------------------------------------------

@test
def a_graph_says_what_it_holds():
    d = info(chain(5))
    equal(d, {'format': 'minfer-graph', 'version': 1, 'model': 'test', 'warnings': [], 'phases': [
        {'kind': 'prefill', 'nodes': 5, 'edges': 4, 'inputs': 1, 'outputs': 1, 'steps': 0, 'backends': {'cpu': 5}}]})


@test
def keys_may_stand_in_any_order_and_the_version_last_or_first():
    right = info(small_trace())
    for reverse in (False, True):
        text = json.dumps(small_trace(), sort_keys=True)
        if reverse:
            def turn(x):
                if isinstance(x, dict):
                    return {k: turn(x[k]) for k in reversed(sorted(x))}
                return [turn(y) for y in x] if isinstance(x, list) else x
            text = json.dumps(turn(small_trace()))
        equal(info(text), right)


@test
def a_file_without_a_version_loads():
    t = small_trace()
    del t['version']
    equal(info(t)['phases'][0]['steps'], 3)


@test
def pretty_printing_line_ends_and_a_byte_order_mark_change_nothing():
    right = info(small_trace())
    pretty = json.dumps(small_trace(), indent=2)
    equal(info(pretty), right)
    equal(info(pretty.replace('\n', '\r\n')), right)
    equal(info(pretty.replace('\n', '\r')), right)
    d = info(b'\xef\xbb\xbf' + pretty.encode())
    equal(d['phases'], right['phases'])
    equal(info('\n\t ' + pretty + '\n\n  ')['phases'], right['phases'])


@test
def unknown_keys_and_ops_are_kept_and_planned_by_shape():
    g = chain()
    g['nodes'][1]['op'] = 'fourier'
    g['nodes'][1]['colour'] = {'deep': [1, {'er': None}]}
    g['made_by'] = 'somebody'
    where = save(g)
    d = good('plan', where, '--mode', 'hardened', '--size', 'exact', '--json').json
    equal(d['figures']['peak_tensor_bytes'], 48)
    good('export', where, '-o', path('out.json'), '--format', 'minfer-graph')
    with open(path('out.json'), encoding='utf-8') as file:
        back = json.load(file)
    equal((back['nodes'][1]['colour'], back['made_by']), (g['nodes'][1]['colour'], 'somebody'))


@test
def numbers_that_are_no_numbers_load_as_such():
    text = json.dumps(small_trace())
    for token in ('NaN', 'Infinity', '-Infinity', 'null'):
        equal(info(text.replace('1.5', token))['phases'][0]['steps'], 3, token)


@test
def missing_and_null_fields_are_optional():
    g = chain()
    for key in ('name', 'detail', 'meta', 'backend', 'dtype'):
        for broken in (None, 'absent'):
            h = json.loads(json.dumps(g))
            if broken:
                del h['nodes'][1][key]
            else:
                h['nodes'][1][key] = None
            equal(info(h)['phases'][0]['nodes'], 3, f'{key} {broken}')
    h = json.loads(json.dumps(g))
    h['nodes'][1]['backend'] = None
    equal(info(h)['phases'][0]['backends'], {'cpu': 2, 'unassigned': 1})


@test
def null_statistics_are_no_zeros():
    t = small_trace(1)
    r = t['phases'][0]['steps'][0]['nodes'][1]
    r['stats'] = dict.fromkeys(r['stats'])
    r['values'] = [None, 1.0, None, 2.0]
    equal(info(t)['phases'][0]['steps'], 1)
    equal(run('check', path('case.json'), '--json').status, 0)


@test
def empty_phases_steps_graphs_and_records_are_a_normal_state():
    empty = {'format': 'minfer-graph', 'version': 1, 'model': '', 'kind': '', 'inputs': [], 'outputs': [], 'nodes': []}
    t = trace([('prefill', empty, [step([])]), ('decode', None, []), ('decode', chain(), [step([])]),
               ('', chain(), [step([record(1, [])])])], prompt='', model='')
    d = info(t)
    equal([p['nodes'] for p in d['phases']], [0, 0, 3, 3])
    equal([p['steps'] for p in d['phases']], [1, 0, 1, 1])
    check(run('check', path('case.json')).status == 0)
    check(run('plan', path('case.json')).status == 0, 'a graph without nodes has an empty plan')
    equal(run('plan', path('case.json'), '--phase', '1').status, 2)


@test
def a_record_with_stride_or_count_zero_divides_by_nothing():
    t = small_trace(1)
    t['phases'][0]['steps'][0]['nodes'][1].update(stride=0, n=0, values=[])
    equal(good('check', save(t), '--json').json['records']['total'], 3)


@test
def records_come_in_any_order_and_some_are_missing():
    t = small_trace(1)
    nodes = t['phases'][0]['steps'][0]['nodes']
    t['phases'][0]['steps'][0]['nodes'] = [nodes[2], nodes[0]]
    listed = good('check', save(t), '--json').json['records']['list']
    equal([r['node'] for r in listed], [0, 2])


@test
def names_may_repeat_and_be_anything():
    g = chain()
    for i, name in enumerate(['a', 'a', 'ünïcode \U0001f600 "quoted" \\ back']):
        g['nodes'][i]['name'] = name
    equal(info(g)['warnings'], [])
    good('plan', path('case.json'), '--nodes')


@test
def the_kind_of_a_phase_and_of_its_graph_may_disagree():
    d = info(trace([('prefill', chain(kind='decode'), [])]))
    equal((d['phases'][0]['kind'], d['phases'][0]['nodes']), ('prefill', 3))


@test
def ids_use_all_64_bits():
    g = chain()
    big = [2**63, 2**53 + 1, 2**64 - 1]
    for n, i in zip(g['nodes'], big):
        n['id'] = i
        n['src'] = [big[s] for s in n['src']]
    g['inputs'], g['outputs'] = [big[0]], [big[2]]
    where = save(g)
    equal([n['id'] for n in good('plan', where, '--json').json['nodes']], big)
    check(str(2**53 + 1) in good('plan', where, '--nodes').out, 'all digits are shown')


@test
def an_unused_input_is_only_worth_a_warning():
    g = graph('0 x input 4\n1 lonely input 4\n2 y scale 4 < 0', [2])
    warned(g, 'unused', '1')


@test
def control_characters_never_reach_a_terminal():
    g = chain()
    g['nodes'][1]['name'] = 'red\x1b[31m\x07\x7f\x9b2J\nline'
    g['model'] = 'm\x1b]0;title\x07'
    g['nodes'][1]['op'] = 'op\x1b[2J'
    where = save(json.dumps(g))
    for words in (['info', where], ['plan', where, '--nodes', '--log'], ['check', where],
                  ['info', where, '--json'], ['plan', where, '--json']):
        answer = good(*words)
        bad = [c for c in answer.out + answer.err if (ord(c) < 32 or 127 <= ord(c) < 160) and c != '\n']
        check(not bad or '--json' in words and all(ord(c) >= 127 for c in bad), words, bad)
    raw = save(json.dumps(g, ensure_ascii=False).replace('\\u001b', '\x1b'))
    for words in (['info', raw], ['plan', raw, '--nodes']):
        answer = run(*words)
        check(answer.status in (0, 2), answer.err)
        check('\x1b' not in answer.out + answer.err, words)


@test
def invalid_utf8_is_replaced_and_said():
    text = json.dumps(chain()).replace('"n1"', '"n\\u00e9XX"').encode()
    for bad in (b'\xff', b'\xc3', b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\xc0\xaf', b'\x80'):
        content = text.replace(b'XX', bad)
        answer = run('info', save(content), '--json')
        check(answer.status in (0, 2), answer.status)
        said = answer.err if answer.status else ' '.join(answer.json['warnings'])
        check('utf-8' in said.lower(), bad, said)


# ---- broken files ----------------------------------------------------------------------------

@test
def a_trace_cut_anywhere_opens_with_its_complete_steps():
    text = json.dumps(small_trace(4), separators=(',', ':')).encode()
    ends, at = [], 0
    while (at := text.find(b'"token":', at)) >= 0:  # json.dumps writes token first
        depth, i, quoted = 1, at, False
        while depth:
            c = text[i:i + 1]
            if c == b'"':
                quoted = not quoted
            depth += 0 if quoted else (c == b'{') - (c == b'}')
            i += 1
        ends.append(i)
        at = i
    equal(len(ends), 4)
    first = text.index(b'"steps"') + 9
    for cut in list(range(first, len(text) - 1, 97)) + [e + d for e in ends for d in (-1, 0, 1)]:
        if cut >= len(text):
            continue
        d = warned(text[:cut], 'truncated')
        equal(d['phases'][0]['steps'], sum(e <= cut for e in ends), f'cut at {cut}')
        said = ' '.join(d['warnings'])
        check(str(cut) in said.replace(',', ''), f'byte {cut} not named:', said)


@test
def a_file_cut_inside_its_first_graph_is_refused():
    text = json.dumps(small_trace())
    refused(text[:300], 'truncated')
    refused(json.dumps(chain())[:200], 'truncated')


@test
def an_empty_file_is_called_empty():
    refused(b'', 'empty')
    refused(b' \n\t\n', 'empty')


@test
def zero_bytes_are_no_json():
    refused(bytes(4096))
    check(run('info', save(json.dumps(small_trace()).encode() + bytes(512))).status in (0, 2))


@test
def a_place_is_said_once():
    for content in (b'{"format":"minfer-trace","phases":[{]}', b'{"phases":[' + b'[' * 2000):
        said = refused(content, 'byte')
        check('at line' not in said and said.count('byte') == 1, said)


@test
def what_is_not_json_is_refused_with_its_place():
    for text in ('hello', '<html></html>', '{"format": minfer}', '{"a" 1}', "{'format': 'minfer-graph'}", '[1, 2',
                 '{"format":"minfer-graph",}'):
        refused(text)
    said = refused('{\n  "format": "minfer-graph",\n  "version": 1,\n  nodes: []\n}', 'case.json:4:')
    check('byte' in said, said)


@test
def another_format_is_named():
    refused({'format': 'chrome-trace', 'version': 1}, 'chrome-trace')
    refused({'hello': 1})
    refused([1, 2, 3])
    for text in ('"text"', '17', 'null', 'true', '[]', '{}'):
        refused(text)


@test
def another_version_says_both_numbers():
    for version in (0, 2, 5, 99, 4294967297, -1):
        g = chain()
        g['version'] = version
        refused(g, 'version', version, 1)
        t = small_trace()
        t['version'] = version
        refused(t, 'version', version, 1)
    for odd in ('one', [1], {}):
        g = chain()
        g['version'] = odd
        refused(g, 'version')


@test
def garbage_behind_the_end_is_not_silently_dropped():
    for tail in ('x', '{}', ']', '}', ' garbage'):
        answer = run('info', save(json.dumps(chain()) + tail), '--json')
        check(answer.status in (0, 2), tail, answer.status)
        check(answer.status == 2 or answer.json['warnings'], f'nothing said about {tail!r}')


@test
def deep_nesting_is_refused_at_once():
    start = time.monotonic()
    for text in ('[' * 200000, '{"a":' * 200000, '{"format":"minfer-graph","x":' + '[' * 5000 + ']' * 5000 + '}',
                 '{"format":"minfer-trace","version":1,"phases":[{"steps":[' + '[' * 100000):
        refused(text, 'deep')
    check(time.monotonic() - start < 4, 'too slow')
    shallow = chain()
    shallow['extra'] = json.loads('[' * 900 + ']' * 900)
    equal(info(shallow)['phases'][0]['nodes'], 3)


@test
def every_dangling_reference_is_named_in_one_pass():
    g = chain(4)
    g['nodes'][2]['src'] = [71]
    g['nodes'][3]['src'] = [2, 72]
    g['inputs'].append(73)
    g['outputs'].append(74)
    said = refused(g, 71, 72, 73, 74)
    check(said.count('\n') >= 4, 'one line each', said)


@test
def every_cycle_is_named():
    g = graph('''
        0 x input 4
        11 a add 4 < 0 13
        12 b scale 4 < 11
        13 c scale 4 < 12
        21 d add 4 < 0 22
        22 e scale 4 < 21
        31 f add 4 < 31 0
        40 y scale 4 < 13
    ''', [40])
    said = refused(g, 'cycle', 11, 12, 13, 21, 22, 31)
    check('31 -> 31' in said, said)


@test
def duplicate_ids_are_named_with_both_places():
    g = chain(4)
    g['nodes'][3]['id'] = 1
    g['outputs'] = [2]
    said = refused(g, 'duplicate', 1)
    check('1' in said and '3' in said, said)


@test
def several_kinds_of_fault_are_reported_together():
    g = chain(5)
    g['nodes'][2]['src'] = [99]
    g['nodes'][4]['id'] = 3
    g['outputs'] = [55]
    refused(g, 99, 'duplicate', 55)


@test
def shapes_that_overflow_or_make_no_sense_are_refused():
    for shape in ([2**40, 2**40, 1, 1], [2**62, 1, 1, 1], [-4, 1, 1, 1], ['4', 1, 1, 1], 'x', [1.5, 1, 1, 1]):
        g = chain()
        g['nodes'][1]['shape'] = shape
        refused(g)


@test
def fields_of_the_wrong_type_are_refused_or_said():
    for key, value in (('nodes', {}), ('nodes', 3), ('nodes', [7]), ('nodes', None), ('outputs', 'y'), ('inputs', {})):
        g = chain()
        g[key] = value
        answer = run('info', save(g), '--json')
        check(answer.status == 2 or answer.status == 0 and answer.json['warnings'], f'{key} {value!r} passed in silence')
    for key, value in (('id', None), ('id', 'one'), ('id', -3), ('id', 1.5), ('id', 2**64), ('src', 5), ('src', ['0'])):
        g = chain()
        g['nodes'][1][key] = value
        answer = run('info', save(g))
        equal(answer.status, 2, f'{key} {value!r}')


@test
def a_view_outside_its_parent_is_refused():
    refused(graph('0 x input 4\n1 a scale 4 < 0\n2 v view 4 < 1 offset=2\n3 y scale 4 < 2', [3]))


@test
def keys_that_stand_twice_are_no_crash():
    text = json.dumps(chain())
    for double in (text.replace('"op": "scale"', '"op": "scale", "op": "scale"'),
                   text.replace('"version": 1', '"version": 1, "version": 1'),
                   text[:-1] + ', "nodes": []}'):
        check(run('info', save(double)).status in (0, 2))


@test
def a_step_that_cannot_be_read_is_marked_and_the_others_are_there():
    t = small_trace(3)
    t['phases'][0]['steps'][1]['nodes'] = 'nothing'
    answer = run('check', save(t), '--json')
    check(answer.status in (0, 2), answer.err)
    if answer.status == 0:
        equal({r['step'] for r in answer.json['records']['list']}, {0, 2})
        check('step 1' in answer.err, answer.err)


@test
def a_file_that_is_not_there_or_is_a_folder_is_said():
    for where in (path('absent.json'), os.path.dirname(path())):
        answer = run('info', where)
        equal(answer.status, 2)
        check(answer.err.startswith('planscope-cli: ' + where), answer.err)


@test
def a_pipe_is_refused_and_not_waited_for():
    """nobody writes into it: whoever opened it to read would stand still for ever"""
    pipe = path('pipe.json')
    os.mkfifo(pipe)
    for command in (('info', pipe), ('check', pipe), ('run', pipe, '-p', 'x'), ('model', pipe), ('play', pipe), ('kv', pipe),
                    ('check', save(BOXES), '--plan', pipe), ('run', '--preset', 'tiny-qwen2', '--kv-load', pipe, '-n', '1'),
                    ('diff', pipe, save(BOXES)), ('compare', pipe)):
        answer = run(*command, limit=20)
        equal(answer.status, 2, command)
        check(answer.err.startswith(f'planscope-cli: {pipe}: is ') and 'regular file' in answer.err, answer.err)


# ---- boxes without a graph ---------------------------------------------------------------------

BOXES = 'id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n'


def overlaps(nodes):
    return [(a['name'], b['name']) for a in nodes for b in nodes if a['id'] < b['id'] and
            a['lower'] < b['upper'] and b['lower'] < a['upper'] and
            a['offset'] < b['offset'] + b['length'] and b['offset'] < a['offset'] + a['length']]


@test
def boxes_are_packed_within_their_capacity():
    for planner in ('best-fit', 'linear-scan', 'greedy-size', 'greedy-breadth', 'optimal'):
        d = good('plan', save(BOXES), '--planner', planner, '--capacity', '12', '--json').json
        equal([n['name'] for n in d['nodes']], ['b1', 'b2', 'b3', 'b4', 'b5'])
        equal(overlaps(d['nodes']), [])
        equal(max(n['offset'] + n['length'] for n in d['nodes']), 12)
        equal([d['arenas'][0][k] for k in ('bytes', 'lower_bound_bytes', 'proof')], [12, 12, 'lower bound'])


@test
def a_capacity_that_is_too_small_is_refused():
    answer = run('plan', save(BOXES), '--planner', 'best-fit', '--capacity', '11')
    equal(answer.status, 2)
    check('at least 12 bytes' in answer.err and 'capacity of 11 bytes' in answer.err, answer.err)
    answer = run('plan', save(BOXES), '--planner', 'best-fit', '--capacity', 'cpu=12')
    equal(answer.status, 2)
    check("there is no arena of 'cpu': there is one arena without a name" in answer.err, answer.err)


@test
def a_csv_of_other_columns_is_told_which_it_needs():
    answer = run('plan', save('buffer,start,end,bytes\na,0,3,4\n', 'other.csv'))
    equal(answer.status, 2)
    check('other.csv:1:1: no list of boxes: its first line must name the columns id, lower, upper and size' in answer.err, answer.err)


@test
def boxes_are_written_with_their_offsets_and_checked_again():
    out = path('packed.csv')
    good('export', save(BOXES), '--format', 'minimalloc', '--planner', 'best-fit', '-o', out)
    with open(out, encoding='utf-8') as f:
        text = f.read()
    equal(text.splitlines()[0], 'id,lower,upper,size,offset')
    good('check', out)
    equal(run('check', save(text.replace('b5,0,21,4,8', 'b5,0,21,4,6'))).status, 1)


@test
def the_boxes_of_a_graph_are_written():
    text = good('export', save(chain(4)), '--format', 'minimalloc', '--planner', 'optimal', '-o', '-').out
    equal(text.splitlines(), ['id,lower,upper,size,alignment,offset', '1,1,5,16,4,0'])
    equal(good('export', save(chain(4)), '--format', 'minimalloc', '-o', '-').out.splitlines(),
          ['id,lower,upper,size', '1,1,5,16'])


@test
def damaged_bytes_never_crash_the_reader():
    import random
    seed = int(os.environ.get('PSC_SEED', '7'))
    rng = random.Random(seed)
    text = json.dumps(small_trace(2)).encode()
    for _ in range(150):
        data = bytearray(text)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at:at + rng.randint(1, 40)]
            else:
                data[at:at] = bytes(rng.choice(b'{}[]",:0-9eE\\ntfu') for _ in range(rng.randint(1, 5)))
        answer = run('check', save(bytes(data)))
        check(answer.status in (0, 1, 2), f'seed {seed}: exit {answer.status}', answer.err)


main()
