#include "ui/draw/layout-parts.h"

#include "core/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void node_number(const struct psc_scene *s, psc_node node, uint32_t value, char *buf, size_t size)
{
    const struct psc_graph *g = s->source.graph;
    const struct psc_story *story = s->source.story;
    if (g && node < g->n)
        snprintf(buf, size, "#%llu", (unsigned long long)g->nodes[node].id);
    else if (value < story->value_n && story->values[value].name)
        snprintf(buf, size, "%.20s", story->values[value].name);
    else
        snprintf(buf, size, "?");
}

/* What stands at a position that is no node: the head of its title, "c3" of "c3: batch 1". */
static void step_name(const struct psc_scene *s, int32_t position, char *buf, size_t size)
{
    const struct psc_story *story = s->source.story;
    const char *title = story->titles && position >= 0 && (uint32_t)position < story->position_n ? story->titles[position] : "?";
    snprintf(buf, size, "%.*s", (int)(strcspn(title, ":") < 20 ? strcspn(title, ":") : 20), title);
}

static void node_name(const struct psc_scene *s, psc_node node, char *buf, size_t size)
{
    buf[0] = 0;
    if (s->source.graph && node < s->source.graph->n)
        psc_node_label(s->source.graph, node, buf, size);
}

static void words(struct psc_layout *l, const struct psc_finding *f, const struct psc_scene_row *row)
{
    const struct psc_scene *s = l->scene;
    struct psc_clobber *c = &l->clobber;
    const struct psc_buffer *buffer = &s->source.story->buffers[row->buffer];
    char victim[24], writer[24] = "", reader[24], name[64], bytes[24];
    node_number(s, f->victim, f->victim_value, victim, sizeof victim);
    node_number(s, f->reader, PSC_NONE, reader, sizeof reader);
    if (f->writer_value != PSC_NONE)
        node_number(s, f->writer, f->writer_value, writer, sizeof writer);
    bool steps = s->source.story->titles && !s->source.graph;
    if (steps) {
        step_name(s, f->read_position, reader, sizeof reader);
        if (f->write_event != PSC_NONE)
            step_name(s, f->position, writer, sizeof writer);
    }
    node_name(s, f->victim, name, sizeof name);
    snprintf(c->title, sizeof c->title, "%s%s%s", victim, name[0] ? " " : "", name);
    const struct psc_tenancy *t = NULL;
    uint32_t bar = PSC_NONE;
    for (uint32_t i = s->alarm_at[l->scene->row_of_buffer[f->buffer]]; i < s->alarm_n && bar == PSC_NONE; i++)
        if (s->alarms[i].finding == l->view.finding)
            bar = s->alarms[i].victim_bar;
    t = bar == PSC_NONE ? NULL : &s->source.history->tenancies[bar];
    psc_bytes_text(t ? t->hi - t->lo : f->hi - f->lo, bytes, sizeof bytes);
    snprintf(c->detail, sizeof c->detail, "%s in %s", bytes, buffer->name ? buffer->name : "its buffer");
    snprintf(c->writer_number, sizeof c->writer_number, "%s", writer);
    snprintf(c->reader_number, sizeof c->reader_number, "%s", reader);
    node_name(s, f->writer, c->writer_name, sizeof c->writer_name);
    if (f->kind == PSC_K9 || f->kind == PSC_K10)
        snprintf(c->first, sizeof c->first, "%s: %s", reader, psc_kind_text(f->kind));
    else if (writer[0])
        snprintf(c->first, sizeof c->first, "1  %s writes over %s", writer, buffer->name ? buffer->name : victim);
    else
        snprintf(c->first, sizeof c->first, "1  nobody wrote these bytes");
    switch (steps ? PSC_READER_NODE : f->reader_kind) {
    case PSC_READER_NODE: snprintf(name, sizeof name, "%s", reader); break;
    case PSC_READER_RERUN: snprintf(name, sizeof name, "the second run"); break;
    default: snprintf(name, sizeof name, "the host"); break;
    }
    if (c->race)
        snprintf(c->second, sizeof c->second, "2  %s may read %s after it", name, victim);
    else if (steps && f->write_event == PSC_NONE)
        snprintf(c->second, sizeof c->second, "2  %s looks here", name);
    else
        snprintf(c->second, sizeof c->second, "2  %s wants %s, finds %s", name, victim, writer[0] ? writer : "nothing");
    snprintf(c->needed, sizeof c->needed, "really needed until %s", f->reader_kind == PSC_READER_NODE ? reader : "the end");
    int32_t end = t ? t->end : f->position;
    if (t && end > f->position)
        end = f->position;
    if (!steps) /* a scenario believes nothing */
        snprintf(c->believed, sizeof c->believed, "believed free from op %d", end);
    c->believed_x = (float)psc_axis_left(&l->axis, end < -1 ? -1 : end);
    snprintf(c->lo, sizeof c->lo, "0x%06llx", (unsigned long long)(buffer->base + f->lo));
    snprintf(c->hi, sizeof c->hi, "0x%06llx", (unsigned long long)(buffer->base + f->hi));
    snprintf(c->bytes, sizeof c->bytes, "%s B", psc_thousands(f->hi - f->lo, bytes, sizeof bytes));
    if (t && f->hi - f->lo == t->hi - t->lo)
        snprintf(c->part, sizeof c->part, "all of %s", victim);
    else
        snprintf(c->part, sizeof c->part, "part of %s", victim);
}

static void cell(const struct psc_layout *l, int32_t position, struct psc_area *ret)
{
    const struct psc_frame *f = &l->frame;
    if (position < 0 || position >= l->scene->n || f->numbers_y < 0)
        return;
    float x0 = (float)floor(psc_axis_left(&l->axis, position)), x1 = (float)ceil(psc_axis_right(&l->axis, position));
    if (x0 < f->data_x || x1 > f->data_x + f->data_w || x1 - x0 < 8)
        return;
    *ret = (struct psc_area){x0, f->numbers_y, x1 + 1, f->names_y >= 0 ? f->names_y + 14 : f->numbers_y + 15};
}

void psc_layout_clobber(struct psc_layout *l)
{
    const struct psc_scene *s = l->scene;
    const struct psc_check *check = s->source.check;
    struct psc_clobber *c = &l->clobber;
    *c = (struct psc_clobber){0};
    if (!check || l->view.finding >= check->finding_n)
        return;
    const struct psc_finding *f = &check->findings[l->view.finding];
    uint32_t row = f->buffer < s->source.story->buffer_n ? s->row_of_buffer[f->buffer] : PSC_NONE;
    const struct psc_track *track = row == PSC_NONE ? NULL : psc_layout_track(l, row);
    if (!track)
        return;
    float low = l->frame.data_x - 2, high = l->frame.data_x + l->frame.data_w + 2, y0, y1, foot;
    int32_t born = f->victim_position < f->position ? f->victim_position : f->position;
    int32_t dies = f->read_position > f->position ? f->read_position : f->position;
    c->has_read = !f->overlap_only;
    c->race = c->has_read && f->read_position < f->position; /* nothing orders the read before the write */
    c->write_x = (float)psc_axis_middle(&l->axis, f->position);
    c->read_x = (float)psc_axis_middle(&l->axis, f->read_position);
    psc_track_band(l, track, 0, s->rows[row].bytes, &y0, &y1, &foot);
    c->victim = (struct psc_area){(float)fmax(floor(psc_axis_left(&l->axis, born)), low), y0,
                                  (float)fmin(ceil(psc_axis_right(&l->axis, dies)), high), y1};
    double bytes = s->rows[row].bytes ? (double)s->rows[row].bytes : 1;
    float h0 = y0 + (y1 - y0) * (float)((double)f->lo / bytes), h1 = y0 + (y1 - y0) * (float)((double)f->hi / bytes);
    if (f->lo == 0 && h1 > y1 - 12)
        h1 = y1; /* the padding of the class takes no part in the story */
    c->hatch = (struct psc_area){(float)fmax(floor(psc_axis_left(&l->axis, f->position)), low), h0, c->victim.x1, fmaxf(h1, h0 + 8)};
    if (f->writer_value != PSC_NONE) {
        int32_t last = f->position;
        for (uint32_t i = s->alarm_at[row]; i < s->alarm_at[row + 1]; i++)
            if (s->alarms[i].finding == l->view.finding && s->alarms[i].writer_bar != PSC_NONE)
                last = s->end[s->alarms[i].writer_bar] - 1;
        float height = h1 - h0, inset = height >= 70 ? 16 : 4;
        float x1 = (float)fmin(psc_axis_right(&l->axis, last), high), least = c->hatch.x0 + 34;
        if (c->hatch.x1 - c->hatch.x0 > 90) /* however long it lives: the hatch behind it is the story */
            x1 = fminf(x1, c->hatch.x0 + 0.45f * (c->hatch.x1 - c->hatch.x0));
        c->writer = (struct psc_area){c->hatch.x0 + 2, h0 + inset + 2, fmaxf(x1 - 2, least), h1 - inset - (height >= 90 ? 12 : 0)};
    }
    const struct psc_track *above = track > l->tracks ? track - 1 : NULL;
    c->head_y = above && above->kind == PSC_TRACK_HEAD ? (above->y0 + above->y1) / 2 : y0 - 20;
    if (f->reader_kind == PSC_READER_NODE)
        psc_layout_bar_area(l, psc_scene_bar_of_node(s, f->reader), &c->reader);
    cell(l, f->victim_position, &c->cells[0]);
    cell(l, f->position, &c->cells[1]);
    cell(l, f->read_position, &c->cells[2]);
    words(l, f, &s->rows[row]);
    c->shown = true;
}
