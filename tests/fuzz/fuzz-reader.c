/* One input of the readers' fuzz run, in libFuzzer's form: whatever the bytes, the readers return in order,
 * and what opens can be written and opened again with the same phases and steps.
 *
 *     clang -fsanitize=fuzzer,address -I. tests/fuzz/fuzz-reader.c <the project's libraries> -o fuzz &&
 * ./fuzz tests/fuzz/corpus
 *
 * test-fuzz.c runs it without clang, over mutations of the corpus.
 */
#include "traces/traces.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool collect(void *ctx, const char *bytes, size_t n)
{
    psc_text_add_n(ctx, bytes, n);
    return true;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Steps of all phases; loads every one. */
static uint64_t load_all(const struct psc_doc *doc)
{
    uint64_t steps = 0;
    for (uint32_t p = 0; p < doc->phase_n; p++)
        for (uint32_t s = 0; s < psc_doc_step_n(doc, p); s++, steps++) {
            struct psc_arena arena = {0};
            struct psc_step step;
            struct psc_error err;
            enum psc_status status = psc_doc_load_step(doc, p, s, &arena, &step, &err);
            must(status == PSC_OK || (status == PSC_ERR_PARSE && err.text[0]));
            psc_arena_release(&arena);
        }
    return steps;
}

static void write_and_open_again(const struct psc_doc *doc, uint64_t steps)
{
    struct psc_text out = {0};
    struct psc_doc *again = NULL;
    const struct psc_open_options whole = {.whole = true};
    must(psc_trace_write(doc, NULL, NULL, steps % 2, collect, &out, NULL) == PSC_OK);
    must(psc_trace_open_memory("again", out.s, out.n, &whole, NULL, &again, NULL) == PSC_OK);
    must(again->phase_n == doc->phase_n);
    must(load_all(again) == steps);
    for (uint32_t p = 0; p < doc->phase_n; p++)
        must(!doc->phases[p].graph || again->phases[p].graph->n == doc->phases[p].graph->n);
    psc_doc_free(again);
    psc_text_release(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *text = (const char *)data;
    struct psc_doc *doc = NULL;
    struct psc_report report = {0};
    struct psc_error err = {0};
    enum psc_status status = psc_trace_open_memory("fuzz", text, size, NULL, &report, &doc, &err);
    must(status == PSC_OK || err.text[0]);
    if (status == PSC_OK && psc_doc_scan_all(doc, &err) == PSC_OK)
        write_and_open_again(doc, load_all(doc));
    psc_doc_free(doc);
    psc_report_release(&report);

    struct psc_arena arena = {0};
    struct psc_foreign foreign;
    status = psc_plan_read_memory(&arena, "fuzz", text, size, &foreign, &err);
    must(status == PSC_OK || err.text[0]);
    psc_arena_release(&arena);
    return 0;
}
