/* tests/double.h: three small backends for tests, whose every step can be made to fail.
 *
 *     double_cpu     file name "cpu"     every command takes effect at once
 *     double_metal   "metal"             commands are stored; bytes change at submit
 *     double_cuda    "cuda"              as metal, with capture and replay
 *
 * Kernels compute numbers (add, mul, scale, silu, swiglu, get_rows, concat, kv rows, a sum for attention), or with
 * `mix` every op makes words that depend on every byte it reads, so that one wrong byte anywhere reaches the outputs.
 * Copies land when they are awaited, and not a moment before: until then the destination holds 0xa5.
 * Countdowns: 0 fails the next call, -1 never fails.
 */
#ifndef PSC_TESTS_DOUBLE_H
#define PSC_TESTS_DOUBLE_H

#include "core/run/backend.h"

struct double_control {
    bool mix;
    bool declines_copies;
    long fail_alloc, fail_encode /* when handed over */, fail_launch /* when it runs */, fail_enqueue, fail_await, fail_submit, fail_capture_end, fail_replay;
    enum psc_query query;       /* of metal and cuda */
    uint64_t free_bytes;
    uint64_t allocs, frees, launches, submits, captures, replays, dropped, aborted; /* counted */
    const char *unavailable;    /* of cuda */
};
extern struct double_control double_control;
void double_reset(void);        /* numbers, nothing fails, no device reports memory */

extern const struct psc_backend_api double_cpu, double_metal, double_cuda;
extern const struct psc_backend_api *const double_apis[3];

#endif
