#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "core/debug/arena-track.h"
#include "traces/json-write.h"
#include "traces/scenario-read.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- for machines ---------------------------------------------------------------------------- */

static void put_list(struct psc_json *j, const char *key, const uint32_t *list, uint32_t n)
{
    psc_json_key(j, key);
    psc_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        psc_json_u64(j, list[i]);
    psc_json_end_array(j);
}

static const char *token_of(const struct psc_kv_script *script, uint32_t token)
{
    return token < script->token_n ? script->tokens[token] : "";
}

static void put_kv(struct psc_json *j, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    const struct psc_kv_answer *a = &answer->kv;
    char key[16];
    psc_json_key(j, "kv");
    psc_json_object(j);
    psc_json_key(j, "cells");
    psc_json_object(j);
    for (uint32_t c = 0; c < a->cell_n; c++) {
        if (!a->cells[c].seqs)
            continue;
        snprintf(key, sizeof key, "%" PRIu32, c);
        psc_json_key(j, key);
        psc_json_array(j);
        psc_json_string(j, token_of(&s->kv, a->cells[c].token));
        psc_json_i64(j, a->cells[c].position);
        psc_json_i64(j, a->cells[c].rotated);
        psc_json_end_array(j);
    }
    psc_json_end_object(j);
    put_list(j, "errors", a->errors, a->error_n);
    psc_json_key(j, "moves");
    psc_json_array(j);
    for (uint32_t i = 0; i < a->move_n; i++) {
        psc_json_array(j);
        psc_json_u64(j, a->moves[i].from);
        psc_json_u64(j, a->moves[i].to);
        psc_json_u64(j, a->moves[i].bytes);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
    psc_json_put_u64(j, "region_bytes", a->region_bytes);
    put_list(j, "ring_overrun", a->overruns, a->overrun_n);
    put_list(j, "unwritten_reads", a->unwritten, a->unwritten_n);
    psc_json_end_object(j);
}

static void put_sched(struct psc_json *j, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    psc_json_key(j, "races");
    psc_json_array(j);
    for (uint32_t i = 0; i < answer->races.n; i++) {
        const struct psc_race *r = &answer->races.list[i];
        psc_json_array(j);
        psc_json_string(j, s->sched.commands[r->a].id);
        psc_json_string(j, s->sched.commands[r->b].id);
        psc_json_string(j, s->sched.buffers[r->buffer].id);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static void put_capture(struct psc_json *j, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    psc_json_key(j, "replay");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->capture.replay_n; i++) {
        const struct psc_capture_answer *a = &answer->capture[i];
        if (a->reuse) {
            psc_json_string(j, "reuse");
            continue;
        }
        psc_json_array(j);
        psc_json_string(j, "recapture");
        psc_json_u64(j, a->node);
        psc_json_string(j, a->field);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

/* What the arenas look like at the end. False when there is nothing to look at. */
static bool look_at_end(struct psc_arena *arena, const struct psc_story *story, struct psc_arena_look *ret)
{
    struct psc_arena_track *track;
    return !psc_arena_track_new(arena, story, &track, NULL) && track &&
           !psc_arena_track_look(track, arena, story->event_n, ret, NULL);
}

static void put_blocks(struct psc_json *j, const struct psc_story *story)
{
    struct psc_arena arena = {0};
    struct psc_arena_look look = {0};
    char label[128];
    (void)look_at_end(&arena, story, &look);
    psc_json_key(j, "blocks");
    psc_json_array(j);
    for (uint32_t h = 0; h < look.home_n; h++)
        for (uint32_t i = 0; i < look.homes[h].slot_n; i++) {
            const struct psc_arena_slot_look *slot = &look.homes[h].slots[i];
            if (slot->state == PSC_SLOT_UNUSED)
                continue;
            psc_json_object(j);
            psc_json_put_string(j, "arena", look.homes[h].name);
            psc_json_put_u64(j, "slot", i);
            psc_json_put_string(j, "state", psc_slot_state_name(slot->state));
            psc_json_put_string(j, "owner", psc_owner_name(slot->owner));
            psc_json_put_u64(j, "holders", slot->holders);
            psc_json_put_string(j, "value", psc_value_label(story, NULL, slot->value, label, sizeof label));
            psc_json_put_u64(j, "bytes", slot->bytes);
            psc_json_put_u64(j, "capacity", slot->capacity);
            psc_json_end_object(j);
        }
    psc_json_end_array(j);
    psc_arena_release(&arena);
}

static void put_arena(struct psc_json *j, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    const struct psc_arena_answer *a = &answer->arena;
    uint32_t broken[PSC_INVARIANT_N], broken_n = 0;
    (void)s;
    for (uint32_t i = 0; i < PSC_INVARIANT_N; i++)
        if (a->broken >> i & 1)
            broken[broken_n++] = i;
    psc_json_key(j, "arena");
    psc_json_object(j);
    psc_json_put_u64(j, "live_exec", a->exec.live);
    psc_json_put_u64(j, "live_exec_capacity", a->exec.live_capacity);
    psc_json_put_u64(j, "retained_exec", a->exec.retained);
    psc_json_put_u64(j, "peak_exec", a->exec.peak);
    psc_json_put_u64(j, "live_io", a->io.live);
    psc_json_put_u64(j, "retained_io", a->io.retained);
    psc_json_put_u64(j, "peak_io", a->io.peak);
    psc_json_put_u64(j, "buffers", a->exec.blocks + a->io.blocks);
    psc_json_put_u64(j, "evictions", a->exec.evicted + a->io.evicted);
    put_list(j, "errors", a->errors, a->error_n);
    psc_json_put_u64(j, "peak_footprint", a->peak_footprint);
    put_blocks(j, answer->stories[0]);
    put_list(j, "broken", broken, broken_n);
    psc_json_end_object(j);
}

/* ---- for people ------------------------------------------------------------------------------- */

static void add_kv(struct psc_text *out, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    const struct psc_kv_answer *a = &answer->kv;
    struct cli_table table;
    char text[32];
    uint32_t used = 0;
    for (uint32_t c = 0; c < a->cell_n; c++)
        used += a->cells[c].seqs != 0;
    psc_text_addf(out, "Layer %" PRId32 ", %s: ", s->kv.layer, s->kv.dtype);
    cli_add_number(out, used);
    psc_text_add(out, " of ");
    cli_add_number(out, a->cell_n);
    psc_text_addf(out, " cells in use, %s a region\n", psc_bytes_text(a->region_bytes, text, sizeof text));
    if (!used)
        return;
    cli_table_init(&table, "cell|token|position|rotated|owed", "rlrrr");
    for (uint32_t c = 0; c < a->cell_n; c++) {
        if (!a->cells[c].seqs)
            continue;
        cli_table_number(&table, c);
        cli_table_cell(&table, token_of(&s->kv, a->cells[c].token));
        snprintf(text, sizeof text, "%" PRId32, a->cells[c].position);
        cli_table_cell(&table, text);
        snprintf(text, sizeof text, "%" PRId32, a->cells[c].rotated);
        cli_table_cell(&table, text);
        snprintf(text, sizeof text, "%" PRId32, a->cells[c].pending);
        cli_table_cell(&table, a->cells[c].pending ? text : "");
    }
    cli_table_end(&table, out);
}

static void add_sched(struct psc_text *out, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    cli_add_number(out, s->sched.command_n);
    psc_text_addf(out, " commands on %" PRIu32 " queues: ", s->sched.queue_n);
    cli_add_number(out, answer->races.n);
    psc_text_add(out, answer->races.n == 1 ? " race\n" : " races\n");
}

static void add_capture(struct psc_text *out, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    struct cli_table table;
    cli_table_init(&table, "replay|answer|node|field", "rlrl");
    for (uint32_t i = 0; i < s->capture.replay_n; i++) {
        const struct psc_capture_answer *a = &answer->capture[i];
        cli_table_number(&table, i);
        cli_table_cell(&table, a->reuse ? "reuse" : "capture again");
        if (a->reuse)
            cli_table_cell(&table, "");
        else
            cli_table_number(&table, a->node);
        cli_table_cell(&table, a->reuse ? "" : a->field);
    }
    cli_table_end(&table, out);
}

/* Which block is whose, and which free one goes first. */
static void add_blocks(struct psc_text *out, const struct psc_story *story)
{
    struct psc_arena arena = {0};
    struct psc_arena_look look = {0};
    struct cli_table table;
    char text[128];
    (void)look_at_end(&arena, story, &look);
    cli_table_init(&table, "arena|slot|state|owner|value|bytes|of", "lrlllrr");
    for (uint32_t h = 0; h < look.home_n; h++)
        for (uint32_t i = 0; i < look.homes[h].slot_n; i++) {
            const struct psc_arena_slot_look *slot = &look.homes[h].slots[i];
            bool used = slot->state != PSC_SLOT_FREE;
            if (slot->state == PSC_SLOT_UNUSED)
                continue;
            cli_table_cell(&table, look.homes[h].name);
            cli_table_number(&table, i);
            cli_table_cell(&table, psc_slot_state_name(slot->state));
            snprintf(text, sizeof text, slot->holders > 1 ? "%" PRIu32 " leases" : "a lease", slot->holders);
            cli_table_cell(&table, slot->owner == PSC_OWNER_LEASE ? text : used ? psc_owner_name(slot->owner) : "");
            cli_table_cell(&table, used ? psc_value_label(story, NULL, slot->value, text, sizeof text) : "");
            cli_table_cell(&table, used ? psc_bytes_text(slot->bytes, text, sizeof text) : "");
            cli_table_cell(&table, psc_bytes_text(slot->capacity, text, sizeof text));
        }
    cli_table_end(&table, out);
    psc_arena_release(&arena);
}

static void add_arena(struct psc_text *out, const struct psc_scenario *s, const struct psc_scenario_answer *answer)
{
    const struct psc_arena_answer *a = &answer->arena;
    struct cli_table table;
    char text[32];
    cli_add_number(out, s->arena.op_n);
    psc_text_addf(out, " operations, %" PRIu32 " refused; at most %s in blocks\n", a->error_n,
                  psc_bytes_text(a->peak_footprint, text, sizeof text));
    cli_table_init(&table, "arena|live|slack|retained|peak|blocks|used again|evicted|trimmed", "lrrrrrrrr");
    for (unsigned k = 0; k < 2; k++) {
        const struct psc_depot_figures *f = k ? &a->io : &a->exec;
        cli_table_cell(&table, psc_depot_kind_name((enum psc_depot_kind)k));
        cli_table_cell(&table, psc_bytes_text(f->live, text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->live_capacity - f->live, text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->retained, text, sizeof text));
        cli_table_cell(&table, psc_bytes_text(f->peak, text, sizeof text));
        cli_table_number(&table, f->blocks);
        cli_table_number(&table, f->reused);
        cli_table_number(&table, f->evicted);
        cli_table_number(&table, f->trimmed);
    }
    cli_table_end(&table, out);
    add_blocks(out, answer->stories[0]);
}

/* ---- the command ------------------------------------------------------------------------------ */

/* Errors, races and reads of rows that hold nothing are findings; that a capture cannot be used again is none. */
static enum cli_exit verdict(const struct psc_scenario *s, const struct psc_scenario_answer *a)
{
    bool kv = s->kind == PSC_SCENARIO_KV && (a->kv.error_n || a->kv.overrun_n || a->kv.unwritten_n);
    bool sched = s->kind == PSC_SCENARIO_SCHED && a->races.n;
    bool arena = s->kind == PSC_SCENARIO_ARENA && (a->arena.error_n || a->arena.broken);
    return kv || sched || arena ? CLI_FINDINGS : CLI_CLEAN;
}

static void say(const char *path, const struct psc_report *report)
{
    struct psc_error error = {.byte = UINT64_MAX};
    for (size_t i = 0; i < report->n; i++) {
        snprintf(error.text, sizeof error.text, "%s", report->items[i].text);
        cli_complain(path, &error);
    }
}

/* --mode and --fault: the same operations on other arenas. */
static enum psc_status change_arenas(const struct cli_options *o, struct psc_scenario *s, struct psc_error *reterr)
{
    if ((o->run.has_mode || o->run.arenas.faults) && s->kind != PSC_SCENARIO_ARENA)
        return psc_fail(reterr, PSC_ERR_USAGE, "--mode and --fault are for scenarios of arenas, this one is %s", psc_scenario_format(s->kind));
    if (o->run.has_mode)
        s->arena.guards = o->plan.mode == PSC_MODE_UPSTREAM ? PSC_ARENA_UPSTREAM : PSC_ARENA_HARDENED;
    s->arena.faults |= o->run.arenas.faults;
    return PSC_OK;
}

enum cli_exit cli_play(struct cli_options *options)
{
    static const struct {
        void (*json)(struct psc_json *j, const struct psc_scenario *s, const struct psc_scenario_answer *a);
        void (*text)(struct psc_text *out, const struct psc_scenario *s, const struct psc_scenario_answer *a);
    } kinds[PSC_SCENARIO_N] = {
        [PSC_SCENARIO_KV] = {put_kv, add_kv},
        [PSC_SCENARIO_SCHED] = {put_sched, add_sched},
        [PSC_SCENARIO_CAPTURE] = {put_capture, add_capture},
        [PSC_SCENARIO_ARENA] = {put_arena, add_arena},
    };
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_scenario scenario;
    struct psc_scenario_answer answer;
    struct psc_error error = {.byte = UINT64_MAX};
    enum cli_exit exit = CLI_BAD;
    cli_progress("playing %s", options->file);
    enum psc_status status = psc_scenario_read(&arena, options->file, &report, &scenario, &error);
    if (!status)
        status = change_arenas(options, &scenario, &error);
    if (!status)
        status = psc_scenario_play(&arena, &scenario, &report, &answer, &error);
    if (status) {
        cli_complain(options->file, &error);
    } else if (options->json) {
        struct psc_json j;
        say(options->file, &report);
        psc_json_init(&j, false);
        psc_json_object(&j);
        kinds[scenario.kind].json(&j, &scenario, &answer);
        psc_json_end_object(&j);
        psc_text_add(&j.out, "\n");
        exit = cli_print(&j.out, verdict(&scenario, &answer));
    } else {
        struct psc_text out = {0};
        say(options->file, &report);
        kinds[scenario.kind].text(&out, &scenario, &answer);
        exit = cli_print(&out, verdict(&scenario, &answer));
    }
    psc_report_release(&report);
    psc_arena_release(&arena);
    return exit;
}
