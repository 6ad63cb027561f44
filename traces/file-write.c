#include "traces/file-out.h"

#include "traces/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum psc_status fail_write(struct psc_error *err)
{
    return psc_fail(err, PSC_ERR_IO, "cannot be written: %s", strerror(errno));
}

enum psc_status psc_file_out_begin(struct psc_file_out *out, const char *path, struct psc_error *reterr)
{
    struct stat info;
    bool replaces = stat(path, &info) == 0;
    bool in_place = replaces && !S_ISREG(info.st_mode);
    *out = (struct psc_file_out){.fd = -1};
    psc_text_add(&out->path, path);
    if (!in_place)
        psc_text_addf(&out->temporary, "%s.%ld.tmp", path, (long)getpid());
    if (out->path.failed || out->temporary.failed) {
        psc_file_out_abort(out);
        return psc_fail_nomem(reterr);
    }
    out->fd = open(in_place ? path : out->temporary.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0) {
        enum psc_status status = fail_write(reterr);
        psc_file_out_abort(out);
        return status;
    }
    out->open = true;
    if (replaces && !in_place) /* a file that is replaced keeps who may read it, if we may say so */
        (void)!fchmod(out->fd, info.st_mode & 07777);
    return PSC_OK;
}

enum psc_status psc_file_out_add(struct psc_file_out *out, const void *bytes, size_t n,
                                 struct psc_error *reterr)
{
    const char *at = bytes;
    while (n) {
        ssize_t wrote = write(out->fd, at, n > (1u << 30) ? 1u << 30 : n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return fail_write(reterr);
        at += wrote;
        n -= (size_t)wrote;
    }
    return PSC_OK;
}

enum psc_status psc_file_out_commit(struct psc_file_out *out, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    bool in_place = !out->temporary.n;
    if (!in_place && fsync(out->fd) != 0)
        status = fail_write(reterr);
    out->open = false;
    if (close(out->fd) != 0 && status == PSC_OK)
        status = fail_write(reterr);
    if (status == PSC_OK && !in_place && rename(out->temporary.s, out->path.s) != 0)
        status = fail_write(reterr);
    if (status != PSC_OK && !in_place)
        unlink(out->temporary.s);
    psc_text_clear(&out->temporary); /* it is in its place, or gone */
    psc_file_out_abort(out);
    return status;
}

void psc_file_out_abort(struct psc_file_out *out)
{
    if (out->open) {
        close(out->fd);
        if (out->temporary.n)
            unlink(out->temporary.s);
    }
    psc_text_release(&out->path);
    psc_text_release(&out->temporary);
    *out = (struct psc_file_out){.fd = -1};
}

enum psc_status psc_file_write(const char *path, const char *bytes, size_t n, struct psc_error *reterr)
{
    struct psc_file_out out;
    enum psc_status status = psc_file_out_begin(&out, path, reterr);
    if (status != PSC_OK)
        return status;
    status = psc_file_out_add(&out, bytes, n, reterr);
    if (status == PSC_OK)
        return psc_file_out_commit(&out, reterr);
    psc_file_out_abort(&out);
    return status;
}
