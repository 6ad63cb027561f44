/* Arenas at run time: blocks, handles, leases, the seven invariants. */
#include "core/base/hash.h"
#include "core/plan/arena-check.h"
#include "core/plan/arena-handle.h"
#include "tests/util.h"

#include <string.h>

static struct psc_depot *make(enum psc_depot_kind kind, uint32_t slots, uint64_t cap, unsigned guards)
{
    struct psc_depot *s = NULL;
    g_assert_cmpint(psc_depot_new(&(struct psc_depot_options){.kind = kind, .slot_max = slots, .cap = cap, .guards = guards},
                                  &s, NULL), ==, PSC_OK);
    return s;
}

static struct psc_ticket take(struct psc_depot *s, uint64_t bytes)
{
    struct psc_ticket t = {0};
    g_assert_cmpint(psc_depot_alloc(s, bytes, PSC_OWNER_TENSOR, &t, NULL), ==, PSC_OK);
    return t;
}

static void give(struct psc_depot *s, struct psc_ticket t)
{
    g_assert_cmpint(psc_depot_free(s, t, NULL), ==, PSC_OK);
}

static void assert_sizes(const struct psc_depot *s, uint64_t live, uint64_t retained)
{
    g_assert_cmpuint(psc_depot_figures(s).live, ==, live);
    g_assert_cmpuint(psc_depot_figures(s).retained, ==, retained);
}

/* ---- the arena that keeps nothing ---------------------------------------------------------------------- */

static void test_simple(void)
{
    struct psc_depot *s = make(PSC_DEPOT_SIMPLE, 3, PSC_ARENA_NO_CAP, PSC_ARENA_UPSTREAM);
    g_assert_cmpuint(psc_depot_figures(s).slot_n, ==, 3);
    assert_sizes(s, 0, 0);
    g_assert_cmpuint(psc_depot_figures(s).peak, ==, 0);
    psc_depot_reset_peak(s);
    g_assert_cmpuint(psc_depot_figures(s).peak, ==, 0);
    struct psc_ticket a = take(s, 10), b = take(s, 20), c, d;
    g_assert_true(a.memory != b.memory);
    g_assert_cmpuint(psc_depot_slots(s)[b.slot].bytes, ==, 20);
    g_assert_cmpuint(psc_depot_figures(s).live_n, ==, 2);
    assert_sizes(s, 30, 0);
    give(s, a);
    assert_sizes(s, 20, 0);
    g_assert_cmpuint(psc_depot_figures(s).unused_n, ==, 2);
    c = take(s, 50);
    g_assert_cmpuint(c.slot, ==, a.slot);
    g_assert_cmpuint(psc_depot_figures(s).peak, ==, 70);
    give(s, c);
    psc_depot_reset_peak(s);
    g_assert_cmpuint(psc_depot_figures(s).peak, ==, 20);
    c = take(s, 1);
    d = take(s, 1);
    struct psc_ticket no = {.slot = 77};
    struct psc_error error = {0};
    g_assert_cmpint(psc_depot_alloc(s, 1, PSC_OWNER_TENSOR, &no, &error), ==, PSC_ERR_NOMEM);
    g_assert_nonnull(strstr(error.text, "all 3 slots"));
    g_assert_cmpuint(no.slot, ==, 77); /* untouched */
    no.memory = (unsigned char *)&no;
    g_assert_cmpint(psc_depot_free(s, no, &error), ==, PSC_ERR_USAGE);
    give(s, b);
    give(s, c);
    give(s, d);
    psc_depot_unref(s);
}

/* ---- both arenas --------------------------------------------------------------------------------------- */

static void test_reuse(const void *data)
{
    struct psc_depot *s = make(GPOINTER_TO_INT(data), 4, PSC_ARENA_NO_CAP, PSC_ARENA_UPSTREAM);
    struct psc_ticket a = take(s, 64);
    a.memory[0] = 0x5a;
    give(s, a);
    struct psc_ticket b = take(s, 32);
    g_assert_true(b.memory == a.memory);
    g_assert_cmpuint(b.memory[0], ==, 0x5a); /* bytes are never zeroed */
    g_assert_cmpuint(b.capacity, ==, 64);
    struct psc_ticket c = take(s, 128);
    give(s, c);
    give(s, b);
    b = take(s, 48); /* of 64 and 128 the smallest that is enough */
    g_assert_true(b.memory == a.memory);
    give(s, b);
    psc_depot_trim(s);
    struct psc_ticket x = take(s, 64), y = take(s, 64);
    give(s, x);
    give(s, y);
    g_assert_true(take(s, 64).memory == y.memory); /* of one size the one freed last */
    psc_depot_unref(s);
}

static void test_trace(const void *data)
{
    struct psc_depot *s = make(GPOINTER_TO_INT(data), 3, PSC_ARENA_NO_CAP, PSC_ARENA_UPSTREAM);
    struct psc_ticket a = take(s, 64), b = take(s, 128), c, d, e, f, g;
    g_assert_cmpuint(a.slot, ==, 0);
    g_assert_cmpuint(b.slot, ==, 1);
    assert_sizes(s, 192, 0);
    give(s, a);
    assert_sizes(s, 128, 64);
    c = take(s, 48);
    g_assert_cmpuint(c.slot, ==, 0);
    assert_sizes(s, 176, 0);
    g_assert_cmpuint(psc_depot_figures(s).live_capacity - psc_depot_figures(s).live, ==, 16); /* slack, told apart */
    give(s, b);
    give(s, c);
    assert_sizes(s, 0, 192);
    g_assert_cmpuint(psc_depot_oldest(s), ==, 1);
    d = take(s, 200);
    g_assert_cmpuint(d.slot, ==, 2);
    assert_sizes(s, 200, 192);
    e = take(s, 300);
    g_assert_cmpuint(e.slot, ==, 1);
    g_assert_cmpuint(e.capacity, ==, 300);
    assert_sizes(s, 500, 64);
    f = take(s, 10);
    g_assert_cmpuint(f.slot, ==, 0);
    assert_sizes(s, 510, 0);
    g_assert_cmpint(psc_depot_alloc(s, 1, PSC_OWNER_TENSOR, &g, NULL), ==, PSC_ERR_NOMEM);
    assert_sizes(s, 510, 0);
    g_assert_cmpuint(psc_depot_figures(s).peak, ==, 510);
    psc_depot_unref(s);
}

static void test_evict(const void *data)
{
    struct psc_depot *s = make(GPOINTER_TO_INT(data), 8, PSC_ARENA_NO_CAP, PSC_ARENA_HARDENED);
    g_assert_cmpuint(psc_depot_options(s)->cap, ==, PSC_ARENA_NO_CAP);
    struct psc_ticket x = take(s, 100), y = take(s, 50), z = take(s, 70);
    give(s, x);
    give(s, y);
    give(s, z);
    assert_sizes(s, 0, 220);
    psc_depot_set_cap(s, 120);
    assert_sizes(s, 0, 120);
    g_assert_cmpuint(psc_depot_slots(s)[x.slot].state, ==, PSC_SLOT_UNUSED);
    g_assert_cmpuint(psc_depot_slots(s)[y.slot].state, ==, PSC_SLOT_FREE);
    g_assert_cmpuint(psc_depot_trim(s), ==, 120);
    g_assert_cmpuint(psc_depot_trim(s), ==, 0);
    psc_depot_set_cap(s, 256);
    struct psc_ticket p = take(s, 64), q = take(s, 64), r = take(s, 64), big = take(s, 300);
    give(s, p);
    give(s, q);
    give(s, r);
    assert_sizes(s, 300, 192);
    give(s, big); /* larger than the cap: everything goes */
    assert_sizes(s, 0, 0);
    g_assert_cmpuint(psc_depot_figures(s).evicted, ==, 5);
    psc_depot_set_cap(s, 0);
    p = take(s, 8); /* what is in use is never evicted */
    p.memory[7] = 1;
    psc_depot_trim(s);
    assert_sizes(s, 8, 0);
    give(s, p);
    assert_sizes(s, 0, 0);
    psc_depot_unref(s);
}

static void test_refuse(const void *data)
{
    struct psc_depot *s = make(GPOINTER_TO_INT(data), 2, PSC_ARENA_NO_CAP, PSC_ARENA_UPSTREAM), *o = make(PSC_DEPOT_IO, 2, 0, 0);
    struct psc_error error = {0};
    struct psc_ticket a = take(s, 10), b = take(s, 20), no;
    g_assert_cmpint(psc_depot_alloc(s, 1, PSC_OWNER_TENSOR, &no, NULL), ==, PSC_ERR_NOMEM);
    g_assert_cmpuint(psc_depot_figures(s).peak, ==, 30);
    g_assert_cmpint(psc_depot_free(o, a, &error), ==, PSC_ERR_USAGE); /* of the other arena */
    g_assert_nonnull(strstr(error.text, "no block has this address"));
    give(s, a);
    g_assert_cmpint(psc_depot_free(s, a, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "given back already"));
    assert_sizes(s, 20, 10);
    give(s, b);
    psc_depot_unref(s);
    psc_depot_unref(o);
}

static void test_grow(void)
{
    struct psc_depot *s = make(PSC_DEPOT_EXEC, 1, PSC_ARENA_NO_CAP, PSC_ARENA_UPSTREAM);
    give(s, take(s, 16));
    struct psc_ticket t = take(s, 256);
    g_assert_cmpuint(t.capacity, ==, 256);
    g_assert_cmpuint(psc_depot_figures(s).grown, ==, 1);
    memset(t.memory, 1, 256);
    psc_depot_unref(s);
}

static void test_guards(void)
{
    struct psc_depot *up = make(PSC_DEPOT_EXEC, 4, PSC_ARENA_NO_CAP, PSC_ARENA_UPSTREAM),
                     *hard = make(PSC_DEPOT_EXEC, 4, PSC_ARENA_NO_CAP, PSC_ARENA_HARDENED);
    struct psc_ticket old = take(up, 32);
    struct psc_error error = {0};
    give(up, old);
    take(up, 32);
    give(up, old); /* nobody sees that it is stale: the new owner's block goes */
    assert_sizes(up, 0, 32);
    old = take(hard, 32);
    g_assert_cmpuint((uintptr_t)old.memory % 64, ==, 0);
    give(hard, old);
    g_assert_cmpuint(old.memory[0], ==, PSC_ARENA_POISON);
    old.memory[3] = 0; /* written after it was given back */
    take(hard, 32);
    g_assert_cmpuint(psc_depot_figures(hard).stale_writes, ==, 1);
    g_assert_cmpint(psc_depot_free(hard, old, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "stale"));
    assert_sizes(hard, 32, 0);
    psc_depot_unref(up);
    psc_depot_unref(hard);
}

/* ---- handles and leases -------------------------------------------------------------------------------- */

static void test_leases(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 4, PSC_ARENA_NO_CAP, PSC_ARENA_HARDENED);
    struct psc_error error = {0};
    struct psc_block_handle h = {0}, moved = {0}, out = {0}, again = {0};
    struct psc_lease l = {0}, m = {0}, n = {0};
    g_assert_cmpint(psc_block_handle_build(s, (struct psc_ticket){0}, &h, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(psc_block_handle_build_leased(&l, &h, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(psc_block_handle_export(s, &h, &out, &error), ==, PSC_ERR_USAGE); /* empty */
    g_assert_cmpint(psc_block_handle_alloc(s, 40, PSC_OWNER_TENSOR, &h, &error), ==, PSC_OK);
    unsigned char *memory = h.ticket.memory;
    psc_block_handle_move(&moved, &h);
    psc_block_handle_move(&moved, &moved);
    g_assert_cmpint(h.state, ==, PSC_HANDLE_EMPTY);
    g_assert_true(moved.ticket.memory == memory);
    g_assert_cmpint(psc_block_handle_export(s, &moved, &out, &error), ==, PSC_OK);
    g_assert_true(out.ticket.memory == memory); /* no byte moved */
    g_assert_cmpint(psc_block_handle_export(s, &out, &again, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(out.state, ==, PSC_HANDLE_LEASED); /* it keeps its lease */
    g_assert_cmpint(psc_depot_free(s, out.ticket, &error), ==, PSC_ERR_USAGE);
    struct psc_ticket twice = out.ticket;
    g_assert_cmpint(psc_depot_export(s, &twice, &error), ==, PSC_ERR_USAGE);
    assert_sizes(s, 40, 0);
    g_assert_cmpuint(psc_depot_figures(s).leased_n, ==, 1);
    psc_depot_set_cap(s, 0); /* what is lent is never evicted */
    psc_depot_trim(s);
    assert_sizes(s, 40, 0);
    psc_depot_set_cap(s, PSC_ARENA_NO_CAP);
    g_assert_cmpint(psc_block_handle_retain(&out, &l, &error), ==, PSC_OK);
    psc_lease_move(&m, &l);
    g_assert_null(l.store);
    g_assert_cmpint(psc_lease_share(&m, &n, &error), ==, PSC_OK);
    psc_block_handle_reset(&out, NULL);
    psc_lease_reset(&m);
    psc_lease_reset(&m);
    assert_sizes(s, 40, 0);
    g_assert_cmpint(psc_depot_close(&s, &error), ==, PSC_OK); /* the lease keeps the arena */
    g_assert_cmpuint(psc_depot_refs(n.store), ==, 1);
    n.ticket.memory[39] = 3;
    g_assert_cmpuint(psc_depot_figures(n.store).live, ==, 40);
    psc_lease_reset(&n); /* and with the last one it goes */
}

/* Which of context, session and array goes first, is free; what is illegal is refused. */
static void test_destruction(void)
{
    static const char *const orders[] = {"csa", "cas", "acs", "sca", "sac", "asc"};
    for (unsigned o = 0; o < G_N_ELEMENTS(orders); o++) {
        struct psc_depot *s = make(PSC_DEPOT_IO, 0, PSC_ARENA_NO_CAP, PSC_ARENA_HARDENED);
        struct psc_block_handle tensor = {0}, array = {0};
        struct psc_error error = {0};
        g_assert_cmpint(psc_block_handle_alloc(s, 24, PSC_OWNER_TENSOR, &tensor, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_block_handle_export(s, &tensor, &array, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_block_handle_alloc(s, 8, PSC_OWNER_TENSOR, &tensor, NULL), ==, PSC_OK); /* a plain one */
        memset(array.ticket.memory, 7, 24);
        for (const char *c = orders[o]; *c; c++) {
            if (array.state)
                g_assert_cmpuint(array.ticket.memory[23], ==, 7);
            if (*c == 'a') {
                psc_block_handle_reset(&array, NULL);
            } else if (*c == 'c') {
                psc_block_handle_reset(&tensor, NULL);
            } else if (tensor.state) { /* the session before its tensors: illegal */
                g_assert_cmpint(psc_depot_close(&s, &error), ==, PSC_ERR_USAGE);
                g_assert_nonnull(s);
            } else {
                g_assert_cmpint(psc_depot_close(&s, &error), ==, PSC_OK);
            }
        }
        g_assert_cmpint(psc_depot_close(&s, &error), ==, PSC_OK);
    }
}

/* ---- random operations against a model that searches everything --------------------------------------------- */

struct model_block { uint64_t capacity, bytes, freed; struct psc_block_handle handle; int state; }; /* 0 none, 1 used, 2 free */

static void test_random(void)
{
    guint64 seed = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t random = seed + round, clock = 0, cap = round % 4 ? 600 : PSC_ARENA_NO_CAP;
        struct psc_depot *s = make(round & 1, 0, cap, round & 2 ? PSC_ARENA_HARDENED : 0);
        struct model_block blocks[512] = {0};
        unsigned n = 0;
        for (unsigned step = 0; step < 300; step++) {
            uint64_t bytes = psc_random_next(&random) % 100, live = 0, retained = 0;
            unsigned pick = n ? (unsigned)(psc_random_next(&random) % n) : 0, best = n;
            if (!n || psc_random_next(&random) % 2) {
                for (unsigned i = 0; i < n; i++)
                    if (blocks[i].state == 2 && blocks[i].capacity >= bytes &&
                        (best == n || blocks[i].capacity < blocks[best].capacity ||
                         (blocks[i].capacity == blocks[best].capacity && blocks[i].freed > blocks[best].freed)))
                        best = i;
                if (best == n)
                    blocks[n++].capacity = bytes;
                blocks[best].state = 1;
                blocks[best].bytes = bytes;
                g_assert_cmpint(psc_block_handle_alloc(s, bytes, PSC_OWNER_TENSOR, &blocks[best].handle, NULL), ==, PSC_OK);
                g_assert_cmpuint(blocks[best].handle.ticket.capacity, ==, blocks[best].capacity);
                if (round & 1 && step % 3 == 0) {
                    struct psc_block_handle lent = {0};
                    g_assert_cmpint(psc_block_handle_export(s, &blocks[best].handle, &lent, NULL), ==, PSC_OK);
                    psc_block_handle_move(&blocks[best].handle, &lent);
                }
            } else if (blocks[pick].state == 1) {
                blocks[pick].state = 2;
                blocks[pick].freed = ++clock;
                g_assert_cmpint(psc_block_handle_reset(&blocks[pick].handle, NULL), ==, PSC_OK);
            }
            for (;;) { /* over the cap the one freed first goes */
                unsigned oldest = n;
                retained = 0;
                for (unsigned i = 0; i < n; i++)
                    if (blocks[i].state == 2) {
                        retained += blocks[i].capacity;
                        oldest = oldest == n || blocks[i].freed < blocks[oldest].freed ? i : oldest;
                    }
                if (retained <= cap)
                    break;
                blocks[oldest].state = 0;
            }
            struct psc_arena_claim claims[512];
            struct psc_arena_state state = {.stores = {s, NULL}, .claims = claims};
            for (unsigned i = 0; i < n; i++)
                if (blocks[i].state == 1) {
                    const struct psc_block_handle *h = &blocks[i].handle;
                    live += blocks[i].bytes;
                    claims[state.claim_n++] = (struct psc_arena_claim){
                        .store = s, .ticket = h->ticket, .leased = h->state == PSC_HANDLE_LEASED, .origin = h->ticket.memory,
                        .canary = psc_arena_canary(h->ticket.memory, h->ticket.bytes)};
                }
            struct psc_arena_verdict v;
            assert_sizes(s, live, retained);
            g_assert_cmpint(psc_arena_check(&state, &v, NULL), ==, PSC_OK);
            g_assert_cmpstr(v.text, ==, "");
            g_assert_cmpuint(v.broken, ==, 0);
        }
        for (unsigned i = 0; i < n; i++)
            psc_block_handle_reset(&blocks[i].handle, NULL);
        psc_depot_unref(s);
    }
}

/* ---- faults about sizes and order ---------------------------------------------------------------------------- */

static struct psc_depot *faulty(enum psc_arena_fault fault)
{
    struct psc_depot *s = NULL;
    g_assert_cmpint(psc_depot_new(&(struct psc_depot_options){.cap = PSC_ARENA_NO_CAP, .faults = PSC_ARENA_BIT(fault)}, &s, NULL),
                    ==, PSC_OK);
    return s;
}

static void test_other_faults(void)
{
    struct psc_depot *s = faulty(PSC_ARENA_A8);
    struct psc_ticket a = take(s, 128), b = take(s, 64);
    give(s, a);
    give(s, b);
    g_assert_true(take(s, 48).memory == a.memory); /* not the smallest */
    psc_depot_unref(s);
    s = faulty(PSC_ARENA_A9);
    give(s, take(s, 64));
    give(s, take(s, 8));
    g_assert_cmpuint(psc_depot_figures(s).retained, ==, 8);
    take(s, 64);
    g_assert_cmpuint(psc_depot_figures(s).system_allocs, ==, 2); /* where one would do */
    psc_depot_unref(s);
    s = faulty(PSC_ARENA_A10);
    a = take(s, 10);
    b = take(s, 20);
    give(s, a);
    give(s, b);
    psc_depot_set_cap(s, 20);
    g_assert_cmpuint(psc_depot_figures(s).retained, ==, 10); /* the one freed last went */
    psc_depot_unref(s);
    s = faulty(PSC_ARENA_A11);
    give(s, take(s, 10));
    struct psc_arena_state state = {.stores = {s, NULL}};
    struct psc_arena_verdict v;
    g_assert_cmpint(psc_arena_check(&state, &v, NULL), ==, PSC_OK);
    g_assert_cmpuint(v.broken, ==, 1); /* the sums */
    psc_depot_unref(s);
}

/* Arrays are dropped by one thread while another runs. */
static gpointer churn(gpointer data)
{
    struct psc_block_handle held[8] = {0};
    uint64_t random = (uintptr_t)&held;
    for (unsigned i = 0; i < 4000; i++) {
        struct psc_block_handle *h = &held[psc_random_next(&random) % 8], made = {0}, lent = {0};
        g_assert_cmpint(psc_block_handle_alloc(data, 1 + i % 50, PSC_OWNER_TENSOR, &made, NULL), ==, PSC_OK);
        made.ticket.memory[0] = 1;
        if (i % 2) {
            g_assert_cmpint(psc_block_handle_export(data, &made, &lent, NULL), ==, PSC_OK);
            psc_block_handle_move(h, &lent);
        } else {
            psc_block_handle_move(h, &made);
        }
    }
    for (unsigned i = 0; i < 8; i++)
        psc_block_handle_reset(&held[i], NULL);
    return NULL;
}

static void test_threads(void)
{
    struct psc_depot *s = make(PSC_DEPOT_IO, 0, 200, PSC_ARENA_HARDENED);
    GThread *thread = g_thread_new("churn", churn, s);
    churn(s);
    g_thread_join(thread);
    struct psc_arena_state state = {.stores = {s, NULL}};
    struct psc_arena_verdict v;
    g_assert_cmpint(psc_arena_check(&state, &v, NULL), ==, PSC_OK);
    g_assert_cmpstr(v.text, ==, "");
    g_assert_cmpuint(psc_depot_figures(s).live, ==, 0);
    g_assert_cmpuint(psc_depot_figures(s).stale_writes, ==, 0);
    g_assert_cmpuint(psc_depot_refs(s), ==, 1);
    psc_depot_unref(s);
}

static enum psc_status many_steps(void *data)
{
    struct psc_depot *s = NULL;
    struct psc_block_handle a = {0}, b = {0}, c = {0};
    struct psc_error error = {0};
    (void)data;
    enum psc_status status = psc_depot_new(&(struct psc_depot_options){.kind = PSC_DEPOT_IO, .cap = 100}, &s, &error);
    if (!status)
        status = psc_block_handle_alloc(s, 60, PSC_OWNER_TENSOR, &a, &error);
    if (!status)
        status = psc_block_handle_alloc(s, 70, PSC_OWNER_TENSOR, &b, &error);
    if (!status)
        status = psc_block_handle_export(s, &b, &c, &error);
    psc_block_handle_reset(&a, NULL);
    if (!status)
        status = psc_block_handle_alloc(s, 80, PSC_OWNER_BINDING, &a, &error);
    psc_block_handle_reset(&a, NULL);
    psc_block_handle_reset(&b, NULL);
    psc_depot_unref(s); /* the lease has its own reference */
    psc_block_handle_reset(&c, NULL);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(many_steps, NULL), >, 5);
}

int main(int argc, char **argv)
{
    static const struct { const char *path; GTestDataFunc test; } both[] = {
        {"reuses-the-smallest-that-is-enough", test_reuse}, {"worked-trace", test_trace},
        {"evicts-what-was-freed-first", test_evict}, {"refuses-what-is-not-its-own", test_refuse},
    };
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/arena/simple/keeps-nothing", test_simple);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < G_N_ELEMENTS(both); i++) {
            char *path = g_strdup_printf("/arena/%s/%s", psc_depot_kind_name((enum psc_depot_kind)k), both[i].path);
            g_test_add_data_func(path, GINT_TO_POINTER(k), both[i].test);
            g_free(path);
        }
    g_test_add_func("/arena/exec/grows-the-largest-when-slots-run-out", test_grow);
    g_test_add_func("/arena/modes/only-hardened-sees-stale-tickets-and-late-writes", test_guards);
    g_test_add_func("/arena/lease/pins-shares-and-keeps-the-arena", test_leases);
    g_test_add_func("/arena/lease/every-order-of-destruction", test_destruction);
    g_test_add_func("/arena/random/agrees-with-a-naive-model", test_random);
    g_test_add_func("/arena/faults/sizes-and-order", test_other_faults);
    g_test_add_func("/arena/modes/a-lock-lets-two-threads-in", test_threads);
    g_test_add_func("/arena/oom", test_oom);
    return g_test_run();
}
