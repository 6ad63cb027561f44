/* What kept blocks save: page faults, calls of the heap and time of a run whose results are written whole.
 *
 * Five habits, each with an arena that keeps blocks and with one that keeps none (`simple`), 20 runs after one warm-up.
 * Blocks are asked of the heap and given back to it in both; large ones come from the kernel and go back to it, so that each
 * page of each run is a fault (the C library would raise its limit for that with use; here it is held at 128 KiB). It fails when a run with kept blocks asks the heap for anything it should not. */
#include "core/plan/arena-context.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MIB (UINT64_C(1) << 20)
#define RUNS 20u

struct habit {
    const char *name;
    uint64_t inner, output;
    bool keeps_outputs, alternates, trims;
    double allocs_a_run;         /* that may be left with kept blocks */
};
static const struct habit habits[] = {
    {"outputs dropped each run", 8 * MIB, 8 * MIB, false, false, false, 0},
    {"all outputs kept", 8 * MIB, 2 * MIB, true, false, false, 1},
    {"large inner, small output", 32 * MIB, 4096, false, false, false, 0},
    {"alternating shapes", 16 * MIB, 8 * MIB, false, true, false, 0},
    {"trim after every run", 8 * MIB, 8 * MIB, false, false, true, 2},
};

static long faults(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_minflt;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum psc_status one_run(struct psc_context *c, const struct habit *h, unsigned r, struct psc_block_handle *held,
                               struct psc_error *error)
{
    uint64_t scale = h->alternates && r % 2 ? 2 : 1;
    for (uint32_t value = 0; value < 2; value++) {
        uint64_t bytes = (value ? h->output : h->inner) / scale;
        unsigned char *memory;
        enum psc_status status = psc_context_begin_node(c, &value, 1, error);
        if (!status)
            status = psc_context_output(c, 0, bytes, &memory, error);
        if (status)
            return status;
        memset(memory, (int)r, bytes);
        status = psc_context_end_node(c, error);
        if (status)
            return status;
    }
    return h->keeps_outputs && c->io ? psc_context_export(c, 1, held, error) : PSC_OK;
}

struct figures { double faults, allocs, ms; };

static enum psc_status measure(const struct habit *h, bool keeps, struct figures *ret, struct psc_error *error)
{
    static const uint32_t declared[] = {1};
    struct psc_depot_options o = {.kind = keeps ? PSC_DEPOT_EXEC : PSC_DEPOT_SIMPLE, .cap = PSC_ARENA_NO_CAP};
    struct psc_depot *exec = NULL, *io = NULL;
    struct psc_context c = {0};
    struct psc_block_handle held[RUNS + 1] = {0};
    long faults_before = 0;
    double start = 0;
    uint64_t allocs = 0;
    enum psc_status status = psc_depot_new(&o, &exec, error);
    o.kind = PSC_DEPOT_IO;
    o.cap = keeps ? PSC_ARENA_NO_CAP : 0; /* an I/O arena that keeps nothing */
    if (!status)
        status = psc_depot_new(&o, &io, error);
    if (!status)
        status = psc_context_init(&c, exec, io, 2, declared, 1, error);
    for (unsigned r = 0; r <= RUNS && !status; r++) {
        if (r == (h->alternates ? 2u : 1u)) {
            faults_before = faults();
            start = now();
            allocs = 0;
        }
        status = one_run(&c, h, r, &held[r], error);
        allocs += psc_context_counters(&c).system_allocs;
        psc_context_clear(&c);
        if (h->trims) {
            psc_depot_trim(exec);
            psc_depot_trim(io);
        }
    }
    double n = RUNS - h->alternates;
    *ret = (struct figures){(double)(faults() - faults_before) / n, (double)allocs / n, (now() - start) * 1e3 / n};
    for (unsigned r = 0; r <= RUNS; r++)
        psc_block_handle_reset(&held[r], NULL);
    psc_context_release(&c);
    psc_depot_unref(exec);
    psc_depot_unref(io);
    return status;
}

int main(void)
{
    int wrong = 0;
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    printf("%-28s %22s %22s %22s\n", "a run, after one warm-up", "page faults", "blocks of the heap", "ms");
    printf("%-28s %11s %10s %11s %10s %11s %10s\n", "", "none kept", "kept", "none kept", "kept", "none kept", "kept");
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        struct figures none, kept;
        struct psc_error error = {0};
        if (measure(&habits[i], false, &none, &error) || measure(&habits[i], true, &kept, &error)) {
            fprintf(stderr, "%s: %s\n", habits[i].name, error.text);
            return 1;
        }
        printf("%-28s %11.0f %10.0f %11.2f %10.2f %11.3f %10.3f\n", habits[i].name, none.faults, kept.faults, none.allocs,
               kept.allocs, none.ms, kept.ms);
        wrong += kept.allocs != habits[i].allocs_a_run;
    }
    return wrong != 0;
}
