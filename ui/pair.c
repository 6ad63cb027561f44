#include "ui/pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct made { /* one difference; borrows from both studies */
    PscStudy *a, *b;
    struct psc_arena arena;
    struct psc_plan_diff *diff;
    uint32_t *rows; /* g_malloc: changes in the order of the list */
    struct psc_error error;
    guint request;
};

/* What B is of: what it is made of again when A shows another phase. */
enum kind { OF_NOTHING, OF_OPTIONS, OF_DOCUMENT, OF_PLAN };

struct _PscPair {
    GObject parent_instance;
    PscWorkspace *a; /* a weak pointer: it owns us, but a worker may still hold us when it is gone */
    PscWorkspace *b; /* owned */
    char *name, *failure;
    enum kind kind;
    struct psc_analysis_options options; /* OF_OPTIONS */
    guint phase;    /* of A, when B was shown */
    struct made *made; /* NULL while there is none */
    guint request, picked;
    guint planned;  /* OF_PLAN: the phase of A that the plan is of */
    gboolean locking, waits; /* waits: for a phase of B that was not read yet */
    gboolean apart; /* B shows nothing that A's phase could be laid beside; the failure says why */
};

G_DEFINE_FINAL_TYPE(PscPair, psc_pair, G_TYPE_OBJECT)

static guint changed_signal;

static void emit(PscPair *self)
{
    g_signal_emit(self, changed_signal, 0);
}

static void free_made(gpointer data)
{
    struct made *made = data;
    if (!made)
        return;
    psc_arena_release(&made->arena);
    g_free(made->rows);
    psc_study_unref(made->a);
    psc_study_unref(made->b);
    g_free(made);
}

/* ---- the difference ------------------------------------------------------------------------------------------- */

static int by_peak(gconstpointer x, gconstpointer y, gpointer data)
{
    const struct psc_plan_diff *d = data;
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    int64_t a = d->changes[i].peak_bytes, b = d->changes[k].peak_bytes;
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return a != b ? (a > b ? -1 : 1) : i < k ? -1 : i > k;
}

static void run_cb(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct made *made = data;
    struct psc_diff_side a = {made->a->graph, made->a->analysis->story, made->a->analysis->history};
    struct psc_diff_side b = {made->b->graph, made->b->analysis->story, made->b->analysis->history};
    if (psc_diff_plans(&made->arena, &a, &b, &made->diff, &made->error) == PSC_OK) {
        made->rows = g_new(uint32_t, made->diff->change_n + 1);
        for (uint32_t i = 0; i < made->diff->change_n; i++)
            made->rows[i] = i;
        g_qsort_with_data(made->rows, (gint)made->diff->change_n, sizeof *made->rows, by_peak, made->diff);
    }
    g_task_return_boolean(task, TRUE);
}

static void lock(PscPair *self, PscWorkspace *from, guint what);

static void done_cb(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscPair *self = PSC_PAIR(source);
    struct made *made = g_task_get_task_data(G_TASK(result));
    if (made->request != self->request || !self->a)
        return;
    if (made->diff) {
        self->made = g_new0(struct made, 1);
        *self->made = *made;
        *made = (struct made){0}; /* the task frees what is left */
        lock(self, self->a, PSC_CHANGED_ALL);
    } else {
        g_free(self->failure);
        self->failure = g_strdup(made->error.text);
    }
    emit(self);
}

static void drop(PscPair *self)
{
    self->request++;
    g_clear_pointer(&self->made, free_made);
    self->picked = PSC_NONE;
}

static void restart(PscPair *self)
{
    PscStudy *a = psc_workspace_study(self->a), *b = psc_workspace_study(self->b);
    drop(self);
    if (!self->apart && a && b && a->analysis->story && b->analysis->story) {
        g_clear_pointer(&self->failure, g_free);
        struct made *made = g_new0(struct made, 1);
        made->a = psc_study_ref(a);
        made->b = psc_study_ref(b);
        made->request = self->request;
        GTask *task = g_task_new(self, NULL, done_cb, NULL);
        g_task_set_task_data(task, made, free_made);
        g_task_run_in_thread(task, run_cb);
        g_object_unref(task);
    }
    emit(self);
}

/* ---- the lock ------------------------------------------------------------------------------------------------- */

static double position_of(const int32_t *map, uint32_t n, double p)
{
    double whole = floor(p), part = p - whole;
    int32_t at = (int32_t)CLAMP(whole, -1, (double)n);
    return map[at + 1] + part + (whole - at); /* ranges go one beyond the end */
}

static void lock_selection(PscPair *self, PscWorkspace *from, PscWorkspace *to)
{
    const struct psc_plan_diff *d = self->made->diff;
    gboolean forth = from == self->a;
    const struct psc_diff_side *near = forth ? &d->a : &d->b, *far = forth ? &d->b : &d->a;
    psc_node node = psc_workspace_selection(from).node;
    uint32_t value = node != PSC_NONE && near->graph ? psc_history_value_of_node(near->history, node) : PSC_NONE;
    uint32_t other = value != PSC_NONE ? (forth ? d->b_of : d->a_of)[value] : PSC_NONE;
    psc_node there = other != PSC_NONE ? far->story->values[other].node : PSC_NONE;
    if (there != PSC_NONE && far->graph && there < far->graph->n)
        psc_workspace_select_node(to, there);
    else
        psc_workspace_select_nothing(to);
}

static void lock(PscPair *self, PscWorkspace *from, guint what)
{
    PscWorkspace *to = from == self->a ? self->b : self->a;
    if (!self->made || self->locking || !psc_workspace_study(to) || self->made->a != psc_workspace_study(self->a) ||
        self->made->b != psc_workspace_study(self->b))
        return;
    const struct psc_plan_diff *d = self->made->diff;
    const int32_t *map = from == self->a ? d->b_at : d->a_at;
    uint32_t n = from == self->a ? d->a.story->position_n : d->b.story->position_n;
    self->locking = TRUE;
    if (what & PSC_CHANGED_VIEW) {
        psc_workspace_set_y_mode(to, psc_workspace_y_mode(from));
        psc_workspace_set_height(to, psc_workspace_height(from));
        psc_workspace_set_colour_by(to, psc_workspace_colour_by(from));
    }
    if (what & PSC_CHANGED_SELECTION)
        lock_selection(self, from, to);
    if (what & PSC_CHANGED_CURSOR)
        psc_workspace_set_cursor(to, (int32_t)position_of(map, n, psc_workspace_cursor(from)));
    if (what & (PSC_CHANGED_RANGE | PSC_CHANGED_SELECTION)) {
        double x0, x1;
        psc_workspace_range(from, &x0, &x1);
        psc_workspace_set_range(to, position_of(map, n, x0), position_of(map, n, x1));
    }
    self->locking = FALSE;
}

static void stand_apart(PscPair *self, char *why)
{
    drop(self);
    self->apart = TRUE;
    g_free(self->failure);
    self->failure = why;
    emit(self);
}

/* The phase of B's document that stands beside A's: as the many-th of its kind; without kinds by number. */
static guint phase_beside(PscPair *self)
{
    guint phase = psc_workspace_phase_index(self->a), n = psc_workspace_phase_n(self->b), before = 0;
    const char *kind = psc_workspace_phase(self->a, phase)->kind;
    if (!kind || !*kind)
        return phase < n ? phase : PSC_NONE;
    for (guint i = 0; i < phase; i++)
        before += g_strcmp0(psc_workspace_phase(self->a, i)->kind, kind) == 0;
    for (guint i = 0; i < n; i++)
        if (g_strcmp0(psc_workspace_phase(self->b, i)->kind, kind) == 0 && !before--)
            return i;
    return PSC_NONE;
}

static void show_phase_beside(PscPair *self)
{
    guint phase = phase_beside(self);
    const char *kind = psc_workspace_phase(self->a, psc_workspace_phase_index(self->a))->kind;
    self->waits = phase == PSC_NONE && psc_workspace_scanning(self->b, NULL);
    if (self->waits) { /* it may come yet */
        drop(self);
        emit(self);
        return;
    }
    if (phase == PSC_NONE) {
        stand_apart(self, g_strdup_printf("%s has no such phase: %s", self->name, kind && *kind ? kind : "it has fewer"));
        return;
    }
    self->apart = FALSE;
    g_clear_pointer(&self->failure, g_free);
    if (phase == psc_workspace_phase_index(self->b)) {
        restart(self);
        return;
    }
    drop(self);
    psc_workspace_set_phase(self->b, phase); /* the difference is begun when it is there */
    emit(self);
}

/* A shows another phase. */
static void follow(PscPair *self)
{
    self->phase = psc_workspace_phase_index(self->a);
    switch (self->kind) {
    case OF_OPTIONS: {
        struct psc_analysis_options options = self->options;
        char *name = g_strdup(self->name);
        if (!psc_pair_show_options(self, &options, name))
            stand_apart(self, g_strdup("the file is still being read: choose the phase again when that is done"));
        g_free(name);
        break;
    }
    case OF_DOCUMENT: show_phase_beside(self); break;
    case OF_PLAN:
        self->apart = FALSE;
        if (self->phase == self->planned && psc_workspace_study(self->b))
            restart(self);
        else if (self->phase == self->planned)
            stand_apart(self, g_strdup_printf("%s does not lie beside this phase: open it once more", self->name));
        else
            stand_apart(self, g_strdup_printf("%s is a plan of phase %u, not of this one", self->name, self->planned + 1));
        break;
    default: break;
    }
}

static void a_cb(PscPair *self, guint what)
{
    if (what & PSC_CHANGED_DOCUMENT)
        psc_pair_clear(self);
    else if (what & PSC_CHANGED_STUDY && self->kind != OF_NOTHING && psc_workspace_phase_index(self->a) != self->phase)
        follow(self);
    else if (what & PSC_CHANGED_STUDY && psc_workspace_study(self->b))
        restart(self);
    else
        lock(self, self->a, what);
}

static void b_cb(PscPair *self, guint what)
{
    if (what & PSC_CHANGED_STEPS && self->waits)
        show_phase_beside(self);
    else if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY) && psc_workspace_study(self->b))
        restart(self);
    else
        lock(self, self->b, what);
}

/* ---- what B is ------------------------------------------------------------------------------------------------ */

struct look {
    PscDocument *document;
    struct psc_phase phase;
    guint phase_index;
    struct psc_analysis_options options;
    struct psc_foreign plan;  /* in the arena; with options.foreign */
    struct psc_arena arena;
    PscLook look;
    struct psc_error error;
    guint request;
};

static void free_look(gpointer data)
{
    struct look *look = data;
    psc_look_clear(&look->look);
    psc_document_unref(look->document);
    psc_arena_release(&look->arena);
    g_free(look);
}

static void look_cb(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct look *look = data;
    bool made = psc_look_make(&look->look, look->document, NULL, look->phase_index, &look->phase, &look->options, FALSE, 0,
                              &look->error);
    if (made)
        look->look.study->options.foreign = NULL; /* nobody has it yet, and the plan goes with this job */
    g_task_return_boolean(task, made);
}

static void looked_cb(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscPair *self = PSC_PAIR(source);
    struct look *look = g_task_get_task_data(G_TASK(result));
    if (look->request != self->request || !self->a || look->document != psc_workspace_document(self->a))
        return;
    if (look->look.study) {
        psc_workspace_adopt_beside(self->b, psc_document_ref(look->document), &look->look, self->name);
        return;
    }
    g_free(self->failure);
    self->failure = g_strdup(look->error.text);
    emit(self);
}

/* Nobody reads the document while it is scanned here and shown there. */
static struct look *look_new(PscPair *self, const char *name)
{
    PscStudy *study = psc_workspace_study(self->a);
    double fraction;
    if (!study || psc_workspace_scanning(self->a, &fraction))
        return NULL;
    char *own = g_strdup(name);
    psc_pair_clear(self);
    self->name = own;
    struct look *look = g_new0(struct look, 1);
    look->document = psc_document_ref(study->document);
    look->phase = study->phase;
    look->phase_index = study->phase_index;
    look->request = self->request;
    return look;
}

static gboolean look_start(PscPair *self, struct look *look)
{
    GTask *task = g_task_new(self, NULL, looked_cb, NULL);
    g_task_set_task_data(task, look, free_look);
    g_task_run_in_thread(task, look_cb);
    g_object_unref(task);
    emit(self);
    return TRUE;
}

gboolean psc_pair_show_options(PscPair *self, const struct psc_analysis_options *options, const char *name)
{
    struct look *look = look_new(self, name);
    if (!look)
        return FALSE;
    look->options = self->options = *options;
    self->kind = OF_OPTIONS;
    self->phase = look->phase_index;
    return look_start(self, look);
}

gboolean psc_pair_show_plan(PscPair *self, struct psc_arena *arena, const struct psc_foreign *plan, const char *name)
{
    struct look *look = look_new(self, name);
    if (!look) {
        psc_arena_release(arena);
        return FALSE;
    }
    look->arena = *arena;
    *arena = (struct psc_arena){0};
    look->plan = *plan;
    look->options = psc_workspace_study(self->a)->options;
    look->options.foreign = &look->plan;
    self->kind = OF_PLAN;
    self->phase = self->planned = look->phase_index;
    return look_start(self, look);
}

void psc_pair_show_document(PscPair *self, PscDocument *document, PscLook *look, const char *title)
{
    char *own = g_strdup(title);
    psc_pair_clear(self);
    self->name = own;
    psc_workspace_adopt(self->b, document, look, title);
    self->kind = OF_DOCUMENT;
    self->phase = psc_workspace_phase_index(self->a);
    show_phase_beside(self);
}

void psc_pair_clear(PscPair *self)
{
    drop(self);
    self->kind = OF_NOTHING;
    self->waits = self->apart = FALSE;
    g_clear_pointer(&self->name, g_free);
    g_clear_pointer(&self->failure, g_free);
    if (psc_workspace_document(self->b))
        psc_workspace_close(self->b);
    emit(self);
}

/* ---- questions ------------------------------------------------------------------------------------------------ */

PscWorkspace *psc_pair_other(PscPair *self)
{
    return self->b;
}

const char *psc_pair_name(PscPair *self)
{
    return self->name;
}

const char *psc_pair_failure(PscPair *self)
{
    return self->failure;
}

const struct psc_plan_diff *psc_pair_diff(PscPair *self)
{
    return self->made ? self->made->diff : NULL;
}

guint psc_pair_n(PscPair *self)
{
    return self->made ? self->made->diff->change_n : 0;
}

const struct psc_plan_change *psc_pair_at(PscPair *self, guint row)
{
    return row < psc_pair_n(self) ? &self->made->diff->changes[self->made->rows[row]] : NULL;
}

guint psc_pair_picked(PscPair *self)
{
    return self->picked;
}

/* The bar of a change comes into sight: its middle into the middle of the range when it lies outside. */
static void show_bar(PscWorkspace *ws, const struct psc_diff_side *side, uint32_t bar)
{
    const struct psc_tenancy *t = &side->history->tenancies[bar];
    double x0, x1, middle = (MAX(t->first, 0) + MIN(t->last, (int32_t)side->story->position_n) + 1) / 2.0;
    psc_workspace_range(ws, &x0, &x1);
    if (t->first > x1 || t->last < x0)
        psc_workspace_set_range(ws, middle - (x1 - x0) / 2, middle + (x1 - x0) / 2);
    psc_workspace_set_cursor(ws, MAX(t->first, -1));
}

void psc_pair_pick(PscPair *self, guint row)
{
    const struct psc_plan_change *c = psc_pair_at(self, row);
    if (!c)
        return;
    gboolean near = c->a_bar != PSC_NONE || c->a != PSC_NONE;
    PscWorkspace *ws = near ? self->a : self->b;
    const struct psc_diff_side *side = near ? &self->made->diff->a : &self->made->diff->b;
    const struct psc_value *v = &side->story->values[near ? c->a : c->b];
    uint32_t bar = near ? c->a_bar : c->b_bar;
    self->picked = row;
    if (bar != PSC_NONE)
        show_bar(ws, side, bar);
    if (side->graph && v->node < side->graph->n)
        psc_workspace_select_node(ws, v->node);
    emit(self);
}

/* ---- the object ------------------------------------------------------------------------------------------------ */

static void psc_pair_dispose(GObject *object)
{
    PscPair *self = PSC_PAIR(object);
    self->request++;
    g_clear_pointer(&self->made, free_made);
    g_clear_weak_pointer(&self->a);
    g_clear_object(&self->b);
    G_OBJECT_CLASS(psc_pair_parent_class)->dispose(object);
}

static void psc_pair_finalize(GObject *object)
{
    g_free(PSC_PAIR(object)->name);
    g_free(PSC_PAIR(object)->failure);
    G_OBJECT_CLASS(psc_pair_parent_class)->finalize(object);
}

static void psc_pair_class_init(PscPairClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_pair_dispose;
    G_OBJECT_CLASS(class)->finalize = psc_pair_finalize;
    changed_signal = g_signal_new("changed", PSC_TYPE_PAIR, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void psc_pair_init(PscPair *self)
{
    self->picked = PSC_NONE;
    self->b = psc_workspace_new();
}

PscPair *psc_pair_of(PscWorkspace *a)
{
    PscPair *self = g_object_get_data(G_OBJECT(a), "psc-pair");
    if (!self) {
        self = g_object_new(PSC_TYPE_PAIR, NULL);
        g_set_weak_pointer(&self->a, a);
        g_signal_connect_object(a, "changed", G_CALLBACK(a_cb), self, G_CONNECT_SWAPPED);
        g_signal_connect_object(self->b, "changed", G_CALLBACK(b_cb), self, G_CONNECT_SWAPPED);
        g_object_set_data_full(G_OBJECT(a), "psc-pair", self, g_object_unref);
    }
    return self;
}
