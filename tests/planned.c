#include "tests/planned.h"

#include "tests/text-graph.h"

#include <glib.h>
#include <string.h>

struct psc_plan_options planned_options(const char *words, const struct psc_planner **ret_planner)
{
    struct psc_plan_options options = psc_plan_defaults;
    char **list = g_strsplit(words ? words : "", " ", -1);
    *ret_planner = psc_planner_find("pool");
    for (char **word = list; *word; word++) {
        enum psc_fault fault = psc_fault_from_name(*word);
        if (fault != PSC_FAULT_N)
            options.faults |= PSC_FAULT_BIT(fault);
        else if (!strcmp(*word, "log"))
            options.log = true;
        else if (psc_planner_find(*word))
            *ret_planner = psc_planner_find(*word);
        else if (**word && !psc_mode_parse(*word, &options.mode) && !psc_size_parse(*word, &options.size) &&
                 !psc_slots_parse(*word, &options.slots, &options.seed) && !psc_order_parse(*word, &options.order))
            g_error("%s is no option", *word);
    }
    g_strfreev(list);
    return options;
}

static void examine(struct planned *p)
{
    struct psc_error error = {0};
    if (psc_plan_lower(&p->arena, p->graph, p->plan, &p->story, &error) || psc_story_check(p->story, &error) ||
        psc_check_story(&p->arena, p->graph, p->story, &p->check, &error))
        g_error("%s", error.text);
}

static void plan_it(struct planned *p, const char *words)
{
    const struct psc_planner *planner;
    struct psc_plan_options options = planned_options(words, &planner);
    struct psc_error error = {0};
    if (planner->plan(&p->arena, p->graph, &options, &p->plan, &error))
        g_error("%s", error.text);
    examine(p);
}

struct planned planned_graph(struct psc_graph *graph, const char *words)
{
    struct planned p = {.graph = graph};
    plan_it(&p, words);
    return p;
}

struct planned planned_new(const char *text, const char *words)
{
    struct planned p = {0};
    p.graph = text_graph(&p.arena, text);
    plan_it(&p, words);
    return p;
}

struct planned planned_foreign(const char *text, const struct psc_foreign *foreign)
{
    struct planned p = {{0}, NULL, NULL, NULL, {0}};
    struct psc_error error = {0};
    p.graph = text_graph(&p.arena, text);
    if (psc_plan_from_foreign(&p.arena, p.graph, foreign, &p.plan, &error))
        g_error("%s", error.text);
    examine(&p);
    return p;
}

void planned_release(struct planned *p)
{
    psc_arena_release(&p->arena);
}

char *planned_place(const struct planned *p, psc_node node)
{
    const struct psc_place *place = &p->plan->places[node];
    if (place->buffer == PSC_NONE)
        return g_strdup("-");
    const char *name = p->plan->buffers[place->buffer].name;
    return place->offset ? g_strdup_printf("%s+%" G_GUINT64_FORMAT, name, place->offset) : g_strdup(name);
}

char *planned_places(const struct planned *p)
{
    GString *out = g_string_new(NULL);
    for (psc_node i = 0; i < p->graph->n; i++) {
        char *place = planned_place(p, i);
        g_string_append_printf(out, "%s%s=%s", i ? " " : "", p->graph->nodes[i].name, place);
        g_free(place);
    }
    return g_string_free(out, FALSE);
}

static const char *name_of(const struct planned *p, psc_node node)
{
    return node == PSC_NONE ? "nobody" : p->graph->nodes[node].name;
}

char *planned_findings(const struct planned *p)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < p->check.finding_n; i++) {
        const struct psc_finding *f = &p->check.findings[i];
        const char *reader =
            f->reader_kind == PSC_READER_NODE ? name_of(p, f->reader) : psc_reader_name(f->reader_kind);
        g_string_append_printf(out, "%s%s %s %s %s", i ? "\n" : "", psc_kind_name(f->kind), name_of(p, f->victim),
                               name_of(p, f->writer), reader);
    }
    return g_string_free(out, FALSE);
}

static char *value_text(const struct planned *p, uint32_t value)
{
    char buf[64];
    if (value == PSC_NONE)
        return g_strdup("");
    if (p->story->values[value].kind == PSC_VALUE_STAGING)
        return g_strdup_printf("copy of %s", p->graph->nodes[p->story->values[value].of].name);
    if (value < p->graph->n)
        return g_strdup(p->graph->nodes[value].name);
    return g_strdup(psc_value_label(p->story, p->graph, value, buf, sizeof buf));
}

char *planned_story(const struct planned *p)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < p->story->event_n; i++) {
        const struct psc_event *e = &p->story->events[i];
        bool waits = e->kind == PSC_EV_WAIT;
        char *value = value_text(p, e->value), *peer = value_text(p, waits ? PSC_NONE : e->peer);
        g_string_append_printf(out, "%s%d %s", i ? "\n" : "", e->position,
                               psc_event_name((enum psc_event_kind)e->kind));
        if (e->value != PSC_NONE)
            g_string_append_printf(out, " %s", value);
        if (e->buffer != PSC_NONE)
            g_string_append_printf(out, " %s[%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ")",
                                   p->story->buffers[e->buffer].name, e->lo, e->hi);
        if (*peer)
            g_string_append_printf(out, " %s %s", e->kind == PSC_EV_ENQUEUE ? "from" : "over", peer);
        g_free(value);
        g_free(peer);
    }
    return g_string_free(out, FALSE);
}

const struct psc_place *planned_find(const struct planned *p, const char *name)
{
    return &p->plan->places[text_graph_node(p->graph, name)];
}
