#include "core/candela/story.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

struct spot { /* where an id's bytes lie */
    uint32_t value, root; /* root: the value that owns the bytes, PSC_NONE: nowhere */
    uint32_t buffer;
    uint64_t lo;          /* of the root's first byte in the buffer */
    struct psc_strides layout;
};
struct lowering {
    const struct psc_candela_plan *plan;
    struct psc_story_builder *story;
    struct spot *spots;      /* [id_n] */
    uint32_t *slot_buffer;   /* [slot_n] */
    uint32_t *slot_owner;    /* [slot_n]: value that lies in it now */
    uint32_t arena, nowhere; /* buffers */
    uint64_t base;
    uint32_t *step_of;       /* [id_n] */
    bool levels;
};
enum { NOWHERE = 4 }; /* bytes that are read where there are none: the smallest tensor */

static bool faulty(const struct lowering *l, enum psc_candela_fault fault)
{
    return l->plan->options.faults & PSC_CANDELA_BIT(fault);
}

static uint32_t add_buffer(struct lowering *l, const char *name, enum psc_role role, uint64_t bytes)
{
    struct psc_buffer buffer = {.name = name, .role = role, .bytes = bytes, .base = l->base};
    l->base += bytes;
    return psc_story_add_buffer(l->story, &buffer);
}

static void add_buffers(struct lowering *l)
{
    char name[32];
    l->nowhere = PSC_NONE;
    l->arena = l->plan->arena_len ? add_buffer(l, "arena", PSC_ROLE_ARENA, 4 * l->plan->arena_len) : PSC_NONE;
    for (uint32_t s = 0; s < l->plan->slot_n; s++) {
        snprintf(name, sizeof name, "s%u", s);
        l->slot_owner[s] = PSC_NONE;
        l->slot_buffer[s] = l->plan->slots[s].packed ? l->arena : add_buffer(l, name, PSC_ROLE_POOL, 4 * l->plan->slots[s].len);
    }
}

/* ---- values --------------------------------------------------------------------------------------------- */

static bool is_filled(enum psc_how how)
{
    return how == PSC_HOW_LEAF || how == PSC_HOW_CACHE_HIT;
}

static uint64_t bytes_of(const struct psc_strides *layout, uint64_t *ret_lo)
{
    uint64_t lo, hi;
    psc_layout_span(layout, &lo, &hi);
    if (ret_lo)
        *ret_lo = 4 * lo;
    return 4 * (hi - lo);
}

/* Leaves, inputs and caches are their owners': no memory that the plan asks for. */
static void settle_filled(struct lowering *l, uint32_t id, uint32_t value, const char *what, const struct psc_strides *layout)
{
    uint64_t lo, hi;
    char text[96];
    psc_layout_span(layout, &lo, &hi);
    snprintf(text, sizeof text, "%s %.60s", what, l->plan->names[id]);
    l->spots[id] = (struct spot){value, value, add_buffer(l, text, PSC_ROLE_EXTERNAL, 4 * hi), 0, *layout};
}

/* Where each step's result lies, in order: ids are made once, and what comes later is not known earlier. */
static void settle_step(struct lowering *l, uint32_t p)
{
    const struct psc_candela_step *step = &l->plan->steps[p];
    struct spot *spot = &l->spots[step->id];
    if (is_filled(step->how)) {
        bool kept = step->how == PSC_HOW_CACHE_HIT;
        settle_filled(l, step->id, p, kept ? "cache" : "edge", kept && step->cell ? &step->cell->layout : &step->layout);
    } else if (psc_how_is_reference(step->how)) {
        const struct spot *from = &l->spots[step->inputs[step->operand]];
        *spot = *from;
        spot->value = p;
        spot->layout = step->layout;
        spot->layout.offset = from->layout.offset + step->shift;
    } else if (step->how == PSC_HOW_BAKED) {
        char text[96];
        snprintf(text, sizeof text, "baked %.60s", step->name);
        *spot = (struct spot){p, p, add_buffer(l, text, PSC_ROLE_POOL, bytes_of(&step->layout, NULL)), 0, step->layout};
    } else {
        const struct psc_candela_slot *slot = &l->plan->slots[step->slot];
        *spot = (struct spot){p, p, l->slot_buffer[step->slot], 4 * (slot->packed ? slot->offset : 0), step->layout};
    }
}

static void add_value(struct lowering *l, uint32_t p, bool is_output)
{
    const struct psc_candela_step *step = &l->plan->steps[p];
    const struct spot *spot = &l->spots[step->id];
    struct psc_value value = {
        .kind = is_filled(step->how) ? PSC_VALUE_FILL : PSC_VALUE_NODE,
        .is_view = psc_how_is_reference(step->how) && spot->root != PSC_NONE,
        .is_output = is_output,
        .layer = -1,
        .node = p,
        .of = PSC_NONE,
        .name = step->name,
    };
    value.bytes = bytes_of(&spot->layout, &value.offset);
    if (value.is_view) {
        value.of = spot->root;
    } else {
        value.bytes += value.offset;
        value.offset = 0;
    }
    psc_story_add_value(l->story, &value);
}

/* ---- events --------------------------------------------------------------------------------------------- */

static struct psc_event at_spot(enum psc_event_kind kind, int32_t position, const struct spot *spot)
{
    struct psc_event event = psc_event_blank(kind, position);
    uint64_t lo, n = bytes_of(&spot->layout, &lo);
    event.value = spot->value;
    event.buffer = spot->buffer;
    event.lo = spot->lo + (spot->value == spot->root ? 0 : lo);
    event.hi = spot->lo + lo + n;
    event.lane = 1;
    return event;
}

static void add(struct lowering *l, struct psc_event event, uint32_t step)
{
    event.node = step;
    psc_story_add_event(l->story, &event);
}

/* What an id that has no bytes yet is read from. */
static struct psc_event read_nowhere(struct lowering *l, uint32_t p, uint32_t id)
{
    struct psc_event event = psc_event_blank(PSC_EV_READ, (int32_t)p);
    uint32_t value = PSC_NONE, q = l->step_of[id];
    char text[96];
    if (q != PSC_NONE && !psc_how_is_reference(l->plan->steps[q].how))
        value = q;
    if (value == PSC_NONE) {
        snprintf(text, sizeof text, q == PSC_NONE ? "%.60s, which no step makes" : "%.60s, which shows what is not there",
                 l->plan->names[id]);
        struct psc_value missing = {.layer = -1, .node = PSC_NONE, .of = PSC_NONE, .bytes = NOWHERE, .name = text};
        value = psc_story_add_value(l->story, &missing);
    }
    if (l->nowhere == PSC_NONE)
        l->nowhere = add_buffer(l, "nowhere", PSC_ROLE_POOL, NOWHERE);
    event.value = value;
    event.buffer = l->nowhere;
    event.hi = NOWHERE;
    event.lane = 1;
    return event;
}

static void read_inputs(struct lowering *l, uint32_t p, bool *made)
{
    const struct psc_candela_step *step = &l->plan->steps[p];
    bool turned = step->how == PSC_HOW_IN_PLACE && step->operand == 1 && faulty(l, PSC_CANDELA_B1);
    for (uint32_t k = 0; k < step->input_n; k++) {
        const struct spot *spot = &l->spots[step->inputs[k]];
        struct psc_event event;
        if (!made[step->inputs[k]] || spot->root == PSC_NONE) {
            event = read_nowhere(l, p, step->inputs[k]);
        } else {
            event = at_spot(PSC_EV_READ, (int32_t)p, spot);
            /* b1: what it overwrites is taken for the left operand, whichever it is */
            if (turned) {
                struct psc_event other = at_spot(PSC_EV_READ, (int32_t)p, &l->spots[step->inputs[1 - k]]);
                event.buffer = other.buffer;
                event.lo = other.lo;
                event.hi = other.hi;
            }
            if (faulty(l, PSC_CANDELA_B9) && psc_layout_contiguous(&spot->layout)) {
                event.hi -= event.lo - spot->lo;
                event.lo = spot->lo;
            }
        }
        event.operand = (uint16_t)k;
        add(l, event, p);
    }
}

static void write_scratch(struct lowering *l, uint32_t p)
{
    const struct psc_candela_step *step = &l->plan->steps[p];
    const struct psc_candela_slot *slot = &l->plan->slots[step->slot];
    struct psc_value value = {.kind = PSC_VALUE_WORKSPACE, .layer = -1, .node = p, .of = PSC_NONE, .bytes = 4 * slot->len};
    struct psc_event event = psc_event_blank(PSC_EV_WRITE, (int32_t)p);
    event.value = psc_story_add_value(l->story, &value);
    event.buffer = l->slot_buffer[step->slot];
    event.lo = 4 * (slot->packed ? slot->offset : 0);
    event.hi = event.lo + value.bytes;
    event.lane = 1;
    add(l, event, p);
}

static void write_result(struct lowering *l, uint32_t p)
{
    const struct psc_candela_step *step = &l->plan->steps[p];
    const struct spot *spot = &l->spots[step->id];
    if (psc_how_is_reference(step->how)) {
        if (spot->root != PSC_NONE)
            add(l, at_spot(PSC_EV_VIEW, (int32_t)p, spot), p);
        return;
    }
    if (step->how == PSC_HOW_IN_PLACE) {
        struct psc_event event = at_spot(PSC_EV_ALIAS, (int32_t)p, spot);
        event.peer = l->spots[step->inputs[step->operand]].root;
        add(l, event, p);
    }
    if (step->how == PSC_HOW_BAKED && step->slot != PSC_NONE)
        write_scratch(l, p);
    add(l, at_spot(PSC_EV_WRITE, (int32_t)p, spot), p);
    if (step->how != PSC_HOW_BAKED)
        l->slot_owner[step->slot] = p;
}

/* Bytes go when the id that owns the slot goes. */
static void give_back(struct lowering *l, uint32_t p, const bool *made)
{
    const struct psc_candela_step *step = &l->plan->steps[p];
    for (uint32_t k = 0; k < step->dealloc_n; k++) {
        const struct spot *spot = &l->spots[step->dealloc[k]];
        if (!made[step->dealloc[k]] || spot->value != spot->root)
            continue;
        uint32_t slot = l->plan->steps[spot->value].slot;
        if (slot == PSC_NONE || l->slot_owner[slot] != spot->value)
            continue;
        add(l, at_spot(PSC_EV_RELEASE, (int32_t)p, spot), p);
        /* The heap has it back, whoever read it last. By levels the step that lists it is only the last one listed: another
         * reader may stand on a later level, and what is written over the bytes waits for both (anti-dependencies). */
        if (!l->plan->slots[slot].packed && !l->levels)
            add(l, at_spot(PSC_EV_TRIM, (int32_t)p, spot), PSC_NONE);
    }
}

static void add_steps(struct lowering *l, bool *made)
{
    const struct psc_candela_plan *plan = l->plan;
    for (uint32_t p = 0; p < plan->n; p++)
        if (is_filled(plan->steps[p].how)) {
            struct psc_event event = at_spot(PSC_EV_FILL, -1, &l->spots[plan->steps[p].id]);
            event.lane = 0;
            psc_story_add_event(l->story, &event);
        }
    for (uint32_t k = 0; k < plan->external_n; k++) {
        struct psc_event event = at_spot(PSC_EV_FILL, -1, &l->spots[plan->externals[k]]);
        event.lane = 0;
        psc_story_add_event(l->story, &event);
        made[plan->externals[k]] = true;
    }
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *step = &plan->steps[p];
        bool writes = step->how == PSC_HOW_ALLOCATE || step->how == PSC_HOW_REGION || step->how == PSC_HOW_BAKED;
        if (writes)
            add(l, at_spot(PSC_EV_ALLOC, (int32_t)p, &l->spots[step->id]), p);
        if (!is_filled(step->how)) {
            if (!psc_how_is_reference(step->how) || !made[step->inputs[step->operand]])
                read_inputs(l, p, made);
            write_result(l, p);
        }
        made[step->id] = true;
        give_back(l, p, made);
    }
}

/* The host's own reads at the end: what caches keep, and the result. */
static void add_end(struct lowering *l, const bool *made)
{
    const struct psc_candela_plan *plan = l->plan;
    for (uint32_t p = 0; p <= plan->n; p++) {
        bool last = p == plan->n;
        uint32_t id = last ? plan->root : plan->steps[p].id;
        bool keeps = !last && plan->steps[p].cell && plan->steps[p].how != PSC_HOW_CACHE_HIT;
        if ((!last && !keeps) || !made[id] || l->spots[id].root == PSC_NONE)
            continue;
        struct psc_event event = at_spot(last ? PSC_EV_EXPORT : PSC_EV_HOST_READ, (int32_t)plan->n, &l->spots[id]);
        event.lane = 0;
        psc_story_add_event(l->story, &event);
    }
}

/* "sum * 2 + 1", "a - b", "transpose(t)"; of a long list of scalars the first three. */
static void add_formula(struct psc_text *out, const struct psc_candela_plan *plan, const struct psc_candela_step *step)
{
    static const char signs[] = "+-*/";
    const char *const *names = plan->names;
    if (step->input_n == 1 && step->scalar_n) {
        psc_text_add(out, names[step->inputs[0]]);
        for (uint32_t k = 0; k < step->scalar_n && k < 3; k++)
            psc_text_addf(out, " %c %g", step->scalars[k].op, (double)step->scalars[k].value);
        psc_text_add(out, step->scalar_n > 3 ? " ..." : "");
        return;
    }
    if (step->input_n == 2 && psc_lazy_op_is_binary(step->op) && step->how != PSC_HOW_BAKED) {
        psc_text_addf(out, "%s %c %s", names[step->inputs[0]], signs[step->op - PSC_LAZY_ADD], names[step->inputs[1]]);
        return;
    }
    psc_text_add(out, step->how == PSC_HOW_BAKED ? "baked" : step->cell ? "cache" : psc_lazy_op_name(step->op));
    for (uint32_t k = 0; k < step->input_n; k++)
        psc_text_addf(out, "%s%s", k ? ", " : "(", names[step->inputs[k]]);
    psc_text_add(out, step->input_n ? ")" : "()");
}

void psc_candela_title(struct psc_text *out, const struct psc_candela_plan *plan, uint32_t at)
{
    const struct psc_candela_step *step = &plan->steps[at];
    psc_text_addf(out, "%s", step->name);
    if (step->how == PSC_HOW_LEAF || step->how == PSC_HOW_CACHE_HIT) {
        psc_text_addf(out, ": %s", psc_how_name(step->how));
        return;
    }
    psc_text_add(out, " = ");
    add_formula(out, plan, step);
    psc_text_addf(out, ": %s", psc_how_name(step->how));
    if (step->how == PSC_HOW_IN_PLACE)
        psc_text_addf(out, " over %s", plan->names[step->inputs[step->operand]]);
    if (step->how == PSC_HOW_USE_SLOT)
        psc_text_addf(out, " of %s", plan->names[step->take]);
}

static bool add_titles(struct lowering *l, struct psc_arena *scratch)
{
    const char **titles = psc_arena_alloc(scratch, l->plan->n, sizeof *titles);
    struct psc_text text = {0};
    bool fine = titles != NULL;
    for (uint32_t p = 0; fine && p < l->plan->n; p++) {
        psc_text_clear(&text);
        psc_candela_title(&text, l->plan, p);
        titles[p] = text.failed ? NULL : psc_arena_strdup(scratch, psc_text_str(&text));
        fine = titles[p] != NULL;
    }
    if (fine)
        psc_story_set_titles(l->story, titles);
    psc_text_release(&text);
    return fine;
}

static bool lower(struct lowering *l, struct psc_arena *scratch)
{
    const struct psc_candela_plan *plan = l->plan;
    bool *made = psc_arena_alloc0(scratch, plan->id_n, sizeof *made);
    uint32_t *level = psc_arena_alloc(scratch, plan->n, sizeof *level);
    l->spots = psc_arena_alloc0(scratch, plan->id_n, sizeof *l->spots);
    l->slot_buffer = psc_arena_alloc(scratch, plan->slot_n, sizeof *l->slot_buffer);
    l->slot_owner = psc_arena_alloc(scratch, plan->slot_n, sizeof *l->slot_owner);
    l->step_of = psc_arena_alloc(scratch, plan->id_n, sizeof *l->step_of);
    if (!l->step_of || !made || !level || !l->spots || !l->slot_buffer || !l->slot_owner)
        return false;
    for (uint32_t id = 0; id < plan->id_n; id++)
        l->spots[id].root = l->step_of[id] = PSC_NONE;
    for (uint32_t p = 0; p < plan->n; p++)
        l->step_of[plan->steps[p].id] = p;
    psc_story_add_lane(l->story, "host", PSC_BACKEND_NONE);
    psc_story_add_lane(l->story, "cpu", psc_story_add_backend(l->story, "cpu"));
    add_buffers(l);
    for (uint32_t k = 0; k < plan->external_n; k++)
        settle_filled(l, plan->externals[k], plan->n + k, "input", &plan->external_layouts[k]);
    for (uint32_t p = 0; p < plan->n; p++)
        settle_step(l, p);
    for (uint32_t p = 0; p < plan->n; p++) {
        level[p] = plan->steps[p].level;
        add_value(l, p, plan->steps[p].id == plan->root || p == l->spots[plan->root].root);
    }
    for (uint32_t k = 0; k < plan->external_n; k++) {
        struct psc_value value = {.kind = PSC_VALUE_FILL, .layer = -1, .node = PSC_NONE, .of = PSC_NONE,
                                  .name = plan->names[plan->externals[k]]};
        value.bytes = bytes_of(&plan->external_layouts[k], &value.offset);
        value.bytes += value.offset;
        value.offset = 0;
        psc_story_add_value(l->story, &value);
    }
    psc_story_set_order(l->story, plan->n, NULL, NULL, l->levels ? PSC_EXEC_LEVEL : PSC_EXEC_SERIAL,
                        l->levels ? level : NULL, true);
    add_steps(l, made);
    add_end(l, made);
    return add_titles(l, scratch);
}

enum psc_status psc_candela_lower(struct psc_arena *arena, const struct psc_candela_plan *plan, bool levels,
                                  struct psc_story **ret, struct psc_error *reterr)
{
    struct lowering l = {.plan = plan, .story = psc_story_builder_new(), .levels = levels};
    struct psc_arena scratch = {0};
    enum psc_status status = l.story && lower(&l, &scratch) ? PSC_OK : psc_fail_nomem(reterr);
    if (!status)
        status = psc_story_builder_finish(l.story, arena, ret, reterr);
    psc_story_builder_free(l.story);
    psc_arena_release(&scratch);
    return status;
}
