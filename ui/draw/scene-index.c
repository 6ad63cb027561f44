#include "ui/draw/scene.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

uint64_t psc_series_get(const struct psc_series *s, int32_t position)
{
    uint32_t i = (uint32_t)(position + 1);
    return position >= -1 && s->level_n && i < s->n[0] ? s->level[0][i] : 0;
}

uint64_t psc_series_max(const struct psc_series *s, int32_t first, int32_t end)
{
    if (!s->level_n || end <= first)
        return 0;
    uint32_t lo = first < -1 ? 0 : (uint32_t)(first + 1);
    uint32_t hi = end < -1 ? 0 : (uint32_t)(end + 1);
    if (hi > s->n[0])
        hi = s->n[0];
    uint64_t max = 0;
    for (uint32_t k = 0; lo < hi; k++) {
        bool top = k + 1 >= s->level_n;
        while (lo < hi && (top || lo % 16)) {
            max = s->level[k][lo] > max ? s->level[k][lo] : max;
            lo++;
        }
        while (lo < hi && hi % 16) {
            hi--;
            max = s->level[k][hi] > max ? s->level[k][hi] : max;
        }
        lo /= 16, hi /= 16;
    }
    return max;
}

uint32_t psc_scene_next_alive(const struct psc_scene *scene, const struct psc_scene_row *row, uint32_t bar,
                              double after)
{
    if (bar >= row->bar_end)
        return row->bar_end;
    const int32_t *tree = scene->end_tree;
    uint32_t node = bar + scene->tree_n;
    for (;;) {
        if (tree[node] > after) {
            while (node < scene->tree_n) {
                node *= 2;
                if (!(tree[node] > after))
                    node++;
            }
            bar = node - scene->tree_n;
            return bar < row->bar_end ? bar : row->bar_end;
        }
        while (node & 1)
            node >>= 1;
        if (!node)
            return row->bar_end; /* the right spine: nothing follows */
        node++;
    }
}

uint32_t psc_scene_next_start(const struct psc_scene *scene, const struct psc_scene_row *row, uint32_t bar,
                              double column)
{
    uint32_t lo = bar, step = 1;
    while (lo < row->bar_end && scene->first[lo] < column) { /* gallop, then halve */
        bar = lo + 1;
        lo = step < row->bar_end - lo ? lo + step : row->bar_end;
        step *= 2;
    }
    uint32_t hi = lo;
    while (bar < hi) {
        uint32_t mid = bar + (hi - bar) / 2;
        if (scene->first[mid] < column)
            bar = mid + 1;
        else
            hi = mid;
    }
    return bar;
}

double psc_scene_busy(const struct psc_scene *scene, const struct psc_scene_row *row, double position,
                      uint32_t *hint)
{
    if (row->bar_at == row->bar_end)
        return 0;
    uint32_t next = psc_scene_next_start(scene, row, *hint, position); /* first bar that starts at or after */
    *hint = next > row->bar_at ? next - 1 : next;
    if (next == row->bar_at)
        return 0;
    uint32_t i = next - 1;
    double start = scene->first[i];
    if (i > row->bar_at)
        start = fmax(start, scene->run_end[i - 1]);
    /* start may lie beyond position: bars before reach over it, and all between is covered */
    return scene->busy[i] + fmin(position, scene->run_end[i]) - start;
}

bool psc_scene_row_busy(const struct psc_scene *scene, const struct psc_scene_row *row, double lo, double hi)
{
    uint32_t bar = psc_scene_next_alive(scene, row, row->bar_at, lo);
    return bar < row->bar_end && scene->first[bar] < hi;
}

uint32_t psc_scene_bar_at(const struct psc_scene *scene, uint32_t row_index, int32_t column, uint64_t byte)
{
    const struct psc_scene_row *row = &scene->rows[row_index];
    const struct psc_tenancy *tenancies = scene->source.history->tenancies;
    uint32_t found = PSC_NONE;
    for (uint32_t bar = psc_scene_next_alive(scene, row, row->bar_at, column);
         bar < row->bar_end && scene->first[bar] <= column;
         bar = psc_scene_next_alive(scene, row, bar + 1, column)) {
        if (!row->packed || (tenancies[bar].lo <= byte && byte < tenancies[bar].hi))
            found = bar;
    }
    return found;
}

psc_node psc_scene_node_at(const struct psc_scene *scene, int32_t position)
{
    const struct psc_graph *g = scene->source.graph;
    if (position < 0 || position >= scene->n || !g)
        return PSC_NONE;
    psc_node node = psc_story_node_at(scene->source.story, position);
    return node < g->n ? node : PSC_NONE;
}

uint32_t psc_scene_bar_of_node(const struct psc_scene *scene, psc_node node)
{
    const struct psc_history *h = scene->source.history;
    const struct psc_graph *g = scene->source.graph;
    if (g && node < g->n)
        node = g->nodes[node].root;
    uint32_t value = psc_history_value_of_node(h, node);
    return value == PSC_NONE ? PSC_NONE : psc_history_of_value(h, value);
}

static uint32_t span_at(const struct psc_scene_span *spans, uint32_t n, int32_t position)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (spans[mid].last < position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && spans[lo].first <= position ? lo : PSC_NONE;
}

uint32_t psc_scene_layer_at(const struct psc_scene *scene, int32_t position)
{
    return span_at(scene->layers, scene->layer_n, position);
}

uint32_t psc_scene_split_at(const struct psc_scene *scene, int32_t position)
{
    return span_at(scene->splits, scene->split_n, position);
}

uint32_t psc_scene_first_copy(const struct psc_scene *scene, double position)
{
    uint32_t lo = 0, hi = scene->copy_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (scene->copies[mid].enqueue < position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const char *psc_backend_title(const char *name, char *buf, size_t size)
{
    snprintf(buf, size, "%s", name);
    bool letters = !strcmp(name, "cpu") || !strcmp(name, "cuda") || !strcmp(name, "gpu");
    for (char *c = buf; *c && (letters || c == buf); c++)
        *c = (char)toupper((unsigned char)*c);
    return buf;
}

const char *psc_bytes_short(uint64_t bytes, char *buf, size_t size)
{
    psc_bytes_text(bytes, buf, size);
    char *dot = strstr(buf, ".00 K"), *end = dot ? dot + 3 : NULL;
    if (!dot && (dot = strstr(buf, ".0 ")) != NULL)
        end = dot + 2;
    if (dot)
        memmove(dot, end, strlen(end) + 1);
    return buf;
}

uint32_t psc_scene_labels(const struct psc_scene *scene, uint32_t bar, char text[PSC_LABELS][PSC_LABEL_SIZE])
{
    const struct psc_story *story = scene->source.story;
    const struct psc_graph *g = scene->source.graph;
    const struct psc_tenancy *t = &scene->source.history->tenancies[bar];
    const struct psc_value *value = &story->values[t->value];
    char name[PSC_LABEL_SIZE - 64], number[24] = "", bytes[20];
    const char *staged = value->kind == PSC_VALUE_STAGING ? "copy of " : "";
    if (value->kind == PSC_VALUE_STAGING && value->of < story->value_n)
        value = &story->values[value->of];
    if (g && value->node < g->n) {
        psc_node_label(g, value->node, name, sizeof name);
        snprintf(number, sizeof number, "#%llu", (unsigned long long)g->nodes[value->node].id);
    } else {
        snprintf(name, sizeof name, "%s", value->name ? value->name : "");
    }
    psc_bytes_short(t->hi - t->lo, bytes, sizeof bytes);
    const char *blank = number[0] && name[0] ? " " : "";
    uint32_t n = 0;
    snprintf(text[n++], PSC_LABEL_SIZE, "%s%s%s%s \xc2\xb7 %s", staged, number, blank, name, bytes);
    snprintf(text[n++], PSC_LABEL_SIZE, "%s%s%s", number, blank, name);
    if (number[0] && name[0])
        snprintf(text[n++], PSC_LABEL_SIZE, "%s", name);
    const char *tail = strrchr(name, '_');
    if (tail && tail[1])
        snprintf(text[n++], PSC_LABEL_SIZE, "%s", tail + 1);
    if (number[0])
        snprintf(text[n++], PSC_LABEL_SIZE, "%s", number + 1);
    return n;
}
