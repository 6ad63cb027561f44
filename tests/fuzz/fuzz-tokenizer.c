/* One input of the tokenizer's fuzz run, in libFuzzer's form: the bytes describe a vocabulary and a text. Whatever they
 * are, a tokenizer is made or refused with a sentence, and what it encodes comes back byte for byte.
 *
 *     flags                  1 the 256 byte tokens first, 2 no types, 4 bos, 8 control tokens in the text
 *     0 type length bytes    a token
 *     1 left right           a merge of two tokens, and their sum as a token
 *     2 length bytes         a merge, as it is
 *     3                      the rest is the text
 *
 * test-fuzz-tokenizer.c runs it without clang, over random inputs.
 */
#include "core/base/mem.h"
#include "core/model/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX 600u
#define MERGES_MAX 300u
#define ARENA_MAX  (64u * 1024u)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct input {
    const unsigned char *data;
    size_t n;
    struct psc_vocab_text tokens[TOKENS_MAX], merges[MERGES_MAX];
    int32_t types[TOKENS_MAX];
    char text[ARENA_MAX];
    size_t text_n;
    struct psc_vocab vocab;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static unsigned next_byte(struct input *in)
{
    if (in->n == 0)
        return 3;
    in->n--;
    return *in->data++;
}

/* A copy of bytes in the input's own memory; empty when that is full. */
static struct psc_vocab_text keep(struct input *in, const void *bytes, size_t n)
{
    struct psc_vocab_text text = {in->text + in->text_n, 0};
    if (n <= ARENA_MAX - in->text_n) {
        memcpy(in->text + in->text_n, bytes, n);
        in->text_n += n;
        text.n = n;
    }
    return text;
}

static void add_token(struct input *in, struct psc_vocab_text text, int32_t type)
{
    if (in->vocab.n == TOKENS_MAX)
        return;
    in->types[in->vocab.n] = type;
    in->tokens[in->vocab.n++] = text;
}

static void add_merge(struct input *in, struct psc_vocab_text text)
{
    if (in->vocab.merge_n < MERGES_MAX)
        in->merges[in->vocab.merge_n++] = text;
}

static void add_bytes(struct input *in)
{
    for (unsigned b = 0, next = 0x100; b < 256; b++) {
        bool own = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        unsigned code = own ? b : next++;
        char two[2] = {(char)(0xc0 | code >> 6), (char)(0x80 | (code & 0x3f))}, one = (char)code;
        add_token(in, code < 0x80 ? keep(in, &one, 1) : keep(in, two, 2), PSC_TOKEN_NORMAL);
    }
}

static struct psc_vocab_text take_text(struct input *in)
{
    size_t n = next_byte(in) % 24;
    n = n < in->n ? n : in->n;
    struct psc_vocab_text text = keep(in, in->data, n);
    in->data += n;
    in->n -= n;
    return text;
}

static void add_sum(struct input *in)
{
    unsigned left = next_byte(in) * 3, right = next_byte(in) * 3;
    if (in->vocab.n == 0)
        return;
    struct psc_vocab_text a = in->tokens[left % in->vocab.n], b = in->tokens[right % in->vocab.n];
    char both[600];
    if (a.n + b.n >= sizeof both)
        return;
    memcpy(both, a.s, a.n);
    memcpy(both + a.n, b.s, b.n);
    add_token(in, keep(in, both, a.n + b.n), PSC_TOKEN_NORMAL);
    both[a.n] = ' ';
    memcpy(both + a.n + 1, b.s, b.n);
    add_merge(in, keep(in, both, a.n + b.n + 1));
}

static unsigned read_vocab(struct input *in)
{
    unsigned flags = next_byte(in);
    in->vocab = (struct psc_vocab){.tokens = in->tokens, .types = in->types, .merges = in->merges};
    if (flags & 1)
        add_bytes(in);
    for (unsigned op; (op = next_byte(in)) % 4 != 3;) {
        if (op % 4 == 0) {
            int32_t type = (int32_t)(next_byte(in) % 16);
            add_token(in, take_text(in), type > 7 ? PSC_TOKEN_NORMAL : type);
        } else if (op % 4 == 1) {
            add_sum(in);
        } else {
            add_merge(in, take_text(in));
        }
    }
    if (flags & 2)
        in->vocab.types = NULL;
    in->vocab.bos = in->vocab.eos = PSC_TOKEN_NONE;
    if (flags & 4) {
        in->vocab.bos = next_byte(in);
        in->vocab.add_bos = true;
    }
    return flags & 8 ? PSC_ENCODE_CONTROL : PSC_ENCODE_TEXT;
}

static void use(const struct psc_tokenizer *t, const struct input *in, unsigned flags)
{
    const char *text = (const char *)in->data;
    struct psc_tokens tokens = {0};
    struct psc_text back = {0};
    struct psc_error err = {0};
    enum psc_status status = psc_tokenizer_encode(t, text, in->n, flags, &tokens, &err);
    must(status == PSC_OK || (status == PSC_ERR_UNAVAILABLE && err.text[0] && tokens.n == 0));
    must(tokens.n <= in->n);
    for (size_t i = 0; i < tokens.n; i++) {
        size_t n;
        const char *bytes = psc_tokenizer_bytes(t, tokens.id[i], &n);
        must(bytes && n > 0);
        if (psc_tokenizer_type(t, tokens.id[i]) == PSC_TOKEN_NORMAL)
            must(psc_tokenizer_find(t, bytes, n) == tokens.id[i]);
    }
    if (status == PSC_OK) {
        must(psc_tokenizer_decode(t, tokens.id, tokens.n, &back, NULL) == PSC_OK);
        must(back.n == in->n && (in->n == 0 || memcmp(back.s, text, in->n) == 0));
    }
    psc_text_release(&back);
    psc_tokens_release(&tokens);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct input *in = psc_alloc0(1, sizeof *in);
    must(in != NULL);
    in->data = data;
    in->n = size;
    unsigned flags = read_vocab(in);
    struct psc_tokenizer *t = NULL;
    struct psc_error err = {0};
    enum psc_status status = psc_tokenizer_new(&in->vocab, &t, &err);
    must(status == PSC_OK ? t != NULL : status == PSC_ERR_PARSE && err.text[0] && !t);
    if (t)
        use(t, in, flags);
    bool made = t != NULL;
    psc_tokenizer_free(t);
    psc_free(in);
    return made ? 0 : -1; /* libFuzzer: -1 does not enter the corpus */
}
