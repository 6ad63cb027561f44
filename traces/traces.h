/* traces/traces.h: files in and out. See traces/README.md for the formats, field by field.
 *
 * psc_trace_open finds out the format by content (minfer-trace, minfer-graph, minfer-live, scenarios, MiniMalloc's
 * CSV), looks for `version` at both ends of the file before anything else, and returns as soon as the first phase's graph and
 * the end of its first step are known; doc->steps.scan goes on from there (psc_doc_scan_all does it in one
 * go). Every fault of a graph is in `report`; nothing is half-loaded: on failure *ret is untouched.
 *
 * Threads: one thread may scan (doc->steps.scan) while others ask for the number of steps and load them. What a
 * scan adds besides (phases, report, prompt, truncated) is for its own thread to read, and for others once the
 * scan is done. The file is not read again after a change: loading a step then fails with PSC_ERR_IO.
 */
#ifndef PSC_TRACES_TRACES_H
#define PSC_TRACES_TRACES_H

#include "core/debug/finding-bytes.h"
#include "core/doc/doc.h"
#include "core/plan/plan.h"

#define PSC_JSON_NESTING_MAX 1000u

struct psc_open_options {
    /* Called now and then with bytes done and bytes in all; returns false to cancel (PSC_ERR_CANCELLED).
     * NULL: never. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
    bool whole; /* scan to the end before returning */
    const char *lazy_words; /* of an expression: how it is to be planned (core/candela/script.h); NULL: as it says itself */
};
/* options may be NULL. report gets faults and warnings (also those of a failed open). */
enum psc_status psc_trace_open(const char *path, const struct psc_open_options *options,
                               struct psc_report *report, struct psc_doc **ret,
                               struct psc_error *reterr) PSC_MUST_CHECK;
/* The same over bytes in memory (borrowed: must outlive the document). name is for messages. */
enum psc_status psc_trace_open_memory(const char *name, const char *bytes, size_t n,
                                      const struct psc_open_options *options, struct psc_report *report,
                                      struct psc_doc **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* Writers. The text is added to out; nothing is added on failure. */
enum psc_status psc_graph_write(const struct psc_phase *phase, bool pretty, struct psc_text *out,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* plans[phase] and stories[phase] (either array may be NULL, entries too) go under our extra key of each
 * phase, in place of those that the document has. Streams to `write` piece by piece so that a trace of any
 * size can be written; `write` returns false to stop (PSC_ERR_IO). The document must be scanned to its end
 * (psc_doc_scan_all) before. A step that cannot be read is written without records. */
typedef bool (*psc_write_fn)(void *ctx, const char *bytes, size_t n);
enum psc_status psc_trace_write(const struct psc_doc *doc, struct psc_plan *const *plans,
                                struct psc_story *const *stories, bool pretty, psc_write_fn write, void *ctx,
                                struct psc_error *reterr) PSC_MUST_CHECK;

/* An events file (traces/README.md): a recorded run in binary, streamed while it goes on by a thread of its own, read back by
 * psc_trace_open. psc_events_phase and psc_events_step fit psc_recorder_options; they answer false after the first
 * failure, whose sentence psc_events_close gives. */
struct psc_events_out;
enum psc_status psc_events_open(const char *path, const char *model, const char *prompt, struct psc_events_out **ret,
                                struct psc_error *reterr) PSC_MUST_CHECK; /* the texts may be NULL */
bool psc_events_phase(void *out, uint32_t phase, const struct psc_phase *what);
bool psc_events_step(void *out, uint32_t phase, uint32_t step, const struct psc_step *what);
/* Ends the file and frees, whatever happened; NULL is fine. facts: of the document. */
enum psc_status psc_events_close(struct psc_events_out *out, const struct psc_fact *facts, uint32_t n,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* The same container for the full contents of every recorded value; closed by psc_events_close. capture: when values are read. */
enum psc_status psc_contents_open(const char *path, const char *model, const char *prompt, enum psc_capture capture,
                                  struct psc_events_out **ret, struct psc_error *reterr) PSC_MUST_CHECK;
bool psc_contents_put(void *out, uint32_t phase, uint32_t step, const struct psc_node_info *node, const void *bytes,
                      uint64_t n);

/* Such a file read back: found by phase, step and node, read when asked for. A file that ends early has what is complete in it. */
struct psc_contents_in;
enum psc_status psc_contents_read(const char *path, struct psc_contents_in **ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_contents_close(struct psc_contents_in *in); /* NULL is fine */
bool psc_contents_file_is(const char *path);
/* PSC_ERR_USAGE when both name a model and not the same one. */
enum psc_status psc_contents_fit(const struct psc_contents_in *in, const char *model, struct psc_error *reterr) PSC_MUST_CHECK;
struct psc_contents psc_contents_of(const struct psc_contents_in *in, uint32_t phase, uint32_t step); /* borrows in */

/* The plan format (`plan --json`), field by field in traces/README.md. */
enum psc_status psc_plan_write(const struct psc_graph *graph, const struct psc_plan *plan, bool pretty,
                               struct psc_text *out, struct psc_error *reterr) PSC_MUST_CHECK;
/* The object under "figures", as a value of a document under construction: check's answer has it too. */
struct psc_json;
void psc_figures_write_json(struct psc_json *j, const struct psc_figures *figures);
void psc_figures_put_json(struct psc_json *j, const struct psc_figures *figures); /* its members, into an open object */
/* Reads any file that has "placements"; everything in *ret lives in the arena. */
enum psc_status psc_plan_read(struct psc_arena *arena, const char *path, struct psc_foreign *ret,
                              struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_plan_read_memory(struct psc_arena *arena, const char *name, const char *bytes, size_t n,
                                     struct psc_foreign *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Is the file such a plan (by its format, or by placements without nodes and phases)? false when it cannot be read. */
bool psc_plan_file_is(const char *path);
/* One line a node: position,id,name,op,backend,shape,bytes,buffer,offset,length,first,last,reason. RFC 4180
 * quoting. */
enum psc_status psc_plan_write_csv(const struct psc_graph *graph, const struct psc_plan *plan,
                                   struct psc_text *out, struct psc_error *reterr) PSC_MUST_CHECK;

/* Writes bytes to path through a temporary file and a rename, so that no half file is ever left. The sentence of an
 * error says why; the caller, who knows the path, names it. */
enum psc_status psc_file_write(const char *path, const char *bytes, size_t n,
                               struct psc_error *reterr) PSC_MUST_CHECK;

#endif
