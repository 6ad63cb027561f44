#!/usr/bin/env python3
"""Guards over the source text: who may include whom, where the heap may be touched, how long a file gets.
Prints TAP.

The table is the one of DESIGN.md. A folder takes the row with the longest matching path; what it may include
is a list of folders or files."""
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')

BASE, GRAPH, EVENT, DOC = ['core/base'], ['core/base', 'core/graph'], ['core/base', 'core/graph', 'core/event'], \
    ['core/base', 'core/graph', 'core/event', 'core/doc']
MAY_INCLUDE = {
    'core/base': BASE,
    'core/graph': GRAPH,
    'core/event': EVENT,
    'core/doc': DOC,
    'core/model': DOC + ['core/model'],
    'core/candela': EVENT + ['core/candela'],
    'core/plan': DOC + ['core/candela', 'core/plan'],
    'core/run': DOC + ['core/model', 'core/plan', 'core/run', 'core/debug'],
    'core/debug': ['core'],
    'backends': EVENT + ['core/run/backend.h', 'core/run/probe.h', 'core/model/blocks.h', 'core/model/weight.h', 'core/plan/kv-format.h', 'backends'],
    'traces': ['core', 'traces'],
    'ui/draw': ['core/base', 'core/graph', 'core/event', 'core/doc', 'core/debug', 'ui/draw'],
    'ui': ['core', 'ui'],
    'app': ['core', 'backends', 'traces', 'ui', 'app'],
    'tests': ['core', 'backends', 'traces', 'ui', 'app', 'tests'],
}
# The checker and the history know events and values only, and so does all that they include.
BLIND = ['core/debug/check.h', 'core/debug/check.c', 'core/debug/history.h', 'core/debug/history.c']
BLIND_MAY_REACH = EVENT + ['core/debug']

# System headers that stay in their rooms.
ROOMS = [
    (re.compile(r'(glib|gio|gobject|glib-object|gmodule)(/|\.h|-)'), ['ui', 'app', 'tests'], ['ui/draw', 'app/cli']),
    (re.compile(r'(gtk|gdk|gsk|adwaita|graphene)(/|\.h|-)'), ['ui', 'app', 'tests'], ['ui/draw', 'app/cli']),
    (re.compile(r'(cairo|pango|pangocairo)'), ['ui', 'app', 'tests'], []),
    (re.compile(r'png\.h'), ['ui/draw'], []),
    (re.compile(r'(cjson/)?cJSON'), ['traces'], []),
    (re.compile(r'(cuda|cublas|nvml)'), ['backends/cuda'], []),
]
HEAP = re.compile(r'(?<![\w.>])(malloc|calloc|realloc|reallocarray|aligned_alloc|free|strdup|strndup|asprintf|'
                  r'vasprintf|getline|open_memstream)\s*\(')
HEAP_DOORS = ['core/base/mem.c', 'tests/util.c']
# Every run of a test happens twice (tests/twice.h): its program is linked so, or it calls one that is.
ONCE = {
    'tests/test-cuda-full.c': 'a device that is full has no room for a buffer for every value',
    'tests/test-queued.c': 'a look at a value waits for its queue, which is what is tested: outputs and rows only',
    'tests/test-cuda-windows.c': 'counts what a backend is asked: puts its numbers aside meanwhile',
    'tests/test-twice.c': 'tests the exceptions',
}
PROGRAM = re.compile(r"executable\('(test-[^']*|planscope[^']*)'|(?<=[^_])executable\('test-' \+")
EXCEPTS = re.compile(r'\b(twice_except|twice_looks|twice_meanwhile)\b')
ANOTHER_CLI = re.compile(r"'planscope-cli'|BUILD[^\n]*planscope-cli")
CLI_DOORS = ['tests/cli/common.py', 'tests/ui/journeys.py']
LINES_MAX = 700  # a longer file hides a second noun

COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)

tests = []


def under(path, folders):
    return any(path == f or path.startswith(f + '/') for f in folders)


def row_of(path):
    rows = [r for r in MAY_INCLUDE if under(path, [r])]
    return max(rows, key=len) if rows else None


def blank(match):
    text = match[0]
    if text.startswith('"'):
        return '""'
    return re.sub(r'[^\n]', ' ', text)


def line_of(text, at):
    return text.count('\n', 0, at) + 1


def read_tree():
    """path -> text with comments blanked (strings kept: includes are strings)"""
    files = {}
    for top in ['core', 'backends', 'traces', 'ui', 'app', 'tests']:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith(('.c', '.h', '.cu', '.cuh')):
                    path = os.path.join(folder, name)
                    with open(path, encoding='utf-8') as f:
                        files[os.path.relpath(path, ROOT).replace(os.sep, '/')] = f.read()
    return files


def no_comments(text):
    return COMMENTS.sub(lambda m: m[0] if m[0][0] in '"\'' else re.sub(r'[^\n]', ' ', m[0]), text)


def check(name, faults):
    tests.append((name, faults))


def include_edges(files):
    """(path, line, is_system, target) of every include"""
    for path, text in sorted(files.items()):
        for m in INCLUDE.finditer(no_comments(text)):
            yield path, line_of(text, m.start()), m[1] == '<', m[2]


def closure(files, edges, starts):
    """path -> how it is reached, over headers and the .c files beside them"""
    by_path = {}
    for path, _, is_system, target in edges:
        if not is_system:
            by_path.setdefault(path, []).append(target)
    seen, todo = {}, [(s, s) for s in starts if s in files]
    while todo:
        path, how = todo.pop()
        if path in seen:
            continue
        seen[path] = how
        nexts = list(by_path.get(path, []))
        if path.endswith('.h') and path.startswith('core/debug/') and path[:-2] + '.c' in files:
            nexts.append(path[:-2] + '.c')
        todo += [(n, how + ' -> ' + n) for n in nexts]
    return seen


def call_at(text, at):
    """The call that begins at `at`, to its closing bracket."""
    depth = 0
    for k in range(at, len(text)):
        depth += {'(': 1, ')': -1}.get(text[k], 0)
        if depth == 0 and text[k] == ')':
            return text[at:k + 1]
    return text[at:]


def runs_once(meson):
    return [f'tests/meson.build:{line_of(meson, m.start())}: {m[0]} ...) is not linked with twice_dep'
            for m in PROGRAM.finditer(meson) if 'twice_dep' not in call_at(meson, m.start())]


def scripts():
    """path -> text of the tests that are no C"""
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, 'tests')):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith('.py') and os.sep + 'golden' not in folder:
                with open(path, encoding='utf-8') as f:
                    found[os.path.relpath(path, ROOT).replace(os.sep, '/')] = f.read()
    return found


def self_test():
    """The guards would catch what they guard against."""
    faults = []
    if under('core/graph/graph.h', MAY_INCLUDE['core/base']):
        faults.append('core/base may include core/graph')
    if row_of('ui/draw/paint.c') != 'ui/draw' or row_of('ui/window.c') != 'ui':
        faults.append('the longest row is not taken')
    if not HEAP.search(' free(p)') or HEAP.search('g_free(p)') or HEAP.search('x->free(p)') or HEAP.search('psc_free(p)'):
        faults.append('the heap pattern')
    if 'malloc(' in no_comments('/* malloc(1) */ // malloc(2)'):
        faults.append('comments are not blanked')
    if len(runs_once("x = executable('test-a', 'a.c', dependencies: [b])\nexecutable('test-b', f('c'), dependencies: [twice_dep])")) != 1:
        faults.append('a program whose runs happen once')
    if not EXCEPTS.search('twice_except("")') or EXCEPTS.search('twice_figures.runs') or not ANOTHER_CLI.search("join(BUILD, 'app', 'planscope-cli')"):
        faults.append('the patterns of exceptions')
    return faults


def main():
    files = read_tree()
    edges = list(include_edges(files))
    check('the guards catch what they guard against', self_test())
    if not files:
        check('there are sources to look at', [ROOT + ' has none'])

    faults = {row: [] for row in MAY_INCLUDE}
    missing, foreign = [], []
    for path, line, is_system, target in edges:
        row = row_of(path)
        if is_system:
            for pattern, rooms, but_not in ROOMS:
                if pattern.match(target) and (not under(path, rooms) or under(path, but_not)):
                    foreign.append(f'{path}:{line}: <{target}> belongs to {", ".join(rooms)}')
            continue
        if target not in files:
            missing.append(f'{path}:{line}: "{target}" is not a path from the root')
        elif not under(target, MAY_INCLUDE[row]):
            faults[row].append(f'{path}:{line}: may not include "{target}"')
    for row in MAY_INCLUDE:
        if any(row_of(p) == row for p in files):
            check(f'{row} includes only what the table allows', faults[row])
    check('quoted includes are paths from the root', missing)
    check('libraries stay in their rooms', foreign)

    reached = closure(files, edges, BLIND)
    check('checker and history reach nothing above events',
          [how for path, how in sorted(reached.items()) if not under(path, BLIND_MAY_REACH)])

    reached = closure(files, edges, ['core/candela/exec.c', 'core/candela/kernels.c'])
    check('the executor of lazy plans reaches no alias map',
          [how for path, how in sorted(reached.items()) if path in ('core/candela/alias.h', 'core/candela/claims.h')])

    heap = []
    for path, text in sorted(files.items()):
        if path in HEAP_DOORS:
            continue
        bare = COMMENTS.sub(blank, text)
        heap += [f'{path}:{line_of(bare, m.start())}: {m[1]}()' for m in HEAP.finditer(bare)]
    check('the heap has one door: core/base/mem.h', heap)

    with open(os.path.join(ROOT, 'tests', 'meson.build'), encoding='utf-8') as f:
        once = runs_once(f.read())
    using = {p for p, t in files.items() if EXCEPTS.search(COMMENTS.sub(blank, t)) and p not in ('tests/twice.c', 'tests/twice.h')}
    once += [f'{p}: is not among the exceptions of tests/guards.py' for p in sorted(using - ONCE.keys())]
    once += [f'{p}: is listed as an exception and is none' for p in sorted(ONCE.keys() - using)]
    once += [f'{p}: takes the program itself, not PSC_CLI' for p, t in sorted(scripts().items())
             if ANOTHER_CLI.search(t) and p not in CLI_DOORS and p != 'tests/guards.py']
    check('every run of a test happens twice', once)

    check(f'no file is longer than {LINES_MAX} lines',
          [f'{p} has {t.count(chr(10))} lines' for p, t in sorted(files.items()) if t.count('\n') > LINES_MAX])

    print(f'1..{len(tests)}')
    for k, (name, found) in enumerate(tests, 1):
        for fault in found:
            print(f'# {fault}')
        print(('not ' if found else '') + f'ok {k} /guards/{name.replace(" ", "-").replace("/", ".")}')
    return 1 if any(f for _, f in tests) else 0


sys.exit(main())
