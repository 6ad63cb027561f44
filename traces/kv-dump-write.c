#include "traces/kv-dump-private.h"

#include "core/graph/graph.h"
#include "traces/file-out.h"

#include <stdio.h>
#include <string.h>

#define PIECE_BYTES (1u << 20)

/* Takes n * size behind *at; false on overflow. */
static bool take(uint64_t *at, uint64_t n, uint64_t size)
{
    uint64_t bytes;
    return psc_mul_u64(n, size, &bytes) && psc_add_u64(*at, bytes, at) && *at < PSC_BYTES_MAX;
}

enum psc_status psc_pskv_lay_out(struct psc_pskv *p, struct psc_error *reterr)
{
    uint64_t at = PSC_PSKV_HEAD;
    bool fits = true;
    p->layers_at = at;
    fits = fits && take(&at, p->layer_n, 4);
    p->model_at = at;
    fits = fits && take(&at, p->model_n, 1);
    p->backend_at = at;
    fits = fits && take(&at, p->backend_n, 1);
    p->written_at = at;
    fits = fits && take(&at, p->flags & PSC_PSKV_WRITTEN ? ((uint64_t)p->rows + 7) / 8 : 0, 1);
    p->cells_at = at;
    fits = fits && take(&at, p->flags & PSC_PSKV_CELLS ? p->rows : 0, PSC_PSKV_CELL);
    p->runs_at = at;
    fits = fits && take(&at, p->run_n, PSC_PSKV_RUN);
    p->host_at = at;
    fits = fits && take(&at, p->host_n, 1);
    p->tables_end = at;
    p->payload_at = at = (at + 63) / 64 * 64;
    p->region_bytes = (uint64_t)p->rows * p->row_words * 4; /* 2^24 * 2^24 * 4 < 2^60 */
    fits = fits && take(&at, (uint64_t)p->layer_n * (p->flags & PSC_PSKV_V ? 2 : 1), p->region_bytes);
    p->payload_end = at;
    p->file_n = (at + 7) / 8 * 8 + 8;
    return fits ? PSC_OK : psc_fail(reterr, PSC_ERR_TOO_BIG, "a dump of %u layers of %u rows of %u words is larger than 2^60 "
                                    "bytes", p->layer_n, p->rows, p->row_words);
}

/* ---- .pskv --------------------------------------------------------------------------------------------- */

struct writer {
    struct psc_file_out out;
    uint64_t sum, at;
    uint8_t rest[8]; /* bytes that do not fill a word of the checksum yet */
    size_t rest_n;
};

static enum psc_status put(struct writer *w, const void *bytes, size_t n, struct psc_error *reterr)
{
    const uint8_t *from = bytes;
    size_t left = n;
    w->at += n;
    while (left && w->rest_n) {
        w->rest[w->rest_n++] = *from++;
        left--;
        if (w->rest_n == 8) {
            w->sum = psc_pskv_sum(w->sum, w->rest, 8);
            w->rest_n = 0;
        }
    }
    w->sum = psc_pskv_sum(w->sum, from, left / 8 * 8);
    from += left / 8 * 8;
    for (size_t i = 0; i < left % 8; i++)
        w->rest[w->rest_n++] = from[i];
    return n ? psc_file_out_add(&w->out, bytes, n, reterr) : PSC_OK;
}

static enum psc_status put_zeros(struct writer *w, uint64_t until, struct psc_error *reterr)
{
    static const uint8_t zeros[64];
    return put(w, zeros, (size_t)(until - w->at), reterr);
}

static struct psc_pskv shape_of(const struct psc_kv_image *image)
{
    struct psc_pskv p = {
        .layer_n = image->layer_n, .rows = image->rows, .width = image->width, .row_words = image->row_words,
        .model_n = image->model ? (uint32_t)strlen(image->model) : 0,
        .backend_n = image->backend ? (uint32_t)strlen(image->backend) : 0, .host_n = image->host_n,
    };
    p.flags = (image->cells ? PSC_PSKV_CELLS : 0) | (image->format == PSC_KV_F16 ? PSC_PSKV_F16 : 0) |
              (image->format == PSC_KV_Q8_0 ? PSC_PSKV_Q8_0 : 0) | (image->written ? PSC_PSKV_WRITTEN : 0) |
              (image->has_v ? PSC_PSKV_V : 0) | (image->runs ? PSC_PSKV_RUNS : 0) |
              (!image->has_v && image->only ? PSC_PSKV_ONLY_V : 0);
    for (uint32_t k = 0; image->runs && k < image->run_n; k++)
        p.run_n += image->runs[k].live;
    return p;
}

static enum psc_status put_head(struct writer *w, const struct psc_pskv *p, struct psc_error *reterr)
{
    uint8_t head[PSC_PSKV_HEAD] = {0};
    memcpy(head, PSC_PSKV_MAGIC, 8);
    psc_put_u32(head + 8, PSC_PSKV_VERSION);
    psc_put_u32(head + 12, p->flags);
    psc_put_u64(head + 16, p->file_n);
    psc_put_u32(head + 24, p->layer_n);
    psc_put_u32(head + 28, p->rows);
    psc_put_u32(head + 32, p->width);
    psc_put_u32(head + 36, p->row_words);
    psc_put_u32(head + 40, p->run_n);
    psc_put_u32(head + 44, p->model_n);
    psc_put_u32(head + 48, p->backend_n);
    psc_put_u64(head + 56, p->host_n);
    psc_put_u64(head + 64, p->payload_at);
    return put(w, head, sizeof head, reterr);
}

static enum psc_status put_cells(struct writer *w, const struct psc_kv_image *image, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t r = 0; image->cells && r < image->rows && !status; r++) {
        const struct psc_kv_cell *c = &image->cells[r];
        uint8_t cell[PSC_PSKV_CELL];
        psc_put_u64(cell, c->seqs);
        psc_put_u32(cell + 8, (uint32_t)c->position);
        psc_put_u32(cell + 12, (uint32_t)c->pending);
        psc_put_u32(cell + 16, (uint32_t)c->rotated);
        psc_put_u32(cell + 20, c->token);
        status = put(w, cell, sizeof cell, reterr);
    }
    return status;
}

static enum psc_status put_runs(struct writer *w, const struct psc_kv_image *image, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; image->runs && k < image->run_n && !status; k++) {
        const struct psc_kv_run *run = &image->runs[k];
        uint8_t bytes[PSC_PSKV_RUN];
        if (!run->live)
            continue;
        psc_put_u64(bytes, run->seq);
        psc_put_u32(bytes + 8, k);
        psc_put_u32(bytes + 12, run->start);
        psc_put_u32(bytes + 16, run->cap);
        psc_put_u32(bytes + 20, run->rows);
        psc_put_u32(bytes + 24, run->shared_cell);
        psc_put_u32(bytes + 28, run->shared_rows);
        status = put(w, bytes, sizeof bytes, reterr);
    }
    return status;
}

static enum psc_status put_tables(struct writer *w, const struct psc_kv_image *image, const struct psc_pskv *p,
                                  struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t at = 0; at < image->layer_n && !status; at++) {
        uint8_t layer[4];
        psc_put_u32(layer, (uint32_t)image->layer[at]);
        status = put(w, layer, sizeof layer, reterr);
    }
    if (!status)
        status = put(w, image->model, p->model_n, reterr);
    if (!status)
        status = put(w, image->backend, p->backend_n, reterr);
    if (!status && image->written)
        status = put(w, image->written, ((size_t)image->rows + 7) / 8, reterr);
    if (!status)
        status = put_cells(w, image, reterr);
    if (!status)
        status = put_runs(w, image, reterr);
    if (!status)
        status = put(w, image->host, (size_t)image->host_n, reterr);
    return status ? status : put_zeros(w, p->payload_at, reterr);
}

/* Calls each for every piece of a region, rows as they are stored. */
typedef enum psc_status (*piece_fn)(void *ctx, const uint8_t *rows, uint32_t row_n, struct psc_error *reterr);
static enum psc_status each_piece(const struct psc_kv_image *image, uint32_t at, unsigned slot, piece_fn each, void *ctx,
                                  struct psc_error *reterr)
{
    size_t bytes = (size_t)image->row_words * 4;
    uint32_t step = PIECE_BYTES / bytes ? (uint32_t)(PIECE_BYTES / bytes) : 1;
    uint8_t *rows = psc_alloc(step * bytes);
    enum psc_status status = rows ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t lo = 0; lo < image->rows && !status; lo += step) {
        uint32_t n = image->rows - lo < step ? image->rows - lo : step;
        status = image->read(image->ctx, at, slot, lo, lo + n, rows, reterr);
        if (!status)
            status = each(ctx, rows, n, reterr);
    }
    psc_free(rows);
    return status;
}

struct raw {
    struct writer *w;
    size_t row_bytes;
};

static enum psc_status put_raw(void *ctx, const uint8_t *rows, uint32_t row_n, struct psc_error *reterr)
{
    const struct raw *raw = ctx;
    return put(raw->w, rows, row_n * raw->row_bytes, reterr);
}

enum psc_status psc_kv_dump_write(const char *path, const struct psc_kv_image *image, struct psc_error *reterr)
{
    struct writer w = {.out = {.fd = -1}};
    struct psc_pskv p = shape_of(image);
    struct raw raw = {&w, (size_t)image->row_words * 4};
    uint8_t sum[8];
    enum psc_status status = psc_pskv_lay_out(&p, reterr);
    if (!status)
        status = psc_file_out_begin(&w.out, path, reterr);
    if (status)
        return status;
    status = put_head(&w, &p, reterr);
    if (!status)
        status = put_tables(&w, image, &p, reterr);
    for (uint32_t at = 0; at < image->layer_n && !status; at++)
        for (unsigned slot = 0; slot < (image->has_v ? 2u : 1u) && !status; slot++)
            status = each_piece(image, at, slot, put_raw, &raw, reterr);
    if (!status)
        status = put_zeros(&w, p.file_n - 8, reterr);
    psc_put_u64(sum, w.sum);
    if (!status)
        status = psc_file_out_add(&w.out, sum, sizeof sum, reterr);
    if (!status)
        return psc_file_out_commit(&w.out, reterr);
    psc_file_out_abort(&w.out);
    return status;
}

/* ---- minfer's files ------------------------------------------------------------------------------------- */

struct floats {
    struct psc_file_out *out;
    const struct psc_kv_image *image;
    float *row; /* owned by the caller, [width] */
};

static enum psc_status put_floats(void *ctx, const uint8_t *rows, uint32_t row_n, struct psc_error *reterr)
{
    const struct floats *f = ctx;
    enum psc_status status = PSC_OK;
    for (uint32_t r = 0; r < row_n && !status; r++) {
        psc_kv_row_decode(f->image->format, f->image->width, rows + (size_t)r * f->image->row_words * 4, f->row);
        status = psc_file_out_add(f->out, f->row, f->image->width * sizeof *f->row, reterr);
    }
    return status;
}

static enum psc_status write_region(const char *folder, const char *name, const struct psc_kv_image *image, uint32_t at,
                                    unsigned slot, struct psc_error *reterr)
{
    struct psc_text path = {0};
    struct psc_file_out out;
    struct floats f = {&out, image, psc_alloc(image->width * sizeof(float))};
    psc_text_addf(&path, "%s/%s", folder, name);
    enum psc_status status = path.failed || !f.row ? psc_fail_nomem(reterr) : psc_file_out_begin(&out, path.s, reterr);
    if (!status) {
        status = each_piece(image, at, slot, put_floats, &f, reterr);
        if (status)
            psc_file_out_abort(&out);
        else
            status = psc_file_out_commit(&out, reterr);
    }
    psc_text_release(&path);
    psc_free(f.row);
    return status;
}

enum psc_status psc_kv_dump_write_minfer(const char *folder, const char *tag, const struct psc_kv_image *image,
                                         struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    char name[96];
    for (uint32_t at = 0; at < image->layer_n && !status; at++)
        for (unsigned slot = 0; slot < (image->has_v ? 2u : 1u) && !status; slot++) {
            snprintf(name, sizeof name, "kv%d%c_%.60s.f32", image->layer[at], (image->has_v ? slot : image->only) ? 'v' : 'k', tag);
            status = write_region(folder, name, image, at, slot, reterr);
        }
    snprintf(name, sizeof name, "kv0_%.60s.f32", tag);
    return status || !image->layer_n || (!image->has_v && image->only) ? status : write_region(folder, name, image, 0, 0, reterr);
}
