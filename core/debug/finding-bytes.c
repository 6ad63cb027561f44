#include "core/debug/finding-bytes.h"

#include "core/base/text.h"
#include "core/debug/explain-words.h"

#include <string.h>

#define WORD 4u
#define CHUNK 4096u /* bytes read at once, of each */

const char psc_bytes_unknown[] = "The bytes themselves are not known: contents were not recorded. planscope-cli run ... --contents FILE records them; "
                                 "check ... --contents FILE, or FILE opened over this document in the window, shows which words differ.";

struct comparing {
    const struct psc_analysis *a;
    const struct psc_finding *f;
    const struct psc_contents *contents;
    const struct psc_event *write;
    uint64_t lo, hi;             /* of the buffer: what victim and writer share */
    uint64_t victim_lo;          /* of the buffer: where the victim begins */
    bool whole;                  /* nobody else wrote there before the read */
    struct psc_finding_bytes *ret;
};

/* Whose contents the bytes of a value are: its node's, of a staged copy those of the node that was copied; PSC_NONE. */
static psc_node node_of(const struct psc_analysis *a, uint32_t value)
{
    const struct psc_story *story = a->story;
    if (value < story->value_n && story->values[value].kind == PSC_VALUE_STAGING)
        value = story->values[value].of;
    if (value >= story->value_n || story->values[value].kind != PSC_VALUE_NODE)
        return PSC_NONE;
    return story->values[value].node < a->phase->graph->n ? story->values[value].node : PSC_NONE;
}

/* Where the victim lay when it was lost. */
static bool find_victim(struct comparing *c)
{
    const struct psc_history *h = c->a->history;
    uint32_t v = c->f->victim_value;
    for (uint32_t k = h->value_at[v]; k < h->value_at[v + 1]; k++) {
        const struct psc_tenancy *t = &h->tenancies[h->value_tenancies[k]];
        if (t->buffer == c->f->buffer && t->lo <= c->f->lo && c->f->lo < t->hi) {
            c->victim_lo = t->lo;
            c->hi = c->hi < t->hi ? c->hi : t->hi;
            return true;
        }
    }
    return false;
}

/* Whole words of the victim that the finding's writer wrote. */
static enum psc_bytes_known find_range(struct comparing *c)
{
    const struct psc_analysis *a = c->a;
    const struct psc_finding *f = c->f;
    if (!a->phase->graph || !a->history || f->kind == PSC_K9 || f->kind == PSC_K10 || f->overlap_only || f->write_event == PSC_NONE || f->read_event == PSC_NONE)
        return PSC_BYTES_NOT_TWO;
    c->write = &a->story->events[f->write_event];
    c->ret->victim = node_of(a, f->victim_value);
    c->ret->writer = c->write->kind == PSC_EV_WRITE ? node_of(a, c->write->value) : PSC_NONE;
    if (c->ret->victim == PSC_NONE || c->ret->writer == PSC_NONE)
        return PSC_BYTES_NOT_TWO;
    c->lo = f->lo > c->write->lo ? f->lo : c->write->lo;
    c->hi = f->hi < c->write->hi ? f->hi : c->write->hi;
    if (!find_victim(c) || c->lo >= c->hi)
        return PSC_BYTES_NOT_TWO;
    c->lo += (WORD - (c->lo - c->victim_lo) % WORD) % WORD;
    c->ret->word_n = c->hi > c->lo ? (c->hi - c->lo) / WORD : 0;
    c->whole = psc_history_last_writer(a->history, f->buffer, c->lo, c->hi, f->read_position) == f->write_event;
    return c->ret->word_n ? PSC_BYTES_COMPARED : PSC_BYTES_NOT_TWO;
}

static bool reads_writer(const struct comparing *c, uint64_t at)
{
    return c->whole || psc_history_last_writer(c->a->history, c->f->buffer, at, at + WORD, c->f->read_position) == c->f->write_event;
}

static void compare_chunk(struct comparing *c, uint64_t at, uint64_t n, const unsigned char *expected, const unsigned char *found)
{
    struct psc_finding_bytes *r = c->ret;
    for (uint64_t k = 0; k + WORD <= n; k += WORD) {
        uint32_t e, g;
        if (!reads_writer(c, at + k))
            continue;
        memcpy(&e, expected + k, WORD);
        memcpy(&g, found + k, WORD);
        r->looked_n++;
        if (e == g)
            continue;
        r->differ_n++;
        if (r->row_n < PSC_BYTES_ROWS)
            r->rows[r->row_n++] = (struct psc_word_pair){at + k - c->victim_lo, e, g};
    }
}

static enum psc_bytes_known compare(struct comparing *c)
{
    unsigned char expected[CHUNK], found[CHUNK];
    const struct psc_contents *s = c->contents;
    const struct psc_node_info *nodes = c->a->phase->graph->nodes;
    uint64_t victim = nodes[c->ret->victim].id, writer = nodes[c->ret->writer].id, has;
    uint64_t end = c->lo + (c->ret->word_n < PSC_BYTES_LOOKED ? c->ret->word_n : PSC_BYTES_LOOKED) * WORD;
    if (s->capture == PSC_CAPTURE_SPLIT)
        return PSC_BYTES_LATE;
    if (!s->size(s->ctx, s->phase, s->step, victim, &has) || has < end - c->victim_lo)
        return PSC_BYTES_NO_VICTIM;
    if (!s->size(s->ctx, s->phase, s->step, writer, &has) || has < end - c->write->lo)
        return PSC_BYTES_NO_WRITER;
    for (uint64_t at = c->lo; at < end; at += CHUNK) {
        uint64_t n = end - at < CHUNK ? end - at : CHUNK;
        if (!s->read(s->ctx, s->phase, s->step, victim, at - c->victim_lo, n, expected) ||
            !s->read(s->ctx, s->phase, s->step, writer, at - c->write->lo, n, found))
            return PSC_BYTES_UNREADABLE;
        compare_chunk(c, at, n, expected, found);
    }
    return c->ret->looked_n ? PSC_BYTES_COMPARED : PSC_BYTES_GONE;
}

struct psc_finding_bytes psc_finding_bytes(const struct psc_analysis *a, const struct psc_finding *f, const struct psc_contents *contents)
{
    struct psc_finding_bytes bytes = {.victim = PSC_NONE, .writer = PSC_NONE, .victim_value = f->victim_value};
    struct comparing c = {.a = a, .f = f, .contents = contents, .ret = &bytes};
    bytes.known = find_range(&c);
    if (bytes.known == PSC_BYTES_COMPARED)
        bytes.known = compare(&c);
    return bytes;
}

/* ---- in words --------------------------------------------------------------------------------------------------------- */

uint32_t psc_explain_bytes_line_n(const struct psc_finding_bytes *b)
{
    return b->known == PSC_BYTES_NOT_TWO ? 0 : 1 + b->row_n;
}

static void say_number(struct psc_text *out, uint64_t n)
{
    char text[32];
    psc_text_add(out, psc_thousands(n, text, sizeof text));
}

static void say_counts(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding_bytes *b)
{
    say_number(out, b->differ_n);
    psc_text_add(out, " of ");
    say_number(out, b->looked_n);
    psc_text_addf(out, " word%s of ", b->looked_n == 1 ? "" : "s");
    psc_say_value(out, a, b->victim_value);
    psc_text_add(out, b->differ_n == 1 ? " differs from what it left" : " differ from what it left");
    if (b->looked_n < b->word_n) {
        psc_text_add(out, " (");
        say_number(out, b->word_n - b->looked_n);
        psc_text_add(out, " more were not looked at)");
    }
    psc_text_add(out, b->differ_n ? ":" : ": both nodes left the same there.");
}

static void say_row(struct psc_text *out, const struct psc_graph *g, const struct psc_finding_bytes *b, const struct psc_word_pair *row)
{
    bool f32 = g->nodes[b->victim].dtype == PSC_F32 && g->nodes[b->writer].dtype == PSC_F32;
    float expected, found;
    memcpy(&expected, &row->expected, WORD);
    memcpy(&found, &row->found, WORD);
    psc_text_addf(out, "+0x%llx  expected %08x", (unsigned long long)row->offset, row->expected);
    if (f32)
        psc_text_addf(out, " (%g)", (double)expected);
    psc_text_addf(out, ", found %08x", row->found);
    if (f32)
        psc_text_addf(out, " (%g)", (double)found);
}

void psc_explain_bytes_line(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding_bytes *b, uint32_t line)
{
    const struct psc_graph *g = a->phase->graph;
    if (line) {
        say_row(out, g, b, &b->rows[line - 1]);
        return;
    }
    switch (b->known) {
    case PSC_BYTES_COMPARED:
        say_counts(out, a, b);
        break;
    case PSC_BYTES_NO_VICTIM:
    case PSC_BYTES_NO_WRITER:
        psc_text_add(out, "Its bytes are not known: of ");
        psc_say_node(out, g, b->known == PSC_BYTES_NO_VICTIM ? b->victim : b->writer);
        psc_text_add(out, " no contents were recorded in this step.");
        break;
    case PSC_BYTES_LATE:
        psc_text_add(out, "Its bytes are not known: contents were recorded at the end of splits, when what was overwritten is gone; "
                          "run ... --contents FILE without --capture split records them after each node.");
        break;
    case PSC_BYTES_GONE:
        psc_text_add(out, "Its bytes are not known: others wrote over them, too, before they were read.");
        break;
    default:
        psc_text_add(out, "Its bytes are not known: the file of contents cannot be read, or has changed.");
        break;
    }
}
