/* tests/util.h: what several test programs share. */
#ifndef PSC_TESTS_UTIL_H
#define PSC_TESTS_UTIL_H

#include "core/base/mem.h"

#include <glib.h>

/* Out-of-memory loops: operation(data) is run with the Nth allocation failing, N = 0, 1, 2 ... until it
 * returns PSC_OK. Each failure must be PSC_ERR_NOMEM and leave no block alive; asserted here. Returns how
 * many failures were walked (assert that it is > 0). */
typedef enum psc_status (*test_oom_fn)(void *data);
unsigned test_oom_loop(test_oom_fn operation, void *data);

/* Blocks alive now under the counting hook (only inside test_oom_loop and test_count_begin/end). */
void test_count_begin(void);
size_t test_count_end(void);

/* Between these two the nth allocation fails, n = 0, 1 ...; blocks from before may be freed. True when one did fail. For
 * objects that live on across the failure. */
void test_fail_begin(long nth);
bool test_fail_end(void);

/* Path of a file in the source tree / in the shared folder; free with g_free. The shared one is NULL when
 * the folder or file is not there: then call g_test_skip. */
char *test_source_path(const char *relative);
char *test_shared_path(const char *relative);

/* Writes a file as it is: g_file_set_contents waits for the disk, file after file, where there is one already. */
void test_put_file(const char *path, const void *bytes, size_t n);

/* Seed of the random tests: --seed of g_test or PSC_SEED, printed by the caller in the path or message. */
guint64 test_seed(void);

#endif
