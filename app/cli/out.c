#include "app/cli/out.h"

#include "app/cli/input.h"
#include "app/cli/progress.h"

#include <string.h>
#include <unistd.h>

static bool is_stdout(const struct cli_out *out)
{
    return !out->file.open;
}

enum cli_exit cli_out_begin(struct cli_out *out, const char *path)
{
    struct psc_error error = {.byte = UINT64_MAX};
    bool to_stdout = !strcmp(path, "-");
    *out = (struct cli_out){.path = to_stdout ? "stdout" : path, .why = {.byte = UINT64_MAX}};
    cli_progress("writing %s", out->path);
    if (to_stdout) {
        cli_progress_streams();
        out->file.fd = STDOUT_FILENO;
        return CLI_CLEAN;
    }
    return psc_file_out_begin(&out->file, path, &error) ? cli_complain(path, &error) : CLI_CLEAN;
}

bool cli_out_add(void *ctx, const char *bytes, size_t n)
{
    struct cli_out *out = ctx;
    out->bytes += n;
    cli_progress_bytes(out->bytes);
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
    cli_progress_end();
    return status ? cli_complain(out->path, &failure) : CLI_CLEAN;
}
