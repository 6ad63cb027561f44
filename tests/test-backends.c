#include "backends/registry.h"

#include <glib.h>

#include <string.h>

/* Ids stand in files, so they never change; the last entries stand for metal and for cuda. */
static void test_ids(void)
{
    static const char *const names[] = {"cpu", "metal", "cuda", "deferred", "cuda-shim"};
    static const unsigned ids[] = {0, 1, 2, 1, 2};
    size_t n = 0;
    const struct psc_backend_entry *entries = psc_backend_entries(&n);
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(names));
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpuint(entries[i].id, ==, ids[i]);
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
    const char *why = psc_backend_find("cuda")->unavailable; /* NULL where a device is lent */
    g_assert_true(!why || strstr(why, "compiled without CUDA") || strstr(why, "NVIDIA driver") || strstr(why, "CUDA device") ||
                  strstr(why, "CUDA runtime"));
    g_test_message("cuda: %s", why ? why : "executes here");
    g_assert_null(psc_backend_find("cuda-shim")->unavailable);
    g_assert_nonnull(strstr(psc_backend_find("metal")->unavailable, "macOS"));
    g_assert_null(psc_backend_find("cpu")->unavailable);
    g_assert_null(psc_backend_find("deferred")->unavailable);
}

/* An entry has an api or a reason, and the api says of itself what the entry says. */
static void test_apis(void)
{
    size_t n = 0;
    uint32_t api_n = 0, seen = 0;
    const struct psc_backend_entry *entries = psc_backend_entries(&n);
    const struct psc_backend_api *const *apis = psc_backend_apis(&api_n);
    for (size_t i = 0; i < n; i++) {
        const struct psc_backend_api *api = entries[i].api;
        g_assert_true((api == NULL) == (entries[i].unavailable != NULL));
        if (!api)
            continue;
        uint32_t at = 0;
        while (at < api_n && apis[at] != api)
            at++;
        g_assert_cmpuint(at, <, api_n);
        seen++;
        g_assert_cmpstr(api->name, ==, entries[i].name);
        g_assert_cmpstr(api->file_name, ==, entries[i].file_name);
        g_assert_cmpuint(api->id, ==, entries[i].id);
        g_assert_cmpuint(api->priority, ==, entries[i].priority);
        g_assert_null(api->unavailable());
    }
    g_assert_cmpuint(seen, ==, api_n);
}

/* What cannot execute is known all the same, behind what can, and keeps to what its entry says. */
static void test_known(void)
{
    uint32_t api_n = 0, known_n = 0, absent = 0;
    const struct psc_backend_api *const *apis = psc_backend_apis(&api_n);
    const struct psc_backend_api *const *known = psc_backend_known(&known_n);
    g_assert_cmpuint(known_n, >=, api_n);
    for (uint32_t i = 0; i < api_n; i++)
        g_assert_true(known[i] == apis[i]);
    for (uint32_t i = api_n; i < known_n; i++, absent++) {
        const struct psc_backend_entry *entry = psc_backend_find(known[i]->name);
        g_assert_nonnull(entry);
        g_assert_cmpstr(known[i]->unavailable(), ==, entry->unavailable);
        g_assert_cmpstr(known[i]->file_name, ==, entry->file_name);
        g_assert_cmpuint(known[i]->id, ==, entry->id);
        g_assert_cmpuint(known[i]->priority, ==, entry->priority);
        if (!known[i]->open) /* not even compiled in */
            g_assert_false(known[i]->takes(PSC_OP_ADD, PSC_F32, NULL));
    }
    g_assert_cmpuint(absent, ==, psc_backend_find("cuda")->unavailable ? 1 : 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/backends/ids-are-those-of-files", test_ids);
    g_test_add_func("/backends/devices-come-before-the-cpu", test_priorities);
    g_test_add_func("/backends/what-cannot-run-says-why", test_reasons);
    g_test_add_func("/backends/an-entry-has-an-api-or-a-reason", test_apis);
    g_test_add_func("/backends/who-asks-for-cuda-is-told-why-not", test_known);
    return g_test_run();
}
