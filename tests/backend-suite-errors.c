/* Calls that make no sense: a sentence that names node, op and what is wrong; nothing is written. */
#include "tests/backend-suite.h"

#include <math.h>
#include <string.h>

/* Each breaks one thing of a case that would run; returns a word that the sentence must have. */
typedef const char *(*break_fn)(struct test_case *c);
struct broken {
    enum psc_op op;
    break_fn fn;
};

static void sound_matmul(struct test_case *c, enum psc_op op)
{
    test_case_floats(c, 64, 2, 1, 1);
    if (op == PSC_OP_FUSED_FFN) {
        c->weight = test_case_weight(c, "blk.0.ffn_gu", PSC_W_F32, 64, 12, NULL);
        c->params.nf = 6;
        test_case_out(c, 12, 2, 1, 1);
        return;
    }
    c->weight = test_case_weight(c, "blk.0.w", PSC_W_Q8_0, 64, 12, NULL);
    c->bias[0] = test_case_weight(c, "blk.0.b", PSC_W_F32, 12, 1, NULL);
    test_case_out(c, 12, 2, 1, 1);
}

static void sound_kv(struct test_case *c, enum psc_op op)
{
    c->params = (struct psc_params){.n_head = 2,
                                    .n_head_kv = 1,
                                    .hd = 32,
                                    .hd_kv = 32,
                                    .scale = 0.125f,
                                    .has_scale = true,
                                    .nqt = 64,
                                    .nkt = 32,
                                    .freq_base = 10000,
                                    .freq_scale = 1};
    test_case_kv(c, PSC_KV_F32, 8, 32);
    if (op == PSC_OP_KV_STORE) {
        test_case_floats(c, 32, 2, 1, 1);
        test_case_floats(c, 32, 2, 1, 1);
        test_case_words(c, PSC_I32, 2);
        test_case_out(c, 32, 8, 1, 1);
    } else if (op == PSC_OP_ATTN) {
        test_case_floats(c, 64, 2, 1, 1);
        test_case_floats(c, 32, 0, 1, 1);
        test_case_words(c, PSC_I32, 2);
        test_case_out(c, 64, 2, 1, 1);
    } else if (op == PSC_OP_FUSED_QKV) {
        struct psc_bound_weight parts[3];
        test_case_floats(c, 64, 2, 1, 1);
        test_case_words(c, PSC_I32, 2);
        for (int i = 0; i < 3; i++)
            parts[i] = test_case_weight(c, "part", PSC_W_F32, 64, i ? 32 : 64, NULL);
        c->weight = test_case_parts(c, "blk.0.attn_qkv", parts, 3);
        test_case_out(c, 128, 2, 1, 1);
    } else {
        test_case_floats(c, 64, 2, 1, 1);
        test_case_floats(c, 32, 2, 1, 1);
        test_case_floats(c, 32, 2, 1, 1);
        test_case_words(c, PSC_I32, 2);
        test_case_out(c, 64, 2, 1, 1);
    }
}

static void sound(struct test_case *c, enum psc_op op)
{
    test_case_init(c, op, "broken %s", psc_op_info(op)->name);
    switch (op) {
    case PSC_OP_MATMUL:
    case PSC_OP_FUSED_FFN:
        sound_matmul(c, op);
        return;
    case PSC_OP_KV_STORE:
    case PSC_OP_ATTN:
    case PSC_OP_FUSED_QKV:
    case PSC_OP_QKV_BIAS_ROPE_STORE:
        sound_kv(c, op);
        return;
    case PSC_OP_GET_ROWS:
        test_case_words(c, PSC_I32, 2);
        c->weight = test_case_weight(c, "token_embd.weight", PSC_W_Q8_0, 32, 10, NULL);
        test_case_out(c, 32, 2, 1, 1);
        return;
    case PSC_OP_BATCH_MATMUL:
        test_case_floats(c, 6, 2, 1, 1);
        test_case_floats(c, 4, 6, 1, 1);
        test_case_out(c, 4, 2, 1, 1);
        return;
    default:
        break;
    }
    test_case_floats(c, 32, 2, 1, 1);
    if (op == PSC_OP_ROPE)
        test_case_words(c, PSC_I32, 2);
    else if (psc_op_info(op)->src_min > 1)
        test_case_floats(c, 32, 2, 1, 1);
    test_case_out(c, 32, 2, 1, 1);
    c->params.hd = 16;
    c->params.freq_base = 10000;
    c->params.has_scale = true;
    c->params.scale = 2;
}

/* BREAK(name, word of the sentence, what is broken) */
#define BREAK(name, word, ...)                                 \
    static const char *name(struct test_case *c)               \
    {                                                          \
        __VA_ARGS__;                                           \
        return word;                                           \
    }
BREAK(no_factor, "detail.scale", c->params.has_scale = false)
BREAK(no_operand, "operand", c->in[--c->in_n].n = 0; g_clear_pointer(&c->in[c->in_n].words, g_free))
BREAK(no_hd, "hd", c->params.hd = 0)
BREAK(odd_hd, "even", c->params.hd = 1)
BREAK(wide_hd, "divide", c->params.hd = 24)
BREAK(no_base, "freq_base", c->params.freq_base = 0)
BREAK(bad_dim, "detail.dim is 2", c->params.dim = 2)
BREAK(bad_axis, "axis", c->params.dim = 4)
BREAK(bad_perm, "detail.dims", c->params.perm[0] = 1)
BREAK(far_view, "do not fit", c->params.view_offset = 1)
BREAK(huge_view, "do not fit", c->params.view_offset = UINT64_MAX / 4 + 2)
BREAK(small_operand, "elements", c->in[0].n -= 1, c->in[0].shape[1] = 1)
BREAK(words_for_numbers, "i32", c->in[0].dtype = PSC_I32)
BREAK(fewer_words, "words", c->in[c->in_n - 1].n = 1; c->in[c->in_n - 1].shape[0] = 1)
BREAK(no_weight, "weight", c->weight = (struct psc_bound_weight){0})
BREAK(named_weight, "blk.9.gone", c->params.weight = "blk.9.gone"; c->weight = (struct psc_bound_weight){0})
static struct psc_weight *own_weight(struct test_case *c, struct psc_bound_weight *w)
{
    struct psc_weight *copy = g_memdup2(w->weight, sizeof *w->weight);
    g_ptr_array_add(c->owned, copy);
    w->weight = copy;
    return copy;
}
BREAK(bare_weight, "shapes only", own_weight(c, &c->weight)->data = NULL)
BREAK(odd_weight, "multiple of 32", own_weight(c, &c->weight)->in = 63)
BREAK(other_weight, "cannot be computed", own_weight(c, &c->weight)->type = PSC_W_OTHER)
BREAK(wide_weight, "takes 96", own_weight(c, &c->weight)->in = 96)
BREAK(short_bias, "bias", own_weight(c, &c->bias[0])->in = 11)
BREAK(wide_norm, "31", c->weight = test_case_weight(c, "n", PSC_W_F32, 31, 1, NULL))
BREAK(id_behind, "id 10", ((int32_t *)c->in[0].words)[1] = 10)
BREAK(id_before, "id -1", ((int32_t *)c->in[0].words)[0] = -1)
BREAK(bad_shapes, "times", c->out.shape[0] = 2, c->out.shape[1] = 4)
BREAK(transposed, "transpose_b", c->params.transpose_b = true)
BREAK(no_nf, "meta.nf", c->params.nf = 0)
BREAK(bad_nf, "gate and up of 5", c->params.nf = 5)
BREAK(row_behind, "n_ctx is 8", ((int32_t *)c->in[c->in_n - 1].words)[1] = 8)
BREAK(row_position, "position 8", ((int32_t *)c->in[c->in_n - 1].words)[1] = 8)
BREAK(row_before, "position -3", ((int32_t *)c->in[c->in_n - 1].words)[0] = -3)
BREAK(no_region, "regions", g_clear_pointer(&c->kv.k, g_free); g_clear_pointer(&c->kv.v, g_free); c->kv.rows = 0)
BREAK(narrow_row, "row", c->kv.row_bytes = 124)
BREAK(other_width, "16", c->kv.width = 16)
BREAK(no_heads, "n_head", c->params.n_head = 0)
BREAK(uneven_heads, "share", c->params.n_head_kv = 3)
BREAK(no_scale, "meta.scale", c->params.has_scale = false; c->params.scale = 0)
BREAK(no_span, "explicit_span", c->params.explicit_span = true)
BREAK(empty_span, "nobody filled", test_case_words(c, PSC_I32, 4))
BREAK(empty_map, "nobody filled", test_case_words(c, PSC_I32, 16))
BREAK(odd_span, "a span has 4, a map 16", test_case_words(c, PSC_I32, 5)[0] = 1)
BREAK(turned_span, "rows 3 to 2", int32_t *w = test_case_words(c, PSC_I32, 4); w[0] = 3, w[1] = 0, w[2] = 2, w[3] = 1)
BREAK(far_span, "rows 0 to 9", int32_t *w = test_case_words(c, PSC_I32, 4); w[2] = 8, w[3] = 9)
BREAK(far_run, "2 rows from 7", int32_t *w = test_case_words(c, PSC_I32, 16); w[1] = 2, w[8] = 7, w[9] = 2)
BREAK(many_rows, "reads 16 rows", int32_t *w = test_case_words(c, PSC_I32, 16); w[1] = 8, w[3] = 8)
BREAK(no_widths, "nkt", c->params.nkt = 0)
BREAK(other_widths, "do not fit", c->params.nqt = 32)

static const struct broken table[] = {
    {PSC_OP_SCALE, no_factor},
    {PSC_OP_ADD, no_operand},
    {PSC_OP_ADD, small_operand},
    {PSC_OP_MUL, words_for_numbers},
    {PSC_OP_SILU, no_operand},
    {PSC_OP_SILU, words_for_numbers},
    {PSC_OP_SWIGLU, no_operand},
    {PSC_OP_SWIGLU, small_operand},
    {PSC_OP_SOFTMAX, bad_dim},
    {PSC_OP_SOFTMAX, small_operand},
    {PSC_OP_RMS_NORM, wide_norm},
    {PSC_OP_RMS_NORM, named_weight},
    {PSC_OP_RMS_NORM, words_for_numbers},
    {PSC_OP_QK_NORM, no_hd},
    {PSC_OP_QK_NORM, wide_hd},
    {PSC_OP_QK_NORM, wide_norm},
    {PSC_OP_ROPE, no_hd},
    {PSC_OP_ROPE, odd_hd},
    {PSC_OP_ROPE, wide_hd},
    {PSC_OP_ROPE, no_base},
    {PSC_OP_ROPE, no_operand},
    {PSC_OP_ROPE, fewer_words},
    {PSC_OP_ROPE, words_for_numbers},
    {PSC_OP_GET_ROWS, id_behind},
    {PSC_OP_GET_ROWS, id_before},
    {PSC_OP_GET_ROWS, no_weight},
    {PSC_OP_GET_ROWS, named_weight},
    {PSC_OP_GET_ROWS, bare_weight},
    {PSC_OP_GET_ROWS, other_weight},
    {PSC_OP_GET_ROWS, fewer_words},
    {PSC_OP_CONCAT, bad_axis},
    {PSC_OP_CONCAT, words_for_numbers},
    {PSC_OP_VIEW, far_view},
    {PSC_OP_VIEW, huge_view},
    {PSC_OP_RESHAPE, small_operand},
    {PSC_OP_PERMUTE, bad_perm},
    {PSC_OP_VIEW, no_operand},
    {PSC_OP_MATMUL, no_operand},
    {PSC_OP_MATMUL, no_weight},
    {PSC_OP_MATMUL, named_weight},
    {PSC_OP_MATMUL, bare_weight},
    {PSC_OP_MATMUL, odd_weight},
    {PSC_OP_MATMUL, other_weight},
    {PSC_OP_MATMUL, wide_weight},
    {PSC_OP_MATMUL, short_bias},
    {PSC_OP_MATMUL, transposed},
    {PSC_OP_MATMUL, words_for_numbers},
    {PSC_OP_BATCH_MATMUL, bad_shapes},
    {PSC_OP_BATCH_MATMUL, no_operand},
    {PSC_OP_FUSED_FFN, no_nf},
    {PSC_OP_FUSED_FFN, bad_nf},
    {PSC_OP_FUSED_FFN, no_weight},
    {PSC_OP_KV_STORE, row_behind},
    {PSC_OP_KV_STORE, row_position},
    {PSC_OP_KV_STORE, row_before},
    {PSC_OP_KV_STORE, no_region},
    {PSC_OP_KV_STORE, narrow_row},
    {PSC_OP_KV_STORE, other_width},
    {PSC_OP_KV_STORE, fewer_words},
    {PSC_OP_KV_STORE, no_operand},
    {PSC_OP_ATTN, row_behind},
    {PSC_OP_ATTN, row_position},
    {PSC_OP_ATTN, row_before},
    {PSC_OP_ATTN, no_region},
    {PSC_OP_ATTN, no_heads},
    {PSC_OP_ATTN, uneven_heads},
    {PSC_OP_ATTN, no_hd},
    {PSC_OP_ATTN, no_scale},
    {PSC_OP_ATTN, no_span},
    {PSC_OP_ATTN, empty_span},
    {PSC_OP_ATTN, empty_map},
    {PSC_OP_ATTN, odd_span},
    {PSC_OP_ATTN, turned_span},
    {PSC_OP_ATTN, far_span},
    {PSC_OP_ATTN, far_run},
    {PSC_OP_ATTN, many_rows},
    {PSC_OP_ATTN, fewer_words},
    {PSC_OP_FUSED_QKV, row_behind},
    {PSC_OP_FUSED_QKV, no_widths},
    {PSC_OP_FUSED_QKV, other_widths},
    {PSC_OP_FUSED_QKV, no_hd},
    {PSC_OP_FUSED_QKV, no_base},
    {PSC_OP_FUSED_QKV, no_region},
    {PSC_OP_FUSED_QKV, no_weight},
    {PSC_OP_QKV_BIAS_ROPE_STORE, row_before},
    {PSC_OP_QKV_BIAS_ROPE_STORE, no_widths},
    {PSC_OP_QKV_BIAS_ROPE_STORE, other_widths},
    {PSC_OP_QKV_BIAS_ROPE_STORE, no_region},
    {PSC_OP_OTHER, no_operand},
};

/* What `sound` makes runs: else a refusal would prove nothing. */
static void test_sound(void)
{
    unsigned ops = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        struct test_case c;
        struct psc_error error = {0};
        if (table[i].op == PSC_OP_OTHER || (i && table[i].op == table[i - 1].op))
            continue;
        sound(&c, table[i].op);
        if (test_case_try(&c, 0, false, &error))
            g_error("%s: %s", c.name, error.text);
        test_case_clear(&c);
        ops++;
    }
    g_assert_cmpuint(ops, >=, 20);
}

static void test_refused(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        struct test_case c;
        sound(&c, table[i].op);
        const char *word = table[i].fn(&c);
        test_case_refused(&c, table[i].op == PSC_OP_OTHER ? "no backend knows" : word);
    }
}

/* A permute that moves elements cannot lie on its parent's bytes; one that does not move any can. */
static void test_permute_on_its_parent(void)
{
    struct psc_error error = {0};
    const struct psc_backend_api *api = the_suite.api;
    struct psc_backend *b = the_suite.open[0];
    psc_address at;
    g_assert_cmpint(api->alloc(b, 64, &at, &error), ==, PSC_OK);
    for (int moves = 0; moves < 2; moves++) {
        struct psc_params params = {.perm = {1, 0, 2, 3}};
        struct psc_window in = {.at = at, .bytes = 24, .dtype = PSC_F32, .shape = {3, moves ? 2 : 1, 1, 1}};
        struct psc_call call = {.op = PSC_OP_PERMUTE, .params = &params, .in = &in, .in_n = 1};
        in.bytes = 4 * in.shape[0] * in.shape[1];
        call.out = (struct psc_window){.at = at, .bytes = in.bytes, .dtype = PSC_F32, .shape = {in.shape[1], 3, 1, 1}};
        enum psc_status status = api->launch(b, &call, &error);
        if (status == PSC_OK)
            status = api->synchronise(b, &error);
        g_assert_true((status == PSC_OK) == !moves);
        g_assert_true(!moves || strstr(error.text, "bytes of its own"));
    }
    api->free(b, at);
}

/* ---- row numbers that change while a kernel runs ----------------------------------------------- */

static const struct { enum psc_op op; uint32_t operand; bool region; uint64_t words; } changing[] = {
    {PSC_OP_GET_ROWS, 0, false, 0},
    {PSC_OP_GET_ROWS, 1, false, 2}, /* of an operand */
    {PSC_OP_KV_STORE, 2, true, 0},
    {PSC_OP_FUSED_QKV, 1, false, 0},
    {PSC_OP_FUSED_QKV, 1, true, 0},
    {PSC_OP_QKV_BIAS_ROPE_STORE, 3, true, 0},
    {PSC_OP_ATTN, 2, false, 0},
    {PSC_OP_ATTN, 3, false, 4},  /* a span */
    {PSC_OP_ATTN, 3, false, 16}, /* a map */
};

static void changing_case(struct test_case *c, size_t i)
{
    if (changing[i].words == 2) {
        test_case_init(c, changing[i].op, "rows of an operand");
        test_case_floats(c, 32, 10, 1, 1);
        test_case_out(c, 32, 2, 1, 1);
    } else {
        sound(c, changing[i].op);
    }
    int32_t *w = changing[i].words ? test_case_words(c, PSC_I32, changing[i].words) : NULL;
    if (changing[i].words == 4)
        w[2] = w[3] = 3;
    if (changing[i].words == 16)
        w[1] = w[9] = 3;
}

/* A wrong plan: what is written lies over the row numbers that are still needed. No wild access (the guards stand, the
 * sanitizers are quiet), a sentence, and the next call runs. */
static void test_changing(void)
{
    for (size_t i = 0; the_suite.promises & TEST_BOUNDED && i < G_N_ELEMENTS(changing); i++)
        for (unsigned v = 0; v < the_suite.variant_n; v++) {
            struct test_case c;
            struct psc_error error = {0};
            changing_case(&c, i);
            g_assert_cmpint(test_case_try(&c, v, false, &error), ==, PSC_OK);
            enum psc_status status = test_case_try_inside(&c, v, false, changing[i].operand, changing[i].region, &error);
            if (status == PSC_OK || !strstr(error.text, "node 4711 (victim, ") || !strstr(error.text, "overwritten while it ran"))
                g_error("%s, case %zu: %d \"%s\"", c.name, i, status, error.text);
            test_case_clear(&c);
            changing_case(&c, i);
            g_assert_cmpint(test_case_try(&c, v, false, &error), ==, PSC_OK);
            if (the_suite.promises & TEST_SNAPSHOTS && !changing[i].region) /* a copy does not change */
                g_assert_cmpint(test_case_try_inside(&c, v, true, changing[i].operand, false, &error), ==, PSC_OK);
            test_case_clear(&c);
        }
}

void test_backend_errors(void)
{
    test_suite_add("errors/row-numbers-that-change-under-a-kernel", test_changing);
    test_suite_add("errors/the-unbroken-calls-run", test_sound);
    test_suite_add("errors/name-node-op-and-field-and-write-nothing", test_refused);
    test_suite_add("errors/a-permute-that-moves-needs-its-own-bytes", test_permute_on_its_parent);
}
