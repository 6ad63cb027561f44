/* Model files on disk: opened in one or several parts, written piece by piece. Golden files are those of the gguf
 * package (tests/golden/make-gguf.py). */
#include "traces/file-out.h"
#include "traces/gguf-file.h"
#include "traces/gguf-write.h"

#include "tests/gguf-opened.h"

#include <glib/gstdio.h>
#include <unistd.h>

static char *folder; /* of this run, emptied at the end */

static char *path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void put_file(const char *name, const void *bytes, gsize n)
{
    char *path = path_of(name);
    g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
    g_free(path);
}

static void put_golden(const char *name, const char *golden)
{
    gsize n;
    void *bytes = load(golden, &n);
    put_file(name, bytes, n);
    g_free(bytes);
}

/* Files in the folder, and empties it. */
static unsigned sweep(void)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    unsigned n = 0;
    while ((name = g_dir_read_name(dir)) != NULL) {
        char *path = path_of(name);
        g_assert_cmpint(g_remove(path), ==, 0);
        g_free(path);
        n++;
    }
    g_dir_close(dir);
    return n;
}

/* ---- writing ---- */

static bool collect(void *ctx, const char *bytes, size_t n)
{
    g_byte_array_append(ctx, (const guint8 *)bytes, (guint)n);
    return true;
}

/* Data as a parsed file has it, under the same names. */
static enum psc_status fill_from_file(void *ctx, uint32_t entry, uint64_t at, void *dst, uint64_t n,
                                      struct psc_error *reterr)
{
    const struct psc_gguf *g = ctx;
    (void)reterr;
    memcpy(dst, g->tensors[entry].data + at, n);
    return PSC_OK;
}

static const struct psc_gguf_text small_texts[] = {
    {"!", 1}, {"\u0120the", 5}, {"", 0}, {"\u4e2d", 3}, {"a b", 3}};
static const int32_t small_ints[] = {1, -2, 3, INT32_MAX, INT32_MIN};
static const float small_floats[] = {0.0f, -1.5f, 3.25f};
static const uint8_t small_bools[] = {1, 0, 1};
static const struct psc_gguf_pair small_pairs[] = {
    {.key = "general.architecture", .type = PSC_GGUF_STRING, .text = "qwen2"},
    {.key = "n.u8", .type = PSC_GGUF_U8, .u = 200},
    {.key = "n.i8", .type = PSC_GGUF_I8, .i = -100},
    {.key = "n.u16", .type = PSC_GGUF_U16, .u = 60000},
    {.key = "n.i16", .type = PSC_GGUF_I16, .i = -30000},
    {.key = "n.u32", .type = PSC_GGUF_U32, .u = 4000000000u},
    {.key = "n.i32", .type = PSC_GGUF_I32, .i = -2000000000},
    {.key = "n.u64", .type = PSC_GGUF_U64, .u = UINT64_C(18000000000000000000)},
    {.key = "n.i64", .type = PSC_GGUF_I64, .i = INT64_C(-9000000000000000000)},
    {.key = "n.f32", .type = PSC_GGUF_F32, .f = 1e-6},
    {.key = "n.f64", .type = PSC_GGUF_F64, .f = 0.1},
    {.key = "n.true", .type = PSC_GGUF_BOOL, .u = 1},
    {.key = "n.false", .type = PSC_GGUF_BOOL, .u = 0},
    {.key = "general.name", .type = PSC_GGUF_STRING, .text = "Sm\u00e4ll \"test\"\n"},
    {.key = "a.texts", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_STRING, .n = 5, .items = small_texts},
    {.key = "a.i32s", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_I32, .n = 5, .items = small_ints},
    {.key = "a.f32s", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_F32, .n = 3, .items = small_floats},
    {.key = "a.bools", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_BOOL, .n = 3, .items = small_bools},
};
static const struct psc_gguf_entry small_entries[] = {
    {"token_embd.weight", PSC_W_F32, 2, {64, 3}},
    {"blk.0.attn_norm.weight", PSC_W_F32, 1, {5}},
    {"half", PSC_W_F16, 2, {3, 2}},
    {"top", PSC_W_BF16, 2, {4, 2}},
    {"blk.0.q", PSC_W_Q8_0, 2, {64, 2}},
    {"blk.0.k", PSC_W_Q4_0, 2, {64, 1}},
    {"blk.0.v", PSC_W_Q5_1, 2, {32, 1}},
};
static struct psc_gguf_outline small_outline(struct psc_gguf *g)
{
    return (struct psc_gguf_outline){small_pairs,
                                     G_N_ELEMENTS(small_pairs),
                                     small_entries,
                                     G_N_ELEMENTS(small_entries),
                                     0,
                                     fill_from_file,
                                     g};
}

static void test_same_bytes_small(void)
{
    struct opened o = open_golden("small.gguf");
    struct psc_gguf_outline outline = small_outline(&o.g);
    GByteArray *got = g_byte_array_new();
    g_assert_cmpint(psc_gguf_write_to(&outline, collect, got, NULL), ==, PSC_OK);
    g_assert_cmpmem(got->data, got->len, o.bytes, o.g.file_bytes);
    g_byte_array_unref(got);
    close_opened(&o);
}

static void test_same_bytes_aligned(void)
{
    struct opened o = open_golden("aligned.gguf");
    const struct psc_gguf_pair pair = {
        .key = "general.architecture", .type = PSC_GGUF_STRING, .text = "qwen3"};
    const struct psc_gguf_entry entries[] = {{"x", PSC_W_F32, 1, {3}}, {"y", PSC_W_F32, 1, {20}}};
    const struct psc_gguf_outline outline = {&pair, 1, entries, 2, 64, fill_from_file, &o.g};
    GByteArray *got = g_byte_array_new();
    g_assert_cmpint(psc_gguf_write_to(&outline, collect, got, NULL), ==, PSC_OK);
    g_assert_cmpmem(got->data, got->len, o.bytes, o.g.file_bytes);
    g_byte_array_unref(got);
    close_opened(&o);
}

/* Counts up; remembers what was asked. */
struct counting {
    uint64_t row[3], next[3];
    uint32_t entry, calls;
    uint64_t largest;
    uint32_t fail_at; /* this call fails; 0: none */
};
static enum psc_status fill_counting(void *ctx, uint32_t entry, uint64_t at, void *dst, uint64_t n,
                                     struct psc_error *reterr)
{
    struct counting *c = ctx;
    uint8_t *bytes = dst;
    if (++c->calls == c->fail_at)
        return psc_fail(reterr, PSC_ERR_CANCELLED, "stopped at call %u", c->calls);
    g_assert_cmpuint(entry, >=, c->entry);
    g_assert_cmpuint(at, ==, c->next[entry]);
    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(n % c->row[entry], ==, 0);
    g_assert_cmpuint((uintptr_t)dst % 16, ==, 0);
    c->entry = entry;
    c->next[entry] += n;
    c->largest = n > c->largest ? n : c->largest;
    for (uint64_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)((at + i) * 31 + entry);
    return PSC_OK;
}

static const struct psc_gguf_entry wide_entries[] = {
    {"many.rows", PSC_W_Q5_0, 2, {96, 40000}}, /* 66 bytes a row, 2.6 MB */
    {"long.rows", PSC_W_F32, 2, {400000, 2}},  /* 1.6 MB a row */
    {"cube", PSC_W_Q6_K, 3, {512, 3, 5}},      /* 420 bytes a row, 15 rows */
};

static void test_streams(void)
{
    struct counting c = {.row = {66, 1600000, 420}};
    const struct psc_gguf_outline outline = {
        .entries = wide_entries, .entry_n = 3, .fill = fill_counting, .ctx = &c};
    char *path = path_of("wide.gguf");
    struct psc_gguf_file *file = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_gguf_write(path, &outline, &err), ==, PSC_OK);
    g_assert_true(c.next[0] == 2640000 && c.next[1] == 3200000 && c.next[2] == 6300);
    g_assert_cmpuint(c.largest, <=, 1600000);
    g_assert_cmpuint(c.calls, <, 10);
    g_assert_cmpint(psc_gguf_open(path, &file, &err), ==, PSC_OK);
    const struct psc_gguf *g = psc_gguf_file_model(file);
    for (uint32_t e = 0; e < 3; e++) {
        const struct psc_gguf_tensor *t = psc_gguf_find_tensor(g, wide_entries[e].name);
        g_assert_cmpuint(t->bytes, ==, c.next[e]);
        g_assert_cmpuint(t->n_dims, ==, wide_entries[e].n_dims);
        g_assert_cmpuint((uintptr_t)t->data % 32, ==, 0);
        for (uint64_t i = 0; i < t->bytes; i += 997)
            g_assert_cmpuint(t->data[i], ==, (uint8_t)(i * 31 + e));
    }
    psc_gguf_close(file);
    g_free(path);
    g_assert_cmpuint(sweep(), ==, 1);
}

static void test_failed_writing_leaves_the_old_file(void)
{
    char *path = path_of("kept.gguf"), *text = NULL;
    struct psc_error err = {0};
    put_file("kept.gguf", "old", 3);
    for (uint32_t at = 1; at <= 3; at++) {
        struct counting c = {.row = {66, 1600000, 420}, .fail_at = at};
        const struct psc_gguf_outline outline = {
            .entries = wide_entries, .entry_n = 3, .fill = fill_counting, .ctx = &c};
        g_assert_cmpint(psc_gguf_write(path, &outline, &err), ==, PSC_ERR_CANCELLED);
        g_assert_true(g_str_has_prefix(err.text, "stopped at call"));
        g_assert_cmpuint(c.calls, ==, at);
    }
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "old");
    g_free(text);
    g_free(path);
    g_assert_cmpuint(sweep(), ==, 1); /* no temporary file is left */
}

static void test_disk_and_folder_faults(void)
{
    struct counting c = {.row = {66, 1600000, 420}};
    const struct psc_gguf_outline outline = {
        .entries = wide_entries, .entry_n = 3, .fill = fill_counting, .ctx = &c};
    struct psc_error err = {0};
    g_assert_cmpint(psc_gguf_write("/dev/full", &outline, &err), ==, PSC_ERR_IO);
    g_assert_cmpstr(err.text, ==, "cannot be written: No space left on device");
    g_assert_cmpuint(c.calls, ==, 0);
    char *path = path_of("no/such/folder.gguf");
    g_assert_cmpint(psc_gguf_write(path, &outline, &err), ==, PSC_ERR_IO);
    g_assert_cmpstr(err.text, ==, "cannot be written: No such file or directory");
    g_free(path);
    g_assert_cmpint(psc_gguf_write(folder, &outline, &err), ==, PSC_ERR_IO);
    g_assert_cmpstr(err.text, ==, "cannot be written: Is a directory");
    g_assert_cmpuint(sweep(), ==, 0);
}

static bool refuse(void *ctx, const char *bytes, size_t n)
{
    unsigned *left = ctx;
    (void)bytes, (void)n;
    return (*left)-- > 0;
}

static void test_a_sink_that_stops(void)
{
    for (unsigned after = 0; after < 4; after++) {
        struct opened o = open_golden("small.gguf");
        struct psc_gguf_outline outline = small_outline(&o.g);
        struct psc_error err = {0};
        unsigned left = after;
        g_assert_cmpint(psc_gguf_write_to(&outline, refuse, &left, &err), ==, PSC_ERR_IO);
        g_assert_cmpstr(err.text, ==, "cannot be written: writing was stopped");
        close_opened(&o);
    }
}

static void test_outlines_that_make_no_sense(void)
{
    static const uint8_t two[] = {0, 2};
    static const struct {
        struct psc_gguf_pair pair;
        const char *sentence;
    } pairs[] = {
        {{.key = NULL}, "key 1 has no name"},
        {{.key = ""}, "key 1 has no name"},
        {{.key = "name", .type = PSC_GGUF_U32}, "key 0 and key 1 are both called 'name'"},
        {{.key = "k", .type = (enum psc_gguf_type)13},
         "the key 'k' has a type that the format does not have"},
        {{.key = "k", .type = PSC_GGUF_ARRAY, .item = (enum psc_gguf_type)13},
         "a type that the format does not have"},
        {{.key = "k", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_ARRAY}, "the key 'k' is an array of arrays"},
        {{.key = "k", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_I32, .n = 1}, "the key 'k' has no items"},
        {{.key = "k", .type = PSC_GGUF_ARRAY, .item = PSC_GGUF_BOOL, .n = 2, .items = two},
         "item 1 of the key 'k' is neither"},
        {{.key = "k", .type = PSC_GGUF_STRING}, "the key 'k' has no text"},
        {{.key = "general.alignment", .type = PSC_GGUF_U32, .u = 64},
         "general.alignment is not given as a key"},
    };
    static const struct {
        struct psc_gguf_entry entry;
        const char *sentence;
    } entries[] = {
        {{NULL, PSC_W_F32, 1, {4}}, "tensor 1 has no name"},
        {{"w", PSC_W_F32, 1, {4}}, "tensor 0 and tensor 1 are both called 'w'"},
        {{"x", PSC_W_F32, 0, {4}}, "the tensor 'x' has 0 dimensions; 1 to 4 are possible"},
        {{"x", PSC_W_F32, 5, {4}}, "the tensor 'x' has 5 dimensions"},
        {{"x", PSC_W_F32, 2, {4, 0}}, "the tensor 'x' has no values"},
        {{"x", PSC_W_F32, 2, {UINT64_C(1) << 40, UINT64_C(1) << 40}}, "or more than 2^64"},
        {{"x", PSC_W_Q4_K, 2, {128, 2}},
         "cannot be written as q4_K: its rows of 128 values are not whole blocks of 256"},
        {{"x", PSC_W_OTHER, 1, {4}}, "cannot be written as raw"},
        {{"x", PSC_W_F32, 2, {UINT64_C(1) << 60, 2}}, "the tensors have more than 2^64 bytes together"},
    };
    GByteArray *out = g_byte_array_new();
    struct psc_error err;
    for (unsigned i = 0; i < G_N_ELEMENTS(pairs); i++) {
        const struct psc_gguf_pair both[] = {{.key = "name", .type = PSC_GGUF_U8}, pairs[i].pair};
        const struct psc_gguf_outline outline = {.pairs = both, .pair_n = 2};
        g_assert_cmpint(psc_gguf_write_to(&outline, collect, out, &err), ==, PSC_ERR_USAGE);
        if (!strstr(err.text, pairs[i].sentence))
            g_error("the sentence is: %s", err.text);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(entries); i++) {
        const struct psc_gguf_entry both[] = {{"w", PSC_W_F32, 2, {UINT64_C(1) << 60, 3}}, entries[i].entry};
        const struct psc_gguf_outline outline = {.entries = both, .entry_n = 2, .fill = fill_counting};
        g_assert_cmpint(psc_gguf_write_to(&outline, collect, out, &err), !=, PSC_OK);
        if (!strstr(err.text, entries[i].sentence))
            g_error("the sentence is: %s", err.text);
    }
    static const uint64_t alignments[] = {1, 4, 48, 1u << 21};
    for (unsigned i = 0; i < G_N_ELEMENTS(alignments); i++) {
        const struct psc_gguf_outline outline = {.alignment = alignments[i]};
        g_assert_cmpint(psc_gguf_write_to(&outline, collect, out, &err), ==, PSC_ERR_USAGE);
    }
    const struct psc_gguf_outline unfilled = {.entries = small_entries, .entry_n = 1};
    g_assert_cmpint(psc_gguf_write_to(&unfilled, collect, out, &err), ==, PSC_ERR_USAGE);
    g_assert_cmpuint(out->len, ==, 0); /* nothing is written of what is refused */
    g_byte_array_unref(out);
}

static bool swallow(void *ctx, const char *bytes, size_t n)
{
    (void)ctx, (void)bytes, (void)n;
    return true;
}

static enum psc_status write_small(void *data)
{
    return psc_gguf_write_to(data, swallow, NULL, NULL);
}

static void test_oom_writing(void)
{
    struct opened o = open_golden("small.gguf");
    struct psc_gguf_outline outline = small_outline(&o.g);
    g_assert_cmpuint(test_oom_loop(write_small, &outline), >=, 5);
    close_opened(&o);
}

/* ---- opening ---- */

/* Files open in this process: each mapping keeps one. */
static unsigned open_file_n(void)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;
    while (dir && g_dir_read_name(dir))
        n++;
    if (dir)
        g_dir_close(dir);
    return n;
}

static void test_open_parts_by_any_name(void)
{
    unsigned before = open_file_n();
    for (unsigned by = 1; by <= 3; by++) {
        struct psc_gguf_file *file = NULL;
        struct psc_error err = {0};
        char name[64];
        for (unsigned i = 1; i <= 3; i++) {
            char golden[64];
            g_snprintf(golden, sizeof golden, "part-0000%u-of-00003.gguf", i);
            g_snprintf(name, sizeof name, "a-model-0000%u-of-00003.gguf", i);
            put_golden(name, golden);
        }
        g_snprintf(name, sizeof name, "a-model-0000%u-of-00003.gguf", by);
        char *path = path_of(name);
        if (psc_gguf_open(path, &file, &err) != PSC_OK)
            g_error("%s", err.text);
        g_assert_cmpuint(psc_gguf_file_model(file)->tensor_n, ==, 5);
        g_assert_cmpuint(psc_gguf_file_part_n(file), ==, 3);
        g_assert_true(g_str_has_suffix(psc_gguf_file_part(file, 0), "/a-model-00001-of-00003.gguf"));
        g_assert_true(g_str_has_suffix(psc_gguf_file_part(file, 2), "/a-model-00003-of-00003.gguf"));
        g_assert_null(psc_gguf_file_part(file, 3));
        float x;
        memcpy(&x, psc_gguf_find_tensor(psc_gguf_file_model(file), "blk.4.weight")->data, 4);
        g_assert_cmpfloat(x, ==, 3);
        g_assert_cmpint(psc_gguf_file_check(file, &err), ==, PSC_OK);
        psc_gguf_close(file);
        g_free(path);
        g_assert_cmpuint(sweep(), ==, 3);
    }
    g_assert_cmpuint(open_file_n(), ==, before);
}

static void assert_opens_not(const char *name, enum psc_status status, const char *sentence)
{
    struct psc_gguf_file *file = NULL;
    struct psc_error err = {0};
    char *path = path_of(name);
    enum psc_status got = psc_gguf_open(path, &file, &err);
    if (got != status || !strstr(err.text, sentence))
        g_error("%s: %s: %s", name, psc_status_name(got), err.text);
    g_assert_null(file);
    g_free(path);
}

static void test_open_faults(void)
{
    assert_opens_not("none.gguf", PSC_ERR_IO, "cannot be opened: No such file or directory");
    assert_opens_not(".", PSC_ERR_IO, "is a folder");
    put_file("empty.gguf", "", 0);
    assert_opens_not("empty.gguf", PSC_ERR_PARSE, "file is empty (0 bytes)");
    put_file("text.gguf", "{\"format\":1}", 12);
    assert_opens_not("text.gguf", PSC_ERR_PARSE, "is not a GGUF file");
    g_assert_cmpuint(sweep(), ==, 2);
}

static void test_part_faults(void)
{
    unsigned before = open_file_n();
    put_golden("m-00001-of-00003.gguf", "part-00001-of-00003.gguf");
    put_golden("m-00002-of-00003.gguf", "part-00002-of-00003.gguf");
    assert_opens_not("m-00002-of-00003.gguf", PSC_ERR_IO,
                     "is part 2 of the 3 parts of a model; part 3, 'm-00003-of-00003.gguf', cannot be "
                     "opened: No such file");
    put_golden("m-00003-of-00003.gguf", "part-00002-of-00003.gguf");
    assert_opens_not("m-00001-of-00003.gguf", PSC_ERR_PARSE, "where part 3 of 3 should be, there is part 2");
    put_golden("m-00003-of-00003.gguf", "small.gguf");
    assert_opens_not("m-00001-of-00003.gguf", PSC_ERR_PARSE, "part 3 of 3 says that the model has 1 part");
    put_file("m-00003-of-00003.gguf", "GGUF\3\0\0\0", 8);
    assert_opens_not("m-00001-of-00003.gguf", PSC_ERR_PARSE,
                     "part 3, 'm-00003-of-00003.gguf', does not fit: the file ends inside its header");
    put_golden("renamed.gguf", "part-00002-of-00003.gguf");
    assert_opens_not("renamed.gguf", PSC_ERR_PARSE,
                     "is part 2 of the 3 parts of a model; the others are looked for beside it, but its name "
                     "does not end in "
                     "-00002-of-00003.gguf");
    put_golden("m-00001-of-00002.gguf", "part-00001-of-00003.gguf"); /* a name that says something else */
    assert_opens_not("m-00001-of-00002.gguf", PSC_ERR_PARSE, "its name does not end in -00001-of-00003.gguf");
    g_assert_cmpuint(sweep(), ==, 5);
    g_assert_cmpuint(open_file_n(), ==, before);
}

/* A file that ends in zero bytes keeps them: they are weights. */
static void test_zeros_at_the_end(void)
{
    GByteArray *b = g_byte_array_new();
    struct psc_gguf_file *file = NULL;
    add_header(b, 3, 1, 0);
    add_tensor(b, "w", 1000, 1, 0, 0);
    pad_to(b, 32);
    add_zeros(b, 4000);
    put_file("zeros.gguf", b->data, b->len);
    char *path = path_of("zeros.gguf");
    g_assert_cmpint(psc_gguf_open(path, &file, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_gguf_file_model(file)->file_bytes, ==, b->len);
    g_assert_cmpuint(psc_gguf_file_model(file)->tensors[0].data[3999], ==, 0);
    psc_gguf_close(file);
    g_free(path);
    g_byte_array_unref(b);
    sweep();
}

static void test_check_sees_a_change(void)
{
    struct psc_gguf_file *file = NULL;
    struct psc_error err = {0};
    put_golden("m.gguf", "small.gguf");
    char *path = path_of("m.gguf");
    g_assert_cmpint(psc_gguf_open(path, &file, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_file_check(file, &err), ==, PSC_OK);
    FILE *f = fopen(path, "ab"); /* longer: nothing that is mapped goes away */
    g_assert_cmpuint(fwrite("x", 1, 1, f), ==, 1);
    g_assert_cmpint(fclose(f), ==, 0);
    g_assert_cmpint(psc_gguf_file_check(file, &err), ==, PSC_ERR_IO);
    psc_gguf_close(file);
    psc_gguf_close(NULL);
    g_free(path);
    sweep();
}

/* A model that is written over while it is open stays as it was: the new file has another place. */
static void test_written_over_while_open(void)
{
    struct opened o = open_golden("small.gguf");
    struct psc_gguf_outline outline = small_outline(&o.g);
    struct psc_gguf_file *file = NULL;
    put_golden("m.gguf", "part-00001-of-00003.gguf");
    put_golden("m.gguf", "aligned.gguf");
    char *path = path_of("m.gguf");
    g_assert_cmpint(psc_gguf_open(path, &file, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_write(path, &outline, NULL), ==, PSC_OK);
    g_assert_nonnull(psc_gguf_find_tensor(psc_gguf_file_model(file), "y"));
    g_assert_cmpuint(psc_gguf_find_tensor(psc_gguf_file_model(file), "y")->data[3], ==, 0xbf); /* -1.0f */
    psc_gguf_close(file);
    g_assert_cmpint(psc_gguf_open(path, &file, NULL), ==, PSC_OK);
    g_assert_nonnull(psc_gguf_find_tensor(psc_gguf_file_model(file), "top"));
    psc_gguf_close(file);
    g_free(path);
    close_opened(&o);
    g_assert_cmpuint(sweep(), ==, 1);
}

static enum psc_status open_once(void *data)
{
    struct psc_gguf_file *file = NULL;
    enum psc_status status = psc_gguf_open(data, &file, NULL);
    psc_gguf_close(file);
    return status;
}

/* One of a thousand parts; the others are missing, which is as far as it gets. */
static enum psc_status open_one_of_many(void *data)
{
    struct psc_gguf_file *file = NULL;
    enum psc_status status = psc_gguf_open(data, &file, NULL);
    g_assert_null(file);
    return status == PSC_ERR_IO ? PSC_OK : status;
}

static void test_oom_many_parts(void)
{
    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 0, 2);
    add_key_u32(b, "split.no", 6);
    add_key_u32(b, "split.count", 1000);
    put_file("m-00007-of-01000.gguf", b->data, b->len);
    char *path = path_of("m-00007-of-01000.gguf");
    unsigned before = open_file_n();
    g_assert_cmpuint(test_oom_loop(open_one_of_many, path), >=, 6);
    g_assert_cmpuint(open_file_n(), ==, before);
    g_free(path);
    g_byte_array_unref(b);
    sweep();
}

static void test_oom_opening(void)
{
    for (unsigned i = 1; i <= 3; i++) {
        char golden[64];
        g_snprintf(golden, sizeof golden, "part-0000%u-of-00003.gguf", i);
        put_golden(golden, golden);
    }
    char *path = path_of("part-00002-of-00003.gguf");
    unsigned before = open_file_n();
    g_assert_cmpuint(test_oom_loop(open_once, path), >=, 6);
    g_assert_cmpuint(open_file_n(), ==, before);
    g_free(path);
    g_assert_cmpuint(sweep(), ==, 3);
}

/* ---- files piece by piece ---- */

static void test_file_out(void)
{
    struct psc_file_out out = {0};
    char *path = path_of("f"), *text = NULL;
    psc_file_out_abort(&out);
    put_file("f", "old", 3);
    g_assert_cmpint(g_chmod(path, 0640), ==, 0);
    g_assert_cmpint(psc_file_out_begin(&out, path, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_out_add(&out, "ne", 2, NULL), ==, PSC_OK);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "old"); /* until it is complete */
    g_free(text);
    psc_file_out_abort(&out);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "old");
    g_free(text);
    g_assert_cmpint(psc_file_out_begin(&out, path, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_out_add(&out, "ne", 2, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_out_add(&out, "", 0, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_out_add(&out, "wer", 3, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_out_commit(&out, NULL), ==, PSC_OK);
    psc_file_out_abort(&out);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "newer");
    GStatBuf info;
    g_assert_cmpint(g_stat(path, &info), ==, 0);
    g_assert_cmpuint(info.st_mode & 0777, ==, 0640);
    g_free(text);
    g_free(path);
    g_assert_cmpuint(sweep(), ==, 1);
}

static enum psc_status begin_and_abort(void *data)
{
    struct psc_file_out out;
    enum psc_status status = psc_file_out_begin(&out, data, NULL);
    if (status == PSC_OK)
        psc_file_out_abort(&out);
    return status;
}

static void test_oom_file_out(void)
{
    char *path = path_of("f");
    g_assert_cmpuint(test_oom_loop(begin_and_abort, path), >=, 2);
    g_free(path);
    g_assert_cmpuint(sweep(), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("psc-gguf-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_test_add_func("/traces/gguf-write/the-same-bytes-as-the-gguf-package", test_same_bytes_small);
    g_test_add_func("/traces/gguf-write/the-same-bytes-with-another-alignment", test_same_bytes_aligned);
    g_test_add_func("/traces/gguf-write/asks-for-whole-rows-in-order", test_streams);
    g_test_add_func("/traces/gguf-write/a-failure-leaves-the-old-file",
                    test_failed_writing_leaves_the_old_file);
    g_test_add_func("/traces/gguf-write/a-full-disk-and-no-folder-say-so", test_disk_and_folder_faults);
    g_test_add_func("/traces/gguf-write/a-sink-may-stop", test_a_sink_that_stops);
    g_test_add_func("/traces/gguf-write/outlines-that-make-no-sense-are-refused",
                    test_outlines_that_make_no_sense);
    g_test_add_func("/traces/gguf-write/out-of-memory", test_oom_writing);
    g_test_add_func("/traces/gguf-file/any-part-finds-the-others", test_open_parts_by_any_name);
    g_test_add_func("/traces/gguf-file/no-file-and-no-model-say-so", test_open_faults);
    g_test_add_func("/traces/gguf-file/parts-that-are-missing-or-wrong-say-so", test_part_faults);
    g_test_add_func("/traces/gguf-file/zeros-at-the-end-are-weights", test_zeros_at_the_end);
    g_test_add_func("/traces/gguf-file/a-change-is-seen-when-asked", test_check_sees_a_change);
    g_test_add_func("/traces/gguf-file/an-open-model-may-be-written-over", test_written_over_while_open);
    g_test_add_func("/traces/gguf-file/out-of-memory", test_oom_opening);
    g_test_add_func("/traces/gguf-file/out-of-memory-with-a-thousand-parts", test_oom_many_parts);
    g_test_add_func("/traces/file-out/the-old-file-stays-until-the-new-one-is-complete", test_file_out);
    g_test_add_func("/traces/file-out/out-of-memory", test_oom_file_out);
    int result = g_test_run();
    sweep();
    g_rmdir(folder);
    g_free(folder);
    return result;
}
