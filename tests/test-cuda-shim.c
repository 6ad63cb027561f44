/* The CUDA backend on the host, through the suite: threads and blocks in order, and from the last to the first. Both give the
 * cpu's bits, so no phase of a kernel depends on who comes first. */
#include "backends/cuda/shim.h"

#include "backends/cpu/cpu.h"
#include "tests/backend-suite.h"

static const struct test_variant variants[] = {
    {"in order", {.timeout_ms = 200}},
    {"backwards", {.timeout_ms = 200, .portable = true}},
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_backend_suite_beside(&psc_backend_cpu);
    test_backend_suite(&psc_backend_cuda_shim, variants, G_N_ELEMENTS(variants), TEST_KEEPS_WEIGHTS | TEST_CPU_BITS);
    int failed = g_test_run();
    test_backend_suite_end();
    return failed;
}
