/* A bounded fuzz run of the tokenizer over random vocabularies and texts (PSC_SEED repeats one, PSC_FUZZ sets how many). */
#include "core/base/hash.h"
#include "tests/util.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define INPUT_MAX 2048u

static uint64_t state;

static unsigned below(unsigned n)
{
    return (unsigned)(psc_random_next(&state) % n);
}

static size_t add(unsigned char *input, size_t n, unsigned byte)
{
    if (n < INPUT_MAX)
        input[n++] = (unsigned char)byte;
    return n;
}

static size_t add_bytes(unsigned char *input, size_t n, unsigned count)
{
    static const char *const bits[] = {"a",  "b",  "ab",       "<",    "<s>", " ",     "\xc4\xa0",
                                       "\n", "'s", "\xc3\xa9", "\xff", "1",   "<0x41>"};
    while (count > 0) {
        const char *bit = bits[below(G_N_ELEMENTS(bits))];
        for (; *bit && count > 0; bit++, count--)
            n = add(input, n, below(20) ? (unsigned char)*bit : below(256));
    }
    return n;
}

/* A vocabulary that holds in most cases: sums, tokens of all types, now and then a broken merge. */
static size_t make_input(unsigned char *input, bool sound)
{
    size_t n = add(input, 0, below(16) | (below(8) ? 1 : 0));
    if (sound)
        input[0] = (unsigned char)((input[0] | 1) & ~4u);
    for (unsigned ops = 1 + below(40); ops > 0; ops--) {
        unsigned op = below(10);
        if (op < 7 || sound) {
            n = add(input, n, 1);
            n = add(input, n, below(op < 4 ? 40 : 256));
            n = add(input, n, below(op < 4 ? 40 : 256));
        } else if (op < 9 || !sound) {
            unsigned length = below(10);
            n = add(input, n, op < 9 ? 0 : 2);
            if (op < 9)
                n = add(input, n, below(16));
            n = add(input, n, length);
            n = add_bytes(input, n, length);
        }
    }
    n = add(input, n, 3);
    return add_bytes(input, n, below(200));
}

/* In a block of its own, so that a sanitizer sees a read past the end. */
static int run(const unsigned char *input, size_t n)
{
    unsigned char *copy = g_memdup2(input, n ? n : 1);
    int made = LLVMFuzzerTestOneInput(copy, n);
    g_free(copy);
    return made;
}

static void any_vocabulary_is_used_or_refused(void)
{
    const char *asked = g_getenv("PSC_FUZZ");
    unsigned rounds = asked ? (unsigned)g_ascii_strtoull(asked, NULL, 10) : 3000, made = 0;
    unsigned char input[INPUT_MAX];
    state = test_seed();
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, (guint64)state);
    for (unsigned i = 0; i < rounds; i++)
        made += run(input, make_input(input, i % 2)) == 0;
    g_test_message("%u of %u vocabularies were sound", made, rounds);
    g_assert_cmpuint(made, >, rounds / 20);
    g_assert_cmpuint(made, <, rounds);
}

static void any_bytes_are_used_or_refused(void)
{
    unsigned char input[INPUT_MAX];
    unsigned rounds = 0;
    state = test_seed() + 1;
    for (; rounds < 2000; rounds++) {
        unsigned n = below(300);
        for (unsigned i = 0; i < n; i++)
            input[i] = (unsigned char)below(256);
        run(input, n);
    }
    g_assert_cmpuint(rounds, ==, 2000);
}

static void every_prefix_is_used_or_refused(void)
{
    unsigned char input[INPUT_MAX];
    unsigned cases = 0;
    state = test_seed() + 2;
    for (unsigned round = 0; round < 10; round++) {
        size_t size = make_input(input, true);
        for (size_t n = 0; n <= size; n++, cases++)
            run(input, n);
    }
    g_assert_cmpuint(cases, >, 300);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/model/fuzz/any-vocabulary-is-used-or-refused", any_vocabulary_is_used_or_refused);
    g_test_add_func("/core/model/fuzz/any-bytes-are-used-or-refused", any_bytes_are_used_or_refused);
    g_test_add_func("/core/model/fuzz/every-prefix-is-used-or-refused", every_prefix_is_used_or_refused);
    return g_test_run();
}
