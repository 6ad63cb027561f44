/* Dumps of a KV cache: what is written is read, damage is told, sessions load or are refused; what a report finds. */
#include "core/base/hash.h"
#include "core/debug/kv-report.h"
#include "tests/util.h"
#include "traces/kv-dump-private.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

enum { LAYERS = 3, ROWS = 10, WIDTH = 32 };

/* A small cache: sequence 7 in cells 0..5, four rows; sequence 8 shares two of them and has one row at cell 6. */
struct cache {
    struct psc_kv_runs runs;
    uint8_t rows[LAYERS][2][ROWS * WIDTH * 4];
    uint8_t written[2];
    struct psc_kv_image image;
    char *folder;
};

static const int32_t layer_numbers[LAYERS] = {0, 1, 4};

static enum psc_status read_cb(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                               struct psc_error *reterr)
{
    struct cache *c = ctx;
    size_t bytes = c->image.row_words * 4;
    (void)reterr;
    memcpy(to, c->rows[at][slot] + lo * bytes, (hi - lo) * bytes);
    return PSC_OK;
}

static float value(uint32_t at, unsigned slot, uint32_t row, uint32_t i)
{
    return (float)(at * 1000 + slot * 500 + row * 10) + (float)i / 32 + 1;
}

static void put_row(struct cache *c, uint32_t at, unsigned slot, uint32_t row)
{
    float values[WIDTH];
    for (uint32_t i = 0; i < WIDTH; i++)
        values[i] = value(at, slot, row, i);
    psc_kv_row_encode(c->image.format, WIDTH, values, c->rows[at][slot] + row * c->image.row_words * 4);
}

static void forward(struct cache *c, uint64_t seq, int32_t first, uint32_t n)
{
    int32_t positions[8], tokens[8], cells[8];
    uint64_t seqs[8];
    struct psc_kv_batch batch = {seqs, positions, tokens, n};
    for (uint32_t t = 0; t < n; t++) {
        seqs[t] = seq;
        positions[t] = first + (int32_t)t;
        tokens[t] = 100 + positions[t];
    }
    g_assert_cmpint(psc_kv_runs_cells(&c->runs, &batch, cells, NULL), ==, PSC_OK);
    psc_kv_runs_own(&c->runs, &batch, cells);
    for (uint32_t t = 0; t < n; t++) {
        c->written[cells[t] / 8] |= (uint8_t)(1u << cells[t] % 8);
        for (uint32_t at = 0; at < LAYERS; at++)
            for (unsigned slot = 0; slot < 2; slot++)
                put_row(c, at, slot, (uint32_t)cells[t]);
    }
}

static void setup(struct cache *c, enum psc_kv_format format)
{
    memset(c, 0, sizeof *c);
    c->image = (struct psc_kv_image){
        .model = "m.gguf", .backend = "cpu", .layer_n = LAYERS, .layer = layer_numbers, .has_v = true, .rows = ROWS,
        .width = WIDTH, .format = format, .written = c->written, .host = "host bytes", .host_n = 10, .read = read_cb, .ctx = c,
    };
    g_assert_cmpint(psc_kv_row_words(format, WIDTH, &c->image.row_words, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_kv_runs_init(&c->runs, ROWS, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_kv_runs_reserve(&c->runs, 7, 6, NULL), ==, PSC_OK);
    forward(c, 7, 0, 4);
    g_assert_cmpint(psc_kv_runs_reserve(&c->runs, 8, 3, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_kv_runs_share_prefix(&c->runs, 8, 7, 2, NULL), ==, PSC_OK);
    forward(c, 8, 2, 1);
    c->image.cells = c->runs.cells.cell;
    c->image.runs = c->runs.run;
    c->image.run_n = PSC_KV_SEQS_MAX;
    c->folder = g_dir_make_tmp("psc-kv-XXXXXX", NULL);
    g_assert_nonnull(c->folder);
}

static char *in_folder(const struct cache *c, const char *name)
{
    return g_build_filename(c->folder, name, NULL);
}

static void teardown(struct cache *c)
{
    GDir *dir = g_dir_open(c->folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        char *path = in_folder(c, name);
        g_unlink(path);
        g_free(path);
    }
    g_dir_close(dir);
    g_rmdir(c->folder);
    g_free(c->folder);
    psc_kv_runs_release(&c->runs);
}

static struct psc_kv_dump *opened(const char *path, const struct psc_kv_dump_options *options)
{
    struct psc_kv_dump *dump = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_kv_dump_open(path, options, &dump, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    return dump;
}

static char *written(const struct cache *c)
{
    char *path = in_folder(c, "kv.pskv");
    g_assert_cmpint(psc_kv_dump_write(path, &c->image, NULL), ==, PSC_OK);
    return path;
}

static void test_round_trip(void)
{
    for (unsigned format = 0; format < PSC_KV_FORMAT_N; format++) {
        struct cache c;
        setup(&c, (enum psc_kv_format)format);
        char *path = written(&c);
        struct psc_kv_dump *dump = opened(path, NULL);
        const struct psc_kv_image *image = psc_kv_dump_image(dump);
        g_assert_cmpstr(psc_kv_dump_format(dump), ==, "planscope-kv");
        g_assert_cmpstr(image->model, ==, "m.gguf");
        g_assert_cmpstr(image->backend, ==, "cpu");
        g_assert_cmpuint(image->layer_n, ==, LAYERS);
        g_assert_cmpmem(image->layer, sizeof layer_numbers, layer_numbers, sizeof layer_numbers);
        g_assert_cmpuint(image->rows, ==, ROWS);
        g_assert_cmpuint(image->format, ==, format);
        g_assert_cmpmem(image->written, 2, c.written, 2);
        g_assert_cmpmem(image->host, (size_t)image->host_n, "host bytes", 10);
        for (uint32_t r = 0; r < ROWS; r++) {
            const struct psc_kv_cell *a = &image->cells[r], *b = &c.runs.cells.cell[r];
            g_assert_cmphex(a->seqs, ==, b->seqs);
            g_assert_cmpint(a->position, ==, b->position);
            g_assert_cmpuint(a->token, ==, b->token);
            g_assert_cmpint(a->written, ==, b->written);
        }
        for (uint32_t k = 0; k < PSC_KV_SEQS_MAX; k++) {
            g_assert_cmpint(image->runs[k].live, ==, c.runs.run[k].live);
            g_assert_cmpuint(image->runs[k].seq, ==, c.runs.run[k].seq);
            g_assert_cmpuint(image->runs[k].start, ==, c.runs.run[k].start);
            g_assert_cmpuint(image->runs[k].shared_rows, ==, c.runs.run[k].shared_rows);
        }
        for (uint32_t at = 0; at < LAYERS; at++)
            for (unsigned slot = 0; slot < 2; slot++) {
                uint8_t rows[ROWS * WIDTH * 4];
                size_t bytes = image->row_words * 4;
                g_assert_cmpint(image->read(image->ctx, at, slot, 3, 8, rows, NULL), ==, PSC_OK);
                g_assert_cmpmem(rows, 5 * bytes, c.rows[at][slot] + 3 * bytes, 5 * bytes);
            }
        psc_kv_dump_free(dump);
        g_free(path);
        teardown(&c);
    }
}

/* The head by hand: what another program would look for. */
static void test_layout(void)
{
    struct cache c;
    char *path, *bytes;
    gsize n;
    setup(&c, PSC_KV_F16);
    path = written(&c);
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    g_assert_cmpmem(bytes, 8, "PSCKV\r\n\x1a", 8);
    static const struct { unsigned at; guint32 value; } words[] = {
        {8, 1}, {12, 1 | 2 | 8 | 16 | 32}, {24, LAYERS}, {28, ROWS}, {32, WIDTH}, {36, WIDTH}, {40, 2}, {44, 6}, {48, 3}, {56, 10},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        guint32 value;
        memcpy(&value, bytes + words[i].at, 4);
        g_assert_cmpuint(GUINT32_FROM_LE(value), ==, words[i].value);
    }
    guint64 size, payload;
    memcpy(&size, bytes + 16, 8);
    memcpy(&payload, bytes + 64, 8);
    g_assert_cmpuint(size, ==, n);
    g_assert_cmpuint(payload % 64, ==, 0);
    g_assert_cmpmem(bytes + 96 + 4 * LAYERS, 9, "m.ggufcpu", 9);
    g_assert_cmpmem(bytes + payload, sizeof c.rows[0][0], c.rows[0][0], sizeof c.rows[0][0]);
    g_free(bytes);
    g_free(path);
    teardown(&c);
}

/* Every byte matters: with any of them changed, or the file cut anywhere, nothing of it is used. */
static void test_damage(void)
{
    struct cache c;
    char *path, *bytes;
    gsize n;
    unsigned told = 0;
    setup(&c, PSC_KV_Q8_0);
    path = written(&c);
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    for (gsize i = 0; i < n; i += i < 700 ? 1 : 41) {
        struct psc_kv_dump *dump = NULL;
        struct psc_error error = {0};
        bytes[i] ^= 0x41;
        test_put_file(path, bytes, n);
        bytes[i] ^= 0x41;
        g_assert_cmpint(psc_kv_dump_open(path, NULL, &dump, &error), !=, PSC_OK);
        g_assert_null(dump);
        g_assert_cmpstr(error.text, !=, "");
        told++;
    }
    for (gsize i = 0; i < n; i += 1 + i / 7) {
        struct psc_error error = {0};
        struct psc_kv_dump *dump = NULL;
        test_put_file(path, bytes, i);
        g_assert_cmpint(psc_kv_dump_open(path, NULL, &dump, &error), !=, PSC_OK);
        if (i >= 8)
            g_assert_nonnull(strstr(error.text, "truncated"));
        told++;
    }
    g_assert_cmpuint(told, >, 700);
    g_free(bytes);
    g_free(path);
    teardown(&c);
}

/* Heads and tables that lie, under a checksum that is right. */
static void test_hostile(void)
{
    uint64_t state = test_seed();
    struct cache c;
    char *path, *bytes;
    gsize n;
    unsigned opened_n = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    setup(&c, PSC_KV_F32);
    path = written(&c);
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    guint8 *text = g_malloc(n);
    for (unsigned round = 0; round < 3000; round++) {
        struct psc_kv_dump *dump = NULL;
        struct psc_arena arena = {0};
        struct psc_kv_report report;
        struct psc_kv_runs runs;
        struct psc_error error = {0};
        memcpy(text, bytes, n);
        for (unsigned k = 0; k < 1 + round % 3; k++)
            text[psc_random_next(&state) % 700] = (guint8)(psc_random_next(&state) % 3 ? psc_random_next(&state) : 0xff);
        psc_put_u64(text + n - 8, psc_pskv_sum(0, text, n - 8));
        test_put_file(path, text, n);
        if (psc_kv_dump_open(path, NULL, &dump, &error)) {
            g_assert_cmpstr(error.text, !=, "");
            continue;
        }
        opened_n++;
        g_assert_cmpint(psc_kv_report_make(&arena, psc_kv_dump_image(dump), &report, &error), ==, PSC_OK);
        if (psc_kv_dump_image(dump)->cells && psc_kv_dump_image(dump)->runs && psc_kv_dump_image(dump)->rows == ROWS) {
            g_assert_cmpint(psc_kv_runs_init(&runs, ROWS, NULL), ==, PSC_OK);
            if (!psc_kv_runs_adopt(&runs, psc_kv_dump_image(dump)->runs, psc_kv_dump_image(dump)->cells, &error))
                g_assert_true(psc_kv_runs_check(&runs));
            psc_kv_runs_release(&runs);
        }
        psc_arena_release(&arena);
        psc_kv_dump_free(dump);
    }
    g_assert_cmpuint(opened_n, >, 100);
    g_free(text);
    g_free(bytes);
    g_free(path);
    teardown(&c);
}

static void test_minfer(void)
{
    struct cache c;
    const struct psc_kv_dump_options wide = {.width = WIDTH}, high = {.n_ctx = ROWS}, tagged = {.width = WIDTH, .tag = "prefill"};
    setup(&c, PSC_KV_F16); /* written as the floats that the halves mean */
    g_assert_cmpint(psc_kv_dump_write_minfer(c.folder, "decode", &c.image, NULL), ==, PSC_OK);
    char *path = in_folder(&c, "kv4v_decode.f32"), *bytes;
    gsize n;
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    g_assert_cmpuint(n, ==, ROWS * WIDTH * 4);
    for (uint32_t i = 0; i < WIDTH; i++) {
        float got;
        memcpy(&got, bytes + (3 * WIDTH + i) * 4, 4); /* row 3, no header */
        g_assert_cmpfloat(fabsf(got - value(2, 1, 3, i)), <=, value(2, 1, 3, i) * 0x1p-11f);
    }
    g_free(bytes);
    for (unsigned k = 0; k < 2; k++) {
        struct psc_kv_dump *dump = opened(c.folder, k ? &wide : &high);
        const struct psc_kv_image *image = psc_kv_dump_image(dump);
        g_assert_cmpstr(psc_kv_dump_format(dump), ==, "minfer-kv");
        g_assert_cmpmem(image->layer, image->layer_n * sizeof *image->layer, layer_numbers, sizeof layer_numbers);
        g_assert_cmpuint(image->rows, ==, ROWS);
        g_assert_cmpuint(image->width, ==, WIDTH);
        g_assert_true(image->has_v);
        g_assert_null(image->written);
        psc_kv_dump_free(dump);
    }
    struct psc_kv_dump *dump = opened(path, &wide); /* one region alone */
    g_assert_cmpstr(psc_kv_image_slot(psc_kv_dump_image(dump), 0), ==, "V");
    g_assert_cmpint(psc_kv_dump_image(dump)->layer[0], ==, 4);
    psc_kv_dump_free(dump);
    struct psc_error error = {0};
    static const struct { struct psc_kv_dump_options options; const char *words; } wrong[] = {
        {{0}, "say how wide a row is"}, {{.width = 33}, "33"}, {{.n_ctx = 7}, "n_ctx 7"}, {{.width = WIDTH, .n_ctx = 9}, "32"},
        {{.width = WIDTH, .tag = "prefill"}, "prefill"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_cmpint(psc_kv_dump_open(c.folder, &wrong[i].options, &dump, &error), !=, PSC_OK);
        g_assert_nonnull(strstr(error.text, wrong[i].words));
    }
    g_assert_cmpint(psc_kv_dump_write_minfer(c.folder, "prefill", &c.image, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_kv_dump_open(c.folder, &wide, &dump, &error), !=, PSC_OK);
    g_assert_nonnull(strstr(error.text, "decode"));
    g_assert_nonnull(strstr(error.text, "prefill"));
    psc_kv_dump_free(opened(c.folder, &tagged));
    g_free(path);
    path = in_folder(&c, "kv4k_prefill.f32");
    g_unlink(path);
    g_assert_cmpint(psc_kv_dump_open(c.folder, &tagged, &dump, &error), !=, PSC_OK);
    g_assert_nonnull(strstr(error.text, "V of layer 4, but not K"));
    g_free(path);
    teardown(&c);
}

/* ---- sessions ------------------------------------------------------------------------------------------ */

struct loaded {
    struct cache *from;
    uint8_t rows[LAYERS][2][ROWS * WIDTH * 4];
    uint32_t row_bytes;
    unsigned writes;
    bool refuses;
};

static enum psc_status write_cb(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, const void *from,
                                struct psc_error *reterr)
{
    struct loaded *l = ctx;
    l->writes++;
    if (l->refuses)
        return psc_fail(reterr, PSC_ERR_IO, "no");
    memcpy(l->rows[at][slot] + lo * l->row_bytes, from, (hi - lo) * l->row_bytes);
    return PSC_OK;
}

static void test_load(void)
{
    for (unsigned format = 0; format < PSC_KV_FORMAT_N; format++) {
        struct cache c;
        struct psc_kv_runs runs;
        struct psc_error error = {0};
        setup(&c, (enum psc_kv_format)format);
        char *path = written(&c);
        struct psc_kv_dump *dump = opened(path, NULL);
        struct loaded l = {.row_bytes = c.image.row_words * 4};
        g_assert_cmpint(psc_kv_runs_init(&runs, ROWS, NULL), ==, PSC_OK);
        struct psc_kv_target target = {&c.image, &runs, write_cb, &l};
        g_assert_cmpint(psc_kv_dump_load(dump, &target, &error), ==, PSC_OK);
        g_assert_true(psc_kv_runs_check(&runs));
        g_assert_cmpuint(psc_kv_runs_length(&runs, 8), ==, 3);
        g_assert_cmpmem(runs.run, sizeof runs.run, c.runs.run, sizeof c.runs.run);
        for (uint32_t at = 0; at < LAYERS; at++)
            for (unsigned slot = 0; slot < 2; slot++)
                g_assert_cmpmem(l.rows[at][slot], ROWS * l.row_bytes, c.rows[at][slot], ROWS * l.row_bytes);
        l.refuses = true; /* half a cache is none */
        g_assert_cmpint(psc_kv_dump_load(dump, &target, &error), ==, PSC_ERR_IO);
        g_assert_cmpuint(psc_kv_runs_live_n(&runs), ==, 0);
        psc_kv_runs_release(&runs);
        psc_kv_dump_free(dump);
        g_free(path);
        teardown(&c);
    }
}

static void test_mismatch(void)
{
    struct cache c;
    struct psc_kv_runs runs;
    setup(&c, PSC_KV_F32);
    char *path = written(&c);
    struct psc_kv_dump *dump = opened(path, NULL);
    static const int32_t others[LAYERS] = {0, 1, 5};
    g_assert_cmpint(psc_kv_runs_init(&runs, ROWS, NULL), ==, PSC_OK);
    for (unsigned k = 0; k < 6; k++) {
        static const char *const words[] = {"cuda", "n_ctx 10", "f16", "32 values", "layers", "layers"};
        struct psc_kv_image shape = c.image;
        struct loaded l = {0};
        struct psc_kv_target target = {&shape, &runs, write_cb, &l};
        struct psc_error error = {0};
        shape.backend = k == 0 ? "cuda" : shape.backend;
        shape.rows += k == 1;
        shape.format = k == 2 ? PSC_KV_F16 : shape.format;
        shape.width = k == 3 ? 64 : shape.width;
        shape.layer_n -= k == 4;
        shape.layer = k == 5 ? others : shape.layer;
        g_assert_cmpint(psc_kv_dump_load(dump, &target, &error), ==, PSC_ERR_USAGE);
        g_assert_nonnull(strstr(error.text, words[k]));
        g_assert_cmpuint(l.writes, ==, 0); /* nothing was touched */
        g_assert_cmpuint(psc_kv_runs_live_n(&runs), ==, 0);
    }
    psc_kv_dump_free(dump);
    c.image.runs = NULL; /* a dump without sequences is no session */
    g_assert_cmpint(psc_kv_dump_write(path, &c.image, NULL), ==, PSC_OK);
    dump = opened(path, NULL);
    struct loaded l = {0};
    struct psc_kv_target target = {&c.image, &runs, write_cb, &l};
    struct psc_error error = {0};
    g_assert_cmpint(psc_kv_dump_load(dump, &target, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "sequences"));
    psc_kv_dump_free(dump);
    psc_kv_runs_release(&runs);
    g_free(path);
    teardown(&c);
}

/* ---- reports ------------------------------------------------------------------------------------------- */

/* "nan 1V 2-3; zero 4K 0-1": fault, layer and slot, rows. */
static char *found(const struct cache *c, struct psc_kv_report *report, struct psc_arena *arena)
{
    GString *text = g_string_new(NULL);
    g_assert_cmpint(psc_kv_report_make(arena, &c->image, report, NULL), ==, PSC_OK);
    for (uint32_t i = 0; i < report->finding_n; i++) {
        const struct psc_kv_finding *f = &report->findings[i];
        g_string_append_printf(text, "%s%s ", i ? "; " : "", psc_kv_fault_name(f->fault));
        if (f->at != PSC_KV_ALL)
            g_string_append_printf(text, "%d%s ", c->image.layer[f->at], psc_kv_image_slot(&c->image, f->slot));
        g_string_append_printf(text, "%u-%u", f->lo, f->hi);
    }
    return g_string_free(text, FALSE);
}

#define FINDS(want) \
    do { \
        struct psc_arena arena_ = {0}; \
        char *got_ = found(&c, &report, &arena_); \
        g_assert_cmpstr(got_, ==, want); \
        g_free(got_); \
        psc_arena_release(&arena_); \
    } while (0)

static void set_value(struct cache *c, uint32_t at, unsigned slot, uint32_t row, float v)
{
    float values[WIDTH] = {0};
    values[WIDTH / 2] = v;
    psc_kv_row_encode(c->image.format, WIDTH, values, c->rows[at][slot] + row * c->image.row_words * 4);
}

static void test_report(void)
{
    for (unsigned format = 0; format < PSC_KV_FORMAT_N; format++) {
        struct cache c;
        struct psc_kv_report report;
        setup(&c, (enum psc_kv_format)format);
        FINDS("");
        g_assert_cmpuint(report.written_n, ==, 5);
        g_assert_cmpuint(report.used_n, ==, 7);
        g_assert_cmpuint(report.differs_at, ==, PSC_KV_ALL);
        set_value(&c, 1, 1, 2, NAN);
        FINDS("nan 1V 2-3");
        set_value(&c, 1, 1, 2, 1);
        if (format != PSC_KV_Q8_0) { /* there an infinity makes its block NaN */
            set_value(&c, 2, 0, 6, INFINITY);
            FINDS("inf 4K 6-7");
            set_value(&c, 2, 0, 6, 1);
        }
        memset(c.rows[0][0], 0, 2 * c.image.row_words * 4);
        FINDS("zero 0K 0-2");
        g_assert_cmpuint(report.differs_at, ==, 1); /* it has rows that the first layer has not */
        g_assert_cmpuint(report.differs_row, ==, 0);
        put_row(&c, 0, 0, 0);
        put_row(&c, 0, 0, 1);
        set_value(&c, 0, 1, 9, 3);
        FINDS("stray 0V 9-10");
        set_value(&c, 0, 1, 9, NAN); /* poison in rows that nobody uses is no finding */
        FINDS("");
        set_value(&c, 0, 1, 9, 0);
        memset(c.rows[0][1] + 9 * c.image.row_words * 4, 0, c.image.row_words * 4);
        c.written[0] &= (uint8_t)~4u; /* row 2 is in use and was never written */
        FINDS("unwritten 2-3; stray 0K 2-3; stray 0V 2-3; stray 1K 2-3; stray 1V 2-3; stray 4K 2-3; stray 4V 2-3");
        teardown(&c);
    }
}

static void test_report_without_knowledge(void)
{
    struct cache c;
    struct psc_kv_report report;
    struct psc_text words = {0};
    struct psc_arena arena = {0};
    setup(&c, PSC_KV_F32);
    c.image.written = NULL;
    c.image.cells = NULL;
    c.image.runs = NULL;
    FINDS("unwritten 4-6"); /* between the rows of the two sequences nothing tells a hole from a reservation */
    g_assert_false(report.told);
    g_assert_cmpuint(report.written_n, ==, 5);
    memset(c.rows[1][0] + 3 * WIDTH * 4, 0, WIDTH * 4);
    char *got = found(&c, &report, &arena);
    g_assert_cmpstr(got, ==, "zero 1K 3-4; unwritten 4-6");
    psc_explain_kv_finding(&words, &c.image, &report.findings[0]);
    g_assert_cmpstr(psc_text_str(&words), ==, "layer 1 K: row 3 is zero, other regions hold something there");
    psc_text_clear(&words);
    psc_explain_kv_finding(&words, &c.image, &report.findings[1]);
    g_assert_cmpstr(psc_text_str(&words), ==, "rows 4..5 were never written, but lie among rows that are in use");
    psc_text_release(&words);
    psc_arena_release(&arena);
    g_free(got);
    teardown(&c);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static enum psc_status write_and_read(void *data)
{
    struct cache *c = data;
    struct psc_kv_dump *dump = NULL;
    struct psc_arena arena = {0};
    struct psc_kv_report report;
    const struct psc_kv_dump_options wide = {.width = WIDTH, .tag = "decode"};
    char *path = in_folder(c, "kv.pskv");
    enum psc_status status = psc_kv_dump_write(path, &c->image, NULL);
    if (!status)
        status = psc_kv_dump_open(path, NULL, &dump, NULL);
    if (!status)
        status = psc_kv_report_make(&arena, psc_kv_dump_image(dump), &report, NULL);
    psc_kv_dump_free(dump);
    dump = NULL;
    if (!status)
        status = psc_kv_dump_write_minfer(c->folder, "decode", &c->image, NULL);
    if (!status)
        status = psc_kv_dump_open(c->folder, &wide, &dump, NULL);
    psc_kv_dump_free(dump);
    psc_arena_release(&arena);
    g_free(path);
    return status;
}

static void test_oom(void)
{
    struct cache c;
    setup(&c, PSC_KV_F32);
    g_assert_cmpuint(test_oom_loop(write_and_read, &c), >, 20);
    teardown(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/kv-dump/what-is-written-is-read", test_round_trip);
    g_test_add_func("/traces/kv-dump/the-head-is-as-documented", test_layout);
    g_test_add_func("/traces/kv-dump/every-damaged-byte-is-told", test_damage);
    g_test_add_func("/traces/kv-dump/heads-and-tables-that-lie-do-no-harm", test_hostile);
    g_test_add_func("/traces/kv-dump/minfers-files-are-floats-without-a-header", test_minfer);
    g_test_add_func("/traces/kv-dump/a-session-loads-as-it-was", test_load);
    g_test_add_func("/traces/kv-dump/a-session-that-does-not-fit-touches-nothing", test_mismatch);
    g_test_add_func("/core/debug/kv-report/faults-are-found-where-they-are", test_report);
    g_test_add_func("/core/debug/kv-report/what-was-written-is-inferred-when-nobody-says", test_report_without_knowledge);
    g_test_add_func("/traces/kv-dump/runs-out-of-memory-cleanly", test_oom);
    return g_test_run();
}
