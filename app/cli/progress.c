#include "app/cli/progress.h"

#include "app/cli/words.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 1024 /* bytes; one that cannot be shown is written as up to four */

enum form { SECONDS, PERCENT, COUNT, BYTES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct {
    enum { UNKNOWN, TELLS, SILENT } mode;
    char stage[4 * TEXT_MAX]; /* empty: nothing is at work */
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

/* Columns that the letter beginning with this byte takes, counted rather too high. */
static size_t columns_of(char byte)
{
    unsigned char c = (unsigned char)byte;
    return (c & 0xc0) == 0x80 ? 0 : c >= 0xe0 ? 2 : 1;
}

/* How the stage fits into so many columns: "writing /home/some...where/x.json". Returns what stands behind the dots, NULL where
 * there are none, and how many bytes before. */
static const char *cut(size_t room, int *ret_before)
{
    const char *head = now.stage, *tail = now.stage;
    size_t left = 0, taken = 0;
    for (const char *p = now.stage; *p; p++)
        left += columns_of(*p);
    *ret_before = (int)strlen(now.stage);
    if (left <= room)
        return NULL;
    room = room > 3 ? room - 3 : 0;
    while (taken + columns_of(*head) <= room / 2)
        taken += columns_of(*head++);
    while (left > room - taken)
        left -= columns_of(*tail++);
    while (!columns_of(*tail)) /* the rest of a letter */
        tail++;
    *ret_before = (int)(head - now.stage);
    return tail;
}

/* Of a line that wraps only the last row could be taken back: it is kept within the terminal. */
static void tell(void)
{
    char size[32], a[32], b[32], figure[96];
    struct winsize terminal;
    int before;
    switch (now.form) {
    case SECONDS: snprintf(figure, sizeof figure, "%.0f s", since(&now.stage_since)); break;
    case PERCENT: snprintf(figure, sizeof figure, "%.0f %%", now.total ? (double)now.done / (double)now.total * 100 : 0.0); break;
    case BYTES: snprintf(figure, sizeof figure, "%s", psc_bytes_text(now.done, size, sizeof size)); break;
    case COUNT:
        snprintf(figure, sizeof figure, "%s of %s %s", psc_thousands(now.done, a, sizeof a), psc_thousands(now.total, b, sizeof b), now.unit);
        break;
    }
    size_t columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &terminal) || !terminal.ws_col ? SIZE_MAX : terminal.ws_col;
    size_t taken = strlen(figure) + sizeof ": ";
    const char *behind = cut(columns > taken ? columns - taken : 0, &before);
    fprintf(stderr, "\r\033[K%.*s%s%s: %s", before, now.stage, behind ? "..." : "", behind ? behind : "", figure);
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

static bool tells(void)
{
    pthread_mutex_lock(&lock);
    if (now.mode == UNKNOWN)
        now.mode = isatty(STDERR_FILENO) && start() ? TELLS : SILENT;
    bool it_does = now.mode == TELLS;
    pthread_mutex_unlock(&lock);
    return it_does;
}

void cli_progress(const char *fmt, ...)
{
    char text[TEXT_MAX];
    struct psc_text safe = {0};
    va_list ap;
    if (!tells())
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
    pthread_mutex_lock(&lock);
    now.form = form; /* of a stage that is told, if any is */
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
    pthread_mutex_lock(&lock);
    now.mode = SILENT;
    pthread_mutex_unlock(&lock);
}
