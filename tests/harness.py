#!/usr/bin/env python3
"""Runs the test programs of meson build folders and counts their subtests.

    harness.py BUILD[:SUITE,SUITE...]... [--broken WHAT]... [-- NAME...]

Programs come from `meson introspect --tests`; each runs with the environment, arguments and time limit that
meson.build gives it, as many at once as there are processors (those marked is_parallel: false alone). Every
subtest of a TAP program counts; a program that crashes, runs out of time, exits with an error or reports less
than it planned counts as failed for what is missing. --broken counts a failure that came before (a build).
The last line is `N passed, N failed, N skipped`; exit status 1 when anything failed or nothing passed."""
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

TAIL = 40  # lines of a failed program's output that are shown
POINT = re.compile(r'\s*(not )?ok\b(?:\s+(\d+))?\s*(?:- )?(.*)')
PLAN = re.compile(r'1\.\.(\d+)(?:\s*#\s*SKIP\b\s*(.*))?', re.I)
DIRECTIVE = re.compile(r'(?:^|\s)#\s*(SKIP|TODO)\b\s*(.*)', re.I)


class Result:
    """What one program said: passed, skipped (counts) and failed (a list of sentences)."""

    def __init__(self):
        self.passed, self.skipped, self.failed = 0, 0, []

    def read_tap(self, text):
        planned, seen, bailed = None, 0, None
        for line in text.splitlines():
            if line.startswith('Bail out!'):
                bailed = line[9:].strip() or 'bailed out'
                continue
            plan = PLAN.match(line)
            if plan:
                planned = int(plan[1])
                if planned == 0:
                    self.skipped += 1
                continue
            point = POINT.match(line) if line.startswith(('ok', 'not ok')) else None
            if not point:
                continue
            seen += 1
            name = point[3] or f'subtest {point[2]}'
            directive = DIRECTIVE.search(name)
            if directive and directive[1].upper() == 'SKIP':
                self.skipped += 1
            elif point[1] or directive:
                self.failed.append(name)
            else:
                self.passed += 1
        missing = (planned or 0) - seen
        if bailed and (missing > 0 or not self.failed):
            self.failed.append(bailed)
            missing -= 1
        self.failed += ['planned but never reported'] * missing
        if planned is None:
            self.failed.append('it printed no plan (1..N)')
        elif seen > planned:
            self.failed.append(f'planned {planned} subtests and reported {seen}')

    def read_status(self, status):
        if status == 0:
            self.passed += 1
        elif status == 77:
            self.skipped += 1
        else:
            self.failed.append(f'exit status {status}')


def run_program(test):
    """Runs one program in its build folder, as meson does, to its end or its time limit: (result, output, seconds)."""
    env = dict(os.environ, **test['env'])
    # a leak inside fontconfig or pango is not ours to mend
    env.setdefault('LSAN_OPTIONS', 'suppressions="' + os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lsan.supp')
                   + '":print_suppressions=0')
    env.setdefault('UBSAN_OPTIONS', 'halt_on_error=1:print_stacktrace=1')
    env.setdefault('G_SLICE', 'always-malloc')
    result, start = Result(), time.monotonic()
    try:
        child = subprocess.Popen(test['cmd'], env=env, cwd=test.get('workdir') or test['build'], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        result.failed.append(f'cannot be started: {error}')
        return result, '', 0.0
    late = False
    try:
        out = child.communicate(timeout=test['timeout'] * test['slower'])[0]
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(child.pid, signal.SIGKILL)
        out = child.communicate()[0]
    seconds, text = time.monotonic() - start, out.decode('utf-8', 'replace')
    if test['protocol'] == 'tap':
        result.read_tap(text)
        if not late and child.returncode != 0 and not result.failed:
            result.failed.append(ending(child.returncode))
        elif child.returncode < 0 and not late:
            result.failed[0] += f' ({ending(child.returncode)})'
    elif not late:
        result.read_status(child.returncode)
    if late:
        result.failed.append(f"no end after {test['timeout'] * test['slower']} seconds")
    return result, text, seconds


def ending(status):
    if status >= 0:
        return f'exit status {status}'
    try:
        return f'killed by {signal.Signals(-status).name}'
    except ValueError:
        return f'killed by signal {-status}'


def collect(spec, names):
    """The programs of one build folder that its suites and the given names select."""
    build, _, suites = spec.partition(':')
    if not os.path.isdir(build):  # a folder name may hold a colon itself
        build, suites = spec, ''
    suites = set(filter(None, suites.split(',')))
    listed = json.loads(subprocess.run(['meson', 'introspect', '--tests', build], check=True,
                                       stdout=subprocess.PIPE).stdout)
    chosen = []
    for test in listed:
        own = {s.split(':')[-1] for s in test['suite']}
        if suites and not suites & own or names and not names & (own | {test['name']}):
            continue
        chosen.append(dict(test, build=build, label=f"{os.path.basename(build)}/{test['name']}", slower=4 if suites else 1))
    return chosen


def main(argv):
    names = set()
    if '--' in argv:
        names = set(argv[argv.index('--') + 1:])
        argv = argv[:argv.index('--')]
    broken = [argv[i + 1] for i, word in enumerate(argv) if word == '--broken']
    specs = [word for i, word in enumerate(argv) if word != '--broken' and (i == 0 or argv[i - 1] != '--broken')]
    tests = [test for spec in specs for test in collect(spec, names)]
    passed, skipped, failures = 0, 0, [f'{what}: failed' for what in broken]
    lock = threading.Lock()
    width = max((len(t['label']) for t in tests), default=0)

    def go(test):
        nonlocal passed, skipped
        result, text, seconds = run_program(test)
        with lock:
            passed += result.passed
            skipped += result.skipped
            count = f'{result.passed} passed'
            if result.failed:
                count += f', {len(result.failed)} FAILED'
            if result.skipped:
                count += f', {result.skipped} skipped'
            print(f"{test['label']:{width}}  {count}  ({seconds:.1f} s)", flush=True)
            for what in result.failed:
                failures.append(f"{test['label']}: {what}")
            for what, n in collections.Counter(result.failed).items():
                print(f"    FAILED {what}{f' ({n} times)' if n > 1 else ''}", flush=True)
            if result.failed:
                for line in text.splitlines()[-TAIL:]:
                    print(f'    | {line}', flush=True)

    # long ones first, so that the last processor does not wait for one of them
    beside = sorted((t for t in tests if t.get('is_parallel', True)), key=lambda t: -t['timeout'])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(go, beside))
    for test in tests:
        if not test.get('is_parallel', True):
            go(test)
    if failures:
        print('\nfailed:')
        for line, n in collections.Counter(failures).items():
            print(f"  {line}{f' ({n} times)' if n > 1 else ''}")
    print(f'{passed} passed, {len(failures)} failed, {skipped} skipped')
    return 1 if failures or not passed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
