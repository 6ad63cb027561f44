/* Fused decode ops are their parts, bit for bit: result and stored rows. */
#include "tests/backend-suite.h"

#include <string.h>

enum { NQT = 128, NKT = 64, HD = 32, IN = 256, ROWS = 12 };

/* What the parts make: q, k, v after bias, norm and rope, and the regions. */
struct parts {
    float *q, *k, *v;
    unsigned char *k_region, *v_region;
};

static void must_run(struct test_case *c, unsigned variant)
{
    struct psc_error error = {0};
    if (test_case_try(c, variant, false, &error))
        g_error("%s: %s", c->name, error.text);
}

/* Runs one op over x and gives its result: rows of `width`. */
static float *one(struct test_case *c, unsigned variant, const float *x, uint64_t x_width, uint64_t width,
                  uint64_t tokens)
{
    float *room = test_case_floats(c, x_width, tokens, 1, 1);
    memcpy(room, x, x_width * tokens * sizeof *x);
    if (c->op == PSC_OP_ROPE)
        for (uint64_t t = 0; t < tokens; t++) {
            if (!t)
                test_case_words(c, PSC_I32, tokens);
            ((int32_t *)c->in[1].words)[t] = (int32_t)(7 * t + 2);
        }
    test_case_out(c, width, tokens, 1, 1);
    must_run(c, variant);
    float *result = g_memdup2(c->out.words, c->out.n * 4);
    test_case_clear(c);
    return result;
}

static float *project(unsigned variant, struct psc_bound_weight w, struct psc_bound_weight bias, const float *x,
                      uint64_t width, uint64_t tokens)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_MATMUL, "part: matmul");
    c.weight = w;
    c.bias[0] = bias;
    return one(&c, variant, x, IN, width, tokens);
}

static float *norm(unsigned variant, struct psc_bound_weight w, float *x, uint64_t width, uint64_t tokens)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_QK_NORM, "part: norm");
    c.weight = w;
    c.params.hd = HD;
    c.params.eps = 1e-6f;
    float *result = one(&c, variant, x, width, width, tokens);
    g_free(x);
    return result;
}

static float *rope(unsigned variant, float *x, uint64_t width, uint64_t tokens)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_ROPE, "part: rope");
    c.params.hd = HD;
    c.params.freq_base = 10000;
    c.params.freq_scale = 1;
    float *result = one(&c, variant, x, width, width, tokens);
    g_free(x);
    return result;
}

/* `like`: the fused case before its run, whose regions, positions and cells are taken. */
static void store(unsigned variant, struct parts *p, const struct test_case *like, const int32_t *cells,
                  uint64_t tokens)
{
    struct test_case c;
    uint64_t bytes = like->kv.rows * like->kv.row_bytes;
    test_case_init(&c, PSC_OP_KV_STORE, "part: store");
    memcpy(test_case_floats(&c, NKT, tokens, 1, 1), p->k, NKT * tokens * 4);
    memcpy(test_case_floats(&c, NKT, tokens, 1, 1), p->v, NKT * tokens * 4);
    memcpy(test_case_words(&c, PSC_I32, tokens), cells, tokens * 4);
    c.kv = like->kv;
    c.kv.k = g_memdup2(like->kv.k, bytes);
    c.kv.v = g_memdup2(like->kv.v, bytes);
    test_case_out(&c, NKT, like->kv.rows, 1, 1);
    must_run(&c, variant);
    p->k_region = g_memdup2(c.kv.k, bytes);
    p->v_region = g_memdup2(c.kv.v, bytes);
    test_case_clear(&c);
}

static void parts_clear(struct parts *p)
{
    g_free(p->q), g_free(p->k), g_free(p->v), g_free(p->k_region), g_free(p->v_region);
}

static void fused_init(struct test_case *c, enum psc_op op, enum psc_kv_format format)
{
    test_case_init(c, op, "%s into %s", psc_op_info(op)->name, psc_kv_format_name(format));
    c->params.nqt = NQT;
    c->params.nkt = NKT;
    c->params.hd = HD;
    c->params.freq_base = 10000;
    c->params.freq_scale = 1;
    c->params.eps = 1e-6f;
    test_case_kv(c, format, ROWS, NKT);
}

/* Positions 7 t + 2, as `one` gives them to rope; cells of their own when asked. Returns the rows that are written. */
static const int32_t *add_places(struct test_case *c, uint64_t tokens, bool cells)
{
    int32_t *positions = test_case_words(c, PSC_I32, tokens), *rows = positions;
    for (uint64_t t = 0; t < tokens; t++)
        positions[t] = (int32_t)(7 * t + 2);
    if (cells) {
        rows = test_case_words(c, PSC_I32, tokens);
        for (uint64_t t = 0; t < tokens; t++)
            rows[t] = (int32_t)(ROWS - 1 - t);
    }
    return rows;
}

static void compare_regions(const struct test_case *c, const struct parts *p)
{
    uint64_t bytes = c->kv.rows * c->kv.row_bytes;
    g_assert_cmpmem(c->kv.k, bytes, p->k_region, bytes);
    g_assert_cmpmem(c->kv.v, bytes, p->v_region, bytes);
}

static void keep_regions(struct test_case *c, const unsigned char *k, const unsigned char *v)
{
    memcpy(c->kv.k, k, c->kv.rows * c->kv.row_bytes);
    memcpy(c->kv.v, v, c->kv.rows * c->kv.row_bytes);
}

/* whole: q, k and v are rows of one matrix, else three that were put together. */
static void qkv_case(enum psc_op op, enum psc_wtype type, enum psc_kv_format format, uint64_t tokens, bool cells, bool whole)
{
    struct test_case c;
    struct psc_bound_weight w[3], bias[3] = {{0}}, norms[2] = {{0}};
    static const uint64_t widths[3] = {NQT, NKT, NKT}, firsts[3] = {0, NQT, NQT + NKT};
    fused_init(&c, op, format);
    const float *x = test_case_floats(&c, IN, tokens, 1, 1);
    const int32_t *rows = add_places(&c, tokens, cells);
    if (whole)
        c.weight = test_case_weight(&c, "attn_qkv", type, IN, NQT + 2 * NKT, NULL);
    for (int i = 0; i < 3; i++) {
        w[i] = whole ? test_case_slice(&c, "part", c.weight, firsts[i], widths[i])
                     : test_case_weight(&c, "part", type, IN, widths[i], NULL);
        if (op == PSC_OP_FUSED_QKV)
            bias[i] = c.bias[i] = test_case_weight(&c, "bias", PSC_W_F32, widths[i], 1, NULL);
    }
    if (!whole)
        c.weight = test_case_parts(&c, "attn_qkv", w, 3);
    if (op == PSC_OP_FUSED_QKV_NORM) {
        norms[0] = c.q_norm = test_case_weight(&c, "q_norm", PSC_W_F32, HD, 1, NULL);
        norms[1] = c.k_norm = test_case_weight(&c, "k_norm", PSC_W_F32, HD, 1, NULL);
    }
    test_case_out(&c, NQT + 2 * NKT, tokens, 1, 1);
    uint64_t bytes = c.kv.rows * c.kv.row_bytes;
    unsigned char *k0 = g_memdup2(c.kv.k, bytes), *v0 = g_memdup2(c.kv.v, bytes);
    for (unsigned v = 0; v < the_suite.variant_n; v++) {
        keep_regions(&c, k0, v0);
        struct parts p = {.q = project(v, w[0], bias[0], x, NQT, tokens),
                          .k = project(v, w[1], bias[1], x, NKT, tokens),
                          .v = project(v, w[2], bias[2], x, NKT, tokens)};
        if (op == PSC_OP_FUSED_QKV_NORM) {
            p.q = norm(v, norms[0], p.q, NQT, tokens);
            p.k = norm(v, norms[1], p.k, NKT, tokens);
        }
        p.q = rope(v, p.q, NQT, tokens);
        p.k = rope(v, p.k, NKT, tokens);
        store(v, &p, &c, rows, tokens);
        must_run(&c, v);
        for (uint64_t t = 0; t < tokens; t++) {
            const float *row = (const float *)c.out.words + t * (NQT + 2 * NKT);
            g_assert_cmpmem(row, NQT * 4, p.q + t * NQT, NQT * 4);
            g_assert_cmpmem(row + NQT, NKT * 4, p.k + t * NKT, NKT * 4);
            g_assert_cmpmem(row + NQT + NKT, NKT * 4, p.v + t * NKT, NKT * 4);
        }
        compare_regions(&c, &p);
        parts_clear(&p);
    }
    g_free(k0), g_free(v0);
    test_case_clear(&c);
}

static const enum psc_kv_format formats[] = {PSC_KV_F32, PSC_KV_F16, PSC_KV_Q8_0};

static void test_qkv(void)
{
    static const enum psc_wtype types[] = {PSC_W_F32, PSC_W_F16, PSC_W_Q8_0, PSC_W_Q5_0, PSC_W_Q4_K};
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
        for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++)
            qkv_case(PSC_OP_FUSED_QKV, types[i], formats[f], 1, f != 1, f == 2);
    qkv_case(PSC_OP_FUSED_QKV, PSC_W_Q8_0, PSC_KV_F32, 2, true, false); /* decode has one token; the op takes any number */
}

static void test_qkv_norm(void)
{
    static const enum psc_wtype types[] = {PSC_W_F32, PSC_W_Q8_0, PSC_W_Q6_K};
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
        for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++)
            qkv_case(PSC_OP_FUSED_QKV_NORM, types[i], formats[f], 1, f == 1, f == 2);
    qkv_case(PSC_OP_FUSED_QKV_NORM, PSC_W_F32, PSC_KV_F16, 2, true, true);
}

/* add is the same addition as a bias. */
static float *add_bias(unsigned variant, const float *x, const float *bias, uint64_t width, uint64_t tokens)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_ADD, "part: bias");
    memcpy(test_case_floats(&c, width, tokens, 1, 1), x, width * tokens * 4);
    float *b = test_case_floats(&c, width, tokens, 1, 1);
    for (uint64_t i = 0; i < width * tokens; i++)
        b[i] = bias[i % width];
    test_case_out(&c, width, tokens, 1, 1);
    must_run(&c, variant);
    float *result = g_memdup2(c.out.words, c.out.n * 4);
    test_case_clear(&c);
    return result;
}

static void bias_rope_store_case(enum psc_kv_format format, uint64_t tokens, bool cells)
{
    struct test_case c;
    const float *bias[3], *x[3];
    static const uint64_t widths[3] = {NQT, NKT, NKT};
    fused_init(&c, PSC_OP_QKV_BIAS_ROPE_STORE, format);
    for (int i = 0; i < 3; i++) {
        x[i] = test_case_floats(&c, widths[i], tokens, 1, 1);
        c.bias[i] = test_case_weight(&c, "bias", PSC_W_F32, widths[i], 1, &bias[i]);
    }
    const int32_t *rows = add_places(&c, tokens, cells);
    test_case_out(&c, NQT, tokens, 1, 1);
    struct parts p = {.q = rope(0, add_bias(0, x[0], bias[0], NQT, tokens), NQT, tokens),
                      .k = rope(0, add_bias(0, x[1], bias[1], NKT, tokens), NKT, tokens),
                      .v = add_bias(0, x[2], bias[2], NKT, tokens)};
    store(0, &p, &c, rows, tokens);
    struct test_case copy = c; /* test_case_run frees its case: first the comparison, then all variants and in place */
    uint64_t bytes = c.kv.rows * c.kv.row_bytes;
    unsigned char *k0 = g_memdup2(c.kv.k, bytes), *v0 = g_memdup2(c.kv.v, bytes);
    must_run(&copy, 0);
    g_assert_cmpmem(copy.out.words, copy.out.n * 4, p.q, NQT * tokens * 4);
    compare_regions(&copy, &p);
    keep_regions(&c, k0, v0);
    c.bits = true;
    c.expect_bits = g_memdup2(p.q, NQT * tokens * 4);
    test_case_run(&c);
    parts_clear(&p);
    g_free(k0), g_free(v0);
}

static void test_bias_rope_store(void)
{
    for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++) {
        bias_rope_store_case(formats[f], 1, true);
        bias_rope_store_case(formats[f], 1, false);
        bias_rope_store_case(formats[f], 2, true);
    }
}

void test_backend_fused(void)
{
    test_suite_add("op/fused_qkv/is-its-parts-bit-for-bit", test_qkv);
    test_suite_add("op/fused_qkv_norm/is-its-parts-bit-for-bit", test_qkv_norm);
    test_suite_add("op/qkv_bias_rope_store/is-its-parts-bit-for-bit", test_bias_rope_store);
}
