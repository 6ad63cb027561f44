/* The bundled samples and lessons: reproducible from their script. */
#include "tests/util.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static const char *const files[] = {
    "samples/qwen2.5-0.5b-metal.json",
    "samples/qwen2.5-0.5b-per-node.json",
    "samples/qwen2.5-0.5b-440-cuda-cpu.json",
    "samples/chain.json",
    "samples/parallel.json",
    "lessons/1-live-range.json",
    "lessons/2-size-classes.json",
    "lessons/3-in-place.json",
    "lessons/4-views.json",
    "lessons/5-two-orders.json",
    "lessons/6-recorded-late.json",
};

static char *sample_path(const char *file)
{
    char *relative = g_build_filename("traces", file, NULL), *path = test_source_path(relative);
    g_free(relative);
    return path;
}

static void the_script_writes_the_same_bytes_again(void)
{
    char *python = g_find_program_in_path("python3");
    if (!python) {
        g_test_skip("python3 is not installed");
        return;
    }
    char *script = sample_path("samples/make.py");
    char *folder = g_dir_make_tmp("psc-samples-XXXXXX", NULL);
    g_assert_nonnull(folder);
    char *argv[] = {python, script, folder, NULL};
    int status = -1;
    g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        char *made = g_build_filename(folder, files[i], NULL), *kept = sample_path(files[i]);
        char *a = NULL, *b = NULL;
        gsize a_n = 0, b_n = 0;
        g_assert_true(g_file_get_contents(made, &a, &a_n, NULL));
        g_assert_true(g_file_get_contents(kept, &b, &b_n, NULL));
        if (a_n != b_n || memcmp(a, b, a_n) != 0)
            g_test_fail_printf("%s is not what traces/samples/make.py writes", files[i]);
        g_unlink(made);
        g_free(made);
        g_free(kept);
        g_free(a);
        g_free(b);
    }
    const char *const parts[] = {"samples", "lessons", ""};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        char *part = g_build_filename(folder, parts[i], NULL);
        g_assert_cmpint(g_rmdir(part), ==, 0);
        g_free(part);
    }
    g_free(folder);
    g_free(script);
    g_free(python);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/samples/the-script-writes-the-same-bytes-again",
                    the_script_writes_the_same_bytes_again);
    return g_test_run();
}
