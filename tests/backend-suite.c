#include "tests/backend-suite.h"

#include "core/base/hash.h"

#include <math.h>
#include <string.h>

struct test_suite the_suite;

#define GUARD 64u /* poisoned bytes on both sides of every window */

/* ---- random ---------------------------------------------------------------------------------- */

uint64_t test_random_below(uint64_t n)
{
    return psc_random_next(&the_suite.seed) % n;
}

float test_random_float(void)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(psc_random_next(&the_suite.seed) >> 11) * 0x1p-53;
    return (float)(2 * (sum - 2));
}

/* ---- cases ----------------------------------------------------------------------------------- */

void test_case_init(struct test_case *c, enum psc_op op, const char *name_format, ...)
{
    va_list args;
    memset(c, 0, sizeof *c);
    va_start(args, name_format);
    g_vsnprintf(c->name, sizeof c->name, name_format, args);
    va_end(args);
    c->op = op;
    c->tolerance = 1e-6;
    c->in_place = true;
    c->owned = g_ptr_array_new_with_free_func(g_free);
    for (int d = 0; d < 4; d++)
        c->params.perm[d] = d;
}

void test_case_clear(struct test_case *c)
{
    for (uint32_t k = 0; k < c->in_n; k++)
        g_free(c->in[k].words);
    g_free(c->out.words);
    g_free(c->expect);
    g_free(c->expect_bits);
    g_free(c->kv.k);
    g_free(c->kv.v);
    if (the_suite.promises & TEST_KEEPS_WEIGHTS)
        g_ptr_array_add(the_suite.kept, c->owned);
    else
        g_ptr_array_free(c->owned, TRUE);
    memset(c, 0, sizeof *c);
}

static struct test_tensor tensor(enum psc_dtype dtype, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3)
{
    struct test_tensor t = {.dtype = dtype, .shape = {d0, d1, d2, d3}, .n = d0 * d1 * d2 * d3};
    t.words = g_malloc0_n(t.n + 1, 4);
    return t;
}

float *test_case_floats(struct test_case *c, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3)
{
    g_assert_cmpuint(c->in_n, <, TEST_OPERANDS);
    struct test_tensor *t = &c->in[c->in_n++];
    *t = tensor(PSC_F32, d0, d1, d2, d3);
    float *x = t->words;
    for (uint64_t i = 0; i < t->n; i++)
        x[i] = test_random_float();
    return x;
}

int32_t *test_case_words(struct test_case *c, enum psc_dtype dtype, uint64_t n)
{
    g_assert_cmpuint(c->in_n, <, TEST_OPERANDS);
    c->in[c->in_n] = tensor(dtype, n, 1, 1, 1);
    return c->in[c->in_n++].words;
}

void test_case_out(struct test_case *c, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3)
{
    c->out = tensor(PSC_F32, d0, d1, d2, d3);
    c->expect = g_new0(double, c->out.n + 1);
}

struct psc_bound_weight test_case_weight(struct test_case *c, const char *name, enum psc_wtype type, uint64_t in,
                                         uint64_t out, const float **ret_values)
{
    uint64_t bytes = 0;
    g_assert_true(psc_wtype_bytes(type, in * out, &bytes));
    float *values = g_new(float, in * out + 1);
    void *data = g_malloc(bytes + 4);
    for (uint64_t i = 0; i < in * out; i++)
        values[i] = test_random_float();
    psc_blocks_encode(type, values, data, in * out);
    psc_blocks_decode(type, data, values, in * out);
    struct psc_weight *w = g_new0(struct psc_weight, 1);
    *w = (struct psc_weight){.name = name, .type = type, .in = in, .out = out, .data = data, .bytes = bytes};
    g_ptr_array_add(c->owned, values);
    g_ptr_array_add(c->owned, data);
    g_ptr_array_add(c->owned, w);
    if (ret_values)
        *ret_values = values;
    return (struct psc_bound_weight){.weight = w};
}

struct psc_bound_weight test_case_parts(struct test_case *c, const char *name, const struct psc_bound_weight *parts,
                                        uint32_t n)
{
    struct psc_weight *w = g_new0(struct psc_weight, 1);
    *w = (struct psc_weight){.name = name, .type = parts[0].weight->type, .in = parts[0].weight->in, .part_n = n};
    for (uint32_t i = 0; i < n; i++) {
        w->parts[i] = parts[i].weight;
        w->out += parts[i].weight->out;
        w->bytes += parts[i].weight->bytes;
    }
    g_ptr_array_add(c->owned, w);
    return (struct psc_bound_weight){.weight = w};
}

struct psc_bound_weight test_case_slice(struct test_case *c, const char *name, struct psc_bound_weight whole, uint64_t first,
                                        uint64_t n)
{
    struct psc_weight *w = g_new(struct psc_weight, 1);
    *w = *whole.weight;
    w->name = name;
    w->bytes = w->bytes / w->out * n;
    w->out = n;
    w->data = g_memdup2(psc_weight_row(whole.weight, first), w->bytes); /* a device knows a weight by where it lies */
    g_ptr_array_add(c->owned, (void *)(uintptr_t)w->data);
    g_ptr_array_add(c->owned, w);
    return (struct psc_bound_weight){.weight = w};
}

void test_case_kv(struct test_case *c, enum psc_kv_format format, uint64_t rows, uint64_t width)
{
    uint32_t words = 0;
    g_assert_cmpint(psc_kv_row_words(format, (uint32_t)width, &words, NULL), ==, PSC_OK);
    c->kv = (struct test_kv){.format = format, .rows = rows, .width = width, .row_bytes = (uint64_t)words * 4};
    c->kv.k = g_malloc0(rows * c->kv.row_bytes + 4);
    c->kv.v = g_malloc0(rows * c->kv.row_bytes + 4);
    float *row = g_new(float, width);
    for (uint64_t r = 0; r < 2 * rows; r++) {
        for (uint64_t i = 0; i < width; i++)
            row[i] = test_random_float();
        psc_kv_row_encode(format, (uint32_t)width, row, (r % 2 ? c->kv.v : c->kv.k) + r / 2 * c->kv.row_bytes);
    }
    g_free(row);
}

/* ---- running one ----------------------------------------------------------------------------- */

/* A case laid out on a backend. */
struct bench {
    const struct psc_backend_api *api;
    struct psc_backend *b;
    struct psc_window in[TEST_OPERANDS];
    struct psc_node_info node;
    struct psc_graph graph;
    struct psc_call call;
    psc_address block[TEST_OPERANDS + 3]; /* allocations, with their guards */
    unsigned block_n;
    enum psc_status status;               /* of the first call that failed */
    struct psc_error error;
};

static void must(enum psc_status status, const struct psc_error *error, const char *what)
{
    if (status)
        g_error("%s: %s", what, error->text);
}

/* A window of its own, `shift` bytes behind a line, guards around it. 0 once anything has failed. */
static psc_address place(struct bench *s, const void *bytes, uint64_t n, uint64_t shift)
{
    psc_address at = 0;
    uint64_t whole = (GUARD + shift + n + GUARD + 3) / 4 * 4;
    if (s->status)
        return 0;
    s->status = s->api->alloc(s->b, whole, &at, &s->error);
    if (s->status)
        return 0;
    s->block[s->block_n++] = at;
    g_assert_cmpuint(at % 64, ==, 0);
    s->status = s->api->fill(s->b, at, TEST_POISON, whole, &s->error);
    if (s->status == PSC_OK && bytes && n)
        s->status = s->api->write(s->b, at + GUARD + shift, bytes, n, &s->error);
    return at + GUARD + shift;
}

static void load(struct bench *s, const struct psc_weight *weight, psc_address *ret)
{
    if (s->status == PSC_OK && weight->data)
        s->status = s->api->load_weight(s->b, weight, ret, &s->error);
}

static void bind(struct bench *s, struct psc_bound_weight *w)
{
    if (w->weight && !w->weight->part_n)
        load(s, w->weight, &w->at[0]);
    for (uint32_t i = 0; w->weight && i < w->weight->part_n; i++)
        load(s, w->weight->parts[i], &w->at[i]);
}

static struct psc_window window(const struct test_tensor *t, psc_address at)
{
    struct psc_window w = {.at = t->n ? at : 0, .bytes = t->n * 4, .dtype = t->dtype};
    memcpy(w.shape, t->shape, sizeof w.shape);
    return w;
}

/* over: the operand whose bytes the output takes, or -1; ahead: how many bytes before it. */
static void bench_open(struct bench *s, struct test_case *c, struct psc_backend *b, int over, uint64_t ahead)
{
    memset(s, 0, sizeof *s);
    s->api = the_suite.api;
    s->b = b;
    s->node = (struct psc_node_info){.id = 4711, .name = "victim", .op_name = psc_op_info(c->op)->name, .op = c->op};
    s->graph = (struct psc_graph){.nodes = &s->node, .n = 1};
    s->call = (struct psc_call){.graph = &s->graph, .op = c->op, .params = &c->params, .in = s->in, .in_n = c->in_n,
                                .weight = c->weight, .bias = {c->bias[0], c->bias[1], c->bias[2]}, .q_norm = c->q_norm,
                                .k_norm = c->k_norm, .norm_bias = c->norm_bias, .faults = c->faults};
    for (uint32_t k = 0; k < c->in_n; k++) {
        bool load = c->op == PSC_OP_ATTN && k == 1; /* a kv_load: no bytes of its own */
        uint64_t shift = (int)k == over ? ahead : 4 * test_random_below(8);
        s->in[k] = window(&c->in[k], load ? 0 : place(s, c->in[k].words, c->in[k].n * 4, shift));
    }
    psc_address at = over >= 0 ? s->in[over].at - ahead : place(s, NULL, c->out.n * 4, 4 * test_random_below(8));
    s->call.out = window(&c->out, at);
    s->call.out.at = at;
    if (c->kv.rows) {
        uint64_t bytes = c->kv.rows * c->kv.row_bytes;
        s->call.kv = (struct psc_kv_pair){.k = place(s, c->kv.k, bytes, 0), .v = place(s, c->kv.v, bytes, 0),
                                          .rows = c->kv.rows, .width = c->kv.width, .row_bytes = c->kv.row_bytes,
                                          .format = c->kv.format};
    }
    bind(s, &s->call.weight);
    bind(s, &s->call.q_norm);
    bind(s, &s->call.k_norm);
    bind(s, &s->call.norm_bias);
    for (int i = 0; i < 3; i++)
        bind(s, &s->call.bias[i]);
}

/* Poison on both sides of the window is still there. */
static void check_guards(struct bench *s, psc_address at, uint64_t bytes, const char *name)
{
    struct psc_error error = {0};
    uint32_t before[4], behind[4];
    must(s->api->read(s->b, at - sizeof before, before, sizeof before, &error), &error, "read");
    must(s->api->read(s->b, at + bytes, behind, sizeof behind, &error), &error, "read");
    for (int i = 0; i < 4; i++)
        if (before[i] != TEST_POISON || behind[i] != TEST_POISON)
            g_error("%s: bytes %s its window were written", name, before[i] != TEST_POISON ? "before" : "behind");
}

static void bench_close(struct bench *s)
{
    for (unsigned i = 0; i < s->block_n; i++)
        s->api->free(s->b, s->block[i]);
}

static enum psc_status run_bench(struct bench *s, struct test_case *c, bool guarded, struct psc_error *reterr)
{
    struct psc_error error = {0};
    enum psc_status status = s->api->launch(s->b, &s->call, reterr);
    if (status == PSC_OK)
        status = s->api->synchronise(s->b, reterr);
    else
        must(s->api->synchronise(s->b, &error), &error, "synchronise after a refused launch");
    must(s->api->read(s->b, s->call.out.at, c->out.words, c->out.n * 4, &error), &error, "read");
    if (guarded)
        check_guards(s, s->call.out.at, c->out.n * 4, c->name);
    if (c->kv.rows) {
        uint64_t bytes = c->kv.rows * c->kv.row_bytes;
        check_guards(s, s->call.kv.k, bytes, c->name);
        check_guards(s, s->call.kv.v, bytes, c->name);
        must(s->api->read(s->b, s->call.kv.k, c->kv.k, bytes, &error), &error, "read");
        must(s->api->read(s->b, s->call.kv.v, c->kv.v, bytes, &error), &error, "read");
    }
    return status;
}

/* A call that has run grew what it needs: run again, it asks for no memory, on its way to the device neither. */
static void check_no_allocation(struct bench *s, const char *name)
{
    struct psc_error error = {0};
    test_fail_begin(0);
    enum psc_status status = s->api->launch(s->b, &s->call, &error);
    if (status == PSC_OK)
        status = s->api->synchronise(s->b, &error);
    bool asked = test_fail_end();
    must(status, &error, name);
    if (asked)
        g_error("%s: a second run allocates", name);
}

static enum psc_status run_once(struct test_case *c, unsigned variant, bool snapshot, int over, uint64_t ahead,
                                struct psc_error *reterr)
{
    struct bench s;
    bench_open(&s, c, the_suite.open[variant], over, ahead);
    must(s.status, &s.error, c->name);
    s.call.snapshot = snapshot;
    enum psc_status status = run_bench(&s, c, over < 0, reterr);
    if (status == PSC_OK && over < 0)
        check_no_allocation(&s, c->name);
    bench_close(&s);
    return status;
}

enum psc_status test_case_try_inside(struct test_case *c, unsigned variant, bool snapshot, uint32_t operand, bool region,
                                     struct psc_error *reterr)
{
    struct bench s;
    bench_open(&s, c, the_suite.open[variant], -1, 0);
    must(s.status, &s.error, c->name);
    s.call.snapshot = snapshot;
    s.in[operand].at = region ? s.call.kv.k : s.call.out.at;
    must(s.api->write(s.b, s.in[operand].at, c->in[operand].words, c->in[operand].n * 4, &s.error), &s.error, "write");
    enum psc_status status = run_bench(&s, c, true, reterr);
    bench_close(&s);
    return status;
}

enum psc_status test_case_try(struct test_case *c, unsigned variant, bool snapshot, struct psc_error *reterr)
{
    return run_once(c, variant, snapshot, -1, 0, reterr);
}

/* A backend of its own from open to close. */
static enum psc_status run_briefly(void *data)
{
    struct test_case *c = data;
    struct bench s;
    struct psc_backend *b = NULL;
    enum psc_status status = the_suite.api->open(&the_suite.variants[the_suite.variant_n - 1].config, &b, NULL);
    if (status)
        return status;
    bench_open(&s, c, b, -1, 0);
    status = s.status;
    if (status == PSC_OK)
        status = s.api->launch(b, &s.call, NULL);
    if (status == PSC_OK)
        status = s.api->synchronise(b, NULL);
    bench_close(&s);
    s.api->close(b);
    return status;
}

void test_case_out_of_memory(struct test_case *c)
{
    unsigned walked = test_oom_loop(run_briefly, c);
    g_assert_cmpuint(walked, >, 3);
    test_case_clear(c);
}

/* ---- judging --------------------------------------------------------------------------------- */

static double check_expected(const struct test_case *c, const char *variant)
{
    const float *got = c->out.words;
    const uint32_t *bits = c->out.words;
    double worst = 0;
    for (uint64_t i = 0; i < c->out.n; i++) {
        if (c->bits && bits[i] != c->expect_bits[i])
            g_error("%s on %s: word %" G_GUINT64_FORMAT " is %08x, expected %08x", c->name, variant, i, bits[i],
                    c->expect_bits[i]);
        if (c->bits || !c->expect)
            continue;
        double e = c->expect[i], error = fabs((double)got[i] - e) / (1 + fabs(e));
        if (!(error <= c->tolerance) && !(isnan(e) && isnan(got[i])) && !(e == (double)got[i]))
            g_error("%s on %s: element %" G_GUINT64_FORMAT " is %.9g, expected %.9g (error %.3g, allowed %.3g)",
                    c->name, variant, i, (double)got[i], e, error, c->tolerance);
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* State before a run, and the results that all runs must have. */
struct reference {
    unsigned char *k0, *v0, *out, *k, *v;
};

static void restore(struct test_case *c, const struct reference *r)
{
    uint64_t bytes = c->kv.rows * c->kv.row_bytes;
    if (bytes) {
        memcpy(c->kv.k, r->k0, bytes);
        memcpy(c->kv.v, r->v0, bytes);
    }
}

static void check_same(struct test_case *c, const struct reference *r, const char *variant, bool loose)
{
    uint64_t bytes = c->kv.rows * c->kv.row_bytes;
    check_expected(c, variant);
    if (loose)
        return;
    if (c->out.n && memcmp(c->out.words, r->out, c->out.n * 4) != 0) {
        const uint32_t *a = c->out.words, *b = (const uint32_t *)(const void *)r->out;
        uint64_t i = 0;
        while (a[i] == b[i])
            i++;
        g_error("%s on %s: word %" G_GUINT64_FORMAT " is %08x, and %08x on the first variant", c->name, variant, i,
                a[i], b[i]);
    }
    if (bytes && (memcmp(c->kv.k, r->k, bytes) != 0 || memcmp(c->kv.v, r->v, bytes) != 0))
        g_error("%s on %s: the regions differ from those of the first variant", c->name, variant);
}

/* Over each operand that it may overwrite, on the bytes themselves. */
static void run_in_place(struct test_case *c, const struct reference *r)
{
    uint32_t may = psc_op_info(c->op)->may_overwrite;
    for (uint32_t k = 0; k < c->in_n; k++)
        for (unsigned snapshot = 0; may >> k & 1 && c->in[k].n == c->out.n && snapshot < 2; snapshot++) {
            struct psc_error error = {0};
            restore(c, r);
            must(run_once(c, 0, snapshot, (int)k, 0, &error), &error, c->name);
            check_same(c, r, snapshot ? "in place, with snapshot" : "in place", false);
        }
}

/* The output over a part of each operand: only right when operands are copied first. */
static void run_overlapping(struct test_case *c, const struct reference *r)
{
    const struct psc_op_info *info = psc_op_info(c->op);
    for (uint32_t k = 0; k < c->in_n && !info->is_view && !info->is_kv; k++) {
        struct psc_error error = {0};
        uint64_t ahead = c->out.n > 4 ? 16 : 4;
        if (!c->in[k].n || (c->op == PSC_OP_ATTN && k == 1) || c->out.n > c->in[k].n)
            continue;
        restore(c, r);
        must(run_once(c, the_suite.variant_n - 1, true, (int)k, ahead, &error), &error, c->name);
        check_same(c, r, "an overlapping output", c->loose);
    }
}

/* The same case on the backend beside: r holds what this one made of it. */
static void run_beside(struct test_case *c, const struct reference *r)
{
    const struct psc_backend_api *api = the_suite.api;
    struct psc_backend *b = the_suite.open[0];
    struct psc_error error = {0};
    uint64_t bytes = c->kv.rows * c->kv.row_bytes;
    restore(c, r);
    the_suite.api = the_suite.beside;
    the_suite.open[0] = the_suite.beside_open;
    must(run_once(c, 0, false, -1, 0, &error), &error, c->name);
    the_suite.api = api;
    the_suite.open[0] = b;
    const uint32_t *x = c->out.words, *y = (const uint32_t *)(const void *)r->out;
    double worst = 0;
    for (uint64_t i = 0; i < c->out.n; i++) {
        float one, other;
        memcpy(&one, &x[i], 4);
        memcpy(&other, &y[i], 4);
        double error_of = x[i] == y[i] || (isnan(one) && isnan(other)) ? 0 : fabs((double)one - (double)other) / (1 + fabs((double)one));
        worst = error_of > worst ? error_of : worst;
        the_suite.beside_words += x[i] != y[i];
        if (x[i] != y[i] && ((the_suite.promises & TEST_CPU_BITS && !isnan(one)) || !(error_of <= 2 * c->tolerance)))
            g_error("%s: word %" G_GUINT64_FORMAT " is %.9g, on %s %.9g", c->name, i, (double)other, the_suite.beside->name, (double)one);
    }
    if (bytes && the_suite.promises & TEST_CPU_BITS && (memcmp(c->kv.k, r->k, bytes) != 0 || memcmp(c->kv.v, r->v, bytes) != 0))
        g_error("%s: the regions differ from those on %s", c->name, the_suite.beside->name);
    the_suite.beside_worst = worst > the_suite.beside_worst ? worst : the_suite.beside_worst;
    the_suite.beside_cases++;
    g_test_message("%s: largest difference from %s %.2g", c->name, the_suite.beside->name, worst);
}

static void test_beside(void)
{
    if (!the_suite.beside_cases) { /* this test was chosen alone */
        g_test_skip("no case ran before");
        return;
    }
    g_test_message("%u cases: largest difference from %s %.2g, %u words differ", the_suite.beside_cases, the_suite.beside->name,
                   the_suite.beside_worst, the_suite.beside_words);
    g_assert_cmpuint(the_suite.beside_cases, >, 300);
    if (the_suite.promises & TEST_CPU_BITS)
        g_assert_cmpfloat(the_suite.beside_worst, ==, 0);
}

void test_case_run(struct test_case *c)
{
    uint64_t bytes = c->kv.rows * c->kv.row_bytes;
    struct psc_error error = {0};
    struct reference r = {.k0 = g_memdup2(c->kv.k, bytes), .v0 = g_memdup2(c->kv.v, bytes)};
    must(run_once(c, 0, false, -1, 0, &error), &error, c->name);
    double worst = check_expected(c, the_suite.variants[0].name);
    r.out = g_memdup2(c->out.words, c->out.n * 4);
    r.k = g_memdup2(c->kv.k, bytes);
    r.v = g_memdup2(c->kv.v, bytes);
    for (unsigned v = 1; v < the_suite.variant_n; v++) {
        restore(c, &r);
        must(run_once(c, v, v % 2, -1, 0, &error), &error, c->name);
        check_same(c, &r, the_suite.variants[v].name,
                   c->loose && the_suite.variants[v].config.portable != the_suite.variants[0].config.portable);
    }
    if (the_suite.beside)
        run_beside(c, &r);
    if (c->in_place)
        run_in_place(c, &r);
    if (the_suite.promises & TEST_SNAPSHOTS)
        run_overlapping(c, &r);
    g_test_message("%s: largest error %.2g", c->name, worst);
    g_free(r.k0), g_free(r.v0), g_free(r.out), g_free(r.k), g_free(r.v);
    test_case_clear(c);
}

void test_case_refused(struct test_case *c, const char *word)
{
    uint64_t bytes = c->kv.rows * c->kv.row_bytes;
    unsigned char *k = g_memdup2(c->kv.k, bytes), *v = g_memdup2(c->kv.v, bytes);
    for (unsigned snapshot = 0; snapshot < 2; snapshot++) {
        struct psc_error error = {0};
        enum psc_status status = test_case_try(c, the_suite.variant_n - 1, snapshot, &error);
        g_assert_cmpint(status, !=, PSC_OK);
        char *start = g_strdup_printf("node 4711 (victim, %s): ", psc_op_info(c->op)->name);
        if (!g_str_has_prefix(error.text, start) || !strstr(error.text, word))
            g_error("%s: \"%s\" does not begin with \"%s\" or name \"%s\"", c->name, error.text, start, word);
        g_free(start);
        for (uint64_t i = 0; i < c->out.n; i++)
            g_assert_cmphex(((uint32_t *)c->out.words)[i], ==, TEST_POISON);
        if (bytes) {
            g_assert_cmpmem(c->kv.k, bytes, k, bytes);
            g_assert_cmpmem(c->kv.v, bytes, v, bytes);
        }
    }
    g_free(k);
    g_free(v);
    test_case_clear(c);
}

/* ---- the suite ------------------------------------------------------------------------------- */

void test_suite_add(const char *path, void (*test)(void))
{
    char *whole = g_strdup_printf("/%s/%s", the_suite.api->name, path);
    g_test_add_func(whole, test);
    g_free(whole);
}

void test_backend_suite(const struct psc_backend_api *api, const struct test_variant *variants, unsigned variant_n,
                        unsigned promises)
{
    const struct psc_backend_api *beside = the_suite.beside;
    the_suite = (struct test_suite){.api = api, .beside = beside, .variants = variants, .variant_n = variant_n, .promises = promises,
                                    .seed = test_seed(),
                                    .kept = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref)};
    the_suite.open = g_new0(struct psc_backend *, variant_n);
    for (unsigned v = 0; v < variant_n; v++) {
        struct psc_error error = {0};
        must(api->open(&variants[v].config, &the_suite.open[v], &error), &error, variants[v].name);
    }
    if (beside) {
        static const struct psc_backend_config config = {.threads = 1};
        struct psc_error error = {0};
        must(beside->open(&config, &the_suite.beside_open, &error), &error, beside->name);
    }
    g_test_message("seed %" G_GUINT64_FORMAT, the_suite.seed);
    test_backend_ops();
    test_backend_products();
    test_backend_kv();
    test_backend_errors();
    test_backend_queue();
    if (beside)
        test_suite_add("results/beside-the-other-backend", test_beside);
}

void test_backend_suite_beside(const struct psc_backend_api *api)
{
    the_suite.beside = api;
}

void test_backend_suite_end(void)
{
    for (unsigned v = 0; v < the_suite.variant_n; v++)
        the_suite.api->close(the_suite.open[v]);
    g_free(the_suite.open);
    if (the_suite.beside)
        the_suite.beside->close(the_suite.beside_open);
    g_ptr_array_free(the_suite.kept, TRUE);
}
