/* ui/workspace-private.h: the insides of a workspace, shared by workspace.c and workspace-jobs.c only. */
#ifndef PSC_UI_WORKSPACE_PRIVATE_H
#define PSC_UI_WORKSPACE_PRIVATE_H

#include "ui/kv-story.h"
#include "ui/workspace-kv.h"
#include "ui/workspace-phases.h"
#include "ui/workspace-story.h"

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
    PscPhaseVerdict verdict; /* workspace-phases.c: as the phase, the options and the story wanted are now */
    guint verdict_serial;    /* counts up when it has to be found anew */
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
    PscContents contents; /* data NULL: none */
    int32_t cursor;
    PscSelection selection;
    double x0, x1;
    enum psc_view_mode y_mode;
    enum psc_view_colour colour_by;
    enum psc_view_height height;
    gboolean busy, scanning;
    gboolean beside; /* another workspace shows the document, too, and does what is done ahead */
    double scan_fraction;
    char *failure;
    PscStoryChoice story; /* workspace-story.c: as it was chosen, whether or not this phase can show it */
    GArray *free_buffers; /* uint32_t: at free_position of free_study */
    int32_t free_position;
    PscStudy *free_study; /* compared only, never followed */
    guint request; /* counts up: only the newest result is adopted */
    guint asked_phase, asked_step; /* of the newest request: what will be shown when `busy` is over */
    int asked_finding; /* of the newest request: 1 its first finding is shown, -1 its last, 0 what was left */
    guint look_serial; /* counts the looks that were shown */
    struct {           /* workspace-phases.c */
        struct psc_phases_job *job; /* the look that is under way, or NULL */
        guint known_n, wrong_n, told_n, failed_n; /* phases: looked at, something wrong in them, that or overwritten records, not to be looked at */
        guint64 finding_n;
    } verdicts;
    struct {           /* workspace-kv.c */
        PscKvStory *story;     /* of all steps read so far, or NULL */
        gboolean wanted, walked, reading;
        guint request, done, total;
        struct psc_kv_step *step; /* in the arena: of look of_look and of_story; NULL: no regions */
        gboolean has_step, stale;
        struct psc_arena arena;
        PscKvStory *of_story;
        guint of_look;
        PscKvCell cell;
        gboolean cell_is_own;  /* its row was one that the step writes: it goes on with the steps */
        double lo, hi;         /* rows shown */
        gboolean has_range;
        enum psc_kv_halves halves;
    } kv;
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
/* Shows the first finding, or the last one. */
void psc_workspace_aim(PscWorkspace *self, int direction);
/* Another story of the same run is shown: the cursor stays at the op it stood on, wherever that runs now. */
void psc_workspace_after_story(PscWorkspace *self, psc_node at);

/* workspace-kv.c */
void psc_workspace_kv_walk_when_ready(PscWorkspace *self);
void psc_workspace_kv_drop(PscWorkspace *self);
void psc_workspace_kv_follow_step(PscWorkspace *self);

/* workspace-phases.c */
void psc_workspace_forget_verdict(PscWorkspace *self, struct phase_state *state);
void psc_workspace_take_verdict(PscWorkspace *self);
void psc_workspace_look_on(PscWorkspace *self); /* at the other phases, if any waits and nothing else is worked on */
void psc_workspace_verdicts_drop(PscWorkspace *self);

/* workspace-story.c */
void psc_workspace_story_adopt(PscWorkspace *self); /* another document came */
/* Makes the options of a phase ask for the story that is wanted; the study of other options is dropped. */
void psc_workspace_story_prepare(PscWorkspace *self, struct phase_state *state);

/* The options that a phase would be shown with. */
struct psc_analysis_options psc_workspace_story_options(PscWorkspace *self, const struct phase_state *state);

/* workspace-jobs.c */
/* Plans (when options are given), checks and reads a step in a worker; shown when done, if still wanted. */
void psc_workspace_request(PscWorkspace *self, guint phase, guint step, const struct psc_analysis_options *options);
void psc_workspace_keep_token(PscWorkspace *self, guint phase, guint step, const struct psc_step *from);
void psc_workspace_scan_on(PscWorkspace *self);
void psc_workspace_read_ahead(PscWorkspace *self);

#endif
