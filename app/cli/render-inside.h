/* app/cli/render-inside.h: the picture of a planner, or of arenas, from the inside: `render --view inside`. */
#ifndef PSC_APP_CLI_RENDER_INSIDE_H
#define PSC_APP_CLI_RENDER_INSIDE_H

#include "app/cli/input.h"
#include "ui/draw/render.h"

/* At options->at, default the last position; as wide as options->width, as tall as the page is. words: what stands around it. PSC_ERR_USAGE:
 * there is nothing to look into. */
enum psc_status cli_render_inside(const struct cli_options *options, const struct psc_analysis *analysis, const struct psc_render_words *words,
                                  enum psc_render_format format, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
