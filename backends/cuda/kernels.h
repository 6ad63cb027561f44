/* backends/cuda/kernels.h: what kernels are given, and how one source runs in two worlds.
 *
 * A kernel is a list of phases. Between two phases all threads of a block wait for each other:
 *
 *     device   thread 0   phase 0 | barrier | phase 1        all threads at once, blocks in any order
 *              thread 1   phase 0 | barrier | phase 1
 *     host     for each block: for each phase: for each thread, one after the other
 *
 * So what crosses a barrier lies in shared memory, never in a variable, and no phase waits for another thread. A kernel
 * with passes runs its list that many times. backends/cuda/kernels.cu compiles the phases for the device,
 * backends/cuda/kernels-host.c the same text for the host; both obey PSC_CUDA_KERNELS, the table of all kernels.
 *
 * Arithmetic is that of the cpu backend, sum for sum (backends/cpu/vec.h, matmul-kernels.h): every product and every sum
 * is rounded by itself (compilers are told not to contract), sums have lanes in a fixed order. What the host build gives
 * equals the cpu's results bit for bit; on a device the trigonometry of rope may differ in the last bit.
 *
 * Words that index are looked at by a guard before the kernel that uses them, so that a bad one leaves everything as it was;
 * the kernel bounds them once more where it uses them, because its own output may lie over them (a fault).
 *
 * Addresses are the device's. Numbers of elements are 64 bits. Nothing here allocates or decides: backends/cuda/launch.c does.
 */
#ifndef PSC_BACKENDS_CUDA_KERNELS_H
#define PSC_BACKENDS_CUDA_KERNELS_H

#include <stdint.h>

#define PSC_CUDA_THREADS 128u       /* of a block, unless a kernel says otherwise */
#define PSC_CUDA_ROW_THREADS 32u    /* of a quantised product: threads for one row of weights */
#define PSC_CUDA_ROWS 4u            /* rows of a block then */
#define PSC_CUDA_TILE 256u          /* pieces of 32 values of a row in one pass */
#define PSC_CUDA_LANES 8u           /* of a sum of floats */
#define PSC_CUDA_FLOAT_ROWS 16u     /* rows of a block of a product of plain numbers */
#define PSC_CUDA_HEAD_MAX 1024u     /* widest head of the fused tail */
#define PSC_CUDA_RUNS 4u            /* of a kv_map */

/* One phase of one thread. */
struct psc_at {
    uint32_t bx, by;      /* block */
    uint32_t thread, threads;
    uint32_t pass, passes;
    uint64_t *stop, mark; /* of psc_lead */
};
/* Beside the arguments of every kernel. */
struct psc_lead {
    uint64_t *stop;       /* device: not 0 once a word that indexes was out of its bounds; then nothing runs any more */
    uint64_t mark;        /* what a kernel writes there when it finds one: whose words they are */
    uint32_t passes;
    uint32_t skips_barrier; /* faults l24 and l25: without the barrier after phase 0 */
};

enum psc_k_element_op { PSC_K_ADD, PSC_K_MUL, PSC_K_SCALE, PSC_K_SILU, PSC_K_SWIGLU };
struct psc_k_elements {   /* element c of row r, r < n / row */
    const float *a, *b;   /* b NULL: not needed; b_step 0: the same row of b for all */
    float *out;
    uint64_t n, row, a_step, b_step, out_step;
    float by;
    int32_t op;
};
struct psc_k_norm {       /* a block is one head of one row */
    const float *x, *weight, *bias;
    float *out;
    uint64_t step, out_step, heads, n;
    float eps;
};
struct psc_k_softmax {    /* a block is a row */
    const float *x;
    float *out;
    uint64_t n;
    int32_t normalise;
};
struct psc_k_columns {    /* a thread is a column */
    const float *x;
    float *out;
    uint64_t columns, rows, slices;
    int32_t normalise;
};
struct psc_k_rope {       /* a thread is a pair of all heads of a row */
    const float *x, *bias;
    const int32_t *positions;
    float *out;
    uint64_t step, out_step, heads, hd, tokens;
    float base, scale;
    int32_t interleaved;
};
struct psc_k_gather {     /* rows of n words that ids name */
    const uint32_t *x;
    const int32_t *ids;
    uint32_t *out;
    uint64_t n, rows, ids_end; /* ids lie in [0, ids_end) */
};
struct psc_k_decode {     /* rows of a weight as floats; ids NULL: all rows in order */
    const unsigned char *w;
    const int32_t *ids;
    float *out;
    uint64_t row_bytes, n, rows, ids_end;
    int32_t type;         /* enum psc_wtype */
};
struct psc_k_permute {    /* words; strides in elements */
    const uint32_t *x;
    uint32_t *out;
    uint64_t shape[4], from[4], to[4];
};
struct psc_k_quantise {   /* a block is `group` pieces of 32 times 16 of one row; group: 1 or 8 */
    const float *x;
    int8_t *q;            /* [tokens][in] */
    float *d;             /* [tokens][in / 32 / group] */
    int32_t *sums;        /* [tokens][in / 32] */
    uint64_t step, in;
    uint32_t group;
};
struct psc_k_unquantise { /* what the quantised product sees of activations, as floats */
    const int8_t *q;
    const float *d;
    float *out;
    uint64_t in, n;
    uint32_t values;      /* of a block: 32 or 256 */
};
struct psc_k_product {    /* quantised weights; a block is PSC_CUDA_ROWS rows of one token */
    const unsigned char *w[3];
    const float *bias[3];
    uint64_t end[3];      /* rows of the parts so far */
    const int8_t *q;
    const float *d;
    const int32_t *sums;
    float *out;
    uint64_t row_bytes, in, out_step;
    int32_t type;
};
struct psc_k_float_product {
    const unsigned char *w[3];
    const float *bias[3];
    uint64_t end[3];
    const float *x;
    float *out;
    uint64_t row_bytes, in, x_step, out_step, out_by; /* out_by: from row to row; fault l20 changes it */
    uint64_t tokens;
    int32_t type, turned; /* turned: fault l20 */
};
struct psc_k_batch {      /* a thread is an element of the result */
    const float *a, *b;
    float *out;
    uint64_t k, n, m, share2, share3, d2, b2, all; /* matrices of b: d2 / share2 + d3 / share3 * b2 */
    int32_t transposed;
};
enum psc_k_window_form { PSC_K_POSITIONS, PSC_K_SPANS, PSC_K_MAP };
enum psc_k_rows_format { PSC_K_F32, PSC_K_F16, PSC_K_Q8_0 };
struct psc_k_attn {       /* a block is a head of a token */
    const float *q;
    const unsigned char *k, *v;
    const int32_t *words;
    float *out, *scores;  /* scores: [tokens of this launch][heads][rows] */
    uint64_t q_step, row_bytes, rows, tokens, first, heads, sharers, hd, hd_kv; /* first: token of block 0 */
    float scale;
    int32_t form, format, pads; /* pads: fault l22 */
    int32_t fixed;        /* fault l31: rows of the longest window as the host saw them, else 0 */
};
struct psc_k_heads {      /* tail of the fused ops: a block is a head of q, k or v of a token */
    const float *x[3], *bias[3], *norm[2];
    float *out[3];
    uint64_t step[3], out_step[3];
    uint32_t heads[3];
    const int32_t *positions;
    uint64_t hd;
    float eps, base, scale;
    int32_t interleaved, norms;
};
struct psc_k_store {      /* a thread is a piece of 32 values of a row of k or v */
    const float *k, *v;
    unsigned char *to_k, *to_v;
    const int32_t *cells;
    uint64_t k_step, v_step, width, row_bytes, tokens, rows;
    int32_t format;
};
struct psc_k_guard {      /* one block; strikes when a word is out of its bounds */
    const int32_t *words;
    uint64_t tokens, rows;
    int32_t form;         /* PSC_K_POSITIONS: each word a row below rows */
};
struct psc_k_hash {       /* a block is 16 chunks; ret[chunk]: see core/run/probe.h */
    const unsigned char *bytes;
    uint64_t *ret;
    uint64_t n;
};

struct psc_k_fill {       /* n bytes of a pattern of four; a thread writes up to four */
    unsigned char *to;
    uint64_t n;
    uint32_t pattern;
};

/* K1(name): one phase name_0; K2(name): name_0 and name_1; and so on. */
#define PSC_CUDA_KERNELS(K1, K2, K3, K4, K5) \
    K1(elements)                             \
    K2(norm)                                 \
    K5(softmax)                              \
    K1(columns)                              \
    K1(rope)                                 \
    K1(gather)                               \
    K1(decode)                               \
    K1(permute)                              \
    K2(quantise)                             \
    K1(unquantise)                           \
    K3(product)                              \
    K2(float_product)                        \
    K1(batch)                                \
    K5(attn)                                 \
    K4(heads)                                \
    K1(store)                                \
    K2(guard)                                \
    K2(hash)                                 \
    K1(fill)
#define PSC_CUDA_NAME(name) PSC_CUDA_##name,
enum psc_cuda_kernel {
    PSC_CUDA_KERNELS(PSC_CUDA_NAME, PSC_CUDA_NAME, PSC_CUDA_NAME, PSC_CUDA_NAME, PSC_CUDA_NAME) PSC_CUDA_KERNEL_N
};

/* Shape of a launch. */
struct psc_cuda_shape {
    uint32_t bx, by, threads;
};

#endif
