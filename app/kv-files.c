#include "app/kv-files.h"

#include "traces/kv-dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct source {
    struct psc_session *session;
    const int32_t *layers;
};

static enum psc_status read_cb(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                               struct psc_error *reterr)
{
    const struct source *s = ctx;
    return psc_session_read_rows(s->session, s->layers[at], slot, lo, hi, to, reterr);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The layers that the current graph keeps rows of, each once. */
static enum psc_status layers_of(const struct psc_graph *graph, struct psc_arena *arena, int32_t **ret, uint32_t *ret_n,
                                 struct psc_error *reterr)
{
    int32_t *list = psc_arena_alloc(arena, graph ? graph->n : 0, sizeof *list);
    uint32_t n = 0, kept = 0;
    if (!list)
        return psc_fail_nomem(reterr);
    for (psc_node i = 0; graph && i < graph->n; i++)
        if (psc_op_info(graph->nodes[i].op)->is_kv || psc_op_info(graph->nodes[i].op)->stores_kv)
            list[n++] = graph->nodes[i].layer;
    if (n)
        qsort(list, n, sizeof *list, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    *ret = list;
    *ret_n = kept;
    return PSC_OK;
}

/* What a session of one model looks like as an image. */
static struct psc_kv_image shape_of(const struct psc_kv_info *info, const char *model, const char *backend, const int32_t *layers,
                                    uint32_t layer_n)
{
    return (struct psc_kv_image){
        .model = model, .backend = backend, .layer_n = layer_n, .layer = layers, .has_v = true, .rows = info->rows,
        .width = (uint32_t)info->width, .row_words = (uint32_t)(info->row_bytes / 4), .format = info->format, .read = read_cb,
    };
}

/* Generated, and not in the cache yet: it would have been the next to be fed. */
static bool is_pending(const struct psc_run_result *a)
{
    return a->token_n && psc_kv_runs_length(&a->kv, 0) + 1 == (uint64_t)a->loaded_rows + a->prefill_tokens + a->token_n;
}

static uint8_t *written_bits(struct psc_arena *arena, const struct psc_kv_cells *cells)
{
    uint8_t *bits = psc_arena_alloc0(arena, (size_t)cells->n / 8 + 1, 1);
    for (uint32_t c = 0; bits && c < cells->n; c++)
        bits[c / 8] |= (uint8_t)(cells->cell[c].written << c % 8);
    return bits;
}

static enum psc_status write_files(const struct psc_run_result *result, const struct psc_kv_image *image,
                                   const char *folder, struct psc_error *reterr)
{
    struct psc_text path = {0};
    enum psc_status status;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return psc_fail(reterr, PSC_ERR_IO, "cannot be made: %s", strerror(errno));
    psc_text_addf(&path, "%s/kv.pskv", folder);
    status = path.failed ? psc_fail_nomem(reterr) : psc_kv_dump_write(path.s, image, reterr);
    psc_text_release(&path);
    return status ? status : psc_kv_dump_write_minfer(folder, result->decode_seconds > 0 ? "decode" : "prefill", image, reterr);
}

enum psc_status app_write_kv(const struct psc_run_result *result, const char *model, const char *backend, const char *folder,
                             struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_kv_info info = {0};
    int32_t *layers = NULL;
    uint32_t layer_n = 0;
    enum psc_status status = PSC_OK;
    if (result->session) {
        psc_session_kv(result->session, &info);
        status = layers_of(psc_session_graph(result->session), &arena, &layers, &layer_n, reterr);
    }
    if (!status && (!info.layers || !layer_n))
        status = psc_fail(reterr, PSC_ERR_USAGE, "this run kept no K and V rows: there is nothing to dump");
    if (!status) {
        struct source source = {result->session, layers};
        struct psc_kv_image image = shape_of(&info, model, backend, layers, layer_n);
        uint8_t next[4];
        image.ctx = &source;
        if (result->kv.cells.n == info.rows) { /* a model's: a graph's rows are its own affair */
            image.cells = result->kv.cells.cell;
            image.runs = result->kv.run;
            image.run_n = PSC_KV_SEQS_MAX;
            image.written = written_bits(&arena, &result->kv.cells);
            if (!image.written)
                status = psc_fail_nomem(reterr);
            for (unsigned i = 0; is_pending(result) && i < 4; i++)
                next[i] = (uint8_t)((uint32_t)result->tokens[result->token_n - 1] >> 8 * i);
            image.host = is_pending(result) ? next : NULL;
            image.host_n = is_pending(result) ? sizeof next : 0;
        }
        if (!status)
            status = write_files(result, &image, folder, reterr);
    }
    psc_arena_release(&arena);
    return status;
}

/* ---- loading ---------------------------------------------------------------------------------- */

bool app_kv_next_token(const struct psc_kv_dump *dump, int32_t *ret)
{
    const struct psc_kv_image *image = psc_kv_dump_image(dump);
    const uint8_t *bytes = image->host;
    if (image->host_n != 4)
        return false;
    *ret = (int32_t)(bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
    return true;
}

static enum psc_status write_cb(void *ctx, uint32_t at, unsigned slot, uint32_t lo, uint32_t hi, const void *from,
                                struct psc_error *reterr)
{
    const struct source *s = ctx;
    return psc_session_write_rows(s->session, s->layers[at], slot, lo, hi, from, reterr);
}

enum psc_status app_load_kv(const struct psc_kv_dump *dump, struct psc_session *session, struct psc_kv_runs *kv,
                            const char *backend, struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_kv_info info = {0};
    int32_t *layers = NULL;
    uint32_t layer_n = 0;
    psc_session_kv(session, &info);
    enum psc_status status = layers_of(psc_session_graph(session), &arena, &layers, &layer_n, reterr);
    if (!status && !layer_n)
        status = psc_fail(reterr, PSC_ERR_USAGE, "this run keeps no K and V rows: there is nothing to load into");
    if (!status) {
        struct source source = {session, layers};
        struct psc_kv_image shape = shape_of(&info, NULL, backend, layers, layer_n);
        struct psc_kv_target target = {.shape = &shape, .runs = kv, .write = write_cb, .ctx = &source};
        status = psc_kv_dump_load(dump, &target, reterr);
    }
    psc_arena_release(&arena);
    return status;
}
