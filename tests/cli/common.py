"""What the tests of the command line share: TAP, running the program, and graphs in a few words.

    graph('''
        0 x input 8
        1 a scale 8 < 0
        2 v view  4 < 1 offset=4
    ''', outputs=[2])

A line is id, name, op, shape (8 or 8x2), then `< operands` and key=value pairs: offset (elements, of a view),
dtype, backend, layer. Inputs are the nodes whose op is input."""
import json
import os
import subprocess
import sys
import tempfile
import traceback

BUILD = os.environ.get('PSC_BUILD_ROOT') or os.path.join(os.path.dirname(__file__), '..', '..', 'build')
SOURCE = os.environ.get('PSC_SOURCE_ROOT') or os.path.join(os.path.dirname(__file__), '..', '..')
SHARED = os.environ.get('PSC_SHARED') or os.path.join(SOURCE, '..', 'shared')
# With runs that happen twice, where meson runs the tests.
CLI = os.environ.get('PSC_CLI') or os.path.join(BUILD, 'app', 'planscope-cli')

_scratch = tempfile.TemporaryDirectory(prefix='planscope-test-')
_tests = []


class Skip(Exception):
    pass


def test(function):
    """Registers a test; its name is the function's, with blanks."""
    _tests.append(function)
    return function


def check(truth, what='', *more):
    if not truth:
        raise AssertionError(' '.join([str(what), *(repr(m) for m in more)]))


def equal(got, right, what=''):
    if got != right:
        raise AssertionError(f'{what}: got {got!r}, right {right!r}')


def main():
    print(f'TAP version 13\n1..{len(_tests)}', flush=True)
    failed = 0
    for number, function in enumerate(_tests, 1):
        name = function.__name__.replace('_', ' ')
        try:
            function()
            print(f'ok {number} {name}', flush=True)
        except Skip as why:
            print(f'ok {number} {name} # SKIP {why}', flush=True)
        except Exception as error:  # a wrong answer may fail in any way; the others still run
            failed += 1
            for line in traceback.format_exc().splitlines()[-4:]:
                print(f'# {line}')
            print(f'not ok {number} {name} - {str(error)[:400]!r}', flush=True)
    sys.exit(1 if failed else 0)


# ---- running ---------------------------------------------------------------------------------

class Answer:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def json(self):
        return json.loads(self.out)


def run(*args, limit=60):
    done = subprocess.run([CLI, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit)
    return Answer(done.returncode, done.stdout.decode('utf-8'), done.stderr.decode('utf-8'))


class OnTerminal:
    """The program at work with a terminal as stderr; the end of `with` kills it."""

    def __init__(self, *args):
        self.end, slave = os.openpty()
        self.process = subprocess.Popen([CLI, *args], stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)

    def told(self, until, times=1):
        """What it says until it has said that so often; an error when it ends before."""
        seen = b''
        while seen.count(until) < times:
            seen += os.read(self.end, 1000)
        return seen

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate(timeout=60)
        os.close(self.end)


def good(*args, status=0):
    answer = run(*args)
    equal(answer.status, status, f'exit status of {args}: {answer.err[:200]}{answer.out[:200]}')
    return answer


def path(name='case.json'):
    return os.path.join(_scratch.name, name)


def save(content, name='case.json'):
    """Writes a dictionary (as JSON), text or bytes; returns the path."""
    data = content if isinstance(content, bytes) else (
        content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode('utf-8')
    with open(path(name), 'wb') as file:
        file.write(data)
    return path(name)


def shared(*parts):
    found = os.path.join(SHARED, *parts)
    if not os.path.exists(found):
        raise Skip('the shared folder is not here')
    return found


def sample(name):
    return os.path.join(SOURCE, 'traces', name)


# ---- graphs ----------------------------------------------------------------------------------

def graph(text, outputs, kind='prefill', model='test'):
    nodes = []
    for line in filter(None, map(str.strip, text.splitlines())):
        head, _, tail = line.partition('<')
        words = head.split() + ['<'] + tail.split() if tail else head.split()
        pairs = dict(w.split('=') for w in words if '=' in w)
        words = [w for w in words if '=' not in w]
        shape = [int(d) for d in words[3].split('x')]
        shape += [1] * (4 - len(shape))
        node = {'id': int(words[0]), 'name': words[1], 'op': words[2], 'detail': {}, 'shape': shape,
                'dtype': pairs.get('dtype', 'f32'), 'backend': pairs.get('backend', 'cpu'),
                'src': [int(w) for w in words[5:]] if len(words) > 4 else [], 'meta': {}}
        if words[2] == 'view':
            node['detail'] = {'offset': int(pairs.get('offset', 0)), 'shape': shape}
        elif words[2] == 'reshape':
            node['detail'] = {'shape': shape}
        elif words[2] == 'scale':
            node['detail'] = {'scale': 2.0}
        if 'layer' in pairs:
            node['detail']['layer'] = int(pairs['layer'])
        nodes.append(node)
    return {'format': 'minfer-graph', 'version': 1, 'model': model, 'kind': kind,
            'inputs': [n['id'] for n in nodes if n['op'] == 'input'], 'outputs': outputs, 'nodes': nodes}


def trace(phases, prompt='hello', model='test'):
    """phases: (kind, graph or None, steps)."""
    return {'format': 'minfer-trace', 'version': 1, 'model': model, 'prompt': prompt,
            'phases': [{'kind': k, 'graph': g, 'steps': s} for k, g, s in phases]}


def record(node, values, dtype='f32'):
    n = len(values)
    stats = {'min': min(values), 'max': max(values), 'mean': sum(values) / n,
             'absmean': sum(map(abs, values)) / n} if n else {'min': 0.0, 'max': 0.0, 'mean': 0.0, 'absmean': 0.0}
    return {'id': node, 'dtype': dtype, 'n': n, 'stride': 1, 'values': values, 'stats': stats}


def step(records, token=None, text=''):
    return {'token': token, 'text': text, 'logits_top': [], 'nodes': records}


def plan_file(places, name='plan.json', **more):
    """places: {node: 'A'} or {node: ('A', offset)}; more: executor, rerun, buffers."""
    rows = [{'node': n, 'buffer': p if isinstance(p, str) else p[0], 'offset': 0 if isinstance(p, str) else p[1]}
            for n, p in places.items()]
    return save({'format': 'planscope-plan', 'version': 1, 'placements': rows, **more}, name)


def findings(graph_path, places, **more):
    """(kind, victim, writer, reader) of every finding of a foreign plan; the exit status must fit."""
    answer = run('check', graph_path, '--plan', plan_file(places, **more), '--json')
    check(answer.status in (0, 1), 'the plan was refused:', answer.err)
    found = answer.json['findings']
    equal(answer.status, 1 if found else 0, 'exit status')
    return [(f['kind'], f['victim'], f['writer'], f['reader']) for f in found]


def who(found):
    return [f[1:] for f in found]


def placements(answer):
    """node -> (backend, buffer, first byte, past the last) of `plan --json`"""
    return {n['id']: (n['backend'], n['buffer'], n['offset'], n['offset'] + n['length'])
            for n in answer['nodes'] if n['buffer'] is not None}


def share(places, a, b):
    if a not in places or b not in places:
        return False
    x, y = places[a], places[b]
    return x[:2] == y[:2] and x[2] < y[3] and y[2] < x[3]
