#include "core/run/run-private.h"

#include "core/base/mem.h"
#include "core/debug/arena-story.h"
#include "core/run/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TOLD_MAX (1u << 19) /* events of a story; what comes after the run that passes it is not told */

/* Outputs of one run that are held. */
struct psc_run_holding {
    struct psc_run_holding *next;
    struct psc_held *held[]; /* [n] */
};
/* Memory of an input that the session borrows. */
struct psc_run_borrowed {
    struct psc_run_borrowed *next;
    void *words;
};

/* ---- set-up ----------------------------------------------------------------------------------------------------- */

/* Of staging, recordings and the pools' walk. */
#define OF_POOLS (UINT64_C(1) << PSC_RUN_L8 | UINT64_C(1) << PSC_RUN_L9 | UINT64_C(1) << PSC_RUN_L11 | UINT64_C(1) << PSC_RUN_L32 | \
                  UINT64_C(1) << PSC_RUN_L34)

static enum psc_status refuse_faults(const struct psc_session_options *options, struct psc_error *reterr)
{
    for (uint32_t i = 0; options->run_faults & OF_POOLS && i < psc_named_fault_n(); i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        if (fault.run & options->run_faults & OF_POOLS)
            return psc_fail(reterr, PSC_ERR_USAGE, "fault %s is a defect of staged copies or recordings of pools: on arenas it says "
                            "nothing", fault.name);
    }
    return PSC_OK;
}

enum psc_status psc_run_arena_set_up(struct psc_runner *r, struct psc_session_options *options, struct psc_error *reterr)
{
    const struct psc_run_request *q = r->request;
    enum psc_status status = PSC_OK;
    if (!options->arenas && (q->hold || q->borrow_inputs || q->trim))
        return psc_fail(reterr, PSC_ERR_USAGE, "outputs are held, inputs borrowed and free blocks trimmed on arenas only");
    if (!options->arenas)
        return PSC_OK;
    if (q->record.capture == PSC_CAPTURE_SPLIT && (q->record.values || q->record.contents))
        return psc_fail(reterr, PSC_ERR_USAGE, "on arenas a value may have gone back when its split ends: it is captured after its node "
                        "(--capture node)");
    if (options->plan.foreign)
        return psc_fail(reterr, PSC_ERR_USAGE, "a plan says where values lie in pools: a run on arenas has none");
    if (options->replay)
        return psc_fail(reterr, PSC_ERR_USAGE, "on arenas a kernel has other addresses in each run: nothing is recorded for replay");
    status = refuse_faults(options, reterr);
    if (status)
        return status;
    r->arenas = *options->arenas;
    r->arenas.check = true;
    if (q->record.events) {
        r->story = psc_arena_alloc0(&r->arena, 1, sizeof *r->story);
        status = r->story ? psc_arena_story_init(r->story, reterr) : psc_fail_nomem(reterr);
        r->arenas.story = r->story;
    }
    options->arenas = &r->arenas;
    r->result->on_arenas = true;
    return status;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* The caller of a run may fill from anywhere; what is borrowed must stay, so the run is the caller. */
enum psc_status psc_run_arena_fill(struct psc_runner *r, psc_node node, const void *words, uint64_t n, struct psc_error *reterr)
{
    struct psc_run_borrowed *own;
    if (!r->request->borrow_inputs)
        return psc_session_fill_node(r->session, node, words, n, reterr);
    own = psc_alloc(sizeof *own + (size_t)n * 4 + 4);
    if (!own)
        return psc_fail_nomem(reterr);
    own->words = own + 1;
    if (n)
        memcpy(own->words, words, (size_t)n * 4);
    own->next = r->result->borrowed; /* those before it may be in use still: they go with the session */
    r->result->borrowed = own;
    return psc_session_borrow_node(r->session, node, own->words, n, reterr);
}

/* ---- holding -------------------------------------------------------------------------------------------------------- */

/* Whoever held them looks at them once more. How many did not have their bytes any more. */
static uint32_t drop(struct psc_run_holding *one)
{
    uint32_t changed = 0;
    uint64_t bytes;
    for (uint32_t i = 0; one && one->held[i]; i++) {
        (void)psc_held_read(one->held[i], &bytes);
        changed += psc_held_drop(one->held[i], NULL) != PSC_OK;
    }
    psc_free(one);
    return changed;
}

static bool can_be_held(const struct psc_graph *graph, psc_node i)
{
    return graph->nodes[i].bytes && !psc_op_info(graph->nodes[graph->nodes[i].root].op)->is_kv;
}

static void drop_oldest(struct psc_runner *r)
{
    struct psc_run_holding *one = r->oldest;
    r->oldest = one->next;
    r->holding_n--;
    r->result->confirmed_n += drop(one);
}

static enum psc_status hold_outputs(struct psc_runner *r, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(r->session);
    struct psc_run_holding *one = psc_alloc0(1, sizeof *one + ((size_t)graph->output_n + 1) * sizeof *one->held);
    enum psc_status status = one ? PSC_OK : psc_fail_nomem(reterr);
    uint32_t n = 0;
    for (uint32_t k = 0; !status && k < graph->output_n; k++)
        if (can_be_held(graph, graph->outputs[k])) {
            status = psc_session_hold(r->session, graph->outputs[k], &one->held[n], reterr);
            n += !status;
        }
    if (status) {
        (void)drop(one);
        return status;
    }
    *(r->oldest ? &r->result->holding->next : &r->oldest) = one;
    r->result->holding = one;
    if (++r->holding_n > r->request->hold)
        drop_oldest(r);
    return PSC_OK;
}

enum psc_status psc_run_arena_after(struct psc_runner *r, struct psc_error *reterr)
{
    struct psc_run_result *to = r->result;
    enum psc_status status = PSC_OK;
    if (!to->on_arenas)
        return PSC_OK;
    if (r->request->hold)
        status = hold_outputs(r, reterr);
    if (status)
        return status;
    if (r->request->trim)
        (void)psc_session_arena_trim(r->session);
    if (!psc_grow(&to->arena_runs, (size_t)to->arena_run_n + 1, &r->arena_run_cap, sizeof *to->arena_runs))
        return psc_fail_nomem(reterr);
    psc_session_arena_run(r->session, &to->arena_runs[to->arena_run_n++]);
    if (r->story && r->story->event_n > TOLD_MAX && !to->arena_untold) {
        psc_session_arena_quiet(r->session);
        to->arena_untold = to->arena_run_n;
    }
    return PSC_OK;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static enum psc_status write_note(const struct psc_run_result *a, struct psc_doc *doc, const char **ret, struct psc_error *reterr)
{
    char text[240];
    uint64_t later = 0, copied = 0;
    for (uint32_t i = 0; i < a->arena_run_n; i++) {
        later += i ? a->arena_runs[i].system_allocs : 0;
        copied += a->arena_runs[i].copied;
    }
    snprintf(text, sizeof text, "%" PRIu32 " %s on arenas: %" PRIu64 " blocks asked of the heap in the first, %" PRIu64
             " in all later ones; %" PRIu64 " bytes copied.", a->arena_run_n, a->arena_run_n == 1 ? "run" : "runs",
             a->arena_run_n ? a->arena_runs[0].system_allocs : 0, later, copied);
    *ret = psc_arena_strdup(&doc->arena, text);
    return *ret ? PSC_OK : psc_fail_nomem(reterr);
}

/* What the arenas did in all runs: a phase of its own, behind those of the recorder. */
static enum psc_status add_phase(struct psc_runner *r, struct psc_doc *doc, struct psc_error *reterr)
{
    struct psc_phase *phases = psc_arena_alloc0(&doc->arena, (size_t)doc->phase_n + 1, sizeof *phases), *phase;
    if (!phases)
        return psc_fail_nomem(reterr);
    phase = &phases[doc->phase_n];
    phase->kind = "arena";
    enum psc_status status = psc_arena_story_finish(r->story, &doc->arena, &phase->story, reterr);
    if (!status)
        status = write_note(r->result, doc, &phase->note, reterr);
    if (status)
        return status;
    if (doc->phase_n)
        memcpy(phases, doc->phases, doc->phase_n * sizeof *phases);
    doc->phases = phases;
    doc->phase_n++;
    return PSC_OK;
}

/* Nothing else was recorded. */
static enum psc_status make_doc(struct psc_runner *r, const char *model, struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_doc *doc = psc_doc_new();
    if (!doc)
        return psc_fail_nomem(reterr);
    doc->format = "minfer-trace";
    doc->version = 1;
    doc->model = psc_arena_strdup(&doc->arena, model ? model : "");
    doc->prompt = psc_arena_strdup(&doc->arena, r->request->prompt_text ? r->request->prompt_text : "");
    enum psc_status status = doc->model && doc->prompt ? add_phase(r, doc, reterr) : psc_fail_nomem(reterr);
    if (status)
        psc_doc_free(doc);
    else
        *ret = doc;
    return status;
}

enum psc_status psc_run_arena_end(struct psc_runner *r, const char *model, struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_run_result *to = r->result;
    while (r->oldest && r->oldest != to->holding) /* the last run's stay, for whoever looks at the session */
        drop_oldest(r);
    if (!to->on_arenas || !r->session)
        return PSC_OK;
    psc_session_arena_quiet(r->session);
    for (unsigned a = 0; a < 2; a++)
        to->depots[a] = psc_session_depot(r->session, (enum psc_depot_kind)a);
    psc_session_arena_broken(r->session, &to->arena_broken);
    if (!r->story)
        return PSC_OK;
    return *ret ? add_phase(r, *ret, reterr) : make_doc(r, model, ret, reterr);
}

void psc_run_arena_release(struct psc_runner *r)
{
    if (!r->story)
        return;
    if (r->session) /* it outlives the story */
        psc_session_arena_quiet(r->session);
    psc_arena_story_release(r->story);
}

void psc_run_arena_release_result(struct psc_run_result *result)
{
    (void)drop(result->holding);
    psc_session_free(result->session);
    struct psc_run_borrowed *own = result->borrowed;
    while (own) {
        struct psc_run_borrowed *next = own->next;
        psc_free(own);
        own = next;
    }
    psc_free(result->arena_runs);
}
