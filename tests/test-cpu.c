/* The cpu backend through the suite. */
#include "backends/cpu/cpu.h"

#include "tests/backend-suite.h"

static const struct test_variant variants[] = {
    {"one thread", {.threads = 1}},
    {"two threads", {.threads = 2}},
    {"three threads", {.threads = 3}},
    {"seven threads", {.threads = 7}},
    {"portable, one thread", {.threads = 1, .portable = true}},
    {"portable, two threads", {.threads = 2, .portable = true}},
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_backend_suite(&psc_backend_cpu, variants, G_N_ELEMENTS(variants), TEST_SNAPSHOTS | TEST_BOUNDED);
    int failed = g_test_run();
    test_backend_suite_end();
    return failed;
}
