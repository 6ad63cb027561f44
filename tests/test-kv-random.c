/* Random lives of many sequences in one KV cache, against a naive model: what each sequence should read at each position,
 * an array of sets of readers, and the rows themselves, which only the returned work moves. */
#include "core/base/hash.h"
#include "core/plan/kv-runs.h"
#include "tests/util.h"

#include <string.h>

enum { SEQS = 6, CELLS_MAX = 48, BATCH_MAX = 12 };

struct row {
    uint32_t content; /* a number given when it was stored; 0 zeroed */
    int32_t turned;
};
struct model {
    struct psc_kv_runs runs;
    struct psc_kv_work work;
    struct row bytes[CELLS_MAX];              /* the K rows */
    uint32_t content[SEQS][2 * CELLS_MAX];    /* by position; 0: never written */
    int32_t turned[SEQS][2 * CELLS_MAX];
    uint32_t length[SEQS];                    /* one past the last position */
    uint32_t share[SEQS];                     /* positions below are shared */
    uint32_t cap[SEQS];                       /* 0: not there */
    uint32_t next, cells, unshared;
    uint64_t state;
};

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)(psc_random_next(&m->state) % n);
}

static uint64_t seq_of(uint32_t s)
{
    return 1000 + 7 * s;
}

/* As an engine does the work: moves one after another, then the rotation, then zeroes. */
static void do_work(struct model *m)
{
    for (size_t i = 0; i < m->work.move_n; i++) {
        const struct psc_kv_move *v = &m->work.moves[i];
        g_assert_cmpuint(v->from + v->rows, <=, m->cells);
        g_assert_cmpuint(v->to + v->rows, <=, m->cells);
        memmove(m->bytes + v->to, m->bytes + v->from, v->rows * sizeof *m->bytes);
    }
    for (uint32_t k = 0; k < m->work.rotate_rows; k++)
        m->bytes[m->work.rotate_cell + k].turned += m->work.rotate_delta;
    for (uint32_t k = 0; k < m->work.zero_rows; k++)
        m->bytes[m->work.zero_cell + k] = (struct row){0};
    psc_kv_work_clear(&m->work);
}

/* Cells that a naive reader of the model would call taken: reserved, or shared by somebody. */
static void taken(const struct model *m, bool *ret)
{
    memset(ret, 0, m->cells);
    for (uint32_t s = 0; s < SEQS; s++) {
        const struct psc_kv_run *run = psc_kv_runs_find(&m->runs, seq_of(s));
        g_assert_true((run != NULL) == (m->cap[s] != 0));
        for (uint32_t k = 0; run && k < run->cap; k++) {
            g_assert_false(ret[run->start + k]); /* runs are disjoint */
            ret[run->start + k] = true;
        }
    }
    for (uint32_t s = 0; s < SEQS; s++) {
        const struct psc_kv_run *run = psc_kv_runs_find(&m->runs, seq_of(s));
        for (uint32_t k = 0; run && k < run->shared_rows; k++)
            ret[run->shared_cell + k] = true;
    }
}

static uint32_t cell_at(const struct psc_kv_run *run, uint32_t position)
{
    return position < run->shared_rows ? run->shared_cell + position : run->start + position - run->shared_rows;
}

static void compare(const struct model *m)
{
    uint64_t readers[CELLS_MAX] = {0};
    uint32_t used = 0;
    g_assert_true(psc_kv_runs_check(&m->runs));
    for (uint32_t s = 0; s < SEQS; s++) {
        const struct psc_kv_run *run = psc_kv_runs_find(&m->runs, seq_of(s));
        g_assert_cmpuint(psc_kv_runs_length(&m->runs, seq_of(s)), ==, m->length[s]);
        if (!run)
            continue;
        g_assert_cmpuint(run->cap, ==, m->cap[s]);
        g_assert_cmpuint(run->shared_rows, ==, m->share[s]);
        for (uint32_t p = 0; p < m->length[s]; p++) {
            uint32_t cell = cell_at(run, p);
            if (!m->content[s][p])
                continue;
            readers[cell] |= UINT64_C(1) << (run - m->runs.run);
            g_assert_cmpuint(m->bytes[cell].content, ==, m->content[s][p]);
            g_assert_cmpint(m->bytes[cell].turned, ==, m->turned[s][p]);
            g_assert_cmpint(m->runs.cells.cell[cell].position, ==, (int32_t)p);
            g_assert_cmpint(m->runs.cells.cell[cell].rotated, ==, m->turned[s][p]);
            g_assert_true(m->runs.cells.cell[cell].written);
        }
    }
    for (uint32_t c = 0; c < m->cells; c++) {
        g_assert_cmphex(m->runs.cells.cell[c].seqs, ==, readers[c]);
        used += readers[c] != 0;
    }
    g_assert_cmpuint(m->runs.cells.used_n, ==, used);
}

/* First run of `cap` cells that nobody has taken, or m->cells; all free ones in *ret_sum. */
static uint32_t first_fit(const struct model *m, uint32_t cap, uint32_t *ret_sum)
{
    bool is_taken[CELLS_MAX];
    uint32_t found = m->cells, n = 0;
    taken(m, is_taken);
    *ret_sum = 0;
    for (uint32_t c = 0; c < m->cells; c++) {
        n = is_taken[c] ? 0 : n + 1;
        *ret_sum += !is_taken[c];
        if (n == cap && found == m->cells)
            found = c + 1 - cap;
    }
    return found;
}

static bool reserve(struct model *m, uint32_t s)
{
    uint32_t cap = 1 + pick(m, m->cells / 3), sum, at = first_fit(m, cap, &sum);
    bool defrag = pick(m, 2), want = m->cap[s] ? cap <= m->cap[s] : at < m->cells || (defrag && sum >= cap);
    bool ok = defrag ? !psc_kv_runs_reserve_defrag(&m->runs, seq_of(s), cap, true, &m->work, NULL)
                     : !psc_kv_runs_reserve(&m->runs, seq_of(s), cap, NULL);
    g_assert_cmpint(ok, ==, want);
    do_work(m);
    if (ok && !m->cap[s]) {
        m->cap[s] = cap;
        if (at < m->cells)
            g_assert_cmpuint(psc_kv_runs_find(&m->runs, seq_of(s))->start, ==, at);
    }
    return ok;
}

static void forget(struct model *m, uint32_t s)
{
    m->cap[s] = m->length[s] = m->share[s] = 0;
    memset(m->content[s], 0, sizeof m->content[s]);
}

static bool release_one(struct model *m, uint32_t s)
{
    bool ok = !psc_kv_runs_release_seq(&m->runs, seq_of(s), NULL);
    g_assert_cmpint(ok, ==, m->cap[s] != 0);
    forget(m, s);
    return ok;
}

/* Does another sequence read the cell of position p of s? By content: contents are unique. */
static bool read_by_other(const struct model *m, uint32_t s, uint32_t p)
{
    for (uint32_t o = 0; o < SEQS; o++)
        if (o != s && p < m->share[o] && m->cap[s] && m->content[s][p] &&
            cell_at(psc_kv_runs_find(&m->runs, seq_of(o)), p) == cell_at(psc_kv_runs_find(&m->runs, seq_of(s)), p))
            return true;
    return false;
}

static bool forward(struct model *m)
{
    uint64_t seqs[BATCH_MAX];
    int32_t positions[BATCH_MAX], cells[BATCH_MAX], map[BATCH_MAX * 8];
    uint32_t n = 0, in[BATCH_MAX], lowest[SEQS], sum = pick(m, 3) + 1;
    bool fits = true, unshare = true;
    for (uint32_t s = 0; s < SEQS; s++)
        lowest[s] = m->share[s];
    for (uint32_t k = 0; k < sum; k++) { /* some sequences, some positions: mostly at the end, sometimes inside */
        uint32_t s = pick(m, SEQS), len = 1 + pick(m, 3);
        uint32_t first = pick(m, 3) ? m->length[s] : pick(m, m->length[s] + 2);
        for (uint32_t i = 0; i < len && n < BATCH_MAX; i++, n++) {
            in[n] = s;
            seqs[n] = seq_of(s);
            positions[n] = (int32_t)(first + i);
            lowest[s] = first + i < lowest[s] ? first + i : lowest[s];
        }
    }
    struct psc_kv_batch batch = {seqs, positions, NULL, n};
    for (uint32_t s = 0; s < SEQS; s++) /* room for private rows */
        unshare &= lowest[s] >= m->share[s] || m->length[s] - lowest[s] <= m->cap[s];
    g_assert_cmpint(!psc_kv_runs_unshare(&m->runs, &batch, &m->work, NULL), ==, unshare);
    do_work(m);
    for (uint32_t s = 0; s < SEQS && unshare; s++) {
        m->unshared += lowest[s] < m->share[s];
        m->share[s] = lowest[s];
    }
    compare(m);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t s = in[t], p = (uint32_t)positions[t];
        fits &= m->cap[s] && p >= m->share[s] && p - m->share[s] < m->cap[s] && !read_by_other(m, s, p);
        for (uint32_t o = 0; o < t; o++)
            fits &= seqs[o] != seqs[t] || positions[o] != positions[t];
    }
    g_assert_cmpint(!psc_kv_runs_cells(&m->runs, &batch, cells, NULL), ==, fits);
    if (!fits)
        return false;
    psc_kv_runs_own(&m->runs, &batch, cells);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t s = in[t], p = (uint32_t)positions[t];
        m->bytes[cells[t]] = (struct row){++m->next, 0};
        m->content[s][p] = m->next;
        m->turned[s][p] = 0;
        m->length[s] = p + 1 > m->length[s] ? p + 1 : m->length[s];
    }
    g_assert_cmpint(psc_kv_runs_map(&m->runs, &batch, 4, map, NULL), ==, PSC_OK);
    for (uint32_t t = 0; t < n; t++) { /* the map walks positions 0 to its own, in order */
        uint32_t p = 0;
        for (uint32_t r = 0; r < 4; r++)
            for (int32_t k = 0; k < map[t * 8 + 2 * r + 1]; k++, p++)
                if (m->content[in[t]][p])
                    g_assert_cmpuint(m->bytes[map[t * 8 + 2 * r] + k].content, ==, m->content[in[t]][p]);
        g_assert_cmpuint(p, ==, (uint32_t)positions[t] + 1);
    }
    return true;
}

static bool resize(struct model *m, uint32_t s)
{
    bool is_taken[CELLS_MAX];
    uint32_t cap = pick(m, m->cells), sum = 0;
    taken(m, is_taken);
    for (uint32_t c = 0; c < m->cells; c++)
        sum += is_taken[c];
    bool want = m->cap[s] && cap && cap >= m->length[s] - m->share[s] && sum - m->cap[s] + cap <= m->cells;
    bool ok = !psc_kv_runs_set_cap(&m->runs, seq_of(s), cap, &m->work, NULL);
    g_assert_cmpint(ok, ==, want);
    do_work(m);
    m->cap[s] = ok ? cap : m->cap[s];
    return ok;
}

static bool written_prefix(const struct model *m, uint32_t s, uint32_t n)
{
    for (uint32_t p = 0; p < n; p++)
        if (!m->content[s][p])
            return false;
    return n > 0 && n <= m->length[s];
}

static void take_prefix(struct model *m, uint32_t dst, uint32_t src, uint32_t n)
{
    memcpy(m->content[dst], m->content[src], n * sizeof **m->content);
    memcpy(m->turned[dst], m->turned[src], n * sizeof **m->turned);
    m->length[dst] = n > m->length[dst] ? n : m->length[dst];
}

/* Often one who can give, and a number that it has. */
static uint32_t prefix(struct model *m, uint32_t *src)
{
    for (unsigned tries = pick(m, SEQS); tries > 0 && !m->length[*src]; tries--)
        *src = pick(m, SEQS);
    return pick(m, 4) ? 1 + pick(m, m->length[*src] + 1) : 0;
}

static bool share(struct model *m, uint32_t dst, uint32_t src)
{
    for (unsigned tries = pick(m, SEQS); tries > 0 && (!m->cap[dst] || m->length[dst]); tries--)
        dst = pick(m, SEQS);
    uint32_t n = prefix(m, &src);
    bool want = m->cap[dst] && m->cap[src] && dst != src && !m->length[dst] && written_prefix(m, src, n) &&
                (!m->share[src] || n <= m->share[src]);
    bool ok = !psc_kv_runs_share_prefix(&m->runs, seq_of(dst), seq_of(src), n, NULL);
    g_assert_cmpint(ok, ==, want);
    if (ok) {
        take_prefix(m, dst, src, n);
        m->share[dst] = n;
    }
    return ok;
}

static bool copy(struct model *m, uint32_t dst, uint32_t src)
{
    uint32_t n = prefix(m, &src);
    bool want = m->cap[dst] && m->cap[src] && dst != src && !m->share[dst] && !m->share[src] && n <= m->cap[dst] &&
                written_prefix(m, src, n);
    for (uint32_t p = 0; p < n && want; p++)
        want = !read_by_other(m, dst, p);
    bool ok = !psc_kv_runs_copy_prefix(&m->runs, seq_of(dst), seq_of(src), n, &m->work, NULL);
    g_assert_cmpint(ok, ==, want);
    do_work(m);
    if (ok)
        take_prefix(m, dst, src, n);
    return ok;
}

static bool cut(struct model *m, uint32_t s)
{
    uint32_t first = pick(m, m->length[s] + 2), n = pick(m, 6), alone = 0;
    for (uint32_t o = 0; o < SEQS; o++)
        alone += m->cap[o] != 0;
    bool want = m->cap[s] && alone == 1 && !m->share[s];
    bool ok = !psc_kv_runs_remove(&m->runs, seq_of(s), first, n, PSC_KV_F32, &m->work, NULL);
    g_assert_cmpint(ok, ==, want);
    do_work(m);
    if (!ok || first >= m->length[s])
        return ok;
    n = n > m->length[s] - first ? m->length[s] - first : n;
    for (uint32_t p = first; p + n < m->length[s]; p++) {
        m->content[s][p] = m->content[s][p + n];
        m->turned[s][p] = m->turned[s][p + n] - (int32_t)n;
    }
    memset(m->content[s] + m->length[s] - n, 0, n * sizeof **m->content);
    m->length[s] -= n;
    psc_kv_runs_rotated(&m->runs);
    return ok;
}

static bool one(struct model *m, uint32_t op)
{
    uint32_t s = pick(m, SEQS);
    switch (op) {
    case 0: return reserve(m, s);
    case 1: return release_one(m, s);
    case 2: return resize(m, s);
    case 3: return share(m, s, pick(m, SEQS));
    case 4: return copy(m, s, pick(m, SEQS));
    case 5: return cut(m, s);
    default: return forward(m);
    }
}

static void test_random(void)
{
    uint64_t seed = test_seed();
    unsigned done[16] = {0}, refused[16] = {0}, unshared = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned life = 0; life < 2000; life++) {
        struct model m = {.state = psc_hash_mix(seed) + life};
        unsigned step_n = 0;
        m.cells = 4 + pick(&m, CELLS_MAX - 3);
        g_assert_cmpint(psc_kv_runs_init(&m.runs, m.cells, NULL), ==, PSC_OK);
        for (; step_n < 300; step_n++) {
            uint32_t op = pick(&m, 16);
            op = op > 12 ? 0 : op > 6 ? 6 : op; /* half forwards, a quarter reservations */
            if (step_n % 64 == 63) /* alone for a while, so that removal has its turn */
                for (uint32_t s = 1; s < SEQS; s++)
                    release_one(&m, s);
            if (one(&m, op))
                done[op]++;
            else
                refused[op]++;
            compare(&m);
        }
        unshared += m.unshared;
        psc_kv_work_release(&m.work);
        psc_kv_runs_release(&m.runs);
    }
    g_test_message("%u copies on write", unshared);
    g_assert_cmpuint(unshared, >, 100);
    for (unsigned op = 0; op < 7; op++) {
        g_test_message("operation %u: %u done, %u refused", op, done[op], refused[op]);
        g_assert_cmpuint(done[op], >, 100);
        g_assert_cmpuint(refused[op], >, 100);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/plan/kv-runs/random-lives-as-a-naive-model-lives-them", test_random);
    return g_test_run();
}
