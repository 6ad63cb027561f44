#include "tests/recorder.h"

#include "core/base/hash.h"

#include <glib.h>
#include <math.h>
#include <string.h>

struct machine {
    struct psc_arena *arena;
    const struct psc_graph *graph;
    const struct psc_plan *plan;
    uint64_t seed;
    float **memory;               /* by buffer, words */
    uint64_t **writers;           /* by buffer, word: writer << 32 | element */
    struct recorded_words *words; /* by node */
};

static void *must(void *memory)
{
    g_assert_nonnull(memory);
    return memory;
}

static float noise(uint64_t seed, psc_node node, uint32_t element)
{
    uint64_t x = psc_hash_mix(seed ^ psc_hash_mix((uint64_t)node << 32 | element));
    return ((float)(x >> 40) / 8388608.0f - 1.0f) * 3.0f;
}

static bool in_pool(const struct machine *m, psc_node i)
{
    const struct psc_node_info *node = &m->graph->nodes[i];
    return m->plan->places[i].buffer != PSC_NONE && node->bytes && !psc_op_info(node->op)->is_kv;
}

static float silu(float x)
{
    return (float)(x / (1.0 + exp(-(double)x)));
}

static float result(const struct machine *m, psc_node i, uint32_t k)
{
    const struct psc_node_info *node = &m->graph->nodes[i];
    const psc_node *src = psc_node_srcs(m->graph, i);
    float in[2] = {0, 0};
    for (uint32_t s = 0; s < node->src_n && s < 2; s++)
        if (in_pool(m, src[s]) && k < m->graph->nodes[src[s]].elements)
            in[s] = m->memory[m->plan->places[src[s]].buffer][m->plan->places[src[s]].offset / 4 + k];
    switch (node->op) {
    case PSC_OP_ADD: return in[0] + in[1];
    case PSC_OP_MUL: return in[0] * in[1];
    case PSC_OP_SILU: return silu(in[0]);
    case PSC_OP_SWIGLU: return silu(in[0]) * in[1];
    default: return noise(m->seed, i, k);
    }
}

static void execute(const struct machine *m, psc_node i)
{
    uint32_t n = (uint32_t)m->graph->nodes[i].elements;
    const struct psc_place *place = &m->plan->places[i];
    float *out = must(psc_arena_alloc(m->arena, n, sizeof *out));
    for (uint32_t k = 0; k < n; k++)
        out[k] = result(m, i, k);
    for (uint32_t k = 0; k < n; k++) {
        m->memory[place->buffer][place->offset / 4 + k] = out[k];
        m->writers[place->buffer][place->offset / 4 + k] = (uint64_t)i << 32 | k;
    }
}

static void *copy(const struct machine *m, const void *bytes, size_t n)
{
    void *made = must(psc_arena_alloc(m->arena, n, 1));
    return memcpy(made, bytes, n);
}

static void read_node(const struct machine *m, psc_node i)
{
    const struct psc_place *place = &m->plan->places[i];
    uint32_t n = (uint32_t)m->graph->nodes[i].elements;
    m->words[i].shown_numbers = copy(m, m->memory[place->buffer] + place->offset / 4, n * sizeof(float));
    m->words[i].shown = copy(m, m->writers[place->buffer] + place->offset / 4, n * sizeof(uint64_t));
}

static void keep_words(const struct machine *m, psc_node i)
{
    const struct psc_place *place = &m->plan->places[i];
    uint32_t n = m->words[i].n = (uint32_t)m->graph->nodes[i].elements;
    m->words[i].made_numbers = copy(m, m->memory[place->buffer] + place->offset / 4, n * sizeof(float));
    m->words[i].made = copy(m, m->writers[place->buffer] + place->offset / 4, n * sizeof(uint64_t));
}

static bool read_late(const struct machine *m, psc_node i, enum psc_capture capture)
{
    if (m->graph->nodes[i].is_input || capture == PSC_CAPTURE_NODE)
        return false;
    return capture == PSC_CAPTURE_SPLIT || !strcmp(psc_node_backend_name(m->graph, i), "metal");
}

void record_values(struct psc_arena *arena, const float *values, uint32_t n, struct psc_record *record)
{
    uint64_t stride = n <= 64 ? 1 : (n + 63) / 64;
    float *samples = must(psc_arena_alloc(arena, n / stride + 1, sizeof *samples));
    double sum = 0.0, sum_abs = 0.0, min = INFINITY, max = -INFINITY;
    record->value_n = 0;
    for (uint32_t k = 0; k < n; k++) {
        sum += values[k];
        sum_abs += fabs(values[k]);
        min = fmin(min, values[k]);
        max = fmax(max, values[k]);
        if (k % stride == 0)
            samples[record->value_n++] = roundf(values[k] * 1e6f) / 1e6f;
    }
    record->n = n;
    record->stride = stride;
    record->has_stats = true;
    record->min = min;
    record->max = max;
    record->mean = sum / n;
    record->absmean = sum_abs / n;
    record->values = samples;
    double stats[] = {record->min, record->max, record->mean, record->absmean};
    record->stats_hash = psc_hash_bytes(stats, sizeof stats, 0);
    record->values_hash = psc_hash_bytes(samples, record->value_n * sizeof *samples, 0);
}

static void run(const struct machine *m, enum psc_capture capture)
{
    const struct psc_graph *g = m->graph;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->nodes[i].is_input && in_pool(m, i))
            execute(m, i);
    for (uint32_t i = 0, first = 0; i < g->n; i++) {
        if (in_pool(m, i)) {
            if (!g->nodes[i].is_input && g->nodes[i].root == i)
                execute(m, i);
            keep_words(m, i);
            if (!read_late(m, i, capture))
                read_node(m, i);
        }
        if (i + 1 == g->n || (g->nodes[i + 1].backend != g->nodes[i].backend))
            for (; first <= i; first++)
                if (in_pool(m, first) && read_late(m, first, capture))
                    read_node(m, first);
    }
}

void record_run(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                uint64_t seed, enum psc_capture capture, struct recording *ret)
{
    struct machine m = {
        .arena = arena,
        .graph = graph,
        .plan = plan,
        .seed = seed,
        .memory = must(psc_arena_alloc0(arena, plan->buffer_n, sizeof *m.memory)),
        .writers = must(psc_arena_alloc0(arena, plan->buffer_n, sizeof *m.writers)),
        .words = must(psc_arena_alloc0(arena, graph->n, sizeof *m.words)),
    };
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        if (plan->buffers[b].role == PSC_ROLE_PERSISTENT || plan->buffers[b].role == PSC_ROLE_STAGING)
            continue;
        m.memory[b] = must(psc_arena_alloc0(arena, plan->buffers[b].bytes / 4 + 1, sizeof **m.memory));
        m.writers[b] = must(psc_arena_alloc0(arena, plan->buffers[b].bytes / 4 + 1, sizeof **m.writers));
        memset(m.writers[b], 0xff, (plan->buffers[b].bytes / 4 + 1) * sizeof **m.writers);
    }
    run(&m, capture);
    *ret = (struct recording){
        .records = must(psc_arena_alloc0(arena, graph->n, sizeof *ret->records)),
        .words = must(psc_arena_alloc0(arena, graph->n, sizeof *ret->words)),
    };
    for (uint32_t i = 0; i < graph->n; i++) {
        if (!m.words[i].shown)
            continue;
        struct psc_record *record = &ret->records[ret->step.record_n];
        record->id = graph->nodes[i].id;
        record->node = i;
        record->dtype = graph->nodes[i].dtype;
        record_values(arena, m.words[i].shown_numbers, m.words[i].n, record);
        ret->words[ret->step.record_n++] = m.words[i];
    }
    ret->nodes = m.words;
    ret->step.text = "";
    ret->step.records = ret->records;
}

bool recording_own(const struct recording *rec, uint32_t record)
{
    const struct recorded_words *w = &rec->words[record];
    return !memcmp(w->made, w->shown, w->n * sizeof *w->made);
}

bool recording_either(const struct recording *rec, uint32_t record)
{
    const struct recorded_words *w = &rec->words[record];
    return !memcmp(w->made_numbers, w->shown_numbers, w->n * sizeof *w->made_numbers);
}

bool recording_holds(const struct recording *rec, uint32_t record, psc_node node)
{
    const struct recorded_words *w = &rec->words[record];
    uint32_t found = 0;
    bool one_writer = true;
    for (uint32_t k = 0; k < w->n; k++) {
        found += w->shown[k] >> 32 == node;
        one_writer = one_writer && w->shown[k] >> 32 == w->shown[0] >> 32;
    }
    const struct recorded_words *other = &rec->nodes[node];
    if (other->n == w->n && !memcmp(other->made_numbers, w->shown_numbers, w->n * sizeof *w->shown_numbers))
        return true;
    return found && (found == w->n || !one_writer);
}
