#include "backends/registry.h"

#include <glib.h>

#include <string.h>

/* Ids stand in files, so they never change. */
static void test_ids(void)
{
    static const char *const names[] = {"cpu", "metal", "cuda"};
    size_t n = 0;
    const struct psc_backend_entry *entries = psc_backend_entries(&n);
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(names));
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpuint(entries[i].id, ==, i);
        g_assert_cmpstr(entries[i].name, ==, names[i]);
        g_assert_true(psc_backend_find(names[i]) == &entries[i]);
    }
    g_assert_null(psc_backend_find("CPU"));
    g_assert_null(psc_backend_find(""));
}

static void test_priorities(void)
{
    g_assert_cmpuint(psc_backend_find("metal")->priority, >, psc_backend_find("cuda")->priority);
    g_assert_cmpuint(psc_backend_find("cuda")->priority, >, psc_backend_find("cpu")->priority);
}

static void test_reasons(void)
{
    g_assert_nonnull(strstr(psc_backend_find("cuda")->unavailable, "compiled without CUDA"));
    g_assert_nonnull(strstr(psc_backend_find("metal")->unavailable, "macOS"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/backends/ids-are-those-of-files", test_ids);
    g_test_add_func("/backends/devices-come-before-the-cpu", test_priorities);
    g_test_add_func("/backends/what-cannot-run-says-why", test_reasons);
    return g_test_run();
}
