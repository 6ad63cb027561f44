/* tests/test-vocab.c: vocabularies of a tokenizer: spelling, special tokens, faults, the tiny one, model files. */
#include "core/model/gguf.h"
#include "core/model/tiny-vocab.h"
#include "tests/tokens.h"
#include "tests/util.h"

#include <string.h>

struct rows {
    struct psc_vocab_text tokens[300], merges[8];
    int32_t types[300];
    char byte[256][3];
    struct psc_vocab vocab;
};

/* Byte tokens at their values, spelled; "ab", "abc", <s>, </s> and the merges that make the first two. */
static void rows_init(struct rows *r)
{
    static const char *const more[] = {"ab", "abc", "<s>", "</s>"}, *const merges[] = {"a b", "ab c"};
    memset(r, 0, sizeof *r);
    for (uint32_t b = 0, next = 0x100; b < 256; b++) {
        bool own = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        r->tokens[b] =
            (struct psc_vocab_text){r->byte[b], (uint64_t)g_unichar_to_utf8(own ? b : next++, r->byte[b])};
    }
    for (uint32_t k = 0; k < 4; k++)
        r->tokens[256 + k] = (struct psc_vocab_text){more[k], strlen(more[k])};
    for (uint32_t k = 0; k < 2; k++)
        r->merges[k] = (struct psc_vocab_text){merges[k], strlen(merges[k])};
    for (uint32_t k = 0; k < 300; k++)
        r->types[k] = k == 258 || k == 259 ? PSC_TOKEN_CONTROL : PSC_TOKEN_NORMAL;
    r->vocab = (struct psc_vocab){.tokens = r->tokens,
                                  .n = 260,
                                  .types = r->types,
                                  .merges = r->merges,
                                  .merge_n = 2,
                                  .bos = 258,
                                  .eos = 259,
                                  .add_bos = true};
}

static void rows_token(struct rows *r, const char *text, int32_t type)
{
    r->types[r->vocab.n] = type;
    r->tokens[r->vocab.n++] = (struct psc_vocab_text){text, strlen(text)};
}

static void rows_merge(struct rows *r, const char *text)
{
    r->merges[r->vocab.merge_n++] = (struct psc_vocab_text){text, strlen(text)};
}

static void assert_refused(const struct rows *r, enum psc_status status, const char *text)
{
    struct psc_tokenizer *t = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_tokenizer_new(&r->vocab, &t, &err), ==, status);
    g_assert_cmpstr(err.text, ==, text);
    g_assert_null(t);
}

static void a_small_vocabulary_works(void)
{
    struct rows r;
    rows_init(&r);
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    test_assert_tokens(t, "abcab", 0, (uint32_t[]){257, 256}, 2);
    test_assert_tokens(t, "bcab a", PSC_ENCODE_BOS, (uint32_t[]){258, 'b', 'c', 256, ' ', 'a'}, 6);
    test_assert_tokens(t, "<s>ab</s>", PSC_ENCODE_CONTROL, (uint32_t[]){258, 256, 259}, 3);
    test_assert_tokens(t, "", PSC_ENCODE_BOS, (uint32_t[]){258}, 1);
    g_assert_cmpuint(psc_tokenizer_n(t), ==, 260);
    g_assert_cmpuint(psc_tokenizer_bos(t), ==, 258);
    g_assert_cmpuint(psc_tokenizer_eos(t), ==, 259);
    g_assert_true(psc_tokenizer_is_stop(t, 259));
    g_assert_false(psc_tokenizer_is_stop(t, 258));
    g_assert_false(psc_tokenizer_is_stop(t, PSC_TOKEN_NONE));
    g_assert_cmpint(psc_tokenizer_type(t, 258), ==, PSC_TOKEN_CONTROL);
    g_assert_cmpuint(psc_tokenizer_find(t, "abc", 3), ==, 257);
    g_assert_cmpuint(psc_tokenizer_find(t, "<s>", 3), ==, 258);
    g_assert_cmpuint(psc_tokenizer_find(t, "abcd", 4), ==, PSC_TOKEN_NONE);
    g_assert_cmpuint(psc_tokenizer_find(t, "", 0), ==, PSC_TOKEN_NONE);
    size_t n = 9;
    g_assert_null(psc_tokenizer_bytes(t, 260, &n));
    g_assert_cmpuint(n, ==, 0);
    psc_tokenizer_free(t);

    r.vocab.add_bos = false;
    t = test_tokenizer(&r.vocab);
    test_assert_tokens(t, "a", PSC_ENCODE_BOS, (uint32_t[]){'a'}, 1);
    psc_tokenizer_free(t);
}

static void tokens_are_spelled_back_into_bytes(void)
{
    struct rows r;
    rows_init(&r);
    rows_token(&r, "\xe4\xbd\xa0", PSC_TOKEN_NORMAL); /* spells no bytes: stands for itself, is never made */
    rows_token(&r, "\xc4\xa0x", PSC_TOKEN_NORMAL);       /* " x" */
    rows_token(&r, "\xc4\xa0x<pad>", PSC_TOKEN_CONTROL); /* as it is */
    rows_token(&r, "", PSC_TOKEN_UNUSED);
    rows_token(&r, "", PSC_TOKEN_UNUSED);
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    for (uint32_t b = 0; b < 256; b++) {
        size_t n;
        g_assert_cmpuint((unsigned char)*psc_tokenizer_bytes(t, b, &n), ==, b);
        g_assert_cmpuint(n, ==, 1);
    }
    static const struct {
        uint32_t id;
        const char *bytes;
    } rows[] = {{260, "\xe4\xbd\xa0"}, {261, " x"}, {262, "\xc4\xa0x<pad>"}, {263, ""}, {258, "<s>"}};
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        size_t n;
        const char *bytes = psc_tokenizer_bytes(t, rows[k].id, &n);
        g_assert_cmpmem(bytes, n, rows[k].bytes, strlen(rows[k].bytes));
    }
    test_assert_tokens(t, "\xe4\xbd\xa0", 0, (uint32_t[]){0xe4, 0xbd, 0xa0}, 3);
    psc_tokenizer_free(t);
}

static void special_tokens_are_cut_out(void)
{
    struct rows r;
    rows_init(&r);
    rows_token(&r, "<s", PSC_TOKEN_CONTROL);         /* 260 */
    rows_token(&r, "<s>ab", PSC_TOKEN_USER_DEFINED); /* 261 */
    rows_token(&r, "b<", PSC_TOKEN_USER_DEFINED);    /* 262 */
    rows_token(&r, "<unk>", PSC_TOKEN_UNKNOWN);      /* 263: never found in a text */
    rows_token(&r, "<pad>", PSC_TOKEN_UNUSED);       /* 264: neither */
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    const unsigned all = PSC_ENCODE_CONTROL;
    test_assert_tokens(t, "<s<s><s>abc", all, (uint32_t[]){260, 258, 261, 'c'}, 4); /* the longest */
    test_assert_tokens(t, "ab<s>", all, (uint32_t[]){'a', 262, 's', '>'}, 4);       /* the earliest */
    test_assert_tokens(t, "<s>ab<s>", 0, (uint32_t[]){261, '<', 's', '>'}, 4);
    test_assert_tokens(t, "<s>a", 0, (uint32_t[]){'<', 's', '>', 'a'}, 4);
    test_assert_tokens(t, "<unk>", all, (uint32_t[]){'<', 'u', 'n', 'k', '>'}, 5);
    test_assert_tokens(t, "<pad>", all, (uint32_t[]){'<', 'p', 'a', 'd', '>'}, 5);
    psc_tokenizer_free(t);
}

static void a_long_special_token_is_not_looked_for(void)
{
    char name[PSC_SPECIAL_BYTES_MAX + 2];
    for (uint32_t n = PSC_SPECIAL_BYTES_MAX; n <= PSC_SPECIAL_BYTES_MAX + 1; n++) {
        struct rows r;
        rows_init(&r);
        memset(name, 'x', n);
        name[n] = '\0';
        rows_token(&r, name, PSC_TOKEN_CONTROL);
        struct psc_tokenizer *t = test_tokenizer(&r.vocab);
        struct psc_tokens tokens = test_tokens(t, name, n, PSC_ENCODE_CONTROL);
        g_assert_cmpuint(tokens.n, ==, n <= PSC_SPECIAL_BYTES_MAX ? 1 : n);
        g_assert_cmpuint(psc_tokenizer_find(t, name, n), ==, 260);
        psc_tokens_release(&tokens);
        psc_tokenizer_free(t);
    }
}

static void types_may_be_missing(void)
{
    struct rows r;
    rows_init(&r);
    r.vocab.types = NULL;
    rows_token(&r, "<|im_start|>", 0);
    rows_token(&r, "<|im_end|>", 0);
    rows_token(&r, "<|endoftext|>", 0);
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    test_assert_tokens(t, "<s><|im_start|></s>", PSC_ENCODE_CONTROL, (uint32_t[]){258, 260, 259}, 3);
    g_assert_true(psc_tokenizer_is_stop(t, 259) && psc_tokenizer_is_stop(t, 261) &&
                  psc_tokenizer_is_stop(t, 262));
    g_assert_false(psc_tokenizer_is_stop(t, 260));
    psc_tokenizer_free(t);
}

static void bytes_without_a_token(void)
{
    struct rows r;
    rows_init(&r);
    r.tokens['z'] = (struct psc_vocab_text){"<0x7A>", 6};
    r.types['z'] = PSC_TOKEN_BYTE;
    r.tokens['q'] = (struct psc_vocab_text){"<gone>", 6};
    r.types['q'] = PSC_TOKEN_UNUSED;
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    test_assert_tokens(t, "zab", 0, (uint32_t[]){'z', 256}, 2); /* the byte's own token serves */
    g_assert_cmpuint(psc_tokenizer_find(t, "z", 1), ==, 'z');
    g_assert_cmpuint(psc_tokenizer_find(t, "q", 1), ==, PSC_TOKEN_NONE);
    struct psc_tokens tokens = test_tokens(t, "ab", 2, 0);
    struct psc_error err = {0};
    g_assert_cmpint(psc_tokenizer_encode(t, "abc aq", 6, PSC_ENCODE_BOS, &tokens, &err), ==,
                    PSC_ERR_UNAVAILABLE);
    g_assert_cmpstr(err.text, ==,
                    "the vocabulary has no token for the byte 0x71, which stands at byte 5 of the text");
    g_assert_cmpuint(tokens.n, ==, 1); /* as it was */
    g_assert_cmpuint(tokens.id[0], ==, 256);
    psc_tokens_release(&tokens);
    psc_tokenizer_free(t);
}

static void faults_of_a_vocabulary_are_named(void)
{
    static const struct {
        const char *token, *merge, *text;
        int32_t type;
    } rows[] = {
        {"abc", NULL, "token 260 'abc' is token 257 again", PSC_TOKEN_NORMAL},
        {"<s>", NULL, "token 260 '<s>' is token 258 again", PSC_TOKEN_CONTROL},
        {"abc", NULL, "token 260 'abc' is token 257 again", PSC_TOKEN_USER_DEFINED},
        {"</s>", NULL, "token 259 '</s>' is token 260 again", PSC_TOKEN_NORMAL},
        {"", NULL, "token 260 is empty", PSC_TOKEN_NORMAL},
        {"new\x1b\xff", NULL,
         "token 260 'new?"
         "?' has the type 7; 1 to 6 are known",
         7},
        {"new", NULL, "token 260 'new' has the type -1; 1 to 6 are known", -1},
        {"<0x4>", NULL, "token 260 '<0x4>' has the type of a byte, but is not spelled '<0x0A>'",
         PSC_TOKEN_BYTE},
        {"<0xG0>", NULL, "token 260 '<0xG0>' has the type of a byte, but is not spelled '<0x0A>'",
         PSC_TOKEN_BYTE},
        {"n", "ab", "merge 2 'ab' is not two tokens with a space between them", PSC_TOKEN_UNUSED},
        {"n", "ab ", "merge 2 'ab ' is not two tokens with a space between them", PSC_TOKEN_UNUSED},
        {"n", " b", "merge 2 ' b' is not two tokens with a space between them", PSC_TOKEN_UNUSED},
        {"n", "", "merge 2 '' is not two tokens with a space between them", PSC_TOKEN_UNUSED},
        {"n", "abd a", "merge 2 'abd a': 'abd' is not a normal token of the vocabulary", PSC_TOKEN_UNUSED},
        {"n", "a <s>", "merge 2 'a <s>': '<s>' is not a normal token of the vocabulary", PSC_TOKEN_UNUSED},
        {"n", "a \xe4\xbd\xa0",
         "merge 2 'a \xe4\xbd\xa0': '\xe4\xbd\xa0' is not a normal token of the vocabulary",
         PSC_TOKEN_UNUSED},
        {"n", "a b c", "merge 2 'a b c': 'b c' is not a normal token of the vocabulary", PSC_TOKEN_UNUSED},
        {"n", "b a", "merge 2 'b a': the two together are not a token of the vocabulary", PSC_TOKEN_UNUSED},
        {"a token whose name goes on and on, so that no sentence can hold it all \xe4\xbd\xa0", NULL,
         "token 260 'a token whose name goes on and on, so that no sentence can h...' has the type 9; 1 to 6 "
         "are known",
         9},
    };
    unsigned cases = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++, cases++) {
        struct rows r;
        rows_init(&r);
        rows_token(&r, rows[k].token, rows[k].type);
        if (rows[k].merge)
            rows_merge(&r, rows[k].merge);
        assert_refused(&r, PSC_ERR_PARSE, rows[k].text);
    }
    g_assert_cmpuint(cases, ==, 19);
}

static void a_vocabulary_needs_its_parts(void)
{
    struct rows r;
    rows_init(&r);
    r.vocab.merge_n = 0;
    assert_refused(&r, PSC_ERR_PARSE, "the vocabulary has no merges; byte-level BPE needs them");
    rows_init(&r);
    r.vocab.n = 0;
    assert_refused(&r, PSC_ERR_PARSE, "the vocabulary has no tokens");
    rows_init(&r);
    r.vocab.bos = 260;
    assert_refused(&r, PSC_ERR_PARSE, "the bos token is 260, outside the vocabulary of 260 tokens");
    rows_init(&r);
    r.vocab.eos = 1000;
    assert_refused(&r, PSC_ERR_PARSE, "the eos token is 1000, outside the vocabulary of 260 tokens");
    rows_init(&r);
    r.vocab.pre = "llama-bpe\n";
    assert_refused(
        &r, PSC_ERR_UNAVAILABLE,
        "the vocabulary cuts words by the pattern 'llama-bpe?'; known are 'qwen2' and 'deepseek-r1-qwen'");
    rows_init(&r);
    r.vocab.n = PSC_VOCAB_MAX + 1;
    assert_refused(&r, PSC_ERR_TOO_BIG,
                   "the vocabulary has 16777217 tokens and 2 merges, at most 16777216 each fit");
    rows_init(&r);
    r.tokens[5].n = 65536;
    assert_refused(&r, PSC_ERR_TOO_BIG, "token 5 has 65536 bytes, at most 65535 fit");
    rows_init(&r);
    r.merges[1].n = 1u << 20;
    assert_refused(&r, PSC_ERR_TOO_BIG, "merge 1 has 1048576 bytes, at most 131071 fit");
}

static void a_merge_twice_keeps_its_first_place(void)
{
    struct rows r;
    rows_init(&r);
    rows_token(&r, "bc", PSC_TOKEN_NORMAL); /* 260 */
    rows_merge(&r, "b c");
    rows_merge(&r, "a b");
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    test_assert_tokens(t, "xabcx", 0, (uint32_t[]){'x', 257, 'x'}, 3);
    psc_tokenizer_free(t);
}

static void a_tower_of_merges_is_climbed_in_one_go(void)
{
    enum { N = (1 << 20) + 7 };
    struct rows r;
    rows_init(&r);
    rows_token(&r, "aa", PSC_TOKEN_NORMAL); /* 260 to 263 */
    rows_token(&r, "aaaa", PSC_TOKEN_NORMAL);
    rows_token(&r, "aaaaaaaa", PSC_TOKEN_NORMAL);
    rows_token(&r, "aaaaaaaaaaaaaaaa", PSC_TOKEN_NORMAL);
    r.vocab.merge_n = 0;
    rows_merge(&r, "a a");
    rows_merge(&r, "aa aa");
    rows_merge(&r, "aaaa aaaa");
    rows_merge(&r, "aaaaaaaa aaaaaaaa");
    struct psc_tokenizer *t = test_tokenizer(&r.vocab);
    char *text = g_malloc(N);
    memset(text, 'a', N);
    gint64 from = g_get_monotonic_time();
    struct psc_tokens tokens = test_tokens(t, text, N, 0);
    g_assert_cmpint(g_get_monotonic_time() - from, <, 20 * G_USEC_PER_SEC); /* the square would be hours */
    g_assert_cmpuint(tokens.n, ==, N / 16 + 3);
    for (size_t i = 0; i < tokens.n; i++)
        g_assert_cmpuint(tokens.id[i], ==,
                         i < N / 16        ? 263
                         : i == N / 16     ? 261
                         : i == N / 16 + 1 ? 260
                                           : 'a');
    psc_tokens_release(&tokens);
    psc_tokenizer_free(t);
    g_free(text);
}

static void the_tiny_vocabulary_is_laid_out_as_written(void)
{
    const struct psc_vocab *v = psc_tiny_vocab();
    struct psc_tokenizer *t = test_tokenizer(v);
    g_assert_cmpuint(v->n, ==, 512);
    g_assert_cmpuint(v->merge_n, ==, 253);
    g_assert_cmpuint(psc_tokenizer_n(t), ==, 512);
    size_t n;
    for (uint32_t b = 0; b < 256; b++) {
        const char *bytes = psc_tokenizer_bytes(t, b, &n);
        g_assert_cmpuint(n, ==, 1);
        g_assert_cmpuint((unsigned char)*bytes, ==, b);
    }
    for (uint32_t k = 0; k < 253; k++) { /* token 256 + k is the sum of merge k */
        char **side = g_strsplit(v->merges[k].s, " ", 2);
        char *sum = g_strconcat(side[0], side[1], NULL);
        g_assert_cmpstr(sum, ==, v->tokens[256 + k].s);
        g_free(sum);
        g_strfreev(side);
    }
    for (uint32_t id = 0; id < 512; id++)
        g_assert_cmpint(psc_tokenizer_type(t, id), ==, id < 509 ? PSC_TOKEN_NORMAL : PSC_TOKEN_CONTROL);
    test_assert_tokens(t, "<|endoftext|><|im_start|><|im_end|>", PSC_ENCODE_CONTROL,
                       (uint32_t[]){509, 510, 511}, 3);
    g_assert_true(psc_tokenizer_is_stop(t, 509) && psc_tokenizer_is_stop(t, 511));
    g_assert_false(psc_tokenizer_is_stop(t, 510));
    g_assert_cmpuint(psc_tokenizer_bos(t), ==, 509);
    g_assert_cmpuint(psc_tokenizer_eos(t), ==, 511);
    struct psc_tokens tokens = test_tokens(t, "Hello", 5, PSC_ENCODE_BOS);
    g_assert_cmpuint(tokens.n, ==, 1);
    psc_tokens_release(&tokens);
    tokens = test_tokens(t, "Hello there, and welcome to the house.", 38, 0);
    g_assert_cmpuint(tokens.n, <=, 16);
    psc_tokens_release(&tokens);
    psc_tokenizer_free(t);
}

/* A model file without tensors: keys are added one by one. */
static GByteArray *file_begin(void)
{
    GByteArray *f = g_byte_array_new();
    g_byte_array_append(f, (const guint8 *)"GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    return f;
}

static void put(GByteArray *f, uint64_t value, guint bytes)
{
    for (guint i = 0; i < bytes; i++) {
        guint8 byte = (guint8)(value >> (8 * i));
        g_byte_array_append(f, &byte, 1);
    }
}

static void put_text(GByteArray *f, const char *s, uint64_t n)
{
    put(f, n, 8);
    g_byte_array_append(f, (const guint8 *)s, (guint)n);
}

static void put_key(GByteArray *f, const char *key, enum psc_gguf_type type)
{
    f->data[16]++;
    put_text(f, key, strlen(key));
    put(f, type, 4);
}

static void put_texts(GByteArray *f, const char *key, const struct psc_vocab_text *texts, uint32_t n)
{
    put_key(f, key, PSC_GGUF_ARRAY);
    put(f, PSC_GGUF_STRING, 4);
    put(f, n, 8);
    for (uint32_t i = 0; i < n; i++)
        put_text(f, texts[i].s, texts[i].n);
}

static void put_types(GByteArray *f, const int32_t *types, uint32_t n)
{
    put_key(f, "tokenizer.ggml.token_type", PSC_GGUF_ARRAY);
    put(f, PSC_GGUF_I32, 4);
    put(f, n, 8);
    for (uint32_t i = 0; i < n; i++)
        put(f, (uint32_t)types[i], 4);
}

/* Takes the file. */
static enum psc_status vocab_of(GByteArray *f, struct psc_arena *arena, struct psc_vocab *ret,
                                struct psc_error *err)
{
    struct psc_gguf gguf;
    char *bytes = psc_arena_alloc(arena, f->len, 1);
    memcpy(bytes, f->data, f->len);
    g_assert_cmpint(psc_gguf_parse(arena, bytes, f->len, &gguf, err), ==, PSC_OK);
    g_byte_array_unref(f);
    return psc_vocab_from_gguf(arena, &gguf, ret, err);
}

static void a_model_file_gives_its_vocabulary(void)
{
    const struct psc_vocab *v = psc_tiny_vocab();
    struct psc_arena arena = {0};
    struct psc_vocab got;
    struct psc_error err = {0};
    GByteArray *f = file_begin();
    put_key(f, "tokenizer.ggml.model", PSC_GGUF_STRING);
    put_text(f, "gpt2", 4);
    put_key(f, "tokenizer.ggml.pre", PSC_GGUF_STRING);
    put_text(f, "qwen2", 5);
    put_texts(f, "tokenizer.ggml.tokens", v->tokens, v->n);
    put_types(f, v->types, v->n);
    put_texts(f, "tokenizer.ggml.merges", v->merges, v->merge_n);
    put_key(f, "tokenizer.ggml.bos_token_id", PSC_GGUF_U32);
    put(f, 509, 4);
    put_key(f, "tokenizer.ggml.eos_token_id", PSC_GGUF_U32);
    put(f, 511, 4);
    put_key(f, "tokenizer.ggml.add_bos_token", PSC_GGUF_BOOL);
    put(f, 1, 1);
    enum psc_status status = vocab_of(f, &arena, &got, &err);
    g_assert_cmpstr(err.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    g_assert_cmpstr(got.pre, ==, "qwen2");
    struct psc_tokenizer *t = test_tokenizer(&got), *tiny = test_tokenizer(v);
    psc_arena_release(&arena); /* the tokenizer needs none of it */
    const char text[] = "<|im_start|>The house isn't here: 42\n\xff";
    struct psc_tokens want = test_tokens(tiny, text, strlen(text), PSC_ENCODE_CONTROL);
    g_assert_cmpuint(psc_tokenizer_eos(t), ==, 511);
    uint32_t bos = 509;
    struct psc_tokens all = test_tokens(t, text, strlen(text), PSC_ENCODE_CONTROL | PSC_ENCODE_BOS);
    g_assert_cmpmem(all.id, sizeof bos, &bos, sizeof bos);
    g_assert_cmpmem(all.id + 1, (all.n - 1) * sizeof *all.id, want.id, want.n * sizeof *want.id);
    psc_tokens_release(&all);
    psc_tokens_release(&want);
    psc_tokenizer_free(tiny);
    psc_tokenizer_free(t);
}

struct file {
    const char *bytes;
    gsize n;
};

static enum psc_status open_and_make(void *data)
{
    const struct file *f = data;
    struct psc_arena arena = {0};
    struct psc_gguf gguf;
    struct psc_vocab vocab;
    struct psc_tokenizer *t = NULL;
    enum psc_status status = psc_gguf_parse(&arena, f->bytes, f->n, &gguf, NULL);
    if (status == PSC_OK)
        status = psc_vocab_from_gguf(&arena, &gguf, &vocab, NULL);
    if (status == PSC_OK)
        status = psc_tokenizer_new(&vocab, &t, NULL);
    psc_tokenizer_free(t);
    psc_arena_release(&arena);
    return status;
}

static void every_allocation_may_fail(void)
{
    const struct psc_vocab *v = psc_tiny_vocab();
    GByteArray *f = file_begin();
    put_key(f, "tokenizer.ggml.model", PSC_GGUF_STRING);
    put_text(f, "gpt2", 4);
    put_texts(f, "tokenizer.ggml.tokens", v->tokens, v->n);
    put_types(f, v->types, v->n);
    put_texts(f, "tokenizer.ggml.merges", v->merges, v->merge_n);
    struct file file = {(const char *)f->data, f->len};
    g_assert_cmpuint(test_oom_loop(open_and_make, &file), >, 12);
    g_byte_array_unref(f);
}

static void a_model_file_may_say_little(void)
{
    struct rows r;
    struct psc_arena arena = {0};
    struct psc_vocab got;
    rows_init(&r);
    GByteArray *f = file_begin();
    put_key(f, "tokenizer.ggml.model", PSC_GGUF_STRING);
    put_text(f, "gpt2", 4);
    put_texts(f, "tokenizer.ggml.tokens", r.tokens, r.vocab.n);
    put_texts(f, "tokenizer.ggml.merges", r.merges, r.vocab.merge_n);
    g_assert_cmpint(vocab_of(f, &arena, &got, NULL), ==, PSC_OK);
    g_assert_true(!got.types && !got.pre && !got.add_bos && got.bos == PSC_TOKEN_NONE &&
                  got.eos == PSC_TOKEN_NONE);
    struct psc_tokenizer *t = test_tokenizer(&got);
    test_assert_tokens(t, "abc", PSC_ENCODE_BOS, (uint32_t[]){257}, 1);
    psc_tokenizer_free(t);
    psc_arena_release(&arena);
}

static void faults_of_a_model_file_are_named(void)
{
    struct rows r;
    struct psc_arena arena = {0};
    struct psc_vocab got;
    struct psc_error err = {0};
    rows_init(&r);
    g_assert_cmpint(vocab_of(file_begin(), &arena, &got, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, "tokenizer.ggml.model"));

    GByteArray *f = file_begin();
    put_key(f, "tokenizer.ggml.model", PSC_GGUF_STRING);
    put_text(f, "llama", 5);
    g_assert_cmpint(vocab_of(f, &arena, &got, &err), ==, PSC_ERR_UNAVAILABLE);
    g_assert_nonnull(strstr(err.text, "'gpt2'"));

    f = file_begin();
    put_key(f, "tokenizer.ggml.model", PSC_GGUF_STRING);
    put_text(f, "gpt2", 4);
    put_texts(f, "tokenizer.ggml.tokens", r.tokens, r.vocab.n);
    put_types(f, r.types, r.vocab.n - 1);
    g_assert_cmpint(vocab_of(f, &arena, &got, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==, "tokenizer.ggml.token_type has 259 items, tokenizer.ggml.tokens has 260");

    f = file_begin(); /* no tokens at all: the tokenizer says so */
    put_key(f, "tokenizer.ggml.model", PSC_GGUF_STRING);
    put_text(f, "gpt2", 4);
    g_assert_cmpint(vocab_of(f, &arena, &got, &err), ==, PSC_OK);
    r.vocab = got;
    assert_refused(&r, PSC_ERR_PARSE, "the vocabulary has no tokens");
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, test) g_test_add_func("/core/model/vocab/" path, test)
    ADD("a-small-one-works", a_small_vocabulary_works);
    ADD("tokens-are-spelled-back-into-bytes", tokens_are_spelled_back_into_bytes);
    ADD("special-tokens-are-cut-out", special_tokens_are_cut_out);
    ADD("a-long-special-token-is-not-looked-for", a_long_special_token_is_not_looked_for);
    ADD("types-may-be-missing", types_may_be_missing);
    ADD("bytes-without-a-token", bytes_without_a_token);
    ADD("faults-are-named", faults_of_a_vocabulary_are_named);
    ADD("it-needs-its-parts", a_vocabulary_needs_its_parts);
    ADD("a-merge-twice-keeps-its-first-place", a_merge_twice_keeps_its_first_place);
    ADD("a-tower-of-merges-is-climbed-in-one-go", a_tower_of_merges_is_climbed_in_one_go);
    ADD("the-tiny-one-is-laid-out-as-written", the_tiny_vocabulary_is_laid_out_as_written);
    ADD("a-model-file-gives-its-own", a_model_file_gives_its_vocabulary);
    ADD("a-model-file-may-say-little", a_model_file_may_say_little);
    ADD("faults-of-a-model-file-are-named", faults_of_a_model_file_are_named);
    ADD("oom", every_allocation_may_fail);
    return g_test_run();
}
