/* Verifying a .pskv file, and putting it back into a cache. */
#include "traces/kv-dump-private.h"

#include "core/graph/graph.h"

#include <string.h>

#define PIECE_BYTES (1u << 20)
#define TABLES_MAX (UINT64_C(1) << 30)

static enum psc_status read_head(int fd, uint64_t n, struct psc_pskv *ret, struct psc_error *reterr)
{
    uint8_t head[PSC_PSKV_HEAD];
    struct psc_pskv p = {0};
    uint32_t words = 0;
    enum psc_status status = PSC_OK;
    if (n < sizeof head)
        return psc_fail(reterr, PSC_ERR_PARSE, "truncated: %llu bytes, the head alone has %u", (unsigned long long)n,
                        PSC_PSKV_HEAD);
    status = psc_read_at(fd, 0, head, sizeof head, reterr);
    if (status)
        return status;
    if (psc_get_u32(head + 8) != PSC_PSKV_VERSION)
        return psc_fail(reterr, PSC_ERR_PARSE, "version %u, this program reads %u", psc_get_u32(head + 8), PSC_PSKV_VERSION);
    p.flags = psc_get_u32(head + 12);
    p.layer_n = psc_get_u32(head + 24);
    p.rows = psc_get_u32(head + 28);
    p.width = psc_get_u32(head + 32);
    p.row_words = psc_get_u32(head + 36);
    p.run_n = psc_get_u32(head + 40);
    p.model_n = psc_get_u32(head + 44);
    p.backend_n = psc_get_u32(head + 48);
    p.host_n = psc_get_u64(head + 56);
    if (p.flags & ~127u || (p.flags & PSC_PSKV_F16 && p.flags & PSC_PSKV_Q8_0))
        return psc_fail(reterr, PSC_ERR_PARSE, "flags 0x%x are not known", p.flags);
    if (!p.layer_n || p.layer_n > 65536 || !p.rows || p.rows > PSC_KV_CELLS_MAX || p.run_n > PSC_KV_SEQS_MAX)
        return psc_fail(reterr, PSC_ERR_PARSE, "a cache of %u layers, %u rows and %u sequences is not possible", p.layer_n,
                        p.rows, p.run_n);
    status = psc_kv_row_words(p.flags & PSC_PSKV_F16 ? PSC_KV_F16 : p.flags & PSC_PSKV_Q8_0 ? PSC_KV_Q8_0 : PSC_KV_F32, p.width,
                              &words, reterr);
    if (!status && words != p.row_words)
        status = psc_fail(reterr, PSC_ERR_PARSE, "rows of %u values have %u words, the head says %u", p.width, words,
                          p.row_words);
    if (!status)
        status = psc_pskv_lay_out(&p, reterr);
    if (status)
        return status;
    if (p.file_n != n || psc_get_u64(head + 16) != n || psc_get_u64(head + 64) != p.payload_at)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s: %llu bytes, by its head it has %llu", n < p.file_n ? "truncated" : "too long",
                        (unsigned long long)n, (unsigned long long)p.file_n);
    if (p.payload_at > TABLES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "tables of %llu bytes are more than are read", (unsigned long long)p.payload_at);
    *ret = p;
    return PSC_OK;
}

static enum psc_status check_sum(int fd, uint64_t n, struct psc_error *reterr)
{
    uint8_t *piece = psc_alloc(PIECE_BYTES), told[8];
    uint64_t sum = 0, at = 0;
    enum psc_status status = piece ? PSC_OK : psc_fail_nomem(reterr);
    while (at < n - 8 && !status) {
        uint64_t part = n - 8 - at < PIECE_BYTES ? n - 8 - at : PIECE_BYTES;
        status = psc_read_at(fd, at, piece, part, reterr);
        if (!status)
            sum = psc_pskv_sum(sum, piece, (size_t)part);
        at += part;
    }
    if (!status)
        status = psc_read_at(fd, n - 8, told, sizeof told, reterr);
    if (!status && psc_get_u64(told) != sum)
        status = psc_fail(reterr, PSC_ERR_PARSE, "the checksum is 0x%016llx, the bytes make 0x%016llx: the file is damaged",
                          (unsigned long long)psc_get_u64(told), (unsigned long long)sum);
    psc_free(piece);
    return status;
}

static enum psc_status take_cells(struct psc_kv_dump *dump, const struct psc_pskv *p, const uint8_t *tables,
                                  struct psc_error *reterr)
{
    struct psc_kv_cell *cells = psc_arena_alloc0(&dump->arena, p->rows, sizeof *cells);
    if (!cells)
        return psc_fail_nomem(reterr);
    for (uint32_t r = 0; r < p->rows; r++) {
        const uint8_t *c = tables + p->cells_at + (uint64_t)r * PSC_PSKV_CELL;
        cells[r] = (struct psc_kv_cell){
            .seqs = psc_get_u64(c), .position = (int32_t)psc_get_u32(c + 8), .pending = (int32_t)psc_get_u32(c + 12),
            .rotated = (int32_t)psc_get_u32(c + 16), .token = psc_get_u32(c + 20),
            .written = psc_kv_image_is_written(&dump->image, r),
        };
        if (cells[r].position > PSC_KV_POSITION_MAX || cells[r].position < -PSC_KV_POSITION_MAX ||
            cells[r].pending > PSC_KV_POSITION_MAX || cells[r].pending < -PSC_KV_POSITION_MAX ||
            cells[r].rotated > PSC_KV_POSITION_MAX || cells[r].rotated < -PSC_KV_POSITION_MAX)
            return psc_fail(reterr, PSC_ERR_PARSE, "cell %u: a position or rotation beyond 2^30", r);
    }
    dump->image.cells = cells;
    return PSC_OK;
}

static enum psc_status take_runs(struct psc_kv_dump *dump, const struct psc_pskv *p, const uint8_t *tables,
                                 struct psc_error *reterr)
{
    struct psc_kv_run *runs = psc_arena_alloc0(&dump->arena, PSC_KV_SEQS_MAX, sizeof *runs);
    if (!runs)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < p->run_n; k++) {
        const uint8_t *c = tables + p->runs_at + k * PSC_PSKV_RUN;
        uint32_t place = psc_get_u32(c + 8);
        if (place >= PSC_KV_SEQS_MAX || runs[place].live)
            return psc_fail(reterr, PSC_ERR_PARSE, "sequence %u of the table has place %u, which %s", k, place,
                            place >= PSC_KV_SEQS_MAX ? "does not exist" : "another has");
        runs[place] = (struct psc_kv_run){
            .seq = psc_get_u64(c), .live = true, .start = psc_get_u32(c + 12), .cap = psc_get_u32(c + 16),
            .rows = psc_get_u32(c + 20), .shared_cell = psc_get_u32(c + 24), .shared_rows = psc_get_u32(c + 28),
        };
        if (runs[place].start > p->rows || runs[place].cap > p->rows - runs[place].start ||
            runs[place].rows > runs[place].cap || runs[place].shared_cell > p->rows ||
            runs[place].shared_rows > p->rows - runs[place].shared_cell)
            return psc_fail(reterr, PSC_ERR_PARSE, "the run of sequence %llu does not lie inside the cache",
                            (unsigned long long)runs[place].seq);
    }
    dump->image.runs = runs;
    dump->image.run_n = PSC_KV_SEQS_MAX;
    return PSC_OK;
}

static enum psc_status take_tables(struct psc_kv_dump *dump, const struct psc_pskv *p, const uint8_t *tables,
                                   struct psc_error *reterr)
{
    struct psc_kv_image *image = &dump->image;
    int32_t *layers = psc_arena_alloc(&dump->arena, p->layer_n, sizeof *layers);
    enum psc_status status = PSC_OK;
    image->model = p->model_n ? psc_arena_strndup(&dump->arena, (const char *)tables + p->model_at, p->model_n) : NULL;
    image->backend = p->backend_n ? psc_arena_strndup(&dump->arena, (const char *)tables + p->backend_at, p->backend_n) : NULL;
    if (!layers || (p->model_n && !image->model) || (p->backend_n && !image->backend))
        return psc_fail_nomem(reterr);
    for (uint32_t at = 0; at < p->layer_n; at++) {
        layers[at] = (int32_t)psc_get_u32(tables + p->layers_at + 4 * (uint64_t)at);
        if (at && layers[at] <= layers[at - 1])
            return psc_fail(reterr, PSC_ERR_PARSE, "layer %d stands behind layer %d", layers[at], layers[at - 1]);
    }
    image->layer = layers;
    image->written = p->flags & PSC_PSKV_WRITTEN ? tables + p->written_at : NULL;
    image->host = p->host_n ? tables + p->host_at : NULL;
    image->host_n = p->host_n;
    if (p->flags & PSC_PSKV_CELLS)
        status = take_cells(dump, p, tables, reterr);
    if (!status && p->flags & PSC_PSKV_RUNS)
        status = take_runs(dump, p, tables, reterr);
    return status;
}

enum psc_status psc_pskv_open(struct psc_kv_dump *dump, int fd, uint64_t n, struct psc_error *reterr)
{
    struct psc_pskv p = {0};
    struct psc_kv_image *image = &dump->image;
    uint8_t *tables;
    enum psc_status status = read_head(fd, n, &p, reterr);
    if (!status)
        status = check_sum(fd, n, reterr);
    if (status)
        return status;
    tables = psc_arena_alloc(&dump->arena, (size_t)p.payload_at, 1);
    dump->parts = psc_arena_alloc(&dump->arena, 2 * (size_t)p.layer_n, sizeof *dump->parts);
    if (!tables || !dump->parts)
        return psc_fail_nomem(reterr);
    status = psc_read_at(fd, 0, tables, p.payload_at, reterr);
    image->layer_n = p.layer_n;
    image->has_v = p.flags & PSC_PSKV_V;
    image->only = !image->has_v && p.flags & PSC_PSKV_ONLY_V;
    image->rows = p.rows;
    image->width = p.width;
    image->row_words = p.row_words;
    image->format = p.flags & PSC_PSKV_F16 ? PSC_KV_F16 : p.flags & PSC_PSKV_Q8_0 ? PSC_KV_Q8_0 : PSC_KV_F32;
    if (!status)
        status = take_tables(dump, &p, tables, reterr);
    for (uint32_t i = 0; i < 2 * p.layer_n; i++)
        dump->parts[i] = image->has_v ? (struct psc_kv_part){fd, p.payload_at + i * p.region_bytes}
                         : i % 2 ? (struct psc_kv_part){-1, 0}
                                 : (struct psc_kv_part){fd, p.payload_at + i / 2 * p.region_bytes};
    dump->format = "planscope-kv";
    return status;
}

/* ---- loading a session ----------------------------------------------------------------------------------- */

static enum psc_status compare(const struct psc_kv_image *has, const struct psc_kv_image *wants, struct psc_error *reterr)
{
    if (has->backend && wants->backend && strcmp(has->backend, wants->backend))
        return psc_fail(reterr, PSC_ERR_USAGE, "it was saved on %s, the session is on %s", has->backend, wants->backend);
    if (has->rows != wants->rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "it has n_ctx %u, the session %u", has->rows, wants->rows);
    if (has->format != wants->format)
        return psc_fail(reterr, PSC_ERR_USAGE, "its rows are %s, the session's %s", psc_kv_format_name(has->format),
                        psc_kv_format_name(wants->format));
    if (has->width != wants->width)
        return psc_fail(reterr, PSC_ERR_USAGE, "its rows have %u values, the session's %u", has->width, wants->width);
    if (has->layer_n != wants->layer_n || memcmp(has->layer, wants->layer, has->layer_n * sizeof *has->layer))
        return psc_fail(reterr, PSC_ERR_USAGE, "it has %u layers, the session %u or other ones", has->layer_n,
                        wants->layer_n);
    if (!has->has_v || !has->cells || !has->runs)
        return psc_fail(reterr, PSC_ERR_USAGE, "the file is a dump, not a session: it has no %s", !has->has_v ? "V rows"
                        : !has->cells ? "cells" : "sequences");
    return PSC_OK;
}

static enum psc_status write_rows(const struct psc_kv_image *image, const struct psc_kv_target *target, uint32_t at,
                                  unsigned slot, struct psc_error *reterr)
{
    size_t bytes = (size_t)image->row_words * 4;
    uint32_t step = PIECE_BYTES / bytes ? (uint32_t)(PIECE_BYTES / bytes) : 1;
    uint8_t *rows = psc_alloc(step * bytes);
    enum psc_status status = rows ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t lo = 0; lo < image->rows && !status; lo += step) {
        uint32_t hi = image->rows - lo < step ? image->rows : lo + step;
        status = image->read(image->ctx, at, slot, lo, hi, rows, reterr);
        if (!status)
            status = target->write(target->ctx, at, slot, lo, hi, rows, reterr);
    }
    psc_free(rows);
    return status;
}

enum psc_status psc_kv_dump_load(const struct psc_kv_dump *dump, const struct psc_kv_target *target,
                                 struct psc_error *reterr)
{
    const struct psc_kv_image *image = &dump->image;
    enum psc_status status = compare(image, target->shape, reterr);
    if (!status)
        status = psc_kv_runs_adopt(target->runs, image->runs, image->cells, reterr);
    if (status)
        return status;
    for (uint32_t at = 0; at < image->layer_n && !status; at++)
        for (unsigned slot = 0; slot < 2 && !status; slot++)
            status = write_rows(image, target, at, slot, reterr);
    if (status)
        psc_kv_runs_clear(target->runs);
    return status;
}
