/* The words that a finding changes, against a memory that is written event by event. */
#include "core/base/text.h"
#include "core/debug/finding-bytes.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

/* What a node leaves: words made of its id; few different ones, so that some are the same by chance. */
static uint32_t word_of(uint64_t id, uint64_t k)
{
    return (uint32_t)((id * 0x9e3779b9u + k * 0x85ebca6bu) >> 7 & 7) + 0x3f800000u;
}

struct source {
    const struct psc_graph *graph;
    uint64_t missing; /* id of a node of which nothing was recorded; UINT64_MAX */
    bool broken;
};

static bool size_cb(const void *ctx, uint32_t phase, uint32_t step, uint64_t id, uint64_t *ret)
{
    const struct source *s = ctx;
    g_assert_cmpuint(phase, ==, 3);
    g_assert_cmpuint(step, ==, 5);
    for (psc_node i = 0; i < s->graph->n && id != s->missing; i++)
        if (s->graph->nodes[i].id == id) {
            *ret = s->graph->nodes[i].bytes;
            return true;
        }
    return false;
}

static bool read_cb(const void *ctx, uint32_t phase, uint32_t step, uint64_t id, uint64_t offset, uint64_t n, void *to)
{
    const struct source *s = ctx;
    (void)phase;
    (void)step;
    for (uint64_t k = 0; k < n; k++) {
        uint32_t word = word_of(id, (offset + k) / 4);
        ((unsigned char *)to)[k] = ((unsigned char *)&word)[(offset + k) % 4];
    }
    return !s->broken;
}

static struct psc_contents contents_of(const struct source *s)
{
    return (struct psc_contents){3, 5, PSC_CAPTURE_NODE, size_cb, read_cb, s};
}

static struct psc_analysis *analyse(const struct psc_phase *phase, psc_fault_set faults)
{
    struct psc_analysis_options options = {.plan = psc_plan_defaults, .replan = true};
    struct psc_analysis *a;
    struct psc_error error = {0};
    options.plan.faults = faults;
    if (psc_analysis_new(phase, &options, &a, &error))
        g_error("%s", error.text);
    return a;
}

/* Memory as it is before an event: words, and which event wrote each last. */
struct memory { uint32_t **words, **by; uint32_t n; };

static struct memory memory_before(const struct psc_analysis *a, uint32_t event)
{
    const struct psc_story *story = a->story;
    struct memory m = {g_new0(uint32_t *, story->buffer_n + 1), g_new0(uint32_t *, story->buffer_n + 1), story->buffer_n};
    for (uint32_t b = 0; b < m.n; b++) {
        m.words[b] = g_new0(uint32_t, story->buffers[b].bytes / 4 + 1);
        m.by[b] = g_new0(uint32_t, story->buffers[b].bytes / 4 + 1);
        memset(m.by[b], 0xff, (story->buffers[b].bytes / 4 + 1) * sizeof **m.by);
    }
    for (uint32_t i = 0; i < event; i++) {
        const struct psc_event *e = &story->events[i];
        bool writes = e->kind == PSC_EV_FILL || e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE || e->kind == PSC_EV_COPY;
        bool own = e->kind == PSC_EV_WRITE && e->node < a->phase->graph->n && story->values[e->value].kind == PSC_VALUE_NODE;
        for (uint64_t at = e->lo; writes && e->buffer != PSC_NONE && at + 4 <= e->hi && at + 4 <= story->buffers[e->buffer].bytes; at += 4) {
            m.words[e->buffer][at / 4] = own ? word_of(a->phase->graph->nodes[e->node].id, (at - e->lo) / 4) : 0xdeadbeefu;
            m.by[e->buffer][at / 4] = i;
        }
    }
    return m;
}

static void forget(struct memory *m)
{
    for (uint32_t b = 0; b < m->n; b++) {
        g_free(m->words[b]);
        g_free(m->by[b]);
    }
    g_free(m->words);
    g_free(m->by);
}

/* Every word that is told is in that memory, and as many differ there as are told. */
static void check_finding(const struct psc_analysis *a, const struct psc_finding *f, const struct psc_finding_bytes *b)
{
    struct memory m = memory_before(a, f->read_event);
    const struct psc_graph *g = a->phase->graph;
    const struct psc_event *w = &a->story->events[f->write_event];
    uint32_t tenancy = psc_history_of_value(a->history, f->victim_value);
    uint64_t victim = a->history->tenancies[tenancy].lo, looked = 0, differ = 0, row = 0;
    const struct psc_value *value = &a->story->values[f->victim_value];
    if (value->kind == PSC_VALUE_STAGING)
        value = &a->story->values[value->of];
    g_assert_cmpuint(b->victim, ==, value->node);
    g_assert_cmpuint(b->writer, ==, w->node);
    for (uint64_t at = MAX(f->lo, w->lo); at < MIN(MIN(f->hi, w->hi), victim + g->nodes[value->node].bytes); at += 4) {
        uint32_t expected = word_of(g->nodes[value->node].id, (at - victim) / 4), found = m.words[f->buffer][at / 4];
        if (m.by[f->buffer][at / 4] != f->write_event)
            continue;
        looked++;
        if (found == expected)
            continue;
        if (row < b->row_n) {
            g_assert_cmpuint(b->rows[row].offset, ==, at - victim);
            g_assert_cmphex(b->rows[row].expected, ==, expected);
            g_assert_cmphex(b->rows[row].found, ==, found);
        }
        row++;
        differ++;
    }
    g_assert_cmpuint(b->looked_n, ==, looked);
    g_assert_cmpuint(b->differ_n, ==, differ);
    g_assert_cmpuint(b->row_n, ==, MIN(differ, PSC_BYTES_ROWS));
    forget(&m);
}

static void test_random(void)
{
    static const enum psc_fault faults[] = {PSC_FAULT_L1, PSC_FAULT_L3, PSC_FAULT_L4, PSC_FAULT_L5, PSC_FAULT_L7, PSC_FAULT_H1, PSC_FAULT_H2, PSC_FAULT_H3};
    unsigned copies = 0, compared = 0, gone = 0, same = 0, not_two = 0, moved = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t round = 0; round < 400; round++) {
        struct psc_arena arena = {0};
        struct random_graph_options shape = random_graph_all;
        shape.narrow = true;
        struct psc_phase phase = {.kind = "", .graph = random_graph(&arena, test_seed() * 1009 + round, &shape)};
        struct psc_analysis *a = analyse(&phase, PSC_FAULT_BIT(faults[round % G_N_ELEMENTS(faults)]));
        struct source source = {phase.graph, UINT64_MAX, false};
        struct psc_contents contents = contents_of(&source);
        for (uint32_t i = 0; i < a->check.finding_n && i < 12; i++) {
            const struct psc_finding *f = &a->check.findings[i];
            struct psc_finding_bytes b = psc_finding_bytes(a, f, &contents);
            not_two += b.known == PSC_BYTES_NOT_TWO;
            gone += b.known == PSC_BYTES_GONE;
            if (b.known == PSC_BYTES_NOT_TWO) {
                g_assert_cmpuint(psc_explain_bytes_line_n(&b), ==, 0);
                continue;
            }
            g_assert_true(b.known == PSC_BYTES_COMPARED || b.known == PSC_BYTES_GONE);
            check_finding(a, f, &b);
            copies += a->story->values[f->victim_value].kind == PSC_VALUE_STAGING;
            compared += b.known == PSC_BYTES_COMPARED;
            same += b.looked_n > b.differ_n;
            moved += b.row_n && b.rows[0].offset > 0;
        }
        psc_analysis_free(a);
        psc_arena_release(&arena);
    }
    g_test_message("%u copies, %u compared, %u gone, %u with words that are the same, %u not of two nodes, %u begin inside", copies, compared, gone, same, not_two, moved);
    g_assert_cmpuint(compared, >, 200);
    g_assert_cmpuint(same, >, 20);
    g_assert_cmpuint(not_two, >, 10);
    g_assert_cmpuint(moved, >, 5);
    g_assert_cmpuint(copies, >, 5);
}

static char *told(const struct psc_analysis *a, const struct psc_finding_bytes *b)
{
    struct psc_text text = {0};
    for (uint32_t k = 0; k < psc_explain_bytes_line_n(b); k++) {
        psc_text_add(&text, k ? "\n" : "");
        psc_explain_bytes_line(&text, a, b, k);
    }
    char *copy = g_strdup(psc_text_str(&text));
    psc_text_release(&text);
    return copy;
}

/* The plan lays the second half of h under a: to the letter, and whatever keeps it from being told. */
static void test_words(void)
{
    static const struct psc_foreign_place places[] = {{0, "x", 0}, {1, "w", 0}, {2, "p", 0}, {3, "q", 0}, {4, "p", 8}, {5, "r", 0}, {6, "s", 0}};
    static const struct psc_foreign_buffer buffers[] = {{"x", NULL, NULL, 16}, {"w", NULL, NULL, 16}, {"p", NULL, NULL, 24}, {"q", NULL, NULL, 16},
                                                        {"r", NULL, NULL, 16}, {"s", NULL, NULL, 16}};
    struct psc_foreign foreign = {.places = places, .place_n = 7, .buffers = buffers, .buffer_n = 6};
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "", .graph = text_graph(&arena, "x: input 4\nw: input 4\nh: add 4 x w\nn: mul 4 h w\na: add 4 n w\n"
                                                                      "late: mul 4 h w\no: add 4 a late\nout o")};
    struct source source = {phase.graph, UINT64_MAX, false};
    struct psc_contents contents = contents_of(&source);
    struct psc_analysis_options options = {.foreign = &foreign};
    struct psc_analysis *a;
    struct psc_error error = {0};
    if (psc_analysis_new(&phase, &options, &a, &error))
        g_error("%s", error.text);
    g_assert_cmpuint(a->check.finding_n, ==, 1);
    const struct psc_finding *f = &a->check.findings[0];
    struct psc_finding_bytes b = psc_finding_bytes(a, f, &contents);
    char *words = told(a, &b), want[256];
    uint32_t pair[4] = {word_of(2, 2), word_of(4, 0), word_of(2, 3), word_of(4, 1)};
    float value[4];
    memcpy(value, pair, sizeof value);
    g_assert_true(pair[0] != pair[1] && pair[2] != pair[3]);
    g_snprintf(want, sizeof want, "2 of 2 words of #2 h differ from what it left:\n+0x8  expected %08x (%g), found %08x (%g)\n"
               "+0xc  expected %08x (%g), found %08x (%g)", pair[0], (double)value[0], pair[1], (double)value[1], pair[2], (double)value[2],
               pair[3], (double)value[3]);
    g_assert_cmpstr(words, ==, want);
    g_free(words);
    static const struct { uint64_t missing; bool broken, late; enum psc_bytes_known known; const char *says; } rows[] = {
        {2, false, false, PSC_BYTES_NO_VICTIM, "of #2 h no contents were recorded"},
        {4, false, false, PSC_BYTES_NO_WRITER, "of #4 a no contents were recorded"},
        {9, true, false, PSC_BYTES_UNREADABLE, "cannot be read"},
        {9, false, true, PSC_BYTES_LATE, "at the end of splits"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        source.missing = rows[i].missing;
        source.broken = rows[i].broken;
        contents.capture = rows[i].late ? PSC_CAPTURE_SPLIT : PSC_CAPTURE_UNKNOWN;
        b = psc_finding_bytes(a, f, &contents);
        words = told(a, &b);
        g_assert_cmpint(b.known, ==, rows[i].known);
        g_assert_nonnull(strstr(words, rows[i].says));
        g_assert_cmpuint(psc_explain_bytes_line_n(&b), ==, 1);
        g_free(words);
    }
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/finding-bytes/random-graphs-against-a-memory", test_random);
    g_test_add_func("/finding-bytes/words", test_words);
    return g_test_run();
}
