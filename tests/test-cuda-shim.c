/* The CUDA backend on the host, through the suite. */
#include "backends/cuda/shim.h"

#include "backends/cpu/cpu.h"
#include "tests/backend-suite.h"

static const struct test_variant variants[] = {
    {"one instance", {.timeout_ms = 200}},
    {"another", {.timeout_ms = 200, .portable = true}},
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
