#!/usr/bin/env python3
"""Writes tests/golden/tokens.txt: a small vocabulary and what a reference tokenizer makes of awkward texts with it.

    make-tokens.py > tests/golden/tokens.txt      needs `pip install tokenizers==0.23.*`

Lines: `token SPELLED` (ids in order), `special TYPE TEXT` (ids go on), `merge A B`, and
`case NAME HEX : IDS : IDS : BYTES`, the text in hexadecimal, its tokens with control tokens read as such, and without,
and how many bytes each word has, special tokens or not: where words are cut shows in few merges only.

The reference gets Qwen2's pattern and no normaliser. It takes no bytes that are not UTF-8: there each such byte is
replaced by a private character of its own (no letter, number or space either) while the words are cut."""
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
           r"\s+(?!\S)|\s+")
CONTROL, USER = 3, 4
SPECIAL = [('<|endoftext|>', CONTROL), ('<|im_start|>', CONTROL), ('<|im_end|>', CONTROL), ('<|im', CONTROL),
           ('<tool>', USER), ('</tool>', USER), ('<tool>call', USER), ('  <pad>', USER), ('é<é>', CONTROL)]

TEXT = """
The house stands by the river, and the river runs to the sea. In summer the water is low; in winter it isn't. We've seen
boats go by, we'll see more. I'm told that they're carrying stones, that she'd rather stay, that it's late. DON'T WORRY!
    for (int i = 0; i < 10; i++) {
        sum += values[i] * weights[i];    // 42, 1234567890, 3.14
    }
\tif x == y:\n\t\treturn None\r\n\r\n
Das Haus steht am Fluss, und der Fluss fließt ins Meer. Über den Dächern zieht Rauch auf; schön ist's.
La maison est près de la rivière. L'été, l'eau est basse; à l'automne elle déborde.
Дом стоит у реки, и река течёт к морю. Зимой вода стоит высоко.
房子在河边，河水流向大海。夏天水位低，冬天水位高。今天天气很好。
家は川のそばにあり、川は海へ流れる。夏は水が少ない。カタカナとひらがな。
집은 강가에 있고 강은 바다로 흐른다.
البيت قرب النهر والنهر يجري إلى البحر. في الصيف يقل الماء.
הבית עומד ליד הנהר.
घर नदी के किनारे है और नदी समुद्र की ओर बहती है।
บ้านอยู่ริมแม่น้ำ
😀 😃 👍🏽 👩‍👩‍👧 🏳️‍🌈 ❤️ → ≤ ≥ ± × ½ ¾ €
""" * 3

AWKWARD = {
    'empty': '', 'one-space': ' ', 'spaces': '     ', 'trailing-spaces': 'river   ', 'leading-spaces': '   river',
    'spaces-before-a-number': '   7', 'spaces-before-punctuation': '   ...', 'tab-and-word': '\triver',
    'tabs': '\t\t\t', 'newlines': '\n\n\n', 'mixed-newlines': 'a\r\n\r\nb\n\r c\r\r\nd',
    'newline-in-spaces': '  \n  \n  x', 'spaces-to-the-end-after-newline': 'x\n   ',
    'newline-after-punctuation': '...\n\n\r\nx', 'return-after-punctuation': '...\r x !\r\n  \r? .\r\r\n\ry', 'vertical-space': 'a\x0b\x0c\x85b',
    'wide-spaces': 'a\u00a0b\u2003 c\u3000d\u2028e\u202f\u205ff\u1680', 'no-space': 'a\u200bb\u180ec\ufeffd',
    'contractions': "it's they're we've I'm she'll he'd don't",
    'capital-contractions': "IT'S THEY'RE WE'VE I'M SHE'LL HE'D DON'T",
    'mixed-contractions': "it'S we'Ve they'rE he'Ll",
    'capital-contraction-goes-on': "'Something 'TIS 'REalm 'VAlue 'VEry 'Meer 'LLama 'LA 'Das 'Rex",
    'contraction-goes-on': "'something 'tis 'realm 'value 'mother 'lla 'day", 'long-s': "it'ſ 'ſx",
    'apostrophes': "'' ''' 'x' '1' ' s", 'curly-apostrophe': 'it’s', 'contraction-after-space': " 's 'll",
    'digits': '1234567890', 'digits-and-letters': 'a1b22c333', 'other-numbers': '½¾ ²³ ٣٤٥ Ⅷ ① 〇 一二三 १२३',
    'decimal': '3.14159, -2.5e-10, 0x1F', 'emoji': '😀😃 👍🏽', 'emoji-with-joiners': '👩‍👩‍👧‍👦🏳️‍🌈❤️', 'flags': '🇩🇪🇫🇷🇯🇵',
    'combining': 'e\u0301te\u0301 a\u0308o\u0308 \u0301x', 'composed': 'été äö',
    'stacked': 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢', 'chinese': '今天天气很好，我们去海边。', 'japanese': '川は海へ流れる。カタカナ',
    'korean': '강은 바다로', 'arabic': 'البيت قرب النهر ١٢٣', 'arabic-marks': 'مُحَمَّد', 'hebrew': 'הבית עומד',
    'hindi': 'नदी समुद्र की ओर', 'thai': 'บ้านอยู่ริมแม่น้ำ', 'russian': 'Дом у реки',
    'german': 'Straße STRASSE Größe', 'turkish': 'İstanbul ıI', 'ligatures': 'ﬁﬂﬆ', 'wide-letters': '𝐀𝒜𝔄 𐐀 🄰',
    'newer-letters': '\U00031350 \U0002ebf0 \u1c89 \ua7cb', 'private': '\ue000\U0010ffff\ufffd\ufffe',
    'controls': '\x00\x01\x1b[0m\x7f\x80', 'nul-between': 'a\x00b',
    'code': 'for (int i = 0; i < 10; i++) { x[i] += y; }  // sum',
    'python': 'def f(x):\n\tif x == 1:\n\t\treturn None\n', 'url': 'https://example.org/a?b=c&d=%20#e',
    'path': '/usr/share/doc/x.txt', 'operators': '!=<=>=&&||->::...', 'underscores': '__init__ a_b',
    'long-word': 'a' * 300, 'long-mixed-word': 'theriverrunstothesea' * 20, 'long-space': ' ' * 200 + 'x',
    'long-punctuation': '=' * 150, 'special-alone': '<|im_start|>',
    'conversation': '<|im_start|>user\nThe river<|im_end|>\n<|im_start|>assistant\n',
    'special-in-a-word': 'the<|im_end|>re', 'special-and-spaces': '  <|im_end|>  x',
    'specials-side-by-side': '<|im_end|><|im_end|><tool>', 'special-cut-short': '<|im_star',
    'special-prefix': '<|im_', 'special-longest': '<tool>call <tool>cal', 'special-nested': '<|im<|im_end|>',
    'special-with-spaces': 'a   <pad>b  <pad>', 'special-not-ascii': 'é<é>é<é', 'special-in-capitals': '<|IM_END|>',
    'user-defined': 'x<tool>y</tool>z',
}
BROKEN = {
    'stray-continuation': b'a\x80b', 'cut-short': b'caf\xc3', 'cut-short-inside': b'\xe2\x82 \xe2\x82x',
    'overlong': b'\xc0\xaf\xe0\x80\xaf', 'surrogate': b'\xed\xa0\x80\xed\xb0\x80',
    'too-high': b'\xf4\x90\x80\x80\xf8\xff', 'all-high-bytes': bytes(range(128, 256)),
    'broken-between-spaces': b' \xff \xff  \xff\n\xff', 'broken-before-letters': b'\xffriver \xff7 \xff\xffthe',
    'broken-contraction': b"'\xffs 's\xff", 'long-s-cut': b"'\xc5", 'latin-1': 'Größe à été'.encode('latin-1'),
    'utf-16': 'river'.encode('utf-16'),
}


def spelling():
    own = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [b for b in range(256) if b not in own]
    return {**{b: chr(b) for b in own}, **{b: chr(256 + i) for i, b in enumerate(others)}}


SPELL = spelling()


def split():
    return pre_tokenizers.Split(Regex(PATTERN), 'isolated')


def reference():
    tok = Tokenizer(models.BPE())
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tok.pre_tokenizer = pre_tokenizers.Sequence([split(), spell])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tok.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    tok.add_tokens([AddedToken(text, special=False, normalized=False) for text, kind in SPECIAL if kind == USER])
    return tok


def words_of(raw):
    text = ''.join(chr(0xf0000 + ord(c) - 0xdc00) if 0xdc80 <= ord(c) <= 0xdcff else c
                   for c in raw.decode('utf-8', 'surrogateescape'))
    return [b''.join(bytes([ord(c) - 0xf0000]) if 0xf0080 <= ord(c) <= 0xf00ff else c.encode() for c in word)
            for word, _ in split().pre_tokenize_str(text)]


def tokens_of_broken(tok, raw):
    return [t.id for word in words_of(raw) for t in tok.model.tokenize(''.join(SPELL[b] for b in word))]


def pieces(rng):
    pool = [
        "'s", "'LL", "'ve", "'ſ", "'", ' ', '  ', '\n', '\r\n', '\t', ' \n', '\x0b', '\xa0', '\u3000', '\u200d',
        'river', ' the', 'ing', 'É', 'e\u0301', '中', '文', 'の', '강', 'ال', 'न', 'ी', '1', '23', '½', '٣', '👩‍👧', '🏳️',
        'ß', '!', '?!', '...', '==', '(', '<', '<|', '|>', '<|im_start|>', '<|im_end|>', '<|im', '<tool>', 'call',
        '<pad>', '\x00', '\x7f', '_', '€', '\ufffd', 'x' * 9]
    return ''.join(rng.choice(pool) for _ in range(rng.randint(1, 16)))


def main():
    import json
    tok = reference()
    model = json.loads(tok.to_str())['model']
    vocab, merges = model['vocab'], model['merges']
    tokens = sorted(vocab, key=vocab.get)
    n = len(tokens)
    assert [vocab[t] for t in tokens] == list(range(n)) and not any(' ' in t for t in tokens)
    out = ['# made by tests/golden/make-tokens.py with a reference tokenizer']
    out += ['token ' + t for t in tokens]
    out += [f'special {kind} {text}' for text, kind in SPECIAL]
    out += ['merge ' + ' '.join(m) for m in merges]

    # two references: one that knows control tokens, one that does not; both number the special tokens as the file does
    both = []
    for know in (True, False):
        t = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m) for m in merges]))
        t.pre_tokenizer = tok.pre_tokenizer
        known = [(text, kind) for text, kind in SPECIAL if know or kind == USER]
        t.add_tokens([AddedToken(text, special=False, normalized=False) for text, _ in known])
        ids = {t.token_to_id(text): n + [s for s, _ in SPECIAL].index(text) for text, _ in known}
        both.append((t, ids))

    def ids_of(text):
        return [[ids.get(i, i) for i in t.encode(text, add_special_tokens=False).ids] for t, ids in both]

    cases = [(name, text.encode(), *ids_of(text)) for name, text in AWKWARD.items()]
    cases += [(name, raw, *[tokens_of_broken(both[0][0], raw)] * 2) for name, raw in BROKEN.items()]
    rng = random.Random(20250)
    for k in range(250):
        text = pieces(rng)
        cases.append((f'random-{k}', text.encode(), *ids_of(text)))
    for name, raw, control, plain in cases:
        lists = (control, plain, [len(word) for word in words_of(raw)])
        out.append(f"case {name} {raw.hex() or '-'} : " + ' : '.join(' '.join(map(str, numbers)) for numbers in lists))
    sys.stdout.write('\n'.join(out) + '\n')


main()
