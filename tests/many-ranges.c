#include "tests/many-ranges.h"

#include <glib.h>

static void *need(struct psc_arena *arena, size_t n, size_t size)
{
    void *block = psc_arena_alloc0(arena, n, size);
    g_assert_nonnull(block);
    return block;
}

static void add_alarms(struct psc_arena *arena, struct many_ranges *m, uint32_t n)
{
    struct psc_finding *findings = need(arena, n + 1u, sizeof *findings);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = (uint32_t)((uint64_t)i * 7 % m->story.buffer_n), at = m->history.buffer_at[row];
        uint32_t in_row = m->history.buffer_at[row + 1] - at;
        const struct psc_tenancy *t = &m->history.tenancies[at + (uint64_t)in_row * (2 * i + 1) / (2 * n)];
        findings[i] = (struct psc_finding){.kind = PSC_K1, .victim_value = t->value, .writer_value = PSC_NONE,
                                           .victim = PSC_NONE, .writer = PSC_NONE, .reader = PSC_NONE, .buffer = t->buffer,
                                           .lo = t->lo, .hi = t->hi, .position = t->first + 1, .read_position = t->last,
                                           .victim_position = t->first, .write_event = PSC_NONE, .read_event = PSC_NONE};
    }
    m->check = (struct psc_check){.findings = findings, .finding_n = n};
}

struct many_ranges *many_ranges(struct psc_arena *arena, uint32_t ranges, uint32_t buffers, uint32_t alarms)
{
    struct many_ranges *m = need(arena, 1, sizeof *m);
    struct psc_buffer *buffer = need(arena, buffers, sizeof *buffer);
    struct psc_value *value = need(arena, ranges, sizeof *value);
    struct psc_tenancy *t = need(arena, ranges, sizeof *t);
    uint32_t *buffer_at = need(arena, buffers + 1u, sizeof *buffer_at), *access_at = need(arena, buffers + 1u, sizeof *access_at);
    uint32_t *value_at = need(arena, ranges + 1u, sizeof *value_at), *of_value = need(arena, ranges, sizeof *of_value);
    const char **backends = need(arena, 1, sizeof *backends);
    uint32_t each = (ranges + buffers - 1) / buffers, n = 0;
    backends[0] = "cpu";
    for (uint32_t b = 0; b < buffers; b++) {
        buffer[b] = (struct psc_buffer){.id = b, .name = "b", .bytes = 4096, .base = 4096ull * b};
        buffer_at[b] = n;
        for (uint32_t k = 0; k < each && n < ranges; k++, n++) {
            int32_t first = (int32_t)(4 * k);
            value[n] = (struct psc_value){.node = PSC_NONE, .of = PSC_NONE, .layer = -1, .bytes = 4000, .name = "t"};
            t[n] = (struct psc_tenancy){.value = n, .buffer = b, .hi = 4000, .first = first, .last = first + 2, .end = first + 3,
                                        .write_event = PSC_NONE, .prev_version = PSC_NONE, .next_version = PSC_NONE,
                                        .prev_tenant = PSC_NONE, .next_tenant = PSC_NONE};
            value_at[n] = n, of_value[n] = n;
        }
    }
    buffer_at[buffers] = n;
    value_at[ranges] = ranges;
    m->story = (struct psc_story){.values = value, .buffers = buffer, .backends = backends, .value_n = ranges, .buffer_n = buffers,
                                  .backend_n = 1, .position_n = 4 * each};
    m->history = (struct psc_history){.story = &m->story, .tenancies = t, .tenancy_n = n, .buffer_at = buffer_at, .value_at = value_at,
                                      .value_tenancies = of_value, .access_at = access_at};
    add_alarms(arena, m, alarms);
    return m;
}
