#!/usr/bin/env python3
"""The CUDA backend on a device under compute-sanitizer: no byte out of bounds, no race in shared memory.

    test-cuda-sanitizer.py TEST-CUDA TEST-CUDA-RUN

Without a device, or without the sanitizer, it says so and passes nothing."""
import os
import shutil
import subprocess
import sys

suite, runs = sys.argv[1:3]
tool = shutil.which('compute-sanitizer', path=os.pathsep.join([os.environ.get('PATH', ''), '/usr/local/cuda/bin']))
FOUND = 99  # exit status when the sanitizer has found something


def skip(why):
    print('1..0 # SKIP', why)
    sys.exit(0)


plan = subprocess.run([suite, '-l'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
for line in plan.splitlines():
    if line.startswith('1..0 # SKIP '):
        skip(line.split('SKIP ', 1)[1])
if not tool:
    skip('there is a device, and no compute-sanitizer')
CASES = [('memcheck', [suite, '--tap', '-p', '/cuda/op']), ('racecheck', [suite, '--tap', '-p', '/cuda/op']),
         ('memcheck', [runs, '--tap', '-p', '/cuda/session']), ('memcheck', [runs, '--tap', '-p', '/cuda/window'])]
print(f'1..{len(CASES)}')
for n, (kind, command) in enumerate(CASES, 1):
    done = subprocess.run([tool, '--tool', kind, '--error-exitcode', str(FOUND), *command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    name = f'/cuda/{kind}/{os.path.basename(command[0])}{command[-1]}'
    if done.returncode:
        for line in done.stdout.splitlines()[-40:]:
            print('#', line)
        why = 'found something' if done.returncode == FOUND else f'ended with {done.returncode}'
        print(f'not ok {n} {name} - {why}')
    else:
        print(f'ok {n} {name}')
