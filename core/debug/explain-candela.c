#include "core/base/text.h"
#include "core/debug/candela-tale.h"

#include <inttypes.h>
#include <string.h>

static const char *name_of(const struct psc_candela_tale *t, uint32_t id)
{
    return id < t->node_n ? t->nodes[id].name : "?";
}

static const char *input_name(const struct psc_candela_tale *t, const struct psc_candela_step *step, uint32_t k)
{
    return k < step->input_n ? name_of(t, step->inputs[k]) : "?";
}

/* "position 4, x" */
static void say_step(struct psc_text *out, const struct psc_candela_tale *t, int64_t position)
{
    if (position >= 0 && position < (int64_t)t->plan->n)
        psc_text_addf(out, "position %" PRId64 " (%s)", position, name_of(t, t->plan->steps[position].id));
    else
        psc_text_addf(out, "position %" PRId64, position);
}

static void say_elements(struct psc_text *out, uint64_t n)
{
    psc_text_addf(out, "%" PRIu64 " element%s", n, n == 1 ? "" : "s");
}

const char *psc_explain_candela_promise(enum psc_tag tag, bool bytes)
{
    if (bytes)
        return tag == PSC_TAG_ANYTHING ? "shows its bytes" : "overwritten";
    switch (tag) {
    case PSC_TAG_PACKED: return "packed";
    case PSC_TAG_PACKED_CACHE: return "packed, cached";
    default: return "same values";
    }
}

const char *psc_explain_candela_title(struct psc_arena *arena, const struct psc_candela_tale *t, uint32_t step)
{
    const struct psc_tale_node *node = &t->nodes[t->plan->steps[step].id];
    struct psc_text text = {0};
    psc_text_addf(&text, "%s = %s", node->name, node->text);
    return psc_text_keep(&text, arena);
}

/* ---- the decision ------------------------------------------------------------------------------------------------- */

const char *psc_explain_candela_strategy(struct psc_arena *arena, const struct psc_candela_tale *t, uint32_t at,
                                         const struct psc_denial *denied)
{
    const struct psc_candela_step *step = &t->plan->steps[at];
    enum psc_how how = denied ? denied->how : step->how;
    uint32_t operand = denied ? denied->operand : step->operand;
    struct psc_text text = {0};
    switch (how) {
    case PSC_HOW_LEAF: psc_text_add(&text, "take it as it is"); break;
    case PSC_HOW_CACHE_HIT: psc_text_add(&text, "take what the cache kept"); break;
    case PSC_HOW_IN_PLACE:
        if (denied && denied->why == PSC_DENIED_OP)
            psc_text_add(&text, "in place");
        else
            psc_text_addf(&text, "in place over %s%s", input_name(t, step, operand),
                          step->input_n < 2 || step->inputs[0] != step->inputs[1] ? "" : operand ? ", on the right" : ", on the left");
        break;
    case PSC_HOW_REFERENCE_SLOT: case PSC_HOW_REFERENCE_ETERNAL:
        psc_text_addf(&text, "%s the bytes of %s", psc_tale_is_cache(t, step->id) ? "keep" : "show", input_name(t, step, 0));
        break;
    case PSC_HOW_USE_SLOT: psc_text_add(&text, "take an idle slot"); break;
    case PSC_HOW_ALLOCATE: psc_text_add(&text, "allocate"); break;
    case PSC_HOW_REGION: psc_text_add(&text, "a region of the arena"); break;
    case PSC_HOW_BAKED: psc_text_add(&text, "run the baked plan"); break;
    default: psc_text_add(&text, "?"); break;
    }
    return psc_text_keep(&text, arena);
}

static void say_denied(struct psc_text *out, const struct psc_candela_tale *t, const struct psc_candela_step *step,
                       const struct psc_denial *d)
{
    const char *x = input_name(t, step, d->operand);
    switch (d->why) {
    case PSC_DENIED_OP:
        psc_text_addf(out, "%s reads its operands to the end, so it cannot write over one of them.", psc_lazy_op_name(step->op));
        break;
    case PSC_DENIED_NO_SLOT:
        psc_text_addf(out, "%s lies in no slot: the caller or a cache owns its bytes.", x);
        break;
    case PSC_DENIED_READ_LATER:
        if (d->a <= d->b) { /* generation 0.1 */
            psc_text_addf(out, "%s is read here, and this generation wants its slot to have ended before: no operand ever has.", x);
            break;
        }
        psc_text_addf(out, "The slot of %s must end here, at position %" PRId64 ", but it is needed until ", x, d->b);
        say_step(out, t, d->a);
        psc_text_add(out, ".");
        break;
    case PSC_DENIED_NEVER_ENDS:
        psc_text_addf(out, "The slot of %s never ends: it is the result, a cache keeps it, or nothing reads it.", x);
        break;
    case PSC_DENIED_LENGTH:
        psc_text_addf(out, "%s lies in a slot of %" PRId64 " elements, and %" PRId64 " are needed: lengths must be the same.", x,
                      d->a, d->b);
        break;
    case PSC_DENIED_STRIDED:
        psc_text_addf(out, "%s is not packed: its elements do not lie one behind the other.", x);
        break;
    case PSC_DENIED_SAME_NODE:
        psc_text_addf(out, "Both operands are %s: it would be overwritten while it is still read.", x);
        break;
    case PSC_DENIED_SAME_SLOT:
        psc_text_addf(out, "The other operand lies in the same slot %" PRId64 " as %s: it would be overwritten while it is still read.",
                      d->a, x);
        break;
    case PSC_DENIED_NOT_PACKED:
        psc_text_addf(out, "%s is not packed yet, and packed bytes are asked for: they must be copied.", x);
        break;
    case PSC_DENIED_NONE_IDLE:
        psc_text_add(out, "No slot of exactly ");
        say_elements(out, (uint64_t)d->a);
        psc_text_add(out, " is idle.");
        break;
    default: psc_text_add(out, "Refused."); break;
    }
}

/* "; needed until position 4 (x)" */
static void say_end(struct psc_text *out, const struct psc_candela_tale *t, const struct psc_candela_step *step)
{
    if (step->end == PSC_CANDELA_EVER) {
        psc_text_add(out, step->id == t->plan->root ? " It is the result: it is never given back."
                                                    : " It is never given back.");
    } else {
        psc_text_add(out, " It is needed until ");
        say_step(out, t, step->end);
        psc_text_add(out, ".");
    }
}

static void say_in_place(struct psc_text *out, const struct psc_candela_tale *t, const struct psc_candela_step *step)
{
    psc_text_addf(out, "%s is read here for the last time, is packed and exactly as long: its slot %u goes on as %s.",
                  input_name(t, step, step->operand), step->slot, name_of(t, step->id));
    if (step->operand)
        psc_text_addf(out, " The kernel is told that it overwrites operand %u.", step->operand);
    if (step->parent != PSC_NONE)
        psc_text_addf(out, " %s, which the bytes belonged to, goes too.", name_of(t, step->parent));
}

static void say_taken(struct psc_text *out, const struct psc_candela_tale *t, const struct psc_candela_step *step)
{
    const char *x = input_name(t, step, 0);
    switch (step->how) {
    case PSC_HOW_LEAF: psc_text_add(out, "It is the caller's tensor: the plan neither makes it nor gives it back."); return;
    case PSC_HOW_CACHE_HIT: psc_text_add(out, "An earlier call filled the cache: what lies behind it is not computed again."); return;
    case PSC_HOW_IN_PLACE: say_in_place(out, t, step); break;
    case PSC_HOW_REFERENCE_SLOT:
        if (psc_tale_is_cache(t, step->id)) {
            psc_text_addf(out, "The cache keeps the bytes of %s for later calls: no byte is written, and slot %u is never given back.",
                          x, step->slot);
            return;
        }
        psc_text_addf(out, "Only the layout changes: %s shows slot %u of %s, no byte is written. The slot stays for both.",
                      name_of(t, step->id), step->slot, x);
        break;
    case PSC_HOW_REFERENCE_ETERNAL:
        psc_text_addf(out, "Only the layout changes: it shows the bytes of %s, which are never given back. No byte is written.", x);
        return;
    case PSC_HOW_USE_SLOT:
        psc_text_addf(out, "Slot %u of ", step->slot);
        say_elements(out, step->len);
        psc_text_addf(out, " is idle, %s was read for the last time: the first such slot is taken.", name_of(t, step->take));
        break;
    case PSC_HOW_ALLOCATE: case PSC_HOW_REGION:
        psc_text_addf(out, "Nothing better was left: new slot %u of ", step->slot);
        say_elements(out, step->len);
        if (step->how == PSC_HOW_REGION)
            psc_text_addf(out, ", at element %" PRIu64 " of the arena", step->offset);
        psc_text_add(out, ".");
        break;
    case PSC_HOW_BAKED: psc_text_add(out, "A whole plan runs here as one step; its result is an allocation of its own."); break;
    default: break;
    }
    say_end(out, t, step);
}

const char *psc_explain_candela_why(struct psc_arena *arena, const struct psc_candela_tale *t, uint32_t at,
                                    const struct psc_denial *denied, uint32_t denied_n)
{
    struct psc_text text = {0};
    for (uint32_t i = 0; i < denied_n; i++) {
        psc_text_add(&text, i ? " " : "");
        say_denied(&text, t, &t->plan->steps[at], &denied[i]);
    }
    if (!denied)
        say_taken(&text, t, &t->plan->steps[at]);
    return psc_text_keep(&text, arena);
}

/* ---- the plan as a list ------------------------------------------------------------------------------------------- */

uint32_t psc_candela_line_n(const struct psc_candela_tale *t)
{
    return t->line_at[t->plan->n];
}

uint32_t psc_candela_line_of(const struct psc_candela_tale *t, int32_t position)
{
    return position < 0 ? 0 : t->line_at[position < (int32_t)t->plan->n ? (uint32_t)position : t->plan->n];
}

int32_t psc_candela_line_position(const struct psc_candela_tale *t, uint32_t line)
{
    uint32_t lo = 0, hi = t->plan->n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (t->line_at[middle + 1] <= line)
            lo = middle + 1;
        else
            hi = middle;
    }
    return (int32_t)lo;
}

void psc_explain_candela_line(struct psc_text *out, const struct psc_candela_tale *t, uint32_t line)
{
    uint32_t p = (uint32_t)psc_candela_line_position(t, line), at = 0, n;
    const struct psc_candela_step *step = &t->plan->steps[p];
    struct psc_arena scratch = {0};
    for (uint32_t k = line - t->line_at[p]; k && at < step->denied_n; k--)
        at += psc_tale_group(step, at);
    const struct psc_denial *denied = at < step->denied_n ? &step->denied[at] : NULL;
    n = denied ? psc_tale_group(step, at) : 0;
    const char *strategy = psc_explain_candela_strategy(&scratch, t, p, denied), *why = psc_explain_candela_why(&scratch, t, p, denied, n);
    psc_text_addf(out, "%5u  %s  %s  ", p, name_of(t, step->id), denied ? "refused" : "taken");
    psc_text_addf(out, "%s: %s", strategy ? strategy : "", why ? why : "");
    out->failed = out->failed || !strategy || !why;
    psc_arena_release(&scratch);
}

/* ---- what happens at a position ----------------------------------------------------------------------------------- */

static void say_alias(struct psc_text *out, const struct psc_candela_tale *t, const struct psc_alias_event *a)
{
    const char *node = name_of(t, a->node), *target = name_of(t, a->target);
    if (a->takeover)
        psc_text_addf(out, " From here on %s stands for %s (%s): who asks for %s gets %s.", node, target,
                      psc_explain_candela_promise(a->tag, false), target, node);
    else
        psc_text_addf(out, " %s gets no step of its own: %s stands for it (%s).", node, target,
                      psc_explain_candela_promise(a->tag, false));
}

/* Inputs that others stand for. */
static void say_resolved(struct psc_text *out, const struct psc_candela_tale *t, const struct psc_candela_step *step)
{
    const struct psc_lazy_node *node = &t->kept->lazy.nodes[step->id];
    for (uint32_t k = 0; k < step->input_n && k < node->input_n; k++)
        if (step->inputs[k] != node->inputs[k])
            psc_text_addf(out, " It reads %s where %s is written: the map says so.", name_of(t, step->inputs[k]),
                          name_of(t, node->inputs[k]));
}

static const char *in_short(enum psc_how how)
{
    static const char *const words[PSC_HOW_N] = {
        [PSC_HOW_LEAF] = "it is there already", [PSC_HOW_CACHE_HIT] = "the cache has it already",
        [PSC_HOW_IN_PLACE] = "computed in place, over an operand that nobody needs any more",
        [PSC_HOW_REFERENCE_SLOT] = "only another look at bytes that are there",
        [PSC_HOW_REFERENCE_ETERNAL] = "only another look at bytes that are there",
        [PSC_HOW_USE_SLOT] = "computed into a slot that is idle", [PSC_HOW_ALLOCATE] = "computed into a new slot",
        [PSC_HOW_REGION] = "computed into a region of the arena", [PSC_HOW_BAKED] = "a plan within the plan"};
    return how < PSC_HOW_N ? words[how] : "?";
}

const char *psc_explain_candela_words(struct psc_arena *arena, const struct psc_candela_tale *t, int32_t position)
{
    struct psc_tale_cursor c = psc_tale_at(t, position);
    bool inside = position >= 0 && position < (int32_t)t->plan->n;
    struct psc_text text = {0};
    if (position < 0) {
        psc_text_addf(&text, "Nothing is planned yet. The sort begins at the result, %s, and goes down to what it needs; each node that is listed "
                      "is planned at once. Step on with the right arrow key.",
                      name_of(t, t->kept->root));
    } else if (inside) {
        const struct psc_candela_step *step = &t->plan->steps[position];
        psc_text_addf(&text, "%s = %s: %s.", name_of(t, step->id), t->nodes[step->id].text,
                      psc_tale_is_cache(t, step->id) && step->how == PSC_HOW_REFERENCE_SLOT ? "kept for later calls" : in_short(step->how));
        say_resolved(&text, t, step);
    } else {
        psc_text_addf(&text, "The plan is complete: %u steps in %u slot%s. The result is %s.", t->plan->n, t->plan->slot_n,
                      t->plan->slot_n == 1 ? "" : "s", name_of(t, t->plan->root));
    }
    for (uint32_t e = c.events_from, said = 0; e < c.events && said < 8; e++, said++)
        say_alias(&text, t, &t->plan->aliases[e]);
    if (inside && t->plan->steps[position].dealloc_n) {
        const struct psc_candela_step *step = &t->plan->steps[position];
        psc_text_add(&text, " Given back after it:");
        for (uint32_t k = 0; k < step->dealloc_n && k < 8; k++)
            psc_text_addf(&text, "%s %s", k ? "," : "", name_of(t, step->dealloc[k]));
        psc_text_add(&text, step->dealloc_n > 8 ? " and more." : ".");
    }
    return psc_text_keep(&text, arena);
}

/* ---- all of a view ------------------------------------------------------------------------------------------------- */

static void say_stack(struct psc_text *out, const struct psc_candela_view *v)
{
    if (v->stack_n)
        psc_text_add(out, " Sort stack from the top:");
    for (uint32_t i = 0; i < v->stack_n; i++)
        psc_text_addf(out, "%s %s (%s)", i ? "," : "", v->stack[i].name,
                      v->stack[i].leaving ? "listed now" : v->stack[i].entered ? "waits for what it needs" : "to be visited");
    if (v->stack_n)
        psc_text_add(out, v->stack_all > v->stack_n ? " and more." : ".");
}

static void say_arrows(struct psc_text *out, const struct psc_candela_view *v)
{
    if (v->arrow_n)
        psc_text_add(out, " Alias map:");
    for (uint32_t i = 0; i < v->arrow_n; i++) {
        const struct psc_candela_arrow *a = &v->arrows[i];
        psc_text_addf(out, "%s %s for %s (%s", i ? ";" : "", a->owner, a->node, a->promise);
        if (a->before)
            psc_text_addf(out, ", until now %s", a->before);
        psc_text_add(out, a->two_hops ? ", two hops)" : ")");
    }
    if (v->arrow_n)
        psc_text_add(out, v->arrow_all > v->arrow_n ? " and more." : ".");
}

static void say_live(struct psc_text *out, const struct psc_candela_view *v)
{
    static const char *const fates[] = {"", ", made here", ", overwritten here", ", taken here", ", given back after it"};
    if (v->stopped)
        psc_text_addf(out, " %s", v->stopped);
    if (v->live_n)
        psc_text_add(out, " Executor:");
    for (uint32_t i = 0; i < v->live_n; i++)
        psc_text_addf(out, "%s %s (%s, %u holder%s%s)", i ? "," : "", v->live[i].name, v->live[i].bytes, v->live[i].holders,
                      v->live[i].holders == 1 ? "" : "s", fates[v->live[i].fate]);
    if (v->live_n)
        psc_text_addf(out, "%s%s%s.", v->live_all > v->live_n ? " and older ones" : "", v->no_values ? "; " : "", v->no_values ? v->no_values : "");
}

static void say_level(struct psc_text *out, const struct psc_candela_view *v)
{
    const uint32_t most = 12;
    if (!v->level_n)
        return;
    psc_text_addf(out, " %s Steps run %s.", v->waits, v->by_level ? "level by level" : "one by one");
    for (uint32_t i = 0, said = 0; v->beside_all > 1 && i < v->beside_n && said < most; i++)
        if (i != v->beside_at)
            psc_text_addf(out, "%s %s", said++ ? "," : " Beside it may run:", v->beside[i].name);
    if (v->beside_all > 1)
        psc_text_add(out, v->beside_all > most + 1 ? " and more." : ".");
}

static void say_rivals(struct psc_text *out, const struct psc_candela_view *v)
{
    if (v->rivals_wait)
        psc_text_add(out, " The generations are not compared yet.");
    for (uint32_t i = 0; i < v->rival_n; i++) {
        const struct psc_candela_rival_view *r = &v->rivals[i];
        psc_text_addf(out, " %s%s: ", r->name, r->current ? " (shown)" : "");
        if (r->strategy)
            psc_text_addf(out, "%s%s; ", r->strategy, r->same ? "" : ", otherwise than shown");
        psc_text_addf(out, "%s%s", r->result, r->result[0] && r->result[strlen(r->result) - 1] == '.' ? "" : ".");
    }
}

void psc_explain_candela_view(struct psc_text *out, const struct psc_candela_view *v)
{
    psc_text_add(out, v->words);
    for (uint32_t i = 0; i < v->try_n; i++)
        psc_text_addf(out, " %s %s: %s", v->tries[i].taken ? "Taken:" : "Refused:", v->tries[i].strategy, v->tries[i].why);
    say_stack(out, v);
    say_arrows(out, v);
    if (v->slot_n)
        psc_text_add(out, " Slots:");
    for (uint32_t i = 0; i < v->slot_n; i++)
        psc_text_addf(out, "%s slot %u %s%s", i ? "," : "", v->slots[i].slot, v->slots[i].owner ? v->slots[i].owner : "",
                      v->slots[i].use == PSC_SLOT_GONE ? " given back" : v->slots[i].use == PSC_SLOT_IDLE ? " idle" : "");
    if (v->slot_n)
        psc_text_add(out, ".");
    say_live(out, v);
    say_level(out, v);
    say_rivals(out, v);
}
