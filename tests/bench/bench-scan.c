/* How fast a trace opens: MB/s of the scan, time to the first step, resident memory at the peak.
 *
 *     bench-scan                      writes a trace of 200 MB to a temporary file and opens it
 *     bench-scan FILE                 opens FILE (../shared/cases/make_big.py makes one of any size)
 *
 * Fails only when the trace does not open with the steps that were written.
 */
#include "traces/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NODES 400u
#define BYTES ((uint64_t)200 << 20)

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void write_record(FILE *f, unsigned id, unsigned *seed)
{
    fprintf(f,
            "%s{\"dtype\":\"f32\",\"id\":%u,\"n\":1792,\"stats\":{\"absmean\":0.38099%u,\"max\":%u.5,"
            "\"mean\":0.00%u,\"min\":-3.25},"
            "\"stride\":28,\"values\":[",
            id ? "," : "", id, *seed % 1000, *seed % 9, *seed % 7777);
    for (int k = 0; k < 64; k++) {
        *seed = *seed * 1664525u + 1013904223u;
        fprintf(f, "%s%s0.%08u%08u", k ? "," : "", *seed & 1 ? "-" : "", *seed % 100000000u, *seed >> 5);
    }
    fputs("]}", f);
}

/* As minfer writes them: keys in alphabetical order, one line. Returns the number of steps. */
static unsigned write_trace(FILE *f)
{
    unsigned seed = 1, steps = 0;
    fputs("{\"format\":\"minfer-trace\",\"model\":\"bench\",\"phases\":[{\"graph\":{\"inputs\":[0],"
          "\"outputs\":[399],\"nodes\":[",
          f);
    for (unsigned i = 0; i < NODES; i++)
        fprintf(f,
                "%s{\"backend\":\"cpu\",\"dtype\":\"f32\",\"id\":%u,\"op\":\"%s\",\"shape\":[896,2,1,1],"
                "\"src\":[%.*u]}",
                i ? "," : "", i, i ? "silu" : "input", i ? 1 : 0, i ? i - 1 : 0);
    fputs("]},\"kind\":\"decode\",\"steps\":[", f);
    for (; (uint64_t)ftello(f) < BYTES; steps++) {
        fprintf(f, "%s{\"logits_top\":[],\"nodes\":[", steps ? "," : "");
        for (unsigned i = 0; i < NODES; i++)
            write_record(f, i, &seed);
        fprintf(f, "],\"text\":\" t\",\"token\":%u}", steps);
    }
    fputs("]}],\"prompt\":\"bench\",\"version\":1}", f);
    return steps;
}

static int measure(const char *path, unsigned want_steps)
{
    struct stat info;
    struct rusage usage;
    struct psc_doc *doc = NULL;
    struct psc_error err;
    struct psc_arena arena = {0};
    struct psc_step step;
    if (stat(path, &info) != 0)
        return 1;
    double begin = now(CLOCK_MONOTONIC), begin_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (psc_trace_open(path, NULL, NULL, &doc, &err) != PSC_OK ||
        psc_doc_load_step(doc, 0, 0, &arena, &step, &err) != PSC_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double first = now(CLOCK_MONOTONIC);
    if (psc_doc_scan_all(doc, &err) != PSC_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double scanned = now(CLOCK_MONOTONIC), scanned_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    getrusage(RUSAGE_SELF, &usage);
    uint32_t steps = psc_doc_step_n(doc, 0);
    if (psc_doc_load_step(doc, 0, steps - 1, &arena, &step, &err) != PSC_OK)
        return 1;
    double loaded = now(CLOCK_MONOTONIC), mb = (double)info.st_size / 1e6;
    printf("%.0f MB, %u steps: first step after %.1f ms, scanned at %.0f MB/s (%.0f by processor time), a "
           "step loads in %.1f ms, peak "
           "resident %.1f MiB\n",
           mb, steps, (first - begin) * 1e3, mb / (scanned - begin), mb / (scanned_cpu - begin_cpu),
           (loaded - scanned) * 1e3, (double)usage.ru_maxrss / 1024);
    psc_arena_release(&arena);
    psc_doc_free(doc);
    return want_steps && steps != want_steps;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return measure(argv[1], 0);
    char path[] = "/tmp/bench-scan-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!f)
        return 1;
    unsigned steps = write_trace(f);
    int failed = fclose(f) != 0 || measure(path, steps);
    unlink(path);
    return failed;
}
