#include "core/candela/sort.h"

#include "core/base/mem.h"
#include "core/base/text.h"

#include <assert.h>
#include <string.h>

enum { NEW, ENTERED, LISTED };

struct visit {
    uint32_t id;
    bool exits;
};
struct sorting {
    struct psc_sort_source source;
    const struct psc_lazy *l; /* names in a cycle's sentence; NULL: it has none */
    struct visit *stack; /* heap */
    size_t n, cap;
    uint8_t *state;
    struct psc_lazy_move *moves; /* heap; recorded only when somebody looks on */
    size_t move_n, move_cap;
    bool records;
};

static bool note(struct sorting *s, uint32_t id, enum psc_lazy_move_kind kind)
{
    if (!s->records)
        return true;
    if (!psc_grow(&s->moves, s->move_n + 1, &s->move_cap, sizeof *s->moves))
        return false;
    s->moves[s->move_n++] = (struct psc_lazy_move){id, kind};
    return true;
}

static bool push(struct sorting *s, uint32_t id, bool exits)
{
    if (!psc_grow(&s->stack, s->n + 1, &s->cap, sizeof *s->stack))
        return false;
    s->stack[s->n++] = (struct visit){id, exits};
    return note(s, id, exits ? PSC_LAZY_ENTER : PSC_LAZY_PUSH);
}

static uint32_t lazy_input_n(const void *of, uint32_t id)
{
    const struct psc_lazy_node *node = &((const struct psc_lazy *)of)->nodes[id];
    bool leaf = node->kind == PSC_LAZY_EDGE || node->kind == PSC_LAZY_SLOT || (node->kind == PSC_LAZY_CACHE && node->cell->store);
    return leaf ? 0 : node->input_n;
}

static uint32_t lazy_input(const void *of, uint32_t id, uint32_t k)
{
    return ((const struct psc_lazy *)of)->nodes[id].inputs[k];
}

/* What is entered and not yet listed is the path from the root to here. */
static enum psc_status cycle(const struct sorting *s, uint32_t root, uint32_t id, struct psc_error *reterr)
{
    struct psc_text path = {0};
    bool inside = id == root;
    assert(s->l);
    if (inside)
        psc_text_addf(&path, "%s -> ", s->l->nodes[root].name);
    for (size_t i = 0; i < s->n && path.n < 300; i++) {
        inside = inside || (s->stack[i].exits && s->stack[i].id == id);
        if (inside && s->stack[i].exits)
            psc_text_addf(&path, "%s -> ", s->l->nodes[s->stack[i].id].name);
    }
    psc_text_add(&path, s->l->nodes[id].name);
    enum psc_status status = path.failed ? psc_fail_nomem(reterr)
                                         : psc_fail(reterr, PSC_ERR_GRAPH, "the expression has a cycle, each reads the "
                                                    "next: %s", psc_text_str(&path));
    psc_text_release(&path);
    return status;
}

static enum psc_status visit(struct sorting *s, uint32_t root, uint32_t *order, uint32_t *n, struct psc_error *reterr)
{
    while (s->n) {
        struct visit v = s->stack[--s->n];
        if (v.exits) {
            s->state[v.id] = LISTED;
            order[(*n)++] = v.id;
            if (!note(s, v.id, PSC_LAZY_LEAVE))
                return psc_fail_nomem(reterr);
            continue;
        }
        if (s->state[v.id] == ENTERED)
            return cycle(s, root, v.id, reterr);
        if (s->state[v.id] == LISTED) {
            if (!note(s, v.id, PSC_LAZY_AGAIN))
                return psc_fail_nomem(reterr);
            continue;
        }
        s->state[v.id] = ENTERED;
        if (!push(s, v.id, true))
            return psc_fail_nomem(reterr);
        for (uint32_t k = s->source.input_n(s->source.of, v.id); k-- > 0;)
            if (!push(s, s->source.input(s->source.of, v.id, k), false))
                return psc_fail_nomem(reterr);
    }
    return PSC_OK;
}

static enum psc_status sort(struct sorting *s, struct psc_arena *arena, uint32_t root, uint32_t **ret, uint32_t *ret_n,
                            struct psc_error *reterr)
{
    const struct psc_sort_source *source = &s->source;
    uint32_t *order = psc_arena_alloc(arena, source->n, sizeof *order), n = 0, input_n = source->input_n(source->of, root);
    enum psc_status status = PSC_OK;
    s->state = psc_alloc0(source->n, sizeof *s->state);
    if (!order || !s->state)
        status = psc_fail_nomem(reterr);
    if (!status)
        s->state[root] = ENTERED;
    for (uint32_t k = 0; !status && k < input_n; k++)
        if (!push(s, source->input(source->of, root, k), false))
            status = psc_fail_nomem(reterr);
    if (!status)
        status = visit(s, root, order, &n, reterr);
    psc_free(s->stack);
    psc_free(s->state);
    if (status)
        return status;
    *ret = order;
    *ret_n = n;
    return PSC_OK;
}

static struct psc_sort_source lazy_source(const struct psc_lazy *l)
{
    return (struct psc_sort_source){l, (uint32_t)l->n, lazy_input_n, lazy_input};
}

enum psc_status psc_lazy_sort(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root, uint32_t **ret,
                              uint32_t *ret_n, struct psc_error *reterr)
{
    struct sorting s = {lazy_source(l), .l = l};
    return sort(&s, arena, root, ret, ret_n, reterr);
}

static enum psc_status record(struct sorting *s, struct psc_arena *arena, uint32_t root, const struct psc_lazy_move **ret,
                              uint32_t *ret_n, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    uint32_t *order, n;
    s->records = true;
    enum psc_status status = sort(s, &scratch, root, &order, &n, reterr);
    struct psc_lazy_move *moves = status ? NULL : psc_arena_alloc(arena, s->move_n, sizeof *moves);
    if (moves && s->move_n)
        memcpy(moves, s->moves, s->move_n * sizeof *moves);
    if (!status && !moves)
        status = psc_fail_nomem(reterr);
    psc_free(s->moves);
    psc_arena_release(&scratch);
    if (status)
        return status;
    *ret = moves;
    *ret_n = (uint32_t)s->move_n;
    return PSC_OK;
}

enum psc_status psc_lazy_sort_moves(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                    const struct psc_lazy_move **ret, uint32_t *ret_n, struct psc_error *reterr)
{
    struct sorting s = {lazy_source(l), .l = l};
    return record(&s, arena, root, ret, ret_n, reterr);
}

enum psc_status psc_sort_moves(struct psc_arena *arena, const struct psc_sort_source *source, uint32_t root,
                               const struct psc_lazy_move **ret, uint32_t *ret_n, struct psc_error *reterr)
{
    struct sorting s = {*source, .l = NULL};
    return record(&s, arena, root, ret, ret_n, reterr);
}
