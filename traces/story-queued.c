/* Stretches of a story in which kernels were only enqueued: the key `queued`. */
#include "traces/story-json.h"

void psc_story_write_queued(struct psc_json *j, const struct psc_story *s)
{
    if (!s->queued_n)
        return;
    psc_json_key(j, "queued");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->queued_n; i++) {
        const struct psc_queued *q = &s->queued[i];
        psc_json_array(j);
        psc_json_u64(j, q->lane);
        psc_json_u64(j, q->first);
        psc_json_u64(j, q->last);
        psc_json_u64(j, q->done);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

enum psc_status psc_story_read_queued(struct psc_story_builder *builder, struct psc_slice text, struct psc_error *reterr)
{
    struct psc_slice list = psc_slice_find(text, "queued"), row, v;
    struct psc_cursor c = psc_cursor_open(list);
    if (psc_slice_is_null(list))
        return PSC_OK;
    if (!psc_slice_is_array(list))
        return psc_fail(reterr, PSC_ERR_PARSE, "queued must be a list of stretches, not %s", psc_slice_kind(list));
    for (size_t i = 0; psc_cursor_element(&c, &row); i++) {
        struct psc_cursor columns = psc_cursor_open(row);
        uint64_t at[4];
        size_t n = 0;
        while (psc_slice_is_array(row) && n < 4 && psc_cursor_element(&columns, &v) && psc_slice_u64(v, &at[n]) &&
               at[n] < (n ? UINT32_MAX : UINT16_MAX))
            n++;
        if (n < 4 || psc_cursor_element(&columns, &v))
            return psc_fail(reterr, PSC_ERR_PARSE, "queued[%zu] must be a lane and three positions: first, last, done", i);
        psc_story_add_queued(builder, &(struct psc_queued){(uint32_t)at[1], (uint32_t)at[2], (uint32_t)at[3], (uint16_t)at[0]});
    }
    return PSC_OK;
}
