/* tests/qwen.h: Qwen2-shaped graphs as minfer builds them, for tests that need the published numbers.
 *
 * A prefill of more than one token has 440 nodes (24 layers), a decode 437; node indices are the published ones.
 */
#ifndef PSC_TESTS_QWEN_H
#define PSC_TESTS_QWEN_H

#include "core/graph/graph.h"

struct test_qwen {
    uint64_t tokens, ctx;
    uint32_t layers;
    const char *backend;
    bool late_tail; /* tail_ids stands in the last layer, as published, not at the head */
};
/* The published shapes: 24 layers, context 4096, "cpu", tail_ids late. */
struct test_qwen test_qwen_default(uint64_t tokens);
struct psc_graph *test_qwen_build(struct psc_arena *arena, struct test_qwen shape);

#endif
