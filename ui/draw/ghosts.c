#include "ui/draw/ghosts.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct making {
    struct psc_arena *arena;
    struct psc_scene *scene;
    const struct psc_story *planned, *recorded;
    const struct psc_story_comparison *c;
    struct psc_history *history; /* of the plan */
    int32_t *column;             /* [planned->position_n + 2] recorded position of planned position p: [p + 1] */
    struct psc_ghosts *g;
};

/* Where the ops of the plan ran. One that did not run stands beside the one planned before it. */
static bool make_columns(struct making *m)
{
    uint32_t n = m->planned->position_n, most = 0;
    m->column = psc_arena_alloc(m->arena, (size_t)n + 2, sizeof *m->column);
    for (uint32_t p = 0; p < n; p++) {
        psc_node node = psc_story_node_at(m->planned, (int32_t)p);
        most = node != PSC_NONE && node > most ? node : most;
    }
    int32_t *ran_at = psc_alloc(((size_t)most + 1) * sizeof *ran_at);
    if (!m->column || !ran_at) {
        psc_free(ran_at);
        return false;
    }
    memset(ran_at, 0xff, ((size_t)most + 1) * sizeof *ran_at);
    for (uint32_t p = 0; p < m->recorded->position_n; p++) {
        psc_node node = psc_story_node_at(m->recorded, (int32_t)p);
        if (node <= most)
            ran_at[node] = (int32_t)p;
    }
    m->column[0] = -1;
    for (uint32_t p = 0; p < n; p++) {
        psc_node node = psc_story_node_at(m->planned, (int32_t)p);
        m->column[p + 1] = node != PSC_NONE && ran_at[node] >= 0 ? ran_at[node] : m->column[p];
    }
    m->column[n + 1] = (int32_t)m->recorded->position_n;
    psc_free(ran_at);
    return true;
}

static int32_t column_of(const struct making *m, int32_t position)
{
    int32_t n = (int32_t)m->planned->position_n;
    return m->column[position < -1 ? 0 : position > n ? n + 1 : position + 1];
}

static uint32_t row_of_planned(const struct making *m, uint32_t buffer)
{
    uint32_t recorded = buffer < m->planned->buffer_n ? m->c->buffer_of[buffer] : PSC_NONE;
    return recorded < m->recorded->buffer_n ? m->scene->row_of_buffer[recorded] : PSC_NONE;
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

static int by_row(const void *x, const void *y)
{
    const struct psc_ghost *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* The planned bars that a difference touches, each once. */
static void mark_bars(const struct making *m, uint8_t *touched)
{
    for (uint32_t i = 0; i < m->c->diff_n; i++) {
        if (m->c->diffs[i].planned == PSC_NONE)
            continue;
        uint32_t value = m->planned->events[m->c->diffs[i].planned].value;
        if (value >= m->planned->value_n)
            continue;
        const struct psc_value *v = &m->planned->values[value];
        uint32_t bar = psc_history_of_value(m->history, v->is_view && v->of != PSC_NONE ? v->of : value);
        if (bar == PSC_NONE || m->planned->buffers[m->history->tenancies[bar].buffer].role == PSC_ROLE_PERSISTENT)
            continue; /* regions never move */
        touched[bar] = 1;
    }
}

static bool make_ghosts(struct making *m)
{
    const struct psc_history *h = m->history;
    uint32_t rows = m->scene->row_n;
    uint8_t *touched = psc_alloc0((size_t)h->tenancy_n + 1, 1);
    uint32_t *at = psc_arena_alloc0(m->arena, (size_t)rows + 2, sizeof *at), n = 0;
    if (!touched || !at) {
        psc_free(touched);
        return false;
    }
    mark_bars(m, touched);
    for (uint32_t i = 0; i < h->tenancy_n; i++)
        n += touched[i];
    struct psc_ghost *list = psc_arena_alloc(m->arena, (size_t)n + 1, sizeof *list);
    int32_t *reach = psc_arena_alloc(m->arena, (size_t)n + 1, sizeof *reach);
    n = 0;
    for (uint32_t i = 0; list && reach && i < h->tenancy_n; i++) {
        const struct psc_tenancy *t = &h->tenancies[i];
        uint32_t row = touched[i] ? row_of_planned(m, t->buffer) : PSC_NONE;
        m->g->lost += touched[i] && row == PSC_NONE;
        if (row == PSC_NONE)
            continue;
        int32_t first = column_of(m, t->first), end = column_of(m, t->last) + 1, most = m->scene->n + 1;
        end = end > most ? most : end;
        list[n++] = (struct psc_ghost){row, t->value, first, end <= first ? first + 1 : end, t->lo, t->hi};
    }
    psc_free(touched);
    if (!list || !reach)
        return false;
    if (n)
        qsort(list, n, sizeof *list, by_row);
    for (uint32_t i = 0; i < n; i++) {
        bool begins = !i || list[i - 1].row != list[i].row;
        reach[i] = begins || list[i].end > reach[i - 1] ? list[i].end : reach[i - 1];
        at[list[i].row + 1]++;
    }
    for (uint32_t r = 0; r < rows; r++)
        at[r + 1] += at[r];
    m->g->list = list, m->g->n = n, m->g->at = at, m->g->reach = reach;
    return true;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static int by_row_and_position(const void *x, const void *y)
{
    const struct psc_otherwise *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return a->diff < b->diff ? -1 : a->diff > b->diff;
}

static int by_number(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return a < b ? -1 : a > b;
}

static struct psc_otherwise mark_of(const struct making *m, uint32_t i)
{
    const struct psc_story_diff *d = &m->c->diffs[i];
    if (d->recorded == PSC_NONE) {
        const struct psc_event *e = &m->planned->events[d->planned];
        return (struct psc_otherwise){row_of_planned(m, e->buffer), column_of(m, e->position), i};
    }
    const struct psc_event *e = &m->recorded->events[d->recorded];
    uint32_t row = e->buffer < m->recorded->buffer_n ? m->scene->row_of_buffer[e->buffer] : PSC_NONE;
    return (struct psc_otherwise){row, e->position, i};
}

static bool make_marks(struct making *m)
{
    uint32_t n = m->c->diff_n, rows = m->scene->row_n, kept = 0;
    struct psc_otherwise *marks = psc_arena_alloc(m->arena, (size_t)n + 1, sizeof *marks);
    int32_t *positions = psc_arena_alloc(m->arena, (size_t)n + 1, sizeof *positions);
    uint32_t *at = psc_arena_alloc0(m->arena, (size_t)rows + 2, sizeof *at);
    if (!marks || !positions || !at)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        marks[i] = mark_of(m, i);
        positions[i] = marks[i].position;
        if (marks[i].row != PSC_NONE)
            at[marks[i].row + 1]++;
    }
    qsort(marks, n, sizeof *marks, by_row_and_position); /* those without a row come last */
    qsort(positions, n, sizeof *positions, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (!kept || positions[kept - 1] != positions[i])
            positions[kept++] = positions[i];
    for (uint32_t r = 0; r < rows; r++)
        at[r + 1] += at[r];
    m->g->marks = marks, m->g->mark_n = n, m->g->mark_at = at, m->g->positions = positions, m->g->position_n = kept;
    return true;
}

enum psc_status psc_ghosts_build(struct psc_arena *arena, struct psc_scene *scene, struct psc_error *reterr)
{
    const struct psc_scene_source *source = &scene->source;
    struct making m = {.arena = arena, .scene = scene, .planned = source->planned, .recorded = source->story,
                       .c = source->comparison};
    if (!m.planned || !m.c || !m.c->diff_n)
        return PSC_OK;
    m.g = psc_arena_alloc0(arena, 1, sizeof *m.g);
    if (!m.g || !make_columns(&m))
        return psc_fail_nomem(reterr);
    m.g->planned = m.planned, m.g->comparison = m.c;
    enum psc_status status = psc_history_build(arena, m.planned, &m.history, reterr);
    if (status)
        return status;
    if (!make_ghosts(&m) || !make_marks(&m))
        return psc_fail_nomem(reterr);
    scene->ghosts = m.g;
    return PSC_OK;
}
