/* The deferred backend through the suite, and what only it does. */
#include "backends/deferred/deferred.h"

#include "tests/backend-suite.h"

static const struct test_variant variants[] = {
    {"two threads", {.threads = 2, .timeout_ms = 20}},
    {"portable, one thread", {.threads = 1, .portable = true, .timeout_ms = 20}},
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_backend_suite(&psc_backend_deferred, variants, G_N_ELEMENTS(variants), TEST_QUEUED);
    int failed = g_test_run();
    test_backend_suite_end();
    return failed;
}
