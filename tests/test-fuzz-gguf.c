/* A bounded fuzz run of the model reader: the golden files and mutations of them from a seed (PSC_SEED repeats one,
 * PSC_FUZZ sets how many). */
#include "core/base/hash.h"
#include "tests/gguf-opened.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define ROOM 8192u

static size_t below(uint64_t *state, size_t n)
{
    return n ? (size_t)(psc_random_next(state) % n) : 0;
}

/* Numbers on which arithmetic likes to go wrong. */
static uint64_t odd_number(uint64_t *state)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       3,
                                       4,
                                       8,
                                       9,
                                       12,
                                       13,
                                       31,
                                       32,
                                       33,
                                       64,
                                       255,
                                       256,
                                       0x7fffffff,
                                       0x80000000,
                                       UINT32_MAX,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 60,
                                       UINT64_C(1) << 61,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX / 2,
                                       UINT64_MAX - 31,
                                       UINT64_MAX};
    return numbers[below(state, G_N_ELEMENTS(numbers))] + below(state, 2) * (below(state, 65) - 32);
}

static size_t mutate(unsigned char *bytes, size_t n, uint64_t *state)
{
    size_t at = below(state, n), length = 1 + below(state, 40), from = below(state, n);
    if (below(state, 3) && at > 600) /* most of the time in the metadata */
        at %= 600;
    uint64_t number = odd_number(state);
    switch (below(state, 6)) {
    case 0: bytes[at] ^= (unsigned char)(1u << below(state, 8)); return n;
    case 1: memcpy(bytes + at, &number, MIN(8, n - at)); return n;
    case 2: memcpy(bytes + at, &number, MIN(4, n - at)); return n;
    case 3: /* a piece is left out */
        length = MIN(length, n - at);
        memmove(bytes + at, bytes + at + length, n - at - length);
        return n - length;
    case 4: /* a piece of itself, elsewhere */
        length = MIN(length, n - MAX(at, from));
        memmove(bytes + at, bytes + from, length);
        return n;
    default: /* a piece twice */
        length = MIN(length, n - at);
        if (n + length > ROOM)
            return at;
        memmove(bytes + at + length, bytes + at, n - at);
        return n + length;
    }
}

static void test_mutations(gconstpointer data)
{
    gsize n;
    unsigned char *golden = load(data, &n), work[ROOM];
    const char *rounds_text = g_getenv("PSC_FUZZ");
    unsigned rounds = rounds_text ? (unsigned)g_ascii_strtoull(rounds_text, NULL, 10) : 20000;
    guint64 seed = test_seed();
    uint64_t state = seed;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    g_assert_cmpuint(n, <, ROOM);
    LLVMFuzzerTestOneInput(golden, n);
    LLVMFuzzerTestOneInput(golden, 0);
    for (unsigned i = 0; i < rounds; i++) {
        size_t size = n;
        memcpy(work, golden, n);
        for (size_t k = 1 + below(&state, 4); k && size; k--)
            size = mutate(work, size, &state);
        LLVMFuzzerTestOneInput(work, size);
    }
    g_free(golden);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"small.gguf", "aligned.gguf", "foreign.gguf",
                                        "part-00001-of-00003.gguf"};
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        char *path = g_strdup_printf("/fuzz/gguf/%s", files[i]);
        g_test_add_data_func(path, files[i], test_mutations);
        g_free(path);
    }
    return g_test_run();
}
