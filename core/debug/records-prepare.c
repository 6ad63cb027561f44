#include "core/debug/records-prepare.h"

#include "core/base/hash.h"
#include "core/debug/fit.h"
#include "core/plan/plan.h"
#include "core/plan/sizes.h"

#include <string.h>

/* Filled while preparing; the public struct holds the same arrays as const. */
struct draft {
    struct psc_records *r;
    struct psc_arena *arena;
    const struct psc_phase *phase;
    const struct psc_graph *graph;
};

static bool says(const char *name, const char *word)
{
    for (; *name && *word; name++, word++)
        if ((*name | 0x20) != *word)
            return false;
    return !*name && !*word;
}

static enum psc_moment moment_of_backend(const struct draft *d, psc_node node)
{
    const char *name = psc_node_backend_name(d->graph, node);
    if (says(name, "metal"))
        name = d->phase->true_backend ? d->phase->true_backend : name;
    if (says(name, "metal"))
        return PSC_MOMENT_SPLIT;
    return says(name, "cpu") || says(name, "cuda") ? PSC_MOMENT_NODE : PSC_MOMENT_EITHER;
}

/* Returns whether any value was (or may have been) read late; memory is checked by the caller. */
static bool find_moments(const struct draft *d, uint8_t *moment)
{
    bool late = false;
    for (uint32_t i = 0; i < d->graph->n; i++) {
        const struct psc_node_info *node = &d->graph->nodes[i];
        moment[i] = PSC_MOMENT_NODE;
        if (node->is_input || psc_op_info(node->op)->is_kv || d->phase->capture == PSC_CAPTURE_NODE)
            continue;
        moment[i] =
            (uint8_t)(d->phase->capture == PSC_CAPTURE_SPLIT ? PSC_MOMENT_SPLIT : moment_of_backend(d, i));
        late = late || moment[i] != PSC_MOMENT_NODE;
    }
    return late;
}

static bool find_viewed(const struct draft *d)
{
    bool *viewed = psc_arena_alloc0(d->arena, d->graph->n, sizeof *viewed);
    if (!viewed)
        return false;
    for (uint32_t i = 0; i < d->graph->n; i++)
        if (d->graph->nodes[i].root != i)
            viewed[d->graph->nodes[i].root] = true;
    d->r->viewed = viewed;
    return true;
}

static bool takes_buffer(const struct psc_graph *graph, psc_node i)
{
    const struct psc_node_info *node = &graph->nodes[i];
    return node->root == i && node->bytes && !node->is_input && !psc_op_info(node->op)->is_kv &&
           (node->reader_n || node->is_output);
}

/* A node that may run in place over a tensor that has windows, and one that may run in place over that node:
 * others write to its bytes through those windows, and its buffer may be of another class. */
static bool find_lodgers(const struct draft *d)
{
    const struct psc_node_info *nodes = d->graph->nodes;
    bool *lodges = psc_arena_alloc0(d->arena, d->graph->n, sizeof *lodges);
    if (!lodges)
        return false;
    for (uint32_t i = 0; i < d->graph->n; i++) {
        const psc_node *src = psc_node_srcs(d->graph, i);
        for (uint32_t k = 0; k < nodes[i].src_n && k < 32; k++) {
            psc_node root = nodes[src[k]].root;
            if (psc_op_info(nodes[i].op)->upstream_alias >> k & 1)
                lodges[i] = lodges[i] || lodges[root] || d->r->viewed[root];
        }
    }
    d->r->lodges = lodges;
    return true;
}

/* Numbers the classes, then counts from the last position back. */
static bool find_rivals(const struct draft *d, const psc_node *order)
{
    struct tally {
        uint32_t n;
        uint64_t least, most;
    };
    uint32_t n = d->graph->n;
    struct psc_map classes = {0};
    struct psc_arena_mark mark;
    uint32_t *class_of = psc_arena_alloc(d->arena, n, sizeof *class_of);
    uint32_t *rivals = psc_arena_alloc0(d->arena, n, sizeof *rivals);
    bool *alike = psc_arena_alloc0(d->arena, n, sizeof *alike);
    bool done = class_of && rivals && alike;
    for (uint32_t i = 0; done && i < n; i++) {
        uint32_t old;
        class_of[i] = PSC_NONE;
        if (!takes_buffer(d->graph, i))
            continue;
        uint64_t size = psc_size_bytes(PSC_SIZE_CLASS, d->graph->nodes[i].bytes);
        done = psc_map_put(&classes, psc_hash_mix(size) ^ d->r->split_of[i], (uint32_t)classes.n, &old);
        class_of[i] = old != PSC_NONE ? old : (uint32_t)classes.n - 1;
    }
    d->r->class_n = (uint32_t)classes.n;
    psc_map_release(&classes);
    if (!done)
        return false;
    mark = psc_arena_mark(d->arena);
    struct tally *tallies = psc_arena_alloc0(d->arena, d->r->class_n, sizeof *tallies);
    if (!tallies)
        return false;
    for (uint32_t p = n; p-- > 0;) {
        psc_node i = order ? order[p] : p;
        if (class_of[i] == PSC_NONE)
            continue;
        struct tally *t = &tallies[class_of[i]];
        uint64_t bytes = d->graph->nodes[i].bytes;
        rivals[i] = t->n;
        alike[i] = !t->n || (t->least == bytes && t->most == bytes);
        t->least = !t->n || bytes < t->least ? bytes : t->least;
        t->most = bytes > t->most ? bytes : t->most;
        t->n++;
    }
    psc_arena_rewind(d->arena, mark);
    d->r->class_of = class_of;
    d->r->rivals = rivals;
    d->r->rivals_alike = alike;
    return true;
}

static uint64_t text_hash(const char *text)
{
    return text ? psc_hash_bytes(text, strlen(text), 1) : 0;
}

static uint64_t meaning_of_silu(uint64_t operand)
{
    return psc_hash_mix(operand ^ text_hash("silu"));
}

/* swiglu(a, b) means what mul(silu(a), b) means. */
static uint64_t meaning_of_product(const struct psc_graph *g, const uint64_t *meaning, psc_node i)
{
    const psc_node *src = psc_node_srcs(g, i);
    uint64_t a = g->nodes[i].op == PSC_OP_SWIGLU ? meaning_of_silu(meaning[src[0]]) : meaning[src[0]];
    return psc_hash_mix(psc_hash_mix(a) + psc_hash_mix(meaning[src[1]]));
}

static uint64_t meaning_of(const struct psc_graph *g, const uint64_t *meaning, psc_node i)
{
    const struct psc_node_info *node = &g->nodes[i];
    const psc_node *src = psc_node_srcs(g, i);
    uint64_t h = psc_hash_mix(text_hash(node->op_name) ^ text_hash(node->params->weight));
    if (node->root != i) {
        bool all = !node->root_offset && node->bytes == g->nodes[node->root].bytes;
        return all ? meaning[node->root]
                   : psc_hash_mix(meaning[node->root] ^ psc_hash_mix(node->root_offset + 1)) + node->bytes;
    }
    if (node->is_input || !node->src_n || psc_op_info(node->op)->is_kv)
        return psc_hash_mix(i + 1u);
    if ((node->op == PSC_OP_MUL || node->op == PSC_OP_SWIGLU) && node->src_n == 2)
        return meaning_of_product(g, meaning, i);
    if (node->op == PSC_OP_SILU)
        return meaning_of_silu(meaning[src[0]]);
    for (uint32_t k = 0; k < node->src_n; k++) {
        uint64_t operand = psc_hash_mix(meaning[src[k]]);
        h = node->op == PSC_OP_ADD ? h + operand : psc_hash_mix(h ^ operand);
    }
    return h;
}

/* Two scales of one tensor by different factors count as the same, too: it only makes equal values less
 * telling. */
static bool find_meanings(const struct draft *d)
{
    uint64_t *meaning = psc_arena_alloc(d->arena, d->graph->n, sizeof *meaning);
    if (!meaning)
        return false;
    for (uint32_t i = 0; i < d->graph->n; i++)
        meaning[i] = meaning_of(d->graph, meaning, i);
    d->r->meaning = meaning;
    return true;
}

/* Ops whose relation to their operands must hold between records. Left out: operands that an earlier op may
 * overwrite through a view of them, which upstream does not see. What reads these computes something else
 * than the graph says. */
static bool find_fitted(const struct draft *d)
{
    const struct psc_node_info *nodes = d->graph->nodes;
    psc_node *fitted = psc_arena_alloc(d->arena, d->graph->n, sizeof *fitted);
    bool *doubtful = psc_arena_alloc0(d->arena, d->graph->n, sizeof *doubtful);
    if (!fitted || !doubtful)
        return false;
    for (uint32_t i = 0; i < d->graph->n; i++) {
        const psc_node *src = psc_node_srcs(d->graph, i);
        uint32_t operands = psc_fit_operands(nodes[i].op);
        bool sure = true;
        for (uint32_t k = 0; k < nodes[i].src_n; k++)
            sure = sure && !doubtful[nodes[src[k]].root];
        if (sure && operands && operands == nodes[i].src_n)
            fitted[d->r->fitted_n++] = i;
        d->r->misreads = d->r->misreads || (!sure && nodes[i].root == i);
        for (uint32_t k = 0; k < nodes[i].src_n && k < 32; k++)
            if (nodes[src[k]].root != src[k] && (psc_op_info(nodes[i].op)->upstream_alias >> k & 1))
                doubtful[nodes[src[k]].root] = true;
    }
    d->r->fitted = fitted;
    return true;
}

static enum psc_status add_replay(const struct draft *d, const struct psc_story *story, const char *slots,
                                  enum psc_tier tier, struct psc_error *reterr)
{
    struct psc_candidate *replay = &d->r->replays[d->r->replay_n];
    enum psc_status status =
        psc_holders_find(d->arena, d->graph, story, d->r->split_of, &replay->holders, reterr);
    if (status != PSC_OK)
        return status;
    replay->slots = slots;
    replay->tier = tier;
    d->r->replay_n++;
    return PSC_OK;
}

static enum psc_status add_plan(const struct draft *d, const struct psc_plan *plan, const char *slots,
                                enum psc_tier tier, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_story *story = NULL;
    enum psc_status status = psc_plan_lower(&scratch, d->graph, plan, &story, reterr);
    if (status == PSC_OK)
        status = add_replay(d, story, slots, tier, reterr);
    psc_arena_release(&scratch);
    return status;
}

/* A graph that cannot be planned (too big) leaves the verdicts to the values. */
static enum psc_status add_policy(const struct draft *d, enum psc_slots slots, uint64_t seed,
                                  enum psc_size size, enum psc_tier tier, struct psc_error *reterr)
{
    const struct psc_planner *pool = psc_planner_find("pool");
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_arena scratch = {0};
    struct psc_plan *plan = NULL;
    options.slots = slots;
    options.seed = seed;
    options.size = size;
    enum psc_status status = pool->plan(&scratch, d->graph, &options, &plan, reterr);
    if (status == PSC_OK)
        status = add_plan(d, plan, slots == PSC_SLOTS_RANDOM ? NULL : psc_slots_name(slots), tier, reterr);
    psc_arena_release(&scratch);
    return status == PSC_ERR_NOMEM ? status : PSC_OK;
}

static enum psc_status add_replays(const struct draft *d, struct psc_error *reterr)
{
    static const enum psc_slots policies[] = {PSC_SLOTS_LOWEST, PSC_SLOTS_FIFO, PSC_SLOTS_LIFO};
    const struct psc_phase *phase = d->phase;
    enum psc_status status = PSC_OK;
    if (phase->story && !phase->story->predicted)
        status = add_replay(d, phase->story, NULL, PSC_TIER_RECORDED, reterr);
    else if (phase->plan && !phase->story)
        status = add_plan(d, phase->plan, NULL, PSC_TIER_RECORDED, reterr);
    bool named = phase->has_slots && !d->r->replay_n;
    if (named && status == PSC_OK)
        status = add_policy(d, phase->slots, phase->slots_seed, PSC_SIZE_CLASS, PSC_TIER_RECORDED, reterr);
    if (named && status == PSC_OK)
        status = add_policy(d, phase->slots, phase->slots_seed, PSC_SIZE_EXACT, PSC_TIER_EXACT, reterr);
    for (size_t k = 0; k < sizeof policies / sizeof *policies; k++)
        for (int size = 0; status == PSC_OK && size < PSC_SIZE_N; size++)
            if (!named || policies[k] != phase->slots)
                status = add_policy(d, policies[k], 0, (enum psc_size)size, PSC_TIER_POLICIES, reterr);
    return status;
}

enum psc_status psc_records_prepare(struct psc_arena *arena, const struct psc_phase *phase,
                                    struct psc_records **ret, struct psc_error *reterr)
{
    struct draft d = {psc_arena_alloc0(arena, 1, sizeof *d.r), arena, phase, phase->graph};
    const psc_node *order = phase->story && phase->graph && phase->story->position_n == phase->graph->n
                                ? phase->story->order
                                : NULL;
    enum psc_status status = PSC_OK;
    if (!d.r)
        return psc_fail_nomem(reterr);
    d.r->graph = phase->graph;
    d.r->policy = phase->has_slots ? psc_slots_name(phase->slots) : NULL;
    if (!phase->graph) {
        *ret = d.r;
        return PSC_OK;
    }
    uint8_t *moment = psc_arena_alloc(arena, phase->graph->n, sizeof *moment);
    if (!moment || !find_viewed(&d) || !find_meanings(&d) || !find_fitted(&d))
        return psc_fail_nomem(reterr);
    d.r->moment = moment;
    status = psc_holders_splits(arena, phase->graph, order, &d.r->split_of, reterr);
    if (status == PSC_OK && find_moments(&d, moment)) {
        if (!find_lodgers(&d) || !find_rivals(&d, order))
            return psc_fail_nomem(reterr);
        status = add_replays(&d, reterr);
    }
    if (status == PSC_OK)
        *ret = d.r;
    return status;
}
