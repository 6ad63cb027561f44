/* tests/runs.h: sessions over the doubles, and graphs from text.
 *
 *     struct psc_session *s = run_session(NULL);               hardened, pool
 *     run_use(s, graph, 1);                                    key by a number
 *     run_fill_f32(s, "x", (float[]){1, 2, 3, 4}, 4);
 *     run_execute(s, NULL);
 *     run_expect(s, graph, "o", (float[]){...}, 4, 0.0005)
 *
 * Every function aborts the test on an error that it does not return.
 */
#ifndef PSC_TESTS_RUNS_H
#define PSC_TESTS_RUNS_H

#include "core/run/session.h"
#include "tests/double.h"
#include "tests/heard.h"

struct psc_session_options run_options(void); /* hardened, the doubles */
struct psc_session *run_session(const struct psc_session_options *options);
struct psc_session *run_session_on(const struct psc_session_options *options, const struct psc_backend_api *const *apis, uint32_t n);

struct psc_graph_key run_key(uint32_t number);
/* A builder that gives the graph that ctx points to. */
enum psc_status run_build_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key, struct psc_graph **ret,
                             struct psc_error *reterr);
void run_use(struct psc_session *s, const struct psc_graph *graph, uint32_t number);
void run_fill_f32(struct psc_session *s, const char *name, const float *values, uint64_t n);
void run_fill_i32(struct psc_session *s, const char *name, const int32_t *values, uint64_t n);
/* Fills every input with words that follow from the seed; i32 inputs get 0 .. n - 1 modulo `below`. */
uint32_t *run_words(const struct psc_graph *g, psc_node input, uint64_t seed, uint32_t below); /* g_free */
void run_fill_all(struct psc_session *s, uint64_t seed, uint32_t below);
void run_execute(struct psc_session *s, const struct psc_sink *sink);
/* The node's numbers; g_free. */
float *run_read(struct psc_session *s, const char *name);
void run_expect(struct psc_session *s, const char *name, const float *values, uint64_t n, double within);
bool run_differs(struct psc_session *s, const char *name, const float *values, uint64_t n);
void run_fails(enum psc_status status, const struct psc_error *error, enum psc_status expected, const char *const *words);

#endif
