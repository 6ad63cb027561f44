/* A model in several files. */
#include "core/model/gguf-private.h"

#include <string.h>

enum psc_status psc_gguf_split(const struct psc_gguf *g, uint32_t *ret_no, uint32_t *ret_count,
                               struct psc_error *reterr)
{
    static const uint32_t zero = 0, one = 1;
    uint32_t no, count;
    enum psc_status status = psc_gguf_get_u32(g, "split.count", &one, &count, reterr);
    if (status == PSC_OK)
        status = psc_gguf_get_u32(g, "split.no", count > 1 ? NULL : &zero, &no, reterr);
    if (status != PSC_OK)
        return status;
    if (count > PSC_GGUF_PARTS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "split.count says %u parts, at most %u are possible", count,
                        PSC_GGUF_PARTS_MAX);
    if (!count) /* some writers say so of a file that is whole */
        count = 1;
    if (no >= count)
        return psc_fail(reterr, PSC_ERR_PARSE,
                        "split.no is %u, but split.count says that there are %u parts (0 to %u)", no, count,
                        count - 1);
    *ret_no = no;
    *ret_count = count;
    return PSC_OK;
}

static enum psc_status check_parts(const struct psc_gguf *parts, uint32_t n, uint64_t *ret_tensors,
                                   struct psc_error *err)
{
    uint64_t tensors = 0, promised;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t no, count;
        struct psc_error why = {0};
        enum psc_status status = psc_gguf_split(&parts[i], &no, &count, &why);
        if (status != PSC_OK) /* of one file, the caller's name for it says which */
            return n == 1 ? psc_fail(err, status, "%s", why.text) : psc_fail(err, status, "part %u of %u: %s", i + 1, n, why.text);
        if (count != n)
            return psc_fail(err, PSC_ERR_PARSE, "part %u of %u says that the model has %u part%s", i + 1, n,
                            count, count == 1 ? "" : "s");
        if (no != i)
            return psc_fail(err, PSC_ERR_PARSE, "where part %u of %u should be, there is part %u", i + 1, n,
                            no + 1);
        tensors += parts[i].tensor_n;
    }
    enum psc_status status = psc_gguf_get_u64(&parts[0], "split.tensors.count", &tensors, &promised, err);
    if (status != PSC_OK)
        return status;
    if (promised != tensors)
        return psc_fail(err, PSC_ERR_PARSE,
                        "the parts have %llu tensors together, but split.tensors.count says %llu",
                        (unsigned long long)tensors, (unsigned long long)promised);
    if (tensors > UINT32_MAX / 4)
        return psc_fail(err, PSC_ERR_TOO_BIG, "the parts have %llu tensors together, at most %u are possible",
                        (unsigned long long)tensors, UINT32_MAX / 4);
    *ret_tensors = tensors;
    return PSC_OK;
}

static enum psc_status gather(struct psc_arena *arena, const struct psc_gguf *parts, struct psc_gguf *g,
                              struct psc_error *err)
{
    struct psc_gguf_table table;
    struct psc_gguf_shown shown;
    struct psc_gguf_tensor *tensors = psc_arena_alloc(arena, g->tensor_n, sizeof *tensors);
    if (!tensors || !psc_gguf_table_new(arena, g->tensor_n, &table))
        return psc_fail_nomem(err);
    uint32_t at = 0;
    for (uint32_t p = 0; p < g->part_n; p++)
        for (uint32_t i = 0; i < parts[p].tensor_n; i++, at++) {
            tensors[at] = parts[p].tensors[i];
            tensors[at].part = p;
            uint32_t *slot = psc_gguf_table_slot(table.slots, table.mask, tensors[at].name, &tensors[0].name,
                                                 sizeof *tensors);
            if (*slot)
                return psc_fail(err, PSC_ERR_PARSE, "the tensor '%s' is in part %u and in part %u",
                                psc_gguf_show_name(&shown, tensors[at].name, strlen(tensors[at].name)),
                                tensors[*slot - 1].part + 1, p + 1);
            *slot = at + 1;
        }
    g->tensors = tensors;
    g->tensor_table = table.slots;
    g->tensor_mask = table.mask;
    return PSC_OK;
}

enum psc_status psc_gguf_join(struct psc_arena *arena, const struct psc_gguf *parts, uint32_t n,
                              struct psc_gguf *ret, struct psc_error *reterr)
{
    uint64_t tensors = 0;
    if (!n)
        return psc_fail(reterr, PSC_ERR_USAGE, "a model has at least one part");
    enum psc_status status = check_parts(parts, n, &tensors, reterr);
    if (status != PSC_OK)
        return status;
    struct psc_gguf g = parts[0];
    g.part_n = n;
    g.tensor_n = (uint32_t)tensors;
    g.file_bytes = 0;
    for (uint32_t p = 0; p < n; p++)
        g.file_bytes += parts[p].file_bytes;
    struct psc_arena_mark mark = psc_arena_mark(arena);
    status = gather(arena, parts, &g, reterr);
    if (status == PSC_OK)
        *ret = g;
    else
        psc_arena_rewind(arena, mark);
    return status;
}
