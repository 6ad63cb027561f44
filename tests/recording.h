/* tests/recording.h: a session of the doubles with a recorder that listens, and the document that comes of it.
 *
 *     struct recording b = recording_begin(recording_chain, ALL);
 *     recording_fill_chain(&b);
 *     recording_step(&b, 5, " I");            executes; the step's token and text, two logits
 *     recording_finish(&b);                   b.doc
 *     struct psc_step s = recording_load(&b, 0, 0);
 *     recording_end(&b);
 *
 * Every function aborts the test on an error.
 */
#ifndef PSC_TESTS_RECORDING_H
#define PSC_TESTS_RECORDING_H

#include "core/run/recorder.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#define F(...) (const float[]){__VA_ARGS__}
#define ALL (struct psc_recorder_options){.events = true, .values = true, .hashes = true}

struct recording {
    struct psc_arena arena;
    struct psc_graph *g;
    struct psc_session *s;
    struct psc_recorder *r;
    struct psc_doc *doc;
};
struct recording recording_begin(const char *text, struct psc_recorder_options record);
void recording_end(struct recording *b);
void recording_step(struct recording *b, int64_t token, const char *text); /* token -1: none */
void recording_finish(struct recording *b);
struct psc_step recording_load(struct recording *b, uint32_t phase, uint32_t n);
const struct psc_record *recording_record(const struct recording *b, const struct psc_step *s, const char *name); /* or NULL */

/* s lies in t's place; u takes the next buffer; x = 1 2 3 4, w = 2 2 2 2 */
extern const char recording_chain[];
void recording_fill_chain(struct recording *b);
/* Layer 0 of width 2 with 16 rows; one token a step. */
extern const char recording_attention[];

#endif
