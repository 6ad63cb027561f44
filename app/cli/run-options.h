/* app/cli/run-options.h: the options of `run` and `bench`. Those that other commands know too (planner, --backend, --n-ctx,
 * --preset ...) stand in cli_options.
 */
#ifndef PSC_APP_CLI_RUN_OPTIONS_H
#define PSC_APP_CLI_RUN_OPTIONS_H

#include "core/run/run.h"

#define CLI_FILLS_MAX 256u
#define CLI_TURNS_MAX 64u

struct cli_run { /* all strings are borrowed from argv */
    const char *prompt, *tokens;      /* text; "5,77,130" */
    const char *fills[CLI_FILLS_MAX]; /* "x=1,2,3" */
    const char *turns[CLI_TURNS_MAX]; /* further prompts */
    uint32_t fill_n, turn_n;
    bool chat, ignore_stop, ops, refill, hashes, verify, has_n, has_capture, has_replay, has_kv_format;
    uint32_t n, chunk, times, prompt_n, repeats, move_at;
    enum psc_choice fuse_qkv, fuse_ffn;
    enum psc_kv_format kv_format;
    enum psc_kv_inputs kv_inputs;
    enum psc_capture capture;         /* UNKNOWN: none, when has_capture */
    struct psc_sampling sampling;
    const char *trace, *events, *contents, *logits; /* files to write, NULL */
    const char *kv_dump; /* a folder, NULL */
    const char *kv_load; /* a file to read, NULL */
    struct psc_session_options session; /* all but planner and plan */
    bool on_arenas, borrow, has_mode, for_arenas; /* for_arenas: an option of runs on arenas was given */
    uint32_t hold;
    bool trim;
    struct psc_arena_settings arenas;
};

/* Before the first option is read. */
void cli_run_defaults(struct cli_run *run);

#endif
