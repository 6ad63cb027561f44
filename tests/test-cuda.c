/* The CUDA backend on a device, through the suite, beside the cpu. Where there is no device it says why and passes nothing. */
#include "backends/cpu/cpu.h"
#include "backends/registry.h"
#include "tests/backend-suite.h"

static const struct test_variant variants[] = {
    {"one instance", {0}},
    {"another", {.portable = true}},
};

int main(int argc, char **argv)
{
    const struct psc_backend_entry *entry = psc_backend_find("cuda");
    g_test_init(&argc, &argv, NULL);
    if (!entry->api) {
        g_print("1..0 # SKIP %s\n", entry->unavailable);
        return 0;
    }
    test_backend_suite_beside(&psc_backend_cpu);
    test_backend_suite(entry->api, variants, G_N_ELEMENTS(variants), TEST_KEEPS_WEIGHTS);
    int failed = g_test_run();
    test_backend_suite_end();
    return failed;
}
