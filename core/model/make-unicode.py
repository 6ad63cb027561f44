#!/usr/bin/env python3
"""Writes core/model/unicode-table.c: which code points are letters, numbers and spaces.

    make-unicode.py > core/model/unicode-table.c      needs unicodedata2 16.0 (`pip install unicodedata2==16.0.0`)
    make-unicode.py --check FILE                      FILE agrees with this Python's unicodedata; prints TAP

The table is of the Unicode version that the reference tokenizers use today. Python's own unicodedata is older as a rule
and knows fewer characters: the check asks about those that it knows."""
import re
import sys
import unicodedata

OTHER, LETTER, NUMBER, SPACE = range(4)
WHITE_SPACE = ([9, 10, 11, 12, 13, 0x20, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000] +
               list(range(0x2000, 0x200b)))  # the property White_Space, which unicodedata has not


def class_of(category, code):
    if code in WHITE_SPACE:
        return SPACE
    return {'L': LETTER, 'N': NUMBER}.get(category[0], OTHER)


def bounds(data):
    """(first code point, class) of each run of one class"""
    runs = []
    for code in range(0x110000):
        kind = class_of(data.category(chr(code)), code)
        if not runs or runs[-1][1] != kind:
            runs.append((code, kind))
    return runs


def write():
    import unicodedata2
    runs = bounds(unicodedata2)
    out = [f'/* Made by core/model/make-unicode.py from Unicode {unicodedata2.unidata_version}; not edited by hand. */',
           '#include "core/model/unicode.h"', '',
           f'const uint32_t psc_char_bound_n = {len(runs)};',
           'const uint32_t psc_char_bounds[] = {']
    words = [f'0x{code << 2 | kind:x},' for code, kind in runs]
    line = '   '
    for word in words:
        if len(line) + 1 + len(word) > 118:
            out.append(line)
            line = '   '
        line += ' ' + word
    print('\n'.join(out + [line, '};']))


def check(path):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    words = [int(w, 16) for w in re.findall(r'\b0x[0-9a-f]+', text)]
    faults, asked = [], 0
    newer = int(unicodedata.unidata_version.split('.')[0]) > 16  # then it also knows letters that the table does not
    stated = int(re.search(r'bound_n = (\d+)', text)[1])
    if stated != len(words):
        faults.append(f'bound_n is {stated}, the table has {len(words)} entries')
    if words != sorted(words) or words[0] >> 2:
        faults.append('the table does not begin at 0 or does not ascend')
    ends = [w >> 2 for w in words[1:]] + [0x110000]
    for word, end in zip(words, ends):
        for code in range(word >> 2, end):
            category = unicodedata.category(chr(code))
            if category == 'Cn' and code not in WHITE_SPACE:
                continue
            asked += 1
            if newer and word & 3 == OTHER:
                continue
            if class_of(category, code) != word & 3:
                faults.append(f'U+{code:04X} is {category}, the table says {word & 3}')
    if asked < 200000:
        faults.append(f'only {asked} characters were asked about')
    print('1..1')
    for fault in faults[:20]:
        print('# ' + fault)
    print(('not ' if faults else '') + 'ok 1 /core/model/unicode/the-table-agrees-with-unicodedata')
    return 1 if faults else 0


if __name__ == '__main__':
    if sys.argv[1:2] == ['--check']:
        sys.exit(check(sys.argv[2]))
    write()
