#include "traces/chunk-file.h"

#include "core/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct block {
    struct block *next;
    size_t n;
    char bytes[];
};
struct psc_chunks {
    int fd;
    uint64_t at;              /* bytes put so far */
    pthread_t thread;
    pthread_mutex_t lock;     /* of all below */
    pthread_cond_t more, less; /* something waits; something was written */
    struct block *first, *last;
    size_t waiting;           /* bytes */
    bool closing;
    int failure;              /* errno of the first write that failed */
};

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t wrote = write(fd, bytes, n > (size_t)1 << 30 ? (size_t)1 << 30 : n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote ? errno : ENOSPC;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

static void *writer(void *ctx)
{
    struct psc_chunks *c = ctx;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->first && !c->closing)
            pthread_cond_wait(&c->more, &c->lock);
        struct block *block = c->first;
        if (!block)
            break;
        c->first = block->next;
        if (!c->first)
            c->last = NULL;
        bool skip = c->failure != 0;
        pthread_mutex_unlock(&c->lock);
        int failure = skip ? 0 : write_all(c->fd, block->bytes, block->n);
        pthread_mutex_lock(&c->lock);
        if (failure)
            c->failure = failure;
        c->waiting -= block->n;
        psc_free(block);
        pthread_cond_broadcast(&c->less);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static enum psc_status tell(int failure, struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_IO, "cannot be written: %s", strerror(failure));
}

static enum psc_status push(struct psc_chunks *c, struct block *block, struct psc_error *reterr)
{
    pthread_mutex_lock(&c->lock);
    while (c->waiting > PSC_CHUNKS_BACKLOG && !c->failure)
        pthread_cond_wait(&c->less, &c->lock);
    int failure = c->failure;
    if (!failure) {
        if (c->last)
            c->last->next = block;
        else
            c->first = block;
        c->last = block;
        c->waiting += block->n;
        c->at += block->n;
        pthread_cond_signal(&c->more);
    }
    pthread_mutex_unlock(&c->lock);
    if (!failure)
        return PSC_OK;
    psc_free(block);
    return tell(failure, reterr);
}

static struct block *new_block(size_t n)
{
    struct block *block = n <= SIZE_MAX - sizeof *block ? psc_alloc(sizeof *block + n) : NULL;
    if (block) {
        block->next = NULL;
        block->n = n;
    }
    return block;
}

static enum psc_status start(struct psc_chunks *c, struct psc_error *reterr)
{
    const uint32_t numbers[2] = {PSC_CHUNK_VERSION, PSC_CHUNK_ORDER};
    struct block *head = new_block(PSC_CHUNK_HEAD);
    if (!head)
        return psc_fail_nomem(reterr);
    memcpy(head->bytes, PSC_CHUNK_MAGIC, 8);
    memcpy(head->bytes + 8, numbers, 8);
    c->first = c->last = head;
    c->waiting = c->at = head->n;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    pthread_cond_init(&c->less, NULL);
    int failure = pthread_create(&c->thread, NULL, writer, c);
    if (!failure)
        return PSC_OK;
    pthread_cond_destroy(&c->less);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    psc_free(head);
    return psc_fail(reterr, PSC_ERR_IO, "no thread to write it could be started: %s", strerror(failure));
}

enum psc_status psc_chunks_open(const char *path, struct psc_chunks **ret, struct psc_error *reterr)
{
    struct psc_chunks *c = psc_alloc0(1, sizeof *c);
    if (!c)
        return psc_fail_nomem(reterr);
    c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    enum psc_status status = c->fd < 0 ? tell(errno, reterr) : start(c, reterr);
    if (status != PSC_OK) {
        if (c->fd >= 0)
            close(c->fd);
        psc_free(c);
        return status;
    }
    *ret = c;
    return PSC_OK;
}

enum psc_status psc_chunks_put(struct psc_chunks *c, const char *tag, const struct psc_chunk_part *parts, unsigned n,
                               uint64_t *ret_at, struct psc_error *reterr)
{
    uint64_t bytes = 0;
    const uint32_t zero = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += parts[i].n;
    size_t padded = (size_t)((bytes + 7) & ~(uint64_t)7);
    struct block *block = new_block(PSC_CHUNK_HEAD + padded);
    if (!block)
        return psc_fail_nomem(reterr);
    memcpy(block->bytes, tag, 4);
    memcpy(block->bytes + 4, &zero, 4);
    memcpy(block->bytes + 8, &bytes, 8);
    char *to = block->bytes + PSC_CHUNK_HEAD;
    memset(to + padded - (padded ? 8 : 0), 0, padded ? 8 : 0);
    for (unsigned i = 0; i < n; i++) {
        if (parts[i].n)
            memcpy(to, parts[i].bytes, parts[i].n);
        to += parts[i].n;
    }
    uint64_t at = c->at + PSC_CHUNK_HEAD; /* only this thread moves it */
    enum psc_status status = push(c, block, reterr);
    if (status == PSC_OK && ret_at)
        *ret_at = at;
    return status;
}

enum psc_status psc_chunks_close(struct psc_chunks *c, struct psc_error *reterr)
{
    enum psc_status status = psc_chunks_put(c, "DONE", NULL, 0, NULL, reterr);
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    if (close(c->fd) != 0 && !c->failure)
        c->failure = errno;
    if (c->failure)
        status = tell(c->failure, reterr);
    pthread_cond_destroy(&c->less);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    psc_free(c);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

bool psc_chunks_is_file(const char *s, size_t n)
{
    return n >= 8 && !memcmp(s, PSC_CHUNK_MAGIC, 8);
}

enum psc_status psc_chunks_check_head(const char *s, size_t n, struct psc_error *reterr)
{
    uint32_t numbers[2];
    if (n < PSC_CHUNK_HEAD)
        return psc_fail(reterr, PSC_ERR_PARSE, "the file ends at byte %zu, before its first part", n);
    memcpy(numbers, s + 8, 8);
    if (numbers[1] != PSC_CHUNK_ORDER)
        return psc_fail(reterr, PSC_ERR_PARSE, "its numbers have another byte order than this machine's");
    if (numbers[0] != PSC_CHUNK_VERSION)
        return psc_fail(reterr, PSC_ERR_PARSE, "version %u, this program reads %u", numbers[0], PSC_CHUNK_VERSION);
    return PSC_OK;
}

bool psc_chunks_next(const char *s, uint64_t n, uint64_t *at, struct psc_chunk *ret)
{
    uint64_t bytes;
    if (*at > n || n - *at < PSC_CHUNK_HEAD)
        return false;
    memcpy(&bytes, s + *at + 8, 8);
    if (bytes > n - *at - PSC_CHUNK_HEAD)
        return false;
    memcpy(ret->tag, s + *at, 4);
    ret->tag[4] = '\0';
    ret->at = *at + PSC_CHUNK_HEAD;
    ret->bytes = s + ret->at;
    ret->n = bytes;
    uint64_t padded = (bytes + 7) & ~UINT64_C(7);
    *at = padded > n - ret->at ? n : ret->at + padded;
    return true;
}
