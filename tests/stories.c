#include "tests/stories.h"

#include <glib.h>

/* One line of a story: what happens, to which value, in which buffer, to how many bytes. */
struct line {
    int32_t position;
    enum psc_event_kind kind;
    uint32_t value, buffer;
    uint64_t bytes;
    psc_node node;
    uint32_t peer;
    uint16_t operand, run;
};
#define NO PSC_NONE

static void tell(struct psc_story_builder *b, const struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct psc_event e = psc_event_blank(lines[i].kind, lines[i].position);
        e.value = lines[i].value;
        e.buffer = lines[i].buffer;
        e.hi = lines[i].bytes;
        e.node = lines[i].node;
        e.peer = lines[i].peer;
        e.operand = lines[i].operand;
        e.run = lines[i].run;
        if (e.buffer != PSC_NONE)
            e.generation = 0;
        psc_story_add_event(b, &e);
    }
}

static uint32_t add_value(struct psc_story_builder *b, enum psc_value_kind kind, const char *name, psc_node node,
                          uint64_t bytes, bool is_output)
{
    struct psc_value v = {.kind = kind, .backend = 0, .layer = -1, .node = node, .of = PSC_NONE};
    v.bytes = bytes;
    v.name = name;
    v.is_output = is_output;
    return psc_story_add_value(b, &v);
}

static uint32_t add_buffer(struct psc_story_builder *b, uint64_t id, const char *name, enum psc_role role,
                           uint64_t bytes, uint64_t base)
{
    struct psc_buffer buffer = {.id = id, .name = name, .backend = 0, .role = role, .bytes = bytes, .base = base};
    return psc_story_add_buffer(b, &buffer);
}

static struct psc_story *finish(struct psc_story_builder *b, struct psc_arena *arena)
{
    struct psc_story *story = NULL;
    struct psc_error err = {0};
    enum psc_status status = psc_story_builder_finish(b, arena, &story, &err);

    if (status)
        g_error("%s", err.text);
    psc_story_builder_free(b);
    return story;
}

struct test_story test_story_candela(struct psc_arena *arena, bool wrong)
{
    struct test_story ret = {0};
    struct psc_error err = {0};
    struct psc_builder *g = psc_builder_new();

    psc_builder_set_backend(g, "cpu");
    psc_node a = psc_builder_input(g, "a", PSC_F32, 4, 1), c = psc_builder_input(g, "b", PSC_F32, 4, 1);
    psc_node sum = psc_builder_binary(g, "sum", PSC_OP_ADD, a, c);
    psc_node x2 = psc_builder_unary(g, "x2", PSC_OP_SCALE, sum);
    psc_builder_output(g, x2);
    if (psc_builder_finish(g, arena, &ret.graph, &err))
        g_error("%s", err.text);
    psc_builder_free(g);

    struct psc_story_builder *b = psc_story_builder_new();
    psc_story_add_backend(b, "cpu");
    psc_story_add_lane(b, "host", PSC_BACKEND_NONE);
    uint32_t e0 = add_buffer(b, 0, "E0", PSC_ROLE_INPUT, 16, 0), e1 = add_buffer(b, 1, "E1", PSC_ROLE_INPUT, 16, 16);
    uint32_t s0 = add_buffer(b, 2, "s0", PSC_ROLE_POOL, 16, 32);
    uint32_t va = add_value(b, PSC_VALUE_FILL, "a", a, 16, false), vb = add_value(b, PSC_VALUE_FILL, "b", c, 16, false);
    uint32_t vs = add_value(b, PSC_VALUE_NODE, "sum", sum, 16, false);
    uint32_t vx = add_value(b, PSC_VALUE_NODE, "x2", x2, 16, true);
    const struct line lines[] = {
        {-1, PSC_EV_FILL, va, e0, 16, NO, NO, 0, 0},  {-1, PSC_EV_FILL, vb, e1, 16, NO, NO, 0, 0},
        {2, PSC_EV_ALLOC, vs, s0, 16, sum, NO, 0, 0}, {2, PSC_EV_READ, va, e0, 16, sum, NO, 0, 0},
        {2, PSC_EV_READ, vb, e1, 16, sum, NO, 1, 0},  {2, PSC_EV_WRITE, vs, s0, 16, sum, NO, 0, 0},
        {3, PSC_EV_READ, vs, wrong ? e1 : s0, 16, x2, NO, 0, 0},
        {3, PSC_EV_ALIAS, vx, s0, 16, x2, vs, 0, 0},  {3, PSC_EV_WRITE, vx, s0, 16, x2, NO, 0, 0},
        {4, PSC_EV_EXPORT, vx, s0, 16, NO, NO, 0, 0},
    };
    tell(b, lines, G_N_ELEMENTS(lines));
    psc_story_set_order(b, 4, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
    ret.story = finish(b, arena);
    return ret;
}

struct test_story test_story_arena(struct psc_arena *arena, bool wrong)
{
    struct test_story ret = {0};
    struct psc_story_builder *b = psc_story_builder_new();

    psc_story_add_backend(b, "cpu");
    psc_story_add_lane(b, "host", PSC_BACKEND_NONE);
    /* Sizes are the slots' largest: slot 1 begins with 128 bytes and grows. */
    uint32_t s0 = add_buffer(b, 0, "slot 0", PSC_ROLE_ARENA, 64, 0);
    uint32_t s1 = add_buffer(b, 1, "slot 1", PSC_ROLE_ARENA, 300, 64);
    uint32_t s2 = add_buffer(b, 2, "slot 2", PSC_ROLE_ARENA, 200, 364);
    uint32_t A = add_value(b, PSC_VALUE_NODE, "A", NO, 64, false), B = add_value(b, PSC_VALUE_NODE, "B", NO, 128, false);
    uint32_t C = add_value(b, PSC_VALUE_NODE, "C", NO, 48, false), D = add_value(b, PSC_VALUE_NODE, "D", NO, 200, true);
    uint32_t E = add_value(b, PSC_VALUE_NODE, "E", NO, 300, true), F = add_value(b, PSC_VALUE_NODE, "F", NO, 10, true);
    uint32_t G = add_value(b, PSC_VALUE_NODE, "G", NO, 1, false);
    const struct line lines[] = {
        {0, PSC_EV_ALLOC, A, s0, 64, NO, NO, 0, 0},      {0, PSC_EV_WRITE, A, s0, 64, NO, NO, 0, 0},
        {1, PSC_EV_ALLOC, B, s1, 128, NO, NO, 0, 0},     {1, PSC_EV_WRITE, B, s1, 128, NO, NO, 0, 0},
        {2, PSC_EV_HOST_READ, A, s0, 64, NO, NO, 0, 0},  {2, PSC_EV_RELEASE, A, s0, 64, NO, NO, 0, 0},
        {3, PSC_EV_ALLOC, C, s0, 48, NO, NO, 0, 0},      {3, PSC_EV_WRITE, C, s0, 48, NO, NO, 0, 0},
        {4, PSC_EV_HOST_READ, B, s1, 128, NO, NO, 0, 0}, {4, PSC_EV_RELEASE, B, s1, 128, NO, NO, 0, 0},
        {5, PSC_EV_HOST_READ, C, s0, 48, NO, NO, 0, 0},  {5, PSC_EV_RELEASE, C, s0, 48, NO, NO, 0, 0},
        {6, PSC_EV_ALLOC, D, s2, 200, NO, NO, 0, 0},     {6, PSC_EV_WRITE, D, s2, 200, NO, NO, 0, 0},
        {7, PSC_EV_GROW, NO, s1, 300, NO, NO, 0, 0},     {7, PSC_EV_ALLOC, E, s1, 300, NO, NO, 0, 0},
        {7, PSC_EV_WRITE, E, s1, 300, NO, NO, 0, 0},
        {8, PSC_EV_ALLOC, F, wrong ? s2 : s0, 10, NO, NO, 0, 0},
        {8, PSC_EV_WRITE, F, wrong ? s2 : s0, 10, NO, NO, 0, 0},
        {9, PSC_EV_REFUSE, G, NO, 0, NO, NO, 0, 0},
        {10, PSC_EV_HOST_READ, D, s2, 200, NO, NO, 0, 0},
        {10, PSC_EV_HOST_READ, E, s1, 300, NO, NO, 0, 0},
        {10, PSC_EV_HOST_READ, F, wrong ? s2 : s0, 10, NO, NO, 0, 0},
    };
    tell(b, lines, G_N_ELEMENTS(lines));
    psc_story_set_order(b, 10, NULL, NULL, PSC_EXEC_SERIAL, NULL, false);
    ret.story = finish(b, arena);
    return ret;
}

struct test_story test_story_leases(struct psc_arena *arena, bool wrong)
{
    struct test_story ret = {0};
    struct psc_story_builder *b = psc_story_builder_new();

    psc_story_add_backend(b, "cpu");
    psc_story_add_lane(b, "host", PSC_BACKEND_NONE);
    uint32_t io0 = add_buffer(b, 0, "io 0", PSC_ROLE_ARENA, 64, 0), io1 = add_buffer(b, 1, "io 1", PSC_ROLE_ARENA, 64, 64);
    uint32_t y1 = add_value(b, PSC_VALUE_NODE, "y1", NO, 64, true), y2 = add_value(b, PSC_VALUE_NODE, "y2", NO, 64, true);
    uint32_t y3 = add_value(b, PSC_VALUE_NODE, "y3", NO, 64, false);
    const struct line lines[] = {
        {0, PSC_EV_ALLOC, y1, io0, 64, NO, NO, 0, 0},
        {0, PSC_EV_WRITE, y1, io0, 64, NO, NO, 0, 0},
        {1, PSC_EV_EXPORT, y1, io0, 64, NO, NO, 0, 0}, /* lent to the caller */
        {2, PSC_EV_CLEAR, NO, NO, 0, NO, NO, 0, 0},    /* frees what is not lent: nothing */
        {3, PSC_EV_ALLOC, y2, wrong ? io0 : io1, 64, NO, NO, 0, 1},
        {3, PSC_EV_WRITE, y2, wrong ? io0 : io1, 64, NO, NO, 0, 1},
        {4, PSC_EV_HOST_READ, y1, io0, 64, NO, NO, 0, 1}, /* the caller looks at the first answer */
        {5, PSC_EV_RELEASE, y1, io0, 64, NO, NO, 0, 1},
        {5, PSC_EV_DROP, y1, io0, 64, NO, NO, 0, 1},
        {6, PSC_EV_ALLOC, y3, io0, 64, NO, NO, 0, 1},
        {6, PSC_EV_WRITE, y3, io0, 64, NO, NO, 0, 1},
        {7, PSC_EV_HOST_READ, y2, wrong ? io0 : io1, 64, NO, NO, 0, 1},
    };
    /* In the wrong story y3 would end y2 as well; it lies elsewhere there, so that one event alone is wrong. */
    struct line told[G_N_ELEMENTS(lines)];
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        told[i] = lines[i];
        if (wrong && told[i].value == y3)
            told[i].buffer = io1;
    }
    tell(b, told, G_N_ELEMENTS(told));
    psc_story_set_order(b, 7, NULL, NULL, PSC_EXEC_SERIAL, NULL, false);
    ret.story = finish(b, arena);
    return ret;
}
