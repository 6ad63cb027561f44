#include "core/plan/offsets/box-set.h"

#include "core/base/mem.h"
#include "core/plan/offsets/boxing.h"

/* ---- from a graph ---------------------------------------------------------------------------------------------- */

static const char *name_of(struct psc_arena *arena, uint64_t id)
{
    char digits[24], *p = digits + sizeof digits;
    *--p = 0;
    do
        *--p = (char)('0' + id % 10);
    while (id /= 10);
    return psc_arena_strdup(arena, p);
}

static enum psc_status one_backend(const struct psc_graph *graph, const struct psc_boxing *boxing, struct psc_error *reterr)
{
    for (uint32_t k = 1; k < boxing->box_n; k++) {
        uint8_t a = boxing->backend[0], b = boxing->backend[k];
        if (a != b)
            return psc_fail(reterr, PSC_ERR_USAGE, "the tensors lie on several backends (%s, %s): a list of boxes is one memory",
                            a < graph->backend_n ? graph->backends[a] : "none", b < graph->backend_n ? graph->backends[b] : "none");
    }
    return PSC_OK;
}

static bool fill_set(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_boxing *boxing,
                     const struct psc_plan *plan, struct psc_box_set *set)
{
    const char **names = psc_arena_alloc(arena, boxing->box_n, sizeof *names);
    int64_t *times = psc_arena_alloc(arena, (size_t)graph->n + 2, sizeof *times);
    uint64_t *offset = psc_arena_alloc(arena, boxing->box_n, sizeof *offset);
    uint32_t *turn = psc_arena_alloc0(arena, boxing->box_n, sizeof *turn);
    struct psc_offsets_space *space = psc_arena_alloc0(arena, 1, sizeof *space);
    if (!names || !times || !offset || !turn || !space)
        return false;
    for (uint32_t k = 0; k <= graph->n + 1; k++)
        times[k] = k;
    for (uint32_t k = 0; k < boxing->box_n; k++) {
        names[k] = name_of(arena, graph->nodes[boxing->boxes[k].begin].id);
        if (!names[k])
            return false;
        offset[k] = plan ? plan->places[boxing->boxes[k].begin].offset : 0;
        turn[k] = plan ? (uint32_t)plan->places[boxing->boxes[k].begin].a - 1 : 0;
    }
    *set = (struct psc_box_set){
        .problem = {.boxes = boxing->boxes, .box_n = boxing->box_n, .step_n = graph->n + 1,
                    .align = plan ? plan->options.align : 0},
        .names = names, .times = times};
    if (plan && plan->certificate_n)
        *space = plan->certificates[0].space;
    if (plan)
        set->packed = (struct psc_offsets){offset, turn, space, 1};
    return true;
}

enum psc_status psc_box_set_of_graph(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                                     struct psc_box_set *ret, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_digest digest;
    struct psc_boxing boxing;
    enum psc_status status = psc_digest_build(&scratch, &scratch, graph, &digest) ? psc_fail_nomem(reterr) : PSC_OK;
    if (!status)
        status = psc_boxing_build(arena, graph, &digest, plan && plan->options.apart ? PSC_BOXING_APART : 0, &boxing, reterr);
    if (!status)
        status = one_backend(graph, &boxing, reterr);
    if (!status && !fill_set(arena, graph, &boxing, plan, ret))
        status = psc_fail_nomem(reterr);
    psc_arena_release(&scratch);
    return status;
}

/* ---- its story ---------------------------------------------------------------------------------------------------- */

struct telling {
    const struct psc_box_set *set;
    const struct psc_offsets *packed;
    struct psc_story_builder *story;
    struct psc_arena scratch;
    uint32_t *by_begin, *by_end; /* boxes in these orders */
    uint32_t *position;          /* [step_n + 1]: of each step's begin; its end is the one before the next step's */
    const char **titles;
    uint32_t position_n;
};

/* Boxes by begin or end, ties by index. */
static uint32_t *sort(struct telling *t, bool by_end)
{
    const struct psc_offsets_problem *p = &t->set->problem;
    uint32_t *order = psc_arena_alloc(&t->scratch, p->box_n, sizeof *order);
    uint32_t *at = psc_arena_alloc0(&t->scratch, (size_t)p->step_n + 2, sizeof *at);
    if (!order || !at)
        return NULL;
    for (uint32_t i = 0; i < p->box_n; i++)
        at[(by_end ? p->boxes[i].end : p->boxes[i].begin) + 1]++;
    for (uint32_t s = 0; s <= p->step_n; s++)
        at[s + 1] += at[s];
    for (uint32_t i = 0; i < p->box_n; i++)
        order[at[by_end ? p->boxes[i].end : p->boxes[i].begin]++] = i;
    return order;
}

static const char *title(struct telling *t, const char *word, int64_t time)
{
    struct psc_text text = {0};
    psc_text_addf(&text, "%s %lld", word, (long long)time);
    return psc_text_keep(&text, &t->scratch);
}

/* A position writes at most PSC_WRITES_MAX times: a step at which more begins gets more of them. */
static enum psc_status lay_positions(struct telling *t, struct psc_error *reterr)
{
    const struct psc_offsets_problem *p = &t->set->problem;
    uint64_t n = 0;
    uint32_t k = 0;
    t->position = psc_arena_alloc(&t->scratch, (size_t)p->step_n + 1, sizeof *t->position);
    if (!t->position)
        return psc_fail_nomem(reterr);
    for (uint32_t s = 0; s < p->step_n; s++) {
        uint32_t begins = k;
        while (k < p->box_n && p->boxes[t->by_begin[k]].begin == s)
            k++;
        begins = k - begins;
        t->position[s] = (uint32_t)n;
        n += 1 + (begins ? (begins - 1) / PSC_WRITES_MAX + 1 : 1);
        if (n > INT32_MAX / 2)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "the boxes begin and end at more than 2^30 times");
    }
    t->position[p->step_n] = t->position_n = (uint32_t)n;
    t->titles = psc_arena_alloc(&t->scratch, (size_t)n, sizeof *t->titles);
    for (uint32_t s = 0; t->titles && s < p->step_n; s++) {
        const char *at = title(t, "at", t->set->times[s]), *before = title(t, "before", t->set->times[s + 1]);
        if (!at || !before)
            return psc_fail_nomem(reterr);
        for (uint32_t i = t->position[s]; i < t->position[s + 1]; i++)
            t->titles[i] = i + 1 < t->position[s + 1] ? at : before;
    }
    return t->titles ? PSC_OK : psc_fail_nomem(reterr);
}

static struct psc_event event_of(const struct telling *t, enum psc_event_kind kind, uint32_t position, uint32_t box)
{
    struct psc_event event = psc_event_blank(kind, (int32_t)position);
    event.value = box;
    event.buffer = 0;
    event.lo = t->packed->offset[box];
    event.hi = event.lo + t->set->problem.boxes[box].bytes;
    return event;
}

static void tell(struct telling *t, enum psc_event_kind kind, uint32_t position, uint32_t box)
{
    struct psc_event event = event_of(t, kind, position, box);
    psc_story_add_event(t->story, &event);
}

/* Boxes by_begin[from, to) begin at the positions from `at` on, PSC_WRITES_MAX of them at each. */
static void begin_boxes(struct telling *t, uint32_t at, uint32_t from, uint32_t to)
{
    for (; from < to; at++) {
        uint32_t end = to - from < PSC_WRITES_MAX ? to : from + PSC_WRITES_MAX;
        for (uint32_t k = from; k < end; k++)
            tell(t, PSC_EV_ALLOC, at, t->by_begin[k]);
        for (uint32_t k = from; k < end; k++)
            tell(t, PSC_EV_WRITE, at, t->by_begin[k]);
        from = end;
    }
}

static void tell_all(struct telling *t)
{
    const struct psc_offsets_problem *p = &t->set->problem;
    uint32_t b = 0, e = 0;
    for (uint32_t s = 0; s < p->step_n; s++) {
        uint32_t from = b, first = e, end = t->position[s + 1] - 1;
        while (b < p->box_n && p->boxes[t->by_begin[b]].begin == s)
            b++;
        begin_boxes(t, t->position[s], from, b);
        for (; e < p->box_n && p->boxes[t->by_end[e]].end == s + 1; e++)
            tell(t, PSC_EV_READ, end, t->by_end[e]);
        for (uint32_t k = first; k < e; k++)
            tell(t, PSC_EV_RELEASE, end, t->by_end[k]);
    }
}

static void add_rooms(struct telling *t)
{
    const struct psc_offsets_problem *p = &t->set->problem;
    psc_story_add_lane(t->story, "host", PSC_BACKEND_NONE);
    psc_story_add_buffer(t->story, &(struct psc_buffer){.name = "arena", .backend = PSC_BACKEND_NONE, .role = PSC_ROLE_ARENA,
                                                        .bytes = t->packed->spaces[0].height});
    for (uint32_t i = 0; i < p->box_n; i++)
        psc_story_add_value(t->story, &(struct psc_value){.kind = PSC_VALUE_NODE, .backend = PSC_BACKEND_NONE, .layer = -1,
                                                          .node = PSC_NONE, .of = PSC_NONE, .bytes = p->boxes[i].bytes,
                                                          .name = t->set->names[i]});
}

enum psc_status psc_box_set_story(struct psc_arena *arena, const struct psc_box_set *set, const struct psc_offsets *packed,
                                  struct psc_story **ret, struct psc_error *reterr)
{
    struct telling t = {.set = set, .packed = packed, .story = psc_story_builder_new()};
    enum psc_status status = PSC_OK;
    t.by_begin = sort(&t, false);
    t.by_end = sort(&t, true);
    if (!t.story || !t.by_begin || !t.by_end)
        status = psc_fail_nomem(reterr);
    if (!status)
        status = lay_positions(&t, reterr);
    if (!status) {
        add_rooms(&t);
        tell_all(&t);
        psc_story_set_order(t.story, t.position_n, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
        psc_story_set_titles(t.story, t.titles);
        status = psc_story_builder_finish(t.story, arena, ret, reterr);
    }
    psc_story_builder_free(t.story);
    psc_arena_release(&t.scratch);
    return status;
}
