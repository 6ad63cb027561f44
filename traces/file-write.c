#include "core/base/mem.h"
#include "traces/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t wrote = write(fd, bytes, n > (1u << 30) ? 1u << 30 : n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

enum psc_status psc_file_write(const char *path, const char *bytes, size_t n, struct psc_error *reterr)
{
    struct stat info;
    struct psc_text temporary = {0};
    enum psc_status status = PSC_OK;
    int fd = -1;
    bool replaces = stat(path, &info) == 0;
    if (replaces && !S_ISREG(info.st_mode)) { /* /dev/stdout, a pipe: nothing to rename over */
        FILE *f = fopen(path, "wb");
        bool ok = f && fwrite(bytes, 1, n, f) == n;
        ok = f && fclose(f) == 0 && ok;
        return ok ? PSC_OK : psc_fail(reterr, PSC_ERR_IO, "cannot be written: %s", strerror(errno));
    }
    psc_text_addf(&temporary, "%s.%ld.tmp", path, (long)getpid());
    if (temporary.failed) {
        psc_text_release(&temporary);
        return psc_fail_nomem(reterr);
    }
    fd = open(temporary.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && replaces) /* a file that is replaced keeps who may read it, if we may say so */
        (void)!fchmod(fd, info.st_mode & 07777);
    if (fd < 0 || !write_all(fd, bytes, n) || fsync(fd) != 0)
        status = psc_fail(reterr, PSC_ERR_IO, "cannot be written: %s", strerror(errno));
    if (fd >= 0 && close(fd) != 0 && status == PSC_OK)
        status = psc_fail(reterr, PSC_ERR_IO, "cannot be written: %s", strerror(errno));
    if (status == PSC_OK && rename(temporary.s, path) != 0)
        status = psc_fail(reterr, PSC_ERR_IO, "cannot be written: %s", strerror(errno));
    if (status != PSC_OK && fd >= 0)
        unlink(temporary.s);
    psc_text_release(&temporary);
    return status;
}
