/* Sentences about what was planned against what happened. */
#include "core/debug/compare-stories.h"
#include "core/debug/explain-words.h"

#include <inttypes.h>

static void say_place(struct psc_text *out, const struct psc_story *story, const struct psc_event *e)
{
    if (e->buffer >= story->buffer_n) {
        psc_text_add(out, "nowhere");
        return;
    }
    psc_say_buffer(out, story, e->buffer);
    psc_text_addf(out, " [0x%" PRIx64 ", +", e->lo);
    psc_say_bytes(out, e->hi - e->lo);
    psc_text_add(out, ")");
}

static void say_where(struct psc_text *out, const struct psc_story *story, const struct psc_event *e)
{
    if (e->kind == PSC_EV_WAIT)
        return;
    psc_text_add(out, e->kind == PSC_EV_READ || e->kind == PSC_EV_ROWS_READ ? " from " : " in ");
    say_place(out, story, e);
}

/* "#12 mul", "the host" */
static void say_who(struct psc_text *out, const struct psc_graph *graph, psc_node node)
{
    if (!graph && node != PSC_NONE)
        psc_text_addf(out, "op #%" PRIu32, node);
    else
        psc_say_node(out, graph, node);
}

static void say_what(struct psc_text *out, const struct psc_graph *graph, const struct psc_story *story, const struct psc_event *e,
                     bool past)
{
    char label[96];
    const char *value = e->value < story->value_n ? psc_value_label(story, graph, e->value, label, sizeof label) : "";
    switch (e->kind) {
    case PSC_EV_FILL: psc_text_addf(out, past ? "filled %s" : "fill %s", value); break;
    case PSC_EV_READ: psc_text_addf(out, "read %s", value); break;
    case PSC_EV_ROWS_READ: psc_text_addf(out, "read rows of %s", value); break;
    case PSC_EV_ROWS_WRITE: psc_text_addf(out, past ? "wrote rows of %s" : "write rows of %s", value); break;
    case PSC_EV_ENQUEUE:
    case PSC_EV_COPY: psc_text_addf(out, past ? "queued %s" : "queue %s", value); break;
    case PSC_EV_WAIT: psc_text_addf(out, past ? "waited for %s" : "wait for %s", value); break;
    case PSC_EV_EXPORT: psc_text_addf(out, past ? "gave out %s" : "give out %s", value); break;
    default: psc_text_add(out, past ? "wrote" : "write"); break;
    }
}

void psc_explain_story_diff(struct psc_text *out, const struct psc_graph *graph, const struct psc_story *planned,
                            const struct psc_story *recorded, const struct psc_story_diff *diff)
{
    const struct psc_event *p = diff->planned != PSC_NONE ? &planned->events[diff->planned] : NULL;
    const struct psc_event *r = diff->recorded != PSC_NONE ? &recorded->events[diff->recorded] : NULL;
    say_who(out, graph, diff->node);
    switch (diff->kind) {
    case PSC_DIFF_BUFFER:
    case PSC_DIFF_BYTES:
        psc_text_add(out, " ");
        say_what(out, graph, recorded, r, true);
        say_where(out, recorded, r);
        psc_text_add(out, ", planned was ");
        say_place(out, planned, p);
        break;
    case PSC_DIFF_MISSING:
        psc_text_add(out, " was to ");
        say_what(out, graph, planned, p, false);
        say_where(out, planned, p);
        psc_text_add(out, ", and did not");
        break;
    case PSC_DIFF_EXTRA:
        psc_text_add(out, " ");
        say_what(out, graph, recorded, r, true);
        say_where(out, recorded, r);
        psc_text_add(out, ", which was not planned");
        break;
    default:
        psc_text_addf(out, " ran at place %" PRId32 " of the record, out of the planned order (place %" PRId32 ")", r->position,
                      p->position);
        break;
    }
    psc_text_add(out, ".");
}

void psc_explain_comparison(struct psc_text *out, const struct psc_graph *graph, const struct psc_story_comparison *c)
{
    static const char *const words[PSC_DIFF_N] = {"in another buffer", "at other bytes", "missing", "not planned", "out of order"};
    char number[32], all[32];
    bool first = true;
    uint32_t diff_n = c->diff_n - c->behind_n, missing = c->count[PSC_DIFF_MISSING] - c->behind_n;
    if (c->behind_n) {
        psc_text_add(out, "The record ends at ");
        say_who(out, graph, c->last);
        psc_text_addf(out, ", with %s event%s of the plan still to come. ", psc_thousands(c->behind_n, number, sizeof number),
                      c->behind_n == 1 ? "" : "s");
    }
    if (!diff_n) {
        psc_text_addf(out, "%s happened as planned: %s fills, reads and writes, each at its bytes and in its order.",
                      c->behind_n ? "All up to there" : "It", psc_thousands(c->pair_n, number, sizeof number));
        return;
    }
    psc_text_addf(out, "%s%s difference%s between plan and record, %s events compared: ", c->behind_n ? "Up to there " : "",
                  psc_thousands(diff_n, number, sizeof number), diff_n == 1 ? "" : "s",
                  psc_thousands((uint64_t)c->pair_n + missing + c->count[PSC_DIFF_EXTRA], all, sizeof all));
    for (int k = 0; k < PSC_DIFF_N; k++) {
        uint32_t n = k == PSC_DIFF_MISSING ? missing : c->count[k];
        if (!n)
            continue;
        psc_text_addf(out, "%s%s %s", first ? "" : ", ", psc_thousands(n, number, sizeof number), words[k]);
        first = false;
    }
    psc_text_add(out, ".");
}
