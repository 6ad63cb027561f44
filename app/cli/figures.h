/* app/cli/figures.h: the figures of a plan, for people and for machines. */
#ifndef PSC_APP_CLI_FIGURES_H
#define PSC_APP_CLI_FIGURES_H

#include "core/debug/analysis.h"
#include "core/debug/finding-bytes.h"
#include "traces/json-write.h"

/* One line a figure, its sense behind it. */
void cli_add_figures(struct psc_text *out, const struct psc_analysis *analysis);
/* What an arena has and what is proved of it: "arena.cpu: 611,344 bytes by greedy-size. As many are alive at position 439: ...".
 * when: "position 439". */
void cli_add_certificate(struct psc_text *out, const char *name, const char *when, const struct psc_offsets_space *space);
/* {"nodes":440,"placed":...}: of the plan; of a story without a plan, what it tells. */
void cli_figures_json(struct psc_json *j, const struct psc_analysis *analysis);
/* The file's id of a node under a key; null without a graph or for PSC_NONE. */
void cli_id_json(struct psc_json *j, const char *key, const struct psc_graph *g, psc_node node);
/* One entry of "findings"; contents: NULL, or what was recorded: with "words". */
void cli_finding_json(struct psc_json *j, const struct psc_analysis *a, const struct psc_finding *f, uint32_t phase, const struct psc_contents *contents);
/* "FILE, phase 0 (prefill): 440 nodes" and where the plan comes from, two lines. */
void cli_add_heading(struct psc_text *out, const char *file, uint32_t phase, const struct psc_analysis *analysis);

#endif
