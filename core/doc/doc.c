#include "core/doc/doc.h"

#include "core/base/mem.h"

#define SCAN_PIECE (UINT64_C(16) << 20) /* bytes of one piece when the whole file is scanned */

struct psc_doc *psc_doc_new(void)
{
    return psc_alloc0(1, sizeof(struct psc_doc));
}

void psc_doc_free(struct psc_doc *doc)
{
    if (!doc)
        return;
    if (doc->steps.close)
        doc->steps.close(doc->steps.ctx);
    psc_report_release(&doc->report);
    psc_arena_release(&doc->arena);
    psc_free(doc);
}

uint32_t psc_doc_step_n(const struct psc_doc *doc, uint32_t phase)
{
    return phase < doc->phase_n && doc->steps.count ? doc->steps.count(doc->steps.ctx, phase) : 0;
}

enum psc_status psc_doc_load_step(const struct psc_doc *doc, uint32_t phase, uint32_t step,
                                  struct psc_arena *arena, struct psc_step *ret, struct psc_error *reterr)
{
    uint32_t n = psc_doc_step_n(doc, phase);
    if (step >= n || !doc->steps.load)
        return psc_fail(reterr, PSC_ERR_USAGE, "phase %u has %u step%s; there is no step %u", phase, n, n == 1 ? "" : "s",
                        step);
    return doc->steps.load(doc->steps.ctx, phase, step, arena, ret, reterr);
}

enum psc_status psc_doc_scan_all(struct psc_doc *doc, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    bool done = !doc->steps.scan;
    while (!done && status == PSC_OK)
        status = doc->steps.scan(doc->steps.ctx, SCAN_PIECE, &done, reterr);
    if (status == PSC_ERR_PARSE && doc->truncated)
        return PSC_OK;
    return status;
}
