#include "ui/workspace.h"

#include "ui/workspace-private.h"

#include "core/base/text.h"

#include <math.h>
#include <string.h>

#define CONTEXT 10             /* ops shown on each side of a finding */

G_DEFINE_FINAL_TYPE(PscWorkspace, psc_workspace, G_TYPE_OBJECT)

static guint changed_signal;

const char psc_token_is_prompt[] = "";

static const PscSelection nothing = {PSC_NONE, PSC_NONE, -1};

void psc_workspace_emit(PscWorkspace *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP))
        psc_workspace_take_verdict(self);
    g_signal_emit(self, changed_signal, 0, what);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS | PSC_CHANGED_BUSY | PSC_CHANGED_PHASES))
        psc_workspace_look_on(self);
}

struct phase_state *psc_workspace_state(PscWorkspace *self, guint phase)
{
    return phase < self->phases->len ? &g_array_index(self->phases, struct phase_state, phase) : NULL;
}

static void clear_state(gpointer data)
{
    struct phase_state *state = data;
    psc_study_unref(state->study);
    g_ptr_array_unref(state->tokens);
}

/* Keys of a phase come in any order: its plan may be read after its graph. */
static bool same_subject(const struct psc_phase *a, const struct psc_phase *b)
{
    return a->graph == b->graph && a->plan == b->plan && a->story == b->story && a->boxes == b->boxes && a->expression == b->expression;
}

/* Takes over what the scan has found so far. Called only while no slice of the scan is running. */
void psc_workspace_sync_phases(PscWorkspace *self)
{
    struct psc_doc *doc = self->document->doc;
    while (self->phases->len < doc->phase_n) {
        struct phase_state state = {.cursor = -1, .tokens = g_ptr_array_new()};
        state.options.plan = psc_plan_defaults;
        state.options.plan.log = true;
        g_array_append_val(self->phases, state);
    }
    if (g_strcmp0(self->prompt, doc->prompt) != 0) {
        g_free(self->prompt);
        self->prompt = g_strdup(doc->prompt);
    }
    for (guint i = 0; i < self->phases->len; i++) {
        struct phase_state *state = psc_workspace_state(self, i);
        gboolean shown = i == self->phase && self->look.study; /* its verdict is the one of what is shown */
        guint step_n = psc_doc_step_n(doc, i);
        if (!shown && (!same_subject(&state->phase, &doc->phases[i]) || (step_n && !state->step_n)))
            psc_workspace_forget_verdict(self, state);
        state->phase = doc->phases[i];
        state->step_n = step_n;
    }
}

/* ---- the view ---------------------------------------------------------------------------- */

void psc_workspace_store_view(PscWorkspace *self)
{
    struct phase_state *state = psc_workspace_state(self, self->phase);
    if (!state || !self->look.study)
        return;
    state->cursor = self->cursor;
    state->x0 = self->x0;
    state->x1 = self->x1;
    state->has_view = TRUE;
}

static double clamp_range(PscWorkspace *self, double *x0, double *x1)
{
    double low = -1, high = psc_study_end(self->look.study) + 1.0;
    double width = CLAMP(*x1 - *x0, MIN(2.0, high - low), high - low);
    double middle = (*x0 + *x1) / 2;
    *x0 = CLAMP(middle - width / 2, low, high - width);
    *x1 = *x0 + width;
    return width;
}

static void whole_range(PscWorkspace *self)
{
    self->x0 = -1;
    self->x1 = psc_study_end(self->look.study) + 1.0;
}

static void range_about(PscWorkspace *self, int32_t first, int32_t last, double context)
{
    self->x0 = first - context;
    self->x1 = last + 1 + context;
    clamp_range(self, &self->x0, &self->x1);
}

static void aim_at_finding(PscWorkspace *self, int finding)
{
    const struct psc_finding *f = &self->look.study->analysis->check.findings[finding];
    int32_t first = MIN(MAX(f->victim_position, -1), f->position);
    int32_t last = MAX(f->read_position, f->position);
    /* A victim born long before the damage would push both ends out of sight. */
    if (last - first > 6 * CONTEXT)
        first = MAX(first, f->position - 2 * CONTEXT);
    self->selection = (PscSelection){.node = f->writer < self->look.study->node_n ? f->writer : f->victim,
                                     .buffer = f->buffer, .finding = finding};
    self->cursor = CLAMP(f->position, -1, psc_study_end(self->look.study));
    range_about(self, first, last, CONTEXT);
}

void psc_workspace_aim(PscWorkspace *self, int direction)
{
    uint32_t n = self->look.study->analysis->check.finding_n;
    if (n)
        aim_at_finding(self, direction > 0 ? 0 : (int)n - 1);
}

/* What is shown first: the first finding, else everything. */
static void first_view(PscWorkspace *self)
{
    self->selection = nothing;
    self->cursor = -1;
    whole_range(self);
    if (self->look.study->analysis->check.finding_n > 0)
        aim_at_finding(self, 0);
}

void psc_workspace_restore_view(PscWorkspace *self)
{
    struct phase_state *state = psc_workspace_state(self, self->phase);
    if (!state->has_view) {
        first_view(self);
        return;
    }
    self->selection = nothing;
    self->cursor = CLAMP(state->cursor, -1, psc_study_end(self->look.study));
    self->x0 = state->x0;
    self->x1 = state->x1;
    clamp_range(self, &self->x0, &self->x1);
}

void psc_workspace_set_failure(PscWorkspace *self, const char *text)
{
    g_free(self->failure);
    self->failure = g_strdup(text);
}

/* The selected node survives a new plan; a finding does not, unless the new plan has one too. */
void psc_workspace_after_replan(PscWorkspace *self)
{
    PscSelection old = self->selection;
    if (self->look.study->analysis->check.finding_n > 0)
        aim_at_finding(self, 0);
    else if (old.finding >= 0)
        self->selection = nothing;
    else if (old.node != PSC_NONE)
        self->selection = (PscSelection){old.node, psc_study_buffer(self->look.study, old.node), -1};
    else
        self->selection = nothing;
    self->cursor = CLAMP(self->cursor, -1, psc_study_end(self->look.study));
    clamp_range(self, &self->x0, &self->x1);
}

void psc_workspace_after_story(PscWorkspace *self, psc_node at)
{
    if (at < self->look.study->node_n)
        self->cursor = self->look.study->position_of[at];
    self->cursor = CLAMP(self->cursor, -1, psc_study_end(self->look.study));
    clamp_range(self, &self->x0, &self->x1);
    psc_node node = self->selection.node; /* findings and buffers have other numbers in the other story */
    bool kept = self->selection.finding < 0 && node < self->look.study->node_n;
    self->selection = kept ? (PscSelection){node, psc_study_buffer(self->look.study, node), -1} : nothing;
}

/* ---- document ----------------------------------------------------------------------------- */

static void drop_contents(PscWorkspace *self)
{
    if (self->contents.data)
        self->contents.free(self->contents.data);
    self->contents = (PscContents){0};
}

void psc_workspace_set_contents(PscWorkspace *self, const PscContents *contents)
{
    drop_contents(self);
    if (contents)
        self->contents = *contents;
    psc_workspace_emit(self, PSC_CHANGED_STEP);
}

gboolean psc_workspace_contents(PscWorkspace *self, struct psc_contents *ret)
{
    if (!self->contents.data || !self->document)
        return FALSE;
    *ret = self->contents.of(self->contents.data, self->phase, psc_workspace_step_index(self));
    return TRUE;
}

static void drop_document(PscWorkspace *self)
{
    drop_contents(self);
    self->request++;
    self->busy = self->scanning = FALSE;
    psc_workspace_kv_drop(self);
    psc_workspace_verdicts_drop(self);
    psc_look_clear(&self->look);
    self->look_serial++;
    self->free_study = NULL;
    g_array_set_size(self->free_buffers, 0);
    g_array_set_size(self->phases, 0);
    g_string_chunk_clear(self->words);
    g_clear_pointer(&self->document, psc_document_unref);
    g_clear_pointer(&self->title, g_free);
    g_clear_pointer(&self->prompt, g_free);
    psc_workspace_set_failure(self, NULL);
    self->selection = nothing;
    self->cursor = -1;
    self->phase = 0;
}

static void show_document(PscWorkspace *self, PscDocument *document, PscLook *look, const char *title)
{
    drop_document(self);
    self->document = document;
    self->look = *look;
    *look = (PscLook){0};
    self->title = g_strdup(title);
    self->phase = self->look.study->phase_index;
    psc_workspace_sync_phases(self);
    struct phase_state *state = psc_workspace_state(self, self->phase);
    state->study = psc_study_ref(self->look.study);
    state->options = self->look.study->options;
    PscRecords *records = self->look.records;
    if (records)
        psc_workspace_keep_token(self, self->phase, 0, &records->step);
    psc_workspace_story_adopt(self);
    first_view(self);
    gboolean foreign_values = records && records->check.overwritten > 0;
    self->colour_by = foreign_values ? PSC_BY_RECORD : PSC_BY_ROLE;
    self->y_mode = foreign_values && self->selection.finding < 0 ? PSC_VIEW_ROWS : PSC_VIEW_MAP;
    const struct psc_inside *inside = self->look.study->inside;
    if (inside && (inside->tale || inside->axis) && self->selection.finding < 0) /* what there is to see is how it came so */
        self->y_mode = PSC_VIEW_PANEL;
    self->scan_fraction = 0;
}

void psc_workspace_adopt_beside(PscWorkspace *self, PscDocument *document, PscLook *look, const char *title)
{
    show_document(self, document, look, title);
    self->beside = TRUE;
    psc_workspace_emit(self, PSC_CHANGED_ALL);
}

void psc_workspace_adopt(PscWorkspace *self, PscDocument *document, PscLook *look, const char *title)
{
    show_document(self, document, look, title);
    self->beside = FALSE;
    self->scanning = document->doc->steps.scan != NULL;
    psc_workspace_emit(self, PSC_CHANGED_ALL);
    psc_workspace_kv_walk_when_ready(self);
    if (self->scanning)
        psc_workspace_scan_on(self);
    else
        psc_workspace_read_ahead(self);
}

void psc_workspace_close(PscWorkspace *self)
{
    drop_document(self);
    psc_workspace_emit(self, PSC_CHANGED_ALL);
}

PscDocument *psc_workspace_document(PscWorkspace *self)
{
    return self->document;
}

const char *psc_workspace_title(PscWorkspace *self)
{
    return self->title;
}

PscStudy *psc_workspace_study(PscWorkspace *self)
{
    return self->look.study;
}

PscRecords *psc_workspace_records(PscWorkspace *self)
{
    return self->look.records;
}

PscPicture *psc_workspace_picture(PscWorkspace *self)
{
    return self->look.picture;
}

gboolean psc_workspace_busy(PscWorkspace *self)
{
    return self->busy;
}

const char *psc_workspace_failure(PscWorkspace *self)
{
    return self->failure;
}

guint psc_workspace_phase_n(PscWorkspace *self)
{
    return self->phases->len;
}

const struct psc_phase *psc_workspace_phase(PscWorkspace *self, guint phase)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    return state ? &state->phase : NULL;
}

guint psc_workspace_step_n(PscWorkspace *self, guint phase)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    return state ? state->step_n : 0;
}

guint psc_workspace_phase_index(PscWorkspace *self)
{
    return self->phase;
}

guint psc_workspace_step_index(PscWorkspace *self)
{
    struct phase_state *state = psc_workspace_state(self, self->phase);
    return state ? state->step : 0;
}

void psc_workspace_wanted(PscWorkspace *self, guint *ret_phase, guint *ret_step)
{
    *ret_phase = self->busy ? self->asked_phase : self->phase;
    *ret_step = self->busy ? self->asked_step : psc_workspace_step_index(self);
}

gboolean psc_workspace_scanning(PscWorkspace *self, double *ret_fraction)
{
    if (ret_fraction)
        *ret_fraction = self->scan_fraction;
    return self->scanning;
}

void psc_workspace_set_phase(PscWorkspace *self, guint phase)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    guint wanted, step;
    psc_workspace_wanted(self, &wanted, &step);
    if (state && phase != wanted)
        psc_workspace_request(self, phase, state->step, NULL);
}

void psc_workspace_set_step(PscWorkspace *self, guint step)
{
    psc_workspace_set_phase_step(self, self->phase, step);
}

void psc_workspace_set_phase_step(PscWorkspace *self, guint phase, guint step)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    gboolean shown = phase == self->phase && state && step == state->step && !self->busy;
    if (state && step < state->step_n && !shown)
        psc_workspace_request(self, phase, step, NULL);
}

const char *psc_workspace_prompt(PscWorkspace *self)
{
    return self->prompt;
}

const char *psc_workspace_token(PscWorkspace *self, guint phase, guint step)
{
    struct phase_state *state = psc_workspace_state(self, phase);
    const char *token = state && step < state->tokens->len ? g_ptr_array_index(state->tokens, step) : NULL;
    return token == psc_token_is_prompt ? (self->prompt ? self->prompt : "") : token;
}

const struct psc_analysis_options *psc_workspace_options(PscWorkspace *self)
{
    struct phase_state *state = psc_workspace_state(self, self->phase);
    return state ? &state->options : NULL;
}

void psc_workspace_set_options(PscWorkspace *self, const struct psc_analysis_options *options)
{
    if (self->look.study)
        psc_workspace_request(self, self->phase, psc_workspace_step_index(self), options);
}

/* ---- cursor, selection, range ------------------------------------------------------------------ */

int32_t psc_workspace_cursor(PscWorkspace *self)
{
    return self->cursor;
}

/* The view follows only when the now-line leaves the middle 60 %; the zoom never changes by itself. */
static guint follow_cursor(PscWorkspace *self)
{
    double width = self->x1 - self->x0, x = self->cursor + 0.5;
    if (x >= self->x0 + 0.2 * width && x <= self->x1 - 0.2 * width)
        return 0;
    double old = self->x0;
    self->x0 = x < self->x0 + 0.2 * width ? x - 0.2 * width : x - 0.8 * width;
    self->x1 = self->x0 + width;
    clamp_range(self, &self->x0, &self->x1);
    return fabs(self->x0 - old) > 1e-9 ? PSC_CHANGED_RANGE : 0;
}

static guint move_cursor(PscWorkspace *self, int32_t position)
{
    position = CLAMP(position, -1, psc_study_end(self->look.study));
    guint what = position != self->cursor ? PSC_CHANGED_CURSOR : 0;
    self->cursor = position;
    return what | follow_cursor(self);
}

void psc_workspace_set_cursor(PscWorkspace *self, int32_t position)
{
    guint what = self->look.study ? move_cursor(self, position) : 0;
    if (what)
        psc_workspace_emit(self, what);
}

static guint select_one(PscWorkspace *self, PscSelection selection)
{
    if (memcmp(&selection, &self->selection, sizeof selection) == 0)
        return 0;
    self->selection = selection;
    return PSC_CHANGED_SELECTION;
}

static PscSelection of_node(PscWorkspace *self, psc_node node)
{
    return (PscSelection){node, psc_study_buffer(self->look.study, node), -1};
}

void psc_workspace_step_to(PscWorkspace *self, int32_t position)
{
    if (!self->look.study)
        return;
    guint what = move_cursor(self, position);
    psc_node node = psc_study_node_at(self->look.study, self->cursor);
    if (self->selection.finding < 0)
        what |= select_one(self, node == PSC_NONE ? nothing : of_node(self, node));
    if (what)
        psc_workspace_emit(self, what);
}

static bool is_free(const PscStudy *study, uint32_t buffer, int32_t position)
{
    const struct psc_history *h = study->analysis->history;
    if (h->story->buffers[buffer].role != PSC_ROLE_POOL)
        return false;
    uint32_t next = psc_study_tenants_before(study, buffer, position);
    return next == h->buffer_at[buffer] || h->tenancies[next - 1].end <= position;
}

/* Of arenas: the blocks that are kept free, in the order in which they would be evicted. */
static void list_free_blocks(PscWorkspace *self, const struct psc_arena_track *track)
{
    struct psc_arena arena = {0};
    struct psc_arena_look look;
    if (psc_arena_track_look(track, &arena, psc_arena_track_upto(track, self->cursor), &look, NULL) == PSC_OK)
        for (uint32_t k = 0; k < look.home_n; k++)
            for (uint32_t i = 0; i < look.homes[k].figures.free_n; i++)
                g_array_append_val(self->free_buffers, look.homes[k].slots[look.homes[k].evictions[i]].buffer);
    psc_arena_release(&arena);
}

const uint32_t *psc_workspace_free_buffers(PscWorkspace *self, uint32_t *ret_n)
{
    PscStudy *study = self->look.study;
    if (study != self->free_study || self->cursor != self->free_position) {
        self->free_study = study;
        self->free_position = self->cursor;
        g_array_set_size(self->free_buffers, 0);
        const struct psc_story *story = study ? study->analysis->story : NULL;
        if (study && study->inside && study->inside->axis)
            list_free_blocks(self, study->inside->axis->track);
        for (uint32_t b = 0; story && b < story->buffer_n; b++)
            if (is_free(study, b, self->cursor))
                g_array_append_val(self->free_buffers, b);
    }
    *ret_n = self->free_buffers->len;
    return (const uint32_t *)(const void *)self->free_buffers->data;
}

PscSelection psc_workspace_selection(PscWorkspace *self)
{
    return self->selection;
}

void psc_workspace_select_node(PscWorkspace *self, psc_node node)
{
    if (!self->look.study || node >= self->look.study->node_n)
        return;
    if (select_one(self, of_node(self, node)))
        psc_workspace_emit(self, PSC_CHANGED_SELECTION);
}

void psc_workspace_select_buffer(PscWorkspace *self, uint32_t buffer)
{
    const struct psc_story *story = self->look.study ? self->look.study->analysis->story : NULL;
    if (!story || buffer >= story->buffer_n)
        return;
    if (select_one(self, (PscSelection){PSC_NONE, buffer, -1}))
        psc_workspace_emit(self, PSC_CHANGED_SELECTION);
}

void psc_workspace_select_finding(PscWorkspace *self, int finding)
{
    if (!self->look.study || finding < 0 || (uint32_t)finding >= self->look.study->analysis->check.finding_n)
        return;
    aim_at_finding(self, finding);
    psc_workspace_emit(self, PSC_CHANGED_SELECTION | PSC_CHANGED_CURSOR | PSC_CHANGED_RANGE);
}

void psc_workspace_select_nothing(PscWorkspace *self)
{
    if (select_one(self, nothing))
        psc_workspace_emit(self, PSC_CHANGED_SELECTION);
}

void psc_workspace_range(PscWorkspace *self, double *ret_x0, double *ret_x1)
{
    *ret_x0 = self->x0;
    *ret_x1 = self->x1;
}

void psc_workspace_set_range(PscWorkspace *self, double x0, double x1)
{
    if (!self->look.study)
        return;
    clamp_range(self, &x0, &x1);
    if (x0 == self->x0 && x1 == self->x1)
        return;
    self->x0 = x0;
    self->x1 = x1;
    psc_workspace_emit(self, PSC_CHANGED_RANGE);
}

void psc_workspace_show_all(PscWorkspace *self)
{
    if (self->look.study)
        psc_workspace_set_range(self, -1, psc_study_end(self->look.study) + 1.0);
}

void psc_workspace_show(PscWorkspace *self, int32_t first, int32_t last, double context)
{
    psc_workspace_set_range(self, first - context, last + 1 + context);
}

enum psc_view_mode psc_workspace_y_mode(PscWorkspace *self)
{
    return self->y_mode;
}

void psc_workspace_set_y_mode(PscWorkspace *self, enum psc_view_mode mode)
{
    if (mode == self->y_mode)
        return;
    self->y_mode = mode;
    psc_workspace_emit(self, PSC_CHANGED_VIEW);
}

enum psc_view_colour psc_workspace_colour_by(PscWorkspace *self)
{
    return self->colour_by;
}

void psc_workspace_set_colour_by(PscWorkspace *self, enum psc_view_colour by)
{
    if (by == self->colour_by)
        return;
    self->colour_by = by;
    psc_workspace_emit(self, PSC_CHANGED_VIEW);
}

enum psc_view_height psc_workspace_height(PscWorkspace *self)
{
    return self->height;
}

void psc_workspace_set_height(PscWorkspace *self, enum psc_view_height height)
{
    if (height == self->height)
        return;
    self->height = height;
    psc_workspace_emit(self, PSC_CHANGED_VIEW);
}

static void psc_workspace_finalize(GObject *object)
{
    PscWorkspace *self = PSC_WORKSPACE(object);
    drop_document(self);
    g_array_unref(self->phases);
    g_string_chunk_free(self->words);
    g_array_unref(self->free_buffers);
    G_OBJECT_CLASS(psc_workspace_parent_class)->finalize(object);
}

static void psc_workspace_class_init(PscWorkspaceClass *class)
{
    G_OBJECT_CLASS(class)->finalize = psc_workspace_finalize;
    /* PscWorkspace::changed: the mask of PscChanged says what. */
    changed_signal = g_signal_new("changed", PSC_TYPE_WORKSPACE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void psc_workspace_init(PscWorkspace *self)
{
    self->phases = g_array_new(FALSE, TRUE, sizeof(struct phase_state));
    g_array_set_clear_func(self->phases, clear_state);
    self->words = g_string_chunk_new(1024);
    self->free_buffers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    self->selection = nothing;
    self->cursor = -1;
    self->kv.cell = (PscKvCell){PSC_NONE, PSC_NONE, FALSE};
}

PscWorkspace *psc_workspace_new(void)
{
    return g_object_new(PSC_TYPE_WORKSPACE, NULL);
}
