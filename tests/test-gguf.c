/* Model files: right ones made by the gguf package (tests/golden/make-gguf.py), wrong ones made byte by byte here. */
#include "tests/gguf-opened.h"

#include <math.h>

/* ---- values ---- */

static void test_numbers(void)
{
    static const struct {
        const char *key, *shown;
        bool u64_fits;
        double value;
    } rows[] = {
        {"n.u8", "200", true, 200},
        {"n.i8", "-100", false, -100},
        {"n.u16", "60000", true, 60000},
        {"n.i16", "-30000", false, -30000},
        {"n.u32", "4000000000", true, 4e9},
        {"n.i32", "-2000000000", false, -2e9},
        {"n.u64", "18000000000000000000", true, 1.8e19},
        {"n.i64", "-9000000000000000000", false, -9e18},
    };
    struct opened o = open_golden("small.gguf");
    g_assert_cmpuint(o.g.version, ==, 3);
    g_assert_cmpuint(o.g.kv_n, ==, 18);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint64_t u = 77;
        double f = 0;
        struct psc_error err = {0};
        struct psc_text text = {0};
        g_assert_cmpint(psc_gguf_get_u64(&o.g, rows[i].key, NULL, &u, &err), ==,
                        rows[i].u64_fits ? PSC_OK : PSC_ERR_PARSE);
        g_assert_true(rows[i].u64_fits ? (double)u == rows[i].value
                                       : u == 77 && strstr(err.text, rows[i].shown) != NULL);
        g_assert_cmpint(psc_gguf_get_f64(&o.g, rows[i].key, NULL, &f, NULL), ==, PSC_OK);
        g_assert_cmpfloat(f, ==, rows[i].value);
        psc_gguf_kv_show(psc_gguf_find(&o.g, rows[i].key), 3, 10, &text);
        g_assert_cmpstr(text.s, ==, rows[i].shown);
        psc_text_release(&text);
    }
    uint32_t u32 = 5;
    g_assert_cmpint(psc_gguf_get_u32(&o.g, "n.u32", NULL, &u32, NULL), ==, PSC_OK);
    g_assert_cmpuint(u32, ==, 4000000000u);
    g_assert_cmpint(psc_gguf_get_u32(&o.g, "n.u64", NULL, &u32, NULL), ==, PSC_ERR_PARSE);
    double f = 0;
    g_assert_cmpint(psc_gguf_get_f64(&o.g, "n.f32", NULL, &f, NULL), ==, PSC_OK);
    g_assert_true((float)f == 1e-6f);
    g_assert_cmpint(psc_gguf_get_f64(&o.g, "n.f64", NULL, &f, NULL), ==, PSC_OK);
    g_assert_cmpfloat(f, ==, 0.1);
    close_opened(&o);
}

static void test_texts_and_truth(void)
{
    struct opened o = open_golden("small.gguf");
    const char *text = NULL;
    bool yes = false, no = true;
    g_assert_cmpint(psc_gguf_get_text(&o.g, "general.architecture", NULL, &text, NULL), ==, PSC_OK);
    g_assert_cmpstr(text, ==, "qwen2");
    g_assert_cmpint(psc_gguf_get_text(&o.g, "general.name", NULL, &text, NULL), ==, PSC_OK);
    g_assert_cmpstr(text, ==, "Sm\u00e4ll \"test\"\n");
    g_assert_cmpint(psc_gguf_get_bool(&o.g, "n.true", NULL, &yes, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_get_bool(&o.g, "n.false", NULL, &no, NULL), ==, PSC_OK);
    g_assert_true(yes && !no);
    close_opened(&o);
}

static void test_arrays(void)
{
    static const char *const texts[] = {"!", "\u0120the", "", "\u4e2d", "a b"};
    static const int32_t ints[] = {1, -2, 3, INT32_MAX, INT32_MIN};
    static const float floats[] = {0.0f, -1.5f, 3.25f};
    struct opened o = open_golden("small.gguf");
    const struct psc_gguf_text *t;
    const int32_t *i32s;
    const float *f32s;
    uint64_t n = 0;
    g_assert_cmpint(psc_gguf_get_texts(&o.arena, &o.g, "a.texts", &t, &n, NULL), ==, PSC_OK);
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(texts));
    for (unsigned i = 0; i < n; i++)
        g_assert_cmpmem(t[i].s, t[i].n, texts[i], strlen(texts[i]));
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "a.i32s", &i32s, &n, NULL), ==, PSC_OK);
    g_assert_cmpmem(i32s, n * 4, ints, sizeof ints);
    g_assert_cmpint(psc_gguf_get_f32s(&o.arena, &o.g, "a.f32s", &f32s, &n, NULL), ==, PSC_OK);
    g_assert_cmpmem(f32s, n * 4, floats, sizeof floats);
    g_assert_cmpuint(psc_gguf_find(&o.g, "a.bools")->n, ==, 3);
    close_opened(&o);
}

static void test_missing_and_wrong_kinds(void)
{
    struct opened o = open_golden("small.gguf");
    const uint64_t ten = 10;
    const uint32_t four = 4;
    const double half = 0.5;
    const bool truth = true;
    const char *name = "none", *const none = NULL;
    uint64_t u = 0, n = 9;
    uint32_t u32 = 0;
    double f = 0;
    bool b = false;
    const int32_t *i32s = (const int32_t *)&o;
    struct psc_error err = {0};
    g_assert_cmpint(psc_gguf_get_u64(&o.g, "no.key", &ten, &u, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_get_u32(&o.g, "no.key", &four, &u32, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_get_f64(&o.g, "no.key", &half, &f, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_get_bool(&o.g, "no.key", &truth, &b, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_get_text(&o.g, "no.key", &none, &name, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "no.key", &i32s, &n, NULL), ==, PSC_OK);
    g_assert_true(u == 10 && u32 == 4 && f == 0.5 && b && !name && !i32s && n == 0);

    g_assert_cmpint(psc_gguf_get_u64(&o.g, "no.key", NULL, &u, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==, "the model file has no key 'no.key'");
    g_assert_cmpint(psc_gguf_get_u64(&o.g, "general.name", &ten, &u, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==,
                    "the key 'general.name' is of type string, where an integer would be right");
    g_assert_cmpint(psc_gguf_get_u64(&o.g, "n.f32", NULL, &u, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpint(psc_gguf_get_u64(&o.g, "n.true", NULL, &u, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpint(psc_gguf_get_bool(&o.g, "n.u8", NULL, &b, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpint(psc_gguf_get_f64(&o.g, "n.true", NULL, &f, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpint(psc_gguf_get_text(&o.g, "n.u8", NULL, &name, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "a.texts", &i32s, &n, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(
        err.text, ==,
        "the key 'a.texts' is of type array of string, where an array of integers would be right");
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "n.u8", &i32s, &n, &err), ==, PSC_ERR_PARSE);
    g_assert_true(u == 10 && f == 0.5 && b && !name && !i32s && n == 0); /* untouched */
    close_opened(&o);
}

static void test_shown(void)
{
    static const struct {
        const char *key, *expected;
    } rows[] = {
        {"general.name", "\"Sm\u00e4ll \\\"t...\""},
        {"a.texts", "[\"!\", \"\u0120the\", \"\", ... 5 in all]"},
        {"a.i32s", "[1, -2, 3, ... 5 in all]"},
        {"a.bools", "[true, false, true]"},
        {"a.f32s", "[0, -1.5, 3.25]"},
        {"n.f32", "1e-06"},
        {"n.f64", "0.1"},
        {"n.true", "true"},
    };
    struct opened o = open_golden("small.gguf");
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_text text = {0};
        psc_gguf_kv_show(psc_gguf_find(&o.g, rows[i].key), 3, 9, &text);
        g_assert_cmpstr(text.s, ==, rows[i].expected);
        psc_text_release(&text);
    }
    close_opened(&o);

    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 0, 2);
    add_key(b, "odd", PSC_GGUF_STRING);
    add_bytes(b, "a\0\x1b\xff\xe2\x80\xae\n",
              8); /* NUL, escape, no UTF-8, a mark that turns the direction of writing */
    add_key(b, "nested", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_ARRAY, 1);
    add_array(b, PSC_GGUF_U8, 0);
    o = open_built(b);
    struct psc_text text = {0};
    psc_gguf_kv_show(&o.g.kvs[0], 3, 90, &text);
    g_assert_cmpstr(text.s, ==, "\"a\\x00\\x1b\\xff\\u202e\\n\"");
    psc_text_clear(&text);
    psc_gguf_kv_show(&o.g.kvs[1], 3, 90, &text);
    g_assert_cmpstr(text.s, ==, "[1 arrays]");
    psc_text_release(&text);
    close_opened(&o);
}

/* ---- tensors ---- */

static void test_tensors(void)
{
    static const struct {
        const char *name;
        enum psc_wtype type;
        uint64_t in, out, bytes;
    } rows[] = {
        {"token_embd.weight", PSC_W_F32, 64, 3, 768},
        {"blk.0.attn_norm.weight", PSC_W_F32, 5, 1, 20},
        {"half", PSC_W_F16, 3, 2, 12},
        {"top", PSC_W_BF16, 4, 2, 16},
        {"blk.0.q", PSC_W_Q8_0, 64, 2, 136},
        {"blk.0.k", PSC_W_Q4_0, 64, 1, 36},
        {"blk.0.v", PSC_W_Q5_1, 32, 1, 24},
    };
    struct opened o = open_golden("small.gguf");
    g_assert_cmpuint(o.g.tensor_n, ==, G_N_ELEMENTS(rows));
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct psc_gguf_tensor *t = psc_gguf_find_tensor(&o.g, rows[i].name);
        struct psc_weight w;
        float *y = g_new(float, rows[i].in *rows[i].out);
        g_assert_true(t == &o.g.tensors[i]);
        g_assert_cmpuint(t->bytes, ==, rows[i].bytes);
        g_assert_cmpint(psc_gguf_weight(t, &w, NULL), ==, PSC_OK);
        g_assert_true(w.type == rows[i].type && w.in == rows[i].in && w.out == rows[i].out &&
                      w.bytes == rows[i].bytes && w.data == t->data && !w.part_n);
        psc_blocks_decode(w.type, w.data, y, w.in * w.out);
        for (unsigned k = 0; k < w.in * w.out; k++) /* a ramp; within the coarsest step */
            g_assert_cmpfloat(fabs((double)y[k] - ((k % 17) / 8.0 - 1)), <=,
                              !psc_wtype_info(w.type)->quantised ? 0
                              : w.type == PSC_W_Q4_0             ? 0.13
                                                                 : 0.04);
        g_free(y);
    }
    g_assert_null(psc_gguf_find_tensor(&o.g, "blk.0.o"));
    g_assert_null(psc_gguf_find_tensor(&o.g, ""));
    g_assert_cmpuint(o.g.data_at % 32, ==, 0);
    close_opened(&o);
}

static void test_alignment(void)
{
    struct opened o = open_golden("aligned.gguf");
    g_assert_cmpuint(o.g.alignment, ==, 64);
    g_assert_cmpuint(o.g.data_at % 64, ==, 0);
    g_assert_cmpuint(psc_gguf_find_tensor(&o.g, "y")->offset, ==, 64);
    float y;
    memcpy(&y, psc_gguf_find_tensor(&o.g, "y")->data + 4 * 19, 4);
    g_assert_cmpfloat(y, ==, 19 % 17 / 8.0f - 1);
    close_opened(&o);
}

static void test_foreign_tensors(void)
{
    struct opened o = open_golden("foreign.gguf");
    struct psc_weight w;
    struct psc_error err = {0};
    const struct psc_gguf_tensor *old = psc_gguf_find_tensor(&o.g, "old"),
                                 *ids = psc_gguf_find_tensor(&o.g, "ids");
    g_assert_true(old->type == PSC_W_OTHER && old->type_id == 10 && old->dims[0] == 256 && old->bytes == 168);
    g_assert_cmpuint(old->data[167], ==, 167);
    g_assert_true(ids->type == PSC_W_OTHER && ids->bytes == 12 && ids->data[8] == 2);
    g_assert_cmpint(psc_gguf_weight(old, &w, &err), ==, PSC_ERR_UNAVAILABLE);
    g_assert_true(
        g_str_has_prefix(err.text, "the tensor 'old' is of type q2_K (10), which is not computed with here"));
    g_assert_cmpint(psc_gguf_weight(psc_gguf_find_tensor(&o.g, "cube"), &w, &err), ==, PSC_ERR_UNAVAILABLE);
    g_assert_cmpstr(err.text, ==, "the tensor 'cube' has 3 dimensions; a weight has one or two");
    g_assert_cmpstr(psc_gguf_tensor_type_name(26), ==, "i32");
    g_assert_null(psc_gguf_tensor_type_name(999));
    close_opened(&o);
}

/* An id that nobody has given out: of unknown size, so nothing is asked of its place. */
static void test_unknown_type_is_kept(void)
{
    GByteArray *b = g_byte_array_new();
    struct psc_weight w;
    struct psc_error err = {0};
    add_header(b, 2, 2, 0);
    add_tensor(b, "new", 33, 1, 999, 12345);
    add_tensor(b, "empty", 0, 7, 0, 0);
    struct opened o = open_built(b);
    g_assert_true(o.g.version == 2 && !o.g.tensors[0].data && !o.g.tensors[0].bytes &&
                  o.g.tensors[0].type_id == 999);
    g_assert_cmpint(psc_gguf_weight(&o.g.tensors[0], &w, &err), ==, PSC_ERR_UNAVAILABLE);
    g_assert_nonnull(strstr(err.text, "unknown (999)"));
    g_assert_cmpint(psc_gguf_weight(&o.g.tensors[1], &w, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==, "the tensor 'empty' has no values: its shape is 0 x 7");
    close_opened(&o);
}

static void test_odd_place(void)
{
    GByteArray *b = g_byte_array_new();
    struct psc_weight w;
    struct psc_error err = {0};
    add_header(b, 3, 2, 1);
    add_key_u32(b, "general.alignment", 1);
    add_tensor(b, "a", 1, 1, 24, 0); /* one byte */
    guint data = b->len + 41;        /* where the data begins, after one more tensor */
    add_tensor(b, "b", 1, 1, 0, (data + 1) % 4 ? 1 : 2);
    add_zeros(b, 8);
    struct opened o = open_built(b);
    const struct psc_gguf_tensor *t = psc_gguf_find_tensor(&o.g, "b");
    g_assert_cmpuint((uintptr_t)t->data % 4, !=, 0);
    g_assert_cmpint(psc_gguf_weight(t, &w, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, "needs a multiple of 4"));
    close_opened(&o);
}

/* ---- odd, but right ---- */

static void test_nothing_in_it(void)
{
    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 0, 0);
    struct opened o = open_built(b);
    uint32_t no = 9, count = 9;
    g_assert_null(psc_gguf_find(&o.g, "general.name"));
    g_assert_null(psc_gguf_find_tensor(&o.g, "w"));
    g_assert_cmpint(psc_gguf_split(&o.g, &no, &count, NULL), ==, PSC_OK);
    g_assert_true(no == 0 && count == 1);
    close_opened(&o);
}

static void test_nested_arrays(void)
{
    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 0, 2);
    add_key(b, "nested", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_ARRAY, 3);
    add_array(b, PSC_GGUF_STRING, 2);
    add_text(b, "a");
    add_text(b, "bc");
    add_array(b, PSC_GGUF_ARRAY, 0);
    add_array(b, PSC_GGUF_ARRAY, 1);
    add_array(b, PSC_GGUF_U16, 3);
    add_uint(b, 0, 6);
    add_key_u32(b, "after", 42);
    struct opened o = open_built(b);
    uint32_t after = 0;
    const int32_t *items;
    uint64_t n;
    struct psc_error err;
    g_assert_cmpint(psc_gguf_get_u32(&o.g, "after", NULL, &after, NULL), ==, PSC_OK);
    g_assert_cmpuint(after, ==, 42);
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "nested", &items, &n, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, "array of array"));
    close_opened(&o);
}

/* The limit is where it is said to be: sixteen arrays of arrays, and one of numbers in the last. */
static void test_nesting_limit(void)
{
    for (unsigned deep = 16; deep <= 17; deep++) {
        GByteArray *b = g_byte_array_new();
        struct psc_arena arena = {0};
        struct psc_gguf g;
        add_header(b, 3, 0, 1);
        add_key(b, "k", PSC_GGUF_ARRAY);
        for (unsigned i = 0; i < deep; i++)
            add_array(b, PSC_GGUF_ARRAY, 1);
        add_array(b, PSC_GGUF_U8, 1);
        add_uint(b, 7, 1);
        g_assert_cmpint(psc_gguf_parse(&arena, b->data, b->len, &g, NULL), ==,
                        deep == 16 ? PSC_OK : PSC_ERR_PARSE);
        psc_arena_release(&arena);
        g_byte_array_unref(b);
    }
}

/* Metadata that ends at a multiple of the alignment is followed by the data at once. */
static void test_no_padding_when_aligned(void)
{
    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 1, 0);
    add_tensor(b, "a-name-of-just-thirty-two-bytes!", 2, 1, 0, 0);
    g_assert_cmpuint(b->len, ==, 96);
    add_u64(b, 0x4000000000000000); /* 0, 2 */
    struct opened o = open_built(b);
    float y[2];
    g_assert_cmpuint(o.g.data_at, ==, 96);
    memcpy(y, o.g.tensors[0].data, sizeof y);
    g_assert_true(y[0] == 0 && y[1] == 2);
    close_opened(&o);
}

static void test_items_of_more_than_32_bits(void)
{
    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 0, 3);
    add_key(b, "u", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_U32, 2);
    add_u32(b, 7);
    add_u32(b, 0x80000000u);
    add_key(b, "i", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_I64, 1);
    add_u64(b, (guint64)INT64_C(-2147483649));
    add_key(b, "d", PSC_GGUF_ARRAY);
    add_array(b, PSC_GGUF_F64, 1);
    add_u64(b, 0x3ff8000000000000u); /* 1.5 */
    struct opened o = open_built(b);
    const int32_t *items = NULL;
    const float *floats = NULL;
    uint64_t n = 9;
    struct psc_error err = {0};
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "u", &items, &n, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==, "item 1 of the key 'u' is 2147483648, which has more than 32 bits");
    g_assert_cmpint(psc_gguf_get_i32s(&o.arena, &o.g, "i", &items, &n, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==, "item 0 of the key 'i' is -2147483649, which has more than 32 bits");
    g_assert_cmpuint(n, ==, 9);
    g_assert_cmpint(psc_gguf_get_f32s(&o.arena, &o.g, "d", &floats, &n, &err), ==, PSC_OK);
    g_assert_true(n == 1 && floats[0] == 1.5f);
    close_opened(&o);
}

/* ---- parts ---- */

static GByteArray *part(guint32 no, guint32 count, gint64 tensors, const char *name)
{
    GByteArray *b = g_byte_array_new();
    add_header(b, 3, 1, tensors >= 0 ? 3 : 2);
    add_key_u32(b, "split.no", no);
    add_key_u32(b, "split.count", count);
    if (tensors >= 0)
        add_key_u32(b, "split.tensors.count", (guint32)tensors);
    add_tensor(b, name, 4, 1, 0, 0);
    pad_to(b, 32);
    add_zeros(b, 16);
    return b;
}

static void test_join(void)
{
    struct opened o[3];
    struct psc_gguf parts[3], g;
    struct psc_arena arena = {0};
    const char *name = NULL;
    for (unsigned i = 0; i < 3; i++) {
        char file[32];
        g_snprintf(file, sizeof file, "part-0000%u-of-00003.gguf", i + 1);
        o[i] = open_golden(file);
        parts[i] = o[i].g;
        uint32_t no = 9, count = 9;
        g_assert_cmpint(psc_gguf_split(&parts[i], &no, &count, NULL), ==, PSC_OK);
        g_assert_true(no == i && count == 3);
    }
    g_assert_cmpint(psc_gguf_join(&arena, parts, 3, &g, NULL), ==, PSC_OK);
    g_assert_true(g.tensor_n == 5 && g.part_n == 3);
    g_assert_cmpuint(g.file_bytes, ==, parts[0].file_bytes + parts[1].file_bytes + parts[2].file_bytes);
    for (unsigned i = 0; i < 5; i++) {
        char tensor[32];
        float x;
        g_snprintf(tensor, sizeof tensor, "blk.%u.weight", i);
        const struct psc_gguf_tensor *t = psc_gguf_find_tensor(&g, tensor);
        g_assert_cmpuint(t->part, ==, i / 2);
        memcpy(&x, t->data, 4);
        g_assert_cmpfloat(x, ==, (float)i - 1);
    }
    g_assert_cmpint(psc_gguf_get_text(&g, "general.name", NULL, &name, NULL), ==, PSC_OK);
    g_assert_cmpstr(name, ==, "in parts");
    psc_arena_release(&arena);
    for (unsigned i = 0; i < 3; i++)
        close_opened(&o[i]);
}

static void test_join_one(void)
{
    struct opened o = open_golden("small.gguf");
    struct psc_gguf g;
    g_assert_cmpint(psc_gguf_join(&o.arena, &o.g, 1, &g, NULL), ==, PSC_OK);
    g_assert_true(g.tensor_n == o.g.tensor_n && g.part_n == 1);
    g_assert_true(psc_gguf_find_tensor(&g, "half")->data == psc_gguf_find_tensor(&o.g, "half")->data);
    close_opened(&o);
}

static void test_join_faults(void)
{
    static const struct {
        guint32 no[2], count[2];
        gint64 tensors;
        const char *second, *sentence;
    } rows[] = {
        {{0, 1}, {2, 2}, 2, "b", NULL},
        {{0, 1}, {2, 2}, -1, "b", NULL}, /* nothing promised */
        {{0, 0}, {2, 2}, 2, "b", "where part 2 of 2 should be, there is part 1"},
        {{1, 0}, {2, 2}, 2, "b", "where part 1 of 2 should be, there is part 2"},
        {{0, 1}, {2, 3}, 2, "b", "part 2 of 2 says that the model has 3 parts"},
        {{0, 1}, {3, 3}, 2, "b", "part 1 of 2 says that the model has 3 parts"},
        {{0, 1}, {2, 2}, 3, "b", "the parts have 2 tensors together, but split.tensors.count says 3"},
        {{0, 1}, {2, 2}, 2, "a", "the tensor 'a' is in part 1 and in part 2"},
        {{0, 2}, {2, 2}, 2, "b", "part 2 of 2: split.no is 2, but split.count says that there are 2 parts (0 to 1)"},
        {{0, 1}, {5000, 2}, 2, "b", "part 1 of 2: split.count says 5000 parts, at most 1024 are possible"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_arena arena = {0};
        struct psc_error err = {0};
        struct opened o[2];
        struct psc_gguf g = {0};
        for (unsigned k = 0; k < 2; k++)
            o[k] =
                open_built(part(rows[i].no[k], rows[i].count[k], rows[i].tensors, k ? rows[i].second : "a"));
        const struct psc_gguf parts[] = {o[0].g, o[1].g};
        enum psc_status status = psc_gguf_join(&arena, parts, 2, &g, &err);
        if (!rows[i].sentence) {
            g_assert_cmpint(status, ==, PSC_OK);
        } else {
            g_assert_cmpint(status, !=, PSC_OK);
            g_assert_cmpstr(err.text, ==, rows[i].sentence);
            g_assert_cmpuint(g.tensor_n, ==, 0);
        }
        psc_arena_release(&arena);
        close_opened(&o[0]);
        close_opened(&o[1]);
    }
    struct psc_arena arena = {0};
    struct psc_gguf g;
    g_assert_cmpint(psc_gguf_join(&arena, NULL, 0, &g, NULL), ==, PSC_ERR_USAGE);
}

/* ---- out of memory ---- */

struct files {
    void *bytes[3];
    gsize n[3];
};

static enum psc_status parse_and_join(void *data)
{
    const struct files *f = data;
    struct psc_arena arena = {0};
    struct psc_gguf parts[3], g;
    enum psc_status status = PSC_OK;
    for (unsigned i = 0; i < 3 && status == PSC_OK; i++)
        status = psc_gguf_parse(&arena, f->bytes[i], f->n[i], &parts[i], NULL);
    if (status == PSC_OK)
        status = psc_gguf_join(&arena, parts, 3, &g, NULL);
    psc_arena_release(&arena);
    return status;
}

static enum psc_status parse_and_get(void *data)
{
    const struct files *f = data;
    struct psc_arena arena = {0};
    struct psc_gguf g;
    const struct psc_gguf_text *texts;
    const int32_t *i32s;
    const float *f32s;
    uint64_t n;
    enum psc_status status = psc_gguf_parse(&arena, f->bytes[0], f->n[0], &g, NULL);
    struct psc_arena own[3] = {{0}};
    if (status == PSC_OK)
        status = psc_gguf_get_texts(&own[0], &g, "a.texts", &texts, &n, NULL);
    if (status == PSC_OK)
        status = psc_gguf_get_i32s(&own[1], &g, "a.i32s", &i32s, &n, NULL);
    if (status == PSC_OK)
        status = psc_gguf_get_f32s(&own[2], &g, "a.f32s", &f32s, &n, NULL);
    for (unsigned i = 0; i < 3; i++)
        psc_arena_release(&own[i]);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct files f;
    for (unsigned i = 0; i < 3; i++) {
        char file[32];
        g_snprintf(file, sizeof file, "part-0000%u-of-00003.gguf", i + 1);
        f.bytes[i] = load(file, &f.n[i]);
    }
    g_assert_cmpuint(test_oom_loop(parse_and_join, &f), >, 0);
    for (unsigned i = 0; i < 3; i++)
        g_free(f.bytes[i]);
    f.bytes[0] = load("small.gguf", &f.n[0]);
    g_assert_cmpuint(test_oom_loop(parse_and_get, &f), >=, 4);
    g_free(f.bytes[0]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/gguf/numbers-of-every-width", test_numbers);
    g_test_add_func("/core/gguf/texts-and-truth-values", test_texts_and_truth);
    g_test_add_func("/core/gguf/arrays", test_arrays);
    g_test_add_func("/core/gguf/missing-keys-and-wrong-kinds", test_missing_and_wrong_kinds);
    g_test_add_func("/core/gguf/items-of-more-than-32-bits-are-refused", test_items_of_more_than_32_bits);
    g_test_add_func("/core/gguf/values-are-shown-safely", test_shown);
    g_test_add_func("/core/gguf/tensors-lie-where-the-file-says", test_tensors);
    g_test_add_func("/core/gguf/alignment-is-that-of-the-file", test_alignment);
    g_test_add_func("/core/gguf/foreign-tensors-are-kept-and-refused-when-used", test_foreign_tensors);
    g_test_add_func("/core/gguf/tensors-of-unknown-types-are-kept", test_unknown_type_is_kept);
    g_test_add_func("/core/gguf/a-weight-at-an-odd-place-is-refused", test_odd_place);
    g_test_add_func("/core/gguf/a-file-with-nothing-in-it", test_nothing_in_it);
    g_test_add_func("/core/gguf/arrays-in-arrays", test_nested_arrays);
    g_test_add_func("/core/gguf/arrays-nest-16-deep-at-most", test_nesting_limit);
    g_test_add_func("/core/gguf/aligned-metadata-needs-no-padding", test_no_padding_when_aligned);
    g_test_add_func("/core/gguf/join/parts-become-one-model", test_join);
    g_test_add_func("/core/gguf/join/one-part-is-fine", test_join_one);
    g_test_add_func("/core/gguf/join/faults-get-sentences", test_join_faults);
    g_test_add_func("/core/gguf/out-of-memory", test_oom);
    return g_test_run();
}
