/* tests/backend-suite.h: one suite for every backend.
 *
 *     test_backend_suite(&psc_backend_cpu, variants, n, TEST_SNAPSHOTS)    registers /cpu/op/add/..., /cpu/queue/... and so on
 *
 * A case is one call with host data and what a naive computation in double makes of it. It runs on every variant (numbers
 * of threads, with and without AVX2): the first must be near the expectation, the others equal to it bit for bit.
 */
#ifndef PSC_TESTS_BACKEND_SUITE_H
#define PSC_TESTS_BACKEND_SUITE_H

#include "core/run/backend.h"
#include "tests/util.h"

#define TEST_OPERANDS 8u
#define TEST_POISON 0x7fc0babeu /* a NaN */

enum { /* what a backend promises beyond the contract */
    TEST_SNAPSHOTS = 1, /* psc_call.snapshot is obeyed */
    TEST_QUEUED = 2,    /* bytes change at submit, not before */
    TEST_BOUNDED = 4,   /* row numbers that change while a kernel runs are bounded where it uses them */
    TEST_CPU_BITS = 8,  /* the cpu's results bit for bit; else near them */
    TEST_KEEPS_WEIGHTS = 16, /* what a weight was loaded as stays: its bytes on the host must, too */
};

struct test_tensor {
    enum psc_dtype dtype;
    uint64_t shape[4], n;
    void *words; /* owned; 4 bytes an element */
};
struct test_kv {
    enum psc_kv_format format;
    uint64_t rows, width, row_bytes;
    unsigned char *k, *v; /* owned; rows * row_bytes: before the run, and after it */
};
/* One call. Everything it owns is freed by test_case_clear. */
struct test_case {
    char name[96];
    enum psc_op op;
    struct psc_params params;
    struct test_tensor in[TEST_OPERANDS];
    uint32_t in_n;
    struct test_tensor out;   /* words: filled by the run */
    double *expect;           /* owned; out.n, or NULL */
    double tolerance;         /* |got - expect| <= tolerance * (1 + |expect|) */
    bool bits;                /* out words must be `expect_bits` exactly */
    uint32_t *expect_bits;    /* owned */
    struct psc_bound_weight weight, bias[3], q_norm, k_norm, norm_bias;
    struct test_kv kv;
    bool loose;               /* products of floats: AVX2 may round otherwise; compared within the tolerance */
    bool in_place;            /* also run over every operand that op.h lets it overwrite */
    unsigned faults;
    GPtrArray *owned;         /* weights and their bytes */
};

struct test_variant {
    const char *name;
    struct psc_backend_config config;
};
struct test_suite {
    const struct psc_backend_api *api;
    const struct test_variant *variants;
    unsigned variant_n, promises;
    struct psc_backend **open; /* [variant_n] */
    uint64_t seed;             /* random state */
    const struct psc_backend_api *beside; /* cases also run there and the results are compared; NULL: not */
    struct psc_backend *beside_open;
    double beside_worst;       /* of all cases */
    unsigned beside_cases, beside_words; /* that were compared; that differ */
    GPtrArray *kept;           /* weights of cases that are over, until the end (TEST_KEEPS_WEIGHTS) */
};

void test_backend_suite(const struct psc_backend_api *api, const struct test_variant *variants, unsigned variant_n,
                        unsigned promises);
/* Call before: every case that is run also runs on the cpu. A test of its own, the last one, prints the largest difference. */
void test_backend_suite_beside(const struct psc_backend_api *api);
/* After g_test_run. */
void test_backend_suite_end(void);
extern struct test_suite the_suite;
void test_backend_ops(void);      /* backend-suite-ops.c registers its tests, and so on */
void test_backend_products(void);
void test_backend_kv(void);
void test_backend_errors(void);
void test_backend_queue(void);
void test_backend_fused(void);
/* g_test_add_func under /NAME-OF-THE-BACKEND/path. */
void test_suite_add(const char *path, void (*test)(void));

/* ---- cases ----------------------------------------------------------------------------------- */
void test_case_init(struct test_case *c, enum psc_op op, const char *name_format, ...) PSC_PRINTF(3, 4);
void test_case_clear(struct test_case *c);
/* Adds an operand; values may be NULL (random, normal-like, in -2 .. 2). Returns its words. */
float *test_case_floats(struct test_case *c, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3);
int32_t *test_case_words(struct test_case *c, enum psc_dtype dtype, uint64_t n);
void test_case_out(struct test_case *c, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3); /* expect is zeroed */
/* A random weight of a type, owned by the case; ret_values: decoded, in * out. */
struct psc_bound_weight test_case_weight(struct test_case *c, const char *name, enum psc_wtype type, uint64_t in,
                                         uint64_t out, const float **ret_values);
/* up to three of those as the parts of one weight */
struct psc_bound_weight test_case_parts(struct test_case *c, const char *name, const struct psc_bound_weight *parts,
                                        uint32_t n);
/* A copy of rows [first, first + n) of another weight. */
struct psc_bound_weight test_case_slice(struct test_case *c, const char *name, struct psc_bound_weight whole, uint64_t first,
                                        uint64_t n);
void test_case_kv(struct test_case *c, enum psc_kv_format format, uint64_t rows, uint64_t width); /* random rows */
float test_random_float(void);
uint64_t test_random_below(uint64_t n);

/* Runs and asserts all of it. Frees the case. */
void test_case_run(struct test_case *c);
/* Runs once on one variant: results in out.words and kv. bytes_kept: what lies in the output when the call fails. */
enum psc_status test_case_try(struct test_case *c, unsigned variant, bool snapshot, struct psc_error *reterr);
/* The same with an operand's words at the start of the result, or of the K region: the kernel writes over them. */
enum psc_status test_case_try_inside(struct test_case *c, unsigned variant, bool snapshot, uint32_t operand, bool region,
                                     struct psc_error *reterr);
/* The call must fail; the sentence names the node, and `word`; the output and the regions are as they were. Frees the case. */
void test_case_refused(struct test_case *c, const char *word);
/* Opens, runs and closes with every allocation failing once: an error each time, nothing left alive. Frees the case. */
void test_case_out_of_memory(struct test_case *c);

#endif
