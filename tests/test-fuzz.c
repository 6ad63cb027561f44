/* A bounded fuzz run of the readers: every file of the corpus, every prefix of it, and mutations from a seed
 * (PSC_SEED repeats one, PSC_FUZZ sets how many). */
#include "core/base/hash.h"
#include "tests/util.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define INPUT_MAX 65536u

static GPtrArray *corpus; /* of GBytes */

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void load_corpus(void)
{
    char *folder = test_source_path("tests/fuzz/corpus");
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(names, g_build_filename(folder, name, NULL));
    g_dir_close(dir);
    g_ptr_array_sort(names, compare_names);
    corpus = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (guint i = 0; i < names->len; i++) {
        char *text;
        gsize n;
        g_assert_true(g_file_get_contents(names->pdata[i], &text, &n, NULL));
        g_assert_cmpuint(n, <, INPUT_MAX);
        g_ptr_array_add(corpus, g_bytes_new_take(text, n));
    }
    g_ptr_array_unref(names);
    g_free(folder);
    g_assert_cmpuint(corpus->len, >=, 5);
}

static size_t below(uint64_t *state, size_t n)
{
    return n ? (size_t)(psc_random_next(state) % n) : 0;
}

/* Replaces [at, at + drop) by n bytes, within the limits of the buffer. */
static size_t splice(unsigned char *text, size_t size, size_t at, size_t drop, const void *bytes, size_t n)
{
    if (drop > size - at)
        drop = size - at;
    if (size - drop + n > INPUT_MAX)
        return size;
    memmove(text + at + n, text + at + drop, size - at - drop);
    memcpy(text + at, bytes, n);
    return size - drop + n;
}

static size_t mutate(unsigned char *text, size_t size, uint64_t *state)
{
    static const char *const words[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "null",
                                        "NaN",
                                        "-Infinity",
                                        "true",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "-1",
                                        "1e999",
                                        "0.5",
                                        "\"id\":",
                                        "\"nodes\":[",
                                        "\"phases\":[",
                                        "\"steps\":[",
                                        "\"graph\":",
                                        "\"shape\":[4294967295,4294967295]",
                                        "\"src\":[0]",
                                        "\\ud800",
                                        "\\u0000",
                                        "\\",
                                        "\xff",
                                        "\x1b",
                                        "\"planscope\":{",
                                        "\"version\":1",
                                        "\"placements\":[",
                                        "[[[[[[[[",
                                        "4294967295"};
    size_t at = below(state, size + 1), n = 1 + below(state, 24);
    unsigned char piece[64];
    switch (below(state, 8)) {
    case 0:
        if (at < size)
            text[at] ^= (unsigned char)(1u << below(state, 8));
        return size;
    case 1:
        if (at < size)
            text[at] = (unsigned char)below(state, 256);
        return size;
    case 2: return splice(text, size, at, n, "", 0);
    case 3: { /* a piece of itself, elsewhere */
        size_t from = below(state, size);
        if (n > size - from)
            n = size - from;
        memcpy(piece, text + from, n);
        return splice(text, size, at, 0, piece, n);
    }
    case 4: { /* a longer piece of another file */
        gsize other_n;
        const char *other = g_bytes_get_data(corpus->pdata[below(state, corpus->len)], &other_n);
        size_t from = below(state, other_n), length = below(state, other_n - from);
        return splice(text, size, at, below(state, length + 1), other + from, length);
    }
    case 5: return at; /* cut off */
    default: {
        const char *word = words[below(state, G_N_ELEMENTS(words))];
        return splice(text, size, at, below(state, 4), word, strlen(word));
    }
    }
}

static void every_prefix_of_the_corpus_is_read_in_order(void)
{
    unsigned runs = 0;
    for (guint i = 0; i < corpus->len; i++) {
        gsize n;
        const unsigned char *text = g_bytes_get_data(corpus->pdata[i], &n);
        for (gsize k = 0; k <= n; k += n > 2000 ? 7 : 1, runs++) {
            /* in a block of its own, so that a sanitizer sees a read past the end */
            unsigned char *copy = g_memdup2(text, k ? k : 1);
            LLVMFuzzerTestOneInput(copy, k);
            g_free(copy);
        }
    }
    g_assert_cmpuint(runs, >, 3000);
}

static void mutations_are_read_in_order(void)
{
    const char *count = g_getenv("PSC_FUZZ");
    uint64_t seed = test_seed(), total = count ? g_ascii_strtoull(count, NULL, 10) : 6000;
    unsigned char *text = g_malloc(INPUT_MAX);
    for (uint64_t k = 0; k < total; k++) {
        uint64_t state = seed + k; /* each run by itself repeatable: PSC_SEED=<seed + k> PSC_FUZZ=1 */
        gsize n;
        const void *base = g_bytes_get_data(corpus->pdata[below(&state, corpus->len)], &n);
        memcpy(text, base, n);
        size_t size = n;
        for (size_t changes = 1 + below(&state, 6); changes; changes--)
            size = mutate(text, size, &state);
        unsigned char *copy = g_memdup2(text, size ? size : 1);
        LLVMFuzzerTestOneInput(copy, size);
        g_free(copy);
    }
    g_test_message("%" G_GUINT64_FORMAT " mutations from seed %" G_GUINT64_FORMAT, (guint64)total,
                   (guint64)seed);
    g_free(text);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    load_corpus();
    g_test_add_func("/traces/fuzz/every-prefix-of-the-corpus-is-read-in-order",
                    every_prefix_of_the_corpus_is_read_in_order);
    g_test_add_func("/traces/fuzz/mutations-are-read-in-order", mutations_are_read_in_order);
    int status = g_test_run();
    g_ptr_array_unref(corpus);
    return status;
}
