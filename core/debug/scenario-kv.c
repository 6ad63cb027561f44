#include "core/debug/scenario.h"

#include <stdio.h>
#include <string.h>

const char *psc_kv_op_name(enum psc_kv_op_kind kind)
{
    static const char *const names[PSC_KV_OP_N] = {"store", "rm", "shift", "apply_shift", "defrag", "restore", "attend"};
    return (unsigned)kind < PSC_KV_OP_N ? names[kind] : "?";
}

#define CELLS_SHOWN 1024u /* of a larger cache only those that anything happens to */

/* A list of numbers that grows. */
struct list {
    uint32_t *items; /* owned */
    size_t n, cap;
};
struct player {
    const struct psc_kv_script *script;
    struct psc_report *report;
    struct psc_kv_single kv;
    struct psc_kv_work work;
    struct list errors, overruns, unwritten, moves; /* moves: from, to, from, to ... */
    struct psc_story_builder *story;
    uint32_t *buffer;   /* of each cell: a buffer of its own, or PSC_NONE as long as nothing looks at it */
    uint32_t *value;    /* of each cell: the row's value, or PSC_NONE */
    uint32_t *version;  /* of each cell: writes of its value so far, less one */
    uint32_t *nothing;  /* of each cell: the value for a row that holds nothing, or PSC_NONE */
    const char **titles; /* owned, and the texts: of each position */
    size_t position_n, title_cap;
    uint32_t event_n;
    bool nomem;
};

static void add(struct player *p, struct list *list, uint32_t item)
{
    if (!psc_grow(&list->items, list->n + 1, &list->cap, sizeof *list->items))
        p->nomem = true;
    else
        list->items[list->n++] = item;
}

/* ---- the story --------------------------------------------------------------------------------------- */

/* A step of the timeline; its number. */
static void begin_position(struct player *p, const char *title)
{
    if (!psc_grow(&p->titles, p->position_n + 1, &p->title_cap, sizeof *p->titles) ||
        !(p->titles[p->position_n] = psc_strdup(title))) {
        p->nomem = true;
        return;
    }
    p->position_n++;
}

/* Cells lie one behind the other in the region, each a row of the timeline. */
static void add_buffer(struct player *p, uint32_t cell)
{
    char name[32];
    snprintf(name, sizeof name, "cell %u", cell);
    p->buffer[cell] = psc_story_add_buffer(p->story, &(struct psc_buffer){
        .id = cell, .name = name, .backend = PSC_BACKEND_NONE, .role = PSC_ROLE_ARENA, .bytes = p->script->row_bytes,
        .base = cell * p->script->row_bytes});
}

static void event(struct player *p, enum psc_event_kind kind, uint32_t value, uint32_t version, uint32_t cell)
{
    struct psc_event e = psc_event_blank(kind, (int32_t)p->position_n - 1);
    if (p->buffer[cell] == PSC_NONE)
        add_buffer(p, cell);
    e.value = value;
    e.version = version;
    e.buffer = p->buffer[cell];
    e.hi = p->script->row_bytes;
    if (++p->event_n <= PSC_SCENARIO_EVENTS_MAX)
        psc_story_add_event(p->story, &e);
}

static uint32_t new_value(struct player *p, const char *name)
{
    struct psc_value v = {.kind = PSC_VALUE_CELL, .backend = PSC_BACKEND_NONE, .layer = p->script->layer, .node = PSC_NONE,
                          .of = PSC_NONE, .bytes = p->script->row_bytes, .name = name};
    return psc_story_add_value(p->story, &v);
}

/* The cell holds a new value. */
static void name_row(struct player *p, uint32_t cell, uint32_t token, int32_t position)
{
    char name[96];
    const char *text = token < p->script->token_n ? p->script->tokens[token] : "";
    snprintf(name, sizeof name, "%.60s%sposition %d", text, *text ? ", " : "", position);
    p->value[cell] = new_value(p, name);
    p->version[cell] = 0;
}

static void write_row(struct player *p, uint32_t cell, uint32_t token, int32_t position)
{
    name_row(p, cell, token, position);
    event(p, PSC_EV_WRITE, p->value[cell], 0, cell);
}

static void release_row(struct player *p, uint32_t cell)
{
    if (p->value[cell] != PSC_NONE)
        event(p, PSC_EV_RELEASE, PSC_NONE, 0, cell);
    p->value[cell] = PSC_NONE;
}

/* Rows that the table no longer has. */
static void release_gone(struct player *p)
{
    for (uint32_t c = 0; c < p->kv.cells.n; c++)
        if (!p->kv.cells.cell[c].seqs)
            release_row(p, c);
}

/* ---- operations -------------------------------------------------------------------------------------- */

static void fail(struct player *p, uint32_t at, const struct psc_error *error)
{
    char title[160];
    const char *name = psc_kv_op_name(p->script->ops[at].kind);
    psc_report_add(p->report, PSC_FAULT, 0, 0, UINT64_MAX, "op %u (%s): %s", at, name, error->text);
    snprintf(title, sizeof title, "op %u: %s refused", at, name);
    begin_position(p, title);
    struct psc_event e = psc_event_blank(PSC_EV_REFUSE, (int32_t)p->position_n - 1);
    psc_story_add_event(p->story, &e);
    add(p, &p->errors, at);
}

/* Positions that stand one behind the other, as people write them: "0..5"; else the first and how many. */
static void range_text(const int32_t *position, uint32_t n, char *buf, size_t size)
{
    bool run = n > 1;
    for (uint32_t i = 1; i < n; i++)
        run &= position[i] == position[i - 1] + 1;
    if (n == 1)
        snprintf(buf, size, "position %d", position[0]);
    else if (run)
        snprintf(buf, size, "positions %d..%d", position[0], position[n - 1]);
    else
        snprintf(buf, size, "%u positions", n);
}

static enum psc_status play_store(struct player *p, uint32_t at, struct psc_error *error)
{
    const struct psc_kv_op *op = &p->script->ops[at];
    char title[96], range[64];
    bool overrun = false;
    enum psc_status status = psc_kv_single_store(&p->kv, op->position, op->token, op->n, &overrun, error);
    if (status)
        return status;
    range_text(op->position, op->n, range, sizeof range);
    snprintf(title, sizeof title, "op %u: store %s", at, range);
    for (uint32_t i = 0; i < op->n || i == 0; i++) {
        if (i % PSC_WRITES_MAX == 0)
            begin_position(p, title);
        if (i < op->n)
            write_row(p, psc_kv_single_cell(&p->kv, op->position[i]), op->token[i], op->position[i]);
    }
    if (overrun) {
        add(p, &p->overruns, at);
        psc_report_add(p->report, PSC_WARNING, 0, 0, UINT64_MAX, "op %u (store): %u rows go into a window of %u cells: the "
                       "first %u of them are lost", at, op->n, p->kv.window, op->n - p->kv.window);
    }
    return PSC_OK;
}

static enum psc_status play_shift(struct player *p, uint32_t at, struct psc_error *error)
{
    const struct psc_kv_op *op = &p->script->ops[at];
    char title[96];
    enum psc_status status = psc_kv_single_shift(&p->kv, op->p0, op->p1, op->delta, error);
    if (status)
        return status;
    snprintf(title, sizeof title, "op %u: shift positions %d..%d by %d", at, op->p0, op->p1 - 1, op->delta);
    begin_position(p, title);
    return PSC_OK;
}

/* Turning rows is reading and writing them in place: the next version, at the position that they have by now. A
 * position turns as many rows as it may write. */
static void play_apply(struct player *p, uint32_t at)
{
    const struct psc_kv_cell *cells = p->kv.cells.cell;
    uint32_t from = 0, to;
    char title[96];
    snprintf(title, sizeof title, "op %u: apply the shift", at);
    do {
        uint32_t n = 0;
        begin_position(p, title);
        for (to = from; to < p->kv.cells.n && n < PSC_WRITES_MAX; to++)
            if (cells[to].pending) {
                event(p, PSC_EV_READ, p->value[to], p->version[to], to);
                n++;
            }
        for (uint32_t c = from; c < to; c++)
            if (cells[c].pending) {
                struct psc_event e = psc_event_blank(PSC_EV_ALIAS, (int32_t)p->position_n - 1);
                e.peer = p->value[c];
                name_row(p, c, cells[c].token, cells[c].position);
                e.value = p->value[c];
                e.buffer = p->buffer[c];
                e.hi = p->script->row_bytes;
                psc_story_add_event(p->story, &e);
            }
        for (; from < to; from++)
            if (cells[from].pending)
                event(p, PSC_EV_WRITE, p->value[from], 0, from);
    } while (from < p->kv.cells.n);
    psc_kv_single_apply_shift(&p->kv);
}

static enum psc_status play_defrag(struct player *p, uint32_t at, struct psc_error *error)
{
    char title[96], range[64];
    psc_kv_work_clear(&p->work);
    enum psc_status status = psc_kv_single_defrag(&p->kv, &p->work, error);
    if (!status && !p->work.move_n) {
        snprintf(title, sizeof title, "op %u: defrag, nothing to move", at);
        begin_position(p, title);
    }
    for (size_t i = 0; i < p->work.move_n && !status; i++) { /* a step a row: nothing is read after it was overwritten */
        const struct psc_kv_move *m = &p->work.moves[i];
        snprintf(title, sizeof title, "op %u: defrag moves %s", at, psc_kv_move_text(m, range, sizeof range));
        begin_position(p, title);
        event(p, PSC_EV_READ, p->value[m->from], p->version[m->from], m->from);
        p->value[m->to] = p->value[m->from];
        p->version[m->to] = p->version[m->from] + 1;
        event(p, PSC_EV_WRITE, p->value[m->to], p->version[m->to], m->to);
        event(p, PSC_EV_RELEASE, PSC_NONE, 0, m->from);
        p->value[m->from] = PSC_NONE;
        add(p, &p->moves, m->from);
        add(p, &p->moves, m->to);
    }
    return status;
}

static enum psc_status play_restore(struct player *p, uint32_t at, struct psc_error *error)
{
    const struct psc_kv_op *op = &p->script->ops[at];
    char title[96];
    enum psc_status status = psc_kv_single_restore(&p->kv, op->position, op->token, op->n, op->kv_bytes, op->bytes_present,
                                                   error);
    if (status)
        return status;
    snprintf(title, sizeof title, "op %u: restore %u cells", at, op->n);
    for (uint32_t i = 0; i < op->n || i == 0; i++) {
        if (i % PSC_WRITES_MAX == 0)
            begin_position(p, title);
        if (i < op->n)
            write_row(p, i, op->token[i], op->position[i]);
    }
    release_gone(p);
    return PSC_OK;
}

static void play_attend(struct player *p, uint32_t at)
{
    const struct psc_kv_op *op = &p->script->ops[at];
    uint32_t first = PSC_NONE, n = 0;
    char title[96];
    if (op->n_kv)
        snprintf(title, sizeof title, "op %u: attend to rows 0..%u", at, op->n_kv - 1);
    else
        snprintf(title, sizeof title, "op %u: attend to no row", at);
    begin_position(p, title);
    for (uint32_t c = 0; c < op->n_kv && p->event_n <= PSC_SCENARIO_EVENTS_MAX; c++) {
        bool there = c < p->kv.cells.n && p->value[c] != PSC_NONE;
        if (there) {
            event(p, PSC_EV_READ, p->value[c], p->version[c], c);
            continue;
        }
        add(p, &p->unwritten, c);
        p->event_n += c >= p->kv.cells.n;
        first = n++ ? first : c;
        if (c >= p->kv.cells.n)
            continue;
        if (p->nothing[c] == PSC_NONE)
            p->nothing[c] = new_value(p, "a row");
        event(p, PSC_EV_READ, p->nothing[c], 0, c);
    }
    if (n)
        psc_report_add(p->report, PSC_NOTE, 0, 0, UINT64_MAX, "op %u (attend): %u of rows 0..%u hold nothing, the first is "
                       "row %u%s", at, n, op->n_kv - 1, first,
                       first < p->kv.cells.n && p->kv.cells.cell[first].written ? " (its row is gone)"
                       : first < p->kv.cells.n ? " (never written)" : " (beyond the cache)");
}

static enum psc_status play_op(struct player *p, uint32_t at, struct psc_error *error)
{
    const struct psc_kv_op *op = &p->script->ops[at];
    char title[96];
    switch (op->kind) {
    case PSC_KV_OP_STORE: return play_store(p, at, error);
    case PSC_KV_OP_SHIFT: return play_shift(p, at, error);
    case PSC_KV_OP_DEFRAG: return play_defrag(p, at, error);
    case PSC_KV_OP_RESTORE: return play_restore(p, at, error);
    case PSC_KV_OP_APPLY_SHIFT:
        play_apply(p, at);
        return PSC_OK;
    case PSC_KV_OP_ATTEND:
        play_attend(p, at);
        return PSC_OK;
    case PSC_KV_OP_RM:
    default:
        snprintf(title, sizeof title, "op %u: remove positions %d..%d", at, op->p0, op->p1 - 1);
        begin_position(p, title);
        psc_kv_single_remove(&p->kv, op->p0, op->p1);
        release_gone(p);
        return PSC_OK;
    }
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

static enum psc_status begin(struct player *p, struct psc_error *reterr)
{
    const struct psc_kv_script *script = p->script;
    uint64_t bytes;
    enum psc_status status = psc_kv_single_init(&p->kv, script->n_ctx, script->window, reterr);
    if (status)
        return status;
    if (!psc_mul_u64(script->row_bytes, p->kv.cells.n, &bytes) || bytes >= PSC_BYTES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "%u rows of %llu bytes are more than 2^60 bytes", p->kv.cells.n,
                        (unsigned long long)script->row_bytes);
    size_t size = (size_t)p->kv.cells.n * sizeof *p->value;
    p->value = psc_alloc(size);
    p->version = psc_alloc(size);
    p->nothing = psc_alloc(size);
    p->buffer = psc_alloc(size);
    p->story = psc_story_builder_new();
    if (!p->value || !p->version || !p->nothing || !p->buffer || !p->story)
        return psc_fail_nomem(reterr);
    memset(p->value, 0xff, size);
    memset(p->nothing, 0xff, size);
    memset(p->version, 0, size);
    memset(p->buffer, 0xff, size);
    for (uint32_t c = 0; c < p->kv.cells.n && p->kv.cells.n <= CELLS_SHOWN; c++)
        add_buffer(p, c);
    psc_story_add_lane(p->story, "host", PSC_BACKEND_NONE);
    return PSC_OK;
}

static const uint32_t *kept(struct psc_arena *arena, const struct list *list, uint32_t *ret_n, bool *nomem)
{
    uint32_t *out = psc_arena_alloc(arena, list->n, sizeof *out);
    *ret_n = (uint32_t)list->n;
    if (!out)
        *nomem = true;
    else if (list->n)
        memcpy(out, list->items, list->n * sizeof *out);
    return out;
}

static enum psc_status finish(struct player *p, struct psc_arena *arena, struct psc_kv_answer *ret,
                              struct psc_story **ret_story, struct psc_error *reterr)
{
    struct psc_kv_answer a = {.cell_n = p->kv.cells.n, .region_bytes = p->kv.cells.n * p->script->row_bytes};
    struct psc_kv_cell *cells = psc_arena_alloc(arena, a.cell_n, sizeof *cells);
    struct psc_kv_byte_move *moves = psc_arena_alloc(arena, p->moves.n / 2, sizeof *moves);
    bool nomem = p->nomem || !cells || !moves || p->report->failed;
    a.errors = kept(arena, &p->errors, &a.error_n, &nomem);
    a.overruns = kept(arena, &p->overruns, &a.overrun_n, &nomem);
    a.unwritten = kept(arena, &p->unwritten, &a.unwritten_n, &nomem);
    if (nomem)
        return psc_fail_nomem(reterr);
    memcpy(cells, p->kv.cells.cell, a.cell_n * sizeof *cells);
    a.cells = cells;
    a.moves = moves;
    a.move_n = (uint32_t)(p->moves.n / 2);
    for (uint32_t i = 0; i < a.move_n; i++)
        moves[i] = (struct psc_kv_byte_move){p->moves.items[2 * i] * p->script->row_bytes,
                                             p->moves.items[2 * i + 1] * p->script->row_bytes, p->script->row_bytes};
    psc_story_set_order(p->story, (uint32_t)p->position_n, NULL, NULL, PSC_EXEC_SERIAL, NULL, false);
    psc_story_set_titles(p->story, p->titles);
    enum psc_status status = psc_story_builder_finish(p->story, arena, ret_story, reterr);
    if (!status)
        *ret = a;
    return status;
}

enum psc_status psc_kv_play(struct psc_arena *arena, const struct psc_kv_script *script, struct psc_report *report,
                            struct psc_kv_answer *ret, struct psc_story **ret_story, struct psc_error *reterr)
{
    struct player p = {.script = script, .report = report};
    enum psc_status status = begin(&p, reterr);
    if (!status && (uint64_t)script->op_n * p.kv.cells.n > UINT64_C(1) << 32)
        status = psc_fail(reterr, PSC_ERR_TOO_BIG, "%u operations on %u cells are more than are played", script->op_n,
                          p.kv.cells.n);
    for (uint32_t at = 0; at < script->op_n && !status && !p.nomem && p.event_n <= PSC_SCENARIO_EVENTS_MAX; at++) {
        struct psc_error error = {0};
        enum psc_status done = play_op(&p, at, &error);
        if (done == PSC_ERR_NOMEM)
            status = psc_fail_nomem(reterr);
        else if (done)
            fail(&p, at, &error);
    }
    if (!status && !p.nomem && p.event_n > PSC_SCENARIO_EVENTS_MAX)
        status = psc_fail(reterr, PSC_ERR_TOO_BIG, "the script makes more than %u events", PSC_SCENARIO_EVENTS_MAX);
    if (!status)
        status = finish(&p, arena, ret, ret_story, reterr);
    for (size_t i = 0; i < p.position_n; i++)
        psc_free((char *)p.titles[i]);
    psc_free(p.titles);
    psc_free(p.errors.items);
    psc_free(p.overruns.items);
    psc_free(p.unwritten.items);
    psc_free(p.moves.items);
    psc_free(p.value);
    psc_free(p.version);
    psc_free(p.nothing);
    psc_free(p.buffer);
    psc_kv_work_release(&p.work);
    psc_kv_single_release(&p.kv);
    psc_story_builder_free(p.story);
    return status;
}
