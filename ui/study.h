/* ui/study.h: what the window shows, as immutable parts that worker threads make and share.
 *
 *     PscDocument   the opened file; everything below borrows from it and holds a reference
 *     PscStudy      one phase under one choice of plan: analysis, places in the execution order, marks
 *     PscRecords    one step of one phase: its records, and whose values they really are
 *     PscPicture    what ui/draw can draw of a study and its records
 *
 * All of them are counted; ref and unref from any thread. After creation nothing in them changes, so a
 * worker may read them while the window goes on to newer ones. Creation may take long: call it in a worker.
 */
#ifndef PSC_UI_STUDY_H
#define PSC_UI_STUDY_H

#include "core/debug/analysis.h"
#include "core/debug/inside.h"
#include "core/doc/doc.h"
#include "ui/draw/scene.h"

#include <glib.h>

typedef struct {
    struct psc_doc *doc;
} PscDocument;
PscDocument *psc_document_new(struct psc_doc *doc); /* takes the document */
PscDocument *psc_document_ref(PscDocument *document);
void psc_document_unref(PscDocument *document); /* NULL is fine */

/* Marks of a node or buffer, for tables. */
enum {
    PSC_NODE_VICTIM = 1,
    PSC_NODE_WRITER = 2,
    PSC_NODE_READER = 4,
};

typedef struct PscStudy PscStudy;
struct PscStudy {
    PscDocument *document;
    uint32_t phase_index;
    struct psc_phase phase;               /* a copy: graph and texts belong to the document */
    struct psc_analysis_options options;  /* what was asked for */
    struct psc_analysis *analysis;        /* owned, never NULL */
    const struct psc_graph *graph;        /* may be NULL */
    uint32_t node_n;
    uint8_t *node_marks;                  /* [node_n] PSC_NODE_* of the findings */
    uint8_t *buffer_marks;                /* [story->buffer_n] */
    int32_t *position_of;                 /* [node_n] place in the execution order */
    uint32_t *value_of;                   /* [node_n] the node's value in the story, or PSC_NONE */
    uint32_t *tenants;                    /* [story->buffer_n] tenancies of each buffer */
    uint64_t largest_bytes;               /* of a node */
    uint64_t largest_buffer;              /* whose size is known */
    struct psc_arena arena;               /* of what follows */
    struct psc_inside *inside;            /* how it was planned, or what became of its arenas; NULL: nothing to look into */
    char *plan_words;                     /* "Pool · upstream · class · lowest slot" */
    /* Of a step that went otherwise than the first one of its phase: its own events, which lie in the records of the step,
     * and the study of the phase, which the other steps go on with. Both NULL elsewhere. */
    PscStudy *of_phase;
    gpointer of_records;                  /* a PscRecords */
};
PscStudy *psc_study_new(PscDocument *document, uint32_t phase_index, const struct psc_phase *phase,
                        const struct psc_analysis_options *options, struct psc_error *reterr);
PscStudy *psc_study_ref(PscStudy *study);
void psc_study_unref(PscStudy *study);
/* The tenancy that is the node's own bar (a view's: its root's), or NULL. */
const struct psc_tenancy *psc_study_tenancy(const PscStudy *study, psc_node node);
/* The buffer in which the node's bytes lie, or PSC_NONE. */
uint32_t psc_study_buffer(const PscStudy *study, psc_node node);
/* Index of the first tenancy of the buffer that begins after the position. O(log n). */
uint32_t psc_study_tenants_before(const PscStudy *study, uint32_t buffer, int32_t position);
psc_node psc_study_node_at(const PscStudy *study, int32_t position); /* PSC_NONE at -1 and n, and without a graph */
/* Number of positions: the cursor runs from -1 to this. */
int32_t psc_study_end(const PscStudy *study);
bool psc_study_brings_plan(const PscStudy *study); /* the file has a plan, or events of its own */
/* The planner of the plan that is shown; NULL when it is the file's, or study is NULL. */
const struct psc_planner *psc_study_planner(const PscStudy *study);

typedef struct {
    psc_node node;  /* PSC_NONE: not known */
    uint32_t count; /* overwritten records that really hold its value */
} PscHolder;
typedef struct {
    PscDocument *document;
    struct psc_arena arena;
    struct psc_step step;
    struct psc_record_check check;
    uint32_t node_n;
    uint32_t *record_of;  /* [node_n] index into step.records, or PSC_NONE */
    uint32_t *verdict_of; /* [node_n] index into check.list, or PSC_NONE */
    PscHolder *holders;   /* most frequent first */
    uint32_t holder_n;
    char *error;          /* why the step could not be read, or NULL */
} PscRecords;
/* Never fails: what cannot be read is told by `error`. */
PscRecords *psc_records_new(PscDocument *document, const PscStudy *study, uint32_t step);
PscRecords *psc_records_ref(PscRecords *records);
void psc_records_unref(PscRecords *records);
const struct psc_record *psc_records_of(const PscRecords *records, psc_node node);          /* or NULL */
const struct psc_record_verdict *psc_records_verdict(const PscRecords *records, psc_node node); /* or NULL */

typedef struct {
    PscStudy *study;
    PscRecords *records; /* may be NULL */
    struct psc_arena arena;
    struct psc_scene *scene; /* owned by the arena, never NULL */
} PscPicture;
/* NULL when the phase has neither a graph nor events, or memory is exhausted. */
PscPicture *psc_picture_new(PscStudy *study, PscRecords *records);
PscPicture *psc_picture_ref(PscPicture *picture);
void psc_picture_unref(PscPicture *picture);

/* All three of one phase and step, made together. */
typedef struct {
    PscStudy *study;
    PscRecords *records; /* NULL when the phase has no such step */
    PscPicture *picture; /* NULL when there is nothing to draw */
} PscLook;
/* Uses (and refs) `study` when it is given, else makes one from the phase and options; a step that brings events of its own
 * gets a study of its own. False with *reterr set. */
bool psc_look_make(PscLook *look, PscDocument *document, PscStudy *study, uint32_t phase_index,
                   const struct psc_phase *phase, const struct psc_analysis_options *options, bool has_step,
                   uint32_t step, struct psc_error *reterr);
void psc_look_clear(PscLook *look);

#endif
