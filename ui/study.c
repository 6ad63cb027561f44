#include "ui/study.h"

#include "core/base/text.h"
#include "core/candela/kept.h"

#include <string.h>

static void clear_document(gpointer data)
{
    psc_doc_free(((PscDocument *)data)->doc);
}

PscDocument *psc_document_new(struct psc_doc *doc)
{
    PscDocument *document = g_atomic_rc_box_new0(PscDocument);
    document->doc = doc;
    return document;
}

PscDocument *psc_document_ref(PscDocument *document)
{
    return g_atomic_rc_box_acquire(document);
}

void psc_document_unref(PscDocument *document)
{
    if (document)
        g_atomic_rc_box_release_full(document, clear_document);
}

static void clear_study(gpointer data)
{
    PscStudy *study = data;
    psc_analysis_free(study->analysis);
    psc_arena_release(&study->arena);
    g_free(study->node_marks);
    g_free(study->buffer_marks);
    g_free(study->position_of);
    g_free(study->value_of);
    g_free(study->tenants);
    g_free(study->plan_words);
    psc_study_unref(study->of_phase);
    psc_records_unref(study->of_records);
    psc_document_unref(study->document);
}

/* The first letter of a planner's or size's name is made large: the words stand on a button. */
static char *plan_words(const PscStudy *study)
{
    const struct psc_plan *plan = study->analysis->plan;
    if (!study->analysis->story)
        return g_strdup("No plan");
    if (!plan && study->phase.expression)
        return g_strdup_printf("Candela \u00b7 %s", psc_generation_name(study->phase.expression->plan->options.generation));
    if (!plan && study->analysis->packed)
        return strcmp(study->analysis->packer, "the file") == 0 ? g_strdup("Offsets of the file")
                                                                : g_strdup_printf("Packed · %s", study->analysis->packer);
    if (!plan)
        return g_strdup("Events of the file");
    if (strcmp(plan->planner, "foreign") == 0)
        return g_strdup("Plan of the file");
    GString *words = g_string_new(plan->planner);
    words->str[0] = g_ascii_toupper(words->str[0]);
    if (strcmp(plan->planner, "pool") == 0) {
        const struct psc_plan_options *o = &plan->options;
        g_string_append_printf(words, " · %s · %s · %s slot%s", psc_mode_name(o->mode),
                               o->size == PSC_SIZE_CLASS ? "size class" : "exact size",
                               psc_slots_name(o->slots), o->order == PSC_ORDER_TOPOLOGICAL ? " · topological" : "");
        for (int f = 0; f < PSC_FAULT_N; f++)
            if (o->faults & PSC_FAULT_BIT(f))
                g_string_append_printf(words, " · %s", psc_fault_info(f)->name);
    }
    if (strcmp(plan->planner, "candela") == 0 && plan->options.generation != PSC_GEN_HARDENED)
        g_string_append_printf(words, " · %s", psc_generation_name(plan->options.generation));
    return g_string_free(words, FALSE);
}

static void mark(PscStudy *study, psc_node node, uint8_t bit)
{
    if (node < study->node_n)
        study->node_marks[node] |= bit;
}

static void mark_findings(PscStudy *study)
{
    const struct psc_check *check = &study->analysis->check;
    for (uint32_t i = 0; i < check->finding_n; i++) {
        const struct psc_finding *f = &check->findings[i];
        mark(study, f->victim, PSC_NODE_VICTIM);
        mark(study, f->writer, PSC_NODE_WRITER);
        mark(study, f->reader, PSC_NODE_READER);
        if (f->buffer < study->analysis->story->buffer_n)
            study->buffer_marks[f->buffer] |= PSC_NODE_VICTIM;
    }
}

static void index_story(PscStudy *study)
{
    const struct psc_story *story = study->analysis->story;
    study->buffer_marks = g_new0(uint8_t, story->buffer_n + 1);
    study->tenants = g_new0(uint32_t, story->buffer_n + 1);
    for (uint32_t p = 0; p < story->position_n; p++) {
        psc_node node = psc_story_node_at(story, (int32_t)p);
        if (node < study->node_n)
            study->position_of[node] = (int32_t)p;
    }
    for (uint32_t v = story->value_n; v-- > 0;) {
        const struct psc_value *value = &story->values[v];
        if (value->node < study->node_n && (value->kind == PSC_VALUE_NODE || value->kind == PSC_VALUE_FILL))
            study->value_of[value->node] = v;
    }
    const struct psc_history *history = study->analysis->history;
    for (uint32_t b = 0; b < story->buffer_n; b++) {
        if (story->buffers[b].bytes != UINT64_MAX)
            study->largest_buffer = MAX(study->largest_buffer, story->buffers[b].bytes);
        if (history)
            study->tenants[b] = history->buffer_at[b + 1] - history->buffer_at[b];
    }
}

PscStudy *psc_study_new(PscDocument *document, uint32_t phase_index, const struct psc_phase *phase,
                        const struct psc_analysis_options *options, struct psc_error *reterr)
{
    PscStudy *study = g_atomic_rc_box_new0(PscStudy);
    study->document = psc_document_ref(document);
    study->phase_index = phase_index;
    study->phase = *phase;
    study->options = *options;
    study->graph = phase->graph;
    enum psc_status status = psc_analysis_new(&study->phase, &study->options, &study->analysis, reterr);
    if (!status)
        status = psc_inside_new(&study->arena, study->analysis, &study->inside, reterr);
    if (status) {
        psc_study_unref(study);
        return NULL;
    }
    study->node_n = study->graph ? study->graph->n : 0;
    study->node_marks = g_new0(uint8_t, study->node_n + 1);
    study->position_of = g_new(int32_t, study->node_n + 1);
    study->value_of = g_new(uint32_t, study->node_n + 1);
    for (uint32_t i = 0; i <= study->node_n; i++) {
        study->position_of[i] = (int32_t)i;
        study->value_of[i] = PSC_NONE;
        if (i < study->node_n && !psc_op_info(study->graph->nodes[i].op)->is_kv)
            study->largest_bytes = MAX(study->largest_bytes, study->graph->nodes[i].bytes);
    }
    if (study->analysis->story) {
        index_story(study);
        mark_findings(study);
    }
    study->plan_words = plan_words(study);
    return study;
}

PscStudy *psc_study_ref(PscStudy *study)
{
    return g_atomic_rc_box_acquire(study);
}

void psc_study_unref(PscStudy *study)
{
    if (study)
        g_atomic_rc_box_release_full(study, clear_study);
}

const struct psc_tenancy *psc_study_tenancy(const PscStudy *study, psc_node node)
{
    const struct psc_history *history = study->analysis->history;
    if (!history || node >= study->node_n)
        return NULL;
    uint32_t value = study->value_of[node];
    if (value == PSC_NONE)
        return NULL;
    uint32_t tenancy = psc_history_of_value(history, value);
    const struct psc_value *v = &history->story->values[value];
    if (tenancy == PSC_NONE && v->is_view && v->of != PSC_NONE)
        tenancy = psc_history_of_value(history, v->of);
    return tenancy == PSC_NONE ? NULL : &history->tenancies[tenancy];
}

uint32_t psc_study_buffer(const PscStudy *study, psc_node node)
{
    if (node >= study->node_n)
        return PSC_NONE;
    const struct psc_plan *plan = study->analysis->plan;
    if (plan && node < plan->node_n && plan->places[node].buffer != PSC_NONE)
        return plan->places[node].buffer;
    const struct psc_tenancy *t = psc_study_tenancy(study, node);
    return t ? t->buffer : PSC_NONE;
}

uint32_t psc_study_tenants_before(const PscStudy *study, uint32_t buffer, int32_t position)
{
    const struct psc_history *h = study->analysis->history;
    uint32_t from = h->buffer_at[buffer], to = h->buffer_at[buffer + 1];
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (h->tenancies[middle].first <= position)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

psc_node psc_study_node_at(const PscStudy *study, int32_t position)
{
    if (position < 0 || position >= psc_study_end(study))
        return PSC_NONE;
    const struct psc_story *story = study->analysis->story;
    psc_node node = story ? psc_story_node_at(story, position) : (psc_node)position;
    return node < study->node_n ? node : PSC_NONE; /* the positions of a story without a graph are no nodes */
}

int32_t psc_study_end(const PscStudy *study)
{
    const struct psc_story *story = study->analysis->story;
    return story ? (int32_t)story->position_n : (int32_t)study->node_n;
}

static void clear_records(gpointer data)
{
    PscRecords *records = data;
    psc_arena_release(&records->arena);
    g_free(records->record_of);
    g_free(records->verdict_of);
    g_free(records->holders);
    g_free(records->error);
    psc_document_unref(records->document);
}

static int by_count(const void *a, const void *b)
{
    const PscHolder *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Counts, for each node, the overwritten records that hold its value. */
static void count_holders(PscRecords *records)
{
    uint32_t *count = g_new0(uint32_t, records->node_n + 1); /* the last is "not known" */
    for (uint32_t i = 0; i < records->check.n; i++) {
        const struct psc_record_verdict *v = &records->check.list[i];
        if (v->verdict == PSC_RECORD_OVERWRITTEN)
            count[MIN(v->holds, records->node_n)]++;
    }
    for (uint32_t i = 0; i <= records->node_n; i++)
        records->holder_n += count[i] > 0;
    records->holders = g_new0(PscHolder, records->holder_n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i <= records->node_n; i++)
        if (count[i])
            records->holders[n++] = (PscHolder){.node = i < records->node_n ? i : PSC_NONE, .count = count[i]};
    qsort(records->holders, records->holder_n, sizeof *records->holders, by_count);
    g_free(count);
}

PscRecords *psc_records_new(PscDocument *document, const PscStudy *study, uint32_t step)
{
    PscRecords *records = g_atomic_rc_box_new0(PscRecords);
    records->document = psc_document_ref(document);
    records->node_n = study->node_n;
    records->record_of = g_new(uint32_t, records->node_n + 1);
    records->verdict_of = g_new(uint32_t, records->node_n + 1);
    memset(records->record_of, 0xff, (records->node_n + 1) * sizeof(uint32_t));
    memset(records->verdict_of, 0xff, (records->node_n + 1) * sizeof(uint32_t));
    struct psc_error error = {0};
    enum psc_status status =
        psc_doc_load_step(document->doc, study->phase_index, step, &records->arena, &records->step, &error);
    if (status == PSC_OK && records->step.unreadable)
        records->error = g_strdup(records->step.unreadable);
    else if (status == PSC_OK)
        status = psc_records_check(&records->arena, &study->phase, &records->step, &records->check, &error);
    if (status != PSC_OK) {
        records->error = g_strdup(error.text);
        memset(&records->step, 0, sizeof records->step);
    }
    for (uint32_t i = 0; i < records->step.record_n; i++)
        if (records->step.records[i].node < records->node_n)
            records->record_of[records->step.records[i].node] = i;
    for (uint32_t i = 0; i < records->check.n; i++)
        if (records->check.list[i].node < records->node_n)
            records->verdict_of[records->check.list[i].node] = i;
    count_holders(records);
    return records;
}

PscRecords *psc_records_ref(PscRecords *records)
{
    return g_atomic_rc_box_acquire(records);
}

void psc_records_unref(PscRecords *records)
{
    if (records)
        g_atomic_rc_box_release_full(records, clear_records);
}

const struct psc_record *psc_records_of(const PscRecords *records, psc_node node)
{
    if (!records || node >= records->node_n || records->record_of[node] == PSC_NONE)
        return NULL;
    return &records->step.records[records->record_of[node]];
}

const struct psc_record_verdict *psc_records_verdict(const PscRecords *records, psc_node node)
{
    if (!records || node >= records->node_n || records->verdict_of[node] == PSC_NONE)
        return NULL;
    return &records->check.list[records->verdict_of[node]];
}

static void clear_picture(gpointer data)
{
    PscPicture *picture = data;
    psc_arena_release(&picture->arena);
    psc_records_unref(picture->records);
    psc_study_unref(picture->study);
}

PscPicture *psc_picture_new(PscStudy *study, PscRecords *records)
{
    const struct psc_analysis *a = study->analysis;
    if (!a->story)
        return NULL;
    PscPicture *picture = g_atomic_rc_box_new0(PscPicture);
    picture->study = psc_study_ref(study);
    picture->records = records ? psc_records_ref(records) : NULL;
    struct psc_scene_source source = {.story = a->story, .history = a->history, .graph = study->graph,
                                      .check = &a->check, .records = records ? &records->check : NULL};
    if (a->comparison && a->story == a->recorded)
        source.planned = a->predicted, source.comparison = a->comparison;
    if (psc_scene_build(&picture->arena, &source, &picture->scene, NULL) == PSC_OK)
        return picture;
    psc_picture_unref(picture);
    return NULL;
}

PscPicture *psc_picture_ref(PscPicture *picture)
{
    return g_atomic_rc_box_acquire(picture);
}

void psc_picture_unref(PscPicture *picture)
{
    if (picture)
        g_atomic_rc_box_release_full(picture, clear_picture);
}

/* The study of a step that went otherwise: the same plan, its own events. NULL when it has none, or they cannot be used. */
static PscStudy *study_of_step(PscStudy *phase, PscRecords *records)
{
    if (!records || !records->step.story || !phase->graph || phase->options.replan || phase->options.foreign)
        return NULL;
    struct psc_phase own = phase->phase;
    own.story = (struct psc_story *)(uintptr_t)records->step.story; /* read only, as that of a phase */
    PscStudy *study = psc_study_new(phase->document, phase->phase_index, &own, &phase->options, NULL);
    if (study) {
        study->of_phase = psc_study_ref(phase);
        study->of_records = psc_records_ref(records);
    }
    return study;
}

bool psc_look_make(PscLook *look, PscDocument *document, PscStudy *study, uint32_t phase_index,
                   const struct psc_phase *phase, const struct psc_analysis_options *options, bool has_step,
                   uint32_t step, struct psc_error *reterr)
{
    if (study && study->of_phase)
        study = study->of_phase;
    look->study = study ? psc_study_ref(study) : psc_study_new(document, phase_index, phase, options, reterr);
    if (!look->study)
        return false;
    look->records = has_step ? psc_records_new(document, look->study, step) : NULL;
    PscStudy *own = study_of_step(look->study, look->records);
    if (own) {
        psc_study_unref(look->study);
        look->study = own;
    }
    look->picture = psc_picture_new(look->study, look->records);
    return true;
}

void psc_look_clear(PscLook *look)
{
    g_clear_pointer(&look->picture, psc_picture_unref);
    g_clear_pointer(&look->records, psc_records_unref);
    g_clear_pointer(&look->study, psc_study_unref);
}

bool psc_study_brings_plan(const PscStudy *study)
{
    return study->phase.plan || study->phase.story;
}

const struct psc_planner *psc_study_planner(const PscStudy *study)
{
    if (!study || (!study->options.replan && psc_study_brings_plan(study)))
        return NULL;
    return study->options.planner ? study->options.planner : study->phase.boxes ? psc_planner_find("optimal") : psc_planners;
}
