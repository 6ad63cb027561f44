#include "traces/kv-dump-private.h"

#include "core/graph/graph.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYERS_MAX 65536u

enum psc_status psc_read_at(int fd, uint64_t at, void *to, uint64_t n, struct psc_error *reterr)
{
    uint8_t *into = to;
    while (n) {
        ssize_t got = pread(fd, into, n > (1u << 30) ? 1u << 30 : (size_t)n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return psc_fail(reterr, PSC_ERR_IO, "cannot be read: %s", strerror(errno));
        if (got == 0)
            return psc_fail(reterr, PSC_ERR_IO, "the file has changed: it ends at byte %llu", (unsigned long long)at);
        into += got;
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return PSC_OK;
}

enum psc_status psc_kv_part_read(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                                 struct psc_error *reterr)
{
    const struct psc_kv_dump *dump = ctx;
    const struct psc_kv_part *part = &dump->parts[2 * at + slot];
    uint64_t bytes = (uint64_t)dump->image.row_words * 4;
    return psc_read_at(part->fd, part->at + lo * bytes, to, (hi - lo) * bytes, reterr);
}

enum psc_status psc_kv_dump_add_file(struct psc_kv_dump *dump, const char *path, int *ret_fd, uint64_t *ret_n,
                                     struct psc_error *reterr)
{
    struct stat info;
    int fd;
    if (!psc_grow(&dump->fds, dump->fd_n + 1, &dump->fd_cap, sizeof *dump->fds))
        return psc_fail_nomem(reterr);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return psc_fail(reterr, PSC_ERR_IO, "cannot be opened: %s", strerror(why));
    }
    dump->fds[dump->fd_n++] = fd;
    if (!S_ISREG(info.st_mode))
        return psc_fail(reterr, PSC_ERR_IO, "is no regular file");
    *ret_fd = fd;
    *ret_n = (uint64_t)info.st_size;
    return PSC_OK;
}

/* ---- minfer's files ----------------------------------------------------------------------------------- */

/* One kv<L>k_<tag>.f32 of a folder. */
struct region_file {
    int32_t layer;
    unsigned slot;
    char *name; /* in the arena */
    const char *tag;
};
struct listing {
    struct region_file *files; /* owned */
    size_t n, cap;
};

/* "kv12v_decode.f32": layer 12, V, decode. "kv0_decode.f32": K of layer 0, older: false as *ret_old says. */
static bool parse_name(const char *name, struct region_file *ret, bool *ret_old)
{
    char *end;
    size_t n = strlen(name);
    if (strncmp(name, "kv", 2) || n < 8 || strcmp(name + n - 4, ".f32") || name[2] < '0' || name[2] > '9')
        return false;
    unsigned long layer = strtoul(name + 2, &end, 10);
    *ret_old = *end == '_';
    if (layer >= LAYERS_MAX || (*end != 'k' && *end != 'v' && !*ret_old) || (!*ret_old && end[1] != '_'))
        return false;
    ret->layer = (int32_t)layer;
    ret->slot = *end == 'v';
    ret->tag = end + 1 + !*ret_old;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct region_file *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return (int)x->slot - (int)y->slot;
}

/* Is it the tag asked for, or the only one so far? */
static bool same_tag(const char *tag, const char *want)
{
    size_t n = strlen(tag) - 4; /* ".f32" */
    return strlen(want) == n && !strncmp(tag, want, n);
}

/* Of several .pskv files the one that --kv-dump writes, else the first by name: folders have no order. */
static bool goes_before(const char *name, const char *other)
{
    return strcmp(other, "kv.pskv") && (!strcmp(name, "kv.pskv") || strcmp(name, other) < 0);
}

static enum psc_status list_folder(struct psc_kv_dump *dump, DIR *dir, const char *want, struct listing *list,
                                   char **ret_pskv, struct psc_error *reterr)
{
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct region_file file;
        bool old;
        size_t n = strlen(entry->d_name);
        char *name;
        if (n > 5 && !strcmp(entry->d_name + n - 5, ".pskv")) {
            if (*ret_pskv && !goes_before(entry->d_name, *ret_pskv))
                continue;
            if (!(*ret_pskv = psc_arena_strdup(&dump->arena, entry->d_name)))
                return psc_fail_nomem(reterr);
            continue;
        }
        if (!parse_name(entry->d_name, &file, &old) || old || (want && !same_tag(file.tag, want)))
            continue;
        name = psc_arena_strdup(&dump->arena, entry->d_name);
        if (!name || !psc_grow(&list->files, list->n + 1, &list->cap, sizeof *list->files))
            return psc_fail_nomem(reterr);
        parse_name(name, &file, &old);
        file.name = name;
        list->files[list->n++] = file;
    }
    if (list->n)
        qsort(list->files, list->n, sizeof *list->files, by_place);
    for (size_t i = 1; i < list->n && (want || !*ret_pskv); i++) /* a .pskv file goes before them */
        if (strcmp(list->files[i].tag, list->files[0].tag))
            return psc_fail(reterr, PSC_ERR_USAGE, "holds dumps of %.*s and of %.*s: name one of them as the tag",
                            (int)(strlen(list->files[0].tag) - 4), list->files[0].tag,
                            (int)(strlen(list->files[i].tag) - 4), list->files[i].tag);
    return PSC_OK;
}

/* Rows and width from the size of a region and what was said. name: "" or "kv0k_decode.f32: ". */
static enum psc_status set_shape(struct psc_kv_dump *dump, const char *name, uint64_t bytes,
                                 const struct psc_kv_dump_options *options, struct psc_error *reterr)
{
    struct psc_kv_image *image = &dump->image;
    uint64_t words = bytes / 4, known = options->width ? options->width : options->n_ctx, other;
    const char *what = options->width ? "width" : "n_ctx";
    if (bytes % 4 || !words)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s%llu bytes are no rows of floats", name, (unsigned long long)bytes);
    if (!known)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s%llu floats, without a header: say how wide a row is, or how many rows "
                        "there are (n_ctx)", name, (unsigned long long)words);
    other = words / known;
    if (words % known || (options->width && options->n_ctx && other != options->n_ctx))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s%llu floats do not make rows with %s %llu%s", name,
                        (unsigned long long)words, what, (unsigned long long)known,
                        options->width && options->n_ctx ? " and that n_ctx" : "");
    image->width = (uint32_t)(options->width ? known : other);
    image->rows = (uint32_t)(options->width ? other : known);
    if (image->width > PSC_KV_WIDTH_MAX || image->rows > PSC_KV_CELLS_MAX || !image->width || !image->rows)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "%s%llu rows of %llu floats are more than are read", name,
                        (unsigned long long)image->rows, (unsigned long long)image->width);
    image->row_words = image->width;
    image->format = PSC_KV_F32;
    return PSC_OK;
}

/* The image of the listed files: layers as they come, V where every layer has it. */
static enum psc_status take_files(struct psc_kv_dump *dump, const char *folder, const struct listing *list,
                                  const struct psc_kv_dump_options *options, struct psc_error *reterr)
{
    struct psc_kv_image *image = &dump->image;
    int32_t *layers = psc_arena_alloc0(&dump->arena, list->n, sizeof *layers);
    uint64_t bytes = 0, n;
    dump->parts = psc_arena_alloc(&dump->arena, 2 * list->n, sizeof *dump->parts);
    if (!layers || !dump->parts)
        return psc_fail_nomem(reterr);
    for (size_t i = 0; i < 2 * list->n; i++)
        dump->parts[i].fd = -1;
    image->has_v = true;
    for (size_t i = 0; i < list->n; i++) {
        const struct region_file *file = &list->files[i];
        struct psc_text path = {0};
        struct psc_kv_part part = {0};
        psc_text_addf(&path, "%s%s%s", folder, *folder ? "/" : "", file->name);
        enum psc_status status = path.failed ? psc_fail_nomem(reterr)
                                             : psc_kv_dump_add_file(dump, path.s, &part.fd, &n, reterr);
        psc_text_release(&path);
        if (!status && !bytes) {
            struct psc_text name = {0};
            if (*folder) /* who opened one file knows its name */
                psc_text_addf(&name, "%s: ", file->name);
            status = name.failed ? psc_fail_nomem(reterr) : set_shape(dump, psc_text_str(&name), n, options, reterr);
            psc_text_release(&name);
        }
        if (status)
            return status;
        bytes = bytes ? bytes : n;
        if (n != bytes)
            return psc_fail(reterr, PSC_ERR_PARSE, "%s has %llu bytes, %s has %llu: they are not of one dump", file->name,
                            (unsigned long long)n, list->files[0].name, (unsigned long long)bytes);
        if (!image->layer_n || layers[image->layer_n - 1] != file->layer)
            layers[image->layer_n++] = file->layer;
        dump->parts[2 * (image->layer_n - 1) + file->slot] = part;
    }
    for (uint32_t at = 0; at < image->layer_n; at++) {
        if (dump->parts[2 * at].fd < 0)
            return psc_fail(reterr, PSC_ERR_PARSE, "the dump has V of layer %d, but not K", layers[at]);
        image->has_v = image->has_v && dump->parts[2 * at + 1].fd >= 0;
    }
    image->layer = layers;
    dump->format = "minfer-kv";
    return PSC_OK;
}

static enum psc_status open_folder(struct psc_kv_dump *dump, const char *path, const struct psc_kv_dump_options *options,
                                   struct psc_error *reterr)
{
    struct listing list = {0};
    char *pskv = NULL;
    DIR *dir = opendir(path);
    enum psc_status status;
    if (!dir)
        return psc_fail(reterr, PSC_ERR_IO, "cannot be opened: %s", strerror(errno));
    status = list_folder(dump, dir, options->tag, &list, &pskv, reterr);
    closedir(dir);
    if (!status && pskv && !options->tag) {
        struct psc_text file = {0};
        int fd = -1;
        uint64_t n = 0;
        psc_text_addf(&file, "%s/%s", path, pskv);
        status = file.failed ? psc_fail_nomem(reterr) : psc_kv_dump_add_file(dump, file.s, &fd, &n, reterr);
        psc_text_release(&file);
        if (!status)
            status = psc_pskv_open(dump, fd, n, reterr);
    } else if (!status && !list.n) {
        status = psc_fail(reterr, PSC_ERR_PARSE, "holds no dump of a KV cache%s%s: kv0k_decode.f32, kv0v_decode.f32 ... or a "
                          ".pskv file", options->tag ? " with the tag " : "", options->tag ? options->tag : "");
    } else if (!status) {
        status = take_files(dump, path, &list, options, reterr);
    }
    psc_free(list.files);
    return status;
}

static enum psc_status open_file(struct psc_kv_dump *dump, const char *path, const struct psc_kv_dump_options *options,
                                 struct psc_error *reterr)
{
    const char *slash = strrchr(path, '/');
    char magic[8] = "";
    struct region_file file = {0};
    bool old;
    int fd = -1;
    uint64_t n = 0;
    if (options->tag)
        return psc_fail(reterr, PSC_ERR_USAGE, "is one file: a tag chooses among those of a folder");
    enum psc_status status = psc_kv_dump_add_file(dump, path, &fd, &n, reterr);
    if (status)
        return status;
    if (n >= sizeof magic)
        status = psc_read_at(fd, 0, magic, sizeof magic, reterr);
    if (status)
        return status;
    if (!memcmp(magic, PSC_PSKV_MAGIC, sizeof magic))
        return psc_pskv_open(dump, fd, n, reterr);
    file.name = psc_arena_strdup(&dump->arena, path);
    if (!file.name)
        return psc_fail_nomem(reterr);
    size_t length = strlen(path);
    if (length < 4 || strcmp(path + length - 4, ".f32"))
        return psc_fail(reterr, PSC_ERR_PARSE, "is no dump of a KV cache: a .pskv file begins with PSCKV, a dumped region is "
                        "called .f32");
    if (!parse_name(slash ? slash + 1 : path, &file, &old))
        file.layer = 0;
    dump->image.only = file.slot; /* the only region there is */
    file.slot = 0;
    struct listing list = {.files = &file, .n = 1};
    return take_files(dump, "", &list, options, reterr);
}

/* A head knows better than what was said. */
static enum psc_status is_as_said(const struct psc_kv_image *image, const struct psc_kv_dump_options *options,
                                  struct psc_error *reterr)
{
    if (options->width && options->width != image->width)
        return psc_fail(reterr, PSC_ERR_USAGE, "its rows have %u values, not %u", image->width, options->width);
    if (options->n_ctx && options->n_ctx != image->rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "it has %u rows (n_ctx), not %u", image->rows, options->n_ctx);
    return PSC_OK;
}

enum psc_status psc_kv_dump_open(const char *path, const struct psc_kv_dump_options *options, struct psc_kv_dump **ret,
                                 struct psc_error *reterr)
{
    static const struct psc_kv_dump_options none;
    struct psc_kv_dump *dump = psc_alloc0(1, sizeof *dump);
    struct stat info;
    enum psc_status status;
    if (!dump)
        return psc_fail_nomem(reterr);
    dump->image.read = psc_kv_part_read;
    dump->image.ctx = dump;
    options = options ? options : &none;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        status = open_folder(dump, path, options, reterr);
    else
        status = open_file(dump, path, options, reterr);
    if (!status)
        status = is_as_said(&dump->image, options, reterr);
    if (status) {
        psc_kv_dump_free(dump);
        return status;
    }
    *ret = dump;
    return PSC_OK;
}

void psc_kv_dump_free(struct psc_kv_dump *dump)
{
    if (!dump)
        return;
    for (size_t i = 0; i < dump->fd_n; i++)
        close(dump->fds[i]);
    psc_free(dump->fds);
    psc_arena_release(&dump->arena);
    psc_free(dump);
}

const struct psc_kv_image *psc_kv_dump_image(const struct psc_kv_dump *dump)
{
    return &dump->image;
}

const char *psc_kv_dump_format(const struct psc_kv_dump *dump)
{
    return dump->format;
}
