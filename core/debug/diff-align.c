#include "core/debug/diff-align.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct item { uint64_t key; uint32_t index; };

struct making {
    const struct psc_align_key *a, *b;
    uint32_t a_n, b_n;
    uint32_t *b_of, *a_of;
    struct item *left, *right; /* owned: those without partner, by key and place */
};

static int by_key(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint32_t collect(struct item *items, const struct psc_align_key *keys, uint32_t n, const uint32_t *partner, bool weak)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (partner[i] == UINT32_MAX)
            items[count++] = (struct item){weak ? keys[i].weak : keys[i].strong, i};
    if (count)
        qsort(items, count, sizeof *items, by_key);
    return count;
}

static uint32_t run_of(const struct item *items, uint32_t at, uint32_t n)
{
    uint32_t end = at;
    while (end < n && items[end].key == items[at].key)
        end++;
    return end - at;
}

/* Things of one key, one after the other; `even`: only where both sides have as many. */
static void pair_runs(struct making *m, bool weak, bool even)
{
    uint32_t n = collect(m->left, m->a, m->a_n, m->b_of, weak), k = collect(m->right, m->b, m->b_n, m->a_of, weak);
    for (uint32_t i = 0, j = 0; i < n && j < k;) {
        if (m->left[i].key != m->right[j].key) {
            if (m->left[i].key < m->right[j].key)
                i++;
            else
                j++;
            continue;
        }
        uint32_t ours = run_of(m->left, i, n), theirs = run_of(m->right, j, k), both = ours < theirs ? ours : theirs;
        for (uint32_t t = 0; t < both && (!even || ours == theirs); t++) {
            m->b_of[m->left[i + t].index] = m->right[j + t].index;
            m->a_of[m->right[j + t].index] = m->left[i + t].index;
        }
        i += ours;
        j += theirs;
    }
}

static void try_pair(struct making *m, uint32_t i, uint32_t j, bool weak)
{
    if (i >= m->a_n || j >= m->b_n || m->b_of[i] != UINT32_MAX || m->a_of[j] != UINT32_MAX)
        return;
    if (weak ? m->a[i].weak != m->b[j].weak : m->a[i].strong != m->b[j].strong)
        return;
    m->b_of[i] = j;
    m->a_of[j] = i;
}

static void pair_neighbours(struct making *m, bool weak)
{
    for (uint32_t i = 0; i < m->a_n; i++)
        if (m->b_of[i] != UINT32_MAX)
            try_pair(m, i + 1, m->b_of[i] + 1, weak);
    for (uint32_t i = m->a_n; i-- > 1;)
        if (m->b_of[i] != UINT32_MAX && m->b_of[i])
            try_pair(m, i - 1, m->b_of[i] - 1, weak);
}

bool psc_align(const struct psc_align_key *a, uint32_t a_n, const struct psc_align_key *b, uint32_t b_n, uint32_t *b_of,
               uint32_t *a_of)
{
    struct making m = {.a = a, .b = b, .a_n = a_n, .b_n = b_n, .b_of = b_of, .a_of = a_of};
    m.left = psc_alloc0((size_t)a_n + 1, sizeof *m.left);
    m.right = psc_alloc0((size_t)b_n + 1, sizeof *m.right);
    bool good = m.left && m.right;
    if (good) {
        memset(b_of, 0xff, a_n * sizeof *b_of);
        memset(a_of, 0xff, b_n * sizeof *a_of);
        pair_runs(&m, false, true);
        pair_neighbours(&m, false);
        pair_neighbours(&m, true);
        pair_runs(&m, false, false);
        pair_runs(&m, true, false);
    }
    psc_free(m.left);
    psc_free(m.right);
    return good;
}
