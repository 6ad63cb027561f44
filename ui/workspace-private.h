/* ui/workspace-private.h: the insides of a workspace, shared by workspace.c and workspace-jobs.c only. */
#ifndef PSC_UI_WORKSPACE_PRIVATE_H
#define PSC_UI_WORKSPACE_PRIVATE_H

#include "ui/workspace.h"

/* One phase as the person left it. */
struct phase_state {
    struct psc_phase phase; /* a copy: the document's array may grow while a scan goes on */
    guint step_n;
    guint step;
    struct psc_analysis_options options;
    PscStudy *study; /* NULL until asked for, or after the options changed */
    int32_t cursor;
    double x0, x1;
    gboolean has_view;
    GPtrArray *tokens; /* of char * in `words`; NULL: not known; psc_token_is_prompt: the step has none */
};

struct _PscWorkspace {
    GObject parent_instance;
    PscDocument *document;
    char *title, *prompt;
    GArray *phases; /* of struct phase_state */
    GStringChunk *words; /* of tokens; emptied with the document */
    guint phase;
    PscLook look;
    int32_t cursor;
    PscSelection selection;
    double x0, x1;
    enum psc_view_mode y_mode;
    enum psc_view_colour colour_by;
    enum psc_view_height height;
    gboolean busy, scanning;
    double scan_fraction;
    char *failure;
    GArray *free_buffers; /* uint32_t: at free_position of free_study */
    int32_t free_position;
    PscStudy *free_study; /* compared only, never followed */
    guint request; /* counts up: only the newest result is adopted */
};

extern const char psc_token_is_prompt[];

void psc_workspace_emit(PscWorkspace *self, guint what);
struct phase_state *psc_workspace_state(PscWorkspace *self, guint phase); /* NULL when there is none */
/* Takes over what the scan has found so far. Only while no slice of the scan is running. */
void psc_workspace_sync_phases(PscWorkspace *self);
void psc_workspace_set_failure(PscWorkspace *self, const char *text);
void psc_workspace_store_view(PscWorkspace *self);
void psc_workspace_restore_view(PscWorkspace *self);
void psc_workspace_after_replan(PscWorkspace *self);

/* workspace-jobs.c */
/* Plans (when options are given), checks and reads a step in a worker; shown when done, if still wanted. */
void psc_workspace_request(PscWorkspace *self, guint phase, guint step, const struct psc_analysis_options *options);
void psc_workspace_keep_token(PscWorkspace *self, guint phase, guint step, const struct psc_step *from);
void psc_workspace_scan_on(PscWorkspace *self);
void psc_workspace_read_ahead(PscWorkspace *self);

#endif
