/* app/cli/render-kv.h: the picture of the KV regions in one step: `render --view kv`. */
#ifndef PSC_APP_CLI_RENDER_KV_H
#define PSC_APP_CLI_RENDER_KV_H

#include "app/cli/input.h"
#include "ui/draw/render.h"

/* Of options->phase and step, with the cursor at options->at (default: at the end of the step). Reads all steps of the
 * document, since every row tells which of them wrote it. Complains. */
enum cli_exit cli_render_kv(struct cli_input *in, const struct cli_options *options, const struct psc_analysis *analysis,
                            enum psc_render_format format);

#endif
