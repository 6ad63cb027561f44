#!/usr/bin/env python3
"""Writes core/model/tiny-vocab.c: byte tokens, the 253 merges that a small English text asks for most, special tokens.

    make-tiny-vocab.py > core/model/tiny-vocab.c
    make-tiny-vocab.py --check FILE               FILE is what this script writes; prints TAP

The text below is ours and ASCII. Words are cut by Qwen2's pattern as far as ASCII knows it. Of equally frequent pairs
the one of lower ids is joined first, so the result never changes. Changing the text changes the tokens of every tiny model
and of all golden files made with them."""
import re
import sys

MERGES = 253
SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
WORDS = re.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n0-9A-Za-z]?[A-Za-z]+|[0-9]| ?[^\s0-9A-Za-z]+[\r\n]*|\s*[\r\n]+|"
                   r"\s+(?!\S)|\s+")

TEXT = """Hello. Hello, world! Hello there, and welcome. Hello again.
Every tensor needs its bytes for a while. The plan says where they are and when another tensor may take them. When the
plan is wrong, a value is written over one that is still needed, and the model begins to say strange things. This is
about seeing that moment: who wrote, who reads, and what was there before.
The first step is the prompt: all of its tokens go through the model at once. After that the model is asked for one
token at a time. Each answer becomes part of the next question. The keys and values of what has been said are kept,
so that nothing is computed twice.
Once upon a time there was a small house by the river. The old man who lived there had a dog and a boat. In the
morning they would go out on the water, and in the evening they would come home with the fish that they had caught.
"What would you like to eat?" the man asked. The dog did not answer, because it was a dog, but it looked at the fish.
You can ask me anything. I will try to help you. What is the capital of the country? How do I write a letter? Can you
tell me a story about a child, a king and a horse? Please explain how the engine of a car works. Thank you very much.
I'm here, you're there, they've gone, we'll see, he'd know, it's fine, she isn't sure, don't worry.
The weather is nice today. The sun is shining, the birds are singing and the children are playing in the garden.
Some people think that it is better to work in the morning; others like to work late at night. There is no right
answer. It depends on what you have to do, on how much time there is, and on the people with whom you work.
A matrix has rows and columns. To multiply two of them, take each row of the first and each column of the second, and
add up the products. The result has as many rows as the first and as many columns as the second.
The user asks and the assistant answers. The system says what the assistant should be: a helpful assistant.
user
assistant
system
"""


def train(text):
    words = {}
    for word in WORDS.findall(text):
        words[word] = words.get(word, 0) + 1
    words = [[list(w.encode()), n] for w, n in sorted(words.items())]
    merges = []
    while len(merges) < MERGES:
        count = {}
        for tokens, n in words:
            for pair in zip(tokens, tokens[1:]):
                count[pair] = count.get(pair, 0) + n
        best = min(count, key=lambda pair: (-count[pair], pair))
        new = 256 + len(merges)
        merges.append(best)
        for entry in words:
            tokens, out, i = entry[0], [], 0
            while i < len(tokens):
                if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == best:
                    out.append(new)
                    i += 2
                else:
                    out.append(tokens[i])
                    i += 1
            entry[0] = out
    return merges


def spelling():
    """byte -> its code point in the vocabularies of byte-level BPE"""
    own = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [b for b in range(256) if b not in own]
    return {**{b: chr(b) for b in own}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def quoted(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def table(items):
    lines, line = [], '   '
    for item in items:
        word = f' T({quoted(item)}),'
        if len(line) + len(word) > 116:
            lines.append(line)
            line = '   '
        line += word
    return '\n'.join(lines + [line])


def source():
    merges, spell = train(TEXT), spelling()
    tokens = [spell[b] for b in range(256)]
    pairs = []
    for left, right in merges:
        pairs.append(tokens[left] + ' ' + tokens[right])
        tokens.append(tokens[left] + tokens[right])
    tokens += SPECIAL
    assert len(set(tokens)) == len(tokens) == 512
    return f'''/* Made by core/model/make-tiny-vocab.py; not edited by hand. */
#include "core/model/tiny-vocab.h"

#define T(text) {{text, sizeof text - 1}}
static const struct psc_vocab_text tokens[PSC_TINY_VOCAB_N] = {{
{table(tokens)}
}};
static const struct psc_vocab_text merges[PSC_TINY_VOCAB_MERGES] = {{
{table(pairs)}
}};
#define SIXTEEN 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
#define ALL_OF  SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN
static const int32_t types[PSC_TINY_VOCAB_N] = {{
    ALL_OF, ALL_OF, ALL_OF, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, PSC_TOKEN_CONTROL, PSC_TOKEN_CONTROL, PSC_TOKEN_CONTROL,
}};

const struct psc_vocab *psc_tiny_vocab(void)
{{
    static const struct psc_vocab vocab = {{
        .tokens = tokens,
        .n = PSC_TINY_VOCAB_N,
        .types = types,
        .merges = merges,
        .merge_n = PSC_TINY_VOCAB_MERGES,
        .bos = 509,
        .eos = 511,
        .add_bos = false,
        .pre = "qwen2",
    }};
    return &vocab;
}}
'''


def check(path):
    with open(path, encoding='utf-8') as f:
        same = f.read() == source()
    print('1..1')
    print(('' if same else 'not ') + 'ok 1 /core/model/tiny-vocab/is-what-its-script-makes')
    return 0 if same else 1


if __name__ == '__main__':
    if sys.argv[1:2] == ['--check']:
        sys.exit(check(sys.argv[2]))
    sys.stdout.write(source())
