/* Contents files (run --contents) read back: where the bytes of each node of each step lie. */
#include "traces/traces.h"

#include "core/base/mem.h"
#include "traces/chunk-file.h"
#include "traces/events-format.h"
#include "traces/index.h"
#include "traces/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct content { uint32_t phase, step; uint64_t id, at, n; };
struct psc_contents_in {
    struct psc_source source;
    struct psc_arena arena;
    struct content *list; /* heap, by (phase, step, id) */
    size_t n, cap;
    const char *model;
    enum psc_capture capture;
};

static int by_place(const void *x, const void *y)
{
    const struct content *a = x, *b = y;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static enum psc_status take_head(struct psc_contents_in *in, const struct psc_chunk *c, struct psc_error *reterr)
{
    struct psc_slice text = {c->bytes, (size_t)c->n}, format, capture;
    bool nomem = false;
    enum psc_status status = psc_events_check_json(text, "the head of the file", reterr);
    if (status)
        return status;
    format = psc_slice_find(text, "format");
    if (format.n != 20 || memcmp(format.s, "\"planscope-contents\"", 20))
        return psc_fail(reterr, PSC_ERR_PARSE, "this is no file of contents, as run --contents writes them");
    capture = psc_slice_find(text, "capture");
    if (capture.n == 7 && !memcmp(capture.s, "\"split\"", 7))
        in->capture = PSC_CAPTURE_SPLIT;
    in->model = psc_slice_string(&in->arena, psc_slice_find(text, "model"), &nomem);
    return nomem ? psc_fail_nomem(reterr) : PSC_OK;
}

static enum psc_status take_content(struct psc_contents_in *in, const struct psc_chunk *c, struct psc_error *reterr)
{
    struct psc_ev_content head;
    if (c->n < sizeof head)
        return psc_fail(reterr, PSC_ERR_PARSE, "a chunk of contents (byte %" PRIu64 ") is shorter than its head", c->at);
    memcpy(&head, c->bytes, sizeof head);
    if (head.bytes > c->n - sizeof head)
        return psc_fail(reterr, PSC_ERR_PARSE, "a chunk of contents (byte %" PRIu64 ") says that it holds more bytes than it does", c->at);
    if (!psc_grow(&in->list, in->n + 1, &in->cap, sizeof *in->list))
        return psc_fail_nomem(reterr);
    in->list[in->n++] = (struct content){head.phase, head.step, head.id, c->at + sizeof head, head.bytes};
    return PSC_OK;
}

static enum psc_status take_all(struct psc_contents_in *in, struct psc_error *reterr)
{
    uint64_t at = PSC_CHUNK_HEAD;
    struct psc_chunk c;
    bool headed = false;
    enum psc_status status = psc_source_check(&in->source, reterr);
    if (!status && !psc_chunks_is_file(in->source.s, in->source.n))
        status = psc_fail(reterr, PSC_ERR_PARSE, "this is no file of contents, as run --contents writes them");
    if (!status)
        status = psc_chunks_check_head(in->source.s, in->source.n, reterr);
    while (!status && psc_chunks_next(in->source.s, in->source.n, &at, &c)) {
        if (!strcmp(c.tag, "HEAD") && !headed)
            status = take_head(in, &c, reterr);
        else if (!strcmp(c.tag, "CONT") && headed)
            status = take_content(in, &c, reterr);
        headed = true;
    }
    if (!status && in->n)
        qsort(in->list, in->n, sizeof *in->list, by_place);
    return status;
}

enum psc_status psc_contents_read(const char *path, struct psc_contents_in **ret, struct psc_error *reterr)
{
    struct psc_contents_in *in = psc_alloc0(1, sizeof *in);
    if (!in)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_source_map_whole(&in->source, path, reterr);
    if (!status)
        status = take_all(in, reterr);
    if (status)
        psc_contents_close(in);
    else
        *ret = in;
    return status;
}

void psc_contents_close(struct psc_contents_in *in)
{
    if (!in)
        return;
    psc_source_release(&in->source);
    psc_arena_release(&in->arena);
    psc_free(in->list);
    psc_free(in);
}

bool psc_contents_file_is(const char *path)
{
    struct psc_contents_in *in = NULL;
    struct psc_source source;
    if (psc_source_map_whole(&source, path, NULL))
        return false;
    bool is = psc_chunks_is_file(source.s, source.n);
    psc_source_release(&source);
    if (is)
        is = !psc_contents_read(path, &in, NULL);
    psc_contents_close(in);
    return is;
}

static const struct content *find(const struct psc_contents_in *in, uint32_t phase, uint32_t step, uint64_t id)
{
    struct content key = {.phase = phase, .step = step, .id = id};
    return in->n ? bsearch(&key, in->list, in->n, sizeof key, by_place) : NULL;
}

static bool size_of(const void *ctx, uint32_t phase, uint32_t step, uint64_t id, uint64_t *ret)
{
    const struct content *c = find(ctx, phase, step, id);
    if (c)
        *ret = c->n;
    return c != NULL;
}

static bool read_part(const void *ctx, uint32_t phase, uint32_t step, uint64_t id, uint64_t offset, uint64_t n, void *to)
{
    const struct psc_contents_in *in = ctx;
    const struct content *c = find(in, phase, step, id);
    struct psc_piece piece;
    if (!c || offset > c->n || n > c->n - offset || psc_source_piece(&in->source, c->at + offset, n, &piece, NULL))
        return false;
    memcpy(to, piece.text.s, (size_t)n);
    psc_piece_release(&piece);
    return true;
}

struct psc_contents psc_contents_of(const struct psc_contents_in *in, uint32_t phase, uint32_t step)
{
    return (struct psc_contents){.phase = phase, .step = step, .capture = in->capture, .size = size_of, .read = read_part, .ctx = in};
}

enum psc_status psc_contents_fit(const struct psc_contents_in *in, const char *model, struct psc_error *reterr)
{
    if (!in->model || !*in->model || !model || !*model || !strcmp(in->model, model))
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_USAGE, "these are contents of %.80s, the document is of %.80s", in->model, model);
}
