#include "core/debug/explain-words.h"
#include "core/debug/verdict.h"

/* Everything a sentence about a finding needs. */
struct telling {
    struct psc_text *out;
    const struct psc_analysis *a;
    const struct psc_finding *f;
    const struct psc_event *write, *read; /* NULL when there is none */
};

static struct telling begin(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f)
{
    const struct psc_event *events = a->story->events;
    struct telling t = {out, a, f, NULL, NULL};

    t.write = f->write_event == PSC_NONE ? NULL : &events[f->write_event];
    t.read = f->read_event == PSC_NONE ? NULL : &events[f->read_event];
    return t;
}

static void say_victim(const struct telling *t)
{
    psc_say_value(t->out, t->a, t->f->victim_value);
}

static void say_writer(const struct telling *t)
{
    const struct psc_graph *g = t->a->phase->graph;

    if (t->write->kind == PSC_EV_FILL)
        psc_text_add(t->out, "the fill of ");
    if (g && t->f->writer_value != PSC_NONE && t->a->story->values[t->f->writer_value].kind == PSC_VALUE_WORKSPACE)
        psc_text_add(t->out, "the workspace of ");
    if (t->write->kind == PSC_EV_GROW || t->write->kind == PSC_EV_EVICT || t->write->kind == PSC_EV_TRIM)
        psc_text_addf(t->out, "%s of the buffer", psc_event_name(t->write->kind));
    else if (g && t->write->node < g->n && t->write->kind != PSC_EV_ENQUEUE)
        psc_say_node(t->out, g, t->write->node);
    else
        psc_say_value(t->out, t->a, t->f->writer_value);
}

/* The title of the event's position, in a story whose steps are no nodes; NULL when it has none. */
static const char *title_of(const struct telling *t, const struct psc_event *e)
{
    const struct psc_story *story = t->a->story;

    if (!story->titles || !e || e->position < 0 || (uint32_t)e->position >= story->position_n)
        return NULL;
    return story->titles[e->position];
}

static void say_reader(const struct telling *t)
{
    const char *title = title_of(t, t->read);

    if (title)
        psc_text_add(t->out, title);
    else if (t->f->reader != PSC_NONE)
        psc_say_node(t->out, t->a->phase->graph, t->f->reader);
    else
        psc_text_add(t->out, t->f->reader_kind == PSC_READER_RERUN ? "a second run" : "the host");
}

static void say_place(const struct telling *t)
{
    psc_text_add(t->out, " (");
    psc_say_buffer(t->out, t->a->story, t->f->buffer);
    psc_text_add(t->out, ")");
}

static void say_need(const struct telling *t)
{
    switch (t->f->reader_kind) {
    case PSC_READER_EXPORT:
        psc_text_add(t->out, ", an output that the host reads at the end.");
        return;
    case PSC_READER_RERUN:
        psc_text_add(t->out, ", which a second run without a refill would read.");
        return;
    case PSC_READER_HOST:
        psc_text_add(t->out, ", which the host still reads.");
        return;
    case PSC_READER_NODE:
        break;
    }
    if (t->f->reader == PSC_NONE) {
        psc_text_add(t->out, ".");
        return;
    }
    psc_text_add(t->out, ", still needed by ");
    say_reader(t);
    psc_text_add(t->out, ".");
}

static bool is_too_long(const struct telling *t)
{
    return t->write && !t->read && t->write->hi > t->a->story->buffers[t->write->buffer].bytes;
}

static void say_too_long(const struct telling *t)
{
    const struct psc_buffer *buffer = &t->a->story->buffers[t->write->buffer];

    say_writer(t);
    psc_text_add(t->out, " writes ");
    psc_say_bytes(t->out, t->write->hi - t->write->lo);
    psc_text_addf(t->out, " from byte %llu of ", (unsigned long long)t->write->lo);
    psc_say_buffer(t->out, t->a->story, t->write->buffer);
    psc_text_add(t->out, ", which holds ");
    psc_say_bytes(t->out, buffer->bytes);
    psc_text_add(t->out, ": ");
    psc_say_bytes(t->out, t->f->hi - t->f->lo);
    psc_text_add(t->out, " too many.");
}

static void say_unwritten(const struct telling *t)
{
    const struct psc_value *v = &t->a->story->values[t->f->victim_value];

    say_reader(t);
    psc_text_add(t->out, " reads ");
    psc_say_bytes(t->out, t->f->hi - t->f->lo);
    psc_text_add(t->out, " of ");
    say_victim(t);
    say_place(t);
    if (v->kind == PSC_VALUE_STAGING && t->f->kind == PSC_K6)
        psc_text_add(t->out, " before anybody waited for the copy.");
    else
        psc_text_add(t->out, ", which nobody has written.");
}

static void say_own_operand(const struct telling *t)
{
    say_writer(t);
    psc_text_add(t->out, " writes over ");
    psc_say_bytes(t->out, t->f->hi - t->f->lo);
    psc_text_add(t->out, " of its own operand, ");
    say_victim(t);
    say_place(t);
    psc_text_add(t->out, t->f->kind == PSC_K7 ? ": the two ranges overlap in part."
                                              : ": this op reads its operand to the end before it may be overwritten.");
}

/* "c3: batch 1 (host)" */
static void say_command(const struct telling *t, const struct psc_event *e)
{
    const struct psc_story *story = t->a->story;
    const char *title = title_of(t, e);

    if (title)
        psc_text_add(t->out, title);
    else
        psc_text_addf(t->out, "command %d", e->position);
    if (e->lane < story->lane_n && story->lanes[e->lane].name)
        psc_text_addf(t->out, " (%s)", story->lanes[e->lane].name);
}

static void say_race(const struct telling *t)
{
    bool frees = t->write->kind == PSC_EV_RELEASE, reads = t->read->kind == PSC_EV_READ;

    say_command(t, t->write);
    psc_text_add(t->out, frees ? " frees " : " writes ");
    psc_say_bytes(t->out, t->f->hi - t->f->lo);
    psc_text_add(t->out, " of ");
    psc_say_buffer(t->out, t->a->story, t->f->buffer);
    psc_text_add(t->out, " that ");
    say_command(t, t->read);
    psc_text_add(t->out, reads ? " reads: nothing orders the two." : " writes: nothing orders the two.");
}

/* A cell is read that holds no row of the cache: none was stored yet, or the one that lies there is gone. */
static bool is_empty_cell(const struct telling *t)
{
    return t->f->kind == PSC_K8 && t->read && t->a->story->values[t->f->victim_value].kind == PSC_VALUE_CELL &&
           t->f->victim_position == t->f->read_position;
}

static void say_empty_cell(const struct telling *t)
{
    say_reader(t);
    psc_text_add(t->out, " reads ");
    psc_say_bytes(t->out, t->f->hi - t->f->lo);
    psc_text_add(t->out, " of ");
    psc_say_buffer(t->out, t->a->story, t->f->buffer);
    if (t->f->writer_value == PSC_NONE) {
        psc_text_add(t->out, ", where no row was ever written.");
        return;
    }
    psc_text_add(t->out, ", which holds what is left of a row that is gone (");
    psc_say_value(t->out, t->a, t->f->writer_value);
    psc_text_add(t->out, ").");
}

void psc_explain_finding(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f)
{
    struct telling t = begin(out, a, f);

    if (f->kind == PSC_K9 || f->kind == PSC_K10)
        psc_explain_wrong(out, a, f);
    else if (a->story->executor == PSC_EXEC_QUEUES && f->kind == PSC_K6 && t.write && t.read) {
        say_race(&t);
    } else if (is_empty_cell(&t)) {
        say_empty_cell(&t);
    } else if (is_too_long(&t)) {
        say_too_long(&t);
    } else if (!t.write) {
        say_unwritten(&t);
    } else if (f->overlap_only) {
        say_own_operand(&t);
    } else {
        bool vanishes = t.write->kind == PSC_EV_GROW || t.write->kind == PSC_EV_EVICT || t.write->kind == PSC_EV_TRIM;
        say_writer(&t);
        psc_text_add(out, vanishes ? " takes " : " writes ");
        psc_say_bytes(out, f->hi - f->lo);
        psc_text_add(out, vanishes ? " away from " : " over ");
        say_victim(&t);
        say_place(&t);
        say_need(&t);
    }
}

/* ---- why ------------------------------------------------------------------------------------------------ */

static void say_rule(const struct telling *t)
{
    static const char *const rules[] = {
        [PSC_K1] = "The bytes were given away before their last read.",
        [PSC_K2] = "The planner counted lives in another order than the one that is executed.",
        [PSC_K3] = "The host fills all inputs before the first op runs; this input was lost before the walk came to it.",
        [PSC_K4] = "The reader looks through a view: its bytes belong to the storage behind it, whose life the planner "
                   "did not extend.",
        [PSC_K5] = "The op works in place, but its operand has another reader or may not be overwritten.",
        [PSC_K6] = "Nothing orders the two accesses: which comes first is not known.",
        [PSC_K7] = "The ranges do not fit: a buffer is too small, or two ranges overlap in part.",
        [PSC_K8] = "Persistent, caller-owned and staging memory must never come from the free list.",
    };

    const char *rule = rules[t->f->kind];
    if (is_empty_cell(t))
        rule = "A cell without a row holds whatever its memory held: masking it afterwards does not take a NaN out of a sum.";
    else if (t->a->phase->expression && !t->write)
        rule = "No step that stands before this one has made these bytes.";

    psc_text_addf(t->out, "%s %s. %s", psc_kind_name(t->f->kind), psc_kind_text(t->f->kind), rule);
}

/* The node whose placement a belief is about. */
static const struct psc_place *place_of(const struct telling *t, psc_node node)
{
    const struct psc_plan *plan = t->a->plan;

    return plan && node < plan->node_n ? &plan->places[node] : NULL;
}

static void say_belief(const struct telling *t)
{
    const struct psc_graph *g = t->a->phase->graph;
    const struct psc_place *victim = place_of(t, t->f->victim), *writer = place_of(t, t->f->writer);
    const struct psc_plan *plan = t->a->plan;

    if (!victim || !g || victim->reason == PSC_WHY_FOREIGN || victim->reason == PSC_WHY_NONE ||
        victim->buffer == PSC_NONE)
        return;
    psc_text_addf(t->out, " The planner counted lives in %s order: ", plan->order ? "topological" : "build");
    if (victim->last >= (int32_t)g->n)
        psc_text_add(t->out, "it kept ");
    else
        psc_text_add(t->out, "it believed the last use of ");
    psc_say_node(t->out, g, t->f->victim);
    if (victim->last >= (int32_t)g->n)
        psc_text_add(t->out, " to the end");
    else
        psc_text_addf(t->out, " to be at place %d", victim->last);
    if (writer && writer->buffer != PSC_NONE) {
        psc_text_add(t->out, ", and gave ");
        psc_say_planned_buffer(t->out, g, &plan->buffers[writer->buffer]);
        psc_text_add(t->out, " to ");
        psc_say_node(t->out, g, t->f->writer);
        psc_text_addf(t->out, " at place %d", writer->first);
    }
    psc_text_add(t->out, ".");
}

/* Which bytes are wrong, from when on. */
static void say_range(const struct telling *t)
{
    psc_text_addf(t->out, " Bytes [%llu, %llu) of ", (unsigned long long)t->f->lo, (unsigned long long)t->f->hi);
    psc_say_buffer(t->out, t->a->story, t->f->buffer);
    if (t->f->position >= 0 && (t->f->overlap_only || is_too_long(t)))
        psc_text_addf(t->out, ", written at op %d", t->f->position);
    psc_text_add(t->out, ".");
}

static void say_facts(const struct telling *t)
{
    say_range(t);
    if (t->f->overlap_only || is_too_long(t) || t->a->story->titles)
        return;
    psc_text_add(t->out, " Executed: ");
    if (t->write) {
        say_writer(t);
        psc_text_addf(t->out, " writes at op %d, ", t->write->position);
    }
    say_reader(t);
    if (t->f->reader_kind == PSC_READER_NODE)
        psc_text_addf(t->out, " reads at op %d.", t->f->read_position);
    else
        psc_text_add(t->out, " reads after the last op.");
}

void psc_explain_finding_more(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f)
{
    struct telling t = begin(out, a, f);

    if (f->kind == PSC_K9 || f->kind == PSC_K10) {
        psc_explain_wrong_more(out, a, f);
        return;
    }
    say_rule(&t);
    say_belief(&t);
    say_facts(&t);
    if (f->confidence == PSC_POSSIBLE)
        psc_text_add(out, " Possible, not certain: it depends on which side is faster.");
}
