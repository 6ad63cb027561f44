#include "ui/contest.h"

#include <string.h>

struct _PscContest {
    GObject parent_instance;
    PscWorkspace *ws;       /* a weak pointer: it owns us, but a worker may still hold us when it is gone */
    PscStudy *study;        /* the one that the entrants are of; a reference, or NULL */
    GPtrArray *entrants;    /* of PscEntrant */
    char *picked;           /* by name: it stays when the order changes */
    guint wanted, request, serial;
    gboolean running;
};

G_DEFINE_FINAL_TYPE(PscContest, psc_contest, G_TYPE_OBJECT)

static guint changed_signal;

static void free_entrant(gpointer data)
{
    PscEntrant *e = data;
    psc_contender_release(&e->contender);
    g_free(e->name);
    g_free(e);
}

static void emit(PscContest *self)
{
    self->serial++;
    g_signal_emit(self, changed_signal, 0);
}

/* ---- who takes part ------------------------------------------------------------------------------------------- */

static void add(PscContest *self, const char *word)
{
    PscEntrant *e = g_new0(PscEntrant, 1);
    e->choice.plan = self->study->options.plan;
    e->choice.plan.log = true;
    if (psc_planner_choice_parse(&e->choice, word, NULL) != PSC_OK) {
        g_free(e);
        return;
    }
    e->name = g_strdup(word);
    e->text = e->choice.planner ? e->choice.planner->text : "what the file brings";
    e->contender.name = e->name;
    g_ptr_array_add(self->entrants, e);
}

static void line_up(PscContest *self)
{
    g_ptr_array_set_size(self->entrants, 0);
    if (psc_study_brings_plan(self->study))
        add(self, PSC_CONTENDER_FILE);
    for (const struct psc_planner *p = psc_planners; p->name; p++) {
        add(self, p->name);
        if (p == psc_planners && self->study->options.plan.size == PSC_SIZE_CLASS && self->study->graph) {
            char *word = g_strconcat(p->name, "+", psc_size_name(PSC_SIZE_EXACT), NULL);
            add(self, word);
            g_free(word);
        }
    }
}

/* ---- the worker ----------------------------------------------------------------------------------------------- */

struct run {
    PscStudy *study;
    struct psc_analysis_options options;
    char *name;
    guint request;
    struct psc_contender contender;
    gboolean made;
};

static void free_run(gpointer data)
{
    struct run *run = data;
    psc_contender_release(&run->contender);
    psc_study_unref(run->study);
    g_free(run->name);
    g_free(run);
}

static void run_cb(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    struct run *run = data;
    struct psc_error error = {0};
    run->made = psc_contender_run(&run->study->phase, run->name, &run->options, &run->contender, &error) == PSC_OK;
    if (!run->made) {
        psc_contender_release(&run->contender);
        psc_contender_refuse(&run->contender, run->name, error.text);
    }
    g_task_return_boolean(task, TRUE);
}

static int by_cost(gconstpointer a, gconstpointer b)
{
    const PscEntrant *x = *(PscEntrant *const *)a, *y = *(PscEntrant *const *)b;
    if (x->done != y->done)
        return x->done ? -1 : 1;
    if (!x->done)
        return 0;
    return psc_contender_order(&x->contender, &y->contender);
}

static void run_next(PscContest *self);

static void run_done(GObject *source, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscContest *self = PSC_CONTEST(source);
    struct run *run = g_task_get_task_data(G_TASK(result));
    if (run->request != self->request || !self->ws)
        return;
    for (guint i = 0; i < self->entrants->len; i++) {
        PscEntrant *e = g_ptr_array_index(self->entrants, i);
        if (e->done || strcmp(e->name, run->name) != 0)
            continue;
        e->contender = run->contender;
        e->contender.name = e->name;
        run->contender.analysis = NULL;
        e->done = TRUE;
        e->finding_n = e->contender.able ? e->contender.analysis->check.finding_n : 0;
        if (e->contender.able && self->study->node_n > PSC_CONTEST_NODES)
            psc_contender_release(&e->contender);
    }
    g_ptr_array_sort(self->entrants, by_cost);
    run_next(self);
}

static void run_next(PscContest *self)
{
    PscEntrant *next = NULL;
    for (guint i = 0; i < self->entrants->len && !next; i++) {
        PscEntrant *e = g_ptr_array_index(self->entrants, i);
        next = e->done ? NULL : e;
    }
    self->running = next != NULL;
    if (next) {
        struct run *run = g_new0(struct run, 1);
        run->study = psc_study_ref(self->study);
        run->options = (struct psc_analysis_options){.planner = next->choice.planner, .plan = next->choice.plan,
                                                     .replan = !next->choice.filed};
        run->name = g_strdup(next->name);
        run->request = self->request;
        GTask *task = g_task_new(self, NULL, run_done, NULL);
        g_task_set_task_data(task, run, free_run);
        g_task_run_in_thread(task, run_cb);
        g_object_unref(task);
    }
    emit(self);
}

static void restart(PscContest *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    self->request++;
    g_ptr_array_set_size(self->entrants, 0);
    g_clear_pointer(&self->study, psc_study_unref);
    self->running = FALSE;
    if (!self->wanted || !study || !study->analysis->story) {
        emit(self);
        return;
    }
    self->study = psc_study_ref(study);
    line_up(self);
    run_next(self);
}

/* Two studies that differ in the planner alone have the same contest: only whose the document is changes. */
static gboolean same_contest(const PscStudy *a, const PscStudy *b)
{
    const struct psc_plan_options x = a->options.plan, y = b->options.plan;
    return a->document == b->document && a->phase_index == b->phase_index && x.mode == y.mode && x.size == y.size &&
           x.slots == y.slots && x.seed == y.seed && x.order == y.order && x.faults == y.faults && x.align == y.align &&
           x.capacity == y.capacity && x.capacities == y.capacities && x.apart == y.apart && x.generation == y.generation &&
           x.candela_faults == y.candela_faults && x.budget.work == y.budget.work && x.budget.milliseconds == y.budget.milliseconds;
}

static void workspace_cb(PscContest *self, guint what)
{
    PscStudy *study = psc_workspace_study(self->ws);
    if (!(what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY)))
        return;
    if (what & PSC_CHANGED_DOCUMENT)
        g_clear_pointer(&self->picked, g_free);
    if (self->study && study && self->wanted && same_contest(self->study, study))
        g_signal_emit(self, changed_signal, 0); /* only whose the document is */
    else if (self->study || self->wanted)
        restart(self);
}

/* ---- questions ------------------------------------------------------------------------------------------------ */

gboolean psc_contest_running(PscContest *self)
{
    return self->running;
}

guint psc_contest_serial(PscContest *self)
{
    return self->serial;
}

guint psc_contest_n(PscContest *self)
{
    return self->entrants->len;
}

const PscEntrant *psc_contest_at(PscContest *self, guint i)
{
    return i < self->entrants->len ? g_ptr_array_index(self->entrants, i) : NULL;
}

guint psc_contest_own(PscContest *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_planner *planner = psc_study_planner(study);
    for (guint i = 0; study && i < self->entrants->len; i++) {
        const PscEntrant *e = psc_contest_at(self, i);
        if (planner ? e->choice.planner == planner && e->choice.plan.size == study->options.plan.size : e->choice.filed)
            return i;
    }
    return PSC_NONE;
}

guint psc_contest_picked(PscContest *self)
{
    for (guint i = 0; self->picked && i < self->entrants->len; i++)
        if (g_str_equal(psc_contest_at(self, i)->name, self->picked))
            return i;
    return PSC_NONE;
}

void psc_contest_pick(PscContest *self, guint i)
{
    const PscEntrant *e = psc_contest_at(self, i);
    if (!e || (self->picked && g_str_equal(self->picked, e->name)))
        return;
    g_free(self->picked);
    self->picked = g_strdup(e->name);
    g_signal_emit(self, changed_signal, 0);
}

guint psc_contest_best(PscContest *self)
{
    for (guint i = 0; i < self->entrants->len; i++) {
        const PscEntrant *e = psc_contest_at(self, i);
        if (e->done && e->contender.able && !e->finding_n)
            return i;
    }
    return PSC_NONE;
}

struct psc_analysis_options psc_contest_options(PscContest *self, guint i)
{
    const PscEntrant *e = psc_contest_at(self, i);
    struct psc_analysis_options options = self->study->options;
    options.planner = e->choice.planner;
    options.plan = e->choice.plan;
    options.plan.log = true;
    options.replan = !e->choice.filed;
    return options;
}

void psc_contest_use(PscContest *self, guint i)
{
    const PscEntrant *e = psc_contest_at(self, i);
    if (!e || (e->done && !e->contender.able) || !self->study)
        return;
    struct psc_analysis_options options = psc_contest_options(self, i);
    psc_workspace_set_options(self->ws, &options);
}

void psc_contest_want(PscContest *self, gboolean wanted)
{
    g_return_if_fail(wanted || self->wanted);
    self->wanted += wanted ? 1 : -1;
    if (wanted && self->wanted == 1 && (!self->study || !psc_workspace_study(self->ws) ||
                                        !same_contest(self->study, psc_workspace_study(self->ws))))
        restart(self);
}

/* ---- the object ----------------------------------------------------------------------------------------------- */

static void psc_contest_finalize(GObject *object)
{
    PscContest *self = PSC_CONTEST(object);
    g_clear_weak_pointer(&self->ws);
    g_ptr_array_unref(self->entrants);
    g_clear_pointer(&self->study, psc_study_unref);
    g_free(self->picked);
    G_OBJECT_CLASS(psc_contest_parent_class)->finalize(object);
}

static void psc_contest_class_init(PscContestClass *class)
{
    G_OBJECT_CLASS(class)->finalize = psc_contest_finalize;
    changed_signal = g_signal_new("changed", PSC_TYPE_CONTEST, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void psc_contest_init(PscContest *self)
{
    self->entrants = g_ptr_array_new_with_free_func(free_entrant);
}

PscContest *psc_contest_of(PscWorkspace *ws)
{
    PscContest *self = g_object_get_data(G_OBJECT(ws), "psc-contest");
    if (!self) {
        self = g_object_new(PSC_TYPE_CONTEST, NULL);
        g_set_weak_pointer(&self->ws, ws);
        g_signal_connect_object(ws, "changed", G_CALLBACK(workspace_cb), self, G_CONNECT_SWAPPED);
        g_object_set_data_full(G_OBJECT(ws), "psc-contest", self, g_object_unref);
    }
    return self;
}
