#include "core/debug/explain-words.h"

#include <string.h>

void psc_say_node(struct psc_text *out, const struct psc_graph *g, psc_node node)
{
    char label[128];

    if (!g || node >= g->n)
        psc_text_add(out, "the host");
    else
        psc_text_addf(out, "#%llu %s", (unsigned long long)g->nodes[node].id,
                      psc_node_label(g, node, label, sizeof label));
}

void psc_say_node_layer(struct psc_text *out, const struct psc_graph *g, psc_node node)
{
    psc_say_node(out, g, node);
    if (g && node < g->n && g->nodes[node].layer >= 0)
        psc_text_addf(out, ", layer %d", g->nodes[node].layer);
}

void psc_say_value(struct psc_text *out, const struct psc_analysis *a, uint32_t value)
{
    const struct psc_graph *g = a->phase->graph;
    const struct psc_value *v = &a->story->values[value];
    char label[128];

    if (v->kind == PSC_VALUE_STAGING && v->of != PSC_NONE) {
        psc_text_add(out, "the copy of ");
        value = v->of;
        v = &a->story->values[value];
    }
    if (v->kind == PSC_VALUE_WORKSPACE && g && v->node < g->n)
        psc_text_add(out, "the workspace of ");
    if (v->kind == PSC_VALUE_REGION && v->layer >= 0) {
        psc_text_addf(out, "the %s rows of layer %d", v->slot ? "V" : "K", v->layer);
    } else if (g && v->node < g->n) {
        psc_say_node(out, g, v->node);
    } else {
        psc_text_add(out, psc_value_label(a->story, g, value, label, sizeof label));
    }
}

void psc_say_buffer(struct psc_text *out, const struct psc_story *story, uint32_t buffer)
{
    char label[160];

    psc_text_add(out, psc_buffer_label(story->backends, story->backend_n, &story->buffers[buffer], label, sizeof label));
}

void psc_say_planned_buffer(struct psc_text *out, const struct psc_graph *g, const struct psc_buffer *buffer)
{
    char label[160];

    psc_text_add(out, psc_buffer_label(g->backends, g->backend_n, buffer, label, sizeof label));
}

void psc_say_bytes(struct psc_text *out, uint64_t bytes)
{
    char text[32];

    psc_text_add(out, psc_bytes_text(bytes, text, sizeof text));
}

const char *psc_backend_word(const char *name)
{
    static const char *const words[][2] = {{"metal", "Metal"}, {"cpu", "CPU"}, {"cuda", "CUDA"}};

    for (size_t i = 0; name && i < sizeof words / sizeof *words; i++) {
        if (!strcmp(name, words[i][0]))
            return words[i][1];
    }
    return name ? name : "the backend";
}
