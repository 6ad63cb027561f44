#include "core/debug/records.h"

#include "core/base/hash.h"
#include "core/debug/fit.h"
#include "core/debug/records-prepare.h"

#include <string.h>

const char *psc_verdict_name(enum psc_verdict v)
{
    static const char *const names[] = {"own", "overwritten", "unknown"};
    return names[v];
}

const char *psc_verdict_confidence(const struct psc_record_verdict *v)
{
    if (!v->certain)
        return "possible";
    return v->evidence & (PSC_BY_CAPTURE | PSC_BY_INPUT | PSC_BY_REPLAY) ? "proved" : "confirmed";
}

/* One step being judged. All arrays have a place for each record that has a node. */
struct judge {
    const struct psc_records *r;
    const struct psc_graph *graph;
    const struct psc_record **records;
    struct psc_record_verdict *list;
    uint32_t n;
    struct psc_arena *scratch;
    uint32_t *alike;  /* first record of the same split with the same values, itself when alone or when not
                         comparable */
    uint32_t *last;   /* by that first record: the last of them whose node is no view (views write nothing) */
    bool *comparable; /* the record has values, read late */
    uint32_t *shown;  /* [graph->n] record that a replay says shows this node, or PSC_NONE */
    const struct psc_candidate *left[PSC_REPLAYS_MAX]; /* replays that the values allow, else all policies */
    uint32_t left_n;
    bool contradicted;  /* the values refute every replay */
    const char *policy; /* the only slot policy that the values allow, where they refute others; or NULL */
    struct psc_map map;
};

/* ---- values ------------------------------------------------------------------------------- */

static bool constant(const struct psc_record *r)
{
    if (r->has_stats)
        return !(r->min < r->max);
    for (uint32_t i = 1; i < r->value_n; i++)
        if (r->values[i] != r->values[0])
            return false;
    return true;
}

/* May two different nodes have equal values by right: the same computation, or an op that changes nothing? */
static bool equal_by_right(const struct judge *j, psc_node a, psc_node b)
{
    psc_node early = a < b ? a : b, late = a < b ? b : a;
    const struct psc_node_info *nodes = j->graph->nodes, *node = &nodes[late];
    if (j->r->meaning[a] == j->r->meaning[b])
        return true;
    for (uint32_t k = 0; k < node->src_n && k < 32; k++)
        if (nodes[j->graph->srcs[node->src_at + k]].root == nodes[early].root &&
            nodes[early].bytes == node->bytes)
            return node->op == PSC_OP_GET_ROWS || (psc_op_info(node->op)->may_overwrite >> k & 1);
    return false;
}

static bool find_groups(struct judge *j, uint32_t *ret_groups)
{
    uint32_t *count = psc_arena_alloc0(j->scratch, j->n, sizeof *count);
    if (!count)
        return false;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct psc_record *r = j->records[i];
        psc_node node = r->node;
        uint32_t first = i;
        bool writes = j->graph->nodes[node].root == node;
        j->alike[i] = i;
        j->last[i] = writes ? i : 0;
        j->comparable[i] = j->r->moment[node] != PSC_MOMENT_NODE && r->n && (r->has_stats || r->value_n);
        if (!j->comparable[i])
            continue;
        uint64_t key = psc_hash_mix(r->n ^ (uint64_t)r->dtype << 56);
        key = psc_hash_mix(key ^ r->stats_hash) + r->values_hash;
        if (!psc_map_put(&j->map, psc_hash_mix(key) ^ j->r->split_of[node], i, &first))
            return false;
        j->alike[i] = first == PSC_NONE ? i : first;
        if (writes)
            j->last[j->alike[i]] = i;
        count[j->alike[i]]++;
    }
    for (uint32_t i = 0, next = 0; i < j->n; i++) {
        uint32_t first = j->alike[i];
        j->list[i].group = PSC_NONE;
        if (count[first] > 1)
            j->list[i].group = first == i ? next++ : j->list[first].group;
        *ret_groups = next;
    }
    psc_map_release(&j->map);
    return true;
}

/* ---- which replays do the values allow? --------------------------------------------------------- */

static uint64_t bytes_key(const struct judge *j, uint32_t i, const struct psc_holder *h)
{
    const struct psc_record *r = j->records[i];
    uint64_t key = psc_hash_mix(h->node ^ (uint64_t)j->r->split_of[r->node] << 32);
    return psc_hash_mix(key ^ h->offset) ^ psc_hash_mix(r->n ^ (uint64_t)r->dtype << 56);
}

/* By this replay the record shows one tensor, all of it. */
static bool shows_one(const struct judge *j, const struct psc_candidate *replay, uint32_t i)
{
    const struct psc_record *r = j->records[i];
    const struct psc_holder *h = &replay->holders[r->node];
    return j->r->moment[r->node] == PSC_MOMENT_SPLIT && h->node != PSC_NONE && h->whole && !h->offset &&
           r->n == j->graph->nodes[h->node].elements;
}

/* The same bytes give equal records; and equal records show the same bytes, unless the engine read wrong ones
 * (what the file itself says of its memory is not doubted for that). */
static bool groups_allow(struct judge *j, const struct psc_candidate *replay, bool *ret_allowed)
{
    *ret_allowed = true;
    for (uint32_t i = 0; i < j->n && *ret_allowed; i++) {
        const struct psc_holder *h = &replay->holders[j->records[i]->node];
        uint32_t other = PSC_NONE, first = j->alike[i];
        if (!j->comparable[i] || j->r->moment[j->records[i]->node] != PSC_MOMENT_SPLIT ||
            h->node == PSC_NONE || !h->whole)
            continue;
        if (!psc_map_put(&j->map, bytes_key(j, i, h), first, &other))
            return false;
        if (other != PSC_NONE && other != first)
            *ret_allowed = false;
        else if (replay->tier == PSC_TIER_POLICIES && !j->r->misreads && shows_one(j, replay, i) &&
                 shows_one(j, replay, first) && !constant(j->records[i]))
            *ret_allowed = equal_by_right(j, h->node, replay->holders[j->records[first]->node].node);
    }
    psc_map_release(&j->map);
    return true;
}

/* Where a replay says that operands and result of one op are all shown, they fit. */
static bool arithmetic_allows(const struct judge *j, const struct psc_candidate *replay)
{
    memset(j->shown, 0xff, j->graph->n * sizeof *j->shown);
    for (uint32_t i = 0; i < j->n; i++) {
        psc_node node = j->records[i]->node;
        if (j->r->moment[node] == PSC_MOMENT_NODE)
            j->shown[node] = i;
        else if (shows_one(j, replay, i))
            j->shown[replay->holders[node].node] = i;
    }
    for (uint32_t k = 0; k < j->r->fitted_n; k++) {
        psc_node node = j->r->fitted[k];
        const psc_node *src = psc_node_srcs(j->graph, node);
        uint32_t y = j->shown[node], a = j->shown[src[0]];
        uint32_t b = j->graph->nodes[node].src_n > 1 ? j->shown[src[1]] : a;
        if (y == PSC_NONE || a == PSC_NONE || b == PSC_NONE)
            continue;
        if (psc_fit(j->graph->nodes[node].op, j->records[y], j->records[a],
                    j->graph->nodes[node].src_n > 1 ? j->records[b] : NULL) == PSC_MISFITS)
            return false;
    }
    return true;
}

/* Those of the first tier that the values leave something of; when they refute all, every policy again. Where
 * arithmetic is broken under every replay that the groups allow, it proves nothing. */
static bool choose_replays(struct judge *j)
{
    const struct psc_candidate *all = j->r->replays;
    for (uint32_t k = 0, end; k < j->r->replay_n && !j->left_n; k = end) {
        uint32_t fit_n = 0;
        bool fits[PSC_REPLAYS_MAX];
        for (end = k; end < j->r->replay_n && all[end].tier == all[k].tier; end++) {
            bool allowed;
            if (!groups_allow(j, &all[end], &allowed))
                return false;
            if (!allowed)
                continue;
            fits[j->left_n] = all[k].tier != PSC_TIER_POLICIES || arithmetic_allows(j, &all[end]);
            fit_n += fits[j->left_n];
            j->left[j->left_n++] = &all[end];
        }
        for (uint32_t m = 0, kept = 0; fit_n && m < j->left_n; m++)
            if (fits[m])
                j->left[kept++] = j->left[m];
        j->left_n = fit_n ? fit_n : j->left_n;
    }
    j->contradicted = !j->left_n;
    for (uint32_t k = 0; j->contradicted && k < j->r->replay_n; k++)
        if (all[k].slots)
            j->left[j->left_n++] = &all[k];
    return true;
}

/* The verdicts follow what the file says of its memory. */
static bool as_recorded(const struct judge *j)
{
    return j->left_n && !j->contradicted && j->left[0]->tier != PSC_TIER_POLICIES;
}

static const char *fitting_policy(const struct judge *j)
{
    uint32_t policies = 0;
    if (j->contradicted || !j->left_n || !j->left[0]->slots)
        return NULL;
    for (uint32_t k = 0; k < j->r->replay_n; k++)
        policies += j->r->replays[k].slots != j->left[0]->slots;
    for (uint32_t k = 1; k < j->left_n; k++)
        if (j->left[k]->slots != j->left[0]->slots)
            return NULL;
    return policies ? j->left[0]->slots : NULL;
}

/* ---- verdicts ----------------------------------------------------------------------------------- */

static void decide(struct psc_record_verdict *v, enum psc_verdict verdict, uint32_t evidence, bool certain)
{
    v->verdict = verdict;
    v->evidence |= evidence;
    v->certain = v->certain || certain;
}

static void by_agreement(struct judge *j, uint32_t i)
{
    struct psc_record_verdict *v = &j->list[i];
    uint32_t own = 0, other = 0, evidence = as_recorded(j) ? PSC_BY_REPLAY : PSC_BY_POLICIES;
    bool certain = as_recorded(j) || j->policy;
    for (uint32_t k = 0; k < j->left_n; k++) {
        const struct psc_holder *h = &j->left[k]->holders[v->node];
        own += h->node != PSC_NONE && h->own;
        other += h->node != PSC_NONE && !h->own;
    }
    if (j->left_n && own == j->left_n)
        decide(v, PSC_RECORD_OWN, evidence, certain);
    else if (j->left_n && other == j->left_n && j->r->moment[v->node] == PSC_MOMENT_SPLIT)
        decide(v, PSC_RECORD_OVERWRITTEN, evidence, certain);
}

/* Every later tensor that could have taken the node's buffer is recorded, and none has these values. */
static bool by_difference(struct judge *j)
{
    uint32_t *later = psc_arena_alloc0(j->scratch, j->r->class_n, sizeof *later);
    if (!later)
        return false;
    for (uint32_t i = j->n; i-- > 0;) {
        psc_node node = j->list[i].node;
        uint32_t class = j->comparable[i] ? j->r->class_of[node] : PSC_NONE;
        if (class == PSC_NONE || j->records[i]->n != j->graph->nodes[node].elements)
            continue;
        if (j->last[j->alike[i]] == i && later[class] == j->r->rivals[node] && j->r->rivals_alike[node] &&
            !j->r->viewed[node] && !j->r->lodges[node])
            decide(&j->list[i], PSC_RECORD_OWN, PSC_BY_ALONE, true);
        later[class] += i + 1 == j->n || j->list[i + 1].node != node; /* a node recorded twice counts once */
    }
    return true;
}

static void by_equality(struct judge *j)
{
    for (uint32_t i = 0; i < j->n && !j->r->misreads; i++) {
        uint32_t last = j->last[j->alike[i]];
        if (last > i && !constant(j->records[i]) && !equal_by_right(j, j->list[i].node, j->list[last].node))
            decide(&j->list[i], PSC_RECORD_OVERWRITTEN, PSC_BY_GROUP, true);
    }
}

/* members[0] is the result, the others are its operands. */
static void settle_open(struct judge *j, enum psc_fit fit, const uint32_t *members, uint32_t n)
{
    uint32_t doubtful = 0, at = 0;
    bool result_own = j->list[members[0]].verdict == PSC_RECORD_OWN;
    for (uint32_t k = 0; k < n; k++) {
        struct psc_record_verdict *v = &j->list[members[k]];
        if (k && fit == PSC_FITS && result_own && v->verdict == PSC_RECORD_UNKNOWN)
            decide(v, PSC_RECORD_OWN, PSC_BY_ARITHMETIC, true);
        if (v->verdict != PSC_RECORD_OWN && !(doubtful && at == members[k])) {
            doubtful++;
            at = members[k];
        }
    }
    if (doubtful != 1 || j->list[at].verdict != PSC_RECORD_UNKNOWN)
        return;
    if (fit == PSC_MISFITS)
        decide(&j->list[at], PSC_RECORD_OVERWRITTEN, PSC_BY_MISFIT, true);
    else if (fit == PSC_FITS)
        decide(&j->list[at], PSC_RECORD_OWN, PSC_BY_ARITHMETIC, true);
}

/* One op and its operands among the records. */
struct family {
    uint32_t members[3], n; /* the result, then its operands */
    enum psc_fit fit;
};

static bool find_family(const struct judge *j, psc_node node, struct family *ret)
{
    const psc_node *src = psc_node_srcs(j->graph, node);
    bool all = true;
    ret->n = 1 + j->graph->nodes[node].src_n;
    for (uint32_t m = 0; m < ret->n; m++) {
        ret->members[m] = j->shown[m ? src[m - 1] : node];
        all = all && ret->members[m] != PSC_NONE;
    }
    if (all)
        ret->fit = psc_fit(j->graph->nodes[node].op, j->records[ret->members[0]], j->records[ret->members[1]],
                           ret->n > 2 ? j->records[ret->members[2]] : NULL);
    return all && ret->fit != PSC_FIT_UNKNOWN;
}

/* Where even records that are their nodes' own do not fit, the numbers are not what the graph computes: then
 * arithmetic is mentioned, but decides nothing. */
static bool by_arithmetic(struct judge *j)
{
    struct family *families = psc_arena_alloc(j->scratch, j->r->fitted_n, sizeof *families);
    uint32_t n = 0;
    bool sound = true;
    if (!families)
        return false;
    memset(j->shown, 0xff, j->graph->n * sizeof *j->shown);
    for (uint32_t i = 0; i < j->n; i++)
        j->shown[j->list[i].node] = i;
    for (uint32_t k = 0; k < j->r->fitted_n; k++) {
        struct family *f = &families[n];
        bool own = true;
        if (!find_family(j, j->r->fitted[k], f))
            continue;
        for (uint32_t m = 0; m < f->n; m++) {
            struct psc_record_verdict *v = &j->list[f->members[m]];
            v->evidence |= f->fit == PSC_FITS ? PSC_BY_ARITHMETIC : PSC_BY_MISFIT;
            own = own && v->verdict == PSC_RECORD_OWN;
        }
        sound = sound && !(own && f->fit == PSC_MISFITS);
        n++;
    }
    for (uint32_t k = 0; sound && k < n; k++)
        settle_open(j, families[k].fit, families[k].members, families[k].n);
    return true;
}

/* ---- whose is it? ----------------------------------------------------------------------------- */

/* The one tensor that replays name for all of these records; a replay that names several says nothing. */
static psc_node named_by_replays(const struct judge *j, const uint32_t *members, uint32_t n)
{
    psc_node found = PSC_NONE;
    for (uint32_t k = 0; k < j->left_n; k++) {
        psc_node said = PSC_NONE;
        for (uint32_t m = 0; m < n; m++) {
            const struct psc_holder *h = &j->left[k]->holders[j->list[members[m]].node];
            psc_node holder = h->own ? PSC_NONE : h->node;
            if (holder == PSC_NONE || (m && holder != said)) {
                said = PSC_NONE;
                break;
            }
            said = holder;
        }
        if (said != PSC_NONE && found != PSC_NONE && said != found)
            return PSC_NONE;
        found = said != PSC_NONE ? said : found;
    }
    return found;
}

/* Overwritten records with equal values, and the tensors among their equals that are, or may be, their node's
 * own. */
static void name_group(struct judge *j, const uint32_t *members, uint32_t n, uint32_t owner_n, psc_node owner)
{
    psc_node group = owner_n == 1 ? owner : PSC_NONE;
    if (j->contradicted && !owner_n)
        group = named_by_replays(j, members, n);
    for (uint32_t m = 0; m < n; m++) {
        struct psc_record_verdict *v = &j->list[members[m]];
        psc_node own = j->contradicted ? PSC_NONE : named_by_replays(j, &members[m], 1);
        v->holds = own != PSC_NONE ? own : group;
        if (owner != PSC_NONE && !constant(j->records[members[m]]))
            decide(v, PSC_RECORD_OVERWRITTEN, PSC_BY_GROUP, true);
    }
}

static bool name_holders(struct judge *j)
{
    uint32_t *next = psc_arena_alloc(j->scratch, j->n, sizeof *next);
    uint32_t *members = psc_arena_alloc(j->scratch, j->n, sizeof *members);
    uint32_t *head = psc_arena_alloc(j->scratch, j->n, sizeof *head);
    if (!next || !members || !head)
        return false;
    memset(head, 0xff, j->n * sizeof *head);
    for (uint32_t i = j->n; i-- > 0;) { /* chains of records with equal values */
        next[i] = head[j->alike[i]];
        head[j->alike[i]] = i;
    }
    for (uint32_t first = 0; first < j->n; first++) {
        uint32_t n = 0, owner_n = 0;
        psc_node owner = PSC_NONE;
        for (uint32_t i = head[first]; i != PSC_NONE; i = next[i]) {
            psc_node root = j->graph->nodes[j->list[i].node].root;
            if (j->list[i].verdict == PSC_RECORD_OVERWRITTEN) {
                members[n++] = i;
            } else if (root == j->list[i].node) {
                owner = j->list[i].verdict == PSC_RECORD_OWN ? root : owner;
                owner_n++;
            }
        }
        name_group(j, members, n, owner_n, owner);
    }
    return true;
}

/* A tensor is named for one set of values only, and not when its own record shows others. */
static bool withdraw_contradictions(struct judge *j)
{
    bool *refuted = psc_arena_alloc0(j->scratch, j->n, sizeof *refuted);
    if (!refuted)
        return false;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct psc_record_verdict *v = &j->list[i];
        const struct psc_record *r = j->records[i];
        uint32_t other = PSC_NONE, shown;
        if (v->holds == PSC_NONE || !j->comparable[i] || j->graph->nodes[v->node].root != v->node)
            continue;
        if (!psc_map_put(&j->map, psc_hash_mix(v->holds) ^ psc_hash_mix(r->n + 1), j->alike[i], &other))
            return false;
        if (other != PSC_NONE && other != j->alike[i])
            refuted[other] = refuted[j->alike[i]] = true;
        shown = j->shown[v->holds];
        if (shown != PSC_NONE && j->comparable[shown] && j->records[shown]->n == r->n &&
            j->records[shown]->dtype == r->dtype && j->alike[shown] != j->alike[i])
            refuted[j->alike[i]] = true;
    }
    for (uint32_t i = 0; i < j->n; i++)
        if (refuted[j->alike[i]])
            j->list[i].holds = PSC_NONE;
    psc_map_release(&j->map);
    return true;
}

static bool judge_step(struct judge *j, uint32_t *ret_groups)
{
    bool late = false;
    for (uint32_t i = 0; i < j->n; i++) {
        struct psc_record_verdict *v = &j->list[i];
        *v = (struct psc_record_verdict){
            j->records[i]->node, PSC_RECORD_UNKNOWN, PSC_NONE, 0, PSC_NONE, false};
        bool input = j->graph->nodes[v->node].is_input;
        if (input || j->r->moment[v->node] == PSC_MOMENT_NODE)
            decide(v, PSC_RECORD_OWN, input ? PSC_BY_INPUT : PSC_BY_CAPTURE, true);
        else
            late = true;
    }
    if (!late)
        return by_arithmetic(j);
    if (!find_groups(j, ret_groups) || !choose_replays(j))
        return false;
    j->policy = as_recorded(j) ? NULL : fitting_policy(j);
    for (uint32_t i = 0; i < j->n; i++)
        if (j->r->moment[j->list[i].node] != PSC_MOMENT_NODE)
            by_agreement(j, i);
    if (!as_recorded(j) && !by_difference(j))
        return false;
    by_equality(j);
    return by_arithmetic(j) && name_holders(j) && withdraw_contradictions(j);
}

static bool judge_init(struct judge *j, struct psc_arena *arena, const struct psc_records *records,
                       const struct psc_step *step, struct psc_arena *scratch)
{
    uint32_t n = step->record_n;
    *j = (struct judge){.r = records, .graph = records->graph, .scratch = scratch};
    j->list = psc_arena_alloc(arena, n, sizeof *j->list);
    j->records = psc_arena_alloc(scratch, n, sizeof *j->records);
    j->alike = psc_arena_alloc0(scratch, n, sizeof *j->alike);
    j->last = psc_arena_alloc0(scratch, n, sizeof *j->last);
    j->comparable = psc_arena_alloc0(scratch, n, sizeof *j->comparable);
    j->shown = psc_arena_alloc(scratch, j->graph ? j->graph->n : 0, sizeof *j->shown);
    if (!j->list || !j->records || !j->alike || !j->last || !j->comparable || !j->shown)
        return false;
    for (uint32_t i = 0; j->graph && i < n; i++)
        if (step->records[i].node < j->graph->n)
            j->records[j->n++] = &step->records[i];
    return true;
}

enum psc_status psc_records_check_with(struct psc_arena *arena, const struct psc_records *records,
                                       const struct psc_step *step, struct psc_record_check *ret,
                                       struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct judge j;
    struct psc_record_check check = {0};
    bool done = judge_init(&j, arena, records, step, &scratch) && (!j.n || judge_step(&j, &check.group_n));
    if (done) {
        check.list = j.list;
        check.n = j.n;
        check.policy = records->policy;
        if (j.left_n && !as_recorded(&j))
            check.policy = j.policy;
        for (uint32_t i = 0; i < j.n; i++) {
            check.own += j.list[i].verdict == PSC_RECORD_OWN;
            check.overwritten += j.list[i].verdict == PSC_RECORD_OVERWRITTEN;
            check.unknown += j.list[i].verdict == PSC_RECORD_UNKNOWN;
        }
        *ret = check;
    }
    psc_map_release(&j.map);
    psc_arena_release(&scratch);
    return done ? PSC_OK : psc_fail_nomem(reterr);
}

enum psc_status psc_records_check(struct psc_arena *arena, const struct psc_phase *phase,
                                  const struct psc_step *step, struct psc_record_check *ret,
                                  struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_records *records = NULL;
    enum psc_status status = psc_records_prepare(&scratch, phase, &records, reterr);
    if (status == PSC_OK)
        status = psc_records_check_with(arena, records, step, ret, reterr);
    psc_arena_release(&scratch);
    return status;
}
