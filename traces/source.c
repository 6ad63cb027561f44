#define _DEFAULT_SOURCE /* madvise */
#include "traces/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Passed pages are let go in pieces of this size. */
#define DROP_PIECE ((size_t)8 << 20)

enum psc_status psc_source_map(struct psc_source *source, const char *path, struct psc_error *reterr)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
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
    close(fd);
    if (status == PSC_OK)
        *source = (struct psc_source){.s = at, .n = (size_t)info.st_size, .mapped = true};
    return status;
}

void psc_source_release(struct psc_source *source)
{
    if (source->mapped)
        munmap((void *)(uintptr_t)source->s, source->n);
    memset(source, 0, sizeof *source);
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
