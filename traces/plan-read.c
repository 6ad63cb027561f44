#include "traces/plan-json.h"

#include "traces/index.h"
#include "traces/probe.h"
#include "traces/source.h"

#include <inttypes.h>
#include <string.h>

/* A buffer's id: a string, or a number as it is spelled. */
static const char *read_id(struct psc_arena *arena, struct psc_slice v, bool *nomem)
{
    if (psc_slice_is_string(v))
        return psc_slice_string(arena, v, nomem);
    if (!psc_slice_is_number(v))
        return NULL;
    const char *text = psc_arena_strndup(arena, v.s, v.n);
    if (!text)
        *nomem = true;
    return text;
}

static enum psc_status wrong(struct psc_error *reterr, const char *list, size_t at, const char *field,
                             const char *want, struct psc_slice got)
{
    bool shown = psc_slice_is_number(got) && got.n < 40;
    const char *text = shown ? got.s : psc_slice_kind(got);
    return psc_fail(reterr, PSC_ERR_PARSE, "%s[%zu].%s must be %s, not %.*s", list, at, field, want,
                    shown ? (int)got.n : (int)strlen(text), text);
}

static enum psc_status read_place(struct psc_arena *arena, struct psc_slice v, size_t at,
                                  struct psc_foreign_place *ret, struct psc_error *reterr)
{
    bool nomem = false;
    struct psc_slice offset = psc_slice_find(v, "offset"), node = psc_slice_find(v, "node"),
                     buffer = psc_slice_find(v, "buffer");
    if (!psc_slice_u64(node, &ret->node_id))
        return wrong(reterr, "placements", at, "node", "a node id", node);
    ret->offset = 0;
    if (!psc_slice_is_null(offset) && !psc_slice_u64(offset, &ret->offset))
        return wrong(reterr, "placements", at, "offset", "a whole number of bytes", offset);
    ret->buffer = read_id(arena, buffer, &nomem);
    if (nomem)
        return psc_fail_nomem(reterr);
    return ret->buffer ? PSC_OK : wrong(reterr, "placements", at, "buffer", "a buffer's id", buffer);
}

static enum psc_status read_buffer(struct psc_arena *arena, struct psc_slice v, size_t at,
                                   struct psc_foreign_buffer *ret, struct psc_error *reterr)
{
    bool nomem = false;
    struct psc_slice id = psc_slice_find(v, "id"), bytes = psc_slice_find(v, "bytes");
    ret->id = read_id(arena, id, &nomem);
    ret->backend = psc_slice_string(arena, psc_slice_find(v, "backend"), &nomem);
    ret->name = psc_slice_string(arena, psc_slice_find(v, "name"), &nomem);
    ret->bytes = UINT64_MAX;
    if (nomem)
        return psc_fail_nomem(reterr);
    if (!ret->id)
        return wrong(reterr, "buffers", at, "id", "a string or a number", id);
    if (!psc_slice_is_null(bytes) && !psc_slice_u64(bytes, &ret->bytes))
        return wrong(reterr, "buffers", at, "bytes", "a whole number of bytes", bytes);
    return PSC_OK;
}

static enum psc_status read_places(struct psc_arena *arena, struct psc_slice list,
                                   struct psc_foreign *foreign, struct psc_error *reterr)
{
    if (!psc_slice_is_array(list))
        return psc_fail(reterr, PSC_ERR_PARSE,
                        "a plan needs \"placements\", a list of {\"node\", \"buffer\", \"offset\"}, not %s",
                        psc_slice_kind(list));
    struct psc_cursor c = psc_cursor_open(list);
    size_t n = psc_cursor_count(c);
    if (n > PSC_NODES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the plan has %zu placements, at most %u fit", n,
                        PSC_NODES_MAX);
    struct psc_foreign_place *places = psc_arena_alloc0(arena, n ? n : 1, sizeof *places);
    if (!places)
        return psc_fail_nomem(reterr);
    struct psc_slice v;
    enum psc_status status = PSC_OK;
    for (; status == PSC_OK && foreign->place_n < n && psc_cursor_element(&c, &v); foreign->place_n++)
        status = read_place(arena, v, foreign->place_n, &places[foreign->place_n], reterr);
    foreign->places = places;
    return status;
}

static enum psc_status read_buffers(struct psc_arena *arena, struct psc_slice list,
                                    struct psc_foreign *foreign, struct psc_error *reterr)
{
    struct psc_cursor c = psc_cursor_open(list);
    size_t n = psc_slice_is_array(list) ? psc_cursor_count(c) : 0;
    if (!psc_slice_is_array(list) && !psc_slice_is_null(list))
        return psc_fail(reterr, PSC_ERR_PARSE, "\"buffers\" must be a list, not %s", psc_slice_kind(list));
    if (n > PSC_NODES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the plan has %zu buffers, at most %u fit", n,
                        PSC_NODES_MAX);
    struct psc_foreign_buffer *buffers = psc_arena_alloc0(arena, n ? n : 1, sizeof *buffers);
    if (!buffers)
        return psc_fail_nomem(reterr);
    struct psc_slice v;
    enum psc_status status = PSC_OK;
    for (; status == PSC_OK && foreign->buffer_n < n && psc_cursor_element(&c, &v); foreign->buffer_n++)
        status = read_buffer(arena, v, foreign->buffer_n, &buffers[foreign->buffer_n], reterr);
    foreign->buffers = buffers;
    return status;
}

static enum psc_status read_header(struct psc_arena *arena, struct psc_slice text,
                                   struct psc_foreign *foreign, struct psc_error *reterr)
{
    bool nomem = false;
    uint64_t number;
    struct psc_slice version = psc_slice_find(text, "version");
    const char *format = psc_slice_string(arena, psc_slice_find(text, "format"), &nomem);
    const char *executor = psc_slice_string(arena, psc_slice_find(text, "executor"), &nomem);
    struct psc_slice options = psc_slice_find(text, "options");
    const char *order = NULL;
    if (psc_slice_is_object(options))
        order = psc_slice_string(arena, psc_slice_find(options, "order"), &nomem);
    if (nomem)
        return psc_fail_nomem(reterr);
    if (format && strcmp(format, "planscope-plan") != 0)
        return psc_fail(reterr, PSC_ERR_PARSE, "format is \"%s\", a plan's is \"planscope-plan\"", format);
    if (psc_slice_u64(version, &number) && number != 1)
        return psc_fail(reterr, PSC_ERR_PARSE, "version %" PRIu64 ", this program reads 1", number);
    if (executor && strcmp(executor, "serial") != 0 && strcmp(executor, "level") != 0)
        return psc_fail(reterr, PSC_ERR_PARSE, "executor is \"%s\", it must be \"serial\" or \"level\"",
                        executor);
    foreign->executor = executor && strcmp(executor, "level") == 0 ? PSC_EXEC_LEVEL : PSC_EXEC_SERIAL;
    if (order)
        psc_order_parse(order, &foreign->order); /* another engine's word for an order stays unknown */
    foreign->rerun = psc_slice_is_true(psc_slice_find(text, "rerun"));
    return PSC_OK;
}

enum psc_status psc_plan_read_slice(struct psc_arena *arena, struct psc_slice text, struct psc_foreign *ret,
                                    struct psc_error *reterr)
{
    struct psc_foreign foreign = {0};
    if (!psc_slice_is_object(text))
        return psc_fail(reterr, PSC_ERR_PARSE, "a plan must be an object, not %s", psc_slice_kind(text));
    enum psc_status status = read_header(arena, text, &foreign, reterr);
    if (status == PSC_OK)
        status = read_places(arena, psc_slice_find(text, "placements"), &foreign, reterr);
    if (status == PSC_OK)
        status = read_buffers(arena, psc_slice_find(text, "buffers"), &foreign, reterr);
    if (status == PSC_OK)
        *ret = foreign;
    return status;
}

/* The whole text is one well-formed object? */
static enum psc_status check_text(const char *bytes, size_t n, struct psc_slice *ret,
                                  struct psc_error *reterr)
{
    struct psc_index ix;
    enum psc_found found;
    psc_index_init(&ix, bytes, n);
    do
        found = psc_index_next(&ix, SIZE_MAX);
    while (found != PSC_FOUND_END && found != PSC_FOUND_CUT && found != PSC_FOUND_ERROR &&
           found != PSC_FOUND_PAUSE);
    if (found == PSC_FOUND_ERROR) {
        if (reterr)
            *reterr = ix.error;
        return ix.error.status;
    }
    if (found != PSC_FOUND_END)
        return psc_fail_at(reterr, PSC_ERR_PARSE, 0, 0, n, "truncated at byte %zu", n);
    size_t from = 0;
    while (bytes[from] != '{')
        from++;
    *ret = (struct psc_slice){bytes + from, ix.scan.at - from};
    return PSC_OK;
}

static enum psc_status name_the_file(const char *name, enum psc_status status, struct psc_error *reterr)
{
    if (status == PSC_OK || status == PSC_ERR_NOMEM || !reterr)
        return status;
    struct psc_error err = *reterr;
    return psc_fail_at(reterr, status, err.line, err.column, err.byte, "%s: %s", name, err.text);
}

enum psc_status psc_plan_read_memory(struct psc_arena *arena, const char *name, const char *bytes, size_t n,
                                     struct psc_foreign *ret, struct psc_error *reterr)
{
    struct psc_slice text;
    enum psc_status status =
        n ? check_text(bytes, n, &text, reterr) : psc_fail(reterr, PSC_ERR_PARSE, "file is empty (0 bytes)");
    if (status == PSC_OK)
        status = psc_plan_read_slice(arena, text, ret, reterr);
    return name_the_file(name, status, reterr);
}

enum psc_status psc_plan_read(struct psc_arena *arena, const char *path, struct psc_foreign *ret,
                              struct psc_error *reterr)
{
    struct psc_source source;
    const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
    enum psc_status status = psc_source_map(&source, path, reterr);
    if (status != PSC_OK)
        return name_the_file(name, status, reterr);
    status = psc_plan_read_memory(arena, name, source.s, source.n, ret, reterr);
    psc_source_release(&source);
    return status;
}

/* Any text with placements and neither nodes nor phases counts, so that a plan made elsewhere needs no format. */
bool psc_plan_file_is(const char *path)
{
    static const char format[] = "\"planscope-plan\"";
    struct psc_source source;
    struct psc_probe probe;
    struct psc_arena arena = {0};
    struct psc_foreign foreign;
    bool is = false;
    if (psc_source_map(&source, path, NULL))
        return false;
    if (!psc_probe_coding(source.s, source.n, NULL)) {
        psc_probe(source.s, source.n, &probe);
        if (probe.format.s)
            is = probe.format.n == sizeof format - 1 && !memcmp(probe.format.s, format, probe.format.n);
        else if (!probe.has_nodes && !probe.has_phases)
            is = !psc_plan_read_memory(&arena, path, source.s, source.n, &foreign, NULL);
    }
    psc_arena_release(&arena);
    psc_source_release(&source);
    return is;
}
