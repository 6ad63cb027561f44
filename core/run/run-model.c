#include "core/run/run-private.h"

#include "core/base/mem.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the run of a model stands. */
struct going {
    struct psc_runner *r;
    struct psc_sampler *sampler;   /* owned */
    struct psc_utf8_stream stream;
    int32_t *words;                /* inputs under construction, in the runner's arena */
    int32_t *positions, *cells, *spans, *map; /* of the tokens of this forward; in the runner's arena */
    float *logits;                 /* the result's */
    uint32_t vocab;
    uint32_t position, step;       /* of the next token; forwards so far */
    size_t token_cap, end_cap;
    int32_t *turn;                 /* room for the token before a further prompt and its own; in the runner's arena */
};

/* ---- graphs ------------------------------------------------------------------------------------------------- */

static enum psc_status build_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key,
                                struct psc_graph **ret, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    uint32_t words = 0;
    if (key->kv_format != PSC_KV_F32) {
        enum psc_status status = psc_kv_row_words(key->kv_format, r->request->model->hyper.n_kv, &words, reterr);
        if (status != PSC_OK)
            return status;
    }
    struct psc_model_graph_options options = {
        .n_tokens = key->n_tokens, .n_out = key->n_out, .n_ctx = key->n_ctx, .kv_inputs = r->request->kv_inputs,
        .row_elems = words, .fuse_qkv = key->fuse_qkv, .fuse_ffn = key->fuse_ffn, .bias_rope_store = key->fuse_qkv,
    };
    return psc_model_graph_on(arena, r->request->model, &options, r->targets, r->target_n, &r->offload, ret, reterr);
}

/* moves: it is about to be executed. */
static enum psc_status use_graph(struct going *g, uint32_t n_tokens, bool moves, struct psc_error *reterr)
{
    struct psc_runner *r = g->r;
    bool decode = n_tokens == 1;
    struct psc_graph_key key = {
        .n_tokens = n_tokens, .n_out = 1, .n_ctx = r->n_ctx, .decode = decode,
        .explicit_span = r->request->kv_inputs == PSC_KV_SPAN, .kv_map = r->request->kv_inputs == PSC_KV_MAP,
        .fuse_qkv = r->fuse_qkv, .fuse_ffn = r->fuse_ffn, .kv_format = r->request->kv_format,
        .assignment = r->assignment, .weights_version = 1,
    };
    bool moved = false;
    enum psc_status status = psc_session_use(r->session, &key, build_cb, r, reterr);
    if (status == PSC_OK && moves)
        status = psc_run_move(r, &moved, reterr);
    return status == PSC_OK ? psc_run_check_plan(r, false, reterr) : status;
}

/* ---- inputs --------------------------------------------------------------------------------------------------- */

/* Positions, cells and windows of tokens [position, position + n): one sequence, which has the whole cache. Beyond n_ctx (with
 * a fault only) there are no cells: they are told as if there were. */
static enum psc_status place_tokens(struct going *g, const int32_t *tokens, uint32_t n, struct psc_error *reterr)
{
    struct psc_kv_runs *kv = &g->r->result->kv;
    struct psc_kv_batch batch = {.position = g->positions, .token = tokens, .token_n = n};
    bool beyond = g->position + (uint64_t)n > kv->cells.n;
    enum psc_status status = PSC_OK;
    memset(g->map, 0, (size_t)n * 2 * PSC_KV_MAP_RUNS * sizeof *g->map);
    for (uint32_t i = 0; i < n; i++) {
        g->positions[i] = g->cells[i] = (int32_t)(g->position + i);
        g->spans[i] = 0;
        g->spans[n + i] = g->map[(size_t)i * 2 * PSC_KV_MAP_RUNS + 1] = g->positions[i] + 1;
    }
    if (beyond)
        return PSC_OK;
    status = psc_kv_runs_reserve_implicit(kv, &batch, reterr);
    if (status == PSC_OK)
        status = psc_kv_runs_cells(kv, &batch, g->cells, reterr);
    if (status != PSC_OK)
        return status;
    psc_kv_runs_own(kv, &batch, g->cells);
    status = psc_kv_runs_spans(kv, &batch, g->spans, reterr);
    return status == PSC_OK ? psc_kv_runs_map(kv, &batch, PSC_KV_MAP_RUNS, g->map, reterr) : status;
}

/* The words of one input for the n tokens. False for an input that no model has. */
static bool input_words(const struct going *g, const char *name, const int32_t *tokens, uint32_t n, int32_t *to)
{
    if (!strcmp(name, "token_ids"))
        memcpy(to, tokens, n * sizeof *to);
    else if (!strcmp(name, "positions"))
        memcpy(to, g->positions, n * sizeof *to);
    else if (!strcmp(name, "cells"))
        memcpy(to, g->cells, n * sizeof *to);
    else if (!strcmp(name, "seq_ids"))
        memset(to, 0, n * sizeof *to);
    else if (!strcmp(name, "attn_span"))
        memcpy(to, g->spans, 2 * (size_t)n * sizeof *to);
    else if (!strcmp(name, "kv_map"))
        memcpy(to, g->map, (size_t)n * 2 * PSC_KV_MAP_RUNS * sizeof *to);
    else if (!strcmp(name, "tail_ids"))
        to[0] = (int32_t)n - 1;
    else
        return false;
    return true;
}

static enum psc_status fill_inputs(struct going *g, const int32_t *tokens, uint32_t n, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(g->r->session);
    bool no_tail = g->r->request->session.run_faults >> PSC_RUN_L17 & 1;
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; status == PSC_OK && k < graph->input_n; k++) {
        psc_node i = graph->inputs[k];
        const char *name = graph->nodes[i].name;
        if (no_tail && !strcmp(name, "tail_ids"))
            continue;
        if (!input_words(g, name, tokens, n, g->words))
            return psc_fail(reterr, PSC_ERR_GRAPH, "the graph has an input %.60s, which nobody knows how to fill", name);
        status = psc_run_fill(g->r, i, g->words, graph->nodes[i].elements, reterr);
    }
    return status;
}

/* ---- one forward ------------------------------------------------------------------------------------------------ */

static enum psc_status read_logits(struct going *g, struct psc_error *reterr)
{
    struct psc_runner *r = g->r;
    psc_node out = psc_session_graph(r->session)->outputs[0];
    enum psc_status status = psc_session_read(r->session, out, g->logits, g->vocab, reterr);
    if (status == PSC_OK && r->request->logits && !r->request->logits(r->request->ctx, g->step, g->logits, g->vocab))
        status = psc_fail(reterr, PSC_ERR_IO, "the logits of step %" PRIu32 " could not be written", g->step);
    return status;
}

/* The text of one token by itself, for the trace. */
static enum psc_status token_text(const struct psc_runner *r, int32_t token, struct psc_text *to, struct psc_error *reterr)
{
    size_t n = 0;
    const char *bytes = r->request->tokenizer ? psc_tokenizer_bytes(r->request->tokenizer, (uint32_t)token, &n) : NULL;
    if (bytes)
        psc_utf8_lossy(bytes, n, to);
    return to->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

/* Who has which cells now, by cell: runs do not overlap. */
static enum psc_status record_sequences(struct going *g, struct psc_error *reterr)
{
    const struct psc_kv_runs *kv = &g->r->result->kv;
    struct psc_kv_sequence list[PSC_KV_SEQS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < PSC_KV_SEQS_MAX; i++) {
        const struct psc_kv_run *run = &kv->run[i];
        if (!run->live)
            continue;
        uint32_t at = n++;
        for (; at > 0 && list[at - 1].start > run->start; at--)
            list[at] = list[at - 1];
        list[at] = (struct psc_kv_sequence){run->seq, run->start, run->cap, run->rows, run->shared_cell, run->shared_rows};
    }
    return psc_recorder_sequences(g->r->recorder, list, n, reterr);
}

/* is_decode: `tokens` is one token that was generated. */
static enum psc_status record_step(struct going *g, bool is_decode, int32_t token, struct psc_error *reterr)
{
    struct psc_logit top[PSC_LOGITS_TOP_N];
    struct psc_text text = {0};
    uint32_t top_n = 0;
    enum psc_status status = PSC_OK;
    if (!g->r->recorder)
        return PSC_OK;
    /* logits that are no numbers have no top five; the sampler says so */
    if (g->r->request->record.values && psc_logits_top(g->logits, g->vocab, top, &top_n, NULL) != PSC_OK)
        top_n = 0;
    if (is_decode)
        status = token_text(g->r, token, &text, reterr);
    if (status == PSC_OK)
        status = record_sequences(g, reterr);
    if (status == PSC_OK)
        status = psc_recorder_step(g->r->recorder, is_decode, token, psc_text_str(&text), top, top_n, reterr);
    psc_text_release(&text);
    return status;
}

static enum psc_status forward(struct going *g, const char *kind, const int32_t *tokens, uint32_t n,
                               struct psc_error *reterr)
{
    struct psc_runner *r = g->r;
    bool is_decode = kind[0] == 'd';
    enum psc_status status = use_graph(g, n, true, reterr);
    if (status == PSC_OK && r->recorder)
        status = psc_recorder_phase(r->recorder, kind, reterr);
    if (status == PSC_OK)
        status = place_tokens(g, tokens, n, reterr);
    if (status == PSC_OK)
        status = fill_inputs(g, tokens, n, reterr);
    if (status == PSC_OK)
        status = psc_run_execute(r, is_decode ? NULL : kind, &r->result->cancelled, reterr);
    if (status != PSC_OK || r->result->cancelled)
        return status;
    status = read_logits(g, reterr);
    if (status == PSC_OK)
        status = psc_run_arena_after(r, reterr);
    if (status == PSC_OK)
        status = record_step(g, is_decode, tokens[0], reterr);
    g->position += n;
    g->step++;
    return status;
}

/* ---- how far it may go ---------------------------------------------------------------------------------------------- */

struct reach { uint64_t prompt, generated; }; /* tokens of all prompts, of all answers */
static struct reach reach_of(const struct psc_run_request *q)
{
    struct reach r = {q->prompt_n, (uint64_t)q->n_predict * (q->turn_n + 1)};
    for (uint32_t i = 0; i < q->turn_n; i++)
        r.prompt += q->turns[i].n;
    r.generated -= r.generated > 0; /* the last one is not computed */
    return r;
}

/* Every position of the run has a row; `taken` of them are there already. */
static enum psc_status check_reach(const struct psc_runner *r, uint32_t taken, struct psc_error *reterr)
{
    const struct psc_run_request *q = r->request;
    struct reach reach = reach_of(q);
    uint64_t last = taken + reach.prompt + reach.generated; /* one past the last position */
    char before[48] = "";
    if (last <= r->n_ctx || q->session.run_faults >> PSC_RUN_L15 & 1)
        return PSC_OK;
    if (taken)
        snprintf(before, sizeof before, "%" PRIu32 " positions are taken, ", taken);
    return psc_fail(reterr, PSC_ERR_USAGE,
                    "%s%" PRIu64 " token%s of the prompt and %" PRIu64 " more reach position %" PRIu64 " at node %u (positions), n_ctx is %"
                    PRIu32 "%s", before, reach.prompt, reach.prompt == 1 ? "" : "s", (uint64_t)q->n_predict * (q->turn_n + 1), last - 1,
                    PSC_MODEL_POSITIONS, r->n_ctx,
                    taken ? "" : last <= q->model->hyper.n_ctx_max ? ": ask for a larger n_ctx" : ", and the model was made for no more");
}

/* ---- what was there before ---------------------------------------------------------------------------------------- */

/* The regions are there. Now it is known how many positions are taken. */
static enum psc_status load(struct going *g, struct psc_error *reterr)
{
    struct psc_runner *r = g->r;
    const struct psc_run_request *q = r->request;
    struct psc_kv_runs *kv = &r->result->kv;
    if (!q->load)
        return PSC_OK;
    enum psc_status status = q->load(q->load_ctx, r->session, kv, reterr);
    if (status != PSC_OK)
        return status;
    g->position = r->result->loaded_rows = psc_kv_runs_length(kv, 0);
    if (!psc_kv_runs_find(kv, 0))
        return psc_fail(reterr, PSC_ERR_USAGE, "the saved state has no sequence 0: there is nothing to go on with");
    if (q->kv_inputs == PSC_KV_POSITIONS && !psc_kv_runs_is_identity(kv))
        return psc_fail(reterr, PSC_ERR_USAGE,
                        "the saved rows are not one sequence from row 0 on: attention by positions would read other rows, "
                        "by spans or by maps (kv_inputs) it finds them");
    for (uint32_t c = 0; c < kv->cells.n; c++)
        if (kv->cells.cell[c].pending)
            return psc_fail(reterr, PSC_ERR_USAGE, "row %" PRIu32 " of the saved state still has to be turned by %" PRId32
                            " positions: it cannot be gone on with as it is", c, kv->cells.cell[c].pending);
    if (r->recorder && !psc_recorder_loaded(r->recorder, kv->cells.cell, kv->cells.n))
        return psc_fail_nomem(reterr);
    return check_reach(r, g->position, reterr);
}

/* ---- prefill and decode ------------------------------------------------------------------------------------------- */

/* known: of the tokens, generated before. */
static enum psc_status prefill(struct going *g, const int32_t *tokens, uint32_t token_n, uint32_t known, struct psc_error *reterr)
{
    const struct psc_run_request *q = g->r->request;
    struct psc_run_result *to = g->r->result;
    uint32_t chunk = q->chunk && q->chunk < token_n ? q->chunk : token_n;
    enum psc_status status = PSC_OK;
    double begin = psc_run_clock();
    for (uint32_t at = 0; status == PSC_OK && !to->cancelled && at < token_n; at += chunk) {
        uint32_t n = token_n - at < chunk ? token_n - at : chunk;
        status = use_graph(g, n, false, reterr);
        if (status == PSC_OK && !g->step)
            status = load(g, reterr);
        if (status == PSC_OK) /* chunks have about as many nodes each */
            g->r->total = (uint64_t)psc_session_graph(g->r->session)->n * ((token_n + chunk - 1) / chunk);
        if (status == PSC_OK)
            status = forward(g, "prefill", tokens + at, n, reterr);
        if (status == PSC_OK && !to->cancelled)
            to->prefill_tokens += at ? n : n - known;
    }
    to->prefill_seconds += psc_run_clock() - begin;
    for (uint32_t i = known; i < token_n && g->sampler; i++)
        psc_sampler_accept(g->sampler, (uint32_t)tokens[i]);
    return status;
}

static bool is_stop(const struct psc_run_request *q, uint32_t token)
{
    for (uint32_t i = 0; i < q->stop_n; i++)
        if (q->stop[i] == (int32_t)token)
            return true;
    return !q->ignore_stop && q->tokenizer && psc_tokenizer_is_stop(q->tokenizer, token);
}

static enum psc_status take_token(struct going *g, uint32_t token, struct psc_error *reterr)
{
    const struct psc_run_request *q = g->r->request;
    struct psc_run_result *to = g->r->result;
    size_t from = to->text.n, n = 0;
    if (!psc_grow(&to->tokens, (size_t)to->token_n + 1, &g->token_cap, sizeof *to->tokens))
        return psc_fail_nomem(reterr);
    to->tokens[to->token_n++] = (int32_t)token;
    psc_sampler_accept(g->sampler, token);
    const char *bytes = q->tokenizer ? psc_tokenizer_bytes(q->tokenizer, token, &n) : NULL;
    if (bytes)
        psc_utf8_stream_feed(&g->stream, bytes, n, &to->text);
    if (to->text.failed)
        return psc_fail_nomem(reterr);
    if (q->token)
        q->token(q->ctx, (int32_t)token, psc_text_str(&to->text) + from, to->text.n - from);
    if (q->progress)
        q->progress(q->ctx, "decode", to->token_n, (uint64_t)q->n_predict * (q->turn_n + 1));
    return PSC_OK;
}

static enum psc_status end_answer(struct going *g, uint32_t stop, struct psc_error *reterr)
{
    struct psc_run_result *to = g->r->result;
    if (!psc_grow(&to->ends, (size_t)to->end_n + 1, &g->end_cap, sizeof *to->ends))
        return psc_fail_nomem(reterr);
    to->ends[to->end_n++] = (struct psc_run_turn_end){to->token_n, to->stopped, (int32_t)stop};
    return PSC_OK;
}

static enum psc_status decode(struct going *g, struct psc_error *reterr)
{
    const struct psc_run_request *q = g->r->request;
    struct psc_run_result *to = g->r->result;
    const struct psc_run_turn_end *until = to->end_n < q->forced_end_n ? &q->forced_ends[to->end_n] : NULL;
    uint64_t end = until ? until->token_n : to->token_n + (uint64_t)q->n_predict;
    enum psc_status status = PSC_OK;
    uint32_t token = 0;
    to->stopped = false;
    while (status == PSC_OK && !to->cancelled) {
        bool forced = to->token_n < q->forced_n;
        if (to->token_n == end) {
            to->stopped = until && until->stopped;
            token = to->stopped ? (uint32_t)until->stop : token;
            break;
        }
        if (forced)
            token = (uint32_t)q->forced[to->token_n];
        else
            status = psc_sampler_next(g->sampler, g->logits, &token, reterr);
        if (status != PSC_OK)
            break;
        to->stopped = !until && !forced && is_stop(q, token);
        if (to->stopped)
            break;
        status = take_token(g, token, reterr);
        to->cancelled = to->cancelled || (q->cancelled && q->cancelled(q->ctx));
        if (status != PSC_OK || to->cancelled || (to->token_n == end && !(until && until->stopped)))
            break;
        double begin = psc_run_clock();
        status = forward(g, "decode", &to->tokens[to->token_n - 1], 1, reterr);
        to->decode_seconds += psc_run_clock() - begin;
    }
    size_t from = to->text.n;
    psc_utf8_stream_end(&g->stream, &to->text);
    if (q->token && to->text.n > from)
        q->token(q->ctx, -1, psc_text_str(&to->text) + from, to->text.n - from);
    if (status == PSC_OK && to->text.failed)
        status = psc_fail_nomem(reterr);
    return status == PSC_OK && !to->cancelled ? end_answer(g, token, reterr) : status;
}

/* A further prompt, on a line of its own. */
static enum psc_status take_turn(struct going *g, const struct psc_run_turn *turn, struct psc_error *reterr)
{
    const struct psc_run_request *q = g->r->request;
    struct psc_run_result *to = g->r->result;
    const struct psc_run_turn_end *before = &to->ends[to->end_n - 1];
    bool generated = !before->stopped && q->n_predict;
    uint32_t n = 0;
    if (before->stopped)
        g->turn[n++] = before->stop;
    else if (generated)
        g->turn[n++] = to->tokens[to->token_n - 1];
    memcpy(g->turn + n, turn->tokens, turn->n * sizeof *turn->tokens);
    psc_text_add(&to->text, "\n");
    if (to->text.failed)
        return psc_fail_nomem(reterr);
    if (q->token)
        q->token(q->ctx, -1, "\n", 1);
    enum psc_status status = prefill(g, g->turn, n + turn->n, generated, reterr);
    return status == PSC_OK && !to->cancelled ? decode(g, reterr) : status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static enum psc_status check_request(const struct psc_runner *r, struct psc_error *reterr)
{
    const struct psc_run_request *q = r->request;
    uint32_t vocab = q->model->hyper.n_vocab;
    if (!q->prompt_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "the prompt has no token; a model needs at least one");
    for (uint32_t i = 0; i < q->prompt_n; i++)
        if (q->prompt[i] < 0 || (uint32_t)q->prompt[i] >= vocab)
            return psc_fail(reterr, PSC_ERR_USAGE, "token %" PRIu32 " of the prompt is %" PRId32 "; the model knows 0 to %" PRIu32,
                            i, q->prompt[i], vocab - 1);
    for (uint32_t t = 0; t < q->turn_n; t++)
        for (uint32_t i = 0; i < q->turns[t].n || !q->turns[t].n; i++)
            if (!q->turns[t].n)
                return psc_fail(reterr, PSC_ERR_USAGE, "prompt %" PRIu32 " has no token", t + 2);
            else if (q->turns[t].tokens[i] < 0 || (uint32_t)q->turns[t].tokens[i] >= vocab)
                return psc_fail(reterr, PSC_ERR_USAGE, "token %" PRIu32 " of prompt %" PRIu32 " is %" PRId32 "; the model knows 0 to %"
                                PRIu32, i, t + 2, q->turns[t].tokens[i], vocab - 1);
    for (uint32_t i = 0; i < q->forced_n; i++)
        if (q->forced[i] < 0 || (uint32_t)q->forced[i] >= vocab)
            return psc_fail(reterr, PSC_ERR_USAGE, "forced token %" PRIu32 " is %" PRId32 "; the model knows 0 to %" PRIu32, i,
                            q->forced[i], vocab - 1);
    return check_reach(r, 0, reterr);
}

static enum psc_status make_room(struct going *g, struct psc_error *reterr)
{
    struct psc_runner *r = g->r;
    const struct psc_run_request *q = r->request;
    struct psc_sampling sampling = q->sampling;
    if (sampling.top_p == 0)
        sampling.top_p = 1;
    if (sampling.repeat_penalty == 0)
        sampling.repeat_penalty = 1;
    g->vocab = q->model->hyper.n_vocab;
    uint32_t most = q->prompt_n; /* tokens of one forward */
    for (uint32_t i = 0; i < q->turn_n; i++)
        most = q->turns[i].n >= most ? q->turns[i].n + 1 : most;
    g->turn = psc_arena_alloc(&r->arena, most, sizeof *g->turn);
    g->words = psc_arena_alloc(&r->arena, (size_t)most * 2 * PSC_KV_MAP_RUNS, sizeof *g->words);
    g->positions = psc_arena_alloc(&r->arena, most, sizeof *g->positions);
    g->cells = psc_arena_alloc(&r->arena, most, sizeof *g->cells);
    g->spans = psc_arena_alloc(&r->arena, most, 2 * sizeof *g->spans);
    g->map = psc_arena_alloc(&r->arena, most, 2 * PSC_KV_MAP_RUNS * sizeof *g->map);
    g->logits = psc_alloc0(g->vocab, sizeof *g->logits);
    r->result->logits = g->logits;
    r->result->logit_n = g->vocab;
    if (!g->turn || !g->words || !g->positions || !g->cells || !g->spans || !g->map || !g->logits)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_kv_runs_init(&r->result->kv, r->n_ctx, reterr);
    if (status != PSC_OK)
        return status;
    return psc_sampler_new(&sampling, g->vocab, &g->sampler, reterr);
}

enum psc_status psc_run_model(struct psc_runner *r, struct psc_error *reterr)
{
    struct going g = {.r = r};
    enum psc_status status = check_request(r, reterr);
    if (status == PSC_OK)
        status = make_room(&g, reterr);
    if (status == PSC_OK)
        status = prefill(&g, r->request->prompt, r->request->prompt_n, 0, reterr);
    if (status == PSC_OK && !r->result->cancelled)
        status = decode(&g, reterr);
    for (uint32_t i = 0; status == PSC_OK && !r->result->cancelled && i < r->request->turn_n; i++)
        status = take_turn(&g, &r->request->turns[i], reterr);
    psc_sampler_free(g.sampler);
    return status;
}
