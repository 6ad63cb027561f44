#include "ui/workspace-kv.h"

#include "ui/workspace-private.h"

#include <math.h>
#include <string.h>

/* ---- steps counted over all phases ------------------------------------------------------------------------------ */

guint psc_workspace_step_total(PscWorkspace *self)
{
    guint total = 0;
    for (guint i = 0; i < self->phases->len; i++)
        total += psc_workspace_state(self, i)->step_n;
    return total;
}

static guint ordinal_of(PscWorkspace *self, guint phase, guint step)
{
    for (guint i = 0; i < phase; i++)
        step += psc_workspace_state(self, i)->step_n;
    return step;
}

guint psc_workspace_ordinal(PscWorkspace *self)
{
    return ordinal_of(self, self->phase, psc_workspace_step_index(self));
}

gboolean psc_workspace_step_of(PscWorkspace *self, guint ordinal, guint *ret_phase, guint *ret_step)
{
    for (guint i = 0; i < self->phases->len; i++) {
        guint n = psc_workspace_state(self, i)->step_n;
        if (ordinal < n) {
            *ret_phase = i;
            *ret_step = ordinal;
            return TRUE;
        }
        ordinal -= n;
    }
    return FALSE;
}

gboolean psc_workspace_show_ordinal(PscWorkspace *self, guint ordinal)
{
    guint phase, step;
    if (!psc_workspace_step_of(self, ordinal, &phase, &step) || (ordinal == psc_workspace_ordinal(self) && !self->busy))
        return FALSE;
    psc_workspace_set_phase_step(self, phase, step);
    return TRUE;
}

gboolean psc_workspace_step_by(PscWorkspace *self, int steps)
{
    guint phase, step;
    psc_workspace_wanted(self, &phase, &step);
    guint from = ordinal_of(self, phase, step);
    if (steps < 0 && from < (guint)-steps)
        return FALSE;
    return psc_workspace_show_ordinal(self, from + (guint)steps);
}

/* ---- the walk over all steps --------------------------------------------------------------------------------------- */

struct walk_job {
    PscKvWalk *walk; /* handed on to the next job */
    PscKvStory *story;
    guint request;
};

static void free_walk_job(gpointer data)
{
    struct walk_job *job = data;
    psc_kv_walk_free(job->walk);
    psc_kv_story_unref(job->story);
    g_free(job);
}

static void run_walk(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct walk_job *job = data;
    job->story = psc_kv_walk_on(job->walk);
    g_task_return_boolean(task, TRUE);
}

static void walk_on(PscWorkspace *self, PscKvWalk *walk);

static void walk_done(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscWorkspace *self = PSC_WORKSPACE(source);
    struct walk_job *job = g_task_get_task_data(G_TASK(result));
    if (job->request != self->kv.request || job->walk->document != self->document)
        return;
    self->kv.done = job->walk->done;
    self->kv.total = job->walk->total;
    self->kv.reading = !psc_kv_walk_is_over(job->walk);
    if (job->story) {
        psc_kv_story_unref(self->kv.story);
        self->kv.story = g_steal_pointer(&job->story);
        self->kv.stale = TRUE;
    }
    if (self->kv.reading)
        walk_on(self, g_steal_pointer(&job->walk));
    psc_workspace_emit(self, PSC_CHANGED_KV);
}

static void walk_on(PscWorkspace *self, PscKvWalk *walk)
{
    struct walk_job *job = g_new0(struct walk_job, 1);
    job->walk = walk;
    job->request = self->kv.request;
    GTask *task = g_task_new(self, NULL, walk_done, NULL);
    g_task_set_task_data(task, job, free_walk_job);
    g_task_run_in_thread(task, run_walk);
    g_object_unref(task);
}

static void start_walk(PscWorkspace *self)
{
    guint n = self->phases->len;
    gboolean any = FALSE;
    struct psc_phase *phases = g_new0(struct psc_phase, n + 1);
    guint *step_n = g_new0(guint, n + 1);
    for (guint i = 0; i < n; i++) {
        struct phase_state *state = psc_workspace_state(self, i);
        struct psc_kv_regions regions;
        phases[i] = state->phase;
        step_n[i] = state->step_n;
        any = any || (state->step_n && psc_kv_regions_of(&state->phase, &regions));
    }
    self->kv.request++;
    self->kv.walked = TRUE;
    if (any) {
        self->kv.reading = TRUE;
        walk_on(self, psc_kv_walk_new(self->document, phases, step_n, n));
    }
    g_free(phases);
    g_free(step_n);
}

void psc_workspace_need_kv(PscWorkspace *self)
{
    self->kv.wanted = TRUE;
    psc_workspace_kv_walk_when_ready(self);
}

/* The order of the steps is known once the file is scanned. */
void psc_workspace_kv_walk_when_ready(PscWorkspace *self)
{
    if (self->kv.wanted && !self->kv.walked && self->document && !self->scanning)
        start_walk(self);
}

const struct psc_kv_history *psc_workspace_kv_history(PscWorkspace *self)
{
    return self->kv.story ? self->kv.story->history : NULL;
}

gboolean psc_workspace_kv_reading(PscWorkspace *self, double *ret_fraction)
{
    gboolean waiting = self->kv.wanted && self->document && !self->kv.walked;
    if (ret_fraction)
        *ret_fraction = self->kv.total ? (double)self->kv.done / self->kv.total : 0;
    return self->kv.reading || waiting;
}

/* ---- the step that is shown ------------------------------------------------------------------------------------------ */

static void clear_step(PscWorkspace *self)
{
    self->kv.step = NULL;
    self->kv.has_step = FALSE;
    psc_arena_release(&self->kv.arena);
    psc_kv_story_unref(self->kv.of_story);
    self->kv.of_story = NULL;
}

static void make_step(PscWorkspace *self)
{
    PscStudy *study = self->look.study;
    PscRecords *records = self->look.records;
    struct psc_kv_regions regions;
    struct psc_step none = {0};
    struct psc_kv_step_source source = {.regions = &regions, .ordinal = psc_workspace_ordinal(self),
                                        .is_prefill = psc_kv_is_prefill(&study->phase)};
    if (!psc_kv_regions_of(&study->phase, &regions))
        return;
    const struct psc_story *story = study->analysis->story;
    source.graph = study->graph;
    source.story = story;
    source.position_of = study->graph ? study->position_of : NULL;
    /* What is known of a part of the run says nothing of steps beyond it. */
    if (self->kv.story && self->kv.story->history->step_n >= source.ordinal) {
        self->kv.of_story = psc_kv_story_ref(self->kv.story);
        source.history = self->kv.story->history;
    }
    if (psc_kv_rows_of(&self->kv.arena, &study->phase, records ? &records->step : &none, story ? story->order : NULL,
                       &source.rows, &source.row_n, &source.source, NULL) != PSC_OK)
        return;
    if (records)
        source.sequences = records->step.sequences, source.sequence_n = records->step.sequence_n;
    struct psc_kv_step *step = NULL;
    if (psc_kv_step_build(&self->kv.arena, &source, &step, NULL) == PSC_OK)
        self->kv.step = step;
}

const struct psc_kv_step *psc_workspace_kv(PscWorkspace *self)
{
    if (!self->look.study)
        return NULL;
    if (!self->kv.has_step || self->kv.stale || self->kv.of_look != self->look_serial) {
        clear_step(self);
        make_step(self);
        self->kv.has_step = TRUE;
        self->kv.stale = FALSE;
        self->kv.of_look = self->look_serial;
    }
    return self->kv.step;
}

void psc_workspace_kv_drop(PscWorkspace *self)
{
    clear_step(self);
    self->kv.request++;
    psc_kv_story_unref(self->kv.story);
    self->kv.story = NULL;
    self->kv.walked = self->kv.reading = self->kv.has_range = FALSE;
    self->kv.done = self->kv.total = 0;
    self->kv.cell = (PscKvCell){PSC_NONE, PSC_NONE, FALSE};
}

/* ---- cell, range, halves ------------------------------------------------------------------------------------------- */

PscKvCell psc_workspace_kv_cell(PscWorkspace *self)
{
    return self->kv.cell;
}

gboolean psc_workspace_kv_focus(PscWorkspace *self, PscKvCell *ret)
{
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (self->kv.cell.layer != PSC_NONE) {
        *ret = self->kv.cell;
        return step && ret->layer < step->regions.layers;
    }
    struct psc_kv_so_far s;
    if (!step)
        return FALSE;
    psc_kv_step_so_far(step, self->cursor, &s);
    uint32_t done = psc_kv_step_done(step, self->cursor);
    *ret = (PscKvCell){done ? step->touches[done - 1].layer : 0, s.hi > s.lo ? s.hi - 1 : 0, FALSE};
    return s.hi > s.lo;
}

/* The buffer of the layer's K or V region, or PSC_NONE. */
static uint32_t region_buffer(PscWorkspace *self, uint32_t layer, gboolean is_v)
{
    const struct psc_history *h = self->look.study->analysis->history;
    for (uint32_t b = 0; h && b < h->story->buffer_n; b++) {
        if (h->story->buffers[b].role != PSC_ROLE_PERSISTENT || h->buffer_at[b] == h->buffer_at[b + 1])
            continue;
        const struct psc_value *v = &h->story->values[h->tenancies[h->buffer_at[b]].value];
        if (v->kind == PSC_VALUE_REGION && v->layer == (int32_t)layer && v->slot == (is_v ? 1 : 0))
            return b;
    }
    return PSC_NONE;
}

/* The view moves only as far as the row needs; the zoom stays. */
static void show_row(PscWorkspace *self, uint32_t row)
{
    double lo, hi;
    psc_workspace_kv_range(self, &lo, &hi);
    double width = hi - lo, margin = fmin(2, width / 8);
    if (row < lo + margin)
        psc_workspace_set_kv_range(self, row - margin, row - margin + width);
    else if (row + 1 > hi - margin)
        psc_workspace_set_kv_range(self, row + 1 + margin - width, row + 1 + margin);
}

static gboolean is_own_row(const struct psc_kv_step *step, uint32_t row)
{
    struct psc_kv_so_far s;
    psc_kv_step_so_far(step, INT32_MAX, &s);
    return row >= s.lo && row < s.hi;
}

void psc_workspace_select_kv(PscWorkspace *self, uint32_t layer, uint32_t row, gboolean is_v)
{
    const struct psc_kv_step *step = psc_workspace_kv(self);
    PscKvCell cell = {PSC_NONE, PSC_NONE, FALSE};
    if (step && layer != PSC_NONE)
        cell = (PscKvCell){MIN(layer, step->regions.layers - 1), MIN(row, step->regions.rows - 1), is_v};
    if (memcmp(&cell, &self->kv.cell, sizeof cell) == 0)
        return;
    self->kv.cell = cell;
    self->kv.cell_is_own = cell.layer != PSC_NONE && is_own_row(step, cell.row);
    if (cell.layer != PSC_NONE) {
        uint32_t buffer = region_buffer(self, cell.layer, cell.is_v);
        show_row(self, cell.row);
        if (buffer != PSC_NONE)
            psc_workspace_select_buffer(self, buffer);
    }
    psc_workspace_emit(self, PSC_CHANGED_KV);
}

void psc_workspace_kv_range(PscWorkspace *self, double *ret_lo, double *ret_hi)
{
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!self->kv.has_range && step) {
        psc_kv_first_range(step, &self->kv.lo, &self->kv.hi);
        self->kv.has_range = TRUE;
    }
    *ret_lo = self->kv.lo;
    *ret_hi = self->kv.hi;
}

void psc_workspace_set_kv_range(PscWorkspace *self, double lo, double hi)
{
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!step)
        return;
    psc_kv_clamp_range(step->regions.rows, &lo, &hi);
    if (self->kv.has_range && lo == self->kv.lo && hi == self->kv.hi)
        return;
    self->kv.lo = lo;
    self->kv.hi = hi;
    self->kv.has_range = TRUE;
    psc_workspace_emit(self, PSC_CHANGED_KV);
}

/* Another step: its rows come into sight, at the zoom that is there. */
void psc_workspace_kv_follow_step(PscWorkspace *self)
{
    struct psc_kv_so_far s;
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!step)
        return;
    psc_kv_step_so_far(step, INT32_MAX, &s);
    if (self->kv.cell.layer != PSC_NONE) {
        self->kv.cell.layer = MIN(self->kv.cell.layer, step->regions.layers - 1);
        self->kv.cell.row = self->kv.cell_is_own && s.hi > s.lo ? s.hi - 1 : MIN(self->kv.cell.row, step->regions.rows - 1);
    }
    if (!self->kv.has_range)
        return;
    double lo = self->kv.lo, hi = self->kv.hi, width = hi - lo;
    psc_kv_clamp_range(step->regions.rows, &lo, &hi);
    if (s.hi > s.lo && (s.hi > hi || s.lo < lo)) {
        lo = s.hi - s.lo >= width ? s.lo : s.hi > hi ? s.hi + width * 0.1 - width : s.lo - width * 0.1;
        hi = lo + width;
        psc_kv_clamp_range(step->regions.rows, &lo, &hi);
    }
    self->kv.lo = lo;
    self->kv.hi = hi;
}

enum psc_kv_halves psc_workspace_kv_halves(PscWorkspace *self)
{
    return self->kv.halves;
}

void psc_workspace_set_kv_halves(PscWorkspace *self, enum psc_kv_halves halves)
{
    if (halves == self->kv.halves)
        return;
    self->kv.halves = halves;
    psc_workspace_emit(self, PSC_CHANGED_KV);
}

/* ---- from cell to cell ------------------------------------------------------------------------------------------------- */

/* Where moving starts: the first key only shows the cell that was meant. */
static gboolean start_cell(PscWorkspace *self, PscKvCell *ret)
{
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!step)
        return FALSE;
    if (!psc_workspace_kv_focus(self, ret))
        *ret = (PscKvCell){0, 0, FALSE};
    return TRUE;
}

gboolean psc_workspace_kv_move(PscWorkspace *self, int rows, int halves)
{
    PscKvCell at;
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!start_cell(self, &at))
        return FALSE;
    if (self->kv.cell.layer == PSC_NONE) {
        psc_workspace_select_kv(self, at.layer, at.row, at.is_v);
        return TRUE;
    }
    int64_t row = (int64_t)at.row + rows, half = (int64_t)at.layer * 2 + (at.is_v ? 1 : 0);
    if (self->kv.halves == PSC_KV_BOTH)
        half += halves;
    else
        half = ((int64_t)at.layer + halves) * 2 + (self->kv.halves == PSC_KV_ONLY_V);
    if (row < 0 || row >= step->regions.rows || half < 0 || half >= 2 * (int64_t)step->regions.layers)
        return FALSE;
    psc_workspace_select_kv(self, (uint32_t)(half / 2), (uint32_t)row, half % 2 != 0);
    return TRUE;
}

gboolean psc_workspace_kv_layer(PscWorkspace *self, int direction)
{
    PscKvCell at;
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!start_cell(self, &at))
        return FALSE;
    int64_t layer = (int64_t)at.layer + direction;
    if (self->kv.cell.layer == PSC_NONE && self->cursor < 0)
        layer = at.layer; /* from before the first op: to the first layer */
    if (layer < 0 || layer >= step->regions.layers)
        return FALSE;
    psc_node writer = step->writer[layer];
    if (self->look.study->graph && writer < self->look.study->node_n)
        psc_workspace_set_cursor(self, self->look.study->position_of[writer]);
    psc_workspace_select_kv(self, (uint32_t)layer, at.row, at.is_v);
    return TRUE;
}

gboolean psc_workspace_kv_edge(PscWorkspace *self, int direction)
{
    PscKvCell at;
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!start_cell(self, &at))
        return FALSE;
    struct psc_kv_so_far s;
    psc_kv_step_so_far(step, INT32_MAX, &s);
    uint32_t lo = s.hi > s.lo ? s.lo : 0, hi = s.hi > s.lo ? s.hi - 1 : 0;
    const struct psc_kv_state *state = &step->before;
    if (at.layer < state->layers && state->layer_at[at.layer + 1] > state->layer_at[at.layer]) {
        lo = MIN(lo, state->spans[state->layer_at[at.layer]].lo);
        hi = MAX(hi, state->spans[state->layer_at[at.layer + 1] - 1].hi - 1);
    }
    psc_workspace_select_kv(self, at.layer, direction < 0 ? lo : hi, at.is_v);
    return TRUE;
}

gboolean psc_workspace_kv_alarm(PscWorkspace *self, int direction)
{
    const struct psc_kv_step *step = psc_workspace_kv(self);
    if (!step || !step->alarm_n)
        return FALSE;
    int64_t n = step->alarm_n, at = -1;
    for (uint32_t i = 0; i < step->alarm_n && at < 0; i++)
        if (step->alarms[i].layer == self->kv.cell.layer && step->alarms[i].lo == self->kv.cell.row &&
            step->touches[step->alarms[i].touch].position == self->cursor)
            at = i;
    at = at < 0 ? (direction > 0 ? 0 : n - 1) : (at + direction + n) % n;
    const struct psc_kv_alarm *alarm = &step->alarms[at];
    psc_workspace_set_cursor(self, step->touches[alarm->touch].position);
    psc_workspace_select_kv(self, alarm->layer, alarm->lo, FALSE);
    return TRUE;
}
