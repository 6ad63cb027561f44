#!/usr/bin/env python3
"""The house rules that a compiler does not know: who may include whom, and that every header stands alone.
The table is the one of DESIGN.md."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cli'))
from common import SOURCE, Skip, check, equal, main, test  # noqa: E402

# folder -> project folders it may include, system headers it must not
MAY = {
    'core/base': ['core/base'],
    'core/graph': ['core/base', 'core/graph'],
    'core/event': ['core/base', 'core/graph', 'core/event'],
    'core/doc': ['core/base', 'core/graph', 'core/event', 'core/doc'],
    'core/plan': ['core/base', 'core/graph', 'core/event', 'core/doc', 'core/plan'],
    'core/debug': ['core/base', 'core/graph', 'core/event', 'core/doc', 'core/plan', 'core/debug'],
    'backends': ['core/base', 'core/graph', 'core/event', 'backends'],
    'traces': ['core', 'traces'],
    'ui/draw': ['core/base', 'core/graph', 'core/event', 'core/doc', 'core/plan', 'core/debug', 'ui/draw'],
    'ui': ['core', 'ui'],
    'app': ['core', 'backends', 'traces', 'ui', 'app'],
}
# these know events and values only, and include nothing that knows more
STOP_AT_EVENT = ['core/debug/check.c', 'core/debug/check.h', 'core/debug/history.c', 'core/debug/history.h']
SYSTEM = {
    'core': r'glib|gio|gtk|gdk|cairo|pango|cJSON|cjson|cuda',
    'backends': r'glib|gio|gtk|gdk|cairo|pango|cJSON|cjson',
    'traces': r'glib|gio|gtk|gdk|cairo|pango',
    'ui/draw': r'gio|gtk|gdk|cJSON|cjson',
    'ui': r'cJSON|cjson',
    'app/cli': r'gtk|gdk|gio|glib|cJSON|cjson',
}


def sources():
    for folder in ('core', 'backends', 'traces', 'ui', 'app'):
        for name in glob.glob(os.path.join(SOURCE, folder, '**', '*.[ch]'), recursive=True):
            yield os.path.relpath(name, SOURCE)


def includes(name, form):
    with open(os.path.join(SOURCE, name), encoding='utf-8') as file:
        return re.findall(form, file.read(), re.M)


def longest(name, table):
    """The most particular folder of the table that holds the file."""
    return max((f for f in table if name.startswith(f + '/')), key=len, default=None)


@test
def every_include_follows_the_table():
    bad, seen = [], 0
    for name in sources():
        for included in includes(name, r'^\s*#\s*include\s+"([^"]+)"'):
            seen += 1
            if not any(included.startswith(a + '/') for a in MAY[longest(name, MAY)]):
                bad.append(f'{name} includes {included}')
    check(seen > 50, 'too few includes were seen')
    equal(bad, [])


@test
def the_checker_and_the_history_reach_no_plan_and_no_document():
    for start in STOP_AT_EVENT:
        if not os.path.exists(os.path.join(SOURCE, start)):
            raise Skip(f'{start} is not there')
        todo, reached = [start], set()
        while todo:
            name = todo.pop()
            if name in reached:
                continue
            reached.add(name)
            todo += includes(name, r'^\s*#\s*include\s+"([^"]+)"')
        equal(sorted(n for n in reached if n.startswith(('core/plan', 'core/doc'))), [], start)


@test
def every_library_stays_in_its_folder():
    bad = []
    for name in sources():
        rule = longest(name, SYSTEM)
        for included in includes(name, r'^\s*#\s*include\s+<([^>]+)>'):
            if rule and re.match(SYSTEM[rule], included):
                bad.append(f'{name} includes <{included}>')
    equal(bad, [])


@test
def every_header_compiles_alone():
    compiler = shutil.which(os.environ.get('CC', 'cc'))
    if not compiler:
        raise Skip('no C compiler')
    flags = subprocess.run(['pkg-config', '--cflags', 'pangocairo', 'libcjson'], stdout=subprocess.PIPE).stdout.split()
    bad, seen = [], 0
    for name in sources():
        if not name.endswith('.h') or longest(name, MAY) in ('ui', 'app') and not name.startswith('app/cli'):
            continue
        seen += 1
        done = subprocess.run([compiler, '-std=c17', '-fsyntax-only', '-Wall', '-Werror', '-D_POSIX_C_SOURCE=200809L',
                               '-I', SOURCE, *flags, '-x', 'c', '-'], input=f'#include "{name}"\nint main(void) {{ return 0; }}'.encode(),
                              stderr=subprocess.PIPE)
        if done.returncode:
            bad.append(f"{name}: {done.stderr.decode('utf-8', 'replace')[:200]}")
    check(seen > 15, 'too few headers were seen')
    equal(bad, [])


@test
def no_file_grows_past_its_second_noun():
    long = []
    for name in sources():
        with open(os.path.join(SOURCE, name), encoding='utf-8') as file:
            lines = file.read().count('\n')
        if lines > 700:
            long.append(f'{name} has {lines} lines')
    equal(long, [])


@test
def memory_comes_through_one_door():
    bad = []
    for name in sources():
        if name in ('core/base/mem.c',) or name.startswith(('ui/', 'app/')) and not name.startswith(('ui/draw', 'app/cli')):
            continue
        with open(os.path.join(SOURCE, name), encoding='utf-8') as file:
            text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)
        if re.search(r'(?<![\w.>])(malloc|calloc|realloc|strdup|free)\s*\(', text):
            bad.append(name)
    equal(bad, [])


main()
