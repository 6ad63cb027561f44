#include "app/cli/progress.h"

#include "app/cli/words.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum form { SECONDS, PERCENT, COUNT, BYTES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct {
    enum { UNKNOWN, TELLS, SILENT } mode;
    char stage[256]; /* empty: nothing is at work */
    struct timespec quiet_since, stage_since;
    enum form form;
    uint64_t done, total;
    const char *unit;
    bool shown; /* a line of it stands there */
} now;

static double since(const struct timespec *from)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - from->tv_sec) + (double)(t.tv_nsec - from->tv_nsec) * 1e-9;
}

static void clear(void)
{
    if (now.shown)
        fputs("\r\033[K", stderr);
    now.shown = false;
}

static void tell(void)
{
    char size[32], a[32], b[32];
    fprintf(stderr, "\r\033[K%s: ", now.stage);
    switch (now.form) {
    case SECONDS: fprintf(stderr, "%.0f s", since(&now.stage_since)); break;
    case PERCENT: fprintf(stderr, "%.0f %%", now.total ? (double)now.done / (double)now.total * 100 : 0.0); break;
    case BYTES: fputs(psc_bytes_text(now.done, size, sizeof size), stderr); break;
    case COUNT:
        fprintf(stderr, "%s of %s %s", psc_thousands(now.done, a, sizeof a), psc_thousands(now.total, b, sizeof b), now.unit);
        break;
    }
    fflush(stderr);
    now.shown = true;
}

static void *teller(void *arg)
{
    (void)arg;
    for (;;) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        pthread_mutex_lock(&lock);
        if (*now.stage && since(&now.quiet_since) >= 1)
            tell();
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Signals stay with the thread that works: it is to wake up from what it waits for. */
static bool start(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&thread, NULL, teller, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started && !pthread_detach(thread);
}

void cli_progress(const char *fmt, ...)
{
    char text[sizeof now.stage];
    struct psc_text safe = {0};
    va_list ap;
    if (now.mode == UNKNOWN)
        now.mode = isatty(STDERR_FILENO) && start() ? TELLS : SILENT;
    if (now.mode == SILENT)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cli_add_safe(&safe, text);
    pthread_mutex_lock(&lock);
    if (!*now.stage)
        clock_gettime(CLOCK_MONOTONIC, &now.quiet_since);
    clock_gettime(CLOCK_MONOTONIC, &now.stage_since);
    snprintf(now.stage, sizeof now.stage, "%s", psc_text_str(&safe));
    now.form = SECONDS;
    pthread_mutex_unlock(&lock);
    psc_text_release(&safe);
}

static void set(enum form form, uint64_t done, uint64_t total, const char *unit)
{
    if (now.mode != TELLS)
        return;
    pthread_mutex_lock(&lock);
    now.form = form;
    now.done = done;
    now.total = total;
    now.unit = unit;
    pthread_mutex_unlock(&lock);
}

void cli_progress_part(uint64_t done, uint64_t total)
{
    set(PERCENT, done, total, NULL);
}

void cli_progress_count(uint64_t done, uint64_t total, const char *unit)
{
    set(COUNT, done, total, unit);
}

void cli_progress_bytes(uint64_t done)
{
    set(BYTES, done, 0, NULL);
}

bool cli_progress_cb(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    cli_progress_part(done, total);
    return true;
}

void cli_progress_end(void)
{
    pthread_mutex_lock(&lock);
    now.stage[0] = '\0';
    clear();
    pthread_mutex_unlock(&lock);
}

void cli_progress_streams(void)
{
    if (!isatty(STDOUT_FILENO))
        return;
    cli_progress_end();
    now.mode = SILENT;
}
