#include "app/cli/out.h"

#include "app/cli/input.h"
#include "app/cli/words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_stdout(const struct cli_out *out)
{
    return !out->file.open;
}

static double between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) * 1e-9;
}

static void tell(struct cli_out *out)
{
    struct timespec now;
    struct psc_text path = {0};
    char size[32];
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (between(&out->began, &now) < 1 || between(&out->told, &now) < 0.2)
        return;
    out->told = now;
    out->shown = true;
    cli_add_safe(&path, out->path);
    fprintf(stderr, "\r\033[Kwriting %s: %s", psc_text_str(&path), psc_bytes_text(out->bytes, size, sizeof size));
    fflush(stderr);
    psc_text_release(&path);
}

enum cli_exit cli_out_begin(struct cli_out *out, const char *path)
{
    struct psc_error error = {.byte = UINT64_MAX};
    *out = (struct cli_out){.path = path, .why = {.byte = UINT64_MAX}};
    if (!strcmp(path, "-")) {
        out->path = "stdout";
        out->file.fd = STDOUT_FILENO;
        return CLI_CLEAN;
    }
    out->tells = isatty(STDERR_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &out->began);
    return psc_file_out_begin(&out->file, path, &error) ? cli_complain(path, &error) : CLI_CLEAN;
}

bool cli_out_add(void *ctx, const char *bytes, size_t n)
{
    struct cli_out *out = ctx;
    out->bytes += n;
    if (out->tells)
        tell(out);
    return psc_file_out_add(&out->file, bytes, n, &out->why) == PSC_OK;
}

enum cli_exit cli_out_end(struct cli_out *out, enum psc_status status, const struct psc_error *error)
{
    struct psc_error failure = {.byte = UINT64_MAX};
    if (status)
        failure = out->why.status ? out->why : *error;
    else if (!is_stdout(out))
        status = psc_file_out_commit(&out->file, &failure);
    psc_file_out_abort(&out->file);
    if (out->shown)
        fputs("\r\033[K", stderr);
    return status ? cli_complain(out->path, &failure) : CLI_CLEAN;
}
