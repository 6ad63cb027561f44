/* Sentences about the contents of a KV cache. */
#include "core/debug/kv-report.h"

void psc_explain_kv_finding(struct psc_text *out, const struct psc_kv_image *image, const struct psc_kv_finding *f)
{
    static const char *const words[PSC_KV_FAULT_N][2] = {
        {" holds NaN", " hold NaN"},
        {" holds an infinity", " hold infinities"},
        {" is zero, although it was written", " are zero, although they were written"},
        {" was never written, but lies among rows that are in use", " were never written, but lie among rows that are in use"},
        {" holds values, although it was never written", " hold values, although they were never written"},
    };
    bool many = f->hi - f->lo > 1, guessed = f->fault == PSC_KV_ZERO && !image->written;
    if (f->at != PSC_KV_ALL)
        psc_text_addf(out, "layer %d %s: ", image->layer[f->at], psc_kv_image_slot(image, f->slot));
    if (many)
        psc_text_addf(out, "rows %u..%u", f->lo, f->hi - 1);
    else
        psc_text_addf(out, "row %u", f->lo);
    if (guessed) /* nobody says what was written */
        psc_text_add(out, many ? " are zero, other regions hold something there" : " is zero, other regions hold something there");
    else
        psc_text_add(out, words[f->fault][many]);
}
