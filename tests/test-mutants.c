/* Clean plans with one fault put in, for every planner: all that are wrong are reported, with step, tensors and bytes.
 *
 * Three opinions say which are wrong: the checker, naive_check over the same story, and, for plans of one backend,
 * naive_run, which knows graph and places only. They must agree line by line. A mutant in which nothing goes wrong (the
 * bytes were free, the op may overwrite that operand too) is harmless: counted, and no finding may stand there.
 */
#include "core/base/hash.h"
#include "core/debug/check.h"
#include "core/debug/explain.h"
#include "core/plan/plan.h"
#include "tests/naive-check.h"
#include "tests/naive-run.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

enum { MUTANTS = 40, WRONG = 8, ROUNDS = 6000, TRIES = 40 }; /* of each planner and fault: at least; at most; of a choice */

enum fault { MOVED, SHORT_LIFE, DROPPED_ALIAS, WRONG_OPERAND, UNREAD_RESULT, OTHER_EDGES, OTHER_OUTPUTS, OTHER_TOKENS, FAULT_N };
static const char *const fault_names[] = {
    "moved-offset", "shortened-life", "dropped-alias", "wrong-operand-in-place", "unread-result", "stale-other-edges",
    "stale-other-outputs", "stale-other-token-count",
};

/* What the planner was told instead of the graph that is executed. */
struct edit {
    psc_node reader, root, instead; /* operands of `reader` that show `root` are `instead` */
    psc_node apart;                 /* a view that is an op of its own */
    psc_node unmarked;              /* an output that is none */
    uint64_t scale;                 /* of every width */
};
static const struct edit no_edit = {PSC_NONE, PSC_NONE, PSC_NONE, PSC_NONE, PSC_NONE, 1};

struct mutant {
    struct psc_arena *arena;
    uint64_t *seed;
    const struct psc_planner *planner;
    struct psc_plan_options options;
    struct psc_graph *graph; /* that is executed */
    struct psc_foreign foreign;
};
struct tally { unsigned wrong, refused, harmless; };

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    return n ? (uint32_t)(psc_random_next(seed) % n) : 0;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void copy_node(struct psc_builder *b, const struct psc_graph *g, psc_node i, const struct edit *edit)
{
    const struct psc_node_info *node = &g->nodes[i];
    struct psc_params params = *node->params;
    psc_node src[8];
    uint64_t shape[4] = {node->shape[0] * edit->scale, node->shape[1], node->shape[2], node->shape[3]};
    psc_builder_set_backend(b, node->backend == PSC_BACKEND_NONE ? NULL : g->backends[node->backend]);
    psc_builder_set_layer(b, node->layer);
    if (node->op == PSC_OP_INPUT) {
        psc_builder_input(b, node->name, node->dtype, shape[0], shape[1]);
        return;
    }
    g_assert_cmpuint(node->src_n, <=, G_N_ELEMENTS(src));
    for (uint32_t k = 0; k < node->src_n; k++) {
        src[k] = psc_node_srcs(g, i)[k];
        if (i == edit->reader && g->nodes[src[k]].root == edit->root)
            src[k] = edit->instead;
    }
    params.view_offset *= edit->scale;
    psc_builder_node(b, node->name, i == edit->apart ? PSC_OP_MATMUL : node->op, src, node->src_n, node->dtype, shape,
                     i == edit->apart ? NULL : &params);
}

static struct psc_graph *edited(struct psc_arena *arena, const struct psc_graph *g, const struct edit *edit)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *copy = NULL;
    struct psc_error error = {0};
    for (psc_node i = 0; i < g->n; i++)
        copy_node(b, g, i, edit);
    for (uint32_t k = 0; k < g->output_n; k++)
        if (g->outputs[k] != edit->unmarked)
            psc_builder_output(b, g->outputs[k]);
    if (psc_builder_finish(b, arena, &copy, &error))
        g_error("%s", error.text);
    psc_builder_free(b);
    g_assert_cmpuint(copy->n, ==, g->n);
    return copy;
}

static bool is_kv(const struct psc_graph *g, psc_node i)
{
    return psc_op_info(g->nodes[i].op)->is_kv || psc_op_info(g->nodes[i].op)->stores_kv;
}

static bool is_filled(const struct psc_graph *g, psc_node i)
{
    return g->nodes[i].is_input || g->nodes[i].op == PSC_OP_INPUT;
}

/* Another tensor of the same shape that stands before `reader`; PSC_NONE when none was met. */
static psc_node find_like(const struct psc_graph *g, psc_node one, psc_node reader, uint64_t *seed)
{
    for (int tries = 0; tries < TRIES; tries++) {
        psc_node i = pick(seed, reader);
        const struct psc_node_info *a = &g->nodes[i], *b = &g->nodes[one];
        if (a->root != b->root && !memcmp(a->shape, b->shape, sizeof a->shape) && a->dtype == b->dtype && a->bytes &&
            !is_kv(g, i) && (g->nodes[reader].parent == PSC_NONE || a->backend == b->backend))
            return i;
    }
    return PSC_NONE;
}

/* The last node that reads any of the root's bytes; PSC_NONE when nobody does. */
static psc_node last_reader(const struct psc_graph *g, psc_node root, uint32_t *ret_operand)
{
    for (psc_node i = g->n; i-- > 0;)
        for (uint32_t k = 0; k < g->nodes[i].src_n && g->nodes[i].parent == PSC_NONE; k++)
            if (g->nodes[psc_node_srcs(g, i)[k]].root == root) {
                *ret_operand = k;
                return i;
            }
    return PSC_NONE;
}

static bool is_read_before(const struct psc_graph *g, psc_node root, psc_node reader)
{
    for (psc_node i = 0; i < reader; i++)
        for (uint32_t k = 0; k < g->nodes[i].src_n && g->nodes[i].parent == PSC_NONE; k++)
            if (g->nodes[psc_node_srcs(g, i)[k]].root == root)
                return true;
    return false;
}

/* Takes a life's last read away from what the planner sees, or any operand of any node. */
static bool edit_read(const struct psc_graph *g, bool last, struct edit *edit, uint64_t *seed)
{
    for (int tries = 0; tries < TRIES; tries++) {
        psc_node root = pick(seed, g->n), reader = pick(seed, g->n);
        uint32_t k = 0;
        if (last) {
            if (g->nodes[root].root != root || is_filled(g, root) || !g->nodes[root].bytes)
                continue;
            reader = last_reader(g, root, &k);
        } else if (g->nodes[reader].src_n) {
            k = pick(seed, g->nodes[reader].src_n);
            root = g->nodes[psc_node_srcs(g, reader)[k]].root;
        }
        if (reader == PSC_NONE || !g->nodes[reader].src_n || is_kv(g, reader) || is_kv(g, root) ||
            (last && !is_read_before(g, root, reader)))
            continue;
        edit->instead = find_like(g, psc_node_srcs(g, reader)[k], reader, seed);
        edit->reader = reader;
        edit->root = root;
        /* another operand that shows the root would be of another shape, perhaps */
        for (uint32_t o = 0; o < g->nodes[reader].src_n; o++) {
            psc_node src = psc_node_srcs(g, reader)[o], one = psc_node_srcs(g, reader)[k];
            if (g->nodes[src].root == root && memcmp(g->nodes[src].shape, g->nodes[one].shape, sizeof g->nodes[src].shape))
                edit->instead = PSC_NONE;
        }
        if (edit->instead != PSC_NONE)
            return true;
    }
    return false;
}

static psc_node find_view(const struct psc_graph *g, uint64_t *seed)
{
    for (int tries = 0; tries < TRIES; tries++) {
        psc_node i = pick(seed, g->n);
        if (g->nodes[i].parent != PSC_NONE && g->nodes[i].bytes && !is_filled(g, g->nodes[i].root) &&
            !is_kv(g, g->nodes[i].root) && (g->nodes[i].reader_n || g->nodes[i].is_output))
            return i;
    }
    return PSC_NONE;
}

static bool edit_graph(const struct psc_graph *g, enum fault fault, struct edit *edit, uint64_t *seed)
{
    *edit = no_edit;
    switch (fault) {
    case SHORT_LIFE:
    case OTHER_EDGES:
        return edit_read(g, fault == SHORT_LIFE, edit, seed);
    case DROPPED_ALIAS:
        return (edit->apart = find_view(g, seed)) != PSC_NONE;
    case OTHER_OUTPUTS:
        edit->unmarked = g->outputs[pick(seed, g->output_n)];
        return g->output_n > 1 && !is_filled(g, g->nodes[edit->unmarked].root) &&
               (pick(seed, 8) == 0 || g->nodes[edit->unmarked].reader_n);
    default:
        return true;
    }
}

/* ---- plans --------------------------------------------------------------------------------------------------------- */

static struct psc_plan *plan_of(const struct mutant *m, const struct psc_graph *g)
{
    struct psc_plan *plan = NULL;
    struct psc_error error = {0};
    if (m->planner->plan(m->arena, g, &m->options, &plan, &error))
        g_error("%s: %s", m->planner->name, error.text);
    return plan;
}

/* The places that a planner gave to its own graph, for the graph that is executed. Views lie in their roots. */
static void take_places(struct mutant *m, const struct psc_plan *plan)
{
    uint32_t n = m->graph->n;
    struct psc_foreign_place *places = psc_arena_alloc(m->arena, n, sizeof *places);
    struct psc_foreign_buffer *buffers = psc_arena_alloc(m->arena, plan->buffer_n, sizeof *buffers);
    m->foreign = (struct psc_foreign){.places = places, .buffers = buffers, .buffer_n = plan->buffer_n};
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        char name[16];
        g_snprintf(name, sizeof name, "p%u", b);
        buffers[b] = (struct psc_foreign_buffer){psc_arena_strdup(m->arena, name), NULL, NULL, plan->buffers[b].bytes};
    }
    for (psc_node i = 0; i < n; i++) {
        const struct psc_place *p = &plan->places[i];
        if (p->buffer != PSC_NONE && m->graph->nodes[i].parent == PSC_NONE && p->reason != PSC_WHY_REGION)
            places[m->foreign.place_n++] = (struct psc_foreign_place){i, buffers[p->buffer].id, p->offset};
    }
}

static struct psc_foreign_place *place_of(const struct mutant *m, psc_node i)
{
    struct psc_foreign_place *places = (struct psc_foreign_place *)m->foreign.places;
    for (uint32_t k = 0; k < m->foreign.place_n; k++)
        if (places[k].node_id == i)
            return &places[k];
    return NULL;
}

static bool move(struct mutant *m)
{
    struct psc_foreign_place *places = (struct psc_foreign_place *)m->foreign.places;
    struct psc_foreign_place *a = &places[pick(m->seed, m->foreign.place_n)], *b = &places[pick(m->seed, m->foreign.place_n)];
    if (m->foreign.place_n < 2 || a == b)
        return false;
    if (pick(m->seed, 3)) { /* to where another tensor lies, or near */
        a->buffer = b->buffer;
        a->offset = b->offset + (pick(m->seed, 2) ? 4 * pick(m->seed, 16) : 0);
    } else {
        a->offset += 4 * (1 + pick(m->seed, 16));
    }
    return true;
}

static bool take_operand(struct mutant *m)
{
    for (int tries = 0; tries < TRIES; tries++) {
        psc_node i = pick(m->seed, m->graph->n);
        const struct psc_node_info *node = &m->graph->nodes[i];
        if (!node->src_n)
            continue;
        psc_node from = psc_node_srcs(m->graph, i)[pick(m->seed, node->src_n)], root = m->graph->nodes[from].root;
        struct psc_foreign_place *a = place_of(m, i), *b = place_of(m, root);
        uint64_t at = b ? b->offset + m->graph->nodes[from].root_offset : 0;
        if (!a || !b || node->backend != m->graph->nodes[root].backend || (a->buffer == b->buffer && a->offset == at))
            continue;
        a->buffer = b->buffer;
        a->offset = at;
        return true;
    }
    return false;
}

/* A node that nobody reads runs all the same, in bytes that were taken for free. */
static bool run_unread(struct mutant *m)
{
    struct psc_foreign_place *places = (struct psc_foreign_place *)m->foreign.places;
    for (int tries = 0; tries < TRIES; tries++) {
        psc_node i = pick(m->seed, m->graph->n);
        const struct psc_node_info *node = &m->graph->nodes[i];
        if (node->reader_n || node->is_output || node->parent != PSC_NONE || !node->bytes || is_filled(m->graph, i) ||
            is_kv(m->graph, i) || place_of(m, i) || !m->foreign.place_n || m->foreign.place_n >= m->graph->n)
            continue;
        struct psc_foreign_place over = places[pick(m->seed, m->foreign.place_n)];
        over.node_id = i;
        places[m->foreign.place_n++] = over;
        return true;
    }
    return false;
}

static bool can_run(const struct psc_graph *g)
{
    for (psc_node i = 0; i < g->n; i++)
        if (is_kv(g, i) || psc_op_info(g->nodes[i].op)->loads_kv)
            return false;
    return g->backend_n == 1;
}

/* ---- in small ----------------------------------------------------------------------------------------------------------- */

struct small {
    struct psc_builder *b;
    psc_node now[64];                 /* of each old node, PSC_NONE */
    struct psc_foreign_place places[64];
    struct psc_foreign foreign;
};

static psc_node small_input(struct small *s, struct psc_arena *arena, const struct psc_node_info *node, const char *buffer,
                            uint64_t offset)
{
    char own[16];
    psc_node i = psc_builder_input(s->b, node->name, node->dtype, node->elements, 1);
    g_snprintf(own, sizeof own, "x%u", i);
    s->places[s->foreign.place_n++] = (struct psc_foreign_place){i, buffer ? buffer : psc_arena_strdup(arena, own), offset};
    return i;
}

static void small_node(struct small *s, struct psc_arena *arena, const struct psc_graph *g, const struct psc_plan *plan, psc_node i)
{
    const struct psc_node_info *node = &g->nodes[i];
    const struct psc_place *place = &plan->places[i];
    const char *buffer = s->foreign.buffers[place->buffer].id;
    psc_node src[8];
    if (node->op == PSC_OP_INPUT) {
        s->now[i] = small_input(s, arena, node, buffer, place->offset);
        return;
    }
    for (uint32_t k = 0; k < node->src_n; k++) { /* what is not among the nodes is an input elsewhere */
        psc_node from = psc_node_srcs(g, i)[k];
        if (s->now[from] == PSC_NONE)
            s->now[from] = small_input(s, arena, &g->nodes[from], NULL, 0);
        src[k] = s->now[from];
    }
    s->now[i] = psc_builder_node(s->b, node->name, node->op, src, node->src_n, node->dtype, node->shape, node->params);
    if (place->reason != PSC_WHY_VIEW)
        s->places[s->foreign.place_n++] = (struct psc_foreign_place){s->now[i], buffer, place->offset};
}

/* The nodes that a finding names are enough: alone, at the same places, they go wrong in the same bytes. */
static void assert_small(const struct psc_graph *g, const struct psc_plan *plan, const struct psc_analysis *a,
                         const struct psc_finding *f)
{
    struct psc_arena arena = {0};
    struct small s = {.b = psc_builder_new()};
    struct psc_graph *small = NULL;
    struct psc_plan *at = NULL;
    struct psc_story *story = NULL;
    struct psc_check check;
    struct psc_error error = {0};
    psc_node nodes[PSC_FINDING_NODES];
    uint32_t n = psc_finding_nodes(a, f, nodes, PSC_FINDING_NODES), found = 0;
    struct psc_foreign_buffer *buffers = psc_arena_alloc(&arena, plan->buffer_n, sizeof *buffers);
    memset(s.now, 0xff, sizeof s.now);
    g_assert_cmpuint(g->n, <=, G_N_ELEMENTS(s.now));
    for (uint32_t b = 0; b < plan->buffer_n; b++)
        buffers[b] = (struct psc_foreign_buffer){g_intern_string(plan->buffers[b].name), NULL, NULL, plan->buffers[b].bytes};
    s.foreign = (struct psc_foreign){.places = s.places, .buffers = buffers, .buffer_n = plan->buffer_n};
    for (uint32_t k = 0; k < n; k++)
        small_node(&s, &arena, g, plan, nodes[k]);
    for (uint32_t k = 0; f->reader_kind == PSC_READER_EXPORT && k < n; k++)
        if (g->nodes[nodes[k]].is_output && nodes[k] != f->writer)
            psc_builder_output(s.b, s.now[nodes[k]]);
    if (psc_builder_finish(s.b, &arena, &small, &error) || psc_plan_from_foreign(&arena, small, &s.foreign, &at, &error) ||
        psc_plan_lower(&arena, small, at, &story, &error) || psc_check_story(&arena, small, story, &check, &error))
        g_error("%s", error.text);
    for (uint32_t k = 0; k < check.finding_n; k++) {
        const struct psc_finding *o = &check.findings[k];
        found += o->victim == s.now[f->victim] && o->writer == s.now[f->writer] && o->reader_kind == f->reader_kind &&
                 o->reader == (f->reader == PSC_NONE ? PSC_NONE : s.now[f->reader]) && o->lo <= f->lo && f->hi <= o->hi;
    }
    if (found != 1) {
        struct psc_text text = {0};
        psc_explain_finding(&text, a, f);
        for (uint32_t k = 0; k < n; k++) {
            psc_text_add(&text, "\n");
            psc_explain_finding_node(&text, a, nodes[k]);
        }
        g_error("%u findings in small, %u of them it: %s", check.finding_n, found, psc_text_str(&text));
    }
    psc_builder_free(s.b);
    psc_arena_release(&arena);
}

/* ---- opinions -------------------------------------------------------------------------------------------------------- */

static bool has_node(const char *text, psc_node node)
{
    char *name = g_strdup_printf("#%u ", node);
    bool there = strstr(text, name) != NULL;
    g_free(name);
    return there;
}

/* Step, both tensors and the bytes, in the finding and in what is said of it. */
static void assert_told(struct psc_graph *g, struct psc_plan *plan, struct psc_story *story, const struct psc_finding *f)
{
    struct psc_phase phase = {.graph = g};
    struct psc_analysis a = {.phase = &phase, .plan = plan, .story = story};
    struct psc_text text = {0};
    char *range = g_strdup_printf("[%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ")", f->lo, f->hi);
    g_assert_cmpuint(f->lo, <, f->hi);
    g_assert_cmpuint(f->buffer, <, story->buffer_n);
    g_assert_cmpint(f->position, >=, -1);
    g_assert_cmpint(f->position, <=, (int)g->n);
    g_assert_cmpuint(f->victim_value, <, story->value_n);
    g_assert_cmpint(f->writer_value == PSC_NONE, ==, f->write_event == PSC_NONE);
    psc_explain_finding(&text, &a, f);
    psc_text_add(&text, " ");
    psc_explain_finding_more(&text, &a, f);
    const char *said = psc_text_str(&text);
    if (!strstr(said, range) || (f->victim < g->n && !has_node(said, f->victim)) ||
        (f->writer < g->n && !has_node(said, f->writer)) || !strstr(said, story->buffers[f->buffer].name) ||
        (f->write_event != PSC_NONE && f->position >= 0 && !strstr(said, " at op ")))
        g_error("victim #%u, writer #%u, bytes %s: %s", f->victim, f->writer, range, said);
    if (can_run(g) && f->writer != PSC_NONE)
        assert_small(g, plan, &a, f);
    g_free(range);
    psc_text_release(&text);
}

static char *checked(struct psc_arena *arena, struct psc_graph *g, struct psc_plan *plan, struct psc_story *story)
{
    struct naive_lines *lines = naive_lines_new();
    struct psc_check check;
    struct psc_error error = {0};
    if (psc_story_check(story, &error) || psc_check_story(arena, g, story, &check, &error))
        g_error("%s", error.text);
    for (uint32_t i = 0; i < check.finding_n; i++) {
        const struct psc_finding *f = &check.findings[i];
        naive_lines_add(lines, f->victim_value, f->buffer, f->lo, f->hi, f->writer_value, psc_reader_name(f->reader_kind),
                        f->reader);
        assert_told(g, plan, story, f);
    }
    return naive_lines_end(lines);
}

/* Whether anything goes wrong; all opinions agree on what. */
static bool is_wrong(struct psc_arena *arena, struct psc_graph *g, struct psc_plan *plan)
{
    struct psc_story *story = NULL;
    struct psc_error error = {0};
    if (psc_plan_lower(arena, g, plan, &story, &error))
        g_error("%s", error.text);
    char *said = checked(arena, g, plan, story), *naive = naive_check(g, story);
    bool wrong = *said != '\0';
    g_assert_cmpstr(said, ==, naive);
    if (can_run(g)) {
        char *happened = naive_run(g, plan);
        g_assert_cmpstr(said, ==, happened);
        g_free(happened);
    }
    g_free(said);
    g_free(naive);
    return wrong;
}

/* ---- mutants ----------------------------------------------------------------------------------------------------------- */

static struct psc_graph *graph_of(struct psc_arena *arena, uint64_t seed, unsigned round)
{
    struct random_graph_options shape = {
        .nodes = 14 + round % 12, .backends = round % 3 ? 1 : 3, .views = true, .repeats = true, .output_views = true,
        .dead = true, .empty = true, .late_inputs = true, .in_place = true, .concat = true,
        .middle_outputs = round % 2, .input_outputs = true, .kv = round % 6 == 0, .narrow = true,
    };
    return random_graph(arena, seed, &shape);
}

static struct psc_plan_options options_of(uint64_t *seed)
{
    struct psc_plan_options options = psc_plan_defaults;
    options.mode = PSC_MODE_HARDENED;
    options.size = (enum psc_size)pick(seed, PSC_SIZE_N);
    options.slots = (enum psc_slots)pick(seed, PSC_SLOTS_N);
    options.align = pick(seed, 3) ? 0 : 64;
    options.apart = pick(seed, 4) == 0;
    options.generation = pick(seed, 2) ? PSC_GEN_ARENA : PSC_GEN_HARDENED; /* of candela, the two without known holes */
    options.budget.work = 1000;
    return options;
}

/* false: this graph has no place for the fault. */
static bool make(struct mutant *m, enum fault fault, const struct psc_graph *g)
{
    struct edit edit = no_edit, larger = no_edit;
    larger.scale = 2;
    if (!edit_graph(g, fault, &edit, m->seed))
        return false;
    if (fault == OTHER_TOKENS && !can_run(g)) /* regions have a size of their own */
        return false;
    struct psc_graph *seen = edited(m->arena, g, &edit);
    struct psc_plan *plan = plan_of(m, seen);
    g_assert_false(is_wrong(m->arena, seen, plan)); /* clean as long as the planner was told the truth */
    m->graph = edited(m->arena, g, fault == OTHER_TOKENS ? &larger : &no_edit);
    take_places(m, plan);
    return fault == MOVED ? move(m) : fault == WRONG_OPERAND ? take_operand(m) : fault != UNREAD_RESULT || run_unread(m);
}

static void judge(struct mutant *m, struct tally *tally)
{
    struct psc_plan *plan = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_plan_from_foreign(m->arena, m->graph, &m->foreign, &plan, &error);
    if (status) { /* told before anything runs: who has no place, and who would read it */
        g_assert_cmpint(status, ==, PSC_ERR_PLAN);
        g_assert_nonnull(strstr(error.text, "has no placement in the plan"));
        tally->refused++;
    } else if (is_wrong(m->arena, m->graph, plan)) {
        tally->wrong++;
    } else {
        tally->harmless++;
    }
}

/* The naive planner shares no bytes: what it believes of lives does no harm, a result that it thinks unread is refused. */
static bool can_harm(const struct psc_planner *planner, int fault)
{
    bool believed = fault == SHORT_LIFE || fault == DROPPED_ALIAS || fault == OTHER_EDGES || fault == OTHER_OUTPUTS;
    return !believed || strcmp(planner->name, "naive");
}

static void test_planner(gconstpointer data)
{
    const struct psc_planner *planner = data;
    guint64 seed = test_seed();
    for (int fault = 0; fault < FAULT_N; fault++) {
        struct tally tally = {0};
        unsigned made = 0, round = 0;
        for (; made < MUTANTS || (can_harm(planner, fault) && tally.wrong < WRONG); round++) {
            uint64_t state = seed + 10000u * (unsigned)fault + round;
            struct psc_arena arena = {0};
            struct psc_graph *g = graph_of(&arena, state, round);
            struct mutant m = {.arena = &arena, .seed = &state, .planner = planner, .options = options_of(&state)};
            if (make(&m, (enum fault)fault, g)) {
                judge(&m, &tally);
                made++;
            }
            psc_arena_release(&arena);
            g_assert_cmpuint(round, <, ROUNDS);
        }
        g_test_message("%-23s seeds %" G_GUINT64_FORMAT " + %d .. %d: %u wrong, all reported; %u refused; %u harmless",
                       fault_names[fault], seed, 10000 * fault, 10000 * fault + (int)round - 1, tally.wrong, tally.refused,
                       tally.harmless);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (const struct psc_planner *planner = psc_planners; planner->name; planner++) {
        char *path = g_strdup_printf("/core/mutants/%s", planner->name);
        g_test_add_data_func(path, planner, test_planner);
        g_free(path);
    }
    return g_test_run();
}
