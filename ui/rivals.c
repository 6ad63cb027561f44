#include "ui/rivals.h"

#include <gio/gio.h>

/* Shared by who looks and the worker. */
struct PscRivals {
    PscStudy *study;
    void (*told)(gpointer ctx); /* NULL: stopped. Main thread only */
    gpointer ctx;
    gint stopped, done, all; /* atomic */
    struct psc_arena arena;
    struct psc_graph_rivals *made; /* of the worker until it is over */
    gboolean over;
    struct psc_error error;
};

static void clear(gpointer data)
{
    PscRivals *self = data;
    psc_arena_release(&self->arena);
    psc_study_unref(self->study);
}

static void unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, clear);
}

static gboolean tell_cb(gpointer data)
{
    PscRivals *self = data;
    if (self->told)
        self->told(self->ctx);
    return G_SOURCE_REMOVE;
}

static bool go_on(void *ctx, unsigned done, unsigned all)
{
    PscRivals *self = ctx;
    g_atomic_int_set(&self->done, (gint)done);
    g_atomic_int_set(&self->all, (gint)all);
    g_idle_add_full(G_PRIORITY_DEFAULT, tell_cb, g_atomic_rc_box_acquire(self), unref);
    return !g_atomic_int_get(&self->stopped);
}

static void run_cb(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancel G_GNUC_UNUSED)
{
    PscRivals *self = data;
    struct psc_graph_rivals *made = NULL;
    if (psc_inside_compare(&self->arena, self->study->inside, go_on, self, &made, &self->error) == PSC_OK)
        self->made = made;
    g_task_return_boolean(task, TRUE);
}

static void done_cb(GObject *source G_GNUC_UNUSED, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    PscRivals *self = g_task_get_task_data(G_TASK(result));
    self->over = TRUE;
    tell_cb(self);
}

PscRivals *psc_rivals_start(PscStudy *study, void (*told)(gpointer ctx), gpointer ctx)
{
    PscRivals *self = g_atomic_rc_box_new0(PscRivals);
    self->study = psc_study_ref(study);
    self->told = told;
    self->ctx = ctx;
    GTask *task = g_task_new(NULL, NULL, done_cb, NULL);
    g_task_set_task_data(task, g_atomic_rc_box_acquire(self), unref);
    g_task_run_in_thread(task, run_cb);
    g_object_unref(task);
    return self;
}

void psc_rivals_stop(PscRivals *self)
{
    if (!self)
        return;
    self->told = NULL;
    g_atomic_int_set(&self->stopped, 1);
    unref(self);
}

struct psc_graph_rivals *psc_rivals_made(PscRivals *self)
{
    return self->over ? self->made : NULL;
}

char *psc_rivals_words(PscRivals *self)
{
    if (self->over && !self->made)
        return g_strdup_printf("The generations cannot be compared: %s.", self->error.text);
    return g_strdup_printf("The graph is large: it is being planned by the generations, %d of %d so far. Leaving this view ends that.",
                           g_atomic_int_get(&self->done), MAX(g_atomic_int_get(&self->all), PSC_GEN_N));
}
