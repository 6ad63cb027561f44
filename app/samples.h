/* app/samples.h: the files that come with Planscope: examples and lessons, each with a line of words.
 *
 * Looked for in $PSC_SAMPLES, beside the sources that the program was built from, then where they are
 * installed; files that are not there are left out.
 */
#ifndef PSC_APP_SAMPLES_H
#define PSC_APP_SAMPLES_H

#include <glib.h>

/* Lists of PscEntry (ui/empty-page.h), owned by the caller. */
GPtrArray *psc_samples_examples(void);
GPtrArray *psc_samples_lessons(void);

#endif
