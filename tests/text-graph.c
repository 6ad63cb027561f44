#include "tests/text-graph.h"

#include <glib.h>
#include <string.h>

struct line {
    char *name, *op, *backend;
    uint64_t shape[4], offset;
    int32_t layer;
    enum psc_dtype dtype;
    struct psc_params params;
    GArray *src; /* of psc_node */
};

static psc_node look_up(GHashTable *names, const char *name)
{
    gpointer found;
    if (!g_hash_table_lookup_extended(names, name, NULL, &found))
        g_error("no node is called %s", name);
    return GPOINTER_TO_UINT(found);
}

static void read_shape(const char *word, uint64_t shape[4])
{
    char *end;
    shape[0] = g_ascii_strtoull(word, &end, 10);
    shape[1] = *end == 'x' ? g_ascii_strtoull(end + 1, &end, 10) : 1;
    shape[2] = shape[3] = 1;
    if (end == word || *end)
        g_error("%s is no shape", word);
}

static void read_word(GHashTable *names, const char *word, struct line *line)
{
    if (*word == '+')
        line->offset = g_ascii_strtoull(word + 1, NULL, 10);
    else if (*word == '#')
        line->layer = (int32_t)g_ascii_strtoll(word + 1, NULL, 10);
    else if (*word == '@')
        g_free(line->backend), line->backend = g_strdup(word + 1);
    else if (g_str_has_prefix(word, "axis="))
        line->params.dim = (int32_t)g_ascii_strtoll(word + 5, NULL, 10);
    else if (g_str_has_prefix(word, "scale="))
        line->params.scale = (float)g_ascii_strtod(word + 6, NULL), line->params.has_scale = true;
    else if (g_str_has_prefix(word, "row="))
        line->params.row_elems = g_ascii_strtoull(word + 4, NULL, 10), line->params.n_embd = line->shape[0];
    else if (g_str_has_prefix(word, "weight="))
        line->params.weight = g_intern_string(word + 7);
    else if (g_str_has_prefix(word, "bias="))
        line->params.bias[0] = g_intern_string(word + 5);
    else if (g_str_has_prefix(word, "hd=")) {
        line->params.hd = line->params.hd_kv = g_ascii_strtoull(word + 3, NULL, 10);
        line->params.n_head = line->params.nh = line->shape[0] / line->params.hd;
        line->params.n_head_kv = line->params.nk = line->params.n_head;
        line->params.freq_base = 10000;
        line->params.scale = 1;
    } else if (!strcmp(word, "i32"))
        line->dtype = PSC_I32;
    else {
        psc_node node = look_up(names, word);
        g_array_append_val(line->src, node);
    }
}

static psc_node add_node(struct psc_builder *b, const struct line *line)
{
    enum psc_op op = psc_op_from_name(line->op);
    const psc_node *src = (const psc_node *)line->src->data;
    psc_builder_set_backend(b, line->backend);
    psc_builder_set_layer(b, line->layer);
    if (op == PSC_OP_INPUT)
        return psc_builder_input(b, line->name, line->dtype, line->shape[0], line->shape[1]);
    if (op == PSC_OP_VIEW)
        return psc_builder_view(b, line->name, src[0], line->offset, line->shape[0], line->shape[1]);
    return psc_builder_node(b, line->name, op, src, line->src->len, PSC_F32, line->shape, &line->params);
}

static void read_line(struct psc_builder *b, GHashTable *names, char **words)
{
    struct line line = {.layer = -1, .src = g_array_new(FALSE, FALSE, sizeof(psc_node))};
    g_assert_cmpuint(g_strv_length(words), >=, 3);
    line.name = g_strndup(words[0], strlen(words[0]) - 1);
    line.op = words[1];
    line.backend = g_strdup("cpu");
    read_shape(words[2], line.shape);
    for (char **word = words + 3; *word; word++)
        read_word(names, *word, &line);
    psc_node node = add_node(b, &line);
    g_hash_table_insert(names, line.name, GUINT_TO_POINTER(node));
    g_array_free(line.src, TRUE);
    g_free(line.backend);
}

enum psc_status text_graph_build(struct psc_arena *arena, const char *text, struct psc_graph **ret,
                                 struct psc_error *reterr)
{
    struct psc_builder *b = psc_builder_new();
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    char **lines = g_strsplit(text, "\n", -1);
    g_assert_nonnull(b);
    for (char **at = lines; *at; at++) {
        char **words = g_strsplit_set(g_strstrip(*at), " ", -1);
        if (words[0] && !strcmp(words[0], "out"))
            for (char **word = words + 1; *word; word++)
                psc_builder_output(b, look_up(names, *word));
        else if (words[0] && *words[0])
            read_line(b, names, words);
        g_strfreev(words);
    }
    enum psc_status status = psc_builder_finish(b, arena, ret, reterr);
    psc_builder_free(b);
    g_strfreev(lines);
    g_hash_table_destroy(names);
    return status;
}

struct psc_graph *text_graph(struct psc_arena *arena, const char *text)
{
    struct psc_graph *graph = NULL;
    struct psc_error error = {0};
    if (text_graph_build(arena, text, &graph, &error))
        g_error("%s", error.text);
    return graph;
}

psc_node text_graph_node(const struct psc_graph *graph, const char *name)
{
    for (psc_node i = 0; i < graph->n; i++)
        if (graph->nodes[i].name && !strcmp(graph->nodes[i].name, name))
            return i;
    g_error("no node is called %s", name);
    return PSC_NONE;
}
