#include "core/debug/explain-words.h"

#include <string.h>

static void say_class(struct psc_text *out, const struct psc_plan *plan, uint64_t bytes)
{
    psc_text_add(out, plan->options.size == PSC_SIZE_CLASS ? "the " : "");
    psc_say_bytes(out, bytes);
    psc_text_add(out, plan->options.size == PSC_SIZE_CLASS ? " class" : "");
}

static const char *slot_word(enum psc_slots slots)
{
    static const char *const words[] = {"Lowest free slot", "Slot that was freed first", "Slot that was freed last",
                                        "Free slot picked at random"};
    return words[slots < PSC_SLOTS_N ? slots : 0];
}

/* The node at a place of the planner's own order. */
static psc_node node_at(const struct psc_plan *plan, uint64_t position)
{
    if (position >= plan->node_n)
        return PSC_NONE;
    return plan->order ? plan->order[position] : (psc_node)position;
}

static void say_reused(struct psc_text *out, const struct psc_graph *g, const struct psc_plan *plan,
                       const struct psc_place *place)
{
    psc_text_add(out, "Reused. ");
    psc_say_planned_buffer(out, g, &plan->buffers[place->buffer]);
    psc_text_add(out, " held ");
    psc_say_node_layer(out, g, (psc_node)place->a);
    psc_node last = node_at(plan, place->b - 1); /* the sweep that freed it came one position later */
    if (last != PSC_NONE && last != place->a) {
        psc_text_add(out, ", last needed by ");
        psc_say_node(out, g, last);
    }
    psc_text_addf(out, ". %s of ", slot_word(plan->options.slots));
    say_class(out, plan, plan->buffers[place->buffer].bytes);
    if (place->c > 1)
        psc_text_addf(out, "; %llu more %s free too", (unsigned long long)place->c - 1, place->c == 2 ? "was" : "were");
    psc_text_add(out, ".");
}

static void say_new(struct psc_text *out, const struct psc_graph *g, const struct psc_plan *plan, const struct psc_place *place)
{
    psc_text_add(out, "New buffer ");
    psc_say_planned_buffer(out, g, &plan->buffers[place->buffer]);
    psc_text_add(out, ": no idle buffer of ");
    say_class(out, plan, place->a);
    if (place->b)
        psc_text_addf(out, " (%llu idle of other sizes)", (unsigned long long)place->b);
    psc_text_add(out, ".");
}

/* A tenant of the same arena that lives while the place does and ends where it begins, PSC_NONE. */
static psc_node beneath(const struct psc_plan *plan, const struct psc_place *place)
{
    for (psc_node i = 0; place->offset && i < plan->node_n; i++) {
        const struct psc_place *other = &plan->places[i];
        if (other->buffer == place->buffer && other->offset + other->length == place->offset &&
            other->reason != PSC_WHY_VIEW && other->first <= place->last && place->first <= other->last)
            return i;
    }
    return PSC_NONE;
}

/* Who had any of the bytes last, before the place's life, PSC_NONE. */
static psc_node before(const struct psc_plan *plan, const struct psc_place *place)
{
    psc_node found = PSC_NONE;
    for (psc_node i = 0; i < plan->node_n; i++) {
        const struct psc_place *other = &plan->places[i];
        bool meets = other->buffer == place->buffer && other->offset < place->offset + place->length &&
                     place->offset < other->offset + other->length;
        if (meets && other->reason != PSC_WHY_VIEW && other->last < place->first &&
            (found == PSC_NONE || other->last > plan->places[found].last))
            found = i;
    }
    return found;
}

static void say_packed(struct psc_text *out, const struct psc_graph *g, const struct psc_plan *plan,
                       const struct psc_place *place)
{
    psc_node under = beneath(plan, place), old = before(plan, place);
    psc_text_addf(out, "Byte %llu of ", (unsigned long long)place->offset);
    psc_say_planned_buffer(out, g, &plan->buffers[place->buffer]);
    psc_text_add(out, ", free as long as it lives");
    if (!place->offset) {
        psc_text_add(out, ": at the bottom");
    } else if (under != PSC_NONE) {
        psc_text_add(out, ": right above ");
        psc_say_node(out, g, under);
    }
    if (old != PSC_NONE) {
        psc_text_add(out, ", where ");
        psc_say_node_layer(out, g, old);
        psc_text_add(out, " lay before");
    }
    psc_text_addf(out, ". Placed as number %llu by %s.", (unsigned long long)place->a, plan->planner);
}

void psc_explain_place(struct psc_text *out, const struct psc_analysis *a, psc_node node)
{
    const struct psc_graph *g = a->phase->graph;
    const struct psc_plan *plan = a->plan;

    if (!plan || !g || node >= plan->node_n) {
        psc_text_add(out, "Placed by the events of the file; they give no reason.");
        return;
    }
    const struct psc_place *place = &plan->places[node];
    switch (place->reason) {
    case PSC_WHY_NONE:
        psc_text_add(out, "No buffer: the plan does not place it.");
        break;
    case PSC_WHY_DEAD:
        psc_text_add(out, "No buffer: nothing reads it and it is not an output.");
        break;
    case PSC_WHY_EMPTY:
        psc_text_add(out, "No buffer: it has no bytes.");
        break;
    case PSC_WHY_INPUT:
        psc_text_add(out, "An input: placed before the walk, filled by the host, kept for the whole run.");
        break;
    case PSC_WHY_NEW:
        say_new(out, g, plan, place);
        break;
    case PSC_WHY_REUSED:
        say_reused(out, g, plan, place);
        break;
    case PSC_WHY_IN_PLACE:
        psc_text_add(out, "In place over ");
        psc_say_node(out, g, (psc_node)place->b);
        psc_text_add(out, ", whose only reader it is: same bytes, next version.");
        break;
    case PSC_WHY_VIEW:
        psc_text_add(out, "A view of ");
        psc_say_node(out, g, (psc_node)place->a);
        psc_text_addf(out, " from byte %llu: moves nothing, owns nothing.", (unsigned long long)place->b);
        break;
    case PSC_WHY_REGION:
        psc_text_add(out, "Persistent: ");
        if (place->a == UINT64_MAX)
            psc_text_add(out, "a KV region without layer");
        else
            psc_text_addf(out, "the KV regions of layer %llu", (unsigned long long)place->a);
        psc_text_add(out, ", kept between runs and never in a free list.");
        break;
    case PSC_WHY_FOREIGN:
        psc_text_add(out, "Placed by the plan from the file; it gives no reason.");
        break;
    case PSC_WHY_POOLED:
        psc_text_add(out, "Idle in the pool since before this graph: ");
        psc_say_planned_buffer(out, g, &plan->buffers[place->buffer]);
        psc_text_add(out, " of ");
        say_class(out, plan, place->a);
        psc_text_add(out, ".");
        break;
    case PSC_WHY_NAIVE:
        psc_text_add(out, "A buffer of its own: the naive planner shares nothing.");
        break;
    case PSC_WHY_PACKED:
        say_packed(out, g, plan, place);
        break;
    case PSC_WHY_N:
        break;
    }
}

/* ---- what was refused ------------------------------------------------------------------------------------ */

static void say_in_place_refused(struct psc_text *out, const struct psc_graph *g, psc_node node,
                                 const struct psc_refused *r)
{
    const struct psc_node_info *n = &g->nodes[node];
    psc_node operand = r->operand < n->src_n ? psc_node_srcs(g, node)[r->operand] : PSC_NONE;

    psc_text_add(out, "Not in place");
    if (operand != PSC_NONE) {
        psc_text_add(out, " over ");
        psc_say_node(out, g, operand);
    }
    psc_text_add(out, ": ");
    switch (r->why) {
    case PSC_NOT_IN_PLACE_OP:
        if (r->operand < 32 && (psc_op_info(n->op)->may_overwrite >> r->operand & 1))
            psc_text_addf(out, "this engine never runs %s in place.", n->op_name);
        else
            psc_text_addf(out, "%s %s reads its input to the end.", strchr("aeio", n->op_name[0]) ? "an" : "a",
                          n->op_name);
        break;
    case PSC_NOT_OTHER_BACKEND:
        psc_text_addf(out, "it lies on %s, the op runs on %s.",
                      r->a < g->backend_n ? psc_backend_word(g->backends[r->a]) : "no backend",
                      r->b < g->backend_n ? psc_backend_word(g->backends[r->b]) : "no backend");
        break;
    case PSC_NOT_SOLE_READER:
        psc_text_addf(out, "it has %llu readers; ", (unsigned long long)r->a);
        psc_say_node(out, g, (psc_node)r->b);
        psc_text_add(out, " reads it too.");
        break;
    case PSC_NOT_ROOT_READ_LATER:
        if (r->b == node) { /* candela's rules */
            psc_text_add(out, "this op itself still reads its bytes.");
            break;
        }
        psc_text_add(out, "its bytes belong to ");
        psc_say_node(out, g, (psc_node)r->a);
        psc_text_add(out, ", which ");
        psc_say_node(out, g, (psc_node)r->b);
        psc_text_add(out, " reads too.");
        break;
    case PSC_NOT_OUTPUT:
        psc_say_node(out, g, (psc_node)r->a);
        psc_text_add(out, " is an output that the host reads at the end.");
        break;
    case PSC_NOT_INPUT:
        psc_say_node(out, g, (psc_node)r->a);
        psc_text_add(out, " is an input, and inputs are never written.");
        break;
    case PSC_NOT_A_VIEW:
        psc_text_addf(out, "this engine lets %s overwrite only a view.", n->op_name);
        break;
    case PSC_NOT_SAME_BYTES:
        psc_text_add(out, "it has ");
        psc_say_bytes(out, r->a);
        psc_text_add(out, ", the result ");
        psc_say_bytes(out, r->b);
        psc_text_add(out, ".");
        break;
    case PSC_NOT_REGION:
        psc_text_add(out, "it lies in a persistent region.");
        break;
    case PSC_NOT_WORTH:
        psc_text_add(out, "it is a window of ");
        psc_say_node(out, g, (psc_node)r->a);
        psc_text_add(out, ", of which ");
        psc_say_bytes(out, r->b);
        psc_text_add(out, " more would live on, and there is no room for them.");
        break;
    case PSC_NOT_IDLE:
    case PSC_NOT_N:
        break;
    }
}

void psc_explain_refused(struct psc_text *out, const struct psc_analysis *a, psc_node node, const struct psc_refused *r)
{
    const struct psc_graph *g = a->phase->graph;

    if (!g || node >= g->n)
        return;
    if (r->why != PSC_NOT_IDLE) {
        say_in_place_refused(out, g, node, r);
        return;
    }
    psc_text_add(out, "No reuse: no idle buffer of ");
    say_class(out, a->plan, r->a);
    psc_text_addf(out, "; %llu %s in use.", (unsigned long long)r->b, r->b == 1 ? "is" : "are");
}

/* ---- the walk ---------------------------------------------------------------------------------------------- */

static void say_walk_buffer(struct psc_text *out, const struct psc_graph *g, const struct psc_plan *plan, const struct psc_walk *w)
{
    if (w->buffer != PSC_NONE && w->buffer < plan->buffer_n)
        psc_say_planned_buffer(out, g, &plan->buffers[w->buffer]);
    else
        psc_text_add(out, "no buffer");
}

void psc_explain_walk(struct psc_text *out, const struct psc_graph *g, const struct psc_plan *plan,
                      const struct psc_walk *w)
{
    static const char *const verbs[] = {"sweep", "release", "reuse", "new",   "alias",
                                        "refuse", "view",   "region", "input", "dead", "pack"};
    struct psc_analysis a = {.phase = &(struct psc_phase){.graph = (struct psc_graph *)g},
                             .plan = (struct psc_plan *)plan};

    psc_text_addf(out, "%5d  %-7s ", w->position, verbs[w->kind < PSC_WALK_N ? w->kind : 0]);
    switch ((enum psc_walk_kind)w->kind) {
    case PSC_WALK_SWEEP:
        psc_text_addf(out, "%llu %s idle", (unsigned long long)w->a, w->a == 1 ? "buffer becomes" : "buffers become");
        break;
    case PSC_WALK_RELEASE:
        say_walk_buffer(out, g, plan, w);
        psc_text_add(out, ", last held ");
        psc_say_node(out, g, w->node);
        psc_text_addf(out, " (needed until %lld)", (long long)w->a);
        break;
    case PSC_WALK_REUSE:
        say_walk_buffer(out, g, plan, w);
        psc_text_add(out, " for ");
        psc_say_node(out, g, w->node);
        if (w->a == PSC_NONE)
            psc_text_add(out, " (idle since before this graph)");
        else
            psc_text_addf(out, " (idle since %lld)", (long long)w->b);
        break;
    case PSC_WALK_NEW:
        say_walk_buffer(out, g, plan, w);
        psc_text_add(out, " for ");
        psc_say_node(out, g, w->node);
        psc_text_add(out, " (");
        psc_say_bytes(out, w->a);
        psc_text_add(out, ")");
        break;
    case PSC_WALK_ALIAS:
        psc_say_node(out, g, w->node);
        psc_text_add(out, " in place over ");
        psc_say_node(out, g, (psc_node)w->a);
        psc_text_add(out, " in ");
        say_walk_buffer(out, g, plan, w);
        break;
    case PSC_WALK_REFUSED:
        psc_say_node(out, g, w->node);
        psc_text_add(out, ": ");
        if (w->a < plan->refused_n)
            psc_explain_refused(out, &a, w->node, &plan->refused[w->a]);
        break;
    case PSC_WALK_VIEW:
        psc_say_node(out, g, w->node);
        psc_text_add(out, " shows ");
        psc_say_node(out, g, (psc_node)w->a);
        psc_text_addf(out, " from byte %llu", (unsigned long long)w->b);
        break;
    case PSC_WALK_REGION:
        psc_say_node(out, g, w->node);
        psc_text_add(out, " lives in ");
        say_walk_buffer(out, g, plan, w);
        break;
    case PSC_WALK_INPUT:
        say_walk_buffer(out, g, plan, w);
        psc_text_add(out, " for input ");
        psc_say_node(out, g, w->node);
        break;
    case PSC_WALK_DEAD:
        psc_say_node(out, g, w->node);
        psc_text_add(out, " has no reader: no buffer");
        break;
    case PSC_WALK_PACK:
        psc_say_node(out, g, w->node);
        psc_text_addf(out, " at byte %llu of ", (unsigned long long)w->a);
        say_walk_buffer(out, g, plan, w);
        psc_text_add(out, " (");
        psc_say_bytes(out, w->b);
        psc_text_add(out, ")");
        break;
    case PSC_WALK_N:
        break;
    }
}

/* ---- the peak ------------------------------------------------------------------------------------------------ */

#define PEAK_SHOWN 3

void psc_explain_peak(struct psc_text *out, const struct psc_analysis *a)
{
    const struct psc_graph *g = a->phase->graph;
    const struct psc_plan *plan = a->plan;
    uint32_t shown[PEAK_SHOWN], n = 0;
    uint64_t total = 0;

    if (!plan || !g) {
        if (!a->history)
            return;
        psc_text_add(out, "Peak ");
        psc_say_bytes(out, a->history->peak_bytes);
        psc_text_addf(out, " at op %d.", a->history->peak_at);
        return;
    }
    for (uint32_t i = 0; i < plan->peak_n; i++) {
        uint32_t k = n < PEAK_SHOWN ? n++ : PEAK_SHOWN;
        total += plan->peak[i].bytes;
        if (k == PEAK_SHOWN && plan->peak[i].bytes <= plan->peak[shown[k - 1]].bytes)
            continue;
        if (k == PEAK_SHOWN)
            k--;
        for (; k && plan->peak[shown[k - 1]].bytes < plan->peak[i].bytes; k--)
            shown[k] = shown[k - 1];
        shown[k] = i;
    }
    psc_text_add(out, "Peak ");
    psc_say_bytes(out, plan->figures.peak_tensor_bytes);
    if (plan->peak_at < 0 || node_at(plan, (uint64_t)plan->peak_at) == PSC_NONE)
        psc_text_add(out, plan->peak_at < 0 ? " before the first op" : " at the end");
    else
        psc_text_addf(out, " at #%llu", (unsigned long long)g->nodes[node_at(plan, (uint64_t)plan->peak_at)].id);
    for (uint32_t k = 0; k < n; k++) {
        const struct psc_contributor *c = &plan->peak[shown[k]];
        psc_text_add(out, k ? ", " : ": ");
        psc_say_node(out, g, c->node);
        psc_text_add(out, " ");
        psc_say_bytes(out, c->bytes);
        if (total)
            psc_text_addf(out, " (%llu %%)", (unsigned long long)((double)c->bytes * 100.0 / (double)total + 0.5));
    }
    if (plan->peak_n > n)
        psc_text_addf(out, " and %u smaller", plan->peak_n - n);
    psc_text_add(out, ".");
}
