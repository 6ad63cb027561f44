#include "traces/gguf-file.h"

#include "core/base/mem.h"
#include "traces/source.h"

#include <string.h>

struct part {
    struct psc_source source;
    char *path; /* in the arena */
};
struct psc_gguf_file {
    struct psc_arena arena;
    struct part *parts;      /* in the arena, part_n of them */
    struct psc_gguf *parsed; /* in the arena, one a part */
    uint32_t part_n;
    struct psc_gguf model;
};

#define ENDING     "-%05u-of-%05u.gguf"
#define ENDING_MAX 64

/* The path of part i, from that of another; NULL when that one's name does not end as a part's should. */
static char *sibling(struct psc_arena *arena, const char *path, uint32_t no, uint32_t count, uint32_t i,
                     bool *ret_nomem)
{
    struct psc_text ending = {0}, name = {0};
    char *result = NULL;
    size_t n = strlen(path);
    psc_text_addf(&ending, ENDING, no + 1, count);
    *ret_nomem = ending.failed;
    if (!ending.failed && n >= ending.n && !strcmp(path + n - ending.n, ending.s)) {
        psc_text_add_n(&name, path, n - ending.n);
        psc_text_addf(&name, ENDING, i + 1, count);
        result = name.failed ? NULL : psc_arena_strdup(arena, name.s);
        *ret_nomem = !result;
    }
    psc_text_release(&ending);
    psc_text_release(&name);
    return result;
}

static enum psc_status open_part(struct psc_gguf_file *file, uint32_t i, const char *path,
                                 struct psc_error *err)
{
    struct part *part = &file->parts[i];
    part->path = psc_arena_strdup(&file->arena, path);
    if (!part->path)
        return psc_fail_nomem(err);
    enum psc_status status = psc_source_map_whole(&part->source, path, err);
    if (status != PSC_OK)
        return status;
    return psc_gguf_parse(&file->arena, part->source.s, part->source.n, &file->parsed[i], err);
}

static bool make_room(struct psc_gguf_file *file, uint32_t n)
{
    file->parts = psc_arena_alloc0(&file->arena, n, sizeof *file->parts);
    file->parsed = psc_arena_alloc0(&file->arena, n, sizeof *file->parsed);
    file->part_n = file->parts && file->parsed ? n : 0;
    return file->part_n != 0;
}

/* The first part opened is `no` of `count`: makes room for all, and opens the others. */
static enum psc_status open_others(struct psc_gguf_file *file, uint32_t no, uint32_t count,
                                   struct psc_error *err)
{
    struct part part = file->parts[0];
    struct psc_gguf parsed = file->parsed[0];
    struct psc_error why;
    bool nomem;
    if (!make_room(file, count)) {
        psc_source_release(&part.source);
        return psc_fail_nomem(err);
    }
    file->parts[no] = part;
    file->parsed[no] = parsed;
    for (uint32_t i = 0; i < count; i++) {
        if (i == no)
            continue;
        char *path = sibling(&file->arena, part.path, no, count, i, &nomem);
        if (nomem)
            return psc_fail_nomem(err);
        if (!path)
            return psc_fail(err, PSC_ERR_PARSE,
                            "is part %u of the %u parts of a model; the others are looked for beside it, but "
                            "its name does not end in " ENDING,
                            no + 1, count, no + 1, count);
        enum psc_status status = open_part(file, i, path, &why);
        if (status == PSC_ERR_NOMEM)
            return psc_fail_nomem(err);
        if (status != PSC_OK) {
            const char *slash = strrchr(path, '/');
            return psc_fail(err, status, "is part %u of the %u parts of a model; part %u, '%.200s', %s%s",
                            no + 1, count, i + 1, slash ? slash + 1 : path,
                            status == PSC_ERR_IO ? "" : "does not fit: ", why.text);
        }
    }
    return PSC_OK;
}

enum psc_status psc_gguf_open(const char *path, struct psc_gguf_file **ret, struct psc_error *reterr)
{
    uint32_t no = 0, count = 1;
    struct psc_gguf_file *file = psc_alloc0(1, sizeof *file);
    if (!file || !make_room(file, 1)) {
        psc_gguf_close(file);
        return psc_fail_nomem(reterr);
    }
    enum psc_status status = open_part(file, 0, path, reterr);
    if (status == PSC_OK)
        status = psc_gguf_split(&file->parsed[0], &no, &count, reterr);
    if (status == PSC_OK && count > 1)
        status = open_others(file, no, count, reterr);
    if (status == PSC_OK)
        status = psc_gguf_join(&file->arena, file->parsed, file->part_n, &file->model, reterr);
    if (status == PSC_OK)
        *ret = file;
    else
        psc_gguf_close(file);
    return status;
}

void psc_gguf_close(struct psc_gguf_file *file)
{
    if (!file)
        return;
    for (uint32_t i = 0; i < file->part_n; i++)
        psc_source_release(&file->parts[i].source);
    psc_arena_release(&file->arena);
    psc_free(file);
}

const struct psc_gguf *psc_gguf_file_model(const struct psc_gguf_file *file)
{
    return &file->model;
}

enum psc_status psc_gguf_file_check(const struct psc_gguf_file *file, struct psc_error *reterr)
{
    for (uint32_t i = 0; i < file->part_n; i++) {
        enum psc_status status = psc_source_check(&file->parts[i].source, reterr);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

uint32_t psc_gguf_file_part_n(const struct psc_gguf_file *file)
{
    return file->part_n;
}

const char *psc_gguf_file_part(const struct psc_gguf_file *file, uint32_t part)
{
    return part < file->part_n ? file->parts[part].path : NULL;
}
