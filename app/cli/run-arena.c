#include "app/cli/run-arena.h"

#include "app/cli/words.h"
#include "core/debug/arena-track.h"
#include "core/run/faults.h"

#include <inttypes.h>
#include <string.h>

#define ROWS_SHOWN 8u

enum psc_status cli_arena_request(const struct cli_options *o, struct psc_arena_settings *settings, struct psc_run_request *request,
                                  struct psc_error *reterr)
{
    const struct cli_run *c = &o->run;
    if (!c->on_arenas && c->for_arenas)
        return psc_fail(reterr, PSC_ERR_USAGE, "--hold, --trim, --inputs, --exec-slots, --io-slots, --exec-cap, --io-cap and the faults a1 to a%u "
                        "are for runs on arenas: give --memory arena", PSC_ARENA_FAULT_N);
    if (!c->on_arenas)
        return PSC_OK;
    if (o->planner || o->plan_file || o->plan.pool || c->session.recycled != PSC_RECYCLED_KEPT)
        return psc_fail(reterr, PSC_ERR_USAGE, "with --memory arena nothing is planned: --planner, --plan, --budget and --recycled say "
                        "nothing");
    const char *of_plans = cli_given(
        o, (const char *const[]){"--size", "--slots", "--order", "--capacity", "--in-place", "--work", "--time", "--move", NULL}, false);
    if (of_plans)
        return psc_fail(reterr, PSC_ERR_USAGE, "with --memory arena nothing is planned: %s says nothing", of_plans);
    for (uint32_t i = 0; i < psc_named_fault_n(); i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        if (fault.plan & o->plan.faults)
            return psc_fail(reterr, PSC_ERR_USAGE, "with --memory arena nothing is planned: --fault %s is a planner's", fault.name);
    }
    *settings = c->arenas;
    settings->guards = c->has_mode && o->plan.mode == PSC_MODE_UPSTREAM ? PSC_ARENA_UPSTREAM : PSC_ARENA_HARDENED;
    settings->alignment = o->plan.align > UINT32_MAX ? UINT32_MAX : (uint32_t)o->plan.align;
    request->session.arenas = settings;
    request->hold = c->hold;
    request->trim = c->trim;
    request->borrow_inputs = c->borrow;
    return PSC_OK;
}

void cli_arena_stream(struct cli_run_files *files, const struct psc_run_result *a)
{
    if (a->on_arenas && files->events && a->doc && a->doc->phase_n)
        (void)psc_events_phase(files->events, a->doc->phase_n - 1, &a->doc->phases[a->doc->phase_n - 1]); /* an error is told when the file is closed */
}

static void put_run(struct psc_json *j, const struct psc_arena_run_figures *f)
{
    psc_json_object(j);
    psc_json_put_u64(j, "run", f->run);
    psc_json_put_u64(j, "system_allocs", f->system_allocs);
    psc_json_put_u64(j, "copied", f->copied);
    psc_json_put_u64(j, "staged", f->staged);
    psc_json_put_u64(j, "peak_exec", f->peak[PSC_DEPOT_EXEC]);
    psc_json_put_u64(j, "peak_io", f->peak[PSC_DEPOT_IO]);
    psc_json_put_u64(j, "retained_exec", f->retained[PSC_DEPOT_EXEC]);
    psc_json_put_u64(j, "retained_io", f->retained[PSC_DEPOT_IO]);
    psc_json_put_u64(j, "footprint", f->footprint);
    psc_json_put_u64(j, "held", f->held);
    psc_json_end_object(j);
}

static void put_depot(struct psc_json *j, const char *key, const struct psc_depot_figures *f)
{
    psc_json_key(j, key);
    psc_json_object(j);
    psc_json_put_u64(j, "blocks", f->blocks);
    psc_json_put_u64(j, "reused", f->reused);
    psc_json_put_u64(j, "grown", f->grown);
    psc_json_put_u64(j, "evicted", f->evicted);
    psc_json_put_u64(j, "live", f->live);
    psc_json_put_u64(j, "live_capacity", f->live_capacity);
    psc_json_put_u64(j, "retained", f->retained);
    psc_json_put_u64(j, "slots", f->slot_n);
    psc_json_put_u64(j, "stale_writes", f->stale_writes);
    psc_json_end_object(j);
}

void cli_arena_json(struct psc_json *j, const struct psc_run_result *a)
{
    if (!a->on_arenas)
        return;
    psc_json_key(j, "arena");
    psc_json_object(j);
    psc_json_key(j, "runs");
    psc_json_array(j);
    for (uint32_t i = 0; i < a->arena_run_n; i++)
        put_run(j, &a->arena_runs[i]);
    psc_json_end_array(j);
    put_depot(j, "exec", &a->depots[PSC_DEPOT_EXEC]);
    put_depot(j, "io", &a->depots[PSC_DEPOT_IO]);
    psc_json_key(j, "broken");
    psc_json_array(j);
    for (unsigned i = 0; i < PSC_INVARIANT_N; i++)
        if (a->arena_broken.ever >> i & 1)
            psc_json_u64(j, i);
    psc_json_end_array(j);
    psc_json_put_string(j, "broken_text", a->arena_broken.text);
    if (a->arena_untold)
        psc_json_put_u64(j, "told_runs", a->arena_untold);
    psc_json_end_object(j);
}

void cli_arena_add(struct psc_text *out, const struct psc_run_result *a)
{
    struct cli_table table;
    char text[32];
    if (!a->on_arenas)
        return;
    cli_table_init(&table, "run|blocks from the heap|copied|staged|peak exec|peak io|blocks in all|held", "rrrrrrrr");
    for (uint32_t i = 0; i < a->arena_run_n; i++) {
        const struct psc_arena_run_figures *f = &a->arena_runs[i];
        if (i >= ROWS_SHOWN && i + 1 < a->arena_run_n) /* the first ones and the last */
            continue;
        cli_table_number(&table, f->run + 1);
        cli_table_number(&table, f->system_allocs);
        cli_table_cell(&table, psc_bytes_text(f->copied, text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->staged, text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->peak[PSC_DEPOT_EXEC], text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->peak[PSC_DEPOT_IO], text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->footprint, text, sizeof text));
        cli_table_number(&table, f->held);
    }
    cli_table_end(&table, out);
}

/* ---- invariants --------------------------------------------------------------------------------- */

typedef void (*broken_fn)(void *to, const struct psc_story *story, unsigned invariant, int32_t position, const char *text, uint32_t phase);

static uint32_t each_broken(const struct psc_story *story, uint32_t phase, broken_fn fn, void *to)
{
    struct psc_arena arena = {0};
    struct psc_arena_track *track = NULL;
    uint32_t n = 0, after = 0;
    if (story && story->alarm_n && !psc_arena_track_new(&arena, story, &track, NULL) && track)
        for (unsigned i = 0; i < PSC_INVARIANT_N; i++) {
            const char *why = psc_arena_track_why(track, i, &after);
            if (track->since[i] == PSC_NONE)
                continue;
            fn(to, story, i, after ? story->events[after - 1].position : -1, why, phase);
            n++;
        }
    psc_arena_release(&arena);
    return n;
}

static void add_broken(void *to, const struct psc_story *story, unsigned invariant, int32_t position, const char *text, uint32_t phase)
{
    struct psc_text *out = to;
    bool titled = story->titles && position >= 0 && position < (int32_t)story->position_n;
    (void)phase;
    psc_text_addf(out, "  Invariant %u, %s, does not hold from position %" PRId32, invariant, psc_invariant_text(invariant), position);
    if (titled) {
        struct psc_text title = {0};
        psc_text_add_n(&title, story->titles[position], strcspn(story->titles[position], ":.["));
        psc_text_add(out, " (");
        cli_add_safe(out, psc_text_str(&title));
        psc_text_add(out, ")");
        psc_text_release(&title);
    }
    psc_text_add(out, " on: ");
    cli_add_safe(out, text);
    psc_text_add(out, ".\n");
}

static void put_broken(void *to, const struct psc_story *story, unsigned invariant, int32_t position, const char *text, uint32_t phase)
{
    struct psc_json *j = to;
    (void)story;
    psc_json_object(j);
    psc_json_put_u64(j, "phase", phase);
    psc_json_put_u64(j, "invariant", invariant);
    psc_json_put_i64(j, "position", position);
    psc_json_put_string(j, "text", text);
    psc_json_end_object(j);
}

uint32_t cli_broken_add(struct psc_text *out, const struct psc_story *story)
{
    return each_broken(story, 0, add_broken, out);
}

uint32_t cli_broken_json(struct psc_json *j, const struct psc_story *story, uint32_t phase)
{
    return each_broken(story, phase, put_broken, j);
}
