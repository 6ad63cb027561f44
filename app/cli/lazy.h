/* app/cli/lazy.h: expressions on the command line: `plan --expr '(a + b) * 2'`, or a .lazy file. */
#ifndef PSC_APP_CLI_LAZY_H
#define PSC_APP_CLI_LAZY_H

#include "app/cli/options.h"
#include "core/doc/doc.h"

/* An expression was typed, or the file is one. */
bool cli_lazy_is(const struct cli_options *options);
/* The document of it, for commands that draw and check. */
enum psc_status cli_lazy_doc(const struct cli_options *options, struct psc_doc **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* plan: every step with its decision. run: carries it out and prints the result. */
enum cli_exit cli_lazy_plan(const struct cli_options *options);
/* export: the plan as plan --json writes it. */
enum psc_status cli_lazy_plan_text(const struct cli_options *options, struct psc_text *out, struct psc_error *reterr) PSC_MUST_CHECK;
enum cli_exit cli_lazy_run(const struct cli_options *options);

#endif
