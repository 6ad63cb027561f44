/* Which arena a session's values come from, and several runs with outputs held, dropped and exported. */
#include "core/plan/arena-context.h"
#include "tests/util.h"

#include <string.h>

struct session {
    struct psc_depot *exec, *io;
    struct psc_context c;
};

/* Values: 0 x, 1 t (inner), 2 y (declared), 3 z (declared). */
static void open_session(struct session *s, psc_arena_faults faults)
{
    static const uint32_t declared[] = {2, 3};
    struct psc_depot_options o = {.cap = PSC_ARENA_NO_CAP, .guards = PSC_ARENA_HARDENED, .faults = faults};
    struct psc_depot **stores[] = {&s->exec, &s->io};
    for (unsigned i = 0; i < 2; i++) {
        o.kind = (enum psc_depot_kind)i;
        g_assert_cmpint(psc_depot_new(&o, stores[i], NULL), ==, PSC_OK);
    }
    g_assert_cmpint(psc_context_init(&s->c, s->exec, s->io, 4, declared, 2, NULL), ==, PSC_OK);
}

static void close_session(struct session *s)
{
    psc_context_release(&s->c);
    g_assert_cmpint(psc_depot_close(&s->exec, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_depot_close(&s->io, NULL), ==, PSC_OK);
}

static struct psc_depot_figures exec_of(const struct session *s) { return psc_depot_figures(s->exec); }
static struct psc_depot_figures io_of(const struct session *s) { return psc_depot_figures(s->io); }

/* A node that writes `n` outputs of 64 bytes, with 32 bytes of workspace. */
static enum psc_status node(struct session *s, const uint32_t *outputs, uint32_t n, struct psc_error *error)
{
    unsigned char *memory;
    enum psc_status status = psc_context_begin_node(&s->c, outputs, n, error);
    for (uint32_t i = 0; i < n && !status; i++) {
        status = psc_context_output(&s->c, i, 64, &memory, error);
        if (!status)
            memset(memory, (int)outputs[i], 64);
    }
    if (!status)
        status = psc_context_temporary(&s->c, 32, &memory, error);
    return status ? status : psc_context_end_node(&s->c, error);
}

static void test_mixed(void)
{
    static const uint32_t orders[2][2] = {{2, 1}, {1, 2}};
    for (unsigned o = 0; o < 2; o++) {
        struct session s;
        unsigned char *memory;
        struct psc_error error = {0};
        open_session(&s, 0);
        g_assert_cmpint(node(&s, orders[o], 2, &error), ==, PSC_OK);
        g_assert_cmpuint(io_of(&s).live, ==, 64);
        g_assert_cmpuint(exec_of(&s).live, ==, 64);
        g_assert_cmpuint(exec_of(&s).peak, ==, 96); /* the workspace, too */
        g_assert_cmpuint(io_of(&s).peak, ==, 64);
        g_assert_cmpuint(psc_context_counters(&s.c).copied, ==, 0);
        /* roles are gone, an output that nobody asked for is none */
        g_assert_cmpint(psc_context_output(&s.c, 0, 8, &memory, &error), ==, PSC_ERR_USAGE);
        static const uint32_t unasked[] = {3, PSC_NONE};
        g_assert_cmpint(psc_context_begin_node(&s.c, unasked, 2, &error), ==, PSC_OK);
        g_assert_cmpint(psc_context_output(&s.c, 1, 8, &memory, &error), ==, PSC_ERR_USAGE);
        g_assert_nonnull(strstr(error.text, "temporary"));
        g_assert_cmpint(psc_context_end_node(&s.c, &error), ==, PSC_OK);
        close_session(&s);
    }
}

static void test_inputs(void)
{
    struct session s;
    unsigned char mine[16] = "caller's bytes";
    open_session(&s, 0);
    g_assert_cmpint(psc_context_borrow(&s.c, 0, mine, sizeof mine, NULL), ==, PSC_OK);
    g_assert_true(s.c.tensors[0].memory == mine);
    g_assert_cmpuint(io_of(&s).blocks + exec_of(&s).blocks, ==, 0);
    psc_context_clear(&s.c);
    g_assert_cmpuint(io_of(&s).free_n + exec_of(&s).free_n, ==, 0); /* it is in no free list */
    g_assert_cmpstr((char *)mine, ==, "caller's bytes");
    g_assert_cmpint(psc_context_stage(&s.c, 0, mine, sizeof mine, NULL), ==, PSC_OK);
    g_assert_cmpuint(io_of(&s).live, ==, 16);
    g_assert_cmpint(psc_depot_slots(s.io)[s.c.tensors[0].handle.ticket.slot].owner, ==, PSC_OWNER_BINDING);
    g_assert_cmpuint(psc_context_counters(&s.c).copied, ==, 16);
    g_assert_cmpint(psc_context_borrow(&s.c, 0, mine, 1, NULL), ==, PSC_ERR_USAGE); /* a second memory */
    close_session(&s);
}

static void run(struct session *s)
{
    static const uint32_t first[] = {1}, second[] = {2, 3};
    struct psc_error error = {0};
    g_assert_cmpint(node(s, first, 1, &error), ==, PSC_OK);
    g_assert_cmpint(node(s, second, 2, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_drop(&s->c, 1, &error), ==, PSC_OK);
}

/* After one warm-up a run asks the heap for nothing; an output held longer costs one block more, once. */
static void test_runs(void)
{
    struct session s;
    struct psc_block_handle held[3] = {0};
    struct psc_error error = {0};
    open_session(&s, 0);
    for (unsigned r = 0; r < 6; r++) {
        run(&s);
        g_assert_cmpuint(psc_context_counters(&s.c).system_allocs, ==, r == 0 ? 4 : r == 3 ? 1 : 0);
        g_assert_cmpuint(psc_context_counters(&s.c).copied, ==, 0);
        g_assert_cmpuint(psc_context_counters(&s.c).peak_exec, ==, 96);
        if (r == 2) {
            unsigned char *memory = s.c.tensors[2].memory;
            g_assert_cmpint(psc_context_export(&s.c, 2, &held[0], &error), ==, PSC_OK);
            g_assert_true(held[0].ticket.memory == memory);
        }
        psc_context_clear(&s.c);
        if (r >= 2) /* neither clear nor a later run touches it */
            for (unsigned i = 0; i < 64; i++)
                g_assert_cmpuint(held[0].ticket.memory[i], ==, 2);
    }
    g_assert_cmpint(psc_context_export(&s.c, 1, &held[1], &error), ==, PSC_ERR_USAGE);
    close_session(&s); /* the arena lives on by its lease */
    g_assert_cmpuint(held[0].ticket.memory[63], ==, 2);
    psc_block_handle_reset(&held[0], NULL);
}

/* A node whose kernel is a graph: its value crosses without a copy. */
static void test_child(void)
{
    struct session s;
    struct psc_context child;
    struct psc_error error = {0};
    static const uint32_t outputs[] = {2}, inner[] = {0}, crossing[] = {1}, declared[] = {1};
    unsigned char *memory = NULL;
    open_session(&s, 0);
    g_assert_cmpint(psc_context_begin_node(&s.c, outputs, 1, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_init(&child, s.exec, s.io, 2, declared, 1, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_begin_node(&child, inner, 1, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_output(&child, 0, 40, &memory, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_end_node(&child, &error), ==, PSC_OK);
    g_assert_cmpuint(exec_of(&s).live, ==, 40); /* the parent's roles do not reach it */
    g_assert_cmpint(psc_context_begin_node(&child, crossing, 1, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_output(&child, 0, 24, &memory, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_end_node(&child, &error), ==, PSC_OK);
    g_assert_cmpint(psc_context_hand_over(&child, 1, &s.c, 2, &error), ==, PSC_OK);
    psc_context_release(&child);
    g_assert_cmpint(psc_context_end_node(&s.c, &error), ==, PSC_OK);
    g_assert_true(s.c.tensors[2].memory == memory);
    g_assert_cmpuint(exec_of(&s).live, ==, 0);
    g_assert_cmpuint(io_of(&s).live, ==, 24);
    g_assert_cmpuint(psc_context_counters(&s.c).copied, ==, 0);
    close_session(&s);
}

static void test_faults(void)
{
    static const uint32_t declared[] = {2}, inner[] = {1};
    struct session s;
    struct psc_error error = {0};
    open_session(&s, PSC_ARENA_BIT(PSC_ARENA_A12));
    g_assert_cmpint(node(&s, declared, 1, &error), ==, PSC_OK);
    g_assert_cmpint(node(&s, inner, 1, &error), ==, PSC_ERR_RUN); /* the last node's role is still there */
    g_assert_nonnull(strstr(error.text, "belongs into the exec arena"));
    close_session(&s);
    open_session(&s, PSC_ARENA_BIT(PSC_ARENA_A13));
    g_assert_cmpint(node(&s, declared, 1, &error), ==, PSC_OK);
    g_assert_cmpuint(io_of(&s).retained, ==, 32); /* scratch where outputs live */
    close_session(&s);
}

static enum psc_status once(void *data)
{
    static const uint32_t declared[] = {1}, outputs[] = {1, 0};
    struct psc_depot *exec = NULL, *io = NULL;
    struct psc_context c = {0};
    struct psc_block_handle held = {0};
    unsigned char *memory;
    struct psc_error *e = data;
    enum psc_status status = psc_depot_new(&(struct psc_depot_options){.kind = PSC_DEPOT_EXEC, .cap = 9}, &exec, e);
    if (!status)
        status = psc_depot_new(&(struct psc_depot_options){.kind = PSC_DEPOT_IO, .cap = 9}, &io, e);
    if (!status)
        status = psc_context_init(&c, exec, io, 2, declared, 1, e);
    if (!status)
        status = psc_context_begin_node(&c, outputs, 2, e);
    if (!status)
        status = psc_context_output(&c, 0, 8, &memory, e);
    if (!status)
        status = psc_context_temporary(&c, 8, &memory, e);
    if (!status)
        status = psc_context_end_node(&c, e);
    if (!status)
        status = psc_context_export(&c, 1, &held, e);
    psc_context_release(&c);
    psc_depot_unref(exec);
    psc_depot_unref(io);
    psc_block_handle_reset(&held, NULL);
    return status;
}

static void test_oom(void)
{
    struct psc_error error = {0};
    g_assert_cmpuint(test_oom_loop(once, &error), >, 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/arena-context/outputs-by-slot-and-workspaces-apart", test_mixed);
    g_test_add_func("/arena-context/inputs-borrowed-and-staged", test_inputs);
    g_test_add_func("/arena-context/runs-with-an-output-held", test_runs);
    g_test_add_func("/arena-context/a-child-graph-copies-nothing", test_child);
    g_test_add_func("/arena-context/faults-of-routing", test_faults);
    g_test_add_func("/arena-context/oom", test_oom);
    return g_test_run();
}
