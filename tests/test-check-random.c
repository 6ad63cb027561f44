/* The checker and the naive checker say the same, of good plans, of bad ones, and of good ones made bad. */
#include "core/base/hash.h"
#include "core/debug/check.h"
#include "core/plan/plan.h"
#include "tests/naive-check.h"
#include "tests/random-graph.h"
#include "tests/util.h"

static const struct random_graph_options small = {
    .nodes = 14, .backends = 3, .views = true, .repeats = true, .output_views = true, .dead = true, .empty = true,
    .late_inputs = true, .in_place = true, .concat = true, .middle_outputs = true, .input_outputs = true,
};

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(psc_random_next(seed) % n);
}

static char *checked(struct psc_arena *arena, const struct psc_graph *g, const struct psc_story *story)
{
    struct naive_lines *lines = naive_lines_new();
    struct psc_check check;
    struct psc_error err = {0};

    if (psc_check_story(arena, g, story, &check, &err))
        g_error("%s", err.text);
    for (uint32_t i = 0; i < check.finding_n; i++) {
        const struct psc_finding *f = &check.findings[i];
        naive_lines_add(lines, f->victim_value, f->buffer, f->lo, f->hi, f->writer_value,
                        psc_reader_name(f->reader_kind), f->reader);
    }
    return naive_lines_end(lines);
}

/* Both checkers on one story; returns whether anything was found. */
static bool agree(struct psc_arena *arena, const struct psc_graph *g, const struct psc_story *story)
{
    struct psc_error err = {0};
    char *fast = checked(arena, g, story), *slow = naive_check(g, story);
    bool found = *slow != '\0';

    g_assert_cmpint(psc_story_check(story, &err), ==, PSC_OK);
    g_assert_cmpstr(fast, ==, slow);
    g_free(fast);
    g_free(slow);
    return found;
}

static struct psc_plan *plan_with(struct psc_arena *arena, const struct psc_graph *g,
                                  const struct psc_plan_options *options)
{
    struct psc_plan *plan = NULL;
    struct psc_error err = {0};

    if (psc_planners[0].plan(arena, g, options, &plan, &err))
        g_error("%s", err.text);
    return plan;
}

static struct psc_story *lower(struct psc_arena *arena, const struct psc_graph *g, const struct psc_plan *plan)
{
    struct psc_story *story = NULL;
    struct psc_error err = {0};

    if (psc_plan_lower(arena, g, plan, &story, &err))
        g_error("%s", err.text);
    return story;
}

/* ---- plans as the planner makes them, holes and faults included -------------------------------------------------- */

static void test_plans(void)
{
    guint64 seed = test_seed();
    unsigned bad = 0, clean = 0;

    for (unsigned i = 0; i < 600; i++) {
        uint64_t state = seed + i;
        struct psc_arena arena = {0};
        struct random_graph_options shape = i % 3 ? small : random_graph_all;
        struct psc_plan_options options = psc_plan_defaults;
        shape.kv = i % 8 == 0;
        const struct psc_graph *g = random_graph(&arena, state, &shape);
        options.mode = (enum psc_mode)pick(&state, PSC_MODE_N);
        options.size = (enum psc_size)pick(&state, PSC_SIZE_N);
        options.slots = (enum psc_slots)pick(&state, PSC_SLOTS_N);
        options.order = (enum psc_order)pick(&state, PSC_ORDER_N);
        options.faults = pick(&state, 2) ? PSC_FAULT_BIT(pick(&state, PSC_FAULT_N)) : 0;
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, i);
        struct psc_plan *plan = plan_with(&arena, g, &options);
        plan->rerun = pick(&state, 2);
        if (pick(&state, 4) == 0)
            plan->executor = PSC_EXEC_LEVEL;
        if (agree(&arena, g, lower(&arena, g, plan)))
            bad++;
        else
            clean++;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(bad, >, 50);
    g_assert_cmpuint(clean, >, 50);
}

/* ---- good plans made bad ------------------------------------------------------------------------------------------ */

enum mutation { MOVE, SWAP, SHRINK, REORDER, NO_WAIT, LEVELS, MUTATION_N };

/* The placements of a plan, as a file would give them. */
static struct psc_foreign as_foreign(struct psc_arena *arena, const struct psc_graph *g, const struct psc_plan *plan)
{
    struct psc_foreign foreign = {0};
    struct psc_foreign_place *places = psc_arena_alloc(arena, g->n, sizeof *places);
    struct psc_foreign_buffer *buffers = psc_arena_alloc(arena, plan->buffer_n, sizeof *buffers);

    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_place *p = &plan->places[i];
        if (p->buffer == PSC_NONE || p->reason == PSC_WHY_VIEW || p->reason == PSC_WHY_REGION)
            continue;
        char *name = g_strdup_printf("p%u", p->buffer);
        places[foreign.place_n++] = (struct psc_foreign_place){g->nodes[i].id, psc_arena_strdup(arena, name), p->offset};
        g_free(name);
    }
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        char *name = g_strdup_printf("p%u", b);
        buffers[foreign.buffer_n++] = (struct psc_foreign_buffer){psc_arena_strdup(arena, name), NULL, NULL,
                                                                  plan->buffers[b].bytes};
        g_free(name);
    }
    foreign.places = places;
    foreign.buffers = buffers;
    return foreign;
}

static void mutate_plan(struct psc_foreign *foreign, enum mutation how, uint64_t *seed)
{
    struct psc_foreign_place *places = (struct psc_foreign_place *)foreign->places;
    struct psc_foreign_buffer *buffers = (struct psc_foreign_buffer *)foreign->buffers;
    uint32_t a = pick(seed, foreign->place_n), b = pick(seed, foreign->place_n);

    switch (how) {
    case MOVE:
        places[a].offset += 4 * (1 + pick(seed, 6));
        if (pick(seed, 2))
            places[a].buffer = places[b].buffer;
        break;
    case SWAP: {
        const char *name = places[a].buffer;
        places[a].buffer = places[b].buffer;
        places[b].buffer = name;
        break;
    }
    case SHRINK:
        a = pick(seed, foreign->buffer_n);
        buffers[a].bytes = buffers[a].bytes / 2;
        break;
    case LEVELS:
        foreign->executor = PSC_EXEC_LEVEL;
        break;
    default:
        break;
    }
}

/* Two neighbouring positions change places: their events are exchanged, and what each calls its position. */
static void reorder(struct psc_story *s, struct psc_arena *arena, uint64_t *seed)
{
    struct psc_event *events = psc_arena_alloc(arena, s->event_n, sizeof *events);
    psc_node *order = psc_arena_alloc(arena, s->position_n, sizeof *order);
    int32_t p = (int32_t)pick(seed, s->position_n - 1);
    uint32_t n = 0, at[4] = {0, 0, 0, 0};

    for (uint32_t i = 0; i < s->event_n; i++) {
        bool queue = s->events[i].kind == PSC_EV_ENQUEUE || s->events[i].kind == PSC_EV_WAIT;
        if (queue && (s->events[i].position == p || s->events[i].position == p + 1))
            return; /* peers would point elsewhere */
    }
    for (uint32_t i = 0; i < s->event_n; i++) {
        at[0] += s->events[i].position < p;
        at[1] += s->events[i].position <= p;
        at[2] += s->events[i].position <= p + 1;
    }
    for (uint32_t i = 0; i < at[0]; i++)
        events[n++] = s->events[i];
    for (uint32_t i = at[1]; i < at[2]; i++) {
        events[n] = s->events[i];
        events[n++].position = p;
    }
    for (uint32_t i = at[0]; i < at[1]; i++) {
        events[n] = s->events[i];
        events[n++].position = p + 1;
    }
    for (uint32_t i = at[2]; i < s->event_n; i++)
        events[n++] = s->events[i];
    for (uint32_t i = 0; i < s->position_n; i++)
        order[i] = i == (uint32_t)p ? i + 1 : i == (uint32_t)p + 1 ? i - 1 : i;
    s->events = events;
    s->order = order;
}

static void drop_wait(struct psc_story *s, struct psc_arena *arena, uint64_t *seed)
{
    struct psc_event *events = psc_arena_alloc(arena, s->event_n, sizeof *events);
    uint32_t waits = 0;

    for (uint32_t i = 0; i < s->event_n; i++) {
        events[i] = s->events[i];
        waits += events[i].kind == PSC_EV_WAIT;
    }
    uint32_t drop = waits ? pick(seed, waits) : 0;
    for (uint32_t i = 0; i < s->event_n; i++) {
        if (events[i].kind == PSC_EV_WAIT && drop-- == 0)
            events[i] = psc_event_blank(PSC_EV_CLEAR, events[i].position);
    }
    s->events = events;
}

static void test_mutants(void)
{
    guint64 seed = test_seed();
    unsigned mutants = 0, harmful[MUTATION_N] = {0};

    for (unsigned i = 0; mutants < 1000; i++) {
        uint64_t state = seed + 100000 + i;
        enum mutation how = (enum mutation)(i % MUTATION_N);
        struct psc_arena arena = {0};
        struct psc_plan_options options = psc_plan_defaults;
        const struct psc_graph *g = random_graph(&arena, state, &small);
        struct psc_plan *plan = NULL;
        options.mode = PSC_MODE_HARDENED;
        options.size = (enum psc_size)pick(&state, PSC_SIZE_N);
        struct psc_foreign foreign = as_foreign(&arena, g, plan_with(&arena, g, &options));
        g_test_message("seed %" G_GUINT64_FORMAT " + %u, mutation %d", seed, 100000 + i, how);
        if (foreign.place_n && g->n > 2) {
            mutate_plan(&foreign, how, &state);
            struct psc_error err = {0};
            g_assert_cmpint(psc_plan_from_foreign(&arena, g, &foreign, &plan, &err), ==, PSC_OK);
            plan->rerun = pick(&state, 2);
            struct psc_story *story = lower(&arena, g, plan);
            if (how == REORDER)
                reorder(story, &arena, &state);
            else if (how == NO_WAIT)
                drop_wait(story, &arena, &state);
            harmful[how] += agree(&arena, g, story);
            mutants++;
        }
        psc_arena_release(&arena);
    }
    for (int how = 0; how < MUTATION_N; how++) {
        g_test_message("mutation %d: %u harmful", how, harmful[how]);
        g_assert_cmpuint(harmful[how], >, 5);
    }
    g_assert_cmpuint(mutants, ==, 1000);
}

/* ---- a plan that lies ----------------------------------------------------------------------------------------------- */

static void test_lies(void)
{
    guint64 seed = test_seed();
    unsigned clean = 0, bad = 0;

    for (unsigned i = 0; i < 200; i++) {
        uint64_t state = seed + 500000 + i;
        struct psc_arena arena = {0};
        struct psc_plan_options options = psc_plan_defaults;
        const struct psc_graph *g = random_graph(&arena, state, &small);
        options.mode = PSC_MODE_HARDENED;
        if (i % 2)
            options.faults = PSC_FAULT_BIT(PSC_FAULT_L2) | PSC_FAULT_BIT(PSC_FAULT_L3) | PSC_FAULT_BIT(PSC_FAULT_L5);
        struct psc_plan *plan = plan_with(&arena, g, &options);
        char *truth = checked(&arena, g, lower(&arena, g, plan));
        struct psc_place *places = psc_arena_alloc(&arena, g->n, sizeof *places);
        for (psc_node k = 0; k < g->n; k++) {
            places[k] = plan->places[k];
            places[k].first = i % 4 < 2 ? -1 : (int32_t)pick(&state, g->n);
            places[k].last = i % 4 < 2 ? (int32_t)g->n : places[k].first;
        }
        plan->places = places;
        char *lied = checked(&arena, g, lower(&arena, g, plan));
        g_assert_cmpstr(lied, ==, truth);
        if (*truth)
            bad++;
        else
            clean++;
        g_free(truth);
        g_free(lied);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(clean, >=, 100);
    g_assert_cmpuint(bad, >, 5);
}

/* ---- stories of few bytes -------------------------------------------------------------------------------------------- */

enum { VALUES = 14, VIEWS = 4, EVENTS = 900 };

/* Reads and writes of a few values at a few places: the same bytes again, beside them, inside them, over their ends, none. */
struct scribe {
    uint64_t seed;
    const struct psc_graph *g;
    struct psc_value values[VALUES]; /* the last VIEWS are views */
    struct psc_buffer buffers[3];
    struct psc_event events[EVENTS], last[VALUES];
    uint32_t versions[VALUES], event_n;
};

static struct psc_event *add(struct scribe *s, enum psc_event_kind kind, int32_t position, uint32_t value)
{
    struct psc_event *e = &s->events[s->event_n++];
    *e = psc_event_blank(kind, position);
    e->node = position < 0 ? PSC_NONE : (psc_node)position;
    e->value = value;
    return e;
}

static uint32_t root_of(const struct scribe *s, uint32_t value)
{
    return s->values[value].is_view ? s->values[value].of : value;
}

/* As a graph would have it, but one in twenty goes wrong. */
static const struct psc_event *read_some(struct scribe *s, int32_t position, uint16_t operand)
{
    uint32_t value = pick(&s->seed, VALUES);
    const struct psc_event *w = &s->last[root_of(s, value)];
    const struct psc_value *v = &s->values[value];
    struct psc_event *e = add(s, PSC_EV_READ, position, value);
    e->operand = operand;
    e->version = w->version;
    e->buffer = w->buffer;
    e->lo = w->lo + (v->is_view ? v->offset : 0);
    e->hi = v->is_view ? e->lo + v->bytes : w->hi;
    switch (pick(&s->seed, 60)) {
    case 0: e->version++; break;
    case 1: e->lo += e->lo < e->hi; break;
    case 2: e->hi = e->lo; break;
    default: break;
    }
    return e;
}

static void choose_place(struct scribe *s, struct psc_event *e, const struct psc_event *operand)
{
    const struct psc_event *other = &s->last[pick(&s->seed, VALUES - VIEWS)];
    uint64_t bytes = pick(&s->seed, 9);

    e->buffer = other->buffer;
    switch (pick(&s->seed, 7)) {
    case 0: e->lo = other->lo, e->hi = other->hi; break;
    case 1: e->lo = other->hi, e->hi = e->lo + bytes; break;
    case 2: e->lo = other->lo - MIN(other->lo, bytes), e->hi = other->lo; break;
    case 3: e->lo = other->lo + (other->hi - other->lo) / 3, e->hi = MAX(e->lo, other->hi - (other->hi > other->lo)); break;
    case 4: e->lo = other->lo + bytes / 2, e->hi = e->lo + bytes; break;
    case 5: e->lo = pick(&s->seed, 40), e->hi = e->lo + bytes, e->buffer = pick(&s->seed, G_N_ELEMENTS(s->buffers)); break;
    default:
        e->lo = operand ? operand->lo : 0, e->hi = operand ? operand->hi : 40;
        e->buffer = operand ? operand->buffer : e->buffer;
    }
    if (e->lo > 80)
        e->hi -= e->lo - 10, e->lo = 10;
}

static void write_some(struct scribe *s, enum psc_event_kind kind, int32_t position, uint32_t value, const struct psc_event *operand)
{
    struct psc_event *e = add(s, kind, position, value);
    if (kind == PSC_EV_FILL)
        e->buffer = value % 3, e->lo = 4 * value, e->hi = e->lo + 5;
    else
        choose_place(s, e, operand);
    e->version = s->versions[value]++;
    s->last[value] = *e;
}

/* One in fifty nodes reads more than what the checker takes at a time. */
static void act(struct scribe *s, int32_t position)
{
    const struct psc_event *operand = NULL;
    uint32_t reads = pick(&s->seed, 50) ? pick(&s->seed, 4) : 100 + pick(&s->seed, 80);
    for (uint32_t k = 0; k < reads; k++) {
        const struct psc_event *e = read_some(s, position, (uint16_t)k);
        operand = operand && pick(&s->seed, 2) ? operand : e;
    }
    for (uint32_t writes = pick(&s->seed, 9) ? 1 : pick(&s->seed, 4); writes; writes--)
        write_some(s, PSC_EV_WRITE, position, pick(&s->seed, VALUES - VIEWS), operand);
    if (pick(&s->seed, 2))
        add(s, PSC_EV_RELEASE, position, pick(&s->seed, VALUES));
}

static bool tell(struct psc_arena *arena, const struct psc_graph *g, uint64_t seed)
{
    static const char *const backends[] = {"cpu"};
    static const struct psc_lane lanes[] = {{"cpu", 0}};
    struct scribe *s = g_new0(struct scribe, 1);
    int32_t position = 0;

    s->seed = seed;
    s->g = g;
    for (uint32_t i = 0; i < VALUES; i++) {
        s->values[i] = (struct psc_value){.node = i, .layer = -1, .of = PSC_NONE, .bytes = 5};
        if (i >= VALUES - VIEWS) {
            s->values[i].is_view = true;
            s->values[i].of = i % 3;
            s->values[i].offset = i % 4;
            s->values[i].bytes = 2;
        }
    }
    for (uint32_t b = 0; b < G_N_ELEMENTS(s->buffers); b++)
        s->buffers[b] = (struct psc_buffer){.id = b, .name = "b", .bytes = b ? 60 : UINT64_MAX};
    for (uint32_t i = 0; i < VALUES - VIEWS; i++)
        write_some(s, PSC_EV_FILL, -1, i, NULL);
    for (; s->event_n + 200 < EVENTS && position < (int32_t)g->n; position++)
        act(s, position);
    struct psc_story story = {.values = s->values, .buffers = s->buffers, .events = s->events, .lanes = lanes, .backends = backends,
                              .value_n = VALUES, .buffer_n = G_N_ELEMENTS(s->buffers), .event_n = s->event_n, .lane_n = 1,
                              .backend_n = 1, .position_n = (uint32_t)position};
    bool found = agree(arena, g, &story);
    g_free(s);
    return found;
}

static void test_few_bytes(void)
{
    struct random_graph_options shape = random_graph_plain;
    guint64 seed = test_seed();
    unsigned found = 0;

    shape.nodes = 120;
    for (unsigned i = 0; i < 400; i++) {
        struct psc_arena arena = {0};
        const struct psc_graph *g = random_graph(&arena, seed + i, &shape);
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, i);
        found += tell(&arena, g, seed + 900000 + i);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(found, >, 300);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/check/random/plans-with-and-without-faults", test_plans);
    g_test_add_func("/core/check/random/a-thousand-mutants-of-good-plans", test_mutants);
    g_test_add_func("/core/check/random/a-plan-that-lies-about-its-lives", test_lies);
    g_test_add_func("/core/check/random/stories-of-few-bytes", test_few_bytes);
    return g_test_run();
}
