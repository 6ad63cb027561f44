#include "tests/tokens.h"

#include "tests/util.h"

#include <string.h>

struct psc_tokenizer *test_tokenizer(const struct psc_vocab *vocab)
{
    struct psc_tokenizer *t = NULL;
    struct psc_error err = {0};
    enum psc_status status = psc_tokenizer_new(vocab, &t, &err);
    g_assert_cmpstr(err.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    return t;
}

struct psc_tokens test_tokens(const struct psc_tokenizer *t, const char *text, size_t n, unsigned flags)
{
    struct psc_tokens tokens = {0};
    struct psc_error err = {0};
    enum psc_status status = psc_tokenizer_encode(t, text, n, flags, &tokens, &err);
    g_assert_cmpstr(err.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    return tokens;
}

void test_assert_tokens(const struct psc_tokenizer *t, const char *text, unsigned flags, const uint32_t *ids,
                        size_t n)
{
    struct psc_tokens tokens = test_tokens(t, text, strlen(text), flags);
    g_assert_cmpmem(tokens.id, tokens.n * sizeof *ids, ids, n * sizeof *ids);
    psc_tokens_release(&tokens);
}

static struct psc_vocab_text text_of(const char *s)
{
    return (struct psc_vocab_text){s, strlen(s)};
}

static GByteArray *bytes_of(const char *hex)
{
    GByteArray *bytes = g_byte_array_new();
    if (strcmp(hex, "-") == 0)
        return bytes;
    for (; hex[0] && hex[1]; hex += 2) {
        guint8 byte = (guint8)(g_ascii_xdigit_value(hex[0]) * 16 + g_ascii_xdigit_value(hex[1]));
        g_byte_array_append(bytes, &byte, 1);
    }
    g_assert_cmpint(*hex, ==, '\0');
    return bytes;
}

static struct golden_case *case_of(const char *line)
{
    struct golden_case *c = g_new0(struct golden_case, 1);
    char **word = g_strsplit(line, " ", -1);
    GArray **lists[] = {&c->ids[0], &c->ids[1], &c->words};
    int list = -1;
    c->name = g_strdup(word[1]);
    c->text = bytes_of(word[2]);
    for (char **w = word + 3; *w; w++) {
        if (strcmp(*w, ":") == 0) {
            g_assert_cmpint(++list, <, 3);
            *lists[list] = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        } else if (**w) {
            uint32_t id = (uint32_t)g_ascii_strtoull(*w, NULL, 10);
            g_array_append_val(*lists[list], id);
        }
    }
    g_assert_cmpint(list, ==, 2);
    g_strfreev(word);
    return c;
}

static void case_free(gpointer data)
{
    struct golden_case *c = data;
    g_free(c->name);
    g_byte_array_unref(c->text);
    g_array_unref(c->ids[0]);
    g_array_unref(c->ids[1]);
    g_array_unref(c->words);
    g_free(c);
}

static void take_line(struct golden_vocab *g, const char *line)
{
    int32_t normal = PSC_TOKEN_NORMAL;
    struct psc_vocab_text text;
    if (g_str_has_prefix(line, "token ")) {
        text = text_of(line + 6);
        g_array_append_val(g->tokens, text);
        g_array_append_val(g->types, normal);
    } else if (g_str_has_prefix(line, "special ")) {
        int32_t type = line[8] - '0';
        text = text_of(line + 10);
        g_array_append_val(g->tokens, text);
        g_array_append_val(g->types, type);
    } else if (g_str_has_prefix(line, "merge ")) {
        text = text_of(line + 6);
        g_array_append_val(g->merges, text);
    } else if (g_str_has_prefix(line, "case ")) {
        g_ptr_array_add(g->cases, case_of(line));
    } else {
        g_assert_true(*line == '#' || *line == '\0');
    }
}

struct golden_vocab *golden_vocab_new(void)
{
    struct golden_vocab *g = g_new0(struct golden_vocab, 1);
    char *path = test_source_path("tests/golden/tokens.txt"), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g->lines = g_strsplit(text, "\n", -1);
    g->tokens = g_array_new(FALSE, FALSE, sizeof(struct psc_vocab_text));
    g->types = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g->merges = g_array_new(FALSE, FALSE, sizeof(struct psc_vocab_text));
    g->cases = g_ptr_array_new_with_free_func(case_free);
    for (char **line = g->lines; *line; line++)
        take_line(g, *line);
    g->vocab = (struct psc_vocab){.tokens = (const struct psc_vocab_text *)(const void *)g->tokens->data,
                                  .n = g->tokens->len,
                                  .types = (const int32_t *)(const void *)g->types->data,
                                  .merges = (const struct psc_vocab_text *)(const void *)g->merges->data,
                                  .merge_n = g->merges->len,
                                  .bos = PSC_TOKEN_NONE,
                                  .eos = PSC_TOKEN_NONE,
                                  .pre = "qwen2"};
    g_free(text);
    g_free(path);
    return g;
}

void golden_vocab_free(struct golden_vocab *g)
{
    g_strfreev(g->lines);
    g_array_unref(g->tokens);
    g_array_unref(g->types);
    g_array_unref(g->merges);
    g_ptr_array_unref(g->cases);
    g_free(g);
}
