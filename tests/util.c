#include "tests/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter {
    long budget; /* allocations until one fails; -1: never */
    size_t alive;
    gboolean failed;
};
static struct counter the_counter;

static void *counting_hook(void *ctx, void *ptr, size_t size)
{
    struct counter *c = ctx;
    if (size == 0) {
        if (ptr) {
            g_assert_cmpuint(c->alive, >, 0);
            c->alive--;
        }
        free(ptr);
        return NULL;
    }
    if (c->budget == 0) {
        c->failed = TRUE;
        return NULL;
    }
    void *block = realloc(ptr, size);
    g_assert_nonnull(block);
    if (c->budget > 0)
        c->budget--;
    if (!ptr)
        c->alive++;
    return block;
}

unsigned test_oom_loop(test_oom_fn operation, void *data)
{
    for (unsigned n = 0;; n++) {
        the_counter = (struct counter){.budget = (long)n};
        psc_mem_set_hook(counting_hook, &the_counter);
        enum psc_status status = operation(data);
        psc_mem_set_hook(NULL, NULL);
        g_assert_cmpuint(the_counter.alive, ==, 0);
        if (status == PSC_OK && !the_counter.failed)
            return n;
        if (status != PSC_OK)
            g_assert_cmpint(status, ==, PSC_ERR_NOMEM);
    }
}

void test_count_begin(void)
{
    the_counter = (struct counter){.budget = -1};
    psc_mem_set_hook(counting_hook, &the_counter);
}

size_t test_count_end(void)
{
    psc_mem_set_hook(NULL, NULL);
    return the_counter.alive;
}

static struct { long budget; bool failed; } the_failure;

static void *failing_hook(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    if (!size) {
        free(ptr);
        return NULL;
    }
    if (the_failure.budget-- == 0) {
        the_failure.failed = true;
        return NULL;
    }
    return realloc(ptr, size);
}

void test_fail_begin(long nth)
{
    the_failure.budget = nth;
    the_failure.failed = false;
    psc_mem_set_hook(failing_hook, NULL);
}

bool test_fail_end(void)
{
    psc_mem_set_hook(NULL, NULL);
    return the_failure.failed;
}

static char *path_under(const char *variable, const char *relative)
{
    const char *root = g_getenv(variable);
    return root ? g_build_filename(root, relative, NULL) : NULL;
}

char *test_source_path(const char *relative)
{
    char *path = path_under("PSC_SOURCE_ROOT", relative);
    g_assert_nonnull(path);
    return path;
}

char *test_shared_path(const char *relative)
{
    char *path = path_under("PSC_SHARED", relative);
    if (path && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_free(path);
        path = NULL;
    }
    return path;
}

void test_put_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(bytes, 1, n, file), ==, n);
    g_assert_cmpint(fclose(file), ==, 0);
}

guint64 test_seed(void)
{
    const char *text = g_getenv("PSC_SEED");
    return text ? g_ascii_strtoull(text, NULL, 0) : 20260301u;
}
