/* Model files that are not right, made byte by byte: each gets its sentence, and costs no more than what is there. */
#include "tests/gguf-opened.h"

static void b_empty(GByteArray *b)
{
    (void)b;
}
static void b_zip(GByteArray *b)
{
    add_u64(b, 0x04034b50);
    add_zeros(b, 60);
}
static void b_big_endian(GByteArray *b)
{
    add_header(b, 3u << 24, 1ull << 56, 1ull << 56);
    add_zeros(b, 60);
}
static void b_version_1(GByteArray *b)
{
    add_header(b, 1, 0, 0);
}
static void b_version_4(GByteArray *b)
{
    add_header(b, 4, 0, 0);
}
static void b_no_version(GByteArray *b)
{
    g_byte_array_append(b, (const guint8 *)"GGUF\3\0", 6);
}
static void b_half_header(GByteArray *b)
{
    add_header(b, 3, 0, 0);
    g_byte_array_set_size(b, 20);
}
static void b_many_keys(GByteArray *b)
{
    add_header(b, 3, 0, 1ull << 60);
    add_zeros(b, 1000);
}
static void b_many_tensors(GByteArray *b)
{
    add_header(b, 3, 43, 0);
    add_zeros(b, 1000);
}
static void b_long_key(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_u64(b, UINT64_MAX);
    add_zeros(b, 100);
}
static void b_huge_key(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_u64(b, 70000);
    add_zeros(b, 80000);
}
static void b_nul_in_key(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_bytes(b, "a\0b", 3);
    add_u32(b, PSC_GGUF_U32);
    add_u32(b, 0);
}
static void b_value_type(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k\x1b", (enum psc_gguf_type)13);
    add_zeros(b, 8);
}
static void b_item_type(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_ARRAY);
    add_array(b, 77, 1);
    add_zeros(b, 8);
}
static void b_bool(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_BOOL);
    add_uint(b, 2, 1);
}
static void b_bool_item(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_BOOL, 3);
    add_uint(b, 0x020100, 3);
}
static void b_long_text(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_STRING);
    add_u64(b, 101);
    add_zeros(b, 100);
}
static void b_long_array(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_U64, 1ull << 61); /* times 8 is 0 in 64 bits */
    add_zeros(b, 100);
}
static void b_long_text_array(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_STRING, 4);
    add_text(b, "one");
    add_text(b, "two");
    add_u64(b, UINT64_MAX - 4);
    add_zeros(b, 100);
}
static void b_deep(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "k", PSC_GGUF_ARRAY);
    for (int i = 0; i < 100000; i++)
        add_array(b, PSC_GGUF_ARRAY, 1);
    add_array(b, PSC_GGUF_U8, 0);
}
static void b_same_key(GByteArray *b)
{
    add_header(b, 3, 0, 3);
    add_key_u32(b, "k", 1);
    add_key_u32(b, "other", 1);
    add_key_u32(b, "k", 1);
}
static void b_alignment_type(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key(b, "general.alignment", PSC_GGUF_STRING);
    add_text(b, "32");
}
static void b_alignment_odd(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key_u32(b, "general.alignment", 48);
}
static void b_alignment_zero(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key_u32(b, "general.alignment", 0);
}
static void b_alignment_vast(GByteArray *b)
{
    add_header(b, 3, 0, 1);
    add_key_u32(b, "general.alignment", 1u << 31);
}
static void one_tensor(GByteArray *b, guint64 in, guint64 out, guint32 type, guint64 offset, guint data)
{
    add_header(b, 3, 1, 0);
    add_tensor(b, "w", in, out, type, offset);
    pad_to(b, 32);
    add_zeros(b, data);
}
static void b_dims(GByteArray *b)
{
    add_header(b, 3, 1, 0);
    add_text(b, "w");
    add_u32(b, 5);
    add_zeros(b, 100);
}
static void b_product(GByteArray *b)
{
    one_tensor(b, 1ull << 33, 1ull << 31, 0, 0, 100);
}
static void b_product_and_zero(GByteArray *b)
{
    add_header(b, 3, 1, 0);
    add_text(b, "w");
    add_u32(b, 3);
    add_u64(b, 1ull << 33);
    add_u64(b, 1ull << 33);
    add_u64(b, 0);
    add_zeros(b, 100);
}
static void b_bytes(GByteArray *b)
{
    one_tensor(b, 1ull << 62, 1, 0, 0, 100);
}
static void b_block(GByteArray *b)
{
    one_tensor(b, 896, 2, 12, 0, 2000);
}
static void b_offset(GByteArray *b)
{
    one_tensor(b, 4, 1, 0, 8, 100);
}
static void b_past_end(GByteArray *b)
{
    one_tensor(b, 4, 1, 0, 96, 100);
}
static void b_far_offset(GByteArray *b)
{
    one_tensor(b, 4, 1, 0, UINT64_MAX - 31, 100);
}
static void b_sum(GByteArray *b)
{
    one_tensor(b, (1ull << 62) - 8, 1, 0, 32, 100); /* 2^64 - 32 bytes at byte 32 */
}
static void b_no_data(GByteArray *b)
{
    add_header(b, 3, 1, 0);
    add_tensor(b, "w", 4, 1, 0, 0);
}
static void b_same_tensor(GByteArray *b)
{
    add_header(b, 3, 2, 0);
    add_tensor(b, "w", 4, 1, 0, 0);
    add_tensor(b, "w", 4, 1, 0, 32);
    add_zeros(b, 200);
}
static void b_overlap(GByteArray *b)
{
    add_header(b, 3, 3, 0); /* in another order than they lie, the first two touch */
    add_tensor(b, "behind", 8, 1, 0, 32);
    add_tensor(b, "before", 8, 1, 0, 0);
    add_tensor(b, "over", 24, 1, 0, 32);
    add_zeros(b, 300);
}
static void b_cut_tensor(GByteArray *b)
{
    add_header(b, 3, 2, 0);
    add_tensor(b, "w", 4, 1, 0, 0);
    add_text(b, "second.weight");
    add_u32(b, 2);
    add_zeros(b, 15);
}

static const struct wrong {
    const char *path;
    void (*build)(GByteArray *b);
    enum psc_status status;
    const char *sentence; /* stands in it */
} wrongs[] = {
    {"no-bytes", b_empty, PSC_ERR_PARSE, "is not a GGUF file: it has 0 bytes"},
    {"another-format", b_zip, PSC_ERR_PARSE,
     "is not a GGUF file: it begins with the bytes 50 4b 03 04, where 47 47 55 46"},
    {"big-endian", b_big_endian, PSC_ERR_PARSE, "big-endian machines"},
    {"version-1", b_version_1, PSC_ERR_PARSE,
     "version 1, which nobody writes any more; versions 2 and 3 can be read"},
    {"version-4", b_version_4, PSC_ERR_PARSE, "version 4; versions 2 and 3 can be read"},
    {"six-bytes", b_no_version, PSC_ERR_PARSE, "the file ends inside its header, after 6 of 24 bytes"},
    {"half-a-header", b_half_header, PSC_ERR_PARSE, "the file ends inside its header, after 20 of 24 bytes"},
    {"more-keys-than-bytes", b_many_keys, PSC_ERR_PARSE,
     "1152921504606846976 keys, more than its 1024 bytes can hold"},
    {"more-tensors-than-bytes", b_many_tensors, PSC_ERR_PARSE,
     "43 tensors, more than its 1024 bytes can hold"},
    {"a-key-without-end", b_long_key, PSC_ERR_PARSE,
     "18446744073709551615 bytes are needed at byte 32 of 132"},
    {"a-key-of-70000-bytes", b_huge_key, PSC_ERR_PARSE,
     "key 0 has a name of 70000 bytes, at most 65535 are possible"},
    {"a-zero-byte-in-a-key", b_nul_in_key, PSC_ERR_PARSE, "key 0 ('a\\x00b') has a zero byte in its name"},
    {"a-type-of-value-that-is-none", b_value_type, PSC_ERR_PARSE,
     "key 0 ('k\\x1b') has a type of value that the format does not"},
    {"a-type-of-item-that-is-none", b_item_type, PSC_ERR_PARSE,
     "key 0 ('k') has a type of value that the format does not"},
    {"a-truth-of-2", b_bool, PSC_ERR_PARSE, "key 0 ('k') has a truth value that is neither 0 nor 1"},
    {"a-truth-of-2-in-an-array", b_bool_item, PSC_ERR_PARSE,
     "key 0 ('k') has a truth value that is neither 0 nor 1"},
    {"a-text-past-the-end", b_long_text, PSC_ERR_PARSE,
     "key 0 ('k') goes past the end of the file: 101 bytes are needed at byte"},
    {"an-array-whose-bytes-overflow", b_long_array, PSC_ERR_PARSE,
     "key 0 ('k') goes past the end of the file"},
    {"a-text-in-an-array-past-the-end", b_long_text_array, PSC_ERR_PARSE,
     "18446744073709551611 bytes are needed"},
    {"arrays-100000-deep", b_deep, PSC_ERR_PARSE,
     "key 0 ('k') has arrays in arrays in arrays, more than 16 deep"},
    {"a-key-twice", b_same_key, PSC_ERR_PARSE, "the key 'k' stands twice in the file, as key 0 and key 2"},
    {"alignment-as-text", b_alignment_type, PSC_ERR_PARSE,
     "'general.alignment' is of type string, where an integer"},
    {"alignment-48", b_alignment_odd, PSC_ERR_PARSE, "general.alignment is 48; a power of two"},
    {"alignment-0", b_alignment_zero, PSC_ERR_PARSE, "general.alignment is 0; a power of two"},
    {"alignment-2-to-the-31", b_alignment_vast, PSC_ERR_PARSE,
     "general.alignment is 2147483648; a power of two up to 1048576"},
    {"five-dimensions", b_dims, PSC_ERR_PARSE, "tensor 0 ('w') has 5 dimensions, at most 4 are possible"},
    {"more-values-than-64-bits", b_product, PSC_ERR_TOO_BIG, "tensor 0 ('w') has more than 2^64 values"},
    {"more-values-than-64-bits-times-zero", b_product_and_zero, PSC_ERR_TOO_BIG, "more than 2^64 values"},
    {"more-bytes-than-64-bits", b_bytes, PSC_ERR_TOO_BIG, "tensor 'w' has more than 2^64 bytes"},
    {"rows-of-half-a-block", b_block, PSC_ERR_PARSE,
     "'w' is q4_K, but its rows of 896 values are not whole blocks of 256"},
    {"an-offset-between", b_offset, PSC_ERR_PARSE,
     "'w' lies at byte 8 of the data, which is no multiple of 32"},
    {"data-past-the-end", b_past_end, PSC_ERR_PARSE,
     "'w' (16 bytes at byte 96 of the data) goes past the end of the file"},
    {"an-offset-of-almost-2-to-the-64", b_far_offset, PSC_ERR_PARSE,
     "goes past the end of the file, which has 100 bytes of data"},
    {"an-end-of-2-to-the-64", b_sum, PSC_ERR_PARSE,
     "'w' (18446744073709551584 bytes at byte 32 of the data)"},
    {"no-data-at-all", b_no_data, PSC_ERR_PARSE, "goes past the end of the file, which has 0 bytes of data"},
    {"a-tensor-twice", b_same_tensor, PSC_ERR_PARSE,
     "the tensor 'w' stands twice in the file, as tensor 0 and tensor 1"},
    {"tensors-over-each-other", b_overlap, PSC_ERR_PARSE,
     "tensor 'over' lies at byte 32 of the data, inside tensor 'behind', which has the bytes 32 to 63"},
    {"cut-in-a-tensor", b_cut_tensor, PSC_ERR_PARSE,
     "tensor 1 ('second.weight') goes past the end of the file"},
};

static void test_wrong(gconstpointer data)
{
    const struct wrong *w = data;
    GByteArray *b = g_byte_array_new();
    w->build(b);
    void *exact = g_memdup2(b->data, b->len);
    struct psc_arena arena = {0};
    struct psc_gguf g = {.version = 99};
    struct psc_error err = {0};
    char *keep = psc_arena_strdup(&arena, "keep");
    struct psc_arena_mark before = psc_arena_mark(&arena);
    uint64_t total = arena.total;
    g_assert_cmpint(psc_gguf_parse(&arena, exact, b->len, &g, &err), ==, w->status);
    if (!strstr(err.text, w->sentence))
        g_error("the sentence is: %s", err.text);
    g_assert_cmpuint(g.version, ==, 99);
    struct psc_arena_mark after = psc_arena_mark(&arena); /* nothing stays behind */
    g_assert_true(arena.total == total && after.head == before.head && after.used == before.used);
    g_assert_cmpstr(keep, ==, "keep");
    g_assert_cmpint(psc_gguf_parse(&arena, exact, b->len, &g, NULL), ==, w->status);
    psc_arena_release(&arena);
    g_free(exact);
    g_byte_array_unref(b);
}

/* Every beginning of a file is refused with a sentence, until the last byte of the last tensor is there. */
static void test_every_cut(void)
{
    gsize n;
    char *bytes = load("small.gguf", &n);
    struct opened o = open_golden("small.gguf");
    const struct psc_gguf_tensor *last = &o.g.tensors[o.g.tensor_n - 1];
    gsize enough = (gsize)(o.g.data_at + last->offset + last->bytes), refused = 0;
    for (gsize cut = 0; cut < n; cut++) {
        void *exact = g_memdup2(bytes, cut);
        struct psc_arena arena = {0};
        struct psc_gguf g;
        struct psc_error err = {0};
        enum psc_status status = psc_gguf_parse(&arena, exact, cut, &g, &err);
        g_assert_cmpint(status, ==, cut < enough ? PSC_ERR_PARSE : PSC_OK);
        g_assert_true(status == PSC_OK || err.text[0]);
        refused += status != PSC_OK;
        psc_arena_release(&arena);
        g_free(exact);
    }
    g_assert_cmpuint(refused, ==, enough);
    close_opened(&o);
    g_free(bytes);
}

static void *refuse_all(void *ctx, void *ptr, size_t size)
{
    unsigned *asked = ctx;
    (void)ptr;
    *asked += size != 0;
    return NULL;
}

/* A count that the file could hold, but does not: nothing is allocated for it. */
static void test_promised_keys_cost_nothing(void)
{
    GByteArray *b = g_byte_array_new();
    struct psc_arena arena = {0};
    struct psc_gguf g;
    add_header(b, 3, 20000, 40000);
    add_key_u32(b, "one", 1);
    add_u64(b, 600000); /* the second key */
    add_zeros(b, 1000000);
    unsigned asked = 0;
    psc_mem_set_hook(refuse_all, &asked);
    enum psc_status status = psc_gguf_parse(&arena, b->data, b->len, &g, NULL);
    psc_mem_set_hook(NULL, NULL);
    g_assert_cmpint(status, ==, PSC_ERR_PARSE);
    g_assert_cmpuint(asked, ==, 0);
    g_byte_array_unref(b);
}

static void test_memory_follows_the_bytes(void)
{
    GByteArray *b = g_byte_array_new();
    const unsigned n = 30000;
    char name[32];
    add_header(b, 3, n, n);
    for (unsigned i = 0; i < n; i++) { /* the smallest keys there are */
        g_snprintf(name, sizeof name, "%x", i);
        add_key(b, name, PSC_GGUF_U8);
        add_uint(b, i, 1);
    }
    for (unsigned i = 0; i < n; i++) {
        g_snprintf(name, sizeof name, "t%u", i);
        add_tensor(b, name, 1, 1, 24, 32 * (guint64)i);
    }
    pad_to(b, 32);
    guint64 metadata = b->len;
    add_zeros(b, 32 * n);
    struct opened o = open_built(b);
    g_assert_cmpuint(o.arena.total, <, 8 * metadata);
    for (unsigned i = 0; i < n; i += 7) {
        uint32_t value = 0;
        g_snprintf(name, sizeof name, "%x", i);
        g_assert_cmpint(psc_gguf_get_u32(&o.g, name, NULL, &value, NULL), ==, PSC_OK);
        g_assert_cmpuint(value, ==, i & 255);
        g_snprintf(name, sizeof name, "t%u", i);
        g_assert_true(psc_gguf_find_tensor(&o.g, name) == &o.g.tensors[i]);
    }
    close_opened(&o);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(wrongs); i++) {
        char *path = g_strdup_printf("/core/gguf-wrong/%s", wrongs[i].path);
        g_test_add_data_func(path, &wrongs[i], test_wrong);
        g_free(path);
    }
    g_test_add_func("/core/gguf-wrong/every-cut-is-refused-with-a-sentence", test_every_cut);
    g_test_add_func("/core/gguf-wrong/a-promise-of-keys-costs-nothing", test_promised_keys_cost_nothing);
    g_test_add_func("/core/gguf-wrong/memory-follows-the-bytes-that-are-there",
                    test_memory_follows_the_bytes);
    return g_test_run();
}
