#define _DEFAULT_SOURCE /* madvise */
#include "traces/source.h"

#include "core/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Passed pages are let go in pieces of this size. */
#define DROP_PIECE ((size_t)8 << 20)

/* Writers that set a file's size first and are killed leave zero bytes at its end. */
static size_t without_zeros(const char *s, size_t n)
{
    while (n && !s[n - 1])
        n--;
    return n;
}

enum psc_status psc_source_map_whole(struct psc_source *source, const char *path, struct psc_error *reterr)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* nobody waits for who may write into a pipe */
    if (fd < 0 || fstat(fd, &info) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return psc_fail(reterr, PSC_ERR_IO, "cannot be opened: %s", strerror(why));
    }
    enum psc_status status = PSC_OK;
    void *at = MAP_FAILED;
    if (S_ISDIR(info.st_mode))
        status = psc_fail(reterr, PSC_ERR_IO, "is a folder, not a file");
    else if (!S_ISREG(info.st_mode))
        status = psc_fail(reterr, PSC_ERR_IO, "is not a regular file");
    else if (info.st_size == 0)
        status = psc_fail(reterr, PSC_ERR_PARSE, "file is empty (0 bytes)");
    else if ((uint64_t)info.st_size > SIZE_MAX / 2)
        status = psc_fail(reterr, PSC_ERR_TOO_BIG, "file is too big to be mapped");
    else
        at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (status == PSC_OK && at == MAP_FAILED)
        status = psc_fail(reterr, PSC_ERR_IO, "cannot be mapped: %s", strerror(errno));
    if (status != PSC_OK) {
        close(fd);
        return status;
    }
    *source = (struct psc_source){.s = at,
                                  .n = (size_t)info.st_size,
                                  .file_n = (size_t)info.st_size,
                                  .mapped = true,
                                  .fd = fd,
                                  .changed_s = info.st_mtim.tv_sec,
                                  .changed_ns = info.st_mtim.tv_nsec};
    return PSC_OK;
}

enum psc_status psc_source_map(struct psc_source *source, const char *path, struct psc_error *reterr)
{
    enum psc_status status = psc_source_map_whole(source, path, reterr);
    if (status == PSC_OK)
        source->n = without_zeros(source->s, source->n);
    return status;
}

void psc_source_release(struct psc_source *source)
{
    if (source->mapped) {
        munmap((void *)(uintptr_t)source->s, source->file_n);
        close(source->fd);
    }
    memset(source, 0, sizeof *source);
}

enum psc_status psc_source_check(const struct psc_source *source, struct psc_error *reterr)
{
    struct stat info;
    if (!source->mapped)
        return PSC_OK;
    if (fstat(source->fd, &info) == 0 && (uint64_t)info.st_size == source->file_n &&
        info.st_mtim.tv_sec == source->changed_s && info.st_mtim.tv_nsec == source->changed_ns)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_IO, "the file was changed after it was opened: open it again");
}

enum psc_status psc_source_piece(const struct psc_source *source, uint64_t at, uint64_t n,
                                 struct psc_piece *ret, struct psc_error *reterr)
{
    struct psc_piece piece = {{source->s + at, (size_t)n}, NULL};
    enum psc_status status = psc_source_check(source, reterr);
    if (status == PSC_OK && source->mapped && n < 2 * DROP_PIECE) {
        piece.copy = psc_alloc((size_t)n);
        if (!piece.copy)
            return psc_fail_nomem(reterr);
        for (size_t got = 0; got < n && status == PSC_OK;) {
            ssize_t more = pread(source->fd, piece.copy + got, (size_t)n - got, (off_t)(at + got));
            if (more > 0)
                got += (size_t)more;
            else if (more == 0 || errno != EINTR)
                status = psc_fail(reterr, PSC_ERR_IO, "the file cannot be read at byte %llu: %s",
                                  (unsigned long long)(at + got), more ? strerror(errno) : "it ends there");
        }
        if (status == PSC_OK) /* a change while reading is one too */
            status = psc_source_check(source, reterr);
        piece.text.s = piece.copy;
    }
    if (status == PSC_OK)
        *ret = piece;
    else
        psc_free(piece.copy);
    return status;
}

void psc_piece_release(struct psc_piece *piece)
{
    psc_free(piece->copy);
    memset(piece, 0, sizeof *piece);
}

void psc_source_drop(struct psc_source *source, size_t done)
{
    if (!source->mapped || done < source->kept + DROP_PIECE)
        return;
    size_t end = done & ~(DROP_PIECE - 1); /* a multiple of any page size; the map begins on a page */
    madvise((void *)(uintptr_t)(source->s + source->kept), end - source->kept, MADV_DONTNEED);
    source->kept = end;
}

/* Decodes v into out (NULL: counts), letting pages go on the way. */
static size_t decode_long(const struct psc_source *source, struct psc_slice v, char *out)
{
    size_t at = 0, n = v.n - 2, length = 0, begin = (size_t)(v.s + 1 - source->s);
    while (at < n) {
        size_t from = (begin + at + DROP_PIECE - 1) & ~(DROP_PIECE - 1);
        length += psc_string_decode(v.s + 1, n, &at, DROP_PIECE, out ? out + length : NULL);
        size_t to = (begin + at) & ~(DROP_PIECE - 1);
        if (from >= DROP_PIECE && to >= from) /* the piece before this one is done too */
            madvise((void *)(uintptr_t)(source->s + from - DROP_PIECE), to - from + DROP_PIECE,
                    MADV_DONTNEED);
    }
    return length;
}

const char *psc_source_string(const struct psc_source *source, struct psc_arena *arena, struct psc_slice v,
                              bool *ret_nomem)
{
    if (!source->mapped || v.n < 2 * DROP_PIECE || !psc_slice_is_string(v))
        return psc_slice_string(arena, v, ret_nomem);
    size_t length = decode_long(source, v, NULL);
    char *text = psc_arena_alloc(arena, length + 1, 1);
    if (!text) {
        *ret_nomem = true;
        return NULL;
    }
    decode_long(source, v, text);
    text[length] = '\0';
    return text;
}
