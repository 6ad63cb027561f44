/* tests/plan-dump.c: prints where the planner puts each node of graphs read from stdin.
 *
 *     plan-dump OPTION... < GRAPHS
 *
 * GRAPHS are in the form of tests/text-graph.h, each ended by a line `.`. Options are the words of
 * psc_plan_options (hardened, exact, fifo, topological ...), names of faults, or `naive`. For each graph:
 *
 *     NAME BACKEND:ID OFFSET      id of a pool buffer, offset in bytes
 *     NAME kv.0.k 0               a persistent region
 *     NAME -                      no place
 *     copy NAME BACKEND BUFFER    a staging copy; BUFFER is an id when it lies in the pool, else `fresh`
 *     pool BUFFERS BYTES LIVE     figures: buffers, bytes, peak live bytes
 *     .
 *
 * tests/sim-compare.py compares this with an independent model. Exit status 1 when a graph cannot be planned. */
#include "core/plan/plan.h"
#include "tests/text-graph.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

static void read_option(const char *word, struct psc_plan_options *options, const char **planner)
{
    enum psc_fault fault = psc_fault_from_name(word);
    if (fault != PSC_FAULT_N)
        options->faults |= PSC_FAULT_BIT(fault);
    else if (psc_planner_find(word))
        *planner = word;
    else if (!psc_mode_parse(word, &options->mode) && !psc_size_parse(word, &options->size) &&
             !psc_slots_parse(word, &options->slots, &options->seed) && !psc_order_parse(word, &options->order))
        g_error("%s is no option", word);
}

static void print_place(const struct psc_graph *graph, const struct psc_plan *plan, psc_node i)
{
    const struct psc_place *place = &plan->places[i];
    const char *name = graph->nodes[i].name;
    if (place->buffer == PSC_NONE) {
        printf("%s -\n", name);
        return;
    }
    const struct psc_buffer *buffer = &plan->buffers[place->buffer];
    if (buffer->role == PSC_ROLE_PERSISTENT)
        printf("%s %s %" G_GUINT64_FORMAT "\n", name, buffer->name, place->offset);
    else
        printf("%s %s:%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", name, graph->backends[buffer->backend],
               buffer->id, place->offset);
}

static void print_plan(const struct psc_graph *graph, const struct psc_plan *plan)
{
    for (psc_node i = 0; i < graph->n; i++)
        print_place(graph, plan, i);
    for (uint32_t k = 0; k < plan->copy_n; k++) {
        const struct psc_copy *copy = &plan->copies[k];
        const struct psc_buffer *buffer = &plan->buffers[copy->buffer];
        printf("copy %s %s ", graph->nodes[copy->node].name, graph->backends[copy->to]);
        if (buffer->role == PSC_ROLE_STAGING)
            printf("fresh\n");
        else
            printf("%" G_GUINT64_FORMAT "\n", buffer->id);
    }
    printf("pool %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n.\n", plan->figures.buffers,
           plan->figures.pool_bytes, plan->figures.peak_live_bytes);
}

static void dump(const char *text, const struct psc_planner *planner, const struct psc_plan_options *options)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_plan *plan = NULL;
    struct psc_graph *graph = text_graph(&arena, text);
    if (planner->plan(&arena, graph, options, &plan, &error))
        g_error("%s", error.text);
    print_plan(graph, plan);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    struct psc_plan_options options = psc_plan_defaults;
    const char *name = "pool";
    GString *text = g_string_new(NULL);
    char line[4096];
    for (int i = 1; i < argc; i++)
        read_option(argv[i], &options, &name);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, ".\n")) {
            g_string_append(text, line);
            continue;
        }
        dump(text->str, psc_planner_find(name), &options);
        g_string_truncate(text, 0);
    }
    g_string_free(text, TRUE);
    return 0;
}
