/* The rules of both arenas, of handles and of contexts, one by one, as onnx-light's own tests state them; those that
 * tests/test-arena.c and tests/test-arena-context.c hold already are not repeated.
 *
 *     an allocator of nothing; one interface for all kinds    nothing
 *     a cap from the start, trim, slots after trim            kept
 *     export, return, reuse, moves, refusals                  lent
 *     no I/O arena, put, replace, remove, destroy             context
 *     exhaustion leaves what was committed                    exhausted
 */
#include "core/plan/arena-context.h"
#include "tests/util.h"

#include <string.h>

static struct psc_depot *make(enum psc_depot_kind kind, uint32_t slots, uint64_t cap)
{
    struct psc_depot *s = NULL;
    g_assert_cmpint(psc_depot_new(&(struct psc_depot_options){.kind = kind, .slot_max = slots, .cap = cap,
                                                              .guards = PSC_ARENA_HARDENED}, &s, NULL), ==, PSC_OK);
    return s;
}

static struct psc_ticket take(struct psc_depot *s, uint64_t bytes)
{
    struct psc_ticket t = {0};
    g_assert_cmpint(psc_depot_alloc(s, bytes, PSC_OWNER_TENSOR, &t, NULL), ==, PSC_OK);
    return t;
}

static const enum psc_depot_kind kinds[] = {PSC_DEPOT_EXEC, PSC_DEPOT_IO, PSC_DEPOT_SIMPLE};

/* ---- one interface ------------------------------------------------------------------------------------------------- */

static void test_nothing(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        struct psc_depot *s = NULL;
        struct psc_ticket t = {.slot = 9};
        struct psc_error error = {0};
        g_assert_cmpint(psc_depot_new(&(struct psc_depot_options){.kind = kinds[i], .none = true}, &s, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_depot_alloc(s, 1, PSC_OWNER_TENSOR, &t, &error), ==, PSC_ERR_NOMEM);
        g_assert_nonnull(strstr(error.text, "all 0 slots"));
        g_assert_cmpuint(t.slot, ==, 9);
        g_assert_cmpuint(psc_depot_figures(s).slot_n, ==, 0);
        g_assert_cmpuint(psc_depot_figures(s).refused, ==, 1);
        psc_depot_unref(s);
    }
}

static void test_one_interface(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        struct psc_depot *s = make(kinds[i], 2, PSC_ARENA_NO_CAP);
        struct psc_ticket a = take(s, 40);
        g_assert_cmpuint(psc_depot_figures(s).live, ==, 40);
        g_assert_cmpuint(psc_depot_figures(s).live_n, ==, 1);
        g_assert_cmpuint(psc_depot_slot_at(s, a.memory), ==, a.slot);
        g_assert_cmpint(psc_depot_free(s, a, NULL), ==, PSC_OK);
        g_assert_cmpuint(psc_depot_figures(s).live, ==, 0);
        g_assert_cmpuint(psc_depot_figures(s).peak, ==, 40);
        g_assert_cmpuint(psc_depot_figures(s).retained, ==, kinds[i] == PSC_DEPOT_SIMPLE ? 0 : 40);
        psc_depot_reset_peak(s);
        g_assert_cmpuint(psc_depot_figures(s).peak, ==, 0);
        take(s, 100); /* it grows again */
        g_assert_cmpuint(psc_depot_figures(s).peak, ==, 100);
        psc_depot_unref(s);
    }
}

/* An output of no bytes is a block like any other. */
static void test_empty_blocks(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 2, 0);
    struct psc_ticket a = take(s, 0), b = take(s, 0);
    g_assert_true(a.memory && b.memory && a.memory != b.memory);
    g_assert_cmpint(psc_depot_free(s, a, NULL), ==, PSC_OK); /* nothing is over a cap of nothing */
    g_assert_cmpuint(psc_depot_figures(s).free_n, ==, 1);
    g_assert_cmpint(psc_depot_free(s, b, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_depot_figures(s).evicted, ==, 0);
    g_assert_true(take(s, 0).memory == b.memory);
    psc_depot_unref(s);
}

/* ---- what is kept ---------------------------------------------------------------------------------------------------- */

static void test_cap_from_the_start(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct psc_depot *s = make(kinds[i], 4, 0);
        struct psc_ticket a = take(s, 64);
        memset(a.memory, 3, 64);
        psc_depot_set_cap(s, 0);
        g_assert_cmpuint(psc_depot_figures(s).live, ==, 64);
        g_assert_cmpuint(a.memory[63], ==, 3);
        g_assert_cmpint(psc_depot_free(s, a, NULL), ==, PSC_OK); /* and goes as soon as it is free */
        g_assert_cmpuint(psc_depot_figures(s).evicted, ==, 1);
        g_assert_cmpuint(psc_depot_figures(s).retained, ==, 0);
        psc_depot_unref(s);
    }
}

/* A cap below one block keeps none of that size, but smaller ones. */
static void test_cap_below_a_block(void)
{
    struct psc_depot *s = make(PSC_DEPOT_EXEC, 0, 100);
    struct psc_ticket small = take(s, 60), large = take(s, 101);
    g_assert_cmpint(psc_depot_free(s, large, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_depot_free(s, small, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_depot_figures(s).retained, ==, 60);
    psc_depot_unref(s);
}

static void test_trim(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct psc_depot *s = make(kinds[i], 3, PSC_ARENA_NO_CAP);
        struct psc_ticket a = take(s, 16), b = take(s, 32), live = take(s, 8);
        struct psc_lease lease = {0};
        memset(live.memory, 9, 8);
        g_assert_cmpint(psc_depot_free(s, a, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_depot_free(s, b, NULL), ==, PSC_OK);
        if (i) /* lent is left alone, too */
            g_assert_cmpint(psc_lease_export(s, live, &lease, NULL), ==, PSC_OK);
        g_assert_cmpuint(psc_depot_trim(s), ==, 48);
        g_assert_cmpuint(psc_depot_figures(s).free_n, ==, 0);
        g_assert_cmpuint(psc_depot_figures(s).trimmed, ==, 2);
        for (unsigned k = 0; k < 8; k++)
            g_assert_cmpuint(live.memory[k], ==, 9);
        take(s, 100); /* their slots can be used again */
        take(s, 200);
        g_assert_cmpuint(psc_depot_figures(s).slot_n, ==, 3);
        g_assert_cmpuint(psc_depot_figures(s).blocks, ==, 5);
        psc_lease_reset(&lease);
        psc_depot_unref(s);
    }
}

/* ---- what is lent ----------------------------------------------------------------------------------------------------- */

static void test_return(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 2, PSC_ARENA_NO_CAP);
    struct psc_ticket t = take(s, 64);
    struct psc_lease lease = {0}, moved = {0};
    g_assert_cmpint(psc_lease_export(s, t, &lease, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_depot_figures(s).live, ==, 64); /* still live, and nobody gets it */
    g_assert_cmpuint(psc_depot_figures(s).live_n, ==, 0);
    g_assert_cmpint(psc_depot_slots(s)[t.slot].owner, ==, PSC_OWNER_LEASE);
    struct psc_ticket other = take(s, 64);
    g_assert_true(other.memory != t.memory);
    g_assert_cmpint(psc_depot_free(s, other, NULL), ==, PSC_OK);
    psc_lease_move(&moved, &lease);
    psc_lease_reset(&lease); /* it is empty: nothing goes back */
    g_assert_cmpuint(psc_depot_figures(s).leased_n, ==, 1);
    psc_lease_reset(&moved);
    psc_lease_reset(&moved);
    g_assert_cmpuint(psc_depot_figures(s).leased_n, ==, 0);
    g_assert_cmpuint(psc_depot_figures(s).free_n, ==, 2);
    g_assert_true(take(s, 64).memory == t.memory); /* the one freed last */
    psc_depot_unref(s);
}

/* With a cap of nothing a block that comes back is evicted at once. */
static void test_return_over_the_cap(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 2, 0);
    struct psc_block_handle h = {0}, out = {0};
    g_assert_cmpint(psc_block_handle_alloc(s, 64, PSC_OWNER_TENSOR, &h, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_block_handle_export(s, &h, &out, NULL), ==, PSC_OK);
    memset(out.ticket.memory, 5, 64);
    psc_depot_set_cap(s, 0);
    g_assert_cmpuint(out.ticket.memory[0], ==, 5);
    psc_block_handle_reset(&out, NULL);
    g_assert_cmpuint(psc_depot_figures(s).evicted, ==, 1);
    g_assert_cmpuint(psc_depot_figures(s).unused_n, ==, 2);
    psc_depot_unref(s);
}

static void test_moves_of_lent_handles(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 4, PSC_ARENA_NO_CAP);
    struct psc_block_handle h = {0}, out = {0}, moved = {0}, second = {0};
    g_assert_cmpint(psc_block_handle_alloc(s, 24, PSC_OWNER_TENSOR, &h, NULL), ==, PSC_OK);
    unsigned char *memory = h.ticket.memory;
    g_assert_cmpint(psc_block_handle_export(s, &h, &out, NULL), ==, PSC_OK);
    g_assert_cmpint(h.state, ==, PSC_HANDLE_EMPTY);
    psc_block_handle_move(&moved, &out);
    g_assert_cmpint(out.state, ==, PSC_HANDLE_EMPTY);
    g_assert_cmpint(moved.state, ==, PSC_HANDLE_LEASED);
    g_assert_true(moved.ticket.memory == memory);
    psc_block_handle_reset(&out, NULL);
    g_assert_cmpuint(psc_depot_figures(s).leased_n, ==, 1);
    g_assert_cmpint(psc_block_handle_alloc(s, 8, PSC_OWNER_TENSOR, &second, NULL), ==, PSC_OK);
    psc_block_handle_move(&second, &moved); /* what the target had goes back first */
    g_assert_cmpuint(psc_depot_figures(s).live, ==, 24);
    g_assert_null(psc_block_handle_release(&second).memory); /* a lease hands out nothing: the block goes back */
    g_assert_cmpuint(psc_depot_figures(s).live, ==, 0);
    g_assert_cmpuint(psc_depot_refs(s), ==, 1);
    psc_depot_unref(s);
}

/* A plain handle can be given up: the address is the caller's, and the block still counts. */
static void test_release(void)
{
    struct psc_depot *s = make(PSC_DEPOT_EXEC, 4, PSC_ARENA_NO_CAP);
    struct psc_block_handle h = {0};
    g_assert_cmpint(psc_block_handle_alloc(s, 24, PSC_OWNER_BINDING, &h, NULL), ==, PSC_OK);
    struct psc_ticket t = psc_block_handle_release(&h);
    g_assert_cmpint(h.state, ==, PSC_HANDLE_EMPTY);
    g_assert_cmpuint(psc_depot_figures(s).live_n, ==, 1);
    g_assert_cmpint(psc_depot_slots(s)[t.slot].owner, ==, PSC_OWNER_BINDING);
    g_assert_cmpint(psc_depot_close(&s, NULL), ==, PSC_ERR_USAGE);
    g_assert_cmpint(psc_depot_free(s, t, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_depot_close(&s, NULL), ==, PSC_OK);
}

/* A handle of another arena, or of the execution arena, is refused and kept. */
static void test_foreign_handles(void)
{
    struct psc_depot *a = make(PSC_DEPOT_IO, 2, PSC_ARENA_NO_CAP), *b = make(PSC_DEPOT_IO, 2, PSC_ARENA_NO_CAP),
                     *exec = make(PSC_DEPOT_EXEC, 2, PSC_ARENA_NO_CAP);
    struct psc_block_handle h = {0}, scratch = {0}, out = {0};
    struct psc_error error = {0};
    g_assert_cmpint(psc_block_handle_alloc(a, 24, PSC_OWNER_TENSOR, &h, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_block_handle_export(b, &h, &out, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(h.state, ==, PSC_HANDLE_PLAIN); /* not lost as live for ever */
    g_assert_cmpint(psc_block_handle_alloc(exec, 24, PSC_OWNER_TENSOR, &scratch, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_block_handle_export(exec, &scratch, &out, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "I/O arena"));
    g_assert_cmpint(out.state, ==, PSC_HANDLE_EMPTY);
    psc_block_handle_reset(&h, NULL);
    psc_block_handle_reset(&scratch, NULL);
    g_assert_cmpint(psc_depot_close(&a, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_depot_close(&b, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_depot_close(&exec, NULL), ==, PSC_OK);
}

/* Three views of an output of a run: lent until the last one is gone, readable until then, and with it the arena goes. */
static void test_views(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 2, PSC_ARENA_NO_CAP);
    struct psc_block_handle h = {0}, out = {0};
    struct psc_lease views[3] = {0};
    g_assert_cmpint(psc_block_handle_alloc(s, 16, PSC_OWNER_TENSOR, &h, NULL), ==, PSC_OK);
    memset(h.ticket.memory, 3, 16);
    g_assert_cmpint(psc_block_handle_export(s, &h, &out, NULL), ==, PSC_OK);
    for (unsigned i = 0; i < 3; i++)
        g_assert_cmpint(psc_block_handle_retain(&out, &views[i], NULL), ==, PSC_OK);
    psc_block_handle_reset(&out, NULL);
    g_assert_cmpuint(psc_depot_refs(s), ==, 4);
    g_assert_cmpint(psc_depot_close(&s, NULL), ==, PSC_OK);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(views[i].ticket.memory[15], ==, 3);
        g_assert_cmpuint(psc_depot_figures(views[i].store).leased_n, ==, 1);
        g_assert_cmpuint(psc_depot_refs(views[i].store), ==, 3 - i);
        psc_lease_reset(&views[i]);
    }
}

/* ---- contexts ------------------------------------------------------------------------------------------------------------- */

static void test_no_io_arena(void)
{
    static const uint32_t declared[] = {1}, outputs[] = {1, 0};
    struct psc_depot *exec = make(PSC_DEPOT_EXEC, 0, PSC_ARENA_NO_CAP);
    struct psc_context c;
    struct psc_block_handle out = {0};
    struct psc_error error = {0};
    unsigned char *memory;
    g_assert_cmpint(psc_context_init(&c, exec, NULL, 2, declared, 1, NULL), ==, PSC_OK);
    g_assert_null(c.io);
    g_assert_true(c.exec == exec);
    g_assert_cmpint(psc_context_begin_node(&c, outputs, 2, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_context_output(&c, 0, 8, &memory, NULL), ==, PSC_OK); /* there is nowhere else */
    g_assert_cmpint(psc_context_output(&c, 1, 8, &memory, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_context_end_node(&c, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_depot_figures(exec).live_n, ==, 2);
    g_assert_cmpint(psc_context_export(&c, 1, &out, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "without an I/O arena"));
    psc_context_release(&c); /* gives back what it has */
    g_assert_cmpuint(psc_depot_figures(exec).live, ==, 0);
    g_assert_cmpuint(psc_depot_figures(exec).free_n, ==, 2);
    g_assert_cmpint(psc_depot_close(&exec, NULL), ==, PSC_OK);
}

static void test_put(void)
{
    static const uint32_t declared[] = {1};
    struct psc_depot *exec = make(PSC_DEPOT_EXEC, 0, PSC_ARENA_NO_CAP), *io = make(PSC_DEPOT_IO, 0, PSC_ARENA_NO_CAP);
    struct psc_context c;
    struct psc_error error = {0};
    unsigned char weights[32];
    memset(weights, 7, sizeof weights);
    g_assert_cmpint(psc_context_init(&c, exec, io, 3, declared, 1, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_context_borrow(&c, 0, weights, sizeof weights, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_context_put(&c, 2, c.tensors[0].memory, 32, NULL), ==, PSC_OK); /* an inner value that borrows */
    g_assert_cmpint(psc_context_put(&c, 1, c.tensors[0].memory, 16, NULL), ==, PSC_OK); /* an output that does */
    g_assert_true(c.tensors[2].memory != weights);
    g_assert_cmpuint(psc_depot_figures(exec).live, ==, 32);
    g_assert_cmpuint(psc_depot_figures(io).live, ==, 16);
    g_assert_cmpuint(psc_context_counters(&c).copied, ==, 48);
    memset(weights, 1, sizeof weights);
    g_assert_cmpuint(c.tensors[1].memory[15], ==, 7);
    g_assert_cmpint(psc_context_put(&c, 2, c.tensors[2].memory, 8, NULL), ==, PSC_OK); /* replaced: what it had goes back */
    g_assert_cmpuint(c.tensors[2].memory[7], ==, 7);
    g_assert_cmpuint(psc_depot_figures(exec).live, ==, 8);
    g_assert_cmpuint(psc_depot_figures(exec).retained, ==, 32);
    g_assert_cmpint(psc_context_put(&c, 0, "x", 1, NULL), ==, PSC_OK); /* a borrowed one is never given back to an arena */
    g_assert_cmpuint(weights[0], ==, 1);
    g_assert_cmpint(psc_context_drop(&c, 2, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_depot_figures(exec).live, ==, 1);
    g_assert_cmpint(psc_context_drop(&c, 2, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(psc_context_put(&c, 3, "x", 1, &error), ==, PSC_ERR_USAGE);
    psc_context_release(&c);
    g_assert_cmpuint(psc_depot_figures(exec).live + psc_depot_figures(io).live, ==, 0);
    g_assert_cmpint(psc_depot_close(&exec, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_depot_close(&io, NULL), ==, PSC_OK);
}

/* A tensor that grows over runs by moving into a larger block: where there is none left, its bytes stay as they are. */
static void test_exhausted(void)
{
    struct psc_depot *s = make(PSC_DEPOT_EXEC, 2, PSC_ARENA_NO_CAP);
    struct psc_block_handle state = {0}, larger = {0}, other = {0};
    struct psc_error error = {0};
    g_assert_cmpint(psc_block_handle_alloc(s, 8, PSC_OWNER_TENSOR, &state, NULL), ==, PSC_OK);
    memset(state.ticket.memory, 4, 8);
    g_assert_cmpint(psc_block_handle_alloc(s, 16, PSC_OWNER_TENSOR, &larger, NULL), ==, PSC_OK);
    memcpy(larger.ticket.memory, state.ticket.memory, 8);
    psc_block_handle_move(&state, &larger);
    memset(state.ticket.memory + 8, 5, 8);
    g_assert_cmpint(psc_block_handle_alloc(s, 8, PSC_OWNER_TENSOR, &other, NULL), ==, PSC_OK);
    struct psc_depot_figures before = psc_depot_figures(s);
    g_assert_cmpint(psc_block_handle_alloc(s, 32, PSC_OWNER_TENSOR, &larger, &error), ==, PSC_ERR_NOMEM);
    g_assert_cmpint(larger.state, ==, PSC_HANDLE_EMPTY);
    g_assert_cmpuint(psc_depot_figures(s).live, ==, before.live);
    for (unsigned i = 0; i < 16; i++)
        g_assert_cmpuint(state.ticket.memory[i], ==, i < 8 ? 4 : 5);
    psc_block_handle_reset(&other, NULL); /* the only free one grows */
    g_assert_cmpint(psc_block_handle_alloc(s, 32, PSC_OWNER_TENSOR, &larger, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_depot_figures(s).grown, ==, 1);
    psc_block_handle_reset(&larger, NULL);
    psc_block_handle_reset(&state, NULL);
    psc_depot_unref(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/arena/rules/an-arena-of-nothing-gives-nothing", test_nothing);
    g_test_add_func("/arena/rules/one-interface-for-all-kinds", test_one_interface);
    g_test_add_func("/arena/rules/blocks-of-no-bytes", test_empty_blocks);
    g_test_add_func("/arena/rules/kept/a-cap-from-the-start-evicts-nothing-in-use", test_cap_from_the_start);
    g_test_add_func("/arena/rules/kept/a-cap-below-one-block", test_cap_below_a_block);
    g_test_add_func("/arena/rules/kept/trim-leaves-what-is-in-use-and-frees-slots", test_trim);
    g_test_add_func("/arena/rules/lent/a-return-makes-the-block-free-once", test_return);
    g_test_add_func("/arena/rules/lent/a-return-over-the-cap", test_return_over_the_cap);
    g_test_add_func("/arena/rules/lent/moves-take-the-lease-along", test_moves_of_lent_handles);
    g_test_add_func("/arena/rules/lent/a-released-handle-still-counts", test_release);
    g_test_add_func("/arena/rules/lent/foreign-handles-are-refused-and-kept", test_foreign_handles);
    g_test_add_func("/arena/rules/lent/until-the-last-view", test_views);
    g_test_add_func("/arena/rules/context/without-an-io-arena", test_no_io_arena);
    g_test_add_func("/arena/rules/context/put-copies-what-is-borrowed-and-replaces", test_put);
    g_test_add_func("/arena/rules/exhaustion-leaves-what-was-committed", test_exhausted);
    return g_test_run();
}
