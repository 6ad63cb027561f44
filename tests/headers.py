#!/usr/bin/env python3
"""Every header compiles alone, included twice: all in C, those that CUDA sources may include in C++ too.
Prints TAP.

    headers.py ROOT CC [CXX]        packages are asked of pkg-config; a header whose package is missing is skipped

GTK's own headers are most of the work. They are compiled once, and put before those headers that include them by
themselves: one that uses GTK without including it is still found.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT, CC = sys.argv[1], sys.argv[2]
CXX = sys.argv[3] if len(sys.argv) > 3 else next((c for c in ('c++', 'g++', 'clang++') if shutil.which(c)), None)
FLAGS = ['-fsyntax-only', '-D_POSIX_C_SOURCE=200809L', '-D_FILE_OFFSET_BITS=64', '-Wall', '-Wextra', '-Werror', '-I', ROOT]
PACKAGES = {'core': [], 'backends': [], 'traces': ['libcjson'], 'ui/draw': ['cairo', 'pangocairo'],
            'ui': ['gtk4'], 'app': ['gtk4'], 'tests': ['glib-2.0', 'cairo', 'pangocairo']}
IN_CPP = ('core/', 'backends/')
AVX2 = ['-mavx2', '-mf16c']  # for headers called *-avx2.h, which only sources compiled for it include
OLD_GLIB = ['-Wno-deprecated-declarations', '-Wno-unused-parameter']


def headers():
    for top in ('core', 'backends', 'traces', 'ui', 'app', 'tests'):
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, top))):
            for name in sorted(names):
                if name.endswith('.h'):
                    yield os.path.relpath(os.path.join(folder, name), ROOT).replace(os.sep, '/')


def packages_of(header):
    row = max((r for r in PACKAGES if header.startswith(r + '/')), key=len)
    return PACKAGES[row]


flags_cache = {}


def package_flags(names):
    """compiler flags, or None when a package is missing"""
    key = ' '.join(names)
    if key not in flags_cache:
        if not names:
            flags_cache[key] = []
        else:
            try:
                r = subprocess.run(['pkg-config', '--cflags', *names], capture_output=True, text=True)
                # system headers may do as they like
                flags_cache[key] = re.sub(r'(^|\s)-I', r' -isystem ', r.stdout).split() if r.returncode == 0 else None
            except FileNotFoundError:
                flags_cache[key] = None
    return flags_cache[key]


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
includes_cache = {}
HEAVY = 'gtk/gtk.h'


def includes(header):
    """all that a header of the tree includes, by itself or through others of the tree"""
    if header not in includes_cache:
        includes_cache[header] = set()  # a circle ends here
        path = os.path.join(ROOT, header)
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                names = set(INCLUDE.findall(file.read()))
            includes_cache[header] = names.union(*(includes(name) for name in names))
    return includes_cache[header]


def compile_heavy(folder):
    """HEAVY compiled as it will be used; flags that put it first, or none when that cannot be"""
    flags = package_flags(PACKAGES['ui'])
    path = os.path.join(folder, 'heavy.h')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'#include <{HEAVY}>\n')
    if flags is None:
        return []
    r = subprocess.run([CC, '-x', 'c-header', '-std=c17', *[f for f in FLAGS if f != '-fsyntax-only'], *flags, *OLD_GLIB, path, '-o',
                        path + '.gch'], capture_output=True)
    return ['-include', path] if r.returncode == 0 else []


heavy_first = []


def compile_alone(job):
    header, compiler, language, standard = job
    flags = package_flags(packages_of(header))
    if compiler is None:
        return 'skip', 'no C++ compiler'
    if flags is None:
        return 'skip', 'missing: ' + ' '.join(packages_of(header))
    if header.endswith('-avx2.h'):
        if platform.machine() not in ('x86_64', 'i686'):
            return 'skip', 'not an x86 machine'
        flags = flags + AVX2
    if language == 'c' and HEAVY in includes(header) and packages_of(header) == PACKAGES['ui']:
        flags = flags + heavy_first
    text = f'#include "{header}"\n#include "{header}"\n'
    r = subprocess.run([compiler, '-x', language, '-std=' + standard, *FLAGS, *flags, *(OLD_GLIB if packages_of(header) else []), '-'],
                       input=text, capture_output=True, text=True)
    return ('ok', '') if r.returncode == 0 else ('not ok', r.stderr)


def main():
    jobs = [(h, c, l, s) for h in headers() for c, l, s in ((CC, 'c', 'c17'), (CXX, 'c++', 'c++17'))
            if l == 'c' or (h.startswith(IN_CPP) and not h.endswith('-avx2.h'))]
    for h, *_ in jobs:
        package_flags(packages_of(h))
    print(f'1..{len(jobs)}', flush=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix='planscope-headers-') as folder, ThreadPoolExecutor(max_workers=2) as pool:
        heavy_first.extend(compile_heavy(folder))
        for k, (job, (verdict, words)) in enumerate(zip(jobs, pool.map(compile_alone, jobs)), 1):
            name = f'/headers/{job[0]}/compiles-alone-in-{"c" if job[2] == "c" else "cpp"}'
            if verdict == 'not ok':
                failed += 1
                for line in words.splitlines()[:20]:
                    print('# ' + line)
            print(f'ok {k} {name} # SKIP {words}' if verdict == 'skip' else f'{verdict} {k} {name}', flush=True)
    return 1 if failed or not jobs else 0


sys.exit(main())
