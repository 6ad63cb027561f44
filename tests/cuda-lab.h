/* tests/cuda-lab.h: sessions and tiny models on the CUDA backend, or on its shim, for tests.
 *
 *     cuda_lab_begin(&lab, api, "x: input 4 @dev\na: scale 4 x scale=2 @dev\nout a\n", 0, 0)
 *     cuda_lab_steps(&lab, 3, "a", 2)      three executions with other numbers each; a must be 2 x
 *
 * In the texts (tests/text-graph.h) @dev stands for the backend under test. Errors that are not returned abort the test.
 */
#ifndef PSC_TESTS_CUDA_LAB_H
#define PSC_TESTS_CUDA_LAB_H

#include "backends/cuda/shim.h"
#include "core/run/run.h"
#include "tests/runs.h"

#include <glib.h>

struct cuda_lab {
    struct psc_arena arena;
    struct psc_graph *g;
    struct psc_session *s;
    const struct psc_backend_api *apis[2]; /* cpu, the one under test */
};
struct psc_graph *cuda_lab_graph(struct cuda_lab *lab, const char *text); /* in the lab's arena */
/* A session that replays, over poisoned buffers. */
void cuda_lab_begin(struct cuda_lab *lab, gconstpointer api, const char *text, uint64_t run_faults, unsigned call_faults);
void cuda_lab_end(struct cuda_lab *lab);
struct psc_session_counters cuda_lab_counters(const struct cuda_lab *lab);
/* n executions over an input x of four numbers; the output must be factor times it. */
void cuda_lab_steps(struct cuda_lab *lab, uint32_t n, const char *output, float factor);

struct cuda_tiny {
    struct psc_arena arena;
    struct psc_model *model;
};
void cuda_tiny_open(struct cuda_tiny *t, const char *preset);
void cuda_tiny_open_of(struct cuda_tiny *t, const char *preset, const char *weights); /* as --weights; NULL: its own */
/* 24 tokens, then 6 generated: 5 decode steps. */
struct psc_run_request cuda_tiny_request(const struct cuda_tiny *t, const char *backends, bool replay);
void cuda_tiny_run(const struct psc_run_request *q, struct psc_run_result *ret);

#endif
