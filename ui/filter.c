#include "ui/filter.h"

#include <string.h>

struct term {
    bool must_not;
    char *key;  /* NULL: anywhere */
    char *word; /* lower case */
};
struct _PscFilter {
    GArray *terms;
};

static void clear_term(gpointer data)
{
    struct term *term = data;
    g_free(term->key);
    g_free(term->word);
}

static void add_term(PscFilter *filter, const char *text)
{
    static const char minus_sign[] = "\xe2\x88\x92";
    struct term term = {0};
    if (*text == '-') {
        term.must_not = true;
        text++;
    } else if (g_str_has_prefix(text, minus_sign)) {
        term.must_not = true;
        text += strlen(minus_sign);
    } else if (*text == '+') {
        text++;
    }
    const char *colon = strchr(text, ':');
    if (colon && colon > text) {
        term.key = g_utf8_strdown(text, colon - text);
        text = colon + 1;
    }
    if (!*text) {
        clear_term(&term); /* half typed: as if it were not there */
        return;
    }
    term.word = g_utf8_strdown(text, -1);
    g_array_append_val(filter->terms, term);
}

PscFilter *psc_filter_new(const char *text)
{
    PscFilter *filter = g_new0(PscFilter, 1);
    filter->terms = g_array_new(FALSE, FALSE, sizeof(struct term));
    g_array_set_clear_func(filter->terms, clear_term);
    char **words = g_strsplit_set(text, " \t", -1);
    for (char **w = words; *w; w++)
        if (**w)
            add_term(filter, *w);
    g_strfreev(words);
    return filter;
}

void psc_filter_free(PscFilter *filter)
{
    if (!filter)
        return;
    g_array_unref(filter->terms);
    g_free(filter);
}

bool psc_filter_is_empty(const PscFilter *filter)
{
    return filter->terms->len == 0;
}

static bool contains(const char *text, const char *word)
{
    if (!text)
        return false;
    char *lower = g_utf8_strdown(text, -1);
    bool found = strstr(lower, word) != NULL;
    g_free(lower);
    return found;
}

bool psc_filter_text(const PscFilter *filter, const char *text)
{
    for (guint i = 0; i < filter->terms->len; i++) {
        const struct term *term = &g_array_index(filter->terms, struct term, i);
        if ((!term->key && contains(text, term->word)) == term->must_not)
            return false;
    }
    return true;
}

static bool equals(const char *text, const char *word)
{
    return text && g_ascii_strcasecmp(text, word) == 0;
}

static const char *buffer_name(const PscStudy *study, uint32_t buffer)
{
    const struct psc_story *story = study->analysis->story;
    return story && buffer < story->buffer_n ? story->buffers[buffer].name : NULL;
}

static bool node_is(const PscStudy *study, psc_node node, const char *what)
{
    const struct psc_node_info *info = &study->graph->nodes[node];
    if (equals("input", what))
        return info->is_input;
    if (equals("output", what))
        return info->is_output;
    if (equals("dead", what))
        return info->reader_n == 0 && !info->is_output && !psc_op_info(info->op)->stores_kv;
    if (equals("clobbered", what))
        return study->node_marks[node] & PSC_NODE_VICTIM;
    return false;
}

static bool node_term(const struct term *term, const PscStudy *study, psc_node node)
{
    const struct psc_node_info *info = &study->graph->nodes[node];
    char text[128];
    if (!term->key) {
        g_snprintf(text, sizeof text, "#%" G_GUINT64_FORMAT, info->id);
        return contains(text, term->word) || contains(psc_node_label(study->graph, node, text, sizeof text), term->word) ||
               contains(info->name, term->word) || contains(info->op_name, term->word) ||
               contains(info->params->weight, term->word) ||
               equals(buffer_name(study, psc_study_buffer(study, node)), term->word);
    }
    if (strcmp(term->key, "layer") == 0) {
        g_snprintf(text, sizeof text, "%d", info->layer);
        return strcmp(text, term->word) == 0;
    }
    if (strcmp(term->key, "op") == 0)
        return equals(info->op_name, term->word);
    if (strcmp(term->key, "buffer") == 0)
        return equals(buffer_name(study, psc_study_buffer(study, node)), term->word);
    if (strcmp(term->key, "backend") == 0)
        return equals(psc_node_backend_name(study->graph, node), term->word);
    if (strcmp(term->key, "is") == 0)
        return node_is(study, node, term->word);
    return false;
}

bool psc_filter_node(const PscFilter *filter, const PscStudy *study, psc_node node)
{
    if (!study->graph)
        return psc_filter_is_empty(filter);
    for (guint i = 0; i < filter->terms->len; i++) {
        const struct term *term = &g_array_index(filter->terms, struct term, i);
        if (node_term(term, study, node) == term->must_not)
            return false;
    }
    return true;
}

static bool buffer_term(const struct term *term, const PscStudy *study, uint32_t index)
{
    const struct psc_story *story = study->analysis->story;
    const struct psc_buffer *buffer = &story->buffers[index];
    const char *backend = buffer->backend < story->backend_n ? story->backends[buffer->backend] : NULL;
    if (!term->key)
        return contains(buffer->name, term->word) || contains(psc_role_name(buffer->role), term->word) ||
               contains(backend, term->word);
    if (strcmp(term->key, "backend") == 0)
        return equals(backend, term->word);
    if (strcmp(term->key, "buffer") == 0)
        return equals(buffer->name, term->word);
    if (strcmp(term->key, "is") == 0)
        return equals("clobbered", term->word) ? study->buffer_marks[index] != 0
                                               : equals(psc_role_name(buffer->role), term->word);
    return false;
}

bool psc_filter_buffer(const PscFilter *filter, const PscStudy *study, uint32_t buffer)
{
    for (guint i = 0; i < filter->terms->len; i++) {
        const struct term *term = &g_array_index(filter->terms, struct term, i);
        if (buffer_term(term, study, buffer) == term->must_not)
            return false;
    }
    return true;
}
