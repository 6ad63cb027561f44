#!/usr/bin/env python3
"""Broken, odd and hostile files: whatever is in a file, the command line answers in time and in its own words.

    loader.py [SEED] [full]       full: every mutation of every place instead of some hundred of each kind"""
import copy
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import CLI, Answer, check, equal, graph, main, record, save, step, test, trace  # noqa: E402

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
FULL = 'full' in sys.argv
with open(CLI, 'rb') as program:
    SANITIZED = b'__asan_init' in program.read()
# Under a sanitizer each of some thousand runs takes several times as long: there a third of the mutations.
SHARE = 3 if SANITIZED else 1
RAW = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]')


def ask(*args, limit=2.0):
    """Runs the program; fails when it crashes, hangs, is silent about a refusal or sends a terminal raw bytes."""
    begin = time.monotonic()
    try:
        done = subprocess.run([CLI, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    except subprocess.TimeoutExpired:
        raise AssertionError(f'{args}: no answer') from None
    took = time.monotonic() - begin
    # slow machines: what is long once may be load, what is long three times is not
    for _ in range(2):
        if took > limit:
            begin = time.monotonic()
            subprocess.run([CLI, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
            took = min(took, time.monotonic() - begin)
    check(took <= limit, f'{args}: {took:.1f} s')
    out, err = done.stdout.decode('utf-8'), done.stderr.decode('utf-8')
    check('Sanitizer' not in err and 'runtime error' not in err, args, err[-1500:])
    check(done.returncode in (0, 1, 2), f'{args}: exit {done.returncode}', err[-300:])
    for text in (out, err):
        raw = RAW.search(text)
        check(not raw, f'{args}: raw {raw and raw.group()!r} in', text[max(0, raw.start() - 80) if raw else 0:][:200])
    if done.returncode == 2:
        check(err.startswith('planscope-cli: '), f'{args}: refused without a sentence', err)
        check(len(err) < 200000, 'endless sentence')
    return Answer(done.returncode, out, err)


def info(data):
    answer = ask('info', save(data), '--json')
    if answer.status == 0:
        check(answer.json['phases'], 'clean without phases')
    else:
        equal(answer.status, 2, 'info')
    return answer


def everything(data, out='out.json'):
    """All commands about one file; they agree whether it can be opened."""
    opened = info(data)
    name = save(data)
    checked = ask('check', name, '--json')
    planned = ask('plan', name, '--json')
    if opened.status == 2:  # plan reads no further than its phase
        equal(checked.status, 2, 'check of what info refuses')
    else:
        check(checked.status < 2 or 'phase' in checked.err or 'layer' in checked.err, 'check refuses:', checked.err)
        check(planned.status == 0 or 'phase' in planned.err or 'layer' in planned.err, 'plan refuses:', planned.err)
    if checked.status < 2:
        checked.json
    if planned.status == 0:
        planned.json
    ask('info', name)
    ask('check', name)
    return opened


def sample(steps=3):
    g = graph('''
        0 ids input 2 dtype=i32
        1 embed get_rows 4x2 < 0
        2 half scale 4x2 < 1
        3 part view 4 < 2 offset=4
        4 kv_store.0 kvcache_store 4x8 < 1 2 0 layer=0
        5 y silu 4 < 3
    ''', [5])
    g['nodes'][1]['meta'] = {'vocab_size': 10, 'weight': 'token_embd', 'wtype': 'f32'}
    rows = [record(0, [1.0, 2.0], 'i32'), record(1, [0.5] * 8), record(2, [1.0] * 8), record(5, [0.25] * 4)]
    made = [step(copy.deepcopy(rows), None if s == 0 else s, f' t{s}') for s in range(steps)]
    for s in made:
        s['logits_top'] = [[7, 0.5], [3, 0.25]]
    made = trace([('prefill', g, made[:1]), ('decode', g, made[1:])])
    return json.loads(json.dumps(made))  # no two places share a list


def compact(doc):
    return json.dumps(doc, separators=(',', ':')).encode()


def places(value, at=()):
    """every place of a document"""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, at + (key,))


def put(doc, at, value):
    """a copy of doc with another value at that place"""
    if not at:
        return value
    doc = copy.deepcopy(doc)
    inner = doc
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return doc


class Text:
    """JSON text as it stands, for what Python does not write"""
    def __init__(self, text):
        self.text = text


def dumps(doc):
    texts = []

    def other(value):
        texts.append(value.text)
        return f'@@{len(texts) - 1}@@'
    out = json.dumps(doc, default=other, separators=(',', ':'))
    return re.sub('"@@([0-9]+)@@"', lambda m: texts[int(m.group(1))], out).encode('utf-8', 'surrogatepass')


ODD = [None, True, False, 0, 1, 5, -1, 1.5, '', 'x', '5', [], {}, [[]], [None], {'a': {'b': [1]}}, [1, 2, 3, 4, 5],
       'long ' * 4000, Text('1e400'), Text('-1e400'), Text('18446744073709551616'), Text('1' * 400), Text('1.0'),
       Text('1e0'), Text('-0'), Text('0.1e1'), Text('NaN'), Text('-Infinity'), Text('"\\u0000"'), Text('"a\\u0000b"'),
       Text('"\\ud800"'), Text('"\\udc00\\ud800"'), Text('"\\u001b[31m\\u009b2J"'), Text('"\\u202egnp"'), Text('"\\x"'),
       Text('[' * 990 + ']' * 990), Text('[' * 1200 + ']' * 1200), Text('{"a":' * 1200 + '1' + '}' * 1200),
       Text('[' * 100000), Text('undefined'), Text(''), Text('01'), Text('+1'), Text('.5'), Text('1.'), Text('"'),
       Text("'x'"), Text('tru'), Text('nul'), Text('// c\n1'), Text('/* c */ 1')]


def some(rng, things, n):
    things = list(things)
    return things if FULL or len(things) <= n else rng.sample(things, max(1, n // SHARE))


@test
def every_place_takes_every_odd_value():
    rng = random.Random(f'odd {SEED}')
    for base in (sample(2), sample(2)['phases'][0]['graph']):
        cases = [(at, odd) for at in places(base) for odd in range(len(ODD))]
        for at, odd in some(rng, cases, 150):
            try:
                info(dumps(put(base, at, ODD[odd]))) if rng.random() < 0.7 else everything(dumps(put(base, at, ODD[odd])))
            except AssertionError as e:
                shown = ODD[odd].text if isinstance(ODD[odd], Text) else ODD[odd]
                raise AssertionError(f'{at} = {str(shown)[:60]!r}: {e}') from None


@test
def every_key_may_be_missing_or_stand_twice():
    rng = random.Random(f'keys {SEED}')
    for base in (sample(2), sample(2)['phases'][0]['graph']):
        for at in some(rng, [at for at in places(base) if at and isinstance(at[-1], str)], 60):
            holder = base
            for key in at[:-1]:
                holder = holder[key]
            less = {k: v for k, v in holder.items() if k != at[-1]}
            try:
                everything(compact(put(base, at[:-1], less)))
                twice = compact(holder)[:-1] + b',' + compact({at[-1]: rng.choice([None, 3, 'x', [], holder[at[-1]]])})[1:]
                info(dumps(put(base, at[:-1], Text(twice.decode()))))
            except AssertionError as e:
                raise AssertionError(f'{at}: {e}') from None


@test
def the_order_of_keys_means_nothing():
    rng = random.Random(f'order {SEED}')

    def shuffled(value):
        if isinstance(value, dict):
            keys = list(value)
            rng.shuffle(keys)
            return {k: shuffled(value[k]) for k in keys}
        return [shuffled(v) for v in value] if isinstance(value, list) else value
    for base in (sample(3), sample(2)['phases'][0]['graph']):
        right = info(compact(base)).out
        checked = ask('check', save(compact(base)), '--json').out
        for _ in range(20):
            other = shuffled(base)
            equal(info(rng.choice([compact, dumps])(other)).out, right, 'info')
            equal(ask('check', save(json.dumps(other, indent=rng.choice([None, 0, 3]))), '--json').out, checked, 'check')


@test
def a_trace_cut_at_any_byte_keeps_its_complete_steps():
    rng = random.Random(f'cut {SEED}')
    for doc in (sample(4), trace([('prefill', sample()['phases'][0]['graph'], sample(1)['phases'][0]['steps'])])):
        text = compact(doc)
        ends = [m.end() for m in re.finditer(rb'"text":"[^"]*","logits_top":\S*?\]\]?,?"nodes":\[.*?\]\}', text)]
        ends = []
        at = 0
        while (at := text.find(b'{"token":', at)) >= 0:  # a step, to its own closing brace
            depth = 0
            for i in range(at, len(text)):
                depth += (text[i] == 123) - (text[i] == 125)
                if not depth:
                    break
            ends.append(i + 1)
            at = i
        graphs = [m.start() for m in re.finditer(rb',"steps":', text)]
        before = 0
        cuts = list(range(0, len(text))) if FULL else sorted(
            set(rng.sample(range(len(text)), 160 // SHARE)) | {e + d for e in ends for d in (-1, 0, 1, 2) if e + d < len(text)})
        for cut in cuts:
            answer = info(text[:cut])
            right = sum(e <= cut for e in ends)
            if answer.status == 2:
                check(cut < graphs[0] + 12, f'cut at {cut} of {len(text)}: refused', answer.err)
                check(cut == 0 or 'truncated' in answer.err or 'ends' in answer.err, f'cut at {cut}', answer.err)
                continue
            steps = sum(p['steps'] for p in answer.json['phases'])
            equal(steps, right, f'steps of {cut} bytes')
            check(steps >= before, 'fewer steps in a longer file')
            before = steps
            said = ' '.join(answer.json['warnings'])
            check(str(cut) in said.replace(',', ''), f'byte {cut} is not named:', said)


@test
def damaged_bytes_get_an_answer():
    rng = random.Random(f'flip {SEED}')
    text = compact(sample(2))
    for k in range(2000 if FULL else 250 // SHARE):
        data = bytearray(text)
        for _ in range(rng.choice([1, 1, 2, 5, 20])):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                data[at] = rng.choice(b'{}[]",:\\\x00\xff\x1b0-e')
            elif kind == 2:
                del data[at:at + rng.randint(1, 60)]
            else:
                there = rng.randrange(len(data))
                data[at:at] = data[there:there + rng.randint(1, 60)]
        try:
            info(bytes(data)) if k % 4 else everything(bytes(data))
        except AssertionError as e:
            raise AssertionError(f'round {k}: {e}') from None


@test
def depth_is_told_at_once_wherever_it_is():
    base = sample(2)
    cases = [at for at in places(base) if len(at) < 8]
    rng = random.Random(f'deep {SEED}')
    for at in some(rng, cases, 25):
        room = 1000 - len(at)
        for opening, closing in (('[', ']'), ('{"a":', '}')):
            for n in (room - 1, room, room + 1, 100000):
                inner = '1' if opening != '[' else ''
                text = dumps(put(base, at, Text(opening * n + inner + closing * n)))
                answer = info(text)
                if n > room:
                    equal(answer.status, 2, f'{at}: {n} levels')
                    check('deep' in answer.err, at, n, answer.err)
                elif at and at[-1] not in ('id', 'shape', 'src'):
                    check('deep' not in answer.err, f'{at}: {n} levels are not too deep', answer.err)


@test
def what_stands_around_the_document_is_told_or_harmless():
    text = compact(sample(2))
    right = info(text).json
    for before, after in ((b'\xef\xbb\xbf', b''), (b' \r\n\t', b'\r\n'), (b'\xef\xbb\xbf\n', b' ')):
        equal(info(before + text + after).json, right, (before, after))
    equal(info(json.dumps(sample(2), indent=2).replace('\n', '\r\n').encode()).json, right, 'CRLF')
    for after in (b'x', b'{}', b'}', b']', b',', b'\x00', b'\x00' * 4096, b'null', text, b'\xff', b'\x1b[0m', b'// end'):
        answer = info(text + after)
        check(answer.status == 2 or answer.json['warnings'], after[:20], 'passed in silence')
    for before in (b'x', b'\x00', b'\xff\xfe', b'// c\n', b'\xef\xbb', b'(', b'callback('):
        equal(info(before + text).status, 2, before)
    for coding in ('utf-16', 'utf-16-le', 'utf-32'):
        equal(info(text.decode().encode(coding)).status, 2, coding)


@test
def what_is_odd_is_told():
    g = sample(2)['phases'][0]['graph']
    text = compact(g)
    t = sample(2)
    step0 = t['phases'][0]['steps'][0]
    step0['nodes'].append(dict(step0['nodes'][0], id=99))
    twice = sample(2)
    twice['phases'][0]['steps'][0]['nodes'] *= 2
    for data, word in (
            (text.replace(b'"embed"', b'"em\\ud83dbed"'), 'surrogate'), (text.replace(b'"embed"', b'"\\udc00"'), 'surrogate'),
            (text.replace(b'"embed"', b'"\xe4"'), 'UTF-8'), (text.replace(b'"embed"', b'NaN'), 'NaN'),
            (text.replace(b'"id":1,', b'"id":7,"id":1,'), 'twice'), (text.replace(b'"f32"', b'"q4_K"'), 'q4_K'),
            (text.replace(b'"silu"', b'"gelu"'), 'gelu'), (text + bytes(100), 'zero'), (text + b' x', 'after the end'),
            (compact(put(g, ('nodes', 5, 'shape'), [3, 1, 1, 1])), 'shape'), (compact(put(sample(), ('phases', 1), 5)), 'phases'),
            (compact(put(sample(), ('phases', 0, 'steps'), {})), 'steps'), (compact(t), '99'), (compact(twice), 'node 0'),
            (compact(put(g, ('nodes',), g['nodes'][::-1])), 'order')):
        answer = info(data)
        equal(answer.status, 0, f'{word}: {answer.err}')
        check(word in ' '.join(answer.json['warnings']), word, answer.json['warnings'])
    check(not info(text.replace(b'"embed"', b'"\\ud83d\\ude00"')).json['warnings'], 'a whole pair is no half')
    for data, word in ((bytes(5000), 'zero'), (b'\x1f\x8b\x08\x00....', 'gzip'), (b'PK\x03\x04....', 'zip'),
                       (text.decode().encode('utf-16'), 'UTF-16'), (text.decode().encode('utf-16-be'), 'UTF-16'),
                       (compact(put(sample(), ('phases',), {'a': 1})), 'array'),
                       (text.replace(b'"src":[1]', b'"src":[18446744073709551616]'), 'src[0]'),
                       (text.replace(b'"outputs":[5]', b'"outputs":["5"]'), 'outputs[0]')):
        answer = info(data)
        equal(answer.status, 2, word)
        check(word in answer.err, word, answer.err)


@test
def a_crash_that_leaves_zeros_keeps_the_complete_steps():
    text = compact(sample(4))
    for cut in (len(text) - 20, len(text) - 700):
        right = info(text[:cut]).json['phases']
        answer = info(text[:cut] + bytes(4096)).json
        equal(answer['phases'], right, cut)
        said = ' '.join(answer['warnings'])
        check('truncated' in said and str(cut) in said and '4096' in said, said)


@test
def versions_are_told_with_both_numbers():
    for base in (sample(2), sample(2)['phases'][0]['graph']):
        rest = {k: v for k, v in base.items() if k != 'version'}
        right = info(compact(base)).json
        for good in (1, Text('1.0'), Text('1e0')):
            for doc in ({'version': good, **rest}, {**rest, 'version': good}):
                equal(info(dumps(doc)).json, right, f'version {good}')
        equal(info(dumps(rest)).status, 0, 'no version')
        for bad, word in ((5, '5'), (0, '0'), (2, '2'), (-1, '-1'), (Text('1.5'), '1.5'), (Text('1e2'), ''),
                          (Text('18446744073709551617'), '18446744073709551617'), ('1', 'string'), ('5', 'string'),
                          ([1], 'array'), ({}, 'object'), (True, 'boolean')):
            for doc in ({'version': bad, **rest}, {**rest, 'version': bad}):
                answer = info(dumps(doc))
                equal(answer.status, 2, f'version {bad}')
                check('version' in answer.err and word in answer.err and '1' in answer.err, bad, answer.err)


if __name__ == '__main__':
    main()
