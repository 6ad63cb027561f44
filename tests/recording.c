#include "tests/recording.h"

struct recording recording_begin(const char *text, struct psc_recorder_options record)
{
    struct recording b = {0};
    struct psc_error err = {0};
    double_reset();
    b.g = text_graph(&b.arena, text);
    b.s = run_session(NULL);
    run_use(b.s, b.g, 1);
    g_assert_cmpint(psc_recorder_new(&record, &b.r, &err), ==, PSC_OK);
    g_assert_cmpint(psc_recorder_phase(b.r, "prefill", &err), ==, PSC_OK);
    return b;
}

void recording_end(struct recording *b)
{
    psc_doc_free(b->doc);
    psc_recorder_free(b->r);
    psc_session_free(b->s);
    psc_arena_release(&b->arena);
}

void recording_step(struct recording *b, int64_t token, const char *text)
{
    struct psc_error err = {0};
    const struct psc_logit top[] = {{7, 0.5}, {3, 0.25}};
    run_execute(b->s, psc_recorder_sink(b->r));
    g_assert_cmpint(psc_recorder_step(b->r, token >= 0, token, text, top, 2, &err), ==, PSC_OK);
}

void recording_finish(struct recording *b)
{
    struct psc_error err = {0};
    g_assert_cmpint(psc_recorder_doc(b->r, "m.gguf", "p", &b->doc, &err), ==, PSC_OK);
}

struct psc_step recording_load(struct recording *b, uint32_t phase, uint32_t n)
{
    struct psc_step s;
    struct psc_error err = {0};
    g_assert_cmpint(psc_doc_load_step(b->doc, phase, n, &b->arena, &s, &err), ==, PSC_OK);
    return s;
}

const struct psc_record *recording_record(const struct recording *b, const struct psc_step *s, const char *name)
{
    for (uint32_t i = 0; i < s->record_n; i++)
        if (s->records[i].node == text_graph_node(b->g, name))
            return &s->records[i];
    return NULL;
}

const char recording_chain[] = "x: input 4\nw: input 4\nt: add 4 x w\ns: silu 4 t\nu: mul 4 x w\no: add 4 s u\nout o\n";

void recording_fill_chain(struct recording *b)
{
    run_fill_f32(b->s, "x", F(1, 2, 3, 4), 4);
    run_fill_f32(b->s, "w", F(2, 2, 2, 2), 4);
}

const char recording_attention[] =
    "x: input 2\npositions: input 1 i32\nk: scale 2 x scale=2\nv: scale 2 x scale=3\n"
    "store: kvcache_store 2x16 k v positions #0\nload: kvcache_load 2x16 #0\no: attn 2 x load positions #0\nout o\n";
